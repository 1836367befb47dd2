/* SPDX-License-Identifier: Apache-2.0 */
/* Events in and out: what happens is written down, applied to the state and told to who listens. */
#include <stdio.h>
#include <stdlib.h>

#include "loop/loop.h"
#include "tune/session/inner.h"
#include "tune/read/read.h"

/* ------------------------------------------------------------------------------------- events */

static void trouble_set(struct tune_session *session, const char *text) {
    char *old = session->trouble;
    session->trouble = mem_strdup(text);
    session->state->trouble = session->trouble;
    free(old);
}

/* The log for people gets the milestones and every log line. */
static void log_write(struct tune_session *session, const char *type, const cJSON *payload) {
    const char *level = tune_json_text(payload, "level"), *text = tune_json_text(payload, "text");
    if (!text)
        text = tune_json_text(payload, "summary");
    if (!text)
        text = tune_json_text(payload, "message");
    if (!text)
        text = tune_json_text(payload, "reason");
    static const char *const told[] = {"log",   "diagnostic", "step_end",    "stop",
                                       "pause", "decided",    "plan_failed", "act"};
    for (size_t i = 0; i < COUNT_OF(told); i++) {
        if (strcmp(type, told[i]) != 0)
            continue;
        struct buf line = {0};
        const char *phase = tune_json_text(payload, "phase");
        const char *step = tune_json_text(payload, "step");
        const char *action = tune_json_text(payload, "action");
        buf_printf(&line, "%s%s%s: %s", type, phase || step || action ? " " : "",
                   phase    ? phase
                   : step   ? step
                   : action ? action
                            : "",
                   text ? text : "");
        for (size_t c = 0; c < line.len; c++)
            if ((unsigned char)line.at[c] < ' ' || line.at[c] == 127)
                line.at[c] = ' ';
        store_log(session->store, level ? level : "info", line.at);
        buf_free(&line);
    }
}

bool tune_emit(struct tune_session *session, const char *type, cJSON *payload) {
    int lane = tune_lane_tag(session->state, session->lane);
    if (lane >= 0 && !cJSON_HasObjectItem(payload, "lane"))
        cJSON_AddNumberToObject(payload, "lane", lane);
    char *json = session->halted ? NULL : cJSON_PrintUnformatted(payload);
    int64_t seq = 0, now = clock_wall_ms();
    struct err err = {0};
    bool ok = json && store_append(session->store, now, type, json, &seq, &err);
    if (ok) {
        tune_state_apply(session->state, seq, now, type, json);
        log_write(session, type, payload);
        if (session->on_event)
            session->on_event(session->event_context, seq, type, json);
    } else if (!session->halted) {
        session->halted = true;
        trouble_set(session, err.text);
    }
    free(json);
    cJSON_Delete(payload);
    if (session->changed)
        session->changed(session->changed_context);
    return ok;
}

bool tune_emit_log(struct tune_session *session, enum tune_level level, const char *phase,
                   const char *format, ...) {
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    cJSON *payload = cJSON_CreateObject();
    tune_json_put_text(payload, "level", tune_level_word(level));
    tune_json_put_text(payload, "phase", phase);
    tune_json_put_text(payload, "text", text.at);
    buf_free(&text);
    return tune_emit(session, "log", payload);
}

/* -------------------------------------------------------------------------------------- steps */

void tune_advance(struct tune_session *session) {
    session->driver->advance(session);
}

void tune_step_done(struct tune_session *session, enum tune_step step, enum tune_step_is is,
                    const char *format, ...) {
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    session->driver->step_done(session, step, is, text.at);
    buf_free(&text);
}

void tune_step_progress(struct tune_session *session, enum tune_step step, const char *doing,
                        double done, double total) {
    cJSON *payload = cJSON_CreateObject();
    tune_json_put_text(payload, "step", tune_step_word(step));
    tune_json_put_text(payload, "doing", doing);
    tune_json_put_number(payload, "done", done);
    tune_json_put_number(payload, "total", total);
    tune_emit(session, "progress", payload);
}

void tune_stop(struct tune_session *session, const char *format, ...) {
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    cJSON *payload = cJSON_CreateObject();
    tune_json_put_text(payload, "text", text.at);
    if (tune_emit(session, "stop", payload))
        tune_session_summarise(session, NULL);
    buf_free(&text);
}

void tune_give_up(struct tune_session *session, const char *type, const char *format, ...) {
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    cJSON *payload = cJSON_CreateObject();
    tune_json_put_text(payload, "text", text.at);
    tune_json_put_bool(payload, "environment", true);
    if (tune_emit(session, type, payload) && session->state->finished)
        tune_session_summarise(session, NULL);
    buf_free(&text);
}

/* ------------------------------------------------------------------------------------ outside */

void tune_session_on_change(struct tune_session *session, void (*changed)(void *), void *context) {
    session->changed = changed;
    session->changed_context = context;
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

char *tune_session_artefact(const struct tune_session *session, const char *hash) {
    return store_artefact_path(session->store, hash);
}

void tune_session_summarise(struct tune_session *session, const char *why) {
    if (!session->halted && !session->state->read_only)
        tune_emit(session, "summary", tune_summary_write(session->state, why));
}
