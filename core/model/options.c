/* SPDX-License-Identifier: Apache-2.0 */
/* What a service does not take: servers that speak an interface differ in its newer parts, and say so
 * when they refuse a request. Such a part is left out from then on; what the user set himself is not. */
#include <stdio.h>

#include "model/private.h"

static const struct {
    const char *words;          /* in the refusal */
    unsigned without;
} refusals[] = {
    {"stream_options", MODEL_WITHOUT_USAGE},
    {"include_usage", MODEL_WITHOUT_USAGE},
    {"prompt caching", MODEL_WITHOUT_CACHE},
    {"cachePoint", MODEL_WITHOUT_CACHE},
    {"cache_control", MODEL_WITHOUT_CACHE},
    {"max_completion_tokens", MODEL_WITHOUT_OLD_LIMIT},
};

static struct model_learnt *learnt_of(struct model_call *call) {
    struct model_client *client = call->client;
    const struct model_endpoint *endpoint = &call->kept.endpoint;
    char key[sizeof client->learnt.at->key];
    snprintf(key, sizeof key, "%s %.150s %.100s", call->api->name,
             endpoint->base_url ? endpoint->base_url : "", endpoint->model ? endpoint->model : "");
    for (size_t i = 0; i < client->learnt.len; i++)
        if (!strcmp(client->learnt.at[i].key, key))
            return &client->learnt.at[i];
    struct model_learnt *learnt = vec_push(&client->learnt);
    *learnt = (struct model_learnt){0};
    memcpy(learnt->key, key, sizeof key);
    return learnt;
}

bool model_goes_without(struct model_call *call, unsigned part) {
    return (learnt_of(call)->without & part) != 0;
}

bool model_learn(struct model_call *call, long status, struct str body) {
    struct model_learnt *learnt = learnt_of(call);
    unsigned before = learnt->without;
    bool refused = status == 400 || status == 403 || status == 422;
    for (size_t i = 0; refused && body.len && i < COUNT_OF(refusals); i++)
        if (memmem(body.at, body.len, refusals[i].words, strlen(refusals[i].words)))
            learnt->without |= refusals[i].without;
    return learnt->without != before;
}
