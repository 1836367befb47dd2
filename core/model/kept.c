/* SPDX-License-Identifier: Apache-2.0 */
/* A request with copies of all its texts, and the defaults for what was not given. */
#include "model/private.h"

#define CONNECT_LIMIT_S 20
#define FIRST_LIMIT_S 300
#define STALL_LIMIT_S 120
#define RETRIES 4
#define FIRST_WAIT_S 1.0

static double or_else(double value, double otherwise) {
    return value > 0 ? value : otherwise;
}

static const char *const *keep_words(struct arena *arena, const char *const *words) {
    size_t count = 0;
    while (words && words[count])
        count++;
    const char **kept = ARENA_ARRAY(arena, const char *, count + 1);
    for (size_t i = 0; i < count; i++)
        kept[i] = arena_strdup(arena, words[i]);
    return kept;
}

static void keep_endpoint(struct model_kept *kept, const struct model_endpoint *endpoint) {
    struct arena *arena = kept->arena;
    struct model_endpoint *own = &kept->endpoint;
    *own = *endpoint;
    const char **texts[] = {
        &own->api,         &own->base_url, &own->model,   &own->key.environment, &own->key.command,
        &own->key.keyring, &own->region,   &own->profile, &own->ca_file,         &own->proxy};
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        *texts[i] = *texts[i] ? arena_strdup(arena, *texts[i]) : NULL;
    own->command = keep_words(arena, endpoint->command);
    own->env = keep_words(arena, endpoint->env);
    own->max_tokens = endpoint->max_tokens > 0 ? endpoint->max_tokens : MODEL_MAX_TOKENS;
    own->connect_limit_s = or_else(endpoint->connect_limit_s, CONNECT_LIMIT_S);
    own->first_limit_s = or_else(endpoint->first_limit_s, FIRST_LIMIT_S);
    own->stall_limit_s = or_else(endpoint->stall_limit_s, STALL_LIMIT_S);
    own->retry_wait_s = or_else(endpoint->retry_wait_s, FIRST_WAIT_S);
    own->retries = endpoint->retries < 0 ? 0 : endpoint->retries ? endpoint->retries : RETRIES;
    own->retries = MIN_OF(own->retries, MODEL_MAX_TRIES - 1);
}

static struct str keep_text(struct arena *arena, struct str text) {
    return (struct str){arena_strndup(arena, text.at ? text.at : "", text.len), text.len};
}

void model_keep(struct model_kept *kept, const struct model_request *request) {
    struct arena *arena = kept->arena = arena_new();
    keep_endpoint(kept, request->endpoint);
    kept->request = *request;
    kept->request.endpoint = &kept->endpoint;
    kept->request.folder = request->folder ? arena_strdup(arena, request->folder) : NULL;
    kept->request.system = keep_text(arena, request->system);
    struct model_message *own = ARENA_ARRAY(arena, struct model_message, request->count);
    for (size_t i = 0; i < request->count; i++) {
        own[i] = request->messages[i];
        own[i].text = keep_text(arena, request->messages[i].text);
    }
    kept->request.messages = own;
}
