/* SPDX-License-Identifier: Apache-2.0 */
/* What the transformations share. A row of the menu finds the sites where its preconditions hold
 * and says elsewhere why they do not; applying a site edits the text and nothing else. */
#ifndef HONE_REWRITE_MOVES_PRIVATE_H
#define HONE_REWRITE_MOVES_PRIVATE_H

#include "rewrite/edit/edit.h"
#include "rewrite/moves/inner.h"

struct rewrite_site *rewrite_site_add(struct rewrite_model *model, const struct rewrite_row *row,
                                      struct nki_node *place);
void rewrite_decline(struct rewrite_model *model, const struct rewrite_row *row,
                     const struct nki_node *place, const char *format, ...) CC_PRINTF(4, 5);
/* The share of the latency that the profile gives to the lines of a node; `unknown` without a
 * profile. */
double rewrite_share(const struct rewrite_model *model, const struct nki_node *node,
                     double unknown);

/* Whether this number or name lays data out (an index, a shape, a count); else it is computed
 * with. */
bool rewrite_lays_out(const struct rewrite_model *model, const struct nki_node *node);
/* Relative cost of an element in rows of n elements, to compare tile sizes. */
double rewrite_row_cost(int64_t n);

/* ---- preloading ----------------------------------------------------------------------------- */

/* Tiles that are made in a loop, made before an outer one instead: a storage with one dimension for
 * each loop they depend on, filled by copies of those loops. */
struct rewrite_preload {
    struct nki_node *stmt;    /* what makes the tile now */
    struct nki_node *src;     /* the expression it is made from */
    struct rewrite_tile tile; /* of one piece */
    const char *dtype;        /* as text */
    const char *stem;         /* of the new storage's name */
    const struct rewrite_loop *loops[REWRITE_MAX_DIMS];
    int n_loops;
    int at;           /* before loops[at] */
    unsigned depends; /* the loops that src depends on, as bits */
    int merged;       /* the loop whose pieces lie side by side in the last dimension, -1 */
    const struct nki_node *hint[REWRITE_MAX_DIMS]; /* where to find names for the tile's sizes */
    int64_t reuse;                                 /* how often each tile was made */
    int64_t pieces;                                /* in the storage */
    int64_t bytes;                                 /* of the storage, per partition */
};
/* Fills in what follows from stmt, src, tile and at; false after a decline. */
bool rewrite_preload_find(struct rewrite_model *model, const struct rewrite_row *row,
                          struct rewrite_preload *preload, int at);
/* Inserts storage and filling loops before loops[at]; `made` says how a piece is made from the text
 * of its source (one %s). Returns the text of the view of one piece, NULL with *err. */
const char *rewrite_preload_insert(const struct rewrite_model *model,
                                   const struct rewrite_preload *preload, const char *made,
                                   struct nki_edits *edits, struct err *err);
/* The view of the piece that belongs to this step of the loops, of a storage called `name`. */
const char *rewrite_preload_view(const struct rewrite_model *model,
                                 const struct rewrite_preload *preload, const char *name);

/* ---- rows, each in a file of its own -------------------------------------------------------- */

#define ROW(id, ...)                                                                      \
    void rewrite_find_##id(struct rewrite_model *model, const struct rewrite_row *row);   \
    bool rewrite_apply_##id(struct rewrite_model *model, const struct rewrite_site *site, \
                            struct nki_edits *edits, struct err *err);
#include "rewrite/moves/menu.def"
#undef ROW

#endif
