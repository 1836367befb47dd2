/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of events.def as data: looked up by type and by key. It reads and writes nothing. */
#include <math.h>

#include "tune/events/event_table.h"

/* A function for each, so that the rows can say `self` of the structure they are about. */
#define BEGIN(function, ctype)                       \
    static const struct tune_field *function(void) { \
        typedef ctype self;                          \
        static const struct tune_field rows[] = {
#define FINISH               \
    { .is = TUNE_FIELD_END } \
    }                        \
    ;                        \
    return rows;             \
    }
#define ROW(kind, name, its_key, its_when, its_doc, ...) \
    {.is = TUNE_FIELD_##kind,                            \
     .when = TUNE_FIELD_##its_when,                      \
     .key = its_key,                                     \
     .doc = its_doc,                                     \
     .offset = offsetof(self, name),                     \
     __VA_ARGS__},

#define EVENT(id, name, type, doc) BEGIN(event_##name, struct tune_event_##name)
#define EVENT_OF(id, name, type, ctype, doc) BEGIN(event_##name, ctype)
#define PART(id, name, doc) BEGIN(part_##name, struct tune_event_##name)
#define PART_OF(id, name, ctype, doc) BEGIN(part_##name, ctype)
#define END() FINISH
#define END_OF() FINISH
#define NOTHING() {.is = TUNE_FIELD_END, .offset = offsetof(self, nothing)},
#define PLAIN(kind, name, key, when, doc) ROW(kind, name, key, when, doc, .missing = 0)
#define TEXT(name, key, when, doc) PLAIN(TEXT, name, key, when, doc)
#define NUMBER(name, key, when, doc) PLAIN(NUMBER, name, key, when, doc)
#define INT(name, key, none, when, doc) ROW(INT, name, key, when, doc, .missing = none)
#define LONG(name, key, none, when, doc) ROW(LONG, name, key, when, doc, .missing = none)
#define FLAG(name, key, when, doc) PLAIN(FLAG, name, key, when, doc)
#define WORD(name, key, tag, its, none, when, doc) \
    ROW(WORD, name, key, when, doc, .missing = (int)none, .words = &tune_words_##its)
#define INTS(name, key, when, doc) PLAIN(INTS, name, key, when, doc)
#define LONGS(name, key, when, doc) PLAIN(LONGS, name, key, when, doc)
#define TEXTS_BY(name, key, when, doc) PLAIN(TEXTS_BY, name, key, when, doc)
#define NUMBERS_BY(name, key, when, doc) PLAIN(NUMBERS_BY, name, key, when, doc)
#define LIST(name, key, its, ctype, when, doc) \
    ROW(LIST, name, key, when, doc, .part = TUNE_PART_##its)
#define ONE(name, key, its, ctype, when, doc) \
    ROW(ONE, name, key, when, doc, .part = TUNE_PART_##its)
#include "tune/events/events.def"

struct row {
    const char *name, *doc;
    size_t size;
    const struct tune_field *(*fields)(void);
};

static const struct row events[] = {
#define EVENT(id, name, type, doc) {type, doc, sizeof(struct tune_event_##name), event_##name},
#define EVENT_OF(id, name, type, ctype, doc) {type, doc, sizeof(ctype), event_##name},
#include "tune/events/events.def"
};

static const struct row parts[] = {
#define PART(id, name, doc) {#name, doc, sizeof(struct tune_event_##name), part_##name},
#define PART_OF(id, name, ctype, doc) {#name, doc, sizeof(ctype), part_##name},
#include "tune/events/events.def"
};

static struct tune_rows rows_of(const struct row *row) {
    return (struct tune_rows){row->name, row->doc, row->size, row->fields()};
}

struct tune_rows tune_event_rows(enum tune_event_is is) {
    return rows_of(&events[is]);
}

struct tune_rows tune_part_rows(enum tune_part part) {
    return rows_of(&parts[part]);
}

const char *tune_event_type(enum tune_event_is is) {
    return (unsigned)is < TUNE_EVENTS ? events[is].name : NULL;
}

enum tune_event_is tune_event_find(const char *type) {
    int is = 0;
    while (is < TUNE_EVENTS && (events[is].name[0] != type[0] || events[is].name[1] != type[1] ||
                                strcmp(events[is].name, type) != 0))
        is++;
    return (enum tune_event_is)is;
}

const char *tune_event_form_keys(enum tune_event_form form, enum tune_event_is *of) {
    static const struct {
        const char *keys;
        enum tune_event_is of;
    } forms[TUNE_FORMS] = {
#define FORM(id, event, its_keys) [TUNE_FORM_##id] = {its_keys, TUNE_EVENT_##event},
#include "tune/events/events.def"
    };
    *of = forms[form].of;
    return forms[form].keys;
}

static bool is_key(const struct tune_field *field, struct str key) {
    return !strncmp(field->key, key.at, key.len) && !field->key[key.len];
}

const struct tune_field *tune_field_find(const struct tune_field *fields,
                                         const struct tune_field *from, struct str key) {
    for (const struct tune_field *at = from; at->is != TUNE_FIELD_END; at++)
        if (is_key(at, key))
            return at;
    for (const struct tune_field *at = fields; at != from; at++)
        if (is_key(at, key))
            return at;
    return NULL;
}

void tune_fields_clear(const struct tune_field *fields, void *structure) {
    for (const struct tune_field *at = fields; at->is != TUNE_FIELD_END; at++) {
        void *value = (char *)structure + at->offset;
        if (at->is == TUNE_FIELD_NUMBER)
            *(double *)value = NAN;
        else if (at->is == TUNE_FIELD_INT || at->is == TUNE_FIELD_WORD)
            *(int *)value = at->missing;
        else if (at->is == TUNE_FIELD_LONG)
            *(int64_t *)value = at->missing;
    }
}

struct tune_event tune_event_empty(enum tune_event_is is) {
    struct tune_event event = {.is = is, .lane = -1};
    tune_fields_clear(events[is].fields(), &event.session);
    return event;
}

static void fields_keep(const struct tune_field *fields, void *structure, struct text_pool *texts) {
    for (const struct tune_field *at = fields; at->is != TUNE_FIELD_END; at++) {
        const char **text = (const char **)((char *)structure + at->offset);
        if (at->is == TUNE_FIELD_TEXT && *text)
            *text = text_pool_keep(texts, str_of(*text));
    }
}

void tune_part_keep(enum tune_part part, void *structure, struct text_pool *texts) {
    fields_keep(parts[part].fields(), structure, texts);
}

void tune_event_keep(struct tune_event *event, struct text_pool *texts) {
    fields_keep(events[event->is].fields(), &event->session, texts);
}
