/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to language models in the log and in the state: what was asked, what came, what it
 * cost. Prompts and answers are artefacts; the pieces of an answer that is still coming are not
 * kept. */
#include <math.h>
#include <stdlib.h>

#include "model/model.h"
#include "tune/driver.h"

#define UNREAD_MOST ((size_t)32768) /* bytes of an answer that could not be used, to mend it */

/* ----------------------------------------------------------------------------------- the state */

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

/* What a person wrote for one call goes out with it, with the one that mends its answer, and with
 * the one that asks the same again. */
static void edits_take(struct tune_state *state, struct tune_call *call) {
    enum tune_role role;
    size_t left = 0;
    int before = call->repeats >= 0 ? call->repeats : call->mends;
    const struct tune_call *mended =
        before >= 0 && (size_t)before < state->calls.len ? &state->calls.at[before] : NULL;
    VEC(struct tune_part_change) edits = {0};
    if (!tune_role_find(call->role, &role))
        return;
    for (size_t i = 0; mended && i < mended->n_edits; i++)
        *vec_push(&edits) = mended->edits[i];
    for (size_t i = 0; i < state->parts.len; i++) {
        struct tune_part_change change = state->parts.at[i];
        if (change.role == role && change.text && !change.off)
            *vec_push(&edits) = change;
        if (change.role == role)
            change.text = NULL;
        if (change.off || change.text)
            state->parts.at[left++] = change;
    }
    state->parts.len = left;
    state->own->sent[role]++;
    call->edits = arena_dup(state->arena, edits.at, edits.len * sizeof *edits.at);
    call->n_edits = edits.len;
    vec_free(&edits);
}

void tune_call_asked(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    struct tune_call *call = vec_push(&state->calls);
    *call = (struct tune_call){
        .role = tune_keep(state, tune_json_text(payload, "role")),
        .model = tune_keep(state, tune_json_text(payload, "model")),
        .prompt = tune_keep(state, tune_json_text(payload, "prompt")),
        .round = state->round,
        .attempt = tune_json_int(payload, "attempt", -1),
        .lane = state->own->loaded,
        .asked_ms = wall_ms,
        .estimate = tune_json_number(payload, "estimate"),
        .hold_tokens = tune_json_number(payload, "hold_tokens"),
        .hold_dollars = tune_json_number(payload, "hold_dollars"),
        .waits = tune_json_bool(payload, "waits"),
        .held = tune_json_bool(payload, "held"),
        .mends = tune_json_int(payload, "mends", -1),
        .repeats = tune_json_int(payload, "repeats", -1),
    };
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        *number_at(call, i) = NAN;
    if (!call->held)
        edits_take(state, call);
    state->waiting.next_ms = 0;
    streaming_set(state);
}

static struct tune_call *call_of(struct tune_state *state, const cJSON *payload) {
    int number = tune_json_int(payload, "call", -1);
    return number >= 0 && (size_t)number < state->calls.len ? &state->calls.at[number] : NULL;
}

void tune_call_sent(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    struct tune_call *call = call_of(state, payload);
    if (!call || !call->held)
        return;
    call->held = false;
    call->asked_ms = wall_ms;
    call->prompt = tune_keep(state, tune_json_text(payload, "prompt"));
    call->estimate = tune_json_number(payload, "estimate");
    call->hold_tokens = tune_json_number(payload, "hold_tokens");
    call->hold_dollars = tune_json_number(payload, "hold_dollars");
    edits_take(state, call);
}

void tune_call_unread(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    (void)wall_ms;
    struct tune_call *call = call_of(state, payload);
    if (!call)
        return;
    call->unread = tune_keep(state, tune_json_text(payload, "text"));
    call->said = tune_keep(state, tune_json_text(payload, "said"));
    call->lost = tune_json_bool(payload, "lost");
}

void tune_call_answered(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    struct tune_call *call = call_of(state, payload);
    if (!call)
        return;
    call->answer = tune_keep(state, tune_json_text(payload, "answer"));
    call->failure = tune_keep(state, tune_json_text(payload, "failure"));
    call->failed = tune_keep(state, tune_json_text(payload, "failed"));
    call->tries = tune_json_int(payload, "tries", 1);
    call->ended_ms = wall_ms;
    call->waits = call->held = false;
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        *number_at(call, i) = tune_json_number(payload, numbers[i].key);
    buf_free(&call->live);
    if (!call->failure)
        tune_outage_over(state, call->model, wall_ms);
    streaming_set(state);
}

void tune_calls_break_off(struct tune_state *state, int64_t wall_ms) {
    for (size_t i = 0; i < state->calls.len; i++) {
        struct tune_call *call = &state->calls.at[i];
        if (call->ended_ms)
            continue;
        call->ended_ms = wall_ms;
        call->waits = call->held = false;
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
    if (tune_state_waits(state))
        return true;
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
    struct tune_session *session = reply->work.session;
    int before = tune_enter(session, reply->work.lane);
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
    if (question->held)
        cJSON_AddTrueToObject(payload, "held");
    if (question->mends >= 0)
        cJSON_AddNumberToObject(payload, "mends", question->mends);
    if (question->repeats >= 0)
        cJSON_AddNumberToObject(payload, "repeats", question->repeats);
    int number = (int)session->state->calls.len;
    bool ok = tune_emit(session, "asked", payload);
    tune_leave(session, before);
    return ok ? number : -1;
}

void tune_reply_sent(struct tune_reply *reply, int call, const struct tune_question *question) {
    struct tune_session *session = reply->work.session;
    int before = tune_enter(session, reply->work.lane);
    cJSON *payload = cJSON_CreateObject();
    cJSON_AddNumberToObject(payload, "call", call);
    artefact_put(session, payload, "prompt", question->prompt);
    tune_json_put_number(payload, "estimate", question->estimate);
    tune_json_put_number(payload, "hold_tokens", question->hold_tokens);
    tune_json_put_number(payload, "hold_dollars", question->hold_dollars);
    tune_emit(session, "sent", payload);
    tune_leave(session, before);
}

bool tune_reply_holds(const struct tune_reply *reply) {
    return reply->work.session->state->holds;
}

/* As much of a useless answer as is worth sending back: its beginning and its end. */
static void said_print(struct str text, struct buf *out) {
    size_t left = text.len > UNREAD_MOST ? text.len - UNREAD_MOST : 0, front = UNREAD_MOST / 3 * 2;
    if (!left) {
        buf_add(out, text.at, text.len);
        return;
    }
    while (front && ((unsigned char)text.at[front] & 0xc0) == 0x80)
        front--;
    size_t end = front + left;
    while (end < text.len && ((unsigned char)text.at[end] & 0xc0) == 0x80)
        end++;
    buf_add(out, text.at, front);
    buf_printf(out, "\n[... %zu bytes left out ...]\n", end - front);
    buf_add(out, text.at + end, text.len - end);
}

void tune_reply_unread(struct tune_reply *reply, int call, struct str text, const char *why,
                       bool lost) {
    struct buf said = {0};
    cJSON *payload = cJSON_CreateObject();
    said_print(text, &said);
    cJSON_AddNumberToObject(payload, "call", call);
    tune_json_put_text(payload, "text", why);
    tune_json_put_text(payload, "said", said.at ? said.at : "");
    if (lost)
        cJSON_AddTrueToObject(payload, "lost");
    tune_emit(reply->work.session, "unread", payload);
    buf_free(&said);
}

const struct tune_context *tune_reply_context(struct tune_reply *reply, enum tune_role role,
                                              int call) {
    struct tune_session *session = reply->work.session;
    int before = tune_enter(session, reply->work.lane);
    tune_context_free(reply->context);
    reply->context = tune_context_question(session->state, role, call);
    tune_leave(session, before);
    return reply->context;
}

bool tune_reply_repeats(const struct tune_reply *reply, struct str source, const char *before,
                        struct buf *why) {
    return tune_same_find(reply->work.session->state, source, before, why);
}

void tune_reply_stream(struct tune_reply *reply, int call, struct str piece, bool again) {
    struct tune_session *session = reply->work.session;
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
    struct tune_session *session = reply->work.session;
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
    int before = tune_enter(session, reply->work.lane);
    cJSON *payload = cJSON_CreateObject();
    cJSON_AddNumberToObject(payload, "call", call);
    artefact_put(session, payload, "answer", answer->text);
    if (answer->failure.kind != ERR_NONE)
        tune_json_put_text(payload, "failure", answer->failure.text);
    if (answer->failed != MODEL_FAILED_NOT)
        tune_json_put_text(payload, "failed", model_failed_word(answer->failed));
    cJSON_AddNumberToObject(payload, "tries", answer->tries);
    tune_budget_guess(session->state, call, answer->text, &values);
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        tune_json_put_number(payload, numbers[i].key, *number_at(&values, i));
    if (tune_emit(session, "answered", payload))
        spent_emit(session, answer);
    tune_leave(session, before);
}

size_t tune_reply_turn(const struct tune_reply *reply, enum tune_role role, size_t models) {
    return tune_role_turn(reply->work.session->state, role, models);
}
