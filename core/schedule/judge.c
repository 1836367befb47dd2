/* SPDX-License-Identifier: Apache-2.0 */
/* What a schedule is worth: its kernel is written and timed. Threads take the points of a batch in
 * turns; what they find does not depend on which one took which. */
#include "schedule/private.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "device/device.h"

#define MAX_INSTRUCTIONS 500000 /* of a kernel, with loops folded */
#define FOLD_LEAST 20000        /* instructions; for fewer, looking for a steady state costs more */
#define MOST_THREADS 8

struct batch;
typedef void work_fn(struct batch *batch, size_t at);
struct batch {
    struct search *search;
    point_vec *points;
    work_fn *work;
    VEC(size_t) todo; /* points */
    atomic_size_t next;
};

bool search_is_cancelled(const struct search *search) {
    return search->request->cancel && *search->request->cancel;
}

/* ---- points ---------------------------------------------------------------------------------- */

void point_drop(struct point *point) {
    written_free(point->written);
    point->written = NULL;
}

static bool comes_first(double left_us, double right_us) {
    return left_us > 0 && (right_us <= 0 || left_us < right_us);
}

/* The last two only make the order certain. */
int point_order(const void *a, const void *b) {
    const struct point *left = a, *right = b;
    if (left->latency_us != right->latency_us)
        return comes_first(left->latency_us, right->latency_us) ? -1 : 1;
    if (left->count != right->count)
        return left->count < right->count ? -1 : 1;
    if (left->length != right->length)
        return left->length < right->length ? -1 : 1;
    return left->text < right->text ? -1 : left->text > right->text;
}

const struct write_choice *point_choice(const struct point *point, const char *key) {
    for (size_t i = 0; point->written && i < point->written->choices.len; i++)
        if (strcmp(point->written->choices.at[i].key, key) == 0)
            return &point->written->choices.at[i];
    return NULL;
}

struct point point_with(struct search *search, const struct point *from, const char *key,
                        int64_t value) {
    struct point point = {
        .settings = ARENA_ARRAY(search->arena, struct write_setting, from->count + 1), .key = key};
    for (size_t i = 0; i < from->count; i++)
        if (strcmp(from->settings[i].key, key) != 0)
            point.settings[point.count++] = from->settings[i];
    point.settings[point.count++] = (struct write_setting){arena_strdup(search->arena, key), value};
    return point;
}

/* Takes out the settings that no stage asked for, or that are the choice's own value. */
static void settle(struct point *point) {
    size_t kept = 0;
    for (size_t i = 0; i < point->count; i++) {
        const struct write_choice *choice = point_choice(point, point->settings[i].key);
        if (choice && choice->value == point->settings[i].value &&
            choice->value != choice->values[0])
            point->settings[kept++] = point->settings[i];
    }
    point->count = kept;
}

static uint64_t shape_of(const struct written *written) {
    struct buf keys = {0};
    for (size_t i = 0; i < written->choices.len; i++)
        buf_printf(&keys, "%s,", written->choices.at[i].key);
    uint64_t shape = hash_quick(keys.at, keys.len);
    buf_free(&keys);
    return shape;
}

/* ---- writing and timing ---------------------------------------------------------------------- */

static void write_point(struct batch *batch, size_t at) {
    const struct search *search = batch->search;
    struct point *point = &batch->points->at[at];
    struct write_spec spec = search->request->spec;
    VEC(struct write_setting) settings = {0};
    for (size_t i = 0; i < spec.setting_count; i++)
        *vec_push(&settings) = spec.settings[i];
    for (size_t i = 0; i < point->count; i++)
        *vec_push(&settings) = point->settings[i];
    spec.settings = settings.at;
    spec.setting_count = settings.len;
    point->written = write_kernel(&spec, NULL);
    vec_free(&settings);
    if (!point->written)
        return;
    settle(point);
    point->length = strlen(point->written->text);
    point->text = hash_quick(point->written->text, point->length);
    point->shape = shape_of(point->written);
}

static void time_point(struct batch *batch, size_t at) {
    const struct schedule_request *request = batch->search->request;
    struct point *point = &batch->points->at[at];
    struct diag_list diags = {0};
    struct nki_specialise_options options = {.generation = request->generation,
                                             .inputs = request->inputs,
                                             .n_inputs = request->n_inputs,
                                             .max_instructions = MAX_INSTRUCTIONS,
                                             .cancel = request->cancel,
                                             .fold_least = FOLD_LEAST};
    struct device_constants constants = *device_constants_of(request->generation);
    if (request->pessimistic) {
        device_constants_worsen(&constants, DEVICE_FITTED);
        device_constants_worsen(&constants, DEVICE_GUESSED);
    }
    struct nki_tree *tree = nki_parse("kernel.py", str_of(point->written->text), &diags);
    if (!tree->errors)
        point->latency_us = device_kernel_latency(tree, &options, &constants, &diags);
    for (size_t i = 0; i < diags.all.len && point->latency_us <= 0 && !*point->why; i++)
        if (diags.all.at[i].severity == DIAG_ERROR)
            snprintf(point->why, sizeof point->why, "%s", diags.all.at[i].message);
    nki_tree_free(tree);
    diag_free(&diags);
}

/* ---- threads --------------------------------------------------------------------------------- */

static void *take_turns(void *data) {
    struct batch *batch = data;
    for (size_t i; (i = atomic_fetch_add(&batch->next, 1)) < batch->todo.len;)
        if (!search_is_cancelled(batch->search))
            batch->work(batch, batch->todo.at[i]);
    return NULL;
}

/* Signals are for the thread that runs the loop. */
static void run(struct batch *batch, work_fn *work) {
    pthread_t threads[MOST_THREADS];
    int wanted = batch->search->request->threads, started = 0;
    wanted = wanted > 0 ? wanted : os_cpu_count();
    wanted = (int)MIN_OF((size_t)MIN_OF(wanted, MOST_THREADS), batch->todo.len);
    batch->work = work;
    atomic_store(&batch->next, 0);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started < wanted - 1 && !pthread_create(&threads[started], NULL, take_turns, batch))
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    take_turns(batch);
    while (started > 0)
        pthread_join(threads[--started], NULL);
}

static const struct seen *find_seen(const struct search *search, const struct point *point) {
    size_t at = 0, row = 0;
    struct hash text = hash_content(point->written->text, point->length);
    while (by_hash_next(&search->by_text, point->text, &at, &row))
        if (memcmp(&search->seen.at[row].text, &text, sizeof text) == 0)
            return &search->seen.at[row];
    return NULL;
}

static void add_seen(struct search *search, const struct point *point) {
    by_hash_put(&search->by_text, point->text, search->seen.len);
    *vec_push(&search->seen) = (struct seen){hash_content(point->written->text, point->length), 0};
}

/* Which points are to be timed: those with a text that was not timed before. */
static void choose_new(struct search *search, struct batch *batch) {
    size_t most = search->request->text ? search->request->text : SCHEDULE_TEXT;
    batch->todo.len = 0;
    for (size_t i = 0; i < batch->points->len; i++) {
        const struct point *point = &batch->points->at[i];
        bool whole = point->written && !point->written->gaps.len;
        if (!whole || search->judged >= search->budget || find_seen(search, point))
            continue;
        add_seen(search, point);
        *vec_push(&batch->todo) = i;
        search->judged++;
        search->text += point->length;
        if (search->text > most)
            search->budget = search->judged;
    }
}

static void share(struct search *search, const struct batch *batch) {
    size_t first = search->seen.len - batch->todo.len;
    for (size_t i = 0; i < batch->todo.len; i++) {
        const struct point *point = &batch->points->at[batch->todo.at[i]];
        search->seen.at[first + i].latency_us = point->latency_us;
        if (!*search->why)
            memcpy(search->why, point->why, sizeof search->why);
        search->refused += search->seen.at[first + i].latency_us <= 0;
    }
    for (size_t i = 0; i < batch->points->len; i++) {
        struct point *point = &batch->points->at[i];
        const struct seen *seen = point->written ? find_seen(search, point) : NULL;
        point->latency_us = seen ? seen->latency_us : 0;
    }
}

static void note_rival(struct search *search, const struct point *point) {
    struct rival *rival = NULL;
    for (size_t i = 0; i < search->rivals.len && !rival; i++)
        if (search->rivals.at[i].point.shape == point->shape)
            rival = &search->rivals.at[i];
    if (rival && point_order(&rival->point, point) <= 0)
        return;
    if (!rival) {
        rival = vec_push(&search->rivals);
        *rival = (struct rival){0};
    }
    rival->point = *point;
    rival->point.written = NULL;
}

void judge_points(struct search *search, point_vec *points) {
    struct batch batch = {.search = search, .points = points};
    for (size_t i = 0; i < points->len; i++)
        *vec_push(&batch.todo) = i;
    run(&batch, write_point);
    choose_new(search, &batch);
    run(&batch, time_point);
    share(search, &batch);
    for (size_t i = 0; i < points->len; i++)
        if (points->at[i].latency_us > 0)
            note_rival(search, &points->at[i]);
    vec_free(&batch.todo);
}
