/* SPDX-License-Identifier: Apache-2.0 */
/* Searching: what was searched for, going from one row that has it to the next in any list, and
 * marking it where it is drawn. Every list and every screen with a search of its own comes here. */
#include "views/inner.h"

bool find_any(const struct views *views) {
    return views->search.len > 0;
}

size_t find_in(const struct views *views, struct str text, size_t from, size_t *len) {
    struct str needle = buf_str(&views->search);
    *len = needle.len;
    return tui_find_text(text, needle, from);
}

void find_mark(const struct views *views, struct tui_area area, int row, int col, struct str text) {
    size_t len;
    for (size_t at = find_in(views, text, 0, &len); at != SIZE_MAX;
         at = find_in(views, text, at + len, &len)) {
        int start = (int)text_columns((struct str){text.at, at});
        int width = (int)text_columns((struct str){text.at + at, len});
        tui_lay_paper(area, (struct tui_rect){row, col + start, 1, width}, TUI_PAPER_FOUND);
    }
}

/* The row after (step 1) or before (step -1) `from` that has it, round the ends; -1: none. */
static int find_row(const struct views *views, const struct tui_list *list, int from, int step) {
    const struct screen *screen = screen_here(views);
    return tui_find_row(buf_str(&views->search), from, step, list->count, screen->line_of, views);
}

static void find(struct views *views, int step, bool here) {
    const struct screen *screen = screen_here(views);
    struct tui_list *list = views_list(views);
    if (!find_any(views))
        return;
    if (screen->find) {
        screen->find(views, step, here);
        return;
    }
    if (!list || !screen->line_of)
        return;
    int row = find_row(views, list, here ? list->cursor - step : list->cursor, step);
    if (row < 0)
        views_say(views, true, "'%s' occurs nowhere here", views->search.at);
    else
        tui_list_go(list, row);
}

/* A log that is followed is searched from its end. */
void find_search(struct views *views, struct str args, struct views_request *request) {
    (void)request;
    const struct tui_list *list = views_list(views);
    if (args.len == 0) {
        views_open_line(views, true, "");
        return;
    }
    buf_clear(&views->search);
    buf_add(&views->search, args.at, args.len);
    bool follows = list && list->follow && !screen_here(views)->find;
    find(views, follows ? -1 : 1, !follows);
}

void find_next(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    find(views, 1, false);
}

void find_previous(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    find(views, -1, false);
}
