/* SPDX-License-Identifier: Apache-2.0 */
/* tui: the terminal toolkit. It knows cells, keys and charts, and nothing of kernels.
 * Include this header, not its parts. */
#ifndef HONE_TUI_TUI_H
#define HONE_TUI_TUI_H

#include "tui/cells/cells.h"
#include "tui/keys/keys.h"
#include "tui/widgets/widgets.h"

#endif
