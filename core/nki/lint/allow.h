/* SPDX-License-Identifier: Apache-2.0 */
/* What a proposed kernel may name, import and reach: the tables of allow.def, and how to look
 * things up in them. */
#ifndef HONE_NKI_ALLOW_H
#define HONE_NKI_ALLOW_H

#include "nki/lint/lint.h"

/* How a name may be used; see allow.def. */
enum allow_use {
    ALLOW_NOT,
    ALLOW_ANY,
    ALLOW_CALLED,
    ALLOW_TYPE,
    ALLOW_ASKED,
    ALLOW_CLASS,
    ALLOW_ENUM,
    ALLOW_DECORATOR,
    ALLOW_NAMED,
    ALLOW_JIT,
};
enum allow_table {
    ALLOW_BUILTIN,
    ALLOW_OTHER_BUILTIN, /* names that Python has and a candidate may not use freely */
    ALLOW_CONVENTION,    /* short names of modules, where nothing in the file binds them */
    ALLOW_ATTRIBUTE,
    ALLOW_NOT_OWN,
    ALLOW_DUNDER_READ,
    ALLOW_DUNDER_DEFINE,
    ALLOW_JIT_KEYWORD,
    ALLOW_TABLES,
};
struct allow {
    struct map members; /* from "module.name" to its use */
    struct map modules;
    struct map words[ALLOW_TABLES];
};

/* Fills the tables for a release of NKI, such as "0.3.0"; NULL: with those of every release. Free
 * with allow_free. */
void allow_init(struct allow *allow, const char *release);
void allow_free(struct allow *allow);

/* Appends to *out the name that a module has in the tables: neuronxcc.nki.isa is nki.isa. */
void allow_module_name(struct str module, struct buf *out);
bool allow_is_module(const struct allow *allow, struct str module);
/* The use of `name` of a module. The module has its name in the tables. ALLOW_NOT: it may not be
 * used. */
enum allow_use allow_member(const struct allow *allow, struct str module, struct str name);
enum allow_use allow_word(const struct allow *allow, enum allow_table table, struct str word);
/* What a short name stands for where nothing binds it: "nl" is nki.language. NULL: it stands for
 * nothing. */
const char *allow_convention(const struct allow *allow, struct str name);

#endif
