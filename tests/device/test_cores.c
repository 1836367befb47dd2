/* SPDX-License-Identifier: Apache-2.0 */
/* Launches on two cores: work that is divided takes about half as long where engines bind, and more
 * than that where HBM does; cores that do not meet in HBM take what each takes alone; and what is
 * not modelled is refused. */
#include "build.h"

#define HEAD                                                          \
    "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n" \
    "@nki.jit\n"                                                      \
    "def kernel(x):\n"                                                \
    "    me, all = nl.program_id(0), nl.num_programs(0)\n"

/* Each core multiplies its share of 256 tiles. */
#define PRODUCTS                                                                    \
    HEAD "    y = nl.ndarray((256, 512), dtype=nl.float32, buffer=nl.shared_hbm)\n" \
         "    w = nl.ndarray((128, 512), dtype=nl.bfloat16, buffer=nl.sbuf)\n"      \
         "    nisa.dma_copy(dst=w, src=x[0:128, 0:512])\n"                          \
         "    acc = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)\n"     \
         "    for i in range(512 // all):\n"                                        \
         "        nisa.nc_matmul(dst=acc, stationary=w[0:128, 0:128], moving=w)\n"  \
         "    out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)\n"     \
         "    nisa.tensor_copy(dst=out, src=acc, engine=nisa.engine.vector)\n"      \
         "    nisa.dma_copy(dst=y[me * 128:me * 128 + 128, 0:512], src=out)\n"      \
         "    return y\n"

/* Each core copies its share of x. */
#define COPIES                                                                         \
    HEAD "    y = nl.ndarray((2048, 4096), dtype=nl.bfloat16, buffer=nl.shared_hbm)\n" \
         "    for i in range(me * 16 // all, (me + 1) * 16 // all):\n"                 \
         "        t = nl.ndarray((128, 4096), dtype=nl.bfloat16, buffer=nl.sbuf)\n"    \
         "        nisa.dma_copy(dst=t, src=x[i * 128:i * 128 + 128, 0:4096])\n"        \
         "        nisa.dma_copy(dst=y[i * 128:i * 128 + 128, 0:4096], src=t)\n"        \
         "    return y\n"

struct launch {
    struct nki_tree *tree;
    struct diag_list diags;
    struct device_kernel kernel;
};

static struct launch launch(const char *text, enum nki_generation generation, int cores) {
    struct launch l = {0};
    struct nki_input input = {.kind = NKI_INPUT_ARRAY,
                              .array = {.dtype = DTYPE_BFLOAT16, .ndim = 2, .shape = {2048, 4096}}};
    struct nki_specialise_options options = {
        .generation = generation, .inputs = &input, .n_inputs = 1, .grid = {cores}};
    l.tree = nki_parse("kernel.py", str_of(text), &l.diags);
    (void)device_kernel_time(l.tree, &options, NULL, &l.diags, &l.kernel);
    return l;
}

static void launch_free(struct launch *l) {
    device_kernel_free(&l->kernel);
    nki_tree_free(l->tree);
    diag_free(&l->diags);
}

static struct launch launch_good(const char *text, int cores) {
    struct launch l = launch(text, NKI_GEN3, cores);
    for (size_t i = 0; i < l.diags.all.len && !l.kernel.profile; i++)
        print_error("%s\n", l.diags.all.at[i].message);
    assert_non_null(l.kernel.profile);
    return l;
}

static double time_of(const char *text, int cores) {
    struct launch l = launch_good(text, cores);
    double us = l.kernel.profile->latency_us;
    launch_free(&l);
    return us;
}

static void test_divided(void **state) {
    (void)state;
    double products = time_of(PRODUCTS, 2) / time_of(PRODUCTS, 1);
    double copies = time_of(COPIES, 2) / time_of(COPIES, 1);
    assert_true(products >= 0.5 && products <= 0.6);
    assert_true(copies > products && copies < 1);
}

/* Both cores do all of the work, and write little. */
#define TWICE                                                                        \
    HEAD "    y = nl.ndarray((256, 512), dtype=nl.bfloat16, buffer=nl.shared_hbm)\n" \
         "    t = nl.ndarray((128, 512), dtype=nl.bfloat16, buffer=nl.sbuf)\n"       \
         "    nisa.dma_copy(dst=t, src=x[0:128, 0:512])\n"                           \
         "    for i in range(100):\n"                                                \
         "        nisa.tensor_copy(dst=t, src=t, engine=nisa.engine.vector)\n"       \
         "    nisa.dma_copy(dst=y[me * 128:me * 128 + 128, 0:512], src=t)\n"         \
         "    return y\n"

/* Such cores take as long as one. */
static void test_alone(void **state) {
    (void)state;
    assert_float_equal(time_of(TWICE, 2), time_of(TWICE, 1), 1e-9);
}

/* And what limits one limits them: no queue takes over what another one saves. */
static void test_bounds(void **state) {
    (void)state;
    struct launch one = launch_good(TWICE, 1), two = launch_good(TWICE, 2);
    const struct device_profile *single = one.kernel.profile, *both = two.kernel.profile;
    assert_int_equal(both->bounds.len, single->bounds.len);
    assert_true(single->bounds.len > 1);
    for (size_t i = 0; i < single->bounds.len; i++) {
        assert_string_equal(both->bounds.at[i].name, single->bounds.at[i].name);
        assert_float_equal(both->bounds.at[i].without_ns, single->bounds.at[i].without_ns, 1e-6);
    }
    assert_string_equal(both->bound, single->bound);
    launch_free(&one);
    launch_free(&two);
}

/* Queues and work of both; no bytes lost; no faster than HBM and the arrays of both allow. */
static void test_profile(void **state) {
    (void)state;
    struct launch one = launch_good(COPIES, 1), two = launch_good(COPIES, 2);
    const struct device_profile *single = one.kernel.profile, *both = two.kernel.profile;
    assert_int_equal(both->cores, 2);
    assert_int_equal(both->queues.len, 2 * single->queues.len);
    assert_string_equal(both->queues.at[0].name, "0 Tensor");
    assert_int_equal(both->spans.len, single->spans.len);
    uint64_t bytes[2] = {0};
    for (size_t i = 0; i < single->lines.len; i++)
        bytes[0] += single->lines.at[i].hbm_bytes;
    for (size_t i = 0; i < both->lines.len; i++)
        bytes[1] += both->lines.at[i].hbm_bytes;
    assert_int_equal(bytes[0], bytes[1]);
    const struct device_generation *generation = device_generation_of(NKI_GEN3);
    double least = (double)bytes[1] / device_memory_bytes_per_ns_on(generation, 2) / 1e3;
    assert_true(both->latency_us > least);
    assert_float_equal(both->floor_us, least, 1e-6);
    for (size_t i = 0; i < both->spans.len; i++)
        assert_int_equal(both->spans.at[i].queue / single->queues.len,
                         two.kernel.program->instrs.at[both->spans.at[i].instr].core);
    assert_float_equal(device_time_latency(two.kernel.image, NULL), both->latency_us, 1e-9);
    launch_free(&one);
    launch_free(&two);
}

static void refused(const char *text, enum nki_generation generation, int cores, const char *why) {
    struct launch l = launch(text, generation, cores);
    bool told = false;
    for (size_t i = 0; i < l.diags.all.len; i++)
        told = told || strstr(l.diags.all.at[i].message, why) != NULL;
    for (size_t i = 0; i < l.diags.all.len && !told; i++)
        print_error("%s\n", l.diags.all.at[i].message);
    assert_null(l.kernel.profile);
    assert_true(told);
    launch_free(&l);
}

static void test_refused(void **state) {
    (void)state;
    refused(COPIES, NKI_GEN2, 2, "a logical core has 1 here");
    refused(COPIES, NKI_GEN3, 8, "a logical core has 2 here");
    refused(HEAD "    y = nl.ndarray((128, 512), dtype=nl.bfloat16, buffer=nl.shared_hbm)\n"
                 "    t = nl.ndarray((128, 512), dtype=nl.bfloat16, buffer=nl.sbuf)\n"
                 "    nisa.dma_copy(dst=t, src=x[0:128, 0:512])\n"
                 "    nisa.dma_copy(dst=y[0:128 - me, 0:512], src=t[0:128 - me, 0:512])\n"
                 "    return y\n",
            NKI_GEN3, 2, "core 1 writes `y[0, 0]`");
    refused(HEAD "    y = nl.ndarray((256, 512), dtype=nl.bfloat16, buffer=nl.shared_hbm)\n"
                 "    t = nl.ndarray((128, 512), dtype=nl.bfloat16, buffer=nl.sbuf)\n"
                 "    nisa.dma_copy(dst=t, src=x[0:128, 0:512])\n"
                 "    nisa.dma_copy(dst=y[me * 128:me * 128 + 128, 0:512], src=t)\n"
                 "    nisa.dma_copy(dst=t, src=y[128 - me * 128:256 - me * 128, 0:512])\n"
                 "    return y\n",
            NKI_GEN3, 2, "nothing orders the two");
}

/* What one core leaves undone names it. */
static void test_idle(void **state) {
    (void)state;
    for (int idle = 0; idle < 2; idle++) {
        struct buf text = {0}, why = {0};
        buf_printf(&text,
                   HEAD "    y = nl.ndarray((256, 512), dtype=nl.bfloat16, buffer=nl.shared_hbm)\n"
                        "    t = nl.ndarray((128, 512), dtype=nl.bfloat16, buffer=nl.sbuf)\n"
                        "    nisa.dma_copy(dst=t, src=x[0:128, 0:512])\n"
                        "    if me != %d:\n"
                        "        nisa.dma_copy(dst=y[0:128, 0:512], src=t)\n"
                        "    return y\n",
                   idle);
        buf_printf(&why, "never written, by core %d", idle);
        refused(text.at, NKI_GEN3, 2, why.at);
        buf_free(&text);
        buf_free(&why);
    }
}

/* Columns of the same rows are different elements, though the ranges of bytes overlap. */
static void test_columns(void **state) {
    (void)state;
    double us =
        time_of(HEAD "    y = nl.ndarray((128, 512), dtype=nl.bfloat16, buffer=nl.shared_hbm)\n"
                     "    t = nl.ndarray((128, 256), dtype=nl.bfloat16, buffer=nl.sbuf)\n"
                     "    nisa.dma_copy(dst=t, src=x[0:128, 0:256])\n"
                     "    nisa.dma_copy(dst=y[0:128, me * 256:me * 256 + 256], src=t)\n"
                     "    return y\n",
                2);
    assert_true(us > 0);
}

/* A launch in the kernel's own file. */
static void test_launched_inside(void **state) {
    (void)state;
    static const char text[] = COPIES "@nki.jit\ndef outer(x):\n    return kernel[2](x)\n";
    struct diag_list diags = {0};
    struct nki_tree *tree = nki_parse("kernel.py", str_of(text), &diags);
    struct nki_input input = {.kind = NKI_INPUT_ARRAY,
                              .array = {.dtype = DTYPE_BFLOAT16, .ndim = 2, .shape = {2048, 4096}}};
    struct nki_specialise_options options = {
        .function = "outer", .generation = NKI_GEN3, .inputs = &input, .n_inputs = 1};
    struct device_kernel kernel;
    assert_true(device_kernel_time(tree, &options, NULL, &diags, &kernel));
    assert_float_equal(kernel.profile->latency_us, time_of(COPIES, 2), 1e-9);
    device_kernel_free(&kernel);
    nki_tree_free(tree);
    diag_free(&diags);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_divided),         cmocka_unit_test(test_alone),
        cmocka_unit_test(test_bounds),          cmocka_unit_test(test_profile),
        cmocka_unit_test(test_refused),         cmocka_unit_test(test_columns),
        cmocka_unit_test(test_launched_inside), cmocka_unit_test(test_idle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
