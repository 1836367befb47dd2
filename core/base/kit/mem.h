/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: allocation that never returns NULL, growing arrays, arenas. */
#ifndef HONE_BASE_MEM_H
#define HONE_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

#include "base/kit/cc.h"

/* Allocation for hone's own data, which never returns NULL: running out of memory ends the process
 * with a message. What a kernel or a model asks for has limits of its own. mem_alloc clears the
 * memory. */
void *mem_alloc(size_t count, size_t size) CC_MUST_USE;
void *mem_resize(void *old, size_t count, size_t size) CC_MUST_USE;
void *mem_dup(const void *data, size_t size) CC_MUST_USE;
char *mem_strdup(const char *text) CC_MUST_USE; /* returns NULL for NULL */
CC_NORETURN void mem_bug(const char *file, int line, const char *what);

/* A broken invariant of hone's own: says where, and aborts. Never for foreign input. */
#define HONE_BUG(what) mem_bug(__FILE__, __LINE__, (what))

/* A growing array. VEC(type) declares the three fields; `v` is a pointer to such a struct.
 *     VEC(int) numbers = {0};  *vec_push(&numbers) = 7;  numbers.at[0];  vec_free(&numbers); */
#define VEC(type)        \
    struct {             \
        type *at;        \
        size_t len, cap; \
    }
#define vec_reserve(v, n)      \
    ((n) <= (v)->cap ? (void)0 \
                     : (void)((v)->at = vec_grow_((v)->at, &(v)->cap, (n), sizeof *(v)->at)))
/* The next free element, not cleared. */
#define vec_push(v) (vec_reserve((v), (v)->len + 1), &(v)->at[(v)->len++])
#define vec_free(v) (mem_free_((v)->at), (v)->at = NULL, (v)->len = (v)->cap = 0)
/* The same for short arrays in an arena, which has them as long as they are needed: they are not
 * freed. The first room is `least` elements, then it doubles. */
#define vec_reserve_in(arena, v, n, least)                            \
    ((n) <= (v)->cap                                                  \
         ? (void)0                                                    \
         : (void)((v)->at = vec_grow_in_((arena), (v)->at, &(v)->cap, \
                                         MAX_OF((size_t)(n), (size_t)(least)), sizeof *(v)->at)))
#define vec_push_in(arena, v, least) \
    (vec_reserve_in((arena), (v), (v)->len + 1, (least)), &(v)->at[(v)->len++])
struct arena;
void *vec_grow_in_(struct arena *arena, void *at, size_t *cap, size_t need,
                   size_t size) CC_MUST_USE;
void *vec_grow_(void *at, size_t *cap, size_t need, size_t size) CC_MUST_USE;
void mem_free_(void *memory);

/* An arena: many allocations, one release. Nothing in it is freed by itself. Memory is zeroed and
 * 16-byte aligned. */
struct arena;
struct arena *arena_new(void) CC_MUST_USE;
void arena_free(struct arena *arena);          /* accepts NULL */
void arena_reset(struct arena *arena);         /* keeps a block for reuse */
size_t arena_bytes(const struct arena *arena); /* bytes handed out so far */
/* Calls `grown` whenever the arena takes another block from the system, for callers with a
 * budget. */
typedef void arena_grown_fn(void *data);
void arena_watch(struct arena *arena, arena_grown_fn *fn, void *data);
void *arena_alloc(struct arena *arena, size_t count, size_t size) CC_MUST_USE;
void *arena_dup(struct arena *arena, const void *data, size_t size) CC_MUST_USE;
char *arena_strndup(struct arena *arena, const char *text, size_t len) CC_MUST_USE;
char *arena_strdup(struct arena *arena, const char *text) CC_MUST_USE;
char *arena_printf(struct arena *arena, const char *format, ...) CC_PRINTF(2, 3) CC_MUST_USE;
#define ARENA_NEW(arena, type) ((type *)arena_alloc((arena), 1, sizeof(type)))
#define ARENA_ARRAY(arena, type, count) ((type *)arena_alloc((arena), (count), sizeof(type)))

#endif
