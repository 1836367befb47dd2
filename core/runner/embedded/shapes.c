/* SPDX-License-Identifier: Apache-2.0 */
/* A task with several shapes: the kernel goes through compiling, timing and verifying for one after
 * the other, and has to be right for all. The latency that counts is the weighted mean. */
#include "runner/embedded/private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

bool shapes_are_several(const struct evaluation *evaluation) {
    return evaluation->shapes && evaluation->shapes->shape_count > 1;
}

bool shapes_is_later(const struct evaluation *evaluation) {
    return evaluation->sums.shape > 0;
}

static const struct task_shape *shape_of(const struct evaluation *evaluation) {
    return &evaluation->shapes->shapes[evaluation->sums.shape];
}

/* "decode: line 12: ..." */
static void name_shape(const struct evaluation *evaluation, struct task_judgement *judgement) {
    char reason[sizeof judgement->reason];
    snprintf(reason, sizeof reason, "%s", judgement->reason);
    snprintf(judgement->reason, sizeof judgement->reason, "%s: %.190s", shape_of(evaluation)->name,
             reason);
}

/* Whether the kernel failed for this shape; then the verdict says for which one. */
static bool has_failed(struct evaluation *evaluation) {
    struct task_verdict *verdict = &evaluation->result.verdict;
    struct task_judgement *judgements[] = {&verdict->compiles, &verdict->correct,
                                           &verdict->credible};
    bool failed = evaluation->result.failure.kind != ERR_NONE || !evaluation->compiled;
    if (verdict->compiles.answer == TASK_NO) /* what was seen of the shapes before says nothing */
        verdict->correct = verdict->credible = verdict->faster = (struct task_judgement){0};
    for (size_t i = 0; i < COUNT_OF(judgements); i++) {
        enum task_answer answer = judgements[i]->answer;
        if (answer != TASK_NO && !(i == 1 && answer == TASK_INCONCLUSIVE))
            continue;
        name_shape(evaluation, judgements[i]);
        failed = true;
    }
    return failed;
}

static void tell_shape(const struct evaluation *evaluation, double us) {
    const struct task_shape *shape = shape_of(evaluation);
    struct buf text = {0}, name = {0};
    buf_printf(&text, "shape %s: ", shape->name);
    if (us > 0) {
        clock_print_duration(&text, us * 1e-6);
        buf_printf(&text, " (modelled), weight %g", shape->weight);
        buf_printf(&name, "latency_us.%s", shape->name);
        events_metric(name.at, us, "us");
    } else {
        buf_puts(&text, "compiles");
    }
    if (evaluation->result.verdict.correct.answer == TASK_YES)
        buf_puts(&text, ", correct");
    events_write(
        &(struct runner_event){.kind = RUNNER_LOG, .severity = DIAG_NOTE, .text = text.at});
    buf_free(&name);
    buf_free(&text);
}

static void add_floor(double *sum, double weight, double us) {
    *sum += us > 0 ? weight * us : (double)NAN;
}

static void add_shape(struct evaluation *evaluation) {
    struct shape_sums *sums = &evaluation->sums;
    const struct device_profile *profile = evaluation->profile;
    double weight = shape_of(evaluation)->weight;
    sums->weight += weight;
    sums->lacks_incumbent = sums->lacks_incumbent || !(sums->incumbent_us > 0);
    sums->was_us += weight * sums->incumbent_us;
    if (profile) {
        sums->us += weight * profile->latency_us;
        add_floor(&sums->floor_us, weight, profile->floor_us);
        add_floor(&sums->split_us, weight, profile->floor_split_us);
        add_floor(&sums->any_us, weight, profile->floor_any_us);
        task_judge_latency(&evaluation->result.verdict, profile->latency_us, profile->floor_any_us);
    }
    if (!sums->shape)
        sums->first_us = evaluation->result.latency_us;
    tell_shape(evaluation, profile ? profile->latency_us : 0);
}

/* What the evaluation holds of the shape that is done. Its inputs are replaced when the next ones
 * come. */
static void forget_shape(struct evaluation *evaluation) {
    device_profile_free(evaluation->profile);
    device_causes_free(evaluation->causes);
    device_unload(evaluation->image);
    nki_program_free(evaluation->program);
    evaluation->profile = NULL;
    evaluation->causes = NULL;
    evaluation->image = NULL;
    evaluation->program = NULL;
    evaluation->compiled = false;
    evaluation->sums.incumbent_us = 0;
}

static double mean(const struct shape_sums *sums, double sum) {
    return isfinite(sum) ? sum / sums->weight : 0;
}

static void judge_all_speeds(struct evaluation *evaluation) {
    const struct shape_sums *sums = &evaluation->sums;
    struct runner_result *result = &evaluation->result;
    double was = mean(sums, sums->was_us), is = result->latency_us;
    evaluation_tell_sample(is, false);
    if (!evaluation->job.incumbent_text)
        return;
    if (sums->lacks_incumbent) {
        task_judge(&result->verdict.faster, TASK_INCONCLUSIVE,
                   "the incumbent does not compile for all shapes");
        return;
    }
    evaluation_tell_sample(was, true);
    task_judge_speed(&result->verdict, (struct task_samples){&was, 1, true, result->lnc},
                     (struct task_samples){&is, 1, true, result->lnc});
}

/* The result of all shapes: the interval is as wide as the first one's. */
static void settle(struct evaluation *evaluation) {
    const struct shape_sums *sums = &evaluation->sums;
    struct runner_result *result = &evaluation->result;
    size_t count = evaluation->shapes->shape_count;
    if (sums->us > 0) {
        result->latency_us = mean(sums, sums->us);
        result->floor_us = mean(sums, sums->floor_us);
        result->floor_split_us = mean(sums, sums->split_us);
        result->floor_any_us = mean(sums, sums->any_us);
        result->low_us *= result->latency_us / sums->first_us;
        result->high_us *= result->latency_us / sums->first_us;
        judge_all_speeds(evaluation);
    }
    if (result->verdict.correct.answer == TASK_YES)
        task_judge(&result->verdict.correct, TASK_YES,
                   "%zu seed%s of each of %zu shapes, relative L2 at most %.3g",
                   evaluation->job.seed_count, PLURAL(evaluation->job.seed_count), count,
                   sums->worst_l2);
}

void shapes_next(struct evaluation *evaluation) {
    if (!shapes_are_several(evaluation)) {
        evaluation_finish(evaluation);
        return;
    }
    size_t count = evaluation->shapes->shape_count;
    bool failed = has_failed(evaluation);
    if (!failed)
        add_shape(evaluation);
    if (!failed && evaluation->sums.shape + 1 < count) {
        evaluation->sums.shape++;
        forget_shape(evaluation);
        evaluation_begin_shape(evaluation);
        return;
    }
    if (!failed)
        settle(evaluation);
    evaluation_finish(evaluation);
}
