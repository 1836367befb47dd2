/* SPDX-License-Identifier: Apache-2.0 */
/* The workbench in a terminal: it comes up, answers, resizes, suspends, gives the terminal to an
 * editor, and leaves nothing behind however it ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "session/expect.h"
#include "session/small.h"

static struct terminal *start_with(struct place *place, const char *const *args, int cols,
                                   int rows) {
    const char *program = getenv("HONE_PROGRAM");
    const char *argv[8] = {program ? program : HONE_BINARY_DIR "/hone"};
    for (size_t i = 0; args[i] && i + 2 < COUNT_OF(argv); i++)
        argv[i + 1] = args[i];
    return terminal_start(argv, place->env, cols, rows);
}

static struct terminal *start_on(struct place *place, const char *task, int cols, int rows) {
    return start_with(place, (const char *const[]){task, NULL}, cols, rows);
}

static struct terminal *start_hone(struct place *place, int cols, int rows) {
    return start_on(place, "seeds/add_rmsnorm_matmul", cols, rows);
}

static void it_comes_up_and_quits_without_a_trace(void **state) {
    struct terminal *terminal = start_hone(*state, 120, 40);
    expect(terminal, "? keys");
    expect(terminal, "add_rmsnorm_matmul");
    assert_true(terminal_is_alternate(terminal));
    assert_false(terminal_has_cursor(terminal));
    terminal_type(terminal, "q");
    int status = terminal_wait_exit(terminal, false);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_false(terminal_is_alternate(terminal));
    assert_true(terminal_has_cursor(terminal));
    terminal_free(terminal);
}

/* What comes in one read with the key that leaves. */
static void keys_after_the_last_one_do_nothing(void **state) {
    struct terminal *terminal = start_hone(*state, 100, 30);
    expect(terminal, "? keys");
    terminal_type(terminal, "qw");
    assert_int_equal(terminal_wait_exit(terminal, false), 0);
    assert_null(strstr(terminal_screen(terminal), "the editor"));
    terminal_free(terminal);
}

static void a_lone_escape_closes_what_is_open(void **state) {
    struct terminal *terminal = start_hone(*state, 100, 30);
    expect(terminal, "? keys");
    terminal_type(terminal, "?");
    expect(terminal, "keys and commands");
    terminal_type(terminal, "gates");
    expect_gone(terminal, "approve ");
    terminal_type(terminal, "\033");
    expect_gone(terminal, "keys and commands");
    terminal_type(terminal, "\033[1;5C:nonsense\r");
    expect(terminal, "no command is called 'nonsense'");
    terminal_free(terminal);
}

/* Esc closes what is open and stays. q asks where something waits. Titles and bell show it. */
static void it_keeps_its_person(void **state) {
    struct err err = {0};
    make_small_task();
    assert_true(file_make_dirs(".config/hone", &err));
    assert_true(file_write(".config/hone/config.ini", "[screen]\nbell = yes\n", 20, &err));
    struct terminal *terminal = start_on(*state, "small", 120, 40);
    expect(terminal, "not started");
    assert_true(terminal_wait_title(terminal, "hone: small, not started"));
    terminal_type(terminal, "\033");
    expect(terminal, "nothing is open; q leaves hone");
    assert_int_equal(terminal_bells(terminal), 0);
    terminal_type(terminal, "s");
    expect(terminal, "waits for you: plan");
    expect(terminal, "◆ plan: ");
    assert_true(terminal_wait_title(terminal, "hone: small, waits for you: plan"));
    terminal_type(terminal, "7");
    expect(terminal, "every attempt");
    assert_int_equal(terminal_bells(terminal), 1);
    terminal_type(terminal, "\033");
    expect_gone(terminal, "every attempt");
    terminal_type(terminal, "q");
    expect(terminal, "This waits for you: plan: ");
    terminal_type(terminal, "\033");
    expect_gone(terminal, "This waits for you");
    terminal_type(terminal, "qy");
    assert_int_equal(terminal_wait_exit(terminal, false), 0);
    terminal_free(terminal);
    terminal = start_on(*state, "small", 80, 24); /* whoever comes sees it */
    assert_true(terminal_wait_title(terminal, "hone: small, waits for you: plan"));
    terminal_type(terminal, ":gate all auto\r");
    expect_gone(terminal, ":gate");
    assert_int_equal(terminal_bells(terminal), 0);
    terminal_type(terminal, ":budget rounds 1\ra"); /* a decides about the plan that waits */
    assert_true(terminal_wait_title(terminal, "hone: small, ended"));
    expect(terminal, "; more with :budget rounds 2, s starts then");
    terminal_type(terminal, "7");
    expect(terminal, "every attempt");
    assert_int_equal(terminal_bells(terminal), 1);
    terminal_free(terminal);
    assert_true(file_write(".config/hone/config.ini", "", 0, &err));
}

/* Nothing rings that was not asked for. */
static void without_the_setting_it_is_silent(void **state) {
    make_small_task();
    struct terminal *terminal = start_on(*state, "small", 120, 40);
    expect(terminal, "small");
    terminal_type(terminal, "s");
    expect(terminal, "◆ plan: ");
    terminal_type(terminal, "7");
    expect(terminal, "every attempt");
    assert_int_equal(terminal_bells(terminal), 0);
    terminal_free(terminal);
}

/* Who looks at a session of another hone takes it over when that one has left, however it did. */
static void a_session_that_is_free_again_is_taken_over(void **state) {
    make_small_task();
    for (int killed = 0; killed < 2; killed++) {
        struct terminal *first = start_on(*state, "small", 120, 40);
        expect(first, "hone  small");
        struct terminal *second = start_on(*state, "small", 80, 24);
        expect(second, "read-only: the session is open in process ");
        terminal_type(second, "s");
        expect(second, "leave hone there first");
        if (killed)
            kill(terminal_pid(first), SIGKILL);
        else
            terminal_type(first, "qy");
        expect(second, "has left it; s takes it over");
        terminal_free(first);
        terminal_type(second, "s");
        expect_gone(second, "read-only");
        expect_gone(second, "s takes it over");
        terminal_type(second, ":gate plan auto\r");
        expect_gone(second, ":gate");
        assert_null(strstr(terminal_screen(second), "not possible"));
        terminal_free(second);
    }
}

static void every_size_is_drawn(void **state) {
    struct terminal *terminal = start_hone(*state, 120, 40);
    expect(terminal, "┬─ proposal");
    terminal_resize(terminal, 80, 24);
    expect_gone(terminal, "┬─ proposal");
    expect(terminal, "─ proposal");
    terminal_resize(terminal, 40, 10);
    expect(terminal, "needs 80 x 24");
    terminal_resize(terminal, 130, 50);
    expect(terminal, "┬─ proposal");
    expect_gone(terminal, "needs 80 x 24");
    terminal_free(terminal);
}

static void it_suspends_and_comes_back(void **state) {
    struct terminal *terminal = start_hone(*state, 100, 30);
    expect(terminal, "? keys");
    terminal_type(terminal, "\x1a");
    int status = terminal_wait_exit(terminal, true);
    assert_true(WIFSTOPPED(status));
    assert_false(terminal_is_alternate(terminal));
    kill(-terminal_pid(terminal), SIGCONT);
    expect(terminal, "? keys");
    assert_true(terminal_is_alternate(terminal));
    terminal_type(terminal, "?");
    expect(terminal, "keys and commands");
    terminal_free(terminal);
}

static void a_paste_runs_nothing(void **state) {
    struct terminal *terminal = start_hone(*state, 100, 30);
    expect(terminal, "? keys");
    terminal_type(terminal, "\033[200~q:quit\r\033[201~");
    expect(terminal, "pasted text does nothing here");
    terminal_type(terminal, ":\033[200~settings\033[201~\r");
    expect(terminal, "values of this session");
    terminal_free(terminal);
}

static void a_crash_gives_the_terminal_back(void **state) {
    struct terminal *terminal = start_hone(*state, 100, 30);
    expect(terminal, "? keys");
    kill(terminal_pid(terminal), SIGABRT);
    int status = terminal_wait_exit(terminal, false);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_false(terminal_is_alternate(terminal));
    assert_true(terminal_has_cursor(terminal));
    assert_non_null(strstr(terminal_screen(terminal), "hone crashed"));
    terminal_free(terminal);
}

static void a_lost_terminal_ends_it(void **state) {
    struct terminal *terminal = start_hone(*state, 100, 30);
    expect(terminal, "? keys");
    terminal_hang_up(terminal);
    assert_true(terminal_wait_exit(terminal, false) != -1);
    terminal_free(terminal);
}

static void without_a_terminal_it_says_what_to_do(void **state) {
    struct place *place = *state;
    const char *program = getenv("HONE_PROGRAM");
    char command[512];
    snprintf(command, sizeof command, "HOME=%s %s seeds/silu </dev/null 2>&1 | cat; echo end",
             place->home, program ? program : HONE_BINARY_DIR "/hone");
    const char *const argv[] = {"sh", "-c", command, NULL};
    struct terminal *terminal = terminal_start(argv, place->env, 100, 30);
    expect(terminal, "end");
    expect(terminal, "hone run TASK");
    terminal_free(terminal);
}

static void a_terminal_without_a_name_is_taken_for_an_xterm(void **state) {
    struct place *place = *state;
    for (size_t i = 0; place->env[i]; i++)
        if (strncmp(place->env[i], "TERM=", 5) == 0)
            place->env[i] = "TERM=";
    struct terminal *terminal = start_hone(place, 100, 30);
    expect(terminal, "? keys");
    terminal_free(terminal);
}

static void the_editor_has_the_terminal_and_gives_it_back(void **state) {
    make_small_task();
    struct terminal *terminal = start_on(*state, "small", 120, 40);
    expect(terminal, "s start");
    terminal_type(terminal, ":write\r"); /* nothing to compare it with yet */
    expect(terminal, "needs the first kernel's time");
    terminal_type(terminal, "s");
    expect(terminal, "◆ plan");
    terminal_type(terminal, ":write\r");
    expect(terminal, "the editor");
    assert_false(terminal_is_alternate(terminal));
    terminal_type(terminal, "42\r");
    expect(terminal, "? keys");
    assert_true(terminal_is_alternate(terminal));
    terminal_free(terminal);
}

/* The main job, as a person does it: a plan is approved, a kernel edited, a proposal rejected with
 * a reason that the next context has, and a decision taken back to an older attempt. After coming
 * back, the screen is the same. */
static void a_round_is_seen_and_decided(void **state) {
    make_small_task();
    struct terminal *terminal = start_on(*state, "small", 120, 40);
    expect(terminal, "s start");
    terminal_type(terminal, "s");
    expect(terminal, "◆ plan");
    terminal_type(terminal, "a");
    expect(terminal, "◆ rewrite");
    terminal_type(terminal, "e");
    expect(terminal, "the editor");
    terminal_type(terminal, "42\r");
    expect(terminal, "saved from the editor");
    expect(terminal, "# by hand 42");
    terminal_type(terminal, "h");
    expect(terminal, "Space take/leave");
    terminal_type(terminal, "r");
    expect(terminal, "Why?");
    terminal_type(terminal, "rather another tile size\r");
    expect_gone(terminal, "Why?");
    expect_gone(terminal, "Space take/leave");
    /* Down to the part with what was rejected. */
    terminal_type(terminal, "9\033[B\033[B\033[B\033[B\033[B\033[B\033[B");
    expect(terminal, "rather another tile size");
    terminal_type(terminal, "1");
    expect(terminal, "s start");
    terminal_type(terminal, "s");
    expect(terminal, "◆ plan");
    terminal_type(terminal, ":gate all auto\ra");
    expect(terminal, "nothing left to propose");
    expect(terminal, "s start");
    terminal_type(terminal, "7");
    expect(terminal, "every attempt");
    terminal_type(terminal, "<Ry");
    expect(terminal, "#0");
    terminal_type(terminal, "7");
    expect(terminal, "▸ #0");
    expect(terminal, "Space mark"); /* the last line, so the frame is whole */
    char *before = mem_strdup(strstr(terminal_screen(terminal), "attempts"));
    terminal_type(terminal, "qq");
    assert_int_equal(terminal_wait_exit(terminal, false), 0);
    terminal_free(terminal);

    terminal = start_on(*state, "small", 120, 40);
    expect(terminal, "? keys");
    terminal_type(terminal, "7");
    expect(terminal, "▸ #0");
    expect(terminal, "Space mark");
    *strstr(before, "└────") = 0;
    expect(terminal, before);
    free(before);
    terminal_free(terminal);
}

static void write_in(const char *folder, const char *name, const char *text) {
    struct err err;
    char *path = path_join(folder, name);
    assert_true(file_make_dirs(folder, &err) && file_write(path, text, strlen(text), &err));
    free(path);
}

/* From a numpy reference to an open task; what cannot be written is said with its line. */
static void a_reference_becomes_a_task(void **state) {
    write_in("mine", "halves.py",
             "import numpy as np\ndef get_inputs():\n    return [np.ones((8, 16), np.float32)]\n"
             "def forward(x):\n    return x / 2\n");
    write_in("mine", "sorted.py",
             "import numpy as np\ndef get_inputs():\n    return [np.ones((8, 16), np.float32)]\n"
             "def forward(x):\n    return np.sort(x)\n");
    struct terminal *terminal = start_hone(*state, 100, 30);
    expect(terminal, "? keys");
    terminal_type(terminal, ":sessions\r");
    expect(terminal, "choose a task");
    terminal_type(terminal, "n");
    expect(terminal, ": new");
    terminal_type(terminal, "mine/nowhere.py\r");
    expect(terminal, "there is no mine/nowhere.py");
    terminal_type(terminal, ":new mine/sorted.py\r");
    expect(terminal, "mine/sorted/kernel.py is a skeleton: reference.py:5: sort cannot be");
    terminal_type(terminal, ":new mine/halves.py here\r");
    expect(terminal, "here, as its reference computes it");
    assert_true(file_exists("here/kernel.py") && file_exists("here/reference.py"));
    terminal_free(terminal);
}

/* The files of nki-kernel-agent as it writes them, imported, approved and in the next prompt. */
static void what_another_agent_learnt_enters_the_prompt(void **state) {
    struct place *place = *state;
    make_small_task();
    write_in(
        "old", "experiments.jsonl",
        "{\"round\": 1, \"status\": \"improved\", \"latency_ms\": 652.31, \"score\": 0.0, "
        "\"plan\": \"**Keep g resident** The kernel loads it for every row \\u2014 32 times\", "
        "\"error\": \"\", \"profile\": {}}\n"
        "{\"round\": 2, \"status\": \"divergence_revert\", \"latency_ms\": Infinity, "
        "\"score\": 0.0, \"plan\": \"Halve the tiles\", \"error\": \"\", \"profile\": {}}\n");
    write_in("old/optimization_memory", "rewrites.json",
             "[\n  {\n    \"title\": \"**Keep what no row changes in SBUF across the ro\",\n    "
             "\"summary\": \"**Keep what no row changes in SBUF across the rows**\\nLoad it once."
             "\\nOriginal code:\\n```\\nfor i in rows:\\n    g = load(gain)\\n```\\nOptimized code:"
             "\\n```\\ng = load(gain)\\nfor i in rows:\\n```\"\n  }\n]");
    const char *program = getenv("HONE_PROGRAM");
    const char *const argv[] = {program ? program : HONE_BINARY_DIR "/hone", "import", "old",
                                "small", NULL};
    struct terminal *terminal = terminal_start(argv, place->env, 120, 40);
    expect(terminal, "2 files: 2 experiences proposed, 2 attempts to look at");
    expect(terminal, "hone small, screen 8");
    int status = terminal_wait_exit(terminal, false);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    terminal_free(terminal);

    terminal = start_on(place, "small", 120, 40);
    expect(terminal, "s start");
    terminal_type(terminal, "7");
    expect(terminal, "Keep g resident · nki-kernel-agent");
    terminal_type(terminal, "9");
    expect(terminal, "strategies");
    expect_gone(terminal, "closed directions"); /* nobody has approved it */
    terminal_type(terminal, "8");
    expect(terminal, "proposed        -  Keep what no row changes in SBUF across the rows");
    expect(terminal, "nki-kernel-agent, optimization_memory/rewrites.json:2");
    terminal_type(terminal, "a\033[B");
    expect(terminal, "approved        -  Keep what no row changes");
    terminal_type(terminal, "a");
    expect(terminal, "approved   closed  1 direction that did not work");
    terminal_type(terminal, "9\033[B\033[B\033[B\033[B\033[B\033[B\033[B"); /* to memory */
    expect(terminal, "- Keep what no row changes in SBUF across the rows: Load it");
    expect(terminal, "g = load(gain)");
    terminal_type(terminal, "\033[B");
    expect(terminal, "- Halve the tiles (divergence_revert)");
    terminal_free(terminal);
}

/* Several lanes: moving between them, rejecting one with a reason, approving the others together,
 * up to the beam from which the next round would start. */
static void a_round_of_several_lanes_is_decided(void **state) {
    struct place *place = *state;
    const char *program = getenv("HONE_PROGRAM");
    const char *const argv[] = {program ? program : HONE_BINARY_DIR "/hone", "small", "--search",
                                "beam:2,3", NULL};
    make_small_task();
    struct terminal *terminal = terminal_start(argv, place->env, 100, 30);
    expect(terminal, "s start");
    terminal_type(terminal, "s");
    expect(terminal, "3 of 3 lanes open");
    expect(terminal, "a approve all 3");
    expect(terminal, "lane 1/3  of #0, plan 1");
    terminal_type(terminal, "}");
    expect(terminal, "lane 2/3  of #0, plan 2");
    terminal_type(terminal, "l");
    expect(terminal, "round 1: 3 lanes");
    expect(terminal, "▸  2  ✓");
    terminal_type(terminal, "\033[Br");
    expect(terminal, "reject lane 3");
    terminal_type(terminal, "not on that engine\r");
    expect(terminal, "3  ×");
    expect(terminal, "closed    not on that engine");
    expect(terminal, "a approve all 2");
    terminal_type(terminal, ".\r"); /* from the closed one to the first, and look */
    expect(terminal, "✓✓×  lane 1/3");
    terminal_type(terminal, "a");
    expect(terminal, "rewrite: 2 ok; 2 of 3 lanes open");
    expect(terminal, "from #0  +");
    terminal_type(terminal, ":budget rounds 1\r:gate all auto\ra");
    expect(terminal, "the one round is done");
    terminal_type(terminal, "7");
    expect(terminal, "• #2");
    expect(terminal, "▸ #1");
    expect(terminal, "l lanes");
    terminal_type(terminal, "l");
    expect(terminal, "keep, in the beam");
    expect(terminal, "beam: #1 #2");
    terminal_type(terminal, "qq");
    assert_int_equal(terminal_wait_exit(terminal, false), 0);
    terminal_free(terminal);
}

/* What was on the screen is there again after the worst end. */
static void a_killed_session_shows_the_same_again(void **state) {
    make_small_task();
    struct terminal *terminal = start_on(*state, "small", 120, 40);
    expect(terminal, "s start");
    terminal_type(terminal, "s");
    expect(terminal, "◆ plan");
    expect(terminal, "n another");
    char *before = mem_strdup(strstr(terminal_screen(terminal), "◆ plan"));
    kill(terminal_pid(terminal), SIGKILL);
    terminal_wait_exit(terminal, false);
    terminal_free(terminal);
    terminal = start_on(*state, "small", 120, 40);
    expect(terminal, "n another");
    *strstr(before, "├─ device") = 0;
    expect(terminal, before);
    free(before);
    terminal_free(terminal);
}

static void leave(struct terminal *terminal) {
    terminal_type(terminal, "qy");
    assert_int_equal(terminal_wait_exit(terminal, false), 0);
    terminal_free(terminal);
}

/* The list opens the session that it shows, wherever that lies, and not another one of its task. */
static void the_session_that_is_chosen_is_opened(void **state) {
    make_small_task();
    struct terminal *terminal =
        start_with(*state, (const char *const[]){"small", "--session", "elsewhere", NULL}, 120, 40);
    expect(terminal, "s start");
    terminal_type(terminal, "s");
    expect(terminal, "◆ plan: ");
    leave(terminal);
    terminal = start_on(*state, NULL, 80, 24);
    expect(terminal, "choose a task");
    terminal_type(terminal, "\r");
    expect(terminal, "waits for you: plan");
    assert_false(file_exists("small/.hone"));
    terminal_type(terminal, ":sessions\ry");
    expect(terminal, "choose a task");
    terminal_type(terminal, "/softmax\r\r"); /* another task has nothing of the first one's place */
    expect(terminal, "hone  softmax");
    terminal_free(terminal);
}

/* Files that are taken away under a session: noticed, asked about, saved, and gone on with. */
static void a_session_that_vanishes_goes_on_elsewhere(void **state) {
    make_small_task();
    struct terminal *terminal = start_on(*state, "small", 120, 40);
    expect(terminal, "s start");
    terminal_type(terminal, "s");
    expect(terminal, "◆ plan: ");
    assert_int_equal(unlink("small/.hone/small/session.db"), 0);
    terminal_type(terminal, "a");
    expect(terminal, "the session's files are gone");
    expect(terminal, "session.db was removed or moved away while hone was using it");
    terminal_type(terminal, "\033");
    expect_gone(terminal, "the session's files are gone ─");
    terminal_type(terminal, "q"); /* leaving would lose it: asked first */
    expect(terminal, "any other no");
    terminal_type(terminal, "n");
    expect_gone(terminal, "any other no");
    terminal_type(terminal, "s");
    expect(terminal, "the session's files are gone ─");
    terminal_type(terminal, "\r");
    expect(terminal, "saved to small/.hone/small.rescued");
    expect(terminal, "◆ plan: "); /* what waits shows again, and waits */
    terminal_type(terminal, "a");
    expect(terminal, "◆ rewrite: ");
    leave(terminal);
    terminal = start_on(*state, NULL, 120, 40);
    expect(terminal, "its files are gone");
    terminal_type(terminal, "\r");
    expect(terminal, "waits for you: rewrite");
    leave(terminal);
    struct err err = {0};
    assert_true(file_remove_tree("small/.hone/small", &err));
    terminal = start_on(*state, "small", 120, 40); /* whoever begins anew hears of it */
    expect(terminal, "s start");
    terminal_type(terminal, "4");
    expect(terminal, "was saved when its files went away");
    terminal_type(terminal, "qq"); /* nothing is unfinished */
    assert_int_equal(terminal_wait_exit(terminal, false), 0);
    terminal_free(terminal);
}

/* One event is altered: nobody goes on with the session, and what is said to be done works. */
static void a_damaged_session_is_told_with_what_to_do(void **state) {
    static const char path[] = "small/.hone/small/session.db";
    struct err err = {0};
    size_t size;
    make_small_task();
    struct terminal *terminal = start_on(*state, "small", 120, 40);
    expect(terminal, "s start");
    terminal_type(terminal, "s");
    expect(terminal, "◆ plan: ");
    leave(terminal);
    char *bytes = file_read(path, 0, &size, &err), *at;
    assert_non_null(bytes);
    at = memmem(bytes, size, "latency_us\":", 12);
    assert_non_null(at);
    at[12] ^= 1;
    assert_true(file_write(path, bytes, size, &err));
    free(bytes);
    terminal = start_on(*state, "small", 120, 40);
    int status = terminal_wait_exit(terminal, false);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 4);
    expect(terminal, "saves what can");
    terminal_free(terminal);
    terminal = start_on(*state, NULL, 120, 40); /* the list says the same, and stays */
    expect(terminal, "choose a task");
    terminal_type(terminal, "\r");
    expect(terminal, "saves what can");
    terminal_free(terminal);
    terminal = start_with(*state, (const char *const[]){"small", "--read-only", NULL}, 120, 40);
    expect(terminal, "read-only");
    expect(terminal, "is not as it was written. 'hone session repair'");
    terminal_type(terminal, "s");
    terminal_read(terminal, 500);
    assert_true(terminal_wait_title(terminal, "hone: small, read-only"));
    terminal_type(terminal, "q");
    assert_int_equal(terminal_wait_exit(terminal, false), 0);
    terminal_free(terminal);
    terminal = start_with(
        *state, (const char *const[]){"session", "repair", "small", "--replace", NULL}, 120, 40);
    assert_int_equal(terminal_wait_exit(terminal, false), 0);
    expect(terminal, "nothing");
    terminal_free(terminal);
    terminal = start_on(*state, "small", 120, 40);
    expect(terminal, "waits for you: plan");
    leave(terminal);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(it_comes_up_and_quits_without_a_trace),
        TEST(keys_after_the_last_one_do_nothing),
        TEST(a_lone_escape_closes_what_is_open),
        TEST(it_keeps_its_person),
        TEST(without_the_setting_it_is_silent),
        TEST(a_session_that_is_free_again_is_taken_over),
        TEST(every_size_is_drawn),
        TEST(it_suspends_and_comes_back),
        TEST(a_paste_runs_nothing),
        TEST(a_crash_gives_the_terminal_back),
        TEST(a_lost_terminal_ends_it),
        TEST(without_a_terminal_it_says_what_to_do),
        TEST(a_terminal_without_a_name_is_taken_for_an_xterm),
        TEST(the_editor_has_the_terminal_and_gives_it_back),
        TEST(a_round_is_seen_and_decided),
        TEST(a_reference_becomes_a_task),
        TEST(what_another_agent_learnt_enters_the_prompt),
        TEST(a_round_of_several_lanes_is_decided),
        TEST(a_killed_session_shows_the_same_again),
        TEST(the_session_that_is_chosen_is_opened),
        TEST(a_session_that_vanishes_goes_on_elsewhere),
        TEST(a_damaged_session_is_told_with_what_to_do),
    };
    cmocka_set_test_filter(getenv("HONE_TEST"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
