/* SPDX-License-Identifier: Apache-2.0 */
/* The scaled formats of trn3: quantising, products of scaled groups, where the scales are, and what
 * is refused. */
#include "device/build.h"

#define K 64 /* partitions: two quadrants, eight groups */
#define M 2
#define N 3

/* A tile [K, 4 * width] quantised to `packed`; the scales are the tile after it. */
static uint32_t quantised(struct build *b, enum dtype packed, int width, const float *values) {
    uint32_t data = build_loaded(b, DTYPE_BFLOAT16, K, 4 * width, values);
    uint32_t to = build_tile(b, NKI_SBUF, packed, K, width);
    uint32_t scale = build_tile(b, NKI_SBUF, DTYPE_UINT8, K, width);
    RUN(b, MEMSET, tile(build_all(b, scale)), integer(0));
    RUN(b, QUANTIZE_MX, tile(build_all(b, to)), tile(build_all(b, data)),
        tile(build_all(b, scale)));
    return to;
}

static void product(struct build *b, enum dtype left, enum dtype right, const float *x,
                    const float *y) {
    uint32_t psum = build_tile(b, NKI_PSUM, DTYPE_FLOAT32, M, N);
    uint32_t out = build_tile(b, NKI_SBUF, DTYPE_FLOAT32, M, N);
    uint32_t a = quantised(b, left, M, x), c = quantised(b, right, N, y);
    for (int time = 0; time < 2; time++)
        RUN(b, NC_MATMUL_MX, tile(build_all(b, psum)), tile(build_all(b, a)), tile(build_all(b, c)),
            tile(build_all(b, a + 1)), tile(build_all(b, c + 1)));
    RUN(b, TENSOR_COPY, tile(build_all(b, out)), tile(build_all(b, psum)));
    build_store(b, out);
}

/* Small integers times a power of two for each group are exact in both formats. */
static void fill(float *values, int width, int top) {
    for (int k = 0; k < K; k++)
        for (int i = 0; i < 4 * width; i++)
            values[k * 4 * width + i] =
                (float)((k * 7 + i * 5) % (2 * top + 1) - top) * (float)(1 << k / 8 % 5);
}

static void products_of_quantised_tiles_are_sums(void **state) {
    (void)state;
    static const struct {
        enum dtype type;
        int top;
    } left[] = {{DTYPE_FLOAT8_E4M3FN_X4, 8}, {DTYPE_FLOAT8_E5M2_X4, 4}};
    for (size_t t = 0; t < COUNT_OF(left); t++) {
        float x[K * 4 * M], y[K * 4 * N];
        struct build b = build_start("trn3");
        fill(x, M, left[t].top);
        fill(y, N, 7);
        product(&b, left[t].type, DTYPE_FLOAT8_E4M3FN_X4, x, y);
        build_must_run(&b);
        for (size_t m = 0; m < M; m++)
            for (size_t n = 0; n < N; n++) {
                float sum = 0;
                for (size_t k = 0; k < K; k++)
                    for (size_t j = 0; j < 4; j++)
                        sum += x[(k * M + m) * 4 + j] * y[(k * N + n) * 4 + j];
                assert_true(build_value(&b, 0, m * N + n) == 2 * sum);
            }
        build_end(&b);
    }
}

/* 2^(floor(log2 of the largest) - 7) in e4m3fn, in the first four partitions of each quadrant. */
static void scales_lie_in_their_quadrant(void **state) {
    (void)state;
    float values[K * 4] = {0};
    values[2] = -5;           /* group 0: 2^2 */
    values[9 * 4] = 0.25f;    /* group 1: 2^-2 */
    values[47 * 4 + 3] = 448; /* group 5: 2^8 */
    struct build b = build_start("trn3");
    uint32_t to = quantised(&b, DTYPE_FLOAT8_E4M3FN_X4, 1, values);
    build_store(&b, to + 1);
    build_must_run(&b);
    const uint8_t *scales = b.outputs[0].data;
    for (int p = 0; p < K; p++)
        assert_int_equal(scales[p], p == 0 ? 122 : p == 1 ? 118 : p == 33 ? 128 : 0);
    build_end(&b);
}

static void other_generations_and_types_are_refused(void **state) {
    (void)state;
    static const float values[K * 4] = {1};
    static const struct {
        const char *device, *said;
        enum dtype packed;
    } rows[] = {
        {"trn2", "trn3", DTYPE_FLOAT8_E4M3FN_X4},
        {"trn3", "float8_e4m3fn_x4 and float8_e5m2_x4 are possible", DTYPE_FLOAT4_E2M1FN_X4},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct build b = build_start(rows[i].device);
        quantised(&b, rows[i].packed, 1, values);
        assert_non_null(strstr(build_error(&b), rows[i].said));
        build_end(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_quantised_tiles_are_sums),
        cmocka_unit_test(scales_lie_in_their_quadrant),
        cmocka_unit_test(other_generations_and_types_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
