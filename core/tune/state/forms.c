/* SPDX-License-Identifier: Apache-2.0 */
/* The two forms in which a log tells of a round. Where it was opened into lanes, events name the
 * lane that they are about, a step begins and ends for all, and each lane has its part of it
 * between. Where it was not there is one lane, and no event names it: "step" and "step_end" are the
 * lane's and the round's. In memory there is one form, the first; here is the border. */
#include "tune/state/inner.h"

static const int only_lane[] = {0};

/* Events that have to be about a lane: where they name none, or none that is there, the one that
 * is looked at is meant. Others may be about all of them. */
static bool is_of_a_lane(enum tune_event_is is) {
    static const bool of_a_lane[TUNE_EVENTS] = {
        [TUNE_EVENT_PLANS] = true,       [TUNE_EVENT_CANDIDATE] = true, [TUNE_EVENT_ASKED] = true,
        [TUNE_EVENT_PLAN_FAILED] = true, [TUNE_EVENT_ATTEMPT] = true,   [TUNE_EVENT_SCORED] = true};
    return of_a_lane[is];
}

static struct tune_event of_lane(enum tune_event_is is, int lane) {
    struct tune_event event = tune_event_empty(is);
    event.lane = lane;
    return event;
}

/* "step" of the only lane: the step begins, and the lane its part. */
static size_t step_read(struct tune_event said[TUNE_FORM_MOST]) {
    said[0].step.lanes = (struct tune_ints){only_lane, COUNT_OF(only_lane), true};
    said[1] = of_lane(TUNE_EVENT_LANE, 0);
    return 2;
}

/* "step_end" of the only lane: it is through with its part, and the step ends. */
static size_t step_end_read(struct tune_event said[TUNE_FORM_MOST]) {
    struct tune_event end = of_lane(TUNE_EVENT_LANE_END, 0);
    end.lane_end.step = said[0].step_end.step;
    end.lane_end.is = said[0].step_end.is;
    end.lane_end.summary = said[0].step_end.summary;
    said[1] = said[0];
    said[0] = end;
    return 2;
}

size_t tune_form_read(const struct tune_state *state, const struct tune_event *event,
                      struct tune_event said[TUNE_FORM_MOST]) {
    said[0] = *event;
    if (state->way->numbered) {
        bool is_there = event->lane >= 0 && (size_t)event->lane < state->lanes.len;
        if (is_of_a_lane(event->is) && !is_there)
            said[0].lane = state->lane;
        return 1;
    }
    said[0].lane = 0;
    switch (event->is) {
    case TUNE_EVENT_STEP: return step_read(said);
    case TUNE_EVENT_STEP_END: return step_end_read(said);
    case TUNE_EVENT_LANE:
    case TUNE_EVENT_LANE_END: return 0; /* of lanes that are gone */
    default: return 1;
    }
}

struct tune_event tune_form_begin(const struct tune_state *state, enum tune_step step) {
    struct tune_event event = {.is = TUNE_EVENT_LANE};
    if (!state->way->numbered)
        event = (struct tune_event){.is = TUNE_EVENT_STEP, .step = {.step = step}};
    return event;
}

struct tune_event tune_form_end(const struct tune_state *state,
                                const struct tune_event_lane_end *end) {
    struct tune_event event = {.is = TUNE_EVENT_LANE_END, .lane_end = *end};
    if (!state->way->numbered)
        event = (struct tune_event){
            .is = TUNE_EVENT_STEP_END,
            .step_end = {.step = end->step, .is = end->is, .summary = end->summary}};
    return event;
}
