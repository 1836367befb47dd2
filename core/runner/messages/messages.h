/* SPDX-License-Identifier: Apache-2.0 */
/* What compilers, the runtime and tools say, and what it means: messages.def, which the runner on
 * hosts reads too, and hone's own lints. */
#ifndef HONE_RUNNER_MESSAGES_MESSAGES_H
#define HONE_RUNNER_MESSAGES_MESSAGES_H

#include "base/base.h"

struct message {
    struct str name;  /* a code ("NCC_EVRF007", "hone-unreachable"), or what texts mean ("busy") */
    const char *kind; /* of texts: "kernel", "busy", "environment", "hardware"; otherwise "" */
    const char *what, *fix; /* what is wrong and what to do, in hone's own words */
    bool is_own;            /* a lint's, whose `what` has "{}" for the name in question */
};
#define MESSAGE_CODE 32 /* bytes of a code, with its end */

/* Looks up a code, with or without "NCC_", or a status of the runtime ("NRT_TIMEOUT"). False when
 * nothing is known; *found is then unchanged. */
bool message_by_code(const char *code, struct message *found);
/* Looks up what a line or a whole output says, in capitals or not. The gravest meaning wins. */
bool message_by_text(struct str text, struct message *found);
/* Writes the first code that a compiler names in a text to `code`. */
bool message_code(struct str text, char code[MESSAGE_CODE]);
/* Prints, in lines, what a code, a word of the glossary, an instruction or a line of a log means
 * and what to do about it. False: nothing is known, and nothing is printed. */
bool message_explain(struct str text, struct buf *out);
void message_word_print(const struct glossary_entry *entry, struct buf *out); /* one of it */
/* The codes of compilers, in the order of the table. False past the last. */
bool message_at(size_t index, struct message *found);
/* Whose error a code is: "user" (the kernel's), "internal" (the compiler's), "crash" and "memory"
 * (its process died). Where there is no code: "trace" (the kernel was refused while it was
 * traced). */
const char *message_cause(const char *code);

#endif
