/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel written from what its reference computes: the graph that core/task/record made of
 * forward becomes stages, each a loop nest over tiles, and the stages are printed as NKI of the
 * current dialect, or of the older one where that is asked for. What lies between two stages is in
 * HBM; a product that one stage of rows uses is made in that stage. It is where tuning begins.
 * Knows neither tasks nor sessions. */
#ifndef HONE_WRITE_H
#define HONE_WRITE_H

#include "write/spec/spec.h"

/* NULL and *err (usage) where there is no graph to write from, with the operation and the line that
 * ended its recording. */
struct written *write_kernel(const struct write_spec *spec, struct err *err) CC_MUST_USE;
void written_free(struct written *written); /* accepts NULL */

#endif
