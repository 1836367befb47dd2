/* SPDX-License-Identifier: Apache-2.0 */
/* The SFTP protocol over a command channel: it opens the channel when a copy comes, closes it when
 * idle, and has packets, requests and their replies. Any transport that can start the "sftp"
 * subsystem copies files this way. libssh2's own SFTP cannot rename over a file or learn the
 * server's limits. sftp_copy.c knows what a copy does with the replies. */
#include "transport/wire/sftp.h"

#include <stdlib.h>

#define LARGEST_PACKET (((size_t)1 << 18) + 4096)
#define USUAL_CHUNK 32768u    /* what every server takes */
#define LARGEST_CHUNK 261120u /* what OpenSSH takes, and itself asks for */
#define IDLE_MS 3000
#define MOST_TASKS 8 /* copies that move at once */
#define MOST_COMPLAINT 400

/* ------------------------------------------------------------------------------------ packets */

void sftp_put_u32(struct transport_sftp *sftp, uint32_t value) {
    char bytes[4] = {(char)(value >> 24), (char)(value >> 16), (char)(value >> 8), (char)value};
    buf_add(&sftp->out, bytes, sizeof bytes);
}

void sftp_put_u64(struct transport_sftp *sftp, uint64_t value) {
    sftp_put_u32(sftp, (uint32_t)(value >> 32));
    sftp_put_u32(sftp, (uint32_t)value);
}

void sftp_put_str(struct transport_sftp *sftp, const void *text, size_t size) {
    sftp_put_u32(sftp, (uint32_t)size);
    buf_add(&sftp->out, text, size);
}

void sftp_begin(struct transport_sftp *sftp, enum sftp_type type) {
    buf_clear(&sftp->out);
    sftp_put_u32(sftp, 0); /* the length; it is filled in when it is known */
    buf_putc(&sftp->out, (char)type);
    if (type != SFTP_INIT)
        sftp_put_u32(sftp, sftp->next_id);
}

static void send_packet(struct transport_sftp *sftp, struct str tail) {
    size_t size = sftp->out.len - 4 + tail.len;
    for (int i = 0; i < 4; i++)
        sftp->out.at[i] = (char)(size >> (24 - 8 * i));
    transport_command_write(sftp->command, sftp->out.at, sftp->out.len);
    if (tail.len)
        transport_command_write(sftp->command, tail.at, tail.len);
}

void sftp_send(struct transport_sftp *sftp, const struct sftp_request *request, struct str tail) {
    struct sftp_request *mine = vec_push(&sftp->requests);
    *mine = *request;
    mine->id = sftp->next_id++;
    mine->sent_ns = clock_monotonic_ns();
    if (mine->task)
        mine->task->in_flight++;
    send_packet(sftp, tail);
}

bool sftp_take_u32(struct str *body, uint32_t *value) {
    if (body->len < 4)
        return false;
    const unsigned char *at = (const unsigned char *)body->at;
    *value = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    body->at += 4;
    body->len -= 4;
    return true;
}

bool sftp_take_u64(struct str *body, uint64_t *value) {
    uint32_t high, low;
    if (!sftp_take_u32(body, &high) || !sftp_take_u32(body, &low))
        return false;
    *value = (uint64_t)high << 32 | low;
    return true;
}

bool sftp_take_str(struct str *body, struct str *text) {
    uint32_t size;
    if (!sftp_take_u32(body, &size) || size > body->len)
        return false;
    *text = (struct str){body->at, size};
    body->at += size;
    body->len -= size;
    return true;
}

/* -------------------------------------------------------------------------------- the channel */

static void cut_all(struct transport_sftp *sftp, const struct err *why) {
    for (size_t i = 0; i < sftp->tasks.len; i++)
        sftp_task_cut(sftp->tasks.at[i], why);
    sftp->requests.len = 0;
    sftp->ready = false;
}

/* The input is not SFTP. Mostly the cause is a shell that prints something at login. */
static void give_up(struct transport_sftp *sftp) {
    struct err why;
    err_set(&why, ERR_ENVIRONMENT,
            "%s does not speak SFTP: it sent something else, perhaps text that "
            "its shell prints at every login (.bashrc); file transfer needs that silent",
            sftp->transport->route.name);
    cut_all(sftp, &why);
    sftp->closing = true;
    transport_command_kill(sftp->command);
}

static void start_tasks(struct transport_sftp *sftp) {
    size_t moving = 0;
    for (size_t i = 0; i < sftp->tasks.len && moving < MOST_TASKS; i++) {
        struct sftp_task *task = sftp->tasks.at[i];
        if (task->over)
            continue;
        moving++;
        if (!task->moving && !task->failing)
            sftp_task_start(task);
    }
}

static void close_idle(void *data) {
    struct transport_sftp *sftp = data;
    sftp->idle = NULL;
    sftp->closing = true;
    transport_command_close_input(sftp->command);
}

static void watch_idle(struct transport_sftp *sftp) {
    bool idle = sftp->ready && !sftp->closing && !sftp->requests.len && !sftp->tasks.len;
    if (!idle)
        loop_timer_stop(sftp->idle);
    if (!idle)
        sftp->idle = NULL;
    else if (!sftp->idle)
        sftp->idle = loop_timer_start(sftp->transport->loop, IDLE_MS, 0, close_idle, sftp);
}

/* A request without a function belongs to the channel. */
static void ask_limits(struct transport_sftp *sftp) {
    static const char name[] = "limits@openssh.com";
    sftp_begin(sftp, SFTP_EXTENDED);
    sftp_put_str(sftp, name, sizeof name - 1);
    sftp_send(sftp, &(struct sftp_request){0}, STR(""));
}

static bool greeted(struct transport_sftp *sftp, struct str body) {
    uint32_t version;
    struct str name, value;
    bool limits = false;
    if (!sftp_take_u32(&body, &version) || version < 3)
        return false;
    while (sftp_take_str(&body, &name) && sftp_take_str(&body, &value)) {
        limits |= str_is(name, "limits@openssh.com");
        sftp->posix_rename |= str_is(name, "posix-rename@openssh.com");
        sftp->statvfs |= str_is(name, "statvfs@openssh.com");
    }
    sftp->ready = true;
    if (limits)
        ask_limits(sftp); /* requests are answered in order, so nobody waits for it */
    start_tasks(sftp);
    return true;
}

/* ------------------------------------------------------------------------------------ replies */

static void set_limit(uint32_t *limit, uint64_t told) {
    if (told >= USUAL_CHUNK)
        *limit = (uint32_t)MIN_OF(told, (uint64_t)LARGEST_CHUNK);
}

static void take_limits(struct transport_sftp *sftp, const struct sftp_reply *reply) {
    struct str body = reply->body;
    uint64_t packet, read, write;
    if (reply->type == SFTP_EXTENDED_REPLY && sftp_take_u64(&body, &packet) &&
        sftp_take_u64(&body, &read) && sftp_take_u64(&body, &write)) {
        set_limit(&sftp->max_read, read);
        set_limit(&sftp->max_write, write);
    }
}

static bool parse_reply(struct str packet, uint32_t *id, struct sftp_reply *reply) {
    *reply = (struct sftp_reply){.type = (uint8_t)packet.at[0]};
    reply->body = (struct str){packet.at + 1, packet.len - 1};
    if (!sftp_take_u32(&reply->body, id))
        return false;
    struct str body = reply->body;
    if (reply->type != SFTP_STATUS)
        return true;
    if (!sftp_take_u32(&body, &reply->status))
        return false;
    if (!sftp_take_str(&body, &reply->message))
        reply->message = STR("");
    return true;
}

static bool take_request(struct transport_sftp *sftp, uint32_t id, struct sftp_request *request) {
    for (size_t i = 0; i < sftp->requests.len; i++) {
        if (sftp->requests.at[i].id != id)
            continue;
        *request = sftp->requests.at[i];
        memmove(&sftp->requests.at[i], &sftp->requests.at[i + 1],
                (sftp->requests.len - i - 1) * sizeof *request);
        sftp->requests.len--;
        return true;
    }
    return false;
}

static bool take_packet(struct transport_sftp *sftp, struct str packet) {
    struct sftp_reply reply;
    struct sftp_request request;
    uint32_t id;
    if (!sftp->ready)
        return packet.at[0] == SFTP_VERSION &&
               greeted(sftp, (struct str){packet.at + 1, packet.len - 1});
    if (!parse_reply(packet, &id, &reply) || !take_request(sftp, id, &request))
        return false;
    if (!request.fn)
        take_limits(sftp, &reply);
    if (request.task) {
        request.task->in_flight--;
        request.fn(request.task, &request, &reply);
        sftp_task_settle(request.task);
    }
    return true;
}

static void on_bytes(void *data, enum loop_stream stream, struct str text, bool whole) {
    struct transport_sftp *sftp = data;
    (void)whole;
    if (stream == LOOP_STDERR) {
        buf_add(&sftp->complaint, text.at,
                MIN_OF(text.len, MOST_COMPLAINT - MIN_OF(sftp->complaint.len, MOST_COMPLAINT)));
        return;
    }
    if (sftp->closing)
        return;
    buf_add(&sftp->in, text.at, text.len);
    bool good = true;
    while (good && !sftp->closing) {
        struct str rest = {sftp->in.at + sftp->in_at, sftp->in.len - sftp->in_at};
        uint32_t size;
        if (!sftp_take_u32(&rest, &size))
            break;
        good = size >= 5 && size <= LARGEST_PACKET;
        if (!good || rest.len < size)
            break;
        sftp->in_at += 4 + size;
        good = take_packet(sftp, (struct str){rest.at, size});
    }
    if (!good)
        give_up(sftp);
    size_t left = sftp->in.len - sftp->in_at;
    memmove(sftp->in.at, sftp->in.at + sftp->in_at, left);
    sftp->in.len = left;
    sftp->in_at = 0;
    watch_idle(sftp);
}

static void open_channel(struct transport_sftp *sftp);

static void on_channel_end(void *data, const struct transport_exit *exit) {
    struct transport_sftp *sftp = data;
    struct err why = exit->err;
    sftp->command = NULL;
    if (exit->end != TRANSPORT_LOST && exit->end != TRANSPORT_REFUSED) {
        struct buf said = {0};
        text_sanitise(&said, str_trim(buf_str(&sftp->complaint)));
        err_set(&why, ERR_ENVIRONMENT,
                "file transfer with %s ended%s%.300s; is sftp-server installed "
                "there, and does its sshd_config have a Subsystem line for sftp?",
                sftp->transport->route.name, said.len ? ": " : "", said.len ? said.at : "");
        buf_free(&said);
    }
    bool expected = sftp->closing;
    loop_timer_stop(sftp->idle);
    sftp->idle = NULL;
    if (!expected)
        cut_all(sftp, &why);
    bool wanted = false;
    for (size_t i = 0; i < sftp->tasks.len; i++)
        wanted |= !sftp->tasks.at[i]->over;
    if (wanted && exit->end != TRANSPORT_LOST)
        open_channel(sftp); /* a copy came while it was closing */
}

static void open_channel(struct transport_sftp *sftp) {
    struct transport_command_spec spec = {.keep_input = true,
                                          .out = LOOP_RAW,
                                          .err = LOOP_RAW,
                                          .on_output = on_bytes,
                                          .on_exit = on_channel_end,
                                          .data = sftp};
    sftp->ready = sftp->closing = sftp->posix_rename = sftp->statvfs = false;
    sftp->max_read = sftp->max_write = USUAL_CHUNK;
    sftp->requests.len = 0;
    sftp->in_at = 0;
    buf_clear(&sftp->in);
    buf_clear(&sftp->complaint);
    sftp->command = transport_subsystem_start(sftp->transport, "sftp", &spec);
    sftp_begin(sftp, SFTP_INIT);
    sftp_put_u32(sftp, 3);
    send_packet(sftp, STR(""));
}

/* ------------------------------------------------------------------------------- the interface */

void transport_sftp_copy(struct transport *transport, struct transport_copy *copy) {
    struct transport_sftp *sftp = transport->sftp;
    if (!sftp) {
        sftp = transport->sftp = mem_alloc(1, sizeof *sftp);
        sftp->transport = transport;
    }
    struct sftp_task *task = mem_alloc(1, sizeof *task);
    task->sftp = sftp;
    task->copy = copy;
    copy->own = task;
    *vec_push(&sftp->tasks) = task;
    if (!sftp->command)
        open_channel(sftp);
    else if (sftp->ready && !sftp->closing)
        start_tasks(sftp);
    watch_idle(sftp);
}

void transport_sftp_cancel(struct transport_copy *copy) {
    struct sftp_task *task = copy->own;
    struct err why;
    err_set(&why, ERR_CANCELLED, "the copy of %s was cancelled", copy->remote);
    if (task->moving)
        sftp_task_fail(task, &why);
    else
        sftp_task_cut(task, &why);
}

static void forget_task(struct transport_sftp *sftp, const struct sftp_task *task) {
    for (size_t i = 0; i < sftp->requests.len; i++)
        if (sftp->requests.at[i].task == task)
            sftp->requests.at[i].task = NULL;
    for (size_t i = 0; i < sftp->tasks.len; i++)
        if (sftp->tasks.at[i] == task) {
            memmove(&sftp->tasks.at[i], &sftp->tasks.at[i + 1],
                    (sftp->tasks.len - i - 1) * sizeof(struct sftp_task *));
            sftp->tasks.len--;
            return;
        }
}

void transport_sftp_drop(struct transport_copy *copy) {
    struct sftp_task *task = copy->own;
    struct transport_sftp *sftp = task->sftp;
    forget_task(sftp, task);
    sftp_task_free(task);
    copy->own = NULL;
    if (sftp->command && sftp->ready && !sftp->closing)
        start_tasks(sftp);
    watch_idle(sftp);
}

void transport_sftp_free(struct transport *transport) {
    struct transport_sftp *sftp = transport->sftp;
    if (!sftp)
        return;
    sftp->closing = true; /* nothing new is started */
    while (sftp->tasks.len)
        transport_sftp_drop(sftp->tasks.at[0]->copy);
    if (sftp->command) {
        sftp->command->spec.on_output = NULL;
        sftp->command->spec.on_exit = NULL;
    }
    loop_timer_stop(sftp->idle);
    buf_free(&sftp->in);
    buf_free(&sftp->out);
    buf_free(&sftp->complaint);
    vec_free(&sftp->requests);
    vec_free(&sftp->tasks);
    free(sftp);
    transport->sftp = NULL;
}
