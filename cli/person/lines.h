/* SPDX-License-Identifier: Apache-2.0 */
/* A person, or a program in their place, at standard input of hone run. They give whole lines, and
 * answers of many lines to questions that wait for one. */
#ifndef HONE_CLI_PERSON_LINES_H
#define HONE_CLI_PERSON_LINES_H

#include "base/base.h"

struct loop;
struct person;
struct person_hooks {
    bool (*wants_line)(void *data); /* whether a single line answers something now */
    void (*line)(void *data, struct str line);
    void (*answer)(void *data, int call, struct str text); /* gets the whole answer to that call */
    void (*ended)(void *data, const char *why);            /* called when nothing more will come */
    void *data;
};

/* Whether anybody can answer there: at a terminal, a pipe or a file, but not at /dev/null or a
 * closed input. */
bool person_is_there(void);
/* Reads from now on. Lines that nobody wants are dropped when they were typed at a terminal, and
 * kept for later when they come from a pipe or a file. */
struct person *person_new(struct loop *loop, const struct person_hooks *hooks) CC_MUST_USE;
void person_free(struct person *person); /* accepts NULL */
/* What comes next is the answer to that call, up to a line of one dot or the end of the input; -1:
 * it answers no call. Asking for the same call again changes nothing. */
void person_ask(struct person *person, int call);
/* While it is held, nothing is read at a terminal, because somebody else asks there, for a secret
 * perhaps. Accepts NULL. */
void person_hold(struct person *person, bool held);
/* Something may want a line now. */
void person_look(struct person *person);

#endif
