/* SPDX-License-Identifier: Apache-2.0 */
/* What compilers, the runtime and tools say, and what it means: messages.def, which the runner on
 * hosts reads, too; and hone's own lints. */
#ifndef HONE_RUNNER_MESSAGES_MESSAGES_H
#define HONE_RUNNER_MESSAGES_MESSAGES_H

#include "base/base.h"

struct message {
    struct str name;  /* a code, "NCC_EVRF007", "hone-unreachable"; or of what texts mean, "busy" */
    const char *kind; /* of texts: "kernel", "busy", "environment", "hardware"; "" else */
    const char *what, *fix; /* what is wrong and what to do, in hone's own words */
    bool is_own;            /* a lint's, whose `what` has "{}" for the name involved */
};
#define MESSAGE_CODE 32 /* bytes of a code with its end */

/* By a code, for which "NCC_" may be left out, or a status of the runtime ("NRT_TIMEOUT"). False
 * when nothing is known; then *found is as it was. */
bool message_by_code(const char *code, struct message *found);
/* By what a line or a whole output says, in either case of letters; the gravest. */
bool message_by_text(struct str text, struct message *found);
/* The first code that a compiler names in a text, written to `code`. */
bool message_code(struct str text, char code[MESSAGE_CODE]);
/* What a code, a word of the glossary, an instruction or a line of a log means and what to do about
 * it, in lines. False: nothing is known, and nothing is printed. */
bool message_explain(struct str text, struct buf *out);
void message_word_print(const struct glossary_entry *entry, struct buf *out); /* one of it */
/* The codes of compilers in order of the table; false past the last. */
bool message_at(size_t index, struct message *found);
/* Whose error a code is: "user" (the kernel's), "internal" (the compiler's), "crash" and "memory"
 * (its process died); "trace" (the kernel was refused while it was traced) where there is no
 * code. */
const char *message_cause(const char *code);

#endif
