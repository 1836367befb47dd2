/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the editor as a child that owns the terminal. The command is the user's own shell text. The
 * file's name is passed as an argument and never becomes part of that text. */
#include "cli/person/editor.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct editor {
    char *folder, *path;
    editor_fn *done;
    void *data;
};

static const char *editor_command(void) {
    const char *const names[] = {"VISUAL", "EDITOR"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return value;
    }
    return "vi";
}

/* Editors that take +N before the file's name. */
static bool takes_line(const char *command) {
    static const char *const known[] = {"vi",    "vim", "nvim", "nano", "emacs", "emacsclient",
                                        "micro", "kak", "joe",  "ne",   "view",  "mg"};
    struct str rest = str_of(command), word = {"", 0};
    str_next(&rest, ' ', &word);
    const char *slash = word.len ? memrchr(word.at, '/', word.len) : NULL;
    if (slash) {
        word.len -= (size_t)(slash + 1 - word.at);
        word.at = slash + 1;
    }
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (str_is(word, known[i]))
            return true;
    return false;
}

static bool make_file(struct editor *editor, const char *name, const char *text, struct err *err) {
    char *parent = path_state("edit");
    char *folder = path_join(parent, "XXXXXX");
    if (file_make_dirs(parent, err) && mkdtemp(folder)) {
        editor->folder = folder;
        editor->path = path_join(folder, name);
    } else {
        err_set(err, ERR_ENVIRONMENT, "%s: no folder for the editor's file can be made there",
                parent);
        free(folder);
    }
    free(parent);
    if (!editor->path)
        return false;
    int fd = open(editor->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    return file_append(editor->path, text, strlen(text), err);
}

static void editor_free(struct editor *editor, bool keep_file) {
    if (editor->folder && !keep_file && !file_remove_tree(editor->folder, NULL))
        keep_file = true;
    free(editor->folder);
    free(editor->path);
    free(editor);
}

static void on_exit_of(void *data, const struct loop_exit *exit) {
    struct editor *editor = data;
    struct err err = {0};
    char *text = NULL;
    if (exit->end == LOOP_EXITED && exit->status == 0) {
        text = file_read(editor->path, 16u << 20, NULL, &err);
    } else {
        struct buf why = {0};
        loop_exit_print(exit, &why);
        err_set(&err, ERR_CANCELLED, "the editor failed (%s): nothing was changed", why.at);
        buf_free(&why);
    }
    bool taken = editor->done(editor->data, text, editor->path, &err);
    free(text);
    editor_free(editor, !taken);
}

struct editor *editor_start(struct loop *loop, const char *name, const char *text, int line,
                            struct err *err) {
    struct editor *editor = mem_alloc(1, sizeof *editor);
    const char *command = editor_command();
    struct buf script = {0};
    char where[16] = "";
    struct loop_child *child = NULL;
    if (line > 0 && takes_line(command))
        snprintf(where, sizeof where, "+%d", line);
    buf_printf(&script, "%s \"$@\"", command);
    if (make_file(editor, name, text, err)) {
        const char *argv[] = {"sh", "-c", script.at, "sh", editor->path, NULL, NULL};
        if (*where) {
            argv[4] = where;
            argv[5] = editor->path;
        }
        const struct loop_child_spec spec = {.argv = argv,
                                             .environment = LOOP_WHOLE,
                                             .interactive = true,
                                             .out = LOOP_INHERIT,
                                             .err = LOOP_INHERIT,
                                             .on_exit = on_exit_of,
                                             .data = editor};
        child = loop_child_start(loop, &spec, err);
    }
    buf_free(&script);
    if (child)
        return editor;
    editor_free(editor, false);
    return NULL;
}

void editor_on_done(struct editor *editor, editor_fn *done, void *data) {
    editor->done = done;
    editor->data = data;
}
