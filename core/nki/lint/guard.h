/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the guard share: what a candidate's names stand for, and what was found.
 * Private to guard*.c; the entry is nki_lint_candidate. */
#ifndef HONE_NKI_GUARD_H
#define HONE_NKI_GUARD_H

#include "nki/lint/allow.h"
#include "nki/lint/rules.h"

#define GUARD_MAX_HELPERS 64
#define GUARD_MAX_DEPTH 8 /* helpers that import helpers */

struct guard_helper;

/* What an import binds a name to. */
enum guard_kind {
    GUARD_REFUSED,
    GUARD_MODULE,        /* of allow.def */
    GUARD_MEMBER,        /* of a module of allow.def */
    GUARD_HELPER,        /* a file of the task */
    GUARD_HELPER_MEMBER, /* what such a file defines itself */
};
struct guard_target {
    enum guard_kind kind;
    enum allow_use use; /* of a member */
    const char *name;   /* as it is imported: "neuronxcc.nki.language" */
    const struct guard_helper *helper;
    struct guard_target *next; /* the same name, imported as something else */
    uint32_t id;               /* of a star's node */
};

struct guard_finding {
    const struct nki_node *node;
    enum lint_rule rule;
    struct str name;
    bool excused; /* the original stands there unchanged */
};

/* Files of the task, each looked at once. */
struct guard_files {
    const char *kernel, *reference; /* ? paths that are not helpers */
    VEC(struct guard_helper *) all;
};

struct guard {
    const struct nki_tree *tree;
    const struct nki_tree *original; /* ? */
    const char *release;
    struct arena *arena; /* names that are put together; lives as long as it */
    struct allow allow;
    struct map imports;             /* name -> struct guard_target */
    struct map bound;               /* what anything but an import binds */
    struct map own;                 /* attributes that classes of the file have */
    struct map locals;              /* "function name" -> whether that function binds it */
    struct map typed;               /* names that annotations use */
    struct map decorations;         /* keywords of the original's decorators, as text */
    struct map free;                /* names that the original reads and does not bind */
    VEC(struct guard_target) stars; /* from x import * */
    VEC(struct guard_finding) found;
    struct guard_files *files; /* ? without: no helpers */
    const char *path;          /* of the file at hand, for what is beside it */
    int depth;
    bool in_text; /* the tree at hand is a type that was written as text */
};

struct guard_helper {
    char *path;
    struct nki_tree *tree; /* NULL: it cannot be read or parsed */
    struct guard guard;
    struct map exports; /* what it defines within the list, imports left out */
};

void guard_add(struct guard *guard, enum lint_rule rule, const struct nki_node *node,
               struct str name);
/* The rule that says best what is wrong with a name that is not on the list. */
enum lint_rule guard_rule_of(struct str name, enum lint_rule otherwise);

void guard_bindings(struct guard *guard); /* guard_bind.c: imports, bound, own, typed */
/* "__x__", and "_x_" as enum has them: names that Python looks for by itself. */
bool guard_is_dunder(struct str name);
bool guard_in_class(const struct nki_node *node); /* straight in the body of a class */
/* self.x = ... in a method: its first parameter. */
bool guard_is_self(const struct nki_node *base);
/* Whether the name that is read there is the file's own, whatever a star before it brings. */
bool guard_is_own(struct guard *guard, const struct nki_node *name);
/* Whether a name that is read there can only mean a variable of a function around it. */
bool guard_is_local(struct guard *guard, const struct nki_node *name);

void guard_names(struct guard *guard); /* guard_names.c: what is read and reached */

/* The attribute that is taken from the node, the call of it; NULL. */
const struct nki_node *guard_attribute_of(const struct nki_node *node);
const struct nki_node *guard_call_of(const struct nki_node *node);
bool guard_is_plain_call(const struct nki_node *call); /* all arguments stand there: no *x, **x */
/* Whether it is an argument of one of Python's own functions; `names` ends with NULL. */
bool guard_is_called_by(const struct guard *guard, const struct nki_node *argument,
                        const char *const *names);

bool guard_is_type_place(const struct nki_node *node); /* guard_types.c: in an annotation */
/* Whether a class that makes classes, or one that is only asked for, stays where the use is. */
bool guard_type_fits(struct guard *guard, const struct nki_node *node, enum allow_use use);
/* Whether it decorates a class of the file, with nothing of the file's own in between. */
bool guard_decorates_own(const struct guard *guard, const struct nki_node *node);
/* The import that a name stands for, when nothing else binds it; NULL. */
const struct guard_target *guard_import_of(const struct guard *guard, const struct nki_node *node);

void guard_forms(struct guard *guard); /* guard_forms.c: definitions, text, annotations */
/* Excuses what stands as in the original; guard_kept.c. Adds to *tainted the names that only such
 * statements may use. */
void guard_excuse(struct guard *guard, struct map *tainted);

/* The file that `dotted`, `level` dots up, means; NULL: none that a candidate may import. */
const struct guard_helper *guard_helper_find(struct guard *guard, struct str dotted,
                                             uint32_t level);
void guard_files_free(struct guard_files *files);

/* All of it; free with guard_free. */
void guard_run(struct guard *guard);
void guard_free(struct guard *guard);

#endif
