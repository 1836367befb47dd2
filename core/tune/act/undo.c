/* SPDX-License-Identifier: Apache-2.0 */
/* Undo and redo: before a decision is applied, what it may change is put aside. What was measured
 * is never taken back: attempts, log lines and what was spent stay. */
#include "tune/act/private.h"
#include "tune/sums/inner.h"

/* With more attempts than this, what the loop decided goes back together with what a person did
 * before: then a step keeps only where the round stood. */
#define TUNE_UNDO_ATTEMPTS 1000

/* Decisions in a row find the same plans: one copy does for all of them. */
static const struct tune_plan *plans_take(const struct tune_state *state) {
    const struct tune_private *own = state->own;
    size_t size = state->plans.len * sizeof *state->plans.at;
    const struct tune_undo *last = own->undo.len ? &own->undo.at[own->undo.len - 1] : NULL;
    if (last && last->kind == TUNE_UNDO_FLOW && last->flow.n_plans == state->plans.len && size &&
        !memcmp(last->flow.plans, state->plans.at, size))
        return last->flow.plans;
    return arena_dup(state->arena, state->plans.at, size);
}

static void flow_take(const struct tune_state *state, struct tune_flow *flow) {
    *flow = (struct tune_flow){
        .running = state->running,
        .finished = state->finished,
        .revise = state->own->revise,
        .round_over = state->own->round_over,
        .round = state->round,
        .incumbent = state->incumbent,
        .best = state->best,
        .plateau = state->plateau,
        .step = state->step,
        .wait_step = state->wait_step,
        .wait = state->wait,
        .wait_text = state->wait_text,
        .n_plans = state->plans.len,
        .n_rejections = state->rejections.len,
        .rejected = state->own->rejected,
        .n_attempts = state->attempts.len,
        .n_changes = state->own->changes.len,
    };
    tune_lanes_take(state, &flow->lanes);
    memcpy(flow->steps, state->steps, sizeof flow->steps);
    flow->plans = plans_take(state);
}

static void steps_put(struct tune_state *state, const struct tune_step_view *steps) {
    for (int i = 0; i < TUNE_STEPS; i++) {
        enum tune_gate gate = state->steps[i].gate;
        state->steps[i] = steps[i];
        state->steps[i].gate = gate;
        /* What ran at that time does not run now: it begins again. */
        if (steps[i].is == TUNE_IS_RUNNING)
            tune_step_reset(&state->steps[i]);
    }
}

/* Attempts become what they were when `n_changes` changes had been made; attempts that came later
 * stay as they are. One that changed several times since is put back once. */
static void changes_put(struct tune_state *state, const struct tune_flow *flow) {
    size_t count = state->own->changes.len;
    bool *done = mem_alloc(state->attempts.len + 1, sizeof *done);
    for (size_t i = flow->n_changes; i < count; i++) {
        struct tune_change was = state->own->changes.at[i];
        if ((size_t)was.attempt >= flow->n_attempts || done[was.attempt])
            continue;
        done[was.attempt] = true; /* the first change after that time knows what it was */
        tune_status_set(state, &state->attempts.at[was.attempt], was.status, was.reason);
    }
    state->own->best_stale = true;
    mem_free_(done);
}

static void rejections_put(struct tune_state *state, const struct tune_flow *flow) {
    const struct tune_rejected *at = flow->rejected;
    state->own->rejected = at;
    state->rejections.len = 0;
    vec_reserve(&state->rejections, flow->n_rejections);
    state->rejections.len = flow->n_rejections;
    for (size_t i = flow->n_rejections; i > 0 && at; i--, at = at->before)
        state->rejections.at[i - 1] = at->row;
}

static void flow_put(struct tune_state *state, const struct tune_flow *flow) {
    tune_lanes_put(state, &flow->lanes);
    state->running = flow->running;
    state->finished = flow->finished;
    state->own->revise = flow->revise;
    state->own->round_over = flow->round_over;
    state->round = flow->round;
    state->incumbent = flow->incumbent;
    state->best = flow->best;
    state->plateau = flow->plateau;
    state->step = flow->step;
    state->wait_step = flow->wait_step;
    state->wait = flow->wait;
    state->wait_text = flow->wait_text;
    steps_put(state, flow->steps);
    state->plans.len = 0;
    for (size_t i = 0; i < flow->n_plans; i++)
        *vec_push(&state->plans) = flow->plans[i];
    rejections_put(state, flow);
    changes_put(state, flow);
}

/* What a step of undo is about are the session's own, also while a run has others in their
 * place. */
static void settings_take(const struct tune_state *state, struct tune_settings *settings) {
    const struct tune_own *kept = state->by_run ? &state->own->kept : NULL;
    *settings = (struct tune_settings){.rounds = kept ? kept->rounds : state->rounds,
                                       .tolerance = state->tolerance,
                                       .precision = state->precision,
                                       .by_hand = state->by_hand,
                                       .holds = state->holds,
                                       .allows_seed = state->allows_seed};
    for (int i = 0; i < TUNE_BUDGETS; i++)
        settings->limits[i] = kept ? kept->limits[i] : state->budgets[i].limit;
    for (int i = 0; i < TUNE_STEPS; i++)
        settings->gates[i] = kept ? kept->gates[i] : state->steps[i].gate;
}

static void settings_put(struct tune_state *state, const struct tune_settings *settings) {
    struct tune_own *kept = state->by_run ? &state->own->kept : NULL;
    *(kept ? &kept->rounds : &state->rounds) = settings->rounds;
    state->tolerance = settings->tolerance;
    state->own->best_stale |= state->precision != settings->precision;
    state->precision = settings->precision;
    state->by_hand = settings->by_hand;
    state->holds = settings->holds;
    state->allows_seed = settings->allows_seed;
    for (int i = 0; i < TUNE_BUDGETS; i++)
        *(kept ? &kept->limits[i] : &state->budgets[i].limit) = settings->limits[i];
    for (int i = 0; i < TUNE_STEPS; i++)
        *(kept ? &kept->gates[i] : &state->steps[i].gate) = settings->gates[i];
    tune_state_find_best(state);
}

static void parts_take(const struct tune_state *state, struct tune_parts *parts) {
    size_t count = state->parts.len;
    *parts = (struct tune_parts){
        arena_dup(state->arena, state->parts.at, count * sizeof *state->parts.at), count, {0}};
    memcpy(parts->sent, state->own->sent, sizeof parts->sent);
}

/* A text that went out since does not come back: it was meant for one call. */
static void parts_put(struct tune_state *state, const struct tune_parts *parts) {
    state->parts.len = 0;
    for (size_t i = 0; i < parts->count; i++) {
        struct tune_part_change change = parts->at[i];
        if (parts->sent[change.role] != state->own->sent[change.role])
            change.text = NULL;
        if (change.off || change.text)
            *vec_push(&state->parts) = change;
    }
}

static void take(const struct tune_state *state, struct tune_undo *step) {
    switch (step->kind) {
    case TUNE_UNDO_FLOW: flow_take(state, &step->flow); break;
    case TUNE_UNDO_SETTINGS: settings_take(state, &step->settings); break;
    case TUNE_UNDO_NOTE: step->note = state->notes.at[step->index]; break;
    case TUNE_UNDO_MEMORY:
        tune_memory_evidence_fix(state, step->index);
        step->experience = state->memory.at[step->index];
        break;
    case TUNE_UNDO_PARTS: parts_take(state, &step->parts); break;
    case TUNE_UNDO_NONE: break;
    }
}

static void put(struct tune_state *state, const struct tune_undo *step) {
    switch (step->kind) {
    case TUNE_UNDO_FLOW: flow_put(state, &step->flow); break;
    case TUNE_UNDO_SETTINGS: settings_put(state, &step->settings); break;
    case TUNE_UNDO_NOTE: state->notes.at[step->index] = step->note; break;
    case TUNE_UNDO_MEMORY:
        state->memory.at[step->index] = step->experience;
        tune_memory_index(state, step->index);
        break;
    case TUNE_UNDO_PARTS: parts_put(state, &step->parts); break;
    case TUNE_UNDO_NONE: break;
    }
}

static void undo_add(struct tune_private *own, const struct tune_undo *step) {
    *vec_push(&own->undo) = *step;
    own->by_person += !step->by_loop;
}

static struct tune_undo undo_take(struct tune_private *own) {
    struct tune_undo step = own->undo.at[--own->undo.len];
    own->by_person -= !step.by_loop;
    return step;
}

/* Counts what a person did, not the loop: sessions of older versions are read as those wrote
 * them. */
static void counts_show(struct tune_state *state) {
    const struct tune_private *own = state->own;
    size_t last = own->undo.len;
    while (own->by_person && last && own->undo.at[last - 1].by_loop)
        last--;
    state->undo_count = own->by_person;
    state->undo_what = own->by_person && last ? own->undo.at[last - 1].what : NULL;
    state->redo_count = (int)own->redo.len;
    state->redo_what = own->redo.len ? own->redo.at[own->redo.len - 1].what : NULL;
}

void tune_undo_push(struct tune_state *state, enum tune_undo_kind kind, size_t index, int lane,
                    const char *what) {
    if (kind == TUNE_UNDO_NONE)
        return;
    struct tune_undo step = {.kind = kind,
                             .what = tune_keep(state, what),
                             .index = index,
                             .lane = lane,
                             .decisions = state->own->decisions};
    take(state, &step);
    undo_add(state->own, &step);
    state->own->redo.len = 0;
    state->own->redo_stale = false;
    counts_show(state);
}

/* After taking back the loop stands still, or it would decide the same again. */
void tune_undo_decided(struct tune_state *state, int attempt, const char *status) {
    struct tune_private *own = state->own;
    own->decisions++;
    own->redo_stale = own->redo.len > 0;
    if (attempt <= 0 || state->attempts.len > TUNE_UNDO_ATTEMPTS)
        return;
    struct buf what = {0};
    buf_printf(&what, "#%d %s (round %d)", attempt, status, state->round);
    struct tune_undo step = {.kind = TUNE_UNDO_FLOW,
                             .what = tune_keep(state, what.at),
                             .by_loop = true,
                             .lane = -1,
                             .decisions = own->decisions - 1};
    take(state, &step);
    step.flow.running = false;
    step.flow.wait = TUNE_WAIT_PAUSED;
    step.flow.wait_text = "you took back what the loop decided; start (s) decides again";
    undo_add(own, &step);
    buf_free(&what);
}

/* Puts the state of a step back; the state as it was goes to the other list. */
static void exchange(struct tune_state *state, struct tune_undo step, bool redo) {
    struct tune_private *own = state->own;
    struct tune_undo now = step;
    take(state, &now);
    if (redo)
        undo_add(own, &now);
    else
        *vec_push(&own->redo) = now;
    put(state, &step);
    counts_show(state);
}

/* Takes back a person's last step with what the loop decided since, or does it again. */
static void undo_step(struct tune_state *state, bool redo) {
    struct tune_private *own = state->own;
    while (!redo && own->undo.len && own->undo.at[own->undo.len - 1].by_loop)
        undo_take(own);
    if (redo ? !own->redo.len : !own->undo.len)
        return;
    exchange(state, redo ? own->redo.at[--own->redo.len] : undo_take(own), redo);
}

bool tune_undo_can_again(const struct tune_state *state) {
    return state->own->redo.len && !state->own->redo_stale;
}

/* Takes back the last step alone, a person's or the loop's, or does it again. */
static void undo_last(struct tune_state *state, bool redo) {
    struct tune_private *own = state->own;
    if (redo ? !tune_undo_can_again(state) : !own->undo.len)
        return;
    if (own->redo_stale)
        own->redo.len = 0;
    own->redo_stale = false;
    struct tune_undo step = redo ? own->redo.at[--own->redo.len] : undo_take(own);
    int decisions = step.decisions;
    exchange(state, step, redo);
    own->decisions = redo ? own->decisions + step.by_loop : decisions;
}

bool tune_back_of(const struct tune_state *state, struct tune_back *back) {
    const struct tune_private *own = state->own;
    const struct tune_undo *last = own->undo.len ? &own->undo.at[own->undo.len - 1] : NULL;
    if (!last)
        return false;
    bool flow = last->kind == TUNE_UNDO_FLOW;
    *back = (struct tune_back){.what = last->what,
                               .lane = last->lane,
                               .by_loop = last->by_loop,
                               .flow = flow,
                               .step = flow ? last->flow.step : state->step,
                               .round = flow ? last->flow.round : state->round,
                               .decisions = flow ? own->decisions - last->decisions : 0,
                               .index = (int)own->undo.len};
    return true;
}

void tune_do_undo(struct tune_state *state, const struct tune_action *act) {
    (void)act;
    undo_step(state, false);
}

void tune_do_redo(struct tune_state *state, const struct tune_action *act) {
    (void)act;
    undo_step(state, true);
}

void tune_do_take_back(struct tune_state *state, const struct tune_action *act) {
    (void)act;
    undo_last(state, false);
}

void tune_do_do_again(struct tune_state *state, const struct tune_action *act) {
    (void)act;
    undo_last(state, true);
}
