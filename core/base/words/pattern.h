/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions, as people type them into a search and tables hold them: those of PCRE2, over
 * UTF-8. No pattern and no text takes long: work is limited, and a text that would need more of it
 * than that is answered with PATTERN_COSTLY. */
#ifndef HONE_BASE_PATTERN_H
#define HONE_BASE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/kit/kit.h"

enum pattern_flags {
    PATTERN_SMART_CASE = 1, /* letters match in either case unless the pattern has a capital one */
    PATTERN_ANY_CASE = 2,   /* letters match in either case */
    PATTERN_LINES = 4,      /* ^ and $ stand at every line, not at the text's ends alone */
    PATTERN_ONCE = 8,       /* for one search: it is not made for the processor first */
};
#define PATTERN_MAX 4000 /* bytes of a pattern */

/* One pattern. It holds what a search needs, so that two threads need two. */
struct pattern;

/* A piece of a text, in bytes. */
struct pattern_span {
    size_t start, end;
};

enum pattern_answer { PATTERN_NONE, PATTERN_FOUND, PATTERN_COSTLY };

/* Compiles `text`. NULL when it is wrong: *err says at which character and what is wrong there, and
 * *offset, which may be NULL, is that place in bytes. Free with pattern_free. */
struct pattern *pattern_new(struct str text, unsigned flags, size_t *offset,
                            struct err *err) CC_MUST_USE;
void pattern_free(struct pattern *pattern); /* accepts NULL */
/* How many groups it captures. */
size_t pattern_groups(const struct pattern *pattern);

/* The first match that starts at byte `from` of the text or later. The text is any bytes: what is
 * no UTF-8 matches nothing. *span is set when one is found; it may be empty (x* finds "" anywhere).
 */
enum pattern_answer pattern_find(struct pattern *pattern, struct str text, size_t from,
                                 struct pattern_span *span);
/* Whether a search of it was too costly, ever: who searches many texts stops then. */
bool pattern_is_costly(const struct pattern *pattern);
/* Whether it matches anywhere; a text that is too costly does not. */
bool pattern_matches(struct pattern *pattern, struct str text);
/* What a group matched in the text that was searched last; at == NULL where it took no part. */
struct str pattern_group(const struct pattern *pattern, struct str text, size_t group);

/* Which character of the text the byte at `offset` belongs to, from 1. */
size_t pattern_place(struct str text, size_t offset);

/* Why Python's `re` would not take a pattern that PCRE2 takes, or would read it otherwise: a phrase
 * ("\K is not known to Python"), and *offset in bytes. NULL where nothing is known against it. What
 * depends on Python's release (possessive quantifiers, atomic groups) is not looked at. */
const char *pattern_not_python(struct str text, size_t *offset);
/* Whether it has what only Python's `re` knows, so that PCRE2 cannot tell whether it is right. */
bool pattern_is_pythons(struct str text);

#endif
