/* SPDX-License-Identifier: Apache-2.0 */
/* Other tiles for an operand: exchanged with another operand, one that another statement made, an
 * input of the same shape, another place in the same tensor. */
#include "diagnose/alter.h"

/* ---- tiles ---------------------------------------------------------------------------------- */

static bool is_alike(const struct nki_ap *a, const struct nki_ap *b) {
    bool alike = a->n_dims == b->n_dims && !a->indirect && !b->indirect;
    for (int d = 0; alike && d < a->n_dims; d++)
        alike = a->count[d] == b->count[d];
    return alike;
}

static bool swap_tiles(struct altering *altering, struct nki_instr *instr,
                       struct nki_operand *operands, const struct change_of *how, uint32_t round) {
    (void)altering, (void)instr, (void)round;
    if (operands[how->operand].kind != NKI_OPERAND_AP ||
        operands[how->other].kind != NKI_OPERAND_AP)
        return false;
    const struct nki_ap *first = operands[how->operand].ap;
    operands[how->operand].ap = operands[how->other].ap;
    operands[how->other].ap = first;
    return true;
}

bool alter_fits(const struct altering *altering, const struct nki_ap *ap) {
    const struct nki_storage *storage = altering->study->program->storages.at[ap->storage];
    bool on_chip = storage->space != NKI_HBM;
    int64_t low = ap->offset, high = ap->offset;
    int64_t size = (int64_t)((on_chip ? storage->block_bytes * storage->blocks : storage->bytes) /
                             dtype_bytes(ap->dtype));
    for (int d = on_chip ? 1 : 0; d < ap->n_dims; d++) {
        int64_t reach = ap->step[d] * (ap->count[d] - 1);
        low += MIN_OF(reach, (int64_t)0);
        high += MAX_OF(reach, (int64_t)0);
    }
    return low >= 0 && high < size;
}

static bool move_tile(struct altering *altering, struct nki_instr *instr,
                      struct nki_operand *operands, const struct change_of *how, uint32_t round) {
    (void)instr, (void)round;
    if (operands[how->operand].kind != NKI_OPERAND_AP)
        return false;
    struct nki_ap *ap =
        arena_dup(altering->arena, operands[how->operand].ap, sizeof(struct nki_ap));
    ap->offset += how->by;
    operands[how->operand].ap = ap;
    return alter_fits(altering, ap);
}

static bool is_of_a_size(const struct nki_storage *a, const struct nki_storage *b) {
    return a->space == b->space && a->dtype == b->dtype && a->partitions == b->partitions &&
           a->bytes == b->bytes && a->block_bytes == b->block_bytes && a->blocks == b->blocks;
}

static uint32_t apart(uint32_t a, uint32_t b) {
    return a > b ? a - b : b - a;
}

/* The tile or input of the same shape as storage `is` that nobody reads; UINT32_MAX: there is none.
 */
static uint32_t unread_like(const struct altering *altering, uint32_t is) {
    const struct nki_program *program = altering->study->program;
    uint32_t found = UINT32_MAX;
    for (uint32_t s = 0; s < program->storages.len; s++) {
        const struct nki_storage *other = program->storages.at[s];
        if (s == is || altering->read[s] || other->output >= 0 ||
            !is_of_a_size(program->storages.at[is], other))
            continue;
        if (found == UINT32_MAX || apart(s, is) < apart(found, is))
            found = s; /* the nearest was made in the same round */
    }
    return found;
}

static bool take_unread(struct altering *altering, struct nki_instr *instr,
                        struct nki_operand *operands, const struct change_of *how, uint32_t round) {
    (void)instr;
    (void)round;
    const struct nki_ap *is = operands[how->operand].ap;
    if (operands[how->operand].kind != NKI_OPERAND_AP || is->indirect)
        return false;
    struct nki_ap *ap = arena_dup(altering->arena, is, sizeof *ap);
    ap->storage = unread_like(altering, is->storage);
    operands[how->operand].ap = ap;
    return ap->storage != UINT32_MAX && alter_fits(altering, ap);
}

static void try_unread(struct altering *altering, size_t s, size_t k, const struct nki_ap *ap,
                       const char *name) {
    struct change_of how = {.operand = k};
    const struct nki_program *program = altering->study->program;
    uint32_t unread = unread_like(altering, ap->storage);
    if (alter_try(altering, s, take_unread, &how, 0) && unread != UINT32_MAX)
        alter_mend(altering, s, LIKELY_SAID,
                   "with `%.40s`, which nothing reads, as %s in place of `%.40s`",
                   program->storages.at[unread]->name, name,
                   program->storages.at[ap->storage]->name);
}

/* ---- of another statement ------------------------------------------------------------------- */

/* What instruction i writes on chip; NULL: nothing. */
static const struct nki_ap *written_by(const struct nki_program *program, uint32_t i) {
    struct operand_at list[OPERANDS_MOST];
    size_t n = operands_of(program, &program->instrs.at[i], list, OPERANDS_MOST);
    for (size_t k = 0; k < n; k++)
        if (list[k].writes && program->storages.at[list[k].ap->storage]->space != NKI_HBM)
            return list[k].ap;
    return NULL;
}

/* The tile that the statement `how->other` wrote last before this instruction. */
static bool take_made(struct altering *altering, struct nki_instr *instr,
                      struct nki_operand *operands, const struct change_of *how, uint32_t round) {
    const struct study *study = altering->study;
    const uint32_t *of = &altering->instrs[altering->first_of[how->other]];
    uint32_t low = 0, high = study->sites.at[how->other].count;
    (void)instr, (void)round;
    while (low < high) { /* the number of them that come before */
        uint32_t middle = (low + high) / 2;
        if (of[middle] < altering->at)
            low = middle + 1;
        else
            high = middle;
    }
    const struct nki_ap *is = operands[how->operand].ap;
    if (!low || operands[how->operand].kind != NKI_OPERAND_AP || is->indirect)
        return false;
    const struct nki_ap *made = written_by(study->program, of[low - 1]);
    struct nki_ap *ap = arena_dup(altering->arena, is, sizeof *ap);
    if (made && is_of_a_size(study->program->storages.at[made->storage],
                             study->program->storages.at[is->storage]))
        ap->storage = made->storage;
    else if (made && is_alike(made, is))
        *ap = *made;
    else
        return false;
    operands[how->operand].ap = ap;
    return alter_fits(altering, ap);
}

/* All of a row in place of a part of it, where the result has another shape anyway. */
static bool take_whole(struct altering *altering, struct nki_instr *instr,
                       struct nki_operand *operands, const struct change_of *how, uint32_t round) {
    (void)instr, (void)round;
    const struct nki_ap *is = operands[how->operand].ap;
    const struct nki_storage *storage = altering->study->program->storages.at[is->storage];
    int64_t size = (int64_t)(storage->block_bytes / dtype_bytes(is->dtype));
    if (is->n_dims != 2 || is->step[1] != 1 || is->indirect || storage->space == NKI_HBM ||
        is->count[1] >= size)
        return false;
    struct nki_ap *ap = arena_dup(altering->arena, is, sizeof *ap);
    ap->offset -= is->offset % size;
    ap->count = arena_dup(altering->arena, is->count, 2 * sizeof *is->count);
    ap->count[1] = (int32_t)size;
    operands[how->operand].ap = ap;
    return alter_fits(altering, ap);
}

static void try_whole(struct altering *altering, size_t s, size_t k, const struct nki_instr *instr,
                      const char *name) {
    struct change_of how = {.operand = k};
    bool reduces = instr->op == NKI_OP_TENSOR_REDUCE || instr->op == NKI_OP_BN_AGGR;
    if (reduces && instr->operands[k].kind == NKI_OPERAND_AP &&
        alter_try(altering, s, take_whole, &how, 0))
        alter_mend(altering, s, LIKELY_SAID, "with all of a row as %s in place of a part", name);
}

/* Another input of the same shape. */
static bool take_input(struct altering *altering, struct nki_instr *instr,
                       struct nki_operand *operands, const struct change_of *how, uint32_t round) {
    (void)instr, (void)round;
    const struct nki_ap *is = operands[how->operand].ap;
    if (operands[how->operand].kind != NKI_OPERAND_AP || is->indirect)
        return false;
    struct nki_ap *ap = arena_dup(altering->arena, is, sizeof *ap);
    ap->storage = how->storage;
    operands[how->operand].ap = ap;
    return true;
}

static bool is_listed(const uint32_t *list, size_t n, uint32_t one) {
    for (size_t i = 0; i < n; i++)
        if (list[i] == one)
            return true;
    return false;
}

#define TAKEN_MOST 24

static void try_made(struct altering *altering, size_t s, size_t k, const struct nki_ap *ap,
                     const char *name) {
    const struct study *study = altering->study;
    uint32_t tried[TAKEN_MOST + 1] = {ap->storage};
    size_t n = 1;
    for (uint32_t other = 0; other < study->sites.len && n < TAKEN_MOST; other++) {
        const struct nki_ap *made = written_by(study->program, study->sites.at[other].first);
        if (other == s || !made || study->sites.at[other].first > study->sites.at[s].first ||
            is_listed(tried, n, made->storage))
            continue;
        tried[n++] = made->storage;
        struct change_of how = {.operand = k, .other = other};
        if (alter_try(altering, s, take_made, &how, 0))
            alter_mend(altering, s, LIKELY_SAID, "with `%.40s` as %s in place of `%.40s`",
                       study->program->storages.at[made->storage]->name, name,
                       study->program->storages.at[ap->storage]->name);
    }
}

static void try_inputs(struct altering *altering, size_t s, size_t k, const struct nki_ap *ap,
                       const char *name) {
    const struct nki_program *program = altering->study->program;
    const struct nki_storage *is = program->storages.at[ap->storage];
    for (uint32_t i = 0; is->input >= 0 && i < program->storages.len; i++) {
        struct change_of how = {.operand = k, .storage = i};
        const struct nki_storage *other = program->storages.at[i];
        if (i != ap->storage && other->input >= 0 && is_of_a_size(is, other) &&
            alter_try(altering, s, take_input, &how, 0))
            alter_mend(altering, s, LIKELY_SAID, "with `%.40s` as %s in place of `%.40s`",
                       other->name, name, is->name);
    }
}

/* ---- all of them ---------------------------------------------------------------------------- */

void alter_moves(struct altering *altering, size_t s, size_t k, const struct nki_ap *ap,
                 const char *name) {
    bool on_chip = altering->study->program->storages.at[ap->storage]->space != NKI_HBM;
    for (int d = on_chip ? 1 : 0; d < ap->n_dims; d++) {
        const int64_t all = ap->step[d] * ap->count[d];
        const int64_t by[] = {ap->step[d], -ap->step[d], all, -all};
        for (size_t i = 0; i < COUNT_OF(by); i++) {
            struct change_of how = {.operand = k, .by = by[i]};
            if (how.by && (i < 2 || ap->count[d] > 1) && alter_try(altering, s, move_tile, &how, 0))
                alter_mend(altering, s, LIKELY_NUMBER, "with %s %s %s along dimension %d", name,
                           i < 2 ? "one element" : "its own extent", i % 2 ? "before" : "further",
                           d);
        }
    }
}

void alter_tile(struct altering *altering, size_t s, size_t k, const struct nki_instr *instr) {
    const struct nki_op_row *row = nki_op_row((enum nki_op)instr->op);
    const struct nki_ap *ap = instr->operands[k].ap;
    const char *name = row->params[k].name;
    for (size_t other = k + 1; other < instr->n_operands && other < row->n_params; other++) {
        struct change_of how = {.operand = k, .other = other};
        if (instr->operands[other].kind == NKI_OPERAND_AP &&
            nki_role_reads(row->params[other].role) && is_alike(ap, instr->operands[other].ap) &&
            alter_try(altering, s, swap_tiles, &how, 0))
            alter_mend(altering, s, LIKELY_SAID, "with %s and %s exchanged here", name,
                       row->params[other].name);
    }
    try_unread(altering, s, k, ap, name);
    try_whole(altering, s, k, instr, name);
    try_inputs(altering, s, k, ap, name);
    try_made(altering, s, k, ap, name);
    alter_walk(altering, s, k, name);
    alter_moves(altering, s, k, ap, name);
}
