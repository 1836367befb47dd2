/* SPDX-License-Identifier: Apache-2.0 */
/* A turn for work that hone does on a thread of its own, such as making the program of a kernel. It
 * counts for the machine's budget as an evaluation in a child does (ledger.c). Where waiting does
 * not help, the work begins all the same: it has limits of its own, and the evaluation after it
 * asks again. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runner/machine/inner.h"
#include "runner/machine/machine.h"

#define ASK_MS 200 /* between two looks at what the machine has left */

struct runner_turn {
    struct loop *loop;
    struct ledger_claim *claim;
    struct loop_timer *timer; /* asks again; NULL: it has its turn */
    struct runner_turn_callbacks callbacks;
    char waits[24];     /* what it waits for, as last reported */
    uint64_t had, peak; /* bytes of this process when the turn came, and the most before */
};

/* Reports what it waits for when that changes. The numbers in the sentence change all the time and
 * do not count. */
static void tell(struct runner_turn *turn, const struct buf *why) {
    bool first = !turn->waits[0];
    if (!why->len || !strncmp(turn->waits, why->at, sizeof turn->waits - 1))
        return;
    snprintf(turn->waits, sizeof turn->waits, "%s", why->at);
    turn->callbacks.on_wait(turn->callbacks.data, why->at, first);
}

static void ask(void *data) {
    struct runner_turn *turn = data;
    struct buf why = {0};
    turn->timer = NULL;
    if (ledger_ask(turn->claim, &why) == LEDGER_WAIT) {
        turn->timer = loop_timer_start(turn->loop, ASK_MS, 0, ask, turn);
        tell(turn, &why);
    } else {
        turn->had = os_process_memory(getpid());
        turn->peak = os_peak_memory();
        turn->callbacks.on_turn(turn->callbacks.data);
    }
    buf_free(&why);
}

struct runner_turn *runner_turn_wait(struct loop *loop, const struct runner_job *job,
                                     const struct runner_turn_callbacks *callbacks) {
    struct runner_turn *turn = mem_alloc(1, sizeof *turn);
    turn->loop = loop;
    turn->callbacks = *callbacks;
    turn->claim = ledger_claim_new(job);
    turn->timer = loop_timer_start(loop, 0, 0, ask, turn);
    return turn;
}

int runner_turn_places(const struct runner_turn *turn) {
    return MAX_OF(ledger_places(turn->claim), 1);
}

uint64_t runner_turn_grown(const struct runner_turn *turn) {
    uint64_t peak = os_peak_memory();
    return turn->had && peak > turn->peak && peak > turn->had ? peak - turn->had : 0;
}

void runner_turn_end(struct runner_turn *turn, uint64_t took_bytes) {
    if (!turn)
        return;
    loop_timer_stop(turn->timer);
    if (took_bytes)
        ledger_took(turn->claim, took_bytes);
    ledger_claim_free(turn->claim);
    free(turn);
}
