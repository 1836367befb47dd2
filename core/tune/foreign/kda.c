/* SPDX-License-Identifier: Apache-2.0 */
/* A row of KDA's candidates.jsonl. Its speedups are over the baseline, so what a step brought is
 * worked out against its parent's latency, an earlier row; the kernels are files beside it. Rows
 * are also decisions: a direction that was closed without a kernel. */
#include <math.h>
#include <stdlib.h>

#include "tune/foreign/foreign.h"
#include "tune/state/state.h"

#define CODE_NAME 12

static const struct foreign_row *row_find(const struct foreign_log *log, const char *id) {
    for (size_t i = log->rows.len; id && i-- > 0;)
        if (log->rows.at[i].id && !strcmp(log->rows.at[i].id, id))
            return &log->rows.at[i];
    return NULL;
}

/* How much faster it is than its parent; NAN when one of them was not measured. */
static double against_parent(const cJSON *line, const struct foreign_row *parent) {
    const char *name = tune_json_text(line, "parent");
    double ms = foreign_number(line, "latency_ms"), was = parent ? parent->latency_ms : (double)NAN;
    if (!parent && (!name || str_starts(str_of(name), "baseline")))
        was = foreign_number(line, "baseline_latency_ms");
    if (!parent && isnan(was) && (!name || str_starts(str_of(name), "baseline")))
        return foreign_number(line, "speedup");
    return was > 0 && ms > 0 ? was / ms : (double)NAN;
}

/* "runs/op_v2.py (unchanged)" is a file and a remark; "(not built)" is none. */
static const char *file_name(struct tune_foreign *out, const char *told) {
    size_t len = told ? strcspn(told, " (") : 0;
    struct str name = {told, len};
    return len && str_ends(name, ".py") ? arena_strndup(out->arena, told, len) : NULL;
}

/* What was done; the code name of a plan ("D1") says nothing to others. */
static void title_print(const cJSON *line, struct buf *out) {
    static const char *const fields[] = {"lever", "direction", "structure"};
    const char *told = NULL;
    for (size_t i = 0; !told && i < COUNT_OF(fields); i++) {
        told = tune_json_text(line, fields[i]);
        if (told && strlen(told) < CODE_NAME)
            told = NULL;
    }
    if (told) {
        foreign_title(told, out);
        return;
    }
    const char *id = FOREIGN_TEXT(line, "id", "candidate");
    struct buf words = {0};
    foreign_title(FOREIGN_TEXT(line, "notes", "note"), &words);
    buf_printf(out, "%s%s%s", id ? id : "", id && words.len ? ": " : "", words.len ? words.at : "");
    buf_free(&words);
}

/* "NOT PROMOTED -- byte-identical" in the words before the explanation. */
static void status_print(const cJSON *line, struct buf *out) {
    const char *told = FOREIGN_TEXT(line, "verdict", "kind");
    size_t words = told ? strcspn(told, "(;:") : 0;
    const char *dashes = told ? strstr(told, " --") : NULL;
    if (dashes)
        words = MIN_OF(words, (size_t)(dashes - told));
    buf_add(out, told ? told : "", words);
    const cJSON *passed = tune_json_at(line, "passed");
    if (!out->len)
        buf_puts(out, cJSON_IsFalse(passed)  ? "failed"
                      : cJSON_IsTrue(passed) ? "passed"
                                             : "recorded");
}

static void lesson(const struct foreign_place *place, const cJSON *line,
                   const struct foreign_row *parent, const struct foreign_pair *about) {
    const char *file = file_name(place->out, tune_json_text(line, "candidate"));
    if (parent && parent->file && file && !strcmp(parent->file, file))
        return; /* the same kernel, measured again */
    struct foreign_pair pair = *about;
    char *before = foreign_beside(place, parent ? parent->file : NULL);
    char *after = foreign_beside(place, file);
    pair.before = before && after ? before : NULL;
    pair.after = after;
    foreign_pair(place, &pair);
    free(before);
    free(after);
}

void foreign_read_kda(const struct foreign_place *place, const cJSON *line,
                      struct foreign_log *log) {
    struct tune_foreign *out = place->out;
    const char *verdict = FOREIGN_TEXT(line, "verdict", "kind", "decision");
    const char *task = tune_json_text(line, "op");
    const char *why = FOREIGN_TEXT(line, "decision", "closure_rationale", "rationale", "reason",
                                   "reason_not_promoted", "rejection_reason", "notes", "note");
    bool failed = cJSON_IsFalse(tune_json_at(line, "passed"));
    bool passed = cJSON_IsTrue(tune_json_at(line, "passed"));
    const struct foreign_row *parent = row_find(log, tune_json_text(line, "parent"));
    double ratio = against_parent(line, parent);
    enum tune_status is = failed ? TUNE_STATUS_FAILED : foreign_status(verdict);
    struct buf title = {0}, status = {0};
    title_print(line, &title);
    status_print(line, &status);
    struct tune_import row = {.name = FOREIGN_TEXT(line, "id", "candidate"),
                              .parent = tune_json_text(line, "parent"),
                              .status = status.at,
                              .title = title.at,
                              .reason = is == TUNE_STATUS_KEEP ? NULL : why,
                              .is = is,
                              .round = -1,
                              .latency_us = foreign_us(foreign_number(line, "latency_ms")),
                              .speedup = ratio};
    char *kernel =
        failed ? foreign_beside(place, file_name(out, tune_json_text(line, "candidate"))) : NULL;
    struct foreign_about about = {
        .task = task, .family = foreign_family(out, task, NULL), .kernel = kernel, .tried = true};
    foreign_attempt(place, "KDA", row, &about);
    free(kernel);
    bool contrary = ratio >= 1 && (is == TUNE_STATUS_REJECTED || is == TUNE_STATUS_REVERT);
    bool first = !parent && ratio < 1; /* a kernel written anew, not a step that lost */
    const char *notes = FOREIGN_TEXT(line, "notes", "note", "decision");
    struct foreign_pair pair = {.agent = "KDA",
                                .task = task,
                                .title = title.at,
                                .what = notes ? notes : title.at,
                                .speedup = ratio};
    if (passed && !contrary && !first)
        lesson(place, line, parent, &pair);
    const char *id = tune_json_text(line, "id"), *file = tune_json_text(line, "candidate");
    if (id && !row_find(log, id) && log->rows.len < FOREIGN_ATTEMPTS)
        *vec_push(&log->rows) = (struct foreign_row){
            arena_strdup(out->arena, id), file_name(out, file), foreign_number(line, "latency_ms")};
    buf_free(&title);
    buf_free(&status);
}
