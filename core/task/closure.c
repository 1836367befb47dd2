/* SPDX-License-Identifier: Apache-2.0 */
/* Follows imports from file to file. A name is looked for where the embedded runner looks (beside
 * the file that imports it) and where Python does (beside the file that was started). What either
 * would read belongs to the task. */
#include "task/testing.h"
#include "task/closure.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "task/imports.h"
#include "task/seen.h"

#define SUM_PIECE ((size_t)1 << 20)
#define MAX_MODULE 1000 /* characters of a dotted name */

/* ------------------------------------------------------------------------------------ the paths */

char *task_path_plain(const char *path) {
    char *absolute = path_absolute(path);
    struct str rest = str_of(absolute), part;
    struct buf plain = {0};
    while (str_next(&rest, '/', &part)) {
        if (!part.len || str_is(part, "."))
            continue;
        if (str_is(part, "..")) {
            while (plain.len && plain.at[--plain.len] != '/')
                ;
            continue;
        }
        buf_printf(&plain, "/" STR_FMT, STR_ARG(part));
    }
    if (plain.at)
        plain.at[plain.len] = '\0';
    if (!plain.len)
        buf_puts(&plain, "/");
    free(absolute);
    return buf_take(&plain);
}

static bool is_file(struct task_seen *seen, const char *path) {
    struct stat st;
    return task_seen_stat(seen, path, &st) && S_ISREG(st.st_mode);
}

static bool is_folder(struct task_seen *seen, const char *path) {
    struct stat st;
    return task_seen_stat(seen, path, &st) && S_ISDIR(st.st_mode);
}

static bool is_too_large(struct task_seen *seen, const char *path) {
    struct stat st;
    return task_seen_stat(seen, path, &st) && st.st_size > (off_t)TASK_MAX_FILE_BYTES;
}

/* ------------------------------------------------------------------------------------ the files */

/* What makes a module impossible to import; NULL: nothing does. Python would wait at a pipe, and
 * read gigabytes without a word. */
static const char *no_module(struct task_seen *seen, const char *path) {
    struct stat st;
    bool is_link = task_seen_lstat(seen, path, &st) && S_ISLNK(st.st_mode);
    bool there = task_seen_stat(seen, path, &st);
    if (!there || S_ISDIR(st.st_mode))
        return is_link && !there ? "is a link that leads to no file" : NULL;
    if (!S_ISREG(st.st_mode))
        return "is a device or a pipe";
    return st.st_size > (off_t)TASK_MAX_FILE_BYTES ? "is too large" : NULL;
}

struct finder {
    struct task_closure *closure;
    struct err odd;     /* a module that cannot be one */
    size_t at;          /* the file whose imports are followed */
    unsigned of;        /* bits of enum task_of: whose file it is */
    const char *folder; /* of the kernel or the reference */
    bool full, by_text, no_data;
    struct task_seen *seen;
};

static struct task_file *file_at(struct task_closure *closure, const char *path) {
    for (size_t i = 0; i < closure->files.len; i++)
        if (strcmp(closure->files.at[i].path, path) == 0)
            return &closure->files.at[i];
    return NULL;
}

/* The closure takes over `text`; NULL: it was not read. */
static struct task_file *file_put(struct task_closure *closure, const char *path, char *text,
                                  size_t size) {
    struct task_file *file = vec_push(&closure->files);
    *file = (struct task_file){.path = mem_strdup(path), .text = text, .size = size};
    if (text)
        file->hash = hash_content(text, size);
    return file;
}

static void left_add(struct task_closure *closure, const char *path, unsigned of) {
    for (size_t i = 0; i < closure->left.len; i++)
        if (strcmp(closure->left.at[i].path, path) == 0) {
            closure->left.at[i].of |= of;
            return;
        }
    *vec_push(&closure->left) = (struct task_left){.path = mem_strdup(path), .of = of};
}

static void found(struct finder *finder, const char *path) {
    char *plain = task_path_plain(path);
    struct task_file *file = file_at(finder->closure, plain);
    size_t size = 0;
    char *text = NULL;
    bool full = !file && finder->closure->files.len >= TASK_MAX_FILES;
    bool large = !file && is_too_large(finder->seen, plain); /* it is not read to find that out */
    bool skips = finder->no_data && finder->by_text && !str_ends(str_of(plain), ".py");
    if (!file && !full && !large &&
        (skips || (text = task_seen_read(finder->seen, plain, &size, NULL)))) {
        file = file_put(finder->closure, plain, text, size);
        file->by_text = finder->by_text;
    } else if (!file && !full && finder->by_text) {
        left_add(finder->closure, plain, finder->of);
    }
    if (file)
        file->of |= finder->of;
    finder->full = finder->full || full;
    free(plain);
}

/* Finds every file below the folder that importing the dotted name would read. */
static void look_in(struct finder *finder, const char *folder, struct str dotted) {
    struct buf path = {0};
    struct str part;
    buf_puts(&path, folder);
    while (dotted.len < MAX_MODULE && str_next(&dotted, '.', &part) && part.len) {
        buf_printf(&path, "/" STR_FMT, STR_ARG(part));
        size_t stem = path.len;
        static const char *const endings[] = {".py", "/__init__.py"};
        for (size_t i = 0; i < COUNT_OF(endings); i++) {
            path.len = stem;
            buf_puts(&path, endings[i]);
            const char *why = finder->by_text ? NULL : no_module(finder->seen, path.at);
            if (why && finder->odd.kind == ERR_NONE)
                err_set(&finder->odd, ERR_USAGE,
                        "%.200s %s: a module that a kernel or a reference imports is a file of at "
                        "most %zu MB",
                        path.at, why, TASK_MAX_FILE_BYTES >> 20);
            if (!why && is_file(finder->seen, path.at))
                found(finder, path.at);
        }
        path.at[path.len = stem] = '\0';
        if (!is_folder(finder->seen, path.at))
            break;
    }
    buf_free(&path);
}

/* Finds the module, and what may be modules in it: `from a import b`. */
static void look_for(struct finder *finder, const char *folder, const struct task_import *import) {
    look_in(finder, folder, import->module);
    for (size_t i = 0; i < import->name_count; i++) {
        struct buf dotted = {0};
        buf_printf(&dotted, STR_FMT "%s" STR_FMT, STR_ARG(import->module),
                   import->module.len ? "." : "", STR_ARG(import->names[i]));
        look_in(finder, folder, buf_str(&dotted));
        buf_free(&dotted);
    }
}

static void look_up(struct finder *finder, const char *folder, const struct task_import *import) {
    char *base = mem_strdup(folder), *init;
    for (unsigned up = 1; up < import->level && strcmp(base, "/") != 0; up++) {
        char *above = path_folder(base);
        free(base);
        base = above;
    }
    init = path_join(base, "__init__.py");
    if (is_file(finder->seen, init))
        found(finder, init);
    look_for(finder, base, import);
    free(init);
    free(base);
}

static void on_import(void *data, const struct task_import *import) {
    struct finder *finder = data;
    char *folder = path_folder(finder->closure->files.at[finder->at].path);
    if (import->level)
        look_up(finder, folder, import);
    else
        look_for(finder, folder, import);
    if (!import->level && strcmp(folder, finder->folder) != 0)
        look_for(finder, finder->folder, import);
    free(folder);
}

static bool is_dotted(struct str text) {
    for (size_t i = 0; i < text.len; i++)
        if (!isalnum((unsigned char)text.at[i]) && text.at[i] != '_' && text.at[i] != '.')
            return false;
    return true;
}

/* Whether the text leads out of the folder, as "../x" does. */
static bool climbs(struct str text) {
    for (size_t i = 0; i + 1 < text.len; i++)
        if (text.at[i] == '.' && text.at[i + 1] == '.')
            return true;
    return false;
}

/* Finds a file of that name beside the file that names it, or beside the one that was started. */
static void look_for_data(struct finder *finder, const char *folder, struct str text) {
    struct buf path = {0};
    buf_printf(&path, "%s/" STR_FMT, folder, STR_ARG(text));
    if (is_file(finder->seen, path.at))
        found(finder, path.at);
    buf_free(&path);
}

struct texts {
    struct finder *finder;
    char *folder; /* of the file that has the literals */
    bool modules;
};

static void on_text(void *data, struct str text) {
    const struct texts *texts = data;
    struct finder *finder = texts->finder;
    if (text.at[0] == '/' || memchr(text.at, '\0', text.len) || climbs(text))
        return;
    bool both = strcmp(texts->folder, finder->folder) != 0;
    look_for_data(finder, texts->folder, text);
    if (both)
        look_for_data(finder, finder->folder, text);
    if (!texts->modules || !is_dotted(text))
        return;
    look_in(finder, texts->folder, text);
    if (both)
        look_in(finder, finder->folder, text);
}

static void look_at_texts(struct finder *finder) {
    const struct task_file *file = &finder->closure->files.at[finder->at];
    struct str text = {file->text, file->size};
    if (!task_imports_reach_out(text))
        return;
    struct texts texts = {finder, path_folder(file->path), task_imports_by_name(text)};
    finder->by_text = true;
    task_texts_find(text, on_text, &texts);
    finder->by_text = false;
    free(texts.folder);
}

/* Goes over all files that belong to the kernel, or to the reference. Their number grows on the
 * way. */
static bool follow(struct task_closure *closure, unsigned of, size_t start,
                   const struct task_start *from, struct err *err) {
    char *folder = path_folder(closure->files.at[start].path);
    struct finder finder = {.closure = closure,
                            .of = of,
                            .folder = folder,
                            .no_data = from->no_data,
                            .seen = from->seen};
    bool done[TASK_MAX_FILES + 2] = {0};
    for (bool more = true; more && !finder.full;) {
        more = false;
        for (finder.at = 0; finder.at < closure->files.len; finder.at++) {
            const struct task_file *file = &closure->files.at[finder.at];
            if (!(file->of & of) || done[finder.at])
                continue;
            done[finder.at] = more = true;
            if (!file->is_start && !str_ends(str_of(file->path), ".py"))
                continue;
            task_imports_find((struct str){file->text, file->size}, on_import, &finder);
            look_at_texts(&finder);
        }
    }
    free(folder);
    if (finder.odd.kind != ERR_NONE)
        return err_set(err, ERR_USAGE, "%s", finder.odd.text);
    return !finder.full ||
           err_set(err, ERR_USAGE, "over %d files belong to this task by import", TASK_MAX_FILES);
}

/* ------------------------------------------------------------------------------------- the root */

/* The length of the folder that holds all files, in characters without the last slash. */
static size_t common(const struct task_closure *closure) {
    const char *first = closure->files.at[0].path;
    size_t len = (size_t)(strrchr(first, '/') - first);
    for (size_t i = 1; i < closure->files.len; i++) {
        const char *path = closure->files.at[i].path;
        size_t same = 0;
        while (same < len && path[same] == first[same])
            same++;
        bool whole = same == len && path[len] == '/';
        while (!whole && same > 0 && !(first[same] == '/' && path[same] == '/'))
            same--;
        len = same;
    }
    return len;
}

static void name_all(struct task_closure *closure) {
    size_t len = closure->files.len ? common(closure) : 0;
    struct buf root = {0};
    if (len)
        buf_add(&root, closure->files.at[0].path, len);
    else
        buf_puts(&root, "/");
    closure->root = buf_take(&root);
    for (size_t i = 0; i < closure->files.len; i++)
        closure->files.at[i].name = mem_strdup(closure->files.at[i].path + len + 1);
    for (size_t i = 0; i < closure->left.len; i++) /* below the file that names it */
        closure->left.at[i].name = mem_strdup(closure->left.at[i].path + len + 1);
}

/* ---------------------------------------------------------------------------------------- doors */

static bool begin(struct task_closure *closure, const struct task_start *start, unsigned of,
                  struct err *err) {
    bool kernel = of == TASK_OF_KERNEL;
    const char *path = kernel ? start->kernel_path : start->reference_path;
    const char *text = kernel ? start->kernel_text : NULL;
    char *plain = task_path_plain(path);
    size_t size = text ? strlen(text) : 0;
    struct task_file *file = file_at(closure, plain);
    char *copy = file   ? NULL
                 : text ? mem_strdup(text)
                        : task_seen_read(start->seen, plain, &size, err);
    if (copy)
        file = file_put(closure, plain, copy, size);
    if (file) {
        file->of |= of;
        file->is_start = true;
    }
    free(plain);
    return file != NULL;
}

struct task_closure *task_closure_find(const struct task_start *start, struct err *err) {
    struct task_closure *closure = mem_alloc(1, sizeof *closure);
    bool ok = !start->kernel_path || begin(closure, start, TASK_OF_KERNEL, err);
    size_t reference = closure->files.len;
    ok = ok && (!start->reference_path || begin(closure, start, TASK_OF_REFERENCE, err));
    if (reference && reference == closure->files.len)
        reference = 0; /* one file is both */
    if (err && err->kind == ERR_ENVIRONMENT)
        err->kind = ERR_USAGE;
    bool fits = ok && (!start->kernel_path || follow(closure, TASK_OF_KERNEL, 0, start, err));
    fits = fits &&
           (!start->reference_path || follow(closure, TASK_OF_REFERENCE, reference, start, err));
    if (fits) {
        name_all(closure);
        return closure;
    }
    task_closure_free(closure);
    return NULL;
}

void task_closure_free(struct task_closure *closure) {
    if (!closure)
        return;
    for (size_t i = 0; i < closure->files.len; i++) {
        free(closure->files.at[i].path);
        free(closure->files.at[i].name);
        free(closure->files.at[i].text);
    }
    for (size_t i = 0; i < closure->left.len; i++) {
        free(closure->left.at[i].path);
        free(closure->left.at[i].name);
    }
    vec_free(&closure->left);
    vec_free(&closure->files);
    free(closure->root);
    free(closure);
}

const struct task_file *task_closure_named(const struct task_closure *closure, const char *name) {
    for (size_t i = 0; i < closure->files.len; i++)
        if (strcmp(closure->files.at[i].name, name) == 0)
            return &closure->files.at[i];
    return NULL;
}

bool task_file_sum(const char *path, const volatile int *cancel, int64_t *size, struct hash *hash) {
    int fd = file_open(path, O_RDONLY, 0, NULL);
    FILE *file = fd >= 0 ? fdopen(fd, "rb") : NULL;
    char *piece = file ? mem_alloc(1, SUM_PIECE) : NULL;
    struct hash_stream *stream = hash_begin();
    size_t got;
    *size = 0;
    while (file && !(cancel && *cancel) && (got = fread(piece, 1, SUM_PIECE, file)) > 0) {
        hash_add(stream, piece, got);
        *size += (int64_t)got;
    }
    bool ok = file && !ferror(file) && !(cancel && *cancel);
    *hash = hash_end(stream);
    if (file)
        fclose(file);
    free(piece);
    return ok;
}

static int by_name(const void *a, const void *b) {
    return strcmp((*(const struct task_file *const *)a)->name,
                  (*(const struct task_file *const *)b)->name);
}

struct hash task_closure_hash(const struct task_closure *closure, unsigned of) {
    VEC(const struct task_file *) files = {0};
    struct hash_stream *stream = hash_begin();
    for (size_t i = 0; i < closure->files.len; i++)
        if (closure->files.at[i].of & of)
            *vec_push(&files) = &closure->files.at[i];
    if (files.len)
        qsort(files.at, files.len, sizeof *files.at, by_name);
    for (size_t i = 0; i < files.len; i++) {
        hash_add(stream, files.at[i]->name, strlen(files.at[i]->name));
        hash_add(stream, files.at[i]->hash.hex, sizeof files.at[i]->hash.hex);
    }
    vec_free(&files);
    return hash_end(stream);
}
