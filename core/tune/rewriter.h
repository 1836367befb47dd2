/* SPDX-License-Identifier: Apache-2.0 */
/* The embedded rewriter as a proposer: no network, no key, plans and candidates from a menu of real
 * source-to-source transformations (rewrite.h). */
#ifndef HONE_TUNE_REWRITER_H
#define HONE_TUNE_REWRITER_H

#include "base/base.h"

struct loop;
struct tune_proposer;

/* A new rewriter that works on the loop's worker threads. Free it by its own free function. Shapes
 * of the kernel's arguments come from the cache of the context's reference; without them the
 * rewriter only does what needs no shapes. */
struct tune_proposer *tune_rewriter_new(struct loop *loop) CC_MUST_USE;

#endif
