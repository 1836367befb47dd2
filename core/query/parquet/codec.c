/* SPDX-License-Identifier: Apache-2.0 */
/* Compressions of pages. Snappy is small enough to be here (format_description.txt of Snappy); the
 * others are in libraries that curl brings along, and are loaded when a file needs them. */
#include "query/parquet/private.h"

#include <dlfcn.h>
#include <string.h>

enum { CODEC_NONE, CODEC_SNAPPY, CODEC_GZIP, CODEC_LZO, CODEC_BROTLI, CODEC_LZ4_OLD };
enum { CODEC_ZSTD = 6, CODEC_LZ4, CODECS };

static const char *const codec_names[CODECS] = {"none",   "Snappy",         "gzip",      "LZO",
                                                "Brotli", "LZ4 (Hadoop's)", "Zstandard", "LZ4"};

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

static bool snappy_expand(struct str from, uint8_t *to, size_t size) {
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

/* A function of a library; NULL: this machine does not have it. The file's number stands for its
 * binary interface, so that the function's type is known. The library stays loaded. */
static void *late(const char *file, const char *function) {
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    return library ? dlsym(library, function) : NULL;
}

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

enum outcome { EXPANDED, BROKEN, NO_LIBRARY };

static enum outcome gzip_expand(struct str from, uint8_t *to, size_t size) {
    static const char file[] = "libz.so.1";
    static const int either = 15 + 32, finish = 4, stream_end = 1; /* zlib.h */
    void *begin = late(file, "inflateInit2_"), *go = late(file, "inflate");
    void *end = late(file, "inflateEnd");
    struct zlib_stream stream = {.next_in = (const uint8_t *)from.at,
                                 .avail_in = (unsigned)from.len,
                                 .next_out = to,
                                 .avail_out = (unsigned)size};
    if (!begin || !go || !end)
        return NO_LIBRARY;
    if (((zlib_init_fn *)begin)(&stream, either, "1.2.11", sizeof stream))
        return BROKEN;
    int status = ((zlib_inflate_fn *)go)(&stream, finish);
    ((zlib_end_fn *)end)(&stream);
    return status == stream_end && !stream.avail_out ? EXPANDED : BROKEN;
}

typedef size_t zstd_fn(void *, size_t, const void *, size_t);
static enum outcome zstd_expand(struct str from, uint8_t *to, size_t size) {
    void *expand = late("libzstd.so.1", "ZSTD_decompress");
    if (!expand)
        return NO_LIBRARY;
    return ((zstd_fn *)expand)(to, size, from.at, from.len) == size ? EXPANDED : BROKEN;
}

typedef int brotli_fn(size_t, const uint8_t *, size_t *, uint8_t *);
static enum outcome brotli_expand(struct str from, uint8_t *to, size_t size) {
    void *expand = late("libbrotlidec.so.1", "BrotliDecoderDecompress");
    size_t done = size;
    if (!expand)
        return NO_LIBRARY;
    bool ok = ((brotli_fn *)expand)(from.len, (const uint8_t *)from.at, &done, to) == 1;
    return ok && done == size ? EXPANDED : BROKEN;
}

typedef int lz4_fn(const char *, char *, int, int);
static enum outcome lz4_expand(struct str from, uint8_t *to, size_t size) {
    void *expand = late("liblz4.so.1", "LZ4_decompress_safe");
    if (!expand)
        return NO_LIBRARY;
    int done = ((lz4_fn *)expand)(from.at, (char *)to, (int)from.len, (int)size);
    return done >= 0 && (size_t)done == size ? EXPANDED : BROKEN;
}

static enum outcome none_expand(struct str from, uint8_t *to, size_t size) {
    if (from.len != size)
        return BROKEN;
    if (size)
        memcpy(to, from.at, size);
    return EXPANDED;
}

static enum outcome own_snappy_expand(struct str from, uint8_t *to, size_t size) {
    return snappy_expand(from, to, size) ? EXPANDED : BROKEN;
}

bool codec_expand(int64_t codec, struct str from, uint8_t *to, size_t size, struct err *err) {
    typedef enum outcome expand_fn(struct str, uint8_t *, size_t);
    static expand_fn *const codecs[CODECS] = {
        [CODEC_NONE] = none_expand, [CODEC_SNAPPY] = own_snappy_expand,
        [CODEC_GZIP] = gzip_expand, [CODEC_BROTLI] = brotli_expand,
        [CODEC_ZSTD] = zstd_expand, [CODEC_LZ4] = lz4_expand};
    if (codec < 0 || codec >= CODECS || !codecs[codec])
        return err_set(err, ERR_DAMAGED,
                       "its compression (%s) is not read; write it again with Snappy, gzip, "
                       "Zstandard or without compression",
                       codec >= 0 && codec < CODECS ? codec_names[codec] : "one that is not known");
    enum outcome outcome = codecs[codec](from, to, size);
    if (outcome == NO_LIBRARY)
        return err_set(err, ERR_ENVIRONMENT,
                       "its compression is %s, whose library is not on this machine; install it, "
                       "or write the file again with Snappy",
                       codec_names[codec]);
    return outcome == EXPANDED ||
           err_set(err, ERR_DAMAGED, "a page does not decompress (%s)", codec_names[codec]);
}
