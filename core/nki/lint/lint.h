/* SPDX-License-Identifier: Apache-2.0 */
/* What can be said of a kernel without running it: lints, what a candidate may use, and what the
 * codes of diagnostics mean. */
#ifndef HONE_NKI_LINT_H
#define HONE_NKI_LINT_H

#include "nki/program/program.h"
#include "nki/syntax/syntax.h"

/* ---- lints --------------------------------------------------------------------------------- */

struct nki_lint_options {
    bool strict;                   /* what the NKI compiler's Python subset refuses; looked at
                                    * in kernels of the current dialect only */
    enum nki_dialect dialect;      /* NKI_DIALECT_UNKNOWN: detect */
    const struct nki_node *kernel; /* ? strict: only this function and what it calls by name */
    const char *release;           /* ? NKI on the target, "0.3.0"; NULL: what hone itself takes,
                                    * every name of any release and the rules of the newest */
};
/* Releases by the numbers between their dots: negative when a is older than b, 0 for the same. */
int nki_release_compare(const char *a, const char *b);
/* Rules that need the source alone; nothing for a tree with syntax errors. Adds findings with
 * codes "hone-..." in order of place. */
void nki_lint(const struct nki_tree *tree, const struct nki_lint_options *options,
              struct diag_list *diags);

/* A rewrite of a kernel that somebody else proposed. */
struct nki_candidate_options {
    const struct nki_tree *original; /* ? the kernel it comes from */
    bool allows_original;  /* what the original uses beyond the list, the candidate may, too */
    bool looks_for_types;  /* also narrower types by name, where a program cannot tell */
    const char *release;   /* ? as in nki_lint_options */
    const char *path;      /* ? of the kernel: files beside it may be imported, but not */
    const char *reference; /* ? this one */
};
/* What a candidate may not do, on top of nki_lint's errors: use anything but what
 * core/nki/lint/allow.def lists and what the file defines itself, keep state, go another way for
 * one shape or by contents. What the original does likewise is not reported; beyond the list that
 * means: what stands at the top of the file unchanged (all uses of the same names with
 * allows_original). Reads the helper files that are imported, else nothing; nothing for a tree with
 * syntax errors. */
void nki_lint_candidate(const struct nki_tree *tree, const struct nki_candidate_options *options,
                        struct diag_list *diags);
/* What a kernel uses beyond the list, whoever wrote it: what a person is shown of the one that all
 * begins with. `original` is not looked at. */
void nki_lint_beyond(const struct nki_tree *tree, const struct nki_candidate_options *options,
                     struct diag_list *diags);

/* One row of the lint table, for `hone explain`. */
struct nki_lint_rule {
    const char *code; /* "hone-unreachable" */
    enum diag_severity severity;
    bool strict_only;
    const char *message; /* "{}" in it stands for the name involved */
    const char *help;    /* why, and what to write instead */
};
const struct nki_lint_rule *nki_lint_rules(size_t *count);

#endif
