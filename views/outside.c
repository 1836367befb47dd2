/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about files that others changed while hone runs: the session's, when they were taken
 * away (where to write what is in memory), and those of the task (which of them count). The second
 * question opens by itself, once for each change, and with the key that starts the loop. */
#include "views/inner.h"

#include <stdio.h>

/* ---- the session's --------------------------------------------------------------------------- */

static void save_to(struct views *views, struct str text, struct views_request *request) {
    struct err err = {0};
    struct buf folder = {0};
    (void)request;
    buf_add(&folder, text.at, text.len);
    if (!text.len)
        views_say(views, true, "nothing was saved: a folder is needed; s asks again");
    else if (views->model.rescue(views->model.context, folder.at, &err))
        views_say(views, false, "saved to %s, where the session goes on; s starts the loop again",
                  folder.at);
    else
        views_say(views, true, "%s; s asks again", err.text);
    buf_free(&folder);
}

void views_ask_rescue(struct views *views, const char *folder) {
    views_ask_note(views, "the session's files are gone",
                   "They were removed or replaced while hone was using them. What is in memory is "
                   "whole and can be written to another folder, where the session goes on. Esc "
                   "leaves it in memory; s asks again.",
                   folder, save_to);
}

/* ---- the task's ------------------------------------------------------------------------------ */

#define SIDE 3 /* columns of the screen that stay free at both sides */

static const char *change_of(const struct views *views) {
    return views->state && views->state->changed.len ? views->state->changed.at[0].name : NULL;
}

static void changed_open(struct views *views) {
    struct over *over = &views->over;
    size_t count = views->state->changed.len;
    snprintf(over->title, sizeof over->title, "%s changed on disk",
             count == 1 ? path_base(change_of(views)) : "files of the task");
    over->scroll = 0;
    views->change_seen = change_of(views);
    over->is = OVERLAY_CHANGED;
}

void changed_follow(struct views *views) {
    const char *change = change_of(views);
    bool opened = views->over.is == OVERLAY_CHANGED;
    if (opened && change != views->change_seen)
        views->over.is = OVERLAY_NONE;
    if (!change) /* it was answered: the next one is another question, of the same file or not */
        views->change_seen = NULL;
    bool may = change && !views->state->read_only && views->over.is == OVERLAY_NONE;
    if (may && change != views->change_seen)
        changed_open(views);
}

static void choose(struct views *views, enum tune_action_kind kind, const char *said) {
    views->over.is = OVERLAY_NONE;
    if (views_act(views, &(struct tune_action){.kind = kind}))
        views_say(views, false, "%s", said);
}

void changed_event(struct views *views, const struct tui_event *event,
                   struct views_request *request) {
    (void)request;
    if (event->kind != TUI_EVENT_KEY)
        return;
    int *scroll = &views->over.scroll;
    switch (event->key.code) {
    case 't':
        choose(views, TUNE_ACT_TAKE_FILES,
               "taken in: tuning begins again at #0, which is measured again");
        break;
    case 'k':
        choose(views, TUNE_ACT_KEEP_FILES,
               "going on with the session's copies; what changes further is asked about; "
               ":take-files takes the files");
        break;
    case 's':
    case TUI_KEY_ESCAPE:
        views->over.is = OVERLAY_NONE;
        views_say(views, false, "nothing runs until you choose which files to use; s asks again");
        break;
    case TUI_KEY_DOWN: ++*scroll; break;
    case TUI_KEY_UP: *scroll = MAX_OF(0, *scroll - 1); break;
    case ' ':
    case TUI_KEY_PAGE_DOWN: *scroll += 10; break;
    case TUI_KEY_PAGE_UP: *scroll = MAX_OF(0, *scroll - 10); break;
    default: break;
    }
}

/* What t leads to, before it is pressed. */
static void follows_print(const struct tune_state *state, struct buf *text) {
    if (state->attempts.len < 2)
        return;
    buf_puts(text, "t: numbers so far were judged by the old files and no longer count:\n"
                   "   tuning begins again at #0, and u does not lead back.\n");
    for (size_t i = 1; i < state->attempts.len; i++)
        if (state->attempts.at[i].status == TUNE_STATUS_OPEN)
            buf_printf(text, "   #%zu, which is under way, is given up.\n", i);
    buf_puts(text, "k: all goes on as it is.\n\n");
}

static void text_of(const struct views *views, struct buf *text) {
    follows_print(views->state, text);
    for (size_t i = 0; i < views->state->changed.len; i++) {
        const struct tune_file_change *change = &views->state->changed.at[i];
        buf_printf(text, "%s%s %s\n%s", i ? "\n" : "", change->name,
                   !change->was   ? "is new, and imported"
                   : !change->now ? "is gone"
                                  : "is not as it was",
                   change->diff ? change->diff : "");
    }
}

static enum tui_role role_of(struct str line) {
    if (!line.len)
        return TUI_PLAIN;
    switch (line.at[0]) {
    case '+': return TUI_ADDED;
    case '-': return TUI_REMOVED;
    case '@': return TUI_HUNK;
    default: return TUI_STRONG;
    }
}

static int lines_of(const struct buf *text) {
    int count = 0;
    for (size_t i = 0; i < text->len; i++)
        count += text->at[i] == '\n';
    return count;
}

void changed_draw(struct views *views, struct tui_area area) {
    struct buf text = {0};
    text_of(views, &text);
    int lines = lines_of(&text), rows = MIN_OF(lines, area.rows - 8);
    views->over.scroll = MAX_OF(0, MIN_OF(views->over.scroll, lines - rows));
    struct tui_area inside = tui_popup_draw(
        area, rows + 2 + (lines > rows), MIN_OF(area.cols - 2 * SIDE, 100), views->over.title,
        "t uses the new file   k keeps the session's copy   s stops here");
    struct str rest = buf_str(&text), line;
    for (int i = 0; str_next(&rest, '\n', &line) && i < views->over.scroll + rows; i++)
        if (i >= views->over.scroll)
            tui_put_short(tui_ink(inside, role_of(line)), i - views->over.scroll,
                          (struct tui_rect){0, 0, 1, inside.cols}, line);
    if (lines > rows)
        tui_say(tui_ink(inside, TUI_DIM), rows, 0, "%d to %d of %d lines", views->over.scroll + 1,
                views->over.scroll + rows, lines);
    buf_free(&text);
}
