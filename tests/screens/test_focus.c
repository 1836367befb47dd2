/* SPDX-License-Identifier: Apache-2.0 */
/* What a person has to see is in sight: the pane where there is something to do, the line that is
 * wrong, the hunk they were at; and what is said of it is true now. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "screens/acts.h"
#include "views/workbench/private.h"

static void happens(struct tune_state *state, const char *type, const char *payload) {
    tune_state_apply(state, state->seq + 1, REPLAY_START_MS, type, payload);
}

static struct views *views_at(const char *stop, struct tune_state **state) {
    int64_t now_ms = 0;
    *state = replay_until(stop, &now_ms);
    return views_that_act(*state);
}

static void over(struct views *views, struct tune_state *state) {
    buf_free(&done);
    views_free(views);
    tune_state_free(state);
}

/* The kernel that a person brings does not compile. */
static void a_wrong_seed_leads_to_its_line(void **unused) {
    (void)unused;
    static const struct { int rows, cols; } sizes[] = {{40, 120}, {24, 80}};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct tune_state *state;
        struct views *views = views_at("profiling", &state);
        draw_at(views, sizes[i].rows, sizes[i].cols);
        happens(state, "diagnostic",
                "{\"attempt\": 0, \"severity\": \"error\", \"code\": \"\", \"file\": "
                "\"kernel.py\", \"line\": 41, \"column\": 5, \"message\": \"nothing is read\"}");
        happens(state, "step_end",
                "{\"step\": \"profile\", \"is\": \"failed\", \"summary\": \"wrong\"}");
        happens(state, "stop", "{\"text\": \"the seed kernel itself is wrong\"}");
        draw_at(views, sizes[i].rows, sizes[i].cols);
        assert_int_equal(views->view, VIEW_WORKBENCH); /* there is nothing to sum up */
        assert_int_equal(workbench_of(views)->pane, PANE_DEVICE);
        replay_keys(views, "Enter");
        draw_at(views, sizes[i].rows, sizes[i].cols);
        assert_int_equal(views->view, VIEW_KERNEL);
        assert_true(shows(views, "", " line 41   error: nothing is read"));
        replay_keys(views, "1 Tab"); /* a person who goes elsewhere stays there */
        draw_at(views, sizes[i].rows, sizes[i].cols);
        assert_int_equal(workbench_of(views)->pane, PANE_PROFILE);
        over(views, state);
    }
}

/* Wrong numbers are traced by notes, and the first has no line. */
static void wrong_numbers_lead_to_their_line(void **unused) {
    (void)unused;
    struct tune_state *state;
    struct views *views = views_at("profiling", &state);
    draw_at(views, 40, 120);
    happens(state, "diagnostic",
            "{\"attempt\": 0, \"severity\": \"note\", \"code\": \"hone-wrong-numbers\", "
            "\"file\": \"kernel.py\", \"line\": 0, \"column\": 0, \"message\": \"all wrong\"}");
    happens(state, "diagnostic",
            "{\"attempt\": 0, \"severity\": \"note\", \"code\": \"hone-not-a-number\", "
            "\"file\": \"kernel.py\", \"line\": 41, \"column\": 5, \"message\": \"first NaN\"}");
    happens(state, "step_end",
            "{\"step\": \"profile\", \"is\": \"failed\", \"summary\": \"wrong\"}");
    happens(state, "stop", "{\"text\": \"the seed kernel itself is wrong\"}");
    draw_at(views, 40, 120);
    assert_int_equal(workbench_of(views)->pane, PANE_DEVICE);
    replay_keys(views, "Enter");
    draw_at(views, 40, 120);
    assert_int_equal(views->view, VIEW_KERNEL);
    assert_true(shows(views, "", " line 41   note: first NaN"));
    over(views, state);
}

static void finds(struct tune_state *state, const char *severity, int line, const char *message) {
    struct buf json = {0};
    buf_printf(&json,
               "{\"attempt\": 0, \"severity\": \"%s\", \"code\": \"\", \"file\": \"kernel.py\", "
               "\"line\": %d, \"column\": %d, \"message\": \"%s\"}",
               severity, line, line ? 5 : 0, message);
    happens(state, "diagnostic", json.at);
    buf_free(&json);
}

/* Seeds that come out wrong name no line; what is suspected of it does, and a warning of before
 * is not what made it. */
static void wrong_numbers_lead_to_what_is_suspected(void **unused) {
    (void)unused;
    static const struct { int rows, cols; } sizes[] = {{40, 120}, {24, 80}};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct tune_state *state;
        struct views *views = views_at("profiling", &state);
        draw_at(views, sizes[i].rows, sizes[i].cols);
        finds(state, "warning", 30, "a slice of one column");
        happens(state, "log",
                "{\"phase\": \"verify\", \"text\": \"seed 0  rel-L2 2.9e-01  wrong\", \"level\": "
                "\"error\", \"attempt\": 0}");
        finds(state, "note", 0, "output 0: 7 of 8 elements are wrong");
        for (int k = 0; k < 20; k++)
            finds(state, "note", 41 + k % 3, k ? "another suspect" : "suspect 1: this product");
        happens(state, "step_end",
                "{\"step\": \"profile\", \"is\": \"failed\", \"summary\": \"wrong\"}");
        happens(state, "stop", "{\"text\": \"the seed kernel itself is wrong\"}");
        draw_at(views, sizes[i].rows, sizes[i].cols);
        assert_int_equal(workbench_of(views)->pane, PANE_DEVICE);
        assert_true(shows(views, "", "seed 0  rel-L2 2.9e-01  wrong"));
        assert_true(shows(views, "", "kernel.py: note: output 0: 7 of")); /* of no line */
        assert_true(shows(views, "Enter", " line 41   note: suspect 1: this product"));
        assert_int_equal(views->view, VIEW_KERNEL);
        over(views, state);
    }
}

/* Also when it is opened again: a seed kernel that is wrong leaves nothing to sum up. */
static void a_wrong_seed_kernel_leads_there_again(void **unused) {
    (void)unused;
    struct tune_state *state;
    struct views *views = views_at("profiling", &state);
    finds(state, "note", 0, "output 0: 7 of 8 elements are wrong");
    finds(state, "note", 41, "suspect 1: this product");
    happens(state, "log",
            "{\"phase\": \"verify\", \"text\": \"seed 0  rel-L2 2.9e-01  wrong\", \"level\": "
            "\"error\", \"attempt\": 0}");
    happens(state, "measured", "{\"attempt\": 0, \"latency_us\": 1355.0, \"modelled\": true}");
    happens(state, "decided", "{\"attempt\": 0, \"status\": \"failed\", \"reason\": \"wrong\"}");
    happens(state, "step_end",
            "{\"step\": \"profile\", \"is\": \"failed\", \"summary\": \"wrong\"}");
    happens(state, "stop", "{\"text\": \"the seed kernel itself is wrong\"}");
    views_free(views);
    views = views_that_act(state); /* the next time hone is started */
    draw_at(views, 24, 80);
    assert_int_equal(views->view, VIEW_WORKBENCH);
    assert_int_equal(workbench_of(views)->pane, PANE_DEVICE);
    assert_true(shows(views, "Enter", " line 41   note: suspect 1: this product"));
    over(views, state);
}

/* An error of an attempt that was repaired since is no reason to look there. */
static void an_old_finding_does_not_take_the_focus(void **unused) {
    (void)unused;
    struct tune_state *state;
    struct views *views = views_at("rewritten", &state);
    draw_at(views, 40, 120);
    assert_int_equal(workbench_of(views)->pane, PANE_PROPOSAL);
    over(views, state);
}

/* A line that is come to from elsewhere has lines around it, whatever the size. */
static void a_line_stands_a_third_below_the_top(void **unused) {
    (void)unused;
    struct tui_list list = {0};
    tui_list_fit(&list, 300, 18);
    tui_list_aim(&list, 200);
    tui_list_fit(&list, 300, 18);
    assert_int_equal(list.top, 194);
    tui_list_fit(&list, 300, 30); /* the same in another window */
    assert_int_equal(list.top, 190);
    tui_list_move(&list, TUI_MOVE_DOWN);
    tui_list_fit(&list, 300, 30);
    assert_int_equal(list.top, 190);
    assert_int_equal(list.cursor, 201);
    tui_list_aim(&list, 298);
    tui_list_fit(&list, 300, 30);
    assert_int_equal(list.top, 270);
    tui_list_aim(&list, 2);
    tui_list_fit(&list, 300, 30);
    assert_int_equal(list.top, 0);
}

/* The gate speaks of what would be taken now, and so does the step. */
static void the_gate_says_what_is_taken_now(void **unused) {
    (void)unused;
    struct tune_state *state;
    struct err err;
    struct views *views = views_at("rewritten", &state);
    assert_true(shows(views, "", "◆ rewrite: +6 -1"));
    assert_true(shows(views, "h Space", "◆ rewrite: +1 -1 in 1 hunk, 1 left out"));
    assert_true(shows(views, "Esc [", "+1 -1 in 1 hunk, 1 left out"));
    assert_true(shows(views, "h Space Esc", "◆ rewrite: +6 -1"));
    replay_keys(views, "e");
    struct buf text = {0};
    buf_printf(&text, "# mine\n%s", views->editing.text.at);
    assert_true(views_edited(views, text.at, &err));
    assert_true(shows(views, "", "◆ rewrite: +7 -1 in 3 hunks, edited by you"));
    buf_free(&text);
    over(views, state);
}

/* Who leaves out what another hunk needs hears it with the key, and again while it is so. */
static void what_is_left_holds_together(void **unused) {
    (void)unused;
    struct tune_state *state;
    struct views *views = views_at("rewritten", &state);
    assert_true(shows(views, "", "◆ rewrite: +6 -1"));
    assert_true(shows(views, "h Space", "line 42: nothing defines 'w_all' there"));
    assert_false(shows(views, "Space", "nothing defines"));
    assert_true(shows(views, "n Space", "left out; :take WHY"));
    assert_true(shows(views, "p Space", "left out; :take WHY")); /* neither is there now */
    over(views, state);
}

/* Going through hunks, a long one is read to its end, and its head stays above it; h begins with
 * the one under the cursor. What is cut is marked, in one that is left out, too. */
static void a_long_hunk_is_read_to_its_end(void **unused) {
    (void)unused;
    struct tune_state *state;
    struct err err;
    struct views *views = views_at("rewritten", &state);
    replay_keys(views, "e");
    struct buf text = {0};
    for (int i = 0; i < 90; i++)
        buf_printf(&text, "# mine %d%s\n", i,
                   i == 88 ? ", and this goes on and on and on, on and on" : "");
    buf_puts(&text, views->editing.text.at);
    assert_true(views_edited(views, text.at, &err));
    assert_true(shows(views, "", "in 3 hunks, edited by you"));
    assert_true(shows(views, "h", "hunk 1/3"));
    assert_true(shows(views, "PageDown PageDown PageDown PageDown PageDown PageDown", "# mine 89"));
    assert_true(shows(views, "", "hunk 1/"));
    assert_true(shows(views, "Space", "hunk 1/3 ✗ left out"));
    assert_true(shows(views, "", "# mine 88, and this goes on and on and on, on and …"));
    assert_true(shows(views, "Space n", "hunk 2/3 ✓"));
    assert_true(shows(views, "Down", "hunk 3/3 ✓"));
    assert_true(shows(views, "Esc", "hunk 3/3 ✓"));
    assert_true(shows(views, "h Space", "hunk 3/3 ✗ left out"));
    buf_free(&text);
    over(views, state);
}

/* Numbers of long sessions are whole, on every screen that has a column of them. */
static void long_numbers_are_whole(void **unused) {
    (void)unused;
    static const struct {
        const char *keys, *text;
    } rows[] = {
        {"7 G", " #10234 "},
        {"6 G", " round 10234 "},
        {"9 Tab G", "10234 ✓ "},
        {"1 b", "#10234 "},
    };
    struct tune_state *state;
    struct views *views = views_at("measured", &state);
    while (state->attempts.len <= 10234) {
        struct buf json = {0};
        buf_printf(&json,
                   "{\"attempt\": %zu, \"parent\": 0, \"round\": 10234, \"source\": \"#\", "
                   "\"author\": \"you\"}",
                   state->attempts.len);
        happens(state, "attempt", json.at);
        buf_free(&json);
    }
    happens(state, "measured", "{\"attempt\": 10234, \"latency_us\": 600.5}");
    happens(state, "decided", "{\"attempt\": 10234, \"status\": \"keep\", \"reason\": \"-\"}");
    happens(state, "round", "{\"round\": 10234}");
    happens(state, "note", "{\"round\": 10234, \"attempt\": 10234, \"lesson\": \"x\"}");
    while (state->calls.len <= 10234)
        *vec_push(&state->calls) = (struct tune_call){
            .ended_ms = 1, .role = "planner", .model = "m", .lane = -1, .mends = -1};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_true(shows(views, rows[i].keys, rows[i].text));
    state->calls.len = 0; /* they own nothing */
    over(views, state);
}

/* Files that changed on disk come first: title and status say so, and the keys of the gate ask. */
static void changed_files_wait_in_title_and_status(void **unused) {
    (void)unused;
    static const char changed[] =
        "{\"files\": [{\"name\": \"kernel.py\", \"was\": \"00000000000000000000000000000000\", "
        "\"now\": \"11111111111111111111111111111111\", \"diff\": \"+x\"}]}";
    static const char *const stops[] = {"rewritten", "kept", "stopped"};
    for (size_t i = 0; i < COUNT_OF(stops); i++) {
        struct tune_state *state;
        struct views *views = views_at(stops[i], &state);
        struct buf title = {0};
        happens(state, "changed", changed);
        assert_true(shows(views, "", "kernel.py changed on disk"));
        assert_int_equal(views->over.is, OVERLAY_CHANGED);
        assert_true(
            shows(views, "Esc 1", "◆ files: kernel.py changed on disk; s asks which to use"));
        assert_true(shows(views, "", "waits for you: files"));
        assert_true(views_title(views, &title));
        assert_non_null(strstr(title.at, "waits for you: files"));
        assert_true(shows(views, "s", "t uses the new file"));
        assert_true(shows(views, "Esc a", "t uses the new file")); /* and nothing is approved */
        said("");
        replay_keys(views, "k");
        assert_int_equal(state->changed.len, 0);
        buf_free(&title);
        over(views, state);
    }
}

/* Whoever proposed them in whatever order. */
static void plans_stand_by_the_latency_they_predict(void **unused) {
    (void)unused;
    struct tune_state *state;
    struct views *views = views_at("planned", &state);
    happens(state, "plans",
            "{\"plans\": ["
            "{\"key\": \"a\", \"title\": \"first\", \"author\": \"x\", \"latency\": -0.1},"
            "{\"key\": \"b\", \"title\": \"unsaid\", \"author\": \"x\"},"
            "{\"key\": \"c\", \"title\": \"best\", \"author\": \"x\", \"metric\": \"latency\", "
            "\"direction\": \"down\", \"size\": 0.4},"
            "{\"key\": \"d\", \"title\": \"tied\", \"author\": \"x\", \"latency\": -0.1}]}");
    assert_int_equal(state->plans.len, 4);
    assert_true(shows(views, "P", "plans, by the latency they predict"));
    static const char *const order[] = {"best", "first", "tied", "unsaid"};
    for (size_t i = 0; i < COUNT_OF(order); i++)
        assert_string_equal(views->over.rows.at[i].name, order[i]);
    int at = tui_menu_chosen(&views->over.menu); /* the cursor begins on the plan that it is */
    assert_int_equal(at, tune_lane_of(state, 0)->plan);
    assert_string_equal(state->plans.at[at].title, "first");
    replay_keys(views, "Up Enter");
    assert_string_equal(tune_lane_plan(state, 0)->title, "best");
    assert_true(shows(views, "P", "plans, by the latency they predict"));
    assert_string_equal(state->plans.at[tui_menu_chosen(&views->over.menu)].title, "best");
    over(views, state);
}

/* n goes on with what was searched on the screen that it is pressed on. */
static void a_search_belongs_to_its_screen(void **unused) {
    (void)unused;
    struct tune_state *state;
    struct views *views = views_at("kept", &state);
    replay_keys(views, "7 / s b u f Enter");
    assert_true(find_any(views));
    replay_keys(views, "5");
    assert_false(find_any(views));
    replay_keys(views, "n");
    assert_false(shows(views, "", "'sbuf' occurs nowhere here"));
    replay_keys(views, "/ z z z Enter");
    assert_true(shows(views, "", "'zzz' occurs nowhere here"));
    replay_keys(views, "7 n");
    assert_string_equal(views->searched[views->view].text.at, "sbuf");
    assert_false(shows(views, "", "occurs nowhere here"));
    over(views, state);
}

/* One column or two: the cursor is at the same line. */
static void the_cursor_keeps_its_line_across_columns(void **unused) {
    (void)unused;
    struct tune_state *state;
    struct views *views = views_at("rewritten", &state);
    const struct diff *diff = &workbench_of(views)->diff;
    const struct tui_list *list = &workbench_of(views)->panes[PANE_PROPOSAL];
    draw_at(views, 40, 120);
    for (int row = 0; row < 22; row++) {
        replay_keys(views, "z d");
        draw_at(views, 40, 120);
        draw_at(views, 40, 120);
        assert_true(diff_has_sides(views));
        replay_keys(views, row ? "Home Down" : "Home");
        for (int i = 1; i < row; i++)
            replay_keys(views, "Down");
        struct diff_row two = diff->sides.at[list->cursor];
        replay_keys(views, "z");
        draw_at(views, 40, 120);
        assert_false(diff_has_sides(views));
        struct diff_row one = diff->unified.at[list->cursor];
        assert_int_equal(one.kind == DIFF_HEAD, two.kind == DIFF_HEAD);
        if (two.kind == DIFF_HEAD)
            assert_int_equal(one.hunk, two.hunk);
        else if (two.new_line)
            assert_int_equal(one.new_line, two.new_line);
        else
            assert_int_equal(one.old_line, two.old_line);
        assert_true(list->cursor >= list->top && list->cursor < list->top + list->rows);
        views->side_by_side = false;
    }
    over(views, state);
}

/* What all lines of a hunk are indented by is not shown where one of them would be cut. */
static void indentation_makes_room(void **unused) {
    (void)unused;
    struct tune_state *state;
    struct views *views = views_at("rewritten", &state);
    assert_true(shows(views, "", "  44   for n in nl.affine_range"));
    assert_true(shows(views, "z", "  44           for n in nl.affine_range"));
    over(views, state);
}

/* K says what the metric under the cursor is. */
static void a_metric_is_explained_where_it_stands(void **unused) {
    (void)unused;
    struct tune_state *state;
    struct views *views = views_at("kept", &state);
    draw_at(views, 40, 120);
    replay_keys(views, "Tab Tab");
    assert_int_equal(workbench_of(views)->pane, PANE_PROFILE);
    draw_at(views, 40, 120);
    assert_true(shows(views, "Down K", "HBM read (hbm_read_bytes)"));
    assert_true(shows(views, "q End K", "DMA"));
    assert_int_equal(views->over.is, OVERLAY_TEXT);
    over(views, state);
}

/* A plan that was turned down says so until there is another one. */
static void a_rejected_plan_stays_rejected(void **unused) {
    (void)unused;
    struct tune_state *state;
    struct views *views = views_at("planned", &state);
    assert_true(shows(views, "r t o o Space b i g Enter", "rejected  too big"));
    happens(state, "act", "{\"action\": \"start\"}");
    happens(state, "step", "{\"step\": \"plan\"}");
    assert_int_equal(state->steps[TUNE_STEP_PLAN].is, TUNE_IS_RUNNING);
    assert_true(shows(views, "", "rejected  too big"));
    happens(state, "plans",
            "{\"plans\": [{\"key\": \"other\", \"title\": \"another\", \"author\": \"x\"}]}");
    happens(state, "step_end", "{\"step\": \"plan\", \"is\": \"ok\", \"summary\": \"1 plan\"}");
    assert_true(shows(views, "", "another"));
    assert_false(shows(views, "", "rejected  too big"));
    over(views, state);
}

/* Who leaves the question about the precision has answered it: it stays as it is, for good. */
static void the_question_of_precision_comes_once(void **unused) {
    (void)unused;
    static const struct {
        const char *keys, *act;
    } ways[] = {{"Esc", "precision 0 keep\n"}, {"Down Enter", "precision 0 split\n"}};
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        struct tune_state *state;
        struct views *views = views_at("planned", &state);
        *vec_push(&state->origins) = (struct tune_origin){.name = "precision", .text = "default"};
        happens(state, "offer", "{\"keep_us\": 900, \"split_us\": 500, \"any_us\": 400}");
        draw_at(views, 24, 80);
        assert_int_equal(views->over.is, OVERLAY_MENU);
        replay_keys(views, "a");
        said(""); /* letters were meant for what lies below */
        replay_keys(views, ways[i].keys);
        said(ways[i].act);
        assert_int_equal(views->over.is, OVERLAY_NONE);
        views_free(views);
        views = views_that_act(state); /* the next time hone is started */
        draw_at(views, 24, 80);
        assert_int_equal(views->over.is, OVERLAY_NONE);
        over(views, state);
    }
}

/* The list begins at what is set, and a word that was typed is answered like one of the list. */
static void the_precision_is_said_whichever_way_it_is_set(void **unused) {
    (void)unused;
    struct tune_state *state;
    struct views *views = views_at("planned", &state);
    happens(state, "act", "{\"action\": \"precision\", \"text\": \"split\"}");
    replay_keys(views, ": p r e c i s i o n Enter");
    assert_true(shows(views, "", "› now       split"));
    replay_keys(views, "Esc : p r e c i s i o n Space k e e p Enter");
    said("precision 0 keep\n");
    assert_true(shows(views, "", "precision keep: never in narrower types"));
    over(views, state);
}

/* At 80 columns the first kernel's evaluation is looked at, not a proposal that is not there. */
static void the_first_evaluation_shows_on_a_small_screen(void **unused) {
    (void)unused;
    struct tune_state *state;
    struct views *views = views_at("profiling", &state);
    happens(state, "log", "{\"phase\": \"benchmark\", \"text\": \"1.25 ms (modelled)\"}");
    assert_true(shows_at(views, 24, 80, "", "1.25 ms (modelled)"));
    assert_false(shows_at(views, 24, 80, "Tab", "1.25 ms (modelled)"));
    over(views, state);
}

/* Why the kernel takes its time is closed before the screen that it was opened on. */
static void esc_closes_one_thing_of_the_profile(void **unused) {
    (void)unused;
    struct tune_state *state;
    struct views *views = views_at("kept", &state);
    assert_true(shows(views, "5 W", "critical path"));
    assert_true(shows(views, "Esc", "cost per line"));
    replay_keys(views, "Esc");
    assert_int_equal(views->view, VIEW_WORKBENCH);
    over(views, state);
}

/* Until a person was asked, a decision is the loop's proposal. */
static void what_waits_at_its_gate_is_not_kept_yet(void **unused) {
    (void)unused;
    struct tune_state *state;
    struct views *views = views_at("verifying", &state);
    state->steps[TUNE_STEP_DECIDE].gate = TUNE_GATE_ASK;
    happens(state, "step", "{\"step\": \"decide\"}");
    happens(state, "decided", "{\"attempt\": 3, \"status\": \"keep\", \"reason\": \"faster\"}");
    happens(state, "step_end", "{\"step\": \"decide\", \"is\": \"ok\", \"summary\": \"keep\"}");
    assert_int_equal(state->wait, TUNE_WAIT_GATE);
    assert_true(shows(views, "7", "#3   ? keep"));
    happens(state, "act", "{\"action\": \"approve\"}");
    assert_true(shows(views, "7", "#3   ✓ keep"));
    over(views, state);
}

int main(void) {
    acts_begin();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_seed_leads_to_its_line),
        cmocka_unit_test(wrong_numbers_lead_to_their_line),
        cmocka_unit_test(wrong_numbers_lead_to_what_is_suspected),
        cmocka_unit_test(a_wrong_seed_kernel_leads_there_again),
        cmocka_unit_test(an_old_finding_does_not_take_the_focus),
        cmocka_unit_test(a_line_stands_a_third_below_the_top),
        cmocka_unit_test(the_gate_says_what_is_taken_now),
        cmocka_unit_test(what_is_left_holds_together),
        cmocka_unit_test(a_long_hunk_is_read_to_its_end),
        cmocka_unit_test(long_numbers_are_whole),
        cmocka_unit_test(changed_files_wait_in_title_and_status),
        cmocka_unit_test(plans_stand_by_the_latency_they_predict),
        cmocka_unit_test(a_search_belongs_to_its_screen),
        cmocka_unit_test(the_cursor_keeps_its_line_across_columns),
        cmocka_unit_test(indentation_makes_room),
        cmocka_unit_test(a_metric_is_explained_where_it_stands),
        cmocka_unit_test(a_rejected_plan_stays_rejected),
        cmocka_unit_test(the_question_of_precision_comes_once),
        cmocka_unit_test(the_precision_is_said_whichever_way_it_is_set),
        cmocka_unit_test(esc_closes_one_thing_of_the_profile),
        cmocka_unit_test(the_first_evaluation_shows_on_a_small_screen),
        cmocka_unit_test(what_waits_at_its_gate_is_not_kept_yet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
