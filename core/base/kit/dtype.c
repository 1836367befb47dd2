/* SPDX-License-Identifier: Apache-2.0 */
#include "base/kit/kit.h"

static const struct {
    const char *name;
    uint8_t bytes;
    char kind;
} rows[DTYPE_COUNT] = {[DTYPE_NONE] = {"none", 0, '-'},
#define X(id, name, bytes, kind) [DTYPE_##id] = {name, bytes, kind},
                       DTYPE_TABLE(X)
#undef X
};

const char *dtype_name(enum dtype dtype) {
    return rows[dtype].name;
}

size_t dtype_bytes(enum dtype dtype) {
    return rows[dtype].bytes;
}

char dtype_kind(enum dtype dtype) {
    return rows[dtype].kind;
}

bool dtype_is_float(enum dtype dtype) {
    return rows[dtype].kind == 'f';
}

bool dtype_is_int(enum dtype dtype) {
    char kind = rows[dtype].kind;
    return kind == 'i' || kind == 'u' || kind == 'b';
}

enum dtype dtype_find(struct str name) {
    if (str_is(name, "bool"))
        return DTYPE_BOOL;
    for (int i = DTYPE_NONE + 1; i < DTYPE_COUNT; i++)
        if (str_is(name, rows[i].name))
            return (enum dtype)i;
    return DTYPE_NONE;
}

int64_t array_count(const struct array *array) {
    int64_t count = 1;
    for (int i = 0; i < array->ndim; i++)
        count *= array->shape[i];
    return count;
}

size_t array_bytes(const struct array *array) {
    return (size_t)array_count(array) * dtype_bytes(array->dtype);
}
