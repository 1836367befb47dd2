/* SPDX-License-Identifier: Apache-2.0 */
/* A migration on its way: the tree, what is known of its expressions, the edits so far. */
#ifndef HONE_MIGRATE_PRIVATE_H
#define HONE_MIGRATE_PRIVATE_H

#include "migrate/migrate.h"

/* What is known of an expression: what it stood for when the kernel was evaluated, or what its
 * definition says. */
struct migrate_fact {
    struct nki_seen seen;
    uint64_t times;
    bool varies; /* it was another kind of thing, or another shape, at times */
    bool moves;  /* only `whole` was another at times */
};

struct migrate {
    const struct migrate_options *options;
    const char *path, *from, *to;
    struct nki_tree *tree;
    const struct nki_node *kernel; /* NULL: the file has none */
    struct nki_edits edits;
    struct map aliases; /* what imports call a module or a name of one: its dotted name (tree) */
    struct map outer;   /* those of imports outside of functions, which hold in all of the file */
    struct migrate_fact *facts; /* by node id */
    struct migration *out;
    const struct migrate_rule *rule;     /* that is applied */
    struct map indices;                  /* names that stood for nl.arange and what is made of it */
    int made;                            /* names of functions that were made up */
    const struct nki_node *asked;        /* the last statement that was asked about a row .. */
    const struct release_row *asked_row; /* .. of releases.def */
    int round;                           /* from 0 */
    bool again;                          /* an edit was left for the next round */
};

/* A row of migrate.def. */
struct migrate_rule {
    const char *since, *until;
    const char *function, *old, *now;
    enum { MIGRATE_NAME, MIGRATE_KEYWORD, MIGRATE_STEP, MIGRATE_ASK } kind;
    void (*step)(struct migrate *m, const struct nki_node *node);
};

/* ---- names.c --------------------------------------------------------------------------------- */

void migrate_read_imports(struct migrate *m);
/* Writes the name of an expression as the tables write it: "nl.load", "nki.jit". */
bool migrate_name(const struct migrate *m, const struct nki_node *node, struct buf *out);
bool migrate_is(const struct migrate *m, const struct nki_node *node, const char *name);
/* Whether it is a call of that function. */
bool migrate_calls(const struct migrate *m, const struct nki_node *node, const char *name);
/* Writes a name of the tables as the file's imports have it. */
void migrate_spell(const struct migrate *m, const char *name, struct buf *out);
/* Whether anything in the file binds that name. */
bool migrate_binds(const struct migrate *m, struct str name);

/* ---- facts.c --------------------------------------------------------------------------------- */

/* Evaluates the kernel as far as it goes, and keeps what its expressions stood for. */
void migrate_watch(struct migrate *m, const char *release);
/* What is known of a tile, from the evaluation or from its nl.ndarray(); NULL: it is not known to
 * be one, or not always of the same kind. */
const struct nki_seen *migrate_tile(struct migrate *m, const struct nki_node *node);
/* The only expression that its function, or what is around it, ever assigns a name; NULL: there are
 * several, or none. */
const struct nki_node *migrate_value_of(const struct migrate *m, const struct nki_node *name);
bool migrate_is_parameter(const struct nki_node *function, struct str name);
bool migrate_is_register(const struct migrate *m, const struct nki_node *node);

/* ---- edits.c --------------------------------------------------------------------------------- */

/* Positional argument `index` of a call, or the keyword; NULL: it is not given. A starred argument
 * hides those behind it. */
const struct nki_node *migrate_arg(const struct nki_node *call, uint32_t index, const char *name);
const struct nki_node *migrate_keyword(const struct nki_node *call, const char *name);
/* Takes an argument out, with its comma. */
void migrate_drop(struct migrate *m, const struct nki_node *arg);
/* Puts "name=" before positional argument `index`, and the names that follow in `names` (ends with
 * NULL) before those behind it. False where that cannot be told; then it is asked about. */
bool migrate_name_args(struct migrate *m, const struct nki_node *call, uint32_t index,
                       const char *const *names);
/* Takes back the edits behind the first `count`. */
void migrate_forget(struct migrate *m, size_t count);
void migrate_replace(struct migrate *m, const struct nki_node *node, struct str text);
/* Appends what was done to the list. */
void migrate_did(struct migrate *m, const struct nki_node *node, const char *format, ...)
    CC_PRINTF(3, 4);
/* Asks: a comment before the statement, and a line of the list. */
void migrate_ask(struct migrate *m, const struct nki_node *node, const char *question);
/* Whether a question stands before a statement. */
bool migrate_is_asked(const struct migrate *m, const struct nki_node *stmt);
/* A name that the file does not have yet: "stem_1". Valid while the tree is. */
const char *migrate_new_name(struct migrate *m, const char *stem);

/* ---- steps: one function for each row, called for each node ------------------------------------
 */

#define NAME(...)
#define KEYWORD(...)
#define UNTIL(release)
#define STEP(since, step, old, now) \
    void migrate_step_##step(struct migrate *m, const struct nki_node *node);
#define ASK(since, step, old, question) \
    void migrate_ask_##step(struct migrate *m, const struct nki_node *node);
#include "migrate/migrate.def"
#undef NAME
#undef KEYWORD
#undef UNTIL
#undef STEP
#undef ASK

/* ---- older_grid.c ---------------------------------------------------------------------------- */

/* Launches over a grid become loops in the kernel, in the older dialect yet. */
void older_unroll_grids(struct migrate *m);

/* ---- older.c --------------------------------------------------------------------------------- */

/* A kernel of neuronxcc.nki said in the package nki, as edits; the table does the rest. It needs
 * what the evaluation showed. */
void older_migrate(struct migrate *m);
/* Then, in the new tree: takes out index expressions that nothing uses any more. */
void older_sweep(struct migrate *m);

#endif
