/* SPDX-License-Identifier: Apache-2.0 */
/* What a service does not take: servers differ in the newer parts of an interface, and models in
 * the options they take. When one refuses a request for such a part, the part is left out from then
 * on, and the person is told. */
#include <math.h>
#include <stdio.h>

#include "model/private.h"

#define LEAST_LIMIT 256 /* a smaller number is no limit of an answer's tokens */

static const struct {
    const char *words; /* in the refusal */
    unsigned without;
} refusals[] = {
    {"stream_options", MODEL_WITHOUT_USAGE},    {"include_usage", MODEL_WITHOUT_USAGE},
    {"prompt caching", MODEL_WITHOUT_CACHE},    {"cachePoint", MODEL_WITHOUT_CACHE},
    {"cache_control", MODEL_WITHOUT_CACHE},     {"max_completion_tokens", MODEL_WITHOUT_OLD_LIMIT},
    {"temperature", MODEL_WITHOUT_TEMPERATURE},
};

struct model_learnt *model_learnt_of(struct model_call *call) {
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

void model_learnt_apply(struct model_call *call) {
    const struct model_learnt *learnt = model_learnt_of(call);
    int *tokens = &call->kept.endpoint.max_tokens;
    call->without = learnt->without;
    call->effort_sent = false;
    if (learnt->most_tokens && *tokens > learnt->most_tokens)
        *tokens = learnt->most_tokens;
}

bool model_goes_without(const struct model_call *call, unsigned part) {
    return (call->without & part) != 0;
}

bool model_takes_temperature(const struct model_call *call) {
    return isfinite(call->kept.endpoint.temperature) &&
           !model_goes_without(call, MODEL_WITHOUT_TEMPERATURE);
}

/* The largest number in a text that is less than `than`; 0: none that could be a limit. */
static int number_below(struct str text, int than) {
    long long best = 0;
    for (size_t i = 0; i < text.len;) {
        long long value = 0;
        size_t digits = 0;
        for (; i < text.len && text.at[i] >= '0' && text.at[i] <= '9'; i++, digits++)
            value = digits < 12 ? value * 10 + (text.at[i] - '0') : than;
        if (digits && value < than && value > best)
            best = value;
        i += !digits;
    }
    return best >= LEAST_LIMIT ? (int)best : 0;
}

static bool has(struct str body, const char *words) {
    return memmem(body.at, body.len, words, strlen(words));
}

/* "max_tokens: 100000 > 64000, which is the maximum ...", "too large: 100000. ... at most 16384":
 * fewer are asked for. */
static bool learn_most(struct model_call *call, struct model_learnt *learnt, struct str body) {
    int asked = call->kept.endpoint.max_tokens;
    bool names_it = has(body, "max_tokens") || has(body, "max_completion_tokens") ||
                    has(body, "max_output_tokens") || has(body, "maximum tokens");
    bool too_many = has(body, "too large") || has(body, "maximum") || has(body, "at most") ||
                    has(body, "exceed");
    int most = names_it && too_many ? number_below(body, asked) : 0;
    if (most && (!learnt->most_tokens || most < learnt->most_tokens))
        learnt->most_tokens = most;
    return learnt->most_tokens && learnt->most_tokens < asked;
}

bool model_learn(struct model_call *call, long status, struct str body) {
    struct model_learnt *learnt = model_learnt_of(call);
    bool tempered = model_takes_temperature(call);
    if (!body.len || (status != 400 && status != 403 && status != 422))
        return false;
    bool less = learn_most(call, learnt, body), effort = model_effort_refused(call, body);
    for (size_t i = 0; !less && i < COUNT_OF(refusals); i++)
        if (has(body, refusals[i].words) &&
            (tempered || refusals[i].without != MODEL_WITHOUT_TEMPERATURE))
            learnt->without |= refusals[i].without;
    /* What other requests found out in the meantime counts, too. */
    return less || effort || learnt->without != call->without;
}
