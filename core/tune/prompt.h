/* SPDX-License-Identifier: Apache-2.0 */
/* A prompt: the template of a role filled with the sections of a context, part by part. */
#ifndef HONE_TUNE_PROMPT_H
#define HONE_TUNE_PROMPT_H

#include "tune/context.h"

/* X(ID, "role", "template"): who asks, and the file in prompts/. */
#define TUNE_ROLE_TABLE(X) \
    X(PLANNER, "planner", "plan") \
    X(REWRITER, "rewriter", "rewrite") \
    X(FIXER, "fixer", "fix") \
    X(SUMMARISER, "summariser", "summarise") \
    X(REFLECTOR, "reflector", "reflect")
#define X(id, word, file) TUNE_ROLE_##id,
enum tune_role { TUNE_ROLE_TABLE(X) TUNE_ROLES };
#undef X
const char *tune_role_word(enum tune_role role);
bool tune_role_find(const char *word, enum tune_role *role);

struct tune_prompt_part {
    const char *name;           /* the heading; "" before the first one */
    struct str text;            /* as it goes out, heading and all */
    bool is_system;             /* goes out first, the same each round */
    bool off;                   /* switched off: does not go out */
    bool edited;                /* somebody's words instead of the template's */
    int left_out;               /* lines that were too many */
};
struct tune_prompt {
    VEC(struct tune_prompt_part) parts;     /* in the template's order; empty parts are not there */
    struct arena *arena;
};
/* What a person changed about a part: switched off for good, or its text for the next call. */
struct tune_prompt_change {
    const char *part, *text;    /* text NULL: as it is */
    bool off;
};
/* `changes` may be NULL. Free with tune_prompt_free. */
struct tune_prompt *tune_prompt_build(const struct tune_context *context, enum tune_role role,
                                      const struct tune_prompt_change *changes, size_t count)
    CC_MUST_USE;
void tune_prompt_free(struct tune_prompt *prompt);      /* accepts NULL */
/* What goes out: the parts that are on, those of the system first. */
void tune_prompt_print(const struct tune_prompt *prompt, struct buf *system, struct buf *user);

#endif
