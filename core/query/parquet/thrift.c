/* SPDX-License-Identifier: Apache-2.0 */
/* Thrift's compact protocol (thrift-compact-protocol.md of Apache Thrift). */
#include "query/parquet/private.h"

#define MOST_DEPTH 24

static uint8_t byte(struct thrift *thrift) {
    if (thrift->failed || thrift->at >= thrift->end) {
        thrift->failed = true;
        return 0;
    }
    return *thrift->at++;
}

uint64_t thrift_varint(struct thrift *thrift) {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        uint8_t next = byte(thrift);
        value |= (uint64_t)(next & 0x7f) << shift;
        if (!(next & 0x80))
            return value;
    }
    thrift->failed = true;
    return 0;
}

static int64_t zigzag(struct thrift *thrift) {
    uint64_t value = thrift_varint(thrift);
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

bool thrift_next(struct thrift *thrift, struct thrift_field *field) {
    uint8_t head = byte(thrift);
    field->type = (enum thrift_type)(head & 15);
    if (thrift->failed || field->type == THRIFT_STOP)
        return false;
    int64_t id = head >> 4 ? field->id + (head >> 4) : zigzag(thrift);
    if (field->type > THRIFT_STRUCT || id < 0 || id > INT16_MAX)
        thrift->failed = true;
    field->id = (int)id;
    return !thrift->failed;
}

static struct str binary(struct thrift *thrift) {
    uint64_t size = thrift_varint(thrift);
    if (thrift->failed || size > (uint64_t)(thrift->end - thrift->at)) {
        thrift->failed = true;
        return STR("");
    }
    struct str text = {(const char *)thrift->at, (size_t)size};
    thrift->at += size;
    return text;
}

static size_t list_head(struct thrift *thrift, enum thrift_type *element) {
    uint8_t head = byte(thrift);
    uint64_t count = head >> 4 == 15 ? thrift_varint(thrift) : head >> 4;
    *element = (enum thrift_type)(head & 15);
    if (!thrift->failed && count <= (uint64_t)(thrift->end - thrift->at))
        return (size_t)count;
    thrift->failed = true;
    return 0;
}

static void list_skip(struct thrift *thrift) {
    enum thrift_type element;
    size_t count = list_head(thrift, &element);
    for (size_t i = 0; i < count && !thrift->failed; i++)
        if (element == THRIFT_TRUE || element == THRIFT_FALSE)
            byte(thrift); /* elements have their value behind the list's head */
        else
            thrift_skip(thrift, element);
}

static void map_skip(struct thrift *thrift) {
    uint64_t count = thrift_varint(thrift);
    uint8_t types = count ? byte(thrift) : 0;
    if (count > (uint64_t)(thrift->end - thrift->at))
        thrift->failed = true;
    for (uint64_t i = 0; i < count && !thrift->failed; i++) {
        thrift_skip(thrift, (enum thrift_type)(types >> 4));
        thrift_skip(thrift, (enum thrift_type)(types & 15));
    }
}

static void struct_skip(struct thrift *thrift) {
    struct thrift_field field = {0};
    while (thrift_next(thrift, &field))
        thrift_skip(thrift, field.type);
}

void thrift_skip(struct thrift *thrift, enum thrift_type type) {
    if (++thrift->depth > MOST_DEPTH)
        thrift->failed = true;
    for (int i = 0; type == THRIFT_DOUBLE && i < 8; i++)
        byte(thrift);
    switch (type) {
    case THRIFT_BYTE: byte(thrift); break;
    case THRIFT_I16:
    case THRIFT_I32:
    case THRIFT_I64: thrift_varint(thrift); break;
    case THRIFT_BINARY: (void)binary(thrift); break;
    case THRIFT_LIST:
    case THRIFT_SET: list_skip(thrift); break;
    case THRIFT_MAP: map_skip(thrift); break;
    case THRIFT_STRUCT:
        if (!thrift->failed)
            struct_skip(thrift);
        break;
    default: break; /* truth is in the type itself */
    }
    thrift->depth--;
}

int64_t thrift_int(struct thrift *thrift, const struct thrift_field *field) {
    switch (field->type) {
    case THRIFT_TRUE: return 1;
    case THRIFT_FALSE: return 0;
    case THRIFT_BYTE: return (int8_t)byte(thrift);
    case THRIFT_I16:
    case THRIFT_I32:
    case THRIFT_I64: return zigzag(thrift);
    default: thrift_skip(thrift, field->type); return 0;
    }
}

struct str thrift_text(struct thrift *thrift, const struct thrift_field *field) {
    if (field->type == THRIFT_BINARY)
        return binary(thrift);
    thrift_skip(thrift, field->type);
    return STR("");
}

size_t thrift_list(struct thrift *thrift, const struct thrift_field *field,
                   enum thrift_type *element) {
    if (field->type == THRIFT_LIST)
        return list_head(thrift, element);
    thrift_skip(thrift, field->type);
    return 0;
}
