/* SPDX-License-Identifier: Apache-2.0 */
/* The loop: opens and closes a session and moves it from step to step. Everything a person does is
 * an action. */
#ifndef HONE_TUNE_DRIVE_H
#define HONE_TUNE_DRIVE_H

#include "tune/act/act.h"
#include "tune/session/session.h"
#include "tune/state/state.h"

struct loop;
struct tune_place;
struct tune_proposer;

/* How a session is opened. Zero means what [defaults] of the configuration says, else the default
 * in brackets. For a session that exists, values that differ from its own are changed by an event;
 * the rest stays as it was. */
struct tune_options {
    const char *task;            /* a folder, a kernel file, or "seeds/<name>" */
    const char *reference;       /* with a kernel file */
    const char *function;        /* the kernel of a file of several [the only one, or the last that
                                  * no other calls] */
    const char *session_dir;     /* [.hone/<task> beside the kernel] */
    const char *device;          /* [that of the target's section, else trn2] */
    const char *target;          /* [sim] */
    const char *release;         /* of the package nki that kernels are for, "0.6" [that of the
                                  * target's section or [defaults], else the target's own, else the
                                  * newest] */
    const char *tracing;         /* who evaluates kernels for the device model, for a session that
                                  * begins: "hone", "python3" [that of the configuration] */
    const struct config *config; /* defaults, hosts and clusters; outlives the session. [none] */
    const char *proposer;        /* [rewriter] */
    const char *search;          /* [greedy] */
    const char *precision;       /* [keep]: inputs' precision is kept; "split", "any" */
    bool pessimistic;            /* the model's fitted and guessed constants at their unfavourable
                                  * end, for a session that begins [that of the configuration] */
    int lnc; /* physical cores of the device model's launches, for a session that begins [that of
              * the configuration, else as the kernel's file does] */
    const char *seeds;           /* "0,21,42" [0,21,42,63,84] */
    double tolerance;            /* [the task's] */
    int rounds;                  /* [50]; for a session that exists: so many more */
    double limits[TUNE_BUDGETS]; /* of wall, device, tokens, dollars: [budgets], else none; for a
                                  * session that exists: so much more than is spent */
    bool gate_set;               /* false: the gates' default */
    enum tune_gate gate;         /* for all steps [plan, rewrite and decide ask, verify
                                  * auto-green, the rest auto] */
    bool fresh;                  /* start anew: the old session is moved aside, not deleted */
    bool read_only;              /* look only */
    bool idle;                   /* nothing will run: without target and proposer */
    bool agents; /* nobody proposes but agents, who hand kernels in; it is not written down */
    bool early;  /* do not wait until a long log is read: tune_state.opening */
    struct tune_proposer *use; /* instead of one by name; the session frees it. NULL */
    struct tune_place *place;  /* instead of a target by name; copied. NULL */
};

/* Opens (or makes) the session and reads its log. Nothing runs until TUNE_ACT_START. options->use
 * and options->place belong to the session once the task could be read. NULL with *err for a task
 * that cannot be read, a session of a newer version, or a folder that cannot be written. A session
 * that another process holds is opened to look at only; see tune_state.held_by. With `early` it may
 * come while its log is still being read: until tune_session_on_opened tells that it is whole, it
 * can be looked at and closed. */
struct tune_session *tune_session_open(const struct tune_options *options, struct loop *loop,
                                       struct err *err) CC_MUST_USE;
/* Ends what runs on this machine, writes what is left and closes; a job on a host goes on there and
 * is taken up when the session is opened and started again. Accepts NULL. */
void tune_session_close(struct tune_session *session);

/* Whether a task whose session would be in `folder` (.hone/NAME) has none there, but one from when
 * the task's folder had another name. Then *err (usage) says which, that a rename in .hone takes it
 * over, and `otherwise`, which may be "". */
bool tune_session_renamed(const char *folder, const char *otherwise, struct err *err);

/* A run of a command: what it sets in the place of the session's own gates and limits, from `begin`
 * until `end`, or until the session is opened again after a run that was killed. What it does stays
 * in the session like everything else. begin: false with *err when it cannot be written down. */
struct tune_run {
    bool gate_set; /* false: the session's gates */
    enum tune_gate gate;
    double limits[TUNE_BUDGETS]; /* so much more than is spent; 0: the session's */
};
bool tune_session_run_begin(struct tune_session *session, const struct tune_run *run,
                            struct err *err) CC_MUST_USE;
void tune_session_run_end(struct tune_session *session);

/* Whether the session's files were removed, moved or replaced while it is open. Then rescue writes
 * all of it to a folder that does not exist yet, and the session goes on there; false with *err
 * when that is not possible. The place to offer is beside the old one, or among hone's own files; a
 * new string. */
bool tune_session_is_lost(struct tune_session *session);
char *tune_session_rescue_place(const struct tune_session *session, bool beside) CC_MUST_USE;
bool tune_session_rescue(struct tune_session *session, const char *folder,
                         struct err *err) CC_MUST_USE;

/* Does what the person asks, or says in *err why it makes no sense now. */
bool tune_session_act(struct tune_session *session, const struct tune_action *action,
                      struct err *err);
/* Whether anything runs or will run without a person doing something. */
bool tune_session_is_busy(const struct tune_session *session);

/* Recent sessions, newest first, and the seeds that come with hone: the start screen. */
struct tune_recent {
    char *task, *path, *folder; /* path: what to pass as tune_options.task */
    char *about;                /* first line of the seed's README; NULL */
    char *last;                 /* "1.61x, 0.842 ms after 7 rounds"; NULL */
    int64_t used_ms;            /* 0: never */
    bool is_seed, is_gone;
};
struct tune_recent *tune_recent_list(size_t *count) CC_MUST_USE;
void tune_recent_free(struct tune_recent *list, size_t count);

#endif
