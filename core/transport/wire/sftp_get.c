/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a get. They are asked for with many requests under way, gathered into blocks, and
 * written to the local file by jobs. When the local disk is slower than the network, no more is
 * asked for. */
#include "transport/wire/sftp.h"

#include <stdlib.h>

#define MOST_FULL 4 /* blocks that wait to be written */

static void send_read(struct sftp_task *task, uint64_t offset, uint32_t size);

static void queue_block(struct sftp_task *task) {
    if (task->block.len)
        *vec_push(&task->full) = task->block;
    else
        free(task->block.at);
    task->block = (struct sftp_block){0};
}

static void keep(struct sftp_task *task, uint64_t offset, struct str bytes) {
    while (bytes.len) {
        struct sftp_block *block = &task->block;
        if (block->at && (block->offset + block->len != offset || block->len == SFTP_BLOCK))
            queue_block(task);
        if (!block->at)
            *block = (struct sftp_block){mem_resize(NULL, 1, SFTP_BLOCK), 0, offset};
        size_t take = MIN_OF(bytes.len, SFTP_BLOCK - block->len);
        memcpy(block->at + block->len, bytes.at, take);
        block->len += take;
        offset += take;
        bytes.at += take;
        bytes.len -= take;
    }
}

static void fail(struct sftp_task *task, const char *what) {
    struct err why;
    err_set(&why, ERR_ENVIRONMENT, "%s on %s %s", task->copy->remote,
            task->copy->transport->route.name, what);
    sftp_task_fail(task, &why);
}

static void take_data(struct sftp_task *task, const struct sftp_request *request,
                      struct str bytes) {
    keep(task, request->offset, bytes);
    task->done += bytes.len;
    uint64_t limit = task->copy->spec.max_bytes;
    if (task->to_end)
        task->next = task->done;
    else if (bytes.len < request->size) /* a server may return less than was asked for */
        send_read(task, request->offset + bytes.len, request->size - (uint32_t)bytes.len);
    if (limit && task->done > limit)
        fail(task, "is longer than the limit that was set for it");
    transport_copy_progress(task->copy, task->done, MAX_OF(task->size, task->done));
}

static void on_data(struct sftp_task *task, const struct sftp_request *request,
                    const struct sftp_reply *reply) {
    struct str body = reply->body, bytes;
    sftp_task_timed(task, request);
    if (task->failing)
        return;
    bool at_end = reply->type == SFTP_STATUS && reply->status == SFTP_EOF;
    if (reply->type == SFTP_DATA && sftp_take_str(&body, &bytes) && bytes.len &&
        bytes.len <= request->size) {
        take_data(task, request, bytes);
    } else if (at_end && task->to_end) {
        task->to_end = false;
        task->size = task->done;
    } else if (at_end) {
        fail(task, "became shorter while it was copied");
    } else {
        sftp_task_refused(task, reply, "read");
    }
    if (!task->failing)
        sftp_get_pump(task);
}

static void send_read(struct sftp_task *task, uint64_t offset, uint32_t size) {
    sftp_begin(task->sftp, SFTP_READ);
    sftp_put_str(task->sftp, task->handle, task->handle_len);
    sftp_put_u64(task->sftp, offset);
    sftp_put_u32(task->sftp, size);
    sftp_send(task->sftp,
              &(struct sftp_request){.task = task, .fn = on_data, .offset = offset, .size = size},
              STR(""));
    task->flying += size;
}

static void write_full(struct sftp_task *task) {
    if (!task->full.len || task->file->busy)
        return;
    struct sftp_block block = task->full.at[0];
    memmove(task->full.at, task->full.at + 1, (task->full.len - 1) * sizeof block);
    task->full.len--;
    sftp_file_write(task->file, block.at, block.len, block.offset);
}

static void ask_for_more(struct sftp_task *task) {
    if (task->to_end) { /* one after the other, because only an answer shows the end */
        if (!task->in_flight)
            send_read(task, task->next, task->sftp->max_read);
        return;
    }
    while (task->next < task->size) {
        uint32_t room = sftp_task_room(task, task->sftp->max_read);
        if (!room)
            return;
        uint32_t size = (uint32_t)MIN_OF((uint64_t)room, task->size - task->next);
        send_read(task, task->next, size);
        task->next += size;
    }
}

void sftp_get_pump(struct sftp_task *task) {
    if (!task->local_open)
        return;
    if (task->full.len < MOST_FULL)
        ask_for_more(task);
    if (!task->to_end && task->done == task->size && task->block.at)
        queue_block(task);
    write_full(task);
    bool moved = !task->to_end && task->done == task->size && !task->in_flight;
    if (moved && !task->full.len && !task->file->busy)
        sftp_task_moved(task);
}
