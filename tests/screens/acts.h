/* SPDX-License-Identifier: Apache-2.0 */
/* Screens whose actions are applied to the state itself and kept as words. Include cmocka before
 * it. */
#ifndef HONE_TESTS_SCREENS_ACTS_H
#define HONE_TESTS_SCREENS_ACTS_H

#include <locale.h>

#include "screens/scene.h"
#include "tui/cells/testing.h"
#include "views/inner.h"
#include "tune/act/inner.h"
#include "tune/apply/apply.h"

/* Applies what is asked to the state itself, and says it in words. */
static struct buf done;

static inline bool act_on_state(void *context, const struct tune_action *action, struct err *err) {
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

static inline struct views *views_that_act(struct tune_state *state) {
    struct views *views = make_views(state);
    views_set_model(views,
                    &(struct views_model){.state = state, .act = act_on_state, .context = state});
    return views;
}

static inline void draw_at(struct views *views, int rows, int cols) {
    struct tui_canvas *canvas = tui_canvas_new(rows, cols, false);
    views_draw(views, tui_area_all(canvas), REPLAY_START_MS);
    tui_canvas_free(canvas);
}

static inline void said(const char *expected) {
    assert_string_equal(done.at ? done.at : "", expected);
    buf_clear(&done);
}

/* Whether a screen of that size has the text after the keys. */
static inline bool shows_at(struct views *views, int rows, int cols, const char *keys,
                            const char *text) {
    struct tui_canvas *canvas = tui_canvas_new(rows, cols, false);
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

static inline bool shows(struct views *views, const char *keys, const char *text) {
    return shows_at(views, 40, 120, keys, text);
}

static inline void acts_begin(void) {
    setlocale(LC_ALL, "C.UTF-8");
    setenv("TZ", "UTC", 1);
    setenv("XDG_CONFIG_HOME", REPLAY_FOLDER "config", 1); /* prompts that do not change */
}

#endif
