/* SPDX-License-Identifier: Apache-2.0 */
/* How far the clock can be trusted. The numbers are in doubt.def, which tests/bench/calibrate.py
 * makes from kernels that others measured. */
#include "device/time/time.h"

#include <math.h>

/* ---- one latency ---------------------------------------------------------------------------- */

static const struct kind {
    const char *generation, *dialect, *bound;
    struct device_interval interval;
} kinds[] = {
#define DOUBT(generation, dialect, bound, rows, low, high) \
    {generation, dialect, bound, {low, high, rows}},
#define EDIT(kind, pairs, least)
#include "device/time/doubt.def"
#undef DOUBT
#undef EDIT
};

/* An empty name in a row stands for all names. */
static bool holds(const char *row, const char *asked) {
    return !*row || (asked && !strcmp(row, asked));
}

struct device_interval device_interval_of(const char *generation, const char *dialect,
                                          const char *bound) {
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (holds(kinds[i].generation, generation) && holds(kinds[i].dialect, dialect) &&
            holds(kinds[i].bound, bound))
            return kinds[i].interval;
    return (struct device_interval){1, 1, 0};
}

/* ---- two latencies -------------------------------------------------------------------------- */

#define SAME_SHARE 0.02 /* counts that differ by less count as equal */

static const char *const edit_words[] = {[DEVICE_EDIT_TRAFFIC] = "other traffic with HBM",
                                         [DEVICE_EDIT_ARITHMETIC] = "other matrix products",
                                         [DEVICE_EDIT_TILING] = "other tiles",
                                         [DEVICE_EDIT_ENGINES] = "other engines",
                                         [DEVICE_EDIT_TRANSFERS] = "other transfers",
                                         [DEVICE_EDIT_ORDER] = "another order"};
static const double least_ratios[] = {
#define DOUBT(generation, dialect, bound, rows, low, high)
#define EDIT(kind, pairs, least) [DEVICE_EDIT_##kind] = least,
#include "device/time/doubt.def"
#undef DOUBT
#undef EDIT
};
_Static_assert(COUNT_OF(least_ratios) == DEVICE_EDITS && COUNT_OF(edit_words) == DEVICE_EDITS,
               "a row of doubt.def for each kind of edit");

static bool is_same(double a, double b) {
    return fabs(a - b) <= SAME_SHARE * fmax(fmax(a, b), 1);
}

bool device_counts_read(struct device_counts *counts, device_metric_fn *metric, const void *data) {
    static const char *const names[] = {"hardware_flops",
                                        "tensor_engine_instruction_count",
                                        "vector_engine_instruction_count",
                                        "scalar_engine_instruction_count",
                                        "gpsimd_engine_instruction_count",
                                        "dma_packet_count"};
    double *const numbers[] = {&counts->flops,           &counts->instructions[0],
                               &counts->instructions[1], &counts->instructions[2],
                               &counts->instructions[3], &counts->packets};
    counts->hbm_bytes = metric(data, "hbm_read_bytes") + metric(data, "hbm_write_bytes");
    bool known = isfinite(counts->hbm_bytes);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        *numbers[i] = metric(data, names[i]);
        known = known && isfinite(*numbers[i]);
    }
    return known;
}

enum device_edit device_edit_between(const struct device_counts *one,
                                     const struct device_counts *other) {
    double sum = 0, other_sum = 0;
    bool same_engines = true;
    for (size_t e = 0; e < COUNT_OF(one->instructions); e++) {
        sum += one->instructions[e];
        other_sum += other->instructions[e];
        same_engines = same_engines && is_same(one->instructions[e], other->instructions[e]);
    }
    return !is_same(one->hbm_bytes, other->hbm_bytes) ? DEVICE_EDIT_TRAFFIC
           : !is_same(one->flops, other->flops)       ? DEVICE_EDIT_ARITHMETIC
           : !is_same(sum, other_sum)                 ? DEVICE_EDIT_TILING
           : !same_engines                            ? DEVICE_EDIT_ENGINES
           : !is_same(one->packets, other->packets)   ? DEVICE_EDIT_TRANSFERS
                                                      : DEVICE_EDIT_ORDER;
}

const char *device_edit_word(enum device_edit edit) {
    return edit_words[edit];
}

double device_edit_least(enum device_edit edit) {
    return least_ratios[edit];
}
