/* SPDX-License-Identifier: Apache-2.0 */
/* What the screens share: how one is described, what all of them may look at, and how the rows and
 * lines are drawn that several have in common. A screen's own state is in its own file. */
#ifndef HONE_VIEWS_INNER_H
#define HONE_VIEWS_INNER_H

#include "views/kit/kit.h"
#include "views/views.h"

#define VIEWS_MIN_ROWS 24
#define VIEWS_MIN_COLS 80

enum view_id {
#define SCREEN(id, name) VIEW_##id,
#include "views/screens.def"
#undef SCREEN
    VIEW_COUNT
};

/* ---- commands ------------------------------------------------------------------------------- */

/* Where a command is possible. */
enum command_where {
    WHERE_OWN,        /* on the screen whose table has it */
    WHERE_EVERYWHERE, /* also without a session */
    WHERE_TUNING,     /* wherever there is a session */
    WHERE_TAKEN,      /* on the screens that take it by its name */
    WHERE_ENTERS,     /* on those that open something with Enter */
    WHERE_EDITS,      /* on those that have something to edit */
};

/* A command's place in the line of keys. At the same place the commands of all screens come first,
 * then those of the screen, each in the order of their tables. */
enum command_place {
    PLACE_OWN_FIRST, /* the screen's own where they lead */
    PLACE_DECIDE,
    PLACE_LOOK,
    PLACE_LOOP,
    PLACE_EDIT,
    PLACE_REFUSE,
    PLACE_BACK,
    PLACE_OPEN,
    PLACE_RIGHT, /* at the right edge, always */
};

typedef void command_fn(struct views *views, struct str args, struct views_request *request);
struct command {
    const char *name, *hint, *help; /* hint: in the line of keys, "" for none */
    enum command_where where;
    enum command_place place;
    enum tune_action_kind action; /* that it needs; TUNE_ACTIONS: none */
    command_fn *run;              /* NULL: does the action, or opens the screen it belongs to */
    bool (*can)(const struct views *views); /* NULL: always */
    /* The hint as things are now; empty: not shown. NULL: as it stands. */
    void (*says)(const struct views *views, struct buf *out);
};
/* The table of all screens, then screen by screen its opening and its own; NULL past the last. */
const struct command *command_at(size_t index);
const struct command *command_find(struct str name);
bool command_exists(const char *name);
bool command_is_here(const struct views *views, const struct command *command);
bool command_can(const struct views *views, const struct command *command);
void command_run(struct views *views, const struct command *command, struct str args,
                 struct views_request *request);
/* Runs a whole line "name arguments". */
void command_line(struct views *views, struct str line, struct views_request *request);
/* help.c: the list of all commands with their keys. The built-in keys are added to *bindings. */
void help_open(struct views *views);
bool help_bind(struct tui_bindings *bindings, struct err *err) CC_MUST_USE;

/* ---- screens -------------------------------------------------------------------------------- */

/* Which rows of a list show. {0}: all of them. */
struct filter {
    struct pattern *pattern; /* NULL: any */
    struct buf text;         /* the pattern as it was typed */
};

/* What the key that explains finds under the cursor. */
enum explain_what {
    EXPLAIN_NOTHING,
    EXPLAIN_SOURCE, /* a line of it, with names in it */
    EXPLAIN_SAID,   /* by a check or in the log */
    EXPLAIN_WORD,   /* of the glossary */
};

/* A screen: one structure in its file, and one line in screens.def. What is NULL the screen does
 * not have. Hooks of keys and mouse return whether they took the event. */
/* Why a command of a screen cannot be now, where its `can` says no. */
struct refusal {
    const char *command, *why;
};

struct screen {
    const char *name, *about;       /* the name is also where its keys are bound */
    struct command command;         /* that opens it */
    const char *key;                /* of that, everywhere */
    const char *takes;              /* names of WHERE_TAKEN commands, with blanks between */
    const char *keys;               /* "Space mark\n...": on this screen, whoever has the command */
    const struct refusal *refusals; /* ends with a NULL; NULL: none */
    const struct command *commands;
    size_t n_commands;
    bool own_first;     /* its own commands lead the line of keys */
    size_t size;        /* bytes of its private state, views->own[]; zeroed at first */
    bool draws_all;     /* draw() gets the whole terminal: head and keys are its own business */
    const char *enters; /* the hint of Enter; NULL: "open" */

    void (*open)(struct views *views);   /* once, on the zeroed state */
    void (*forget)(struct views *views); /* another session is looked at, or none: frees */
    void (*draw)(struct views *views, struct tui_area area);
    void (*above)(struct views *views, struct tui_area row); /* the row below the title */
    void (*follow)(struct views *views);       /* before each frame, whatever screen shows */
    void (*leave)(struct views *views);        /* another one is shown, or it anew */
    bool (*moving)(const struct views *views); /* something moves by itself */
    int (*page)(const struct views *views);    /* which of its pages shows */

    struct tui_list *(*list)(struct views *views); /* what the movement keys move */
    void (*moved)(struct views *views, enum tui_move how);
    struct str (*line_of)(const void *views, int row); /* of the list, for searching */
    /* What the ':' line, which begins with "query ", becomes with its last word completed; false:
     * it stays. */
    bool (*complete)(struct views *views, struct str typed, struct buf *line);
    /* Searching that goes beyond the list. `here`: the row under the cursor counts, too. */
    void (*find)(struct views *views, int step, bool here);
    /* The filter of the list, which is about to change: rows have to be worked out again. */
    struct filter *(*filter)(struct views *views);
    bool (*move)(struct views *views, enum tui_move how);
    bool (*sideways)(struct views *views, int step); /* -1 or 1 */
    bool (*back)(struct views *views);               /* closes something of it */
    bool (*is_open)(const struct views *views);      /* there is something that back closes */
    bool (*differs)(const struct views *views);      /* has a difference to show; NULL: always */
    bool (*widen)(struct views *views);              /* gives it more room; NULL: it has it all */
    bool (*click)(struct views *views, const struct tui_event *event);
    bool (*wheel)(struct views *views, const struct tui_event *event);
    void (*enter)(struct views *views, struct views_request *request);
    void (*edit)(struct views *views, struct views_request *request);
    bool (*can_edit)(const struct views *views);
    int (*attempt)(const struct views *views); /* under the cursor; -1: none */
    /* What is under the cursor, to be explained. Where there is nothing, the words themselves are
     * listed, beginning with those of the part `words`. */
    enum explain_what (*explain)(const struct views *views, struct buf *out);
    enum glossary_part words;
    /* While the screen is in a mode: the command of a key, before all others; and pairs of key and
     * hint that show instead of the commands, with NULL at the end. */
    const char *(*mode_key)(const struct views *views, struct tui_key key);
    const char *const *(*mode_hints)(const struct views *views);
};
#define SCREEN(id, name) extern const struct screen name##_screen;
#include "views/screens.def"
#undef SCREEN
const struct screen *screen_at(enum view_id id);
const struct screen *screen_here(const struct views *views);

/* ---- what lies over one --------------------------------------------------------------------- */

enum overlay {
    OVERLAY_NONE,
    OVERLAY_MENU,
    OVERLAY_LINE,
    OVERLAY_NOTE,
    OVERLAY_CONFIRM,
    OVERLAY_QUESTION,
    OVERLAY_TEXT,
    OVERLAY_CHANGED
};

/* Called when an overlay is answered, with the text, or with the chosen number as text. */
typedef void views_answer_fn(struct views *views, struct str text, struct views_request *request);

struct over {
    enum overlay is;
    struct tui_menu menu;
    VEC(struct tui_menu_row) rows;
    struct arena *texts; /* of the rows */
    char menu_title[64], title[64];
    struct buf text;             /* what a confirmation or a note explains */
    struct tui_field line, note; /* the ':' and '/' line; the popup */
    struct tui_secret reply;     /* to a question of the place */
    bool reply_shown;            /* it is no secret */
    bool searching;              /* the line is a search */
    struct pattern *typed;       /* what is searched for as far as it is typed; NULL: nothing */
    char wrong[160];             /* what is wrong with the pattern in the line, "": nothing */
    views_answer_fn *answer;
    int scroll; /* rows of a text that are above it */
    size_t at;  /* the byte of a text that is to be in sight; 0: its beginning */
    int about;  /* what the answer is about: a number of the one that asked */
};

/* What $EDITOR was opened for. */
struct editing {
    struct tune_action action;
    struct buf text;
};

struct views {
    struct views_model model;
    const struct tune_state *state; /* model.state */
    bool opening;                   /* when the model was set */
    int64_t now_ms, touched_ms;     /* touched: when a person did something last */
    enum view_id view;
    int lane; /* that is looked at, and that actions are about; from 0. lane.c moves it */
    struct lane_seen {
        int64_t seq;  /* of the lanes that it is one of: tune_state.lanes_seq */
        bool dropped; /* it was when it was gone to */
        int64_t seq_before;
        int before; /* of the lanes before: an undo may bring them back */
    } lane_seen;
    void *own[VIEW_COUNT]; /* private to each screen */
    struct tui_bindings bindings;
    struct tui_canvas *scratch;
    struct over over;
    struct editing editing;
    /* the change of files that was asked about last; it is only compared */
    bool precision_asked; /* by this process */
    const char *change_seen;
    char message[512];
    bool message_bad, message_beside; /* beside: above the status line, which it would hide */
    int64_t message_ms;               /* when it was first shown; 0: not yet */
    struct loop_at {                  /* what the loop did then */
        enum tune_wait wait;
        enum tune_step step;
        int round;
    } message_at;
    /* What a person chose, for several screens. */
    int marks[2];                /* attempts to compare, -1 */
    bool side_by_side;           /* differences in two columns, where there is room */
    int diff_cols;               /* of the difference drawn last; 0: none was */
    bool diff_is_shown;          /* in this frame */
    int shift;                   /* columns that long lines are moved to the left */
    struct searched {            /* what was searched last on each screen */
        struct buf text;         /* as it was typed */
        struct pattern *pattern; /* NULL: nothing */
    } searched[VIEW_COUNT];
    struct tui_rect list_spot; /* where the rows of the screen's list are drawn */
};

/* views.c */
void views_show(struct views *views, enum view_id view);
struct tui_list *views_list(struct views *views);
/* Wishes to quit, or to close the session; where something runs or waits it asks once. */
void views_leave(struct views *views, enum views_wish wish, struct views_request *request);
/* Does the action about the lane that is looked at; whether the action makes sense. */
bool views_act(struct views *views, const struct tune_action *action);
bool views_can(const struct views *views, enum tune_action_kind kind);
const struct tune_attempt *views_incumbent(const struct views *views);
/* The attempt that the candidate starts from, or will start from: its lane's parent, else the
 * incumbent. */
const struct tune_attempt *views_parent(const struct views *views);
/* The two to compare: the parent with the attempt of the round; when that attempt has become the
 * incumbent, its parent with it. *b is NULL when there is no second one with a latency; *a may be
 * NULL. */
void views_pair(const struct views *views, const struct tune_attempt **a,
                const struct tune_attempt **b);

/* overlays.c: what lies over a screen */
void views_ask_note(struct views *views, const char *title, const char *text, const char *start,
                    views_answer_fn *answer);
void views_ask_confirm(struct views *views, const char *title, const char *text,
                       views_answer_fn *answer);
/* Shows a text until the next key. */
/* The same, with that byte of the text in sight. */
void views_show_text_at(struct views *views, const char *title, const char *text, size_t at);
void views_open_line(struct views *views, bool search, const char *start);
/* Opens the menu over views->over.rows, which the caller filled. */
void views_open_menu(struct views *views, const char *title, views_answer_fn *answer);
/* The same for rows that answer a question: letters do not narrow them, and who leaves it answers
 * with an empty text. */
void views_open_question(struct views *views, const char *title, views_answer_fn *answer);
struct tui_menu_row *views_menu_row(struct views *views, int value, const char *key,
                                    const char *name, const char *text);
/* Gives it an event; draws it; frees it. */
void over_event(struct views *views, const struct tui_event *event, struct views_request *request);
void over_draw(struct views *views, struct tui_area area);
void over_free(struct over *over);

/* actions.c: what commands of several screens do to a session */
/* Opens $EDITOR on views->editing.text; the action gets the text. line 0: anywhere. */
void act_open_editor(struct views *views, struct tune_action action, const char *name, int line,
                     struct views_request *request);
void act_text(struct views *views, enum tune_action_kind kind, struct str text);
void act_approve(struct views *views, struct str args, struct views_request *request);
/* The plan or the candidate, whichever waits. */
void act_edit_waiting(struct views *views, struct views_request *request);
bool act_can_edit_waiting(const struct views *views);
void act_reject(struct views *views, struct str args, struct views_request *request);
void act_another(struct views *views, struct str args, struct views_request *request);
/* Says what is taken back, and asks. */
void act_undo(struct views *views, struct str args, struct views_request *request);
void act_redo(struct views *views, struct str args, struct views_request *request);
void act_revert(struct views *views, struct str args, struct views_request *request);
void act_run(struct views *views, struct str args, struct views_request *request);
void act_gates(struct views *views, struct str args, struct views_request *request);
void act_gate(struct views *views, struct str args, struct views_request *request);
void act_sweep(struct views *views, struct str args, struct views_request *request);
void act_migrate(struct views *views, struct str args, struct views_request *request);
void act_budget(struct views *views, struct str args, struct views_request *request);
void act_tolerance(struct views *views, struct str args, struct views_request *request);
void act_precision(struct views *views, struct str args, struct views_request *request);
void act_allow(struct views *views, struct str args, struct views_request *request);

/* explain.c: K */
void explain_run(struct views *views, struct str args, struct views_request *request);

/* find.c: searching and filtering by patterns, the same in all lists */
void find_search(struct views *views, struct str args, struct views_request *request);
void find_next(struct views *views, struct str args, struct views_request *request);
void find_previous(struct views *views, struct str args, struct views_request *request);
bool find_any(const struct views *views);
/* The ':' and '/' line changed: shows at once what is searched for, and what is wrong with it. */
void find_typed(struct views *views);
void find_filter(struct views *views, struct str args, struct views_request *request);
bool filter_passes(const struct filter *filter, struct str text);
void filter_free(struct filter *filter);
/* The first place of what was searched for in text at or after `from`; its length in bytes in
 * *len. SIZE_MAX when there is none. */
size_t find_in(const struct views *views, struct str text, size_t from, size_t *len);
/* Marks where it occurs in a row that is drawn. */
void find_mark(const struct views *views, struct tui_area area, int row, int col, struct str text);

/* chrome.c: what stands around every screen */
void chrome_header(struct views *views, struct tui_area area);
void chrome_title(struct views *views, struct tui_area area);
void chrome_keys(struct views *views, struct tui_area area);
/* Shown on a terminal that is smaller than the least size: what matters most, in a few short
 * lines. */
/* Shown instead of a screen while the log is read. */
void chrome_opening(const struct views *views, struct tui_area area);
void chrome_notice(struct views *views, struct tui_area area);
const char *spinner_at(int64_t now_ms);

/* status.c: what goes on and what waits for the person */
/* "waits for you: plan", "running", "paused", "ended"; how it looks. */
enum tui_role status_word(const struct tune_state *state, struct buf *out);
/* Whether the proposer found nothing more: a start would end at once in the same way. */
bool status_is_dry(const struct tune_state *state);
void chrome_status(struct views *views, struct tui_area area);
/* Shows the message of the last key, wrapped, above the line of keys: on the status line, or above
 * it where something waits there. Without one, what is wrong with the session, where the status
 * line is too short for that. */
void status_message(struct views *views, struct tui_area area);
/* The rows of the status at the end of a whole screen: 1, or those of a long reason. */
int status_rows(const struct views *views, struct tui_area area);
/* The message is about the loop as it is now. */
void status_message_said(struct views *views);
/* Before a frame: a message that the loop has left behind goes, or makes room for why it waits. */
void status_message_follow(struct views *views);
/* Says in sentences what runs or waits and would be left behind; false when there is nothing. */
bool status_unfinished(const struct views *views, struct buf *out);
/* That the command cannot be run in a session that is read-only, and why it is. */
void status_say_read_only(struct views *views, const char *command);

/* rows.c: lists and what stands below them */
/* Behind what there is nothing of yet: the key that helps, where it does. */
const char *rows_starts(const struct views *views);
/* Draws the rows of the screen's list that fit, each by its index, and the cursor. */
void rows_draw(struct views *views, struct tui_area area, struct tui_list *list, int count,
               void (*draw)(struct views *views, struct tui_area area, int row, int index));
/* A framed list at the top, and a frame below for what is under the cursor, with `more` rows more
 * than its share where there is room. titles: of the list, its note, of the frame below. */
struct rows_pair {
    struct tui_area list, detail;
};
struct rows_pair rows_pair(struct tui_area body, int more, const char *const titles[3]);
/* "name  text", broken between words from column `at` on; returns the row after it. Draws nothing
 * without a text. */
/* How many columns a number as large as `most` needs beyond `digits`; and the area without as many
 * on its left, for what stands behind a column of such numbers. */
int rows_more(size_t most, int digits);
struct tui_area rows_behind(struct tui_area area, size_t most, int digits);
int rows_field(struct tui_area area, int row, int at, const char *name, const char *text);
struct rows_look {
    const char *glyph;
    enum tui_role role;
};
/* How a step or a lane looks. It is halted, and does not run, while something is wrong with the
 * session, unless another hone has that. */
struct rows_look rows_step_look(const struct tune_state *state, enum tune_step_is is);
bool rows_is_halted(const struct tune_state *state, enum tune_step_is is);
struct rows_look rows_status_look(enum tune_status status);
/* Whether the plan's numbers are computed by the clock that judges it, and so no prediction; the
 * attempt is what came of the plan, NULL for nothing yet. */
bool rows_computed(const struct views *views, const struct tune_plan *plan,
                   const struct tune_attempt *attempt);
void rows_prediction(const struct tune_plan *plan, struct buf *out);
/* The share by which the plan says it changes the latency: -0.2 is a fifth less. NAN: it says
 * nothing of it. */
double rows_latency(const struct tune_plan *plan);
void rows_prediction_latency(const struct tune_plan *plan, struct buf *out); /* shorter */
/* The field with the numbers of a lane's plan; returns the row after. */
int rows_predicted(const struct views *views, struct tui_area area, int row, int lane);

/* diff_draw.c: differences on the workbench and between attempts */
struct diff_shown {
    struct diff *diff;
    const struct tune_candidate *candidate; /* NULL: of two attempts */
    struct tui_list *list;
    int hunk; /* that is gone through; -1: none */
};
#define DIFF_SIDES_COLS 60 /* that two columns need */
/* Whether a difference is shown in two columns: the person wants it, and the one drawn last had
 * room. */
bool diff_has_sides(const struct views *views);
void diff_draw(struct views *views, struct tui_area area, const struct diff_shown *shown);
struct str diff_line(const struct diff *diff, bool sides, int row);
/* The hunk that a row is shown in; 0 where it is in none. */
int diff_hunk_at(const struct diff *diff, bool sides, int row);

/* place.c: where kernels are evaluated. All but place_is_remote need a place. */
bool place_is_remote(const struct views *views);  /* not the device model of this machine */
bool place_in_trouble(const struct views *views); /* remote, and not connected */
enum tui_role place_role(const struct views *views);
/* "● connected", "! connection lost 12 s, next try in 4 s"; brief: with the name, in fewer
 * words. */
void place_state(const struct views *views, bool brief, struct buf *out);
void place_name(const struct views *views, struct buf *out); /* "trn2 · ssh trn2-host" */
/* What all evaluations wait for: "waiting 2 m 10 s: core 0 is held by ..."; false when one of them
 * runs. */
bool place_waits(const struct views *views, struct buf *out);
bool place_can_retry(const struct views *views);
void place_retry(struct views *views, struct str args, struct views_request *request);
int place_host_rows(const struct views *views, struct tui_area area); /* that it would fill */
void place_host_draw(struct views *views, struct tui_area area);
void place_queue_draw(struct views *views, struct tui_area area);
/* The question of the place. It opens and closes before a frame is drawn. */
void question_follow(struct views *views);
/* outside.c: the question which files of the task count */
void changed_follow(struct views *views);
void changed_event(struct views *views, const struct tui_event *event,
                   struct views_request *request);
void changed_draw(struct views *views, struct tui_area area);
/* precision.c: the question which precision the session allows; it opens by itself once */
void precision_follow(struct views *views);
void precision_ask(struct views *views);
/* Sets it to keep, split or any, and says what that means. False: it is no such word. */
bool precision_set(struct views *views, struct str word);
void question_close(struct views *views);
void question_event(struct views *views, const struct tui_event *event,
                    struct views_request *request);
void question_draw(struct views *views, struct tui_area area);

/* lane.c: the lanes of a round that was opened into them */
bool lanes_any(const struct views *views);
bool lanes_may(const struct views *views); /* has some, or the next round will */
/* The lane that commands are about: the one that is looked at, or on the screen of lanes the one
 * under the cursor. Whether that lane is still followed; a round without lanes is. */
int lanes_here(const struct views *views);
bool lanes_is_open(const struct views *views);
/* Looks at this lane from now on. Only this view is concerned. */
void lanes_focus(struct views *views, int lane);
/* After anything may have happened: when there are other lanes, the first open one is looked at,
 * and when the one looked at was dropped, the next one. */
void lanes_follow(struct views *views);
/* Looks at the lane that commands are about, so that what is done next is done to it. False when it
 * is closed; the screen then says why. */
bool lanes_take_cursor(struct views *views);
void lanes_next(struct views *views, struct str args, struct views_request *request);
void lanes_previous(struct views *views, struct str args, struct views_request *request);
void lanes_next_open(struct views *views, struct str args, struct views_request *request);
int lanes_count(const struct tune_state *state); /* 0: the round follows one direction */
const struct tune_lane *lane_at(const struct tune_state *state, int lane); /* NULL: none */
struct rows_look lane_look(const struct tune_state *state, int lane);
const char *lane_title(const struct tune_state *state, int lane);
/* What it does now or did last; "#12 of #4, plan 2, rewrite 1". */
void lane_does(const struct tune_state *state, int lane, struct buf *out);
void lane_which(const struct tune_state *state, int lane, struct buf *out);
/* What those at work do: "#12 seed 21, #13 benchmark". */
void lanes_running(const struct tune_state *state, struct buf *out);

/* ---- what a screen does for others ---------------------------------------------------------- */

/* workbench/workbench.c: another lane is looked at: what a person did with the one before is
 * over. */
void workbench_refocus(struct views *views);

/* workbench/kernel.c: opens the attempt (-1: the one that candidates start from, -2: the candidate)
 * at this line; 0: where it was. */
void kernel_show(struct views *views, int attempt, int line);
void kernel_show_line(struct views *views, int line); /* of what it shows */
struct kernel_shown {
    struct source *source;
    const struct tune_attempt *attempt; /* whose costs; may be NULL */
    struct tui_list *list;
    bool cursor; /* shows */
};

/* log.c: the session's log as rows of a list */
/* A row: a line of the log, or a piece of one that is broken between words. */
struct log_row {
    int log, from, len; /* index into state.logs; bytes of its text */
    int times;          /* that it was said; of the first piece */
};
/* seq -1: to be made anew. */
struct log_rows {
    VEC(struct log_row) all;
    int64_t seq, gone, seen; /* lines ever: dropped then, looked at */
    int cols;
};
/* Which lines pass. */
struct log_filter {
    enum tune_level level; /* the least */
    const char *phase;     /* NULL: any */
    int attempt;           /* -1: any */
    const struct filter *pattern;
};
/* Brings the rows up to date; `cols`: that a text has; longer ones are broken to fit. */
void log_rows_update(struct log_rows *rows, const struct tune_state *state,
                     const struct log_filter *filter, int cols);
/* Where to look in the findings that the log ends with: the first error that names a line; where
 * none does (numbers are wrong), the first note that does, one behind the errors rather than before
 * them, or else the first error, which is *first. Both are -1 when the log does not end with such
 * findings. */
int log_rows_cause(const struct log_rows *rows, const struct tune_state *state, int *first);

/* workbench/device.c: the log. Its row opens the line that it speaks of. */
struct str log_line(const void *views, int row);
void log_open(struct views *views, int row);
/* The name of the file that a finding is about, when that is not the kernel; else NULL. */
const char *log_other_file(const struct tune_state *state, const struct tune_diagnostic *diag);
/* What it says, to be explained. */
enum explain_what log_explain(const struct views *views, int row, struct buf *out);
void log_filter_phase(struct views *views, struct str args, struct views_request *request);
struct filter *log_filter_by(struct views *views);
void log_filter_level(struct views *views, struct str args, struct views_request *request);

/* screens/history.c: what Enter does there and elsewhere: shows the attempt beside its parent. */
void history_compare(struct views *views, int attempt);

/* screens/summary.c */
/* The loop has stopped by itself, and has something to sum up: where the seed kernel itself is
 * wrong, it has not. */
bool summary_is_due(const struct tune_state *state);

/* screens/lanes.c: the row under the cursor of the screen; puts it there */
int lanes_cursor(const struct views *views);
void lanes_go(struct views *views, int lane);

/* profile/profile.c: metrics and engines of two attempts next to each other; b may be NULL. */
struct profile_pair {
    const struct tune_attempt *a, *b;
    struct tune_roof roof; /* of their task */
};
void profile_pair_draw(struct tui_area area, const struct profile_pair *pair);

/* screens/scores.c: the part below the notes */
void scores_draw(struct views *views, struct tui_area area);

/* workbench/calls.c: questions to models that run now */
int calls_running(const struct tune_state *state);
/* Draws the end of what has come of an answer. */
void calls_draw_live(struct tui_area area, const struct tune_call *call);
/* The question that is not sent yet: the one looked at, else the first; NULL when there is none.
 * *number may be NULL. */
const struct tune_call *calls_held(const struct views *views, int *number);
void calls_send(struct views *views, struct str args, struct views_request *request);
bool calls_doing(const struct views *views, struct buf *out);
/* "310 tokens", "waits for you", "nothing yet" */
void calls_state_print(const struct tune_call *call, struct buf *out);
void calls_answer(struct views *views, struct str args, struct views_request *request);
void calls_answer_here(struct views *views, struct str args, struct views_request *request);
/* Cuts off what the editor showed below the answer. */
void calls_answer_cut(struct buf *text);
/* False when no question waits for what was pasted. */
bool calls_paste(struct views *views, struct str paste);

#endif
