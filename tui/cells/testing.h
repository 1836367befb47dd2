/* SPDX-License-Identifier: Apache-2.0 */
/* What tests look at. Nobody else outside this room may include it. */
#ifndef HONE_TUI_TESTING_H
#define HONE_TUI_TESTING_H

#include "tui/cells/canvas.h"

/* Prints the rows as text without trailing blanks. With `styles` a second part follows, which lists
 * for each row the runs that are not plain: "3: 0-4 title  10-11 good/paper-cursor". */
void tui_canvas_print(const struct tui_canvas *canvas, bool styles, struct buf *out);

#endif
