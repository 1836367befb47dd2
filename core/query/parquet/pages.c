/* SPDX-License-Identifier: Apache-2.0 */
/* A column of a row group, page by page: versions 1 and 2 of data pages, dictionaries, and the
 * levels that say which values are null and which begin a row (parquet.thrift, Encodings.md). */
#include "query/parquet/private.h"

#include <stdlib.h>
#include <string.h>

#define MOST_HEADER ((int64_t)1 << 20) /* bytes; statistics may be long texts */

enum page_type { PAGE_DATA, PAGE_INDEX, PAGE_DICTIONARY, PAGE_DATA_2 };
struct header {
    int64_t type, expanded, size; /* bytes */
    int64_t values, encoding, defined_encoding, repeated_encoding;
    int64_t defined_bytes, repeated_bytes; /* of version 2 */
    bool is_compressed;                    /* of version 2: what is behind the levels */
    size_t bytes;                          /* of the header */
};
#define LEVELS_RLE 3

/* ---- headers --------------------------------------------------------------------------------- */

/* The fields of the header of one kind of page, by their numbers. */
static void kind_read(struct thrift *thrift, int64_t *const fields[9], struct header *header) {
    struct thrift_field field = {0};
    while (thrift_next(thrift, &field))
        if (field.id < 9 && fields[field.id])
            *fields[field.id] = thrift_int(thrift, &field);
        else if (field.id == 7 && header->type == PAGE_DATA_2)
            header->is_compressed = thrift_int(thrift, &field) != 0;
        else
            thrift_skip(thrift, field.type);
}

static bool header_take(struct thrift *thrift, struct header *header) {
    int64_t *const data[9] = {NULL, &header->values, &header->encoding, &header->defined_encoding,
                              &header->repeated_encoding};
    int64_t *const dictionary[9] = {NULL, &header->values, &header->encoding};
    int64_t *const data_2[9] = {NULL,
                                &header->values,
                                NULL,
                                NULL,
                                &header->encoding,
                                &header->defined_bytes,
                                &header->repeated_bytes};
    struct thrift_field field = {0};
    *header = (struct header){.type = -1,
                              .is_compressed = true,
                              .defined_encoding = LEVELS_RLE,
                              .repeated_encoding = LEVELS_RLE};
    while (thrift_next(thrift, &field))
        if (field.id >= 5 && field.type == THRIFT_STRUCT && field.id != 6 && field.id <= 8)
            kind_read(thrift, field.id == 5 ? data : field.id == 7 ? dictionary : data_2, header);
        else if (field.id <= 3) {
            int64_t value = thrift_int(thrift, &field);
            *(field.id == 1   ? &header->type
              : field.id == 2 ? &header->expanded
                              : &header->size) = value;
        } else
            thrift_skip(thrift, field.type);
    return !thrift->failed && header->expanded >= 0 && header->expanded <= MOST_PAGE &&
           header->size >= 0 && header->size <= MOST_PAGE && header->values >= 0 &&
           header->values <= MOST_VALUES && header->defined_bytes >= 0 &&
           header->repeated_bytes >= 0 &&
           header->defined_bytes + header->repeated_bytes <= header->size;
}

/* Headers do not say how long they are: more is read until one is whole. */
static bool header_read(struct cursor *cursor, struct header *header, struct err *err) {
    int64_t end = cursor->chunk.offset + cursor->chunk.size, left = end - cursor->offset;
    bool ok = left > 0, taken = false;
    for (int64_t size = 256; ok && !taken && size < 2 * MOST_HEADER; size *= 16) {
        int64_t there = size < left ? size : left;
        uint8_t *bytes = mem_alloc((size_t)there, 1);
        struct thrift thrift = {bytes, bytes + there, false, 0};
        ok = parquet_bytes(cursor->parquet, cursor->offset, bytes, (size_t)there, err);
        taken = ok && header_take(&thrift, header);
        header->bytes = (size_t)(thrift.at - bytes);
        free(bytes);
        if (there == left)
            break;
    }
    if (ok && taken && header->size <= left - (int64_t)header->bytes)
        return true;
    return (err->kind != ERR_NONE) ? false
                                   : err_set(err, ERR_DAMAGED,
                                             "a page's head is damaged, or the page is larger than "
                                             "256 MiB or %lld values",
                                             (long long)MOST_VALUES);
}

/* ---- bytes of a page ------------------------------------------------------------------------- */

/* The page as it was before compression, in *to: levels of version 2 are not compressed. */
static bool page_expand(struct cursor *cursor, const struct header *header, uint8_t **to,
                        struct err *err) {
    size_t size = (size_t)header->size, full = (size_t)header->expanded;
    size_t plain =
        header->type == PAGE_DATA_2 ? (size_t)(header->defined_bytes + header->repeated_bytes) : 0;
    uint8_t *bytes = mem_alloc(size ? size : 1, 1);
    int64_t at = cursor->offset + (int64_t)header->bytes;
    bool ok = parquet_bytes(cursor->parquet, at, bytes, size, err);
    *to = mem_alloc(full ? full : 1, 1);
    if (ok && plain > full)
        ok = err_set(err, ERR_DAMAGED, "a page of it is damaged");
    if (ok && plain)
        memcpy(*to, bytes, plain);
    /* Nothing is left where all values are null, whatever the compression. */
    if (ok && (size > plain || full > plain)) {
        struct str rest = {(const char *)bytes + plain, size - plain};
        int64_t codec = header->is_compressed ? cursor->chunk.codec : 0;
        ok = codec_expand(&cursor->parquet->codecs, codec, rest, *to + plain, full - plain, err);
    }
    free(bytes);
    return ok;
}

static bool dictionary_take(struct cursor *cursor, const struct header *header, struct err *err) {
    struct dictionary *dictionary = &cursor->dictionary;
    if (cursor->dictionary_arena)
        return err_set(err, ERR_DAMAGED, "it has two dictionaries");
    cursor->dictionary_arena = arena_new();
    if (!page_expand(cursor, header, &cursor->dictionary_bytes, err))
        return false;
    struct bytes from = {cursor->dictionary_bytes, cursor->dictionary_bytes + header->expanded};
    dictionary->count = (size_t)header->values;
    dictionary->values =
        ARENA_ARRAY(cursor->dictionary_arena, struct parquet_value, dictionary->count + 1);
    return values_decode(cursor->leaf, PLAIN, from, dictionary, dictionary->values,
                         dictionary->count, cursor->dictionary_arena, err);
}

/* ---- levels ---------------------------------------------------------------------------------- */

static int bits_for(int most) {
    int bits = 0;
    while (most >> bits)
        bits++;
    return bits;
}

/* The levels of a page: `size` bytes of version 2, else (-1) behind a length of four bytes. */
static bool levels_read(struct page *page, struct bytes *from, int most, int64_t size,
                        uint32_t **levels) {
    if (size < 0 && !most)
        return true;
    if (size < 0) {
        if (from->end - from->at < 4)
            return false;
        size = (int64_t)from->at[0] | (int64_t)from->at[1] << 8 | (int64_t)from->at[2] << 16 |
               (int64_t)from->at[3] << 24;
        from->at += 4;
    }
    if (size > from->end - from->at)
        return false;
    struct bytes own = {from->at, from->at + size};
    from->at += size;
    if (!most)
        return true;
    *levels = ARENA_ARRAY(page->arena, uint32_t, page->count + 1);
    return bits_runs(&own, bits_for(most), *levels, page->count);
}

/* Puts the values that are there where levels say that they belong. */
static void spread(struct page *page, const uint32_t *defined, int most, size_t there) {
    for (size_t i = page->count; i-- > 0;)
        page->values[i] = defined && defined[i] != (uint32_t)most ? (struct parquet_value){0}
                                                                  : page->values[--there];
}

static bool data_take(struct cursor *cursor, const struct header *header, struct err *err) {
    struct page *page = &cursor->page;
    const struct leaf *leaf = cursor->leaf;
    bool second = header->type == PAGE_DATA_2;
    uint32_t *defined = NULL;
    size_t there = (size_t)header->values;
    page->arena = arena_new();
    page->count = there;
    if (header->values > cursor->left || !page_expand(cursor, header, &page->bytes, err))
        return err->kind != ERR_NONE ? false : err_set(err, ERR_DAMAGED, "it has too many values");
    struct bytes from = {page->bytes, page->bytes + header->expanded};
    if (!second && ((leaf->most_repeated && header->repeated_encoding != LEVELS_RLE) ||
                    (leaf->most_defined && header->defined_encoding != LEVELS_RLE)))
        return err_set(err, ERR_DAMAGED, "its levels have an encoding that is not read");
    if (!levels_read(page, &from, leaf->most_repeated, second ? header->repeated_bytes : -1,
                     &page->repeated) ||
        !levels_read(page, &from, leaf->most_defined, second ? header->defined_bytes : -1,
                     &defined))
        return err_set(err, ERR_DAMAGED, "a page of it is damaged");
    for (size_t i = 0; defined && i < page->count; i++)
        there -= defined[i] != (uint32_t)leaf->most_defined;
    page->values = ARENA_ARRAY(page->arena, struct parquet_value, page->count + 1);
    if (!values_decode(leaf, (enum encoding)header->encoding, from, &cursor->dictionary,
                       page->values, there, page->arena, err))
        return false;
    spread(page, defined, leaf->most_defined, there);
    cursor->left -= header->values;
    return true;
}

/* ---- the cursor ------------------------------------------------------------------------------ */

static void page_free(struct page *page) {
    free(page->bytes);
    if (page->arena)
        arena_free(page->arena);
    *page = (struct page){0};
}

void cursor_open(struct cursor *cursor, struct parquet *parquet, size_t group, int column) {
    size_t chunk = parquet->groups.at[group].first_chunk + (size_t)column;
    *cursor = (struct cursor){.parquet = parquet,
                              .leaf = &parquet->leaves.at[column],
                              .chunk = parquet->chunks.at[chunk],
                              .offset = parquet->chunks.at[chunk].offset,
                              .left = parquet->chunks.at[chunk].values};
}

void cursor_close(struct cursor *cursor) {
    page_free(&cursor->page);
    page_free(&cursor->before);
    free(cursor->dictionary_bytes);
    if (cursor->dictionary_arena)
        arena_free(cursor->dictionary_arena);
    *cursor = (struct cursor){0};
}

static bool page_next(struct cursor *cursor, struct err *err) {
    struct header header;
    bool ok = header_read(cursor, &header, err);
    page_free(&cursor->before);
    cursor->before = cursor->page;
    cursor->page = (struct page){0};
    if (ok && header.type == PAGE_DICTIONARY)
        ok = dictionary_take(cursor, &header, err);
    else if (ok && (header.type == PAGE_DATA || header.type == PAGE_DATA_2))
        ok = data_take(cursor, &header, err);
    if (ok)
        cursor->offset += (int64_t)header.bytes + header.size;
    return ok;
}

/* Whether there is another value, opening the page that it is on. */
static bool is_more(struct cursor *cursor, bool *ok, struct err *err) {
    while (*ok && cursor->page.at == cursor->page.count && cursor->left)
        *ok = page_next(cursor, err);
    return *ok && cursor->page.at < cursor->page.count;
}

bool cursor_next(struct cursor *cursor, struct parquet_value *value, struct err *err) {
    bool ok = true, first = true;
    if (cursor->before.bytes || cursor->before.arena) /* once a page */
        page_free(&cursor->before);
    *value = (struct parquet_value){0};
    while (is_more(cursor, &ok, err)) {
        struct page *page = &cursor->page;
        if (!first && (!page->repeated || !page->repeated[page->at]))
            return true;
        struct parquet_value one = page->values[page->at++];
        if (one.type != PARQUET_NULL)
            *value = one;
        first = false;
        if (!page->repeated)
            return true;
    }
    return ok && (!first || err_set(err, ERR_DAMAGED, "it ends before the table does"));
}
