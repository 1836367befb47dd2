/* SPDX-License-Identifier: Apache-2.0 */
/* The state as a function of the event log: one function an event, chosen by a table. Nothing here
 * starts, asks or writes anything, and nothing reads a clock: the same log gives the same state. */
#include <math.h>
#include <stdlib.h>

#include "nki/nki.h"
#include "tune/state/memory.h"
#include "tune/state/inner.h"
#include "tune/state/sweep.h"

typedef void apply_fn(struct tune_state *state, const cJSON *payload, int64_t wall_ms);

static void text_set(struct tune_state *state, const cJSON *payload, const char *key,
                     const char **field) {
    const char *text = tune_json_text(payload, key);
    if (text)
        *field = tune_keep(state, text);
}

struct tune_attempt *tune_attempt_of(struct tune_state *state, const cJSON *payload) {
    int id = tune_json_int(payload, "attempt", -1);
    return id >= 0 && (size_t)id < state->attempts.len ? &state->attempts.at[id] : NULL;
}

static int lane_of(const struct tune_state *state, const cJSON *payload) {
    return tune_lane_meant(state, tune_json_int(payload, "lane", -1));
}

/* ---------------------------------------------------------------- what is tuned, and how */

static void seeds_set(struct tune_state *state, const cJSON *seeds) {
    if (!cJSON_IsArray(seeds))
        return;
    state->seeds.len = 0;
    const cJSON *seed;
    cJSON_ArrayForEach(seed, seeds) if (cJSON_IsNumber(seed) && fabs(seed->valuedouble) < 9e18) *
        vec_push(&state->seeds) = (int64_t)seed->valuedouble;
}

static void origins_set(struct tune_state *state, const cJSON *origins) {
    const cJSON *item;
    cJSON_ArrayForEach(item, origins) {
        const char *text = cJSON_GetStringValue(item);
        struct tune_origin *origin = NULL;
        for (size_t i = 0; i < state->origins.len; i++)
            if (!strcmp(state->origins.at[i].name, item->string))
                origin = &state->origins.at[i];
        if (!origin) {
            origin = vec_push(&state->origins);
            origin->name = tune_keep(state, item->string);
        }
        origin->text = tune_keep(state, text);
    }
}

static void apply_session(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    const struct {
        const char *key;
        const char **field;
    } texts[] = {
        {"id", &state->id},
        {"task", &state->task},
        {"kernel", &state->kernel_path},
        {"reference", &state->reference_path},
        {"function", &state->function},
        {"source", &state->kernel_source},
        {"model", &state->model},
        {"reference_source", &state->reference_source},
        {"precision", &state->precision},
        {"target", &state->target},
        {"device", &state->device},
        {"proposer", &state->proposer},
        {"search", &state->search},
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        text_set(state, payload, texts[i].key, texts[i].field);
    double tolerance = tune_json_number(payload, "tolerance");
    if (!isnan(tolerance))
        state->tolerance = tolerance;
    double keep = tune_json_number(payload, "menu_keep");
    if (!isnan(keep))
        state->menu_keep = keep;
    const char *names = tune_json_text(payload, "seed_names");
    if (names)
        state->allows_seed = !strcmp(names, "yes");
    seeds_set(state, tune_json_at(payload, "seeds"));
    const cJSON *origins = tune_json_at(payload, "origins");
    if (cJSON_IsObject(origins))
        origins_set(state, origins);
    const cJSON *width = tune_json_at(payload, "width");
    if (width)
        state->width = (struct tune_width){MAX_OF(tune_json_int(width, "parents", 1), 1),
                                           MAX_OF(tune_json_int(width, "plans", 1), 1),
                                           MAX_OF(tune_json_int(width, "rewrites", 1), 1)};
    state->rounds = tune_json_int(payload, "rounds", state->rounds);
    state->budgets[TUNE_BUDGET_ROUNDS].limit = state->rounds;
    tune_limits_note(state, tune_json_at(payload, "limits"));
    const cJSON *gate;
    cJSON_ArrayForEach(gate, tune_json_at(payload, "gates")) {
        enum tune_step step;
        if (tune_step_find(gate->string, &step))
            tune_gate_find(cJSON_GetStringValue(gate), &state->steps[step].gate);
    }
    if (state->started_ms)
        return;
    state->started_ms = wall_ms;
    if (!state->id) { /* a session of an older version */
        struct hash hash = hash_content(&wall_ms, sizeof wall_ms);
        state->id = tune_keep(state, hash.hex);
    }
    tune_wait_set(state, TUNE_WAIT_PAUSED, "not started yet");
}

/* A process that opened the session again: what ran when the last one ended begins again. */
static void apply_resumed(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    (void)payload;
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

static void apply_round(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    (void)wall_ms;
    state->round = tune_json_int(payload, "round", state->round + 1);
    state->own->round_over = false;
    tune_lanes_clear(state);
    tune_steps_rewind(state, TUNE_STEP_PROFILE);
    state->plans.len = 0;
    tune_wait_set(state, TUNE_WAIT_NOTHING, NULL);
}

static void apply_step(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    enum tune_step step;
    if (!tune_step_find(tune_json_text(payload, "step"), &step))
        return;
    tune_steps_rewind(state, step);
    state->steps[step].is = TUNE_IS_RUNNING;
    state->steps[step].started_ms = wall_ms;
    state->waiting = (struct tune_waiting){0};
    state->own->waited_ms = 0;
    tune_lanes_step(state, payload, step);
    tune_wait_set(state, TUNE_WAIT_NOTHING, NULL);
}

static void apply_progress(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    (void)wall_ms;
    enum tune_step step;
    if (tune_lane_progress(state, payload) ||
        !tune_step_find(tune_json_text(payload, "step"), &step))
        return;
    state->steps[step].doing = tune_keep(state, tune_json_text(payload, "doing"));
    state->steps[step].done = tune_json_number(payload, "done");
    state->steps[step].total = tune_json_number(payload, "total");
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

static void apply_step_end(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    enum tune_step step;
    if (!tune_step_find(tune_json_text(payload, "step"), &step))
        return;
    struct tune_step_view *view = &state->steps[step];
    state->step = step;
    view->is = TUNE_IS_OK;
    tune_step_is_find(tune_json_text(payload, "is"), &view->is);
    view->summary = tune_keep(state, tune_json_text(payload, "summary"));
    view->artefact = tune_keep(state, tune_json_text(payload, "artefact"));
    view->doing = NULL;
    view->done = view->total = NAN;
    view->ended_ms = wall_ms;
    tune_lanes_step_end(state, step);
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
static void apply_round_end(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    (void)payload, (void)wall_ms;
    const struct tune_attempt *best = tune_state_attempt(state, state->incumbent);
    bool gain = best && best->id > 0 && best->round == state->round;
    if (state->own->round_over)
        return;
    state->own->round_over = true;
    int counts = !tune_sweep_goes_on(state); /* all of a sweep is one round */
    state->plateau = gain ? 0 : state->plateau + counts;
    state->budgets[TUNE_BUDGET_ROUNDS].spent += counts;
}

static void apply_stop(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    (void)wall_ms;
    state->running = false;
    state->finished = true;
    tune_outages_forget(state);
    for (int i = 0; i < TUNE_STEPS; i++)
        if (state->steps[i].is == TUNE_IS_RUNNING)
            tune_step_reset(&state->steps[i]);
    state->stopped_by_environment = tune_json_bool(payload, "environment");
    tune_wait_set(state, TUNE_WAIT_STOPPED, tune_json_text(payload, "text"));
}

/* The loop itself pauses: the target or the proposer could not do its part. `again`: what the step
 * did so far counts no longer. */
static void apply_pause(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    (void)wall_ms;
    state->running = false;
    tune_outages_forget(state);
    if (tune_json_bool(payload, "again")) {
        tune_steps_rewind(state, state->step);
        tune_lanes_rest(state);
    }
    state->stopped_by_environment = tune_json_bool(payload, "environment");
    if (state->wait == TUNE_WAIT_NOTHING)
        tune_wait_set(state, TUNE_WAIT_PAUSED, tune_json_text(payload, "text"));
}

/* ------------------------------------------------------------------- plans and candidates */

static void apply_plans(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    (void)wall_ms;
    int lane = lane_of(state, payload);
    if (!state->several)
        state->plans.len = 0;
    const cJSON *plan;
    cJSON_ArrayForEach(plan, tune_json_at(payload, "plans")) {
        struct tune_plan *place = vec_push(&state->plans);
        tune_plan_read(state, plan, place);
        place->revised = state->own->revise;
        place->lane = tune_lane_tag(state, lane);
    }
    if (state->several) /* they are given to the lanes when all have answered */
        return;
    state->lanes.at[lane].plan = state->plans.len ? 0 : -1;
    if (state->plans.len)
        state->own->revise = false;
}

static void apply_candidate(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    (void)wall_ms;
    const char *source = tune_json_text(payload, "source");
    if (!source)
        return;
    int number = lane_of(state, payload), next = state->several ? -1 : (int)state->attempts.len;
    struct tune_lane *lane = &state->lanes.at[number];
    lane->candidate.parent = tune_json_int(payload, "parent", tune_lane_parent(state, number));
    lane->candidate.repair = tune_json_int(payload, "repair", 0);
    lane->candidate.attempt = lane->attempt > 0 ? lane->attempt : next;
    lane->candidate.edited = false;
    tune_candidate_set(state, number, source, tune_json_text(payload, "author"));
}

/* A plan that never became an attempt because the proposer could not carry it out. */
static void apply_plan_failed(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    (void)wall_ms;
    int lane = lane_of(state, payload);
    const struct tune_plan *plan = tune_lane_plan(state, lane);
    struct tune_rejection row = {
        .round = state->round,
        .attempt = -1,
        .step = TUNE_STEP_REWRITE,
        .by_loop = true,
        .title = plan ? plan->title : NULL,
        .key = plan ? plan->key : NULL,
        .reason = tune_keep(state, tune_json_text(payload, "text")),
    };
    tune_rejection_add(state, lane, row);
}

/* ------------------------------------------------------------------------------- attempts */

static void attempt_clear(struct tune_attempt *attempt) {
    attempt->samples.len = attempt->parent_samples.len = attempt->seeds.len = 0;
    attempt->metrics.len = attempt->lines.len = attempt->bounds.len = 0;
    attempt->verdict = (struct tune_verdict){0};
    attempt->latency_us = attempt->floor_us = attempt->speedup = attempt->vs_parent = NAN;
    attempt->modelled_us = NAN;
    attempt->prediction = (struct tune_prediction){0};
    attempt->interval.ratio = attempt->interval.low = attempt->interval.high = NAN;
    attempt->interval.seen = NAN;
    attempt->confirmed = false;
    attempt->instructions = 0;
    attempt->bound_by = attempt->timeline = attempt->reason = NULL;
    attempt->status = TUNE_STATUS_OPEN;
}

static struct tune_attempt *attempt_place(struct tune_state *state, int id) {
    if (id >= 0 && (size_t)id < state->attempts.len)
        return &state->attempts.at[id];
    struct tune_attempt *attempt = vec_push(&state->attempts);
    *attempt = (struct tune_attempt){.id = (int)state->attempts.len - 1};
    return attempt;
}

/* A new attempt, or a repair turn of one that is open: then it starts over with the new source. */
static void apply_attempt(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    const char *source = tune_json_text(payload, "source");
    if (!source)
        return;
    struct tune_attempt *attempt = attempt_place(state, tune_json_int(payload, "attempt", -1));
    attempt_clear(attempt);
    /* What was found in an earlier turn is no longer about the source of this attempt. */
    for (size_t i = 0; i < state->diagnostics.len; i++)
        if (state->diagnostics.at[i].attempt == attempt->id)
            state->diagnostics.at[i].attempt = -1;
    attempt->parent = MIN_OF(tune_json_int(payload, "parent", -1), attempt->id - 1);
    attempt->round = tune_json_int(payload, "round", state->round);
    attempt->repairs = tune_json_int(payload, "repairs", 0);
    attempt->started_ms = wall_ms;
    attempt->ended_ms = 0;
    attempt->source = tune_keep(state, source);
    attempt->author = tune_keep(state, tune_json_text(payload, "author"));
    attempt->path = tune_keep(state, tune_json_text(payload, "path"));
    struct hash hash = hash_content(source, strlen(source));
    memcpy(attempt->hash, hash.hex, sizeof attempt->hash);
    hash = nki_source_hash(str_of(source));
    memcpy(attempt->normal, hash.hex, sizeof attempt->normal);
    const cJSON *plan = tune_json_at(payload, "plan");
    if (plan)
        tune_plan_read(state, plan, &attempt->plan);
    struct tune_lane *lane = &state->lanes.at[lane_of(state, payload)];
    lane->attempt = lane->candidate.attempt = attempt->id;
}

/* The evaluation that runs was begun again from the start: what it said before does not count. */
static void apply_anew(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    (void)wall_ms;
    struct tune_attempt *attempt = tune_attempt_of(state, payload);
    if (!attempt)
        return;
    if (!tune_json_bool(payload, "goes_on"))
        attempt->heard = 0;
    attempt->samples.len = attempt->parent_samples.len = 0;
    if (tune_json_bool(payload, "seeds"))
        attempt->seeds.len = 0;
}

/* An evaluation on a host begins, or hone was killed and takes up the same one again. */
static void apply_evaluate(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    (void)wall_ms;
    int occasion = tune_json_int(payload, "occasion", 0);
    struct tune_attempt *attempt = tune_attempt_of(state, payload);
    if (!attempt)
        return;
    if (occasion != attempt->occasion)
        attempt->heard = 0;
    attempt->occasion = occasion;
    attempt->samples.len = attempt->parent_samples.len = 0;
}

static void apply_settled(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    (void)wall_ms;
    struct tune_attempt *attempt = tune_attempt_of(state, payload);
    if (attempt)
        attempt->evaluated++;
}

static void apply_seed(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    (void)wall_ms;
    struct tune_attempt *attempt = tune_attempt_of(state, payload);
    if (!attempt)
        return;
    struct tune_seed seed = {.seed = tune_json_int64(payload, "seed", 0),
                             .rel_l2 = tune_json_number(payload, "rel_l2"),
                             .max_abs = tune_json_number(payload, "max_abs"),
                             .passed = tune_json_bool(payload, "passed") ? TUNE_ANSWER_YES
                                                                         : TUNE_ANSWER_NO};
    for (size_t i = 0; i < attempt->seeds.len; i++)
        if (attempt->seeds.at[i].seed == seed.seed) {
            attempt->seeds.at[i] = seed;
            return;
        }
    *vec_push(&attempt->seeds) = seed;
}

static void apply_sample(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    (void)wall_ms;
    struct tune_attempt *attempt = tune_attempt_of(state, payload);
    double us = tune_json_number(payload, "us");
    if (!attempt || isnan(us))
        return;
    if (tune_json_bool(payload, "of_parent"))
        *vec_push(&attempt->parent_samples) = us;
    else
        *vec_push(&attempt->samples) = us;
}

static void apply_scored(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    (void)wall_ms;
    struct tune_attempt *attempt = tune_attempt_of(state, payload);
    if (!attempt)
        return;
    tune_answer_find(tune_json_text(payload, "held"), &attempt->plan.held);
    attempt->plan.moved = tune_json_number(payload, "moved");
    int plan = state->lanes.at[lane_of(state, payload)].plan;
    if (plan < 0 || (size_t)plan >= state->plans.len)
        return;
    state->plans.at[plan].held = attempt->plan.held;
    state->plans.at[plan].moved = attempt->plan.moved;
}

static void apply_decided(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    struct tune_attempt *attempt = tune_attempt_of(state, payload);
    if (!attempt)
        return;
    tune_status_find(tune_json_text(payload, "status"), &attempt->status);
    attempt->reason = tune_keep(state, tune_json_text(payload, "reason"));
    attempt->ended_ms = wall_ms;
    if (attempt->status == TUNE_STATUS_KEEP && !state->several)
        state->incumbent = attempt->id;
    tune_state_find_best(state);
}

/* The profile's artefact is in its place. */
static void apply_timeline(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    (void)wall_ms;
    struct tune_attempt *attempt = tune_attempt_of(state, payload);
    if (attempt)
        attempt->timeline = tune_keep(state, tune_json_text(payload, "hash"));
}

/* -------------------------------------------------------------------- log, notes, memory */

static void log_add(struct tune_state *state, struct tune_log log, const char *phase,
                    const char *text) {
    if (state->logs.len >= TUNE_LOG_MAX) {
        size_t gone = TUNE_LOG_MAX / 4;
        for (size_t i = 0; i < gone; i++) {
            free((void *)(uintptr_t)state->logs.at[i].phase);
            free((void *)(uintptr_t)state->logs.at[i].text);
        }
        state->logs.len -= gone;
        state->logs_gone += (int64_t)gone;
        memmove(state->logs.at, state->logs.at + gone, state->logs.len * sizeof *state->logs.at);
    }
    log.phase = mem_strdup(phase ? phase : "");
    log.text = mem_strdup(text ? text : "");
    *vec_push(&state->logs) = log;
}

static void heard_note(struct tune_state *state, const cJSON *payload) {
    struct tune_attempt *attempt = tune_attempt_of(state, payload);
    if (attempt)
        attempt->heard = MAX_OF(attempt->heard, tune_json_int64(payload, "heard", 0));
}

static void apply_log(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    heard_note(state, payload);
    struct tune_log log = {.wall_ms = wall_ms,
                           .level = TUNE_LEVEL_INFO,
                           .diagnostic = -1,
                           .line = tune_json_int(payload, "line", 0),
                           .attempt = tune_json_int(payload, "attempt", -1),
                           .lane = tune_json_int(payload, "lane", -1)};
    tune_level_find(tune_json_text(payload, "level"), &log.level);
    log_add(state, log, tune_json_text(payload, "phase"), tune_json_text(payload, "text"));
}

static enum diag_severity severity_find(const char *word) {
    for (int s = DIAG_ERROR; s <= DIAG_NOTE; s++)
        if (word && !strcmp(word, diag_severity_name((enum diag_severity)s)))
            return (enum diag_severity)s;
    return DIAG_NOTE;
}

static void apply_diagnostic(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    heard_note(state, payload);
    static const enum tune_level levels[] = {[DIAG_ERROR] = TUNE_LEVEL_ERROR,
                                             [DIAG_WARNING] = TUNE_LEVEL_WARNING,
                                             [DIAG_NOTE] = TUNE_LEVEL_INFO};
    struct tune_diagnostic diag = {
        .attempt = tune_json_int(payload, "attempt", -1),
        .severity = severity_find(tune_json_text(payload, "severity")),
        .code = tune_keep(state, tune_json_text(payload, "code")),
        .file = tune_keep(state, tune_json_text(payload, "file")),
        .message = tune_keep(state, tune_json_text(payload, "message")),
        .cause = tune_keep(state, tune_json_text(payload, "class")),
        .line = tune_json_int(payload, "line", 0),
        .column = tune_json_int(payload, "column", 0),
    };
    *vec_push(&state->diagnostics) = diag;
    struct tune_log log = {.wall_ms = wall_ms,
                           .level = levels[diag.severity],
                           .line = diag.line,
                           .attempt = diag.attempt,
                           .lane = tune_json_int(payload, "lane", -1),
                           .diagnostic = (int)state->diagnostics.len - 1};
    struct buf text = {0};
    buf_printf(&text, "%s:%d:%d: %s: %s", diag.file ? path_base(diag.file) : "kernel", diag.line,
               diag.column, diag_severity_name(diag.severity), diag.message ? diag.message : "");
    if (diag.code && diag.code[0])
        buf_printf(&text, " [%s]", diag.code); /* what hone explain takes */
    log_add(state, log, "check", text.at);
    buf_free(&text);
}

static void apply_note(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    (void)wall_ms;
    struct tune_note note = {
        .round = tune_json_int(payload, "round", state->round),
        .attempt = tune_json_int(payload, "attempt", -1),
        .lesson = tune_keep(state, tune_json_text(payload, "lesson")),
        .evidence = tune_keep(state, tune_json_text(payload, "evidence")),
        .plan = tune_keep(state, tune_json_text(payload, "plan")),
    };
    tune_category_find(tune_json_text(payload, "category"), &note.category);
    tune_answer_find(tune_json_text(payload, "held"), &note.held);
    tune_answer_find(tune_json_text(payload, "diagnosis"), &note.diagnosis);
    note.author = tune_keep(state, tune_json_text(payload, "author"));
    *vec_push(&state->notes) = note;
    struct tune_attempt *attempt = tune_attempt_of(state, payload);
    if (attempt)
        *vec_push(&attempt->notes) = (int)state->notes.len - 1;
}

static struct tune_experience experience_read(struct tune_state *state, const cJSON *payload,
                                              int64_t wall_ms) {
    struct tune_experience item = {
        .attempt = tune_json_int(payload, "attempt", -1),
        .against = tune_json_int(payload, "against", -1),
        .title = tune_keep(state, tune_json_text(payload, "title")),
        .summary = tune_keep(state, tune_json_text(payload, "summary")),
        .slow = tune_keep(state, tune_json_text(payload, "slow")),
        .fast = tune_keep(state, tune_json_text(payload, "fast")),
        .applies_to = tune_keep(state, tune_json_text(payload, "applies_to")),
        .family = tune_keep(state, tune_json_text(payload, "family")),
        .generation = tune_keep(state, tune_json_text(payload, "generation")),
        .dialect = tune_keep(state, tune_json_text(payload, "dialect")),
        .source = tune_keep(state, tune_json_text(payload, "source")),
        .key = tune_keep(state, tune_json_text(payload, "key")),
        .evidence = tune_keep(state, tune_json_text(payload, "evidence")),
        .expired = tune_keep(state, tune_json_text(payload, "expired")),
        .recorded_ms = tune_json_int64(payload, "recorded_ms", wall_ms),
        .speedup = tune_json_number(payload, "speedup"),
        .imported = tune_json_bool(payload, "imported"),
        .closed = tune_json_bool(payload, "closed"),
    };
    tune_experience_find(tune_json_text(payload, "is"), &item.is);
    return item;
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

static void apply_experience(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    struct tune_experience item = experience_read(state, payload, wall_ms);
    for (size_t i = 0; i < state->memory.len; i++)
        if (tune_memory_same(&state->memory.at[i], &item)) {
            experience_merge(state, &state->memory.at[i], &item);
            return;
        }
    *vec_push(&state->memory) = item;
}

/* Something that was found since says otherwise, or it is too old. */
static void apply_expired(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    (void)wall_ms;
    int index = tune_json_int(payload, "index", -1);
    if (index < 0 || (size_t)index >= state->memory.len)
        return;
    state->memory.at[index].is = TUNE_EXPERIENCE_EXPIRED;
    state->memory.at[index].expired = tune_keep(state, tune_json_text(payload, "why"));
}

/* A context was sent: the notes and experiences in it count it. */
static void apply_entered(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    (void)wall_ms;
    const cJSON *index;
    cJSON_ArrayForEach(index, tune_json_at(payload, "notes")) {
        double at = cJSON_GetNumberValue(index);
        if (at >= 0 && at < (double)state->notes.len)
            state->notes.at[(size_t)at].entered++;
    }
    cJSON_ArrayForEach(index, tune_json_at(payload, "memory")) {
        double at = cJSON_GetNumberValue(index);
        if (!(at >= 0 && at < (double)state->memory.len))
            continue;
        state->memory.at[(size_t)at].entered++;
        *vec_push(&state->entries) =
            (struct tune_entry){(int)at, state->round, (int)state->calls.len};
    }
}

/* --------------------------------------------------------------------------- imported attempts */

static bool import_is_known(const struct tune_state *state, const struct tune_import *row) {
    const char *const mine[] = {row->agent, row->source, row->name, row->status, row->title};
    for (size_t i = 0; i < state->imports.len; i++) {
        const struct tune_import *other = &state->imports.at[i];
        const char *const its[] = {other->agent, other->source, other->name, other->status,
                                   other->title};
        bool same = other->round == row->round;
        for (size_t k = 0; same && k < COUNT_OF(mine); k++)
            same = !mine[k] || !its[k] ? mine[k] == its[k] : !strcmp(mine[k], its[k]);
        if (same)
            return true;
    }
    return false;
}

static void apply_history(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    (void)wall_ms;
    const cJSON *object;
    cJSON_ArrayForEach(object, tune_json_at(payload, "rows")) {
        struct tune_import row = {.is = TUNE_STATUS_INCONCLUSIVE};
        row.agent = tune_keep(state, tune_json_text(object, "agent"));
        row.source = tune_keep(state, tune_json_text(object, "source"));
        row.name = tune_keep(state, tune_json_text(object, "name"));
        row.parent = tune_keep(state, tune_json_text(object, "parent"));
        row.status = tune_keep(state, tune_json_text(object, "status"));
        row.title = tune_keep(state, tune_json_text(object, "title"));
        row.reason = tune_keep(state, tune_json_text(object, "reason"));
        row.normal = tune_keep(state, tune_json_text(object, "normal"));
        tune_status_find(tune_json_text(object, "is"), &row.is);
        row.round = tune_json_int(object, "round", -1);
        row.latency_us = tune_json_number(object, "latency_us");
        row.speedup = tune_json_number(object, "speedup");
        if (!import_is_known(state, &row))
            *vec_push(&state->imports) = row;
    }
}

static void apply_act(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    (void)wall_ms;
    tune_act_apply(state, payload);
}

static const struct {
    const char *type;
    apply_fn *fn;
} events[] = {
    {"session", apply_session},
    {"resumed", apply_resumed},
    {"round", apply_round},
    {"step", apply_step},
    {"progress", apply_progress},
    {"step_end", apply_step_end},
    {"round_end", apply_round_end},
    {"stop", apply_stop},
    {"pause", apply_pause},
    {"spent", tune_spent_note},
    {"lanes", tune_lanes_apply},
    {"lane", tune_lane_apply},
    {"lane_end", tune_lane_end_apply},
    {"lane_fan", tune_lane_fan_apply},
    {"lanes_assign", tune_lanes_assign_apply},
    {"beam", tune_beam_apply},
    {"plans", apply_plans},
    {"candidate", apply_candidate},
    {"asked", tune_call_asked},
    {"sent", tune_call_sent},
    {"answered", tune_call_answered},
    {"unread", tune_call_unread},
    {"outage", tune_outage_apply},
    {"plan_failed", apply_plan_failed},
    {"attempt", apply_attempt},
    {"anew", apply_anew},
    {"evaluate", apply_evaluate},
    {"settled", apply_settled},
    {"modelled", tune_modelled_apply},
    {"predicted", tune_predicted_apply},
    {"seed", apply_seed},
    {"sample", apply_sample},
    {"measured", tune_measured_apply},
    {"timeline", apply_timeline},
    {"verdict", tune_verdict_apply},
    {"scored", apply_scored},
    {"decided", apply_decided},
    {"log", apply_log},
    {"diagnostic", apply_diagnostic},
    {"note", apply_note},
    {"experience", apply_experience},
    {"expired", apply_expired},
    {"history", apply_history},
    {"entered", apply_entered},
    {"act", apply_act},
};

void tune_state_apply(struct tune_state *state, int64_t seq, int64_t wall_ms, const char *type,
                      const char *payload) {
    state->seq = seq;
    tune_budget_clock(state, type, wall_ms);
    if (!strcmp(type, "decided") || !strcmp(type, "act"))
        state->own->decided_seq = seq;
    cJSON *object = cJSON_Parse(payload);
    for (size_t i = 0; object && i < COUNT_OF(events); i++)
        if (!strcmp(events[i].type, type)) {
            events[i].fn(state, object, wall_ms);
            break;
        }
    cJSON_Delete(object);
}
