/* SPDX-License-Identifier: Apache-2.0 */
/* What an evaluation sees of this machine: its wall. */
#include "runner/private.h"

#include <stdlib.h>

static bool is_in_package(const char *folder) {
    char *mark = path_join(folder, "__init__.py");
    bool is = file_exists(mark);
    free(mark);
    return is;
}

/* The files of a package import each other, so the package is shown from its highest folder. */
static void show_package(struct wall *wall, const char *folder) {
    char *top = path_absolute(folder), *above = path_folder(top);
    while (is_in_package(top) && is_in_package(above)) {
        free(top);
        top = above;
        above = path_folder(top);
    }
    if (is_in_package(top))
        wall_add_folder(wall, top);
    free(top);
    free(above);
}

#define MOST_UP 3 /* folders that a relative import may lead up before it goes down again */

/* `from ..utils.common import x`: the folder of the file that is meant, if there is one. */
static void show_import(struct wall *wall, const char *path, struct str line) {
    struct str module = {line.at, line.len};
    uint32_t up = 0;
    if (!str_starts(line, "from .."))
        return;
    module.at += strlen("from "), module.len -= strlen("from ");
    for (; module.len && module.at[0] == '.'; module.at++, module.len--)
        up++;
    size_t end = 0;
    while (end < module.len && module.at[end] != ' ')
        end++;
    module.len = end;
    char *file = up - 1 <= MOST_UP && end ? nki_import_path(path, module, up - 1) : NULL;
    char *folder = file ? path_folder(file) : NULL;
    if (folder) {
        show_package(wall, folder);
        wall_add_folder(wall, folder);
    }
    free(folder);
    free(file);
}

/* Packages need no __init__.py: what the kernel's own file imports from folders above it. */
static void show_imports(struct wall *wall, const char *path) {
    size_t size;
    char *text = file_read(path, 8 << 20, &size, NULL);
    struct str rest = {text, text ? size : 0}, line;
    while (text && str_next(&rest, '\n', &line))
        show_import(wall, path, line);
    free(text);
}

static void show_folder_of(struct wall *wall, const char *path) {
    char *folder = path_folder(path);
    if (file_exists(path)) {
        show_package(wall, folder);
        show_imports(wall, path);
        wall_add_folder(wall, folder);
    }
    wall_add(wall, path, WALL_READ);
    free(folder);
}

static void show_to_write(struct wall *wall, const char *folder) {
    if (folder && file_make_dirs(folder, NULL))
        wall_add(wall, folder, WALL_WRITE);
}

struct wall *runner_wall(const struct runner_job *job, const char *self, struct err *err) {
    struct wall *wall = wall_new();
    wall_add(wall, self, WALL_READ);
    if (job->kernel_path)
        show_folder_of(wall, job->kernel_path);
    if (job->reference_path)
        task_wall_add(wall, job->reference_path, job->wall.shown);
    else if (runner_job_traces(job))
        task_wall_add_python(wall, job->wall.shown);
    for (size_t i = 0; i < job->input_count; i++)
        wall_add(wall, job->inputs[i].file, WALL_READ);
    show_to_write(wall, job->artifact_folder);
    show_to_write(wall, job->output_folder);
#ifdef HONE_COVERAGE_FOLDER
    show_to_write(wall, HONE_COVERAGE_FOLDER);
#endif
    if (wall_choose(wall, job->wall.level, err))
        return wall;
    wall_free(wall);
    return NULL;
}

char *runner_cache_variable(void) {
    char *own = path_cache(NULL), *folder = path_folder(own);
    struct buf line = {0};
    buf_printf(&line, "XDG_CACHE_HOME=%s", folder);
    free(own);
    free(folder);
    return buf_take(&line);
}
