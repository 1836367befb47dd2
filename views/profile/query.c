/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to the profile and the session in SQL: what was asked, and its answer as a table. Who
 * runs the program works the answer out (views_model.query). */
#include "views/profile/private.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ROWS 1001 /* of an answer, with its head */

void profile_query_forget(struct profile_query *query) {
    buf_free(&query->sql);
    buf_free(&query->text);
    vec_free(&query->rows);
    *query = (struct profile_query){0};
}

/* ---- asking --------------------------------------------------------------------------------- */

bool profile_query_can(const struct views *views) {
    return views->model.query && views->model.question && views_incumbent(views);
}

static void ask(struct views *views, struct str sql) {
    struct profile *profile = profile_of(views);
    struct profile_query *query = &profile->query;
    struct str word, rest = sql;
    buf_clear(&query->sql);
    while (str_next(&rest, '\n', &word)) /* as one line */
        buf_printf(&query->sql, "%s" STR_FMT, query->sql.len ? " " : "", STR_ARG(str_trim(word)));
    buf_clear(&query->text);
    query->rows.len = 0;
    query->list = (struct tui_list){0};
    query->runs = true;
    query->failed = false;
    query->attempt = profile->shown;
    profile->part = PROFILE_QUERY;
    views->model.query(views->model.context, profile->shown, query->sql.at ? query->sql.at : "");
}

#define NO_QUESTION -1 /* none of those there are: the line opens for a new one */

/* A ready question is asked; the newest of a person's own comes into the line, to be changed. */
static void on_chosen(struct views *views, struct str text, struct views_request *request) {
    struct views_question question;
    size_t chosen = (size_t)strtoul(text.at, NULL, 10);
    (void)request;
    if (strtol(text.at, NULL, 10) == NO_QUESTION) {
        views_open_line(views, false, "query SELECT ");
        return;
    }
    if (!views->model.question(views->model.context, chosen, &question))
        return;
    if (question.name) {
        ask(views, str_of(question.sql));
        return;
    }
    struct buf line = {0};
    buf_printf(&line, "query %s", question.sql);
    views_open_line(views, false, line.at);
    buf_free(&line);
}

static void choose(struct views *views) {
    struct views_question question;
    views->over.rows.len = 0;
    for (size_t i = 0; views->model.question(views->model.context, i, &question); i++)
        views_menu_row(views, (int)i, "", question.name ? question.name : "asked", question.text);
    views_menu_row(views, NO_QUESTION, "", "write", "a question of your own: SELECT ..");
    views_open_menu(views, "ask the profile in SQL; :query SELECT .. asks your own", on_chosen);
}

void profile_query_run(struct views *views, struct str args, struct views_request *request) {
    struct str sql = str_trim(args);
    (void)request;
    if (sql.len)
        ask(views, sql);
    else
        choose(views);
}

/* Opens the line with what was asked last where that went wrong, so that it can be mended. */
void profile_query_type(struct views *views, struct str args, struct views_request *request) {
    const struct profile_query *query = &profile_of(views)->query;
    struct buf line = {0};
    (void)args;
    (void)request;
    buf_printf(&line, "query %s", query->failed && query->sql.len ? query->sql.at : "");
    views_open_line(views, false, line.at);
    buf_free(&line);
}

/* ---- completion ----------------------------------------------------------------------------- */

static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* exact: in the same case. */
static bool begins(const char *name, struct str typed, bool exact) {
    return strlen(name) >= typed.len && (exact ? strncmp(name, typed.at, typed.len) == 0
                                               : strncasecmp(name, typed.at, typed.len) == 0);
}

/* A name that the word at the end may become: the first one from *at on, each once; NULL. */
static const char *name_next(const struct views *views, struct str word, bool exact, size_t *at) {
    const char *name, *before;
    for (; (name = views->model.name(views->model.context, *at)); ++*at) {
        size_t i = 0;
        if (!begins(name, word, exact))
            continue;
        while ((before = views->model.name(views->model.context, i)) && i < *at &&
               strcmp(before, name) != 0)
            i++;
        if (i == *at)
            break;
    }
    ++*at;
    return name;
}

static size_t alike(const char *one, const char *other, size_t most) {
    size_t same = 0;
    while (same < most && one[same] &&
           tolower((unsigned char)one[same]) == tolower((unsigned char)other[same]))
        same++;
    return same;
}

/* The names that the word at the end may become, as far as they are alike; all of them are shown
 * when that is not further than it was typed. Names in the case that was typed go before others. */
bool profile_query_complete(struct views *views, struct str typed, struct buf *line) {
    struct buf names = {0};
    const char *first = NULL, *name;
    size_t from = typed.len, same = 0, count = 0, at = 0;
    while (from && is_name(typed.at[from - 1]))
        from--;
    struct str word = {typed.at + from, typed.len - from};
    if (!word.len || !views->model.name)
        return false;
    bool exact = name_next(views, word, true, &at);
    for (at = 0; (name = name_next(views, word, exact, &at)); count++) {
        same = first ? alike(first, name, same) : strlen(name);
        first = first ? first : name;
        if (names.len < 300)
            buf_printf(&names, "%s%s", count ? "  " : "", name);
    }
    if (first)
        buf_printf(line, STR_FMT "%.*s%s", (int)from, typed.at, (int)same, first,
                   count == 1 ? " " : "");
    if (count > 1 && same == word.len)
        views_say(views, false, "%s", names.at);
    buf_free(&names);
    return line->len > 0;
}

/* ---- the answer ----------------------------------------------------------------------------- */

void views_query_answered(struct views *views, const char *text, bool failed) {
    struct profile_query *query = &profile_of(views)->query;
    struct str line;
    query->runs = false;
    query->failed = failed;
    buf_clear(&query->text);
    buf_puts(&query->text, text);
    query->rows.len = 0;
    for (struct str rest = buf_str(&query->text);
         !failed && query->rows.len < MOST_ROWS && str_next(&rest, '\n', &line);)
        *vec_push(&query->rows) = line;
}

/* The columns of a row from `shift` on. */
static void draw_row(struct tui_area area, int row, int shift, struct str line) {
    struct text_piece piece;
    struct str rest = line;
    for (int col = 0; col < shift && text_next(&rest, &piece);)
        col += piece.width;
    tui_put_short(area, row, (struct tui_rect){0, 1, 1, area.cols - 2}, rest);
}

void profile_query_draw(struct views *views, struct tui_area area) {
    struct profile_query *query = &profile_of(views)->query;
    struct tui_area dim = tui_ink(area, TUI_DIM);
    if (!query->sql.len) {
        tui_say(dim, 1, 2, "Q: the questions that are ready, and yours;   i: type one in SQL");
        return;
    }
    tui_put_short(dim, 0, (struct tui_rect){0, 1, 1, area.cols - 2}, buf_str(&query->sql));
    if (query->runs) {
        tui_say(dim, 2, 2, "attempt %d is asked ..", query->attempt);
        return;
    }
    struct tui_rect rest = {2, 2, MAX_OF(area.rows - 2, 0), area.cols - 4};
    if (query->failed) {
        tui_put_lines(tui_ink(tui_area_part(area, rest), TUI_BAD), buf_str(&query->text));
        return;
    }
    if (query->rows.len < 2) {
        tui_say(dim, 2, 2, "no rows");
        return;
    }
    draw_row(tui_ink(area, TUI_STRONG), 1, views->shift, query->rows.at[0]);
    views->list_spot = (struct tui_rect){area.row + 2, area.col, area.rows - 2, area.cols};
    struct tui_list *list = &query->list;
    tui_list_fit(list, (int)query->rows.len - 1, MAX_OF(area.rows - 2, 0));
    for (int row = 0; row < list->rows && list->top + row < list->count; row++) {
        draw_row(area, row + 2, views->shift, query->rows.at[list->top + row + 1]);
        if (list->top + row == list->cursor)
            tui_lay_paper(area, (struct tui_rect){row + 2, 0, 1, area.cols}, TUI_PAPER_CURSOR);
    }
    tui_list_draw_bar(list, tui_area_part(area, (struct tui_rect){2, 0, list->rows, area.cols}));
}

struct str profile_query_line(const struct profile_query *query, int row) {
    return row >= 0 && (size_t)row + 1 < query->rows.len ? query->rows.at[row + 1] : STR("");
}
