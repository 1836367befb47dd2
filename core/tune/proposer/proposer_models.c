/* SPDX-License-Identifier: Apache-2.0 */
/* Language models as a proposer: a prompt goes out, the answer is read as plans or as a kernel, and
 * what cannot be read goes back for one more turn. What a proposal is worth is found out by
 * others. */
#include <math.h>
#include <stdlib.h>

#include "loop/loop.h"
#include "tune/proposer/request.h"
#include "tune/proposer/inner.h"

#define MOST_AT_ONCE 256 /* [search] questions says less */

static void begin(struct models_proposer *owner, const struct tune_context *context,
                  enum tune_role role, struct tune_reply *reply) {
    struct request *self = mem_alloc(1, sizeof *self);
    *self = (struct request){.owner = owner,
                             .next = owner->requests,
                             .context = context,
                             .reply = reply,
                             .role = role,
                             .number = -1,
                             .mends = -1,
                             .repeats = -1};
    owner->requests = self;
    tune_request_begin(self, tune_reply_turn(reply, role, tune_models_count(owner->models, role)));
}

static void plan(void *data, const struct tune_context *context, struct tune_reply *reply) {
    begin(data, context, TUNE_ROLE_PLANNER, reply);
}

static void rewrite(void *data, const struct tune_context *context, const struct tune_plan *chosen,
                    struct tune_reply *reply) {
    (void)chosen; /* the context tells it */
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
    struct model_reply none = {.usage = {NAN, NAN, NAN, NAN},
                               .dollars = NAN,
                               .first_s = NAN,
                               .elapsed_s = NAN,
                               .failure = {ERR_CANCELLED, "cancelled"}};
    if (call) {
        model_so_far(call, &none);
        none.failure = (struct err){ERR_CANCELLED, "given up before it was whole"};
        none.failed = MODEL_FAILED_CANCELLED;
    }
    struct models_proposer *owner = self->owner;
    if (self->open)
        tune_reply_answered(self->reply, self->number, &none);
    tune_request_forget(self);
    struct model_callbacks nobody = {.on_done = cancelled};
    model_redirect(call, &nobody);
    model_cancel(call);
    tune_requests_watch(owner);
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
    if (self && !self->call && !self->waits)
        tune_request_ask(self, true);
}

static void retry(void *data) {
    tune_requests_wake(data);
}

static void release(void *data) {
    struct models_proposer *owner = data;
    loop_timer_stop(owner->timer);
    model_client_free(owner->client);
    tune_models_free(owner->models);
    while (owner->requests)
        tune_request_forget(owner->requests);
    free(owner->name);
    free(owner);
}

static double roles_number(const struct config *config, const char *key, double otherwise) {
    return config && config_get(config, "roles", key, NULL) ? config_number(config, "roles", key)
                                                            : otherwise;
}

struct tune_proposer *tune_models_new(struct loop *loop, const struct config *config,
                                      const char *names, struct err *err) {
    struct tune_models *models = tune_models_open(config, names, err);
    if (!models)
        return NULL;
    struct models_proposer *self = mem_alloc(1, sizeof *self);
    self->loop = loop;
    self->wait_s = roles_number(config, "outage_wait_s", 5);
    self->limit_s = roles_number(config, "outage_limit_s", 7200);
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
                                            .retry = retry,
                                            .roles = tune_models_view(models)};
    return &self->proposer;
}
