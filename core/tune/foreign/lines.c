/* SPDX-License-Identifier: Apache-2.0 */
/* Histories with one row a line: experiments.jsonl of nki-kernel-agent and of hone,
 * candidates.jsonl of KDA. A damaged line is lost alone. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tune/foreign/foreign.h"
#include "tune/state/state.h"

#define MAX_LINE ((size_t)4 << 20)
#define MAX_TASK 200

/* Its score is that of the contest and not a speedup; its latency is 0 where none was measured.
 * What counts is the latency against the best so far. */
static double ancestor_speedup(const cJSON *line, struct foreign_log *log) {
    double ms = foreign_number(line, "latency_ms");
    if (!(ms > 0))
        return NAN;
    double speedup = log->best_ms > 0 ? log->best_ms / ms : (double)NAN;
    if (!(log->best_ms <= ms))
        log->best_ms = ms;
    return speedup;
}

/* Against the attempt it came from. */
static double hone_speedup(const cJSON *line, struct foreign_log *log, const char *name,
                           const char *parent) {
    double ms = foreign_number(line, "latency_ms"), was = NAN;
    for (size_t i = 0; i < log->rows.len; i++)
        if (!strcmp(log->rows.at[i].id, parent))
            was = log->rows.at[i].latency_ms;
    if (log->rows.len < FOREIGN_ATTEMPTS)
        *vec_push(&log->rows) = (struct foreign_row){name, NULL, ms};
    return was > 0 && ms > 0 ? was / ms : (double)NAN;
}

/* What the exported session was about; session.json is beside its log. */
static const char *task_of(const struct foreign_place *place, struct foreign_log *log) {
    if (log->looked)
        return log->task;
    log->looked = true;
    char *text = foreign_beside(place, "session.json");
    struct foreign_place beside = {.out = place->out, .path = "session.json", .line = 1};
    cJSON *session = text ? foreign_parse(&beside, str_of(text)) : NULL;
    log->task = foreign_keep(place->out, tune_json_text(session, "task"), MAX_TASK);
    cJSON_Delete(session);
    free(text);
    return log->task;
}

/* A line of experiments.jsonl. Hone's own count its attempts. */
static void experiment(const struct foreign_place *place, const cJSON *line,
                       struct foreign_log *log) {
    const char *status = tune_json_text(line, "status"), *plan = tune_json_text(line, "plan");
    double attempt = foreign_number(line, "attempt");
    char name[32] = "", parent[32] = "";
    bool hone = !isnan(attempt);
    if (hone)
        snprintf(name, sizeof name, "#%.0f", attempt);
    if (hone && foreign_number(line, "parent") >= 0)
        snprintf(parent, sizeof parent, "#%.0f", foreign_number(line, "parent"));
    struct buf title = {0};
    foreign_title(plan, &title);
    double speedup = hone ? hone_speedup(line, log, arena_strdup(place->out->arena, name), parent)
                          : ancestor_speedup(line, log);
    struct tune_import row = {.name = name,
                              .parent = parent,
                              .status = status,
                              .title = title.at,
                              .reason = tune_json_text(line, "error"),
                              .is = foreign_status(status),
                              .round = tune_json_int(line, "round", -1),
                              .latency_us = foreign_us(foreign_number(line, "latency_ms")),
                              .speedup = speedup};
    /* "No code block in executor response": the answer was lost, nothing was tried. */
    bool lost = row.reason && strstr(row.reason, "No code block");
    const char *task = hone ? task_of(place, log) : NULL;
    char *kernel =
        row.is == TUNE_STATUS_FAILED ? foreign_beside(place, tune_json_text(line, "kernel")) : NULL;
    const struct foreign_about about = {.task = task,
                                        .tried = !lost,
                                        .kernel = kernel,
                                        .family = foreign_family(place->out, task, NULL)};
    foreign_attempt(place, hone ? "hone" : "nki-kernel-agent", row, &about);
    free(kernel);
    buf_free(&title);
}

static void row(const struct foreign_place *place, const cJSON *line, struct foreign_log *log) {
    bool kda = tune_json_at(line, "verdict") || tune_json_at(line, "passed") ||
               tune_json_at(line, "candidate");
    if (!cJSON_IsObject(line))
        foreign_complain(place, "this line is not an object");
    else if (kda)
        foreign_read_kda(place, line, log);
    else if (tune_json_text(line, "status"))
        experiment(place, line, log);
    else
        foreign_complain(place, "this line has neither status nor verdict");
}

void foreign_read_lines(const struct foreign_place *place, struct str text) {
    struct foreign_place at = *place;
    struct foreign_log log = {.best_ms = NAN};
    struct str line;
    for (at.line = 1; str_next(&text, '\n', &line); at.line++) {
        line = str_trim(line);
        if (!line.len)
            continue;
        if (line.len > MAX_LINE) {
            foreign_complain(&at, "the line has %zu bytes and was skipped", line.len);
            continue;
        }
        cJSON *object = foreign_parse(&at, line);
        if (object)
            row(&at, object, &log);
        cJSON_Delete(object);
    }
    vec_free(&log.rows);
}
