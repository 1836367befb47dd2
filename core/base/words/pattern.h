/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions, as people type them into a search and as tables hold them: those of PCRE2,
 * over UTF-8. No pattern and no text takes long, because work is limited. A text that would need
 * more is answered with PATTERN_COSTLY. */
#ifndef HONE_BASE_PATTERN_H
#define HONE_BASE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/kit/kit.h"

enum pattern_flags {
    PATTERN_SMART_CASE = 1, /* letters match in either case unless the pattern has a capital one */
    PATTERN_ANY_CASE = 2,   /* letters match in either case */
    PATTERN_LINES = 4,      /* ^ and $ match at every line, not only at the ends of the text */
    PATTERN_ONCE = 8,       /* for a single search: no machine code is made first */
};
#define PATTERN_MAX 4000 /* bytes of a pattern */

/* One pattern. It holds what a search needs, so two threads need a pattern each. */
struct pattern;

/* A piece of a text, in bytes. */
struct pattern_span {
    size_t start, end;
};

enum pattern_answer { PATTERN_NONE, PATTERN_FOUND, PATTERN_COSTLY };

/* Compiles `text`. When it is wrong, NULL: *err names the character and what is wrong there, and
 * *offset (may be NULL) is its place in bytes. Free with pattern_free. */
struct pattern *pattern_new(struct str text, unsigned flags, size_t *offset,
                            struct err *err) CC_MUST_USE;
void pattern_free(struct pattern *pattern); /* accepts NULL */
/* How many groups it captures. */
size_t pattern_groups(const struct pattern *pattern);

/* Finds the first match that starts at byte `from` or later. The text may be any bytes; what is not
 * UTF-8 matches nothing. Sets *span when there is a match, which may be empty (x* finds ""
 * anywhere). */
enum pattern_answer pattern_find(struct pattern *pattern, struct str text, size_t from,
                                 struct pattern_span *span);
/* Whether a search with it was ever too costly. Then a caller with many texts should stop. */
bool pattern_is_costly(const struct pattern *pattern);
/* Whether it matches anywhere. A text that is too costly does not match. */
bool pattern_matches(struct pattern *pattern, struct str text);
/* What a group matched in the text that was searched last; at == NULL where it took no part. */
struct str pattern_group(const struct pattern *pattern, struct str text, size_t group);

/* The number, from 1, of the character that the byte at `offset` belongs to. */
size_t pattern_place(struct str text, size_t offset);

/* Why Python's `re` would refuse a pattern that PCRE2 takes, or would read it in another way: a
 * phrase ("\K is not known to Python"), with its place in bytes in *offset. NULL where nothing is
 * known against it. What depends on Python's release (possessive quantifiers, atomic groups) is not
 * checked. */
const char *pattern_not_python(struct str text, size_t *offset);
/* Whether it has something that only Python's `re` knows, so that PCRE2 cannot say whether it is
 * right. */
bool pattern_is_pythons(struct str text);

#endif
