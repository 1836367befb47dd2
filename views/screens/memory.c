/* SPDX-License-Identifier: Apache-2.0 */
/* Screen 8: experiences for other sessions, with their evidence and what came of them. */
#include "views/inner.h"

#include <stdio.h>

struct memory {
    struct tui_list list;
};

static struct memory *own(const struct views *views) {
    return views->own[VIEW_MEMORY];
}

#define MOST_PAIRS 3    /* pieces of further evidence that are named */
#define ORIGIN_COLS 100 /* columns from which on there is room for whose it is */

static void draw_experience(struct views *views, struct tui_area area, int row, int index) {
    const struct tune_state *state = views->state;
    const struct tune_experience *item = &state->memory.at[index];
    static const enum tui_role roles[TUNE_EXPERIENCE_STATES] = {
        [TUNE_EXPERIENCE_PROPOSED] = TUI_WAITING,
        [TUNE_EXPERIENCE_APPROVED] = TUI_GOOD,
        [TUNE_EXPERIENCE_EXPIRED] = TUI_DIM,
        [TUNE_EXPERIENCE_DELETED] = TUI_DIM};
    tui_say(tui_ink(area, roles[item->is]), row, 1, "%s", tune_experience_word(item->is));
    tui_say_right(tui_ink(area, item->speedup >= 1                  ? TUI_GOOD
                                : item->speedup < 1 || item->closed ? TUI_BAD
                                                                    : TUI_DIM),
                  row, 18, "%s", item->closed ? "closed" : show_speedup(item->speedup).text);
    bool here = tune_memory_applies(state, item) && item->is < TUNE_EXPERIENCE_EXPIRED;
    int right = area.cols - 2;
    struct str origin = {item->source, item->source ? strcspn(item->source, ",") : 0};
    if (item->imported && origin.len && origin.len < 30 && area.cols >= ORIGIN_COLS) {
        tui_say_right(tui_ink(area, TUI_DIM), row, right, STR_FMT, STR_ARG(origin));
        right -= (int)origin.len + 2;
    }
    tui_put_short(here ? area : tui_ink(area, TUI_DIM), row,
                  (struct tui_rect){0, 20, 1, right - 20}, str_of(item->title));
    find_mark(views, area, row, 20, str_of(item->title));
}

static void applies_print(const struct tune_state *state, const struct tune_experience *item,
                          struct buf *out) {
    const char *const fields[] = {item->family, item->generation, item->dialect};
    bool some = false;
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        some = some || fields[i];
    for (size_t i = 0; i < COUNT_OF(fields) && some; i++)
        if (fields[i])
            buf_printf(out, "%s%s", out->len ? ", " : "", fields[i]);
    if (item->applies_to)
        buf_printf(out, some ? " (%s)" : "%s", item->applies_to);
    if (!out->len)
        buf_puts(out, "not known");
    buf_puts(out, tune_memory_applies(state, item) ? ": here too" : ": not here");
}

/* "#59 against #56, #175 against #168 and 80 more": of a long session there are hundreds, and what
 * the experience says must not go out of sight behind them. */
static void pairs_print(const char *evidence, struct buf *out) {
    const char *end = evidence;
    size_t shown = 0, more = 0;
    for (const char *next = evidence; next; next = strstr(next, ", ")) {
        next += next > evidence ? 2 : 0;
        if (shown < MOST_PAIRS && ++shown)
            end = next + strcspn(next, ",");
        else
            more++;
    }
    buf_add(out, evidence, (size_t)(end - evidence));
    if (more)
        buf_printf(out, " and %zu more", more);
}

static void evidence_print(const struct tune_experience *item, struct buf *out) {
    if (item->attempt >= 0)
        buf_printf(out, "attempt #%d against #%d", item->attempt, item->against);
    else
        buf_puts(out, item->source ? item->source : "from before");
    if (item->evidence) {
        buf_puts(out, ", ");
        pairs_print(item->evidence, out);
    }
    if (item->merged)
        buf_printf(out, "; found %d times", item->merged + 1);
    if (item->edited)
        buf_puts(out, "; edited by you");
}

/* Which prompts it went into, and what came of them. */
static void earned_print(const struct tune_state *state, int index, struct buf *out) {
    struct tune_earned earned = tune_memory_earned(state, (size_t)index);
    int entered = state->memory.at[index].entered;
    buf_printf(out, "entered %d%s", entered,
               earned.n_calls ? ""
               : entered == 1 ? " prompt"
                              : " prompts");
    for (int i = 0; i < earned.n_calls; i++)
        buf_printf(out, "%s%d", i ? ", " : ": question ", earned.calls[i] + 1);
    if (earned.attempts)
        buf_printf(out, "; of %d attempt%s from them %d kept", earned.attempts,
                   PLURAL(earned.attempts), earned.kept);
    if (earned.kept)
        buf_printf(out, ", %s together", show_speedup(earned.gain).text);
}

/* Another agent's summary may be a page, so whose it is and what it is for come first. */
static void draw_experience_detail(const struct tune_state *state, struct tui_area area,
                                   int index) {
    const struct tune_experience *item = &state->memory.at[index];
    struct buf text = {0};
    int row = rows_field(area, 0, 13, "expired", item->expired);
    applies_print(state, item, &text);
    row = rows_field(area, row, 13, "applies to", text.at);
    buf_clear(&text);
    evidence_print(item, &text);
    row = rows_field(area, row, 13, "evidence", text.at);
    buf_clear(&text);
    earned_print(state, index, &text);
    row = rows_field(area, row, 13, "prompts", text.at);
    buf_free(&text);
    row = rows_field(area, row, 13, item->closed ? "directions" : "summary", item->summary);
    row = rows_field(area, row, 13, "slow", item->slow);
    rows_field(area, row, 13, "fast", item->fast);
}

static void memory_draw(struct views *views, struct tui_area body) {
    const struct tune_state *state = views->state;
    const char *const titles[] = {"experiences", "", "experience"};
    struct rows_pair pair = rows_pair(body, 2, titles);
    struct tui_list *list = &own(views)->list;
    rows_draw(views, pair.list, list, (int)state->memory.len, draw_experience);
    if (list->count)
        draw_experience_detail(state, pair.detail, list->cursor);
    else
        tui_say(tui_ink(pair.list, TUI_DIM), 1, 2,
                "Nothing yet: the summarise step proposes what gained 1.04x or lost 1.15x.");
}

/* ---- what the keys do ----------------------------------------------------------------------- */

static void edit_memory(struct views *views, struct views_request *request) {
    int index = own(views)->list.cursor;
    const struct tune_experience *experience = &views->state->memory.at[index];
    buf_clear(&views->editing.text);
    buf_printf(&views->editing.text, "%s\n\n%s\n", experience->title ? experience->title : "",
               experience->summary ? experience->summary : "");
    act_open_editor(views, (struct tune_action){.kind = TUNE_ACT_EDIT_MEMORY, .index = index},
                    "experience.txt", 0, request);
}

static void do_approve(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    const struct tune_state *state = views->state;
    int index = own(views)->list.cursor;
    bool there = index >= 0 && (size_t)index < state->memory.len;
    const struct tune_experience *item = there ? &state->memory.at[index] : NULL;
    /* When the loop waits for this one, it goes on. */
    bool waits = item && state->wait == TUNE_WAIT_GATE && state->wait_step == TUNE_STEP_SUMMARISE &&
                 item->attempt == tune_lane_attempt(state, views->lane) && !item->imported;
    views_act(views,
              &(struct tune_action){.kind = waits ? TUNE_ACT_APPROVE : TUNE_ACT_APPROVE_MEMORY,
                                    .index = index});
}

static bool may_approve(const struct views *views, size_t index) {
    const struct tune_experience *item = &views->state->memory.at[index];
    return item->is == TUNE_EXPERIENCE_PROPOSED && tune_memory_applies(views->state, item);
}

static void approve_fitting(struct views *views, struct str text, struct views_request *request) {
    (void)text;
    (void)request;
    int count = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < views->state->memory.len; i++) {
        if (!may_approve(views, i))
            continue;
        ok = views_act(views,
                       &(struct tune_action){.kind = TUNE_ACT_APPROVE_MEMORY, .index = (int)i});
        count += ok;
    }
    if (ok)
        views_say(views, false, "%d approved; u takes them back, one after the other", count);
}

/* An import may bring dozens. */
static void do_approve_all(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    int count = 0;
    struct buf text = {0};
    for (size_t i = 0; i < views->state->memory.len; i++)
        count += may_approve(views, i);
    buf_printf(&text,
               "Approve %d experience%s that %s proposed and fit%s this kernel? From then on "
               "prompts contain them, the newest first.",
               count, PLURAL(count), count == 1 ? "is" : "are", count == 1 ? "s" : "");
    if (count)
        views_ask_confirm(views, "approve", text.at, approve_fitting);
    else
        views_say(views, false, "no proposed experience fits this kernel");
    buf_free(&text);
}

static void do_expire(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    views_act(views, &(struct tune_action){.kind = TUNE_ACT_EXPIRE_MEMORY,
                                           .index = own(views)->list.cursor});
}

static void do_delete(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    views_act(views, &(struct tune_action){.kind = TUNE_ACT_DELETE_MEMORY,
                                           .index = own(views)->list.cursor});
}

static bool has_memory(const struct views *views) {
    return views->state->memory.len > 0;
}

static struct tui_list *memory_list(struct views *views) {
    return &own(views)->list;
}

static struct str memory_line(const void *data, int row) {
    const struct views *views = data;
    bool there = row >= 0 && (size_t)row < views->state->memory.len;
    return str_of(there ? views->state->memory.at[row].title : "");
}

static void memory_forget(struct views *views) {
    own(views)->list = (struct tui_list){0};
}

static const struct command commands[] = {
    {"memory-approve", "approve", "keep the experience for other sessions", WHERE_OWN, PLACE_BACK,
     TUNE_ACTIONS, do_approve, has_memory, NULL},
    {"memory-approve-all", "all that fit", "keep all proposed experiences that fit this kernel",
     WHERE_OWN, PLACE_BACK, TUNE_ACTIONS, do_approve_all, has_memory, NULL},
    {"memory-expire", "expire", "leave the experience out of prompts; again: take it back",
     WHERE_OWN, PLACE_BACK, TUNE_ACTIONS, do_expire, has_memory, NULL},
    {"memory-delete", "delete", "delete the experience (undo brings it back)", WHERE_OWN,
     PLACE_BACK, TUNE_ACTIONS, do_delete, has_memory, NULL},
};

const struct screen memory_screen = {
    .name = "memory",
    .about = "experiences kept for other sessions",
    .command = {"memory", "", "screen 8: experiences kept for other sessions", WHERE_TUNING,
                PLACE_OPEN, TUNE_ACTIONS, NULL, NULL, NULL},
    .key = "8",
    .keys = "a memory-approve\nA memory-approve-all\ne edit\nx memory-expire\n"
            "D memory-delete\nn next-match\nN previous-match\n",
    .commands = commands,
    .n_commands = COUNT_OF(commands),
    .own_first = true,
    .size = sizeof(struct memory),
    .forget = memory_forget,
    .draw = memory_draw,
    .list = memory_list,
    .line_of = memory_line,
    .edit = edit_memory,
    .can_edit = has_memory,
};
