/* SPDX-License-Identifier: Apache-2.0 */
/* Values as arrays: a value that depends on some variables is an array with an axis for each.
 * Values that differ by the names of variables only are one array. */
#include "lift/private.h"

#include <stdlib.h>

#define MAX_DEPTH 2000

int emit_fail(struct lifted *lifted, const char *why, uint32_t loc) {
    if (!lifted->why) {
        lifted->why = why;
        lifted->why_loc = loc;
    }
    return -1;
}

/* ---- variables ---------------------------------------------------------------------------------
 */

struct order {
    int count, vars[LIFT_VARS];
    uint64_t seen;
};

static void take_vars(struct lift *l, value_id id, uint64_t wanted, struct order *order) {
    const struct value *value = value_of(l, id);
    if (!(value->free & wanted & ~order->seen))
        return;
    const struct form *form = form_of(l, value->form);
    for (int left = form->count; left > 0; left--) {
        const struct form_term *next = NULL; /* the largest step comes first, as in the input */
        for (int i = 0; i < form->count; i++) {
            const struct form_term *term = &form->term[i];
            bool is_new = wanted >> term->var & 1 && !(order->seen >> term->var & 1);
            if (is_new && (!next || llabs(term->step) > llabs(next->step)))
                next = term;
        }
        if (!next)
            break;
        order->seen |= (uint64_t)1 << next->var;
        order->vars[order->count++] = next->var;
    }
    const value_id in[] = {value->a, value->b, value->c};
    for (int i = 0; i < 3; i++)
        if (in[i] != VALUE_NONE)
            take_vars(l, in[i], wanted, order);
}

/* Brings an array with an axis for each of `vars` into the order of the variables 0, 1, … and gives
 * it all `ndim` axes; those of others have one element. */
static int align(struct lifted *lifted, int node, const int *vars, int count, int ndim) {
    int order[NODE_DIMS] = {0}, n = 0;
    int64_t shape[NODE_DIMS];
    if (count == 0)
        return node;
    for (int v = 0; v < ndim; v++)
        for (int i = 0; i < count; i++)
            if (vars[i] == v)
                order[n++] = i;
    node = node_transpose(lifted, node, order);
    n = 0;
    for (int v = 0; v < ndim; v++) {
        bool is_there = false;
        for (int i = 0; i < count; i++)
            is_there |= vars[i] == v;
        shape[v] = is_there ? lifted->nodes.at[node].shape[n++] : 1;
    }
    return node_reshape(lifted, node, shape, ndim);
}

int emit_aligned(struct lifted *lifted, value_id value, const struct ranges *ranges, int ndim) {
    int vars[LIFT_VARS], count = 0;
    int node = emit_value(lifted, value, ranges, vars, &count);
    return node < 0 ? node : align(lifted, node, vars, count, ndim);
}

/* ---- operators ---------------------------------------------------------------------------------
 */

static const struct {
    enum nki_func func;
    const char *name, *reduction, *scan;
} names[] = {
    {NKI_FUNC_ADD, "add", "sum", "cumsum"},
    {NKI_FUNC_SUBTRACT, "subtract", NULL, NULL},
    {NKI_FUNC_MULTIPLY, "multiply", "prod", "cumprod"},
    {NKI_FUNC_DIVIDE, "divide", NULL, NULL},
    {NKI_FUNC_MAXIMUM, "maximum", "max", "cummax"},
    {NKI_FUNC_MINIMUM, "minimum", "min", NULL},
    {NKI_FUNC_POWER, "power", NULL, NULL},
    {NKI_FUNC_EQUAL, "equal", NULL, NULL},
    {NKI_FUNC_NOT_EQUAL, "not_equal", NULL, NULL},
    {NKI_FUNC_LESS, "less", NULL, NULL},
    {NKI_FUNC_LESS_EQUAL, "less_equal", NULL, NULL},
    {NKI_FUNC_GREATER, "greater", NULL, NULL},
    {NKI_FUNC_GREATER_EQUAL, "greater_equal", NULL, NULL},
    {NKI_FUNC_LOGICAL_AND, "logical_and", "all", NULL},
    {NKI_FUNC_LOGICAL_OR, "logical_or", "any", NULL},
    {NKI_FUNC_LOGICAL_XOR, "logical_xor", NULL, NULL},
    {NKI_FUNC_LOGICAL_NOT, "logical_not", NULL, NULL},
    {NKI_FUNC_ABS, "abs", NULL, NULL},
    {NKI_FUNC_SQUARE, "square", NULL, NULL},
    {NKI_FUNC_SIGN, "sign", NULL, NULL},
    {NKI_FUNC_EXP, "exp", NULL, NULL},
    {NKI_FUNC_LOG, "log", NULL, NULL},
    {NKI_FUNC_SQRT, "sqrt", NULL, NULL},
    {NKI_FUNC_SIN, "sin", NULL, NULL},
    {NKI_FUNC_COS, "cos", NULL, NULL},
    {NKI_FUNC_TAN, "tan", NULL, NULL},
    {NKI_FUNC_ARCTAN, "arctan", NULL, NULL},
    {NKI_FUNC_TANH, "tanh", NULL, NULL},
    {NKI_FUNC_SIGMOID, "expit", NULL, NULL},
    {NKI_FUNC_ERF, "erf", NULL, NULL},
    {NKI_FUNC_CEIL, "ceil", NULL, NULL},
    {NKI_FUNC_FLOOR, "floor", NULL, NULL},
    {NKI_FUNC_TRUNC, "trunc", NULL, NULL},
};

/* what: 0 an operator, 1 a reduction, 2 a scan; NULL where there is none. */
static const char *name_of(enum nki_func func, int what) {
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (names[i].func == func)
            return what == 0 ? names[i].name : what == 1 ? names[i].reduction : names[i].scan;
    return NULL;
}

static bool is_truth(enum nki_func func) {
    return nki_func_has(func, 'c') ||
           (func >= NKI_FUNC_LOGICAL_AND && func <= NKI_FUNC_LOGICAL_NOT);
}

static struct node over(const struct value *value, enum node_kind kind, const int64_t *n,
                        int ndim) {
    struct node node = {.kind = kind, .dtype = DTYPE_FLOAT32, .ndim = ndim, .loc = value->loc};
    memcpy(node.shape, n, (size_t)ndim * sizeof *n);
    return node;
}

/* A node whose operands are the value's. */
static int emit_operator(struct lifted *lifted, const struct value *value,
                         const struct ranges *ranges, struct node node) {
    const value_id in[] = {value->a, value->b, value->c};
    bool truth = value->kind != VALUE_WHERE && is_truth(value->func);
    for (int i = 0; i < 3 && in[i] != VALUE_NONE; i++) {
        int operand = emit_aligned(lifted, in[i], ranges, node.ndim);
        if (operand < 0)
            return operand;
        bool chooses = node.kind == NODE_WHERE && i == 0;
        node.in[node.in_count++] = truth || chooses ? operand : node_float(lifted, operand);
    }
    if (truth)
        node.dtype = DTYPE_BOOL;
    return node_add(lifted, node);
}

static int emit_cast(struct lifted *lifted, const struct value *value, const struct ranges *ranges,
                     struct node node) {
    if (!dtype_is_float(value->dtype))
        return emit_fail(lifted, "it is rounded to whole numbers, or to fewer bits", value->loc);
    node.op = "cast";
    node.dtype = value->dtype;
    return emit_operator(lifted, value, ranges, node);
}

static int emit_place(struct lifted *lifted, const struct value *value, struct node node) {
    const struct form *form = form_of(&lifted->l, value->form);
    node.op = "constant";
    node.plane[0] = (double)form->at;
    for (int d = 0; d < node.ndim; d++)
        node.plane[d + 1] = (double)form_step(form, d);
    return node_add(lifted, node);
}

/* ---- sums of products --------------------------------------------------------------------------
 */

#define MOST_FACTORS 12
struct product {
    value_id factor[MOST_FACTORS];
    int count;
};

static bool take_factors(struct lift *l, value_id id, struct product *product) {
    const struct value *value = value_of(l, id);
    if (value->kind == VALUE_BINARY && value->func == NKI_FUNC_MULTIPLY)
        return take_factors(l, value->a, product) && take_factors(l, value->b, product);
    if (product->count == MOST_FACTORS)
        return false;
    product->factor[product->count++] = id;
    return true;
}

static void multiply_into(struct lift *l, struct product *product, int at, int other) {
    product->factor[at] =
        make_binary(l, NKI_FUNC_MULTIPLY, product->factor[at], product->factor[other]);
    for (int i = other; i + 1 < product->count; i++)
        product->factor[i] = product->factor[i + 1];
    product->count--;
}

/* Multiplies factors until two or one are left, those first that add no axis. */
static void gather_factors(struct lift *l, struct product *product) {
    for (bool more = true; more && product->count > 1;) {
        more = false;
        for (int i = 0; i < product->count && !more; i++)
            for (int k = 0; k < product->count && !more; k++) {
                uint64_t a = value_of(l, product->factor[i])->free;
                uint64_t b = value_of(l, product->factor[k])->free;
                if (i == k || b & ~a)
                    continue;
                multiply_into(l, product, i, k);
                more = true;
            }
    }
    while (product->count > 2)
        multiply_into(l, product, 0, 1);
}

static int emit_contract(struct lifted *lifted, const struct product *product,
                         const struct ranges *ranges, uint64_t summed, struct node node) {
    node.kind = NODE_CONTRACT;
    node.op = "contract";
    (void)summed;
    for (int i = 0; i < 2; i++) {
        int vars[LIFT_VARS], count = 0;
        int operand = emit_value(lifted, product->factor[i], ranges, vars, &count);
        if (operand < 0)
            return operand;
        memcpy(node.terms[i], vars, (size_t)count * sizeof *vars);
        node.in[node.in_count++] = node_float(lifted, operand);
    }
    for (int d = 0; d < node.ndim; d++)
        node.out[d] = d;
    return node_add(lifted, node);
}

/* A sum over bound variables: the range of each begins where it says. */
static value_id take_sums(struct lift *l, value_id id, struct ranges *ranges, uint64_t *summed) {
    const struct value *value = value_of(l, id);
    while (value->kind == VALUE_REDUCE && value->func == NKI_FUNC_ADD) {
        int var = LIFT_BOUND + value->height - 1;
        ranges->n[var] = value->n;
        ranges->low[var] = value->low;
        *summed |= (uint64_t)1 << var;
        id = value->a;
        value = value_of(l, id);
    }
    return id;
}

static int emit_reduction(struct lifted *lifted, value_id body, const struct ranges *ranges,
                          uint64_t reduced, const char *op, struct node node) {
    int vars[LIFT_VARS], left[LIFT_VARS], count = 0, n = 0;
    int operand = emit_value(lifted, body, ranges, vars, &count);
    if (operand < 0)
        return operand;
    operand = node_float(lifted, operand);
    struct node reduce = lifted->nodes.at[operand];
    reduce = (struct node){.kind = NODE_REDUCE,
                           .op = op,
                           .dtype = DTYPE_FLOAT32,
                           .ndim = reduce.ndim,
                           .in = {operand},
                           .in_count = 1,
                           .loc = node.loc};
    int64_t shape[NODE_DIMS];
    for (int i = 0; i < count; i++) {
        reduce.shape[i] = lifted->nodes.at[operand].shape[i];
        if (reduced >> vars[i] & 1) {
            reduce.axes[reduce.axis_count++] = i;
            reduce.shape[i] = 1;
        } else {
            shape[n] = reduce.shape[i];
            left[n++] = vars[i];
        }
    }
    int made = node_reshape(lifted, node_add(lifted, reduce), shape, n);
    return align(lifted, made, left, n, node.ndim);
}

static int emit_sum(struct lifted *lifted, value_id id, const struct ranges *outer,
                    struct node node) {
    struct lift *l = &lifted->l;
    struct ranges ranges = *outer;
    struct product product = {0}, inside = {0}, outside = {0};
    uint64_t summed = 0;
    value_id body = take_sums(l, id, &ranges, &summed);
    if (!take_factors(l, body, &product))
        return emit_reduction(lifted, body, &ranges, summed, "sum", node);
    for (int i = 0; i < product.count; i++) {
        bool in = value_of(l, product.factor[i])->free & summed;
        struct product *to = in ? &inside : &outside;
        to->factor[to->count++] = product.factor[i];
    }
    gather_factors(l, &inside);
    int made = inside.count == 2
                   ? emit_contract(lifted, &inside, &ranges, summed, node)
                   : emit_reduction(lifted, inside.factor[0], &ranges, summed, "sum", node);
    for (int i = 0; made >= 0 && i < outside.count; i++) {
        struct node times = node;
        times.kind = NODE_BINARY;
        times.op = "multiply";
        times.in_count = 2;
        times.in[0] = made;
        times.in[1] = emit_aligned(lifted, outside.factor[i], &ranges, node.ndim);
        made = times.in[1] < 0 ? -1 : node_add(lifted, times);
    }
    return made;
}

static int emit_reduce(struct lifted *lifted, value_id id, const struct ranges *outer,
                       struct node node) {
    const struct value value = *value_of(&lifted->l, id);
    struct ranges ranges = *outer;
    int var = LIFT_BOUND + value.height - 1;
    const char *op = name_of(value.func, 1);
    if (value.func == NKI_FUNC_ADD)
        return emit_sum(lifted, id, outer, node);
    ranges.n[var] = value.n;
    ranges.low[var] = value.low;
    return op ? emit_reduction(lifted, value.a, &ranges, (uint64_t)1 << var, op, node)
              : emit_fail(lifted, "no such reduction is in the graph", value.loc);
}

/* ---- one value ---------------------------------------------------------------------------------
 */

static int emit_opaque(struct lifted *lifted, const struct value *value) {
    struct opaque_row *row = &lifted->l.opaques.at[value->place];
    row->matters = true;
    return emit_fail(lifted, row->why, row->loc);
}

static int emit_row(struct lifted *lifted, value_id id, const struct ranges *ranges, int ndim) {
    const struct value value = *value_of(&lifted->l, id);
    struct node node = over(&value, NODE_UNARY, ranges->n, ndim);
    int vars[LIFT_DIMS];
    for (int v = 0; v < ndim; v++)
        vars[v] = v;
    switch (value.kind) {
    case VALUE_NUMBER: return node_number(lifted, value.number);
    case VALUE_PLACE: node.kind = NODE_PLANE; return emit_place(lifted, &value, node);
    case VALUE_LEAF: return emit_leaf(lifted, &value, ranges, vars, ndim);
    case VALUE_OPAQUE: return emit_opaque(lifted, &value);
    case VALUE_NOTHING: return emit_fail(lifted, "it reads memory that nobody wrote", value.loc);
    case VALUE_CAST: node.kind = NODE_CAST; return emit_cast(lifted, &value, ranges, node);
    case VALUE_REDUCE: return emit_reduce(lifted, id, ranges, node);
    case VALUE_SCAN: return emit_scan(lifted, &value, ranges, ndim);
    case VALUE_GATHER: return emit_gather(lifted, &value, ranges, ndim);
    case VALUE_WHERE:
        node.kind = NODE_WHERE;
        node.op = "where";
        return emit_operator(lifted, &value, ranges, node);
    case VALUE_UNARY:
    case VALUE_BINARY:
        node.kind = value.kind == VALUE_UNARY ? NODE_UNARY : NODE_BINARY;
        node.op = name_of(value.func, 0);
        return node.op ? emit_operator(lifted, &value, ranges, node)
                       : emit_fail(lifted, "numpy has no such function", value.loc);
    default: return emit_fail(lifted, "it is not said in the graph yet", value.loc);
    }
}

static int find_emitted(struct lifted *lifted, value_id value, const int64_t *n, int count,
                        uint64_t *hash) {
    int64_t key[LIFT_DIMS + 1] = {value};
    memcpy(key + 1, n, (size_t)count * sizeof *n);
    *hash = hash_quick(key, (size_t)(count + 1) * sizeof *key);
    size_t at = 0, row;
    while (by_hash_next(&lifted->emit_index, *hash, &at, &row)) {
        const struct emitted *emitted = &lifted->emitted.at[row];
        if (emitted->value == value && emitted->count == count &&
            memcmp(emitted->n, n, (size_t)count * sizeof *n) == 0)
            return emitted->node;
    }
    return -2;
}

int emit_value(struct lifted *lifted, value_id id, const struct ranges *ranges, int *vars,
               int *count) {
    struct lift *l = &lifted->l;
    struct order order = {0};
    struct swap swap = {0};
    struct ranges own = {0};
    uint64_t hash;
    take_vars(l, id, value_of(l, id)->free, &order);
    if (order.count > NODE_DIMS)
        return emit_fail(lifted, "it has more than 8 dimensions", value_of(l, id)->loc);
    for (int i = 0; i < order.count; i++) {
        int var = order.vars[i];
        vars[i] = var;
        own.n[i] = ranges->n[var];
        swap.mask |= (uint64_t)1 << var;
        swap.to[var] = form_var(i, 1);
        swap.to[var].at = ranges->low[var];
    }
    *count = order.count;
    value_id plain = value_swap(l, id, &swap);
    /* In simpler form it may depend on fewer. */
    if (value_of(l, plain)->free != ((uint64_t)1 << order.count) - 1)
        return emit_fail(lifted, "its dimensions vanish", value_of(l, id)->loc);
    int node = find_emitted(lifted, plain, own.n, order.count, &hash);
    if (node != -2)
        return node;
    if (lifted->depth > MAX_DEPTH)
        return emit_fail(lifted, "it is too deep an expression", value_of(l, id)->loc);
    lifted->depth++;
    node = emit_row(lifted, plain, &own, order.count);
    lifted->depth--;
    struct emitted row = {.value = plain, .count = order.count, .node = node};
    memcpy(row.n, own.n, sizeof row.n);
    *vec_push(&lifted->emitted) = row;
    by_hash_put(&lifted->emit_index, hash, lifted->emitted.len - 1);
    return node;
}
