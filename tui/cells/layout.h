/* SPDX-License-Identifier: Apache-2.0 */
/* Rectangles from rectangles: layout as a pure function. */
#ifndef HONE_TUI_LAYOUT_H
#define HONE_TUI_LAYOUT_H

#include <stddef.h>

#include "tui/cells/canvas.h"

/* One part of a split: `least` rows or columns, plus a share of what is left by `weight`
 * (0: exactly `least`). */
struct tui_share {
    int least, weight;
};
/* Splits a rectangle into parts below one another or side by side. The parts fill it exactly, in
 * order. When it is too small, the last ones get what is left, down to nothing. With `overlap` 1
 * neighbours share one row or column, as frames with a common edge do. */
void tui_split_rows(struct tui_rect rect, const struct tui_share *shares, size_t count, int overlap,
                    struct tui_rect *parts);
void tui_split_cols(struct tui_rect rect, const struct tui_share *shares, size_t count, int overlap,
                    struct tui_rect *parts);
/* A rectangle of at most that size in the middle of another. */
struct tui_rect tui_centred(struct tui_rect rect, int rows, int cols);
bool tui_rect_has(struct tui_rect rect, int row, int col);

#endif
