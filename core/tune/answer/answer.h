/* SPDX-License-Identifier: Apache-2.0 */
/* What a model wrote, read as what it was asked for: plans, a kernel or a lesson. It takes whatever
 * form models use; where something cannot be read, words for the model say so, and it gets one more
 * turn. */
#ifndef HONE_TUNE_ANSWER_H
#define HONE_TUNE_ANSWER_H

#include "base/base.h"
#include "tune/session/session.h"
#include "tune/state/state.h"

#define TUNE_ANSWER_PLANS 16

/* Plans out of an answer: labelled lines ("title: ...", "what: ...") or JSON, in whatever prose and
 * fences stand around them. Texts belong to the arena. Returns how many; 0 and *err (kernel), whose
 * text tells the model what is missing. `source` is the kernel that they are for: ranges beyond its
 * lines are dropped, and the keys of plans have the text of the lines that they name. `latency_us`
 * is its latency (NAN: unknown): what a plan predicts in times is a share of it. */
size_t tune_answer_plans(struct str answer, struct str source, double latency_us,
                         struct arena *arena, struct tune_plan plans[TUNE_ANSWER_PLANS],
                         struct err *err);

/* The whole new source out of an answer to `source`: a fenced file, search/replace blocks, or a
 * unified diff. `function` is the kernel's name, which must be there still; NULL: any. False and
 * *err (kernel) that tells the model what to write instead. */
bool tune_answer_kernel(struct str answer, const char *source, const char *function,
                        struct buf *out, struct err *err);

/* Whether the answer gives up: it begins with "give up:" and a reason, and has no code. *reason
 * points into it. */
bool tune_answer_gives_up(struct str answer, struct str *reason);

/* Whether an answer has edits or a definition of a function in it; and what it says beside them,
 * appended, with a line "---" where they stood. */
bool tune_answer_has_kernel(struct str answer);
void tune_answer_words(struct str answer, struct buf *out);

/* A lesson out of an answer: title and summary, or with `reflects` diagnosis and lesson. Texts
 * belong to the arena. False and *err (kernel) that tells the model what to write instead. */
bool tune_answer_lesson(struct str answer, bool reflects, struct arena *arena,
                        struct tune_lesson *lesson, struct err *err);

#endif
