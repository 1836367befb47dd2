/* SPDX-License-Identifier: Apache-2.0 */
/* The menu for those who choose from it: its rows, the sites where a row could edit a kernel, and
 * how a site becomes an edit. */
#ifndef HONE_REWRITE_MOVES_INNER_H
#define HONE_REWRITE_MOVES_INNER_H

#include "rewrite/facts/inner.h"
#include "rewrite/moves/moves.h"

struct rewrite_row {
    const char *id, *title;
    const char *pattern, *edit; /* what it needs; what it does; for people */
    const char *metric;         /* Neuron's name */
    enum rewrite_direction direction;
    void (*find)(struct rewrite_model *model, const struct rewrite_row *row);
    bool (*apply)(struct rewrite_model *model, const struct rewrite_site *site,
                  struct nki_edits *edits, struct err *err);
    const char *strategy; /* its entry in prompts/menu.md; NULL: the id */
};

/* One edit that could be made. Texts live in the model's arena. */
struct rewrite_site {
    const struct rewrite_row *row;
    const char *key; /* stable for the same edit of the same source */
    const char *title, *what, *why;
    struct nki_node *place;   /* the statement it is about */
    const char *metric;       /* NULL: the row's */
    double size;              /* relative change of the metric, positive */
    double gain;              /* expected share of the latency that goes away, 0..1 */
    struct nki_node *node[4]; /* for apply */
    const struct rewrite_loop *loop;
    int64_t number[4];
};

/* Fills the model's sites with everything the menu can do, best first. */
void rewrite_find_all(struct rewrite_model *model);
/* The site with this key; NULL when the kernel has none. Afterwards the model's sites are those of
 * that row. */
const struct rewrite_site *rewrite_site_find(struct rewrite_model *model, struct str key);

#endif
