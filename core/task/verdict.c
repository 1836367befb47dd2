/* SPDX-License-Identifier: Apache-2.0 */
/* The four-part verdict: what follows from comparisons and latencies. Pure arithmetic; where the
 * numbers come from is the runner's business. */
#include "task/task.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *task_answer_name(enum task_answer answer) {
    static const char *const names[] = {"not asked", "yes", "no", "inconclusive"};
    return (size_t)answer < COUNT_OF(names) ? names[answer] : "not asked";
}

void task_judge(struct task_judgement *judgement, enum task_answer answer, const char *format,
                ...) {
    va_list args;
    va_start(args, format);
    judgement->answer = answer;
    vsnprintf(judgement->reason, sizeof judgement->reason, format, args);
    va_end(args);
}

/* The first thing about an output that no honest kernel produces; NULL when there is none. */
static const char *what_is_odd(const struct task_match *match) {
    if (!match->finite)
        return "has elements that are NaN or infinite";
    if (match->zero && !match->reference_zero)
        return "is all zero, and the reference is not";
    if (match->is_input)
        return "equals an input bit for bit";
    return NULL;
}

static void judge_credible(struct task_verdict *verdict, const struct task_comparison *seeds,
                           size_t count) {
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < seeds[i].count; k++) {
            const char *odd = what_is_odd(&seeds[i].outputs[k]);
            if (!odd)
                continue;
            task_judge(&verdict->credible, TASK_NO, "seed %lld: output %zu %s",
                       (long long)seeds[i].seed, k, odd);
            return;
        }
    }
    if (count && verdict->credible.answer != TASK_NO)
        task_judge(&verdict->credible, TASK_YES, "%s", "");
}

void task_judge_numbers(struct task_verdict *verdict, const struct task_comparison *seeds,
                        size_t count, double tolerance) {
    judge_credible(verdict, seeds, count);
    if (!count) {
        task_judge(&verdict->correct, TASK_NOT_ASKED, "there is no reference");
        return;
    }
    double worst = 0;
    for (size_t i = 0; i < count; i++) {
        if (!(seeds[i].rel_l2 <= tolerance)) {
            task_judge(&verdict->correct, TASK_NO,
                       "seed %lld: relative L2 is %.3g, allowed is %.3g",
                       (long long)seeds[i].seed, seeds[i].rel_l2, tolerance);
            return;
        }
        worst = fmax(worst, seeds[i].rel_l2);
    }
    task_judge(&verdict->correct, TASK_YES, "%zu seed%s, relative L2 at most %.3g", count,
               count == 1 ? "" : "s", worst);
}

void task_judge_latency(struct task_verdict *verdict, double latency_us, double floor_us) {
    /* A millionth of slack: the floor and the schedule add the same numbers in different order. */
    if (latency_us > 0 && floor_us > 0 && latency_us < floor_us * (1 - 1e-6))
        task_judge(&verdict->credible, TASK_NO,
                   "%.4g us is below the floor of %.4g us, which no kernel can pass", latency_us,
                   floor_us);
}

/* ------------------------------------------------------------------------------------------ speed */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct middle {
    double low, median, high;
};

/* Median and its distribution-free 95 % interval: the order statistics at n/2 -+ 0.98 sqrt(n)
 * (normal approximation of the sign test). */
static struct middle find_middle(struct task_samples samples) {
    double *sorted = mem_dup(samples.us, samples.count * sizeof *sorted);
    size_t n = samples.count;
    qsort(sorted, n, sizeof *sorted, by_value);
    double reach = 0.98 * sqrt((double)n);
    double low = floor((double)n / 2 - reach), high = ceil((double)n / 2 + reach);
    size_t first = low < 0 ? 0 : (size_t)low;
    size_t last = high > (double)(n - 1) ? n - 1 : (size_t)high;
    struct middle middle = {sorted[first], (sorted[(n - 1) / 2] + sorted[n / 2]) / 2, sorted[last]};
    free(sorted);
    return middle;
}

void task_judge_speed(struct task_verdict *verdict, struct task_samples incumbent,
                      struct task_samples candidate) {
    struct task_judgement *faster = &verdict->faster;
    if (!incumbent.count || !candidate.count) {
        task_judge(faster, TASK_NOT_ASKED, "there is nothing to compare");
        return;
    }
    struct middle was = find_middle(incumbent), is = find_middle(candidate);
    double speedup = is.median > 0 ? was.median / is.median : 0;
    bool modelled = incumbent.modelled && candidate.modelled;
    if (!modelled && (incumbent.count < 5 || candidate.count < 5))
        task_judge(faster, TASK_INCONCLUSIVE, "%.3fx, but %zu and %zu samples are too few",
                   speedup, incumbent.count, candidate.count);
    else if (is.high < was.low)
        task_judge(faster, TASK_YES, "%.3fx: %.4g us after %.4g us%s", speedup, is.median,
                   was.median, modelled ? " (modelled)" : "");
    else if (is.low > was.high || (modelled && is.median >= was.median))
        task_judge(faster, TASK_NO, "%.3fx: %.4g us after %.4g us%s", speedup, is.median,
                   was.median, modelled ? " (modelled)" : "");
    else
        task_judge(faster, TASK_INCONCLUSIVE,
                   "%.3fx, but the 95 %% intervals overlap: %.4g to %.4g us and %.4g to %.4g us",
                   speedup, was.low, was.high, is.low, is.high);
}

static bool is_fine(const struct task_judgement *judgement) {
    return judgement->answer == TASK_YES || judgement->answer == TASK_NOT_ASKED;
}

bool task_verdict_is_green(const struct task_verdict *verdict) {
    return is_fine(&verdict->compiles) && is_fine(&verdict->correct) && is_fine(&verdict->credible);
}
