/* SPDX-License-Identifier: Apache-2.0 */
/* What the rooms of tune share about the state: making it, and what changes it. */
#ifndef HONE_TUNE_STATE_INNER_H
#define HONE_TUNE_STATE_INNER_H

#include "tune/state/state.h"

#define TUNE_MENU_KEEP 0.25 /* share of the entries that a prompt shows */
#define TUNE_POSITIVE 1.04  /* speedups that become experiences */
#define TUNE_NEGATIVE (1 / 1.15)
#define TUNE_MAX_REPAIRS 3
#define TUNE_MAX_LANES 512
#define TUNE_DIVERGENCE 0.5 /* slower than the best by this share: it is reverted at once */

/* Lanes and beam as they were; in the state's arena. */
struct tune_lanes {
    struct tune_lane *at;
    int *beam;
    size_t count, beam_count;
    int unsaid, from;
    int64_t seq;
    const struct tune_way *way;
};

/* All that a decision of the workflow can change, and that an undo puts back. Lists are copies in
 * the state's arena. */
struct tune_flow {
    bool running, finished, revise, round_over;
    int round, incumbent, best, plateau;
    enum tune_step step, wait_step;
    enum tune_wait wait;
    struct tune_step_view steps[TUNE_STEPS];
    const char *wait_text;
    struct tune_lanes lanes;
    const struct tune_plan *plans;
    const struct tune_rejected *rejected; /* the last of them */
    size_t n_plans, n_rejections;
    size_t n_attempts, n_changes; /* attempts, and changes of attempts, up to then */
};

/* A rejection and those before it: lists that share their beginnings, for undo. */
struct tune_rejected {
    struct tune_rejection row;
    const struct tune_rejected *before;
};

/* What an attempt was before that changed. */
struct tune_change {
    int attempt;
    enum tune_status status;
    const char *reason;
};

/* What an undo step puts back: the flow, the settings, one note, one experience, or what was
 * changed about prompts. */
enum tune_undo_kind {
    TUNE_UNDO_NONE,
    TUNE_UNDO_FLOW,
    TUNE_UNDO_SETTINGS,
    TUNE_UNDO_NOTE,
    TUNE_UNDO_MEMORY,
    TUNE_UNDO_PARTS
};
struct tune_settings {
    int rounds;
    double limits[TUNE_BUDGETS], tolerance;
    enum tune_gate gates[TUNE_STEPS];
    const char *precision;
    unsigned by_hand;
    bool holds, allows_seed;
};
/* Gates and limits: the session's own, while a run has others in their place. */
struct tune_own {
    int rounds;
    double limits[TUNE_BUDGETS];
    enum tune_gate gates[TUNE_STEPS];
};
struct tune_parts {
    struct tune_part_change *at;
    size_t count;
    int sent[TUNE_ROLES]; /* questions that had gone out */
};
struct tune_undo {
    enum tune_undo_kind kind;
    const char *what;
    bool by_loop;  /* what the loop decided; else what a person did */
    int decisions; /* of the loop, before it */
    size_t index;  /* of the note or the experience */
    int lane;      /* that it was about; -1 */
    union {
        struct tune_flow flow;
        struct tune_settings settings;
        struct tune_note note;
        struct tune_experience experience;
        struct tune_parts parts;
    };
};

/* The most that a step took in this session: seconds of the device for each of its evaluations,
 * seconds of the clock for all of it. */
struct tune_took {
    double device_s[2], wall_s; /* device_s[1]: of the second evaluation, where there is one */
};

/* The evidence of an experience, which grows at its end and has room for more. What an undo step
 * keeps is never written to. */
struct tune_growing {
    char *text; /* NULL, or not the text that the experience has: there is none */
    size_t len, cap;
};

#define TUNE_LOG_PARTS 4 /* of the log lines; the oldest part goes as a whole */

/* What ended calls came to by estimate where nobody counted: sums of the first `count` calls. */
struct tune_guessed {
    size_t count;
    double tokens, dollars; /* NAN: nothing */
};

/* Reads an event that was left in the log and gives it to `take`. False, and why, where it cannot
 * be read any more. */
typedef void tune_left_take_fn(void *into, const struct tune_event *event);
typedef bool tune_left_fn(void *data, int64_t seq, tune_left_take_fn *take, void *into,
                          struct err *err);

/* The text of one of the task's files as the session keeps it, a new string; NULL: it is not kept.
 */
typedef char *tune_kept_file_fn(void *data, const char *hash);

/* The least floors and FLOPs of the correct attempts, as read/roof.c found them last. What changes
 * an attempt's numbers or its verdict takes `known` away. */
struct tune_kept_roof {
    bool known;
    double floors_us[TUNE_PRECISIONS], flops;
};

struct tune_private {
    struct text_pool *texts; /* what tune_keep kept */
    VEC(struct tune_undo) undo, redo;
    int by_person;                   /* of those to be taken back */
    int decisions;                   /* of the loop, so far */
    bool redo_stale;                 /* the loop decided something after a step was taken back */
    struct tune_own kept;            /* while state->by_run says that a run goes on */
    VEC(struct tune_change) changes; /* all of them, as they came */
    const struct tune_rejected *rejected;
    struct by_hash memory;                   /* experiences by what tune_memory_same looks at */
    VEC(struct tune_growing) evidence;       /* by experience */
    struct arena *log_texts[TUNE_LOG_PARTS]; /* of the lines of each part */
    struct by_hash diagnostics;              /* by attempt, as they came */
    struct by_hash imports;                  /* by what distinguishes them */
    struct by_hash normals;                  /* the first n_normals attempts, by tune_normal_of */
    size_t n_normals;
    size_t calls_ended; /* of the first so many calls all have ended */
    struct tune_guessed guessed;
    struct tune_kept_roof roof;
    bool best_stale;              /* a kept attempt changed, so all are looked at again; */
    VEC(int) rivals;              /* else only those that were kept since the best was found */
    struct arena *scratch;        /* the event that is applied */
    struct tune_state *state;     /* whose this is: to look may find trouble */
    tune_left_fn *left;           /* NULL: nothing is left in the log */
    tune_kept_file_fn *kept_file; /* NULL: there are none */
    void *left_data;              /* of both */
    bool leaves;                  /* the log is being read: kernels are left in it */
    bool revise;                  /* the next plan is shown whatever the gate */
    int from;   /* the attempt that a person went back to, which the search goes on from; -1 */
    int unsaid; /* the lane that acts of an older log are about (forms.c); from 0 */
    int64_t decided_seq; /* the last event that may have changed what an attempt is */
    struct tune_took took[TUNE_STEPS];
    int64_t clock_ms;     /* when the last event came */
    int64_t waited_ms;    /* during the step that runs, for services out of order */
    bool round_over;      /* the round was counted; the next one has not begun */
    int sent[TUNE_ROLES]; /* questions that went out */
    void *warm;           /* see os_warm_heap, while a long log is read */
    VEC(struct tune_file_change) declined; /* rather than these the session's own are kept */
};

/* "user", "internal", "crash": whose fault it is. */
const char *tune_diagnostic_cause(const struct tune_diagnostic *diag);
#define TUNE_SUSPECT "hone-suspect" /* the code of a suspected statement (core/diagnose) */
/* Whether there is something to repair an attempt by: it does not compile, or its numbers are wrong
 * and a diagnosis suspects statements (hone-suspect). */
bool tune_is_broken(const struct tune_state *state, const struct tune_attempt *attempt);
/* How many repair turns an attempt gets that is broken. Where only the compiler is to blame
 * (an internal error or a crash) it gets one, to write the same in a simpler way. */
int tune_repairs_most(const struct tune_state *state, const struct tune_attempt *attempt);

struct tune_state *tune_state_new(void) CC_MUST_USE;
void tune_state_free(struct tune_state *state);

/* The attempt with that number; NULL. */
struct tune_attempt *tune_attempt_of(struct tune_state *state, int id);

/* Kept as long as the state is, equal texts once; NULL stays NULL. */
const char *tune_keep(struct tune_state *state, const char *text);
const char *tune_keep_str(struct tune_state *state, struct str text);
void tune_state_find_best(struct tune_state *state);
/* Sets what becomes of an attempt; there is no other way to change that. The reason's text must be
 * the state's. */
void tune_status_set(struct tune_state *state, struct tune_attempt *attempt,
                     enum tune_status status, const char *reason);
/* The first call that may still be open; the number of calls when none is. */
size_t tune_calls_open_from(const struct tune_state *state);
/* The nearest ancestor of an attempt that was kept, or the seed. */
int tune_state_kept_ancestor(const struct tune_state *state, int attempt);
void tune_step_reset(struct tune_step_view *step);
/* Steps from `first` on wait again, and the loop is at `first`. */
void tune_steps_rewind(struct tune_state *state, enum tune_step first);
void tune_wait_set(struct tune_state *state, enum tune_wait wait, const char *text);
void tune_candidate_set(struct tune_state *state, int lane, const char *source, const char *author);
/* Brings back the texts of a candidate that were left in the log. */
void tune_candidate_ready(struct tune_state *state, int lane);
/* Why an attempt takes its time, as the event that is applied says it (NULL: it does not). */
void tune_causes_set(struct tune_state *state, struct tune_attempt *attempt, const char *text);
/* Copies what the lines of an attempt cost. */
void tune_lines_keep(const struct tune_state *state, struct tune_attempt *attempt,
                     const struct tune_lines *lines);
/* Leave: from now on kernels, causes and costs of lines that events bring are left in the log,
 * where `left` finds them. Keep: no longer, and those that the loop works with are brought back. */
void tune_sources_leave(struct tune_state *state, tune_left_fn *left, void *data);
void tune_sources_keep(struct tune_state *state);
void tune_candidate_compose(struct tune_state *state, int lane);
cJSON *tune_plan_write(const struct tune_plan *plan) CC_MUST_USE;

/* lane_state.c. The lane of that number; NULL when there is none. */
struct tune_lane *tune_lane_at(struct tune_state *state, int lane);
/* The number that an attempt gets now; -1 when another lane's may come first. */
int tune_attempt_next(const struct tune_state *state);
/* Clear: one direction again, which starts from the incumbent and has done nothing yet. Free: no
 * lane at all, before others come or the state goes. */
void tune_lanes_clear(struct tune_state *state);
void tune_lanes_free(struct tune_state *state);
/* What these events do to the lanes. */
void tune_lanes_apply(struct tune_state *state, const struct tune_event *event, int64_t wall_ms);
void tune_lane_fan_apply(struct tune_state *state, const struct tune_event *event, int64_t wall_ms);
void tune_lanes_step(struct tune_state *state, const struct tune_event_step *event);
void tune_lane_apply(struct tune_state *state, const struct tune_event *event, int64_t wall_ms);
void tune_lane_end_apply(struct tune_state *state, const struct tune_event *event, int64_t wall_ms);
void tune_lane_progress(struct tune_state *state, const struct tune_event *event);
void tune_lanes_assign_apply(struct tune_state *state, const struct tune_event *event,
                             int64_t wall_ms);
/* Closes a lane: it is not followed any further. False when no open lane is left. */
bool tune_lane_close(struct tune_state *state, int lane, const char *why);
/* The lane has this step to do, now or next. */
void tune_lane_again(struct tune_state *state, int lane, enum tune_step next);
/* Lanes that try again repeat the step that the loop is at. */
void tune_lanes_try_again(struct tune_state *state);
/* How many candidates are worked on now. */
int tune_lanes_running(const struct tune_state *state);
/* What runs in a lane stops running. */
void tune_lanes_rest(struct tune_state *state);
/* A kernel of the person's own joins the round. Returns its lane; -1 when there are too many. */
int tune_lane_join(struct tune_state *state);
void tune_lanes_take(const struct tune_state *state, struct tune_lanes *taken);
void tune_lanes_put(struct tune_state *state, const struct tune_lanes *taken);
/* forms.c: a log tells of a round in one of two forms, and older logs leave out which lane an act
 * is about. In memory there is one form. */
/* What an event of the log says: events that all name their lane. */
struct tune_said {
    struct tune_event *at[2];
    struct tune_event other; /* one that it says besides */
};
/* Returns how many there are. The event itself gets its lane. */
size_t tune_form_read(struct tune_state *state, struct tune_event *event, struct tune_said *said);
/* The lane that older acts are about becomes this one, if it exists; look_away leaves a closed
 * one. */
void tune_form_look(struct tune_state *state, int lane);
void tune_form_look_away(struct tune_state *state);
/* The events to write when a lane begins its part of a step, and when it is through with it. */
struct tune_event tune_form_begin(const struct tune_state *state, enum tune_step step);
struct tune_event tune_form_end(const struct tune_state *state,
                                const struct tune_event_lane_end *end);
/* declined.c: keeps the hunks that are left out of the candidates approved now. */
void tune_declined_note(struct tune_state *state);
/* Adds a row of that lane to state->rejections at its place. Link: renews the links after rows were
 * taken out. */
void tune_rejection_add(struct tune_state *state, int lane, struct tune_rejection row);
void tune_rejections_link(struct tune_state *state);

/* calls_state.c: the events "asked", "sent" (one that was held), "answered" and "unread" (the
 * answer cannot be used). */
void tune_call_asked(struct tune_state *state, const struct tune_event *event, int64_t wall_ms);
void tune_call_sent(struct tune_state *state, const struct tune_event *event, int64_t wall_ms);
void tune_call_unread(struct tune_state *state, const struct tune_event *event, int64_t wall_ms);
void tune_call_answered(struct tune_state *state, const struct tune_event *event, int64_t wall_ms);
/* outage_state.c: the event "outage"; a model answered; nothing is waited for any more, because the
 * loop stands. */
void tune_outage_apply(struct tune_state *state, const struct tune_event *event, int64_t wall_ms);
void tune_outage_over(struct tune_state *state, const char *model, int64_t wall_ms);
void tune_outages_forget(struct tune_state *state);
/* The row of a model that is out of order; NULL. */
const struct tune_outage *tune_outage_of(const struct tune_state *state, const char *model);
/* Calls that ran when the process ended will not be answered any more. */
void tune_calls_break_off(struct tune_state *state, int64_t wall_ms);
/* Whether the plan or the rewrite step asks a model now. */
bool tune_call_runs(const struct tune_state *state);
/* A piece of an answer. `again`: what came so far does not count. It is no event: it is gone when
 * the process is. */
void tune_call_stream(struct tune_state *state, int call, struct str piece, bool again);

/* stock.c: a plan was proposed for an attempt, whose texts the state keeps; a plan was tried. */
void tune_stock_add(struct tune_state *state, const struct tune_plan *plan, int parent);
/* A plan is tried: it, and those of earlier rounds that it takes up again under their title. */
void tune_stock_tried(struct tune_state *state, const struct tune_plan *plan);

#endif
