/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler's prediction of an attempt, for people and for programs. */
#ifndef HONE_TUNE_PREDICTED_H
#define HONE_TUNE_PREDICTED_H

#include "tune/state/state.h"

/* Whether there is one; NULL has none. */
bool tune_predicted(const struct tune_attempt *attempt);
/* "1.83 ms (nki 0.6.0, not measured): vector 71 %, dma 40 %"; there must be one. */
void tune_predicted_print(struct buf *out, const struct tune_attempt *attempt);
/* Members predicted_us, predicted_by, predicted_utilisation and so on; none where there is none. */
struct cJSON;
void tune_predicted_put(struct cJSON *object, const struct tune_attempt *attempt);

/* How many times the parent's prediction it is; NAN where one is missing or they are not of the
 * same kind. */
double tune_predicted_ratio(const struct tune_attempt *attempt, const struct tune_attempt *parent);

#endif
