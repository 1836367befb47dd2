/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration on disk. inih reads it line by line, through a reader of ours that knows the
 * line numbers and refuses what inih would cut short silently. Sections are added at the end, and
 * what was there stays as it was. config.c knows what a value may be. */
#include "base/config/config_private.h"
#include "base/config/testing.h"
#include "base/files/files.h"

#include <errno.h>
#include <ini.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define MAX_FILE ((size_t)1 << 20)
#define MAX_LINE 2000  /* bytes */
#define MAX_HEADING 48 /* inih keeps this much of a section's name */

struct reading {
    struct config *config;
    int kind;
    const char *name;
    struct str rest;
    int line; /* the line that inih works on */
    char heading[MAX_HEADING + 1];
    struct config_place place; /* the section; row is NULL before the first */
    struct map seen;           /* settings of this file, and the line that gave each */
    struct err *err;
    int failed; /* the first line that was wrong; 0: none */
};

/* ------------------------------------------------------------------------------------- reading */

/* Puts file and line in front of the message that is already there. */
static bool wrong_here(struct reading *reading) {
    struct buf where = {0};
    config_print_path(reading->name, &where);
    reading->failed = reading->line;
    err_prefix(reading->err, "%s:%d", where.at, reading->line);
    buf_free(&where);
    return false;
}

static bool wrong(struct reading *reading, const char *text) {
    err_set(reading->err, ERR_USAGE, "%s", text);
    return wrong_here(reading);
}

static bool line_is_text(struct str line) {
    for (uint32_t code; line.len;) {
        size_t len = text_decode(line, &code);
        if (code == TEXT_INVALID || (text_is_unsafe(code) && code != '\t'))
            return false;
        line = (struct str){line.at + len, line.len - len};
    }
    return true;
}

/* A file that came with a task says how to tune it. It does not say what hone runs or where it logs
 * in. */
static bool task_may_not(struct reading *reading, const char *what) {
    struct buf all = {0};
    for (size_t i = 0; i < config_row_count; i++)
        if (config_rows[i].task_may)
            buf_printf(&all, "%s[%s] %s", all.len ? ", " : "", config_rows[i].section,
                       config_rows[i].key);
    err_set(reading->err, ERR_USAGE,
            "a task's own file may not set [%s]%s, because such a file may come from "
            "anywhere: put it into your own (hone config --path). It may set: %s",
            reading->heading, what, all.at);
    buf_free(&all);
    return false;
}

static bool section_is_allowed(struct reading *reading) {
    const struct config_row *first = reading->place.row;
    if (reading->kind != CONFIG_TASK_FILE)
        return true;
    for (size_t i = 0; i < config_row_count; i++)
        if (config_rows[i].task_may && strcmp(config_rows[i].section, first->section) == 0)
            return true;
    return task_may_not(reading, "");
}

static bool may_set(struct reading *reading, const struct config_row *row) {
    char what[64];
    snprintf(what, sizeof what, " %s", row->key);
    return reading->kind != CONFIG_TASK_FILE || row->task_may || task_may_not(reading, what);
}

static bool begin_section(struct reading *reading, struct str line) {
    const char *end = memchr(line.at, ']', line.len);
    if (!end)
        return wrong(reading, "the section's heading has no ']' at its end");
    struct str after = {end + 1, line.len - (size_t)(end + 1 - line.at)};
    struct str heading = str_trim((struct str){line.at + 1, (size_t)(end - line.at) - 1});
    after = str_trim(after);
    if (after.len && after.at[0] != ';' && after.at[0] != '#')
        return wrong(reading, "a section's heading must be on a line of its own");
    if (heading.len > MAX_HEADING)
        return wrong(reading, "the section's name is longer than 48 bytes");
    if (!config_find_section(heading, &reading->place, reading->err))
        return wrong_here(reading);
    /* "[host   trn2]" is "host trn2". */
    struct str word = heading;
    if (reading->place.name.len)
        word.len = strcspn(heading.at, " ");
    snprintf(reading->heading, sizeof reading->heading, STR_FMT "%s" STR_FMT, STR_ARG(word),
             reading->place.name.len ? " " : "", STR_ARG(reading->place.name));
    reading->place.name = (struct str){NULL, 0};
    struct config_origin origin = {(int)reading->kind, reading->name, reading->line};
    if (!section_is_allowed(reading))
        return wrong_here(reading);
    config_note_section(reading->config, reading->heading, &origin);
    return true;
}

/* Gives inih one line at a time, without the blanks around it. inih would take a line that begins
 * with a blank for a continuation of the line before. */
static char *next_line(char *out, int size, void *stream) {
    struct reading *reading = stream;
    struct str line;
    if (reading->failed || !str_next(&reading->rest, '\n', &line))
        return NULL;
    reading->line++;
    if (reading->line == 1 && str_starts(line, "\xef\xbb\xbf"))
        line = (struct str){line.at + 3, line.len - 3};
    line = str_trim(line);
    if (!line_is_text(line)) {
        wrong(reading, "this line is not text: it has control characters or is not UTF-8");
        return NULL;
    }
    if (line.len > MAX_LINE || line.len + 3 > (size_t)size) {
        wrong(reading, "this line is longer than 2000 bytes");
        return NULL;
    }
    if (line.len && line.at[0] == '[' && !begin_section(reading, line))
        return NULL;
    memcpy(out, line.at, line.len);
    memcpy(out + line.len, "\n", 2);
    return out;
}

static bool take_value(struct reading *reading, const char *key, const char *value) {
    if (!reading->place.row)
        return wrong(reading, "this setting comes before the first [section]");
    const struct config_row *row =
        config_find_key(&reading->place, reading->heading, key, reading->err);
    if (!row || !may_set(reading, row) || !config_check(row, value, reading->err))
        return wrong_here(reading);
    char name[MAX_HEADING + 64];
    snprintf(name, sizeof name, "%s\n%s", reading->heading, row->key);
    struct map_entry *seen = map_put(&reading->seen, str_of(name));
    if (seen->value) {
        err_set(reading->err, ERR_USAGE, "[%s] %s was already set on line %d", reading->heading,
                row->key, (int)(intptr_t)seen->value);
        return wrong_here(reading);
    }
    seen->value = (void *)(intptr_t)reading->line;
    struct config_origin origin = {(int)reading->kind, reading->name, reading->line};
    config_put(reading->config, reading->heading, row, value, &origin);
    return true;
}

static int on_value(void *user, const char *section, const char *key, const char *value) {
    struct reading *reading = user;
    (void)section;
    return reading->failed || take_value(reading, key, value);
}

bool config_read_text(struct config *config, int kind, const char *name, struct str text,
                      struct err *err) {
    struct reading reading = {
        .config = config, .kind = kind, .name = name, .rest = text, .err = err};
    ini_max_line = MAX_LINE + 8; /* the library's own switches */
    ini_allow_multiline = false;
    int line = ini_parse_stream(next_line, &reading, on_value, &reading);
    map_free(&reading.seen);
    if (line > 0 && !reading.failed) {
        reading.line = line;
        wrong(&reading,
              "this is neither a [section] nor a setting (key = value) nor a comment (# ...)");
    }
    return !reading.failed;
}

bool config_read_file(struct config *config, int kind, const char *path, struct err *err) {
    struct stat st;
    if (stat(path, &st) != 0 && (errno == ENOENT || errno == ENOTDIR))
        return true;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return err_set(err, ERR_USAGE, "cannot read %s: it is not a file", path);
    size_t size = 0;
    char *text = file_read(path, MAX_FILE, &size, err);
    bool fine = text && config_read_text(config, kind, path, (struct str){text, size}, err);
    free(text);
    return fine;
}

/* -------------------------------------------------------------------------------------- adding */

char *config_user_path(void) {
    return path_config("config.ini");
}

/* Splits "key=value" in two. */
static void split_line(const char *line, char key[64], const char **value) {
    size_t len = strcspn(line, "=");
    snprintf(key, 64, "%.*s", (int)len, line);
    *value = line[len] ? line + len + 1 : "";
}

static bool print_section(const char *section, const char *const *lines, const char *end,
                          struct buf *out, struct err *err) {
    struct config_place place;
    char key[64];
    const char *value;
    if (!config_find_section(str_of(section), &place, err))
        return false;
    buf_printf(out, "[%s]%s", section, end);
    for (size_t i = 0; lines[i]; i++) {
        split_line(lines[i], key, &value);
        const struct config_row *row = config_find_key(&place, section, key, err);
        if (!row || !config_check(row, value, err))
            return false;
        buf_printf(out, "%s = %s%s", key, value, end);
    }
    return true;
}

/* Whether what was printed reads back as it was given. */
static bool reads_back(const char *section, const char *const *lines, const struct buf *text,
                       struct err *err) {
    struct config *config = config_new();
    bool fine = config_read_text(config, CONFIG_USER_FILE, section, buf_str(text), err);
    for (size_t i = 0; fine && lines[i]; i++) {
        char key[64];
        const char *value;
        split_line(lines[i], key, &value);
        const char *read = config_get(config, section, key, NULL);
        if (value[0] != '~' && (!read || strcmp(read, value) != 0))
            fine = err_set(err, ERR_USAGE,
                           "%s cannot be '%.80s' in a file: it begins or ends with a blank, or has "
                           "' ;', which begins a comment",
                           key, value);
    }
    config_free(config);
    return fine;
}

/* What is in the file now; "" when there is none. It must be readable, because nothing is added to
 * a file that hone would then refuse. */
static char *present_text(const char *path, const char *section, size_t *size, struct err *err) {
    *size = 0;
    if (!file_exists(path))
        return mem_strdup("");
    char *text = file_read(path, MAX_FILE, size, err);
    struct config *config = config_new();
    bool fine =
        text && config_read_text(config, CONFIG_USER_FILE, path, (struct str){text, *size}, err);
    if (fine && config_has(config, section))
        fine = err_set(err, ERR_USAGE, "%s already has a section [%s]; change it there", path,
                       section);
    config_free(config);
    if (fine)
        return text;
    free(text);
    return NULL;
}

/* Whether hone would read the file as it is going to be. */
static bool whole_is_fine(const char *path, const struct buf *text, struct err *err) {
    struct config *config = config_new();
    bool fine = config_read_text(config, CONFIG_USER_FILE, path, buf_str(text), err) &&
                config_check_names(config, err);
    config_free(config);
    return fine;
}

/* Writes the whole file. A link to the file stays a link. */
static bool write_whole(const char *path, const struct buf *text, struct err *err) {
    char *folder = path_folder(path), *real = path_target(path);
    bool fine = file_make_private(folder, err) &&
                file_write_private(real ? real : path, text->at, text->len, err);
    free(folder);
    free(real);
    return fine;
}

bool config_add_section(const char *section, const char *const *lines, struct err *err) {
    struct config_place place;
    struct buf added = {0}, whole = {0};
    size_t size = 0;
    if (strlen(section) > MAX_HEADING)
        return err_set(err, ERR_USAGE, "the name in [%.60s...] is too long", section);
    if (!config_find_section(str_of(section), &place, err))
        return false;
    char *path = config_user_path();
    char *old = present_text(path, section, &size, err);
    const char *first_end = old ? memchr(old, '\n', size) : NULL;
    const char *end = first_end && first_end > old && first_end[-1] == '\r' ? "\r\n" : "\n";
    bool fine = old && print_section(section, lines, end, &added, err) &&
                reads_back(section, lines, &added, err);
    if (fine) {
        buf_add(&whole, old, size);
        if (size && old[size - 1] != '\n')
            buf_puts(&whole, end);
        if (size)
            buf_puts(&whole, end);
        buf_add(&whole, added.at, added.len);
        fine = whole_is_fine(path, &whole, err) && write_whole(path, &whole, err);
    }
    free(old);
    free(path);
    buf_free(&added);
    buf_free(&whole);
    return fine;
}
