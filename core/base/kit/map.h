/* SPDX-License-Identifier: Apache-2.0 */
/* A hash map from text to a pointer, in insertion order; and a set of unique strings. */
#ifndef HONE_BASE_MAP_H
#define HONE_BASE_MAP_H

#include <stddef.h>

#include "base/kit/str.h"

struct map_entry {
    char *key; /* owned by the map, terminated */
    size_t key_len;
    void *value;
};
/* {0} is the empty map. Entries stay in the order they came; entry pointers move when it grows. */
struct map {
    struct map_entry *entries;
    size_t len, cap;
    uint32_t *slots;
    size_t n_slots;
};
void map_free(struct map *map);                       /* keys only, not the values */
void *map_get(const struct map *map, struct str key); /* NULL when absent */
struct map_entry *map_find(const struct map *map, struct str key);
/* The entry for the key, added with value NULL when absent. */
struct map_entry *map_put(struct map *map, struct str key);

#endif
