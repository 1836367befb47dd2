/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds that follow several lanes at once: who is asked what, what runs side by side, what
 * continues, and what a person can do to one of them. */
#include "model/model.h"
#include "loop/testing.h"
#include "tune/ask/testing.h"
#include "tune/proposer/inner.h"
#include "tune/fake.h"
#include "tune/read/summary.h"

#define SOURCE(latency, what) \
    "def kernel():\n    # latency " latency "\n    # hbm " latency "\n    x = '" what "'\n"
#define ACT(...) ((struct tune_action){__VA_ARGS__})

static const struct fake_plan plans[] = {
    {.key = "a", .source = SOURCE("900", "a"), .size = 0.1},
    {.key = "b", .source = SOURCE("700", "b"), .size = 0.3},
    {.key = "c", .source = SOURCE("800", "c"), .size = 0.2},
    {.key = "d",
     .source = "def kernel():\n    # broken\n    x = 'd'\n",
     .size = 0.2,
     .repaired = SOURCE("600", "repaired")},
    {.key = "e", .source = SOURCE("5000", "e"), .size = 0.2},
    {.key = "f", .source = NULL, .size = 0.2},
};

/* A beam of this width over the first `count` plans. */
static void begin(struct fake *fake, const char *search, size_t count, enum tune_gate gate) {
    fake_begin(fake, plans, count, gate);
    tune_session_close(fake->session);
    fake->options.search = search;
    fake->options.fresh = true;
    fake->seen.parallel = 3;
    fake_open(fake);
    fake->options.fresh = false;
}

static const struct tune_attempt *attempt_with(const struct fake *fake, const char *key) {
    const struct tune_state *state = fake_state(fake);
    for (size_t i = 1; i < state->attempts.len; i++)
        if (state->attempts.at[i].plan.key && !strcmp(state->attempts.at[i].plan.key, key))
            return &state->attempts.at[i];
    return NULL;
}

static void replay_equals_live(const struct fake *fake) {
    struct buf live = {0}, again = {0};
    tune_state_print(fake_state(fake), &live);
    struct tune_session *reader = NULL;
    struct tune_options options = fake->options;
    struct err err = {0};
    options.read_only = true;
    reader = tune_session_open(&options, fake->loop, &err);
    assert_non_null(reader);
    tune_state_print(tune_session_state(reader), &again);
    assert_string_equal(live.at, again.at);
    buf_free(&live);
    buf_free(&again);
    options.use = NULL;
    tune_session_close(reader);
}

static void rounds(struct fake *fake, double count) {
    fake_act(fake, ACT(.kind = TUNE_ACT_SET_BUDGET, .index = TUNE_BUDGET_ROUNDS, .number = count));
    fake_act(fake, ACT(.kind = TUNE_ACT_START));
}

static void approve_until(struct fake *fake, enum tune_step step) {
    for (int i = 0; i < 20 && fake_state(fake)->wait_step != step; i++)
        fake_act(fake, ACT(.kind = TUNE_ACT_APPROVE));
    assert_int_equal(fake_state(fake)->wait, TUNE_WAIT_GATE);
    assert_int_equal(fake_state(fake)->wait_step, step);
}

static void the_lanes_of_a_parent_share_what_is_offered(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, "beam:2,3", COUNT_OF(plans), TUNE_GATE_AUTO);
    rounds(&fake, 1);
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(fake.proposer.asked, 1); /* for one parent, once */
    assert_int_equal(state->lanes.len, 3);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(state->plans.at[tune_lane_attempt(state, (int)i) - 1].key,
                            plans[i].key);
    assert_int_equal(state->attempts.len, 4);
    assert_int_equal(state->incumbent, attempt_with(&fake, "b")->id);
    assert_int_equal(state->beam.len, 2);
    assert_int_equal(state->beam.at[0], attempt_with(&fake, "b")->id);
    assert_int_equal(state->beam.at[1], attempt_with(&fake, "c")->id);
    replay_equals_live(&fake);
    fake_end(&fake);
}

static void the_next_round_starts_from_the_best_of_the_last(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, "beam:2,2", COUNT_OF(plans), TUNE_GATE_AUTO);
    rounds(&fake, 2);
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(state->round, 2);
    assert_int_equal(state->lanes.len, 4);
    assert_int_equal(state->lanes.at[0].parent, attempt_with(&fake, "b")->id);
    assert_int_equal(state->lanes.at[2].parent, attempt_with(&fake, "a")->id);
    for (size_t i = 3; i < state->attempts.len; i++)
        assert_true(state->attempts.at[i].parent > 0);
    replay_equals_live(&fake);
    fake_end(&fake);
}

static void what_does_not_compile_is_repaired_in_its_lane_alone(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, "beam:2,4", COUNT_OF(plans), TUNE_GATE_AUTO);
    rounds(&fake, 1);
    const struct tune_attempt *repaired = attempt_with(&fake, "d");
    assert_int_equal(fake.proposer.repairs, 1);
    assert_int_equal(repaired->repairs, 1);
    assert_int_equal(repaired->status, TUNE_STATUS_KEEP);
    assert_int_equal(fake_state(&fake)->incumbent, repaired->id);
    assert_int_equal(fake_state(&fake)->attempts.len, 5);
    fake_end(&fake);
}

static void a_plan_that_cannot_be_carried_out_closes_its_lane(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, "beam:2,6", COUNT_OF(plans), TUNE_GATE_AUTO);
    rounds(&fake, 1);
    const struct tune_state *state = fake_state(&fake);
    assert_string_equal(state->lanes.at[5].closed, "it does not apply here");
    assert_int_equal(state->attempts.len, 6);
    const struct tune_attempt *slow = attempt_with(&fake, "e");
    assert_int_equal(slow->status, TUNE_STATUS_REVERT);
    for (size_t i = 0; i < state->beam.len; i++)
        assert_int_not_equal(state->beam.at[i], slow->id);
    fake_end(&fake);
}

static void each_plan_is_carried_out_more_than_once_but_the_same_is_not_run_twice(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, "beam:2,2,2", COUNT_OF(plans), TUNE_GATE_AUTO);
    fake.proposer.vtable.draws = true;
    rounds(&fake, 1);
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(fake.proposer.asked, 2); /* a question for each plan */
    assert_int_equal(state->lanes.len, 4);
    assert_int_equal(state->attempts.len, 3);
    assert_int_equal(state->lanes.at[2].sample, 1);
    assert_non_null(strstr(state->lanes.at[2].closed, "same as #1"));
    assert_non_null(strstr(state->lanes.at[3].closed, "same as #2"));
    replay_equals_live(&fake);
    fake_end(&fake);
}

static void as_many_are_evaluated_at_once_as_the_place_takes(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, "beam:2,5", COUNT_OF(plans), TUNE_GATE_AUTO);
    fake_act(&fake,
             ACT(.kind = TUNE_ACT_SET_GATE, .step = TUNE_STEP_REWRITE, .gate = TUNE_GATE_ASK));
    fake_act(&fake, ACT(.kind = TUNE_ACT_START));
    int before = fake.place.started;
    fake.place.slow = true;
    assert_true(fake_try(&fake, ACT(.kind = TUNE_ACT_APPROVE)));
    assert_true(loop_run_until_idle(fake.loop, 60000));
    assert_int_equal(fake.place.started - before, 3);
    assert_true(tune_session_is_busy(fake.session));
    fake.place.slow = false;
    for (struct fake_run *run = fake.place.runs; run; run = run->next)
        run->timer = loop_timer_start(fake.loop, 0, 0, fake_finish, run);
    assert_true(fake_try(
        &fake, ACT(.kind = TUNE_ACT_SET_BUDGET, .index = TUNE_BUDGET_ROUNDS, .number = 1)));
    fake_settle(&fake);
    assert_int_equal(fake_state(&fake)->attempts.len, 6);
    /* The order of ids is that of the lanes, whichever ended first. */
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(fake_state(&fake)->attempts.at[i + 1].plan.key, plans[i].key);
    fake_end(&fake);
}

static void one_of_several_is_rejected_with_a_reason_and_the_others_go_on(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, "beam:2,3", COUNT_OF(plans), TUNE_GATE_ASK);
    fake_act(&fake, ACT(.kind = TUNE_ACT_START));
    approve_until(&fake, TUNE_STEP_PLAN);
    const struct tune_state *state = fake_state(&fake);
    assert_string_equal(tune_lane_plan(state, 1)->key, "b");
    fake_act(&fake, ACT(.kind = TUNE_ACT_REJECT, .lane = 1, .text = "not that"));
    assert_string_equal(state->lanes.at[1].closed, "not that");
    assert_true(state->lanes.at[1].dropped);
    assert_null(state->lanes.at[0].closed);
    assert_int_equal(state->wait, TUNE_WAIT_GATE);
    approve_until(&fake, TUNE_STEP_DECIDE);
    assert_null(attempt_with(&fake, "b"));
    assert_int_equal(state->incumbent, attempt_with(&fake, "c")->id);
    assert_string_equal(state->rejections.at[0].reason, "not that");
    replay_equals_live(&fake);
    fake_end(&fake);
}

static void rejecting_all_of_them_ends_the_round(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, "beam:1,2", COUNT_OF(plans), TUNE_GATE_ASK);
    fake_act(&fake, ACT(.kind = TUNE_ACT_START));
    approve_until(&fake, TUNE_STEP_PLAN);
    fake_act(&fake, ACT(.kind = TUNE_ACT_REJECT, .lane = 0, .text = "no"));
    fake_act(&fake, ACT(.kind = TUNE_ACT_REJECT, .lane = 1, .text = "nor this"));
    assert_int_equal(fake_state(&fake)->wait, TUNE_WAIT_REJECTED);
    fake_act(&fake, ACT(.kind = TUNE_ACT_START));
    approve_until(&fake, TUNE_STEP_PLAN);
    assert_int_equal(fake_state(&fake)->round, 2);
    assert_string_equal(tune_lane_plan(fake_state(&fake), 0)->key, "c");
    fake_end(&fake);
}

static void another_plan_for_one_lane_is_asked_for_alone(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, "beam:2,2", COUNT_OF(plans), TUNE_GATE_ASK);
    fake_act(&fake, ACT(.kind = TUNE_ACT_START));
    approve_until(&fake, TUNE_STEP_REWRITE);
    const struct tune_state *state = fake_state(&fake);
    fake_act(&fake, ACT(.kind = TUNE_ACT_ANOTHER, .text = "too small a step"));
    assert_int_equal(state->wait_step, TUNE_STEP_PLAN);
    assert_string_equal(tune_lane_plan(state, 0)->key, "c");
    approve_until(&fake, TUNE_STEP_DECIDE);
    assert_int_equal(state->attempts.len, 3);
    assert_non_null(attempt_with(&fake, "b"));
    assert_non_null(attempt_with(&fake, "c"));
    replay_equals_live(&fake);
    fake_end(&fake);
}

static void what_is_closed_is_not_decided_about(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, "beam:2,3", COUNT_OF(plans), TUNE_GATE_ASK);
    fake_act(&fake, ACT(.kind = TUNE_ACT_START));
    approve_until(&fake, TUNE_STEP_PLAN);
    const struct tune_state *state = fake_state(&fake);
    fake_act(&fake, ACT(.kind = TUNE_ACT_REJECT, .lane = 1, .text = "no"));
    assert_string_equal(tune_lane_of(state, 1)->closed, "no");
    assert_false(fake_try(&fake, ACT(.kind = TUNE_ACT_REJECT, .lane = 1, .text = "no")));
    assert_false(fake_try(&fake, ACT(.kind = TUNE_ACT_ANOTHER, .lane = 1)));
    assert_false(fake_try(&fake, ACT(.kind = TUNE_ACT_EDIT_PLAN, .lane = 1, .text = "mine")));
    assert_int_equal(state->rejections.len, 1);
    assert_int_equal(tune_lanes_open(state), 2);
    assert_string_equal(tune_lane_plan(state, 1)->key, "b");
    assert_string_equal(tune_lane_plan(state, 2)->key, "c");
    assert_null(tune_lane_plan(state, 3));
    fake_end(&fake);
}

/* A model is asked, and its answer does not come. */
static void slow_plans(void *self, const struct tune_context *context, struct tune_reply *reply) {
    struct fake_proposer *proposer = self;
    struct buf text = {0};
    tune_context_print(context, &text);
    free(proposer->context);
    proposer->context = buf_take(&text);
    proposer->asked++;
    tune_reply_asked(reply, &(struct tune_question){.role = TUNE_ROLE_PLANNER,
                                                    .model = "script",
                                                    .prompt = STR("prompt"),
                                                    .estimate = 1,
                                                    .mends = -1});
}

static void slow_given_up(void *self, struct tune_reply *reply) {
    (void)self;
    const struct model_reply none = {
        .dollars = NAN, .first_s = NAN, .elapsed_s = NAN, .failure = {ERR_CANCELLED, "cancelled"}};
    const struct tune_state *state = reply->work.session->state;
    for (size_t i = 0; i < state->calls.len; i++)
        if (!state->calls.at[i].ended_ms && state->calls.at[i].lane == reply->work.lane)
            tune_reply_answered(reply, (int)i, &none);
}

static void another_while_a_lane_is_asked_puts_its_question_again(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, "beam:1,3", COUNT_OF(plans), TUNE_GATE_AUTO);
    fake.proposer.vtable.draws = true;
    fake.proposer.vtable.parallel = 2;
    fake.proposer.vtable.plan = slow_plans;
    fake.proposer.vtable.cancel = slow_given_up;
    assert_true(fake_try(&fake, ACT(.kind = TUNE_ACT_START)));
    const struct tune_state *state = fake_state(&fake);
    assert_true(loop_run_until_idle(fake.loop, 20000));
    assert_int_equal(state->calls.len, 2);
    assert_false(fake_try(&fake, ACT(.kind = TUNE_ACT_ANOTHER, .lane = 2))); /* not asked yet */
    assert_true(fake_try(&fake, ACT(.kind = TUNE_ACT_ANOTHER, .lane = 1, .text = "think smaller")));
    assert_true(loop_run_until_idle(fake.loop, 60000));
    assert_int_equal(fake.proposer.asked, 3);
    assert_int_equal(state->calls.at[2].lane, 1);
    assert_false(state->calls.at[0].ended_ms); /* the other one continues */
    assert_true(state->calls.at[1].ended_ms);
    assert_non_null(strstr(fake.proposer.context, "think smaller"));
    replay_equals_live(&fake);
    fake_end(&fake);
}

static void going_back_leaves_what_others_led_to_alone(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, "beam:2,2", COUNT_OF(plans), TUNE_GATE_AUTO);
    rounds(&fake, 1);
    const struct tune_state *state = fake_state(&fake);
    int best = attempt_with(&fake, "b")->id, other = attempt_with(&fake, "a")->id;
    assert_int_equal(state->incumbent, best);
    fake_act(&fake, ACT(.kind = TUNE_ACT_REVERT, .attempt = other));
    rounds(&fake, 2); /* it tries again what the first one did */
    assert_int_equal(state->lanes.at[0].parent, other);
    rounds(&fake, 3);
    assert_int_equal(state->lanes.at[0].parent, other);
    assert_true(state->beam.len > 0 && !tune_beam_has(state, best));
    for (size_t i = 0; i < state->beam.len; i++)
        assert_true(state->beam.at[i] == other ||
                    state->attempts.at[state->beam.at[i]].parent == other);
    assert_int_equal(state->incumbent, state->beam.at[0]);
    replay_equals_live(&fake);
    fake_end(&fake);
}

static void a_kernel_of_ones_own_joins_and_an_edited_one_stands(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, "beam:2,2", COUNT_OF(plans), TUNE_GATE_ASK);
    fake_act(&fake, ACT(.kind = TUNE_ACT_START));
    approve_until(&fake, TUNE_STEP_REWRITE);
    fake_act(&fake, ACT(.kind = TUNE_ACT_EDIT_KERNEL, .text = SOURCE("850", "edited")));
    fake_act(&fake, ACT(.kind = TUNE_ACT_WRITE_KERNEL, .text = SOURCE("300", "own")));
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(state->lanes.len, 3);
    approve_until(&fake, TUNE_STEP_DECIDE);
    assert_int_equal(state->attempts.len, 4);
    const struct tune_attempt *best = tune_state_attempt(state, state->incumbent);
    assert_string_equal(best->author, "you");
    assert_float_equal(best->latency_us, 300, 0);
    assert_float_equal(attempt_with(&fake, "a")->latency_us, 850, 0);
    replay_equals_live(&fake);
    fake_end(&fake);
}

static void undo_puts_the_lanes_back(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, "beam:2,3", COUNT_OF(plans), TUNE_GATE_ASK);
    fake_act(&fake, ACT(.kind = TUNE_ACT_START));
    approve_until(&fake, TUNE_STEP_REWRITE);
    const struct tune_state *state = fake_state(&fake);
    fake_act(&fake, ACT(.kind = TUNE_ACT_REJECT, .lane = 2, .text = "no"));
    assert_non_null(state->lanes.at[2].closed);
    struct tune_back back;
    assert_true(tune_back_of(state, &back));
    assert_int_equal(back.lane, 2);
    fake_act(&fake, ACT(.kind = TUNE_ACT_UNDO));
    assert_null(state->lanes.at[2].closed);
    assert_int_equal(state->rejections.len, 0);
    approve_until(&fake, TUNE_STEP_DECIDE);
    assert_int_equal(state->attempts.len, 4);
    fake_act(&fake, ACT(.kind = TUNE_ACT_OVERRULE, .attempt = 2, .text = "revert"));
    assert_int_equal(state->incumbent, attempt_with(&fake, "c")->id);
    fake_act(&fake, ACT(.kind = TUNE_ACT_UNDO));
    assert_int_equal(state->incumbent, attempt_with(&fake, "b")->id);
    replay_equals_live(&fake);
    fake_end(&fake);
}

static void a_greedy_round_is_one_lane(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, "greedy", COUNT_OF(plans), TUNE_GATE_ASK);
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(state->lanes.len, 1); /* even before it begins */
    fake_act(&fake, ACT(.kind = TUNE_ACT_START));
    approve_until(&fake, TUNE_STEP_REWRITE);
    state = fake_state(&fake);
    const struct tune_lane *lane = tune_lane_of(state, 0);
    assert_int_equal(state->lanes.len, 1);
    assert_false(state->way->numbered);
    assert_string_equal(tune_lane_plan(state, 0)->key, "a");
    assert_int_equal(tune_lane_parent(state, 0), state->incumbent);
    assert_int_equal(lane->step, TUNE_STEP_REWRITE);
    assert_int_equal(lane->is, TUNE_IS_OK);
    assert_int_equal(tune_lane_next(state, 0), TUNE_STEP_VERIFY);
    assert_string_equal(lane->summary, state->steps[TUNE_STEP_REWRITE].summary);
    assert_int_equal(tune_lane_candidate(state, 0)->hunks.len, lane->candidate.hunks.len);
    assert_false(fake_try(&fake, ACT(.kind = TUNE_ACT_REJECT, .lane = 1, .text = "no")));
    approve_until(&fake, TUNE_STEP_DECIDE);
    assert_int_equal(tune_lane_attempt(state, 0), 1);
    assert_ptr_equal(tune_attempt_in(state, 0), tune_state_attempt(state, 1));
    replay_equals_live(&fake);
    fake_end(&fake);
}

static void where_there_is_no_lane_nothing_is_planned(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, "beam:2,2", COUNT_OF(plans), TUNE_GATE_AUTO);
    rounds(&fake, 1);
    const struct tune_state *state = fake_state(&fake);
    static const int none[] = {-1, 2, 1000};
    for (size_t i = 0; i < COUNT_OF(none); i++) {
        assert_null(tune_lane_plan(state, none[i]));
        assert_null(tune_lane_candidate(state, none[i]));
        assert_null(tune_attempt_in(state, none[i]));
        assert_int_equal(tune_lane_next(state, none[i]), TUNE_STEPS);
        assert_int_equal(tune_lane_parent(state, none[i]), state->incumbent);
    }
    fake_end(&fake);
}

static void an_act_is_about_its_lane_else_about_the_first_that_waits(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, "beam:2,3", COUNT_OF(plans), TUNE_GATE_ASK);
    fake_act(&fake, ACT(.kind = TUNE_ACT_START));
    approve_until(&fake, TUNE_STEP_PLAN);
    const struct tune_state *state = fake_state(&fake);
    const struct tune_action reject = {
        .kind = TUNE_ACT_REJECT, .lane = TUNE_ANY_LANE, .text = "no"};
    fake_act(&fake, reject);
    assert_string_equal(state->lanes.at[0].closed, "no");
    assert_int_equal(tune_act_lane(state, &reject), 1);
    assert_true(tune_can(state, TUNE_ANY_LANE, TUNE_ACT_REJECT));
    assert_false(tune_can(state, 0, TUNE_ACT_REJECT));
    assert_false(tune_can(state, 3, TUNE_ACT_REJECT));
    assert_true(tune_can(state, 3, TUNE_ACT_APPROVE)); /* of all of them */
    struct err err = {0};
    assert_false(tune_session_act(fake.session,
                                  &ACT(.kind = TUNE_ACT_REJECT, .lane = 3, .text = "no"), &err));
    assert_non_null(strstr(err.text, "there is no lane 4; this round has 3"));
    replay_equals_live(&fake);
    fake_end(&fake);
}

static void going_back_leaves_the_beam(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, "beam:2,2", COUNT_OF(plans), TUNE_GATE_AUTO);
    rounds(&fake, 1);
    fake_act(&fake, ACT(.kind = TUNE_ACT_REVERT, .attempt = 0));
    assert_int_equal(fake_state(&fake)->beam.len, 0);
    rounds(&fake, 2);
    assert_int_equal(fake_state(&fake)->lanes.at[0].parent, 0);
    replay_equals_live(&fake);
    fake_end(&fake);
}

static void a_killed_session_goes_on_with_the_lanes_that_were_not_done(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, "beam:2,5", COUNT_OF(plans), TUNE_GATE_AUTO);
    fake_act(&fake,
             ACT(.kind = TUNE_ACT_SET_GATE, .step = TUNE_STEP_REWRITE, .gate = TUNE_GATE_ASK));
    fake_act(&fake, ACT(.kind = TUNE_ACT_START));
    fake.place.slow = true;
    assert_true(fake_try(&fake, ACT(.kind = TUNE_ACT_APPROVE)));
    assert_true(loop_run_until_idle(fake.loop, 60000));
    tune_session_close(fake.session);
    fake.place.slow = false;
    fake_open(&fake);
    rounds(&fake, 1);
    assert_int_equal(fake_state(&fake)->attempts.len, 6);
    assert_int_equal(fake_state(&fake)->incumbent, attempt_with(&fake, "d")->id);
    replay_equals_live(&fake);
    fake_end(&fake);
}

static void random_actions_replay_to_the_same_state(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, "beam:2,3", COUNT_OF(plans), TUNE_GATE_ASK);
    fake_act_at_random(&fake, 5, 600);
    assert_true(fake_state(&fake)->attempts.len > 3);
    replay_equals_live(&fake);
    fake_end(&fake);
}

static void the_ladder_is_of_what_was_better_than_all_before(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, "beam:2,3", 3, TUNE_GATE_AUTO);
    rounds(&fake, 1);
    struct buf text = {0};
    tune_summary_print(fake_state(&fake), NULL, NULL, &text);
    assert_non_null(strstr(text.at, "#2 round 1: 1.43x"));
    assert_null(strstr(text.at, "#1 round 1: 1.11x"));
    assert_null(strstr(text.at, "#3 round 1: 1.25x"));
    buf_free(&text);
    fake_end(&fake);
}

static void a_width_that_is_none_is_refused(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, "beam", COUNT_OF(plans), TUNE_GATE_ASK);
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(state->width.parents, 4);
    assert_int_equal(state->width.plans, 4);
    assert_int_equal(state->width.rewrites, 2);
    static const char *const wrong[] = {"beam:",    "beam:0",     "beam:2,2,2,2",
                                        "beam:2;2", "widely",     "beam:999",
                                        "beamer",   "beam:64,64", "beam:16,16,16"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct err err = {0};
        fake.options.search = wrong[i];
        assert_null(tune_session_open(&fake.options, fake.loop, &err));
        assert_int_equal(err.kind, ERR_USAGE);
    }
    fake_end(&fake);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lanes_of_a_parent_share_what_is_offered),
        cmocka_unit_test(the_next_round_starts_from_the_best_of_the_last),
        cmocka_unit_test(what_does_not_compile_is_repaired_in_its_lane_alone),
        cmocka_unit_test(a_plan_that_cannot_be_carried_out_closes_its_lane),
        cmocka_unit_test(each_plan_is_carried_out_more_than_once_but_the_same_is_not_run_twice),
        cmocka_unit_test(as_many_are_evaluated_at_once_as_the_place_takes),
        cmocka_unit_test(one_of_several_is_rejected_with_a_reason_and_the_others_go_on),
        cmocka_unit_test(rejecting_all_of_them_ends_the_round),
        cmocka_unit_test(another_plan_for_one_lane_is_asked_for_alone),
        cmocka_unit_test(what_is_closed_is_not_decided_about),
        cmocka_unit_test(another_while_a_lane_is_asked_puts_its_question_again),
        cmocka_unit_test(going_back_leaves_what_others_led_to_alone),
        cmocka_unit_test(a_kernel_of_ones_own_joins_and_an_edited_one_stands),
        cmocka_unit_test(undo_puts_the_lanes_back),
        cmocka_unit_test(a_greedy_round_is_one_lane),
        cmocka_unit_test(where_there_is_no_lane_nothing_is_planned),
        cmocka_unit_test(an_act_is_about_its_lane_else_about_the_first_that_waits),
        cmocka_unit_test(going_back_leaves_the_beam),
        cmocka_unit_test(a_killed_session_goes_on_with_the_lanes_that_were_not_done),
        cmocka_unit_test(random_actions_replay_to_the_same_state),
        cmocka_unit_test(the_ladder_is_of_what_was_better_than_all_before),
        cmocka_unit_test(a_width_that_is_none_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
