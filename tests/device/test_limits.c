/* SPDX-License-Identifier: Apache-2.0 */
/* What the hardware refuses, one program for each rule: the message, its code, and that the same
 * program within the limit loads. Also that the tables of operands agree. */
#include "device/build.h"
#include "device/image/testing.h"
#include "device/image/inner.h"

/* Builds a program with size `n` in the place that the rule checks. */
typedef void build_fn(struct build *b, int n);

static const struct nki_ap *sbuf(struct build *b, enum dtype dtype, int p, int f) {
    uint32_t t = build_tile(b, NKI_SBUF, dtype, p, f);
    return build_all(b, t);
}

static const struct nki_ap *psum(struct build *b, enum dtype dtype, int p, int f) {
    uint32_t t = build_tile(b, NKI_PSUM, dtype, p, f);
    return build_all(b, t);
}

#define F32 DTYPE_FLOAT32

static void partitions(struct build *b, int n) {
    RUN(b, MEMSET, tile(sbuf(b, F32, n, 4)), number(0));
}

static void equal_partitions(struct build *b, int n) {
    RUN(b, TENSOR_COPY, tile(sbuf(b, F32, 64, 4)), tile(sbuf(b, F32, n, 4)));
}

static void equal_elements(struct build *b, int n) {
    RUN(b, TENSOR_COPY, tile(sbuf(b, F32, 64, 4)), tile(sbuf(b, F32, 64, n)));
}

static void stationary_width(struct build *b, int n) {
    RUN(b, NC_MATMUL, tile(psum(b, F32, MIN_OF(n, 128), 64)), tile(sbuf(b, F32, 128, n)),
        tile(sbuf(b, F32, 128, 64)));
}

static void moving_width(struct build *b, int n) {
    RUN(b, NC_MATMUL, tile(psum(b, F32, 64, n)), tile(sbuf(b, F32, 128, 64)),
        tile(sbuf(b, F32, 128, n)));
}

static void contraction(struct build *b, int n) {
    RUN(b, NC_MATMUL, tile(psum(b, F32, 64, 64)), tile(sbuf(b, F32, 128, 64)),
        tile(sbuf(b, F32, n, 64)));
}

static void matmul_destination(struct build *b, int n) {
    const struct nki_ap *dst = n ? sbuf(b, F32, 64, 64) : psum(b, F32, 64, 64);
    RUN(b, NC_MATMUL, tile(dst), tile(sbuf(b, F32, 128, 64)), tile(sbuf(b, F32, 128, 64)));
}

static void matmul_source(struct build *b, int n) {
    const struct nki_ap *moving = n ? psum(b, F32, 128, 64) : sbuf(b, F32, 128, 64);
    RUN(b, NC_MATMUL, tile(psum(b, F32, 64, 64)), tile(sbuf(b, F32, 128, 64)), tile(moving));
}

static void product_of_part(struct build *b, int row, int column, int rows, int columns) {
    int64_t *part = ARENA_ARRAY(b->program->arena, int64_t, 4);
    memcpy(part, (int64_t[]){row, column, rows, columns}, 4 * sizeof *part);
    RUN(b, NC_MATMUL, tile(psum(b, F32, 32, 64)), tile(sbuf(b, F32, 32, 32)),
        tile(sbuf(b, F32, 32, 64)), none(), none(), none(), none(), integers(part, 2),
        integers(part + 2, 2));
}

static void part_begins(struct build *b, int n) {
    product_of_part(b, n, 0, 64, 128);
}

static void part_ends(struct build *b, int n) {
    product_of_part(b, 0, n, 128, 32);
}

static void matmul_types(struct build *b, int n) {
    enum dtype dtype = n ? DTYPE_BFLOAT16 : F32;
    RUN(b, NC_MATMUL, tile(psum(b, F32, 64, 64)), tile(sbuf(b, F32, 128, 64)),
        tile(sbuf(b, dtype, 128, 64)));
}

static void matmul_integers(struct build *b, int n) {
    enum dtype dtype = n ? DTYPE_INT8 : DTYPE_BFLOAT16;
    RUN(b, NC_MATMUL, tile(psum(b, F32, 64, 64)), tile(sbuf(b, dtype, 128, 64)),
        tile(sbuf(b, dtype, 128, 64)));
}

static void matmul_bank(struct build *b, int n) {
    uint32_t t = build_tile(b, NKI_PSUM, F32, 64, 1024);
    RUN(b, NC_MATMUL, tile(build_part(b, t, 0, 64, n, 512)), tile(sbuf(b, F32, 128, 64)),
        tile(sbuf(b, F32, 128, 512)));
}

static void ocp_fp8(struct build *b, int n) {
    enum dtype dtype = n ? DTYPE_FLOAT8_E4M3FN : DTYPE_FLOAT8_E4M3;
    RUN(b, NC_MATMUL, tile(psum(b, F32, 64, 64)), tile(sbuf(b, dtype, 128, 64)),
        tile(sbuf(b, dtype, 128, 64)));
}

static void gpsimd_memory(struct build *b, int n) {
    const struct nki_ap *data = n ? psum(b, F32, 64, 4) : sbuf(b, F32, 64, 4);
    RUN(b, TENSOR_COPY, tile(sbuf(b, F32, 64, 4)), tile(data))->engine = NKI_ENGINE_GPSIMD;
}

static void dma_memory(struct build *b, int n) {
    const struct nki_ap *src = n ? psum(b, F32, 64, 4) : sbuf(b, F32, 64, 4);
    build_copy(b, build_all(b, build_output(b, F32, 64, 4)), src);
}

static void compute_memory(struct build *b, int n) {
    uint32_t input = build_input(b, F32, 64, 4, NULL);
    RUN(b, TENSOR_COPY, tile(sbuf(b, F32, 64, 4)),
        tile(n ? build_all(b, input) : sbuf(b, F32, 64, 4)));
}

static void both_psum(struct build *b, int n) {
    const struct nki_ap *second = n ? psum(b, F32, 64, 4) : sbuf(b, F32, 64, 4);
    RUN(b, TENSOR_TENSOR, tile(sbuf(b, F32, 64, 4)), tile(psum(b, F32, 64, 4)), tile(second),
        func(NKI_FUNC_ADD));
}

static void start_partition(struct build *b, int n) {
    uint32_t t = build_tile(b, NKI_SBUF, F32, 128, 4);
    RUN(b, MEMSET, tile(build_part(b, t, n, 40, 0, 4)), number(0));
}

static void wrong_engine(struct build *b, int n) {
    const struct nki_ap *t = sbuf(b, F32, 64, 4);
    RUN(b, TENSOR_TENSOR, tile(t), tile(t), tile(t), func(NKI_FUNC_ADD))->engine =
        n ? NKI_ENGINE_SCALAR : NKI_ENGINE_GPSIMD;
}

static void activation_function(struct build *b, int n) {
    const struct nki_ap *t = sbuf(b, F32, 64, 4);
    RUN(b, ACTIVATION, tile(t), func(n ? NKI_FUNC_COS : NKI_FUNC_SIN), tile(t));
}

static void activation_bias(struct build *b, int n) {
    const struct nki_ap *t = sbuf(b, F32, 64, 4);
    RUN(b, ACTIVATION, tile(t), func(NKI_FUNC_EXP), tile(t),
        tile(sbuf(b, n ? DTYPE_INT32 : F32, 64, 1)));
}

static void activation_scale(struct build *b, int n) {
    const struct nki_ap *t = sbuf(b, F32, 64, 4);
    RUN(b, ACTIVATION, tile(t), func(NKI_FUNC_EXP), tile(t), none(),
        tile(sbuf(b, n ? DTYPE_BFLOAT16 : F32, 64, 1)));
}

static void scalar_vector(struct build *b, int n) {
    const struct nki_ap *t = sbuf(b, F32, 64, 4);
    RUN(b, TENSOR_SCALAR, tile(t), tile(t), func(NKI_FUNC_ADD), tile(sbuf(b, F32, 64, n)));
}

static void bitwise_types(struct build *b, int n) {
    const struct nki_ap *t = sbuf(b, n ? F32 : DTYPE_INT32, 64, 4);
    RUN(b, TENSOR_TENSOR, tile(t), tile(t), tile(t), func(NKI_FUNC_BITWISE_AND));
}

static void mixed_classes(struct build *b, int n) {
    const struct nki_ap *t = sbuf(b, DTYPE_INT32, 64, 4);
    RUN(b, TENSOR_SCALAR, tile(t), tile(t), func(NKI_FUNC_BITWISE_AND), integer(1), flag(false),
        func(n ? NKI_FUNC_ADD : NKI_FUNC_LEFT_SHIFT), integer(1));
}

static void reduce_operator(struct build *b, int n) {
    RUN(b, TENSOR_REDUCE, tile(sbuf(b, F32, 64, 1)), func(n ? NKI_FUNC_LESS : NKI_FUNC_ADD),
        tile(sbuf(b, F32, 64, 8)), integer(1));
}

static void reduce_axis(struct build *b, int n) {
    RUN(b, TENSOR_REDUCE, tile(sbuf(b, F32, 64, 1)), func(NKI_FUNC_ADD), tile(sbuf(b, F32, 64, 8)),
        integer(n));
}

static void stats_width(struct build *b, int n) {
    RUN(b, BN_STATS, tile(sbuf(b, F32, 64, 6)), tile(sbuf(b, F32, 64, n)));
}

static void max_width(struct build *b, int n) {
    RUN(b, MAX8, tile(sbuf(b, F32, 64, 8)), tile(sbuf(b, F32, 64, n)));
}

static void vector_transpose(struct build *b, int n) {
    RUN(b, NC_TRANSPOSE, tile(sbuf(b, F32, 32, n)), tile(sbuf(b, F32, n, 32)))->engine =
        NKI_ENGINE_VECTOR;
}

static void memset_class(struct build *b, int n) {
    RUN(b, MEMSET, tile(sbuf(b, DTYPE_INT32, 64, 4)), n ? number(0.5) : integer(1));
}

static void later_instruction(struct build *b, int n) {
    const struct nki_ap *t = sbuf(b, F32, 64, 4);
    if (n)
        RUN(b, EXPONENTIAL, tile(t), tile(t));
    else
        RUN(b, ACTIVATION, tile(t), func(NKI_FUNC_EXP), tile(t));
}

static void later_type(struct build *b, int n) {
    enum dtype dtype = n ? DTYPE_FLOAT8_E4M3FN_X4 : DTYPE_FLOAT8_E4M3;
    RUN(b, TENSOR_COPY, tile(sbuf(b, dtype, 64, 4)), tile(sbuf(b, dtype, 64, 4)));
}

static void wide_type(struct build *b, int n) {
    RUN(b, MEMSET, tile(sbuf(b, n ? DTYPE_INT64 : DTYPE_INT32, 64, 4)), integer(0));
}

static void hwdge_cast(struct build *b, int n) {
    uint32_t input = build_input(b, DTYPE_BFLOAT16, 4, 4, NULL);
    RUN(b, DMA_COPY, tile(sbuf(b, n ? F32 : DTYPE_BFLOAT16, 4, 4)), tile(build_all(b, input)),
        none(), none(), member(NKI_DGE_HWDGE));
}

static void out_of_bounds(struct build *b, int n) {
    uint32_t input = build_input(b, F32, 100, 4, NULL);
    build_copy(b, sbuf(b, F32, 64, 4), build_part(b, input, n, 64, 0, 4));
}

static void out_of_tile(struct build *b, int n) {
    uint32_t t = build_tile(b, NKI_SBUF, F32, 64, 100);
    RUN(b, TENSOR_COPY, tile(sbuf(b, F32, 64, 64)), tile(build_part(b, t, 0, 64, n, 64)));
}

static void hbm_size(struct build *b, int n) {
    build_storage(b, (struct nki_storage){.space = NKI_HBM,
                                          .dtype = F32,
                                          .n_dims = 1,
                                          .blocks = 1,
                                          .bytes = (uint64_t)n << 30,
                                          .name = "huge"});
    partitions(b, 1);
}

static void missing_operand(struct build *b, int n) {
    const struct nki_ap *t = sbuf(b, F32, 64, 4);
    RUN(b, TENSOR_SCALAR, tile(t), tile(t), func(NKI_FUNC_ADD), n ? none() : number(1));
}

static void pattern_count(struct build *b, int n) {
    int64_t *pattern = arena_dup(b->program->arena, &(int64_t[]){1, n}, 2 * sizeof *pattern);
    RUN(b, IOTA, tile(sbuf(b, DTYPE_INT32, 64, 4)), integers(pattern, 2));
}

static void scattered_sources(struct build *b, int n) {
    uint32_t y = build_output(b, F32, 10, 2);
    struct nki_ap *dst = arena_dup(b->program->arena, build_all(b, y), sizeof *dst);
    struct nki_indirect *by = ARENA_NEW(b->program->arena, struct nki_indirect);
    *by = (struct nki_indirect){
        .vector = true, .index = sbuf(b, DTYPE_INT32, 3, 1), .step = 2, .limit = 10};
    dst->count[0] = 3;
    dst->indirect = by;
    const struct nki_ap **srcs = ARENA_ARRAY(b->program->arena, const struct nki_ap *, 3);
    for (int i = 0; i < 3; i++)
        srcs[i] = sbuf(b, F32, 3, 2);
    RUN(b, DMA_COMPUTE, tile(dst),
        (struct nki_operand){.kind = NKI_OPERAND_APS, .n = (uint32_t)n, .aps = srcs},
        func(NKI_FUNC_ADD));
}

static const struct rule {
    build_fn *build;
    int good, bad;
    const char *message; /* part of it */
    const char *code;
} rules[] = {
    {partitions, 128, 129, "129 partitions, 1 to 128", "err_num_partition_exceed_arch_limit"},
    {equal_partitions, 64, 32, "dst has 64 partitions and src has 32",
     "err_num_partition_mismatch"},
    {equal_elements, 4, 5, "dst has 4 elements per partition and src has 5", "hone-shape"},
    {part_begins, 64, 32, "tile_position starts at 32 of the rows; tiles of 64", NULL},
    {part_ends, 96, 112, "tile_position starts at 112 of the columns; tiles of 32", NULL},
    {part_ends, 0, -32, "tile_position starts at -32 of the columns; tiles of 32", NULL},
    {stationary_width, 128, 129, "stationary has 129 free elements", NULL},
    {moving_width, 512, 513, "moving has 513 free elements, at most 512",
     "err_size_of_dimension_exceed_arch_limit"},
    {contraction, 128, 64, "stationary has 128 partitions and moving 64",
     "err_num_partition_mismatch"},
    {matmul_destination, 0, 1, "is in SBUF, the tensor engine writes PSUM only",
     "err_unsupported_memory"},
    {matmul_source, 0, 1, "is in PSUM, the tensor engine reads SBUF only",
     "err_unsupported_memory"},
    {matmul_types, 0, 1, "stationary is float32 and moving is bfloat16", "hone-dtype"},
    {matmul_integers, 0, 1, "stationary is int8", "hone-dtype"},
    {matmul_bank, 512, 256, "one PSUM bank", "err_size_of_dimension_exceed_arch_limit"},
    {ocp_fp8, 0, 1, "float8_e4m3fn", "NCC_EVRF051"},
    {gpsimd_memory, 0, 1, "the gpsimd engine reaches SBUF only", "err_unsupported_memory"},
    {dma_memory, 0, 1, "DMA reaches HBM and SBUF only", "err_unsupported_memory"},
    {compute_memory, 0, 1, "load it first", "err_unsupported_memory"},
    {both_psum, 0, 1, "data1 and data2 are both in PSUM", "err_unsupported_memory"},
    {start_partition, 64, 32, "40 partitions of tile start at partition 32",
     "hone-start-partition"},
    {wrong_engine, 0, 1, "the scalar engine cannot run it", "hone-engine"},
    {activation_function, 0, 1, "nl.cos is no activation function", "hone-operator"},
    {activation_bias, 0, 1, "bias is int32", "err_activation_bias_invalid_type"},
    {activation_scale, 0, 1, "scale is bfloat16", "err_activation_scale_invalid_type"},
    {scalar_vector, 1, 2, "operand0 has 2 elements per partition", "hone-shape"},
    {bitwise_types, 0, 1, "an integer type is needed", "hone-dtype"},
    {mixed_classes, 0, 1, "both must be arithmetic or both bitwise", "hone-operator"},
    {reduce_operator, 0, 1, "nl.less cannot reduce", "hone-operator"},
    {reduce_axis, 1, 0, "axis must name free dimensions", "hone-axis"},
    {stats_width, 512, 513, "513 elements per partition, 1 to 512",
     "err_size_of_dimension_exceed_arch_limit"},
    {max_width, 8, 7, "7 elements per partition, 8 to 16384", NULL},
    {vector_transpose, 32, 33, "transposes up to 32 x 32", NULL},
    {memset_class, 0, 1, "the value 0.5 a float", "hone-dtype"},
    {later_instruction, 0, 1, "it exists from trn3 on, this is trn2", "hone-generation"},
    {later_type, 0, 1, "float8_e4m3fn_x4 needs trn3", "NCC_ESPP047"},
    {wide_type, 0, 1, "no engine computes with 64-bit types", "NCC_ESPP004"},
    {hwdge_cast, 0, 1, "hwdge cannot cast bfloat16 to float32", "hone-dtype"},
    {out_of_bounds, 36, 37, "which has 400", "err_tensor_access_out_of_bound"},
    {out_of_tile, 36, 37, "which has 100 per partition", "err_tensor_access_out_of_bound"},
    {hbm_size, 12, 13, "13.0 GiB, a core of trn2 has 12", "NCC_EOOM001"},
    {missing_operand, 0, 1, "op0=nl.add needs operand0", "hone-operator"},
    {scattered_sources, 2, 3, "3 srcs; with a tile of indices it must be two", "hone-argument"},
    {pattern_count, 4, 5, "pattern makes 5 elements", "hone-shape"},
};

/* Their tiles are written by nothing, about which there is a warning. */
static const struct diag *first_error(const struct build *b) {
    size_t i = 0;
    while (i < b->diags.all.len && b->diags.all.at[i].severity != DIAG_ERROR)
        i++;
    assert_true(i < b->diags.all.len);
    return &b->diags.all.at[i];
}

static void every_limit_is_told_and_kept(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        struct build good = build_start("trn2"), bad = build_start("trn2");
        rules[i].build(&good, rules[i].good);
        rules[i].build(&bad, rules[i].bad);
        const char *nothing = build_error(&good), *found = build_error(&bad);
        if (nothing[0] || !strstr(found, rules[i].message))
            fail_msg("rule %zu: \"%s\" where \"%s\" was expected, and \"%s\" within the limit", i,
                     found, rules[i].message, nothing);
        if (rules[i].code)
            assert_string_equal(first_error(&bad)->code, rules[i].code);
        assert_string_equal(first_error(&bad)->file, "kernel.py");
        build_end(&good);
        build_end(&bad);
    }
}

/* An unrolled loop: the same lines first within the limit, then above it. */
static void what_passed_once_is_looked_at_again(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        if (rules[i].build == hbm_size) /* of all tensors together */
            continue;
        struct build b = build_start("trn2");
        rules[i].build(&b, rules[i].good);
        size_t n = b.program->instrs.len;
        rules[i].build(&b, rules[i].good);
        rules[i].build(&b, rules[i].bad);
        for (size_t k = n; n && k < b.program->instrs.len; k++)
            b.program->instrs.at[k].loc = b.program->instrs.at[k % n].loc;
        const char *found = build_error(&b);
        if (!strstr(found, rules[i].message))
            fail_msg("rule %zu: \"%s\" where \"%s\" was expected", i, found, rules[i].message);
        build_end(&b);
    }
}

static void trn3_multiplies_wider_tiles(void **state) {
    (void)state;
    struct build b = build_start("trn3");
    moving_width(&b, 1024);
    assert_string_equal(build_error(&b), "");
    build_end(&b);
}

static void a_loop_is_told_once(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    const struct nki_ap *t = sbuf(&b, F32, 64, 4);
    for (int i = 0; i < 1000; i++) {
        RUN(&b, ACTIVATION, tile(t), func(NKI_FUNC_COS), tile(t));
        b.program->instrs.at[i].loc = 0;
    }
    assert_string_not_equal(build_error(&b), "");
    assert_int_equal(b.diags.errors, 1);
    build_end(&b);
}

static void findings_stop_at_fifty(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    const struct nki_ap *t = sbuf(&b, F32, 64, 4);
    for (int i = 0; i < 200; i++)
        RUN(&b, ACTIVATION, tile(t), func(NKI_FUNC_COS), tile(t));
    assert_string_not_equal(build_error(&b), "");
    assert_int_equal(b.diags.errors, 50);
    build_end(&b);
}

/* On trn1 copy takes a number as its bias, and every other function a tile. */
static void a_bias_may_be_a_number(void **state) {
    (void)state;
    static const struct bias {
        const char *device;
        enum nki_func func;
        bool number, legacy, refused;
    } rows[] = {
        {"trn1", NKI_FUNC_COPY, .number = true},
        {"trn1", NKI_FUNC_COPY, .refused = true},
        {"trn1", NKI_FUNC_COPY, .legacy = true},
        {"trn1", NKI_FUNC_EXP, .number = true, .refused = true},
        {"trn1", NKI_FUNC_EXP, .number = false},
        {"trn2", NKI_FUNC_COPY, .number = true},
        {"trn2", NKI_FUNC_COPY, .number = false},
        {"trn2", NKI_FUNC_EXP, .number = true},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct bias *row = &rows[i];
        struct build b = build_start(row->device);
        if (row->legacy) {
            b.program->dialect = NKI_DIALECT_LEGACY;
            b.program->rules = nki_rules_of("0.1");
        }
        const struct nki_ap *t = sbuf(&b, F32, 64, 4), *bias = sbuf(&b, F32, 64, 1);
        RUN(&b, ACTIVATION, tile(t), func(row->func), tile(t),
            row->number ? number(-1e30) : tile(bias));
        assert_int_equal(strstr(build_error(&b), "bias must be") != NULL, row->refused);
        assert_int_equal(b.diags.errors, row->refused);
        build_end(&b);
    }
}

/* trn1 has no transpose mode: what its Tensor engine transposes is a product, in float32. */
static void trn1_transposes_into_float32(void **state) {
    (void)state;
    static const struct transpose {
        const char *device;
        enum nki_engine engine;
        enum dtype dst;
        bool refused;
    } rows[] = {
        {"trn1", NKI_ENGINE_TENSOR, F32, false},
        {"trn1", NKI_ENGINE_TENSOR, DTYPE_BFLOAT16, false},
        {"trn1", NKI_ENGINE_TENSOR, DTYPE_FLOAT16, true},
        {"trn1", NKI_ENGINE_VECTOR, F32, true},
        {"trn2", NKI_ENGINE_TENSOR, F32, true},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct transpose *row = &rows[i];
        struct build b = build_start(row->device);
        RUN(&b, NC_TRANSPOSE, tile(psum(&b, row->dst, 32, 32)),
            tile(sbuf(&b, DTYPE_BFLOAT16, 32, 32)))
            ->engine = row->engine;
        assert_int_equal(strstr(build_error(&b), "of the same type") != NULL, row->refused);
        assert_int_equal(b.diags.errors, row->refused);
        build_end(&b);
    }
}

static void calls_are_told_as_notes(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    activation_function(&b, 1);
    *vec_push(&b.program->locs) = (struct nki_loc){.line = 77, .column = 5, .caller = -1};
    b.program->locs.at[0].caller = 1;
    assert_string_not_equal(build_error(&b), "");
    assert_int_equal(b.diags.all.at[1].severity, DIAG_NOTE);
    assert_int_equal(b.diags.all.at[1].line, 77);
    build_end(&b);
}

static void legacy_kernels_may_store_psum(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    b.program->dialect = NKI_DIALECT_LEGACY;
    b.program->rules = nki_rules_of("0.1");
    dma_memory(&b, 1);
    assert_string_equal(build_error(&b), "");
    assert_int_equal(b.diags.warnings, 2); /* the other one: nothing was written to the tile */
    build_end(&b);
}

static void a_tile_that_nothing_wrote_is_warned_about_once(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    dma_memory(&b, 0);
    dma_memory(&b, 0);
    assert_string_equal(build_error(&b), "");
    size_t told = 0;
    for (size_t i = 0; i < b.diags.all.len; i++)
        told += !strcmp(b.diags.all.at[i].code, "hone-unwritten");
    assert_int_equal(told, 2); /* each of the two tiles once */
    build_end(&b);
}

/* One cause, one finding: the result of a refused instruction is not missing behind it. */
static void what_a_refused_instruction_writes_counts(void **state) {
    (void)state;
    static const struct refusal {
        const char *error;
        size_t warnings;
        enum nki_engine engine;
        int from, to; /* the first elements that are read and written */
        enum dtype dtype;
        uint32_t storage; /* beside the result's */
        bool no_source;
    } rows[] = {
        {"the tensor engine cannot run it", .engine = NKI_ENGINE_TENSOR},
        {"elements 1 to 64", .from = 1},
        {"elements 1 to 64", .to = 1},
        {"float64", .dtype = DTYPE_FLOAT64},
        {"and is missing", .no_source = true},
        {"impossible shape", .storage = 1u << 30}, /* what it writes is not known */
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct refusal *row = &rows[i];
        struct build b = build_start("trn2");
        uint32_t t = build_tile(&b, NKI_SBUF, F32, 64, 64);
        const struct nki_ap *u = sbuf(&b, F32, 64, 64);
        struct nki_ap *dst = build_all(&b, u->storage), *src = build_all(&b, t);
        build_copy(&b, build_all(&b, t), build_all(&b, build_input(&b, F32, 64, 64, NULL)));
        src->offset = row->from;
        src->dtype = row->dtype ? row->dtype : F32;
        dst->offset = row->to;
        dst->storage += row->storage;
        RUN(&b, TENSOR_COPY, tile(dst), row->no_source ? none() : tile(src))->engine = row->engine;
        RUN(&b, ACTIVATION, tile(build_all(&b, t)), func(NKI_FUNC_EXP), tile(u));
        assert_non_null(strstr(build_error(&b), row->error));
        assert_int_equal(b.diags.warnings, row->warnings);
        build_end(&b);
    }
}

static void engines_are_chosen(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    const struct nki_ap *t = sbuf(&b, F32, 64, 64), *p = psum(&b, F32, 64, 64);
    const struct nki_ap *small = sbuf(&b, F32, 32, 32), *ints = sbuf(&b, DTYPE_INT32, 64, 4);
    build_copy(&b, t, build_all(&b, build_input(&b, F32, 64, 64, NULL)));
    RUN(&b, TENSOR_TENSOR, tile(t), tile(t), tile(t), func(NKI_FUNC_ADD));
    RUN(&b, TENSOR_TENSOR, tile(ints), tile(ints), tile(ints), func(NKI_FUNC_ADD));
    RUN(&b, TENSOR_SCALAR, tile(t), tile(t), func(NKI_FUNC_RSQRT));
    RUN(&b, NC_TRANSPOSE, tile(p), tile(t));
    RUN(&b, NC_TRANSPOSE, tile(small), tile(small));
    RUN(&b, ACTIVATION, tile(t), func(NKI_FUNC_EXP), tile(p));
    RUN(&b, MEMSET, tile(t), number(0))->engine = NKI_ENGINE_GPSIMD;
    static const enum nki_engine expected[] = {
        NKI_ENGINE_DMA,    NKI_ENGINE_VECTOR, NKI_ENGINE_GPSIMD, NKI_ENGINE_GPSIMD,
        NKI_ENGINE_TENSOR, NKI_ENGINE_VECTOR, NKI_ENGINE_SCALAR, NKI_ENGINE_GPSIMD};
    struct device_image *image = device_load(b.program, b.generation, &b.diags);
    assert_non_null(image);
    for (size_t i = 0; i < COUNT_OF(expected); i++)
        assert_int_equal(device_image_engine(image, i), expected[i]);
    device_unload(image);
    build_end(&b);
}

static void a_result_that_is_never_written_is_an_error(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    build_output(&b, F32, 4, 4);
    assert_non_null(strstr(build_error(&b), "never written"));
    assert_string_equal(b.diags.all.at[0].code, "err_tensor_output_not_written_to");
    build_end(&b);
}

/* ---- tables --------------------------------------------------------------------------------- */

static void operands_know_their_roles(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    const struct nki_ap *t = sbuf(&b, F32, 64, 4), *sum = sbuf(&b, F32, 64, 1);
    RUN(&b, ACTIVATION, tile(t), func(NKI_FUNC_EXP), tile(t), tile(sum), none(), func(NKI_FUNC_ADD),
        tile(sum), member(3));
    struct device_image *image = device_load(b.program, b.generation, &b.diags);
    struct device_operand operands[DEVICE_MAX_OPERANDS];
    assert_int_equal(device_operands(image, 0, operands), 4);
    assert_true(operands[0].is_dst && !operands[0].is_src && operands[0].param == 0);
    assert_true(operands[1].is_dst && operands[1].param == NKI_ACTIVATION_reduce_res);
    assert_true(operands[2].is_src && !operands[2].is_dst);
    assert_true(operands[3].is_src && operands[3].param == NKI_ACTIVATION_bias);
    device_unload(image);
    build_end(&b);
}

static void generations_go_by_name_and_alias(void **state) {
    (void)state;
    assert_ptr_equal(device_generation_find("trn2"), device_generation_find("gen3"));
    assert_null(device_generation_find("trn9"));
    assert_string_equal(device_generation_at(0)->name, "trn1");
    assert_null(device_generation_at(3));
    for (size_t i = 0; device_generation_at(i); i++)
        assert_ptr_equal(device_generation_of(device_generation_at(i)->generation),
                         device_generation_at(i));
}

static void a_device_that_is_asked_for_exists_or_is_refused_with_what_there_is(void **state) {
    (void)state;
    struct err err = {0};
    assert_ptr_equal(device_generation_ask(NULL, &err), device_generation_find(device_name(NULL)));
    assert_ptr_equal(device_generation_ask("GEN4", &err), device_generation_find("trn3"));
    assert_null(device_generation_ask("trn9", &err));
    assert_string_equal(err.text, "there is no device trn9; there are trn1, trn2 and trn3");
}

/* Settings are in a room that knows nothing of devices, so their choices are text. */
static void settings_offer_the_generations_there_are(void **state) {
    (void)state;
    static const struct {
        const char *key, *standard, *choices;
    } settings[] = {
#define X(section, key, kind, standard, choices, text) {key, standard, choices},
#define T(section, key, kind, standard, choices, text) {key, standard, choices},
#include "base/config/config.def"
#undef X
#undef T
    };
    struct buf names = {0};
    size_t found = 0;
    for (size_t i = 0; device_generation_at(i); i++)
        buf_printf(&names, "%s%s", i ? "|" : "", device_generation_at(i)->name);
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        if (strcmp(settings[i].key, "device") != 0)
            continue;
        found++;
        assert_string_equal(settings[i].choices, names.at);
        if (settings[i].standard)
            assert_string_equal(settings[i].standard, device_name(NULL));
    }
    assert_true(found >= 2);
    buf_free(&names);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_limit_is_told_and_kept),
        cmocka_unit_test(what_passed_once_is_looked_at_again),
        cmocka_unit_test(trn3_multiplies_wider_tiles),
        cmocka_unit_test(a_loop_is_told_once),
        cmocka_unit_test(findings_stop_at_fifty),
        cmocka_unit_test(a_bias_may_be_a_number),
        cmocka_unit_test(trn1_transposes_into_float32),
        cmocka_unit_test(calls_are_told_as_notes),
        cmocka_unit_test(legacy_kernels_may_store_psum),
        cmocka_unit_test(a_tile_that_nothing_wrote_is_warned_about_once),
        cmocka_unit_test(what_a_refused_instruction_writes_counts),
        cmocka_unit_test(engines_are_chosen),
        cmocka_unit_test(a_result_that_is_never_written_is_an_error),
        cmocka_unit_test(operands_know_their_roles),
        cmocka_unit_test(generations_go_by_name_and_alias),
        cmocka_unit_test(a_device_that_is_asked_for_exists_or_is_refused_with_what_there_is),
        cmocka_unit_test(settings_offer_the_generations_there_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
