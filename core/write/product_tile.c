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

/* The side whose elements a stride steps over, and over how many; NULL: none. */
static const struct product_side *side_at(const struct product *p, int64_t stride, int64_t *times) {
    const struct product_side *best = NULL, *all[PRODUCT_MAX_SIDES + 2];
    int count = 0;
    for (int s = 0; s < p->count; s++)
        all[count++] = &p->sides[s];
    all[count++] = &p->main[ROW];
    all[count++] = &p->main[COLUMN];
    for (int i = 0; i < count; i++) {
        int64_t own = all[i]->strides[RESULT];
        bool fits = own > 0 && stride > 0 && stride % own == 0 && stride / own < all[i]->n;
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
        const struct product_side *largest = NULL, *all[PRODUCT_MAX_SIDES + 2];
        int count = 0;
        for (int s = 0; s < p->count; s++)
            all[count++] = &p->sides[s];
        all[count++] = &p->main[ROW];
        all[count++] = &p->main[COLUMN];
        for (int i = 0; i < count; i++) {
            int64_t own = all[i]->strides[RESULT];
            if (own > 0 && own <= offset && (!largest || own > largest->strides[RESULT]))
                largest = all[i];
        }
        if (!largest)
            return false;
        int64_t times = offset / largest->strides[RESULT];
        p->views[LEFT].offset += times * largest->strides[LEFT];
        p->views[RIGHT].offset += times * largest->strides[RIGHT];
        offset -= times * largest->strides[RESULT];
    }
    return true;
}

bool product_match(struct product *p, int64_t row_stride, int64_t column_stride, int64_t offset) {
    if (is_main(p, COLUMN, row_stride) && is_main(p, ROW, column_stride))
        swap(p);
    return is_main(p, ROW, row_stride) && is_main(p, COLUMN, column_stride) &&
           move_start(p, offset);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool add_loop(struct product *p, const struct term *term) {
    int64_t times;
    const struct product_side *side = side_at(p, term->stride, &times);
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
    return write_choose(p->writer, node_of(p), "right_stays",
                        "all of the right array is in SBUF (1), or a piece for each product (0)",
                        values, p->turns[RIGHT] ? 1 : 2);
}

bool product_enter(struct product *p, const struct access *outer, double room) {
    for (int i = 0; i < outer->term_count; i++)
        if (!add_loop(p, &outer->terms[i]))
            return false;
    p->name = arena_printf(p->writer->arena, "_%d", node_of(p));
    p->block = PARTITIONS;
    p->stays = choose_stays(p, room);
    if (!p->stays && p->turns[RIGHT])
        return false;
    int64_t n = p->main[COLUMN].n;
    struct span all = {"0", arena_printf(p->writer->arena, "%lld", (long long)n), 0, n};
    if (p->stays)
        product_load(p, RIGHT, arena_printf(p->writer->arena, "right%s", p->name), &all);
    return true;
}

/* The variable that says where a tile begins along a side: one of the stage's, or a new one. */
static const char *start_of(struct product *p, const struct access *access, enum class class,
                            const char *name) {
    struct writer *w = p->writer;
    const struct product_side *side = &p->main[class];
    struct buf text = {0};
    for (int i = 0; i < access->term_count; i++) {
        int64_t times;
        if (side_at(p, access->terms[i].stride, &times) != side)
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

void product_begin_rows(struct product *p, const struct access *access) {
    int64_t n = p->main[ROW].n, width = MIN_OF(n, PARTITIONS);
    struct span rows = {start_of(p, access, ROW, "row"), access->rows, n - width, width};
    p->rows = rows;
    product_load(p, LEFT, arena_printf(p->writer->arena, "left%s", p->name), &rows);
}

/* Sums leave PSUM by the engine that the schedule says. */
static void evacuate(struct product *p, const char *to, const char *from, const char *at) {
    static const int64_t values[] = {0, 1, 2};
    struct writer *w = p->writer;
    int64_t how = write_choose(p->writer, node_of(p), "leaves_by",
                               "sums leave PSUM by Scalar (0), by Vector (1), or by both in turn "
                               "(2)",
                               values, strcmp(at, "0") ? 3 : 2);
    if (how == 2) {
        write_line(w, "if %s // %d %% 2:", at, PRODUCT_MOVING);
        w->indent++;
    }
    if (how)
        write_line(w, "nisa.tensor_copy(dst=%s, src=%s)", to, from);
    if (how == 2) {
        w->indent--;
        write_line(w, "else:");
        w->indent++;
    }
    if (how != 1)
        write_line(w, "nisa.activation(dst=%s, op=nl.copy, data=%s)", to, from);
    w->indent -= how == 2;
}

void product_fill(struct product *p, const struct access *access, const char *tile) {
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
    evacuate(p, arena_printf(w->arena, "%s[0:%s, %s]", tile, access->rows, product_slice(w, &part)),
             arena_printf(w->arena, "sums%s[0:%s, 0, 0:%s]", p->name, access->rows, part.size),
             part.at);
    w->indent = indent;
}
