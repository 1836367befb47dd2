/* SPDX-License-Identifier: Apache-2.0 */
/* Timing: what must hold for every schedule, costs of single instructions against measurements, and
 * dependencies and schedule against slow versions that are easy to understand. */
#include "device/causes/causes.h"
#include "device/metric.h"
#include "device/time/run.h"

#include "build.h"
#include "device/image/testing.h"

/* ---- kernels -------------------------------------------------------------------------------- */

static const char current_matmul[] =
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

#define LEGACY                                                        \
    "import neuronxcc.nki as nki\nimport neuronxcc.nki.isa as nisa\n" \
    "import neuronxcc.nki.language as nl\n@nki.jit\n"
static const char legacy_softmax[] =
    LEGACY "def kernel(a, b):\n"
           "    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)\n"
           "    for i in nl.affine_range(4):\n"
           "        x = nl.load(a[i * 128:(i + 1) * 128, :])\n"
           "        y = nl.exp(x)\n"
           "        s = nl.sum(y, axis=[1])\n"
           "        z = nl.multiply(y, nl.reciprocal(s))\n"
           "        nl.store(out[i * 128:(i + 1) * 128, :], z)\n"
           "    return out\n";
/* b is loaded again in every iteration, and the compiler keeps it. */
static const char legacy_repeat[] =
    LEGACY "def kernel(a, b):\n"
           "    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)\n"
           "    for i in nl.affine_range(4):\n"
           "        x = nl.load(a[i * 128:(i + 1) * 128, :])\n"
           "        y = nl.load(b[0:128, :])\n"
           "        z = nl.add(x, y)\n"
           "        nl.store(out[i * 128:(i + 1) * 128, :], z)\n"
           "    return out\n";
/* 24 tiles of 16 KiB a partition live at once, which is more than SBUF has. */
static const char legacy_spill[] =
    LEGACY "def kernel(a, b):\n"
           "    out = nl.ndarray((24, 128, 4096), dtype=a.dtype, buffer=nl.shared_hbm)\n"
           "    t = nl.ndarray((24, nl.par_dim(128), 4096), dtype=nl.float32, buffer=nl.sbuf)\n"
           "    for i in nl.affine_range(24):\n"
           "        x = nl.load(a[0:128, 0:4096])\n"
           "        t[i] = nl.exp(x)\n"
           "    for i in nl.affine_range(24):\n"
           "        nl.store(out[i], t[i])\n"
           "    return out\n";
static const char current_too_large[] =
    "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n"
    "@nki.jit\n"
    "def kernel(a, b):\n"
    "    out = nl.ndarray((128, 40000), dtype=nl.float32, buffer=nl.shared_hbm)\n"
    "    x = nl.ndarray((128, 40000), dtype=nl.float32, buffer=nl.sbuf)\n"
    "    y = nl.ndarray((128, 40000), dtype=nl.float32, buffer=nl.sbuf)\n"
    "    nisa.memset(dst=x, value=0.0)\n"
    "    nisa.tensor_copy(dst=y, src=x)\n"
    "    nisa.dma_copy(dst=out, src=y)\n"
    "    return out\n";

static const struct sample {
    const char *name, *text;
    int64_t a[2], b[2];
    double hbm_read, hbm_write; /* bytes, where no spills are added to them */
} samples[] = {
    {"matmul",
     current_matmul,
     {512, 256},
     {512, 512},
     512 * 256 * 4 + 2 * 512 * 512 * 4,
     256 * 512 * 4},
    {"softmax", legacy_softmax, {512, 1024}, {1, 1}, 512 * 1024 * 4, 512 * 1024 * 4},
    {"repeat", legacy_repeat, {512, 1024}, {128, 1024}, 640 * 1024 * 4, 512 * 1024 * 4},
    {"spill", legacy_spill, {128, 4096}, {1, 1}, 0, 0},
};

struct loaded {
    struct nki_tree *tree;
    struct nki_program *program;
    struct device_image *image;
    struct diag_list diags;
};

static struct loaded load(const char *text, const struct sample *sample, const char *name) {
    struct loaded l = {0};
    const struct device_generation *generation = device_generation_find(name);
    struct nki_input inputs[2] = {
        {.array = {.dtype = DTYPE_FLOAT32, .ndim = 2, .shape = {sample->a[0], sample->a[1]}}},
        {.array = {.dtype = DTYPE_FLOAT32, .ndim = 2, .shape = {sample->b[0], sample->b[1]}}}};
    struct nki_specialise_options options = {
        .generation = generation->generation, .inputs = inputs, .n_inputs = 2};
    l.tree = nki_parse("kernel.py", str_of(text), &l.diags);
    l.program = nki_specialise(l.tree, &options, &l.diags);
    if (!l.program)
        fail_msg("%s", l.diags.all.len ? l.diags.all.at[0].message : "no program");
    l.image = device_load(l.program, generation, &l.diags);
    return l;
}

static void unload(struct loaded *l) {
    device_unload(l->image);
    nki_program_free(l->program);
    nki_tree_free(l->tree);
    diag_free(&l->diags);
}

/* ---- what holds of every profile ------------------------------------------------------------ */

static void check_spans(const struct device_profile *profile) {
    for (size_t i = 0; i < profile->spans.len; i++) {
        const struct device_span *span = &profile->spans.at[i];
        assert_true(isfinite(span->start_ns) && span->end_ns >= span->start_ns);
        assert_true(span->end_ns <= profile->latency_us * 1e3 + 1e-6);
        if (!i || span[-1].queue != span->queue)
            continue;
        assert_true(span->start_ns >= span[-1].start_ns);
        if (profile->queues.at[span->queue].engine != NKI_ENGINE_DMA)
            assert_true(span->start_ns >= span[-1].end_ns - 1e-6);
    }
}

static void a_task_that_needs_less_lowers_the_floor(struct device_profile *profile,
                                                    const struct device_image *image) {
    double before = profile->floor_any_us;
    struct device_need all = {.read_bytes = 1e15, .written_bytes = 1e15};
    all.multiply_adds[DEVICE_NEED_FP32] = 1e18;
    device_floor_of_task(profile, image->generation, &all);
    assert_float_equal(profile->floor_any_us, before, 0);
    struct device_need half = {.read_bytes = profile->floor_parts.read_bytes / 2,
                               .written_bytes = profile->floor_parts.written_bytes / 2};
    device_floor_of_task(profile, image->generation, &half);
    assert_float_equal(profile->floor_parts.pe_ns[FLOOR_KEEP], 0, 0);
    double bytes = half.read_bytes + half.written_bytes;
    assert_float_equal(profile->floor_us,
                       bytes / device_memory_bytes_per_ns(image->generation) / 1e3, 1e-9);
    assert_true(profile->floor_any_us < before);
}

/* The parts of all lines, launch and end are the latency. */
static void check_shares(const struct device_profile *profile, const struct device_image *image) {
    struct device_causes *causes = device_causes_of(image, NULL, false);
    double us = causes->launch_us;
    for (size_t i = 0; i < profile->lines.len; i++) {
        assert_true(profile->lines.at[i].share >= -1e-12);
        us += profile->lines.at[i].share * profile->latency_us;
    }
    assert_float_equal(us, profile->latency_us, 1e-6 * profile->latency_us);
    device_causes_free(causes);
}

static void check_profile(const struct device_profile *profile, const struct device_image *image) {
    assert_true(isfinite(profile->latency_us) && profile->latency_us > 0);
    assert_true(profile->latency_us >= profile->floor_us);
    assert_true(profile->floor_us >= profile->floor_split_us);
    assert_true(profile->floor_split_us >= profile->floor_any_us && profile->floor_any_us > 0);
    check_shares(profile, image);
    assert_true(profile->bounds.len > 0);
    for (size_t i = 0; i < profile->bounds.len; i++) {
        const struct device_bound *bound = &profile->bounds.at[i];
        assert_true(bound->busy_ns > 0 && bound->busy_ns <= profile->latency_us * 1e3 + 1e-6);
        assert_true(bound->without_ns > 0 && bound->without_ns <= profile->latency_us * 1e3 + 1e-6);
    }
    for (size_t i = 0; i < profile->metrics.len; i++)
        if (strcmp(profile->metrics.at[i].unit, "%") == 0)
            assert_true(profile->metrics.at[i].value >= 0 &&
                        profile->metrics.at[i].value <= 100 + 1e-9);
    check_spans(profile);
}

static void every_profile_is_consistent(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(samples); i++)
        for (size_t g = 0; device_generation_at(g); g++) {
            struct loaded l = load(samples[i].text, &samples[i], device_generation_at(g)->name);
            assert_non_null(l.image);
            struct device_profile *profile = device_time(l.image);
            check_profile(profile, l.image);
            if (samples[i].hbm_read > 0) {
                double read = profile_metric(profile, "hbm_read_bytes", -1);
                double write = profile_metric(profile, "hbm_write_bytes", -1);
                assert_true(fabs(read - samples[i].hbm_read) < 0.5);
                assert_true(fabs(write - samples[i].hbm_write) < 0.5);
            }
            a_task_that_needs_less_lowers_the_floor(profile, l.image);
            device_profile_free(profile);
            unload(&l);
        }
}

static void the_same_program_takes_the_same_time(void **state) {
    (void)state;
    struct loaded l = load(legacy_softmax, &samples[1], "trn1");
    struct device_profile *one = device_time(l.image), *two = device_time(l.image);
    assert_true(one->latency_us - two->latency_us == 0);
    assert_memory_equal(one->spans.at, two->spans.at, one->spans.len * sizeof *one->spans.at);
    device_profile_free(one);
    device_profile_free(two);
    unload(&l);
}

static void what_does_not_fit_is_spilled_in_the_legacy_dialect(void **state) {
    (void)state;
    struct loaded l = load(legacy_spill, &samples[3], "trn1");
    assert_non_null(l.image);
    struct device_profile *profile = device_time(l.image);
    double saved = profile_metric(profile, "spill_save_bytes", 0);
    double reloaded = profile_metric(profile, "spill_reload_bytes", 0);
    /* 24 tiles of 2 MiB, of which at most 11 fit 22 MiB. */
    assert_true(saved >= 13.0 * (2 << 20) && saved <= 24.0 * (2 << 20));
    assert_true(fabs(saved - reloaded) < 0.5);
    device_profile_free(profile);
    unload(&l);
}

static void what_does_not_fit_is_refused_in_the_current_dialect(void **state) {
    (void)state;
    struct loaded l = load(current_too_large, &samples[1], "trn2");
    assert_null(l.image);
    assert_int_equal(l.diags.errors, 1);
    const char *message = l.diags.all.at[0].message;
    assert_non_null(strstr(message, "320000 bytes per partition of SBUF are live here"));
    assert_non_null(strstr(message, "trn2 has 212984"));
    assert_non_null(strstr(message, "2 tiles are live"));
    unload(&l);
}

/* ---- costs of instructions ------------------------------------------------------------------ */

static const struct window {
    const char *device, *what;
    enum nki_space src, dst;
    int columns;
    double low, high; /* ns until the next instruction can start; < 0: until the result */
    const char *source;
} windows[] = {
    {"trn2", "matmul bf16", NKI_SBUF, NKI_PSUM, 512, 210, 220, "215 ns, traces on trn2"},
    {"trn2", "matmul bf16 alone", NKI_SBUF, NKI_PSUM, 512, -360, -390, "376 ns, traces on trn2"},
    {"trn2", "matmul fp32", NKI_SBUF, NKI_PSUM, 512, 850, 865, "2 x 429 ns, traces on trn2"},
    {"trn2", "reduce", NKI_SBUF, NKI_SBUF, 512, 585, 610, "592 to 603 ns, traces on trn2"},
    {"trn2", "scale", NKI_SBUF, NKI_SBUF, 512, 380, 420, "395 ns, traces on trn2"},
    {"trn2", "exp", NKI_SBUF, NKI_SBUF, 512, 560, 615, "569 to 612 ns, traces on trn2"},
    {"trn2", "copy by scalar alone", NKI_PSUM, NKI_SBUF, 512, -570, -600, "585 ns, traces on trn2"},
    {"trn2", "copy by vector alone", NKI_PSUM, NKI_SBUF, 512, -670, -700, "690 ns, traces on trn2"},
    {"trn1", "matmul bf16", NKI_SBUF, NKI_PSUM, 512, 205, 225, "219 ns, foxl-ai/kiln"},
    {"trn1", "reduce", NKI_PSUM, NKI_SBUF, 512, 470, 510, "494 ns, foxl-ai/kiln"},
    {"trn1", "reduce", NKI_SBUF, NKI_SBUF, 2048, 1850, 1950, "1908 ns, foxl-ai/kiln"},
    {"trn1", "add", NKI_SBUF, NKI_SBUF, 512, 1000, 1070, "1039 ns, foxl-ai/kiln"},
    {"trn1", "add", NKI_PSUM, NKI_SBUF, 512, 470, 510, "494 ns, foxl-ai/kiln"},
    {"trn1", "scan", NKI_PSUM, NKI_SBUF, 512, 1000, 1070,
     "none; two cycles an element wherever inputs lie (neuronxcc.nki.isa 2.26)"},
    {"trn1", "copy by scalar", NKI_PSUM, NKI_SBUF, 512, 370, 410,
     "383 ns, foxl-ai/kiln; 405 ns in NKIBench's bmm"},
    {"trn1", "exp", NKI_PSUM, NKI_SBUF, 512, 430, 480, "466 ns with a row sum, foxl-ai/kiln"},
};

static enum nki_engine window_instr(struct build *b, const struct window *w, uint32_t src,
                                    uint32_t dst) {
    if (strncmp(w->what, "reduce", 6) == 0) {
        static const int64_t axis[] = {1};
        uint32_t one = build_tile(b, NKI_SBUF, DTYPE_FLOAT32, 128, 1);
        RUN(b, TENSOR_REDUCE, tile(build_all(b, one)), func(NKI_FUNC_ADD), tile(build_all(b, src)),
            integers(axis, 1));
        return NKI_ENGINE_VECTOR;
    }
    if (strncmp(w->what, "scale", 5) == 0) {
        uint32_t one = build_tile(b, NKI_SBUF, DTYPE_FLOAT32, 128, 1);
        RUN(b, TENSOR_SCALAR, tile(build_all(b, dst)), tile(build_all(b, src)),
            func(NKI_FUNC_MULTIPLY), tile(build_all(b, one)));
        return NKI_ENGINE_VECTOR;
    }
    if (strncmp(w->what, "add", 3) == 0) {
        uint32_t other = build_tile(b, NKI_SBUF, DTYPE_FLOAT32, 128, w->columns);
        RUN(b, TENSOR_TENSOR, tile(build_all(b, dst)), tile(build_all(b, src)),
            tile(build_all(b, other)), func(NKI_FUNC_ADD));
        return NKI_ENGINE_VECTOR;
    }
    if (strncmp(w->what, "scan", 4) == 0) {
        uint32_t other = build_tile(b, NKI_SBUF, DTYPE_FLOAT32, 128, w->columns);
        RUN(b, TENSOR_TENSOR_SCAN, tile(build_all(b, dst)), tile(build_all(b, src)),
            tile(build_all(b, other)), number(0), func(NKI_FUNC_MULTIPLY), func(NKI_FUNC_ADD));
        return NKI_ENGINE_VECTOR;
    }
    if (strncmp(w->what, "exp", 3) == 0) {
        RUN(b, ACTIVATION, tile(build_all(b, dst)), func(NKI_FUNC_EXP), tile(build_all(b, src)));
        return NKI_ENGINE_SCALAR;
    }
    RUN(b, TENSOR_COPY, tile(build_all(b, dst)), tile(build_all(b, src)));
    return strstr(w->what, "scalar") ? NKI_ENGINE_SCALAR : NKI_ENGINE_VECTOR;
}

static enum nki_engine window_build(struct build *b, const struct window *w) {
    enum dtype dtype = strstr(w->what, "bf16") ? DTYPE_BFLOAT16 : DTYPE_FLOAT32;
    uint32_t src = build_tile(b, w->src, dtype, 128, w->columns);
    uint32_t dst = build_tile(b, w->dst, DTYPE_FLOAT32, 128, w->columns);
    if (strncmp(w->what, "matmul", 6) != 0)
        return window_instr(b, w, src, dst);
    uint32_t stationary = build_tile(b, NKI_SBUF, dtype, 128, 128);
    RUN(b, NC_MATMUL, tile(build_all(b, dst)), tile(build_all(b, stationary)),
        tile(build_all(b, src)));
    return NKI_ENGINE_TENSOR;
}

static void instructions_cost_what_was_measured(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(windows); i++) {
        const struct window *w = &windows[i];
        struct build b = build_start(w->device);
        struct cost_place place = {.engine = window_build(&b, w)};
        struct cost cost =
            cost_of(b.program, 0, place, device_constants_of(b.generation->generation));
        double ns = w->low < 0 ? cost.latency_ns : cost.interval_ns;
        if (ns < fabs(w->low) || ns > fabs(w->high))
            fail_msg("%s %s, %d columns: %.1f ns, measured %s", w->device, w->what, w->columns, ns,
                     w->source);
        build_end(&b);
    }
}

/* Eight products of 32 rows and 32 columns, number i with its corner at row and column 32 times the
 * digits of places[i]; "": of the whole array. In us, without what any kernel takes. */
static double products_us(const char *places, bool parts_wait) {
    struct build b = build_start("trn2");
    uint32_t in = build_input(&b, DTYPE_BFLOAT16, 128, 512, NULL);
    uint32_t out = build_output(&b, DTYPE_FLOAT32, 32, 512);
    uint32_t tiles[2], sums[8];
    for (int i = 0; i < 2; i++)
        tiles[i] = build_tile(&b, NKI_SBUF, DTYPE_BFLOAT16, 128, 512);
    for (int i = 0; i < 8; i++)
        sums[i] = build_tile(&b, NKI_PSUM, DTYPE_FLOAT32, 32, 512);
    build_copy(&b, build_all(&b, tiles[0]), build_all(&b, in));
    build_copy(&b, build_all(&b, tiles[1]), build_all(&b, in));
    for (int i = 0; i < 8; i++) {
        int64_t *part = ARENA_ARRAY(b.program->arena, int64_t, 4);
        int row = *places ? 32 * (places[2 * i] - '0') : 0;
        int column = *places ? 32 * (places[2 * i + 1] - '0') : 0;
        memcpy(part, (int64_t[]){row, column, 32, 32}, 4 * sizeof *part);
        RUN(&b, NC_MATMUL, tile(build_all(&b, sums[i])),
            tile(build_part(&b, tiles[0], row, 32, 0, 32)),
            tile(build_part(&b, tiles[1], row, 32, 0, 512)), none(), none(), none(), none(),
            *places ? integers(part, 2) : none(), *places ? integers(part + 2, 2) : none());
    }
    uint32_t result = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 32, 512);
    RUN(&b, TENSOR_COPY, tile(build_all(&b, result)), tile(build_all(&b, sums[7])));
    build_copy(&b, build_all(&b, out), build_all(&b, result));
    struct device_image *image = device_load(b.program, b.generation, &b.diags);
    if (!image)
        fail_msg("%s", b.diags.all.at[0].message);
    struct device_constants constants = *device_constants_of(NKI_GEN3);
    constants.pe_beside_share = !parts_wait;
    struct device_profile *profile = device_time_with(image, &constants);
    double us = profile_metric(profile, "tensor_engine_active_time", -1) * 1e6;
    device_profile_free(profile);
    device_unload(image);
    build_end(&b);
    return us;
}

static void products_of_other_parts_of_the_array_run_at_once(void **state) {
    (void)state;
    double whole = products_us("", false), each = products_us("0000000000000000", false);
    double two = products_us("0010001000100010", false);
    double eight = products_us("0001020310111213", false);
    assert_true(fabs(each - whole) <= whole / 100);
    assert_true(fabs(two - each / 2) <= each / 50);
    assert_true(fabs(eight - each / 8) <= each / 50);
    assert_true(fabs(products_us("0001020310111213", true) - each) <= each / 50);
}

static double scalar_ns(const struct build *b, size_t i) {
    struct cost_place place = {.engine = NKI_ENGINE_SCALAR};
    return cost_of(b->program, i, place, device_constants_of(b->generation->generation))
        .interval_ns;
}

/* In each of these the result of a reduction is in another place. */
static void a_reduction_costs_the_same_in_every_activation(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    const struct nki_ap *t = build_all(&b, build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 128, 512));
    const struct nki_ap *sum = build_all(&b, build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 128, 1));
    RUN(&b, ACTIVATION, tile(t), func(NKI_FUNC_EXP), tile(t));
    RUN(&b, ACTIVATION, tile(t), func(NKI_FUNC_EXP), tile(t), tile(sum));
    RUN(&b, ACTIVATION, tile(t), func(NKI_FUNC_EXP), tile(t), none(), number(1), func(NKI_FUNC_ADD),
        tile(sum));
    RUN(&b, ACTIVATION_REDUCE, tile(t), func(NKI_FUNC_EXP), tile(t), func(NKI_FUNC_ADD), tile(sum));
    RUN(&b, ACTIVATION_REDUCE, tile(t), func(NKI_FUNC_EXP), tile(t), func(NKI_FUNC_ADD), none(),
        tile(sum));
    assert_true(scalar_ns(&b, 1) <= scalar_ns(&b, 0));
    assert_true(scalar_ns(&b, 2) > scalar_ns(&b, 0));
    assert_true(fabs(scalar_ns(&b, 3) - scalar_ns(&b, 2)) < 1e-9);
    assert_true(fabs(scalar_ns(&b, 4) - scalar_ns(&b, 0)) < 1e-9);
    build_end(&b);
}

/* Copies of 512 columns on Vector by type, memory and step: elements a cycle. */
static const struct copy_rate {
    enum dtype dtype;
    enum nki_space src;
    int step;
    double rate;
} copy_rates[] = {
    {DTYPE_BFLOAT16, NKI_SBUF, 1, 4},  {DTYPE_BFLOAT16, NKI_SBUF, 2, 2},
    {DTYPE_BFLOAT16, NKI_PSUM, 1, 2},  {DTYPE_BFLOAT16, NKI_PSUM, 2, 1},
    {DTYPE_FLOAT32, NKI_SBUF, 1, 1.6}, {DTYPE_FLOAT32, NKI_SBUF, 2, 1},
};

static void fast_modes_go_by_type_memory_and_step(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(copy_rates); i++) {
        const struct copy_rate *r = &copy_rates[i];
        struct build b = build_start("trn2");
        const struct device_constants *table = device_constants_of(b.generation->generation);
        uint32_t src = build_tile(&b, r->src, r->dtype, 128, 512 * r->step);
        uint32_t dst = build_tile(&b, NKI_SBUF, r->dtype, 128, 512);
        struct nki_ap *from = build_all(&b, src);
        from->count[from->n_dims - 1] = 512;
        from->step[from->n_dims - 1] = r->step;
        RUN(&b, TENSOR_COPY, tile(build_all(&b, dst)), tile(from));
        struct cost_place place = {.engine = NKI_ENGINE_VECTOR};
        double ns = cost_of(b.program, 0, place, table).interval_ns - table->vector_fixed_ns;
        double rate = 512 * table->vector_element_ns / ns;
        if (fabs(rate - r->rate) > 0.01)
            fail_msg("row %zu: %.2f elements a cycle, not %.1f", i, rate, r->rate);
        build_end(&b);
    }
}

static void filling_a_tile_is_no_slower_than_copying_one(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    uint32_t t = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 128, 512);
    RUN(&b, TENSOR_COPY, tile(build_all(&b, t)), tile(build_all(&b, t)));
    RUN(&b, MEMSET, tile(build_all(&b, t)), number(0));
    const struct device_constants *table = device_constants_of(b.generation->generation);
    static const enum nki_engine engines[] = {NKI_ENGINE_VECTOR, NKI_ENGINE_GPSIMD};
    for (size_t e = 0; e < COUNT_OF(engines); e++) {
        struct cost_place place = {.engine = engines[e]};
        assert_true(cost_of(b.program, 1, place, table).interval_ns <=
                    cost_of(b.program, 0, place, table).interval_ns);
    }
    build_end(&b);
}

/* ---- against slow versions ------------------------------------------------------------------ */

#define N_TILES 3
#define N_ISSUES 60

static uint32_t next_random(uint32_t *seed) {
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 10;
}

/* A part of a tile: all partitions or a quarter of them, 64 columns somewhere. */
static struct nki_ap *random_part(struct build *b, const uint32_t *tiles, uint32_t *seed,
                                  int quarter) {
    uint32_t storage = tiles[next_random(seed) % N_TILES];
    int column = (int)(next_random(seed) % 4) * 48;
    if (quarter < 0)
        return build_part(b, storage, 0, 128, column, 64);
    return build_part(b, storage, 32 * (int)(next_random(seed) % 4), 32, column, 64);
}

static struct build random_program(uint32_t seed) {
    static const enum nki_engine engines[] = {NKI_ENGINE_VECTOR, NKI_ENGINE_SCALAR,
                                              NKI_ENGINE_GPSIMD};
    struct build b = build_start("trn2");
    uint32_t tiles[N_TILES];
    for (int i = 0; i < N_TILES; i++)
        tiles[i] = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 128, 256);
    for (int i = 0; i < N_ISSUES; i++) {
        int quarter = (int)(next_random(&seed) % 3) - 1;
        struct nki_instr *instr = RUN(&b, TENSOR_COPY, tile(random_part(&b, tiles, &seed, quarter)),
                                      tile(random_part(&b, tiles, &seed, quarter)));
        instr->engine = (uint8_t)engines[next_random(&seed) % COUNT_OF(engines)];
    }
    return b;
}

static bool parts_meet(const struct nki_ap *a, const struct nki_ap *b) {
    return a->storage == b->storage && a->partition < b->partition + (uint32_t)b->count[0] &&
           b->partition < a->partition + (uint32_t)a->count[0] &&
           a->offset < b->offset + b->count[1] && b->offset < a->offset + a->count[1];
}

static bool must_wait(const struct nki_instr *later, const struct nki_instr *earlier) {
    const struct nki_ap *dst = later->operands[0].ap, *src = later->operands[1].ap;
    const struct nki_ap *old_dst = earlier->operands[0].ap, *old_src = earlier->operands[1].ap;
    return parts_meet(dst, old_dst) || parts_meet(dst, old_src) || parts_meet(src, old_dst);
}

/* Queues in order, every pair of instructions compared. Returns when the last result is there. */
static double naive_latency(const struct build *b, const struct schedule *schedule) {
    double free[QUEUE_COUNT] = {0}, visible[N_ISSUES], latency = 0;
    for (int s = 0; s < N_ISSUES; s++) {
        const struct issue_cost *cost = issue_cost_at(schedule->costs, s);
        double start = free[cost->queue];
        for (int p = 0; p < s; p++) {
            double hop = issue_cost_at(schedule->costs, p)->queue == cost->queue
                             ? 0
                             : schedule->table->semaphore_ns;
            if (must_wait(&b->program->instrs.at[s], &b->program->instrs.at[p]))
                start = MAX_OF(start, visible[p] + hop);
        }
        free[cost->queue] = start + cost->interval_ns;
        visible[s] = start + cost->latency_ns;
        latency = MAX_OF(latency, visible[s]);
    }
    return latency;
}

static void check_order(const struct build *b, const struct schedule *schedule,
                        const struct timeline *time) {
    for (int s = 0; s < N_ISSUES; s++)
        for (int p = 0; p < s; p++)
            if (must_wait(&b->program->instrs.at[s], &b->program->instrs.at[p])) {
                bool same = issue_cost_at(schedule->costs, p)->queue ==
                            issue_cost_at(schedule->costs, s)->queue;
                double hop = same ? 0 : schedule->table->semaphore_ns;
                assert_true(time->start[s] >= time->visible[p] + hop - 1e-6);
            }
}

static void random_programs_agree_with_the_slow_version(void **state) {
    (void)state;
    for (uint32_t seed = 1; seed <= 60; seed++)
        for (int legacy = 0; legacy < 2; legacy++) {
            struct build b = random_program(seed);
            b.program->dialect = legacy ? NKI_DIALECT_LEGACY : NKI_DIALECT_CURRENT;
            struct device_image *image = device_load(b.program, b.generation, &b.diags);
            assert_non_null(image);
            const struct device_constants *table = device_constants_of(b.generation->generation);
            uint32_t without = legacy ? 0 : PASS_BIT(REORDERS);
            struct allocation *allocation = allocation_make(image, table, without);
            struct issue_costs *costs = issue_costs_make(allocation, table);
            /* Who gets the port first depends on time. test_schedule.c checks that. */
            for (size_t c = 0; c < costs->all.len; c++)
                costs->all.at[c].port = false;
            struct depends *depends = depends_make(allocation, costs);
            struct schedule schedule = {allocation, depends, table, costs};
            struct timeline *time = timeline_make(&schedule, -1);
            check_order(&b, &schedule, time);
            if (!legacy)
                assert_true(fabs(time->latency_ns - naive_latency(&b, &schedule)) < 1e-6);
            timeline_free(time);
            depends_free(depends);
            issue_costs_free(costs);
            allocation_free(allocation);
            device_unload(image);
            build_end(&b);
        }
}

/* In a kernel with transfers, spills and matrix products: no issue comes before what it waits
 * for. */
static void check_edges(const struct schedule *schedule, const struct timeline *time) {
    for (uint32_t s = 0; s < schedule->depends->n; s++)
        for (uint32_t e = schedule->depends->base[s]; e < schedule->depends->base[s + 1]; e++) {
            uint32_t edge = schedule->depends->producer.at[e], p = edge & ~DEPENDS_ORDER;
            bool same = issue_cost_at(schedule->costs, p)->queue ==
                        issue_cost_at(schedule->costs, s)->queue;
            bool at_once = (edge & DEPENDS_ORDER) ||
                           (same && issue_cost_at(schedule->costs, s)->queue == QUEUE_TENSOR);
            assert_true(p < s);
            assert_true(time->start[s] >= (at_once ? time->start[p] : time->visible[p]) - 1e-6);
        }
}

static void nothing_starts_before_what_it_depends_on(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        struct loaded l = load(samples[i].text, &samples[i], "trn2");
        const struct device_constants *table = device_constants_of(NKI_GEN3);
        struct allocation *allocation = allocation_make(l.image, table, 0);
        struct issue_costs *costs = issue_costs_make(allocation, table);
        struct depends *depends = depends_make(allocation, costs);
        struct schedule schedule = {allocation, depends, table, costs};
        struct timeline *time = timeline_make(&schedule, -1);
        assert_true(depends->producer.len > 0);
        check_edges(&schedule, time);
        timeline_free(time);
        depends_free(depends);
        issue_costs_free(costs);
        allocation_free(allocation);
        unload(&l);
    }
}

/* Two stores of the same tile. The first one needs all DMA engines, of which one is busy for long;
 * the second one needs another engine only, and ends before it. */
static void a_tile_is_kept_for_an_older_store(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    uint32_t in = build_input(&b, DTYPE_FLOAT32, 8, 16000, NULL);
    uint32_t wide = build_output(&b, DTYPE_FLOAT32, 128, 64),
             narrow = build_output(&b, DTYPE_FLOAT32, 8, 64);
    uint32_t other = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 128, 16000);
    uint32_t t = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 8, 64);
    RUN(&b, MEMSET, tile(build_all(&b, t)), number(1));
    build_copy(&b, build_part(&b, other, 120, 8, 0, 16000), build_all(&b, in));
    struct nki_ap *elements = build_part(&b, wide, 0, 8, 0, 64);
    elements->step[1] = 2;
    build_copy(&b, elements, build_all(&b, t));
    build_copy(&b, build_all(&b, narrow), build_all(&b, t));
    RUN(&b, MEMSET, tile(build_all(&b, t)), number(2));
    struct device_image *image = device_load(b.program, b.generation, &b.diags);
    assert_non_null(image);
    const struct device_constants *table = device_constants_of(b.generation->generation);
    struct allocation *allocation = allocation_make(image, table, 0);
    struct issue_costs *costs = issue_costs_make(allocation, table);
    struct depends *depends = depends_make(allocation, costs);
    struct schedule schedule = {allocation, depends, table, costs};
    struct timeline *time = timeline_make(&schedule, -1);
    size_t last = allocation->issues.len - 1;
    assert_true(time->visible[last - 2] > time->visible[last - 1] + 100);
    assert_true(time->start[last] >= time->visible[last - 2]);
    timeline_free(time);
    depends_free(depends);
    issue_costs_free(costs);
    allocation_free(allocation);
    device_unload(image);
    build_end(&b);
}

/* ---- doubt ---------------------------------------------------------------------------------- */

/* What was never measured has no range, such as trn3. Where a bound has too few kernels, those of
 * all bounds stand for it, as in the current dialect on trn1. */
static void a_range_is_told_only_where_something_was_measured(void **state) {
    (void)state;
    assert_int_equal(device_interval_of("trn3", "current", "DMA").rows, 0);
    assert_int_equal(device_interval_of("trn1", "current", "DMA").rows,
                     device_interval_of("trn1", "current", "Tensor").rows);
    assert_true(device_interval_of("trn1", "current", "DMA").rows >= 8);
    assert_int_equal(device_interval_of(NULL, NULL, NULL).rows, 0);
    struct device_interval dma = device_interval_of("trn2", "legacy", "DMA"),
                           rare = device_interval_of("trn2", "legacy", "GpSimd");
    assert_true(dma.rows >= 8 && rare.rows > dma.rows);
    assert_true(dma.low > 0 && dma.low < dma.high && rare.low < rare.high);
}

static void kernels_differ_in_the_first_thing_that_is_not_the_same(void **state) {
    (void)state;
    const struct device_counts one = {1e6, 1e9, {100, 200, 50, 0}, 1000};
    struct device_counts other = one;
    assert_int_equal(device_edit_between(&one, &other), DEVICE_EDIT_ORDER);
    other.packets = 1100;
    assert_int_equal(device_edit_between(&one, &other), DEVICE_EDIT_TRANSFERS);
    other.instructions[1] -= 50;
    other.instructions[3] += 50;
    assert_int_equal(device_edit_between(&one, &other), DEVICE_EDIT_ENGINES);
    other.instructions[0] = 200;
    assert_int_equal(device_edit_between(&one, &other), DEVICE_EDIT_TILING);
    other.flops = 2e9;
    assert_int_equal(device_edit_between(&one, &other), DEVICE_EDIT_ARITHMETIC);
    other.hbm_bytes = 1.01e6; /* the same, within two percent */
    assert_int_equal(device_edit_between(&one, &other), DEVICE_EDIT_ARITHMETIC);
    other.hbm_bytes = 2e6;
    assert_int_equal(device_edit_between(&one, &other), DEVICE_EDIT_TRAFFIC);
    assert_int_equal(device_edit_between(&other, &one), DEVICE_EDIT_TRAFFIC);
    for (int edit = 0; edit < DEVICE_EDITS; edit++)
        assert_true(device_edit_least((enum device_edit)edit) >= 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_profile_is_consistent),
        cmocka_unit_test(a_range_is_told_only_where_something_was_measured),
        cmocka_unit_test(kernels_differ_in_the_first_thing_that_is_not_the_same),
        cmocka_unit_test(the_same_program_takes_the_same_time),
        cmocka_unit_test(what_does_not_fit_is_spilled_in_the_legacy_dialect),
        cmocka_unit_test(what_does_not_fit_is_refused_in_the_current_dialect),
        cmocka_unit_test(instructions_cost_what_was_measured),
        cmocka_unit_test(a_reduction_costs_the_same_in_every_activation),
        cmocka_unit_test(fast_modes_go_by_type_memory_and_step),
        cmocka_unit_test(filling_a_tile_is_no_slower_than_copying_one),
        cmocka_unit_test(products_of_other_parts_of_the_array_run_at_once),
        cmocka_unit_test(random_programs_agree_with_the_slow_version),
        cmocka_unit_test(nothing_starts_before_what_it_depends_on),
        cmocka_unit_test(a_tile_is_kept_for_an_older_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
