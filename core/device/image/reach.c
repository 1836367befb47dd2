/* SPDX-License-Identifier: Apache-2.0 */
/* What operands reach, worked out once for each kind of instruction: loops repeat their
 * instructions, and only where the patterns of one lie differs from round to round. */
#include "device/image/inner.h"

static struct device_reach reach_of(const struct nki_program *program, const struct nki_ap *ap) {
    int64_t low, high, size = (int64_t)dtype_bytes(ap->dtype);
    device_ap_span(program, ap, &low, &high);
    struct device_reach reach = {.low = (low - ap->offset) * size,
                                 .high = (high - ap->offset) * size + size - 1,
                                 .bytes = (uint64_t)nki_ap_free(ap) * (uint64_t)size,
                                 .all_bytes = (uint64_t)nki_ap_count(ap) * (uint64_t)size,
                                 .size = (uint32_t)size};
    if (program->storages.at[ap->storage]->space != NKI_HBM) {
        reach.p0 = ap->partition;
        reach.p1 = ap->partition + (uint32_t)((ap->count[0] - 1) * ap->step[0]);
    }
    return reach;
}

/* Kinds that are kept. A program of more has few instructions of each. */
#define KINDS_KEPT ((size_t)4096)

void device_find_reaches(struct device_image *image) {
    struct device_operand operands[DEVICE_MAX_OPERANDS];
    VEC(struct device_operand) all = {0};
    size_t n_kinds = MIN_OF(image->kinds.len, KINDS_KEPT);
    image->reach_kinds = 0; /* until all is known */
    image->reach_base = ARENA_ARRAY(image->arena, uint32_t, n_kinds + 1);
    for (size_t kind = 0; kind < n_kinds; kind++) {
        size_t n = device_operands(image, image->kinds.at[kind], operands);
        for (size_t k = 0; k < n; k++)
            *vec_push(&all) = operands[k];
        image->reach_base[kind + 1] = (uint32_t)all.len;
    }
    image->reached = arena_dup(image->arena, all.at, all.len * sizeof *all.at);
    image->reaches = ARENA_ARRAY(image->arena, struct device_reach, all.len + 1);
    for (size_t k = 0; k < all.len; k++)
        image->reaches[k] = reach_of(image->program, all.at[k].ap);
    image->reach_kinds = (uint32_t)n_kinds;
    vec_free(&all);
}

const struct device_reach *device_reaches_anew(const struct device_image *image, size_t i,
                                               struct device_reach own[DEVICE_MAX_OPERANDS]) {
    struct device_operand operands[DEVICE_MAX_OPERANDS];
    size_t n = device_operands(image, i, operands);
    for (size_t k = 0; k < n; k++)
        own[k] = reach_of(image->program, operands[k].ap);
    return own;
}
