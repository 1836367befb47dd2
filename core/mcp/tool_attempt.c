/* SPDX-License-Identifier: Apache-2.0 */
/* Tools about attempts: where their time goes, their memory, what no kernel beats, how two
 * differ. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "mcp/private.h"

#define MOST_DIFF ((size_t)20000) /* bytes */

static const struct tune_attempt *measured(struct mcp_call *call, const char *key) {
    struct err err = {0};
    const struct tune_attempt *attempt = mcp_attempt_of(call, key, &err);
    if (attempt && attempt->latency_us > 0)
        return attempt;
    if (attempt)
        mcp_call_failed(call, "attempt %d was never timed (%s%s%s); history says which were",
                        attempt->id, tune_status_word(attempt->status), attempt->reason ? ": " : "",
                        attempt->reason ? attempt->reason : "");
    else
        mcp_call_failed(call, "%s", err.text);
    return NULL;
}

static void uri_print(char uri[64], const struct tune_attempt *attempt, const char *what) {
    snprintf(uri, 64, "hone://attempt/%d/%s", attempt->id, what);
}

void mcp_tool_profile(struct mcp_call *call) {
    const struct tune_state *state = mcp_state(call);
    int lines = mcp_int(call, "lines", 10);
    char uri[64];
    if (lines < 1 || lines > 200) {
        mcp_call_failed(call, "\"lines\" must be from 1 to 200, not %d", lines);
        return;
    }
    const struct tune_attempt *attempt = measured(call, "attempt");
    if (!attempt)
        return;
    cJSON *object = mcp_attempt_brief(state, attempt);
    mcp_put_limited(object, "limited_by", attempt);
    mcp_put_profile(object, state, attempt, (size_t)lines);
    mcp_put_text(object, "causes", tune_causes(state, attempt));
    uri_print(uri, attempt, "profile");
    mcp_call_done(call, object, attempt->timeline ? uri : NULL);
}

void mcp_tool_memory(struct mcp_call *call) {
    static const char *const parts[] = {"hbm_", "sbuf_", "psum_", "spill_", "dma_transfer_"};
    const struct tune_attempt *attempt = measured(call, "attempt");
    if (!attempt)
        return;
    cJSON *object = cJSON_CreateObject();
    cJSON_AddNumberToObject(object, "attempt", attempt->id);
    cJSON *metrics = cJSON_AddObjectToObject(object, "metrics");
    for (size_t i = 0; i < attempt->metrics.len; i++) {
        struct tune_metric metric = tune_metric_at(attempt, i);
        for (size_t k = 0; k < COUNT_OF(parts); k++)
            if (str_starts(str_of(metric.name), parts[k]))
                mcp_put_number(metrics, metric.name, metric.value);
    }
    mcp_call_done(call, object, NULL);
}

void mcp_tool_bound(struct mcp_call *call) {
    const struct tune_state *state = mcp_state(call);
    const struct tune_attempt *best = tune_state_attempt(state, state->best);
    struct tune_roof roof = tune_roof_of(state);
    cJSON *object = cJSON_CreateObject();
    mcp_put_number(object, "floor_us", roof.floor_us);
    cJSON *floors = cJSON_AddObjectToObject(object, "floors_us");
    cJSON *anew = cJSON_AddObjectToObject(object, "written_anew_us");
    for (int i = 0; i < TUNE_PRECISIONS; i++) {
        const char *word = tune_precision_word((enum tune_precision)i);
        mcp_put_number(floors, word, roof.floors_us[i]);
        mcp_put_number(anew, word, state->offer_us[i]);
    }
    mcp_put_text(object, "precision", state->precision ? state->precision : "keep");
    mcp_put_number(object, "flops", roof.flops);
    if (best) {
        cJSON_AddNumberToObject(object, "best", best->id);
        mcp_put_number(object, "best_us", best->latency_us);
        mcp_put_number(object, "share_of_floor", tune_roof_share(&roof, best));
        mcp_put_limited(object, "best_limited_by", best);
    }
    mcp_call_done(call, object, NULL);
}

/* ------------------------------------------------------------------------------------ compare */

static void side_print(struct buf *out, struct str source, int first, int count, char mark) {
    struct str line;
    for (int i = 1; i < first + count && str_next(&source, '\n', &line); i++)
        if (i >= first)
            buf_printf(out, "%c" STR_FMT "\n", mark, STR_ARG(line));
}

void mcp_diff_print(struct buf *out, const char *a, const char *b) {
    size_t count = 0;
    struct tune_hunk *hunks = tune_hunks(str_of(a), str_of(b), &count);
    for (size_t i = 0; i < count && out->len < MOST_DIFF; i++) {
        const struct tune_hunk *hunk = &hunks[i];
        buf_printf(out, "@@ -%d,%d +%d,%d @@\n", hunk->old_line, hunk->old_count, hunk->new_line,
                   hunk->new_count);
        side_print(out, str_of(a), hunk->old_line, hunk->old_count, '-');
        side_print(out, str_of(b), hunk->new_line, hunk->new_count, '+');
    }
    if (out->len > MOST_DIFF) {
        out->len = MOST_DIFF;
        out->at[out->len] = 0;
        buf_puts(out, "\n... the rest is left out; the sources are resources\n");
    }
    free(hunks);
}

static void metrics_put(cJSON *object, const struct tune_attempt *a, const struct tune_attempt *b) {
    cJSON *metrics = cJSON_AddObjectToObject(object, "metrics");
    for (size_t i = 0; i < a->metrics.len; i++) {
        struct tune_metric from = tune_metric_at(a, i);
        double to = tune_attempt_metric(b, from.name);
        if (isnan(to) || !(fabs(to - from.value) > 1e-9 * fabs(from.value)))
            continue;
        cJSON *row = cJSON_AddObjectToObject(metrics, from.name);
        mcp_put_number(row, "a", from.value);
        mcp_put_number(row, "b", to);
    }
}

void mcp_tool_compare(struct mcp_call *call) {
    const struct tune_state *state = mcp_state(call);
    struct err err = {0};
    const struct tune_attempt *a = mcp_attempt_of(call, "a", &err);
    const struct tune_attempt *b = a ? mcp_attempt_of(call, "b", &err) : NULL;
    char *before = b ? mcp_source_of(state, a, &err) : NULL;
    char *after = before ? mcp_source_of(state, b, &err) : NULL;
    if (!after) {
        mcp_call_failed(call, "%s", err.text);
        free(before);
        return;
    }
    struct buf diff = {0};
    cJSON *object = cJSON_CreateObject();
    cJSON_AddItemToObject(object, "a", mcp_attempt_brief(state, a));
    cJSON_AddItemToObject(object, "b", mcp_attempt_brief(state, b));
    mcp_put_number(object, "b_times_as_fast", a->latency_us / b->latency_us);
    metrics_put(object, a, b);
    mcp_diff_print(&diff, before, after);
    mcp_put_text(object, "diff", diff.at);
    buf_free(&diff);
    free(before);
    free(after);
    mcp_call_done(call, object, NULL);
}
