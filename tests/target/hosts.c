/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts behind real SSH servers on loopback, with a runner that evaluates nothing (fake_runner.py):
 * a server that dies, a line that is cut in the middle of a job, hone killed, two hones on one
 * host, twenty hosts at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "hosts/lab.h"
#include "target/target.h"

#define PATIENCE_MS 200000
#define LINES 100000

struct heard {
    int done, next_line, wrong, samples;
    struct err failure;
    struct buf local;
    struct target_run *run;
};

static void on_event(void *data, const struct runner_event *event) {
    struct heard *heard = data;
    int number;
    heard->samples += event->kind == RUNNER_SAMPLE;
    if (event->kind == RUNNER_LOG && event->local)
        buf_printf(&heard->local, "%s\n", event->text);
    else if (event->kind == RUNNER_LOG && sscanf(event->text, "line %d", &number) == 1) {
        heard->wrong += number != heard->next_line;
        heard->next_line = number + 1;
    }
}

static void on_done(void *data, struct runner_result *result) {
    struct heard *heard = data;
    heard->done++;
    heard->failure = result->failure;
    heard->run = NULL;
}

static void heard_free(struct heard *heard) {
    buf_free(&heard->local);
}

static void turn(struct loop *loop, uint64_t ms) {
    bool never = false;
    loop_run_until(loop, &never, ms);
}

static void wait_lines(struct loop *loop, const struct heard *heard, int lines) {
    for (int i = 0; i < PATIENCE_MS / 5 && heard->next_line < lines && !heard->done; i++)
        turn(loop, 5);
    assert_true(heard->next_line >= lines);
}

static void wait_done(struct loop *loop, const struct heard *heard) {
    for (int i = 0; i < PATIENCE_MS / 10 && !heard->done; i++)
        turn(loop, 10);
    assert_int_equal(heard->done, 1);
}

static void wait_state(struct loop *loop, struct target *target, enum target_state state) {
    for (int i = 0; i < PATIENCE_MS / 10 && target_look(target)->state != state; i++)
        turn(loop, 10);
    if (target_look(target)->state != state)
        fail_msg("it is: %s", target_look(target)->text);
}

static struct target *open_host(struct loop *loop, const char *name) {
    struct err err = {0};
    struct target *target = target_open(loop, name, NULL, &err);
    if (!target)
        fail_msg("%s", err.text);
    return target;
}

static void start(struct target *target, struct heard *heard, const char *text) {
    struct runner_job job = {.kernel_path = "kernel.py", .kernel_text = text, .session = "s"};
    struct runner_callbacks callbacks = {on_event, on_done, heard};
    heard->run = target_start(target, &job, &callbacks, NULL);
    assert_non_null(heard->run);
}

static void expect_whole(const struct heard *heard, int lines) {
    if (heard->failure.kind != ERR_NONE)
        fail_msg("%s", heard->failure.text);
    assert_int_equal(heard->wrong, 0);
    assert_int_equal(heard->next_line, lines);
    assert_int_equal(heard->samples, 1);
}

/* --------------------------------------------------------------------------------------- tests */

static void a_server_that_dies_in_the_middle_loses_no_line(void **state) {
    struct lab *lab = *state;
    struct sshd *sshd = sshd_start(lab, "mortal", NULL);
    struct loop *loop = loop_new();
    struct target *target = open_host(loop, "mortal");
    struct heard heard = {0};
    /* Long enough that a machine which has much else to do kills it in the middle, too. */
    start(target, &heard, "slowly 50 0.01\nlines 100000\nslowly 100 0.05\nresult 5\n");
    wait_lines(loop, &heard, 20);
    sshd_kill(sshd);
    wait_state(loop, target, TARGET_LOST);
    assert_true(target_look(target)->retry_ms > 0);
    sshd_restart(sshd);
    wait_done(loop, &heard);
    expect_whole(&heard, LINES + 150);
    assert_non_null(strstr(heard.local.at, "the job goes on there"));
    assert_non_null(strstr(heard.local.at, "picked up"));
    heard_free(&heard);
    target_free(target);
    loop_free(loop);
}

static void a_line_that_is_cut_and_restored_loses_no_line(void **state) {
    struct lab *lab = *state;
    struct sshd *sshd = sshd_start(lab, "far", NULL);
    struct relay *relay = relay_start(lab, sshd_port(sshd));
    lab_add_config(lab,
                   "Host relayed\n HostName 127.0.0.1\n Port %d\n IdentityFile %s\n"
                   " HostKeyAlias [127.0.0.1]:%d\n User %s\n",
                   relay_port(relay), lab_key(lab, "ed25519"), sshd_port(sshd), lab_user(lab));
    struct loop *loop = loop_new();
    struct target *target = open_host(loop, "relayed");
    struct heard heard = {0};
    start(target, &heard, "slowly 20 0.01\nlines 100000\nslowly 300 0.01\nresult 5\n");
    wait_lines(loop, &heard, 2000); /* in the middle of the flood */
    relay_cut(relay, true);
    wait_state(loop, target, TARGET_LOST);
    relay_cut(relay, false);
    wait_done(loop, &heard);
    expect_whole(&heard, LINES + 320);
    heard_free(&heard);
    target_free(target);
    loop_free(loop);
}

static char *put(struct lab *lab, const char *name, const char *text) {
    char *path = lab_path(lab, name), *folder = path_folder(path);
    assert_true(file_make_dirs(folder, NULL) && file_write(path, text, strlen(text), NULL));
    free(folder);
    return path;
}

static size_t file_size(const char *path) {
    size_t size = 0;
    char *text = file_read(path, 0, &size, NULL);
    free(text);
    return text ? size : 0;
}

static pid_t run_hone(struct lab *lab, const char *task) {
    char home[300];
    snprintf(home, sizeof home, "HOME=%s", lab_home(lab));
    const char *argv[] = {"/usr/bin/env", home,     HONE_PROGRAM, "run",      task, "--target",
                          "kept",         "--gate", "auto",       "--rounds", "1",  NULL};
    return lab_start(lab, argv, "hone.log", 0);
}

static void tell_log(struct lab *lab) {
    char *path = lab_path(lab, "hone.log");
    size_t size = 0;
    char *text = file_read(path, 0, &size, NULL);
    print_message("hone said: %s\n", text ? text : "nothing");
    free(text);
    free(path);
}

static void a_hone_that_is_killed_finds_its_job_again(void **state) {
    struct lab *lab = *state;
    sshd_start(lab, "kept", NULL);
    char *count = lab_path(lab, "count"), *begun = lab_path(lab, "begun");
    struct buf text = {0};
    buf_printf(&text, "count %s\nslowly 100 0.02\ncount %s\nresult 1000\n", count, begun);
    char *kernel = put(lab, "task/kernel.py", text.at), *task = path_folder(kernel);
    free(put(lab, "task/reference.py", "def get_inputs(): return []\n"));
    pid_t first = run_hone(lab, task);
    for (int i = 0; i < 3000 && !file_size(count); i++)
        usleep(10000);
    if (!file_size(count))
        tell_log(lab);
    assert_int_equal(file_size(count), 1);
    lab_kill_tree(lab, first, NULL);
    assert_int_equal(file_size(begun), 0);
    run_hone(lab, task);
    for (int i = 0; i < 6000 && !file_size(begun); i++)
        usleep(10000);
    assert_int_equal(file_size(begun), 1);
    assert_int_equal(file_size(count), 1); /* done once, although asked for twice */
    free(task);
    free(kernel);
    free(begun);
    free(count);
    buf_free(&text);
}

static void two_on_one_host_do_not_disturb_each_other(void **state) {
    struct lab *lab = *state;
    sshd_start(lab, "shared", NULL);
    struct loop *loop = loop_new();
    struct target *one = open_host(loop, "shared"), *two = open_host(loop, "shared");
    struct heard mine = {0}, theirs = {0};
    start(one, &mine, "lines 5\nsleep 600\nresult 1\n");
    start(two, &theirs, "lines 1000\nslowly 100 0.01\nresult 2\n");
    wait_lines(loop, &mine, 5);
    wait_lines(loop, &theirs, 1000);
    target_cancel(mine.run);
    wait_done(loop, &mine);
    assert_int_equal(mine.failure.kind, ERR_CANCELLED);
    wait_done(loop, &theirs);
    expect_whole(&theirs, 1100);
    heard_free(&mine);
    heard_free(&theirs);
    target_free(one);
    target_free(two);
    loop_free(loop);
}

static void a_fingerprint_that_is_declined_ends_it(void **state) {
    struct lab *lab = *state;
    sshd_start(lab, "stranger", &(struct sshd_options){.unknown = true});
    struct loop *loop = loop_new();
    struct target *target = open_host(loop, "stranger");
    struct heard heard = {0};
    start(target, &heard, "result 1\n");
    wait_state(loop, target, TARGET_ASKING);
    assert_non_null(strstr(target_asks(target)->text, "SHA256:"));
    target_answer(target, NULL);
    wait_done(loop, &heard);
    assert_int_equal(heard.failure.kind, ERR_CANCELLED);
    assert_int_equal(target_look(target)->state, TARGET_FAILED);
    heard_free(&heard);
    target_free(target);
    loop_free(loop);
}

/* The longest time between two ticks of a millisecond: how long the loop was busy at a stretch. */
struct ticks {
    uint64_t last_ns, longest_ns;
};

static void tick(void *data) {
    struct ticks *ticks = data;
    uint64_t now = clock_monotonic_ns();
    if (ticks->last_ns && now - ticks->last_ns > ticks->longest_ns)
        ticks->longest_ns = now - ticks->last_ns;
    ticks->last_ns = now;
}

static void twenty_hosts_at_once_all_answer(void **state) {
    enum { HOSTS = 20, EACH = 2000 };
    struct lab *lab = *state;
    struct loop *loop = loop_new();
    struct target *targets[HOSTS];
    struct heard heard[HOSTS] = {0};
    for (int i = 0; i < HOSTS; i++) {
        char name[16];
        snprintf(name, sizeof name, "many%d", i);
        sshd_start(lab, name, &(struct sshd_options){.host_keys = "ed25519"});
        targets[i] = open_host(loop, name);
    }
    struct ticks ticks = {0};
    struct loop_timer *timer = loop_timer_start(loop, 1, 1, tick, &ticks);
    for (int i = 0; i < HOSTS; i++)
        start(targets[i], &heard[i], "lines 2000\nresult 3\n");
    for (int i = 0; i < HOSTS; i++) {
        wait_done(loop, &heard[i]);
        expect_whole(&heard[i], EACH);
    }
    print_message("%d hosts, %d lines each: the loop's longest turn was %.1f ms\n", HOSTS, EACH,
                  (double)ticks.longest_ns * 1e-6);
    loop_timer_stop(timer);
    for (int i = 0; i < HOSTS; i++) {
        heard_free(&heard[i]);
        target_free(targets[i]);
    }
    loop_free(loop);
}

static int set_up(void **state) {
    /* Before the lab, because what it starts sees the environment as it is then. */
    setenv("HONE_RUNNER", HONE_SOURCE_DIR "/tests/target/fake_runner.py", 1);
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("XDG_STATE_HOME");
    unsetenv("XDG_CACHE_HOME");
    *state = lab_new();
    return 0;
}

static int tear_down(void **state) {
    lab_free(*state);
    return 0;
}

int main(void) {
    const char *missing = lab_missing();
    if (missing) {
        printf("skipped: %s\n", missing);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_that_dies_in_the_middle_loses_no_line),
        cmocka_unit_test(a_line_that_is_cut_and_restored_loses_no_line),
        cmocka_unit_test(a_hone_that_is_killed_finds_its_job_again),
        cmocka_unit_test(two_on_one_host_do_not_disturb_each_other),
        cmocka_unit_test(a_fingerprint_that_is_declined_ends_it),
        cmocka_unit_test(twenty_hosts_at_once_all_answer),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
