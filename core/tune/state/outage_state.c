/* SPDX-License-Identifier: Apache-2.0 */
/* Models whose services are out of order, in the state: since when, how often they were tried, when
 * they are asked again, and what waits for them. */
#include <math.h>

#include "tune/state/inner.h"

static struct tune_outage *row_of(const struct tune_state *state, const char *model) {
    for (size_t i = 0; model && i < state->outages.len; i++)
        if (!strcmp(state->outages.at[i].model, model))
            return &state->outages.at[i];
    return NULL;
}

const struct tune_outage *tune_outage_of(const struct tune_state *state, const char *model) {
    return row_of(state, model);
}

static int64_t ms_of(double seconds) {
    return seconds > 0 && seconds < 1e9 ? (int64_t)(seconds * 1000) : 0;
}

static void waiting_set(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    int64_t since_ms = state->waiting.since_ms ? state->waiting.since_ms : wall_ms;
    state->waiting = (struct tune_waiting){.role = tune_keep(state, event->outage.role),
                                           .model = tune_keep(state, event->outage.next),
                                           .text = tune_keep(state, event->outage.text),
                                           .step = state->step,
                                           .since_ms = since_ms,
                                           .next_ms = wall_ms + ms_of(event->outage.wait_s)};
}

void tune_outage_apply(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    const char *model = event->outage.model;
    if (!model)
        return;
    struct tune_outage *row = row_of(state, model);
    if (!row) {
        row = vec_push(&state->outages);
        *row = (struct tune_outage){.model = tune_keep(state, model), .since_ms = wall_ms};
    }
    row->kind = tune_keep(state, event->outage.kind);
    row->text = tune_keep(state, event->outage.text);
    int tries = event->outage.tries;
    row->tries = tries != TUNE_EVENT_NO_INT ? tries : row->tries + 1;
    row->last_ms = wall_ms;
    row->next_ms = wall_ms + ms_of(event->outage.pause_s);
    if (ms_of(event->outage.wait_s))
        waiting_set(state, event, wall_ms);
}

static void waiting_end(struct tune_state *state, int64_t wall_ms) {
    if (state->waiting.since_ms)
        state->own->waited_ms += wall_ms - state->waiting.since_ms;
    state->waiting = (struct tune_waiting){0};
}

void tune_outage_over(struct tune_state *state, const char *model, int64_t wall_ms) {
    struct tune_outage *row = row_of(state, model);
    if (row)
        *row = state->outages.at[--state->outages.len];
    waiting_end(state, wall_ms);
}

void tune_outages_forget(struct tune_state *state) {
    state->outages.len = 0;
    state->waiting = (struct tune_waiting){0};
}

const struct tune_waiting *tune_state_waits(const struct tune_state *state) {
    const struct tune_waiting *waiting = &state->waiting;
    bool waits = waiting->since_ms && waiting->next_ms && waiting->step == state->step &&
                 state->steps[state->step].is == TUNE_IS_RUNNING;
    return waits ? waiting : NULL;
}
