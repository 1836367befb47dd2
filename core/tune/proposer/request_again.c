/* SPDX-License-Identifier: Apache-2.0 */
/* A question that was not answered. A service that is out of order says nothing about what was
 * asked: the next model of the role is asked, or else the question waits, with growing pauses, up
 * to a limit. An answer that was cut is asked for again with more room. A model that declines, or
 * that cannot be asked at all, is out for this question. When no model is left, the loop pauses
 * with the reason. No plan is closed for any of this. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "loop/loop.h"
#include "tune/proposer/request.h"
#include "tune/proposer/inner.h"
#include "tune/sums/sums.h"

#define NOBODY ((size_t)-1)

static const struct tune_state *state_of(const struct request *self) {
    return self->reply->work.session->state;
}

static bool is_lesson(const struct request *self) {
    return self->role == TUNE_ROLE_SUMMARISER || self->role == TUNE_ROLE_REFLECTOR;
}

static size_t count_of(const struct request *self) {
    return tune_models_count(self->owner->models, self->role);
}

/* A lesson waits where the loop would wait for the same model next; else hone writes it. */
static bool is_worth_waiting(const struct request *self) {
    const struct tune_models *models = self->owner->models;
    bool worth = !is_lesson(self);
    for (int role = TUNE_ROLE_PLANNER; role <= TUNE_ROLE_FIXER && !worth; role++)
        for (size_t i = 0; i < tune_models_count(models, (enum tune_role)role); i++)
            worth = worth || !strcmp(tune_models_name(models, (enum tune_role)role, i),
                                     tune_request_model(self));
    return worth;
}

/* --------------------------------------------------------------------------------- which model */

/* When a model may be asked again; 0: now. */
static int64_t due_of(const struct request *self, size_t which) {
    const char *name = tune_models_name(self->owner->models, self->role, which);
    const struct tune_outage *row = tune_outage_of(state_of(self), name);
    return row && row->next_ms > loop_wall_ms(self->owner->loop) ? row->next_ms : 0;
}

/* The first model from `from` on that may be asked now, taking turns; else the one that may be
 * asked soonest. NOBODY: no model can answer this question. */
static size_t choose(const struct request *self, size_t from, int64_t *due_ms) {
    size_t count = count_of(self), best = NOBODY;
    for (size_t i = 0; i < count; i++) {
        size_t which = (from + i) % count;
        int64_t due = due_of(self, which);
        if (self->out[which] || (best != NOBODY && due >= *due_ms))
            continue;
        best = which;
        *due_ms = due;
    }
    return best;
}

static void turn_to(struct request *self, size_t which) {
    if (which != self->which)
        self->changed = (struct model_endpoint){0};
    self->which = which;
    tune_reply_author(self->reply, tune_request_model(self));
}

/* Others wait for a service already, so this one waits, too, unless some model can be asked. */
static bool somebody_waits(const struct models_proposer *owner) {
    for (const struct request *at = owner->requests; at; at = at->next)
        if (at->waits)
            return true;
    return false;
}

void tune_request_begin(struct request *self, size_t first) {
    int64_t due_ms = 0;
    self->out = mem_alloc(count_of(self) + 1, sizeof *self->out);
    turn_to(self, choose(self, first, &due_ms));
    if (due_ms && somebody_waits(self->owner)) {
        self->waits = true;
        tune_requests_watch(self->owner);
        return;
    }
    tune_request_ask(self, false);
}

/* ------------------------------------------------------------------------------------- waiting */

static bool tries(const struct models_proposer *owner) {
    for (const struct request *at = owner->requests; at; at = at->next)
        if (!at->waits && at->repeats >= 0)
            return true;
    return false;
}

/* Of the questions that wait, the one whose model may be asked first. */
static struct request *first_waiting(const struct models_proposer *owner, int64_t *due_ms) {
    struct request *first = NULL;
    for (struct request *at = owner->requests; at; at = at->next) {
        int64_t due = 0;
        if (!at->waits)
            continue;
        choose(at, at->which, &due);
        if (first && due > *due_ms)
            continue;
        first = at;
        *due_ms = due;
    }
    return first;
}

static void ask_waiting(struct request *self) {
    int64_t due_ms = 0;
    self->waits = false;
    turn_to(self, choose(self, self->which, &due_ms));
    tune_request_ask(self, false);
}

/* One of them tries; the others follow once it is answered. */
static void on_timer(void *data) {
    struct models_proposer *owner = data;
    int64_t due_ms = 0;
    owner->timer = NULL;
    struct request *first = first_waiting(owner, &due_ms);
    if (first)
        ask_waiting(first);
}

void tune_requests_watch(struct models_proposer *owner) {
    int64_t due_ms = 0, now_ms = loop_wall_ms(owner->loop);
    loop_timer_stop(owner->timer);
    owner->timer = NULL;
    if (!first_waiting(owner, &due_ms) || tries(owner))
        return;
    owner->timer =
        loop_timer_start(owner->loop, (uint64_t)MAX_OF(due_ms - now_ms, 0), 0, on_timer, owner);
}

void tune_requests_wake(struct models_proposer *owner) {
    int64_t due_ms = 0;
    struct request *first;
    loop_timer_stop(owner->timer);
    owner->timer = NULL;
    while ((first = first_waiting(owner, &due_ms)))
        ask_waiting(first);
}

static void on_wake(void *data) {
    struct models_proposer *owner = data;
    owner->timer = NULL;
    tune_requests_wake(owner);
}

void tune_requests_wake_soon(struct models_proposer *owner) {
    if (!somebody_waits(owner))
        return;
    loop_timer_stop(owner->timer);
    owner->timer = loop_timer_start(owner->loop, 0, 0, on_wake, owner);
}

/* ------------------------------------------------------------------------------ no answer came */

/* It has waited long enough, or the service says that it will take longer than that. */
static void pause_for(struct request *self, const struct tune_outage_news *news) {
    struct tune_reply *reply = self->reply;
    struct buf text = {0};
    buf_printf(&text, "%s does not answer (%s)", news->model, news->text);
    buf_puts(&text, news->wait_s > self->owner->limit_s ? ", and asks for a pause of "
                                                        : "; hone waited for ");
    tune_amount_print(&text, TUNE_BUDGET_WALL_S,
                      news->wait_s > self->owner->limit_s ? news->wait_s : self->owner->limit_s);
    buf_puts(&text,
             ". Nothing is lost: start, or the same command, asks again. How long hone waits "
             "is outage_limit_s of [roles]");
    tune_request_forget(self);
    tune_reply_paused(reply, text.at);
    buf_free(&text);
}

/* Questions that went out together fail together, and count as one try. */
static void news_fill(struct request *self, const struct model_reply *answer,
                      struct tune_outage_news *news) {
    const struct tune_state *state = state_of(self);
    const struct tune_outage *row = tune_outage_of(state, news->model);
    int64_t asked_ms = self->number >= 0 && (size_t)self->number < state->calls.len
                           ? state->calls.at[self->number].asked_ms
                           : 0;
    bool counted = row && asked_ms < row->last_ms;
    news->tries = row ? row->tries + !counted : 1;
    news->pause_s = counted ? (double)(row->next_ms - loop_wall_ms(self->owner->loop)) / 1000
                            : tune_outage_pause(self->owner->wait_s, news->tries, answer->again_s);
    news->pause_s = fmax(news->pause_s, 0.001);
}

/* Who is asked next, and when: another model that may be asked now, else the one that may be asked
 * soonest. False when that would be after the limit. */
static bool next_find(struct request *self, struct tune_outage_news *news, size_t *next) {
    const struct tune_waiting *waiting = &state_of(self)->waiting;
    int64_t now_ms = loop_wall_ms(self->owner->loop), due_ms = 0;
    double pause_s = news->pause_s, waited_s = 0;
    bool only = true;
    *next = self->which;
    for (size_t i = 1; i < count_of(self); i++) {
        size_t which = (self->which + i) % count_of(self);
        int64_t due = due_of(self, which);
        if (self->out[which] || (!only && due >= due_ms))
            continue;
        only = false;
        due_ms = due;
        if ((double)(due - now_ms) / 1000 < pause_s)
            *next = which;
    }
    news->next = tune_models_name(self->owner->models, self->role, *next);
    if (*next != self->which)
        pause_s = due_ms ? fmax((double)(due_ms - now_ms) / 1000, 0.001) : 0;
    news->wait_s = pause_s;
    if (waiting->since_ms)
        waited_s = (double)(now_ms - waiting->since_ms) / 1000;
    double left_s = self->owner->limit_s - waited_s;
    if (pause_s > 0 && (left_s <= 0 || pause_s > self->owner->limit_s))
        return false;
    if (pause_s > left_s)
        news->wait_s = left_s;
    return true;
}

static void out_of_order(struct request *self, const struct model_reply *answer) {
    struct models_proposer *owner = self->owner;
    size_t next;
    struct tune_outage_news news = {.role = self->role,
                                    .model = tune_request_model(self),
                                    .kind = model_failed_word(answer->failed),
                                    .text = answer->reason,
                                    .call = self->number};
    self->repeats = self->number;
    news_fill(self, answer, &news);
    bool soon = next_find(self, &news, &next);
    if (news.wait_s > 0 && !is_worth_waiting(self)) {
        tune_request_fail(self, answer->reason);
        return;
    }
    if (!soon) {
        pause_for(self, &news);
        return;
    }
    self->waits = news.wait_s > 0;
    if (self->waits && news.wait_s < news.pause_s)
        news.pause_s = news.wait_s;
    tune_reply_outage(self->reply, &news);
    if (!tune_request_is_under_way(owner, self))
        return;
    turn_to(self, next);
    if (self->waits)
        tune_requests_watch(owner);
    else
        tune_request_ask(self, false);
}

void tune_request_unanswerable(struct request *self, const char *text) {
    struct tune_reply *reply = self->reply;
    struct buf words = {0};
    int64_t due_ms = 0;
    self->out[self->which] = true;
    size_t next = choose(self, self->which, &due_ms);
    buf_printf(&words, "%s: %s", tune_request_model(self), text);
    if (next != NOBODY) {
        buf_printf(&words, "; asks %s", tune_models_name(self->owner->models, self->role, next));
        tune_reply_log(reply, words.at);
        self->repeats = self->number;
        turn_to(self, next);
        tune_request_ask(self, false);
    } else {
        buf_puts(&words, ". Nothing is lost: start, or the same command, asks again");
        tune_request_forget(self);
        tune_reply_paused(reply, words.at);
    }
    buf_free(&words);
}

/* The most tokens of an answer that fit beside this prompt; no less than the settings allow. */
static int room_of(const struct request *self) {
    const struct tune_state *state = state_of(self);
    double context = tune_models_context(self->owner->models, self->role, self->which);
    double prompt = self->number >= 0 && (size_t)self->number < state->calls.len
                        ? state->calls.at[self->number].estimate
                        : 0;
    double most = fmin(context - 1.1 * prompt, MODEL_MOST_TOKENS);
    return most > 1 ? (int)most : 1;
}

/* Changes how the question is asked after a cut answer; false when there is nothing left to
 * change. */
static bool ask_otherwise(struct request *self, struct model_endpoint endpoint, int most,
                          const char *why) {
    struct buf words = {0}, what = {0};
    bool fine = model_endpoint_relax(&endpoint, &self->cut, most, &what);
    if (fine) {
        buf_printf(&words, "%s; asks again with %s", why, what.at);
        tune_reply_log(self->reply, words.at);
        self->changed = endpoint;
        self->repeats = self->number;
        tune_request_ask(self, false);
    }
    buf_free(&words);
    buf_free(&what);
    return fine;
}

/* A service that allows no more tokens for an answer is asked with as many as before, and with less
 * thinking. */
static bool takes_no_more(struct request *self, const struct model_reply *answer) {
    struct model_endpoint endpoint = self->changed;
    if (answer->failed != MODEL_FAILED_REQUEST || !endpoint.api ||
        endpoint.max_tokens <= self->taken)
        return false;
    endpoint.max_tokens = self->taken;
    return ask_otherwise(self, endpoint, self->taken, answer->reason);
}

void tune_request_lost(struct request *self, const struct model_reply *answer) {
    if (model_failed_is_outage(answer->failed))
        out_of_order(self, answer);
    else if (takes_no_more(self, answer))
        return;
    else if (answer->failed == MODEL_FAILED_REFUSED && is_lesson(self))
        tune_request_fail(self, answer->reason);
    else
        tune_request_unanswerable(self, answer->reason[0] ? answer->reason : answer->failure.text);
}

void tune_request_cut(struct request *self, const struct model_reply *answer) {
    struct model_endpoint endpoint = *tune_request_endpoint(self);
    struct buf words = {0};
    int tokens = endpoint.max_tokens > 0 ? endpoint.max_tokens : MODEL_MAX_TOKENS;
    self->cut = (struct model_reply){
        .stop = answer->stop, .thinking = answer->thinking, .thought = answer->thought};
    self->taken = tokens;
    if (ask_otherwise(self, endpoint, MAX_OF(room_of(self), tokens), answer->reason))
        return;
    buf_printf(&words,
               "%s; that is the limit: give its [model] more max_tokens, or let it think less",
               answer->reason);
    tune_request_unanswerable(self, words.at);
    buf_free(&words);
}
