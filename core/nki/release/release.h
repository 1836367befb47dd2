/* SPDX-License-Identifier: Apache-2.0 */
/* What came with the releases of the SDK and of NKI: releases.def, row by row, and the rules of the
 * language that hold in one of them. Fields that may be NULL are marked "?". */
#ifndef HONE_NKI_RELEASE_H
#define HONE_NKI_RELEASE_H

#include "base/base.h"
#include "nki/syntax/syntax.h"

/* Rules that hold in some releases and not in others: X(ID, what the compiler does). releases.def
 * says from which release on (RULE) and until before which one (ENDS). The legacy dialect has none
 * of them. */
#define NKI_RULE_TABLE(X)                                                                    \
    X(SUBSET, "reads a subset of Python itself, instead of running the kernel")              \
    X(SIGNATURE, "refuses a '*' in a kernel's signature")                                    \
    X(IDENTITY, "refuses 'is' and 'is not', except with None")                               \
    X(LIST_ARGUMENTS, "refuses lists as a kernel's arguments")                               \
    X(SHARED_OUTPUTS, "refuses returned tensors that are not in nl.shared_hbm")              \
    X(ENUMS, "refuses numbers and strings in place of members of its enums and of buffers")  \
    X(DMA_WITHOUT_PSUM, "refuses dma_copy from PSUM")                                        \
    X(MEMSET_CLASS, "refuses memset with a fraction in tiles of integers")                   \
    X(REAL_AXES, "takes the axes of tensor_reduce as they are; before, 1 was the last one")  \
    X(LEGACY_IMPORT, "refuses names of neuronxcc in kernels")                                \
    X(TRANSPOSE_DTYPE, "refuses nc_transpose to a tile of another dtype")                    \
    X(TRANSPOSE_RANK, "refuses dma_transpose to a tile with another number of dimensions")   \
    X(RESHAPE_COUNT, "refuses reshape to another number of elements")                        \
    X(RSQRT_ON_CHIP, "computes nl.rsqrt on GpSimd, which does not read PSUM")                \
    X(PARTITIONS, "refuses operands over more than 128 partitions")                          \
    X(LOOP_FUNCTIONS, "accepts inner functions as bodies of nl.fori_loop and nl.while_loop") \
    X(LOOPS_BY_FUNCTION, "refuses 'for' over nl.dynamic_range and 'while' on a register")    \
    X(LNC_CHECK, "refuses a kernel whose number of cores is not the compiler's")             \
    X(VIEWS, "has views of tensors by method: .slice, .select, .permute and so on")

enum nki_rule {
#define X(id, what) NKI_RULE_##id, /* `what` is for readers */
    NKI_RULE_TABLE(X)
#undef X
        NKI_RULE_COUNT
};

/* The rules that hold in a release, as bits; NULL: in the newest one. */
uint64_t nki_rules_of(const char *release);
static inline bool nki_rule_holds(uint64_t rules, enum nki_rule rule) {
    return rules >> rule & 1;
}

/* The release of a package nki, as "0.6", by its own number (0.6, 0.6.0+3104) or the SDK's (2.32);
 * NULL: no such release is known, or it had no package nki. The text is static. */
const char *nki_release_find(const char *text);
const char *nki_release_newest(void); /* "0.7" */
const char *nki_release_oldest(void); /* "0.1", the first of the package nki */
/* Compares releases by the numbers between their dots: negative when a is older than b, 0 when they
 * are the same. */
int nki_release_compare(const char *a, const char *b);
/* Whether kernels of that dialect and release may write "nl.load", by releases.def. A release that
 * is not known (NULL) is the newest one; the legacy dialect has what was there before NKI 0.1. */
bool nki_release_has(enum nki_dialect dialect, const char *release, struct str name);

/* ---- the table itself ----------------------------------------------------------------------- */

enum release_change {
    RELEASE_IS, /* a release begins */
    RELEASE_NEW,
    RELEASE_GONE,
    RELEASE_GONE_HOST,
    RELEASE_OLD,
    RELEASE_KEYWORD,
    RELEASE_RULE,
    RELEASE_ENDS,
    RELEASE_CHANGES,
};

/* A row; fields that it does not have are NULL. `name` is a list for RELEASE_NEW and a function for
 * RELEASE_KEYWORD. */
struct release_row {
    enum release_change change;
    enum nki_rule rule;                               /* of RELEASE_RULE and RELEASE_ENDS */
    const char *sdk, *nki, *compiler, *route, *seams; /* of RELEASE_IS */
    const char *name, *keyword, *instead;
};

/* The row after `row`, or the first after NULL; NULL past the last. *since is the version of nki
 * whose block has the row, NULL before there was one. Pass the same *since from row to row. */
const struct release_row *release_next(const struct release_row *row, const char **since);
/* Whether a list of names, separated by blanks, has one. */
bool release_names(const char *names, struct str name);
/* The version of nki with which a name came; NULL: it was always there. */
const char *release_of_name(struct str name);

#endif
