/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal: shows a canvas, delivers what is typed. The one place that knows curses. */
#ifndef HONE_TUI_TERM_TERM_H
#define HONE_TUI_TERM_TERM_H

#include "tui/tui.h"

struct tui_term_options {
    bool headless;  /* no terminal: a canvas of rows x cols for tests and scripts */
    int rows, cols; /* headless only */
    bool no_mouse, no_title;
    bool ascii;           /* headless only; else by the environment */
    const char *log_path; /* where stderr goes while the screen is up; NULL: /dev/null */
};

struct tui_term;
/* Takes the terminal over: other screen, raw keys, mouse and paste reports. A process has at most
 * one that is not headless. NULL and *err when standard input and output are not a terminal, or
 * TERM names one that cannot place a cursor. A crash puts the terminal back before the process
 * dies. */
struct tui_term *tui_term_new(const struct tui_term_options *options, struct err *err) CC_MUST_USE;
/* Gives the terminal back as it was found. Accepts NULL. */
void tui_term_free(struct tui_term *term);

/* What the next frame is drawn on; valid until the size changes. */
struct tui_canvas *tui_term_canvas(struct tui_term *term);
/* Sends what changed since the last frame. */
void tui_term_show(struct tui_term *term);
/* Names the terminal's window or tab, where the terminal takes names; what is unsafe in the text is
 * made visible. The name it had comes back when the terminal is released. */
void tui_term_title(struct tui_term *term, const char *title);
/* Rings the terminal's bell. */
void tui_term_bell(struct tui_term *term);
/* Reads the terminal's size; true when it changed: then everything is drawn anew. Call on SIGWINCH
 * and SIGCONT. */
bool tui_term_resize(struct tui_term *term);

/* Readable when somebody typed; -1 without a terminal. */
int tui_term_fd(const struct tui_term *term);
/* The next event; never waits. False when there is none now. */
bool tui_term_next(struct tui_term *term, struct tui_event *event);
/* True when an escape byte waits for what follows: call tui_term_settle some 25 ms later, unless
 * more came, and drain again. */
bool tui_term_waits(const struct tui_term *term);
void tui_term_settle(struct tui_term *term);
/* The terminal went away; nothing more will come. */
bool tui_term_is_lost(const struct tui_term *term);

/* Leaves the screen to another program (an editor, the shell after a suspend) and comes back.
 * Between the two nothing is read or shown. */
void tui_term_release(struct tui_term *term);
void tui_term_reclaim(struct tui_term *term);
bool tui_term_is_released(const struct tui_term *term);
/* Releases, stops the whole process group as Ctrl-Z does, and reclaims when it goes on. */
void tui_term_suspend(struct tui_term *term);

#endif
