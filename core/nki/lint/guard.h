/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the guard share: what a candidate's names stand for, and what was found.
 * Private to guard*.c; its entry is nki_lint_candidate. */
#ifndef HONE_NKI_GUARD_H
#define HONE_NKI_GUARD_H

#include "nki/lint/allow.h"
#include "nki/lint/rules.h"

#define GUARD_MAX_HELPERS 64
#define GUARD_MAX_DEPTH 8 /* depth of helpers that import helpers */

struct guard_helper;

/* What an import binds a name to. */
enum guard_kind {
    GUARD_REFUSED,
    GUARD_MODULE,        /* a module of allow.def */
    GUARD_MEMBER,        /* a member of a module of allow.def */
    GUARD_HELPER,        /* a file of the task */
    GUARD_HELPER_MEMBER, /* what such a file defines */
};
struct guard_target {
    enum guard_kind kind;
    enum allow_use use; /* of a member */
    const char *name;   /* as it is imported: "neuronxcc.nki.language" */
    const struct guard_helper *helper;
    struct guard_target *next; /* the next thing that the same name is imported as */
    uint32_t id;               /* of the node of a star */
};

struct guard_finding {
    const struct nki_node *node;
    enum lint_rule rule;
    struct str name;
    const char *near; /* ? the name that is meant instead; of LINT_C_UNKNOWN */
    bool excused;     /* the original has it unchanged */
};

/* Files of the task, each read once. */
struct guard_files {
    const char *kernel, *reference; /* paths that are not helpers, or NULL */
    VEC(struct guard_helper *) all;
};

struct guard {
    const struct nki_tree *tree;
    const struct nki_tree *original; /* or NULL */
    const char *release;
    enum nki_dialect dialect;
    enum nki_generation generation;
    struct arena *arena; /* holds names that are put together */
    struct allow allow;
    struct map imports;             /* name -> struct guard_target */
    struct map bound;               /* what is bound by anything but an import */
    struct map own;                 /* attributes of the file's classes */
    struct map locals;              /* "function name" -> whether the function binds the name */
    struct map typed;               /* names that annotations use */
    struct map decorations;         /* keywords of the original's decorators, as text */
    struct map free;                /* names that the original reads and never binds */
    VEC(struct guard_target) stars; /* from x import * */
    VEC(struct guard_finding) found;
    struct guard_files *files; /* NULL: no helpers */
    const char *path;          /* of this file; helpers are beside it */
    int depth;
    bool in_text; /* the tree is that of a type that was written as text */
};

struct guard_helper {
    char *path;
    struct nki_tree *tree; /* NULL: the file cannot be read or parsed */
    struct guard guard;
    struct map exports; /* what it defines within the list, without its imports */
};

void guard_add(struct guard *guard, enum lint_rule rule, const struct nki_node *node,
               struct str name);
/* Adds a name that a module does not have, or that nothing binds (no module): with the nearest one
 * that there is, if there is one and no other rule says more. */
void guard_add_unknown(struct guard *guard, enum lint_rule otherwise, const struct nki_node *node,
                       struct str module, struct str name);
/* The rule that best says what is wrong with a name that is not on the list. */
enum lint_rule guard_rule_of(struct str name, enum lint_rule otherwise);

void guard_bindings(struct guard *guard); /* guard_bind.c: imports, bound, own, typed */
/* "__x__", and "_x_" as enum has them: names that Python itself looks for. */
bool guard_is_dunder(struct str name);
bool guard_in_class(const struct nki_node *node); /* directly in the body of a class */
/* Whether `base` is the `self` of self.x = ..., which is the first parameter of a method. */
bool guard_is_self(const struct nki_node *base);
/* Whether a name that is read is the file's own, even if a star before it binds the same name. */
bool guard_is_own(struct guard *guard, const struct nki_node *name);
/* Whether a name that is read can only mean a variable of an enclosing function. */
bool guard_is_local(struct guard *guard, const struct nki_node *name);

void guard_names(struct guard *guard); /* guard_names.c: what is read and reached */

/* The attribute that is taken from the node; the call of the node. NULL: there is none. */
const struct nki_node *guard_attribute_of(const struct nki_node *node);
const struct nki_node *guard_call_of(const struct nki_node *node);
bool guard_is_plain_call(const struct nki_node *call); /* with all arguments written out: no *x,
                                                        * **x */
/* Whether the node is an argument of one of these functions of Python. `names` ends with NULL. */
bool guard_is_called_by(const struct guard *guard, const struct nki_node *argument,
                        const char *const *names);

bool guard_is_type_place(const struct nki_node *node); /* guard_types.c: in an annotation */
/* Whether a class that makes classes, or one that may only be asked for, stays where its use
 * allows. */
bool guard_type_fits(struct guard *guard, const struct nki_node *node, enum allow_use use);
/* Whether the node decorates a class of the file, with no decorator of the file in between. */
bool guard_decorates_own(const struct guard *guard, const struct nki_node *node);
/* The import that a name stands for, when nothing else binds the name; otherwise NULL. */
const struct guard_target *guard_import_of(const struct guard *guard, const struct nki_node *node);

void guard_forms(struct guard *guard); /* guard_forms.c: definitions, text, annotations */
/* guard_kept.c: excuses what is unchanged from the original. Adds to *tainted the names that only
 * such statements may use. */
void guard_excuse(struct guard *guard, struct map *tainted);

/* The file of the module `dotted`, `level` dots up. NULL: there is none that a candidate may
 * import. */
const struct guard_helper *guard_helper_find(struct guard *guard, struct str dotted,
                                             uint32_t level);
void guard_files_free(struct guard_files *files);

/* Runs the whole guard. Free it with guard_free. */
void guard_run(struct guard *guard);
void guard_free(struct guard *guard);

#endif
