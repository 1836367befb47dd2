/* SPDX-License-Identifier: Apache-2.0 */
/* A question on its way to a model: composed from the state as it is, held for a person who wants
 * to see it, sent, and heard until the answer is there. What the answer says is
 * request_read.c's. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tune/proposer/request.h"
#include "tune/sums/sums.h"
#include "tune/proposer/inner.h"

static void texts_free(struct tune_prompt_messages *texts) {
    buf_free(&texts->system);
    buf_free(&texts->user);
    buf_free(&texts->answer);
    buf_free(&texts->again);
}

void tune_request_forget(struct request *self) {
    struct request **place = &self->owner->requests;
    while (*place && *place != self)
        place = &(*place)->next;
    if (*place)
        *place = self->next;
    texts_free(&self->texts);
    free(self->out);
    free(self);
}

bool tune_request_is_under_way(const struct models_proposer *owner, const struct request *request) {
    const struct request *at = owner->requests;
    while (at && at != request)
        at = at->next;
    return at != NULL;
}

const char *tune_request_model(const struct request *self) {
    return tune_models_name(self->owner->models, self->role, self->which);
}

void tune_request_fail(struct request *self, const char *text) {
    struct tune_reply *reply = self->reply;
    char words[sizeof((struct err *)0)->text + 100];
    snprintf(words, sizeof words, "%s: %s", tune_request_model(self), text);
    tune_request_forget(self);
    tune_reply_failed(reply, words);
}

/* ----------------------------------------------------------------------------- what comes back */

static void on_text(void *data, struct str piece) {
    struct request *self = data;
    if (!self->speaks)
        tune_requests_wake_soon(self->owner);
    self->speaks = true;
    tune_reply_stream(self->reply, self->number, piece, false);
}

static void on_again(void *data) {
    struct request *self = data;
    tune_reply_stream(self->reply, self->number, (struct str){0}, true);
}

static void on_note(void *data, const char *text) {
    struct request *self = data;
    tune_reply_log(self->reply, text);
}

static void answered(struct request *self, const struct model_reply *answer) {
    if (self->open)
        tune_reply_answered(self->reply, self->number, answer);
    self->open = false;
}

static void on_done(void *data, const struct model_reply *answer) {
    struct request *self = data;
    struct models_proposer *owner = self->owner;
    self->call = NULL;
    self->open = false;
    tune_reply_answered(self->reply, self->number, answer);
    if (!tune_request_is_under_way(owner, self))
        return;
    if (answer->failure.kind != ERR_NONE) {
        tune_request_lost(self, answer);
        return;
    }
    tune_requests_wake(owner);
    if (tune_request_is_under_way(owner, self))
        tune_request_read(self, answer);
}

/* ----------------------------------------------------------------------------------- composing */

/* The whole of what goes out, as it is kept and shown. */
static void print_all(const struct request *self, struct buf *out) {
    const struct buf *all[] = {&self->texts.system, &self->texts.user, &self->texts.answer,
                               &self->texts.again};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        if (all[i]->len) {
            buf_add(out, all[i]->at, all[i]->len);
            buf_putc(out, '\n');
        }
}

const struct model_endpoint *tune_request_endpoint(const struct request *self) {
    return self->changed.api ? &self->changed
                             : tune_models_endpoint(self->owner->models, self->role, self->which);
}

bool tune_request_is_human(const struct request *self) {
    return !strcmp(tune_request_endpoint(self)->api, "human");
}

/* Services want a message of the user first, and a text in each. Where a person switched off too
 * much for that, the rest goes out as one message. */
static void join(struct tune_prompt_messages *texts) {
    if (!texts->again.len)
        buf_clear(&texts->answer);
    if (texts->again.len && !texts->answer.len) {
        buf_add(&texts->user, texts->again.at, texts->again.len);
        buf_clear(&texts->again);
    }
    if (texts->user.len)
        return;
    buf_add(&texts->user, texts->system.at ? texts->system.at : "", texts->system.len);
    buf_clear(&texts->system);
}

/* What a person changed about the prompt's parts, as a number that changes with it. */
static uint64_t mark_of_parts(const struct tune_state *state) {
    struct buf text = {0};
    for (size_t i = 0; i < state->parts.len; i++) {
        const struct tune_part_change *row = &state->parts.at[i];
        buf_printf(&text, "%d %d %s\n%s\n", row->role, row->off, row->part,
                   row->text ? row->text : "");
    }
    uint64_t mark = hash_quick(text.at ? text.at : "", text.len);
    buf_free(&text);
    return mark;
}

/* What came to nothing is asked again word for word, whatever other lanes did meanwhile; unless
 * another model is asked, which may take less, or a person changed the prompt. */
static bool asks_the_same(const struct request *self, bool held) {
    return !held && self->repeats >= 0 && self->texts.user.len &&
           self->composed_for == self->which &&
           self->parts == mark_of_parts(self->reply->work.session->state);
}

/* Makes what goes out, from the state as it is now; false when it is more than the model takes.
 * `held`: the question was put already. */
static bool compose(struct request *self, bool held) {
    if (asks_the_same(self, held))
        return true;
    const struct tune_role_view *view = &self->owner->proposer.roles[self->role];
    int call = held ? self->number : self->repeats >= 0 ? self->repeats : self->mends;
    texts_free(&self->texts);
    self->context = tune_reply_context(self->reply, self->role, call);
    struct tune_prompt *prompt = tune_prompt_build(self->context, self->role, NULL, 0);
    bool fits = tune_prompt_fit(prompt, self->context,
                                self->which < view->count ? view->models[self->which].most : 0);
    tune_prompt_messages(prompt, &self->texts);
    join(&self->texts);
    tune_prompt_free(prompt);
    self->composed_for = fits ? self->which : (size_t)-1;
    return fits;
}

/* ------------------------------------------------------------------------------------- sending */

/* What is handed on in place of an answer that was never asked for. */
static void not_sent(struct request *self, enum err_kind kind, const char *why) {
    struct model_reply none = {
        .usage = {NAN, NAN, NAN, NAN}, .dollars = NAN, .first_s = NAN, .elapsed_s = NAN};
    err_set(&none.failure, kind, "not sent: %s", why);
    answered(self, &none);
}

static void send_now(struct request *self, const struct model_endpoint *endpoint) {
    const struct tune_prompt_messages *texts = &self->texts;
    struct model_message messages[] = {
        {MODEL_USER, buf_str(&texts->user), false}, /* of this question alone */
        {MODEL_ASSISTANT, buf_str(&texts->answer), false},
        {MODEL_USER, buf_str(&texts->again), false},
    };
    struct model_request request = {.endpoint = endpoint,
                                    .system = buf_str(&texts->system),
                                    .cache_system = true,
                                    .messages = messages,
                                    .count = texts->answer.len ? 3 : 1};
    bool is_program = endpoint->api && !strcmp(endpoint->api, "command");
    char *desk = is_program ? tune_desk_lay(self->reply->work.session, self->context) : NULL;
    request.folder = desk;
    struct model_callbacks callbacks = {on_text, on_again, on_note, on_done, self};
    struct models_proposer *owner = self->owner;
    struct err err = {0};
    self->asked.max_tokens = endpoint->max_tokens;
    self->asked.thinking_tokens = endpoint->thinking_tokens;
    self->asked.effort = endpoint->effort;
    self->speaks = false;
    self->call = model_ask(owner->client, &request, &callbacks, &err);
    free(desk);
    if (self->call)
        return;
    not_sent(self, ERR_USAGE, err.text);
    if (tune_request_is_under_way(owner, self))
        tune_request_unanswerable(self, err.text);
}

static void refuse(struct request *self, const char *why) {
    struct models_proposer *owner = self->owner;
    not_sent(self, ERR_CANCELLED, why);
    if (tune_request_is_under_way(owner, self))
        tune_request_unanswerable(self, why);
}

/* Whether what is left of the limits pays for the question; if not, nobody waits for an answer any
 * more. */
static bool affords(struct request *self, struct tune_question *question,
                    struct model_endpoint *endpoint) {
    struct err err = {0};
    struct tune_asking asking = {
        .role = self->role, .which = self->which, .prompt = question->estimate};
    bool fine = tune_reply_affords(self->reply, &asking, &endpoint->max_tokens, &err);
    question->hold_tokens = asking.hold_tokens;
    question->hold_dollars = asking.hold_dollars;
    struct models_proposer *owner = self->owner;
    if (fine)
        return true;
    not_sent(self, ERR_CANCELLED, "a limit does not allow it");
    if (tune_request_is_under_way(owner, self) && self->reply->done)
        tune_request_forget(self);
    else if (tune_request_is_under_way(owner, self))
        tune_request_fail(self, err.text);
    return false;
}

/* After an answer that was cut, a limit may leave no more room than before. */
static bool is_same_again(const struct request *self, const struct model_endpoint *endpoint) {
    return self->changed.api && endpoint->max_tokens <= self->asked.max_tokens &&
           endpoint->thinking_tokens == self->asked.thinking_tokens &&
           endpoint->effort == self->asked.effort;
}

static struct tune_question question_of(const struct request *self, struct str prompt, bool holds) {
    return (struct tune_question){.role = self->role,
                                  .model = tune_request_model(self),
                                  .prompt = holds ? (struct str){0} : prompt,
                                  .estimate = model_tokens_estimate(prompt),
                                  .hold_tokens = NAN,
                                  .hold_dollars = NAN,
                                  .waits = tune_request_is_human(self),
                                  .once = self->role == TUNE_ROLE_PLANNER && self->context->once,
                                  .held = holds,
                                  .mends = self->mends,
                                  .repeats = self->repeats};
}

static void go_out(struct request *self, struct tune_question *question, bool held) {
    struct models_proposer *owner = self->owner;
    struct model_endpoint endpoint = *tune_request_endpoint(self);
    if (tune_outage_of(self->reply->work.session->state, question->model))
        endpoint.retries = -1; /* outages have pauses of their own between tries */
    if (!question->held && !affords(self, question, &endpoint))
        return;
    if (!question->held && is_same_again(self, &endpoint)) {
        refuse(self, "the answer was cut, and what is left of a limit does not pay for a longer "
                     "one");
        return;
    }
    if (held)
        tune_reply_sent(self->reply, self->number, question);
    else
        self->number = tune_reply_asked(self->reply, question);
    self->open = true;
    self->parts = mark_of_parts(self->reply->work.session->state);
    if (!question->held && tune_request_is_under_way(owner, self))
        send_now(self, &endpoint);
}

/* Says so where a model is asked otherwise than the last time, because of how its kernels did. */
static void tell_change(const struct request *self, const struct tune_question *question) {
    const struct tune_state *state = self->reply->work.session->state;
    struct buf why = {0};
    size_t i = state->calls.len;
    while (i > 0 && !(state->calls.at[i - 1].role &&
                      !strcmp(state->calls.at[i - 1].role, tune_role_word(TUNE_ROLE_PLANNER))))
        i--;
    if (self->role == TUNE_ROLE_PLANNER && i > 0 && state->calls.at[i - 1].once != question->once)
        tune_asks_print(state, &why);
    if (why.len)
        tune_reply_log(self->reply, why.at);
    buf_free(&why);
}

void tune_request_ask(struct request *self, bool held) {
    self->seen = self->seen || held;
    bool holds = !self->seen && !tune_request_is_human(self) && tune_reply_holds(self->reply);
    struct buf whole = {0};
    bool fits = compose(self, held);
    if (!holds && !(fits && self->texts.user.len)) {
        refuse(self, fits ? "every part of the prompt is switched off"
                          : "the question is longer than the model takes (context_tokens of its "
                            "[model NAME]), even after cutting: switch parts of it off (screen 9)");
        return;
    }
    print_all(self, &whole);
    struct tune_question question = question_of(self, buf_str(&whole), holds);
    tell_change(self, &question);
    go_out(self, &question, held);
    buf_free(&whole);
}
