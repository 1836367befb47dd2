/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from the state: scores, summaries, sentences. */
#ifndef HONE_TUNE_READ_H
#define HONE_TUNE_READ_H

#include "tune/read/score.h"
#include "tune/read/summary.h"
#include "tune/state/state.h"

struct cJSON;

/* attempt.c: an attempt as JSON, which the caller owns. */
enum tune_attempt_form {
    TUNE_ATTEMPT_BUNDLE, /* as it is in a bundle */
    TUNE_ATTEMPT_INSIDE, /* the same, with what only the session itself uses */
    TUNE_ATTEMPT_ROW,    /* a row of experiments.jsonl, with the names of NKI agents */
    TUNE_ATTEMPT_END,    /* as the last event of `hone run --json` has it */
    TUNE_ATTEMPT_SWEEP,  /* the same in a row of `hone sweep --json` */
    TUNE_ATTEMPT_FORMS
};
/* `folder` is the session's where a form names the kernel's whole path, else NULL. */
struct cJSON *tune_attempt_write(const struct tune_state *state, const struct tune_attempt *attempt,
                                 enum tune_attempt_form form, const char *folder);
struct tune_sweep;
/* A combination of a sweep as `hone sweep --json` has it: its values, what became of its attempt,
 * and how many times as fast it is as the attempt that the sweep began at. */
struct cJSON *tune_sweep_write(const struct tune_state *state, const struct tune_sweep *sweep,
                               size_t index, const char *folder);

/* same.c: whether a kernel is `before` again, or one that was tried: in this session, or by another
 * agent without success. Appends what it is the same as: "same as #7 (1.03x, revert)". */
bool tune_same_find(const struct tune_state *state, struct str source, const char *before,
                    struct buf *why);

/* left.c: whether what is left of a lane's proposal, where hunks were left out, has a fault that
 * the whole does not have: a name that nothing binds any more, a block without its head. Appends
 * the first: "line 31: ...". */
bool tune_left_fault(const struct tune_state *state, int lane, struct buf *out);

/* say.c: whether the clock that judges a plan also made its numbers: the embedded rewriter times
 * what it proposes on the device model. Such numbers are computed and not predicted; that they hold
 * says nothing about who made them. `modelled`: the device model judges it. */
bool tune_plan_computed(const struct tune_plan *plan, bool modelled);
/* The same of the plan that an attempt carried out; NULL: no. */
bool tune_prediction_computed(const struct tune_attempt *attempt);
/* Ends the sentence that `out` ends with, before another follows: nothing where it has its stop, or
 * where nothing stands. What persons and models write need not have one. */
void tune_sentence_end(struct buf *out);
/* " hbm_read_bytes moved by -60.0 %, as predicted (-50 %)."; nothing when not known. */
void tune_prediction_print(struct buf *out, const struct tune_attempt *attempt);
/* " Only 1 of 2 hunks was tried: a person left the rest out.", a sentence of its own behind what
 * stands there ("taken" where it was not evaluated). Nothing when all of the plan was tried. */
void tune_part_tried_print(struct buf *out, const struct tune_attempt *attempt);
/* "1.20 ms -> 0.80 ms", with the precision of both where they differ. */
void tune_latencies_print(struct buf *out, const struct tune_attempt *from,
                          const struct tune_attempt *to);

/* line.c: what a line costs: "16.8 % of the critical path, Scalar busy 17.0 %, 512 x 1.25 us". */
void tune_line_cost_print(const struct tune_attempt *attempt, const struct tune_line_cost *line,
                          struct buf *out);

/* limited.c: what limits an attempt. A bound limits when the attempt were faster by at least 3 % of
 * its latency without it, and by at least nine tenths of what the best such step saves: several
 * may, and none where engines wait for each other. Their names, the best first, with blanks
 * between: "DMA Vector"; nothing when none does alone or bounds are not known. */
void tune_limited_names(const struct tune_attempt *attempt, struct buf *out);
/* The same for people: "Vector", "DMA and Vector alike", "nothing by itself"; where bounds are not
 * known, the name that the place reported; nothing when there is none. */
void tune_limited_print(const struct tune_attempt *attempt, struct buf *out);
/* The share of the latency that the attempt would save without the first of them; NAN: none
 * limits. */
double tune_limited_saves(const struct tune_attempt *attempt);

/* summary.c: what a person said when they rejected the attempt; NULL when it was left for something
 * else, or not left. */
const struct tune_rejection *tune_rejection_of(const struct tune_state *state, int attempt);

/* The event "summary"; `why` NULL: as the state says. Its lists are in the arena. */
struct tune_event_summary tune_summary_tell(const struct tune_state *state, const char *why,
                                            struct arena *arena) CC_MUST_USE;

/* What of a proposal is taken as it stands: "+4 -1 in 2 hunks, 1 left out, edited by you"; nothing
 * where there is none. */
void tune_candidate_print(struct buf *out, const struct tune_candidate *candidate);
/* What came of a step, or of what a lane did last, in a few words: as it was said when it ended, or
 * of a candidate that a person changed since, what is taken now. May append nothing. */
void tune_step_told(struct buf *out, const struct tune_state *state, int lane, enum tune_step step);
void tune_lane_told(struct buf *out, const struct tune_lane *lane);

/* rests.c: of what a modelled attempt gains on its parent, the shares (0 to 1) that rest on fitted
 * and on guessed constants of the device model; NAN: not known, or it gains nothing. */
struct tune_rests {
    double fitted, guessed;
};
struct tune_rests tune_gain_rests(const struct tune_attempt *parent,
                                  const struct tune_attempt *attempt);
/* "24 % of the gain rests on fitted rules, 5 % on guessed ones"; only what is above 0. */
void tune_rests_print(struct buf *out, const struct tune_rests *rests);

/* roof.c: what no correct kernel of this task can beat, as far as its correct attempts tell (one
 * with fewer multiplications than conventional products may have a lower one): the least of their
 * floors, and the least FLOPs of their matrix products, which are those that the result needs;
 * transposes are not among them. A precision has a floor of its own; floor_us is that of the best
 * attempt's. NAN: not known. */
struct tune_roof {
    double floor_us, floors_us[TUNE_PRECISIONS], flops;
};
struct tune_roof tune_roof_of(const struct tune_state *state);
/* The floor of its precision as a share of the attempt's latency: 1 cannot be bettered. NAN: not
 * known. */
double tune_roof_share(const struct tune_roof *roof, const struct tune_attempt *attempt);

#endif
