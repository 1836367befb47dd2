/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of events.def as data, for what reads, writes and prints events. */
#ifndef HONE_TUNE_EVENT_TABLE_H
#define HONE_TUNE_EVENT_TABLE_H

#include "tune/events/events.h"

enum tune_field_is {
    TUNE_FIELD_END,
    TUNE_FIELD_TEXT,
    TUNE_FIELD_NUMBER,
    TUNE_FIELD_INT,
    TUNE_FIELD_LONG,
    TUNE_FIELD_FLAG,
    TUNE_FIELD_WORD,
    TUNE_FIELD_INTS,
    TUNE_FIELD_LONGS,
    TUNE_FIELD_TEXTS_BY,
    TUNE_FIELD_NUMBERS_BY,
    TUNE_FIELD_LIST,
    TUNE_FIELD_ONE
};

enum tune_field_when { TUNE_FIELD_KEPT, TUNE_FIELD_LEFT, TUNE_FIELD_BESIDE };

struct tune_field {
    enum tune_field_is is;
    enum tune_field_when when;
    const char *key, *doc;
    size_t offset;
    int missing;                    /* of numbers without a part, and of words */
    const struct tune_words *words; /* of WORD */
    enum tune_part part;            /* of LIST and ONE */
};

/* An event's rows, or those of what stands inside one; the last one is an END. */
struct tune_rows {
    const char *name, *doc; /* "step_end" */
    const void *empty;      /* the structure with nothing told */
    size_t size;            /* of that */
    const struct tune_field *fields;
};

/* A list as it stands in every structure. */
struct tune_list {
    const void *at;
    size_t count;
    bool given;
};

struct tune_rows tune_event_rows(enum tune_event_is is);
struct tune_rows tune_part_rows(enum tune_part part);
/* "tokens dollars" and whose they are; NULL: TUNE_FORM_WHOLE. */
const char *tune_event_form_keys(enum tune_event_form form, enum tune_event_is *of);
/* The event of that type; TUNE_EVENTS: there is none. */
enum tune_event_is tune_event_find(const char *type);
/* The row with that key, looked for from `from` on, where it mostly stands; NULL. */
const struct tune_field *tune_field_find(const struct tune_field *fields,
                                         const struct tune_field *from, struct str key);
/* The characters at its beginning that a number may have. */
size_t tune_event_number_length(const char *text);
/* The number that a text is, as strtod has it; false: it has to be asked. */
bool tune_event_number(struct str text, double *value);

#endif
