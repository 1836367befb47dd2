/* SPDX-License-Identifier: Apache-2.0 */
/* What memory holds: pieces of storages, each with its value; reading and writing cuts them. */
#include "lift/digits.h"

static int64_t last_address(const struct piece *piece) {
    int64_t last = piece->offset;
    for (int d = 0; d < piece->count; d++)
        last += (piece->dim[d].n - 1) * piece->dim[d].step;
    return last;
}

static bool far_apart(const struct region *region, const struct piece *piece) {
    int64_t last = region->offset;
    for (int v = 0; v < region->vars; v++)
        last += (region->count[v] - 1) * region->step[v];
    return last < piece->offset || region->offset > last_address(piece);
}

/* ---- reading -----------------------------------------------------------------------------------
 */

static value_id place_in(struct lift *l, const struct piece *piece, const struct region *region,
                         const struct radix *radix, const int64_t *low) {
    struct digits digits;
    struct swap swap = {0};
    radix_divide_region(region, radix, &digits);
    for (int d = 0; d < piece->count; d++)
        for (int j = 0; j < radix->count; j++) {
            if (radix->step[j] != piece->dim[d].step)
                continue;
            struct form form = form_number(digits.low[j] - low[j]);
            for (int v = 0; v < region->vars; v++) {
                struct form term = form_var(v, digits.by[j][v]);
                if (!form_add(&form, &term, 1))
                    l->limit = "dimensions in one operand";
            }
            swap.mask |= (uint64_t)1 << d;
            swap.to[d] = form;
        }
    return value_swap(l, piece->value, &swap);
}

static enum relation read_piece(struct lift *l, const struct piece *piece,
                                const struct region *region, value_id *value, struct cut *cut) {
    struct radix radix = {0};
    int64_t low[MAX_DIGITS], size[MAX_DIGITS];
    if (far_apart(region, piece))
        return APART;
    if (!radix_of(lift_storage(l, region->storage), piece, &radix) ||
        !radix_divide_piece(&radix, piece, low, size))
        return cut_impossible(cut);
    enum relation relation = radix_relate(region, &radix, low, size, cut);
    if (relation == WITHIN)
        *value = place_in(l, piece, region, &radix, low);
    return relation;
}

/* What memory holds before anything is written. */
static value_id untouched(struct lift *l, const struct region *region) {
    const struct nki_storage *storage = lift_storage(l, region->storage);
    if (storage->input < 0 && !storage->constant)
        return storage->zeroed ? make_number(l, 0) : make_nothing(l);
    struct form form = form_number(region->offset);
    for (int v = 0; v < region->vars; v++) {
        struct form term = form_var(v, region->count[v] > 1 ? region->step[v] : 0);
        if (!form_add(&form, &term, 1))
            l->limit = "dimensions in one operand";
    }
    return make_leaf(l, region->storage, &form, storage->dtype);
}

static bool look(struct lift *l, const struct store *store, const struct region *region,
                 value_id *value, struct cut *cut) {
    for (size_t i = store->pieces.len; i-- > 0;) {
        switch (read_piece(l, &store->pieces.at[i], region, value, cut)) {
        case APART: break;
        case WITHIN: return true;
        case CUT: return false;
        }
    }
    *value = untouched(l, region);
    return true;
}

/* Makes of the pieces that a region touches as few as can be. False where there is one at most. */
static bool merge_touched(struct lift *l, struct store *store, const struct region *region) {
    struct store touched = {0};
    size_t kept = 0;
    for (size_t i = 0; i < store->pieces.len; i++) {
        value_id ignored;
        struct cut cut;
        bool apart = read_piece(l, &store->pieces.at[i], region, &ignored, &cut) == APART;
        if (apart)
            store->pieces.at[kept++] = store->pieces.at[i];
        else
            *vec_push(&touched.pieces) = store->pieces.at[i];
    }
    size_t before = touched.pieces.len;
    store->pieces.len = kept;
    if (before > 1)
        lift_store_merge(l, &touched);
    bool fewer = touched.pieces.len < before;
    for (size_t i = 0; i < touched.pieces.len; i++)
        *vec_push(&store->pieces) = touched.pieces.at[i];
    vec_free(&touched.pieces);
    return fewer;
}

bool lift_store_read(struct lift *l, const struct region *region, value_id *value,
                     struct cut *cut) {
    struct store *store = lift_store_at(l, region->storage, region->offset);
    *cut = (struct cut){0};
    if (store->is_broken)
        return cut_impossible(cut) == APART;
    if (look(l, store, region, value, cut))
        return true;
    return merge_touched(l, store, region) && look(l, store, region, value, cut);
}

/* ---- writing -----------------------------------------------------------------------------------
 */

static struct piece piece_of(struct lift *l, const struct region *region, value_id value) {
    struct piece piece = {.offset = region->offset, .count = region->vars, .value = value};
    for (int v = 0; v < region->vars; v++)
        piece.dim[v] = (struct extent){region->count[v], region->step[v]};
    piece_settle(l, &piece);
    return piece;
}

/* The part of a piece before or behind: `first` of dimension d, `n` of them. */
static struct piece part_of(struct lift *l, const struct piece *piece, int d, int64_t first,
                            int64_t n) {
    struct piece part = *piece;
    struct form moved = form_var(d, 1);
    moved.at = first;
    part.offset += first * piece->dim[d].step;
    part.dim[d].n = n;
    part.value = value_set(l, piece->value, d, moved);
    return part;
}

/* Leaves of a piece what a box of digits does not cover. */
static void leave(struct lift *l, struct store *store, size_t at, const struct radix *radix,
                  const int64_t *box_low, const int64_t *box_size) {
    struct piece rest = store->pieces.at[at];
    store->pieces.at[at] = store->pieces.at[--store->pieces.len];
    for (int d = 0; d < rest.count; d++) {
        int64_t low[MAX_DIGITS];
        radix_divide(radix, rest.offset, low);
        for (int j = 0; j < radix->count; j++) {
            if (radix->step[j] != rest.dim[d].step)
                continue;
            int64_t before = box_low[j] - low[j], end = before + box_size[j];
            if (before > 0) {
                struct piece part = part_of(l, &rest, d, 0, before);
                piece_settle(l, &part);
                *vec_push(&store->pieces) = part;
            }
            if (end < rest.dim[d].n) {
                struct piece part = part_of(l, &rest, d, end, rest.dim[d].n - end);
                piece_settle(l, &part);
                *vec_push(&store->pieces) = part;
            }
            before = MAX_OF(before, 0);
            rest = part_of(l, &rest, d, before, MIN_OF(end, rest.dim[d].n) - before);
        }
    }
}

/* Divides the dimensions of a piece that reach over a step of another one. */
static void refine(struct lift *l, struct piece *piece, const struct piece *other) {
    for (int i = 0; i < other->count; i++)
        for (int d = 0; d < piece->count; d++) {
            struct extent *dim = &piece->dim[d];
            int64_t step = other->dim[i].step;
            if (step <= dim->step || step >= dim->step * dim->n || step % dim->step ||
                dim->step * dim->n % step || piece->count == LIFT_DIMS)
                continue;
            int64_t inner = step / dim->step;
            struct form both = form_var(d, 1), outer = form_var(piece->count, inner);
            form_add(&both, &outer, 1);
            piece->value = value_set(l, piece->value, d, both);
            piece->dim[piece->count++] = (struct extent){dim->n / inner, step};
            dim->n = inner;
        }
}

/* Takes out of piece `at` what is written over. False where that cannot be said. */
static bool write_over(struct lift *l, struct store *store, size_t at, const struct piece *by,
                       const struct nki_storage *storage) {
    struct radix radix = {0};
    int64_t low[MAX_DIGITS], size[MAX_DIGITS], box_low[MAX_DIGITS], box_size[MAX_DIGITS];
    struct piece *old = &store->pieces.at[at], box = *by, *written = &box;
    refine(l, old, by);
    refine(l, written, old);
    if (!radix_of(storage, old, &radix))
        return false;
    for (int d = 0; d < written->count; d++)
        radix_put(&radix, written->dim[d].step, true);
    if (!radix_fits(&radix) || !radix_divide_piece(&radix, old, low, size) ||
        !radix_divide_piece(&radix, written, box_low, box_size))
        return false;
    radix_divide_piece(&radix, old, low, size); /* steps may have gone */
    for (int j = 0; j < radix.count; j++)
        if (box_low[j] + box_size[j] <= low[j] || box_low[j] >= low[j] + size[j])
            return true;
    leave(l, store, at, &radix, box_low, box_size);
    return true;
}

static bool same_box(const struct piece *a, const struct piece *b) {
    return a->offset == b->offset && a->count == b->count &&
           memcmp(a->dim, b->dim, (size_t)a->count * sizeof *a->dim) == 0;
}

void lift_store_write(struct lift *l, const struct region *region, value_id value) {
    struct store *store = lift_store_at(l, region->storage, region->offset);
    const struct nki_storage *storage = lift_storage(l, region->storage);
    struct piece piece = piece_of(l, region, value);
    bool is_there = false;
    for (size_t i = store->pieces.len; i-- > 0 && !is_there;) {
        struct piece *old = &store->pieces.at[i];
        if (same_box(old, &piece)) {
            *old = piece;
            is_there = true;
        } else if (!far_apart(region, old) && !write_over(l, store, i, &piece, storage)) {
            store->is_broken = true;
        }
    }
    if (!is_there)
        *vec_push(&store->pieces) = piece;
}
