/* SPDX-License-Identifier: Apache-2.0 */
/* What a runner says while it evaluates, as events: log lines, diagnostics, seeds, samples. Its
 * result is evaluate.c's. */
#include <math.h>

#include "runner/runner.h"
#include "tune/trial/trial.h"
#include "tune/state/state.h"

#define MAX_LOG_LINES 4000 /* of one evaluation */
#define MAX_DIAGNOSTICS 100

/* ------------------------------------------------------------------------ what the runner says */

static cJSON *about(const struct tune_evaluation *evaluation) {
    cJSON *payload = cJSON_CreateObject();
    cJSON_AddNumberToObject(payload, "attempt", evaluation->attempt);
    return payload;
}

/* Whether the log has it already: from before hone was killed. */
static bool is_known(const struct tune_evaluation *evaluation) {
    return evaluation->heard && evaluation->heard <= evaluation->known;
}

static void log_emit(struct tune_evaluation *evaluation, const char *level, const char *phase,
                     const char *text) {
    if (evaluation->lines++ >= MAX_LOG_LINES || is_known(evaluation))
        return;
    cJSON *payload = about(evaluation);
    if (evaluation->heard)
        cJSON_AddNumberToObject(payload, "heard", (double)evaluation->heard);
    tune_json_put_text(payload, "level", level);
    tune_json_put_text(payload, "phase", phase);
    tune_json_put_text(payload, "text",
                       evaluation->lines == MAX_LOG_LINES ? "more lines were left out" : text);
    tune_emit(evaluation->work.session, "log", payload);
}

static void on_phase(struct tune_evaluation *evaluation, const struct runner_event *event) {
    if (event->seconds < 0) {
        const struct tune_attempt *attempt =
            tune_state_attempt(evaluation->work.session->state, evaluation->attempt);
        bool verify = !strcmp(event->name, "verify");
        tune_step_progress(evaluation->work.session, evaluation->work.step, event->name,
                           verify && attempt ? (double)attempt->seeds.len : (double)NAN,
                           verify ? (double)evaluation->seeds : (double)NAN);
        return;
    }
    struct buf text = {0};
    buf_printf(&text, "%s took ", event->name);
    clock_print_duration(&text, event->seconds);
    log_emit(evaluation, "debug", event->name, text.at);
    buf_free(&text);
}

static void on_log(struct tune_evaluation *evaluation, const struct runner_event *event) {
    static const char *const levels[] = {
        [DIAG_ERROR] = "error", [DIAG_WARNING] = "warning", [DIAG_NOTE] = "info"};
    const struct tune_step_view *step =
        &evaluation->work.session->state->steps[evaluation->work.step];
    log_emit(evaluation, levels[event->severity],
             event->name   ? event->name
             : step->doing ? step->doing
                           : "runner",
             event->text);
}

void tune_diagnostic_emit(struct tune_session *session, int attempt, const struct diag *diag,
                          int64_t heard) {
    cJSON *payload = cJSON_CreateObject();
    cJSON_AddNumberToObject(payload, "attempt", attempt);
    if (heard)
        cJSON_AddNumberToObject(payload, "heard", (double)heard);
    tune_json_put_text(payload, "severity", diag_severity_name(diag->severity));
    tune_json_put_text(payload, "code", diag->code);
    tune_json_put_text(payload, "class", *diag->cause ? diag->cause : message_cause(diag->code));
    tune_json_put_text(payload, "file", diag->file);
    tune_json_put_text(payload, "message", diag->message);
    cJSON_AddNumberToObject(payload, "line", diag->line);
    cJSON_AddNumberToObject(payload, "column", diag->column);
    tune_emit(session, "diagnostic", payload);
}

static void on_diagnostic(struct tune_evaluation *evaluation, const struct runner_event *event) {
    if (!event->diag || evaluation->diagnostics++ >= MAX_DIAGNOSTICS || is_known(evaluation))
        return;
    tune_diagnostic_emit(evaluation->work.session, evaluation->attempt, event->diag,
                         evaluation->heard);
}

static void on_correctness(struct tune_evaluation *evaluation, const struct runner_event *event) {
    cJSON *payload = about(evaluation);
    cJSON_AddNumberToObject(payload, "seed", (double)event->seed);
    tune_json_put_number(payload, "rel_l2", event->value);
    tune_json_put_number(payload, "max_abs", event->max_abs);
    tune_json_put_bool(payload, "passed", event->passed);
    tune_emit(evaluation->work.session, "seed", payload);
    struct buf text = {0};
    buf_printf(&text, "seed %lld  rel-L2 %.2e  %s", (long long)event->seed, event->value,
               event->passed ? "ok" : "wrong");
    log_emit(evaluation, event->passed ? "info" : "error", "verify", text.at);
    buf_clear(&text);
    const struct tune_attempt *attempt =
        tune_state_attempt(evaluation->work.session->state, evaluation->attempt);
    buf_printf(&text, "seed %lld", (long long)event->seed);
    tune_step_progress(evaluation->work.session, evaluation->work.step, text.at,
                       attempt ? (double)attempt->seeds.len : (double)NAN,
                       (double)evaluation->seeds);
    buf_free(&text);
}

static void on_sample(struct tune_evaluation *evaluation, const struct runner_event *event) {
    cJSON *payload = about(evaluation);
    tune_json_put_number(payload, "us", event->value);
    tune_json_put_bool(payload, "of_parent", event->incumbent);
    tune_emit(evaluation->work.session, "sample", payload);
    struct buf text = {0};
    clock_print_duration(&text, event->value * 1e-6);
    if (event->modelled)
        buf_puts(&text, " (modelled)");
    if (event->incumbent)
        buf_puts(&text, " of the incumbent");
    log_emit(evaluation, "info", "benchmark", text.at);
    buf_free(&text);
}

static void on_prediction(struct tune_evaluation *evaluation, const struct runner_event *event) {
    const struct tune_attempt *attempt =
        tune_state_attempt(evaluation->work.session->state, evaluation->attempt);
    /* What was asked before stays: candidates are compared by the same compiler's words. */
    if (!is_known(evaluation) && !tune_predicted(attempt))
        tune_predicted_emit(evaluation->work.session, evaluation->attempt, event->prediction);
}

/* The events of a job that is begun again go on in the same file, and so does their count: a hone
 * that takes it up later reads all of it, and knows by the count what the log has. */
static void on_restart(struct tune_evaluation *evaluation, bool other_file) {
    cJSON *payload = about(evaluation);
    tune_json_put_bool(payload, "seeds", evaluation->work.step != TUNE_STEP_BENCHMARK);
    tune_json_put_bool(payload, "goes_on", !other_file);
    tune_emit(evaluation->work.session, "anew", payload);
    if (other_file)
        evaluation->count = evaluation->known = 0;
}

static const char *const optimised_words[] = {
    [RUNNER_OPTIMISED_UNKNOWN] = NULL, [RUNNER_NOT_OPTIMISED] = "off", [RUNNER_OPTIMISED] = "on"};

void tune_predicted_emit(struct tune_session *session, int attempt,
                         const struct runner_prediction *found) {
    cJSON *payload = cJSON_CreateObject();
    cJSON_AddNumberToObject(payload, "attempt", attempt);
    tune_json_put_number(payload, "us", found->us);
    tune_json_put_text(payload, "by", found->by);
    tune_json_put_text(payload, "optimised", optimised_words[found->optimised]);
    cJSON *engines = cJSON_AddObjectToObject(payload, "utilisation");
    for (size_t i = 0; i < found->engine_count; i++)
        tune_json_put_number(engines, found->engines[i].engine, found->engines[i].percent);
    tune_json_put_number(payload, "macs", found->macs);
    tune_json_put_number(payload, "hbm_bytes", found->hbm_bytes);
    tune_emit(session, "predicted", payload);
}

void tune_evaluation_hear(void *data, const struct runner_event *event) {
    struct tune_evaluation *evaluation = data;
    struct tune_session *session = evaluation->work.session;
    if (evaluation->given_up || session->halted)
        return;
    int before = tune_enter(session, evaluation->work.lane);
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
    case RUNNER_METRIC:
    case RUNNER_ARTIFACT:
    case RUNNER_RESULT: break; /* they come with the whole result */
    }
    evaluation->heard = heard;
    tune_leave(session, before);
    if (session->halted)
        tune_work_cancel(session);
}
