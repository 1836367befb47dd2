/* SPDX-License-Identifier: Apache-2.0 */
/* A host or a cluster as a command reaches it: connected while the person sees what happens and
 * answers what is asked, then asked by commands of its runner. */
#ifndef HONE_CLI_HOST_REACH_H
#define HONE_CLI_HOST_REACH_H

#include "cli/kit/kit.h"
#include "cli/person/person.h"
#include "loop/loop.h"
#include "target/target.h"

struct reach {
    struct loop *loop;
    struct target *target;
    struct ask *ask;
    struct loop_signal *interrupt, *terminate;
    char said[400]; /* the last sentence about the connection */
    bool quiet;     /* says nothing about the way there */
    bool settled, interrupted;
    bool waits; /* in reach_wait: being settled is the end */
    bool over;  /* what the loop is served for */
    bool asked_done;
    enum str_reply reply;
    struct err asked_err;
};
/* Opens the target; false with *err (usage) when there is none of that name. */
bool reach_open(struct reach *reach, const char *name, const struct config *config, bool quiet,
                struct err *err);
/* Puts the terminal back and forgets the host, noting how it was. Returns `status`, or that of an
 * interrupted command. */
int reach_close(struct reach *reach, int status);
/* Serves the loop until it is connected and its runner in place; false with *err why not. */
bool reach_wait(struct reach *reach, struct err *err);
/* Runs a command of the runner there to its end; on_done of the spec is this function's. */
bool reach_ask(struct reach *reach, const struct target_ask_spec *spec, struct err *err);
/* A question that "yes" agrees to; what is neither yes nor no is asked about again; false without a
 * terminal, which is then said with `otherwise`. */
bool reach_confirm(struct reach *reach, const char *text, const char *otherwise);

#endif
