/* SPDX-License-Identifier: Apache-2.0 */
/* Finds pages by their names. */
#include "docs/private.h"

#include <string.h>

/* How names are written in full, and on pages. */
static const struct {
    const char *full, *page;
} modules[] = {
    {"neuronxcc.nki.isa.", "nisa."}, {"neuronxcc.nki.language.", "nl."}, {"nki.isa.", "nisa."},
    {"nki.language.", "nl."},        {"nki.collectives.", "nccl."},      {"neuronxcc.nki.", "nki."},
    {"nl.NkiTensor.", "NkiTensor."}, {"ncc.", "nki.compiler."},
};

static void spell(struct str name, struct buf *out) {
    for (size_t i = 0; i < COUNT_OF(modules); i++)
        if (str_starts(name, modules[i].full)) {
            size_t len = strlen(modules[i].full);
            buf_puts(out, modules[i].page);
            buf_add(out, name.at + len, name.len - len);
            return;
        }
    buf_add(out, name.at, name.len);
}

size_t docs_find(const struct docs *docs, struct str name, const struct docs_page **found,
                 size_t most) {
    struct buf spelt = {0};
    size_t n = 0;
    spell(str_trim(name), &spelt);
    for (int by_last = 0; by_last < 2 && spelt.len && !n; by_last++)
        for (size_t i = 0; i < docs->pages.len && n < most; i++) {
            const struct docs_page *page = docs->pages.at[i];
            if (!strcmp(by_last ? page->last : page->name, spelt.at))
                found[n++] = page;
        }
    buf_free(&spelt);
    return n;
}

const char *docs_nearest(const struct docs *docs, const char *name) {
    size_t n = 0;
    const char **names = mem_alloc(docs->pages.len * 2 + 1, sizeof *names);
    for (size_t i = 0; i < docs->pages.len; i++) {
        names[n++] = docs->pages.at[i]->name;
        names[n++] = docs->pages.at[i]->last;
    }
    names[n] = NULL;
    const char *near = str_nearest(name, names);
    mem_free_(names);
    return near;
}
