/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to language models in the log and in the state: what was asked, what came, what it
 * cost. Prompts and answers are artefacts; the pieces of an answer that is still coming are not kept. */
#include <math.h>
#include <stdlib.h>

#include "model/model.h"
#include "tune/driver.h"

/* ------------------------------------------------------------------------------------ the state */

static const struct {
    const char *key;
    size_t offset;
} numbers[] = {
    {"input", offsetof(struct tune_call, input)},
    {"output", offsetof(struct tune_call, output)},
    {"cache_read", offsetof(struct tune_call, cache_read)},
    {"cache_write", offsetof(struct tune_call, cache_write)},
    {"dollars", offsetof(struct tune_call, dollars)},
    {"first_s", offsetof(struct tune_call, first_s)},
    {"elapsed_s", offsetof(struct tune_call, elapsed_s)},
    {"guess_answer", offsetof(struct tune_call, guess_answer)},
    {"guess_dollars", offsetof(struct tune_call, guess_dollars)},
};

static double *number_at(struct tune_call *call, size_t row) {
    return (double *)((char *)call + numbers[row].offset);
}

static void streaming_set(struct tune_state *state) {
    state->streaming = NULL;
    for (size_t i = state->calls.len; i > 0 && !state->streaming; i--)
        if (!state->calls.at[i - 1].ended_ms)
            state->streaming = state->calls.at[i - 1].live.at;
}

/* What a person wrote for one call has gone out with it. */
static void edits_used(struct tune_state *state, const char *word) {
    enum tune_role role;
    size_t left = 0;
    if (!tune_role_find(word, &role))
        return;
    for (size_t i = 0; i < state->parts.len; i++) {
        struct tune_part_change change = state->parts.at[i];
        if (change.role == role)
            change.text = NULL;
        if (change.off || change.text)
            state->parts.at[left++] = change;
    }
    state->parts.len = left;
}

void tune_call_asked(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    struct tune_call *call = vec_push(&state->calls);
    *call = (struct tune_call){
        .role = tune_keep(state, tune_json_text(payload, "role")),
        .model = tune_keep(state, tune_json_text(payload, "model")),
        .prompt = tune_keep(state, tune_json_text(payload, "prompt")),
        .round = state->round,
        .attempt = tune_json_int(payload, "attempt", -1),
        .asked_ms = wall_ms,
        .estimate = tune_json_number(payload, "estimate"),
        .hold_tokens = tune_json_number(payload, "hold_tokens"),
        .hold_dollars = tune_json_number(payload, "hold_dollars"),
        .waits = tune_json_bool(payload, "waits"),
    };
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        *number_at(call, i) = NAN;
    edits_used(state, call->role);
    streaming_set(state);
}

void tune_call_answered(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    int number = tune_json_int(payload, "call", -1);
    if (number < 0 || (size_t)number >= state->calls.len)
        return;
    struct tune_call *call = &state->calls.at[number];
    call->answer = tune_keep(state, tune_json_text(payload, "answer"));
    call->failure = tune_keep(state, tune_json_text(payload, "failure"));
    call->tries = tune_json_int(payload, "tries", 1);
    call->ended_ms = wall_ms;
    call->waits = false;
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        *number_at(call, i) = tune_json_number(payload, numbers[i].key);
    buf_free(&call->live);
    streaming_set(state);
}

void tune_calls_break_off(struct tune_state *state, int64_t wall_ms) {
    for (size_t i = 0; i < state->calls.len; i++) {
        struct tune_call *call = &state->calls.at[i];
        if (call->ended_ms)
            continue;
        call->ended_ms = wall_ms;
        call->waits = false;
        call->failure = "hone ended before the answer came";
        buf_free(&call->live);
    }
    state->streaming = NULL;
}

void tune_call_stream(struct tune_state *state, int number, struct str piece, bool again) {
    if (number < 0 || (size_t)number >= state->calls.len)
        return;
    struct tune_call *call = &state->calls.at[number];
    if (again)
        buf_clear(&call->live);
    buf_add(&call->live, piece.at ? piece.at : "", piece.len);
    streaming_set(state);
}

bool tune_call_runs(const struct tune_state *state) {
    bool asks = state->step == TUNE_STEP_PLAN || state->step == TUNE_STEP_REWRITE;
    if (!asks || state->steps[state->step].is != TUNE_IS_RUNNING)
        return false;
    for (size_t i = state->calls.len; i > 0; i--)
        if (!state->calls.at[i - 1].ended_ms)
            return true;
    return false;
}

enum tune_role tune_role_next(const struct tune_state *state) {
    const struct tune_attempt *open = tune_state_attempt(state, state->current);
    enum tune_step_is is = state->steps[state->step].is;
    bool broken = open && open->id > 0 && open->status == TUNE_STATUS_OPEN &&
                  open->verdict.compiles == TUNE_ANSWER_NO;
    if (state->step == TUNE_STEP_PLAN && is == TUNE_IS_OK)
        return TUNE_ROLE_REWRITER;
    if (state->step == TUNE_STEP_REWRITE && (is == TUNE_IS_WAITING || is == TUNE_IS_RUNNING))
        return broken ? TUNE_ROLE_FIXER : TUNE_ROLE_REWRITER;
    if (state->step == TUNE_STEP_VERIFY && is == TUNE_IS_FAILED && broken &&
        open->repairs < tune_repairs_most(state, open))
        return TUNE_ROLE_FIXER;
    return TUNE_ROLE_PLANNER;
}

size_t tune_role_turn(const struct tune_state *state, enum tune_role role, size_t models) {
    size_t count = 0;
    for (size_t i = 0; i < state->calls.len; i++)
        count += state->calls.at[i].role && !strcmp(state->calls.at[i].role, tune_role_word(role));
    return models ? count % models : 0;
}

/* ------------------------------------------------------------------------------------- the log */

static void artefact_put(struct tune_session *session, cJSON *payload, const char *key,
                         struct str text) {
    struct hash hash;
    struct err err = {0};
    if (!text.len)
        return;
    if (store_artefact_put(session->store, text.at, text.len, &hash, &err))
        tune_json_put_text(payload, key, hash.hex);
    else
        tune_emit_log(session, TUNE_LEVEL_WARNING, "store", "%s", err.text);
}

int tune_reply_asked(struct tune_reply *reply, const struct tune_question *question) {
    struct tune_session *session = reply->session;
    cJSON *payload = cJSON_CreateObject();
    tune_json_put_text(payload, "role", tune_role_word(question->role));
    tune_json_put_text(payload, "model", question->model);
    artefact_put(session, payload, "prompt", question->prompt);
    tune_json_put_number(payload, "estimate", question->estimate);
    tune_json_put_number(payload, "hold_tokens", question->hold_tokens);
    tune_json_put_number(payload, "hold_dollars", question->hold_dollars);
    cJSON_AddNumberToObject(payload, "attempt", session->state->current);
    if (question->waits)
        cJSON_AddTrueToObject(payload, "waits");
    int number = (int)session->state->calls.len;
    return tune_emit(session, "asked", payload) ? number : -1;
}

void tune_reply_stream(struct tune_reply *reply, int call, struct str piece, bool again) {
    struct tune_session *session = reply->session;
    tune_call_stream(session->state, call, piece, again);
    if (session->changed)
        session->changed(session->changed_context);
}

static double tokens_of(const struct model_usage *usage) {
    const double all[] = {usage->input, usage->output, usage->cache_read, usage->cache_write};
    double sum = NAN;
    for (size_t i = 0; i < COUNT_OF(all); i++)
        if (!isnan(all[i]))
            sum = isnan(sum) ? all[i] : sum + all[i];
    return sum;
}

static void spent_emit(struct tune_session *session, const struct model_reply *answer) {
    cJSON *payload = cJSON_CreateObject();
    tune_json_put_number(payload, tune_budget_word(TUNE_BUDGET_TOKENS), tokens_of(&answer->usage));
    tune_json_put_number(payload, tune_budget_word(TUNE_BUDGET_DOLLARS), answer->dollars);
    tune_emit(session, "spent", payload);
}

void tune_reply_answered(struct tune_reply *reply, int call, const struct model_reply *answer) {
    struct tune_session *session = reply->session;
    if (call < 0 || session->closing)
        return;
    struct tune_call values = {.input = answer->usage.input,
                               .output = answer->usage.output,
                               .cache_read = answer->usage.cache_read,
                               .cache_write = answer->usage.cache_write,
                               .dollars = answer->dollars,
                               .first_s = answer->first_s,
                               .elapsed_s = answer->elapsed_s,
                               .guess_answer = NAN,
                               .guess_dollars = NAN};
    cJSON *payload = cJSON_CreateObject();
    cJSON_AddNumberToObject(payload, "call", call);
    artefact_put(session, payload, "answer", answer->text);
    if (answer->failure.kind != ERR_NONE)
        tune_json_put_text(payload, "failure", answer->failure.text);
    cJSON_AddNumberToObject(payload, "tries", answer->tries);
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        tune_json_put_number(payload, numbers[i].key, *number_at(&values, i));
    tune_budget_guess(session->state, call, answer->text, payload);
    if (tune_emit(session, "answered", payload))
        spent_emit(session, answer);
}

size_t tune_reply_turn(const struct tune_reply *reply, enum tune_role role, size_t models) {
    return tune_role_turn(reply->session->state, role, models);
}
