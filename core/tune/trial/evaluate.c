/* SPDX-License-Identifier: Apache-2.0 */
/* The steps that run a kernel: the baseline, verify, benchmark. Turns the runner's result into a
 * verdict; what the runner says on the way is in hear.c. With the device model, a candidate is
 * checked, timed and compared on one seed first, and on the other seeds only when it is faster than
 * the incumbent. On a device all seeds are compared first, and a correct kernel is timed with the
 * incumbent in turns. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "nki/nki.h"
#include "tune/session/inner.h"
#include "tune/trial/trial.h"
#include "tune/read/read.h"
#include "tune/exchange/inner.h"
#include "tune/sums/sums.h"

#define NOT_AGAIN "not faster when measured again in a new process: "

static const struct {
    enum task_answer from;
    enum tune_answer to;
} answers[] = {{TASK_YES, TUNE_ANSWER_YES},
               {TASK_NO, TUNE_ANSWER_NO},
               {TASK_INCONCLUSIVE, TUNE_ANSWER_INCONCLUSIVE}};

static void judgement_tell(const struct task_judgement *judgement, enum tune_answer *answer,
                           const char **why) {
    for (size_t i = 0; i < COUNT_OF(answers); i++)
        if (answers[i].from == judgement->answer)
            *answer = answers[i].to;
    if (judgement->answer != TASK_NOT_ASKED)
        *why = *judgement->reason ? judgement->reason : NULL;
}

static void verdict_emit(struct tune_session *session, int lane, int attempt,
                         const struct task_verdict *verdict) {
    struct tune_event event = tune_event_empty(TUNE_EVENT_VERDICT);
    struct tune_event_verdict *said = &event.verdict;
    said->attempt = attempt;
    judgement_tell(&verdict->compiles, &said->compiles, &said->compiles_why);
    judgement_tell(&verdict->correct, &said->correct, &said->correct_why);
    judgement_tell(&verdict->credible, &said->credible, &said->credible_why);
    judgement_tell(&verdict->faster, &said->faster, &said->faster_why);
    bool wrong = verdict->compiles.answer == TASK_NO || verdict->correct.answer == TASK_NO ||
                 verdict->credible.answer == TASK_NO;
    said->kind = wrong ? err_kind_name(ERR_KERNEL) : NULL;
    tune_emit(session, lane, &event);
}

/* ---------------------------------------------------------------------------- its whole result */

struct tune_profile tune_result_profile(struct arena *arena, const struct runner_result *result) {
    struct tune_profile profile = {
        .metrics = ARENA_ARRAY(arena, struct tune_metric, result->metrics.len),
        .lines = ARENA_ARRAY(arena, struct tune_line_cost, result->lines.len),
        .bounds = ARENA_ARRAY(arena, struct tune_bound, result->bounds.len)};
    for (size_t i = 0; i < result->metrics.len; i++)
        profile.metrics[i] = (struct tune_metric){
            result->metrics.at[i].name, result->metrics.at[i].unit, result->metrics.at[i].value};
    for (size_t i = 0; i < result->lines.len; i++)
        profile.lines[i] =
            (struct tune_line_cost){result->lines.at[i].line, result->lines.at[i].us,
                                    result->lines.at[i].share, result->lines.at[i].engine};
    for (size_t i = 0; i < result->bounds.len; i++)
        profile.bounds[i] =
            (struct tune_bound){result->bounds.at[i].name, result->bounds.at[i].busy_us,
                                result->bounds.at[i].without_us};
    return profile;
}

static double known(double us) {
    return us > 0 ? us : (double)NAN;
}

static void measured_emit(struct tune_evaluation *evaluation, const struct runner_result *result) {
    struct arena *arena = arena_new();
    struct tune_profile profile = tune_result_profile(arena, result);
    tune_emit(evaluation->work.session, evaluation->work.lane,
              TUNE_EVENT(
                  MEASURED, measured, .attempt = evaluation->attempt,
                  .latency_us = known(result->latency_us), .floor_us = known(result->floor_us),
                  .low_us = result->modelled ? known(result->low_us) : (double)NAN,
                  .high_us = result->modelled ? known(result->high_us) : (double)NAN,
                  .floor_split_us = known(result->floor_split_us),
                  .floor_any_us = known(result->floor_any_us), .instructions = result->instructions,
                  .modelled = result->modelled, .bound_by = *result->bound ? result->bound : NULL,
                  .wall = *result->wall ? result->wall : NULL,
                  .nki = *result->nki ? result->nki : NULL,
                  .lnc = result->lnc > 1 ? result->lnc : 0,
                  .metrics = {profile.metrics, result->metrics.len, true},
                  .lines = {profile.lines, result->lines.len, true},
                  .bounds = {profile.bounds, result->bounds.len, true}));
    arena_free(arena);
    for (size_t i = 0; i < result->artifacts.len; i++)
        if (!strcmp(result->artifacts.at[i].name, "profile"))
            tune_ingest_start(evaluation->work.session, evaluation->attempt,
                              result->artifacts.at[i].path);
}

/* An evaluation that was given up may be told of when its lane is gone. */
static void device_time_note(struct tune_evaluation *evaluation,
                             const struct runner_result *result) {
    int lane = evaluation->given_up ? TUNE_ALL_LANES : evaluation->work.lane;
    double seconds = result->device_s > 0 ? result->device_s : result->elapsed_s;
    if (evaluation->given_up && evaluation->work.session->place.modelled)
        seconds = fmin(seconds, (double)(evaluation->left_ns - evaluation->began_ns) * 1e-9);
    tune_emit(evaluation->work.session, lane,
              TUNE_EVENT_AS(SPENT, SPENT_DEVICE, spent, .step = evaluation->work.step,
                            .rest = evaluation->rest, .device = seconds));
}

/* The verdict of a kernel that the runner could not judge: it crashed the runner, or ran without an
 * end. */
static void failure_judge(struct runner_result *result) {
    if (result->failure.kind == ERR_NONE)
        return;
    struct task_judgement *first = result->verdict.compiles.answer == TASK_YES
                                       ? &result->verdict.correct
                                       : &result->verdict.compiles;
    task_judge(first, TASK_NO, "%.230s", result->failure.text);
}

/* Where the embedded runner itself crashed over a candidate, nobody else tells the class of the
 * error. */
static void failure_tell(struct tune_session *session, const struct tune_evaluation *evaluation,
                         const struct runner_result *result) {
    char text[sizeof result->failure.text];
    struct diag diag = {.severity = DIAG_ERROR, .file = "kernel.py", .message = text};
    if (!session->place.modelled || evaluation->work.step != TUNE_STEP_VERIFY ||
        result->failure.kind != ERR_KERNEL)
        return;
    snprintf(text, sizeof text, "%s", result->failure.text);
    snprintf(diag.cause, sizeof diag.cause, "%s", evaluation->crashed ? "crash" : "run");
    tune_diagnostic_emit(&evaluation->work, evaluation->attempt, &diag, 0);
}

static const char *why_wrong(const struct tune_attempt *attempt) {
    const struct tune_verdict *verdict = &attempt->verdict;
    if (verdict->compiles != TUNE_ANSWER_YES)
        return verdict->compiles_why ? verdict->compiles_why : "it does not compile";
    if (verdict->correct == TUNE_ANSWER_NO)
        return verdict->correct_why ? verdict->correct_why : "it is not correct";
    if (verdict->credible == TUNE_ANSWER_NO)
        return verdict->credible_why ? verdict->credible_why : "its result is not credible";
    return NULL;
}

/* ------------------------------------------------------------------------------ one evaluation */

typedef void settle_fn(struct tune_session *session, struct tune_evaluation *evaluation,
                       struct runner_result *result);
static settle_fn baseline_settle, verify_settle, benchmark_settle;
static void baseline_job(struct tune_session *session, int lane,
                         const struct tune_evaluation *last);
static void verify_job(struct tune_session *session, int lane, bool rest,
                       const struct tune_evaluation *last);
static void benchmark_job(struct tune_session *session, int lane, bool again,
                          const struct tune_evaluation *last);
static void decided_emit(const struct tune_work *work, int attempt, enum tune_status status,
                         const char *reason);

static const struct {
    void (*start)(struct tune_session *session, int lane);
    settle_fn *settle;
} by_step[TUNE_STEPS] = {
    [TUNE_STEP_PROFILE] = {tune_baseline_start, baseline_settle},
    [TUNE_STEP_VERIFY] = {tune_verify_start, verify_settle},
    [TUNE_STEP_BENCHMARK] = {tune_benchmark_start, benchmark_settle},
};

/* A host that could not do its part says nothing about the kernel. It is asked once more; then the
 * loop pauses with the step still to be done. False: the failure is of another kind. */
static bool place_failed(struct tune_session *session, struct tune_evaluation *evaluation,
                         const struct runner_result *result) {
    const struct err *failure = &result->failure;
    bool mine = failure->kind == ERR_NONE || failure->kind == ERR_KERNEL;
    if (session->place.modelled || mine) {
        session->failures = 0;
        return false;
    }
    const struct target_status *place = session->place_view.status;
    bool gave_up = place && place->state == TARGET_FAILED; /* it has tried for long enough */
    bool again = err_may_pass(failure) && !gave_up && session->failures++ == 0;
    tune_disturbed_tell(evaluation, failure, again ? 1 : 2, again ? 0 : (double)NAN);
    if (again) {
        tune_emit_log(session, evaluation->work.lane, TUNE_LEVEL_WARNING, "host",
                      "%s; it is tried once more", failure->text);
        by_step[evaluation->work.step].start(session, evaluation->work.lane);
    } else {
        session->failures = 0;
        tune_give_up(session, evaluation->work.lane, false, "%s", failure->text);
    }
    return true;
}

static void settle(struct tune_evaluation *evaluation, struct runner_result *result) {
    struct tune_session *session = evaluation->work.session;
    device_time_note(evaluation, result);
    tune_evaluation_settled(session, evaluation->work.lane, evaluation->attempt);
    bool holds = session->halted || tune_files_check(session, true);
    if (holds && !session->halted && !tune_disturbed(evaluation, &result->failure) &&
        !place_failed(session, evaluation, result)) {
        failure_judge(result);
        failure_tell(session, evaluation, result);
        by_step[evaluation->work.step].settle(session, evaluation, result);
    }
    tune_advance(session);
}

/* A timed kernel waits for what the device model says of it, and the compiler where it is asked
 * separately. Both come soon, and mostly came before. */
static bool waits_for_word(const struct tune_evaluation *evaluation) {
    const struct tune_session *session = evaluation->work.session;
    bool timed = evaluation->work.step != TUNE_STEP_VERIFY || evaluation->held;
    return (timed && tune_beside_pends(session, evaluation->attempt)) ||
           ((timed || session->place.modelled) && tune_opinion_pends(session, evaluation->attempt));
}

static void on_done(void *data, struct runner_result *result) {
    struct tune_evaluation *evaluation = data;
    if (!evaluation->given_up && waits_for_word(evaluation)) {
        evaluation->run = NULL;
        evaluation->result = *result;
        *result = (struct runner_result){0};
        return;
    }
    tune_evaluation_unlink(evaluation);
    if (!evaluation->given_up)
        settle(evaluation, result);
    else if (!evaluation->work.session->closing)
        device_time_note(evaluation, result);
    tune_evaluation_free(evaluation);
}

/* How many times its parent's time an attempt is expected to take; NAN where nobody knows. The
 * setting prune_by says who is asked: the model, the compiler, or both, of which the lower number
 * counts. */
static double expected_ratio(const struct tune_session *session,
                             const struct tune_attempt *attempt) {
    const struct tune_attempt *parent = tune_state_attempt(session->state, attempt->parent);
    if (!parent || session->place.modelled)
        return NAN;
    double model = tune_beside_latency(session, attempt->id) / parent->modelled_us;
    double compiler = tune_predicted_ratio(attempt, parent);
    switch (session->state->prune_by) {
    case TUNE_PRUNE_COMPILER: return compiler;
    case TUNE_PRUNE_BOTH:
        return isnan(model) || isnan(compiler) ? (double)NAN : fmin(model, compiler);
    case TUNE_PRUNE_MODEL: break;
    }
    return model;
}

/* A kernel that is expected to be far slower than its parent is not worth a compile for the
 * device. */
static bool is_pruned(const struct tune_work *work, const struct tune_attempt *attempt) {
    struct tune_session *session = work->session;
    static const char *const who[] = {[TUNE_PRUNE_MODEL] = "the device model times it at",
                                      [TUNE_PRUNE_COMPILER] = "its compiler predicts",
                                      [TUNE_PRUNE_BOTH] =
                                          "device model and compiler both expect at least"};
    double ratio = expected_ratio(session, attempt);
    if (!(ratio > session->prune))
        return false;
    struct buf why = {0};
    buf_printf(&why, "not measured: %s %.2f times its parent, the limit is %.2f",
               who[session->state->prune_by], ratio, session->prune);
    decided_emit(work, attempt->id, TUNE_STATUS_REVERT, why.at);
    tune_step_done(session, work->lane, TUNE_STEP_VERIFY, TUNE_IS_SKIPPED, "%s", why.at);
    buf_free(&why);
    return true;
}

static void held_go_on(struct tune_evaluation *evaluation) {
    struct tune_session *session = evaluation->work.session;
    const struct tune_attempt *attempt = tune_state_attempt(session->state, evaluation->attempt);
    if (!evaluation->given_up && !session->halted && !is_pruned(&evaluation->work, attempt))
        verify_job(session, evaluation->work.lane, false, NULL);
    tune_advance(session);
}

static void hold(struct tune_session *session, int lane, const struct tune_attempt *attempt) {
    struct tune_evaluation *evaluation = mem_alloc(1, sizeof *evaluation);
    *evaluation = (struct tune_evaluation){.work = tune_work_of(session, lane, TUNE_STEP_VERIFY),
                                           .attempt = attempt->id,
                                           .held = true,
                                           .next = session->evaluations};
    session->evaluations = evaluation;
}

void tune_evaluation_go_on(struct tune_session *session) {
    struct tune_evaluation *evaluation = session->evaluations;
    while (evaluation && (evaluation->run || evaluation->again || waits_for_word(evaluation)))
        evaluation = evaluation->next;
    if (!evaluation)
        return;
    tune_evaluation_unlink(evaluation);
    if (evaluation->held)
        held_go_on(evaluation);
    else
        settle(evaluation, &evaluation->result);
    tune_evaluation_free(evaluation);
    tune_evaluation_go_on(session); /* another lane's may wait for the same answer */
}

/* On a host each occasion has its own folder, where what the host said is kept as it came. */
static char *run_folder(struct tune_session *session, const struct tune_attempt *attempt) {
    char name[60];
    if (session->place.modelled)
        snprintf(name, sizeof name, "run/%d", ++session->jobs);
    else
        snprintf(name, sizeof name, "run/%d.%d", attempt->id, attempt->evaluated + 1);
    char *folder = path_join(store_folder(session->store), name);
    struct err err = {0};
    if (!file_make_private(folder, &err)) {
        free(folder);
        return NULL;
    }
    return folder;
}

/* The occasion counts the evaluations of the attempt that ended. So a hone that was killed finds
 * the same one again, while a measurement that is repeated on purpose is a new one. */
static void occasion_begin(struct tune_session *session, struct tune_evaluation *evaluation,
                           char *occasion, size_t size) {
    const struct tune_attempt *attempt = tune_state_attempt(session->state, evaluation->attempt);
    snprintf(occasion, size, "%d.%d", attempt->id, attempt->evaluated);
    if (session->place.modelled)
        return;
    tune_emit(session, evaluation->work.lane,
              TUNE_EVENT(EVALUATE, evaluate, .attempt = evaluation->attempt,
                         .occasion = attempt->evaluated + 1));
    evaluation->known = tune_state_attempt(session->state, evaluation->attempt)->heard;
}

/* It could not even be started. */
static void not_started(struct tune_evaluation *evaluation, struct err *err) {
    struct tune_session *session = evaluation->work.session;
    if (tune_disturbed(evaluation, err))
        return;
    tune_step_done(session, evaluation->work.lane, evaluation->work.step, TUNE_IS_FAILED, "%s",
                   err->text);
    tune_give_up(session, evaluation->work.lane, true, "%s", err->text);
}

/* Takes over what is known of the evaluations before this one, which were disturbed. */
static void goes_on_from(struct tune_evaluation *evaluation, const struct tune_evaluation *last) {
    if (!last)
        return;
    evaluation->tries = last->tries;
    evaluation->same = last->same;
    evaluation->told = last->told;
    snprintf(evaluation->why, sizeof evaluation->why, "%s", last->why);
}

/* Starts a job for the attempt of a lane; `job` has what is special about it. `last` is one that
 * waited to begin again, or NULL. */
static void evaluation_start(struct tune_work work, bool rest, struct runner_job *job,
                             const struct tune_evaluation *last) {
    struct tune_session *session = work.session;
    const struct tune_state *state = session->state;
    const struct tune_attempt *attempt = tune_attempt_in(state, work.lane);
    struct tune_evaluation *evaluation = mem_alloc(1, sizeof *evaluation);
    *evaluation = (struct tune_evaluation){.work = work, .attempt = attempt->id, .rest = rest};
    goes_on_from(evaluation, last);
    evaluation->seeds = job->no_verify ? 0 : state->seeds.len;
    bool keeps = !job->no_time || !session->place.modelled;
    evaluation->folder = keeps ? run_folder(session, attempt) : NULL;
    char occasion[24];
    occasion_begin(session, evaluation, occasion, sizeof occasion);
    attempt = tune_attempt_in(state, work.lane);
    job->kernel_path = tune_kernel_file(state);
    job->kernel_text = tune_source(state, attempt);
    job->kernel_name = state->function;
    job->reference_path = tune_reference_file(state);
    job->device = state->device;
    job->pessimistic = session->place.modelled && state->is_pessimistic;
    /* What the model cannot tell apart only the place can: it goes there before the others. */
    job->first = !session->place.modelled && tune_beside_unsure(session, attempt);
    job->tolerance = state->tolerance > 0 ? state->tolerance : 0;
    job->artifact_folder = evaluation->folder;
    job->session = state->id;
    job->model = job->model ? job->model : session->model;
    job->occasion = occasion;
    struct runner_callbacks callbacks = {tune_evaluation_hear, on_done, evaluation};
    struct err err = {0};
    evaluation->began_ns = clock_monotonic_ns();
    evaluation->run = session->place.start(session->place.self, job, &callbacks, &err);
    if (evaluation->run) {
        evaluation->next = session->evaluations;
        session->evaluations = evaluation;
        return;
    }
    not_started(evaluation, &err);
    tune_evaluation_free(evaluation);
}

void tune_evaluation_repeat(const struct tune_evaluation *waiting) {
    struct tune_session *session = waiting->work.session;
    switch (waiting->work.step) {
    case TUNE_STEP_PROFILE: baseline_job(session, waiting->work.lane, waiting); break;
    case TUNE_STEP_BENCHMARK:
        benchmark_job(session, waiting->work.lane, waiting->rest, waiting);
        break;
    default: verify_job(session, waiting->work.lane, waiting->rest, waiting);
    }
}

/* The source of attempt `id` of a lane is to be tried: a new one, or the next turn of it. */
static bool attempt_emit(struct tune_session *session, int lane, int id,
                         const struct tune_candidate *candidate) {
    const struct tune_state *state = session->state;
    const char *source = candidate->source;
    struct hash hash = hash_content(source, strlen(source));
    struct hash normal = nki_source_hash(str_of(source));
    char path[80];
    snprintf(path, sizeof path, "checkpoints/attempt_%03d_%.8s.py", id, hash.hex);
    struct err err = {0};
    if (!store_file_write(session->store, path, str_of(source), &err))
        tune_emit_log(session, lane, TUNE_LEVEL_WARNING, "store", "%s", err.text);
    return tune_emit(session, lane,
                     TUNE_EVENT(ATTEMPT, attempt, .attempt = id, .parent = candidate->parent,
                                .round = id ? state->round : 0, .repairs = candidate->repair,
                                .source = source, .author = candidate->author, .path = path,
                                .plan = id ? tune_lane_plan(state, lane) : NULL,
                                .normal = normal.hex));
}

static void decided_emit(const struct tune_work *work, int attempt, enum tune_status status,
                         const char *reason) {
    if (tune_emit(
            work->session, work->lane,
            TUNE_EVENT(DECIDED, decided, .attempt = attempt, .status = status, .reason = reason)))
        tune_export(work->session, attempt);
}

/* -------------------------------------------------------------------------------- the baseline */

static void baseline_job(struct tune_session *session, int lane,
                         const struct tune_evaluation *last) {
    const struct tune_state *state = session->state;
    struct runner_job job = {.seeds = state->seeds.at, .seed_count = state->seeds.len};
    evaluation_start(tune_work_of(session, lane, TUNE_STEP_PROFILE), false, &job, last);
}

void tune_baseline_start(struct tune_session *session, int lane) {
    const struct tune_state *state = session->state;
    struct tune_candidate seed = {.parent = -1, .source = state->kernel_source, .author = "seed"};
    if (!attempt_emit(session, lane, 0, &seed))
        return;
    tune_beyond_tell(session);
    tune_beside_ask(session, &state->attempts.at[0]);
    tune_opinion_ask(session, lane, &state->attempts.at[0]);
    baseline_job(session, lane, NULL);
}

static void function_note(struct tune_session *session, const struct runner_result *result) {
    const struct tune_state *state = session->state;
    bool tolerance = isnan(state->tolerance) && !isnan(known(result->tolerance));
    if (!*result->kernel_name || (state->function && !tolerance))
        return;
    struct tune_event event = tune_event_empty(TUNE_EVENT_SESSION);
    event.form = TUNE_FORM_SESSION_FUNCTION;
    event.session.function = result->kernel_name;
    if (isnan(state->tolerance)) {
        event.form = TUNE_FORM_SESSION_TOLERANCE;
        event.session.tolerance = known(result->tolerance);
    }
    tune_emit(session, TUNE_ALL_LANES, &event);
}

static void baseline_settle(struct tune_session *session, struct tune_evaluation *evaluation,
                            struct runner_result *result) {
    int lane = evaluation->work.lane;
    function_note(session, result);
    tune_files_versions(session);
    measured_emit(evaluation, result);
    tune_beside_fill(&evaluation->work, 0);
    verdict_emit(session, lane, 0, &result->verdict);
    const struct tune_attempt *seed = &session->state->attempts.at[0];
    const char *wrong = why_wrong(seed);
    if (!wrong && isnan(seed->latency_us))
        wrong = "it could not be timed";
    if (wrong) {
        decided_emit(&evaluation->work, 0, TUNE_STATUS_FAILED, wrong);
        tune_step_done(session, lane, TUNE_STEP_PROFILE, TUNE_IS_FAILED, "%s", wrong);
        if (result->failure.kind == ERR_NONE)
            tune_stop(session, lane, "the seed kernel itself is wrong: %s", wrong);
        else if (result->failure.kind == ERR_USAGE && !tune_reference_file(session->state))
            tune_give_up(
                session, lane, true,
                "no reference: put reference.py beside the kernel and open it again, or use "
                "--reference FILE");
        else
            tune_give_up(session, lane, true, "the seed kernel could not be evaluated: %s", wrong);
        return;
    }
    struct buf latency = {0};
    clock_print_duration(&latency, seed->latency_us * 1e-6);
    decided_emit(&evaluation->work, 0, TUNE_STATUS_KEEP, "the kernel to start from");
    tune_step_done(session, lane, TUNE_STEP_PROFILE, TUNE_IS_OK, "seed kernel: %s%s%s", latency.at,
                   seed->bound_by ? ", limited by " : "", seed->bound_by ? seed->bound_by : "");
    buf_free(&latency);
}

/* ----------------------------------------------------------------------------------- verifying */

/* The description of a model for a check: one run tells whether the model works and how accurate it
 * is. */
static char *one_run(const char *model) {
    cJSON *object = cJSON_Parse(model);
    cJSON_DeleteItemFromObjectCaseSensitive(object, "runs");
    cJSON_DeleteItemFromObjectCaseSensitive(object, "warmup");
    cJSON_AddNumberToObject(object, "runs", 1);
    char *text = cJSON_PrintUnformatted(object);
    cJSON_Delete(object);
    return text;
}

static void verify_job(struct tune_session *session, int lane, bool rest,
                       const struct tune_evaluation *last) {
    const struct tune_state *state = session->state;
    bool modelled = session->place.modelled;
    struct runner_job job = {.seeds = state->seeds.at,
                             .no_time = !modelled,
                             .seed_count =
                                 modelled ? MIN_OF(state->seeds.len, 1) : state->seeds.len};
    if (rest) {
        job.seeds = state->seeds.at + 1;
        job.seed_count = state->seeds.len - 1;
        job.no_time = true;
    }
    char *model = session->model ? one_run(session->model) : NULL;
    job.model = model;
    evaluation_start(tune_work_of(session, lane, TUNE_STEP_VERIFY), rest, &job, last);
    free(model);
}

static void verify_end(struct tune_session *session, int lane, const struct tune_attempt *attempt) {
    const char *wrong = why_wrong(attempt);
    if (wrong)
        tune_step_done(session, lane, TUNE_STEP_VERIFY, TUNE_IS_FAILED, "%s", wrong);
    else if (session->state->model)
        tune_step_done(session, lane, TUNE_STEP_VERIFY, TUNE_IS_OK, "the model runs with it%s%s",
                       attempt->verdict.correct_why ? ": " : "",
                       attempt->verdict.correct_why ? attempt->verdict.correct_why : "");
    else
        tune_step_done(session, lane, TUNE_STEP_VERIFY, TUNE_IS_OK, "correct on %zu of %zu %s",
                       attempt->seeds.len, session->state->seeds.len,
                       session->state->seeds.len == 1 ? "seed" : "seeds");
}

/* Whether the kernel is one that was tried, perhaps in another lane. */
static bool is_same(struct tune_session *session, int number) {
    const struct tune_state *state = session->state;
    const struct tune_lane *lane = tune_lane_of(state, number);
    const struct tune_attempt *parent = tune_state_attempt(state, lane->candidate.parent);
    struct buf why = {0};
    bool same = state->way->joins && lane->attempt < 0 &&
                tune_same_find(state, str_of(lane->candidate.source),
                               parent ? tune_source(state, parent) : "", &why);
    if (same)
        tune_step_done(session, number, TUNE_STEP_VERIFY, TUNE_IS_FAILED, "%s", why.at);
    buf_free(&why);
    return same;
}

void tune_verify_start(struct tune_session *session, int lane) {
    const struct tune_state *state = session->state;
    const struct tune_lane *own = tune_lane_of(state, lane);
    if (is_same(session, lane))
        return;
    int id = own->attempt > 0 ? own->attempt : (int)state->attempts.len;
    if (attempt_emit(session, lane, id, &own->candidate))
        tune_inspect(session, lane);
}

void tune_verify_go_on(struct tune_session *session, int lane) {
    const struct tune_state *state = session->state;
    const struct tune_attempt *attempt = tune_attempt_in(state, lane);
    struct tune_work work = tune_work_of(session, lane, TUNE_STEP_VERIFY);
    tune_beside_ask(session, attempt);
    tune_opinion_ask(session, lane, attempt);
    if (!isnan(session->prune) &&
        (tune_beside_pends(session, attempt->id) ||
         (!session->place.modelled && tune_opinion_pends(session, attempt->id))))
        hold(session, lane, attempt);
    else if (isnan(session->prune) || !is_pruned(&work, attempt))
        verify_job(session, lane, false, NULL);
}

void tune_verify_refuse(struct tune_session *session, int lane, const char *why) {
    struct task_verdict verdict = {0};
    int id = tune_lane_attempt(session->state, lane);
    task_judge(&verdict.compiles, TASK_NO, "%.230s", why);
    verdict_emit(session, lane, id, &verdict);
    if (!session->halted)
        verify_end(session, lane, tune_state_attempt(session->state, id));
}

static bool is_faster(const struct tune_state *state, const struct tune_attempt *attempt) {
    const struct tune_attempt *parent = tune_state_attempt(state, attempt->parent);
    return parent && attempt->latency_us < parent->latency_us * (1 - TUNE_MIN_GAIN);
}

static void not_run_note(struct tune_session *session, struct runner_result *result) {
    size_t left = session->state->seeds.len - MIN_OF(session->state->seeds.len, 1);
    if (!left || result->verdict.correct.answer != TASK_YES)
        return;
    task_judge(&result->verdict.correct, TASK_YES,
               "on the first seed; the other %zu were not run because the kernel is not faster",
               left);
}

/* The first seed was compared in an evaluation before this one. The verdict is about all seeds. */
static void all_seeds_judge(const struct tune_attempt *attempt, struct runner_result *result) {
    double worst = 0;
    if (result->verdict.correct.answer != TASK_YES)
        return;
    for (size_t i = 0; i < attempt->seeds.len; i++)
        worst = fmax(worst, attempt->seeds.at[i].rel_l2);
    task_judge_equal(&result->verdict, attempt->seeds.len, worst);
}

static void verify_settle(struct tune_session *session, struct tune_evaluation *evaluation,
                          struct runner_result *result) {
    bool modelled = session->place.modelled;
    int lane = evaluation->work.lane;
    if (!evaluation->rest && modelled)
        measured_emit(evaluation, result);
    const struct tune_attempt *attempt = tune_state_attempt(session->state, evaluation->attempt);
    bool more = !evaluation->rest && modelled && session->state->seeds.len > 1 && attempt &&
                task_verdict_is_green(&result->verdict) && is_faster(session->state, attempt);
    if (!more && !evaluation->rest && modelled)
        not_run_note(session, result);
    if (evaluation->rest && modelled && attempt)
        all_seeds_judge(attempt, result);
    verdict_emit(session, lane, evaluation->attempt, &result->verdict);
    if (session->halted || !attempt)
        return;
    bool running = session->state->steps[TUNE_STEP_VERIFY].is == TUNE_IS_RUNNING;
    if (more && running)
        verify_job(session, lane, true, NULL);
    else
        verify_end(session, lane, tune_state_attempt(session->state, evaluation->attempt));
}

/* -------------------------------------------------------------------------------- benchmarking */

/* The numbers behind the answer "faster" go with it. */
static void speed_emit(const struct tune_work *work, int attempt,
                       const struct task_verdict *verdict, struct task_ratio ratio,
                       bool confirmed) {
    struct tune_event event = tune_event_empty(TUNE_EVENT_VERDICT);
    struct tune_event_verdict *said = &event.verdict;
    said->attempt = attempt;
    judgement_tell(&verdict->faster, &said->faster, &said->faster_why);
    said->ratio = ratio.ratio;
    said->low = ratio.low;
    said->high = ratio.high;
    said->seen = ratio.seen;
    said->confirmed = confirmed;
    tune_emit(work->session, work->lane, &event);
}

/* `first`: it was faster in an evaluation before this one, and has to be so again. */
static void speed_judge(const struct tune_work *work, const struct tune_attempt *attempt,
                        bool first) {
    const struct tune_session *session = work->session;
    const struct tune_attempt *parent = tune_state_attempt(session->state, attempt->parent);
    struct task_samples mine = {attempt->samples.at, attempt->samples.len, attempt->modelled};
    struct task_samples theirs = {attempt->parent_samples.at, attempt->parent_samples.len,
                                  attempt->modelled};
    double parent_us = parent ? parent->latency_us : (double)NAN, own_us = attempt->latency_us;
    /* A host that could not compare its samples has said why. */
    if (!theirs.count && !attempt->modelled && attempt->verdict.faster == TUNE_ANSWER_INCONCLUSIVE)
        return;
    if (!mine.count)
        mine = (struct task_samples){&own_us, 1, attempt->modelled};
    if (!theirs.count)
        theirs = (struct task_samples){&parent_us, 1, attempt->modelled};
    struct task_verdict verdict = {0};
    task_judge_speed(&verdict, theirs, mine);
    if (attempt->modelled)
        tune_doubt_judge(parent, attempt, &verdict);
    bool confirmed = first && verdict.faster.answer == TASK_YES;
    if (first && !confirmed) {
        char now[sizeof verdict.faster.reason];
        snprintf(now, sizeof now, "%s", verdict.faster.reason);
        task_judge(&verdict.faster, TASK_INCONCLUSIVE, NOT_AGAIN "%.150s", now);
    }
    speed_emit(work, attempt->id, &verdict, task_ratio_of(theirs, mine), confirmed);
}

/* What no kernel can beat in any precision. Sessions of earlier hones have only one floor. */
static double floor_of_all(const struct tune_attempt *attempt) {
    return isnan(attempt->floor_any_us) ? attempt->floor_us : attempt->floor_any_us;
}

/* When a device is faster than the model's floor, the measurement went wrong or the kernel does not
 * do its work, unless the seed kernel beats the floor, too. */
static void floor_judge(struct tune_session *session, int lane,
                        const struct tune_attempt *attempt) {
    const struct tune_attempt *seed = &session->state->attempts.at[0];
    struct task_verdict verdict = {0};
    double floor_us = floor_of_all(attempt);
    if (!attempt->floor_modelled || seed->latency_us < floor_of_all(seed))
        return;
    task_judge_latency(&verdict, attempt->latency_us, floor_us);
    if (verdict.credible.answer != TASK_NO)
        return;
    struct buf text = {0};
    buf_puts(&text, "measured ");
    clock_print_duration(&text, attempt->latency_us * 1e-6);
    buf_puts(&text, ", below the floor of ");
    clock_print_duration(&text, floor_us * 1e-6);
    task_judge(&verdict.credible, TASK_NO, "%s, which no kernel can pass (modelled%s)", text.at,
               attempt->lnc > 1 ? ", two cores" : "");
    buf_free(&text);
    verdict_emit(session, lane, attempt->id, &verdict);
}

bool tune_not_again(const struct tune_attempt *attempt) {
    const char *why = attempt->verdict.faster_why;
    return why && str_starts(str_of(why), NOT_AGAIN);
}

static void benchmark_job(struct tune_session *session, int lane, bool again,
                          const struct tune_evaluation *last) {
    const struct tune_state *state = session->state;
    const struct tune_attempt *attempt = tune_attempt_in(state, lane);
    const struct tune_attempt *parent = tune_state_attempt(state, attempt->parent);
    struct runner_job job = {.no_verify = true, .incumbent_text = tune_source(state, parent)};
    evaluation_start(tune_work_of(session, lane, TUNE_STEP_BENCHMARK), again, &job, last);
}

/* Whether it would become the incumbent by this measurement alone. Luck must not be enough for
 * that. */
static bool wants_again(const struct tune_session *session, const struct tune_attempt *attempt) {
    return !attempt->modelled && attempt->verdict.faster == TUNE_ANSWER_YES &&
           attempt->verdict.credible != TUNE_ANSWER_NO &&
           1 - 1 / attempt->vs_parent >= TUNE_MIN_GAIN && !session->halted;
}

static void benchmark_end(struct tune_session *session, int lane, bool again) {
    int id = tune_lane_attempt(session->state, lane);
    const struct tune_attempt *attempt = tune_state_attempt(session->state, id);
    struct tune_work work = tune_work_of(session, lane, TUNE_STEP_BENCHMARK);
    floor_judge(session, lane, attempt);
    attempt = tune_state_attempt(session->state, id);
    speed_judge(&work, attempt, again);
    attempt = tune_state_attempt(session->state, id);
    if (!again && wants_again(session, attempt)) {
        tune_emit_log(
            session, lane, TUNE_LEVEL_INFO, "benchmark",
            "faster; hone measures it again in a new process before it becomes the incumbent");
        benchmark_job(session, lane, true, NULL);
        return;
    }
    tune_score(session, lane, id);
    attempt = tune_state_attempt(session->state, id);
    struct buf text = {0};
    clock_print_duration(&text, attempt->latency_us * 1e-6);
    if (attempt->modelled)
        buf_puts(&text, " (modelled)");
    buf_printf(&text, ", %.3fx of attempt %d", attempt->vs_parent, attempt->parent);
    struct tune_rests rests =
        tune_gain_rests(tune_state_attempt(session->state, attempt->parent), attempt);
    if (isfinite(rests.fitted))
        buf_puts(&text, "; ");
    tune_rests_print(&text, &rests);
    tune_step_done(session, lane, TUNE_STEP_BENCHMARK, TUNE_IS_OK, "%s", text.at);
    buf_free(&text);
}

void tune_benchmark_start(struct tune_session *session, int lane) {
    const struct tune_attempt *attempt = tune_attempt_in(session->state, lane);
    /* A modelled latency came with the check. Timing again would give the same. */
    if (attempt->modelled) {
        benchmark_end(session, lane, false);
        return;
    }
    tune_beside_ask(session, attempt);
    benchmark_job(session, lane, false, NULL);
}

static void benchmark_settle(struct tune_session *session, struct tune_evaluation *evaluation,
                             struct runner_result *result) {
    int lane = evaluation->work.lane;
    if (result->failure.kind != ERR_NONE) {
        tune_step_done(session, lane, TUNE_STEP_BENCHMARK, TUNE_IS_FAILED, "%s",
                       result->failure.text);
        return;
    }
    measured_emit(evaluation, result);
    tune_beside_fill(&evaluation->work, evaluation->attempt);
    struct task_verdict verdict = {.faster = result->verdict.faster};
    if (verdict.faster.answer == TASK_INCONCLUSIVE &&
        !tune_state_attempt(session->state, evaluation->attempt)->parent_samples.len)
        verdict_emit(session, lane, evaluation->attempt, &verdict);
    if (!session->halted)
        benchmark_end(session, lane, evaluation->rest);
}
