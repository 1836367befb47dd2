/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a session share: the work under way and the steps. For the rooms of
 * tune. */
#ifndef HONE_TUNE_SESSION_INNER_H
#define HONE_TUNE_SESSION_INNER_H

#include "store/store.h"
#include "tune/session/place.h"
#include "tune/session/proposes.h"
#include "tune/session/session.h"
#include "tune/state/inner.h"

#define TUNE_PLATEAU 5 /* rounds in a row without a gain */
#define TUNE_MAX_PARENTS 64
#define TUNE_MIN_GAIN 0.002 /* a gain below this share of the latency is no reason to keep */
#define TUNE_MAX_REPLANS 8  /* plans of a round that the proposer may fail to carry out */

enum tune_work_is {
    TUNE_WORK_NONE,
    TUNE_WORK_PLAN,
    TUNE_WORK_REWRITE,
    TUNE_WORK_EVALUATE,
    TUNE_WORK_SUMMARISE,
    TUNE_WORK_REFLECT
};

/* Whom a piece of work is for. It is wanted as long as that step runs in that lane. */
struct tune_work {
    struct tune_session *session;
    int lane;
    int round;
    enum tune_step step;
};

/* A request to the proposer that is under way. */
struct tune_reply {
    struct tune_work work;
    struct tune_reply *next; /* in session->replies */
    enum tune_work_is is;
    bool done; /* answered or given up; it is freed when nobody is inside it */
    struct tune_context *context;
    struct tune_plan plan; /* its texts live in the state */
    char author[80];       /* "": the proposer's name */
    bool learnt;           /* a lesson came, and waits for those of the lanes before it */
    struct arena *lesson_arena;
    struct tune_lesson *lesson; /* NULL: hone writes it */
};

/* How many things of each kind a runner tells piece by piece. */
enum tune_told { TUNE_TOLD_SEEDS, TUNE_TOLD_SAMPLES, TUNE_TOLD_FINDINGS, TUNE_TOLD };
struct tune_tellings {
    size_t count[TUNE_TOLD];
};

/* An evaluation under way: what it is for, and what came so far. */
struct tune_evaluation {
    struct tune_work work;
    struct tune_evaluation *next; /* in session->evaluations */
    void *run;
    int attempt;
    uint64_t began_ns, left_ns; /* left: when it was given up */
    bool given_up;              /* what still comes is ignored */
    bool timed;                 /* its times are told, while its numbers are checked */
    bool held;                  /* not begun: the device model is asked first, and run is NULL */
    bool looked;                /* a worker looked at the task's files since it ended */
    /* it is for the remaining seeds of a candidate that is faster; in a benchmark it is the second
     * evaluation, which confirms the first */
    bool rest;
    int64_t count, known; /* events of it so far; how many of these the log has already */
    int64_t heard; /* number of the event that is told now; 0: none, or not one of the runner's */
    struct runner_result result;      /* of one that waits for the device model; run is NULL then */
    size_t seeds, lines, diagnostics; /* seeds asked for; log lines and diagnostics stored */
    char *folder;                     /* where the profile goes */
    /* An evaluation that did not come to its end begins again (again.c). */
    int tries;                           /* evaluations of this before it that did not */
    bool same;                           /* all of these for the same reason, `why` */
    bool crashed;                        /* so often that the kernel must be the cause */
    char why[512];                       /* the last one's reason */
    struct tune_tellings told, heard_of; /* in the log from before; heard in this evaluation */
    struct loop_timer *again;            /* it waits to begin; run is NULL */
};

/* What is said about a candidate before anything is spent on it, while that is under way. The rest
 * is private to inspect.c. */
struct tune_inspection {
    struct tune_work work;
    struct tune_inspection *next;                       /* in session->inspections */
    void (*cancel)(struct tune_inspection *inspection); /* takes it off the list */
};

/* Who moves the session on; it is told of what is done here. */
struct tune_driver {
    void (*advance)(struct tune_session *session);
    void (*step_done)(struct tune_session *session, int lane, enum tune_step step,
                      enum tune_step_is is, const char *text);
    /* Large files were read or copied. `failed`: one could not be copied; NULL. */
    void (*files_known)(struct tune_session *session, const struct err *failed);
    /* A worker looked at the files of the task. */
    void (*files_looked)(struct tune_session *session);
};

/* log.c. Events of the log, read ahead by threads and applied as they are taken. */
struct store_ahead *tune_ahead_begin(struct store *store);
enum store_ahead_is tune_ahead_apply(struct store_ahead *ahead, struct tune_state *state,
                                     int wait_ms);
/* From now on kernels that events bring are left in the log, until tune_sources_keep. They are read
 * from *store, which is there as long as the state. */
void tune_log_leave(struct tune_state *state, struct store **store);
/* Applies all that the log has behind the state's last event; kernels are left in the log. */
bool tune_log_read(struct store **store, struct tune_state *state, struct err *err) CC_MUST_USE;

struct tune_session {
    const struct tune_driver *driver;
    struct loop *loop;
    struct store *store;
    struct tune_state *state;
    const struct config *config; /* that it was opened with; NULL: none */
    struct tune_place place;
    struct tune_place_view place_view;
    struct tune_proposer *proposer;
    int questions; /* requests to the proposer at once, at most */
    double prune;  /* times its parent's modelled time: a kernel that is slower is not measured */
    struct tune_reply *replies;
    int asking;                 /* calls of the proposer's functions that have not returned */
    struct tune_reply *awaited; /* whose kernel an agent is to hand in; NULL: none */
    struct loop_timer *awaited_until;
    struct tune_evaluation *evaluations;
    struct tune_follow *follow;   /* read-only: looks for new events; NULL */
    struct tune_opening *opening; /* of a log that is still being read; NULL */
    struct tune_early *early;     /* what comes behind that; NULL */
    struct tune_slices *slices;   /* derived files that are being made; NULL */
    struct tune_large *large;     /* hashes of files that are too large to be kept; NULL */
    struct task_seen *seen;       /* what smaller ones were seen to have; NULL */
    struct tune_look *look;       /* a worker's look at the files of the task; NULL */
    bool acts_later;              /* what the person did about files waits for them: */
    int later;                    /* a value of enum tune_action_kind */
    bool starts_later;            /* .. and then it starts */
    bool unread;                  /* it could not be opened */
    struct tune_ingest *ingests;  /* profiles being put away */
    bool advancing, halted, closing;
    struct tune_inspection *inspections; /* of candidates, that are under way */
    struct nki_facts *original;          /* of the seed kernel's program; NULL: not known */
    struct tune_beside *beside;          /* the device model beside a measured place */
    struct tune_opinion *opinion;        /* the compiler's own prediction, asked apart */
    int failures;                        /* evaluations in a row that the target could not do */
    int jobs;                            /* evaluations in a row that the target failed to do */
    struct loop_timer *deadline;         /* gives up what runs before a limit is passed; */
    enum tune_budget deadline_of;        /* the limit */
    char *trouble, *task_path;
    struct buf notes; /* see tune_session_notes */
    int64_t left_ns;  /* when its files were written last, before it was opened */
    char *kernel_now,
        *reference_now; /* files of the task as it was opened; the latter may be NULL */
    bool is_builtin;    /* the kernel is no file */
    char *model;        /* state->model with the secrets, which are not in the log; NULL */
    void (*changed)(void *);
    void *changed_context;
    void (*opened)(void *, const struct err *err);
    void *opened_context;
    void (*on_event)(void *, int64_t, const char *, const char *);
    void *event_context;
};

#define TUNE_ALL_LANES (-1) /* events that are about the round, or about none of its lanes */

/* Stores one event of a lane, applies it and tells those who listen. False when it could not be
 * stored: then nothing changed, and the session is halted until the person starts it again. */
bool tune_emit(struct tune_session *session, int lane, const struct tune_event *event);
/* A trouble that the person is told of until it is over. */
void tune_trouble_set(struct tune_session *session, const char *text);
/* A warning in the log that is also one of tune_session_notes. */
void tune_note(struct tune_session *session, const char *format, ...) CC_PRINTF(2, 3);
bool tune_emit_log(struct tune_session *session, int lane, enum tune_level level, const char *phase,
                   const char *format, ...) CC_PRINTF(5, 6);
/* Goes on as far as it can without waiting for anything. */
void tune_advance(struct tune_session *session);
/* Gives up what is under way. */
void tune_work_cancel(struct tune_session *session);
/* Gives up work that nobody wants any more, because its step or its lane was left. */
void tune_work_sweep(struct tune_session *session);
/* Whether anything is under way, at all or in a lane. */
bool tune_works(const struct tune_session *session);
bool tune_works_in(const struct tune_session *session, int lane);
struct tune_work tune_work_of(struct tune_session *session, int lane, enum tune_step step);

/* Ends the lane's part of the step. */
void tune_step_done(struct tune_session *session, int lane, enum tune_step step,
                    enum tune_step_is is, const char *format, ...) CC_PRINTF(5, 6);
void tune_step_progress(const struct tune_work *work, const char *doing, double done, double total);
/* Stops the loop; `lane` is the one that was the cause. */
void tune_stop(struct tune_session *session, int lane, const char *format, ...) CC_PRINTF(3, 4);
/* The target, Python or the disk failed. Stops the loop for good, or pauses it so that `start`
 * tries again. */
void tune_give_up(struct tune_session *session, int lane, bool for_good, const char *format, ...)
    CC_PRINTF(4, 5);

/* An evaluation ended or was given up. The next one counts as another occasion, for the host as
 * well. */
void tune_evaluation_settled(struct tune_session *session, int lane, int attempt);
/* Takes an evaluation that waits for the device model off the list. */
void tune_evaluation_drop(struct tune_evaluation *evaluation);
/* Takes one that ended off the list; frees one that is off the list. */
void tune_evaluation_unlink(struct tune_evaluation *evaluation);
void tune_evaluation_free(struct tune_evaluation *evaluation);

#endif
