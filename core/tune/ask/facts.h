/* SPDX-License-Identifier: Apache-2.0 */
/* Facts for prompts. Private to tune. */
#ifndef HONE_TUNE_FACTS_H
#define HONE_TUNE_FACTS_H

#include "base/base.h"

/* The limits of a generation, as lines; nothing for one nobody knows. */
void tune_facts_limits(const char *device, struct buf *out);
/* Signatures of the instructions that `source` uses, and of the commonest ones, in its dialect. */
void tune_facts_api(const char *source, struct buf *out);

#endif
