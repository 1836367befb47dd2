/* SPDX-License-Identifier: Apache-2.0 */
/* The one table of commands. The key line, the searchable help, the command line with its
 * completion and the manual page are all made from it. What a command does to the session is in
 * actions.c. */
#include "views/private.h"

#include <math.h>
#include <stdio.h>

#define ON(id) (1u << VIEW_##id)
#define EVERYWHERE ((1u << VIEW_COUNT) - 1)
#define TUNING (EVERYWHERE & ~ON(START))

/* The default bindings, in the form of the user's own. Places are the names of the views. */
const char command_keys[] =
    "any q back\nany Esc back\nany C-c quit\nany ? help\nany F1 help\nany : command\n"
    "any C-z suspend\nany C-l repaint\nany / search\n"
    "any 1 workbench\nany 2 kernel\nany 3 diff\nany 4 device\nany 5 profile\nany 6 notes\n"
    "any 7 history\nany 8 memory\nany 9 prompt\nany 0 settings\n"
    "any b summary\nany l lanes\n"
    "any } next-lane\nany { previous-lane\nany . next-open-lane\n"
    "any k up\nany Up up\nany j down\nany Down down\nany PageUp page-up\nany C-b page-up\n"
    "any PageDown page-down\nany C-f page-down\nany C-u half-up\nany C-d half-down\n"
    "any Home first\nany < first\nany End last\nany > last\nany G last\nany Enter enter\n"
    "any C-n next-match\nany C-p previous-match\n"
    "any Tab next-pane\nany S-Tab previous-pane\nany [ previous-step\nany ] next-step\n"
    "any Left left\nany Right right\n"
    "any z zoom\nany s run\nany u undo\nany U redo\nany C-r redo\nany g gates\nany R revert\n"
    "any a approve\nany r reject\n"
    "workbench e edit\nworkbench n another\nworkbench w write\n"
    "workbench h hunks\nworkbench Space take\nworkbench d side-by-side\nworkbench f filter\n"
    "workbench F filter-level\nworkbench P plans\nworkbench o overrule\nworkbench m measure\n"
    "kernel n next-match\nkernel N previous-match\nkernel v other-kernel\n"
    "diff n next-match\ndiff N previous-match\ndiff d side-by-side\n"
    "any t retry\n"
    "device Tab next-tab\ndevice S-Tab previous-tab\n"
    "device n next-match\ndevice N previous-match\ndevice f filter\ndevice F filter-level\n"
    "profile t timeline\nprofile + zoom-in\nprofile = zoom-in\nprofile - zoom-out\n"
    "prompt n next-match\nprompt N previous-match\nprompt Space switch-part\nprompt e edit\n"
    "prompt x restore-part\nprompt Tab calls\nprompt o next-role\nprompt i answer\n"
    "prompt p answer-here\nprompt S send\nprompt h hold\n"
    "workbench S send\nworkbench i answer\nworkbench p answer-here\n"
    "workbench c next-call\nworkbench C previous-call\n"
    "notes e edit\nnotes p pin\nnotes x drop\nnotes Tab scores\n"
    "history Space mark\nhistory c compare\nhistory o order\nhistory v view\n"
    "history n next-match\nhistory N previous-match\n"
    "lanes n another\nlanes e edit\n"
    "memory a memory-approve\nmemory A memory-approve-all\nmemory e edit\n"
    "memory x memory-expire\nmemory D memory-delete\n"
    "";

static void do_quit(struct views *views, struct str args, struct views_request *request) {
    (void)views;
    (void)args;
    request->wish = VIEWS_QUIT;
}

static void do_back(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    if (views->hunks)
        views->hunks = false;
    else if (views->zoomed && views->view == VIEW_WORKBENCH)
        views->zoomed = false;
    else if (views->step >= 0 && views->view == VIEW_WORKBENCH)
        views->step = -1;
    else if (views->view == VIEW_PROMPT && prompt_back(views))
        views->shift = 0;
    else if (views->view != VIEW_START && views->view != VIEW_WORKBENCH)
        views_show(views, VIEW_WORKBENCH);
    else
        request->wish = VIEWS_QUIT;
}

static void do_suspend(struct views *views, struct str args, struct views_request *request) {
    (void)views;
    (void)args;
    request->wish = VIEWS_SUSPEND;
}

static void do_repaint(struct views *views, struct str args, struct views_request *request) {
    (void)views;
    (void)args;
    request->wish = VIEWS_REPAINT;
}

static void do_start_screen(struct views *views, struct str args, struct views_request *request) {
    (void)views;
    (void)args;
    request->wish = VIEWS_LEAVE;
}

static void do_command(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    views_open_line(views, false, "");
}

static void do_search(struct views *views, struct str args, struct views_request *request);

static void chosen_command(struct views *views, struct str text, struct views_request *request) {
    long long number;
    const struct command *command = str_to_int(text, &number) ? command_at((size_t)number) : NULL;
    if (command)
        command_run(views, command, STR(""), request);
}

static void do_help(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    views->over.rows.len = 0;
    const char *context = view_at(views->view)->name;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; command_at(i); i++) {
            const struct command *command = command_at(i);
            bool now = command_is_here(views, command) && command_can(views, command);
            if (now == (pass == 1))
                continue;
            struct tui_key key;
            struct buf name = {0};
            if (tui_bindings_key_of(&views->bindings, context, command->name, &key))
                tui_key_print(key, &name);
            views_menu_row(views, (int)i, name.at ? name.at : "", command->name, command->help);
            views->over.rows.at[views->over.rows.len - 1].dim = !now;
            buf_free(&name);
        }
    views_open_menu(views, "keys and commands", chosen_command);
}

/* Screens. */
#define SHOW(function, id)                                                                      \
    static void function(struct views *views, struct str args, struct views_request *request) { \
        (void)args;                                                                             \
        (void)request;                                                                          \
        views_show(views, id);                                                                  \
    }
SHOW(do_workbench, VIEW_WORKBENCH)
SHOW(do_kernel, VIEW_KERNEL)
SHOW(do_diff, VIEW_DIFF)
SHOW(do_device, VIEW_DEVICE)
SHOW(do_profile, VIEW_PROFILE)
SHOW(do_notes, VIEW_NOTES)
SHOW(do_history, VIEW_HISTORY)
SHOW(do_memory, VIEW_MEMORY)
SHOW(do_prompt, VIEW_PROMPT)
SHOW(do_settings, VIEW_SETTINGS)
SHOW(do_summary, VIEW_SUMMARY)
#undef SHOW

static void move(struct views *views, enum tui_move how) {
    const struct view *view = view_at(views->view);
    struct tui_list *list = views_list(views);
    if (!list)
        return;
    if (views->view == VIEW_WORKBENCH && views->hunks && how <= TUI_MOVE_DOWN) {
        int last = (int)views->diff.n_hunks - 1, step = how == TUI_MOVE_UP ? -1 : 1;
        views->hunk = MAX_OF(0, MIN_OF(views->hunk + step, last));
        return;
    }
    tui_list_move(list, how);
    if (how == TUI_MOVE_LAST && (list == &views->panes[PANE_DEVICE] || list == &views->device_list))
        list->follow = true;
    if (view->moved)
        view->moved(views);
}

#define MOVE(function, how)                                                                     \
    static void function(struct views *views, struct str args, struct views_request *request) { \
        (void)args;                                                                             \
        (void)request;                                                                          \
        move(views, how);                                                                       \
    }
MOVE(do_up, TUI_MOVE_UP)
MOVE(do_down, TUI_MOVE_DOWN)
MOVE(do_page_up, TUI_MOVE_PAGE_UP)
MOVE(do_page_down, TUI_MOVE_PAGE_DOWN)
MOVE(do_half_up, TUI_MOVE_HALF_UP)
MOVE(do_half_down, TUI_MOVE_HALF_DOWN)
MOVE(do_first, TUI_MOVE_FIRST)
MOVE(do_last, TUI_MOVE_LAST)
#undef MOVE

static bool in_timeline(const struct views *views) {
    return views->view == VIEW_PROFILE && views->profile_part == PROFILE_TIMELINE;
}

static void do_timeline(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    views->profile_part = (views->profile_part + 1) % PROFILE_PARTS;
    views->profile_list.cursor = 0;
    views->profile_line = 0;
}

static void do_zoom_in(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    profile_timeline_zoom(views, 0.5);
}

static void do_zoom_out(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    profile_timeline_zoom(views, 2);
}

/* Long lines scroll sideways, a few columns at a time; on a timeline the cursor moves. */
static void do_left(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    if (in_timeline(views))
        profile_timeline_step(views, -1);
    else
        views->shift = MAX_OF(0, views->shift - 8);
}

static void do_right(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    if (in_timeline(views))
        profile_timeline_step(views, 1);
    else
        views->shift = MIN_OF(400, views->shift + 8);
}

static void do_enter(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    const struct view *view = view_at(views->view);
    if (view->enter)
        view->enter(views, request);
}

static void do_next_pane(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    views->pane = (views->pane + 1) % PANE_COUNT;
    views->shift = 0;
    views->hunks = false;
}

static void do_previous_pane(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    views->pane = (views->pane + PANE_COUNT - 1) % PANE_COUNT;
    views->shift = 0;
    views->hunks = false;
}

/* Going to a step brings the pane to the front that shows what it produced. */
static void go_step(struct views *views, int by) {
    static const enum pane shows[TUNE_STEPS] = {
        [TUNE_STEP_PROFILE] = PANE_PROFILE,   [TUNE_STEP_PLAN] = PANE_PROPOSAL,
        [TUNE_STEP_REWRITE] = PANE_PROPOSAL,  [TUNE_STEP_VERIFY] = PANE_DEVICE,
        [TUNE_STEP_BENCHMARK] = PANE_DEVICE,  [TUNE_STEP_DECIDE] = PANE_PROFILE,
        [TUNE_STEP_SUMMARISE] = PANE_PROFILE, [TUNE_STEP_REFLECT] = PANE_PROFILE,
    };
    int step = views->step < 0 ? (int)views->state->step : views->step + by;
    views->step = MAX_OF(0, MIN_OF(step, TUNE_STEPS - 1));
    views->pane = shows[views->step];
    views->hunks = false;
}

static void do_next_step(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    go_step(views, 1);
}

static void do_previous_step(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    go_step(views, -1);
}

static void do_zoom(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    views->zoomed = !views->zoomed;
}

static void do_sides(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    views->side_by_side = !views->side_by_side;
}

static void do_hunks(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    views->hunks = !views->hunks;
    views->hunk = 0;
    views->pane = PANE_PROPOSAL;
}

static void do_filter(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    log_next_filter(views, false);
}

static void do_filter_level(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    log_next_filter(views, true);
}

static void do_next_tab(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    log_next_tab(views, 1);
}

static void do_previous_tab(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    log_next_tab(views, -1);
}

static void do_other_kernel(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    views->kernel_attempt = views->kernel_attempt == -2 ? -1 : -2;
}

static void find(struct views *views, int step) {
    const struct view *view = view_at(views->view);
    struct tui_list *list = views_list(views);
    struct str (*line_of)(const void *, int) = view->line_of;
    if (view->find && views->search.len) {
        view->find(views, step, false);
        return;
    }
    if (!list || !line_of || views->search.len == 0)
        return;
    int row =
        tui_find_row(buf_str(&views->search), list->cursor, step, list->count, line_of, views);
    if (row < 0)
        views_say(views, true, "'%s' occurs nowhere here", views->search.at);
    else
        tui_list_go(list, row);
}

static void do_search(struct views *views, struct str args, struct views_request *request) {
    (void)request;
    if (args.len == 0) {
        views_open_line(views, true, "");
        return;
    }
    buf_clear(&views->search);
    buf_add(&views->search, args.at, args.len);
    if (view_at(views->view)->find) {
        view_at(views->view)->find(views, 1, true);
        return;
    }
    struct tui_list *list = views_list(views);
    if (list && !list->follow)
        list->cursor--; /* the row under the cursor counts, too */
    find(views, list && list->follow ? -1 : 1);
    if (list && list->cursor < 0)
        list->cursor = 0;
}

static void do_next_match(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    find(views, 1);
}

static void do_previous_match(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    find(views, -1);
}

static void do_mark(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    int id = history_attempt(views), *marks = views->marks;
    if (marks[0] == id || marks[1] == id) {
        int other = marks[0] == id ? marks[1] : marks[0];
        marks[0] = other;
        marks[1] = -1;
    } else {
        marks[marks[0] < 0 ? 0 : 1] = id;
    }
    tui_list_move(&views->history_list, TUI_MOVE_DOWN);
}

static void do_compare(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    int id = history_attempt(views);
    const struct tune_attempt *attempt = tune_state_attempt(views->state, id);
    if (views->marks[0] < 0 && attempt)
        views->marks[0] = attempt->parent >= 0 ? attempt->parent : 0;
    if (views->marks[1] < 0)
        views->marks[1] = id;
    views_show(views, VIEW_DIFF);
}

static void do_order(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    views->history_by_latency = !views->history_by_latency;
    views->history_seq = -1;
    views_say(views, false, views->history_by_latency ? "fastest first" : "as a tree");
}

static void do_view(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    views->kernel_attempt = history_attempt(views);
    views_show(views, VIEW_KERNEL);
}

static void do_scores(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    views->scores = !views->scores;
}

static void do_memory_delete(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    views_act(views, &(struct tune_action){.kind = TUNE_ACT_DELETE_MEMORY,
                                           .index = views->memory_list.cursor});
}

static bool has_matches(const struct views *views) {
    return views->search.len > 0;
}

static bool has_proposal(const struct views *views) {
    return views->state && views->state->candidate.exists && views->diff.n_hunks > 0;
}

static bool in_hunks(const struct views *views) {
    return views->hunks && tune_can(views->state, TUNE_ACT_LEAVE_HUNK);
}

static bool has_plans(const struct views *views) {
    return views->state->plans.len > 1 && tune_can(views->state, TUNE_ACT_CHOOSE_PLAN);
}

static bool has_notes(const struct views *views) {
    return views->view != VIEW_NOTES || views->state->notes.len > 0;
}

static bool has_memory(const struct views *views) {
    return views->state->memory.len > 0;
}

/* At a gate nothing is decided about what is closed. */
static bool lane_can(const struct views *views) {
    return views->state->wait != TUNE_WAIT_GATE || lanes_is_open(views);
}

static bool can_edit(const struct views *views) {
    if (views->view == VIEW_NOTES)
        return views->state->notes.len > 0;
    if (views->view == VIEW_MEMORY)
        return views->state->memory.len > 0;
    if (views->view == VIEW_PROMPT)
        return prompt_has_part(views);
    return tune_can(views->state, TUNE_ACT_EDIT_PLAN) ||
           tune_can(views->state, TUNE_ACT_EDIT_KERNEL);
}

static bool is_measured(const struct views *views) {
    const struct tune_attempt *attempt = tune_state_attempt(views->state, views->state->current);
    return attempt && attempt->id > 0 && isfinite(attempt->latency_us);
}

static bool can_run(const struct views *views) {
    return tune_can(views->state, TUNE_ACT_START) || tune_can(views->state, TUNE_ACT_PAUSE);
}

static bool two_marked(const struct views *views) {
    return views->state->attempts.len > 1;
}

#define NONE TUNE_ACTIONS
static const struct command commands[] = {
    /* name, hint in the key line ("" for none), help, where, action, handler, condition */
    {"approve", "approve", "accept what waits at a gate, all lanes",
     ON(WORKBENCH) | ON(KERNEL) | ON(DIFF) | ON(DEVICE) | ON(PROFILE) | ON(PROMPT) | ON(HISTORY) |
         ON(NOTES) | ON(SETTINGS) | ON(LANES),
     TUNE_ACT_APPROVE, act_approve, NULL},
    {"lanes", "lanes", "the directions of this round in a list; with a number: look at that one",
     TUNING, NONE, lanes_show, lanes_may},
    {"next-lane", "next lane", "look at the next direction of this round",
     ON(WORKBENCH) | ON(LANES), TUNE_ACT_FOCUS, lanes_next, NULL},
    {"previous-lane", "", "look at the direction before", ON(WORKBENCH) | ON(LANES), TUNE_ACT_FOCUS,
     lanes_previous, NULL},
    {"next-open-lane", "", "look at the next direction that is not closed",
     ON(WORKBENCH) | ON(LANES), TUNE_ACT_FOCUS, lanes_next_open, NULL},
    {"send", "send", "send the question that waits for it to the model", ON(WORKBENCH) | ON(PROMPT),
     TUNE_ACT_SEND, calls_send, NULL},
    {"retry", "try again", "connect to the host, or ask the model that is waited for, now", TUNING,
     NONE, place_retry, place_can_retry},
    {"timeline", "timeline/roofline", "show cost per line, the engine timeline, the roofline",
     ON(PROFILE), NONE, do_timeline, NULL},
    {"zoom-in", "zoom in", "show half as much of the timeline, around the cursor", ON(PROFILE),
     NONE, do_zoom_in, in_timeline},
    {"zoom-out", "zoom out", "show twice as much of the timeline", ON(PROFILE), NONE, do_zoom_out,
     in_timeline},
    {"run", "start/pause", "start the loop, or pause it after the step that runs", TUNING, NONE,
     act_run, can_run},
    {"answer", "answer", "answer the question that waits for you, in $EDITOR",
     ON(WORKBENCH) | ON(PROMPT), TUNE_ACT_ANSWER, calls_answer, NULL},
    {"answer-here", "answer here", "write or paste the answer without an editor",
     ON(WORKBENCH) | ON(PROMPT), TUNE_ACT_ANSWER, calls_answer_here, NULL},
    {"next-call", "next call", "show the answer of the next model that is asked now", ON(WORKBENCH),
     NONE, calls_next, calls_many},
    {"previous-call", "", "show the answer of the model before", ON(WORKBENCH), NONE,
     calls_previous, calls_many},
    {"take", "take/leave", "take this hunk of the proposal, or leave it out: take [why not]",
     ON(WORKBENCH), NONE, act_take, in_hunks},
    {"edit", "edit", "edit what waits (plan, kernel), a note, an experience, a part of a prompt",
     ON(WORKBENCH) | ON(NOTES) | ON(MEMORY) | ON(PROMPT) | ON(LANES), NONE, act_edit, can_edit},
    {"switch-part", "on/off", "leave this part out of this role's prompts, or put it back",
     ON(PROMPT), NONE, prompt_switch, prompt_has_part},
    {"restore-part", "restore", "the template's words again instead of the edited ones", ON(PROMPT),
     NONE, prompt_restore, prompt_is_edited},
    {"calls", "calls", "the next question, or those so far; there: its prompt or its answer",
     ON(PROMPT), NONE, prompt_calls, NULL},
    {"next-role", "role", "show what another role would be asked", ON(PROMPT), NONE,
     prompt_next_role, prompt_has_part},
    {"hold", "hold",
     "each question waits until you looked at it and send it; again: they go out at once",
     ON(PROMPT), TUNE_ACT_HOLD, prompt_hold, NULL},
    {"hunks", "hunks", "go through the hunks of the proposal one by one", ON(WORKBENCH), NONE,
     do_hunks, has_proposal},
    {"plans", "plans", "choose another one of the plans", ON(WORKBENCH), NONE, act_plans,
     has_plans},
    {"reject", "reject",
     "refuse the proposal (of this lane) with a reason that the next one gets "
     "to read",
     ON(WORKBENCH) | ON(KERNEL) | ON(DIFF) | ON(LANES), TUNE_ACT_REJECT, act_reject, lane_can},
    {"another", "another", "drop the proposal (of this lane) and ask for a new one",
     ON(WORKBENCH) | ON(LANES), TUNE_ACT_ANOTHER, act_another, lane_can},
    {"write", "write it myself", "write the next kernel in $EDITOR", ON(WORKBENCH),
     TUNE_ACT_WRITE_KERNEL, act_write, NULL},
    {"sweep", "", "try values of named constants: sweep TILE_N 128 256 512; alone: which there are",
     TUNING, TUNE_ACT_SWEEP, act_sweep, NULL},
    {"overrule", "overrule", "decide otherwise: keep, revert or inconclusive", ON(WORKBENCH),
     TUNE_ACT_OVERRULE, act_overrule, is_measured},
    {"measure", "measure", "measure the candidate once more", ON(WORKBENCH), TUNE_ACT_MEASURE, NULL,
     NULL},
    {"revert", "revert to", "go back to an attempt: it becomes the incumbent, nothing is deleted",
     TUNING, TUNE_ACT_REVERT, act_revert, NULL},
    {"undo", "undo", "take back the last decision", TUNING, TUNE_ACT_UNDO, NULL, NULL},
    {"redo", "", "do again what was taken back", TUNING, TUNE_ACT_REDO, NULL, NULL},
    {"gates", "gates", "which steps wait for you: ask, auto, or auto when it came out well", TUNING,
     NONE, act_gates, NULL},
    {"gate", "", "set a gate: gate STEP|all ask|auto|auto-green", TUNING, TUNE_ACT_SET_GATE,
     act_gate, NULL},
    {"mark", "mark", "mark an attempt; two marked ones are compared", ON(HISTORY), NONE, do_mark,
     NULL},
    {"compare", "compare", "show two attempts side by side", ON(HISTORY), NONE, do_compare,
     two_marked},
    {"view", "view", "show the attempt's kernel", ON(HISTORY), NONE, do_view, NULL},
    {"order", "order", "as a tree, or fastest first", ON(HISTORY), NONE, do_order, NULL},
    {"scores", "scores", "what became of each model's plans; again: the note", ON(NOTES), NONE,
     do_scores, NULL},
    {"pin", "pin", "keep the note in every prompt", ON(NOTES), NONE, act_pin, has_notes},
    {"drop", "drop", "leave the note out of prompts; again: take it back", ON(NOTES), NONE,
     act_drop, has_notes},
    {"memory-approve", "approve", "keep the experience for other sessions", ON(MEMORY), NONE,
     act_memory_approve, has_memory},
    {"memory-approve-all", "all that fit", "keep all proposed experiences that fit this kernel",
     ON(MEMORY), NONE, act_memory_approve_all, has_memory},
    {"memory-expire", "expire", "leave the experience out of prompts; again: take it back",
     ON(MEMORY), NONE, act_memory_expire, has_memory},
    {"memory-delete", "delete", "delete the experience (undo brings it back)", ON(MEMORY), NONE,
     do_memory_delete, has_memory},
    {"enter", "open", "open what is under the cursor",
     EVERYWHERE & ~ON(KERNEL) & ~ON(NOTES) & ~ON(MEMORY), NONE, do_enter, NULL},
    {"other-kernel", "candidate/incumbent", "show the other kernel", ON(KERNEL), NONE,
     do_other_kernel, NULL},
    {"side-by-side", "side by side", "show the difference in one or in two columns",
     ON(WORKBENCH) | ON(DIFF), NONE, do_sides, NULL},
    {"filter", "phase", "show one phase of the log, then the next, then all",
     ON(WORKBENCH) | ON(DEVICE), NONE, do_filter, NULL},
    {"filter-level", "level", "hide what is less than a warning, an error, nothing",
     ON(WORKBENCH) | ON(DEVICE), NONE, do_filter_level, NULL},
    {"next-tab", "job", "show the log of one running job, then the next, then all", ON(DEVICE),
     NONE, do_next_tab, NULL},
    {"previous-tab", "", "show the log of the job before", ON(DEVICE), NONE, do_previous_tab, NULL},
    {"search", "", "find text on this screen: / text", TUNING, NONE, do_search, NULL},
    {"next-match", "", "go to the next place that was searched for", TUNING, NONE, do_next_match,
     has_matches},
    {"previous-match", "", "go to the previous place that was searched for", TUNING, NONE,
     do_previous_match, has_matches},
    {"next-pane", "pane", "go to the next pane", ON(WORKBENCH), NONE, do_next_pane, NULL},
    {"previous-pane", "", "go to the previous pane", ON(WORKBENCH), NONE, do_previous_pane, NULL},
    {"zoom", "zoom", "one pane over the whole screen, and back", ON(WORKBENCH), NONE, do_zoom,
     NULL},
    {"previous-step", "", "show what the step before produced", ON(WORKBENCH), NONE,
     do_previous_step, NULL},
    {"next-step", "", "show what the next step produced", ON(WORKBENCH), NONE, do_next_step, NULL},
    {"budget", "", "set a limit: budget rounds|wall|device|tokens|dollars NUMBER|none", TUNING,
     TUNE_ACT_SET_BUDGET, act_budget, NULL},
    {"tolerance", "", "set the relative L2 error that counts as correct: tolerance 2e-5", TUNING,
     TUNE_ACT_SET_TOLERANCE, act_tolerance, NULL},
    {"precision", "", "set the precision policy: precision keep|any", TUNING,
     TUNE_ACT_SET_PRECISION, act_precision, NULL},
    {"allow", "", "allow candidates what the first kernel uses beyond their list (see the log)",
     TUNING, TUNE_ACT_ALLOW, act_allow, NULL},
    {"workbench", "", "screen 1: kernel, proposal, device and profile at once", TUNING, NONE,
     do_workbench, NULL},
    {"kernel", "", "screen 2: the whole kernel with what each line costs", TUNING, NONE, do_kernel,
     NULL},
    {"diff", "", "screen 3: two attempts, source and metrics", TUNING, NONE, do_diff, NULL},
    {"device", "", "screen 4: the whole log", TUNING, NONE, do_device, NULL},
    {"profile", "", "screen 5: metrics, bounds, roofline, timeline", TUNING, NONE, do_profile,
     NULL},
    {"notes", "", "screen 6: what was learned", TUNING, NONE, do_notes, NULL},
    {"history", "", "screen 7: every attempt, and going back to one", TUNING, NONE, do_history,
     NULL},
    {"memory", "", "screen 8: experiences kept for other sessions", TUNING, NONE, do_memory, NULL},
    {"prompt", "", "screen 9: what goes to a model next, part by part, and what went", TUNING, NONE,
     do_prompt, NULL},
    {"settings", "", "screen 0: values, gates and budgets", TUNING, NONE, do_settings, NULL},
    {"summary", "", "what came of it: best, ladder, what failed, what was learnt, what it cost",
     TUNING, NONE, do_summary, NULL},
    {"sessions", "", "close this session and choose another", TUNING, NONE, do_start_screen, NULL},
    {"up", "", "one row up", EVERYWHERE, NONE, do_up, NULL},
    {"down", "", "one row down", EVERYWHERE, NONE, do_down, NULL},
    {"page-up", "", "one page up", EVERYWHERE, NONE, do_page_up, NULL},
    {"page-down", "", "one page down", EVERYWHERE, NONE, do_page_down, NULL},
    {"half-up", "", "half a page up", EVERYWHERE, NONE, do_half_up, NULL},
    {"half-down", "", "half a page down", EVERYWHERE, NONE, do_half_down, NULL},
    {"left", "", "show what is further left; on a timeline the instruction before", TUNING, NONE,
     do_left, NULL},
    {"right", "", "show what is further right; on a timeline the next instruction", TUNING, NONE,
     do_right, NULL},
    {"first", "", "to the first row", EVERYWHERE, NONE, do_first, NULL},
    {"last", "", "to the last row; a log follows from there", EVERYWHERE, NONE, do_last, NULL},
    {"back", "back", "leave this, back to the workbench; from there: quit", EVERYWHERE, NONE,
     do_back, NULL},
    {"help", "keys", "this list", EVERYWHERE, NONE, do_help, NULL},
    {"command", "command", "type a command; Tab completes", EVERYWHERE, NONE, do_command, NULL},
    {"repaint", "", "draw the screen anew", EVERYWHERE, NONE, do_repaint, NULL},
    {"suspend", "", "back to the shell; fg returns", EVERYWHERE, NONE, do_suspend, NULL},
    {"quit", "", "leave hone; the session is kept and goes on next time", EVERYWHERE, NONE, do_quit,
     NULL},
};

const struct command *command_at(size_t index) {
    return index < COUNT_OF(commands) ? &commands[index] : NULL;
}

const struct command *command_find(struct str name) {
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        if (str_is(name, commands[i].name))
            return &commands[i];
    return NULL;
}

bool command_exists(const char *name) {
    return command_find(str_of(name)) != NULL;
}

/* The default keys of a command, with a blank between them. */
static void keys_of(const char *name, char *keys, size_t size) {
    struct str rest = str_of(command_keys), line, context, key, command;
    struct buf all = {0};
    while (str_next(&rest, '\n', &line)) {
        if (!str_next(&line, ' ', &context) || !str_next(&line, ' ', &key) ||
            !str_next(&line, ' ', &command) || !str_is(command, name))
            continue;
        buf_printf(&all, "%s" STR_FMT, all.len ? " " : "", STR_ARG(key));
    }
    snprintf(keys, size, "%s", all.at ? all.at : "");
    buf_free(&all);
}

bool views_command_at(size_t index, struct views_command_info *info) {
    const struct command *command = command_at(index);
    if (!command)
        return false;
    info->name = command->name;
    info->help = command->help;
    keys_of(command->name, info->keys, sizeof info->keys);
    return true;
}

bool command_is_here(const struct views *views, const struct command *command) {
    return command->where & (1u << views->view);
}

bool command_can(const struct views *views, const struct command *command) {
    if (command->action != TUNE_ACTIONS &&
        (!views->state || !tune_can(views->state, command->action)))
        return false;
    return !command->can || (views->state && command->can(views));
}

void command_run(struct views *views, const struct command *command, struct str args,
                 struct views_request *request) {
    if (!command_is_here(views, command)) {
        views_say(views, true, "'%s' is not possible on this screen", command->name);
        return;
    }
    if (command->can == lane_can && views->state && !lane_can(views)) {
        lanes_take_cursor(views); /* says why it is closed */
        return;
    }
    if (command->can && views->state && !command->can(views)) {
        views_say(views, true, "'%s' makes no sense now: %s", command->name, command->help);
        return;
    }
    if (command->run)
        command->run(views, args, request);
    else
        views_act(views, &(struct tune_action){.kind = command->action});
}

void command_line(struct views *views, struct str line, struct views_request *request) {
    line = str_trim(line);
    size_t len = 0;
    while (len < line.len && line.at[len] != ' ')
        len++;
    struct str name = {line.at, len}, args = str_trim((struct str){line.at + len, line.len - len});
    const struct command *command = command_find(name);
    if (len == 0)
        return;
    if (!command)
        views_say(views, true, "no command is called '%.40s'; ? lists them all", line.at);
    else
        command_run(views, command, args, request);
}
