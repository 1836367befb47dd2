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

struct joined {
    struct mcp_listener *listener;
    struct joined *next;
    struct mcp_stream *stream;
    struct mcp_client *client;
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
    close(joined->fd);
    free(joined);
}

static void on_line(void *data, struct str line, bool whole) {
    struct joined *joined = data;
    mcp_client_line(joined->client, line, whole);
}

static void on_ended(void *data) {
    joined_free(data);
}

static void on_send(void *data, struct str line) {
    struct joined *joined = data;
    mcp_stream_send(joined->stream, line);
}

static void on_knock(void *data, int events) {
    struct mcp_listener *listener = data;
    (void)events;
    int fd = accept(listener->fd, NULL, NULL);
    if (fd < 0)
        return;
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (mcp_server_clients(listener->server) >= MOST_JOINED) {
        close(fd);
        return;
    }
    struct joined *joined = mem_alloc(1, sizeof *joined);
    struct mcp_stream_hooks hooks = {on_line, on_ended, joined};
    *joined = (struct joined){.listener = listener, .next = listener->joined, .fd = fd};
    listener->joined = joined;
    joined->client = mcp_client_new(listener->server, on_send, joined);
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
    bool ok = bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 8) == 0;
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
