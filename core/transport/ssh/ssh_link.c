/* SPDX-License-Identifier: Apache-2.0 */
/* The libssh2 way: the life of a connection. It has the bytes between socket and libssh2, turns of
 * the loop, jobs that borrow the session, questions, time limits, keep-alive and the end. The
 * stages decide what is said over the connection. */
#include "transport/ssh/ssh_link.h"
#include "transport/ssh/ssh.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define IN_SIZE ((size_t)1 << 18) /* bytes taken from the socket in one turn */
#define FREE_TRIES 100
#define LIBSSH2_OF_PLAIN_BLOCKS 0x010b00
#define UNANSWERED_MOST 3

static void free_link(struct ssh_link *link);

/* --------------------------------------------------------------------- libssh2's memory, bytes */

/* libssh2 frees passphrases, passwords and keys without wiping them. Before 1.11 it also loses
 * memory when it is stopped in the middle of some calls. So each block knows its size, and the link
 * knows its blocks. Since 1.11 libssh2 frees some blocks past its own function (ECDSA signatures in
 * 1.11.1), so there the blocks are malloc's own. */
struct ssh_block {
    struct ssh_block *next, **to_this;
    size_t size;
    max_align_t at[];
};

static LIBSSH2_ALLOC_FUNC(allocate) {
    struct ssh_link *link = *abstract;
    if (link->plain_blocks)
        return mem_resize(NULL, 1, count);
    struct ssh_block *block = mem_resize(NULL, 1, sizeof *block + count);
    block->size = count;
    block->next = link->blocks;
    block->to_this = &link->blocks;
    if (block->next)
        block->next->to_this = &block->next;
    link->blocks = block;
    return block->at;
}

void *ssh_link_allocate(struct ssh_link *link, size_t size) {
    void *abstract = link;
    return allocate(size, &abstract);
}

static struct ssh_block *block_of(void *ptr) {
    return (struct ssh_block *)(void *)((char *)ptr - offsetof(struct ssh_block, at));
}

static size_t size_of(const struct ssh_link *link, void *ptr) {
    return link->plain_blocks ? os_block_size(ptr) : block_of(ptr)->size;
}

static LIBSSH2_FREE_FUNC(release) {
    const struct ssh_link *link = *abstract;
    if (!ptr)
        return;
    if (link->stage != ssh_serve) /* what comes later is no secret of ours */
        explicit_bzero(ptr, size_of(link, ptr));
    if (link->plain_blocks) {
        free(ptr);
        return;
    }
    struct ssh_block *block = block_of(ptr);
    *block->to_this = block->next;
    if (block->next)
        block->next->to_this = block->to_this;
    free(block);
}

static LIBSSH2_REALLOC_FUNC(reallocate) {
    const struct ssh_link *link = *abstract;
    if (link->plain_blocks && (!ptr || !os_block_size(ptr)))
        return mem_resize(ptr, 1, count);
    void *fresh = allocate(count, abstract);
    if (ptr)
        memcpy(fresh, ptr, MIN_OF(count, size_of(link, ptr)));
    release(ptr, abstract);
    return fresh;
}

static LIBSSH2_RECV_FUNC(give_received) {
    struct ssh_link *link = *abstract;
    (void)socket, (void)flags;
    if (link->mute)
        return -EPIPE;
    if (link->talk) /* on the thread of the talk: straight from the socket */
        return ssh_talk_receive(link, buffer, length);
    size_t left = link->in_len - link->in_at;
    if (left && !link->hold) {
        size_t take = MIN_OF(left, length);
        memcpy(buffer, link->in + link->in_at, take);
        link->in_at += take;
        return (ssize_t)take;
    }
    /* While commands run the turn reports the end, because after an error libssh2 would no longer
     * give out what it has. */
    if (!left && link->hung_up && link->stage != ssh_serve)
        return link->net_errno ? -link->net_errno : 0;
    return -EAGAIN;
}

static LIBSSH2_SEND_FUNC(take_to_send) {
    struct ssh_link *link = *abstract;
    (void)socket, (void)flags;
    if (link->talk)
        return ssh_talk_send(link, buffer, length);
    if (!link->mute)
        buf_add(&link->out, buffer, length);
    return (ssize_t)length;
}

static LIBSSH2_DISCONNECT_FUNC(keep_goodbye) {
    struct ssh_link *link = *abstract;
    struct buf text = {0};
    (void)session, (void)reason, (void)language, (void)language_len;
    text_sanitise(&text, (struct str){message, message_len > 0 ? (size_t)message_len : 0});
    snprintf(link->goodbye, sizeof link->goodbye, "%s", text.len ? text.at : "");
    link->hung_up = true;
    buf_free(&text);
}

static void set_callback(LIBSSH2_SESSION *session, int kind, void (*fn)(void)) {
#if LIBSSH2_VERSION_NUM >= 0x010b01
    libssh2_session_callback_set2(session, kind, (libssh2_cb_generic *)fn);
#else
    union {
        void (*fn)(void);
        void *data;
    } callback = {fn};
    libssh2_session_callback_set(session, kind, callback.data);
#endif
}

bool ssh_link_make_session(struct ssh_link *link) {
    link->plain_blocks = libssh2_version(LIBSSH2_OF_PLAIN_BLOCKS) != NULL;
    link->session = libssh2_session_init_ex(allocate, release, reallocate, link);
    if (!link->session)
        return false;
    set_callback(link->session, LIBSSH2_CALLBACK_RECV, (void (*)(void))give_received);
    set_callback(link->session, LIBSSH2_CALLBACK_SEND, (void (*)(void))take_to_send);
    set_callback(link->session, LIBSSH2_CALLBACK_DISCONNECT, (void (*)(void))keep_goodbye);
    libssh2_session_set_blocking(link->session, 0);
    link->in = mem_resize(NULL, 1, IN_SIZE);
    return true;
}

static void on_socket(void *data, int events);

/* Reads once in a turn, after what was left of the last read. */
static void fill(struct ssh_link *link) {
    if (link->in_at == link->in_len)
        link->in_at = link->in_len = 0;
    if (link->fd < 0 || link->hung_up || link->in_len == IN_SIZE)
        return;
    ssize_t n;
    do
        n = recv(link->fd, link->in + link->in_len, IN_SIZE - link->in_len, 0);
    while (n < 0 && errno == EINTR);
    if (n > 0) {
        link->in_len += (size_t)n;
        link->heard = true;
    } else if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) {
        link->hung_up = true;
        link->net_errno = n == 0 ? 0 : errno;
    }
}

void ssh_link_flush(struct ssh_link *link) {
    while (link->out_at < link->out.len && !link->net_errno) {
        ssize_t n =
            send(link->fd, link->out.at + link->out_at, link->out.len - link->out_at, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (n < 0) { /* what came before it may still be read */
            link->out_at = link->out.len;
            break;
        }
        link->out_at += (size_t)n;
    }
    link->out_at = 0;
    link->out.len = 0;
}

size_t ssh_link_backlog(const struct ssh_link *link) {
    return link->out.len - link->out_at;
}

/* --------------------------------------------------------------------------------------- turns */

static bool is_lent(const struct ssh_link *link) {
    return link->busy || link->talk;
}

static void update_watch(struct ssh_link *link) {
    if (link->fd < 0)
        return;
    int events = (link->hung_up ? 0 : LOOP_READABLE) | (ssh_link_backlog(link) ? LOOP_WRITABLE : 0);
    if (is_lent(link))
        events = 0;
    if (!link->watch)
        link->watch = loop_watch_start(link->loop, link->fd, events, on_socket, link);
    else
        loop_watch_change(link->watch, events);
}

void ssh_link_lend(struct ssh_link *link) {
    if (link->fd < 0)
        return;
    ssh_link_flush(link);
    update_watch(link);
}

static void on_soon(void *data) {
    struct ssh_link *link = data;
    link->soon = NULL;
    ssh_link_turn(link);
}

void ssh_link_wake(struct ssh_link *link) {
    link->turn_again = true;
    if (!link->in_turn && !is_lent(link) && !link->soon && !link->over)
        link->soon = loop_timer_start(link->loop, 0, 0, on_soon, link);
}

static void lost(struct ssh_link *link) {
    const char *why = link->goodbye[0]  ? link->goodbye
                      : link->net_errno ? strerror(link->net_errno)
                                        : "the other side closed it";
    if (link->stage == ssh_serve)
        ssh_link_end(link, ERR_ENVIRONMENT, "the connection to %s was lost: %s", link->route.name,
                     why);
    else
        ssh_link_end(link, ERR_ENVIRONMENT, "%s ended the connection during login: %s",
                     link->route.name, why);
}

void ssh_link_turn(struct ssh_link *link) {
    if (is_lent(link) || link->over || link->in_turn)
        return;
    link->in_turn = true;
    link->turn_again = false;
    fill(link);
    size_t before = link->in_len - link->in_at;
    if (link->stage)
        link->stage(link);
    bool taken = link->in_len - link->in_at < before;
    if (link->fd >= 0 && !is_lent(link))
        ssh_link_flush(link);
    link->in_turn = false;
    if (link->over || is_lent(link))
        return;
    if (link->hung_up && !taken && !link->hold) {
        lost(link);
        return;
    }
    link->turn_again |= taken && (link->in_at < link->in_len || link->hung_up);
    update_watch(link);
    if (link->turn_again)
        ssh_link_wake(link);
}

static void on_socket(void *data, int events) {
    (void)events;
    ssh_link_turn(data);
}

/* ---------------------------------------------------------------------------------------- jobs */

static void do_work(void *data) {
    struct ssh_link *link = data;
    link->work(link);
}

static void work_done(void *data) {
    struct ssh_link *link = data;
    link->busy = false;
    if (!link->transport) {
        free_link(link);
        return;
    }
    if (link->over)
        return;
    link->worked(link);
    ssh_link_wake(link);
}

void ssh_link_job(struct ssh_link *link, ssh_link_fn *work, ssh_link_fn *worked) {
    link->busy = true;
    link->work = work;
    link->worked = worked;
    ssh_link_lend(link);
    loop_job_start_owned(link->loop, do_work, work_done, link);
}

/* ---------------------------------------------------------------------- questions, limits, end */

static void wipe_answer(struct ssh_link *link) {
    if (link->answer)
        explicit_bzero(link->answer, strlen(link->answer));
    free(link->answer);
    link->answer = NULL;
}

void ssh_link_ask(struct ssh_link *link, const struct transport_question *question,
                  ssh_link_fn *fn) {
    loop_timer_stop(link->limit); /* people take their time */
    link->limit = NULL;
    link->answered = fn;
    transport_ask(link->transport, question);
}

static void answer(struct transport *transport, const char *text) {
    struct ssh_link *link = transport->own;
    ssh_link_fn *fn = link->answered;
    if (!fn || link->over)
        return;
    link->answered = NULL;
    ssh_link_limit(link);
    wipe_answer(link);
    link->answer = mem_strdup(text);
    fn(link);
    wipe_answer(link);
    ssh_link_wake(link);
}

static void on_limit(void *data) {
    struct ssh_link *link = data;
    link->limit = NULL;
    ssh_link_end(link, ERR_ENVIRONMENT,
                 "%s did not answer within %.3g s (%s port %d): is it up, and is "
                 "there a way to it from this network?",
                 link->route.name, link->route.connect_limit_s, link->route.host, link->route.port);
}

void ssh_link_limit(struct ssh_link *link) {
    loop_timer_stop(link->limit);
    link->limit = loop_timer_start(link->loop, (uint64_t)(link->route.connect_limit_s * 1000), 0,
                                   on_limit, link);
}

/* Nothing more is expected of the link; its transport closes it later. */
static void stop(struct ssh_link *link) {
    link->over = true;
    link->stage = NULL;
    loop_timer_stop(link->limit);
    loop_timer_stop(link->keepalive);
    loop_timer_stop(link->soon);
    link->limit = link->keepalive = link->soon = NULL;
    loop_watch_stop(link->watch);
    link->watch = NULL;
}

void ssh_link_end(struct ssh_link *link, enum err_kind kind, const char *format, ...) {
    if (link->over)
        return;
    struct buf text = {0};
    struct err why;
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    err_set(&why, kind, "%s", text.at);
    buf_free(&text);
    stop(link);
    transport_end(link->transport, &why);
}

void ssh_link_unable(struct ssh_link *link, const char *format, ...) {
    if (link->over)
        return;
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    stop(link);
    transport_unable(link->transport, text.at);
    buf_free(&text);
}

const char *ssh_link_last_error(const struct ssh_link *link) {
    char *text = NULL;
    libssh2_session_last_error(link->session, &text, NULL, 0);
    return text && *text ? text : "no reason given";
}

/* After a silence the server is asked something. Any answer counts. */
static void on_keepalive(void *data) {
    struct ssh_link *link = data;
    if (link->heard) {
        link->heard = false;
        link->unanswered = 0;
        return;
    }
    if (++link->unanswered > UNANSWERED_MOST) {
        ssh_link_end(link, ERR_ENVIRONMENT,
                     "the connection to %s was lost: %d keep-alives in %.3g s got "
                     "no answer",
                     link->route.name, UNANSWERED_MOST, UNANSWERED_MOST * link->route.keepalive_s);
        return;
    }
    link->probe_wanted = true;
    ssh_link_turn(link);
}

static void free_keys(struct ssh_link *link) {
    for (size_t i = 0; i < link->n_keys; i++)
        ssh_key_free(&link->keys[i]);
    free(link->keys);
    link->keys = NULL;
    link->n_keys = 0;
}

void ssh_link_ready(struct ssh_link *link, const char *how) {
    loop_timer_stop(link->limit);
    link->limit = NULL;
    free_keys(link); /* their private parts are wiped as soon as possible */
    uint64_t every = (uint64_t)(link->route.keepalive_s * 1000);
    link->keepalive = loop_timer_start(link->loop, every, every, on_keepalive, link);
    link->stage = ssh_serve;
    snprintf(link->transport->description, sizeof link->transport->description,
             "%s@%s (libssh2, %s)", link->route.user, link->address, how);
    transport_ready(link->transport);
}

/* ---------------------------------------------------------------------------------- begin, end */

static const char *const *copy_list(struct arena *arena, const char *const *list) {
    size_t count = 0;
    while (list && list[count])
        count++;
    const char **copy = ARENA_ARRAY(arena, const char *, count + 1);
    for (size_t i = 0; i < count; i++)
        copy[i] = arena_strdup(arena, list[i]);
    return copy;
}

static const char *copy_text(struct arena *arena, const char *text) {
    return text ? arena_strdup(arena, text) : NULL;
}

static void copy_route(struct ssh_link *link, const struct transport_route *route) {
    struct arena *arena = link->arena = arena_new();
    struct transport_route *own = &link->route;
    *own = *route;
    own->name = copy_text(arena, route->name);
    own->host = copy_text(arena, route->host);
    own->user = copy_text(arena, route->user);
    own->host_key_name =
        copy_text(arena, route->host_key_name ? route->host_key_name : route->host);
    own->agent = copy_text(arena, route->agent);
    own->identities = copy_list(arena, route->identities);
    own->known_hosts = copy_list(arena, route->known_hosts);
}

static void open_link(struct transport *transport) {
    struct ssh_link *link = mem_alloc(1, sizeof *link);
    link->loop = transport->loop;
    link->transport = transport;
    link->fd = -1;
    transport->own = link;
    copy_route(link, &transport->route);
    libssh2_init(0);
    ssh_link_limit(link);
    ssh_dial_start(link);
}

/* Tells the server, if the socket takes that at once. Frees the session without waiting for
 * anybody. */
static void free_session(struct ssh_link *link) {
    if (!link->session)
        return;
    if (!link->hung_up)
        libssh2_session_disconnect(link->session, "done");
    ssh_link_flush(link);
    link->mute = true;
    for (int i = 0; i < FREE_TRIES; i++)
        if (libssh2_session_free(link->session) != LIBSSH2_ERROR_EAGAIN)
            break;
    void *abstract = link;
    while (link->blocks)
        release(link->blocks->at, &abstract);
}

static void free_link(struct ssh_link *link) {
    ssh_auth_free(link);
    ssh_serve_free(link);
    free_session(link);
    ssh_dial_free(link);
    if (link->fd >= 0)
        close(link->fd);
    free_keys(link);
    if (link->addresses)
        freeaddrinfo(link->addresses);
    ssh_known_free(&link->known);
    wipe_answer(link);
    buf_free(&link->out);
    free(link->in);
    free(link->host_type);
    free(link->host_key);
    arena_free(link->arena);
    free(link);
    libssh2_exit();
}

static void close_link(struct transport *transport) {
    struct ssh_link *link = transport->own;
    if (!link)
        return;
    stop(link);
    ssh_talk_free(link->talk);
    link->talk = NULL;
    link->transport = NULL;
    if (link->busy && link->fd >= 0)
        shutdown(link->fd, SHUT_RDWR);
    if (!link->busy)
        free_link(link);
}

static void input_came(struct transport_command *command) {
    ssh_link_wake(command->transport->own);
}

const struct transport_ops transport_libssh2_ops = {
    .open = open_link,
    .answer = answer,
    .close = close_link,
    .command_start = ssh_channel_start,
    .command_input = input_came,
    .command_kill = ssh_channel_kill,
    .command_drop = ssh_channel_drop,
};
