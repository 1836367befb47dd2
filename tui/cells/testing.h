/* SPDX-License-Identifier: Apache-2.0 */
/* What tests look through, for nobody else outside this room. */
#ifndef HONE_TUI_TESTING_H
#define HONE_TUI_TESTING_H

#include "tui/cells/canvas.h"

/* The rows as text without trailing blanks; and with `styles` a second part that lists for each
 * row the runs that are not plain: "3: 0-4 title  10-11 good/paper-cursor". */
void tui_canvas_print(const struct tui_canvas *canvas, bool styles, struct buf *out);

#endif
