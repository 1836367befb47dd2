/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions of one operation on tiles. Numbers go into the instruction, one element a row is the
 * operand of tensor_scalar, and what divides is inverted first, as the engines have no division. */
#include "write/rows.h"

#include <math.h>

static const char *number_text(struct rows *rows, double number) {
    return write_number(rows->writer, number);
}

void rows_declare(struct rows *rows, const struct tile *tile) {
    write_line(rows->writer, "%s = nl.ndarray((%s, %s), dtype=nl.%s, buffer=nl.sbuf)", tile->name,
               rows->count, tile->narrow ? "1" : rows->width, tile->dtype);
}

static struct tile new_tile(struct rows *rows, const char *base, const char *dtype, bool narrow) {
    struct tile tile = {.dtype = dtype, .narrow = narrow};
    tile.name = arena_printf(rows->writer->arena, "%s_h%d", base, ++rows->helpers);
    rows_declare(rows, &tile);
    return tile;
}

static bool is_bool(const char *alu) {
    return strstr(alu, "equal") || strstr(alu, "less") || strstr(alu, "greater") ||
           strstr(alu, "logical");
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

/* A tile as wide as the stage, filled with a number or with one element for each row. */
static struct tile widened(struct rows *rows, const struct tile *tile, const char *dtype) {
    if (!tile->is_number && !tile->narrow)
        return *tile;
    struct tile wide = new_tile(rows, "wide", dtype, false);
    write_line(rows->writer, "nisa.memset(dst=%s, value=%s)", wide.name,
               number_text(rows, tile->is_number ? tile->number : 0));
    if (tile->narrow)
        write_line(rows->writer, "nisa.tensor_scalar(dst=%s, data=%s, op0=nl.add, operand0=%s)",
                   wide.name, wide.name, tile->name);
    return wide;
}

struct tile *rows_result(struct rows *rows, int node) {
    struct tile *tile = operand(rows, node);
    if (!tile->is_number)
        return tile;
    const struct graph_node *row = &rows->writer->graph->nodes[node];
    struct tile filled = widened(rows, tile, row->dtype ? row->dtype : "float32");
    *tile = filled;
    return tile;
}

static void scalar_op(struct rows *rows, const struct tile *dst, const struct tile *data,
                      const char *alu, const char *by) {
    write_line(rows->writer, "nisa.tensor_scalar(dst=%s, data=%s, op0=nl.%s, operand0=%s)",
               dst->name, data->name, alu, by);
}

static void reversed_op(struct rows *rows, const struct tile *dst, const struct tile *data,
                        const char *alu, const char *by) {
    write_line(rows->writer,
               "nisa.tensor_scalar(dst=%s, data=%s, op0=nl.%s, operand0=%s, reverse0=True)",
               dst->name, data->name, alu, by);
}

static void tile_op(struct rows *rows, const struct tile *dst, const struct tile *a,
                    const struct tile *b, const char *alu) {
    write_line(rows->writer, "nisa.tensor_tensor(dst=%s, data1=%s, data2=%s, op=nl.%s)", dst->name,
               a->name, b->name, alu);
}

static struct tile inverse(struct rows *rows, const struct tile *of) {
    struct tile made = new_tile(rows, "inverse", "float32", of->narrow);
    write_line(rows->writer, "nisa.reciprocal(dst=%s, data=%s)", made.name, of->name);
    return made;
}

static void power_by_number(struct rows *rows, const struct tile *dst, const struct tile *a,
                            double power) {
    if (power == 2)
        tile_op(rows, dst, a, a, "multiply");
    else if (power == 0.5)
        write_line(rows->writer, "nisa.activation(dst=%s, op=nl.sqrt, data=%s)", dst->name,
                   a->name);
    else if (power == -1)
        write_line(rows->writer, "nisa.reciprocal(dst=%s, data=%s)", dst->name, a->name);
    else
        scalar_op(rows, dst, a, "power", number_text(rows, power));
}

static void with_number(struct rows *rows, const struct tile *dst, const struct tile *a,
                        const char *alu, double number) {
    if (strcmp(alu, "power") == 0)
        power_by_number(rows, dst, a, number);
    else if (strcmp(alu, "divide") == 0)
        scalar_op(rows, dst, a, "multiply", number_text(rows, 1 / number));
    else
        scalar_op(rows, dst, a, alu, number_text(rows, number));
}

/* A number on the left: what does not commute is turned round. */
static void from_number(struct rows *rows, const struct tile *dst, double number,
                        const struct tile *b, const char *alu) {
    bool commutes = !strcmp(alu, "add") || !strcmp(alu, "multiply") || !strcmp(alu, "maximum") ||
                    !strcmp(alu, "minimum");
    if (strcmp(alu, "divide") == 0) {
        struct tile inverted = number == 1 ? *dst : new_tile(rows, "inverse", "float32", b->narrow);
        write_line(rows->writer, "nisa.reciprocal(dst=%s, data=%s)", inverted.name, b->name);
        if (number != 1)
            scalar_op(rows, dst, &inverted, "multiply", number_text(rows, number));
    } else if (commutes) {
        scalar_op(rows, dst, b, alu, number_text(rows, number));
    } else {
        reversed_op(rows, dst, b, alu, number_text(rows, number));
    }
}

static void of_tiles(struct rows *rows, const struct tile *dst, const struct tile *a,
                     const struct tile *b, const char *alu) {
    struct tile inverted;
    if (strcmp(alu, "divide") == 0) {
        inverted = inverse(rows, b);
        b = &inverted;
        alu = "multiply";
    }
    if (a->narrow == b->narrow)
        tile_op(rows, dst, a, b, alu);
    else if (b->narrow)
        scalar_op(rows, dst, a, alu, b->name);
    else
        reversed_op(rows, dst, b, alu, a->name);
}

static struct tile *declare_node(struct rows *rows, int node, bool narrow) {
    const struct graph_node *row = &rows->writer->graph->nodes[node];
    struct tile *tile = &rows->tiles[node];
    bool logical = (row->op->alu && is_bool(row->op->alu)) || strcmp(row->dtype, "uint8") == 0;
    *tile = (struct tile){.narrow = narrow, .dtype = logical || narrow ? "float32" : row->dtype};
    tile->name = arena_printf(rows->writer->arena, "%s_%d", row->name, node);
    rows_declare(rows, tile);
    return tile;
}

static bool compute_binary(struct rows *rows, int node, const struct graph_node *row) {
    struct tile *a = operand(rows, row->in[0]), *b = operand(rows, row->in[1]);
    bool narrow = (a->is_number || a->narrow) && (b->is_number || b->narrow);
    if (a->is_number && b->is_number) {
        struct tile wide = widened(rows, a, "float32");
        rows->tiles[row->in[0]] = wide;
        a = &rows->tiles[row->in[0]];
        narrow = false;
    }
    struct tile *dst = declare_node(rows, node, narrow);
    if (b->is_number)
        with_number(rows, dst, a, row->op->alu, b->number);
    else if (a->is_number)
        from_number(rows, dst, a->number, b, row->op->alu);
    else
        of_tiles(rows, dst, a, b, row->op->alu);
    return true;
}

static bool compute_unary(struct rows *rows, int node, const struct graph_node *row) {
    struct tile *a = rows_result(rows, row->in[0]);
    struct tile *dst = declare_node(rows, node, a->narrow);
    if (row->op->activation)
        write_line(rows->writer, "nisa.activation(dst=%s, op=nl.%s, data=%s)", dst->name,
                   row->op->activation, a->name);
    else if (strcmp(row->name, "reciprocal") == 0)
        write_line(rows->writer, "nisa.reciprocal(dst=%s, data=%s)", dst->name, a->name);
    else if (strcmp(row->name, "negative") == 0)
        scalar_op(rows, dst, a, "multiply", "-1.0");
    else
        scalar_op(rows, dst, a, "equal", "0.0");
    return true;
}

static bool compute_cast(struct rows *rows, int node, const struct graph_node *row) {
    struct tile *a = operand(rows, row->in[0]);
    if (a->is_number || a->narrow || strcmp(a->dtype, row->dtype) == 0) {
        rows->tiles[node] = *a;
        return true;
    }
    struct tile *dst = declare_node(rows, node, false);
    write_line(rows->writer, "nisa.tensor_copy(dst=%s, src=%s)", dst->name, a->name);
    return true;
}

/* The second choice everywhere, then the first one where the condition holds. */
static bool compute_where(struct rows *rows, int node, const struct graph_node *row) {
    struct tile condition = widened(rows, operand(rows, row->in[0]), "float32");
    struct tile first = widened(rows, operand(rows, row->in[1]), row->dtype);
    struct tile second = *operand(rows, row->in[2]);
    struct tile chosen = new_tile(rows, "chosen", "uint8", false);
    write_line(rows->writer, "nisa.tensor_copy(dst=%s, src=%s)", chosen.name, condition.name);
    struct tile *dst = declare_node(rows, node, false);
    if (second.is_number)
        write_line(rows->writer, "nisa.memset(dst=%s, value=%s)", dst->name,
                   number_text(rows, second.number));
    else {
        second = widened(rows, &second, row->dtype);
        write_line(rows->writer, "nisa.tensor_copy(dst=%s, src=%s)", dst->name, second.name);
    }
    if (strcmp(first.dtype, dst->dtype) != 0) {
        struct tile same = new_tile(rows, "same", dst->dtype, false);
        write_line(rows->writer, "nisa.tensor_copy(dst=%s, src=%s)", same.name, first.name);
        first = same;
    }
    write_line(rows->writer, "nisa.tensor_copy_predicated(dst=%s, src=%s, predicate=%s)", dst->name,
               first.name, chosen.name);
    return true;
}

static bool compute_reduce(struct rows *rows, int node, const struct graph_node *row) {
    struct tile *a = rows_result(rows, row->in[0]);
    if (a->narrow) {
        struct tile wide = widened(rows, a, "float32");
        rows->tiles[row->in[0]] = wide;
        a = &rows->tiles[row->in[0]];
    }
    struct tile *dst = declare_node(rows, node, true);
    write_line(rows->writer, "nisa.tensor_reduce(dst=%s, op=nl.%s, data=%s, axis=1)", dst->name,
               row->op->alu, a->name);
    return true;
}

static bool compute_scan(struct rows *rows, int node, const struct graph_node *row) {
    struct tile a = widened(rows, rows_result(rows, row->in[0]), "float32");
    struct tile *dst = declare_node(rows, node, false);
    bool product = strcmp(row->op->alu, "multiply") == 0;
    struct tile other = new_tile(rows, product ? "zeros" : "ones", "float32", false);
    write_line(rows->writer, "nisa.memset(dst=%s, value=%s)", other.name, product ? "0.0" : "1.0");
    if (product)
        write_line(rows->writer,
                   "nisa.tensor_tensor_scan(dst=%s, data0=%s, data1=%s, initial=1.0, "
                   "op0=nl.multiply, op1=nl.add)",
                   dst->name, a.name, other.name);
    else
        write_line(rows->writer,
                   "nisa.tensor_tensor_scan(dst=%s, data0=%s, data1=%s, initial=%s, "
                   "op0=nl.multiply, op1=nl.%s)",
                   dst->name, other.name, a.name,
                   strcmp(row->op->alu, "maximum") ? "0.0" : "-3.4028235e38", row->op->alu);
    return true;
}

bool rows_compute(struct rows *rows, int node) {
    const struct graph_node *row = &rows->writer->graph->nodes[node];
    switch (row->op->kind) {
    case GRAPH_BINARY: return compute_binary(rows, node, row);
    case GRAPH_UNARY: return compute_unary(rows, node, row);
    case GRAPH_CAST: return compute_cast(rows, node, row);
    case GRAPH_WHERE: return compute_where(rows, node, row);
    case GRAPH_REDUCE: return compute_reduce(rows, node, row);
    case GRAPH_SCAN: return compute_scan(rows, node, row);
    default: return false;
    }
}

/* ---- a reduction piece by piece -------------------------------------------------------------- */

void rows_begin_sum(struct rows *rows, struct tile *sum) {
    const char *alu = rows->writer->graph->nodes[rows->root].op->alu;
    *sum = new_tile(rows, "total", "float32", true);
    const char *first = strcmp(alu, "add") == 0        ? "0.0"
                        : strcmp(alu, "multiply") == 0 ? "1.0"
                        : strcmp(alu, "maximum") == 0  ? "-3.4028235e38"
                                                       : "3.4028235e38";
    write_line(rows->writer, "nisa.memset(dst=%s, value=%s)", sum->name, first);
}

void rows_add_sum(struct rows *rows, const struct tile *sum, const struct tile *part) {
    tile_op(rows, sum, sum, part, rows->writer->graph->nodes[rows->root].op->alu);
}
