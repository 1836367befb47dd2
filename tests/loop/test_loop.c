/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loop/loop.h"
#include "loop/testing.h"

#define PATIENCE_MS 60000

/* What a child said and how it ended. */
struct record {
    struct buf out, err;
    size_t lines, pieces;
    struct loop_exit exit;
    bool done;
    struct loop_child *child;
};

static void on_output(void *data, enum loop_stream stream, struct str text, bool whole) {
    struct record *record = data;
    struct buf *to = stream == LOOP_STDERR ? &record->err : &record->out;
    buf_add(to, text.at, text.len);
    buf_putc(to, '|');
    record->lines += whole;
    record->pieces += !whole;
}

static void on_exit_record(void *data, const struct loop_exit *result) {
    struct record *record = data;
    record->exit = *result;
    record->done = true;
}

static void free_record(struct record *record) {
    buf_free(&record->out);
    buf_free(&record->err);
}

static struct loop_child_spec shell(struct record *record, const char **argv, const char *script) {
    argv[0] = "/bin/sh";
    argv[1] = "-c";
    argv[2] = script;
    argv[3] = NULL;
    return (struct loop_child_spec){.argv = argv,
                                    .out = LOOP_LINES,
                                    .err = LOOP_LINES,
                                    .on_output = on_output,
                                    .on_exit = on_exit_record,
                                    .data = record};
}

static void run_shell(struct record *record, const char *script) {
    struct loop *loop = loop_new();
    const char *argv[4];
    struct loop_child_spec spec = shell(record, argv, script);
    struct err err = {0};
    record->child = loop_child_start(loop, &spec, &err);
    assert_non_null(record->child);
    assert_true(loop_run_until_idle(loop, PATIENCE_MS));
    assert_true(record->done);
    loop_free(loop);
}

static void append_letter(void *data) {
    buf_putc(data, 'x');
}

static void timers_fire_once_or_again_until_stopped(void **state) {
    (void)state;
    struct loop *loop = loop_new();
    struct buf once = {0}, many = {0}, never = {0};
    loop_timer_start(loop, 20, 0, append_letter, &once);
    struct loop_timer *repeating = loop_timer_start(loop, 1, 1, append_letter, &many);
    struct loop_timer *stopped = loop_timer_start(loop, 5, 0, append_letter, &never);
    loop_timer_stop(stopped);
    loop_timer_stop(NULL);
    assert_true(loop_run_until_idle(loop, PATIENCE_MS));
    assert_string_equal(once.at, "x");
    assert_true(many.len >= 2);
    assert_int_equal(never.len, 0);
    loop_timer_stop(repeating);
    loop_free(loop);
    buf_free(&once);
    buf_free(&many);
}

static void idle_has_a_limit(void **state) {
    (void)state;
    struct loop *loop = loop_new();
    struct buf out = {0};
    loop_timer_start(loop, 60000, 0, append_letter, &out);
    assert_false(loop_run_until_idle(loop, 20));
    loop_free(loop);
    assert_int_equal(out.len, 0);
}

struct job {
    pthread_t on;
    struct loop *loop;
    bool worked, finished;
};

static void job_work(void *data) {
    struct job *job = data;
    job->worked = true;
    job->on = pthread_self();
}

static void job_done(void *data) {
    struct job *job = data;
    job->finished = job->worked && !pthread_equal(job->on, pthread_self());
}

static void jobs_work_on_a_thread_and_finish_on_the_loop(void **state) {
    (void)state;
    struct loop *loop = loop_new();
    struct job jobs[10] = {{0}};
    for (size_t i = 0; i < COUNT_OF(jobs); i++)
        loop_job_start(loop, job_work, job_done, &jobs[i]);
    assert_true(loop_run_until_idle(loop, PATIENCE_MS));
    for (size_t i = 0; i < COUNT_OF(jobs); i++)
        assert_true(jobs[i].finished);
    loop_free(loop);
}

static void a_job_that_owns_its_data_is_done_even_when_the_loop_goes(void **state) {
    (void)state;
    struct loop *loop = loop_new();
    struct job owned = {0}, plain = {0};
    loop_job_start_owned(loop, job_work, job_done, &owned);
    loop_job_start(loop, job_work, job_done, &plain);
    loop_free(loop);
    assert_true(owned.finished);
    assert_false(plain.finished);
}

static void stuck_work(void *data) {
    (void)data;
    for (;;)
        pause();
}

/* As one whose disk never answers. */
static void a_stuck_job_holds_up_neither_the_loop_s_end_nor_the_program_s(void **state) {
    (void)state;
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        static struct job job;
        alarm(60);
        struct loop *loop = loop_new();
        loop_job_start_owned(loop, stuck_work, job_done, &job);
        loop_free(loop);
        exit(job.finished ? 1 : 7);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
}

static void stop_from_post(void *data) {
    struct job *job = data;
    job->finished = true;
    loop_stop(job->loop);
}

static void *post_from_thread(void *data) {
    struct job *job = data;
    loop_post(job->loop, stop_from_post, job);
    return NULL;
}

static void another_thread_can_post(void **state) {
    (void)state;
    struct job job = {.loop = loop_new()};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, post_from_thread, &job), 0);
    loop_run(job.loop);
    pthread_join(thread, NULL);
    assert_true(job.finished);
    loop_free(job.loop);
}

static void on_ready(void *data, int events) {
    *(int *)data |= events;
}

static void a_watch_sees_a_readable_descriptor(void **state) {
    (void)state;
    struct loop *loop = loop_new();
    int ends[2], seen = 0;
    assert_int_equal(pipe(ends), 0);
    struct loop_watch *watch = loop_watch_start(loop, ends[0], LOOP_READABLE, on_ready, &seen);
    assert_non_null(watch);
    assert_false(loop_run_until(loop, (const bool[]){false}, 10));
    assert_int_equal(seen, 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_false(loop_run_until(loop, (const bool[]){false}, 10));
    assert_int_equal(seen, LOOP_READABLE);
    loop_watch_stop(watch);
    loop_free(loop);
    close(ends[0]);
    close(ends[1]);
}

static void on_signal(void *data, int signum) {
    *(int *)data = signum;
}

static void a_signal_arrives_on_the_loop(void **state) {
    (void)state;
    struct loop *loop = loop_new();
    int seen = 0;
    struct loop_signal *signal = loop_signal_start(loop, SIGWINCH, on_signal, &seen);
    raise(SIGWINCH);
    loop_run_until(loop, (const bool[]){false}, 10);
    assert_int_equal(seen, SIGWINCH);
    loop_signal_stop(signal);
    loop_free(loop);
}

static void a_child_is_read_by_lines_and_its_status_comes_last(void **state) {
    (void)state;
    struct record record = {0};
    run_shell(&record, "echo one; printf 'two\\n\\nlast'; echo warning >&2; exit 3");
    assert_string_equal(record.out.at, "one|two||last|");
    assert_string_equal(record.err.at, "warning|");
    assert_int_equal(record.exit.end, LOOP_EXITED);
    assert_int_equal(record.exit.status, 3);
    free_record(&record);
}

static void a_long_line_comes_in_pieces(void **state) {
    (void)state;
    struct loop *loop = loop_new();
    struct record record = {0};
    const char *argv[4];
    struct loop_child_spec spec = shell(&record, argv, "printf 'abcdefghij\\nk\\n'");
    spec.max_line = 4;
    assert_non_null(loop_child_start(loop, &spec, NULL));
    assert_true(loop_run_until_idle(loop, PATIENCE_MS));
    assert_string_equal(record.out.at, "abcd|efgh|ij|k|");
    assert_int_equal(record.pieces, 2);
    loop_free(loop);
    free_record(&record);
}

static void a_child_gets_its_input_its_folder_and_its_environment(void **state) {
    (void)state;
    struct loop *loop = loop_new();
    struct record record = {0};
    const char *argv[4];
    struct loop_child_spec spec =
        shell(&record, argv, "wc -c | tr -d ' '; pwd; echo \"$HONE_TEST_A-${HOME-gone}\"");
    size_t size = 300000;
    char *input = mem_alloc(1, size);
    spec.input = input;
    spec.input_len = size;
    spec.cwd = "/";
    spec.env = (const char *[]){"HONE_TEST_A=yes", "HOME", NULL};
    assert_non_null(loop_child_start(loop, &spec, NULL));
    free(input);
    assert_true(loop_run_until_idle(loop, PATIENCE_MS));
    assert_string_equal(record.out.at, "300000|/|yes-gone|");
    loop_free(loop);
    free_record(&record);
}

static void input_can_follow_later(void **state) {
    (void)state;
    struct loop *loop = loop_new();
    struct record record = {0};
    const char *argv[] = {"cat", NULL};
    struct loop_child_spec spec = {.argv = argv,
                                   .keep_input = true,
                                   .out = LOOP_LINES,
                                   .on_output = on_output,
                                   .on_exit = on_exit_record,
                                   .data = &record};
    struct loop_child *child = loop_child_start(loop, &spec, NULL);
    assert_non_null(child);
    assert_true(loop_child_write(child, "one\n", 4));
    assert_true(loop_child_write(child, "two\n", 4));
    loop_child_close_input(child);
    assert_false(loop_child_write(child, "three\n", 6));
    assert_true(loop_run_until_idle(loop, PATIENCE_MS));
    assert_string_equal(record.out.at, "one|two|");
    loop_free(loop);
    free_record(&record);
}

static void a_program_that_is_not_there_is_an_error(void **state) {
    (void)state;
    struct loop *loop = loop_new();
    const char *argv[] = {"/no/such/program", NULL};
    struct err err = {0};
    assert_null(loop_child_start(loop, &(struct loop_child_spec){.argv = argv}, &err));
    assert_int_equal(err.kind, ERR_ENVIRONMENT);
    assert_non_null(strstr(err.text, "/no/such/program: No such file"));
    assert_true(loop_run_until_idle(loop, PATIENCE_MS));
    loop_free(loop);
}

static void the_time_limit_ends_the_whole_group(void **state) {
    (void)state;
    struct loop *loop = loop_new();
    struct record record = {0};
    const char *argv[4];
    struct loop_child_spec spec =
        shell(&record, argv, "trap '' TERM; sleep 600 & echo $!; wait; sleep 600");
    spec.time_limit_s = 0.2;
    assert_non_null(loop_child_start(loop, &spec, NULL));
    assert_true(loop_run_until_idle(loop, PATIENCE_MS));
    assert_int_equal(record.exit.end, LOOP_TIMED_OUT);
    long long grandchild = 0;
    record.out.at[strcspn(record.out.at, "|")] = 0;
    assert_true(str_to_int(str_of(record.out.at), &grandchild));
    /* It is gone, or a zombie that init has not collected yet. */
    struct buf path = {0};
    buf_printf(&path, "/proc/%lld/cmdline", grandchild);
    char *cmdline = file_read(path.at, 4096, NULL, NULL);
    assert_true(!cmdline || cmdline[0] == 0);
    free(cmdline);
    buf_free(&path);
    loop_free(loop);
    free_record(&record);
}

static void kill_now(void *data) {
    loop_child_kill(((struct record *)data)->child, 30);
}

static void a_kill_asks_first_and_then_insists(void **state) {
    (void)state;
    struct loop *loop = loop_new();
    struct record record = {0};
    const char *argv[4];
    struct loop_child_spec spec =
        shell(&record, argv, "trap 'echo asked' TERM; echo up; while :; do sleep 0.01; done");
    record.child = loop_child_start(loop, &spec, NULL);
    assert_non_null(record.child);
    loop_timer_start(loop, 200, 0, kill_now, &record);
    assert_true(loop_run_until_idle(loop, PATIENCE_MS));
    assert_int_equal(record.exit.end, LOOP_KILLED);
    loop_free(loop);
    free_record(&record);
}

static void a_crash_shows_its_signal(void **state) {
    (void)state;
    struct record record = {0};
    run_shell(&record, "kill -SEGV $$");
    assert_int_equal(record.exit.end, LOOP_SIGNALLED);
    assert_int_equal(record.exit.signum, SIGSEGV);
    struct buf text = {0};
    loop_exit_print(&record.exit, &text);
    assert_non_null(strstr(text.at, "signal 11"));
    buf_free(&text);
    free_record(&record);
}

static void limits_reach_the_child(void **state) {
    (void)state;
    struct loop *loop = loop_new();
    struct record record = {0};
    const char *argv[4];
    struct loop_child_spec spec = shell(&record, argv, "ulimit -v; ulimit -t");
    spec.memory_limit = (uint64_t)512 << 20;
    spec.cpu_limit_s = 7;
    assert_non_null(loop_child_start(loop, &spec, NULL));
    assert_true(loop_run_until_idle(loop, PATIENCE_MS));
    assert_string_equal(record.out.at, "524288|7|");
    loop_free(loop);
    free_record(&record);
}

/* What `env` prints in a child of that spec, when hone's own environment has things of a login. */
static void run_env(struct record *record, struct loop_child_spec more) {
    static const char *const secrets[] = {"ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY",
                                          "GH_TOKEN",          "SSH_AUTH_SOCK",
                                          "HONE_ANYTHING",     "LANGE_TASTE"};
    struct loop *loop = loop_new();
    const char *argv[4];
    struct loop_child_spec spec = shell(record, argv, "env");
    spec.environment = more.environment;
    spec.pass = more.pass;
    spec.env = more.env;
    for (size_t i = 0; i < COUNT_OF(secrets); i++)
        setenv(secrets[i], "geheim", 1);
    setenv("OPENBLAS_CORETYPE", "Haswell", 1);
    setenv("LC_TEST", "C", 1);
    assert_non_null(loop_child_start(loop, &spec, NULL));
    assert_true(loop_run_until_idle(loop, PATIENCE_MS));
    for (size_t i = 0; i < COUNT_OF(secrets); i++)
        unsetenv(secrets[i]);
    unsetenv("OPENBLAS_CORETYPE");
    unsetenv("LC_TEST");
    loop_free(loop);
}

static void a_child_that_says_nothing_sees_no_secret(void **state) {
    (void)state;
    struct record record = {0};
    run_env(&record, (struct loop_child_spec){0});
    assert_null(strstr(record.out.at, "geheim"));
    assert_non_null(strstr(record.out.at, "PATH="));
    assert_non_null(strstr(record.out.at, "OPENBLAS_CORETYPE=Haswell"));
    assert_non_null(strstr(record.out.at, "LC_TEST=C"));
    free_record(&record);
}

static void a_child_sees_what_its_spec_names(void **state) {
    (void)state;
    const char *const pass[] = {"GH_TOKEN", "HONE_*", NULL};
    const char *const env[] = {"HONE_ANYTHING", "NEW=1", "PATH=/bin:/usr/bin", NULL};
    struct record record = {0};
    run_env(&record, (struct loop_child_spec){.pass = pass, .env = env});
    assert_non_null(strstr(record.out.at, "GH_TOKEN=geheim"));
    assert_null(strstr(record.out.at, "ANTHROPIC"));
    assert_null(strstr(record.out.at, "HONE_ANYTHING"));
    assert_non_null(strstr(record.out.at, "NEW=1"));
    assert_non_null(strstr(record.out.at, "PATH=/bin:/usr/bin|"));
    free_record(&record);
    record = (struct record){0};
    run_env(&record, (struct loop_child_spec){.environment = LOOP_WHOLE});
    assert_non_null(strstr(record.out.at, "SSH_AUTH_SOCK=geheim"));
    free_record(&record);
}

static void a_child_inherits_no_descriptor(void **state) {
    (void)state;
    int leak = dup(0);
    assert_true(leak > 2);
    struct record record = {0};
    struct buf script = {0};
    buf_printf(&script, "if (: <&%d) 2>/dev/null; then echo open; else echo closed; fi", leak);
    run_shell(&record, script.at);
    assert_string_equal(record.out.at, "closed|");
    close(leak);
    buf_free(&script);
    free_record(&record);
}

static void an_output_kept_open_by_a_daemon_does_not_hang(void **state) {
    (void)state;
    struct record record = {0};
    run_shell(&record, "setsid sleep 3 & echo here");
    assert_string_equal(record.out.at, "here|");
    assert_int_equal(record.exit.end, LOOP_EXITED);
    free_record(&record);
}

static void freeing_the_loop_ends_its_children(void **state) {
    (void)state;
    struct loop *loop = loop_new();
    struct record record = {0};
    const char *argv[4];
    struct loop_child_spec spec = shell(&record, argv, "sleep 600");
    record.child = loop_child_start(loop, &spec, NULL);
    int pid = loop_child_pid(record.child);
    loop_free(loop);
    assert_int_not_equal(kill(pid, 0), 0);
    assert_false(record.done);
    free_record(&record);
}

/* A process starts a child with the loop and is killed. The child must die too. */
static void children_die_with_their_parent(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t parent = fork();
    if (parent == 0) {
        struct loop *loop = loop_new();
        const char *argv[] = {"sleep", "600", NULL};
        struct loop_child *child =
            loop_child_start(loop, &(struct loop_child_spec){.argv = argv}, NULL);
        int pid = child ? loop_child_pid(child) : 0;
        (void)!write(ends[1], &pid, sizeof pid);
        pause();
        _exit(0);
    }
    int pid = 0;
    assert_int_equal(read(ends[0], &pid, sizeof pid), sizeof pid);
    assert_true(pid > 0);
    kill(parent, SIGKILL);
    /* No process of ours may wait for it. Its command line is empty when it is gone. */
    struct buf path = {0};
    buf_printf(&path, "/proc/%d/cmdline", pid);
    bool gone = false;
    for (int i = 0; i < 1000 && !gone; i++) {
        char *cmdline = file_read(path.at, 4096, NULL, NULL);
        gone = !cmdline || cmdline[0] == 0;
        free(cmdline);
        usleep(10000);
    }
    assert_true(gone);
    buf_free(&path);
    close(ends[0]);
    close(ends[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timers_fire_once_or_again_until_stopped),
        cmocka_unit_test(idle_has_a_limit),
        cmocka_unit_test(jobs_work_on_a_thread_and_finish_on_the_loop),
        cmocka_unit_test(a_job_that_owns_its_data_is_done_even_when_the_loop_goes),
        cmocka_unit_test(a_stuck_job_holds_up_neither_the_loop_s_end_nor_the_program_s),
        cmocka_unit_test(another_thread_can_post),
        cmocka_unit_test(a_watch_sees_a_readable_descriptor),
        cmocka_unit_test(a_signal_arrives_on_the_loop),
        cmocka_unit_test(a_child_is_read_by_lines_and_its_status_comes_last),
        cmocka_unit_test(a_long_line_comes_in_pieces),
        cmocka_unit_test(a_child_gets_its_input_its_folder_and_its_environment),
        cmocka_unit_test(input_can_follow_later),
        cmocka_unit_test(a_program_that_is_not_there_is_an_error),
        cmocka_unit_test(the_time_limit_ends_the_whole_group),
        cmocka_unit_test(a_kill_asks_first_and_then_insists),
        cmocka_unit_test(a_crash_shows_its_signal),
        cmocka_unit_test(limits_reach_the_child),
        cmocka_unit_test(a_child_that_says_nothing_sees_no_secret),
        cmocka_unit_test(a_child_sees_what_its_spec_names),
        cmocka_unit_test(a_child_inherits_no_descriptor),
        cmocka_unit_test(an_output_kept_open_by_a_daemon_does_not_hang),
        cmocka_unit_test(freeing_the_loop_ends_its_children),
        cmocka_unit_test(children_die_with_their_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
