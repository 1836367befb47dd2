/* SPDX-License-Identifier: Apache-2.0 */
/* The footer of a file: its columns and where their parts are (FileMetaData of parquet.thrift). */
#include "query/parquet/private.h"

#include <stdlib.h>
#include <string.h>

static const char magic[] = "PAR1", magic_encrypted[] = "PARE";

/* ---- the schema ------------------------------------------------------------------------------ */

struct element {
    struct str name;
    int64_t type, length, repetition, children, converted, scale;
    enum meaning meaning; /* of the logical type */
};

enum { REQUIRED, OPTIONAL, REPEATED };
#define CONVERTED_LIST 3

static int64_t field_of(struct thrift *thrift, int id) {
    struct thrift_field field = {0};
    int64_t value = 0;
    while (thrift_next(thrift, &field)) {
        int64_t one = thrift_int(thrift, &field);
        value = field.id == id ? one : value;
    }
    return value;
}

/* The unit of a time: a union whose field's number is the unit. */
static enum meaning unit_read(struct thrift *thrift) {
    static const enum meaning units[] = {PLAIN_VALUE, TIME_MS, TIME_US, TIME_NS};
    struct thrift_field field = {0}, of = {0};
    enum meaning unit = PLAIN_VALUE;
    while (thrift_next(thrift, &field))
        if (field.id == 2 && field.type == THRIFT_STRUCT)
            while (thrift_next(thrift, &of)) {
                unit = of.id < (int)COUNT_OF(units) ? units[of.id] : unit;
                thrift_skip(thrift, of.type);
            }
        else
            thrift_skip(thrift, field.type);
    return unit;
}

/* A union: the number of its one field is the type. */
static void logical_read(struct thrift *thrift, struct element *element) {
    enum {
        LOGICAL_LIST = 3,
        LOGICAL_DECIMAL = 5,
        LOGICAL_TIME = 7,
        LOGICAL_TIMESTAMP,
        LOGICAL_INTEGER = 10
    };
    enum { LOGICAL_UNKNOWN = 11, LOGICAL_FLOAT16 = 15 };
    struct thrift_field field = {0};
    while (thrift_next(thrift, &field)) {
        if (field.type == THRIFT_STRUCT && field.id == LOGICAL_DECIMAL) {
            element->meaning = DECIMAL;
            element->scale = field_of(thrift, 1);
        } else if (field.type == THRIFT_STRUCT &&
                   (field.id == LOGICAL_TIME || field.id == LOGICAL_TIMESTAMP))
            element->meaning = unit_read(thrift);
        else if (field.type == THRIFT_STRUCT && field.id == LOGICAL_INTEGER)
            element->meaning = field_of(thrift, 2) ? PLAIN_VALUE : UNSIGNED;
        else {
            element->converted = field.id == LOGICAL_LIST ? CONVERTED_LIST : element->converted;
            element->meaning = field.id == LOGICAL_UNKNOWN   ? NO_VALUE
                               : field.id == LOGICAL_FLOAT16 ? HALF
                                                             : element->meaning;
            thrift_skip(thrift, field.type);
        }
    }
}

/* What older writers say instead. */
static enum meaning converted_meaning(int64_t converted) {
    static const enum meaning meanings[] = {
        [5] = DECIMAL,   [7] = TIME_MS,   [8] = TIME_US,   [9] = TIME_MS,  [10] = TIME_US,
        [11] = UNSIGNED, [12] = UNSIGNED, [13] = UNSIGNED, [14] = UNSIGNED};
    return converted >= 0 && converted < (int64_t)COUNT_OF(meanings) ? meanings[converted]
                                                                     : PLAIN_VALUE;
}

static struct element element_read(struct thrift *thrift) {
    struct element element = {.type = -1, .converted = -1};
    struct thrift_field field = {0};
    int64_t converted = -1;
    while (thrift_next(thrift, &field))
        switch (field.id) {
        case 1: element.type = thrift_int(thrift, &field); break;
        case 2: element.length = thrift_int(thrift, &field); break;
        case 3: element.repetition = thrift_int(thrift, &field); break;
        case 4: element.name = thrift_text(thrift, &field); break;
        case 5: element.children = thrift_int(thrift, &field); break;
        case 6: converted = thrift_int(thrift, &field); break;
        case 7: element.scale = thrift_int(thrift, &field); break;
        case 10:
            if (field.type == THRIFT_STRUCT) {
                logical_read(thrift, &element);
                break;
            }
            /* fall through */
        default: thrift_skip(thrift, field.type);
        }
    if (converted >= 0)
        element.converted = converted;
    if (element.meaning == PLAIN_VALUE)
        element.meaning = converted_meaning(element.converted);
    return element;
}

/* The groups that the walk through the schema is in. */
struct walk {
    struct {
        int64_t children;
        int defined, repeated;
        size_t name_len; /* of the name before it */
        bool named;      /* of a list, its own two levels have no part in the name */
    } at[MOST_LEVELS];
    int depth;
    struct buf name;
};

static bool leaf_add(struct parquet *parquet, const struct element *element,
                     const struct walk *walk, struct err *err) {
    int defined = walk->at[walk->depth].defined + (element->repetition != REQUIRED);
    int repeated = walk->at[walk->depth].repeated + (element->repetition == REPEATED);
    if (element->type < 0 || element->type >= PHYSICALS || element->length < 0 ||
        (element->type == FIXED && (!element->length || element->length > 1 << 20)) ||
        element->scale < 0 || element->scale > 100 || parquet->leaves.len == MOST_COLUMNS)
        return err_set(err, ERR_DAMAGED, "its list of columns is damaged, or longer than %d",
                       MOST_COLUMNS);
    *vec_push(&parquet->leaves) = (struct leaf){
        .name = arena_strndup(parquet->arena, walk->name.at, walk->name.len),
        .type = (enum physical)element->type,
        .meaning = element->meaning,
        .length = element->length,
        .scale = (int)element->scale,
        .most_defined = defined,
        .most_repeated = repeated,
    };
    return true;
}

static void name_push(struct walk *walk, struct str name) {
    if (!walk->at[walk->depth].named)
        return;
    if (walk->name.len)
        buf_putc(&walk->name, '.');
    buf_add(&walk->name, name.at, name.len);
}

static void name_cut(struct walk *walk, size_t len) {
    walk->name.len = len;
}

static bool group_enter(struct walk *walk, const struct element *element, size_t name_len) {
    bool list = element->converted == CONVERTED_LIST || element->repetition == REPEATED;
    bool named = walk->at[walk->depth].named;
    int defined = walk->at[walk->depth].defined + (element->repetition != REQUIRED);
    int repeated = walk->at[walk->depth].repeated + (element->repetition == REPEATED);
    if (walk->depth + 1 == MOST_LEVELS)
        return false;
    walk->depth++;
    walk->at[walk->depth].children = element->children;
    walk->at[walk->depth].defined = defined;
    walk->at[walk->depth].repeated = repeated;
    walk->at[walk->depth].name_len = name_len;
    walk->at[walk->depth].named = named && !list;
    return true;
}

static void groups_leave(struct walk *walk) {
    while (walk->depth && !walk->at[walk->depth].children) {
        name_cut(walk, walk->at[walk->depth].name_len);
        walk->depth--;
    }
}

static bool element_take(struct parquet *parquet, struct walk *walk, const struct element *element,
                         struct err *err) {
    size_t name_len = walk->name.len;
    if (!walk->at[walk->depth].children)
        return err_set(err, ERR_DAMAGED, "its list of columns is damaged");
    walk->at[walk->depth].children--;
    name_push(walk, element->name);
    if (element->children > 0)
        return group_enter(walk, element, name_len) ||
               err_set(err, ERR_DAMAGED, "its columns are nested deeper than %d", MOST_LEVELS);
    bool ok = leaf_add(parquet, element, walk, err);
    name_cut(walk, name_len);
    return ok;
}

static bool schema_read(struct parquet *parquet, struct thrift *thrift,
                        const struct thrift_field *field, struct err *err) {
    enum thrift_type type;
    struct walk walk = {0};
    size_t count = thrift_list(thrift, field, &type);
    struct element root =
        count && type == THRIFT_STRUCT ? element_read(thrift) : (struct element){0};
    walk.at[0].children = root.children;
    walk.at[0].named = true;
    bool ok = type == THRIFT_STRUCT && count > 0;
    for (size_t i = 1; ok && i < count && !thrift->failed; i++) {
        struct element element = element_read(thrift);
        ok = element_take(parquet, &walk, &element, err);
        groups_leave(&walk);
    }
    buf_free(&walk.name);
    return ok || (err->kind == ERR_NONE && err_set(err, ERR_DAMAGED, "it has no columns"));
}

/* ---- row groups ------------------------------------------------------------------------------ */

static void meta_read(struct thrift *thrift, struct chunk *chunk) {
    struct thrift_field field = {0};
    int64_t data = -1, dictionary = -1;
    while (thrift_next(thrift, &field))
        switch (field.id) {
        case 1: chunk->type = (enum physical)thrift_int(thrift, &field); break;
        case 4: chunk->codec = thrift_int(thrift, &field); break;
        case 5: chunk->values = thrift_int(thrift, &field); break;
        case 7: chunk->size = thrift_int(thrift, &field); break;
        case 9: data = thrift_int(thrift, &field); break;
        case 11: dictionary = thrift_int(thrift, &field); break;
        default: thrift_skip(thrift, field.type);
        }
    /* Some writers say 0 where there is no dictionary. */
    chunk->offset = dictionary > 0 && dictionary < data ? dictionary : data;
}

static struct chunk chunk_read(struct thrift *thrift) {
    struct chunk chunk = {.offset = -1};
    struct thrift_field field = {0};
    while (thrift_next(thrift, &field))
        if (field.id == 3 && field.type == THRIFT_STRUCT)
            meta_read(thrift, &chunk);
        else
            thrift_skip(thrift, field.type);
    return chunk;
}

static void group_read(struct parquet *parquet, struct thrift *thrift) {
    struct group group = {.first_chunk = parquet->chunks.len};
    struct thrift_field field = {0};
    enum thrift_type type;
    while (thrift_next(thrift, &field))
        if (field.id == 1) {
            size_t count = thrift_list(thrift, &field, &type);
            for (size_t i = 0; i < count && !thrift->failed; i++)
                *vec_push(&parquet->chunks) = chunk_read(thrift);
        } else if (field.id == 3)
            group.rows = thrift_int(thrift, &field);
        else
            thrift_skip(thrift, field.type);
    *vec_push(&parquet->groups) = group;
}

static bool is_sound(const struct parquet *parquet) {
    int64_t rows = 0;
    for (size_t i = 0; i < parquet->groups.len; i++) {
        const struct group *group = &parquet->groups.at[i];
        if (group->rows < 0 || group->rows > INT64_MAX - rows ||
            group->first_chunk + parquet->leaves.len > parquet->chunks.len)
            return false;
        rows += group->rows;
        for (size_t k = 0; k < parquet->leaves.len; k++) {
            const struct chunk *chunk = &parquet->chunks.at[group->first_chunk + k];
            if (chunk->values < 0 || chunk->offset < 4 || chunk->size < 0 ||
                chunk->size > parquet->size || chunk->offset > parquet->size - chunk->size ||
                chunk->type != parquet->leaves.at[k].type)
                return false;
        }
    }
    return rows == parquet->rows;
}

static bool meta_take(struct parquet *parquet, struct thrift *thrift, struct err *err) {
    struct thrift_field field = {0};
    enum thrift_type type;
    bool ok = true;
    while (ok && thrift_next(thrift, &field))
        if (field.id == 2)
            ok = schema_read(parquet, thrift, &field, err);
        else if (field.id == 3)
            parquet->rows = thrift_int(thrift, &field);
        else if (field.id == 4) {
            size_t count = thrift_list(thrift, &field, &type);
            for (size_t i = 0; i < count && !thrift->failed; i++)
                group_read(parquet, thrift);
        } else
            thrift_skip(thrift, field.type);
    if (!ok)
        return false;
    return (!thrift->failed && is_sound(parquet)) ||
           err_set(err, ERR_DAMAGED,
                   "its footer is damaged: it does not fit the file; copy the file again");
}

bool footer_read(struct parquet *parquet, struct err *err) {
    uint8_t head[4], tail[8];
    if (parquet->size < 12)
        return err_set(err, ERR_DAMAGED, "it is no Parquet file: it has %lld bytes",
                       (long long)parquet->size);
    if (!parquet_bytes(parquet, 0, head, sizeof head, err) ||
        !parquet_bytes(parquet, parquet->size - 8, tail, sizeof tail, err))
        return false;
    if (!memcmp(head, magic_encrypted, 4) || !memcmp(tail + 4, magic_encrypted, 4))
        return err_set(err, ERR_DAMAGED,
                       "it is encrypted; write it again without, with the tool that it is from");
    if (memcmp(head, magic, 4) != 0 || memcmp(tail + 4, magic, 4) != 0)
        return err_set(err, ERR_DAMAGED,
                       memcmp(head, magic, 4) != 0
                           ? "it is no Parquet file: it does not begin with PAR1"
                           : "it is not whole: it does not end with PAR1; copy the file again");
    uint32_t size = (uint32_t)tail[0] | (uint32_t)tail[1] << 8 | (uint32_t)tail[2] << 16 |
                    (uint32_t)tail[3] << 24;
    if (size > MOST_FOOTER || size > parquet->size - 12)
        return err_set(err, ERR_DAMAGED, "its footer is damaged: it would have %u bytes", size);
    uint8_t *bytes = mem_alloc(size ? size : 1, 1);
    struct thrift thrift = {bytes, bytes + size, false, 0};
    bool ok = parquet_bytes(parquet, parquet->size - 8 - (int64_t)size, bytes, size, err) &&
              meta_take(parquet, &thrift, err);
    free(bytes);
    return ok;
}
