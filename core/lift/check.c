/* SPDX-License-Identifier: Apache-2.0 */
/* The graph, computed here and there: an element of an output, and of what it hangs on. Each array
 * remembers its last element. Those that are sums of many are kept in a table, and elements come in
 * groups of one row, so products of products and scans are not computed anew for each. */
#include <math.h>
#include <stdlib.h>

#include "device/device.h"
#include "lift/private.h"

struct last {
    bool known;
    int64_t index[NODE_DIMS];
    double value;
};
#define KEPT (1u << 20)
struct kept {
    uint64_t key; /* node and place; 0: none */
    double value;
};
struct check {
    const struct lifted *lifted;
    struct kept *kept; /* KEPT rows, of which each holds what came last */
    const struct array *inputs;
    struct last *last; /* one for each node */
    double work;       /* operations that are left */
};
typedef double element_fn(struct check *check, const struct node *node, const int64_t *index);

static double element(struct check *check, int node, const int64_t *index);

static double load(enum dtype dtype, const void *data, int64_t at) {
    float value;
    const uint8_t *from = (const uint8_t *)data + at * (int64_t)dtype_bytes(dtype);
    if (dtype == DTYPE_INT32)
        return *(const int32_t *)(const void *)from;
    device_to_float(dtype, from, &value, 1);
    return value;
}

static int64_t place_in(const struct node *node, const int64_t *index) {
    int64_t at = 0;
    for (int d = 0; d < node->ndim; d++)
        at = at * node->shape[d] + index[d];
    return at;
}

static void index_at(const struct node *node, int64_t at, int64_t *index) {
    for (int d = node->ndim - 1; d >= 0; d--) {
        index[d] = at % node->shape[d];
        at /= node->shape[d];
    }
}

/* ---- what is kept ------------------------------------------------------------------------------
 */

static bool is_sum(const struct node *node) {
    return node->kind == NODE_REDUCE || node->kind == NODE_CONTRACT || node->kind == NODE_SCAN ||
           node->kind == NODE_RECURRENCE;
}

static struct kept *row_for(struct check *check, const struct node *node, const int64_t *index,
                            uint64_t *key) {
    uint64_t number = (uint64_t)(node - check->lifted->nodes.at) + 1;
    *key = number << 40 | ((uint64_t)place_in(node, index) & ((UINT64_C(1) << 40) - 1));
    return &check->kept[(*key * UINT64_C(0x9e3779b97f4a7c15)) >> 44];
}

static bool find_kept(struct check *check, const struct node *node, const int64_t *index,
                      double *value) {
    uint64_t key;
    const struct kept *kept = row_for(check, node, index, &key);
    if (kept->key == key)
        *value = kept->value;
    return kept->key == key;
}

static void keep(struct check *check, const struct node *node, const int64_t *index, double value) {
    uint64_t key;
    struct kept *kept = row_for(check, node, index, &key);
    if (check->work > 0)
        *kept = (struct kept){key, value};
}

/* The operand's element, where an axis of one is spread, and axes that it does not have are. */
static double spread(struct check *check, const struct node *node, int in, const int64_t *index) {
    const struct node *from = &check->lifted->nodes.at[node->in[in]];
    int64_t of[NODE_DIMS] = {0};
    for (int d = 0; d < from->ndim; d++)
        of[d] = from->shape[d] == 1 ? 0 : index[d + node->ndim - from->ndim];
    return element(check, node->in[in], of);
}

/* ---- operators ---------------------------------------------------------------------------------
 */

static double sign(double x) {
    return (x > 0) - (x < 0);
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

static double square(double x) {
    return x * x;
}

static double not(double x) {
    return x == 0;
}

static const struct {
    const char *name;
    double (*run)(double);
} unaries[] = {{"exp", exp},         {"log", log},       {"sqrt", sqrt},   {"tanh", tanh},
               {"abs", fabs},        {"square", square}, {"sign", sign},   {"erf", erf},
               {"expit", sigmoid},   {"sin", sin},       {"cos", cos},     {"tan", tan},
               {"arctan", atan},     {"ceil", ceil},     {"floor", floor}, {"trunc", trunc},
               {"logical_not", not }};

static double element_unary(struct check *check, const struct node *node, const int64_t *index) {
    double x = spread(check, node, 0, index);
    for (size_t i = 0; i < COUNT_OF(unaries); i++)
        if (strcmp(unaries[i].name, node->op) == 0)
            return unaries[i].run(x);
    return NAN;
}

static double combine(const char *op, double a, double b) {
    static const char *const order[] = {
        "add",           "subtract",    "multiply",   "divide",     "maximum",    "minimum",
        "power",         "equal",       "not_equal",  "less",       "less_equal", "greater",
        "greater_equal", "logical_and", "logical_or", "logical_xor"};
    size_t which = 0;
    while (which < COUNT_OF(order) && strcmp(order[which], op) != 0)
        which++;
    switch (which) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    case 3: return a / b;
    case 4: return isnan(a) || a > b ? a : b;
    case 5: return isnan(a) || a < b ? a : b;
    case 6: return pow(a, b);
    case 7: return a == b;
    case 8: return a != b;
    case 9: return a < b;
    case 10: return a <= b;
    case 11: return a > b;
    case 12: return a >= b;
    case 13: return a != 0 && b != 0;
    case 14: return a != 0 || b != 0;
    case 15: return (a != 0) != (b != 0);
    default: return NAN;
    }
}

static double element_binary(struct check *check, const struct node *node, const int64_t *index) {
    double a = spread(check, node, 0, index);
    return combine(node->op, a, spread(check, node, 1, index));
}

static double element_where(struct check *check, const struct node *node, const int64_t *index) {
    return spread(check, node, spread(check, node, 0, index) != 0 ? 1 : 2, index);
}

static double element_cast(struct check *check, const struct node *node, const int64_t *index) {
    double x = spread(check, node, 0, index);
    float narrow = (float)x, back = 0;
    uint8_t bytes[8];
    if (!dtype_is_float(node->dtype) || node->dtype == DTYPE_FLOAT32)
        return x;
    device_from_float(node->dtype, &narrow, bytes, 1);
    device_to_float(node->dtype, bytes, &back, 1);
    return back;
}

/* ---- sources -----------------------------------------------------------------------------------
 */

static double element_input(struct check *check, const struct node *node, const int64_t *index) {
    int number = check->lifted->l.program->storages.at[node->storage]->input;
    return load(node->dtype, check->inputs[number].data, place_in(node, index));
}

static double element_data(struct check *check, const struct node *node, const int64_t *index) {
    return load(node->dtype, check->lifted->l.program->storages.at[node->storage]->constant,
                place_in(node, index));
}

static double element_constant(struct check *check, const struct node *node, const int64_t *index) {
    (void)check, (void)index;
    return node->fill;
}

static double element_plane(struct check *check, const struct node *node, const int64_t *index) {
    double value = node->plane[0];
    (void)check;
    for (int d = 0; d < node->ndim; d++)
        value += node->plane[d + 1] * (double)index[d];
    return value;
}

/* ---- movements ---------------------------------------------------------------------------------
 */

static double element_reshape(struct check *check, const struct node *node, const int64_t *index) {
    int64_t of[NODE_DIMS] = {0};
    index_at(&check->lifted->nodes.at[node->in[0]], place_in(node, index), of);
    return element(check, node->in[0], of);
}

static double element_transpose(struct check *check, const struct node *node,
                                const int64_t *index) {
    int64_t of[NODE_DIMS] = {0};
    for (int d = 0; d < node->ndim; d++)
        of[node->axes[d]] = index[d];
    return element(check, node->in[0], of);
}

static double element_broadcast(struct check *check, const struct node *node,
                                const int64_t *index) {
    return spread(check, node, 0, index);
}

static double element_slice(struct check *check, const struct node *node, const int64_t *index) {
    int64_t of[NODE_DIMS] = {0};
    for (int d = 0; d < node->ndim; d++)
        of[d] = node->first[d] + index[d] * node->step[d];
    return element(check, node->in[0], of);
}

static double element_windows(struct check *check, const struct node *node, const int64_t *index) {
    int64_t of[NODE_DIMS] = {0};
    int ndim = check->lifted->nodes.at[node->in[0]].ndim;
    memcpy(of, index, (size_t)ndim * sizeof *of);
    for (int i = 0; i < node->axis_count; i++)
        of[node->axes[i]] += index[ndim + i];
    return element(check, node->in[0], of);
}

static double element_gather(struct check *check, const struct node *node, const int64_t *index) {
    const struct node *from = &check->lifted->nodes.at[node->in[0]];
    int64_t row = (int64_t)element(check, node->in[1], index);
    if (row < 0 || row >= from->shape[0])
        return NAN;
    return element(check, node->in[0], (const int64_t[NODE_DIMS]){row, index[node->ndim - 1]});
}

static double element_update(struct check *check, const struct node *node, const int64_t *index) {
    const struct node *part = &check->lifted->nodes.at[node->in[1]];
    int64_t of[NODE_DIMS] = {0};
    bool inside = true;
    for (int d = 0; d < node->ndim; d++) {
        of[d] = index[d] - node->first[d];
        inside &= of[d] >= 0 && of[d] < part->shape[d];
    }
    return element(check, node->in[inside], inside ? of : index);
}

/* ---- reductions --------------------------------------------------------------------------------
 */

static double element_reduce(struct check *check, const struct node *node, const int64_t *index) {
    static const char *const rows[][2] = {{"sum", "add"},         {"prod", "multiply"},
                                          {"max", "maximum"},     {"min", "minimum"},
                                          {"all", "logical_and"}, {"any", "logical_or"}};
    const struct node *from = &check->lifted->nodes.at[node->in[0]];
    struct node axes = {.ndim = node->axis_count};
    const char *op = "add";
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (strcmp(rows[i][0], node->op) == 0)
            op = rows[i][1];
    for (int i = 0; i < node->axis_count; i++)
        axes.shape[i] = from->shape[node->axes[i]];
    double total = 0;
    for (int64_t at = 0; at < node_size(&axes) && check->work > 0; at++) {
        int64_t of[NODE_DIMS], along[NODE_DIMS];
        memcpy(of, index, sizeof of);
        index_at(&axes, at, along);
        for (int i = 0; i < node->axis_count; i++)
            of[node->axes[i]] = along[i];
        double one = element(check, node->in[0], of);
        total = at ? combine(op, total, one) : one;
    }
    return total;
}

/* Labels of contract count up to LIFT_VARS. */
static double element_contract(struct check *check, const struct node *node, const int64_t *index) {
    int64_t size[LIFT_VARS] = {0}, at[LIFT_VARS] = {0};
    int summed[LIFT_VARS], count = 0;
    double total = 0;
    for (int k = 0; k < 2; k++) {
        const struct node *from = &check->lifted->nodes.at[node->in[k]];
        for (int d = 0; d < from->ndim; d++)
            size[node->terms[k][d]] = from->shape[d];
    }
    for (int d = 0; d < node->ndim; d++) {
        at[node->out[d]] = index[d];
        size[node->out[d]] = 0;
    }
    for (int v = 0; v < LIFT_VARS; v++)
        if (size[v])
            summed[count++] = v;
    for (bool more = true; more && check->work > 0;) {
        double product = 1;
        for (int k = 0; k < 2; k++) {
            int64_t of[NODE_DIMS] = {0};
            for (int d = 0; d < check->lifted->nodes.at[node->in[k]].ndim; d++)
                of[d] = at[node->terms[k][d]];
            product *= element(check, node->in[k], of);
        }
        total += product;
        more = false;
        for (int i = count - 1; i >= 0 && !more; i--) {
            more = ++at[summed[i]] < size[summed[i]];
            if (!more)
                at[summed[i]] = 0;
        }
    }
    return total;
}

/* Element by element along the axis, from the last one that is kept. */
static double element_scan(struct check *check, const struct node *node, const int64_t *index) {
    int axis = node->axes[0];
    bool recurs = node->kind == NODE_RECURRENCE;
    const char *op = strcmp(node->op, "cumsum") == 0    ? "add"
                     : strcmp(node->op, "cumprod") == 0 ? "multiply"
                     : strcmp(node->op, "cummax") == 0  ? "maximum"
                                                        : "minimum";
    int64_t of[NODE_DIMS], first = index[axis];
    double state = 0;
    memcpy(of, index, sizeof of);
    while (first > 0 && (of[axis] = first - 1, !find_kept(check, node, of, &state)))
        first--;
    if (first == 0 && recurs)
        state = spread(check, node, 2, of);
    for (int64_t i = first; i <= index[axis] && check->work > 0; i++) {
        of[axis] = i;
        double one = spread(check, node, 0, of);
        if (recurs)
            state = one * state + spread(check, node, 1, of);
        else
            state = i ? combine(op, state, one) : one;
        state = (float)state;
        keep(check, node, of, state);
        check->work--;
    }
    return state;
}

static element_fn *const elements[] = {
    [NODE_INPUT] = element_input,         [NODE_CONSTANT] = element_constant,
    [NODE_PLANE] = element_plane,         [NODE_DATA] = element_data,
    [NODE_UNARY] = element_unary,         [NODE_BINARY] = element_binary,
    [NODE_CAST] = element_cast,           [NODE_WHERE] = element_where,
    [NODE_REDUCE] = element_reduce,       [NODE_CONTRACT] = element_contract,
    [NODE_RESHAPE] = element_reshape,     [NODE_TRANSPOSE] = element_transpose,
    [NODE_BROADCAST] = element_broadcast, [NODE_SLICE] = element_slice,
    [NODE_WINDOWS] = element_windows,     [NODE_UPDATE] = element_update,
    [NODE_SCAN] = element_scan,           [NODE_RECURRENCE] = element_scan,
    [NODE_GATHER] = element_gather};

static double element(struct check *check, int number, const int64_t *index) {
    const struct node *node = &check->lifted->nodes.at[number];
    struct last *last = &check->last[number];
    size_t size = (size_t)node->ndim * sizeof *index;
    double value;
    if (last->known && memcmp(last->index, index, size) == 0)
        return last->value;
    if (!is_sum(node) || !find_kept(check, node, index, &value)) {
        check->work--;
        value = elements[node->kind] ? elements[node->kind](check, node, index) : NAN;
        value = (float)value; /* what is too large for the kernel is too large here */
        if (is_sum(node))
            keep(check, node, index, value);
    }
    memcpy(last->index, index, size);
    last->value = value;
    last->known = true;
    return value;
}

/* ---- outputs -----------------------------------------------------------------------------------
 */

#define MOST_ELEMENTS 400 /* of an output */
#define IN_ROW 8          /* of those in one row */

/* Element k of those that are looked at: the corners, then here and there, some of a row. */
static int64_t choose(const struct node *node, size_t k, int64_t before, uint64_t *random) {
    int64_t size = node_size(node), index[NODE_DIMS];
    int64_t row = node->ndim ? node->shape[node->ndim - 1] : 1;
    if (k < 4 && node->ndim > 0) {
        for (int d = 0; d < node->ndim; d++)
            index[d] = (k == 1 || (k == 2 && d == node->ndim - 1) || (k == 3 && d == 0))
                           ? node->shape[d] - 1
                           : 0;
        return place_in(node, index);
    }
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    uint64_t drawn = *random >> 20;
    if (k % IN_ROW)
        return before - before % row + (int64_t)(drawn % (uint64_t)row);
    return (int64_t)(drawn % (uint64_t)size);
}

static double check_output(struct check *check, int node, const struct array *made,
                           size_t *elements_seen) {
    const struct node *output = &check->lifted->nodes.at[node];
    double error = 0, size = 0;
    uint64_t random = 88172645463325252u;
    size_t seen = 0;
    int64_t at = 0;
    for (size_t k = 0; k < MOST_ELEMENTS && (int64_t)k < 4 + node_size(output); k++) {
        int64_t index[NODE_DIMS] = {0};
        at = choose(output, k, at, &random);
        index_at(output, at, index);
        double found = element(check, node, index);
        double wanted = load(made->dtype, made->data, at);
        if (check->work <= 0)
            break;
        if (!isfinite(found) && !isfinite(wanted))
            continue;
        seen++;
        error += (found - wanted) * (found - wanted);
        size += wanted * wanted;
    }
    *elements_seen += seen;
    return seen == 0 ? INFINITY : size > 0 ? sqrt(error / size) : sqrt(error);
}

double lifted_check(const struct lifted *lifted, const struct array *inputs,
                    const struct array *outputs, double work, size_t *count) {
    struct check check = {.lifted = lifted, .inputs = inputs};
    size_t n = lifted->l.program->outputs.len;
    double worst = 0;
    *count = 0;
    if (!lifted_is_whole(lifted))
        return INFINITY;
    check.last = mem_alloc(lifted->nodes.len, sizeof *check.last);
    check.kept = mem_alloc(KEPT, sizeof *check.kept);
    for (size_t i = 0; i < n; i++) {
        check.work = work / (double)n;
        double error = check_output(&check, lifted->outputs[i], &outputs[i], count);
        worst = error <= worst ? worst : error; /* what is no number counts as worse */
    }
    free(check.last);
    free(check.kept);
    return worst;
}
