/* SPDX-License-Identifier: Apache-2.0 */
/* A person at the screens: whatever the keys and the size, nothing breaks; what is done reaches the
 * session; what comes is in sight. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <locale.h>

#include "screens/scene.h"
#include "tui/cells/testing.h"
#include "views/inner.h"
#include "tune/act/inner.h"
#include "tune/apply/apply.h"

/* Nothing is drawn outside, nothing crashes, whatever the size and the keys. */
static void walk(const char *file, const char *stop) {
    static const char keys[] = "1234567890jkhn d[]zf?\x0d/:qgGRrPowmFe<>cvoxptABi9\t9\tll{}.";
    int64_t now_ms = 0;
    struct tune_state *model = replay_of(file, stop, &now_ms);
    if (model->calls.len) {
        model->roles = roles;
        stream_answers(model);
    }
    struct tune_place_view *place = make_place(LOST, now_ms);
    model->place = place;
    struct views *views = make_views(model);
    uint64_t seed = 7;
    for (int turn = 0; turn < 4000; turn++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        unsigned pick = (unsigned)(seed >> 33);
        struct tui_event event = {.kind = (enum tui_event_kind)(pick % 17 ? 0 : pick / 17 % 4),
                                  .row = (int)(pick % 40),
                                  .col = (int)(pick % 120),
                                  .wheel = 1,
                                  .paste = STR("\x1b[31mpaste\n"),
                                  .key = {(uint8_t)keys[pick % (sizeof keys - 1)], 0}};
        if (pick % 11 == 0)
            event.key.code = TUI_KEY_FIRST_ + 1 + pick % (TUI_KEY_LAST_ - TUI_KEY_FIRST_ - 1);
        views_event(views, &event);
        if (turn % 8 == 0) {
            struct tui_canvas *canvas =
                tui_canvas_new((int)(pick >> 4) % 50 + 1, (int)(pick >> 12) % 190 + 1, pick & 1);
            views_draw(views, tui_area_all(canvas), now_ms + turn);
            tui_canvas_free(canvas);
        }
    }
    views_free(views);
    tune_state_free(model);
    free_place(place);
}

static void every_size_and_key_is_survived(void **state) {
    (void)state;
    walk("session.events", "rewritten");
    walk("calls.events", "streaming");
    walk("calls.events", "person");
    walk("lanes.events", "some-asked");
    walk("lanes.events", "verifying");
    walk("lanes.events", "fanned");
}

/* What came so far is on the screen with the frame that follows, the newest piece at the end. */
static void the_newest_piece_is_in_sight(void **state) {
    (void)state;
    int64_t now_ms = 0;
    struct tune_state *model = replay_of("calls.events", "asking", &now_ms);
    struct views *views = make_views(model);
    struct tui_canvas *canvas = tui_canvas_new(24, 80, false);
    char word[16];
    for (int i = 0; i < 30000; i++) {
        snprintf(word, sizeof word, i % 7 ? " w%d." : "\nw%d.", i);
        tune_call_stream(model, 0, str_of(word), false);
        if (i > 3 && i % 997)
            continue;
        struct buf screen = {0};
        views_draw(views, tui_area_all(canvas), now_ms);
        tui_canvas_print(canvas, false, &screen);
        snprintf(word, sizeof word, "w%d.", i);
        if (!strstr(screen.at, word))
            fail_msg("%s is not in sight:\n%s", word, screen.at);
        buf_free(&screen);
    }
    /* One line without an end. */
    for (int i = 0; i < 5000; i++)
        tune_call_stream(model, 0, STR("äöü0123456789"), false);
    tune_call_stream(model, 0, STR("the very end"), false);
    struct buf screen = {0};
    views_draw(views, tui_area_all(canvas), now_ms);
    tui_canvas_print(canvas, false, &screen);
    assert_non_null(strstr(screen.at, "end"));
    buf_free(&screen);
    tui_canvas_free(canvas);
    views_free(views);
    tune_state_free(model);
}

static struct buf answered;

static bool keep_answer(void *context, const struct tune_action *action, struct err *err) {
    (void)context;
    (void)err;
    assert_int_equal(action->kind, TUNE_ACT_ANSWER);
    buf_clear(&answered);
    buf_printf(&answered, "%d: %s", action->index, action->text);
    return true;
}

static void a_person_answers_by_editor_and_by_paste(void **state) {
    (void)state;
    int64_t now_ms = 0;
    struct err err = {0};
    struct tune_state *model = replay_of("calls.events", "person", &now_ms);
    struct views *views = make_views(model);
    const struct views_model person = {
        .state = model, .act = keep_answer, .artefact = timeline_text};
    views_set_model(views, &person);
    struct views_request request = replay_keys(views, "i");
    assert_int_equal(request.wish, VIEWS_EDIT);
    assert_non_null(strstr(request.text, "You tune kernels"));
    struct buf text = {0};
    buf_printf(&text, "title: mine\nwhat: this\n%s", request.text);
    assert_true(views_edited(views, text.at, &err));
    assert_string_equal(answered.at, "5: title: mine\nwhat: this\n\n\n");
    struct tui_event paste = {.kind = TUI_EVENT_PASTE,
                              .paste = STR("title: pasted\r\n\twhat: \x1b[31mthat\r")};
    views_event(views, &paste);
    replay_keys(views, "y");
    assert_non_null(strstr(answered.at, "5: title: pasted\n\twhat: "));
    assert_null(strchr(answered.at, '\x1b'));
    replay_keys(views, "p h i Enter");
    assert_string_equal(answered.at, "5: hi");
    buf_free(&text);
    buf_free(&answered);
    views_free(views);
    tune_state_free(model);
}

/* Does what is asked to the state itself, and says it in words. */
static struct buf done;

static bool act_on_state(void *context, const struct tune_action *action, struct err *err) {
    struct tune_state *state = context;
    if (!tune_act_check(state, action, err))
        return false;
    struct tune_event event = tune_act_event(state, action);
    buf_printf(&done, "%s %d %s\n", tune_action_name(action->kind),
               event.act.lane >= 0 ? event.act.lane : action->index,
               action->text ? action->text : "-");
    struct buf json = {0};
    tune_event_write(&event, -1, &json);
    tune_state_apply(state, state->seq + 1, REPLAY_START_MS, "act", json.at);
    buf_free(&json);
    return true;
}

static struct views *views_that_act(struct tune_state *state) {
    struct views *views = make_views(state);
    views_set_model(views,
                    &(struct views_model){.state = state, .act = act_on_state, .context = state});
    return views;
}

static void draw_at(struct views *views, int rows, int cols) {
    struct tui_canvas *canvas = tui_canvas_new(rows, cols, false);
    views_draw(views, tui_area_all(canvas), REPLAY_START_MS);
    tui_canvas_free(canvas);
}

static void said(const char *expected) {
    assert_string_equal(done.at ? done.at : "", expected);
    buf_clear(&done);
}

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
    assert_int_equal(views->lane, 3); /* on to one that is open; the cursor stays */
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

/* Which lane is looked at is each view's own: nothing of it is in the log. */
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
    assert_int_equal(mine->lane, 3); /* on to one that is open */
    assert_int_equal(other->lane, 1);
    replay_keys(mine, "{"); /* to look at what was rejected */
    draw_at(mine, 24, 80);
    assert_int_equal(mine->lane, 2);
    replay_keys(other, "} }");
    replay_keys(mine, "} } u u"); /* back to what the decision was about */
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

/* A lane that came to nothing tells why, until the round is over. */
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
    replay_keys(views, "u u"); /* the lanes are back, and so is who looks at them */
    assert_int_equal(state->lanes.len, 6);
    assert_int_equal(views->lane, 1);
    tune_state_apply(state, state->seq + 1, now_ms, "round", "{\"round\": 3}");
    draw_at(views, 24, 80);
    assert_int_equal(views->lane, 0);
    buf_free(&done);
    views_free(views);
    tune_state_free(state);
}

static void print_at(struct views *views, const char *keys, int64_t now_ms, struct buf *out) {
    struct tui_canvas *canvas = tui_canvas_new(40, 120, false);
    replay_keys(views, keys);
    views_draw(views, tui_area_all(canvas), now_ms);
    tui_canvas_print(canvas, true, out);
    tui_canvas_free(canvas);
}

/* What a screen kept of a session goes with it: the next one looks as it does to new screens. */
static void another_session_looks_like_the_first(void **state) {
    (void)state;
    static const char *const screens[] = {"1", "2", "3", "4", "5", "6",
                                          "7", "8", "9", "0", "b", "l"};
    int64_t now_ms = 0;
    struct tune_state *one = replay_of("session.events", "rewritten", &now_ms);
    struct tune_state *two = replay_of("lanes.events", "decided", &now_ms);
    struct views *used = make_views(one), *fresh = make_views(two);
    struct buf a = {0}, b = {0};
    for (size_t i = 0; i < COUNT_OF(screens); i++) {
        print_at(used, screens[i], now_ms, &a);
        print_at(used, "Down Down G", now_ms, &a);
    }
    print_at(used, "2 v 7 Space Down Space 9 Down Enter 1 h n z Down", now_ms, &a);
    views_set_model(used, &(struct views_model){.state = NULL});
    views_set_model(used, &(struct views_model){.state = two, .artefact = timeline_text});
    for (size_t i = 0; i < COUNT_OF(screens); i++) {
        buf_clear(&a);
        buf_clear(&b);
        print_at(used, screens[i], now_ms, &a);
        print_at(fresh, screens[i], now_ms, &b);
        assert_string_equal(a.at, b.at);
    }
    buf_free(&a);
    buf_free(&b);
    views_free(used);
    views_free(fresh);
    tune_state_free(one);
    tune_state_free(two);
}

/* Whatever is open: enough of Esc closes it, and none of them leaves. */
static void escape_never_leaves(void **state) {
    (void)state;
    static const char *const opens[] = {"h n", "z",   "[", "7",       "? x", ": g", "/ a",
                                        "g",   "r x", "R", "9 Enter", "5 t", "q"};
    int64_t now_ms = 0;
    struct tune_state *model = replay_of("session.events", "rewritten", &now_ms);
    struct views *views = make_views(model);
    for (size_t i = 0; i < COUNT_OF(opens); i++) {
        replay_keys(views, opens[i]);
        for (int k = 0; k < 6; k++)
            assert_int_equal(replay_keys(views, "Esc").wish, VIEWS_NOTHING);
        assert_int_equal(views->view, VIEW_WORKBENCH);
        assert_int_equal(views->over.is, OVERLAY_NONE);
    }
    views_free(views);
    views = make_views(NULL);
    assert_int_equal(replay_keys(views, "Esc").wish, VIEWS_NOTHING);
    assert_int_equal(replay_keys(views, "q").wish, VIEWS_QUIT);
    views_free(views);
    tune_state_free(model);
}

static struct views_request leave_at(const char *file, const char *stop, const char *keys,
                                     const char *says) {
    int64_t now_ms = 0;
    struct tune_state *model = replay_of(file, stop, &now_ms);
    struct views *views = make_views(model);
    struct views_request request = replay_keys(views, keys);
    if (says)
        assert_non_null(strstr(views->over.text.at, says));
    views_free(views);
    tune_state_free(model);
    return request;
}

/* Where something waits or runs it is said, and asked once; else there is nothing to ask. */
static void leaving_says_what_is_left(void **state) {
    (void)state;
    static const char events[] = "session.events", calls[] = "calls.events";
    assert_int_equal(leave_at(events, "new", "q", NULL).wish, VIEWS_QUIT);
    assert_int_equal(leave_at(events, "stopped", "1 q", NULL).wish, VIEWS_QUIT);
    assert_int_equal(leave_at(events, "planned", "q", "waits for you: plan").wish, VIEWS_NOTHING);
    assert_int_equal(leave_at(events, "planned", "C-c", "waits for you: plan").wish, VIEWS_NOTHING);
    assert_int_equal(leave_at(events, "planned", "q y", NULL).wish, VIEWS_QUIT);
    assert_int_equal(leave_at(events, "planned", "q q", NULL).wish, VIEWS_QUIT);
    assert_int_equal(leave_at(events, "planned", "q n q n", NULL).wish, VIEWS_NOTHING);
    assert_int_equal(leave_at(events, "verifying", "q", "verify runs").wish, VIEWS_NOTHING);
    assert_int_equal(leave_at(calls, "streaming", "q", "paid for").wish, VIEWS_NOTHING);
    assert_int_equal(leave_at(calls, "person", "q", "A question waits").wish, VIEWS_NOTHING);
    assert_int_equal(
        leave_at(events, "planned", ": s e s s i o n s Enter", "Leave this session").wish,
        VIEWS_NOTHING);
    assert_int_equal(leave_at(events, "planned", ": s e s s i o n s Enter y", NULL).wish,
                     VIEWS_LEAVE);
}

static void titles_say_what_is_true(void **state) {
    (void)state;
    static const struct {
        const char *file, *stop, *title;
        bool waits;
    } rows[] = {
        {"session.events", "new", "not started", false},
        {"session.events", "planned", "waits for you: plan", true},
        {"session.events", "verifying", "running", false},
        {"session.events", "kept", "running", false},
        {"session.events", "stopped", "ended", false},
        {"calls.events", "streaming", "running", false},
        {"calls.events", "person", "waits for you: question", true},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t now_ms = 0;
        struct buf title = {0};
        struct tune_state *model = replay_of(rows[i].file, rows[i].stop, &now_ms);
        struct views *views = make_views(model);
        assert_int_equal(views_title(views, &title), rows[i].waits);
        if (!strstr(title.at, rows[i].title))
            fail_msg("%s %s: %s", rows[i].file, rows[i].stop, title.at);
        buf_free(&title);
        views_free(views);
        tune_state_free(model);
    }
}

/* What waits stays in sight with every message, however long. */
static void a_message_hides_nothing_that_waits(void **state) {
    (void)state;
    int64_t now_ms = 0;
    struct tune_state *model = replay_of("session.events", "planned", &now_ms);
    struct views *views = make_views(model);
    for (int cols = 80; cols <= 120; cols += 40) {
        struct tui_canvas *canvas = tui_canvas_new(cols == 80 ? 24 : 40, cols, false);
        struct buf screen = {0};
        views_say(views, true, "%s",
                  "saved from the editor, and then some more that takes "
                  "more than one line on any terminal of a usual width, so that "
                  "its very end is on another row than its beginning");
        views_draw(views, tui_area_all(canvas), now_ms);
        tui_canvas_print(canvas, false, &screen);
        assert_non_null(strstr(screen.at, "◆ plan: "));
        assert_non_null(strstr(screen.at, "saved from the editor"));
        assert_non_null(strstr(screen.at, "beginning"));
        buf_free(&screen);
        tui_canvas_free(canvas);
    }
    views_free(views);
    tune_state_free(model);
}

/* Whether the screen has the text after the keys. */
static bool shows(struct views *views, const char *keys, const char *text) {
    struct tui_canvas *canvas = tui_canvas_new(40, 120, false);
    struct buf screen = {0};
    replay_keys(views, keys);
    views_draw(views, tui_area_all(canvas), REPLAY_START_MS);
    tui_canvas_print(canvas, false, &screen);
    bool there = strstr(screen.at, text) != NULL;
    if (!there)
        fprintf(stderr, "no '%s' after %s on\n%s\n", text, keys, screen.at);
    buf_free(&screen);
    tui_canvas_free(canvas);
    return there;
}

static void messages_answer(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *state = replay_until("new", &now_ms);
    struct views *views = views_that_act(state);
    assert_true(shows(views, "1 4", "nothing ran yet"));
    assert_true(shows(views, "1 : s w e e p Enter", "constants of the kernel"));
    assert_true(shows(views, "", "TILE_M = 128"));
    assert_true(shows(views, "Enter Enter", "start the loop, which measures it first"));
    assert_true(shows(views, "7 : r e v e r t Space 0 Enter", "there is no attempt 0"));
    assert_true(shows(views, "u", "there is nothing to take back"));
    views_free(views);
    tune_state_free(state);
    state = replay_until("planned", &now_ms);
    views = views_that_act(state);
    assert_true(shows(views, "s", "plan waits for you, not for a start: a approves it"));
    assert_true(shows(views, "", "◆ plan: "));
    assert_true(shows(views, ": g a t e Space a l l Space a u t o Enter",
                      "◆ plan (open from the next one on; a goes on now): "));
    assert_true(shows(views, ": r e v e r t Space 2 Enter", "did not compile"));
    assert_int_equal(views->over.is, OVERLAY_NONE);
    assert_true(shows(views, "4 f F", "no line of compile, warning and above"));
    assert_true(shows(views, "f F F F : f i l t e r Space z z Enter", "no line has 'zz'"));
    buf_free(&done);
    views_free(views);
    tune_state_free(state);
}

/* Every gate takes each of its settings in turn; what was typed to find it stays. */
static void gates_go_through_their_settings(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *state = replay_until("planned", &now_ms);
    struct views *views = views_that_act(state);
    replay_keys(views, "g b e n c h");
    for (int i = 0; i < 2 * TUNE_GATES; i++) {
        enum tune_gate before = state->steps[TUNE_STEP_BENCHMARK].gate;
        replay_keys(views, "Enter");
        assert_int_equal(state->steps[TUNE_STEP_BENCHMARK].gate, (before + 1) % TUNE_GATES);
    }
    replay_keys(views, "Esc g Enter");
    for (int i = 0; i < 2 * TUNE_GATES; i++) {
        for (int k = 0; k < TUNE_STEPS; k++)
            assert_int_equal(state->steps[k].gate, i % TUNE_GATES);
        replay_keys(views, "Enter");
    }
    buf_free(&done);
    views_free(views);
    tune_state_free(state);
}

static void found(struct tune_state *state, const char *severity, const char *file, int line,
                  const char *message) {
    struct buf json = {0};
    buf_printf(&json,
               "{\"attempt\": 3, \"severity\": \"%s\", \"code\": \"NCC_EVRF007\", \"file\": "
               "\"%s\", \"line\": %d, \"column\": %d, \"message\": \"%s\"}",
               severity, file, line, 1 + (int)state->diagnostics.len, message);
    tune_state_apply(state, state->seq + 1, REPLAY_START_MS, "diagnostic", json.at);
    buf_free(&json);
}

/* The first error of a check is in sight and what Enter opens, in the candidate; repeats are one
 * row; what is said is broken between words instead of cut. */
static void findings_can_be_read(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *state = replay_until("verifying", &now_ms);
    for (int i = 0; i < 4; i++) {
        found(state, "error", "/tmp/x/kernel.py", 23,
              "x_tile: 256 partitions, 1 to 128 are possible: "
              "tile the partition dimension of it");
        found(state, "note", "kernel.py", 24, "called from here");
        found(state, "error", "helper.py", 5, "tensor: 256 partitions");
    }
    struct views *views = views_that_act(state);
    replay_keys(views, "Tab");
    assert_true(shows(views, "", "kernel.py:23:3: error: x_tile:    ×4"));
    assert_true(shows(views, "", "dimension of it [NCC_EVRF007]"));
    assert_true(shows(views, "", "kernel.py:24:4: note: called      ×4"));
    assert_true(shows(views, "", "helper.py:5:5: error: tensor:     ×4"));
    assert_true(shows(views, "K", "the program has more instructions than the compiler takes"));
    assert_true(shows(views, "q Enter", "┌─ candidate "));
    assert_int_equal(views->view, VIEW_KERNEL);
    assert_true(shows(views, "", " line 23   error: x_tile: 256 partitions, 1 to 128"));
    assert_true(shows(views, "", "  ! 23 "));
    assert_true(shows(views, "K", "x_tile: 256 partitions"));
    replay_keys(views, "Esc 1 4");
    assert_true(
        shows(views, "", "error: x_tile: 256 partitions, 1 to 128 are possible: tile the "));
    assert_true(shows(views, "Down Down Down Enter", "helper.py:5 is not the kernel"));
    replay_keys(views, "5 K");
    assert_int_equal(views->over.is, OVERLAY_MENU);
    assert_true(shows(views, "m f u Enter", "MFU (mfu_estimated_percent"));
    buf_free(&done);
    views_free(views);
    tune_state_free(state);
}

/* While a long log is read only leaving works, by the key that the screen names, and by Ctrl-C. */
static void an_opening_session_can_be_left(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *state = replay_until("planned", &now_ms);
    struct views *views = views_that_act(state);
    state->opening = true;
    state->opened = 0.43;
    assert_true(shows(views, "", "opening: 43 %"));
    assert_true(shows(views, "", "q quits; the session is kept"));
    assert_int_equal(replay_keys(views, "a").wish, VIEWS_NOTHING);
    assert_int_equal(replay_keys(views, "Esc").wish, VIEWS_NOTHING);
    assert_int_equal(replay_keys(views, "q").wish, VIEWS_QUIT);
    assert_int_equal(replay_keys(views, "C-c").wish, VIEWS_QUIT);
    views_free(views);
    tune_state_free(state);
}

/* The hunk that the keys act on is on the screen, however it was come to. */
static void the_hunk_in_hand_is_shown(void **unused) {
    (void)unused;
    static const char *const ways[] = {"h",     "d h",   "z h",       "z d h", "d z h",
                                       "[ [ h", "Tab h", "h d Esc h", "End h", "d d h"};
    static const struct { int rows, cols; } sizes[] = {{40, 120}, {24, 80}, {50, 200}};
    for (size_t i = 0; i < COUNT_OF(ways) * COUNT_OF(sizes); i++) {
        int64_t now_ms = 0;
        struct tune_state *state = replay_until("rewritten", &now_ms);
        struct views *views = views_that_act(state);
        int rows = sizes[i % COUNT_OF(sizes)].rows, cols = sizes[i % COUNT_OF(sizes)].cols;
        draw_at(views, rows, cols);
        replay_keys(views, ways[i / COUNT_OF(sizes)]);
        for (int hunk = 1; hunk <= 2; hunk++, replay_keys(views, "n")) {
            struct tui_canvas *canvas = tui_canvas_new(rows, cols, false);
            struct buf screen = {0};
            char number[32];
            views_draw(views, tui_area_all(canvas), now_ms);
            tui_canvas_print(canvas, false, &screen);
            const char *at = strstr(screen.at, "› @@");
            snprintf(number, sizeof number, "hunk %d/2", hunk);
            const char *found = at ? strstr(at, number) : NULL;
            if (!found || memchr(at, '\n', (size_t)(found - at)))
                fail_msg("%s at %dx%d:\n%s", ways[i / COUNT_OF(sizes)], cols, rows, screen.at);
            buf_free(&screen);
            tui_canvas_free(canvas);
        }
        buf_clear(&done);
        replay_keys(views, "p n Space");
        said("leave-hunk 1 -\n");
        views_free(views);
        tune_state_free(state);
    }
    buf_free(&done);
}

static void two_columns_work_or_it_is_said_why_not(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *state = replay_until("planned", &now_ms);
    struct views *views = views_that_act(state);
    assert_true(shows(views, "d", "there is no difference yet"));
    views_free(views);
    tune_state_free(state);
    state = replay_until("rewritten", &now_ms);
    views = views_that_act(state);
    assert_true(shows(views, "", "@@ 20 → 20"));
    assert_true(shows(views, "d", "two columns take the whole screen; z goes back"));
    assert_true(
        shows(views, "", "  39           for n in nl.affine_range(N // TILE_N):        44  "));
    buf_free(&done);
    views_free(views);
    tune_state_free(state);
}

/* The number, the sum on the screen and the chart go by one floor and by the FLOPs that the task
 * needs, whatever transposes an attempt has besides. */
static void one_roof_for_all(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *state = replay_until("kept", &now_ms);
    struct tune_roof roof = tune_roof_of(state);
    const struct tune_attempt *kept = tune_state_attempt(state, 3);
    assert_float_equal(roof.floor_us, 512, 1e-9);
    assert_true(roof.flops < tune_attempt_metric(kept, "hardware_flops"));
    assert_float_equal(roof.flops, 2. * 4096 * 1024 * 2048, 1);
    assert_float_equal(tune_roof_share(&roof, kept), 512 / 842., 1e-9);
    assert_true(isnan(tune_roof_share(&roof, NULL)));
    struct views *views = views_that_act(state);
    assert_true(shows(views, "5", "roofline 46 → 61 %"));
    assert_true(shows(views, "", "#3: floor 0.512 ms / 0.842 ms = 61 % roofline"));
    assert_true(shows(views, "t t", "ridge 181"));
    assert_true(shows(views, "", "○ attempt  ● best  ◆ newest  ┄ floor"));
    views_free(views);
    tune_state_free(state);
}

/* One decision at a time, of person or loop, and said before. */
static void undo_says_what_it_takes_back(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *state = replay_until("measured", &now_ms);
    struct views *views = views_that_act(state);
    assert_int_equal(state->attempts.at[6].status, TUNE_STATUS_INCONCLUSIVE);
    assert_true(
        shows(views, "u", "This takes back what the loop decided: #6 inconclusive (round 6)"));
    said("");
    replay_keys(views, "n u Enter");
    said("take-back 0 -\n");
    assert_int_equal(state->attempts.at[6].status, TUNE_STATUS_OPEN);
    assert_int_equal(state->wait, TUNE_WAIT_PAUSED);
    assert_false(state->running);
    assert_true(shows(views, "u", "#5 keep (round 5)"));
    replay_keys(views, "u");
    said("take-back 0 -\n");
    assert_int_equal(state->attempts.at[5].status, TUNE_STATUS_OPEN);
    assert_int_equal(state->incumbent, 4);
    replay_keys(views, "u"); /* the loop decides while the question stands */
    tune_state_apply(state, state->seq + 1, REPLAY_START_MS, "decided",
                     "{\"attempt\": 5, \"status\": \"keep\", \"reason\": \"again\"}");
    assert_true(shows(views, "y", "This takes back what the loop decided: #5 keep (round 5)"));
    said("");
    replay_keys(views, "y");
    said("take-back 0 -\n");
    replay_keys(views, "U");
    said("do-again 0 -\n");
    buf_free(&done);
    views_free(views);
    tune_state_free(state);
}

static void what_was_taken_back_is_done_again(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *state = replay_until("measured", &now_ms);
    struct views *views = views_that_act(state);
    replay_keys(views, "u u u u");
    said("take-back 0 -\ntake-back 0 -\n");
    replay_keys(views, "U U");
    said("do-again 0 -\ndo-again 0 -\n");
    assert_int_equal(state->attempts.at[6].status, TUNE_STATUS_INCONCLUSIVE);
    assert_int_equal(state->incumbent, 5);
    assert_false(tune_can(state, TUNE_ANY_LANE, TUNE_ACT_DO_AGAIN));
    buf_free(&done);
    views_free(views);
    tune_state_free(state);
}

struct keys {
    VEC(struct views_key) all;
};

static bool is_listed(const struct keys *keys, const char *screen, const char *command,
                      const char *bound) {
    for (size_t i = 0; i < keys->all.len; i++)
        if (!strcmp(keys->all.at[i].screen, screen) && !strcmp(keys->all.at[i].command, command))
            return !strcmp(keys->all.at[i].keys, bound);
    return false;
}

/* Every command is in the list of keys, with a help; each key stands with the screen it is for. */
static void every_command_is_documented(void **state) {
    (void)state;
    static const char *const rows[][3] = {
        {"everywhere", "approve", "a"}, {"everywhere", "up", "k Up"},
        {"everywhere", "gate", ""},     {"everywhere", "kernel", "2"},
        {"history", "mark", "Space"},   {"notes", "edit", "e"},
        {"workbench", "edit", "e"},     {"lanes", "another", "n"},
        {"profile", "zoom-in", "+ ="},  {"workbench", "next-pane", "Tab"},
    };
    struct keys keys = {0};
    struct views_key key;
    const struct command *command;
    for (size_t i = 0; views_key_at(i, &key); i++) {
        assert_true(key.command[0] && key.help[0] && key.screen[0]);
        assert_false(is_listed(&keys, key.screen, key.command, key.keys)); /* once */
        *vec_push(&keys.all) = key;
    }
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_true(is_listed(&keys, rows[i][0], rows[i][1], rows[i][2]));
    assert_false(is_listed(&keys, "kernel", "edit", "e"));
    for (size_t i = 0, k; (command = command_at(i)); i++) {
        for (k = 0; k < keys.all.len && strcmp(keys.all.at[k].command, command->name) != 0;)
            k++;
        assert_true(k < keys.all.len);
    }
    vec_free(&keys.all);
}

/* What a screen takes is there to be taken, and names are unique. */
static void tables_of_commands_agree(void **state) {
    (void)state;
    const struct command *command;
    for (size_t i = 0; (command = command_at(i)); i++)
        assert_ptr_equal(command, command_find(str_of(command->name)));
    for (int i = 0; i < VIEW_COUNT; i++) {
        const struct screen *screen = screen_at((enum view_id)i);
        struct str rest = str_of(screen->takes ? screen->takes : ""), word;
        assert_true((screen->edit != NULL) == (screen->can_edit != NULL));
        while (str_next(&rest, ' ', &word)) {
            command = command_find(word);
            assert_true(!word.len || (command && command->where == WHERE_TAKEN));
        }
        for (size_t k = 0; k < screen->n_commands; k++)
            assert_int_equal(screen->commands[k].where, WHERE_OWN);
    }
}

int main(void) {
    setlocale(LC_ALL, "C.UTF-8");
    setenv("TZ", "UTC", 1);
    setenv("XDG_CONFIG_HOME", REPLAY_FOLDER "config", 1); /* prompts that do not change */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_and_key_is_survived),
        cmocka_unit_test(the_newest_piece_is_in_sight),
        cmocka_unit_test(a_person_answers_by_editor_and_by_paste),
        cmocka_unit_test(a_question_that_is_held_is_shown_as_its_own_lane_asks_it),
        cmocka_unit_test(what_is_done_in_the_list_of_lanes_is_done_to_its_row),
        cmocka_unit_test(each_view_looks_at_a_lane_of_its_own),
        cmocka_unit_test(the_lane_looked_at_is_left_with_its_round),
        cmocka_unit_test(another_session_looks_like_the_first),
        cmocka_unit_test(escape_never_leaves),
        cmocka_unit_test(leaving_says_what_is_left),
        cmocka_unit_test(titles_say_what_is_true),
        cmocka_unit_test(a_message_hides_nothing_that_waits),
        cmocka_unit_test(messages_answer),
        cmocka_unit_test(undo_says_what_it_takes_back),
        cmocka_unit_test(what_was_taken_back_is_done_again),
        cmocka_unit_test(one_roof_for_all),
        cmocka_unit_test(an_opening_session_can_be_left),
        cmocka_unit_test(the_hunk_in_hand_is_shown),
        cmocka_unit_test(two_columns_work_or_it_is_said_why_not),
        cmocka_unit_test(findings_can_be_read),
        cmocka_unit_test(gates_go_through_their_settings),
        cmocka_unit_test(every_command_is_documented),
        cmocka_unit_test(tables_of_commands_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
