/* SPDX-License-Identifier: Apache-2.0 */
/* Questions of the place: who gets the keys, what becomes of a secret, and connecting again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <locale.h>

#include "screens/replay.h"
#include "tui/cells/testing.h"
#include "views/inner.h"

#define SECRET "correct horse"

/* A place that asks, and what was answered. */
struct scene {
    struct tune_state *state;
    struct target_info info;
    struct target_status status;
    struct target_question question;
    struct tune_place_view place;
    struct views *views;
    struct tui_canvas *canvas;
    char answered[64];
    int answers, declined, retries, watched;
};

static void on_answer(void *context, const char *answer) {
    struct scene *scene = context;
    scene->answers += answer != NULL;
    scene->declined += answer == NULL;
    snprintf(scene->answered, sizeof scene->answered, "%s", answer ? answer : "");
    scene->place.asks = NULL;
}

static void on_retry(void *context) {
    ((struct scene *)context)->retries++;
}

static void on_watch(void *context) {
    ((struct scene *)context)->watched++;
}

static bool no_act(void *context, const struct tune_action *action, struct err *err) {
    (void)context;
    (void)action;
    return err_set(err, ERR_USAGE, "nothing is done in this test");
}

static void draw(struct scene *scene) {
    views_draw(scene->views, tui_area_all(scene->canvas), REPLAY_START_MS + 60000);
}

static bool shows(struct scene *scene, const char *text) {
    struct buf screen = {0};
    draw(scene);
    tui_canvas_print(scene->canvas, false, &screen);
    bool found = strstr(screen.at, text) != NULL;
    buf_free(&screen);
    return found;
}

static void ask(struct scene *scene, bool secret, const char *text) {
    scene->question.secret = secret;
    snprintf(scene->question.text, sizeof scene->question.text, "%s", text);
    scene->place.asks = &scene->question;
    scene->status.state = TARGET_ASKING;
}

static int scene_new(void **state) {
    struct scene *scene = mem_alloc(1, sizeof *scene);
    struct err err = {0};
    int64_t now_ms = 0;
    scene->state = replay_until("planned", &now_ms);
    scene->info = (struct target_info){.name = "trn2", .kind = "ssh", .parallel = 2};
    scene->place = (struct tune_place_view){&scene->info, &scene->status, NULL};
    scene->state->place = &scene->place;
    scene->views = views_new(NULL, NULL, &err);
    scene->canvas = tui_canvas_new(24, 80, false);
    const struct views_model model = {.state = scene->state,
                                      .act = no_act,
                                      .answer = on_answer,
                                      .retry = on_retry,
                                      .watch = on_watch,
                                      .context = scene};
    views_set_model(scene->views, &model);
    draw(scene);
    *state = scene;
    return 0;
}

static int scene_end(void **state) {
    struct scene *scene = *state;
    views_free(scene->views);
    tui_canvas_free(scene->canvas);
    tune_state_free(scene->state);
    free(scene);
    return 0;
}

static void type(struct scene *scene, const char *text) {
    for (; *text; text++) {
        struct tui_event event = {.key = {(uint8_t)*text, 0}};
        if (*text == '\r')
            event.key.code = TUI_KEY_ENTER;
        if (*text == '\x1b')
            event.key.code = TUI_KEY_ESCAPE;
        views_event(scene->views, &event);
    }
}

static bool holds_secret(const struct scene *scene) {
    return memmem(&scene->views->over.reply, sizeof scene->views->over.reply, "horse", 5) != NULL;
}

static void a_secret_is_given_once_and_wiped(void **state) {
    struct scene *scene = *state;
    ask(scene, true, "The key has a passphrase.");
    assert_true(shows(scene, "The key has a passphrase."));
    type(scene, SECRET);
    assert_true(shows(scene, "•••••••••••••"));
    assert_false(shows(scene, "horse"));
    assert_true(holds_secret(scene));
    type(scene, "\r");
    assert_int_equal(scene->answers, 1);
    assert_string_equal(scene->answered, SECRET);
    assert_false(holds_secret(scene));
    assert_false(shows(scene, "passphrase"));
    type(scene, ":");
    assert_false(shows(scene, "horse")); /* no history has it */
}

static void escape_declines_and_wipes(void **state) {
    struct scene *scene = *state;
    ask(scene, true, "The key has a passphrase.");
    draw(scene);
    type(scene, SECRET "\x1b");
    assert_int_equal(scene->answers, 0);
    assert_int_equal(scene->declined, 1);
    assert_false(holds_secret(scene));
}

static void nothing_is_no_answer(void **state) {
    struct scene *scene = *state;
    ask(scene, false, "Type yes.");
    draw(scene);
    type(scene, "\r\r");
    assert_int_equal(scene->answers + scene->declined, 0);
    type(scene, "yes\r");
    assert_string_equal(scene->answered, "yes");
}

static void keys_typed_before_it_shows_do_not_answer(void **state) {
    struct scene *scene = *state;
    ask(scene, false, "Type yes.");
    type(scene, "5\r"); /* in the same batch, so nobody has seen it yet */
    assert_int_equal(scene->answers + scene->declined, 0);
    assert_true(shows(scene, "Type yes."));
}

static void it_waits_until_what_is_being_typed_is_done(void **state) {
    struct scene *scene = *state;
    type(scene, "rtoo");
    ask(scene, false, "Type yes.");
    assert_false(shows(scene, "trn2 asks ─"));
    type(scene, " big");
    assert_true(shows(scene, "too big"));
    type(scene, "\x1b");
    assert_true(shows(scene, "trn2 asks ─"));
    assert_int_equal(scene->answers + scene->declined, 0);
}

static void it_goes_when_the_question_goes(void **state) {
    struct scene *scene = *state;
    ask(scene, true, "The key has a passphrase.");
    draw(scene);
    type(scene, SECRET);
    scene->place.asks = NULL;
    assert_false(shows(scene, "passphrase"));
    assert_false(holds_secret(scene));
    ask(scene, true, "A password for ubuntu.");
    draw(scene);
    type(scene, SECRET);
    ask(scene, false, "Type yes."); /* another question: nothing typed goes to it */
    assert_true(shows(scene, "Type yes."));
    assert_false(holds_secret(scene));
    assert_int_equal(scene->answers + scene->declined, 0);
}

static void a_long_or_strange_answer_does_no_harm(void **state) {
    struct scene *scene = *state;
    ask(scene, true, "The key has a passphrase.");
    draw(scene);
    for (int i = 0; i < 2000; i++)
        type(scene, "x");
    assert_int_equal(scene->views->over.reply.len, TUI_SECRET_MAX - 1);
    views_event(scene->views, &(struct tui_event){.key = {'u', TUI_CTRL}});
    assert_int_equal(scene->views->over.reply.len, 0);
    struct tui_event paste = {.kind = TUI_EVENT_PASTE, .paste = STR("sesame\r\n")};
    views_event(scene->views, &paste);
    views_event(scene->views, &(struct tui_event){.key = {0xe9, 0}});
    views_event(scene->views, &(struct tui_event){.key = {TUI_KEY_BACKSPACE, 0}});
    assert_string_equal(scene->views->over.reply.text, "sesame");
    type(scene, "\r");
    assert_string_equal(scene->answered, "sesame");
}

static void connecting_again_is_offered_when_it_helps(void **state) {
    struct scene *scene = *state;
    scene->status.state = TARGET_READY;
    draw(scene);
    type(scene, "t");
    assert_int_equal(scene->retries, 0);
    scene->status.state = TARGET_LOST;
    assert_true(shows(scene, "t try again"));
    type(scene, "t");
    type(scene, ":retry\r");
    assert_int_equal(scene->retries, 2);
}

static void the_device_screen_looks_at_the_place(void **state) {
    struct scene *scene = *state;
    draw(scene);
    assert_int_equal(scene->watched, 0);
    type(scene, "4");
    draw(scene);
    assert_true(scene->watched > 0);
}

int main(void) {
    setlocale(LC_ALL, "C.UTF-8");
    setenv("TZ", "UTC", 1);
#define ROW(test) cmocka_unit_test_setup_teardown(test, scene_new, scene_end)
    const struct CMUnitTest tests[] = {
        ROW(a_secret_is_given_once_and_wiped),
        ROW(escape_declines_and_wipes),
        ROW(nothing_is_no_answer),
        ROW(keys_typed_before_it_shows_do_not_answer),
        ROW(it_waits_until_what_is_being_typed_is_done),
        ROW(it_goes_when_the_question_goes),
        ROW(a_long_or_strange_answer_does_no_harm),
        ROW(connecting_again_is_offered_when_it_helps),
        ROW(the_device_screen_looks_at_the_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
