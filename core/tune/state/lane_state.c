/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes in the state: the directions of a round. It begins with one, which starts from the
 * incumbent, and may be opened into more. Which lane works next is decided in drive/lanes.c. */
#include <math.h>
#include <stdlib.h>

#include "tune/state/inner.h"

/* Stands for a lane that does not exist: nothing is planned in it, nothing is made. */
static const struct tune_lane no_lane = {
    .parent = -1, .plan = -1, .attempt = -1, .candidate = {.attempt = -1}};

/* A round that follows one direction, and one that was opened into lanes. */
static const struct tune_way one_line = {.opens = true, .keeps_at_once = true, .tries_again = true};
static const struct tune_way in_lanes = {
    .numbered = true, .counts = true, .divides = true, .joins = true};

struct tune_lane *tune_lane_at(struct tune_state *state, int lane) {
    return lane >= 0 && (size_t)lane < state->lanes.len ? &state->lanes.at[lane] : NULL;
}

int tune_lane_tag(const struct tune_state *state, int lane) {
    return state->way->numbered ? lane : -1;
}

int tune_attempt_next(const struct tune_state *state) {
    return state->way->numbered ? -1 : (int)state->attempts.len;
}

static int lane_add(struct tune_state *state, struct tune_lane lane) {
    if (state->lanes.len >= TUNE_MAX_LANES)
        return -1;
    lane.candidate = (struct tune_candidate){.attempt = -1};
    lane.done = lane.total = NAN;
    *vec_push(&state->lanes) = lane;
    return (int)state->lanes.len - 1;
}

void tune_lanes_free(struct tune_state *state) {
    for (size_t i = 0; i < state->lanes.len; i++)
        vec_free(&state->lanes.at[i].candidate.hunks);
    state->lanes.len = 0;
    state->lanes_seq = state->seq;
    state->own->unsaid = 0;
}

void tune_lanes_clear(struct tune_state *state) {
    tune_lanes_free(state);
    state->way = &one_line;
    lane_add(state, no_lane);
}

/* ---------------------------------------------------------------------------------- questions */

const struct tune_lane *tune_lane_of(const struct tune_state *state, int lane) {
    return lane >= 0 && (size_t)lane < state->lanes.len ? &state->lanes.at[lane] : &no_lane;
}

int tune_lane_first(const struct tune_state *state) {
    for (size_t i = 0; i < state->lanes.len; i++)
        if (!state->lanes.at[i].closed)
            return (int)i;
    return 0;
}

int tune_lane_parent(const struct tune_state *state, int lane) {
    int parent = tune_lane_of(state, lane)->parent;
    return parent >= 0 ? parent : state->incumbent;
}

enum tune_step tune_lane_next(const struct tune_state *state, int lane) {
    if (lane < 0 || (size_t)lane >= state->lanes.len || state->lanes.at[lane].closed)
        return TUNE_STEPS;
    return state->lanes.at[lane].next;
}

int tune_lane_attempt(const struct tune_state *state, int lane) {
    return tune_lane_of(state, lane)->attempt;
}

const struct tune_attempt *tune_attempt_in(const struct tune_state *state, int lane) {
    return tune_state_attempt(state, tune_lane_of(state, lane)->attempt);
}

const struct tune_plan *tune_lane_plan(const struct tune_state *state, int lane) {
    int plan = tune_lane_of(state, lane)->plan;
    return plan >= 0 && (size_t)plan < state->plans.len ? &state->plans.at[plan] : NULL;
}

const struct tune_candidate *tune_lane_candidate(const struct tune_state *state, int lane) {
    const struct tune_candidate *candidate = &tune_lane_of(state, lane)->candidate;
    return candidate->exists ? candidate : NULL;
}

int tune_lanes_open(const struct tune_state *state) {
    int count = 0;
    for (size_t i = 0; i < state->lanes.len; i++)
        count += !state->lanes.at[i].closed;
    return count;
}

/* -------------------------------------------------------------------------------------- events */

static int plan_index(const struct tune_state *state, int plan) {
    return plan >= 0 && (size_t)plan < state->plans.len ? plan : -1;
}

/* Opens a round into lanes: [{parent, draw}, ...]. With `planned` each of them has its plan
 * already. */
void tune_lanes_apply(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    (void)wall_ms;
    bool planned = event->lanes.planned;
    tune_lanes_free(state);
    if (!planned)
        state->plans.len = 0;
    for (size_t i = 0; i < event->lanes.lanes.count; i++) {
        const struct tune_event_one_lane *row = &event->lanes.lanes.at[i];
        int parent = row->parent != TUNE_EVENT_NO_INT ? row->parent : state->incumbent;
        lane_add(state, (struct tune_lane){.parent = parent,
                                           .draw = row->draw,
                                           .plan = planned ? plan_index(state, row->plan) : -1,
                                           .attempt = -1,
                                           .step = planned ? TUNE_STEP_PLAN : TUNE_STEP_PROFILE,
                                           .next = planned ? TUNE_STEP_REWRITE : TUNE_STEP_PLAN,
                                           .is = TUNE_IS_OK});
    }
    state->way = &in_lanes;
    if (!state->lanes.len)
        tune_lanes_clear(state);
}

/* Opens further lanes, each for one more rewrite of the plan of a lane. */
void tune_lane_fan_apply(struct tune_state *state, const struct tune_event *event,
                         int64_t wall_ms) {
    (void)wall_ms;
    int from = event->lane_fan.lane, samples = event->lane_fan.samples;
    if (!tune_lane_at(state, from))
        return;
    for (int sample = 1; sample < samples; sample++) {
        struct tune_lane lane = *tune_lane_at(state, from);
        lane.sample = sample;
        lane.attempt = -1;
        lane_add(state, lane);
    }
}

static void lane_step(struct tune_lane *lane, enum tune_step step, enum tune_step_is is) {
    lane->step = lane->next = step;
    lane->is = is;
    lane->doing = lane->summary = NULL;
    lane->done = lane->total = NAN;
    lane->started_ms = 0;
}

/* A step of the round begins, for these lanes. */
void tune_lanes_step(struct tune_state *state, const struct tune_event_step *event) {
    enum tune_step step = event->step;
    double total = 0;
    for (size_t i = 0; i < event->lanes.count; i++) {
        struct tune_lane *lane = tune_lane_at(state, event->lanes.at[i]);
        if (!lane)
            continue;
        lane_step(lane, step, TUNE_IS_WAITING);
        total++;
    }
    state->steps[step].done = 0;
    state->steps[step].total = total && state->way->counts ? total : (double)NAN;
}

void tune_lane_apply(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    struct tune_lane *lane = tune_lane_at(state, event->lane);
    if (!lane)
        return;
    lane->is = TUNE_IS_RUNNING;
    lane->started_ms = wall_ms;
}

static void lane_end(struct tune_lane *lane, enum tune_step step, enum tune_step_is is,
                     const char *summary) {
    lane->step = step;
    lane->next = (enum tune_step)(step + 1);
    lane->is = is;
    lane->summary = summary;
    lane->doing = NULL;
    lane->done = lane->total = NAN;
}

/* A lane is through with the step. `next` is the step it does then, where that is not the following
 * one; `closed` says why it is not followed any further. */
void tune_lane_end_apply(struct tune_state *state, const struct tune_event *event,
                         int64_t wall_ms) {
    (void)wall_ms;
    struct tune_lane *lane = tune_lane_at(state, event->lane);
    enum tune_step step = event->lane_end.step;
    enum tune_step_is is = event->lane_end.is < TUNE_STEP_STATES ? event->lane_end.is : TUNE_IS_OK;
    if (!lane || step == TUNE_STEPS)
        return;
    lane_end(lane, step, is, tune_keep(state, event->lane_end.summary));
    if (event->lane_end.next < TUNE_STEPS)
        lane->next = event->lane_end.next;
    if (event->lane_end.closed)
        lane->closed = tune_keep(state, event->lane_end.closed);
    if (state->way->counts && state->step == step && !isnan(state->steps[step].total))
        state->steps[step].done++;
}

void tune_lane_progress(struct tune_state *state, const struct tune_event *event) {
    struct tune_lane *lane = tune_lane_at(state, event->lane);
    if (!lane)
        return;
    lane->doing = tune_keep(state, event->progress.doing);
    lane->done = event->progress.done;
    lane->total = event->progress.total;
}

/* ----------------------------------------------------------------------------- plans to lanes */

static bool same_key(const char *a, const char *b) {
    return a && b && *a && !strcmp(a, b);
}

/* Whether a lane of the same parent follows this direction, or one that did was given up. */
static bool is_taken(const struct tune_state *state, const struct tune_lane *lane, int plan) {
    const char *key = state->plans.at[plan].key;
    for (size_t i = 0; i < state->lanes.len; i++) {
        const struct tune_lane *other = &state->lanes.at[i];
        if (other->parent != lane->parent || other->plan < 0)
            continue;
        if (other->plan == plan || same_key(key, state->plans.at[other->plan].key))
            return true;
    }
    for (size_t i = 0; i < state->rejections.len; i++)
        if (same_key(key, state->rejections.at[i].key))
            return true;
    return false;
}

/* Which offer a lane takes first: one that its own question brought, best first; then one that was
 * offered for the same parent and that nobody took. -1: none is left. */
static int plan_for(const struct tune_state *state, int index) {
    const struct tune_lane *lane = &state->lanes.at[index];
    for (int own = 1; own >= 0; own--)
        for (size_t i = 0; i < state->plans.len; i++) {
            int from = state->plans.at[i].lane;
            bool mine = from == index;
            if (from < 0 || (size_t)from >= state->lanes.len || mine != (own == 1) ||
                state->lanes.at[from].parent != lane->parent || is_taken(state, lane, (int)i))
                continue;
            return (int)i;
        }
    return -1;
}

/* Every question was answered. Each lane without a plan takes one, in the order of the lanes, so it
 * does not matter whose answer came first. */
void tune_lanes_assign_apply(struct tune_state *state, const struct tune_event *event,
                             int64_t wall_ms) {
    (void)event, (void)wall_ms;
    for (size_t i = 0; i < state->lanes.len; i++) {
        struct tune_lane *lane = &state->lanes.at[i];
        if (lane->plan >= 0 || lane->closed || lane->step != TUNE_STEP_PLAN)
            continue;
        lane->plan = plan_for(state, (int)i);
        if (lane->plan >= 0) {
            lane->is = TUNE_IS_OK;
            lane->summary = state->plans.at[lane->plan].title;
            continue;
        }
        lane->closed = lane->is == TUNE_IS_FAILED && lane->summary
                           ? lane->summary
                           : "nothing else was proposed for its parent";
        lane->is = TUNE_IS_FAILED;
        lane->dropped = true;
    }
    tune_form_look_away(state);
}

/* -------------------------------------------------------------------------- what a person does */

bool tune_lane_close(struct tune_state *state, int lane, const char *why) {
    state->lanes.at[lane].closed = tune_keep(state, why);
    state->lanes.at[lane].is = TUNE_IS_FAILED;
    state->lanes.at[lane].dropped = true;
    tune_form_look_away(state);
    return tune_lanes_open(state) > 0;
}

void tune_lane_again(struct tune_state *state, int lane, enum tune_step next) {
    struct tune_lane *at = &state->lanes.at[lane];
    at->next = next;
    at->step = (enum tune_step)(next - 1);
    at->is = TUNE_IS_OK;
    at->summary = NULL;
    if (!state->way->counts) /* its steps are the round's */
        tune_steps_rewind(state, next);
}

void tune_lanes_try_again(struct tune_state *state) {
    for (size_t i = 0; state->way->tries_again && i < state->lanes.len; i++)
        state->lanes.at[i].next = state->step;
}

int tune_lanes_running(const struct tune_state *state) {
    int count = 0;
    for (size_t i = 0; i < state->lanes.len; i++)
        count += state->lanes.at[i].is == TUNE_IS_RUNNING;
    return count;
}

void tune_lanes_rest(struct tune_state *state) {
    for (size_t i = 0; i < state->lanes.len; i++)
        if (state->lanes.at[i].is == TUNE_IS_RUNNING)
            state->lanes.at[i].is = TUNE_IS_WAITING;
}

int tune_lane_join(struct tune_state *state) {
    int lane = lane_add(state, (struct tune_lane){.parent = state->incumbent,
                                                  .plan = -1,
                                                  .attempt = -1,
                                                  .step = TUNE_STEP_REWRITE,
                                                  .next = TUNE_STEP_VERIFY,
                                                  .is = TUNE_IS_OK});
    for (size_t i = 0; i + 1 < state->lanes.len; i++)
        if (state->lanes.at[i].parent == state->incumbent && lane >= 0)
            state->lanes.at[lane].draw =
                MAX_OF(state->lanes.at[lane].draw, state->lanes.at[i].draw + 1);
    tune_form_look(state, lane);
    return lane;
}

/* -------------------------------------------------------------------------------------- undo */

/* A copy of the lanes, with hunks of its own in the arena. */
void tune_lanes_take(const struct tune_state *state, struct tune_lanes *taken) {
    *taken = (struct tune_lanes){.unsaid = state->own->unsaid,
                                 .seq = state->lanes_seq,
                                 .way = state->way,
                                 .from = state->own->from,
                                 .count = state->lanes.len,
                                 .beam_count = state->beam.len};
    taken->at = arena_dup(state->arena, state->lanes.at, state->lanes.len * sizeof *taken->at);
    taken->beam = arena_dup(state->arena, state->beam.at, state->beam.len * sizeof *taken->beam);
    for (size_t i = 0; i < taken->count; i++) {
        struct tune_candidate *candidate = &taken->at[i].candidate;
        candidate->hunks.at = arena_dup(state->arena, candidate->hunks.at,
                                        candidate->hunks.len * sizeof *candidate->hunks.at);
        candidate->hunks.cap = 0;
    }
}

/* Puts the copy back. What ran at that time begins again. */
void tune_lanes_put(struct tune_state *state, const struct tune_lanes *taken) {
    tune_lanes_free(state);
    for (size_t i = 0; i < taken->count; i++) {
        struct tune_lane lane = taken->at[i];
        const struct tune_hunk *hunks = lane.candidate.hunks.at;
        size_t count = lane.candidate.hunks.len;
        memset(&lane.candidate.hunks, 0, sizeof lane.candidate.hunks);
        for (size_t k = 0; k < count; k++)
            *vec_push(&lane.candidate.hunks) = hunks[k];
        *vec_push(&state->lanes) = lane;
    }
    tune_lanes_rest(state);
    state->way = taken->way;
    state->own->from = taken->from;
    state->beam.len = 0;
    for (size_t i = 0; i < taken->beam_count; i++)
        *vec_push(&state->beam) = taken->beam[i];
    state->lanes_seq = taken->seq;
    tune_form_look(state, taken->unsaid);
    if (!state->own->leaves)
        tune_sources_keep(state);
}

/* The list with one more row, which goes before those of later lanes of the same round. */
static const struct tune_rejected *
rejected_add(struct arena *arena, const struct tune_rejected *list, struct tune_rejection row) {
    bool later = list && list->row.round == row.round && list->row.lane > row.lane;
    struct tune_rejected *link = ARENA_NEW(arena, struct tune_rejected);
    *link = (struct tune_rejected){later ? list->row : row,
                                   later ? rejected_add(arena, list->before, row) : list};
    return link;
}

void tune_rejections_link(struct tune_state *state) {
    state->own->rejected = NULL;
    for (size_t i = 0; i < state->rejections.len; i++) {
        struct tune_rejected *link = ARENA_NEW(state->arena, struct tune_rejected);
        *link = (struct tune_rejected){state->rejections.at[i], state->own->rejected};
        state->own->rejected = link;
    }
}

void tune_rejection_add(struct tune_state *state, int lane, struct tune_rejection row) {
    row.lane = tune_lane_tag(state, lane);
    state->own->rejected = rejected_add(state->arena, state->own->rejected, row);
    *vec_push(&state->rejections) = row;
    /* Rows stand in the order of the lanes, whichever was answered first. */
    for (size_t i = state->rejections.len - 1; i > 0; i--) {
        struct tune_rejection *before = &state->rejections.at[i - 1];
        if (before->round != row.round || before->lane <= row.lane)
            break;
        state->rejections.at[i] = *before;
        *before = row;
    }
}
