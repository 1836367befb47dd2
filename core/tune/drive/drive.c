/* SPDX-License-Identifier: Apache-2.0 */
/* The state machine of the loop: which step comes next, when a round ends, when to stop. Its whole
 * memory is the state; it is called after every event that may allow it to go on, and never
 * waits. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tune/drive/private.h"
#include "tune/state/state.h"
#include "tune/sums/sums.h"

/* -------------------------------------------------------------------------- rounds and budgets */

static bool should_stop(struct tune_session *session) {
    const struct tune_state *state = session->state;
    struct tune_expected expected = tune_expect_round(state);
    if (tune_budget_stops(session, TUNE_ALL_LANES, &expected, "another round"))
        return true;
    if (state->plateau < TUNE_PLATEAU || !tune_sweep_ends(state)) {
        tune_budget_tell(session, &expected);
        return false;
    }
    tune_stop(session, TUNE_ALL_LANES, "%d rounds in a row without a gain; start goes on anyway",
              state->plateau);
    return true;
}

static void round_begin(struct tune_session *session) {
    if (should_stop(session))
        return;
    tune_emit(session, TUNE_ALL_LANES,
              TUNE_EVENT(ROUND, round, .round = session->state->round + 1));
}

/* ------------------------------------------------------------------------------------- steps */

static void profile_start(struct tune_session *session, int lane) {
    const struct tune_state *state = session->state;
    const struct tune_attempt *attempt = tune_state_attempt(state, state->incumbent);
    if (!attempt) {
        tune_baseline_start(session, lane);
        return;
    }
    struct buf latency = {0}, limited = {0};
    clock_print_duration(&latency, attempt->latency_us * 1e-6);
    tune_limited_print(attempt, &limited);
    tune_step_done(session, lane, TUNE_STEP_PROFILE, TUNE_IS_OK, "attempt %d: %s%s%s", attempt->id,
                   latency.at, limited.len ? ", limited by " : "", limited.len ? limited.at : "");
    buf_free(&latency);
    buf_free(&limited);
}

static bool is_open(const struct tune_state *state, int lane) {
    const struct tune_attempt *attempt = tune_attempt_in(state, lane);
    return attempt && attempt->id > 0 && attempt->status == TUNE_STATUS_OPEN;
}

static bool wants_candidate(const struct tune_state *state, int lane) {
    const struct tune_attempt *attempt = tune_attempt_in(state, lane);
    return tune_lane_candidate(state, lane) &&
           (!attempt || attempt->id == 0 || attempt->status == TUNE_STATUS_OPEN);
}
/* The device model times a kernel while it checks it. A device times it once the check is
 * passed. */
static bool wants_green(const struct tune_state *state, int lane) {
    const struct tune_attempt *attempt = tune_attempt_in(state, lane);
    return is_open(state, lane) && attempt->verdict.compiles == TUNE_ANSWER_YES &&
           attempt->verdict.correct != TUNE_ANSWER_NO &&
           (!state->attempts.at[0].modelled || !isnan(attempt->latency_us));
}
static bool wants_measured(const struct tune_state *state, int lane) {
    const struct tune_attempt *attempt = tune_attempt_in(state, lane);
    return attempt && attempt->id > 0 && !isnan(attempt->latency_us) &&
           attempt->verdict.correct != TUNE_ANSWER_NO;
}
static bool wants_always(const struct tune_state *state, int lane) {
    (void)state, (void)lane;
    return true;
}

static const struct {
    bool (*wanted)(const struct tune_state *state, int lane);
    void (*start)(struct tune_session *session, int lane);
    const char *skipped;
} steps[TUNE_STEPS] = {
    [TUNE_STEP_PROFILE] = {wants_always, profile_start, ""},
    [TUNE_STEP_PLAN] = {wants_always, tune_plan_start, ""},
    [TUNE_STEP_REWRITE] = {wants_always, tune_rewrite_start, ""},
    [TUNE_STEP_VERIFY] = {wants_candidate, tune_verify_start, "there is no candidate"},
    [TUNE_STEP_BENCHMARK] = {wants_green, tune_benchmark_start, "only what is correct is measured"},
    [TUNE_STEP_DECIDE] = {is_open, tune_decide, "there is nothing to decide"},
    [TUNE_STEP_SUMMARISE] = {wants_measured, tune_summarise, "nothing was measured"},
    [TUNE_STEP_REFLECT] = {wants_always, tune_reflect, ""},
};

bool tune_step_wanted(const struct tune_session *session, int lane, enum tune_step step,
                      const char **skipped) {
    *skipped = steps[step].skipped;
    return steps[step].wanted(session->state, lane);
}

void tune_step_run(struct tune_session *session, int lane, enum tune_step step) {
    steps[step].start(session, lane);
}

/* Plans of this round that the proposer could not carry out. */
static int replans(const struct tune_state *state) {
    int count = 0;
    for (size_t i = 0; i < state->rejections.len; i++)
        count += state->rejections.at[i].by_loop && state->rejections.at[i].round == state->round;
    return count;
}

static bool can_repair(const struct tune_session *session, int lane) {
    const struct tune_state *state = session->state;
    const struct tune_attempt *attempt = tune_attempt_in(state, lane);
    return session->proposer->repairs && is_open(state, lane) && !attempt->plan.sweep &&
           !tune_submission_of(state, &attempt->plan) && tune_is_broken(state, attempt) &&
           attempt->repairs < tune_repairs_most(state, attempt) && attempt->plan.key &&
           *attempt->plan.key;
}

enum tune_step tune_step_after(const struct tune_session *session, int lane, enum tune_step step,
                               enum tune_step_is is) {
    const struct tune_state *state = session->state;
    if (step == TUNE_STEP_REWRITE && is == TUNE_IS_FAILED && tune_lane_attempt(state, lane) <= 0 &&
        state->way->tries_again && replans(state) < TUNE_MAX_REPLANS)
        return TUNE_STEP_PLAN;
    if (step == TUNE_STEP_VERIFY && is == TUNE_IS_FAILED && can_repair(session, lane))
        return TUNE_STEP_REWRITE;
    return (enum tune_step)(step + 1);
}

static void go_on(struct tune_session *session) {
    const struct tune_state *state = session->state;
    if (state->round == 0 || state->own->round_over)
        round_begin(session);
    else
        tune_round_go_on(session);
}

/* With lanes there may be more to start while others work. */
static bool can_go_on(const struct tune_session *session) {
    const struct tune_state *state = session->state;
    if (session->halted || !state->running || state->wait != TUNE_WAIT_NOTHING)
        return false;
    return !tune_works(session) || tune_lanes_can_start(session);
}

static void advance(struct tune_session *session) {
    if (session->advancing || session->closing || session->state->read_only)
        return;
    session->advancing = true;
    tune_work_sweep(session);
    tune_lessons_settle(session);
    while (can_go_on(session) && tune_look_is_over(session) && tune_files_check(session, false)) {
        go_on(session);
        tune_lessons_settle(session);
    }
    if (session->halted)
        tune_work_cancel(session);
    tune_budget_watch(session);
    tune_replies_free(session);
    session->advancing = false;
}

/* What the person did about files, and could not be done then. */
static void act_later(struct tune_session *session) {
    struct tune_action later = {.kind = (enum tune_action_kind)session->later};
    struct err err = {0};
    if (!session->acts_later || tune_large_is_busy(session))
        return;
    session->acts_later = false;
    bool ok = tune_act_looked(session, &later, &err);
    if (session->acts_later)
        return;
    bool starts = session->starts_later && ok && !session->state->running;
    session->starts_later = false;
    later.kind = TUNE_ACT_START;
    ok = ok && (!starts || tune_act_looked(session, &later, &err));
    if (!ok)
        tune_emit_log(session, TUNE_ALL_LANES, TUNE_LEVEL_ERROR, "files", "%s", err.text);
}

/* What waited for it goes on: the person's choice to keep what is copied now, evaluations that
 * ended, and the next step. */
static void files_known(struct tune_session *session, const struct err *failed) {
    if (failed) {
        session->acts_later = session->starts_later = false;
        tune_give_up(session, TUNE_ALL_LANES, false, "%s", failed->text);
    } else {
        tune_files_known(session);
    }
    act_later(session);
    tune_evaluation_go_on(session);
    tune_advance(session);
}

static void files_looked(struct tune_session *session) {
    act_later(session);
    tune_evaluation_go_on(session);
    tune_advance(session);
}

const struct tune_driver tune_drive = {.advance = advance,
                                       .step_done = tune_lane_done,
                                       .files_known = files_known,
                                       .files_looked = files_looked};
