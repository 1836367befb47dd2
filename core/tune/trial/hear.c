/* SPDX-License-Identifier: Apache-2.0 */
/* What a runner says while it evaluates, as events: log lines, diagnostics, seeds, samples. Its
 * result is evaluate.c's. */
#include <math.h>

#include "runner/runner.h"
#include "tune/session/inner.h"
#include "tune/state/state.h"
#include "tune/sums/sums.h"
#include "tune/trial/private.h"

#define MAX_LOG_LINES 4000 /* of one evaluation */
#define MAX_DIAGNOSTICS 100

/* ------------------------------------------------------------------------ what the runner says */

/* Whether the log has it already: from before hone was killed. */
static bool is_known(const struct tune_evaluation *evaluation) {
    return evaluation->heard && evaluation->heard <= evaluation->known;
}

/* Whether the log has it from an earlier evaluation, which did not come to an end. */
static bool is_told(struct tune_evaluation *evaluation, enum tune_told what) {
    return evaluation->heard_of.count[what]++ < evaluation->told.count[what];
}

static void log_emit(struct tune_evaluation *evaluation, enum tune_level level, const char *phase,
                     const char *text) {
    if (evaluation->lines++ >= MAX_LOG_LINES || is_known(evaluation))
        return;
    bool last = evaluation->lines == MAX_LOG_LINES;
    tune_emit(evaluation->work.session, evaluation->work.lane,
              TUNE_EVENT(LOG, log, .attempt = evaluation->attempt, .heard = evaluation->heard,
                         .level = level, .phase = phase,
                         .text = last ? "more lines were left out" : text));
}

static void on_phase(struct tune_evaluation *evaluation, const struct runner_event *event) {
    if (event->seconds < 0) {
        const struct tune_attempt *attempt =
            tune_state_attempt(evaluation->work.session->state, evaluation->attempt);
        bool verify = !strcmp(event->name, "verify");
        tune_step_progress(&evaluation->work, event->name,
                           verify && attempt ? (double)attempt->seeds.len : (double)NAN,
                           verify ? (double)evaluation->seeds : (double)NAN);
        return;
    }
    struct buf text = {0};
    buf_printf(&text, "%s took ", event->name);
    clock_print_duration(&text, event->seconds);
    log_emit(evaluation, TUNE_LEVEL_DEBUG, event->name, text.at);
    buf_free(&text);
}

static void on_log(struct tune_evaluation *evaluation, const struct runner_event *event) {
    static const enum tune_level levels[] = {[DIAG_ERROR] = TUNE_LEVEL_ERROR,
                                             [DIAG_WARNING] = TUNE_LEVEL_WARNING,
                                             [DIAG_NOTE] = TUNE_LEVEL_INFO};
    const struct tune_step_view *step =
        &evaluation->work.session->state->steps[evaluation->work.step];
    log_emit(evaluation, levels[event->severity],
             event->name   ? event->name
             : step->doing ? step->doing
                           : "runner",
             event->text);
}

void tune_diagnostic_emit(const struct tune_work *work, int attempt, const struct diag *diag,
                          int64_t heard) {
    const char *cause = *diag->cause ? diag->cause : message_cause(diag->code);
    tune_emit(work->session, work->lane,
              TUNE_EVENT(DIAGNOSTIC, diagnostic, .attempt = attempt, .heard = heard,
                         .severity = diag_severity_name(diag->severity), .code = diag->code,
                         .cause = cause, .file = diag->file, .message = diag->message,
                         .line = diag->line, .column = diag->column));
}

static void on_diagnostic(struct tune_evaluation *evaluation, const struct runner_event *event) {
    if (!event->diag || evaluation->diagnostics++ >= MAX_DIAGNOSTICS || is_known(evaluation) ||
        is_told(evaluation, TUNE_TOLD_FINDINGS))
        return;
    tune_diagnostic_emit(&evaluation->work, evaluation->attempt, event->diag, evaluation->heard);
}

static void on_correctness(struct tune_evaluation *evaluation, const struct runner_event *event) {
    if (is_told(evaluation, TUNE_TOLD_SEEDS))
        return;
    tune_emit(evaluation->work.session, evaluation->work.lane,
              TUNE_EVENT(SEED, seed, .attempt = evaluation->attempt, .seed = event->seed,
                         .rel_l2 = event->value, .max_abs = event->max_abs,
                         .passed = event->passed));
    struct buf text = {0};
    buf_printf(&text, "seed %lld  rel-L2 %.2e  %s", (long long)event->seed, event->value,
               event->passed ? "ok" : "wrong");
    log_emit(evaluation, event->passed ? TUNE_LEVEL_INFO : TUNE_LEVEL_ERROR, "verify", text.at);
    buf_clear(&text);
    const struct tune_attempt *attempt =
        tune_state_attempt(evaluation->work.session->state, evaluation->attempt);
    buf_printf(&text, "seed %lld", (long long)event->seed);
    tune_step_progress(&evaluation->work, text.at,
                       attempt ? (double)attempt->seeds.len : (double)NAN,
                       (double)evaluation->seeds);
    buf_free(&text);
}

static void on_sample(struct tune_evaluation *evaluation, const struct runner_event *event) {
    if (is_told(evaluation, TUNE_TOLD_SAMPLES))
        return;
    tune_emit(evaluation->work.session, evaluation->work.lane,
              TUNE_EVENT(SAMPLE, sample, .attempt = evaluation->attempt, .us = event->value,
                         .of_parent = event->incumbent));
    struct buf text = {0};
    clock_print_duration(&text, event->value * 1e-6);
    if (event->modelled)
        buf_puts(&text, " (modelled)");
    if (event->incumbent)
        buf_puts(&text, " of the incumbent");
    log_emit(evaluation, TUNE_LEVEL_INFO, "benchmark", text.at);
    buf_free(&text);
}

static void on_prediction(struct tune_evaluation *evaluation, const struct runner_event *event) {
    const struct tune_attempt *attempt =
        tune_state_attempt(evaluation->work.session->state, evaluation->attempt);
    /* What was asked before stays, because candidates are compared by the words of one compiler. */
    if (!is_known(evaluation) && !tune_predicted(attempt))
        tune_predicted_emit(evaluation->work.session, evaluation->work.lane, evaluation->attempt,
                            event->prediction);
}

/* The events of a job that is begun again go on in the same file, and so does their count. A hone
 * that takes the job up later reads all of them, and the count tells it which ones the log has. */
static void on_restart(struct tune_evaluation *evaluation, bool other_file) {
    if (evaluation->work.session->place.modelled) { /* nothing is taken back, nothing told twice */
        for (int i = 0; i < TUNE_TOLD; i++) {
            evaluation->told.count[i] =
                MAX_OF(evaluation->told.count[i], evaluation->heard_of.count[i]);
            evaluation->heard_of.count[i] = 0;
        }
        return;
    }
    tune_emit(evaluation->work.session, evaluation->work.lane,
              TUNE_EVENT(ANEW, anew, .attempt = evaluation->attempt,
                         .seeds = evaluation->work.step != TUNE_STEP_BENCHMARK,
                         .goes_on = !other_file));
    if (other_file)
        evaluation->count = evaluation->known = 0;
}

static const char *const optimised_words[] = {
    [RUNNER_OPTIMISED_UNKNOWN] = NULL, [RUNNER_NOT_OPTIMISED] = "off", [RUNNER_OPTIMISED] = "on"};

void tune_predicted_emit(struct tune_session *session, int lane, int attempt,
                         const struct runner_prediction *found) {
    struct tune_named engines[RUNNER_MAX_ENGINES];
    for (size_t i = 0; i < found->engine_count; i++)
        engines[i] = (struct tune_named){.name = found->engines[i].engine,
                                         .number = found->engines[i].percent};
    tune_emit(session, lane,
              TUNE_EVENT(PREDICTED, predicted, .attempt = attempt, .us = found->us, .by = found->by,
                         .optimised = optimised_words[found->optimised],
                         .utilisation = {engines, found->engine_count, true}, .macs = found->macs,
                         .hbm_bytes = found->hbm_bytes));
}

/* The profile is there to look at while the numbers are checked. */
static void on_timed(struct tune_evaluation *evaluation, const struct runner_event *event) {
    if (!evaluation->work.session->place.modelled || evaluation->rest || evaluation->timed)
        return;
    evaluation->timed = true;
    tune_measured_emit(evaluation, event->result);
}

void tune_evaluation_hear(void *data, const struct runner_event *event) {
    struct tune_evaluation *evaluation = data;
    struct tune_session *session = evaluation->work.session;
    if (evaluation->given_up || session->halted)
        return;
    int64_t heard = evaluation->heard;
    if (!session->place.modelled)
        evaluation->heard = event->local ? 0 : ++evaluation->count;
    switch (event->kind) {
    case RUNNER_PHASE: on_phase(evaluation, event); break;
    case RUNNER_LOG: on_log(evaluation, event); break;
    case RUNNER_DIAGNOSTIC: on_diagnostic(evaluation, event); break;
    case RUNNER_CORRECTNESS: on_correctness(evaluation, event); break;
    case RUNNER_SAMPLE: on_sample(evaluation, event); break;
    case RUNNER_RESTART: on_restart(evaluation, event->local); break;
    case RUNNER_PREDICTION: on_prediction(evaluation, event); break;
    case RUNNER_TIMED: on_timed(evaluation, event); break;
    case RUNNER_METRIC:
    case RUNNER_ARTIFACT:
    case RUNNER_RESULT: break; /* they come with the whole result */
    }
    evaluation->heard = heard;
    if (session->halted)
        tune_work_cancel(session);
}
