/* SPDX-License-Identifier: Apache-2.0 */
/* The pages as they were read, for the files of this room. */
#ifndef HONE_DOCS_PRIVATE_H
#define HONE_DOCS_PRIVATE_H

#include "docs/docs.h"

/* "limit: at most 128 partitions", with the lines that belong to it. */
struct docs_part {
    const char *key;
    struct str text;
};
struct docs_page {
    const char *name;
    const char *last; /* "activation" */
    const char
        *ranges; /* of releases: "2.20-2.26 2.29-"; "" for a guide and what lists leave out */
    VEC(struct docs_part) parts;
    const struct docs_page *like; /* what it takes its missing parts from; NULL: none */
    struct str guide;             /* the text of a guide; at == NULL: it is none */
};
struct docs {
    struct arena *arena;
    VEC(struct docs_page *) pages, patterns;
    struct map ranges; /* by name: const char */
};

/* The first part of that key, else that of what the page is like; at == NULL: none. */
struct str docs_part(const struct docs_page *page, const char *key);
/* Part number `index` of those of a key: the page's own first, then those of what it is like. */
struct str docs_part_at(const struct docs_page *page, const char *key, size_t index);
/* The part for a dialect ("legacy limit"), else the one for both. */
struct str docs_part_in(const struct docs_page *page, const char *key, enum nki_dialect dialect);
/* Appends text with {name} and figures filled in: {{dma_start_ns}} is a row of constants.def,
 * {{clock of the Vector engine}} one of hardware.def. */
void docs_fill(const struct docs_page *page, struct str text, struct buf *out);
/* Reads names.txt into docs->ranges. */
void docs_read_ranges(struct docs *docs);
/* Appends "nisa.iota(dst, ..)"; false: it is not called. */
bool docs_print_call(const struct docs_page *page, enum nki_dialect dialect, struct buf *out);
/* Appends which releases have it. */
void docs_print_releases(const struct docs_page *page, struct buf *out);
/* Appends a line for each change of releases.def that concerns it. */
void docs_print_changes(const struct docs_page *page, struct buf *out);
/* Whether a page that is told of a release has this dialect. */
bool docs_tells(const struct docs_page *page, const struct docs_told *told,
                enum nki_dialect dialect);

#endif
