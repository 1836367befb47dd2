/* SPDX-License-Identifier: Apache-2.0 */
/* Private to cli/run: what its files share. */
#ifndef HONE_CLI_RUN_PRIVATE_H
#define HONE_CLI_RUN_PRIVATE_H

#include <signal.h>

#include "cli/kit/kit.h"
#include "cli/person/person.h"
#include "loop/loop.h"
#include "tune/tune.h"

#define EXIT_SIGNAL 128 /* and its number, as shells report one */
#define EXIT_INTERRUPTED (EXIT_SIGNAL + SIGINT)

struct run {
    const struct cli *cli;
    struct loop *loop;
    struct tune_session *session;
    struct loop_signal *interrupt, *terminate, *hangup;
    struct person *person;
    struct config *config;
    struct ask *ask;         /* questions of the place */
    enum target_state noted; /* of the place, when it was said last */
    struct buf said;         /* what was said of it */
    const char *changed;     /* which files of the task count: "take", "keep"; NULL */
    struct buf files;        /* why it ended over them */
    int64_t retry_ms;        /* when it tried again, as was said */
    uint64_t started_ns;
    const char *end; /* why it ended before the loop did; NULL */
    bool json, asks, interrupted, prompted;
    bool rescued;     /* its files were gone */
    int signum;       /* that ended it */
    struct buf left;  /* what goes on without it */
    struct buf saved; /* where to, or why not */
    bool looks;       /* look() comes soon */
    int shown, given; /* the question that was shown last, and answered last; -1 */
};

/* say.c: a line of the log, for people. */
void run_say(struct run *run, const char *what, const char *text);
/* Prints a line and frees it. When nobody reads any more, the run ends. */
void run_line(struct run *run, struct buf *line);
/* Which files of the task are others on disk, and how. */
void run_say_changes(struct run *run);
void run_on_event(void *data, int64_t seq, const char *type, const char *json);

/* end.c */
const char *run_end_reason(const struct run *run); /* NULL: it is not known */
void run_end_print(struct run *run);
int run_end_status(const struct run *run);

/* person.c: asks at a gate what to do. */
void run_prompt(struct run *run);
/* Whether a question waits for a person: then it is shown, and what comes is for it. Ends the run
 * when nobody is there. */
bool run_question_waits(struct run *run);
/* Reads standard input when somebody there is asked; false when nobody could answer. */
bool run_somebody_answers(struct run *run, struct err *err) CC_MUST_USE;

/* files.c: files of the task changed on disk: whose count is what the command line said. False with
 * *err where nothing said it; the second ends the run then. */
bool run_files_choose(struct run *run, struct err *err) CC_MUST_USE;
bool run_files_go_on(struct run *run) CC_MUST_USE;

/* place.c: says how the connection is when that changed, and asks what only a person can answer. */
void run_follow_place(struct run *run);

/* run.c: after every change: is there anything left to wait for? `data` is the run. */
void run_look(void *data);

#endif
