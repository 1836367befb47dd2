/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions on the tiles of a stage over rows, and which of two engines runs one. Tiles may lie
 * a factor and a summand away from what they stand for: multiplying by a number or adding one costs
 * nothing here, as whatever reads the tile takes it along. The times weigh engines against each
 * other; the clock judges the kernel. Sources: architecture guides (clocks of the engines, fast
 * modes of Vector) and instruction costs of neuronxcc.nki.isa 2.26. */
#include "write/rows.h"

#include <math.h>

#define VECTOR_FIXED 62
#define VECTOR_ELEMENT 1.04
#define SCALAR_FIXED 140
#define SCALAR_ELEMENT 0.83
#define ONE_INPUT 0.63 /* Vector streams one input in SBUF faster than two */
#define RECIPROCAL 7
#define PSUM_COLUMNS 512 /* of fp32 in a bank */

static void declare(struct rows *rows, const struct tile *tile) {
    write_line(rows->writer, "%s = nl.ndarray((%s, %s), dtype=nl.%s, buffer=nl.%s)", tile->name,
               rows->count, tile->narrow ? "1" : rows->width, tile->dtype,
               tile->in_psum ? "psum" : "sbuf");
}

struct tile rows_tile(struct rows *rows, const char *name, const char *dtype, bool narrow) {
    struct tile tile = {.name = name, .dtype = dtype, .narrow = narrow, .scale = 1};
    declare(rows, &tile);
    return tile;
}

struct tile rows_node_tile(struct rows *rows, int node, const char *dtype, bool narrow) {
    const struct graph_node *row = &rows->writer->graph->nodes[node];
    if (rows->place && rows->placed == node && !narrow && strcmp(dtype, "float32") == 0)
        return (struct tile){.name = rows->place, .dtype = dtype, .scale = 1};
    struct tile tile = {.name = arena_printf(rows->writer->arena, "%s_%d", row->name, node),
                        .dtype = dtype,
                        .narrow = narrow,
                        .in_psum = !narrow && rows_wants_psum(rows, node),
                        .scale = 1};
    declare(rows, &tile);
    return tile;
}

struct tile rows_helper(struct rows *rows, const char *base, const char *dtype, bool narrow) {
    const char *name = arena_printf(rows->writer->arena, "%s_h%d%s", base, ++rows->helpers,
                                    rows->suffix ? rows->suffix : "");
    return rows_tile(rows, name, dtype, narrow);
}

/* ---- engines --------------------------------------------------------------------------------- */

static struct busy time_of(const struct rows *rows, double vector_units, double scalar_units,
                           bool narrow) {
    double n = narrow ? 1 : (double)rows->chunk;
    return (struct busy){.vector = VECTOR_FIXED + VECTOR_ELEMENT * n * vector_units,
                         .scalar = SCALAR_FIXED + SCALAR_ELEMENT * n * scalar_units};
}

void rows_busy(struct rows *rows, double vector_units, double scalar_units, bool narrow) {
    struct busy time = time_of(rows, vector_units, scalar_units, narrow);
    rows->busy.vector += vector_units > 0 ? time.vector : 0;
    rows->busy.scalar += scalar_units > 0 ? time.scalar : 0;
}

static int shares_of_scalar(struct rows *rows, struct busy time) {
    size_t at = rows->either_met++;
    if (rows->on_scalar)
        return at < rows->either.len ? rows->on_scalar[at] : 0;
    *vec_push(&rows->either) = time;
    return 0;
}

bool rows_on_scalar(struct rows *rows, double vector_units, double scalar_units) {
    return shares_of_scalar(rows, time_of(rows, vector_units, scalar_units, false));
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

/* Some of a tile's columns; of a part of a wider one, that one's. */
static const char *columns_of(struct rows *rows, const struct tile *tile, const char *from,
                              const char *to) {
    struct arena *arena = rows->writer->arena;
    long long shift = tile->shift;
    if (!shift)
        return arena_printf(arena, "%s[0:%s, %s:%s]", tile->of ? tile->of : tile->name, rows->count,
                            from, to);
    return arena_printf(arena, "%s[0:%s, %lld + %s:%lld + %s]", tile->of, rows->count, shift, from,
                        shift, to);
}

static const char *name_of(struct rows *rows, const struct tile *tile) {
    if (!rows->in_pieces || tile->narrow)
        return tile->name;
    return columns_of(
        rows, tile, "p",
        arena_printf(rows->writer->arena, "p + %lld", (long long)(rows->chunk / rows->pieces)));
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

static void scalar_line(struct rows *rows, const char *dst, const char *data,
                        const struct scalar_ops *ops, bool scalar) {
    struct buf line = {0};
    buf_printf(&line, "nisa.tensor_scalar(dst=%s, data=%s, op0=nl.%s, operand0=%s", dst, data,
               ops->op0, ops->by0);
    if (ops->reverse0)
        buf_puts(&line, ", reverse0=True");
    if (ops->op1)
        buf_printf(&line, ", op1=nl.%s, operand1=%s", ops->op1, ops->by1);
    if (scalar)
        buf_puts(&line, ", engine=nisa.engine.scalar");
    write_line(rows->writer, "%s)", line.at);
    buf_free(&line);
}

/* Vector takes the first columns, Scalar the rest. */
static void divided(struct rows *rows, const struct tile *dst, const struct tile *data,
                    const struct scalar_ops *ops) {
    struct arena *arena = rows->writer->arena;
    long long n = rows->chunk, cut = n / ROWS_SHARES * (ROWS_SHARES - ops->scalar);
    const char *ends[] = {"0", arena_printf(arena, "%lld", cut), arena_printf(arena, "%lld", n)};
    for (int i = 0; i < 2; i++)
        scalar_line(rows, columns_of(rows, dst, ends[i], ends[i + 1]),
                    columns_of(rows, data, ends[i], ends[i + 1]), ops, i);
}

void rows_scalar(struct rows *rows, const struct tile *dst, const struct tile *data,
                 struct scalar_ops ops) {
    begin(rows, dst);
    if (ops.scalar > 0 && ops.scalar < ROWS_SHARES)
        divided(rows, dst, data, &ops);
    else
        scalar_line(rows, name_of(rows, dst), name_of(rows, data), &ops, ops.scalar);
    end(rows);
    bool on_gpsimd = strcmp(ops.op0, "power") == 0;
    rows_busy(rows, ops.scalar || on_gpsimd ? 0 : ONE_INPUT, ops.scalar ? 1 : 0, dst->narrow);
}

/* What an element of two tiles takes Vector. */
static double pair_units(const struct rows *rows, const struct tile *a, const struct tile *b) {
    return rows->writer->spec->is_trn1 && !a->in_psum && !b->in_psum ? 2 : 1;
}

/* A place among others, whose columns have no name. */
static bool is_place(const struct tile *tile) {
    return !tile->of && strchr(tile->name, '[');
}

bool rows_pairs_by_psum(struct rows *rows) {
    static const int64_t values[] = {0, 1};
    return rows->writer->spec->is_trn1 && !rows->is_nested && !rows->has_steps &&
           write_choose(rows->writer, rows->roots[rows->root_count - 1], "pairs",
                        "of two tiles that Vector reads at once: both lie in SBUF (0), Scalar "
                        "brings one to PSUM (1)",
                        values, 2);
}

/* Whether Scalar brings the first of two tiles to PSUM, so that Vector need not read in turns. */
static bool goes_by_psum(struct rows *rows, const struct tile *dst, const struct tile *a,
                         const struct tile *b) {
    bool narrow = dst->narrow || a->narrow || b->narrow;
    bool places = is_place(dst) || is_place(a) || is_place(b);
    return pair_units(rows, a, b) > 1 && !narrow && !places && rows->chunk >= PSUM_COLUMNS &&
           !strcmp(a->dtype, "float32") && !strcmp(b->dtype, "float32") &&
           strcmp(a->name, b->name) && rows_pairs_by_psum(rows);
}

/* dst = (a * by) op b, a by way of PSUM. */
static void by_psum(struct rows *rows, const struct tile *dst, const struct tile *a, const char *by,
                    const char *op, const struct tile *b) {
    struct writer *w = rows->writer;
    bool even = rows->chunk % PSUM_COLUMNS == 0 && !rows->uneven;
    int64_t width = rows->chunk % (2 * PSUM_COLUMNS) && even ? PSUM_COLUMNS : 2 * PSUM_COLUMNS;
    const char *wide = even ? arena_printf(w->arena, "%lld", (long long)width) : "wide";
    const char *to = arena_printf(w->arena, "p + %s", wide);
    write_line(w, "for p in range(0, %s, %lld):", rows->width, (long long)width);
    w->indent++;
    if (!even)
        write_line(w, "wide = min(%lld, %s - p)", (long long)width, rows->width);
    write_line(w, "beside = nl.ndarray((%s, %s), dtype=nl.float32, buffer=nl.psum)", rows->count,
               wide);
    write_line(w, "nisa.activation(dst=beside, op=nl.copy, data=%s%s%s)",
               columns_of(rows, a, "p", to), by ? ", scale=" : "", by ? by : "");
    write_line(w, "nisa.tensor_tensor(dst=%s, data1=beside, data2=%s, op=nl.%s)",
               columns_of(rows, dst, "p", to), columns_of(rows, b, "p", to), op);
    w->indent--;
    rows_busy(rows, 1, 1, false);
}

void rows_tensor(struct rows *rows, const struct tile *dst, const struct tile *a,
                 const struct tile *b, const char *alu) {
    if (strcmp(alu, "power") && goes_by_psum(rows, dst, a, b)) {
        by_psum(rows, dst, a, NULL, alu, b);
        return;
    }
    begin(rows, dst);
    write_line(rows->writer, "nisa.tensor_tensor(dst=%s, data1=%s, data2=%s, op=nl.%s)",
               name_of(rows, dst), name_of(rows, a), name_of(rows, b), alu);
    end(rows);
    rows_busy(rows, strcmp(alu, "power") ? pair_units(rows, a, b) : 0, 0, dst->narrow);
}

/* dst = (a op0 by) op1 b */
static void fused(struct rows *rows, const struct tile *dst, const struct tile *a, const char *op0,
                  const char *by, const char *op1, const struct tile *b) {
    if (!strcmp(op0, "multiply") && goes_by_psum(rows, dst, a, b)) {
        by_psum(rows, dst, a, by, op1, b);
        return;
    }
    begin(rows, dst);
    write_line(rows->writer,
               "nisa.scalar_tensor_tensor(dst=%s, data=%s, op0=nl.%s, operand0=%s, op1=nl.%s, "
               "operand1=%s)",
               name_of(rows, dst), name_of(rows, a), op0, by, op1, name_of(rows, b));
    end(rows);
    rows_busy(rows, pair_units(rows, a, b), 0, dst->narrow);
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

/* ---- factors and summands -------------------------------------------------------------------- */

/* What is pending stays near 1, so that nothing overflows that the reference keeps in range. */
#define NEAR 0x1p40

static const char *number(struct rows *rows, double value) {
    return write_number(rows->writer, value);
}

static bool is_plain(const struct tile *tile) {
    return tile->scale == 1 && tile->bias == 0 && !tile->by && !tile->plus;
}

static bool is_near(double value) {
    return value == 0 || (fabs(value) < NEAR && fabs(value) > 1 / NEAR);
}

/* A tile of one element a row: of * scale + bias. */
static const char *narrow_of(struct rows *rows, const char *of, double scale, double bias) {
    if (scale == 1 && bias == 0)
        return of;
    struct tile source = {.name = of, .narrow = true};
    struct tile made = rows_helper(rows, "row", "float32", true);
    struct scalar_ops ops = {.op0 = "multiply", .by0 = number(rows, scale)};
    if (scale == 1)
        ops = (struct scalar_ops){.op0 = "add", .by0 = number(rows, bias)};
    else if (bias != 0)
        ops.op1 = "add", ops.by1 = number(rows, bias);
    rows_scalar(rows, &made, &source, ops);
    return made.name;
}

void tile_scale_and_bias(struct rows *rows, struct tile *tile, const char **scale,
                         const char **bias) {
    *scale = tile->by ? narrow_of(rows, tile->by, tile->scale, 0) : number(rows, tile->scale);
    *bias = tile->plus ? narrow_of(rows, tile->plus, 1, tile->bias) : number(rows, tile->bias);
    if (rows->writer->spec->is_trn1 && !tile->plus && tile->bias != 0) {
        struct tile made = rows_helper(rows, "bias", "float32", true);
        rows_fill(rows, &made, tile->bias);
        *bias = made.name;
    }
}

static struct scalar_ops pending_ops(struct rows *rows, const struct tile *tile) {
    bool scaled = tile->by || tile->scale != 1, moved = tile->plus || tile->bias != 0;
    const char *by =
        tile->by ? narrow_of(rows, tile->by, tile->scale, 0) : number(rows, tile->scale);
    const char *plus =
        tile->plus ? narrow_of(rows, tile->plus, 1, tile->bias) : number(rows, tile->bias);
    if (!scaled)
        return (struct scalar_ops){.op0 = "add", .by0 = plus};
    return (struct scalar_ops){
        .op0 = "multiply", .by0 = by, .op1 = moved ? "add" : NULL, .by1 = moved ? plus : NULL};
}

void tile_make_plain(struct rows *rows, struct tile *tile) {
    if (tile->is_number || is_plain(tile))
        return;
    struct scalar_ops ops = pending_ops(rows, tile);
    struct tile made = rows_helper(rows, "whole", tile->dtype, tile->narrow);
    if (!tile->narrow && !rows->writer->spec->is_trn1) {
        struct busy time = time_of(rows, ONE_INPUT, 1, false);
        time.divides = rows->chunk % ROWS_SHARES == 0;
        ops.scalar = shares_of_scalar(rows, time);
    }
    struct busy busy = rows->busy;
    rows_scalar(rows, &made, tile, ops);
    if (!tile->narrow && !rows->writer->spec->is_trn1)
        rows->busy = busy; /* it is weighed among those that either engine can run */
    *tile = made;
}

struct tile tile_scaled(struct rows *rows, struct tile tile, double by) {
    bool is_far = by == 0 || !is_near(by) || !is_near(tile.scale * by);
    if (is_far)
        tile_make_plain(rows, &tile);
    if (tile.plus) { /* the summand is a tile, too */
        tile.plus = narrow_of(rows, tile.plus, by, tile.bias * by);
        tile.bias = 0;
    }
    tile.scale *= by;
    tile.bias = tile.bias * by + 0.0; /* no -0.0 in what is printed */
    if (is_far)
        tile_make_plain(rows, &tile);
    return tile;
}

struct tile tile_moved(struct tile tile, double by) {
    tile.bias += by;
    return tile;
}

static struct tile declared(struct rows *rows, int node, bool narrow) {
    const struct graph_node *row = &rows->writer->graph->nodes[node];
    return rows_node_tile(rows, node, narrow ? "float32" : row->dtype, narrow);
}

/* a + b, b one element a row: it becomes a's summand. */
static void add_narrow(struct rows *rows, int node, struct tile a, struct tile b) {
    tile_make_plain(rows, &b);
    if (a.plus) {
        struct tile sum = rows_helper(rows, "row", "float32", true);
        struct tile plus = {.name = a.plus, .narrow = true};
        rows_tensor(rows, &sum, &plus, &b, "add");
        b.name = sum.name;
    }
    a.plus = b.name;
    rows->tiles[node] = a;
}

static void multiply_narrow(struct rows *rows, int node, struct tile a, struct tile b) {
    tile_make_plain(rows, &b);
    if (a.plus || a.bias != 0)
        tile_make_plain(rows, &a);
    if (a.by) {
        struct tile product = rows_helper(rows, "row", "float32", true);
        struct tile by = {.name = a.by, .narrow = true};
        rows_tensor(rows, &product, &by, &b, "multiply");
        b.name = product.name;
    }
    a.by = b.name;
    rows->tiles[node] = a;
}

/* Two multiples of one tile: x - 0.1 * x. */
static bool add_multiples(struct rows *rows, int node, struct tile *a, const struct tile *b) {
    if (a->name != b->name || a->by || b->by || a->plus || b->plus ||
        !is_near(a->scale + b->scale) || a->scale + b->scale == 0)
        return false;
    a->scale += b->scale;
    a->bias += b->bias;
    rows->tiles[node] = *a;
    return true;
}

/* Takes the tile's own factor or summand into an instruction of two tiles; both is too much. */
static const char *factor_of(struct rows *rows, const struct tile *tile, double scale) {
    return tile->by ? narrow_of(rows, tile->by, scale, 0) : number(rows, scale);
}

/* One of the tiles is taken as it is, or subtracted: (small * scale) + large. */
static bool join_units(struct rows *rows, int node, const struct tile *a, const struct tile *b,
                       struct tile *dst) {
    bool a_is_unit = fabs(a->scale) == 1 && !a->by, b_is_unit = fabs(b->scale) == 1 && !b->by;
    const struct tile *large = b_is_unit && (!a_is_unit || a->scale == -1) ? b : a;
    const struct tile *small = large == a ? b : a;
    if ((!a_is_unit && !b_is_unit) || (a->scale == -1 && b->scale == -1) || !is_near(small->scale))
        return false;
    *dst = declared(rows, node, a->narrow);
    dst->bias = a->bias + b->bias;
    bool plain = small->scale == 1 && !small->by;
    if (plain && large->scale == 1)
        rows_tensor(rows, dst, a, b, "add");
    else if (plain)
        rows_tensor(rows, dst, small, large, "subtract");
    else if (large->scale == 1 && small->scale == -1 && !small->by)
        rows_tensor(rows, dst, large, small, "subtract");
    else
        fused(rows, dst, small, "multiply", factor_of(rows, small, small->scale),
              large->scale == 1 ? "add" : "subtract", large);
    return true;
}

/* The larger scale stays pending: scale * ((small * times) + large). */
static struct tile join_scaled(struct rows *rows, int node, struct tile *a, struct tile *b) {
    bool swaps = b->by || (!a->by && fabs(b->scale) < fabs(a->scale));
    struct tile *small = swaps ? b : a, *large = swaps ? a : b;
    if (!is_near(small->scale / large->scale)) {
        tile_make_plain(rows, small);
        tile_make_plain(rows, large);
    }
    struct tile dst = declared(rows, node, a->narrow);
    double times = small->scale / large->scale;
    if (times == 1 && !small->by)
        rows_tensor(rows, &dst, small, large, "add");
    else
        fused(rows, &dst, small, "multiply", factor_of(rows, small, times), "add", large);
    dst.scale = large->scale;
    dst.bias = a->bias + b->bias;
    return dst;
}

void tile_add(struct rows *rows, int node, struct tile a, struct tile b) {
    if (add_multiples(rows, node, &a, &b))
        return;
    if (a.narrow != b.narrow) {
        add_narrow(rows, node, a.narrow ? b : a, a.narrow ? a : b);
        return;
    }
    if (a.plus)
        tile_make_plain(rows, &a);
    if (b.plus)
        tile_make_plain(rows, &b);
    if (a.by && b.by)
        tile_make_plain(rows, &b);
    struct tile dst;
    if (!join_units(rows, node, &a, &b, &dst))
        dst = join_scaled(rows, node, &a, &b);
    rows->tiles[node] = dst;
}

/* What is added before the product with another tile: (x + bias / scale) * y. */
static const char *summand_of(struct rows *rows, const struct tile *tile) {
    return tile->plus ? narrow_of(rows, tile->plus, 1 / tile->scale, tile->bias / tile->scale)
                      : number(rows, tile->bias / tile->scale);
}

void tile_multiply(struct rows *rows, int node, struct tile a, struct tile b) {
    if (a.narrow != b.narrow) {
        multiply_narrow(rows, node, a.narrow ? b : a, a.narrow ? a : b);
        return;
    }
    struct tile *both[] = {&a, &b};
    for (int i = 0; i < 2; i++)
        if ((both[i]->by && (both[i]->plus || both[i]->bias != 0)) ||
            !is_near(both[i]->bias / both[i]->scale))
            tile_make_plain(rows, both[i]);
    bool pending_a = a.by || a.plus || a.bias != 0, pending_b = b.by || b.plus || b.bias != 0;
    if ((pending_a && pending_b) || !is_near(a.scale * b.scale)) {
        tile_make_plain(rows, &b);
        pending_b = false;
    }
    struct tile *with = pending_b ? &b : &a, *other = pending_b ? &a : &b;
    const char *by = with->by ? with->by : pending_a || pending_b ? summand_of(rows, with) : NULL;
    struct tile dst = declared(rows, node, a.narrow);
    double scale = a.scale * b.scale;
    if (!by && scale == 1)
        rows_tensor(rows, &dst, &a, &b, "multiply");
    else if (!by)
        fused(rows, &dst, &a, "multiply", number(rows, scale), "multiply", &b);
    else
        fused(rows, &dst, with, with->by ? "multiply" : "add", by, "multiply", other);
    dst.scale = by ? scale : 1;
    rows->tiles[node] = dst;
}
