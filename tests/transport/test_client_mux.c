/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions over an ssh client's control socket, whose other end is played here: what it may say,
 * and what it should never say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "transport/client/own.h"

#define PATIENCE_MS 60000

/* The transport has a way of its own, which carries only the mux. */
struct stage {
    struct loop *loop;
    struct mux *mux;
    struct transport *transport;
    char folder[64], path[96];
    int listener, fd;
    bool ready, gone, ended;
    char why[200];
    struct transport_exit exit;
    struct buf out;
};

static void on_ready(void *data) {
    struct stage *stage = data;
    stage->ready = true;
}

static void on_gone(void *data, const char *why) {
    struct stage *stage = data;
    assert_false(stage->gone);
    stage->gone = true;
    snprintf(stage->why, sizeof stage->why, "%s", why);
}

static struct stage *stage_of(const struct transport *transport) {
    union {
        const char *in;
        char *out;
    } both = {transport->route.name};
    return (struct stage *)(void *)both.out;
}

static void open_way(struct transport *transport) {
    transport_ready(transport);
}

static void close_way(struct transport *transport) {
    (void)transport;
}

static void start_command(struct transport_command *command) {
    mux_command_start(stage_of(command->transport)->mux, command);
}

static const struct transport_ops ops = {.open = open_way,
                                         .close = close_way,
                                         .command_start = start_command,
                                         .command_input = mux_command_input,
                                         .command_kill = mux_command_kill,
                                         .command_drop = mux_command_drop};

static void turn(struct stage *stage, uint64_t ms) {
    bool never = false;
    loop_run_until(stage->loop, &never, ms);
}

static void begin(struct stage *stage) {
    *stage = (struct stage){0};
    snprintf(stage->folder, sizeof stage->folder, "/tmp/hone-mux.XXXXXX");
    assert_non_null(mkdtemp(stage->folder));
    snprintf(stage->path, sizeof stage->path, "%s/c", stage->folder);
    stage->loop = loop_new();
    struct mux_callbacks callbacks = {on_ready, on_gone, stage};
    assert_null(mux_open(stage->loop, stage->path, &callbacks)); /* nobody is there yet */
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, stage->path, strlen(stage->path) + 1);
    stage->listener = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(stage->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(stage->listener, 1), 0);
    stage->mux = mux_open(stage->loop, stage->path, &callbacks);
    assert_non_null(stage->mux);
    stage->fd = accept(stage->listener, NULL, NULL);
    assert_true(stage->fd >= 0);
    static const struct transport_callbacks none = {0};
    struct transport_route route = {.name = (const char *)stage};
    stage->transport = transport_new(stage->loop, &(struct transport_ways){.ops = &ops}, &none,
                                     arena_new(), &route);
}

static void end(struct stage *stage) {
    struct err err;
    transport_close(stage->transport);
    mux_free(stage->mux);
    loop_free(stage->loop);
    close(stage->fd);
    close(stage->listener);
    buf_free(&stage->out);
    assert_true(file_remove_tree(stage->folder, &err));
}

/* ------------------------------------------------------------------------- what the other says */

static void put_u32(struct buf *out, uint32_t value) {
    char bytes[4] = {(char)(value >> 24), (char)(value >> 16), (char)(value >> 8), (char)value};
    buf_add(out, bytes, 4);
}

static void put_text(struct buf *out, const char *text) {
    put_u32(out, (uint32_t)strlen(text));
    buf_puts(out, text);
}

static void say(struct stage *stage, struct buf *body) {
    struct buf packet = {0};
    put_u32(&packet, (uint32_t)body->len);
    buf_add(&packet, body->at, body->len);
    assert_int_equal(send(stage->fd, packet.at, packet.len, MSG_NOSIGNAL), (ssize_t)packet.len);
    buf_free(&packet);
    buf_free(body);
}

static void say_mux(struct stage *stage, uint32_t number, uint32_t value) {
    struct buf body = {0};
    put_u32(&body, number);
    put_u32(&body, value);
    say(stage, &body);
}

/* A message of the connection protocol to hone's channel 0, which the caller completes. */
static struct buf message(int number) {
    struct buf body = {0};
    buf_putc(&body, 0);
    buf_putc(&body, (char)number);
    put_u32(&body, 0);
    return body;
}

static void become_proxy(struct stage *stage) {
    say_mux(stage, 1, 4);
    say_mux(stage, 0x8000000f, 0);
    assert_true(loop_run_until(stage->loop, &stage->ready, PATIENCE_MS));
}

static void on_output(void *data, enum loop_stream stream, struct str text, bool whole) {
    struct stage *stage = data;
    (void)whole;
    buf_printf(&stage->out, "%d:" STR_FMT "|", stream == LOOP_STDERR, STR_ARG(text));
}

static void on_exit_of_command(void *data, const struct transport_exit *result) {
    struct stage *stage = data;
    stage->exit = *result;
    stage->ended = true;
}

static struct transport_command *start(struct stage *stage) {
    const char *argv[] = {"x", NULL};
    struct transport_command_spec spec = {.argv = argv,
                                          .out = LOOP_LINES,
                                          .err = LOOP_LINES,
                                          .on_output = on_output,
                                          .on_exit = on_exit_of_command,
                                          .data = stage};
    struct err err;
    struct transport_command *command = transport_command_start(stage->transport, &spec, &err);
    assert_non_null(command);
    turn(stage, 2);
    return command;
}

static void say_opened(struct stage *stage) {
    struct buf body = message(91);
    put_u32(&body, 7);
    put_u32(&body, 0);
    put_u32(&body, 32768);
    say(stage, &body);
}

static void say_data(struct stage *stage, const char *text, bool is_err) {
    struct buf body = message(is_err ? 95 : 94);
    if (is_err)
        put_u32(&body, 1);
    put_text(&body, text);
    say(stage, &body);
}

/* ----------------------------------------------------------------------------------- the tests */

static void a_session_runs_to_its_signal(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    become_proxy(&stage);
    start(&stage);
    say_opened(&stage);
    say_data(&stage, "on", false);
    say_data(&stage, "e\ntwo", false);
    say_data(&stage, "bad\n", true);
    struct buf body = message(98);
    put_text(&body, "exit-signal");
    buf_putc(&body, 0);
    put_text(&body, "SEGV");
    buf_putc(&body, 1);
    put_text(&body, "");
    put_text(&body, "");
    say(&stage, &body);
    body = message(97);
    say(&stage, &body);
    assert_true(loop_run_until(stage.loop, &stage.ended, PATIENCE_MS));
    assert_int_equal(stage.exit.end, TRANSPORT_SIGNALLED);
    assert_string_equal(stage.exit.signal, "SEGV");
    assert_string_equal(stage.out.at, "0:one|1:bad|0:two|");
    end(&stage);
}

static void a_session_that_is_refused_says_so(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    become_proxy(&stage);
    start(&stage);
    say_opened(&stage);
    struct buf body = message(100);
    say(&stage, &body);
    assert_true(loop_run_until(stage.loop, &stage.ended, PATIENCE_MS));
    assert_int_equal(stage.exit.end, TRANSPORT_REFUSED);
    assert_int_not_equal(stage.exit.err.kind, ERR_NONE);
    body = message(97); /* for a command that is already gone */
    say(&stage, &body);
    turn(&stage, 5);
    assert_false(stage.gone);
    end(&stage);
}

static void a_close_without_a_status_is_a_loss(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    become_proxy(&stage);
    start(&stage);
    say_opened(&stage);
    struct buf body = message(97);
    say(&stage, &body);
    assert_true(loop_run_until(stage.loop, &stage.ended, PATIENCE_MS));
    assert_int_equal(stage.exit.end, TRANSPORT_LOST);
    end(&stage);
}

static void a_kill_before_the_session_opens_ends_it(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    become_proxy(&stage);
    transport_command_kill(start(&stage));
    assert_true(loop_run_until(stage.loop, &stage.ended, PATIENCE_MS));
    assert_int_equal(stage.exit.end, TRANSPORT_KILLED);
    say_opened(&stage);
    say_data(&stage, "for nobody\n", false);
    turn(&stage, 5);
    assert_int_equal(stage.out.len, 0);
    assert_false(stage.gone);
    end(&stage);
}

static void what_is_not_understood_ends_the_connection(void **state) {
    (void)state;
    static const struct {
        uint32_t number, value;
        const char *words;
    } rows[] = {{1, 99, "understand"}, {0x80000003, 0, "7.4"}, {0x12345678, 0, "understand"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct stage stage;
        begin(&stage);
        say_mux(&stage, rows[i].number, rows[i].value);
        assert_true(loop_run_until(stage.loop, &stage.gone, PATIENCE_MS));
        assert_non_null(strstr(stage.why, rows[i].words));
        end(&stage);
    }
    static const char *const nonsense[] = {"\xff\xff\xff\xff", "\0\0\0\0"};
    for (size_t i = 0; i < COUNT_OF(nonsense); i++) {
        struct stage stage;
        begin(&stage);
        become_proxy(&stage);
        assert_int_equal(send(stage.fd, nonsense[i], 4, MSG_NOSIGNAL), 4);
        assert_true(loop_run_until(stage.loop, &stage.gone, PATIENCE_MS));
        end(&stage);
    }
}

/* Packets of any number, length and content, some of them for a session that exists. */
static void garbage_does_no_harm(void **state) {
    (void)state;
    uint32_t x = 99;
    for (int round = 0; round < 150; round++) {
        struct stage stage;
        begin(&stage);
        become_proxy(&stage);
        start(&stage);
        if (round % 3)
            say_opened(&stage);
        for (int i = 0; i < 20; i++) {
            x = x * 1664525u + 1013904223u;
            struct buf body = message(88 + (int)((x >> 20) % 14));
            for (uint32_t len = (x >> 8) % 24; len; len--) {
                x = x * 1664525u + 1013904223u;
                buf_putc(&body, (char)((x >> 16) % 3 ? 0 : x >> 24));
            }
            say(&stage, &body);
        }
        turn(&stage, 2);
        end(&stage);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_runs_to_its_signal),
        cmocka_unit_test(a_session_that_is_refused_says_so),
        cmocka_unit_test(a_close_without_a_status_is_a_loss),
        cmocka_unit_test(a_kill_before_the_session_opens_ends_it),
        cmocka_unit_test(what_is_not_understood_ends_the_connection),
        cmocka_unit_test(garbage_does_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
