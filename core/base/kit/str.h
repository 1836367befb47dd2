/* SPDX-License-Identifier: Apache-2.0 */
/* Text: views that own nothing, and a buffer that grows. */
#ifndef HONE_BASE_STR_H
#define HONE_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/kit/cc.h"

/* A piece of text that somebody else owns. It is not terminated. */
struct str {
    const char *at;
    size_t len;
};

#define STR(literal) ((struct str){"" literal, sizeof(literal) - 1})
#define STR_FMT "%.*s"
#define STR_ARG(s) (int)(s).len, (s).at

static inline struct str str_of(const char *text) {
    return (struct str){text, text ? strlen(text) : 0};
}
bool str_equal(struct str a, struct str b);
bool str_is(struct str a, const char *b);
bool str_starts(struct str text, const char *prefix);
bool str_ends(struct str text, const char *suffix);
struct str str_trim(struct str text); /* without blanks and line ends on both sides */
/* Takes the text up to `separator` off the front of *rest. False when nothing is left. */
bool str_next(struct str *rest, char separator, struct str *part);
/* Reads a number that is the whole text. False when the text is anything else or out of range. */
bool str_to_int(struct str text, long long *value) CC_MUST_USE;
bool str_to_double(struct str text, double *value) CC_MUST_USE;
/* An answer to a question of yes or no: yes or y, no or n, in capitals or not. Anything else, and
 * nothing at all, is unclear, and the question is to be asked again. */
enum str_reply { STR_UNCLEAR, STR_YES, STR_NO };
enum str_reply str_reply(struct str text);
#define STR_REPLIES 3 /* how often to ask after an unclear answer, before it counts as no */
/* The name nearest to `text`, for "did you mean". NULL if none is near. `names` ends with NULL. */
const char *str_nearest(const char *text, const char *const *names);

/* A growing text, which is always terminated once something was added. {0} is the empty one. */
struct buf {
    char *at;
    size_t len, cap;
};
void buf_free(struct buf *buf);
void buf_clear(struct buf *buf);
void buf_add(struct buf *buf, const char *text, size_t len);
void buf_puts(struct buf *buf, const char *text);
void buf_putc(struct buf *buf, char c);
void buf_printf(struct buf *buf, const char *format, ...) CC_PRINTF(2, 3);
void buf_vprintf(struct buf *buf, const char *format, va_list args) CC_PRINTF(2, 0);
/* Returns the text, which the caller frees with free, and empties the buffer. Never NULL. */
char *buf_take(struct buf *buf) CC_MUST_USE;
struct str buf_str(const struct buf *buf);

#endif
