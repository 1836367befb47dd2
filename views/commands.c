/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of all screens, and running one. A screen's own commands are in its file; the key
 * line, the list of keys, the command line with its completion and the manual page read them all.
 * What a command does to the session is in actions.c. */
#include "views/inner.h"

#include <stdio.h>

static void leave_anyway(struct views *views, struct str text, struct views_request *request) {
    (void)text;
    request->wish = (enum views_wish)views->over.about;
}

void views_leave(struct views *views, enum views_wish wish, struct views_request *request) {
    struct buf text = {0};
    if (!status_unfinished(views, &text)) {
        request->wish = wish;
        return;
    }
    buf_puts(&text, wish == VIEWS_QUIT ? "Leave hone?" : "Leave this session?");
    views_ask_confirm(views, "leave", text.at, leave_anyway);
    views->over.about = (int)wish;
    buf_free(&text);
}

static void do_quit(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    views_leave(views, VIEWS_QUIT, request);
}

/* Closes what is open, or at last the screen, which leaves the workbench. False when nothing was
 * open. */
static bool close_one(struct views *views) {
    if (screen_here(views)->back && screen_here(views)->back(views))
        return true;
    if (views->view == VIEW_START || views->view == VIEW_WORKBENCH)
        return false;
    views_show(views, VIEW_WORKBENCH);
    return true;
}

static void do_back(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    if (!close_one(views))
        views_say(views, false, "nothing is open; q leaves hone");
}

static void do_leave(struct views *views, struct str args, struct views_request *request) {
    if (!close_one(views))
        do_quit(views, args, request);
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

static void do_command(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    views_open_line(views, false, "");
}

static void do_help(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    help_open(views);
}

static void move(struct views *views, enum tui_move how) {
    const struct screen *screen = screen_here(views);
    struct tui_list *list = views_list(views);
    if (!list || (screen->move && screen->move(views, how)))
        return;
    tui_list_move(list, how);
    if (screen->moved)
        screen->moved(views, how);
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

/* Long lines scroll sideways, a few columns at a time; a timeline moves its cursor instead. */
static void sideways(struct views *views, int step) {
    const struct screen *screen = screen_here(views);
    if (!screen->sideways || !screen->sideways(views, step))
        views->shift = MAX_OF(0, MIN_OF(400, views->shift + 8 * step));
}

static void do_left(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    sideways(views, -1);
}

static void do_right(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    sideways(views, 1);
}

static void do_enter(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    screen_here(views)->enter(views, request);
}

static void do_edit(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    screen_here(views)->edit(views, request);
}

/* Two columns need room: a pane that is too narrow takes the whole screen. */
static void do_sides(struct views *views, struct str args, struct views_request *request) {
    const struct screen *screen = screen_here(views);
    (void)args;
    (void)request;
    if (screen->differs && !screen->differs(views)) {
        views_say(views, false, "there is no difference yet: it comes with a rewritten kernel");
        return;
    }
    /* What is seen changes: a pane that is narrow again, or behind another one, shows no two
     * columns, whatever was chosen. */
    bool seen = views->diff_is_shown && diff_has_sides(views);
    views->side_by_side = !seen;
    bool fits = seen || (views->diff_is_shown && diff_has_sides(views));
    if (!fits && screen->widen && screen->widen(views))
        views_say(views, false, "two columns take the whole screen; z goes back");
    else if (!fits)
        views_say(views, false, "too narrow for two columns: %d are needed", DIFF_SIDES_COLS);
}

/* Where there is no difference the key line does not offer this; the key still says why. */
static void sides_says(const struct views *views, struct buf *out) {
    const struct screen *screen = screen_here(views);
    if (!screen->differs || screen->differs(views))
        buf_puts(out, "side by side");
}

static bool can_edit(const struct views *views) {
    return screen_here(views)->can_edit(views);
}

/* Nothing is decided at a gate about what is closed. */
static bool lane_can(const struct views *views) {
    return views->state->wait != TUNE_WAIT_GATE || lanes_is_open(views);
}

static bool can_run(const struct views *views) {
    return views_can(views, TUNE_ACT_START) || views_can(views, TUNE_ACT_PAUSE) ||
           views->state->wait == TUNE_WAIT_GATE || views->state->changed.len ||
           views->state->is_lost || views->state->holder_left;
}

/* In a round of several lanes the hint says how many are approved, and which one is rejected. */
static void approve_says(const struct views *views, struct buf *out) {
    int open = lanes_any(views) ? tune_lanes_open(views->state) : 0;
    buf_puts(out, "approve");
    if (open > 1)
        buf_printf(out, " all %d", open);
}

static void reject_says(const struct views *views, struct buf *out) {
    buf_puts(out, "reject");
    if (lanes_any(views))
        buf_printf(out, " lane %d", lanes_here(views) + 1);
}

/* At a gate the loop waits for neither of these. */
static void run_says(const struct views *views, struct buf *out) {
    if (views->state->changed.len || views->state->holder_left) {
        buf_puts(out, views->state->holder_left ? "take over" : "files");
        return;
    }
    if (views->state->wait != TUNE_WAIT_GATE)
        buf_puts(out, views_can(views, TUNE_ACT_START) ? "start" : "pause");
}

static void enter_says(const struct views *views, struct buf *out) {
    const char *enters = screen_here(views)->enters;
    buf_puts(out, enters ? enters : "open");
}

static void leave_says(const struct views *views, struct buf *out) {
    const struct screen *screen = screen_here(views);
    bool leaves = views->view <= VIEW_WORKBENCH && !(screen->is_open && screen->is_open(views));
    buf_puts(out, leaves ? "quit" : "back");
}

#define NONE TUNE_ACTIONS
static const struct command commands[] = {
    {"approve", "approve", "approve what waits, in all lanes", WHERE_TAKEN, PLACE_DECIDE,
     TUNE_ACT_APPROVE, act_approve, NULL, approve_says},
    {"reject", "reject", "reject the proposal (of this lane); the next one gets your reason",
     WHERE_TAKEN, PLACE_REFUSE, TUNE_ACT_REJECT, act_reject, lane_can, reject_says},
    {"next-lane", "next lane", "look at the next direction of this round", WHERE_TAKEN, PLACE_LOOK,
     NONE, lanes_next, lanes_any, NULL},
    {"previous-lane", "", "look at the direction before", WHERE_TAKEN, PLACE_LOOK, NONE,
     lanes_previous, lanes_any, NULL},
    {"next-open-lane", "", "look at the next direction that is not closed", WHERE_TAKEN, PLACE_LOOK,
     NONE, lanes_next_open, lanes_any, NULL},
    {"send", "send", "send the question that waits for it to the model", WHERE_TAKEN, PLACE_LOOK,
     TUNE_ACT_SEND, calls_send, NULL, NULL},
    {"retry", "try again", "do not wait: connect to the host, or ask the model again, now",
     WHERE_TUNING, PLACE_LOOK, NONE, place_retry, place_can_retry, NULL},
    {"run", "start/pause", "start the loop, or pause it after the step that runs", WHERE_TUNING,
     PLACE_LOOP, NONE, act_run, can_run, run_says},
    {"answer", "answer", "answer the question that waits for you, in $EDITOR", WHERE_TAKEN,
     PLACE_LOOP, TUNE_ACT_ANSWER, calls_answer, NULL, NULL},
    {"answer-here", "answer here", "write or paste the answer without an editor", WHERE_TAKEN,
     PLACE_LOOP, TUNE_ACT_ANSWER, calls_answer_here, NULL, NULL},
    {"edit", "edit", "edit what waits (plan, kernel), a note, an experience, a part of a prompt",
     WHERE_EDITS, PLACE_EDIT, NONE, do_edit, can_edit, NULL},
    {"another", "another", "drop the proposal (of this lane) and ask for a new one", WHERE_TAKEN,
     PLACE_REFUSE, TUNE_ACT_ANOTHER, act_another, lane_can, NULL},
    {"sweep", "",
     "try values of named constants: sweep TILE_N 128 256 512; alone: list the constants",
     WHERE_TUNING, PLACE_REFUSE, TUNE_ACT_SWEEP, act_sweep, NULL, NULL},
    {"migrate", "",
     "propose the kernel for another release of NKI: migrate 0.7; alone: the session's release",
     WHERE_TUNING, PLACE_REFUSE, TUNE_ACT_WRITE_KERNEL, act_migrate, NULL, NULL},
    {"revert", "revert to", "go back to an attempt: it becomes the incumbent, nothing is deleted",
     WHERE_TUNING, PLACE_BACK, TUNE_ACT_REVERT, act_revert, NULL, NULL},
    {"undo", "undo", "take back the last decision, yours or the loop's; asks first", WHERE_TUNING,
     PLACE_BACK, TUNE_ACT_TAKE_BACK, act_undo, NULL, NULL},
    {"redo", "", "do again what was taken back", WHERE_TUNING, PLACE_BACK, TUNE_ACT_DO_AGAIN,
     act_redo, NULL, NULL},
    {"gates", "gates", "choose which steps wait for you: ask, auto or auto-green", WHERE_TUNING,
     PLACE_BACK, NONE, act_gates, NULL, NULL},
    {"gate", "", "set a gate: gate STEP|all ask|auto|auto-green", WHERE_TUNING, PLACE_BACK,
     TUNE_ACT_SET_GATE, act_gate, NULL, NULL},
    {"enter", "open", "open what is under the cursor", WHERE_ENTERS, PLACE_OPEN, NONE, do_enter,
     NULL, enter_says},
    {"side-by-side", "side by side",
     "show the difference in two columns, on the whole screen if needed", WHERE_TAKEN, PLACE_OPEN,
     NONE, do_sides, NULL, sides_says},
    {"filter", "", "show only rows with a pattern: filter PATTERN; alone: all rows", WHERE_TAKEN,
     PLACE_OPEN, NONE, find_filter, NULL, NULL},
    {"filter-phase", "phase", "show one phase of the log, then the next, then all", WHERE_TAKEN,
     PLACE_OPEN, NONE, log_filter_phase, NULL, NULL},
    {"filter-level", "level", "show warnings and errors only, errors only, or everything",
     WHERE_TAKEN, PLACE_OPEN, NONE, log_filter_level, NULL, NULL},
    {"search", "", "find a pattern on this screen: / pattern", WHERE_EVERYWHERE, PLACE_OPEN, NONE,
     find_search, NULL, NULL},
    {"next-match", "", "go to the next match of the search", WHERE_EVERYWHERE, PLACE_OPEN, NONE,
     find_next, find_any, NULL},
    {"previous-match", "", "go to the previous match of the search", WHERE_EVERYWHERE, PLACE_OPEN,
     NONE, find_previous, find_any, NULL},
    {"explain", "", "explain what is under the cursor (an error, an instruction), or a word",
     WHERE_TUNING, PLACE_OPEN, NONE, explain_run, NULL, NULL},
    {"budget", "", "set a limit: budget rounds|wall|device|tokens|dollars NUMBER|none",
     WHERE_TUNING, PLACE_OPEN, TUNE_ACT_SET_BUDGET, act_budget, NULL, NULL},
    {"tolerance", "", "set the relative L2 error that counts as correct: tolerance 2e-5",
     WHERE_TUNING, PLACE_OPEN, TUNE_ACT_SET_TOLERANCE, act_tolerance, NULL, NULL},
    {"precision", "", "set how exact kernels compute: precision keep|split|any", WHERE_TUNING,
     PLACE_OPEN, TUNE_ACT_SET_PRECISION, act_precision, NULL, NULL},
    {"take-files", "", "use the task's files as they now are on disk, and measure everything again",
     WHERE_TUNING, PLACE_OPEN, TUNE_ACT_TAKE_FILES, NULL, NULL, NULL},
    {"keep-files", "",
     "go on with the session's copies of the task's files, until they change further", WHERE_TUNING,
     PLACE_OPEN, TUNE_ACT_KEEP_FILES, NULL, NULL, NULL},
    {"allow", "",
     "allow candidates everything that the first kernel uses, also beyond their list (see the log)",
     WHERE_TUNING, PLACE_OPEN, TUNE_ACT_ALLOW, act_allow, NULL, NULL},
    {"up", "", "one row up", WHERE_EVERYWHERE, PLACE_OPEN, NONE, do_up, NULL, NULL},
    {"down", "", "one row down", WHERE_EVERYWHERE, PLACE_OPEN, NONE, do_down, NULL, NULL},
    {"page-up", "", "one page up", WHERE_EVERYWHERE, PLACE_OPEN, NONE, do_page_up, NULL, NULL},
    {"page-down", "", "one page down", WHERE_EVERYWHERE, PLACE_OPEN, NONE, do_page_down, NULL,
     NULL},
    {"half-up", "", "half a page up", WHERE_EVERYWHERE, PLACE_OPEN, NONE, do_half_up, NULL, NULL},
    {"half-down", "", "half a page down", WHERE_EVERYWHERE, PLACE_OPEN, NONE, do_half_down, NULL,
     NULL},
    {"left", "", "scroll left; on a timeline: the instruction before", WHERE_TUNING, PLACE_OPEN,
     NONE, do_left, NULL, NULL},
    {"right", "", "scroll right; on a timeline: the next instruction", WHERE_TUNING, PLACE_OPEN,
     NONE, do_right, NULL, NULL},
    {"first", "", "to the first row", WHERE_EVERYWHERE, PLACE_OPEN, NONE, do_first, NULL, NULL},
    {"last", "", "to the last row; a log then follows new lines", WHERE_EVERYWHERE, PLACE_OPEN,
     NONE, do_last, NULL, NULL},
    {"leave", "back", "close what is open, then the screen, then hone", WHERE_EVERYWHERE,
     PLACE_RIGHT, NONE, do_leave, NULL, leave_says},
    {"back", "", "close what is open, and the screen; it never leaves hone", WHERE_EVERYWHERE,
     PLACE_OPEN, NONE, do_back, NULL, NULL},
    {"help", "keys", "this list", WHERE_EVERYWHERE, PLACE_RIGHT, NONE, do_help, NULL, NULL},
    {"command", "command", "type a command; Tab completes", WHERE_EVERYWHERE, PLACE_RIGHT, NONE,
     do_command, NULL, NULL},
    {"repaint", "", "draw the screen again", WHERE_EVERYWHERE, PLACE_OPEN, NONE, do_repaint, NULL,
     NULL},
    {"suspend", "", "back to the shell; fg returns", WHERE_EVERYWHERE, PLACE_OPEN, NONE, do_suspend,
     NULL, NULL},
    {"quit", "", "leave hone; asks when something runs or waits. The session is kept",
     WHERE_EVERYWHERE, PLACE_OPEN, NONE, do_quit, NULL, NULL},
};

/* ---- all of them ---------------------------------------------------------------------------- */

const struct command *command_at(size_t index) {
    if (index < COUNT_OF(commands))
        return &commands[index];
    index -= COUNT_OF(commands);
    for (int i = 0; i < VIEW_COUNT; i++) {
        const struct screen *screen = screen_at((enum view_id)i);
        if (index <= screen->n_commands)
            return index ? &screen->commands[index - 1] : &screen->command;
        index -= screen->n_commands + 1;
    }
    return NULL;
}

const struct command *command_find(struct str name) {
    const struct command *command;
    for (size_t i = 0; (command = command_at(i)); i++)
        if (str_is(name, command->name))
            return command;
    return NULL;
}

bool command_exists(const char *name) {
    return command_find(str_of(name)) != NULL;
}

static bool has_own(const struct screen *screen, const struct command *command) {
    for (size_t i = 0; i < screen->n_commands; i++)
        if (command == &screen->commands[i])
            return true;
    return false;
}

static bool takes(const struct screen *screen, const char *name) {
    struct str rest = str_of(screen->takes ? screen->takes : ""), word;
    while (str_next(&rest, ' ', &word))
        if (str_is(word, name))
            return true;
    return false;
}

bool command_is_here(const struct views *views, const struct command *command) {
    const struct screen *screen = screen_here(views);
    switch (command->where) {
    case WHERE_OWN: return has_own(screen, command);
    case WHERE_EVERYWHERE: return true;
    case WHERE_TUNING: return views->view != VIEW_START;
    case WHERE_TAKEN: return takes(screen, command->name);
    case WHERE_ENTERS: return screen->enter != NULL;
    case WHERE_EDITS: return screen->edit != NULL;
    }
    return false;
}

bool command_can(const struct views *views, const struct command *command) {
    if (command->action != NONE && (!views->state || !views_can(views, command->action)))
        return false;
    return !command->can || (views->state && command->can(views));
}

static void open_screen(struct views *views, const struct command *command) {
    for (int i = 0; i < VIEW_COUNT; i++)
        if (command == &screen_at((enum view_id)i)->command)
            views_show(views, (enum view_id)i);
}

/* ? also lists the commands of other screens. */
static void say_where(struct views *views, const struct command *command) {
    for (int i = 0; i < VIEW_COUNT; i++)
        if (has_own(screen_at((enum view_id)i), command)) {
            views_say(views, true, "'%s' is not possible on this screen, only on %s", command->name,
                      screen_at((enum view_id)i)->name);
            return;
        }
    views_say(views, true, "'%s' is not possible on this screen", command->name);
}

/* What changes a step's outcome where nothing of it is text. */
static const char *const instead_of_editing[TUNE_STEPS] = {
    [TUNE_STEP_PROFILE] = "w writes the next kernel yourself",
    [TUNE_STEP_BENCHMARK] = "m measures again, o overrules, w writes the next kernel yourself",
    [TUNE_STEP_DECIDE] = "o overrules, m measures again, w writes the next kernel yourself",
    [TUNE_STEP_SUMMARISE] = "8 shows the experience, and e there edits it",
    [TUNE_STEP_REFLECT] = "6 shows the note, and e there edits it",
};

static void say_why_not(struct views *views, const struct command *command) {
    const struct tune_state *state = views->state;
    const char *instead = command->can == can_edit && state->wait == TUNE_WAIT_GATE
                              ? instead_of_editing[state->wait_step]
                              : NULL;
    const struct refusal *refusal = screen_here(views)->refusals;
    while (refusal && refusal->command && strcmp(refusal->command, command->name) != 0)
        refusal++;
    if (refusal && refusal->command)
        views_say(views, true, "%s", refusal->why);
    else if (instead)
        views_say(views, true, "nothing is edited at %s: %s", tune_step_word(state->wait_step),
                  instead);
    else
        views_say(views, true, "not now: there is nothing for '%s' here (%s)", command->name,
                  command->help);
}

void command_run(struct views *views, const struct command *command, struct str args,
                 struct views_request *request) {
    if (!command_is_here(views, command)) {
        say_where(views, command);
        return;
    }
    if (command->can == lane_can && views->state && !lane_can(views)) {
        lanes_take_cursor(views); /* says why it is closed */
        return;
    }
    if (command->can && views->state && !command->can(views) && views->state->read_only) {
        status_say_read_only(views, command->name);
        return;
    }
    if (command->can && views->state && !command->can(views)) {
        say_why_not(views, command);
        return;
    }
    if (command->run)
        command->run(views, args, request);
    else if (command->action != NONE)
        views_act(views, &(struct tune_action){.kind = command->action});
    else
        open_screen(views, command);
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
