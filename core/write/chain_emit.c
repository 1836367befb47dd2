/* SPDX-License-Identifier: Apache-2.0 */
/* A product whose left operand is made in SBUF, a block of rows at a time: how large blocks and
 * steps are, and the lines of the steps. */
#include "write/products.h"

#define BANKS 8                     /* of PSUM */
#define MADE_BYTES (8 * 4 * 2048.0) /* of a partition: the tiles that the operand is made in */

static const char *named(const struct product *p, const char *what) {
    return arena_printf(p->writer->arena, "%s%s", what, p->name);
}

static const char *number(const struct product *p, int64_t value) {
    return arena_printf(p->writer->arena, "%lld", (long long)value);
}

/* ---- what it consists of --------------------------------------------------------------------- */

/* The stride of the first product's results where the operand's array has one. */
static bool find_stride(const struct product *p, int64_t stride, int64_t *of_scores) {
    const struct writer *w = p->writer;
    const struct graph_node *row = &w->graph->nodes[p->chain->operand];
    const struct view *view = &w->values[p->chain->scores].view;
    int64_t size = 1, inner = 1;
    int d = row->ndim;
    while (d-- > 0 && stride / size >= row->shape[d])
        size *= row->shape[d];
    if (d < 0 || stride % size)
        return false;
    for (int f = view->dims[d].count; f-- > 0; inner *= view->dims[d].at[f].n) {
        int64_t times = stride / size / inner;
        *of_scores = times * view->dims[d].at[f].stride;
        if (stride / size % inner == 0 && times < view->dims[d].at[f].n)
            return true;
    }
    return false;
}

/* Both products go over the same rows, and the first one's columns are what is summed over. */
static bool join_products(struct product *p) {
    struct chain *c = p->chain;
    struct product *s = c->first = p->writer->values[c->scores].product;
    const struct buffer *left = &p->writer->buffers.at[p->views[LEFT].buffer];
    int64_t row, column, along, n = p->main[ROW].n, k = p->main[SUMMED].n;
    if (!s || !left->is_made || left->node != c->operand || p->views[LEFT].offset ||
        p->tiled_rows != n || n % PARTITIONS || k % PARTITIONS ||
        !find_stride(p, p->main[ROW].strides[LEFT], &row) ||
        !find_stride(p, p->main[SUMMED].strides[LEFT], &column) ||
        !product_match(s, (int64_t[]){n, k}, row, column, 0) || s->main[ROW].n != n ||
        s->main[COLUMN].n != k)
        return false;
    s->loop_count = 0;
    s->name = arena_printf(p->writer->arena, "_%d", c->scores);
    for (int i = 0; i < p->loop_count; i++) {
        struct term term = p->loops[i][LEFT];
        if (!term.stride)
            continue;
        if (!find_stride(p, term.stride, &along))
            return false;
        term.stride = along;
        if (!product_add_loop(s, &term))
            return false;
    }
    return true;
}

static int64_t banks_of(int64_t sums) {
    return (sums + CHAIN_BANK - 1) / CHAIN_BANK;
}

/* Tiles of sums that a bank holds. */
static int64_t in_bank(const struct chain *c) {
    return CHAIN_BANK / c->width;
}

static int64_t banks_of_sums(const struct chain *c, int64_t block) {
    return (block / PARTITIONS + in_bank(c) - 1) / in_bank(c);
}

static bool fits_psum(const struct chain *c, int64_t block, int64_t group) {
    int64_t made = banks_of(block * group);
    return (block % CHAIN_BANK == 0 || block * group <= CHAIN_BANK) &&
           banks_of_sums(c, block) + made * (chain_looks(c) ? 3 : 2) <= BANKS;
}

static bool choose_sizes(struct product *p) {
    static const int64_t sizes[] = {512, 1024, 256, 128};
    struct chain *c = p->chain;
    int64_t values[4], rows = p->main[ROW].n, tiles = p->main[SUMMED].n / PARTITIONS;
    int count = 0;
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        if (rows % sizes[i] == 0 && fits_psum(c, sizes[i], 1))
            values[count++] = sizes[i];
    if (!count)
        return false;
    c->block =
        write_choose(p->writer, c->node, "chain_rows",
                     "rows whose sums stay in PSUM while the other product goes by", values, count);
    count = 0;
    for (int64_t group = 4; group > 0; group--)
        if (tiles % group == 0 && fits_psum(c, c->block, group))
            values[count++] = group;
    c->group = write_choose(p->writer, c->node, "chain_tiles",
                            "tiles of 128 columns of the other product that are made at once",
                            values, count);
    const int64_t leads[] = {chain_looks(c) ? 1 : 2, 1, 2};
    c->lead = tiles / c->group < 2
                  ? 1
                  : write_choose(p->writer, c->node, "chain_lead",
                                 "steps that are made before one is multiplied", leads, 3);
    return true;
}

static bool decide(struct product *p, double room) {
    struct chain *c = p->chain;
    c->width = p->main[COLUMN].n + (c->sum >= 0);
    if (!join_products(p) || c->width > CHAIN_BANK)
        return false;
    const struct product *s = c->first;
    double taken = product_bytes(s, (double)s->main[COLUMN].n) +
                   product_bytes(p, (double)c->width) * (c->sum >= 0 ? 2 : 1) + MADE_BYTES;
    c->left_stays = taken + product_bytes(s, (double)s->main[ROW].n) <= room;
    chain_choose_shift(p);
    return choose_sizes(p) &&
           (c->left_stays || taken + 2 * product_bytes(s, (double)c->block) <= room);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static struct span whole(const struct product *p, enum class class) {
    int64_t n = p->main[class].n;
    return (struct span){"0", number(p, n), 0, n};
}

/* The right array, with a column of ones behind it where sums of the left rows are wanted. */
static void load_right(struct product *p) {
    struct writer *w = p->writer;
    struct span columns = whole(p, COLUMN);
    bool adds = p->chain->sum >= 0;
    long long n = p->main[COLUMN].n, tiles = p->main[SUMMED].n / PARTITIONS;
    product_load(p, RIGHT, named(p, adds ? "plain" : "right"), &columns);
    if (!adds)
        return;
    product_declare_operand(p, RIGHT, named(p, "right"),
                            arena_printf(w->arena, "%d, %lld, %lld", PARTITIONS, tiles, n + 1));
    for (int low = 0; low <= product_has_low(p, RIGHT); low++) {
        const char *end = low ? "_low" : "";
        write_line(w, "nisa.tensor_copy(dst=%s%s[0:%d, 0:%lld, 0:%lld], src=%s%s)",
                   named(p, "right"), end, PARTITIONS, tiles, n, named(p, "plain"), end);
        write_line(w, "nisa.memset(dst=%s%s[0:%d, 0:%lld, %lld:%lld], value=%s)", named(p, "right"),
                   end, PARTITIONS, tiles, n, n + 1, low ? "0.0" : "1.0");
    }
}

void chain_enter(struct product *p, double room) {
    struct chain *c = p->chain;
    struct writer *w = p->writer;
    p->extreme = NULL;
    c->tile = "0";
    if (!decide(p, room)) {
        write_apart(w, c->operand); /* and what is printed until then is thrown away */
        return;
    }
    struct span all = whole(c->first, COLUMN), rows = whole(c->first, ROW);
    if (!c->left_stays)
        rows = (struct span){"0", number(p, c->block), 0, c->block};
    product_load(c->first, RIGHT, named(c->first, "right"), &all);
    product_load(c->first, LEFT, named(c->first, "left"), &rows);
    load_right(p);
    p->left_early = true;
    chain_enter_shift(p);
}

/* A loop over what is summed over in the other product, with the lines that multiply. */
void chain_multiply(struct product *p, const char *sums, const struct span *rows,
                    const struct span *columns, const char *turn) {
    struct product *s = p->chain->first;
    struct arena *arena = p->writer->arena;
    int indent = p->writer->indent;
    struct span k = product_tiles(p->writer, "k", "depth", s->main[SUMMED].n, PARTITIONS);
    const char *from =
        arena_printf(arena, "[0:%s, %s, ", product_depth(s, &k), product_tile_of(p->writer, &k));
    product_multiply_tiles(
        s, sums, arena_printf(arena, "%s%s]", from, product_slice(p->writer, rows)),
        arena_printf(arena, "%s%s]", from, product_slice(p->writer, columns)), turn);
    p->writer->indent = indent;
}

/* A step's results of the first product, turned over, and what is made of them. */
static void make_operand(struct product *p, const char *from) {
    struct chain *c = p->chain;
    struct writer *w = p->writer;
    int indent = w->indent;
    long long block = c->block, columns = block * (long long)c->group;
    const char *scores = named(p, "scores");
    product_declare(p, scores, arena_printf(w->arena, "%d, %lld", PARTITIONS, columns), "float32",
                    "psum");
    struct span g = product_tiles(w, "g", "wide", c->group, 1);
    struct span b = product_tiles(w, "b", "wide", block, CHAIN_BANK);
    struct span rows = {.at = b.at, .size = b.size},
                keys = {.at = "n", .size = number(p, PARTITIONS)};
    bool several = strcmp(g.at, "0"), parts = strcmp(b.at, "0");
    if (c->left_stays && strcmp(from, "0"))
        rows.at = parts ? arena_printf(w->arena, "%s + b", from) : from;
    if (several)
        keys.at = arena_printf(w->arena, "n + g * %d", PARTITIONS);
    struct span to = {.at = "0", .size = b.size};
    if (several || parts)
        to.at = !several ? b.at
                : parts  ? arena_printf(w->arena, "g * %lld + b", block)
                         : arena_printf(w->arena, "g * %lld", block);
    c->first->over = true;
    c->first->left_early = !c->left_stays;
    chain_multiply(
        p, arena_printf(w->arena, "%s[0:%d, %s]", scores, PARTITIONS, product_slice(w, &to)), &rows,
        &keys,
        parts     ? arena_printf(w->arena, "%s // %d", b.at, CHAIN_BANK)
        : several ? g.at
                  : NULL);
    c->first->over = c->first->left_early = false;
    w->indent = indent;
    const struct made_over wanted = {
        .node = c->operand,
        .product = c->scores,
        .extreme = c->extreme,
        .sums = scores,
        .most = arena_printf(w->arena, "now_%s", named(p, "most")),
        .suffix = p->name,
        .scale = c->scale,
        .columns = columns,
    };
    struct graph_node *row = &w->graph->nodes[c->operand];
    const char *dtype = row->dtype;
    if (!p->halves)
        row->dtype = product_dtype(p);
    const char *made = rows_make_over(w, &wanted);
    row->dtype = dtype;
    if (!made || !p->halves) {
        write_line(w, "%s = %s", named(p, "left"), made ? made : "missing");
        return;
    }
    product_declare_operand(p, LEFT, named(p, "left"),
                            arena_printf(w->arena, "%d, %lld", PARTITIONS, columns));
    product_take(p, &(struct product_piece){.which = LEFT,
                                            .name = named(p, "left"),
                                            .from = made,
                                            .depth = number(p, PARTITIONS)});
}

/* The operand of the step before times its part of the right array. */
static void multiply_operand(struct product *p) {
    struct chain *c = p->chain;
    struct writer *w = p->writer;
    int indent = w->indent;
    long long width = c->width, each = in_bank(c);
    write_line(w, "for g in range(%lld):", (long long)c->group);
    write_line(w, "    for i in range(%lld):", (long long)(c->block / PARTITIONS));
    w->indent += 2;
    write_line(w, "at = i %% %lld * %lld", each, width);
    write_line(w, "low = g * %lld + i * %d", (long long)c->block, PARTITIONS);
    product_multiply_tiles(p,
                           arena_printf(w->arena, "%s[0:%d, i // %lld, at:at + %lld]",
                                        named(p, "sums"), PARTITIONS, each, width),
                           arena_printf(w->arena, "[0:%d, low:low + %d]", PARTITIONS, PARTITIONS),
                           arena_printf(w->arena, "[0:%d, n // %d - %lld + g, 0:%lld]", PARTITIONS,
                                        PARTITIONS, (long long)(c->group * c->lead), width),
                           NULL);
    w->indent = indent;
}

/* What was made steps ago is what is multiplied now. */
static void rename_operand(struct product *p, const char *end) {
    struct writer *w = p->writer;
    const char *left = named(p, "left");
    if (p->chain->lead == 1) {
        write_line(w, "now_%s%s = %s%s", left, end, left, end);
        return;
    }
    write_line(w, "if n > 0:");
    write_line(w, "    now_%s%s = next_%s%s", left, end, left, end);
    write_line(w, "next_%s%s = %s%s", left, end, left, end);
}

/* The steps of a block; each step's operand is made before the one of the step before is
 * multiplied, as the Tensor engine takes its instructions in order. */
static void make_block(struct product *p, const char *from, const char *after) {
    struct chain *c = p->chain;
    struct writer *w = p->writer;
    long long n = p->main[SUMMED].n, step = c->group * PARTITIONS;
    write_line(w, "for n in range(0, %lld, %lld):", n + (long long)c->lead * step, step);
    w->indent++;
    write_line(w, "if n < %lld:", n);
    w->indent++;
    make_operand(p, from);
    chain_step_shift(p, after);
    w->indent--;
    write_line(w, "if n >= %lld:", (long long)c->lead * step);
    w->indent++;
    multiply_operand(p);
    w->indent--;
    for (int low = 0; low <= product_has_low(p, LEFT); low++)
        rename_operand(p, low ? "_low" : "");
    w->indent--;
}

/* What the block has of the one before, and brings for the one after it. */
static void begin_next(struct product *p, const char *after) {
    struct chain *c = p->chain;
    struct writer *w = p->writer;
    struct product *s = c->first;
    for (int low = 0; !c->left_stays && low <= product_has_low(s, LEFT); low++) {
        const char *left = arena_printf(w->arena, "%s%s", named(s, "left"), low ? "_low" : "");
        write_line(w, "now_%s = %s", left, left);
    }
    if (after && !c->left_stays) {
        struct span rows = {after, number(p, c->block), p->main[ROW].n - c->block, c->block};
        write_line(w, "if %s < %lld:", after, (long long)p->main[ROW].n);
        w->indent++;
        product_load(s, LEFT, named(s, "left"), &rows);
        w->indent--;
    }
    chain_begin_shift(p, after);
}

void chain_begin(struct product *p, const struct span *rows) {
    struct chain *c = p->chain;
    struct writer *w = p->writer;
    int indent = w->indent;
    if (w->again)
        return;
    bool several = strcmp(rows->at, "0"), more = c->block < p->main[ROW].n;
    const char *after = more ? named(p, "after") : NULL;
    if (several)
        write_line(w, "if %s %% %lld == 0: # the next rows whose sums PSUM holds", rows->at,
                   (long long)c->block);
    w->indent += several;
    product_declare(p, named(p, "sums"),
                    arena_printf(w->arena, "%d, %lld, %d", PARTITIONS,
                                 (long long)banks_of_sums(c, c->block), CHAIN_BANK),
                    "float32", "psum");
    if (after)
        write_line(w, "%s = %s + %lld", after, rows->at, (long long)c->block);
    begin_next(p, after);
    make_block(p, rows->at, after);
    chain_end_shift(p, after);
    w->indent = indent;
    c->tile = "0";
    if (several) {
        c->tile = named(p, "tile");
        write_line(w, "%s = %s // %d %% %lld", c->tile, rows->at, PARTITIONS,
                   (long long)(c->block / PARTITIONS));
    }
}

const char *chain_place(const struct product *p, bool sum) {
    const struct chain *c = p->chain;
    long long each = in_bank(c), width = c->width, n = p->main[COLUMN].n;
    long long from = sum ? n : 0, size = sum ? 1 : n;
    const char *at =
        arena_printf(p->writer->arena, "%s %% %lld * %lld + %lld", c->tile, each, width, from);
    return arena_printf(p->writer->arena, "%s[0:%d, %s // %lld, %s:%s + %lld]", named(p, "sums"),
                        PARTITIONS, c->tile, each, at, at, size);
}
