/* SPDX-License-Identifier: Apache-2.0 */
/* The values a session begins with, and where each came from: the command line, the configuration,
 * or the default. A session that exists keeps its own; only what is given on the command line
 * changes it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "device/device.h"
#include "nki/nki.h"
#include "tune/drive/private.h"
#include "tune/ask/ask.h"
#include "tune/sums/sums.h"

#define ROUNDS 50
#define ROUNDS_BEAM 10

static const enum tune_gate default_gates[TUNE_STEPS] = {
    [TUNE_STEP_PROFILE] = TUNE_GATE_AUTO,   [TUNE_STEP_PLAN] = TUNE_GATE_ASK,
    [TUNE_STEP_REWRITE] = TUNE_GATE_ASK,    [TUNE_STEP_VERIFY] = TUNE_GATE_AUTO_GREEN,
    [TUNE_STEP_BENCHMARK] = TUNE_GATE_AUTO, [TUNE_STEP_DECIDE] = TUNE_GATE_ASK,
    [TUNE_STEP_SUMMARISE] = TUNE_GATE_AUTO, [TUNE_STEP_REFLECT] = TUNE_GATE_AUTO};

/* "0,21,42" as numbers; false with *err for anything else. */
static bool seeds_read(const char *text, int64_t *seeds, size_t *count, struct err *err) {
    struct str rest = str_of(text), one;
    *count = 0;
    while (str_next(&rest, ',', &one)) {
        long long seed;
        if (!str_to_int(str_trim(one), &seed) || seed < 0 || *count >= TASK_MAX_SEEDS)
            return err_set(
                err, ERR_USAGE,
                "seeds are up to %d numbers from 0, separated by commas, as 0,21,42; not \"%.80s\"",
                TASK_MAX_SEEDS, text);
        seeds[(*count)++] = seed;
    }
    if (!*count)
        return err_set(err, ERR_USAGE, "there are no seeds: give at least one, as 0");
    return true;
}

static bool seeds_put(struct tune_event_session *session, struct arena *arena, const char *text,
                      struct err *err) {
    static const int64_t usual[] = TASK_SEEDS;
    int64_t seeds[TASK_MAX_SEEDS];
    size_t count = 0;
    session->seeds = (struct tune_longs){usual, COUNT_OF(usual), true};
    if (!text)
        return true;
    if (!seeds_read(text, seeds, &count, err))
        return false;
    session->seeds =
        (struct tune_longs){arena_dup(arena, seeds, count * sizeof *seeds), count, true};
    return true;
}

/* "greedy", "beam" or "beam:4,4,2" as widths; `usual` for a beam that names none. */
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
    struct tune_event_session *session; /* what is to be written down */
    struct arena *arena;                /* of its texts and lists */
    VEC(struct tune_named) origins;
};

/* Adds a value to a list of values by name, in the form of the event. */
static struct tune_by_name named_keep(struct arena *arena, const struct tune_named *rows,
                                      size_t count) {
    return (struct tune_by_name){arena_dup(arena, rows, count * sizeof *rows), count, true};
}

/* All that was noted about origins, as text of the event; nothing when there is nothing. */
static void origins_end(struct source *source) {
    source->session->origins = named_keep(source->arena, source->origins.at, source->origins.len);
    source->session->origins.given = source->origins.len > 0;
    vec_free(&source->origins);
}

static void origin_put(struct source *source, const char *name,
                       const struct config_origin *origin) {
    struct buf text = {0};
    if (origin)
        config_origin_print(origin, &text);
    else
        buf_printf(&text, "--%s", name);
    *vec_push(&source->origins) =
        (struct tune_named){.name = name, .text = arena_strdup(source->arena, text.at)};
    buf_free(&text);
}

/* The value as text: given on the command line, else from [defaults]. NULL: neither. */
static const char *value_of(struct source *source, const char *name, const char *given) {
    struct config_origin origin;
    const char *set = config_get(source->options->config, "defaults", name, &origin);
    origin_put(source, name, given ? NULL : &origin);
    return given ? given : set;
}

/* A number; the option's own when it is set. */
static double number_of(struct source *source, const char *name, double given) {
    const char *set = value_of(source, name, given > 0 ? "" : NULL);
    double value = given > 0 ? given : (double)NAN;
    if (given > 0 || !set || !str_to_double(str_of(set), &value))
        set = NULL;
    return value;
}

static void keep_put(struct source *source) {
    struct config_origin origin;
    const struct config *config = source->options->config;
    double keep = TUNE_MENU_KEEP;
    const char *set = config_get(config, "search", "menu_keep", &origin);
    origin_put(source, "menu_keep", &origin);
    if (!set || !str_to_double(str_of(set), &keep))
        keep = TUNE_MENU_KEEP;
    source->session->menu_keep = keep;
}

/* The device that the host's or the cluster's section names, unless a person asks for another
 * one. */
static void device_put(struct source *source) {
    const char *target = source->session->target;
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
    source->session->device = device_name(device);
}

/* How many of its widths a search names. */
static size_t numbers_said(const char *search) {
    const char *at = search ? strchr(search, ':') : NULL;
    size_t count = at ? 1 : 0;
    while (at && (at = strchr(at + 1, ',')))
        count++;
    return count;
}

static struct tune_width search_put(struct source *source, const char *search) {
    struct tune_width width;
    struct err ignored = {0};
    search_read(search, width_usual(source->options->config), &width, &ignored);
    source->session->search = search;
    source->session->width = arena_dup(source->arena, &width, sizeof width);
    static const char *const widths[] = {"parents", "plans", "rewrites"};
    size_t said = numbers_said(search);
    for (size_t i = 0; i < COUNT_OF(widths); i++) {
        struct config_origin origin;
        config_get(source->options->config, "search", widths[i], &origin);
        if (is_beam(&width) && i >= said) /* the other widths come with the search itself */
            origin_put(source, widths[i], &origin);
    }
    return width;
}

static void gates_write(const struct source *source, bool all, enum tune_gate gate) {
    struct tune_named gates[TUNE_STEPS];
    for (int i = 0; i < TUNE_STEPS; i++)
        gates[i] = (struct tune_named){.name = tune_step_word((enum tune_step)i),
                                       .text = tune_gate_word(all ? gate : default_gates[i])};
    source->session->gates = named_keep(source->arena, gates, TUNE_STEPS);
}

static void gates_put(struct source *source) {
    enum tune_gate gate = source->options->gate;
    const char *set = value_of(source, "gate", source->options->gate_set ? "" : NULL);
    bool all = source->options->gate_set || (set && tune_gate_find(set, &gate));
    gates_write(source, all, gate);
}

/* Limits: on the command line as tune_budget_option names them, in [budgets] as rows[] does. */
static const struct {
    enum tune_budget budget;
    const char *key;
} limits[] = {{TUNE_BUDGET_WALL_S, "wall_s"},
              {TUNE_BUDGET_DEVICE_S, "device_s"},
              {TUNE_BUDGET_TOKENS, "tokens"},
              {TUNE_BUDGET_DOLLARS, "dollars"}};

static void limits_put(struct source *source) {
    struct tune_named rows[COUNT_OF(limits)];
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        enum tune_budget budget = limits[i].budget;
        double value = source->options->limits[budget];
        struct config_origin origin;
        const char *set = config_get(source->options->config, "budgets", limits[i].key, &origin);
        bool given = value > 0;
        if (!given && (!set || !str_to_double(str_of(set), &value)))
            continue;
        rows[count++] = (struct tune_named){.name = tune_budget_word(budget), .number = value};
        origin_put(source, tune_budget_option(budget), given ? NULL : &origin);
    }
    source->session->limits = named_keep(source->arena, rows, count);
}

/* A limit: so much more than is spent already. */
static void limits_raise(struct source *source, const struct tune_state *state) {
    struct tune_named rows[COUNT_OF(limits)];
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        enum tune_budget budget = limits[i].budget;
        double spent = tune_budget_spent(state, budget), more = source->options->limits[budget];
        if (!(more > 0))
            continue;
        rows[count++] = (struct tune_named){.name = tune_budget_word(budget),
                                            .number = more + (isnan(spent) ? 0 : spent)};
        origin_put(source, tune_budget_option(budget), NULL);
    }
    source->session->limits = named_keep(source->arena, rows, count);
    source->session->limits.given = count > 0;
}

void tune_options_run(struct tune_event_run *event, struct arena *arena,
                      const struct tune_state *state, const struct tune_run *run) {
    struct tune_named gates[TUNE_STEPS], limit[TUNE_BUDGETS];
    size_t count = 0;
    for (int i = 0; i < TUNE_STEPS; i++)
        gates[i] = (struct tune_named){.name = tune_step_word((enum tune_step)i),
                                       .text = tune_gate_word(run->gate)};
    for (int i = 0; i < TUNE_BUDGETS; i++) {
        double spent = tune_budget_spent(state, (enum tune_budget)i);
        if (run->limits[i] > 0)
            limit[count++] =
                (struct tune_named){.name = tune_budget_word((enum tune_budget)i),
                                    .number = run->limits[i] + (isnan(spent) ? 0 : spent)};
    }
    event->gates = named_keep(arena, gates, run->gate_set ? TUNE_STEPS : 0);
    event->limits = named_keep(arena, limit, count);
    event->gates.given = run->gate_set;
    event->limits.given = count > 0;
}

/* Only where it is set: asking is what happens anyway. */
static void seed_names_put(struct source *source) {
    struct config_origin origin;
    const char *set = config_get(source->options->config, "defaults", "seed_names", &origin);
    if (!set || strcmp(set, "yes") != 0)
        return;
    source->session->seed_names = set;
    origin_put(source, "seed_names", &origin);
}

/* Only where it is so. */
static void pessimistic_put(struct source *source) {
    struct config_origin origin;
    const char *set = config_get(source->options->config, "search", "pessimistic", &origin);
    bool given = source->options->pessimistic;
    if (!given && (!set || strcmp(set, "yes") != 0))
        return;
    source->session->pessimistic = "yes";
    origin_put(source, "pessimistic", given ? NULL : &origin);
}

/* Only where it is said. */
static void lnc_put(struct source *source) {
    struct config_origin origin;
    double cores = source->options->lnc;
    const char *set = config_get(source->options->config, "defaults", "lnc", &origin);
    bool given = cores > 0;
    if (!given && (!set || !str_to_double(str_of(set), &cores)))
        return;
    source->session->lnc = (int)cores;
    origin_put(source, "lnc", given ? NULL : &origin);
}

/* Only where it is not hone. */
static void tracing_put(struct source *source) {
    struct config_origin origin = {CONFIG_PRESET, NULL, 0};
    const char *given = source->options->tracing;
    const char *who =
        given ? given : config_get(source->options->config, "defaults", "tracing", &origin);
    if (!who || strcmp(who, "python3") != 0)
        return;
    source->session->tracing = "python3";
    origin_put(source, "tracing", given ? NULL : &origin);
}

/* Only where it is said: on the command line, in the host's or the cluster's section, in
 * [defaults]. Otherwise it follows what the target has. */
static bool release_put(struct source *source, struct err *err) {
    static const char *const kinds[] = {"host", "cluster"};
    struct config_origin origin = {CONFIG_PRESET, NULL, 0};
    const char *release = source->options->release;
    bool given = release != NULL;
    for (size_t i = 0; !release && i < COUNT_OF(kinds); i++) {
        struct buf section = {0};
        buf_printf(&section, "%s %s", kinds[i], source->session->target);
        if (config_has(source->options->config, section.at))
            release = config_get(source->options->config, section.at, "release", &origin);
        buf_free(&section);
    }
    if (!release)
        release = config_get(source->options->config, "defaults", "release", &origin);
    if (!release)
        return true;
    source->session->release = nki_release_find(release);
    origin_put(source, "release", given ? NULL : &origin);
    return source->session->release ||
           err_set(err, ERR_USAGE,
                   "there is no release %.20s of the package nki; there is %s to %s", release,
                   "0.1", nki_release_newest());
}

bool tune_options_begin(struct tune_event_session *session, struct arena *arena,
                        const struct tune_options *options, struct err *err) {
    struct source source = {.options = options, .session = session, .arena = arena};
    session->target = value_of(&source, "target", options->target);
    device_put(&source);
    session->proposer = value_of(&source, "proposer", options->proposer);
    struct tune_width width = search_put(&source, value_of(&source, "search", options->search));
    session->precision = value_of(&source, "precision", options->precision);
    seed_names_put(&source);
    pessimistic_put(&source);
    lnc_put(&source);
    tracing_put(&source);
    bool ok = release_put(&source, err);
    session->tolerance = number_of(&source, "tolerance", options->tolerance);
    double rounds = number_of(&source, "rounds", options->rounds);
    session->rounds = !isnan(rounds) ? (int)rounds : is_beam(&width) ? ROUNDS_BEAM : ROUNDS;
    keep_put(&source);
    limits_put(&source);
    gates_put(&source);
    const char *seeds = value_of(&source, "seeds", options->seeds);
    origins_end(&source);
    return ok && seeds_put(session, arena, seeds, err);
}

bool tune_options_change(struct tune_event_session *session, struct arena *arena,
                         const struct tune_state *state, const struct tune_options *options,
                         struct err *err) {
    const struct {
        const char *name, *value, **place;
    } texts[] = {{"precision", options->precision, &session->precision},
                 {"proposer", options->proposer, &session->proposer},
                 {"target", options->target, &session->target},
                 {"device", options->device, &session->device},
                 {"kernel-name", options->function, &session->function}};
    struct source source = {.options = options, .session = session, .arena = arena};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        if (!texts[i].value)
            continue;
        *texts[i].place = texts[i].value;
        origin_put(&source, texts[i].name, NULL);
    }
    if (options->search) {
        search_put(&source, options->search);
        origin_put(&source, "search", NULL);
    }
    if (options->gate_set) {
        gates_write(&source, true, options->gate);
        origin_put(&source, "gate", NULL);
    }
    if (options->tolerance > 0) {
        session->tolerance = options->tolerance;
        origin_put(&source, "tolerance", NULL);
    }
    limits_raise(&source, state);
    if (options->rounds > 0)
        origin_put(&source, "rounds", NULL);
    if (options->seeds)
        origin_put(&source, "seeds", NULL);
    origins_end(&source);
    return !options->seeds || seeds_put(session, arena, options->seeds, err);
}

bool tune_options_check(const struct tune_options *options, struct err *err) {
    const char *const seeds[] = {options->seeds,
                                 config_get(options->config, "defaults", "seeds", NULL)};
    int64_t unused[TASK_MAX_SEEDS];
    size_t count;
    bool ok = true;
    for (size_t i = 0; ok && i < COUNT_OF(seeds); i++)
        ok = !seeds[i] || seeds_read(seeds[i], unused, &count, err);
    struct tune_width width, usual = width_usual(options->config);
    ok = ok && search_read(options->search, usual, &width, err) &&
         search_read(config_get(options->config, "defaults", "search", NULL), usual, &width, err);
    return ok;
}
