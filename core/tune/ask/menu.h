/* SPDX-License-Identifier: Apache-2.0 */
/* The menu of strategies: what a planner may think of, a part of it at a time. Entries are read
 * from prompts/menu.md, built in or from the configuration folder. Private to tune. */
#ifndef HONE_TUNE_MENU_H
#define HONE_TUNE_MENU_H

#include "tune/state/state.h"

#define TUNE_STRATEGY_MAX 40 /* characters of a name */

/* One entry. Empty lists hold for all. */
struct tune_strategy {
    const char *name; /* "resident": small letters, digits and _ */
    const char *text;
    const char *on;      /* generations, "trn2 trn3" */
    const char *dialect; /* "current" or "legacy" */
    const char *since;   /* first NKI release it works with, "0.4" */
    const char *when;    /* what else has to hold: see tune_menu_applies */
    bool avoid;          /* measured to do harm: told as such, and never dropped */
};
struct tune_menu {
    VEC(struct tune_strategy) entries;
    struct arena *arena;
};
/* The configuration folder's menu if it can be read, else the one built in. */
struct tune_menu *tune_menu_load(void) CC_MUST_USE;
void tune_menu_free(struct tune_menu *menu); /* accepts NULL */

/* What is known of a kernel. What is NULL or NAN is not known, and rules nothing out. */
struct tune_menu_facts {
    const char *device, *dialect, *release; /* "trn2", "current", "0.6.0" */
    const char *families;                   /* of operations, with blanks between */
    const char *source, *bound_by;          /* bound_by: "DMA", or "DMA Vector" */
    bool any_precision;
    double spilled_bytes;
};

/* Which draw of the menu: the same values give the same entries on every machine. */
struct tune_menu_draw {
    const char *session;
    int round, parent, plan; /* plan: counts the questions of the round */
    double keep;             /* the probability of each entry; 1: all */
};
/* Marks in shown[entries.len] what goes into the prompt: each entry that applies with the
 * probability, at least one of them, and all that are to be avoided. Whether an entry is shown does
 * not depend on the others. */
void tune_menu_choose(const struct tune_menu *menu, const struct tune_menu_facts *facts,
                      const struct tune_menu_draw *draw, bool *shown);

/* The part of the menu that a planner's question about that attempt shows: what to try, and what to
 * leave alone. `call`: the question's number where it was put already (held, or to be mended), else
 * -1. */
void tune_menu_show(const struct tune_state *state, int parent, int call, struct buf *out,
                    struct buf *avoid);

/* The same name in its simplest form; where an entry of the menu stands at its front, that entry's:
 * "resident operand" is "resident". */
void tune_strategy_match(const struct tune_menu *menu, struct str text,
                         char name[TUNE_STRATEGY_MAX + 1]);

#endif
