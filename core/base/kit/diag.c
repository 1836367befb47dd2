/* SPDX-License-Identifier: Apache-2.0 */
#include "base/kit/kit.h"

#include <stdio.h>
#include <stdlib.h>

void diag_free(struct diag_list *list) {
    for (size_t i = 0; i < list->all.len; i++)
        free(list->all.at[i].message);
    for (size_t i = 0; i < list->files.len; i++)
        free(list->files.at[i]);
    vec_free(&list->all);
    vec_free(&list->files);
    list->errors = list->warnings = 0;
}

static const char *intern_file(struct diag_list *list, const char *file) {
    for (size_t i = 0; i < list->files.len; i++)
        if (strcmp(list->files.at[i], file) == 0)
            return list->files.at[i];
    return *vec_push(&list->files) = mem_strdup(file);
}

struct diag *diag_add(struct diag_list *list, enum diag_severity severity, const char *code,
                      const char *file, int line, int column, const char *format, ...) {
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    struct diag *diag = vec_push(&list->all);
    *diag = (struct diag){.severity = severity, .line = line, .column = column};
    snprintf(diag->code, sizeof diag->code, "%s", code ? code : "");
    diag->file = intern_file(list, file ? file : "");
    diag->message = buf_take(&text);
    list->errors += severity == DIAG_ERROR;
    list->warnings += severity == DIAG_WARNING;
    return diag;
}

void diag_copy(struct diag_list *list, const struct diag *diag) {
    struct diag *copy = diag_add(list, diag->severity, diag->code, diag->file, diag->line,
                                 diag->column, "%s", diag->message);
    copy->end_line = diag->end_line;
    copy->end_column = diag->end_column;
}

void diag_forget(struct diag_list *list, size_t from) {
    while (list->all.len > from) {
        struct diag *diag = &list->all.at[--list->all.len];
        list->errors -= diag->severity == DIAG_ERROR;
        list->warnings -= diag->severity == DIAG_WARNING;
        free(diag->message);
    }
}

const char *diag_severity_name(enum diag_severity severity) {
    static const char *const names[] = {"error", "warning", "note"};
    return names[severity];
}

void diag_print(const struct diag *diag, struct buf *out) {
    if (diag->file[0])
        buf_printf(out, "%s:", diag->file);
    if (diag->line)
        buf_printf(out, "%d:", diag->line);
    if (diag->line && diag->column)
        buf_printf(out, "%d:", diag->column);
    buf_printf(out, "%s%s: %s", out->len ? " " : "", diag_severity_name(diag->severity),
               diag->message);
    if (diag->code[0])
        buf_printf(out, " [%s]", diag->code);
}
