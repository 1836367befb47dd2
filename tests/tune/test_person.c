// SPDX-License-Identifier: Apache-2.0
/* What a person does: gates, edits, rejections with reasons, hunks, reverts, undo and redo. The
 * state after all of it is exactly what the log replays to. */
#include "tune/apply/apply.h"
#include "tune/ask/context.h"
#include "tune/ask/testing.h"
#include "tune/fake.h"

#define SOURCE(latency, more) \
    "def kernel(): x = '''\n    # latency " latency "\n    # " more "\n'''\n"
#define ACT(...) ((struct tune_action){__VA_ARGS__})

static const struct fake_plan plans[] = {{"first", SOURCE("800", "one"), 0.4, NULL},
                                         {"second", SOURCE("700", "two"), 0.4, NULL},
                                         {"third", SOURCE("600", "three"), 0.4, NULL}};

static void begin(struct fake *fake, enum tune_gate gate) {
    fake_begin(fake, plans, COUNT_OF(plans), gate);
}

/* To the plan gate of the first round. Only the steps with something to decide ask. */
static const struct tune_state *to_plan_gate(struct fake *fake) {
    begin(fake, TUNE_GATE_AUTO);
    static const enum tune_step asked[] = {TUNE_STEP_PLAN, TUNE_STEP_REWRITE, TUNE_STEP_DECIDE};
    for (size_t i = 0; i < COUNT_OF(asked); i++)
        fake_act(fake, ACT(.kind = TUNE_ACT_SET_GATE, .step = asked[i], .gate = TUNE_GATE_ASK));
    fake_act(fake, ACT(.kind = TUNE_ACT_START));
    const struct tune_state *state = fake_state(fake);
    assert_int_equal(state->wait, TUNE_WAIT_GATE);
    assert_int_equal(state->wait_step, TUNE_STEP_PLAN);
    return state;
}

static void replay_equals_live(struct fake *fake) {
    struct buf live = {0}, again = {0};
    tune_state_print(fake_state(fake), &live);
    tune_session_close(fake->session);
    struct tune_options look = fake->options;
    look.read_only = true;
    struct err err = {0};
    struct tune_options keep = fake->options;
    fake->options = look;
    fake_open(fake);
    tune_state_print(fake_state(fake), &again);
    assert_string_equal(live.at, again.at);
    tune_session_close(fake->session);
    fake->options = keep;
    fake_open(fake);
    (void)err;
    buf_free(&live);
    buf_free(&again);
}

static void every_step_asks_with_gate_ask(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, TUNE_GATE_ASK);
    fake_act(&fake, ACT(.kind = TUNE_ACT_START));
    for (int step = 0; step < TUNE_STEPS; step++) {
        const struct tune_state *state = fake_state(&fake);
        assert_int_equal(state->wait, TUNE_WAIT_GATE);
        assert_int_equal(state->wait_step, step);
        assert_true(tune_can(state, TUNE_ANY_LANE, TUNE_ACT_APPROVE));
        fake_act(&fake, ACT(.kind = TUNE_ACT_APPROVE));
    }
    assert_int_equal(fake_state(&fake)->round, 2);
    fake_end(&fake);
}

static void auto_green_asks_only_when_it_went_wrong(void **unused) {
    (void)unused;
    static const struct fake_plan odd[] = {{"fine", SOURCE("800", "one"), 0.4, NULL},
                                           {"bad", SOURCE("1", "wrong"), 0.4, NULL}};
    struct fake fake;
    fake_begin(&fake, odd, COUNT_OF(odd), TUNE_GATE_AUTO_GREEN);
    fake_act(&fake, ACT(.kind = TUNE_ACT_START));
    const struct tune_state *state = fake_state(&fake);
    while (state->wait == TUNE_WAIT_GATE && state->wait_step != TUNE_STEP_VERIFY)
        fake_act(&fake, ACT(.kind = TUNE_ACT_APPROVE));
    assert_int_equal(state->wait, TUNE_WAIT_GATE);
    assert_int_equal(state->wait_step, TUNE_STEP_VERIFY);
    assert_string_equal(tune_lane_plan(state, 0)->title, "bad");
    fake_end(&fake);
}

static void a_rejection_pauses_and_its_reason_reaches_the_next_context(void **unused) {
    (void)unused;
    struct fake fake;
    const struct tune_state *state = to_plan_gate(&fake);
    assert_false(fake_try(&fake, ACT(.kind = TUNE_ACT_REJECT, .text = "  ")));
    fake_act(&fake, ACT(.kind = TUNE_ACT_REJECT, .text = "SBUF is needed elsewhere"));
    assert_int_equal(state->wait, TUNE_WAIT_REJECTED);
    assert_false(state->running);
    assert_int_equal(fake.proposer.asked, 1);
    fake_act(&fake, ACT(.kind = TUNE_ACT_SET_GATE, .step = TUNE_STEPS, .gate = TUNE_GATE_AUTO));
    fake_act(&fake, ACT(.kind = TUNE_ACT_START));
    assert_non_null(strstr(fake.proposer.context, "SBUF is needed elsewhere"));
    /* The revised plan is shown, although the gate is auto now. */
    assert_int_equal(state->wait, TUNE_WAIT_GATE);
    assert_int_equal(state->wait_step, TUNE_STEP_PLAN);
    assert_string_equal(tune_lane_plan(state, 0)->title, "second");
    assert_true(tune_lane_plan(state, 0)->revised);
    replay_equals_live(&fake);
    fake_end(&fake);
}

/* The next plan must not bring the same edit as a part of it. */
static void what_a_person_rejected_is_closed_within_others_too(void **unused) {
    (void)unused;
    struct fake fake;
    const struct tune_state *state = to_plan_gate(&fake);
    char key[40], longer[80];
    snprintf(key, sizeof key, "%s", tune_lane_plan(state, 0)->key);
    snprintf(longer, sizeof longer, "hoist:x.0+%s", key);
    struct tune_context *context = tune_context_build(state, 0);
    assert_null(tune_context_closed_how(context, &(struct tune_plan){.key = longer}));
    tune_context_free(context);
    fake_act(&fake, ACT(.kind = TUNE_ACT_REJECT, .text = "not that"));
    context = tune_context_build(state, 0);
    assert_non_null(tune_context_closed_how(context, &(struct tune_plan){.key = longer}));
    snprintf(longer, sizeof longer, "%s+hoist:x.0", key);
    assert_non_null(tune_context_closed_how(context, &(struct tune_plan){.key = longer}));
    snprintf(longer, sizeof longer, "%s1+hoist:x.0", key);
    assert_null(tune_context_closed_how(context, &(struct tune_plan){.key = longer}));
    tune_context_free(context);
    struct tune_closed tried = {.key = "engine:t.0:scalar"};
    assert_true(tune_closed_takes(&tried, "engine:t.0:scalar"));
    assert_false(tune_closed_takes(&tried, "hoist:x.0+engine:t.0:scalar"));
    fake_end(&fake);
}

static void a_plan_and_a_kernel_can_be_edited(void **unused) {
    (void)unused;
    struct fake fake;
    const struct tune_state *state = to_plan_gate(&fake);
    fake_act(&fake, ACT(.kind = TUNE_ACT_EDIT_PLAN, .text = "My title\n\nand what I want\n"));
    assert_string_equal(tune_lane_plan(state, 0)->title, "My title");
    assert_string_equal(tune_lane_plan(state, 0)->what, "and what I want");
    fake_act(&fake, ACT(.kind = TUNE_ACT_APPROVE));
    assert_int_equal(state->wait_step, TUNE_STEP_REWRITE);
    fake_act(&fake, ACT(.kind = TUNE_ACT_EDIT_KERNEL, .text = SOURCE("650", "mine")));
    fake_act(&fake, ACT(.kind = TUNE_ACT_APPROVE));
    assert_int_equal(state->wait_step, TUNE_STEP_DECIDE);
    assert_string_equal(tune_source(state, &state->attempts.at[1]), SOURCE("650", "mine"));
    assert_float_equal(state->attempts.at[1].latency_us, 650, 1e-9);
    assert_true(state->attempts.at[1].plan.edited);
    replay_equals_live(&fake);
    fake_end(&fake);
}

/* Even where a check failed: nothing runs that nobody looked at. */
static void an_edited_kernel_waits_at_every_gate(void **unused) {
    (void)unused;
    struct fake fake;
    const struct tune_state *state = to_plan_gate(&fake);
    fake_act(&fake,
             ACT(.kind = TUNE_ACT_SET_GATE, .step = TUNE_STEP_VERIFY, .gate = TUNE_GATE_ASK));
    fake_act(&fake, ACT(.kind = TUNE_ACT_APPROVE));
    fake_act(&fake, ACT(.kind = TUNE_ACT_EDIT_KERNEL, .text = SOURCE("650", "broken")));
    assert_int_equal(state->wait_step, TUNE_STEP_REWRITE);
    fake_act(&fake, ACT(.kind = TUNE_ACT_APPROVE));
    assert_int_equal(state->wait_step, TUNE_STEP_VERIFY);
    assert_int_equal(state->steps[TUNE_STEP_VERIFY].is, TUNE_IS_FAILED);
    fake_act(&fake, ACT(.kind = TUNE_ACT_SET_GATE, .step = TUNE_STEPS, .gate = TUNE_GATE_AUTO));
    fake_act(&fake, ACT(.kind = TUNE_ACT_EDIT_KERNEL, .text = SOURCE("640", "mine")));
    assert_int_equal(state->wait, TUNE_WAIT_GATE);
    assert_int_equal(state->wait_step, TUNE_STEP_REWRITE);
    assert_int_equal(state->steps[TUNE_STEP_VERIFY].is, TUNE_IS_WAITING);
    fake_act(&fake,
             ACT(.kind = TUNE_ACT_SET_GATE, .step = TUNE_STEP_DECIDE, .gate = TUNE_GATE_ASK));
    fake_act(&fake, ACT(.kind = TUNE_ACT_APPROVE));
    assert_int_equal(state->wait_step, TUNE_STEP_DECIDE);
    assert_float_equal(state->attempts.at[1].latency_us, 640, 1e-9);
    replay_equals_live(&fake);
    fake_end(&fake);
}

/* Only the loop's decision is taken back. Then the loop stands still, and decides again when it is
 * asked to. */
static void what_the_loop_decided_is_taken_back_alone(void **unused) {
    (void)unused;
    struct fake fake;
    struct tune_back back;
    const struct tune_state *state = to_plan_gate(&fake);
    fake_act(&fake, ACT(.kind = TUNE_ACT_APPROVE));
    fake_act(&fake, ACT(.kind = TUNE_ACT_APPROVE));
    assert_int_equal(state->wait_step, TUNE_STEP_DECIDE);
    assert_int_equal(state->attempts.at[1].status, TUNE_STATUS_KEEP);
    assert_true(tune_back_of(state, &back));
    assert_true(back.by_loop);
    assert_int_equal(back.decisions, 1);
    fake_act(&fake, ACT(.kind = TUNE_ACT_TAKE_BACK));
    assert_int_equal(state->attempts.at[1].status, TUNE_STATUS_OPEN);
    assert_int_equal(state->incumbent, 0);
    assert_int_equal(state->wait, TUNE_WAIT_PAUSED);
    fake_act(&fake, ACT(.kind = TUNE_ACT_START));
    assert_int_equal(state->attempts.at[1].status, TUNE_STATUS_KEEP);
    assert_int_equal(state->wait_step, TUNE_STEP_DECIDE);
    fake_act(&fake, ACT(.kind = TUNE_ACT_TAKE_BACK));
    fake_act(&fake, ACT(.kind = TUNE_ACT_TAKE_BACK)); /* the approval before it */
    assert_int_equal(state->wait, TUNE_WAIT_GATE);
    assert_int_equal(state->wait_step, TUNE_STEP_REWRITE);
    fake_act(&fake, ACT(.kind = TUNE_ACT_DO_AGAIN));
    fake_act(&fake, ACT(.kind = TUNE_ACT_UNDO)); /* as older sessions have it */
    assert_int_equal(state->wait_step, TUNE_STEP_REWRITE);
    replay_equals_live(&fake);
    fake_end(&fake);
}

static void hunks_can_be_left_out(void **unused) {
    (void)unused;
    struct fake fake;
    const struct tune_state *state = to_plan_gate(&fake);
    fake_act(&fake, ACT(.kind = TUNE_ACT_APPROVE));
    assert_true(tune_lane_of(state, 0)->candidate.hunks.len >= 1);
    size_t last = tune_lane_of(state, 0)->candidate.hunks.len - 1;
    assert_false(fake_try(&fake, ACT(.kind = TUNE_ACT_LEAVE_HUNK, .index = 99)));
    fake_act(&fake, ACT(.kind = TUNE_ACT_LEAVE_HUNK, .index = (int)last));
    assert_true(tune_lane_of(state, 0)->candidate.hunks.at[last].left);
    assert_string_not_equal(tune_lane_of(state, 0)->candidate.source,
                            tune_lane_of(state, 0)->candidate.proposed);
    fake_act(&fake, ACT(.kind = TUNE_ACT_LEAVE_HUNK, .index = (int)last));
    assert_string_equal(tune_lane_of(state, 0)->candidate.source,
                        tune_lane_of(state, 0)->candidate.proposed);
    for (size_t i = 0; i <= last; i++)
        fake_act(&fake, ACT(.kind = TUNE_ACT_LEAVE_HUNK, .index = (int)i));
    assert_false(fake_try(&fake, ACT(.kind = TUNE_ACT_APPROVE))); /* nothing is left to try */
    assert_int_equal(state->wait, TUNE_WAIT_GATE);
    fake_act(&fake, ACT(.kind = TUNE_ACT_LEAVE_HUNK, .index = (int)last));
    fake_act(&fake, ACT(.kind = TUNE_ACT_APPROVE));
    fake_end(&fake);
}

static char *with_returns(const char *text) {
    struct buf out = {0};
    for (; *text; text++)
        buf_puts(&out, *text == '\n' ? "\r\n" : (char[]){*text, 0});
    return buf_take(&out);
}

static void line_ends_of_an_editor_are_no_change(void **unused) {
    (void)unused;
    struct fake fake;
    const struct tune_state *state = to_plan_gate(&fake);
    fake_act(&fake, ACT(.kind = TUNE_ACT_APPROVE));
    const struct tune_candidate *candidate = &tune_lane_of(state, 0)->candidate;
    char *before = mem_strdup(candidate->proposed);
    size_t hunks = candidate->hunks.len;
    struct buf more = {0};
    buf_printf(&more, "%s# more\n", before);
    char *edited = with_returns(more.at);
    assert_non_null(strstr(edited, "# more\r\n"));
    fake_act(&fake, ACT(.kind = TUNE_ACT_EDIT_KERNEL, .text = edited));
    assert_string_equal(candidate->proposed, more.at);
    assert_true(candidate->hunks.len <= hunks + 1);
    replay_equals_live(&fake);
    free(edited);
    free(before);
    buf_free(&more);
    fake_end(&fake);
}

static void candidates_keep_the_line_ends_of_their_parent(void **unused) {
    (void)unused;
    static const struct {
        const char *parent, *source, *expected;
    } rows[] = {{"a\r\nb\r\n", "a\nc\n", "a\r\nc\r\n"},
                {"a\r\nb\r\n", "a\r\nc\n", "a\r\nc\r\n"},
                {"a\nb\n", "a\r\nc", "a\nc"},
                {"a\nb\r\n", "a\nb\r\nc\n", "a\nb\r\nc\n"}, /* it has both */
                {"a", "a\r\n", "a\r\n"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct tune_state *state = tune_state_new();
        struct tune_attempt *seed = vec_push(&state->attempts);
        *seed = (struct tune_attempt){.source_kept = rows[i].parent};
        char *ended = tune_source_ended(state, 0, rows[i].source);
        assert_string_equal(ended, rows[i].expected);
        free(ended);
        tune_state_free(state);
    }
}

/* A session of a time when candidates came as they were written. */
static void a_recorded_candidate_is_what_was_recorded(void **unused) {
    (void)unused;
    struct tune_state *state = tune_state_new();
    struct tune_attempt *seed = vec_push(&state->attempts);
    *seed = (struct tune_attempt){.source_kept = "a\r\nb\r\n"};
    tune_state_apply(state, 1, 1, "candidate",
                     "{\"source\": \"a\\nc\\n\", \"author\": \"m\", \"parent\": 0, \"repair\": 0}");
    assert_string_equal(state->lanes.at[0].candidate.proposed, "a\nc\n");
    tune_state_free(state);
}

static void what_was_left_out_is_told_with_its_reason(void **unused) {
    (void)unused;
    struct fake fake;
    const struct tune_state *state = to_plan_gate(&fake);
    fake_act(&fake, ACT(.kind = TUNE_ACT_APPROVE));
    struct buf two = {0}; /* hunks: one may be left out */
    buf_printf(&two, "%s# more\n", tune_lane_of(state, 0)->candidate.proposed);
    fake_act(&fake, ACT(.kind = TUNE_ACT_EDIT_KERNEL, .text = two.at));
    buf_free(&two);
    assert_int_equal(tune_lane_of(state, 0)->candidate.hunks.len, 2);
    size_t before = state->rejections.len;
    fake_act(&fake, ACT(.kind = TUNE_ACT_LEAVE_HUNK, .index = 0, .text = "it is right as it is"));
    fake_act(&fake, ACT(.kind = TUNE_ACT_APPROVE));
    assert_int_equal(state->rejections.len, before + 1);
    const struct tune_rejection *declined = &state->rejections.at[before];
    assert_string_equal(declined->reason, "it is right as it is");
    assert_null(declined->key); /* the plan stays possible */
    assert_non_null(strstr(declined->hunk, "+ "));
    struct tune_context *context = tune_context_build(state, 0);
    const char *text = NULL;
    for (size_t i = 0; i < context->sections.len; i++)
        if (!strcmp(context->sections.at[i].name, "declined"))
            text = context->sections.at[i].text;
    assert_non_null(text);
    assert_non_null(strstr(text, "it is right as it is\n  - "));
    tune_context_free(context);
    replay_equals_live(&fake);
    fake_act(&fake, ACT(.kind = TUNE_ACT_UNDO));
    assert_int_equal(fake_state(&fake)->rejections.len, before);
    fake_end(&fake);
}

/* To the gate after rewrite, with a candidate of two hunks, the first of them left out. */
static const struct tune_state *to_a_part(struct fake *fake) {
    const struct tune_state *state = to_plan_gate(fake);
    fake_act(fake, ACT(.kind = TUNE_ACT_APPROVE));
    struct buf two = {0};
    buf_printf(&two, "%s# more\n", tune_lane_of(state, 0)->candidate.proposed);
    fake_act(fake, ACT(.kind = TUNE_ACT_EDIT_KERNEL, .text = two.at));
    buf_free(&two);
    fake_act(fake, ACT(.kind = TUNE_ACT_LEAVE_HUNK, .index = 1));
    return state;
}

/* The steps that learn have none of their gates asked, or are approved. */
static void to_the_note(struct fake *fake, const struct tune_state *state) {
    for (int i = 0; i < 6 && !state->notes.len; i++)
        fake_act(fake, ACT(.kind = TUNE_ACT_APPROVE));
    assert_true(state->notes.len > 0);
}

static void a_part_of_a_plan_is_told_as_a_part(void **unused) {
    (void)unused;
    struct fake fake;
    const struct tune_state *state = to_a_part(&fake);
    fake_act(&fake, ACT(.kind = TUNE_ACT_APPROVE));
    const struct tune_attempt *attempt = &state->attempts.at[1];
    assert_int_equal(attempt->left_out, 1);
    assert_int_equal(attempt->hunks, 2);
    fake_act(&fake, ACT(.kind = TUNE_ACT_OVERRULE, .text = "revert"));
    to_the_note(&fake, state);
    attempt = &state->attempts.at[1];
    assert_non_null(strstr(state->notes.at[0].lesson, "Only 1 of 2 hunks was tried"));
    assert_int_not_equal(state->notes.at[0].diagnosis, TUNE_ANSWER_NO);
    for (size_t i = 0; i < state->memory.len; i++) {
        assert_non_null(strstr(state->memory.at[i].summary, "Only 1 of 2 hunks was tried"));
        assert_null(state->memory.at[i].key);
    }
    struct tune_context *context = tune_context_build(state, 0);
    const char *how = tune_context_closed_how(context, &attempt->plan), *tried = NULL;
    assert_non_null(how);
    assert_non_null(strstr(how, "without 1 of its 2 hunks"));
    for (size_t i = 0; i < context->sections.len; i++)
        if (!strcmp(context->sections.at[i].name, "tried before"))
            tried = context->sections.at[i].text;
    assert_non_null(tried);
    assert_non_null(strstr(tried, "Only 1 of 2 hunks was tried"));
    tune_context_free(context);
    replay_equals_live(&fake);
    fake_end(&fake);
}

static void what_is_undone_and_rejected_teaches_nothing(void **unused) {
    (void)unused;
    struct fake fake;
    const struct tune_state *state = to_plan_gate(&fake);
    fake_act(&fake, ACT(.kind = TUNE_ACT_APPROVE));
    fake_act(&fake, ACT(.kind = TUNE_ACT_APPROVE));
    assert_int_equal(state->attempts.at[1].status, TUNE_STATUS_KEEP);
    to_the_note(&fake, state);
    for (int i = 0; i < 9 && !(state->wait_step == TUNE_STEP_PLAN && state->round == 1); i++)
        fake_act(&fake, ACT(.kind = TUNE_ACT_TAKE_BACK));
    assert_int_equal(state->round, 1);
    fake_act(&fake, ACT(.kind = TUNE_ACT_REJECT, .text = "not this way"));
    assert_int_equal(state->attempts.at[1].status, TUNE_STATUS_REJECTED);
    assert_true(state->notes.at[0].dropped);
    for (size_t i = 0; i < state->memory.len; i++)
        assert_int_equal(state->memory.at[i].is, TUNE_EXPERIENCE_DELETED);
    replay_equals_live(&fake);
    fake_end(&fake);
}

static void undo_and_redo_go_through_decisions(void **unused) {
    (void)unused;
    struct fake fake;
    const struct tune_state *state = to_plan_gate(&fake);
    int before = state->undo_count;
    fake_act(&fake, ACT(.kind = TUNE_ACT_APPROVE));
    assert_int_equal(state->undo_count, before + 1);
    assert_non_null(strstr(state->undo_what, "approve (plan"));
    fake_act(&fake, ACT(.kind = TUNE_ACT_UNDO));
    assert_int_equal(state->wait, TUNE_WAIT_GATE);
    assert_int_equal(state->wait_step, TUNE_STEP_PLAN);
    assert_int_equal(state->steps[TUNE_STEP_REWRITE].is, TUNE_IS_WAITING);
    fake_act(&fake, ACT(.kind = TUNE_ACT_REDO));
    assert_int_equal(state->wait_step, TUNE_STEP_REWRITE);
    fake_act(&fake, ACT(.kind = TUNE_ACT_APPROVE));
    assert_int_equal(state->wait_step, TUNE_STEP_DECIDE);
    assert_int_equal(state->incumbent, 1);
    fake_act(&fake, ACT(.kind = TUNE_ACT_OVERRULE, .text = "revert"));
    assert_int_equal(state->incumbent, 0);
    assert_int_equal(state->best, 0);
    fake_act(&fake, ACT(.kind = TUNE_ACT_UNDO));
    assert_int_equal(state->incumbent, 1);
    assert_int_equal(state->attempts.at[1].status, TUNE_STATUS_KEEP);
    replay_equals_live(&fake);
    fake_end(&fake);
}

static void undo_while_a_job_runs_gives_the_job_up(void **unused) {
    (void)unused;
    struct fake fake;
    const struct tune_state *state = to_plan_gate(&fake);
    fake_act(&fake, ACT(.kind = TUNE_ACT_APPROVE));
    fake.place.slow = true;
    assert_true(fake_try(&fake, ACT(.kind = TUNE_ACT_APPROVE)));
    assert_true(loop_run_until_idle(fake.loop, 60000));
    assert_int_equal(state->steps[TUNE_STEP_VERIFY].is, TUNE_IS_RUNNING);
    assert_true(tune_session_is_busy(fake.session));
    fake_act(&fake, ACT(.kind = TUNE_ACT_UNDO));
    assert_null(fake.place.runs);
    assert_int_equal(state->wait_step, TUNE_STEP_REWRITE);
    fake.place.slow = false;
    fake_act(&fake, ACT(.kind = TUNE_ACT_APPROVE));
    assert_int_equal(state->wait_step, TUNE_STEP_DECIDE);
    fake_end(&fake);
}

static void going_back_to_an_attempt_goes_on_from_it(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, TUNE_GATE_AUTO);
    fake_act(&fake, ACT(.kind = TUNE_ACT_START));
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(state->incumbent, 3);
    fake_act(&fake, ACT(.kind = TUNE_ACT_SET_GATE, .step = TUNE_STEPS, .gate = TUNE_GATE_ASK));
    fake_act(&fake, ACT(.kind = TUNE_ACT_REVERT, .attempt = 1));
    assert_int_equal(state->incumbent, 1);
    assert_int_equal(state->attempts.len, 4);
    assert_false(fake_try(&fake, ACT(.kind = TUNE_ACT_REVERT, .attempt = 44)));
    fake_act(&fake, ACT(.kind = TUNE_ACT_WRITE_KERNEL, .text = SOURCE("555", "by hand")));
    for (int i = 0; i < 3; i++)
        fake_act(&fake, ACT(.kind = TUNE_ACT_APPROVE));
    const struct tune_attempt *mine = &state->attempts.at[4];
    assert_int_equal(mine->parent, 1);
    assert_string_equal(mine->author, "you");
    assert_int_equal(mine->status, TUNE_STATUS_KEEP);
    assert_int_equal(mine->plan.held, TUNE_ANSWER_UNKNOWN); /* who predicts nothing cannot fail */
    assert_int_equal(state->incumbent, 4);
    fake_act(&fake, ACT(.kind = TUNE_ACT_OVERRULE, .attempt = 2, .text = "suspect"));
    assert_int_equal(state->attempts.at[2].status, TUNE_STATUS_SUSPECT);
    replay_equals_live(&fake);
    fake_end(&fake);
}

static void notes_and_memory_are_the_persons(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, TUNE_GATE_AUTO);
    fake_act(&fake, ACT(.kind = TUNE_ACT_START));
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(state->notes.len, 3);
    assert_int_equal(state->memory.len, 3);
    fake_act(&fake, ACT(.kind = TUNE_ACT_EDIT_NOTE, .index = 0, .text = "what I learnt"));
    fake_act(&fake, ACT(.kind = TUNE_ACT_DROP_NOTE, .index = 1));
    fake_act(&fake, ACT(.kind = TUNE_ACT_APPROVE_MEMORY, .index = 2));
    fake_act(&fake, ACT(.kind = TUNE_ACT_DELETE_MEMORY, .index = 0));
    struct tune_context *context = tune_context_build(state, 0);
    struct buf text = {0};
    tune_context_print(context, &text);
    assert_non_null(strstr(text.at, "what I learnt"));
    assert_null(strstr(text.at, state->notes.at[1].lesson));
    assert_non_null(strstr(text.at, "# memory"));
    buf_free(&text);
    tune_context_free(context);
    fake_act(&fake, ACT(.kind = TUNE_ACT_UNDO));
    assert_int_equal(state->memory.at[0].is, TUNE_EXPERIENCE_PROPOSED);
    fake_act(&fake, ACT(.kind = TUNE_ACT_UNDO));
    assert_int_equal(state->memory.at[2].is, TUNE_EXPERIENCE_PROPOSED);
    replay_equals_live(&fake);
    fake_end(&fake);
}

static void settings_are_checked_and_undone(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, TUNE_GATE_AUTO);
    const struct tune_state *state = fake_state(&fake);
    assert_false(fake_try(&fake, ACT(.kind = TUNE_ACT_SET_TOLERANCE, .number = 7)));
    assert_false(fake_try(&fake, ACT(.kind = TUNE_ACT_SET_TOLERANCE, .number = NAN)));
    assert_false(fake_try(&fake, ACT(.kind = TUNE_ACT_SET_BUDGET, .index = 77, .number = 1)));
    assert_false(fake_try(&fake, ACT(.kind = TUNE_ACT_APPROVE)));
    assert_false(fake_try(&fake, ACT(.kind = TUNE_ACTIONS)));
    fake_act(&fake, ACT(.kind = TUNE_ACT_SET_TOLERANCE, .number = 1e-3));
    fake_act(&fake, ACT(.kind = TUNE_ACT_SET_BUDGET, .index = TUNE_BUDGET_DOLLARS, .number = 2));
    fake_act(&fake, ACT(.kind = TUNE_ACT_UNDO));
    assert_true(isnan(state->budgets[TUNE_BUDGET_DOLLARS].limit));
    assert_float_equal(state->tolerance, 1e-3, 1e-12);
    fake_end(&fake);
}

static void a_pause_lets_the_step_end(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, TUNE_GATE_AUTO);
    fake.place.slow = true;
    assert_true(fake_try(&fake, ACT(.kind = TUNE_ACT_START)));
    assert_true(loop_run_until_idle(fake.loop, 60000));
    assert_true(fake_try(&fake, ACT(.kind = TUNE_ACT_PAUSE)));
    const struct tune_state *state = fake_state(&fake);
    fake.place.runs->timer = loop_timer_start(fake.loop, 0, 0, fake_finish, fake.place.runs);
    fake_settle(&fake);
    assert_int_equal(state->steps[TUNE_STEP_PROFILE].is, TUNE_IS_OK);
    assert_int_equal(state->steps[TUNE_STEP_PLAN].is, TUNE_IS_WAITING);
    assert_int_equal(state->wait, TUNE_WAIT_PAUSED);
    fake_end(&fake);
}

/* Whatever is done in whatever order, nothing crashes, and the log replays to the same state. */
static void random_actions_replay_to_the_same_state(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, TUNE_GATE_ASK);
    fake_act_at_random(&fake, 12, 250);
    assert_true(fake_state(&fake)->attempts.len > 3);
    replay_equals_live(&fake);
    fake_end(&fake);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_step_asks_with_gate_ask),
        cmocka_unit_test(auto_green_asks_only_when_it_went_wrong),
        cmocka_unit_test(a_rejection_pauses_and_its_reason_reaches_the_next_context),
        cmocka_unit_test(what_a_person_rejected_is_closed_within_others_too),
        cmocka_unit_test(a_plan_and_a_kernel_can_be_edited),
        cmocka_unit_test(an_edited_kernel_waits_at_every_gate),
        cmocka_unit_test(what_the_loop_decided_is_taken_back_alone),
        cmocka_unit_test(hunks_can_be_left_out),
        cmocka_unit_test(line_ends_of_an_editor_are_no_change),
        cmocka_unit_test(candidates_keep_the_line_ends_of_their_parent),
        cmocka_unit_test(a_recorded_candidate_is_what_was_recorded),
        cmocka_unit_test(what_was_left_out_is_told_with_its_reason),
        cmocka_unit_test(a_part_of_a_plan_is_told_as_a_part),
        cmocka_unit_test(what_is_undone_and_rejected_teaches_nothing),
        cmocka_unit_test(undo_and_redo_go_through_decisions),
        cmocka_unit_test(undo_while_a_job_runs_gives_the_job_up),
        cmocka_unit_test(going_back_to_an_attempt_goes_on_from_it),
        cmocka_unit_test(notes_and_memory_are_the_persons),
        cmocka_unit_test(settings_are_checked_and_undone),
        cmocka_unit_test(a_pause_lets_the_step_end),
        cmocka_unit_test(random_actions_replay_to_the_same_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
