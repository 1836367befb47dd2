/* SPDX-License-Identifier: Apache-2.0 */
/* One copy from beginning to end: it opens both files, makes folders, closes and names them, cleans
 * up after a failure, and has the sentences that say why. It also decides how many bytes may be
 * under way. The bytes themselves move in sftp_put.c and sftp_get.c. */
#include "transport/wire/sftp.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define OPEN_READ 0x01u
#define OPEN_NEW (0x02u | 0x08u | 0x20u) /* write, create, exclusively */
#define ATTR_SIZE 0x01u
#define ATTR_OWNER 0x02u
#define ATTR_MODE 0x04u
#define TYPE_MASK 0170000u
#define TYPE_FOLDER 0040000u
#define TYPE_FILE 0100000u
#define FULL_BELOW ((uint64_t)1 << 20) /* bytes; less free space than this is "no space left" */
#define LEAST_WINDOW ((uint64_t)64 << 10)
#define MOST_WINDOW ((uint64_t)8 << 20)
#define LEAST_CHUNK 32768u
#define GOOD_WAIT_NS 250000000ull /* an answer later than the fastest by less: more at once */
#define BAD_WAIT_NS 1000000000ull /* by more: less at once */

static const char *host_of(const struct sftp_task *task) {
    return task->copy->transport->route.name;
}

static void send_request(struct sftp_task *task, sftp_reply_fn *fn) {
    sftp_send(task->sftp, &(struct sftp_request){.task = task, .fn = fn}, STR(""));
}

/* ------------------------------------------------------------------------------------- the end */

static void end_task(struct sftp_task *task, const struct err *why) {
    task->over = true;
    transport_copy_end(task->copy, why);
}

void sftp_task_cut(struct sftp_task *task, const struct err *why) {
    if (!task->over)
        end_task(task, why);
}

void sftp_task_free(struct sftp_task *task) {
    sftp_file_drop(task->file);
    for (size_t i = 0; i < task->full.len; i++)
        free(task->full.at[i].at);
    vec_free(&task->full);
    free(task->block.at);
    free(task->part);
    free(task);
}

static void on_cleaned(struct sftp_task *task, const struct sftp_request *request,
                       const struct sftp_reply *reply) {
    (void)task, (void)request, (void)reply;
}

static void send_close(struct sftp_task *task, sftp_reply_fn *fn) {
    sftp_begin(task->sftp, SFTP_CLOSE);
    sftp_put_str(task->sftp, task->handle, task->handle_len);
    task->handle_len = 0;
    send_request(task, fn);
}

static void send_remove(struct sftp_task *task, const char *path, sftp_reply_fn *fn) {
    sftp_begin(task->sftp, SFTP_REMOVE);
    sftp_put_str(task->sftp, path, strlen(path));
    send_request(task, fn);
}

void sftp_task_settle(struct sftp_task *task) {
    if (!task->failing || task->over || task->in_flight || (task->file && task->file->busy))
        return;
    if (task->handle_len)
        send_close(task, on_cleaned);
    if (task->part_there)
        send_remove(task, task->part, on_cleaned);
    task->part_there = false;
    if (!task->in_flight)
        end_task(task, &task->why);
}

void sftp_task_fail(struct sftp_task *task, const struct err *why) {
    if (task->failing || task->over)
        return;
    task->failing = true;
    task->why = *why;
    sftp_task_settle(task);
}

/* ------------------------------------------------------------------------------- why it failed */

struct refusal {
    uint32_t status;
    const char *put, *get; /* follows "cannot open X on HOST: " */
};
static const struct refusal refusals[] = {
    {SFTP_NO_SUCH_FILE, "a folder above it does not exist", "there is no such file"},
    {SFTP_PERMISSION_DENIED, "permission denied; look who owns it and its folder",
     "permission denied; look who owns it and may read it"},
    {SFTP_UNSUPPORTED, "the server cannot do that", "the server cannot do that"},
};

static void describe(struct sftp_task *task, const struct sftp_reply *reply, const char *what) {
    bool put = task->copy->spec.kind == TRANSPORT_PUT;
    struct buf said = {0};
    text_sanitise(&said, (struct str){reply->message.at, MIN_OF(reply->message.len, (size_t)200)});
    const char *reason = said.len ? said.at : "the server gives no reason";
    for (size_t i = 0; i < COUNT_OF(refusals); i++)
        if (reply->type == SFTP_STATUS && refusals[i].status == reply->status)
            reason = put ? refusals[i].put : refusals[i].get;
    err_set(&task->why, ERR_ENVIRONMENT, "cannot %s %s on %s: %s", what, task->copy->remote,
            host_of(task), reason);
    buf_free(&said);
}

static void on_space(struct sftp_task *task, const struct sftp_request *request,
                     const struct sftp_reply *reply) {
    (void)request;
    struct str body = reply->body;
    uint64_t block, fragment, blocks, free_blocks, available;
    if (reply->type != SFTP_EXTENDED_REPLY || !sftp_take_u64(&body, &block) ||
        !sftp_take_u64(&body, &fragment) || !sftp_take_u64(&body, &blocks) ||
        !sftp_take_u64(&body, &free_blocks) || !sftp_take_u64(&body, &available))
        return;
    if (!fragment || available < FULL_BELOW / fragment)
        err_set(&task->why, ERR_ENVIRONMENT,
                "no space left on %s for %s: make room there and try "
                "again",
                host_of(task), task->copy->remote);
}

/* SFTP has no status for a full disk. The server says "Failure", so we have to look. */
static void ask_space(struct sftp_task *task) {
    static const char name[] = "statvfs@openssh.com";
    char *folder = path_folder(task->copy->remote);
    sftp_begin(task->sftp, SFTP_EXTENDED);
    sftp_put_str(task->sftp, name, sizeof name - 1);
    sftp_put_str(task->sftp, folder, strlen(folder));
    send_request(task, on_space);
    free(folder);
}

void sftp_task_refused(struct sftp_task *task, const struct sftp_reply *reply, const char *what) {
    if (task->failing || task->over)
        return;
    task->failing = true;
    describe(task, reply, what);
    bool perhaps_full = reply->type == SFTP_STATUS && reply->status == SFTP_FAILURE &&
                        task->copy->spec.kind == TRANSPORT_PUT;
    if (perhaps_full && task->sftp->statvfs)
        ask_space(task);
    sftp_task_settle(task);
}

/* ---------------------------------------------------------------------------- how much at once */

void sftp_task_timed(struct sftp_task *task, const struct sftp_request *request) {
    uint64_t took = clock_monotonic_ns() - request->sent_ns;
    task->flying -= request->size;
    if (!task->fastest_ns || took < task->fastest_ns)
        task->fastest_ns = took;
    if (took < task->fastest_ns + GOOD_WAIT_NS)
        task->window = MIN_OF(task->window + request->size, MOST_WINDOW);
    else if (took > task->fastest_ns + BAD_WAIT_NS)
        task->window = MAX_OF(task->window / 2, LEAST_WINDOW);
}

uint32_t sftp_task_room(const struct sftp_task *task, uint32_t most) {
    uint32_t chunk = (uint32_t)MIN_OF((uint64_t)most, MAX_OF(task->window / 8, LEAST_CHUNK));
    return !task->flying || task->flying + chunk <= task->window ? chunk : 0;
}

/* ---------------------------------------------------------------------------------- the steps */

static void pump(struct sftp_task *task) {
    if (task->failing || task->over || task->finishing)
        return;
    if (task->copy->spec.kind == TRANSPORT_PUT)
        sftp_put_pump(task);
    else
        sftp_get_pump(task);
}

static void open_part(struct sftp_task *task);

static void on_folder(struct sftp_task *task, const struct sftp_request *request,
                      const struct sftp_reply *reply) {
    (void)request;
    if (reply->status == SFTP_PERMISSION_DENIED)
        sftp_task_refused(task, reply, "make a folder for");
}

/* Makes all folders above, from the top. Those that exist are refused, which is fine. The server
 * works in order, so the file can be opened again without waiting. */
static void make_folders(struct sftp_task *task) {
    const char *path = task->copy->remote;
    task->folders_made = true;
    for (const char *at = path + 1; *path && *at; at++) {
        if (*at != '/')
            continue;
        sftp_begin(task->sftp, SFTP_MKDIR);
        sftp_put_str(task->sftp, path, (size_t)(at - path));
        sftp_put_u32(task->sftp, ATTR_MODE);
        sftp_put_u32(task->sftp, 0700);
        send_request(task, on_folder);
    }
}

static bool keep_handle(struct sftp_task *task, const struct sftp_reply *reply) {
    struct str body = reply->body, handle;
    if (reply->type != SFTP_HANDLE || !sftp_take_str(&body, &handle) || !handle.len ||
        handle.len > sizeof task->handle)
        return false;
    memcpy(task->handle, handle.at, handle.len);
    task->handle_len = handle.len;
    return true;
}

static void on_part_open(struct sftp_task *task, const struct sftp_request *request,
                         const struct sftp_reply *reply) {
    (void)request;
    if (keep_handle(task, reply)) {
        task->part_there = true;
        pump(task);
    } else if (!task->failing && reply->status == SFTP_NO_SUCH_FILE && task->copy->spec.make_dirs &&
               !task->folders_made) {
        make_folders(task);
        open_part(task);
    } else {
        sftp_task_refused(task, reply, "write");
    }
}

static void send_open(struct sftp_task *task, const char *path, uint32_t flags, sftp_reply_fn *fn) {
    sftp_begin(task->sftp, SFTP_OPEN);
    sftp_put_str(task->sftp, path, strlen(path));
    sftp_put_u32(task->sftp, flags);
    sftp_put_u32(task->sftp, flags == OPEN_NEW ? ATTR_MODE : 0);
    if (flags == OPEN_NEW)
        sftp_put_u32(task->sftp, 0600);
    send_request(task, fn);
}

static void open_part(struct sftp_task *task) {
    if (!task->part) {
        unsigned char random[6] = {0};
        struct buf name = {0};
        (void)!getentropy(random, sizeof random);
        buf_printf(&name, "%s.", task->copy->remote);
        for (size_t i = 0; i < sizeof random; i++)
            buf_printf(&name, "%02x", random[i]);
        task->part = buf_take(&name);
    }
    send_open(task, task->part, OPEN_NEW, on_part_open);
}

static void on_file_changed(void *data) {
    struct sftp_task *task = data;
    if (task->file->err.kind != ERR_NONE)
        sftp_task_fail(task, &task->file->err);
    sftp_task_settle(task);
    if (task->failing || task->over)
        return;
    if (task->file->finished) {
        end_task(task, NULL);
    } else if (task->copy->spec.kind == TRANSPORT_PUT && !task->local_open) {
        task->size = task->file->size;
        task->local_open = true;
        open_part(task);
    } else {
        task->local_open = true;
        pump(task);
    }
}

static void open_local(struct sftp_task *task) {
    bool writes = task->copy->spec.kind == TRANSPORT_GET;
    task->file = sftp_file_open(&(struct sftp_file){.loop = task->copy->transport->loop,
                                                    .changed = on_file_changed,
                                                    .data = task,
                                                    .path = task->copy->local,
                                                    .writes = writes,
                                                    .make_dirs = task->copy->spec.make_dirs});
}

static bool take_attributes(struct str body, uint64_t *size, uint32_t *mode) {
    uint32_t flags, owner;
    *size = *mode = 0;
    if (!sftp_take_u32(&body, &flags))
        return false;
    if ((flags & ATTR_SIZE) && !sftp_take_u64(&body, size))
        return false;
    if ((flags & ATTR_OWNER) && (!sftp_take_u32(&body, &owner) || !sftp_take_u32(&body, &owner)))
        return false;
    return !(flags & ATTR_MODE) || sftp_take_u32(&body, mode);
}

static void on_attributes(struct sftp_task *task, const struct sftp_request *request,
                          const struct sftp_reply *reply) {
    (void)request;
    const struct transport_copy *copy = task->copy;
    uint32_t mode;
    struct err why = {0};
    if (reply->type != SFTP_ATTRS || !take_attributes(reply->body, &task->size, &mode)) {
        sftp_task_refused(task, reply, "read");
        return;
    }
    uint32_t type = mode & TYPE_MASK;
    if (type && type != TYPE_FILE)
        err_set(&why, ERR_USAGE, "%s on %s is %s, not a file", copy->remote, host_of(task),
                type == TYPE_FOLDER ? "a folder" : "a device");
    else if (copy->spec.max_bytes && task->size > copy->spec.max_bytes)
        err_set(&why, ERR_ENVIRONMENT, "%s on %s has %.1f MB, more than the limit of %.1f MB",
                copy->remote, host_of(task), (double)task->size * 1e-6,
                (double)copy->spec.max_bytes * 1e-6);
    if (why.kind != ERR_NONE) {
        sftp_task_fail(task, &why);
        return;
    }
    task->to_end = task->size == 0; /* files of /proc say 0 and still have content */
    if (!task->failing)
        open_local(task);
}

static void on_remote_open(struct sftp_task *task, const struct sftp_request *request,
                           const struct sftp_reply *reply) {
    (void)request;
    if (!keep_handle(task, reply)) {
        sftp_task_refused(task, reply, "read");
        return;
    }
    if (task->failing)
        return;
    sftp_begin(task->sftp, SFTP_FSTAT);
    sftp_put_str(task->sftp, task->handle, task->handle_len);
    send_request(task, on_attributes);
}

void sftp_task_start(struct sftp_task *task) {
    task->moving = true;
    task->window = 2 * LEAST_WINDOW;
    if (task->copy->spec.kind == TRANSPORT_GET) {
        send_open(task, task->copy->remote, OPEN_READ, on_remote_open);
    } else if (task->copy->local) {
        open_local(task);
    } else {
        task->size = task->copy->spec.size;
        open_part(task);
    }
}

/* ---------------------------------------------------------------------------- closing, naming */

static void on_named(struct sftp_task *task, const struct sftp_request *request,
                     const struct sftp_reply *reply) {
    (void)request;
    if (reply->type != SFTP_STATUS || reply->status != SFTP_OK) {
        sftp_task_refused(task, reply, "write");
        return;
    }
    task->part_there = false;
    end_task(task, NULL); /* even when it was cancelled meanwhile, because the file is there */
}

static void send_rename(struct sftp_task *task, sftp_reply_fn *fn) {
    static const char extension[] = "posix-rename@openssh.com";
    bool posix = task->sftp->posix_rename;
    sftp_begin(task->sftp, posix ? SFTP_EXTENDED : SFTP_RENAME);
    if (posix)
        sftp_put_str(task->sftp, extension, sizeof extension - 1);
    sftp_put_str(task->sftp, task->part, strlen(task->part));
    sftp_put_str(task->sftp, task->copy->remote, strlen(task->copy->remote));
    send_request(task, fn);
}

/* Plain SFTP does not rename over a file. So the old file goes first, and for a moment there is
 * none. */
static void on_first_rename(struct sftp_task *task, const struct sftp_request *request,
                            const struct sftp_reply *reply) {
    if (reply->status == SFTP_OK || task->sftp->posix_rename || task->failing) {
        on_named(task, request, reply);
        return;
    }
    send_remove(task, task->copy->remote, on_cleaned);
    send_rename(task, on_named);
}

static void on_closed(struct sftp_task *task, const struct sftp_request *request,
                      const struct sftp_reply *reply) {
    (void)request;
    if (reply->status != SFTP_OK)
        sftp_task_refused(task, reply, "write");
    else if (!task->failing)
        send_rename(task, on_first_rename);
}

static void on_mode(struct sftp_task *task, const struct sftp_request *request,
                    const struct sftp_reply *reply) {
    (void)request;
    if (reply->status != SFTP_OK)
        sftp_task_refused(task, reply, "set the mode of");
}

void sftp_task_moved(struct sftp_task *task) {
    task->finishing = true;
    if (task->copy->spec.kind == TRANSPORT_GET) {
        send_close(task, on_cleaned);
        sftp_file_finish(task->file);
        return;
    }
    int mode = task->copy->spec.mode;
    if (mode && mode != 0600) {
        sftp_begin(task->sftp, SFTP_FSETSTAT);
        sftp_put_str(task->sftp, task->handle, task->handle_len);
        sftp_put_u32(task->sftp, ATTR_MODE);
        sftp_put_u32(task->sftp, (uint32_t)mode & 07777);
        send_request(task, on_mode);
    }
    send_close(task, on_closed);
}
