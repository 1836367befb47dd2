/* SPDX-License-Identifier: Apache-2.0 */
/* The local end of a copy. Worker jobs read or write the file in blocks, because a home folder on a
 * busy network file system may keep a read waiting for seconds. There is one job at a time. What is
 * written is beside the file until it is whole. */
#include "transport/wire/sftp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void fail(struct sftp_file *file, const char *what) {
    int code = errno;
    const char *advice = code == ENOSPC || code == EDQUOT ? "; make room and try again" : "";
    err_set(&file->err, ERR_ENVIRONMENT, "cannot %s %s on this machine: %s%s", what, file->path,
            strerror(code), advice);
}

static void free_file(struct sftp_file *file) {
    if (file->fd >= 0)
        close(file->fd);
    if (file->part && file->opened && !file->finished)
        unlink(file->part);
    free(file->path);
    free(file->part);
    free(file->block);
    free(file);
}

static void do_work(void *data) {
    struct sftp_file *file = data;
    file->work(file);
}

static void work_done(void *data) {
    struct sftp_file *file = data;
    file->busy = false;
    if (file->dropped)
        free_file(file);
    else
        file->changed(file->data);
}

static void start_work(struct sftp_file *file, loop_fn *work) {
    file->busy = true;
    file->work = work;
    loop_job_start_owned(file->loop, do_work, work_done, file);
}

static void open_to_read(struct sftp_file *file) {
    struct stat status;
    file->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not block */
    if (file->fd < 0 || fstat(file->fd, &status) != 0) {
        fail(file, "read");
        return;
    }
    if (!S_ISREG(status.st_mode)) {
        err_set(&file->err, ERR_USAGE, "%s is not a plain file", file->path);
        return;
    }
    file->size = (uint64_t)status.st_size;
    file->opened = true;
}

/* Makes folders that only the user can open, as on the far side. */
static bool make_folders(struct sftp_file *file) {
    char *folder = path_folder(file->path);
    bool ok = true;
    for (char *at = folder + 1; ok; at++) {
        if (*at && *at != '/')
            continue;
        char saved = *at;
        *at = 0;
        ok = mkdir(folder, 0700) == 0 || errno == EEXIST;
        *at = saved;
        if (!saved)
            break;
    }
    if (!ok)
        fail(file, "make the folder of");
    free(folder);
    return ok;
}

/* What hones that were killed left of such files goes first. */
static void open_to_write(struct sftp_file *file) {
    if (file->make_dirs && !make_folders(file))
        return;
    char *folder = path_folder(file->path);
    os_sweep(folder);
    free(folder);
    file->fd = mkstemp(file->part);
    if (file->fd < 0) {
        fail(file, "write");
        return;
    }
    fcntl(file->fd, F_SETFD, FD_CLOEXEC);
    file->opened = true;
    if (file->mode && fchmod(file->fd, (mode_t)file->mode) != 0)
        fail(file, "write");
}

static void do_open(void *data) {
    struct sftp_file *file = data;
    if (file->writes)
        open_to_write(file);
    else
        open_to_read(file);
}

struct sftp_file *sftp_file_open(const struct sftp_file *like) {
    struct sftp_file *file = mem_dup(like, sizeof *like);
    file->path = mem_strdup(like->path);
    file->fd = -1;
    if (file->writes) {
        struct buf part = {0};
        file_beside_name(file->path, &part);
        file->part = buf_take(&part);
    }
    start_work(file, do_open);
    return file;
}

static void do_read(void *data) {
    struct sftp_file *file = data;
    file->block_len = 0;
    while (file->block_len < SFTP_BLOCK) {
        ssize_t n = pread(file->fd, file->block + file->block_len, SFTP_BLOCK - file->block_len,
                          (off_t)(file->block_at + file->block_len));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            fail(file, "read");
        if (n <= 0)
            return;
        file->block_len += (size_t)n;
    }
}

void sftp_file_read(struct sftp_file *file, uint64_t at) {
    file->block = mem_resize(NULL, 1, SFTP_BLOCK);
    file->block_at = at;
    start_work(file, do_read);
}

static void do_write(void *data) {
    struct sftp_file *file = data;
    for (size_t done = 0; done < file->block_len;) {
        ssize_t n = pwrite(file->fd, file->block + done, file->block_len - done,
                           (off_t)(file->block_at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            fail(file, "write");
            break;
        }
        done += (size_t)n;
    }
    free(file->block);
    file->block = NULL;
}

void sftp_file_write(struct sftp_file *file, char *block, size_t size, uint64_t at) {
    file->block = block;
    file->block_len = size;
    file->block_at = at;
    start_work(file, do_write);
}

static void do_finish(void *data) {
    struct sftp_file *file = data;
    int closed = close(file->fd); /* here a network file system says that it is full */
    file->fd = -1;
    if (closed != 0 || rename(file->part, file->path) != 0)
        fail(file, "write");
    else
        file->finished = true;
}

void sftp_file_finish(struct sftp_file *file) {
    start_work(file, do_finish);
}

void sftp_file_drop(struct sftp_file *file) {
    if (!file)
        return;
    file->dropped = true;
    if (!file->busy)
        free_file(file);
}
