/* SPDX-License-Identifier: Apache-2.0 */
/* Writing values into tensors: `t[...] = value`, `t[...] += value`, nl.loop_reduce. A value that
 * the last instruction made for this statement alone is written in place instead of copied. A
 * matrix product that is added to a PSUM tile becomes an accumulation. */
#include "nki/api/api.h"

static struct nki_instr *last_instr(struct interp *in) {
    struct nki_program *program = interp_program(in);
    return program->instrs.len ? &program->instrs.at[program->instrs.len - 1] : NULL;
}

/* Whether the statement takes the value straight from the expression that makes it, so that nothing
 * else sees the value. */
static bool sole_use(struct interp *in, const struct tensor *item) {
    const struct nki_node *node = item->origin;
    if (!node || !item->producer || item->producer != interp_program(in)->instrs.len)
        return false;
    const struct nki_node *parent = node->parent;
    if (!parent)
        return false;
    if (parent->kind == NKI_ASSIGN)
        return parent->assign.targets.len == 1 && parent->assign.value == node;
    return parent->kind == NKI_AUG_ASSIGN && parent->aug_assign.value == node;
}

static bool keeps_value(enum nki_op op) {
    return op == NKI_OP_DMA_COPY || op == NKI_OP_TENSOR_COPY || op == NKI_OP_NC_TRANSPOSE ||
           op == NKI_OP_NC_MATMUL || op == NKI_OP_DMA_TRANSPOSE || op == NKI_OP_MEMSET;
}

/* Whether the instruction may write to the target itself. The memory must suit, and the value must
 * be rounded only once. */
static bool can_redirect(const struct nki_instr *instr, const struct tensor *target,
                         const struct tensor *item) {
    if (target->indirect || api_pattern_dims(target) > NKI_MAX_DIMS ||
        instr->operands[NKI_DST].kind != NKI_OPERAND_AP || !tensor_same_shape(target, item))
        return false;
    bool tensor_engine = instr->op == NKI_OP_NC_MATMUL ||
                         (instr->op == NKI_OP_NC_TRANSPOSE && item->space == NKI_PSUM);
    if (tensor_engine ? target->space != NKI_PSUM : target->space == NKI_HBM)
        return false;
    if ((instr->op == NKI_OP_DMA_COPY || instr->op == NKI_OP_DMA_TRANSPOSE) &&
        target->space != NKI_SBUF)
        return false;
    if (tensor_part(target) != tensor_part(item))
        return false;
    return target->dtype == item->dtype || item->dtype == DTYPE_FLOAT32 || keeps_value(instr->op);
}

/* The new tile was the newest storage, so it can be taken back. */
static void drop_storage(struct interp *in, const struct tensor *item) {
    struct nki_program *program = interp_program(in);
    if (item->storage + 1 == program->storages.len)
        program->storages.len--;
}

/* Makes the last instruction write to the target; with `add` it adds to the target. */
static bool redirect(struct interp *in, const struct nki_node *node, const struct tensor *target,
                     const struct tensor *item, bool add) {
    struct nki_instr *instr = last_instr(in);
    struct tensor view;
    struct tensor_clip clip;
    tensor_read(&view, target);
    if (item->mask && !tensor_mask(in, node, &view, item->mask, &clip))
        return false;
    int order[TENSOR_MAX_DIMS], at = 0;
    for (int part = 1; part >= 0; part--)
        for (int d = 0; d < view.n_dims; d++)
            if (view.dim[d].part == (part != 0))
                order[at++] = d;
    const struct nki_ap *ap = tensor_ap(in, node, &view, order);
    if (!ap)
        return false;
    struct nki_operand *operands =
        arena_dup(interp_arena(in), instr->operands, instr->n_operands * sizeof instr->operands[0]);
    operands[NKI_DST].ap = ap;
    if (add)
        operands[NKI_NC_MATMUL_accumulate] = operand_bool(true);
    instr->operands = operands;
    drop_storage(in, item);
    return true;
}

static bool same_view(const struct tensor *a, const struct tensor *b) {
    if (a->storage != b->storage || a->offset != b->offset || a->partition != b->partition ||
        a->dtype != b->dtype || !tensor_same_shape(a, b))
        return false;
    for (int d = 0; d < a->n_dims; d++)
        if (a->dim[d].step != b->dim[d].step && a->dim[d].size > 1)
            return false;
    return true;
}

/* Gives a value of fewer elements or another rank the shape of the target. */
static const struct tensor *fit(struct interp *in, const struct nki_node *node,
                                const struct tensor *target, const struct tensor *item) {
    int64_t shape[TENSOR_MAX_DIMS];
    if (tensor_same_shape(target, item))
        return item;
    for (int d = 0; d < target->n_dims; d++)
        shape[d] = target->dim[d].size;
    if (tensor_count(target) == tensor_count(item) &&
        (item->space == NKI_HBM || target->space == NKI_HBM ||
         (tensor_partitions(target) == tensor_partitions(item) && tensor_part(item) == 0 &&
          tensor_part(target) == 0)))
        return item;
    return tensor_broadcast(in, node, item, shape, target->n_dims);
}

static bool assign_tensor(struct interp *in, const struct nki_node *node,
                          const struct tensor *target, const struct tensor *item) {
    if (item->nothing || same_view(target, item))
        return true;
    if (item->loop) {
        struct api_op op = {.in = in, .node = node, .func = item->loop->func, .dst = target};
        struct value ignored;
        if (!item->loop->first)
            return api_lower_binary(&op, value_tensor(target), value_tensor(item), &ignored);
    }
    struct nki_instr *instr = last_instr(in);
    if (sole_use(in, item) && can_redirect(instr, target, item))
        return redirect(in, node, target, item, false);
    const struct tensor *source = fit(in, node, target, item);
    return source && api_copy(in, node, target, source, item->mask);
}

bool api_assign(struct interp *in, const struct nki_node *node, const struct tensor *target,
                struct value item) {
    double number;
    if (target->immutable)
        return interp_error(in, node, "err_cannot_update_immutable_parameter",
                            "a kernel parameter cannot be written: annotate it nt.mutable_tensor "
                            "and return it");
    if (item.kind == VALUE_TENSOR)
        return assign_tensor(in, node, target, item.tensor);
    if (api_want_number(item, &number)) {
        if (target->space == NKI_HBM)
            return interp_error(in, node, "err_unsupported_memory",
                                "a number cannot be written to "
                                "HBM: fill a tile in SBUF and store it");
        return api_memset(in, node, target, number);
    }
    return interp_error(in, node, "hone-argument", "a tensor cannot be assigned %s",
                        value_type_name(item));
}

bool api_accumulate(struct interp *in, const struct nki_node *node, enum nki_binary op,
                    const struct tensor *target, struct value item) {
    struct api_op lower = {.in = in, .node = node, .func = api_binary_func(op), .dst = target};
    struct value ignored;
    if (lower.func == NKI_FUNC_NONE)
        return interp_error(in, node, "hone-tensor-operator", "%s= is not defined for tensors",
                            nki_binary_text(op));
    if (item.kind == VALUE_TENSOR) {
        const struct tensor *tile = item.tensor;
        struct nki_instr *instr = last_instr(in);
        if (tile->nothing)
            return true;
        lower.mask = tile->mask;
        if (op == NKI_ADD && sole_use(in, tile) && instr->op == NKI_OP_NC_MATMUL &&
            can_redirect(instr, target, tile))
            return redirect(in, node, target, tile, true);
    }
    return api_lower_binary(&lower, value_tensor(target), item, &ignored);
}

/* ---- nl.loop_reduce ------------------------------------------------------------------------- */

/* A reduction over the iterations of enclosing loops. Loops are unrolled. So the first iteration is
 * the one in which every given loop index is 0. */
struct api_site {
    const struct nki_node *node;
    struct tensor *tile;
    struct api_site *next;
};

static bool first_iteration(struct interp *in, const struct call *call, struct value indices,
                            bool *first) {
    const struct value *items = &indices;
    size_t n = 1;
    *first = true;
    if (indices.kind == VALUE_LIST || indices.kind == VALUE_TUPLE) {
        items = indices.seq->items.at;
        n = indices.seq->items.len;
    }
    for (size_t i = 0; i < n; i++) {
        int64_t index;
        if (!api_want_int(in, call->node, "loop_indices", items[i], &index))
            return false;
        *first &= index == 0;
    }
    return true;
}

/* `x = nl.loop_reduce(..)`: the tile that all iterations of this call share. */
static bool into_name(struct interp *in, const struct call *call, const struct tensor *x,
                      const struct tensor_loop *loop, struct value *result) {
    struct api *api = api_of(in);
    struct api_site *site = api->sites;
    while (site && site->node != call->node)
        site = site->next;
    if (!site) {
        site = ARENA_NEW(interp_arena(in), struct api_site);
        *site = (struct api_site){.node = call->node, .next = api->sites};
        api->sites = site;
    }
    if (loop->first || !site->tile) {
        site->tile = api_tile_like(in, call->node, x, NKI_SBUF, x->dtype);
        if (site->tile)
            site->tile->scope = site->tile->branch = 0; /* it is what the loop leaves */
        if (!site->tile || !api_copy(in, call->node, site->tile, x, NULL))
            return false;
    } else {
        struct api_op op = {.in = in, .node = call->node, .func = loop->func, .dst = site->tile};
        struct value ignored;
        if (!api_lower_binary(&op, value_tensor(site->tile), value_tensor(x), &ignored))
            return false;
    }
    *result = value_tensor(site->tile);
    return true;
}

bool api_loop_reduce(struct interp *in, const struct call *call, struct value *result) {
    const struct signature *signature =
        interp_signature(in, "x, op, loop_indices, *, dtype=None, mask=None, name=None");
    struct value v[8];
    bool given[8];
    const struct tensor *x;
    struct tensor_loop *loop = ARENA_NEW(interp_arena(in), struct tensor_loop);
    if (!interp_bind(in, call, signature, v, given) ||
        !api_want_tensor(in, call->node, "x of nl.loop_reduce", v[0], &x) ||
        !first_iteration(in, call, v[2], &loop->first))
        return false;
    loop->func = api_func_of(v[1]);
    if (!nki_func_has(loop->func, 'r'))
        return interp_error(in, call->node, "hone-operator",
                            "nl.loop_reduce: op must be a reduction like "
                            "np.add or np.max");
    const struct nki_node *parent = call->node->parent;
    bool subscript =
        parent && parent->kind == NKI_ASSIGN && parent->assign.targets.at[0]->kind == NKI_SUBSCRIPT;
    if (!subscript)
        return into_name(in, call, x, loop, result);
    struct tensor view;
    tensor_read(&view, x);
    view.loop = loop;
    *result = value_tensor(tensor_keep(in, &view));
    return true;
}
