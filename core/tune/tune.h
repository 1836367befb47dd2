/* SPDX-License-Identifier: Apache-2.0 */
/* tune: the agent loop. The state the screens are drawn from, what a person can do to it, and
 * who proposes. Include this header, not its parts. */
#ifndef HONE_TUNE_TUNE_H
#define HONE_TUNE_TUNE_H

#include "tune/act/act.h"
#include "tune/ask/ask.h"
#include "tune/drive/drive.h"
#include "tune/exchange/exchange.h"
#include "tune/proposer/proposer.h"
#include "tune/read/read.h"
#include "tune/session/session.h"
#include "tune/state/state.h"
#include "tune/sums/sums.h"

#endif
