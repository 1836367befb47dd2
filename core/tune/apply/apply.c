/* SPDX-License-Identifier: Apache-2.0 */
/* The state as a function of the event log: one function an event, chosen by a table. Nothing here
 * starts, asks or writes anything, and nothing reads a clock: the same log gives the same state. */
#include <math.h>
#include <stdlib.h>

#include "tune/apply/apply.h"

#include "tune/act/inner.h"
#include "tune/apply/measured.h"
#include "tune/state/inner.h"
#include "tune/sums/inner.h"

typedef void apply_fn(struct tune_state *state, const struct tune_event *event, int64_t wall_ms);

/* ---------------------------------------------------------------- what is tuned, and how */

static void seeds_set(struct tune_state *state, const struct tune_longs *seeds) {
    if (!seeds->given)
        return;
    state->seeds.len = 0;
    for (size_t i = 0; i < seeds->count; i++)
        *vec_push(&state->seeds) = seeds->at[i];
}

static void origins_set(struct tune_state *state, const struct tune_by_name *origins) {
    for (size_t k = 0; k < origins->count; k++) {
        const struct tune_named *item = &origins->at[k];
        struct tune_origin *origin = NULL;
        for (size_t i = 0; i < state->origins.len; i++)
            if (!strcmp(state->origins.at[i].name, item->name))
                origin = &state->origins.at[i];
        if (!origin) {
            origin = vec_push(&state->origins);
            origin->name = tune_keep(state, item->name);
        }
        origin->text = tune_keep(state, item->text);
    }
}

static void gates_set(struct tune_state *state, const struct tune_by_name *gates) {
    for (size_t i = 0; i < gates->count; i++) {
        enum tune_step step;
        if (tune_step_find(gates->at[i].name, &step))
            tune_gate_find(gates->at[i].text, &state->steps[step].gate);
    }
}

/* What is not told stays as it was. */
static void texts_set(struct tune_state *state, const struct tune_event_session *session) {
    const struct {
        const char *text;
        const char **field;
    } texts[] = {
        {session->id, &state->id},
        {session->task, &state->task},
        {session->kernel, &state->kernel_path},
        {session->reference, &state->reference_path},
        {session->function, &state->function},
        {session->source, &state->kernel_source},
        {session->model, &state->model},
        {session->reference_source, &state->reference_source},
        {session->precision, &state->precision},
        {session->target, &state->target},
        {session->device, &state->device},
        {session->proposer, &state->proposer},
        {session->search, &state->search},
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (texts[i].text)
            *texts[i].field = tune_keep(state, texts[i].text);
}

static void search_set(struct tune_state *state, const struct tune_event_session *session) {
    const struct tune_width *width = session->width;
    if (!isnan(session->menu_keep))
        state->menu_keep = session->menu_keep;
    if (width)
        state->width = (struct tune_width){MAX_OF(width->parents, 1), MAX_OF(width->plans, 1),
                                           MAX_OF(width->rewrites, 1)};
    if (session->rounds != TUNE_EVENT_NO_INT)
        state->rounds = session->rounds;
    state->budgets[TUNE_BUDGET_ROUNDS].limit = state->rounds;
    tune_limits_note(state, &session->limits);
}

static void apply_session(struct tune_state *state, const struct tune_event *event,
                          int64_t wall_ms) {
    const struct tune_event_session *session = &event->session;
    texts_set(state, session);
    if (!isnan(session->tolerance))
        state->tolerance = session->tolerance;
    if (session->seed_names)
        state->allows_seed = !strcmp(session->seed_names, "yes");
    seeds_set(state, &session->seeds);
    origins_set(state, &session->origins);
    search_set(state, session);
    gates_set(state, &session->gates);
    if (state->started_ms)
        return;
    state->started_ms = wall_ms;
    if (!state->id) { /* a session of an older version */
        struct hash hash = hash_content(&wall_ms, sizeof wall_ms);
        state->id = tune_keep(state, hash.hex);
    }
    tune_wait_set(state, TUNE_WAIT_PAUSED, "not started yet");
}

/* -------------------------------------------------------------------------- files of the task */

/* What the loop itself could not carry out, it may now; what a person rejected stays so. */
static void rejections_forget(struct tune_state *state) {
    size_t left = 0;
    for (size_t i = 0; i < state->rejections.len; i++)
        if (!state->rejections.at[i].by_loop)
            state->rejections.at[left++] = state->rejections.at[i];
    state->rejections.len = left;
    tune_rejections_link(state);
}

/* Numbers that were measured with other files say nothing about those that count now: all begins
 * with the seed kernel again, and no decision from before can be undone into it. */
static void files_taken(struct tune_state *state) {
    for (size_t i = 0; i < state->attempts.len; i++)
        state->attempts.at[i].outdated = true;
    state->incumbent = state->best = state->own->from = -1;
    state->beam.len = state->plans.len = 0;
    state->plateau = 0;
    rejections_forget(state);
    tune_lanes_clear(state);
    tune_steps_rewind(state, TUNE_STEP_PROFILE);
    state->own->undo.len = state->own->redo.len = 0;
    state->own->by_person = 0;
    state->own->best_stale = true;
    state->undo_count = state->redo_count = 0;
    state->undo_what = state->redo_what = NULL;
}

static void apply_closure(struct tune_state *state, const struct tune_event *event,
                          int64_t wall_ms) {
    (void)wall_ms;
    const struct tune_event_closure *closure = &event->closure;
    if (closure->python)
        state->python = tune_keep(state, closure->python);
    if (closure->numpy)
        state->numpy = tune_keep(state, closure->numpy);
    if (!closure->files.given)
        return;
    state->files.len = state->changed.len = 0;
    for (size_t i = 0; i < closure->files.count; i++) {
        const struct tune_event_task_file *file = &closure->files.at[i];
        if (file->name && file->hash)
            *vec_push(&state->files) =
                (struct tune_task_file){.name = tune_keep(state, file->name),
                                        .hash = tune_keep(state, file->hash),
                                        .of = tune_keep(state, file->of ? file->of : "")};
    }
    if (closure->taken)
        files_taken(state);
}

static void changed_wait(struct tune_state *state) {
    struct buf text = {0};
    const char *first = state->changed.at[0].name;
    buf_puts(&text, first);
    if (state->changed.len > 1)
        buf_printf(&text, " and %zu more", state->changed.len - 1);
    buf_printf(&text, " changed on disk: take %s in, or keep the session's",
               state->changed.len > 1 ? "them" : "it");
    tune_wait_set(state, TUNE_WAIT_PAUSED, text.at);
    buf_free(&text);
}

static void apply_changed(struct tune_state *state, const struct tune_event *event,
                          int64_t wall_ms) {
    (void)wall_ms;
    state->changed.len = 0;
    for (size_t i = 0; i < event->changed.files.count; i++) {
        const struct tune_event_file_change *file = &event->changed.files.at[i];
        if (file->name)
            *vec_push(&state->changed) =
                (struct tune_file_change){.name = tune_keep(state, file->name),
                                          .was = tune_keep(state, file->was),
                                          .now = tune_keep(state, file->now),
                                          .diff = tune_keep(state, file->diff)};
    }
    if (!state->changed.len)
        return;
    state->running = false;
    tune_outages_forget(state);
    if (event->changed.again) {
        tune_steps_rewind(state, state->step);
        tune_lanes_rest(state);
    }
    if (state->wait != TUNE_WAIT_GATE)
        changed_wait(state);
}

/* A process that opened the session again: what ran when the last one ended begins again. */
static void apply_resumed(struct tune_state *state, const struct tune_event *event,
                          int64_t wall_ms) {
    (void)event;
    state->running = false;
    for (int i = 0; i < TUNE_STEPS; i++)
        if (state->steps[i].is == TUNE_IS_RUNNING)
            tune_step_reset(&state->steps[i]);
    tune_lanes_rest(state);
    tune_outages_forget(state);
    tune_calls_break_off(state, wall_ms);
    if (state->wait == TUNE_WAIT_NOTHING)
        tune_wait_set(state, TUNE_WAIT_PAUSED, "opened again; what was under way starts over");
}

/* ------------------------------------------------------------------------------ the loop */

static void apply_round(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    (void)wall_ms;
    state->round = event->round.round != TUNE_EVENT_NO_INT ? event->round.round : state->round + 1;
    state->own->round_over = false;
    tune_lanes_clear(state);
    tune_steps_rewind(state, TUNE_STEP_PROFILE);
    state->plans.len = 0;
    tune_wait_set(state, TUNE_WAIT_NOTHING, NULL);
}

static void apply_step(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    enum tune_step step = event->step.step;
    if (step == TUNE_STEPS)
        return;
    tune_steps_rewind(state, step);
    state->steps[step].is = TUNE_IS_RUNNING;
    state->steps[step].started_ms = wall_ms;
    state->waiting = (struct tune_waiting){0};
    state->own->waited_ms = 0;
    tune_lanes_step(state, &event->step);
    tune_wait_set(state, TUNE_WAIT_NOTHING, NULL);
}

static void apply_progress(struct tune_state *state, const struct tune_event *event,
                           int64_t wall_ms) {
    (void)wall_ms;
    enum tune_step step = event->progress.step;
    bool is_own = state->way->counts && tune_lane_at(state, event->lane);
    tune_lane_progress(state, event);
    if (is_own || step == TUNE_STEPS)
        return;
    state->steps[step].doing = tune_keep(state, event->progress.doing);
    state->steps[step].done = event->progress.done;
    state->steps[step].total = event->progress.total;
}

static bool gate_asks(const struct tune_state *state, enum tune_step step) {
    const struct tune_step_view *view = &state->steps[step];
    if (view->is == TUNE_IS_SKIPPED)
        return false;
    const struct tune_plan *plan = tune_lane_plan(state, tune_lane_first(state));
    if (step == TUNE_STEP_PLAN && plan && plan->revised)
        return true;
    if (tune_sweep_passes(state, step))
        return false;
    return view->gate == TUNE_GATE_ASK ||
           (view->gate == TUNE_GATE_AUTO_GREEN && view->is != TUNE_IS_OK);
}

static void apply_step_end(struct tune_state *state, const struct tune_event *event,
                           int64_t wall_ms) {
    enum tune_step step = event->step_end.step;
    if (step == TUNE_STEPS)
        return;
    struct tune_step_view *view = &state->steps[step];
    state->step = step;
    view->is = event->step_end.is < TUNE_STEP_STATES ? event->step_end.is : TUNE_IS_OK;
    view->summary = tune_keep(state, event->step_end.summary);
    view->artefact = tune_keep(state, event->step_end.artefact);
    view->doing = NULL;
    view->done = view->total = NAN;
    view->ended_ms = wall_ms;
    if (view->started_ms)
        tune_step_took(state, step,
                       (double)(wall_ms - view->started_ms - state->own->waited_ms) / 1000);
    if (!gate_asks(state, step))
        return;
    struct buf text = {0};
    buf_printf(&text, "%s is done: approve, edit or reject", tune_step_word(step));
    tune_wait_set(state, TUNE_WAIT_GATE, text.at);
    buf_free(&text);
}

/* The round is over: counts it, and whether it brought something: an incumbent. */
static void apply_round_end(struct tune_state *state, const struct tune_event *event,
                            int64_t wall_ms) {
    (void)event, (void)wall_ms;
    const struct tune_attempt *best = tune_state_attempt(state, state->incumbent);
    bool gain = best && best->id > 0 && best->round == state->round;
    if (state->own->round_over)
        return;
    state->own->round_over = true;
    int counts = !tune_sweep_goes_on(state); /* all of a sweep is one round */
    state->plateau = gain ? 0 : state->plateau + counts;
    state->budgets[TUNE_BUDGET_ROUNDS].spent += counts;
}

static void apply_stop(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    (void)wall_ms;
    state->running = false;
    state->finished = true;
    tune_outages_forget(state);
    for (int i = 0; i < TUNE_STEPS; i++)
        if (state->steps[i].is == TUNE_IS_RUNNING)
            tune_step_reset(&state->steps[i]);
    state->stopped_by_environment = event->stop.environment;
    tune_wait_set(state, TUNE_WAIT_STOPPED, event->stop.text);
}

/* The loop itself pauses: the target or the proposer could not do its part. `again`: what the step
 * did so far counts no longer. */
static void apply_pause(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    (void)wall_ms;
    state->running = false;
    tune_outages_forget(state);
    if (event->pause.again) {
        tune_steps_rewind(state, state->step);
        tune_lanes_rest(state);
    }
    state->stopped_by_environment = event->pause.environment;
    if (state->wait == TUNE_WAIT_NOTHING)
        tune_wait_set(state, TUNE_WAIT_PAUSED, event->pause.text);
}

/* ------------------------------------------------------------------- plans and candidates */

static void apply_plans(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    (void)wall_ms;
    if (!state->way->divides)
        state->plans.len = 0;
    for (size_t i = 0; i < event->plans.plans.count; i++) {
        struct tune_plan *place = vec_push(&state->plans);
        *place = event->plans.plans.at[i];
        tune_part_keep(TUNE_PART_PLAN, place, state->own->texts);
        place->revised = state->own->revise;
        place->lane = tune_lane_tag(state, event->lane);
    }
    if (state->way->divides) /* they are given to the lanes when all have answered */
        return;
    state->lanes.at[event->lane].plan = state->plans.len ? 0 : -1;
    if (state->plans.len)
        state->own->revise = false;
}

static void apply_candidate(struct tune_state *state, const struct tune_event *event,
                            int64_t wall_ms) {
    (void)wall_ms;
    const char *source = event->candidate.source;
    if (!source)
        return;
    int number = event->lane;
    struct tune_lane *lane = &state->lanes.at[number];
    int parent = event->candidate.parent;
    lane->candidate.parent = parent != TUNE_EVENT_NO_INT ? parent : tune_lane_parent(state, number);
    lane->candidate.repair = event->candidate.repair;
    lane->candidate.attempt = lane->attempt > 0 ? lane->attempt : tune_attempt_next(state);
    lane->candidate.edited = false;
    if (!state->own->leaves) {
        tune_candidate_set(state, number, source, event->candidate.author);
        return;
    }
    lane->candidate.exists = true;
    lane->candidate.left_seq = state->seq;
    lane->candidate.proposed = lane->candidate.source = NULL;
    lane->candidate.author = tune_keep(state, event->candidate.author);
    lane->candidate.hunks.len = 0;
}

/* A plan that never became an attempt because the proposer could not carry it out. */
static void apply_plan_failed(struct tune_state *state, const struct tune_event *event,
                              int64_t wall_ms) {
    (void)wall_ms;
    const struct tune_plan *plan = tune_lane_plan(state, event->lane);
    struct tune_rejection row = {
        .round = state->round,
        .attempt = -1,
        .step = TUNE_STEP_REWRITE,
        .by_loop = true,
        .title = plan ? plan->title : NULL,
        .key = plan ? plan->key : NULL,
        .reason = tune_keep(state, event->plan_failed.text),
    };
    tune_rejection_add(state, event->lane, row);
}

/* ------------------------------------------------------------------------------- attempts */

static void attempt_clear(struct tune_attempt *attempt) {
    attempt->samples.len = attempt->parent_samples.len = attempt->seeds.len = 0;
    attempt->metrics.len = attempt->lines.len = attempt->bounds.len = 0;
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
}

static struct tune_attempt *attempt_place(struct tune_state *state, int id) {
    if (id >= 0 && (size_t)id < state->attempts.len)
        return &state->attempts.at[id];
    struct tune_attempt *attempt = vec_push(&state->attempts);
    *attempt = (struct tune_attempt){.id = (int)state->attempts.len - 1};
    return attempt;
}

/* What was found in an earlier turn is no longer about the source of this attempt. */
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

/* A new attempt, or a repair turn of one that is open: then it starts over with the new source. */
static void apply_attempt(struct tune_state *state, const struct tune_event *event,
                          int64_t wall_ms) {
    const char *source = event->attempt.source;
    if (!source)
        return;
    struct tune_attempt *attempt = attempt_place(state, event->attempt.attempt);
    tune_status_set(state, attempt, TUNE_STATUS_OPEN, NULL);
    attempt_clear(attempt);
    diagnostics_leave(state, attempt->id);
    attempt->parent = MIN_OF(event->attempt.parent, attempt->id - 1);
    int round = event->attempt.round;
    attempt->round = round != TUNE_EVENT_NO_INT ? round : state->round;
    attempt->repairs = event->attempt.repairs;
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
    }
    struct tune_lane *lane = &state->lanes.at[event->lane];
    lane->attempt = lane->candidate.attempt = attempt->id;
}

/* The evaluation that runs was begun again from the start: what it said before does not count. */
static void apply_anew(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
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

static void apply_disturbed(struct tune_state *state, const struct tune_event *event,
                            int64_t wall_ms) {
    (void)event, (void)wall_ms;
    state->disturbed++;
}

/* An evaluation on a host begins, or hone was killed and takes up the same one again. */
static void apply_evaluate(struct tune_state *state, const struct tune_event *event,
                           int64_t wall_ms) {
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

static void apply_settled(struct tune_state *state, const struct tune_event *event,
                          int64_t wall_ms) {
    (void)wall_ms;
    struct tune_attempt *attempt = tune_attempt_of(state, event->settled.attempt);
    if (attempt)
        attempt->evaluated++;
}

static void apply_seed(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
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
    *vec_push(&attempt->seeds) = seed;
}

static void apply_sample(struct tune_state *state, const struct tune_event *event,
                         int64_t wall_ms) {
    (void)wall_ms;
    struct tune_attempt *attempt = tune_attempt_of(state, event->sample.attempt);
    double us = event->sample.us;
    if (!attempt || isnan(us))
        return;
    if (event->sample.of_parent)
        *vec_push(&attempt->parent_samples) = us;
    else
        *vec_push(&attempt->samples) = us;
}

static void apply_scored(struct tune_state *state, const struct tune_event *event,
                         int64_t wall_ms) {
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

static void apply_decided(struct tune_state *state, const struct tune_event *event,
                          int64_t wall_ms) {
    struct tune_attempt *attempt = tune_attempt_of(state, event->decided.attempt);
    if (!attempt)
        return;
    enum tune_status said = event->decided.status;
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
static void apply_timeline(struct tune_state *state, const struct tune_event *event,
                           int64_t wall_ms) {
    (void)wall_ms;
    struct tune_attempt *attempt = tune_attempt_of(state, event->timeline.attempt);
    if (attempt)
        attempt->timeline = tune_keep(state, event->timeline.hash);
}

/* -------------------------------------------------------------------- log, notes, memory */

static void log_add(struct tune_state *state, struct tune_log log, const char *phase,
                    const char *text) {
    if (state->logs.len >= TUNE_LOG_MAX) {
        size_t gone = TUNE_LOG_MAX / 4;
        for (size_t i = 0; i < gone; i++) {
            free((void *)(uintptr_t)state->logs.at[i].text);
        }
        state->logs.len -= gone;
        state->logs_gone += (int64_t)gone;
        memmove(state->logs.at, state->logs.at + gone, state->logs.len * sizeof *state->logs.at);
    }
    log.phase = tune_keep(state, phase ? phase : "");
    log.text = mem_strdup(text ? text : "");
    *vec_push(&state->logs) = log;
}

static void heard_note(struct tune_state *state, int id, int64_t heard) {
    struct tune_attempt *attempt = tune_attempt_of(state, id);
    if (attempt)
        attempt->heard = MAX_OF(attempt->heard, heard);
}

static void apply_log(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    heard_note(state, event->log.attempt, event->log.heard);
    enum tune_level level = event->log.level;
    struct tune_log log = {.wall_ms = wall_ms,
                           .level = level < TUNE_LEVELS ? level : TUNE_LEVEL_INFO,
                           .diagnostic = -1,
                           .line = event->log.line,
                           .attempt = event->log.attempt,
                           .lane = tune_lane_tag(state, event->lane)};
    log_add(state, log, event->log.phase, event->log.text);
}

static enum diag_severity severity_find(const char *word) {
    for (int s = DIAG_ERROR; s <= DIAG_NOTE; s++)
        if (word && !strcmp(word, diag_severity_name((enum diag_severity)s)))
            return (enum diag_severity)s;
    return DIAG_NOTE;
}

static void apply_diagnostic(struct tune_state *state, const struct tune_event *event,
                             int64_t wall_ms) {
    heard_note(state, event->diagnostic.attempt, event->diagnostic.heard);
    static const enum tune_level levels[] = {[DIAG_ERROR] = TUNE_LEVEL_ERROR,
                                             [DIAG_WARNING] = TUNE_LEVEL_WARNING,
                                             [DIAG_NOTE] = TUNE_LEVEL_INFO};
    struct tune_diagnostic diag = {
        .attempt = event->diagnostic.attempt,
        .severity = severity_find(event->diagnostic.severity),
        .code = tune_keep(state, event->diagnostic.code),
        .file = tune_keep(state, event->diagnostic.file),
        .message = tune_keep(state, event->diagnostic.message),
        .cause = tune_keep(state, event->diagnostic.cause),
        .line = event->diagnostic.line,
        .column = event->diagnostic.column,
    };
    if (diag.attempt >= 0)
        by_hash_put(&state->own->diagnostics, (uint64_t)diag.attempt, state->diagnostics.len);
    *vec_push(&state->diagnostics) = diag;
    struct tune_log log = {.wall_ms = wall_ms,
                           .level = levels[diag.severity],
                           .line = diag.line,
                           .attempt = diag.attempt,
                           .lane = tune_lane_tag(state, event->lane),
                           .diagnostic = (int)state->diagnostics.len - 1};
    struct buf text = {0};
    buf_printf(&text, "%s:%d:%d: %s: %s", diag.file ? path_base(diag.file) : "kernel", diag.line,
               diag.column, diag_severity_name(diag.severity), diag.message ? diag.message : "");
    if (diag.code && diag.code[0])
        buf_printf(&text, " [%s]", diag.code); /* what hone explain takes */
    log_add(state, log, "check", text.at);
    buf_free(&text);
}

static void apply_note(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    (void)wall_ms;
    struct tune_event kept = *event;
    tune_event_keep(&kept, state->own->texts);
    struct tune_note note = kept.note;
    if (note.round == TUNE_EVENT_NO_INT)
        note.round = state->round;
    *vec_push(&state->notes) = note;
    struct tune_attempt *attempt = tune_attempt_of(state, event->note.attempt);
    if (attempt)
        *vec_push(&attempt->notes) = (int)state->notes.len - 1;
}

/* The same was found again: one experience with more evidence. What a person deleted stays so. */
static void experience_merge(struct tune_state *state, struct tune_experience *into,
                             const struct tune_experience *item) {
    if (!item->imported && tune_memory_shows(into, item->attempt, item->against)) {
        if (into->is == TUNE_EXPERIENCE_PROPOSED)
            into->speedup = item->speedup;
        return; /* the same attempt, told again or measured again */
    }
    into->merged++;
    if (into->is == TUNE_EXPERIENCE_DELETED)
        return;
    const char *before = into->evidence ? into->evidence : "", *and = *before ? ", " : "";
    if (item->imported && item->source)
        into->evidence = arena_printf(state->arena, "%s%s%s", before, and, item->source);
    else if (item->attempt >= 0)
        into->evidence = arena_printf(state->arena, "%s%s#%d against #%d", before, and,
                                      item->attempt, item->against);
    if (item->imported || into->is == TUNE_EXPERIENCE_APPROVED)
        return;
    into->attempt = item->attempt;
    into->against = item->against;
    into->speedup = item->speedup;
    into->imported = false;
    into->is = TUNE_EXPERIENCE_PROPOSED;
    into->expired = NULL;
}

static void apply_experience(struct tune_state *state, const struct tune_event *event,
                             int64_t wall_ms) {
    struct tune_event kept = *event;
    tune_event_keep(&kept, state->own->texts);
    struct tune_experience item = kept.experience;
    if (!item.recorded_ms)
        item.recorded_ms = wall_ms;
    int same = tune_memory_find(state, &item);
    if (same >= 0) {
        experience_merge(state, &state->memory.at[same], &item);
        return;
    }
    *vec_push(&state->memory) = item;
    tune_memory_index(state, state->memory.len - 1);
}

/* Something that was found since says otherwise, or it is too old. */
static void apply_expired(struct tune_state *state, const struct tune_event *event,
                          int64_t wall_ms) {
    (void)wall_ms;
    int index = event->expired.index;
    if (index < 0 || (size_t)index >= state->memory.len)
        return;
    state->memory.at[index].is = TUNE_EXPERIENCE_EXPIRED;
    state->memory.at[index].expired = tune_keep(state, event->expired.why);
}

/* A context was sent: the notes and experiences in it count it. */
static void apply_entered(struct tune_state *state, const struct tune_event *event,
                          int64_t wall_ms) {
    (void)wall_ms;
    const struct tune_ints *notes = &event->entered.notes, *memory = &event->entered.memory;
    for (size_t i = 0; i < notes->count; i++)
        if (notes->at[i] >= 0 && (size_t)notes->at[i] < state->notes.len)
            state->notes.at[notes->at[i]].entered++;
    for (size_t i = 0; i < memory->count; i++) {
        int at = memory->at[i];
        if (at < 0 || (size_t)at >= state->memory.len)
            continue;
        state->memory.at[at].entered++;
        *vec_push(&state->entries) = (struct tune_entry){at, state->round, (int)state->calls.len};
    }
}

/* --------------------------------------------------------------------------- imported attempts */

/* What tells one from another. Equal texts of the state are the same pointer. */
struct import_id {
    const char *texts[5];
    int64_t round;
};

static struct import_id import_id(const struct tune_import *row) {
    return (struct import_id){{row->agent, row->source, row->name, row->status, row->title},
                              row->round};
}

static void import_add(struct tune_state *state, const struct tune_import *row) {
    struct import_id mine = import_id(row), its;
    uint64_t hash = hash_quick(&mine, sizeof mine);
    size_t at = 0, found = 0;
    while (by_hash_next(&state->own->imports, hash, &at, &found)) {
        its = import_id(&state->imports.at[found]);
        if (!memcmp(&mine, &its, sizeof mine))
            return;
    }
    by_hash_put(&state->own->imports, hash, state->imports.len);
    *vec_push(&state->imports) = *row;
}

static void apply_history(struct tune_state *state, const struct tune_event *event,
                          int64_t wall_ms) {
    (void)wall_ms;
    for (size_t i = 0; i < event->history.rows.count; i++) {
        struct tune_import row = event->history.rows.at[i];
        tune_part_keep(TUNE_PART_IMPORT, &row, state->own->texts);
        import_add(state, &row);
    }
}

static void apply_act(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    (void)wall_ms;
    tune_act_apply(state, &event->act);
}

static apply_fn *const events[TUNE_EVENTS] = {
    [TUNE_EVENT_SESSION] = apply_session,
    [TUNE_EVENT_RESUMED] = apply_resumed,
    [TUNE_EVENT_ROUND] = apply_round,
    [TUNE_EVENT_STEP] = apply_step,
    [TUNE_EVENT_PROGRESS] = apply_progress,
    [TUNE_EVENT_CLOSURE] = apply_closure,
    [TUNE_EVENT_CHANGED] = apply_changed,
    [TUNE_EVENT_STEP_END] = apply_step_end,
    [TUNE_EVENT_ROUND_END] = apply_round_end,
    [TUNE_EVENT_STOP] = apply_stop,
    [TUNE_EVENT_PAUSE] = apply_pause,
    [TUNE_EVENT_SPENT] = tune_spent_note,
    [TUNE_EVENT_LANES] = tune_lanes_apply,
    [TUNE_EVENT_LANE] = tune_lane_apply,
    [TUNE_EVENT_LANE_END] = tune_lane_end_apply,
    [TUNE_EVENT_LANE_FAN] = tune_lane_fan_apply,
    [TUNE_EVENT_LANES_ASSIGN] = tune_lanes_assign_apply,
    [TUNE_EVENT_BEAM] = tune_beam_apply,
    [TUNE_EVENT_PLANS] = apply_plans,
    [TUNE_EVENT_CANDIDATE] = apply_candidate,
    [TUNE_EVENT_ASKED] = tune_call_asked,
    [TUNE_EVENT_SENT] = tune_call_sent,
    [TUNE_EVENT_ANSWERED] = tune_call_answered,
    [TUNE_EVENT_UNREAD] = tune_call_unread,
    [TUNE_EVENT_OUTAGE] = tune_outage_apply,
    [TUNE_EVENT_PLAN_FAILED] = apply_plan_failed,
    [TUNE_EVENT_ATTEMPT] = apply_attempt,
    [TUNE_EVENT_ANEW] = apply_anew,
    [TUNE_EVENT_DISTURBED] = apply_disturbed,
    [TUNE_EVENT_EVALUATE] = apply_evaluate,
    [TUNE_EVENT_SETTLED] = apply_settled,
    [TUNE_EVENT_MODELLED] = tune_modelled_apply,
    [TUNE_EVENT_PREDICTED] = tune_predicted_apply,
    [TUNE_EVENT_SEED] = apply_seed,
    [TUNE_EVENT_SAMPLE] = apply_sample,
    [TUNE_EVENT_MEASURED] = tune_measured_apply,
    [TUNE_EVENT_TIMELINE] = apply_timeline,
    [TUNE_EVENT_VERDICT] = tune_verdict_apply,
    [TUNE_EVENT_SCORED] = apply_scored,
    [TUNE_EVENT_DECIDED] = apply_decided,
    [TUNE_EVENT_LOG] = apply_log,
    [TUNE_EVENT_DIAGNOSTIC] = apply_diagnostic,
    [TUNE_EVENT_NOTE] = apply_note,
    [TUNE_EVENT_EXPERIENCE] = apply_experience,
    [TUNE_EVENT_EXPIRED] = apply_expired,
    [TUNE_EVENT_HISTORY] = apply_history,
    [TUNE_EVENT_ENTERED] = apply_entered,
    [TUNE_EVENT_ACT] = apply_act,
};

static void apply(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    struct tune_event said[TUNE_FORM_MOST];
    size_t count = tune_form_read(state, event, said);
    for (size_t i = 0; i < count; i++)
        if (events[said[i].is])
            events[said[i].is](state, &said[i], wall_ms);
}

void tune_state_apply_read(struct tune_state *state, int64_t seq, int64_t wall_ms,
                           const struct tune_event_said *said) {
    state->seq = seq;
    tune_budget_clock(state, said->event.is, wall_ms);
    if (said->event.is == TUNE_EVENT_DECIDED || said->event.is == TUNE_EVENT_ACT)
        state->own->decided_seq = seq;
    if (said->is_read)
        apply(state, &said->event, wall_ms);
}

void tune_state_apply(struct tune_state *state, int64_t seq, int64_t wall_ms, const char *type,
                      const char *payload) {
    struct tune_event_said said = tune_event_hear(state->own->scratch, type, payload);
    tune_state_apply_read(state, seq, wall_ms, &said);
    arena_reset(state->own->scratch);
}
