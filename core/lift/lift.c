/* SPDX-License-Identifier: Apache-2.0 */
/* From a program to its graph, and what is told of it. */
#include "lift/private.h"

#include <stdlib.h>

static int line_of(const struct nki_program *program, uint32_t loc) {
    const struct nki_loc *own = nki_loc_own(program, loc);
    return own ? (int)own->line : 0;
}

static bool is_cancelled(const struct lift_limits *limits) {
    return limits && limits->cancel && *limits->cancel;
}

static bool within_limits(const struct nki_program *program, const struct lift_limits *limits,
                          struct err *err) {
    size_t most = limits && limits->instructions ? limits->instructions : LIFT_MAX_INSTRUCTIONS;
    if (program->folds.len)
        return err_set(err, ERR_USAGE, "rounds of its loops were left out; lift a whole program");
    if (program->instrs.len > most)
        return err_set(err, ERR_USAGE,
                       "it has %zu instructions; what kernels of more than %zu compute is not "
                       "looked for",
                       program->instrs.len, most);
    return true;
}

static bool gave_up(const struct lift *l, struct err *err) {
    return err_set(err, ERR_USAGE, "it has too many %s to say what it computes (line %d)", l->limit,
                   line_of(l->program, l->loc));
}

static bool follow(struct lifted *lifted, struct err *err) {
    struct lift *l = &lifted->l;
    for (size_t i = 0; i < l->program->instrs.len; i++) {
        if (i % 256 == 0 && is_cancelled(l->limits))
            return err_set(err, ERR_CANCELLED, "stopped");
        lift_step(l, &l->program->instrs.at[i]);
        if (l->limit)
            return gave_up(l, err);
        if (l->hangs_on_numbers)
            return err_set(err, ERR_USAGE,
                           "its loop at line %d has as many rounds as a number of the inputs says; "
                           "with others it computes something else",
                           line_of(l->program, l->loc));
    }
    return true;
}

struct lifted *lift_program(const struct nki_program *program, const struct lift_limits *limits,
                            struct err *err) {
    if (!within_limits(program, limits, err))
        return NULL;
    struct lifted *lifted = mem_alloc(1, sizeof *lifted);
    struct lift *l = &lifted->l;
    l->program = program;
    l->limits = limits;
    l->max_values = limits && limits->values ? limits->values : LIFT_MAX_VALUES;
    struct form zero = form_number(0);
    form_keep(l, &zero); /* row 0: of values without a form */
    lift_stores_open(l);
    lifted->outputs = mem_alloc(program->outputs.len + 1, sizeof *lifted->outputs);
    lifted->whys = mem_alloc(program->outputs.len + 1, sizeof *lifted->whys);
    lifted->why_locs = mem_alloc(program->outputs.len + 1, sizeof *lifted->why_locs);
    bool ok = follow(lifted, err);
    if (ok)
        emit_outputs(lifted);
    if (ok && !l->limit)
        return lifted;
    if (ok)
        gave_up(l, err);
    lifted_free(lifted);
    return NULL;
}

void lifted_free(struct lifted *lifted) {
    if (!lifted)
        return;
    struct lift *l = &lifted->l;
    lift_stores_close(l);
    vec_free(&l->forms);
    vec_free(&l->values);
    vec_free(&l->memo);
    vec_free(&l->opaques);
    by_hash_free(&l->form_index);
    by_hash_free(&l->value_index);
    vec_free(&lifted->nodes);
    vec_free(&lifted->emitted);
    by_hash_free(&lifted->emit_index);
    by_hash_free(&lifted->node_index);
    free(lifted->outputs);
    free(lifted->whys);
    free(lifted->why_locs);
    free(lifted);
}

bool lifted_is_whole(const struct lifted *lifted) {
    for (size_t i = 0; i < lifted->l.program->outputs.len; i++)
        if (lifted->outputs[i] < 0)
            return false;
    return lifted->l.program->outputs.len > 0;
}

size_t lifted_opaque_count(const struct lifted *lifted) {
    return lifted->l.opaques.len;
}

struct lift_opaque lifted_opaque_at(const struct lifted *lifted, size_t index) {
    const struct opaque_row *row = &lifted->l.opaques.at[index];
    return (struct lift_opaque){row->what, row->why, line_of(lifted->l.program, row->loc),
                                row->times, row->matters};
}
