/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 as FIPS 180-4 describes it. It tells whether a copy is whole. It is not for secrets. */
#include <stdio.h>

#include "base/kit/kit.h"

static const uint32_t rounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t x, int by) {
    return x >> by | x << (32 - by);
}

static void schedule(const unsigned char *block, uint32_t words[64]) {
    for (int i = 0; i < 16; i++)
        words[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
                   (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t near = words[i - 15], far = words[i - 2];
        words[i] = words[i - 16] + words[i - 7] + (turn(near, 7) ^ turn(near, 18) ^ near >> 3) +
                   (turn(far, 17) ^ turn(far, 19) ^ far >> 10);
    }
}

static void mix(struct sha256 *sum, const unsigned char *block) {
    uint32_t words[64], s[8];
    schedule(block, words);
    memcpy(s, sum->state, sizeof s);
    for (int i = 0; i < 64; i++) {
        uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
        uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        uint32_t first = s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) + choice +
                         rounds[i] + words[i];
        uint32_t second = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) + majority;
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += first;
        s[0] = first + second;
    }
    for (int i = 0; i < 8; i++)
        sum->state[i] += s[i];
}

void sha256_begin(struct sha256 *sum) {
    *sum = (struct sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                     0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(struct sha256 *sum, const void *data, size_t size) {
    const unsigned char *at = data;
    while (size) {
        size_t used = sum->bytes % sizeof sum->block;
        size_t part = MIN_OF(size, sizeof sum->block - used);
        bool whole = part == sizeof sum->block;
        if (!whole)
            memcpy(sum->block + used, at, part);
        sum->bytes += part;
        if (sum->bytes % sizeof sum->block == 0)
            mix(sum, whole ? at : sum->block);
        at += part;
        size -= part;
    }
}

void sha256_end(struct sha256 *sum, char hex[65]) {
    uint64_t bits = sum->bytes * 8;
    unsigned char length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(bits >> (56 - 8 * i));
    sha256_add(sum, "\x80", 1);
    while (sum->bytes % sizeof sum->block != 56)
        sha256_add(sum, "", 1);
    sha256_add(sum, length, sizeof length);
    for (int i = 0; i < 8; i++)
        snprintf(hex + 8 * (size_t)i, 9, "%08x", sum->state[i]);
}

void sha256_of(const void *data, size_t size, char hex[65]) {
    struct sha256 sum;
    sha256_begin(&sum);
    sha256_add(&sum, data, size);
    sha256_end(&sum, hex);
}
