/* SPDX-License-Identifier: Apache-2.0 */
/* A copy on this machine. One worker job reads a block and the next writes it, beside the file that
 * it is to become. The files are those of copies over SFTP. */
#include "transport/local/own.h"
#include "transport/wire/inner.h"

#include <stdlib.h>

struct local_copy {
    struct transport_copy *copy;
    struct sftp_file *from, *to; /* `from` NULL: data is put */
    uint64_t done, total;
    struct err why; /* of kind ERR_NONE while all is well */
    bool finishing;
};

static void drop_files(struct local_copy *own) {
    sftp_file_drop(own->from);
    sftp_file_drop(own->to);
    own->from = own->to = NULL;
}

/* Ends the copy when no worker uses a file any more and leftovers are removed. */
static void settle(struct local_copy *own) {
    if ((own->from && own->from->busy) || own->to->busy)
        return;
    drop_files(own);
    transport_copy_end(own->copy, &own->why);
}

/* While a worker uses a file, its error may be half written. */
static void take_failure(struct local_copy *own) {
    const struct sftp_file *const files[] = {own->to, own->from};
    for (size_t i = 0; i < COUNT_OF(files); i++)
        if (!own->why.kind && files[i] && !files[i]->busy && files[i]->err.kind)
            own->why = files[i]->err;
}

/* Checks before the first byte is moved. False: the copy is over. */
static bool check_size(struct local_copy *own) {
    const struct transport_copy *copy = own->copy;
    uint64_t limit = copy->spec.max_bytes;
    own->total = own->from ? own->from->size : copy->spec.size;
    if (copy->spec.kind != TRANSPORT_GET || !limit || own->total <= limit)
        return true;
    err_set(&own->why, ERR_ENVIRONMENT,
            "%s on this machine has %llu bytes, more than the %llu that were "
            "set as the limit for it",
            copy->remote, (unsigned long long)own->total, (unsigned long long)limit);
    settle(own);
    return false;
}

static void write_block(struct local_copy *own, char *block, size_t size) {
    sftp_file_write(own->to, block, size, own->done);
    own->done += size;
    transport_copy_progress(own->copy, own->done, MAX_OF(own->total, own->done));
}

/* Moves all of the data, or what a job has read. An empty block is the end of the file. */
static void move_on(struct local_copy *own) {
    const struct transport_copy *copy = own->copy;
    struct sftp_file *from = own->from;
    if (!from && own->done < copy->spec.size) {
        write_block(own, mem_dup(copy->bytes, copy->spec.size), copy->spec.size);
    } else if (from && !from->block) {
        sftp_file_read(from, own->done);
    } else if (from && from->block_len) {
        char *block = from->block;
        from->block = NULL;
        write_block(own, block, from->block_len);
    } else {
        own->finishing = true;
        sftp_file_finish(own->to);
    }
}

static void on_changed(void *data) {
    struct local_copy *own = data;
    bool busy = own->to->busy || (own->from && own->from->busy);
    take_failure(own);
    if (own->why.kind || (own->finishing && !busy)) {
        settle(own);
        return;
    }
    if (busy)
        return;
    if (own->done || (own->from && own->from->block) || check_size(own))
        move_on(own);
}

/* Paths on the far side begin in the home folder. */
static char *far_path(const struct transport_copy *copy) {
    const struct local *local = copy->transport->own;
    return copy->remote[0] == '/' ? mem_strdup(copy->remote) : path_join(local->home, copy->remote);
}

void local_copy_start(struct transport_copy *copy) {
    struct local_copy *own = mem_alloc(1, sizeof *own);
    bool put = copy->spec.kind == TRANSPORT_PUT;
    char *far = far_path(copy);
    struct sftp_file file = {.loop = copy->transport->loop, .changed = on_changed, .data = own};
    own->copy = copy;
    copy->own = own;
    if (copy->local) {
        file.path = put ? copy->local : far;
        own->from = sftp_file_open(&file);
    }
    file.path = put ? far : copy->local;
    file.writes = true;
    file.make_dirs = copy->spec.make_dirs;
    file.mode = put ? copy->spec.mode : 0;
    own->to = sftp_file_open(&file);
    free(far);
}

void local_copy_cancel(struct transport_copy *copy) {
    struct local_copy *own = copy->own;
    err_set(&own->why, ERR_CANCELLED, "the copy of %s was cancelled", copy->remote);
    settle(own);
}

void local_copy_drop(struct transport_copy *copy) {
    struct local_copy *own = copy->own;
    drop_files(own);
    free(own);
}
