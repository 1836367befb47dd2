/* SPDX-License-Identifier: Apache-2.0 */
/* Models whose services are out of order, in the log and in the state: since when, how often they
 * were tried, when they are asked again, and what waits for them. What came of a question then is
 * nothing: no plan is closed, nothing is remembered. Who is asked instead is request_again.c's. */
#include <math.h>

#include "tune/driver.h"

#define MOST_TIMES 60 /* the longest pause, in first ones: 5 s becomes 5 min */
#define SPREAD 0.2    /* a pause is so much longer or shorter, so that not all come at once */
#define MOST_DOUBLED 20

/* ----------------------------------------------------------------------------------- the state */

static struct tune_outage *row_of(const struct tune_state *state, const char *model) {
    for (size_t i = 0; model && i < state->outages.len; i++)
        if (!strcmp(state->outages.at[i].model, model))
            return &state->outages.at[i];
    return NULL;
}

const struct tune_outage *tune_outage_of(const struct tune_state *state, const char *model) {
    return row_of(state, model);
}

static int64_t ms_of(const cJSON *payload, const char *key) {
    double seconds = tune_json_number(payload, key);
    return seconds > 0 && seconds < 1e9 ? (int64_t)(seconds * 1000) : 0;
}

static void waiting_set(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    int64_t since_ms = state->waiting.since_ms ? state->waiting.since_ms : wall_ms;
    state->waiting =
        (struct tune_waiting){.role = tune_keep(state, tune_json_text(payload, "role")),
                              .model = tune_keep(state, tune_json_text(payload, "next")),
                              .text = tune_keep(state, tune_json_text(payload, "text")),
                              .step = state->step,
                              .since_ms = since_ms,
                              .next_ms = wall_ms + ms_of(payload, "wait_s")};
}

void tune_outage_apply(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    const char *model = tune_json_text(payload, "model");
    if (!model)
        return;
    struct tune_outage *row = row_of(state, model);
    if (!row) {
        row = vec_push(&state->outages);
        *row = (struct tune_outage){.model = tune_keep(state, model), .since_ms = wall_ms};
    }
    row->kind = tune_keep(state, tune_json_text(payload, "kind"));
    row->text = tune_keep(state, tune_json_text(payload, "text"));
    row->tries = tune_json_int(payload, "tries", row->tries + 1);
    row->last_ms = wall_ms;
    row->next_ms = wall_ms + ms_of(payload, "pause_s");
    if (ms_of(payload, "wait_s"))
        waiting_set(state, payload, wall_ms);
}

static void waiting_end(struct tune_state *state, int64_t wall_ms) {
    if (state->waiting.since_ms)
        state->own->waited_ms += wall_ms - state->waiting.since_ms;
    state->waiting = (struct tune_waiting){0};
}

void tune_outage_over(struct tune_state *state, const char *model, int64_t wall_ms) {
    struct tune_outage *row = row_of(state, model);
    if (row)
        *row = state->outages.at[--state->outages.len];
    waiting_end(state, wall_ms);
}

void tune_outages_forget(struct tune_state *state) {
    state->outages.len = 0;
    state->waiting = (struct tune_waiting){0};
}

const struct tune_waiting *tune_state_waits(const struct tune_state *state) {
    const struct tune_waiting *waiting = &state->waiting;
    bool waits = waiting->since_ms && waiting->next_ms && waiting->step == state->step &&
                 state->steps[state->step].is == TUNE_IS_RUNNING;
    return waits ? waiting : NULL;
}

static void seconds_print(struct buf *out, int64_t ms) {
    tune_amount_print(out, TUNE_BUDGET_WALL_S, ceil((double)(ms > 0 ? ms : 0) / 1000));
}

void tune_waiting_print(const struct tune_waiting *waiting, int64_t now_ms, struct buf *out) {
    buf_printf(out, "waits for %s, ", waiting->model ? waiting->model : "a model");
    seconds_print(out, now_ms - waiting->since_ms);
    buf_puts(out, " so far, next try in ");
    seconds_print(out, waiting->next_ms - now_ms);
    buf_printf(out, ": %s", waiting->text ? waiting->text : "");
}

/* ------------------------------------------------------------------------------------- the log */

double tune_outage_pause(double first_s, int tries, double asked_s) {
    uint64_t now = clock_monotonic_ns();
    double spread = (double)(hash_quick(&now, sizeof now) % 1000) / 1000;
    double pause_s = first_s * pow(2, MIN_OF(MAX_OF(tries - 1, 0), MOST_DOUBLED));
    pause_s = fmin(pause_s, first_s * MOST_TIMES) * (1 - SPREAD + 2 * SPREAD * spread);
    return asked_s > pause_s ? asked_s * (1 + SPREAD / 4 * spread) : pause_s;
}

/* Who is asked instead, or when it is tried again. */
static void news_log(struct tune_reply *reply, const struct tune_outage_news *news) {
    struct buf text = {0};
    buf_printf(&text, "%s; ", news->text);
    if (news->wait_s > 0) {
        buf_printf(&text, "waits, tries %s again in ", news->next);
        tune_amount_print(&text, TUNE_BUDGET_WALL_S, news->wait_s);
    } else {
        buf_printf(&text, "asks %s", news->next);
    }
    tune_emit_log(reply->work.session, TUNE_LEVEL_WARNING, tune_step_word(reply->work.step), "%s",
                  text.at);
    buf_free(&text);
}

void tune_reply_outage(struct tune_reply *reply, const struct tune_outage_news *news) {
    struct tune_session *session = reply->work.session;
    int before = tune_enter(session, reply->work.lane);
    cJSON *payload = cJSON_CreateObject();
    tune_json_put_text(payload, "role", tune_role_word(news->role));
    tune_json_put_text(payload, "model", news->model);
    cJSON_AddNumberToObject(payload, "call", news->call);
    tune_json_put_text(payload, "kind", news->kind);
    tune_json_put_text(payload, "text", news->text);
    cJSON_AddNumberToObject(payload, "tries", news->tries);
    tune_json_put_number(payload, "pause_s", news->pause_s);
    tune_json_put_text(payload, "next", news->next);
    tune_json_put_number(payload, "wait_s", news->wait_s);
    if (tune_emit(session, "outage", payload))
        news_log(reply, news);
    tune_leave(session, before);
}

void tune_reply_paused(struct tune_reply *reply, const char *text) {
    struct tune_session *session = reply->work.session;
    if (reply->done || session->closing)
        return;
    tune_request_end(reply);
    int before = tune_enter(session, -1);
    cJSON *payload = cJSON_CreateObject();
    tune_json_put_text(payload, "text", text);
    tune_json_put_bool(payload, "environment", true);
    tune_json_put_bool(payload, "again", true);
    tune_emit(session, "pause", payload);
    tune_leave(session, before);
    tune_advance(session);
}
