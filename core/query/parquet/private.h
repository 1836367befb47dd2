/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share. */
#ifndef HONE_QUERY_PARQUET_PRIVATE_H
#define HONE_QUERY_PARQUET_PRIVATE_H

#include <stdio.h>

#include "query/parquet/parquet.h"

#define MOST_FOOTER ((uint32_t)64 << 20) /* bytes */
#define MOST_PAGE ((int64_t)256 << 20)   /* bytes, as they are decompressed */
#define MOST_VALUES ((int64_t)8 << 20)   /* of a page */
#define MOST_COLUMNS 2000
#define MOST_LEVELS 32 /* structs and lists around a value */

/* ---- thrift.c: Thrift's compact protocol, in which a file's headers are ---------------------- */

struct thrift {
    const uint8_t *at, *end;
    bool failed; /* there was less than was promised; nothing more is read */
    int depth;
};
enum thrift_type {
    THRIFT_STOP,
    THRIFT_TRUE,
    THRIFT_FALSE,
    THRIFT_BYTE,
    THRIFT_I16,
    THRIFT_I32,
    THRIFT_I64,
    THRIFT_DOUBLE,
    THRIFT_BINARY,
    THRIFT_LIST,
    THRIFT_SET,
    THRIFT_MAP,
    THRIFT_STRUCT
};
struct thrift_field {
    int id; /* 0 before the first */
    enum thrift_type type;
};
/* Goes to the next field of a struct; false: there is none. What it holds must be read or skipped
 * before the one after it. */
bool thrift_next(struct thrift *thrift, struct thrift_field *field);
void thrift_skip(struct thrift *thrift, enum thrift_type type);
int64_t thrift_int(struct thrift *thrift, const struct thrift_field *field); /* skips others */
struct str thrift_text(struct thrift *thrift, const struct thrift_field *field);
/* The number of elements, of which each takes a byte at least; 0 where it is no list. */
size_t thrift_list(struct thrift *thrift, const struct thrift_field *field,
                   enum thrift_type *element);
uint64_t thrift_varint(struct thrift *thrift);

/* ---- footer.c: what a file says of itself ---------------------------------------------------- */

enum physical { BOOLEAN, INT32, INT64, INT96, FLOAT, DOUBLE, BYTE_ARRAY, FIXED, PHYSICALS };
/* What a column's numbers mean beyond their physical type. */
enum meaning { PLAIN_VALUE, UNSIGNED, DECIMAL, TIME_MS, TIME_US, TIME_NS, HALF, NO_VALUE };
struct leaf {
    const char *name;
    enum physical type;
    enum meaning meaning;
    int64_t length; /* bytes of FIXED */
    int scale;      /* of DECIMAL */
    int most_defined, most_repeated;
};
struct chunk { /* a column's part of a row group */
    enum physical type;
    int64_t codec, values, offset, size;
};
struct group {
    int64_t rows;
    size_t first_chunk; /* those of all leaves follow */
};
/* What a file's pages were compressed with: libraries, found when a page first needs them. */
enum { CODECS = 8, CODEC_FUNCTIONS = 3 };
struct codec_library {
    bool looked, missing;
    void *functions[CODEC_FUNCTIONS];
};
struct codecs {
    struct codec_library libraries[CODECS];
};
struct parquet {
    struct arena *arena;
    struct codecs codecs;
    FILE *file;
    int64_t size, rows;
    VEC(struct leaf) leaves;
    VEC(struct group) groups;
    VEC(struct chunk) chunks;
};
bool footer_read(struct parquet *parquet, struct err *err) CC_MUST_USE;
/* Reads bytes of the file. */
bool parquet_bytes(struct parquet *parquet, int64_t offset, void *to, size_t size,
                   struct err *err) CC_MUST_USE;

/* ---- codec.c: compressions ------------------------------------------------------------------- */

/* Decompresses `from` into exactly `size` bytes at `to`. */
bool codec_expand(struct codecs *codecs, int64_t codec, struct str from, uint8_t *to, size_t size,
                  struct err *err) CC_MUST_USE;

/* ---- bits.c: runs of small integers, and differences ----------------------------------------- */

struct bytes {
    const uint8_t *at, *end;
};
/* Runs and packed bits (encoding RLE) of `width` bits a value; false: they end before `count`. */
bool bits_runs(struct bytes *from, int width, uint32_t *to, size_t count) CC_MUST_USE;
/* DELTA_BINARY_PACKED; puts at most `most` at `to`, and their number at *count. */
bool bits_deltas(struct bytes *from, int64_t *to, size_t most, size_t *count) CC_MUST_USE;

/* ---- values.c: a page's values --------------------------------------------------------------- */

enum encoding {
    PLAIN = 0,
    PLAIN_DICTIONARY = 2,
    RLE = 3,
    DELTA_BINARY_PACKED = 5,
    DELTA_LENGTH = 6,
    DELTA_STRINGS = 7,
    RLE_DICTIONARY = 8,
    BYTE_STREAM_SPLIT = 9
};
struct dictionary {
    struct parquet_value *values;
    size_t count;
};
/* Decodes `count` values that are not null. Texts point into `from` or `arena`. */
bool values_decode(const struct leaf *leaf, enum encoding encoding, struct bytes from,
                   const struct dictionary *dictionary, struct parquet_value *to, size_t count,
                   struct arena *arena, struct err *err) CC_MUST_USE;

/* ---- pages.c: a column of a row group, row by row -------------------------------------------- */

struct page {
    uint8_t *bytes; /* as they are decompressed */
    struct arena *arena;
    struct parquet_value *values; /* nulls, too */
    uint32_t *repeated;           /* NULL: every value is a row of its own */
    size_t count, at;
};
struct cursor {
    struct parquet *parquet;
    const struct leaf *leaf;
    struct chunk chunk;
    int64_t offset, left; /* of the next page; values behind the one that is open */
    uint8_t *dictionary_bytes;
    struct arena *dictionary_arena;
    struct dictionary dictionary;
    struct page page, before; /* a list may begin on the page before */
};
void cursor_open(struct cursor *cursor, struct parquet *parquet, size_t group, int column);
void cursor_close(struct cursor *cursor);
bool cursor_next(struct cursor *cursor, struct parquet_value *value, struct err *err) CC_MUST_USE;

#endif
