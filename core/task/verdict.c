/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict in four parts: what follows from comparisons and latencies. It is pure arithmetic;
 * the runner supplies the numbers. */
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

static double share_of(const struct task_comparison *comparison) {
    double share = comparison->outputs[comparison->worst].share;
    return share > 0 ? share : 1;
}

bool task_comparison_holds(const struct task_comparison *comparison, double tolerance) {
    return comparison->rel_l2 <= tolerance * share_of(comparison);
}

static void judge_wrong(struct task_verdict *verdict, const struct task_comparison *seed,
                        double tolerance) {
    char which[32] = "";
    if (seed->count > 1)
        snprintf(which, sizeof which, "output %zu: ", seed->worst);
    const struct task_match *match = &seed->outputs[seed->worst];
    if (isnan(match->rel_l2) && match->finite)
        task_judge(&verdict->correct, TASK_NO,
                   "seed %lld: %sit is not infinite where the reference is", (long long)seed->seed,
                   which);
    else
        task_judge(&verdict->correct, TASK_NO, "seed %lld: %srelative L2 is %.3g, allowed is %.3g",
                   (long long)seed->seed, which, match->rel_l2, tolerance * share_of(seed));
}

void task_judge_equal(struct task_verdict *verdict, size_t seeds, double worst) {
    task_judge(&verdict->correct, TASK_YES, "%zu seed%s, relative L2 at most %.3g", seeds,
               PLURAL(seeds), worst);
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
        if (!task_comparison_holds(&seeds[i], tolerance)) {
            judge_wrong(verdict, &seeds[i], tolerance);
            return;
        }
        worst = fmax(worst, seeds[i].rel_l2);
    }
    task_judge_equal(verdict, count, worst);
}

/* As times are shown everywhere: "0.842 ms", "12.4 µs". */
static const char *time_text(double us, char text[32]) {
    struct buf out = {0};
    clock_print_duration(&out, us * 1e-6);
    snprintf(text, 32, "%s", out.at);
    buf_free(&out);
    return text;
}

void task_judge_latency(struct task_verdict *verdict, double latency_us, double floor_us) {
    /* A millionth of slack, because the floor and the schedule add the same numbers in another
     * order. */
    char is[32], floor[32];
    if (latency_us > 0 && floor_us > 0 && latency_us < floor_us * (1 - 1e-6))
        task_judge(&verdict->credible, TASK_NO,
                   "%s is below the floor of %s, which no kernel can pass",
                   time_text(latency_us, is), time_text(floor_us, floor));
}

/* --------------------------------------------------------------------------------------- speed */

#define FEWEST_PAIRS 5

/* Student's t, two sides, 95 %, for 1 to 30 degrees of freedom (any table of the distribution). */
static const double student[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                 2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                 2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                 2.060,  2.056, 2.052, 2.048, 2.045, 2.042};

static double student_for(size_t freedom) {
    if (freedom <= COUNT_OF(student))
        return student[freedom - 1];
    return 1.96 + 2.4 / (double)freedom; /* from here on within 0.002 of the table */
}

struct task_ratio task_ratio_of(struct task_samples incumbent, struct task_samples candidate) {
    struct task_ratio none = {NAN, NAN, NAN, NAN, MIN_OF(incumbent.count, candidate.count)};
    double sum = 0, squares = 0;
    if (none.pairs < 2)
        return none;
    for (size_t i = 0; i < none.pairs; i++) {
        if (!(incumbent.us[i] > 0 && candidate.us[i] > 0))
            return none;
        sum += log(incumbent.us[i] / candidate.us[i]);
    }
    double n = (double)none.pairs, mean = sum / n;
    for (size_t i = 0; i < none.pairs; i++) {
        double off = log(incumbent.us[i] / candidate.us[i]) - mean;
        squares += off * off;
    }
    double reach = student_for(none.pairs - 1) * sqrt(squares / (n - 1) / n);
    return (struct task_ratio){exp(mean), exp(mean - reach), exp(mean + reach), expm1(reach),
                               none.pairs};
}

/* Where both ran on as many cores they are told once. */
static void judge_modelled(struct task_judgement *faster, struct task_samples was,
                           struct task_samples is) {
    char after[32], before[32];
    bool two = is.cores > 1, both = two == (was.cores > 1);
    task_judge(faster, is.us[0] < was.us[0] ? TASK_YES : TASK_NO,
               "%.3fx: %s%s after %s%s (modelled%s)", is.us[0] > 0 ? was.us[0] / is.us[0] : 0,
               time_text(is.us[0], after),
               both  ? ""
               : two ? " on two cores"
                     : " on one core",
               time_text(was.us[0], before),
               both  ? ""
               : two ? " on one"
                     : " on two",
               both && two ? ", two cores" : "");
}

static void judge_measured(struct task_judgement *faster, struct task_ratio ratio) {
    enum task_answer answer = ratio.low > 1 && ratio.ratio > TASK_SAME ? TASK_YES
                              : ratio.high < TASK_SAME                 ? TASK_NO
                                                                       : TASK_INCONCLUSIVE;
    task_judge(faster, answer,
               "%.3fx, 95 %% interval %.3fx to %.3fx of %zu pairs; differences of %.1f %% or more "
               "would have been detected",
               ratio.ratio, ratio.low, ratio.high, ratio.pairs, ratio.seen * 100);
}

void task_judge_speed(struct task_verdict *verdict, struct task_samples incumbent,
                      struct task_samples candidate) {
    struct task_judgement *faster = &verdict->faster;
    struct task_ratio ratio = task_ratio_of(incumbent, candidate);
    if (!incumbent.count || !candidate.count)
        task_judge(faster, TASK_NOT_ASKED, "there is nothing to compare");
    else if (incumbent.modelled && candidate.modelled)
        judge_modelled(faster, incumbent, candidate);
    else if (ratio.pairs < FEWEST_PAIRS || isnan(ratio.ratio))
        task_judge(faster, TASK_INCONCLUSIVE,
                   "%zu and %zu samples are too few, %d pairs are needed", incumbent.count,
                   candidate.count, FEWEST_PAIRS);
    else
        judge_measured(faster, ratio);
}

void task_judge_inside(struct task_verdict *verdict, double ratio, double least,
                       const char *differ) {
    task_judge(
        &verdict->faster, TASK_INCONCLUSIVE,
        "%.3fx is inside the model's error: with %s it tells the faster kernel from %.2fx on",
        ratio, differ, least);
}

static bool is_fine(const struct task_judgement *judgement) {
    return judgement->answer == TASK_YES || judgement->answer == TASK_NOT_ASKED;
}

bool task_verdict_is_green(const struct task_verdict *verdict) {
    return is_fine(&verdict->compiles) && is_fine(&verdict->correct) && is_fine(&verdict->credible);
}
