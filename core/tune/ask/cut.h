/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting sections of a prompt that are too long: how much of each goes out, what gives way
 * first. */
#ifndef HONE_TUNE_CUT_H
#define HONE_TUNE_CUT_H

#include "tune/ask/context.h"

/* Lines of a section that go out; 0: all. */
int tune_cut_most(struct str section);
/* The sections in the order in which they give way where a model takes less; NULL past the last.
 * *least: lines of it that stay. Plans and tasks never give way. */
const char *tune_cut_victim(size_t index, int *least);
/* Prints the section with at most so many lines (-1: all), and says in the text what is left out.
 * Returns how many lines that is. A kernel keeps what the plan is about and what costs most. */
int tune_cut_print(const struct tune_context *context, struct str section, struct str text,
                   int most, struct buf *out);

#endif
