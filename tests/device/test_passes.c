/* SPDX-License-Identifier: Apache-2.0 */
/* What the compilers make of a kernel before it runs, pass by pass, and how transfers load the DMA
 * engines: each kernel is timed with a pass and without it. */
#include "device/metric.h"
#include "device/time/testing.h"

#include "build.h"

#include <stdio.h>

#define CURRENT                                                                  \
    "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n@nki.jit\n"  \
    "def kernel(a, i):\n"                                                        \
    "    out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.shared_hbm)\n" \
    "    x = nl.ndarray((128, 512), dtype=nl.bfloat16, buffer=nl.sbuf)\n"        \
    "    y = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)\n"         \
    "    nisa.memset(dst=x, value=1.0)\n"
#define LEGACY                                                        \
    "import neuronxcc.nki as nki\nimport neuronxcc.nki.isa as nisa\n" \
    "import neuronxcc.nki.language as nl\n@nki.jit\n"                 \
    "def kernel(a, i):\n"                                             \
    "    out = nl.ndarray((8, 128, 512), dtype=nl.float32, buffer=nl.shared_hbm)\n"
#define END "    nisa.dma_copy(dst=out, src=y)\n    return out\n"

/* Zeroed, multiplied into and copied out, again and again. */
static const char zeroed[] =
    CURRENT "    for k in range(8):\n"
            "        acc = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)\n"
            "        nisa.memset(dst=acc, value=0.0)\n"
            "        nisa.nc_matmul(dst=acc, stationary=x[0:128, 0:128], moving=x)\n"
            "        nisa.tensor_copy(dst=y, src=acc)\n" END;
/* One buffer for all iterations; each fills all of it. */
static const char one_buffer[] =
    LEGACY "    x = nl.ndarray((nl.par_dim(128), 512), dtype=nl.float32, buffer=nl.sbuf)\n"
           "    for k in nl.sequential_range(8):\n"
           "        nisa.dma_copy(dst=x, src=a[k * 128:(k + 1) * 128, :])\n"
           "        nl.store(out[k], nl.exp(x))\n"
           "    return out\n";
static const char products[] =
    LEGACY "    x = nl.load(a[0:128, :])\n"
           "    for k in nl.affine_range(8):\n"
           "        acc = nl.zeros((128, 512), nl.float32, buffer=nl.psum)\n"
           "        acc += nl.matmul(x[:, 0:128], x, transpose_x=True)\n"
           "        nl.store(out[k], nl.copy(acc))\n"
           "    return out\n";
/* 16 tiles of 16 KiB a partition, which is more than trn2 has, each filled by eight loads. */
static const char too_much_loaded[] =
    CURRENT "    t = []\n"
            "    for k in range(16):\n"
            "        z = nl.ndarray((128, 8, 512), dtype=nl.float32, buffer=nl.sbuf)\n"
            "        for part in range(8):\n"
            "            nisa.dma_copy(dst=z[:, part, :], src=a[0:128, :])\n"
            "        t.append(z)\n"
            "    for k in range(16):\n"
            "        nisa.tensor_copy(dst=y, src=t[k][:, 7, :])\n" END;
/* The same, of tiles that were not loaded, and with this many parts of each read. */
static const char too_much_made[] =
    CURRENT "    t = []\n"
            "    for k in range(16):\n"
            "        z = nl.ndarray((128, 8, 512), dtype=nl.float32, buffer=nl.sbuf)\n"
            "        for part in range(8):\n"
            "            nisa.tensor_copy(dst=z[:, part, :], src=x)\n"
            "        t.append(z)\n"
            "    for k in range(16):\n"
            "        for part in range(%d):\n"
            "            nisa.tensor_copy(dst=y, src=t[k][:, part, :])\n" END;
/* All are zeroed first, then one after the other is filled and used. */
static const char too_much_zeroed[] =
    CURRENT "    t = []\n"
            "    for k in range(16):\n"
            "        z = nl.ndarray((128, 8, 512), dtype=nl.float32, buffer=nl.sbuf)\n"
            "        nisa.memset(dst=z, value=0.0)\n"
            "        t.append(z)\n"
            "    for k in range(16):\n"
            "        nisa.tensor_copy(dst=t[k][:, 0, :], src=x)\n"
            "        nisa.tensor_copy(dst=y, src=t[k][:, 7, :])\n" END;
/* 240 KiB a partition in tiles of so many parts, of which each is added to in turn. */
static const char in_turn[] =
    CURRENT "    t = []\n"
            "    for k in range(120 // %d):\n"
            "        z = nl.ndarray((128, %d, 512), dtype=nl.float32, buffer=nl.sbuf)\n"
            "        nisa.memset(dst=z, value=0.0)\n"
            "        t.append(z)\n"
            "    for k in range(4 * 120):\n"
            "        z = t[k // %d %% len(t)][:, k %% %d, :]\n"
            "        nisa.tensor_tensor(dst=z, data1=z, data2=x, op=nl.add)\n" END;
static const char halves[] =
    LEGACY "    for k in nl.affine_range(8):\n"
           "        x = nl.ndarray((nl.par_dim(128), 512), dtype=nl.float32, buffer=nl.sbuf)\n"
           "        nisa.dma_copy(dst=x[0:64, :], src=a[k * 128:k * 128 + 64, :])\n"
           "        nisa.dma_copy(dst=x[%d:%d, :], src=a[k * 128 + 64:k * 128 + 128, :])\n"
           "        nl.store(out[k], x)\n"
           "    return out\n";
/* Rows that only the device knows, and rows known before. */
static const char rows[] = CURRENT "    n = nl.ndarray((128, 1), dtype=nl.int32, buffer=nl.sbuf)\n"
                                   "    nisa.dma_copy(dst=n, src=i)\n"
                                   "    for k in range(8):\n"
                                   "        nisa.dma_copy(dst=y, src=%s)\n" END;

/* Eight runs for each partition. */
static const char pieces[] =
    CURRENT "    for k in range(8):\n"
            "        nisa.dma_copy(dst=y.reshape((128, 8, 64)), src=a.ap(pattern=[[512, 128], "
            "[65536, 8], [1, 64]], offset=0), dge_mode=nisa.dge_mode.%s)\n" END;

/* Many small loads and stores. */
static const char small[] =
    LEGACY "    for k in nl.affine_range(8):\n"
           "        for n in nl.affine_range(16):\n"
           "            x = nl.load(a[k * 128:(k + 1) * 128, n * 32:(n + 1) * 32])\n"
           "            nl.store(out[k, :, n * 32:(n + 1) * 32], nl.exp(x))\n"
           "    return out\n";
/* Columns of many rows: each row of a load is a run of this many elements. */
static const char columns[] = LEGACY "    for k in nl.affine_range(8):\n"
                                     "        x = nl.load(a[k * 128:(k + 1) * 128, 0:%d])\n"
                                     "        nl.store(out[k, :, 0:%d], nl.exp(x))\n"
                                     "    return out\n";
/* Half of the copies on another engine, all between tiles of SBUF. */
static const char split[] =
    CURRENT "    z = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)\n"
            "    w = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)\n"
            "    nisa.memset(dst=z, value=1.0)\n"
            "    for k in range(16):\n"
            "        nisa.tensor_copy(dst=y, src=z, engine=nisa.engine.vector)\n"
            "        nisa.tensor_copy(dst=w, src=z, engine=nisa.engine.%s)\n" END;
static const char summed[] =
    CURRENT "    for k in range(16):\n"
            "        nisa.dma_compute(dst=y, srcs=[%s], reduce_op=nl.add)\n" END;

/* Rows of fp32 that are turned while they are loaded: so many at once. */
static const char turned[] =
    LEGACY "    for k in nl.affine_range(1024 // %d):\n"
           "        x = nl.load_transpose2d(a[k * %d:(k + 1) * %d, 0:128])\n"
           "        for n in nl.affine_range(%d // 128):\n"
           "            nl.store(out[k * (%d // 128) + n, :, 0:128], x[:, n * 128:(n + 1) * 128])\n"
           "    return out\n";

/* An operator on two tiles of SBUF. */
static const char operated[] =
    LEGACY "    x = nl.load(a[0:128, :])\n"
           "    for k in nl.affine_range(8):\n"
           "        nl.store(out[k], nl.%s(x, nl.load(a[k * 128:(k + 1) * 128, :])))\n"
           "    return out\n";

/* Elements of an exponential and their sum. The elements are used when they are stored. */
static const char summing[] =
    LEGACY "    x = nl.load(a[0:128, :])\n"
           "    for k in nl.affine_range(8):\n"
           "        acc = nisa.nc_matmul(x[:, 0:128], x)\n"
           "        e = nl.ndarray((nl.par_dim(128), 512), dtype=nl.float32, buffer=nl.sbuf)\n"
           "        s = nl.ndarray((nl.par_dim(128), 1), dtype=nl.float32, buffer=nl.sbuf)\n"
           "        e[...] = nisa.activation(op=nl.exp, data=acc, reduce_op=nl.add, "
           "reduce_res=s, reduce_cmd=nisa.reduce_cmd.reset_reduce)\n"
           "        nl.store(out[k], nl.multiply(%s, s))\n"
           "    return out\n";
/* Products one after the other, with this many rows of the array. */
static const char many_products[] =
    CURRENT "    for k in range(200):\n"
            "        acc = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)\n"
            "        nisa.nc_matmul(dst=acc, stationary=x[0:%d, 0:128], moving=x[0:%d, :])\n"
            "    nisa.tensor_copy(dst=y, src=acc)\n" END;

/* `passes`: names apart by spaces, of those to leave out; NULL: none. */
static uint32_t passes_of(const char *passes) {
    char words[64], *rest = words;
    uint32_t bits = 0;
    (void)snprintf(words, sizeof words, "%s", passes ? passes : "");
    for (char *word; (word = strtok_r(rest, " ", &rest));)
        bits |= device_pass_find(word);
    return bits;
}

static struct device_profile *time_text(const char *text, const char *device, const char *pass) {
    const struct device_generation *generation = device_generation_find(device);
    struct nki_input inputs[2] = {
        {.array = {.dtype = DTYPE_FLOAT32, .ndim = 2, .shape = {1024, 512}}},
        {.array = {.dtype = DTYPE_INT32, .ndim = 2, .shape = {128, 1}}}};
    struct nki_specialise_options options = {
        .generation = generation->generation, .inputs = inputs, .n_inputs = 2};
    struct diag_list diags = {0};
    struct nki_tree *tree = nki_parse("kernel.py", str_of(text), &diags);
    struct nki_program *program = nki_specialise(tree, &options, &diags);
    struct device_image *image = program ? device_load(program, generation, &diags) : NULL;
    if (!image)
        fail_msg("%s", diags.all.len ? diags.all.at[0].message : "no image");
    struct device_profile *profile = device_time_without(image, NULL, passes_of(pass));
    device_unload(image);
    nki_program_free(program);
    nki_tree_free(tree);
    diag_free(&diags);
    return profile;
}

static double value_of(const char *text, const char *device, const char *pass, const char *metric) {
    struct device_profile *profile = time_text(text, device, pass);
    double value = profile_metric(profile, metric, -1);
    device_profile_free(profile);
    return value;
}

static double us(const char *text, const char *device, const char *pass) {
    return value_of(text, device, pass, "total_time") * 1e6;
}

#define VECTOR "vector_engine_active_time"

static void zeroing_an_accumulator_is_a_flag_of_the_product(void **state) {
    (void)state;
    double busy = value_of(zeroed, "trn2", "zero_flags", VECTOR);
    assert_true(value_of(zeroed, "trn2", NULL, VECTOR) < busy - 2e-6);
    assert_true(us(zeroed, "trn2", NULL) <= us(zeroed, "trn2", "zero_flags"));
}

static void a_buffer_that_is_filled_anew_is_another_one(void **state) {
    (void)state;
    assert_true(us(one_buffer, "trn2", NULL) < us(one_buffer, "trn2", "renaming") - 5);
}

static void copies_out_of_psum_are_shared_from_trn2_on(void **state) {
    (void)state;
    assert_true(value_of(products, "trn2", NULL, VECTOR) > 1e-6);
    assert_true(value_of(products, "trn2", "shared_copies", VECTOR) <= 0);
    assert_true(value_of(products, "trn1", NULL, VECTOR) <= 0);
}

/* 256 KiB a partition are live and 192 fit, so at least 3 tiles of 2 MiB leave. What is read of one
 * comes back, however many instructions read it. */
static void what_is_read_of_a_spilled_tile_comes_back(void **state) {
    (void)state;
    char all[2048], one[2048];
    (void)snprintf(all, sizeof all, too_much_made, 8);
    (void)snprintf(one, sizeof one, too_much_made, 1);
    double saved = value_of(all, "trn2", NULL, "spill_save_bytes");
    assert_true(saved >= 3.0 * (2 << 20) && saved <= 16.0 * (2 << 20));
    assert_float_equal(value_of(all, "trn2", NULL, "spill_reload_bytes"), saved, 1);
    assert_float_equal(value_of(one, "trn2", NULL, "spill_reload_bytes"), saved / 8, 1);
    assert_true(us(all, "trn2", NULL) > us(one, "trn2", NULL));
}

static void zeros_are_not_spilled(void **state) {
    (void)state;
    assert_true(value_of(too_much_zeroed, "trn2", NULL, "spill_save_bytes") <= 0);
    assert_true(value_of(too_much_zeroed, "trn2", NULL, "spill_reload_bytes") <= 0);
}

/* The part of the shorter of DMA and Vector that runs beside the other. */
static double beside(int parts) {
    char text[2048];
    (void)snprintf(text, sizeof text, in_turn, parts, parts, parts, parts);
    struct device_profile *profile = time_text(text, "trn2", NULL);
    double dma = profile_metric(profile, "dma_active_time", 0);
    double vector = profile_metric(profile, VECTOR, 0);
    double all = profile_metric(profile, "total_time", 0);
    device_profile_free(profile);
    return (dma + vector - all) / fmin(dma, vector);
}

/* An eighth of SBUF is kept free: a tile of 12 KiB comes back while others are worked on, one of
 * 48 KiB only when another has left. */
static void what_comes_back_early_needs_room_in_one_piece(void **state) {
    (void)state;
    assert_true(beside(6) > 0.5);
    assert_true(beside(24) < 0.3);
}

static void what_several_loads_made_is_not_saved(void **state) {
    (void)state;
    double read = value_of(too_much_loaded, "trn2", NULL, "hbm_read_bytes");
    assert_true(value_of(too_much_loaded, "trn2", NULL, "spill_save_bytes") <= 0);
    assert_true(read > 16.0 * (2 << 20)); /* some come back */
}

static void an_engine_serves_the_same_partitions_always(void **state) {
    (void)state;
    char same[1024], apart[1024];
    snprintf(same, sizeof same, halves, 0, 64);
    snprintf(apart, sizeof apart, halves, 64, 128);
    assert_true(us(same, "trn2", NULL) > us(apart, "trn2", NULL) + 1);
}

static void gathered_rows_cost_a_descriptor_each(void **state) {
    (void)state;
    char known[1024], gathered[1024];
    snprintf(known, sizeof known, rows, "a[0:128, :]");
    snprintf(gathered, sizeof gathered, rows,
             "a.ap(pattern=[[512, 128], [1, 512]], offset=0, vector_offset=n, indirect_dim=0)");
    /* 8 transfers of 128 descriptors, 10 ns each, one after the other. */
    assert_true(us(gathered, "trn2", NULL) > us(known, "trn2", NULL) + 4);
}

/* Many small loads: what makes their descriptors decides. Laid down before, they cost next to
 * nothing; the hardware takes 600 ns for a transfer, GpSimd 10 ns for each of 128 descriptors. */
static void descriptors_cost_by_who_makes_them(void **state) {
    (void)state;
    char known[1024], hardware[1024], software[1024], before[1024];
    snprintf(known, sizeof known, rows, "a[0:128, :]");
    snprintf(hardware, sizeof hardware, rows, "a[0:128, :], dge_mode=nisa.dge_mode.hwdge");
    snprintf(software, sizeof software, rows, "a[0:128, :], dge_mode=nisa.dge_mode.swdge");
    snprintf(before, sizeof before, rows, "a[0:128, :], dge_mode=nisa.dge_mode.none");
    assert_true(us(hardware, "trn2", NULL) == us(known, "trn2", NULL));
    assert_true(us(software, "trn2", NULL) > us(hardware, "trn2", NULL) + 4);
    assert_true(us(before, "trn2", NULL) < us(hardware, "trn2", NULL) - 3);
}

/* GpSimd writes 128 descriptors for a transfer, not 1024: 10 us for all eight, not 84. */
static void gpsimd_writes_a_descriptor_for_each_partition(void **state) {
    (void)state;
    char hardware[1024], software[1024];
    snprintf(hardware, sizeof hardware, pieces, "hwdge");
    snprintf(software, sizeof software, pieces, "swdge");
    double runs = value_of(hardware, "trn2", NULL, "dma_packet_count");
    double written = value_of(software, "trn2", NULL, "dma_packet_count");
    assert_float_equal(runs - written, 8 * (1024 - 128), 0.5);
    assert_true(us(software, "trn2", NULL) < us(hardware, "trn2", NULL) + 20);
}

/* The two DGE blocks of trn2 take 600 ns for each of 128 loads. trn1 has none. */
static void small_transfers_wait_for_their_descriptors(void **state) {
    (void)state;
    assert_true(us(small, "trn2", NULL) > 128 * 0.6 / 2);
    assert_true(us(small, "trn2", NULL) > us(small, "trn2", "dge") + 12);
    assert_true(us(small, "trn1", NULL) == us(small, "trn1", "dge"));
}

/* Of descriptors that were laid down before, runs of 512 B share packets of 4 KiB. Longer ones and
 * shorter ones, those that the hardware makes and those of trn1 have packets of their own. */
static void short_runs_share_packets(void **state) {
    (void)state;
    static const struct {
        int elements;
        const char *device, *passes, *without;
        bool shares;
    } rows_of[] = {
        {128, "trn2", "dge", "dge packets", true}, {256, "trn2", "dge", "dge packets", true},
        {512, "trn2", "dge", "dge packets", true}, {64, "trn2", "dge", "dge packets", false},
        {128, "trn2", NULL, "packets", false},     {128, "trn1", "dge", "dge packets", false}};
    for (size_t i = 0; i < COUNT_OF(rows_of); i++) {
        char text[1024];
        snprintf(text, sizeof text, columns, rows_of[i].elements, rows_of[i].elements);
        double with = value_of(text, rows_of[i].device, rows_of[i].passes, "dma_packet_time");
        double alone = value_of(text, rows_of[i].device, rows_of[i].without, "dma_packet_time");
        assert_true(rows_of[i].shares ? with < 0.97 * alone && with > 0.7 * alone : with == alone);
    }
}

/* GpSimd shares the port to SBUF with Vector's fast modes. Scalar does not. */
static void work_moved_to_gpsimd_competes_with_vector(void **state) {
    (void)state;
    char shared[2048], apart[2048];
    snprintf(shared, sizeof shared, split, "gpsimd");
    snprintf(apart, sizeof apart, split, "scalar");
    assert_true(us(shared, "trn2", NULL) > us(apart, "trn2", NULL) + 4);
}

static void every_source_of_a_sum_is_read(void **state) {
    (void)state;
    char one[2048], three[2048];
    snprintf(one, sizeof one, summed, "a[0:128, :]");
    snprintf(three, sizeof three, summed, "a[0:128, :], a[128:256, :], a[256:384, :]");
    double single = value_of(one, "trn2", NULL, "dma_packet_time");
    assert_true(value_of(three, "trn2", NULL, "dma_packet_time") > 2.5 * single);
}

/* Vector has no divider: it takes a reciprocal, and multiplies. */
static void a_quotient_costs_its_reciprocal(void **state) {
    (void)state;
    char sum[1024], quotient[1024];
    snprintf(sum, sizeof sum, operated, "add");
    snprintf(quotient, sizeof quotient, operated, "divide");
    assert_true(value_of(quotient, "trn2", NULL, VECTOR) > 4 * value_of(sum, "trn2", NULL, VECTOR));
    assert_true(value_of(quotient, "trn1", NULL, VECTOR) > value_of(sum, "trn1", NULL, VECTOR));
}

static void an_activation_with_two_results_is_computed_twice(void **state) {
    (void)state;
    char both[2048], sum[2048];
    snprintf(both, sizeof both, summing, "e");
    snprintf(sum, sizeof sum, summing, "x");
    const char *scalar = "scalar_engine_active_time", *tensor = "tensor_engine_active_time";
    assert_true(value_of(both, "trn2", NULL, scalar) >
                value_of(both, "trn2", "recomputes", scalar) + 4e-6);
    assert_true(value_of(both, "trn2", NULL, tensor) >
                value_of(both, "trn2", "recomputes", tensor) + 6e-6);
    assert_true(us(sum, "trn2", NULL) <= us(sum, "trn2", "recomputes"));
}

/* When half of its rows are idle, the Tensor engine is never busy enough for its full clock. */
static void a_little_used_tensor_engine_keeps_half_its_clock(void **state) {
    (void)state;
    char all[2048], half[2048];
    snprintf(all, sizeof all, many_products, 128, 128);
    snprintf(half, sizeof half, many_products, 64, 64);
    assert_true(value_of(all, "trn2", NULL, "throttle_time") < 6e-6);
    assert_true(value_of(half, "trn2", NULL, "throttle_time") > 200 * 0.2e-6);
    assert_true(value_of(half, "trn1", NULL, "throttle_time") <= 0);
}

/* On the Tensor engine, a tile at a time: no element is a descriptor of its own. */
static void a_transposed_load_of_many_rows_costs_its_tiles(void **state) {
    (void)state;
    static const char *const devices[] = {"trn1", "trn2"};
    for (size_t d = 0; d < COUNT_OF(devices); d++) {
        char tiles[1024], many[1024];
        snprintf(tiles, sizeof tiles, turned, 128, 128, 128, 128, 128);
        snprintf(many, sizeof many, turned, 512, 512, 512, 512, 512);
        assert_true(us(many, devices[d], NULL) < 1.3 * us(tiles, devices[d], NULL));
        assert_float_equal(value_of(many, devices[d], NULL, "transpose_flops"),
                           value_of(tiles, devices[d], NULL, "transpose_flops"), 1);
    }
}

static void every_constant_says_where_it_comes_from(void **state) {
    (void)state;
    size_t n = 0;
    for (const struct device_constant *c; (c = device_constant_at(n)); n++) {
        assert_true(strlen(c->source) > 10 && *c->unit);
        for (int g = 0; g < 3; g++)
            assert_true(isfinite(c->value[g]) && c->value[g] >= 0 &&
                        c->known[g].how <= DEVICE_GUESSED);
    }
    assert_true(n > 30);
}

/* A cost that follows from the hardware agrees with the hardware's table. */
static void costs_agree_with_the_hardware(void **state) {
    (void)state;
    for (enum nki_generation g = NKI_GEN2; g <= NKI_GEN4; g++) {
        const struct device_generation *hardware = device_generation_of(g);
        const struct device_constants *c = device_constants_of(g);
        const double *clock = hardware->clock_ghz;
        assert_float_equal(c->vector_element_ns * clock[NKI_ENGINE_VECTOR], 1, 1e-9);
        assert_float_equal(c->scalar_element_ns * clock[NKI_ENGINE_SCALAR], 1, 1e-9);
        assert_float_equal(c->gpsimd_element_ns * clock[NKI_ENGINE_GPSIMD], 1, 1e-9);
        assert_true(c->pe_column_ns * clock[NKI_ENGINE_TENSOR] >= 1 - 1e-9);
        assert_true(c->dma_byte_ns * hardware->dma_engine_bytes_per_ns >= 1 - 1e-9);
        assert_true(c->dma_sustained_byte_ns >= c->dma_byte_ns);
        /* A product of 128 x 128 x 512 at the peak and on the clock. */
        double flops = 2.0 * 128 * 128 * 512;
        assert_true(512 * c->pe_column_ns >= flops / (hardware->pe_tflops_bf16 * 1e3) * 0.99);
    }
}

static void worse_constants_make_kernels_slower(void **state) {
    (void)state;
    for (enum nki_generation g = NKI_GEN2; g <= NKI_GEN4; g++) {
        struct device_constants worse = *device_constants_of(g);
        device_constants_worsen(&worse, DEVICE_FITTED);
        device_constants_worsen(&worse, DEVICE_GUESSED);
        size_t moved = 0;
        const struct device_constant *c;
        for (size_t i = 0; (c = device_constant_at(i)); i++) {
            double was = device_constant_value(device_constants_of(g), c);
            double is = device_constant_value(&worse, c);
            enum device_how how = device_constant_known(c, g).how;
            moved += is != was;
            assert_true(how >= DEVICE_FITTED || is == was);
            assert_true(c->less_is_worse ? is <= was || was <= 0 : is >= was);
        }
        assert_true(moved > 5);
    }
}

/* The table knows nothing of the constants that a host's calibration put in place of its own. */
static void a_hosts_own_constants_are_not_worsened(void **state) {
    (void)state;
    struct device_constants own = *device_constants_of(NKI_GEN3);
    own.dma_start_ns *= 1.25;
    own.dma_static_issue_ns *= 1.25;
    struct device_constants worse = own;
    device_constants_worsen(&worse, DEVICE_FITTED);
    assert_true(worse.dma_static_issue_ns == own.dma_static_issue_ns);
    assert_true(worse.vector_pair > own.vector_pair);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeroing_an_accumulator_is_a_flag_of_the_product),
        cmocka_unit_test(a_buffer_that_is_filled_anew_is_another_one),
        cmocka_unit_test(copies_out_of_psum_are_shared_from_trn2_on),
        cmocka_unit_test(what_is_read_of_a_spilled_tile_comes_back),
        cmocka_unit_test(zeros_are_not_spilled),
        cmocka_unit_test(what_comes_back_early_needs_room_in_one_piece),
        cmocka_unit_test(what_several_loads_made_is_not_saved),
        cmocka_unit_test(an_engine_serves_the_same_partitions_always),
        cmocka_unit_test(gathered_rows_cost_a_descriptor_each),
        cmocka_unit_test(descriptors_cost_by_who_makes_them),
        cmocka_unit_test(gpsimd_writes_a_descriptor_for_each_partition),
        cmocka_unit_test(small_transfers_wait_for_their_descriptors),
        cmocka_unit_test(short_runs_share_packets),
        cmocka_unit_test(work_moved_to_gpsimd_competes_with_vector),
        cmocka_unit_test(every_source_of_a_sum_is_read),
        cmocka_unit_test(a_quotient_costs_its_reciprocal),
        cmocka_unit_test(an_activation_with_two_results_is_computed_twice),
        cmocka_unit_test(a_little_used_tensor_engine_keeps_half_its_clock),
        cmocka_unit_test(a_transposed_load_of_many_rows_costs_its_tiles),
        cmocka_unit_test(every_constant_says_where_it_comes_from),
        cmocka_unit_test(costs_agree_with_the_hardware),
        cmocka_unit_test(worse_constants_make_kernels_slower),
        cmocka_unit_test(a_hosts_own_constants_are_not_worsened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
