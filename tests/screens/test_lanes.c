/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes at the screens: which lane is shown, and that actions apply to it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "screens/acts.h"

/* What the screen of the prompt shows as it is drawn. */
static bool prompt_tells(struct views *views, const char *text) {
    struct tui_canvas *canvas = tui_canvas_new(60, 200, false);
    struct buf screen = {0};
    views_draw(views, tui_area_all(canvas), REPLAY_START_MS);
    tui_canvas_print(canvas, false, &screen);
    bool tells = strstr(screen.at, text) != NULL;
    buf_free(&screen);
    tui_canvas_free(canvas);
    return tells;
}

static void a_question_that_is_held_is_shown_as_its_own_lane_asks_it(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *state = replay_of("lanes.events", "planned", &now_ms);
    state->roles = roles;
    const char *mine = tune_lane_plan(state, 0)->title, *its = tune_lane_plan(state, 1)->title;
    tune_state_apply(state, state->seq + 1, now_ms, "step",
                     "{\"step\": \"rewrite\", \"lanes\": [0, 1]}");
    tune_state_apply(state, state->seq + 1, now_ms, "asked",
                     "{\"role\": \"rewriter\", \"model\": \"claude\", \"estimate\": 10, "
                     "\"held\": true, \"lane\": 1}");
    struct views *views = make_views(state);
    replay_keys(views, "9");
    assert_true(prompt_tells(views, "not sent yet: rewriter"));
    replay_keys(views, "Down Down Down");
    for (int i = 0; i < 12 && !prompt_tells(views, its); i++)
        replay_keys(views, "Down");
    assert_true(prompt_tells(views, its));
    assert_false(prompt_tells(views, mine));
    views_free(views);
    tune_state_free(state);
}

static void what_is_done_in_the_list_of_lanes_is_done_to_its_row(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *state = replay_of("lanes.events", "planned", &now_ms);
    struct views *views = make_views(state);
    views_set_model(views,
                    &(struct views_model){.state = state, .act = act_on_state, .context = state});
    draw_at(views, 24, 80);
    replay_keys(views, "}");
    assert_int_equal(views->lane, 1);
    replay_keys(views, "{ {"); /* round to the last one, which is closed */
    assert_int_equal(views->lane, 5);
    replay_keys(views, "r"); /* nothing is decided about that */
    said("");
    replay_keys(views, ".");
    assert_int_equal(views->lane, 0);
    replay_keys(views, "l Down Down r n o Enter");
    said("reject 2 no\n");
    assert_string_equal(state->lanes.at[2].closed, "no");
    assert_int_equal(views->lane, 3); /* to the next one that is open; the cursor stays */
    replay_keys(views, "r");
    said("");
    replay_keys(views, "Down n Enter");
    said("another 3 \n");
    assert_int_equal(tune_lane_next(state, 3), TUNE_STEP_PLAN);
    replay_keys(views, ": l a n e s Space 2 Enter");
    assert_int_equal(views->lane, 1);
    replay_keys(views, ": l a n e s Space 9 Enter q");
    assert_int_equal(views->lane, 1);
    draw_at(views, 24, 80);
    struct tui_event click = {.kind = TUI_EVENT_CLICK, .row = 2, .col = 5};
    views_event(views, &click); /* the fifth sign below the steps */
    assert_int_equal(views->lane, 4);
    said("");
    buf_free(&done);
    views_free(views);
    tune_state_free(state);
}

/* Which lane is shown belongs to each view. Nothing of it is in the log. */
static void each_view_looks_at_a_lane_of_its_own(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *state = replay_of("lanes.events", "planned", &now_ms);
    struct views *mine = views_that_act(state), *other = views_that_act(state);
    int64_t seq = state->seq;
    replay_keys(mine, "} }");
    assert_int_equal(mine->lane, 2);
    assert_int_equal(other->lane, 0);
    assert_int_equal(state->seq, seq);
    replay_keys(other, "}");
    replay_keys(mine, "r n o Enter");
    said("reject 2 no\n");
    assert_int_equal(mine->lane, 3); /* to the next one that is open */
    assert_int_equal(other->lane, 1);
    replay_keys(mine, "{"); /* to look at what was rejected */
    draw_at(mine, 24, 80);
    assert_int_equal(mine->lane, 2);
    replay_keys(other, "} }");
    replay_keys(mine, "} } u y"); /* back to what the decision was about */
    said("take-back 0 -\n");
    assert_int_equal(mine->lane, 2);
    assert_null(state->lanes.at[2].closed);
    draw_at(other, 24, 80);
    assert_int_equal(other->lane, 3);
    buf_free(&done);
    views_free(mine);
    views_free(other);
    tune_state_free(state);
}

/* A lane that came to nothing says why, until the round is over. */
static void the_lane_looked_at_is_left_with_its_round(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *state = replay_of("lanes.events", "planned", &now_ms);
    struct views *views = views_that_act(state);
    replay_keys(views, "}");
    tune_state_apply(state, state->seq + 1, now_ms, "lane_end",
                     "{\"step\": \"rewrite\", \"is\": \"failed\", \"summary\": \"no\", "
                     "\"closed\": \"no\", \"lane\": 1}");
    draw_at(views, 24, 80);
    assert_int_equal(views->lane, 1);
    tune_state_apply(state, state->seq + 1, now_ms, "act",
                     "{\"action\": \"revert\", \"attempt\": 1}");
    draw_at(views, 24, 80);
    assert_int_equal(state->lanes.len, 1);
    assert_int_equal(views->lane, 0);
    replay_keys(views, "u y"); /* the lanes are back, and so is the one that is shown */
    assert_int_equal(state->lanes.len, 6);
    assert_int_equal(views->lane, 1);
    tune_state_apply(state, state->seq + 1, now_ms, "round", "{\"round\": 3}");
    draw_at(views, 24, 80);
    assert_int_equal(views->lane, 0);
    buf_free(&done);
    views_free(views);
    tune_state_free(state);
}

int main(void) {
    acts_begin();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_question_that_is_held_is_shown_as_its_own_lane_asks_it),
        cmocka_unit_test(what_is_done_in_the_list_of_lanes_is_done_to_its_row),
        cmocka_unit_test(each_view_looks_at_a_lane_of_its_own),
        cmocka_unit_test(the_lane_looked_at_is_left_with_its_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
