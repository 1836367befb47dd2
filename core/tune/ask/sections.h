/* SPDX-License-Identifier: Apache-2.0 */
/* Sections of a context, as text. Private to this room. */
#ifndef HONE_TUNE_SECTIONS_H
#define HONE_TUNE_SECTIONS_H

#include "tune/ask/context.h"

/* The section {{notes}} of a template without {{tried before}}: nothing else there says what
 * attempts taught. Its notes are those about attempts, too. */
#define TUNE_EVERY_NOTE "every note"
/* The section whose pages are parts of their own: each begins with its name at the front of a line,
 * and its other lines are indented. */
#define TUNE_PAGES "api in use"

/* Adds a section where there is text; takes the text. */
void tune_section_add(struct tune_context *context, const char *name, struct buf *text);
/* context.c: a text as a section, NULL: none; what a person changed about prompts; what is the same
 * in every question of a session, for all roles, so that services can cache it; the task; a plan,
 * whose lines the context remembers. */
void tune_section_text(struct tune_context *context, const char *name, const char *text);
void tune_section_changes(struct tune_context *context, const struct tune_state *state);
void tune_section_shared(struct tune_context *context, const struct tune_state *state,
                         const char *source);
void tune_section_task(struct tune_context *context, const struct tune_state *state);
void tune_section_plan(struct tune_context *context, const struct tune_plan *plan);
/* imports.c: the files that the kernel imports, with line numbers. */
void tune_section_imports(struct tune_context *context, const struct tune_state *state);
/* A time as people read it; NAN: "not known". */
void tune_us_print(struct buf *out, double us);
/* The text of a line of a source, without its end; empty past the last. */
struct str tune_line_text(const char *source, int number);

/* difference.c: what an attempt's time is against its parent's, as sentences with a space before
 * them: the lines, at most so many, that gained or lost most of the critical path, and how long
 * resources are busy. Nothing where one of them has no costs of lines. */
void tune_difference_print(const struct tune_state *state, const struct tune_attempt *attempt,
                           size_t most, struct buf *out);
/* What stood in the way of an attempt that did as it said and was not faster: " +59.0 us on line
 * 53", or " it is limited by Tensor"; nothing where neither is known. */
void tune_obstacle_print(const struct tune_state *state, const struct tune_attempt *attempt,
                         struct buf *out);

/* context_tried.c: what was tried and what came of it, with the notes about it; what was rejected,
 * not carried out, taken out; what was proposed and not tried yet. */
void tune_tried_sections(struct tune_context *context, const struct tune_state *state);
/* Whether a direction did what it said and gained nothing, and was followed only once: it may be
 * followed again, with what stood in the way. The rewriter would make the same edit. */
bool tune_has_second_turn(const struct tune_state *state, const struct tune_attempt *attempt);
/* Whether it was such a second turn. */
bool tune_is_second_turn(const struct tune_state *state, const struct tune_attempt *attempt);

/* How much of the gain of a modelled attempt rests on rules that nobody measured, in brackets. */
void tune_gain_rests_add(struct buf *out, const struct tune_state *state,
                         const struct tune_attempt *attempt);

/* context_profile.c: latency, floor, what limits and every number that is not zero, as the section
 * `name`; what lines cost; what precision is allowed and what another would bring. */
void tune_profile_section(struct tune_context *context, const char *name,
                          const struct tune_attempt *attempt);
/* The metrics that moved, in the same units; those that a profile does not repeat are not told. */
void tune_metrics_moved_print(struct buf *out, const struct tune_attempt *from,
                              const struct tune_attempt *to);
void tune_lines_section(struct tune_context *context, const struct tune_state *state,
                        const struct tune_attempt *attempt);
/* Why it takes that long: critical path, idle time by cause, stalls, changes that were timed. */
void tune_causes_section(struct tune_context *context, const struct tune_state *state,
                         const struct tune_attempt *attempt);
void tune_precision_section(struct tune_context *context, const struct tune_state *state,
                            const struct tune_attempt *attempt);

#endif
