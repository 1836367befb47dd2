/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of the Tensor engine's matrix product: sizes of the array, types, the PSUM bank of the
 * destination, and the scaled formats of trn3. Source: the ISA reference of nki.isa.nc_matmul,
 * nc_matmul_mx and quantize_mx (NKI 0.6). */
#include "device/check/own.h"

static bool is_fp8(enum dtype dtype) {
    return dtype == DTYPE_FLOAT8_E4M3 || dtype == DTYPE_FLOAT8_E4M3FN || dtype == DTYPE_FLOAT8_E5M2;
}

static bool is_wide(enum dtype dtype) {
    return dtype == DTYPE_FLOAT32 || dtype == DTYPE_TFLOAT32;
}

static bool check_input_type(struct check *c, size_t k) {
    enum dtype dtype = check_tile(c, k)->dtype;
    if (dtype == DTYPE_FLOAT8_E4M3FN && c->generation < NKI_GEN4) {
        check_error(c, "NCC_EVRF051",
                    "%s is float8_e4m3fn, which the tensor engine takes from trn3 on",
                    check_param(c, k));
        return false;
    }
    if (is_wide(dtype) || is_fp8(dtype) || dtype == DTYPE_BFLOAT16 || dtype == DTYPE_FLOAT16)
        return true;
    check_error(c, "hone-dtype",
                "%s is %s; float32, tfloat32, bfloat16, float16 and 8-bit floats are allowed",
                check_param(c, k), dtype_name(dtype));
    return false;
}

static void check_types(struct check *c, const struct nki_ap *dst) {
    if (!check_input_type(c, NKI_NC_MATMUL_stationary) ||
        !check_input_type(c, NKI_NC_MATMUL_moving))
        return;
    enum dtype a = check_tile(c, NKI_NC_MATMUL_stationary)->dtype;
    enum dtype b = check_tile(c, NKI_NC_MATMUL_moving)->dtype;
    bool mixed = (a == DTYPE_FLOAT8_E4M3FN && b == DTYPE_FLOAT8_E4M3) ||
                 (b == DTYPE_FLOAT8_E4M3FN && a == DTYPE_FLOAT8_E4M3);
    if (is_wide(a) != is_wide(b) || mixed)
        check_error(c, "hone-dtype", "stationary is %s and moving is %s; %s", dtype_name(a),
                    dtype_name(b),
                    mixed ? "the two e4m3 formats do not mix"
                          : "with one in float32 or tfloat32 the other must be too");
    bool transpose = check_enum(c, NKI_NC_MATMUL_is_transpose, 0) != 0;
    bool late = dst->dtype == DTYPE_BFLOAT16 && c->generation >= NKI_GEN4;
    if (dst->dtype != DTYPE_FLOAT32 && !late && !(transpose && dst->dtype == a) && !c->legacy)
        check_error(c, "hone-dtype", "dst is %s; products accumulate in float32%s",
                    dtype_name(dst->dtype), c->generation >= NKI_GEN4 ? " or bfloat16" : "");
}

/* A matmul writes at most 2 KiB of a partition. Before trn3 these must lie in one bank. */
static void check_bank(struct check *c, const struct nki_ap *dst) {
    const struct nki_storage *storage = c->program->storages.at[dst->storage];
    int64_t low, high, size = (int64_t)dtype_bytes(dst->dtype);
    device_ap_span(c->program, dst, &low, &high);
    int64_t block = (int64_t)storage->block_bytes;
    int64_t first = low * size % block, last = first + (high - low + 1) * size - 1;
    if (c->generation >= NKI_GEN4 || last / PSUM_BANK_BYTES == first / PSUM_BANK_BYTES)
        return;
    check_error(
        c, "err_size_of_dimension_exceed_arch_limit",
        "dst reaches over bytes %lld to %lld of its tile; a product stays within one PSUM bank "
        "of %d bytes (512 float32)",
        (long long)first, (long long)last, PSUM_BANK_BYTES);
}

static void check_sizes(struct check *c, int64_t m, int64_t n, int64_t k) {
    const struct nki_ap *dst = check_tile(c, NKI_NC_MATMUL_dst);
    const struct device_generation *row = device_generation_of(c->generation);
    bool half = dst->dtype == DTYPE_BFLOAT16 && row->pe_columns_bf16;
    int64_t most = half ? row->pe_columns_bf16 : row->pe_columns_fp32;
    if (m > DEVICE_PE_ROWS)
        check_error(c, "err_size_of_dimension_exceed_arch_limit",
                    "stationary has %lld free elements, at most %d are possible", (long long)m,
                    DEVICE_PE_ROWS);
    if (n > most)
        check_error(c, "err_size_of_dimension_exceed_arch_limit",
                    "moving has %lld free elements, at most %lld are possible", (long long)n,
                    (long long)most);
    if (check_tile(c, NKI_NC_MATMUL_moving)->count[0] != k)
        check_error(c, "err_num_partition_mismatch",
                    "stationary has %lld partitions and moving %d; both hold the contraction",
                    (long long)k, check_tile(c, NKI_NC_MATMUL_moving)->count[0]);
    if (dst->count[0] != m || nki_ap_free(dst) != n)
        check_error(c, "hone-shape", "dst is %d x %lld, the product is %lld x %lld", dst->count[0],
                    (long long)nki_ap_free(dst), (long long)m, (long long)n);
}

static bool check_double_row(struct check *c) {
    const struct nki_ap *a = check_tile(c, NKI_NC_MATMUL_stationary),
                        *b = check_tile(c, NKI_NC_MATMUL_moving);
    if (!check_generation(c, NKI_GEN3))
        return false;
    if (!is_fp8(a->dtype) || !is_fp8(b->dtype))
        check_error(c, "hone-dtype", "double_row takes 8-bit floats, these are %s and %s",
                    dtype_name(a->dtype), dtype_name(b->dtype));
    if (check_enum(c, NKI_NC_MATMUL_is_transpose, 0))
        check_error(c, "hone-argument", "double_row cannot transpose");
    if (nki_ap_free(a) % 2 == 0 && nki_ap_free(b) % 2 == 0)
        return true;
    check_error(c, "hone-shape",
                "double_row takes [K, 2, M] and [K, 2, N]; these have %lld and %lld free "
                "elements",
                (long long)nki_ap_free(a), (long long)nki_ap_free(b));
    return false;
}

static bool is_pair(const struct nki_operand *operand) {
    return operand->kind == NKI_OPERAND_INTS && operand->n > 0;
}

/* Along rows (d = 0) or columns the array is whole, or two tiles of 64, or from NeuronCore-v3 on
 * four of 32; a tile starts where one of its size does (ISA reference of nc_matmul, NKI 0.6). */
static bool check_array_tile(struct check *c, int d, int64_t size, int64_t start) {
    static const char *const names[] = {"rows", "columns"};
    bool gen2 = c->generation == NKI_GEN2;
    if (size != 128 && size != 64 && (size != 32 || gen2))
        check_error(c, "hone-argument", "tile_size has %lld %s; the array has tiles of 128%s 64%s",
                    (long long)size, names[d], gen2 ? " and" : ",", gen2 ? "" : " and 32");
    else if (start < 0 || start % size || start + size > 128)
        check_error(c, "hone-argument",
                    "tile_position starts at %lld of the %s; tiles of %lld start at its multiples "
                    "below 128",
                    (long long)start, names[d], (long long)size);
    else
        return true;
    return false;
}

/* Row and column tiling: the operands must fit the part of the array they name. */
static void check_tiling(struct check *c, int64_t k, int64_t m) {
    const struct nki_operand *size = &c->instr->operands[NKI_NC_MATMUL_tile_size];
    const struct nki_operand *at = &c->instr->operands[NKI_NC_MATMUL_tile_position];
    if (!is_pair(size) && !is_pair(at))
        return;
    if (!is_pair(size) || !is_pair(at)) {
        check_error(c, "hone-argument", "tile_position and tile_size go together: %s is missing",
                    is_pair(size) ? "tile_position" : "tile_size");
        return;
    }
    if (size->n != 2 || at->n != 2) {
        check_error(c, "hone-shape", "%s has %u members; (rows, columns) is needed",
                    size->n != 2 ? "tile_size" : "tile_position", size->n != 2 ? size->n : at->n);
        return;
    }
    if (!check_array_tile(c, 0, size->ints[0], at->ints[0]) ||
        !check_array_tile(c, 1, size->ints[1], at->ints[1]))
        return;
    if (size->ints[1] < DEVICE_PE_ROWS &&
        check_enum(c, NKI_NC_MATMUL_perf_mode, NKI_PERF_NONE) == NKI_PERF_DOUBLE_ROW)
        check_error(c, "hone-argument", "double_row does not go with tiles of columns");
    if (k > size->ints[0] || m > size->ints[1])
        check_error(c, "hone-shape", "tile_size is %lld x %lld, the stationary operand %lld x %lld",
                    (long long)size->ints[0], (long long)size->ints[1], (long long)k, (long long)m);
}

void check_matmul(struct check *c) {
    const struct nki_ap *dst = check_tile(c, NKI_NC_MATMUL_dst);
    const struct nki_ap *stationary = check_tile(c, NKI_NC_MATMUL_stationary);
    int64_t m = nki_ap_free(stationary), n = nki_ap_free(check_tile(c, NKI_NC_MATMUL_moving));
    if (check_enum(c, NKI_NC_MATMUL_perf_mode, NKI_PERF_NONE) == NKI_PERF_DOUBLE_ROW) {
        if (!check_double_row(c))
            return;
        m /= 2;
        n /= 2;
    }
    check_sizes(c, m, n, stationary->count[0]);
    check_types(c, dst);
    check_bank(c, dst);
    check_tiling(c, stationary->count[0], m);
}

static bool is_fp8_x4(enum dtype dtype) {
    return dtype == DTYPE_FLOAT8_E4M3FN_X4 || dtype == DTYPE_FLOAT8_E5M2_X4;
}

/* The scales of a tile of x4 elements are as wide as the tile. They reach down to the last row that
 * the tile may need. */
static void check_scales(struct check *c, size_t data, size_t scale) {
    const struct nki_ap *tile = check_tile(c, data), *scales = check_tile(c, scale);
    int64_t groups = tile->count[0] / 8, rows = groups <= 4 ? groups : (groups - 1) / 4 * 32 + 4;
    if (scales->dtype != DTYPE_UINT8 && scales->dtype != DTYPE_FLOAT8_E8M0FNU)
        check_error(c, "hone-dtype", "%s is %s; uint8 or float8_e8m0fnu is needed",
                    check_param(c, scale), dtype_name(scales->dtype));
    if (scales->count[0] < rows || nki_ap_free(scales) != nki_ap_free(tile))
        check_error(c, "hone-shape", "%s is %d x %lld; the groups of %s need %lld x %lld",
                    check_param(c, scale), scales->count[0], (long long)nki_ap_free(scales),
                    check_param(c, data), (long long)rows, (long long)nki_ap_free(tile));
    if (tile->count[0] % 32)
        check_error(c, "hone-shape", "%s has %d partitions; a multiple of 32 is needed",
                    check_param(c, data), tile->count[0]);
}

void check_matmul_mx(struct check *c) {
    const struct nki_ap *dst = check_tile(c, NKI_NC_MATMUL_MX_dst);
    const struct nki_ap *a = check_tile(c, NKI_NC_MATMUL_MX_stationary);
    const struct nki_ap *b = check_tile(c, NKI_NC_MATMUL_MX_moving);
    if (dtype_kind(a->dtype) != 'x' || dtype_kind(b->dtype) != 'x')
        check_error(c, "hone-dtype",
                    "stationary is %s and moving %s; both must be of a packed x4 type",
                    dtype_name(a->dtype), dtype_name(b->dtype));
    if (dst->dtype != DTYPE_FLOAT32 && dst->dtype != DTYPE_BFLOAT16)
        check_error(c, "hone-dtype", "dst is %s; float32 and bfloat16 are possible",
                    dtype_name(dst->dtype));
    check_sizes(c, nki_ap_free(a), nki_ap_free(b), a->count[0]);
    check_scales(c, NKI_NC_MATMUL_MX_stationary, NKI_NC_MATMUL_MX_stationary_scale);
    check_scales(c, NKI_NC_MATMUL_MX_moving, NKI_NC_MATMUL_MX_moving_scale);
}

void check_quantize_mx(struct check *c) {
    const struct nki_ap *dst = check_tile(c, NKI_QUANTIZE_MX_dst),
                        *src = check_tile(c, NKI_QUANTIZE_MX_src);
    if (!is_fp8_x4(dst->dtype))
        check_error(c, "hone-dtype", "dst is %s; float8_e4m3fn_x4 and float8_e5m2_x4 are possible",
                    dtype_name(dst->dtype));
    if (src->dtype != DTYPE_BFLOAT16 && src->dtype != DTYPE_FLOAT16)
        check_error(c, "hone-dtype", "src is %s; bfloat16 and float16 are possible",
                    dtype_name(src->dtype));
    check_same_partitions(c, NKI_QUANTIZE_MX_dst, NKI_QUANTIZE_MX_src);
    if (nki_ap_free(src) != 4 * nki_ap_free(dst))
        check_error(c, "hone-shape", "src has %lld elements per partition, dst packs %lld",
                    (long long)nki_ap_free(src), (long long)(4 * nki_ap_free(dst)));
    check_scales(c, NKI_QUANTIZE_MX_dst, NKI_QUANTIZE_MX_dst_scale);
}
