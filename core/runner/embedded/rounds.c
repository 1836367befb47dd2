/* SPDX-License-Identifier: Apache-2.0 */
/* Loops whose rounds only the inputs tell: the program has those of the first seed. Another seed
 * that wants other rounds is executed with a program of its own. The clock stays with the first. */
#include "runner/embedded/private.h"

#include <string.h>

bool rounds_are_others(const struct seed_run *run) {
    const struct evaluation *evaluation = run->evaluation;
    return !run->executed && run->err.kind == ERR_USAGE && !evaluation->job.input_count &&
           run != evaluation->runs;
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

void rounds_execute(struct seed_run *run, const struct array *inputs, size_t count,
                    const struct device_limits *limits) {
    struct evaluation *evaluation = run->evaluation;
    struct arena *arena = arena_new();
    struct diag_list diags = {0};
    struct device_limits own = {.cancel = limits->cancel, .memory_bytes = limits->memory_bytes};
    struct nki_program *program = compile_for(evaluation, run->inputs, arena, &diags);
    struct device_image *image =
        program && !diags.errors ? device_load(program, evaluation->generation, &diags) : NULL;
    if (image && same_outputs(evaluation->program, program)) {
        run->err = (struct err){0};
        run->executed = device_execute(image, inputs, count, run->outputs, &own, &run->err);
        run->own_rounds = run->executed;
    }
    device_unload(image);
    nki_program_free(program);
    diag_free(&diags);
    arena_free(arena);
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
    diag_add(&evaluation->diags, DIAG_NOTE, "hone-rounds-of-inputs", program->files.at[loc->file],
             (int)loc->line, (int)loc->column,
             "the inputs of seed %lld give loops other rounds than those of the first seed, whose "
             "latency is shown",
             (long long)run->seed);
    evaluation->rounds_told = true;
    (void)evaluation_tell_diags(evaluation);
}
