/* SPDX-License-Identifier: Apache-2.0 */
/* Loops whose rounds only the device counts. They are run here; on the device the body is there
 * once: each round costs every engine a compare and a branch, and uses the tiles of the first round
 * again. And what instructions return, by which a kernel orders them: an order holds within such a
 * loop, not across its ends. */
#include "nki/api/api.h"

#include <string.h>

/* ---- loops ---------------------------------------------------------------------------------- */

/* A loop that is run: the tiles of its first round, in the order they were made. */
struct api_loop {
    struct value_seq *tiles;
    size_t at; /* how many this round has made */
    bool first;
    struct api_loop *outer;
};

/* Each engine compares and branches. The first time it is also held against what the register that
 * decides it holds. */
static bool emit_branch(struct interp *in, const struct nki_node *node, struct value decides) {
    for (size_t i = 0; i < COUNT_OF(api_sequencers); i++) {
        struct api_build b;
        int64_t holds;
        api_start(&b, in, node, NKI_OP_LOOP_BRANCH);
        b.engine = api_sequencers[i];
        if (i == 0 && !api_known(in, decides, &holds) && api_register_value(in, decides, &holds)) {
            api_put(&b, NKI_LOOP_BRANCH_dst, api_register_operand(in, decides));
            api_put(&b, NKI_LOOP_BRANCH_value, operand_int(holds));
        }
        if (!api_emit(&b))
            return false;
    }
    return true;
}

bool api_loop_begin(struct interp *in, const struct nki_node *node) {
    struct api *api = api_of(in);
    if (api->order_group)
        return interp_error(in, node, "hone-loop-in-no-reorder",
                            "a loop on the device cannot be inside nl.no_reorder(): put "
                            "nl.no_reorder() inside the loop");
    struct api_loop *loop = ARENA_NEW(interp_scratch(in), struct api_loop);
    *loop = (struct api_loop){value_tuple(in, NULL, 0).seq, 0, true, api->loop};
    api->loop = loop;
    interp_program(in)->n_registers++; /* it counts in one, so no loop around it is folded */
    interp_on_device(in, 1);
    return true;
}

bool api_loop_round(struct interp *in, const struct nki_node *node, struct value decides) {
    return emit_branch(in, node, decides);
}

void api_loop_next(struct interp *in) {
    struct api_loop *loop = api_of(in)->loop;
    loop->first = false;
    loop->at = 0;
}

void api_loop_end(struct interp *in) {
    api_of(in)->loop = api_of(in)->loop->outer;
    interp_on_device(in, -1);
}

uint32_t api_loop_tile(struct interp *in, uint32_t storage) {
    const struct nki_program *program = interp_program(in);
    const struct nki_storage *made = program->storages.at[storage];
    for (struct api_loop *loop = api_of(in)->loop; loop; loop = loop->outer) {
        if (loop->first) {
            value_push(in, loop->tiles, value_int(storage));
            continue;
        }
        if (loop->at >= loop->tiles->items.len)
            return 0;
        uint32_t same = (uint32_t)loop->tiles->items.at[loop->at++].i;
        const struct nki_storage *old = program->storages.at[same];
        bool alike = old->space == made->space && old->blocks == made->blocks &&
                     old->block_bytes == made->block_bytes && old->partitions == made->partitions;
        return !alike ? 0 : old->again ? old->again : same + 1;
    }
    return 0;
}

/* ---- orders (nki.isa.NkiInstruction of NKI 0.6) ---------------------------------------------- */

/* What a call returned: the instructions that it became, and the loop that it stands in. */
struct api_instruction {
    size_t first, end;
    const struct api_loop *loop; /* NULL: none */
};

struct value api_instruction(struct interp *in, const struct nki_node *node, size_t first) {
    const struct nki_program *program = interp_program(in);
    bool used = node->parent && node->parent->kind != NKI_EXPR;
    if (!used || !program->release ||
        !nki_release_has(interp_dialect(in), program->release, STR("nisa.NkiInstruction")))
        return NONE_VALUE;
    struct api_instruction *made = ARENA_NEW(interp_scratch(in), struct api_instruction);
    *made = (struct api_instruction){first, program->instrs.len, api_of(in)->loop};
    return (struct value){.kind = VALUE_INSTRUCTION, .instruction = made};
}

/* Whether an instruction in `inner` may wait for one in `loop`: it is the same one or around it. */
static bool is_around(const struct api_loop *loop, const struct api_loop *inner) {
    while (inner && inner != loop)
        inner = inner->outer;
    return inner == loop;
}

static bool check_order(struct interp *in, const struct nki_node *node,
                        const struct api_instruction *self, struct value producer) {
    if (producer.kind != VALUE_INSTRUCTION)
        return interp_error(in, node, "TypeError",
                            "depends_on takes what calls of instructions returned; found %s",
                            value_type_name(producer));
    if (!is_around(producer.instruction->loop, self->loop))
        return interp_error(in, node, "hone-argument",
                            "depends_on: the other instruction is inside a loop of the device "
                            "that this one is not in, so nothing tells when it is done: order "
                            "them within the loop");
    return producer.instruction->end <= self->first ||
           interp_error(in, node, "hone-gap",
                        "hone runs instructions in the order in which they are written, and "
                        "depends_on asks for one that is written later: write it first");
}

/* What an instruction has besides its operands, to be changed: most share theirs. */
static struct nki_more *own_more(struct interp *in, size_t i) {
    struct nki_instr *instr = &interp_program(in)->instrs.at[i];
    struct nki_more *own = arena_dup(interp_arena(in), instr->more, sizeof *own);
    instr->more = own;
    return own;
}

static uint32_t mark_of(struct interp *in, size_t i) {
    struct nki_program *program = interp_program(in);
    if (!program->instrs.at[i].more->mark)
        own_more(in, i)->mark = ++program->n_marks;
    return program->instrs.at[i].more->mark;
}

/* All that one call became waits for all that the other did. */
static void wait_for(struct interp *in, const struct api_instruction *self,
                     const struct api_instruction *producer) {
    uint32_t n = (uint32_t)(producer->end - producer->first);
    for (size_t i = self->first; n && i < self->end; i++) {
        struct nki_more *more = own_more(in, i);
        uint32_t *after = ARENA_ARRAY(interp_arena(in), uint32_t, more->n_after + n);
        if (more->n_after)
            memcpy(after, more->after, more->n_after * sizeof *after);
        for (size_t k = producer->first; k < producer->end; k++)
            after[more->n_after++] = mark_of(in, k);
        more->after = after;
    }
}

/* c.depends_on(b, a): c runs after both. Programs run in the order of their instructions, so this
 * is for the clock. */
static bool depends_on(struct interp *in, const struct call *call, struct value *result) {
    if (call->n_keywords)
        return interp_error(in, call->node, "TypeError", "depends_on takes no keywords");
    for (size_t i = 0; i < call->n_args; i++)
        if (!check_order(in, call->node, call->self.instruction, call->args[i]))
            return false;
    for (size_t i = 0; i < call->n_args; i++)
        wait_for(in, call->self.instruction, call->args[i].instruction);
    *result = call->self;
    return true;
}

bool api_instruction_attribute(struct interp *in, struct value self, struct str name,
                               struct value *result) {
    static const struct value_native native = {"NkiInstruction.depends_on", depends_on, NULL};
    if (!str_is(name, "depends_on"))
        return false;
    *result = value_bind(in, self, &native);
    return true;
}
