/* SPDX-License-Identifier: Apache-2.0 */
/* Loops whose rounds only the device knows: the program has those that the first seed's inputs
 * tell, or an assumed number. Where an execution finds others, a program is made from what its
 * registers held up to there, as often as that takes it further. The clock stays with the first
 * program. */
#include "runner/embedded/private.h"

#include <stdlib.h>
#include <string.h>

#define MOST_TURNS 100 /* programs for one seed; a `while` takes one for each round */

bool rounds_are_others(const struct seed_run *run) {
    const struct evaluation *evaluation = run->evaluation;
    return !run->executed && run->err.kind == ERR_USAGE && !evaluation->job.input_count;
}

/* What is compared, shown and freed goes by the outputs of the first seed's program. */
static bool same_outputs(const struct nki_program *a, const struct nki_program *b) {
    bool same = a->outputs.len == b->outputs.len;
    for (size_t i = 0; same && i < a->outputs.len; i++) {
        const struct nki_storage *x = a->storages.at[a->outputs.at[i]];
        const struct nki_storage *y = b->storages.at[b->outputs.at[i]];
        same = x->dtype == y->dtype && x->n_dims == y->n_dims &&
               !memcmp(x->shape, y->shape, (size_t)x->n_dims * sizeof *x->shape);
    }
    return same;
}

static size_t known_of(const struct nki_number *loaded, size_t count) {
    size_t known = 0;
    for (size_t i = 0; i < count; i++)
        known += loaded[i].is;
    return known;
}

/* Executes the run with a program for these numbers. They are replaced by what it finds; false: by
 * nothing more. */
static bool execute_with(struct seed_run *run, const struct array *inputs, size_t count,
                         struct device_limits limits, struct nki_number **told, size_t *n_told) {
    struct evaluation *evaluation = run->evaluation;
    struct arena *arena = arena_new();
    struct diag_list diags = {0};
    struct nki_program *program =
        compile_for(evaluation, run->inputs, *told, *n_told, arena, &diags);
    struct device_image *image =
        program && !diags.errors ? device_load(program, evaluation->generation, &diags) : NULL;
    size_t before = known_of(*told, *n_told);
    bool fits = image && same_outputs(evaluation->program, program);
    if (fits) {
        *n_told = (size_t)program->n_registers;
        free(*told);
        *told = limits.loaded = mem_alloc(*n_told + 1, sizeof **told);
        run->err = (struct err){0};
        run->executed = device_execute(image, inputs, count, run->outputs, &limits, &run->err);
    }
    device_unload(image);
    nki_program_free(program);
    diag_free(&diags);
    arena_free(arena);
    return fits && known_of(*told, *n_told) > before;
}

void rounds_execute(struct seed_run *run, const struct array *inputs, size_t count,
                    const struct device_limits *limits) {
    struct device_limits own = {.cancel = limits->cancel,
                                .memory_bytes = limits->memory_bytes,
                                .unrounded = limits->unrounded};
    struct nki_number *told = NULL;
    size_t n_told = 0;
    bool more = true;
    for (int turn = 0; turn < MOST_TURNS && more && rounds_are_others(run); turn++)
        more = execute_with(run, inputs, count, own, &told, &n_told);
    run->own_rounds = run->executed;
    free(told);
}

/* Where the first loop stands whose rounds a register tells; 0: nowhere. */
static uint32_t loop_of(const struct nki_program *program) {
    for (size_t i = 0; i < program->instrs.len; i++) {
        const struct nki_instr *instr = &program->instrs.at[i];
        if (instr->op == NKI_OP_LOOP_BRANCH &&
            instr->operands[NKI_LOOP_BRANCH_dst].kind == NKI_OPERAND_REG)
            return instr->loc;
    }
    return 0;
}

void rounds_tell(const struct seed_run *run) {
    struct evaluation *evaluation = run->evaluation;
    const struct nki_program *program = evaluation->program;
    if (!run->own_rounds || evaluation->rounds_told)
        return;
    const struct nki_loc *loc = &program->locs.at[loop_of(program)];
    diag_add(
        &evaluation->diags, DIAG_NOTE, "hone-rounds-of-inputs", program->files.at[loc->file],
        (int)loc->line, (int)loc->column,
        "loops have other rounds with the inputs of seed %lld than those that the latency is of",
        (long long)run->seed);
    evaluation->rounds_told = true;
    (void)evaluation_tell_diags(evaluation);
}
