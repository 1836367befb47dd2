/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign bytes as other agents' histories, in every format. Built with -DHONE_LIBFUZZER it is an
 * entry point for libFuzzer; as a program it mutates its own examples for a number of rounds. */
#include <stdio.h>
#include <stdlib.h>

#include "tune/exchange/foreign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"a/experiments.jsonl", "a/rewrites.json",
                                        "a/eval-results-iter-1/code_0_result_full.txt"};
    for (size_t n = 0; n < COUNT_OF(names); n++) {
        struct tune_foreign foreign = {0};
        char *copy = mem_dup(data, size + !size); /* its own end, for the sanitiser */
        tune_foreign_text(names[n], (struct str){copy, size}, &foreign);
        if (foreign.about.len != foreign.attempts.len)
            HONE_BUG("an attempt that is about nothing");
        tune_foreign_close(&foreign);
        for (size_t i = 0; i < foreign.complaints.len; i++)
            if (!str_starts(str_of(foreign.complaints.at[i]), names[n]))
                HONE_BUG("a complaint without its file");
        for (size_t i = 0; i < foreign.experiences.len; i++)
            if (foreign.experiences.at[i].is != TUNE_EXPERIENCE_PROPOSED ||
                !foreign.experiences.at[i].source)
                HONE_BUG("an experience that nobody approved, or without a source");
        tune_foreign_free(&foreign);
        free(copy);
    }
    return 0;
}

#ifndef HONE_LIBFUZZER

static const char *const examples[] = {
    "{\"round\": 1, \"status\": \"improved\", \"latency_ms\": Infinity, \"plan\": \"x\"}\n",
    "{\"id\": \"c\", \"op\": \"bmm\", \"passed\": true, \"speedup\": 1.5, \"notes\": \"n\"}\n",
    "{\"round\": 2, \"status\": \"correctness_fail\", \"latency_ms\": 0.0, \"plan\": \"**Fuse "
    "\\u2014 it** a\", "
    "\"error\": \"Traceback\\n  x\\nTypeError: y\"}\n",
    "{\"id\": \"d\", \"op\": \"bmm\", \"candidate\": \"runs/d.py (kept)\", \"parent\": \"c\", "
    "\"passed\": true, "
    "\"verdict\": \"NOT PROMOTED -- no-op (x)\", \"latency_ms\": 2, \"baseline_latency_ms\": 4, "
    "\"lever\": \"D1: split; then more of it\", \"decision\": \"Leave it.\"}\n",
    "[{\"title\": \"**Keep \", \"summary\": \"**Keep `w`**\\nOnce.\\nOriginal "
    "code:\\n```\\na\\n```\\n"
    "Optimized code:\\n```python\\nb\\n```\\n\"}]",
    "[{\"title\": \"t\", \"summary\": \"s\", \"speedup\": 0.5, \"fast_kernel\": \"import nki\"}]",
    "{\"executor_results\": [{\"service_name\": \"rope\", \"plan_0_0\": {\"body\": \"b\", "
    "\"spec_code\": \"do\", \"speedup\": 2}}]}",
    "CodeCandidate(parent=CodeCandidate(parent=None,\nplan=None,\ncode='''a "
    "\\'b\\'''',\nscore=4.0),\n"
    "plan='''p''',\ncode='''c\\n''',\nscore=2.0,\nhw_feedback=['x', (1, {2: 3})],\nstdout=\"y\")",
};

static uint64_t next(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void mutate(struct buf *text, uint64_t *state) {
    static const char odd[] = "[](){}'\"\\,:=\n\0\xff\x1b-eNI0123456789";
    for (uint64_t i = next(state) % 6; i > 0 && text->len; i--)
        text->at[next(state) % text->len] = odd[next(state) % (sizeof odd - 1)];
    const char *other = examples[next(state) % COUNT_OF(examples)];
    size_t from = next(state) % strlen(other);
    if (next(state) % 2)
        buf_add(text, other + from, next(state) % (strlen(other) - from));
    for (uint64_t i = next(state) % 60 ? 0 : 400; i > 0; i--)
        buf_puts(text, next(state) % 2 ? "[" : "CodeCandidate(parent=");
    if (next(state) % 3 == 0 && text->len)
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
    printf("%ld histories\n", rounds);
    return 0;
}
#endif
