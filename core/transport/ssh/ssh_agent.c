/* SPDX-License-Identifier: Apache-2.0 */
/* ssh-agent: which keys it holds, and signing with one (draft-miller-ssh-agent). libssh2 has a
 * client of its own, which blocks on the agent's socket. An agent that waits for a touch or a
 * confirmation keeps it waiting for as long as it likes. This client is driven by the loop. */
#include "transport/ssh/ssh_link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MOST_ANSWER ((size_t)256 << 10)
#define MOST_KEYS 64
#define LIST_LIMIT_MS 10000
#define SIGN_LIMIT_MS 120000 /* somebody may have to touch or confirm */

enum { LIST = 11, LIST_ANSWER = 12, SIGN = 13, SIGN_ANSWER = 14 };

static void stop(struct ssh_agent *agent) {
    loop_watch_stop(agent->watch);
    loop_timer_stop(agent->limit);
    agent->watch = NULL;
    agent->limit = NULL;
    if (agent->fd >= 0)
        close(agent->fd);
    agent->fd = -1;
}

static void fail(struct ssh_agent *agent, const char *problem) {
    stop(agent);
    agent->failed = true;
    agent->problem = problem;
}

static uint32_t number_at(const char *at) {
    const unsigned char *b = (const unsigned char *)at;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static bool take(struct str *rest, struct str *text) {
    if (rest->len < 4 || number_at(rest->at) > rest->len - 4)
        return false;
    *text = (struct str){rest->at + 4, number_at(rest->at)};
    rest->at += 4 + text->len;
    rest->len -= 4 + text->len;
    return true;
}

static bool take_keys(struct ssh_agent *agent, struct str body) {
    if (body.len < 4)
        return false;
    size_t count = number_at(body.at);
    body = (struct str){body.at + 4, body.len - 4};
    agent->keys = mem_alloc(MOST_KEYS, sizeof *agent->keys);
    for (size_t i = 0; i < count && i < MOST_KEYS; i++) {
        struct str blob, comment;
        if (!take(&body, &blob) || !take(&body, &comment))
            return false;
        struct ssh_agent_key *key = &agent->keys[agent->n_keys++];
        key->blob = mem_dup(blob.at, blob.len);
        key->blob_len = blob.len;
    }
    return true;
}

/* A signature is the name of its algorithm, and the bytes for libssh2. */
static bool take_signature(struct ssh_agent *agent, struct str body) {
    struct str whole, algorithm, bytes;
    if (!take(&body, &whole) || !take(&whole, &algorithm) || !take(&whole, &bytes))
        return false;
    buf_clear(&agent->signature);
    buf_add(&agent->signature, bytes.at, bytes.len);
    return true;
}

static void take_answer(struct ssh_agent *agent, struct str packet) {
    struct str body = {packet.at + 1, packet.len - 1};
    loop_timer_stop(agent->limit);
    agent->limit = NULL;
    if (!agent->listed) {
        if (packet.at[0] != LIST_ANSWER || !take_keys(agent, body))
            fail(agent, "its list of keys cannot be read");
        agent->listed = true;
    } else if (agent->signing) {
        if (packet.at[0] != SIGN_ANSWER || !take_signature(agent, body))
            buf_clear(&agent->signature);
        agent->signing = false;
        agent->has_signature = true;
    }
}

static void read_some(struct ssh_agent *agent) {
    char bytes[4096];
    ssize_t n = recv(agent->fd, bytes, sizeof bytes, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        fail(agent, "it closed the connection");
        return;
    }
    buf_add(&agent->in, bytes, (size_t)n);
    if (agent->in.len < 4)
        return;
    size_t size = number_at(agent->in.at);
    if (!size || size > MOST_ANSWER) {
        fail(agent, "its answer makes no sense");
    } else if (agent->in.len >= 4 + size) {
        take_answer(agent, (struct str){agent->in.at + 4, size});
        agent->in.len = 0; /* there is one question at a time, so nothing else can be in it */
    }
}

static void write_some(struct ssh_agent *agent) {
    ssize_t n = send(agent->fd, agent->out.at + agent->out_at, agent->out.len - agent->out_at,
                     MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN && errno != EINTR && errno != ENOTCONN)
        fail(agent, "it takes no requests");
    else if (n > 0)
        agent->out_at += (size_t)n;
    if (agent->watch && agent->out_at == agent->out.len)
        loop_watch_change(agent->watch, LOOP_READABLE);
}

static void on_socket(void *data, int events) {
    struct ssh_agent *agent = data;
    bool waiting = !agent->listed || agent->signing;
    if (agent->out_at < agent->out.len)
        write_some(agent);
    if (!agent->failed && (events & LOOP_READABLE))
        read_some(agent);
    bool done = agent->failed || (agent->listed && !agent->signing);
    if (done && waiting)
        agent->changed(agent->data);
}

static void on_limit(void *data) {
    struct ssh_agent *agent = data;
    agent->limit = NULL;
    fail(agent, "it does not answer");
    agent->changed(agent->data);
}

static void put_number(struct buf *out, size_t value) {
    for (int shift = 24; shift >= 0; shift -= 8)
        buf_putc(out, (char)(value >> shift));
}

static void request(struct ssh_agent *agent, struct str body, uint64_t limit_ms) {
    buf_clear(&agent->out);
    agent->out_at = 0;
    put_number(&agent->out, body.len);
    buf_add(&agent->out, body.at, body.len);
    agent->limit = loop_timer_start(agent->loop, limit_ms, 0, on_limit, agent);
    loop_watch_change(agent->watch, LOOP_READABLE | LOOP_WRITABLE);
}

static int connect_to(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return -1;
    memcpy(address.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0)
        return -1;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0 || errno == EINPROGRESS)
        return fd;
    close(fd);
    return -1;
}

struct ssh_agent *ssh_agent_open(const struct ssh_agent *like, const char *path) {
    struct ssh_agent *agent = mem_dup(like, sizeof *like);
    agent->fd = connect_to(path);
    agent->watch = agent->fd < 0
                       ? NULL
                       : loop_watch_start(agent->loop, agent->fd, LOOP_WRITABLE, on_socket, agent);
    if (agent->watch)
        request(agent, (struct str){(const char[]){LIST}, 1}, LIST_LIMIT_MS);
    else
        fail(agent, "nobody listens at its socket");
    return agent;
}

void ssh_agent_sign(struct ssh_agent *agent, struct str blob, struct str data, uint32_t flags) {
    struct buf body = {0};
    buf_putc(&body, SIGN);
    put_number(&body, blob.len);
    buf_add(&body, blob.at, blob.len);
    put_number(&body, data.len);
    buf_add(&body, data.at, data.len);
    put_number(&body, flags);
    agent->signing = true;
    agent->has_signature = false;
    request(agent, buf_str(&body), SIGN_LIMIT_MS);
    buf_free(&body);
}

void ssh_agent_free(struct ssh_agent *agent) {
    if (!agent)
        return;
    stop(agent);
    for (size_t i = 0; i < agent->n_keys; i++)
        free(agent->keys[i].blob);
    free(agent->keys);
    buf_free(&agent->out);
    buf_free(&agent->in);
    buf_free(&agent->signature);
    free(agent);
}
