/* SPDX-License-Identifier: Apache-2.0 */
/* Compressions of pages. Snappy is small enough to be here (format_description.txt of Snappy); the
 * others are in libraries that curl brings along, and are loaded when a file needs them. */
#include <string.h>

#include "query/parquet/private.h"

/* ---- Snappy ---------------------------------------------------------------------------------- */

struct snappy {
    const uint8_t *at, *end;
    uint8_t *to;
    size_t size, done;
};

static bool snappy_literal(struct snappy *snappy, uint8_t tag) {
    size_t length = (size_t)(tag >> 2) + 1, more = length > 60 ? length - 60 : 0;
    if (more) {
        length = 0;
        if ((size_t)(snappy->end - snappy->at) < more)
            return false;
        for (size_t i = 0; i < more; i++)
            length |= (size_t)*snappy->at++ << (8 * i);
        length++;
    }
    if (length > (size_t)(snappy->end - snappy->at) || length > snappy->size - snappy->done)
        return false;
    memcpy(snappy->to + snappy->done, snappy->at, length);
    snappy->at += length;
    snappy->done += length;
    return true;
}

static bool snappy_copy(struct snappy *snappy, uint8_t tag) {
    static const size_t sizes[] = {0, 1, 2, 4};
    size_t bytes = sizes[tag & 3], offset = 0;
    size_t length = (tag & 3) == 1 ? (size_t)(tag >> 2 & 7) + 4 : (size_t)(tag >> 2) + 1;
    if ((size_t)(snappy->end - snappy->at) < bytes)
        return false;
    for (size_t i = 0; i < bytes; i++)
        offset |= (size_t)*snappy->at++ << (8 * i);
    if ((tag & 3) == 1)
        offset |= (size_t)(tag >> 5) << 8;
    if (!offset || offset > snappy->done || length > snappy->size - snappy->done)
        return false;
    for (size_t i = 0; i < length; i++, snappy->done++) /* it may repeat what it writes */
        snappy->to[snappy->done] = snappy->to[snappy->done - offset];
    return true;
}

static bool snappy_expand(void *const *none, struct str from, uint8_t *to, size_t size) {
    (void)none;
    const uint8_t *at = (const uint8_t *)from.at;
    struct thrift head = {at, at + from.len, false, 0}; /* its length is such a number, too */
    uint64_t length = thrift_varint(&head);
    struct snappy snappy = {head.at, at + from.len, to, size, 0};
    bool ok = !head.failed && length == size;
    while (ok && snappy.at < snappy.end) {
        uint8_t tag = *snappy.at++;
        ok = tag & 3 ? snappy_copy(&snappy, tag) : snappy_literal(&snappy, tag);
    }
    return ok && snappy.done == size;
}

/* ---- those of libraries ---------------------------------------------------------------------- */

/* z_stream of zlib.h, whose layout has been the same since 1.0. */
struct zlib_stream {
    const uint8_t *next_in;
    unsigned avail_in;
    unsigned long total_in;
    uint8_t *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *msg;
    void *state, *zalloc, *zfree, *opaque;
    int data_type;
    unsigned long adler, reserved;
};
typedef int zlib_init_fn(struct zlib_stream *, int window, const char *version, int size);
typedef int zlib_inflate_fn(struct zlib_stream *, int flush);
typedef int zlib_end_fn(struct zlib_stream *);

static bool gzip_expand(void *const *functions, struct str from, uint8_t *to, size_t size) {
    static const int either = 15 + 32, finish = 4, stream_end = 1; /* zlib.h */
    struct zlib_stream stream = {.next_in = (const uint8_t *)from.at,
                                 .avail_in = (unsigned)from.len,
                                 .next_out = to,
                                 .avail_out = (unsigned)size};
    if (((zlib_init_fn *)functions[0])(&stream, either, "1.2.11", sizeof stream))
        return false;
    int status = ((zlib_inflate_fn *)functions[1])(&stream, finish);
    ((zlib_end_fn *)functions[2])(&stream);
    return status == stream_end && !stream.avail_out;
}

typedef size_t zstd_fn(void *, size_t, const void *, size_t);
static bool zstd_expand(void *const *functions, struct str from, uint8_t *to, size_t size) {
    return ((zstd_fn *)functions[0])(to, size, from.at, from.len) == size;
}

typedef int brotli_fn(size_t, const uint8_t *, size_t *, uint8_t *);
static bool brotli_expand(void *const *functions, struct str from, uint8_t *to, size_t size) {
    size_t done = size;
    return ((brotli_fn *)functions[0])(from.len, (const uint8_t *)from.at, &done, to) == 1 &&
           done == size;
}

typedef int lz4_fn(const char *, char *, int, int);
static bool lz4_expand(void *const *functions, struct str from, uint8_t *to, size_t size) {
    int done = ((lz4_fn *)functions[0])(from.at, (char *)to, (int)from.len, (int)size);
    return done >= 0 && (size_t)done == size;
}

static bool none_expand(void *const *none, struct str from, uint8_t *to, size_t size) {
    (void)none;
    if (from.len != size)
        return false;
    if (size)
        memcpy(to, from.at, size);
    return true;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* By the numbers of the format. A library's number stands for its binary interface, so that the
 * types of its functions are known. */
static const struct codec {
    const char *name;
    bool (*expand)(void *const *functions, struct str from, uint8_t *to, size_t size);
    const char *library;
    int number;
    const char *functions[CODEC_FUNCTIONS];
} rows[CODECS] = {
    {"none", none_expand, NULL, 0, {NULL}},
    {"Snappy", snappy_expand, NULL, 0, {NULL}},
    {"gzip", gzip_expand, "z", 1, {"inflateInit2_", "inflate", "inflateEnd"}},
    {"LZO", NULL, NULL, 0, {NULL}},
    {"Brotli", brotli_expand, "brotlidec", 1, {"BrotliDecoderDecompress"}},
    {"LZ4 (Hadoop's)", NULL, NULL, 0, {NULL}},
    {"Zstandard", zstd_expand, "zstd", 1, {"ZSTD_decompress"}},
    {"LZ4", lz4_expand, "lz4", 1, {"LZ4_decompress_safe"}},
};

/* The functions of a codec's library, looked up the first time; NULL: this machine lacks them. */
static void *const *functions_of(struct codecs *codecs, int64_t codec) {
    const struct codec *row = &rows[codec];
    struct codec_library *own = &codecs->libraries[codec];
    if (!own->looked && row->library)
        own->missing = !os_library_try(row->library, row->number, row->functions, CODEC_FUNCTIONS,
                                       own->functions);
    own->looked = true;
    return own->missing ? NULL : own->functions;
}

bool codec_expand(struct codecs *codecs, int64_t codec, struct str from, uint8_t *to, size_t size,
                  struct err *err) {
    bool known = codec >= 0 && codec < CODECS;
    if (!known || !rows[codec].expand)
        return err_set(err, ERR_DAMAGED,
                       "its compression (%s) is not read; write it again with Snappy, gzip, "
                       "Zstandard or without compression",
                       known ? rows[codec].name : "one that is not known");
    void *const *functions = functions_of(codecs, codec);
    if (!functions)
        return err_set(err, ERR_ENVIRONMENT,
                       "its compression is %s, whose library is not on this machine; install it, "
                       "or write the file again with Snappy",
                       rows[codec].name);
    return rows[codec].expand(functions, from, to, size) ||
           err_set(err, ERR_DAMAGED, "a page does not decompress (%s)", rows[codec].name);
}
