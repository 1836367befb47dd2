/* SPDX-License-Identifier: Apache-2.0 */
/* What memory holds: pieces of storages, each with its value. An address is divided into digits,
 * one for each step that occurs; a piece is a range of each digit, and so is what is read, or it is
 * cut until it is. */
#include "lift/private.h"

#include <stdlib.h>

#include "device/device.h"

#define MAX_DIGITS 24

/* ---- digits ------------------------------------------------------------------------------------
 */

struct radix {
    int count;
    int64_t step[MAX_DIGITS]; /* descending; each divides the one before */
    bool is_own[MAX_DIGITS];  /* a dimension of the piece has it */
};
/* A range of each digit: low + sum(by[v] * v). */
struct digits {
    int64_t low[MAX_DIGITS], by[MAX_DIGITS][LIFT_DIMS];
};

static void radix_put(struct radix *radix, int64_t step, bool is_own) {
    int at = 0;
    while (at < radix->count && radix->step[at] > step)
        at++;
    if (at < radix->count && radix->step[at] == step) {
        radix->is_own[at] |= is_own;
        return;
    }
    if (radix->count == MAX_DIGITS)
        return;
    for (int i = radix->count++; i > at; i--) {
        radix->step[i] = radix->step[i - 1];
        radix->is_own[i] = radix->is_own[i - 1];
    }
    radix->step[at] = step;
    radix->is_own[at] = is_own;
}

static void radix_drop(struct radix *radix, int at) {
    radix->count--;
    for (int i = at; i < radix->count; i++) {
        radix->step[i] = radix->step[i + 1];
        radix->is_own[i] = radix->is_own[i + 1];
    }
}

/* Elements of a partition, or of all. */
static int64_t row_of(const struct nki_storage *storage) {
    return (int64_t)(storage->blocks * storage->block_bytes) / (int64_t)dtype_bytes(storage->dtype);
}

/* ---- a store for each storage, or for each of its blocks ----------------------------------------
 */

/* Whether an operand lies in several blocks of its storage. */
static bool spans_blocks(const struct nki_storage *storage, const struct nki_ap *ap) {
    int64_t block = row_of(storage) / MAX_OF((int64_t)storage->blocks, 1);
    int64_t low = ap->offset, high = ap->offset;
    for (int d = 1; d < ap->n_dims; d++)
        *(ap->step[d] < 0 ? &low : &high) += ap->step[d] * (ap->count[d] - 1);
    return ap->indirect || dtype_bytes(ap->dtype) != dtype_bytes(storage->dtype) ||
           low / block != high / block;
}

static void look_at_blocks(struct lift *l, const struct nki_operand *operand) {
    for (uint32_t i = 0; i < (operand->kind == NKI_OPERAND_APS ? operand->n : 1); i++) {
        const struct nki_ap *ap = operand->kind == NKI_OPERAND_APS ? operand->aps[i] : operand->ap;
        const struct nki_storage *storage = &l->program->storages.at[ap->storage];
        if (storage->space != NKI_HBM && storage->blocks > 1 && spans_blocks(storage, ap))
            l->is_whole[ap->storage] = true;
    }
}

/* Whether a constant is 1 where the row is the column and 0 elsewhere. */
static bool is_identity(const struct nki_storage *storage) {
    if (storage->n_dims != 2 || storage->shape[0] != storage->shape[1])
        return false;
    int64_t n = storage->shape[0];
    size_t size = dtype_bytes(storage->dtype);
    const uint8_t *data = storage->constant;
    for (int64_t i = 0; i < n * n; i++) {
        float value;
        device_to_float(storage->dtype, data + (size_t)i * size, &value, 1);
        if (value != (i / n == i % n))
            return false;
    }
    return true;
}

/* A matrix that chooses holds a rule instead of numbers. */
static void put_identity(struct lift *l, uint32_t id) {
    int64_t n = l->program->storages.at[id].shape[0];
    struct form place = form_var(0, 1), column = form_var(1, -1);
    form_add(&place, &column, 1);
    value_id value = make_binary(l, NKI_FUNC_EQUAL, make_place(l, &place), make_number(l, 0));
    struct piece piece = {.count = 2, .dim = {{n, n}, {n, 1}}, .value = value};
    *vec_push(&lift_store_at(l, id, 0)->pieces) = piece;
}

void lift_stores_open(struct lift *l) {
    const struct nki_program *program = l->program;
    size_t count = 0;
    l->store_base = mem_alloc(program->storages.len + 1, sizeof *l->store_base);
    l->is_whole = mem_alloc(program->storages.len + 1, sizeof *l->is_whole);
    for (size_t i = 0; i < program->instrs.len; i++)
        for (int k = 0; k < program->instrs.at[i].n_operands; k++) {
            const struct nki_operand *operand = &program->instrs.at[i].operands[k];
            if (operand->kind == NKI_OPERAND_AP || operand->kind == NKI_OPERAND_APS)
                look_at_blocks(l, operand);
        }
    for (size_t s = 0; s < program->storages.len; s++) {
        const struct nki_storage *storage = &program->storages.at[s];
        l->store_base[s] = count;
        l->is_whole[s] |= storage->space == NKI_HBM || storage->blocks <= 1;
        count += l->is_whole[s] ? 1 : storage->blocks;
    }
    l->store_base[program->storages.len] = count;
    l->stores = mem_alloc(count + 1, sizeof *l->stores);
    for (uint32_t s = 0; s < program->storages.len; s++)
        if (program->storages.at[s].constant && is_identity(&program->storages.at[s]))
            put_identity(l, s);
}

void lift_stores_close(struct lift *l) {
    for (size_t i = 0; l->stores && i < l->store_base[l->program->storages.len]; i++)
        vec_free(&l->stores[i].pieces);
    free(l->stores);
    free(l->store_base);
    free(l->is_whole);
}

struct store *lift_store_at(struct lift *l, uint32_t id, int64_t offset) {
    const struct nki_storage *storage = &l->program->storages.at[id];
    size_t block = 0;
    if (!l->is_whole[id]) {
        int64_t row = row_of(storage);
        block = (size_t)(offset % row / (row / (int64_t)storage->blocks));
    }
    return &l->stores[l->store_base[id] + block];
}

/* The steps of a storage's own shape. */
static void put_natural(const struct nki_storage *storage, struct radix *radix) {
    int64_t step = 1;
    radix_put(radix, 1, false);
    if (storage->space != NKI_HBM) {
        radix_put(radix, row_of(storage), false);
        return;
    }
    for (int d = storage->n_dims - 1; d > 0; d--)
        radix_put(radix, step *= storage->shape[d], false);
}

/* The digit of an address from which on all it has left is smaller; what is left is in *rest. */
static void divide(const struct radix *radix, int64_t address, int64_t *digits) {
    for (int j = 0; j < radix->count; j++) {
        digits[j] = address / radix->step[j];
        address %= radix->step[j];
    }
}

static bool fits_chain(struct radix *radix) {
    for (int j = radix->count - 2; j >= 0; j--)
        if (radix->step[j] % radix->step[j + 1]) {
            if (radix->is_own[j] && radix->is_own[j + 1])
                return false;
            radix_drop(radix, radix->is_own[j] ? j + 1 : j);
            j = radix->count - 1;
        }
    return radix->count > 0 && radix->step[radix->count - 1] == 1;
}

/* The digits of a piece: from low[j] on, size[j] of them. False where no steps tell it so. */
static bool divide_piece(struct radix *radix, const struct piece *piece, int64_t *low,
                         int64_t *size) {
    for (;;) {
        int carries = -1;
        divide(radix, piece->offset, low);
        for (int j = 0; j < radix->count; j++) {
            size[j] = 1;
            for (int d = 0; d < piece->count; d++)
                if (piece->dim[d].step == radix->step[j])
                    size[j] = piece->dim[d].n;
            if (j > 0 && low[j] + size[j] > radix->step[j - 1] / radix->step[j])
                carries = j - 1;
        }
        if (carries < 0)
            return true;
        if (radix->is_own[carries])
            return false;
        radix_drop(radix, carries);
    }
}

static bool radix_of(const struct nki_storage *storage, const struct piece *piece,
                     struct radix *radix) {
    put_natural(storage, radix);
    for (int d = 0; d < piece->count; d++)
        radix_put(radix, piece->dim[d].step, true);
    return fits_chain(radix);
}

/* ---- regions against pieces --------------------------------------------------------------------
 */

enum relation { APART, WITHIN, CUT };

static enum relation impossible(struct cut *cut) {
    *cut = (struct cut){.kind = CUT_IMPOSSIBLE};
    return CUT;
}

/* A digit that becomes too large carries: the variable has to be divided there. */
static enum relation cut_carry(const struct region *region, const struct digits *digits, int j,
                               int64_t ratio, struct cut *cut) {
    int var = -1;
    for (int v = 0; v < region->vars; v++)
        if (digits->by[j][v] && region->count[v] > 1 &&
            (var < 0 ||
             digits->by[j][v] * region->count[v] > digits->by[j][var] * region->count[var]))
            var = v;
    if (var < 0)
        return impossible(cut);
    int64_t by = digits->by[j][var], inner = ratio / by;
    if (digits->low[j] % ratio == 0 && ratio % by == 0 && region->count[var] > inner &&
        region->count[var] % inner == 0 && inner > 1) {
        *cut = (struct cut){CUT_FACTOR, var, inner};
        return CUT;
    }
    int64_t at = (ratio - digits->low[j] + by - 1) / by;
    *cut = (struct cut){CUT_AT, var, at};
    return at > 0 && at < region->count[var] ? CUT : impossible(cut);
}

/* A range of a digit that lies in the piece's in part. */
static enum relation cut_range(const struct region *region, const struct digits *digits, int j,
                               const int64_t piece[2], struct cut *cut) {
    int var = -1;
    for (int v = 0; v < region->vars; v++)
        if (digits->by[j][v] && region->count[v] > 1 &&
            (var < 0 || digits->by[j][v] > digits->by[j][var]))
            var = v;
    if (var < 0)
        return impossible(cut);
    int64_t by = digits->by[j][var], low = digits->low[j];
    int64_t at =
        low < piece[0] ? (piece[0] - low + by - 1) / by : (piece[0] + piece[1] - low + by - 1) / by;
    *cut = (struct cut){CUT_AT, var, at};
    return at > 0 && at < region->count[var] ? CUT : impossible(cut);
}

static bool divide_region(const struct region *region, const struct radix *radix,
                          struct digits *digits) {
    memset(digits, 0, sizeof *digits);
    if (region->offset < 0)
        return false;
    divide(radix, region->offset, digits->low);
    for (int v = 0; v < region->vars; v++) {
        int64_t one[MAX_DIGITS];
        if (region->count[v] == 1)
            continue;
        if (region->step[v] < 0)
            return false;
        divide(radix, region->step[v], one);
        for (int j = 0; j < radix->count; j++)
            digits->by[j][v] = one[j];
    }
    return true;
}

static int64_t last_of(const struct region *region, const struct digits *digits, int j) {
    int64_t last = digits->low[j];
    for (int v = 0; v < region->vars; v++)
        last += digits->by[j][v] * (region->count[v] - 1);
    return last;
}

static enum relation relate(const struct region *region, const struct radix *radix,
                            const int64_t *low, const int64_t *size, struct cut *cut) {
    struct digits digits;
    enum relation relation = WITHIN;
    if (!divide_region(region, radix, &digits))
        return impossible(cut);
    for (int j = 1; j < radix->count; j++) {
        int64_t ratio = radix->step[j - 1] / radix->step[j];
        if (last_of(region, &digits, j) >= ratio)
            return cut_carry(region, &digits, j, ratio, cut);
    }
    for (int j = 0; j < radix->count; j++) {
        int64_t last = last_of(region, &digits, j);
        if (last < low[j] || digits.low[j] >= low[j] + size[j])
            return APART;
    }
    for (int j = 0; j < radix->count && relation == WITHIN; j++)
        if (digits.low[j] < low[j] || last_of(region, &digits, j) >= low[j] + size[j])
            relation = cut_range(region, &digits, j, (const int64_t[]){low[j], size[j]}, cut);
    return relation;
}

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

/* ---- all pieces in one shape -------------------------------------------------------------------
 */

bool lift_store_layout(struct lift *l, uint32_t id, struct layout *layout) {
    const struct nki_storage *storage = &l->program->storages.at[id];
    const struct store *store = lift_store_at(l, id, 0);
    struct radix radix = {0};
    put_natural(storage, &radix);
    for (size_t i = 0; i < store->pieces.len; i++)
        for (int d = 0; d < store->pieces.at[i].count; d++)
            radix_put(&radix, store->pieces.at[i].dim[d].step, true);
    int64_t size = 1;
    for (int d = 0; d < storage->n_dims; d++)
        size *= storage->shape[d];
    if (!fits_chain(&radix))
        return false;
    for (size_t i = 0; i < store->pieces.len; i++) {
        int64_t low[MAX_DIGITS], sizes[MAX_DIGITS];
        if (!divide_piece(&radix, &store->pieces.at[i], low, sizes))
            return false;
    }
    while (radix.count > 1 && radix.step[0] >= size)
        radix_drop(&radix, 0);
    layout->count = radix.count;
    for (int j = 0; j < radix.count; j++) {
        layout->step[j] = radix.step[j];
        layout->size[j] = (j ? radix.step[j - 1] : size) / radix.step[j];
    }
    return radix.count <= NODE_DIMS;
}

/* ---- reading -----------------------------------------------------------------------------------
 */

static value_id place_in(struct lift *l, const struct piece *piece, const struct region *region,
                         const struct radix *radix, const int64_t *low) {
    struct digits digits;
    struct swap swap = {0};
    divide_region(region, radix, &digits);
    for (int d = 0; d < piece->count; d++)
        for (int j = 0; j < radix->count; j++) {
            if (radix->step[j] != piece->dim[d].step)
                continue;
            struct form form = form_number(digits.low[j] - low[j]);
            for (int v = 0; v < region->vars; v++) {
                struct form term = form_var(v, digits.by[j][v]);
                if (!form_add(&form, &term, 1))
                    HONE_BUG("an operand has too many dimensions");
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
    if (!radix_of(&l->program->storages.at[region->storage], piece, &radix) ||
        !divide_piece(&radix, piece, low, size))
        return impossible(cut);
    enum relation relation = relate(region, &radix, low, size, cut);
    if (relation == WITHIN)
        *value = place_in(l, piece, region, &radix, low);
    return relation;
}

/* What memory holds before anything is written. */
static value_id untouched(struct lift *l, const struct region *region) {
    const struct nki_storage *storage = &l->program->storages.at[region->storage];
    if (storage->input < 0 && !storage->constant)
        return storage->zeroed ? make_number(l, 0) : make_nothing(l);
    struct form form = form_number(region->offset);
    for (int v = 0; v < region->vars; v++) {
        struct form term = form_var(v, region->count[v] > 1 ? region->step[v] : 0);
        if (!form_add(&form, &term, 1))
            HONE_BUG("an operand has too many dimensions");
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
        return impossible(cut) == APART;
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
        divide(radix, rest.offset, low);
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
    if (!fits_chain(&radix) || !divide_piece(&radix, old, low, size) ||
        !divide_piece(&radix, written, box_low, box_size))
        return false;
    divide_piece(&radix, old, low, size); /* steps may have gone */
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
    const struct nki_storage *storage = &l->program->storages.at[region->storage];
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
