/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of the products: sums of blocks that are made, or kept in HBM and brought again. */
#include "write/strassen/private.h"

/* Parts of an operand whose sums are kept at a time: of the one that changes first, all. */
static int64_t kept_parts(const struct fast *f, enum which which) {
    bool changes_first = (which == LEFT) != f->rows_last;
    return changes_first ? strassen_uses(f, which == LEFT ? RIGHT : LEFT) : 1;
}

static void declare_kept(struct fast *f, enum which which) {
    struct product *p = f->p;
    int64_t count = strassen_products(f) * strassen_passes(f) * kept_parts(f, which);
    for (int low = 0; strassen_uses(f, which) > 1 && low <= product_has_low(p, which); low++)
        product_declare(
            p,
            arena_printf(p->writer->arena, "%s_kept%s", strassen_now(f, which), low ? "_low" : ""),
            arena_printf(p->writer->arena, "%lld, %s", (long long)count, strassen_shape(f, which)),
            product_dtype(p), "private_hbm");
}

void strassen_declare_kept(struct fast *f) {
    declare_kept(f, LEFT);
    declare_kept(f, RIGHT);
}

/* Stores the sums, or loads them. */
static void copy_kept(struct fast *f, enum which which, const char *index, bool stores) {
    struct product *p = f->p;
    struct arena *arena = p->writer->arena;
    for (int low = 0; low <= product_has_low(p, which); low++) {
        const char *end = low ? "_low" : "";
        const char *kept = arena_printf(arena, "%s_kept%s[%s]", strassen_now(f, which), end, index);
        const char *tile = arena_printf(arena, "%s%s", strassen_next(f, which), end);
        write_line(p->writer, "nisa.dma_copy(dst=%s, src=%s)", stores ? kept : tile,
                   stores ? tile : kept);
    }
}

/* Which of the kept sums: by product, then by what is summed over, then by part. */
static const char *kept_index(const struct fast *f, enum which which, const struct span *own) {
    struct arena *arena = f->p->writer->arena;
    const char *index = f->levels == 1 ? "p" : arena_printf(arena, "p * %d + inner", FAST_PRODUCTS);
    if (strassen_passes(f) > 1)
        index = arena_printf(arena,
                             f->levels == 1 ? "%s * %lld + d // %lld" : "(%s) * %lld + d // %lld",
                             index, (long long)strassen_passes(f), (long long)f->depth);
    bool is_sum = f->levels > 1 || strassen_passes(f) > 1;
    if (kept_parts(f, which) > 1)
        index = arena_printf(arena, is_sum ? "(%s) * %lld + %s // %lld" : "%s * %lld + %s // %lld",
                             index, (long long)kept_parts(f, which), own->at,
                             (long long)strassen_part(f, which));
    return index;
}

void strassen_bring(struct fast *f, enum which which, const struct span *own,
                    const struct span *other) {
    struct product *p = f->p;
    struct writer *w = p->writer;
    int indent = w->indent;
    bool keeps = strassen_uses(f, which) > 1;
    product_declare_operand(p, which, strassen_next(f, which), strassen_shape(f, which));
    if (keeps) {
        write_line(w, "if %s == 0:", other->at);
        w->indent++;
    }
    strassen_sum(f, which, own);
    const char *index = kept_index(f, which, own);
    if (keeps) {
        copy_kept(f, which, index, true);
        w->indent--;
        write_line(w, "else:");
        w->indent++;
        copy_kept(f, which, index, false);
    }
    w->indent = indent;
}
