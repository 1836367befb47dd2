/* SPDX-License-Identifier: Apache-2.0 */
/* The other side of hone mcp: a person's workbench that agents join. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/mcp/private.h"
#include "loop/loop.h"
#include "mcp/mcp.h"
#include "version.h"

#define ANSWER_MS 5000 /* for a hone mcp to say that it gives the session up */
#define TAKE_MS 60000  /* for it to have done so */
#define OPENS_MS 1000  /* for who holds the session to begin to listen */
#define LOOK_MS 20     /* between two looks for that */

struct mcp_wish {
    int fd; /* locked; -1: none */
};

struct mcp_host {
    struct mcp_server *server;
    struct mcp_listener *listener;
};

struct mcp_host *mcp_host_open(struct loop *loop, struct tune_session *session,
                               const struct config *config, struct err *err) {
    const struct mcp_options options = {
        .loop = loop, .session = session, .config = config, .version = HONE_VERSION};
    struct mcp_host *host = mem_alloc(1, sizeof *host);
    signal(SIGPIPE, SIG_IGN); /* agents may go away at any time */
    host->server = mcp_server_new(&options);
    host->listener = mcp_listen(host->server, err);
    if (host->listener)
        return host;
    mcp_host_close(host);
    return NULL;
}

void mcp_host_changed(struct mcp_host *host) {
    if (host)
        mcp_server_changed(host->server);
}

void mcp_host_close(struct mcp_host *host) {
    if (!host)
        return;
    mcp_listener_free(host->listener);
    mcp_server_free(host->server);
    free(host);
}

/* The other side closes the connection when the session is free. A workbench says no, and false. */
static bool ask(int fd) {
    char chunk[4096];
    uint64_t until = clock_monotonic_ns() + (uint64_t)ANSWER_MS * 1000000;
    bool yields = false;
    if (write(fd, MCP_YIELD, strlen(MCP_YIELD)) < 0)
        return false;
    while (clock_monotonic_ns() < until) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        if (poll(&wait, 1, 50) <= 0)
            continue;
        ssize_t got = read(fd, chunk, sizeof chunk - 1);
        if (got <= 0)
            return yields;
        chunk[got] = 0;
        yields = strstr(chunk, MCP_YIELDS) != NULL;
        if (!yields)
            return false;
        until = clock_monotonic_ns() + (uint64_t)TAKE_MS * 1000000;
    }
    return false;
}

bool mcp_host_ask(const char *folder) {
    struct err ignored = {0};
    int fd = mcp_join(folder, &ignored);
    for (int waited = 0; fd < 0 && waited < OPENS_MS; waited += LOOK_MS) {
        (void)poll(NULL, 0, LOOK_MS);
        fd = mcp_join(folder, &ignored);
    }
    bool yields = fd >= 0 && ask(fd);
    if (fd >= 0)
        close(fd);
    return yields;
}

static int wish_open(const char *folder, int flags) {
    char *path = path_join(folder, "agents.wish");
    int fd = file_open(path, flags, 0600, NULL);
    free(path);
    return fd;
}

/* A lock that can be asked about without being taken; it ends with its process. */
static struct flock wish_lock(void) {
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
}

bool mcp_is_wished(const char *folder) {
    struct flock look = wish_lock();
    int fd = wish_open(folder, O_RDWR);
    bool wished = fd >= 0 && fcntl(fd, F_GETLK, &look) == 0 && look.l_type != F_UNLCK;
    if (fd >= 0)
        close(fd);
    return wished;
}

struct mcp_wish *mcp_wish_begin(const char *folder) {
    struct mcp_wish *wish = mem_alloc(1, sizeof *wish);
    struct flock lock = wish_lock();
    wish->fd = wish_open(folder, O_RDWR | O_CREAT);
    if (wish->fd >= 0)
        (void)!fcntl(wish->fd, F_SETLK, &lock); /* else another workbench wishes it, too */
    return wish;
}

void mcp_wish_end(struct mcp_wish *wish) {
    if (wish && wish->fd >= 0)
        close(wish->fd);
    free(wish);
}

struct mcp_wish *mcp_host_take(const char *task, const char *session) {
    struct err ignored = {0};
    char *folder = session ? mem_strdup(session) : cli_session_of(task, &ignored);
    struct mcp_wish *wish = folder ? mcp_wish_begin(folder) : NULL;
    int fd = folder ? mcp_join(folder, &ignored) : -1;
    if (fd >= 0) {
        (void)ask(fd);
        close(fd);
    }
    free(folder);
    return wish;
}
