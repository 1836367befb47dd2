/* SPDX-License-Identifier: Apache-2.0 */
/* Named integers of a kernel file that can be given another value by changing one place of the
 * source. */
#ifndef HONE_REWRITE_FACTS_CONSTANTS_H
#define HONE_REWRITE_FACTS_CONSTANTS_H

#include "nki/nki.h"

#define REWRITE_CONSTANT_MOST ((int64_t)1 << 30)

/* An integer that is bound once: at module level, in the block of the kernel or of a function that
 * the kernel reaches, or as a default of such a function. Texts belong to the list. */
struct rewrite_constant {
    const char *name; /* "TILE_N"; "helper.width" where another one has the name */
    const char *text; /* its value as written, "nl.tile_size.pmax" */
    int64_t value;    /* what that is now, from 0 */
    int line;
    int uses;             /* how often it is read on the kernel's way; at least once */
    struct nki_span span; /* of the value */
    /* to find it again */
    struct str id;
    const struct nki_node *owner; /* the function; NULL: the module */
    const struct nki_node *bound_to;
};
struct rewrite_constants {
    struct nki_tree *tree;
    struct arena *arena;
    VEC(struct rewrite_constant) all;       /* in source order */
    VEC(const struct nki_node *) functions; /* that the kernel reaches; itself first */
    int tried;                              /* names that were looked into */
};
/* The constants of a source; an empty list where it does not parse. `function` names the kernel;
 * NULL means the only one there is, and where that is not clear, every function counts. Free with
 * rewrite_constants_free. */
struct rewrite_constants *rewrite_constants_find(struct str source,
                                                 const char *function) CC_MUST_USE;
/* The same, with the defaults of those parameters of the kernel that a call with these inputs
 * leaves as they are. Without inputs it is not known which. */
struct rewrite_constants *rewrite_constants_called(struct str source, const char *function,
                                                   const struct nki_input *inputs,
                                                   size_t n) CC_MUST_USE;
void rewrite_constants_free(struct rewrite_constants *constants); /* accepts NULL */
/* By name, with or without its function. NULL with *err (usage) for none and for several. */
const struct rewrite_constant *rewrite_constants_named(const struct rewrite_constants *constants,
                                                       struct str name, struct err *err);

/* Values worth trying in place of this one, ascending: its value times powers of two. */
#define REWRITE_CONSTANT_VALUES 6
size_t rewrite_constant_values(const struct rewrite_constant *constant,
                               int64_t values[REWRITE_CONSTANT_VALUES]);

/* Gives a constant another value; nothing else of the source changes. */
void rewrite_constant_set(const struct rewrite_constant *constant, int64_t value,
                          struct nki_edits *edits);

#endif
