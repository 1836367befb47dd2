/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers of a line that are joined, as a change that is timed: of each so many in a row one
 * moves the bytes of all, and the others only wait for the same DMA engines. A load that stands for
 * others comes before them, a store behind them. The tiles are those of the kernel, so the bytes
 * that they fill are not counted anew. */
#include "device/compile/inner.h"

/* A copy between HBM and one tile. */
struct copy {
    const struct nki_ap *hbm, *tile;
    uint32_t block; /* of the tile */
    bool loads;
};

/* False: it is another thing, or something else of the kernel goes through those bytes of HBM. */
static bool copy_of(const struct allocation *allocation, uint32_t i, struct copy *copy) {
    const struct device_image *image = allocation->image;
    const struct nki_instr *instr = &image->program->instrs.at[i];
    size_t n;
    const struct block_operand *operands = allocation_operands(allocation, i, &n);
    *copy = (struct copy){0};
    if (instr->op != NKI_OP_DMA_COPY || instr->more->mask || n != 2)
        return false;
    for (size_t k = 0; k < n; k++) {
        bool hbm = allocation_is_in(image, operands[k].first, NKI_HBM);
        if (operands[k].ap->indirect || (operands[k].is_dst && operands[k].is_src))
            return false;
        if (hbm) {
            copy->hbm = operands[k].ap;
            copy->loads = operands[k].is_src;
        } else {
            copy->tile = operands[k].ap;
            copy->block = allocation->alias[operands[k].first];
        }
    }
    return copy->hbm && copy->tile &&
           !(image->written[copy->hbm->storage] && image->read[copy->hbm->storage]);
}

static bool same_shape(const struct nki_ap *a, const struct nki_ap *b) {
    bool same = a->n_dims == b->n_dims && a->dtype == b->dtype && a->partition == b->partition;
    for (int d = 0; same && d < a->n_dims; d++)
        same = a->count[d] == b->count[d] && a->step[d] == b->step[d];
    return same;
}

/* Whether b's bytes in HBM lie behind those of a, piece by piece. */
static bool lies_behind(const struct copy *a, const struct copy *b, double piece) {
    double bytes = (double)(b->hbm->offset - a->hbm->offset) * (double)dtype_bytes(a->hbm->dtype);
    return a->hbm->storage == b->hbm->storage && bytes == piece;
}

bool allocation_joins(const struct allocation *allocation, const uint32_t *members, uint32_t n) {
    struct copy before = {0}, copy;
    for (uint32_t k = 0; k < n; k++) {
        if (!copy_of(allocation, members[k], &copy))
            return false;
        bool goes_on =
            !k || (copy.loads == before.loads && copy.block != before.block &&
                   same_shape(copy.tile, before.tile) && same_shape(copy.hbm, before.hbm));
        if (!goes_on)
            return false;
        before = copy;
    }
    return true;
}

struct transfer transfer_joined(const struct allocation *allocation, const uint32_t *members,
                                uint32_t n, const struct device_constants *table) {
    struct transfer one = transfer_of(allocation, members[0], table);
    double piece = (double)one.bytes / (double)MAX_OF(one.descriptors, (uint64_t)1);
    struct copy before = {0}, copy;
    bool longer = copy_of(allocation, members[0], &before);
    for (uint32_t k = 1; k < n && longer; k++) {
        longer = copy_of(allocation, members[k], &copy) && lies_behind(&before, &copy, piece);
        before = copy;
    }
    return transfer_times(allocation, &one, n, longer, table);
}
