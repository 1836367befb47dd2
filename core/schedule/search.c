/* SPDX-License-Identifier: Apache-2.0 */
/* The search: a beam of schedules goes from choice to choice, in the kernel's order, and tries
 * every value of each. Steps that change nothing are taken, too, as long as nothing better is
 * there: another choice may need them. When a whole turn brings nothing, pairs of choices of one
 * stage are tried together. Of a step that took other choices away, those are tried in the end:
 * what they are worth was not seen. */
#include "schedule/private.h"

#include <stdlib.h>

#define SAME 5e-4 /* of the latency: less is no gain, and the simpler kernel is taken */

/* ---- order ----------------------------------------------------------------------------------- */

/* Refused ones are last. */
static bool comes_first(double left_us, double right_us) {
    return left_us > 0 && (right_us <= 0 || left_us < right_us);
}

static bool is_better(double us, double before_us) {
    return us > 0 && (before_us <= 0 || us < before_us * (1 - SAME));
}

/* Ties go to the simpler kernel; the last two only make the order certain. */
static int by_worth(const void *a, const void *b) {
    const struct point *left = a, *right = b;
    if (left->latency_us != right->latency_us)
        return comes_first(left->latency_us, right->latency_us) ? -1 : 1;
    if (left->count != right->count)
        return left->count < right->count ? -1 : 1;
    if (left->length != right->length)
        return left->length < right->length ? -1 : 1;
    return left->text < right->text ? -1 : left->text > right->text;
}

/* Keeps the best points, each text once. Where none is legal, the first one stays to go on from. */
static void keep_best(struct search *search, point_vec *fresh) {
    point_vec all = {0};
    for (size_t i = 0; i < search->beam.len; i++)
        *vec_push(&all) = search->beam.at[i];
    for (size_t i = 0; i < fresh->len; i++)
        *vec_push(&all) = fresh->at[i];
    if (all.len)
        qsort(all.at, all.len, sizeof *all.at, by_worth);
    search->beam.len = 0;
    size_t last = all.len && all.at[0].latency_us <= 0 ? 0 : all.len;
    for (size_t i = 0; i < all.len; i++) {
        bool keeps = i == last || (all.at[i].latency_us > 0 && search->beam.len < BEAM);
        for (size_t k = 0; k < search->beam.len; k++)
            keeps = keeps && search->beam.at[k].text != all.at[i].text;
        if (keeps)
            *vec_push(&search->beam) = all.at[i];
        else
            point_drop(&all.at[i]);
    }
    vec_free(&all);
    fresh->len = 0;
}

static double best_of(const struct search *search) {
    return search->beam.len ? search->beam.at[0].latency_us : 0;
}

static bool goes_on(const struct search *search) {
    return search->judged < search->budget && !search_is_cancelled(search);
}

/* ---- moves ----------------------------------------------------------------------------------- */

static bool is_persons(const struct search *search, const char *key) {
    const struct write_spec *spec = &search->request->spec;
    for (size_t i = 0; i < spec->setting_count; i++)
        if (strcmp(spec->settings[i].key, key) == 0)
            return true;
    return false;
}

static void add_values(struct search *search, const struct point *from, const char *key,
                       point_vec *fresh) {
    const struct write_choice *choice = point_choice(from, key);
    for (int i = 0; choice && i < choice->count; i++)
        if (choice->values[i] != choice->value)
            *vec_push(fresh) = point_with(search, from, key, choice->values[i]);
}

/* Every value of one choice, from every point of the beam. */
static void try_choice(struct search *search, const char *key) {
    point_vec fresh = {0};
    for (size_t i = 0; i < search->beam.len; i++)
        add_values(search, &search->beam.at[i], key, &fresh);
    judge_points(search, &fresh);
    keep_best(search, &fresh);
    vec_free(&fresh);
}

typedef VEC(const char *) key_vec;

/* The first choice of the best point that was not tried in this turn: which there are follows from
 * the values of others. */
static const char *next_key(const struct search *search, const key_vec *tried) {
    const struct written *written = search->beam.at[0].written;
    for (size_t i = 0; i < written->choices.len; i++) {
        bool is_new = !is_persons(search, written->choices.at[i].key);
        for (size_t k = 0; is_new && k < tried->len; k++)
            is_new = strcmp(tried->at[k], written->choices.at[i].key) != 0;
        if (is_new)
            return arena_strdup(search->arena, written->choices.at[i].key);
    }
    return NULL;
}

/* One turn through all choices; true when it brought something. */
static bool try_turn(struct search *search) {
    double before = best_of(search);
    key_vec tried = {0};
    for (const char *key; goes_on(search) && (key = next_key(search, &tried));) {
        try_choice(search, key);
        *vec_push(&tried) = key;
    }
    vec_free(&tried);
    return is_better(best_of(search), before);
}

static bool same_stage(const char *a, const char *b) {
    size_t length = strcspn(a, ".");
    return strcspn(b, ".") == length && strncmp(a, b, length) == 0;
}

static void try_pair(struct search *search, const char *a, const char *b) {
    const struct point *from = &search->beam.at[0];
    const struct write_choice *first = point_choice(from, a);
    point_vec fresh = {0};
    for (int i = 0; first && i < first->count; i++) {
        if (first->values[i] == first->value)
            continue;
        struct point half = point_with(search, from, a, first->values[i]);
        const struct write_choice *second = point_choice(from, b);
        for (int k = 0; second && k < second->count; k++)
            if (second->values[k] != second->value)
                *vec_push(&fresh) = point_with(search, &half, b, second->values[k]);
    }
    judge_points(search, &fresh);
    keep_best(search, &fresh);
    vec_free(&fresh);
}

/* Two choices of a stage at once; true as soon as a pair brought something. */
static bool try_pairs(struct search *search) {
    key_vec keys = {0};
    double before = best_of(search);
    const struct written *written = search->beam.at[0].written;
    for (size_t i = 0; i < written->choices.len; i++)
        if (!is_persons(search, written->choices.at[i].key))
            *vec_push(&keys) = arena_strdup(search->arena, written->choices.at[i].key);
    bool better = false;
    for (size_t i = 0; i < keys.len && !better; i++)
        for (size_t k = i + 1; k < keys.len && !better && goes_on(search); k++)
            if (same_stage(keys.at[i], keys.at[k])) {
                try_pair(search, keys.at[i], keys.at[k]);
                better = is_better(best_of(search), before);
            }
    vec_free(&keys);
    return better;
}

/* Turns and pairs until nothing is better. */
static void go_through(struct search *search) {
    while (goes_on(search) && search->beam.len && (try_turn(search) || try_pairs(search)))
        ;
}

/* ---- other ways ------------------------------------------------------------------------------ */

/* The choices that the start has, and that are gone where one has another value. */
static void find_hidden(struct search *search, const struct point *start,
                        const struct write_setting *step, key_vec *hidden) {
    point_vec fresh = {0};
    *vec_push(&fresh) = point_with(search, start, step->key, step->value);
    judge_points(search, &fresh);
    hidden->len = 0;
    for (size_t i = 0; fresh.at[0].written && i < start->written->choices.len; i++) {
        const char *key = start->written->choices.at[i].key;
        if (!point_choice(&fresh.at[0], key) && !is_persons(search, key))
            *vec_push(hidden) = arena_strdup(search->arena, key);
    }
    point_drop(&fresh.at[0]);
    vec_free(&fresh);
}

/* From the start, what is hidden only; and on from there where that is the best. */
static bool go_without(struct search *search, const key_vec *hidden) {
    double before_us = best_of(search);
    point_vec before = search->beam, fresh = {0};
    search->beam = (point_vec){0};
    *vec_push(&fresh) = (struct point){0};
    judge_points(search, &fresh);
    keep_best(search, &fresh);
    for (size_t i = 0; i < hidden->len && goes_on(search); i++)
        try_choice(search, hidden->at[i]);
    keep_best(search, &before);
    vec_free(&before);
    vec_free(&fresh);
    if (!is_better(best_of(search), before_us))
        return false;
    go_through(search);
    return true;
}

/* A step that the best schedule took first may have hidden what another way is worth. */
static void try_other_ways(struct search *search) {
    point_vec start = {0};
    key_vec hidden = {0};
    *vec_push(&start) = (struct point){0};
    judge_points(search, &start);
    size_t count = start.at[0].written ? search->beam.at[0].count : 0;
    struct write_setting *steps = ARENA_ARRAY(search->arena, struct write_setting, count + 1);
    for (size_t i = 0; i < count; i++)
        steps[i] = search->beam.at[0].settings[i];
    for (size_t i = 0; i < count && goes_on(search); i++) {
        find_hidden(search, &start.at[0], &steps[i], &hidden);
        if (hidden.len && go_without(search, &hidden))
            break;
    }
    point_drop(&start.at[0]);
    vec_free(&start);
    vec_free(&hidden);
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* The point without one of its settings. */
static struct point without(struct search *search, const struct point *from, size_t which) {
    struct point point = {.settings =
                              ARENA_ARRAY(search->arena, struct write_setting, from->count + 1)};
    for (size_t i = 0; i < from->count; i++)
        if (i != which)
            point.settings[point.count++] = from->settings[i];
    return point;
}

/* Takes back what brings nothing. */
static struct point simplify(struct search *search, struct point best) {
    for (size_t i = best.count; i-- > 0;) {
        point_vec fresh = {0};
        *vec_push(&fresh) = without(search, &best, i);
        search->budget = search->judged + 1;
        judge_points(search, &fresh);
        if (fresh.at[0].latency_us > 0 && fresh.at[0].latency_us <= best.latency_us * (1 + SAME)) {
            point_drop(&best);
            best = fresh.at[0];
            i = MIN_OF(i, best.count);
        } else {
            point_drop(&fresh.at[0]);
        }
        vec_free(&fresh);
    }
    return best;
}

/* What each setting saves after those before it: the steps are taken once more, one by one. */
static void tell_steps(struct search *search, const struct point *best, struct schedule *found) {
    struct point path = {0};
    double before = found->start_us;
    for (size_t i = 0; i < best->count; i++) {
        const struct write_choice *choice = point_choice(best, best->settings[i].key);
        point_vec fresh = {0};
        *vec_push(&fresh) = (struct point){
            .settings = ARENA_ARRAY(search->arena, struct write_setting, i + 1), .count = i + 1};
        memcpy(fresh.at[0].settings, best->settings, (i + 1) * sizeof *best->settings);
        search->budget = search->judged + 1;
        judge_points(search, &fresh);
        path = fresh.at[0];
        double after = i + 1 == best->count  ? best->latency_us
                       : path.latency_us > 0 ? path.latency_us
                                             : before;
        *vec_push(&found->steps) =
            (struct schedule_step){.key = best->settings[i].key,
                                   .title = choice->title,
                                   .line = choice->line,
                                   .from = choice->values[0],
                                   .to = choice->value,
                                   .note = arena_strdup(search->arena, choice->note),
                                   .saved_us = before > 0 ? before - after : 0};
        before = after;
        point_drop(&path);
        vec_free(&fresh);
    }
}

void schedule_step_print(const struct schedule_step *step, const char *source, struct buf *out) {
    buf_printf(out, "line %d of the %s, ", step->line, source);
    write_subject_print(step->title, out);
    buf_puts(out, ": ");
    write_value_print(step->title, step->to, out);
    buf_puts(out, ", not ");
    write_value_print(step->title, step->from, out);
    if (*step->note)
        buf_printf(out, " (%s)", step->note);
}

static struct schedule *answer(struct search *search, double start_us, bool ended) {
    struct schedule *found = mem_alloc(1, sizeof *found);
    const struct write_spec *spec = &search->request->spec;
    found->arena = search->arena;
    found->start_us = start_us;
    struct point best = simplify(search, search->beam.at[0]);
    search->beam.at[0].written = NULL; /* is best's, or dropped */
    tell_steps(search, &best, found);
    found->text = arena_strdup(found->arena, best.written->text);
    found->latency_us = best.latency_us;
    for (size_t i = 0; i < spec->setting_count; i++)
        *vec_push(&found->settings) = (struct write_setting){
            arena_strdup(found->arena, spec->settings[i].key), spec->settings[i].value};
    for (size_t i = 0; i < best.count; i++)
        *vec_push(&found->settings) = best.settings[i];
    found->judged = search->judged;
    found->refused = search->refused;
    found->ended = ended;
    point_drop(&best);
    return found;
}

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
    *vec_push(&search->beam) = fresh.at[0];
    vec_free(&fresh);
    return true;
}

struct schedule *schedule_search(const struct schedule_request *request, struct err *err) {
    struct search search = {.request = request, .arena = arena_new()};
    search.budget = request->budget ? request->budget : SCHEDULE_BUDGET;
    struct schedule *found = NULL;
    bool ended = false;
    if (begin(&search, err)) {
        double start_us = best_of(&search);
        go_through(&search);
        if (search.beam.len && best_of(&search) > 0)
            try_other_ways(&search);
        ended = goes_on(&search);
        if (search_is_cancelled(&search))
            err_set(err, ERR_ENVIRONMENT, "the search was cancelled");
        else if (best_of(&search) > 0)
            found = answer(&search, start_us, ended);
        else
            err_set(err, ERR_KERNEL, "the device model refuses every schedule");
    }
    for (size_t i = 0; i < search.beam.len; i++)
        point_drop(&search.beam.at[i]);
    vec_free(&search.beam);
    vec_free(&search.seen);
    by_hash_free(&search.by_text);
    if (!found)
        arena_free(search.arena);
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
