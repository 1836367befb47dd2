/* SPDX-License-Identifier: Apache-2.0 */
/* What the critical path has of each spot, wherever it comes. */
#include "device/causes/inner.h"

#include <stdlib.h>

struct adding {
    const struct device_causes *causes;
    bool apart; /* spots of two cores */
    causes_sum_list *sums;
};

/* A lane without the core that it is of. */
static const char *engine_of(const char *lane) {
    return lane[0] >= '0' && lane[0] <= '9' && lane[1] == ' ' ? lane + 2 : lane;
}

static void add_spot(const struct adding *adding, struct device_spot spot, double us) {
    spot.lane = adding->apart ? spot.lane : engine_of(spot.lane);
    for (size_t i = 0; i < adding->sums->len; i++) {
        struct causes_sum *sum = &adding->sums->at[i];
        if (sum->spot.file == spot.file && sum->spot.line == spot.line && sum->spot.op == spot.op &&
            strcmp(sum->spot.lane, spot.lane) == 0) {
            sum->us += us;
            return;
        }
    }
    *vec_push(adding->sums) = (struct causes_sum){spot, us};
}

static void add_leg(const struct adding *adding, const struct device_leg *leg, double turns) {
    if (!leg->count)
        add_spot(adding, leg->spot, leg->us * turns);
    for (uint32_t i = 0; i < leg->count; i++) {
        const struct device_leg *part = &adding->causes->legs.at[leg->first + i];
        add_leg(adding, part, turns * part->times);
    }
}

static int by_us(const void *a, const void *b) {
    const struct causes_sum *x = a, *y = b;
    if (x->us != y->us)
        return x->us > y->us ? -1 : 1;
    return x->spot.line < y->spot.line ? -1 : x->spot.line > y->spot.line;
}

static void sort(causes_sum_list *sums) {
    if (sums->len)
        qsort(sums->at, sums->len, sizeof *sums->at, by_us);
}

void causes_leg_sums(const struct device_causes *causes, const struct device_leg *leg,
                     causes_sum_list *sums) {
    const struct adding adding = {causes, true, sums};
    add_leg(&adding, leg, 1);
    sort(sums);
}

void causes_sums(const struct device_causes *causes, size_t first, bool apart,
                 causes_sum_list *sums) {
    const struct adding adding = {causes, apart, sums};
    for (size_t i = first; i < causes->segments.len; i++) {
        const struct device_segment *segment = &causes->segments.at[i];
        const struct device_leg *leg = &causes->legs.at[segment->leg];
        add_leg(&adding, leg, (double)segment->times * leg->times);
    }
    sort(sums);
}
