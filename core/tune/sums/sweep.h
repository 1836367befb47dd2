/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps: values tried for named constants of a kernel, in all combinations, one attempt each. A
 * sweep belongs to the attempt that it began at. Its plans carry it as text, and what is left of it
 * follows from the plans and attempts of the state. */
#ifndef HONE_TUNE_SWEEP_H
#define HONE_TUNE_SWEEP_H

#include "tune/state/state.h"

#define TUNE_SWEEP_AXES 4
#define TUNE_SWEEP_VALUES 16
#define TUNE_SWEEP_MOST 64   /* combinations */
#define TUNE_SWEEP_TEXT 1024 /* characters of one written out */

struct tune_sweep {
    struct {
        char name[64];
        int64_t values[TUNE_SWEEP_VALUES];
        int count;
    } axes[TUNE_SWEEP_AXES];
    int count;
    int base; /* attempt it began at; -1: not said */
};
/* "TILE_N=64,128,256 TILE_M=64", "TILE_N in 128, 256", "TILE_N 64..512" (each twice the one
 * before). A constant without values has none yet. False with *err (usage). */
bool tune_sweep_parse(struct str text, struct tune_sweep *sweep, struct err *err);
/* As it is kept: "TILE_N=64,128,256 TILE_M=64@3". */
void tune_sweep_print(const struct tune_sweep *sweep, struct buf *out);
/* Holds a sweep against a source: names become those of the source's constants, and missing values
 * are chosen. False with *err (usage) for a constant that the source does not have, and for too
 * many combinations. */
bool tune_sweep_resolve(struct tune_sweep *sweep, struct str source, const char *function,
                        struct err *err);
size_t tune_sweep_combinations(const struct tune_sweep *sweep);
/* One combination as the key of a plan, "sweep:TILE_N=256 TILE_M=64@3", and as people read it,
 * "TILE_N = 256, TILE_M = 64". */
void tune_sweep_key(const struct tune_sweep *sweep, size_t index, struct buf *out);
void tune_sweep_title(const struct tune_sweep *sweep, size_t index, struct buf *out);
/* The source with the constants of such a key set; nothing else changes. False with *err
 * (kernel). */
bool tune_sweep_apply(const char *key, struct str source, const char *function, struct buf *out,
                      struct err *err);

/* The plans of the sweep that a plan asks for in its own words. 0: it cannot be read as a sweep,
 * *err (usage), or all of it was tried, *err (kernel). */
size_t tune_sweep_expand(const struct tune_state *state, int parent, const struct tune_plan *plan,
                         struct arena *arena, struct tune_plan plans[TUNE_SWEEP_MOST],
                         struct err *err);
/* The plans of the sweep of the incumbent that a person's text asks for; 0 with *err. */
size_t tune_sweep_asked(const struct tune_state *state, const char *text, struct arena *arena,
                        struct tune_plan plans[TUNE_SWEEP_MOST], struct err *err);
/* What is left of the sweep under way, if there is one: the incumbent is its base or came of it,
 * and nobody rejected one of its plans. */
size_t tune_sweep_pending(const struct tune_state *state, struct arena *arena,
                          struct tune_plan plans[TUNE_SWEEP_MOST]);

/* Whether a plan is one value of a sweep. */
bool tune_sweep_is_one(const struct tune_plan *plan);
/* Whether its value was tried or given up. */
bool tune_sweep_is_done(const struct tune_state *state, const struct tune_plan *plan);
/* Whether nothing is left of it after the attempt at work; whether it began in an earlier round. */
bool tune_sweep_ends(const struct tune_state *state);
bool tune_sweep_goes_on(const struct tune_state *state);
/* Whether it passes a gate: a person decides about a sweep when it begins and when it ends. */
bool tune_sweep_passes(const struct tune_state *state, enum tune_step step);

/* The attempt of a combination, whoever made it; NULL: there is none. */
const struct tune_attempt *tune_sweep_attempt(const struct tune_state *state,
                                              const struct tune_sweep *sweep, size_t index);
/* How many times as fast as the attempt that the sweep began at; NAN: not known. `attempt` may be
 * NULL. */
double tune_sweep_ratio(const struct tune_state *state, const struct tune_sweep *sweep,
                        const struct tune_attempt *attempt);
/* What came of one combination, in few words: "TILE_N = 512: 1.03x, keep (#4)". */
void tune_sweep_line(const struct tune_state *state, const struct tune_sweep *sweep, size_t index,
                     struct buf *out);
/* A line for each combination: value, what came of it, latency, ratio to the attempt that the sweep
 * began at. */
void tune_sweep_table(const struct tune_state *state, const struct tune_sweep *sweep,
                      struct buf *out);

#endif
