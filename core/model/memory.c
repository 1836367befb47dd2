/* SPDX-License-Identifier: Apache-2.0 */
/* The memory libcurl works in: keys pass through it in headers and buffers, so what it gives back
 * is wiped. hone's own memory is wiped where a key was put into it. */
#include <stdlib.h>

#include "model/private.h"

/* In front of a block stands its size; 16 bytes keep it aligned. */
#define BLOCK_HEAD ((size_t)16)

static void *block_new(size_t size) {
    char *block = size < SIZE_MAX - BLOCK_HEAD ? malloc(size + BLOCK_HEAD) : NULL;
    if (!block)
        return NULL;
    memcpy(block, &size, sizeof size);
    return block + BLOCK_HEAD;
}

static void block_free(void *at) {
    size_t size;
    if (!at)
        return;
    memcpy(&size, (char *)at - BLOCK_HEAD, sizeof size);
    explicit_bzero(at, size);
    free((char *)at - BLOCK_HEAD);
}

static void *block_resize(void *at, size_t size) {
    size_t old = 0;
    void *block = block_new(size);
    if (at && block) {
        memcpy(&old, (char *)at - BLOCK_HEAD, sizeof old);
        memcpy(block, at, MIN_OF(old, size));
        block_free(at);
    }
    return block;
}

static char *block_text(const char *text) {
    char *block = block_new(strlen(text) + 1);
    return block ? memcpy(block, text, strlen(text) + 1) : NULL;
}

static void *block_zeroed(size_t count, size_t size) {
    if (size && count > SIZE_MAX / size)
        return NULL;
    void *block = block_new(count * size);
    return block ? memset(block, 0, count * size) : NULL;
}

void model_memory_begin(void) {
    if (curl_global_init_mem(CURL_GLOBAL_DEFAULT, block_new, block_free, block_resize, block_text,
                             block_zeroed) != 0)
        HONE_BUG("libcurl cannot start");
}
