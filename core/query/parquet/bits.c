/* SPDX-License-Identifier: Apache-2.0 */
/* Small integers in runs and packed bits, and integers as differences (Encodings.md of Apache
 * Parquet: RLE, DELTA_BINARY_PACKED). */
#include "query/parquet/private.h"

static uint64_t varint(struct bytes *from, bool *ok) {
    struct thrift thrift = {from->at, from->end, false, 0};
    uint64_t value = thrift_varint(&thrift);
    from->at = thrift.at;
    *ok = *ok && !thrift.failed;
    return value;
}

/* `count` values of `width` bits each, the lowest bits first; their bytes are there. */
static void unpack(const uint8_t *from, int width, uint64_t *to, size_t count) {
    size_t bit = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t value = 0;
        for (int got = 0; got < width;) {
            int shift = (int)(bit & 7), take = 8 - shift;
            take = take < width - got ? take : width - got;
            uint64_t part = (uint64_t)(from[bit >> 3] >> shift) & ((1u << take) - 1);
            value |= part << got;
            got += take;
            bit += (size_t)take;
        }
        to[i] = value;
    }
}

static bool run_of_one(struct bytes *from, int width, uint32_t *to, size_t count) {
    size_t bytes = ((size_t)width + 7) / 8;
    uint32_t value = 0;
    if ((size_t)(from->end - from->at) < bytes)
        return false;
    for (size_t i = 0; i < bytes; i++)
        value |= (uint32_t)*from->at++ << (8 * i);
    for (size_t i = 0; i < count; i++)
        to[i] = value;
    return true;
}

/* Groups of eight; the last one may be cut off by the end of what there is. */
static bool run_of_bits(struct bytes *from, int width, uint32_t *to, size_t count) {
    for (size_t done = 0; done < count; done += 8) {
        uint64_t eight[8];
        uint8_t bytes[32] = {0};
        size_t size = (size_t)width, there = (size_t)(from->end - from->at);
        size_t want = count - done < 8 ? count - done : 8;
        if (there < (want * (size_t)width + 7) / 8)
            return false;
        size = size < there ? size : there;
        for (size_t i = 0; i < size; i++)
            bytes[i] = *from->at++;
        unpack(bytes, width, eight, 8);
        for (size_t i = 0; i < want; i++)
            to[done + i] = (uint32_t)eight[i];
    }
    return true;
}

bool bits_runs(struct bytes *from, int width, uint32_t *to, size_t count) {
    bool ok = width >= 0 && width <= 32;
    for (size_t done = 0; ok && done < count;) {
        uint64_t head = varint(from, &ok), run = head >> 1;
        if (!ok || !run)
            return false;
        bool packed = head & 1;
        if (run > (packed ? (count - done + 7) / 8 : count - done))
            run = packed ? (count - done + 7) / 8 : count - done;
        size_t n = packed ? (size_t)run * 8 : (size_t)run;
        n = n < count - done ? n : count - done;
        ok =
            packed ? run_of_bits(from, width, to + done, n) : run_of_one(from, width, to + done, n);
        done += n;
    }
    return ok;
}

/* ---- differences ----------------------------------------------------------------------------- */

#define MOST_MINI 65536

struct deltas {
    int64_t *to;
    size_t most, count, total;
    uint64_t last;
};

static void delta_put(struct deltas *deltas) {
    if (deltas->count < deltas->most)
        deltas->to[deltas->count] = (int64_t)deltas->last;
    deltas->count++;
}

static bool mini_take(struct bytes *from, struct deltas *deltas, int width, size_t values,
                      uint64_t least) {
    size_t bytes = values / 8 * (size_t)width;
    if ((size_t)(from->end - from->at) < bytes)
        return false;
    for (size_t i = 0; i < values && deltas->count < deltas->total; i += 8) {
        uint64_t eight[8];
        unpack(from->at + i / 8 * (size_t)width, width, eight, 8);
        for (size_t k = 0; k < 8 && deltas->count < deltas->total; k++) {
            deltas->last += least + eight[k];
            delta_put(deltas);
        }
    }
    from->at += bytes;
    return true;
}

static bool block_take(struct bytes *from, struct deltas *deltas, size_t minis, size_t values) {
    bool ok = true;
    uint64_t zigzag = varint(from, &ok);
    uint64_t least = (zigzag >> 1) ^ (0 - (zigzag & 1));
    if (!ok || (size_t)(from->end - from->at) < minis)
        return false;
    const uint8_t *widths = from->at;
    from->at += minis;
    for (size_t i = 0; i < minis && deltas->count < deltas->total; i++)
        if (widths[i] > 64 || !mini_take(from, deltas, widths[i], values, least))
            return false;
    return true;
}

bool bits_deltas(struct bytes *from, int64_t *to, size_t most, size_t *count) {
    bool ok = true;
    uint64_t block = varint(from, &ok), minis = varint(from, &ok), total = varint(from, &ok);
    uint64_t first = varint(from, &ok);
    if (!ok || !minis || minis > MOST_MINI || block > MOST_MINI || block % minis ||
        block / minis % 8 || !block || total > most)
        return false;
    struct deltas deltas = {.to = to, .most = most, .total = (size_t)total};
    deltas.last = (first >> 1) ^ (0 - (first & 1));
    if (total)
        delta_put(&deltas);
    while (ok && deltas.count < deltas.total)
        ok = block_take(from, &deltas, (size_t)minis, (size_t)(block / minis));
    *count = deltas.count;
    return ok;
}
