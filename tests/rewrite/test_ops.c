/* SPDX-License-Identifier: Apache-2.0 */
/* Operations: fused, recognised as functions, moved between engines, transposed once; tile sizes;
 * and that whatever the menu offers for the seeds can be done and parses. */
#include "rewrite_help.h"

#define WITH_NISA                                                     \
    "import neuronxcc.nki as nki\nimport neuronxcc.nki.isa as nisa\n" \
    "import neuronxcc.nki.language as nl\n\n\n@nki.jit\n"
#define IN                                                                  \
    "    y = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)\n" \
    "    t = nl.load(x[0:128, 0:512])\n"
#define OUT "    nl.store(y[0:128, 0:512], value=r)\n    return y\n"

static void one(const char *body, const char *key, const char *expected) {
    struct help_inputs inputs = {0};
    help_array(&inputs, 128, 512);
    struct buf source = {0}, after = {0};
    buf_printf(&source, "%sdef kernel(x):\n%s%s%s", LEGACY, IN, body, OUT);
    buf_printf(&after, "%sdef kernel(x):\n%s%s%s", strstr(expected, "nisa.") ? WITH_NISA : LEGACY,
               IN, expected, OUT);
    help_expect(source.at, &inputs, key, after.at);
    buf_free(&source);
    buf_free(&after);
}

static void not_one(const char *body, const char *key, const char *reason) {
    struct help_inputs inputs = {0};
    help_array(&inputs, 128, 512);
    struct buf source = {0};
    buf_printf(&source, "%sdef kernel(x):\n%s%s%s", LEGACY, IN, body, OUT);
    help_declines(source.at, &inputs, key, reason);
    buf_free(&source);
}

static void legacy_operations_are_fused(void **state) {
    (void)state;
    one("    a = nl.multiply(t, -1.0)\n    r = nl.exp(a)\n", "fuse:a.0:r",
        "    r = nisa.activation(op=nl.exp, data=t, scale=-1.0)\n");
    one("    a = nl.subtract(1.0, t)\n    r = nl.multiply(a, 0.5)\n", "fuse:a.0:r",
        "    r = nisa.tensor_scalar(\n        data=t, op0=nl.subtract, operand0=1.0, "
        "reverse0=True, "
        "op1=nl.multiply, operand1=0.5)\n");
    one("    a = nl.add(t, 2.0)\n    r = nl.multiply(t, a)\n", "fuse:a.0:r",
        "    r = nisa.scalar_tensor_tensor(data=t, op0=nl.add, operand0=2.0, op1=nl.multiply, "
        "operand1=t)\n");
    one("    # squares and their sum\n    a = nl.square(t)\n    s = nl.sum(a, axis=[1], "
        "keepdims=True)\n"
        "    r = nl.multiply(a, s)\n",
        "fuse:a.0:s",
        "    # squares and their sum\n"
        "    s = nl.ndarray((nl.par_dim(128), 1), dtype=nl.float32, buffer=nl.sbuf)\n"
        "    a = nisa.activation_reduce(op=nl.square, data=t, reduce_op=nl.add, reduce_res=s)\n"
        "    r = nl.multiply(a, s)\n");
}

static void a_result_that_is_needed_twice_stays(void **state) {
    (void)state;
    not_one("    a = nl.multiply(t, -1.0)\n    b = nl.exp(a)\n    r = nl.add(a, b)\n", "fuse:a.0:b",
            "a is used elsewhere too");
}

static void an_operand_that_changes_keeps_them_apart(void **state) {
    (void)state;
    not_one("    t2 = nl.copy(t)\n    a = nl.multiply(t2, -1.0)\n    t2[...] = nl.add(t2, 1.0)\n"
            "    r = nl.exp(a)\n",
            "fuse:a.0:r", "t2 changes before it is used");
}

static void functions_are_recognised(void **state) {
    (void)state;
    one("    n = nl.multiply(t, -1.0)\n    e = nl.exp(n)\n    b = nl.add(e, 1.0)\n"
        "    g = nl.reciprocal(b)\n    r = nl.multiply(t, g)\n",
        "function:r.0:silu", "    r = nl.silu(t)\n");
    one("    n = nl.multiply(t, -1.0)\n    e = nl.exp(n)\n    b = nl.add(1, e)\n"
        "    r = nl.reciprocal(b)\n",
        "function:r.0:sigmoid", "    r = nl.sigmoid(t)\n");
    /* a step that is needed elsewhere stays */
    one("    n = nl.multiply(t, -1.0)\n    e = nl.exp(n)\n    b = nl.add(e, 1.0)\n"
        "    g = nl.reciprocal(b)\n    r = nl.multiply(g, e)\n",
        "function:g.0:sigmoid",
        "    n = nl.multiply(t, -1.0)\n    e = nl.exp(n)\n    g = nl.sigmoid(t)\n"
        "    r = nl.multiply(g, e)\n");
    not_one("    n = nl.multiply(t, -2.0)\n    e = nl.exp(n)\n    b = nl.add(e, 1.0)\n"
            "    g = nl.reciprocal(b)\n    r = nl.multiply(t, g)\n",
            "function:", "");
}

/* Tiles that are elements of one storage with block dimensions, as compilers write them. */
static void elements_are_made_like_names(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_array(&inputs, 128, 1024);
#define INDEX "[i, nl.arange(128)[:, None], nl.arange(512)[None, :]]"
#define HEAD                                                                    \
    LEGACY                                                                      \
    "def kernel(x):\n"                                                          \
    "    y = nl.ndarray((128, 1024), dtype=np.float32, buffer=nl.shared_hbm)\n" \
    "    a = nl.ndarray((2, nl.par_dim(128), 512), dtype=np.float32, buffer=nl.sbuf)\n"
#define TAIL                                                                           \
    "        nl.store(y[0:128, i * 512:(i + 1) * 512], value=c" INDEX ", mask=None)\n" \
    "    return y\n"
#define LOAD                                                                            \
    "    c = nl.ndarray((2, nl.par_dim(128), 512), dtype=np.float32, buffer=nl.sbuf)\n" \
    "    for i in nl.affine_range(2):\n"                                                \
    "        a" INDEX " = nl.load(x[0:128, i * 512:(i + 1) * 512], mask=None)\n"
    struct rewrite_request request = help_request(
        HEAD
        "    b = nl.ndarray((2, nl.par_dim(128), 512), dtype=np.float32, buffer=nl.sbuf)\n" LOAD
        "        b" INDEX " = nl.multiply(a" INDEX ", np.dtype(np.float32).type(-1), mask=None)\n"
        "        c" INDEX " = nl.exp(b" INDEX ")\n" TAIL,
        &inputs);
    struct buf out = {0};
    struct err err = {0};
    if (!rewrite_apply(&request, "fuse:b.0:c", &out, &err))
        fail_msg("%s", err.text);
    assert_null(strstr(out.at, "    b"));
    assert_non_null(strstr(out.at, "        c" INDEX " = nisa.activation("));
    assert_non_null(strstr(out.at, "data=a" INDEX));
    assert_non_null(strstr(out.at, "scale=np.dtype(np.float32).type(-1))\n"));
    buf_free(&out);
}

static void legacy_operations_change_engines(void **state) {
    (void)state;
    one("    r = nl.reciprocal(t)\n", "engine:r.0:scalar",
        "    r = nisa.activation(op=nl.reciprocal, data=t)\n");
    one("    r = nl.add(t, t)\n", "engine:r.0:gpsimd",
        "    r = nisa.tensor_tensor(data1=t, data2=t, op=nl.add, engine=nisa.gpsimd_engine)\n");
    not_one("    r = nl.maximum(t, 0.0)\n", "engine:r.0:scalar", "");
}

/* They share SBUF's port there, so that what one does costs the other its time. */
static void nothing_moves_from_vector_to_gpsimd_on_trn1(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_array(&inputs, 128, 512);
    struct rewrite_request request =
        help_request(LEGACY "def kernel(x):\n" IN "    r = nl.add(t, t)\n" OUT, &inputs);
    request.generation = NKI_GEN2;
    struct rewrite_model *model = rewrite_model_new(&request, NULL);
    assert_non_null(model);
    rewrite_find_all(model);
    for (size_t i = 0; i < model->sites.len; i++)
        assert_null(strstr(model->sites.at[i].key, "gpsimd"));
    bool told = false;
    for (size_t i = 0; i < model->declined.len; i++)
        told |= strstr(model->declined.at[i].reason, "cannot reach SBUF at once") != NULL;
    assert_true(told);
    rewrite_model_free(model);
}

#define PSUM                                                                \
    CURRENT                                                                 \
    "def kernel(x):\n"                                                      \
    "    y = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)\n" \
    "    t = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.sbuf)\n"       \
    "    nisa.dma_copy(dst=t, src=x)\n"                                     \
    "    p = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)\n"    \
    "    nisa.nc_matmul(dst=p, stationary=t[:, 0:128], moving=t)\n"         \
    "    r = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.sbuf)\n"
#define PSUM_END                        \
    "    nisa.dma_copy(dst=y, src=r)\n" \
    "    return y\n"

static void current_operations_change_engines(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_array(&inputs, 128, 512);
    help_expect(
        PSUM "    nisa.tensor_copy(dst=r, src=p)  # out of PSUM\n" PSUM_END, &inputs,
        "engine:r.0:scalar",
        PSUM
        "    nisa.tensor_copy(dst=r, src=p, engine=nisa.engine.scalar)  # out of PSUM\n" PSUM_END);
    /* GpSimd cannot reach PSUM */
    help_declines(PSUM "    nisa.tensor_copy(dst=r, src=p)\n" PSUM_END, &inputs,
                  "engine:r.0:gpsimd", "");
}

static void current_operations_are_fused(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_array(&inputs, 128, 512);
    help_expect(PSUM "    m = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)\n"
                     "    nisa.tensor_reduce(dst=m, op=nl.maximum, data=p, axis=1)\n"
                     "    for i in range(2):\n"
                     "        s = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)\n"
                     "        nisa.tensor_scalar(dst=s, data=p, op0=nl.subtract, operand0=m)\n"
                     "        # the exponential\n"
                     "        e = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)\n"
                     "        nisa.activation(dst=e, op=nl.exp, data=s)\n"
                     "    nisa.tensor_copy(dst=r, src=p)\n" PSUM_END,
                &inputs, "fuse:s.0:e",
                PSUM "    m = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)\n"
                     "    nisa.tensor_reduce(dst=m, op=nl.maximum, data=p, axis=1)\n"
                     "    minus_m = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)\n"
                     "    nisa.tensor_scalar(dst=minus_m, data=m, op0=nl.multiply, operand0=-1.0)\n"
                     "    for i in range(2):\n"
                     "        # the exponential\n"
                     "        e = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)\n"
                     "        nisa.activation(dst=e, op=nl.exp, data=p, bias=minus_m)\n"
                     "    nisa.tensor_copy(dst=r, src=p)\n" PSUM_END);
}

static void tiles_are_transposed_once(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_array(&inputs, 128, 256);
    help_array(&inputs, 256, 1024);
    help_expect(
        LEGACY "def kernel(x, w):\n"
               "    y = nl.ndarray((128, 1024), dtype=x.dtype, buffer=nl.shared_hbm)\n"
               "    a = nl.load(x[0:128, 0:256])\n"
               "    for n in nl.affine_range(2):\n"
               "        acc = nl.zeros((128, 512), dtype=nl.float32, buffer=nl.psum)\n"
               "        for k in nl.affine_range(2):\n"
               "            b = nl.load(w[k * 128:(k + 1) * 128, n * 512:(n + 1) * 512])\n"
               "            acc += nl.matmul(a[:, k * 128:(k + 1) * 128], b)  # transposes\n"
               "        nl.store(y[0:128, n * 512:(n + 1) * 512], value=nl.copy(acc))\n"
               "    return y\n",
        &inputs, "transpose:a:n",
        LEGACY "def kernel(x, w):\n"
               "    y = nl.ndarray((128, 1024), dtype=x.dtype, buffer=nl.shared_hbm)\n"
               "    a = nl.load(x[0:128, 0:256])\n"
               "    a_t = nl.ndarray((nl.par_dim(128), 2, 128), dtype=a.dtype, buffer=nl.sbuf)\n"
               "    for k in nl.affine_range(2):\n"
               "        a_t[:, k, :] = nl.transpose(a[:, k * 128:(k + 1) * 128])\n"
               "    for n in nl.affine_range(2):\n"
               "        acc = nl.zeros((128, 512), dtype=nl.float32, buffer=nl.psum)\n"
               "        for k in nl.affine_range(2):\n"
               "            b = nl.load(w[k * 128:(k + 1) * 128, n * 512:(n + 1) * 512])\n"
               "            acc += nl.matmul(a_t[:, k, :], b, transpose_x=True)  # transposes\n"
               "        nl.store(y[0:128, n * 512:(n + 1) * 512], value=nl.copy(acc))\n"
               "    return y\n");
}

static const char tiled[] =
    CURRENT "def kernel(x):\n"
            "    P = 128\n"
            "    T = 256  # columns\n"
            "    y = nl.ndarray((256, 1024), dtype=x.dtype, buffer=nl.shared_hbm)\n"
            "    for m in range(256 // P):\n"
            "        for n in range(1024 // T):\n"
            "            t = nl.ndarray((P, T), dtype=x.dtype, buffer=nl.sbuf)\n"
            "            nisa.dma_copy(dst=t, src=x[m * P:(m + 1) * P, n * T:(n + 1) * T])\n"
            "            nisa.dma_copy(dst=y[m * P:(m + 1) * P, n * T:(n + 1) * T], src=t)\n"
            "    return y\n";

static void a_tile_size_changes_within_the_limits(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_array(&inputs, 256, 1024);
    struct rewrite_request request = help_request(tiled, &inputs);
    struct buf out = {0};
    assert_true(rewrite_apply(&request, "tile:T:1024", &out, NULL));
    assert_non_null(strstr(out.at, "    T = 1024  # columns\n"));
    buf_free(&out);
    help_declines(tiled, &inputs, "tile:P:256", "more than 128 partitions");
    help_declines(CURRENT
                  "def kernel(x):\n"
                  "    T = 256\n"
                  "    part = 1.0 / T\n"
                  "    y = nl.ndarray((128, 1024), dtype=x.dtype, buffer=nl.shared_hbm)\n"
                  "    for n in range(1024 // T):\n"
                  "        t = nl.ndarray((128, T), dtype=x.dtype, buffer=nl.sbuf)\n"
                  "        nisa.dma_copy(dst=t, src=x[0:128, n * T:(n + 1) * T])\n"
                  "        nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=part)\n"
                  "        nisa.dma_copy(dst=y[0:128, n * T:(n + 1) * T], src=t)\n"
                  "    return y\n",
                  &inputs, "tile:", "T is not only used to lay data out");
}

/* Constants that are bound together with another one, at module level, with a type, as a default
 * that the task leaves as it is, or by a tile size of the language. */
static void a_tile_size_is_any_named_constant(void **state) {
    (void)state;
#define KERNEL "@nki.jit\ndef kernel(x):\n"
    static const struct {
        const char *head, *changed;
    } rows[] = {
        {KERNEL "    P, T = nl.tile_size.pmax, 256  # columns\n",
         "    P, T = nl.tile_size.pmax, 1024  # columns\n"},
        {KERNEL "    P = 128\n    T = nl.tile_size.gemm_moving_fmax // 2\n",
         "    P = 128\n    T = 1024\n"},
        {"P, T = 128, 256\n\n\n" KERNEL, "P, T = 128, 1024\n"},
        {"P: int = 128\nT: int = 256\n\n\n" KERNEL, "T: int = 1024\n"},
        {KERNEL "    P: int = 128\n    T: int = 256\n", "    T: int = 1024\n"},
        {KERNEL "    P, T = 128, 256\n    HALF, ALL = T // 2, 4 * T\n"
                "    assert ALL // HALF == 8\n",
         "    P, T = 128, 1024\n"},
        {"@nki.jit\ndef kernel(x, P=128, T=256):\n", "def kernel(x, P=128, T=1024):\n"},
    };
    struct help_inputs inputs = {0};
    help_array(&inputs, 256, 1024);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct buf text = {0}, out = {0};
        const char *rest = strstr(tiled, "    y = ");
        buf_printf(&text, "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n%s%s",
                   rows[i].head, rest);
        struct rewrite_request request = help_request(text.at, &inputs);
        struct err err = {0};
        if (!rewrite_apply(&request, "tile:T:1024", &out, &err))
            fail_msg("%s: %s", rows[i].head, err.text);
        assert_non_null(strstr(out.at, rows[i].changed));
        assert_non_null(strstr(out.at, rest));
        buf_free(&text);
        buf_free(&out);
    }
#undef KERNEL
}

/* What the task calls the kernel with counts, and not the default. */
static void a_parameter_that_is_given_is_no_constant(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_array(&inputs, 256, 1024);
    inputs.at[inputs.n++] = (struct nki_input){.kind = NKI_INPUT_INT, .i = 256};
    struct buf text = {0};
    buf_printf(&text, "%s\ndef kernel(x, T=512, P=128):\n%s", CURRENT, strstr(tiled, "    y = "));
    help_declines(text.at, &inputs, "tile:T", "");
    buf_free(&text);
}

/* `*_, T = x.shape` names the last extent, wherever that is. */
static void a_star_among_names_hides_which_is_which(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_array(&inputs, 256, 1024);
    struct rewrite_request request =
        help_request(CURRENT "def kernel(x):\n    *_, n = x.shape\n    m, n2 = x.shape\n"
                             "    for i in range(n):\n        pass\n"
                             "    for j in range(n2):\n        pass\n    return x\n",
                     &inputs);
    struct rewrite_model *model = rewrite_model_new(&request, NULL);
    assert_non_null(model);
    assert_int_equal(model->loops.len, 2);
    assert_false(model->loops.at[0]->known);
    assert_true(model->loops.at[1]->known);
    assert_int_equal(model->loops.at[1]->trips, 1024);
    rewrite_model_free(model);
}

static void sizes_in_numbers_change_together(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_array(&inputs, 256, 1024);
#define NUMBERS(count, size)                                                                \
    CURRENT                                                                                 \
    "def kernel(x):\n"                                                                      \
    "    y = nl.ndarray((256, 1024), dtype=x.dtype, buffer=nl.shared_hbm)\n"                \
    "    for m in range(2):\n"                                                              \
    "        for n in range(" count "):  # columns\n"                                       \
    "            t = nl.ndarray((128, " size "), dtype=x.dtype, buffer=nl.sbuf)\n"          \
    "            nisa.dma_copy(dst=t, src=x[nl.ds(m * 128, 128), nl.ds(n * " size ", " size \
    ")])\n"                                                                                 \
    "            nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=256)\n"        \
    "            nisa.dma_copy(dst=y[nl.ds(m * 128, 128), nl.ds(n * " size ", " size        \
    ")], src=t)\n"                                                                          \
    "    return y\n"
    help_expect(NUMBERS("4", "256"), &inputs, "retile:n.0:512", NUMBERS("2", "512"));
    help_expect(NUMBERS("1024 // 256", "256"), &inputs, "retile:n.0:1024",
                NUMBERS("1024 // 1024", "1024"));
    /* rows of 128 are partitions */
    help_declines(NUMBERS("4", "256"), &inputs, "retile:m", "also a count of partitions");
    help_declines(NUMBERS("8", "128"), &inputs, "retile:n", "count of partitions");
    /* half of what is needed is no number */
    help_declines(CURRENT "def kernel(x):\n"
                          "    T = 1024\n"
                          "    y = nl.ndarray((128, T), dtype=x.dtype, buffer=nl.shared_hbm)\n"
                          "    t = nl.ndarray((128, T), dtype=x.dtype, buffer=nl.sbuf)\n"
                          "    for n in range(4):\n"
                          "        nisa.dma_copy(dst=t[:, n * (T // 4):(n + 1) * (T // 4)],\n"
                          "                      src=x[0:128, n * (T // 4):(n + 1) * (T // 4)])\n"
                          "    nisa.dma_copy(dst=y, src=t)\n"
                          "    return y\n",
                  &inputs, "retile:", "not every extent of this size is written as a number");
}

/* ---- the seeds ------------------------------------------------------------------------------ */

static void try_all(const char *seed, const struct help_inputs *inputs) {
    struct buf path = {0};
    buf_printf(&path, "%s/seeds/%s/kernel.py", HONE_SOURCE_DIR, seed);
    struct err err = {0};
    size_t size;
    char *text = file_read(path.at, 1 << 20, &size, &err);
    if (!text)
        fail_msg("%s", err.text);
    struct rewrite_request request = help_request(text, inputs);
    struct rewrite_model *model = rewrite_model_new(&request, &err);
    assert_non_null(model);
    assert_null(rewrite_why_illegal(model));
    rewrite_find_all(model);
    assert_true(model->sites.len > 4);
    for (size_t i = 0; i < model->sites.len; i++) {
        struct buf once = {0}, twice = {0};
        const char *key = model->sites.at[i].key;
        if (!rewrite_apply(&request, key, &once, &err))
            fail_msg("%s: %s: %s", seed, key, err.text);
        /* and the next edit works on its result */
        struct rewrite_request next = help_request(once.at, inputs);
        struct rewrite_model *after = rewrite_model_new(&next, &err);
        assert_non_null(after);
        rewrite_find_all(after);
        for (size_t k = i % 3; k < after->sites.len; k += 7) {
            buf_clear(&twice);
            if (!rewrite_apply(&next, after->sites.at[k].key, &twice, &err))
                fail_msg("%s: %s then %s: %s", seed, key, after->sites.at[k].key, err.text);
        }
        rewrite_model_free(after);
        buf_free(&once);
        buf_free(&twice);
    }
    rewrite_model_free(model);
    free(text);
    buf_free(&path);
}

static void every_offer_for_the_seeds_can_be_done(void **state) {
    (void)state;
    struct help_inputs rms = {0}, silu = {0}, matmul = {0}, softmax = {0};
    help_array(&rms, 4096, 1024);
    help_array(&rms, 4096, 1024);
    help_array(&rms, 1024, 1);
    rms.at[2].array.ndim = 1;
    help_array(&rms, 1024, 2048);
    rms.at[rms.n++] = (struct nki_input){.kind = NKI_INPUT_FLOAT, .f = 1e-5};
    try_all("add_rmsnorm_matmul", &rms);
    help_array(&silu, 4096, 7168);
    try_all("silu", &silu);
    help_array(&softmax, 4096, 4096);
    try_all("softmax", &softmax);
    help_array(&matmul, 4096, 4096);
    help_array(&matmul, 4096, 4096);
    matmul.at[0].array.dtype = matmul.at[1].array.dtype = DTYPE_BFLOAT16;
    try_all("matmul", &matmul);
}

/* Kernels with parts cut out or spoilt: never a crash, and what comes out parses. */
static void spoilt_kernels_do_no_harm(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_array(&inputs, 256, 1024);
    size_t len = strlen(tiled);
    for (size_t cut = 0; cut < len; cut += 3) {
        struct buf text = {0};
        buf_add(&text, tiled, cut);
        buf_puts(&text, tiled + MIN_OF(len, cut + cut % 11));
        struct rewrite_request request = help_request(text.at, &inputs);
        struct rewrite_model *model = rewrite_model_new(&request, NULL);
        if (model) {
            rewrite_find_all(model);
            for (size_t i = 0; i < model->sites.len; i++) {
                struct buf out = {0};
                if (rewrite_apply(&request, model->sites.at[i].key, &out, NULL))
                    assert_true(out.len > 0);
                buf_free(&out);
            }
        }
        rewrite_model_free(model);
        buf_free(&text);
    }
}

/* A chain of names, each twice the one before, and one as long as the source. Both are answered at
 * once. */
static void long_chains_of_names_end(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_array(&inputs, 256, 1024);
    struct buf text = {0};
    buf_puts(&text, LEGACY "def kernel(x):\n    a0 = 1\n    t0 = x\n");
    for (int i = 1; i < 3000; i++)
        buf_printf(&text, "    a%d = a%d + a%d\n    t%d = t%d[0:128, 0:512]\n", i, i - 1, i - 1, i,
                   i - 1);
    buf_puts(&text,
             "    for m in nl.affine_range(a2999):\n        y = nl.load(t2999)\n    return x\n");
    struct rewrite_request request = help_request(text.at, &inputs);
    struct rewrite_model *model = rewrite_model_new(&request, NULL);
    assert_non_null(model);
    rewrite_find_all(model);
    rewrite_model_free(model);
    buf_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(legacy_operations_are_fused),
        cmocka_unit_test(a_result_that_is_needed_twice_stays),
        cmocka_unit_test(an_operand_that_changes_keeps_them_apart),
        cmocka_unit_test(functions_are_recognised),
        cmocka_unit_test(elements_are_made_like_names),
        cmocka_unit_test(legacy_operations_change_engines),
        cmocka_unit_test(nothing_moves_from_vector_to_gpsimd_on_trn1),
        cmocka_unit_test(current_operations_change_engines),
        cmocka_unit_test(current_operations_are_fused),
        cmocka_unit_test(tiles_are_transposed_once),
        cmocka_unit_test(a_tile_size_changes_within_the_limits),
        cmocka_unit_test(a_tile_size_is_any_named_constant),
        cmocka_unit_test(a_parameter_that_is_given_is_no_constant),
        cmocka_unit_test(a_star_among_names_hides_which_is_which),
        cmocka_unit_test(sizes_in_numbers_change_together),
        cmocka_unit_test(every_offer_for_the_seeds_can_be_done),
        cmocka_unit_test(spoilt_kernels_do_no_harm),
        cmocka_unit_test(long_chains_of_names_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
