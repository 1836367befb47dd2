/* SPDX-License-Identifier: Apache-2.0 */
/* The scene of transport tests: lab, server, connection, and records of what is reported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "transport/scene.h"

static void on_ready(void *data) {
    struct scene *scene = data;
    assert_false(scene->ready);
    scene->ready = true;
}

static void on_question(void *data, const struct transport_question *question) {
    struct scene *scene = data;
    buf_printf(&scene->questions, "%s\n", question->text);
    scene->last_ask = question->ask;
    size_t turn = (size_t)scene->asked++;
    transport_answer(scene->transport,
                     turn < COUNT_OF(scene->answers) ? scene->answers[turn] : NULL);
}

static void on_note(void *data, const char *text) {
    struct scene *scene = data;
    buf_printf(&scene->notes, "%s\n", text);
}

static void on_closed(void *data, const struct err *why) {
    struct scene *scene = data;
    assert_false(scene->closed);
    scene->closed = true;
    scene->why = *why;
}

void scene_begin(struct scene *scene, const char *way, const struct sshd_options *options) {
    *scene = (struct scene){.way = way};
    scene->lab = lab_new();
    scene->loop = loop_new();
    if (!strcmp(way, "local")) {
        scene->home = lab_path(scene->lab, "machine");
        assert_int_equal(mkdir(scene->home, 0700), 0);
    } else {
        scene->sshd = sshd_start(scene->lab, SCENE_HOST, options);
        scene->home = mem_strdup(sshd_home(scene->sshd));
    }
}

void scene_disconnect(struct scene *scene) {
    transport_close(scene->transport);
    scene->transport = NULL;
    scene->ready = scene->closed = false;
    scene->asked = 0;
    scene->why = (struct err){0};
    buf_free(&scene->notes);
    buf_free(&scene->questions);
}

void scene_end(struct scene *scene) {
    scene_disconnect(scene);
    loop_free(scene->loop);
    lab_free(scene->lab);
    free(scene->home);
}

void scene_wait(struct scene *scene, const bool *done) {
    if (loop_run_until(scene->loop, done, SCENE_PATIENCE_MS))
        return;
    char *log = scene->sshd ? sshd_log(scene->sshd) : mem_strdup("");
    fail_msg("nothing happened for %d ms; the server's log:\n%s", SCENE_PATIENCE_MS, log);
}

bool scene_connect(struct scene *scene, const struct transport_host *host) {
    struct transport_callbacks callbacks = {on_ready, on_question, on_note, on_closed, scene};
    struct transport_host to = host ? *host : (struct transport_host){0};
    struct err err = {0};
    if (!strcmp(scene->way, "local")) {
        scene->transport = transport_open_local(scene->loop, scene->home, &callbacks);
    } else {
        to.name = to.name ? to.name : SCENE_HOST;
        to.client = to.client ? to.client : scene->way;
        to.ssh_config = to.ssh_config ? to.ssh_config : lab_ssh_config(scene->lab);
        to.known_hosts = to.known_hosts ? to.known_hosts : lab_known_hosts(scene->lab);
        scene->transport = transport_open_ssh(scene->loop, &to, &callbacks, &err);
    }
    if (!scene->transport)
        fail_msg("not opened: %s", err.text);
    uint64_t limit = clock_monotonic_ns() + SCENE_PATIENCE_MS * 1000000ull;
    while (!scene->ready && !scene->closed && clock_monotonic_ns() < limit) {
        bool never = false;
        loop_run_until(scene->loop, &never, 5);
    }
    assert_true(scene->ready || scene->closed);
    return scene->ready && !scene->closed;
}

/* ------------------------------------------------------------------------------------ commands */

static void on_output(void *data, enum loop_stream stream, struct str text, bool whole) {
    struct outcome *outcome = data;
    struct buf *to = stream == LOOP_STDERR ? &outcome->err : &outcome->out;
    assert_false(outcome->done);
    buf_add(to, text.at, text.len);
    buf_putc(to, '|');
    outcome->lines += whole;
    outcome->pieces += !whole;
}

static void on_raw(void *data, enum loop_stream stream, struct str text, bool whole) {
    struct outcome *outcome = data;
    assert_true(whole);
    buf_add(stream == LOOP_STDERR ? &outcome->err : &outcome->out, text.at, text.len);
}

static void on_exit_of_command(void *data, const struct transport_exit *result) {
    struct outcome *outcome = data;
    assert_false(outcome->done);
    outcome->exit = *result;
    outcome->done = true;
}

struct transport_command_spec scene_spec(struct outcome *outcome, const char *const *argv,
                                         enum loop_output output) {
    *outcome = (struct outcome){0};
    return (struct transport_command_spec){.argv = argv,
                                           .out = output,
                                           .err = output,
                                           .on_output = output == LOOP_RAW ? on_raw : on_output,
                                           .on_exit = on_exit_of_command,
                                           .data = outcome};
}

void scene_start(struct scene *scene, struct outcome *outcome,
                 const struct transport_command_spec *spec) {
    struct err err = {0};
    outcome->command = transport_command_start(scene->transport, spec, &err);
    if (!outcome->command)
        fail_msg("not started: %s", err.text);
}

void scene_shell(struct scene *scene, struct outcome *outcome, const char *script) {
    const char *argv[] = {"sh", "-c", script, NULL};
    struct transport_command_spec spec = scene_spec(outcome, argv, LOOP_LINES);
    scene_start(scene, outcome, &spec);
    scene_wait(scene, &outcome->done);
}

void outcome_free(struct outcome *outcome) {
    buf_free(&outcome->out);
    buf_free(&outcome->err);
}

/* -------------------------------------------------------------------------------------- copies */

struct copied {
    struct err *why;
    bool done;
};

static void on_copied(void *data, const struct err *why) {
    struct copied *copied = data;
    *copied->why = *why;
    copied->done = true;
}

void scene_copy(struct scene *scene, const struct transport_copy_spec *spec, struct err *why) {
    struct copied copied = {.why = why};
    struct transport_copy_spec own = *spec;
    own.on_done = on_copied;
    own.context = &copied;
    struct err err = {0};
    if (!transport_copy_start(scene->transport, &own, &err))
        fail_msg("not started: %s", err.text);
    scene_wait(scene, &copied.done);
}

char *scene_home_path(const struct scene *scene, const char *name) {
    return path_join(scene->home, name);
}

size_t count_names(const char *folder, const char *prefix) {
    size_t count = 0;
    DIR *dir = opendir(folder);
    struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        count += entry->d_name[0] != '.' && strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    if (dir)
        closedir(dir);
    return count;
}
