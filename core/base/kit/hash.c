/* SPDX-License-Identifier: Apache-2.0 */
#include "base/kit/kit.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

struct hash_stream {
    XXH3_state_t *state;
};

static struct hash to_hex(XXH128_hash_t value) {
    struct hash hash;
    snprintf(hash.hex, sizeof hash.hex, "%016llx%016llx", (unsigned long long)value.high64,
             (unsigned long long)value.low64);
    return hash;
}

uint64_t hash_quick(const void *data, size_t size) {
    return XXH3_64bits(data, size);
}

struct hash hash_content(const void *data, size_t size) {
    return to_hex(XXH3_128bits(data, size));
}

void hash_bytes(const void *data, size_t size, unsigned char out[HASH_BYTES]) {
    XXH128_canonical_t bytes;
    XXH128_canonicalFromHash(&bytes, XXH3_128bits(data, size));
    memcpy(out, bytes.digest, HASH_BYTES);
}

struct hash_stream *hash_begin(void) {
    struct hash_stream *stream = mem_alloc(1, sizeof *stream);
    stream->state = XXH3_createState();
    if (!stream->state)
        HONE_BUG("no memory for a hash");
    XXH3_128bits_reset(stream->state);
    return stream;
}

void hash_add(struct hash_stream *stream, const void *data, size_t size) {
    uint64_t length = size;
    XXH3_128bits_update(stream->state, &length, sizeof length);
    XXH3_128bits_update(stream->state, data, size);
}

struct hash hash_end(struct hash_stream *stream) {
    struct hash hash = to_hex(XXH3_128bits_digest(stream->state));
    XXH3_freeState(stream->state);
    mem_free_(stream);
    return hash;
}
