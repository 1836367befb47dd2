/* SPDX-License-Identifier: Apache-2.0 */
/* The socket of a session, through which agents join whoever holds it. It is in the session's
 * folder, and only its user can reach it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "mcp/private.h"

#define NAME "agents.sock"
#define MOST_JOINED 16
#define MOST_KNOCKED 64 /* with those that hear that there is no room */

struct joined {
    struct mcp_listener *listener;
    struct joined *next;
    struct mcp_stream *stream;
    struct mcp_client *client; /* NULL: there was no room for it yet */
    struct buf first; /* the line it began its connection with meanwhile; empty: none did */
    int fd;
};
struct mcp_listener {
    struct loop *loop;
    struct mcp_server *server;
    struct loop_watch *watch;
    struct joined *joined;
    char *path;
    int fd;
};

/* ------------------------------------------------------------------------------------ addresses */

/* Addresses are short, and folders need not be: then the folder is named by its descriptor, where
 * the system has such names. *folder is to be closed afterwards; -1: nothing is. */
static bool address_of(const char *path, struct sockaddr_un *address, int *folder,
                       struct err *err) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    *folder = -1;
    if (strlen(path) < sizeof address->sun_path) {
        memcpy(address->sun_path, path, strlen(path) + 1);
        return true;
    }
    char *own = path_folder(path);
    *folder = open(own, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(own);
    if (*folder >= 0)
        snprintf(address->sun_path, sizeof address->sun_path, "/proc/self/fd/%d/%s", *folder,
                 path_base(path));
    return *folder >= 0 || err_set(err, ERR_ENVIRONMENT, "cannot open the folder of %.200s: %s",
                                   path, strerror(errno));
}

static int socket_new(struct err *err) {
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0)
        err_set(err, ERR_ENVIRONMENT, "no socket can be made: %s", strerror(errno));
    else
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

/* Whoever may write in the folder could have put a socket of their own there. */
static bool is_own(const char *path, struct err *err) {
    struct stat about;
    if (lstat(path, &about) != 0)
        return err_set(err, ERR_ENVIRONMENT, "nobody is at %.200s: %s", path, strerror(errno));
    return (S_ISSOCK(about.st_mode) && about.st_uid == geteuid()) ||
           err_set(err, ERR_ENVIRONMENT, "%.200s is no socket of this user", path);
}

int mcp_join(const char *session, struct err *err) {
    char *path = path_join(session, NAME);
    struct sockaddr_un address;
    int folder = -1, fd = -1;
    if (is_own(path, err) && address_of(path, &address, &folder, err))
        fd = socket_new(err);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        err_set(err, ERR_ENVIRONMENT, "nobody answers at %.200s: %s", path, strerror(errno));
        close(fd);
        fd = -1;
    }
    if (folder >= 0)
        close(folder);
    free(path);
    return fd;
}

/* ---------------------------------------------------------------------------------- who joined */

static void joined_free(struct joined *joined) {
    struct joined **place = &joined->listener->joined;
    while (*place != joined)
        place = &(*place)->next;
    *place = joined->next;
    mcp_client_free(joined->client);
    mcp_stream_free(joined->stream);
    buf_free(&joined->first);
    close(joined->fd);
    free(joined);
}

/* ------------------------------------------------------------------------------------- no room */

static bool has_room(const struct mcp_listener *listener) {
    return mcp_server_clients(listener->server) < MOST_JOINED;
}

static void on_send(void *data, struct str line) {
    struct joined *joined = data;
    mcp_stream_send(joined->stream, line);
}

static void on_nothing(void *data, struct str line) {
    (void)data, (void)line;
}

static void take_in(struct joined *joined) {
    struct mcp_server *server = joined->listener->server;
    joined->client = mcp_client_new(server, on_send, joined);
    if (!joined->first.len)
        return;
    struct mcp_client *silent = mcp_client_new(server, on_nothing, NULL); /* it was answered */
    mcp_client_line(silent, buf_str(&joined->first), true);
    mcp_client_goes_on(joined->client, silent);
    mcp_client_free(silent);
    buf_clear(&joined->first);
}

static void refuse(struct joined *joined, struct str line, const struct mcp_message *message) {
    struct buf said = {0};
    char why[120];
    snprintf(why, sizeof why,
             "%d agents work in this session, more it does not take: ask again when one has left",
             MOST_JOINED);
    if (!strcmp(message->method, "initialize")) {
        buf_clear(&joined->first);
        buf_add(&joined->first, line.at, line.len);
    }
    mcp_error_print(message->id, MCP_INTERNAL_ERROR, why, NULL, &said);
    mcp_stream_send(joined->stream, buf_str(&said));
    buf_free(&said);
}

/* Asked each time, because somebody may have left. A person's workbench is no agent. */
static bool is_taken_in(struct joined *joined, struct str line, bool whole) {
    struct mcp_message message = {0};
    enum mcp_error code;
    const char *why;
    bool asks = whole && mcp_message_read(line, &message, &code, &why) && message.is == MCP_REQUEST;
    if (has_room(joined->listener) || (asks && !strcmp(message.method, MCP_YIELD_METHOD)))
        take_in(joined);
    else if (asks)
        refuse(joined, line, &message);
    if (whole)
        mcp_message_free(&message);
    return joined->client != NULL;
}

static void on_line(void *data, struct str line, bool whole) {
    struct joined *joined = data;
    if (joined->client || is_taken_in(joined, line, whole))
        mcp_client_line(joined->client, line, whole);
}

static void on_ended(void *data) {
    joined_free(data);
}

static size_t knocked(const struct mcp_listener *listener) {
    size_t count = 0;
    for (const struct joined *one = listener->joined; one; one = one->next)
        count++;
    return count;
}

static void on_knock(void *data, int events) {
    struct mcp_listener *listener = data;
    (void)events;
    int fd = accept(listener->fd, NULL, NULL);
    if (fd < 0)
        return;
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (knocked(listener) >= MOST_KNOCKED) {
        close(fd);
        return;
    }
    struct joined *joined = mem_alloc(1, sizeof *joined);
    struct mcp_stream_hooks hooks = {on_line, on_ended, joined};
    *joined = (struct joined){.listener = listener, .next = listener->joined, .fd = fd};
    listener->joined = joined;
    if (has_room(listener))
        take_in(joined);
    joined->stream = mcp_stream_new(listener->loop, fd, fd, &hooks);
}

/* ------------------------------------------------------------------------------ begin and end */

/* A socket that is left from a process that was killed is nobody's: who holds the session binds. */
static bool is_bound(int fd, const char *path, struct err *err) {
    struct sockaddr_un address;
    int folder = -1;
    if (!address_of(path, &address, &folder, err))
        return false;
    mode_t before = umask(0177);
    (void)unlink(path);
    bool ok =
        bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, MOST_KNOCKED) == 0;
    int failed = errno;
    umask(before);
    if (folder >= 0)
        close(folder);
    return ok || err_set(err, ERR_ENVIRONMENT,
                         "agents cannot join: no socket can be made at "
                         "%.200s: %s",
                         path, strerror(failed));
}

struct mcp_listener *mcp_listen(struct mcp_server *server, struct err *err) {
    struct mcp_listener *listener = mem_alloc(1, sizeof *listener);
    *listener =
        (struct mcp_listener){.loop = server->options.loop,
                              .server = server,
                              .path = path_join(tune_session_folder(server->options.session), NAME),
                              .fd = socket_new(err)};
    if (listener->fd >= 0 && is_bound(listener->fd, listener->path, err)) {
        (void)fcntl(listener->fd, F_SETFL, O_NONBLOCK);
        listener->watch =
            loop_watch_start(listener->loop, listener->fd, LOOP_READABLE, on_knock, listener);
        return listener;
    }
    if (listener->fd >= 0)
        close(listener->fd);
    free(listener->path);
    free(listener);
    return NULL;
}

void mcp_listener_free(struct mcp_listener *listener) {
    if (!listener)
        return;
    while (listener->joined) {
        mcp_stream_flush(listener->joined->stream, 100);
        joined_free(listener->joined);
    }
    loop_watch_stop(listener->watch);
    (void)unlink(listener->path);
    close(listener->fd);
    free(listener->path);
    free(listener);
}
