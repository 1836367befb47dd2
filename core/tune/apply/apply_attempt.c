/* SPDX-License-Identifier: Apache-2.0 */
/* Events about attempts: what each is and what became of it. Those with numbers of one are in
 * apply_measured.c. */
#include <math.h>

#include "tune/act/inner.h"
#include "tune/apply/private.h"

/* ------------------------------------------------------------------------------- attempts */

static void attempt_clear(struct tune_attempt *attempt) {
    attempt->samples.len = attempt->parent_samples.len = attempt->seeds.len = 0;
    attempt->metrics.len = attempt->lines_kept.len = attempt->bounds.len = 0;
    attempt->lines_seq = 0;
    attempt->verdict = (struct tune_verdict){0};
    attempt->latency_us = attempt->floor_us = attempt->speedup = attempt->vs_parent = NAN;
    attempt->floor_split_us = attempt->floor_any_us = NAN;
    attempt->low_us = attempt->high_us = NAN;
    attempt->modelled_us = NAN;
    attempt->prediction = (struct tune_prediction){0};
    attempt->interval.ratio = attempt->interval.low = attempt->interval.high = NAN;
    attempt->interval.seen = NAN;
    attempt->confirmed = attempt->outdated = false;
    attempt->instructions = 0;
    attempt->bound_by = attempt->timeline = NULL;
    attempt->causes_kept = NULL;
    attempt->causes_seq = 0;
}

static struct tune_attempt *attempt_place(struct tune_state *state, int id) {
    if (id >= 0 && (size_t)id < state->attempts.len)
        return &state->attempts.at[id];
    struct tune_attempt *attempt = vec_push(&state->attempts);
    *attempt = (struct tune_attempt){.id = (int)state->attempts.len - 1};
    return attempt;
}

/* What was found in an earlier turn is not about the present source of the attempt. */
static void diagnostics_leave(struct tune_state *state, int attempt) {
    size_t at = 0;
    const struct tune_diagnostic *diag;
    while ((diag = tune_diagnostic_next(state, attempt, &at)))
        state->diagnostics.at[diag - state->diagnostics.at].attempt = -1;
}

/* Logs of before do not have it. */
static void normal_set(struct tune_attempt *attempt, const char *normal) {
    bool known = normal && strlen(normal) == sizeof attempt->normal - 1;
    memset(attempt->normal, 0, sizeof attempt->normal);
    if (known)
        memcpy(attempt->normal, normal, sizeof attempt->normal - 1);
}

/* Turns of an attempt that begins anew are no more. */
static void turn_add(struct tune_state *state, struct tune_attempt *attempt,
                     const struct tune_event *event) {
    const char *turn = event->attempt.turn,
               *before = event->attempt.repairs ? attempt->turns : NULL;
    struct buf text = {0};
    if (before)
        buf_puts(&text, before);
    if (turn)
        buf_printf(&text, "Turn %d: %s", event->attempt.repairs, turn);
    attempt->turns = text.len ? tune_keep(state, text.at) : NULL;
    buf_free(&text);
}

/* A repair turn mends what was tried: what was left out before stays so. */
static void part_set(struct tune_attempt *attempt, const struct tune_event *event) {
    if (event->attempt.repairs && !event->attempt.left_out)
        return;
    attempt->left_out = MAX_OF(event->attempt.left_out, 0);
    attempt->hunks = MAX_OF(event->attempt.hunks, attempt->left_out);
}

/* A new attempt, or a repair turn of one that is open: then it starts over with the new source. */
void apply_attempt(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    const char *source = event->attempt.source;
    if (!source)
        return;
    struct tune_attempt *attempt = attempt_place(state, event->attempt.attempt);
    tune_status_set(state, attempt, TUNE_STATUS_OPEN, NULL);
    turn_add(state, attempt, event);
    part_set(attempt, event);
    attempt_clear(attempt);
    state->own->roof.known = false;
    diagnostics_leave(state, attempt->id);
    attempt->parent = MIN_OF(event->attempt.parent, attempt->id - 1);
    int round = event->attempt.round;
    attempt->round = round != TUNE_EVENT_NO_INT ? round : state->round;
    attempt->repairs = event->attempt.repairs;
    /* Until its program shows more, it may be as inexact as it is allowed to be. */
    attempt->precision = attempt->id ? tune_precision_allowed(state) : TUNE_PRECISION_KEEP;
    attempt->started_ms = wall_ms;
    attempt->ended_ms = 0;
    attempt->source_kept = state->own->leaves ? NULL : tune_keep(state, source);
    attempt->source_seq = state->seq;
    attempt->author = tune_keep(state, event->attempt.author);
    attempt->path = tune_keep(state, event->attempt.path);
    struct hash hash = hash_content(source, strlen(source));
    memcpy(attempt->hash, hash.hex, sizeof attempt->hash);
    normal_set(attempt, event->attempt.normal);
    state->own->n_normals = MIN_OF(state->own->n_normals, (size_t)attempt->id);
    if (event->attempt.plan) {
        attempt->plan = *event->attempt.plan;
        tune_part_keep(TUNE_PART_PLAN, &attempt->plan, state->own->texts);
        tune_stock_tried(state, &attempt->plan);
    }
    struct tune_lane *lane = &state->lanes.at[event->lane];
    lane->attempt = lane->candidate.attempt = attempt->id;
}

/* The evaluation that runs was begun again from the start: what it has said so far does not
 * count. */
void apply_anew(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    (void)wall_ms;
    struct tune_attempt *attempt = tune_attempt_of(state, event->anew.attempt);
    if (!attempt)
        return;
    if (!event->anew.goes_on)
        attempt->heard = 0;
    attempt->samples.len = attempt->parent_samples.len = 0;
    if (event->anew.seeds)
        attempt->seeds.len = 0;
}

void apply_disturbed(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    (void)event, (void)wall_ms;
    state->disturbed++;
}

/* An evaluation on a host begins, or a hone that was killed takes up the same one again. */
void apply_evaluate(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    (void)wall_ms;
    int occasion = event->evaluate.occasion;
    struct tune_attempt *attempt = tune_attempt_of(state, event->evaluate.attempt);
    if (!attempt)
        return;
    if (occasion != attempt->occasion)
        attempt->heard = 0;
    attempt->occasion = occasion;
    attempt->samples.len = attempt->parent_samples.len = 0;
}

void apply_settled(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    (void)wall_ms;
    struct tune_attempt *attempt = tune_attempt_of(state, event->settled.attempt);
    if (attempt)
        attempt->evaluated++;
}

void apply_precision(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    (void)wall_ms;
    struct tune_attempt *attempt = tune_attempt_of(state, event->precision.attempt);
    if (!attempt || event->precision.precision >= TUNE_PRECISIONS)
        return;
    attempt->precision = event->precision.precision;
    state->own->best_stale |= attempt->status == TUNE_STATUS_KEEP;
}

void apply_seed(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    (void)wall_ms;
    struct tune_attempt *attempt = tune_attempt_of(state, event->seed.attempt);
    if (!attempt)
        return;
    struct tune_seed seed = {.seed = event->seed.seed,
                             .rel_l2 = event->seed.rel_l2,
                             .max_abs = event->seed.max_abs,
                             .passed = event->seed.passed ? TUNE_ANSWER_YES : TUNE_ANSWER_NO};
    for (size_t i = 0; i < attempt->seeds.len; i++)
        if (attempt->seeds.at[i].seed == seed.seed) {
            attempt->seeds.at[i] = seed;
            return;
        }
    *vec_push_in(state->arena, &attempt->seeds, state->seeds.len) = seed;
}

void apply_sample(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    (void)wall_ms;
    struct tune_attempt *attempt = tune_attempt_of(state, event->sample.attempt);
    double us = event->sample.us;
    if (!attempt || isnan(us))
        return;
    if (event->sample.of_parent)
        *vec_push_in(state->arena, &attempt->parent_samples, 1) = us;
    else
        *vec_push_in(state->arena, &attempt->samples, 1) = us;
}

void apply_scored(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    (void)wall_ms;
    struct tune_attempt *attempt = tune_attempt_of(state, event->scored.attempt);
    if (!attempt)
        return;
    if (event->scored.held < TUNE_ANSWERS)
        attempt->plan.held = event->scored.held;
    attempt->plan.moved = event->scored.moved;
    int plan = state->lanes.at[event->lane].plan;
    if (plan < 0 || (size_t)plan >= state->plans.len)
        return;
    state->plans.at[plan].held = attempt->plan.held;
    state->plans.at[plan].moved = attempt->plan.moved;
}

void apply_decided(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    struct tune_attempt *attempt = tune_attempt_of(state, event->decided.attempt);
    if (!attempt)
        return;
    enum tune_status said = event->decided.status;
    attempt->decided_seq = state->seq;
    if (said < TUNE_STATUSES)
        tune_undo_decided(state, attempt->id, tune_status_word(said));
    tune_status_set(state, attempt, said < TUNE_STATUSES ? said : attempt->status,
                    tune_keep(state, event->decided.reason));
    attempt->ended_ms = wall_ms;
    if (attempt->status == TUNE_STATUS_KEEP && state->way->keeps_at_once)
        state->incumbent = attempt->id;
    tune_state_find_best(state);
}

/* The profile's artefact is in its place. */
void apply_timeline(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    (void)wall_ms;
    struct tune_attempt *attempt = tune_attempt_of(state, event->timeline.attempt);
    if (attempt)
        attempt->timeline = tune_keep(state, event->timeline.hash);
}
