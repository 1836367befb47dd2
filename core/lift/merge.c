/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces that one rule makes become one piece: loops over tiles are found again. */
#include "lift/private.h"

#include <stdlib.h>

#define MOST_NEIGHBOURS 256 /* pieces of which each is held against each other */

/* ---- one piece ---------------------------------------------------------------------------------
 */

/* Takes out dimension d, whose variable the value no longer has; those behind it move up. */
static void drop_dim(struct lift *l, struct piece *piece, int d) {
    struct swap swap = {0};
    for (int i = d + 1; i < piece->count; i++) {
        swap.mask |= (uint64_t)1 << i;
        swap.to[i] = form_var(i - 1, 1);
        piece->dim[i - 1] = piece->dim[i];
    }
    piece->count--;
    piece->value = value_swap(l, piece->value, &swap);
}

static void sort_dims(struct lift *l, struct piece *piece) {
    int order[LIFT_DIMS];
    struct piece old = *piece;
    struct swap swap = {0};
    bool moved = false;
    for (int i = 0; i < piece->count; i++) {
        int at = i;
        for (; at > 0 && old.dim[order[at - 1]].step < old.dim[i].step; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    for (int i = 0; i < piece->count; i++) {
        piece->dim[i] = old.dim[order[i]];
        moved |= order[i] != i;
        swap.mask |= (uint64_t)1 << order[i];
        swap.to[order[i]] = form_var(i, 1);
    }
    if (moved)
        piece->value = value_swap(l, piece->value, &swap);
}

/* Makes one dimension of d and d + 1, where the value depends on n * d + (d + 1) only. */
static bool join_dims(struct lift *l, struct piece *piece, int d) {
    struct extent *outer = &piece->dim[d], *inner = &piece->dim[d + 1];
    if (outer->step != inner->n * inner->step)
        return false;
    value_id first = value_set(l, piece->value, d, form_number(0));
    struct form both = form_var(d, inner->n), own = form_var(d + 1, 1);
    form_add(&both, &own, 1);
    if (value_set(l, first, d + 1, both) != piece->value)
        return false;
    inner->n *= outer->n;
    piece->value = first;
    drop_dim(l, piece, d);
    return true;
}

void piece_settle(struct lift *l, struct piece *piece) {
    for (int d = piece->count - 1; d >= 0; d--)
        if (piece->dim[d].n == 1) {
            piece->value = value_set(l, piece->value, d, form_number(0));
            drop_dim(l, piece, d);
        }
    sort_dims(l, piece);
    for (int d = piece->count - 2; d >= 0; d--)
        join_dims(l, piece, d);
}

/* ---- pieces at equal distances -----------------------------------------------------------------
 */

static int compare_dims(const struct piece *a, const struct piece *b) {
    if (a->count != b->count)
        return a->count - b->count;
    for (int d = 0; d < a->count; d++) {
        if (a->dim[d].n != b->dim[d].n)
            return a->dim[d].n < b->dim[d].n ? -1 : 1;
        if (a->dim[d].step != b->dim[d].step)
            return a->dim[d].step < b->dim[d].step ? -1 : 1;
    }
    return 0;
}

struct ranked {
    struct piece piece;
    uint64_t alike;
};

static int compare_ranked(const void *x, const void *y) {
    const struct ranked *a = x, *b = y;
    int order = compare_dims(&a->piece, &b->piece);
    if (order)
        return order;
    if (a->alike != b->alike)
        return a->alike < b->alike ? -1 : 1;
    return (a->piece.offset > b->piece.offset) - (a->piece.offset < b->piece.offset);
}

static bool may_join(const struct ranked *a, const struct ranked *b) {
    return a->alike == b->alike && compare_dims(&a->piece, &b->piece) == 0 &&
           a->piece.count < LIFT_DIMS - 2 && b->piece.offset > a->piece.offset;
}

/* How many pieces from the first on lie at equal distances and have one value that depends on which
 * one it is. The value is in *value. */
static size_t run_of(struct lift *l, const struct ranked *row, size_t most, value_id *value) {
    size_t n = 2;
    if (most < 2 || !may_join(&row[0], &row[1]))
        return 1;
    int64_t step = row[1].piece.offset - row[0].piece.offset;
    value_id pattern = value_join(l, row[0].piece.value, row[1].piece.value, LIFT_SPARE);
    if (pattern == VALUE_NONE)
        return 1;
    while (n < most && may_join(&row[n - 1], &row[n]) &&
           row[n].piece.offset - row[n - 1].piece.offset == step &&
           value_set(l, pattern, LIFT_SPARE, form_number((int64_t)n)) == row[n].piece.value)
        n++;
    *value = pattern;
    return n;
}

static void join_run(struct lift *l, struct piece *piece, size_t n, int64_t step, value_id value) {
    piece->dim[piece->count] = (struct extent){(int64_t)n, step};
    piece->value = value_set(l, value, LIFT_SPARE, form_var(piece->count, 1));
    piece->count++;
    piece_settle(l, piece);
}

/* Returns whether there are fewer now. */
static bool join_runs(struct lift *l, struct store *store) {
    size_t n = store->pieces.len, kept = 0;
    struct ranked *rows = mem_alloc(n, sizeof *rows);
    for (size_t i = 0; i < n; i++)
        rows[i] =
            (struct ranked){store->pieces.at[i], value_of(l, store->pieces.at[i].value)->alike};
    qsort(rows, n, sizeof *rows, compare_ranked);
    for (size_t i = 0, run; i < n; i += run) {
        value_id value = VALUE_NONE;
        run = run_of(l, &rows[i], n - i, &value);
        struct piece piece = rows[i].piece;
        if (run > 1)
            join_run(l, &piece, run, rows[i + 1].piece.offset - piece.offset, value);
        store->pieces.at[kept++] = piece;
    }
    free(rows);
    store->pieces.len = kept;
    return kept < n;
}

/* ---- pieces side by side -----------------------------------------------------------------------
 */

/* Gives a piece a dimension of one element. */
static void add_dim(struct lift *l, struct piece *piece, int at, int64_t step) {
    struct swap swap = {0};
    for (int i = piece->count; i > at; i--) {
        swap.mask |= (uint64_t)1 << (i - 1);
        swap.to[i - 1] = form_var(i, 1);
        piece->dim[i] = piece->dim[i - 1];
    }
    piece->dim[at] = (struct extent){1, step};
    piece->count++;
    piece->value = value_swap(l, piece->value, &swap);
}

/* Whether b goes on where dimension d of a ends, by the same rule. */
static bool goes_on(struct lift *l, const struct piece *a, const struct piece *b, int d) {
    struct piece other = *b;
    if (b->offset != a->offset + a->dim[d].n * a->dim[d].step || b->count > a->count)
        return false;
    if (other.count == a->count - 1)
        add_dim(l, &other, d, a->dim[d].step);
    if (other.count != a->count)
        return false;
    for (int i = 0; i < a->count; i++)
        if (other.dim[i].step != a->dim[i].step || (i != d && other.dim[i].n != a->dim[i].n))
            return false;
    struct form moved = form_var(d, 1);
    moved.at = a->dim[d].n;
    value_id expected = value_set(l, a->value, d, moved);
    if (other.dim[d].n == 1)
        expected = value_set(l, a->value, d, form_number(a->dim[d].n));
    return expected == other.value;
}

static bool join_two(struct lift *l, struct piece *a, const struct piece *b) {
    for (int d = 0; d < a->count; d++)
        if (goes_on(l, a, b, d)) {
            int64_t more = 1;
            for (int i = 0; i < b->count; i++)
                if (b->dim[i].step == a->dim[d].step)
                    more = b->dim[i].n;
            a->dim[d].n += more;
            piece_settle(l, a);
            return true;
        }
    return false;
}

static bool join_neighbours(struct lift *l, struct store *store) {
    bool any = false;
    if (store->pieces.len > MOST_NEIGHBOURS)
        return false;
    for (size_t i = 0; i < store->pieces.len; i++)
        for (size_t k = 0; k < store->pieces.len; k++)
            if (i != k && join_two(l, &store->pieces.at[i], &store->pieces.at[k])) {
                store->pieces.at[k] = store->pieces.at[--store->pieces.len];
                any = true;
                i = store->pieces.len; /* places have moved: the next round goes on */
                break;
            }
    return any;
}

void lift_store_merge(struct lift *l, struct store *store) {
    for (size_t i = 0; i < store->pieces.len; i++)
        piece_settle(l, &store->pieces.at[i]);
    while (store->pieces.len > 1 && !l->limit && (join_runs(l, store) || join_neighbours(l, store)))
        ;
}
