/* SPDX-License-Identifier: Apache-2.0 */
/* Finds pages by their names. */
#include "docs/private.h"

#include <ctype.h>
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

static size_t find_spelt(const struct docs *docs, const char *name, const struct docs_page **found,
                         size_t most) {
    size_t n = 0;
    for (int by_last = 0; by_last < 2 && *name && !n; by_last++)
        for (size_t i = 0; i < docs->pages.len && n < most; i++) {
            const struct docs_page *page = docs->pages.at[i];
            if (!strcmp(by_last ? page->last : page->name, name))
                found[n++] = page;
        }
    return n;
}

static bool tells_word(struct str text, const char *word) {
    size_t len = strlen(word);
    for (const char *at = text.at;
         at && (at = memmem(at, (size_t)(text.at + text.len - at), word, len)); at++) {
        bool before = at > text.at && (isalnum((unsigned char)at[-1]) || at[-1] == '_');
        bool behind =
            at + len < text.at + text.len && (isalnum((unsigned char)at[len]) || at[len] == '_');
        if (!before && !behind)
            return true;
    }
    return false;
}

/* nisa.engine.vector, nl.fp32.min: a member is told of by the page of what it belongs to, which
 * names it in its first line. */
static size_t find_owner(const struct docs *docs, char *name, const struct docs_page **found,
                         size_t most) {
    char *dot = strrchr(name, '.');
    if (!dot || !dot[1] || strchr(name, '.') == dot)
        return 0;
    *dot = 0;
    size_t n = find_spelt(docs, name, found, most), kept = 0;
    for (size_t i = 0; i < n; i++)
        if (tells_word(docs_part(found[i], "what"), dot + 1))
            found[kept++] = found[i];
    return kept;
}

size_t docs_find(const struct docs *docs, struct str name, const struct docs_page **found,
                 size_t most) {
    struct buf spelt = {0};
    spell(str_trim(name), &spelt);
    size_t n = spelt.len ? find_spelt(docs, spelt.at, found, most) : 0;
    if (!n && spelt.len)
        n = find_owner(docs, spelt.at, found, most);
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
