/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the device model can tell which of two kernels is the faster one. */
#include <math.h>

#include "device/device.h"
#include "tune/session/inner.h"
#include "tune/trial/trial.h"

#define SAME 1.0005 /* a smaller ratio of two latencies counts as none */

static bool counts_of(const struct tune_attempt *attempt, struct device_counts *counts) {
    static const char *const names[] = {"hardware_flops",
                                        "tensor_engine_instruction_count",
                                        "vector_engine_instruction_count",
                                        "scalar_engine_instruction_count",
                                        "gpsimd_engine_instruction_count",
                                        "dma_packet_count"};
    double *const numbers[] = {&counts->flops,           &counts->instructions[0],
                               &counts->instructions[1], &counts->instructions[2],
                               &counts->instructions[3], &counts->packets};
    counts->hbm_bytes = tune_attempt_metric(attempt, "hbm_read_bytes") +
                        tune_attempt_metric(attempt, "hbm_write_bytes");
    bool known = isfinite(counts->hbm_bytes);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        *numbers[i] = tune_attempt_metric(attempt, names[i]);
        known = known && isfinite(*numbers[i]);
    }
    return known;
}

void tune_doubt_judge(const struct tune_attempt *parent, const struct tune_attempt *attempt,
                      struct task_verdict *verdict) {
    struct device_counts was, is;
    if (!parent || !parent->modelled || !attempt->modelled || !(attempt->latency_us > 0) ||
        !counts_of(parent, &was) || !counts_of(attempt, &is))
        return;
    enum device_edit edit = device_edit_between(&was, &is);
    double ratio = parent->latency_us / attempt->latency_us, least = device_edit_least(edit);
    double size = ratio > 1 ? ratio : 1 / ratio;
    if (size > SAME && size < least)
        task_judge_inside(verdict, ratio, least, device_edit_word(edit));
}
