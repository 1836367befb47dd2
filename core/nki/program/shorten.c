/* SPDX-License-Identifier: Apache-2.0 */
/* A program without most rounds of its long loops, as if they had been left out when it was made
 * (nki_fold). Whoever times it needs only as many rounds as make the schedule steady. */
#include "nki/program/program.h"

#define LEAST_KEPT 3 /* periods */
#define MOST_CUTS 64 /* the schedule looks for a steady state in each */

/* What is left out of one loop: [from, to) of the instructions and of the storages. */
struct cut {
    uint32_t from, to, first_storage, end_storage;
    struct nki_fold row; /* of the short program */
};
struct shortened {
    const struct nki_program *whole;
    struct nki_program *program;
    struct cut cuts[MOST_CUTS];
    size_t n;
    bool fails; /* something refers to what is left out */
};

static void find_cuts(struct shortened *s, uint32_t rounds) {
    uint32_t gone = 0, gone_storages = 0;
    for (size_t r = 0; r < s->whole->repeats.len && s->n < MOST_CUTS; r++) {
        struct nki_fold row = s->whole->repeats.at[r];
        uint32_t kept = rounds / row.rounds + LEAST_KEPT;
        if (row.kept <= kept)
            continue;
        struct cut *cut = &s->cuts[s->n++];
        *cut = (struct cut){.from = row.first + kept * row.length,
                            .to = row.first + row.kept * row.length,
                            .first_storage = row.first_storage + kept * row.storages,
                            .end_storage = row.first_storage + row.kept * row.storages,
                            .row = row};
        cut->row.first -= gone;
        cut->row.first_storage -= gone_storages;
        cut->row.left_out = row.kept - kept;
        cut->row.kept = kept;
        gone += cut->to - cut->from;
        gone_storages += cut->end_storage - cut->first_storage;
    }
}

static uint32_t new_storage(struct shortened *s, uint32_t storage) {
    uint32_t gone = 0;
    for (size_t c = 0; c < s->n && storage >= s->cuts[c].first_storage; c++) {
        s->fails |= storage < s->cuts[c].end_storage;
        gone += s->cuts[c].end_storage - s->cuts[c].first_storage;
    }
    return storage - gone;
}

static bool moves(const struct shortened *s, const struct nki_ap *ap) {
    uint32_t first = s->cuts[0].first_storage;
    return ap->storage >= first ||
           (ap->indirect && ap->indirect->index && ap->indirect->index->storage >= first);
}

static const struct nki_ap *new_pattern(struct shortened *s, const struct nki_ap *old) {
    if (!moves(s, old))
        return old;
    struct arena *arena = s->program->arena;
    struct nki_ap *ap = arena_dup(arena, old, sizeof *ap);
    ap->storage = new_storage(s, old->storage);
    if (old->indirect && old->indirect->index) {
        struct nki_indirect *indirect = arena_dup(arena, old->indirect, sizeof *indirect);
        struct nki_ap *index = arena_dup(arena, old->indirect->index, sizeof *index);
        s->fails |= index->indirect != NULL;
        index->storage = new_storage(s, index->storage);
        indirect->index = index;
        ap->indirect = indirect;
    }
    return ap;
}

static void renumber(struct shortened *s, struct nki_operand *operand) {
    struct arena *arena = s->program->arena;
    if (operand->kind == NKI_OPERAND_AP)
        operand->ap = new_pattern(s, operand->ap);
    if (operand->kind != NKI_OPERAND_APS || !operand->n)
        return;
    const struct nki_ap **aps = arena_dup(arena, operand->aps, operand->n * sizeof *aps);
    for (uint32_t i = 0; i < operand->n; i++)
        aps[i] = new_pattern(s, aps[i]);
    operand->aps = aps;
}

static void add_instructions(struct shortened *s, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; i++) {
        struct nki_instr instr = s->whole->instrs.at[i];
        if (i >= s->cuts[0].to && instr.n_operands) {
            struct nki_operand *operands =
                arena_dup(s->program->arena, instr.operands, instr.n_operands * sizeof *operands);
            for (size_t k = 0; k < instr.n_operands; k++)
                renumber(s, &operands[k]);
            instr.operands = operands;
        }
        *vec_push(&s->program->instrs) = instr;
    }
}

static void add_storages(struct shortened *s, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; i++) {
        struct nki_storage *storage = s->whole->storages.at[i];
        if (storage->again) {
            storage = arena_dup(s->program->arena, storage, sizeof *storage);
            storage->again = new_storage(s, storage->again - 1) + 1;
        }
        *vec_push(&s->program->storages) = storage;
    }
}

static struct nki_program *begin(const struct nki_program *whole) {
    struct nki_program *program = mem_alloc(1, sizeof *program);
    *program = (struct nki_program){.arena = arena_new(),
                                    .dialect = whole->dialect,
                                    .generation = whole->generation,
                                    .kernel = whole->kernel,
                                    .returns_tuple = whole->returns_tuple,
                                    .cores = whole->cores,
                                    .n_registers = whole->n_registers,
                                    .n_marks = whole->n_marks};
    for (size_t i = 0; i < whole->locs.len; i++)
        *vec_push(&program->locs) = whole->locs.at[i];
    for (size_t i = 0; i < whole->files.len; i++)
        *vec_push(&program->files) = whole->files.at[i];
    return program;
}

static void fill(struct shortened *s) {
    const struct nki_program *whole = s->whole;
    uint32_t from = 0, from_storage = 0;
    for (size_t c = 0; c < s->n; c++) {
        add_instructions(s, from, s->cuts[c].from);
        add_storages(s, from_storage, s->cuts[c].first_storage);
        *vec_push(&s->program->folds) = s->cuts[c].row;
        from = s->cuts[c].to;
        from_storage = s->cuts[c].end_storage;
    }
    add_instructions(s, from, (uint32_t)whole->instrs.len);
    add_storages(s, from_storage, (uint32_t)whole->storages.len);
    for (size_t i = 0; i < whole->outputs.len; i++)
        *vec_push(&s->program->outputs) = new_storage(s, whole->outputs.at[i]);
}

struct nki_program *nki_program_shorten(const struct nki_program *program, uint32_t rounds,
                                        size_t most) {
    struct shortened s = {.whole = program};
    size_t length = program->instrs.len;
    find_cuts(&s, rounds);
    for (size_t c = 0; c < s.n; c++)
        length -= s.cuts[c].to - s.cuts[c].from;
    if (!s.n || length > most || program->cores > 1 || program->folds.len)
        return NULL;
    s.program = begin(program);
    fill(&s);
    if (!s.fails)
        return s.program;
    nki_program_free(s.program);
    return NULL;
}
