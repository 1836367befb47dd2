/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the files of other agents, tells their formats apart and collects what the readers of each
 * format find. Foreign bytes: sizes, depths and counts are bounded, and nothing in them is run. What
 * goes into a session is in import.c. */
#include "tune/foreign.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tune/driver.h"
#include "tune/memory.h"

#define ALL_MAX ((size_t)256 << 20)
#define MAX_DEPTH 5
#define MAX_ENTRIES 20000
#define MAX_TITLE 200
#define MAX_TEXT 4000
#define MAX_SOURCE 16000

void tune_foreign_free(struct tune_foreign *foreign) {
    vec_free(&foreign->experiences);
    vec_free(&foreign->attempts);
    vec_free(&foreign->complaints);
    arena_free(foreign->arena);
    *foreign = (struct tune_foreign){0};
}

/* ----------------------------------------------------------------------------- what readers say */

static void complaint_add(struct tune_foreign *out, const struct buf *text) {
    if (out->complaints.len < FOREIGN_COMPLAINTS)
        *vec_push(&out->complaints) = arena_strndup(out->arena, text->at, text->len);
    else
        out->left_out++;
}

void foreign_complain(const struct foreign_place *place, const char *format, ...) {
    struct buf text = {0};
    va_list args;
    buf_printf(&text, "%s:%d: ", place->path, place->line);
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    complaint_add(place->out, &text);
    buf_free(&text);
}

const char *foreign_keep(struct tune_foreign *out, const char *text, size_t most) {
    struct str all = str_trim(str_of(text));
    return all.len ? arena_strndup(out->arena, all.at, MIN_OF(all.len, most)) : NULL;
}

/* Snippets keep their indentation. */
static const char *keep_source(struct tune_foreign *out, const char *text) {
    return text && *text ? arena_strndup(out->arena, text, MIN_OF(strlen(text), MAX_SOURCE)) : NULL;
}

static const char *source_of(const struct foreign_place *place, const char *agent) {
    return arena_printf(place->out->arena, "%s, %s:%d", agent, path_base(place->path), place->line);
}

void foreign_experience(const struct foreign_place *place, const char *agent,
                        struct tune_experience item) {
    struct tune_foreign *out = place->out;
    if (out->experiences.len >= FOREIGN_EXPERIENCES) {
        if (out->experiences.len == FOREIGN_EXPERIENCES)
            foreign_complain(place, "only the first %d experiences are taken", FOREIGN_EXPERIENCES);
        return;
    }
    item.title = foreign_keep(out, item.title, MAX_TITLE);
    item.summary = foreign_keep(out, item.summary, MAX_TEXT);
    if (!item.title && !item.summary) {
        foreign_complain(place, "the experience has neither title nor summary");
        return;
    }
    item.slow = keep_source(out, item.slow);
    item.fast = keep_source(out, item.fast);
    item.applies_to = foreign_keep(out, item.applies_to, MAX_TITLE);
    item.family = foreign_keep(out, item.family, MAX_TITLE);
    item.generation = foreign_keep(out, item.generation, 16);
    item.dialect = foreign_keep(out, item.dialect ? item.dialect
                                    : tune_memory_dialect(item.fast ? item.fast : item.slow), 16);
    item.source = source_of(place, agent);
    item.attempt = item.against = -1;
    item.is = TUNE_EXPERIENCE_PROPOSED;
    item.imported = true;
    *vec_push(&out->experiences) = item;
}

void foreign_attempt(const struct foreign_place *place, const char *agent, struct tune_import row) {
    struct tune_foreign *out = place->out;
    if (out->attempts.len >= FOREIGN_ATTEMPTS)
        return;
    if (out->attempts.len + 1 == FOREIGN_ATTEMPTS)
        foreign_complain(place, "only the first %d attempts are taken", FOREIGN_ATTEMPTS);
    row.agent = agent;
    row.source = arena_printf(out->arena, "%s:%d", path_base(place->path), place->line);
    row.name = foreign_keep(out, row.name, MAX_TITLE);
    row.parent = foreign_keep(out, row.parent, MAX_TITLE);
    row.status = foreign_keep(out, row.status, 40);
    row.title = foreign_keep(out, row.title, MAX_TITLE);
    row.reason = foreign_keep(out, row.reason, 500);
    *vec_push(&out->attempts) = row;
}

void foreign_pair(const struct foreign_place *place, const struct foreign_pair *pair) {
    bool gain = pair->speedup >= TUNE_POSITIVE;
    if (!gain && !(pair->speedup > 0 && pair->speedup <= TUNE_NEGATIVE))
        return;
    struct buf family = {0}, title = {0};
    tune_memory_family(str_of(pair->task), &family);
    struct str rest = str_of(pair->title ? pair->title : pair->what), line = {0};
    do {
        if (!str_next(&rest, '\n', &line))
            break;
        line = str_trim(line);
    } while (!line.len);
    buf_add(&title, line.len ? line.at : "A change", line.len ? line.len : strlen("A change"));
    struct tune_experience item = {.title = title.at,
                                   .summary = pair->what ? pair->what : title.at,
                                   .slow = gain ? pair->before : pair->after,
                                   .fast = gain ? pair->after : pair->before,
                                   .applies_to = pair->task,
                                   .family = family.at,
                                   .speedup = pair->speedup};
    foreign_experience(place, pair->agent, item);
    buf_free(&family);
    buf_free(&title);
}

/* ---------------------------------------------------------------------------------- one file */

static bool is_candidate(const char *name) {
    return str_starts(str_of(name), "candidate_") && str_ends(str_of(name), ".txt");
}

/* By name, so that a folder's other files are left alone. */
static bool is_known(const char *name) {
    static const char *const names[] = {"experiments.jsonl",     "candidates.jsonl",
                                        "rewrites.json",         "executor_results.json",
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
    struct foreign_place place = {out, arena_strdup(out->arena, path), 1};
    struct str start = str_trim((struct str){text.at, MIN_OF(text.len, 4096)});
    out->files++;
    if (str_starts(start, "CodeCandidate"))
        foreign_read_repr(&place, text);
    else if (str_ends(str_of(path), ".jsonl"))
        foreign_read_lines(&place, text);
    else if (str_starts(start, "{") || str_starts(start, "["))
        foreign_read_json(&place, text);
    else if (is_candidate(path_base(path)))
        foreign_complain(&place, "this is no CodeCandidate of Autocomp");
    else
        foreign_complain(&place, "this is no list of experiences and no log of attempts");
}

static void read_file(const char *path, size_t *left, struct tune_foreign *out) {
    struct err err = {0};
    size_t size = 0;
    char *text = *left ? file_read(path, MIN_OF(*left, FOREIGN_FILE_MAX), &size, &err) : NULL;
    if (text) {
        *left -= MIN_OF(*left, size);
        tune_foreign_text(path, (struct str){text, size}, out);
    } else {
        struct buf line = {0};
        buf_printf(&line, "%s:1: %s", path,
                   *left ? err.text : "left out, there is more than can be read at once");
        complaint_add(out, &line);
        buf_free(&line);
    }
    free(text);
}

/* ---------------------------------------------------------------------------------- folders */

struct walk {
    VEC(char *) files;
    size_t entries;
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
        if (*entry->d_name == '.')
            continue;
        walk->entries++;
        char *path = path_join(folder, entry->d_name);
        bool there = lstat(path, &info) == 0;
        if (there && S_ISDIR(info.st_mode))
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
    vec_free(&walk.files);
    if (!some)
        return err_set(err, ERR_USAGE,
                       "%.200s has none of experiments.jsonl, rewrites.json, candidates.jsonl, "
                       "executor_results.json, candidates-iter-N/candidate_N.txt", path);
    return true;
}
