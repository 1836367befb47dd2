/* SPDX-License-Identifier: Apache-2.0 */
/* The streams of tests/model/streams as they travel: text as it is, Bedrock's events (lines "NAME
 * JSON") as frames. */
#ifndef HONE_TESTS_MODEL_FRAME_H
#define HONE_TESTS_MODEL_FRAME_H

#include "model/frames/frames.h"

/* CRC-32 of IEEE 802.3, bit by bit, by its definition. */
static uint32_t frame_crc(struct str bytes) {
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < bytes.len; i++) {
        crc ^= (unsigned char)bytes.at[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
    }
    return ~crc;
}

static void frame_put_number(struct buf *out, uint32_t number) {
    for (int shift = 24; shift >= 0; shift -= 8)
        buf_putc(out, (char)(number >> shift));
}

static void frame_put_header(struct buf *out, const char *name, struct str value) {
    buf_putc(out, (char)strlen(name));
    buf_puts(out, name);
    buf_putc(out, 7);
    buf_putc(out, (char)(value.len >> 8));
    buf_putc(out, (char)value.len);
    buf_add(out, value.at, value.len);
}

/* `kind` is "event" or "exception". */
static void frame_put(struct buf *out, const char *kind, struct str name, struct str payload) {
    struct buf headers = {0}, message = {0};
    frame_put_header(&headers, !strcmp(kind, "event") ? ":event-type" : ":exception-type", name);
    frame_put_header(&headers, ":content-type", STR("application/json"));
    frame_put_header(&headers, ":message-type", str_of(kind));
    frame_put_number(&message, (uint32_t)(headers.len + payload.len + 16));
    frame_put_number(&message, (uint32_t)headers.len);
    frame_put_number(&message, frame_crc(buf_str(&message)));
    buf_add(&message, headers.at, headers.len);
    buf_add(&message, payload.at, payload.len);
    frame_put_number(&message, frame_crc(buf_str(&message)));
    buf_add(out, message.at, message.len);
    buf_free(&headers);
    buf_free(&message);
}

static void frame_read_stream(const char *file, struct buf *out) {
    char *folder = path_join(HONE_SOURCE_DIR, "tests/model/streams"),
         *path = path_join(folder, file);
    struct err err = {0};
    size_t size;
    char *text = file_read(path, 1u << 20, &size, &err);
    if (!text)
        HONE_BUG("a recorded stream is missing");
    struct str rest = {text, size}, line, name;
    if (!str_ends(str_of(file), ".events"))
        buf_add(out, text, size);
    else
        while (str_next(&rest, '\n', &line))
            if (line.len && str_next(&line, ' ', &name))
                frame_put(out, "event", name, line);
    free(text);
    free(path);
    free(folder);
}

#endif
