/* SPDX-License-Identifier: Apache-2.0 */
/* A copy in which elements change places within rows, as where two dimensions behind the first are
 * transposed, or are there several times. On the way through DMA each element would be a transfer
 * of its own; so rows are brought to SBUF as they lie, change places there, and go back as they are
 * to lie. */
#include "write/rows.h"

#define MOST_COPIES 64  /* instructions that a tile takes */
#define LEAST_ROWS 16   /* on the partitions, to be worth it */
#define TILES_AT_ONCE 4 /* two of each, so that the next one is loaded meanwhile */
#define ENOUGH 1024     /* columns of a tile that are worth its transfers */

/* Sides that an array runs along by their stride, the largest first. */
struct order {
    int at[ROWS_MAX_SIDES], count;
};

static const struct leaf *source_of(const struct rows *rows) {
    return &rows->leaves.at[0];
}

static const struct leaf *result_of(const struct rows *rows) {
    return &rows->leaves.at[rows->leaves.len - 1];
}

static struct order order_of(const struct rows *rows, const struct leaf *leaf) {
    struct order order = {.count = 0};
    for (int s = 0; s < rows->side_count; s++) {
        if (rows->sides[s].role != SIDE_COLUMN || !leaf->strides[s])
            continue;
        int k = order.count++;
        for (; k > 0 && leaf->strides[order.at[k - 1]] < leaf->strides[s]; k--)
            order.at[k] = order.at[k - 1];
        order.at[k] = s;
    }
    return order;
}

static int64_t columns(const struct rows *rows) {
    int64_t n = 1;
    for (int s = 0; s < rows->side_count; s++)
        n *= rows->sides[s].role == SIDE_COLUMN ? rows->sides[s].n : 1;
    return n;
}

/* Whether the columns lie side by side, in whatever order. */
static bool is_dense(const struct rows *rows, const struct leaf *leaf) {
    struct order order = order_of(rows, leaf);
    int64_t stride = 1;
    for (int i = order.count; i-- > 0; stride *= rows->sides[order.at[i]].n)
        if (leaf->strides[order.at[i]] != stride)
            return false;
    return true;
}

/* Sides that one instruction takes whole, of which both arrays have the first one outside of the
 * second; -1: there is no second one. */
struct whole {
    int outer, inner;
    int64_t elements;
};
static struct whole find_whole(const struct rows *rows) {
    struct order from = order_of(rows, source_of(rows)), to = order_of(rows, result_of(rows));
    int place[ROWS_MAX_SIDES];
    struct whole best = {-1, -1, 0};
    for (int i = 0; i < from.count; i++)
        place[from.at[i]] = i;
    for (int i = 0; i < to.count; i++) {
        int a = to.at[i];
        bool lies = source_of(rows)->strides[a];
        if (lies && rows->sides[a].n > best.elements)
            best = (struct whole){a, -1, rows->sides[a].n};
        for (int k = i + 1; lies && k < to.count; k++) {
            int b = to.at[k];
            int64_t n = rows->sides[a].n * rows->sides[b].n;
            if (source_of(rows)->strides[b] && place[a] < place[b] && n > best.elements)
                best = (struct whole){a, b, n};
        }
    }
    return best;
}

static bool fits(const struct rows *rows) {
    struct order from = order_of(rows, source_of(rows)), to = order_of(rows, result_of(rows));
    struct whole whole = find_whole(rows);
    bool moves = from.count != to.count;
    for (int i = 0; !moves && i < from.count; i++)
        moves |= from.at[i] != to.at[i];
    return moves && whole.elements && is_dense(rows, source_of(rows)) &&
           is_dense(rows, result_of(rows)) && columns(rows) / whole.elements <= MOST_COPIES &&
           (double)columns(rows) * 4 * TILES_AT_ONCE <= rows->writer->spec->sbuf_bytes * 0.9;
}

/* Of the sides but the one on the partitions, those with the largest strides become loops until
 * what is left changes places within a row that fits. */
static bool try_rows(struct rows *rows, int partition) {
    for (int s = 0; s < rows->side_count; s++)
        rows->sides[s].role = s == partition ? SIDE_PARTITION : SIDE_COLUMN;
    for (int left = rows->side_count - 1; left > 1; left--) {
        if (fits(rows))
            return true;
        struct order order = order_of(rows, result_of(rows));
        rows->sides[order.at[0]].role = SIDE_LOOP;
    }
    return false;
}

/* Rows that are short share a partition. */
static void pack(struct rows *rows, int partition) {
    int64_t n = rows->sides[partition].n;
    int64_t most = MIN_OF(n / PARTITIONS, ENOUGH / MAX_OF(columns(rows), 1));
    int64_t packed = most > 1 ? rows_divisor(n, most) : 1;
    if (packed < 2 || rows->side_count == ROWS_MAX_SIDES)
        return;
    rows_insert_side(rows, partition, n / packed);
    rows->sides[partition].role = SIDE_PARTITION;
    rows->sides[partition + 1].role = SIDE_COLUMN;
    if (fits(rows))
        return;
    rows_merge_sides(rows);
    (void)try_rows(rows, partition);
}

bool permute_choose(struct rows *rows) {
    static const int64_t values[] = {1, 0};
    const struct leaf *source = source_of(rows);
    int best = -1;
    if (!rows->is_copy || rows->leaves.len != 2 || source->product || source->is_sum)
        return false;
    for (int s = 0; s < rows->side_count; s++)
        if (rows->sides[s].n >= LEAST_ROWS &&
            (best < 0 || rows->sides[s].n > rows->sides[best].n) && try_rows(rows, s))
            best = s;
    if (best >= 0 && try_rows(rows, best) &&
        write_choose(rows->writer, rows->roots[0], "permuted",
                     "elements that change places within rows: do so on chip (1), on the way (0)",
                     values, 2)) {
        pack(rows, best);
        return true;
    }
    for (int s = 0; s < rows->side_count; s++)
        rows->sides[s].role = SIDE_LOOP;
    return false;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static const char *tile_named(struct rows *rows, const char *name, const struct order *order) {
    struct writer *w = rows->writer;
    struct buf sizes = {0};
    for (int i = 0; i < order->count; i++)
        buf_printf(&sizes, ", %lld", (long long)rows->sides[order->at[i]].n);
    write_line(w, "%s = nl.ndarray((%s%s), dtype=nl.%s, buffer=nl.sbuf)", name, rows->count,
               sizes.at ? sizes.at : "", w->buffers.at[source_of(rows)->view.buffer].dtype);
    buf_free(&sizes);
    return name;
}

static const char *place_of(struct rows *rows, const struct leaf *leaf, const struct order *order) {
    struct access access = {
        .buffer = leaf->view.buffer, .offset = leaf->view.offset, .rows = rows->count};
    for (int s = 0; s < rows->side_count; s++) {
        const struct side *side = &rows->sides[s];
        if (side->variable)
            access_add(&access, side->variable, leaf->strides[s], side->most);
        if (side->role == SIDE_PARTITION)
            access.row = leaf->strides[s];
    }
    for (int i = 0; i < order->count; i++) {
        access.cols[i] =
            arena_printf(rows->writer->arena, "%lld", (long long)rows->sides[order->at[i]].n);
        access.strides[i] = leaf->strides[order->at[i]];
        access.cols_most = MAX_OF(access.cols_most, rows->sides[order->at[i]].n);
    }
    access.col_count = order->count;
    return write_access(rows->writer, &access);
}

/* What an instruction takes: two sides whole, of the others one element each. */
static const char *part_of(struct rows *rows, const char *name, const struct order *order,
                           const struct whole *whole) {
    struct arena *arena = rows->writer->arena;
    const char *text = arena_printf(arena, "%s[0:%s", name, rows->count);
    for (int i = 0; i < order->count; i++)
        text = order->at[i] == whole->outer || order->at[i] == whole->inner
                   ? arena_printf(arena, "%s, 0:%lld", text, (long long)rows->sides[order->at[i]].n)
                   : arena_printf(arena, "%s, j%d", text, order->at[i]);
    return arena_printf(arena, "%s]", text);
}

void permute_emit(struct rows *rows) {
    struct writer *w = rows->writer;
    struct order from = order_of(rows, source_of(rows)), to = order_of(rows, result_of(rows));
    struct whole whole = find_whole(rows);
    int node = rows->roots[0], indent = w->indent;
    const char *read = tile_named(rows, arena_printf(w->arena, "rows_%d", node), &from);
    write_line(w, "nisa.dma_copy(dst=%s, src=%s)", read, place_of(rows, source_of(rows), &from));
    const char *turned = tile_named(rows, arena_printf(w->arena, "turned_%d", node), &to);
    for (int i = 0; i < to.count; i++)
        if (to.at[i] != whole.outer && to.at[i] != whole.inner) {
            write_line(w, "for j%d in range(%lld):", to.at[i], (long long)rows->sides[to.at[i]].n);
            w->indent++;
        }
    write_line(w, "nisa.tensor_copy(dst=%s, src=%s)", part_of(rows, turned, &to, &whole),
               part_of(rows, read, &from, &whole));
    w->indent = indent;
    write_line(w, "nisa.dma_copy(dst=%s, src=%s)", place_of(rows, result_of(rows), &to), turned);
}
