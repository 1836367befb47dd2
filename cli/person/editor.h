/* SPDX-License-Identifier: Apache-2.0 */
/* Passes a text to the user's editor and brings it back, while the event loop keeps running. */
#ifndef HONE_CLI_PERSON_EDITOR_H
#define HONE_CLI_PERSON_EDITOR_H

#include "base/base.h"
#include "loop/loop.h"

struct editor;
/* Gets the text as the editor left it. NULL when the editor failed or the person gave up; *err then
 * says why. `path` is the file. It is removed after the call unless this returns false. */
typedef bool editor_fn(void *data, const char *text, const char *path, const struct err *err);

/* Starts $VISUAL, $EDITOR or vi on a private file of that name with the text in it. The caller
 * releases the terminal before, and reclaims it in `done`. NULL and *err when that fails. */
struct editor *editor_start(struct loop *loop, const char *name, const char *text, int line,
                            struct err *err) CC_MUST_USE;
void editor_on_done(struct editor *editor, editor_fn *done, void *data);

#endif
