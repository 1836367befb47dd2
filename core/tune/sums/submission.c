/* SPDX-License-Identifier: Apache-2.0 */
/* What became of kernels that agents handed in. */
#include "tune/sums/submission.h"

#define PREFIX "submission:"

static bool same(const char *a, const char *b) {
    return a && b && !strcmp(a, b);
}

const struct tune_submission *tune_submission_of(const struct tune_state *state,
                                                 const struct tune_plan *plan) {
    struct str key = plan && plan->key ? str_of(plan->key) : STR("");
    long long number = 0;
    if (!str_starts(key, PREFIX))
        return NULL;
    key = (struct str){key.at + strlen(PREFIX), key.len - strlen(PREFIX)};
    bool is = str_to_int(key, &number) && number >= 1 && (size_t)number <= state->submissions.len;
    return is ? &state->submissions.at[number - 1] : NULL;
}

static int lane_of(const struct tune_state *state, const char *key) {
    for (size_t i = 0; i < state->lanes.len; i++) {
        const struct tune_plan *plan = tune_lane_plan(state, (int)i);
        if (plan && !state->lanes.at[i].closed && same(plan->key, key))
            return (int)i;
    }
    return -1;
}

/* The last attempt that carried it out. Undo may have brought it about that there are several. */
static const struct tune_attempt *attempt_of(const struct tune_state *state, const char *key) {
    for (size_t i = state->attempts.len; i > 0; i--)
        if (same(state->attempts.at[i - 1].plan.key, key))
            return &state->attempts.at[i - 1];
    return NULL;
}

static void refusal_look(const struct tune_state *state, const char *key,
                         struct tune_submission_view *view) {
    for (size_t i = state->rejections.len; i > 0 && !view->refused; i--) {
        const struct tune_rejection *row = &state->rejections.at[i - 1];
        if (!same(row->key, key) || row->hunk)
            continue;
        view->is = TUNE_SUBMISSION_ENDED;
        view->refused = true;
        view->status = TUNE_STATUS_REJECTED;
        view->by_loop = row->by_loop;
        view->reason = row->reason;
    }
}

bool tune_attempt_awaits(const struct tune_state *state, const struct tune_attempt *attempt) {
    bool asks = state->wait == TUNE_WAIT_GATE && state->wait_step == TUNE_STEP_DECIDE;
    for (size_t i = 0; asks && i < state->lanes.len; i++)
        if (!state->lanes.at[i].closed && state->lanes.at[i].attempt == attempt->id)
            return true;
    return false;
}

bool tune_submission_look(const struct tune_state *state, int number,
                          struct tune_submission_view *view) {
    *view = (struct tune_submission_view){.lane = -1, .attempt = -1};
    if (number < 1 || (size_t)number > state->submissions.len)
        return false;
    const char *key = state->submissions.at[number - 1].plan.key;
    const struct tune_attempt *attempt = attempt_of(state, key);
    view->lane = lane_of(state, key);
    if (attempt)
        view->attempt = attempt->id;
    bool awaits = attempt && tune_attempt_awaits(state, attempt);
    if (attempt && attempt->status != TUNE_STATUS_OPEN && !awaits) {
        view->is = TUNE_SUBMISSION_ENDED;
        view->status = attempt->status;
        view->reason = attempt->reason;
        return true;
    }
    view->is = view->lane >= 0 ? TUNE_SUBMISSION_UNDER_WAY : TUNE_SUBMISSION_QUEUED;
    if (!attempt) /* the lane keeps its plan until another one takes its place */
        refusal_look(state, key, view);
    return true;
}

int tune_submission_next(const struct tune_state *state) {
    struct tune_submission_view view;
    for (size_t i = 0; i < state->submissions.len; i++)
        if (tune_submission_look(state, (int)i + 1, &view) && view.is == TUNE_SUBMISSION_QUEUED)
            return (int)i + 1;
    return 0;
}
