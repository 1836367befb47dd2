/* SPDX-License-Identifier: Apache-2.0 */
/* What nodes of a stage are for: sigmoid, silu and inverse roots, which have instructions of their
 * own; sums of rows that an instruction makes beside its result; bounds that follow from the graph
 * alone. */
#include "write/rows.h"

#include <math.h>

#define DEEPEST 16            /* operands of operands that a bound is followed through */
#define LEAST_OF_ROOT 0x1p-87 /* rsqrt's table is documented from here on */

static const struct graph_node *row_of(const struct writer *writer, int node) {
    return &writer->graph->nodes[node];
}

static bool is_named(const struct writer *writer, int node, const char *name) {
    return strcmp(row_of(writer, node)->name, name) == 0;
}

static bool is_number(const struct writer *writer, int node, double number) {
    const struct value *value = &writer->values[node];
    return value->has_number && value->number == number;
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static double least(struct writer *writer, int node, int depth);

static double least_of_product(struct writer *writer, const struct graph_node *row, int depth) {
    double a = least(writer, row->in[0], depth), b = least(writer, row->in[1], depth);
    if (row->in[0] == row->in[1])
        return a > 0 ? a * a : 0;
    return a >= 0 && b >= 0 ? a * b : -INFINITY;
}

static double least_of_binary(struct writer *writer, const struct graph_node *row, int depth) {
    const char *alu = row->op->alu;
    const struct value *second = &writer->values[row->in[1]];
    if (strcmp(alu, "multiply") == 0)
        return least_of_product(writer, row, depth);
    double a = least(writer, row->in[0], depth);
    if (strcmp(alu, "power") == 0)
        return second->has_number && fmod(second->number, 2) == 0 ? 0 : -INFINITY;
    if (strcmp(alu, "subtract") == 0)
        return second->has_number ? a - second->number : -INFINITY;
    double b = least(writer, row->in[1], depth);
    if (strcmp(alu, "divide") == 0 && second->has_number)
        return second->number > 0 && a >= 0 ? a / second->number : -INFINITY;
    if (strcmp(alu, "divide") == 0)
        return a >= 0 && b >= 0 ? 0 : -INFINITY;
    if (strcmp(alu, "add") == 0)
        return a + b;
    if (strcmp(alu, "maximum") == 0)
        return MAX_OF(a, b);
    return strcmp(alu, "minimum") == 0 ? MIN_OF(a, b) : -INFINITY;
}

static double least_of_reduction(struct writer *writer, const struct graph_node *row, int depth) {
    double of = least(writer, row->in[0], depth);
    double count = (double)graph_size(row_of(writer, row->in[0])) / (double)graph_size(row);
    if (strcmp(row->op->alu, "add") == 0)
        return of >= 0 ? of * count : -INFINITY;
    return strcmp(row->op->alu, "multiply") == 0 ? -INFINITY : of;
}

static double least_of_unary(const struct graph_node *row) {
    static const char *const positive[] = {"exp", "sqrt", "abs", "square", "expit"};
    for (size_t i = 0; i < COUNT_OF(positive); i++)
        if (strcmp(row->name, positive[i]) == 0)
            return 0;
    return strcmp(row->name, "tanh") == 0 ? -1 : -INFINITY;
}

static double least(struct writer *writer, int node, int depth) {
    const struct graph_node *row = row_of(writer, node);
    if (writer->values[node].has_number)
        return writer->values[node].number;
    if (depth == 0)
        return -INFINITY;
    switch (row->op->kind) {
    case GRAPH_CONSTANT: return row->has_fill ? row->fill : -INFINITY;
    case GRAPH_UNARY: return least_of_unary(row);
    case GRAPH_BINARY: return least_of_binary(writer, row, depth - 1);
    case GRAPH_REDUCE: return least_of_reduction(writer, row, depth - 1);
    case GRAPH_CAST:
    case GRAPH_RESHAPE:
    case GRAPH_TRANSPOSE:
    case GRAPH_BROADCAST:
    case GRAPH_SLICE: return least(writer, row->in[0], depth - 1);
    default: return -INFINITY;
    }
}

double rows_at_least(struct writer *writer, int node) {
    return least(writer, node, DEEPEST);
}

/* ---- forms ----------------------------------------------------------------------------------- */

static bool is_inside(const struct rows *rows, int node) {
    return rows->plans[node].is_inside;
}

/* 1 + exp(z): z; otherwise -1. */
static int exponent_of(const struct rows *rows, int node) {
    const struct writer *w = rows->writer;
    const struct graph_node *row = row_of(w, node);
    if (!is_inside(rows, node) || !is_named(w, node, "add"))
        return -1;
    for (int i = 0; i < 2; i++)
        if (is_number(w, row->in[i], 1) && is_inside(rows, row->in[1 - i]) &&
            is_named(w, row->in[1 - i], "exp"))
            return row_of(w, row->in[1 - i])->in[0];
    return -1;
}

/* What the node divides by; -1 where it divides by nothing. */
static int divisor_of(const struct rows *rows, int node) {
    const struct graph_node *row = row_of(rows->writer, node);
    if (is_named(rows->writer, node, "reciprocal"))
        return row->in[0];
    return is_named(rows->writer, node, "divide") ? row->in[1] : -1;
}

static void find_form(struct rows *rows, int node) {
    struct plan *plan = &rows->plans[node];
    plan->form = FORM_PLAIN;
    int by = divisor_of(rows, node);
    if (by < 0)
        return;
    int exponent = exponent_of(rows, by);
    if (exponent >= 0) {
        plan->form = FORM_SIGMOID;
        plan->of = exponent;
    } else if (is_inside(rows, by) && is_named(rows->writer, by, "sqrt") &&
               rows_at_least(rows->writer, row_of(rows->writer, by)->in[0]) > LEAST_OF_ROOT) {
        plan->form = FORM_RSQRT;
        plan->of = row_of(rows->writer, by)->in[0];
    }
}

static void need(struct rows *rows, int node) {
    if (is_inside(rows, node) && rows->plans[node].form == FORM_UNUSED)
        rows->plans[node].form = FORM_PLAIN;
}

static void need_operands(struct rows *rows, int node) {
    const struct graph_node *row = row_of(rows->writer, node);
    const struct plan *plan = &rows->plans[node];
    bool divides = divisor_of(rows, node) >= 0 && plan->form != FORM_PLAIN;
    for (int i = 0; i < row->in_count; i++)
        if (!divides || (i == 0 && row->in_count == 2))
            need(rows, row->in[i]);
    if (divides)
        need(rows, plan->of);
}

/* Sums of rows whose terms come out of an instruction of the Scalar engine, which can add up. */
static void find_sums(struct rows *rows) {
    const struct writer *w = rows->writer;
    for (size_t i = 0; i < rows->nodes.len; i++) {
        int node = rows->nodes.at[i];
        const struct graph_node *row = row_of(w, node);
        if (row->op->kind != GRAPH_REDUCE || strcmp(row->op->alu, "add") ||
            rows->plans[node].form == FORM_UNUSED)
            continue;
        struct plan *term = &rows->plans[row->in[0]];
        if (term->form == FORM_PLAIN && rows_axes(w, node) == rows->columns && !term->sum)
            term->sum = node;
    }
}

/* The product whose rows a node has, up to a factor, of which it follows the sign; NULL: none. */
static struct product *product_of(const struct rows *rows, int node, bool *turns) {
    const struct writer *w = rows->writer;
    while (is_inside(rows, node)) {
        const struct graph_node *row = row_of(w, node);
        bool divides = is_named(w, node, "divide"), multiplies = is_named(w, node, "multiply");
        int factor = (divides || multiplies) && w->values[row->in[1]].has_number ? 1
                     : multiplies && w->values[row->in[0]].has_number            ? 0
                                                                                 : -1;
        if (factor < 0 || rows->plans[node].form != FORM_PLAIN)
            return NULL;
        *turns ^= w->values[row->in[factor]].number < 0;
        node = row->in[1 - factor];
    }
    for (size_t i = 0; i < rows->leaves.len; i++)
        if (rows->leaves.at[i].node == node)
            return rows->leaves.at[i].product;
    return NULL;
}

/* Extremes of a product's rows, which an instruction may find beside its result. */
static void find_extremes(struct rows *rows) {
    const struct writer *w = rows->writer;
    for (size_t i = 0; i < rows->nodes.len && !rows->in_chunks; i++) {
        int node = rows->nodes.at[i];
        const struct graph_node *row = row_of(w, node);
        bool most = row->op->alu && strcmp(row->op->alu, "maximum") == 0;
        bool least = row->op->alu && strcmp(row->op->alu, "minimum") == 0;
        if (row->op->kind != GRAPH_REDUCE || (!most && !least) ||
            rows->plans[node].form == FORM_UNUSED || rows_axes(w, node) != rows->columns)
            continue;
        bool turns = false;
        struct product *product = product_of(rows, row->in[0], &turns);
        if (product)
            product_want(product, most != turns ? "maximum" : "minimum");
    }
}

/* How many nodes of the stage, and roots, need one. */
static int count_users(const struct rows *rows, int node) {
    int count = rows_has_root(rows, node);
    for (size_t i = 0; i < rows->nodes.len; i++) {
        const struct graph_node *row = row_of(rows->writer, rows->nodes.at[i]);
        bool uses = rows->plans[rows->nodes.at[i]].form != FORM_UNUSED;
        for (int k = 0; uses && k < row->in_count; k++)
            count += row->in[k] == node;
    }
    return count;
}

/* Nodes on the way from one to the product it is a multiple of are not needed otherwise. */
static bool leads_to(const struct rows *rows, int node, int product, int users) {
    const struct writer *w = rows->writer;
    for (; node != product; users = 1) {
        const struct graph_node *row = row_of(w, node);
        if (count_users(rows, node) != users)
            return false;
        node = w->values[row->in[0]].has_number ? row->in[1] : row->in[0];
    }
    return count_users(rows, product) == users;
}

/* exp(x - max(x)), which is used for a division by its sum only. */
static bool is_softmax(const struct rows *rows, int power, struct softmax *found) {
    const struct writer *w = rows->writer;
    int difference = row_of(w, power)->in[0];
    if (!is_inside(rows, difference) || !is_named(w, difference, "subtract"))
        return false;
    int of = row_of(w, difference)->in[0], most = row_of(w, difference)->in[1];
    const struct graph_node *row = row_of(w, most);
    if (!is_inside(rows, most) || row->op->kind != GRAPH_REDUCE ||
        strcmp(row->op->alu, "maximum") || row->in[0] != of || rows_axes(w, most) != rows->columns)
        return false;
    bool turns = false;
    struct product *product = product_of(rows, of, &turns);
    *found = (struct softmax){true, -1, most, difference, power, rows->plans[power].sum};
    for (size_t i = 0; product && !turns && i < rows->leaves.len; i++)
        if (rows->leaves.at[i].product == product)
            found->product = rows->leaves.at[i].node;
    int divides = 0;
    for (size_t i = 0; found->product >= 0 && i < rows->nodes.len; i++) {
        const struct graph_node *user = row_of(w, rows->nodes.at[i]);
        divides += user->op->kind == GRAPH_BINARY && is_named(w, rows->nodes.at[i], "divide") &&
                   user->in[0] == power && user->in[1] == found->sum;
    }
    bool is_wide = strcmp(row_of(w, power)->dtype, "float16") != 0; /* exp would be infinite */
    return is_wide && divides == 1 && found->sum && count_users(rows, power) == 2 &&
           count_users(rows, found->sum) == 1 && count_users(rows, most) == 1 &&
           count_users(rows, difference) == 1 && leads_to(rows, of, found->product, 2);
}

/* Asks the schedule whether the largest of some results is subtracted. */
static void find_softmax(struct rows *rows) {
    static const int64_t values[] = {0, 1};
    struct writer *w = rows->writer;
    int root = rows->roots[rows->root_count - 1];
    int64_t n = rows_column_elements(rows);
    /* As chain_choose_shift. */
    bool may = w->spec->precision == WRITE_ANY && !rows->in_chunks && !rows->is_nested &&
               n > product_samples(n);
    rows->softmax.is_there = false;
    for (size_t i = 0; may && i < rows->nodes.len && !rows->softmax.is_there; i++)
        if (is_named(w, rows->nodes.at[i], "exp") &&
            rows->plans[rows->nodes.at[i]].form == FORM_PLAIN)
            (void)(is_softmax(rows, rows->nodes.at[i], &rows->softmax) ||
                   (rows->softmax.is_there = false));
    if (!rows->softmax.is_there)
        return;
    rows->softmax.is_there =
        write_choose(w, root, "shift",
                     "from each row is subtracted: its largest result (0), the largest of its "
                     "first results and some (1)",
                     values, 2);
    for (size_t i = 0; i < rows->leaves.len; i++)
        if (rows->leaves.at[i].node == rows->softmax.product && rows->leaves.at[i].product)
            product_read(rows->leaves.at[i].product, rows->softmax.is_there);
    if (rows->softmax.is_there)
        write_note(w, root, "shift",
                   arena_printf(w->arena,
                                "as exact, where none of a row's results is %d above the largest "
                                "of the first %lld",
                                ROWS_ABOVE + ROWS_LARGEST, (long long)product_samples(n)));
}

void rows_plan(struct rows *rows) {
    for (size_t i = 0; i < rows->nodes.len; i++)
        rows->plans[rows->nodes.at[i]].is_inside = true;
    for (int i = 0; i < rows->root_count; i++)
        need(rows, rows->roots[i]);
    for (size_t i = rows->nodes.len; i-- > 0;) {
        int node = rows->nodes.at[i];
        if (rows->plans[node].form == FORM_UNUSED)
            continue;
        find_form(rows, node);
        need_operands(rows, node);
    }
    find_sums(rows);
    find_extremes(rows);
    find_softmax(rows);
    rows_plan_windows(rows);
}
