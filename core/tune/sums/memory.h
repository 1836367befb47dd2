/* SPDX-License-Identifier: Apache-2.0 */
/* The optimisation memory: what an experience applies to, which are the same, which are no longer
 * believed, what they earned. */
#ifndef HONE_TUNE_MEMORY_H
#define HONE_TUNE_MEMORY_H

#include "tune/state/state.h"

/* The families of operations that a text names ("add_rmsnorm_matmul" is "elementwise norm matmul"),
 * with blanks between, appended to `out`; nothing when it names none. */
void tune_memory_family(struct str text, struct buf *out);
/* The families that a kernel's calls tell of, the same way. */
void tune_memory_computes(const char *source, struct buf *out);
/* "legacy" (package neuronxcc.nki), "current" (package nki), or NULL when the source does not
 * tell. */
const char *tune_memory_dialect(const char *source);
/* The families of the session's task: what its name says, else what its kernel computes. */
void tune_memory_family_of(const struct tune_state *state, struct buf *out);
/* Whether it may help this session's task. */
bool tune_memory_applies(const struct tune_state *state, const struct tune_experience *item);
/* The first experience of the state that is about the same; -1. It is found by the words that it
 * had when it was indexed last, so whoever adds one or changes its words calls
 * tune_memory_index. */
int tune_memory_find(const struct tune_state *state, const struct tune_experience *item);
void tune_memory_index(struct tune_state *state, size_t index);
/* Adds to the evidence of the experience with that index. Fix: what it has now is also kept
 * elsewhere, so it must not change. */
void tune_memory_evidence_add(struct tune_state *state, size_t index, struct str more);
void tune_memory_evidence_fix(const struct tune_state *state, size_t index);
/* Whether the evidence says that this session measured the attempt against the other one. */
bool tune_memory_shows(const struct tune_experience *item, int attempt, int against);
/* Whether an attempt that ended says the opposite of what an approved experience says. */
bool tune_memory_contradicts(const struct tune_experience *item,
                             const struct tune_attempt *attempt);

/* What came of the prompts that an experience went into. Other experiences went into the same
 * prompts, so these numbers are no shares. */
struct tune_earned {
    int prompts, attempts, kept;
    double gain;           /* of the kept ones, multiplied: 1.3; 1 for none */
    int calls[8], n_calls; /* the last calls to a model that held it */
};
struct tune_earned tune_memory_earned(const struct tune_state *state, size_t index);

#endif
