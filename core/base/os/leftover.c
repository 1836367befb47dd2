/* SPDX-License-Identifier: Apache-2.0 */
/* What hones that were killed left behind. The names of such files tell whose they are: the
 * process's, and the machine's where several machines may share the folder. */
#include "base/os/os.h"
#include "base/files/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MOST_ENTRIES 100000
#define MOST_NOTE ((size_t)8 << 10)
#define UNWRITTEN_S 3600             /* so old is a note that says nothing not being written */
#define OUT_OF_REACH_S (30 * 86400L) /* so long a folder may be away, such as a disk */

/* Whether the text is "4711-..." of a process that no longer runs. */
static bool is_dead(const char *text) {
    char *end = NULL;
    long pid = strtol(text, &end, 10);
    return end > text && *end == '-' && pid > 1 && pid <= INT32_MAX && pid != getpid() &&
           kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

/* "NAME.hone-<machine>-<process>-XXXXXX" */
static bool is_beside(const char *name) {
    char mark[32];
    if (!strstr(name, ".hone-"))
        return false;
    snprintf(mark, sizeof mark, ".hone-%08x-", (unsigned)file_machine());
    const char *at = strstr(name, mark);
    return at && at > name && is_dead(at + strlen(mark));
}

/* "hone-<process>-..." */
static bool is_scratch(const char *name) {
    return !strncmp(name, "hone-", 5) && is_dead(name + 5);
}

static void drop(const char *path) {
    struct stat st;
    bool ours = lstat(path, &st) == 0 && st.st_uid == geteuid();
    if (ours && (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode) || S_ISSOCK(st.st_mode)))
        (void)!file_remove_tree(path, NULL);
}

static void sweep(const char *folder, bool (*is)(const char *name)) {
    DIR *dir = opendir(folder);
    struct dirent *entry;
    for (int i = 0; dir && i < MOST_ENTRIES && (entry = readdir(dir)); i++) {
        char *path = is(entry->d_name) ? path_join(folder, entry->d_name) : NULL;
        if (path)
            drop(path);
        free(path);
    }
    if (dir)
        closedir(dir);
}

void os_sweep(const char *folder) {
    sweep(folder, is_beside);
}

void os_sweep_scratch(void) {
    const char *temporary = getenv("TMPDIR");
    sweep("/dev/shm", is_scratch);
    sweep(temporary && temporary[0] == '/' ? temporary : "/tmp", is_scratch);
}

/* ------------------------------------------------------------ in folders of a person's choice */

/* A note is a file in the user's state folder with the path in it and, behind a NUL, the uppermost
 * folder that is made for it. Its process holds it locked, so that it is known to run even where
 * its number means nothing, as in another container. */
struct os_pending {
    int fd; /* of the note; -1: there is none */
    char *note, *path;
    char *missing; /* the uppermost folder that has to be made first; NULL: none */
};

static bool note_write(const struct os_pending *pending) {
    struct buf text = {0};
    buf_puts(&text, pending->path);
    if (pending->missing) {
        buf_putc(&text, '\0');
        buf_puts(&text, pending->missing);
    }
    bool ok = text.len < MOST_NOTE && flock(pending->fd, LOCK_EX) == 0 &&
              write(pending->fd, text.at, text.len) == (ssize_t)text.len;
    buf_free(&text);
    return ok;
}

static char *first_missing(const char *path) {
    char *missing = NULL, *folder = path_folder(path);
    while (!file_exists(folder) && strcmp(folder, missing ? missing : path) != 0) {
        free(missing);
        missing = folder;
        folder = path_folder(missing);
    }
    free(folder);
    return missing;
}

/* Removes the folders above a path that were made for it, as far as nothing else is in them. */
static void folders_drop(const char *path, const char *missing) {
    char *folder = path_folder(path), *above;
    for (bool last = !missing; !last && (rmdir(folder) == 0 || errno == ENOENT); folder = above) {
        last = strlen(folder) <= strlen(missing);
        above = path_folder(folder);
        free(folder);
    }
    free(folder);
}

/* "NAME.hone-<machine>-<process>-export" */
static char *path_beside(const char *place) {
    struct buf beside = {0};
    buf_printf(&beside, "%s.hone-%08x-%d-export", place, (unsigned)file_machine(), (int)getpid());
    char *path = path_absolute(beside.at);
    buf_free(&beside);
    return path;
}

struct os_pending *os_pending_begin(const char *path) {
    char *folder = path_state("pending");
    struct buf note = {0};
    struct os_pending *pending = mem_alloc(1, sizeof *pending);
    buf_printf(&note, "%s/%08x-%d-XXXXXX", folder, (unsigned)file_machine(), (int)getpid());
    pending->path = path_beside(path);
    pending->missing = first_missing(pending->path);
    pending->fd = file_make_private(folder, NULL) ? mkostemp(note.at, O_CLOEXEC) : -1;
    pending->note = buf_take(&note);
    if (pending->fd >= 0 && !note_write(pending)) {
        (void)!unlink(pending->note);
        close(pending->fd);
        pending->fd = -1;
    }
    free(folder);
    return pending;
}

const char *os_pending_path(const struct os_pending *pending) {
    return pending->path;
}

bool os_pending_undo(const struct os_pending *pending) {
    bool gone = file_remove_tree(pending->path, NULL) || !file_exists(pending->path);
    folders_drop(pending->path, pending->missing);
    return gone;
}

void os_pending_end(struct os_pending *pending) {
    struct stat st;
    if (!pending)
        return;
    if (pending->fd >= 0) {
        if (lstat(pending->path, &st) != 0) /* else it could not be removed: maybe later */
            (void)!unlink(pending->note);
        close(pending->fd);
    }
    free(pending->missing);
    free(pending->path);
    free(pending->note);
    free(pending);
}

/* Whether a folder is above a path. A note may be cut, or not ours. */
static bool is_above(const char *folder, const char *path) {
    size_t len = strlen(folder);
    return len > 1 && !strncmp(path, folder, len) && path[len] == '/';
}

/* What the note names is removed if its name says, too, that its process is gone. */
static bool is_settled(const char *path, const char *missing) {
    char *folder = path_folder(*missing ? missing : path);
    struct stat st;
    bool dead = path[0] == '/' && is_beside(path_base(path));
    if (dead)
        drop(path);
    bool settled = lstat(path, &st) != 0 && file_exists(folder);
    if (dead && settled && is_above(missing, path))
        folders_drop(path, missing);
    free(folder);
    return settled;
}

/* Nobody holds the note any more. */
static void note_settle(const char *note, int fd) {
    char path[MOST_NOTE + 2] = ""; /* and behind it what is missing, or nothing */
    struct stat st;
    if (fstat(fd, &st) != 0 || pread(fd, path, MOST_NOTE, 0) < 0)
        return;
    time_t age = time(NULL) - st.st_mtime;
    if (path[0] ? is_settled(path, path + strlen(path) + 1) || age > OUT_OF_REACH_S
                : age > UNWRITTEN_S)
        (void)!unlink(note);
}

void os_sweep_pending(void) {
    char *folder = path_state("pending");
    DIR *dir = opendir(folder);
    struct dirent *entry;
    char mark[16];
    snprintf(mark, sizeof mark, "%08x-", (unsigned)file_machine());
    for (int i = 0; dir && i < MOST_ENTRIES && (entry = readdir(dir)); i++) {
        if (strncmp(entry->d_name, mark, strlen(mark)) != 0)
            continue;
        char *note = path_join(folder, entry->d_name);
        int fd = file_open(note, O_RDWR | O_NOFOLLOW, 0, NULL);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
            note_settle(note, fd);
        if (fd >= 0)
            close(fd);
        free(note);
    }
    if (dir)
        closedir(dir);
    free(folder);
}
