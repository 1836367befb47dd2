/* SPDX-License-Identifier: Apache-2.0 */
/* A product whose result lies nowhere: the stage that uses it goes over its tiles, and each is made
 * when it is wanted. The strides of its view (product_layout) tell what a loop of that stage is for
 * the product. */
#include "write/products.h"
#include "write/strassen/strassen.h"

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

bool product_match(struct product *p, const int64_t *tile, int64_t row_stride,
                   int64_t column_stride, int64_t offset) {
    int64_t rows = tile[0];
    p->tiled_columns = tile[1];
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

bool product_add_loop(struct product *p, const struct term *term) {
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

/* PSUM banks whose sums leave it by one instruction, of a tile of whole rows. */
static int64_t choose_banks(const struct product *p) {
    int64_t n = p->main[COLUMN].n, values[3], count = 0;
    bool is_short = p->main[SUMMED].n <= PRODUCT_SHORT;
    for (int64_t banks = is_short ? 4 : 1; banks > 0 && banks <= 4;
         banks = is_short ? banks / 2 : banks * 2)
        if (banks == 1 || n % (banks * PRODUCT_MOVING) == 0)
            values[count++] = banks;
    return count == 1 ? 1
                      : write_choose(p->writer, node_of(p), "banks",
                                     "PSUM banks whose sums leave it at once", values, (int)count);
}

int64_t product_parts(const struct product *p) {
    int64_t width = PRODUCT_MOVING * choose_banks(p);
    return (p->main[COLUMN].n + width - 1) / width;
}

static const char *extremes_of(const struct product *p, const char *tile) {
    return arena_printf(p->writer->arena, "%s_extremes", tile);
}

/* "contract_t2_extremes[0:128, n // 512:n // 512 + 1]" */
static const char *extreme_part(struct product *p, const struct access *access, const char *tile,
                                const struct span *part) {
    struct arena *arena = p->writer->arena;
    long long width = part->width;
    const char *at = strcmp(part->at, "0") ? arena_printf(arena, "%s // %lld:%s // %lld + 1",
                                                          part->at, width, part->at, width)
                                           : "0:1";
    return arena_printf(arena, "%s[0:%s, %s]", extremes_of(p, tile), access->rows, at);
}

/* The columns of a tile, in parts that leave PSUM at once: opens a loop over them. */
static struct span open_parts(struct product *p, const struct access *access) {
    struct writer *w = p->writer;
    int64_t n = p->main[COLUMN].n, width = access->cols_most ? access->cols_most : n;
    long long exact;
    if (str_to_int(str_of(access->cols[0]), &exact)) {
        p->banks = exact % (PRODUCT_MOVING * choose_banks(p)) ? 1 : choose_banks(p);
        return product_tiles(w, "n", "width", exact, PRODUCT_MOVING * p->banks);
    }
    p->banks = 1;
    write_line(w, "for n in range(0, %s, %d):", access->cols[0], PRODUCT_MOVING);
    w->indent++;
    write_line(w, "width = min(%d, %s - n)", PRODUCT_MOVING, access->cols[0]);
    return (struct span){"n", "width", MAX_OF(width - PRODUCT_MOVING, 0), PRODUCT_MOVING};
}

/* The products of a part, bank by bank; it begins at `from` among the tile's columns, "0" at the
 * first. */
static void multiply_part(struct product *p, const char *from, const struct span *part) {
    struct writer *w = p->writer;
    int indent = w->indent;
    struct span columns = *part;
    const char *terms[3] = {from, part->at, "0"}, *at = "0";
    if (p->banks > 1) {
        product_declare(p, named(p, "sums"),
                        arena_printf(w->arena, "%s, %s", p->rows.size, part->size), "float32",
                        "psum");
        columns = product_tiles(w, "b", "width", part->width, PRODUCT_MOVING);
        terms[2] = columns.at;
        p->within = arena_printf(w->arena, "[0:%s, b:b + %d]", p->rows.size, PRODUCT_MOVING);
    }
    int count = 0;
    for (size_t i = 0; i < COUNT_OF(terms); i++)
        if (strcmp(terms[i], "0"))
            at = count++ ? arena_printf(w->arena, "%s + %s", at, terms[i]) : terms[i];
    columns.most = p->main[COLUMN].n - columns.width;
    columns.at = at;
    if (count > 1) {
        columns.at = named(p, "at");
        write_line(w, "%s = %s", columns.at, at);
    }
    product_multiply(p, &p->rows, &columns);
    p->within = NULL;
    w->indent = indent;
}

static void fill(struct product *p, const struct access *access, const char *tile) {
    struct writer *w = p->writer;
    int indent = w->indent;
    const char *from = start_of(p, access, COLUMN, "column");
    struct span part = open_parts(p, access);
    multiply_part(p, from, &part);
    if (p->extreme)
        p->extreme_to = extreme_part(p, access, tile, &part);
    const char *sums = arena_printf(w->arena, "sums%s[0:%s, %s0:%s]", p->name, access->rows,
                                    p->banks > 1 ? "" : "0, ", part.size);
    product_evacuate(
        p, 0, arena_printf(w->arena, "%s[0:%s, %s]", tile, access->rows, product_slice(w, &part)),
        sums,
        strcmp(part.at, "0")
            ? arena_printf(w->arena, "n // %lld", (long long)(PRODUCT_MOVING * p->banks))
            : NULL);
    w->indent = indent;
}

static void declare_tile(const struct product *p, const struct access *access, const char *tile) {
    product_declare(p, tile,
                    arena_printf(p->writer->arena, "%s, %s", access->rows, access->cols[0]),
                    p->node->dtype, "sbuf");
    if (product_finds_extremes(p))
        product_declare(
            p, extremes_of(p, tile),
            arena_printf(p->writer->arena, "%s, %lld", access->rows, (long long)product_parts(p)),
            "float32", "sbuf");
}

/* Whether a tile is made before the one that the stage works on is done with. Where tiles are parts
 * of rows, the next part is begun early enough by itself. */
static bool choose_ahead(struct product *p, bool whole_rows) {
    static const int64_t values[] = {1, 0};
    return whole_rows && !p->is_read && p->main[ROW].n > PARTITIONS &&
           p->tiled_rows == p->main[ROW].n && p->tiled_columns == p->main[COLUMN].n &&
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
    if (product_has_low(p, LEFT))
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
    if (product_finds_extremes(p))
        write_line(w, "%s = %s", extremes_of(p, tile), extremes_of(p, named(p, "ready")));
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

void product_want(struct product *product, const char *extreme) {
    bool exact = strcmp(product->node->dtype, "float32") == 0;
    product->extreme = exact ? extreme : NULL;
}

const char *product_extremes(const struct product *product, const char *tile, const char *extreme) {
    bool found = product_finds_extremes(product) && strcmp(product->extreme, extreme) == 0;
    return found ? extremes_of(product, tile) : NULL;
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
    p->fast = NULL;
    for (int i = 0; i < outer->term_count; i++)
        if (!product_add_loop(p, &outer->terms[i]))
            return false;
    p->name = arena_printf(p->writer->arena, "_%d", node_of(p));
    p->chain = p->writer->values[node_of(p)].chain;
    if (p->chain) {
        chain_enter(p, room);
        return true;
    }
    double made = 0;
    for (enum which i = LEFT; i <= RIGHT; i++) {
        const struct buffer *buffer = &p->writer->buffers.at[p->views[i].buffer];
        made += buffer->is_made ? rows_made_bytes(p->writer, buffer->node) : 0;
    }
    /* Of operands that stay, rows are made once for many products: no two of them at a time. */
    if (!p->is_read && !outer->term_count && strassen_enter(p, room - made / 2))
        return true;
    room -= made;
    p->block = PARTITIONS;
    p->stays = choose_stays(p, room);
    if (!p->stays && p->turns[RIGHT])
        return false;
    p->left_stays = choose_left_stays(p, room);
    p->is_read = p->is_read && p->left_stays; /* of rows in any order */
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
    if (p->fast)
        strassen_begin(p, start_of(p, access, ROW, "row"));
    if (p->ahead || p->fast)
        return;
    int64_t n = p->main[ROW].n, width = MIN_OF(n, PARTITIONS);
    struct span rows = {start_of(p, access, ROW, "row"), access->rows, n - width, width};
    p->rows = rows;
    if (p->chain)
        chain_begin(p, &rows);
    else
        load_rows(p, &rows);
}

void product_fill(struct product *p, const struct access *access, const char *tile) {
    if (p->fast) {
        const char *row = start_of(p, access, ROW, "row");
        strassen_fill(p, access, row, start_of(p, access, COLUMN, "column"), tile);
        return;
    }
    if (p->chain) {
        declare_tile(p, access, tile);
        product_evacuate(p, 1, tile, chain_place(p, false), NULL);
        return;
    }
    if (p->ahead) {
        take_ready(p, access, tile);
        return;
    }
    declare_tile(p, access, tile);
    fill(p, access, tile);
}

bool product_fill_sum(const struct product *p, int node, const char *tile) {
    if (!p->chain || chain_sum(p->chain) != node)
        return false;
    product_declare(p, tile, arena_printf(p->writer->arena, "%s, 1", p->rows.size), "float32",
                    "sbuf");
    write_line(p->writer, "nisa.tensor_copy(dst=%s, src=%s)", tile, chain_place(p, true));
    return true;
}

/* ---- results that exp reads ------------------------------------------------------------------ */

void product_read(struct product *p, bool reads) {
    p->is_read = reads;
    if (reads)
        p->extreme = NULL;
}

bool product_is_read(const struct product *p) {
    return p->is_read;
}

int64_t product_samples(int64_t columns) {
    int64_t some = columns / PRODUCT_SAMPLE / PRODUCT_MOVING * PRODUCT_MOVING;
    return MAX_OF(some, PRODUCT_MOVING);
}

/* "sums_4[0:128, 0, 0:512]" */
static const char *sums_of(const struct product *p, const struct span *part) {
    return arena_printf(p->writer->arena, "%s[0:%s, %s0:%s]", named(p, "sums"), p->rows.size,
                        p->banks > 1 ? "" : "0, ", part->size);
}

static void go_to_rows(struct product *p, const struct access *access) {
    int64_t n = p->main[ROW].n, width = MIN_OF(n, PARTITIONS);
    p->rows = (struct span){start_of(p, access, ROW, "row"), access->rows, n - width, width};
}

void product_sample(struct product *p, const struct access *access, const char *to) {
    struct writer *w = p->writer;
    int64_t n = product_samples(p->main[COLUMN].n);
    struct span part = {"0", arena_printf(w->arena, "%lld", (long long)n), 0, n};
    go_to_rows(p, access);
    p->banks = n / PRODUCT_MOVING;
    multiply_part(p, "0", &part);
    write_line(w, "nisa.tensor_reduce(dst=%s, op=nl.maximum, data=%s, axis=1)", to,
               sums_of(p, &part));
}

void product_fill_power(struct product *p, const struct access *access, const struct power *power) {
    struct writer *w = p->writer;
    int indent = w->indent;
    go_to_rows(p, access);
    struct span part = open_parts(p, access);
    multiply_part(p, "0", &part);
    long long width = part.width;
    const char *at = strcmp(part.at, "0") ? arena_printf(w->arena, "%s // %lld:%s // %lld + 1",
                                                         part.at, width, part.at, width)
                                          : "0:1";
    write_line(w,
               "nisa.activation_reduce(dst=%s[0:%s, %s], op=nl.exp, data=%s, bias=%s, scale=%s, "
               "reduce_op=nl.add, reduce_res=%s[0:%s, %s])",
               power->tile, access->rows, product_slice(w, &part), sums_of(p, &part), power->bias,
               power->scale, power->sums, access->rows, at);
    w->indent = indent;
}
