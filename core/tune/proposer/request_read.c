/* SPDX-License-Identifier: Apache-2.0 */
/* A model's answer, read as plans, as a kernel or as a lesson. What cannot be read goes back for
 * one more turn. An answer that was cut or declined does not count. */
#include <stdio.h>
#include <stdlib.h>

#include "tune/answer/answer.h"
#include "tune/proposer/request.h"
#include "tune/proposer/inner.h"

/* Whether any of the plans is new. If every one was closed before, *err says which and how. */
static bool some_is_new(struct request *self, const struct tune_plan *plans, size_t count,
                        struct err *err) {
    struct buf said = {0};
    for (size_t i = 0; i < count; i++) {
        const char *how = tune_context_closed_how(self->context, &plans[i]);
        if (!how) {
            buf_free(&said);
            return true;
        }
        buf_printf(&said, "%s\"%.60s\" (%s)", i ? ", " : "", plans[i].title, how);
    }
    self->trouble = TUNE_REPEATED;
    err_set(err, ERR_USAGE, "this was tried and closed already: %s", said.at);
    buf_free(&said);
    return false;
}

static bool is_new(struct request *self, struct str source, const char *base, struct err *err) {
    struct buf why = {0};
    bool old = tune_reply_repeats(self->reply, source, base, &why);
    if (old) {
        self->trouble = TUNE_REPEATED;
        err_set(err, ERR_USAGE, "%s", why.at);
    }
    buf_free(&why);
    return !old;
}

/* A kernel that came with a plan becomes its own. An answer may leave it out: it is asked for
 * then. */
static bool both_read(struct request *self, struct str text, struct buf *source, struct err *err) {
    const struct tune_context *context = self->context;
    if (!tune_answer_has_kernel(text))
        return true;
    return tune_answer_kernel(text, context->source, context->function, source, err) &&
           is_new(self, buf_str(source), context->source, err);
}

static bool answer_plans(struct request *self, struct str text, struct err *err) {
    struct tune_plan plans[TUNE_ANSWER_PLANS];
    struct arena *arena = arena_new();
    struct buf source = {0}, words = {0};
    /* A person may write the kernel with the plan, whatever was asked for. */
    bool once =
        self->context->once || (tune_request_is_human(self) && tune_answer_has_kernel(text));
    if (once)
        tune_answer_words(text, &words);
    size_t count = tune_answer_plans(once ? buf_str(&words) : text, str_of(self->context->source),
                                     self->context->latency_us, arena, plans, err);
    struct tune_reply *reply = self->reply;
    bool fine = count && some_is_new(self, plans, count, err) &&
                (!once || both_read(self, text, &source, err));
    if (fine) {
        plans[0].source = source.len ? source.at : NULL;
        tune_request_forget(self);
        tune_reply_plans(reply, plans, count);
    }
    buf_free(&words);
    buf_free(&source);
    arena_free(arena);
    return fine;
}

static bool answer_kernel(struct request *self, struct str text, struct err *err) {
    const struct tune_context *context = self->context;
    const char *base = context->repair_source ? context->repair_source : context->source;
    struct buf source = {0};
    bool fine = tune_answer_kernel(text, base, context->function, &source, err) &&
                is_new(self, buf_str(&source), base, err);
    struct tune_reply *reply = self->reply;
    if (fine) {
        tune_request_forget(self);
        tune_reply_candidate(reply, buf_str(&source));
    }
    buf_free(&source);
    return fine;
}

static bool answer_lesson(struct request *self, struct str text, struct err *err) {
    struct arena *arena = arena_new();
    struct tune_lesson lesson;
    bool fine = tune_answer_lesson(text, self->role == TUNE_ROLE_REFLECTOR, arena, &lesson, err);
    struct tune_reply *reply = self->reply;
    if (fine) {
        tune_request_forget(self);
        tune_reply_lesson(reply, &lesson);
    }
    arena_free(arena);
    return fine;
}

static bool read(struct request *self, const struct model_reply *answer, struct err *err) {
    static bool (*const readers[TUNE_ROLES])(struct request *, struct str, struct err *) = {
        [TUNE_ROLE_PLANNER] = answer_plans,
        [TUNE_ROLE_REWRITER] = answer_kernel,
        [TUNE_ROLE_FIXER] = answer_kernel,
        [TUNE_ROLE_SUMMARISER] = answer_lesson,
        [TUNE_ROLE_REFLECTOR] = answer_lesson};
    self->trouble = TUNE_UNREADABLE;
    return readers[self->role](self, answer->text, err);
}

/* An answer goes back once for each kind of trouble, with what is wrong with it. */
static void mend(struct request *self, const char *why) {
    if (self->sent_back[self->trouble]) {
        tune_request_fail(self, why);
        return;
    }
    tune_reply_log(self->reply, why);
    self->sent_back[self->trouble] = true;
    self->mends = self->number;
    self->repeats = -1;
    self->seen = false;
    tune_request_ask(self, false);
}

#define REASON_MOST 300 /* characters of why a model gave up */

/* A model that says why it cannot be done is not asked again: it is told as the model's. */
static bool gives_up(struct request *self, const struct model_reply *answer) {
    char words[REASON_MOST + 40];
    struct str reason, line;
    if (self->role > TUNE_ROLE_FIXER || !tune_answer_gives_up(answer->text, &reason))
        return false;
    str_next(&reason, '\n', &line);
    snprintf(words, sizeof words, "gave up: %.*s", (int)MIN_OF(line.len, (size_t)REASON_MOST),
             line.len ? line.at : "no reason given");
    tune_request_fail(self, words);
    return true;
}

void tune_request_read(struct request *self, const struct model_reply *answer) {
    struct err err = {0};
    if (answer->failed == MODEL_FAILED_NOT && gives_up(self, answer))
        return;
    if (read(self, answer, &err))
        return;
    struct models_proposer *owner = self->owner;
    bool lost = answer->failed != MODEL_FAILED_NOT;
    tune_reply_unread(self->reply, self->number, answer->text, lost ? answer->reason : err.text,
                      lost);
    if (!tune_request_is_under_way(owner, self))
        return;
    if (answer->failed == MODEL_FAILED_TRUNCATED)
        tune_request_cut(self, answer);
    else if (lost)
        tune_request_lost(self, answer);
    else
        mend(self, err.text);
}
