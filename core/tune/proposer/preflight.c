/* SPDX-License-Identifier: Apache-2.0 */
/* Models tried before a run: one after the other, each by its key and its address, and where that
 * is wanted by a question. What is wrong is said in the words of core/model. */
#include "tune/proposer/preflight.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tune/proposer/models.h"
#include "tune/proposer/inner.h"

#define QUESTION "Answer with the one word ok."
#define ANSWER_TOKENS 16 /* the least that every interface accepts */

struct tried {
    const char *name;
    const struct model_endpoint *endpoint;
    unsigned roles; /* bits by enum tune_role */
    enum model_failed failed;
    char reason[512];
};

struct tune_preflight {
    struct tune_models *models;
    struct model_client *client;
    struct tune_preflight_hooks hooks;
    VEC(struct tried) all;
    size_t at;
    struct loop_timer *timer; /* until it begins */
    bool asks;                /* wanted */
    bool answering;           /* the question is out, not the connection alone */
};

static void ask(struct tune_preflight *self);

static void tell(struct tune_preflight *self, const char *step, bool fine, const char *found) {
    struct tune_preflight_step told = {self->all.at[self->at].name, step, fine, found};
    if (self->hooks.on_step)
        self->hooks.on_step(self->hooks.data, &told);
}

/* ----------------------------------------------------------------------------- what came of it */

static bool is_api(const struct tried *tried, const char *api) {
    return !strcmp(tried->endpoint->api, api);
}

static void tell_key(struct tune_preflight *self) {
    struct buf found = {0};
    model_key_print(self->all.at[self->at].endpoint, &found);
    tell(self, "key", true, found.at);
    buf_free(&found);
}

static void tell_connection(struct tune_preflight *self, const struct model_reply *reply) {
    const struct tried *tried = &self->all.at[self->at];
    bool fine = reply->failed == MODEL_FAILED_NOT, no_key = reply->failed == MODEL_FAILED_KEY;
    struct buf found = {0};
    if (is_api(tried, "human")) {
        tell(self, "person", fine, "you are asked");
        return;
    }
    model_address_print(tried->endpoint, &found);
    if (is_api(tried, "command")) {
        tell(self, "program", fine, fine ? found.at : reply->reason);
    } else {
        if (!no_key)
            tell_key(self);
        tell(self, no_key ? "key" : "address", fine, fine ? found.at : reply->reason);
    }
    buf_free(&found);
}

static void tell_answer(struct tune_preflight *self, const struct model_reply *reply) {
    /* An answer so short is cut where a model thinks, but it is an answer. */
    bool fine = reply->failed == MODEL_FAILED_NOT || reply->failed == MODEL_FAILED_TRUNCATED;
    struct buf found = {0};
    if (!fine) {
        const char *step = reply->failed == MODEL_FAILED_KEY       ? "key"
                           : reply->failed == MODEL_FAILED_REQUEST ? "model"
                                                                   : "answer";
        buf_printf(&found, "%s%s", reply->reason,
                   model_failed_is_outage(reply->failed) ? "; that may pass" : "");
        tell(self, step, false, found.at);
    } else {
        buf_printf(&found, "%s%sin %.1f s", reply->model, *reply->model ? ", " : "",
                   reply->elapsed_s);
        if (!isnan(reply->usage.input) && !isnan(reply->usage.output))
            buf_printf(&found, ", %.0f tokens in and %.0f out", reply->usage.input,
                       reply->usage.output);
        if (!isnan(reply->dollars))
            buf_printf(&found, ", $%.6f", reply->dollars);
        tell(self, "answer", true, found.at);
    }
    buf_free(&found);
}

/* --------------------------------------------------------------------------------- the verdict */

/* Whether waiting does not help. */
static bool must_be_mended(const struct tried *tried) {
    return tried->failed == MODEL_FAILED_KEY || tried->failed == MODEL_FAILED_REQUEST ||
           tried->failed == MODEL_FAILED_USELESS;
}

/* The first of a role's models that cannot be asked, where the role has no other that can. */
static const struct tried *nobody_left(const struct tune_preflight *self, unsigned role) {
    const struct tried *first = NULL;
    for (size_t i = 0; i < self->all.len; i++) {
        const struct tried *tried = &self->all.at[i];
        if (tried->roles & role && tried->failed == MODEL_FAILED_NOT)
            return NULL;
        if (tried->roles & role && !first)
            first = tried;
    }
    return first;
}

static void done(struct tune_preflight *self) {
    const struct tried *bad = NULL;
    struct err err = {0};
    for (size_t i = 0; i < self->all.len && !bad; i++)
        bad = must_be_mended(&self->all.at[i]) ? &self->all.at[i] : NULL;
    for (int role = 0; role < TUNE_ROLES && !bad; role++)
        bad = nobody_left(self, 1u << role);
    if (bad)
        err_set(&err, ERR_ENVIRONMENT, "%s", bad->reason);
    self->hooks.on_done(self->hooks.data, &err);
}

static void on_reply(void *data, const struct model_reply *reply) {
    struct tune_preflight *self = data;
    struct tried *tried = &self->all.at[self->at];
    bool cut = self->answering && reply->failed == MODEL_FAILED_TRUNCATED;
    tried->failed = cut ? MODEL_FAILED_NOT : reply->failed;
    snprintf(tried->reason, sizeof tried->reason, "%s", reply->reason);
    if (self->answering)
        tell_answer(self, reply);
    else
        tell_connection(self, reply);
    bool goes_on = self->asks && !self->answering && tried->failed == MODEL_FAILED_NOT &&
                   !is_api(tried, "human");
    self->answering = goes_on;
    self->at += !goes_on;
    ask(self);
}

static void ask(struct tune_preflight *self) {
    if (self->at == self->all.len) {
        done(self);
        return;
    }
    struct tried *tried = &self->all.at[self->at];
    struct model_endpoint endpoint = *tried->endpoint;
    struct model_message message = {MODEL_USER, STR(QUESTION), false};
    struct model_request request = {
        .endpoint = &endpoint, .messages = &message, .count = 1, .only_connects = !self->answering};
    struct model_callbacks callbacks = {.on_done = on_reply, .data = self};
    struct err err = {0};
    endpoint.retries = -1;
    endpoint.max_tokens = ANSWER_TOKENS;
    if (model_ask(self->client, &request, &callbacks, &err))
        return;
    tried->failed = MODEL_FAILED_REQUEST;
    snprintf(tried->reason, sizeof tried->reason, "%s", err.text);
    tell(self, "settings", false, err.text);
    self->at++;
    ask(self);
}

/* ---------------------------------------------------------------------------------------- who */

static void take(struct tune_preflight *self, enum tune_role role) {
    for (size_t i = 0; i < tune_models_count(self->models, role); i++) {
        const char *name = tune_models_name(self->models, role, i);
        size_t k = 0;
        while (k < self->all.len && strcmp(self->all.at[k].name, name) != 0)
            k++;
        if (k == self->all.len)
            *vec_push(&self->all) = (struct tried){
                .name = name, .endpoint = tune_models_endpoint(self->models, role, i)};
        self->all.at[k].roles |= 1u << role;
    }
}

static void begin(void *data) {
    struct tune_preflight *self = data;
    self->timer = NULL;
    ask(self);
}

struct tune_preflight *tune_preflight_start(struct loop *loop, const struct config *config,
                                            const char *names, bool asks,
                                            const struct tune_preflight_hooks *hooks,
                                            struct err *err) {
    struct tune_models *models = tune_models_open(config, names, err);
    if (!models)
        return NULL;
    struct tune_preflight *self = mem_alloc(1, sizeof *self);
    *self = (struct tune_preflight){
        .models = models, .client = model_client_new(loop), .hooks = *hooks, .asks = asks};
    for (int role = 0; role < TUNE_ROLES; role++)
        take(self, (enum tune_role)role);
    self->timer = loop_timer_start(loop, 0, 0, begin, self);
    return self;
}

void tune_preflight_free(struct tune_preflight *self) {
    if (!self)
        return;
    loop_timer_stop(self->timer);
    model_client_free(self->client);
    tune_models_free(self->models);
    vec_free(&self->all);
    free(self);
}

bool tune_models_look(const struct config *config, const char *name, struct tune_models_one *one,
                      struct err *err) {
    one->models = tune_models_open(config, name, err);
    one->endpoint = one->models ? tune_models_endpoint(one->models, TUNE_ROLE_PLANNER, 0) : NULL;
    return one->endpoint;
}

void tune_models_look_end(struct tune_models_one *one) {
    tune_models_free(one->models);
    *one = (struct tune_models_one){0};
}
