/* SPDX-License-Identifier: Apache-2.0 */
/* Splits rectangles by least sizes and weights. It does not know what is drawn into them. */
#include "tui/cells/layout.h"

/* Gives `room` to the shares. What remains of the division goes to the first parts, one each. */
static void share_out(int room, const struct tui_share *shares, size_t count, int *sizes) {
    int weights = 0;
    for (size_t i = 0; i < count; i++) {
        sizes[i] = MIN_OF(MAX_OF(shares[i].least, 0), room);
        room -= sizes[i];
        weights += shares[i].weight;
    }
    int left = room;
    for (size_t i = 0; i < count && weights > 0; i++) {
        int part = room * shares[i].weight / weights;
        sizes[i] += part;
        left -= part;
    }
    for (size_t i = 0; left > 0 && weights > 0; i = (i + 1) % count) {
        if (!shares[i].weight)
            continue;
        sizes[i]++;
        left--;
    }
}

#define MAX_PARTS 16

static void split(int start, int length, const struct tui_share *shares, size_t count, int overlap,
                  int (*parts)[2]) {
    int sizes[MAX_PARTS] = {0};
    count = MIN_OF(count, (size_t)MAX_PARTS);
    share_out(MAX_OF(length + overlap * ((int)count - 1), 0), shares, count, sizes);
    for (size_t i = 0; i < count; i++) {
        parts[i][0] = start;
        parts[i][1] = sizes[i];
        start += MAX_OF(sizes[i] - overlap, 0);
    }
}

void tui_split_rows(struct tui_rect rect, const struct tui_share *shares, size_t count, int overlap,
                    struct tui_rect *parts) {
    int lines[MAX_PARTS][2];
    split(rect.row, rect.rows, shares, count, overlap, lines);
    for (size_t i = 0; i < MIN_OF(count, (size_t)MAX_PARTS); i++)
        parts[i] = (struct tui_rect){lines[i][0], rect.col, lines[i][1], rect.cols};
}

void tui_split_cols(struct tui_rect rect, const struct tui_share *shares, size_t count, int overlap,
                    struct tui_rect *parts) {
    int lines[MAX_PARTS][2];
    split(rect.col, rect.cols, shares, count, overlap, lines);
    for (size_t i = 0; i < MIN_OF(count, (size_t)MAX_PARTS); i++)
        parts[i] = (struct tui_rect){rect.row, lines[i][0], rect.rows, lines[i][1]};
}

struct tui_rect tui_centred(struct tui_rect rect, int rows, int cols) {
    rows = MIN_OF(rows, rect.rows);
    cols = MIN_OF(cols, rect.cols);
    return (struct tui_rect){rect.row + (rect.rows - rows) / 2, rect.col + (rect.cols - cols) / 2,
                             rows, cols};
}

bool tui_rect_has(struct tui_rect rect, int row, int col) {
    return row >= rect.row && row < rect.row + rect.rows && col >= rect.col &&
           col < rect.col + rect.cols;
}
