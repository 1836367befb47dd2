/* SPDX-License-Identifier: Apache-2.0 */
/* The table of events as a page for people, and examples of events for tests. */
#include <stdlib.h>

#include "tune/events/event_table.h"
#include "tune/events/testing.h"

/* -------------------------------------------------------------------------------------- page */

static void words_print(const struct tune_words *words, struct buf *out) {
    for (size_t i = 0; i < words->count; i++)
        buf_printf(out, "%s`%s`", i ? ", " : "", words->at[i]);
}

static void kind_print(const struct tune_field *field, struct buf *out) {
    static const char *const kinds[] = {[TUNE_FIELD_TEXT] = "text",
                                        [TUNE_FIELD_NUMBER] = "number",
                                        [TUNE_FIELD_INT] = "whole number",
                                        [TUNE_FIELD_LONG] = "whole number",
                                        [TUNE_FIELD_FLAG] = "true or false",
                                        [TUNE_FIELD_INTS] = "list of numbers",
                                        [TUNE_FIELD_LONGS] = "list of numbers",
                                        [TUNE_FIELD_TEXTS_BY] = "texts by name",
                                        [TUNE_FIELD_NUMBERS_BY] = "numbers by name"};
    if (field->is == TUNE_FIELD_WORD)
        words_print(field->words, out);
    else if (field->is == TUNE_FIELD_LIST || field->is == TUNE_FIELD_ONE)
        buf_printf(out, "%s[%s](#%s)", field->is == TUNE_FIELD_LIST ? "list of " : "",
                   tune_part_rows(field->part).name, tune_part_rows(field->part).name);
    else
        buf_puts(out, kinds[field->is]);
    if (field->when != TUNE_FIELD_KEPT)
        buf_puts(out, ", or absent");
}

static void rows_print(const struct tune_rows *rows, struct buf *out) {
    buf_printf(out, "\n### %s\n\n%s\n", rows->name, rows->doc);
    if (rows->fields->is != TUNE_FIELD_END)
        buf_puts(out, "\n| key | value | meaning |\n|---|---|---|\n");
    for (const struct tune_field *at = rows->fields; at->is != TUNE_FIELD_END; at++) {
        buf_printf(out, "| `%s` | ", at->key);
        kind_print(at, out);
        buf_printf(out, " | %s |\n", at->doc);
    }
}

void tune_events_print(struct buf *out) {
    buf_puts(out, "## Events\n");
    for (int i = 0; i < TUNE_EVENTS; i++) {
        struct tune_rows rows = tune_event_rows((enum tune_event_is)i);
        rows_print(&rows, out);
    }
    buf_puts(out, "\n## What stands inside them\n");
    for (int i = 0; i < TUNE_PARTS; i++) {
        struct tune_rows rows = tune_part_rows((enum tune_part)i);
        rows_print(&rows, out);
    }
}

/* ---------------------------------------------------------------------------------- examples */

static void rows_fill(struct arena *arena, const struct tune_field *fields, void *structure);

static const void *part_fill(struct arena *arena, enum tune_part part) {
    struct tune_rows rows = tune_part_rows(part);
    void *structure = arena_alloc(arena, 1, rows.size);
    rows_fill(arena, rows.fields, structure);
    return structure;
}

/* A list of one, whatever is in it. */
static void list_fill(struct arena *arena, const struct tune_field *field, void *value) {
    static const int one = 1;
    static const int64_t seed = 42;
    static const struct tune_named named = {"wall", "auto", 3.5};
    struct tune_list list = {&named, 1, true};
    if (field->is == TUNE_FIELD_INTS)
        list.at = &one;
    else if (field->is == TUNE_FIELD_LONGS)
        list.at = &seed;
    else if (field->is == TUNE_FIELD_LIST)
        list.at = part_fill(arena, field->part);
    memcpy(value, &list, sizeof list);
}

static void value_fill(struct arena *arena, const struct tune_field *field, void *value) {
    const void *one;
    switch (field->is) {
    case TUNE_FIELD_TEXT: *(const char **)value = field->key; break;
    case TUNE_FIELD_NUMBER: *(double *)value = 0.25; break;
    case TUNE_FIELD_INT: *(int *)value = 2; break;
    case TUNE_FIELD_LONG: *(int64_t *)value = 21; break;
    case TUNE_FIELD_FLAG: *(bool *)value = true; break;
    case TUNE_FIELD_WORD: *(int *)value = field->missing == 1 ? 0 : 1; break;
    case TUNE_FIELD_ONE:
        one = part_fill(arena, field->part);
        memcpy(value, &one, sizeof one);
        break;
    default: list_fill(arena, field, value); break;
    }
}

static void rows_fill(struct arena *arena, const struct tune_field *fields, void *structure) {
    for (const struct tune_field *at = fields; at->is != TUNE_FIELD_END; at++)
        value_fill(arena, at, (char *)structure + at->offset);
}

void tune_event_example(enum tune_event_is is, struct buf *out) {
    struct arena *arena = arena_new();
    struct tune_event event = tune_event_empty(is);
    rows_fill(arena, tune_event_rows(is).fields, &event.session);
    tune_event_write(&event, -1, out);
    arena_free(arena);
}

/* ----------------------------------------------------------------------------------- the check */

static bool comes_back(struct tune_event *event, const char *json) {
    struct buf text = {0};
    bool same = false;
    for (int form = 0; form < TUNE_FORMS && !same; form++) {
        enum tune_event_is of;
        const char *keys = tune_event_form_keys((enum tune_event_form)form, &of);
        if (keys && of != event->is)
            continue;
        event->form = (enum tune_event_form)form;
        buf_clear(&text);
        tune_event_write(event, event->lane, &text);
        same = !strcmp(text.at, json);
    }
    buf_free(&text);
    return same;
}

bool tune_event_is_as_written(const char *type, const char *json) {
    struct arena *arena = arena_new();
    struct tune_event event;
    bool same = tune_event_read(arena, type, json, &event) && comes_back(&event, json);
    arena_free(arena);
    return same;
}
