/* SPDX-License-Identifier: Apache-2.0 */
/* The board on which a target shows its state. */
#include "target/board/board.h"

#include <stdarg.h>
#include <stdio.h>

void target_tell(struct target_board *board) {
    if (board->told)
        board->told(board->told_data);
}

void target_show(struct target_board *board, enum target_state state, const char *format, ...) {
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    if (state != board->status.state)
        board->status.since_ms = clock_wall_ms();
    board->status.state = state;
    snprintf(board->status.text, sizeof board->status.text, "%s", text.at);
    buf_free(&text);
    target_tell(board);
}
