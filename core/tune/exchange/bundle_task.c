/* SPDX-License-Identifier: Apache-2.0 */
/* The task in a bundle: the best kernel, the reference and all that they import. Where everything
 * lies in one folder, it does so here, as kernel.py and reference.py; else it lies as before, below
 * task/. */
#include <stdlib.h>

#include "tune/exchange/bundle.h"
#include "tune/exchange/private.h"
#include "tune/session/inner.h"

static void add(struct bundle_task *task, const char *name, const char *of, char *text,
                size_t size) {
    *vec_push(&task->files) = (struct bundle_file){
        .name = mem_strdup(name), .of = mem_strdup(of), .text = text, .size = size};
}

/* One of which the session has only the hash lies where it was measured with, or is lacking. */
static void add_large(struct bundle_task *task, const struct tune_state *state,
                      const struct tune_task_file *file) {
    char *root = tune_files_root_of(state, state->kernel_path, "kernel");
    if (!root)
        root = tune_files_root_of(state, state->reference_path, "reference");
    char *from = root ? path_join(root, file->name) : NULL;
    struct hash hash;
    int64_t size;
    bool same = from && task_file_sum(from, NULL, &size, &hash) && !strcmp(hash.hex, file->hash);
    if (same) {
        add(task, file->name, file->of, NULL, 0);
        task->files.at[task->files.len - 1].from = from;
        task->files.at[task->files.len - 1].hash = mem_strdup(file->hash);
    } else {
        task->lacking = task->lacking ? task->lacking : file->name;
        buf_printf(&task->lacks,
                   "It also needs %s (%lld bytes). The file is too large to be kept with the "
                   "session, and it was no longer there as it was: put it into its place.\n\n",
                   file->name, (long long)file->left_bytes);
        free(from);
    }
    free(root);
}

/* Those that the session keeps. False and *err where one of them is gone or damaged. */
static bool from_session(struct bundle_task *task, const struct tune_state *state,
                         struct store *store, struct err *err) {
    for (size_t i = 0; i < state->files.len; i++) {
        const struct tune_task_file *file = &state->files.at[i];
        size_t size = 0;
        bool safe = tune_file_name_is_safe(file->name);
        if (safe && file->left_bytes) {
            add_large(task, state, file);
            continue;
        }
        char *text = safe ? store_artefact_read(store, file->hash, &size, err) : NULL;
        if (!text)
            return err_prefix(err, "%.100s of this task", file->name);
        add(task, file->name, file->of, text, size);
    }
    return true;
}

/* A session of an older hone: the sources that its log has, and what lies on disk of the others. */
static void from_disk(struct bundle_task *task, const struct tune_state *state) {
    const char *reference =
        state->reference_path && file_exists(state->reference_path) ? state->reference_path : NULL;
    struct task_start start = {.kernel_path = state->kernel_path,
                               .kernel_text = state->kernel_source,
                               .reference_path = reference};
    struct task_closure *closure =
        state->kernel_path && state->kernel_source ? task_closure_find(&start, NULL) : NULL;
    for (size_t i = 0; closure && i < closure->files.len; i++) {
        const struct task_file *file = &closure->files.at[i];
        bool is_reference = file->is_start && !(file->of & TASK_OF_KERNEL);
        const char *text =
            is_reference && state->reference_source ? state->reference_source : file->text;
        add(task, file->name,
            is_reference     ? "reference"
            : file->is_start ? "kernel"
                             : "imports",
            mem_strdup(text), strlen(text));
    }
    bool lacks = !closure || !reference;
    if (!closure && state->kernel_source)
        add(task, "kernel.py", "kernel", mem_strdup(state->kernel_source),
            strlen(state->kernel_source));
    if (lacks && state->reference_source)
        add(task, "reference.py", "reference", mem_strdup(state->reference_source),
            strlen(state->reference_source));
    task_closure_free(closure);
}

static struct bundle_file *file_of(struct bundle_task *task, const char *of) {
    for (size_t i = 0; i < task->files.len; i++)
        if (!strcmp(task->files.at[i].of, of))
            return &task->files.at[i];
    return NULL;
}

static bool has(const struct bundle_task *task, const char *name, const struct bundle_file *but) {
    for (size_t i = 0; i < task->files.len; i++)
        if (&task->files.at[i] != but && !strcmp(task->files.at[i].name, name))
            return true;
    return false;
}

static void rename_to(struct bundle_file *file, const char *name) {
    char *copy = mem_strdup(name);
    free(file->name);
    file->name = copy;
}

/* Whether kernel and reference lie at the top of what they import, and their usual names are
 * free. */
static bool is_flat(const struct bundle_task *task, const struct bundle_file *kernel,
                    const struct bundle_file *reference) {
    return !strchr(kernel->name, '/') && !has(task, "kernel.py", kernel) &&
           (!reference || (!strchr(reference->name, '/') && !has(task, "reference.py", reference)));
}

static void below_task(struct bundle_task *task) {
    for (size_t i = 0; i < task->files.len; i++) {
        char *name = path_join("task", task->files.at[i].name);
        rename_to(&task->files.at[i], name);
        free(name);
    }
}

bool bundle_task_find(struct bundle_task *task, const struct tune_state *state, struct store *store,
                      const char *source, struct err *err) {
    *task = (struct bundle_task){0};
    if (state->files.len && !from_session(task, state, store, err))
        return false;
    if (!state->files.len)
        from_disk(task, state);
    struct bundle_file *kernel = file_of(task, "kernel"), *reference = file_of(task, "reference");
    if (!kernel)
        return true;
    if (source) {
        free(kernel->text);
        kernel->text = mem_strdup(source);
        kernel->size = strlen(source);
    }
    task->flat = is_flat(task, kernel, reference);
    if (!task->flat) {
        below_task(task);
    } else {
        rename_to(kernel, "kernel.py");
        if (reference)
            rename_to(reference, "reference.py");
    }
    task->kernel = kernel->name;
    task->reference = reference ? reference->name : NULL;
    return true;
}

void bundle_task_free(struct bundle_task *task) {
    for (size_t i = 0; i < task->files.len; i++) {
        free(task->files.at[i].name);
        free(task->files.at[i].of);
        free(task->files.at[i].text);
        free(task->files.at[i].from);
        free(task->files.at[i].hash);
    }
    vec_free(&task->files);
    buf_free(&task->lacks);
}
