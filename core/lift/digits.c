/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses as digits: what a piece covers, how a region lies to it, and the shape in which all
 * pieces of a storage are boxes. */
#include "lift/digits.h"

void radix_put(struct radix *radix, int64_t step, bool is_own) {
    int at = 0;
    while (at < radix->count && radix->step[at] > step)
        at++;
    if (at < radix->count && radix->step[at] == step) {
        radix->is_own[at] |= is_own;
        return;
    }
    radix->is_full |= radix->count == MAX_DIGITS;
    if (radix->is_full)
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

/* The steps of a storage's own shape. */
static void put_natural(const struct nki_storage *storage, struct radix *radix) {
    int64_t step = 1;
    radix_put(radix, 1, false);
    if (storage->space != NKI_HBM) {
        radix_put(radix, lift_row_of(storage), false);
        return;
    }
    for (int d = storage->n_dims - 1; d > 0; d--)
        radix_put(radix, step *= storage->shape[d], false);
}

void radix_divide(const struct radix *radix, int64_t address, int64_t *digits) {
    for (int j = 0; j < radix->count; j++) {
        digits[j] = address / radix->step[j];
        address %= radix->step[j];
    }
}

bool radix_fits(struct radix *radix) {
    for (int j = radix->count - 2; j >= 0; j--)
        if (radix->step[j] % radix->step[j + 1]) {
            if (radix->is_own[j] && radix->is_own[j + 1])
                return false;
            radix_drop(radix, radix->is_own[j] ? j + 1 : j);
            j = radix->count - 1;
        }
    return !radix->is_full && radix->count > 0 && radix->step[radix->count - 1] == 1;
}

bool radix_divide_piece(struct radix *radix, const struct piece *piece, int64_t *low,
                        int64_t *size) {
    for (;;) {
        int carries = -1;
        radix_divide(radix, piece->offset, low);
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

bool radix_of(const struct nki_storage *storage, const struct piece *piece, struct radix *radix) {
    put_natural(storage, radix);
    for (int d = 0; d < piece->count; d++)
        radix_put(radix, piece->dim[d].step, true);
    return radix_fits(radix);
}

/* ---- regions against pieces --------------------------------------------------------------------
 */

enum relation cut_impossible(struct cut *cut) {
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
        return cut_impossible(cut);
    int64_t by = digits->by[j][var], inner = ratio / by;
    if (digits->low[j] % ratio == 0 && ratio % by == 0 && region->count[var] > inner &&
        region->count[var] % inner == 0 && inner > 1) {
        *cut = (struct cut){CUT_FACTOR, var, inner};
        return CUT;
    }
    int64_t at = (ratio - digits->low[j] + by - 1) / by;
    *cut = (struct cut){CUT_AT, var, at};
    return at > 0 && at < region->count[var] ? CUT : cut_impossible(cut);
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
        return cut_impossible(cut);
    int64_t by = digits->by[j][var], low = digits->low[j];
    int64_t at =
        low < piece[0] ? (piece[0] - low + by - 1) / by : (piece[0] + piece[1] - low + by - 1) / by;
    *cut = (struct cut){CUT_AT, var, at};
    return at > 0 && at < region->count[var] ? CUT : cut_impossible(cut);
}

bool radix_divide_region(const struct region *region, const struct radix *radix,
                         struct digits *digits) {
    memset(digits, 0, sizeof *digits);
    if (region->offset < 0)
        return false;
    radix_divide(radix, region->offset, digits->low);
    for (int v = 0; v < region->vars; v++) {
        int64_t one[MAX_DIGITS];
        if (region->count[v] == 1)
            continue;
        if (region->step[v] < 0)
            return false;
        radix_divide(radix, region->step[v], one);
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

enum relation radix_relate(const struct region *region, const struct radix *radix,
                           const int64_t *low, const int64_t *size, struct cut *cut) {
    struct digits digits;
    enum relation relation = WITHIN;
    if (!radix_divide_region(region, radix, &digits))
        return cut_impossible(cut);
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

/* ---- all pieces in one shape -------------------------------------------------------------------
 */

bool lift_store_layout(struct lift *l, uint32_t id, struct layout *layout) {
    const struct nki_storage *storage = lift_storage(l, id);
    const struct store *store = lift_store_at(l, id, 0);
    struct radix radix = {0};
    put_natural(storage, &radix);
    for (size_t i = 0; i < store->pieces.len; i++)
        for (int d = 0; d < store->pieces.at[i].count; d++)
            radix_put(&radix, store->pieces.at[i].dim[d].step, true);
    int64_t size = 1;
    for (int d = 0; d < storage->n_dims; d++)
        size *= storage->shape[d];
    if (!radix_fits(&radix))
        return false;
    for (size_t i = 0; i < store->pieces.len; i++) {
        int64_t low[MAX_DIGITS], sizes[MAX_DIGITS];
        if (!radix_divide_piece(&radix, &store->pieces.at[i], low, sizes))
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
