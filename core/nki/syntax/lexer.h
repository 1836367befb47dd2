/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of the lexer: characters, line starts, where names, numbers and strings end. */
#ifndef HONE_NKI_LEXER_H
#define HONE_NKI_LEXER_H

#include "nki/syntax/parser.h"

/* Reads the code point at text[0..len). Returns its length in bytes; 0 when the bytes are not
 * UTF-8. */
uint32_t lexer_utf8(const char *text, uint32_t len, uint32_t *code);
/* Fills tree->lines. Reports the first bytes that are not UTF-8 and the first NUL. */
void lexer_scan_lines(struct nki_tree *tree, struct nki_faults *faults);
/* The end of the name that starts at `at`; `at` itself when no name starts there. */
uint32_t lexer_name_end(const char *text, uint32_t at, uint32_t end);
/* The end of the number that starts at `at`. When Python knows no such number, *problem says
 * why. */
uint32_t lexer_number_end(const char *text, uint32_t at, uint32_t end, const char **problem);

static inline bool lexer_is_quote(char c) {
    return c == '"' || c == '\'';
}
bool lexer_is_string_prefix(struct str text);
/* On entry span->start is the string's first byte (with its prefix) and span->end the end of the
 * text. Moves span->end to the end of the string. False when the string is not closed: span->end is
 * then the end of the line or, with three quotes, of the text. *retries counts for a whole file and
 * starts at 0. */
bool lexer_find_string_end(const char *text, struct nki_span *span, int *retries);

#endif
