/* SPDX-License-Identifier: Apache-2.0 */
/* What tests look through and nothing of the product calls. */
#ifndef HONE_TUNE_READ_TESTING_H
#define HONE_TUNE_READ_TESTING_H

#include "tune/state/state.h"

/* The whole state as JSON, so that two can be compared; what belongs to the process and not to the
 * log is left out. */
void tune_state_print(const struct tune_state *state, struct buf *out);

#endif
