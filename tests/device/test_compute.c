/* SPDX-License-Identifier: Apache-2.0 */
/* What each computing instruction does to numbers: small cases by hand, larger ones against double
 * precision. */
#include "device/build.h"

static const float eight[8] = {3, -1, 4, 1, -5, 9, 2, 6};

static void expect(const struct build *b, size_t output, const float *values, size_t n) {
    for (size_t i = 0; i < n; i++) {
        float found = build_value(b, output, i);
        if (isnan(values[i]) ? !isnan(found) : found != values[i])
            fail_msg("element %zu is %g, expected %g", i, (double)found, (double)values[i]);
    }
}

/* One instruction on the tile of `eight` ([2, 4] fp32) into a tile of the same shape. */
#define ON_EIGHT(op, ...)                                                              \
    struct build b = build_start("trn3");                                              \
    uint32_t data = build_loaded(&b, DTYPE_FLOAT32, 2, 4, eight);                      \
    uint32_t dst = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 2, 4);                      \
    struct nki_operand in = tile(build_all(&b, data)), out = tile(build_all(&b, dst)); \
    RUN(&b, op, __VA_ARGS__);                                                          \
    build_store(&b, dst);                                                              \
    build_must_run(&b)

static void tensor_scalar_applies_two_operators(void **state) {
    (void)state;
    ON_EIGHT(TENSOR_SCALAR, out, in, func(NKI_FUNC_MULTIPLY), number(2), flag(false),
             func(NKI_FUNC_ADD), number(1), flag(false));
    expect(&b, 0, (const float[]){7, -1, 9, 3, -9, 19, 5, 13}, 8);
    build_end(&b);
}

static void tensor_scalar_reverses_operands(void **state) {
    (void)state;
    ON_EIGHT(TENSOR_SCALAR, out, in, func(NKI_FUNC_SUBTRACT), number(10), flag(true),
             func(NKI_FUNC_SUBTRACT), number(1), flag(false));
    expect(&b, 0, (const float[]){6, 10, 5, 8, 14, 0, 7, 3}, 8);
    build_end(&b);
}

static void tensor_scalar_takes_one_operand_per_partition(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    uint32_t data = build_loaded(&b, DTYPE_FLOAT32, 2, 4, eight);
    uint32_t scale = build_loaded(&b, DTYPE_FLOAT32, 2, 1, (const float[]){10, 100});
    RUN(&b, TENSOR_SCALAR, tile(build_all(&b, data)), tile(build_all(&b, data)),
        func(NKI_FUNC_MULTIPLY), tile(build_all(&b, scale)));
    build_store(&b, data);
    build_must_run(&b);
    expect(&b, 0, (const float[]){30, -10, 40, 10, -500, 900, 200, 600}, 8);
    build_end(&b);
}

static void tensor_scalar_may_write_its_own_operand(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    uint32_t data = build_loaded(&b, DTYPE_FLOAT32, 4, 1, eight);
    struct nki_operand t = tile(build_all(&b, data));
    RUN(&b, TENSOR_SCALAR, t, t, func(NKI_FUNC_MULTIPLY), t, flag(false), func(NKI_FUNC_ADD), t);
    build_store(&b, data);
    build_must_run(&b);
    expect(&b, 0, (const float[]){12, 0, 20, 2}, 4);
    build_end(&b);
}

static void binary_operators_have_their_meaning(void **state) {
    (void)state;
    static const struct {
        enum nki_func func;
        float a, b, result;
    } cases[] = {
        {NKI_FUNC_ADD, 2, 3, 5},         {NKI_FUNC_SUBTRACT, 2, 3, -1},
        {NKI_FUNC_MULTIPLY, 2, 3, 6},    {NKI_FUNC_DIVIDE, 3, 2, 1.5f},
        {NKI_FUNC_MAXIMUM, 2, 3, 3},     {NKI_FUNC_MINIMUM, 2, 3, 2},
        {NKI_FUNC_MAXIMUM, NAN, 3, NAN}, {NKI_FUNC_MINIMUM, 3, NAN, NAN},
        {NKI_FUNC_ABS_MAX, -4, 3, 4},    {NKI_FUNC_ABS_MIN, -4, 3, 3},
        {NKI_FUNC_EQUAL, 2, 2, 1},       {NKI_FUNC_NOT_EQUAL, 2, 2, 0},
        {NKI_FUNC_LESS, 2, 3, 1},        {NKI_FUNC_LESS_EQUAL, 3, 3, 1},
        {NKI_FUNC_GREATER, 2, 3, 0},     {NKI_FUNC_GREATER_EQUAL, 2, 3, 0},
        {NKI_FUNC_LOGICAL_AND, 2, 0, 0}, {NKI_FUNC_LOGICAL_OR, 2, 0, 1},
        {NKI_FUNC_LOGICAL_XOR, 2, 3, 0}, {NKI_FUNC_MOD, -7, 3, 2},
        {NKI_FUNC_FMOD, -7, 3, -1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct build b = build_start("trn3");
        enum nki_func f = cases[i].func;
        if (f == NKI_FUNC_DIVIDE || f == NKI_FUNC_MOD || f == NKI_FUNC_FMOD)
            b.program->dialect = NKI_DIALECT_LEGACY; /* the current one does not take them */
        uint32_t x = build_loaded(&b, DTYPE_FLOAT32, 1, 1, &cases[i].a);
        uint32_t y = build_loaded(&b, DTYPE_FLOAT32, 1, 1, &cases[i].b);
        RUN(&b, TENSOR_TENSOR, tile(build_all(&b, x)), tile(build_all(&b, x)),
            tile(build_all(&b, y)), func(cases[i].func));
        build_store(&b, x);
        build_must_run(&b);
        expect(&b, 0, &cases[i].result, 1);
        build_end(&b);
    }
}

static void int32_arithmetic_is_exact_on_gpsimd_only(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    uint32_t big = build_tile(&b, NKI_SBUF, DTYPE_INT32, 1, 1);
    uint32_t one = build_tile(&b, NKI_SBUF, DTYPE_INT32, 1, 1);
    uint32_t rough = build_tile(&b, NKI_SBUF, DTYPE_INT32, 1, 1);
    RUN(&b, MEMSET, tile(build_all(&b, big)), integer(16777217));
    RUN(&b, MEMSET, tile(build_all(&b, one)), integer(1000));
    struct nki_operand t = tile(build_all(&b, big)), u = tile(build_all(&b, one));
    RUN(&b, TENSOR_TENSOR, tile(build_all(&b, rough)), t, u, func(NKI_FUNC_ADD))->engine =
        NKI_ENGINE_VECTOR;
    RUN(&b, TENSOR_TENSOR, t, t, u, func(NKI_FUNC_ADD));
    build_store(&b, big);
    build_store(&b, rough);
    build_must_run(&b);
    assert_int_equal(*(int32_t *)b.outputs[0].data, 16778217);
    assert_int_equal(*(int32_t *)b.outputs[1].data, 16778216);
    build_end(&b);
}

static void bitwise_operators_work_on_bits(void **state) {
    (void)state;
    static const struct {
        enum nki_func func;
        int32_t operand;
        uint32_t result;
    } cases[] = {
        {NKI_FUNC_BITWISE_AND, 0x7fffffff, 0x70f0f0f1},
        {NKI_FUNC_BITWISE_OR, 0xe, 0xf0f0f0ff},
        {NKI_FUNC_BITWISE_XOR, -1, 0x0f0f0f0e},
        {NKI_FUNC_LEFT_SHIFT, 4, 0x0f0f0f10},
        {NKI_FUNC_RIGHT_SHIFT, 28, 0xf},
        {NKI_FUNC_INVERT, 0, 0x0f0f0f0e},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct build b = build_start("trn2");
        uint32_t data = build_tile(&b, NKI_SBUF, DTYPE_INT32, 1, 1);
        struct nki_operand t = tile(build_all(&b, data));
        RUN(&b, MEMSET, t, integer((int32_t)0xf0f0f0f1));
        RUN(&b, TENSOR_SCALAR, t, t, func(cases[i].func), integer(cases[i].operand));
        build_store(&b, data);
        build_must_run(&b);
        assert_int_equal(*(uint32_t *)b.outputs[0].data, cases[i].result);
        build_end(&b);
    }
}

static void scalar_tensor_tensor_combines_three(void **state) {
    (void)state;
    ON_EIGHT(SCALAR_TENSOR_TENSOR, out, in, func(NKI_FUNC_SUBTRACT), number(1),
             func(NKI_FUNC_MULTIPLY), in);
    expect(&b, 0, (const float[]){6, 2, 12, 0, 30, 72, 2, 30}, 8);
    build_end(&b);
}

static void activation_scales_adds_and_sums(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    uint32_t data = build_loaded(&b, DTYPE_FLOAT32, 2, 4, eight);
    uint32_t bias = build_loaded(&b, DTYPE_FLOAT32, 2, 1, (const float[]){1, -1});
    uint32_t dst = build_tile(&b, NKI_SBUF, DTYPE_BFLOAT16, 2, 4);
    uint32_t sum = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 2, 1);
    RUN(&b, ACTIVATION, tile(build_all(&b, dst)), func(NKI_FUNC_SQUARE), tile(build_all(&b, data)),
        tile(build_all(&b, bias)), number(0.5), func(NKI_FUNC_ADD), tile(build_all(&b, sum)),
        member(3));
    build_store(&b, dst);
    build_store(&b, sum);
    build_must_run(&b);
    expect(&b, 0, (const float[]){6.25f, 0.25f, 9, 2.25f, 12.25f, 12.25f, 0, 4}, 8);
    expect(&b, 1, (const float[]){17.75f, 28.5f}, 2);
    build_end(&b);
}

static void activation_accumulates_over_instructions(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    uint32_t data = build_loaded(&b, DTYPE_FLOAT32, 2, 4, eight);
    uint32_t sum = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 2, 1);
    struct nki_operand t = tile(build_all(&b, data));
    static const int64_t commands[] = {3, 2, 2};
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        RUN(&b, ACTIVATION, t, func(NKI_FUNC_COPY), t, none(), none(), func(NKI_FUNC_ADD),
            i == 2 ? tile(build_all(&b, sum)) : none(), member(commands[i]));
    build_store(&b, sum);
    build_must_run(&b);
    expect(&b, 0, (const float[]){21, 36}, 2);
    build_end(&b);
}

static void reductions_fold_the_last_axes(void **state) {
    (void)state;
    static const struct {
        enum nki_func func;
        bool negate;
        float results[2];
    } cases[] = {
        {NKI_FUNC_ADD, false, {7, 12}},          {NKI_FUNC_ADD, true, {-7, -12}},
        {NKI_FUNC_MAXIMUM, false, {4, 9}},       {NKI_FUNC_MINIMUM, false, {-1, -5}},
        {NKI_FUNC_MULTIPLY, false, {-12, -540}}, {NKI_FUNC_LOGICAL_AND, false, {1, 1}},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct build b = build_start("trn2");
        uint32_t data = build_loaded(&b, DTYPE_FLOAT32, 2, 4, eight);
        uint32_t dst = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 2, 1);
        RUN(&b, TENSOR_REDUCE, tile(build_all(&b, dst)), func(cases[i].func),
            tile(build_all(&b, data)), integer(1), flag(cases[i].negate));
        build_store(&b, dst);
        build_must_run(&b);
        expect(&b, 0, cases[i].results, 2);
        build_end(&b);
    }
}

static void reductions_keep_the_outer_free_axes(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    uint32_t data = build_loaded(&b, DTYPE_FLOAT32, 2, 4, eight);
    uint32_t dst = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 2, 2);
    struct nki_ap *ap = build_all(&b, data); /* [2, 2, 2] with the free dimensions exchanged */
    ap->n_dims = 3;
    ap->count[1] = ap->count[2] = 2;
    ap->step[1] = 1;
    ap->step[2] = 2;
    RUN(&b, TENSOR_REDUCE, tile(build_all(&b, dst)), func(NKI_FUNC_ADD), tile(ap), integer(2));
    build_store(&b, dst);
    build_must_run(&b);
    expect(&b, 0, (const float[]){7, 0, -3, 15}, 4);
    build_end(&b);
}

static void sums_of_long_rows_stay_close_to_double(void **state) {
    (void)state;
    enum { N = 5000 };
    static float values[N];
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += values[i] = (float)((i * 7919) % 1000) / 1000.0f;
    struct build b = build_start("trn2");
    uint32_t data = build_loaded(&b, DTYPE_FLOAT32, 1, N, values);
    uint32_t dst = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 1, 1);
    RUN(&b, TENSOR_REDUCE, tile(build_all(&b, dst)), func(NKI_FUNC_ADD), tile(build_all(&b, data)),
        integer(1));
    build_store(&b, dst);
    build_must_run(&b);
    assert_true(fabs(build_value(&b, 0, 0) - sum) < 1e-6 * sum);
    build_end(&b);
}

static void partitions_reduce_on_gpsimd(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    uint32_t data = build_loaded(&b, DTYPE_FLOAT32, 2, 4, eight);
    uint32_t dst = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 1, 4);
    RUN(&b, TENSOR_PARTITION_REDUCE, tile(build_all(&b, dst)), func(NKI_FUNC_AVERAGE),
        tile(build_all(&b, data)));
    build_store(&b, dst);
    build_must_run(&b);
    expect(&b, 0, (const float[]){-1, 4, 3, 3.5f}, 4);
    build_end(&b);
}

static void tensor_scalar_reduce_writes_both(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    uint32_t data = build_loaded(&b, DTYPE_FLOAT32, 2, 4, eight);
    uint32_t sum = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 2, 1);
    struct nki_operand t = tile(build_all(&b, data));
    RUN(&b, TENSOR_SCALAR_REDUCE, t, t, func(NKI_FUNC_ADD), number(1), func(NKI_FUNC_MAXIMUM),
        tile(build_all(&b, sum)));
    build_store(&b, data);
    build_store(&b, sum);
    build_must_run(&b);
    expect(&b, 0, (const float[]){4, 0, 5, 2, -4, 10, 3, 7}, 8);
    expect(&b, 1, (const float[]){5, 10}, 2);
    build_end(&b);
}

static void tensor_scalar_reduce_finds_the_largest_magnitude(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    uint32_t data = build_loaded(&b, DTYPE_FLOAT32, 2, 3, (const float[]){1, -8, 4, -2, 0.5f, 1});
    uint32_t most = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 2, 1);
    struct nki_operand t = tile(build_all(&b, data));
    RUN(&b, TENSOR_SCALAR_REDUCE, t, t, func(NKI_FUNC_ABS), number(0), func(NKI_FUNC_MAXIMUM),
        tile(build_all(&b, most)));
    build_store(&b, data);
    build_store(&b, most);
    build_must_run(&b);
    expect(&b, 0, (const float[]){1, 8, 4, 2, 0.5f, 1}, 6);
    expect(&b, 1, (const float[]){8, 2}, 2);
    build_end(&b);
}

static void a_scan_carries_its_state(void **state) {
    (void)state;
    ON_EIGHT(TENSOR_TENSOR_SCAN, out, in, in, number(1), func(NKI_FUNC_MULTIPLY),
             func(NKI_FUNC_ADD));
    expect(&b, 0, (const float[]){6, -7, -24, -23, -10, -81, -160, -954}, 8);
    build_end(&b);
}

static void a_scan_of_maxima_starts_from_a_vector(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    uint32_t data = build_loaded(&b, DTYPE_FLOAT32, 2, 4, eight);
    uint32_t zero = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 2, 4);
    uint32_t first = build_loaded(&b, DTYPE_FLOAT32, 2, 1, (const float[]){3.5f, -9});
    struct nki_operand t = tile(build_all(&b, data));
    RUN(&b, MEMSET, tile(build_all(&b, zero)), number(0));
    RUN(&b, TENSOR_TENSOR_SCAN, t, t, tile(build_all(&b, zero)), tile(build_all(&b, first)),
        func(NKI_FUNC_MAXIMUM), func(NKI_FUNC_ADD));
    build_store(&b, data);
    build_must_run(&b);
    expect(&b, 0, (const float[]){3.5f, 3.5f, 4, 4, -5, 9, 9, 9}, 8);
    build_end(&b);
}

static void cumulative_sums_run_along_a_row(void **state) {
    (void)state;
    ON_EIGHT(TENSOR_SCALAR_CUMULATIVE, out, in, func(NKI_FUNC_MULTIPLY), func(NKI_FUNC_ADD),
             number(2));
    expect(&b, 0, (const float[]){6, 4, 12, 14, -10, 8, 12, 24}, 8);
    build_end(&b);
}

static void statistics_split_even_and_odd(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    uint32_t data = build_loaded(&b, DTYPE_FLOAT32, 2, 4, eight);
    uint32_t stats = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 2, 6);
    uint32_t mean = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 2, 2);
    RUN(&b, BN_STATS, tile(build_all(&b, stats)), tile(build_all(&b, data)));
    RUN(&b, BN_AGGR, tile(build_all(&b, mean)), tile(build_all(&b, stats)));
    build_store(&b, stats);
    build_store(&b, mean);
    build_must_run(&b);
    expect(&b, 0, (const float[]){2, 3.5f, 0.5f, 2, 0, 2, 2, -1.5f, 24.5f, 2, 7.5f, 4.5f}, 12);
    expect(&b, 1, (const float[]){1.75f, 3.6875f, 3, 27.5f}, 4);
    build_end(&b);
}

static void the_eight_largest_come_in_order(void **state) {
    (void)state;
    static const float row[10] = {1, 5, 5, 2, 9, -1, 5, 0, 3, 4};
    struct build b = build_start("trn2");
    uint32_t data = build_loaded(&b, DTYPE_FLOAT32, 1, 10, row);
    uint32_t best = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 1, 8);
    uint32_t at = build_tile(&b, NKI_SBUF, DTYPE_UINT32, 1, 8);
    uint32_t where = build_tile(&b, NKI_SBUF, DTYPE_UINT32, 1, 8);
    struct nki_operand t = tile(build_all(&b, data)), v = tile(build_all(&b, best));
    RUN(&b, MAX8, v, t);
    RUN(&b, NC_FIND_INDEX8, tile(build_all(&b, at)), t, v);
    RUN(&b, NC_MATCH_REPLACE8, t, t, v, number(-7), tile(build_all(&b, where)));
    build_store(&b, best);
    build_store(&b, at);
    build_store(&b, where);
    build_store(&b, data);
    build_must_run(&b);
    expect(&b, 0, (const float[]){9, 5, 5, 5, 4, 3, 2, 1}, 8);
    expect(&b, 1, (const float[]){4, 1, 2, 6, 9, 8, 3, 0}, 8);
    expect(&b, 2, (const float[]){4, 6, 2, 1, 9, 8, 3, 0}, 8);
    expect(&b, 3, (const float[]){-7, -7, -7, -7, -7, -1, -7, 0, -7, -7}, 10);
    build_end(&b);
}

static void a_value_that_is_not_there_has_no_index(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    uint32_t data = build_loaded(&b, DTYPE_FLOAT32, 1, 8, eight);
    uint32_t vals = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 1, 8);
    uint32_t at = build_tile(&b, NKI_SBUF, DTYPE_UINT16, 1, 8);
    RUN(&b, MEMSET, tile(build_all(&b, vals)), number(100));
    RUN(&b, NC_FIND_INDEX8, tile(build_all(&b, at)), tile(build_all(&b, data)),
        tile(build_all(&b, vals)));
    build_store(&b, at);
    build_must_run(&b);
    assert_int_equal(((uint16_t *)b.outputs[0].data)[3], 0xffff);
    build_end(&b);
}

static void predicates_choose(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    uint32_t data = build_loaded(&b, DTYPE_FLOAT32, 2, 4, eight);
    uint32_t keep = build_loaded(&b, DTYPE_UINT8, 2, 4, (const float[]){1, 0, 0, 1, 1, 1, 0, 0});
    uint32_t dst = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 2, 4);
    uint32_t most = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 2, 1);
    uint32_t merged = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 2, 4);
    struct nki_operand t = tile(build_all(&b, data)), p = tile(build_all(&b, keep));
    RUN(&b, SELECT_REDUCE, tile(build_all(&b, dst)), p, t, number(-50), tile(build_all(&b, most)),
        member(3));
    RUN(&b, MEMSET, tile(build_all(&b, merged)), number(7));
    RUN(&b, TENSOR_COPY_PREDICATED, tile(build_all(&b, merged)), t, p, flag(true));
    build_store(&b, dst);
    build_store(&b, most);
    build_store(&b, merged);
    build_must_run(&b);
    expect(&b, 0, (const float[]){3, -50, -50, 1, -5, 9, -50, -50}, 8);
    expect(&b, 1, (const float[]){3, 9}, 2);
    expect(&b, 2, (const float[]){7, -1, 4, 7, 7, 7, 2, 6}, 8);
    build_end(&b);
}

static void ranges_keep_what_lies_within(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    uint32_t data = build_loaded(&b, DTYPE_FLOAT32, 2, 4, eight);
    uint32_t low = build_loaded(&b, DTYPE_FLOAT32, 2, 1, (const float[]){11, 10});
    uint32_t high = build_loaded(&b, DTYPE_FLOAT32, 2, 1, (const float[]){13, 11});
    uint32_t dst = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 2, 4);
    uint32_t most = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 2, 1);
    RUN(&b, RANGE_SELECT, tile(build_all(&b, dst)), tile(build_all(&b, data)),
        func(NKI_FUNC_GREATER_EQUAL), func(NKI_FUNC_LESS), tile(build_all(&b, low)),
        tile(build_all(&b, high)), member(3), tile(build_all(&b, most)), none(), integer(10));
    build_store(&b, dst);
    build_store(&b, most);
    build_must_run(&b);
    const float m = -3.4028235e38f;
    expect(&b, 0, (const float[]){m, -1, 4, m, -5, m, m, m}, 8);
    expect(&b, 1, (const float[]){4, -5}, 2);
    build_end(&b);
}

static void affine_patterns_count_and_choose(void **state) {
    (void)state;
    static const int64_t pattern[] = {10, 2, 1, 2}; /* 0 1 10 11 */
    struct build b = build_start("trn2");
    uint32_t data = build_loaded(&b, DTYPE_FLOAT32, 2, 4, eight);
    uint32_t index = build_tile(&b, NKI_SBUF, DTYPE_INT32, 2, 4);
    uint32_t dst = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 2, 4);
    RUN(&b, IOTA, tile(build_all(&b, index)), integers(pattern, 4), integer(5), integer(100));
    RUN(&b, AFFINE_SELECT, tile(build_all(&b, dst)), integers(pattern, 4), integer(-8),
        tile(build_all(&b, data)), number(0.5), func(NKI_FUNC_GREATER_EQUAL), integer(-1));
    build_store(&b, index);
    build_store(&b, dst);
    build_must_run(&b);
    expect(&b, 0, (const float[]){5, 6, 15, 16, 105, 106, 115, 116}, 8);
    expect(&b, 1, (const float[]){0.5f, -1, 4, 1, 0.5f, 0.5f, 2, 6}, 8);
    build_end(&b);
}

static void exponentials_add_up(void **state) {
    (void)state;
    struct build b = build_start("trn3");
    uint32_t data = build_loaded(&b, DTYPE_FLOAT32, 2, 4, eight);
    uint32_t most = build_loaded(&b, DTYPE_FLOAT32, 2, 1, (const float[]){4, 9});
    uint32_t sum = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 2, 1);
    struct nki_operand t = tile(build_all(&b, data));
    RUN(&b, EXPONENTIAL, t, t, tile(build_all(&b, most)), tile(build_all(&b, sum)), member(3));
    build_store(&b, data);
    build_store(&b, sum);
    build_must_run(&b);
    double total = exp(-1) + exp(-5) + exp(0) + exp(-3);
    assert_true(fabs(build_value(&b, 0, 1) - exp(-5)) < 1e-9);
    assert_true(fabs(build_value(&b, 1, 0) - total) < 1e-6);
    build_end(&b);
}

static void functions_without_an_instruction_run_too(void **state) {
    (void)state;
    static const float values[4] = {-1.5f, 0, 0.5f, 2.5f};
    static const struct {
        enum nki_func func;
        float results[4];
    } cases[] = {
        {NKI_FUNC_FLOOR, {-2, 0, 0, 2}},      {NKI_FUNC_CEIL, {-1, 0, 1, 3}},
        {NKI_FUNC_TRUNC, {-1, 0, 0, 2}},      {NKI_FUNC_NEGATIVE, {1.5f, 0, -0.5f, -2.5f}},
        {NKI_FUNC_LOGICAL_NOT, {0, 1, 0, 0}}, {NKI_FUNC_SIGN, {-1, 0, 1, 1}},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct build b = build_start("trn2");
        uint32_t data = build_loaded(&b, DTYPE_FLOAT32, 1, 4, values);
        struct nki_operand t = tile(build_all(&b, data));
        RUN(&b, ELEMENTWISE, t, func(cases[i].func), t);
        build_store(&b, data);
        build_must_run(&b);
        expect(&b, 0, cases[i].results, 4);
        build_end(&b);
    }
}

/* Every function against libm in double precision, in units of the last place of fp32. */
static void functions_are_accurate(void **state) {
    (void)state;
    enum { N = 2001 };
    static float values[N];
    for (int i = 0; i < N; i++)
        values[i] = (float)(i - N / 2) * 0.0137f + 0.001f;
    static const enum nki_func funcs[] = {NKI_FUNC_EXP,  NKI_FUNC_TANH, NKI_FUNC_SIGMOID,
                                          NKI_FUNC_SILU, NKI_FUNC_GELU, NKI_FUNC_SOFTPLUS,
                                          NKI_FUNC_ERF,  NKI_FUNC_LOG};
    struct build b = build_start("trn2");
    uint32_t data = build_loaded(&b, DTYPE_FLOAT32, 1, N, values);
    uint32_t dst[COUNT_OF(funcs)];
    for (size_t k = 0; k < 8; k++) {
        dst[k] = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 1, N);
        RUN(&b, ACTIVATION, tile(build_all(&b, dst[k])), func(funcs[k]), tile(build_all(&b, data)));
        build_store(&b, dst[k]);
    }
    build_must_run(&b);
    for (size_t i = 0; i < N; i++) {
        double x = values[i], s = 1 / (1 + exp(-x));
        const double exact[8] = {
            exp(x), tanh(x), s, x * s, x * 0.5 * erfc(-x * M_SQRT1_2), x > 30 ? x : log1p(exp(x)),
            erf(x), log(x)};
        for (size_t k = 0; k < 8; k++) {
            float found = build_value(&b, k, i);
            double ulp = fabs((double)(nextafterf((float)exact[k], INFINITY) - (float)exact[k]));
            if (isnan(exact[k]) ? !isnan(found) : !(fabs(found - exact[k]) <= ulp + 1e-45))
                fail_msg("nl.%s(%.9g) is %.9g, not %.9g", nki_func_name(funcs[k]), x, (double)found,
                         exact[k]);
        }
    }
    build_end(&b);
}

/* The rest at a few points, where the formulas of the ISA reference are plain to write down. */
static void the_other_functions_follow_their_formulas(void **state) {
    (void)state;
    static const float values[] = {-3.5f, -1, -0.25f, 0.001f, 0.5f, 1, 2.75f};
    static const enum nki_func funcs[] = {NKI_FUNC_SQRT,   NKI_FUNC_RSQRT, NKI_FUNC_RECIPROCAL,
                                          NKI_FUNC_ARCTAN, NKI_FUNC_MISH,  NKI_FUNC_SILU_DX,
                                          NKI_FUNC_GELU_DX};
    static const enum nki_func more[] = {NKI_FUNC_GELU_APPRX_TANH,
                                         NKI_FUNC_GELU_APPRX_SIGMOID,
                                         NKI_FUNC_GELU_APPRX_SIGMOID_DX,
                                         NKI_FUNC_ERF_DX,
                                         NKI_FUNC_RELU,
                                         NKI_FUNC_ABS,
                                         NKI_FUNC_SQUARE};
    struct build b[2] = {build_start("trn2"), build_start("trn2")};
    for (size_t half = 0; half < 2; half++) {
        uint32_t data = build_loaded(&b[half], DTYPE_FLOAT32, 1, 7, values);
        for (size_t k = 0; k < 7; k++) {
            uint32_t dst = build_tile(&b[half], NKI_SBUF, DTYPE_FLOAT32, 1, 7);
            RUN(&b[half], ACTIVATION, tile(build_all(&b[half], dst)),
                func(half ? more[k] : funcs[k]), tile(build_all(&b[half], data)));
            build_store(&b[half], dst);
        }
        build_must_run(&b[half]);
    }
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        double x = values[i], s = 1 / (1 + exp(-x)), t = 1 / (1 + exp(-1.702 * x));
        double density = exp(-x * x / 2) / sqrt(2 * M_PI), normal = erfc(-x * M_SQRT1_2) / 2;
        const double exact[2][7] = {
            {sqrt(x), 1 / sqrt(x), 1 / x, atan(x), x * tanh(log1p(exp(x))), s * (1 + x * (1 - s)),
             normal + x * density},
            {x / 2 * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))), x * t,
             t + 1.702 * x * t * (1 - t), 2 / sqrt(M_PI) * exp(-x * x), x > 0 ? x : 0, fabs(x),
             x * x}};
        for (size_t k = 0; k < 14; k++) {
            double found = build_value(&b[k / 7], k % 7, i), wanted = exact[k / 7][k % 7];
            if (isnan(wanted) ? !isnan(found) : !(fabs(found - wanted) <= 1e-7 * fabs(wanted)))
                fail_msg("nl.%s(%g) is %.9g, not %.9g",
                         nki_func_name(k < 7 ? funcs[k] : more[k - 7]), x, found, wanted);
        }
    }
    build_end(&b[0]);
    build_end(&b[1]);
}

static void sine_goes_on_as_a_cubic(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    uint32_t data = build_loaded(&b, DTYPE_FLOAT32, 1, 2, (const float[]){9, 0.5f});
    struct nki_operand t = tile(build_all(&b, data));
    RUN(&b, ACTIVATION, t, func(NKI_FUNC_SIN), t);
    build_store(&b, data);
    build_must_run(&b);
    assert_true(fabs(build_value(&b, 0, 0) - 27.65) < 0.01);
    assert_true(fabs(build_value(&b, 0, 1) - sin(0.5)) < 1e-7);
    build_end(&b);
}

static void dropout_is_the_same_every_time(void **state) {
    (void)state;
    static float ones[1000], kept[2][1000];
    for (int i = 0; i < 1000; i++)
        ones[i] = 1;
    for (int run = 0; run < 2; run++) {
        struct build b = build_start("trn2");
        uint32_t data = build_loaded(&b, DTYPE_FLOAT32, 1, 1000, ones);
        struct nki_operand t = tile(build_all(&b, data));
        RUN(&b, DROPOUT, t, t, number(0.25));
        build_store(&b, data);
        build_must_run(&b);
        memcpy(kept[run], b.outputs[0].data, sizeof kept[run]);
        build_end(&b);
    }
    float sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += kept[0][i];
    assert_memory_equal(kept[0], kept[1], sizeof kept[0]);
    assert_true(sum > 700 && sum < 800);
}

static void segments_know_their_bounds(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    uint32_t ids = build_loaded(&b, DTYPE_FLOAT32, 1, 6, (const float[]){1, 1, 2, 2, 2, 0});
    uint32_t dst = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 1, 12);
    RUN(&b, SEQUENCE_BOUNDS, tile(build_all(&b, dst)), tile(build_all(&b, ids)));
    build_store(&b, dst);
    build_must_run(&b);
    expect(&b, 0, (const float[]){0, 0, 2, 2, 2, 6, 2, 2, 5, 5, 5, -1}, 12);
    build_end(&b);
}

static void narrow_types_round_on_the_way_out(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    uint32_t data = build_loaded(&b, DTYPE_FLOAT32, 1, 4,
                                 (const float[]){1.00390625f, 1.01171875f, 300, -2.5f});
    uint32_t dst = build_tile(&b, NKI_SBUF, DTYPE_BFLOAT16, 1, 4);
    uint32_t bytes = build_tile(&b, NKI_SBUF, DTYPE_INT8, 1, 4);
    RUN(&b, TENSOR_COPY, tile(build_all(&b, dst)), tile(build_all(&b, data)));
    RUN(&b, TENSOR_COPY, tile(build_all(&b, bytes)), tile(build_all(&b, data)));
    build_store(&b, dst);
    build_store(&b, bytes);
    build_must_run(&b);
    expect(&b, 0, (const float[]){1, 1.015625f, 300, -2.5f}, 4);
    expect(&b, 1, (const float[]){1, 1, 127, -2}, 4);
    build_end(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensor_scalar_applies_two_operators),
        cmocka_unit_test(tensor_scalar_reverses_operands),
        cmocka_unit_test(tensor_scalar_takes_one_operand_per_partition),
        cmocka_unit_test(tensor_scalar_may_write_its_own_operand),
        cmocka_unit_test(binary_operators_have_their_meaning),
        cmocka_unit_test(int32_arithmetic_is_exact_on_gpsimd_only),
        cmocka_unit_test(bitwise_operators_work_on_bits),
        cmocka_unit_test(scalar_tensor_tensor_combines_three),
        cmocka_unit_test(activation_scales_adds_and_sums),
        cmocka_unit_test(activation_accumulates_over_instructions),
        cmocka_unit_test(reductions_fold_the_last_axes),
        cmocka_unit_test(reductions_keep_the_outer_free_axes),
        cmocka_unit_test(sums_of_long_rows_stay_close_to_double),
        cmocka_unit_test(partitions_reduce_on_gpsimd),
        cmocka_unit_test(tensor_scalar_reduce_writes_both),
        cmocka_unit_test(tensor_scalar_reduce_finds_the_largest_magnitude),
        cmocka_unit_test(a_scan_carries_its_state),
        cmocka_unit_test(a_scan_of_maxima_starts_from_a_vector),
        cmocka_unit_test(cumulative_sums_run_along_a_row),
        cmocka_unit_test(statistics_split_even_and_odd),
        cmocka_unit_test(the_eight_largest_come_in_order),
        cmocka_unit_test(a_value_that_is_not_there_has_no_index),
        cmocka_unit_test(predicates_choose),
        cmocka_unit_test(ranges_keep_what_lies_within),
        cmocka_unit_test(affine_patterns_count_and_choose),
        cmocka_unit_test(exponentials_add_up),
        cmocka_unit_test(functions_without_an_instruction_run_too),
        cmocka_unit_test(functions_are_accurate),
        cmocka_unit_test(the_other_functions_follow_their_formulas),
        cmocka_unit_test(sine_goes_on_as_a_cubic),
        cmocka_unit_test(dropout_is_the_same_every_time),
        cmocka_unit_test(segments_know_their_bounds),
        cmocka_unit_test(narrow_types_round_on_the_way_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
