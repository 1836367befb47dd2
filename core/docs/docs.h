/* SPDX-License-Identifier: Apache-2.0 */
/* What hone knows of NKI, page by page: a page for each name that a release of the SDK documents,
 * and guides. The texts and examples are in the folder pages; signatures, engines, limits of
 * releases and costs come from the tables of core/nki and core/device. */
#ifndef HONE_DOCS_H
#define HONE_DOCS_H

#include "base/base.h"
#include "nki/nki.h"

/* The pages, read from what is built into the binary. Reading takes about a millisecond. */
struct docs;
struct docs *docs_open(void) CC_MUST_USE;
void docs_close(struct docs *docs); /* accepts NULL */

/* A page. It lives as long as its docs. */
struct docs_page;
const char *docs_name(const struct docs_page *page); /* "nisa.activation"; of a guide: "tiling" */
bool docs_is_guide(const struct docs_page *page);
/* Appends one line about it: "dst = op(data * scale + bias)". */
void docs_print_what(const struct docs_page *page, struct buf *out);
/* What hone cannot do with it, as a sentence; empty when it can. */
struct str docs_gap(const struct docs_page *page, enum nki_dialect dialect);
/* Page by page, names first, then guides; NULL past the last. */
const struct docs_page *docs_at(const struct docs *docs, size_t index);
/* Finds the pages of a name: "nisa.iota", "nki.isa.iota", "neuronxcc.nki.isa.iota", or "iota",
 * which several modules may have; a guide by its name. Writes up to `most` pages; returns how many.
 */
size_t docs_find(const struct docs *docs, struct str name, const struct docs_page **found,
                 size_t most);
/* The name that is nearest to one that has no page; NULL: none is near. */
const char *docs_nearest(const struct docs *docs, const char *name);

/* ---- releases ---------------------------------------------------------------------------------
 */

/* The release that "2.29", "2.29.1" or "0.3" means, the number of its row; -1: there is none. */
int docs_release_find(const char *text);
const char *docs_release_sdk(int release); /* "2.29"; NULL past the last */
const char *docs_release_nki(int release); /* "0.3"; NULL: of the older dialect alone */
/* Whether a release documents a name. A guide is for all. */
bool docs_has(const struct docs_page *page, int release);

/* ---- what a page says --------------------------------------------------------------------------
 */

struct docs_told {
    int release;                    /* -1: all of them, and both dialects */
    enum nki_generation generation; /* whose costs are told; 0: the default one's */
};
/* Appends the page as text: signatures, releases, engines, limits, cost with its source, changes,
 * an example. */
void docs_print(const struct docs_page *page, const struct docs_told *told, struct buf *out);
/* Appends what a call has to keep to beyond its signature: limits, notes and, in the current
 * dialect, changes, a line each. */
void docs_print_brief(const struct docs_page *page, enum nki_dialect dialect, struct buf *out);
/* The page as an object; the caller frees it. */
struct cJSON *docs_json(const struct docs_page *page, const struct docs_told *told) CC_MUST_USE;

/* Appends the example of a dialect as a whole file that hone evaluates. False: there is none. */
bool docs_example(const struct docs_page *page, enum nki_dialect dialect, struct buf *out);
/* Its inputs as `hone sim --input` takes them ("x=128x512:float32"), separated by blanks, and what
 * it returns, in numpy's words; "any" where that is random. */
struct str docs_example_inputs(const struct docs_page *page, enum nki_dialect dialect);
struct str docs_example_gives(const struct docs_page *page, enum nki_dialect dialect);
/* What its inputs have to be besides: "x positive, i below 128"; empty: any numbers. */
struct str docs_example_values(const struct docs_page *page, enum nki_dialect dialect);
/* Whether the example is for a generation. */
bool docs_example_on(const struct docs_page *page, enum nki_generation generation);

/* ---- searching ---------------------------------------------------------------------------------
 */

/* Finds the pages that words are about, the best first: by the full-text search of SQLite, where it
 * was built with it, else by counting words. All of them, or, where no page has all of several,
 * any. Returns how many of at most `most`. `plain` counts words in any case. */
size_t docs_search(const struct docs *docs, struct str words, bool plain,
                   const struct docs_page **found, size_t most);

#endif
