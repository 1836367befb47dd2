/* SPDX-License-Identifier: Apache-2.0 */
/* A host or a cluster as a command reaches it. It is connected while the person sees what happens
 * and answers questions. Then commands of its runner are run. */
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
    bool quiet;     /* it prints nothing about the connection */
    bool settled, interrupted;
    bool waits; /* in reach_wait, which ends when the state is settled */
    bool over;  /* the loop is served until this is true */
    bool asked_done;
    enum str_reply reply;
    struct err asked_err;
};
/* Opens the target. False with *err (usage) when there is none of that name. */
bool reach_open(struct reach *reach, const char *name, const struct config *config, bool quiet,
                struct err *err);
/* Puts the terminal back, notes the state of the host, and forgets the host. Returns `status`, or
 * the status of an interrupted command. */
int reach_close(struct reach *reach, int status);
/* Serves the loop until the host is connected and its runner is in place. False with the reason in
 * *err. */
bool reach_wait(struct reach *reach, struct err *err);
/* Runs a command of the runner on the host to its end. This function sets on_done of the spec. */
bool reach_ask(struct reach *reach, const struct target_ask_spec *spec, struct err *err);
/* Asks a question to which "yes" agrees. An answer that is neither yes nor no is asked again.
 * Without a terminal it is false, and a message with `otherwise` says so. */
bool reach_confirm(struct reach *reach, const char *text, const char *otherwise);

#endif
