/* SPDX-License-Identifier: Apache-2.0 */
/* Loops whose rounds only the device counts. They are run here; on the device the body is there
 * once: each round costs every engine a compare and a branch, and uses the tiles of the first round
 * again. */
#include "nki/api/api.h"

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
