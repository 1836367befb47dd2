/* SPDX-License-Identifier: Apache-2.0 */
/* Events in and out: what happens is written down, applied to the state and told to those who
 * listen. */
#include <stdio.h>
#include <stdlib.h>

#include "loop/loop.h"
#include "tune/apply/apply.h"
#include "tune/session/inner.h"
#include "tune/read/read.h"

/* ------------------------------------------------------------------------------------- events */

void tune_trouble_set(struct tune_session *session, const char *text) {
    char *old = session->trouble;
    session->trouble = mem_strdup(text);
    session->state->trouble = session->trouble;
    free(old);
}

struct told {
    const char *what, *text; /* NULL: there is none */
    const char *level;
};

/* Tells people the milestones and every log line; false for an event that they are not told of. */
static bool told_of(const struct tune_event *event, struct told *told) {
    *told = (struct told){.level = "info"};
    switch (event->is) {
    case TUNE_EVENT_LOG:
        *told = (struct told){event->log.phase, event->log.text, tune_level_word(event->log.level)};
        return true;
    case TUNE_EVENT_DIAGNOSTIC: told->text = event->diagnostic.message; return true;
    case TUNE_EVENT_STEP_END:
        told->what = tune_step_word(event->step_end.step);
        told->text = event->step_end.summary;
        return true;
    case TUNE_EVENT_STOP: told->text = event->stop.text; return true;
    case TUNE_EVENT_PAUSE: told->text = event->pause.text; return true;
    case TUNE_EVENT_DECIDED: told->text = event->decided.reason; return true;
    case TUNE_EVENT_PLAN_FAILED: told->text = event->plan_failed.text; return true;
    case TUNE_EVENT_ACT:
        told->what = event->act.step ? event->act.step : event->act.action;
        told->text = event->act.text;
        return true;
    default: return false;
    }
}

static void log_write(struct tune_session *session, const struct tune_event *event) {
    struct told told;
    struct buf line = {0};
    if (!told_of(event, &told))
        return;
    buf_printf(&line, "%s%s%s: %s", tune_event_type(event->is), told.what ? " " : "",
               told.what ? told.what : "", told.text ? told.text : "");
    for (size_t c = 0; c < line.len; c++)
        if ((unsigned char)line.at[c] < ' ' || line.at[c] == 127)
            line.at[c] = ' ';
    store_log(session->store, told.level, line.at);
    buf_free(&line);
}

bool tune_emit(struct tune_session *session, int lane, const struct tune_event *event) {
    const char *type = tune_event_type(event->is);
    int64_t seq = 0, now = loop_wall_ms(session->loop);
    struct err err = {0};
    struct buf json = {0};
    tune_event_write(event, tune_lane_tag(session->state, lane), &json);
    bool ok = !session->halted && store_append(session->store, now, type, json.at, &seq, &err);
    if (ok) {
        log_write(session, event);
        tune_state_apply(session->state, seq, now, type, json.at);
        if (session->on_event)
            session->on_event(session->event_context, seq, type, json.at);
    } else if (!session->halted) {
        session->halted = true;
        session->state->is_lost = store_is_lost(session->store);
        tune_trouble_set(session, err.text);
    }
    buf_free(&json);
    if (session->changed)
        session->changed(session->changed_context);
    return ok;
}

bool tune_emit_log(struct tune_session *session, int lane, enum tune_level level, const char *phase,
                   const char *format, ...) {
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    bool ok = tune_emit(
        session, lane,
        TUNE_EVENT(LOG, log, .attempt = -1, .level = level, .phase = phase, .text = text.at));
    buf_free(&text);
    return ok;
}

/* -------------------------------------------------------------------------------------- steps */

void tune_advance(struct tune_session *session) {
    session->driver->advance(session);
}

void tune_step_done(struct tune_session *session, int lane, enum tune_step step,
                    enum tune_step_is is, const char *format, ...) {
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    session->driver->step_done(session, lane, step, is, text.at);
    buf_free(&text);
}

void tune_step_progress(const struct tune_work *work, const char *doing, double done,
                        double total) {
    tune_emit(work->session, work->lane,
              TUNE_EVENT(PROGRESS, progress, .step = work->step, .doing = doing, .done = done,
                         .total = total));
}

static void summary_emit(struct tune_session *session, int lane, const char *why) {
    const struct tune_state *state = session->state;
    if (session->halted || session->unread || state->opening || state->read_only)
        return;
    struct arena *arena = arena_new();
    struct tune_event event = {.is = TUNE_EVENT_SUMMARY,
                               .summary = tune_summary_tell(session->state, why, arena)};
    tune_emit(session, lane, &event);
    arena_free(arena);
}

void tune_session_summarise(struct tune_session *session, const char *why) {
    summary_emit(session, TUNE_ALL_LANES, why);
}

void tune_stop(struct tune_session *session, int lane, const char *format, ...) {
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    if (tune_emit(session, lane, TUNE_EVENT(STOP, stop, .text = text.at)))
        summary_emit(session, lane, NULL);
    buf_free(&text);
}

void tune_give_up(struct tune_session *session, int lane, bool for_good, const char *format, ...) {
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    const struct tune_event *event =
        for_good ? TUNE_EVENT(STOP, stop, .text = text.at, .environment = true)
                 : TUNE_EVENT(PAUSE, pause, .text = text.at, .environment = true);
    if (tune_emit(session, lane, event) && session->state->finished)
        summary_emit(session, lane, NULL);
    buf_free(&text);
}

/* ------------------------------------------------------------------------------------ outside */

void tune_session_on_change(struct tune_session *session, void (*changed)(void *), void *context) {
    session->changed = changed;
    session->changed_context = context;
}

void tune_session_on_opened(struct tune_session *session,
                            void (*opened)(void *, const struct err *err), void *context) {
    session->opened = opened;
    session->opened_context = context;
}

void tune_session_on_event(struct tune_session *session,
                           void (*event)(void *, int64_t, const char *, const char *),
                           void *context) {
    session->on_event = event;
    session->event_context = context;
}

const struct tune_state *tune_session_state(const struct tune_session *session) {
    return session->state;
}

const char *tune_session_folder(const struct tune_session *session) {
    return store_folder(session->store);
}

const char *tune_session_proposer(const struct tune_session *session) {
    return session->proposer ? session->proposer->name : NULL;
}

const char *tune_session_note(const struct tune_session *session) {
    return store_note(session->store);
}

/* Whether the log says the same: what stays as it is from one start to the next is told each time,
 * but written down once. */
static bool was_noted(const struct tune_state *state, const char *text) {
    for (size_t i = state->logs.len; i > 0; i--)
        if (!strcmp(state->logs.at[i - 1].phase, "session") &&
            !strcmp(state->logs.at[i - 1].text, text))
            return true;
    return false;
}

void tune_note(struct tune_session *session, const char *format, ...) {
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    if (!was_noted(session->state, text.at))
        tune_emit_log(session, TUNE_ALL_LANES, TUNE_LEVEL_WARNING, "session", "%s", text.at);
    buf_printf(&session->notes, "%s\n", text.at);
    buf_free(&text);
}

char *tune_session_notes(struct tune_session *session) {
    return session->notes.len ? buf_take(&session->notes) : NULL;
}

char *tune_session_artefact(const struct tune_session *session, const char *hash, struct err *err) {
    return store_artefact_read(session->store, hash, NULL, err);
}
