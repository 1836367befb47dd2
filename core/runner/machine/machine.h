/* SPDX-License-Identifier: Apache-2.0 */
/* What evaluations may use of this machine. */
#ifndef HONE_RUNNER_MACHINE_MACHINE_H
#define HONE_RUNNER_MACHINE_MACHINE_H

#include "loop/loop.h"
#include "runner/protocol/protocol.h"

/* Fills the limits of the embedded runner that the job leaves open, as the settings say ([limits]).
 * Also makes the job wait for its turn. */
struct config;
void runner_limits(struct runner_job *job, const struct config *config);
/* The memory that one evaluation may use when nothing says how much: three quarters of the
 * machine's. So it does not depend on what else runs. 0: unknown. */
uint64_t runner_usual_memory(void);
/* How many evaluations run at once on this machine. Each keeps two processors busy and should have
 * some memory. */
int runner_side_by_side(const struct config *config);

/* A turn of the machine's budget, for work like the job's that is done in this process. on_turn is
 * called when the work may begin, but never before this returns. Until then on_wait says what it
 * waits for, and says it again when that changes. */
struct runner_turn;
struct runner_turn_callbacks {
    void (*on_turn)(void *data);
    void (*on_wait)(void *data, const char *why, bool first);
    void *data;
};
struct runner_turn *runner_turn_wait(struct loop *loop, const struct runner_job *job,
                                     const struct runner_turn_callbacks *callbacks) CC_MUST_USE;
/* How many threads the work may keep busy: the job's machine_places, or as many of them as were
 * free. At least 1. */
int runner_turn_places(const struct runner_turn *turn);
/* What this process grew by since the turn came, at its largest. 0: unknown, or nothing that it had
 * not used before. */
uint64_t runner_turn_grown(const struct runner_turn *turn);
/* Gives the turn back, or stops waiting, and frees it. `took_bytes` of memory; 0: unknown. Accepts
 * NULL. */
void runner_turn_end(struct runner_turn *turn, uint64_t took_bytes);

#endif
