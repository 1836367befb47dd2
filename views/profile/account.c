/* SPDX-License-Identifier: Apache-2.0 */
/* Why the kernel takes as long as it does, in the words that prompts and files have (tune_causes):
 * the critical path in parts that add up to the latency, for what engines wait, the largest stalls,
 * memory, changes that were timed, what the numbers rest on. Long lines go on in the next rows. */
#include "views/profile/private.h"

#include <stdlib.h>

#define FURTHER 4 /* columns that the next rows of a line are set in */
#define NARROW 20 /* columns: of fewer nothing can be read */

void profile_account_forget(struct profile_account *account) {
    buf_free(&account->text);
    vec_free(&account->rows);
    *account = (struct profile_account){0};
}

/* "line 48 nc_matmul": the first line of the kernel that it names; 0: none. */
static int line_in(struct str text) {
    for (struct str rest = text; rest.len > 5; rest.at++, rest.len--) {
        if (!str_starts(rest, "line ") ||
            (rest.at > text.at && rest.at[-1] != ' ' && rest.at[-1] != '('))
            continue;
        int line = 0;
        for (size_t i = 5; i < rest.len && rest.at[i] >= '0' && rest.at[i] <= '9'; i++)
            line = line < 1000000 ? line * 10 + rest.at[i] - '0' : line;
        if (line)
            return line;
    }
    return 0;
}

static size_t blanks_of(struct str text) {
    size_t n = 0;
    while (n < text.len && text.at[n] == ' ')
        n++;
    return n;
}

static void add_line(struct profile_account *account, struct str line, int cols) {
    size_t blanks = blanks_of(line);
    struct profile_account_row row = {
        .head = !blanks && line.len && line.at[line.len - 1] == ':',
        .line = line_in(line),
        .indent = (int)MIN_OF(blanks, (size_t)8),
    };
    struct str rest = {line.at + blanks, line.len - blanks};
    while (rest.len) {
        size_t len = MAX_OF(tui_line_length(rest, cols - row.indent), (size_t)1);
        row.text = str_trim((struct str){rest.at, len});
        *vec_push(&account->rows) = row;
        row.indent = (int)MIN_OF(blanks, (size_t)8) + FURTHER;
        rest = (struct str){rest.at + len, rest.len - len};
    }
}

/* Rows point into a copy: the state may let its text go. */
static void fold(struct profile_account *account, const char *text, int cols) {
    bool same = account->text.len && account->cols == cols && !strcmp(account->text.at, text);
    if (same)
        return;
    buf_clear(&account->text);
    buf_puts(&account->text, text);
    account->cols = cols;
    account->rows.len = 0;
    struct str line;
    for (struct str rest = buf_str(&account->text); str_next(&rest, '\n', &line);)
        add_line(account, line, cols);
}

static void draw_row(struct views *views, struct tui_area area, int at,
                     const struct profile_account_row *row) {
    struct tui_rect span = {at, 1 + row->indent, 1, area.cols - 2 - row->indent};
    struct tui_area part = tui_area_part(area, span);
    tui_put_short(tui_ink(part, row->head ? TUI_STRONG : TUI_PLAIN), 0,
                  (struct tui_rect){0, 0, 1, part.cols}, row->text);
    find_mark(views, part, 0, 0, row->text);
}

void profile_account_draw(struct views *views, struct tui_area area,
                          const struct tune_attempt *attempt) {
    struct profile_account *account = &profile_of(views)->account;
    struct profile *profile = profile_of(views);
    const char *text = tune_causes(views->state, attempt);
    if (!text || area.cols < NARROW) {
        account->rows.len = 0;
        buf_clear(&account->text);
        tui_say(tui_ink(area, TUI_DIM), 1, 2,
                text ? "too narrow"
                     : "not known: the device model did not time it, or an older hone did");
        return;
    }
    fold(account, text, area.cols - 3);
    struct tui_list *list = &account->list;
    views->list_spot = (struct tui_rect){area.row, area.col, area.rows, area.cols};
    tui_list_fit(list, (int)account->rows.len, area.rows);
    for (int at = 0; at < area.rows && list->top + at < list->count; at++) {
        const struct profile_account_row *row = &account->rows.at[list->top + at];
        draw_row(views, area, at, row);
        if (list->top + at != list->cursor)
            continue;
        profile->line = row->line;
        profile->attempt = attempt->id;
        tui_lay_paper(area, (struct tui_rect){at, 0, 1, area.cols}, TUI_PAPER_CURSOR);
    }
    tui_list_draw_bar(list, area);
}

struct str profile_account_line(const struct profile_account *account, int row) {
    return row >= 0 && (size_t)row < account->rows.len ? account->rows.at[row].text : STR("");
}
