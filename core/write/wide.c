/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of one array that lie some columns apart, or every few columns: through DMA each of them
 * would be brought by itself, elements that do not lie side by side one by one. So one tile holds
 * what lies there, and engines read their parts of it. */
#include <math.h>
#include <stdlib.h>

#include "write/rows.h"

#define MOST_SHIFT 64  /* columns that a tile is wider for the sake of other parts */
#define MOST_STEP 16   /* columns of which one is used */
#define MOST_WINDOWS 8 /* rows of a window, and columns */

/* How the columns of an array lie: along the last side every `step`, along the other ones, if
 * there are any, in runs that do not overlap. */
struct lying {
    const struct side *last, *outer[ROWS_MAX_SIDES];
    int64_t n, step, gap; /* n: of a run; gap: between runs; 0: there is one run */
    bool joins;           /* a run goes along several sides */
    int outer_count;
};
static bool find_lying(const struct rows *rows, const struct leaf *leaf, struct lying *found) {
    *found = (struct lying){0};
    for (int s = 0; s < rows->side_count; s++) {
        if (rows->sides[s].role != SIDE_COLUMN)
            continue;
        bool joins = found->last && found->step == leaf->strides[s] * rows->sides[s].n;
        if (found->last && !joins) {
            found->outer[found->outer_count++] = found->last;
            found->gap = found->step;
        }
        found->n = rows->sides[s].n * (joins ? found->n : 1);
        found->joins |= joins;
        found->last = &rows->sides[s];
        found->step = leaf->strides[s];
    }
    return found->last && found->step >= 1 && found->step <= MOST_STEP &&
           !(found->joins && found->outer_count) &&
           (!found->gap || found->gap >= (found->n - 1) * found->step + 1);
}

static bool lie_alike(const struct rows *rows, const struct leaf *a, const struct leaf *b) {
    bool alike = !a->is_result && !b->is_result && a->view.buffer == b->view.buffer;
    for (int s = 0; alike && s < rows->side_count; s++)
        alike = a->strides[s] == b->strides[s];
    return alike;
}

/* The parts that one tile holds together with this one. */
struct shifted {
    const struct leaf *first; /* that is loaded */
    int64_t low, more;        /* where the tile begins, and columns that it is wider than a part */
};
static struct shifted find_shifted(const struct rows *rows, const struct leaf *leaf, int64_t most) {
    struct shifted found = {.low = leaf->view.offset};
    int64_t least = leaf->view.offset, high = leaf->view.offset;
    for (size_t i = 0; i < rows->leaves.len; i++)
        if (lie_alike(rows, &rows->leaves.at[i], leaf))
            least = MIN_OF(least, rows->leaves.at[i].view.offset);
    for (size_t i = 0; i < rows->leaves.len; i++) {
        const struct leaf *one = &rows->leaves.at[i];
        if (!lie_alike(rows, one, leaf) ||
            (one->view.offset - least) / most != (leaf->view.offset - least) / most)
            continue;
        found.first = found.first ? found.first : one;
        found.low = MIN_OF(found.low, one->view.offset);
        high = MAX_OF(high, one->view.offset);
    }
    found.more = high - found.low;
    return found;
}

/* Where products are made, tiles change their names; loops of scans load some arrays early. */
static bool may_be_wide(const struct rows *rows, const struct leaf *leaf) {
    bool may =
        !rows->is_copy && !rows->is_carried && !rows->is_nested && !rows_is_narrow_leaf(rows, leaf);
    for (size_t i = 0; i < rows->leaves.len; i++)
        may &= !rows->leaves.at[i].product && !rows->leaves.at[i].is_sum;
    return may;
}

static bool choose(struct rows *rows, bool steps) {
    static const int64_t values[] = {1, 0};
    const char *title = steps ? "every few columns of an array: are taken of all (1), are loaded "
                                "one by one (0)"
                              : "parts of an array that lie some columns apart: are loaded as one "
                                "(1), each by itself (0)";
    return write_choose(rows->writer, rows->roots[rows->root_count - 1],
                        steps ? "steps" : "shifted", title, values, 2);
}

/* What so many steps reach over, and so many columns: "cols * 2 + 1". */
static const char *reach(const struct rows *rows, int64_t step, int64_t more) {
    struct arena *arena = rows->writer->arena;
    const char *width = rows->width;
    more -= step - 1;
    if (!width[strspn(width, "0123456789")])
        return arena_printf(arena, "%lld", strtoll(width, NULL, 10) * step + (long long)more);
    const char *steps = step > 1 ? arena_printf(arena, "%s * %lld", width, (long long)step) : width;
    return more ? arena_printf(arena, "%s %c %lld", steps, more < 0 ? '-' : '+', llabs(more))
                : steps;
}

/* The last side as a run of columns; its width is that of the whole tile where there is one run. */
static const char *run_of(const struct rows *rows, const struct lying *lying, int64_t more) {
    if (!lying->outer_count)
        return reach(rows, lying->step, more);
    return arena_printf(rows->writer->arena, "%lld",
                        (long long)((lying->n - 1) * lying->step + 1 + more));
}

static const char *sizes_of(const struct rows *rows, const struct lying *lying, const char *run,
                            const char *before) {
    struct arena *arena = rows->writer->arena;
    const char *text = rows->count;
    for (int i = 0; i < lying->outer_count; i++)
        text = arena_printf(arena, "%s, %s%lld", text, before, (long long)lying->outer[i]->n);
    return arena_printf(arena, "%s%s, %s", before, text, run);
}

/* What lies in HBM of a padded array's tile, which begins with column `first`. */
static bool narrow_to(const struct padding *padding, int64_t first, const char *count,
                      struct access *access) {
    int64_t columns = padding->columns;
    for (int i = 0; i < access->term_count; i++) {
        if (access->terms[i].stride % columns)
            return false;
        access->terms[i].stride = access->terms[i].stride / columns * padding->inner;
    }
    if (access->row % columns || access->col_count != 1)
        return false;
    access->row = access->row / columns * padding->inner;
    access->offset = access->offset / columns * padding->inner + padding->of.offset +
                     MAX_OF(first - padding->low, 0);
    access->buffer = padding->of.buffer;
    access->cols[0] = count;
    return true;
}

static void fill(struct rows *rows, const char *name, int64_t from, int64_t to, double number) {
    if (from < to)
        write_line(rows->writer, "nisa.memset(dst=%s[0:%s, %lld:%lld], value=%s)", name,
                   rows->count, (long long)from, (long long)to, write_number(rows->writer, number));
}

/* A tile with numbers before and after what was loaded. */
static void load_padded(struct rows *rows, const struct padding *padding, struct access *access,
                        const char *name, int64_t run) {
    struct writer *w = rows->writer;
    int64_t first = access->offset % padding->columns, left = MAX_OF(padding->low - first, 0);
    int64_t end = MIN_OF(padding->low + padding->inner - first, run);
    const char *count = arena_printf(w->arena, "%lld", (long long)(end - left));
    write_line(w, "%s = nl.ndarray((%s, %lld), dtype=nl.%s, buffer=nl.sbuf)", name, rows->count,
               (long long)run, w->buffers.at[access->buffer].dtype);
    int node = w->buffers.at[access->buffer].node;
    if (left >= end || !narrow_to(padding, first, count, access)) {
        write_apart(w, node);
        return;
    }
    fill(rows, name, 0, left, padding->number);
    fill(rows, name, end, run, padding->number);
    write_line(w, "nisa.dma_copy(dst=%s[0:%s, %lld:%lld], src=%s)", name, rows->count,
               (long long)left, (long long)end, write_access(w, access));
}

static void load(struct rows *rows, const struct shifted *all, const struct lying *lying,
                 const char *name) {
    struct writer *w = rows->writer;
    const char *run = run_of(rows, lying, all->more);
    struct access access = rows_access(rows, all->first, false);
    access.offset = all->low;
    access.col_count = lying->outer_count + 1;
    access.cols[access.col_count - 1] = run;
    access.strides[access.col_count - 1] = 1;
    access.cols_most = access.cols_most * lying->step + all->more;
    const struct padding *padding = w->buffers.at[access.buffer].padding;
    if (padding) {
        load_padded(rows, padding, &access, name, (lying->n - 1) * lying->step + 1 + all->more);
        return;
    }
    write_line(w, "%s = nl.ndarray((%s), dtype=nl.%s, buffer=nl.sbuf)", name,
               sizes_of(rows, lying, run, ""), w->buffers.at[access.buffer].dtype);
    int indent = w->indent;
    const char *at = rows_open_stack(rows, all->first, &access), *to = name;
    if (w->indent > indent)
        to = arena_printf(
            w->arena, "%s[%s%s]", name, at,
            strchr(sizes_of(rows, lying, arena_printf(w->arena, "0:%s", run), "0:"), ','));
    write_line(w, "nisa.dma_copy(dst=%s, src=%s)", to, write_access(w, &access));
    w->indent = indent;
}

static struct tile part_of(struct rows *rows, const struct leaf *leaf, const struct lying *lying,
                           const char *name, int64_t shift) {
    struct arena *arena = rows->writer->arena;
    const char *columns =
        arena_printf(arena, "%lld:%s", (long long)shift, run_of(rows, lying, shift));
    if (lying->step > 1)
        columns = arena_printf(arena, "%s:%lld", columns, (long long)lying->step);
    rows->has_steps |= lying->step > 1 || lying->outer_count;
    return (struct tile){
        .name = arena_printf(arena, "%s[%s]", name, sizes_of(rows, lying, columns, "0:")),
        .dtype = rows->writer->buffers.at[leaf->view.buffer].dtype,
        .scale = 1,
        .of = name,
        .shift = shift};
}

/* A row is longer than parts are apart, so that none of them is a part of the next row. */
static bool is_worth_it(const struct lying *lying, const struct shifted *all) {
    int64_t reaches = lying->n * lying->step;
    return (all->more || lying->step > 1) &&
           (lying->gap ? reaches - lying->step + 1 + all->more <= lying->gap : all->more < reaches);
}

static bool is_wide(struct rows *rows, const struct leaf *leaf, struct lying *lying,
                    struct shifted *all) {
    if (!may_be_wide(rows, leaf) || !find_lying(rows, leaf, lying))
        return false;
    int64_t most = MAX_OF(MOST_SHIFT, lying->step);
    if (lying->joins) /* of which parts lie whole inner sides apart */
        most = MAX_OF(most, lying->n * lying->step / 2);
    if (lying->gap) /* rows of windows, which lie further apart, are tiles that become one */
        most = MIN_OF(lying->gap, MAX_OF(most, lying->n * lying->step));
    *all = find_shifted(rows, leaf, most);
    if (rows->writer->buffers.at[leaf->view.buffer].padding)
        return !lying->outer_count && !rows->in_chunks && all->more < lying->n * lying->step;
    return is_worth_it(lying, all) && choose(rows, lying->step > 1);
}

static const char *name_of(const struct rows *rows, const struct shifted *all) {
    const struct writer *w = rows->writer;
    return arena_printf(w->arena, "%s_t%d_wide", w->buffers.at[all->first->view.buffer].name,
                        all->first->node);
}

/* Where a leaf's elements lie in an array that is the leaf's own with padding; -1: they do not. */
static int64_t offset_within(const struct rows *rows, const struct leaf *leaf,
                             const struct leaf *padded) {
    const struct padding *padding = rows->writer->buffers.at[padded->view.buffer].padding;
    if (!padding || padding->of.buffer != leaf->view.buffer)
        return -1;
    for (int s = 0; s < rows->side_count; s++) {
        bool column = rows->sides[s].role == SIDE_COLUMN;
        int64_t stride = padded->strides[s];
        if (leaf->strides[s] != (column ? stride : stride / padding->columns * padding->inner))
            return -1;
    }
    int64_t offset = leaf->view.offset - padding->of.offset;
    return offset / padding->inner * padding->columns + padding->low + offset % padding->inner;
}

/* An array that a tile has with padding around it is not loaded once more. */
static bool is_in_padded(struct rows *rows, const struct leaf *leaf, struct tile *tile) {
    struct lying lying;
    struct shifted all;
    for (size_t i = 0; i < rows->leaves.len; i++) {
        const struct leaf *padded = &rows->leaves.at[i];
        int64_t offset = padded->is_result ? -1 : offset_within(rows, leaf, padded);
        if (offset < 0 || !is_wide(rows, padded, &lying, &all) || offset < all.low ||
            offset > all.low + all.more)
            continue;
        *tile = part_of(rows, padded, &lying, name_of(rows, &all), offset - all.low);
        return true;
    }
    return false;
}

bool rows_load_wide(struct rows *rows, const struct leaf *leaf, struct tile *tile) {
    struct lying lying;
    struct shifted all;
    if (is_in_padded(rows, leaf, tile))
        return true;
    if (!is_wide(rows, leaf, &lying, &all))
        return false;
    const char *name = name_of(rows, &all);
    if (leaf == all.first)
        load(rows, &all, &lying, name);
    *tile = part_of(rows, leaf, &lying, name, leaf->view.offset - all.low);
    return true;
}

double rows_wide_tiles(const struct rows *rows) {
    double more = 0;
    for (size_t i = 0; rows->side_count && i < rows->leaves.len; i++) {
        const struct leaf *leaf = &rows->leaves.at[i];
        int64_t step = leaf->strides[rows->side_count - 1];
        bool first = !leaf->is_result && step > 1 && step <= MOST_STEP;
        for (size_t k = 0; first && k < i; k++)
            first = !lie_alike(rows, &rows->leaves.at[k], leaf);
        more += first ? (double)step : 0;
    }
    return more;
}

/* ---- windows --------------------------------------------------------------------------------- */

/* The largest of all shifts of several tiles is the largest of the shifts of one, which is the
 * largest of those tiles; so it is with sums. */
struct part {
    int tile;
    int64_t shift;
};
struct windows {
    struct lying lying;
    struct shifted tiles[MOST_WINDOWS];
    int64_t shifts[MOST_WINDOWS]; /* of each of them, ascending */
    struct part parts[MOST_WINDOWS * MOST_WINDOWS];
    int tile_count, shift_count, part_count;
};

static bool has_alu(const struct rows *rows, int node, const char *alu) {
    const struct graph_node *row = &rows->writer->graph->nodes[node];
    return row->op->kind == GRAPH_BINARY && strcmp(row->op->alu, alu) == 0;
}

static const struct leaf *leaf_of(const struct rows *rows, int node) {
    for (size_t i = 0; i < rows->leaves.len; i++)
        if (rows->leaves.at[i].node == node && !rows->leaves.at[i].is_result)
            return &rows->leaves.at[i];
    return NULL;
}

/* Its number among the tiles, -1: there are too many. */
static int take_tile(struct windows *windows, const struct shifted *tile) {
    for (int i = 0; i < windows->tile_count; i++)
        if (windows->tiles[i].first == tile->first)
            return i;
    if (windows->tile_count == MOST_WINDOWS)
        return -1;
    windows->tiles[windows->tile_count] = *tile;
    return windows->tile_count++;
}

static bool take_shift(struct windows *windows, int64_t shift) {
    int at = 0;
    while (at < windows->shift_count && windows->shifts[at] < shift)
        at++;
    if (at < windows->shift_count && windows->shifts[at] == shift)
        return true;
    if (windows->shift_count == MOST_WINDOWS)
        return false;
    memmove(&windows->shifts[at + 1], &windows->shifts[at],
            (size_t)(windows->shift_count - at) * sizeof *windows->shifts);
    windows->shifts[at] = shift;
    windows->shift_count++;
    return true;
}

/* A sum counts what it meets again; for the largest it is nothing new. */
static bool take_part(struct windows *windows, struct part part, bool counts) {
    for (int i = 0; i < windows->part_count; i++)
        if (windows->parts[i].tile == part.tile && windows->parts[i].shift == part.shift)
            return !counts;
    windows->parts[windows->part_count++] = part;
    return true;
}

static bool add_part(struct rows *rows, struct windows *windows, const struct leaf *leaf,
                     bool counts) {
    struct lying lying;
    struct shifted tile;
    if (!is_wide(rows, leaf, &lying, &tile))
        return false;
    if (!windows->tile_count)
        windows->lying = lying;
    const struct shifted *one = windows->tile_count ? &windows->tiles[0] : &tile;
    if (lying.step != windows->lying.step || tile.more != one->more ||
        leaf->view.buffer != one->first->view.buffer)
        return false;
    struct part part = {take_tile(windows, &tile), leaf->view.offset - tile.low};
    return part.tile >= 0 && take_shift(windows, part.shift) && take_part(windows, part, counts);
}

/* A node that is for nothing but the operation that goes on. */
static bool goes_on(const struct rows *rows, int node, const char *alu) {
    return rows->plans[node].is_inside && has_alu(rows, node, alu) &&
           rows->writer->values[node].users == 1 && !rows_has_root(rows, node);
}

/* A number that changes nothing: what sums begin with. */
static bool is_nothing(const struct rows *rows, int node, const char *alu) {
    const struct value *value = &rows->writer->values[node];
    double nothing = strcmp(alu, "add") == 0 ? 0 : strcmp(alu, "maximum") ? INFINITY : -INFINITY;
    return value->has_number && value->number == nothing;
}

static bool add_parts(struct rows *rows, struct windows *windows, int node, const char *alu) {
    const struct graph_node *row = &rows->writer->graph->nodes[node];
    for (int i = 0; i < 2; i++) {
        if (is_nothing(rows, row->in[i], alu))
            continue;
        const struct leaf *leaf = leaf_of(rows, row->in[i]);
        if (leaf ? !add_part(rows, windows, leaf, strcmp(alu, "add") == 0)
                 : !goes_on(rows, row->in[i], alu) || !add_parts(rows, windows, row->in[i], alu))
            return false;
    }
    return true;
}

static bool find(struct rows *rows, int node, struct windows *windows) {
    const char *alu = rows->writer->graph->nodes[node].op->alu;
    *windows = (struct windows){.tile_count = 0};
    return add_parts(rows, windows, node, alu) && windows->tile_count > 1 &&
           windows->shift_count > 1 &&
           windows->part_count == windows->tile_count * windows->shift_count;
}

static void leave_out(struct rows *rows, int node, const char *alu) {
    const struct graph_node *row = &rows->writer->graph->nodes[node];
    for (int i = 0; i < 2; i++)
        if (!leaf_of(rows, row->in[i]) && !is_nothing(rows, row->in[i], alu)) {
            rows->plans[row->in[i]].form = FORM_UNUSED;
            leave_out(rows, row->in[i], alu);
        }
}

/* Which is faster: so many instructions of wide tiles and then so many of parts, or one for each
 * part. */
static bool choose_windows(struct rows *rows, int node, const struct windows *windows) {
    int64_t tiles = windows->tile_count - 1, shifts = windows->shift_count - 1;
    bool first = tiles * windows->lying.step + shifts < windows->part_count - 1;
    const int64_t values[] = {first, !first};
    return write_choose(rows->writer, node, "windows",
                        "rows of windows: become one row first (1), are taken part by part (0)",
                        values, 2);
}

void rows_plan_windows(struct rows *rows) {
    static const char *const alus[] = {"maximum", "minimum", "add"};
    struct windows windows;
    for (size_t i = rows->nodes.len; i-- > 0;)
        for (size_t k = 0; k < COUNT_OF(alus); k++) {
            int node = rows->nodes.at[i];
            if (rows->plans[node].form != FORM_PLAIN || !has_alu(rows, node, alus[k]) ||
                !find(rows, node, &windows) || !choose_windows(rows, node, &windows))
                continue;
            rows->plans[node].form = FORM_WINDOWS;
            leave_out(rows, node, alus[k]);
        }
}

#define PSUM_BYTES 8192 /* of a partition, half of it */

/* The tile of what several wide ones have in each column. One that others join may be in PSUM. */
static const char *join_tiles(struct rows *rows, int node, const struct windows *windows) {
    struct writer *w = rows->writer;
    const struct graph_node *row = &w->graph->nodes[node];
    const struct shifted *tiles = windows->tiles;
    const char *run = run_of(rows, &windows->lying, tiles[0].more), *sum = name_of(rows, tiles);
    for (int i = 1; i < windows->tile_count; i++) {
        const char *name = arena_printf(w->arena, "rows_h%d", ++rows->helpers);
        bool goes_on = i + 1 < windows->tile_count && !strcmp(row->dtype, "float32") &&
                       4 * (rows->chunk + tiles[0].more) <= PSUM_BYTES && rows_pairs_by_psum(rows);
        write_line(w, "%s = nl.ndarray((%s), dtype=nl.%s, buffer=nl.%s)", name,
                   sizes_of(rows, &windows->lying, run, ""), row->dtype, goes_on ? "psum" : "sbuf");
        write_line(w, "nisa.tensor_tensor(dst=%s, data1=%s, data2=%s, op=nl.%s)", name, sum,
                   name_of(rows, &tiles[i]), row->op->alu);
        rows_busy(rows, (double)windows->lying.step, 0, false);
        sum = name;
    }
    return sum;
}

bool rows_compute_windows(struct rows *rows, int node) {
    struct windows windows;
    const struct graph_node *row = &rows->writer->graph->nodes[node];
    if (!find(rows, node, &windows))
        return false;
    const char *joined = join_tiles(rows, node, &windows);
    const struct leaf *leaf = windows.tiles[0].first;
    struct tile sum = part_of(rows, leaf, &windows.lying, joined, windows.shifts[0]);
    for (int i = 1; i < windows.shift_count; i++) {
        struct tile part = part_of(rows, leaf, &windows.lying, joined, windows.shifts[i]);
        struct tile made = rows_helper(rows, row->name, row->dtype, false);
        rows_tensor(rows, &made, &sum, &part, row->op->alu);
        sum = made;
    }
    rows->tiles[node] = sum;
    return true;
}

/* ---- padding --------------------------------------------------------------------------------- */

/* Stages of rows are all that reads of the array, or of parts of it. */
static bool is_read_by_rows(const struct writer *w, int node, bool parts) {
    const struct graph *graph = w->graph;
    for (int i = node + 1; i < graph->count; i++)
        for (int k = 0; k < graph->nodes[i].in_count; k++) {
            enum graph_kind kind = graph->nodes[i].op->kind;
            if (graph->nodes[i].in[k] == node && !rows_is_fusable(kind) &&
                (kind != GRAPH_SLICE || !parts || !is_read_by_rows(w, i, false)))
                return false;
        }
    return true;
}

static bool pads_columns(const struct graph_node *row, const struct graph_node *of) {
    int last = row->ndim - 1;
    bool pads = last >= 0 && of->ndim == row->ndim && row->part[last].step == 1 &&
                row->part[last].count < row->shape[last] &&
                row->shape[last] - row->part[last].count <= MOST_SHIFT;
    for (int d = 0; pads && d < last; d++)
        pads = row->part[d].count == row->shape[d];
    return pads;
}

const struct padding *write_padding(struct writer *w, int node) {
    static const int64_t values[] = {1, 0};
    const struct graph_node *row = &w->graph->nodes[node], *of = &w->graph->nodes[row->in[1]];
    const struct value *base = &w->values[row->in[0]], *value = &w->values[row->in[1]];
    if (!base->has_number || !value->has_view || w->apart[node] || !pads_columns(row, of) ||
        w->buffers.at[value->view.buffer].is_made || !is_read_by_rows(w, node, true))
        return NULL;
    struct view whole = view_whole(value->view.buffer, of->shape, of->ndim);
    whole.offset = value->view.offset;
    if (!view_is_same(&whole, &value->view) ||
        !write_choose(w, node, "padded",
                      "what an array is padded with: is put into tiles (1), goes through HBM with "
                      "the array (0)",
                      values, 2))
        return NULL;
    struct padding *padding = ARENA_NEW(w->arena, struct padding);
    int last = row->ndim - 1;
    *padding = (struct padding){value->view, row->shape[last], row->part[last].first,
                                row->part[last].count, base->number};
    return padding;
}
