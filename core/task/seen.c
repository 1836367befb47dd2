/* SPDX-License-Identifier: Apache-2.0 */
/* Which content a file of the task was seen to have. Before each step all of them are compared with
 * what the session has; one whose size, times and place on the disk are what they were need not be
 * read again for that, which would take the loop 10 ms for a file of 16 MB. */
#include <stdlib.h>
#include <sys/stat.h>

#include "tune/exchange/private.h"
#include "tune/session/inner.h"

/* A change may leave the times as they are, when it comes within their resolution (two seconds on
 * some file systems) after the last one. So what changed just now is read once more. */
#define SETTLED_MS 3000

struct tune_seen {
    struct tune_seen *next;
    char *path;
    struct stat was;
    struct hash hash;
};

static bool is_same_time(struct timespec a, struct timespec b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool tune_file_is_same(const struct stat *a, const struct stat *b) {
    return a->st_size == b->st_size && a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
           is_same_time(a->st_mtim, b->st_mtim) && is_same_time(a->st_ctim, b->st_ctim);
}

/* Of a clock that runs ahead, as a file server's may, nothing is believed. */
static bool is_settled(const struct stat *st) {
    int64_t now = clock_wall_ms(), changed = (int64_t)st->st_ctim.tv_sec * 1000;
    int64_t written = (int64_t)st->st_mtim.tv_sec * 1000;
    return changed < now - SETTLED_MS && written < now - SETTLED_MS;
}

static struct tune_seen *find(const struct tune_session *session, const char *path) {
    struct tune_seen *at = session->seen;
    while (at && strcmp(at->path, path) != 0)
        at = at->next;
    return at;
}

bool tune_seen_is(const struct tune_session *session, const char *path, const char *hash) {
    const struct tune_seen *seen = find(session, path);
    struct stat now;
    return seen && !strcmp(seen->hash.hex, hash) && stat(path, &now) == 0 &&
           tune_file_is_same(&now, &seen->was);
}

void tune_seen_note(struct tune_session *session, const char *path, const struct stat *before,
                    const struct hash *hash) {
    struct stat after;
    if (!is_settled(before) || stat(path, &after) != 0 || !tune_file_is_same(before, &after))
        return;
    struct tune_seen *seen = find(session, path);
    if (!seen) {
        seen = mem_alloc(1, sizeof *seen);
        *seen = (struct tune_seen){.next = session->seen, .path = mem_strdup(path)};
        session->seen = seen;
    }
    seen->was = after;
    seen->hash = *hash;
}

void tune_seen_forget(struct tune_session *session) {
    for (struct tune_seen *at = session->seen, *next; at; at = next) {
        next = at->next;
        free(at->path);
        free(at);
    }
    session->seen = NULL;
}
