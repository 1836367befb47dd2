/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of a proposer: the context of a question, prompts and their parts, the menu of
 * strategies, which model is next, and what it will cost. */
#ifndef HONE_TUNE_ASK_H
#define HONE_TUNE_ASK_H

#include "tune/ask/budget.h"
#include "tune/ask/choose.h"
#include "tune/ask/context.h"
#include "tune/ask/menu.h"
#include "tune/ask/prompt.h"

#endif
