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

/* Each structure with nothing told. */
#define EVENT(id, name, type, doc) static const struct tune_event_##name no_event_##name = {
#define EVENT_OF(id, name, type, ctype, doc) static const ctype no_event_##name = {
#define PART(id, name, doc) static const struct tune_event_##name no_part_##name = {
#define PART_OF(id, name, ctype, doc) static const ctype no_part_##name = {
#define END() \
    }         \
    ;
#define END_OF() END()
#define NUMBER(name, key, when, doc) .name = NAN,
#define INT(name, key, none, when, doc) .name = none,
#define LONG(name, key, none, when, doc) .name = none,
#define WORD(name, key, tag, its, none, when, doc) .name = (enum tag)none,
#include "tune/events/events.def"

struct row {
    const char *name, *doc;
    const void *empty;
    size_t size;
    const struct tune_field *(*fields)(void);
};

static const struct row events[] = {
#define EVENT(id, name, type, doc) \
    {type, doc, &no_event_##name, sizeof no_event_##name, event_##name},
#define EVENT_OF(id, name, type, ctype, doc) EVENT(id, name, type, doc)
#include "tune/events/events.def"
};

static const struct row parts[] = {
#define PART(id, name, doc) {#name, doc, &no_part_##name, sizeof no_part_##name, part_##name},
#define PART_OF(id, name, ctype, doc) PART(id, name, doc)
#include "tune/events/events.def"
};

static struct tune_rows rows_of(const struct row *row) {
    return (struct tune_rows){row->name, row->doc, row->empty, row->size, row->fields()};
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

/* Most names differ within their first two letters. */
static bool is_named(enum tune_event_is is, const char *type) {
    const char *name = events[is].name;
    return name[0] == type[0] && name[1] == type[1] && !strcmp(name, type);
}

enum tune_event_is tune_event_find(const char *type) {
    static const enum tune_event_is often[] = {TUNE_EVENT_LOG, TUNE_EVENT_PROGRESS, TUNE_EVENT_STEP,
                                               TUNE_EVENT_STEP_END, TUNE_EVENT_SEED};
    for (size_t i = 0; i < COUNT_OF(often); i++)
        if (is_named(often[i], type))
            return often[i];
    int is = 0;
    while (is < TUNE_EVENTS && !is_named((enum tune_event_is)is, type))
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
    size_t at = 0;
    while (at < key.len && field->key[at] == key.at[at])
        at++;
    return at == key.len && !field->key[at];
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

struct tune_event tune_event_empty(enum tune_event_is is) {
    struct tune_event event = {.is = is, .lane = -1};
    memcpy(&event.session, events[is].empty, events[is].size);
    return event;
}

void tune_event_copy(struct tune_event *to, const struct tune_event *from) {
    memcpy(to, from, offsetof(struct tune_event, session) + events[from->is].size);
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

const char *tune_event_causes(const struct tune_event *event) {
    return event->is == TUNE_EVENT_MEASURED   ? event->measured.causes
           : event->is == TUNE_EVENT_MODELLED ? event->modelled.causes
                                              : NULL;
}

struct tune_lines tune_event_lines(const struct tune_event *event) {
    if (event->is == TUNE_EVENT_MEASURED)
        return (struct tune_lines){event->measured.lines.at, event->measured.lines.count};
    if (event->is == TUNE_EVENT_MODELLED)
        return (struct tune_lines){event->modelled.lines.at, event->modelled.lines.count};
    return (struct tune_lines){NULL, 0};
}

const char *tune_event_source(const struct tune_event *event) {
    return event->is == TUNE_EVENT_ATTEMPT     ? event->attempt.source
           : event->is == TUNE_EVENT_CANDIDATE ? event->candidate.source
                                               : NULL;
}
