/* SPDX-License-Identifier: Apache-2.0 */
/* How plans did, counted by the model that made them and by what they were after. */
#ifndef HONE_TUNE_SCORE_H
#define HONE_TUNE_SCORE_H

#include "tune/state/state.h"

struct tune_score {
    /* "rewriter", or a model's name; a strategy ("resident"), or for a plan that names none
     * "hbm_read_bytes down" */
    char name[80];
    bool strategy;     /* of a strategy; else of a model */
    int planned, kept; /* attempts that ended; kept ones of these */
    int scored, held;  /* with a prediction that could be checked; with one that held */
    /* whose numbers came from the clock that judged them: these are not among the scored */
    int computed;
    int judged, right; /* with a diagnosis said to be right or wrong; right */
    double gain;       /* speedups of the kept ones, multiplied: 1.3; 1: none */
    int calls;
    double tokens, dollars; /* of all the model's calls; NAN: not reported */
};
struct tune_scores {
    VEC(struct tune_score) rows;
};
/* What a plan goes after: the strategy it names, else the metric it wants to move. */
void tune_strategy_of(const struct tune_plan *plan, char name[80]);
/* In the order in which they came first. Free with tune_scores_free. */
void tune_scores_count(const struct tune_state *state, struct tune_scores *scores);
void tune_scores_free(struct tune_scores *scores);

#endif
