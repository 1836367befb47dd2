/* SPDX-License-Identifier: Apache-2.0 */
/* Language models as a proposer: a prompt goes out, the answer is read as plans or as a kernel, and
 * what cannot be read goes back for one more turn. What a proposal is worth is found out by others. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tune/answer.h"
#include "tune/driver.h"
#include "tune/models.h"

#define MOST_AT_ONCE 256            /* [search] questions says less */

/* What an answer can be sent back for, once each: it cannot be read, or it is an old one again. */
enum trouble { UNREADABLE, REPEATED, TROUBLES };

struct models_proposer {
    struct tune_proposer proposer;
    struct model_client *client;
    struct tune_models *models;
    char *name;
    struct request *requests;       /* under way */
};

/* What was asked for, until it is answered; several turns with the same model. */
struct request {
    struct models_proposer *owner;
    struct request *next;
    const struct tune_context *context;
    struct tune_reply *reply;
    enum tune_role role;
    size_t which;                   /* of the role's models */
    struct model_call *call;
    int number;                     /* of the call, in state->calls */
    int mends;                      /* the call whose answer could not be used, -1 */
    enum trouble trouble;           /* of the answer that was read last */
    bool sent_back[TROUBLES];
    struct tune_prompt_messages texts;
};

static void put(struct request *self);

static void texts_free(struct tune_prompt_messages *texts) {
    buf_free(&texts->system);
    buf_free(&texts->user);
    buf_free(&texts->answer);
    buf_free(&texts->again);
}

/* Takes it off the list and frees it; nothing of it may be used then. */
static void forget(struct request *self) {
    struct request **place = &self->owner->requests;
    while (*place && *place != self)
        place = &(*place)->next;
    if (*place)
        *place = self->next;
    texts_free(&self->texts);
    free(self);
}

/* Whether somebody still waits for it: not when the session was halted meanwhile. */
static bool is_under_way(const struct models_proposer *owner, const struct request *request) {
    const struct request *at = owner->requests;
    while (at && at != request)
        at = at->next;
    return at != NULL;
}

/* ------------------------------------------------------------------------------ reading answers */

static int lines_in(const char *text) {
    int count = 0;
    for (; text && *text; text++)
        count += *text == '\n';
    return count;
}

/* False when every one of the plans was closed before: *err says which and how. */
static bool some_is_new(struct request *self, const struct tune_plan *plans, size_t count,
                        struct err *err) {
    struct buf said = {0};
    for (size_t i = 0; i < count; i++) {
        const char *how = tune_context_closed_how(self->context, plans[i].key);
        if (!how) {
            buf_free(&said);
            return true;
        }
        buf_printf(&said, "%s\"%.60s\" (%s)", i ? ", " : "", plans[i].title, how);
    }
    self->trouble = REPEATED;
    err_set(err, ERR_USAGE, "this was tried and closed already: %s", said.at);
    buf_free(&said);
    return false;
}

static bool answer_plans(struct request *self, struct str text, struct err *err) {
    struct tune_plan plans[TUNE_ANSWER_PLANS];
    struct arena *arena = arena_new();
    size_t count =
        tune_answer_plans(text, lines_in(self->context->source), arena, plans, err);
    struct tune_reply *reply = self->reply;
    bool fine = count && some_is_new(self, plans, count, err);
    if (fine) {
        forget(self);
        tune_reply_plans(reply, plans, count);
    }
    arena_free(arena);
    return fine;
}

static bool is_new(struct request *self, struct str source, const char *base, struct err *err) {
    struct buf why = {0};
    bool old = tune_reply_repeats(self->reply, source, base, &why);
    if (old) {
        self->trouble = REPEATED;
        err_set(err, ERR_USAGE, "%s", why.at);
    }
    buf_free(&why);
    return !old;
}

static bool answer_kernel(struct request *self, struct str text, struct err *err) {
    const struct tune_context *context = self->context;
    const char *base = context->repair_source ? context->repair_source : context->source;
    struct buf source = {0};
    bool fine = tune_answer_kernel(text, base, context->function, &source, err) &&
                is_new(self, buf_str(&source), base, err);
    struct tune_reply *reply = self->reply;
    if (fine) {
        forget(self);
        tune_reply_candidate(reply, buf_str(&source));
    }
    buf_free(&source);
    return fine;
}

static bool answer_lesson(struct request *self, struct str text, struct err *err) {
    struct arena *arena = arena_new();
    struct tune_lesson lesson;
    bool fine =
        tune_answer_lesson(text, self->role == TUNE_ROLE_REFLECTOR, arena, &lesson, err);
    struct tune_reply *reply = self->reply;
    if (fine) {
        forget(self);
        tune_reply_lesson(reply, &lesson);
    }
    arena_free(arena);
    return fine;
}

static void give_up(struct request *self, const char *text) {
    struct tune_reply *reply = self->reply;
    char words[sizeof((struct err *)0)->text + 100];
    snprintf(words, sizeof words, "%s: %s",
             tune_models_name(self->owner->models, self->role, self->which), text);
    forget(self);
    tune_reply_failed(reply, words);
}

static void read_answer(struct request *self, const struct model_reply *answer) {
    struct err err = {0};
    static bool (*const readers[TUNE_ROLES])(struct request *, struct str, struct err *) = {
        [TUNE_ROLE_PLANNER] = answer_plans,     [TUNE_ROLE_REWRITER] = answer_kernel,
        [TUNE_ROLE_FIXER] = answer_kernel,      [TUNE_ROLE_SUMMARISER] = answer_lesson,
        [TUNE_ROLE_REFLECTOR] = answer_lesson};
    self->trouble = UNREADABLE;
    if (readers[self->role](self, answer->text, &err))
        return;
    struct models_proposer *owner = self->owner;
    struct tune_reply *reply = self->reply;
    bool refused = answer->stop == MODEL_STOP_REFUSED;
    tune_reply_unread(reply, self->number, answer->text, refused ? "it declined to answer" : err.text);
    if (!is_under_way(owner, self))
        return;
    if (refused || self->sent_back[self->trouble]) {
        give_up(self, refused ? "it declined to answer" : err.text);
        return;
    }
    tune_reply_log(reply, err.text);
    self->sent_back[self->trouble] = true;
    self->mends = self->number;
    put(self);
}

/* -------------------------------------------------------------------------------------- asking */

static void on_text(void *data, struct str piece) {
    struct request *self = data;
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

static void on_done(void *data, const struct model_reply *answer) {
    struct request *self = data;
    struct models_proposer *owner = self->owner;
    self->call = NULL;
    tune_reply_answered(self->reply, self->number, answer);
    if (!is_under_way(owner, self))
        return;
    if (answer->failure.kind != ERR_NONE)
        give_up(self, answer->failure.text);
    else
        read_answer(self, answer);
}

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

static const struct model_endpoint *endpoint_of(const struct request *self) {
    return tune_models_endpoint(self->owner->models, self->role, self->which);
}

static bool is_human(const struct request *self) {
    return !strcmp(endpoint_of(self)->api, "human");
}

/* Services want a message of the user first, and each one with a text: where a person switched off too
 * much for that, what is left moves together. */
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

/* What goes out, from the state as it is now; false when it is more than the model takes. `held`: the
 * question was put already. */
static bool compose(struct request *self, bool held) {
    const struct tune_role_view *view = &self->owner->proposer.roles[self->role];
    texts_free(&self->texts);
    self->context = tune_reply_context(self->reply, self->role, held ? self->number : self->mends);
    struct tune_prompt *prompt = tune_prompt_build(self->context, self->role, NULL, 0);
    bool fits = tune_prompt_fit(prompt, self->context,
                                self->which < view->count ? view->models[self->which].most : 0);
    tune_prompt_messages(prompt, &self->texts);
    join(&self->texts);
    tune_prompt_free(prompt);
    return fits;
}

static void send_now(struct request *self, const struct model_endpoint *endpoint) {
    const struct tune_prompt_messages *texts = &self->texts;
    struct model_message messages[] = {
        {MODEL_USER, buf_str(&texts->user), false},     /* of this question alone */
        {MODEL_ASSISTANT, buf_str(&texts->answer), false},
        {MODEL_USER, buf_str(&texts->again), false},
    };
    struct model_request request = {.endpoint = endpoint,
                                    .system = buf_str(&texts->system),
                                    .cache_system = true,
                                    .messages = messages,
                                    .count = texts->answer.len ? 3 : 1};
    struct model_callbacks callbacks = {on_text, on_again, on_note, on_done, self};
    struct err err = {0};
    self->call = model_ask(self->owner->client, &request, &callbacks, &err);
    if (!self->call)
        give_up(self, err.text);
}

static void not_sent(struct request *self, bool held, const char *why) {
    struct model_reply none = {.usage = {NAN, NAN, NAN, NAN}, .dollars = NAN, .first_s = NAN,
                               .elapsed_s = NAN, .failure = {.kind = ERR_CANCELLED}};
    snprintf(none.failure.text, sizeof none.failure.text, "not sent: %s", why);
    if (held)
        tune_reply_answered(self->reply, self->number, &none);
}

static void refuse(struct request *self, bool held, const char *why) {
    struct models_proposer *owner = self->owner;
    not_sent(self, held, why);
    if (is_under_way(owner, self))
        give_up(self, why);
}

/* False: what is left of a limit does not pay for it. Then nobody waits for an answer any more. */
static bool affords(struct request *self, struct tune_question *question,
                    struct model_endpoint *endpoint, bool held) {
    struct err err = {0};
    struct tune_asking asking = {
        .role = self->role, .which = self->which, .prompt = question->estimate};
    bool fine = tune_reply_affords(self->reply, &asking, &endpoint->max_tokens, &err);
    question->hold_tokens = asking.hold_tokens;
    question->hold_dollars = asking.hold_dollars;
    struct models_proposer *owner = self->owner;
    if (fine)
        return true;
    not_sent(self, held, "a limit does not allow it");
    if (is_under_way(owner, self) && self->reply->done)
        forget(self);
    else if (is_under_way(owner, self))
        give_up(self, err.text);
    return false;
}

/* Writes the question down, and sends it unless the person wants to see it first. `held`: it was. */
static void ask(struct request *self, bool held) {
    struct models_proposer *owner = self->owner;
    struct model_endpoint endpoint = *endpoint_of(self);
    bool holds = !held && !is_human(self) && tune_reply_holds(self->reply);
    struct buf whole = {0};
    bool fits = compose(self, held);
    if (!holds && !(fits && self->texts.user.len)) {
        refuse(self, held, fits ? "every part of the prompt is switched off"
                                : "the question is longer than the model takes (context_tokens of its "
                                  "[model NAME]), cut as it is: switch parts of it off (screen 9)");
        return;
    }
    print_all(self, &whole);
    struct tune_question question = {
        .role = self->role,
        .model = tune_models_name(self->owner->models, self->role, self->which),
        .prompt = holds ? (struct str){0} : buf_str(&whole),
        .estimate = model_tokens_estimate(buf_str(&whole)),
        .hold_tokens = NAN,
        .hold_dollars = NAN,
        .waits = is_human(self),
        .held = holds,
        .mends = self->mends};
    bool goes = holds || affords(self, &question, &endpoint, held);
    if (goes && held)
        tune_reply_sent(self->reply, self->number, &question);
    else if (goes)
        self->number = tune_reply_asked(self->reply, &question);
    buf_free(&whole);
    if (goes && !holds && is_under_way(owner, self))
        send_now(self, &endpoint);
}

static void put(struct request *self) {
    ask(self, false);
}

static void begin(struct models_proposer *owner, const struct tune_context *context,
                  enum tune_role role, struct tune_reply *reply) {
    struct request *self = mem_alloc(1, sizeof *self);
    *self = (struct request){.owner = owner, .next = owner->requests, .context = context,
                             .reply = reply, .role = role, .number = -1, .mends = -1};
    owner->requests = self;
    self->which = tune_reply_turn(reply, role, tune_models_count(owner->models, role));
    tune_reply_author(reply, tune_models_name(owner->models, role, self->which));
    put(self);
}

/* ---------------------------------------------------------------------------- as the loop sees it */

static void plan(void *data, const struct tune_context *context, struct tune_reply *reply) {
    begin(data, context, TUNE_ROLE_PLANNER, reply);
}

static void rewrite(void *data, const struct tune_context *context, const struct tune_plan *chosen,
                    struct tune_reply *reply) {
    (void)chosen;                   /* the context tells it */
    begin(data, context, context->repair_error ? TUNE_ROLE_FIXER : TUNE_ROLE_REWRITER, reply);
}

static bool lesson(struct models_proposer *self, const struct tune_context *context,
                   enum tune_role role, struct tune_reply *reply) {
    if (!tune_models_count(self->models, role))
        return false;
    begin(self, context, role, reply);
    return true;
}

static bool summarise(void *data, const struct tune_context *context, struct tune_reply *reply) {
    return lesson(data, context, TUNE_ROLE_SUMMARISER, reply);
}

static bool reflect(void *data, const struct tune_context *context, struct tune_reply *reply) {
    return lesson(data, context, TUNE_ROLE_REFLECTOR, reply);
}

static void cancelled(void *data, const struct model_reply *answer) {
    (void)data, (void)answer;
}

static void give_up_asking(struct request *self) {
    struct model_call *call = self->call;
    struct model_reply none = {.usage = {NAN, NAN, NAN, NAN}, .dollars = NAN, .first_s = NAN,
                               .elapsed_s = NAN, .failure = {ERR_CANCELLED, "cancelled"}};
    if (call) {
        model_so_far(call, &none);
        none.failure = (struct err){ERR_CANCELLED, "given up before it was whole"};
    }
    tune_reply_answered(self->reply, self->number, &none);
    forget(self);
    struct model_callbacks nobody = {.on_done = cancelled};
    model_redirect(call, &nobody);
    model_cancel(call);
}

static void cancel(void *data, struct tune_reply *reply) {
    struct models_proposer *owner = data;
    struct request *self = owner->requests;
    while (self && self->reply != reply)
        self = self->next;
    if (self)
        give_up_asking(self);
}

static struct request *request_of(struct models_proposer *owner, int call) {
    struct request *self = owner->requests;
    while (self && self->number != call)
        self = self->next;
    return self;
}

static void answer(void *data, int call, struct str text) {
    struct request *self = request_of(data, call);
    if (self && self->call)
        model_answer(self->call, text);
}

static void send(void *data, int call) {
    struct request *self = request_of(data, call);
    if (self && !self->call)
        ask(self, true);
}

static void release(void *data) {
    struct models_proposer *owner = data;
    model_client_free(owner->client);
    tune_models_free(owner->models);
    while (owner->requests)
        forget(owner->requests);
    free(owner->name);
    free(owner);
}

struct tune_proposer *tune_models_new(struct loop *loop, const struct config *config,
                                      const char *names, struct err *err) {
    struct tune_models *models = tune_models_open(config, names, err);
    if (!models)
        return NULL;
    struct models_proposer *self = mem_alloc(1, sizeof *self);
    self->client = model_client_new(loop);
    self->models = models;
    self->name = mem_strdup(names);
    self->proposer = (struct tune_proposer){.name = self->name,
                                            .self = self,
                                            .repairs = true,
                                            .draws = true,
                                            .parallel = MOST_AT_ONCE,
                                            .plan = plan,
                                            .rewrite = rewrite,
                                            .summarise = summarise,
                                            .reflect = reflect,
                                            .cancel = cancel,
                                            .free = release,
                                            .answer = answer,
                                            .send = send,
                                            .roles = tune_models_view(models)};
    return &self->proposer;
}
