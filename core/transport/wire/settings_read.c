/* SPDX-License-Identifier: Apache-2.0 */
/* Our own reader of ssh_config, for lists of names and for machines without an ssh client. A
 * condition that needs a command (Match exec) never matches here. */
#include "transport/wire/settings.h"

#include <ctype.h>
#include <fnmatch.h>
#include <glob.h>
#include <pwd.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#define MOST_DEPTH 16
#define MOST_FILES 256
#define MOST_WORDS 64
#define FILE_LIMIT ((size_t)1 << 20)

struct names {
    VEC(char *) all;
};
struct reader {
    struct settings *settings; /* NULL: only names are collected */
    struct names *names;       /* NULL: not collected */
    const char *name;
    bool active; /* the present block is about this host */
    int depth, files;
    struct err *err;
};
/* The parts of a line. The words point into `text`. */
struct words {
    char *text;
    char *at[MOST_WORDS];
    size_t count;
};

static bool read_file(struct reader *reader, const char *path);

/* ------------------------------------------------------------------------------------- words */

/* Takes one word off the front, in double quotes or not, and terminates it in place. NULL at the
 * end. */
static char *next_word(char **rest) {
    char *at = *rest;
    while (*at && isspace((unsigned char)*at))
        at++;
    if (!*at || *at == '#')
        return NULL;
    bool quoted = *at == '"';
    char *word = at += quoted;
    while (*at && (quoted ? *at != '"' : !isspace((unsigned char)*at)))
        at++;
    *rest = *at ? at + 1 : at;
    *at = 0;
    return word;
}

/* Reads "Keyword value", "Keyword=value" or "Keyword = value". */
static bool split_line(struct str line, struct words *words) {
    struct buf copy = {0};
    buf_add(&copy, line.at, line.len);
    *words = (struct words){.text = buf_take(&copy)};
    char *rest = words->text;
    while (isspace((unsigned char)*rest))
        rest++;
    size_t len = strcspn(rest, " \t\r=");
    size_t gap = strspn(rest + len, " \t\r=");
    if (!len || *rest == '#')
        return false;
    words->at[words->count++] = rest;
    char *values = rest + len + gap, *word;
    rest[len] = 0;
    while (words->count < MOST_WORDS && (word = next_word(&values)))
        words->at[words->count++] = word;
    return words->count > 1;
}

/* ------------------------------------------------------------------------------- does it match */

/* Patterns are "a,b" or words. One that matches after '!' says no, whatever the others say. */
static bool match_pattern(const char *pattern, const char *text, bool *matched) {
    bool negated = *pattern == '!';
    if (fnmatch(pattern + negated, text, FNM_CASEFOLD) != 0)
        return true;
    *matched = !negated;
    return !negated;
}

static bool match_words(const struct words *words, const char *text) {
    bool matched = false;
    for (size_t i = 1; i < words->count; i++)
        if (!match_pattern(words->at[i], text, &matched))
            return false;
    return matched;
}

static bool match_list(const char *list, const char *text) {
    struct str rest = str_of(list), part;
    bool matched = false, goes_on = true;
    while (goes_on && str_next(&rest, ',', &part)) {
        struct buf pattern = {0};
        buf_add(&pattern, part.at, part.len);
        goes_on = !pattern.at || match_pattern(pattern.at, text, &matched);
        buf_free(&pattern);
    }
    return goes_on && matched;
}

static const char *local_user(void) {
    const struct passwd *me = getpwuid(getuid());
    return me ? me->pw_name : "";
}

static const char *or_else(const char *value, const char *otherwise) {
    return value ? value : otherwise;
}

/* Checks one criterion of Match. One that needs a command or a second pass does not match. */
static bool match_criterion(const struct reader *reader, const char *what, const char *list) {
    const struct settings *settings = reader->settings;
    if (!strcasecmp(what, "host"))
        return match_list(list, or_else(settings_get(settings, "hostname"), reader->name));
    if (!strcasecmp(what, "originalhost"))
        return match_list(list, reader->name);
    if (!strcasecmp(what, "user"))
        return match_list(list, or_else(settings_get(settings, "user"), local_user()));
    if (!strcasecmp(what, "localuser"))
        return match_list(list, local_user());
    return false;
}

static bool match_block(const struct reader *reader, const struct words *words) {
    bool matches = true;
    for (size_t i = 1; matches && i < words->count; i++) {
        const char *what = words->at[i];
        bool negated = *what == '!';
        what += negated;
        if (!strcasecmp(what, "all"))
            continue;
        if (!strcasecmp(what, "canonical") || !strcasecmp(what, "final"))
            matches = negated;
        else if (i + 1 < words->count)
            matches = match_criterion(reader, what, words->at[++i]) != negated;
        else
            matches = false;
    }
    return matches;
}

/* ------------------------------------------------------------------------------------ the file */

static void collect_names(struct names *names, const struct words *words) {
    for (size_t i = 1; i < words->count; i++) {
        const char *name = words->at[i];
        bool known = strpbrk(name, "*?!") != NULL || !*name;
        for (size_t j = 0; !known && j < names->all.len; j++)
            known = !strcmp(names->all.at[j], name);
        if (!known)
            *vec_push(&names->all) = mem_strdup(name);
    }
}

static bool include(struct reader *reader, const char *pattern) {
    char *path = pattern[0] == '/' || pattern[0] == '~'
                     ? settings_expand(&(struct settings){0}, pattern, reader->name)
                     : settings_user_file(pattern);
    glob_t found = {0};
    bool ok = true;
    if (glob(path, 0, NULL, &found) == 0)
        for (size_t i = 0; ok && i < found.gl_pathc; i++) {
            bool active = reader->active;
            ok = read_file(reader, found.gl_pathv[i]);
            reader->active = active;
        }
    globfree(&found);
    free(path);
    return ok;
}

static bool is_list(const char *keyword) {
    return !strcasecmp(keyword, "identityfile") || !strcasecmp(keyword, "certificatefile");
}

/* The value of ProxyCommand and the like is the rest of the line, with its blanks and quotes. */
static struct str whole_value(struct str line) {
    line = str_trim(line);
    size_t len = 0;
    while (len < line.len && !strchr(" \t=", line.at[len]))
        len++;
    while (len < line.len && strchr(" \t=", line.at[len]))
        len++;
    return (struct str){line.at + len, line.len - len};
}

/* HostName may be made from the name as it was typed. */
static void put_host_name(const struct reader *reader, const char *value, struct buf *out) {
    for (; *value; value++) {
        if (value[0] == '%' && value[1] == 'h') {
            buf_puts(out, reader->name);
            value++;
        } else {
            buf_putc(out, *value);
        }
    }
}

static void take_value(struct reader *reader, struct str line, const struct words *words) {
    const char *keyword = words->at[0];
    if (!reader->active || !reader->settings)
        return;
    bool raw = !strcasecmp(keyword, "proxycommand") || !strcasecmp(keyword, "knownhostscommand");
    struct buf value = {0};
    if (!strcasecmp(keyword, "hostname"))
        put_host_name(reader, words->at[1], &value);
    else
        buf_puts(&value, words->at[1]);
    for (size_t i = 2; i < words->count; i++)
        buf_printf(&value, " %s", words->at[i]);
    char small[64];
    size_t len = 0;
    for (; keyword[len] && len < sizeof small - 1; len++)
        small[len] = (char)tolower((unsigned char)keyword[len]);
    small[len] = 0;
    if (is_list(keyword) || !settings_all(reader->settings, small))
        settings_add(reader->settings, str_of(keyword), raw ? whole_value(line) : buf_str(&value));
    buf_free(&value);
}

static bool read_line(struct reader *reader, struct str line) {
    struct words words;
    bool ok = true;
    if (split_line(line, &words)) {
        if (!strcasecmp(words.at[0], "host")) {
            reader->active = match_words(&words, reader->name);
            if (reader->names)
                collect_names(reader->names, &words);
        } else if (!strcasecmp(words.at[0], "match")) {
            reader->active = reader->settings && match_block(reader, &words);
        } else if (!strcasecmp(words.at[0], "include")) {
            for (size_t i = 1; ok && (reader->active || reader->names) && i < words.count; i++)
                ok = include(reader, words.at[i]);
        } else {
            take_value(reader, line, &words);
        }
    }
    free(words.text);
    return ok;
}

static bool read_file(struct reader *reader, const char *path) {
    size_t size;
    if (reader->depth >= MOST_DEPTH || ++reader->files > MOST_FILES)
        return err_set(reader->err, ERR_USAGE,
                       "%s: files of ssh_config include each other too deeply", path);
    char *text = file_read(path, FILE_LIMIT, &size, reader->err);
    if (!text)
        return false;
    struct str rest = {text, size}, line;
    bool ok = true;
    reader->depth++;
    while (ok && str_next(&rest, '\n', &line))
        ok = read_line(reader, line);
    reader->depth--;
    free(text);
    return ok;
}

bool settings_read(struct settings *settings, const char *path, const char *name, struct err *err) {
    struct reader reader = {.settings = settings, .name = name, .active = true, .err = err};
    return read_file(&reader, path);
}

char **transport_known_names(const char *ssh_config, size_t *count) {
    struct names names = {0};
    char *own = ssh_config ? mem_strdup(ssh_config) : settings_user_file("config");
    struct err ignored;
    struct reader reader = {.names = &names, .name = "", .active = true, .err = &ignored};
    if (file_exists(own))
        (void)!read_file(&reader, own);
    free(own);
    *count = names.all.len;
    return names.all.at;
}
