/* SPDX-License-Identifier: Apache-2.0 */
#include "base/kit/testing.h"
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

/* -------------------------------------------------------------------------------------- texts */

#define CHUNK 16384 /* short texts lie close together in pieces of the arena */

struct kept {
    const char *text;
    uint32_t hash, len;
};

struct text_pool {
    struct arena *arena;
    struct kept *slots;
    size_t n_slots, count;
    char *chunk;
    size_t left;
};

struct text_pool *text_pool_new(struct arena *arena) {
    struct text_pool *texts = mem_alloc(1, sizeof *texts);
    texts->arena = arena;
    texts->n_slots = 256;
    texts->slots = mem_alloc(texts->n_slots, sizeof *texts->slots);
    return texts;
}

void text_pool_free(struct text_pool *texts) {
    if (!texts)
        return;
    free(texts->slots);
    free(texts);
}

size_t text_pool_count(const struct text_pool *texts) {
    return texts->count;
}

static void text_pool_grow(struct text_pool *texts) {
    struct kept *old = texts->slots;
    size_t count = texts->n_slots;
    texts->n_slots = count * 2;
    texts->slots = mem_alloc(texts->n_slots, sizeof *texts->slots);
    for (size_t i = 0; i < count; i++) {
        size_t slot = old[i].hash & (texts->n_slots - 1);
        while (old[i].text && texts->slots[slot].text)
            slot = (slot + 1) & (texts->n_slots - 1);
        if (old[i].text)
            texts->slots[slot] = old[i];
    }
    free(old);
}

static char *text_pool_copy(struct text_pool *texts, struct str text) {
    size_t size = text.len + 1;
    if (size > CHUNK / 4)
        return arena_strndup(texts->arena, text.at, text.len);
    if (size > texts->left) {
        texts->chunk = arena_alloc(texts->arena, CHUNK, 1);
        texts->left = CHUNK;
    }
    char *copy = texts->chunk;
    if (text.len)
        memcpy(copy, text.at, text.len);
    texts->chunk += size;
    texts->left -= size;
    return copy;
}

const char *text_pool_keep(struct text_pool *texts, struct str text) {
    uint32_t hash = (uint32_t)hash_quick(text.at, text.len);
    if ((texts->count + 1) * 4 > texts->n_slots * 3)
        text_pool_grow(texts);
    size_t slot = hash & (texts->n_slots - 1);
    for (; texts->slots[slot].text; slot = (slot + 1) & (texts->n_slots - 1)) {
        const struct kept *kept = &texts->slots[slot];
        if (kept->hash == hash && str_equal((struct str){kept->text, kept->len}, text))
            return kept->text;
    }
    if (text.len > UINT32_MAX)
        return arena_strndup(texts->arena, text.at, text.len);
    texts->count++;
    texts->slots[slot] = (struct kept){text_pool_copy(texts, text), hash, (uint32_t)text.len};
    return texts->slots[slot].text;
}

/* --------------------------------------------------------------------------- rows by their hash */

void by_hash_free(struct by_hash *index) {
    free(index->rows);
    free(index->slots);
    *index = (struct by_hash){0};
}

static void by_hash_place(struct by_hash *index, size_t number) {
    size_t slot = (size_t)index->rows[number].hash & (index->n_slots - 1);
    while (index->slots[slot])
        slot = (slot + 1) & (index->n_slots - 1);
    index->slots[slot] = (uint32_t)(number + 1);
}

void by_hash_put(struct by_hash *index, uint64_t hash, size_t row) {
    if (index->len == index->cap) {
        index->cap = index->cap ? index->cap * 2 : 16;
        index->rows = mem_resize(index->rows, index->cap, sizeof *index->rows);
    }
    index->rows[index->len++] = (struct by_hash_row){hash, (uint32_t)row};
    if (index->len * 2 <= index->n_slots) {
        by_hash_place(index, index->len - 1);
        return;
    }
    free(index->slots);
    index->n_slots = index->n_slots ? index->n_slots * 2 : 32;
    index->slots = mem_alloc(index->n_slots, sizeof *index->slots);
    for (size_t i = 0; i < index->len; i++)
        by_hash_place(index, i);
}

bool by_hash_next(const struct by_hash *index, uint64_t hash, size_t *at, size_t *row) {
    size_t mask = index->n_slots - 1, number;
    if (!index->n_slots)
        return false;
    for (; *at < index->n_slots; ++*at) {
        if (!(number = index->slots[((size_t)hash + *at) & mask]))
            return false;
        const struct by_hash_row *found = &index->rows[number - 1];
        if (found->hash != hash)
            continue;
        *row = found->row;
        ++*at;
        return true;
    }
    return false;
}
