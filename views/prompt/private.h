/* SPDX-License-Identifier: Apache-2.0 */
/* Screen 9 is several files: what they share. */
#ifndef HONE_VIEWS_PROMPT_PRIVATE_H
#define HONE_VIEWS_PROMPT_PRIVATE_H

#include "views/inner.h"

#define PROMPT_ANSWER_MARK "======== the answer"

/* What the screen shows: the parts of the next question, the text of one, the questions so far,
 * prompt and answer of one. */
enum prompt_page { PROMPT_PARTS, PROMPT_TEXT, PROMPT_CALLS, PROMPT_CALL, PROMPT_PAGES };

struct prompt {
    enum prompt_page page;
    struct tui_list lists[PROMPT_PAGES];
    enum tune_role role; /* the one chosen */
    bool chosen;         /* else the one whose turn is next */
    /* The question as it would go out now, and what it was made for. */
    struct tune_prompt *parts;
    enum tune_role built;
    int64_t seq;
    int lane;
    int held;            /* the call that it is, when it is held; -1 */
    bool fits;           /* it is no more than its model takes */
    int call;            /* of PROMPT_CALL */
    struct source lines; /* of PROMPT_TEXT and PROMPT_CALL */
    struct buf text;
    char edited[256]; /* the part that is in the editor */
};
struct prompt *prompt_of(const struct views *views);

/* prompt.c: the parts as they would go out now, built anew when anything happened. */
struct tune_prompt *prompt_parts_now(struct views *views);
/* Splits prompt->text into lines; draws them. */
void prompt_text_set(struct views *views);
void prompt_text_draw(struct views *views, struct tui_area inside, struct tui_list *list);

/* asked.c: the questions so far; prompt and answer of one, and going to it */
void prompt_calls_draw(struct views *views, struct tui_area body);
void prompt_call_draw(struct views *views, struct tui_area body);
void prompt_call_print(struct views *views, int number, struct buf *out);
void prompt_call_open(struct views *views, int number);

/* prompt_find.c */
void prompt_find(struct views *views, int step, bool here);

#endif
