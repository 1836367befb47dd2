/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a task that take a while to read. Worker threads read them, because that can take
 * minutes; until a hash is known, no step begins. Of those that are too large to be kept with the
 * session it has only the hash, and where they are needed they are taken from where they lie. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "loop/loop.h"
#include "task/task.h"
#include "tune/exchange/private.h"
#include "tune/session/inner.h"

#define PIECE ((size_t)1 << 20)
#define LONG_BYTES 500e6 /* reading so much is told */

/* A file being read or copied. It owns its data, and outlives the session if need be. */
struct reading {
    struct tune_session *session; /* NULL: nobody waits for it any more */
    struct tune_large *large;
    char *path, *from; /* from: it is copied from there, and must have `hash` then */
    struct stat was;
    struct hash hash;
    struct err err;
    volatile int cancelled;
};

struct tune_large {
    struct tune_large *next;
    char *path;
    struct stat was;
    struct hash hash;
    bool unreadable;
    bool unsettled;          /* it had changed just before it was read, so it is read once more */
    struct reading *reading; /* NULL: nobody reads it at the moment */
    char *name;              /* joins the session's files under it; NULL: it need not */
    const char *of;
};

/* ---------------------------------------------------------------------------------- what is known
 */

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

bool tune_large_is_busy(const struct tune_session *session) {
    const struct tune_large *at = session->large;
    while (at && !at->reading)
        at = at->next;
    return at != NULL;
}

/* ----------------------------------------------------------------------------------- the copying
 */

static bool pieces_copy(FILE *from, FILE *to, const volatile int *cancel, struct hash *hash) {
    char *piece = mem_alloc(1, PIECE);
    struct hash_stream *stream = hash_begin();
    size_t got;
    bool ok = true;
    while (ok && !(cancel && *cancel) && (got = fread(piece, 1, PIECE, from)) > 0) {
        hash_add(stream, piece, got);
        ok = fwrite(piece, 1, got, to) == got;
    }
    ok = ok && !ferror(from) && !(cancel && *cancel);
    *hash = hash_end(stream);
    free(piece);
    return ok;
}

static bool is_not_there(const char *path, bool exists, struct err *err) {
    return err_set(err, ERR_USAGE,
                   "%.200s is too large to be kept with the session, and %s: put it back", path,
                   exists ? "what lies there now is not what the session was measured with"
                          : "it is gone");
}

/* What was copied is compared: the file may change meanwhile. */
static bool copy(const char *from, const char *to, const struct reading *reading, const char *hash,
                 struct err *err) {
    struct hash has;
    char *folder = path_folder(to);
    bool made = file_make_dirs(folder, err);
    free(folder);
    if (!made)
        return false;
    int fd = file_open(from, O_RDONLY, 0, NULL);
    FILE *source = fd >= 0 ? fdopen(fd, "rb") : NULL, *made_file = source ? fopen(to, "wb") : NULL;
    bool ok =
        made_file && pieces_copy(source, made_file, reading ? &reading->cancelled : NULL, &has);
    if (made_file && fclose(made_file) != 0)
        ok = false;
    if (!ok && source)
        err_set(err, ERR_ENVIRONMENT, "cannot write %.200s: %s", to, strerror(errno));
    if (source)
        fclose(source);
    bool same = ok && !strcmp(has.hex, hash);
    if (!same && made_file)
        remove(to);
    if (!source || (ok && !same))
        is_not_there(from, source != NULL, err);
    return same;
}

bool tune_large_copy(const char *from, const char *to, const char *hash, struct err *err) {
    return copy(from, to, NULL, hash, err);
}

/* ----------------------------------------------------------------------------------- the reading
 */

static bool content_sum(struct reading *reading) {
    int64_t size;
    if (reading->was.st_size > (off_t)TASK_MAX_FILE_BYTES)
        return task_file_sum(reading->path, &reading->cancelled, &size, &reading->hash);
    size_t bytes = 0;
    char *text = file_read(reading->path, TASK_MAX_FILE_BYTES, &bytes, NULL);
    if (text)
        reading->hash = hash_content(text, bytes);
    free(text);
    return text != NULL;
}

static void reading_work(void *data) {
    struct reading *reading = data;
    struct hash hash = reading->hash;
    struct stat after;
    bool ok = reading->from
                  ? copy(reading->from, reading->path, reading, hash.hex, &reading->err) &&
                        stat(reading->path, &reading->was) == 0
                  : content_sum(reading);
    if (!ok && reading->err.kind == ERR_NONE)
        err_set(&reading->err, ERR_ENVIRONMENT, "%.300s cannot be read: %s", reading->path,
                strerror(errno));
    if (ok && (stat(reading->path, &after) != 0 || !task_file_is_same(&after, &reading->was)))
        reading->was = (struct stat){0}; /* it changed meanwhile, so it is read again */
}

static void reading_free(struct reading *reading) {
    free(reading->path);
    free(reading->from);
    free(reading);
}

/* One that cannot be read is not tried again as long as it is the same. */
static void reading_done(void *data) {
    struct reading *reading = data;
    struct tune_session *session = reading->session;
    if (session) {
        struct tune_large *large = reading->large;
        bool failed = reading->err.kind != ERR_NONE;
        large->reading = NULL;
        large->was = reading->was;
        large->hash = reading->hash;
        large->unreadable = failed && !reading->from;
        if (large->unreadable)
            tune_emit_log(session, TUNE_ALL_LANES, TUNE_LEVEL_WARNING, "files", "%s",
                          reading->err.text);
        if (large->name && !failed && large->was.st_size)
            tune_files_late(session, large->name, large->of, large->was.st_size, &large->hash);
    }
    bool uncopied = reading->from && reading->err.kind != ERR_NONE;
    if (session && (uncopied || !tune_large_is_busy(session)))
        session->driver->files_known(session, uncopied ? &reading->err : NULL);
    reading_free(reading);
}

static void reading_start(struct tune_session *session, struct tune_large *large,
                          const struct reading *what) {
    struct reading *reading = large->reading = mem_alloc(1, sizeof *reading);
    *reading = *what;
    reading->session = session;
    reading->large = large;
    reading->path = mem_strdup(large->path);
    if ((double)reading->was.st_size >= LONG_BYTES)
        tune_emit_log(session, TUNE_ALL_LANES, TUNE_LEVEL_INFO, "files",
                      "%s %.300s (%.1f GB); the next step begins when that is done",
                      reading->from ? "copies" : "reads", large->path,
                      (double)reading->was.st_size * 1e-9);
    loop_job_start_owned(session->loop, reading_work, reading_done, reading);
}

enum tune_large_is tune_large_sum(struct tune_session *session, const char *path, int64_t *size,
                                  struct hash *hash) {
    struct tune_large *large = known(session, path);
    struct stat now;
    if (large->reading)
        return TUNE_LARGE_BUSY;
    if (!task_seen_stat(session->seen, path, &now) || !S_ISREG(now.st_mode))
        return TUNE_LARGE_GONE;
    bool small = now.st_size <= (off_t)TASK_MAX_FILE_BYTES;
    bool again = large->unsettled && small && task_file_is_settled(&now);
    if (again || !task_file_is_same(&now, &large->was)) {
        large->unsettled = !task_file_is_settled(&now);
        reading_start(session, large, &(struct reading){.was = now});
        return TUNE_LARGE_BUSY;
    }
    *size = now.st_size;
    *hash = large->hash;
    return large->unreadable ? TUNE_LARGE_GONE : TUNE_LARGE_KNOWN;
}

void tune_large_want(struct tune_session *session, const char *path, const char *name,
                     const char *of) {
    struct tune_large *large = known(session, path);
    free(large->name);
    large->name = mem_strdup(name);
    large->of = of;
}

bool tune_large_restore(struct tune_session *session, const char *from, const char *to,
                        const char *hash, struct err *err) {
    struct hash has;
    int64_t size;
    enum tune_large_is is = tune_large_sum(session, to, &size, &has);
    if (is == TUNE_LARGE_BUSY || (is == TUNE_LARGE_KNOWN && !strcmp(has.hex, hash)))
        return true;
    if (!from)
        return err_set(err, ERR_USAGE, "%.200s is nowhere", to);
    is = tune_large_sum(session, from, &size, &has);
    if (is == TUNE_LARGE_BUSY)
        return true;
    if (is == TUNE_LARGE_GONE || strcmp(has.hex, hash) != 0)
        return is_not_there(from, is == TUNE_LARGE_KNOWN, err);
    reading_start(session, known(session, to),
                  &(struct reading){.from = mem_strdup(from), .hash = has, .was.st_size = size});
    return true;
}

void tune_large_forget(struct tune_session *session) {
    for (struct tune_large *at = session->large, *next; at; at = next) {
        next = at->next;
        if (at->reading) {
            at->reading->session = NULL;
            at->reading->cancelled = 1;
        }
        free(at->path);
        free(at->name);
        free(at);
    }
    session->large = NULL;
}
