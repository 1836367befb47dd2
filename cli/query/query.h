/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to profiles and sessions; two of them side by side. */
#ifndef HONE_CLI_QUERY_QUERY_H
#define HONE_CLI_QUERY_QUERY_H

#include "cli/kit/kit.h"

int cli_query(const struct cli *cli);
int cli_diff(const struct cli *cli);
int cli_profile(const struct cli *cli);

/* questions.c: questions in SQL that a person asks in the workbench, answered by hone query in a
 * child. The answer is a table as lines of text, its head first; or why there is none. */
struct loop;
struct questions;
typedef void questions_answer_fn(void *data, const char *text, bool failed);
struct questions *questions_new(struct loop *loop, questions_answer_fn *answer, void *data);
void questions_free(struct questions *questions); /* accepts NULL */
/* Asks about an attempt of the session in that folder; what was asked before is given up. */
void questions_ask(struct questions *questions, const char *session, int attempt, const char *sql);
/* Gives up what is under way. Accepts NULL. */
void questions_drop(struct questions *questions);
/* Those that can be chosen: the recipes, then what was asked on this machine, the newest first.
 * False past the last. */
struct question {
    const char *name; /* of a recipe; NULL: it was asked before */
    const char *what, *sql;
};
bool questions_at(struct questions *questions, size_t index, struct question *question);
/* Names of tables and of their columns; NULL past the last. */
const char *questions_name(size_t index);

#endif
