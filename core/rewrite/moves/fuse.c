/* SPDX-License-Identifier: Apache-2.0 */
/* Two elementwise operations in one instruction: an operation with a scalar is taken in by the
 * activation, the second tensor operation or the reduction that uses its result. */
#include "rewrite/moves/private.h"

/* One pair: `first` makes a tile that `second` uses. */
struct pair {
    struct rewrite_maker first, second;
    struct rewrite_op a, b;
};

enum {
    INTO_ACTIVATION = 1,
    INTO_TENSOR_SCALAR,
    INTO_SCALAR_TENSOR,
    WITH_REDUCTION,
    SCALAR_WITH_REDUCTION
};
static const char *const fused_into[] = {
    [INTO_ACTIVATION] = "activation",
    [INTO_TENSOR_SCALAR] = "tensor_scalar",
    [INTO_SCALAR_TENSOR] = "scalar_tensor_tensor",
    [WITH_REDUCTION] = "activation_reduce",
    [SCALAR_WITH_REDUCTION] = "tensor_scalar_reduce",
};

/* What the activation can take in: one factor, or one summand per partition (a number too in the
 * current dialect). */
static bool fits_activation(const struct rewrite_model *model, const struct pair *pair) {
    const struct rewrite_op *a = &pair->a, *b = &pair->b;
    if (a->kind != REWRITE_SCALAR || a->reverse || b->kind != REWRITE_FUNCTION)
        return false;
    if (str_is(a->op, "multiply"))
        return !b->scale;
    if (b->bias || b->scale || (!str_is(a->op, "add") && !str_is(a->op, "subtract")))
        return false;
    if (!a->operand_is_number)
        return true;
    return model->dialect != NKI_DIALECT_LEGACY && model->request->generation != NKI_GEN2;
}

static int way_of(const struct rewrite_model *model, const struct pair *pair) {
    const struct rewrite_op *a = &pair->a, *b = &pair->b;
    if (b->kind == REWRITE_REDUCE && a->kind == REWRITE_FUNCTION && str_is(b->op, "add"))
        return WITH_REDUCTION;
    if (b->kind == REWRITE_REDUCE && a->kind == REWRITE_SCALAR && !a->reverse &&
        rewrite_op_is_arithmetic(a->op) && rewrite_op_commutes(b->op))
        return SCALAR_WITH_REDUCTION;
    if (fits_activation(model, pair))
        return INTO_ACTIVATION;
    bool arithmetic = rewrite_op_is_arithmetic(a->op) && rewrite_op_is_arithmetic(b->op);
    if (a->kind == REWRITE_SCALAR && b->kind == REWRITE_SCALAR && arithmetic)
        return INTO_TENSOR_SCALAR;
    if (a->kind == REWRITE_SCALAR && b->kind == REWRITE_TENSOR && arithmetic)
        return INTO_SCALAR_TENSOR;
    return 0;
}

/* Only the second statement reads the tile that the first one makes, in the same block, and what
 * the first one reads has not changed by then. */
static bool is_legal(struct rewrite_model *model, const struct rewrite_row *row,
                     const struct pair *pair, int way) {
    const struct nki_node *from = pair->first.stmt, *to = pair->second.stmt;
    bool keeps_first = way == WITH_REDUCTION || way == SCALAR_WITH_REDUCTION;
    if (from->parent != to->parent || rewrite_block_of(from) != rewrite_block_of(to)) {
        rewrite_decline(model, row, to, "the two operations are not in one block");
        return false;
    }
    if (!keeps_first && rewrite_only_use(model, &pair->first) != to) {
        rewrite_decline(model, row, from, STR_FMT " is used elsewhere too",
                        STR_ARG(pair->first.def->name.id));
        return false;
    }
    const struct nki_node *reading[] = {pair->a.data, pair->a.operand, pair->a.scale, pair->a.bias};
    for (size_t i = 0; i < COUNT_OF(reading); i++)
        if (reading[i] && !rewrite_same_between(model, reading[i], from, to)) {
            rewrite_decline(model, row, from, "%s changes before it is used",
                            rewrite_text(model, reading[i]));
            return false;
        }
    struct rewrite_tile tile = pair->first.tile;
    if (keeps_first && (!tile.known || tile.n_dims != 2 || !pair->second.tile.known ||
                        pair->second.tile.n_dims != 2)) {
        rewrite_decline(model, row, to,
                        "only rows of two-dimensional tiles can be reduced on the way");
        return false;
    }
    return model->nisa || rewrite_can_nisa(model);
}

static double gain_of(const struct rewrite_model *model, const struct pair *pair, int way) {
    double first = rewrite_share(model, pair->first.stmt, 0.1);
    double second = rewrite_share(model, pair->second.stmt, 0.1);
    if (way == WITH_REDUCTION || way == SCALAR_WITH_REDUCTION)
        return second * 0.8;
    return way == INTO_TENSOR_SCALAR ? (first < second ? first : second) * 0.9 : first * 0.8;
}

static bool read_pair(const struct rewrite_model *model, struct nki_node *stmt, struct pair *pair,
                      bool operand) {
    if (!rewrite_maker_of(model, stmt, &pair->second))
        return false;
    pair->b = rewrite_op_of(model, &pair->second);
    struct nki_node *through = operand ? pair->b.operand : pair->b.data;
    if (!pair->b.kind || !pair->b.exact || !through ||
        !rewrite_maker_of_use(model, through, &pair->first) || pair->first.stmt == stmt)
        return false;
    if (operand) { /* a tile on the right: only where the sides do not matter */
        if (pair->b.kind != REWRITE_TENSOR || !rewrite_op_commutes(pair->b.op))
            return false;
        pair->b.operand = pair->b.data;
        pair->b.data = through;
    }
    pair->a = rewrite_op_of(model, &pair->first);
    return pair->a.kind && pair->a.exact && !pair->a.engine && !pair->b.engine &&
           !rewrite_reads(model, pair->b.operand, &pair->first);
}

static void look_at(struct rewrite_model *model, const struct rewrite_row *row,
                    struct nki_node *stmt) {
    struct pair pair;
    for (int operand = 0; operand < 2; operand++) {
        if (!read_pair(model, stmt, &pair, operand))
            continue;
        int way = way_of(model, &pair);
        if (!way || !is_legal(model, row, &pair, way))
            continue;
        struct rewrite_site *site = rewrite_site_add(model, row, stmt);
        site->node[0] = stmt;
        site->number[0] = operand;
        site->number[1] = way;
        struct str first = pair.first.def->name.id, second = pair.second.def->name.id;
        site->key = arena_printf(model->arena, "fuse:" STR_FMT ".%d:" STR_FMT, STR_ARG(first),
                                 rewrite_ordinal(model, pair.first.def), STR_ARG(second));
        site->title = arena_printf(model->arena, "Fuse " STR_FMT " into " STR_FMT, STR_ARG(first),
                                   STR_ARG(second));
        site->what =
            arena_printf(model->arena, "Let one %s instruction make " STR_FMT " and " STR_FMT ".",
                         fused_into[way], STR_ARG(first), STR_ARG(second));
        site->why =
            "Every instruction reads and writes the whole tile; one pass is enough for both.";
        site->gain = site->size = gain_of(model, &pair, way);
    }
}

void rewrite_find_fuse(struct rewrite_model *model, const struct rewrite_row *row) {
    for (uint32_t i = model->kernel->id; i <= model->kernel->last; i++) {
        struct nki_node *node = model->tree->nodes[i];
        if (node->kind == NKI_ASSIGN || node->kind == NKI_EXPR)
            look_at(model, row, node);
    }
}

/* ---- writing it ----------------------------------------------------------------------------- */

static const char *operand_text(const struct rewrite_model *model, const struct rewrite_op *op) {
    return op->operand ? rewrite_text(model, op->operand) : "-1.0";
}

static const char *dtype_text(const struct rewrite_model *model, const struct rewrite_op *op) {
    return op->dtype ? arena_printf(model->arena, ", dtype=%s", rewrite_text(model, op->dtype))
                     : "";
}

/* The outermost loop around the first operation that does not change its operand; NULL for none. */
static const struct nki_node *outermost_same(const struct rewrite_model *model,
                                             const struct pair *pair) {
    const struct rewrite_loop *loops[REWRITE_MAX_DIMS];
    const struct nki_node *root = rewrite_root_node(pair->a.operand), *found = NULL;
    const struct nki_node *def = root ? rewrite_def_of(model, root) : NULL;
    struct rewrite_name *name = root ? rewrite_name_of(model, root->name.id) : NULL;
    if (!def || root != pair->a.operand)
        return NULL;
    for (int i = rewrite_loops_around(model, pair->first.stmt, loops) - 1; i >= 0; i--) {
        if (nki_contains(loops[i]->node, def) ||
            rewrite_is_written(model, name, loops[i]->node, NULL))
            break;
        found = loops[i]->node;
    }
    return found;
}

/* A tile with the column's values negated, made before the loops that do not change it. */
static const char *negated(const struct rewrite_model *model, const struct pair *pair,
                           const char *nisa, struct nki_edits *edits) {
    const char *of = operand_text(model, &pair->a);
    if (pair->a.operand_is_number)
        return arena_printf(model->arena, "-(%s)", of);
    const struct nki_node *root = rewrite_root_node(pair->a.operand);
    const char *name =
        rewrite_fresh_name(model, arena_printf(model->arena, "minus_" STR_FMT,
                                               STR_ARG(root ? root->name.id : STR("operand"))));
    const char *rows =
        rewrite_number(model, pair->first.tile.shape[0],
                       pair->first.alloc ? rewrite_value_of_def(pair->first.def) : NULL);
    const char *lines;
    if (model->dialect == NKI_DIALECT_LEGACY)
        lines = arena_printf(model->arena, "%s = %s(%s, -1.0)", name,
                             rewrite_nl(model, STR("multiply")), of);
    else
        lines = arena_printf(
            model->arena,
            "%s = %s\n%s.tensor_scalar(dst=%s, data=%s, op0=%s, "
            "operand0=-1.0)",
            name, rewrite_alloc_text(model, rows, "1", rewrite_nl(model, STR("float32"))), nisa,
            name, of, rewrite_nl(model, STR("multiply")));
    const struct nki_node *loop = outermost_same(model, pair);
    bool ok = loop ? rewrite_insert_above(model, edits, loop, str_of(lines))
                   : nki_edit_insert_before(edits, pair->first.stmt, str_of(lines));
    return ok ? name : NULL;
}

static const char *activation_args(const struct rewrite_model *model, const struct pair *pair,
                                   const char *nisa, struct nki_edits *edits) {
    const struct rewrite_op *a = &pair->a, *b = &pair->b;
    const char *bias = b->bias ? rewrite_text(model, b->bias) : NULL;
    const char *scale = b->scale ? rewrite_text(model, b->scale) : NULL;
    if (str_is(a->op, "multiply"))
        scale = operand_text(model, a);
    else if (str_is(a->op, "add"))
        bias = operand_text(model, a);
    else if (!(bias = negated(model, pair, nisa, edits)))
        return NULL;
    return arena_printf(model->arena, "op=%s, data=%s%s%s%s%s%s", rewrite_nl(model, b->op),
                        rewrite_text(model, a->data), bias ? ", bias=" : "", bias ? bias : "",
                        scale ? ", scale=" : "", scale ? scale : "", dtype_text(model, b));
}

static const char *tensor_args(const struct rewrite_model *model, const struct pair *pair) {
    const struct rewrite_op *a = &pair->a, *b = &pair->b;
    return arena_printf(model->arena, "data=%s, op0=%s, operand0=%s%s, op1=%s, operand1=%s%s%s",
                        rewrite_text(model, a->data), rewrite_nl(model, a->op),
                        operand_text(model, a), a->reverse ? ", reverse0=True" : "",
                        rewrite_nl(model, b->op), operand_text(model, b),
                        b->reverse ? ", reverse1=True" : "", dtype_text(model, b));
}

/* The reduction becomes a second result of the first instruction; its own statement only
 * allocates. */
static bool with_reduction(const struct rewrite_model *model, const struct pair *pair, int way,
                           const char *nisa, struct nki_edits *edits) {
    const struct rewrite_op *a = &pair->a;
    const char *sum = rewrite_made_text(model, &pair->second);
    const char *args;
    if (way == WITH_REDUCTION)
        args = arena_printf(model->arena, "op=%s, data=%s%s%s%s%s", rewrite_nl(model, a->op),
                            rewrite_text(model, a->data), a->bias ? ", bias=" : "",
                            a->bias ? rewrite_text(model, a->bias) : "", a->scale ? ", scale=" : "",
                            a->scale ? rewrite_text(model, a->scale) : "");
    else
        args =
            arena_printf(model->arena, "data=%s, op0=%s, operand0=%s", rewrite_text(model, a->data),
                         rewrite_nl(model, a->op), operand_text(model, a));
    args = arena_printf(model->arena, "%s, reduce_op=%s, reduce_res=%s%s", args,
                        rewrite_nl(model, pair->b.op), sum, dtype_text(model, a));
    rewrite_set_call(model, &pair->first, nisa, fused_into[way], args, edits);
    if (pair->second.element) { /* its storage is there already */
        nki_edit_remove_stmt(edits, pair->second.stmt);
        return true;
    }
    const struct nki_node *before = pair->first.alloc ? pair->first.alloc : pair->first.stmt;
    const char *alloc;
    if (pair->second.alloc)
        alloc = rewrite_text(model, pair->second.alloc);
    else
        alloc = arena_printf(
            model->arena, "%s = %s", sum,
            rewrite_alloc_text(model, rewrite_number(model, pair->first.tile.shape[0], NULL), "1",
                               rewrite_nl(model, STR("float32"))));
    rewrite_remove_maker(&pair->second, edits);
    return nki_edit_insert_before(edits, before, str_of(alloc));
}

bool rewrite_apply_fuse(struct rewrite_model *model, const struct rewrite_site *site,
                        struct nki_edits *edits, struct err *err) {
    struct pair pair;
    int way = (int)site->number[1];
    const char *nisa = rewrite_need_nisa(model, edits);
    if (!nisa || !read_pair(model, site->node[0], &pair, site->number[0] != 0))
        return err_set(err, ERR_KERNEL, "the two operations cannot be fused any more");
    if (way == WITH_REDUCTION || way == SCALAR_WITH_REDUCTION)
        return with_reduction(model, &pair, way, nisa, edits) ||
               err_set(err, ERR_KERNEL, "there is no room for a line");
    const char *args = way == INTO_ACTIVATION ? activation_args(model, &pair, nisa, edits)
                                              : tensor_args(model, &pair);
    if (!args)
        return err_set(err, ERR_KERNEL, "there is no room for a line");
    rewrite_set_call(model, &pair.second, nisa, fused_into[way], args, edits);
    rewrite_remove_maker(&pair.first, edits);
    return true;
}
