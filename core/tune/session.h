/* SPDX-License-Identifier: Apache-2.0 */
/* A session: the state, its log on disk and the loop that moves it. Everything a person does is an
 * action; every action is an event in the log before anything is shown. */
#ifndef HONE_TUNE_SESSION_H
#define HONE_TUNE_SESSION_H

#include "base/base.h"
#include "tune/words.h"

struct loop;
struct tune_place;
struct tune_proposer;
struct tune_session;
struct tune_state;

/* How a session is opened. Zero means what [defaults] of the configuration says, else the default
 * in brackets. For a session that exists, what is set here and differs is changed by an event; the
 * rest stays as it was. */
struct tune_options {
    const char *task;            /* a folder, a kernel file, or "seeds/<name>" */
    const char *reference;       /* with a kernel file */
    const char *session_dir;     /* [.hone/<task> beside the kernel] */
    const char *device;          /* [that of the target's section, else trn2] */
    const char *target;          /* [sim] */
    const struct config *config; /* defaults, hosts and clusters; outlives the session. [none] */
    const char *proposer;        /* [rewriter] */
    const char *search;          /* [greedy] */
    const char *precision;       /* [keep]: inputs' precision is kept; "any" */
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
    struct tune_proposer *use;   /* instead of one by name; the session frees it. NULL */
    struct tune_place *place;    /* instead of a target by name; copied. NULL */
};

/* X(ID, "name", fields it reads, undoable): `step`, `attempt`, `index`, `text`, `number`, `gate`,
 * `role`, `part`. */
#define TUNE_ACTION_TABLE(X)                                                                  \
    X(START, "start", "", false)        /* also: go on after pause or rejection */            \
    X(PAUSE, "pause", "", false)        /* after the step that runs; a question               \
                                         * to a model is given up at once */                  \
    X(APPROVE, "approve", "", true)     /* what waits at the gate */                          \
    X(REJECT, "reject", "text", true)   /* with the reason; pauses */                         \
    X(ANOTHER, "another", "text", true) /* drop the proposal, ask for a new one */            \
    X(FOCUS, "focus", "index", false)   /* looks at another lane */                           \
    X(CHOOSE_PLAN, "choose-plan", "index", true)                                              \
    X(EDIT_PLAN, "edit-plan", "text", true)        /* first line title, rest what */          \
    X(EDIT_KERNEL, "edit-kernel", "text", true)    /* the candidate's whole source */         \
    X(WRITE_KERNEL, "write-kernel", "text", true)  /* own candidate instead of a proposal */  \
    X(SWEEP, "sweep", "text", true)                /* values of constants, one attempt each:  \
                                                    * "TILE_N=128,256" */                     \
    X(LEAVE_HUNK, "leave-hunk", "index why", true) /* toggles taken and left; text: why */    \
    X(REVERT, "revert", "attempt", true)           /* makes it the incumbent */               \
    X(OVERRULE, "overrule", "attempt text", true)  /* "keep", "revert", "inconclusive" or     \
                                                    * "suspect"; attempt 0: this round's */   \
    X(MEASURE, "measure", "", true)                /* measure the candidate once more */      \
    X(UNDO, "undo", "", false)                                                                \
    X(REDO, "redo", "", false)                                                                \
    X(SET_GATE, "gate", "step gate", true)        /* step TUNE_STEPS: all of them */          \
    X(SET_BUDGET, "budget", "index number", true) /* index: enum tune_budget; NAN none */     \
    X(SET_TOLERANCE, "tolerance", "number", true)                                             \
    X(SET_PRECISION, "precision", "text", true)                                               \
    X(EDIT_NOTE, "edit-note", "index text", true)                                             \
    X(PIN_NOTE, "pin-note", "index", true)   /* toggles */                                    \
    X(DROP_NOTE, "drop-note", "index", true) /* toggles */                                    \
    X(APPROVE_MEMORY, "approve-memory", "index", true)                                        \
    X(EDIT_MEMORY, "edit-memory", "index text", true) /* first line title, rest summary */    \
    X(EXPIRE_MEMORY, "expire-memory", "index", true)  /* toggles */                           \
    X(DELETE_MEMORY, "delete-memory", "index", true)                                          \
    X(SWITCH_PART, "switch-part", "role part", true)   /* off, or on again */                 \
    X(EDIT_PART, "edit-part", "role part text", true)  /* for the next call of that role */   \
    X(RESTORE_PART, "restore-part", "role part", true) /* the template's words again */       \
    X(ANSWER, "answer", "index text", false)           /* a person's, to a call that waits */ \
    X(HOLD, "hold", "", true)       /* questions wait to be sent, or not: toggles */          \
    X(SEND, "send", "index", false) /* a call that is held */                                 \
    X(ALLOW, "allow", "", true)     /* candidates what the seed kernel uses                   \
                                     * beyond the list of the guard */

#define X(id, name, fields, undoable) TUNE_ACT_##id,
enum tune_action_kind { TUNE_ACTION_TABLE(X) TUNE_ACTIONS };
#undef X

struct tune_action {
    enum tune_action_kind kind;
    enum tune_step step;
    enum tune_gate gate;
    int attempt, index;
    double number;
    enum tune_role role;
    const char *part, *text; /* copied */
};

/* Opens (or makes) the session and reads its log. Nothing runs until TUNE_ACT_START. options->use
 * and options->place belong to the session once the task could be read. NULL with *err
 * for a task that cannot be read, a session of a newer version, a folder that cannot be written.
 * A session that another process holds is opened read-only; see tune_state.held_by. */
struct tune_session *tune_session_open(const struct tune_options *options, struct loop *loop,
                                       struct err *err) CC_MUST_USE;
/* Ends what runs on this machine, writes what is left and closes; a job on a host goes on there and
 * is taken up when the session is opened and started again. Accepts NULL. */
void tune_session_close(struct tune_session *session);

/* `changed` is called after events were stored and applied, from the loop's thread, never inside
 * tune_session_act or tune_session_open of the same caller's stack more than once an event. */
void tune_session_on_change(struct tune_session *session, void (*changed)(void *), void *context);
/* Raw events as they are stored, for hone run --json: type, payload (JSON text of an object). */
void tune_session_on_event(struct tune_session *session,
                           void (*event)(void *, int64_t seq, const char *type, const char *json),
                           void *context);
const struct tune_state *tune_session_state(const struct tune_session *session);

/* Does what the person asks, or says in *err why it makes no sense now. */
bool tune_session_act(struct tune_session *session, const struct tune_action *action,
                      struct err *err);
/* Whether the action makes sense in this state: for the key line and the help. */
bool tune_can(const struct tune_state *state, enum tune_action_kind kind);
const char *tune_action_name(enum tune_action_kind kind);

/* What an import took in, and a line "file:line: what is wrong" for each thing it did not. */
struct tune_import_report {
    size_t files, experiences, attempts;
    size_t fit, known;     /* of the experiences: apply to this task; of all: were there already */
    struct buf complaints; /* free with buf_free */
};
/* Writes down what came of it so far, as happens by itself whenever the loop stops: for who ends it
 * before. `why` NULL: as the state says. */
void tune_session_summarise(struct tune_session *session, const char *why);

/* Takes over what other agents, or other sessions, learnt and tried: a file or a folder of theirs
 * (formats: foreign.h). Experiences come in as proposed, attempts to be read only. Adds to
 * *report. */
bool tune_session_import(struct tune_session *session, const char *path,
                         struct tune_import_report *report, struct err *err);
/* Writes a session's folder as a bundle that tells all and reproduces without hone's own files: see
 * bundle.c. `folder` must not exist or be empty. Runs nothing, needs no task. */
bool tune_bundle_write(const char *session, const char *folder, struct err *err);
/* The kernel and the reference that a session's folder is about: new strings, the latter may be
 * NULL. */
bool tune_session_about(const char *session, char **kernel, char **reference, struct err *err);

/* About the place evaluations run at (state->place; `changed` is called when that changes). Watch:
 * somebody looks at it now, so that cores and memory are kept fresh for the next half minute.
 * Answer: to the question it has, NULL declines; the caller wipes its own text. Retry: connect
 * again now; a question that waits for a model's service is asked now, too. All do nothing where
 * there is no such thing. */
void tune_session_watch(struct tune_session *session);
void tune_session_answer(struct tune_session *session, const char *answer);
void tune_session_retry(struct tune_session *session);

/* The session's folder; files in it by content hash ("artifacts/<hash>"; a new string). */
const char *tune_session_folder(const struct tune_session *session);
char *tune_session_artefact(const struct tune_session *session, const char *hash) CC_MUST_USE;
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
