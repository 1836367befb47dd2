/* SPDX-License-Identifier: Apache-2.0 */
/* Settings in memory: the table, which values it allows, and which of several sources wins. A value
 * that is not in the table never gets in, so whoever reads it need not check again. config_file.c
 * reads and writes the files. */
#include "base/config/config_private.h"
#include "base/config/testing.h"
#include "base/files/files.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

const struct config_row config_rows[] = {
#define X(section, key, kind, preset, allowed, what) \
    {section, key, CONFIG_##kind, preset, allowed, what, false},
#define T(section, key, kind, preset, allowed, what) \
    {section, key, CONFIG_##kind, preset, allowed, what, true},
#include "base/config/config.def"
#undef X
#undef T
};
const size_t config_row_count = COUNT_OF(config_rows);

#define MAX_NAMES 64 /* different sections, or keys of one; for messages */
#define MAX_VARIABLE 256

/* ----------------------------------------------------------------------------------- the table */

/* The section "host *" as "host". */
static struct str bare(const char *section) {
    struct str text = str_of(section);
    if (str_ends(text, " *"))
        text.len -= 2;
    return text;
}

static bool is_named(const struct config_row *row) {
    return str_ends(str_of(row->section), " *");
}

static bool same_section(const struct config_row *a, const struct config_row *b) {
    return strcmp(a->section, b->section) == 0;
}

static bool is_first(const struct config_row *row) {
    return row == config_rows || !same_section(row, row - 1);
}

static bool name_is_plain(struct str name) {
    for (size_t i = 0; i < name.len; i++)
        if (!isalnum((unsigned char)name.at[i]) && !strchr("._-@", name.at[i]))
            return false;
    return name.len > 0 && name.at[0] != '-';
}

static bool no_such_section(struct str heading, struct err *err) {
    const char *names[MAX_NAMES + 1];
    char texts[MAX_NAMES][32], given[64];
    size_t count = 0;
    struct buf all = {0};
    for (size_t i = 0; i < config_row_count && count < MAX_NAMES; i++) {
        const struct config_row *row = &config_rows[i];
        if (!is_first(row))
            continue;
        buf_printf(&all, "%s[" STR_FMT "%s]", count ? ", " : "", STR_ARG(bare(row->section)),
                   is_named(row) ? " NAME" : "");
        snprintf(texts[count], sizeof texts[0], STR_FMT, STR_ARG(bare(row->section)));
        names[count] = texts[count];
        count++;
    }
    names[count] = NULL;
    struct str first = heading, rest = heading;
    str_next(&rest, ' ', &first);
    snprintf(given, sizeof given, "%.*s", (int)MIN_OF(first.len, (size_t)60), first.at);
    const char *near = str_nearest(given, names);
    err_set(err, ERR_USAGE, "there is no section [%.*s]%s%s%s; there are: %s",
            (int)MIN_OF(heading.len, (size_t)60), heading.at, near ? "; did you mean [" : "",
            near ? near : "", near ? "]?" : "", all.at);
    buf_free(&all);
    return false;
}

bool config_find_section(struct str heading, struct config_place *place, struct err *err) {
    for (size_t i = 0; i < config_row_count; i++) {
        const struct config_row *row = &config_rows[i];
        struct str word = bare(row->section);
        if (!is_first(row) || heading.len < word.len || memcmp(heading.at, word.at, word.len) != 0)
            continue;
        struct str rest = {heading.at + word.len, heading.len - word.len};
        if (rest.len && rest.at[0] != ' ')
            continue;
        *place = (struct config_place){row, str_trim(rest)};
        if (!is_named(row) && place->name.len)
            return err_set(err, ERR_USAGE, "[" STR_FMT "] takes no name", STR_ARG(word));
        if (is_named(row) && !name_is_plain(place->name))
            return err_set(err, ERR_USAGE,
                           "[" STR_FMT " NAME] needs a name of letters, digits and . _ - @",
                           STR_ARG(word));
        bool is_place = str_is(word, "host") || str_is(word, "cluster");
        if (is_place && str_is(place->name, "sim"))
            return err_set(err, ERR_USAGE,
                           "sim is the device model on this machine; choose another name");
        return true;
    }
    return no_such_section(heading, err);
}

/* The keys of a section, in order. Returns how many. */
static size_t keys_of(const struct config_row *first, const char *names[MAX_NAMES + 1],
                      struct buf *all) {
    size_t count = 0;
    for (const struct config_row *row = first;
         row < config_rows + config_row_count && same_section(row, first) && count < MAX_NAMES;
         row++) {
        buf_printf(all, "%s%s", count ? ", " : "", row->key);
        names[count++] = row->key;
    }
    names[count] = NULL;
    return count;
}

const struct config_row *config_find_key(const struct config_place *place, const char *heading,
                                         const char *key, struct err *err) {
    const char *names[MAX_NAMES + 1];
    struct buf all = {0};
    size_t count = keys_of(place->row, names, &all);
    const struct config_row *found = NULL;
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], key) == 0)
            found = &place->row[i];
    const char *near = found ? NULL : str_nearest(key, names);
    if (!found)
        err_set(err, ERR_USAGE, "[%s] has no setting '%.60s'%s%s%s; it has: %s", heading, key,
                near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "", all.at);
    buf_free(&all);
    return found;
}

/* ---------------------------------------------------------------------------------- the values */

/* Reads "1..64" as two numbers. Returns whether they are whole ones. */
static bool bounds_of(const char *allowed, double *least, double *most) {
    const char *dots = strstr(allowed, "..");
    struct str low = {allowed, dots ? (size_t)(dots - allowed) : 0};
    if (!dots || !str_to_double(low, least) || !str_to_double(str_of(dots + 2), most))
        HONE_BUG("a range of config.def cannot be read");
    return !memchr(low.at, '.', low.len) && !strpbrk(dots + 2, ".e");
}

static bool check_number(const struct config_row *row, const char *value) {
    double number, least = 0, most = 0;
    long long whole;
    bool ints = bounds_of(row->allowed, &least, &most);
    bool fine = ints ? str_to_int(str_of(value), &whole) : str_to_double(str_of(value), &number);
    if (!fine)
        return false;
    number = ints ? (double)whole : number;
    return number >= least && number <= most;
}

static bool is_one_of(const char *choices, const char *value) {
    struct str rest = str_of(choices), one;
    while (str_next(&rest, '|', &one))
        if (str_is(one, value))
            return true;
    return false;
}

void config_print_allowed(const struct config_row *row, struct buf *out) {
    double least, most;
    struct str rest = str_of(row->allowed), one;
    bool first = true;
    switch (row->kind) {
    case CONFIG_NUMBER:
        buf_printf(out, "a%s number from ", bounds_of(row->allowed, &least, &most) ? " whole" : "");
        rest = (struct str){row->allowed, (size_t)(strstr(row->allowed, "..") - row->allowed)};
        buf_printf(out, STR_FMT " to %s", STR_ARG(rest), strstr(row->allowed, "..") + 2);
        break;
    case CONFIG_FLAG: buf_puts(out, "yes or no"); break;
    case CONFIG_CHOICE:
        for (; str_next(&rest, '|', &one); first = false)
            buf_printf(out, "%s" STR_FMT, first ? "" : rest.len ? ", " : " or ", STR_ARG(one));
        break;
    case CONFIG_PATH: buf_puts(out, "a path"); break;
    case CONFIG_TEXT: buf_puts(out, "text"); break;
    }
}

bool config_check(const struct config_row *row, const char *value, struct err *err) {
    bool fine = *value != 0;
    if (fine && row->kind == CONFIG_NUMBER)
        fine = check_number(row, value);
    if (fine && row->kind == CONFIG_FLAG)
        fine = is_one_of("yes|no", value);
    if (fine && row->kind == CONFIG_CHOICE)
        fine = is_one_of(row->allowed, value);
    struct str rest = str_of(value);
    for (uint32_t code; fine && rest.len;) {
        size_t len = text_decode(rest, &code);
        fine = code != TEXT_INVALID && !text_is_unsafe(code);
        rest = (struct str){rest.at + len, rest.len - len};
    }
    if (fine)
        return true;
    struct buf allowed = {0};
    config_print_allowed(row, &allowed);
    if (*value)
        err_set(err, ERR_USAGE, "%s must be %s, not '%.80s'", row->key, allowed.at, value);
    else
        err_set(err, ERR_USAGE, "%s is empty: give it %s, or leave it out", row->key, allowed.at);
    buf_free(&allowed);
    return false;
}

static char *key_of(const char *heading, const char *key) {
    struct buf text = {0};
    buf_printf(&text, "%s\n%s", heading, key);
    return buf_take(&text);
}

static const char *kept_text(struct arena *arena, const struct config_row *row, const char *value) {
    const char *home = getenv("HOME");
    bool tilde = row->kind == CONFIG_PATH && value[0] == '~' && (!value[1] || value[1] == '/');
    return tilde && home ? arena_printf(arena, "%s%s", home, value + 1)
                         : arena_strdup(arena, value);
}

static struct config_value *value_new(struct config *config, const struct config_row *row,
                                      const char *value, const struct config_origin *origin) {
    struct config_value *kept = ARENA_NEW(config->arena, struct config_value);
    kept->text = kept_text(config->arena, row, value);
    kept->origin = *origin;
    kept->origin.file = arena_strdup(config->arena, origin->file);
    return kept;
}

void config_put(struct config *config, const char *heading, const struct config_row *row,
                const char *value, const struct config_origin *origin) {
    char *key = key_of(heading, row->key);
    map_put(&config->values, str_of(key))->value = value_new(config, row, value, origin);
    config_note_section(config, heading, origin);
    free(key);
}

void config_note_section(struct config *config, const char *heading,
                         const struct config_origin *origin) {
    struct map_entry *entry = map_put(&config->sections, str_of(heading));
    if (entry->value)
        return;
    struct config_origin *kept = ARENA_NEW(config->arena, struct config_origin);
    *kept = *origin;
    kept->file = arena_strdup(config->arena, origin->file);
    entry->value = kept;
}

/* ----------------------------------------------------------------------------- the environment */

/* Makes HONE_HOST_TRN2_PORT of "host trn2" and "port". False when it is too long for a variable. */
static bool variable_of(struct str heading, const char *key, char out[MAX_VARIABLE]) {
    int len =
        snprintf(out, MAX_VARIABLE, "HONE_" STR_FMT "%s%s", STR_ARG(heading), *key ? "_" : "", key);
    for (char *at = out; *at; at++)
        *at = isalnum((unsigned char)*at) ? (char)toupper((unsigned char)*at) : '_';
    return len > 0 && len < MAX_VARIABLE;
}

/* The row that a variable sets. Of several that fit, the one with the longest key. */
static const struct config_row *row_of_variable(struct str name) {
    const struct config_row *found = NULL;
    for (size_t i = 0; i < config_row_count; i++) {
        const struct config_row *row = &config_rows[i];
        char front[MAX_VARIABLE], back[MAX_VARIABLE];
        if (!variable_of(bare(row->section), is_named(row) ? "" : row->key, front) ||
            !variable_of(str_of(row->key), "", back))
            continue;
        const char *end = back + strlen("HONE"); /* "_PORT" */
        bool fits = is_named(row) ? str_starts(name, front) && str_ends(name, end) &&
                                        name.len > strlen(front) + 1 + strlen(end)
                                  : str_is(name, front);
        if (fits && (!found || strlen(row->key) > strlen(found->key)))
            found = row;
    }
    return found;
}

/* Whether a variable seems to be meant for a section of the table. */
static const struct config_row *section_of_variable(struct str name) {
    for (size_t i = 0; i < config_row_count; i++) {
        char front[MAX_VARIABLE];
        variable_of(bare(config_rows[i].section), "", front);
        size_t len = strlen(front);
        if (str_starts(name, front) && name.len > len && name.at[len] == '_')
            return &config_rows[i];
    }
    return NULL;
}

static bool sets_nothing(const char *variable, const struct config_row *section, struct err *err) {
    const char *names[MAX_NAMES + 1];
    struct buf all = {0};
    keys_of(section, names, &all);
    err_set(err, ERR_USAGE,
            "the environment variable %.80s sets nothing: its name should end with a setting of "
            "[%s], in capitals: %s",
            variable, section->section, all.at);
    buf_free(&all);
    return false;
}

static bool take_variable(struct config *config, const char *entry, struct err *err) {
    struct str rest = str_of(entry), name;
    if (!str_next(&rest, '=', &name) || !rest.len || !section_of_variable(name))
        return true;
    char variable[MAX_VARIABLE];
    snprintf(variable, sizeof variable, STR_FMT, STR_ARG(name));
    const struct config_row *row = row_of_variable(name);
    if (!row)
        return sets_nothing(variable, section_of_variable(name), err);
    struct config_origin origin = {CONFIG_ENVIRONMENT, variable, 0};
    if (!config_check(row, rest.at, err))
        return err_prefix(err, "the environment variable %.80s", variable);
    map_put(&config->environment, name)->value = value_new(config, row, rest.at, &origin);
    return true;
}

extern char **environ;

static bool read_environment(struct config *config, struct err *err) {
    bool fine = true;
    for (char **at = environ; fine && at && *at; at++)
        if (strncmp(*at, "HONE_", 5) == 0)
            fine = take_variable(config, *at, err);
    return fine;
}

/* ----------------------------------------------------------------------------------- the whole */

struct config *config_new(void) {
    struct config *config = mem_alloc(1, sizeof *config);
    config->arena = arena_new();
    return config;
}

void config_free(struct config *config) {
    if (!config)
        return;
    map_free(&config->values);
    map_free(&config->sections);
    map_free(&config->environment);
    arena_free(config->arena);
    free(config);
}

bool config_check_names(const struct config *config, struct err *err) {
    const char *name;
    for (size_t i = 0; (name = config_name(config, "cluster", i)); i++) {
        char other[128], own[128];
        snprintf(other, sizeof other, "host %s", name);
        snprintf(own, sizeof own, "cluster %s", name);
        if (!config_has(config, other))
            continue;
        struct buf where = {0};
        config_origin_print(map_get(&config->sections, str_of(own)), &where);
        err_set(err, ERR_USAGE,
                "%s: [host %s] and [cluster %s] have the same name; give one of them another, so "
                "that --target can tell them apart",
                where.at, name, name);
        buf_free(&where);
        return false;
    }
    return true;
}

struct config *config_load(const char *task_folder, struct err *err) {
    struct config *config = config_new();
    char *user = config_user_path();
    char *task = task_folder ? path_join(task_folder, ".hone/config.ini") : NULL;
    bool fine = config_read_file(config, CONFIG_USER_FILE, user, err) &&
                (!task || config_read_file(config, CONFIG_TASK_FILE, task, err)) &&
                read_environment(config, err) && config_check_names(config, err);
    free(task);
    free(user);
    if (fine)
        return config;
    config_free(config);
    return NULL;
}

bool config_set(struct config *config, const char *section, const char *key, const char *value,
                struct err *err) {
    struct config_place place;
    if (!config_find_section(str_of(section), &place, err))
        return false;
    const struct config_row *row = config_find_key(&place, section, key, err);
    if (!row || !config_check(row, value, err))
        return false;
    struct config_origin origin = {CONFIG_FLAGGED, NULL, 0};
    config_put(config, section, row, value, &origin);
    return true;
}

/* --------------------------------------------------------------------------------- the answers */

/* The name in the section may be any text: it is a target's, as the user typed it. */
static const struct config_row *row_asked_for(const char *section, const char *key) {
    for (size_t i = 0; i < config_row_count; i++) {
        const struct config_row *row = &config_rows[i];
        struct str word = bare(row->section);
        bool fits = strncmp(section, word.at, word.len) == 0 &&
                    section[word.len] == (is_named(row) ? ' ' : 0);
        if (fits && strcmp(row->key, key) == 0)
            return row;
    }
    HONE_BUG("the program asked for a setting that config.def does not have");
}

static const struct config_value *find_value(const struct config *config, const char *section,
                                             const char *key) {
    char variable[MAX_VARIABLE];
    char *name = key_of(section, key);
    const struct config_value *given = map_get(&config->values, str_of(name));
    free(name);
    if (given && given->origin.kind == CONFIG_FLAGGED)
        return given;
    bool fits = variable_of(str_of(section), key, variable);
    const struct config_value *set = fits ? map_get(&config->environment, str_of(variable)) : NULL;
    return set ? set : given;
}

const char *config_get(const struct config *config, const char *section, const char *key,
                       struct config_origin *origin) {
    const struct config_row *row = row_asked_for(section, key);
    const struct config_value *value = config ? find_value(config, section, key) : NULL;
    if (origin)
        *origin = value ? value->origin : (struct config_origin){CONFIG_PRESET, NULL, 0};
    return value ? value->text : row->preset;
}

double config_number(const struct config *config, const char *section, const char *key) {
    const char *text = config_get(config, section, key, NULL);
    double number = 0;
    return text && str_to_double(str_of(text), &number) ? number : 0;
}

bool config_flag(const struct config *config, const char *section, const char *key) {
    const char *text = config_get(config, section, key, NULL);
    return text && strcmp(text, "yes") == 0;
}

const char *config_name(const struct config *config, const char *section, size_t index) {
    size_t len = strlen(section);
    for (size_t i = 0; config && i < config->sections.len; i++) {
        const char *heading = config->sections.entries[i].key;
        if (strncmp(heading, section, len) == 0 && heading[len] == ' ' && index-- == 0)
            return heading + len + 1;
    }
    return NULL;
}

bool config_has(const struct config *config, const char *section) {
    return config && map_find(&config->sections, str_of(section));
}

void config_print_path(const char *path, struct buf *out) {
    const char *home = getenv("HOME");
    size_t len = home ? strlen(home) : 0;
    while (len && home[len - 1] == '/')
        len--;
    if (len && strncmp(path, home, len) == 0 && path[len] == '/')
        buf_printf(out, "~%s", path + len);
    else
        buf_puts(out, path);
}

void config_origin_print(const struct config_origin *origin, struct buf *out) {
    switch (origin->kind) {
    case CONFIG_PRESET: buf_puts(out, "default"); break;
    case CONFIG_USER_FILE:
    case CONFIG_TASK_FILE:
        config_print_path(origin->file, out);
        buf_printf(out, ":%d", origin->line);
        break;
    case CONFIG_ENVIRONMENT: buf_puts(out, origin->file); break;
    case CONFIG_FLAGGED: buf_puts(out, "command line"); break;
    }
}
