/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign bytes as a pattern and as the text it searches: the first line is the one, the rest the
 * other. Built with -DHONE_LIBFUZZER it is an entry point for libFuzzer; as a program it mutates
 * its own examples for a number of rounds. */
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Searches on from match to match, as lists do. */
static void search(struct pattern *pattern, struct str text) {
    struct pattern_span span = {0};
    for (size_t from = 0; pattern_find(pattern, text, from, &span) == PATTERN_FOUND;) {
        if (span.end < span.start || span.end > text.len)
            HONE_BUG("a match lies outside of the text");
        for (size_t i = 0; i <= pattern_groups(pattern); i++) {
            struct str group = pattern_group(pattern, text, i);
            if (group.at && (group.at < text.at || group.at + group.len > text.at + text.len))
                HONE_BUG("a group lies outside of the text");
        }
        from = span.end > from ? span.end : from + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct str rest = {(const char *)data, size}, line = {0};
    size_t offset = 0;
    struct err err = {0};
    if (!str_next(&rest, '\n', &line))
        return 0;
    const char *unlike = pattern_not_python(line, &offset);
    if (unlike && offset >= line.len)
        HONE_BUG("a difference lies outside of the pattern");
    pattern_is_pythons(line);
    for (unsigned flags = 0; flags < 8; flags++) {
        struct pattern *pattern = pattern_new(line, flags, &offset, &err);
        if (pattern)
            search(pattern, rest);
        else if (offset > line.len || !*err.text)
            HONE_BUG("a pattern was refused without its place");
        pattern_free(pattern);
    }
    return 0;
}

#ifndef HONE_LIBFUZZER

static const char *const examples[] = {
    "(a+)+$|\\bb{2,3}?\naaaaaaaaaaaaaaaaaaaaaaaaaaaaa!",
    "(?P<x>[^]a-f\\d])+?(?<=\xc2\xb5)\\1(?i:k)\nxyz \xc2\xb5 xyzk",
    "^\\s*Latency: ([0-9.e+-]+)$\nLatency: 12.5\n  Latency: 1e3\n",
    "(?|(a)|(b))(?R)?\\K[[:alpha:]]\\x{e9}\nabab\xc3\xa9",
};

static uint64_t next(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* A few bytes changed, and a piece of another example put behind. */
static void mutate(struct buf *text, uint64_t *state) {
    static const char odd[] = "()[]{}|*+?.^$\\-,:=!<>PRKdwsbBxu0123456789\n\0\xff\x80\xc2";
    for (uint64_t i = next(state) % 6; i > 0 && text->len; i--)
        text->at[next(state) % text->len] = odd[next(state) % (sizeof odd - 1)];
    const char *other = examples[next(state) % COUNT_OF(examples)];
    size_t from = next(state) % strlen(other);
    if (next(state) % 2)
        buf_add(text, other + from, next(state) % (strlen(other) - from));
    if (next(state) % 4 == 0 && text->len)
        text->len = next(state) % text->len;
}

int main(int argc, char **argv) {
    long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
    uint64_t state = 1;
    for (long i = 0; i < rounds; i++) {
        struct buf text = {0};
        buf_puts(&text, examples[i % (long)COUNT_OF(examples)]);
        if (i >= (long)COUNT_OF(examples))
            mutate(&text, &state);
        LLVMFuzzerTestOneInput((const uint8_t *)text.at, text.len);
        buf_free(&text);
    }
    printf("%ld patterns\n", rounds);
    return 0;
}
#endif
