/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to language models in the state: what was asked, what came, what it cost. */
#include <math.h>
#include <stdlib.h>

#include "tune/state/inner.h"

/* The numbers of a call, as the event "answered" has them. */
#define NUMBERS(X)  \
    X(input)        \
    X(output)       \
    X(cache_read)   \
    X(cache_write)  \
    X(dollars)      \
    X(first_s)      \
    X(elapsed_s)    \
    X(guess_answer) \
    X(guess_dollars)

size_t tune_calls_open_from(const struct tune_state *state) {
    struct tune_private *own = state->own;
    while (own->calls_ended < state->calls.len && state->calls.at[own->calls_ended].ended_ms)
        own->calls_ended++;
    return own->calls_ended;
}

static void streaming_set(struct tune_state *state) {
    size_t open = tune_calls_open_from(state);
    state->streaming = NULL;
    for (size_t i = state->calls.len; i > open && !state->streaming; i--)
        if (!state->calls.at[i - 1].ended_ms)
            state->streaming = state->calls.at[i - 1].live.at;
}

/* What a person wrote for one call goes out with it, with the call that mends its answer, and with
 * the call that asks the same again. */
static void edits_take(struct tune_state *state, struct tune_call *call) {
    enum tune_role role;
    size_t left = 0;
    int before = call->repeats >= 0 ? call->repeats : call->mends;
    const struct tune_call *mended =
        before >= 0 && (size_t)before < state->calls.len ? &state->calls.at[before] : NULL;
    VEC(struct tune_part_change) edits = {0};
    if (!tune_role_find(call->role, &role))
        return;
    for (size_t i = 0; mended && i < mended->n_edits; i++)
        *vec_push(&edits) = mended->edits[i];
    for (size_t i = 0; i < state->parts.len; i++) {
        struct tune_part_change change = state->parts.at[i];
        if (change.role == role && change.text && !change.off)
            *vec_push(&edits) = change;
        if (change.role == role)
            change.text = NULL;
        if (change.off || change.text)
            state->parts.at[left++] = change;
    }
    state->parts.len = left;
    state->own->sent[role]++;
    call->edits = arena_dup(state->arena, edits.at, edits.len * sizeof *edits.at);
    call->n_edits = edits.len;
    vec_free(&edits);
}

void tune_call_asked(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    struct tune_call *call = vec_push(&state->calls);
    *call = (struct tune_call){
        .role = tune_keep(state, event->asked.role),
        .model = tune_keep(state, event->asked.model),
        .prompt = tune_keep(state, event->asked.prompt),
        .round = state->round,
        .attempt = event->asked.attempt,
        .lane = tune_lane_tag(state, event->lane),
        .asked_ms = wall_ms,
        .estimate = event->asked.estimate,
        .hold_tokens = event->asked.hold_tokens,
        .hold_dollars = event->asked.hold_dollars,
        .waits = event->asked.waits,
        .held = event->asked.held,
        .once = event->asked.once,
        .mends = event->asked.mends,
        .repeats = event->asked.repeats,
    };
#define X(name) call->name = NAN;
    NUMBERS(X)
#undef X
    if (!call->held)
        edits_take(state, call);
    state->waiting.next_ms = 0;
    streaming_set(state);
}

static struct tune_call *call_of(struct tune_state *state, int number) {
    return number >= 0 && (size_t)number < state->calls.len ? &state->calls.at[number] : NULL;
}

void tune_call_sent(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    struct tune_call *call = call_of(state, event->sent.call);
    if (!call || !call->held)
        return;
    call->held = false;
    call->asked_ms = wall_ms;
    call->prompt = tune_keep(state, event->sent.prompt);
    call->estimate = event->sent.estimate;
    call->hold_tokens = event->sent.hold_tokens;
    call->hold_dollars = event->sent.hold_dollars;
    edits_take(state, call);
}

void tune_call_unread(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    (void)wall_ms;
    struct tune_call *call = call_of(state, event->unread.call);
    if (!call)
        return;
    call->unread = tune_keep(state, event->unread.text);
    call->said = tune_keep(state, event->unread.said);
    call->lost = event->unread.lost;
}

void tune_call_answered(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    struct tune_call *call = call_of(state, event->answered.call);
    if (!call)
        return;
    call->answer = tune_keep(state, event->answered.answer);
    call->failure = tune_keep(state, event->answered.failure);
    call->failed = tune_keep(state, event->answered.failed);
    call->tries = event->answered.tries;
    if (call->ended_ms) /* counted numbers of it may have come since */
        state->own->guessed = (struct tune_guessed){0, NAN, NAN};
    call->ended_ms = wall_ms;
    call->waits = call->held = false;
#define X(name) call->name = event->answered.name;
    NUMBERS(X)
#undef X
    buf_free(&call->live);
    if (!call->failure)
        tune_outage_over(state, call->model, wall_ms);
    streaming_set(state);
}

void tune_calls_break_off(struct tune_state *state, int64_t wall_ms) {
    for (size_t i = tune_calls_open_from(state); i < state->calls.len; i++) {
        struct tune_call *call = &state->calls.at[i];
        if (call->ended_ms)
            continue;
        call->ended_ms = wall_ms;
        call->waits = call->held = false;
        call->failure = "hone ended before the answer came";
        buf_free(&call->live);
    }
    state->streaming = NULL;
}

void tune_call_stream(struct tune_state *state, int number, struct str piece, bool again) {
    if (number < 0 || (size_t)number >= state->calls.len)
        return;
    struct tune_call *call = &state->calls.at[number];
    if (again)
        buf_clear(&call->live);
    buf_add(&call->live, piece.at ? piece.at : "", piece.len);
    streaming_set(state);
}

bool tune_call_runs(const struct tune_state *state) {
    bool asks = state->step == TUNE_STEP_PLAN || state->step == TUNE_STEP_REWRITE;
    if (!asks || state->steps[state->step].is != TUNE_IS_RUNNING)
        return false;
    if (tune_state_waits(state))
        return true;
    for (size_t i = state->calls.len; i > tune_calls_open_from(state); i--)
        if (!state->calls.at[i - 1].ended_ms)
            return true;
    return false;
}

enum tune_role tune_role_next(const struct tune_state *state, int lane) {
    const struct tune_attempt *open = tune_attempt_in(state, lane);
    enum tune_step_is is = state->steps[state->step].is;
    bool broken =
        open && open->id > 0 && open->status == TUNE_STATUS_OPEN && tune_is_broken(state, open);
    if (tune_lane_kernel(state, lane) && !broken && state->step >= TUNE_STEP_PLAN)
        return TUNE_ROLE_PLANNER;
    if (state->step == TUNE_STEP_PLAN && is == TUNE_IS_OK)
        return TUNE_ROLE_REWRITER;
    if (state->step == TUNE_STEP_REWRITE && (is == TUNE_IS_WAITING || is == TUNE_IS_RUNNING))
        return broken ? TUNE_ROLE_FIXER : TUNE_ROLE_REWRITER;
    if (state->step == TUNE_STEP_VERIFY && is == TUNE_IS_FAILED && broken &&
        open->repairs < tune_repairs_most(state, open))
        return TUNE_ROLE_FIXER;
    if (is == TUNE_IS_RUNNING && state->step == TUNE_STEP_SUMMARISE)
        return TUNE_ROLE_SUMMARISER;
    if (is == TUNE_IS_RUNNING && state->step == TUNE_STEP_REFLECT)
        return TUNE_ROLE_REFLECTOR;
    return TUNE_ROLE_PLANNER;
}
