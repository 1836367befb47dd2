/* SPDX-License-Identifier: Apache-2.0 */
/* A log tells of a round in one of two forms. Where the round was opened into lanes, events name
 * the lane that they are about; a step begins and ends for all, and in between each lane does its
 * part. Where it was not, there is one lane and no event names it: "step" and "step_end" are those
 * of the lane and of the round. In memory there is only the first form, and this file is the
 * border. In older logs acts do not say their lane. They are about the lane that the person looked
 * at. The act "focus" changed it; it also moved by itself from a lane that was closed, to a kernel
 * that joined, and back with an undo. It is followed here only for such acts. */
#include "tune/state/inner.h"

static const int only_lane[] = {0};

/* Events that have to be about a lane. Where they name none, or one that does not exist, the lane
 * that was looked at is meant. Other events may be about all lanes. */
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

/* "step" of the only lane: the step begins, and so does the lane's part. */
static size_t step_read(struct tune_event *event, struct tune_said *said) {
    event->step.lanes = (struct tune_ints){only_lane, COUNT_OF(only_lane), true};
    said->other = of_lane(TUNE_EVENT_LANE, 0);
    said->at[1] = &said->other;
    return 2;
}

/* "step_end" of the only lane: it is through with its part, and so the step ends. */
static size_t step_end_read(struct tune_event *event, struct tune_said *said) {
    said->other = of_lane(TUNE_EVENT_LANE_END, 0);
    said->other.lane_end.step = event->step_end.step;
    said->other.lane_end.is = event->step_end.is;
    said->other.lane_end.summary = event->step_end.summary;
    said->at[0] = &said->other;
    said->at[1] = event;
    return 2;
}

/* ------------------------------------------------------------------------------- older acts */

void tune_form_look(struct tune_state *state, int lane) {
    if (tune_lane_at(state, lane))
        state->own->unsaid = lane;
}

void tune_form_look_away(struct tune_state *state) {
    int from = state->own->unsaid, count = (int)state->lanes.len;
    if (!tune_lane_of(state, from)->closed)
        return;
    for (int i = 1; i < count; i++)
        if (!state->lanes.at[(from + i) % count].closed) {
            state->own->unsaid = (from + i) % count;
            return;
        }
}

/* "focus" is no act any more. Another act is about the lane that it names, or else about the one
 * that was looked at. */
static size_t act_read(struct tune_state *state, struct tune_event_act *act) {
    bool focus = act->action && !strcmp(act->action, "focus");
    if (focus && state->way->numbered)
        tune_form_look(state, act->index);
    if (!state->way->numbered)
        act->lane = 0;
    else if (act->lane < 0)
        act->lane = state->own->unsaid;
    return !focus;
}

/* ----------------------------------------------------------------------------------- reading */

size_t tune_form_read(struct tune_state *state, struct tune_event *event, struct tune_said *said) {
    said->at[0] = event;
    if (event->is == TUNE_EVENT_ACT)
        return act_read(state, &event->act);
    if (state->way->numbered) {
        bool is_there = event->lane >= 0 && (size_t)event->lane < state->lanes.len;
        if (is_of_a_lane(event->is) && !is_there)
            event->lane = state->own->unsaid;
        return 1;
    }
    event->lane = 0;
    switch (event->is) {
    case TUNE_EVENT_STEP: return step_read(event, said);
    case TUNE_EVENT_STEP_END: return step_end_read(event, said);
    case TUNE_EVENT_LANE:
    case TUNE_EVENT_LANE_END: return 0; /* of lanes that are gone */
    default: return 1;
    }
}

/* ----------------------------------------------------------------------------------- writing */

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
