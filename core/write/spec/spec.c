/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a schedule: precisions, choices, and their values. */
#include "write/spec/spec.h"

#include <stdio.h>

static const char *const precisions[] = {
    [WRITE_KEEP] = "keep", [WRITE_SPLIT] = "split", [WRITE_ANY] = "any"};

const char *write_precision_word(enum write_precision precision) {
    return precisions[precision];
}

enum write_precision write_precision_of(const char *word) {
    for (size_t i = 0; word && i < COUNT_OF(precisions); i++)
        if (strcmp(precisions[i], word) == 0)
            return (enum write_precision)i;
    return WRITE_KEEP;
}

void write_subject_print(const char *title, struct buf *out) {
    const char *end = strstr(title, ": ");
    buf_add(out, title, end ? (size_t)(end - title) : strlen(title));
}

/* The words stand before the value in parentheses, after a comma or the subject. */
void write_value_print(const char *title, int64_t value, struct buf *out) {
    char number[32];
    snprintf(number, sizeof number, " (%lld)", (long long)value);
    const char *end = strstr(title, number), *begin = strstr(title, ": ");
    if (!end || !begin) {
        buf_printf(out, "%lld", (long long)value);
        return;
    }
    begin += 2;
    for (const char *at = begin; (at = strstr(at, "), ")) && at < end; at += 3)
        begin = at + 3;
    buf_add(out, begin, (size_t)(end - begin));
}
