/* SPDX-License-Identifier: Apache-2.0 */
/* Where the lines of tiles are in the reference's arrays, whatever the layout: the largest element
 * of a line is looked for in all of an array, and where it is found, the others have to be at equal
 * distances from it. By chance sixteen numbers do not lie like that, so nothing has to be known of
 * how the kernel divides its work. */
#include "diagnose/private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OFF_NEAR 0.02 /* of the largest element: what bfloat16 and sums of it differ by */
#define BUCKETS 65536 /* the upper halves of floats */
#define STEPS_MOST 32
#define VISITS_MOST 400000000.0 /* comparisons of all lines; more are given up */

/* A line, changed in one way, with the element that is looked for. */
struct query {
    float at[LINE_MOST];
    float low, high; /* of the element that is looked for */
    float allowed;   /* difference of any element */
    int n, anchor;
    uint32_t line;
    enum change change;
};
struct match {
    struct study *study;
    VEC(struct query) queries;
    uint32_t *start; /* per bucket, and one more: rows of `row` */
    uint32_t *row;   /* numbers of queries */
    double visits;
};

static float changed(float value, enum change change) {
    switch (change) {
    case CHANGE_NEGATIVE: return -value;
    case CHANGE_INVERSE: return 1 / value;
    case CHANGE_SQUARE: return value * value;
    case CHANGE_ROOT: return sqrtf(value);
    case CHANGE_NONE: break;
    }
    return value;
}

static void add_query(struct match *match, uint32_t number, enum change change, double off) {
    const struct line *line = &match->study->lines.at[number];
    struct query query = {.n = line->n, .line = number, .change = change};
    float low = INFINITY, high = -INFINITY;
    for (int i = 0; i < line->n; i++) {
        query.at[i] = changed(line->at[i], change);
        if (!isfinite(query.at[i]))
            return;
        if (fabsf(query.at[i]) > fabsf(query.at[query.anchor]))
            query.anchor = i;
        low = fminf(low, query.at[i]);
        high = fmaxf(high, query.at[i]);
    }
    float most = fabsf(query.at[query.anchor]);
    if (low == high || most < 1e-30F)
        return;
    query.allowed = (float)off * most;
    query.low = query.at[query.anchor] - query.allowed;
    query.high = query.at[query.anchor] + query.allowed;
    *vec_push(&match->queries) = query;
}

/* ---- buckets -------------------------------------------------------------------------------- */

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Buckets of numbers of one sign lie side by side, smaller ones first. */
static void bucket_range(const struct query *query, uint32_t *first, uint32_t *last) {
    uint32_t a = bits_of(query->low) >> 16, b = bits_of(query->high) >> 16;
    *first = MIN_OF(a, b);
    *last = MAX_OF(a, b);
}

static void make_buckets(struct match *match) {
    uint32_t first, last, sum = 0;
    match->start = mem_alloc(BUCKETS + 2, sizeof *match->start);
    for (size_t q = 0; q < match->queries.len; q++) {
        bucket_range(&match->queries.at[q], &first, &last);
        for (uint32_t b = first; b <= last; b++)
            match->start[b + 1]++;
    }
    for (uint32_t b = 0; b <= BUCKETS; b++)
        sum = match->start[b] += sum;
    match->row = mem_alloc(sum + 1, sizeof *match->row);
    uint32_t *fill = mem_dup(match->start, (BUCKETS + 2) * sizeof *fill);
    for (size_t q = 0; q < match->queries.len; q++) {
        bucket_range(&match->queries.at[q], &first, &last);
        for (uint32_t b = first; b <= last; b++)
            match->row[fill[b]++] = (uint32_t)q;
    }
    free(fill);
}

/* ---- looking -------------------------------------------------------------------------------- */

/* Distances at which elements that belong together lie: along each axis, and a few of them. */
static int steps_of(const struct array *array, int64_t steps[STEPS_MOST]) {
    int64_t stride = 1, total = array_count(array);
    int n = 0;
    for (int d = array->ndim - 1; d >= -1 && n + 4 <= STEPS_MOST; d--) {
        for (int64_t times = 1; times <= 8; times *= 2) {
            bool there = stride * times >= total;
            for (int i = 0; i < n; i++)
                there = there || steps[i] == stride * times;
            if (!there)
                steps[n++] = stride * times;
        }
        if (d >= 0)
            stride *= array->shape[d];
    }
    return n;
}

/* The largest difference as a share of the largest element; INFINITY: it is not here. */
static double compare_at(const struct query *query, const float *data, int64_t at, int64_t step) {
    float worst = 0;
    for (int i = 0; i < query->n; i++) {
        float off = fabsf(data[at + (i - query->anchor) * step] - query->at[i]);
        if (!(off <= query->allowed))
            return INFINITY;
        worst = fmaxf(worst, off);
    }
    return (double)worst / fabs((double)query->at[query->anchor]);
}

struct place {
    const struct array *array;
    int number;
    int64_t steps[STEPS_MOST], total;
    int step_count;
};

static void try_at(struct match *match, const struct query *query, const struct place *place,
                   int64_t at) {
    struct line *line = &match->study->lines.at[query->line];
    double best = line->off;
    match->visits += place->step_count;
    for (int s = 0; s < place->step_count; s++) {
        int64_t step = place->steps[s];
        if (at - query->anchor * step < 0 ||
            at + (query->n - 1 - query->anchor) * step >= place->total)
            continue;
        double off = compare_at(query, place->array->data, at, step);
        if (off >= best)
            continue;
        best = line->off = off;
        line->array = place->number;
        line->change = query->change;
    }
}

static void look_in(struct match *match, int number) {
    struct place place = {.array = &match->study->known.at[number].array, .number = number};
    const float *data = place.array->data;
    place.total = array_count(place.array);
    place.step_count = steps_of(place.array, place.steps);
    for (int64_t at = 0; at < place.total; at++) {
        uint32_t bucket = bits_of(data[at]) >> 16;
        for (uint32_t r = match->start[bucket]; r < match->start[bucket + 1]; r++) {
            const struct query *query = &match->queries.at[match->row[r]];
            if (data[at] >= query->low && data[at] <= query->high)
                try_at(match, query, &place, at);
        }
        if (at % 65536 == 0 && (study_is_late(match->study) || match->visits > VISITS_MOST))
            return;
    }
}

static void look(struct match *match) {
    make_buckets(match);
    for (size_t a = 0; a < match->study->known.len; a++)
        look_in(match, (int)a);
    free(match->start);
    free(match->row);
    match->queries.len = 0;
}

/* As they are; those that are not found, changed; those that are not either, not so exactly. */
void match_lines(struct study *study) {
    struct match match = {.study = study};
    for (uint32_t i = 0; i < study->lines.len; i++)
        if (study->lines.at[i].finite)
            add_query(&match, i, CHANGE_NONE, study->off_tight);
    look(&match);
    for (uint32_t i = 0; i < study->lines.len; i++)
        for (int change = 1; study->lines.at[i].finite && change < CHANGE_COUNT; change++)
            if (study->lines.at[i].array < 0)
                add_query(&match, i, (enum change)change, study->off_tight);
    look(&match);
    for (uint32_t i = 0; i < study->lines.len; i++)
        if (study->lines.at[i].finite && study->lines.at[i].array < 0)
            add_query(&match, i, CHANGE_NONE, OFF_NEAR);
    if (match.study->before < OFF_NEAR)
        look(&match);
    vec_free(&match.queries);
}
