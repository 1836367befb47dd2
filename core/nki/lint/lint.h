/* SPDX-License-Identifier: Apache-2.0 */
/* What can be said of a kernel without running it: lints, what a candidate may use, and what the
 * codes of diagnostics mean. Fields that may be NULL are marked "?". */
#ifndef HONE_NKI_LINT_H
#define HONE_NKI_LINT_H

#include "nki/program/program.h"
#include "nki/syntax/syntax.h"

/* ---- lints --------------------------------------------------------------------------------- */

struct nki_lint_options {
    bool strict;                   /* finds what compilers that read a subset of Python refuse, also
                                    * when the release's runs kernels; in kernels of the current
                                    * dialect only */
    enum nki_dialect dialect;      /* NKI_DIALECT_UNKNOWN: detect */
    const struct nki_node *kernel; /* ? the compiler reads this function and what it calls by
                                    * name; NULL: all kernels of the file */
    const char *release;           /* ? of the package nki, "0.3.0"; NULL: the newest */
    enum nki_generation generation; /* 0: any */
};
/* Runs the rules that need only the source, and adds findings with codes "hone-..." in the order of
 * their places. Finds nothing in a tree with syntax errors. */
void nki_lint(const struct nki_tree *tree, const struct nki_lint_options *options,
              struct diag_list *diags);

/* A kernel that was proposed in place of another. */
struct nki_candidate_options {
    const struct nki_tree *original; /* ? the kernel it comes from */
    bool allows_original; /* the candidate may use what the original uses beyond the list */
    bool any_dialect;     /* the candidate may be in another dialect than the original */
    bool looks_for_types; /* finds narrower types by name too, for when no program can tell */
    const char *release;  /* ? as in nki_lint_options */
    enum nki_generation generation; /* as there */
    const char *path;               /* ? of the kernel: files beside it may be imported, except */
    const char *reference;          /* ? .. this one */
};
/* Finds what a candidate may not do, on top of nki_lint's errors: use anything that
 * core/nki/lint/allow.def does not list and the file does not define, keep state, or go another way
 * for one shape or for some contents. What the original does too is not reported. For names beyond
 * the list this means what stands unchanged at the top of the file; with allows_original it means
 * every use of the same names. Reads the helper files that are imported, and no others. Finds
 * nothing in a tree with syntax errors. */
void nki_lint_candidate(const struct nki_tree *tree, const struct nki_candidate_options *options,
                        struct diag_list *diags);
/* Finds what a kernel uses beyond the list, whoever wrote it. A person is shown this of the kernel
 * that a session starts from. `original` is ignored. */
void nki_lint_beyond(const struct nki_tree *tree, const struct nki_candidate_options *options,
                     struct diag_list *diags);

/* One row of the lint table, for `hone explain`. */
struct nki_lint_rule {
    const char *code; /* "hone-unreachable" */
    enum diag_severity severity;
    bool strict_only;
    const char *message; /* "{}" in it stands for the name in question */
    const char *help;    /* why, and what to write instead */
};
const struct nki_lint_rule *nki_lint_rules(size_t *count);

#endif
