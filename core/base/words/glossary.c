/* SPDX-License-Identifier: Apache-2.0 */
#include "base/words/glossary.h"

#include <ctype.h>
#include <string.h>

#include "base/kit/kit.h"

static const struct glossary_entry entries[] = {
#define X(part, word, names, meaning) {GLOSSARY_##part, word, names, meaning},
#include "base/words/glossary.def"
#undef X
};

const struct glossary_entry *glossary_at(size_t index) {
    return index < COUNT_OF(entries) ? &entries[index] : NULL;
}

const char *glossary_part_title(enum glossary_part part) {
    static const char *const titles[] = {
#define X(id, title) title,
        GLOSSARY_PARTS(X)
#undef X
    };
    return part < COUNT_OF(titles) ? titles[part] : "";
}

static char plain(char c) {
    return c == '_' || c == '-' ? ' ' : (char)tolower((unsigned char)c);
}

/* How much of `text` a wildcard takes: {n} stands for digits, any other {name} for letters. */
static size_t wild_length(char kind, struct str text) {
    size_t len = 0;
    while (len < text.len && (kind == 'n' ? isdigit((unsigned char)text.at[len])
                                          : isalpha((unsigned char)text.at[len])))
        len++;
    return len;
}

static bool is_name(struct str pattern, struct str text) {
    size_t p = 0, t = 0; /* an empty list has one empty name, which matches nothing */
    while (p < pattern.len) {
        if (pattern.at[p] == '{') {
            size_t taken = wild_length(pattern.at[p + 1], (struct str){text.at + t, text.len - t});
            const char *close = memchr(pattern.at + p, '}', pattern.len - p);
            if (!taken || !close)
                return false;
            p = (size_t)(close - pattern.at) + 1;
            t += taken;
            continue;
        }
        if (t == text.len || plain(pattern.at[p]) != plain(text.at[t]))
            return false;
        p++, t++;
    }
    return p > 0 && t == text.len;
}

static bool has_name(const struct glossary_entry *entry, struct str text) {
    struct str rest = str_of(entry->names), name;
    while (str_next(&rest, ',', &name))
        if (is_name(str_trim(name), text))
            return true;
    return false;
}

static const struct glossary_entry *find_word(struct str word) {
    for (size_t i = 0; i < COUNT_OF(entries); i++)
        if (is_name(str_of(entries[i].word), word))
            return &entries[i];
    return NULL;
}

const struct glossary_entry *glossary_find(struct str name) {
    const struct glossary_entry *found = find_word(name);
    for (size_t i = 0; !found && i < COUNT_OF(entries); i++)
        if (has_name(&entries[i], name))
            found = &entries[i];
    return found;
}

/* The metric that a row is about: the first of its names. Empty where the row is about none. */
static struct str metric_of(const struct glossary_entry *entry) {
    struct str rest = str_of(entry->names), name = {"", 0};
    bool measures = entry->part == GLOSSARY_METRIC || entry->part == GLOSSARY_DEVICE;
    if (!measures || !str_next(&rest, ',', &name) || !memchr(name.at, '_', name.len) ||
        memchr(name.at, '{', name.len))
        return (struct str){"", 0};
    return str_trim(name);
}

const char *glossary_word(const char *metric) {
    for (size_t i = 0; i < COUNT_OF(entries); i++)
        if (str_is(metric_of(&entries[i]), metric))
            return entries[i].word;
    return metric;
}

struct str glossary_metric(struct str word) {
    const struct glossary_entry *entry = find_word(word);
    return entry ? metric_of(entry) : (struct str){"", 0};
}
