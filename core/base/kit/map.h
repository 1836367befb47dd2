/* SPDX-License-Identifier: Apache-2.0 */
/* A hash map from text to a pointer, in insertion order; a pool that keeps each text once; an index
 * of the rows of a list by a hash. */
#ifndef HONE_BASE_MAP_H
#define HONE_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/kit/mem.h"
#include "base/kit/str.h"

struct map_entry {
    char *key; /* owned by the map, terminated */
    size_t key_len;
    void *value;
};
/* {0} is the empty map. Entries stay in the order they came. Pointers to entries move when the map
 * grows. */
struct map {
    struct map_entry *entries;
    size_t len, cap;
    uint32_t *slots;
    size_t n_slots;
};
void map_free(struct map *map);                       /* frees the keys, not the values */
void *map_get(const struct map *map, struct str key); /* NULL when absent */
struct map_entry *map_find(const struct map *map, struct str key);
/* The entry of the key. When it is absent, it is added with value NULL. */
struct map_entry *map_put(struct map *map, struct str key);

/* A pool of texts in an arena. Equal texts are the same pointer and are kept once. The arena must
 * outlive the pool. */
struct text_pool;
struct text_pool *text_pool_new(struct arena *arena) CC_MUST_USE;
void text_pool_free(struct text_pool *texts); /* what was kept stays in the arena; accepts NULL */
const char *text_pool_keep(struct text_pool *texts, struct str text);

/* An index of the rows of a list, by a hash of what they are looked up by. Nothing is ever taken
 * out. Two rows may have one hash, so whoever finds a row must compare it. {0} is empty. */
struct by_hash {
    struct by_hash_row {
        uint64_t hash;
        uint32_t row;
    } * rows; /* in the order they came */
    size_t len, cap;
    uint32_t *slots;
    size_t n_slots;
};
void by_hash_free(struct by_hash *index);
void by_hash_put(struct by_hash *index, uint64_t hash, size_t row);
/* Gives the rows under a hash one at a time, in the order they came. *at is 0 before the first
 * call. False when there are no more. */
bool by_hash_next(const struct by_hash *index, uint64_t hash, size_t *at, size_t *row);

#endif
