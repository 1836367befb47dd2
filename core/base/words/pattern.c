/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns by PCRE2. They are compiled to machine code where that is possible, and the work of a
 * search is limited. */
#include "base/words/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

#include "base/kit/kit.h"

/* The steps of one search, and what it may remember, in KiB. A harmless search stays far below:
 * looking for a word in a million characters takes one step a character. */
#define MAX_STEPS 400000u
#define MAX_DEPTH 20000u
#define MAX_KIB 8192u
#define STACK_BYTES ((size_t)512 << 10) /* of compiled patterns */
#define FIRST_STACK_BYTES ((size_t)32 << 10)

struct pattern {
    pcre2_general_context *memory;
    pcre2_code *code;
    pcre2_match_context *limits;
    pcre2_match_data *found;
    pcre2_jit_stack *stack;
    bool costly; /* a search was too costly */
};

/* Memory never runs out, as everywhere in hone. MAX_KIB limits searches before that. */
static void *take(size_t size, void *nothing) {
    (void)nothing;
    return mem_alloc(1, size);
}

static void give(void *at, void *nothing) {
    (void)nothing;
    free(at);
}

/* The length of an escape, from its backslash on. \p{Lu}, \x{e9} and \S are one escape each. */
static size_t escape_len(struct str text) {
    size_t len = text.len > 1 ? 2 : text.len;
    const char *close =
        len == 2 && strchr("pPxNgko", text.at[1]) && text.len > 2 && text.at[2] == '{'
            ? memchr(text.at, '}', text.len)
            : NULL;
    return close ? (size_t)(close - text.at) + 1 : len;
}

static bool is_capital(uint32_t code) {
    if (code < 128)
        return code >= 'A' && code <= 'Z';
    return (code >= 0xc0 && code <= 0xde && code != 0xd7) || (code >= 0x391 && code <= 0x3a9) ||
           (code >= 0x400 && code <= 0x42f);
}

/* Whether a pattern has a capital letter that stands for itself; those of \S and \p{Lu} do not.
 * Capitals are those of Latin, Greek and Cyrillic, in any locale. */
static bool has_capital(struct str text) {
    while (text.len) {
        uint32_t code = 0;
        size_t len = *text.at == '\\' ? escape_len(text) : text_decode(text, &code);
        if (is_capital(code))
            return true;
        text = (struct str){text.at + len, text.len - len};
    }
    return false;
}

static uint32_t options_of(struct str text, unsigned flags) {
    uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C;
    if ((flags & PATTERN_ANY_CASE) || ((flags & PATTERN_SMART_CASE) && !has_capital(text)))
        options |= PCRE2_CASELESS;
    if (flags & PATTERN_LINES)
        options |= PCRE2_MULTILINE;
    return options;
}

size_t pattern_place(struct str text, size_t offset) {
    size_t count = 1;
    for (size_t i = 0; i < offset && i < text.len; i++)
        count += ((unsigned char)text.at[i] & 0xc0) != 0x80;
    return count;
}

static pcre2_code *compile(struct str text, unsigned flags, size_t *offset, struct err *err) {
    int number = 0;
    char said[160] = "";
    if (text.len > PATTERN_MAX) {
        *offset = PATTERN_MAX;
        err_set(err, ERR_USAGE, "a pattern may have at most %d bytes", PATTERN_MAX);
        return NULL;
    }
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)(text.len ? text.at : ""), text.len,
                                     options_of(text, flags), &number, offset, NULL);
    if (code)
        return code;
    *offset = *offset < text.len ? *offset : text.len;
    pcre2_get_error_message(number, (PCRE2_UCHAR *)said, sizeof said);
    err_set(err, ERR_USAGE, "at character %zu: %s", pattern_place(text, *offset), said);
    return NULL;
}

static struct pattern *with_limits(pcre2_code *code, unsigned flags) {
    struct pattern *pattern = mem_alloc(1, sizeof *pattern);
    *pattern =
        (struct pattern){.code = code, .memory = pcre2_general_context_create(take, give, NULL)};
    pattern->limits = pcre2_match_context_create(pattern->memory);
    pattern->found = pcre2_match_data_create_from_pattern(code, pattern->memory);
    pcre2_set_match_limit(pattern->limits, MAX_STEPS);
    pcre2_set_depth_limit(pattern->limits, MAX_DEPTH);
    pcre2_set_heap_limit(pattern->limits, MAX_KIB);
    /* Not every processor and system lets a program make machine code. */
    if (!(flags & PATTERN_ONCE) && pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0)
        pattern->stack = pcre2_jit_stack_create(FIRST_STACK_BYTES, STACK_BYTES, pattern->memory);
    if (pattern->stack)
        pcre2_jit_stack_assign(pattern->limits, NULL, pattern->stack);
    return pattern;
}

struct pattern *pattern_new(struct str text, unsigned flags, size_t *offset, struct err *err) {
    size_t ignored;
    pcre2_code *code = compile(text, flags, offset ? offset : &ignored, err);
    return code ? with_limits(code, flags) : NULL;
}

void pattern_free(struct pattern *pattern) {
    if (!pattern)
        return;
    pcre2_jit_stack_free(pattern->stack);
    pcre2_match_data_free(pattern->found);
    pcre2_match_context_free(pattern->limits);
    pcre2_code_free(pattern->code);
    pcre2_general_context_free(pattern->memory);
    free(pattern);
}

size_t pattern_groups(const struct pattern *pattern) {
    uint32_t count = 0;
    pcre2_pattern_info(pattern->code, PCRE2_INFO_CAPTURECOUNT, &count);
    return count;
}

enum pattern_answer pattern_find(struct pattern *pattern, struct str text, size_t from,
                                 struct pattern_span *span) {
    while (from < text.len && ((unsigned char)text.at[from] & 0xc0) == 0x80) /* inside a
                                                                              * character */
        from++;
    if (from > text.len)
        return PATTERN_NONE;
    PCRE2_SPTR at = (PCRE2_SPTR)(text.at ? text.at : "");
    int found = pcre2_match(pattern->code, at, text.len, from, 0, pattern->found, pattern->limits);
    bool costly = found == PCRE2_ERROR_MATCHLIMIT || found == PCRE2_ERROR_DEPTHLIMIT ||
                  found == PCRE2_ERROR_HEAPLIMIT || found == PCRE2_ERROR_JIT_STACKLIMIT;
    pattern->costly |= costly;
    if (found < 0)
        return costly ? PATTERN_COSTLY : PATTERN_NONE;
    const size_t *places = pcre2_get_ovector_pointer(pattern->found);
    *span = (struct pattern_span){places[0], places[1]};
    if (span->end < span->start) /* \K in a lookahead puts the start after the end */
        span->end = span->start;
    return PATTERN_FOUND;
}

bool pattern_is_costly(const struct pattern *pattern) {
    return pattern->costly;
}

bool pattern_matches(struct pattern *pattern, struct str text) {
    struct pattern_span span;
    return pattern_find(pattern, text, 0, &span) == PATTERN_FOUND;
}

struct str pattern_group(const struct pattern *pattern, struct str text, size_t group) {
    const size_t *places = pcre2_get_ovector_pointer(pattern->found);
    if (group >= pcre2_get_ovector_count(pattern->found) || places[2 * group] == PCRE2_UNSET ||
        places[2 * group + 1] > text.len || places[2 * group] > places[2 * group + 1])
        return (struct str){0};
    if (!text.at) /* the text is nothing: it has no address to count from */
        return text;
    return (struct str){text.at + places[2 * group], places[2 * group + 1] - places[2 * group]};
}
