/* SPDX-License-Identifier: Apache-2.0 */
/* Tools about the session as a whole: where it stands, what was tried and learnt, what may be
 * tried, what words mean and what operations cost. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "device/device.h"
#include "mcp/private.h"
#include "runner/runner.h"

#define MOST_PLANS 12

/* ------------------------------------------------------------------------------------- status */

static void loop_put(cJSON *object, const struct mcp_server *server) {
    const struct tune_state *state = tune_session_state(server->options.session);
    int awaited = tune_session_wants_kernel(server->options.session);
    struct buf text = {0};
    if (awaited && state->wait == TUNE_WAIT_NOTHING)
        mcp_awaited_print(server, awaited, &text);
    cJSON *loop = cJSON_AddObjectToObject(object, "loop");
    cJSON_AddBoolToObject(loop, "running", state->running);
    cJSON_AddStringToObject(loop, "step", tune_step_word(state->step));
    cJSON_AddNumberToObject(loop, "round", state->round);
    cJSON_AddStringToObject(loop, "waits", text.len ? "kernel" : tune_wait_word(state->wait));
    mcp_put_text(loop, "waits_for", text.len ? text.at : state->wait_text);
    buf_free(&text);
    mcp_put_text(loop, "trouble", state->trouble);
}

static void gates_put(cJSON *object, const struct tune_state *state, bool approves) {
    cJSON *gates = cJSON_AddObjectToObject(object, "gates");
    for (int i = 0; i < TUNE_STEPS; i++)
        cJSON_AddStringToObject(gates, tune_step_word((enum tune_step)i),
                                tune_gate_word(state->steps[i].gate));
    cJSON_AddBoolToObject(object, "approved_by_nobody", approves);
}

static void budgets_put(cJSON *object, const struct tune_state *state) {
    cJSON *budgets = cJSON_AddObjectToObject(object, "budgets");
    for (int i = 0; i < TUNE_BUDGETS; i++) {
        cJSON *row = cJSON_AddObjectToObject(budgets, tune_budget_word((enum tune_budget)i));
        mcp_put_number(row, "spent", tune_budget_spent(state, (enum tune_budget)i));
        mcp_put_number(row, "limit", state->budgets[i].limit);
    }
}

static void kernels_put(cJSON *object, const struct tune_state *state) {
    const struct {
        const char *key;
        int id;
    } rows[] = {{"first", 0}, {"incumbent", state->incumbent}, {"best", state->best}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct tune_attempt *attempt = tune_state_attempt(state, rows[i].id);
        if (attempt && (i == 0 || rows[i].id > 0))
            cJSON_AddItemToObject(object, rows[i].key, mcp_attempt_brief(state, attempt));
    }
    cJSON_AddNumberToObject(object, "attempts", (double)state->attempts.len);
}

static void submissions_put(cJSON *object, const struct mcp_call *call) {
    const struct tune_state *state = mcp_state(call);
    cJSON *rows = cJSON_AddArrayToObject(object, "submissions");
    struct tune_submission_view view;
    for (size_t i = 0; i < state->submissions.len; i++)
        if (tune_submission_look(state, (int)i + 1, &view) && view.is != TUNE_SUBMISSION_ENDED)
            cJSON_AddItemToArray(rows, mcp_submission_write(call, (int)i + 1));
    cJSON_AddNumberToObject(object, "submitted", (double)state->submissions.len);
}

void mcp_tool_status(struct mcp_call *call) {
    const struct tune_state *state = mcp_state(call);
    const struct mcp_server *server = call->client->server;
    cJSON *object = cJSON_CreateObject();
    mcp_put_text(object, "task", state->task);
    mcp_put_text(object, "kernel", tune_kernel_file(state));
    mcp_put_text(object, "reference", tune_reference_file(state));
    mcp_put_text(object, "session", tune_session_folder(server->options.session));
    mcp_put_text(object, "device", state->device);
    mcp_put_text(object, "target", state->target ? state->target : "sim");
    mcp_put_text(object, "precision", state->precision ? state->precision : "keep");
    mcp_put_number(object, "tolerance", state->tolerance);
    if (tune_cores_allowed(state))
        cJSON_AddNumberToObject(object, "cores", tune_cores_allowed(state));
    const char *proposer = tune_session_proposer(server->options.session);
    mcp_put_text(object, "proposer", proposer ? proposer : state->proposer);
    cJSON_AddStringToObject(object, "held_by",
                            state->held_by           ? state->held_by
                            : server->options.drives ? "hone mcp"
                                                     : "a workbench");
    cJSON_AddBoolToObject(object, "read_only", state->read_only);
    cJSON_AddNumberToObject(object, "agents", (double)mcp_server_clients(server));
    loop_put(object, server);
    gates_put(object, state, server->options.approves);
    budgets_put(object, state);
    kernels_put(object, state);
    submissions_put(object, call);
    mcp_call_done(call, object, NULL);
}

/* -------------------------------------------------------------------------- tried and learnt */

static bool count_of(struct mcp_call *call, const char *key, int missing, int most, size_t *count) {
    int given = mcp_int(call, key, missing);
    if (given < 1 || given > most) {
        mcp_call_failed(call, "\"%s\" must be from 1 to %d, not %d", key, most, given);
        return false;
    }
    *count = (size_t)given;
    return true;
}

void mcp_tool_history(struct mcp_call *call) {
    const struct tune_state *state = mcp_state(call);
    size_t count = 0;
    if (!count_of(call, "last", 20, 500, &count))
        return;
    cJSON *object = cJSON_CreateObject(), *rows = cJSON_AddArrayToObject(object, "attempts");
    size_t from = state->attempts.len > count ? state->attempts.len - count : 0;
    for (size_t i = from; i < state->attempts.len; i++)
        cJSON_AddItemToArray(rows, mcp_attempt_brief(state, &state->attempts.at[i]));
    cJSON_AddNumberToObject(object, "all", (double)state->attempts.len);
    cJSON_AddNumberToObject(object, "incumbent", state->incumbent);
    cJSON *refused = cJSON_AddArrayToObject(object, "refused_plans");
    for (size_t i = 0; i < state->rejections.len; i++) {
        const struct tune_rejection *row = &state->rejections.at[i];
        if (row->attempt >= 0 || row->hunk)
            continue;
        cJSON *one = cJSON_CreateObject();
        mcp_put_text(one, "title", row->title);
        mcp_put_text(one, "reason", row->reason);
        cJSON_AddStringToObject(one, "by", row->by_loop ? "hone" : "a person");
        cJSON_AddItemToArray(refused, one);
    }
    mcp_call_done(call, object, NULL);
}

void mcp_tool_notes(struct mcp_call *call) {
    const struct tune_state *state = mcp_state(call);
    cJSON *object = cJSON_CreateObject(), *rows = cJSON_AddArrayToObject(object, "notes");
    for (size_t i = 0; i < state->notes.len; i++) {
        const struct tune_note *note = &state->notes.at[i];
        if (note->dropped)
            continue;
        cJSON *row = cJSON_CreateObject();
        cJSON_AddNumberToObject(row, "attempt", note->attempt);
        cJSON_AddStringToObject(row, "category", tune_category_word(note->category));
        mcp_put_text(row, "plan", note->plan);
        mcp_put_text(row, "lesson", note->lesson);
        mcp_put_text(row, "evidence", note->evidence);
        cJSON_AddItemToArray(rows, row);
    }
    mcp_call_done(call, object, NULL);
}

void mcp_tool_experiences(struct mcp_call *call) {
    const struct tune_state *state = mcp_state(call);
    cJSON *object = cJSON_CreateObject(), *rows = cJSON_AddArrayToObject(object, "experiences");
    for (size_t i = 0; i < state->memory.len; i++) {
        const struct tune_experience *item = &state->memory.at[i];
        bool is_told = item->is == TUNE_EXPERIENCE_APPROVED || item->is == TUNE_EXPERIENCE_PROPOSED;
        if (!is_told || !tune_memory_applies(state, item))
            continue;
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "state", tune_experience_word(item->is));
        mcp_put_text(row, "title", item->title);
        mcp_put_text(row, "summary", item->summary);
        mcp_put_number(row, "speedup", item->speedup);
        mcp_put_text(row, "before", item->slow);
        mcp_put_text(row, "after", item->fast);
        mcp_put_text(row, "evidence", item->evidence);
        mcp_put_text(row, "source", item->source);
        cJSON_AddItemToArray(rows, row);
    }
    mcp_call_done(call, object, NULL);
}

/* ----------------------------------------------------------------------------- what to try */

static void strategies_put(cJSON *list, const struct tune_menu *menu, const size_t *order,
                           size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct tune_strategy *entry = &menu->entries.at[order[i]];
        cJSON *row = cJSON_CreateObject();
        mcp_put_text(row, "strategy", entry->name);
        mcp_put_text(row, "text", entry->text);
        mcp_put_text(row, "measured", entry->measured);
        cJSON_AddItemToArray(list, row);
    }
}

static void plan_put(cJSON *plans, const struct tune_plan *plan) {
    cJSON *row = cJSON_CreateObject();
    mcp_put_text(row, "key", plan->key);
    mcp_put_text(row, "title", plan->title);
    mcp_put_text(row, "what", plan->what);
    mcp_put_text(row, "metric", plan->metric);
    mcp_put_number(row, "size", plan->size);
    mcp_put_number(row, "latency", plan->latency);
    cJSON_AddItemToArray(plans, row);
}

/* Whether the rewriter offers it now, and nothing is made of it yet. Its plans are no stock: it
 * makes them anew from each kernel. */
static bool is_offered(const struct tune_state *state, const struct tune_plan *plan) {
    if (!plan->key || !plan->author || strcmp(plan->author, "rewriter") != 0)
        return false;
    for (size_t i = 0; i < state->lanes.len; i++) {
        const struct tune_plan *taken = tune_lane_plan(state, (int)i);
        if (taken && taken->key && !strcmp(taken->key, plan->key))
            return false;
    }
    return true;
}

/* What the session's proposer found and nobody tried yet. */
static void stock_put(cJSON *object, const struct tune_state *state) {
    size_t at[MOST_PLANS], count = tune_stock_list(state, at, MOST_PLANS);
    cJSON *plans = cJSON_AddArrayToObject(object, "plans");
    for (size_t i = 0; i < count; i++)
        plan_put(plans, &state->stock.at[at[i]].plan);
    for (size_t i = 0; i < state->plans.len && count < MOST_PLANS; i++)
        if (is_offered(state, &state->plans.at[i])) {
            plan_put(plans, &state->plans.at[i]);
            count++;
        }
}

/* All that applies: unlike a prompt, an answer leaves nothing out. */
void mcp_tool_menu(struct mcp_call *call) {
    const struct tune_state *state = mcp_state(call);
    struct arena *arena = arena_new();
    const struct tune_menu_facts facts = tune_menu_facts_of(state, state->incumbent, arena);
    const struct tune_menu_draw draw = {
        .session = state->id ? state->id : "", .round = 1, .keep = 1};
    struct tune_menu *menu = tune_menu_load();
    size_t *order = mem_alloc(menu->entries.len + 1, sizeof *order), harmful;
    size_t count = tune_menu_choose(menu, &facts, &draw, order, &harmful);
    cJSON *object = cJSON_CreateObject();
    strategies_put(cJSON_AddArrayToObject(object, "try"), menu, order, count);
    strategies_put(cJSON_AddArrayToObject(object, "avoid"), menu, order + count, harmful);
    stock_put(object, state);
    free(order);
    tune_menu_free(menu);
    arena_free(arena);
    mcp_call_done(call, object, NULL);
}

/* ------------------------------------------------------------------------------------- words */

void mcp_tool_explain(struct mcp_call *call) {
    const char *what = mcp_text(call, "what");
    struct buf text = {0};
    if (message_explain(str_trim(str_of(what)), &text)) {
        cJSON *object = cJSON_CreateObject();
        cJSON_AddStringToObject(object, "what", what);
        cJSON_AddStringToObject(object, "text", text.at);
        mcp_call_done(call, object, NULL);
    } else {
        mcp_call_failed(call,
                        "hone knows nothing about \"%.80s\": give a code (NCC_EVRF007), a metric "
                        "(hbm_read_bytes), an instruction (nc_matmul) or a word (floor)",
                        what);
    }
    buf_free(&text);
}
