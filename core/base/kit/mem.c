/* SPDX-License-Identifier: Apache-2.0 */
#include "base/kit/kit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/mman.h>
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; an older one refuses it, and nothing is lost */
#endif
#endif

#define ARENA_FIRST_BLOCK (64u << 10)
#define ARENA_LARGEST_STEP (8u << 20)
#define ARENA_KEPT_BLOCK (1u << 20) /* what a reset keeps */
#define ARENA_ALIGN 16u
#define ARENA_LEAST_AHEAD (16u << 10)
#define ARENA_MOST_AHEAD (256u << 10)
#define PAGE ((uintptr_t)4096)
#define LARGE_PAGE ((size_t)2 << 20)
#define MOST_COPIED ((size_t)64 << 20)
#define LARGE_PAGES (4u << 20) /* what has that size or more has large pages */

static CC_NORETURN void out_of_memory(void) {
    static const char text[] = "hone: out of memory\n";
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    abort();
}

void mem_bug(const char *file, int line, const char *what) {
    fprintf(stderr, "hone: internal error at %s:%d: %s\n", file, line, what);
    abort();
}

/* A hint: one fault for 2 MB instead of one for 4 kB. Under a hypervisor that shadows page tables
 * even pages that were asked for ahead cost some microseconds at their first use. Whole pages at
 * both ends: a mapping of which a page is another kind cannot be moved when it grows (EFAULT). */
static void pages_large(void *memory, size_t bytes) {
#ifdef __linux__
    uintptr_t from = (uintptr_t)memory & ~(PAGE - 1);
    uintptr_t to = ((uintptr_t)memory + bytes + PAGE - 1) & ~(PAGE - 1);
    if (bytes >= LARGE_PAGES)
        (void)madvise((void *)from, to - from, MADV_HUGEPAGE);
#else
    (void)memory, (void)bytes;
#endif
}

void *mem_alloc(size_t count, size_t size) {
    void *memory = calloc(count ? count : 1, size ? size : 1);
    if (!memory)
        out_of_memory();
    pages_large(memory, count * size);
    return memory;
}

void *mem_resize(void *old, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        out_of_memory();
    void *memory = realloc(old, bytes ? bytes : 1);
    if (!memory)
        out_of_memory();
    pages_large(memory, bytes);
    return memory;
}

void *mem_dup(const void *data, size_t size) {
    void *copy = mem_alloc(1, size);
    if (size)
        memcpy(copy, data, size);
    return copy;
}

char *mem_strdup(const char *text) {
    return text ? mem_dup(text, strlen(text) + 1) : NULL;
}

void mem_free_(void *memory) {
    free(memory);
}

/* A block that the system moves when it grows lies across the borders of large pages from then on:
 * it has small ones, and each costs a fault again after every move. So one that is not too large to
 * be there twice for a moment is copied to where large pages begin. NULL: it is not. */
static void *large_copy(const void *old, size_t had, size_t bytes) {
#ifdef __linux__
    size_t whole = (bytes + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
    bool worth = bytes >= LARGE_PAGES && had <= MOST_COPIED && whole >= bytes;
    void *memory = worth ? aligned_alloc(LARGE_PAGE, whole) : NULL;
    if (!memory)
        return NULL;
    pages_large(memory, whole);
    if (had)
        memcpy(memory, old, had);
    return memory;
#else
    (void)old, (void)had, (void)bytes;
    return NULL;
#endif
}

void *vec_grow_(void *at, size_t *cap, size_t need, size_t size) {
    size_t had = *cap * size, wanted = *cap + *cap / 2 + 8, bytes;
    if (wanted < need)
        wanted = need;
    *cap = wanted;
    if (__builtin_mul_overflow(wanted, size, &bytes))
        out_of_memory();
    void *copy = large_copy(at, had, bytes);
    if (!copy)
        return mem_resize(at, wanted, size);
    free(at);
    return copy;
}

struct block {
    struct block *previous;
    size_t size, used, ready; /* pages up to `ready` were asked for */
    _Alignas(16) unsigned char data[];
};

struct arena {
    struct block *last;
    size_t bytes;
    arena_grown_fn *grown; /* called when the arena grows; may be NULL */
    void *data;
};

static struct block *block_new(struct block *previous, size_t size) {
    size_t bytes;
    if (__builtin_add_overflow(size, sizeof(struct block), &bytes))
        out_of_memory();
    struct block *block = malloc(bytes);
    if (!block)
        out_of_memory();
    pages_large(block, bytes);
    block->previous = previous;
    block->size = size;
    block->used = block->ready = 0;
    return block;
}

/* Asks the system for the next pages of a block in one go, as many as are in use already. A page at
 * a time costs a fault each, 14 us under a hypervisor against 1 us here: they were half the time of
 * checking a kernel. */
static void pages_ahead(struct block *block) {
#ifdef __linux__
    size_t more = MIN_OF(MAX_OF(block->used, (size_t)ARENA_LEAST_AHEAD), (size_t)ARENA_MOST_AHEAD);
    size_t end = MIN_OF(block->used + more, block->size);
    uintptr_t from = ((uintptr_t)block->data + block->ready) & ~(PAGE - 1);
    uintptr_t to = ((uintptr_t)block->data + end) & ~(PAGE - 1);
    if (block->used > ARENA_LEAST_AHEAD / 2 && to > from)
        (void)madvise((void *)from, to - from, MADV_POPULATE_WRITE);
    block->ready = end;
#else
    block->ready = block->size;
#endif
}

struct arena *arena_new(void) {
    struct arena *arena = mem_alloc(1, sizeof *arena);
    arena->last = block_new(NULL, ARENA_FIRST_BLOCK);
    return arena;
}

/* Keeps one block, so that equal work again and again takes none from the system. */
void arena_reset(struct arena *arena) {
    struct block *kept = NULL;
    for (struct block *at = arena->last, *previous; at; at = previous) {
        previous = at->previous;
        if (!kept && (at->size <= ARENA_KEPT_BLOCK || !previous))
            kept = at;
        else
            free(at);
    }
    kept->previous = NULL;
    kept->used = 0;
    arena->last = kept;
    arena->bytes = 0;
}

void *vec_grow_in_(struct arena *arena, void *at, size_t *cap, size_t need, size_t size) {
    size_t had = *cap * size;
    *cap = MAX_OF(*cap * 2, need);
    void *grown = arena_alloc(arena, *cap, size);
    if (had)
        memcpy(grown, at, had);
    return grown;
}

void arena_free(struct arena *arena) {
    if (!arena)
        return;
    arena_reset(arena);
    free(arena->last);
    free(arena);
}

void arena_watch(struct arena *arena, arena_grown_fn *fn, void *data) {
    arena->grown = fn;
    arena->data = data;
}

size_t arena_bytes(const struct arena *arena) {
    return arena->bytes;
}

/* The memory is not cleared. */
static void *take(struct arena *arena, size_t count, size_t size, size_t *taken) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
        out_of_memory();
    bytes = (bytes + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    struct block *block = arena->last;
    if (block->size - block->used < bytes) {
        size_t step = MIN_OF(block->size * 2, (size_t)ARENA_LARGEST_STEP);
        arena->last = block = block_new(block, MAX_OF(step, bytes));
        if (arena->grown)
            arena->grown(arena->data);
    }
    void *memory = block->data + block->used;
    block->used += bytes;
    arena->bytes += bytes;
    *taken = bytes;
    if (block->used > block->ready)
        pages_ahead(block);
    return memory;
}

void *arena_alloc(struct arena *arena, size_t count, size_t size) {
    size_t taken;
    void *memory = take(arena, count, size, &taken);
    return memset(memory, 0, taken);
}

void *arena_dup(struct arena *arena, const void *data, size_t size) {
    size_t taken;
    void *copy = take(arena, 1, size, &taken);
    if (size)
        memcpy(copy, data, size);
    return copy;
}

char *arena_strndup(struct arena *arena, const char *text, size_t len) {
    char *copy = arena_alloc(arena, 1, len + 1);
    if (len)
        memcpy(copy, text, len);
    return copy;
}

char *arena_strdup(struct arena *arena, const char *text) {
    return text ? arena_strndup(arena, text, strlen(text)) : NULL;
}

char *arena_printf(struct arena *arena, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = arena_alloc(arena, 1, (size_t)(len < 0 ? 0 : len) + 1);
    if (len > 0)
        vsnprintf(text, (size_t)len + 1, format, again);
    va_end(again);
    return text;
}
