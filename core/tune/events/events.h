/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a session's log as structures, made from events.def: how they are written as JSON
 * text and read from it. What they do to the state is in tune/apply. */
#ifndef HONE_TUNE_EVENTS_H
#define HONE_TUNE_EVENTS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "tune/events/records.h"
#include "tune/events/words.h"

/* A number that is not told, in a field where every value could be told. */
#define TUNE_EVENT_NO_INT INT_MIN

/* `given`: the list stands in the event, even when it is empty. */
struct tune_ints {
    const int *at;
    size_t count;
    bool given;
};
struct tune_longs {
    const int64_t *at;
    size_t count;
    bool given;
};
/* Values by name, in their order. Each has a text or a number, never both. */
struct tune_named {
    const char *name, *text;
    double number;
};
struct tune_by_name {
    const struct tune_named *at;
    size_t count;
    bool given;
};

/* ---------------------------------------------------------------------------- the structures */

#define OF(row)
#define EVENT(id, name, type, doc) struct tune_event_##name {
#define PART(id, name, doc) struct tune_event_##name {
#define END() \
    }         \
    ;
#define NOTHING() char nothing;
#define TEXT(name, key, when, doc) const char *name;
#define NUMBER(name, key, when, doc) double name;
#define INT(name, key, missing, when, doc) int name;
#define LONG(name, key, missing, when, doc) int64_t name;
#define FLAG(name, key, when, doc) bool name;
#define WORD(name, key, tag, words, missing, when, doc) enum tag name;
#define INTS(name, key, when, doc) struct tune_ints name;
#define LONGS(name, key, when, doc) struct tune_longs name;
#define TEXTS_BY(name, key, when, doc) struct tune_by_name name;
#define NUMBERS_BY(name, key, when, doc) struct tune_by_name name;
#define LIST(name, key, part, ctype, when, doc) \
    struct {                                    \
        const ctype *at;                        \
        size_t count;                           \
        bool given;                             \
    } name;
#define ONE(name, key, part, ctype, when, doc) const ctype *name;
#include "tune/events/events.def"

enum tune_event_is {
#define EVENT(id, name, type, doc) TUNE_EVENT_##id,
#define EVENT_OF(id, name, type, ctype, doc) TUNE_EVENT_##id,
#include "tune/events/events.def"
    TUNE_EVENTS
};

/* What stands inside events. */
enum tune_part {
#define PART(id, name, doc) TUNE_PART_##id,
#define PART_OF(id, name, ctype, doc) TUNE_PART_##id,
#include "tune/events/events.def"
    TUNE_PARTS
};

/* Which keys are written: all of the event's row, or a selection. */
enum tune_event_form {
    TUNE_FORM_WHOLE,
#define FORM(id, event, keys) TUNE_FORM_##id,
#include "tune/events/events.def"
    TUNE_FORMS
};

struct tune_event {
    enum tune_event_is is;
    enum tune_event_form form; /* for the writer; the reader leaves it alone */
    int lane;                  /* whose it is, read only; -1: of no lane */
    union {
#define EVENT(id, name, type, doc) struct tune_event_##name name;
#define EVENT_OF(id, name, type, ctype, doc) ctype name;
#include "tune/events/events.def"
    };
};

/* An event as an expression: TUNE_EVENT(STOP, stop, .text = why). Fields that are not named are 0.
 * So a field must be named when its value for "not known" is not 0. */
#define TUNE_EVENT(id, name, ...) \
    (&(struct tune_event){.is = TUNE_EVENT_##id, .name = {__VA_ARGS__}})
#define TUNE_EVENT_AS(id, its_form, name, ...) \
    (&(struct tune_event){                     \
        .is = TUNE_EVENT_##id, .form = TUNE_FORM_##its_form, .name = {__VA_ARGS__}})
#define TUNE_EVENT_ONLY(id) (&(struct tune_event){.is = TUNE_EVENT_##id})

/* --------------------------------------------------------------------------- text and back */

/* "step_end"; NULL out of range. */
const char *tune_event_type(enum tune_event_is is);
/* An event of which nothing is known yet. */
struct tune_event tune_event_empty(enum tune_event_is is);
/* Copies what events of its type have: 30 bytes for most, where the structure has some 300. */
void tune_event_copy(struct tune_event *to, const struct tune_event *from);
/* Appends the event as one JSON object. `lane`: whose it is, -1: of no lane. Text that is not UTF-8
 * is written with its stray bytes replaced, because JSON has no way to say them. */
void tune_event_write(const struct tune_event *event, int lane, struct buf *out);
/* Reads the text of an event of that type; its texts and lists live in the arena. False: there is
 * no such type, or the text is no JSON object. */
bool tune_event_read(struct arena *arena, const char *type, const char *json,
                     struct tune_event *event) CC_MUST_USE;
/* An event as the log has it: its type, and what it says, where that can be read. */
struct tune_event_said {
    bool is_read;
    struct tune_event event; /* else only `is`; TUNE_EVENTS: of a type that is not known */
};
/* In the arena, with as much room as an event of the type takes: tune_event_copy copies it.
 * `leaves`: passes over what lines cost, the longest list of the log. */
struct tune_event_said *tune_event_hear(struct arena *arena, const char *type, const char *json,
                                        bool leaves) CC_MUST_USE;
/* What stands inside events, by itself. */
void tune_part_write(enum tune_part part, const void *structure, struct buf *out);
/* Appends a text, or a number, as JSON has it: stray bytes replaced, what is not finite as null. */
void tune_text_print(struct buf *out, const char *text);
void tune_number_print(struct buf *out, double number);
/* The kernel that an event has; why an attempt takes its time. NULL: none. */
const char *tune_event_source(const struct tune_event *event);
const char *tune_event_causes(const struct tune_event *event);
/* What the event says that each line of an attempt costs. */
struct tune_lines tune_event_lines(const struct tune_event *event);
/* Keeps its texts in the pool. */
void tune_part_keep(enum tune_part part, void *structure, struct text_pool *texts);
void tune_event_keep(struct tune_event *event, struct text_pool *texts);

#endif
