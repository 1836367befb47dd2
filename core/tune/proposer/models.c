/* SPDX-License-Identifier: Apache-2.0 */
/* Models by name. It reads settings and asks nobody. */
#include "tune/proposer/models.h"
#include "tune/proposer/inner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_WORDS 64
#define CONTEXT_TOKENS 128000 /* of a model without a section, as the setting's default */

struct entry {
    const char *name, *origin;
    struct model_endpoint endpoint;
    double context_tokens;
};

struct tune_models {
    struct arena *arena;
    VEC(struct entry) roles[TUNE_ROLES];
    struct model_prices *prices;
    struct tune_role_view views[TUNE_ROLES];
    struct model_endpoint *asked[TUNE_ROLES]; /* as each role asks them */
};

/* The role whose models answer where none was named for this one. */
static const enum tune_role stands_in[TUNE_ROLES] = {
    [TUNE_ROLE_PLANNER] = TUNE_ROLE_PLANNER,     [TUNE_ROLE_REWRITER] = TUNE_ROLE_PLANNER,
    [TUNE_ROLE_FIXER] = TUNE_ROLE_REWRITER,      [TUNE_ROLE_SUMMARISER] = TUNE_ROLE_SUMMARISER,
    [TUNE_ROLE_REFLECTOR] = TUNE_ROLE_REFLECTOR,
};

/* Splits words at blanks, as argv. */
static const char *const *words_of(struct arena *arena, const char *text) {
    const char **words = ARENA_ARRAY(arena, const char *, MAX_WORDS + 1);
    size_t count = 0;
    char *rest = arena_strdup(arena, text);
    for (char *word; count < MAX_WORDS && (word = strtok_r(rest, " \t", &rest));)
        words[count++] = word;
    return words;
}

struct finding {
    struct tune_models *models;
    const struct config *config;
    const char *section;
    struct err *err;
};

static const char *text_of(const struct finding *finding, const char *key) {
    const char *text = config_get(finding->config, finding->section, key, NULL);
    return text ? arena_strdup(finding->models->arena, text) : NULL;
}

static double number_of(const struct finding *finding, const char *key) {
    const char *text = config_get(finding->config, finding->section, key, NULL);
    double number;
    return text && str_to_double(str_of(text), &number) ? number : (double)NAN;
}

static void prices_read(const struct finding *finding, struct model_endpoint *endpoint) {
    const struct {
        const char *key;
        double *field;
    } rows[] = {{"price_input", &endpoint->price.input},
                {"price_output", &endpoint->price.output},
                {"price_cache_read", &endpoint->price.cache_read},
                {"price_cache_write", &endpoint->price.cache_write}};
    if (endpoint->model)
        endpoint->price = model_prices_find(finding->models->prices, endpoint->model);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        double number = number_of(finding, rows[i].key);
        if (isnan(number))
            continue;
        *rows[i].field = number;
        endpoint->price.up_to = 0;
    }
}

/* A [model NAME] of the configuration. */
static void section_read(const struct finding *finding, const char *name,
                         struct model_endpoint *endpoint) {
    struct arena *arena = finding->models->arena;
    const char *command = text_of(finding, "command"), *proxy = text_of(finding, "proxy");
    double thinking = number_of(finding, "thinking_tokens");
    const char *env = text_of(finding, "env");
    *endpoint = (struct model_endpoint){.api = text_of(finding, "api"),
                                        .base_url = text_of(finding, "base_url"),
                                        .model = text_of(finding, "model"),
                                        .region = text_of(finding, "region"),
                                        .profile = text_of(finding, "profile"),
                                        .ca_file = text_of(finding, "ca_file"),
                                        .key = {text_of(finding, "key_env"),
                                                text_of(finding, "key_command"),
                                                text_of(finding, "key_keyring")},
                                        .proxy = proxy && !strcmp(proxy, "none") ? "" : proxy,
                                        .command = command ? words_of(arena, command) : NULL,
                                        .env = env ? words_of(arena, env) : NULL,
                                        .max_tokens = (int)number_of(finding, "max_tokens"),
                                        .thinking_tokens = isnan(thinking) ? 0 : (int)thinking,
                                        .temperature = number_of(finding, "temperature"),
                                        .connect_limit_s = number_of(finding, "connect_limit_s"),
                                        .first_limit_s = number_of(finding, "first_limit_s"),
                                        .stall_limit_s = number_of(finding, "stall_limit_s"),
                                        .retry_wait_s = number_of(finding, "retry_wait_s"),
                                        .price = {NAN, NAN, NAN, NAN, 0}};
    const char *effort = text_of(finding, "effort");
    if (effort)
        model_effort_find(effort, &endpoint->effort);
    int retries = (int)number_of(finding, "retries");
    endpoint->retries = retries ? retries : -1;
    if (!endpoint->model)
        endpoint->model = arena_strdup(arena, name);
    prices_read(finding, endpoint);
}

/* SERVICE/MODEL. */
static bool service_read(const struct finding *finding, const char *name,
                         struct model_endpoint *endpoint) {
    const char *slash = strchr(name, '/');
    char service[40];
    snprintf(service, sizeof service, "%.*s", (int)(slash ? slash - name : 39), name);
    if (!model_service_find(service, endpoint))
        return false;
    bool human = !strcmp(endpoint->api, "human");
    if (!human && !(slash && slash[1]))
        return false;
    endpoint->model = human ? "you" : arena_strdup(finding->models->arena, slash + 1);
    if (!human)
        endpoint->price = model_prices_find(finding->models->prices, endpoint->model);
    return true;
}

static bool unknown(const struct finding *finding, const char *name) {
    struct buf names = {0};
    const char *one;
    for (size_t i = 0; (one = config_name(finding->config, "model", i)); i++)
        buf_printf(&names, "%s, ", one);
    err_set(
        finding->err, ERR_USAGE,
        "there is no model \"%.60s\". A model is %srewriter, human, or SERVICE/MODEL with a "
        "service such as anthropic, openai, bedrock, ollama, vllm; or add a section [model %.40s] "
        "to the configuration",
        name, names.at ? names.at : "", name);
    buf_free(&names);
    return false;
}

static bool find_one(struct finding *finding, const char *name, struct entry *entry) {
    char section[80];
    snprintf(section, sizeof section, "model %.64s", name);
    finding->section = section;
    entry->name = arena_strdup(finding->models->arena, name);
    entry->context_tokens = CONTEXT_TOKENS;
    if (finding->config && config_has(finding->config, section)) {
        section_read(finding, name, &entry->endpoint);
        entry->context_tokens = number_of(finding, "context_tokens");
        return true;
    }
    return service_read(finding, name, &entry->endpoint) || unknown(finding, name);
}

static bool role_read(struct finding *finding, enum tune_role role, const char *names,
                      const char *origin) {
    struct str rest = str_of(names), one;
    while (str_next(&rest, ',', &one)) {
        char name[80];
        struct entry entry = {.origin = origin};
        one = str_trim(one);
        snprintf(name, sizeof name, STR_FMT, STR_ARG(one));
        if (!one.len || str_is(one, "none"))
            continue;
        if (!find_one(finding, name, &entry))
            return false;
        *vec_push(&finding->models->roles[role]) = entry;
    }
    return true;
}

static bool roles_read(struct finding *finding, const char *names) {
    bool by_config = !strcmp(names, "models");
    for (int role = 0; role < TUNE_ROLES; role++) {
        struct config_origin origin = {0};
        const char *set =
            config_get(finding->config, "roles", tune_role_word((enum tune_role)role), &origin);
        bool writes = role == TUNE_ROLE_SUMMARISER || role == TUNE_ROLE_REFLECTOR;
        const char *list = by_config || writes ? set : role == TUNE_ROLE_PLANNER ? names : NULL;
        struct buf from = {0};
        if (list && list == set)
            config_origin_print(&origin, &from);
        else
            buf_puts(&from, "the proposer");
        const char *where = arena_strdup(finding->models->arena, from.at ? from.at : "");
        buf_free(&from);
        if (list && !role_read(finding, (enum tune_role)role, list, where))
            return false;
    }
    if (finding->models->roles[TUNE_ROLE_PLANNER].len)
        return true;
    return err_set(finding->err, ERR_USAGE,
                   "no model plans: name one as planner in [roles] of the configuration (%s)",
                   "hone config --path says where it is");
}

static enum tune_role answering(const struct tune_models *models, enum tune_role role);

/* Tokens are only estimates, so some room stays free. */
static double prompt_most(const struct entry *entry) {
    int answer = entry->endpoint.max_tokens > 0 ? entry->endpoint.max_tokens : MODEL_MAX_TOKENS;
    double most = fmax(entry->context_tokens - answer, entry->context_tokens / 2);
    return strcmp(entry->endpoint.api, "human") != 0 ? most * 0.95 : 0;
}

static enum model_effort effort_of(const struct config *config, enum tune_role role) {
    enum model_effort effort = MODEL_EFFORT_UNSET;
    char key[40];
    snprintf(key, sizeof key, "%s_effort", tune_role_word(role));
    const char *word = config_get(config, "roles", key, NULL);
    if (word)
        model_effort_find(word, &effort);
    return effort;
}

/* The effort that a role names comes before the section's settings for thinking. */
static void asked_fill(struct tune_models *models, enum tune_role role, enum model_effort effort) {
    enum tune_role by = answering(models, role);
    size_t count = models->roles[by].len;
    struct model_endpoint *asked = ARENA_ARRAY(models->arena, struct model_endpoint, count + 1);
    for (size_t i = 0; i < count; i++) {
        asked[i] = models->roles[by].at[i].endpoint;
        if (effort == MODEL_EFFORT_UNSET)
            continue;
        asked[i].effort = effort;
        asked[i].thinking_tokens = 0;
    }
    models->asked[role] = asked;
}

static const char *asked_print(struct tune_models *models, const struct model_endpoint *endpoint) {
    const char *effort = model_effort_word(endpoint->effort);
    return arena_printf(models->arena, "%s, %s%s%s", endpoint->api, endpoint->model,
                        *effort ? ", effort " : "", effort);
}

static void view_fill(struct tune_models *models, enum tune_role role, bool by_gain) {
    enum tune_role by = answering(models, role);
    size_t count = models->roles[by].len;
    struct tune_role_model *list = ARENA_ARRAY(models->arena, struct tune_role_model, count + 1);
    for (size_t i = 0; i < count; i++) {
        const struct entry *entry = &models->roles[by].at[i];
        list[i] = (struct tune_role_model){
            .name = entry->name,
            .asked = asked_print(models, &models->asked[role][i]),
            .origin = by == role ? entry->origin
                                 : arena_printf(models->arena, "as the %s", tune_role_word(by)),
            .price_input = entry->endpoint.price.input,
            .price_output = entry->endpoint.price.output,
            .price_cache_read = entry->endpoint.price.cache_read,
            .price_cache_write = entry->endpoint.price.cache_write,
            .price_up_to = entry->endpoint.price.up_to,
            .most = prompt_most(entry),
            .person = !strcmp(entry->endpoint.api, "human")};
    }
    models->views[role] = (struct tune_role_view){list, count, by_gain};
}

struct tune_models *tune_models_open(const struct config *config, const char *names,
                                     struct err *err) {
    struct tune_models *models = mem_alloc(1, sizeof *models);
    models->arena = arena_new();
    models->prices = model_prices_load(err);
    struct finding finding = {models, config, NULL, err};
    if (!models->prices || !roles_read(&finding, names)) {
        tune_models_free(models);
        return NULL;
    }
    const char *choose = config_get(config, "roles", "choose", NULL);
    for (int role = 0; role < TUNE_ROLES; role++)
        asked_fill(models, (enum tune_role)role, effort_of(config, (enum tune_role)role));
    for (int role = 0; role < TUNE_ROLES; role++)
        view_fill(models, (enum tune_role)role, choose && !strcmp(choose, "gain"));
    return models;
}

void tune_models_free(struct tune_models *models) {
    if (!models)
        return;
    for (int role = 0; role < TUNE_ROLES; role++)
        vec_free(&models->roles[role]);
    model_prices_free(models->prices);
    arena_free(models->arena);
    free(models);
}

/* The role whose models answer for this one. */
static enum tune_role answering(const struct tune_models *models, enum tune_role role) {
    while (!models->roles[role].len && stands_in[role] != role)
        role = stands_in[role];
    return role;
}

size_t tune_models_count(const struct tune_models *models, enum tune_role role) {
    return models->roles[answering(models, role)].len;
}

const char *tune_models_name(const struct tune_models *models, enum tune_role role, size_t index) {
    return models->roles[answering(models, role)].at[index].name;
}

const struct model_endpoint *tune_models_endpoint(const struct tune_models *models,
                                                  enum tune_role role, size_t index) {
    return &models->asked[role][index];
}

double tune_models_context(const struct tune_models *models, enum tune_role role, size_t index) {
    return models->roles[answering(models, role)].at[index].context_tokens;
}

const struct tune_role_view *tune_models_view(const struct tune_models *models) {
    return models->views;
}
