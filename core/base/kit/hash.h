/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes. xxHash makes quick hashes for tables and 128-bit content hashes for caches and artefacts.
 * SHA-256 is for hosts, which have no xxHash. */
#ifndef HONE_BASE_HASH_H
#define HONE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

struct hash {
    char hex[33]; /* 128 bits as 32 digits */
};
uint64_t hash_quick(const void *data, size_t size);
struct hash hash_content(const void *data, size_t size);
/* The same 128 bits as bytes, most significant first. */
#define HASH_BYTES 16
void hash_bytes(const void *data, size_t size, unsigned char out[HASH_BYTES]);
/* The hash of several pieces. Each goes in with its length, so that pieces cannot run into each
 * other. */
struct hash_stream;
struct hash_stream *hash_begin(void);
void hash_add(struct hash_stream *stream, const void *data, size_t size);
struct hash hash_end(struct hash_stream *stream); /* frees the stream */

/* SHA-256 (FIPS 180-4). */
struct sha256 {
    uint32_t state[8];
    uint64_t bytes;
    unsigned char block[64];
};
void sha256_begin(struct sha256 *sum);
void sha256_add(struct sha256 *sum, const void *data, size_t size);
void sha256_end(struct sha256 *sum, char hex[65]);
/* Of one piece. */
void sha256_of(const void *data, size_t size, char hex[65]);

#endif
