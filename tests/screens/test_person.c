/* SPDX-License-Identifier: Apache-2.0 */
/* A person at the screens: whatever the keys and the size, nothing breaks; what is done reaches the
 * session; what comes is in sight. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "screens/acts.h"
#include "tune/state/inner.h"

/* Whatever the size and the keys, nothing is drawn outside and nothing crashes. */
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

/* What has come is on the screen with the next frame, with the newest piece at the end. */
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

/* What would be refused afterwards is refused before anybody writes it. */
static void no_editor_opens_for_what_cannot_be(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *model = replay_of("session.events", "new", &now_ms);
    struct views *views = views_that_act(model);
    assert_int_equal(replay_keys(views, "1 w").wish, VIEWS_NOTHING);
    said("");
    assert_true(shows(views, "", "needs the first kernel's time: start the loop"));
    views_free(views);
    tune_state_free(model);
    model = replay_of("session.events", "planned", &now_ms);
    views = views_that_act(model);
    assert_int_equal(replay_keys(views, "1 w").wish, VIEWS_EDIT);
    views_free(views);
    model->read_only = true;
    views = views_that_act(model);
    assert_int_equal(replay_keys(views, "1 w").wish, VIEWS_NOTHING);
    assert_true(shows(views, "", "the session is read-only"));
    views_free(views);
    tune_state_free(model);
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

static void print_at(struct views *views, const char *keys, int64_t now_ms, struct buf *out) {
    struct tui_canvas *canvas = tui_canvas_new(40, 120, false);
    replay_keys(views, keys);
    views_draw(views, tui_area_all(canvas), now_ms);
    tui_canvas_print(canvas, true, out);
    tui_canvas_free(canvas);
}

/* What a screen kept of a session goes with it. The next session looks as it does on new
 * screens. */
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

/* Whatever is open, enough of Esc closes it, and none of them leaves. */
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

/* Where something waits or runs, the screen says so and asks once. Otherwise there is nothing to
 * ask. */
static void leaving_says_what_is_left(void **state) {
    (void)state;
    static const char events[] = "session.events", calls[] = "calls.events";
    assert_int_equal(leave_at(events, "new", "q", NULL).wish, VIEWS_QUIT);
    assert_int_equal(leave_at(events, "stopped", "1 q", NULL).wish, VIEWS_QUIT);
    assert_int_equal(leave_at(events, "planned", "q", "waits for you: plan").wish, VIEWS_NOTHING);
    assert_int_equal(leave_at(events, "planned", "C-c", "waits for you: plan").wish, VIEWS_NOTHING);
    assert_int_equal(leave_at(events, "planned", "q y", NULL).wish, VIEWS_QUIT);
    assert_int_equal(leave_at(events, "planned", "q y", NULL).wish, VIEWS_QUIT);
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

static void a_pause_in_a_round_is_said_to_wait(void **state) {
    (void)state;
    int64_t now_ms = 0;
    struct tune_state *model = replay_of("session.events", "planned", &now_ms);
    struct views *views = make_views(model);
    tune_lane_at(model, 0)->candidate.exists = true;
    model->running = false;
    model->wait = TUNE_WAIT_PAUSED; /* as after u y */
    assert_int_equal(replay_keys(views, "q").wish, VIEWS_NOTHING);
    if (!strstr(views->over.text.at, "The loop is paused in round "))
        fail_msg("%s", views->over.text.at);
    assert_int_equal(replay_keys(views, "y").wish, VIEWS_QUIT);
    views_free(views);
    tune_state_free(model);
}

static void titles_say_what_is_true(void **state) {
    (void)state;
    static const struct {
        const char *file, *stop, *title;
        enum views_turn turn;
    } rows[] = {
        {"session.events", "new", "not started", VIEWS_TURN_LOOP},
        {"session.events", "planned", "waits for you: plan", VIEWS_TURN_PERSON},
        {"session.events", "verifying", "running", VIEWS_TURN_LOOP},
        {"session.events", "kept", "running", VIEWS_TURN_LOOP},
        {"session.events", "stopped", "ended", VIEWS_TURN_PERSON},
        {"calls.events", "streaming", "running", VIEWS_TURN_LOOP},
        {"calls.events", "person", "waits for you: question", VIEWS_TURN_PERSON},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t now_ms = 0;
        struct buf title = {0};
        struct tune_state *model = replay_of(rows[i].file, rows[i].stop, &now_ms);
        struct views *views = make_views(model);
        assert_int_equal(views_title(views, &title), rows[i].turn);
        if (!strstr(title.at, rows[i].title))
            fail_msg("%s %s: %s", rows[i].file, rows[i].stop, title.at);
        buf_free(&title);
        views_free(views);
        tune_state_free(model);
    }
}

/* A full disk says what to do behind a long path. */
static void what_is_wrong_can_be_read_to_its_end(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *model = replay_of("session.events", "verifying", &now_ms);
    model->trouble = "cannot store an event: cannot write /home/somebody/kernels/attention/.hone/"
                     "attention/session.db (database or disk is full). Nothing that you saw is "
                     "lost; free some space and go on.";
    struct views *views = views_that_act(model);
    assert_true(shows(views, "1", "cannot store an event: "));
    assert_true(shows(views, "", "free some space and go on."));
    assert_true(shows(views, "7", "free some space and go on."));
    views_free(views);
    tune_state_free(model);
}

/* Nothing runs then, whatever the log said last. */
static void a_step_is_halted_while_events_cannot_be_kept(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *model = replay_of("session.events", "verifying", &now_ms);
    struct views *views = views_that_act(model);
    assert_true(shows(views, "1", "▶ verify"));
    assert_true(views_is_moving(views));
    model->trouble = "the disk is full; free some space and go on";
    assert_true(shows(views, "", "■ verify halted"));
    assert_true(shows(views, "", "the disk is full; free some space and go on"));
    assert_false(views_is_moving(views));
    model->read_only = true; /* a damaged session that is looked at */
    assert_true(shows(views, "", "■ verify halted"));
    model->held_by = "process 4711 on laptop"; /* there it runs */
    assert_true(shows(views, "", "▶ verify"));
    model->read_only = false;
    model->trouble = model->held_by = NULL;
    assert_true(shows(views, "", "▶ verify"));
    views_free(views);
    tune_state_free(model);
}

/* Where a disk does not answer, the person is told what hone waits for. */
static void a_disk_that_does_not_answer_is_named(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct buf title = {0};
    struct tune_state *model = replay_of("session.events", "kept", &now_ms);
    struct views *views = views_that_act(model);
    model->looks_at = "the files of the task in /net/kernels: the disk has not answered yet";
    assert_true(shows(views, "1", "/net/kernels: the disk has not answered yet"));
    assert_int_equal(views_title(views, &title), VIEWS_TURN_LOOP);
    assert_non_null(strstr(title.at, "waits for the disk"));
    buf_free(&title);
    views_free(views);
    tune_state_free(model);
}

/* Why the loop does not go on is cut in no terminal. */
static void a_long_reason_for_a_stop_is_wrapped(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *model = replay_of("session.events", "stopped", &now_ms);
    model->wait_text = "the seed kernel could not be evaluated: seed 0: relative L2 0.173, allowed "
                       "2e-05: put the reference right, and take it in";
    struct views *views = make_views(model);
    struct tui_canvas *canvas = tui_canvas_new(24, 80, false);
    struct buf screen = {0};
    replay_keys(views, "1");
    views_draw(views, tui_area_all(canvas), now_ms);
    tui_canvas_print(canvas, false, &screen);
    assert_non_null(strstr(screen.at, "take it in; s starts\n"));
    buf_free(&screen);
    tui_canvas_free(canvas);
    views_free(views);
    tune_state_free(model);
}

/* Who looks at a session of another hone is told when that has left, and what takes it over. */
static void a_session_that_is_free_again_is_offered(void **unused) {
    (void)unused;
    static const char *const stops[] = {"planned", "verifying", "stopped"};
    for (size_t i = 0; i < COUNT_OF(stops); i++) {
        int64_t now_ms = 0;
        struct tune_state *model = replay_of("session.events", stops[i], &now_ms);
        model->read_only = true;
        model->held_by = "process 4711 on laptop";
        struct views *views = views_that_act(model);
        assert_int_equal(replay_keys(views, "1 s").wish, VIEWS_NOTHING);
        model->holder_left = true;
        assert_true(shows(views, "C-l",
                          "process 4711 on laptop, which had this session, has left "
                          "it; s takes it over"));
        assert_true(shows(views, "", "s take over"));
        assert_int_equal(replay_keys(views, "7 s").wish, VIEWS_AGAIN);
        said("");
        views_free(views);
        tune_state_free(model);
    }
}

/* s would end at once in the same way. */
static void when_nothing_is_left_the_keys_that_help_are_named(void **state) {
    (void)state;
    int64_t now_ms = 0;
    struct tune_state *model = replay_of("session.events", "stopped", &now_ms);
    model->wait_text = tune_keep(model, "rewriter has nothing left to propose for this kernel");
    model->lanes.at[0].candidate.exists = false;
    struct views *views = make_views(model);
    struct tui_canvas *canvas = tui_canvas_new(24, 100, false);
    struct buf screen = {0};
    views_draw(views, tui_area_all(canvas), now_ms);
    tui_canvas_print(canvas, false, &screen);
    assert_non_null(strstr(screen.at, "for this kernel; w write one, R go on from another"));
    assert_null(strstr(screen.at, "s starts"));
    buf_clear(&screen);
    replay_keys(views, "1"); /* the workbench does not offer s, either */
    views_draw(views, tui_area_all(canvas), now_ms);
    tui_canvas_print(canvas, false, &screen);
    assert_non_null(strstr(screen.at, "No proposal: none is left for this kernel."));
    tui_canvas_free(canvas);
    canvas = tui_canvas_new(24, 80, false); /* hints are cut before the reason is */
    buf_clear(&screen);
    views_draw(views, tui_area_all(canvas), now_ms);
    tui_canvas_print(canvas, false, &screen);
    assert_non_null(strstr(screen.at, "to propose for this kernel; w write one\n"));
    buf_free(&screen);
    tui_canvas_free(canvas);
    views_free(views);
    tune_state_free(model);
}

/* What waits stays in sight beside every message, however long. */
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
        buf_clear(&screen);
        model->trouble =
            "what is in the way here has a reason that takes more than one line on any "
            "terminal of a usual width, so that this is not where it ends, but there";
        views_draw(views, tui_area_all(canvas), now_ms);
        tui_canvas_print(canvas, false, &screen);
        assert_non_null(strstr(screen.at, "what is in the way"));
        assert_non_null(strstr(screen.at, "but there"));
        assert_non_null(strstr(screen.at, "saved from the editor"));
        assert_non_null(strstr(screen.at, "beginning"));
        model->trouble = NULL;
        buf_free(&screen);
        tui_canvas_free(canvas);
    }
    views_free(views);
    tune_state_free(model);
}

static bool shows_now(struct views *views, int64_t now_ms, const char *text) {
    struct tui_canvas *canvas = tui_canvas_new(24, 80, false);
    struct buf screen = {0};
    views_draw(views, tui_area_all(canvas), now_ms);
    tui_canvas_print(canvas, false, &screen);
    bool there = strstr(screen.at, text) != NULL;
    buf_free(&screen);
    tui_canvas_free(canvas);
    return there;
}

/* While the answer of a key shows, the loop ends: both are in sight, and an answer that was there
 * long enough to be read is gone; one that says what went wrong stays until the next key. */
static void an_answer_makes_room_for_why_the_loop_ended(void **unused) {
    static const char *const ends = "{\"text\": \"all 4 rounds are done\"}";
    (void)unused;
    for (int i = 0; i < 4; i++) {
        bool late = i & 1, bad = i & 2;
        const char *said = bad ? "kept in" : "nothing is open; q leaves hone";
        int64_t now_ms = 0;
        struct tune_state *state = replay_until("verifying", &now_ms);
        struct views *views = views_that_act(state);
        replay_keys(views, "Esc");
        if (bad)
            views_say(views, true, "it is kept in /tmp/kernel.py");
        assert_true(shows_now(views, now_ms, said));
        assert_true(shows_now(views, now_ms + 60000, said)); /* nothing came meanwhile */
        tune_state_apply(state, state->seq + 1, now_ms, "stop", ends);
        assert_true(shows_now(views, now_ms + (late ? 5000 : 1000), "all 4 rounds are done"));
        assert_int_equal(shows_now(views, now_ms + (late ? 5000 : 1000), said), bad || !late);
        replay_keys(views, "j");
        assert_true(shows_now(views, now_ms + 5000, "all 4 rounds are done"));
        assert_false(shows_now(views, now_ms + 5000, said));
        views_free(views);
        tune_state_free(state);
    }
}

/* While a long log is read only leaving works, by the key that the screen names and by Ctrl-C. */
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

/* What cannot be done is not offered where there is nothing yet. */
static void a_session_that_is_looked_at_offers_no_start(void **unused) {
    static const char *const keys[] = {"1", "5", "7"};
    (void)unused;
    for (int i = 0; i < 2; i++) {
        int64_t now_ms = 0;
        struct tune_state *state = replay_until("new", &now_ms);
        struct views *views = views_that_act(state);
        state->read_only = i;
        for (size_t k = 0; k < COUNT_OF(keys); k++) {
            replay_keys(views, keys[k]);
            assert_int_equal(shows_now(views, now_ms, "s starts the loop"), !i);
        }
        views_free(views);
        tune_state_free(state);
    }
}

int main(void) {
    acts_begin();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_and_key_is_survived),
        cmocka_unit_test(the_newest_piece_is_in_sight),
        cmocka_unit_test(no_editor_opens_for_what_cannot_be),
        cmocka_unit_test(a_person_answers_by_editor_and_by_paste),
        cmocka_unit_test(another_session_looks_like_the_first),
        cmocka_unit_test(escape_never_leaves),
        cmocka_unit_test(leaving_says_what_is_left),
        cmocka_unit_test(a_pause_in_a_round_is_said_to_wait),
        cmocka_unit_test(titles_say_what_is_true),
        cmocka_unit_test(what_is_wrong_can_be_read_to_its_end),
        cmocka_unit_test(a_step_is_halted_while_events_cannot_be_kept),
        cmocka_unit_test(a_disk_that_does_not_answer_is_named),
        cmocka_unit_test(a_long_reason_for_a_stop_is_wrapped),
        cmocka_unit_test(a_session_that_is_free_again_is_offered),
        cmocka_unit_test(when_nothing_is_left_the_keys_that_help_are_named),
        cmocka_unit_test(a_message_hides_nothing_that_waits),
        cmocka_unit_test(an_answer_makes_room_for_why_the_loop_ended),
        cmocka_unit_test(an_opening_session_can_be_left),
        cmocka_unit_test(a_session_that_is_looked_at_offers_no_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
