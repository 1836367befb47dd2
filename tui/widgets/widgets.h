/* SPDX-License-Identifier: Apache-2.0 */
/* What screens are made of: lists, fields to type into, menus, popups, charts. */
#ifndef HONE_TUI_WIDGETS_WIDGETS_H
#define HONE_TUI_WIDGETS_WIDGETS_H

#include "tui/widgets/chart.h"
#include "tui/widgets/field.h"
#include "tui/widgets/list.h"
#include "tui/widgets/menu.h"
#include "tui/widgets/popup.h"
#include "tui/widgets/secret.h"

#endif
