/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises functions of the Scalar engine that a kernel spells out step by step: sigmoid, silu
 * and the reciprocal square root. */
#include "rewrite/moves/private.h"

#define MAX_STEPS 6

/* A chain that was recognised: func(data), and the steps that fall away. */
struct chain {
    const char *func;
    struct nki_node *data;
    struct rewrite_maker steps[MAX_STEPS];
    int n_steps;
    bool step_is_single[MAX_STEPS];
};

/* The step that makes `expr`, if that is a single statement; the chain remembers it. */
static bool step_of(const struct rewrite_model *model, const struct nki_node *expr,
                    struct chain *chain, struct rewrite_op *op) {
    if (chain->n_steps == MAX_STEPS)
        return false;
    struct rewrite_maker *maker = &chain->steps[chain->n_steps];
    if (!expr || !rewrite_maker_of_use(model, expr, maker))
        return false;
    *op = rewrite_op_of(model, maker);
    chain->n_steps++;
    return op->kind && op->exact;
}

/* exp(-x): nl.exp of x * -1, or an activation with scale -1. */
static struct nki_node *exp_of_minus(const struct rewrite_model *model, struct rewrite_op *op,
                                     struct chain *chain) {
    struct rewrite_op inner;
    if (op->kind != REWRITE_FUNCTION || !str_is(op->op, "exp") || op->bias)
        return NULL;
    if (op->scale)
        return rewrite_is_value(op->scale, -1) ? op->data : NULL;
    if (!step_of(model, op->data, chain, &inner) || inner.kind != REWRITE_SCALAR ||
        !str_is(inner.op, "multiply") || (inner.operand && !rewrite_is_value(inner.operand, -1)))
        return NULL;
    return inner.data;
}

/* 1 + exp(-x) */
static struct nki_node *one_plus_exp(const struct rewrite_model *model, const struct nki_node *expr,
                                     struct chain *chain) {
    struct rewrite_op add, power;
    if (!step_of(model, expr, chain, &add) || add.kind != REWRITE_SCALAR ||
        !str_is(add.op, "add") || !rewrite_is_value(add.operand, 1) ||
        !step_of(model, add.data, chain, &power))
        return NULL;
    return exp_of_minus(model, &power, chain);
}

/* 1 / (1 + exp(-x)), or a call of sigmoid */
static struct nki_node *sigmoid_of(const struct rewrite_model *model, const struct rewrite_op *op,
                                   struct chain *chain) {
    if (op->kind == REWRITE_RECIPROCAL)
        return one_plus_exp(model, op->data, chain);
    return op->kind == REWRITE_FUNCTION && str_is(op->op, "sigmoid") && !op->scale && !op->bias
               ? op->data
               : NULL;
}

/* x * sigmoid(x), either way round */
static bool is_silu(const struct rewrite_model *model, const struct rewrite_op *op,
                    struct chain *chain) {
    struct nki_node *sides[] = {op->data, op->operand};
    if (op->kind != REWRITE_TENSOR || !str_is(op->op, "multiply"))
        return false;
    for (int i = 0; i < 2; i++) {
        struct rewrite_op gate;
        chain->n_steps = 0;
        if (!step_of(model, sides[i], chain, &gate))
            continue;
        chain->data = sigmoid_of(model, &gate, chain);
        chain->func = "silu";
        if (rewrite_same_view(model, chain->data, sides[1 - i]))
            return true;
    }
    return false;
}

static bool recognise(const struct rewrite_model *model, const struct rewrite_op *op,
                      struct chain *chain) {
    if (is_silu(model, op, chain))
        return true;
    chain->n_steps = 0;
    struct rewrite_op root;
    if (op->kind != REWRITE_RECIPROCAL)
        return false;
    chain->data = one_plus_exp(model, op->data, chain);
    chain->func = "sigmoid";
    if (chain->data)
        return true;
    chain->n_steps = 0;
    chain->func = "rsqrt";
    if (!step_of(model, op->data, chain, &root) || root.kind != REWRITE_FUNCTION ||
        !str_is(root.op, "sqrt") || root.scale || root.bias)
        return false;
    chain->data = root.data;
    return true;
}

/* Steps in one block, and the data unchanged since the first of them. */
static bool is_legal(struct rewrite_model *model, const struct rewrite_row *row,
                     const struct rewrite_maker *last, const struct chain *chain) {
    const struct nki_node *first = last->stmt;
    for (int i = 0; i < chain->n_steps; i++) {
        if (rewrite_block_of(chain->steps[i].stmt) != rewrite_block_of(last->stmt)) {
            rewrite_decline(model, row, last->stmt, "the steps of %s are not in one block",
                            chain->func);
            return false;
        }
        if (chain->steps[i].stmt->id < first->id)
            first = chain->steps[i].stmt;
    }
    if (rewrite_same_between(model, chain->data, first, last->stmt))
        return true;
    rewrite_decline(model, row, last->stmt, "%s changes between the steps",
                    rewrite_text(model, chain->data));
    return false;
}

/* The chain ends in `last`. A step falls away when only the later ones read it. */
static void mark_single(const struct rewrite_model *model, const struct rewrite_maker *last,
                        struct chain *chain) {
    const struct nki_node *reader = last->stmt;
    for (int i = 0; i < chain->n_steps; i++) {
        chain->step_is_single[i] = reader && rewrite_only_use(model, &chain->steps[i]) == reader;
        reader = chain->step_is_single[i] ? chain->steps[i].stmt : NULL;
    }
}

static void look_at(struct rewrite_model *model, const struct rewrite_row *row,
                    struct nki_node *stmt) {
    struct rewrite_maker maker;
    struct chain chain = {0};
    if (!rewrite_maker_of(model, stmt, &maker))
        return;
    struct rewrite_op op = rewrite_op_of(model, &maker);
    if (!op.kind || !op.exact || !recognise(model, &op, &chain) ||
        !is_legal(model, row, &maker, &chain))
        return;
    struct rewrite_site *site = rewrite_site_add(model, row, stmt);
    struct str name = maker.def->name.id;
    mark_single(model, &maker, &chain);
    site->node[0] = stmt;
    site->key = arena_printf(model->arena, "function:" STR_FMT ".%d:%s", STR_ARG(name),
                             rewrite_ordinal(model, maker.def), chain.func);
    site->title =
        arena_printf(model->arena, "%s instead of %d steps", chain.func, chain.n_steps + 1);
    site->what = arena_printf(model->arena, "Make " STR_FMT " with one %s of the Scalar engine.",
                              STR_ARG(name), chain.func);
    site->why = "The Scalar engine computes the whole function in one pass over the tile.";
    double share = rewrite_share(model, stmt, 0.1);
    for (int i = 0; i < chain.n_steps; i++)
        if (chain.step_is_single[i])
            share += rewrite_share(model, chain.steps[i].stmt, 0.1);
    site->gain = share * 0.75;
    site->size = 0.75;
}

void rewrite_find_function(struct rewrite_model *model, const struct rewrite_row *row) {
    for (uint32_t i = model->kernel->id; i <= model->kernel->last; i++) {
        struct nki_node *node = model->tree->nodes[i];
        if (node->kind == NKI_ASSIGN || node->kind == NKI_EXPR)
            look_at(model, row, node);
    }
}

bool rewrite_apply_function(struct rewrite_model *model, const struct rewrite_site *site,
                            struct nki_edits *edits, struct err *err) {
    struct rewrite_maker maker;
    struct chain chain = {0};
    if (!rewrite_maker_of(model, site->node[0], &maker))
        return err_set(err, ERR_KERNEL, "the steps are no longer in the kernel");
    struct rewrite_op op = rewrite_op_of(model, &maker);
    if (!recognise(model, &op, &chain))
        return err_set(err, ERR_KERNEL, "the steps are no longer in the kernel");
    mark_single(model, &maker, &chain);
    const char *data = rewrite_text(model, chain.data);
    if (!maker.alloc) {
        nki_edit_node(
            edits, maker.call,
            str_of(arena_printf(model->arena, "%s.%s(%s%s%s)", model->nl ? model->nl : "nl",
                                chain.func, data, op.dtype ? ", dtype=" : "",
                                op.dtype ? rewrite_text(model, op.dtype) : "")));
    } else {
        const char *nisa = rewrite_need_nisa(model, edits);
        rewrite_set_call(model, &maker, nisa, "activation",
                         arena_printf(model->arena, "op=%s, data=%s",
                                      rewrite_nl(model, str_of(chain.func)), data),
                         edits);
    }
    for (int i = 0; i < chain.n_steps; i++)
        if (chain.step_is_single[i])
            rewrite_remove_maker(&chain.steps[i], edits);
    return true;
}
