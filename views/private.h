/* SPDX-License-Identifier: Apache-2.0 */
/* What the screens share. */
#ifndef HONE_VIEWS_PRIVATE_H
#define HONE_VIEWS_PRIVATE_H

#include "views/diff.h"
#include "views/format.h"
#include "views/source.h"
#include "views/views.h"

#define VIEWS_MIN_ROWS 24
#define VIEWS_MIN_COLS 80

enum view_id {
    VIEW_START,
    VIEW_WORKBENCH,
    VIEW_KERNEL,
    VIEW_DIFF,
    VIEW_DEVICE,
    VIEW_PROFILE,
    VIEW_NOTES,
    VIEW_HISTORY,
    VIEW_MEMORY,
    VIEW_PROMPT,
    VIEW_SETTINGS,
    VIEW_SUMMARY,
    VIEW_LANES,
    VIEW_COUNT
};

/* One screen. `list` is what the movement keys move; `moved` follows it; `enter` is Enter. */
struct view {
    const char *name, *title, *about;
    void (*draw)(struct views *views, struct tui_area area);
    struct tui_list *(*list)(struct views *views);
    void (*moved)(struct views *views);
    void (*enter)(struct views *views, struct views_request *request);
    struct str (*line_of)(const void *views, int row); /* for searching; may be NULL */
    /* Searching that goes beyond the list; here: the row under the cursor counts, too. */
    void (*find)(struct views *views, int step, bool here);
};
const struct view *view_at(enum view_id id);

enum pane { PANE_KERNEL, PANE_PROPOSAL, PANE_DEVICE, PANE_PROFILE, PANE_COUNT };

enum overlay {
    OVERLAY_NONE,
    OVERLAY_MENU,
    OVERLAY_LINE,
    OVERLAY_NOTE,
    OVERLAY_CONFIRM,
    OVERLAY_QUESTION
};

/* Goes on when an overlay is answered: with the text, or the chosen number as text. */
typedef void views_answer_fn(struct views *views, struct str text, struct views_request *request);

/* What lies over the screen: a menu, a line, a question. */
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
    views_answer_fn *answer;
    int about; /* what the answer is about: a number of the one that asked */
};

/* A row of the settings screen. */
struct setting {
    char name[24], value[128], origin[96];
    const char *help;
    int step; /* a gate: which; else -1 */
};

/* A line of the summary: text, or a rung of the ladder, or what a model of a role cost. */
struct summary_row {
    const char *head, *text;   /* text: in full */
    const char *title, *ratio; /* of a rung; else NULL */
    double us, share;          /* of a rung: its latency, of the seed kernel's */
    const char *cells[6];      /* of a model; else NULL */
    enum tui_role ink;
    int attempt; /* that it is about, -1 */
};

/* What the lower part of the profile screen shows. */
enum profile_part { PROFILE_LINES, PROFILE_TIMELINE, PROFILE_ROOFLINE, PROFILE_PARTS };

/* What the prompt screen shows: the parts of the next question, the text of one, the questions so
 * far, prompt and answer of one. */
enum prompt_page { PROMPT_PARTS, PROMPT_TEXT, PROMPT_CALLS, PROMPT_CALL, PROMPT_PAGES };

#define TIMELINE_QUEUES 32

struct timeline_span {
    uint32_t instr;
    int line;          /* of the kernel; 0 when it came from none */
    char name[24];     /* the operation */
    double start, end; /* ns */
};
struct timeline_queue {
    char name[16];
    VEC(struct timeline_span) spans; /* by start */
    VEC(struct tui_busy) busy;       /* the same, merged */
    size_t cursor;                   /* into spans */
};
/* The timeline of one attempt. While `text` is there it is still being read. */
struct timeline {
    char hash[40];
    char *text;
    size_t at, count;
    struct timeline_queue queues[TIMELINE_QUEUES];
    int n_queues, cols; /* cols: as drawn last */
    double end;         /* ns */
    struct tui_busy window;
};

struct views {
    struct views_model model;
    const struct tune_state *state; /* model.state */
    int64_t now_ms;
    enum view_id view;
    struct tui_canvas *scratch;
    struct tui_bindings bindings;

    struct over over;

    char message[512];
    bool message_bad;
    struct tune_action editing; /* what the editor's text is for */
    struct buf edit_text;
    char edit_part[256]; /* the part of a prompt it is, where it is one */

    /* workbench */
    enum pane pane;
    bool zoomed, side_by_side, hunks;
    int hunk, step; /* step: the one looked at, -1: none */
    int shift;      /* columns that long lines are moved to the left */
    struct tui_list panes[PANE_COUNT];
    struct tui_rect pane_spots[PANE_COUNT], step_spots[TUNE_STEPS];
    struct tui_rect lane_spot; /* a column for each lane from lane_first on */
    int lane_first;
    const char *proposed; /* the candidate that was drawn last; only compared */
    struct source kernel, full;
    bool kernel_moved; /* a person went to a line of the kernel pane */
    int kernel_attempt;
    struct diff diff;
    VEC(int) log_rows;          /* rows of the log that pass the filter */
    int64_t log_seq;            /* -1: the filter changed */
    int64_t log_gone, log_seen; /* lines ever: dropped then, looked at */
    enum tune_level log_level;  /* the least that shows */
    int log_phase;              /* 0: all; else index into the known phases */
    int last_log_rows;
    int log_tab, log_tab_now; /* attempt whose lines the device screen shows; -1: all */

    /* the other screens */
    struct tui_list start, kernel_list, diff_list, device_list, profile_list, notes_list,
        history_list, memory_list, settings_list, summary_list, lanes_list,
        prompt_lists[PROMPT_PAGES];
    VEC(int) history; /* attempt ids in the order shown */
    VEC(uint8_t) history_depth;
    int64_t history_seq;
    bool history_by_latency;
    bool scores; /* below the notes; else the note under the cursor */
    enum profile_part profile_part;
    struct timeline timeline;
    int profile_line, profile_attempt; /* under the cursor of the profile screen */
    int marks[2];                      /* attempts to compare, -1 */
    struct diff compare;
    enum prompt_page prompt_page;
    enum tune_role prompt_role, prompt_built; /* the one chosen; the one of prompt_parts */
    bool prompt_chosen;                       /* else the one whose turn is next */
    struct tune_prompt *prompt_parts;
    int64_t prompt_seq;
    bool prompt_fits;     /* prompt_parts is no more than its model takes */
    int prompt_held;      /* the call that prompt_parts is, which is held; -1 */
    int prompt_call;      /* of PROMPT_CALL */
    struct source prompt; /* of PROMPT_TEXT and PROMPT_CALL */
    struct buf prompt_text;
    int call_here;       /* the running call that is looked at; else the first */
    int asked_call;      /* of the text below */
    struct source asked; /* a question that waits for a person */
    struct buf asked_text;
    VEC(struct setting) settings;
    VEC(struct summary_row) summary;
    struct arena *summary_texts;
    int64_t summary_seq, touched_ms; /* touched: when a person did something last */
    bool summary_told;               /* the stop was seen */
    struct buf costs;                /* of carrying out the plan */
    int64_t costs_seq;
    struct buf search;         /* what was searched last */
    struct tui_rect list_spot; /* where the rows of the screen's list are drawn */
};

/* views.c */
void views_show(struct views *views, enum view_id view);
struct tui_list *views_list(struct views *views);
/* overlays.c: what lies over a screen */
void views_ask_note(struct views *views, const char *title, const char *text, const char *start,
                    views_answer_fn *answer);
void views_ask_confirm(struct views *views, const char *title, const char *text,
                       views_answer_fn *answer);
void views_open_line(struct views *views, bool search, const char *start);
/* Opens the menu over views->rows, which the caller filled. */
void views_open_menu(struct views *views, const char *title, views_answer_fn *answer);
void views_menu_row(struct views *views, int value, const char *key, const char *name,
                    const char *text);
/* Gives it an event; draws it; frees it. */
void over_event(struct views *views, const struct tui_event *event, struct views_request *request);
void over_draw(struct views *views, struct tui_area area);
void over_free(struct over *over);

/* views.c, too */
bool views_act(struct views *views, const struct tune_action *action);
const struct tune_attempt *views_incumbent(const struct views *views);
/* What the candidate that is looked at starts from, or will: its lane's parent, else the
 * incumbent. */
const struct tune_attempt *views_parent(const struct views *views);
/* What to compare: that with the attempt of the round; when the latter has become the incumbent,
 * its parent with it. *b NULL when there is no second one with a latency; *a may be NULL. */
void views_pair(const struct views *views, const struct tune_attempt **a,
                const struct tune_attempt **b);

/* commands.c */
struct command {
    const char *name, *hint, *help;
    unsigned where;               /* bits of enum view_id */
    enum tune_action_kind action; /* TUNE_ACTIONS: none */
    void (*run)(struct views *views, struct str args, struct views_request *request);
    bool (*can)(const struct views *views);
};
const struct command *command_at(size_t index); /* NULL past the last */
const struct command *command_find(struct str name);
bool command_exists(const char *name);
bool command_is_here(const struct views *views, const struct command *command);
bool command_can(const struct views *views, const struct command *command);
void command_run(struct views *views, const struct command *command, struct str args,
                 struct views_request *request);
/* Runs a whole line "name arguments". */
void command_line(struct views *views, struct str line, struct views_request *request);
extern const char command_keys[]; /* the default bindings */

/* actions.c: what the commands do to a session */
/* Opens $EDITOR on views->edit_text; the action gets the text. */
void act_open_editor(struct views *views, struct tune_action action, const char *name,
                     struct views_request *request);
void act_approve(struct views *views, struct str args, struct views_request *request);
void act_edit(struct views *views, struct str args, struct views_request *request);
void act_write(struct views *views, struct str args, struct views_request *request);
void act_reject(struct views *views, struct str args, struct views_request *request);
void act_another(struct views *views, struct str args, struct views_request *request);
void act_revert(struct views *views, struct str args, struct views_request *request);
void act_run(struct views *views, struct str args, struct views_request *request);
void act_gates(struct views *views, struct str args, struct views_request *request);
void act_gate(struct views *views, struct str args, struct views_request *request);
void act_plans(struct views *views, struct str args, struct views_request *request);
void act_overrule(struct views *views, struct str args, struct views_request *request);
void act_sweep(struct views *views, struct str args, struct views_request *request);
void act_budget(struct views *views, struct str args, struct views_request *request);
void act_tolerance(struct views *views, struct str args, struct views_request *request);
void act_precision(struct views *views, struct str args, struct views_request *request);
void act_allow(struct views *views, struct str args, struct views_request *request);
void act_take(struct views *views, struct str args, struct views_request *request);
void act_pin(struct views *views, struct str args, struct views_request *request);
void act_drop(struct views *views, struct str args, struct views_request *request);
void act_memory_approve(struct views *views, struct str args, struct views_request *request);
void act_memory_approve_all(struct views *views, struct str args, struct views_request *request);
void act_memory_expire(struct views *views, struct str args, struct views_request *request);

/* chrome.c: what stands around every screen */
void chrome_header(struct views *views, struct tui_area area);
void chrome_steps(struct views *views, struct tui_area area);
void chrome_plan(struct views *views, struct tui_area area);
void chrome_status(struct views *views, struct tui_area area);
void chrome_keys(struct views *views, struct tui_area area);
void chrome_title(struct views *views, struct tui_area area);
const char *spinner_at(int64_t now_ms);
void plan_prediction(const struct tune_plan *plan, struct buf *out);
/* Draws head, title and the lines below; returns what is left for the screen itself. */
struct tui_area chrome_screen(struct views *views, struct tui_area area);

/* panes */
void pane_kernel_draw(struct views *views, struct tui_area area);
void pane_proposal_draw(struct views *views, struct tui_area area);
void pane_device_draw(struct views *views, struct tui_area area);
void pane_profile_draw(struct views *views, struct tui_area area);
const char *pane_title(struct views *views, enum pane pane, struct buf *note);
void pane_moved(struct views *views);
/* Draws rows of a source with gutter, cost and colours; shared with the kernel screen. */
void kernel_draw(struct views *views, struct tui_area area, struct source *source,
                 const struct tune_attempt *attempt, struct tui_list *list);
void diff_draw(struct views *views, struct tui_area area, struct diff *diff,
               const struct tune_candidate *candidate, struct tui_list *list);
void log_draw(struct views *views, struct tui_area area, struct tui_list *list);
const struct tune_log *log_at(const struct views *views, int row);
struct str log_line(const void *views, int row);
void log_filter(struct views *views);
const char *log_phase_name(const struct views *views);
void log_next_filter(struct views *views, bool level);
void log_next_tab(struct views *views, int step);
/* Marks where the last search occurs in a row that is drawn. */
void mark_found(struct views *views, struct tui_area area, int row, int col, struct str text);

/* Metrics and engines of two attempts next to each other; b may be NULL. */
void profile_pair_draw(struct tui_area area, const struct tune_attempt *a,
                       const struct tune_attempt *b);

/* place.c: where kernels are evaluated. The following ones need a place, but for
 * place_is_remote. */
bool place_is_remote(const struct views *views);  /* not the device model of this machine */
bool place_in_trouble(const struct views *views); /* remote, and not connected */
enum tui_role place_role(const struct views *views);
/* "● connected", "! connection lost 12 s, next try in 4 s"; brief: with the name, in fewer
 * words. */
void place_state(const struct views *views, bool brief, struct buf *out);
void place_name(const struct views *views, struct buf *out); /* "trn2 · ssh trn2-host" */
/* What all evaluations wait for: "waiting 2 m 10 s: core 0 is held by ..."; false when one runs. */
bool place_waits(const struct views *views, struct buf *out);
bool place_can_retry(const struct views *views);
void place_retry(struct views *views, struct str args, struct views_request *request);
int place_host_rows(const struct views *views, struct tui_area area); /* that it would fill */
void place_host_draw(struct views *views, struct tui_area area);
void place_queue_draw(struct views *views, struct tui_area area);
/* The question of the place: opened and closed before a frame is drawn. */
void question_follow(struct views *views);
void question_close(struct views *views);
void question_event(struct views *views, const struct tui_event *event,
                    struct views_request *request);
void question_draw(struct views *views, struct tui_area area);

/* screens */
void workbench_draw(struct views *views, struct tui_area area);
void start_draw(struct views *views, struct tui_area area);
void start_enter(struct views *views, struct views_request *request);
void kernel_screen_draw(struct views *views, struct tui_area area);
void diff_screen_draw(struct views *views, struct tui_area area);
void device_screen_draw(struct views *views, struct tui_area area);
void profile_screen_draw(struct views *views, struct tui_area area);
/* timeline.c: the part of the profile screen. zoom: 0.5 shows half as much; step: 1 or -1. */
void profile_timeline_draw(struct views *views, struct tui_area area,
                           const struct tune_attempt *attempt);
void profile_timeline_zoom(struct views *views, double factor);
void profile_timeline_step(struct views *views, int step);
void profile_timeline_free(struct timeline *timeline);
void profile_enter(struct views *views, struct views_request *request);
void notes_draw(struct views *views, struct tui_area area);
void history_draw(struct views *views, struct tui_area area);
void history_order(struct views *views);
int history_attempt(const struct views *views); /* under the cursor, -1 */
struct str history_line(const void *views, int row);
const char *history_glyph(enum tune_status status, enum tui_role *role);
void memory_draw(struct views *views, struct tui_area area);
void scores_draw(struct views *views, struct tui_area area);
void prompt_draw(struct views *views, struct tui_area area);
void prompt_enter(struct views *views, struct views_request *request);
/* The list of the page that shows, and the text of one of its rows. */
struct tui_list *prompt_list(struct views *views);
struct str prompt_line(const void *views, int row);
/* The prompt as it would go out now; prompt and answer of a call; opening them. */
struct tune_prompt *prompt_parts_now(struct views *views);
void prompt_call_print(struct views *views, int number, struct buf *out);
void prompt_call_open(struct views *views, int number);
void prompt_find(struct views *views, int step, bool here); /* prompt_find.c */
bool prompt_back(struct views *views); /* false: there is nothing to go back to */
void prompt_forget(struct views *views);
enum tune_role prompt_role(const struct views *views); /* the one the screen is about */
void prompt_calls(struct views *views, struct str args, struct views_request *request);
void prompt_next_role(struct views *views, struct str args, struct views_request *request);
void prompt_switch(struct views *views, struct str args, struct views_request *request);
void prompt_restore(struct views *views, struct str args, struct views_request *request);
void prompt_hold(struct views *views, struct str args, struct views_request *request);
void prompt_edit(struct views *views, struct views_request *request);
bool prompt_has_part(const struct views *views);
bool prompt_is_edited(const struct views *views);

/* lanes.c: the directions of a round that follows several at once */
bool lanes_any(const struct views *views);
bool lanes_may(const struct views *views); /* has some, or the next round will */
/* The lane that commands are about: the one looked at, on the screen of the lanes the one under the
 * cursor. Whether it is followed still; a round without lanes is. */
int lanes_here(const struct views *views);
bool lanes_is_open(const struct views *views);
/* Looks at it, so that what is done next is done to it. False, said why, when it is closed. */
bool lanes_take_cursor(struct views *views);
void lanes_next(struct views *views, struct str args, struct views_request *request);
void lanes_previous(struct views *views, struct str args, struct views_request *request);
void lanes_next_open(struct views *views, struct str args, struct views_request *request);
void lanes_show(struct views *views, struct str args, struct views_request *request);
void lanes_enter(struct views *views, struct views_request *request);
/* What it does now or did last; "#12 of #4, plan 2, rewrite 1". */
void lanes_does(const struct tune_state *state, int lane, struct buf *out);
void lanes_which(const struct tune_state *state, int lane, struct buf *out);
/* What those at work do: "#12 seed 21, #13 benchmark". */
void lanes_running(const struct tune_state *state, struct buf *out);
void lanes_draw(struct views *views, struct tui_area area);
struct str lanes_line(const void *views, int row);
void chrome_lanes(struct views *views, struct tui_area area);
bool lanes_click(struct views *views, int row, int col); /* false: none is there */

/* calls.c: questions to models that run now */
int calls_running(const struct tune_state *state);
bool calls_many(const struct views *views);
void calls_next(struct views *views, struct str args, struct views_request *request);
void calls_previous(struct views *views, struct str args, struct views_request *request);
/* The end of what has come of an answer. */
void calls_draw_live(struct tui_area area, const struct tune_call *call);
/* The question that is not sent yet: the one looked at, else the first; NULL. *number may be
 * NULL. */
const struct tune_call *calls_held(const struct views *views, int *number);
void calls_send(struct views *views, struct str args, struct views_request *request);
bool calls_draw(struct views *views, struct tui_area area); /* false: none runs */
/* The line of what is drawn in place of a diff; false where that is no question. */
bool calls_line(const struct views *views, int row, struct str *line);
bool calls_doing(const struct views *views, struct buf *out);
/* "310 tokens", "waits for you", "nothing yet" */
void calls_state_print(const struct tune_call *call, struct buf *out);
void calls_answer(struct views *views, struct str args, struct views_request *request);
void calls_answer_here(struct views *views, struct str args, struct views_request *request);
/* Cuts off what the editor showed below the answer. */
void calls_answer_cut(struct buf *text);
/* False when no question waits for what was pasted. */
bool calls_paste(struct views *views, struct str paste);
/* summary.c */
void summary_draw(struct views *views, struct tui_area area);
void summary_enter(struct views *views, struct views_request *request);
struct str summary_line(const void *data, int row);
void summary_forget(struct views *views);
bool summary_is_due(const struct tune_state *state); /* the loop has stopped by itself */
/* Opens it when the loop stops and nobody is there. Before a frame is drawn. */
void summary_follow(struct views *views);
void settings_draw(struct views *views, struct tui_area area);
void settings_enter(struct views *views, struct views_request *request);
void notice_draw(struct views *views, struct tui_area area);

#endif
