/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the terminal back when the process crashes. */
#ifndef HONE_TUI_TERM_RESCUE_H
#define HONE_TUI_TERM_RESCUE_H

/* Remembers the terminal's modes, and catches the signals of a crash. */
void rescue_arm(void);
void rescue_disarm(void);

#endif
