/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal: it shows a canvas and delivers what is typed. Only this folder knows curses. */
#ifndef HONE_TUI_TERM_TERM_H
#define HONE_TUI_TERM_TERM_H

#include "tui/tui.h"

struct tui_term_options {
    bool headless;  /* no terminal, but a canvas of rows x cols for tests and scripts */
    int rows, cols; /* headless only */
    bool no_mouse, no_title;
    bool ascii;           /* headless only; otherwise the environment decides */
    const char *log_path; /* where stderr goes while the screen is up; NULL: /dev/null */
};

struct tui_term;
/* Takes over the terminal: the alternate screen, raw keys, mouse and paste reports. A process has
 * at most one that is not headless. NULL and *err when standard input and output are no terminal,
 * or TERM names one that cannot place a cursor. A crash puts the terminal back before the process
 * dies. */
struct tui_term *tui_term_new(const struct tui_term_options *options, struct err *err) CC_MUST_USE;
/* Puts the terminal back as it was found. Accepts NULL. */
void tui_term_free(struct tui_term *term);

/* What the next frame is drawn on. Valid until the size changes. */
struct tui_canvas *tui_term_canvas(struct tui_term *term);
/* Sends what changed since the last frame. */
void tui_term_show(struct tui_term *term);
/* Names the terminal's window or tab, where the terminal takes names. What is unsafe in the text is
 * made visible. The old name comes back when the terminal is released. */
void tui_term_title(struct tui_term *term, const char *title);
/* Rings the terminal's bell. */
void tui_term_bell(struct tui_term *term);
/* Reads the terminal's size. True when it changed; then everything is drawn anew. Call it on
 * SIGWINCH and SIGCONT. */
bool tui_term_resize(struct tui_term *term);

/* A descriptor that is readable when somebody typed; -1 without a terminal. */
int tui_term_fd(const struct tui_term *term);
/* The next event. It never waits; false when there is none now. */
bool tui_term_next(struct tui_term *term, struct tui_event *event);
/* True when an escape byte waits for what follows. Unless more comes, call tui_term_settle some 25
 * ms later, and drain again. */
bool tui_term_waits(const struct tui_term *term);
void tui_term_settle(struct tui_term *term);
/* The terminal is gone, and nothing more will come. */
bool tui_term_is_lost(const struct tui_term *term);

/* Leaves the screen to another program (an editor, the shell after a suspend), and comes back. In
 * between nothing is read or shown. */
void tui_term_release(struct tui_term *term);
void tui_term_reclaim(struct tui_term *term);
bool tui_term_is_released(const struct tui_term *term);
/* Releases the terminal, stops the whole process group as Ctrl-Z does, and reclaims the terminal
 * when the group continues. */
void tui_term_suspend(struct tui_term *term);

#endif
