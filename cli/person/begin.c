/* SPDX-License-Identifier: Apache-2.0 */
/* A child of hone's own program, as references run under Python and may take their time. */
#include "cli/person/begin.h"

#include <stdlib.h>

#define SAID_MAX 400 /* bytes of what it said */

struct begin {
    struct loop_child *child;
    char *folder;
    struct buf said;
    begin_fn *done;
    void *data;
};

/* "tasks/softmax.py" -> "tasks/softmax"; "softmax/reference.py" -> "softmax". */
static char *folder_of(const char *reference) {
    if (strcmp(path_base(reference), "reference.py") == 0)
        return path_folder(reference);
    size_t len = strlen(reference);
    bool python = len > 3 && strcmp(reference + len - 3, ".py") == 0;
    struct buf folder = {0};
    buf_add(&folder, reference, python ? len - 3 : len);
    buf_puts(&folder, python ? "" : ".task");
    return buf_take(&folder);
}

static void on_output(void *data, enum loop_stream stream, struct str text, bool whole) {
    struct begin *begin = data;
    (void)whole;
    if (stream != LOOP_STDERR || begin->said.len > SAID_MAX)
        return;
    struct str plain = str_trim(text);
    if (str_starts(plain, "hone new: "))
        plain = (struct str){plain.at + strlen("hone new: "), plain.len - strlen("hone new: ")};
    buf_puts(&begin->said, begin->said.len ? "; " : "");
    buf_add(&begin->said, plain.at, plain.len);
}

static void on_end(void *data, const struct loop_exit *exit) {
    struct begin *begin = data;
    begin->child = NULL;
    bool skeleton = exit->end == LOOP_EXITED && exit->status == 1;
    bool written = exit->end == LOOP_EXITED && exit->status == 0;
    if (!written && begin->said.len == 0)
        loop_exit_print(exit, &begin->said);
    begin->done(begin->data, written || skeleton ? begin->folder : NULL,
                written ? NULL : begin->said.at);
}

struct begin *begin_start(struct loop *loop, const char *reference, const char *folder,
                          begin_fn *done, void *data, struct err *err) {
    struct begin *begin = mem_alloc(1, sizeof *begin);
    *begin = (struct begin){.done = done, .data = data};
    begin->folder = folder ? mem_strdup(folder) : folder_of(reference);
    char *program = os_executable_path();
    const char *argv[] = {program ? program : "hone",
                          "new",
                          "--no-sim",
                          "--reference",
                          reference,
                          "--",
                          begin->folder,
                          NULL};
    struct loop_child_spec spec = {.argv = argv,
                                   .environment = LOOP_WHOLE,
                                   .own_session = true,
                                   .out = LOOP_DISCARD,
                                   .err = LOOP_LINES,
                                   .on_output = on_output,
                                   .on_exit = on_end,
                                   .data = begin};
    begin->child = loop_child_start(loop, &spec, err);
    free(program);
    if (begin->child)
        return begin;
    begin_free(begin);
    return NULL;
}

void begin_free(struct begin *begin) {
    if (!begin)
        return;
    if (begin->child) {
        loop_child_forget(begin->child);
        loop_child_kill(begin->child, 0);
    }
    buf_free(&begin->said);
    free(begin->folder);
    free(begin);
}
