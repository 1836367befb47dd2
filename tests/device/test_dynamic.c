/* SPDX-License-Identifier: Apache-2.0 */
/* Loops and registers of the device: rounds follow the inputs at hand, or a number that is told;
 * every round costs a branch and takes over the tiles of the first; other inputs than those that
 * the program was made for are told apart from a wrong kernel. */
#include "build.h"

#define HEAD                                                                    \
    "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n"           \
    "@nki.jit\n"                                                                \
    "def kernel(x, n):\n"                                                       \
    "    y = nl.ndarray((128, 4096), dtype=nl.float32, buffer=nl.shared_hbm)\n" \
    "    acc = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)\n"      \
    "    nisa.memset(dst=acc, value=0.0)\n"                                     \
    "    c = nl.ndarray((1, 4), dtype=nl.int32, buffer=nl.sbuf)\n"              \
    "    nisa.dma_copy(dst=c, src=n[0:1, 0:4])\n"                               \
    "    r = nisa.register_alloc()\n"
#define BODY(indent)                                                               \
    indent "t = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)\n" indent \
           "nisa.dma_copy(dst=t, src=x[0:128, 0:512])\n" indent                    \
           "nisa.tensor_tensor(dst=acc, data1=acc, data2=t, op=nl.add)\n"
#define TAIL                                            \
    "    nisa.dma_copy(dst=y[0:128, 0:512], src=acc)\n" \
    "    return y\n"

#define BY_RANGE                                    \
    HEAD "    nisa.register_load(r, c[0:1, 2:3])\n" \
         "    for i in nl.dynamic_range(0, r):\n" BODY("        ") TAIL

#define SCALAR HEAD "    s = nisa.scalar_load(c[0:1, 2:3])\n"

struct made {
    struct nki_tree *tree;
    struct diag_list diags;
    struct nki_program *program;
    struct device_image *image;
    struct array inputs[2];
};

/* `counts`: four integers of the dtype; NULL: they are not at hand. */
static struct made make_for(const char *release, enum dtype dtype, const char *text,
                            const void *counts) {
    static const int32_t shape[2][2] = {{128, 4096}, {1, 4}};
    struct made m = {0};
    struct nki_input inputs[2] = {0};
    for (int i = 0; i < 2; i++) {
        inputs[i].kind = NKI_INPUT_ARRAY;
        inputs[i].array = (struct array){
            .dtype = i ? dtype : DTYPE_FLOAT32, .ndim = 2, .shape = {shape[i][0], shape[i][1]}};
        m.inputs[i] = inputs[i].array;
        m.inputs[i].data = mem_alloc(array_bytes(&inputs[i].array), 1);
    }
    float *x = m.inputs[0].data;
    for (int i = 0; i < 128 * 4096; i++)
        x[i] = 1;
    if (counts)
        memcpy(m.inputs[1].data, counts, 4 * dtype_bytes(dtype));
    inputs[1].array.data = counts ? m.inputs[1].data : NULL;
    struct nki_specialise_options options = {
        .generation = NKI_GEN3, .release = release, .inputs = inputs, .n_inputs = 2};
    m.tree = nki_parse("kernel.py", str_of(text), &m.diags);
    m.program = nki_specialise(m.tree, &options, &m.diags);
    if (m.program)
        m.image = device_load(m.program, device_generation_of(NKI_GEN3), &m.diags);
    return m;
}

static struct made make(const char *text, const int32_t *counts) {
    return make_for("0.6", DTYPE_INT32, text, counts);
}

static void made_free(struct made *m) {
    device_unload(m->image);
    nki_program_free(m->program);
    nki_tree_free(m->tree);
    diag_free(&m->diags);
    free(m->inputs[0].data);
    free(m->inputs[1].data);
}

static bool tells(const struct made *m, const char *what) {
    for (size_t i = 0; i < m->diags.all.len; i++)
        if (strstr(m->diags.all.at[i].message, what))
            return true;
    for (size_t i = 0; i < m->diags.all.len; i++)
        print_error("%s\n", m->diags.all.at[i].message);
    return false;
}

static double time_of(const char *text, const int32_t *counts) {
    struct made m = make(text, counts);
    assert_true(m.image || tells(&m, "an image"));
    double us = device_time_latency(m.image, NULL);
    made_free(&m);
    return us;
}

/* The first number of what the kernel returns; -1 with *err. */
static float run(struct made *m, struct err *err) {
    struct array output = {0};
    if (!device_execute(m->image, m->inputs, 2, &output, NULL, err))
        return -1;
    float first = *(const float *)output.data;
    free(output.data);
    return first;
}

static float result_of(const char *text, const int32_t *counts) {
    struct made m = make(text, counts);
    struct err err = {0};
    assert_true(m.image || tells(&m, "an image"));
    float first = run(&m, &err);
    if (first < 0)
        print_error("%s\n", err.text);
    made_free(&m);
    return first;
}

static void test_rounds_of_the_input(void **state) {
    (void)state;
    const int32_t five[] = {1, 2, 5, 3}, nine[] = {1, 2, 9, 3}, none[] = {7, 7, 0, 7};
    assert_float_equal(result_of(BY_RANGE, five), 5, 0);
    assert_float_equal(result_of(BY_RANGE, nine), 9, 0);
    assert_float_equal(result_of(BY_RANGE, none), 0, 0);
    double step = (time_of(BY_RANGE, nine) - time_of(BY_RANGE, five)) / 4;
    assert_true(step > 1 && step < 20); /* a load, a sum, a branch */
}

static void test_assumed(void **state) {
    (void)state;
    const int32_t eight[] = {1, 2, 8, 3}, five[] = {1, 2, 5, 3};
    struct made m = make(BY_RANGE, NULL);
    assert_true(tells(&m, "8 is assumed"));
    assert_float_equal(device_time_latency(m.image, NULL), time_of(BY_RANGE, eight), 1e-9);
    memcpy(m.inputs[1].data, five, sizeof five);
    struct err err = {0};
    assert_true(run(&m, &err) < 0);
    assert_int_equal(err.kind, ERR_USAGE);
    assert_non_null(strstr(err.text, "holds 5, not"));
    memcpy(m.inputs[1].data, eight, sizeof eight);
    assert_float_equal(run(&m, &err), 8, 0);
    made_free(&m);
}

/* A body is there once: its rounds share their tiles, and each ends with a branch. */
static void test_one_body(void **state) {
    (void)state;
    static const char unrolled[] = HEAD "    for i in range(16):\n" BODY("        ") TAIL;
    static const char loop[] = HEAD "    for i in nl.dynamic_range(16):\n" BODY("        ") TAIL;
    static const char called[] =
        HEAD "    def body(i):\n" BODY("        ") "    nl.fori_loop(0, 16, body)\n" TAIL;
    const int32_t any[] = {0, 0, 0, 0};
    assert_true(time_of(loop, any) > 1.5 * time_of(unrolled, any));
    assert_float_equal(time_of(loop, any), time_of(called, any), 1e-9);
    assert_float_equal(result_of(loop, any), 16, 0);
    assert_float_equal(result_of(called, any), 16, 0);
}

/* A tile of a body is free behind its last use in each round: 20 tiles of 16 KiB a partition, one
 * after the other, need no more memory in four rounds than in one, and nothing is moved out. */
#define IN_TURN(rounds)                                                                       \
    HEAD "    def body(i):\n"                                                                 \
         "        for j in range(20):\n"                                                      \
         "            t = nl.ndarray((128, 4096), dtype=nl.float32, buffer=nl.sbuf)\n"        \
         "            nisa.activation(dst=t[:, 0:512], op=nl.square, data=acc)\n"             \
         "            nisa.tensor_tensor(dst=acc, data1=acc, data2=t[:, 0:512], op=nl.add)\n" \
         "    nl.fori_loop(0, " rounds ", body)\n" TAIL

static double metric_of(const char *text, const char *name) {
    const int32_t any[] = {0, 0, 0, 0};
    struct made m = make(text, any);
    assert_true(m.image || tells(&m, "an image"));
    struct device_profile *profile = device_time(m.image);
    double value = -1;
    for (size_t i = 0; i < profile->metrics.len; i++)
        if (strcmp(profile->metrics.at[i].name, name) == 0)
            value = profile->metrics.at[i].value;
    device_profile_free(profile);
    made_free(&m);
    return value;
}

static void test_tiles_in_turn(void **state) {
    (void)state;
    double peak = metric_of(IN_TURN("1"), "sbuf_peak_bytes");
    assert_true(peak > 0);
    assert_float_equal(metric_of(IN_TURN("4"), "sbuf_peak_bytes"), peak, 0);
    assert_float_equal(metric_of(IN_TURN("4"), "spill_save_bytes"), 0, 0);
}

/* A `while` whose register the kernel itself sets, and one that loads it in each round. */
static void test_while(void **state) {
    (void)state;
    const int32_t counts[] = {1, 1, 0, 1};
    static const char once[] = HEAD "    nisa.register_move(r, 1)\n    while r:\n" BODY(
        "        ") "        nisa.register_move(r, 0)\n" TAIL;
    static const char called[] =
        HEAD "    nisa.register_load(r, c[0:1, 0:1])\n"
             "    def body(q):\n" BODY(
                 "        ") "        nisa.register_load(q, c[0:1, 2:3])\n        return q\n"
                             "    nl.while_loop(r, body)\n" TAIL;
    assert_float_equal(result_of(once, counts), 1, 0);
    assert_float_equal(result_of(called, counts), 1, 0);
    struct made m = make(HEAD "    nisa.register_move(r, 1)\n    while r:\n" BODY(
                             "        ") "        nisa.register_load(r, c[0:1, 0:1])\n" TAIL,
                         NULL);
    assert_true(tells(&m, "8 is assumed")); /* and it ends */
    assert_non_null(m.image);
    made_free(&m);
}

/* The sums of a product begin anew in each round. */
static void test_accumulators(void **state) {
    (void)state;
    const int32_t any[] = {0, 0, 0, 0};
    assert_float_equal(
        result_of(HEAD "    w = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)\n"
                       "    nisa.dma_copy(dst=w, src=x[0:128, 0:512])\n"
                       "    for i in nl.dynamic_range(3):\n"
                       "        p = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)\n"
                       "        nisa.nc_matmul(dst=p, stationary=w[0:128, 0:128], moving=w)\n"
                       "        nisa.tensor_copy(dst=acc, src=p)\n" TAIL,
                  any),
        128, 0);
}

/* A loop around one on the device is neither folded nor copied. */
static void test_inside_a_loop(void **state) {
    (void)state;
    static const char text[] =
        HEAD "    for k in range(40):\n"
             "        for i in nl.dynamic_range(2):\n" BODY("            ") TAIL;
    const int32_t any[] = {0, 0, 0, 0};
    struct made m = make(text, any);
    struct nki_input inputs[2] = {{.kind = NKI_INPUT_ARRAY, .array = m.inputs[0]},
                                  {.kind = NKI_INPUT_ARRAY, .array = m.inputs[1]}};
    struct nki_specialise_options options = {.generation = NKI_GEN3,
                                             .release = "0.6",
                                             .inputs = inputs,
                                             .n_inputs = 2,
                                             .fold_rounds = 8,
                                             .every_round = true};
    struct nki_program *each = nki_specialise(m.tree, &options, &m.diags);
    assert_int_equal(each->folds.len, 0);
    assert_int_equal(each->instrs.len, m.program->instrs.len);
    for (size_t s = 0; s < each->storages.len; s++)
        assert_int_equal(each->storages.at[s]->again, m.program->storages.at[s]->again);
    nki_program_free(each);
    made_free(&m);
}

/* NkiScalars: computed on the device, in loops, offsets and stores. */
static void test_scalars(void **state) {
    (void)state;
    const int32_t counts[] = {2, 100000, 0, 1};
    const struct {
        const char *text;
        double expected;
    } cases[] = {
        {HEAD "    s = nisa.scalar_load(c[0:1, 0:1])\n"
              "    def body(i):\n" BODY("        ") "    nl.fori_loop(1, 2 * s + 3, body)\n" TAIL,
         6},
        {HEAD "    s = nisa.scalar_load(n[0:1, 1:2])\n"
              "    d = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)\n"
              "    nisa.scalar_store(d, -(s * s - 1))\n"
              "    nisa.tensor_copy(dst=acc[0:1, 0:1], src=d)\n" TAIL,
         -1410065407},
        {HEAD "    s = nisa.scalar_load(c[0:1, 0:1])\n"
              "    t = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)\n"
              "    nisa.dma_copy(dst=t, src=n.ap(pattern=[[4, 1], [1, 1]], offset=0,\n"
              "                                 scalar_offset=s - 1, indirect_dim=1))\n"
              "    nisa.tensor_copy(dst=acc[0:1, 0:1], src=t)\n" TAIL,
         100000},
        {HEAD "    def body(i):\n"
              "        nisa.dma_copy(dst=c[0:1, i:i + 1], src=n[0:1, 3 - i])\n"
              "    nl.fori_loop(0, 2, body)\n"
              "    nisa.tensor_copy(dst=acc[0:1, 0:1], src=c[0:1, 0:1])\n" TAIL,
         1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_float_equal(result_of(cases[i].text, counts), cases[i].expected,
                           fabs(cases[i].expected) * 1e-7);
}

/* The device traces a body once: what it counts in Python goes up once, and a warning says so. */
static void test_traced_once(void **state) {
    (void)state;
    const int32_t counts[] = {4, 0, 0, 0};
    static const struct {
        const char *text, *name;
        double expected;
    } cases[] = {
        {HEAD "    count = [3, {}]\n"
              "    def body(i):\n"
              "        count[0] += 1\n"
              "        count[1][count[0]] = 1\n"
              "        nisa.memset(dst=acc[0:1, 0:1], value=float(count[0]))\n"
              "    nl.fori_loop(0, 5, body)\n"
              "    assert count == [4, {4: 1}]\n" TAIL,
         "'count'", 4},
        {HEAD "    total = 1\n"
              "    def body(i):\n"
              "        nonlocal total\n"
              "        total *= 2\n"
              "        nisa.tensor_scalar(dst=acc, data=acc, op0=nl.add, operand0=float(total))\n"
              "    nl.fori_loop(0, 3, body)\n"
              "    assert total == 2\n" TAIL,
         "'total'", 6},
        {"rounds = 0\nclass C:\n    n = 0\n" HEAD "    c = C()\n"
         "    def body(i):\n"
         "        c.n = c.n + 1\n"
         "        nisa.tensor_scalar(dst=acc, data=acc, op0=nl.add, operand0=float(c.n))\n"
         "    nl.fori_loop(0, 3, body)\n"
         "    assert c.n == 1\n" TAIL,
         "'c'", 3},
        {HEAD "    width, seen = [512], {}\n"
              "    def body(i):\n"
              "        for k in range(width[0] // 256):\n"
              "            nisa.tensor_scalar(dst=acc, data=acc, op0=nl.add, operand0=1.0)\n"
              "    nl.fori_loop(0, 3, body)\n" TAIL,
         NULL, 6},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct made m = make(cases[i].text, counts);
        struct err err = {0};
        bool told = false;
        assert_true(m.image || tells(&m, "an image"));
        for (size_t k = 0; k < m.diags.all.len; k++)
            told |= !strcmp(m.diags.all.at[k].code, "hone-traced-once");
        assert_int_equal(told, cases[i].name != NULL);
        assert_true(!told || tells(&m, cases[i].name));
        assert_float_equal(run(&m, &err), cases[i].expected, 0);
        made_free(&m);
    }
}

#define WIDE                                                             \
    "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n"    \
    "@nki.jit\n"                                                         \
    "def kernel(x, n):\n"                                                \
    "    w = nl.ndarray((1, 4), dtype=nl.int64, buffer=nl.sbuf)\n"       \
    "    nisa.dma_copy(dst=w, src=n)\n"                                  \
    "    y = nl.ndarray((1, 1), dtype=nl.int64, buffer=nl.shared_hbm)\n" \
    "    z = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.shared_hbm)\n" \
    "    t = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)\n" \
    "    s = nisa.scalar_load(w[0:1, 1:2])\n"

/* Of int64: more than 32 bits in sums, in HBM, in what is copied; int32 gets what it can hold. */
static void test_wide(void **state) {
    (void)state;
    const int64_t counts[] = {3, 5000000001, -7, 2};
    const struct {
        const char *text;
        int64_t expected;
    } cases[] = {
        {WIDE "    nisa.scalar_store(y, s * 3 - 1)\n    return y\n", 15000000002},
        {WIDE "    nisa.scalar_store(w[0:1, 0:1], -s)\n"
              "    nisa.dma_copy(dst=y, src=w[0:1, 0:1])\n    return y\n",
         -5000000001},
        {WIDE "    nisa.dma_copy(dst=y, src=n[0:1, 1:2])\n    return y\n", 5000000001},
        {WIDE "    nisa.dma_copy(dst=z, src=n[0:1, 1:2])\n    return z\n", INT32_MAX},
        {WIDE "    s = nisa.scalar_load(n[0:1, 3:4]) - 1\n"
              "    nisa.dma_copy(dst=y, src=n.ap(pattern=[[4, 1], [1, 1]], offset=0,\n"
              "                                 scalar_offset=s, indirect_dim=1))\n"
              "    return y\n",
         5000000001},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct made m = make_for("0.7", DTYPE_INT64, cases[i].text, counts);
        struct array output = {0};
        struct err err = {0};
        assert_true(m.image || tells(&m, "an image"));
        if (!device_execute(m.image, m.inputs, 2, &output, NULL, &err))
            fail_msg("%zu: %s", i, err.text);
        int64_t found = output.dtype == DTYPE_INT32 ? *(const int32_t *)output.data
                                                    : *(const int64_t *)output.data;
        assert_int_equal(found, cases[i].expected);
        free(output.data);
        made_free(&m);
    }
}

static void test_wide_refused(void **state) {
    (void)state;
    static const struct {
        const char *release, *text, *why;
    } cases[] = {
        {"0.6", WIDE "    return y\n", "int64, which the device does not have"},
        {"0.7", WIDE "    nisa.memset(dst=w, value=1)\n    return y\n",
         "no engine computes with 64-bit types"},
        {"0.7", WIDE "    nl.fori_loop(0, s, lambda i: None)\n    return y\n",
         "of a loop is of int32"},
        {"0.7",
         WIDE "    nisa.tensor_copy(dst=t[:, 0:1], src=t.ap(pattern=[[512, 128], [1, 1]], "
              "offset=0,\n        scalar_offset=s, indirect_dim=1))\n    return y\n",
         "addresses HBM only"},
        {"0.7", WIDE "    nisa.scalar_store(z, s)\n    return y\n", "they have one width"},
        {"0.7",
         WIDE "    r = nisa.register_alloc()\n"
              "    nisa.register_load(r, w[0:1, 0:1])\n    return y\n",
         "a register has 32 bits"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct made m = make_for(cases[i].release, DTYPE_INT64, cases[i].text, NULL);
        assert_null(m.image);
        assert_true(tells(&m, cases[i].why));
        made_free(&m);
    }
}

/* A square on Scalar and a sum on Vector that share nothing: they run at once, unless the kernel
 * says that one waits. */
#define ORDER(edge)                                                                  \
    HEAD "    big = nl.ndarray((128, 4096), dtype=nl.float32, buffer=nl.sbuf)\n"     \
         "    nisa.memset(dst=big, value=2.0)\n"                                     \
         "    a = nisa.activation(dst=big, op=nl.square, data=big)\n"                \
         "    b = nisa.tensor_scalar(dst=acc, data=acc, op0=nl.add, operand0=5.0,\n" \
         "                           engine=nisa.engine.vector)\n" edge TAIL

static void test_orders(void **state) {
    (void)state;
    const int32_t counts[] = {1, 2, 3, 4};
    double free_us = time_of(ORDER(""), counts);
    double waits_us = time_of(ORDER("    b.depends_on(a)\n"), counts);
    assert_true(waits_us > free_us + 1);
    assert_float_equal(waits_us, time_of(ORDER("    b.depends_on(a, a).depends_on(a)\n"), counts),
                       1e-9);
    assert_float_equal(result_of(ORDER("    b.depends_on(a)\n"), counts), 5, 0);
}

static void test_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *why;
    } cases[] = {
        {HEAD "    if r:\n        pass\n" TAIL, "the truth of a register"},
        {HEAD "    for i in nl.dynamic_range(3):\n        break\n" TAIL, "break and return"},
        {HEAD "    with nl.no_reorder():\n        for i in nl.dynamic_range(3):\n            "
              "pass\n" TAIL,
         "inside nl.no_reorder()"},
        {HEAD "    nisa.register_load(r, c)\n" TAIL, "a register holds one number"},
        {SCALAR "    if s:\n        pass\n" TAIL, "the truth of an NkiScalar"},
        {SCALAR "    s = s // 2\n" TAIL, "has + - * only"},
        {SCALAR "    s = s < 2\n" TAIL, "a comparison of an NkiScalar"},
        {SCALAR "    s = s + 1.5\n" TAIL, "takes an integer"},
        {SCALAR "    nisa.scalar_store(c[0:1, 0:1], 7)\n" TAIL, "nisa.memset fills"},
        {SCALAR "    nisa.register_move(s, 1)\n" TAIL, "which is written once"},
        {SCALAR "    s = r + 1\n" TAIL, "a register has no operators"},
        {SCALAR "    u = c.view(nl.uint32)\n    s = nisa.scalar_load(u[0:1, 0:1])\n" TAIL,
         "view it as the signed type"},
        {ORDER("    a.depends_on(b)\n"), "one that is written later"},
        {ORDER("    a.depends_on(a)\n"), "one that is written later"},
        {ORDER("    b.depends_on(acc)\n"), "depends_on takes what calls"},
        {ORDER("    made = []\n"
               "    def body(i):\n"
               "        made.append(nisa.tensor_copy(dst=acc, src=acc))\n"
               "    nl.fori_loop(0, 2, body)\n"
               "    c = nisa.tensor_copy(dst=acc, src=acc)\n"
               "    c.depends_on(made[0])\n"),
         "inside a loop of the device"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct made m = make(cases[i].text, NULL);
        assert_null(m.program);
        assert_true(tells(&m, cases[i].why));
        made_free(&m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounds_of_the_input),
        cmocka_unit_test(test_assumed),
        cmocka_unit_test(test_one_body),
        cmocka_unit_test(test_tiles_in_turn),
        cmocka_unit_test(test_while),
        cmocka_unit_test(test_accumulators),
        cmocka_unit_test(test_inside_a_loop),
        cmocka_unit_test(test_scalars),
        cmocka_unit_test(test_traced_once),
        cmocka_unit_test(test_wide),
        cmocka_unit_test(test_wide_refused),
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
