/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel written from what its reference computes: the graph that core/task/record made of
 * forward becomes stages, each a loop nest over tiles, and the stages are printed as NKI of the
 * current dialect. What lies between two stages is kept in HBM. Simple and right rather than fast:
 * it is where tuning begins. Knows neither tasks nor sessions. */
#ifndef HONE_WRITE_H
#define HONE_WRITE_H

#include "base/base.h"

struct write_spec {
    struct str graph;  /* meta.json of the recorded reference */
    const char *name;  /* of the task, for the first comment */
    double sbuf_bytes; /* of one partition, that a kernel may use */
};
/* What could not be written: an operation of forward, at a line of the reference. */
struct write_gap {
    char what[120];
    int line;
};
struct written {
    char *text;    /* the kernel; with gaps a skeleton: what hangs on them is missing */
    size_t stages; /* loop nests in it */
    VEC(struct write_gap) gaps;
};
/* NULL and *err (usage) where there is no graph to write from, with the operation and the line that
 * ended its recording. */
struct written *write_kernel(const struct write_spec *spec, struct err *err) CC_MUST_USE;
void written_free(struct written *written); /* accepts NULL */

#endif
