/* SPDX-License-Identifier: Apache-2.0 */
/* What is drawn on: cells with roles and colours, areas of them, and how areas are divided. */
#ifndef HONE_TUI_CELLS_CELLS_H
#define HONE_TUI_CELLS_CELLS_H

#include "tui/cells/canvas.h"
#include "tui/cells/layout.h"
#include "tui/cells/theme.h"

#endif
