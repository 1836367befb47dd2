/* SPDX-License-Identifier: Apache-2.0 */
/* The relay passes bytes between the connections of one port and those of another: slowly, not at
 * all or no longer, as the test says in shared memory. It is a process of its own, so that a test
 * that blocks does not hold up its own network. */
#include "hosts/lab.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"

#define LINKS 128
#define CHUNK 16384
#define TICK_MS 5

struct flow {
    char bytes[CHUNK];
    size_t at, len;
    bool ended; /* its source sent an end, which is passed on when it is empty */
};
struct link {
    int fds[2];           /* -1 when free */
    struct flow flows[2]; /* from fds[i] to fds[!i] */
};
struct hub {
    struct keeper_relay *relay;
    int listener;
    struct link links[LINKS];
    double budget[2]; /* bytes that may pass now, by direction */
    uint64_t last_ns;
};

/* ------------------------------------------------------------------------------ in the process */

static int listen_on(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 64) != 0) {
        close(fd);
        return -1;
    }
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

static int connect_to(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static void prepare(int fd) {
    int on = 1;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static void drop(struct hub *hub, struct link *link, bool reset) {
    struct linger hard = {.l_onoff = 1, .l_linger = 0};
    for (int i = 0; i < 2; i++) {
        if (reset)
            setsockopt(link->fds[i], SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        close(link->fds[i]);
        link->fds[i] = -1;
    }
    hub->relay->connections--;
}

static void take_connection(struct hub *hub) {
    int fd = accept(hub->listener, NULL, NULL);
    if (fd < 0)
        return;
    int other = connect_to(hub->relay->to_port);
    struct link *free_link = NULL;
    for (size_t i = 0; !free_link && i < LINKS; i++)
        if (hub->links[i].fds[0] < 0)
            free_link = &hub->links[i];
    if (other < 0 || !free_link) {
        close(fd);
        if (other >= 0)
            close(other);
        return;
    }
    prepare(fd);
    prepare(other);
    memset(free_link->flows, 0, sizeof free_link->flows);
    free_link->fds[0] = fd;
    free_link->fds[1] = other;
    hub->relay->connections++;
}

static bool would_block(void) {
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/* False when the connection is over. */
static bool pass(struct hub *hub, struct link *link, int from) {
    struct flow *flow = &link->flows[from];
    if (!flow->len && !flow->ended) {
        ssize_t n = recv(link->fds[from], flow->bytes, CHUNK, 0);
        if (n < 0)
            return would_block();
        flow->at = 0;
        flow->len = (size_t)n;
        flow->ended = n == 0;
        if (flow->ended)
            shutdown(link->fds[!from], SHUT_WR);
    }
    size_t most = flow->len;
    if (hub->relay->bytes_per_s && (double)most > hub->budget[from])
        most = hub->budget[from] > 0 ? (size_t)hub->budget[from] : 0;
    if (!most)
        return true;
    ssize_t n = send(link->fds[!from], flow->bytes + flow->at, most, MSG_NOSIGNAL);
    if (n < 0)
        return would_block();
    flow->at += (size_t)n;
    flow->len -= (size_t)n;
    hub->budget[from] -= (double)n;
    hub->relay->bytes += (uint64_t)n;
    return true;
}

static void fill_budgets(struct hub *hub) {
    uint64_t now = clock_monotonic_ns();
    double rate = hub->relay->bytes_per_s;
    for (int i = 0; i < 2; i++) {
        hub->budget[i] += (double)(now - hub->last_ns) * 1e-9 * rate;
        if (hub->budget[i] > rate * 0.05 + 1)
            hub->budget[i] = rate * 0.05 + 1;
    }
    hub->last_ns = now;
}

static void follow_orders(struct hub *hub) {
    if (hub->relay->cut && hub->listener >= 0) {
        for (size_t i = 0; i < LINKS; i++)
            if (hub->links[i].fds[0] >= 0)
                drop(hub, &hub->links[i], true);
        close(hub->listener);
        hub->listener = -1;
    }
    if (!hub->relay->cut && hub->listener < 0)
        hub->listener = listen_on(hub->relay->port);
    hub->relay->is_cut = hub->listener < 0;
}

/* Waits for what may read or write something. A flow that waits for its budget wakes with the
 * tick. */
static void wait_for_something(struct hub *hub) {
    struct pollfd fds[1 + 2 * LINKS];
    nfds_t count = 0;
    bool slow = hub->relay->bytes_per_s != 0;
    fds[count++] = (struct pollfd){.fd = hub->listener, .events = POLLIN};
    for (size_t i = 0; i < LINKS && !hub->relay->stalled; i++) {
        for (int end = 0; end < 2 && hub->links[i].fds[0] >= 0; end++) {
            const struct flow *out = &hub->links[i].flows[end], *in = &hub->links[i].flows[!end];
            short events =
                (short)((!out->len && !out->ended ? POLLIN : 0) | (in->len && !slow ? POLLOUT : 0));
            if (events)
                fds[count++] = (struct pollfd){.fd = hub->links[i].fds[end], .events = events};
        }
    }
    poll(hub->relay->stalled ? NULL : fds, hub->relay->stalled ? 0 : count, TICK_MS);
}

static void serve_link(struct hub *hub, struct link *link) {
    if (link->fds[0] < 0)
        return;
    bool over = !pass(hub, link, 0) || !pass(hub, link, 1);
    bool both_ended = link->flows[0].ended && link->flows[1].ended;
    if (over || both_ended)
        drop(hub, link, over);
}

void relay_main(struct keeper_relay *relay) {
    struct hub *hub = calloc(1, sizeof *hub);
    hub->relay = relay;
    hub->listener = -1;
    for (size_t i = 0; i < LINKS; i++)
        hub->links[i].fds[0] = hub->links[i].fds[1] = -1;
    hub->last_ns = clock_monotonic_ns();
    relay->is_cut = 1;
    for (;;) {
        follow_orders(hub);
        wait_for_something(hub);
        fill_budgets(hub);
        if (relay->stalled || relay->cut)
            continue;
        take_connection(hub);
        for (size_t i = 0; i < LINKS; i++)
            serve_link(hub, &hub->links[i]);
    }
}

/* --------------------------------------------------------------------------------- in the test */

struct relay {
    struct keeper_relay shared;
};

static void wait_until_cut_is(struct relay *relay, int cut) {
    for (int i = 0; i < 2000 && relay->shared.is_cut != cut; i++)
        usleep(5000);
    if (relay->shared.is_cut != cut)
        HONE_BUG("the relay does not do as it is told");
}

struct relay *relay_start(struct lab *lab, int to_port) {
    int number = lab_take_relay(lab);
    struct relay *relay = (struct relay *)&keeper_relays(lab_keeper(lab))[number];
    relay->shared.to_port = to_port;
    relay->shared.port = lab_free_port();
    relay->shared.is_cut = 1;
    keeper_relay(lab_keeper(lab), number);
    wait_until_cut_is(relay, 0);
    return relay;
}

int relay_port(const struct relay *relay) {
    return relay->shared.port;
}

void relay_throttle(struct relay *relay, uint32_t bytes_per_s) {
    relay->shared.bytes_per_s = bytes_per_s;
}

void relay_stall(struct relay *relay, bool stalled) {
    relay->shared.stalled = stalled;
}

void relay_cut(struct relay *relay, bool cut) {
    relay->shared.cut = cut;
    wait_until_cut_is(relay, cut);
}

uint64_t relay_bytes(const struct relay *relay) {
    return relay->shared.bytes;
}

int relay_connections(const struct relay *relay) {
    return relay->shared.connections;
}
