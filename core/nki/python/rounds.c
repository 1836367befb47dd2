/* SPDX-License-Identifier: Apache-2.0 */
/* Which instructions belong to which round of a loop whose rounds may run in any order. A program
 * notes only rounds that have instructions, when the first of them is made. */
#include "nki/python/inner.h"

void rounds_open(struct interp *in, const struct nki_node *loop, bool is_program) {
    *vec_push(&in->rounds) = (struct open_round){
        .loop = ++in->n_round_loops, .loc = interp_loc(in, loop), .is_program = is_program};
}

void rounds_next(struct interp *in, int64_t item) {
    struct open_round *round = &in->rounds.at[in->rounds.len - 1];
    round->item = item;
    round->number = 0;
}

void rounds_close(struct interp *in) {
    in->rounds.len--;
}

static void mark(struct nki_program *program, uint32_t round) {
    size_t n = program->round_marks.len;
    if (n ? program->round_marks.at[n - 1].round != round : round)
        *vec_push(&program->round_marks) =
            (struct nki_round_mark){(uint32_t)program->instrs.len, round};
}

void rounds_mark(struct interp *in) {
    struct nki_program *program = in->program;
    uint32_t around = 0;
    for (size_t k = 0; k < in->rounds.len; k++) {
        struct open_round *round = &in->rounds.at[k];
        if (!round->number) {
            *vec_push(&program->rounds) = (struct nki_round){.loop = round->loop,
                                                             .around = around,
                                                             .loc = round->loc,
                                                             .is_program = round->is_program,
                                                             .item = round->item};
            round->number = (uint32_t)program->rounds.len;
        }
        around = round->number;
    }
    mark(program, around);
}

void rounds_mark_copies(struct interp *in, bool any_order) {
    if (any_order)
        mark(in->program, NKI_ROUND_UNKNOWN);
    else if (in->rounds.len)
        rounds_mark(in);
}
