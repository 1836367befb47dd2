/* SPDX-License-Identifier: Apache-2.0 */
/* Data movement, matrix products and memory: DMA with gather and scatter, transposes, accumulation
 * in PSUM, masks, life spans, unwritten memory, limits of a run. */
#include "device/build.h"

static float *counted(size_t n) {
    float *values = mem_alloc(n, sizeof *values);
    for (size_t i = 0; i < n; i++)
        values[i] = (float)(i % 251) - 100;
    return values;
}

static void dma_copies_between_shapes(void **state) {
    (void)state;
    float *values = counted(96);
    struct build b = build_start("trn2");
    uint32_t input = build_input(&b, DTYPE_FLOAT32, 4, 24, values);
    uint32_t t = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 12, 8);
    struct nki_ap *src = build_all(&b, input); /* [4, 3, 8] */
    src->n_dims = 3;
    src->count[1] = 3;
    src->step[1] = 8;
    src->count[2] = 8;
    src->step[2] = 1;
    RUN(&b, DMA_COPY, tile(build_all(&b, t)), tile(src), none(), none(),
        integer(NKI_DGE_NONE)); /* a member or its number */
    build_store(&b, t);
    build_must_run(&b);
    assert_memory_equal(b.outputs[0].data, values, 96 * sizeof *values);
    free(values);
    build_end(&b);
}

static void dma_copies_shapes_that_share_no_factor(void **state) {
    (void)state;
    float *values = counted(36);
    struct build b = build_start("trn2");
    uint32_t input = build_input(&b, DTYPE_FLOAT32, 4, 9, values);
    uint32_t t = build_tile(&b, NKI_SBUF, DTYPE_BFLOAT16, 6, 10);
    build_copy(&b, build_part(&b, t, 0, 6, 2, 6), build_all(&b, input));
    build_store(&b, t);
    build_must_run(&b);
    for (size_t i = 0; i < 36; i++)
        assert_true(build_value(&b, 0, i / 6 * 10 + 2 + i % 6) == values[i]);
    assert_true(isnan(build_value(&b, 0, 0)));
    free(values);
    build_end(&b);
}

static void dma_casts_and_broadcasts(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    uint32_t input = build_input(&b, DTYPE_FLOAT32, 1, 4, (const float[]){1.5f, 2.5f, -3.7f, 300});
    uint32_t t = build_tile(&b, NKI_SBUF, DTYPE_INT8, 3, 4);
    struct nki_ap *src = build_all(&b, input);
    src->step[0] = 0;
    src->count[0] = 3;
    build_copy(&b, build_all(&b, t), src);
    build_store(&b, t);
    build_must_run(&b);
    static const float expected[4] = {2, 2, -4, 127};
    for (size_t i = 0; i < 12; i++)
        assert_true(build_value(&b, 0, i) == expected[i % 4]);
    build_end(&b);
}

/* ---- gather and scatter --------------------------------------------------------------------- */

static struct nki_ap *indirect(struct build *b, uint32_t storage, uint32_t index, int rows,
                               bool skip) {
    const struct nki_storage *s = b->program->storages.at[storage];
    struct nki_indirect by = {.vector = true,
                              .index = build_all(b, index),
                              .step = s->shape[1],
                              .skip_out_of_bounds = skip,
                              .limit = s->shape[0]};
    struct nki_ap *ap = build_all(b, storage);
    ap->count[0] = rows;
    ap->indirect = arena_dup(b->program->arena, &by, sizeof by);
    return ap;
}

static void rows_are_gathered_by_index(void **state) {
    (void)state;
    float *values = counted(40);
    struct build b = build_start("trn2");
    uint32_t index = build_loaded(&b, DTYPE_INT32, 3, 1, (const float[]){9, 0, 4});
    uint32_t input = build_input(&b, DTYPE_FLOAT32, 10, 4, values);
    uint32_t t = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 3, 4);
    build_copy(&b, build_all(&b, t), indirect(&b, input, index, 3, false));
    build_store(&b, t);
    build_must_run(&b);
    assert_memory_equal(b.outputs[0].data, values + 36, 4 * sizeof *values);
    assert_memory_equal((float *)b.outputs[0].data + 4, values, 4 * sizeof *values);
    assert_memory_equal((float *)b.outputs[0].data + 8, values + 16, 4 * sizeof *values);
    free(values);
    build_end(&b);
}

static void rows_are_scattered_by_index(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    uint32_t index = build_loaded(&b, DTYPE_UINT32, 2, 1, (const float[]){2, 0});
    uint32_t t = build_loaded(&b, DTYPE_FLOAT32, 2, 2, (const float[]){1, 2, 3, 4});
    uint32_t output = build_output(&b, DTYPE_FLOAT32, 3, 2);
    build_copy(&b, indirect(&b, output, index, 2, false), build_all(&b, t));
    build_must_run(&b);
    static const float expected[6] = {3, 4, NAN, NAN, 1, 2};
    for (size_t i = 0; i < 6; i++)
        assert_true(isnan(expected[i]) ? isnan(build_value(&b, 0, i))
                                       : build_value(&b, 0, i) == expected[i]);
    build_end(&b);
}

/* Row 0 goes where row 1 has gone already, but for what the mask keeps out. */
static void a_mask_keeps_parts_of_scattered_rows_out(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    uint32_t index = build_loaded(&b, DTYPE_UINT32, 3, 1, (const float[]){1, 2, 1});
    uint32_t t = build_loaded(&b, DTYPE_FLOAT32, 3, 2, (const float[]){1, 2, 3, 4, 5, 6});
    uint32_t output = build_output(&b, DTYPE_FLOAT32, 3, 2);
    struct nki_mask mask = {.n_terms = 1}; /* f <= 2 - p */
    mask.term[0] = (struct nki_mask_term){.c0 = 2, .c = {-1, -1}};
    build_mask(
        &b, RUN(&b, DMA_COPY, tile(indirect(&b, output, index, 3, false)), tile(build_all(&b, t))),
        &mask);
    build_must_run(&b);
    static const float expected[6] = {NAN, NAN, 5, 2, 3, 4};
    for (size_t i = 0; i < 6; i++)
        assert_true(isnan(expected[i]) ? isnan(build_value(&b, 0, i))
                                       : build_value(&b, 0, i) == expected[i]);
    build_end(&b);
}

static void an_index_out_of_bounds_names_the_line(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    uint32_t index = build_loaded(&b, DTYPE_INT32, 2, 1, (const float[]){1, 10});
    uint32_t input = build_input(&b, DTYPE_FLOAT32, 10, 4, NULL);
    uint32_t t = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 2, 4);
    build_copy(&b, build_all(&b, t), indirect(&b, input, index, 2, false));
    build_store(&b, t);
    assert_false(build_run(&b));
    assert_int_equal(b.err.kind, ERR_KERNEL);
    assert_string_equal(b.err.text, "kernel.py:2:1: dma_copy: index 10 of row 1 is out of bounds: "
                                    "it must be below 10");
    build_end(&b);
}

static void rows_out_of_bounds_may_be_skipped(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    uint32_t index = build_loaded(&b, DTYPE_INT32, 3, 1, (const float[]){1, 7, -1});
    uint32_t input = build_input(&b, DTYPE_FLOAT32, 2, 2, (const float[]){1, 2, 3, 4});
    uint32_t t = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 3, 2);
    RUN(&b, MEMSET, tile(build_all(&b, t)), number(-1));
    build_copy(&b, build_all(&b, t), indirect(&b, input, index, 3, true));
    build_store(&b, t);
    build_must_run(&b);
    static const float expected[6] = {3, 4, -1, -1, -1, -1};
    for (size_t i = 0; i < 6; i++)
        assert_true(build_value(&b, 0, i) == expected[i]);
    build_end(&b);
}

static void a_scalar_index_moves_the_start(void **state) {
    (void)state;
    float *values = counted(40);
    struct build b = build_start("trn2");
    uint32_t index = build_loaded(&b, DTYPE_INT32, 1, 1, (const float[]){7});
    uint32_t input = build_input(&b, DTYPE_FLOAT32, 10, 4, values);
    uint32_t t = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 2, 4);
    struct nki_ap *ap = indirect(&b, input, index, 2, false);
    struct nki_indirect by = *ap->indirect;
    by.vector = false;
    ap->indirect = arena_dup(b.program->arena, &by, sizeof by);
    build_copy(&b, build_all(&b, t), ap);
    build_store(&b, t);
    build_must_run(&b);
    assert_memory_equal(b.outputs[0].data, values + 28, 8 * sizeof *values);
    free(values);
    build_end(&b);
}

static void dma_adds_sources(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    uint32_t x = build_input(&b, DTYPE_FLOAT32, 1, 3, (const float[]){1, 2, 3});
    uint32_t y = build_input(&b, DTYPE_BFLOAT16, 1, 3, (const float[]){10, 20, 30});
    uint32_t output = build_output(&b, DTYPE_FLOAT32, 1, 3);
    const struct nki_ap *srcs[2] = {build_all(&b, x), build_all(&b, y)};
    RUN(&b, DMA_COMPUTE, tile(build_all(&b, output)),
        (struct nki_operand){.kind = NKI_OPERAND_APS, .n = 2, .aps = srcs}, func(NKI_FUNC_ADD));
    build_must_run(&b);
    for (size_t i = 0; i < 3; i++)
        assert_true(build_value(&b, 0, i) == 11.0f * (float)(i + 1));
    build_end(&b);
}

/* y[index] += x, where y has ten rows of two. */
static bool add_to_rows(struct build *b, const float rows[3]) {
    uint32_t index = build_loaded(b, DTYPE_INT32, 3, 1, rows);
    uint32_t x = build_loaded(b, DTYPE_FLOAT32, 3, 2, (const float[]){1, 2, 3, 4, 5, 6});
    uint32_t y = build_output(b, DTYPE_FLOAT32, 10, 2);
    uint32_t zero = build_tile(b, NKI_SBUF, DTYPE_FLOAT32, 10, 2);
    RUN(b, MEMSET, tile(build_all(b, zero)), number(0));
    build_copy(b, build_all(b, y), build_all(b, zero));
    const struct nki_ap *dst = indirect(b, y, index, 3, true);
    const struct nki_ap **srcs = ARENA_ARRAY(b->program->arena, const struct nki_ap *, 2);
    srcs[0] = build_all(b, x), srcs[1] = dst;
    RUN(b, DMA_COMPUTE, tile(dst),
        (struct nki_operand){.kind = NKI_OPERAND_APS, .n = 2, .aps = srcs}, func(NKI_FUNC_ADD));
    return build_run(b);
}

static void dma_adds_to_rows_named_once(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    assert_true(add_to_rows(&b, (const float[]){4, 0, 9}));
    assert_true(build_value(&b, 0, 8) == 1 && build_value(&b, 0, 0) == 3);
    assert_true(build_value(&b, 0, 19) == 6 && build_value(&b, 0, 2) == 0);
    build_end(&b);
}

static void dma_refuses_a_row_named_twice(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    assert_false(add_to_rows(&b, (const float[]){4, 0, 4}));
    assert_int_equal(b.err.kind, ERR_KERNEL);
    assert_non_null(strstr(b.err.text, "dma_compute: row 4 is named twice"));
    build_end(&b);
}

/* ---- transposes and shuffles ---------------------------------------------------------------- */

static void transposes_exchange_partition_and_free(void **state) {
    (void)state;
    float *values = counted(64 * 96);
    struct build b = build_start("trn2");
    uint32_t data = build_loaded(&b, DTYPE_BFLOAT16, 64, 96, values);
    uint32_t psum = build_tile(&b, NKI_PSUM, DTYPE_BFLOAT16, 96, 64);
    uint32_t out = build_tile(&b, NKI_SBUF, DTYPE_BFLOAT16, 96, 64);
    uint32_t again = build_tile(&b, NKI_SBUF, DTYPE_BFLOAT16, 64, 96);
    RUN(&b, NC_TRANSPOSE, tile(build_all(&b, psum)), tile(build_all(&b, data)));
    RUN(&b, TENSOR_COPY, tile(build_all(&b, out)), tile(build_all(&b, psum)));
    RUN(&b, DMA_TRANSPOSE, tile(build_all(&b, again)), tile(build_all(&b, out)));
    build_store(&b, out);
    build_store(&b, again);
    build_must_run(&b);
    for (size_t p = 0; p < 64; p++)
        for (size_t f = 0; f < 96; f++) {
            assert_true(build_value(&b, 0, f * 64 + p) == values[p * 96 + f]);
            assert_true(build_value(&b, 1, p * 96 + f) == values[p * 96 + f]);
        }
    free(values);
    build_end(&b);
}

/* Block by block, each in place, and what is no number stays what it is. */
static void the_vector_engine_turns_blocks(void **state) {
    (void)state;
    float *values = counted(64 * 96);
    values[5] = NAN, values[97] = INFINITY, values[33 * 96 + 40] = -INFINITY;
    struct build b = build_start("trn2");
    uint32_t data = build_loaded(&b, DTYPE_FLOAT32, 64, 96, values);
    uint32_t out = build_tile(&b, NKI_PSUM, DTYPE_FLOAT32, 96, 64);
    for (int p = 0; p < 64; p += 32)
        for (int f = 0; f < 96; f += 32) {
            const struct nki_ap *block = build_part(&b, data, p, 32, f, 32);
            RUN(&b, NC_TRANSPOSE, tile(block), tile(block))->engine = NKI_ENGINE_VECTOR;
            RUN(&b, NC_TRANSPOSE, tile(block), tile(block))->engine = NKI_ENGINE_VECTOR;
            RUN(&b, NC_TRANSPOSE, tile(build_part(&b, out, f, 32, p, 32)), tile(block))->engine =
                NKI_ENGINE_VECTOR;
        }
    uint32_t copied = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 96, 64);
    RUN(&b, TENSOR_COPY, tile(build_all(&b, copied)), tile(build_all(&b, out)));
    build_store(&b, copied);
    build_must_run(&b);
    for (size_t p = 0; p < 64; p++)
        for (size_t f = 0; f < 96; f++) {
            double found = build_value(&b, 0, f * 64 + p), wanted = values[p * 96 + f];
            assert_true(found == wanted || (isnan(found) && isnan(wanted)));
        }
    free(values);
    build_end(&b);
}

static void a_shuffle_stays_in_its_quadrant(void **state) {
    (void)state;
    float values[64];
    int64_t mask[32];
    for (int i = 0; i < 64; i++)
        values[i] = (float)i;
    for (int i = 0; i < 32; i++)
        mask[i] = i == 5 ? 255 : 31 - i;
    struct build b = build_start("trn2");
    uint32_t data = build_loaded(&b, DTYPE_FLOAT32, 64, 1, values);
    RUN(&b, NC_STREAM_SHUFFLE, tile(build_all(&b, data)), tile(build_all(&b, data)),
        integers(mask, 32));
    build_store(&b, data);
    build_must_run(&b);
    for (int i = 0; i < 64; i++)
        assert_true(build_value(&b, 0, (size_t)i) ==
                    (i % 32 == 5 ? (float)i : (float)(i / 32 * 32 + 31 - i % 32)));
    build_end(&b);
}

static void a_shuffle_spreads_one_partition(void **state) {
    (void)state;
    const float row[3] = {4, -2, 9};
    struct build b = build_start("trn2");
    const int64_t mask[32] = {0};
    uint32_t data = build_loaded(&b, DTYPE_FLOAT32, 1, 3, row);
    uint32_t out = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 64, 3);
    for (int at = 0; at < 64; at += 32)
        RUN(&b, NC_STREAM_SHUFFLE, tile(build_part(&b, out, at, 32, 0, 3)),
            tile(build_all(&b, data)), integers(mask, 32));
    build_store(&b, out);
    build_must_run(&b);
    for (size_t i = 0; i < 64 * 3; i++)
        assert_true(build_value(&b, 0, i) == row[i % 3]);
    build_end(&b);
}

static void a_transpose_may_widen(void **state) {
    (void)state;
    float *values = counted(32 * 48);
    struct build b = build_start("trn2");
    b.program->rules = nki_rules_of("0.2"); /* later ones refuse it */
    uint32_t data = build_loaded(&b, DTYPE_BFLOAT16, 32, 48, values);
    uint32_t psum = build_tile(&b, NKI_PSUM, DTYPE_FLOAT32, 48, 32);
    uint32_t out = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 48, 32);
    RUN(&b, NC_TRANSPOSE, tile(build_all(&b, psum)), tile(build_all(&b, data)));
    RUN(&b, TENSOR_COPY, tile(build_all(&b, out)), tile(build_all(&b, psum)));
    build_store(&b, out);
    build_must_run(&b);
    for (size_t p = 0; p < 32; p++)
        for (size_t f = 0; f < 48; f++)
            assert_true(build_value(&b, 0, f * 32 + p) == values[p * 48 + f]);
    free(values);
    build_end(&b);
}

static void nonzero_elements_are_listed_and_counted(void **state) {
    (void)state;
    float values[32 * 4] = {0, 3, 0, -1, [16 * 4] = 0, 0, 0, 0};
    values[5] = 1; /* no core looks at partition 1 */
    struct build b = build_start("trn2");
    uint32_t data = build_loaded(&b, DTYPE_FLOAT32, 32, 4, values);
    uint32_t out = build_tile(&b, NKI_SBUF, DTYPE_INT32, 32, 5);
    RUN(&b, MEMSET, tile(build_all(&b, out)), integer(77));
    RUN(&b, NONZERO_WITH_COUNT, tile(build_all(&b, out)), tile(build_all(&b, data)), integer(100),
        integer(-9));
    build_store(&b, out);
    build_must_run(&b);
    static const int32_t first[5] = {101, 103, -9, -9, 2}, none_at_all[5] = {-9, -9, -9, -9, 0};
    const int32_t *got = b.outputs[0].data;
    for (int i = 0; i < 32 * 5; i++)
        assert_int_equal(got[i], i < 5 ? first[i] : i / 5 == 16 ? none_at_all[i % 5] : 77);
    build_end(&b);
}

static void gathers_pick_from_the_free_dimension(void **state) {
    (void)state;
    float *values = counted(32 * 6);
    struct build b = build_start("trn2");
    uint32_t data = build_loaded(&b, DTYPE_FLOAT32, 32, 6, values);
    uint32_t picks = build_loaded(&b, DTYPE_UINT32, 32, 2, NULL);
    uint32_t lists = build_loaded(&b, DTYPE_UINT16, 32, 1, NULL);
    for (int i = 0; i < 64; i++)
        ((uint32_t *)b.inputs[1].data)[i] = (uint32_t)(i % 6);
    for (int i = 0; i < 32; i++)
        ((uint16_t *)b.inputs[2].data)[i] = (uint16_t)(2 * (i < 16 ? i % 3 : 2 - i % 3));
    uint32_t own = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 32, 2);
    uint32_t shared = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 32, 8);
    RUN(&b, NC_N_GATHER, tile(build_all(&b, own)), tile(build_all(&b, data)),
        tile(build_all(&b, picks)));
    RUN(&b, LOCAL_GATHER, tile(build_all(&b, shared)), tile(build_all(&b, data)),
        tile(build_all(&b, lists)), integer(2), integer(4));
    build_store(&b, own);
    build_store(&b, shared);
    build_must_run(&b);
    for (size_t p = 0; p < 32; p++) {
        for (size_t i = 0; i < 2; i++)
            assert_true(build_value(&b, 0, p * 2 + i) == values[p * 6 + (p * 2 + i) % 6]);
        for (size_t i = 0; i < 8; i++) {
            size_t k = p / 16 * 16 + i / 2, at = p < 16 ? k % 3 : 2 - k % 3;
            assert_true(build_value(&b, 1, p * 8 + i) == values[p * 6 + at * 2 + i % 2]);
        }
    }
    free(values);
    build_end(&b);
}

/* ---- matrix products ------------------------------------------------------------------------ */

static void products_match_double_precision(void **state) {
    (void)state;
    enum { K = 96, M = 64, N = 200 };
    static const enum dtype types[] = {DTYPE_FLOAT32, DTYPE_BFLOAT16, DTYPE_FLOAT16,
                                       DTYPE_FLOAT8_E5M2};
    float *x = counted(K * M), *y = counted(K * N);
    for (int i = 0; i < K * M; i++)
        x[i] = (float)(i % 7 - 3) / 4;
    for (int i = 0; i < K * N; i++)
        y[i] = (float)(i % 5 - 2) / 2;
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        struct build b = build_start("trn2");
        uint32_t a = build_loaded(&b, types[t], K, M, x), c = build_loaded(&b, types[t], K, N, y);
        uint32_t psum = build_tile(&b, NKI_PSUM, DTYPE_FLOAT32, M, N);
        uint32_t out = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, M, N);
        RUN(&b, NC_MATMUL, tile(build_all(&b, psum)), tile(build_all(&b, a)),
            tile(build_all(&b, c)));
        RUN(&b, TENSOR_COPY, tile(build_all(&b, out)), tile(build_all(&b, psum)));
        build_store(&b, out);
        build_must_run(&b);
        for (size_t m = 0; m < M; m++)
            for (size_t n = 0; n < N; n++) {
                double sum = 0;
                for (size_t k = 0; k < K; k++)
                    sum += (double)x[k * M + m] * y[k * N + n];
                assert_true(fabs(build_value(&b, 0, m * N + n) - sum) < 1e-4);
            }
        build_end(&b);
    }
    free(x);
    free(y);
}

/* A product of ones: the contraction is 4, so all elements are 4. `parts` writes say which columns,
 * and how. */
struct part {
    int column, columns;
    int accumulate; /* -1: left open */
};

static void products(const struct part *parts, size_t n, bool legacy, const float *expected) {
    float ones[4 * 8];
    for (size_t i = 0; i < COUNT_OF(ones); i++)
        ones[i] = 1;
    struct build b = build_start("trn2");
    b.program->dialect = legacy ? NKI_DIALECT_LEGACY : NKI_DIALECT_CURRENT;
    uint32_t a = build_loaded(&b, DTYPE_FLOAT32, 4, 1, ones);
    uint32_t c = build_loaded(&b, DTYPE_FLOAT32, 4, 8, ones);
    uint32_t psum = build_tile(&b, NKI_PSUM, DTYPE_FLOAT32, 1, 8);
    uint32_t out = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 1, 8);
    for (size_t i = 0; i < n; i++)
        RUN(&b, NC_MATMUL, tile(build_part(&b, psum, 0, 1, parts[i].column, parts[i].columns)),
            tile(build_all(&b, a)), tile(build_part(&b, c, 0, 4, 0, parts[i].columns)), none(),
            none(), none(), parts[i].accumulate < 0 ? none() : flag(parts[i].accumulate != 0));
    RUN(&b, TENSOR_COPY, tile(build_all(&b, out)), tile(build_all(&b, psum)));
    build_store(&b, out);
    build_must_run(&b);
    for (size_t i = 0; i < 8; i++)
        assert_true(isnan(expected[i]) ? isnan(build_value(&b, 0, i))
                                       : build_value(&b, 0, i) == expected[i]);
    build_end(&b);
}

static void the_first_product_overwrites_and_others_add(void **state) {
    (void)state;
    products((struct part[]){{0, 8, -1}, {0, 8, -1}, {0, 8, -1}}, 3, false,
             (const float[]){12, 12, 12, 12, 12, 12, 12, 12});
    products((struct part[]){{0, 8, -1}, {0, 8, 0}, {0, 8, 1}}, 3, false,
             (const float[]){8, 8, 8, 8, 8, 8, 8, 8});
    products((struct part[]){{0, 4, -1}, {2, 4, -1}}, 2, false,
             (const float[]){4, 4, 8, 8, 4, 4, NAN, NAN});
    products((struct part[]){{0, 4, 0}, {0, 8, 1}}, 2, false,
             (const float[]){8, 8, 8, 8, NAN, NAN, NAN, NAN});
    products((struct part[]){{0, 8, 1}, {0, 4, 1}}, 2, true,
             (const float[]){8, 8, 8, 8, 4, 4, 4, 4});
}

static void double_row_multiplies_twice_the_contraction(void **state) {
    (void)state;
    float x[4 * 6], y[4 * 10];
    for (int i = 0; i < 24; i++)
        x[i] = (float)(i % 5);
    for (int i = 0; i < 40; i++)
        y[i] = (float)(i % 3);
    struct build b = build_start("trn2");
    uint32_t a = build_loaded(&b, DTYPE_FLOAT8_E4M3, 4, 6, x);
    uint32_t c = build_loaded(&b, DTYPE_FLOAT8_E4M3, 4, 10, y);
    uint32_t psum = build_tile(&b, NKI_PSUM, DTYPE_FLOAT32, 3, 5);
    uint32_t out = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 3, 5);
    RUN(&b, NC_MATMUL, tile(build_all(&b, psum)), tile(build_all(&b, a)), tile(build_all(&b, c)),
        none(), none(), none(), none(), none(), none(), member(NKI_PERF_DOUBLE_ROW));
    RUN(&b, TENSOR_COPY, tile(build_all(&b, out)), tile(build_all(&b, psum)));
    build_store(&b, out);
    build_must_run(&b);
    for (size_t m = 0; m < 3; m++)
        for (size_t n = 0; n < 5; n++) {
            float sum = 0;
            for (size_t k = 0; k < 8; k++)
                sum += x[k / 2 * 6 + k % 2 * 3 + m] * y[k / 2 * 10 + k % 2 * 5 + n];
            assert_true(build_value(&b, 0, m * 5 + n) == sum);
        }
    build_end(&b);
}

/* ---- masks and memory ----------------------------------------------------------------------- */

static void a_mask_leaves_the_rest_alone(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    uint32_t t = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 2, 4);
    RUN(&b, MEMSET, tile(build_all(&b, t)), number(1));
    struct nki_mask mask = {.n_terms = 2}; /* f >= p + 1 and f < 3 */
    mask.term[0] = (struct nki_mask_term){.c0 = -1, .c = {-1, 1}};
    mask.term[1] = (struct nki_mask_term){.c0 = 2, .c = {0, -1}};
    build_mask(&b, RUN(&b, MEMSET, tile(build_all(&b, t)), number(5)), &mask);
    build_store(&b, t);
    build_must_run(&b);
    static const float expected[8] = {1, 5, 5, 1, 1, 1, 5, 1};
    for (size_t i = 0; i < 8; i++)
        assert_true(build_value(&b, 0, i) == expected[i]);
    build_end(&b);
}

/* Kinds without an operand they need, kinds and ranks that no group has. */
static void what_no_group_can_do_is_refused(void **state) {
    (void)state;
    static const int64_t wrong[][3] = {
        {NKI_COLLECTIVE_COMBINE, 2, 0},
        {NKI_COLLECTIVE_SWAP_V, 2, 0},
        {NKI_COLLECTIVE_REDUCE, 2, 2},
        {NKI_COLLECTIVE_REDUCE, 2, -1},
        {NKI_COLLECTIVE_REDUCE, 0, 0},
        {NKI_COLLECTIVE_SWAP_V + 1, 2, 0},
        {-1, 2, 0},
        {NKI_COLLECTIVE_GATHER, INT64_MAX, 0},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct build b = build_start("trn2");
        uint32_t from = build_loaded(&b, DTYPE_FLOAT32, 2, 2, (const float[]){1, 2, 3, 4});
        uint32_t to = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 2, 2);
        RUN(&b, COLLECTIVE, tile(build_all(&b, to)), tile(build_all(&b, from)),
            integer(wrong[i][0]), integer(wrong[i][1]), integer(wrong[i][2]));
        assert_null(device_load(b.program, b.generation, &b.diags));
        assert_int_not_equal(b.diags.errors, 0);
        build_end(&b);
    }
}

static void unwritten_memory_reads_as_nan_and_four(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    uint32_t half = build_tile(&b, NKI_SBUF, DTYPE_FLOAT16, 2, 3);
    uint32_t ints = build_tile(&b, NKI_SBUF, DTYPE_INT16, 2, 3);
    build_store(&b, half);
    build_store(&b, ints);
    build_must_run(&b);
    for (size_t i = 0; i < 6; i++) {
        assert_true(isnan(build_value(&b, 0, i)));
        assert_true(build_value(&b, 1, i) == 4);
    }
    build_end(&b);
}

static void an_overlapping_copy_reads_before_it_writes(void **state) {
    (void)state;
    float *values = counted(10);
    struct build b = build_start("trn2");
    uint32_t t = build_loaded(&b, DTYPE_FLOAT32, 1, 10, values);
    RUN(&b, TENSOR_COPY, tile(build_part(&b, t, 0, 1, 1, 9)), tile(build_part(&b, t, 0, 1, 0, 9)));
    RUN(&b, TENSOR_SCALAR, tile(build_part(&b, t, 0, 1, 1, 9)), tile(build_part(&b, t, 0, 1, 0, 9)),
        func(NKI_FUNC_ADD), number(1));
    build_store(&b, t);
    build_must_run(&b);
    for (size_t i = 2; i < 10; i++)
        assert_true(build_value(&b, 0, i) == values[i - 2] + 1);
    free(values);
    build_end(&b);
}

static void blocks_of_a_storage_live_apart(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    uint32_t output = build_output(&b, DTYPE_FLOAT32, 8, 4);
    uint32_t t =
        build_storage(&b, (struct nki_storage){.space = NKI_SBUF,
                                               .dtype = DTYPE_FLOAT32,
                                               .n_dims = 3,
                                               .shape = (const int64_t[ARRAY_MAX_DIMS]){4, 8, 4},
                                               .partitions = 8,
                                               .blocks = 4,
                                               .block_bytes = 16,
                                               .name = "blocks"});
    struct nki_ap whole = {.storage = t,
                           .dtype = DTYPE_FLOAT32,
                           .n_dims = 2,
                           .step = (int64_t[]){1, 1},
                           .count = (int32_t[]){8, 4}};
    for (int k = 0; k < 4; k++) {
        struct nki_ap *ap = build_new_ap(&b, whole);
        ap->offset = 4 * k;
        RUN(&b, MEMSET, tile(ap), number(k));
    }
    for (int k = 1; k < 4; k++) {
        struct nki_ap *to = build_new_ap(&b, whole), *from = build_new_ap(&b, whole);
        to->offset = 4 * k;
        from->offset = 4 * (k - 1);
        RUN(&b, TENSOR_TENSOR, tile(to), tile(to), tile(from), func(NKI_FUNC_ADD));
    }
    struct nki_ap *last = build_new_ap(&b, whole);
    last->offset = 12;
    build_copy(&b, build_all(&b, output), last);
    build_must_run(&b);
    assert_true(build_value(&b, 0, 31) == 6);
    build_end(&b);
}

static void one_pattern_may_reach_over_blocks(void **state) {
    (void)state;
    float *values = counted(8 * 12);
    struct build b = build_start("trn2");
    uint32_t input = build_input(&b, DTYPE_FLOAT32, 8, 12, values);
    uint32_t t =
        build_storage(&b, (struct nki_storage){.space = NKI_SBUF,
                                               .dtype = DTYPE_FLOAT32,
                                               .n_dims = 3,
                                               .shape = (const int64_t[ARRAY_MAX_DIMS]){3, 8, 4},
                                               .partitions = 8,
                                               .blocks = 3,
                                               .block_bytes = 16,
                                               .name = "blocks"});
    uint32_t output = build_output(&b, DTYPE_FLOAT32, 8, 4);
    struct nki_ap all = {.storage = t,
                         .dtype = DTYPE_FLOAT32,
                         .n_dims = 2,
                         .step = (int64_t[]){1, 1},
                         .count = (int32_t[]){8, 12}};
    struct nki_ap second = all;
    second.offset = 4;
    second.count = (int32_t[]){8, 4};
    build_copy(&b, build_new_ap(&b, all), build_all(&b, input));
    build_copy(&b, build_all(&b, output), build_new_ap(&b, second));
    build_must_run(&b);
    for (size_t p = 0; p < 8; p++)
        for (size_t f = 0; f < 4; f++)
            assert_true(build_value(&b, 0, p * 4 + f) == values[p * 12 + 4 + f]);
    free(values);
    build_end(&b);
}

static void writing_an_input_leaves_the_callers_array(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    uint32_t input = build_input(&b, DTYPE_FLOAT32, 1, 2, (const float[]){1, 2});
    uint32_t t = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 1, 2);
    RUN(&b, MEMSET, tile(build_all(&b, t)), number(9));
    build_copy(&b, build_all(&b, input), build_all(&b, t));
    b.program->storages.at[input]->output = 0;
    *vec_push(&b.program->outputs) = input;
    build_must_run(&b);
    assert_true(build_value(&b, 0, 0) == 9);
    assert_true(((float *)b.inputs[0].data)[0] == 1);
    build_end(&b);
}

static void memory_beyond_the_limit_is_an_error(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    uint32_t t = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 128, 1000);
    RUN(&b, MEMSET, tile(build_all(&b, t)), number(9));
    build_store(&b, t);
    struct device_image *image = device_load(b.program, b.generation, &b.diags);
    assert_non_null(image);
    struct device_limits limits = {.memory_bytes = 600000};
    assert_false(device_execute(image, NULL, 0, b.outputs, &limits, &b.err));
    assert_non_null(strstr(b.err.text, "kernel.py:2:1: dma_copy: the kernel needs more than"));
    int stop = 1;
    limits = (struct device_limits){.cancel = &stop};
    assert_false(device_execute(image, NULL, 0, b.outputs, &limits, &b.err));
    assert_int_equal(b.err.kind, ERR_CANCELLED);
    device_unload(image);
    build_end(&b);
}

static void wrong_inputs_are_refused(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    uint32_t t = build_loaded(&b, DTYPE_FLOAT32, 2, 2, NULL);
    build_store(&b, t);
    b.inputs[0].dtype = DTYPE_FLOAT16;
    assert_false(build_run(&b));
    assert_int_equal(b.err.kind, ERR_USAGE);
    b.n_inputs = 0;
    assert_false(build_run(&b));
    build_end(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dma_copies_between_shapes),
        cmocka_unit_test(dma_copies_shapes_that_share_no_factor),
        cmocka_unit_test(dma_casts_and_broadcasts),
        cmocka_unit_test(rows_are_gathered_by_index),
        cmocka_unit_test(rows_are_scattered_by_index),
        cmocka_unit_test(a_mask_keeps_parts_of_scattered_rows_out),
        cmocka_unit_test(an_index_out_of_bounds_names_the_line),
        cmocka_unit_test(rows_out_of_bounds_may_be_skipped),
        cmocka_unit_test(a_scalar_index_moves_the_start),
        cmocka_unit_test(dma_adds_sources),
        cmocka_unit_test(dma_adds_to_rows_named_once),
        cmocka_unit_test(dma_refuses_a_row_named_twice),
        cmocka_unit_test(transposes_exchange_partition_and_free),
        cmocka_unit_test(the_vector_engine_turns_blocks),
        cmocka_unit_test(a_transpose_may_widen),
        cmocka_unit_test(a_shuffle_spreads_one_partition),
        cmocka_unit_test(a_shuffle_stays_in_its_quadrant),
        cmocka_unit_test(nonzero_elements_are_listed_and_counted),
        cmocka_unit_test(gathers_pick_from_the_free_dimension),
        cmocka_unit_test(products_match_double_precision),
        cmocka_unit_test(the_first_product_overwrites_and_others_add),
        cmocka_unit_test(double_row_multiplies_twice_the_contraction),
        cmocka_unit_test(a_mask_leaves_the_rest_alone),
        cmocka_unit_test(what_no_group_can_do_is_refused),
        cmocka_unit_test(unwritten_memory_reads_as_nan_and_four),
        cmocka_unit_test(an_overlapping_copy_reads_before_it_writes),
        cmocka_unit_test(blocks_of_a_storage_live_apart),
        cmocka_unit_test(one_pattern_may_reach_over_blocks),
        cmocka_unit_test(writing_an_input_leaves_the_callers_array),
        cmocka_unit_test(memory_beyond_the_limit_is_an_error),
        cmocka_unit_test(wrong_inputs_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
