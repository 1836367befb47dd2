/* SPDX-License-Identifier: Apache-2.0 */
/* Moves an operation to another engine that can do it: what the Scalar engine and GpSimd accept is
 * taken from the engine columns of the NKI ISA reference. */
#include "rewrite/moves/private.h"

enum move { TO_SCALAR = 1, TO_GPSIMD, TO_VECTOR };
static const char *const engine_names[] = {
    [TO_SCALAR] = "scalar", [TO_GPSIMD] = "gpsimd", [TO_VECTOR] = "vector"};
static const char *const engine_titles[] = {
    [TO_SCALAR] = "Scalar", [TO_GPSIMD] = "GpSimd", [TO_VECTOR] = "Vector"};

/* Which engine does it now: as asked for, else the first that the instruction prefers. */
static bool is_on_vector(const struct rewrite_op *op) {
    struct str asked = rewrite_op_name(op->engine);
    return !asked.len || str_starts(asked, "vector") || str_starts(asked, "unknown");
}

static bool touches_psum(const struct rewrite_model *model, const struct rewrite_maker *maker,
                         const struct rewrite_op *op) {
    struct rewrite_tile data = rewrite_tile_of(model, op->data);
    struct rewrite_tile operand =
        op->operand ? rewrite_tile_of(model, op->operand) : (struct rewrite_tile){.known = true};
    bool number = op->operand_is_number || !op->operand;
    return !data.known || data.space == NKI_PSUM || maker->tile.space == NKI_PSUM ||
           (!number && (!operand.known || operand.space == NKI_PSUM));
}

/* The Scalar engine computes func(data * scale + bias), nothing else. */
static bool scalar_can(const struct rewrite_model *model, const struct rewrite_op *op) {
    switch (op->kind) {
    case REWRITE_COPY:
    case REWRITE_RECIPROCAL:
        return model->request->generation != NKI_GEN2 || op->kind != REWRITE_COPY;
    case REWRITE_SCALAR:
        return !op->reverse &&
               (str_is(op->op, "multiply") || (str_is(op->op, "add") && !op->operand_is_number));
    case REWRITE_TENSOR: {
        return str_is(op->op, "multiply") && op->operand->kind == NKI_NAME &&
               op->data->kind == NKI_NAME && str_equal(op->data->name.id, op->operand->name.id);
    }
    default: return false;
    }
}

/* GpSimd runs tensor_scalar for a few functions only (ISA reference). */
static bool gpsimd_can(const struct rewrite_model *model, const struct rewrite_maker *maker,
                       const struct rewrite_op *op) {
    if (op->kind != REWRITE_COPY && op->kind != REWRITE_TENSOR)
        return false;
    return !touches_psum(model, maker, op);
}

static double gain_of(const struct rewrite_model *model, const struct nki_node *stmt,
                      enum move move) {
    const char *bound = model->request->bound;
    double share = rewrite_share(model, stmt, 0.05);
    if (bound && strcmp(bound, engine_names[move]) == 0)
        return 0.001;
    double gain = bound && strcmp(bound, "vector") == 0 ? 0.7 : 0.15;
    return share * gain * (move == TO_GPSIMD ? 0.4 : 1);
}

static const char *why_of(const struct rewrite_model *model, enum move move) {
    const char *bound = model->request->bound;
    return arena_printf(model->arena,
                        bound && strcmp(bound, "vector") == 0
                            ? "The Vector engine limits the kernel, and the %s engine can do this "
                              "beside it."
                            : "The %s engine can do this while the Vector engine does something "
                              "else.",
                        engine_titles[move]);
}

static void add_site(struct rewrite_model *model, const struct rewrite_row *row,
                     const struct rewrite_maker *maker, enum move move) {
    struct str name = maker->def->name.id;
    struct rewrite_site *site = rewrite_site_add(model, row, maker->stmt);
    site->node[0] = maker->stmt;
    site->number[0] = move;
    site->key = arena_printf(model->arena, "engine:" STR_FMT ".%d:%s", STR_ARG(name),
                             rewrite_ordinal(model, maker->def), engine_names[move]);
    site->title = arena_printf(model->arena, "Make " STR_FMT " on the %s engine", STR_ARG(name),
                               engine_titles[move]);
    site->what = arena_printf(model->arena, "Let the %s engine compute " STR_FMT ".",
                              engine_titles[move], STR_ARG(name));
    site->why = why_of(model, move);
    site->gain = gain_of(model, maker->stmt, move);
    site->size = rewrite_share(model, maker->stmt, 0.05);
}

/* On trn1 Vector and GpSimd take turns at SBUF, where all these operands lie. What GpSimd does then
 * costs Vector the same time, and published kernels that move work to it gain nothing. */
static void add_gpsimd(struct rewrite_model *model, const struct rewrite_row *row,
                       const struct rewrite_maker *maker) {
    if (model->request->generation == NKI_GEN2)
        rewrite_decline(model, row, maker->stmt,
                        "on trn1 GpSimd and Vector cannot reach SBUF at once");
    else
        add_site(model, row, maker, TO_GPSIMD);
}

void rewrite_find_engine(struct rewrite_model *model, const struct rewrite_row *row) {
    for (uint32_t i = model->kernel->id; i <= model->kernel->last; i++) {
        struct nki_node *node = model->tree->nodes[i];
        struct rewrite_maker maker;
        if ((node->kind != NKI_ASSIGN && node->kind != NKI_EXPR) ||
            !rewrite_maker_of(model, node, &maker))
            continue;
        struct rewrite_op op = rewrite_op_of(model, &maker);
        if (!op.kind || !op.exact || !maker.tile.known || op.kind == REWRITE_FUNCTION ||
            !is_on_vector(&op) || str_is(maker.op, "activation"))
            continue;
        if (scalar_can(model, &op))
            add_site(model, row, &maker, TO_SCALAR);
        if (gpsimd_can(model, &maker, &op))
            add_gpsimd(model, row, &maker);
    }
}

/* ---- writing it ----------------------------------------------------------------------------- */

/* nisa.engine.scalar; the legacy dialect's members end in _engine. */
static const char *engine_text(const struct rewrite_model *model, const char *nisa,
                               enum move move) {
    return model->dialect == NKI_DIALECT_LEGACY
               ? arena_printf(model->arena, "%s.%s_engine", nisa, engine_names[move])
               : arena_printf(model->arena, "%s.engine.%s", nisa, engine_names[move]);
}

static const char *dtype_text(const struct rewrite_model *model, const struct rewrite_op *op) {
    return op->dtype ? arena_printf(model->arena, ", dtype=%s", rewrite_text(model, op->dtype))
                     : "";
}

static const char *activation_args(const struct rewrite_model *model, const struct rewrite_op *op) {
    struct str func = op->kind == REWRITE_RECIPROCAL ? STR("reciprocal")
                      : op->kind == REWRITE_TENSOR   ? STR("square")
                                                     : STR("copy");
    const char *operand = op->operand ? rewrite_text(model, op->operand) : "-1.0";
    const char *more = "";
    if (op->kind == REWRITE_SCALAR)
        more = arena_printf(model->arena, ", %s=%s", str_is(op->op, "add") ? "bias" : "scale",
                            operand);
    return arena_printf(model->arena, "op=%s, data=%s%s%s", rewrite_nl(model, func),
                        rewrite_text(model, op->data), more, dtype_text(model, op));
}

static const char *engine_args(const struct rewrite_model *model, const struct rewrite_op *op,
                               const char *engine) {
    const char *data = rewrite_text(model, op->data);
    const char *operand = op->operand ? rewrite_text(model, op->operand) : "-1.0";
    const char *func = rewrite_nl(model, op->op);
    if (op->kind == REWRITE_COPY)
        return arena_printf(model->arena, "src=%s%s, engine=%s", data, dtype_text(model, op),
                            engine);
    if (op->kind == REWRITE_TENSOR)
        return arena_printf(model->arena, "data1=%s, data2=%s, op=%s%s, engine=%s", data, operand,
                            func, dtype_text(model, op), engine);
    return arena_printf(model->arena, "data=%s, op0=%s, operand0=%s%s%s, engine=%s", data, func,
                        operand, op->reverse ? ", reverse0=True" : "", dtype_text(model, op),
                        engine);
}

bool rewrite_apply_engine(struct rewrite_model *model, const struct rewrite_site *site,
                          struct nki_edits *edits, struct err *err) {
    struct rewrite_maker maker;
    const char *nisa = rewrite_need_nisa(model, edits);
    if (!nisa || !rewrite_maker_of(model, site->node[0], &maker))
        return err_set(err, ERR_KERNEL, "the operation cannot be moved any more");
    struct rewrite_op op = rewrite_op_of(model, &maker);
    enum move move = (enum move)site->number[0];
    bool as_copy = op.kind == REWRITE_COPY;
    if (move == TO_SCALAR && !as_copy) {
        rewrite_set_call(model, &maker, nisa, "activation", activation_args(model, &op), edits);
        return true;
    }
    const char *name = as_copy                     ? "tensor_copy"
                       : op.kind == REWRITE_TENSOR ? "tensor_tensor"
                                                   : "tensor_scalar";
    rewrite_set_call(model, &maker, nisa, name,
                     engine_args(model, &op, engine_text(model, nisa, move)), edits);
    return true;
}
