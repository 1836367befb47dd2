/* SPDX-License-Identifier: Apache-2.0 */
/* Text from outside, made safe to show: nothing in it moves a cursor, or hides or reorders text. */
#ifndef HONE_BASE_TEXT_H
#define HONE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/kit/str.h"

/* What text_decode returns for a byte that starts no valid UTF-8 sequence. */
#define TEXT_INVALID 0xffffffffu

/* Combining marks that stay with their base character. curses keeps no more. */
#define TEXT_MAX_MARKS 4

/* One thing to show: a character with its combining marks, or the visible form of what must not be
 * shown as it is ("␛", "<U+202E>", "\x9b"). */
struct text_piece {
    char at[24];        /* valid UTF-8, terminated */
    uint8_t len, width; /* bytes and columns; width is 1 or 2, or more when `altered` */
    bool altered;       /* a visible form stands for what was there */
};

/* Decodes the first code point of text. Returns its length in bytes (at least 1; 0 for empty
 * text). */
size_t text_decode(struct str text, uint32_t *code);
/* Writes a code point as UTF-8. Returns the number of bytes, 1 to 4. */
size_t text_encode(uint32_t code, char out[4]);
/* Whether a code point is a control, a bidirectional control, invisible, private or unassigned.
 * Line ends and tabs are: a caller that gives them a meaning takes them out first. */
bool text_is_unsafe(uint32_t code);
/* Takes the next piece off the front; false at the end. Columns are those of wcwidth in the current
 * locale, with which the terminal library counts too. */
bool text_next(struct str *rest, struct text_piece *piece);
/* How many columns the text takes when it is shown piece by piece. */
size_t text_columns(struct str text);
/* Appends the safe form: valid UTF-8 in which line ends and tabs are the only controls. A carriage
 * return drops the line so far, as a terminal would overwrite it (progress bars). Before a line end
 * only the carriage return is dropped. Call it once, where text enters from a file, a child or the
 * net. */
void text_sanitise(struct buf *out, struct str text);

/* What a word gets that stands behind a number of things: "s", or "" behind 1. */
#define PLURAL(count) ((count) == 1 ? "" : "s")

/* Appends printed JSON with the same values, and nothing in it that a reader of JSON or a terminal
 * stumbles over: what is unsafe beyond ASCII becomes \uXXXX, a byte that is no UTF-8 becomes U+FFFD
 * (RFC 8259, section 8.1: JSON is UTF-8). */
void text_json(struct buf *out, struct str json);

/* What a keyboard has in place of a character that word processors and models put into code: "-"
 * for U+2212, with "a typographic minus" in *name. NULL for any other character; "" where it is to
 * be left out. */
const char *text_typewriter(uint32_t code, const char **name);

#endif
