/* SPDX-License-Identifier: Apache-2.0 */
/* Rewrites keep the numbers. Every edit that the menu offers for the seeds, and edits of the
 * results, are run on the device model on small inputs, and compared with the kernel they came
 * from. */
#include "rewrite_help.h"

#include <math.h>

#include "device/device.h"

#define MAX_OUTPUT (1 << 20)

struct run {
    float *at; /* NULL: the model does not take the source */
    int64_t len;
    struct nki_facts facts; /* of its program */
};

static void fill(struct help_inputs *inputs) {
    uint32_t seed = 1;
    for (size_t i = 0; i < inputs->n; i++) {
        struct array *array = &inputs->at[i].array;
        if (inputs->at[i].kind != NKI_INPUT_ARRAY)
            continue;
        int64_t count = array_count(array);
        float *values = mem_alloc((size_t)count, sizeof *values);
        for (int64_t k = 0; k < count; k++) {
            seed = seed * 1664525u + 1013904223u;
            values[k] = (float)(int32_t)seed / 2147483648.0f * 2;
        }
        array->data = mem_alloc((size_t)count, dtype_bytes(array->dtype));
        device_from_float(array->dtype, values, array->data, (size_t)count);
        mem_free_(values);
    }
}

static void empty(struct help_inputs *inputs) {
    for (size_t i = 0; i < inputs->n; i++)
        if (inputs->at[i].kind == NKI_INPUT_ARRAY)
            mem_free_(inputs->at[i].array.data);
}

static struct run execute(struct str source, const struct help_inputs *inputs) {
    struct run run = {.at = NULL};
    struct diag_list diags = {0};
    struct nki_tree *tree = nki_parse("kernel.py", source, &diags);
    struct nki_specialise_options options = {
        .generation = NKI_GEN3, .inputs = inputs->at, .n_inputs = inputs->n};
    struct nki_program *program = nki_specialise(tree, &options, &diags);
    struct device_image *image =
        program ? device_load(program, device_generation_find("trn2"), &diags) : NULL;
    struct array arrays[6], out = {0};
    size_t n = 0;
    for (size_t i = 0; i < inputs->n; i++)
        if (inputs->at[i].kind == NKI_INPUT_ARRAY)
            arrays[n++] = inputs->at[i].array;
    struct err err = {0};
    struct device_limits limits = {0};
    if (image && device_execute(image, arrays, n, &out, &limits, &err)) {
        run.len = array_count(&out);
        run.at = mem_alloc((size_t)run.len, sizeof *run.at);
        device_to_float(out.dtype, out.data, run.at, (size_t)run.len);
        mem_free_(out.data);
    }
    if (program)
        nki_facts_find(program, &run.facts);
    device_unload(image);
    nki_program_free(program);
    nki_tree_free(tree);
    diag_free(&diags);
    return run;
}

static double distance(const struct run *a, const struct run *b) {
    double difference = 0, norm = 0;
    if (a->len != b->len)
        return INFINITY;
    for (int64_t i = 0; i < a->len; i++) {
        difference += pow((double)a->at[i] - (double)b->at[i], 2);
        norm += pow((double)a->at[i], 2);
    }
    return sqrt(difference / norm);
}

/* The loop's checks of a candidate before it is run have nothing to say about an edit. */
static void inspect(const struct rewrite_request *request, struct str source, const struct run *run,
                    const struct run *expected) {
    struct diag_list diags = {0};
    struct nki_tree *original = nki_parse("kernel.py", request->source, &diags);
    struct nki_tree *tree = nki_parse("kernel.py", source, &diags);
    struct nki_candidate_options options = {.original = original};
    nki_lint_candidate(tree, &options, &diags);
    nki_facts_compare(&run->facts, &expected->facts, NKI_PRECISION_KEEP, "kernel.py", &diags);
    if (diags.errors)
        fail_msg("%s [%s]\n" STR_FMT, diags.all.at[0].message, diags.all.at[0].code,
                 STR_ARG(source));
    nki_tree_free(tree);
    nki_tree_free(original);
    diag_free(&diags);
}

/* Compares the edit's result with the kernel's own. False when the model refuses what came out. */
static bool compare(const struct rewrite_request *request, const char *key,
                    const struct help_inputs *inputs, const struct run *expected) {
    struct buf out = {0};
    if (!rewrite_apply(request, key, &out, NULL)) {
        buf_free(&out);
        return false;
    }
    struct run run = execute(buf_str(&out), inputs);
    if (run.at) {
        double far = distance(expected, &run);
        if (!(far < 1e-5))
            fail_msg("%s: relative L2 %g\n%s", key, far, out.at);
        inspect(request, buf_str(&out), &run, expected);
    }
    bool ran = run.at != NULL;
    mem_free_(run.at);
    buf_free(&out);
    return ran;
}

static size_t compare_all(const struct rewrite_request *request, const struct help_inputs *inputs,
                          const struct run *expected, int depth) {
    struct rewrite_model *model = rewrite_model_new(request, NULL);
    assert_non_null(model);
    rewrite_find_all(model);
    size_t ran = 0;
    for (size_t i = 0; i < model->sites.len; i++) {
        const char *key = model->sites.at[i].key;
        if (depth && i % 3 != (size_t)depth % 3)
            continue; /* a third of the edits of edits */
        ran += compare(request, key, inputs, expected);
        struct buf out = {0};
        if (depth < 1 && rewrite_apply(request, key, &out, NULL)) {
            struct rewrite_request next = *request;
            next.source = buf_str(&out);
            ran += compare_all(&next, inputs, expected, depth + 1);
        }
        buf_free(&out);
    }
    rewrite_model_free(model);
    return ran;
}

static void keeps_its_numbers(const char *text, struct help_inputs *inputs, size_t least) {
    fill(inputs);
    struct run expected = execute(str_of(text), inputs);
    assert_non_null(expected.at);
    struct rewrite_request request = help_request(text, inputs);
    assert_true(compare_all(&request, inputs, &expected, 0) > least);
    mem_free_(expected.at);
    empty(inputs);
}

static void seed_keeps_its_numbers(const char *seed, struct help_inputs *inputs) {
    struct buf path = {0};
    buf_printf(&path, "%s/seeds/%s/kernel.py", HONE_SOURCE_DIR, seed);
    struct err err = {0};
    size_t size;
    char *text = file_read(path.at, MAX_OUTPUT, &size, &err);
    if (!text)
        fail_msg("%s", err.text);
    keeps_its_numbers(text, inputs, 10);
    free(text);
    buf_free(&path);
}

static void silu(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_array(&inputs, 256, 1024);
    seed_keeps_its_numbers("silu", &inputs);
}

static void softmax(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_array(&inputs, 256, 1024);
    seed_keeps_its_numbers("softmax", &inputs);
}

static void matmul(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_array(&inputs, 256, 512);
    help_array(&inputs, 256, 512);
    inputs.at[0].array.dtype = inputs.at[1].array.dtype = DTYPE_BFLOAT16;
    seed_keeps_its_numbers("matmul", &inputs);
}

static void add_rmsnorm_matmul(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_array(&inputs, 256, 256);
    help_array(&inputs, 256, 256);
    help_array(&inputs, 256, 1);
    inputs.at[2].array.ndim = 1;
    help_array(&inputs, 256, 512);
    inputs.at[inputs.n++] = (struct nki_input){.kind = NKI_INPUT_FLOAT, .f = 1e-5};
    seed_keeps_its_numbers("add_rmsnorm_matmul", &inputs);
}

/* Loops as hone's own kernels have them: in steps of a tile. */
static void strided(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_array(&inputs, 256, 384);
    help_array(&inputs, 256, 1024);
    keeps_its_numbers(CURRENT
                      "def kernel(a, b):\n"
                      "    K = 256\n"
                      "    T = 128\n"
                      "    y = nl.ndarray((384, 1024), dtype=nl.float32, buffer=nl.shared_hbm)\n"
                      "    for m in range(0, 384, 128):\n"
                      "        for n in range(0, 1024, 512):\n"
                      "            acc = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)\n"
                      "            for k in range(0, K, T):\n"
                      "                at = nl.ndarray((T, 128), dtype=a.dtype, buffer=nl.sbuf)\n"
                      "                nisa.dma_copy(dst=at, src=a[k:k + T, m:m + 128])\n"
                      "                bt = nl.ndarray((T, 512), dtype=b.dtype, buffer=nl.sbuf)\n"
                      "                nisa.dma_copy(dst=bt, src=b[k:k + T, n:n + 512])\n"
                      "                nisa.nc_matmul(dst=acc, stationary=at, moving=bt)\n"
                      "            out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)\n"
                      "            nisa.tensor_copy(dst=out, src=acc)\n"
                      "            nisa.dma_copy(dst=y[m:m + 128, n:n + 512], src=out)\n"
                      "    return y\n",
                      &inputs, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strided),
        cmocka_unit_test(silu),
        cmocka_unit_test(softmax),
        cmocka_unit_test(matmul),
        cmocka_unit_test(add_rmsnorm_matmul),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
