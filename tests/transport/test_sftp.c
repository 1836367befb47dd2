/* SPDX-License-Identifier: Apache-2.0 */
/* Copies against an SFTP server in this process. One knows no extensions, answers in any order and
 * gives less than it was asked for. Another answers nonsense. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transport/wire/sftp.h"

#define PATIENCE_MS 60000
#define MOST_FILES 8

struct stored {
    char name[64];
    struct buf bytes;
    bool there;
};
struct server {
    struct loop *loop;
    struct transport_command *command;
    struct loop_timer *soon;
    struct stored files[MOST_FILES];
    struct buf in, replies;
    uint64_t dice;
    bool spoils;
    int renames_refused;
};

static uint32_t roll(struct server *server, uint32_t n) {
    server->dice = server->dice * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(server->dice >> 33) % n;
}

/* ---------------------------------------------------------------------------------- the server */

static void put_u32(struct buf *out, uint32_t value) {
    char bytes[4] = {(char)(value >> 24), (char)(value >> 16), (char)(value >> 8), (char)value};
    buf_add(out, bytes, 4);
}

static void reply(struct server *server, uint8_t type, uint32_t id, const struct buf *body) {
    struct buf packet = {0};
    put_u32(&packet, (uint32_t)(5 + body->len));
    buf_putc(&packet, (char)type);
    put_u32(&packet, id);
    buf_add(&packet, body->at, body->len);
    if (server->replies.len && roll(server, 2)) { /* ahead of what waits */
        buf_add(&packet, server->replies.at, server->replies.len);
        buf_clear(&server->replies);
    }
    buf_add(&server->replies, packet.at, packet.len);
    buf_free(&packet);
}

static void reply_status(struct server *server, uint32_t id, uint32_t status) {
    struct buf body = {0};
    put_u32(&body, status);
    put_u32(&body, 4);
    buf_puts(&body, "said");
    put_u32(&body, 0);
    reply(server, SFTP_STATUS, id, &body);
    buf_free(&body);
}

static struct stored *find(struct server *server, struct str name) {
    for (int i = 0; i < MOST_FILES; i++)
        if (server->files[i].there && str_is(name, server->files[i].name))
            return &server->files[i];
    return NULL;
}

static struct stored *make(struct server *server, struct str name) {
    for (int i = 0; i < MOST_FILES; i++)
        if (!server->files[i].there) {
            server->files[i].there = true;
            snprintf(server->files[i].name, sizeof server->files[i].name, STR_FMT, STR_ARG(name));
            buf_clear(&server->files[i].bytes);
            return &server->files[i];
        }
    fail_msg("too many files");
    return NULL;
}

static void serve_open(struct server *server, uint32_t id, struct str body) {
    struct str name;
    uint32_t flags;
    if (!sftp_take_str(&body, &name) || !sftp_take_u32(&body, &flags))
        return;
    struct stored *file = flags & 2 ? make(server, name) : find(server, name);
    if (!file) {
        reply_status(server, id, SFTP_NO_SUCH_FILE);
        return;
    }
    struct buf handle = {0};
    put_u32(&handle, 1);
    buf_putc(&handle, (char)('0' + (file - server->files)));
    reply(server, SFTP_HANDLE, id, &handle);
    buf_free(&handle);
}

static void serve_read(struct server *server, uint32_t id, const struct stored *file,
                       struct str body) {
    uint64_t offset;
    uint32_t size;
    if (!sftp_take_u64(&body, &offset) || !sftp_take_u32(&body, &size))
        return;
    if (offset >= file->bytes.len) {
        reply_status(server, id, SFTP_EOF);
        return;
    }
    struct buf data = {0};
    size = (uint32_t)MIN_OF((uint64_t)size, file->bytes.len - offset);
    size -= roll(server, 3) == 0 ? size / 2 : 0;
    put_u32(&data, size);
    buf_add(&data, file->bytes.at + offset, size);
    reply(server, SFTP_DATA, id, &data);
    buf_free(&data);
}

static void serve_write(struct server *server, uint32_t id, struct stored *file, struct str body) {
    uint64_t offset;
    struct str data;
    if (!sftp_take_u64(&body, &offset) || !sftp_take_str(&body, &data))
        return;
    while (file->bytes.len < offset + data.len)
        buf_putc(&file->bytes, 0);
    memcpy(file->bytes.at + offset, data.at, data.len);
    reply_status(server, id, SFTP_OK);
}

static void serve_rename(struct server *server, uint32_t id, struct str body) {
    struct str from, to;
    if (!sftp_take_str(&body, &from) || !sftp_take_str(&body, &to))
        return;
    struct stored *file = find(server, from);
    bool refused = !file || find(server, to);
    server->renames_refused += refused;
    if (!refused)
        snprintf(file->name, sizeof file->name, STR_FMT, STR_ARG(to));
    reply_status(server, id, refused ? SFTP_FAILURE : SFTP_OK);
}

static void serve_fstat(struct server *server, uint32_t id, const struct stored *file) {
    struct buf body = {0};
    put_u32(&body, 1);
    put_u32(&body, 0);
    put_u32(&body, (uint32_t)file->bytes.len);
    reply(server, SFTP_ATTRS, id, &body);
    buf_free(&body);
}

static void serve_handle(struct server *server, uint8_t type, uint32_t id, struct str body) {
    struct str handle;
    if (!sftp_take_str(&body, &handle) || handle.len != 1)
        return;
    struct stored *file = &server->files[(handle.at[0] - '0') & 7];
    switch (type) {
    case SFTP_READ: serve_read(server, id, file, body); break;
    case SFTP_WRITE: serve_write(server, id, file, body); break;
    case SFTP_FSTAT: serve_fstat(server, id, file); break;
    default: reply_status(server, id, SFTP_OK);
    }
}

static void serve_packet(struct server *server, struct str packet) {
    uint8_t type = (uint8_t)packet.at[0];
    struct str body = {packet.at + 1, packet.len - 1}, name;
    uint32_t id;
    if (type == SFTP_INIT) {
        buf_add(&server->replies, "\0\0\0\5\2\0\0\0\3", 9);
    } else if (!sftp_take_u32(&body, &id)) {
        return;
    } else if (type == SFTP_OPEN) {
        serve_open(server, id, body);
    } else if (type == SFTP_RENAME) {
        serve_rename(server, id, body);
    } else if (type == SFTP_REMOVE) {
        struct stored *file = sftp_take_str(&body, &name) ? find(server, name) : NULL;
        if (file)
            file->there = false;
        reply_status(server, id, file ? SFTP_OK : SFTP_NO_SUCH_FILE);
    } else {
        serve_handle(server, type, id, body);
    }
}

static void give_replies(struct server *server) {
    struct buf out = server->replies;
    server->replies = (struct buf){0};
    for (uint32_t n = server->spoils && out.len ? roll(server, 3) : 0; n; n--)
        out.at[roll(server, (uint32_t)out.len)] = (char)roll(server, 256);
    for (size_t at = 0; at < out.len && server->command;) {
        size_t step = 1 + roll(server, 40000);
        step = MIN_OF(step, out.len - at);
        transport_command_bytes(server->command, LOOP_STDOUT, (struct str){out.at + at, step});
        at += step;
    }
    buf_free(&out);
}

static void serve(void *data) {
    struct server *server = data;
    server->soon = NULL;
    struct str bytes = transport_command_peek(server->command, SIZE_MAX);
    buf_add(&server->in, bytes.at, bytes.len);
    transport_command_take(server->command, bytes.len);
    size_t at = 0;
    for (;;) {
        struct str rest = {server->in.at + at, server->in.len - at};
        uint32_t size;
        if (!sftp_take_u32(&rest, &size) || rest.len < size)
            break;
        serve_packet(server, (struct str){rest.at, size});
        at += 4 + size;
    }
    if (at)
        memmove(server->in.at, server->in.at + at, server->in.len - at);
    server->in.len -= at;
    give_replies(server);
    if (server->command && server->command->input_over)
        transport_command_end(server->command, &(struct transport_exit){0});
}

/* ----------------------------------------------------------------------- as a way of transport */

static void open_way(struct transport *transport) {
    transport_ready(transport);
}

static void close_way(struct transport *transport) {
    (void)transport;
}

static struct server *server_of(const struct transport *transport) {
    return transport->callbacks.data;
}

static void input(struct transport_command *command) {
    struct server *server = server_of(command->transport);
    if (!server->soon)
        server->soon = loop_timer_start(server->loop, 0, 0, serve, server);
}

static void start(struct transport_command *command) {
    struct server *server = server_of(command->transport);
    assert_string_equal(command->subsystem, "sftp");
    command->own = server;
    server->command = command;
    buf_clear(&server->in);
}

static void drop(struct transport_command *command) {
    struct server *server = command->own;
    server->command = NULL;
    loop_timer_stop(server->soon);
    server->soon = NULL;
}

static void kill_command(struct transport_command *command) {
    transport_command_end(command, &(struct transport_exit){.end = TRANSPORT_KILLED});
}

static const struct transport_ops ops = {.open = open_way,
                                         .close = close_way,
                                         .command_start = start,
                                         .command_input = input,
                                         .command_kill = kill_command,
                                         .command_drop = drop};

struct bench {
    struct server server;
    struct transport *transport;
    char folder[32];
    bool done;
    struct err why;
};

static void begin(struct bench *bench, uint64_t dice, bool spoils) {
    *bench = (struct bench){.server = {.dice = dice, .spoils = spoils},
                            .folder = "/tmp/hone-sftp.XXXXXX"};
    assert_non_null(mkdtemp(bench->folder));
    bench->server.loop = loop_new();
    bench->transport = transport_new(bench->server.loop, &(struct transport_ways){.ops = &ops},
                                     &(struct transport_callbacks){.data = &bench->server},
                                     arena_new(), &(struct transport_route){.name = "here"});
}

static void end(struct bench *bench) {
    struct err err;
    transport_close(bench->transport);
    loop_free(bench->server.loop);
    for (int i = 0; i < MOST_FILES; i++)
        buf_free(&bench->server.files[i].bytes);
    buf_free(&bench->server.in);
    buf_free(&bench->server.replies);
    assert_true(file_remove_tree(bench->folder, &err));
}

static void on_done(void *data, const struct err *why) {
    struct bench *bench = data;
    bench->why = *why;
    bench->done = true;
}

static void copy(struct bench *bench, struct transport_copy_spec spec) {
    struct err err;
    spec.on_done = on_done;
    spec.context = bench;
    bench->done = false;
    assert_non_null(transport_copy_start(bench->transport, &spec, &err));
    assert_true(loop_run_until(bench->server.loop, &bench->done, PATIENCE_MS));
}

/* ------------------------------------------------------------------------------------- tests */

static void a_server_without_extensions_is_enough(void **state) {
    (void)state;
    struct bench bench;
    size_t size = 3000001, got;
    char *data = mem_alloc(1, size);
    for (size_t i = 0; i < size; i++)
        data[i] = (char)(i * 31 + i / 4099);
    begin(&bench, 5, false);
    bool never = false;
    loop_run_until(bench.server.loop, &never, 1); /* becomes ready */
    char *local = path_join(bench.folder, "back");
    struct buf half = {0}; /* of a hone that was killed while it fetched this file */
    pid_t dead = fork();
    if (!dead)
        _exit(0);
    assert_int_equal(waitpid(dead, NULL, 0), dead);
    struct err err = {0};
    buf_printf(&half, "%s.hone-%08x-%d-AbCdEf", local, (unsigned)file_machine(), (int)dead);
    assert_true(file_append(half.at, "x", 1, &err));
    for (int round = 0; round < 2; round++) {
        copy(&bench, (struct transport_copy_spec){
                         .kind = TRANSPORT_PUT, .remote = "far", .data = data, .size = size});
        assert_string_equal(bench.why.text, "");
    }
    assert_int_equal(bench.server.renames_refused, 1); /* over the first one */
    copy(&bench,
         (struct transport_copy_spec){.kind = TRANSPORT_GET, .remote = "far", .local = local});
    assert_string_equal(bench.why.text, "");
    assert_false(file_exists(half.at));
    buf_free(&half);
    char *back = file_read(local, 0, &got, &err);
    assert_non_null(back);
    assert_int_equal(got, size);
    assert_memory_equal(back, data, size);
    copy(&bench,
         (struct transport_copy_spec){.kind = TRANSPORT_GET, .remote = "none", .local = local});
    assert_non_null(strstr(bench.why.text, "there is no such file"));
    int left = 0;
    for (int i = 0; i < MOST_FILES; i++)
        left += bench.server.files[i].there;
    assert_int_equal(left, 1);
    free(back);
    free(local);
    free(data);
    end(&bench);
}

static void nonsense_ends_a_copy_or_is_passed_over(void **state) {
    (void)state;
    char data[90000];
    memset(data, 'x', sizeof data);
    for (uint64_t dice = 1; dice < 60; dice++) {
        struct bench bench;
        begin(&bench, dice, true);
        char *local = path_join(bench.folder, "back");
        struct transport_copy_spec put = {.kind = TRANSPORT_PUT,
                                          .remote = "far",
                                          .data = data,
                                          .size = sizeof data,
                                          .on_done = on_done,
                                          .context = &bench};
        struct transport_copy_spec get = {.kind = TRANSPORT_GET,
                                          .remote = "far",
                                          .local = local,
                                          .on_done = on_done,
                                          .context = &bench,
                                          .max_bytes = sizeof data};
        struct err err;
        bool ready = false;
        loop_run_until(bench.server.loop, &ready, 1);
        for (int i = 0; i < 4; i++) { /* a lost answer keeps a copy waiting, so it is closed */
            struct transport_copy *started =
                transport_copy_start(bench.transport, i % 2 ? &get : &put, &err);
            assert_non_null(started);
            bench.done = false;
            loop_run_until(bench.server.loop, &bench.done, 15);
        }
        free(local);
        end(&bench);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_without_extensions_is_enough),
        cmocka_unit_test(nonsense_ends_a_copy_or_is_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
