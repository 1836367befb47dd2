/* SPDX-License-Identifier: Apache-2.0 */
/* A task of the kind "model": the kernel is timed inside a model, by a command that model.ini
 * beside the kernel describes. It is read into the JSON object that a job takes (PROTOCOL.md, "The
 * kind model"). Patterns are checked here, before anything goes to a host. Whether the command
 * works, the runner on the host finds out. */
#include "task/task.h"

#include <cjson/cJSON.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_BYTES ((size_t)1 << 20)
#define MAX_LINE 4000

struct reading {
    const char *path;
    struct str rest; /* of the file, not read yet */
    int line;        /* the line that was read last; 0: the error is about no line */
    cJSON *model;
    struct err *err;
    bool failed;
};

enum kind { WORDS, TEXT, NUMBER };

/* The keys of [model]. In the other sections names are free. */
static const struct {
    const char *key;
    enum kind kind;
} keys[] = {{"argv", WORDS},   {"prepare", WORDS},       {"cwd", TEXT},
            {"install", TEXT}, {"runs", NUMBER},         {"warmup", NUMBER},
            {"cores", NUMBER}, {"accuracy_min", NUMBER}, {"limit_s", NUMBER}};

static int wrong(struct reading *reading, const char *section, const char *key, const char *what) {
    if (!reading->failed) {
        err_set(reading->err, ERR_USAGE, "[%.40s] %.60s %s", section, key, what);
        if (reading->line)
            err_prefix(reading->err, "%s:%d", reading->path, reading->line);
        else
            err_prefix(reading->err, "%s", reading->path);
    }
    reading->failed = true;
    return 0;
}

/* Takes the next word off the front. Blanks part words; quotes of either kind hold them
 * together. */
static bool next_word(struct str *rest, struct buf *word, bool *open) {
    *rest = str_trim(*rest);
    buf_clear(word);
    if (!rest->len)
        return false;
    char quote = 0;
    size_t i = 0;
    for (; i < rest->len; i++) {
        char c = rest->at[i];
        if (!quote && (c == ' ' || c == '\t'))
            break;
        if (!quote && (c == '"' || c == '\''))
            quote = c;
        else if (quote && c == quote)
            quote = 0;
        else
            buf_putc(word, c);
    }
    *open = quote != 0;
    *rest = (struct str){rest->at + i, rest->len - i};
    return true;
}

static int words_add(struct reading *reading, const char *key, const char *value) {
    cJSON *list = cJSON_GetObjectItemCaseSensitive(reading->model, key);
    if (!list)
        list = cJSON_AddArrayToObject(reading->model, key);
    struct str rest = str_of(value);
    struct buf word = {0};
    bool open = false;
    while (!open && next_word(&rest, &word, &open))
        cJSON_AddItemToArray(list, cJSON_CreateString(word.at ? word.at : ""));
    buf_free(&word);
    return !open || wrong(reading, "model", key, "has a quote that is not closed");
}

static int number_add(struct reading *reading, cJSON *object, const char *section, const char *key,
                      const char *value) {
    double number;
    if (!str_to_double(str_of(value), &number) || !(number >= 0 && number < 1e12))
        return wrong(reading, section, key, "must be a number, 0 or more");
    cJSON_AddNumberToObject(object, key, number);
    return 1;
}

static int model_add(struct reading *reading, const char *key, const char *value) {
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        if (strcmp(key, keys[i].key) != 0)
            continue;
        if (keys[i].kind == WORDS)
            return words_add(reading, key, value);
        if (cJSON_HasObjectItem(reading->model, key))
            return wrong(reading, "model", key, "is given twice");
        if (keys[i].kind == NUMBER)
            return number_add(reading, reading->model, "model", key, value);
        cJSON_AddStringToObject(reading->model, key, value);
        return 1;
    }
    return wrong(reading, "model", key,
                 "is not known; there are argv, prepare, cwd, install, runs, "
                 "warmup, cores, accuracy_min, limit_s");
}

static cJSON *section_of(struct reading *reading, const char *name) {
    cJSON *object = cJSON_GetObjectItemCaseSensitive(reading->model, name);
    return object ? object : cJSON_AddObjectToObject(reading->model, name);
}

/* The object that [patterns] and [scale] share for a name. */
static cJSON *pattern_of(struct reading *reading, const char *name) {
    cJSON *patterns = section_of(reading, "patterns");
    cJSON *row = cJSON_GetObjectItemCaseSensitive(patterns, name);
    return row ? row : cJSON_AddObjectToObject(patterns, name);
}

static int wrong_pattern(struct reading *reading, const char *key, const struct err *err) {
    char text[sizeof err->text + 40];
    snprintf(text, sizeof text, "is not a pattern: %s", err->text);
    return wrong(reading, "patterns", key, text);
}

/* Checks, as far as PCRE2 can tell, that Python's `re` takes the pattern, because `re` searches
 * with it. What only Python knows is left to the host. */
static int pattern_check(struct reading *reading, const char *key, const char *value) {
    struct str text = str_of(value);
    size_t offset = 0;
    struct err err;
    if (pattern_is_pythons(text))
        return 1;
    struct pattern *pattern = pattern_new(text, PATTERN_LINES | PATTERN_ONCE, &offset, &err);
    size_t groups = pattern ? pattern_groups(pattern) : 0;
    pattern_free(pattern);
    if (!pattern)
        return wrong_pattern(reading, key, &err);
    const char *unlike = pattern_not_python(text, &offset);
    if (unlike)
        err_set(&err, ERR_USAGE, "at character %zu: %s", pattern_place(text, offset), unlike);
    else if (groups != 1)
        err_set(&err, ERR_USAGE, "it needs exactly one group, (...), and has %zu", groups);
    return (!unlike && groups == 1) || wrong_pattern(reading, key, &err);
}

static int free_add(struct reading *reading, const char *section, const char *key,
                    const char *value) {
    cJSON *object = strcmp(section, "patterns") == 0 || strcmp(section, "scale") == 0
                        ? pattern_of(reading, key)
                        : section_of(reading, section);
    const char *name = strcmp(section, "patterns") == 0 ? "pattern"
                       : strcmp(section, "scale") == 0  ? "scale"
                                                        : key;
    if (cJSON_HasObjectItem(object, name))
        return wrong(reading, section, key, "is given twice");
    if (strcmp(section, "patterns") == 0 && !pattern_check(reading, key, value))
        return 0;
    if (strcmp(section, "env") == 0 || strcmp(section, "patterns") == 0) {
        cJSON_AddStringToObject(object, name, value);
        return 1;
    }
    double number;
    if (!str_to_double(str_of(value), &number) || !(number > 0 && number < 1e12))
        return wrong(reading, section, key, "must be a number over 0");
    cJSON_AddNumberToObject(object, name, number);
    return 1;
}

static int on_value(void *data, const char *section, const char *key, const char *value) {
    static const char *const sections[] = {"env", "patterns", "scale", "reference"};
    struct reading *reading = data;
    if (reading->failed)
        return 0;
    if (strcmp(section, "model") == 0)
        return model_add(reading, key, value);
    for (size_t i = 0; i < COUNT_OF(sections); i++)
        if (strcmp(section, sections[i]) == 0)
            return free_add(reading, section, key, value);
    return wrong(reading, section, key,
                 "stands in no section that is known; there are [model], "
                 "[env], [patterns], [scale], [reference]");
}

/* Whether all that every job needs is there. */
static bool complete(struct reading *reading) {
    const cJSON *patterns = cJSON_GetObjectItemCaseSensitive(reading->model, "patterns");
    const cJSON *row;
    bool timed =
        cJSON_HasObjectItem(patterns, "latency_ms") || cJSON_HasObjectItem(patterns, "ttft_ms");
    if (!cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(reading->model, "argv")))
        return wrong(reading, "model", "argv", "is missing: the command that runs the model");
    for (row = patterns ? patterns->child : NULL; row; row = row->next)
        if (!cJSON_HasObjectItem(row, "pattern"))
            return wrong(reading, "scale", row->string, "has no pattern of that name");
    return timed || wrong(reading, "patterns", "latency_ms",
                          "or ttft_ms is needed: a regular "
                          "expression with one group");
}

/* The library's reader: gives the next line, or as much of it as there is room for. */
static char *next_line(char *line, int room, void *data) {
    struct reading *reading = data;
    const char *end = memchr(reading->rest.at, '\n', reading->rest.len);
    size_t len = end ? (size_t)(end - reading->rest.at) + 1 : reading->rest.len;
    if (!len)
        return NULL;
    reading->line++;
    len = len < (size_t)room ? len : (size_t)room - 1;
    memcpy(line, reading->rest.at, len);
    line[len] = 0;
    reading->rest = (struct str){reading->rest.at + len, reading->rest.len - len};
    return line;
}

char *task_model_read(const char *path, struct err *err) {
    size_t size = 0;
    char *text = file_read(path, MAX_BYTES, &size, err);
    if (!text)
        return NULL;
    struct reading reading = {
        .path = path, .model = cJSON_CreateObject(), .err = err, .rest = {text, size}};
    ini_max_line = MAX_LINE; /* the library's own switches */
    ini_allow_multiline = true;
    ini_allow_inline_comments = false; /* a pattern may hold anything */
    int line =
        memchr(text, 0, size) ? 1 : ini_parse_stream(next_line, &reading, on_value, &reading);
    ini_allow_inline_comments = true;
    reading.line = 0;
    if (line && !reading.failed) {
        err_set(err, ERR_USAGE, "%s:%d: this is neither a [section] nor key = value nor a comment",
                path, line);
        reading.failed = true;
    }
    char *json =
        !reading.failed && complete(&reading) ? cJSON_PrintUnformatted(reading.model) : NULL;
    cJSON_Delete(reading.model);
    free(text);
    return json;
}
