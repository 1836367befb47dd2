/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's budget, shared by claims that could as well be those of other hones: each has its
 * own file and lock. */
#include "task/workbench.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loop/testing.h"
#include "runner/machine/inner.h"
#include "runner/runner.h"

#define MEGABYTE ((uint64_t)1 << 20)
#define MACHINE (1500 * MEGABYTE) /* less than two evaluations of which nothing is known */

static int folder_new(void **state) {
    int failed = make_folder(state);
    setenv("XDG_STATE_HOME", *state, 1);
    return failed;
}

static struct ledger_claim *claim_of(const char *kernel, uint64_t machine, int children) {
    struct runner_job job = {.kernel_path = kernel,
                             .memory_limit = MACHINE,
                             .machine_bytes = machine,
                             .machine_children = children};
    return ledger_claim_new(&job);
}

static enum ledger_answer ask(struct ledger_claim *claim, const char *why) {
    struct buf text = {0};
    enum ledger_answer answer = ledger_ask(claim, &text);
    if (why)
        assert_non_null(strstr(text.at ? text.at : "", why));
    buf_free(&text);
    return answer;
}

static void what_does_not_fit_beside_another_waits_for_its_end(void **state) {
    (void)state;
    struct ledger_claim *first = claim_of("/x/first/k.py", MACHINE, 8);
    struct ledger_claim *second = claim_of("/x/second/k.py", MACHINE, 8);
    assert_int_equal(ask(first, NULL), LEDGER_GO);
    assert_int_equal(ledger_reserved(first), 1024 * MEGABYTE);
    assert_int_equal(ask(second, "waits for memory: 1.1 GB needed, 0.5 GB free; first/k.py runs"),
                     LEDGER_WAIT);
    ledger_claim_free(first);
    assert_int_equal(ask(second, NULL), LEDGER_GO);
    ledger_claim_free(second);
}

static void there_are_no_more_at_once_than_is_set(void **state) {
    (void)state;
    struct ledger_claim *claims[3];
    for (int i = 0; i < 3; i++)
        claims[i] = claim_of("/x/a/k.py", 0, 2);
    ledger_raise(claims[0], MEGABYTE);
    ledger_raise(claims[1], MEGABYTE);
    assert_int_equal(ask(claims[0], NULL), LEDGER_GO);
    assert_int_equal(ask(claims[1], NULL), LEDGER_GO);
    assert_int_equal(ask(claims[2], "waits for a processor: a/k.py and others run"), LEDGER_WAIT);
    ledger_claim_free(claims[0]);
    ledger_raise(claims[2], MEGABYTE);
    assert_int_equal(ask(claims[2], NULL), LEDGER_GO);
    ledger_claim_free(claims[1]);
    ledger_claim_free(claims[2]);
}

/* Takes a claim in a process of its own, which then sleeps. */
static pid_t holder_start(void) {
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct ledger_claim *claim = claim_of("/x/held/k.py", MACHINE, 8);
        bool ok = ledger_ask(claim, &(struct buf){0}) == LEDGER_GO;
        if (write(ready[1], ok ? "y" : "n", 1) == 1)
            pause();
        _exit(1);
    }
    char answer = 0;
    assert_int_equal(read(ready[0], &answer, 1), 1);
    assert_int_equal(answer, 'y');
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void a_hone_that_was_killed_holds_nothing(void **state) {
    (void)state;
    pid_t holder = holder_start();
    struct ledger_claim *claim = claim_of("/x/a/k.py", MACHINE, 8);
    assert_int_equal(ask(claim, "held/k.py runs"), LEDGER_WAIT);
    kill(holder, SIGKILL);
    assert_int_equal(waitpid(holder, NULL, 0), holder);
    assert_int_equal(ask(claim, NULL), LEDGER_GO);
    ledger_claim_free(claim);
}

static void first_come_first_served(void **state) {
    (void)state;
    struct ledger_claim *runs = claim_of("/x/a/k.py", MACHINE, 8);
    struct ledger_claim *large = claim_of("/x/b/k.py", MACHINE, 8);
    ledger_raise(runs, 800 * MEGABYTE);
    ledger_raise(large, 1200 * MEGABYTE);
    assert_int_equal(ask(runs, NULL), LEDGER_GO);
    assert_int_equal(ask(large, "waits for memory"), LEDGER_WAIT);
    usleep(2000); /* claims of the same millisecond are equal */
    struct ledger_claim *small = claim_of("/x/c/k.py", MACHINE, 8);
    assert_int_equal(ask(small, "waits for its turn"), LEDGER_WAIT);
    ledger_claim_free(large);
    ledger_claim_free(runs);
    assert_int_equal(ask(small, NULL), LEDGER_GO);
    ledger_claim_free(small);
}

/* Files of claims that were left behind go when all are looked at. */
static void who_waits_behind_another_looks_at_that_one_alone(void **state) {
    struct ledger_claim *runs = claim_of("/x/a/k.py", MACHINE, 1), *waits[3];
    char *left = NULL;
    assert_int_equal(ask(runs, NULL), LEDGER_GO);
    for (int i = 0; i < 3; i++) {
        usleep(2000);
        waits[i] = claim_of("/x/b/k.py", MACHINE, 1);
        assert_int_equal(ask(waits[i], i ? "waits for its turn" : "waits for a proc"), LEDGER_WAIT);
    }
    struct buf path = {0};
    buf_printf(&path, "%s/hone/running/%08x-1-abcdef", (const char *)*state,
               (unsigned)file_machine());
    left = buf_take(&path);
    assert_true(file_write(left, "r", 1, NULL));
    assert_int_equal(ask(waits[2], "waits for its turn"), LEDGER_WAIT);
    assert_true(file_exists(left));
    ledger_claim_free(waits[1]); /* given up: the first one is before it now */
    assert_int_equal(ask(waits[2], "waits for its turn"), LEDGER_WAIT);
    assert_false(file_exists(left));
    ledger_claim_free(runs);
    assert_int_equal(ask(waits[0], NULL), LEDGER_GO);
    assert_int_equal(ask(waits[2], "waits for a processor"), LEDGER_WAIT);
    ledger_claim_free(waits[0]);
    assert_int_equal(ask(waits[2], NULL), LEDGER_GO);
    ledger_claim_free(waits[2]);
    free(left);
}

/* A child that keeps some memory until it is killed. */
static pid_t eater_start(size_t bytes) {
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char *memory = malloc(bytes);
        memset(memory, 1, bytes);
        if (write(ready[1], &memory[bytes / 2], 1) == 1)
            pause();
        _exit(1);
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void look(struct ledger_claim *claim) {
    struct loop *loop = loop_new();
    ledger_look(claim, loop);
    assert_true(loop_run_until_idle(loop, 60000));
    loop_free(loop);
}

/* The file of the only claim. */
static char *first_row(const char *running) {
    DIR *dir = opendir(running);
    char *text = NULL, mark[16];
    snprintf(mark, sizeof mark, "%08x-", (unsigned)file_machine());
    for (const struct dirent *entry; dir && !text && (entry = readdir(dir));) {
        char *path = path_join(running, entry->d_name);
        if (!strncmp(entry->d_name, mark, strlen(mark)))
            text = file_read(path, 4096, NULL, NULL);
        free(path);
    }
    closedir(dir);
    return text;
}

static void the_next_claim_is_for_what_the_last_one_took(void **state) {
    (void)state;
    pid_t eater = eater_start(300 * MEGABYTE);
    if (!os_tree_memory(eater)) {
        kill(eater, SIGKILL);
        skip();
    }
    struct ledger_claim *claim = claim_of("/x/a/k.py", 0, 8);
    assert_int_equal(ask(claim, NULL), LEDGER_GO);
    ledger_began(claim, (int)eater);
    look(claim);
    ledger_claim_free(claim);
    kill(eater, SIGKILL);
    waitpid(eater, NULL, 0);
    claim = claim_of("/x/a/k.py", 0, 8);
    assert_int_equal(ask(claim, NULL), LEDGER_GO);
    assert_in_range(ledger_reserved(claim), 375 * MEGABYTE, 1000 * MEGABYTE);
    ledger_claim_free(claim);
}

/* Of what a child was promised, the part that it was seen to have is promised no more. */
static void what_a_child_has_is_not_counted_twice(void **state) {
    (void)state;
    pid_t eater = eater_start(300 * MEGABYTE);
    uint64_t available = os_available_memory();
    if (!os_tree_memory(eater) || !available) {
        kill(eater, SIGKILL);
        skip();
    }
    struct ledger_claim *first = claim_of("/x/a/k.py", 0, 8);
    ledger_raise(first, 400 * MEGABYTE);
    assert_int_equal(ask(first, NULL), LEDGER_GO);
    ledger_began(first, (int)eater);
    look(first);
    char *running = path_state("running");
    char *row = first_row(running);
    assert_non_null(row);
    unsigned long long used = strtoull(row + 160, NULL, 10);
    assert_in_range(used, 300 * MEGABYTE, 400 * MEGABYTE);
    free(row);
    free(running);
    ledger_claim_free(first);
    kill(eater, SIGKILL);
    waitpid(eater, NULL, 0);
}

/* A claim is given back while its child is looked at. */
static void a_look_may_outlive_its_claim(void **state) {
    (void)state;
    struct loop *loop = loop_new();
    struct ledger_claim *claim = claim_of("/x/a/k.py", 0, 8);
    assert_int_equal(ask(claim, NULL), LEDGER_GO);
    ledger_began(claim, (int)getpid());
    ledger_look(claim, loop);
    ledger_claim_free(claim);
    assert_true(loop_run_until_idle(loop, 60000));
    loop_free(loop);
}

struct heard {
    int turns;
    struct ledger_claim *other;
    char why[200];
};

static void on_turn(void *data) {
    ((struct heard *)data)->turns++;
}

static void on_wait(void *data, const char *why, bool first) {
    struct heard *heard = data;
    assert_true(first);
    snprintf(heard->why, sizeof heard->why, "%s", why);
    ledger_claim_free(heard->other);
    heard->other = NULL;
}

/* What hone does on a thread of its own counts as a child does. */
static void work_without_a_child_takes_its_turn_and_counts(void **state) {
    (void)state;
    struct loop *loop = loop_new();
    struct heard heard = {.other = claim_of("/x/first/k.py", MACHINE, 8)};
    assert_int_equal(ask(heard.other, NULL), LEDGER_GO);
    struct runner_job job = {.kernel_path = "/x/second/k.py", .machine_bytes = MACHINE};
    struct runner_turn_callbacks callbacks = {on_turn, on_wait, &heard};
    struct runner_turn *turn = runner_turn_wait(loop, &job, &callbacks);
    assert_int_equal(heard.turns, 0);
    assert_true(loop_run_until_idle(loop, 60000));
    assert_int_equal(heard.turns, 1);
    assert_non_null(strstr(heard.why, "waits for memory: 1.1 GB needed, 0.5 GB free; first/k.py"));
    struct ledger_claim *third = claim_of("/x/third/k.py", MACHINE, 8);
    assert_int_equal(ask(third, "second/k.py runs"), LEDGER_WAIT);
    runner_turn_end(turn, 600 * MEGABYTE);
    assert_int_equal(ask(third, NULL), LEDGER_GO);
    ledger_claim_free(third);
    struct ledger_claim *again = claim_of("/x/second/k.py", 0, 8);
    assert_int_equal(ask(again, NULL), LEDGER_GO);
    assert_int_equal(ledger_reserved(again), 750 * MEGABYTE);
    ledger_claim_free(again);
    loop_free(loop);
}

/* A search over schedules keeps as many processors busy as are free, and leaves none to others. */
static void work_that_keeps_several_processors_busy_takes_their_places(void **state) {
    (void)state;
    struct loop *loop = loop_new();
    struct heard heard = {0};
    struct ledger_claim *first = claim_of("/x/first/k.py", 0, 4);
    assert_int_equal(ask(first, NULL), LEDGER_GO);
    struct runner_job job = {.kernel_path = "/x/k.py", .machine_children = 4, .machine_places = 8};
    struct runner_turn_callbacks callbacks = {on_turn, on_wait, &heard};
    struct runner_turn *turn = runner_turn_wait(loop, &job, &callbacks);
    assert_true(loop_run_until_idle(loop, 60000));
    assert_int_equal(heard.turns, 1);
    assert_int_equal(runner_turn_places(turn), 3);
    struct ledger_claim *third = claim_of("/x/third/k.py", 0, 4);
    ledger_claim_free(first);
    assert_int_equal(ask(third, NULL), LEDGER_GO);
    struct ledger_claim *fourth = claim_of("/x/fourth/k.py", 0, 4);
    assert_int_equal(ask(fourth, "waits for a processor"), LEDGER_WAIT);
    runner_turn_end(turn, 0);
    assert_int_equal(ask(fourth, NULL), LEDGER_GO);
    ledger_claim_free(fourth);
    ledger_claim_free(third);
    loop_free(loop);
}

static void a_turn_knows_what_the_process_grew_by(void **state) {
    (void)state;
    struct loop *loop = loop_new();
    struct heard heard = {0};
    struct runner_job job = {.kernel_path = "/x/k.py"};
    struct runner_turn_callbacks callbacks = {on_turn, on_wait, &heard};
    struct runner_turn *turn = runner_turn_wait(loop, &job, &callbacks);
    assert_true(loop_run_until_idle(loop, 60000));
    size_t size = os_peak_memory() - os_process_memory(getpid()) + 64 * MEGABYTE;
    char *memory = malloc(size);
    memset(memory, (int)size, size);
    assert_int_equal(memory[size / 2], (char)size);
    assert_true(runner_turn_grown(turn) >= 32 * MEGABYTE);
    free(memory);
    runner_turn_end(turn, 0);
    loop_free(loop);
}

/* Nobody waits for it any more. */
static void a_turn_that_still_waits_can_be_given_up(void **state) {
    (void)state;
    struct loop *loop = loop_new();
    struct heard heard = {0};
    struct runner_job job = {.kernel_path = "/x/k.py"};
    struct runner_turn_callbacks callbacks = {on_turn, on_wait, &heard};
    runner_turn_end(runner_turn_wait(loop, &job, &callbacks), 0);
    runner_turn_end(NULL, 0);
    assert_true(loop_run_until_idle(loop, 60000));
    assert_int_equal(heard.turns, 0);
    loop_free(loop);
}

static void garbage_in_the_folder_stops_nobody(void **state) {
    (void)state;
    char *running = path_state("running");
    struct buf path = {0};
    assert_true(file_make_dirs(running, NULL));
    buf_printf(&path, "%s/%08x-1-garbage", running, (unsigned)file_machine());
    assert_true(file_write(path.at, "r nonsense", 10, NULL));
    int fd = open(path.at, O_RDWR);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    struct ledger_claim *claim = claim_of("/x/a/k.py", MACHINE, 1);
    assert_int_equal(ask(claim, NULL), LEDGER_GO);
    ledger_claim_free(claim);
    close(fd);
    buf_free(&path);
    free(running);
}

static void without_a_folder_everything_starts(void **state) {
    (void)state;
    setenv("XDG_STATE_HOME", "/dev/null", 1);
    struct ledger_claim *claim = claim_of("/x/a/k.py", MACHINE, 1);
    assert_int_equal(ask(claim, NULL), LEDGER_GO);
    assert_int_equal(ledger_reserved(claim), 0);
    ledger_claim_free(claim);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_new, remove_folder)
int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(what_does_not_fit_beside_another_waits_for_its_end),
        TEST(there_are_no_more_at_once_than_is_set),
        TEST(a_hone_that_was_killed_holds_nothing),
        TEST(first_come_first_served),
        TEST(who_waits_behind_another_looks_at_that_one_alone),
        TEST(the_next_claim_is_for_what_the_last_one_took),
        TEST(what_a_child_has_is_not_counted_twice),
        TEST(a_look_may_outlive_its_claim),
        TEST(work_without_a_child_takes_its_turn_and_counts),
        TEST(work_that_keeps_several_processors_busy_takes_their_places),
        TEST(a_turn_knows_what_the_process_grew_by),
        TEST(a_turn_that_still_waits_can_be_given_up),
        TEST(garbage_in_the_folder_stops_nobody),
        TEST(without_a_folder_everything_starts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
