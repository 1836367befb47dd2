/* SPDX-License-Identifier: Apache-2.0 */
/* What a reference sees behind a wall: its folder, its part of the cache, and Python with what is
 * installed for it, which often lies in the home folder. Nothing is run to find these. */
#include "task/enclosure.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "task/cache.h"
#include "task/python.h"

#define MAX_LINKS 16
#define MAX_LINE 4096

/* The path of a program on PATH; NULL: it is not there. */
static char *find_program(const char *program) {
    const char *search = getenv("PATH");
    struct str rest = str_of(search ? search : "/usr/local/bin:/usr/bin:/bin"), folder;
    if (strchr(program, '/'))
        return access(program, X_OK) == 0 ? path_absolute(program) : NULL;
    while (str_next(&rest, ':', &folder)) {
        struct buf path = {0};
        buf_printf(&path, STR_FMT "/%s", STR_ARG(folder), program);
        if (folder.len && access(path.at, X_OK) == 0)
            return buf_take(&path);
        buf_free(&path);
    }
    return NULL;
}

bool enclosure_has_program(const char *program) {
    char *path = find_program(program);
    free(path);
    return path != NULL;
}

/* Shows the folders that lines of site-packages/NAME.pth name: packages that are being worked
 * on. */
static void add_path_file(struct wall *wall, const char *path) {
    char *text = file_read(path, 1 << 16, NULL, NULL);
    struct str rest = str_of(text ? text : ""), line;
    while (str_next(&rest, '\n', &line)) {
        char folder[MAX_LINE];
        line = str_trim(line);
        snprintf(folder, sizeof folder, STR_FMT, STR_ARG(line));
        if (line.len < sizeof folder && folder[0] == '/' && file_is_dir(folder))
            wall_add_folder(wall, folder);
    }
    free(text);
}

static void each_entry(struct wall *wall, const char *folder, const char *ending,
                       void (*fn)(struct wall *wall, const char *path)) {
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.' || !str_ends(str_of(entry->d_name), ending))
            continue;
        char *path = path_join(folder, entry->d_name);
        fn(wall, path);
        free(path);
    }
    if (dir)
        closedir(dir);
}

/* Shows what is in the site-packages of PREFIX/lib/python3.x. */
static void add_packages(struct wall *wall, const char *library) {
    if (!strstr(library, "/python3"))
        return;
    char *packages = path_join(library, "site-packages");
    each_entry(wall, packages, ".pth", add_path_file);
    free(packages);
}

static void add_prefix(struct wall *wall, const char *prefix) {
    char *libraries = path_join(prefix, "lib");
    wall_add_folder(wall, prefix);
    each_entry(wall, libraries, "", add_packages);
    free(libraries);
}

/* Shows the folder above the program's folder, unless it is one that every system has. */
static void add_prefix_of(struct wall *wall, const char *program) {
    char *folder = path_folder(program), *prefix = path_folder(folder);
    if (strcmp(prefix, "/usr") != 0 && strcmp(prefix, "/") != 0)
        add_prefix(wall, prefix);
    wall_add(wall, program, WALL_READ);
    free(prefix);
    free(folder);
}

/* A virtual environment is a folder of links into an installation, over any number of links. */
static void add_program(struct wall *wall, const char *program) {
    char *path = find_program(program);
    for (int hop = 0; path && hop < MAX_LINKS; hop++) {
        char target[PATH_MAX];
        add_prefix_of(wall, path);
        ssize_t len = readlink(path, target, sizeof target - 1);
        char *folder = path_folder(path), *next = NULL;
        if (len > 0) {
            target[len] = 0;
            next = target[0] == '/' ? mem_strdup(target) : path_join(folder, target);
        }
        free(folder);
        free(path);
        path = next;
    }
    free(path);
}

static void add_python_path(struct wall *wall) {
    const char *search = getenv("PYTHONPATH");
    struct str rest = str_of(search ? search : ""), folder;
    while (str_next(&rest, ':', &folder)) {
        char path[MAX_LINE];
        snprintf(path, sizeof path, STR_FMT, STR_ARG(folder));
        if (folder.len && folder.len < sizeof path)
            wall_add_folder(wall, path);
    }
}

/* Shows what pip install --user installed. Behind the wall HOME is another folder, so Python has to
 * be told. */
static void add_user_packages(struct wall *wall) {
    const char *base = getenv("PYTHONUSERBASE"), *home = getenv("HOME");
    char *usual = path_join(home && *home ? home : "/", ".local");
    char *libraries = path_join(base && *base ? base : usual, "lib");
    each_entry(wall, libraries, "", add_packages);
    wall_add(wall, libraries, WALL_READ);
    free(libraries);
    free(usual);
}

void enclosure_add_python(struct wall *wall, const char *program) {
    add_program(wall, program);
    add_python_path(wall);
    add_user_packages(wall);
}

char *task_user_base(void) {
    const char *base = getenv("PYTHONUSERBASE"), *home = getenv("HOME");
    struct buf line = {0};
    buf_printf(&line, "PYTHONUSERBASE=%s%s",
               base && *base   ? base
               : home && *home ? home
                               : "/",
               base && *base ? "" : "/.local");
    return buf_take(&line);
}

static void add_shown(struct wall *wall, const char *shown) {
    struct str rest = str_of(shown ? shown : ""), folder;
    while (str_next(&rest, ':', &folder)) {
        char path[MAX_LINE];
        snprintf(path, sizeof path, STR_FMT, STR_ARG(str_trim(folder)));
        if (path[0])
            wall_add(wall, path, WALL_READ);
    }
}

void task_wall_add_python(struct wall *wall, const char *shown) {
    python_add_places(wall);
    add_shown(wall, shown);
}

void task_wall_add(struct wall *wall, const char *reference_path, const char *shown) {
    char *cache = task_cache_of(reference_path, NULL);
    char *absolute = path_absolute(reference_path), *folder = path_folder(absolute);
    task_wall_add_python(wall, shown);
    wall_add_folder(wall, folder);
    wall_add(wall, absolute, WALL_READ);
    if (cache && task_cache_make(cache, NULL))
        wall_add(wall, cache, WALL_WRITE);
    free(folder);
    free(absolute);
    free(cache);
}
