/* SPDX-License-Identifier: Apache-2.0 */
#include "task/seen.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "task/closure.h"

/* A change may leave the times as they are, when it comes within their resolution (two seconds on
 * some file systems) after the last one. So what changed just now is read once more by each look.
 */
#define SETTLED_MS 3000
#define TEXTS_MOST ((size_t)64 << 20) /* bytes of all texts that are kept in memory */

struct file {
    struct file *next;
    char *path;
    struct stat was;
    struct hash hash; /* empty: only the other one is known */
    char sha[65];     /* SHA-256; empty: it is not known */
    char *text;       /* NULL: it is not kept */
    size_t size;
    bool settled;  /* its times would show another change */
    unsigned look; /* in which it was read */
};
/* What a disk answered in the look that is under way. */
struct answer {
    bool there;
    struct stat st;
};
enum { OF_FILE, OF_LINK, QUESTIONS };
/* The lock is never held while a disk is asked. */
struct task_seen {
    pthread_mutex_t lock;
    atomic_int holders;
    struct file *files;
    struct map answers[QUESTIONS]; /* struct answer by path */
    bool looks;                    /* they stand */
    size_t bytes;                  /* of texts */
    unsigned look;                 /* the last one that began; 0: none */
};

struct task_seen *task_seen_new(void) {
    struct task_seen *seen = mem_alloc(1, sizeof *seen);
    pthread_mutex_init(&seen->lock, NULL);
    atomic_init(&seen->holders, 1);
    return seen;
}

struct task_seen *task_seen_hold(struct task_seen *seen) {
    if (seen)
        atomic_fetch_add(&seen->holders, 1);
    return seen;
}

static void answers_drop(struct task_seen *seen) {
    for (int i = 0; i < QUESTIONS; i++) {
        for (size_t k = 0; k < seen->answers[i].len; k++)
            free(seen->answers[i].entries[k].value);
        map_free(&seen->answers[i]);
    }
}

void task_seen_free(struct task_seen *seen) {
    if (!seen || atomic_fetch_sub(&seen->holders, 1) > 1)
        return;
    answers_drop(seen);
    for (struct file *at = seen->files, *next; at; at = next) {
        next = at->next;
        free(at->text);
        free(at->path);
        free(at);
    }
    pthread_mutex_destroy(&seen->lock);
    free(seen);
}

void task_seen_look(struct task_seen *seen) {
    pthread_mutex_lock(&seen->lock);
    seen->look++;
    seen->looks = true;
    answers_drop(seen);
    pthread_mutex_unlock(&seen->lock);
}

void task_seen_look_over(struct task_seen *seen) {
    pthread_mutex_lock(&seen->lock);
    seen->looks = false;
    answers_drop(seen);
    pthread_mutex_unlock(&seen->lock);
}

static bool answer(struct task_seen *seen, const char *path, int of, struct stat *st) {
    pthread_mutex_lock(&seen->lock);
    const struct answer *known = seen->looks ? map_get(&seen->answers[of], str_of(path)) : NULL;
    struct answer now = known ? *known : (struct answer){.there = false};
    pthread_mutex_unlock(&seen->lock);
    *st = now.st;
    if (known)
        return now.there;
    now.there = (of == OF_LINK ? lstat(path, st) : stat(path, st)) == 0;
    now.st = *st;
    pthread_mutex_lock(&seen->lock);
    if (seen->looks && !map_get(&seen->answers[of], str_of(path)))
        map_put(&seen->answers[of], str_of(path))->value = mem_dup(&now, sizeof now);
    pthread_mutex_unlock(&seen->lock);
    return now.there;
}

bool task_seen_stat(struct task_seen *seen, const char *path, struct stat *st) {
    return seen ? answer(seen, path, OF_FILE, st) : stat(path, st) == 0;
}

bool task_seen_lstat(struct task_seen *seen, const char *path, struct stat *st) {
    return seen ? answer(seen, path, OF_LINK, st) : lstat(path, st) == 0;
}

static bool is_same_time(struct timespec a, struct timespec b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool task_file_is_same(const struct stat *a, const struct stat *b) {
    return a->st_size == b->st_size && a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
           is_same_time(a->st_mtim, b->st_mtim) && is_same_time(a->st_ctim, b->st_ctim);
}

/* Of a clock that runs ahead, as a file server's may, nothing is believed. */
bool task_file_is_settled(const struct stat *st) {
    int64_t now = clock_wall_ms(), changed = (int64_t)st->st_ctim.tv_sec * 1000;
    int64_t written = (int64_t)st->st_mtim.tv_sec * 1000;
    return changed < now - SETTLED_MS && written < now - SETTLED_MS;
}

static struct file *find(const struct task_seen *seen, const char *path) {
    struct file *at = seen->files;
    while (at && strcmp(at->path, path) != 0)
        at = at->next;
    return at;
}

/* Whether it is what was read. */
static bool is_as_seen(const struct task_seen *seen, const struct file *file,
                       const struct stat *now) {
    bool counts = file->settled || (seen->look && file->look == seen->look);
    return counts && task_file_is_same(now, &file->was);
}

bool task_seen_is(struct task_seen *seen, const char *path, const char *hash) {
    struct stat now;
    if (!task_seen_stat(seen, path, &now))
        return false;
    pthread_mutex_lock(&seen->lock);
    const struct file *file = find(seen, path);
    bool is = file && !strcmp(file->hash.hex, hash) && is_as_seen(seen, file, &now);
    pthread_mutex_unlock(&seen->lock);
    return is;
}

static void text_drop(struct task_seen *seen, struct file *file) {
    if (file->text)
        seen->bytes -= file->size;
    free(file->text);
    file->text = NULL;
}

/* The lock is held. */
static struct file *note(struct task_seen *seen, const char *path, const struct stat *was) {
    struct file *file = find(seen, path);
    if (!file) {
        file = mem_alloc(1, sizeof *file);
        *file = (struct file){.next = seen->files, .path = mem_strdup(path)};
        seen->files = file;
    }
    if (!file->settled || !task_file_is_same(&file->was, was)) {
        text_drop(seen, file);
        file->hash = (struct hash){0};
        file->sha[0] = '\0';
    }
    file->was = *was;
    file->settled = task_file_is_settled(was);
    file->look = seen->look;
    return file;
}

/* Whether it did not change while it was read. */
static bool held_still(const char *path, const struct stat *before) {
    struct stat after;
    return stat(path, &after) == 0 && task_file_is_same(before, &after);
}

static char *copy_of(const char *text, size_t size) {
    char *copy = mem_alloc(size + 1, 1);
    memcpy(copy, text, size);
    return copy;
}

static void text_keep(struct task_seen *seen, struct file *file, const char *text, size_t size) {
    if (file->text || size > TEXTS_MOST - seen->bytes)
        return;
    file->text = copy_of(text, size);
    file->size = size;
    seen->bytes += size;
}

static char *recall(struct task_seen *seen, const char *path, const struct stat *now,
                    size_t *size) {
    char *text = NULL;
    pthread_mutex_lock(&seen->lock);
    const struct file *file = find(seen, path);
    if (file && file->text && is_as_seen(seen, file, now)) {
        *size = file->size;
        text = copy_of(file->text, file->size);
    }
    pthread_mutex_unlock(&seen->lock);
    return text;
}

char *task_seen_read(struct task_seen *seen, const char *path, size_t *size, struct err *err) {
    struct stat before;
    bool there = seen && task_seen_stat(seen, path, &before);
    char *text = there ? recall(seen, path, &before, size) : NULL;
    if (text)
        return text;
    text = file_read(path, TASK_MAX_FILE_BYTES, size, err);
    if (!there || !text || !held_still(path, &before))
        return text;
    struct hash hash = hash_content(text, *size);
    pthread_mutex_lock(&seen->lock);
    struct file *file = note(seen, path, &before);
    file->hash = hash;
    text_keep(seen, file, text, *size);
    pthread_mutex_unlock(&seen->lock);
    return text;
}

bool task_seen_sha256(struct task_seen *seen, const char *path, char hex[65]) {
    struct stat before;
    bool there = seen && task_seen_stat(seen, path, &before), known = false;
    if (there) {
        pthread_mutex_lock(&seen->lock);
        const struct file *file = find(seen, path);
        known = file && file->sha[0] && is_as_seen(seen, file, &before);
        if (known)
            memcpy(hex, file->sha, sizeof file->sha);
        pthread_mutex_unlock(&seen->lock);
    }
    if (known)
        return true;
    bool ok = file_sha256(path, hex, NULL);
    if (ok && there && held_still(path, &before)) {
        pthread_mutex_lock(&seen->lock);
        memcpy(note(seen, path, &before)->sha, hex, 65);
        pthread_mutex_unlock(&seen->lock);
    }
    return ok;
}
