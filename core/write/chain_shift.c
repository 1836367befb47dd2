/* SPDX-License-Identifier: Apache-2.0 */
/* What is subtracted from each row of the results that an operand is made of. The largest result
 * cannot be found in what is turned over: products as they were are looked through, those of a
 * block while the block before it is worked on. Where results do not depend on what is subtracted,
 * as a softmax's do not, the largest of some is near enough. */
#include "write/products.h"
#include "write/rows.h"

static const char *named(const struct product *p, const char *what) {
    return arena_printf(p->writer->arena, "%s%s", what, p->name);
}

static const char *number(const struct product *p, int64_t value) {
    return arena_printf(p->writer->arena, "%lld", (long long)value);
}

/* ---- the largest of each row ----------------------------------------------------------------- */

/* Columns of the other product that are looked through: all, or the first ones. */
static int64_t looked_of(const struct product *p) {
    int64_t n = p->main[SUMMED].n;
    return p->chain->samples ? product_samples(n) : n;
}

/* .. and those at once: as many as are made at once, where that comes out even. */
static int64_t part_of(const struct product *p) {
    int64_t n = looked_of(p), step = p->chain->block * p->chain->group;
    return n % step == 0 ? step : n % CHAIN_BANK == 0 ? CHAIN_BANK : PARTITIONS;
}

static int64_t parts_of(const struct product *p) {
    return p->chain->block / PARTITIONS * (looked_of(p) / part_of(p));
}

/* Whether the block before has a step for each part. */
static bool has_steps(const struct product *p) {
    return parts_of(p) <= p->main[SUMMED].n / (p->chain->group * PARTITIONS);
}

/* The same, of numbers that are near enough where nothing depends on it. */
static void multiply_roughly(struct product *p, const char *sums, const struct span *rows,
                             const struct span *columns) {
    struct product *s = p->chain->first, exact = *s;
    bool may = p->chain->is_free && s->halves;
    s->halves = s->halves && !may;
    chain_multiply(p, sums, rows, columns, NULL);
    s->halves = exact.halves;
}

/* Looks through a part of a tile of rows; `i` is the tile's number in the block, `c` where the part
 * begins, `from` where the block does. */
static void look_through(struct product *p, const char *from, const char *i, const char *c) {
    struct writer *w = p->writer;
    int indent = w->indent;
    long long part = part_of(p), parts = looked_of(p) / part;
    struct span rows = {.at = arena_printf(w->arena, "%s * %d", i, PARTITIONS),
                        .size = number(p, PARTITIONS)};
    if (p->chain->left_stays && strcmp(from, "0"))
        rows.at = arena_printf(w->arena, "%s + %s", from, rows.at);
    product_declare(p, named(p, "looked"), arena_printf(w->arena, "%d, %lld", PARTITIONS, part),
                    "float32", "psum");
    struct span b = product_tiles(w, "b", "wide", part, CHAIN_BANK), columns = b;
    columns.at = strcmp(b.at, "0") ? arena_printf(w->arena, "%s + b", c) : c;
    multiply_roughly(p,
                     arena_printf(w->arena, "%s[0:%d, %s]", named(p, "looked"), PARTITIONS,
                                  product_slice(w, &b)),
                     &rows, &columns);
    w->indent = indent;
    write_line(w, "place = %s * %lld + %s // %lld", i, parts, c, part);
    write_line(w,
               "nisa.tensor_reduce(dst=%s[0:%d, place:place + 1], op=nl.maximum, data=%s, axis=1)",
               named(p, "parts"), PARTITIONS, named(p, "looked"));
}

static void declare_parts(struct product *p) {
    product_declare(p, named(p, "parts"),
                    arena_printf(p->writer->arena, "%d, %lld", PARTITIONS, (long long)parts_of(p)),
                    "float32", "sbuf");
}

static void look_through_all(struct product *p, const char *from) {
    struct writer *w = p->writer;
    int indent = w->indent;
    declare_parts(p);
    write_line(w, "for i in range(%lld):", (long long)(p->chain->block / PARTITIONS));
    write_line(w, "    for c in range(0, %lld, %lld):", (long long)looked_of(p),
               (long long)part_of(p));
    w->indent += 2;
    look_through(p, from, "i", "c");
    w->indent = indent;
}

/* The largest of each row, beside each other on all partitions: as the results are turned over. */
static void spread_most(struct product *p) {
    struct writer *w = p->writer;
    const struct chain *c = p->chain;
    long long parts = looked_of(p) / part_of(p), block = c->block;
    const char *turned = named(p, "turned"), *most = named(p, "most");
    product_declare(p, turned, arena_printf(w->arena, "%d, %lld", PARTITIONS, block), "float32",
                    "psum");
    write_line(w, "for i in range(%lld):", block / PARTITIONS);
    w->indent++;
    product_declare(p, "row", "128, 1", "float32", "sbuf");
    write_line(w,
               "nisa.tensor_reduce(dst=row, op=nl.maximum, data=%s[0:%d, i * %lld:i * %lld + "
               "%lld], axis=1)",
               named(p, "parts"), PARTITIONS, parts, parts, parts);
    product_declare(p, "wide", "128, 128", "float32", "sbuf");
    const char *more = c->samples ? arena_printf(w->arena, ", op1=nl.add, operand1=%s",
                                                 write_number(w, ROWS_ABOVE / c->scale))
                                  : "";
    write_line(w, "nisa.tensor_scalar(dst=wide, data=%s, op0=nl.add, operand0=row%s)",
               named(p, "zeros"), more);
    write_line(w, "nisa.nc_transpose(dst=%s[0:%d, i * %d:i * %d + %d], data=wide)", turned,
               PARTITIONS, PARTITIONS, PARTITIONS, PARTITIONS);
    w->indent--;
    product_declare(p, most,
                    arena_printf(w->arena, "%d, %lld", PARTITIONS, block * (long long)c->group),
                    "float32", "sbuf");
    write_line(w, "for g in range(%lld):", (long long)c->group);
    write_line(w, "    nisa.tensor_copy(dst=%s[0:%d, g * %lld:g * %lld + %lld], src=%s)", most,
               PARTITIONS, block, block, block, turned);
}

/* ---- what blocks call ------------------------------------------------------------------------ */

bool chain_looks(const struct chain *c) {
    return c->extreme >= 0;
}

/* Only where any numbers will do: what is above the sample by too much becomes infinite, whatever
 * the seeds of the task say. */
void chain_choose_shift(struct product *p) {
    static const int64_t values[] = {0, 1};
    struct writer *w = p->writer;
    struct chain *c = p->chain;
    bool is_wide =
        strcmp(product_dtype(p), "float16") && strcmp(w->graph->nodes[c->operand].dtype, "float16");
    c->samples = w->spec->precision == WRITE_ANY && is_wide && c->is_free &&
                 p->main[SUMMED].n > product_samples(p->main[SUMMED].n) &&
                 write_choose(w, c->node, "shift",
                              "from each row is subtracted: its largest result (0), the largest of "
                              "its first results and some (1)",
                              values, 2);
    if (c->samples)
        write_note(w, c->node, "shift",
                   arena_printf(w->arena,
                                "as exact, where none of a row's results is %d above the largest "
                                "of the first %lld",
                                ROWS_ABOVE + ROWS_LARGEST, (long long)looked_of(p)));
}

void chain_enter_shift(struct product *p) {
    struct chain *c = p->chain;
    struct writer *w = p->writer;
    if (!chain_looks(c))
        return;
    product_declare(p, named(p, "zeros"), "128, 128", "float32", "sbuf");
    write_line(w, "nisa.memset(dst=%s, value=0.0)", named(p, "zeros"));
    look_through_all(p, "0");
    spread_most(p);
}

void chain_begin_shift(struct product *p, const char *after) {
    struct writer *w = p->writer;
    if (!chain_looks(p->chain))
        return;
    write_line(w, "now_%s = %s", named(p, "most"), named(p, "most"));
    if (!after || !has_steps(p))
        return;
    write_line(w, "if %s < %lld:", after, (long long)p->main[ROW].n);
    w->indent++;
    declare_parts(p);
    w->indent--;
}

void chain_step_shift(struct product *p, const char *after) {
    struct chain *c = p->chain;
    struct writer *w = p->writer;
    if (!after || !chain_looks(c) || !has_steps(p))
        return;
    long long n = looked_of(p), step = c->group * PARTITIONS, last = parts_of(p) * step;
    const char *until =
        last < p->main[SUMMED].n ? arena_printf(w->arena, " and n < %lld", last) : "";
    write_line(w, "if %s < %lld%s: # and a look at the rows that are next", after,
               (long long)p->main[ROW].n, until);
    w->indent++;
    write_line(w, "c = n // %lld * %lld", step, (long long)part_of(p));
    look_through(p, after, arena_printf(w->arena, "(c // %lld)", n),
                 arena_printf(w->arena, "c %% %lld", n));
    w->indent--;
}

void chain_end_shift(struct product *p, const char *after) {
    struct writer *w = p->writer;
    if (!after || !chain_looks(p->chain))
        return;
    write_line(w, "if %s < %lld:", after, (long long)p->main[ROW].n);
    w->indent++;
    if (!has_steps(p))
        look_through_all(p, after);
    spread_most(p);
    w->indent--;
}
