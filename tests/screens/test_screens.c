/* SPDX-License-Identifier: Apache-2.0 */
/* Golden screens: what every view draws of one scripted session, as text with the roles of the
 * cells. HONE_REGEN=1 writes the files anew; look at the difference before committing it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <locale.h>
#include <math.h>

#include "screens/replay.h"

static const struct size { int cols, rows; } sizes[] = {{80, 24}, {120, 40}, {40, 10}};

/* How the connection of a place stands in a scene. */
enum connection { NO_PLACE, MODEL, CONNECTED, WAITING, LOST, FAILED, ASKS_KEY, ASKS_SECRET };

static const struct scene {
    const char *name, *stop, *keys;
    enum connection connection;
} scenes[] = {
    {"new", "new", "", NO_PLACE},
    {"planned", "planned", "", NO_PLACE},
    {"rewritten", "rewritten", "", NO_PLACE},
    {"hunks", "rewritten", "h n", NO_PLACE},
    {"sides", "rewritten", "z d", NO_PLACE},
    {"verifying", "verifying", "Tab", NO_PLACE},
    {"kept", "kept", "Tab Tab", NO_PLACE},
    {"kernel-pane", "kept", "S-Tab", NO_PLACE},
    {"step", "kept", "[ [", NO_PLACE},
    {"kernel", "kept", "2", NO_PLACE},
    {"diff", "kept", "7 Down Enter", NO_PLACE},
    {"device", "kept", "4", NO_PLACE},
    {"profile", "kept", "5", NO_PLACE},
    {"notes", "kept", "6", NO_PLACE},
    {"history", "kept", "7 Down Down", NO_PLACE},
    {"revert", "kept", "7 Down R", NO_PLACE},
    {"left", "left", "h n", NO_PLACE},
    {"take", "rewritten", "h n : t a k e Space t o o Space m u c h", NO_PLACE},
    {"take-elsewhere", "kept", "6 : t a k e Space n o Enter", NO_PLACE},
    {"memory", "kept", "8", NO_PLACE},
    {"memory-all", "learnt", "8 A", NO_PLACE},
    {"notes-judged", "learnt", "6 End", NO_PLACE},
    {"notes-scores", "learnt", "6 Tab", NO_PLACE},
    {"memory-earned", "learnt", "8", NO_PLACE},
    {"memory-merged", "learnt", "8 Down Down Down", NO_PLACE},
    {"memory-closed", "learnt", "8 Down Down Down Down", NO_PLACE},
    {"memory-imported", "learnt", "8 End", NO_PLACE},
    {"memory-expired", "learnt", "8 Down", NO_PLACE},
    {"history-imported", "learnt", "7 End", NO_PLACE},
    {"history-interval", "measured", "7 Down Down Down Down Down", NO_PLACE},
    {"history-unsure", "measured", "7 Down Down Down Down Down Down", NO_PLACE},
    {"settings", "kept", "0", NO_PLACE},
    {"summary", "stopped", "", NO_PLACE},
    {"summary-end", "stopped", "End", NO_PLACE},
    {"summary-workbench", "stopped", "1", NO_PLACE},
    {"summary-running", "learnt", "b", NO_PLACE},
    {"help", "planned", "? g a t e", NO_PLACE},
    {"reject", "planned", "r t o o Space b i g", NO_PLACE},
    {"command", "planned", ": g a t", NO_PLACE},
    {"gates", "planned", "g", NO_PLACE},
    {"sweep", "kept", ": s w e e p Enter", NO_PLACE},
    {"sweep-line", "kept", ": s w e e p Enter Down Enter", NO_PLACE},
    {"prompt-no-model", "planned", "9", NO_PLACE},
    {"timeline", "kept", "5 t Down + + Right", NO_PLACE},
    {"roofline", "kept", "5 t t", NO_PLACE},
    {"history-found", "kept", "7 / s b u f Enter", NO_PLACE},
    {"model", "kept", "4", MODEL},
    {"connected", "kept", "", CONNECTED},
    {"connected-device", "verifying", "4 Tab", CONNECTED},
    {"connected-settings", "kept", "0 End Up Up", CONNECTED},
    {"waiting", "verifying", "", WAITING},
    {"waiting-device", "verifying", "4", WAITING},
    {"lost", "verifying", "", LOST},
    {"lost-device", "verifying", "4", LOST},
    {"failed-device", "kept", "4", FAILED},
    {"asks-key", "planned", "y e", ASKS_KEY},
    {"asks-secret", "planned", "h u n t e r Backspace", ASKS_SECRET},
};

/* Sessions with language models: calls.events. */
static const struct scene model_scenes[] = {
    {"asking", "asking", "", NO_PLACE},
    {"streaming", "streaming", "", NO_PLACE},
    {"streaming-zoomed", "streaming", "z c", NO_PLACE},
    {"person", "person", "", NO_PLACE},
    {"person-writes", "person", "p t i t l e", NO_PLACE},
    {"prompt", "planned", "9", NO_PLACE},
    {"prompt-changed", "changed", "9 Down Down Down", NO_PLACE},
    {"prompt-part", "changed", "9 Down Enter Down", NO_PLACE},
    {"prompt-fixer", "planned", "9 o", NO_PLACE},
    {"calls", "planned", "9 Tab", NO_PLACE},
    {"calls-running", "streaming", "9 Tab Up", NO_PLACE},
    {"call", "planned", "9 Tab Enter", NO_PLACE},
    {"call-answer", "planned", "9 Tab Enter Tab", NO_PLACE},
    {"many", "many", "z", NO_PLACE},
    {"many-next", "many", "z c c c", NO_PLACE},
    {"many-held", "many", "z C C C", NO_PLACE},
    {"many-workbench", "many", "", NO_PLACE},
    {"many-calls", "many", "9 Tab Up Up Up Up", NO_PLACE},
    {"prompt-held", "many", "9", NO_PLACE},
    {"prompt-held-again", "many", "9 End", NO_PLACE},
    {"prompt-found", "many", "9 / t i l e Space o n c e Enter", NO_PLACE},
    {"prompt-found-part", "planned", "9 / f e w Space l i n e s Enter", NO_PLACE},
    {"prompt-found-next", "planned", "9 / f o r Enter n n", NO_PLACE},
    {"prompt-found-not", "planned", "9 / z z z z Enter", NO_PLACE},
    {"roles", "planned", "0 End Up Up Up Up", NO_PLACE},
    {"roles-scores", "planned", "6 Tab", NO_PLACE},
    {"plan-costs", "planned", "", NO_PLACE},
    {"summary-models", "stopped", "End", NO_PLACE},
    {"waits", "waits", "", NO_PLACE},
    {"waits-calls", "waits", "9 Tab End", NO_PLACE},
};

/* Beam searches: lanes.events. */
static const struct scene lane_scenes[] = {
    {"lanes-asking", "some-asked", "", NO_PLACE},
    {"lanes-asking-next", "some-asked", "c", NO_PLACE},
    {"lanes-asking-list", "some-asked", "l Down", NO_PLACE},
    {"lanes-planned", "planned", "", NO_PLACE},
    {"lanes-planned-list", "planned", "l", NO_PLACE},
    {"lanes-focused", "focused", "", NO_PLACE},
    {"lanes-reject", "focused", "r t o o Space b i g", NO_PLACE},
    {"lanes-reject-list", "planned", "l Down Down r", NO_PLACE},
    {"lanes-closed-list", "rejected", "l Down", NO_PLACE},
    {"lanes-closed-reject", "rejected", "l Up r", NO_PLACE},
    {"lanes-rewriting", "rewriting", "l", NO_PLACE},
    {"lanes-rewritten", "rewritten", "", NO_PLACE},
    {"lanes-kernel", "rewritten", "2 v", NO_PLACE},
    {"lanes-verifying", "verifying", "Tab", NO_PLACE},
    {"lanes-verifying-list", "verifying", "l", NO_PLACE},
    {"lanes-verifying-device", "verifying", "4", NO_PLACE},
    {"lanes-decided", "decided", "Tab Tab", NO_PLACE},
    {"lanes-decided-list", "decided", "l", NO_PLACE},
    {"lanes-decided-one", "decided", "[", NO_PLACE},
    {"lanes-history", "decided", "7 Down Down", NO_PLACE},
    {"lanes-revert", "decided", "7 Down Down R", NO_PLACE},
    {"lanes-settings", "decided", "0 End Up Up Up", NO_PLACE},
    {"lanes-many", "many", "l End", NO_PLACE},
    {"lanes-many-workbench", "many", "", NO_PLACE},
    {"lanes-fanned", "fanned", "l End", NO_PLACE},
    {"lanes-person", "fanned", "", NO_PLACE},
    {"lanes-prompt", "rewriting", "9", NO_PLACE},
    {"lanes-calls", "rewriting", "9 Tab", NO_PLACE},
    {"lanes-help", "planned", "? l a n e", NO_PLACE},
};

#define CLAUDE                                                                          \
    {                                                                                   \
        .name = "claude", .asked = "anthropic, claude-sonnet-4-5",                      \
        .origin = "~/.config/hone/config.ini:12", .price_input = 3, .price_output = 15, \
        .price_cache_read = 0.3, .price_cache_write = 3.75                              \
    }
static const struct tune_role_model claude = CLAUDE;
static const struct tune_role_model planners[] = {CLAUDE,
                                                  {.name = "local",
                                                   .asked = "openai, qwen3-coder",
                                                   .origin = "~/.config/hone/config.ini:12",
                                                   .price_input = NAN,
                                                   .price_output = NAN,
                                                   .price_cache_read = NAN,
                                                   .price_cache_write = NAN}};
static const struct tune_role_view roles[TUNE_ROLES] = {
    [TUNE_ROLE_PLANNER] = {.models = planners, .count = 2, .by_gain = true},
    [TUNE_ROLE_REWRITER] = {.models = &claude, .count = 1},
    [TUNE_ROLE_FIXER] = {.models = &claude, .count = 1}};

/* Pieces of answers are no events: they come from here. */
static void stream_answers(struct tune_state *state) {
    static const char *const pieces[] = {
        "title: Keep w resident in SBUF\nwhat: w is read again by each of the 32 blocks of rows; ",
        "load it once before the loop, all of its 512 columns, and index it inside.\nwhy: DMA is "
        "what limits the kernel, 61 % of the time goes to line 42\nlines: 38-44\nmetric: "
        "hbm_read_bytes\ndirection: down\nsize: 86 %\n---\ntitle: ",
        "\x1b[31mnot red"};
    for (size_t i = 0; i < state->calls.len; i++)
        for (size_t k = 0; k < COUNT_OF(pieces) && !state->calls.at[i].ended_ms; k++)
            if (!state->calls.at[i].waits && !state->calls.at[i].held && i != 3 && i != 11)
                tune_call_stream(state, (int)i, str_of(pieces[k]), false);
}

/* A host with four cores, as `connection` says. */
static struct tune_place_view *make_place(enum connection connection, int64_t now_ms) {
    struct place {
        struct tune_place_view view;
        struct target_info info;
        struct target_status status;
        struct target_question question;
    } *place = mem_alloc(1, sizeof *place);
    struct target_status *status = &place->status;
    static const enum target_state states[] = {
        [MODEL] = TARGET_READY,       [CONNECTED] = TARGET_READY, [WAITING] = TARGET_READY,
        [LOST] = TARGET_LOST,         [FAILED] = TARGET_FAILED,   [ASKS_KEY] = TARGET_ASKING,
        [ASKS_SECRET] = TARGET_ASKING};
    static const struct target_core cores[] = {{"0", "busy", "alice: python train.py (pid 4711)"},
                                               {"1", "free", ""},
                                               {"2", "free", ""},
                                               {"3", "ours", ""}};
    place->info = (struct target_info){.name = "trn2-host", .kind = "ssh", .parallel = 2};
    snprintf(place->info.what, sizeof place->info.what, "Trn2 host over SSH");
    *status = (struct target_status){.state = states[connection],
                                     .since_ms = now_ms - 12000,
                                     .memory_bytes = 493ull << 30,
                                     .disk_free_bytes = 120ull << 30,
                                     .looked_ms = now_ms - 4000};
    snprintf(status->host, sizeof status->host, "ubuntu@10.0.0.5 (libssh2, ed25519 key)");
    snprintf(status->release, sizeof status->release, "Neuron SDK 2.29, nki 0.3.0");
    snprintf(status->text, sizeof status->text, "connected");
    for (size_t i = 0; i < COUNT_OF(cores); i++)
        *vec_push(&status->cores) = cores[i];
    *vec_push(&status->entries) =
        (struct target_entry){"5f0c4e2d", "add_rmsnorm_matmul", "running", "", now_ms - 130000};
    if (connection == MODEL) {
        place->info =
            (struct target_info){"sim", "sim", "device model on this machine, 2 cores", true, 1};
        status->cores.len = status->entries.len = 0;
        status->memory_bytes = status->disk_free_bytes = 0;
        status->looked_ms = 0;
        status->host[0] = status->release[0] = 0;
    } else if (connection == WAITING) {
        struct target_entry *entry = &status->entries.at[0];
        snprintf(entry->state, sizeof entry->state, "waiting");
        snprintf(entry->reason, sizeof entry->reason,
                 "all cores are held: core 0 by alice "
                 "(python train.py, pid 4711) for 2 h");
        for (int i = 0; i < 4; i++)
            *vec_push(&status->entries) = (struct target_entry){"", "add_rmsnorm_matmul", "waiting",
                                                                "2 others run", now_ms - 3000};
    } else if (connection == LOST) {
        status->retry_ms = now_ms + 4000;
        snprintf(
            status->text, sizeof status->text,
            "connection lost (no answer for 45 s). Jobs on trn2-host go on; hone picks up their "
            "events when it is back.");
    } else if (connection == FAILED) {
        snprintf(status->text, sizeof status->text,
                 "the host key of trn2-host is another one than in ~/.ssh/known_hosts:4. Somebody "
                 "may be in between, or the machine was set up anew. If you know that it was: "
                 "ssh-keygen -R trn2-host, then try again.");
    } else if (connection == ASKS_KEY) {
        snprintf(place->question.text, sizeof place->question.text,
                 "hone has never talked to trn2-host (10.0.0.5). Its ed25519 key is "
                 "SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8. Compare it with what the "
                 "machine's owner says. Type yes to trust it from now on.");
    } else if (connection == ASKS_SECRET) {
        place->question.secret = true;
        snprintf(place->question.text, sizeof place->question.text,
                 "The key /home/me/.ssh/id_ed25519 has a passphrase.");
    }
    bool asks = connection == ASKS_KEY || connection == ASKS_SECRET;
    if (asks)
        snprintf(status->text, sizeof status->text, "%.390s", place->question.text);
    place->view = (struct tune_place_view){&place->info, status, asks ? &place->question : NULL};
    return &place->view;
}

static void free_place(struct tune_place_view *view) {
    if (!view)
        return;
    struct target_status *status = (struct target_status *)(uintptr_t)view->status;
    vec_free(&status->cores);
    vec_free(&status->entries);
    free(view);
}

static void no_answer(void *context, const char *answer) {
    (void)context;
    (void)answer;
    fail_msg("nothing is answered in this test");
}

static void no_retry(void *context) {
    (void)context;
}

/* The texts of a struct tune_recent are not const, because who lists them frees them. */
#define TEXT(literal) ((char *)(uintptr_t)(literal))
static const struct tune_recent recent[] = {
    {TEXT("add_rmsnorm_matmul"), TEXT("seeds/add_rmsnorm_matmul"), TEXT("/s/a"),
     TEXT("Sum, norm over rows, product with a matrix: three loops that read too much"),
     TEXT("1.61x, 0.842 ms after 3 rounds"), REPLAY_START_MS - 7200000, false, false},
    {TEXT("attention"), TEXT("/home/me/attention"), TEXT("/s/b"), NULL,
     TEXT("1.08x, 2.31 ms after 12 rounds"), REPLAY_START_MS - 3 * 86400000ll, false, true},
    {TEXT("silu"), TEXT("seeds/silu"), NULL, TEXT("x times its sigmoid, tile by tile"), NULL, 0,
     true, false},
    {TEXT("softmax"), TEXT("seeds/softmax"), NULL, TEXT("Softmax over long rows"), NULL, 0, true,
     false},
    {TEXT("matmul"), TEXT("seeds/matmul"), NULL, TEXT("A large product in bf16, current dialect"),
     NULL, 0, true, false},
};

static bool no_act(void *context, const struct tune_action *action, struct err *err) {
    (void)context;
    (void)action;
    return err_set(err, ERR_USAGE, "nothing is done in this test");
}

/* Two engines and a direction of DMA whose transfers overlap and come out of order. */
static char *timeline_text(void *context, const char *hash) {
    (void)context;
    if (!strcmp(hash, "prompt"))
        return mem_strdup(
            "You tune kernels for AWS Trainium NeuronCores.\n\n# task\n\nadd_rmsnorm\n");
    if (!strcmp(hash, "answer"))
        return mem_strdup("title: Load each tile once\nwhat: keep it\n");
    return mem_strdup(
        "{\"format\": \"hone-profile\", \"lanes\": [\"Tensor\", \"Vector\", \"DMA in\"],"
        "\n\"spans_left_out\": 0,\n\"spans\": ["
        "\n[3,0,\"nc_matmul\",43,200.0,500.0],\n[6,0,\"nc_matmul\",43,700.0,800.5],"
        "\n[4,1,\"tensor_tensor\",36,100.0,200.0],\n[5,1,\"tensor_copy\",44,500.0,650.0],"
        "\n[2,2,\"dma_copy\",22,50.0,150.0],\n[1,2,\"dma_copy\",23,0.0,100.0],"
        "\n[9,77,\"nowhere\",1,0.0,900.0]]}\n");
}

static void compare(const char *file, const struct buf *screen) {
    char path[512];
    struct err err;
    snprintf(path, sizeof path, REPLAY_FOLDER "golden/%s.txt", file);
    if (getenv("HONE_REGEN")) {
        assert_true(file_write(path, screen->at, screen->len, &err));
        return;
    }
    char *expected = file_read(path, 0, NULL, &err);
    assert_non_null(expected);
    if (strcmp(expected, screen->at) != 0)
        print_message("%s differs; it shows now:\n%s\n", file, screen->at);
    assert_string_equal(screen->at, expected);
    free(expected);
}

static struct views *make_views(const struct tune_state *state) {
    struct err err = {0};
    struct views *views = views_new(NULL, NULL, &err);
    if (!views)
        print_message("%s\n", err.text);
    assert_non_null(views);
    const struct views_model model = {.state = state,
                                      .act = no_act,
                                      .artefact = timeline_text,
                                      .answer = no_answer,
                                      .retry = no_retry,
                                      .recent = recent,
                                      .n_recent = COUNT_OF(recent)};
    views_set_model(views, &model);
    return views;
}

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

static void draw_scene(const struct scene *scene, struct size size, bool ascii) {
    int64_t now_ms = REPLAY_START_MS;
    struct tune_state *state = replay_scene(scene, &now_ms);
    struct tune_place_view *place =
        scene->connection ? make_place(scene->connection, now_ms + 2000) : NULL;
    if (place) {
        state->place = place;
        state->target = place->info->name;
    }
    struct views *views = make_views(state);
    struct tui_canvas *canvas = tui_canvas_new(size.rows, size.cols, ascii);
    views_draw(views, tui_area_all(canvas), now_ms + 2000);
    struct str rest = str_of(scene->keys), key;
    while (scene->keys[0] && str_next(&rest, ' ', &key)) {
        char name[16];
        snprintf(name, sizeof name, STR_FMT, STR_ARG(key));
        replay_keys(views, name);
        views_draw(views, tui_area_all(canvas), now_ms + 2000);
    }
    struct buf screen = {0};
    char file[64];
    tui_canvas_print(canvas, !ascii, &screen);
    snprintf(file, sizeof file, "%s-%dx%d%s", scene->name, size.cols, size.rows,
             ascii ? "-ascii" : "");
    compare(file, &screen);
    buf_free(&screen);
    tui_canvas_free(canvas);
    views_free(views);
    if (state)
        tune_state_free(state);
    free_place(place);
}

static void screens_at(struct size size) {
    static const struct scene start = {"start", NULL, "Down Down", NO_PLACE};
    draw_scene(&start, size, false);
    for (size_t i = 0; i < COUNT_OF(scenes); i++)
        draw_scene(&scenes[i], size, false);
    for (size_t i = 0; i < COUNT_OF(model_scenes); i++)
        draw_scene(&model_scenes[i], size, false);
    for (size_t i = 0; i < COUNT_OF(lane_scenes); i++)
        draw_scene(&lane_scenes[i], size, false);
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
    draw_scene(&scenes[1], sizes[2], false);
    draw_scene(&scenes[1], sizes[2], true);
}

static void ascii_screens(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(scenes); i++)
        for (int k = 0; k < 2; k++)
            if (i == 1 || i == 2 || i == 6 || i == 14 || scenes[i].connection >= CONNECTED)
                draw_scene(&scenes[i], sizes[k], true);
    for (size_t i = 0; i < COUNT_OF(model_scenes); i++)
        if (i == 1 || i == 6 || i == 9)
            draw_scene(&model_scenes[i], sizes[0], true);
    for (size_t i = 0; i < COUNT_OF(lane_scenes); i++)
        if (i == 4 || i == 13 || i == 17)
            draw_scene(&lane_scenes[i], sizes[0], true);
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

static void draw_mono(const char *name, enum connection connection) {
    int64_t now_ms = 0;
    struct tune_state *model = replay_until("rewritten", &now_ms);
    struct tune_place_view *place = connection ? make_place(connection, now_ms) : NULL;
    model->place = place;
    struct views *views = make_views(model);
    struct tui_canvas *canvas = tui_canvas_new(40, 120, false);
    views_draw(views, tui_area_all(canvas), now_ms);
    struct buf screen = {0};
    tui_canvas_print(canvas, false, &screen);
    for (int row = 0; row < 40; row++)
        for (int col = 0; col < 120;) {
            struct tui_look look = tui_look_of(canvas->cells[row * 120 + col].style, TUI_MONO);
            int end = col + 1;
            while (end < 120 &&
                   tui_look_of(canvas->cells[row * 120 + end].style, TUI_MONO).attributes ==
                       look.attributes)
                end++;
            if (look.attributes)
                buf_printf(&screen, "%d: %d-%d%s%s%s\n", row, col, end - 1,
                           look.attributes & TUI_BOLD ? " bold" : "",
                           look.attributes & TUI_UNDERLINE ? " underline" : "",
                           look.attributes & TUI_REVERSE ? " reverse" : "");
            col = end;
        }
    compare(name, &screen);
    buf_free(&screen);
    tui_canvas_free(canvas);
    views_free(views);
    tune_state_free(model);
    free_place(place);
}

/* Without colour the screens show the same text; what carries meaning differs by more. */
static void without_colour_what_matters_still_shows(void **state) {
    (void)state;
    draw_mono("rewritten-120x40-mono", NO_PLACE);
    draw_mono("lost-120x40-mono", LOST);
    draw_mono("asks-secret-120x40-mono", ASKS_SECRET);
}

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
    buf_printf(&done, "%s %d %s\n", tune_action_name(action->kind), action->index,
               action->text ? action->text : "-");
    cJSON *payload = tune_act_write(action);
    char *json = cJSON_PrintUnformatted(payload);
    tune_state_apply(state, state->seq + 1, REPLAY_START_MS, "act", json);
    free(json);
    cJSON_Delete(payload);
    return true;
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

static void what_is_done_in_the_list_of_lanes_is_done_to_its_row(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *state = replay_of("lanes.events", "planned", &now_ms);
    struct views *views = make_views(state);
    views_set_model(views,
                    &(struct views_model){.state = state, .act = act_on_state, .context = state});
    draw_at(views, 24, 80);
    replay_keys(views, "}");
    said("focus 1 -\n");
    replay_keys(views, "{ {"); /* round to the last one, which is closed */
    said("focus 0 -\nfocus 5 -\n");
    replay_keys(views, "r"); /* nothing is decided about that */
    said("");
    replay_keys(views, ".");
    said("focus 0 -\n");
    replay_keys(views, "l Down Down r n o Enter");
    said("focus 2 -\nreject 0 no\n");
    assert_string_equal(state->lanes.at[2].closed, "no");
    assert_int_equal(state->lane, 3); /* on to one that is open; the cursor stays */
    replay_keys(views, "r");
    said("");
    replay_keys(views, "Down n Enter");
    said("another 0 \n");
    assert_int_equal(tune_lane_next(state, 3), TUNE_STEP_PLAN);
    replay_keys(views, ": l a n e s Space 2 Enter");
    said("focus 1 -\n");
    replay_keys(views, ": l a n e s Space 9 Enter q");
    said("");
    draw_at(views, 24, 80);
    struct tui_event click = {.kind = TUI_EVENT_CLICK, .row = 2, .col = 5};
    views_event(views, &click); /* the fifth sign below the steps */
    said("focus 4 -\n");
    buf_free(&done);
    views_free(views);
    tune_state_free(state);
}

/* The table is whole: names are unique, every one has a help, and the built-in keys are known. */
static void every_command_is_documented(void **state) {
    (void)state;
    struct views_command_info info, other;
    size_t count = 0, with_keys = 0;
    for (; views_command_at(count, &info); count++) {
        assert_true(info.name[0] && info.help[0]);
        with_keys += info.keys[0] != 0;
        for (size_t i = 0; i < count; i++)
            assert_true(views_command_at(i, &other) && strcmp(other.name, info.name) != 0);
    }
    assert_true(count > 50 && with_keys > 40);
    assert_true(views_command_at(0, &info));
    assert_string_equal(info.keys, "a");
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
        cmocka_unit_test(every_size_and_key_is_survived),
        cmocka_unit_test(the_newest_piece_is_in_sight),
        cmocka_unit_test(a_person_answers_by_editor_and_by_paste),
        cmocka_unit_test(what_is_done_in_the_list_of_lanes_is_done_to_its_row),
        cmocka_unit_test(every_command_is_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
