/* SPDX-License-Identifier: Apache-2.0 */
/* Searching screen 9: through all parts of the next question, then through the texts of the
 * questions so far, newest first, and from the beginning again. What parts and calls are is in
 * prompt.c. */
#include "views/prompt/private.h"

#include <stdlib.h>

#define MOST_BYTES ((size_t)48 << 20) /* texts that one key press looks through */

/* A place: the n-th text and a line of it. */
struct place {
    int text, row;
};

static int texts_count(struct views *views) {
    return (int)(prompt_parts_now(views)->parts.len + views->state->calls.len);
}

/* Counts texts from `parts` on: the newest call comes first. */
static int call_number(const struct views *views, int parts, int text) {
    return (int)views->state->calls.len - 1 - (text - parts);
}

/* The text. `own` is where it is put together when the prompt does not have it. */
static struct str text_at(struct views *views, int text, struct buf *own) {
    const struct tune_prompt *prompt = prompt_parts_now(views);
    int parts = (int)prompt->parts.len;
    if (text < parts)
        return prompt->parts.at[text].text;
    buf_clear(own);
    prompt_call_print(views, call_number(views, parts, text), own);
    return buf_str(own);
}

/* The first row after `from` (step 1), or the last one before it (step -1), with a match; -1 when
 * there is none. */
static int row_in(const struct views *views, struct str text, int from, int step) {
    struct str line;
    size_t len;
    int best = -1;
    for (int row = 0; str_next(&text, '\n', &line); row++) {
        bool inside = step > 0 ? row > from : row < from;
        if (!inside || find_in(views, line, 0, &len) == SIZE_MAX)
            continue;
        best = row;
        if (step > 0)
            break;
    }
    return best;
}

static struct place here(struct views *views) {
    struct prompt *screen = prompt_of(views);
    int parts = (int)prompt_parts_now(views)->parts.len;
    int calls = (int)views->state->calls.len;
    int page = (int)screen->page;
    const struct tui_list *list = &screen->lists[page];
    if (page == PROMPT_TEXT)
        return (struct place){screen->lists[PROMPT_PARTS].cursor, list->cursor};
    if (page == PROMPT_CALL)
        return (struct place){parts + calls - 1 - screen->call, list->cursor};
    if (page == PROMPT_CALLS)
        return (struct place){parts + MAX_OF(calls - 1 - list->cursor, 0), -1};
    return (struct place){list->cursor, -1};
}

static void go(struct views *views, struct place to) {
    struct prompt *screen = prompt_of(views);
    const struct tune_prompt *prompt = prompt_parts_now(views);
    int parts = (int)prompt->parts.len;
    if (to.text < parts) {
        screen->lists[PROMPT_PARTS].cursor = to.text;
        screen->page = PROMPT_TEXT;
        screen->lists[PROMPT_TEXT] = (struct tui_list){.count = to.row + 1};
        views_say(views, false, "part '%s', line %d", prompt->parts.at[to.text].name, to.row + 1);
    } else {
        int number = call_number(views, parts, to.text);
        screen->lists[PROMPT_CALLS].cursor = number;
        prompt_call_open(views, number);
        screen->lists[PROMPT_CALL].count = to.row + 1;
        views_say(views, false, "question %d, line %d", number, to.row + 1);
    }
    tui_list_go(&screen->lists[screen->page], to.row);
}

void prompt_find(struct views *views, int step, bool from_here) {
    int count = texts_count(views);
    struct place at = here(views);
    struct buf own = {0};
    size_t seen = 0;
    if (count <= 0)
        return;
    int text = MIN_OF(MAX_OF(at.text, 0), count - 1), from = from_here ? at.row - step : at.row;
    for (int i = 0; i <= count && seen < MOST_BYTES; i++) {
        struct str whole = text_at(views, text, &own);
        int row = row_in(views, whole, from, step);
        seen += whole.len;
        if (row >= 0) {
            buf_free(&own);
            go(views, (struct place){text, row});
            return;
        }
        text = (text + step + count) % count;
        from = step > 0 ? -1 : INT32_MAX;
    }
    views_say(views, true, "'%s' occurs in no part and in no question%s",
              views->searched[views->view].text.at, seen < MOST_BYTES ? "" : " near here");
    buf_free(&own);
}
