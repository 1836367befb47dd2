/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions over a connection that the system's ssh holds, in the proxy mode of its multiplexing.
 * There is one local socket. On it hone speaks SSH's connection protocol (RFC 4254) for its own
 * channels, and ssh does the rest. So hone sees exit signals, refusals and windows as on a
 * connection of its own. client.c has the connection itself, its keys and its questions. */
#include "transport/client/own.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define WINDOW (2u << 20)
#define MOST_PACKET (32u << 10)
#define PACKET_LIMIT (256u << 10)      /* anything longer is not a packet */
#define READ_AT_ONCE 16384             /* then it is the turn of keys and frames */
#define OUT_ENOUGH ((size_t)256 << 10) /* input waits while this much is not sent */
#define RETRY_MS 100
#define MOST_RETRIES 50
#define GROW_AFTER 8 /* after this many ended sessions one more is tried at once */
#define MUX_VERSION 4

/* Numbers of PROTOCOL.mux and RFC 4254. */
enum {
    MUX_HELLO = 0x00000001,
    MUX_PROXY = 0x1000000f,
    MUX_PROXY_OK = (int)0x8000000f,
    MUX_DENIED = (int)0x80000002,
    MUX_FAILED = (int)0x80000003,
};
enum {
    MSG_OPEN = 90,
    MSG_OPENED,
    MSG_OPEN_FAILED,
    MSG_WINDOW,
    MSG_DATA,
    MSG_EXTENDED,
    MSG_EOF,
    MSG_CLOSE,
    MSG_REQUEST,
    MSG_SUCCESS,
    MSG_FAILURE,
};
enum { OPEN_PROHIBITED = 1, DATA_STDERR = 1 };

enum channel_state { CHANNEL_WAITING, CHANNEL_OPENING, CHANNEL_OPEN, CHANNEL_CLOSED };
/* One command's channel. It outlives a killed command until the server closes it. */
struct channel {
    struct mux *mux;
    struct transport_command *command; /* NULL: killed or dropped */
    enum channel_state state;
    uint32_t id, remote_id;
    uint32_t window, most_packet; /* of what we send */
    uint32_t taken;               /* of what came: not given back to the server's window yet */
    bool sent_eof, sent_close, has_exit;
    int retries;
    struct transport_exit exit;
};
struct mux {
    struct loop *loop;
    struct mux_callbacks callbacks;
    int fd;
    struct loop_watch *watch;
    struct loop_timer *retry;
    struct buf in, out;
    size_t out_at;
    bool proxied; /* the connection protocol is spoken */
    bool gone;
    uint32_t next_id;
    size_t limit;                   /* sessions that the server takes at once, if known */
    size_t calm;                    /* how many sessions ended since it refused one */
    VEC(struct channel *) channels; /* in order of start */
};

/* ------------------------------------------------------------------------------------- sending */

static void put_u32(struct buf *out, uint32_t value) {
    char bytes[4] = {(char)(value >> 24), (char)(value >> 16), (char)(value >> 8), (char)value};
    buf_add(out, bytes, sizeof bytes);
}

static void put_text(struct buf *out, struct str text) {
    put_u32(out, (uint32_t)text.len);
    buf_add(out, text.at, text.len);
}

static void gone(struct mux *mux, const char *why) {
    if (mux->gone)
        return;
    mux->gone = true;
    loop_watch_stop(mux->watch);
    mux->watch = NULL;
    mux->callbacks.on_gone(mux->callbacks.data, why);
}

/* Sends what the socket takes. The rest follows when the socket takes more. */
static void flush(struct mux *mux) {
    while (!mux->gone && mux->out_at < mux->out.len) {
        ssize_t n = send(mux->fd, mux->out.at + mux->out_at, mux->out.len - mux->out_at, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) /* reading will find the end, after all that came before it */
            break;
        mux->out_at += (size_t)n;
    }
    if (mux->out_at == mux->out.len) {
        buf_clear(&mux->out);
        mux->out_at = 0;
    }
    if (mux->watch)
        loop_watch_change(mux->watch, LOOP_READABLE | (mux->out.len ? LOOP_WRITABLE : 0));
}

/* A message of the connection protocol begins with its length, no padding and its number. */
static size_t begin(struct mux *mux, int message) {
    size_t start = mux->out.len;
    put_u32(&mux->out, 0);
    buf_putc(&mux->out, 0);
    buf_putc(&mux->out, (char)message);
    return start;
}

static void end(struct mux *mux, size_t start) {
    uint32_t len = (uint32_t)(mux->out.len - start - 4);
    unsigned char *at = (unsigned char *)mux->out.at + start;
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(len >> (24 - 8 * i));
}

static void send_short(struct channel *channel, int message) {
    size_t start = begin(channel->mux, message);
    put_u32(&channel->mux->out, channel->remote_id);
    end(channel->mux, start);
}

static void send_open(struct channel *channel) {
    struct mux *mux = channel->mux;
    channel->state = CHANNEL_OPENING;
    channel->id = mux->next_id++;
    size_t start = begin(mux, MSG_OPEN);
    put_text(&mux->out, STR("session"));
    put_u32(&mux->out, channel->id);
    put_u32(&mux->out, WINDOW);
    put_u32(&mux->out, MOST_PACKET);
    end(mux, start);
}

static void send_request(struct channel *channel) {
    struct mux *mux = channel->mux;
    const struct transport_command *command = channel->command;
    struct buf line = {0};
    if (command->subsystem)
        buf_puts(&line, command->subsystem);
    else
        transport_quote(&line, (const char *const *)command->argv);
    size_t start = begin(mux, MSG_REQUEST);
    put_u32(&mux->out, channel->remote_id);
    put_text(&mux->out, command->subsystem ? STR("subsystem") : STR("exec"));
    buf_putc(&mux->out, 1);
    put_text(&mux->out, buf_str(&line));
    end(mux, start);
    buf_free(&line);
}

static void send_close(struct channel *channel) {
    if (!channel->sent_close && channel->state == CHANNEL_OPEN)
        send_short(channel, MSG_CLOSE);
    channel->sent_close = true;
}

static void send_input(struct channel *channel) {
    struct mux *mux = channel->mux;
    struct transport_command *command = channel->command;
    while (command && channel->state == CHANNEL_OPEN && !channel->sent_eof &&
           !channel->sent_close && mux->out.len - mux->out_at < OUT_ENOUGH) {
        size_t most = MIN_OF(channel->window, MIN_OF(channel->most_packet, MOST_PACKET));
        struct str input = transport_command_peek(command, most);
        if (!input.len) {
            bool over = command->input_over && !transport_command_peek(command, 1).len;
            if (over)
                send_short(channel, MSG_EOF);
            channel->sent_eof = over;
            return;
        }
        size_t start = begin(mux, MSG_DATA);
        put_u32(&mux->out, channel->remote_id);
        put_text(&mux->out, input);
        end(mux, start);
        channel->window -= (uint32_t)input.len;
        transport_command_take(command, input.len);
    }
}

/* ------------------------------------------------------------------------------------ channels */

static size_t count_busy(const struct mux *mux) {
    size_t busy = 0;
    for (size_t i = 0; i < mux->channels.len; i++)
        busy += mux->channels.at[i]->state == CHANNEL_OPENING ||
                mux->channels.at[i]->state == CHANNEL_OPEN;
    return busy;
}

static void start_waiting(struct mux *mux) {
    size_t busy = count_busy(mux);
    for (size_t i = 0; mux->proxied && !mux->retry && i < mux->channels.len && busy < mux->limit;
         i++)
        if (mux->channels.at[i]->state == CHANNEL_WAITING) {
            send_open(mux->channels.at[i]);
            busy++;
        }
    flush(mux);
}

static void on_retry(void *data) {
    struct mux *mux = data;
    mux->retry = NULL;
    start_waiting(mux);
}

static void remove_channel(struct channel *channel) {
    struct mux *mux = channel->mux;
    for (size_t i = 0; i < mux->channels.len; i++)
        if (mux->channels.at[i] == channel) {
            memmove(&mux->channels.at[i], &mux->channels.at[i + 1],
                    (mux->channels.len - i - 1) * sizeof *mux->channels.at);
            mux->channels.len--;
            break;
        }
    if (channel->command)
        channel->command->own = NULL;
    free(channel);
}

static void finish_command(struct channel *channel, const struct transport_exit *result) {
    struct transport_command *command = channel->command;
    channel->command = NULL;
    if (!command)
        return;
    command->own = NULL;
    transport_command_end(command, result);
}

static struct channel *find_channel(const struct mux *mux, uint32_t id) {
    for (size_t i = 0; i < mux->channels.len; i++)
        if (mux->channels.at[i]->id == id && mux->channels.at[i]->state != CHANNEL_WAITING)
            return mux->channels.at[i];
    return NULL;
}

/* ------------------------------------------------------------------------------------ messages */

/* A message that is being read; `bad` when it turned out too short. */
struct message {
    struct str rest;
    bool bad;
};

static uint32_t get_u32(struct message *message) {
    if (message->rest.len < 4) {
        message->bad = true;
        message->rest.len = 0;
        return 0;
    }
    const unsigned char *b = (const unsigned char *)message->rest.at;
    message->rest.at += 4;
    message->rest.len -= 4;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static struct str get_text(struct message *message) {
    uint32_t len = get_u32(message);
    if (len > message->rest.len) {
        message->bad = true;
        len = 0;
    }
    struct str text = {message->rest.at, len};
    message->rest.at += len;
    message->rest.len -= len;
    return text;
}

static void on_opened(struct channel *channel, struct message *message) {
    channel->remote_id = get_u32(message);
    channel->window = get_u32(message);
    channel->most_packet = get_u32(message);
    if (channel->state != CHANNEL_OPENING)
        return;
    channel->state = CHANNEL_OPEN;
    if (!channel->command) { /* it was killed meanwhile */
        channel->sent_close = false;
        send_close(channel);
        return;
    }
    send_request(channel);
    send_input(channel);
}

/* The reason is mostly MaxSessions: the command waits until another one ends. */
static void on_open_failed(struct channel *channel, struct message *message) {
    struct mux *mux = channel->mux;
    uint32_t reason = get_u32(message);
    struct str text = get_text(message);
    if (channel->state != CHANNEL_OPENING)
        return;
    channel->state = CHANNEL_WAITING;
    size_t busy = count_busy(mux);
    if (!channel->command) {
        remove_channel(channel);
    } else if (busy || channel->retries++ < MOST_RETRIES) {
        mux->limit = MAX_OF(busy, (size_t)1);
        mux->calm = 0;
        if (!mux->retry)
            mux->retry = loop_timer_start(mux->loop, RETRY_MS, 0, on_retry, mux);
    } else {
        struct transport_exit refused = {.end = TRANSPORT_REFUSED};
        struct buf shown = {0};
        text_sanitise(&shown, (struct str){text.at, MIN_OF(text.len, (size_t)200)});
        err_set(&refused.err, ERR_ENVIRONMENT, "the server opens no session (%s, reason %u)%s",
                shown.at ? shown.at : "", (unsigned)reason,
                reason == OPEN_PROHIBITED ? ": it does not allow sessions" : "");
        buf_free(&shown);
        finish_command(channel, &refused);
        remove_channel(channel);
    }
}

static void widen_window(struct channel *channel, uint32_t by) {
    channel->window = by > UINT32_MAX - channel->window ? UINT32_MAX : channel->window + by;
    send_input(channel);
}

static void on_data(struct channel *channel, enum loop_stream stream, struct str bytes) {
    channel->taken += (uint32_t)bytes.len;
    if (channel->command)
        transport_command_bytes(channel->command, stream, bytes);
    if (channel->taken >= WINDOW / 2 && !channel->sent_close) {
        size_t start = begin(channel->mux, MSG_WINDOW);
        put_u32(&channel->mux->out, channel->remote_id);
        put_u32(&channel->mux->out, channel->taken);
        end(channel->mux, start);
        channel->taken = 0;
    }
}

static void on_request(struct channel *channel, struct message *message) {
    struct str kind = get_text(message);
    bool wants_reply = message->rest.len && message->rest.at[0];
    if (message->rest.len) {
        message->rest.at++;
        message->rest.len--;
    }
    if (str_is(kind, "exit-status")) {
        channel->exit.end = TRANSPORT_EXITED;
        channel->exit.status = (int)get_u32(message);
        channel->has_exit = !message->bad;
    } else if (str_is(kind, "exit-signal")) {
        struct str name = get_text(message);
        channel->exit.end = TRANSPORT_SIGNALLED;
        snprintf(channel->exit.signal, sizeof channel->exit.signal, "%.*s",
                 (int)MIN_OF(name.len, sizeof channel->exit.signal - 1), name.at);
        channel->has_exit = !message->bad;
    }
    if (wants_reply)
        send_short(channel, MSG_FAILURE);
}

/* The server does not run it at all. */
static void on_refused(struct channel *channel) {
    struct transport_exit refused = {.end = TRANSPORT_REFUSED};
    const struct transport_command *command = channel->command;
    err_set(&refused.err, ERR_ENVIRONMENT, "the server does not run %s%s",
            command && command->subsystem ? command->subsystem : "this command",
            command && command->subsystem ? " (is it switched off in its sshd_config?)" : "");
    finish_command(channel, &refused);
    send_close(channel);
}

static void on_close(struct channel *channel) {
    struct mux *mux = channel->mux;
    struct transport_exit result = channel->exit;
    if (!channel->has_exit) {
        result = (struct transport_exit){.end = TRANSPORT_LOST};
        err_set(&result.err, ERR_ENVIRONMENT,
                "the server closed the session without an exit status");
    }
    send_close(channel);
    channel->state = CHANNEL_CLOSED;
    finish_command(channel, &result);
    remove_channel(channel);
    if (mux->limit != SIZE_MAX && ++mux->calm % GROW_AFTER == 0)
        mux->limit++; /* it may have lacked sessions only for a while */
    start_waiting(mux);
}

static void on_message(struct mux *mux, int number, struct message *message) {
    struct channel *channel = find_channel(mux, get_u32(message));
    if (!channel)
        return;
    switch (number) {
    case MSG_OPENED: on_opened(channel, message); break;
    case MSG_OPEN_FAILED: on_open_failed(channel, message); break;
    case MSG_WINDOW: widen_window(channel, get_u32(message)); break;
    case MSG_DATA: on_data(channel, LOOP_STDOUT, get_text(message)); break;
    case MSG_EXTENDED:
        if (get_u32(message) == DATA_STDERR)
            on_data(channel, LOOP_STDERR, get_text(message));
        break;
    case MSG_REQUEST: on_request(channel, message); break;
    case MSG_FAILURE: on_refused(channel); break;
    case MSG_CLOSE: on_close(channel); break;
    default: /* EOF, success: nothing to do */ break;
    }
}

/* Before the proxy mode there are two messages: hello, then the answer to our request for the mode.
 * False: the connection is over. */
static bool on_mux_message(struct mux *mux, struct message *message) {
    int number = (int)get_u32(message);
    uint32_t value = get_u32(message);
    if (number == MUX_HELLO && value == MUX_VERSION)
        return true;
    if (number == MUX_PROXY_OK) {
        mux->proxied = true;
        mux->callbacks.on_ready(mux->callbacks.data);
        return true;
    }
    bool refused = number == MUX_DENIED || number == MUX_FAILED;
    gone(mux, refused
                  ? "this ssh client cannot share its connection with hone; OpenSSH 7.4 or newer "
                    "can"
                  : "hone does not understand the ssh client's answer");
    return false;
}

/* Takes whole packets from the input. */
static void take_packets(struct mux *mux) {
    size_t at = 0;
    while (!mux->gone && mux->in.len - at >= 4) {
        struct message message = {.rest = {mux->in.at + at, mux->in.len - at}};
        uint32_t len = get_u32(&message);
        if (len > PACKET_LIMIT || len < 2) {
            gone(mux, "hone does not understand what the ssh client sent");
            break;
        }
        if (message.rest.len < len)
            break;
        message.rest.len = len;
        at += 4 + (size_t)len;
        if (!mux->proxied) {
            if (!on_mux_message(mux, &message))
                break;
            continue;
        }
        int number = (unsigned char)message.rest.at[1];
        message.rest.at += 2;
        message.rest.len -= 2;
        on_message(mux, number, &message);
    }
    at = MIN_OF(at, mux->in.len);
    if (at)
        memmove(mux->in.at, mux->in.at + at, mux->in.len - at);
    mux->in.len -= at;
}

static void on_socket(void *data, int events) {
    struct mux *mux = data;
    char bytes[READ_AT_ONCE];
    if (events & LOOP_READABLE) {
        ssize_t n = recv(mux->fd, bytes, sizeof bytes, 0);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
            gone(mux, "the ssh client ended");
            return;
        }
        if (n > 0) {
            buf_add(&mux->in, bytes, (size_t)n);
            take_packets(mux);
        }
    }
    for (size_t i = 0; i < mux->channels.len; i++)
        send_input(mux->channels.at[i]);
    flush(mux);
}

/* ----------------------------------------------------------------------------------- the parts */

struct mux *mux_open(struct loop *loop, const char *path, const struct mux_callbacks *callbacks) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return NULL;
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0)
        return NULL;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return NULL;
    }
    struct mux *mux = mem_alloc(1, sizeof *mux);
    *mux = (struct mux){.loop = loop, .callbacks = *callbacks, .fd = fd, .limit = SIZE_MAX};
    put_u32(&mux->out, 8);
    put_u32(&mux->out, MUX_HELLO);
    put_u32(&mux->out, MUX_VERSION);
    put_u32(&mux->out, 8);
    put_u32(&mux->out, MUX_PROXY);
    put_u32(&mux->out, 0);
    mux->watch = loop_watch_start(loop, fd, LOOP_READABLE | LOOP_WRITABLE, on_socket, mux);
    return mux;
}

void mux_free(struct mux *mux) {
    if (!mux)
        return;
    while (mux->channels.len)
        remove_channel(mux->channels.at[0]);
    loop_watch_stop(mux->watch);
    loop_timer_stop(mux->retry);
    close(mux->fd);
    vec_free(&mux->channels);
    buf_free(&mux->in);
    buf_free(&mux->out);
    free(mux);
}

void mux_command_start(struct mux *mux, struct transport_command *command) {
    struct channel *channel = mem_alloc(1, sizeof *channel);
    channel->mux = mux;
    channel->command = command;
    command->own = channel;
    *vec_push(&mux->channels) = channel;
    start_waiting(mux);
}

void mux_command_input(struct transport_command *command) {
    struct channel *channel = command->own;
    if (!channel)
        return;
    send_input(channel);
    flush(channel->mux);
}

void mux_command_drop(struct transport_command *command) {
    struct channel *channel = command->own;
    struct mux *mux = channel->mux;
    channel->command = NULL;
    if (channel->state == CHANNEL_WAITING)
        remove_channel(channel);
    else
        send_close(channel);
    flush(mux);
}

void mux_command_kill(struct transport_command *command) {
    static const struct transport_exit killed = {.end = TRANSPORT_KILLED};
    if (command->own)
        mux_command_drop(command);
    command->own = NULL;
    transport_command_end(command, &killed);
}
