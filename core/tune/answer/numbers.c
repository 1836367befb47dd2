/* SPDX-License-Identifier: Apache-2.0 */
/* Line numbers that a model copied together with the lines. */
#include <ctype.h>

#include "tune/answer/edits.h"

#define MAX_DIGITS 7

/* The line behind its number; false when it does not begin with one. A line that was empty but for
 * its number may have lost the blanks behind it. */
static bool number_take(struct str line, char *mark, long long *number, struct str *rest) {
    size_t at = 0, digits = 0;
    while (at < line.len && line.at[at] == ' ')
        at++;
    while (at + digits < line.len && isdigit((unsigned char)line.at[at + digits]))
        digits++;
    if (!digits || digits > MAX_DIGITS || !str_to_int((struct str){line.at + at, digits}, number))
        return false;
    *rest = (struct str){line.at + at + digits, line.len - at - digits};
    if (!str_trim(*rest).len) {
        *mark = 0; /* any */
        rest->len = 0;
        return true;
    }
    size_t blank = *rest->at == ' ';
    if (rest->len > blank && strchr("|:", rest->at[blank])) {
        *mark = rest->at[blank];
        size_t drop = blank + 1 + (rest->len > blank + 1 && rest->at[blank + 1] == ' ');
        *rest = (struct str){rest->at + drop, rest->len - drop};
        return true;
    }
    *mark = ' ';
    bool two = rest->len >= 2 && rest->at[0] == ' ' && rest->at[1] == ' ';
    if (two)
        *rest = (struct str){rest->at + 2, rest->len - 2};
    return two;
}

static bool follows(const struct tune_numbered *numbered, bool in_turn, char mark,
                    long long number) {
    bool first = !numbered->first;
    bool counts = first || (in_turn ? number == numbered->last + 1 : number >= numbered->last);
    return counts && number > 0 && (!mark || !numbered->mark || mark == numbered->mark);
}

bool tune_numbers_strip(struct str text, bool in_turn, struct tune_numbered *numbered,
                        struct buf *out) {
    struct str line, rest = {0};
    size_t before = out->len;
    bool fine = true;
    *numbered = (struct tune_numbered){0};
    while (fine && text.len && str_next(&text, '\n', &line)) {
        char mark = 0;
        long long number = 0;
        if (!str_trim(line).len) {
            buf_putc(out, '\n');
            numbered->last += numbered->first != 0;
            continue;
        }
        fine = number_take(line, &mark, &number, &rest) &&
               (follows(numbered, in_turn, mark, number) ||
                (in_turn && number == numbered->last && follows(numbered, false, mark, number)));
        if (!fine)
            break;
        numbered->first = numbered->first ? numbered->first : number;
        numbered->last = number;
        numbered->mark = mark ? mark : numbered->mark;
        buf_add(out, rest.at, rest.len);
        buf_putc(out, '\n');
    }
    fine = fine && numbered->first && numbered->mark;
    if (!fine)
        out->len = before;
    return fine;
}
