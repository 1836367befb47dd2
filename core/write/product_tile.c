/* SPDX-License-Identifier: Apache-2.0 */
/* A product whose result lies nowhere: the stage that uses it goes over its tiles, and each is made
 * when it is wanted. The strides of its view (product_layout) tell what a loop of that stage is for
 * the product. */
#include "write/product.h"

static int node_of(const struct product *p) {
    return (int)(p->node - p->writer->graph->nodes);
}

struct product *product_made(struct writer *writer, int node, struct view *view) {
    struct product *p = arena_alloc(writer->arena, 1, sizeof *p);
    if (!product_layout(writer, node, view))
        return NULL;
    struct buffer made = {.name = arena_strdup(writer->arena, writer->graph->nodes[node].name),
                          .dtype = writer->graph->nodes[node].dtype,
                          .is_made = true,
                          .node = node};
    view->buffer = (int)writer->buffers.len;
    *vec_push(&writer->buffers) = made;
    return product_open(p, writer, node, view) ? p : NULL;
}

/* ---- what a stride stands for ---------------------------------------------------------------- */

/* The side with the largest stride of the result that steps over what a stride steps over, and over
 * how many; with `exactly` a whole number of its elements. NULL: none. */
static const struct product_side *side_at(const struct product *p, int64_t stride, bool exactly,
                                          int64_t *times) {
    const struct product_side *best = NULL, *all[PRODUCT_MAX_SIDES + 2];
    int count = 0;
    for (int s = 0; s < p->count; s++)
        all[count++] = &p->sides[s];
    all[count++] = &p->main[ROW];
    all[count++] = &p->main[COLUMN];
    for (int i = 0; i < count; i++) {
        int64_t own = all[i]->strides[RESULT];
        bool fits = own > 0 && own <= stride &&
                    (!exactly || (stride % own == 0 && stride / own < all[i]->n));
        if (fits && (!best || own > best->strides[RESULT]))
            best = all[i];
    }
    *times = best ? stride / best->strides[RESULT] : 0;
    return best;
}

static bool is_main(const struct product *p, enum class class, int64_t stride) {
    return p->main[class].n > 1 && p->main[class].strides[RESULT] == stride;
}

bool product_has_tiles_along(const struct product *p, int64_t stride) {
    return is_main(p, ROW, stride) || is_main(p, COLUMN, stride);
}

static void swap_strides(int64_t *strides) {
    int64_t left = strides[LEFT];
    strides[LEFT] = strides[RIGHT];
    strides[RIGHT] = left;
}

/* The same product with its result turned over: the arrays change places. */
static void swap(struct product *p) {
    struct view left = p->views[LEFT];
    p->views[LEFT] = p->views[RIGHT];
    p->views[RIGHT] = left;
    struct product_side row = p->main[ROW];
    p->main[ROW] = p->main[COLUMN];
    p->main[COLUMN] = row;
    for (enum class class = ROW; class < CLASSES; class ++)
        swap_strides(p->main[class].strides);
    for (int s = 0; s < p->count; s++)
        swap_strides(p->sides[s].strides);
    bool turns = p->turns[LEFT];
    p->turns[LEFT] = p->turns[RIGHT];
    p->turns[RIGHT] = turns;
}

/* Where the result begins, for the operands. */
static bool move_start(struct product *p, int64_t offset) {
    while (offset > 0) {
        int64_t times;
        const struct product_side *largest = side_at(p, offset, false, &times);
        if (!largest)
            return false;
        p->views[LEFT].offset += times * largest->strides[LEFT];
        p->views[RIGHT].offset += times * largest->strides[RIGHT];
        offset -= times * largest->strides[RESULT];
    }
    return true;
}

bool product_match(struct product *p, int64_t rows, int64_t row_stride, int64_t column_stride,
                   int64_t offset) {
    p->tiled_rows = rows;
    if (is_main(p, COLUMN, row_stride) && is_main(p, ROW, column_stride))
        swap(p);
    return is_main(p, ROW, row_stride) && is_main(p, COLUMN, column_stride) &&
           move_start(p, offset);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static const char *named(const struct product *p, const char *what) {
    return arena_printf(p->writer->arena, "%s%s", what, p->name);
}

static bool add_loop(struct product *p, const struct term *term) {
    int64_t times;
    const struct product_side *side = side_at(p, term->stride, true, &times);
    if (!side || p->loop_count == PRODUCT_MAX_SIDES)
        return false;
    if (side == &p->main[ROW] || side == &p->main[COLUMN])
        return true;
    for (enum which i = LEFT; i < ARRAYS; i++)
        p->loops[p->loop_count][i] =
            (struct term){term->variable, times * side->strides[i], term->most};
    p->loop_count++;
    return true;
}

/* The right array stays where it leaves room; each tile of rows goes past all of it. */
static bool choose_stays(struct product *p, double room) {
    bool fits = product_bytes(p, (double)p->main[COLUMN].n) <= room;
    const int64_t values[] = {fits, 0};
    return write_choose(
        p->writer, node_of(p), "right_stays",
        "of the right array: all stays in SBUF (1), a piece comes for each product (0)", values,
        p->turns[RIGHT] ? 1 : 2);
}

/* The variable that says where a tile begins along a side: one of the stage's, or a new one. */
static const char *start_of(struct product *p, const struct access *access, enum class class,
                            const char *name) {
    struct writer *w = p->writer;
    const struct product_side *side = &p->main[class];
    struct buf text = {0};
    for (int i = 0; i < access->term_count; i++) {
        int64_t times;
        if (side_at(p, access->terms[i].stride, true, &times) != side)
            continue;
        buf_printf(&text, "%s%s", text.len ? " + " : "", access->terms[i].variable);
        if (times != 1)
            buf_printf(&text, " * %lld", (long long)times);
    }
    const char *start = text.len ? arena_strdup(w->arena, text.at) : "0";
    buf_free(&text);
    if (!strchr(start, ' '))
        return start;
    name = arena_printf(w->arena, "%s%s", name, p->name);
    write_line(w, "%s = %s", name, start);
    return name;
}

static void fill(struct product *p, const struct access *access, const char *tile) {
    struct writer *w = p->writer;
    int indent = w->indent;
    const char *from = start_of(p, access, COLUMN, "column");
    int64_t n = p->main[COLUMN].n, width = access->cols_most ? access->cols_most : n;
    long long exact;
    struct span part;
    if (str_to_int(str_of(access->cols[0]), &exact)) {
        part = product_tiles(w, "n", "width", exact, PRODUCT_MOVING);
    } else {
        write_line(w, "for n in range(0, %s, %d):", access->cols[0], PRODUCT_MOVING);
        w->indent++;
        write_line(w, "width = min(%d, %s - n)", PRODUCT_MOVING, access->cols[0]);
        part = (struct span){"n", "width", MAX_OF(width - PRODUCT_MOVING, 0), PRODUCT_MOVING};
    }
    struct span columns = part;
    columns.most = n - part.width;
    if (strcmp(from, "0") && strcmp(part.at, "0")) {
        columns.at = arena_printf(w->arena, "at%s", p->name);
        write_line(w, "%s = %s + n", columns.at, from);
    } else if (strcmp(from, "0")) {
        columns.at = from;
    }
    product_multiply(p, &p->rows, &columns);
    product_evacuate(
        p, 0, arena_printf(w->arena, "%s[0:%s, %s]", tile, access->rows, product_slice(w, &part)),
        arena_printf(w->arena, "sums%s[0:%s, 0, 0:%s]", p->name, access->rows, part.size),
        strcmp(part.at, "0") ? arena_printf(w->arena, "n // %d", PRODUCT_MOVING) : NULL);
    w->indent = indent;
}
static void declare_tile(const struct product *p, const struct access *access, const char *tile) {
    product_declare(p, tile,
                    arena_printf(p->writer->arena, "%s, %s", access->rows, access->cols[0]),
                    p->node->dtype, "sbuf");
}

/* Whether a tile is made before the one that the stage works on is done with. Where tiles are parts
 * of rows, the next part is begun early enough by itself. */
static bool choose_ahead(struct product *p, bool whole_rows) {
    static const int64_t values[] = {1, 0};
    return whole_rows && p->main[ROW].n > PARTITIONS && p->tiled_rows == p->main[ROW].n &&
           write_choose(p->writer, node_of(p), "ahead",
                        "a tile of the product is made: while the one before is worked on (1), "
                        "when it is wanted (0)",
                        values, 2);
}

/* Whether the rows' operand is turned a tile early: the Tensor engine takes its instructions in
 * order, and would wait until what it turned has left PSUM. */
static bool choose_left_early(struct product *p) {
    static const int64_t values[] = {1, 0};
    return !p->left_stays && p->turns[LEFT] && p->main[ROW].n > PARTITIONS &&
           p->tiled_rows == p->main[ROW].n &&
           write_choose(p->writer, node_of(p), "left_early",
                        "rows are turned over: before the products of the tile before (1), when "
                        "they are wanted (0)",
                        values, 2);
}

/* Rows from `at` on, where a tile of them may still be missing. */
static struct span rows_from(struct product *p, const char *at, const char *size) {
    struct writer *w = p->writer;
    long long n = p->main[ROW].n;
    struct span rows = {at, arena_printf(w->arena, "%d", PARTITIONS), n - PARTITIONS, PARTITIONS};
    if (n % PARTITIONS) {
        write_line(w, "%s = min(%d, %lld - %s)", size, PARTITIONS, n, at);
        rows.size = size;
    }
    return rows;
}

/* The rows' operand for a tile, and what is early of the next one. */
static void load_rows(struct product *p, const struct span *rows) {
    struct writer *w = p->writer;
    int indent = w->indent;
    if (p->left_stays)
        return;
    if (!p->left_early) {
        product_load(p, LEFT, named(p, "left"), rows);
        return;
    }
    write_line(w, "now_%s = %s", named(p, "left"), named(p, "left"));
    if (p->halves)
        write_line(w, "now_%s_low = %s_low", named(p, "left"), named(p, "left"));
    write_line(w, "%s = %s + %d", named(p, "later"), rows->at, PARTITIONS);
    write_line(w, "if %s < %lld:", named(p, "later"), (long long)p->main[ROW].n);
    w->indent++;
    struct span later = rows_from(p, named(p, "later"), named(p, "left_rows"));
    product_load(p, LEFT, named(p, "left"), &later);
    w->indent = indent;
}

/* Makes the tile of rows that come next. */
static void make_ahead(struct product *p, const struct span *rows) {
    int64_t n = p->main[COLUMN].n;
    const char *width = arena_printf(p->writer->arena, "%lld", (long long)n);
    struct access access = {.rows = rows->size, .cols = {width}, .cols_most = n};
    p->rows = *rows;
    load_rows(p, rows);
    declare_tile(p, &access, named(p, "ready"));
    fill(p, &access, named(p, "ready"));
}

static void make_first(struct product *p) {
    const char *size = arena_printf(p->writer->arena, "%d", PARTITIONS);
    make_ahead(p, &(struct span){"0", size, 0, PARTITIONS});
}

static void take_ready(struct product *p, const struct access *access, const char *tile) {
    struct writer *w = p->writer;
    int indent = w->indent;
    long long n = p->main[ROW].n;
    write_line(w, "%s = %s", tile, named(p, "ready"));
    write_line(w, "ahead = %s + %d", start_of(p, access, ROW, "row"), PARTITIONS);
    write_line(w, "if ahead < %lld: # the next tile, while this one is worked on", n);
    w->indent++;
    struct span rows = {"ahead", arena_printf(w->arena, "%d", PARTITIONS), n - PARTITIONS,
                        PARTITIONS};
    if (n % PARTITIONS) {
        write_line(w, "coming = min(%d, %lld - ahead)", PARTITIONS, n);
        rows.size = "coming";
    }
    make_ahead(p, &rows);
    w->indent = indent;
}

static struct span whole(const struct product *p, enum class class) {
    int64_t n = p->main[class].n;
    return (struct span){"0", arena_printf(p->writer->arena, "%lld", (long long)n), 0, n};
}

/* Rows that are there before the loop over them need no engine in it. */
static bool choose_left_stays(struct product *p, double room) {
    double right = product_bytes(p, (double)(p->stays ? p->main[COLUMN].n : PRODUCT_MOVING));
    bool fits = product_bytes(p, (double)p->main[ROW].n) <= (room - right) / 2;
    const int64_t values[] = {fits, 0};
    return p->tiled_rows == p->main[ROW].n &&
           write_choose(p->writer, node_of(p), "left_stays",
                        "of the left array: all stays in SBUF (1), a tile of rows at a time (0)",
                        values, 2);
}

bool product_enter(struct product *p, const struct access *outer, double room, bool whole_rows) {
    p->loop_count = 0; /* a stage may be written twice */
    for (int i = 0; i < outer->term_count; i++)
        if (!add_loop(p, &outer->terms[i]))
            return false;
    p->name = arena_printf(p->writer->arena, "_%d", node_of(p));
    for (enum which i = LEFT; i <= RIGHT; i++) {
        const struct buffer *buffer = &p->writer->buffers.at[p->views[i].buffer];
        room -= buffer->is_made ? rows_made_bytes(p->writer, buffer->node) : 0;
    }
    p->block = PARTITIONS;
    p->stays = choose_stays(p, room);
    if (!p->stays && p->turns[RIGHT])
        return false;
    p->left_stays = choose_left_stays(p, room);
    struct span rows = whole(p, ROW), columns = whole(p, COLUMN);
    if (p->stays)
        product_load(p, RIGHT, named(p, "right"), &columns);
    if (p->left_stays)
        product_load(p, LEFT, named(p, "left"), &rows);
    p->left_early = choose_left_early(p);
    if (p->left_early)
        product_load(p, LEFT, named(p, "left"), &(struct span){"0", "128", 0, PARTITIONS});
    p->ahead = choose_ahead(p, whole_rows);
    if (p->ahead)
        make_first(p);
    return true;
}

void product_begin_rows(struct product *p, const struct access *access) {
    if (p->ahead)
        return;
    int64_t n = p->main[ROW].n, width = MIN_OF(n, PARTITIONS);
    struct span rows = {start_of(p, access, ROW, "row"), access->rows, n - width, width};
    p->rows = rows;
    load_rows(p, &rows);
}

void product_fill(struct product *p, const struct access *access, const char *tile) {
    if (p->ahead) {
        take_ready(p, access, tile);
        return;
    }
    declare_tile(p, access, tile);
    fill(p, access, tile);
}
