/* SPDX-License-Identifier: Apache-2.0 */
/* A session from the outside: events in and out, what a person does, giving up work. Opening is in
 * open.c; which step comes next is in drive.c. */
#include <stdio.h>
#include <stdlib.h>

#include "loop/loop.h"
#include "tune/driver.h"

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
    if (session->lane >= 0 && !cJSON_HasObjectItem(payload, "lane"))
        cJSON_AddNumberToObject(payload, "lane", session->lane);
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

bool tune_session_is_busy(const struct tune_session *session) {
    const struct tune_state *state = session->state;
    if (session->halted || state->read_only)
        return false;
    return tune_works(session) || (state->running && state->wait == TUNE_WAIT_NOTHING);
}

void tune_session_summarise(struct tune_session *session, const char *why) {
    if (!session->halted && !session->state->read_only)
        tune_emit(session, "summary", tune_summary_write(session->state, why));
}

/* ------------------------------------------------------------------------------------ actions */

static bool changes_memory(enum tune_action_kind kind) {
    return kind == TUNE_ACT_APPROVE || kind == TUNE_ACT_REJECT || kind == TUNE_ACT_UNDO ||
           kind == TUNE_ACT_REDO ||
           (kind >= TUNE_ACT_APPROVE_MEMORY && kind <= TUNE_ACT_DELETE_MEMORY);
}

/* Writes again what is derived from attempts whose status the action changed. */
static void changed_export(struct tune_session *session, const enum tune_status *before,
                           size_t count) {
    for (size_t i = 0; i < count && i < session->state->attempts.len; i++)
        if (session->state->attempts.at[i].status != before[i])
            tune_export(session, (int)i);
}

static bool act_store(struct tune_session *session, const struct tune_action *action,
                      struct err *err) {
    const struct tune_state *state = session->state;
    size_t count = state->attempts.len, remembered = state->memory.len;
    enum tune_status *before = mem_alloc(count + 1, sizeof *before);
    for (size_t i = 0; i < count; i++)
        before[i] = state->attempts.at[i].status;
    bool ok = tune_emit(session, "act", tune_act_write(action));
    if (ok)
        changed_export(session, before, count);
    if (ok && remembered && changes_memory(action->kind))
        tune_export_memory(session);
    if (!ok)
        err_set(err, ERR_ENVIRONMENT, "%s", session->trouble);
    free(before);
    return ok;
}

static bool act_do(struct tune_session *session, const struct tune_action *action,
                   struct err *err) {
    bool again = session->halted && action->kind == TUNE_ACT_START && session->state->running;
    session->halted = false;
    session->state->trouble = NULL;
    bool ok = again || act_store(session, action, err);
    if (ok && action->kind == TUNE_ACT_ANSWER && session->proposer->answer)
        session->proposer->answer(session->proposer->self, action->index, str_of(action->text));
    if (ok && action->kind == TUNE_ACT_SEND && session->proposer->send)
        session->proposer->send(session->proposer->self, action->index);
    tune_advance(session);
    return ok;
}

bool tune_session_act(struct tune_session *session, const struct tune_action *action,
                      struct err *err) {
    int lane = tune_enter(session, -1); /* the person looks at one lane, whatever works */
    bool ok = tune_act_check(session->state, action, err) && act_do(session, action, err);
    tune_leave(session, lane);
    return ok;
}
