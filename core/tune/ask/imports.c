/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel imports, for whoever changes the kernel: causes name lines of these files. */
#include <stdlib.h>

#include "tune/ask/sections.h"

#define MOST_BYTES ((size_t)128 << 10) /* of a file; a larger one is no help */

static const struct tune_task_file *kernel_of(const struct tune_state *state) {
    for (size_t i = 0; i < state->files.len; i++)
        if (!strcmp(state->files.at[i].of, "kernel"))
            return &state->files.at[i];
    return NULL;
}

static bool is_imported(const struct tune_task_file *file) {
    return !file->left_bytes && tune_file_name_is_safe(file->name) &&
           (!strcmp(file->of, "kernel imports") || !strcmp(file->of, "both import"));
}

/* Reads one below `root`; another file than the session's is none of it. */
static void import_read(struct str root, const struct tune_task_file *file, struct str folder,
                        tune_import_fn *fn, void *data) {
    struct buf path = {0};
    size_t size = 0;
    buf_printf(&path, STR_FMT "%s", STR_ARG(root), file->name);
    char *text = file_read(path.at, MOST_BYTES, &size, NULL);
    bool below = str_starts(str_of(file->name), folder.at) || !folder.len;
    if (text && !strcmp(hash_content(text, size).hex, file->hash))
        fn(data, file->name, below ? file->name + folder.len : NULL, text);
    free(text);
    buf_free(&path);
}

void tune_imports_each(const struct tune_state *state, tune_import_fn *fn, void *data) {
    const struct tune_task_file *kernel = kernel_of(state);
    const char *path = tune_kernel_file(state);
    if (!kernel || !path || !str_ends(str_of(path), kernel->name))
        return;
    struct str root = {path, strlen(path) - strlen(kernel->name)};
    char *folder = mem_strdup(kernel->name);
    folder[path_base(folder) - folder] = '\0'; /* "kernels/", or nothing */
    for (size_t i = 0; i < state->files.len; i++)
        if (is_imported(&state->files.at[i]))
            import_read(root, &state->files.at[i], str_of(folder), fn, data);
    free(folder);
}

static void put(void *data, const char *name, const char *beside, const char *text) {
    struct buf *out = data;
    struct str rest = str_of(text), line;
    (void)beside;
    buf_printf(out, "%s%s:\n\n", out->len ? "\n" : "", name);
    for (int number = 1; str_next(&rest, '\n', &line); number++)
        if (line.len || rest.len)
            buf_printf(out, "%4d  " STR_FMT "\n", number, STR_ARG(line));
}

void tune_section_imports(struct tune_context *context, const struct tune_state *state) {
    struct buf out = {0};
    tune_imports_each(state, put, &out);
    tune_section_add(context, "imported files", &out);
}
