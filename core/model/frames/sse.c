/* SPDX-License-Identifier: Apache-2.0 */
/* Server-sent events as the HTML standard parses them: lines end in LF, CR or both, "data" lines of
 * an event are joined, comments keep the connection alive. Knows nothing of what is in them. */
#include "model/frames/sse.h"

#include <stdio.h>

static void dispatch(struct sse *sse, sse_fn *fn, void *data) {
    if (sse->has_data) {
        /* Every data line added a line end; the last one is none of the text. */
        struct str text = {sse->data.at, sse->data.len ? sse->data.len - 1 : 0};
        fn(data, sse->event, text);
    }
    buf_clear(&sse->data);
    sse->event[0] = '\0';
    sse->has_data = false;
}

static void take_field(struct sse *sse, struct str name, struct str value) {
    if (str_is(name, "data")) {
        buf_add(&sse->data, value.at, value.len);
        buf_putc(&sse->data, '\n');
        sse->has_data = true;
    } else if (str_is(name, "event")) {
        snprintf(sse->event, sizeof sse->event, STR_FMT, STR_ARG(value));
    }
}

static void take_line(struct sse *sse, sse_fn *fn, void *data) {
    struct str line = buf_str(&sse->line);
    if (!sse->begun && str_starts(line, "\xef\xbb\xbf")) {
        line.at += 3;
        line.len -= 3;
    }
    sse->begun = true;
    if (!line.len) {
        dispatch(sse, fn, data);
    } else if (line.at[0] != ':') {
        const char *colon = memchr(line.at, ':', line.len);
        struct str name = {line.at, colon ? (size_t)(colon - line.at) : line.len};
        struct str value = {line.at + line.len, 0};
        if (colon) {
            size_t skip = name.len + 1;
            skip += skip < line.len && line.at[skip] == ' ';
            value = (struct str){line.at + skip, line.len - skip};
        }
        take_field(sse, name, value);
    }
    buf_clear(&sse->line);
}

bool sse_feed(struct sse *sse, struct str bytes, sse_fn *fn, void *data) {
    while (bytes.len) {
        if (sse->after_return && *bytes.at == '\n') {
            bytes.at++;
            bytes.len--;
        }
        sse->after_return = false;
        size_t length = 0;
        while (length < bytes.len && bytes.at[length] != '\n' && bytes.at[length] != '\r')
            length++;
        if (length)
            buf_add(&sse->line, bytes.at, length);
        if (sse->line.len + sse->data.len > SSE_MAX_EVENT)
            return false;
        if (length == bytes.len)
            return true;
        sse->after_return = bytes.at[length] == '\r';
        take_line(sse, fn, data);
        bytes.at += length + 1;
        bytes.len -= length + 1;
    }
    return true;
}

void sse_free(struct sse *sse) {
    buf_free(&sse->line);
    buf_free(&sse->data);
}
