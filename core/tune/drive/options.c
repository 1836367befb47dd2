/* SPDX-License-Identifier: Apache-2.0 */
/* The values a session begins with, and where each came from: the command line, the configuration,
 * or the default. A session that exists keeps its own; only what is given on the command line
 * changes it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "device/device.h"
#include "tune/drive/inner.h"
#include "tune/ask/ask.h"

#define ROUNDS 50
#define ROUNDS_BEAM 10

static const enum tune_gate default_gates[TUNE_STEPS] = {
    [TUNE_STEP_PROFILE] = TUNE_GATE_AUTO,   [TUNE_STEP_PLAN] = TUNE_GATE_ASK,
    [TUNE_STEP_REWRITE] = TUNE_GATE_ASK,    [TUNE_STEP_VERIFY] = TUNE_GATE_AUTO_GREEN,
    [TUNE_STEP_BENCHMARK] = TUNE_GATE_AUTO, [TUNE_STEP_DECIDE] = TUNE_GATE_ASK,
    [TUNE_STEP_SUMMARISE] = TUNE_GATE_AUTO, [TUNE_STEP_REFLECT] = TUNE_GATE_AUTO};

/* "0,21,42" as numbers; false with *err for anything else. */
static bool seeds_put(cJSON *payload, const char *text, struct err *err) {
    static const int64_t usual[] = TASK_SEEDS;
    cJSON *list = cJSON_AddArrayToObject(payload, "seeds");
    struct str rest = str_of(text), one;
    for (size_t i = 0; !text && i < COUNT_OF(usual); i++)
        cJSON_AddItemToArray(list, cJSON_CreateNumber((double)usual[i]));
    int count = 0;
    while (text && str_next(&rest, ',', &one)) {
        long long seed;
        if (!str_to_int(str_trim(one), &seed) || seed < 0 || ++count > TASK_MAX_SEEDS)
            return err_set(err, ERR_USAGE,
                           "seeds are up to %d numbers from 0 with commas between, as 0,21,42; "
                           "not \"%.80s\"",
                           TASK_MAX_SEEDS, text);
        cJSON_AddItemToArray(list, cJSON_CreateNumber((double)seed));
    }
    if (text && !count)
        return err_set(err, ERR_USAGE, "there are no seeds: give at least one, as 0");
    return true;
}

/* "greedy", "beam" or "beam:4,4,2" as widths; `usual` for a beam without numbers. */
static bool search_read(const char *text, struct tune_width usual, struct tune_width *width,
                        struct err *err) {
    static const int most[] = {64, 64, 16};
    struct str rest = str_of(text), one;
    *width = (struct tune_width){1, 1, 1};
    if (!text || !strcmp(text, "greedy"))
        return true;
    *width = usual;
    if (!strcmp(text, "beam"))
        return usual.parents * usual.plans * usual.rewrites <= TUNE_MAX_LANES ||
               err_set(err, ERR_USAGE,
                       "[search] parents, plans and rewrites make %d lanes at once; "
                       "at most %d",
                       usual.parents * usual.plans * usual.rewrites, TUNE_MAX_LANES);
    int *const fields[] = {&width->parents, &width->plans, &width->rewrites};
    size_t count = 0;
    bool ok = str_starts(rest, "beam:");
    rest = ok ? str_of(text + strlen("beam:")) : rest;
    while (ok && str_next(&rest, ',', &one)) {
        long long number;
        ok = count < COUNT_OF(fields) && str_to_int(str_trim(one), &number) && number >= 1 &&
             number <= most[count];
        if (ok)
            *fields[count++] = (int)number;
    }
    if (ok && count && width->parents * width->plans * width->rewrites > TUNE_MAX_LANES)
        return err_set(err, ERR_USAGE, "%s are %d lanes at once; at most %d", text,
                       width->parents * width->plans * width->rewrites, TUNE_MAX_LANES);
    return (ok && count) ||
           err_set(err, ERR_USAGE,
                   "there is no search \"%.60s\"; there is greedy, beam, and "
                   "beam:PARENTS,PLANS,REWRITES with up to 64, 64 and 16, as beam:4,4,2",
                   text);
}

static struct tune_width width_usual(const struct config *config) {
    return (struct tune_width){(int)config_number(config, "search", "parents"),
                               (int)config_number(config, "search", "plans"),
                               (int)config_number(config, "search", "rewrites")};
}

static bool is_beam(const struct tune_width *width) {
    return width->parents > 1 || width->plans > 1 || width->rewrites > 1;
}

/* Where the values of a new session come from. */
struct source {
    const struct tune_options *options;
    cJSON *payload, *origins;
};

static void origin_put(const struct source *source, const char *name,
                       const struct config_origin *origin) {
    struct buf text = {0};
    if (origin)
        config_origin_print(origin, &text);
    else
        buf_printf(&text, "--%s", name);
    tune_json_put_text(source->origins, name, text.at);
    buf_free(&text);
}

/* The value as text: given on the command line, else from [defaults]. NULL: neither. */
static const char *value_of(const struct source *source, const char *name, const char *given) {
    struct config_origin origin;
    const char *set = config_get(source->options->config, "defaults", name, &origin);
    origin_put(source, name, given ? NULL : &origin);
    return given ? given : set;
}

static void text_put(const struct source *source, const char *name, const char *given) {
    tune_json_put_text(source->payload, name, value_of(source, name, given));
}

/* A number; the option's own when it is set. */
static void number_put(const struct source *source, const char *name, double given) {
    const char *set = value_of(source, name, given > 0 ? "" : NULL);
    double value = given > 0 ? given : (double)NAN;
    if (given > 0 || !set || !str_to_double(str_of(set), &value))
        set = NULL;
    tune_json_put_number(source->payload, name, value);
}

static void keep_put(const struct source *source) {
    struct config_origin origin;
    const struct config *config = source->options->config;
    double keep = TUNE_MENU_KEEP;
    const char *set = config_get(config, "search", "menu_keep", &origin);
    origin_put(source, "menu_keep", &origin);
    if (!set || !str_to_double(str_of(set), &keep))
        keep = TUNE_MENU_KEEP;
    tune_json_put_number(source->payload, "menu_keep", keep);
}

/* What a host or a cluster is said to be, unless a person asks for something else. */
static void device_put(const struct source *source, const char *target) {
    static const char *const kinds[] = {"host", "cluster"};
    struct config_origin origin = {CONFIG_PRESET, NULL, 0};
    const char *device = source->options->device;
    const struct config *config = source->options->config;
    bool given = device != NULL;
    if (!device)
        device = config_get(config, "defaults", "device", &origin);
    for (size_t i = 0; !device && i < COUNT_OF(kinds); i++) {
        struct buf section = {0};
        buf_printf(&section, "%s %s", kinds[i], target);
        if (config_has(config, section.at))
            device = config_get(config, section.at, "device", &origin);
        buf_free(&section);
    }
    origin_put(source, "device", given ? NULL : &origin);
    tune_json_put_text(source->payload, "device", device_name(device));
}

/* How many of its widths a search names itself. */
static size_t numbers_said(const char *search) {
    const char *at = search ? strchr(search, ':') : NULL;
    size_t count = at ? 1 : 0;
    while (at && (at = strchr(at + 1, ',')))
        count++;
    return count;
}

static struct tune_width search_put(const struct source *source, const char *search) {
    struct tune_width width;
    struct err ignored = {0};
    tune_json_put_text(source->payload, "search", search);
    search_read(search, width_usual(source->options->config), &width, &ignored);
    cJSON *object = cJSON_AddObjectToObject(source->payload, "width");
    const struct {
        const char *name;
        int value;
    } widths[] = {{"parents", width.parents}, {"plans", width.plans}, {"rewrites", width.rewrites}};
    size_t said = numbers_said(search);
    for (size_t i = 0; i < COUNT_OF(widths); i++) {
        struct config_origin origin;
        cJSON_AddNumberToObject(object, widths[i].name, widths[i].value);
        config_get(source->options->config, "search", widths[i].name, &origin);
        if (is_beam(&width) && i >= said) /* the others come with the search itself */
            origin_put(source, widths[i].name, &origin);
    }
    return width;
}

static void gates_write(cJSON *payload, bool all, enum tune_gate gate) {
    cJSON *gates = cJSON_AddObjectToObject(payload, "gates");
    for (int i = 0; i < TUNE_STEPS; i++)
        tune_json_put_text(gates, tune_step_word((enum tune_step)i),
                           tune_gate_word(all ? gate : default_gates[i]));
}

static void gates_put(const struct source *source) {
    enum tune_gate gate = source->options->gate;
    const char *set = value_of(source, "gate", source->options->gate_set ? "" : NULL);
    bool all = source->options->gate_set || (set && tune_gate_find(set, &gate));
    gates_write(source->payload, all, gate);
}

/* Limits: on the command line as tune_budget_option names them, in [budgets] as rows[] does. */
static const struct {
    enum tune_budget budget;
    const char *key;
} limits[] = {{TUNE_BUDGET_WALL_S, "wall_s"},
              {TUNE_BUDGET_DEVICE_S, "device_s"},
              {TUNE_BUDGET_TOKENS, "tokens"},
              {TUNE_BUDGET_DOLLARS, "dollars"}};

static void limits_put(const struct source *source) {
    cJSON *object = cJSON_AddObjectToObject(source->payload, "limits");
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        enum tune_budget budget = limits[i].budget;
        double value = source->options->limits[budget];
        struct config_origin origin;
        const char *set = config_get(source->options->config, "budgets", limits[i].key, &origin);
        bool given = value > 0;
        if (!given && (!set || !str_to_double(str_of(set), &value)))
            continue;
        tune_json_put_number(object, tune_budget_word(budget), value);
        origin_put(source, tune_budget_option(budget), given ? NULL : &origin);
    }
}

/* So much more than is spent already. */
static void limits_raise(const struct source *source, const struct tune_state *state) {
    cJSON *object = cJSON_AddObjectToObject(source->payload, "limits");
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        enum tune_budget budget = limits[i].budget;
        double spent = tune_budget_spent(state, budget), more = source->options->limits[budget];
        if (!(more > 0))
            continue;
        tune_json_put_number(object, tune_budget_word(budget), more + (isnan(spent) ? 0 : spent));
        origin_put(source, tune_budget_option(budget), NULL);
    }
    if (!object->child)
        cJSON_DeleteItemFromObject(source->payload, "limits");
}

/* Only where it is set: asking is what happens anyway. */
static void seed_names_put(const struct source *source) {
    struct config_origin origin;
    const char *set = config_get(source->options->config, "defaults", "seed_names", &origin);
    if (!set || strcmp(set, "yes") != 0)
        return;
    tune_json_put_text(source->payload, "seed_names", set);
    origin_put(source, "seed_names", &origin);
}

bool tune_options_begin(cJSON *payload, const struct tune_options *options, struct err *err) {
    struct source source = {options, payload, cJSON_CreateObject()};
    text_put(&source, "target", options->target);
    device_put(&source, cJSON_GetStringValue(cJSON_GetObjectItem(payload, "target")));
    text_put(&source, "proposer", options->proposer);
    const char *search = value_of(&source, "search", options->search);
    struct tune_width width = search_put(&source, search);
    text_put(&source, "precision", options->precision);
    seed_names_put(&source);
    number_put(&source, "tolerance", options->tolerance);
    number_put(&source, "rounds", options->rounds);
    if (isnan(tune_json_number(payload, "rounds"))) {
        cJSON_DeleteItemFromObject(payload, "rounds");
        cJSON_AddNumberToObject(payload, "rounds", is_beam(&width) ? ROUNDS_BEAM : ROUNDS);
    }
    keep_put(&source);
    limits_put(&source);
    gates_put(&source);
    const char *seeds = value_of(&source, "seeds", options->seeds);
    cJSON_AddItemToObject(payload, "origins", source.origins);
    return seeds_put(payload, seeds, err);
}

bool tune_options_change(cJSON *payload, const struct tune_state *state,
                         const struct tune_options *options, struct err *err) {
    const struct {
        const char *name, *value;
    } texts[] = {{"precision", options->precision},
                 {"proposer", options->proposer},
                 {"target", options->target},
                 {"device", options->device}};
    struct source source = {options, payload, cJSON_CreateObject()};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        if (!texts[i].value)
            continue;
        tune_json_put_text(payload, texts[i].name, texts[i].value);
        origin_put(&source, texts[i].name, NULL);
    }
    if (options->search) {
        search_put(&source, options->search);
        origin_put(&source, "search", NULL);
    }
    if (options->gate_set) {
        gates_write(payload, true, options->gate);
        origin_put(&source, "gate", NULL);
    }
    if (options->tolerance > 0) {
        tune_json_put_number(payload, "tolerance", options->tolerance);
        origin_put(&source, "tolerance", NULL);
    }
    limits_raise(&source, state);
    if (options->rounds > 0)
        origin_put(&source, "rounds", NULL);
    if (options->seeds)
        origin_put(&source, "seeds", NULL);
    if (source.origins->child)
        cJSON_AddItemToObject(payload, "origins", source.origins);
    else
        cJSON_Delete(source.origins);
    return !options->seeds || seeds_put(payload, options->seeds, err);
}

bool tune_options_check(const struct tune_options *options, struct err *err) {
    cJSON *unused = cJSON_CreateObject();
    bool ok = seeds_put(unused, options->seeds, err) &&
              seeds_put(unused, config_get(options->config, "defaults", "seeds", NULL), err);
    struct tune_width width, usual = width_usual(options->config);
    ok = ok && search_read(options->search, usual, &width, err) &&
         search_read(config_get(options->config, "defaults", "search", NULL), usual, &width, err);
    cJSON_Delete(unused);
    return ok;
}
