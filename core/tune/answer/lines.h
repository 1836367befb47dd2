/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of an answer, as its readers take them. Private to tune's readers of answers. */
#ifndef HONE_TUNE_ANSWER_LINES_H
#define HONE_TUNE_ANSWER_LINES_H

#include "base/base.h"

static inline void add_line(struct buf *out, struct str line) {
    buf_add(out, line.at ? line.at : "", line.len);
    buf_putc(out, '\n');
}

/* str_next sees an empty part behind the last line end. Here a line end only ends a line. */
static inline struct str without_last_end(struct str text) {
    if (text.len && text.at[text.len - 1] == '\n')
        text.len--;
    return text;
}

static inline struct str without_return(struct str line) {
    if (line.len && line.at[line.len - 1] == '\r')
        line.len--;
    return line;
}

#endif
