/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign bytes as a pattern and as the text that it searches: the first line is the pattern, the
 * rest the text. */
#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "base/base.h"

/* Searches from match to match, as lists do. */
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

static const struct fuzz_target target = {.name = "pattern", FUZZ_TABLE(example, examples)};

int main(int argc, char **argv) {
    return fuzz_main(&target, argc, argv);
}
#endif
