/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a task: which kernel, which reference, under which name. Seeds come from a folder here,
 * from the configuration folder or from the binary, in that order. Nothing is run here. */
#include "task/task.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_KERNEL_BYTES ((size_t)16 << 20)
#define MAX_BEGUN 50                      /* files of a folder that are looked into, */
#define MAX_NAMED 4                       /* and that are named */
#define MAX_ABOUT_BYTES ((size_t)1 << 20) /* of session.json */

void task_free(struct task *task) {
    if (!task)
        return;
    free(task->name);
    free(task->folder);
    free(task->kernel_path);
    free(task->kernel_text);
    free(task->reference_path);
    free(task->model);
    free(task->function);
    free(task);
}

static bool is_kernel_of(const char *file, struct str *name) {
    struct str rest = str_of(file), part;
    if (!str_next(&rest, '/', &part) || !str_is(part, "seeds") || !str_next(&rest, '/', name))
        return false;
    return str_is(rest, "kernel.py");
}

/* The seed's name in "seeds/silu", "seeds/silu/", "silu" or "seeds/silu/kernel.py", as sessions
 * and findings name a kernel in the binary; otherwise {NULL, 0}. */
static struct str seed_of(const char *path) {
    struct str name = str_of(path), of_kernel;
    if (is_kernel_of(path, &of_kernel))
        name = of_kernel;
    else if (str_starts(name, "seeds/"))
        name = (struct str){name.at + 6, name.len - 6};
    while (name.len && name.at[name.len - 1] == '/')
        name.len--;
    if (!name.len || memchr(name.at, '/', name.len) || name.at[0] == '.')
        return (struct str){NULL, 0};
    return name;
}

struct str task_seed_name(size_t index) {
    for (const struct embedded_file *file = embedded_files; file->name; file++) {
        struct str name;
        if (is_kernel_of(file->name, &name) && index-- == 0)
            return name;
    }
    return (struct str){NULL, 0};
}

/* The name of a folder or file as the name of a task, without ".py". */
static char *name_of(const char *path, bool is_file) {
    char *absolute = path_absolute(path);
    struct str name = str_of(absolute);
    while (name.len > 1 && name.at[name.len - 1] == '/')
        name.len--;
    for (size_t i = name.len; i-- > 0;) {
        if (name.at[i] == '/' && i + 1 < name.len) {
            name = (struct str){name.at + i + 1, name.len - i - 1};
            break;
        }
    }
    if (is_file && str_ends(name, ".py"))
        name.len -= 3;
    /* "." and ".." are no names. The folder that they lead to has one, when it can be resolved. */
    char *real = str_is(name, ".") || str_is(name, "..") ? realpath(path, NULL) : NULL;
    if (real)
        name = str_of(path_base(real));
    struct buf text = {0};
    buf_add(&text, name.at, name.len);
    free(real);
    free(absolute);
    return buf_take(&text);
}

/* A model.ini beside kernel.py makes the task one of the kind "model". */
static bool find_model(struct task *task, struct err *err) {
    char *path = path_join(task->folder, "model.ini");
    bool there = file_exists(path);
    if (there)
        task->model = task_model_read(path, err);
    free(path);
    return !there || task->model;
}

static bool is_beside(const struct task *task, const char *name) {
    char *path = path_join(task->folder, name);
    bool is = file_exists(path);
    free(path);
    return is;
}

/* In the folder that hone export wrote, session.json says which function the kernel is. */
static void find_function(struct task *task) {
    if (!is_beside(task, "session.json") || !is_beside(task, "events.jsonl"))
        return;
    char *path = path_join(task->folder, "session.json");
    char *text = file_read(path, MAX_ABOUT_BYTES, NULL, NULL);
    cJSON *about = text ? cJSON_Parse(text) : NULL;
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(about, "function"));
    task->function = mem_strdup(name && *name ? name : NULL);
    cJSON_Delete(about);
    free(text);
    free(path);
}

static bool leads_somewhere(const char *path, struct err *err) {
    return !file_is_broken_link(path) ||
           err_set(err, ERR_USAGE,
                   "%s is a symbolic link that leads to no file: nothing is there, or it leads in "
                   "a circle",
                   path);
}

/* Python would wait at a pipe, and behind a wall there are no devices. */
static bool is_openable(const char *path, struct err *err) {
    struct err found = {0};
    struct stat st;
    if (stat(path, &st) == 0 && (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)))
        return err_set(err, ERR_USAGE, "%s is a device: a reference is a Python file", path);
    int fd = file_open(path, O_RDONLY, 0, &found);
    if (fd >= 0)
        close(fd);
    return found.kind != ERR_USAGE || err_set(err, found.kind, "%s", found.text);
}

/* The system takes no longer path, and children are told whole ones. */
static bool fits_system(const char *path, struct err *err) {
    char *absolute = path_absolute(path);
    size_t length = strlen(absolute);
    free(absolute);
    return length < PATH_MAX ||
           err_set(
               err, ERR_USAGE,
               "the whole path of %.80s has %zu bytes, and %d are possible: move it to a folder "
               "with a shorter path",
               path, length, PATH_MAX - 1);
}

static struct task *open_file(const char *path, const char *reference, struct err *err) {
    if (!fits_system(path, err) || (reference && !fits_system(reference, err)))
        return NULL;
    struct task *task = mem_alloc(1, sizeof *task);
    task->kernel_path = mem_strdup(path);
    task->folder = path_folder(path);
    task->kernel_text = file_read(path, MAX_KERNEL_BYTES, &task->kernel_len, err);
    if (!task->kernel_text) {
        if (err && err->kind == ERR_ENVIRONMENT)
            err->kind = ERR_USAGE; /* the user named a file that is not there */
        task_free(task);
        return NULL;
    }
    const char *zero = memchr(task->kernel_text, 0, task->kernel_len);
    if (zero) {
        err_set(err, ERR_USAGE,
                "%s holds a zero byte (at byte %zu), so it is not text: a kernel is a Python file "
                "in UTF-8",
                path, (size_t)(zero - task->kernel_text));
        task_free(task);
        return NULL;
    }
    bool in_task_folder = strcmp(path_base(path), "kernel.py") == 0;
    task->name = in_task_folder ? name_of(task->folder, false) : name_of(path, true);
    char *beside = path_join(task->folder, "reference.py");
    if (reference)
        task->reference_path = mem_strdup(reference);
    else if (in_task_folder && (file_exists(beside) || file_is_broken_link(beside)))
        task->reference_path = mem_strdup(beside);
    free(beside);
    if (task->reference_path && !leads_somewhere(task->reference_path, err)) {
        task_free(task);
        return NULL;
    }
    if (task->reference_path && !file_exists(task->reference_path)) {
        err_set(err, ERR_USAGE, "there is no reference %s", task->reference_path);
        task_free(task);
        return NULL;
    }
    if (task->reference_path && !is_openable(task->reference_path, err)) {
        task_free(task);
        return NULL;
    }
    if (in_task_folder && !find_model(task, err)) {
        task_free(task);
        return NULL;
    }
    if (in_task_folder)
        find_function(task);
    return task;
}

typedef VEC(char *) names_vec;

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Whether a file of the folder speaks of NKI, as a kernel does and a reference does not. */
static bool speaks_of_nki(const char *folder, const char *name) {
    char *path = path_join(folder, name);
    struct err err = {0};
    char *text = file_read(path, MAX_ABOUT_BYTES, NULL, &err);
    bool speaks = text && strstr(text, "nki");
    free(text);
    free(path);
    return speaks;
}

/* The Python files of the folder that may be kernels, by name; `nki`: only those that speak of
 * it. */
static void kernels_in(const char *path, bool nki, names_vec *names) {
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        bool fits = str_ends(str_of(entry->d_name), ".py") && entry->d_name[0] != '.' &&
                    strcmp(entry->d_name, "reference.py") != 0;
        if (fits && names->len < MAX_BEGUN && (!nki || speaks_of_nki(path, entry->d_name)))
            *vec_push(names) = mem_strdup(entry->d_name);
    }
    if (dir)
        closedir(dir);
    if (names->len)
        qsort(names->at, names->len, sizeof *names->at, by_name);
}

/* "add.py", or "one of add.py, mul.py". A new string; NULL: there is none. */
static char *kernel_in(const char *path) {
    names_vec names = {0};
    struct buf text = {0};
    kernels_in(path, true, &names);
    if (!names.len)
        kernels_in(path, false, &names);
    if (names.len > 1)
        buf_puts(&text, "one of ");
    for (size_t i = 0; i < names.len && i < MAX_NAMED; i++)
        buf_printf(&text, "%s%s", i ? ", " : "", names.at[i]);
    if (names.len > MAX_NAMED)
        buf_puts(&text, ", ...");
    for (size_t i = 0; i < names.len; i++)
        free(names.at[i]);
    vec_free(&names);
    return text.len ? buf_take(&text) : NULL;
}

/* Says how to begin a task in a folder that has none. */
static void not_begun(const char *path, struct err *err) {
    char *found = kernel_in(path), *reference = path_join(path, "reference.py");
    char *session = path_join(path, "session.db");
    if (file_exists(session))
        err_set(err, ERR_USAGE,
                "%s is a session, not a task: name the task or the kernel that it is of; hone "
                "alone lists the sessions",
                path);
    else if (!found && file_exists(reference))
        err_set(err, ERR_USAGE,
                "%s is not a task yet: it has no kernel.py. hone new %s writes a first kernel from "
                "its reference.py; or put your own there under that name",
                path, path);
    else if (found)
        err_set(err, ERR_USAGE,
                "%s is not a task yet: it has no kernel.py. If %s is the kernel, name the file and "
                "--reference FILE; or call it kernel.py and put reference.py beside it",
                path, found);
    else
        err_set(
            err, ERR_USAGE,
            "%s is not a task yet: it has no kernel.py. Put your kernel there under that name, and "
            "beside it reference.py, which makes the inputs and computes the right results. The "
            "seeds (seeds/silu) are examples of both",
            path);
    free(found);
    free(reference);
    free(session);
}

static struct task *open_folder(const char *path, const char *reference, struct err *err) {
    char *kernel = path_join(path, "kernel.py");
    struct task *task = NULL;
    if (file_exists(kernel))
        task = open_file(kernel, reference, err);
    else if (leads_somewhere(kernel, err))
        not_begun(path, err);
    free(kernel);
    return task;
}

/* Puts a built-in file on disk, where Python can read it. A new string. */
static char *put_on_disk(struct str text, const char *name, struct err *err) {
    struct buf at = {0};
    buf_printf(&at, "seeds/%s", hash_content(text.at, text.len).hex);
    char *folder = path_cache(at.at);
    buf_free(&at);
    char *path = path_join(folder, name);
    bool ok = file_exists(path) ||
              (file_make_dirs(folder, err) && file_write(path, text.at, text.len, err));
    free(folder);
    if (ok)
        return path;
    free(path);
    return NULL;
}

static struct task *open_builtin(struct str seed, const char *reference, struct err *err) {
    struct buf kernel = {0}, beside = {0};
    buf_printf(&kernel, "seeds/" STR_FMT "/kernel.py", STR_ARG(seed));
    buf_printf(&beside, "seeds/" STR_FMT "/reference.py", STR_ARG(seed));
    struct str text = embed_find(kernel.at), reference_text = embed_find(beside.at);
    struct task *task = NULL;
    if (text.at) {
        task = mem_alloc(1, sizeof *task);
        task->is_builtin = true;
        task->name = mem_dup(seed.at, seed.len + 1);
        task->name[seed.len] = 0;
        task->folder = mem_strdup(".");
        task->kernel_text = mem_dup(text.at, text.len + 1);
        task->kernel_len = text.len;
        task->kernel_path = mem_strdup(kernel.at);
        if (reference)
            task->reference_path = mem_strdup(reference);
        else if (reference_text.at)
            task->reference_path = put_on_disk(reference_text, "reference.py", err);
        if (!task->reference_path && reference_text.at) {
            task_free(task);
            task = NULL;
        }
    }
    buf_free(&kernel);
    buf_free(&beside);
    return task;
}

static struct task *open_seed(struct str seed, const char *reference, struct err *err) {
    struct buf name = {0};
    buf_printf(&name, "seeds/" STR_FMT, STR_ARG(seed));
    char *configured = path_config(name.at);
    struct task *task = NULL;
    if (file_is_dir(name.at))
        task = open_folder(name.at, reference, err);
    else if (file_is_dir(configured))
        task = open_folder(configured, reference, err);
    else
        task = open_builtin(seed, reference, err);
    free(configured);
    buf_free(&name);
    return task;
}

static struct task *not_there(const char *path, struct err *err) {
    struct buf seeds = {0};
    struct str name;
    for (size_t i = 0; (name = task_seed_name(i)).at; i++)
        buf_printf(&seeds, "%s" STR_FMT, i ? ", " : "", STR_ARG(name));
    err_set(err, ERR_USAGE,
            "there is no task %s: it is neither a folder with kernel.py, nor a "
            "kernel file, nor one of the seeds %s",
            path, seeds.at ? seeds.at : "(none)");
    buf_free(&seeds);
    return NULL;
}

struct task *task_open(const char *path, const char *reference, struct err *err) {
    struct err none = {0};
    if (!err)
        err = &none;
    *err = none;
    struct str seed = seed_of(path);
    struct task *task = NULL;
    if (!leads_somewhere(path, err))
        return NULL;
    if (file_is_dir(path))
        task = open_folder(path, reference, err);
    else if (file_exists(path))
        task = open_file(path, reference, err);
    else if (seed.at)
        task = open_seed(seed, reference, err);
    if (!task && err->kind == ERR_NONE)
        return not_there(path, err);
    return task;
}
