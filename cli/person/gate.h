/* SPDX-License-Identifier: Apache-2.0 */
/* What hone run shows at a gate in a terminal without a screen. */
#ifndef HONE_CLI_PERSON_GATE_H
#define HONE_CLI_PERSON_GATE_H

#include "tune/tune.h"

/* Prints what waits in each open lane (plans, candidates against their parents), and which answers
 * there are. */
void gate_print(const struct tune_state *state, struct buf *out);

#endif
