/* SPDX-License-Identifier: Apache-2.0 */
/* Splits output into lines, for ways whose bytes do not come through a child of the loop. The rules
 * are those of the loop's children, so that a command's output is split in the same way wherever it
 * runs. */
#include "transport/wire/inner.h"

#include <string.h>

/* A piece is passed on when a byte comes that has no room. So a line of exactly `most` bytes stays
 * whole, wherever the bytes happen to break. */
void transport_split_lines(struct buf *line, struct str bytes, size_t most, transport_line_fn *fn,
                           void *data) {
    while (bytes.len) {
        const char *end = memchr(bytes.at, '\n', bytes.len);
        size_t take = end ? (size_t)(end - bytes.at) : bytes.len;
        bool over = take > most - line->len;
        bool whole = end && !over;
        if (over)
            take = most - line->len;
        if (whole && !line->len) {
            fn(data, (struct str){bytes.at, take}, true);
        } else {
            buf_add(line, bytes.at, take);
            if (whole || over) {
                fn(data, buf_str(line), whole);
                buf_clear(line);
            }
        }
        take += whole;
        bytes.at += take;
        bytes.len -= take;
    }
}
