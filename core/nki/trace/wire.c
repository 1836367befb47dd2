/* SPDX-License-Identifier: Apache-2.0 */
/* Values as Python's marshal writes them in version 2 of its format: a letter says what follows,
 * sizes have four bytes, whole numbers four bytes or digits of 15 bits, texts are UTF-8. Whatever
 * else is in a message makes it bad. */
#include "nki/trace/private.h"

#include <string.h>

#define DIGIT_BITS 15

static const unsigned char *take(struct wire *wire, size_t n) {
    if (wire->bad || (size_t)(wire->end - wire->at) < n) {
        wire->bad = true;
        return NULL;
    }
    const unsigned char *at = wire->at;
    wire->at += n;
    return at;
}

static uint32_t take_u32(struct wire *wire) {
    const unsigned char *at = take(wire, 4);
    return at ? (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
                    (uint32_t)at[3] << 24
              : 0;
}

int wire_next(const struct wire *wire) {
    return wire->bad || wire->at == wire->end ? 0 : *wire->at;
}

static bool take_letter(struct wire *wire, char letter) {
    if (wire_next(wire) != letter) {
        wire->bad = true;
        return false;
    }
    wire->at++;
    return true;
}

/* No message has room for more items than bytes. */
static uint32_t take_size(struct wire *wire, char letter) {
    uint32_t n = take_letter(wire, letter) ? take_u32(wire) : 0;
    if (n > (size_t)(wire->end - wire->at))
        wire->bad = true;
    return wire->bad ? 0 : n;
}

uint32_t wire_tuple(struct wire *wire) {
    return take_size(wire, '(');
}

uint32_t wire_list(struct wire *wire) {
    return take_size(wire, '[');
}

static int64_t take_digits(struct wire *wire) {
    int32_t n = (int32_t)take_u32(wire);
    uint64_t value = 0;
    bool negative = n < 0;
    uint32_t count = negative ? 0u - (uint32_t)n : (uint32_t)n;
    if (count > 5) {
        wire->bad = true;
        return 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        const unsigned char *at = take(wire, 2);
        uint64_t digit = at ? (uint64_t)at[0] | (uint64_t)at[1] << 8 : 0;
        if (i == 4 && digit > 15)
            wire->bad = true;
        value |= (digit & 0x7fff) << (i * DIGIT_BITS);
    }
    if (value > (uint64_t)INT64_MAX + negative)
        wire->bad = true;
    return wire->bad ? 0 : (int64_t)(negative ? 0 - value : value);
}

int64_t wire_int(struct wire *wire) {
    if (wire_next(wire) == 'l') {
        wire->at++;
        return take_digits(wire);
    }
    return take_letter(wire, 'i') ? (int32_t)take_u32(wire) : 0;
}

static struct str take_text(struct wire *wire, char letter) {
    uint32_t n = take_size(wire, letter);
    const unsigned char *at = take(wire, n);
    return at ? (struct str){(const char *)at, n} : (struct str){"", 0};
}

struct str wire_text(struct wire *wire) {
    return take_text(wire, 'u');
}

struct str wire_bytes(struct wire *wire) {
    return take_text(wire, 's');
}

double wire_float(struct wire *wire) {
    double number = 0;
    const unsigned char *at = take_letter(wire, 'g') ? take(wire, sizeof number) : NULL;
    if (at)
        memcpy(&number, at, sizeof number);
    return number;
}

bool wire_none(struct wire *wire) {
    if (wire_next(wire) != 'N')
        return false;
    wire->at++;
    return true;
}

bool wire_bool(struct wire *wire) {
    bool is = wire_next(wire) == 'T';
    take_letter(wire, is ? 'T' : 'F');
    return is;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void put_u32(struct buf *out, uint32_t n) {
    const char bytes[] = {(char)n, (char)(n >> 8), (char)(n >> 16), (char)(n >> 24)};
    buf_add(out, bytes, sizeof bytes);
}

static void put_size(struct buf *out, char letter, size_t n) {
    buf_putc(out, letter);
    put_u32(out, (uint32_t)n);
}

void wire_put_tuple(struct buf *out, size_t n) {
    put_size(out, '(', n);
}

void wire_put_list(struct buf *out, size_t n) {
    put_size(out, '[', n);
}

void wire_put_int(struct buf *out, int64_t i) {
    if (i >= INT32_MIN && i <= INT32_MAX) {
        put_size(out, 'i', (size_t)(uint32_t)i);
        return;
    }
    uint64_t rest = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
    uint32_t digits[5], n = 0;
    for (; rest; rest >>= DIGIT_BITS)
        digits[n++] = (uint32_t)(rest & 0x7fff);
    put_size(out, 'l', i < 0 ? 0u - n : n);
    for (uint32_t k = 0; k < n; k++) {
        buf_putc(out, (char)digits[k]);
        buf_putc(out, (char)(digits[k] >> 8));
    }
}

void wire_put_float(struct buf *out, double f) {
    char bytes[sizeof f];
    memcpy(bytes, &f, sizeof f);
    buf_putc(out, 'g');
    buf_add(out, bytes, sizeof bytes);
}

/* Python refuses what is no UTF-8. */
static void mend(struct buf *out, struct str text) {
    while (text.len) {
        uint32_t code;
        size_t len = text_decode(text, &code);
        if (code == TEXT_INVALID)
            buf_putc(out, '?');
        else
            buf_add(out, text.at, len);
        text.at += len;
        text.len -= len;
    }
}

void wire_put_text(struct buf *out, struct str text) {
    struct buf mended = {0};
    size_t plain = 0;
    while (plain < text.len && (unsigned char)text.at[plain] < 0x80)
        plain++;
    if (plain < text.len) {
        mend(&mended, text);
        text = buf_str(&mended);
    }
    put_size(out, 'u', text.len);
    buf_add(out, text.at, text.len);
    buf_free(&mended);
}

void wire_put_bool(struct buf *out, bool b) {
    buf_putc(out, b ? 'T' : 'F');
}

void wire_put_none(struct buf *out) {
    buf_putc(out, 'N');
}
