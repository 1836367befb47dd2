/* SPDX-License-Identifier: Apache-2.0 */
/* What a person does at the screens reaches the session, and the screens show the result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "screens/acts.h"

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
    assert_true(shows(views, "R", "no attempt is chosen; 7 shows them all"));
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
    assert_true(shows(views, "1 : o v e r r u l e Enter", "this one was not measured"));
    assert_true(shows(views, ": h u n k s Enter", "no proposal with hunks to go through"));
    assert_true(shows(views, "g", "gates")); /* the keys of what is below say nothing of its own */
    assert_false(shows(views, "", "a approve"));
    assert_true(shows(views, "Esc", "a approve"));
    assert_true(shows(views, "4 f F", "no line of compile, warning and above"));
    assert_true(shows(views, "f F F F : f i l t e r Space z z Enter", "no line has 'zz'"));
    views_free(views);
    tune_state_free(state);
    state = replay_of("lanes.events", "decided", &now_ms);
    views = views_that_act(state);
    assert_true(shows(views, "{ { e", "nothing is edited at decide: o overrules, m measures"));
    buf_free(&done);
    views_free(views);
    tune_state_free(state);
}

/* Two sessions of one name are told apart by where they are. */
static void sessions_of_one_name_say_where_they_are(void **unused) {
    (void)unused;
    char name[] = "softmax", one[] = "/work/of/a/long/way/to/softmax", other[] = "/tmp/softmax";
    char about[] = "row softmax", kept[] = "1.61x, 0.842 ms after 7 rounds";
    const struct tune_recent list[] = {
        {.task = name, .path = one, .about = about, .last = kept, .used_ms = 1},
        {.task = name, .path = other, .about = about, .used_ms = 1}};
    struct views *views = make_views(NULL);
    views_set_model(views, &(struct views_model){.recent = list, .n_recent = COUNT_OF(list)});
    assert_true(shows(views, "", one));
    assert_true(shows(views, "", other));
    assert_true(shows(views, "", kept));
    assert_true(shows_at(views, 24, 80, "", "way/to/softmax"));
    views_set_model(views, &(struct views_model){.recent = list, .n_recent = 1});
    assert_true(shows(views, "", about));
    views_free(views);
}

/* Every gate takes each of its settings in turn. What was typed to find it stays. */
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

/* The first error of a check is in sight, and Enter opens it in the candidate. Repeats are one row.
 * Text is broken between words, not cut. */
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
    struct buf text = {0};
    for (int i = 0; i < 60; i++)
        buf_printf(&text, "part %d of it, ", i);
    found(state, "error", "kernel.py", 24, text.at);
    replay_keys(views, "Esc Down");
    assert_true(shows(views, "", "part 10 of it"));
    assert_false(shows(views, "", "part 59 of it"));
    assert_true(shows(views, "", "…\n")); /* what there is no room for is told, and K has it */
    assert_true(shows(views, "K", "part 59 of it"));
    buf_free(&text);
    replay_keys(views, "Esc 1 4");
    assert_true(
        shows(views, "", "error: x_tile: 256 partitions, 1 to 128 are possible: tile the "));
    assert_true(
        shows(views, "Down Down Down Enter", "helper.py:5 is not the kernel, but a file it "));
    replay_keys(views, "5 K"); /* the line under the cursor calls something of NKI */
    assert_int_equal(views->over.is, OVERLAY_TEXT);
    buf_free(&done);
    views_free(views);
    tune_state_free(state);
}

/* What a turn mended is not counted with what the next one has, and is not in the way of it. */
static void findings_of_another_turn_are_rows_of_their_own(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *state = replay_until("verifying", &now_ms);
    struct views *views = views_that_act(state);
    for (int turn = 0; turn < 2; turn++) {
        struct buf json = {0};
        buf_printf(&json,
                   "{\"attempt\": 3, \"parent\": 0, \"round\": 3, \"source\": \"# %d\", "
                   "\"author\": \"you\", \"repairs\": %d}",
                   turn, turn);
        tune_state_apply(state, state->seq + 1, REPLAY_START_MS, "attempt", json.at);
        buf_free(&json);
        if (turn == 0)
            found(state, "error", "kernel.py", 21, "mended since");
        found(state, "error", "kernel.py", 23, "tile has no value");
        found(state, "error", "kernel.py", 23, "tile has no value");
    }
    struct log_rows rows = {.seq = -1};
    const struct filter none = {0};
    const struct log_filter all = {.attempt = -1, .pattern = &none};
    log_rows_update(&rows, state, &all, 100);
    size_t count = rows.all.len;
    assert_int_equal(rows.all.at[count - 1].times, 2);
    assert_int_equal(rows.all.at[count - 2].times, 2);
    assert_int_equal(rows.all.at[count - 1].log, (int)state->logs.len - 2);
    int first = -1;
    assert_int_equal(log_rows_cause(&rows, state, &first), (int)count - 1);
    assert_int_equal(first, (int)count - 1);
    vec_free(&rows.all);
    views_free(views);
    tune_state_free(state);
}

/* Attempts of a sweep that all fail for the same reason show it once. */
static void findings_of_a_sweep_are_one_row(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *state = replay_until("verifying", &now_ms);
    struct views *views = views_that_act(state);
    for (int i = 0; i < 8; i++) {
        struct buf json = {0};
        int id = (int)state->attempts.len;
        buf_printf(&json,
                   "{\"attempt\": %d, \"parent\": 0, \"round\": 3, \"source\": \"# %d\", "
                   "\"author\": \"you\"}",
                   id, i);
        tune_state_apply(state, state->seq + 1, REPLAY_START_MS, "attempt", json.at);
        assert_int_equal(state->attempts.len, id + 1);
        state->attempts.at[id].plan.sweep = i < 4 ? "TILE=0,1,2,3" : "WIDTH=4,5,6,7";
        buf_clear(&json);
        buf_printf(&json,
                   "{\"attempt\": %d, \"severity\": \"error\", \"code\": \"x\", \"file\": "
                   "\"kernel.py\", \"line\": 9, \"column\": 1, \"message\": \"nothing is read\"}",
                   id);
        tune_state_apply(state, state->seq + 1, REPLAY_START_MS, "diagnostic", json.at);
        buf_free(&json);
    }
    struct log_rows rows = {.seq = -1};
    const struct filter none = {0};
    const struct log_filter all = {.attempt = -1, .pattern = &none};
    log_rows_update(&rows, state, &all, 100);
    assert_int_equal(rows.all.at[rows.all.len - 1].times, 4);
    assert_int_equal(rows.all.at[rows.all.len - 2].times, 4);
    vec_free(&rows.all);
    views_free(views);
    tune_state_free(state);
}

/* What a session that cannot be written says to keys, and one whose files are gone to q. */
static void a_session_that_cannot_go_on_says_why(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *state = replay_until("planned", &now_ms);
    struct views *views = views_that_act(state);
    state->is_lost = true;
    assert_true(shows(views, "q", "The session's files are gone"));
    assert_true(shows(views, "", "s asks where to save it"));
    assert_int_equal(replay_keys(views, "Esc").wish, VIEWS_NOTHING);
    replay_keys(views, "q");
    assert_int_equal(replay_keys(views, "y").wish, VIEWS_QUIT);
    state->is_lost = false;
    state->read_only = true;
    state->why_read_only = "/x cannot be written (Permission denied)";
    state->wait = TUNE_WAIT_PAUSED;
    assert_true(shows(views, "s", "the session is read-only: /x cannot be written (Permission"));
    state->held_by = "process 7 on vm";
    assert_true(shows(views, "s", "read-only: the session is open in process 7 on vm"));
    assert_true(shows(views, "s", "process 7 on vm; leave hone there first"));
    views_free(views);
    tune_state_free(state);
}

static char *helper_text(void *context, const char *hash) {
    (void)context;
    struct buf text = {0};
    for (int i = 1; i < 60; i++)
        buf_printf(&text, i == 41 ? "\n" : "SIZE_%d = %d\n", i, i);
    bool is = strcmp(hash, "5e5f") == 0;
    if (!is)
        buf_free(&text);
    return is ? text.at : NULL;
}

/* Enter on a finding in a file that the kernel imports shows that file at the line. */
static void a_finding_in_an_imported_file_opens_that_file(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *state = replay_until("verifying", &now_ms);
    found(state, "error", "/tmp/x/lib/helper.py", 42, "SIZE_42 has no value");
    struct views *views = views_that_act(state);
    struct views_model model = {.state = state, .act = act_on_state, .context = state};
    views_set_model(views, &model);
    replay_keys(views, "4 End");
    assert_true(shows(views, "Enter", "which the session has no copy of"));
    *vec_push(&state->files) =
        (struct tune_task_file){.name = "lib/helper.py", .hash = "5e5f", .of = "kernel imports"};
    model.artefact = helper_text;
    views_set_model(views, &model);
    assert_true(shows(views, "4 End Enter", "helper.py, line 42"));
    assert_true(shows(views, "", "   43  SIZE_43 = 43"));
    assert_true(shows(views, "", "!  42  SIZE_42 = 42"));
    assert_true(shows(views, "", "   40  SIZE_40 = 40"));
    assert_true(shows(views, "PageUp PageUp PageUp PageUp PageUp", "    1  SIZE_1 = 1"));
    assert_true(shows(views, "", "SIZE_42 has no value"));
    replay_keys(views, "Esc");
    assert_int_equal(views->over.is, OVERLAY_NONE);
    buf_free(&done);
    views_free(views);
    tune_state_free(state);
}

/* Names of the language, and errors of it that findings name. */
static void what_a_name_means_is_one_key_away(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *state = replay_until("verifying", &now_ms);
    struct views *views = views_that_act(state);
    assert_true(shows(views, "2 / n l . l o a d Enter K", "Copies from HBM to a new tile"));
    replay_keys(views, "Esc");
    tune_state_apply(state, state->seq + 1, REPLAY_START_MS, "diagnostic",
                     "{\"attempt\": 3, \"severity\": \"error\", \"code\": "
                     "\"err_tensor_access_out_of_bound\", \"file\": \"kernel.py\", \"line\": 20, "
                     "\"column\": 1, \"message\": \"no\"}");
    assert_true(shows(views, "4 End K", "an index passes the end of the tensor"));
    buf_free(&done);
    views_free(views);
    tune_state_free(state);
}

/* The hunk that the keys act on is on the screen, however it was reached. */
static void the_hunk_in_hand_is_shown(void **unused) {
    (void)unused;
    static const char *const ways[] = {"h",     "d h",   "z h",       "z d h",   "d z h",
                                       "[ [ h", "Tab h", "h d Esc h", "End h p", "d d h"};
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
        for (int k = 0; k < 2; k++) { /* the same key leaves it out and takes it again */
            tune_state_apply(state, state->seq + 1, now_ms, "act",
                             "{\"action\": \"leave-hunk\", \"index\": 1}");
            bool left = state->lanes.at[0].candidate.hunks.at[1].left;
            assert_true(shows(views, "Esc u", left ? "leave out hunk 2" : "you did: take hunk 2"));
            replay_keys(views, "n");
        }
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
        shows(views, "", "  39   for n in nl.affine_range(N // TILE_N):                44  "));
    assert_true(shows(views, "z", "─ kernel ─")); /* narrow again, so one column */
    assert_true(shows(views, "d", "two columns take the whole screen; z goes back"));
    assert_true(
        shows(views, "", "  39   for n in nl.affine_range(N // TILE_N):                44  "));
    replay_keys(views, "z Tab z"); /* another pane has the whole screen */
    assert_false(shows(views, "", "for n in nl.affine_range(N // TILE_N):                44  "));
    assert_true(shows(views, "d", "two columns take the whole screen; z goes back"));
    assert_true(
        shows(views, "", "  39   for n in nl.affine_range(N // TILE_N):                44  "));
    buf_free(&done);
    views_free(views);
    tune_state_free(state);
}

/* The number, the sum on the screen and the chart use one floor, and the FLOPs that the task needs,
 * whatever transposes an attempt has besides. */
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

/* The roof is that of the attempts as they are now: measured again, wrong, written anew. */
static void the_roof_follows_the_attempts(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *state = replay_until("kept", &now_ms);
    assert_float_equal(tune_roof_of(state).floor_us, 512, 1e-9);
    static const struct {
        const char *event, *text;
        double floor_us;
    } changes[] = {
        {"measured", "{\"attempt\":3,\"latency_us\":842,\"floor_us\":400}", 400},
        {"verdict", "{\"attempt\":3,\"correct\":\"no\"}", 512},
        {"verdict", "{\"attempt\":3,\"correct\":\"yes\"}", 400},
        {"attempt", "{\"attempt\":3,\"parent\":0,\"source\":\"def kernel(): pass\"}", 512},
        {"verdict", "{\"attempt\":3,\"correct\":\"yes\"}", 512},
        {"modelled", "{\"attempt\":3,\"latency_us\":842,\"floor_us\":300}", 300},
    };
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        tune_state_apply(state, state->seq + 1, now_ms, changes[i].event, changes[i].text);
        assert_float_equal(tune_roof_of(state).floor_us, changes[i].floor_us, 1e-9);
    }
    tune_state_free(state);
}

/* Going back says what becomes of what waits. */
static void going_back_says_that_a_plan_is_closed(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *state = replay_until("planned", &now_ms);
    struct views *views = views_that_act(state);
    assert_true(shows(views, "7 Home R", "the incumbent? The proposal that is open now"));
    views_free(views);
    tune_state_free(state);
}

/* The question says "y yes, any other no", and so it is, whatever key opened it. */
static void only_y_says_yes(void **unused) {
    (void)unused;
    static const char *const others[] = {"Enter", "u", "q", "R", "Space", "Esc", "n", "Tab"};
    int64_t now_ms = 0;
    struct tune_state *state = replay_until("measured", &now_ms);
    struct views *views = views_that_act(state);
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_true(shows(views, "u", "y yes   any other no"));
        replay_keys(views, others[i]);
        assert_int_equal(views->over.is, OVERLAY_NONE);
        assert_true(shows(views, "7 Home R", "y yes   any other no"));
        replay_keys(views, others[i]);
        assert_int_equal(views->over.is, OVERLAY_NONE);
        assert_true(shows(views, "1 q", "y yes   any other no"));
        assert_int_equal(replay_keys(views, others[i]).wish, VIEWS_NOTHING);
        assert_int_equal(views->over.is, OVERLAY_NONE);
    }
    said("");
    assert_int_equal(replay_keys(views, "q Y").wish, VIEWS_QUIT);
    replay_keys(views, "u y 7 Home R Y");
    said("take-back 0 -\nrevert 0 -\n");
    assert_int_equal(state->incumbent, 0);
    buf_free(&done);
    views_free(views);
    tune_state_free(state);
}

/* It takes back one decision at a time, of a person or of the loop, and says which before. */
static void undo_says_what_it_takes_back(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *state = replay_until("measured", &now_ms);
    struct views *views = views_that_act(state);
    assert_int_equal(state->attempts.at[6].status, TUNE_STATUS_INCONCLUSIVE);
    assert_true(
        shows(views, "u", "This takes back what the loop decided: #6 inconclusive (round 6)"));
    said("");
    replay_keys(views, "n u y");
    said("take-back 0 -\n");
    assert_int_equal(state->attempts.at[6].status, TUNE_STATUS_OPEN);
    assert_int_equal(state->wait, TUNE_WAIT_PAUSED);
    assert_false(state->running);
    assert_true(shows(views, "u", "#5 keep (round 5)"));
    replay_keys(views, "Y");
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
    assert_true(shows(views, "U", "done again: #5 keep (round 5); u takes it back"));
    said("do-again 0 -\n");
    replay_keys(views, "g Enter Esc"); /* settings and notes say which they are */
    assert_true(shows(views, "u", "This takes back what you did: gate of all steps: ask"));
    buf_clear(&done);
    replay_keys(views, "n : g a t e Space p l a n Space a u t o Enter");
    assert_true(shows(views, "u", "This takes back what you did: gate of plan: auto"));
    replay_keys(views, "n 6 x");
    assert_true(shows(views, "u", "what you did: drop note of round"));
    replay_keys(views, "n");
    for (int i = 0; i < 2; i++) { /* what goes to and fro says which way it went */
        const char *text = state->notes.at[0].pinned ? "what you did: unpin note of round"
                                                     : "what you did: pin note of round";
        tune_state_apply(state, state->seq + 1, REPLAY_START_MS, "act",
                         "{\"action\": \"pin-note\", \"index\": 0}");
        assert_true(shows(views, "u", text));
        replay_keys(views, "n");
    }
    buf_free(&done);
    views_free(views);
    tune_state_free(state);
}

/* However fast it is: it computes something else. */
static void a_wrong_kernel_has_no_speedup_in_the_history(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *state = replay_until("kept", &now_ms);
    struct views *views = views_that_act(state);
    assert_true(shows(views, "7", "✓✓✓✓   0.842 ms    1.61x   -24.7 %"));
    tune_state_apply(
        state, state->seq + 1, now_ms, "verdict",
        "{\"attempt\": 3, \"correct\": \"no\", \"correct_why\": \"seed 42 is wrong\"}");
    assert_true(shows(views, "", "✓✗✓✓   0.842 ms        -         -"));
    assert_true(shows(views, "", "1.21x"));
    views_free(views);
    tune_state_free(state);
}

static void what_was_taken_back_is_done_again(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *state = replay_until("measured", &now_ms);
    struct views *views = views_that_act(state);
    replay_keys(views, "u y u y");
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

static bool screen_tells(struct views *views, int rows, int cols, const char *text) {
    struct tui_canvas *canvas = tui_canvas_new(rows, cols, false);
    struct buf screen = {0};
    views_draw(views, tui_area_all(canvas), REPLAY_START_MS);
    tui_canvas_print(canvas, false, &screen);
    bool tells = strstr(screen.at, text) != NULL;
    buf_free(&screen);
    tui_canvas_free(canvas);
    return tells;
}

/* The log is on another page of a small terminal. */
static void what_agents_handed_in_is_seen_at_what_comes_before(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *state = replay_of("session.events", "planned", &now_ms);
    struct views *views = views_that_act(state);
    assert_false(screen_tells(views, 24, 80, "waits its turn"));
    for (int i = 1; i <= 3; i++) {
        struct buf json = {0};
        buf_printf(&json,
                   "{\"plan\": {\"key\": \"submission:%d\", \"title\": \"idea %d\", "
                   "\"author\": \"agent/scout\"}, \"source\": \"x = %d\\n\"}",
                   i, i, i);
        tune_state_apply(state, state->seq + 1, now_ms, "submitted", json.at);
        buf_free(&json);
        assert_true(screen_tells(views, 24, 80, "agent/scout waits its turn"));
        assert_true(screen_tells(views, 40, 120, "agent/scout waits its turn"));
        assert_true(screen_tells(views, 24, 80, ": idea 1"));
    }
    assert_true(screen_tells(views, 24, 80, "agent/scout waits its turn, as 2 more: idea 1"));
    views_free(views);
    tune_state_free(state);
}

int main(void) {
    acts_begin();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_answer),
        cmocka_unit_test(gates_go_through_their_settings),
        cmocka_unit_test(findings_can_be_read),
        cmocka_unit_test(findings_of_another_turn_are_rows_of_their_own),
        cmocka_unit_test(findings_of_a_sweep_are_one_row),
        cmocka_unit_test(a_session_that_cannot_go_on_says_why),
        cmocka_unit_test(a_finding_in_an_imported_file_opens_that_file),
        cmocka_unit_test(what_a_name_means_is_one_key_away),
        cmocka_unit_test(the_hunk_in_hand_is_shown),
        cmocka_unit_test(two_columns_work_or_it_is_said_why_not),
        cmocka_unit_test(one_roof_for_all),
        cmocka_unit_test(the_roof_follows_the_attempts),
        cmocka_unit_test(going_back_says_that_a_plan_is_closed),
        cmocka_unit_test(what_agents_handed_in_is_seen_at_what_comes_before),
        cmocka_unit_test(only_y_says_yes),
        cmocka_unit_test(sessions_of_one_name_say_where_they_are),
        cmocka_unit_test(undo_says_what_it_takes_back),
        cmocka_unit_test(a_wrong_kernel_has_no_speedup_in_the_history),
        cmocka_unit_test(what_was_taken_back_is_done_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
