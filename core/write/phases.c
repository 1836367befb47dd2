/* SPDX-License-Identifier: Apache-2.0 */
/* Stages over tiles of rows that are not done tile by tile. In two phases: the next tile is begun
 * before this one is done with. Of scans whose rows come in chunks: what a scan ended with in one,
 * it begins with in the next; results may be sums over dimensions that scans do not go along, and
 * the loops over those are the innermost ones, so that what is the same in all of them is there
 * once. */
#include "write/rows.h"

#include <math.h>

#define BANK 512          /* sums of fp32 that a bank of PSUM holds for a partition */
#define STEPS_TAKE 0.4    /* share of SBUF that steps may take which stay until they are added up */
#define HALF_OF_PSUM 2048 /* so that the next ones begin while these leave */

/* ---- phases ----------------------------------------------------------------------------------*/

static struct side *partition_side(struct rows *rows) {
    for (int s = 0; s < rows->side_count; s++)
        if (rows->sides[s].role == SIDE_PARTITION)
            return &rows->sides[s];
    return NULL;
}

/* The nodes up to a reduction, which is the one after `from` others; 0: there is none. */
static size_t up_to_reduction(const struct rows *rows, size_t from) {
    for (size_t i = from; i < rows->nodes.len; i++)
        if (rows->writer->graph->nodes[rows->nodes.at[i]].op->kind == GRAPH_REDUCE)
            return i + 1;
    return 0;
}

/* The nodes of the first phase: a reduction, and what is only told to those who read its rows, so
 * that no engine finds that at the end of a long queue. */
static size_t first_phase(const struct rows *rows) {
    size_t end = up_to_reduction(rows, 0);
    for (; end && end < rows->nodes.len; end++) {
        const struct graph_node *row = &rows->writer->graph->nodes[rows->nodes.at[end]];
        int reduced = rows->nodes.at[up_to_reduction(rows, 0) - 1];
        bool moves = row->op->kind == GRAPH_BINARY &&
                     (!strcmp(row->op->alu, "subtract") || !strcmp(row->op->alu, "add"));
        if (!moves || (row->in[0] != reduced && row->in[1] != reduced) ||
            rows_has_root(rows, rows->nodes.at[end]))
            break;
    }
    return end;
}

/* Whether the next tile of rows is begun before this one is done with. Engines take their
 * instructions in order: of two reductions with work between them, as a softmax has, the first one
 * of a tile would wait for all that the other engines still do with the tile before. */
bool rows_has_phases(struct rows *rows) {
    static const int64_t values[] = {1, 0};
    const struct side *side = partition_side(rows);
    bool makes = false;
    for (size_t i = 0; i < rows->leaves.len; i++)
        makes |= rows->leaves.at[i].product != NULL;
    size_t first = first_phase(rows);
    return makes && !rows->in_chunks && side && side->n > PARTITIONS && first &&
           up_to_reduction(rows, first) &&
           write_choose(
               rows->writer, rows->roots[rows->root_count - 1], "phases",
               "the next tile of rows: is begun before this one is done with (1), waits for it (0)",
               values, 2);
}

/* What the first phase made is called "now_" later on: its names are those of the next tile then.
 */
static void rename_tiles(struct rows *rows, const struct tile *before) {
    struct buf said = {0};
    for (int i = 0; i < rows->writer->graph->count; i++) {
        struct tile *tile = &rows->tiles[i];
        const char **names[] = {&tile->name, &tile->by, &tile->plus};
        bool made = tile->name != before[i].name;
        for (size_t k = 0; k < COUNT_OF(names) && made; k++) {
            if (!*names[k] || !**names[k]) /* nothing keeps what has no name */
                continue;
            const char *now = arena_printf(rows->writer->arena, "now_%s", *names[k]);
            const char *line = arena_printf(rows->writer->arena, "%s = %s\n", now, *names[k]);
            if (!said.at || !strstr(said.at, line))
                write_line(rows->writer, "%s = %s", now, *names[k]);
            buf_puts(&said, line);
            *names[k] = now;
        }
    }
    buf_free(&said);
}

/* How far the stage was printed, and on which tile. */
struct progress {
    struct tile *tiles;
    int helpers;
    size_t either_met;
    const char *variable, *count;
};

static void change_places(struct rows *rows, struct progress *other) {
    struct side *side = partition_side(rows);
    struct progress here = {rows->tiles, rows->helpers, rows->either_met, side->variable,
                            rows->count};
    rows->tiles = other->tiles;
    rows->helpers = other->helpers;
    rows->either_met = other->either_met;
    side->variable = other->variable;
    rows->count = other->count;
    *other = here;
}

/* Begins the part of the loop that is for the next tile. */
static void open_next(struct rows *rows, struct progress *other, const char *why) {
    write_line(rows->writer, "if ahead < %lld:  # %s", (long long)partition_side(rows)->n, why);
    rows->writer->indent++;
    change_places(rows, other);
}

static void close_next(struct rows *rows, struct progress *other) {
    rows->writer->indent--;
    change_places(rows, other);
}

/* The loop over rows once its first tile is begun. */
static bool emit_steady(struct rows *rows, struct progress next, int results) {
    struct writer *w = rows->writer;
    size_t first = first_phase(rows), second = up_to_reduction(rows, first);
    const struct side *side = partition_side(rows);
    size_t either = rows->either.len;
    struct busy busy = rows->busy;
    int again = 0;
    next.variable = "ahead";
    next.count = side->n % PARTITIONS ? "coming" : rows->count;
    rows_open_tiles(rows);
    rename_tiles(rows, next.tiles);
    write_line(w, "ahead = r + %d", PARTITIONS);
    size_t without = w->out.len;
    open_next(rows, &next, "the next tile comes while this one is worked on");
    if (side->n % PARTITIONS)
        write_line(w, "coming = min(%d, %lld - ahead)", PARTITIONS, (long long)side->n);
    size_t opened = w->out.len;
    rows_load(rows);
    if (w->out.len == opened && side->n % PARTITIONS == 0)
        w->out.len = without;
    close_next(rows, &next);
    rows->busy = busy;
    bool ok = rows_compute_nodes(rows, first, second, &results);
    busy = rows->busy;
    size_t met = rows->either.len;
    open_next(rows, &next, "and is reduced before this one ends");
    ok = ok && rows_compute_nodes(rows, 0, first, &again);
    close_next(rows, &next);
    rows->busy = busy; /* all this was counted with the first tile */
    rows->either.len = rows->on_scalar ? either : met;
    return ok && rows_compute_nodes(rows, second, rows->nodes.len, &results);
}

/* The first tile, and the loop. */
bool rows_emit_phases(struct rows *rows) {
    size_t count = (size_t)rows->writer->graph->count + 1;
    struct progress next = {.tiles = ARENA_ARRAY(rows->writer->arena, struct tile, count),
                            .helpers = rows->helpers,
                            .either_met = rows->either_met};
    int results = 0;
    rows_open_chunks(rows);
    rows->count = arena_printf(rows->writer->arena, "%d", PARTITIONS);
    memcpy(next.tiles, rows->tiles, count * sizeof *next.tiles);
    rows_load(rows);
    return rows_compute_nodes(rows, 0, first_phase(rows), &results) &&
           emit_steady(rows, next, results);
}

/* ---- what scans carry ------------------------------------------------------------------------ */

static const struct graph_node *row_of(const struct rows *rows, int node) {
    return &rows->writer->graph->nodes[node];
}

static bool has_chunks(const struct rows *rows) {
    return rows->is_carried && rows_column_elements(rows) > rows->chunk;
}

/* Where a scan's last column is kept, for the rows of a tile. */
static const char *carry_of(struct rows *rows, int node) {
    return arena_printf(rows->writer->arena, "carry_%d[0:%s, %s]", node, rows->count, rows->lane);
}

const char *rows_scan_start(struct rows *rows, int node, const char *first) {
    return has_chunks(rows) ? carry_of(rows, node) : first;
}

void rows_keep_last(struct rows *rows, int node, const struct tile *tile) {
    if (!has_chunks(rows))
        return;
    const char *last = rows->uneven
                           ? "cols - 1:cols"
                           : arena_printf(rows->writer->arena, "%lld:%lld",
                                          (long long)rows->chunk - 1, (long long)rows->chunk);
    write_line(rows->writer, "nisa.activation(dst=%s, op=nl.copy, data=%s[0:%s, %s])",
               carry_of(rows, node), tile->name, rows->count, last);
    rows_busy(rows, 0, 1, true);
}

/* How many scans of one row there are, one for each step of the inner loops. */
static int64_t lanes(const struct rows *rows) {
    int64_t n = 1;
    for (int s = 0; s < rows->side_count; s++)
        n *= rows->sides[s].is_across ? rows->sides[s].n : 1;
    return n;
}

/* Returns the innermost loop; of count 0: there is none. */
static struct steps open_across(struct rows *rows) {
    struct writer *w = rows->writer;
    struct steps steps = {0};
    struct buf lane = {0};
    int64_t after = lanes(rows);
    for (int s = 0; s < rows->side_count; s++) {
        struct side *side = &rows->sides[s];
        if (!side->is_across || side->n == 1)
            continue;
        after /= side->n;
        side->variable = arena_printf(w->arena, "s%d", s);
        side->most = side->n - 1;
        steps = (struct steps){w->out.len, side->variable, side->n, 1, true};
        write_line(w, "for %s in range(%lld):", side->variable, (long long)side->n);
        w->indent++;
        buf_printf(&lane, "%s%s", lane.len ? " + " : "", side->variable);
        if (after > 1)
            buf_printf(&lane, " * %lld", (long long)after);
    }
    if (lane.len) {
        rows->lane = arena_printf(w->arena, "%s:%s + 1", lane.at, lane.at);
        rows->step = arena_strdup(w->arena, lane.at);
    }
    buf_free(&lane);
    return steps;
}

static void close_across(struct rows *rows) {
    for (int s = 0; s < rows->side_count; s++)
        if (rows->sides[s].is_across && rows->sides[s].variable) {
            rows->writer->indent--;
            rows->sides[s].variable = NULL;
        }
    rows->lane = "0:1";
    rows->step = "0";
}

double rows_scan_first(const char *alu) {
    if (strcmp(alu, "multiply") == 0)
        return 1;
    return strcmp(alu, "maximum") == 0 ? -INFINITY : strcmp(alu, "minimum") == 0 ? INFINITY : 0;
}

/* What a scan begins with, before the first chunk. */
static double first_number(const struct rows *rows, int node) {
    const struct graph_node *row = row_of(rows, node);
    if (row->op->kind == GRAPH_RECURRENCE)
        return rows->writer->values[row->in[2]].number;
    return rows_scan_first(row->op->alu);
}

/* The array that a scan begins with; NULL: a number. */
static const struct leaf *first_leaf(const struct rows *rows, int node) {
    const struct graph_node *row = row_of(rows, node);
    for (size_t i = 0; row->op->kind == GRAPH_RECURRENCE && i < rows->leaves.len; i++)
        if (!rows->leaves.at[i].is_result && rows->leaves.at[i].node == row->in[2])
            return &rows->leaves.at[i];
    return NULL;
}

static void begin_scan(struct rows *rows, int node) {
    struct writer *w = rows->writer;
    const struct leaf *leaf = first_leaf(rows, node);
    write_line(w, "carry_%d = nl.ndarray((%s, %lld), dtype=nl.float32, buffer=nl.sbuf)", node,
               rows->count, (long long)lanes(rows));
    if (!leaf) {
        write_line(w, "nisa.memset(dst=carry_%d, value=%s)", node,
                   write_number(w, first_number(rows, node)));
        return;
    }
    (void)open_across(rows);
    write_line(w, "nisa.dma_copy(dst=%s, src=%s)", carry_of(rows, node),
               rows_place(rows, leaf, true));
    close_across(rows);
}

/* ---- the loops ------------------------------------------------------------------------------- */

/* Nodes that differ from step to step of the inner loops. */
static char *find_inner(const struct rows *rows) {
    char *inner = ARENA_ARRAY(rows->writer->arena, char, (size_t)rows->writer->graph->count + 1);
    for (size_t i = 0; i < rows->leaves.len; i++)
        for (int s = 0; s < rows->side_count; s++)
            if (rows->sides[s].is_across && rows->leaves.at[i].strides[s])
                inner[rows->leaves.at[i].node] = 1;
    for (size_t i = 0; i < rows->nodes.len; i++) {
        const struct graph_node *row = row_of(rows, rows->nodes.at[i]);
        for (int k = 0; k < row->in_count; k++)
            inner[rows->nodes.at[i]] |= inner[row->in[k]];
        if (rows_is_across(rows, rows->nodes.at[i]))
            inner[rows->nodes.at[i]] = 1;
    }
    return inner;
}

/* What is added up, for each result: each step with those before, in PSUM by products with the unit
 * matrix, or all steps in the end. An instruction of two tiles takes Vector twice as long as one
 * that reads as much and reduces it. */
enum adding { ADDS_STEPS = 0, ADDS_IN_PSUM = 1, ADDS_IN_THE_END = 2 };
struct total {
    struct tile tile;
    enum adding how;
};

static int64_t chunk_of(const struct rows *rows) {
    return MIN_OF(rows->chunk, rows_column_elements(rows));
}

/* Whether the Tensor engine may add up, which leaves more of Vector to the scans. A product with
 * the unit matrix adds 0 times the other channels of the tile: a NaN or an infinity of one reaches
 * all of them. It is offered where numbers are taken to be finite: in `split`, whose halves of an
 * infinity are NaN, and in `any`. */
static bool may_use_tensor(const struct rows *rows, int node) {
    int sums = 0;
    for (int i = 0; i < rows->root_count; i++)
        sums += rows_is_across(rows, rows->roots[i]);
    return rows->writer->spec->precision != WRITE_KEEP &&
           strcmp(row_of(rows, node)->op->alu, "add") == 0 && sums * chunk_of(rows) <= HALF_OF_PSUM;
}

/* Whether all steps may stay until the end. */
static bool may_keep_steps(const struct rows *rows, int node) {
    int of = row_of(rows, node)->in[0];
    const struct value *value = &rows->writer->values[of];
    double bytes = 4 * (double)(lanes(rows) * chunk_of(rows));
    return lanes(rows) > 1 && strcmp(row_of(rows, node)->op->alu, "multiply") &&
           row_of(rows, of)->ndim == row_of(rows, node)->ndim && value->users == 1 &&
           !rows_has_root(rows, of) && bytes <= rows->writer->spec->sbuf_bytes * STEPS_TAKE;
}

static enum adding choose_adding(struct rows *rows, int node) {
    int64_t values[3], count = 0;
    if (!rows_is_across(rows, node))
        return ADDS_STEPS;
    if (may_use_tensor(rows, node))
        values[count++] = ADDS_IN_PSUM;
    values[count++] = ADDS_STEPS;
    if (may_keep_steps(rows, node))
        values[count++] = ADDS_IN_THE_END;
    return count == 1
               ? ADDS_STEPS
               : (enum adding)write_choose(
                     rows->writer, node, "adds_up",
                     "steps are added up: by the Tensor engine, where all numbers are finite "
                     "(1), by Vector, each with those before (0), by Vector, all in the end "
                     "(2)",
                     values, (int)count);
}

/* The unit matrix, as large as the tiles of rows. */
static void make_unit(struct rows *rows) {
    struct writer *w = rows->writer;
    int64_t n = 1;
    for (int s = 0; s < rows->side_count; s++)
        if (rows->sides[s].role == SIDE_PARTITION)
            n = MIN_OF(rows->sides[s].n, PARTITIONS);
    write_line(w, "unit = nl.ndarray((%lld, %lld), dtype=nl.float32, buffer=nl.sbuf)", (long long)n,
               (long long)n);
    write_line(w, "nisa.memset(dst=unit, value=1.0)");
    write_line(w,
               "nisa.affine_select(dst=unit, pattern=[[-1, %lld]], channel_multiplier=1, "
               "on_true_tile=unit, on_false_value=0.0, cmp_op=nl.equal, offset=0)",
               (long long)n);
}

/* A loop over the banks of a tile's columns; returns how many there are in one. */
static const char *open_banks(struct rows *rows) {
    struct writer *w = rows->writer;
    write_line(w, "for p in range(0, %s, %d):", rows->width, BANK);
    w->indent++;
    if (rows->chunk % BANK == 0 && !rows->uneven)
        return arena_printf(w->arena, "%d", BANK);
    write_line(w, "wide = min(%d, %s - p)", BANK, rows->width);
    return "wide";
}

static void add_in_psum(struct rows *rows, int node, const struct tile *part) {
    const char *wide = open_banks(rows);
    write_line(rows->writer,
               "nisa.nc_matmul(dst=sums_%d[0:%s, p // %d, 0:%s], stationary=unit[0:%s, 0:%s], "
               "moving=%s[0:%s, p:p + %s])",
               node, rows->count, BANK, wide, rows->count, rows->count, part->name, rows->count,
               wide);
    rows->writer->indent--;
}

static void take_from_psum(struct rows *rows, int node, struct total *total) {
    total->tile = rows_helper(rows, "total", "float32", false);
    const char *wide = open_banks(rows);
    write_line(rows->writer,
               "nisa.activation(dst=%s[0:%s, p:p + %s], op=nl.copy, data=sums_%d[0:%s, p // %d, "
               "0:%s])",
               total->tile.name, rows->count, wide, node, rows->count, BANK, wide);
    rows->writer->indent--;
    rows_busy(rows, 0, 1, false);
}

/* The place of a step among those that stay until the end. */
static struct tile kept_step(struct rows *rows, int node) {
    return (struct tile){.name = arena_printf(rows->writer->arena, "steps_%d[0:%s, 0:%s, %s]", node,
                                              rows->count, rows->width, rows->step),
                         .dtype = "float32",
                         .scale = 1};
}

static void add_step(struct rows *rows, int node, struct total *total) {
    struct tile *result = rows_result(rows, row_of(rows, node)->in[0]);
    struct tile part = rows_widened(rows, result, "float32"), kept = kept_step(rows, node);
    if (total->how == ADDS_IN_PSUM)
        add_in_psum(rows, node, &part);
    else if (total->how == ADDS_STEPS)
        rows_add_sum(rows, node, &total->tile, &part);
    else if (strcmp(part.name, kept.name) != 0)
        rows_copy_tile(rows, &kept, &part);
}

/* What is a step of a sum in the end is computed into its place at once. */
static void place_step(struct rows *rows, int node, const struct total *totals) {
    rows->place = NULL;
    for (int i = 0; i < rows->root_count; i++)
        if (totals[i].how == ADDS_IN_THE_END && row_of(rows, rows->roots[i])->in[0] == node) {
            rows->place = kept_step(rows, rows->roots[i]).name;
            rows->placed = node;
        }
}

static void take_steps(struct rows *rows, int node, struct total *total) {
    total->tile = rows_helper(rows, "total", "float32", false);
    write_line(rows->writer,
               "nisa.tensor_reduce(dst=%s, op=nl.%s, data=steps_%d[0:%s, 0:%s, 0:%lld], axis=2)",
               total->tile.name, row_of(rows, node)->op->alu, node, rows->count, rows->width,
               (long long)lanes(rows));
    rows_busy(rows, (double)lanes(rows) / 2, 0, false);
}

static bool compute(struct rows *rows, const char *inner, bool now, struct total *totals) {
    int result = 0;
    for (size_t i = 0; i < rows->leaves.len; i++) {
        struct leaf *leaf = &rows->leaves.at[i];
        if (!leaf->is_result && (inner[leaf->node] != 0) == now)
            rows_load_leaf(rows, leaf);
    }
    for (size_t i = 0; i < rows->nodes.len; i++) {
        int node = rows->nodes.at[i];
        bool is_root = rows_has_root(rows, node), across = rows_is_across(rows, node);
        if ((inner[node] != 0) == now && across) {
            add_step(rows, node, &totals[result]);
        } else if ((inner[node] != 0) == now) {
            place_step(rows, node, totals);
            bool ok = rows_compute(rows, node);
            rows->place = NULL;
            if (!ok)
                return false;
            if (is_root)
                rows_store(rows, result, rows_result(rows, node));
        }
        result += is_root;
    }
    return true;
}

/* The totals of a tile: before the inner loops, and to HBM after them. */
static void begin_totals(struct rows *rows, struct total *totals) {
    for (int i = 0; i < rows->root_count; i++) {
        int node = rows->roots[i];
        if (totals[i].how == ADDS_IN_THE_END)
            write_line(rows->writer,
                       "steps_%d = nl.ndarray((%s, %s, %lld), dtype=nl.float32, buffer=nl.sbuf)",
                       node, rows->count, rows->width, (long long)lanes(rows));
        else if (totals[i].how == ADDS_IN_PSUM)
            write_line(rows->writer,
                       "sums_%d = nl.ndarray((%s, %lld, %d), dtype=nl.float32, buffer=nl.psum)",
                       node, rows->count, (long long)((rows->chunk + BANK - 1) / BANK), BANK);
        else if (rows_is_across(rows, node))
            rows_begin_sum(rows, node, false, &totals[i].tile);
    }
}

static void store_totals(struct rows *rows, struct total *totals) {
    for (int i = 0; i < rows->root_count; i++) {
        if (totals[i].how == ADDS_IN_PSUM)
            take_from_psum(rows, rows->roots[i], &totals[i]);
        if (totals[i].how == ADDS_IN_THE_END)
            take_steps(rows, rows->roots[i], &totals[i]);
        if (rows_is_across(rows, rows->roots[i]))
            rows_store(rows, i, &totals[i].tile);
    }
}

/* Who adds up each result. */
static void choose_totals(struct rows *rows, struct total *totals) {
    bool any = false;
    for (int i = 0; i < rows->root_count; i++) {
        totals[i].how = choose_adding(rows, rows->roots[i]);
        any |= totals[i].how == ADDS_IN_PSUM;
    }
    if (any)
        make_unit(rows);
}

bool rows_emit_carried(struct rows *rows) {
    struct total totals[WRITE_MAX_MATES] = {0};
    char *inner = find_inner(rows);
    rows->lane = "0:1";
    rows->step = "0";
    choose_totals(rows, totals);
    rows_open_tiles(rows);
    for (size_t i = 0; has_chunks(rows) && i < rows->nodes.len; i++)
        if (rows_is_scan(rows, rows->nodes.at[i]))
            begin_scan(rows, rows->nodes.at[i]);
    rows_open_chunks(rows);
    if (!compute(rows, inner, false, totals))
        return false;
    begin_totals(rows, totals);
    struct steps steps = open_across(rows);
    bool ok = compute(rows, inner, true, totals);
    close_across(rows);
    if (ok && steps.count)
        write_abreast(rows->writer, rows->roots[rows->root_count - 1], &steps);
    store_totals(rows, totals);
    return ok;
}

/* ---- upright sums ---------------------------------------------------------------------------- */

/* Loops over rows that are summed up; those over other rows are open. */
static void open_summed(struct rows *rows) {
    struct writer *w = rows->writer;
    for (int s = 0; s < rows->side_count; s++) {
        struct side *side = &rows->sides[s];
        if (side->role != SIDE_LOOP || side->n == 1 || !side->is_summed)
            continue;
        side->variable = arena_printf(w->arena, "i%d", s);
        side->most = side->n - 1;
        write_line(w, "for %s in range(%lld):", side->variable, (long long)side->n);
        w->indent++;
    }
}

/* Tiles that rows are added to: as many partitions as any has. */
static struct tile begin_total(struct rows *rows, const char *count, const char *width) {
    struct tile total = {.name = arena_printf(rows->writer->arena, "total_h%d", ++rows->helpers),
                         .dtype = "float32",
                         .scale = 1};
    write_line(rows->writer, "%s = nl.ndarray((%s, %s), dtype=nl.float32, buffer=nl.sbuf)",
               total.name, count, width);
    write_line(rows->writer, "nisa.memset(dst=%s, value=0.0)", total.name);
    return total;
}

static bool add_rows(struct rows *rows, struct tile *totals, bool several) {
    struct writer *w = rows->writer;
    for (size_t i = 0; i < rows->nodes.len; i++) {
        int node = rows->nodes.at[i];
        if (!rows_has_root(rows, node) && !rows->ahead[node] && !rows_compute(rows, node))
            return false;
    }
    for (int i = 0; i < rows->root_count; i++) {
        struct tile *part = rows_result(rows, row_of(rows, rows->roots[i])->in[0]);
        struct tile wide = part->narrow ? rows_widened(rows, part, "float32") : *part;
        if (!several) {
            totals[i] = wide;
            continue;
        }
        struct tile total = totals[i];
        total.name = arena_printf(w->arena, "%s[0:%s, 0:%s]", total.name, rows->count, rows->width);
        rows_tensor(rows, &total, &total, &wide, "add");
    }
    return true;
}

/* The sum of a total's partitions, and of rows that lie beside each other in it: a product with
 * ones. */
static void store_total(struct rows *rows, int result, const struct tile *total,
                        const char *count) {
    struct writer *w = rows->writer;
    const struct leaf *out = &rows->leaves.at[rows->leaves.len - (size_t)rows->root_count];
    int last = rows->side_count - 1;
    int64_t n = rows->sides[last].n, packed = rows_column_elements(rows) / n;
    int indent = w->indent;
    for (int64_t at = 0; at < n; at += BANK) {
        long long wide = MIN_OF(n - at, BANK);
        write_line(w, "sums = nl.ndarray((1, %lld), dtype=nl.float32, buffer=nl.psum)", wide);
        const char *from = arena_printf(w->arena, "%lld:%lld", (long long)at, (long long)at + wide);
        if (packed > 1) {
            write_line(w, "for q in range(%lld, %lld, %lld):", (long long)at,
                       (long long)(n * packed), (long long)n);
            w->indent++;
            from = arena_printf(w->arena, "q:q + %lld", wide);
        }
        const char *place = arena_printf(w->arena, "%s[0:%s, %s]", total->name, count, from);
        if (!strcmp(from, arena_printf(w->arena, "0:%lld", (long long)(n * packed))))
            place = total->name;
        write_line(w, "nisa.nc_matmul(dst=sums, stationary=ones, moving=%s)", place);
        w->indent = indent;
        write_line(w, "sum_row = nl.ndarray((1, %lld), dtype=nl.float32, buffer=nl.sbuf)", wide);
        write_line(w, "nisa.tensor_copy(dst=sum_row, src=sums)");
        struct access access = {.buffer = out[result].view.buffer,
                                .offset = out[result].view.offset + at * out[result].strides[last],
                                .rows = "1",
                                .row = 1,
                                .cols = {arena_printf(w->arena, "%lld", wide)},
                                .strides = {out[result].strides[last]},
                                .cols_most = wide,
                                .col_count = 1};
        for (int s = 0; s < rows->side_count; s++)
            if (rows->sides[s].variable && !rows->sides[s].is_summed)
                access_add(&access, rows->sides[s].variable, out[result].strides[s],
                           rows->sides[s].most);
        write_line(w, "nisa.dma_copy(dst=%s, src=sum_row)", write_access(w, &access));
    }
}

/* Whether the columns are one side that stays apart, and rows that lie beside each other. */
static bool has_upright_columns(const struct rows *rows) {
    int last = rows->side_count - 1, apart = 0, summed = 0;
    for (int s = 0; s < rows->side_count; s++) {
        apart += rows->sides[s].role == SIDE_COLUMN && !rows->sides[s].is_summed;
        summed += rows->sides[s].role == SIDE_COLUMN && rows->sides[s].is_summed;
    }
    return apart == 1 && summed < 2 && rows->sides[last].role == SIDE_COLUMN &&
           !rows->sides[last].is_summed;
}

/* Whether rows come in several tiles. */
static bool has_several(const struct rows *rows) {
    int64_t tiles = 1;
    for (int s = 0; s < rows->side_count; s++)
        if (rows->sides[s].is_summed && rows->sides[s].role != SIDE_COLUMN)
            tiles *= rows->sides[s].role == SIDE_LOOP
                         ? rows->sides[s].n
                         : (rows->sides[s].n + PARTITIONS - 1) / PARTITIONS;
    return tiles > 1;
}

void rows_make_ones(struct rows *rows) {
    const struct side *side = partition_side(rows);
    write_line(rows->writer, "ones = nl.ndarray((%lld, 1), dtype=nl.float32, buffer=nl.sbuf)",
               (long long)(side ? MIN_OF(side->n, PARTITIONS) : 1));
    write_line(rows->writer, "nisa.memset(dst=ones, value=1.0)");
}

bool rows_emit_upright(struct rows *rows) {
    struct writer *w = rows->writer;
    struct tile totals[WRITE_MAX_MATES];
    struct side *side = partition_side(rows);
    if (!side || !has_upright_columns(rows))
        return false;
    const char *count = arena_printf(w->arena, "%lld", (long long)MIN_OF(side->n, PARTITIONS));
    const char *width = arena_printf(w->arena, "%lld", (long long)rows_column_elements(rows));
    bool several = has_several(rows);
    for (int i = 0; several && i < rows->root_count; i++)
        totals[i] = begin_total(rows, count, width);
    int indent = w->indent;
    open_summed(rows);
    rows_open_tiles(rows);
    rows->width = width;
    rows->chunk = rows_column_elements(rows);
    rows_load(rows);
    if (!add_rows(rows, totals, several))
        return false;
    w->indent = indent;
    for (int i = 0; i < rows->root_count; i++)
        store_total(rows, i, &totals[i], count);
    return true;
}
