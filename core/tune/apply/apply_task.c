/* SPDX-License-Identifier: Apache-2.0 */
/* Events about what is tuned: the task and its settings, its files and how they changed. */
#include <math.h>

#include "tune/act/inner.h"
#include "tune/apply/private.h"

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
        {session->release, &state->release},
        {session->tracing, &state->tracing},
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

void apply_session(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    const struct tune_event_session *session = &event->session;
    enum tune_precision before = tune_precision_allowed(state);
    texts_set(state, session);
    if (!isnan(session->tolerance))
        state->tolerance = session->tolerance;
    if (session->seed_names)
        state->allows_seed = !strcmp(session->seed_names, "yes");
    if (session->pessimistic)
        state->is_pessimistic = !strcmp(session->pessimistic, "yes");
    if (session->lnc)
        state->lnc = session->lnc;
    seeds_set(state, &session->seeds);
    origins_set(state, &session->origins);
    search_set(state, session);
    gates_set(state, &session->gates);
    if (state->started_ms) {
        tune_precision_changed(state, before);
        return;
    }
    state->started_ms = wall_ms;
    if (!state->id) { /* a session of an older version */
        struct hash hash = hash_content(&wall_ms, sizeof wall_ms);
        state->id = tune_keep(state, hash.hex);
    }
    tune_wait_set(state, TUNE_WAIT_PAUSED, "not started yet");
}

void apply_offer(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    (void)wall_ms;
    state->offer_us[TUNE_PRECISION_KEEP] = event->offer.keep_us;
    state->offer_us[TUNE_PRECISION_SPLIT] = event->offer.split_us;
    state->offer_us[TUNE_PRECISION_ANY] = event->offer.any_us;
}

/* -------------------------------------------------------------------------- files of the task */

/* What the loop itself could not carry out may work now. What a person rejected stays rejected. */
static void rejections_forget(struct tune_state *state) {
    size_t left = 0;
    for (size_t i = 0; i < state->rejections.len; i++)
        if (!state->rejections.at[i].by_loop)
            state->rejections.at[left++] = state->rejections.at[i];
    state->rejections.len = left;
    tune_rejections_link(state);
}

/* Numbers that were measured with other files say nothing about the files that count now. All
 * begins with the seed kernel again, and no undo leads back behind this. */
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

void apply_closure(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    (void)wall_ms;
    const struct tune_event_closure *closure = &event->closure;
    if (closure->python)
        state->python = tune_keep(state, closure->python);
    if (closure->numpy)
        state->numpy = tune_keep(state, closure->numpy);
    if (closure->sizes)
        state->sizes = tune_keep(state, closure->sizes);
    if (!closure->files.given)
        return;
    state->files.len = state->changed.len = 0;
    for (size_t i = 0; i < closure->files.count; i++) {
        const struct tune_event_task_file *file = &closure->files.at[i];
        if (file->name && file->hash)
            *vec_push(&state->files) =
                (struct tune_task_file){.name = tune_keep(state, file->name),
                                        .hash = tune_keep(state, file->hash),
                                        .of = tune_keep(state, file->of ? file->of : ""),
                                        .left_bytes = MAX_OF(file->left, 0)};
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

void apply_changed(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
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

/* A process opened the session again: what ran when the last one ended begins again. */
void apply_resumed(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
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

/* ------------------------------------------------------------------------- a run of a command */

/* The session's own come back. What was said about the run's is said of the run. */
void apply_run_end(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    (void)event, (void)wall_ms;
    const struct tune_own *kept = &state->own->kept;
    if (!state->by_run)
        return;
    state->by_run = 0;
    state->rounds = kept->rounds;
    for (int i = 0; i < TUNE_BUDGETS; i++)
        state->budgets[i].limit = kept->limits[i];
    for (int i = 0; i < TUNE_STEPS; i++)
        state->steps[i].gate = kept->gates[i];
    if (state->wait != TUNE_WAIT_STOPPED || !state->wait_text)
        return;
    struct buf text = {0};
    buf_printf(&text, "the run is over: %s", state->wait_text);
    tune_wait_set(state, TUNE_WAIT_STOPPED, text.at);
    buf_free(&text);
}

static void own_keep(struct tune_state *state) {
    struct tune_own *kept = &state->own->kept;
    kept->rounds = state->rounds;
    for (int i = 0; i < TUNE_BUDGETS; i++)
        kept->limits[i] = state->budgets[i].limit;
    for (int i = 0; i < TUNE_STEPS; i++)
        kept->gates[i] = state->steps[i].gate;
}

void apply_run(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    const struct tune_by_name *limits = &event->run.limits;
    apply_run_end(state, event, wall_ms); /* one that was killed */
    own_keep(state);
    state->by_run = TUNE_BY_RUN;
    if (event->run.gates.count)
        state->by_run |= TUNE_BY_HAND_GATES;
    gates_set(state, &event->run.gates);
    for (size_t i = 0; i < limits->count; i++) {
        enum tune_budget budget;
        if (tune_budget_find(limits->at[i].name, &budget))
            state->by_run |= (unsigned)TUNE_BY_HAND_BUDGET << budget;
    }
    tune_limits_note(state, limits);
    if (state->by_run & (unsigned)TUNE_BY_HAND_BUDGET << TUNE_BUDGET_ROUNDS)
        state->rounds = (int)state->budgets[TUNE_BUDGET_ROUNDS].limit;
}
