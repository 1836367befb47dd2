/* SPDX-License-Identifier: Apache-2.0 */
/* behaviour WAY: what all transports have in common, over libssh2, over the system's ssh and on
 * this machine. What only connections have is in connections.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transport/scene.h"

#define BIG ((size_t)3 << 20)

static int connect_scene(void **state) {
    struct scene *scene = *state;
    if (!scene_connect(scene, NULL))
        fail_msg("no connection: %s", scene->why.text);
    return 0;
}

static int disconnect_scene(void **state) {
    scene_disconnect(*state);
    return 0;
}

/* ------------------------------------------------------------------------------------ commands */

static void a_command_gives_its_output_and_its_status(void **state) {
    struct outcome outcome;
    scene_shell(*state, &outcome, "echo one; echo two >&2; printf three; exit 7");
    assert_string_equal(outcome.out.at, "one|three|");
    assert_string_equal(outcome.err.at, "two|");
    assert_int_equal(outcome.exit.end, TRANSPORT_EXITED);
    assert_int_equal(outcome.exit.status, 7);
    outcome_free(&outcome);
}

static void a_command_starts_in_the_home_of_its_machine(void **state) {
    struct scene *scene = *state;
    struct outcome outcome;
    struct buf expected = {0};
    char *home = realpath(scene->home, NULL);
    buf_printf(&expected, "%s|%s|", home, scene->home);
    scene_shell(scene, &outcome, "pwd -P; echo \"$HOME\"");
    assert_string_equal(outcome.out.at, expected.at);
    free(home);
    buf_free(&expected);
    outcome_free(&outcome);
}

static void arguments_arrive_byte_for_byte(void **state) {
    char all[256], controls[34] = {0};
    for (int i = 1; i < 256; i++)
        all[i - 1] = (char)i;
    all[255] = 0;
    for (int i = 1; i < 33; i++)
        controls[i - 1] = (char)i;
    const char *argv[] = {
        "printf", "%s\\001", "plain", "",       "two words", "it's \"$HOME\" `id` \\n",
        "*",      "~",       "-n",    "a\nb\n", "!x!",       "%s",
        "#",      "{a,b}",   all,     controls, "\\",        "tail\n",
        NULL};
    struct buf expected = {0};
    for (size_t i = 2; argv[i]; i++)
        buf_printf(&expected, "%s\001", argv[i]);
    struct outcome outcome;
    struct transport_command_spec spec = scene_spec(&outcome, argv, LOOP_RAW);
    scene_start(*state, &outcome, &spec);
    scene_wait(*state, &outcome.done);
    assert_int_equal(outcome.exit.status, 0);
    assert_int_equal(outcome.out.len, expected.len);
    assert_memory_equal(outcome.out.at, expected.at, expected.len);
    buf_free(&expected);
    outcome_free(&outcome);
}

static void input_arrives_whole_and_ends(void **state) {
    const char *argv[] = {"cat", NULL};
    struct outcome outcome;
    char *data = mem_alloc(1, BIG);
    for (size_t i = 0; i < BIG; i++)
        data[i] = (char)(i * 7 + i / 251);
    struct transport_command_spec spec = scene_spec(&outcome, argv, LOOP_RAW);
    spec.input = data;
    spec.input_len = BIG;
    scene_start(*state, &outcome, &spec);
    scene_wait(*state, &outcome.done);
    assert_int_equal(outcome.out.len, BIG);
    assert_memory_equal(outcome.out.at, data, BIG);
    free(data);
    outcome_free(&outcome);
}

static void a_command_without_input_reads_an_end(void **state) {
    struct outcome outcome;
    scene_shell(*state, &outcome, "cat; echo over");
    assert_string_equal(outcome.out.at, "over|");
    outcome_free(&outcome);
}

static void input_can_follow_later(void **state) {
    struct scene *scene = *state;
    const char *argv[] = {"sh", "-c", "read -r a; echo \"got $a\"; cat", NULL};
    struct outcome outcome;
    struct transport_command_spec spec = scene_spec(&outcome, argv, LOOP_LINES);
    spec.keep_input = true;
    scene_start(scene, &outcome, &spec);
    assert_true(transport_command_write(outcome.command, "first\n", 6));
    while (!outcome.lines) {
        bool never = false;
        loop_run_until(scene->loop, &never, 5);
    }
    assert_true(transport_command_write(outcome.command, "second\n", 7));
    transport_command_close_input(outcome.command);
    assert_false(transport_command_write(outcome.command, "third\n", 6));
    scene_wait(scene, &outcome.done);
    assert_string_equal(outcome.out.at, "got first|second|");
    outcome_free(&outcome);
}

static void a_signal_is_told(void **state) {
    struct outcome outcome;
    scene_shell(*state, &outcome, "kill -9 $$");
    assert_int_equal(outcome.exit.end, TRANSPORT_SIGNALLED);
    assert_string_equal(outcome.exit.signal, "KILL");
    outcome_free(&outcome);
}

static void a_program_that_is_not_there_is_a_status(void **state) {
    const char *argv[] = {"no-such-program-here", "x", NULL};
    struct outcome outcome;
    struct transport_command_spec spec = scene_spec(&outcome, argv, LOOP_LINES);
    scene_start(*state, &outcome, &spec);
    scene_wait(*state, &outcome.done);
    assert_int_equal(outcome.exit.end, TRANSPORT_EXITED);
    /* 126 where PATH has a folder that this user may not look into. */
    assert_in_range(outcome.exit.status, 126, 127);
    assert_non_null(strstr(outcome.err.at, "no-such-program-here"));
    outcome_free(&outcome);
}

static void a_killed_command_says_so(void **state) {
    struct scene *scene = *state;
    const char *argv[] = {"sh", "-c", "echo here; exec sleep 1000", NULL};
    struct outcome outcome;
    struct transport_command_spec spec = scene_spec(&outcome, argv, LOOP_LINES);
    scene_start(scene, &outcome, &spec);
    while (!outcome.lines) {
        bool never = false;
        loop_run_until(scene->loop, &never, 5);
    }
    transport_command_kill(outcome.command);
    scene_wait(scene, &outcome.done);
    assert_int_equal(outcome.exit.end, TRANSPORT_KILLED);
    outcome_free(&outcome);
    scene_shell(scene, &outcome, "echo still here"); /* the connection survives */
    assert_string_equal(outcome.out.at, "still here|");
    outcome_free(&outcome);
}

struct counter {
    long long next;
    bool done, wrong;
};

static void count_line(void *data, enum loop_stream stream, struct str text, bool whole) {
    struct counter *counter = data;
    long long number;
    (void)stream;
    if (!whole || !str_to_int(text, &number) || number != counter->next++)
        counter->wrong = true;
}

static void count_over(void *data, const struct transport_exit *result) {
    struct counter *counter = data;
    counter->done = result->end == TRANSPORT_EXITED;
}

static void a_hundred_thousand_lines_come_in_order(void **state) {
    struct scene *scene = *state;
    const char *argv[] = {"seq", "0", "99999", NULL};
    struct counter counter = {0};
    struct transport_command_spec spec = {.argv = argv,
                                          .out = LOOP_LINES,
                                          .err = LOOP_LINES,
                                          .on_output = count_line,
                                          .on_exit = count_over,
                                          .data = &counter};
    struct err err;
    assert_non_null(transport_command_start(scene->transport, &spec, &err));
    scene_wait(scene, &counter.done);
    assert_false(counter.wrong);
    assert_int_equal(counter.next, 100000);
}

static void a_long_line_comes_in_pieces(void **state) {
    const char *argv[] = {"sh", "-c", "printf %0100d 0; echo; echo end", NULL};
    struct outcome outcome;
    struct transport_command_spec spec = scene_spec(&outcome, argv, LOOP_LINES);
    spec.max_line = 30;
    scene_start(*state, &outcome, &spec);
    scene_wait(*state, &outcome.done);
    assert_true(outcome.pieces >= 3);
    assert_non_null(strstr(outcome.out.at, "|end|"));
    size_t zeros = 0;
    for (size_t i = 0; i < outcome.out.len; i++)
        zeros += outcome.out.at[i] == '0';
    assert_int_equal(zeros, 100);
    outcome_free(&outcome);
}

/* The scene's server takes three sessions at once. */
static void what_the_server_does_not_take_now_waits(void **state) {
    struct scene *scene = *state;
    struct outcome outcomes[12];
    char script[64];
    for (int i = 0; i < 12; i++) {
        snprintf(script, sizeof script, "sleep 0.0%d; cat; echo %d", i % 4, i);
        const char *argv[] = {"sh", "-c", script, NULL};
        struct transport_command_spec spec = scene_spec(&outcomes[i], argv, LOOP_LINES);
        spec.input = "in\n";
        spec.input_len = 3;
        scene_start(scene, &outcomes[i], &spec);
    }
    for (int i = 0; i < 12; i++) {
        snprintf(script, sizeof script, "in|%d|", i);
        scene_wait(scene, &outcomes[i].done);
        assert_int_equal(outcomes[i].exit.end, TRANSPORT_EXITED);
        assert_string_equal(outcomes[i].out.at, script);
        outcome_free(&outcomes[i]);
    }
}

static void never_output(void *data, enum loop_stream stream, struct str text, bool whole) {
    (void)data;
    (void)stream;
    (void)text;
    (void)whole;
}

static void never_exit(void *data, const struct transport_exit *result) {
    (void)data;
    (void)result;
    fail_msg("a callback after transport_close");
}

static void closing_is_silent(void **state) {
    struct scene *scene = *state;
    const char *argv[] = {"sh", "-c", "while :; do echo x; sleep 0.01; done", NULL};
    struct transport_command_spec spec = {
        .argv = argv, .out = LOOP_LINES, .on_output = never_output, .on_exit = never_exit};
    struct err err;
    for (int i = 0; i < 3; i++)
        assert_non_null(transport_command_start(scene->transport, &spec, &err));
    bool never = false;
    loop_run_until(scene->loop, &never, 50);
    transport_close(scene->transport);
    scene->transport = NULL;
    loop_run_until(scene->loop, &never, 50);
}

/* -------------------------------------------------------------------------------------- copies */

static void fill(char *data, size_t size) {
    uint32_t x = 12345;
    for (size_t i = 0; i < size; i++) {
        x = x * 1664525u + 1013904223u;
        data[i] = (char)(x >> 24);
    }
}

static void a_file_goes_there_and_comes_back(void **state) {
    struct scene *scene = *state;
    char *data = mem_alloc(1, BIG), *local = lab_path(scene->lab, "big");
    char *back = lab_path(scene->lab, "made/of/new/back");
    struct err why, err;
    size_t size;
    struct stat st;
    fill(data, BIG);
    assert_true(file_write(local, data, BIG, &err));
    scene_copy(scene,
               &(struct transport_copy_spec){.kind = TRANSPORT_PUT,
                                             .local = local,
                                             .remote = "a/b c/it's",
                                             .make_dirs = true,
                                             .mode = 0640},
               &why);
    assert_string_equal(why.text, "");
    char *far = scene_home_path(scene, "a/b c/it's"), *folder = scene_home_path(scene, "a/b c");
    char *there = file_read(far, 0, &size, &err);
    assert_non_null(there);
    assert_int_equal(size, BIG);
    assert_memory_equal(there, data, BIG);
    assert_int_equal(stat(far, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(stat(folder, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    free(there);
    scene_copy(scene,
               &(struct transport_copy_spec){.kind = TRANSPORT_GET,
                                             .local = back,
                                             .remote = "a/b c/it's",
                                             .make_dirs = true,
                                             .max_bytes = BIG},
               &why);
    assert_string_equal(why.text, "");
    there = file_read(back, 0, &size, &err);
    assert_non_null(there);
    assert_int_equal(size, BIG);
    assert_memory_equal(there, data, BIG);
    assert_int_equal(count_names(folder, ""), 1); /* nothing beside it */
    free(there);
    free(far);
    free(folder);
    free(back);
    free(local);
    free(data);
}

static void data_replaces_a_file_whole(void **state) {
    struct scene *scene = *state;
    struct err why, err;
    size_t size;
    char *far = scene_home_path(scene, "note");
    for (int i = 0; i < 3; i++) {
        const char *text = i == 0 ? "the first, longer one" : i == 1 ? "second" : "";
        scene_copy(scene,
                   &(struct transport_copy_spec){
                       .kind = TRANSPORT_PUT, .remote = "note", .data = text, .size = strlen(text)},
                   &why);
        assert_int_equal(why.kind, ERR_NONE);
        char *there = file_read(far, 0, &size, &err);
        assert_string_equal(there, text);
        free(there);
    }
    struct stat st;
    assert_int_equal(stat(far, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    free(far);
}

static void a_copy_that_fails_says_why_and_changes_nothing(void **state) {
    struct scene *scene = *state;
    struct err why, err;
    char *local = lab_path(scene->lab, "kept"), *far = scene_home_path(scene, "twenty");
    assert_true(file_write(local, "old", 3, &err));
    assert_true(file_write(far, "12345678901234567890", 20, &err));
    scene_copy(
        scene,
        &(struct transport_copy_spec){.kind = TRANSPORT_GET, .local = local, .remote = "no/such"},
        &why);
    assert_int_equal(why.kind, ERR_ENVIRONMENT);
    assert_non_null(strstr(why.text, "no/such"));
    scene_copy(scene,
               &(struct transport_copy_spec){
                   .kind = TRANSPORT_GET, .local = local, .remote = "twenty", .max_bytes = 19},
               &why);
    assert_int_equal(why.kind, ERR_ENVIRONMENT);
    assert_non_null(strstr(why.text, "limit"));
    scene_copy(scene,
               &(struct transport_copy_spec){
                   .kind = TRANSPORT_PUT, .data = "x", .size = 1, .remote = "no/such/folder"},
               &why);
    assert_int_equal(why.kind, ERR_ENVIRONMENT);
    assert_non_null(strstr(why.text, "no/such/folder"));
    scene_copy(scene,
               &(struct transport_copy_spec){
                   .kind = TRANSPORT_PUT, .local = "/no/such/file", .remote = "twenty"},
               &why);
    assert_int_not_equal(why.kind, ERR_NONE);
    char *kept = file_read(local, 0, NULL, &err), *twenty = file_read(far, 0, NULL, &err);
    assert_string_equal(kept, "old");
    assert_string_equal(twenty, "12345678901234567890");
    assert_int_equal(count_names(scene->home, "twenty"), 1);
    assert_int_equal(count_names(lab_folder(scene->lab), "kept"), 1);
    free(kept);
    free(twenty);
    free(local);
    free(far);
}

struct cancelled {
    struct scene *scene;
    struct transport_copy *copy;
    struct err why;
    bool done;
};

static void cancelled_done(void *data, const struct err *why) {
    struct cancelled *cancelled = data;
    cancelled->why = *why;
    cancelled->done = true;
}

static void a_cancelled_copy_leaves_nothing(void **state) {
    struct scene *scene = *state;
    struct cancelled cancelled = {.scene = scene};
    struct err err;
    size_t size = (size_t)24 << 20;
    char *data = mem_alloc(1, size);
    struct transport_copy_spec spec = {.kind = TRANSPORT_PUT,
                                       .remote = "never",
                                       .data = data,
                                       .size = size,
                                       .on_done = cancelled_done,
                                       .context = &cancelled};
    cancelled.copy = transport_copy_start(scene->transport, &spec, &err);
    assert_non_null(cancelled.copy);
    bool never = false;
    loop_run_until(scene->loop, &never, 3);
    if (!cancelled.done)
        transport_copy_cancel(cancelled.copy);
    scene_wait(scene, &cancelled.done);
    assert_int_equal(cancelled.why.kind, ERR_CANCELLED);
    assert_int_equal(count_names(scene->home, "never"), 0);
    free(data);
}

static void many_copies_at_once_do_not_mix(void **state) {
    struct scene *scene = *state;
    struct cancelled all[16] = {0};
    struct err err;
    char names[16][16], texts[16][64];
    for (int i = 0; i < 16; i++) {
        snprintf(names[i], sizeof names[i], "many%d", i);
        snprintf(texts[i], sizeof texts[i], "the text of file number %d", i);
        struct transport_copy_spec spec = {.kind = TRANSPORT_PUT,
                                           .remote = names[i],
                                           .data = texts[i],
                                           .size = strlen(texts[i]),
                                           .on_done = cancelled_done,
                                           .context = &all[i]};
        assert_non_null(transport_copy_start(scene->transport, &spec, &err));
    }
    for (int i = 0; i < 16; i++) {
        scene_wait(scene, &all[i].done);
        assert_string_equal(all[i].why.text, "");
        char *path = scene_home_path(scene, names[i]), *there = file_read(path, 0, NULL, &err);
        assert_string_equal(there, texts[i]);
        free(there);
        free(path);
    }
}

#define ON_CONNECTION(test) cmocka_unit_test_setup_teardown(test, connect_scene, disconnect_scene)

int main(int argc, char **argv) {
    if (lab_missing()) {
        fprintf(stderr, "skipped: %s\n", lab_missing());
        return 77;
    }
    struct CMUnitTest tests[] = {
        ON_CONNECTION(a_command_gives_its_output_and_its_status),
        ON_CONNECTION(a_command_starts_in_the_home_of_its_machine),
        ON_CONNECTION(arguments_arrive_byte_for_byte),
        ON_CONNECTION(input_arrives_whole_and_ends),
        ON_CONNECTION(a_command_without_input_reads_an_end),
        ON_CONNECTION(input_can_follow_later),
        ON_CONNECTION(a_signal_is_told),
        ON_CONNECTION(a_program_that_is_not_there_is_a_status),
        ON_CONNECTION(a_killed_command_says_so),
        ON_CONNECTION(a_hundred_thousand_lines_come_in_order),
        ON_CONNECTION(a_long_line_comes_in_pieces),
        ON_CONNECTION(what_the_server_does_not_take_now_waits),
        ON_CONNECTION(closing_is_silent),
        ON_CONNECTION(a_file_goes_there_and_comes_back),
        ON_CONNECTION(data_replaces_a_file_whole),
        ON_CONNECTION(a_copy_that_fails_says_why_and_changes_nothing),
        ON_CONNECTION(a_cancelled_copy_leaves_nothing),
        ON_CONNECTION(many_copies_at_once_do_not_mix),
    };
    struct scene scene;
    const char *way = argc > 1 ? argv[1] : "local";
    scene_begin(&scene, way, &(struct sshd_options){.config = "MaxSessions 3\n"});
    for (size_t i = 0; i < COUNT_OF(tests); i++)
        tests[i].initial_state = &scene;
    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scene_end(&scene);
    return failed;
}
