/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel imports, for whoever changes the kernel: causes name lines of these files. */
#include <stdlib.h>

#include "tune/ask/sections.h"

static bool is_imported(const struct tune_task_file *file) {
    return tune_file_name_is_safe(file->name) &&
           (!strcmp(file->of, "kernel imports") || !strcmp(file->of, "both import"));
}

/* The folder of the kernel's name, "kernels/", or nothing; a new string. */
static char *folder_of(const struct tune_state *state) {
    char *folder = NULL;
    for (size_t i = 0; i < state->files.len && !folder; i++)
        if (!strcmp(state->files.at[i].of, "kernel"))
            folder = mem_strdup(state->files.at[i].name);
    if (folder)
        folder[path_base(folder) - folder] = '\0';
    return folder ? folder : mem_strdup("");
}

void tune_imports_each(const struct tune_state *state, tune_import_fn *fn, void *data) {
    char *folder = folder_of(state);
    for (size_t i = 0; i < state->files.len; i++) {
        const struct tune_task_file *file = &state->files.at[i];
        bool below = str_starts(str_of(file->name), folder);
        char *text = is_imported(file) ? tune_task_file_text(state, file) : NULL;
        if (text)
            fn(data, file->name, below ? file->name + strlen(folder) : NULL, text);
        free(text);
    }
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
