/* SPDX-License-Identifier: Apache-2.0 */
/* Source in, source out: what the tests of the rewriter share. */
#ifndef HONE_TESTS_TUNE_REWRITE_HELP_H
#define HONE_TESTS_TUNE_REWRITE_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "rewrite/private.h"

#define LEGACY "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n\n\n@nki.jit\n"
#define CURRENT "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n\n@nki.jit\n"

/* Two-dimensional float32 arguments of a kernel, and eps where the test has one. */
struct help_inputs {
    struct nki_input at[6];
    size_t n;
};

static inline void help_array(struct help_inputs *inputs, int64_t rows, int64_t columns) {
    struct nki_input *input = &inputs->at[inputs->n++];
    *input = (struct nki_input){.kind = NKI_INPUT_ARRAY};
    input->array.dtype = DTYPE_FLOAT32;
    input->array.ndim = 2;
    input->array.shape[0] = rows;
    input->array.shape[1] = columns;
}

static inline struct rewrite_request help_request(const char *source,
                                                  const struct help_inputs *inputs) {
    return (struct rewrite_request){.path = "kernel.py",
                                    .source = str_of(source),
                                    .generation = NKI_GEN3,
                                    .inputs = inputs->at,
                                    .n_inputs = inputs->n};
}

/* The source after the edit with this key. */
static inline void help_expect(const char *source, const struct help_inputs *inputs,
                               const char *key, const char *expected) {
    struct rewrite_request request = help_request(source, inputs);
    struct buf out = {0};
    struct err err = {0};
    if (!rewrite_apply(&request, key, &out, &err))
        fail_msg("%s: %s", key, err.text);
    assert_string_equal(out.at, expected);
    buf_free(&out);
}

/* There is no site whose key begins with `key`, and the reason holds `reason`. */
static inline void help_declines(const char *source, const struct help_inputs *inputs,
                                 const char *key, const char *reason) {
    struct rewrite_request request = help_request(source, inputs);
    struct err err = {0};
    struct rewrite_model *model = rewrite_model_new(&request, &err);
    assert_non_null(model);
    rewrite_find_all(model);
    for (size_t i = 0; i < model->sites.len; i++)
        if (strncmp(model->sites.at[i].key, key, strlen(key)) == 0)
            fail_msg("%s was offered", model->sites.at[i].key);
    bool found = !*reason;
    for (size_t i = 0; i < model->declined.len && !found; i++)
        found = strstr(model->declined.at[i].reason, reason) != NULL;
    if (!found)
        fail_msg("nothing was declined because \"%s\"", reason);
    rewrite_model_free(model);
}

#endif
