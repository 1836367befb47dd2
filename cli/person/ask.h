/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to the person at the terminal, while the event loop goes on. */
#ifndef HONE_CLI_PERSON_ASK_H
#define HONE_CLI_PERSON_ASK_H

#include "base/base.h"

struct loop;
struct ask;
/* `answer` gets what was typed, or NULL when it was declined (Ctrl-D, no terminal to ask at, an
 * empty line where a secret is asked for); the text is wiped after the call. It never comes from
 * within a call of this. */
struct ask *ask_new(struct loop *loop, void (*answer)(void *data, const char *text),
                    void *data) CC_MUST_USE;
/* Puts the terminal back as it was. Accepts NULL. */
void ask_free(struct ask *ask);
/* Shows the question on /dev/tty, a secret one without echo. `otherwise` says what to do where
 * there is no terminal. An open question is replaced. */
void ask_put(struct ask *ask, const char *text, bool secret, const char *otherwise);
bool ask_is_open(const struct ask *ask);

/* Follows the question of a place: shows a new one, forgets one that went. NULL: none. */
struct target_question;
void ask_follow(struct ask *ask, const struct target_question *question);

#endif
