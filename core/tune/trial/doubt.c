/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the device model can tell which of two kernels is the faster one. */
#include <math.h>

#include "device/device.h"
#include "tune/session/inner.h"
#include "tune/trial/trial.h"

#define SAME 1.0005 /* a smaller ratio of two latencies counts as none */

static double metric_of(const void *data, const char *name) {
    return tune_attempt_metric(data, name);
}

void tune_doubt_judge(const struct tune_attempt *parent, const struct tune_attempt *attempt,
                      struct task_verdict *verdict) {
    struct device_counts was, is;
    if (!parent || !parent->modelled || !attempt->modelled || !(attempt->latency_us > 0) ||
        !device_counts_read(&was, metric_of, parent) ||
        !device_counts_read(&is, metric_of, attempt))
        return;
    enum device_edit edit = device_edit_between(&was, &is);
    double ratio = parent->latency_us / attempt->latency_us, least = device_edit_least(edit);
    double size = ratio > 1 ? ratio : 1 / ratio;
    if (size > SAME && size < least)
        task_judge_inside(verdict, ratio, least, device_edit_word(edit));
}
