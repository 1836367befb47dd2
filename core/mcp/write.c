/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of answers: attempts, verdicts, findings, costs, kernels that were handed in. Short, and
 * without what is not known. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/private.h"

#define MOST_LINE 160 /* bytes of a source line that is told */

void mcp_put_text(cJSON *object, const char *key, const char *text) {
    if (text && *text)
        cJSON_AddStringToObject(object, key, text);
}

void mcp_put_limited(cJSON *object, const char *key, const struct tune_attempt *attempt) {
    struct buf limited = {0};
    tune_limited_print(attempt, &limited);
    mcp_put_text(object, key, limited.at);
    buf_free(&limited);
}

void mcp_put_number(cJSON *object, const char *key, double number) {
    if (isfinite(number))
        cJSON_AddNumberToObject(object, key, number);
}

/* ----------------------------------------------------------------------------------- attempts */

cJSON *mcp_attempt_brief(const struct tune_state *state, const struct tune_attempt *attempt) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddNumberToObject(object, "attempt", attempt->id);
    if (attempt->parent >= 0)
        cJSON_AddNumberToObject(object, "parent", attempt->parent);
    mcp_put_text(object, "title", attempt->plan.title);
    mcp_put_text(object, "author", attempt->author);
    cJSON_AddStringToObject(object, "status", tune_status_word(attempt->status));
    mcp_put_text(object, "reason", attempt->reason);
    if (tune_attempt_awaits(state, attempt))
        cJSON_AddStringToObject(object, "awaits", "a person, who approves this status or not");
    mcp_put_number(object, "latency_us", attempt->latency_us);
    if (attempt->latency_us > 0)
        cJSON_AddBoolToObject(object, "modelled", attempt->modelled);
    mcp_put_number(object, "floor_us", attempt->floor_us);
    mcp_put_number(object, "speedup", attempt->speedup);
    mcp_put_number(object, "vs_parent", attempt->vs_parent);
    cJSON_AddStringToObject(object, "precision", tune_precision_word(attempt->precision));
    mcp_put_limited(object, "bound_by", attempt);
    return object;
}

static void put_verdict(cJSON *object, const struct tune_attempt *attempt) {
    const struct tune_verdict *verdict = &attempt->verdict;
    const struct {
        const char *name;
        enum tune_answer answer;
        const char *why;
    } rows[] = {{"compiles", verdict->compiles, verdict->compiles_why},
                {"correct", verdict->correct, verdict->correct_why},
                {"credible", verdict->credible, verdict->credible_why},
                {"faster", verdict->faster, verdict->faster_why}};
    cJSON *answers = cJSON_AddObjectToObject(object, "verdict");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char key[24];
        if (rows[i].answer == TUNE_ANSWER_UNKNOWN)
            continue;
        snprintf(key, sizeof key, "%s_why", rows[i].name);
        cJSON_AddStringToObject(answers, rows[i].name, tune_answer_word(rows[i].answer));
        mcp_put_text(answers, key, rows[i].why);
    }
}

static void put_findings(cJSON *object, const struct tune_state *state, int attempt, size_t most) {
    const struct tune_diagnostic *diag;
    cJSON *rows = cJSON_CreateArray();
    size_t at = 0, count = 0;
    while ((diag = tune_diagnostic_next(state, attempt, &at)) && count++ < most) {
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "severity", diag_severity_name(diag->severity));
        if (diag->line > 0)
            cJSON_AddNumberToObject(row, "line", diag->line);
        mcp_put_text(row, "code", diag->code);
        mcp_put_text(row, "message", diag->message);
        cJSON_AddItemToArray(rows, row);
    }
    if (count)
        cJSON_AddItemToObject(object, "findings", rows);
    else
        cJSON_Delete(rows);
}

/* -------------------------------------------------------------------------------------- costs */

void mcp_line_print(const char *source, int number, struct buf *out) {
    struct str rest = str_of(source), line = {0};
    for (int i = 0; i < number; i++)
        if (!str_next(&rest, '\n', &line))
            return;
    line = str_trim(line);
    buf_add(out, line.at ? line.at : "", MIN_OF(line.len, MOST_LINE));
}

static int by_cost(const void *a, const void *b) {
    const struct tune_line_cost *x = *(const struct tune_line_cost *const *)a;
    const struct tune_line_cost *y = *(const struct tune_line_cost *const *)b;
    if (x->us > y->us || x->us < y->us)
        return x->us > y->us ? -1 : 1;
    return x->line - y->line;
}

static void lines_put(cJSON *object, const char *source, const struct tune_lines *lines,
                      size_t most) {
    cJSON *rows = cJSON_AddArrayToObject(object, "lines");
    size_t count = lines->len;
    const struct tune_line_cost **all = mem_alloc(count + 1, sizeof *all);
    for (size_t i = 0; i < count; i++)
        all[i] = &lines->at[i];
    qsort(all, count, sizeof *all, by_cost);
    for (size_t i = 0; i < MIN_OF(count, most); i++) {
        struct buf text = {0};
        cJSON *row = cJSON_CreateObject();
        mcp_line_print(source, all[i]->line, &text);
        cJSON_AddNumberToObject(row, "line", all[i]->line);
        mcp_put_number(row, "us", all[i]->us);
        mcp_put_number(row, "share", all[i]->share);
        mcp_put_number(row, "busy_us", all[i]->busy_us);
        mcp_put_text(row, "engine", all[i]->engine);
        mcp_put_text(row, "text", text.at);
        cJSON_AddItemToArray(rows, row);
        buf_free(&text);
    }
    free(all);
}

void mcp_put_profile(cJSON *object, const struct tune_state *state,
                     const struct tune_attempt *attempt, size_t most) {
    char *source = tune_source_copy(state, attempt);
    struct tune_lines lines = tune_lines(state, attempt);
    lines_put(object, source, &lines, most);
    free(source);
    mcp_put_text(object, "trouble", state->trouble); /* lines that cannot be read are not none */
    cJSON *bounds = cJSON_AddArrayToObject(object, "bounds");
    for (size_t i = 0; i < attempt->bounds.len; i++) {
        cJSON *row = cJSON_CreateObject();
        mcp_put_text(row, "name", attempt->bounds.at[i].name);
        mcp_put_number(row, "busy_us", attempt->bounds.at[i].busy_us);
        mcp_put_number(row, "latency_without_us", attempt->bounds.at[i].without_us);
        cJSON_AddItemToArray(bounds, row);
    }
    cJSON *metrics = cJSON_AddObjectToObject(object, "metrics");
    for (size_t i = 0; i < attempt->metrics.len; i++) {
        struct tune_metric metric = tune_metric_at(attempt, i);
        mcp_put_number(metrics, metric.name, metric.value);
    }
}

/* -------------------------------------------------------------------- what was handed in */

void mcp_awaited_print(const struct mcp_server *server, int number, struct buf *out) {
    const struct tune_plan *plan =
        &tune_session_state(server->options.session)->submissions.at[number - 1].plan;
    buf_printf(out, "the kernel of plan %d (%s), which %s hands in with submit", number,
               plan->title ? plan->title : "-", plan->author ? plan->author : "an agent");
    if (!mcp_owner_of(server, number))
        buf_printf(out,
                   "; that agent has gone, and the plan is given up if it is not back within "
                   "%d s",
                   MCP_GONE_S);
}

/* What it waits for, and who can do something about it. `awaited`: the plan whose kernel the loop
 * waits for, and which this may be; 0: none. */
static void waits_put(cJSON *object, const struct mcp_call *call, int number, bool under_way,
                      int awaited) {
    const struct tune_state *state = mcp_state(call);
    const struct mcp_server *server = call->client->server;
    bool wanted = number == awaited;
    struct buf text = {0};
    if (wanted)
        buf_puts(&text, "its kernel: an agent hands it in");
    else if (state->trouble)
        buf_printf(&text, "trouble: %s", state->trouble);
    else if (state->changed.len)
        buf_printf(&text,
                   "%s changed on disk: a person says in the workbench which one counts, or "
                   "hone mcp is started with --changed take or keep",
                   state->changed.at[0].name);
    else if (state->wait == TUNE_WAIT_GATE)
        buf_printf(&text, "a person decides about %s (%s) in the workbench",
                   under_way ? "it" : "what comes before it", tune_step_word(state->wait_step));
    else if (state->wait != TUNE_WAIT_NOTHING)
        buf_printf(&text, "%s: %s", tune_wait_word(state->wait),
                   state->wait_text ? state->wait_text : "a person starts the loop");
    else if (awaited)
        mcp_awaited_print(server, awaited, &text);
    else if (!state->running && !server->options.drives)
        buf_puts(&text, "a person starts the loop");
    else
        buf_printf(&text, "step %s of round %d", tune_step_word(state->step), state->round);
    cJSON_AddStringToObject(object, "waits_for", text.at);
    buf_free(&text);
}

static const char *next_step(const struct mcp_call *call, int number, int awaited,
                             const struct tune_submission_view *view) {
    const struct mcp_server *server = call->client->server;
    bool plan_alone = !mcp_state(call)->submissions.at[number - 1].source;
    if (awaited == number)
        return "write the kernel of this plan and submit it with plan, this number";
    if (view->is != TUNE_SUBMISSION_ENDED && awaited &&
        mcp_owner_of(server, awaited) == call->client)
        return "hand in the kernel of your own plan, for which the loop waits (waits_for); a "
               "kernel without plan takes its place";
    if (view->is != TUNE_SUBMISSION_ENDED && mcp_loop_stands(server))
        return "tell your person what waits_for says; until then wait answers at once";
    if (view->is != TUNE_SUBMISSION_ENDED)
        return "call wait";
    if (view->refused && view->by_loop && plan_alone)
        return "the plan was given up, by the reason; submit a kernel with a title to go on";
    if (view->refused && view->by_loop)
        return "hand in another kernel; this one was not tried";
    switch (view->status) {
    case TUNE_STATUS_KEEP: return "it is the incumbent now: go on from it";
    case TUNE_STATUS_FAILED: return "repair it by the findings and hand it in again";
    case TUNE_STATUS_REJECTED: return "a person said no: take the reason into account";
    default: return "go on from the incumbent";
    }
}

/* What is tried in place of what was handed in; NULL: it is not there yet. Free it. */
static char *tried_source(const struct tune_state *state, const struct tune_submission_view *view) {
    const struct tune_attempt *attempt = tune_state_attempt(state, view->attempt);
    bool in_lane = view->lane >= 0 && (size_t)view->lane < state->lanes.len;
    const struct tune_candidate *candidate =
        in_lane ? &state->lanes.at[view->lane].candidate : NULL;
    if (attempt)
        return tune_source_copy(state, attempt);
    return candidate && candidate->exists && candidate->source ? mem_strdup(candidate->source)
                                                               : NULL;
}

/* A person edits a kernel at the gate, or leaves out some of its changes. */
static void edit_put(cJSON *object, const struct tune_state *state, int number,
                     const struct tune_submission_view *view) {
    const char *given = state->submissions.at[number - 1].source;
    char *tried = given ? tried_source(state, view) : NULL;
    struct buf diff = {0};
    if (tried && strcmp(given, tried) != 0)
        mcp_diff_print(&diff, given, tried);
    const struct tune_attempt *attempt = tune_state_attempt(state, view->attempt);
    bool repaired = attempt && attempt->author && strncmp(attempt->author, "agent/", 6) != 0;
    if (diff.len) { /* a model repairs what a session with models was handed */
        cJSON_AddStringToObject(object, "edited_by", repaired ? attempt->author : "a person");
        cJSON_AddStringToObject(object, "edit", diff.at);
    }
    buf_free(&diff);
    free(tried);
}

cJSON *mcp_submission_write(const struct mcp_call *call, int number) {
    const struct tune_session *session = call->client->server->options.session;
    const struct tune_state *state = tune_session_state(session);
    int awaited = tune_session_wants_kernel(session);
    static const char *const words[] = {"queued", "under way", "ended"};
    struct tune_submission_view view;
    cJSON *object = cJSON_CreateObject();
    if (!tune_submission_look(state, number, &view))
        return object;
    const struct tune_attempt *attempt = tune_state_attempt(state, view.attempt);
    cJSON_AddNumberToObject(object, "submission", number);
    cJSON_AddStringToObject(object, "state", words[view.is]);
    mcp_put_text(object, "title", state->submissions.at[number - 1].plan.title);
    mcp_put_text(object, "author", state->submissions.at[number - 1].plan.author);
    const struct tune_plan *plan = awaited == number ? tune_lane_plan(state, view.lane) : NULL;
    if (plan) { /* a person may have edited it */
        mcp_put_text(object, "plan_title", plan->title);
        mcp_put_text(object, "plan_what", plan->what);
    }
    if (view.is != TUNE_SUBMISSION_ENDED)
        waits_put(object, call, number, view.is == TUNE_SUBMISSION_UNDER_WAY, awaited);
    else
        cJSON_AddStringToObject(object, "status", tune_status_word(view.status));
    mcp_put_text(object, "reason", view.reason);
    edit_put(object, state, number, &view);
    if (view.is == TUNE_SUBMISSION_ENDED && view.status == TUNE_STATUS_REJECTED)
        cJSON_AddStringToObject(object, "rejected_by", view.by_loop ? "hone" : "a person");
    if (attempt) {
        cJSON_AddNumberToObject(object, "attempt", attempt->id);
        put_verdict(object, attempt);
        mcp_put_number(object, "latency_us", attempt->latency_us);
        mcp_put_number(object, "speedup", attempt->speedup);
        mcp_put_number(object, "vs_parent", attempt->vs_parent);
        mcp_put_limited(object, "bound_by", attempt);
        put_findings(object, state, attempt->id, 10);
    }
    cJSON_AddStringToObject(object, "next", next_step(call, number, awaited, &view));
    return object;
}
