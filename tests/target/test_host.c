/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts over a line that a test cuts, with a runner that evaluates nothing (fake_runner.py). */
#include "task/workbench.h"

#include <sys/stat.h>

#include "base/config/testing.h"
#include "target/double.h"
#include "target/target.h"

#define PATIENCE_MS 180000

struct heard {
    struct loop *loop;
    int done, next_line, lines, wrong, samples, restarts, other_files;
    struct err failure;
    double latency_us, device_s;
    char *profile;
    struct buf local; /* what was said about the way to the host */
    struct target_run *run;
    int cut_at; /* cut the line at this numbered line; 0: never */
};

static void restore(void *data) {
    (void)data;
    line_cut(false);
}

static void cut_now(void *data) {
    struct heard *heard = data;
    line_cut(true);
    loop_timer_start(heard->loop, 100, 0, restore, NULL);
}

static void on_event(void *data, const struct runner_event *event) {
    struct heard *heard = data;
    int number;
    heard->samples += event->kind == RUNNER_SAMPLE;
    heard->restarts += event->kind == RUNNER_RESTART;
    heard->other_files += event->kind == RUNNER_RESTART && event->local;
    if (event->kind == RUNNER_RESTART)
        heard->next_line = 0;
    if (event->kind == RUNNER_LOG && event->local)
        buf_printf(&heard->local, "%s\n", event->text);
    else if (event->kind == RUNNER_LOG && sscanf(event->text, "line %d", &number) == 1) {
        heard->lines++;
        heard->wrong += number != heard->next_line;
        heard->next_line = number + 1;
        if (heard->cut_at && number == heard->cut_at)
            loop_timer_start(heard->loop, 0, 0, cut_now, heard);
    }
}

static void on_done(void *data, struct runner_result *result) {
    struct heard *heard = data;
    heard->done++;
    heard->failure = result->failure;
    heard->latency_us = result->latency_us;
    heard->device_s = result->device_s;
    for (size_t i = 0; i < result->artifacts.len; i++)
        heard->profile = mem_strdup(result->artifacts.at[i].path);
    heard->run = NULL;
}

static bool is_done(const struct heard *heard) {
    return heard->done > 0;
}

static void heard_free(struct heard *heard) {
    buf_free(&heard->local);
    free(heard->profile);
    *heard = (struct heard){.loop = heard->loop};
}

/* A host with a login folder of its own, and everything else as at the beginning. */
static struct target *begin(void **state, struct loop *loop, const char *name) {
    free(line.home);
    line = (struct line){.home = path_join(*state, name)};
    assert_true(file_make_dirs(line.home, NULL));
    setenv("HONE_RUNNER", HONE_SOURCE_DIR "/tests/target/fake_runner.py", 1);
    unsetenv("FAKE_SKEW");
    unsetenv("FAKE_NO_SDK");
    struct err err = {0};
    struct target *target = target_open(loop, "user@double", NULL, &err);
    if (!target)
        fail_msg("%s", err.text);
    return target;
}

static void wait_state(struct loop *loop, struct target *target, enum target_state state) {
    for (int i = 0; i < 6000 && target_look(target)->state != state; i++) {
        bool never = false;
        loop_run_until(loop, &never, 10);
    }
    if (target_look(target)->state != state)
        fail_msg("it is: %s", target_look(target)->text);
}

static void wait_done(struct loop *loop, struct heard *heard) {
    for (int i = 0; i < 6000 && !is_done(heard); i++) {
        bool never = false;
        loop_run_until(loop, &never, 10);
    }
    assert_int_equal(heard->done, 1);
}

static void start(struct target *target, struct heard *heard, const char *text) {
    struct runner_job job = {.kernel_path = "kernel.py", .kernel_text = text, .session = "s"};
    struct runner_callbacks callbacks = {on_event, on_done, heard};
    struct err err = {0};
    heard->run = target_start(target, &job, &callbacks, &err);
    assert_non_null(heard->run);
}

/* --------------------------------------------------------------------------------------- tests */

static void a_host_is_prepared_once_and_described(void **state) {
    struct loop *loop = loop_new();
    struct target *target = begin(state, loop, "prepared");
    wait_state(loop, target, TARGET_READY);
    const struct target_status *status = target_look(target);
    assert_string_equal(status->host, "ubuntu@double");
    assert_string_equal(status->release, "Neuron SDK 2.30, nki 0.4.0");
    assert_string_equal(status->text, "connected");
    assert_int_equal(status->cores.len, 2);
    assert_string_equal(status->cores.at[0].state, "free");
    assert_string_equal(status->cores.at[1].state, "busy");
    assert_non_null(strstr(status->cores.at[1].holder, "train.py"));
    assert_int_equal(line.puts, 1);
    assert_false(target_describe(target)->modelled);
    target_free(target);
    target = target_open(loop, "user@double", NULL, NULL);
    wait_state(loop, target, TARGET_READY);
    assert_int_equal(line.puts, 1);
    target_free(target);
    loop_free(loop);
}

static void a_runner_that_is_damaged_there_is_put_again(void **state) {
    struct loop *loop = loop_new();
    struct target *target = begin(state, loop, "damaged");
    wait_state(loop, target, TARGET_READY);
    target_free(target);
    struct buf command = {0};
    buf_printf(&command, "for f in %s/.hone/runner/*; do echo >$f; done", line.home);
    assert_int_equal(system(command.at), 0);
    buf_free(&command);
    target = target_open(loop, "user@double", NULL, NULL);
    wait_state(loop, target, TARGET_READY);
    assert_int_equal(line.puts, 2);
    target_free(target);
    loop_free(loop);
}

static void a_job_runs_and_its_profile_comes_back(void **state) {
    struct loop *loop = loop_new();
    struct target *target = begin(state, loop, "runs");
    struct heard heard = {.loop = loop};
    char *folder = path_join(*state, "runs/local");
    struct runner_job job = {.kernel_path = "kernel.py",
                             .session = "s",
                             .artifact_folder = folder,
                             .kernel_text = "lines 3\nartifact 5000\nresult 12.5\n"};
    struct runner_callbacks callbacks = {on_event, on_done, &heard};
    assert_true(file_make_dirs(folder, NULL));
    assert_non_null(target_start(target, &job, &callbacks, NULL));
    wait_done(loop, &heard);
    assert_int_equal(heard.failure.kind, ERR_NONE);
    assert_true(heard.latency_us == 12.5 && heard.device_s == 0.25);
    assert_int_equal(heard.next_line, 3);
    assert_non_null(heard.profile);
    assert_true(strncmp(heard.profile, folder, strlen(folder)) == 0);
    assert_true(file_exists(heard.profile));
    char *raw = path_join(folder, "events.ndjson");
    assert_true(file_exists(raw));
    free(raw);
    free(folder);
    heard_free(&heard);
    target_free(target);
    loop_free(loop);
}

static void a_damaged_artefact_costs_a_word_and_no_result(void **state) {
    struct loop *loop = loop_new();
    struct target *target = begin(state, loop, "wrong_hash");
    struct heard heard = {.loop = loop};
    struct runner_job job = {.kernel_path = "kernel.py",
                             .session = "s",
                             .artifact_folder = *state,
                             .kernel_text = "artifact 5000\ndamaged\nresult 12.5\n"};
    struct runner_callbacks callbacks = {on_event, on_done, &heard};
    assert_non_null(target_start(target, &job, &callbacks, NULL));
    wait_done(loop, &heard);
    assert_int_equal(heard.failure.kind, ERR_NONE);
    assert_null(heard.profile);
    assert_int_equal(line.gets, 2);
    assert_non_null(strstr(heard.local.at, "profile stays on"));
    heard_free(&heard);
    target_free(target);
    loop_free(loop);
}

static void lines_are_whole_and_in_order_when_the_line_is_cut(void **state) {
    struct loop *loop = loop_new();
    struct target *target = begin(state, loop, "cut");
    struct heard heard = {.loop = loop, .cut_at = 30};
    start(target, &heard, "slowly 60 0.01\nlines 100000\nslowly 30 0.01\nresult 5\n");
    wait_done(loop, &heard);
    assert_int_equal(heard.failure.kind, ERR_NONE);
    assert_int_equal(heard.wrong, 0);
    assert_int_equal(heard.next_line, 100090);
    assert_int_equal(heard.samples, 1);
    assert_int_equal(heard.restarts, 0);
    assert_non_null(strstr(heard.local.at, "lost; the job goes on there"));
    assert_non_null(strstr(heard.local.at, "lines picked up"));
    heard_free(&heard);
    target_free(target);
    loop_free(loop);
}

static void the_job_of_a_hone_that_was_killed_is_found_again(void **state) {
    struct loop *loop = loop_new();
    struct target *target = begin(state, loop, "again");
    char *count = path_join(*state, "again/count");
    struct buf text = {0};
    buf_printf(&text, "count %s\nslowly 100 0.01\nresult 7\n", count);
    struct heard heard = {.loop = loop};
    start(target, &heard, text.at);
    while (heard.next_line < 10) {
        bool never = false;
        loop_run_until(loop, &never, 10);
    }
    target_free(target); /* without a cancel, as if hone was gone */
    heard_free(&heard);
    target = target_open(loop, "user@double", NULL, NULL);
    start(target, &heard, text.at);
    wait_done(loop, &heard);
    assert_int_equal(heard.failure.kind, ERR_NONE);
    assert_int_equal(heard.next_line, 100);
    assert_int_equal(heard.wrong, 0);
    assert_non_null(strstr(heard.local.at, "was already started on user@double"));
    size_t size = 0;
    free(file_read(count, 0, &size, NULL));
    assert_int_equal(size, 1);
    heard_free(&heard);
    struct runner_job job = {.kernel_path = "kernel.py",
                             .kernel_text = text.at,
                             .session = "s",
                             .occasion = "once more"};
    struct runner_callbacks callbacks = {on_event, on_done, &heard};
    assert_non_null(target_start(target, &job, &callbacks, NULL));
    wait_done(loop, &heard);
    free(file_read(count, 0, &size, NULL));
    assert_int_equal(size, 2);
    free(count);
    buf_free(&text);
    heard_free(&heard);
    target_free(target);
    loop_free(loop);
}

static void a_process_that_is_gone_is_begun_once_more(void **state) {
    struct loop *loop = loop_new();
    struct target *target = begin(state, loop, "gone");
    struct heard heard = {.loop = loop};
    start(target, &heard, "lines 5\ndie\nresult 3\n");
    wait_done(loop, &heard);
    assert_int_equal(heard.failure.kind, ERR_NONE);
    assert_int_equal(heard.restarts, 1);
    assert_int_equal(heard.other_files, 0);
    assert_int_equal(heard.next_line, 5);
    assert_int_equal(heard.lines, 10); /* five of each time, and none twice */
    assert_true(heard.latency_us == 3);
    assert_non_null(strstr(heard.local.at, "starting it once more"));
    heard_free(&heard);
    target_free(target);
    loop_free(loop);
}

static void events_that_were_lost_there_are_told_from_the_start(void **state) {
    struct loop *loop = loop_new();
    struct target *target = begin(state, loop, "lost");
    struct heard heard = {.loop = loop};
    start(target, &heard, "forget\nlines 5\ndie\nlines 2\nresult 3\n");
    wait_done(loop, &heard);
    assert_int_equal(heard.failure.kind, ERR_NONE);
    assert_int_equal(heard.other_files, 1);
    assert_int_equal(heard.restarts, 1);
    assert_int_equal(heard.wrong, 0);
    assert_int_equal(heard.lines, 12);
    heard_free(&heard);
    target_free(target);
    loop_free(loop);
}

static bool is_alive(const char *path) {
    size_t size = 0;
    char *text = file_read(path, 0, &size, NULL), name[64];
    snprintf(name, sizeof name, "/proc/%d/stat", text ? atoi(text) : 0);
    free(text);
    text = file_read(name, 0, &size, NULL);
    const char *end = text ? strrchr(text, ')') : NULL;
    bool alive = end && end[2] != 'Z';
    free(text);
    return alive;
}

static void cancel_ends_that_job_alone_also_after_a_cut(void **state) {
    struct loop *loop = loop_new();
    struct target *target = begin(state, loop, "cancel");
    char *mine = path_join(*state, "cancel/mine"), *child = path_join(*state, "cancel/child");
    char *other = path_join(*state, "cancel/other");
    struct buf text = {0};
    struct heard one = {.loop = loop}, two = {.loop = loop};
    buf_printf(&text, "child %s\npid %s\nslowly 1 0.1\nsleep 600\n", child, mine);
    start(target, &one, text.at);
    buf_clear(&text);
    buf_printf(&text, "pid %s\nslowly 1 0.1\nsleep 5\nresult 9\n", other);
    start(target, &two, text.at);
    while (!one.next_line || !two.next_line) {
        bool never = false;
        loop_run_until(loop, &never, 10);
    }
    line_cut(true);
    target_cancel(one.run);
    wait_done(loop, &one);
    assert_int_equal(one.failure.kind, ERR_CANCELLED);
    assert_true(is_alive(mine) && is_alive(other));
    line_cut(false);
    wait_done(loop, &two);
    assert_int_equal(two.failure.kind, ERR_NONE);
    for (int i = 0; i < 1000 && (is_alive(mine) || is_alive(child)); i++) {
        bool never = false;
        loop_run_until(loop, &never, 10);
    }
    assert_false(is_alive(mine) || is_alive(child));
    free(mine);
    free(child);
    free(other);
    buf_free(&text);
    heard_free(&one);
    heard_free(&two);
    target_free(target);
    loop_free(loop);
}

static void jobs_wait_for_the_first_connection_and_fail_without_hope(void **state) {
    struct loop *loop = loop_new();
    struct target *target = begin(state, loop, "first");
    line.cut = true;
    struct heard heard = {.loop = loop};
    start(target, &heard, "result 1\n");
    while (line.opened < 2) {
        bool never = false;
        loop_run_until(loop, &never, 10);
    }
    assert_int_equal(target_look(target)->state, TARGET_CONNECTING);
    assert_int_equal(target_look(target)->entries.len, 1);
    assert_non_null(strstr(heard.local.at, "begins when there is one"));
    line.cut = false;
    wait_done(loop, &heard);
    assert_int_equal(heard.failure.kind, ERR_NONE);
    heard_free(&heard);
    line_cut(true);
    line.refuses = ERR_USAGE;
    line.cut = false;
    wait_state(loop, target, TARGET_FAILED);
    int opened = line.opened;
    start(target, &heard, "result 2\n");
    wait_done(loop, &heard);
    assert_int_equal(heard.failure.kind, ERR_USAGE);
    assert_int_equal(line.opened, opened + 1); /* the person asked for it, so it is tried once */
    heard_free(&heard);
    line.refuses = ERR_NONE;
    target_retry(target);
    wait_state(loop, target, TARGET_READY);
    target_free(target);
    loop_free(loop);
}

/* It says when it tries next, and stops. A person makes it try again. */
static void a_host_that_is_never_reached_is_given_up(void **state) {
    struct loop *loop = loop_new();
    struct err err = {0};
    struct config *config = config_load(NULL, &err);
    assert_true(config_set(config, "host double", "reach_limit_s", "1", &err));
    target_free(begin(state, loop, "never"));
    struct target_options options = {.config = config};
    line.cut = true;
    struct target *target = target_open(loop, "double", &options, &err);
    assert_non_null(target);
    struct heard heard = {.loop = loop};
    start(target, &heard, "result 1\n");
    wait_done(loop, &heard);
    assert_int_equal(heard.failure.kind, ERR_ENVIRONMENT);
    assert_non_null(strstr(heard.failure.text, "was not reached"));
    assert_non_null(strstr(heard.failure.text, "hone host doctor double"));
    assert_int_equal(target_look(target)->state, TARGET_FAILED);
    assert_int_equal(target_look(target)->retry_ms, 0);
    assert_true(line.opened > 1);
    heard_free(&heard);
    line.cut = false;
    target_retry(target);
    wait_state(loop, target, TARGET_READY);
    /* A host that was there once is waited for. */
    line_cut(true);
    bool never = false;
    loop_run_until(loop, &never, 2500);
    assert_int_equal(target_look(target)->state, TARGET_LOST);
    assert_true(target_look(target)->retry_ms > 0);
    target_free(target);
    loop_free(loop);
    config_free(config);
}

static void questions_reach_the_person_and_a_no_is_final(void **state) {
    struct loop *loop = loop_new();
    struct target *target = begin(state, loop, "asks");
    line.asks = "Is this the host? SHA256:abc";
    wait_state(loop, target, TARGET_ASKING);
    assert_non_null(strstr(target_asks(target)->text, "SHA256:abc"));
    target_answer(target, "yes");
    assert_null(target_asks(target));
    wait_state(loop, target, TARGET_READY);
    target_free(target);
    line.asks = "And now?";
    target = target_open(loop, "user@double", NULL, NULL);
    wait_state(loop, target, TARGET_ASKING);
    target_answer(target, NULL);
    wait_state(loop, target, TARGET_FAILED);
    assert_true(target_look(target)->retry_ms == 0);
    target_free(target);
    loop_free(loop);
}

/* The host has a Python of its own: a script that its configuration names. */
static void expect_python(void **state, const char *name, const char *script, const char *words) {
    struct loop *loop = loop_new();
    char *config = path_join(*state, "config/hone/config.ini");
    char *folder = path_folder(config), *python = path_join(*state, name);
    struct buf text = {0};
    buf_printf(&text, "[host pyhost]\npython = %s\n", python);
    assert_true(file_make_dirs(folder, NULL) && file_write(config, text.at, text.len, NULL));
    if (script) {
        assert_true(file_write(python, script, strlen(script), NULL));
        assert_int_equal(chmod(python, 0755), 0);
    }
    struct err err = {0};
    struct config *settings = config_load(NULL, &err);
    if (!settings)
        fail_msg("%s", err.text);
    target_free(begin(state, loop, "python"));
    struct target_options options = {.config = settings};
    struct target *target = target_open(loop, "pyhost", &options, &err);
    assert_non_null(target);
    wait_state(loop, target, TARGET_FAILED);
    if (!strstr(target_look(target)->text, words))
        fail_msg("it says: %s", target_look(target)->text);
    assert_non_null(strstr(target_look(target)->text, "[host pyhost]"));
    target_free(target);
    config_free(settings);
    assert_int_equal(unlink(config), 0);
    buf_free(&text);
    free(python);
    free(folder);
    free(config);
    loop_free(loop);
}

static void without_python_or_numpy_it_says_what_to_do(void **state) {
    expect_python(state, "no_such_python", NULL, "there is no Python 3.8 or newer");
    expect_python(
        state, "py2",
        "#!/bin/sh\necho '@hone {\"event\":\"python\",\"major\":2,\"minor\":7,\"numpy\":1}'"
        "\nexit 1\n",
        "is Python 2.7");
    expect_python(
        state, "bare",
        "#!/bin/sh\necho '@hone {\"event\":\"python\",\"major\":3,\"minor\":9,\"numpy\":0}'"
        "\nexit 1\n",
        "has no numpy");
    expect_python(state, "odd", "#!/bin/sh\nhead -c 100000 /dev/urandom\nexit 1\n",
                  "there is no Python 3.8 or newer");
}

static void a_full_disk_a_skewed_clock_and_a_missing_sdk_are_told(void **state) {
    struct loop *loop = loop_new();
    struct target *target = begin(state, loop, "full");
    line.put_fails = "no space left on the host's disk";
    wait_state(loop, target, TARGET_FAILED);
    assert_non_null(strstr(target_look(target)->text, "no space left"));
    target_free(target);
    target = begin(state, loop, "skewed");
    setenv("FAKE_SKEW", "-18000", 1);
    wait_state(loop, target, TARGET_READY);
    assert_non_null(strstr(target_look(target)->text, "its clock is 5 h behind"));
    line.put_fails = "no space left on the host's disk";
    struct heard heard = {.loop = loop};
    start(target, &heard, "result 1\n");
    wait_done(loop, &heard);
    assert_int_equal(heard.failure.kind, ERR_ENVIRONMENT);
    assert_non_null(strstr(heard.failure.text, "no space left"));
    heard_free(&heard);
    target_free(target);
    target = begin(state, loop, "nosdk");
    setenv("FAKE_NO_SDK", "1", 1);
    wait_state(loop, target, TARGET_READY);
    assert_non_null(strstr(target_look(target)->text, "no Neuron environment: none was found"));
    unsetenv("FAKE_NO_SDK");
    target_free(target);
    loop_free(loop);
}

static void garbage_in_the_output_is_a_log(void **state) {
    struct loop *loop = loop_new();
    struct target *target = begin(state, loop, "garbage");
    struct heard heard = {.loop = loop};
    start(target, &heard, "noise 2000000\nresult 4\n");
    wait_done(loop, &heard);
    assert_int_equal(heard.failure.kind, ERR_NONE);
    assert_true(heard.latency_us == 4);
    heard_free(&heard);
    target_free(target);
    loop_free(loop);
}

/* 70 files that nothing names are not the task's. */
static void of_many_files_beside_the_reference_only_the_task_s_go(void **state) {
    struct loop *loop = loop_new();
    struct target *target = begin(state, loop, "many");
    char name[64];
    for (int i = 0; i < 70; i++) {
        snprintf(name, sizeof name, "many_task/m%d.py", i);
        free(put(state, name, "x = 1\n"));
    }
    char *reference = put(state, "many_task/reference.py", "import m1\n");
    struct heard heard = {.loop = loop};
    struct runner_job job = {
        .kernel_path = "kernel.py", .kernel_text = "result 1\n", .reference_path = reference};
    struct runner_callbacks callbacks = {on_event, on_done, &heard};
    assert_non_null(target_start(target, &job, &callbacks, NULL));
    wait_done(loop, &heard);
    assert_int_equal(heard.failure.kind, ERR_NONE);
    assert_int_equal(line.puts, 4); /* runner, reference, m1, job */
    heard_free(&heard);
    free(reference);
    target_free(target);
    loop_free(loop);
}

/* Packages, data and what lies beside the kernel; what is too large is named before the host
 * fails. */
static void all_that_the_task_is_made_of_goes(void **state) {
    struct loop *loop = loop_new();
    struct target *target = begin(state, loop, "closure");
    char *kernel = put(state, "closure/kernel.py", "x = 1\n");
    char *reference = put(state, "closure/checks/reference.py",
                          "import common.maths\nW = np.load('weights.npy'), open('huge.bin')\n");
    free(put(state, "closure/tiles.py", "SIZE = 128\n"));
    free(put(state, "closure/checks/common/__init__.py", "from . import deeper\n"));
    free(put(state, "closure/checks/common/maths.py", "from .deeper import X\n"));
    free(put(state, "closure/checks/common/deeper.py", "X = 1\n"));
    free(put(state, "closure/checks/weights.npy", "1 2 3"));
    char *huge = put(state, "closure/checks/huge.bin", "x");
    assert_int_equal(truncate(huge, (off_t)20 << 20), 0);
    struct heard heard = {.loop = loop};
    struct runner_job job = {.kernel_path = kernel,
                             .kernel_text = "import tiles\n'''\nresult 1\n'''\n",
                             .reference_path = reference};
    struct runner_callbacks callbacks = {on_event, on_done, &heard};
    assert_non_null(target_start(target, &job, &callbacks, NULL));
    wait_done(loop, &heard);
    assert_int_equal(heard.failure.kind, ERR_NONE);
    assert_int_equal(line.puts, 8); /* runner, reference, 3 of common, weights, tiles, job */
    assert_non_null(strstr(heard.local.at, "huge.bin (21.0 MB) belongs to the task but does not"));
    heard_free(&heard);
    free(huge);
    free(reference);
    free(kernel);
    target_free(target);
    loop_free(loop);
}

static void the_task_s_files_go_along_once(void **state) {
    struct loop *loop = loop_new();
    struct target *target = begin(state, loop, "files");
    char *reference = put(state, "files_task/reference.py", "import help\n");
    free(put(state, "files_task/help.py", "x = 1\n"));
    struct heard heard = {.loop = loop};
    struct runner_job job = {
        .kernel_path = "kernel.py", .kernel_text = "result 1\n", .reference_path = reference};
    struct runner_callbacks callbacks = {on_event, on_done, &heard};
    assert_non_null(target_start(target, &job, &callbacks, NULL));
    wait_done(loop, &heard);
    assert_int_equal(heard.failure.kind, ERR_NONE);
    assert_int_equal(line.puts, 4); /* runner, reference, help, job */
    heard_free(&heard);
    job.kernel_text = "result 2\n";
    assert_non_null(target_start(target, &job, &callbacks, NULL));
    wait_done(loop, &heard);
    assert_int_equal(line.puts, 5);
    heard_free(&heard);
    free(reference);
    target_free(target);
    loop_free(loop);
}

static void a_target_may_be_freed_at_any_moment(void **state) {
    struct loop *loop = loop_new();
    for (uint64_t ms = 1; ms < 600; ms += 75) {
        struct target *target = begin(state, loop, "freed");
        struct heard heard = {.loop = loop};
        start(target, &heard, "slowly 20 0.01\nartifact 100000\nresult 1\n");
        bool never = false;
        loop_run_until(loop, &never, ms);
        target_free(target);
        loop_run_until(loop, &never, 1);
        heard_free(&heard);
    }
    loop_free(loop);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_is_prepared_once_and_described),
        cmocka_unit_test(a_runner_that_is_damaged_there_is_put_again),
        cmocka_unit_test(a_job_runs_and_its_profile_comes_back),
        cmocka_unit_test(a_damaged_artefact_costs_a_word_and_no_result),
        cmocka_unit_test(lines_are_whole_and_in_order_when_the_line_is_cut),
        cmocka_unit_test(the_job_of_a_hone_that_was_killed_is_found_again),
        cmocka_unit_test(a_process_that_is_gone_is_begun_once_more),
        cmocka_unit_test(events_that_were_lost_there_are_told_from_the_start),
        cmocka_unit_test(cancel_ends_that_job_alone_also_after_a_cut),
        cmocka_unit_test(jobs_wait_for_the_first_connection_and_fail_without_hope),
        cmocka_unit_test(a_host_that_is_never_reached_is_given_up),
        cmocka_unit_test(questions_reach_the_person_and_a_no_is_final),
        cmocka_unit_test(without_python_or_numpy_it_says_what_to_do),
        cmocka_unit_test(a_full_disk_a_skewed_clock_and_a_missing_sdk_are_told),
        cmocka_unit_test(garbage_in_the_output_is_a_log),
        cmocka_unit_test(of_many_files_beside_the_reference_only_the_task_s_go),
        cmocka_unit_test(all_that_the_task_is_made_of_goes),
        cmocka_unit_test(the_task_s_files_go_along_once),
        cmocka_unit_test(a_target_may_be_freed_at_any_moment),
    };
    int failed = cmocka_run_group_tests(tests, make_folder, remove_folder);
    free(line.home);
    return failed;
}
