/* SPDX-License-Identifier: Apache-2.0 */
/* What tests look through, for nobody else outside this room. */
#ifndef HONE_TUNE_ASK_TESTING_H
#define HONE_TUNE_ASK_TESTING_H

#include "tune/ask/context.h"
#include "tune/ask/menu.h"

/* Reads a menu: prose, then entries of a heading "# name", lines "on:", "dialect:", "since:",
 * "when:", "measured:", "avoid:",
 * and text. Entries without a text or a name, and second ones of a name, are
 * left out. Free with tune_menu_free. */
struct tune_menu *tune_menu_read(struct str text) CC_MUST_USE;
/* Whether an entry may help that kernel. Words of `when` with blanks between must all hold, of
 * words with | between one: "loops" (there are some), "spills", "any-precision", "dma-bound",
 * "tensor-bound", "vector-bound", "scalar-bound", "gpsimd-bound"; any other word: a family of
 * operations, or part of a name in the kernel ("matmul" is part of nc_matmul). */
bool tune_menu_applies(const struct tune_strategy *entry, const struct tune_menu_facts *facts);
/* "**On-chip** (all of it)" as a name, "on_chip": small letters, digits and _, words joined up to
 * the first mark; empty when there is none. */
void tune_strategy_name(struct str text, char name[TUNE_STRATEGY_MAX + 1]);
/* All sections as one text, laid out by the template prompts/plan.md (prompt.c). */
void tune_context_print(const struct tune_context *context, struct buf *out);

#endif
