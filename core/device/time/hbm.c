/* SPDX-License-Identifier: Apache-2.0 */
/* The HBM that the cores of a launch share: a calendar of its bandwidth. A transfer is spread
 * evenly over the time that its DMA engines need, as far as the slices of that time have room. The
 * rest comes later, and the transfer ends later. */
#include "device/time/run.h"

#define SLICE_NS 512.0 /* small against a kernel, large against most transfers' steps */

/* Takes at most `bytes` of a slice, of which it uses the part `share`; returns what it got. */
static double take(struct hbm *hbm, size_t slice, double share, double bytes) {
    while (hbm->taken.len <= slice)
        *vec_push(&hbm->taken) = 0;
    double room = hbm->bytes_per_ns * SLICE_NS - hbm->taken.at[slice];
    double got = MIN_OF(bytes, MIN_OF(room, hbm->bytes_per_ns * SLICE_NS * share));
    got = MAX_OF(got, 0);
    hbm->taken.at[slice] += got;
    return got;
}

double hbm_delay(struct hbm *hbm, const struct transfer *transfer, double first, double last) {
    double left = (double)transfer->bytes * ((transfer->reads_hbm ? 1 : 0) + transfer->writes_hbm);
    double rate = last > first ? left / (last - first) : 0, end = first;
    for (size_t slice = (size_t)(first / SLICE_NS); left > 0; slice++) {
        double from = MAX_OF(first, (double)slice * SLICE_NS);
        double until = ((double)slice + 1) * SLICE_NS;
        /* Past its own time it makes up for what it did not get. */
        double want = until <= last ? rate * (until - from) : left;
        double got = take(hbm, slice, (until - from) / SLICE_NS, MIN_OF(want, left));
        left -= got;
        if (got > 0)
            end = (double)slice * SLICE_NS + hbm->taken.at[slice] / hbm->bytes_per_ns;
        if (left < 0.5)
            break;
    }
    return MAX_OF(end - last, 0);
}

void hbm_free(struct hbm *hbm) {
    vec_free(&hbm->taken);
}
