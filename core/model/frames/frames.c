/* SPDX-License-Identifier: Apache-2.0 */
/* AWS's event stream encoding, read from bytes as they come ("Event stream encoding", Amazon
 * Transcribe developer guide; the same for Bedrock). Payloads are handed on, not looked into. */
#include "model/frames/frames.h"

#include <stdio.h>

#define PRELUDE 12  /* two lengths and their checksum */
#define OVERHEAD 16 /* prelude and the checksum at the end */

/* CRC-32 of IEEE 802.3. */
static uint32_t crc_of(struct str bytes) {
    /* The remainders of half a byte each. */
    static const uint32_t rows[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
                                      0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
                                      0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                      0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < bytes.len; i++) {
        crc ^= (unsigned char)bytes.at[i];
        crc = crc >> 4 ^ rows[crc & 15];
        crc = crc >> 4 ^ rows[crc & 15];
    }
    return ~crc;
}

static uint32_t number_at(const char *at) {
    const unsigned char *byte = (const unsigned char *)at;
    return (uint32_t)byte[0] << 24 | (uint32_t)byte[1] << 16 | (uint32_t)byte[2] << 8 | byte[3];
}

/* Bytes a header's value takes, its length field included; types 0 and 1 are true and false, 2 to 5
 * integers, 6 bytes, 7 text, 8 a time, 9 a UUID. 0: it does not fit. */
static size_t value_size(int type, struct str rest) {
    static const size_t fixed[] = {0, 0, 1, 2, 4, 8, 0, 0, 8, 16};
    if (type < 0 || (size_t)type >= COUNT_OF(fixed))
        return SIZE_MAX;
    if (type != 6 && type != 7)
        return fixed[type];
    if (rest.len < 2)
        return SIZE_MAX;
    return 2 + ((size_t)(unsigned char)rest.at[0] << 8 | (unsigned char)rest.at[1]);
}

static void keep_header(struct frames_message *message, struct str name, struct str value) {
    if (str_is(name, ":message-type"))
        snprintf(message->type, sizeof message->type, STR_FMT, STR_ARG(value));
    if (str_is(name, ":event-type") || str_is(name, ":exception-type") ||
        str_is(name, ":error-code"))
        snprintf(message->event, sizeof message->event, STR_FMT, STR_ARG(value));
    if (str_is(name, ":error-message"))
        snprintf(message->text, sizeof message->text, STR_FMT, STR_ARG(value));
}

static bool read_headers(struct str rest, struct frames_message *message) {
    while (rest.len) {
        size_t name_len = (unsigned char)rest.at[0];
        if (rest.len < name_len + 2)
            return false;
        struct str name = {rest.at + 1, name_len};
        int type = (unsigned char)rest.at[1 + name_len];
        rest.at += name_len + 2;
        rest.len -= name_len + 2;
        size_t size = value_size(type, rest);
        if (size > rest.len)
            return false;
        if (type == 7)
            keep_header(message, name, (struct str){rest.at + 2, size - 2});
        rest.at += size;
        rest.len -= size;
    }
    return true;
}

/* A whole message stands at the front. */
static bool read_message(struct str whole, frames_fn *fn, void *data, struct err *err) {
    struct frames_message message = {0};
    uint32_t headers = number_at(whole.at + 4);
    if (number_at(whole.at + whole.len - 4) != crc_of((struct str){whole.at, whole.len - 4}))
        return err_set(err, ERR_ENVIRONMENT, "a message of the stream has a wrong checksum");
    if (headers > whole.len - OVERHEAD ||
        !read_headers((struct str){whole.at + PRELUDE, headers}, &message))
        return err_set(err, ERR_ENVIRONMENT,
                       "a message of the stream has headers that cannot be read");
    message.payload = (struct str){whole.at + PRELUDE + headers, whole.len - OVERHEAD - headers};
    fn(data, &message);
    return true;
}

bool frames_feed(struct frames *frames, struct str bytes, frames_fn *fn, void *data,
                 struct err *err) {
    buf_add(&frames->bytes, bytes.at, bytes.len);
    size_t used = 0;
    bool ok = true;
    while (ok && frames->bytes.len - used >= PRELUDE) {
        const char *at = frames->bytes.at + used;
        uint32_t size = number_at(at);
        if (number_at(at + 8) != crc_of((struct str){at, 8}) || size < OVERHEAD ||
            size > FRAMES_MAX_MESSAGE) {
            ok = err_set(err, ERR_ENVIRONMENT, "the stream is not an AWS event stream");
            break;
        }
        if (frames->bytes.len - used < size)
            break;
        ok = read_message((struct str){at, size}, fn, data, err);
        used += size;
    }
    if (used) {
        memmove(frames->bytes.at, frames->bytes.at + used, frames->bytes.len - used);
        frames->bytes.len -= used;
    }
    return ok;
}

void frames_free(struct frames *frames) {
    buf_free(&frames->bytes);
}
