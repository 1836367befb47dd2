/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the files of other agents, tells their formats apart and collects what the readers of each
 * format find. Foreign bytes: sizes, depths and counts are bounded, and nothing in them is run.
 * What goes into a session is in remember.c. */
#include "tune/foreign/foreign.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define ALL_MAX ((size_t)256 << 20)
#define MAX_DEPTH 5
#define MAX_ENTRIES 20000

void tune_foreign_free(struct tune_foreign *foreign) {
    vec_free(&foreign->experiences);
    vec_free(&foreign->attempts);
    vec_free(&foreign->about);
    vec_free(&foreign->seen);
    vec_free(&foreign->exports);
    vec_free(&foreign->complaints);
    arena_free(foreign->arena);
    *foreign = (struct tune_foreign){0};
}

/* ---------------------------------------------------------------------------------- one file */

static bool is_candidate(const char *name) {
    struct str text = str_of(name);
    return (str_starts(text, "candidate_") && str_ends(text, ".txt")) ||
           (str_starts(text, "code_") && str_ends(text, "_result_full.txt"));
}

/* Files are known by name, so that other files of a folder are left alone. */
static bool is_known(const char *name) {
    static const char *const names[] = {"experiments.jsonl",
                                        "candidates.jsonl",
                                        "rewrites.json",
                                        "executor_results.json",
                                        "last_iteration_executor_results.json",
                                        "aggregated_rewrites_list.json",
                                        "rewrites_selection_output_list.json"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (!strcmp(name, names[i]))
            return true;
    return is_candidate(name);
}

void tune_foreign_text(const char *path, struct str text, struct tune_foreign *out) {
    if (!out->arena)
        out->arena = arena_new();
    struct foreign_place place = {out, arena_strdup(out->arena, path), 1, out->is_altered};
    struct str start = str_trim((struct str){text.at, MIN_OF(text.len, 4096)});
    out->files++;
    if (str_starts(start, "CodeCandidate") || is_candidate(path_base(path)))
        foreign_read_repr(&place, text);
    else if (str_ends(str_of(path), ".jsonl"))
        foreign_read_lines(&place, text);
    else if (str_starts(start, "{") || str_starts(start, "["))
        foreign_read_json(&place, text);
    else
        foreign_complain(&place, "this is neither a list of experiences nor a log of attempts");
}

static void read_file(const char *path, size_t *left, struct tune_foreign *out) {
    struct err err = {0};
    size_t size = 0;
    char *text = *left ? file_read(path, MIN_OF(*left, FOREIGN_FILE_MAX), &size, &err) : NULL;
    out->is_altered = text && foreign_is_altered(out, path);
    if (text) {
        *left -= MIN_OF(*left, size);
        tune_foreign_text(path, (struct str){text, size}, out);
    } else {
        struct foreign_place place = {.out = out, .path = path, .line = 1};
        foreign_complain(&place, "%s",
                         *left ? err.text : "left out: there is more than hone reads at once");
    }
    free(text);
}

/* ---------------------------------------------------------------------------------- folders */

struct walk {
    VEC(char *) files;
    size_t entries;
    struct stat own;
    bool has_own;
};

/* candidates-iter-2 before candidates-iter-10. */
static int by_path(const void *a, const void *b) {
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

static void walk_folder(struct walk *walk, const char *folder, int depth) {
    DIR *dir = depth < MAX_DEPTH ? opendir(folder) : NULL;
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir)) && walk->entries < MAX_ENTRIES;) {
        struct stat info;
        bool hidden = *entry->d_name == '.' && strcmp(entry->d_name, ".hone") != 0;
        if (hidden)
            continue;
        walk->entries++;
        char *path = path_join(folder, entry->d_name);
        bool there = lstat(path, &info) == 0;
        bool own = there && walk->has_own && info.st_dev == walk->own.st_dev &&
                   info.st_ino == walk->own.st_ino;
        if (there && S_ISDIR(info.st_mode) && !own)
            walk_folder(walk, path, depth + 1);
        if (there && S_ISREG(info.st_mode) && is_known(entry->d_name))
            *vec_push(&walk->files) = path;
        else
            free(path);
    }
    closedir(dir);
}

bool tune_foreign_read(const char *path, struct tune_foreign *out, struct err *err) {
    struct walk walk = {0};
    size_t left = ALL_MAX;
    if (!out->arena)
        out->arena = arena_new();
    if (!file_exists(path))
        return err_set(err, ERR_USAGE, "%.200s: there is no such file or folder", path);
    walk.has_own = out->own && stat(out->own, &walk.own) == 0;
    if (file_is_dir(path))
        walk_folder(&walk, path, 0);
    else
        *vec_push(&walk.files) = mem_strdup(path);
    if (walk.files.len)
        qsort(walk.files.at, walk.files.len, sizeof *walk.files.at, by_path);
    for (size_t i = 0; i < walk.files.len; i++) {
        read_file(walk.files.at[i], &left, out);
        free(walk.files.at[i]);
    }
    bool some = walk.files.len > 0;
    tune_foreign_close(out);
    vec_free(&walk.files);
    if (!some)
        return err_set(err, ERR_USAGE,
                       "%.200s has none of experiments.jsonl, rewrites.json, candidates.jsonl, "
                       "executor_results.json, candidates-iter-N/candidate_N.txt",
                       path);
    return true;
}
