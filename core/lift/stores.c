/* SPDX-License-Identifier: Apache-2.0 */
/* A store for each storage, or for each of its blocks, and what constants hold from the start. */
#include <stdlib.h>

#include "device/device.h"
#include "lift/private.h"

int64_t lift_row_of(const struct nki_storage *storage) {
    return (int64_t)(storage->blocks * storage->block_bytes) / (int64_t)dtype_bytes(storage->dtype);
}

/* Whether an operand lies in several blocks of its storage. */
static bool spans_blocks(const struct nki_storage *storage, const struct nki_ap *ap) {
    int64_t block = lift_row_of(storage) / MAX_OF((int64_t)storage->blocks, 1);
    int64_t low = ap->offset, high = ap->offset;
    for (int d = 1; d < ap->n_dims; d++)
        *(ap->step[d] < 0 ? &low : &high) += ap->step[d] * (ap->count[d] - 1);
    return ap->indirect || dtype_bytes(ap->dtype) != dtype_bytes(storage->dtype) ||
           low / block != high / block;
}

static void look_at_blocks(struct lift *l, const struct nki_operand *operand) {
    for (uint32_t i = 0; i < (operand->kind == NKI_OPERAND_APS ? operand->n : 1); i++) {
        const struct nki_ap *ap = operand->kind == NKI_OPERAND_APS ? operand->aps[i] : operand->ap;
        const struct nki_storage *storage = lift_storage(l, ap->storage);
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
    int64_t n = lift_storage(l, id)->shape[0];
    struct form place = form_var(0, 1), column = form_var(1, -1);
    form_add(&place, &column, 1);
    value_id value = make_binary(l, NKI_FUNC_EQUAL, make_place(l, &place), make_number(l, 0));
    struct piece piece = {.count = 2, .dim = {{n, n}, {n, 1}}, .value = value};
    *vec_push(&lift_store_at(l, id, 0)->pieces) = piece;
}

void lift_stores_open(struct lift *l) {
    const struct nki_program *program = l->program;
    size_t count = 0;
    size_t all = program->storages.len + LIFT_SUMS;
    l->store_base = mem_alloc(all + 1, sizeof *l->store_base);
    l->is_whole = mem_alloc(all + 1, sizeof *l->is_whole);
    lift_sums_open(l);
    for (size_t i = 0; i < program->instrs.len; i++)
        for (int k = 0; k < program->instrs.at[i].n_operands; k++) {
            const struct nki_operand *operand = &program->instrs.at[i].operands[k];
            if (operand->kind == NKI_OPERAND_AP || operand->kind == NKI_OPERAND_APS)
                look_at_blocks(l, operand);
        }
    for (uint32_t s = 0; s < all; s++) {
        const struct nki_storage *storage = lift_storage(l, s);
        l->store_base[s] = count;
        l->is_whole[s] |= storage->space == NKI_HBM || storage->blocks <= 1;
        count += l->is_whole[s] ? 1 : storage->blocks;
    }
    l->store_base[all] = count;
    l->stores = mem_alloc(count + 1, sizeof *l->stores);
    for (uint32_t s = 0; s < program->storages.len; s++)
        if (program->storages.at[s]->constant && is_identity(program->storages.at[s]))
            put_identity(l, s);
}

void lift_stores_close(struct lift *l) {
    for (size_t i = 0; l->stores && i < l->store_base[l->program->storages.len + LIFT_SUMS]; i++)
        vec_free(&l->stores[i].pieces);
    free(l->stores);
    free(l->store_base);
    free(l->is_whole);
}

struct store *lift_store_at(struct lift *l, uint32_t id, int64_t offset) {
    const struct nki_storage *storage = lift_storage(l, id);
    size_t block = 0;
    if (!l->is_whole[id]) {
        int64_t row = lift_row_of(storage);
        block = (size_t)(offset % row / (row / (int64_t)storage->blocks));
    }
    return &l->stores[l->store_base[id] + block];
}
