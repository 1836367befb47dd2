/* SPDX-License-Identifier: Apache-2.0 */
/* Screen 5 and the question to a planner say the same of why a kernel takes its time: in each
 * situation of the recorded sessions what limits, each bound, the costliest line, and the
 * account of causes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "screens/acts.h"
#include "tune/read/read.h"
#include "tune/situations.h"

static int with_causes; /* situations whose question has an account of causes */

static const char *section(const struct tune_context *context, const char *name) {
    for (size_t i = 0; i < context->sections.len; i++)
        if (!strcmp(context->sections.at[i].name, name))
            return context->sections.at[i].text;
    fail_msg("there is no %s", name);
    return "";
}

/* What stands between two pieces of a line; "" when they are not there. */
static void between(const char *text, const char *from, const char *to, char out[100]) {
    const char *at = strstr(text, from);
    const char *end = at ? strstr(at + strlen(from), to) : NULL;
    out[0] = '\0';
    if (end)
        snprintf(out, 100, "%.*s", (int)(end - at) - (int)strlen(from), at + strlen(from));
}

/* "Tensor: busy 0.124 ms; if it took no time, the latency would be 72.9 us" of the prompt, and the
 * row "Tensor   0.124 ms  ###  72.9 us" of the screen. */
static void bound_is_the_same(struct views *views, const char *profile,
                              const struct tune_bound *bound) {
    char head[60], busy[100], without[100];
    snprintf(head, sizeof head, "\n%s: busy ", bound->name);
    between(profile, head, ";", busy);
    const char *row = strstr(profile, head);
    assert_non_null(row);
    between(row, "the latency would be ", "\n", without);
    assert_true(*busy && *without);
    assert_true(shows(views, "", busy));
    assert_true(shows(views, "", without));
    assert_true(shows(views, "", bound->name));
}

/* "line 47: 84.3 % of the critical path" and "47  84.3 %". */
static void line_is_the_same(struct views *views, const char *lines) {
    char line[100], share[100], both[220];
    between(lines, "line ", ":", line);
    between(lines, ": ", " of the critical path", share);
    assert_true(*line && *share);
    snprintf(both, sizeof both, " %s  %s ", line, share);
    assert_true(shows(views, "", both));
}

/* W shows each line of the account of causes that the question has. */
static void account_is_the_same(struct views *views, const char *causes) {
    struct tui_canvas *canvas = tui_canvas_new(120, 1000, false);
    struct buf screen = {0};
    struct str rest = str_of(causes), line;
    size_t lines = 0;
    replay_keys(views, "W");
    views_draw(views, tui_area_all(canvas), REPLAY_START_MS);
    tui_canvas_print(canvas, false, &screen);
    for (; str_next(&rest, '\n', &line); lines++) {
        char text[1000];
        snprintf(text, sizeof text, STR_FMT, STR_ARG(str_trim(line)));
        if (!str_starts(line, "By the device model") && !strstr(screen.at, text))
            fail_msg("the screen does not have '%s'", text);
    }
    assert_true(lines > 8);
    buf_free(&screen);
    tui_canvas_free(canvas);
}

static void compare(void *data, const struct situation *situation) {
    const struct tune_state *state = situation->state;
    const struct tune_attempt *attempt = tune_state_attempt(state, state->incumbent);
    char limited[100];
    if (situation->role != TUNE_ROLE_PLANNER)
        return;
    struct views *views = make_views(state);
    const char *profile = section(situation->context, "profile");
    between(profile, "limited by: ", "\n", limited);
    assert_true(*limited && attempt->bounds.len);
    assert_true(shows(views, "5", limited));
    for (size_t i = 0; i < attempt->bounds.len && i < 3; i++) /* as many as there is room for */
        bound_is_the_same(views, profile, &attempt->bounds.at[i]);
    line_is_the_same(views, section(situation->context, "cost per line"));
    for (size_t i = 0; i < situation->context->sections.len; i++) /* older records have none */
        if (!strcmp(situation->context->sections.at[i].name, "causes")) {
            account_is_the_same(views, situation->context->sections.at[i].text);
            with_causes++;
        }
    views_free(views);
    ++*(int *)data;
}

static void the_screen_and_the_question_agree(void **unused) {
    (void)unused;
    static const char *const logs[] = {"asked", "rmsnorm_matmul"};
    int compared = 0;
    for (size_t i = 0; i < COUNT_OF(logs); i++) {
        char path[200];
        struct err err = {0};
        snprintf(path, sizeof path, HONE_SOURCE_DIR "/tests/tune/logs/%s.events", logs[i]);
        char *log = file_read(path, 0, NULL, &err);
        assert_non_null(log);
        situations_walk(log, compare, &compared);
        free(log);
    }
    assert_int_equal(compared, 12);
    assert_true(with_causes >= 6);
}

int main(void) {
    acts_begin();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_screen_and_the_question_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
