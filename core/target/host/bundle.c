/* SPDX-License-Identifier: Apache-2.0 */
/* What of a task goes to a host: all files that kernel and reference are made of, in folders as
 * they lie here. Nobody else's: a home folder is no task. */
#include "target/host/bundle.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define MOST_BESIDE 64 /* Python files that nothing names */
#define MOST_BESIDE_BYTES ((off_t)1 << 20)

struct gathering {
    struct bundle *bundle;
    const struct runner_job *job;
    char *root, *reference; /* absolute paths; the latter may be NULL */
    char *kernel;           /* where the kernel lies, or would lie */
};

static int by_path(const void *a, const void *b) {
    const struct host_file *one = a, *other = b;
    return strcmp(one->path, other->path);
}

/* The part of the path below the folder; NULL: it is elsewhere. */
static const char *below(const char *folder, const char *path) {
    size_t len = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
    return !strncmp(path, folder, len) && path[len] == '/' ? path + len + 1 : NULL;
}

static bool is_there(const struct bundle *bundle, const char *name) {
    for (size_t i = 0; i < bundle->files.len; i++)
        if (strcmp(bundle->files.at[i].path, name) == 0)
            return true;
    return false;
}

static void leave(struct bundle *bundle, const char *path) {
    struct stat st;
    if (bundle->left.at && strstr(bundle->left.at, path))
        return;
    buf_printf(&bundle->left, "%s (%.1f MB)\n", path,
               stat(path, &st) == 0 ? (double)st.st_size * 1e-6 : 0.0);
}

/* Takes over `data` (NULL: it is read). */
static void add(struct gathering *g, const char *path, char *data, size_t size) {
    struct bundle *bundle = g->bundle;
    const char *name = below(g->root, path);
    bool there = name && is_there(bundle, name);
    if (!data && name && !there)
        data = file_read(path, TASK_MAX_FILE_BYTES, &size, NULL);
    bool fits =
        data && bundle->files.len < BUNDLE_MAX_FILES && size <= BUNDLE_MAX_BYTES - bundle->bytes;
    if (name && !there && fits) {
        *vec_push(&bundle->files) =
            (struct host_file){.path = mem_strdup(name), .data = data, .size = size};
        bundle->bytes += size;
        return;
    }
    free(data);
    if (!there)
        leave(bundle, path);
}

/* ------------------------------------------------------------------------------- what belongs to
 * it */

static char *copy_of(const struct task_file *file) {
    char *copy = mem_alloc(1, file->size + 1);
    memcpy(copy, file->text, file->size);
    return copy;
}

static void note_kernels(struct gathering *g, const struct task_file *file) {
    char *folder = path_folder(g->kernel);
    const char *name = below(folder, file->path);
    struct str rest = buf_str(&g->bundle->kernel_files), line;
    bool known = false;
    while (str_next(&rest, '\n', &line))
        known |= name && str_is(line, name);
    if (name && !known)
        buf_printf(&g->bundle->kernel_files, "%s\n", name);
    free(folder);
}

/* The kernel itself goes as the job's text. */
static void closure_add(struct gathering *g, const struct task_closure *closure) {
    for (size_t i = 0; i < closure->files.len; i++) {
        const struct task_file *file = &closure->files.at[i];
        if (file->is_start && !(file->of & TASK_OF_REFERENCE))
            continue;
        add(g, file->path, copy_of(file), file->size);
        if (file->of & TASK_OF_KERNEL && !file->is_start)
            note_kernels(g, file);
    }
    for (size_t i = 0; i < closure->left.len; i++)
        leave(g->bundle, closure->left.at[i].path);
}

static struct task_closure *closure_of(const struct gathering *g, const char *kernel,
                                       struct err *err) {
    struct task_start start = {.kernel_path = kernel ? g->kernel : NULL,
                               .kernel_text = kernel,
                               .reference_path = g->reference};
    return task_closure_find(&start, err);
}

/* A kernel that is timed beside the other may import more. */
static void incumbent_add(struct gathering *g) {
    struct task_closure *closure =
        g->job->incumbent_text ? closure_of(g, g->job->incumbent_text, NULL) : NULL;
    if (closure)
        closure_add(g, closure);
    task_closure_free(closure);
}

/* ------------------------------------------------------------------------------ what was seen of
 * it */

static bool wants_all(void *data, const char *name) {
    (void)data;
    (void)name;
    return true;
}

static void on_read(void *data, const char *name) {
    struct gathering *g = data;
    char *folder = path_folder(g->reference), *joined = path_join(folder, name);
    char *path = task_path_plain(joined);
    add(g, path, NULL, 0);
    free(path);
    free(joined);
    free(folder);
}

static void seen_add(struct gathering *g) {
    static const int64_t usual[] = TASK_SEEDS;
    const int64_t *seeds = g->job->seeds ? g->job->seeds : usual;
    size_t count = g->job->seeds ? g->job->seed_count : COUNT_OF(usual);
    const struct task_reading reading = {g->reference, NULL, wants_all, on_read, g};
    for (size_t i = 0; g->reference && i < count; i++)
        task_reference_read(&reading, seeds[i]);
}

static bool is_small_python(const char *path, const char *name) {
    struct stat st;
    return name[0] != '.' && str_ends(str_of(name), ".py") && stat(path, &st) == 0 &&
           S_ISREG(st.st_mode) && st.st_size <= MOST_BESIDE_BYTES;
}

static void beside_add(struct gathering *g) {
    char *folder = g->reference ? path_folder(g->reference) : NULL;
    DIR *listing = folder ? opendir(folder) : NULL;
    VEC(char *) paths = {0};
    const struct dirent *entry;
    while (listing && paths.len <= MOST_BESIDE && (entry = readdir(listing))) {
        char *path = path_join(folder, entry->d_name);
        if (is_small_python(path, entry->d_name) && strcmp(path, g->kernel) != 0)
            *vec_push(&paths) = path;
        else
            free(path);
    }
    for (size_t i = 0; i < paths.len; i++) {
        if (paths.len <= MOST_BESIDE)
            add(g, paths.at[i], NULL, 0);
        free(paths.at[i]);
    }
    vec_free(&paths);
    if (listing)
        closedir(listing);
    free(folder);
}

/* ----------------------------------------------------------------------------------------- doors
 */

/* A kernel that is no file stands for one beside its reference. */
static void find_places(struct gathering *g) {
    const struct runner_job *job = g->job;
    g->reference = job->reference_path ? task_path_plain(job->reference_path) : NULL;
    bool has_place = job->kernel_path && job->kernel_path[0] == '/';
    char *folder = g->reference ? path_folder(g->reference) : NULL;
    if (has_place)
        g->kernel = task_path_plain(job->kernel_path);
    else if (folder)
        g->kernel = path_join(folder, "kernel.py");
    free(folder);
}

static void put_names(struct gathering *g) {
    const char *name = g->reference ? below(g->root, g->reference) : NULL;
    char *folder = path_folder(g->kernel);
    const char *place = below(g->root, folder);
    buf_puts(&g->bundle->reference, name ? name : "");
    buf_puts(&g->bundle->kernel_folder, place ? place : "");
    free(folder);
}

static void hash_all(struct bundle *bundle) {
    if (bundle->files.len)
        qsort(bundle->files.at, bundle->files.len, sizeof *bundle->files.at, by_path);
    struct hash_stream *stream = hash_begin();
    for (size_t i = 0; i < bundle->files.len; i++) {
        hash_add(stream, bundle->files.at[i].path, strlen(bundle->files.at[i].path));
        hash_add(stream, bundle->files.at[i].data, bundle->files.at[i].size);
    }
    bundle->hash = hash_end(stream);
}

bool bundle_read(struct bundle *bundle, const struct runner_job *job, struct err *err) {
    struct gathering g = {.bundle = bundle, .job = job};
    find_places(&g);
    struct task_closure *closure = g.kernel ? closure_of(&g, job->kernel_text, err) : NULL;
    bool ok = !g.kernel || closure;
    if (closure) {
        g.root = mem_strdup(closure->root);
        closure_add(&g, closure);
        incumbent_add(&g);
        seen_add(&g);
        beside_add(&g);
        put_names(&g);
        hash_all(bundle);
    }
    task_closure_free(closure);
    free(g.root);
    free(g.reference);
    free(g.kernel);
    return ok;
}

void bundle_free(struct bundle *bundle) {
    for (size_t i = 0; i < bundle->files.len; i++) {
        free(bundle->files.at[i].path);
        free(bundle->files.at[i].data);
    }
    vec_free(&bundle->files);
    buf_free(&bundle->reference);
    buf_free(&bundle->kernel_folder);
    buf_free(&bundle->kernel_files);
    buf_free(&bundle->left);
}
