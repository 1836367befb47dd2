/* SPDX-License-Identifier: Apache-2.0 */
/* tune: the agent loop. The state the screens are drawn from, what a person can do to it, and
 * who proposes. Include this header, not its parts. */
#ifndef HONE_TUNE_TUNE_H
#define HONE_TUNE_TUNE_H

#include "tune/words.h"
#include "tune/state.h"
#include "tune/hunks.h"
#include "tune/memory.h"
#include "tune/context.h"
#include "tune/predicted.h"
#include "tune/prompt.h"
#include "tune/proposer.h"
#include "tune/score.h"
#include "tune/sweep.h"
#include "tune/budget.h"
#include "tune/choose.h"
#include "tune/summary.h"
#include "tune/session.h"
#include "tune/preflight.h"

#endif
