/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions of a stage over rows, and which of two engines runs one. The times weigh engines
 * against each other; the clock judges the kernel. Sources: architecture guides (clocks of the
 * engines, fast modes of Vector) and instruction costs of neuronxcc.nki.isa 2.26. */
#include "write/rows.h"

#include <stdlib.h>

#define VECTOR_FIXED 62
#define VECTOR_ELEMENT 1.04
#define SCALAR_FIXED 140
#define SCALAR_ELEMENT 0.83
#define ONE_INPUT 0.63 /* Vector streams one input in SBUF faster than two */
#define RECIPROCAL 7

static void declare(struct rows *rows, const struct tile *tile) {
    write_line(rows->writer, "%s = nl.ndarray((%s, %s), dtype=nl.%s, buffer=nl.sbuf)", tile->name,
               rows->count, tile->narrow ? "1" : rows->width, tile->dtype);
}

struct tile rows_tile(struct rows *rows, const char *name, const char *dtype, bool narrow) {
    struct tile tile = {.name = name, .dtype = dtype, .narrow = narrow, .scale = 1};
    declare(rows, &tile);
    return tile;
}

struct tile rows_helper(struct rows *rows, const char *base, const char *dtype, bool narrow) {
    const char *name = arena_printf(rows->writer->arena, "%s_h%d", base, ++rows->helpers);
    return rows_tile(rows, name, dtype, narrow);
}

/* ---- engines --------------------------------------------------------------------------------- */

static struct busy time_of(const struct rows *rows, double vector_units, double scalar_units,
                           bool narrow) {
    double n = narrow ? 1 : (double)rows->chunk;
    return (struct busy){VECTOR_FIXED + VECTOR_ELEMENT * n * vector_units,
                         SCALAR_FIXED + SCALAR_ELEMENT * n * scalar_units};
}

void rows_busy(struct rows *rows, double vector_units, double scalar_units, bool narrow) {
    struct busy time = time_of(rows, vector_units, scalar_units, narrow);
    rows->busy.vector += vector_units > 0 ? time.vector : 0;
    rows->busy.scalar += scalar_units > 0 ? time.scalar : 0;
}

bool rows_on_scalar(struct rows *rows, double vector_units, double scalar_units, bool narrow) {
    size_t at = rows->either_met++;
    if (rows->on_scalar)
        return at < rows->either.len && rows->on_scalar[at];
    *vec_push(&rows->either) = time_of(rows, vector_units, scalar_units, narrow);
    return false;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* A tile in pieces takes an instruction for each: other engines go on with the first ones before
 * the last one is done. */
static void begin(struct rows *rows, const struct tile *dst) {
    struct writer *w = rows->writer;
    rows->in_pieces = rows->pieces > 1 && !dst->narrow;
    if (!rows->in_pieces)
        return;
    write_line(w, "for p in range(0, %lld, %lld):", (long long)rows->chunk,
               (long long)(rows->chunk / rows->pieces));
    w->indent++;
}

static void end(struct rows *rows) {
    rows->writer->indent -= rows->in_pieces;
}

static const char *name_of(struct rows *rows, const struct tile *tile) {
    if (!rows->in_pieces || tile->narrow)
        return tile->name;
    return arena_printf(rows->writer->arena, "%s[0:%s, p:p + %lld]", tile->name, rows->count,
                        (long long)(rows->chunk / rows->pieces));
}

void rows_activate(struct rows *rows, const char *op, const struct tile *dst,
                   const struct tile *data, const char *scale, const char *bias, const char *sum) {
    struct buf line = {0};
    begin(rows, dst);
    buf_printf(&line, "nisa.activation%s(dst=%s, op=nl.%s, data=%s", sum ? "_reduce" : "",
               name_of(rows, dst), op, name_of(rows, data));
    if (bias && strcmp(bias, "0.0"))
        buf_printf(&line, ", bias=%s", bias);
    if (scale && strcmp(scale, "1.0"))
        buf_printf(&line, ", scale=%s", scale);
    if (sum)
        buf_printf(&line, ", reduce_op=nl.add, reduce_res=%s", sum);
    write_line(rows->writer, "%s)", line.at);
    buf_free(&line);
    end(rows);
    rows_busy(rows, 0, 1, dst->narrow);
}

void rows_scalar(struct rows *rows, const struct tile *dst, const struct tile *data,
                 struct scalar_ops ops) {
    struct buf line = {0};
    begin(rows, dst);
    buf_printf(&line, "nisa.tensor_scalar(dst=%s, data=%s, op0=nl.%s, operand0=%s",
               name_of(rows, dst), name_of(rows, data), ops.op0, ops.by0);
    if (ops.reverse0)
        buf_puts(&line, ", reverse0=True");
    if (ops.op1)
        buf_printf(&line, ", op1=nl.%s, operand1=%s", ops.op1, ops.by1);
    if (ops.scalar)
        buf_puts(&line, ", engine=nisa.engine.scalar");
    write_line(rows->writer, "%s)", line.at);
    buf_free(&line);
    end(rows);
    bool on_gpsimd = strcmp(ops.op0, "power") == 0;
    rows_busy(rows, ops.scalar || on_gpsimd ? 0 : ONE_INPUT, ops.scalar ? 1 : 0, dst->narrow);
}

void rows_tensor(struct rows *rows, const struct tile *dst, const struct tile *a,
                 const struct tile *b, const char *alu) {
    begin(rows, dst);
    write_line(rows->writer, "nisa.tensor_tensor(dst=%s, data1=%s, data2=%s, op=nl.%s)",
               name_of(rows, dst), name_of(rows, a), name_of(rows, b), alu);
    end(rows);
    rows_busy(rows, strcmp(alu, "power") ? 1 : 0, 0, dst->narrow);
}

void rows_fused(struct rows *rows, const struct tile *dst, const struct tile *a, const char *op0,
                const char *by, const char *op1, const struct tile *b) {
    begin(rows, dst);
    write_line(rows->writer,
               "nisa.scalar_tensor_tensor(dst=%s, data=%s, op0=nl.%s, operand0=%s, op1=nl.%s, "
               "operand1=%s)",
               name_of(rows, dst), name_of(rows, a), op0, by, op1, name_of(rows, b));
    end(rows);
    rows_busy(rows, 1, 0, dst->narrow);
}

void rows_reciprocal(struct rows *rows, const struct tile *dst, const struct tile *data) {
    begin(rows, dst);
    write_line(rows->writer, "nisa.reciprocal(dst=%s, data=%s)", name_of(rows, dst),
               name_of(rows, data));
    end(rows);
    rows_busy(rows, RECIPROCAL, 0, dst->narrow);
}

void rows_copy_tile(struct rows *rows, const struct tile *dst, const struct tile *data) {
    begin(rows, dst);
    write_line(rows->writer, "nisa.tensor_copy(dst=%s, src=%s)", name_of(rows, dst),
               name_of(rows, data));
    end(rows);
    rows_busy(rows, ONE_INPUT, 0, dst->narrow);
}

void rows_fill(struct rows *rows, const struct tile *dst, double number) {
    begin(rows, dst);
    write_line(rows->writer, "nisa.memset(dst=%s, value=%s)", name_of(rows, dst),
               write_number(rows->writer, number));
    end(rows);
    rows_busy(rows, 1, 0, dst->narrow);
}

void rows_choose_elements(struct rows *rows, const struct tile *dst, const struct tile *from,
                          const struct tile *where) {
    begin(rows, dst);
    write_line(rows->writer, "nisa.tensor_copy_predicated(dst=%s, src=%s, predicate=%s)",
               name_of(rows, dst), name_of(rows, from), name_of(rows, where));
    end(rows);
    rows_busy(rows, 1, 0, dst->narrow);
}
