/* SPDX-License-Identifier: Apache-2.0 */
/* The state as a function of the event log: one function an event, chosen by a table. Nothing here
 * starts, asks or writes anything, and nothing reads a clock: the same log gives the same state.
 * The events of the log, of notes, of the memory and of imports are here. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tune/apply/apply.h"

#include "tune/act/inner.h"
#include "tune/apply/private.h"

/* -------------------------------------------------------------------- log, notes, memory */

#define LOG_PART (TUNE_LOG_MAX / TUNE_LOG_PARTS)

/* Where the texts of the line with that number are, counted from the first of the session. */
static struct arena *log_texts(struct tune_state *state, int64_t number) {
    return state->own->log_texts[number / LOG_PART % TUNE_LOG_PARTS];
}

static void logs_go(struct tune_state *state) {
    arena_reset(log_texts(state, state->logs_gone));
    state->logs.len -= LOG_PART;
    state->logs_gone += LOG_PART;
    memmove(state->logs.at, state->logs.at + LOG_PART, state->logs.len * sizeof *state->logs.at);
}

static void log_add(struct tune_state *state, struct tune_log log, const char *phase,
                    const char *text) {
    if (state->logs.len >= TUNE_LOG_MAX)
        logs_go(state);
    int64_t number = state->logs_gone + (int64_t)state->logs.len;
    log.phase = tune_keep(state, phase ? phase : "");
    log.text = arena_strdup(log_texts(state, number), text ? text : "");
    const struct tune_attempt *attempt = tune_state_attempt(state, log.attempt);
    log.turn = attempt ? attempt->source_seq : 0;
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
    struct diag told = {.severity = diag.severity,
                        .file = diag.file ? path_base(diag.file) : "kernel",
                        .message = (char *)(uintptr_t)(diag.message ? diag.message : ""),
                        .line = diag.line,
                        .column = diag.column};
    snprintf(told.code, sizeof told.code, "%s", diag.code ? diag.code : ""); /* for hone explain */
    struct buf text = {0};
    diag_print(&told, &text);
    log_add(state, log, "check", text.at);
    buf_free(&text);
}

static void apply_note(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    (void)wall_ms;
    struct tune_event kept;
    tune_event_copy(&kept, event);
    tune_event_keep(&kept, state->own->texts);
    struct tune_note note = kept.note;
    if (note.round == TUNE_EVENT_NO_INT)
        note.round = state->round;
    *vec_push(&state->notes) = note;
    struct tune_attempt *attempt = tune_attempt_of(state, event->note.attempt);
    if (attempt)
        *vec_push_in(state->arena, &attempt->notes, 1) = (int)state->notes.len - 1;
}

/* The same experience was found again: it is kept once, with more evidence. One that a person
 * deleted stays deleted. */
static void experience_merge(struct tune_state *state, size_t index,
                             const struct tune_experience *item) {
    struct tune_experience *into = &state->memory.at[index];
    char pair[64];
    if (!item->imported && tune_memory_shows(into, item->attempt, item->against)) {
        if (into->is == TUNE_EXPERIENCE_PROPOSED)
            into->speedup = item->speedup;
        return; /* the same attempt, told again or measured again */
    }
    into->merged++;
    if (into->is == TUNE_EXPERIENCE_DELETED)
        return;
    snprintf(pair, sizeof pair, "#%d against #%d", item->attempt, item->against);
    if (item->imported && item->source)
        tune_memory_evidence_add(state, index, str_of(item->source));
    else if (item->attempt >= 0)
        tune_memory_evidence_add(state, index, str_of(pair));
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
    struct tune_event kept;
    tune_event_copy(&kept, event);
    tune_event_keep(&kept, state->own->texts);
    struct tune_experience item = kept.experience;
    if (!item.recorded_ms)
        item.recorded_ms = wall_ms;
    int same = tune_memory_find(state, &item);
    if (same >= 0) {
        experience_merge(state, (size_t)same, &item);
        return;
    }
    *vec_push(&state->memory) = item;
    tune_memory_index(state, state->memory.len - 1);
}

/* Something that was found since says the opposite, or it is too old. */
static void apply_expired(struct tune_state *state, const struct tune_event *event,
                          int64_t wall_ms) {
    (void)wall_ms;
    int index = event->expired.index;
    if (index < 0 || (size_t)index >= state->memory.len)
        return;
    state->memory.at[index].is = TUNE_EXPERIENCE_EXPIRED;
    state->memory.at[index].expired = tune_keep(state, event->expired.why);
}

/* A context was sent: counts it for the notes and experiences in it. */
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
    [TUNE_EVENT_RUN] = apply_run,
    [TUNE_EVENT_RUN_END] = apply_run_end,
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
    [TUNE_EVENT_SUBMITTED] = apply_submitted,
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
    [TUNE_EVENT_PRECISION] = apply_precision,
    [TUNE_EVENT_OFFER] = apply_offer,
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

static void apply(struct tune_state *state, struct tune_event *event, int64_t wall_ms) {
    struct tune_said said;
    size_t count = tune_form_read(state, event, &said);
    for (size_t i = 0; i < count; i++)
        if (events[said.at[i]->is])
            events[said.at[i]->is](state, said.at[i], wall_ms);
}

#define LATEST_MS (INT64_C(1) << 53) /* a log may have any number as a time; sums of these fit */

void tune_state_apply_read(struct tune_state *state, int64_t seq, int64_t wall_ms,
                           struct tune_event_said *said) {
    state->seq = seq;
    wall_ms = MIN_OF(MAX_OF(wall_ms, 0), LATEST_MS);
    tune_budget_clock(state, said->event.is, wall_ms);
    if (said->event.is == TUNE_EVENT_DECIDED || said->event.is == TUNE_EVENT_ACT)
        state->own->decided_seq = seq;
    if (said->is_read)
        apply(state, &said->event, wall_ms);
}

void tune_state_apply(struct tune_state *state, int64_t seq, int64_t wall_ms, const char *type,
                      const char *payload) {
    struct tune_event_said *said =
        tune_event_hear(state->own->scratch, type, payload, state->own->leaves);
    tune_state_apply_read(state, seq, wall_ms, said);
    arena_reset(state->own->scratch);
}
