/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to the person at the terminal, while the event loop goes on. */
#ifndef HONE_CLI_PERSON_ASK_H
#define HONE_CLI_PERSON_ASK_H

#include "base/base.h"

struct loop;
struct ask;
/* `answer` gets what was typed. It gets NULL when the question was declined: by Ctrl-D, without a
 * terminal, or by an empty line where a secret is asked for. The text is wiped after the call. It
 * is never called from within a call of this. */
struct ask *ask_new(struct loop *loop, void (*answer)(void *data, const char *text),
                    void *data) CC_MUST_USE;
/* Puts the terminal back as it was. Accepts NULL. */
void ask_free(struct ask *ask);
/* Shows the question on /dev/tty; a secret is not shown while it is typed. Without a terminal
 * `otherwise` says what to do. An open question is replaced. */
void ask_put(struct ask *ask, const char *text, bool secret, const char *otherwise);
bool ask_is_open(const struct ask *ask);

/* Follows the question of a place: shows a new one, and forgets one that is gone. NULL: there is
 * none. */
struct target_question;
void ask_follow(struct ask *ask, const struct target_question *question);

#endif
