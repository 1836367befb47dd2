/* SPDX-License-Identifier: Apache-2.0 */
/* What the children of all hones of this user on this machine may use together. A claim is a file
 * in a folder that they share, which its hone holds locked (ledger.c). */
#ifndef HONE_RUNNER_MACHINE_INNER_H
#define HONE_RUNNER_MACHINE_INNER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "loop/loop.h"

struct runner_job;
struct ledger_claim;
enum ledger_answer {
    LEDGER_GO,   /* the claim holds */
    LEDGER_WAIT, /* ask again in a moment */
    LEDGER_NO,   /* waiting does not help: nothing of hone's runs, and it does not fit */
};
/* A claim for an evaluation, of as much as one like it took before, or of a guess. */
struct ledger_claim *ledger_claim_new(const struct runner_job *job) CC_MUST_USE;
/* Whether the child may start now. If not, `why` gets a sentence where there is something to say.
 * Where no folder can be shared, everything may start. */
enum ledger_answer ledger_ask(struct ledger_claim *claim, struct buf *why);
/* The places that it got, as many as were free of those that it asked for; 0: none yet. */
int ledger_places(const struct ledger_claim *claim);
/* Bytes that were put aside; 0: none. */
uint64_t ledger_reserved(const struct ledger_claim *claim);
/* The evaluation needs more. Ask again. */
void ledger_raise(struct ledger_claim *claim, uint64_t bytes);
/* The child runs. A worker thread looks at it now and then. So others know how much of its bytes it
 * uses already, and the next claim is for what this one took. */
void ledger_began(struct ledger_claim *claim, int pid);
void ledger_look(struct ledger_claim *claim, struct loop *loop);
/* Notes what work without a child took. */
void ledger_took(struct ledger_claim *claim, uint64_t bytes);
/* Gives the claim back and frees it. Accepts NULL. */
void ledger_claim_free(struct ledger_claim *claim);

#endif
