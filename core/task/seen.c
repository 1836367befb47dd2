/* SPDX-License-Identifier: Apache-2.0 */
#include "task/seen.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "task/closure.h"

/* A change may leave the times as they are, when it comes within their resolution (two seconds on
 * some file systems) after the last one. So what changed just now is read once more. */
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
};
struct task_seen {
    struct file *files;
    size_t bytes; /* of texts */
};

struct task_seen *task_seen_new(void) {
    return mem_alloc(1, sizeof(struct task_seen));
}

void task_seen_free(struct task_seen *seen) {
    for (struct file *at = seen ? seen->files : NULL, *next; at; at = next) {
        next = at->next;
        free(at->text);
        free(at->path);
        free(at);
    }
    free(seen);
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

static bool is_as_seen(const struct file *file, const char *path) {
    struct stat now;
    return stat(path, &now) == 0 && task_file_is_same(&now, &file->was);
}

bool task_seen_is(const struct task_seen *seen, const char *path, const char *hash) {
    const struct file *file = find(seen, path);
    return file && !strcmp(file->hash.hex, hash) && is_as_seen(file, path);
}

static void text_drop(struct task_seen *seen, struct file *file) {
    if (file->text)
        seen->bytes -= file->size;
    free(file->text);
    file->text = NULL;
}

/* NULL when it may have changed while it was read, or may again without a trace. */
static struct file *note(struct task_seen *seen, const char *path, const struct stat *before) {
    struct stat after;
    if (!task_file_is_settled(before) || stat(path, &after) != 0 ||
        !task_file_is_same(before, &after))
        return NULL;
    struct file *file = find(seen, path);
    if (!file) {
        file = mem_alloc(1, sizeof *file);
        *file = (struct file){.next = seen->files, .path = mem_strdup(path)};
        seen->files = file;
    }
    if (!task_file_is_same(&file->was, &after)) {
        text_drop(seen, file);
        file->hash = (struct hash){0};
        file->sha[0] = '\0';
    }
    file->was = after;
    return file;
}

void task_seen_note(struct task_seen *seen, const char *path, const struct stat *before,
                    const struct hash *hash) {
    struct file *file = note(seen, path, before);
    if (file)
        file->hash = *hash;
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

char *task_seen_read(struct task_seen *seen, const char *path, size_t *size, struct err *err) {
    struct file *file = seen ? find(seen, path) : NULL;
    struct stat before;
    if (file && file->text && is_as_seen(file, path)) {
        *size = file->size;
        return copy_of(file->text, file->size);
    }
    bool there = seen && stat(path, &before) == 0;
    char *text = file_read(path, TASK_MAX_FILE_BYTES, size, err);
    if (!there || !text)
        return text;
    file = note(seen, path, &before);
    if (!file)
        return text;
    file->hash = hash_content(text, *size);
    text_keep(seen, file, text, *size);
    return text;
}

bool task_seen_sha256(struct task_seen *seen, const char *path, char hex[65]) {
    struct file *file = seen ? find(seen, path) : NULL;
    struct stat before;
    if (file && file->sha[0] && is_as_seen(file, path)) {
        memcpy(hex, file->sha, sizeof file->sha);
        return true;
    }
    bool there = seen && stat(path, &before) == 0;
    bool ok = file_sha256(path, hex, NULL);
    file = ok && there ? note(seen, path, &before) : NULL;
    if (file)
        memcpy(file->sha, hex, sizeof file->sha);
    return ok;
}
