/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a task that are too large to be kept with the session: it has their hash, and where they
 * are needed they are taken from where they lie. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tune/exchange/private.h"
#include "tune/session/inner.h"

#define PIECE ((size_t)1 << 20)

struct tune_large {
    struct tune_large *next;
    char *path;
    struct stat was;
    struct hash hash;
};

static bool is_same_time(struct timespec a, struct timespec b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool is_same_file(const struct stat *a, const struct stat *b) {
    return a->st_size == b->st_size && a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
           is_same_time(a->st_mtim, b->st_mtim) && is_same_time(a->st_ctim, b->st_ctim);
}

static struct tune_large *known(struct tune_session *session, const char *path) {
    struct tune_large *at = session->large;
    while (at && strcmp(at->path, path) != 0)
        at = at->next;
    if (at)
        return at;
    at = mem_alloc(1, sizeof *at);
    *at = (struct tune_large){.next = session->large, .path = mem_strdup(path)};
    session->large = at;
    return at;
}

bool tune_large_sum(struct tune_session *session, const char *path, int64_t *size,
                    struct hash *hash) {
    struct tune_large *large = known(session, path);
    struct stat now;
    if (stat(path, &now) != 0 || !S_ISREG(now.st_mode))
        return false;
    *size = now.st_size;
    if (!is_same_file(&now, &large->was)) {
        large->was = (struct stat){0};
        if (!task_file_sum(path, size, &large->hash))
            return false;
        large->was = now;
    }
    *hash = large->hash;
    return true;
}

void tune_large_forget(struct tune_session *session) {
    for (struct tune_large *at = session->large, *next; at; at = next) {
        next = at->next;
        free(at->path);
        free(at);
    }
    session->large = NULL;
}

static bool pieces_copy(FILE *from, FILE *to) {
    char *piece = mem_alloc(1, PIECE);
    size_t got;
    bool ok = true;
    while (ok && (got = fread(piece, 1, PIECE, from)) > 0)
        ok = fwrite(piece, 1, got, to) == got;
    ok = ok && !ferror(from);
    free(piece);
    return ok;
}

/* What was copied is compared: the file may change meanwhile. */
bool tune_large_copy(const char *from, const char *to, const char *hash, struct err *err) {
    struct hash has;
    int64_t size;
    char *folder = path_folder(to);
    bool made = file_make_dirs(folder, err);
    free(folder);
    if (!made)
        return false;
    FILE *source = fopen(from, "rb"), *copy = source ? fopen(to, "wb") : NULL;
    bool ok = copy && pieces_copy(source, copy);
    if (copy && fclose(copy) != 0)
        ok = false;
    if (!ok && source)
        err_set(err, ERR_ENVIRONMENT, "cannot write %.200s: %s", to, strerror(errno));
    if (source)
        fclose(source);
    bool same = ok && task_file_sum(to, &size, &has) && !strcmp(has.hex, hash);
    if (!same && copy)
        remove(to);
    if (!source || (ok && !same))
        err_set(err, ERR_USAGE,
                "%.200s is too large to be kept with the session, and %s: put it back", from,
                source ? "what lies there now is not what the session was measured with"
                       : "it is gone");
    return same;
}
