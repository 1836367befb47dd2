/* SPDX-License-Identifier: Apache-2.0 */
/* Events as JSON text, by the rows of events.def. The text is always whole: texts are made valid,
 * and numbers that JSON has no way to say are null. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tune/events/event_table.h"

/* --------------------------------------------------------------------------------- one value */

/* Most of a text needs no look at its code points. */
static size_t plain_length(struct str text) {
    size_t len = 0;
    while (len < text.len && text.at[len] >= ' ' && text.at[len] < 0x7f && text.at[len] != '"' &&
           text.at[len] != '\\')
        len++;
    return len;
}

static void character_write(struct buf *out, struct str character, uint32_t code) {
    static const char marks[] = "\"\\\b\f\n\r\t", names[] = "\"\\bfnrt";
    const char *mark = code < 0x80 && code ? strchr(marks, (int)code) : NULL;
    const char escape[2] = {'\\', mark ? names[mark - marks] : 'u'};
    if (code == TEXT_INVALID)
        buf_puts(out, "\xef\xbf\xbd");
    else if (mark)
        buf_add(out, escape, sizeof escape);
    else if (code < ' ')
        buf_printf(out, "\\u%04x", (unsigned)code);
    else
        buf_add(out, character.at, character.len);
}

void tune_text_print(struct buf *out, const char *text) {
    struct str rest = str_of(text);
    buf_putc(out, '"');
    while (rest.len) {
        uint32_t code;
        size_t len = plain_length(rest);
        if (len) {
            buf_add(out, rest.at, len);
        } else {
            len = text_decode(rest, &code);
            character_write(out, (struct str){rest.at, len}, code);
        }
        rest.at += len;
        rest.len -= len;
    }
    buf_putc(out, '"');
}

/* Of an integer that a double holds exactly. */
static void integer_write(struct buf *out, double number) {
    char digits[24], *at = digits + sizeof digits;
    uint64_t rest = (uint64_t)fabs(number);
    do
        *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (number < 0)
        *--at = '-';
    buf_add(out, at, (size_t)(digits + sizeof digits - at));
}

/* With as few digits as give the number back, but for its last bit. */
void tune_number_print(struct buf *out, double number) {
    char text[32];
    double back;
    if (!isfinite(number)) {
        buf_puts(out, "null");
        return;
    }
    if (fabs(number) < 1e15 && number == trunc(number) && !(number == 0 && signbit(number))) {
        integer_write(out, number);
        return;
    }
    snprintf(text, sizeof text, "%.15g", number);
    if (!tune_event_number(str_of(text), &back))
        back = strtod(text, NULL);
    if (fabs(back - number) > fmax(fabs(back), fabs(number)) * DBL_EPSILON)
        snprintf(text, sizeof text, "%.17g", number);
    buf_puts(out, text);
}

static void text_or_null(struct buf *out, const char *text) {
    if (text)
        tune_text_print(out, text);
    else
        buf_puts(out, "null");
}

/* ------------------------------------------------------------------------------------- lists */

static void rows_write(const struct tune_field *fields, const void *structure, struct buf *out);

static void comma(struct buf *out, size_t index) {
    if (index)
        buf_putc(out, ',');
}

static void ints_write(const struct tune_ints *list, struct buf *out) {
    for (size_t i = 0; i < list->count; i++) {
        comma(out, i);
        tune_number_print(out, list->at[i]);
    }
}

static void longs_write(const struct tune_longs *list, struct buf *out) {
    for (size_t i = 0; i < list->count; i++) {
        comma(out, i);
        tune_number_print(out, (double)list->at[i]);
    }
}

static void named_write(const struct tune_by_name *list, bool texts, struct buf *out) {
    for (size_t i = 0; i < list->count; i++) {
        comma(out, i);
        tune_text_print(out, list->at[i].name);
        buf_putc(out, ':');
        if (texts)
            text_or_null(out, list->at[i].text);
        else
            tune_number_print(out, list->at[i].number);
    }
}

static struct tune_list list_of(const void *value) {
    struct tune_list list;
    memcpy(&list, value, sizeof list);
    return list;
}

static const void *pointer_of(const void *value) {
    const void *pointer;
    memcpy(&pointer, value, sizeof pointer);
    return pointer;
}

static void parts_write(const struct tune_field *field, const void *value, struct buf *out) {
    struct tune_list list = list_of(value);
    struct tune_rows rows = tune_part_rows(field->part);
    for (size_t i = 0; i < list.count; i++) {
        comma(out, i);
        rows_write(rows.fields, (const char *)list.at + i * rows.size, out);
    }
}

static void list_write(const struct tune_field *field, const void *value, struct buf *out) {
    bool named = field->is == TUNE_FIELD_TEXTS_BY || field->is == TUNE_FIELD_NUMBERS_BY;
    buf_putc(out, named ? '{' : '[');
    if (named)
        named_write(value, field->is == TUNE_FIELD_TEXTS_BY, out);
    else if (field->is == TUNE_FIELD_INTS)
        ints_write(value, out);
    else if (field->is == TUNE_FIELD_LONGS)
        longs_write(value, out);
    else
        parts_write(field, value, out);
    buf_putc(out, named ? '}' : ']');
}

static void one_write(const struct tune_field *field, const void *structure, struct buf *out) {
    if (structure)
        rows_write(tune_part_rows(field->part).fields, structure, out);
    else
        buf_puts(out, "null");
}

static void word_write(const struct tune_words *words, int value, struct buf *out) {
    text_or_null(out, value >= 0 && (size_t)value < words->count ? words->at[value] : NULL);
}

static void value_write(const struct tune_field *field, const void *value, struct buf *out) {
    switch (field->is) {
    case TUNE_FIELD_TEXT: text_or_null(out, *(const char *const *)value); break;
    case TUNE_FIELD_NUMBER: tune_number_print(out, *(const double *)value); break;
    case TUNE_FIELD_INT: tune_number_print(out, *(const int *)value); break;
    case TUNE_FIELD_LONG: tune_number_print(out, (double)*(const int64_t *)value); break;
    case TUNE_FIELD_FLAG: buf_puts(out, *(const bool *)value ? "true" : "false"); break;
    case TUNE_FIELD_WORD: word_write(field->words, *(const int *)value, out); break;
    case TUNE_FIELD_ONE: one_write(field, pointer_of(value), out); break;
    default: list_write(field, value, out); break;
    }
}

/* ------------------------------------------------------------------------------------ objects */

static bool is_told(const struct tune_field *field, const void *value) {
    switch (field->is) {
    case TUNE_FIELD_TEXT:
    case TUNE_FIELD_ONE: return pointer_of(value) != NULL;
    case TUNE_FIELD_NUMBER: return !isnan(*(const double *)value);
    case TUNE_FIELD_INT:
    case TUNE_FIELD_WORD: return *(const int *)value != field->missing;
    case TUNE_FIELD_LONG: return *(const int64_t *)value != field->missing;
    case TUNE_FIELD_FLAG: return *(const bool *)value;
    default: return list_of(value).given;
    }
}

static void field_write(const struct tune_field *field, const void *structure, struct buf *out) {
    if (out->at[out->len - 1] != '{')
        buf_putc(out, ',');
    tune_text_print(out, field->key);
    buf_putc(out, ':');
    value_write(field, (const char *)structure + field->offset, out);
}

static void fields_write(const struct tune_field *fields, const void *structure, struct buf *out) {
    bool before = true;
    for (const struct tune_field *at = fields; at->is != TUNE_FIELD_END; at++) {
        bool told = is_told(at, (const char *)structure + at->offset);
        before = at->when == TUNE_FIELD_KEPT || (at->when == TUNE_FIELD_BESIDE ? before : told);
        if (before)
            field_write(at, structure, out);
    }
}

static void rows_write(const struct tune_field *fields, const void *structure, struct buf *out) {
    buf_putc(out, '{');
    fields_write(fields, structure, out);
    buf_putc(out, '}');
}

/* "title summary? source": a key with a question mark is left out where it is not known. */
static void form_write(const struct tune_field *fields, const char *keys, const void *structure,
                       struct buf *out) {
    struct str rest = str_of(keys), key;
    while (str_next(&rest, ' ', &key)) {
        bool left = key.at[key.len - 1] == '?';
        key.len -= left;
        const struct tune_field *field = tune_field_find(fields, fields, key);
        if (field && (!left || is_told(field, (const char *)structure + field->offset)))
            field_write(field, structure, out);
    }
}

void tune_event_write(const struct tune_event *event, int lane, struct buf *out) {
    struct tune_rows rows = tune_event_rows(event->is);
    enum tune_event_is of;
    const char *keys = tune_event_form_keys(event->form, &of);
    buf_putc(out, '{');
    if (keys)
        form_write(rows.fields, keys, &event->session, out);
    else
        fields_write(rows.fields, &event->session, out);
    bool own = tune_field_find(rows.fields, rows.fields, str_of("lane")) != NULL;
    if (lane >= 0 && !own)
        buf_printf(out, "%s\"lane\":%d", out->at[out->len - 1] == '{' ? "" : ",", lane);
    buf_putc(out, '}');
}

void tune_part_write(enum tune_part part, const void *structure, struct buf *out) {
    rows_write(tune_part_rows(part).fields, structure, out);
}
