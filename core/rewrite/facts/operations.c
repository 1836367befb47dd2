/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise instructions under one form, whether written as nl.exp(x), nisa.activation(..) or
 * with dst=, so that fusing and moving them need not know the spellings. */
#include "rewrite/facts/inner.h"

static const char *const functions[] = {
    "exp",
    "log",
    "sqrt",
    "rsqrt",
    "square",
    "abs",
    "sign",
    "relu",
    "sin",
    "arctan",
    "tanh",
    "sigmoid",
    "silu",
    "silu_dx",
    "softplus",
    "mish",
    "gelu",
    "gelu_dx",
    "gelu_apprx_tanh",
    "gelu_apprx_sigmoid",
    "erf",
    "erf_dx",
};
static const char *const arithmetic[] = {"add", "subtract", "multiply", "maximum", "minimum"};
static const struct {
    const char *name, *op;
} reductions[] = {{"sum", "add"}, {"max", "maximum"}, {"min", "minimum"}};

static bool is_in(struct str op, const char *const *list, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (str_is(op, list[i]))
            return true;
    return false;
}

bool rewrite_op_is_arithmetic(struct str op) {
    return is_in(op, arithmetic, COUNT_OF(arithmetic));
}

bool rewrite_op_commutes(struct str op) {
    return rewrite_op_is_arithmetic(op) && !str_is(op, "subtract");
}

/* Position of an instruction's argument: the current dialect has dst first unless it is named. */
static struct nki_node *isa_arg(const struct rewrite_model *model, const struct nki_node *call,
                                const char *keyword, int position) {
    bool first = model->dialect != NKI_DIALECT_LEGACY && !nki_keyword(call, "dst");
    return rewrite_arg(call, keyword, position < 0 ? -1 : position + first);
}

static bool is_one(const struct nki_node *expr) {
    return expr->kind == NKI_CONSTANT && expr->constant.number == 1 &&
           (expr->constant.type == NKI_CONST_INT || expr->constant.type == NKI_CONST_FLOAT);
}

/* Literals, and expressions over integers and scalar parameters: anything that is not a tile. */
static bool is_number(const struct rewrite_model *model, const struct nki_node *expr, int depth) {
    int64_t value;
    if (depth > REWRITE_MAX_DEPTH)
        return false;
    if (expr->kind == NKI_CONSTANT)
        return expr->constant.type == NKI_CONST_INT || expr->constant.type == NKI_CONST_FLOAT;
    if (rewrite_int(model, expr, &value))
        return true;
    if (expr->kind == NKI_UNARY_OP)
        return is_number(model, expr->unary_op.operand, depth + 1);
    if (expr->kind == NKI_BIN_OP)
        return is_number(model, expr->bin_op.left, depth + 1) &&
               is_number(model, expr->bin_op.right, depth + 1);
    if (expr->kind == NKI_CALL) /* np.dtype(np.float32).type(1) */
        return expr->call.func->kind == NKI_ATTRIBUTE && expr->call.args.len == 1 &&
               str_is(expr->call.func->attribute.attr, "type") &&
               is_number(model, expr->call.args.at[0], depth + 1);
    if (expr->kind != NKI_NAME)
        return false;
    const struct nki_node *def = rewrite_def_of(model, expr);
    if (def)
        return rewrite_value_of_def(def) && is_number(model, rewrite_value_of_def(def), depth + 1);
    const struct rewrite_name *name = rewrite_name_of(model, expr->name.id);
    return name && name->input &&
           (name->input->kind == NKI_INPUT_FLOAT || name->input->kind == NKI_INPUT_INT);
}

/* One value per partition. */
static bool is_column(const struct rewrite_tile *tile) {
    return tile->known && tile->n_dims == 2 && tile->shape[1] == 1;
}

static bool is_wide(const struct rewrite_tile *tile) {
    return tile->known && tile->n_dims >= 2 && tile->shape[tile->n_dims - 1] > 1;
}

static enum rewrite_elementwise operand_kind(const struct rewrite_model *model,
                                             struct rewrite_op *op) {
    if (!op->data || !op->operand)
        return REWRITE_NOT_ELEMENTWISE;
    struct rewrite_tile data = rewrite_tile_of(model, op->data);
    struct rewrite_tile operand = rewrite_tile_of(model, op->operand);
    op->operand_is_number = is_number(model, op->operand, 0);
    if (data.known && (op->operand_is_number || (is_wide(&data) && is_column(&operand))))
        return REWRITE_SCALAR;
    if (!data.known || !operand.known || data.n_dims != operand.n_dims)
        return REWRITE_NOT_ELEMENTWISE;
    for (int i = 0; i < data.n_dims; i++)
        if (data.shape[i] != operand.shape[i])
            return REWRITE_NOT_ELEMENTWISE;
    return REWRITE_TENSOR;
}

/* A number or column on the left: the same with the sides swapped. */
static void put_data_first(const struct rewrite_model *model, struct rewrite_op *op) {
    if (!op->data || !op->operand)
        return;
    struct rewrite_tile left = rewrite_tile_of(model, op->data);
    struct rewrite_tile right = rewrite_tile_of(model, op->operand);
    bool swap = is_number(model, op->data, 0) || (is_column(&left) && is_wide(&right));
    if (!swap)
        return;
    struct nki_node *data = op->operand;
    op->operand = op->data;
    op->data = data;
    op->reverse = !rewrite_op_commutes(op->op);
}

static void read_nl(const struct rewrite_model *model, const struct rewrite_maker *maker,
                    struct rewrite_op *op) {
    const struct nki_node *call = maker->call;
    op->data = rewrite_arg(call, "x", 0);
    if (rewrite_op_is_arithmetic(maker->op)) {
        op->op = maker->op;
        op->operand = rewrite_arg(call, "y", 1);
        put_data_first(model, op);
        op->kind = operand_kind(model, op);
    } else if (is_in(maker->op, functions, COUNT_OF(functions))) {
        op->op = maker->op;
        op->kind = REWRITE_FUNCTION;
    } else if (str_is(maker->op, "negative")) {
        op->kind = REWRITE_SCALAR;
        op->op = STR("multiply");
        op->operand_is_number = true;
    } else if (str_is(maker->op, "copy")) {
        op->kind = REWRITE_COPY;
        op->op = maker->op;
    } else if (str_is(maker->op, "reciprocal")) {
        op->kind = REWRITE_RECIPROCAL;
        op->op = maker->op;
    }
    for (size_t i = 0; i < COUNT_OF(reductions); i++)
        if (str_is(maker->op, reductions[i].name)) {
            op->kind = REWRITE_REDUCE;
            op->op = str_of(reductions[i].op);
        }
}

static void read_tensor_scalar(const struct rewrite_model *model, const struct nki_node *call,
                               struct rewrite_op *op) {
    op->op = rewrite_op_name(isa_arg(model, call, "op0", 1));
    op->operand = isa_arg(model, call, "operand0", 2);
    const struct nki_node *reverse = isa_arg(model, call, "reverse0", 3);
    op->reverse =
        reverse && reverse->kind == NKI_CONSTANT && reverse->constant.type == NKI_CONST_TRUE;
    const struct nki_node *op1 = isa_arg(model, call, "op1", 4);
    op->exact = !op1 || (op1->kind == NKI_CONSTANT && op1->constant.type == NKI_CONST_NONE);
    op->kind = op->operand ? REWRITE_SCALAR : REWRITE_NOT_ELEMENTWISE;
    op->operand_is_number = op->operand && is_number(model, op->operand, 0);
}

bool rewrite_is_value(const struct nki_node *expr, double value) {
    while (expr && expr->kind == NKI_CALL && expr->call.func->kind == NKI_ATTRIBUTE &&
           expr->call.args.len == 1 && str_is(expr->call.func->attribute.attr, "type"))
        expr = expr->call.args.at[0];
    while (expr && expr->kind == NKI_UNARY_OP && expr->unary_op.op == NKI_UNARY_MINUS) {
        expr = expr->unary_op.operand;
        value = -value;
    }
    return expr && expr->kind == NKI_CONSTANT && expr->constant.number == value &&
           (expr->constant.type == NKI_CONST_INT || expr->constant.type == NKI_CONST_FLOAT);
}

/* A tile that a memset filled with 0. */
static bool is_zero_tile(const struct rewrite_model *model, const struct nki_node *expr) {
    struct rewrite_maker maker;
    return rewrite_maker_of_use(model, expr, &maker) && str_is(maker.op, "memset") &&
           rewrite_is_value(isa_arg(model, maker.call, "value", 1), 0);
}

static void read_nisa(const struct rewrite_model *model, const struct rewrite_maker *maker,
                      struct rewrite_op *op) {
    const struct nki_node *call = maker->call;
    op->data = isa_arg(model, call, "data", 0);
    if (str_is(maker->op, "tensor_scalar")) {
        read_tensor_scalar(model, call, op);
    } else if (str_is(maker->op, "tensor_tensor")) {
        op->data = isa_arg(model, call, "data1", 0);
        op->operand = isa_arg(model, call, "data2", 1);
        op->op = rewrite_op_name(isa_arg(model, call, "op", 2));
        op->kind = op->operand ? REWRITE_TENSOR : REWRITE_NOT_ELEMENTWISE;
    } else if (str_is(maker->op, "activation")) {
        op->op = rewrite_op_name(isa_arg(model, call, "op", 0));
        op->data = isa_arg(model, call, "data", 1);
        op->bias = isa_arg(model, call, "bias", -1);
        op->scale = isa_arg(model, call, "scale", -1);
        if (rewrite_is_none(op->bias) || is_zero_tile(model, op->bias))
            op->bias = NULL;
        if (op->scale && is_one(op->scale))
            op->scale = NULL;
        op->exact = !nki_keyword(call, "reduce_op") && !nki_keyword(call, "reduce_res");
        op->kind = str_is(op->op, "copy") ? REWRITE_COPY : REWRITE_FUNCTION;
    } else if (str_is(maker->op, "tensor_reduce")) {
        op->op = rewrite_op_name(isa_arg(model, call, "op", 0));
        op->data = isa_arg(model, call, "data", 1);
        const struct nki_node *negate = nki_keyword(call, "negate");
        op->exact =
            !negate || (negate->kind == NKI_CONSTANT && negate->constant.type == NKI_CONST_FALSE);
        op->kind = REWRITE_REDUCE;
        for (size_t i = 0; i < COUNT_OF(reductions); i++)
            if (str_is(op->op, reductions[i].name))
                op->op = str_of(reductions[i].op);
    } else if (str_is(maker->op, "tensor_copy")) {
        op->op = STR("copy");
        op->data = isa_arg(model, call, "src", 0);
        op->kind = REWRITE_COPY;
    } else if (str_is(maker->op, "reciprocal")) {
        op->op = maker->op;
        op->kind = REWRITE_RECIPROCAL;
    }
}

struct rewrite_op rewrite_op_of(const struct rewrite_model *model,
                                const struct rewrite_maker *maker) {
    struct rewrite_op op = {.exact = true};
    if (maker->module == REWRITE_NL)
        read_nl(model, maker, &op);
    else if (maker->module == REWRITE_NISA)
        read_nisa(model, maker, &op);
    op.dtype = nki_keyword(maker->call, "dtype");
    op.engine = nki_keyword(maker->call, "engine");
    if (str_starts(rewrite_op_name(op.engine), "unknown"))
        op.engine = NULL;
    const struct nki_node *mask = nki_keyword(maker->call, "mask");
    if (!rewrite_is_none(mask) || nki_keyword(maker->call, "name"))
        op.exact = false;
    if (!op.data)
        op.kind = REWRITE_NOT_ELEMENTWISE;
    return op;
}

/* ---- what fusing and moving share ----------------------------------------------------------- */

/* The statement that reads any part of the tile, apart from what makes it; NULL for several. */
static struct nki_node *only_reader(const struct rewrite_model *model,
                                    const struct rewrite_maker *maker) {
    const struct rewrite_name *name = rewrite_name_of(model, maker->def->name.id);
    struct nki_node *only = NULL;
    for (size_t i = 0; i < name->accesses.len; i++) {
        struct nki_node *stmt = name->accesses.at[i].stmt;
        if (name->accesses.at[i].how & REWRITE_BIND || stmt == maker->stmt)
            continue;
        if (only && only != stmt)
            return NULL;
        only = stmt;
    }
    return only;
}

struct nki_node *rewrite_only_use(const struct rewrite_model *model,
                                  const struct rewrite_maker *maker) {
    struct rewrite_uses uses;
    struct nki_node *only = NULL;
    if (maker->element)
        return only_reader(model, maker);
    if (!rewrite_uses_of(model, maker->def, &uses))
        return NULL;
    for (size_t i = 0; i < uses.len; i++) {
        struct nki_node *stmt = nki_statement_of(uses.at[i]);
        if (stmt == maker->stmt)
            continue;
        if (only)
            return NULL;
        only = stmt;
    }
    return only;
}

bool rewrite_same_between(const struct rewrite_model *model, const struct nki_node *expr,
                          const struct nki_node *from, const struct nki_node *to) {
    for (uint32_t i = expr->id; i <= expr->last; i++) {
        const struct nki_node *node = model->tree->nodes[i];
        struct rewrite_name *name =
            node->kind == NKI_NAME ? rewrite_name_of(model, node->name.id) : NULL;
        if (name && !map_get(&model->modules, node->name.id) && to->id > from->last + 1 &&
            rewrite_is_written_between(model, name, from->last + 1, to->id - 1))
            return false;
    }
    return true;
}
