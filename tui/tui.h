/* SPDX-License-Identifier: Apache-2.0 */
/* tui: the terminal toolkit. It knows cells, keys and charts, and nothing of kernels.
 * Include this header, not its parts. */
#ifndef HONE_TUI_TUI_H
#define HONE_TUI_TUI_H

#include "tui/theme.h"
#include "tui/canvas.h"
#include "tui/layout.h"
#include "tui/keys.h"
#include "tui/bindings.h"
#include "tui/list.h"
#include "tui/field.h"
#include "tui/popup.h"
#include "tui/secret.h"
#include "tui/menu.h"
#include "tui/chart.h"

#endif
