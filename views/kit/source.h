/* SPDX-License-Identifier: Apache-2.0 */
/* A source text as lines, with the colours of Python. */
#ifndef HONE_VIEWS_KIT_SOURCE_H
#define HONE_VIEWS_KIT_SOURCE_H

#include "tui/tui.h"

/* Lines of a text that belongs to somebody else. {0} is the empty one. */
struct source {
    const char *text;
    VEC(struct str) lines;
    VEC(char) quote; /* per line: the quote of the long string it starts in, or 0 */
};
/* Splits the text, unless it is the one that is there already. */
void source_set(struct source *source, const char *text);
void source_free(struct source *source);
struct str source_line(const struct source *source, int line); /* from 1; empty outside */

/* Draws one line with its colours into the area, from the left edge; `shift` columns are cut off.
 * `quote` is the long string that the line starts in. The background is the area's. */
void source_draw_line(struct tui_area area, int row, int shift, struct str line, char quote);

/* The same in the area's ink. What is cut off is marked, here as there. */
void source_draw_plain(struct tui_area area, int row, int shift, struct str line);

/* The columns that a line is indented by; -1 where it has nothing but blanks. */
int source_indent(struct str line);

#endif
