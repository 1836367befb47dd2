/* SPDX-License-Identifier: Apache-2.0 */
/* Whether what is issued for the periods of a folded loop is alike: the same, with the same costs,
 * waiting for the same. */
#include "device/time/run.h"

/* How two lists of numbers may differ: those from `first` on by `by`, the others not at all. */
struct shifted {
    uint32_t first, by;
};
static bool same_numbers(const uint32_t *a, const uint32_t *b, size_t n, struct shifted shifted) {
    for (size_t i = 0; i < n; i++) {
        bool inside = (a[i] & ~DEPENDS_ORDER) >= shifted.first;
        if (b[i] != a[i] + (inside ? shifted.by : 0))
            return false;
    }
    return true;
}

/* The first residence that issue s or a later one brings in. */
static uint32_t residence_at(const struct allocation *allocation, uint32_t s) {
    uint32_t low = 0, high = (uint32_t)allocation->residences.len;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (allocation->residences.at[middle].first_user < s)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Issue s and the one `by` later are alike. The later one uses residences that lie `shifted`
 * further on. */
static bool same_issue(const struct schedule *schedule, const struct gap *gap, uint32_t s,
                       uint32_t by, struct shifted shifted) {
    const struct allocation *allocation = schedule->allocation;
    const struct depends *depends = schedule->depends;
    uint32_t t = s + by, n = depends->base[s + 1] - depends->base[s];
    if (allocation->issues.at[s].kind != allocation->issues.at[t].kind ||
        schedule->costs->of[s] != schedule->costs->of[t] ||
        depends->base[t + 1] - depends->base[t] != n ||
        !same_numbers(depends->producer.at + depends->base[s],
                      depends->producer.at + depends->base[t], n, (struct shifted){gap->first, by}))
        return false;
    const uint32_t *base = allocation->use_base.at;
    return base[s + 1] - base[s] == base[t + 1] - base[t] &&
           same_numbers(allocation->uses.at + base[s], allocation->uses.at + base[t],
                        base[s + 1] - base[s], shifted);
}

/* Issues behind the loop do not wait for periods before `to`. */
static bool waits_late(const struct schedule *schedule, const struct gap *gap, uint32_t to) {
    const struct depends *depends = schedule->depends;
    uint32_t end = gap->first + (gap->kept + 1) * gap->length;
    for (uint32_t s = end; s < depends->n; s++)
        for (uint32_t e = depends->base[s]; e < depends->base[s + 1]; e++) {
            uint32_t p = depends->producer.at[e] & ~DEPENDS_ORDER;
            if (p >= gap->first && p < gap->first + to * gap->length)
                return false;
        }
    return true;
}

bool alike_issues(const struct schedule *schedule, const struct gap *gap, uint32_t period,
                  uint32_t at) {
    const struct allocation *allocation = schedule->allocation;
    uint32_t by = period * gap->length, end = gap->first + (gap->kept + 1) * gap->length;
    struct shifted residences = {.first = residence_at(allocation, gap->first)};
    residences.by = residence_at(allocation, gap->first + by) - residences.first;
    for (uint32_t s = gap->first + (at - 2 * period) * gap->length; s + by < end; s++)
        if (!same_issue(schedule, gap, s, by, residences))
            return false;
    return waits_late(schedule, gap, at);
}
