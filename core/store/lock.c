/* SPDX-License-Identifier: Apache-2.0 */
/* One writer for each session. The lock is the system's (flock), so a killed process leaves none
 * behind. The text in the file only says whom to ask. What a second process may do is not decided
 * here. */
#include "store/private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define LOOKS 3
#define LOOK_NS 2000000

static char *holder_read(int descriptor) {
    char text[200];
    ssize_t got = pread(descriptor, text, sizeof text - 1, 0);
    if (got <= 0)
        return mem_strdup("another process");
    text[got] = '\0';
    text[strcspn(text, "\r\n")] = '\0';
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?';
    return mem_strdup(text);
}

static void holder_write(int descriptor) {
    char host[100] = "this machine";
    if (gethostname(host, sizeof host))
        host[0] = '\0';
    host[sizeof host - 1] = '\0';
    struct buf text = {0};
    buf_printf(&text, "process %ld on %s\n", (long)getpid(), host);
    /* The name is a courtesy. The lock holds without it, even on a full disk. */
    if (ftruncate(descriptor, 0) == 0 && pwrite(descriptor, text.at, text.len, 0) < 0)
        errno = 0;
    buf_free(&text);
}

/* Either somebody has it, or the file system knows no locks. Then nobody can have it, and two hones
 * would write at once. */
static bool lock_failed(const char *folder, int fd, struct store_lock *lock, struct err *err) {
    if (errno == EWOULDBLOCK) {
        lock->holder = holder_read(fd);
        return true;
    }
    return err_set(err, ERR_ENVIRONMENT,
                   "cannot lock %.200s/lock: %s. Nobody holds the session, but this file system "
                   "cannot keep a second hone out of it. Keep the session on another one with "
                   "--session DIR, or look at it with 'hone TASK --read-only'.",
                   folder, strerror(errno));
}

/* Somebody may be looking whether it is free (store_lock_is_free), which takes a moment. */
static bool lock_exclusively(int fd) {
    for (int i = 0; i < LOOKS; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return true;
        if (errno != EWOULDBLOCK)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    }
    errno = EWOULDBLOCK;
    return false;
}

bool store_lock_take(const char *folder, struct store_lock *lock, struct err *err) {
    *lock = (struct store_lock){.descriptor = -1};
    char *path = path_join(folder, "lock");
    int fd = file_open(path, O_RDWR | O_CREAT, 0600, err);
    free(path);
    if (fd < 0) {
        lock->unwritable = errno == EROFS || errno == EACCES || errno == EPERM;
        return false;
    }
    if (lock_exclusively(fd)) {
        holder_write(fd);
        lock->descriptor = fd;
        return true;
    }
    bool known = lock_failed(folder, fd, lock, err);
    close(fd);
    return known;
}

bool store_is_free(const struct store *store, char **holder) {
    char *path = path_join(store->folder, "lock");
    int fd = file_open(path, O_RDONLY, 0, NULL);
    free(path);
    *holder = NULL;
    if (fd < 0)
        return false;
    bool is_free = flock(fd, LOCK_SH | LOCK_NB) == 0;
    if (!is_free && errno == EWOULDBLOCK)
        *holder = holder_read(fd);
    close(fd);
    return is_free;
}
