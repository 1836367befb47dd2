/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to models that run now: their answers as they arrive, how long and how much, and a
 * person's own answer to a question that waits for one. The ones that ended are in
 * prompt/asked.c. */
#include "views/workbench/private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define STABLE 4096 /* a long text is cut at multiples of it, so that lines stay put */
#define SCISSORS "# ---- your answer stands above this line; below is what is asked ----"

/* ---- which ---------------------------------------------------------------------------------- */

static struct calls *calls_of(const struct views *views) {
    return &workbench_of(views)->calls;
}

void calls_forget(struct calls *calls) {
    source_free(&calls->asked);
    buf_free(&calls->text);
    *calls = (struct calls){.here = -1, .read = -1};
}

static bool runs(const struct tune_call *call) {
    return !call->ended_ms;
}

int calls_running(const struct tune_state *state) {
    int count = 0;
    for (size_t i = 0; i < state->calls.len; i++)
        count += runs(&state->calls.at[i]);
    return count;
}

/* The question that a person went to, else that of the lane that is looked at; -1: neither runs. */
static int meant(const struct views *views) {
    const struct tune_state *state = views->state;
    int here = calls_of(views)->here;
    if (here >= 0 && (size_t)here < state->calls.len && runs(&state->calls.at[here]))
        return here;
    for (size_t i = 0; i < state->calls.len; i++)
        if (runs(&state->calls.at[i]) &&
            state->calls.at[i].lane == tune_lane_tag(state, views->lane))
            return (int)i;
    return -1;
}

/* The question that is looked at: its number, or -1 when none runs. */
static int chosen(const struct views *views) {
    const struct tune_state *state = views->state;
    int here = meant(views);
    if (here >= 0)
        return here;
    for (size_t i = 0; i < state->calls.len; i++)
        if (runs(&state->calls.at[i]))
            return (int)i;
    return -1;
}

/* The one that waits for a person: the one looked at, else the first. */
static int waiting(const struct views *views) {
    const struct tune_state *state = views->state;
    int number = chosen(views);
    if (number >= 0 && state->calls.at[number].waits)
        return number;
    for (size_t i = 0; i < state->calls.len; i++)
        if (state->calls.at[i].waits)
            return (int)i;
    return -1;
}

const struct tune_call *calls_held(const struct views *views, int *number) {
    const struct tune_state *state = views->state;
    int here = chosen(views);
    if (here >= 0 && !state->calls.at[here].held)
        for (here = 0; here < (int)state->calls.len && !state->calls.at[here].held;)
            here++;
    if (here < 0 || here >= (int)state->calls.len)
        return NULL;
    if (number)
        *number = here;
    return &state->calls.at[here];
}

void calls_send(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    int number = 0;
    if (calls_held(views, &number))
        views_act(views, &(struct tune_action){.kind = TUNE_ACT_SEND, .index = number});
}

bool calls_many(const struct views *views) {
    return views->state && calls_running(views->state) > 1;
}

static void look_at_next(struct views *views, int step) {
    const struct tune_state *state = views->state;
    int count = (int)state->calls.len, at = chosen(views);
    if (at < 0)
        return;
    do
        at = (at + step + count) % count;
    while (!runs(&state->calls.at[at]));
    calls_of(views)->here = at;
    workbench_of(views)->pane = PANE_PROPOSAL;
}

void calls_next(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    look_at_next(views, 1);
}

void calls_previous(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    look_at_next(views, -1);
}

/* ---- drawing -------------------------------------------------------------------------------- */

static double tokens_so_far(const struct tune_call *call) {
    return tune_tokens_estimate(buf_str(&call->live));
}

void calls_state_print(const struct tune_call *call, struct buf *out) {
    if (call->waits || call->held)
        buf_puts(out, call->held ? "not sent yet" : "waits for you");
    else if (call->live.len)
        buf_printf(out, "%s tokens", show_count(tokens_so_far(call)).text);
    else
        buf_puts(out, "nothing yet");
}

static const char *state_word(const struct tune_call *call, struct buf *out) {
    calls_state_print(call, out);
    return out->at;
}

static void lane_print(const struct tune_call *call, struct buf *out) {
    if (call->lane >= 0)
        buf_printf(out, "lane %d  ", call->lane + 1);
}

static enum tui_role state_role(const struct tune_call *call) {
    return call->waits || call->held ? TUI_WAITING : call->live.len ? TUI_ACTIVE : TUI_DIM;
}

/* One of several questions: who is asked for what, since when, how much has come. */
static void draw_row(const struct views *views, struct tui_area area, int row, int number) {
    const struct tune_call *call = &views->state->calls.at[number];
    struct buf text = {0};
    bool here = number == chosen(views), person = call->waits || call->held;
    int right = area.cols - 1, middle = MAX_OF(right - 24, 12);
    tui_say(tui_ink(area, TUI_KEY), row, 0, "%s", here ? "›" : " ");
    tui_say(tui_ink(area, state_role(call)), row, 1, "%s",
            person           ? "◆"
            : call->live.len ? "▶"
                             : "·");
    struct tui_area ink = here ? tui_ink(area, TUI_STRONG) : area;
    tui_put_short(ink, row, (struct tui_rect){0, 3, 1, 10}, str_of(call->role));
    struct buf who = {0};
    lane_print(call, &who);
    buf_puts(&who, call->model ? call->model : "-");
    tui_put_short(ink, row, (struct tui_rect){0, 14, 1, middle - 14}, buf_str(&who));
    buf_free(&who);
    tui_say_right(tui_ink(area, TUI_DIM), row, middle + 8, "%s",
                  show_elapsed(views->now_ms - call->asked_ms).text);
    tui_say_right(tui_ink(area, state_role(call)), row, right, "%s", state_word(call, &text));
    buf_free(&text);
}

/* Where one runs: a line about it. */
static void draw_one(const struct views *views, struct tui_area area,
                     const struct tune_call *call) {
    struct buf text = {0}, line = {0};
    lane_print(call, &line);
    buf_printf(&line, "%s %s  %s  %s", call->role ? call->role : "-",
               call->model ? call->model : "-", show_elapsed(views->now_ms - call->asked_ms).text,
               state_word(call, &text));
    tui_put_short(tui_ink(area, TUI_ACTIVE), 0, (struct tui_rect){0, 1, 1, area.cols - 2},
                  buf_str(&line));
    buf_free(&text);
    buf_free(&line);
}

/* Where several questions run: a row for each, as many as leave room for the text of the one that
 * is looked at, and a rule that says which it is. Returns the rows taken. */
static int draw_several(const struct views *views, struct tui_area area, int number, int count) {
    const struct tune_state *state = views->state;
    int shown = MIN_OF(count, MAX_OF(area.rows - 7, 1)), place = 0, at = 0;
    for (int i = 0; i < number; i++)
        place += runs(&state->calls.at[i]);
    int first = MIN_OF(MAX_OF(place - shown / 2, 0), count - shown);
    for (size_t i = 0; i < state->calls.len; i++)
        if (runs(&state->calls.at[i]) && at++ >= first && at <= first + shown)
            draw_row(views, area, at - 1 - first, (int)i);
    tui_fill(tui_ink(area, TUI_FRAME), (struct tui_rect){shown, 0, 1, area.cols}, "─");
    tui_say(tui_ink(area, TUI_DIM), shown, 2, " %d of %d: question %d ", place + 1, count, number);
    tui_say_right(tui_ink(area, TUI_DIM), shown, area.cols - 2, " c next, C the one before ");
    return shown + 1;
}

/* The end of a text, long enough to fill the area. It begins at the start of a line, so that the
 * text does not move sideways while more comes. */
static struct str tail_of(struct str text, struct tui_area area) {
    size_t most = (size_t)MAX_OF(area.rows, 1) * (size_t)MAX_OF(area.cols, 1) * 4;
    if (text.len <= most + STABLE)
        return text;
    size_t from = (text.len - most) / STABLE * STABLE;
    const char *line = memchr(text.at + from, '\n', STABLE);
    if (line)
        from = (size_t)(line + 1 - text.at);
    while (from < text.len && ((unsigned char)text.at[from] & 0xc0) == 0x80)
        from++;
    return (struct str){text.at + from, text.len - from};
}

void calls_draw_live(struct tui_area area, const struct tune_call *call) {
    struct str text = tail_of(buf_str(&call->live), area);
    struct tui_area inner = tui_area_part(area, (struct tui_rect){0, 1, area.rows, area.cols - 2});
    struct tui_area nowhere = tui_area_part(inner, (struct tui_rect){0, 0, 0, inner.cols});
    int rows = tui_put_wrapped(nowhere, 0, text);
    tui_put_wrapped(inner, MAX_OF(0, rows - area.rows), text);
}

/* The question itself, for the person who is to answer it. */
static void asked_read(struct views *views, int number) {
    const struct tune_call *call = &views->state->calls.at[number];
    struct calls *calls = calls_of(views);
    if (calls->read == number && calls->asked.text)
        return;
    char *text = call->prompt && views->model.artefact
                     ? views->model.artefact(views->model.context, call->prompt)
                     : NULL;
    source_free(&calls->asked);
    buf_clear(&calls->text);
    buf_puts(&calls->text, text ? text : "(the prompt cannot be read)\n");
    source_set(&calls->asked, calls->text.at);
    calls->read = number;
    workbench_of(views)->panes[PANE_PROPOSAL] = (struct tui_list){0};
    free(text);
}

static void draw_asked(struct views *views, struct tui_area area, int number) {
    struct workbench *bench = workbench_of(views);
    struct tui_list *list = &bench->panes[PANE_PROPOSAL];
    const struct source *asked = &bench->calls.asked;
    asked_read(views, number);
    tui_put_short(tui_ink(area, TUI_WAITING), 0, (struct tui_rect){0, 1, 1, area.cols - 2},
                  STR("◆ You answer: i writes it in $EDITOR, p here, or paste it. The question:"));
    struct tui_area text = tui_area_part(area, (struct tui_rect){1, 0, area.rows - 1, area.cols});
    tui_list_fit(list, (int)asked->lines.len, text.rows);
    for (int row = 0; row < text.rows && list->top + row < list->count; row++) {
        struct str line = asked->lines.at[list->top + row];
        struct tui_area rest = tui_area_part(text, (struct tui_rect){row, 1, 1, text.cols - 2});
        source_draw_plain(str_starts(line, "#") ? tui_ink(rest, TUI_TITLE) : rest, 0, views->shift,
                          line);
        if (list->top + row == list->cursor && bench->pane == PANE_PROPOSAL)
            tui_say(tui_ink(text, TUI_KEY), row, 0, "›");
    }
    tui_list_draw_bar(list, text);
}

static void draw_held(struct tui_area area, const struct tune_state *state,
                      const struct tune_call *call) {
    struct tui_area inner = tui_area_part(area, (struct tui_rect){0, 1, area.rows, area.cols - 2});
    struct buf text = {0};
    buf_printf(&text,
               "◆ Not sent yet, about %s tokens: S sends it, 9 shows it part by part and lets "
               "you edit it, s gives it up.\n",
               show_count(call->estimate).text);
    if (call->mends >= 0 && (size_t)call->mends < state->calls.len)
        buf_printf(&text, "\nIt asks once more, because the last answer could not be used: %s.\n",
                   state->calls.at[call->mends].unread ? state->calls.at[call->mends].unread : "-");
    tui_put_lines(tui_ink(inner, TUI_WAITING), buf_str(&text));
    buf_free(&text);
}

/* While other lanes ask, a lane that has something to show shows it. What a person has to do comes
 * first. */
static bool lane_has_more(const struct views *views) {
    const struct tune_state *state = views->state;
    return state->way->numbered && meant(views) < 0 && waiting(views) < 0 &&
           !calls_held(views, NULL) &&
           (tune_lane_plan(state, views->lane) || tune_lane_candidate(state, views->lane) ||
            tune_lane_of(state, views->lane)->closed);
}

bool calls_draw(struct views *views, struct tui_area area) {
    int number = chosen(views);
    int step = workbench_of(views)->step;
    bool elsewhere = (step >= 0 && step != (int)views->state->step) || lane_has_more(views);
    if (number < 0 || elsewhere || area.rows < 2)
        return false;
    const struct tune_call *call = &views->state->calls.at[number];
    int count = calls_running(views->state), top = 1;
    if (count > 1)
        top = draw_several(views, area, number, count);
    else
        draw_one(views, area, call);
    struct tui_area rest =
        tui_area_part(area, (struct tui_rect){top, 0, MAX_OF(area.rows - top, 0), area.cols});
    if (call->held)
        draw_held(rest, views->state, call);
    else if (call->waits)
        draw_asked(views, rest, number);
    else if (call->live.len)
        calls_draw_live(rest, call);
    else
        tui_say(tui_ink(rest, TUI_DIM), 0, 1, "asked; no answer yet");
    return true;
}

bool calls_line(const struct views *views, int row, struct str *line) {
    int number = chosen(views);
    if (number < 0 || !views->state->calls.at[number].waits || calls_of(views)->read != number)
        return false;
    *line = source_line(&calls_of(views)->asked, row + 1);
    return true;
}

/* For the line that says what runs. False when no model is asked. */
bool calls_doing(const struct views *views, struct buf *out) {
    const struct tune_state *state = views->state;
    int number = chosen(views), count = calls_running(state);
    if (number < 0)
        return false;
    bool sends = state->calls.at[number].held;
    if (waiting(views) >= 0 && !sends) {
        buf_puts(out, "waits for your answer: i writes it, p here, or paste it");
        return true;
    }
    if (calls_held(views, NULL)) {
        buf_puts(out, "waits to be sent: S sends it, 9 shows it");
        return true;
    }
    if (count == 1) {
        buf_printf(out, "%s  %s tokens", state->calls.at[number].model,
                   show_count(tokens_so_far(&state->calls.at[number])).text);
        return true;
    }
    double tokens = 0;
    for (size_t i = 0; i < state->calls.len; i++)
        tokens += runs(&state->calls.at[i]) ? tokens_so_far(&state->calls.at[i]) : 0;
    buf_printf(out, "%d models  %s tokens", count, show_count(tokens).text);
    return true;
}

/* ---- a person answers ----------------------------------------------------------------------- */

static void answer_with(struct views *views, struct str text, struct views_request *request) {
    (void)request;
    struct buf copy = {0};
    buf_add(&copy, text.at, text.len);
    if (views_act(views, &(struct tune_action){.kind = TUNE_ACT_ANSWER,
                                               .index = views->over.about,
                                               .text = copy.at ? copy.at : ""}))
        views_say(views, false, "answered");
    buf_free(&copy);
}

void calls_answer(struct views *views, struct str args, struct views_request *request) {
    int number = waiting(views);
    if (number < 0)
        return;
    views->over.about = number;
    if (args.len) {
        answer_with(views, args, request);
        return;
    }
    asked_read(views, number);
    buf_clear(&views->editing.text);
    buf_printf(&views->editing.text, "\n\n" SCISSORS "\n\n%s", calls_of(views)->text.at);
    act_open_editor(views, (struct tune_action){.kind = TUNE_ACT_ANSWER, .index = number},
                    "answer.md", 0, request);
}

void calls_answer_cut(struct buf *text) {
    const char *cut = text->at ? strstr(text->at, SCISSORS) : NULL;
    if (!cut)
        return;
    text->len = (size_t)(cut - text->at);
    text->at[text->len] = 0;
}

void calls_answer_here(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    views->over.about = waiting(views);
    views_ask_note(views, "answer", "Write or paste it; M-Enter begins a new line, Enter sends it.",
                   "", answer_with);
}

static void answer_pasted(struct views *views, struct str text, struct views_request *request) {
    (void)text;
    answer_with(views, buf_str(&views->editing.text), request);
}

bool calls_paste(struct views *views, struct str paste) {
    int number = views->state ? waiting(views) : -1;
    if (number < 0 || !views_can(views, TUNE_ACT_ANSWER))
        return false;
    struct buf lines = {0}, say = {0};
    int count = 1;
    for (size_t i = 0; i < paste.len; i++) {
        bool both = paste.at[i] == '\r' && i + 1 < paste.len && paste.at[i + 1] == '\n';
        if (!both)
            buf_putc(&lines, paste.at[i] == '\r' ? '\n' : paste.at[i]);
        count += !both && (paste.at[i] == '\r' || paste.at[i] == '\n');
    }
    buf_clear(&views->editing.text);
    text_sanitise(&views->editing.text, buf_str(&lines));
    buf_printf(&say, "Send what was pasted (%d line%s, %s) as the answer to question %d?", count,
               PLURAL(count), show_bytes((double)views->editing.text.len).text, number);
    views->over.about = number;
    views_ask_confirm(views, "answer", say.at, answer_pasted);
    buf_free(&lines);
    buf_free(&say);
    return true;
}
