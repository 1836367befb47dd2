/* SPDX-License-Identifier: Apache-2.0 */
/* A grid of cells to draw on. Everything is clipped to it, and nothing reaches a terminal
 * unchecked. */
#ifndef HONE_TUI_CANVAS_H
#define HONE_TUI_CANVAS_H

#include "base/base.h"
#include "tui/cells/theme.h"

struct tui_rect {
    int row, col, rows, cols;
};

/* One column of one row. The second column of a wide character has width 0 and no text. */
struct tui_cell {
    char text[20]; /* UTF-8, a character with its marks; not terminated */
    uint8_t len, width;
    struct tui_style style;
};

struct tui_canvas {
    int rows, cols;
    bool ascii;                 /* draw with ASCII only; every other character has a stand-in */
    int cursor_row, cursor_col; /* where the terminal's cursor is; row -1 hides it */
    struct tui_cell *cells;     /* rows * cols */
};
struct tui_canvas *tui_canvas_new(int rows, int cols, bool ascii) CC_MUST_USE;
void tui_canvas_free(struct tui_canvas *canvas);
/* Sets the size, which is kept within 1..1000. The contents are blank afterwards. */
void tui_canvas_resize(struct tui_canvas *canvas, int rows, int cols);

/* A rectangle of a canvas. What is drawn into it counts rows and columns from its corner and is
 * clipped to it. It is a value, so copy it freely. */
struct tui_area {
    struct tui_canvas *canvas;
    int row, col, rows, cols;
    struct tui_style style; /* what tui_say draws with, and what clearing fills with */
};
struct tui_area tui_area_all(struct tui_canvas *canvas);
struct tui_area tui_area_part(struct tui_area area, struct tui_rect part);
/* The same area with another ink, or on another ground. */
struct tui_area tui_ink(struct tui_area area, enum tui_role ink);
struct tui_area tui_paper(struct tui_area area, enum tui_role paper);

/* Draws text from (row, col). Returns the column after it, which is past the area when the text was
 * clipped. A negative column clips the beginning, which is how text scrolls sideways. Tabs go to
 * multiples of 8 from the start of the text. */
int tui_put(struct tui_area area, int row, int col, struct str text);
int tui_say(struct tui_area area, int row, int col, const char *format, ...) CC_PRINTF(4, 5);
/* As tui_say, but the text ends before column `end`. Returns the column at which it starts. */
int tui_say_right(struct tui_area area, int row, int end, const char *format, ...) CC_PRINTF(4, 5);
/* As tui_put within `cols` columns. Text that does not fit ends with an ellipsis. */
int tui_put_short(struct tui_area area, int row, struct tui_rect span, struct str text);
/* The bytes of text that fit into `cols` columns. They end between words where possible, or before
 * the end of a line. */
size_t tui_line_length(struct str text, int cols);
/* Draws text over several rows, broken between words. Returns how many rows it takes, which may be
 * more than the area has. `skip` rows at the top are left out. */
int tui_put_wrapped(struct tui_area area, int skip, struct str text);
/* The same from the top; what the area has no rows for becomes an ellipsis. Returns the rows. */
int tui_put_lines(struct tui_area area, struct str text);
/* Fills a rectangle with one character. */
void tui_fill(struct tui_area area, struct tui_rect rect, const char *character);
void tui_clear(struct tui_area area);
/* Lays a ground under cells that are already drawn. */
void tui_lay_paper(struct tui_area area, struct tui_rect rect, enum tui_role paper);
/* Changes the ink of cells that are already drawn. */
void tui_cursor(struct tui_area area, int row, int col);

/* Draws a frame around the area, with a title at the left and a note at the right of its upper
 * edge. Returns the area inside. */
struct tui_area tui_frame(struct tui_area area, bool focused, const char *title, const char *note);
/* The two halves of tui_frame, for frames that share edges: first all edges, then the titles. */
void tui_frame_edges(struct tui_area area, bool focused);
struct tui_area tui_frame_title(struct tui_area area, bool focused, const char *title,
                                const char *note);

#endif
