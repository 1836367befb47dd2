/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to language models as events. Prompts and answers are artefacts; the pieces of an
 * answer that is still coming are not kept. */
#include <math.h>
#include <stdlib.h>

#include "model/model.h"
#include "tune/proposer/inner.h"
#include "tune/read/read.h"

#define UNREAD_MOST ((size_t)32768) /* bytes of an answer that could not be used, to mend it */

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
    cJSON_AddNumberToObject(payload, "attempt",
                            tune_lane_attempt(session->state, reply->work.lane));
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
    tune_context_free(reply->context);
    reply->context =
        tune_context_question(reply->work.session->state, reply->work.lane, role, call);
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
    for (size_t i = 0; i < TUNE_CALL_NUMBERS; i++)
        tune_json_put_number(payload, tune_call_numbers[i].key, *tune_call_number_at(&values, i));
    if (tune_emit(session, "answered", payload))
        spent_emit(session, answer);
    tune_leave(session, before);
}

size_t tune_reply_turn(const struct tune_reply *reply, enum tune_role role, size_t models) {
    return tune_role_turn(reply->work.session->state, role, models);
}
