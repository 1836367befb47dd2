/* SPDX-License-Identifier: Apache-2.0 */
/* What is answered: the best schedule without what brings nothing, and what each of its steps
 * saves.
 */
#include "schedule/private.h"

#include <stdlib.h>

/* The point without one of its settings. */
static struct point without(struct search *search, const struct point *from, size_t which) {
    struct point point = {.settings =
                              ARENA_ARRAY(search->arena, struct write_setting, from->count + 1)};
    for (size_t i = 0; i < from->count; i++)
        if (i != which)
            point.settings[point.count++] = from->settings[i];
    return point;
}

/* Takes back what brings nothing, all of it together. */
static struct point simplify(struct search *search, struct point best) {
    double most_us = best.latency_us * (1 + SEARCH_SAME);
    for (size_t i = best.count; i-- > 0;) {
        point_vec fresh = {0};
        *vec_push(&fresh) = without(search, &best, i);
        search->budget = search->judged + 1;
        judge_points(search, &fresh);
        if (fresh.at[0].latency_us > 0 && fresh.at[0].latency_us <= most_us) {
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

/* The best of a choice's other values, if it is better by more than nothing. */
static bool take_better(struct search *search, struct point *best, const char *key) {
    point_vec fresh = {0};
    search_add_values(search, best, key, &fresh);
    judge_points(search, &fresh);
    if (fresh.len)
        qsort(fresh.at, fresh.len, sizeof *fresh.at, point_order);
    bool better = fresh.len && search_is_better(fresh.at[0].latency_us, best->latency_us);
    if (better) {
        point_drop(best);
        *best = fresh.at[0];
        fresh.at[0].written = NULL;
    }
    points_drop(&fresh);
    vec_free(&fresh);
    return better;
}

/* What was taken back may have hidden a step: they are tried once more, within the budget. */
static struct point try_again(struct search *search, struct point best) {
    key_vec keys = {0};
    for (bool better = true; better;) {
        better = false;
        keys.len = 0;
        for (size_t i = 0; i < best.written->choices.len; i++)
            *vec_push(&keys) = arena_strdup(search->arena, best.written->choices.at[i].key);
        for (size_t i = 0; i < keys.len && search_goes_on(search); i++)
            if (!search_is_persons(search, keys.at[i]))
                better |= take_better(search, &best, keys.at[i]);
    }
    vec_free(&keys);
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
    buf_puts(out, " rather than ");
    write_value_print(step->title, step->from, out);
    if (*step->note)
        buf_printf(out, " (%s)", step->note);
}

struct schedule *search_answer(struct search *search, double start_us) {
    struct schedule *found = mem_alloc(1, sizeof *found);
    size_t budget = search->budget;
    bool ended = search_goes_on(search);
    const struct write_spec *spec = &search->request->spec;
    found->arena = search->arena;
    found->start_us = start_us;
    struct point best = simplify(search, search->best);
    search->best.written = NULL; /* is best's, or dropped */
    search->budget = budget;
    if (ended) {
        best = try_again(search, best);
        ended = search_goes_on(search);
    }
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
