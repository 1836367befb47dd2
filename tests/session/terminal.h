/* SPDX-License-Identifier: Apache-2.0 */
/* A program in a pseudo-terminal whose screen can be read, as a person at the terminal sees it. */
#ifndef HONE_TESTS_SESSION_TERMINAL_H
#define HONE_TESTS_SESSION_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

struct terminal;
/* Starts argv in a terminal of that size. env is NULL, or rows "NAME=value" that end with NULL. */
struct terminal *terminal_start(const char *const *argv, const char *const *env, int cols,
                                int rows);
/* Ends the program if it still runs, and frees. */
void terminal_free(struct terminal *terminal);

void terminal_type(struct terminal *terminal, const char *bytes);
void terminal_resize(struct terminal *terminal, int cols, int rows);
/* Reads until the text is on the screen (or, with `there` false, is gone). False after 20 s. */
bool terminal_wait(struct terminal *terminal, const char *text, bool there);
/* Reads for so many milliseconds, whatever comes. */
void terminal_read(struct terminal *terminal, int for_ms);
/* The screen as text, in rows without trailing blanks. Valid until the next call. */
const char *terminal_screen(struct terminal *terminal);
bool terminal_is_alternate(
    const struct terminal *terminal); /* the screen of full-screen programs */
bool terminal_has_cursor(const struct terminal *terminal);
/* Reads until its window has that title. False after 20 s. */
bool terminal_wait_title(struct terminal *terminal, const char *title);
/* How often its bell rang. */
int terminal_bells(const struct terminal *terminal);
pid_t terminal_pid(const struct terminal *terminal);
/* Waits until the program ended (or, with `stopped`, was stopped). Returns its status as waitpid
 * gives it; -1 after 20 s. */
int terminal_wait_exit(struct terminal *terminal, bool stopped);
/* True when the program ended; its status as waitpid gives it. Does not wait. */
bool terminal_ended(struct terminal *terminal, int *status);
/* Closes the terminal's side, as a lost connection does. */
void terminal_hang_up(struct terminal *terminal);

#endif
