/* SPDX-License-Identifier: Apache-2.0 */
/* Language models as a proposer: a prompt goes out, the answer is read as plans or as a kernel, and
 * what cannot be read goes back for one more turn. What a proposal is worth is found out by others. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tune/answer.h"
#include "tune/driver.h"
#include "tune/models.h"

#define TURNS 2                     /* an answer, and one that mends what could not be read */

struct models_proposer {
    struct tune_proposer proposer;
    struct model_client *client;
    struct tune_models *models;
    char *name;
    /* the request under way */
    const struct tune_context *context;
    const struct tune_plan *plan;
    struct tune_reply *reply;
    enum tune_role role;
    size_t which;                   /* of the role's models */
    struct model_call *call;
    int number;                     /* of the call, in state->calls */
    int turn;
    struct buf system, prompt, answer, complaint;
};

static void ask(struct models_proposer *self);

static void forget(struct models_proposer *self) {
    self->reply = NULL;
    self->call = NULL;
    buf_free(&self->system);
    buf_free(&self->prompt);
    buf_free(&self->answer);
    buf_free(&self->complaint);
}

/* ------------------------------------------------------------------------------ reading answers */

static int lines_in(const char *text) {
    int count = 0;
    for (; text && *text; text++)
        count += *text == '\n';
    return count;
}

static bool answer_plans(struct models_proposer *self, struct str text, struct err *err) {
    struct tune_plan plans[TUNE_ANSWER_PLANS];
    struct arena *arena = arena_new();
    size_t count =
        tune_answer_plans(text, lines_in(self->context->source), arena, plans, err);
    struct tune_reply *reply = self->reply;
    if (count) {
        forget(self);
        tune_reply_plans(reply, plans, count);
    }
    arena_free(arena);
    return count > 0;
}

static bool answer_kernel(struct models_proposer *self, struct str text, struct err *err) {
    const struct tune_context *context = self->context;
    const char *base = context->repair_source ? context->repair_source : context->source;
    struct buf source = {0};
    bool fine = tune_answer_kernel(text, base, context->function, &source, err);
    struct tune_reply *reply = self->reply;
    if (fine) {
        forget(self);
        tune_reply_candidate(reply, buf_str(&source));
    }
    buf_free(&source);
    return fine;
}

static bool answer_lesson(struct models_proposer *self, struct str text, struct err *err) {
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

static void give_up(struct models_proposer *self, const char *text) {
    struct tune_reply *reply = self->reply;
    char words[sizeof((struct err *)0)->text + 100];
    snprintf(words, sizeof words, "%s: %s",
             tune_models_name(self->models, self->role, self->which), text);
    forget(self);
    tune_reply_failed(reply, words);
}

static void read_answer(struct models_proposer *self, const struct model_reply *answer) {
    struct err err = {0};
    static bool (*const readers[TUNE_ROLES])(struct models_proposer *, struct str, struct err *) = {
        [TUNE_ROLE_PLANNER] = answer_plans,     [TUNE_ROLE_REWRITER] = answer_kernel,
        [TUNE_ROLE_FIXER] = answer_kernel,      [TUNE_ROLE_SUMMARISER] = answer_lesson,
        [TUNE_ROLE_REFLECTOR] = answer_lesson};
    if (readers[self->role](self, answer->text, &err))
        return;
    if (++self->turn >= TURNS || answer->stop == MODEL_STOP_REFUSED) {
        give_up(self, answer->stop == MODEL_STOP_REFUSED ? "it declined to answer" : err.text);
        return;
    }
    tune_reply_log(self->reply, err.text);
    buf_clear(&self->answer);
    buf_clear(&self->complaint);
    buf_add(&self->answer, answer->text.at, answer->text.len);
    buf_printf(&self->complaint, "That could not be used: %s.\n", err.text);
    ask(self);
}

/* -------------------------------------------------------------------------------------- asking */

static void on_text(void *data, struct str piece) {
    struct models_proposer *self = data;
    tune_reply_stream(self->reply, self->number, piece, false);
}

static void on_again(void *data) {
    struct models_proposer *self = data;
    tune_reply_stream(self->reply, self->number, (struct str){0}, true);
}

static void on_note(void *data, const char *text) {
    struct models_proposer *self = data;
    tune_reply_log(self->reply, text);
}

static void on_done(void *data, const struct model_reply *answer) {
    struct models_proposer *self = data;
    self->call = NULL;
    tune_reply_answered(self->reply, self->number, answer);
    if (answer->failure.kind != ERR_NONE)
        give_up(self, answer->failure.text);
    else
        read_answer(self, answer);
}

/* The whole of what goes out, as it is kept and shown. */
static void print_all(const struct models_proposer *self, struct buf *out) {
    const struct buf *all[] = {&self->system, &self->prompt, &self->answer, &self->complaint};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        if (all[i]->len) {
            buf_add(out, all[i]->at, all[i]->len);
            buf_putc(out, '\n');
        }
}

/* False: what is left of a limit does not pay for it. Then nobody waits for an answer any more. */
static bool write_down(struct models_proposer *self, struct model_endpoint *endpoint) {
    struct buf whole = {0};
    struct err err = {0};
    print_all(self, &whole);
    struct tune_asking asking = {.role = self->role,
                                 .which = self->which,
                                 .prompt = model_tokens_estimate(buf_str(&whole))};
    bool affords = tune_reply_affords(self->reply, &asking, &endpoint->max_tokens, &err);
    struct tune_question question = {
        .role = self->role,
        .model = tune_models_name(self->models, self->role, self->which),
        .prompt = buf_str(&whole),
        .estimate = asking.prompt,
        .hold_tokens = asking.hold_tokens,
        .hold_dollars = asking.hold_dollars,
        .waits = !strcmp(endpoint->api, "human")};
    if (affords)
        self->number = tune_reply_asked(self->reply, &question);
    else if (self->reply && self->reply->done)
        forget(self);
    else if (self->reply)
        give_up(self, err.text);
    buf_free(&whole);
    return affords && self->reply;      /* not when the session was halted meanwhile */
}

static void ask(struct models_proposer *self) {
    struct model_endpoint endpoint =
        *tune_models_endpoint(self->models, self->role, self->which);
    struct model_message messages[] = {
        {MODEL_USER, buf_str(&self->prompt), self->turn == 0},
        {MODEL_ASSISTANT, buf_str(&self->answer), false},
        {MODEL_USER, buf_str(&self->complaint), false},
    };
    struct model_request request = {.endpoint = &endpoint,
                                    .system = buf_str(&self->system),
                                    .cache_system = true,
                                    .messages = messages,
                                    .count = self->turn ? 3 : 1};
    struct model_callbacks callbacks = {on_text, on_again, on_note, on_done, self};
    struct err err = {0};
    if (!write_down(self, &endpoint))
        return;
    self->call = model_ask(self->client, &request, &callbacks, &err);
    if (!self->call)
        give_up(self, err.text);
}

static void begin(struct models_proposer *self, const struct tune_context *context,
                  enum tune_role role, struct tune_reply *reply) {
    self->context = context;
    self->reply = reply;
    self->role = role;
    self->turn = 0;
    self->which = tune_reply_turn(reply, role, tune_models_count(self->models, role));
    struct tune_prompt *prompt = tune_prompt_build(context, role, NULL, 0);
    tune_prompt_print(prompt, &self->system, &self->prompt);
    tune_prompt_free(prompt);
    tune_reply_author(reply, tune_models_name(self->models, role, self->which));
    if (self->system.len + self->prompt.len)
        ask(self);
    else
        give_up(self, "every part of the prompt is switched off");
}

/* ---------------------------------------------------------------------------- as the loop sees it */

static void plan(void *data, const struct tune_context *context, struct tune_reply *reply) {
    begin(data, context, TUNE_ROLE_PLANNER, reply);
}

static void rewrite(void *data, const struct tune_context *context, const struct tune_plan *chosen,
                    struct tune_reply *reply) {
    struct models_proposer *self = data;
    self->plan = chosen;
    begin(self, context, context->repair_error ? TUNE_ROLE_FIXER : TUNE_ROLE_REWRITER, reply);
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

static void cancel(void *data) {
    struct models_proposer *self = data;
    struct model_call *call = self->call;
    struct model_reply none = {.usage = {NAN, NAN, NAN, NAN}, .dollars = NAN, .first_s = NAN,
                               .elapsed_s = NAN, .failure = {ERR_CANCELLED, "cancelled"}};
    if (!self->reply)
        return;
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

static void answer(void *data, int call, struct str text) {
    struct models_proposer *self = data;
    if (self->call && self->number == call)
        model_answer(self->call, text);
}

static void release(void *data) {
    struct models_proposer *self = data;
    model_client_free(self->client);
    tune_models_free(self->models);
    forget(self);
    free(self->name);
    free(self);
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
                                            .plan = plan,
                                            .rewrite = rewrite,
                                            .summarise = summarise,
                                            .reflect = reflect,
                                            .cancel = cancel,
                                            .free = release,
                                            .answer = answer,
                                            .roles = tune_models_view(models)};
    return &self->proposer;
}
