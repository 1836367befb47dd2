/* SPDX-License-Identifier: Apache-2.0 */
/* A prompt: the template of a role filled with the sections of a context, part by part. */
#ifndef HONE_TUNE_PROMPT_H
#define HONE_TUNE_PROMPT_H

#include "tune/ask/context.h"

struct tune_prompt_part {
    const char *name;  /* the heading; "" before the first one */
    struct str text;   /* as it goes out, heading and all */
    bool is_system;    /* goes out first, the same each round */
    bool is_answer;    /* of the model, that could not be used: goes back to it as its own words */
    bool is_again;     /* what it is told about that, after it */
    bool is_page;      /* a page of hone docs, of the part before it, with which it is off, too */
    bool off;          /* switched off: does not go out */
    bool edited;       /* somebody's words instead of the template's */
    int left_out;      /* lines that were too many */
    double tokens;     /* an estimate; 0 when it is off */
    struct str layout; /* private: of the template */
};
/* Private: lines of a section that go out. */
struct tune_cut {
    const char *section;
    int lines;
};
struct tune_prompt {
    VEC(struct tune_cut) cuts;
    VEC(struct tune_prompt_part) parts; /* in the template's order; empty parts are not there */
    struct arena *arena;
};
/* What a person changed about a part: switched off for good, or its text for the next call. */
struct tune_prompt_change {
    const char *part, *text; /* text NULL: as it is */
    bool off;
};
/* With what a person changed (context->changes), then `changes`, which may be NULL. Free with
 * tune_prompt_free. */
struct tune_prompt *tune_prompt_build(const struct tune_context *context, enum tune_role role,
                                      const struct tune_prompt_change *changes,
                                      size_t count) CC_MUST_USE;
/* Cuts sections, the least important ones first, until no more than so many tokens go out (0: any
 * number). False when cutting is not enough. Takes the context that the prompt was built from. */
bool tune_prompt_fit(struct tune_prompt *prompt, const struct tune_context *context, double most);
void tune_prompt_free(struct tune_prompt *prompt); /* accepts NULL */
/* What goes out: the parts that are on, those of the system first, all others in `user`. */
void tune_prompt_print(const struct tune_prompt *prompt, struct buf *system, struct buf *user);
/* The same as messages; `answer` and `again` are empty unless an answer is mended. Adds to them;
 * the caller frees. */
struct tune_prompt_messages {
    struct buf system, user, answer, again;
};
void tune_prompt_messages(const struct tune_prompt *prompt, struct tune_prompt_messages *out);

/* Tokens of all that goes out, estimated. */
double tune_prompt_tokens(const struct tune_prompt *prompt);
double tune_tokens_estimate(struct str text);

size_t tune_role_turn(const struct tune_state *state, enum tune_role role, size_t models);

#endif
