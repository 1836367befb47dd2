/* SPDX-License-Identifier: Apache-2.0 */
/* What lies over a screen while it is answered: a menu, the ':' and '/' line, a note, a yes or no,
 * a question of the place. The answer goes to the one who asked. */
#include "views/inner.h"

#define TEXT_PAGE 10 /* rows that a page key moves a text */

#include <stdio.h>

static void ask(struct views *views, enum overlay overlay, const char *title, const char *text,
                views_answer_fn *answer) {
    snprintf(views->over.title, sizeof views->over.title, "%s", title);
    buf_clear(&views->over.text);
    buf_puts(&views->over.text, text);
    views->over.answer = answer;
    views->over.is = overlay;
}

void views_ask_note(struct views *views, const char *title, const char *text, const char *start,
                    views_answer_fn *answer) {
    tui_field_set(&views->over.note, str_of(start));
    ask(views, OVERLAY_NOTE, title, text, answer);
}

void views_ask_confirm(struct views *views, const char *title, const char *text,
                       views_answer_fn *answer) {
    ask(views, OVERLAY_CONFIRM, title, text, answer);
}

void views_show_text(struct views *views, const char *title, const char *text) {
    views_show_text_at(views, title, text, 0);
}

void views_show_text_at(struct views *views, const char *title, const char *text, size_t at) {
    ask(views, OVERLAY_TEXT, title, text, NULL);
    views->over.scroll = 0;
    views->over.at = at;
}

void views_open_line(struct views *views, bool search, const char *start) {
    tui_field_set(&views->over.line, str_of(start));
    views->over.searching = search;
    views->over.is = OVERLAY_LINE;
    find_typed(views);
}

struct tui_menu_row *views_menu_row(struct views *views, int value, const char *key,
                                    const char *name, const char *text) {
    if (views->over.rows.len == 0)
        arena_reset(views->over.texts);
    struct tui_menu_row *row = vec_push(&views->over.rows);
    *row = (struct tui_menu_row){.name = arena_strdup(views->over.texts, name),
                                 .key = arena_strdup(views->over.texts, key),
                                 .text = arena_strdup(views->over.texts, text),
                                 .value = value};
    return row;
}

void views_open_menu(struct views *views, const char *title, views_answer_fn *answer) {
    snprintf(views->over.menu_title, sizeof views->over.menu_title, "%s", title);
    tui_menu_open(&views->over.menu, views->over.rows.at, (int)views->over.rows.len);
    views->over.answer = answer;
    views->over.is = OVERLAY_MENU;
}

void views_open_question(struct views *views, const char *title, views_answer_fn *answer) {
    views_open_menu(views, title, answer);
    tui_menu_question(&views->over.menu, views->over.rows.at, (int)views->over.rows.len);
}

static void answer(struct views *views, struct str text, struct views_request *request) {
    views_answer_fn *fn = views->over.answer;
    views->over.is = OVERLAY_NONE;
    if (fn)
        fn(views, text, request);
}

static void menu_event(struct views *views, const struct tui_event *event,
                       struct views_request *request) {
    switch (tui_menu_event(&views->over.menu, event)) {
    case TUI_ANSWER_DONE: {
        char number[16];
        int len = snprintf(number, sizeof number, "%d", tui_menu_chosen(&views->over.menu));
        if (tui_menu_chosen(&views->over.menu) >= 0)
            answer(views, (struct str){number, (size_t)len}, request);
        break;
    }
    case TUI_ANSWER_CANCELLED:
        if (views->over.menu.is_question)
            answer(views, (struct str){0}, request);
        else
            views->over.is = OVERLAY_NONE;
        break;
    default: break;
    }
}

/* Of a question it is the screen's own words that are completed. */
static void complete_words(struct views *views, struct str typed) {
    struct buf line = {0};
    const struct screen *screen = screen_here(views);
    if (screen->complete && str_starts(typed, "query ") && screen->complete(views, typed, &line))
        tui_field_set(&views->over.line, buf_str(&line));
    buf_free(&line);
}

/* Completes the name of the command as far as that is certain; a second Tab goes to the next
 * name. */
static void complete(struct views *views) {
    struct str typed = buf_str(&views->over.line.text);
    const struct command *first = NULL;
    size_t common = 0;
    if (memchr(typed.at, ' ', typed.len)) {
        complete_words(views, typed);
        return;
    }
    for (size_t i = 0; command_at(i); i++) {
        const struct command *command = command_at(i);
        if (!command_is_here(views, command) || strlen(command->name) < typed.len ||
            memcmp(command->name, typed.at, typed.len) != 0)
            continue;
        size_t same = 0;
        if (!first) {
            first = command;
            common = strlen(command->name);
            continue;
        }
        while (same < common && command->name[same] == first->name[same])
            same++;
        common = same;
    }
    if (!first)
        return;
    char name[64];
    int len = snprintf(name, sizeof name, "%.*s%s", (int)common, first->name,
                       common == strlen(first->name) ? " " : "");
    tui_field_set(&views->over.line, (struct str){name, (size_t)len});
}

static void line_event(struct views *views, const struct tui_event *event,
                       struct views_request *request) {
    bool was_empty = views->over.line.text.len == 0;
    enum tui_answer answered = tui_field_event(&views->over.line, event);
    find_typed(views);
    if (answered == TUI_ANSWER_DONE && *views->over.wrong) /* the line stays, with what is wrong */
        return;
    switch (answered) {
    case TUI_ANSWER_DONE: {
        struct buf text = {0};
        views->over.is = OVERLAY_NONE;
        buf_puts(&text, views->over.searching ? "search " : "");
        buf_add(&text, views->over.line.text.at, views->over.line.text.len);
        if (views->over.searching && was_empty)
            command_run(views, command_find(STR("next-match")), STR(""), request);
        else
            command_line(views, buf_str(&text), request);
        buf_free(&text);
        break;
    }
    case TUI_ANSWER_COMPLETE:
        if (!views->over.searching)
            complete(views);
        break;
    case TUI_ANSWER_CANCELLED: views->over.is = OVERLAY_NONE; break;
    default:
        if (was_empty && event->kind == TUI_EVENT_KEY && event->key.code == TUI_KEY_BACKSPACE)
            views->over.is = OVERLAY_NONE;
        break;
    }
}

static void note_event(struct views *views, const struct tui_event *event,
                       struct views_request *request) {
    switch (tui_field_event(&views->over.note, event)) {
    case TUI_ANSWER_DONE: answer(views, buf_str(&views->over.note.text), request); break;
    case TUI_ANSWER_CANCELLED: views->over.is = OVERLAY_NONE; break;
    default: break;
    }
}

static void confirm_event(struct views *views, const struct tui_event *event,
                          struct views_request *request) {
    if (event->kind != TUI_EVENT_KEY)
        return;
    if (event->key.code == 'y' || event->key.code == 'Y')
        answer(views, STR("y"), request);
    else
        views->over.is = OVERLAY_NONE;
}

/* Movement scrolls; any other key closes. */
static void text_event(struct views *views, const struct tui_event *event,
                       struct views_request *request) {
    bool key = event->kind == TUI_EVENT_KEY;
    uint32_t code = event->key.code;
    (void)request;
    if (key && (code == TUI_KEY_DOWN || code == 'j'))
        views->over.scroll++;
    else if (key && (code == TUI_KEY_UP || code == 'k'))
        views->over.scroll = MAX_OF(0, views->over.scroll - 1);
    else if (key && code == TUI_KEY_PAGE_DOWN)
        views->over.scroll += TEXT_PAGE;
    else if (key && code == TUI_KEY_PAGE_UP)
        views->over.scroll = MAX_OF(0, views->over.scroll - TEXT_PAGE);
    else if (event->kind == TUI_EVENT_WHEEL)
        views->over.scroll = MAX_OF(0, views->over.scroll + event->wheel * 3);
    else if (key)
        views->over.is = OVERLAY_NONE;
}

static void draw_text(struct views *views, struct tui_area area) {
    struct str text = buf_str(&views->over.text);
    int cols = MIN_OF(MAX_OF(area.cols - 8, 20), 100), most = area.rows - 6;
    struct tui_area none = tui_area_part(area, (struct tui_rect){0, 0, 0, cols - 4});
    int rows = tui_put_wrapped(none, 0, text);
    int shown = MIN_OF(rows, MAX_OF(most, 1));
    if (views->over.at) /* what it was opened for is in sight; from there the keys move it */
        views->over.scroll =
            MAX_OF(0, tui_put_wrapped(none, 0, (struct str){text.at, views->over.at}) - shown / 3);
    views->over.at = 0;
    views->over.scroll = MIN_OF(views->over.scroll, rows - shown);
    struct tui_area inside =
        tui_popup_draw(area, shown + 2, cols, views->over.title,
                       rows > shown ? "Down more   any other key closes" : "any key closes");
    tui_put_wrapped(tui_area_part(inside, (struct tui_rect){0, 0, shown, inside.cols}),
                    views->over.scroll, text);
}

void over_event(struct views *views, const struct tui_event *event, struct views_request *request) {
    static void (*const events[])(struct views *, const struct tui_event *,
                                  struct views_request *) = {
        NULL,          menu_event,     line_event, note_event,
        confirm_event, question_event, text_event, changed_event};
    events[views->over.is](views, event, request);
}

static void draw_line(struct views *views, struct tui_area area) {
    int row = area.rows - 1;
    int wrong = (int)text_columns(str_of(views->over.wrong));
    int taken = wrong ? MIN_OF(wrong + 2, area.cols * 2 / 3) : 0;
    struct tui_rect rest = {row, 2, 1, area.cols - 2 - taken};
    tui_fill(area, (struct tui_rect){row, 0, 1, area.cols}, " ");
    tui_say(tui_ink(area, TUI_KEY), row, 0, views->over.searching ? "/" : ":");
    if (wrong)
        tui_put_short(tui_ink(area, TUI_BAD), row,
                      (struct tui_rect){0, area.cols - taken + 1, 1, taken - 1},
                      str_of(views->over.wrong));
    tui_field_draw(&views->over.line, tui_area_part(area, rest));
}

void over_draw(struct views *views, struct tui_area area) {
    switch (views->over.is) {
    case OVERLAY_NONE: break;
    case OVERLAY_MENU: tui_menu_draw(&views->over.menu, area, views->over.menu_title); break;
    case OVERLAY_LINE: draw_line(views, area); break;
    case OVERLAY_NOTE:
        tui_note_draw(area, views->over.title, buf_str(&views->over.text), &views->over.note);
        break;
    case OVERLAY_CONFIRM:
        tui_confirm_draw(area, views->over.title, buf_str(&views->over.text),
                         "y yes   any other no");
        break;
    case OVERLAY_QUESTION: question_draw(views, area); break;
    case OVERLAY_TEXT: draw_text(views, area); break;
    case OVERLAY_CHANGED: changed_draw(views, area); break;
    }
}

void over_free(struct over *over) {
    tui_secret_wipe(&over->reply);
    tui_menu_free(&over->menu);
    tui_field_free(&over->line);
    tui_field_free(&over->note);
    pattern_free(over->typed);
    vec_free(&over->rows);
    arena_free(over->texts);
    buf_free(&over->text);
}
