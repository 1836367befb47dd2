/* SPDX-License-Identifier: Apache-2.0 */
/* The step verify. With the device model, a candidate is checked, timed and compared on one seed
 * first, and on the other seeds only when it is faster than the incumbent. On a device all seeds
 * are compared here, after model and compiler were asked whether it is worth that. */
#include <math.h>
#include <stdlib.h>

#include "tune/read/read.h"
#include "tune/sums/sums.h"
#include "tune/trial/private.h"

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
    tune_decided_emit(work, attempt->id, TUNE_STATUS_REVERT, why.at);
    tune_step_done(session, work->lane, TUNE_STEP_VERIFY, TUNE_IS_SKIPPED, "%s", why.at);
    buf_free(&why);
    return true;
}

void tune_held_go_on(struct tune_evaluation *evaluation) {
    struct tune_session *session = evaluation->work.session;
    const struct tune_attempt *attempt = tune_state_attempt(session->state, evaluation->attempt);
    if (!evaluation->given_up && !session->halted && !is_pruned(&evaluation->work, attempt))
        tune_verify_job(session, evaluation->work.lane, false, NULL);
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

void tune_verify_job(struct tune_session *session, int lane, bool rest,
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
    const struct tune_attempt *attempt = tune_attempt_in(state, lane);
    const struct tune_attempt *parent =
        attempt && attempt->id > 0 ? tune_state_attempt(state, attempt->parent) : NULL;
    if (modelled && parent && parent->verdict.correct == TUNE_ANSWER_YES)
        job.parent_text = tune_source(state, parent);
    char *model = session->model ? one_run(session->model) : NULL;
    job.model = model;
    tune_evaluation_start(tune_work_of(session, lane, TUNE_STEP_VERIFY), rest, &job, last);
    free(model);
}

static void verify_end(struct tune_session *session, int lane, const struct tune_attempt *attempt) {
    const char *wrong = tune_why_wrong(attempt);
    size_t run = attempt->seeds.len, left = run == 1 ? session->state->seeds.len - run : 0;
    if (wrong)
        tune_step_done(session, lane, TUNE_STEP_VERIFY, TUNE_IS_FAILED, "%s", wrong);
    else if (session->state->model)
        tune_step_done(session, lane, TUNE_STEP_VERIFY, TUNE_IS_OK, "the model runs with it%s%s",
                       attempt->verdict.correct_why ? ": " : "",
                       attempt->verdict.correct_why ? attempt->verdict.correct_why : "");
    else if (session->place.modelled && attempt->verdict.correct == TUNE_ANSWER_YES && left)
        tune_step_done(session, lane, TUNE_STEP_VERIFY, TUNE_IS_OK,
                       "correct on the first seed; the other %zu %s not run: it is not faster",
                       left, left == 1 ? "was" : "were");
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
    if (tune_attempt_emit(session, lane, id, &own->candidate))
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
        tune_verify_job(session, lane, false, NULL);
}

void tune_verify_refuse(struct tune_session *session, int lane, const char *why) {
    struct task_verdict verdict = {0};
    int id = tune_lane_attempt(session->state, lane);
    task_judge(&verdict.compiles, TASK_NO, "%.230s", why);
    tune_verdict_emit(session, lane, id, &verdict);
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
               "on the first seed; the other %zu %s not run because the kernel is not faster", left,
               left == 1 ? "was" : "were");
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

void tune_verify_settle(struct tune_session *session, struct tune_evaluation *evaluation,
                        struct runner_result *result) {
    bool modelled = session->place.modelled;
    int lane = evaluation->work.lane;
    if (!evaluation->rest && modelled && !evaluation->timed)
        tune_measured_emit(evaluation, result);
    const struct tune_attempt *attempt = tune_state_attempt(session->state, evaluation->attempt);
    bool more = !evaluation->rest && modelled && session->state->seeds.len > 1 && attempt &&
                task_verdict_is_green(&result->verdict) && is_faster(session->state, attempt);
    if (!more && !evaluation->rest && modelled)
        not_run_note(session, result);
    if (evaluation->rest && modelled && attempt)
        all_seeds_judge(attempt, result);
    tune_verdict_emit(session, lane, evaluation->attempt, &result->verdict);
    if (session->halted || !attempt)
        return;
    bool running = session->state->steps[TUNE_STEP_VERIFY].is == TUNE_IS_RUNNING;
    if (more && running)
        tune_verify_job(session, lane, true, NULL);
    else
        verify_end(session, lane, tune_state_attempt(session->state, evaluation->attempt));
}
