/* SPDX-License-Identifier: Apache-2.0 */
/* What the rooms of tune share about reading the state. */
#ifndef HONE_TUNE_READ_INNER_H
#define HONE_TUNE_READ_INNER_H

#include "tune/state/inner.h"
#include "tune/state/state.h"

/* attempt.c: an attempt as JSON, as it stands in a bundle; `inside`: with what only the session
 * itself makes use of. The caller owns it. */
cJSON *tune_attempt_write(const struct tune_state *state, const struct tune_attempt *attempt,
                          bool inside);

#endif
