/* SPDX-License-Identifier: Apache-2.0 */
/* Golden screens: what every view draws of one scripted session, as text with the roles of the
 * cells. A scene's file has what the screen itself draws, or what lies over it. The lines around
 * every screen (head, title, status, keys) are in the files chrome-*, each line once with the
 * scenes that have it. HONE_REGEN=1 writes the files anew; read the difference before committing
 * it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <locale.h>

#include "screens/golden.h"
#include "screens/scene.h"
#include "tui/cells/testing.h"

static const struct size { int cols, rows; } sizes[] = {{80, 24}, {120, 40}, {40, 10}};

static const struct scene {
    const char *name, *stop, *keys;
    enum connection connection;
    bool around; /* it is about the lines around the screen */
} scenes[] = {
    {"new", "new", "", NO_PLACE, false},
    {"planned", "planned", "", NO_PLACE, false},
    {"rewritten", "rewritten", "", NO_PLACE, false},
    {"hunks", "rewritten", "h n", NO_PLACE, false},
    {"sides", "rewritten", "z d", NO_PLACE, false},
    {"verifying", "verifying", "Tab", NO_PLACE, false},
    {"kept", "kept", "Tab Tab", NO_PLACE, false},
    {"kernel-pane", "kept", "S-Tab", NO_PLACE, false},
    {"step", "kept", "[ [", NO_PLACE, false},
    {"kernel", "kept", "2", NO_PLACE, false},
    {"diff", "kept", "7 Down Enter", NO_PLACE, false},
    {"device", "kept", "4", NO_PLACE, false},
    {"profile", "kept", "5", NO_PLACE, false},
    {"notes", "kept", "6", NO_PLACE, false},
    {"history", "kept", "7 Down Down", NO_PLACE, false},
    {"revert", "kept", "7 Down R", NO_PLACE, false},
    {"left", "left", "h n", NO_PLACE, false},
    {"take", "rewritten", "h n : t a k e Space t o o Space m u c h", NO_PLACE, true},
    {"take-elsewhere", "kept", "6 : t a k e Space n o Enter", NO_PLACE, true},
    {"memory", "kept", "8", NO_PLACE, false},
    {"memory-all", "learnt", "8 A", NO_PLACE, false},
    {"notes-judged", "learnt", "6 End", NO_PLACE, false},
    {"notes-scores", "learnt", "6 Tab", NO_PLACE, false},
    {"memory-earned", "learnt", "8", NO_PLACE, false},
    {"memory-merged", "learnt", "8 Down Down Down", NO_PLACE, false},
    {"memory-closed", "learnt", "8 Down Down Down Down", NO_PLACE, false},
    {"memory-imported", "learnt", "8 End", NO_PLACE, false},
    {"memory-expired", "learnt", "8 Down", NO_PLACE, false},
    {"history-imported", "learnt", "7 End", NO_PLACE, false},
    {"history-interval", "measured", "7 Down Down Down Down Down", NO_PLACE, false},
    {"history-unsure", "measured", "7 Down Down Down Down Down Down", NO_PLACE, false},
    {"settings", "kept", "0", NO_PLACE, false},
    {"summary", "stopped", "", NO_PLACE, false},
    {"summary-end", "stopped", "End", NO_PLACE, false},
    {"summary-workbench", "stopped", "1", NO_PLACE, true},
    {"summary-running", "learnt", "b", NO_PLACE, false},
    {"help", "planned", "? g a t e", NO_PLACE, false},
    {"reject", "planned", "r t o o Space b i g", NO_PLACE, false},
    {"command", "planned", ": g a t", NO_PLACE, true},
    {"gates", "planned", "g", NO_PLACE, false},
    {"sweep", "kept", ": s w e e p Enter", NO_PLACE, false},
    {"sweep-line", "kept", ": s w e e p Enter Down Enter", NO_PLACE, true},
    {"prompt-no-model", "planned", "9", NO_PLACE, false},
    {"timeline", "kept", "5 t Down + + Right", NO_PLACE, false},
    {"roofline", "kept", "5 t t", NO_PLACE, false},
    {"profile-why", "kept", "5 W", NO_PLACE, false},
    {"profile-why-end", "kept", "5 W End Up", NO_PLACE, false},
    {"profile-why-unknown", "verifying", "5 W", NO_PLACE, false},
    {"history-found", "kept", "7 / s b u f Enter", NO_PLACE, false},
    {"history-typed", "kept", "7 / s b . f", NO_PLACE, false},
    {"notes-found", "kept", "6 / ^ ( t h e | r e ) . * [ 0 - 9 ] + Enter", NO_PLACE, false},
    {"settings-found", "kept", "0 / g a t e Enter n", NO_PLACE, false},
    {"profile-found", "kept", "5 / n l [ . ] \\ w + Enter n", NO_PLACE, false},
    {"search-wrong", "kept", "7 / s b ( u f Enter", NO_PLACE, true},
    {"history-filter", "kept", "7 : f i l t e r Space ^ # [ 1 2 ] Enter", NO_PLACE, false},
    {"history-filter-none", "kept", "7 : f i l t e r Space z z z Enter", NO_PLACE, false},
    {"filter-dropped", "kept", "7 : f i l t e r Space z Enter : f i l t e r Enter", NO_PLACE, true},
    {"filter-wrong", "kept", "4 : f i l t e r Space [ Enter", NO_PLACE, true},
    {"device-filter", "kept", "4 : f i l t e r Space s e e d Enter", NO_PLACE, false},
    {"model", "kept", "4", MODEL, false},
    {"connected", "kept", "", CONNECTED, false},
    {"connected-device", "verifying", "4 Tab", CONNECTED, false},
    {"connected-settings", "kept", "0 End Up Up", CONNECTED, false},
    {"waiting", "verifying", "", WAITING, true},
    {"waiting-device", "verifying", "4", WAITING, false},
    {"lost", "verifying", "", LOST, true},
    {"lost-device", "verifying", "4", LOST, false},
    {"failed-device", "kept", "4", FAILED, false},
    {"asks-key", "planned", "y e", ASKS_KEY, false},
    {"asks-secret", "planned", "h u n t e r Backspace", ASKS_SECRET, false},
    {"files-changed", "files", "", NO_PLACE, false},
    {"files-changed-below", "files", "Down Down Down", NO_PLACE, false},
    {"files-changed-later", "files", "s", NO_PLACE, false},
    {"help-all", "planned", "?", NO_PLACE, false},
    {"help-other", "kept", "7 ? PageDown PageDown PageDown Up", NO_PLACE, false},
    {"help-screen", "kept", "5 ? h i s t o r y", NO_PLACE, false},
    {"name-page", "kept", "2 / n l . l o a d Enter K", NO_PLACE, false},
    {"name-pages", "kept", "2 / n l . n d a r r a y Enter K", NO_PLACE, false},
    {"sides-unzoomed", "rewritten", "d", NO_PLACE, true},
};

/* Sessions with language models: calls.events. */
static const struct scene model_scenes[] = {
    {"asking", "asking", "", NO_PLACE, false},
    {"streaming", "streaming", "", NO_PLACE, false},
    {"streaming-zoomed", "streaming", "z c", NO_PLACE, false},
    {"person", "person", "", NO_PLACE, false},
    {"person-writes", "person", "p t i t l e", NO_PLACE, false},
    {"prompt", "planned", "9", NO_PLACE, false},
    {"prompt-changed", "changed", "9 Down Down Down", NO_PLACE, false},
    {"prompt-part", "changed", "9 Down Enter Down", NO_PLACE, false},
    {"prompt-fixer", "planned", "9 o", NO_PLACE, false},
    {"calls", "planned", "9 Tab", NO_PLACE, false},
    {"calls-running", "streaming", "9 Tab Up", NO_PLACE, false},
    {"call", "planned", "9 Tab Enter", NO_PLACE, false},
    {"call-answer", "planned", "9 Tab Enter Tab", NO_PLACE, false},
    {"many", "many", "z", NO_PLACE, false},
    {"many-next", "many", "z c c c", NO_PLACE, false},
    {"many-held", "many", "z C C C", NO_PLACE, false},
    {"many-workbench", "many", "", NO_PLACE, false},
    {"many-calls", "many", "9 Tab Up Up Up Up", NO_PLACE, false},
    {"prompt-held", "many", "9", NO_PLACE, false},
    {"prompt-held-again", "many", "9 End", NO_PLACE, false},
    {"prompt-found", "many", "9 / t i l e Space o n c e Enter", NO_PLACE, false},
    {"prompt-found-part", "planned", "9 / f e w Space l i n e s Enter", NO_PLACE, false},
    {"prompt-found-next", "planned", "9 / f o r Enter n n", NO_PLACE, false},
    {"prompt-found-not", "planned", "9 / z z z z Enter", NO_PLACE, true},
    {"roles", "planned", "0 End Up Up Up Up", NO_PLACE, false},
    {"roles-scores", "planned", "6 Tab", NO_PLACE, false},
    {"plan-costs", "planned", "", NO_PLACE, false},
    {"summary-models", "stopped", "End", NO_PLACE, false},
    {"waits", "waits", "", NO_PLACE, false},
    {"waits-calls", "waits", "9 Tab End", NO_PLACE, false},
};

/* Beam searches: lanes.events. The keys first go to the lane that was shown then. */
static const struct scene lane_scenes[] = {
    {"lanes-asking", "some-asked", "", NO_PLACE, false},
    {"lanes-asking-next", "some-asked", "c", NO_PLACE, false},
    {"lanes-asking-list", "some-asked", "l Down", NO_PLACE, false},
    {"lanes-planned", "planned", "", NO_PLACE, false},
    {"lanes-planned-list", "planned", "l", NO_PLACE, false},
    {"lanes-focused", "focused", "} } }", NO_PLACE, false},
    {"lanes-reject", "focused", "} } } r t o o Space b i g", NO_PLACE, false},
    {"lanes-reject-list", "planned", "l Down Down r", NO_PLACE, false},
    {"lanes-closed-list", "rejected", "{ { l Down", NO_PLACE, false},
    {"lanes-closed-reject", "rejected", "{ { l Up r", NO_PLACE, false},
    {"lanes-rewriting", "rewriting", "{ { l", NO_PLACE, false},
    {"lanes-rewritten", "rewritten", "{ {", NO_PLACE, false},
    {"lanes-kernel", "rewritten", "{ { 2 v", NO_PLACE, false},
    {"lanes-verifying", "verifying", "{ { Tab", NO_PLACE, false},
    {"lanes-verifying-list", "verifying", "{ { l", NO_PLACE, false},
    {"lanes-verifying-device", "verifying", "{ { 4", NO_PLACE, false},
    {"lanes-decided", "decided", "{ {", NO_PLACE, false},
    {"lanes-decided-list", "decided", "{ { l", NO_PLACE, false},
    {"lanes-decided-one", "decided", "{ { [", NO_PLACE, false},
    {"lanes-history", "decided", "{ { 7 Down Down", NO_PLACE, false},
    {"lanes-revert", "decided", "{ { 7 Down Down R", NO_PLACE, false},
    {"lanes-settings", "decided", "{ { 0 End Up Up Up", NO_PLACE, false},
    {"lanes-many", "many", "l End", NO_PLACE, false},
    {"lanes-many-workbench", "many", "", NO_PLACE, false},
    {"lanes-fanned", "fanned", "l End", NO_PLACE, false},
    {"lanes-person", "fanned", "", NO_PLACE, false},
    {"lanes-prompt", "rewriting", "{ { 9", NO_PLACE, false},
    {"lanes-calls", "rewriting", "{ { 9 Tab", NO_PLACE, false},
    {"lanes-help", "planned", "? l a n e", NO_PLACE, false},
};

static struct tune_state *replay_scene(const struct scene *scene, int64_t *now_ms) {
    bool models = scene >= model_scenes && scene < model_scenes + COUNT_OF(model_scenes);
    bool lanes = scene >= lane_scenes && scene < lane_scenes + COUNT_OF(lane_scenes);
    if (!models && !lanes)
        return scene->stop ? replay_until(scene->stop, now_ms) : NULL;
    struct tune_state *state =
        replay_of(lanes ? "lanes.events" : "calls.events", scene->stop, now_ms);
    state->roles = roles;
    if (lanes) { /* as the configuration says */
        state->questions = 8;
        state->questions_from = "default";
        state->prune = 1.5;
        state->prune_from = "~/.config/hone/config.ini:9";
    }
    stream_answers(state);
    return state;
}

/* How a set of scenes is drawn, and what they have in common. */
struct drawing {
    struct size size;
    bool ascii;
    struct golden_chrome chrome;
};

/* The scene's own rows: what lies over the screen, otherwise what the screen draws. */
static void compare_rows(const struct scene *scene, const struct drawing *drawing,
                         const struct views *views, const struct tui_canvas *canvas) {
    struct golden_rows rows = golden_popup(canvas);
    struct buf screen = {0};
    char file[64];
    if (!rows.count)
        rows = golden_body(views, canvas);
    struct tui_canvas *part = golden_part(canvas, rows);
    tui_canvas_print(part, !drawing->ascii, &screen);
    snprintf(file, sizeof file, "%s-%dx%d%s", scene->name, drawing->size.cols, drawing->size.rows,
             drawing->ascii ? "-ascii" : "");
    golden_compare(file, &screen);
    buf_free(&screen);
    tui_canvas_free(part);
}

static void draw_scene(const struct scene *scene, struct drawing *drawing) {
    int64_t now_ms = REPLAY_START_MS;
    struct tune_state *state = replay_scene(scene, &now_ms);
    struct tune_place_view *place =
        scene->connection ? make_place(scene->connection, now_ms + 2000) : NULL;
    if (place) {
        state->place = place;
        state->target = place->info->name;
    }
    struct views *views = make_views(state);
    struct tui_canvas *canvas =
        tui_canvas_new(drawing->size.rows, drawing->size.cols, drawing->ascii);
    views_draw(views, tui_area_all(canvas), now_ms + 2000);
    struct str rest = str_of(scene->keys), key;
    while (scene->keys[0] && str_next(&rest, ' ', &key)) {
        char name[16];
        snprintf(name, sizeof name, STR_FMT, STR_ARG(key));
        replay_keys(views, name);
        views_draw(views, tui_area_all(canvas), now_ms + 2000);
    }
    if (!scene->around)
        compare_rows(scene, drawing, views, canvas);
    golden_note(&drawing->chrome, views, scene->name, canvas);
    tui_canvas_free(canvas);
    views_free(views);
    if (state)
        tune_state_free(state);
    free_place(place);
}

static void compare_chrome(struct drawing *drawing) {
    char suffix[32];
    snprintf(suffix, sizeof suffix, "%dx%d%s", drawing->size.cols, drawing->size.rows,
             drawing->ascii ? "-ascii" : "");
    golden_chrome_compare(&drawing->chrome, suffix);
}

static void screens_at(struct size size) {
    static const struct scene start = {"start", NULL, "Down Down", NO_PLACE, false};
    struct drawing drawing = {.size = size};
    draw_scene(&start, &drawing);
    for (size_t i = 0; i < COUNT_OF(scenes); i++)
        draw_scene(&scenes[i], &drawing);
    for (size_t i = 0; i < COUNT_OF(model_scenes); i++)
        draw_scene(&model_scenes[i], &drawing);
    for (size_t i = 0; i < COUNT_OF(lane_scenes); i++)
        draw_scene(&lane_scenes[i], &drawing);
    compare_chrome(&drawing);
}

static void screens_at_80x24(void **state) {
    (void)state;
    screens_at(sizes[0]);
}

static void screens_at_120x40(void **state) {
    (void)state;
    screens_at(sizes[1]);
}

static void a_small_terminal_gets_a_notice(void **state) {
    (void)state;
    struct views *views = make_views(NULL);
    for (int ascii = 0; ascii < 2; ascii++) {
        int64_t now_ms = 0;
        struct tune_state *model = replay_until("planned", &now_ms);
        struct drawing drawing = {.size = sizes[2], .ascii = ascii};
        struct tui_canvas *canvas = tui_canvas_new(sizes[2].rows, sizes[2].cols, ascii);
        views_set_model(views, &(struct views_model){.state = model});
        views_draw(views, tui_area_all(canvas), now_ms + 2000);
        compare_rows(&scenes[1], &drawing, views, canvas);
        tui_canvas_free(canvas);
        views_set_model(views, &(struct views_model){.state = NULL});
        tune_state_free(model);
    }
    views_free(views);
}

static void ascii_screens_at(struct size size) {
    struct drawing drawing = {.size = size, .ascii = true};
    bool small = size.rows == sizes[0].rows;
    for (size_t i = 0; i < COUNT_OF(scenes); i++)
        if (i == 1 || i == 2 || i == 6 || i == 14 || scenes[i].connection >= CONNECTED)
            draw_scene(&scenes[i], &drawing);
    for (size_t i = 0; i < COUNT_OF(scenes); i++)
        if (strcmp(scenes[i].name, "help-all") == 0)
            draw_scene(&scenes[i], &drawing);
    for (size_t i = 0; small && i < COUNT_OF(model_scenes); i++)
        if (i == 1 || i == 6 || i == 9)
            draw_scene(&model_scenes[i], &drawing);
    for (size_t i = 0; small && i < COUNT_OF(lane_scenes); i++)
        if (i == 4 || i == 13 || i == 17)
            draw_scene(&lane_scenes[i], &drawing);
    compare_chrome(&drawing);
}

static void ascii_screens(void **state) {
    (void)state;
    ascii_screens_at(sizes[0]);
    ascii_screens_at(sizes[1]);
}

/* Every cell of an ASCII screen is one printable byte. */
static void ascii_is_ascii(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(scenes); i++) {
        int64_t now_ms = 0;
        struct tune_state *model = replay_until(scenes[i].stop, &now_ms);
        struct views *views = make_views(model);
        struct tui_canvas *canvas = tui_canvas_new(40, 120, true);
        views_draw(views, tui_area_all(canvas), now_ms);
        for (int c = 0; c < 40 * 120; c++) {
            assert_int_equal(canvas->cells[c].len, 1);
            assert_true(canvas->cells[c].text[0] >= ' ' && canvas->cells[c].text[0] < 0x7f);
        }
        tui_canvas_free(canvas);
        views_free(views);
        tune_state_free(model);
    }
}

/* Prints the rows, then where a terminal without colours shows them in another way than plain. */
static void print_mono(const struct tui_canvas *canvas, struct golden_rows rows,
                       struct buf *screen) {
    struct tui_canvas *part = golden_part(canvas, rows);
    tui_canvas_print(part, false, screen);
    for (int row = 0; row < part->rows; row++)
        for (int col = 0, end; col < part->cols; col = end) {
            const struct tui_cell *cells = part->cells + row * part->cols;
            struct tui_look look = tui_look_of(cells[col].style, TUI_MONO);
            end = col + 1;
            while (end < part->cols &&
                   tui_look_of(cells[end].style, TUI_MONO).attributes == look.attributes)
                end++;
            if (look.attributes)
                buf_printf(screen, "%d: %d-%d%s%s%s\n", row, col, end - 1,
                           look.attributes & TUI_BOLD ? " bold" : "",
                           look.attributes & TUI_UNDERLINE ? " underline" : "",
                           look.attributes & TUI_REVERSE ? " reverse" : "");
        }
    tui_canvas_free(part);
}

static void draw_mono(const char *name, enum connection connection, const char *keys,
                      struct golden_rows rows) {
    int64_t now_ms = 0;
    struct tune_state *model = replay_until("rewritten", &now_ms);
    struct tune_place_view *place = connection ? make_place(connection, now_ms) : NULL;
    model->place = place;
    struct views *views = make_views(model);
    struct tui_canvas *canvas = tui_canvas_new(40, 120, false);
    views_draw(views, tui_area_all(canvas), now_ms);
    if (*keys)
        replay_keys(views, keys);
    views_draw(views, tui_area_all(canvas), now_ms);
    struct buf screen = {0};
    print_mono(canvas, rows.count ? rows : golden_popup(canvas), &screen);
    golden_compare(name, &screen);
    buf_free(&screen);
    tui_canvas_free(canvas);
    views_free(views);
    tune_state_free(model);
    free_place(place);
}

/* Without colour the screens show the same text. What carries meaning differs by more than colour.
 * One of them is the whole screen. */
static void without_colour_what_matters_still_shows(void **state) {
    (void)state;
    draw_mono("rewritten-120x40-mono", NO_PLACE, "", (struct golden_rows){0, 40});
    draw_mono("lost-120x40-mono", LOST, "", (struct golden_rows){0, 1});
    draw_mono("lost-status-120x40-mono", LOST, "", (struct golden_rows){38, 1});
    draw_mono("asks-secret-120x40-mono", ASKS_SECRET, "", (struct golden_rows){0, 0});
    draw_mono("help-120x40-mono", NO_PLACE, "?", (struct golden_rows){0, 0});
}

int main(void) {
    setlocale(LC_ALL, "C.UTF-8");
    setenv("TZ", "UTC", 1);
    setenv("XDG_CONFIG_HOME", REPLAY_FOLDER "config", 1); /* prompts that do not change */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(screens_at_80x24),
        cmocka_unit_test(screens_at_120x40),
        cmocka_unit_test(a_small_terminal_gets_a_notice),
        cmocka_unit_test(ascii_screens),
        cmocka_unit_test(ascii_is_ascii),
        cmocka_unit_test(without_colour_what_matters_still_shows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
