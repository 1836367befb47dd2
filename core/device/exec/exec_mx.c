/* SPDX-License-Identifier: Apache-2.0 */
/* The microscaling formats of trn3: 32 values share a power of two. A group is 8 partitions by the
 * 4 values that one element of an x4 type packs. The scales of the four groups of a quadrant of 32
 * partitions lie in its first four partitions. The product itself is in exec_matmul.c. Source: the
 * ISA reference of nki.isa.quantize_mx and nc_matmul_mx, the Trainium3 guide. */
#include "device/image/inner.h"
#include "device/exec/run.h"

#include <math.h>

#define GROUP 8  /* partitions of a group */
#define PACKED 4 /* values of an x4 element */
#define BIAS 127 /* of a scale's exponent */

/* The partition of a scale tile that holds the scales of a group of 8 partitions. */
static int64_t scale_row(int64_t group) {
    return group / 4 * 32 + group % 4;
}

/* The single type of the four values of a packed one. NONE for the 4-bit type, which is decoded
 * here. */
static enum dtype part_of(enum dtype packed) {
    return packed == DTYPE_FLOAT8_E4M3FN_X4 ? DTYPE_FLOAT8_E4M3FN
           : packed == DTYPE_FLOAT8_E5M2_X4 ? DTYPE_FLOAT8_E5M2
                                            : DTYPE_NONE;
}

/* e2m1: a sign, two bits of exponent, one bit of mantissa. */
static float from_nibble(unsigned code) {
    static const float magnitudes[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    return code & 8 ? -magnitudes[code & 7] : magnitudes[code & 7];
}

static void unpack(enum dtype packed, const uint8_t *at, float values[PACKED]) {
    if (part_of(packed) != DTYPE_NONE) {
        convert_load(part_of(packed))(at, 1, values, PACKED);
        return;
    }
    unsigned bits = at[0] | (unsigned)at[1] << 8;
    for (int j = 0; j < PACKED; j++)
        values[j] = from_nibble(bits >> 4 * j & 15);
}

float *exec_mx_load(struct exec *x, const struct view *data, const struct view *scale) {
    size_t rows = (size_t)data->count[0], width = (size_t)view_free(data);
    size_t size = dtype_bytes(data->dtype);
    uint8_t *bytes = arena_alloc(x->scratch, rows * width, size);
    uint8_t *scales = arena_alloc(x->scratch, (size_t)view_count(scale), 1);
    float *to = arena_alloc(x->scratch, rows * width * PACKED, sizeof *to);
    view_to_bytes(data, bytes);
    view_to_bytes(scale, scales);
    for (size_t p = 0; p < rows; p++)
        for (size_t f = 0; f < width; f++) {
            float values[PACKED];
            uint8_t code = scales[(size_t)scale_row((int64_t)p / GROUP) * width + f];
            float factor = code == 255 ? NAN : ldexpf(1.0f, code - BIAS);
            unpack(data->dtype, bytes + (p * width + f) * size, values);
            for (size_t j = 0; j < PACKED; j++)
                to[(p * PACKED + j) * width + f] = values[j] * factor;
        }
    return to;
}

/* The scale of a group, as the code of an 8-bit exponent; 0 for a group of zeros. It is
 * 2^(floor(log2 of the group's largest magnitude) - (the type's largest exponent - 1)). */
static int scale_code(float largest, enum dtype part) {
    int exponent;
    if (!(largest > 0))
        return 0;
    frexpf(largest, &exponent); /* in [0.5, 1), so the exponent is one above the floor */
    int code = exponent - 1 - (part == DTYPE_FLOAT8_E5M2 ? 14 : 7) + BIAS;
    return code < 0 ? 0 : code > 254 ? 254 : code;
}

static int quantize_group(const float *values, size_t pitch, enum dtype part, uint8_t *to,
                          size_t to_pitch) {
    float largest = 0;
    for (size_t p = 0; p < GROUP; p++)
        for (size_t j = 0; j < PACKED; j++)
            largest = fmaxf(largest, fabsf(values[p * pitch + j]));
    int code = scale_code(largest, part);
    for (size_t p = 0; p < GROUP; p++) {
        float scaled[PACKED];
        for (size_t j = 0; j < PACKED; j++)
            scaled[j] = ldexpf(values[p * pitch + j], BIAS - code);
        convert_store(part)(scaled, to + p * to_pitch, 1, PACKED);
    }
    return code;
}

bool exec_quantize_mx(struct exec *x) {
    struct view dst, src, scale;
    if (!exec_read(x, NKI_QUANTIZE_MX_src, &src) || !exec_write(x, NKI_QUANTIZE_MX_dst, &dst) ||
        !exec_modify(x, NKI_QUANTIZE_MX_dst_scale, &scale))
        return false;
    size_t rows = (size_t)src.count[0], width = (size_t)view_free(&dst);
    float *values = arena_alloc(x->scratch, rows * width * PACKED, sizeof *values);
    uint8_t *packed = arena_alloc(x->scratch, rows * width, PACKED);
    uint8_t *scales = arena_alloc(x->scratch, (size_t)view_count(&scale), 1);
    view_to_floats(&src, values);
    view_to_bytes(&scale, scales);
    for (size_t group = 0; group < rows / GROUP; group++)
        for (size_t f = 0; f < width; f++) {
            size_t first = group * GROUP * width + f;
            scales[(size_t)scale_row((int64_t)group) * width + f] =
                (uint8_t)quantize_group(values + first * PACKED, width * PACKED, part_of(dst.dtype),
                                        packed + first * PACKED, width * PACKED);
        }
    view_from_bytes(&dst, packed);
    view_from_bytes(&scale, scales);
    return true;
}
