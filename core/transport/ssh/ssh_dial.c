/* SPDX-License-Identifier: Apache-2.0 */
/* The first stage. A worker thread looks up the host's addresses and reads known_hosts and the key
 * files. Then it connects to whichever address answers first. Each further address is tried a
 * moment after the one before it, so that a dead IPv6 route does not cost the whole time limit. */
#include "transport/ssh/ssh_link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define MOST_ATTEMPTS 12
#define STAGGER_MS 300
#define UNSENT_MOST 65536 /* bytes that the system may hold back; more only adds delay */

struct attempt {
    struct ssh_link *link;
    const struct addrinfo *address;
    int fd;
    struct loop_watch *watch;
};
struct ssh_dial {
    struct attempt attempts[MOST_ATTEMPTS];
    size_t count, open;
    const struct addrinfo *next;
    struct loop_timer *stagger;
    int last_errno;
};

/* ------------------------------------------------------------------------------- the handshake */

#if LIBSSH2_VERSION_NUM < 0x010b00
/* The fast ones first: AES in counter mode with 128 bits, and the quickest secure MAC of
 * libssh2. */
#define CIPHERS "aes128-ctr,aes256-ctr,aes192-ctr"
#define MACS "hmac-sha2-256,hmac-sha2-512,hmac-sha1"
#else
#define CIPHERS "aes128-gcm@openssh.com,aes256-gcm@openssh.com,aes128-ctr,aes256-ctr,aes192-ctr"
#define MACS                                                                     \
    "hmac-sha2-256-etm@openssh.com,hmac-sha2-512-etm@openssh.com,hmac-sha2-256," \
    "hmac-sha2-512,hmac-sha1"
#endif

static void set_preferences(struct ssh_link *link) {
    static const struct {
        int method;
        const char *names;
    } rows[] = {
        {LIBSSH2_METHOD_CRYPT_CS, CIPHERS},
        {LIBSSH2_METHOD_CRYPT_SC, CIPHERS},
        {LIBSSH2_METHOD_MAC_CS, MACS},
        {LIBSSH2_METHOD_MAC_SC, MACS},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        libssh2_session_method_pref(link->session, rows[i].method, rows[i].names);
    struct buf order = {0};
    ssh_known_order(&link->known, &order);
    libssh2_session_method_pref(link->session, LIBSSH2_METHOD_HOSTKEY, order.at);
    buf_free(&order);
}

static void handshake_failed(struct ssh_link *link, int status) {
    const struct transport_route *route = &link->route;
    bool agreed =
        status != LIBSSH2_ERROR_KEX_FAILURE && status != LIBSSH2_ERROR_KEY_EXCHANGE_FAILURE;
    if (!agreed && !link->hung_up)
        ssh_link_unable(link, "libssh2 %s and the server have no common way to encrypt (%s)",
                        libssh2_version(0), ssh_link_last_error(link));
    else if (link->hung_up)
        ssh_link_end(link, ERR_ENVIRONMENT,
                     "%s port %d closed the connection before it was set up%s%s: "
                     "is an SSH server there, and does it let this machine in?",
                     route->host, route->port, link->net_errno ? ", " : "",
                     link->net_errno ? strerror(link->net_errno) : "");
    else
        ssh_link_end(link, ERR_ENVIRONMENT, "%s port %d does not speak SSH as libssh2 knows it: %s",
                     route->host, route->port, ssh_link_last_error(link));
}

static void handshake(struct ssh_link *link) {
    int status = libssh2_session_handshake(link->session, link->fd);
    if (status == LIBSSH2_ERROR_EAGAIN)
        return;
    if (status != 0) {
        handshake_failed(link, status);
        return;
    }
    ssh_verify_start(link);
}

/* ---------------------------------------------------------------------------------- connecting */

static void try_next(void *data);

static void end_attempt(struct attempt *attempt) {
    loop_watch_stop(attempt->watch);
    attempt->watch = NULL;
    if (attempt->fd >= 0)
        close(attempt->fd);
    attempt->fd = -1;
}

void ssh_dial_free(struct ssh_link *link) {
    struct ssh_dial *dial = link->dial;
    if (!dial)
        return;
    for (size_t i = 0; i < dial->count; i++)
        end_attempt(&dial->attempts[i]);
    loop_timer_stop(dial->stagger);
    free(dial);
    link->dial = NULL;
}

static void nobody_answers(struct ssh_link *link) {
    const struct transport_route *route = &link->route;
    int code = link->dial->last_errno;
    ssh_dial_free(link);
    if (code == ECONNREFUSED)
        ssh_link_end(link, ERR_ENVIRONMENT,
                     "%s refuses connections to port %d: is its SSH server "
                     "running, and is that the port?",
                     route->host, route->port);
    else
        ssh_link_end(link, ERR_ENVIRONMENT, "cannot connect to %s port %d: %s", route->host,
                     route->port, strerror(code));
}

static void use_options(int fd) {
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
#ifdef TCP_NOTSENT_LOWAT
    int most = UNSENT_MOST;
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &most, sizeof most);
#endif
}

static void connected(struct attempt *attempt) {
    struct ssh_link *link = attempt->link;
    int fd = attempt->fd;
    loop_watch_stop(attempt->watch);
    attempt->watch = NULL;
    attempt->fd = -1;
    if (getnameinfo(attempt->address->ai_addr, attempt->address->ai_addrlen, link->address,
                    sizeof link->address, NULL, 0, NI_NUMERICHOST) != 0)
        snprintf(link->address, sizeof link->address, "%s", link->route.host);
    ssh_dial_free(link);
    use_options(fd);
    link->fd = fd;
    link->stage = handshake;
    if (ssh_link_make_session(link)) {
        set_preferences(link);
        ssh_link_turn(link);
    } else {
        ssh_link_end(link, ERR_ENVIRONMENT, "libssh2 cannot make a session");
    }
}

static void on_attempt(void *data, int events) {
    struct attempt *attempt = data;
    struct ssh_link *link = attempt->link;
    int code = 0;
    socklen_t size = sizeof code;
    (void)events;
    if (getsockopt(attempt->fd, SOL_SOCKET, SO_ERROR, &code, &size) != 0)
        code = errno;
    if (code == 0) {
        connected(attempt);
        return;
    }
    link->dial->last_errno = code;
    link->dial->open--;
    end_attempt(attempt);
    if (link->dial->next)
        try_next(link);
    else if (!link->dial->open)
        nobody_answers(link);
}

/* True when the connection is under way or made. The callback comes in either case. */
static bool start_attempt(struct ssh_link *link, const struct addrinfo *address) {
    struct ssh_dial *dial = link->dial;
    struct attempt *attempt = &dial->attempts[dial->count];
    int fd = socket(address->ai_family, SOCK_STREAM, 0);
    if (fd < 0) {
        dial->last_errno = errno;
        return false;
    }
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    if (connect(fd, address->ai_addr, address->ai_addrlen) != 0 && errno != EINPROGRESS) {
        dial->last_errno = errno;
        close(fd);
        return false;
    }
    *attempt = (struct attempt){.link = link, .address = address, .fd = fd};
    attempt->watch = loop_watch_start(link->loop, fd, LOOP_WRITABLE, on_attempt, attempt);
    dial->count++;
    dial->open++;
    return true;
}

static void on_stagger(void *data) {
    struct ssh_link *link = data;
    link->dial->stagger = NULL;
    try_next(link);
}

static void try_next(void *data) {
    struct ssh_link *link = data;
    struct ssh_dial *dial = link->dial;
    bool started = false;
    while (!started && dial->next) {
        started = start_attempt(link, dial->next);
        dial->next = dial->count < MOST_ATTEMPTS ? dial->next->ai_next : NULL;
    }
    if (!dial->open) {
        nobody_answers(link);
        return;
    }
    loop_timer_stop(dial->stagger);
    dial->stagger =
        dial->next ? loop_timer_start(link->loop, STAGGER_MS, 0, on_stagger, link) : NULL;
}

/* ------------------------------------------------------------------------ before: what to know */

/* Runs on a worker thread, because all of this may wait for a network. */
static void look_up(struct ssh_link *link) {
    const struct transport_route *route = &link->route;
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    char port[16];
    snprintf(port, sizeof port, "%d", route->port);
    link->lookup_status = getaddrinfo(route->host, port, &hints, &link->addresses);
    if (link->lookup_status != 0) { /* ::1 without another IPv6 address */
        hints.ai_flags = AI_NUMERICHOST;
        if (getaddrinfo(route->host, port, &hints, &link->addresses) == 0)
            link->lookup_status = 0;
        else
            return;
    }
    for (size_t i = 0; route->known_hosts[i]; i++)
        ssh_known_read(&link->known, route->known_hosts[i], route->host_key_name, route->port);
    size_t count = 0;
    while (route->identities[count])
        count++;
    link->keys = mem_alloc(count, sizeof *link->keys);
    for (; link->n_keys < count; link->n_keys++)
        ssh_key_read(&link->keys[link->n_keys], route->identities[link->n_keys]);
}

static void looked_up(struct ssh_link *link) {
    const struct transport_route *route = &link->route;
    int status = link->lookup_status;
    if (status == EAI_AGAIN || status == EAI_SYSTEM)
        ssh_link_end(link, ERR_ENVIRONMENT,
                     "the name %s cannot be looked up now (%s): is there a "
                     "network?",
                     route->host, gai_strerror(status));
    else if (status != 0)
        ssh_link_end(link, ERR_USAGE,
                     "there is no host %s (%s): look at the spelling, and at HostName "
                     "in ~/.ssh/config",
                     route->host, gai_strerror(status));
    if (status != 0)
        return;
    link->dial = mem_alloc(1, sizeof *link->dial);
    link->dial->next = link->addresses;
    try_next(link);
}

void ssh_dial_start(struct ssh_link *link) {
    ssh_link_job(link, look_up, looked_up);
}
