/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a page, by encoding and type (Encodings.md, LogicalTypes.md of Apache Parquet). */
#include "query/parquet/private.h"

#include <math.h>
#include <string.h>

static const size_t widths[PHYSICALS] = {
    [INT32] = 4, [INT64] = 8, [INT96] = 12, [FLOAT] = 4, [DOUBLE] = 8};

static size_t width_of(const struct leaf *leaf) {
    return leaf->type == FIXED ? (size_t)leaf->length : widths[leaf->type];
}

static uint64_t little(const uint8_t *at, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

/* ---- a value --------------------------------------------------------------------------------- */

static struct parquet_value real_value(double real) {
    return (struct parquet_value){.type = isfinite(real) ? PARQUET_REAL : PARQUET_NULL,
                                  .real = real};
}

static struct parquet_value whole_value(const struct leaf *leaf, int64_t integer) {
    static const double ns[] = {[TIME_MS] = 1e6, [TIME_US] = 1e3};
    struct parquet_value value = {.type = PARQUET_INT, .integer = integer};
    switch (leaf->meaning) {
    case NO_VALUE: return (struct parquet_value){0};
    case DECIMAL: return real_value((double)integer / pow(10, leaf->scale));
    case UNSIGNED:
        if (leaf->type == INT32)
            value.integer = (uint32_t)integer;
        else if (integer < 0)
            return real_value((double)(uint64_t)integer);
        return value;
    case TIME_MS:
    case TIME_US:
        if (__builtin_mul_overflow(integer, (int64_t)ns[leaf->meaning], &value.integer))
            return real_value((double)integer * ns[leaf->meaning]);
        return value;
    default: return value;
    }
}

/* Bytes with the highest first, as a number with a sign. */
static double big_number(struct str bytes) {
    double value = bytes.len && (bytes.at[0] & 0x80) ? -1 : 0;
    for (size_t i = 0; i < bytes.len; i++)
        value = value * 256 + (uint8_t)bytes.at[i];
    return value;
}

static double half_number(unsigned bits) {
    int power = (int)(bits >> 10 & 31), part = (int)(bits & 1023);
    double size = power == 31 ? (part ? (double)NAN : (double)INFINITY)
                  : power     ? ldexp(1024 + part, power - 25)
                              : ldexp(part, -24);
    return bits >> 15 ? -size : size;
}

static struct parquet_value text_value(const struct leaf *leaf, struct str text) {
    if (leaf->meaning == DECIMAL)
        return real_value(big_number(text) / pow(10, leaf->scale));
    if (leaf->meaning == HALF && text.len == 2)
        return real_value(half_number((unsigned)little((const uint8_t *)text.at, 2)));
    return (struct parquet_value){.type = leaf->meaning == NO_VALUE ? PARQUET_NULL : PARQUET_TEXT,
                                  .text = text};
}

/* The ns since 1970 of a day and the ns in it, which older writers have for times. */
static struct parquet_value day_value(const uint8_t *at) {
    static const int64_t epoch = 2440588; /* the Julian day of 1970-01-01 */
    static const double day_ns = 86400e9;
    double days = (double)((int64_t)little(at + 8, 4) - epoch);
    double ns = days * day_ns + (double)little(at, 8);
    return fabs(ns) < 9e18 ? (struct parquet_value){.type = PARQUET_INT, .integer = (int64_t)ns}
                           : real_value(ns);
}

/* A value of a fixed number of bytes. */
static struct parquet_value bytes_value(const struct leaf *leaf, const uint8_t *at) {
    uint64_t bits = leaf->type == INT96 || leaf->type == FIXED ? 0 : little(at, width_of(leaf));
    double real;
    switch (leaf->type) {
    case INT32: return whole_value(leaf, (int32_t)(uint32_t)bits);
    case INT64: return whole_value(leaf, (int64_t)bits);
    case INT96: return day_value(at);
    case FLOAT: {
        uint32_t single = (uint32_t)bits;
        float value;
        memcpy(&value, &single, sizeof value);
        return real_value((double)value);
    }
    case DOUBLE: memcpy(&real, &bits, sizeof real); return real_value(real);
    default: return text_value(leaf, (struct str){(const char *)at, width_of(leaf)});
    }
}

/* ---- encodings ------------------------------------------------------------------------------- */

struct decoding {
    const struct leaf *leaf;
    struct bytes from;
    const struct dictionary *dictionary;
    struct parquet_value *to;
    size_t count;
    struct arena *arena;
};

static size_t rest(const struct decoding *of) {
    return (size_t)(of->from.end - of->from.at);
}

static bool plain_bits(struct decoding *of) {
    if (rest(of) < (of->count + 7) / 8)
        return false;
    for (size_t i = 0; i < of->count; i++)
        of->to[i] = whole_value(of->leaf, of->from.at[i / 8] >> (i % 8) & 1);
    return true;
}

static bool plain_texts(struct decoding *of) {
    for (size_t i = 0; i < of->count; i++) {
        uint64_t size = rest(of) < 4 ? UINT32_MAX : little(of->from.at, 4);
        if (rest(of) < 4 || size > rest(of) - 4)
            return false;
        struct str text = {(const char *)of->from.at + 4, (size_t)size};
        of->to[i] = text_value(of->leaf, text);
        of->from.at += 4 + size;
    }
    return true;
}

static bool plain(struct decoding *of) {
    size_t width = width_of(of->leaf);
    if (of->leaf->type == BOOLEAN)
        return plain_bits(of);
    if (of->leaf->type == BYTE_ARRAY)
        return plain_texts(of);
    if (rest(of) / width < of->count)
        return false;
    for (size_t i = 0; i < of->count; i++, of->from.at += width)
        of->to[i] = bytes_value(of->leaf, of->from.at);
    return true;
}

static bool by_dictionary(struct decoding *of) {
    uint32_t *indices = ARENA_ARRAY(of->arena, uint32_t, of->count + 1);
    if (!of->count)
        return true;
    int width = rest(of) ? *of->from.at++ : -1;
    if (!bits_runs(&of->from, width, indices, of->count))
        return false;
    for (size_t i = 0; i < of->count; i++) {
        if (indices[i] >= of->dictionary->count)
            return false;
        of->to[i] = of->dictionary->values[indices[i]];
    }
    return true;
}

/* Truths in runs, behind their length. */
static bool runs(struct decoding *of) {
    uint32_t *bits = ARENA_ARRAY(of->arena, uint32_t, of->count + 1);
    if (of->leaf->type != BOOLEAN || rest(of) < 4)
        return false;
    of->from.at += 4;
    if (!bits_runs(&of->from, 1, bits, of->count))
        return false;
    for (size_t i = 0; i < of->count; i++)
        of->to[i] = whole_value(of->leaf, bits[i]);
    return true;
}

static bool deltas(struct decoding *of) {
    int64_t *numbers = ARENA_ARRAY(of->arena, int64_t, of->count + 1);
    size_t count = 0;
    if ((of->leaf->type != INT32 && of->leaf->type != INT64) ||
        !bits_deltas(&of->from, numbers, of->count, &count) || count != of->count)
        return false;
    for (size_t i = 0; i < count; i++)
        of->to[i] =
            whole_value(of->leaf, of->leaf->type == INT32 ? (int32_t)numbers[i] : numbers[i]);
    return true;
}

static bool lengths_read(struct decoding *of, int64_t **lengths) {
    size_t count = 0;
    *lengths = ARENA_ARRAY(of->arena, int64_t, of->count + 1);
    return bits_deltas(&of->from, *lengths, of->count, &count) && count == of->count;
}

static bool delta_lengths(struct decoding *of) {
    int64_t *lengths;
    if (of->leaf->type != BYTE_ARRAY || !lengths_read(of, &lengths))
        return false;
    for (size_t i = 0; i < of->count; i++) {
        if (lengths[i] < 0 || (uint64_t)lengths[i] > rest(of))
            return false;
        struct str text = {(const char *)of->from.at, (size_t)lengths[i]};
        of->to[i] = text_value(of->leaf, text);
        of->from.at += lengths[i];
    }
    return true;
}

/* Each text begins with so many bytes of the one before. */
static bool delta_strings(struct decoding *of) {
    int64_t *shared, *lengths;
    struct str last = {0};
    int64_t made = 0;
    if ((of->leaf->type != BYTE_ARRAY && of->leaf->type != FIXED) || !lengths_read(of, &shared) ||
        !lengths_read(of, &lengths))
        return false;
    for (size_t i = 0; i < of->count; i++) {
        if (shared[i] < 0 || (uint64_t)shared[i] > last.len || lengths[i] < 0 ||
            (uint64_t)lengths[i] > rest(of) || (made += shared[i] + lengths[i]) > MOST_PAGE)
            return false;
        size_t begins = (size_t)shared[i], more = (size_t)lengths[i];
        char *text = arena_alloc(of->arena, begins + more + 1, 1);
        if (begins)
            memcpy(text, last.at, begins);
        if (more)
            memcpy(text + begins, of->from.at, more);
        of->from.at += more;
        last = (struct str){text, begins + more};
        of->to[i] = text_value(of->leaf, last);
    }
    return true;
}

/* The first bytes of all values, then their second ones. */
static bool split_bytes(struct decoding *of) {
    size_t width = width_of(of->leaf);
    if (!width || of->leaf->type == INT96 || rest(of) / width < of->count)
        return false;
    uint8_t *bytes = arena_alloc(of->arena, of->count * width + 1, 1);
    for (size_t k = 0; k < width; k++)
        for (size_t i = 0; i < of->count; i++)
            bytes[i * width + k] = of->from.at[k * of->count + i];
    for (size_t i = 0; i < of->count; i++)
        of->to[i] = bytes_value(of->leaf, bytes + i * width);
    return true;
}

bool values_decode(const struct leaf *leaf, enum encoding encoding, struct bytes from,
                   const struct dictionary *dictionary, struct parquet_value *to, size_t count,
                   struct arena *arena, struct err *err) {
    typedef bool decode_fn(struct decoding *);
    static decode_fn *const encodings[] = {
        [PLAIN] = plain,
        [PLAIN_DICTIONARY] = by_dictionary,
        [RLE] = runs,
        [DELTA_BINARY_PACKED] = deltas,
        [DELTA_LENGTH] = delta_lengths,
        [DELTA_STRINGS] = delta_strings,
        [RLE_DICTIONARY] = by_dictionary,
        [BYTE_STREAM_SPLIT] = split_bytes,
    };
    struct decoding of = {leaf, from, dictionary, to, count, arena};
    if ((unsigned)encoding >= COUNT_OF(encodings) || !encodings[encoding])
        return err_set(err, ERR_DAMAGED, "its encoding %d is not read", (int)encoding);
    return encodings[encoding](&of) || err_set(err, ERR_DAMAGED, "a page of it is damaged");
}
