/* SPDX-License-Identifier: Apache-2.0 */
/* Which key runs which command, as text: lines "context key command", '#' starts a comment line. */
#ifndef HONE_TUI_BINDINGS_H
#define HONE_TUI_BINDINGS_H

#include "tui/keys/keys.h"

struct tui_binding {
    char context[16]; /* "any" or the name of a place */
    struct tui_key key;
    char command[32];
};
/* {0} is the empty set. Later lines win. The command "none" removes a binding. */
struct tui_bindings {
    VEC(struct tui_binding) all;
};
void tui_bindings_free(struct tui_bindings *bindings);
/* Adds the lines of `text`. False with file and line at the first wrong one; the lines before it
 * stay. `is_command` says whether a command of that name exists; NULL takes every name. */
bool tui_bindings_parse(struct tui_bindings *bindings, struct str text, const char *file,
                        bool (*is_command)(const char *name), struct err *err) CC_MUST_USE;
/* The command of a key in a context, otherwise in "any"; NULL when there is none. */
const char *tui_bindings_find(const struct tui_bindings *bindings, const char *context,
                              struct tui_key key);
/* The first key of a command, in the context or in "any"; false when it has none. */
bool tui_bindings_key_of(const struct tui_bindings *bindings, const char *context,
                         const char *command, struct tui_key *key);

#endif
