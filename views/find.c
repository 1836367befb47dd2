/* SPDX-License-Identifier: Apache-2.0 */
/* Searching: keeps what was searched for, goes from one match to the next in any list, and marks
 * matches where they are drawn. Also filters lists. Both use patterns. Every list and every screen
 * with a search of its own comes here. */
#include "views/inner.h"

#include <stdio.h>

static const struct searched *searched_here(const struct views *views) {
    return &views->searched[views->view];
}

/* The pattern in the line while it is typed; else what was searched last on the screen. */
static struct pattern *pattern_here(const struct views *views) {
    bool typing = views->over.is == OVERLAY_LINE && views->over.searching;
    return typing && views->over.typed ? views->over.typed : searched_here(views)->pattern;
}

bool find_any(const struct views *views) {
    return searched_here(views)->pattern != NULL;
}

/* Matches without a character, as x* finds everywhere, do not count. */
size_t find_in(const struct views *views, struct str text, size_t from, size_t *len) {
    struct pattern *pattern = pattern_here(views);
    struct pattern_span span;
    *len = 0;
    while (pattern && !pattern_is_costly(pattern) &&
           pattern_find(pattern, text, from, &span) == PATTERN_FOUND) {
        *len = span.end - span.start;
        if (*len)
            return span.start;
        from = span.end + 1;
    }
    return SIZE_MAX;
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

/* The next row with a match after (step 1) or before (step -1) `from`, going on at the other end;
 * -1: none. */
static int find_row(const struct views *views, const struct tui_list *list, int from, int step) {
    const struct screen *screen = screen_here(views);
    size_t len;
    for (int i = 1; i <= list->count; i++) {
        int row = ((from + step * i) % list->count + list->count) % list->count;
        if (find_in(views, screen->line_of(views, row), 0, &len) != SIZE_MAX)
            return row;
    }
    return -1;
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
    if (row < 0 && pattern_is_costly(searched_here(views)->pattern))
        views_say(views, true, "the search for '%s' takes too long here: use a simpler pattern",
                  searched_here(views)->text.at);
    else if (row < 0)
        views_say(views, true, "'%s' occurs nowhere here", searched_here(views)->text.at);
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
    struct err err;
    struct pattern *pattern = pattern_new(args, PATTERN_SMART_CASE, NULL, &err);
    if (!pattern) {
        views_say(views, true, "/" STR_FMT ": %s", STR_ARG(args), err.text);
        return;
    }
    struct searched *searched = &views->searched[views->view];
    pattern_free(searched->pattern);
    searched->pattern = pattern;
    buf_clear(&searched->text);
    buf_add(&searched->text, args.at, args.len);
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

/* ---- what is typed ------------------------------------------------------------------------ */

/* The pattern in the line: all of it for a search, what follows "filter " for a command. */
static struct str pattern_typed(const struct over *over) {
    struct str text = buf_str(&over->line.text);
    size_t command = strlen("filter ");
    if (over->searching)
        return text;
    return str_starts(text, "filter ")
               ? str_trim((struct str){text.at + command, text.len - command})
               : STR("");
}

void find_typed(struct views *views) {
    struct over *over = &views->over;
    struct str text = pattern_typed(over);
    struct err err = {0};
    pattern_free(over->typed);
    over->typed = text.len ? pattern_new(text, PATTERN_SMART_CASE, NULL, &err) : NULL;
    snprintf(over->wrong, sizeof over->wrong, "%.150s", err.text);
}

/* ---- filters ------------------------------------------------------------------------------ */

bool filter_passes(const struct filter *filter, struct str text) {
    return !filter->pattern ||
           (!pattern_is_costly(filter->pattern) && pattern_matches(filter->pattern, text));
}

void filter_free(struct filter *filter) {
    pattern_free(filter->pattern);
    buf_free(&filter->text);
    *filter = (struct filter){0};
}

void find_filter(struct views *views, struct str args, struct views_request *request) {
    (void)request;
    struct err err;
    struct pattern *pattern = args.len ? pattern_new(args, PATTERN_SMART_CASE, NULL, &err) : NULL;
    if (args.len && !pattern) {
        views_say(views, true, "filter " STR_FMT ": %s", STR_ARG(args), err.text);
        return;
    }
    struct filter *filter = screen_here(views)->filter(views);
    filter_free(filter);
    filter->pattern = pattern;
    buf_add(&filter->text, args.at, args.len);
    if (pattern)
        views_say(views, false,
                  "only rows with '" STR_FMT "' on this screen; :filter alone shows all",
                  STR_ARG(args));
    else
        views_say(views, false, "no filter: all rows show");
}
