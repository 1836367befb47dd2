/* SPDX-License-Identifier: Apache-2.0 */
/* Lines on descriptors: what comes is put together, what goes is kept until it can be written. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loop/loop.h"
#include "mcp/wire/wire.h"

#define MUCH ((size_t)1 << 20)       /* kept bytes at which nothing more is read */
#define TOO_MUCH ((size_t)256 << 20) /* nobody reads any more */

struct mcp_stream {
    struct loop *loop;
    struct mcp_stream_hooks hooks;
    int in, out;
    int own; /* a second descriptor of a socket, since a loop watches each one once; -1: none */
    struct loop_watch *reads, *writes;
    struct loop_timer *soon; /* the end is told, or a file is read */
    struct buf come, kept;
    size_t written; /* of what is kept */
    bool skipping;  /* within a line that is too long */
    bool over, told;
};

static void on_in(void *data, int events);
static void on_out(void *data, int events);

static void tell_end(void *data) {
    struct mcp_stream *stream = data;
    stream->soon = NULL;
    stream->hooks.ended(stream->hooks.data);
}

/* It is told later, because whoever sends does not expect it. */
static void end(struct mcp_stream *stream) {
    stream->over = true;
    loop_watch_stop(stream->reads);
    stream->reads = NULL;
    if (stream->told)
        return;
    stream->told = true;
    stream->soon = loop_timer_start(stream->loop, 0, 0, tell_end, stream);
}

/* ------------------------------------------------------------------------------------ writing */

/* False: nobody reads. */
static bool write_kept(struct mcp_stream *stream) {
    while (stream->written < stream->kept.len) {
        ssize_t done = write(stream->out, stream->kept.at + stream->written,
                             stream->kept.len - stream->written);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK;
        stream->written += (size_t)done;
    }
    buf_clear(&stream->kept);
    stream->written = 0;
    return true;
}

static void reading_set(struct mcp_stream *stream) {
    bool wanted = !stream->over && stream->kept.len - stream->written < MUCH;
    if (wanted == (stream->reads != NULL))
        return;
    loop_watch_stop(stream->reads);
    stream->reads =
        wanted ? loop_watch_start(stream->loop, stream->in, LOOP_READABLE, on_in, stream) : NULL;
}

static void go_on(struct mcp_stream *stream) {
    if (!write_kept(stream) || stream->kept.len - stream->written > TOO_MUCH) {
        buf_clear(&stream->kept);
        stream->written = 0;
        end(stream);
    }
    if (stream->kept.len && !stream->writes) {
        stream->writes = loop_watch_start(stream->loop, stream->out, LOOP_WRITABLE, on_out, stream);
    } else if (!stream->kept.len) {
        loop_watch_stop(stream->writes);
        stream->writes = NULL;
    }
    reading_set(stream);
}

static void on_out(void *data, int events) {
    (void)events;
    go_on(data);
}

/* Also where something waits already: that is how it is seen that too much does. */
void mcp_stream_send(struct mcp_stream *stream, struct str line) {
    buf_add(&stream->kept, line.at, line.len);
    buf_putc(&stream->kept, '\n');
    go_on(stream);
}

void mcp_stream_flush(struct mcp_stream *stream, int limit_ms) {
    uint64_t until = clock_monotonic_ns() + (uint64_t)limit_ms * 1000000;
    while (write_kept(stream) && stream->kept.len && clock_monotonic_ns() < until) {
        struct pollfd wait = {.fd = stream->out, .events = POLLOUT};
        (void)!poll(&wait, 1, 50);
    }
}

/* ------------------------------------------------------------------------------------ reading */

static void line_tell(struct mcp_stream *stream, struct str line) {
    bool whole = !stream->skipping;
    stream->skipping = false;
    if (line.len && line.at[line.len - 1] == '\r')
        line.len--;
    if (!whole)
        stream->hooks.line(stream->hooks.data, STR(""), false);
    else if (str_trim(line).len)
        stream->hooks.line(stream->hooks.data, line, true);
}

static void take(struct mcp_stream *stream) {
    struct buf come = stream->come;
    size_t from = 0;
    stream->come = (struct buf){0};
    while (from < come.len) {
        const char *stop = memchr(come.at + from, '\n', come.len - from);
        if (!stop)
            break;
        line_tell(stream, (struct str){come.at + from, (size_t)(stop - come.at) - from});
        from = (size_t)(stop - come.at) + 1;
    }
    if (come.len - from > MCP_LINE_MOST) {
        stream->skipping = true;
        from = come.len;
    }
    if (from < come.len && !stream->skipping)
        buf_add(&stream->come, come.at + from, come.len - from);
    buf_free(&come);
}

/* Reads once. A last line without an end counts, too. */
static bool read_some(struct mcp_stream *stream) {
    char chunk[65536];
    ssize_t got = read(stream->in, chunk, sizeof chunk);
    if (got < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK))
        return true;
    if (got <= 0) {
        if (stream->come.len)
            buf_putc(&stream->come, '\n');
        take(stream);
        end(stream);
        return false;
    }
    buf_add(&stream->come, chunk, (size_t)got);
    if (memchr(chunk, '\n', (size_t)got) || stream->come.len > MCP_LINE_MOST)
        take(stream);
    return true;
}

static void on_in(void *data, int events) {
    (void)events;
    (void)read_some(data);
}

static void read_file(void *data) {
    struct mcp_stream *stream = data;
    stream->soon = NULL;
    while (!stream->over && read_some(stream))
        ;
}

/* ------------------------------------------------------------------------------ begin and end */

/* A plain file cannot be watched, nor can /dev/null, and reading them does not wait. */
static bool is_file(int fd) {
    struct stat about;
    return fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
}

static void waits_not(int fd) {
    int flags = fcntl(fd, F_GETFL);
    if (flags >= 0 && !isatty(fd))
        (void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

struct mcp_stream *mcp_stream_new(struct loop *loop, int in, int out,
                                  const struct mcp_stream_hooks *hooks) {
    struct mcp_stream *stream = mem_alloc(1, sizeof *stream);
    int own = in == out ? fcntl(in, F_DUPFD_CLOEXEC, 0) : -1;
    *stream = (struct mcp_stream){
        .loop = loop, .hooks = *hooks, .in = in, .out = own >= 0 ? own : out, .own = own};
    waits_not(in);
    waits_not(out);
    if (!is_file(in))
        reading_set(stream);
    if (!stream->reads)
        stream->soon = loop_timer_start(loop, 0, 0, read_file, stream);
    return stream;
}

void mcp_stream_free(struct mcp_stream *stream) {
    if (!stream)
        return;
    loop_timer_stop(stream->soon);
    loop_watch_stop(stream->reads);
    loop_watch_stop(stream->writes);
    if (stream->own >= 0)
        close(stream->own);
    buf_free(&stream->come);
    buf_free(&stream->kept);
    free(stream);
}
