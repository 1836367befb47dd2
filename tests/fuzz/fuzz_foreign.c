/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign bytes as other agents' histories, in every format. */
#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "tune/foreign/foreign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"a/experiments.jsonl", "a/rewrites.json",
                                        "a/eval-results-iter-1/code_0_result_full.txt"};
    for (size_t n = 0; n < COUNT_OF(names); n++) {
        struct tune_foreign foreign = {0};
        char *copy = mem_dup(data, size + !size); /* its own block, for the sanitiser */
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

static const struct fuzz_target target = {.name = "foreign", FUZZ_TABLE(example, examples)};

int main(int argc, char **argv) {
    return fuzz_main(&target, argc, argv);
}
#endif
