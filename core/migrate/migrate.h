/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel for one release of NKI, made into one for another. What can be done by rule is done as
 * edits of the source, which keep its comments and layout. What cannot be decided is marked with a
 * comment that holds the question. migrate.def says what is done for which release. */
#ifndef HONE_MIGRATE_H
#define HONE_MIGRATE_H

#include "base/base.h"
#include "nki/nki.h"

#define MIGRATE_LEGACY "legacy" /* as a release: the package neuronxcc.nki */

struct migrate_options {
    const char *from, *to; /* releases of nki, "0.3", or MIGRATE_LEGACY; from NULL: as the source
                            * shows */
    const char *function;  /* the kernel; NULL: that of the file */
    enum nki_generation generation;
    const struct nki_input *inputs; /* its arguments; shapes are enough. Without them less is known
                                     * of tiles, and more is asked */
    size_t n_inputs;
    size_t max_steps; /* of evaluating it; 0: the default */
};
/* What was done, or has to be decided. */
struct migrate_step {
    int line;          /* of the old source, from 1 */
    const char *since; /* the release that asks for it: "0.3" */
    char *text;
    bool asks;
};
struct migration {
    char *source;                   /* the new source, ends with a zero byte */
    char from[8];                   /* the release it was taken to be for */
    VEC(struct migrate_step) steps; /* by line */
    size_t questions;
};
/* Migrates. False with *err (usage) for a release that is not known, one to which there is no way,
 * or a source of which it does not show for which release it is where that matters; (kernel) where
 * the source does not parse. The caller frees with migration_free. */
bool migrate_kernel(const char *path, struct str source, const struct migrate_options *options,
                    struct migration *out, struct err *err) CC_MUST_USE;
void migration_free(struct migration *migration);

#endif
