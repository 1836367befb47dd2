/* SPDX-License-Identifier: Apache-2.0 */
/* A text that is typed and kept nowhere else: in one place, without a history, wiped after use. It
 * is shown as dots when nobody may read it. */
#ifndef HONE_TUI_SECRET_H
#define HONE_TUI_SECRET_H

#include "tui/cells/cells.h"
#include "tui/widgets/field.h"
#include "tui/keys/keys.h"

#define TUI_SECRET_MAX 512

/* {0} is empty. Do not copy it: the text must stay in one place. */
struct tui_secret {
    char text[TUI_SECRET_MAX]; /* terminated */
    size_t len;
};
/* Takes typed and pasted text (without the line ends of a paste), Backspace and C-u. Returns OPEN,
 * CHANGED, DONE or CANCELLED; wipe it after the last two. What does not fit is not taken. */
enum tui_answer tui_secret_event(struct tui_secret *secret, const struct tui_event *event);
void tui_secret_wipe(struct tui_secret *secret);
/* Draws one dot for each character, or with `shown` the text. The terminal's cursor is after the
 * last. */
void tui_secret_draw(const struct tui_secret *secret, struct tui_area area, bool shown);

#endif
