/* SPDX-License-Identifier: Apache-2.0 */
/* One evaluation of a kernel: how it starts, what becomes of its end, and what it waits for. What
 * the runner says on the way is in hear.c; what each step makes of the result is in baseline.c,
 * verify.c and benchmark.c. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tune/exchange/inner.h"
#include "tune/trial/private.h"

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

static const struct {
    void (*start)(struct tune_session *session, int lane);
    tune_settle_fn *settle;
    tune_job_fn *repeat;
} by_step[TUNE_STEPS] = {
    [TUNE_STEP_PROFILE] = {tune_baseline_start, tune_baseline_settle, tune_baseline_job},
    [TUNE_STEP_VERIFY] = {tune_verify_start, tune_verify_settle, tune_verify_job},
    [TUNE_STEP_BENCHMARK] = {tune_benchmark_start, tune_benchmark_settle, tune_benchmark_job},
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
    tune_device_time_emit(evaluation, result);
    tune_evaluation_settled(session, evaluation->work.lane, evaluation->attempt);
    bool holds = session->halted || tune_files_check(session, true);
    const struct tune_attempt *attempt = tune_state_attempt(session->state, evaluation->attempt);
    if (holds && !session->halted)
        tune_files_found(session, tune_source(session->state, attempt));
    if (holds && !session->halted && !tune_disturbed(evaluation, &result->failure) &&
        !place_failed(session, evaluation, result)) {
        failure_judge(result);
        failure_tell(session, evaluation, result);
        by_step[evaluation->work.step].settle(session, evaluation, result);
    }
    tune_advance(session);
}

/* A timed kernel waits for what the device model says of it, and the compiler where it is asked
 * separately. Both come soon, and mostly came before. Any waits until it is known whether its task
 * is still the same. */
static bool waits_for_word(const struct tune_evaluation *evaluation) {
    struct tune_session *session = evaluation->work.session;
    bool looks = !evaluation->held && !session->halted;
    bool timed = evaluation->work.step != TUNE_STEP_VERIFY || evaluation->held;
    if (timed && tune_beside_pends(session, evaluation->attempt))
        return true;
    if ((timed || session->place.modelled) && tune_opinion_pends(session, evaluation->attempt))
        return true;
    return looks && (!tune_look_is_over_for(session, evaluation) || !tune_files_ready(session));
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
        tune_device_time_emit(evaluation, result);
    tune_evaluation_free(evaluation);
}

void tune_evaluation_go_on(struct tune_session *session) {
    struct tune_evaluation *evaluation = session->evaluations;
    while (evaluation && (evaluation->run || evaluation->again || waits_for_word(evaluation)))
        evaluation = evaluation->next;
    if (!evaluation)
        return;
    tune_evaluation_unlink(evaluation);
    if (evaluation->held)
        tune_held_go_on(evaluation);
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

void tune_evaluation_start(struct tune_work work, bool second, struct runner_job *job,
                           const struct tune_evaluation *last) {
    struct tune_session *session = work.session;
    const struct tune_state *state = session->state;
    const struct tune_attempt *attempt = tune_attempt_in(state, work.lane);
    struct tune_evaluation *evaluation = mem_alloc(1, sizeof *evaluation);
    *evaluation = (struct tune_evaluation){.work = work, .attempt = attempt->id, .rest = second};
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
    job->release = tune_release(state);
    job->tracing = session->place.modelled ? state->tracing : NULL;
    job->pessimistic = session->place.modelled && state->is_pessimistic;
    job->lnc = session->place.modelled ? state->lnc : 0;
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
    by_step[waiting->work.step].repeat(waiting->work.session, waiting->work.lane, waiting->rest,
                                       waiting);
}
