/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path in short. It is a row of symbols, one for each place of the source. A stretch
 * that comes several times in a row is replaced by a symbol of its own, and the same once more, so
 * that loops within loops fold, too. What is left is summed by symbol. */
#include "device/causes/private.h"

#include <stdlib.h>

#define MOST_LEGS 48u /* in what repeats */
#define MOST_DEPTH 3  /* loops within loops */

struct step {
    uint32_t symbol;
    double ns, held_ns;
};
/* A place, or parts that come several times in a row; how often may differ. */
struct symbol {
    uint32_t row;          /* of a place: the row of the trace that most of its steps are of */
    uint32_t first, count; /* parts; count 0: it is a place */
    uint64_t seen, turns;  /* how often it is there; how often its parts come in all of that */
};
struct part {
    uint32_t symbol;
    double ns, held_ns; /* over all turns of all that is seen of the symbol */
};
struct folder {
    const struct time_trace *trace;
    struct device_causes *causes;
    struct map index; /* from what a symbol is to its number + 1 */
    VEC(struct symbol) symbols;
    VEC(struct part) parts;
    struct step *steps;
    size_t count;
};

/* ---- symbols -------------------------------------------------------------------------------- */

/* The number of a symbol by what it is; a new one is empty. */
static uint32_t intern(struct folder *folder, const void *key, size_t bytes) {
    struct map_entry *entry = map_put(&folder->index, (struct str){key, bytes});
    if (!entry->value) {
        *vec_push(&folder->symbols) = (struct symbol){0};
        entry->value = (void *)(uintptr_t)folder->symbols.len;
    }
    return (uint32_t)(uintptr_t)entry->value - 1;
}

/* The symbol of each row's place. */
static uint32_t *intern_places(struct folder *folder) {
    const struct time_trace *trace = folder->trace;
    uint32_t *of_row = mem_alloc(trace->rows.len + 1, sizeof *of_row);
    for (uint32_t r = 0; r < trace->rows.len; r++) {
        const struct time_row *row = &trace->rows.at[r];
        size_t before = folder->symbols.len;
        if (!row->steps)
            continue;
        of_row[r] = intern(folder, &row->key.place, sizeof row->key.place);
        struct symbol *symbol = &folder->symbols.at[of_row[r]];
        if (folder->symbols.len > before || row->steps > trace->rows.at[symbol->row].steps)
            symbol->row = r;
    }
    return of_row;
}

static void take_path(struct folder *folder) {
    const struct time_trace *trace = folder->trace;
    uint32_t *of_row = intern_places(folder);
    folder->steps = mem_alloc(trace->path.len + trace->rows.len + 1, sizeof *folder->steps);
    for (size_t i = 0; i < trace->path.len; i++) {
        const struct time_step *step = &trace->path.at[i];
        if (step->held_ns + step->run_ns > 0)
            folder->steps[folder->count++] =
                (struct step){of_row[step->row], step->held_ns + step->run_ns, step->held_ns};
    }
    free(of_row);
}

/* ---- what repeats --------------------------------------------------------------------------- */

/* How many of the steps from `at` on are those of `period` steps before them, behind `at +
 * period`. */
static size_t alike_from(const struct folder *folder, size_t at, size_t period) {
    const struct step *steps = folder->steps;
    size_t i = at + period;
    while (i < folder->count && steps[i].symbol == steps[i - period].symbol)
        i++;
    return i - at - period;
}

/* The period that explains most of what follows, in *times turns; 0: nothing repeats here. */
static size_t best_period(const struct folder *folder, size_t at, size_t *times) {
    size_t best = 0, covered = 0, left = folder->count - at;
    for (size_t period = 1; period <= MOST_LEGS && 2 * period <= left; period++) {
        if (best && period % best == 0)
            continue;
        size_t turns = alike_from(folder, at, period) / period + 1;
        if (turns < 2 || turns * period <= covered)
            continue;
        best = period;
        *times = turns;
        covered = turns * period;
    }
    return best;
}

static struct step fold_here(struct folder *folder, size_t at, size_t period, size_t times) {
    const struct step *steps = &folder->steps[at];
    uint64_t key[MOST_LEGS + 1] = {period}; /* longer than a place */
    struct step all = {0};
    for (size_t i = 0; i < period; i++)
        key[i + 1] = steps[i].symbol;
    all.symbol = intern(folder, key, (period + 1) * sizeof *key);
    struct symbol *symbol = &folder->symbols.at[all.symbol];
    if (!symbol->count) {
        symbol->first = (uint32_t)folder->parts.len;
        symbol->count = (uint32_t)period;
        for (size_t i = 0; i < period; i++)
            *vec_push(&folder->parts) = (struct part){.symbol = steps[i].symbol};
    }
    symbol->seen++;
    symbol->turns += times;
    for (size_t i = 0; i < period * times; i++) {
        struct part *part = &folder->parts.at[symbol->first + i % period];
        part->ns += steps[i].ns;
        part->held_ns += steps[i].held_ns;
        all.ns += steps[i].ns;
        all.held_ns += steps[i].held_ns;
    }
    return all;
}

/* Whether something was folded. */
static bool fold_once(struct folder *folder) {
    size_t out = 0, before = folder->count;
    for (size_t at = 0; at < before;) {
        size_t times = 0, period = best_period(folder, at, &times);
        struct step step = period ? fold_here(folder, at, period, times) : folder->steps[at];
        at += period ? period * times : 1;
        folder->steps[out++] = step;
    }
    folder->count = out;
    return out < before;
}

/* ---- legs ----------------------------------------------------------------------------------- */

static struct device_leg leg_of_place(const struct folder *folder, const struct symbol *symbol) {
    const struct time_key *key = &folder->trace->rows.at[symbol->row].key;
    return (struct device_leg){.spot = causes_spot(folder->trace, &key->place),
                               .times = 1,
                               .wait = key->wait,
                               .cause = causes_spot(folder->trace, &key->cause)};
}

/* What the parts of a symbol take of a turn that takes `ns`, relative to what they take on average
 * of all turns: what repeats may come in several legs, and take more in one of them. */
static double scale_of(const struct folder *folder, const struct symbol *symbol, double ns) {
    double all = 0;
    for (uint32_t i = 0; i < symbol->count; i++)
        all += folder->parts.at[symbol->first + i].ns;
    return all > 0 ? ns * (double)symbol->turns / all : 1;
}

/* Puts the leg of a symbol at `at`; what it takes is told by who asks. */
static void put_leg(struct folder *folder, uint32_t at, uint32_t number, double ns,
                    double held_ns) {
    const struct symbol *symbol = &folder->symbols.at[number];
    struct device_causes *causes = folder->causes;
    double turns = (double)symbol->turns;
    struct device_leg leg = {.times = turns / (double)MAX_OF(symbol->seen, (uint64_t)1)};
    if (!symbol->count)
        leg = leg_of_place(folder, symbol);
    leg.us = ns / leg.times / 1e3;
    leg.held_us = held_ns / leg.times / 1e3;
    leg.first = (uint32_t)causes->legs.len;
    leg.count = symbol->count;
    for (uint32_t i = 0; i < leg.count; i++)
        (void)vec_push(&causes->legs);
    double scale = scale_of(folder, symbol, leg.us * 1e3);
    for (uint32_t i = 0; i < leg.count; i++) {
        const struct part *part = &folder->parts.at[symbol->first + i];
        put_leg(folder, leg.first + i, part->symbol, scale * part->ns / turns,
                scale * part->held_ns / turns);
    }
    causes->legs.at[at] = leg;
}

static int by_us(const void *a, const void *b) {
    const struct device_segment *x = a, *y = b;
    if (x->us != y->us)
        return x->us > y->us ? -1 : 1;
    return x->leg < y->leg ? -1 : x->leg > y->leg;
}

static void put_segments(struct folder *folder) {
    struct device_causes *causes = folder->causes;
    struct step *sums = mem_alloc(folder->symbols.len + 1, sizeof *sums);
    uint64_t *times = mem_alloc(folder->symbols.len + 1, sizeof *times);
    for (size_t i = 0; i < folder->count; i++) {
        const struct step *step = &folder->steps[i];
        sums[step->symbol].ns += step->ns;
        sums[step->symbol].held_ns += step->held_ns;
        times[step->symbol]++;
    }
    for (uint32_t s = 0; s < folder->symbols.len; s++) {
        uint32_t leg = (uint32_t)causes->legs.len;
        if (!times[s])
            continue;
        (void)vec_push(&causes->legs);
        put_leg(folder, leg, s, sums[s].ns / (double)times[s], sums[s].held_ns / (double)times[s]);
        *vec_push(&causes->segments) = (struct device_segment){leg, times[s], sums[s].ns / 1e3};
    }
    free(sums);
    free(times);
    if (causes->segments.len)
        qsort(causes->segments.at, causes->segments.len, sizeof *causes->segments.at, by_us);
}

/* What the path has no steps of, because it is too long. */
static void add_rest(struct folder *folder) {
    double ns = folder->trace->latency_ns;
    for (size_t i = 0; i < folder->count; i++)
        ns -= folder->steps[i].ns;
    if (folder->trace->path.len < TIME_MOST_STEPS || ns <= 0)
        return;
    struct device_leg leg = {.spot = {.op = "", .lane = ""}, .times = 1, .us = ns / 1e3};
    leg.first = leg.count = 0;
    *vec_push(&folder->causes->legs) = leg;
    *vec_push(&folder->causes->segments) =
        (struct device_segment){(uint32_t)folder->causes->legs.len - 1, 1, ns / 1e3};
}

void causes_fold(const struct time_trace *trace, struct device_causes *causes) {
    struct folder folder = {.trace = trace, .causes = causes};
    take_path(&folder);
    add_rest(&folder);
    for (int depth = 0; depth < MOST_DEPTH && fold_once(&folder); depth++) {
    }
    put_segments(&folder);
    map_free(&folder.index);
    vec_free(&folder.symbols);
    vec_free(&folder.parts);
    free(folder.steps);
}
