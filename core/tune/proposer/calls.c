/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to language models as events. Prompts and answers become artefacts. The pieces of an
 * answer are not kept while it comes. */
#include <math.h>
#include <stdlib.h>

#include "model/model.h"
#include "tune/proposer/inner.h"
#include "tune/read/read.h"

#define UNREAD_MOST ((size_t)32768) /* bytes sent back of an answer that could not be used */

/* Stores the text and returns its hash; NULL when it is empty or that failed. */
static const char *artefact_put(const struct tune_work *work, struct str text, struct hash *hash) {
    struct tune_session *session = work->session;
    struct err err = {0};
    if (!text.len)
        return NULL;
    if (store_artefact_put(session->store, text.at, text.len, hash, &err))
        return hash->hex;
    tune_emit_log(session, work->lane, TUNE_LEVEL_WARNING, "store", "%s", err.text);
    return NULL;
}

int tune_reply_asked(struct tune_reply *reply, const struct tune_question *question) {
    struct tune_session *session = reply->work.session;
    struct hash hash;
    const char *prompt = artefact_put(&reply->work, question->prompt, &hash);
    int number = (int)session->state->calls.len;
    bool ok = tune_emit(
        session, reply->work.lane,
        TUNE_EVENT(ASKED, asked, .role = tune_role_word(question->role), .model = question->model,
                   .prompt = prompt, .estimate = question->estimate,
                   .hold_tokens = question->hold_tokens, .hold_dollars = question->hold_dollars,
                   .attempt = tune_lane_attempt(session->state, reply->work.lane),
                   .waits = question->waits, .held = question->held, .once = question->once,
                   .mends = MAX_OF(question->mends, -1), .repeats = MAX_OF(question->repeats, -1)));
    return ok ? number : -1;
}

void tune_reply_sent(struct tune_reply *reply, int call, const struct tune_question *question) {
    struct tune_session *session = reply->work.session;
    struct hash hash;
    const char *prompt = artefact_put(&reply->work, question->prompt, &hash);
    tune_emit(session, reply->work.lane,
              TUNE_EVENT(SENT, sent, .call = call, .prompt = prompt, .estimate = question->estimate,
                         .hold_tokens = question->hold_tokens,
                         .hold_dollars = question->hold_dollars));
}

bool tune_reply_holds(const struct tune_reply *reply) {
    return reply->work.session->state->holds;
}

/* What of a useless answer is worth sending back: its beginning and its end. */
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
    said_print(text, &said);
    tune_emit(reply->work.session, reply->work.lane,
              TUNE_EVENT(UNREAD, unread, .call = call, .text = why, .said = said.at ? said.at : "",
                         .lost = lost));
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

static void spent_emit(const struct tune_work *work, const struct model_reply *answer) {
    tune_emit(work->session, work->lane,
              TUNE_EVENT_AS(SPENT, SPENT_MODEL, spent, .tokens = tokens_of(&answer->usage),
                            .dollars = answer->dollars));
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
                               .guess_answer = NAN,
                               .guess_dollars = NAN};
    struct hash hash;
    const char *text = artefact_put(&reply->work, answer->text, &hash);
    bool broke = answer->failure.kind != ERR_NONE, failed = answer->failed != MODEL_FAILED_NOT;
    tune_budget_guess(session->state, call, answer->text, &values);
    const struct tune_event *event = TUNE_EVENT(
        ANSWERED, answered, .call = call, .answer = text,
        .failure = broke ? answer->failure.text : NULL,
        .failed = failed ? model_failed_word(answer->failed) : NULL, .tries = answer->tries,
        .input = values.input, .output = values.output, .cache_read = values.cache_read,
        .cache_write = values.cache_write, .dollars = values.dollars, .first_s = answer->first_s,
        .elapsed_s = answer->elapsed_s, .guess_answer = values.guess_answer,
        .guess_dollars = values.guess_dollars);
    if (tune_emit(session, reply->work.lane, event))
        spent_emit(&reply->work, answer);
}

size_t tune_reply_turn(const struct tune_reply *reply, enum tune_role role, size_t models) {
    return tune_role_turn(reply->work.session->state, role, models);
}
