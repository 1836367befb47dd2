/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a put. They come from memory, or from a local file whose next block a job reads
 * while this one is sent. They are written with many requests under way. */
#include "transport/wire/sftp.h"

#include <stdlib.h>

static void on_written(struct sftp_task *task, const struct sftp_request *request,
                       const struct sftp_reply *reply) {
    sftp_task_timed(task, request);
    if (reply->type != SFTP_STATUS || reply->status != SFTP_OK) {
        sftp_task_refused(task, reply, "write");
        return;
    }
    task->done += request->size;
    transport_copy_progress(task->copy, task->done, task->size);
    if (!task->failing)
        sftp_put_pump(task);
}

/* Takes over the block that a job has read, and has the next one read. */
static void next_block(struct sftp_task *task) {
    struct sftp_file *file = task->file;
    if (file->busy)
        return;
    if (file->block && file->block_len < MIN_OF((uint64_t)SFTP_BLOCK, task->size - task->next)) {
        struct err why;
        err_set(&why, ERR_ENVIRONMENT, "%s became shorter while it was copied", file->path);
        sftp_task_fail(task, &why);
        return;
    }
    uint64_t next = task->next;
    if (file->block) {
        free(task->block.at);
        task->block = (struct sftp_block){file->block, file->block_len, file->block_at};
        file->block = NULL;
        next = task->block.offset + task->block.len;
    }
    if (next < task->size)
        sftp_file_read(file, next);
}

/* What can be sent from task->next on. */
static struct str ready_bytes(struct sftp_task *task) {
    uint64_t left = task->size - task->next;
    if (!task->file)
        return (struct str){(const char *)task->copy->bytes + task->next, left};
    if (task->next >= task->block.offset + task->block.len)
        next_block(task);
    const struct sftp_block *block = &task->block;
    if (!block->at || task->failing || task->next >= block->offset + block->len)
        return STR("");
    size_t skip = (size_t)(task->next - block->offset);
    return (struct str){block->at + skip, MIN_OF(left, block->len - skip)};
}

static void send_write(struct sftp_task *task, struct str bytes) {
    sftp_begin(task->sftp, SFTP_WRITE);
    sftp_put_str(task->sftp, task->handle, task->handle_len);
    sftp_put_u64(task->sftp, task->next);
    sftp_put_u32(task->sftp, (uint32_t)bytes.len);
    sftp_send(
        task->sftp,
        &(struct sftp_request){
            .task = task, .fn = on_written, .offset = task->next, .size = (uint32_t)bytes.len},
        bytes);
    task->next += bytes.len;
    task->flying += bytes.len;
}

void sftp_put_pump(struct sftp_task *task) {
    while (task->handle_len && task->next < task->size) {
        uint32_t room = sftp_task_room(task, task->sftp->max_write);
        struct str bytes = room ? ready_bytes(task) : STR("");
        if (!bytes.len)
            return;
        send_write(task, (struct str){bytes.at, MIN_OF(bytes.len, room)});
    }
    if (task->handle_len && !task->in_flight)
        sftp_task_moved(task);
}
