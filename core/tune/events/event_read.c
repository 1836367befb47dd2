/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON text of an event as a structure, by the rows of events.def. One walk over the text,
 * everything in one arena. A value of another type than its row's counts as not told; a key without
 * a row is passed over; what is not JSON is no event. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "tune/events/event_table.h"

#define DEEPEST 100 /* brackets within brackets, in what is passed over */

struct scan {
    const char *at, *end;
    struct arena *arena;
    bool bad, leaves; /* leaves: costs of lines are not wanted */
};

static bool fail(struct scan *scan) {
    scan->bad = true;
    return false;
}

static char next(struct scan *scan) {
    while (*scan->at == ' ' || *scan->at == '\n' || *scan->at == '\t' || *scan->at == '\r')
        scan->at++;
    return *scan->at;
}

static bool take(struct scan *scan, char wanted) {
    if (next(scan) != wanted)
        return false;
    scan->at++;
    return true;
}

/* ------------------------------------------------------------------------------------- texts */

/* The four digits of \uXXXX; -1. */
static int32_t hex_read(const char *at) {
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        if (!isxdigit((unsigned char)at[i]))
            return -1;
        int digit = at[i] <= '9' ? at[i] - '0' : (at[i] | 0x20) - 'a' + 10;
        value = value * 16 + digit;
    }
    return value;
}

/* The character behind "\u"; two of them make one beyond the first 65 536. Returns the bytes
 * written; 0 when it is none. */
static size_t unicode_read(const char **at, char out[4]) {
    int32_t code = hex_read(*at);
    if (code < 0 || (code >= 0xdc00 && code <= 0xdfff))
        return 0;
    *at += 4;
    if (code >= 0xd800 && code <= 0xdbff) {
        int32_t low = (*at)[0] == '\\' && (*at)[1] == 'u' ? hex_read(*at + 2) : -1;
        if (low < 0xdc00 || low > 0xdfff)
            return 0;
        *at += 6;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    return text_encode((uint32_t)code, out);
}

/* The character that a backslash and this one stand for; 0 when it may not stand there. */
static size_t escape_read(const char **at, char out[4]) {
    static const char names[] = "\"\\/bfnrt", marks[] = "\"\\/\b\f\n\r\t";
    char name = *(*at)++;
    if (name == 'u')
        return unicode_read(at, out);
    const char *found = name ? strchr(names, name) : NULL;
    if (!found)
        return 0;
    out[0] = marks[found - names];
    return 1;
}

/* The quote that ends the text whose opening quote is at `at`: the next one with an even number of
 * backslashes before it. NULL when there is none. */
static const char *text_end(const struct scan *scan, const char *at) {
    const char *from = at + 1, *quote = at;
    while ((quote = memchr(quote + 1, '"', (size_t)(scan->end - quote - 1)))) {
        const char *mark = quote;
        while (mark > from && mark[-1] == '\\')
            mark--;
        if ((quote - mark) % 2 == 0)
            return quote;
    }
    return NULL;
}

/* With its escapes, from the first of them on; false: one is wrong. */
static bool escapes_read(const char *from, const char *end, char *to) {
    while (from < end) {
        const char *stop = memchr(from, '\\', (size_t)(end - from));
        size_t plain = (size_t)((stop ? stop : end) - from);
        memcpy(to, from, plain);
        to += plain;
        from += plain + (stop != NULL);
        size_t length = stop ? escape_read(&from, to) : 0;
        if (stop && !length)
            return false;
        to += length;
    }
    *to = '\0';
    return true;
}

/* The text whose first quote is at scan->at; NULL: it does not end, or has a wrong escape. */
static const char *text_read(struct scan *scan) {
    const char *from = scan->at + 1, *end = text_end(scan, scan->at);
    if (!end) {
        fail(scan);
        return NULL;
    }
    size_t length = (size_t)(end - from);
    const char *escape = memchr(from, '\\', length);
    char *text = arena_dup(scan->arena, from, length + 1);
    text[length] = '\0';
    if (escape && !escapes_read(escape, end, text + (escape - from))) {
        fail(scan);
        return NULL;
    }
    scan->at = end + 1;
    return text;
}

/* ------------------------------------------------------------------------------- other values */

/* A number that is too large for a double counts as not told, as it will when it is written
 * again. */
static double number_read(struct scan *scan) {
    size_t length = tune_event_number_length(scan->at);
    struct str text = {scan->at, length};
    double value = NAN;
    if (!tune_event_number(text, &value) && !str_to_double(text, &value))
        fail(scan);
    scan->at += length;
    return isfinite(value) ? value : (double)NAN;
}

static bool literal_read(struct scan *scan) {
    static const struct str all[] = {{"null", 4}, {"true", 4}, {"false", 5}};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        if (*scan->at == *all[i].at && !strncmp(scan->at, all[i].at, all[i].len)) {
            scan->at += all[i].len;
            return true;
        }
    return fail(scan);
}

static bool is_number(char c) {
    return c == '-' || (c >= '0' && c <= '9');
}

static void text_pass(struct scan *scan) {
    const char *end = text_end(scan, scan->at);
    if (end)
        scan->at = end + 1;
    else
        fail(scan);
}

static void pass(struct scan *scan, int depth);

static void pass_list(struct scan *scan, bool object, int depth) {
    char end = object ? '}' : ']';
    scan->at++;
    if (take(scan, end))
        return;
    do {
        if (object && next(scan) == '"')
            text_pass(scan);
        else if (object)
            fail(scan);
        if (object && !take(scan, ':'))
            fail(scan);
        pass(scan, depth + 1);
    } while (!scan->bad && take(scan, ','));
    if (!take(scan, end))
        fail(scan);
}

static void pass(struct scan *scan, int depth) {
    char c = next(scan);
    if (scan->bad || depth > DEEPEST)
        fail(scan);
    else if (c == '"')
        text_pass(scan);
    else if (c == '{' || c == '[')
        pass_list(scan, c == '{', depth);
    else if (is_number(c))
        scan->at += tune_event_number_length(scan->at);
    else
        literal_read(scan);
}

/* ------------------------------------------------------------------------------------- lists */

/* In the arena of the event. */
struct items {
    struct arena *arena;
    char *at;
    size_t size, count, cap; /* size: of one */
};

static void *item_add(struct items *items) {
    if (items->count == items->cap) {
        const char *old = items->at;
        items->cap = items->cap ? items->cap * 4 : 4;
        items->at = arena_alloc(items->arena, items->cap, items->size);
        if (old)
            memcpy(items->at, old, items->count * items->size);
    }
    return items->at + items->count++ * items->size;
}

typedef void item_fn(struct scan *scan, const struct tune_field *field, struct items *items);

static void int_item(struct scan *scan, const struct tune_field *field, struct items *items) {
    (void)field;
    double value = is_number(next(scan)) ? number_read(scan) : (pass(scan, 0), (double)NAN);
    if (value >= INT_MIN && value <= INT_MAX)
        *(int *)item_add(items) = (int)value;
}

static void long_item(struct scan *scan, const struct tune_field *field, struct items *items) {
    (void)field;
    double value = is_number(next(scan)) ? number_read(scan) : (pass(scan, 0), (double)NAN);
    if (fabs(value) < 9e18)
        *(int64_t *)item_add(items) = (int64_t)value;
}

static void rows_read(struct scan *scan, const struct tune_field *fields, void *structure,
                      int *lane);

static void part_item(struct scan *scan, const struct tune_field *field, struct items *items) {
    struct tune_rows rows = tune_part_rows(field->part);
    void *structure = item_add(items);
    memcpy(structure, rows.empty, rows.size);
    if (next(scan) == '{')
        rows_read(scan, rows.fields, structure, NULL);
    else
        pass(scan, 0);
}

/* One value with its name. */
static void named_item(struct scan *scan, const struct tune_field *field, struct items *items) {
    (void)field;
    struct tune_named item = {.number = NAN};
    if (next(scan) != '"' || !(item.name = text_read(scan)) || !take(scan, ':')) {
        fail(scan);
        return;
    }
    if (next(scan) == '"')
        item.text = text_read(scan);
    else if (is_number(next(scan)))
        item.number = number_read(scan);
    else
        pass(scan, 0);
    *(struct tune_named *)item_add(items) = item;
}

static void list_read(struct scan *scan, const struct tune_field *field, void *value) {
    static const struct {
        item_fn *item;
        size_t size;
    } kinds[] = {[TUNE_FIELD_INTS] = {int_item, sizeof(int)},
                 [TUNE_FIELD_LONGS] = {long_item, sizeof(int64_t)},
                 [TUNE_FIELD_TEXTS_BY] = {named_item, sizeof(struct tune_named)},
                 [TUNE_FIELD_NUMBERS_BY] = {named_item, sizeof(struct tune_named)},
                 [TUNE_FIELD_LIST] = {part_item, 0}};
    bool named = kinds[field->is].item == named_item;
    size_t size =
        field->is == TUNE_FIELD_LIST ? tune_part_rows(field->part).size : kinds[field->is].size;
    struct items items = {.arena = scan->arena, .size = size};
    bool left = scan->leaves && field->is == TUNE_FIELD_LIST && field->part == TUNE_PART_LINE;
    if (left && next(scan) == '[') {
        pass(scan, 0);
    } else if (!take(scan, named ? '{' : '[')) {
        pass(scan, 0);
        return;
    } else if (!take(scan, named ? '}' : ']')) {
        do
            kinds[field->is].item(scan, field, &items);
        while (!scan->bad && take(scan, ','));
        if (!take(scan, named ? '}' : ']'))
            fail(scan);
    }
    struct tune_list list = {items.at, items.count, true};
    memcpy(value, &list, sizeof list);
}

/* ------------------------------------------------------------------------------------ objects */

/* A word that stands there without escapes, as all of ours do; false: none does. */
static bool word_expect(struct scan *scan, const struct tune_words *words, int *value) {
    for (size_t i = 0; i < words->count; i++) {
        const char *at = scan->at + 1, *word = words->at[i];
        while (*word && *word == *at)
            word++, at++;
        if (*word || *at != '"')
            continue;
        *value = (int)i;
        scan->at = at + 1;
        return true;
    }
    return false;
}

static void word_read(struct scan *scan, const struct tune_words *words, int *value) {
    if (word_expect(scan, words, value))
        return;
    const char *word = text_read(scan);
    for (size_t i = 0; word && i < words->count; i++)
        if (!strcmp(words->at[i], word))
            *value = (int)i;
}

static void number_put(const struct tune_field *field, double number, void *value) {
    if (field->is == TUNE_FIELD_NUMBER)
        *(double *)value = number;
    else if (field->is == TUNE_FIELD_LONG && fabs(number) < 9e18)
        *(int64_t *)value = (int64_t)number;
    else if (field->is == TUNE_FIELD_INT && number >= INT_MIN && number <= INT_MAX)
        *(int *)value = (int)number;
}

static void one_read(struct scan *scan, const struct tune_field *field, void *value) {
    struct tune_rows rows = tune_part_rows(field->part);
    void *structure = arena_dup(scan->arena, rows.empty, rows.size);
    rows_read(scan, rows.fields, structure, NULL);
    memcpy(value, &structure, sizeof structure);
}

static void value_read(struct scan *scan, const struct tune_field *field, void *value) {
    char c = next(scan);
    if (field->is >= TUNE_FIELD_INTS && field->is <= TUNE_FIELD_LIST)
        list_read(scan, field, value);
    else if (c == '"' && field->is == TUNE_FIELD_TEXT)
        *(const char **)value = text_read(scan);
    else if (c == '"' && field->is == TUNE_FIELD_WORD)
        word_read(scan, field->words, value);
    else if (is_number(c))
        number_put(field, number_read(scan), value);
    else if (c == 't' && field->is == TUNE_FIELD_FLAG)
        *(bool *)value = literal_read(scan);
    else if (c == '{' && field->is == TUNE_FIELD_ONE)
        one_read(scan, field, value);
    else
        pass(scan, 0);
}

/* Found by its text as it stands: a key of ours has no escapes. */
static struct str key_read(struct scan *scan) {
    if (next(scan) != '"') {
        fail(scan);
        return (struct str){"", 0};
    }
    const char *from = scan->at + 1;
    text_pass(scan);
    struct str key = {from, (size_t)(scan->at - from) - !scan->bad};
    if (!take(scan, ':'))
        fail(scan);
    return key;
}

/* Reads the key of that row where it stands as hone writes it; else reads nothing. */
static bool key_expect(struct scan *scan, const struct tune_field *field, struct str *key) {
    const char *at = scan->at, *wanted = field->key;
    if (field->is == TUNE_FIELD_END || *at++ != '"')
        return false;
    while (*wanted && *wanted == *at)
        wanted++, at++;
    if (*wanted || at[0] != '"' || at[1] != ':')
        return false;
    *key = (struct str){field->key, (size_t)(wanted - field->key)};
    scan->at = at + 2;
    return true;
}

/* The event's lane; a row may have this name, too. */
static void lane_read(const struct scan *scan, struct str key, int *lane) {
    struct scan again = *scan;
    if (lane && key.len == 4 && !memcmp(key.at, "lane", 4) && is_number(next(&again)))
        number_put(&(struct tune_field){.is = TUNE_FIELD_INT}, number_read(&again), lane);
}

/* A key and the value behind it; *from is where the next key is looked for first. */
static void pair_read(struct scan *scan, const struct tune_field *fields,
                      const struct tune_field **from, void *structure, int *lane) {
    const struct tune_field *field = *from;
    struct str key;
    if (!key_expect(scan, field, &key)) {
        key = key_read(scan);
        if (scan->bad)
            return;
        field = tune_field_find(fields, *from, key);
    }
    lane_read(scan, key, lane);
    if (!field) {
        pass(scan, 0);
        return;
    }
    *from = field + 1;
    value_read(scan, field, (char *)structure + field->offset);
}

static void rows_read(struct scan *scan, const struct tune_field *fields, void *structure,
                      int *lane) {
    const struct tune_field *from = fields;
    if (!take(scan, '{')) {
        fail(scan);
        return;
    }
    if (take(scan, '}'))
        return;
    do
        pair_read(scan, fields, &from, structure, lane);
    while (!scan->bad && take(scan, ','));
    if (!take(scan, '}'))
        fail(scan);
}

static bool json_read(struct arena *arena, const char *json, bool leaves,
                      struct tune_event *event) {
    struct scan scan = {.at = json, .end = json + strlen(json), .arena = arena, .leaves = leaves};
    rows_read(&scan, tune_event_rows(event->is).fields, &event->session, &event->lane);
    return !scan.bad;
}

struct tune_event_said *tune_event_hear(struct arena *arena, const char *type, const char *json,
                                        bool leaves) {
    enum tune_event_is is = tune_event_find(type);
    struct tune_rows rows = is == TUNE_EVENTS ? (struct tune_rows){0} : tune_event_rows(is);
    struct tune_event_said *said =
        arena_alloc(arena, 1, offsetof(struct tune_event_said, event.session) + rows.size);
    said->event.is = is;
    said->event.form = TUNE_FORM_WHOLE;
    said->event.lane = -1;
    if (is == TUNE_EVENTS)
        return said;
    memcpy(&said->event.session, rows.empty, rows.size);
    said->is_read = json_read(arena, json, leaves, &said->event);
    return said;
}

bool tune_event_read(struct arena *arena, const char *type, const char *json,
                     struct tune_event *event) {
    const struct tune_event_said *said = tune_event_hear(arena, type, json, false);
    if (said->event.is != TUNE_EVENTS)
        tune_event_copy(event, &said->event);
    return said->is_read;
}
