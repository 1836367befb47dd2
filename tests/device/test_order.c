/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler of the current dialect moves instructions ahead of others that they do not depend
 * on, and what it may not move: what stands in nl.no_reorder(), registers, meetings of cores. */
#include "device/metric.h"
#include "device/time/testing.h"

#include "build.h"

#include <stdio.h>

#define HEAD                                                                      \
    "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n@nki.jit\n"   \
    "def kernel(a, i):\n"                                                         \
    "    out = nl.ndarray((1024, 512), dtype=nl.float32, buffer=nl.shared_hbm)\n" \
    "    def tile(dtype=nl.float32, columns=512):\n"                              \
    "        return nl.ndarray((128, columns), dtype=dtype, buffer=nl.sbuf)\n"

/* Eight rows of tiles, each by Scalar, Vector and Scalar again. In program order Scalar waits for
 * Vector in each row before it begins the next one. */
#define ROWS(indent)                                                                  \
    indent "for k in range(8):\n" indent                                              \
           "    x, y, z, w = tile(), tile(), tile(), tile()\n" indent                 \
           "    nisa.dma_copy(dst=x, src=a[k * 128:(k + 1) * 128, :])\n" indent       \
           "    nisa.activation(dst=y, op=nl.exp, data=x)\n" indent                   \
           "    nisa.tensor_tensor(dst=z, data1=y, data2=y, op=nl.multiply)\n" indent \
           "    nisa.activation(dst=w, op=nl.exp, data=z)\n" indent                   \
           "    nisa.dma_copy(dst=out[k * 128:(k + 1) * 128, :], src=w)\n"
static const char rows[] = HEAD ROWS("    ") "    return out\n";
static const char kept[] = HEAD "    with nl.no_reorder():\n" ROWS("        ") "    return out\n";

/* Loads one after the other, which are issued without waiting until the one before moves. */
#define LOADS(indent)                                                              \
    indent "t = [tile() for k in range(8)]\n" indent "for k in range(8):\n" indent \
           "    nisa.dma_copy(dst=t[k], src=a[k * 128:(k + 1) * 128, :])\n" indent \
           "for k in range(8):\n" indent                                           \
           "    nisa.dma_copy(dst=out[k * 128:(k + 1) * 128, :], src=t[k])\n"
static const char loads[] = HEAD LOADS("    ") "    return out\n";
static const char kept_loads[] =
    HEAD "    with nl.no_reorder():\n" LOADS("        ") "    return out\n";

/* Scalar waits for what a register decides, with work behind it that waits for nothing. */
static const char by_register[] =
    HEAD "    n, x, w, y, z = tile(nl.int32, 1), tile(), tile(), tile(), tile()\n"
         "    nisa.dma_copy(dst=n, src=i)\n"
         "    nisa.dma_copy(dst=x, src=a[0:128, :])\n"
         "    nisa.memset(dst=w, value=1.0)\n"
         "    r = nisa.register_alloc()\n"
         "    nisa.register_load(r, n[0:1, 0:1])\n"
         "    def body(k):\n"
         "        nisa.activation(dst=y, op=nl.exp, data=x)\n"
         "    nl.fori_loop(0, r, body)\n"
         "    nisa.activation(dst=z, op=nl.exp, data=w)\n"
         "    nisa.dma_copy(dst=out[0:128, :], src=y)\n"
         "    nisa.dma_copy(dst=out[128:256, :], src=z)\n"
         "    return out\n";

/* Two cores exchange two tiles. What core 0 makes late of the first, core 1 makes late of the
 * second. */
static const char meetings[] =
    HEAD "    me = nl.program_id(0)\n"
         "    s = nl.ndarray((1024, 512), dtype=nl.float32, buffer=nl.shared_hbm, name='s')\n"
         "    first, second, one, two = tile(), tile(), tile(), tile()\n"
         "    for t, late in ((first, me == 0), (second, me == 1)):\n"
         "        nisa.dma_copy(dst=t, src=a[me * 128:me * 128 + 128, :])\n"
         "        for k in range(20 if late else 1):\n"
         "            nisa.activation(dst=t, op=nl.exp, data=t)\n"
         "    for k, t, u in ((0, first, one), (1, second, two)):\n"
         "        nisa.sendrecv(src=t, dst=u, send_to_rank=1 - me, recv_from_rank=1 - me, "
         "pipe_id=k)\n"
         "    nisa.dma_copy(dst=out[me * 256:me * 256 + 128, :], src=one)\n"
         "    nisa.dma_copy(dst=out[me * 256 + 128:me * 256 + 256, :], src=two)\n"
         "    return out\n";

struct timed {
    struct diag_list diags;
    struct nki_tree *tree;
    struct nki_program *program;
    struct device_image *image;
    struct device_profile *profile;
};

static struct timed time_text(const char *text, int cores, const char *without) {
    const struct device_generation *generation = device_generation_find("trn2");
    struct nki_input inputs[2] = {
        {.array = {.dtype = DTYPE_FLOAT32, .ndim = 2, .shape = {1024, 512}}},
        {.array = {.dtype = DTYPE_INT32, .ndim = 2, .shape = {128, 1}}}};
    struct nki_specialise_options options = {
        .generation = generation->generation, .inputs = inputs, .n_inputs = 2, .grid = {cores}};
    struct timed t = {0};
    t.tree = nki_parse("kernel.py", str_of(text), &t.diags);
    t.program = nki_specialise(t.tree, &options, &t.diags);
    t.image = t.program ? device_load(t.program, generation, &t.diags) : NULL;
    if (!t.image)
        fail_msg("%s", t.diags.all.len ? t.diags.all.at[t.diags.all.len - 1].message : "no image");
    t.profile = device_time_without(t.image, NULL, without ? device_pass_find(without) : 0);
    return t;
}

static void timed_free(struct timed *t) {
    device_profile_free(t->profile);
    device_unload(t->image);
    nki_program_free(t->program);
    nki_tree_free(t->tree);
    diag_free(&t->diags);
}

static double us(const char *text, int cores, const char *without) {
    struct timed t = time_text(text, cores, without);
    double value = profile_metric(t.profile, "total_time", -1) * 1e6;
    timed_free(&t);
    return value;
}

static void independent_rows_run_side_by_side(void **state) {
    (void)state;
    assert_true(us(rows, 0, NULL) < 0.9 * us(rows, 0, "reorders"));
}

static void nothing_passes_in_no_reorder(void **state) {
    (void)state;
    assert_float_equal(us(kept, 0, NULL), us(rows, 0, "reorders"), 1e-9);
    assert_float_equal(us(kept_loads, 0, NULL), us(loads, 0, "reorders"), 1e-9);
}

/* When the instruction of this line starts for the last time. */
static double start_of(const struct timed *t, uint32_t line) {
    double start = -1;
    for (size_t k = 0; k < t->profile->spans.len; k++) {
        const struct device_span *span = &t->profile->spans.at[k];
        uint32_t loc = t->program->instrs.at[span->instr].loc;
        if (t->program->locs.at[loc].line == line)
            start = fmax(start, span->start_ns);
    }
    assert_true(start >= 0);
    return start;
}

static void nothing_passes_a_loop_on_the_device(void **state) {
    (void)state;
    struct timed t = time_text(by_register, 0, NULL);
    assert_true(start_of(&t, 18) > start_of(&t, 16));
    timed_free(&t);
}

/* Each core holds its exchanges in one order, so neither waits for ever. */
static void cores_meet_in_one_order(void **state) {
    (void)state;
    double late = us(meetings, 2, NULL);
    double in_order = us(meetings, 2, "reorders");
    assert_true(late > 0.5 * in_order && late < 1.1 * in_order);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(independent_rows_run_side_by_side),
        cmocka_unit_test(nothing_passes_in_no_reorder),
        cmocka_unit_test(nothing_passes_a_loop_on_the_device),
        cmocka_unit_test(cores_meet_in_one_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
