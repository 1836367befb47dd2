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
    const char *on;       /* generations, "trn2 trn3" */
    const char *dialect;  /* "current" or "legacy" */
    const char *since;    /* first NKI release it works with, "0.4" */
    const char *when;     /* what else has to hold: see tune_menu_applies */
    const char *measured; /* under which conditions that was found out */
    bool avoid;           /* measured to do harm: told as such, and never dropped */
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
    const struct tune_attempt *tried; /* attempts of the session, whose plans name strategies */
    size_t n_tried;
};

/* Of a session's kernel; texts belong to the arena and to the state. */
struct tune_menu_facts tune_menu_facts_of(const struct tune_state *state, int parent,
                                          struct arena *arena);

/* Which draw of the menu: the same values give the same entries on every machine. */
struct tune_menu_draw {
    const char *session;
    int round, parent, plan; /* plan: counts the questions of the round */
    double keep;             /* the share of the entries that apply; 1: all */
};
/* What goes into the prompt, as indices in order[entries.len]. First the entries that apply and are
 * worth most, as many as the share says, at least one: by how many of their conditions the profile
 * confirms, what the bound takes, and what became of plans that used them. One in four is drawn
 * from the others instead, so that nothing is never shown; among equals the draw decides, too.
 * Returns how many; *avoid: how many of what is to be avoided follow. */
size_t tune_menu_choose(const struct tune_menu *menu, const struct tune_menu_facts *facts,
                        const struct tune_menu_draw *draw, size_t *order, size_t *avoid);

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
