/* SPDX-License-Identifier: Apache-2.0 */
/* How large the cache is and may be: it is counted, and the seeds used longest ago are removed.
 * What is removed is renamed first, so that nobody reads half of it. The folder of a reference
 * stays for a day, because walls of other hones may show it. */
#include "task/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_LIMIT ((uint64_t)2 << 30) /* as in config.def */
#define KEPT_EMPTY_S (24 * 3600)
#define LEFT_OVER_S 3600 /* half an entry of this age has no writer any more */
#define NOT_HELD_YET_S 5 /* its writer makes it first, and then locks it */

struct entry {
    char *path;
    uint64_t bytes;
    struct timespec used;
};
struct entries {
    VEC(struct entry) all;
    uint64_t bytes;
};

static bool is_older(const char *path, time_t seconds) {
    struct stat st;
    return stat(path, &st) == 0 && st.st_mtim.tv_sec < time(NULL) - seconds;
}

typedef void entry_fn(void *data, const char *path, const char *name);
static void each_in(const char *folder, entry_fn *fn, void *data) {
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        char *path = path_join(folder, entry->d_name);
        fn(data, path, entry->d_name);
        free(path);
    }
    if (dir)
        closedir(dir);
}

/* Whether a harness holds it (harness.py, class Held): 1, 0, or -1 where nobody can tell. */
static int is_held(const char *path) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    int is = fd < 0 ? -1 : flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno == EWOULDBLOCK ? 1 : -1;
    if (fd >= 0)
        close(fd);
    return is;
}

/* Removes what a harness that was killed did not finish. */
static void drop_half(void *data, const char *path, const char *name) {
    (void)data;
    bool is_half = str_ends(str_of(name), ".part") || str_ends(str_of(name), ".tmp");
    if (is_half && is_older(path, LEFT_OVER_S))
        (void)!file_remove_tree(path, NULL);
    else if (str_ends(str_of(name), ".part") && is_older(path, NOT_HELD_YET_S) &&
             is_held(path) == 0)
        (void)!file_remove_tree(path, NULL);
}

static void collect_seed(void *data, const char *path, const char *name) {
    struct entries *entries = data;
    struct stat st;
    if (name[0] == '.') { /* somebody was killed while removing it */
        if (is_older(path, LEFT_OVER_S))
            (void)!file_remove_tree(path, NULL);
        return;
    }
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return;
    each_in(path, drop_half, NULL);
    struct entry row = {mem_strdup(path), file_tree_bytes(path), st.st_mtim};
    entries->bytes += row.bytes;
    *vec_push(&entries->all) = row;
}

static void collect_reference(void *data, const char *path, const char *name) {
    if (name[0] == '.')
        return;
    if (is_older(path, KEPT_EMPTY_S))
        rmdir(path); /* it stays where it has entries */
    each_in(path, collect_seed, data);
}

static int by_use(const void *a, const void *b) {
    const struct timespec *x = &((const struct entry *)a)->used;
    const struct timespec *y = &((const struct entry *)b)->used;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* Reads "8G", "500M" or "123456". */
bool task_cache_limit_read(const char *text, uint64_t *bytes) {
    struct str number = str_of(text);
    int shift = 0;
    /* Screens say "MB". */
    if (number.len > 1 && number.at[number.len - 1] == 'B')
        number.len--;
    switch (number.len ? number.at[number.len - 1] : 0) {
    case 'K': shift = 10; break;
    case 'M': shift = 20; break;
    case 'G': shift = 30; break;
    default: break;
    }
    number.len -= shift != 0;
    long long value;
    if (!str_to_int(number, &value) || value < 0 || value > (INT64_MAX >> shift))
        return false;
    *bytes = (uint64_t)value << shift;
    return true;
}

uint64_t task_cache_limit(void) {
    const char *text = getenv(TASK_CACHE_LIMIT);
    uint64_t bytes;
    return text && task_cache_limit_read(text, &bytes) ? bytes : DEFAULT_LIMIT;
}

static void look_for_held(void *data, const char *path, const char *name) {
    (void)name;
    bool *held = data;
    *held = *held || is_held(path) == 1;
}

/* For others, the entry is there as a whole or not at all. What a harness writes, or wrote for a
 * hone that has not read it yet, stays. */
static bool remove_entry(const struct entry *entry) {
    bool held = false;
    each_in(entry->path, look_for_held, &held);
    if (held)
        return false;
    char *folder = path_folder(entry->path);
    struct buf gone = {0};
    buf_printf(&gone, "%s/.%s.%d", folder, path_base(entry->path), (int)getpid());
    bool ok = rename(entry->path, gone.at) == 0 && file_remove_tree(gone.at, NULL);
    buf_free(&gone);
    free(folder);
    return ok;
}

static void remove_oldest(struct entries *entries, uint64_t limit, const char *keep) {
    if (entries->all.len)
        qsort(entries->all.at, entries->all.len, sizeof *entries->all.at, by_use);
    for (size_t i = 0; i < entries->all.len && entries->bytes > limit; i++) {
        const struct entry *entry = &entries->all.at[i];
        if (keep && strcmp(entry->path, keep) == 0)
            continue;
        if (remove_entry(entry))
            entries->bytes -= entry->bytes;
    }
}

static void entries_find(struct entries *entries) {
    char *root = path_cache("references");
    each_in(root, collect_reference, entries);
    free(root);
}

static void entries_free(struct entries *entries) {
    for (size_t i = 0; i < entries->all.len; i++)
        free(entries->all.at[i].path);
    vec_free(&entries->all);
}

void task_cache_trim(const char *keep) {
    struct entries entries = {0};
    entries_find(&entries);
    remove_oldest(&entries, task_cache_limit(), keep);
    entries_free(&entries);
}

void task_cache_tidy(void) {
    task_cache_trim(NULL);
}

uint64_t task_cache_bytes(void) {
    char *root = path_cache("references");
    uint64_t bytes = file_is_dir(root) ? file_tree_bytes(root) : 0;
    free(root);
    return bytes;
}

uint64_t task_cache_empty(void) {
    uint64_t before = task_cache_bytes();
    struct entries entries = {0};
    entries_find(&entries);
    for (size_t i = 0; i < entries.all.len; i++)
        (void)!remove_entry(&entries.all.at[i]);
    entries_free(&entries);
    uint64_t after = task_cache_bytes();
    return before > after ? before - after : 0;
}
