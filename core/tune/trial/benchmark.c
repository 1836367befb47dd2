/* SPDX-License-Identifier: Apache-2.0 */
/* The step benchmark: whether a correct kernel is faster than its parent. With the device model the
 * check has told its time. On a device it is timed with the incumbent in turns, and a winner once
 * more in a new process. */
#include <math.h>
#include <stdio.h>

#include "tune/read/read.h"
#include "tune/sums/sums.h"
#include "tune/trial/private.h"

#define NOT_AGAIN "not faster when measured again in a new process: "

/* `first`: it was faster in an evaluation before this one, and has to be so again. */
static void speed_judge(const struct tune_work *work, const struct tune_attempt *attempt,
                        bool first) {
    const struct tune_session *session = work->session;
    const struct tune_attempt *parent = tune_state_attempt(session->state, attempt->parent);
    bool modelled = attempt->modelled;
    struct task_samples mine = {attempt->samples.at, attempt->samples.len, modelled, attempt->lnc};
    struct task_samples theirs = {attempt->parent_samples.at, attempt->parent_samples.len, modelled,
                                  attempt->lnc};
    double parent_us = parent ? parent->latency_us : (double)NAN, own_us = attempt->latency_us;
    /* A host that could not compare its samples has said why. */
    if (!theirs.count && !attempt->modelled && attempt->verdict.faster == TUNE_ANSWER_INCONCLUSIVE)
        return;
    if (!mine.count)
        mine = (struct task_samples){&own_us, 1, modelled, attempt->lnc};
    if (!theirs.count)
        theirs = (struct task_samples){&parent_us, 1, modelled, parent ? parent->lnc : 0};
    struct task_verdict verdict = {0};
    task_judge_speed(&verdict, theirs, mine);
    if (attempt->modelled)
        tune_doubt_judge(parent, attempt, &verdict);
    bool confirmed = first && verdict.faster.answer == TASK_YES;
    if (first && !confirmed) {
        char now[sizeof verdict.faster.reason];
        snprintf(now, sizeof now, "%s", verdict.faster.reason);
        task_judge(&verdict.faster, TASK_INCONCLUSIVE, NOT_AGAIN "%.150s", now);
    }
    tune_speed_emit(work, attempt->id, &verdict, task_ratio_of(theirs, mine), confirmed);
}

/* What no kernel with as many products can beat in any precision. Sessions of earlier hones have
 * only one floor. */
static double floor_of_all(const struct tune_attempt *attempt) {
    return isnan(attempt->floor_any_us) ? attempt->floor_us : attempt->floor_any_us;
}

/* When a device is faster than the model's floor, the measurement went wrong or the kernel does not
 * do its work, unless the seed kernel beats the floor, too. */
static void floor_judge(struct tune_session *session, int lane,
                        const struct tune_attempt *attempt) {
    const struct tune_attempt *seed = &session->state->attempts.at[0];
    struct task_verdict verdict = {0};
    double floor_us = floor_of_all(attempt);
    if (!attempt->floor_modelled || seed->latency_us < floor_of_all(seed))
        return;
    task_judge_latency(&verdict, attempt->latency_us, floor_us);
    if (verdict.credible.answer != TASK_NO)
        return;
    struct buf text = {0};
    buf_puts(&text, "measured ");
    clock_print_duration(&text, attempt->latency_us * 1e-6);
    buf_puts(&text, ", below the floor of ");
    clock_print_duration(&text, floor_us * 1e-6);
    task_judge(&verdict.credible, TASK_NO, "%s, which no kernel can pass (modelled%s)", text.at,
               attempt->lnc > 1 ? ", two cores" : "");
    buf_free(&text);
    tune_verdict_emit(session, lane, attempt->id, &verdict);
}

/* Where the program was too large to be looked at before it ran, its launch is seen only now. */
static void cores_judge(struct tune_session *session, int lane,
                        const struct tune_attempt *attempt) {
    struct task_verdict verdict = {0};
    struct buf why = {0};
    if (tune_cores_exceed(session->state, attempt->lnc, &why)) {
        task_judge(&verdict.credible, TASK_NO, "%s", why.at);
        tune_verdict_emit(session, lane, attempt->id, &verdict);
    }
    buf_free(&why);
}

bool tune_not_again(const struct tune_attempt *attempt) {
    const char *why = attempt->verdict.faster_why;
    return why && str_starts(str_of(why), NOT_AGAIN);
}

void tune_benchmark_job(struct tune_session *session, int lane, bool again,
                        const struct tune_evaluation *last) {
    const struct tune_state *state = session->state;
    const struct tune_attempt *attempt = tune_attempt_in(state, lane);
    const struct tune_attempt *parent = tune_state_attempt(state, attempt->parent);
    struct runner_job job = {.no_verify = true, .incumbent_text = tune_source(state, parent)};
    tune_evaluation_start(tune_work_of(session, lane, TUNE_STEP_BENCHMARK), again, &job, last);
}

/* Whether it would become the incumbent by this measurement alone. Luck must not be enough for
 * that. */
static bool wants_again(const struct tune_session *session, const struct tune_attempt *attempt) {
    return !attempt->modelled && attempt->verdict.faster == TUNE_ANSWER_YES &&
           attempt->verdict.credible != TUNE_ANSWER_NO &&
           1 - 1 / attempt->vs_parent >= TUNE_MIN_GAIN && !session->halted;
}

static void benchmark_end(struct tune_session *session, int lane, bool again) {
    int id = tune_lane_attempt(session->state, lane);
    const struct tune_attempt *attempt = tune_state_attempt(session->state, id);
    struct tune_work work = tune_work_of(session, lane, TUNE_STEP_BENCHMARK);
    floor_judge(session, lane, attempt);
    attempt = tune_state_attempt(session->state, id);
    cores_judge(session, lane, attempt);
    attempt = tune_state_attempt(session->state, id);
    speed_judge(&work, attempt, again);
    attempt = tune_state_attempt(session->state, id);
    if (!again && wants_again(session, attempt)) {
        tune_emit_log(
            session, lane, TUNE_LEVEL_INFO, "benchmark",
            "faster; hone measures it again in a new process before it becomes the incumbent");
        tune_benchmark_job(session, lane, true, NULL);
        return;
    }
    tune_score(session, lane, id);
    attempt = tune_state_attempt(session->state, id);
    struct buf text = {0};
    clock_print_duration(&text, attempt->latency_us * 1e-6);
    buf_puts(&text, tune_attempt_how(attempt));
    buf_printf(&text, ", %.3fx of attempt %d", attempt->vs_parent, attempt->parent);
    struct buf doubt = {0};
    struct tune_rests rests =
        tune_gain_rests(tune_state_attempt(session->state, attempt->parent), attempt);
    tune_rests_print(&doubt, &rests);
    tune_step_done(session, lane, TUNE_STEP_BENCHMARK, TUNE_IS_OK, "%s%s%s", text.at,
                   doubt.len ? "; " : "", doubt.len ? doubt.at : "");
    buf_free(&doubt);
    buf_free(&text);
}

void tune_benchmark_start(struct tune_session *session, int lane) {
    const struct tune_attempt *attempt = tune_attempt_in(session->state, lane);
    /* A modelled latency came with the check. Timing again would give the same. */
    if (attempt->modelled) {
        benchmark_end(session, lane, false);
        return;
    }
    tune_beside_ask(session, attempt);
    tune_benchmark_job(session, lane, false, NULL);
}

void tune_benchmark_settle(struct tune_session *session, struct tune_evaluation *evaluation,
                           struct runner_result *result) {
    int lane = evaluation->work.lane;
    if (result->failure.kind != ERR_NONE) {
        tune_step_done(session, lane, TUNE_STEP_BENCHMARK, TUNE_IS_FAILED, "%s",
                       result->failure.text);
        return;
    }
    tune_measured_emit(evaluation, result);
    tune_beside_fill(&evaluation->work, evaluation->attempt);
    struct task_verdict verdict = {.faster = result->verdict.faster};
    if (verdict.faster.answer == TASK_INCONCLUSIVE &&
        !tune_state_attempt(session->state, evaluation->attempt)->parent_samples.len)
        tune_verdict_emit(session, lane, evaluation->attempt, &verdict);
    if (!session->halted)
        benchmark_end(session, lane, evaluation->rest);
}
