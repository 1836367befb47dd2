/* SPDX-License-Identifier: Apache-2.0 */
/* What tests look through, for nobody else outside this room. */
#ifndef HONE_TUNE_STATE_TESTING_H
#define HONE_TUNE_STATE_TESTING_H

#include "tune/sums/memory.h"

/* Whether both are about the same: the same words, the same sign, the same applicability. */
bool tune_memory_same(const struct tune_experience *a, const struct tune_experience *b);

#endif
