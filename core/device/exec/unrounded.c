/* SPDX-License-Identifier: Apache-2.0 */
/* Execution in which tiles of narrow floats keep float32: what remains of an error is the
 * algorithm's. nki.simulate does so with NKI_PRECISE_FP=0 (its documentation); the device
 * rounds. */
#include "device/exec/run.h"

#include <stdlib.h>

static bool is_narrow(enum dtype dtype) {
    return dtype_kind(dtype) == 'f' && dtype_bytes(dtype) < dtype_bytes(DTYPE_FLOAT32);
}

/* A tile that is read as another type than its own is bits, not numbers. */
static void look_at(const struct nki_program *program, const struct nki_ap *ap, bool *wide) {
    if (ap && ap->dtype != program->storages.at[ap->storage]->dtype)
        wide[ap->storage] = false;
}

static void look_at_operand(const struct nki_program *program, const struct nki_operand *operand,
                            bool *wide) {
    if (operand->kind == NKI_OPERAND_AP)
        look_at(program, operand->ap, wide);
    for (size_t i = 0; operand->kind == NKI_OPERAND_APS && i < operand->n; i++)
        look_at(program, operand->aps[i], wide);
}

/* Those that share memory are wide together. */
static void agree(const struct nki_program *program, bool *wide) {
    bool changed = true;
    while (changed) {
        changed = false;
        for (size_t i = 0; i < program->storages.len; i++) {
            uint32_t again = program->storages.at[i]->again;
            if (!again || wide[i] == wide[again - 1])
                continue;
            wide[i] = wide[again - 1] = false;
            changed = true;
        }
    }
}

bool *exec_unrounded(const struct nki_program *program) {
    bool *wide = mem_alloc(program->storages.len + 1, sizeof *wide);
    for (size_t i = 0; i < program->storages.len; i++) {
        const struct nki_storage *at = program->storages.at[i];
        wide[i] = at->space == NKI_SBUF && is_narrow(at->dtype) && !at->constant;
    }
    for (size_t i = 0; i < program->instrs.len; i++)
        for (size_t k = 0; k < program->instrs.at[i].n_operands; k++)
            look_at_operand(program, &program->instrs.at[i].operands[k], wide);
    agree(program, wide);
    return wide;
}
