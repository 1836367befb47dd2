/* SPDX-License-Identifier: Apache-2.0 */
/* The search: a schedule climbs from choice to choice, in the kernel's order, and tries every value
 * of each. A value that brings other choices, or takes some away, is worth what those make of it:
 * before it is judged, the choices of the stages that it changed are tried with it. When a whole
 * turn brings nothing, pairs of choices of one stage are tried together, then the best schedules
 * that have other choices are climbed from. */
#include "schedule/private.h"

#include <stdlib.h>

#define REACH 1.05 /* slower by more, a value is not tried with the choices that it brings */
#define GAIN 0.99  /* slower, nor are other values of a choice of which one was tried so */
#define RIVALS 4   /* schedules with other choices that are climbed from at most */
#define AT_ONCE 4  /* schedules, at least, that are judged together */
#define DEEPEST 3  /* choices that bring choices, one within the other */

bool search_is_better(double us, double before_us) {
    return us > 0 && (before_us <= 0 || us < before_us * (1 - SEARCH_SAME));
}

bool search_goes_on(const struct search *search) {
    return search->judged < search->budget && !search_is_cancelled(search);
}

bool search_is_persons(const struct search *search, const char *key) {
    const struct write_spec *spec = &search->request->spec;
    for (size_t i = 0; i < spec->setting_count; i++)
        if (strcmp(spec->settings[i].key, key) == 0)
            return true;
    return false;
}

static bool same_stage(const char *a, const char *b) {
    size_t length = strcspn(a, ".");
    return strcspn(b, ".") == length && strncmp(a, b, length) == 0;
}

static bool has_key(const key_vec *keys, const char *key) {
    for (size_t i = 0; i < keys->len; i++)
        if (strcmp(keys->at[i], key) == 0)
            return true;
    return false;
}

void points_drop(point_vec *points) {
    for (size_t i = 0; i < points->len; i++)
        point_drop(&points->at[i]);
    points->len = 0;
}

/* ---- a climb --------------------------------------------------------------------------------- */

struct climb {
    struct search *search;
    struct point at;
    const key_vec *stages; /* a choice of each stage whose choices are tried; NULL: of all */
    key_vec decided;       /* on the way here: they stay */
    key_vec tried;
    key_vec since; /* tried since it became better by more than nothing */
    int depth;
};

static void go_up(struct climb *climb);

static bool has_stage(const key_vec *keys, const char *key) {
    for (size_t i = 0; i < keys->len; i++)
        if (same_stage(keys->at[i], key))
            return true;
    return false;
}

static bool is_wanted(const struct climb *climb, const char *key) {
    return (!climb->stages || has_stage(climb->stages, key)) && !has_key(&climb->tried, key) &&
           !has_key(&climb->decided, key) && !search_is_persons(climb->search, key);
}

void search_add_values(struct search *search, const struct point *from, const char *key,
                       point_vec *fresh) {
    const struct write_choice *choice = point_choice(from, key);
    for (int i = 0; choice && i < choice->count; i++)
        if (choice->values[i] != choice->value)
            *vec_push(fresh) = point_with(search, from, key, choice->values[i]);
}

/* The next choices with all their values: which there are follows from the values of others. */
static bool gather(struct climb *climb, point_vec *fresh) {
    const struct written *written = climb->at.written;
    fresh->len = 0;
    for (size_t i = 0; written && i < written->choices.len && fresh->len < AT_ONCE; i++) {
        if (!is_wanted(climb, written->choices.at[i].key))
            continue;
        const char *key = arena_strdup(climb->search->arena, written->choices.at[i].key);
        *vec_push(&climb->tried) = key;
        *vec_push(&climb->since) = key;
        search_add_values(climb->search, &climb->at, key, fresh);
    }
    return fresh->len > 0;
}

/* A choice of each stage in which some came or went. */
static void find_changed(struct search *search, const struct point *a, const struct point *b,
                         key_vec *stages) {
    for (int i = 0; i < 2; i++) {
        const struct point *from = i ? b : a, *other = i ? a : b;
        for (size_t k = 0; from->written && k < from->written->choices.len; k++) {
            const char *key = from->written->choices.at[k].key;
            if (!point_choice(other, key) && !has_stage(stages, key))
                *vec_push(stages) = arena_strdup(search->arena, key);
        }
    }
}

static void free_climb(struct climb *climb) {
    vec_free(&climb->decided);
    vec_free(&climb->tried);
    vec_free(&climb->since);
}

/* Whether a value is worth being tried with the choices that it changed, of several values that are
 * in order of worth. */
static bool is_in_reach(const struct climb *climb, const point_vec *fresh, size_t which) {
    const struct point *point = &fresh->at[which];
    double at_us = climb->at.latency_us;
    if (at_us <= 0 || point->latency_us <= 0)
        return point->latency_us > 0;
    for (size_t i = 0; i < which; i++)
        if (fresh->at[i].tried && strcmp(fresh->at[i].key, point->key) == 0)
            return point->latency_us < at_us * GAIN;
    return point->latency_us < at_us * (climb->depth ? 1 : REACH);
}

/* Goes on from a value with the choices of the stages that it changed. */
static void follow(const struct climb *climb, struct point *point) {
    struct search *search = climb->search;
    key_vec stages = {0};
    if (climb->depth < DEEPEST && point->shape != climb->at.shape)
        find_changed(search, &climb->at, point, &stages);
    if (stages.len) {
        const char *key = point->key;
        struct climb inner = {
            .search = search, .at = *point, .stages = &stages, .depth = climb->depth + 1};
        for (size_t i = 0; i < climb->decided.len; i++)
            *vec_push(&inner.decided) = climb->decided.at[i];
        *vec_push(&inner.decided) = key;
        go_up(&inner);
        *point = inner.at;
        point->key = key;
        point->tried = ARENA_ARRAY(search->arena, const char *, inner.tried.len + 1);
        for (size_t i = 0; i < inner.tried.len; i++)
            point->tried[i] = inner.tried.at[i];
        free_climb(&inner);
    }
    vec_free(&stages);
}

/* What one changed of where both came from, with what the other changed. */
static struct point joined(struct search *search, const struct point *from, const struct point *at,
                           const struct point *other) {
    struct point point = *at;
    for (size_t i = 0; i < other->count; i++) {
        const struct write_setting *setting = &other->settings[i];
        const struct write_choice *before = point_choice(from, setting->key);
        if (!before || before->value != setting->value)
            point = point_with(search, &point, setting->key, setting->value);
    }
    const struct write_choice *own = point_choice(other, other->key);
    if (own)
        point = point_with(search, &point, own->key, own->value);
    return (struct point){.settings = point.settings, .count = point.count, .key = other->key};
}

/* The best becomes where it stands; then others that are better than where it stood, with it.
 * Returns what was tried with the best already, up to NULL; or NULL. */
static const char *const *take(struct climb *climb, point_vec *fresh) {
    const char *const *tried = NULL;
    struct point from = climb->at;
    qsort(fresh->at, fresh->len, sizeof *fresh->at, point_order);
    key_vec taken = {0};
    for (size_t i = 0; i < fresh->len; i++) {
        struct point *point = &fresh->at[i];
        if (point_order(&from, point) <= 0 || has_key(&taken, point->key))
            continue;
        *vec_push(&taken) = point->key;
        if (taken.len == 1) {
            climb->at = *point;
            tried = point->tried;
            point->written = NULL;
            continue;
        }
        point_vec both = {0};
        *vec_push(&both) = joined(climb->search, &from, &climb->at, point);
        judge_points(climb->search, &both);
        if (point_order(&both.at[0], &climb->at) < 0) {
            point_drop(&climb->at);
            climb->at = both.at[0];
        } else {
            point_drop(&both.at[0]);
        }
        vec_free(&both);
    }
    if (taken.len)
        point_drop(&from);
    vec_free(&taken);
    points_drop(fresh);
    return tried;
}

/* What was tried since the last gain need not be tried in the next turn. */
static void go_up(struct climb *climb) {
    point_vec fresh = {0};
    while (search_goes_on(climb->search) && gather(climb, &fresh)) {
        double before_us = climb->at.latency_us;
        judge_points(climb->search, &fresh);
        qsort(fresh.at, fresh.len, sizeof *fresh.at, point_order);
        for (size_t i = 0; i < fresh.len && search_goes_on(climb->search); i++)
            if (is_in_reach(climb, &fresh, i))
                follow(climb, &fresh.at[i]);
        const char *const *tried = take(climb, &fresh);
        if (search_is_better(climb->at.latency_us, before_us))
            climb->since.len = 0;
        for (; tried && *tried; tried++) {
            *vec_push(&climb->tried) = *tried;
            *vec_push(&climb->since) = *tried;
        }
    }
    vec_free(&fresh);
}

/* Takes the point if it is better than the best; it is not the caller's any more. */
static bool keep_better(struct search *search, struct point *point) {
    bool better = search_is_better(point->latency_us, search->best.latency_us);
    if (point_order(point, &search->best) < 0) {
        point_drop(&search->best);
        search->best = *point;
    } else {
        point_drop(point);
    }
    return better;
}

static void mark_climbed(struct search *search, uint64_t shape) {
    for (size_t i = 0; i < search->rivals.len; i++)
        search->rivals.at[i].climbed |= search->rivals.at[i].point.shape == shape;
}

/* Turns through all choices from these settings, until none is better; true when that brought
 * something. */
static bool try_turns(struct search *search, const struct point *from) {
    point_vec fresh = {0};
    *vec_push(&fresh) = (struct point){.settings = from->settings, .count = from->count};
    judge_points(search, &fresh);
    struct climb climb = {.search = search, .at = fresh.at[0]};
    vec_free(&fresh);
    for (bool better = true; better && search_goes_on(search);) {
        double before_us = climb.at.latency_us;
        go_up(&climb);
        better = search_is_better(climb.at.latency_us, before_us);
        vec_free(&climb.tried);
        climb.tried = climb.since;
        climb.since = (key_vec){0};
    }
    mark_climbed(search, climb.at.shape);
    bool better = keep_better(search, &climb.at);
    free_climb(&climb);
    return better;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* Every value of a choice, which the halves have, with every value that the other has then. */
static bool try_pair(struct search *search, const point_vec *halves, const char *key) {
    point_vec fresh = {0};
    for (size_t i = 0; i < halves->len; i++)
        search_add_values(search, &halves->at[i], key, &fresh);
    judge_points(search, &fresh);
    bool better = false;
    for (size_t i = 0; i < fresh.len; i++)
        better |= keep_better(search, &fresh.at[i]);
    vec_free(&fresh);
    return better;
}

/* Whether what a choice may be is another with a value of the other one. */
static bool is_linked(const struct point *best, const point_vec *halves, const char *key) {
    const struct write_choice *first = point_choice(best, key);
    for (size_t i = 0; i < halves->len; i++) {
        const struct write_choice *choice = point_choice(&halves->at[i], key);
        if (!first != !choice ||
            (first && (first->count != choice->count ||
                       memcmp(first->values, choice->values,
                              (size_t)first->count * sizeof *first->values) != 0)))
            return true;
    }
    return false;
}

/* Pairs of which the first choice is this one, and the second a later one of its stage. */
static bool try_pairs_of(struct search *search, const key_vec *keys, size_t first, bool linked) {
    point_vec halves = {0};
    search_add_values(search, &search->best, keys->at[first], &halves);
    judge_points(search, &halves);
    bool better = false;
    for (size_t i = first + 1; i < keys->len && !better && search_goes_on(search); i++)
        if (same_stage(keys->at[first], keys->at[i]) &&
            is_linked(&search->best, &halves, keys->at[i]) == linked)
            better = try_pair(search, &halves, keys->at[i]);
    points_drop(&halves);
    vec_free(&halves);
    return better;
}

/* Two choices of a stage at once, first those where one changes what the other may be; true as soon
 * as a pair brought something. */
static bool try_pairs(struct search *search) {
    key_vec keys = {0};
    const struct written *written = search->best.written;
    for (size_t i = 0; i < written->choices.len; i++)
        if (!search_is_persons(search, written->choices.at[i].key))
            *vec_push(&keys) = arena_strdup(search->arena, written->choices.at[i].key);
    bool better = false;
    for (size_t i = 0; i < 2 * keys.len && !better && search_goes_on(search); i++)
        better = try_pairs_of(search, &keys, i % keys.len, i < keys.len);
    vec_free(&keys);
    return better;
}

/* The best schedule that has other choices than those climbed from; true when it leads higher. */
static bool try_rival(struct search *search, bool *tried) {
    struct rival *found = NULL;
    for (size_t i = 0; i < search->rivals.len; i++) {
        struct rival *rival = &search->rivals.at[i];
        if (!rival->climbed && (!found || point_order(&rival->point, &found->point) < 0))
            found = rival;
    }
    *tried = found && search->rivals_climbed < RIVALS;
    if (!*tried)
        return false;
    search->rivals_climbed++;
    found->climbed = true;
    struct point from = found->point;
    return try_turns(search, &from);
}

/* Turns, pairs and rivals until nothing is better. */
static void go_through(struct search *search) {
    for (bool better = true, tried = true;
         search_goes_on(search) && search->best.written && tried;) {
        if (better)
            try_turns(search, &search->best);
        better = search_goes_on(search) && try_pairs(search);
        if (!better)
            better = try_rival(search, &tried);
    }
}

/* ---- the search -------------------------------------------------------------------------------
 */

static bool begin(struct search *search, struct err *err) {
    struct written *written = write_kernel(&search->request->spec, err);
    if (!written)
        return false;
    bool whole = !written->gaps.len;
    if (!whole)
        err_set(err, ERR_USAGE, "%s (line %d of the reference) cannot be written yet",
                written->gaps.at[0].what, written->gaps.at[0].line);
    written_free(written);
    if (!whole)
        return false;
    point_vec fresh = {0};
    *vec_push(&fresh) = (struct point){0};
    judge_points(search, &fresh);
    /* Where the device refuses the kernel as it is, a step may still make it legal. */
    search->best = fresh.at[0];
    vec_free(&fresh);
    return true;
}

struct schedule *schedule_search(const struct schedule_request *request, struct err *err) {
    struct search search = {.request = request, .arena = arena_new()};
    search.budget = request->budget ? request->budget : SCHEDULE_BUDGET;
    struct schedule *found = NULL;
    os_hold_memory();
    if (begin(&search, err)) {
        double start_us = search.best.latency_us;
        go_through(&search);
        if (search_is_cancelled(&search))
            err_set(err, ERR_ENVIRONMENT, "the search was cancelled");
        else if (search.best.latency_us > 0)
            found = search_answer(&search, start_us);
        else
            err_set(err, ERR_KERNEL, "the device model refuses every schedule%s%s",
                    *search.why ? ": " : "", search.why);
    }
    point_drop(&search.best);
    vec_free(&search.rivals);
    vec_free(&search.seen);
    by_hash_free(&search.by_text);
    if (!found)
        arena_free(search.arena);
    os_return_memory();
    return found;
}

void schedule_free(struct schedule *schedule) {
    if (!schedule)
        return;
    vec_free(&schedule->steps);
    vec_free(&schedule->settings);
    arena_free(schedule->arena);
    mem_free_(schedule);
}
