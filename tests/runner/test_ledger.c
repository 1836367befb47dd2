/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's budget, shared by what could as well be other hones: each claim has its own file
 * and lock. */
#include "task/workbench.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/machine/inner.h"
#include "runner/runner.h"

#define MEGABYTE ((uint64_t)1 << 20)
#define MACHINE (1500 * MEGABYTE) /* less than two that nobody knows anything of */

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
    assert_int_equal(ask(claims[2], "waits for a processor: a/k.py and others runs"), LEDGER_WAIT);
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
    usleep(2000); /* those of the same millisecond are equal */
    struct ledger_claim *small = claim_of("/x/c/k.py", MACHINE, 8);
    assert_int_equal(ask(small, "waits for its turn"), LEDGER_WAIT);
    ledger_claim_free(large);
    ledger_claim_free(runs);
    assert_int_equal(ask(small, NULL), LEDGER_GO);
    ledger_claim_free(small);
}

/* A child that has some memory to itself until it is killed. */
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
    ledger_look(claim);
    ledger_claim_free(claim);
    kill(eater, SIGKILL);
    waitpid(eater, NULL, 0);
    claim = claim_of("/x/a/k.py", 0, 8);
    assert_int_equal(ask(claim, NULL), LEDGER_GO);
    assert_in_range(ledger_reserved(claim), 375 * MEGABYTE, 1000 * MEGABYTE);
    ledger_claim_free(claim);
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
        TEST(the_next_claim_is_for_what_the_last_one_took),
        TEST(garbage_in_the_folder_stops_nobody),
        TEST(without_a_folder_everything_starts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
