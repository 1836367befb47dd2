/* SPDX-License-Identifier: Apache-2.0 */
/* The runner's side of the protocol: from events to lines (PROTOCOL.md). reader.c reads them. */
#include "runner/protocol/inner.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *events_name(enum runner_event_kind kind) {
    static const char *const names[] = {"phase",   "log",        "diagnostic", "correctness",
                                        "sample",  "metric",     "artifact",   "result",
                                        "restart", "prediction", "timed"};
    return (size_t)kind < COUNT_OF(names) ? names[kind] : "";
}

static void add_number(cJSON *object, const char *name, double value) {
    if (isfinite(value))
        cJSON_AddNumberToObject(object, name, value);
    else
        cJSON_AddNullToObject(object, name);
}

static void add_text(cJSON *object, const char *name, const char *text) {
    struct buf safe = {0};
    text_sanitise(&safe, str_of(text ? text : ""));
    cJSON_AddStringToObject(object, name, safe.at ? safe.at : "");
    buf_free(&safe);
}

static void add_shape(cJSON *object, const struct array *array) {
    cJSON *shape = cJSON_AddArrayToObject(object, "shape");
    for (int d = 0; d < array->ndim; d++)
        cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)array->shape[d]));
}

/* Writes one line as a whole, from any thread. */
static void write_line(cJSON *object) {
    char *text = cJSON_PrintUnformatted(object);
    if (text) {
        flockfile(stdout);
        fputs(RUNNER_SENTINEL, stdout);
        fputs(text, stdout);
        putc('\n', stdout);
        fflush(stdout);
        funlockfile(stdout);
    }
    free(text);
    cJSON_Delete(object);
}

static cJSON *begin(enum runner_event_kind kind) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "event", events_name(kind));
    return object;
}

static void add_diagnostic(cJSON *object, const struct diag *diag) {
    cJSON_AddStringToObject(object, "severity", diag_severity_name(diag->severity));
    add_text(object, "code", diag->code);
    add_text(object, "file", diag->file);
    cJSON_AddNumberToObject(object, "line", diag->line);
    cJSON_AddNumberToObject(object, "column", diag->column);
    cJSON_AddNumberToObject(object, "end_line", diag->end_line);
    cJSON_AddNumberToObject(object, "end_column", diag->end_column);
    add_text(object, "message", diag->message);
}

void events_write(const struct runner_event *event) {
    cJSON *object = begin(event->kind);
    switch (event->kind) {
    case RUNNER_PHASE:
        cJSON_AddStringToObject(object, "name", event->name);
        add_number(object, "seconds", event->seconds < 0 ? (double)NAN : event->seconds);
        break;
    case RUNNER_LOG:
        cJSON_AddStringToObject(object, "severity", diag_severity_name(event->severity));
        add_text(object, "text", event->text);
        if (event->name)
            add_text(object, "name", event->name);
        break;
    case RUNNER_DIAGNOSTIC: add_diagnostic(object, event->diag); break;
    case RUNNER_CORRECTNESS:
        cJSON_AddNumberToObject(object, "seed", (double)event->seed);
        add_number(object, "rel_l2", event->value);
        add_number(object, "max_abs", event->max_abs);
        cJSON_AddBoolToObject(object, "passed", event->passed);
        break;
    case RUNNER_SAMPLE:
        add_number(object, "us", event->value);
        cJSON_AddStringToObject(object, "of", event->incumbent ? "incumbent" : "kernel");
        cJSON_AddBoolToObject(object, "modelled", event->modelled);
        break;
    case RUNNER_METRIC:
        add_text(object, "name", event->name);
        add_number(object, "value", event->value);
        add_text(object, "unit", event->unit);
        break;
    case RUNNER_ARTIFACT:
        add_text(object, "name", event->name);
        cJSON_AddStringToObject(object, "path", event->text);
        if (!event->array)
            break;
        cJSON_AddNumberToObject(object, "seed", (double)event->seed);
        cJSON_AddStringToObject(object, "dtype", dtype_name(event->array->dtype));
        add_shape(object, event->array);
        break;
    case RUNNER_RESULT:
    case RUNNER_TIMED: /* of their own, below */
    case RUNNER_RESTART:
    case RUNNER_PREDICTION: /* this runner makes none */ break;
    }
    write_line(object);
}

void events_phase(const char *name, double seconds) {
    events_write(&(struct runner_event){.kind = RUNNER_PHASE, .name = name, .seconds = seconds});
}

void events_metric(const char *name, double value, const char *unit) {
    events_write(
        &(struct runner_event){.kind = RUNNER_METRIC, .name = name, .value = value, .unit = unit});
}

/* ---------------------------------------------------------------------------------- the result */

static void add_judgement(cJSON *verdict, const char *name,
                          const struct task_judgement *judgement) {
    cJSON *object = cJSON_AddObjectToObject(verdict, name);
    cJSON_AddStringToObject(object, "answer", task_answer_name(judgement->answer));
    add_text(object, "reason", judgement->reason);
}

static void add_verdict(cJSON *object, const struct task_verdict *verdict) {
    cJSON *all = cJSON_AddObjectToObject(object, "verdict");
    add_judgement(all, "compiles", &verdict->compiles);
    add_judgement(all, "correct", &verdict->correct);
    add_judgement(all, "credible", &verdict->credible);
    add_judgement(all, "faster", &verdict->faster);
}

static void add_lines(cJSON *object, const struct runner_result *result) {
    cJSON *rows = cJSON_AddArrayToObject(object, "lines");
    for (size_t i = 0; i < result->lines.len; i++) {
        const struct runner_line *line = &result->lines.at[i];
        cJSON *row = cJSON_CreateObject();
        cJSON_AddNumberToObject(row, "line", line->line);
        add_number(row, "us", line->us);
        add_number(row, "share", line->share);
        cJSON_AddStringToObject(row, "engine", line->engine);
        add_number(row, "calls", line->calls);
        add_number(row, "busy_us", line->busy_us);
        cJSON_AddNumberToObject(row, "instructions", (double)line->instructions);
        cJSON_AddNumberToObject(row, "hbm_bytes", (double)line->hbm_bytes);
        cJSON_AddItemToArray(rows, row);
    }
}

static void add_bounds(cJSON *object, const struct runner_result *result) {
    cJSON *rows = cJSON_AddArrayToObject(object, "bounds");
    for (size_t i = 0; i < result->bounds.len; i++) {
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "name", result->bounds.at[i].name);
        add_number(row, "busy_us", result->bounds.at[i].busy_us);
        add_number(row, "without_us", result->bounds.at[i].without_us);
        cJSON_AddItemToArray(rows, row);
    }
}

/* The part of a result that is known before the kernel's numbers are checked. */
static void add_times(cJSON *object, const struct runner_result *result) {
    add_number(object, "latency_us", result->latency_us);
    add_number(object, "low_us", result->low_us);
    add_number(object, "high_us", result->high_us);
    add_number(object, "floor_us", result->floor_us);
    add_number(object, "floor_split_us", result->floor_split_us);
    add_number(object, "floor_any_us", result->floor_any_us);
    add_text(object, "floor_bound", result->floor_bound);
    add_text(object, "bound", result->bound);
    cJSON_AddNumberToObject(object, "instructions", (double)result->instructions);
    if (result->lnc)
        cJSON_AddNumberToObject(object, "lnc", result->lnc);
    add_lines(object, result);
    add_bounds(object, result);
    if (result->causes)
        cJSON_AddRawToObject(object, "causes", result->causes);
}

void events_timed(const struct runner_result *result) {
    cJSON *object = begin(RUNNER_TIMED);
    add_times(object, result);
    write_line(object);
}

static void add_failure(cJSON *object, const struct err *failure) {
    if (failure->kind == ERR_NONE)
        return;
    cJSON *row = cJSON_AddObjectToObject(object, "failure");
    cJSON_AddStringToObject(row, "kind", err_kind_name(failure->kind));
    add_text(row, "text", failure->text);
}

void events_result(const struct runner_result *result) {
    cJSON *object = begin(RUNNER_RESULT);
    add_text(object, "kernel_name", result->kernel_name);
    add_text(object, "device", result->device);
    add_text(object, "dialect", result->dialect);
    add_text(object, "release", result->release);
    add_text(object, "wall", result->wall);
    if (result->python[0])
        add_text(object, "python", result->python);
    add_verdict(object, &result->verdict);
    add_number(object, "tolerance", result->tolerance);
    add_times(object, result);
    if (result->needs_bytes)
        add_number(object, "needs_bytes", (double)result->needs_bytes);
    add_failure(object, &result->failure);
    write_line(object);
}
