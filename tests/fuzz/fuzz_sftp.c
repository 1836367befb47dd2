/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign bytes as the answers of an SFTP server, to a copy in each direction. The first byte says
 * which copies. Then comes a record for each request: how it is answered, how many bytes follow,
 * and those bytes. When there are no more, the server goes away. A copy ends whatever the answers
 * are, and leaves a whole file or none. */
#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "transport/wire/sftp.h"

#define PATIENCE_MS 30000
#define LARGEST_GET 4000
#define SILENCE 20 /* after this many turns without a request the server goes away */

/* How a request is answered. */
enum {
    AS_STATUS,
    AS_HANDLE, /* the bytes are the handle */
    AS_DATA,   /* the bytes are the file's */
    AS_ATTRS,
    AS_EXTENDED,
    AS_TYPE,    /* the first byte is the packet's type */
    AS_BYTES,   /* no packet at all */
    AS_ANOTHER, /* a status in reply to the next request */
    WAYS
};

struct server {
    struct loop *loop;
    struct transport_command *command;
    struct loop_timer *turn;
    struct str answers;
    struct buf in;
    int silence;
};

/* ---------------------------------------------------------------------------------- the server */

static void put_u32(struct buf *out, uint32_t value) {
    char bytes[4] = {(char)(value >> 24), (char)(value >> 16), (char)(value >> 8), (char)value};
    buf_add(out, bytes, 4);
}

static struct str take(struct str *rest, size_t size) {
    struct str taken = {rest->at, MIN_OF(size, rest->len)};
    rest->at += taken.len;
    rest->len -= taken.len;
    return taken;
}

static void say(struct server *server, struct str bytes) {
    char *copy = mem_alloc(bytes.len + !bytes.len, 1); /* a block of its own */
    if (bytes.len)
        memcpy(copy, bytes.at, bytes.len);
    if (server->command)
        transport_command_bytes(server->command, LOOP_STDOUT, (struct str){copy, bytes.len});
    free(copy);
}

static void go(struct server *server) {
    if (server->command)
        transport_command_end(server->command, &(struct transport_exit){0});
}

static void answer(struct server *server, bool greets, uint32_t id) {
    static const uint8_t types[WAYS] = {SFTP_STATUS,         SFTP_HANDLE, SFTP_DATA, SFTP_ATTRS,
                                        SFTP_EXTENDED_REPLY, 0,           0,         SFTP_STATUS};
    if (server->answers.len < 2) {
        go(server);
        return;
    }
    struct str head = take(&server->answers, 2);
    int how = (unsigned char)head.at[0] % WAYS;
    struct str bytes = take(&server->answers, (unsigned char)head.at[1]);
    struct buf body = {0}, packet = {0};
    buf_putc(&body, (char)(greets ? SFTP_VERSION : types[how]));
    if (how == AS_TYPE && bytes.len)
        body.at[0] = *take(&bytes, 1).at;
    if (!greets)
        put_u32(&body, id + (how == AS_ANOTHER));
    if (how == AS_HANDLE || how == AS_DATA)
        put_u32(&body, (uint32_t)bytes.len);
    buf_add(&body, bytes.at, bytes.len);
    put_u32(&packet, (uint32_t)body.len);
    buf_add(&packet, body.at, body.len);
    say(server, how == AS_BYTES ? bytes : buf_str(&packet));
    buf_free(&body);
    buf_free(&packet);
}

/* Whether there was a whole request, and it was answered. */
static bool serve_one(struct server *server) {
    struct str rest = buf_str(&server->in);
    uint32_t size, id = 0;
    if (!sftp_take_u32(&rest, &size) || rest.len < size)
        return false;
    struct str packet = take(&rest, size);
    bool greets = packet.len && take(&packet, 1).at[0] == SFTP_INIT;
    if (!greets && !sftp_take_u32(&packet, &id))
        HONE_BUG("a request without a number");
    memmove(server->in.at, rest.at, rest.len);
    server->in.len = rest.len;
    answer(server, greets, id);
    return true;
}

static void on_turn(void *data) {
    struct server *server = data;
    if (!server->command)
        return;
    struct str bytes = transport_command_peek(server->command, SIZE_MAX);
    buf_add(&server->in, bytes.at, bytes.len);
    transport_command_take(server->command, bytes.len);
    server->silence++;
    while (server->command && serve_one(server))
        server->silence = 0;
    if (server->command && (server->command->input_over || server->silence > SILENCE))
        go(server);
}

/* ----------------------------------------------------------------------- as a way of transport */

static void open_way(struct transport *transport) {
    transport_ready(transport);
}

static void close_way(struct transport *transport) {
    (void)transport;
}

static void input(struct transport_command *command) {
    (void)command; /* every turn looks at it */
}

static void start(struct transport_command *command) {
    struct server *server = command->transport->callbacks.data;
    command->own = server;
    server->command = command;
    server->silence = 0;
    buf_clear(&server->in);
}

static void drop(struct transport_command *command) {
    struct server *server = command->own;
    server->command = NULL;
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

/* ----------------------------------------------------------------------------------- one input */

struct copies {
    struct server server;
    struct transport *transport;
    char folder[40];
    char *local;
    int open;
    bool done, got;
};

static void on_done(struct copies *copies, const struct err *why) {
    if (why->kind != ERR_NONE && !*why->text)
        HONE_BUG("a copy failed without a reason");
    copies->done = --copies->open == 0;
}

static void on_put(void *data, const struct err *why) {
    on_done(data, why);
}

static void on_got(void *data, const struct err *why) {
    struct copies *copies = data;
    copies->got = why->kind == ERR_NONE;
    on_done(copies, why);
}

static void start_copy(struct copies *copies, bool get) {
    struct err err = {0};
    struct transport_copy_spec spec = {.kind = get ? TRANSPORT_GET : TRANSPORT_PUT,
                                       .remote = "far/file",
                                       .local = get ? copies->local : NULL,
                                       .data = "some bytes",
                                       .size = get ? 0 : 10,
                                       .mode = 0644,
                                       .max_bytes = get ? LARGEST_GET : 0,
                                       .on_done = get ? on_got : on_put,
                                       .context = copies};
    copies->open++;
    if (!transport_copy_start(copies->transport, &spec, &err))
        HONE_BUG("a copy that cannot be asked for");
}

/* The file that was got, and nothing else, must be there. */
static void check_folder(const struct copies *copies) {
    DIR *folder = opendir(copies->folder);
    int files = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;)
        files += entry->d_name[0] != '.';
    closedir(folder);
    if (files != copies->got)
        HONE_BUG("a copy left behind something else than its file");
    if (!copies->got)
        return;
    struct err err = {0};
    size_t size = 0;
    char *bytes = file_read(copies->local, 0, &size, &err);
    if (!bytes || size > LARGEST_GET)
        HONE_BUG("a file that is larger than it may be");
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size)
        return 0;
    struct copies copies = {.folder = "/tmp/hone-fuzz-sftp.XXXXXX"};
    struct server *server = &copies.server;
    struct err err;
    if (!mkdtemp(copies.folder))
        return 0;
    copies.local = path_join(copies.folder, "back");
    server->answers = (struct str){(const char *)data + 1, size - 1};
    server->loop = loop_new();
    server->turn = loop_timer_start(server->loop, 0, 1, on_turn, server);
    copies.transport = transport_new(server->loop, &(struct transport_ways){.ops = &ops},
                                     &(struct transport_callbacks){.data = server}, arena_new(),
                                     &(struct transport_route){.name = "here"});
    bool never = false;
    (void)loop_run_until(server->loop, &never, 1); /* it becomes ready */
    if (data[0] % 3 != 0)
        start_copy(&copies, false);
    if (data[0] % 3 != 1)
        start_copy(&copies, true);
    if (!loop_run_until(server->loop, &copies.done, PATIENCE_MS))
        HONE_BUG("a copy that never ends");
    transport_close(copies.transport);
    loop_timer_stop(server->turn);
    loop_free(server->loop);
    check_folder(&copies);
    (void)!file_remove_tree(copies.folder, &err);
    buf_free(&server->in);
    free(copies.local);
    return 0;
}

#ifndef HONE_LIBFUZZER

static void put_record(struct buf *out, int how, const char *bytes, size_t size) {
    buf_putc(out, (char)how);
    buf_putc(out, (char)size);
    buf_add(out, bytes, size);
}
#define RECORD(how, bytes) put_record(example, how, bytes, sizeof bytes - 1)
#define FINE "\0\0\0\0\0\0\0\2ok\0\0\0\0"

/* Both copies as they succeed, with extensions and without, and a get that is shorter than
 * announced. */
static void begin_copies(struct fuzz *fuzz) {
    struct buf *example = fuzz_example(fuzz);
    buf_putc(example, 0);
    RECORD(AS_STATUS, "\0\0\0\3\0\0\0\x12limits@openssh.com\0\0\0\1\x31");
    RECORD(AS_HANDLE, "h");
    RECORD(AS_EXTENDED, "\0\0\0\0\0\4\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0");
    RECORD(AS_ATTRS, "\0\0\0\1\0\0\0\0\0\0\0\x0a");
    RECORD(AS_DATA, "0123456789");
    RECORD(AS_STATUS, FINE);
    example = fuzz_example(fuzz);
    buf_putc(example, 1);
    RECORD(AS_STATUS, "\0\0\0\3");
    RECORD(AS_HANDLE, "handle");
    for (int i = 0; i < 6; i++)
        RECORD(AS_STATUS, FINE);
    example = fuzz_example(fuzz);
    buf_putc(example, 0);
    RECORD(AS_STATUS, "\0\0\0\3");
    RECORD(AS_HANDLE, "h");
    RECORD(AS_ATTRS, "\0\0\0\1\0\0\0\0\0\0\0\x0a");
    RECORD(AS_DATA, "01234");
    RECORD(AS_STATUS, "\0\0\0\1\0\0\0\3end\0\0\0\0");
    RECORD(AS_STATUS, FINE);
    example = fuzz_example(fuzz);
    buf_putc(example, 2);
    RECORD(AS_STATUS, "\0\0\0\3\0\0\0\x18posix-rename@openssh.com\0\0\0\1\x31");
    RECORD(AS_HANDLE, "put");
    RECORD(AS_HANDLE, "get");
    RECORD(AS_ATTRS, "\0\0\0\5\0\0\0\0\0\0\0\0\0\0\x81\xa4");
    for (int i = 0; i < 8; i++)
        RECORD(AS_STATUS, FINE);
}

static const struct fuzz_target target = {.name = "sftp", .most = 6, .begin = begin_copies};

int main(int argc, char **argv) {
    return fuzz_main(&target, argc, argv);
}
#endif
