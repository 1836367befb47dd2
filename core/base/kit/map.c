/* SPDX-License-Identifier: Apache-2.0 */
#include "base/kit/kit.h"

#include <stdlib.h>

void map_free(struct map *map) {
    for (size_t i = 0; i < map->len; i++)
        free(map->entries[i].key);
    free(map->entries);
    free(map->slots);
    *map = (struct map){0};
}

/* The slot that holds the key, or the empty one where it would go. */
static size_t slot_of(const struct map *map, struct str key) {
    size_t mask = map->n_slots - 1;
    size_t slot = (size_t)hash_quick(key.at, key.len) & mask;
    while (map->slots[slot]) {
        const struct map_entry *entry = &map->entries[map->slots[slot] - 1];
        if (str_equal((struct str){entry->key, entry->key_len}, key))
            break;
        slot = (slot + 1) & mask;
    }
    return slot;
}

struct map_entry *map_find(const struct map *map, struct str key) {
    if (!map->n_slots)
        return NULL;
    uint32_t index = map->slots[slot_of(map, key)];
    return index ? &map->entries[index - 1] : NULL;
}

void *map_get(const struct map *map, struct str key) {
    struct map_entry *entry = map_find(map, key);
    return entry ? entry->value : NULL;
}

static void grow_slots(struct map *map) {
    free(map->slots);
    map->n_slots = map->n_slots ? map->n_slots * 2 : 16;
    map->slots = mem_alloc(map->n_slots, sizeof *map->slots);
    for (size_t i = 0; i < map->len; i++) {
        struct str key = {map->entries[i].key, map->entries[i].key_len};
        map->slots[slot_of(map, key)] = (uint32_t)(i + 1);
    }
}

struct map_entry *map_put(struct map *map, struct str key) {
    struct map_entry *found = map_find(map, key);
    if (found)
        return found;
    if ((map->len + 1) * 2 > map->n_slots)
        grow_slots(map);
    if (map->len == map->cap) {
        map->cap = map->cap ? map->cap * 2 : 8;
        map->entries = mem_resize(map->entries, map->cap, sizeof *map->entries);
    }
    char *copy = mem_alloc(1, key.len + 1);
    if (key.len)
        memcpy(copy, key.at, key.len);
    map->slots[slot_of(map, key)] = (uint32_t)(map->len + 1);
    map->entries[map->len] = (struct map_entry){copy, key.len, NULL};
    return &map->entries[map->len++];
}
