/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of cli/run share. Private to this folder. */
#ifndef HONE_CLI_RUN_PRIVATE_H
#define HONE_CLI_RUN_PRIVATE_H

#include <signal.h>

#include "cli/kit/kit.h"
#include "cli/person/person.h"
#include "loop/loop.h"
#include "tune/tune.h"

#define EXIT_SIGNAL 128 /* plus its number, as shells report a signal */
#define EXIT_INTERRUPTED (EXIT_SIGNAL + SIGINT)

struct run {
    const struct cli *cli;
    struct loop *loop;
    struct tune_session *session;
    struct loop_signal *interrupt, *terminate, *hangup;
    struct person *person;
    struct tune_run own; /* gates and limits that hold for this run alone */
    struct config *config;
    struct ask *ask;         /* questions of the place */
    enum target_state noted; /* state of the place when it was last noted */
    struct buf said;         /* what was said about it */
    const char *changed;     /* which files of the task count: "take", "keep"; NULL */
    struct buf files;        /* why the run ended because of them */
    int64_t retry_ms;        /* when it tries again, as was said */
    uint64_t started_ns;
    const char *end; /* why the run ended before the loop did; NULL */
    bool json, asks, interrupted, prompted;
    bool rescued;          /* the session's files were gone */
    int signum;            /* the signal that ended it */
    struct buf left;       /* what goes on without it */
    struct buf saved;      /* where it was saved, or why not */
    bool looks;            /* run_look is about to be called */
    int shown, given;      /* the question last shown, and last answered; -1: none */
    int gate;              /* the number of the last line for a program at a gate; 0: none yet */
    struct hash gate_says; /* what it said */
};

/* say.c: prints a line of the log, for people. */
void run_say(struct run *run, const char *what, const char *text);
/* Prints a line and frees it. When nobody reads any more, the run ends. */
void run_line(struct run *run, struct buf *line);
/* Says which files of the task changed on disk, and how. */
void run_say_changes(struct run *run);
void run_on_event(void *data, int64_t seq, const char *type, const char *json);

/* end.c */
const char *run_end_reason(const struct run *run); /* NULL: unknown */
void run_end_print(struct run *run);
int run_end_status(const struct run *run);

/* decide.c: with --json a program decides instead of a person. Says what waits; takes a line. */
void run_gate_json(struct run *run);
void run_decide(struct run *run, struct str line);

/* person.c: asks what to do at a gate. */
void run_prompt(struct run *run);
/* Whether a question waits for a person. Then it is shown, and what comes next answers it. Ends the
 * run when nobody is there. */
bool run_question_waits(struct run *run);
/* Reads standard input when somebody there is asked. False when nobody could answer. */
bool run_somebody_answers(struct run *run, struct err *err) CC_MUST_USE;

/* files.c: whether the files of the task that changed on disk count, as the command line says.
 * False with *err where it says nothing. The second then ends the run. */
bool run_files_choose(struct run *run, struct err *err) CC_MUST_USE;
bool run_files_go_on(struct run *run) CC_MUST_USE;

/* place.c: reports the state of the connection when it changed, and asks what only a person can
 * answer. */
void run_follow_place(struct run *run);

/* run.c: called after every change, to see whether there is anything left to wait for. `data` is
 * the run. */
void run_look(void *data);

#endif
