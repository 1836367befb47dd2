/* SPDX-License-Identifier: Apache-2.0 */
/* A difference on the screen: heads of hunks, lines with sign and number, words that changed. */
#include "views/inner.h"

#include <stdio.h>

static bool is_left(const struct tune_candidate *candidate, int hunk) {
    return candidate && hunk >= 0 && (size_t)hunk < candidate->hunks.len &&
           candidate->hunks.at[hunk].left;
}

static void draw_head(struct tui_area area, int row, const struct diff_shown *shown,
                      const struct diff_row *at) {
    const struct tune_candidate *candidate = shown->candidate;
    bool here = shown->hunk == at->hunk, left = is_left(candidate, at->hunk);
    struct tui_area look = tui_ink(area, here ? TUI_STRONG : TUI_HUNK);
    if (here) {
        look = tui_paper(look, TUI_PAPER_CURSOR);
        tui_fill(look, (struct tui_rect){row, 0, 1, area.cols}, " ");
    }
    int col = tui_say(look, row, 0, "%s @@ %d → %d", here ? "›" : " ", at->old_line, at->new_line);
    if (!candidate)
        return;
    char told[48];
    snprintf(told, sizeof told, "hunk %d/%d %s", at->hunk + 1, (int)shown->diff->n_hunks,
             left ? "✗ left out" : "✓");
    int right = area.cols - 1 - (int)text_columns(str_of(told));
    tui_say(tui_ink(look, left ? TUI_BAD : TUI_GOOD), row, right, "%s", told);
    if (left && candidate->hunks.at[at->hunk].why)
        tui_put_short(tui_ink(look, TUI_DIM), row,
                      (struct tui_rect){0, col + 2, 1, MAX_OF(right - col - 4, 0)},
                      str_of(candidate->hunks.at[at->hunk].why));
}

struct side {
    struct tui_area area;
    const struct source *source;
    int line, other_line;
    const struct source *other;
    bool added, left;
    int shift;
};

/* How many columns the line is moved to the left: as many as the hunk is, else as many as it takes
 * to see the words that differ. Both lines of a pair move alike. */
static int shift_for(const struct views *views, const struct side *side, int cols, int col) {
    bool hidden = views->shift == 0 && col - side->shift > cols - 10;
    return hidden ? col - cols / 3 : side->shift;
}

#define LINE_COL 7 /* of the text, behind number and sign */

/* The columns that all lines of a hunk are moved to the left: as many as the person moved them,
 * else, where one of them would be cut, what they are all indented by. */
static int shift_of(const struct views *views, const struct diff_row *head, int cols) {
    bool cut = head && head->widest > cols - LINE_COL;
    return views->shift || !cut ? views->shift : head->indent;
}

/* One line of a difference: number, sign, text, and the words that differ. */
static void draw_side(struct views *views, const struct side *side, int row) {
    struct tui_area area = side->area;
    struct str text = source_line(side->source, side->line);
    enum tui_role ink = side->left ? TUI_DIM : side->added ? TUI_ADDED : TUI_REMOVED;
    enum tui_role paper = side->left    ? TUI_PLAIN
                          : side->added ? TUI_PAPER_ADDED
                                        : TUI_PAPER_REMOVED;
    struct tui_area ground = tui_paper(area, paper);
    tui_fill(ground, (struct tui_rect){row, 5, 1, area.cols - 5}, " ");
    tui_say_right(tui_ink(area, ink), row, 4, "%d", side->line);
    tui_say(tui_ink(ground, ink), row, 5, side->added ? "+" : "-");
    struct tui_area rest = tui_area_part(ground, (struct tui_rect){row, 7, 1, area.cols - 7});
    size_t start = 0, end = 0, other_end;
    bool words =
        side->other_line && !side->left &&
        diff_words(text, source_line(side->other, side->other_line), &start, &end, &other_end);
    int col = words ? (int)text_columns((struct str){text.at, start}) : 0;
    int shift = shift_for(views, side, rest.cols, col);
    if (side->left)
        source_draw_plain(tui_ink(rest, TUI_DIM), 0, shift, text);
    else
        source_draw_line(rest, 0, shift, text, side->source->quote.at[side->line - 1]);
    if (words && end > start) {
        col -= shift;
        int width = (int)text_columns((struct str){text.at + start, end - start});
        tui_lay_paper(rest, (struct tui_rect){0, col, 1, width},
                      side->added ? TUI_PAPER_ADDED_WORD : TUI_PAPER_REMOVED_WORD);
    }
    find_mark(views, rest, 0, -shift, text);
}

static void draw_same(struct views *views, struct tui_area area, int row,
                      const struct source *source, int line, int shift) {
    struct str text = source_line(source, line);
    tui_say_right(tui_ink(area, TUI_LINE_NUMBER), row, 4, "%d", line);
    struct tui_area rest = tui_area_part(area, (struct tui_rect){row, 7, 1, area.cols - 7});
    source_draw_line(rest, 0, shift, text, source->quote.at[line - 1]);
    find_mark(views, rest, 0, -shift, text);
}

/* A row as it is drawn now. */
struct diff_drawn {
    const struct diff_row *row;
    bool left;
    int shift;
};

static void draw_unified(struct views *views, struct tui_area area, int row, struct diff *diff,
                         const struct diff_drawn *at) {
    if (at->row->kind == DIFF_SAME) {
        draw_same(views, area, row, &diff->new_, at->row->new_line, at->shift);
        return;
    }
    bool added = at->row->kind == DIFF_ADDED;
    const struct side side = {.area = area,
                              .source = added ? &diff->new_ : &diff->old,
                              .line = added ? at->row->new_line : at->row->old_line,
                              .other_line = at->row->other,
                              .other = added ? &diff->old : &diff->new_,
                              .added = added,
                              .left = at->left,
                              .shift = at->shift};
    draw_side(views, &side, row);
}

static void draw_sides(struct views *views, struct tui_area area, int row, struct diff *diff,
                       const struct diff_drawn *at) {
    int half = area.cols / 2, old = at->row->old_line, now = at->row->new_line;
    struct tui_area one = tui_area_part(area, (struct tui_rect){0, 0, area.rows, half});
    struct tui_area two =
        tui_area_part(area, (struct tui_rect){0, half, area.rows, area.cols - half});
    if (at->row->kind == DIFF_SAME) {
        draw_same(views, one, row, &diff->old, old, at->shift);
        draw_same(views, two, row, &diff->new_, now, at->shift);
        return;
    }
    bool pair = at->row->kind == DIFF_CHANGED;
    const struct side a = {one,         &diff->old, old,      pair ? now : 0,
                           &diff->new_, false,      at->left, at->shift};
    const struct side b = {two,        &diff->new_, now,      pair ? old : 0,
                           &diff->old, true,        at->left, at->shift};
    if (old)
        draw_side(views, &a, row);
    if (now)
        draw_side(views, &b, row);
}

/* The first row of a hunk, or of one behind the last. */
static int first_row(const struct diff_row *rows, int count, int hunk) {
    int row = 0;
    while (row < count && (rows[row].kind != DIFF_HEAD || rows[row].hunk < hunk))
        row++;
    return row;
}

/* While hunks are gone through, the list cannot be moved away from the one that keys act on: in a
 * long one it pages from the first row to the last. */
static void follow_hunk(const struct diff_shown *shown, const struct diff_row *rows, int count) {
    struct tui_list *list = shown->list;
    int first = first_row(rows, count, shown->hunk);
    int end = first_row(rows, count, shown->hunk + 1);
    bool anew = shown->diff->followed != shown->hunk;
    shown->diff->followed = shown->hunk;
    if (shown->hunk < 0)
        return;
    if (anew)
        list->cursor = list->top = first;
    list->cursor = MAX_OF(first, MIN_OF(list->cursor, end - 1));
    list->top = MAX_OF(first, MIN_OF(list->top, end - 1));
}

bool diff_has_sides(const struct views *views) {
    return views->side_by_side && views->diff_cols >= DIFF_SIDES_COLS;
}

/* Where one column follows two, or two one, the cursor stays at its line, in the same place. */
static void cross(const struct diff_shown *shown, bool sides) {
    struct diff *diff = shown->diff;
    struct tui_list *list = shown->list;
    if (diff->in_sides != sides && diff->unified.len) {
        int above = list->cursor - list->top;
        list->cursor = diff_row_across(diff, diff->in_sides, list->cursor);
        list->top = MAX_OF(list->cursor - above, 0);
    }
    diff->in_sides = sides;
}

/* The head of the hunk that a row is shown below; NULL: of none. */
static const struct diff_row *head_of(const struct diff_row *rows, int row) {
    while (row >= 0 && rows[row].kind != DIFF_HEAD)
        row--;
    return row >= 0 ? &rows[row] : NULL;
}

int diff_hunk_at(const struct diff *diff, bool sides, int row) {
    int count = (int)(sides ? diff->sides.len : diff->unified.len);
    const struct diff_row *rows = sides ? diff->sides.at : diff->unified.at;
    const struct diff_row *head = head_of(rows, MIN_OF(row, count - 1));
    return head ? head->hunk : 0;
}

void diff_draw(struct views *views, struct tui_area area, const struct diff_shown *shown) {
    struct diff *diff = shown->diff;
    struct tui_list *list = shown->list;
    views->diff_cols = area.cols;
    views->diff_is_shown = true;
    bool sides = diff_has_sides(views);
    cross(shown, sides);
    size_t count = sides ? diff->sides.len : diff->unified.len;
    const struct diff_row *rows = sides ? diff->sides.at : diff->unified.at;
    follow_hunk(shown, rows, (int)count);
    tui_list_fit(list, (int)count, area.rows);
    const struct diff_row *head = list->count ? head_of(rows, list->top) : NULL;
    bool stays = head && head->hunk == shown->hunk; /* of a hunk that began above */
    for (int row = 0; row < area.rows && list->top + row < list->count; row++) {
        const struct diff_row *at = &rows[list->top + row];
        head = at->kind == DIFF_HEAD ? at : head;
        const struct diff_drawn drawn = {at, is_left(shown->candidate, at->hunk),
                                         shift_of(views, head, sides ? area.cols / 2 : area.cols)};
        if (at->kind == DIFF_HEAD || (row == 0 && stays))
            draw_head(area, row, shown, head);
        else if (sides)
            draw_sides(views, area, row, diff, &drawn);
        else
            draw_unified(views, area, row, diff, &drawn);
        if (list->top + row == list->cursor && (shown->hunk < 0 || at->kind != DIFF_HEAD))
            tui_say(tui_ink(area, TUI_KEY), row, at->kind == DIFF_HEAD ? 0 : 4, "›");
    }
    tui_list_draw_bar(list, area);
}

struct str diff_line(const struct diff *diff, bool sides, int row) {
    size_t count = sides ? diff->sides.len : diff->unified.len;
    if (row < 0 || (size_t)row >= count)
        return STR("");
    const struct diff_row *at = sides ? &diff->sides.at[row] : &diff->unified.at[row];
    return at->new_line ? source_line(&diff->new_, at->new_line)
                        : source_line(&diff->old, at->old_line);
}
