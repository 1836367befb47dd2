/* SPDX-License-Identifier: Apache-2.0 */
/* One operation on tiles. Numbers and one element a row go into the instruction; what divides is
 * inverted first, as the engines have no division. */
#include "write/rows.h"

#include <math.h>

#define LEAST_INVERTED 0x1p-42 /* from here on Scalar's table of reciprocals is documented */

static const char *number_text(struct rows *rows, double number) {
    return write_number(rows->writer, number);
}

static const struct graph_node *row_of(const struct rows *rows, int node) {
    return &rows->writer->graph->nodes[node];
}

static bool is_bool(const char *alu) {
    return strstr(alu, "equal") || strstr(alu, "less") || strstr(alu, "greater") ||
           strstr(alu, "logical");
}

static bool is_float(const char *dtype) {
    return strstr(dtype, "float") != NULL;
}

static struct tile *operand(struct rows *rows, int node) {
    struct tile *tile = &rows->tiles[node];
    const struct value *value = &rows->writer->values[node];
    if (!tile->name && value->has_number) {
        tile->is_number = true;
        tile->number = value->number;
    }
    return tile;
}

/* An operand that holds its elements. */
static struct tile *whole(struct rows *rows, int node) {
    struct tile *tile = operand(rows, node);
    tile_make_plain(rows, tile);
    return tile;
}

struct tile rows_widened(struct rows *rows, struct tile *tile, const char *dtype) {
    tile_make_plain(rows, tile);
    if (!tile->is_number && !tile->narrow)
        return *tile;
    struct tile wide = rows_helper(rows, "wide", dtype, false);
    rows_fill(rows, &wide, tile->is_number ? tile->number : 0);
    if (tile->narrow)
        rows_scalar(rows, &wide, &wide, (struct scalar_ops){.op0 = "add", .by0 = tile->name});
    return wide;
}

struct tile *rows_result(struct rows *rows, int node) {
    struct tile *tile = whole(rows, node);
    if (tile->is_number) {
        const struct graph_node *row = row_of(rows, node);
        *tile = rows_widened(rows, tile, row->dtype ? row->dtype : "float32");
    }
    return tile;
}

static struct tile declare_node(struct rows *rows, int node, bool narrow) {
    const struct graph_node *row = row_of(rows, node);
    bool logical = (row->op->alu && is_bool(row->op->alu)) || strcmp(row->dtype, "uint8") == 0;
    return rows_node_tile(rows, node, logical || narrow ? "float32" : row->dtype, narrow);
}

static void keep(struct rows *rows, int node, struct tile tile) {
    rows->tiles[node] = tile;
}

/* ---- functions of the Scalar engine ---------------------------------------------------------- */

static void sum_beside(struct rows *rows, int node, const struct tile *terms) {
    int sum = rows->plans[node].sum;
    if (!sum || terms->narrow || rows->tiles[sum].name)
        return;
    keep(rows, sum, declare_node(rows, sum, true));
}

/* dst = function(tile), with what is pending, and with the sum of its rows where that is wanted. */
static void activate(struct rows *rows, int node, const char *function, struct tile *tile) {
    const char *scale, *bias;
    tile_scale_and_bias(rows, tile, &scale, &bias);
    struct tile dst = declare_node(rows, node, tile->narrow);
    sum_beside(rows, node, &dst);
    int sum = rows->plans[node].sum;
    bool sums = sum && !dst.narrow;
    rows_activate(rows, function, &dst, tile, scale, bias, sums ? rows->tiles[sum].name : NULL);
    keep(rows, node, dst);
}

/* A square is Scalar's where that engine has time; Vector multiplies. */
static void square(struct rows *rows, int node, struct tile *tile) {
    bool sums = rows->plans[node].sum && !tile->narrow;
    bool pending = tile->bias != 0 || tile->plus || tile->by;
    struct busy busy = rows->busy;
    bool twice = rows->writer->spec->is_trn1; /* both operands are the tile in SBUF */
    if (!tile->narrow &&
        (tile->in_psum || rows_on_scalar(rows, 1 + twice + sums + 0.63 * pending, 1)))
        activate(rows, node, "square", tile);
    else
        tile_multiply(rows, node, *tile, *tile);
    if (!tile->narrow)
        rows->busy = busy; /* it is weighed among those that either engine can run */
}

static bool is_only_scaled(const struct tile *tile) {
    return tile->bias == 0 && !tile->by && !tile->plus;
}

/* Multiples of one tile make a square of it. */
static void multiply(struct rows *rows, int node, struct tile *a, struct tile *b) {
    bool is_square = a->name == b->name && is_only_scaled(a) && is_only_scaled(b);
    if (!is_square) {
        tile_multiply(rows, node, *a, *b);
        return;
    }
    struct tile of = *a;
    of.scale = 1;
    square(rows, node, &of);
    struct tile made = rows->tiles[node];
    keep(rows, node, tile_scaled(rows, made, a->scale * b->scale));
}

static bool may_invert_on_scalar(struct rows *rows, int node, int of) {
    static const int64_t engines[] = {1, 0};
    if (rows_at_least(rows->writer, of) < LEAST_INVERTED)
        return false;
    return write_choose(rows->writer, node, "inverse",
                        "reciprocals: by the Scalar engine (1), exact by Vector (0)", engines, 2);
}

/* 1 / tile, for a node that divides by node `of`. */
static struct tile inverse(struct rows *rows, int node, int of) {
    struct tile tile = *operand(rows, of);
    bool scalar = !tile.narrow && may_invert_on_scalar(rows, node, of);
    if (!scalar && (tile.bias != 0 || tile.plus || tile.by)) {
        tile_make_plain(rows, &tile);
        keep(rows, of, tile);
    }
    const char *scale = NULL, *bias = NULL;
    if (scalar)
        tile_scale_and_bias(rows, &tile, &scale, &bias);
    struct tile made = rows_helper(rows, "inverse", "float32", tile.narrow);
    if (scalar)
        rows_activate(rows, "reciprocal", &made, &tile, scale, bias, NULL);
    else
        rows_reciprocal(rows, &made, &tile);
    return scalar ? made : tile_scaled(rows, made, 1 / tile.scale);
}

/* ---- operations of two ----------------------------------------------------------------------- */

static void scalar_op(struct rows *rows, const struct tile *dst, const struct tile *data,
                      const char *alu, const char *by, bool reverse) {
    rows_scalar(rows, dst, data, (struct scalar_ops){.op0 = alu, .by0 = by, .reverse0 = reverse});
}

static bool compute_power(struct rows *rows, int node, struct tile *a, double power) {
    if (power == 2)
        square(rows, node, a);
    else if (power == 0.5)
        activate(rows, node, "sqrt", a);
    else if (power == -1)
        keep(rows, node, inverse(rows, node, row_of(rows, node)->in[0]));
    else if (power == 1)
        keep(rows, node, *a);
    else {
        tile_make_plain(rows, a);
        struct tile dst = declare_node(rows, node, a->narrow);
        scalar_op(rows, &dst, a, "power", number_text(rows, power), false);
        keep(rows, node, dst);
    }
    return true;
}

/* max(scale * x + bias, c) is scale * max(x, (c - bias) / scale) + bias, a minimum where the scale
 * is negative. */
static void limit(struct rows *rows, int node, struct tile *tile, const char *alu, double number) {
    if (tile->by || tile->plus)
        tile_make_plain(rows, tile);
    bool is_max = (strcmp(alu, "maximum") == 0) == (tile->scale > 0);
    struct tile dst = declare_node(rows, node, tile->narrow);
    scalar_op(rows, &dst, tile, is_max ? "maximum" : "minimum",
              number_text(rows, (number - tile->bias) / tile->scale), false);
    dst.scale = tile->scale;
    dst.bias = tile->bias;
    keep(rows, node, dst);
}

/* Numbers that need no instruction of their own. */
static bool join_number(struct rows *rows, int node, struct tile *a, const char *alu, double number,
                        bool is_left) {
    if (!strcmp(alu, "add"))
        keep(rows, node, tile_moved(*a, number));
    else if (!strcmp(alu, "subtract"))
        keep(rows, node,
             is_left ? tile_moved(tile_scaled(rows, *a, -1), number) : tile_moved(*a, -number));
    else if (!strcmp(alu, "multiply"))
        keep(rows, node, tile_scaled(rows, *a, number));
    else if (!strcmp(alu, "divide") && !is_left)
        keep(rows, node, tile_scaled(rows, *a, 1 / number));
    else if (!strcmp(alu, "divide"))
        keep(rows, node, tile_scaled(rows, inverse(rows, node, row_of(rows, node)->in[1]), number));
    else if (!strcmp(alu, "maximum") || !strcmp(alu, "minimum"))
        limit(rows, node, a, alu, number);
    else if (!strcmp(alu, "power") && !is_left)
        compute_power(rows, node, a, number);
    else
        return false;
    return true;
}

static bool join_tiles(struct rows *rows, int node, struct tile *a, struct tile *b,
                       const char *alu) {
    const struct graph_node *row = row_of(rows, node);
    if (!strcmp(alu, "add"))
        tile_add(rows, node, *a, *b);
    else if (!strcmp(alu, "subtract"))
        tile_add(rows, node, *a, tile_scaled(rows, *b, -1));
    else if (!strcmp(alu, "multiply") && row->in[0] == row->in[1])
        square(rows, node, a);
    else if (!strcmp(alu, "multiply"))
        multiply(rows, node, a, b);
    else if (!strcmp(alu, "divide"))
        tile_multiply(rows, node, *a, inverse(rows, node, row->in[1]));
    else
        return false;
    return true;
}

/* Operators that are taken as they are. */
static void by_operator(struct rows *rows, int node, struct tile *a, struct tile *b,
                        const char *alu) {
    bool narrow = (a->is_number || a->narrow) && (b->is_number || b->narrow);
    struct tile inverted, dst = declare_node(rows, node, narrow);
    if (strcmp(alu, "divide") == 0 && b->is_number) {
        scalar_op(rows, &dst, a, "multiply", number_text(rows, 1 / b->number), false);
    } else if (b->is_number) {
        scalar_op(rows, &dst, a, alu, number_text(rows, b->number), false);
    } else {
        if (strcmp(alu, "divide") == 0) {
            inverted = rows_helper(rows, "inverse", "float32", b->narrow);
            rows_reciprocal(rows, &inverted, b);
            b = &inverted;
            alu = "multiply";
        }
        if (a->is_number)
            scalar_op(rows, &dst, b, alu, number_text(rows, a->number), true);
        else if (a->narrow == b->narrow)
            rows_tensor(rows, &dst, a, b, alu);
        else if (b->narrow)
            scalar_op(rows, &dst, a, alu, b->name, false);
        else
            scalar_op(rows, &dst, b, alu, a->name, true);
    }
    keep(rows, node, dst);
}

static bool is_same(const struct tile *a, const struct tile *b) {
    return a->name && a->name == b->name && a->scale == b->scale && a->bias == b->bias &&
           a->by == b->by && a->plus == b->plus;
}

static bool compute_binary(struct rows *rows, int node, const struct graph_node *row) {
    struct tile *a = operand(rows, row->in[0]), *b = operand(rows, row->in[1]);
    const char *alu = row->op->alu;
    if (a->is_number && b->is_number)
        *a = rows_widened(rows, a, "float32");
    if (is_same(a, b) && (!strcmp(alu, "maximum") || !strcmp(alu, "minimum"))) {
        keep(rows, node, *a);
        return true;
    }
    bool pends = is_float(row->dtype);
    if (pends && b->is_number && join_number(rows, node, a, alu, b->number, false))
        return true;
    if (pends && a->is_number && join_number(rows, node, b, alu, a->number, true))
        return true;
    if (pends && !a->is_number && !b->is_number && join_tiles(rows, node, a, b, alu))
        return true;
    tile_make_plain(rows, a);
    tile_make_plain(rows, b);
    by_operator(rows, node, a, b, alu);
    return true;
}

/* ---- forms and operations of one ------------------------------------------------------------- */

static bool are_opposite(const struct tile *a, const struct tile *b) {
    return a->name == b->name && a->scale == -b->scale && a->bias == -b->bias && !a->by && !b->by &&
           !a->plus && !b->plus;
}

static void multiply_into(struct rows *rows, int node, struct tile *by, struct tile tile) {
    if (by && by->is_number)
        keep(rows, node, tile_scaled(rows, tile, by->number));
    else if (by)
        tile_multiply(rows, node, *by, tile);
    else
        keep(rows, node, tile);
}

/* a / (1 + exp(z)) is a * sigmoid(-z), and silu(a) where z is -a. */
static bool compute_form(struct rows *rows, int node, const struct graph_node *row) {
    const struct plan *plan = &rows->plans[node];
    struct tile *by = row->in_count == 2 ? operand(rows, row->in[0]) : NULL;
    struct tile of = *operand(rows, plan->of);
    if (of.is_number)
        of = rows_widened(rows, &of, "float32");
    bool roots = plan->form == FORM_RSQRT;
    if (!roots && by && !by->is_number && !of.narrow && are_opposite(by, &of)) {
        activate(rows, node, "silu", by);
        return true;
    }
    of = roots ? of : tile_scaled(rows, of, -1);
    const char *scale, *bias;
    tile_scale_and_bias(rows, &of, &scale, &bias);
    struct tile made = rows_helper(rows, roots ? "rsqrt" : "sigmoid", "float32", of.narrow);
    rows_activate(rows, roots ? "rsqrt" : "sigmoid", &made, &of, scale, bias, NULL);
    multiply_into(rows, node, by, made);
    return true;
}

static bool compute_unary(struct rows *rows, int node, const struct graph_node *row) {
    struct tile *a = operand(rows, row->in[0]);
    if (a->is_number)
        a = rows_result(rows, row->in[0]);
    bool pends = is_float(row->dtype) && is_float(a->dtype);
    if (!pends)
        tile_make_plain(rows, a);
    if (strcmp(row->name, "square") == 0 && pends) {
        square(rows, node, a);
    } else if (row->op->activation) {
        activate(rows, node, row->op->activation, a);
    } else if (strcmp(row->name, "reciprocal") == 0) {
        keep(rows, node, inverse(rows, node, row->in[0]));
    } else if (strcmp(row->name, "negative") == 0 && pends) {
        keep(rows, node, tile_scaled(rows, *a, -1));
    } else {
        tile_make_plain(rows, a);
        struct tile dst = declare_node(rows, node, a->narrow);
        bool negative = strcmp(row->name, "negative") == 0;
        scalar_op(rows, &dst, a, negative ? "multiply" : "equal", negative ? "-1.0" : "0.0", false);
        keep(rows, node, dst);
    }
    return true;
}

/* dst = data without its fraction, as numpy has it: the engines round to the nearest whole number,
 * so what became larger is made smaller by one. */
static void cut_fraction(struct rows *rows, const struct tile *dst, const struct tile *data) {
    struct tile whole_ = rows_helper(rows, "rounded", "int32", data->narrow);
    struct tile near = rows_helper(rows, "near", "float32", data->narrow);
    struct tile size = rows_helper(rows, "size", "float32", data->narrow);
    struct tile more = rows_helper(rows, "more", "float32", data->narrow);
    rows_copy_tile(rows, &whole_, data);
    rows_copy_tile(rows, &near, &whole_);
    rows_activate(rows, "abs", &size, data, NULL, NULL, NULL);
    rows_activate(rows, "abs", &more, &near, NULL, NULL, NULL);
    rows_tensor(rows, &more, &more, &size, "greater");
    rows_activate(rows, "sign", &size, data, NULL, NULL, NULL);
    rows_tensor(rows, &more, &more, &size, "multiply");
    rows_tensor(rows, dst, &near, &more, "subtract");
}

static bool compute_cut(struct rows *rows, int node, struct tile *a) {
    struct tile dst = *a;
    if (a->is_number) {
        dst.number = trunc(a->number);
    } else {
        tile_make_plain(rows, a);
        dst = declare_node(rows, node, a->narrow);
        cut_fraction(rows, &dst, a);
    }
    keep(rows, node, dst);
    return true;
}

static bool compute_cast(struct rows *rows, int node, const struct graph_node *row) {
    struct tile *a = operand(rows, row->in[0]);
    const char *from = row_of(rows, row->in[0])->dtype;
    bool copy = strcmp(row->op->name, "copy") == 0;
    if (!copy && is_float(from) && !is_float(row->dtype))
        return compute_cut(rows, node, a);
    if (a->is_number || a->narrow || strcmp(a->dtype, row->dtype) == 0) {
        keep(rows, node, *a);
        return true;
    }
    tile_make_plain(rows, a);
    struct tile dst = declare_node(rows, node, false);
    rows_copy_tile(rows, &dst, a);
    keep(rows, node, dst);
    return true;
}

/* The second choice everywhere, then the first one where the condition holds. */
static bool compute_where(struct rows *rows, int node, const struct graph_node *row) {
    struct tile condition = rows_widened(rows, operand(rows, row->in[0]), "float32");
    struct tile first = rows_widened(rows, operand(rows, row->in[1]), row->dtype);
    struct tile second = *whole(rows, row->in[2]);
    struct tile chosen = rows_helper(rows, "chosen", "uint8", false);
    rows_copy_tile(rows, &chosen, &condition);
    struct tile dst = declare_node(rows, node, false);
    if (second.is_number) {
        rows_fill(rows, &dst, second.number);
    } else {
        second = rows_widened(rows, &second, row->dtype);
        rows_copy_tile(rows, &dst, &second);
    }
    if (strcmp(first.dtype, dst.dtype) != 0) {
        struct tile same = rows_helper(rows, "same", dst.dtype, false);
        rows_copy_tile(rows, &same, &first);
        first = same;
    }
    rows_choose_elements(rows, &dst, &first, &chosen);
    keep(rows, node, dst);
    return true;
}

/* ---- along rows ------------------------------------------------------------------------------ */

static const char *opposite(const char *alu) {
    if (strcmp(alu, "maximum") == 0)
        return "minimum";
    return strcmp(alu, "minimum") == 0 ? "maximum" : alu;
}

/* A product whose tiles are made here may have found the extremes of parts of its rows. */
static const char *extremes_of(const struct rows *rows, const struct tile *tile, const char *alu) {
    const char *found = NULL;
    for (size_t i = 0; i < rows->leaves.len && !found; i++) {
        const struct leaf *leaf = &rows->leaves.at[i];
        if (leaf->product && rows->tiles[leaf->node].name == tile->name)
            found = product_extremes(leaf->product, tile->name, alu);
    }
    return found;
}

/* Sums and extremes of scaled tiles are scaled sums and extremes. */
static bool compute_reduce(struct rows *rows, int node, const struct graph_node *row) {
    if (rows->tiles[node].name) /* made beside its terms */
        return true;
    struct tile a = *operand(rows, row->in[0]);
    const char *alu = row->op->alu;
    bool adds = strcmp(alu, "add") == 0, multiplies = strcmp(alu, "multiply") == 0;
    if (a.is_number || a.narrow)
        a = rows_widened(rows, &a, "float32");
    if (a.by || a.plus || multiplies || !is_float(a.dtype) || (adds && rows->in_chunks))
        tile_make_plain(rows, &a);
    struct tile dst = declare_node(rows, node, true);
    if (a.scale < 0)
        alu = opposite(alu);
    const char *parts = extremes_of(rows, &a, alu);
    write_line(rows->writer, "nisa.tensor_reduce(dst=%s, op=nl.%s, data=%s, axis=1)", dst.name, alu,
               parts ? parts : a.name);
    rows_busy(rows, 1, 0, parts);
    dst.scale = a.scale;
    dst.bias = adds ? a.bias * (double)rows_column_elements(rows) : a.bias;
    keep(rows, node, dst);
    return true;
}

/* data0 * before + data1, or what `op1` says in the place of the sum. */
static void scan(struct rows *rows, int node, const char *data0, const char *data1, const char *op1,
                 const char *first) {
    struct tile dst = declare_node(rows, node, false);
    write_line(rows->writer,
               "nisa.tensor_tensor_scan(dst=%s, data0=%s, data1=%s, initial=%s, op0=nl.multiply, "
               "op1=nl.%s)",
               dst.name, data0, data1, rows_scan_start(rows, node, first), op1);
    rows_keep_last(rows, node, &dst);
    rows_busy(rows, 1, 0, false);
    keep(rows, node, dst);
}

static bool compute_recurrence(struct rows *rows, int node, const struct graph_node *row) {
    struct tile a = rows_widened(rows, operand(rows, row->in[0]), "float32");
    struct tile b = rows_widened(rows, operand(rows, row->in[1]), "float32");
    struct tile *first = whole(rows, row->in[2]);
    scan(rows, node, a.name, b.name, "add",
         first->is_number ? number_text(rows, first->number) : first->name);
    return true;
}

static bool compute_scan(struct rows *rows, int node, const struct graph_node *row) {
    struct tile a = rows_widened(rows, rows_result(rows, row->in[0]), "float32");
    bool product = strcmp(row->op->alu, "multiply") == 0;
    struct tile other = rows_helper(rows, product ? "zeros" : "ones", "float32", false);
    rows_fill(rows, &other, product ? 0 : 1);
    if (product)
        scan(rows, node, a.name, other.name, "add", "1.0");
    else
        scan(rows, node, other.name, a.name, row->op->alu,
             number_text(rows, rows_scan_first(row->op->alu)));
    return true;
}

bool rows_compute(struct rows *rows, int node) {
    const struct graph_node *row = row_of(rows, node);
    enum form form = rows->plans[node].form;
    if (form == FORM_UNUSED || rows_compute_softmax(rows, node))
        return true;
    if (form == FORM_WINDOWS)
        return rows_compute_windows(rows, node);
    if (form != FORM_PLAIN)
        return compute_form(rows, node, row);
    switch (row->op->kind) {
    case GRAPH_BINARY: return compute_binary(rows, node, row);
    case GRAPH_UNARY: return compute_unary(rows, node, row);
    case GRAPH_CAST: return compute_cast(rows, node, row);
    case GRAPH_WHERE: return compute_where(rows, node, row);
    case GRAPH_REDUCE: return compute_reduce(rows, node, row);
    case GRAPH_SCAN: return compute_scan(rows, node, row);
    case GRAPH_RECURRENCE: return compute_recurrence(rows, node, row);
    default: return false;
    }
}

/* ---- a reduction piece by piece -------------------------------------------------------------- */

void rows_begin_sum(struct rows *rows, int node, bool narrow, struct tile *sum) {
    const char *alu = row_of(rows, node)->op->alu;
    *sum = rows_helper(rows, "total", "float32", narrow);
    rows_fill(rows, sum,
              strcmp(alu, "add") == 0        ? 0
              : strcmp(alu, "multiply") == 0 ? 1
              : strcmp(alu, "maximum") == 0  ? -INFINITY
                                             : INFINITY);
}

void rows_add_sum(struct rows *rows, int node, const struct tile *sum, struct tile *part) {
    tile_make_plain(rows, part);
    rows_tensor(rows, sum, sum, part, row_of(rows, node)->op->alu);
}
