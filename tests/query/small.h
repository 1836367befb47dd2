/* SPDX-License-Identifier: Apache-2.0 */
/* A small profile to ask about: a product of two inputs in tiles, with a transpose and an
 * activation, and a session of three attempts. */
#ifndef TESTS_QUERY_SMALL_H
#define TESTS_QUERY_SMALL_H

#include <stdlib.h>

#include "query/query.h"

static const char small_source[] =
    "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n"
    "@nki.jit\n"
    "def kernel(a, b):\n"
    "    out = nl.ndarray((256, 512), dtype=a.dtype, buffer=nl.shared_hbm)\n"
    "    for m in range(2):\n"
    "        acc = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)\n"
    "        for k in range(4):\n"
    "            at = nl.ndarray((128, 128), dtype=a.dtype, buffer=nl.sbuf)\n"
    "            bt = nl.ndarray((128, 512), dtype=b.dtype, buffer=nl.sbuf)\n"
    "            nisa.dma_copy(dst=at, src=a[k * 128:(k + 1) * 128, m * 128:(m + 1) * 128])\n"
    "            nisa.dma_copy(dst=bt, src=b[k * 128:(k + 1) * 128, 0:512])\n"
    "            nisa.nc_matmul(dst=acc, stationary=at, moving=bt)\n"
    "        res = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.sbuf)\n"
    "        nisa.tensor_copy(dst=res, src=acc)\n"
    "        nisa.dma_copy(dst=out[m * 128:(m + 1) * 128, 0:512], src=res)\n"
    "    return out\n";

struct small {
    struct nki_tree *tree;
    struct nki_program *program;
    struct device_image *image;
    struct device_profile *profile;
    struct device_trace *trace;
    const struct device_generation *generation;
    size_t loads[QUERY_PARTS]; /* how often each part was loaded */
    struct err refuses;        /* kind none: nothing; else what loading fails with */
};

/* On trn2, for inputs of float32. False when it does not compile. */
static inline bool small_make(struct small *small, const char *source) {
    struct diag_list diags = {0};
    struct nki_input inputs[2] = {
        {.kind = NKI_INPUT_ARRAY, .array = {DTYPE_FLOAT32, 2, {512, 256}, NULL}},
        {.kind = NKI_INPUT_ARRAY, .array = {DTYPE_FLOAT32, 2, {512, 512}, NULL}}};
    *small = (struct small){.generation = device_generation_find("trn2")};
    struct nki_specialise_options options = {
        .generation = small->generation->generation, .inputs = inputs, .n_inputs = 2};
    small->tree = nki_parse("kernel.py", str_of(source), &diags);
    small->program = nki_specialise(small->tree, &options, &diags);
    small->image = small->program ? device_load(small->program, small->generation, &diags) : NULL;
    small->profile = small->image ? device_time(small->image) : NULL;
    small->trace = small->profile ? device_trace_make(small->image, NULL) : NULL;
    diag_free(&diags);
    return small->trace;
}

static inline void small_free(struct small *small) {
    device_trace_free(small->trace);
    device_profile_free(small->profile);
    device_unload(small->image);
    if (small->program)
        nki_program_free(small->program);
    nki_tree_free(small->tree);
}

static inline void small_rows(struct query *query) {
    static const char *const attempts[][18] = {
        {"0", "-1", "0", "keep", "", "seed", "", "h0", "p0", "yes", "yes", "yes", NULL, "100.5",
         "10", "1", "1", "30"},
        {"1", "0", "1", "keep", "faster", "rewriter", "a 'plan'", "h1", "p1", "yes", "yes", "yes",
         "yes", "50.25", "10", "2", "1", "31"},
        {"2", "1", "2", "failed", "wrong", "rewriter", "\x1b[31mred\nline", "h2", "p2", "yes", "no",
         NULL, NULL, NULL, NULL, NULL, "1", "32"}};
    static const char *const metrics[][4] = {{"0", "hbm_read_bytes", "1000", "bytes"},
                                             {"1", "hbm_read_bytes", "500", "bytes"}};
    for (size_t i = 0; i < COUNT_OF(attempts); i++)
        (void)query_give_row(query, query_table_find("attempts"), attempts[i]);
    for (size_t i = 0; i < COUNT_OF(metrics); i++)
        (void)query_give_row(query, query_table_find("metrics"), metrics[i]);
}

static inline bool small_load(void *data, struct query *query, enum query_part part,
                              struct err *err) {
    struct small *small = data;
    small->loads[part]++;
    if (small->refuses.kind != ERR_NONE) {
        *err = small->refuses;
        return false;
    }
    if (part == QUERY_SESSION)
        small_rows(query);
    else
        query_give_profile(query,
                           &(struct query_profile){small->program, small->image, small->profile,
                                                   small->trace, small->generation});
    return true;
}

#endif
