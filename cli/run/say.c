/* SPDX-License-Identifier: Apache-2.0 */
/* What happens, as it happens: a log for people, or one JSON event for each line. */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "cli/run/private.h"

void run_line(struct run *run, struct buf *line) {
    struct buf safe = {0};
    if (run->json)
        text_json(&safe, buf_str(line));
    else
        text_sanitise(&safe, buf_str(line));
    buf_putc(&safe, '\n');
    fwrite(safe.at, 1, safe.len, stdout);
    /* Nobody reads any more, so it ends as if it was interrupted. */
    if (fflush(stdout) != 0 && !run->interrupted) {
        run->interrupted = true;
        run->end = "nobody reads the output any more";
        loop_stop(run->loop);
    }
    buf_free(&safe);
    buf_free(line);
}

/* Prints which of several lanes an event is about: "#7", or "lane 3" before it has a number. `lane`
 * -1: all. */
static void who_print(const struct tune_state *state, int lane, int attempt, struct buf *out) {
    char who[24] = "";
    if (!state->way->numbered && !tune_search_is_wide(state))
        return;
    if (attempt < 0)
        attempt = tune_lane_attempt(state, lane);
    if (attempt >= 0)
        snprintf(who, sizeof who, "#%d", attempt);
    else if (lane >= 0)
        snprintf(who, sizeof who, "lane %d", lane + 1);
    buf_printf(out, "%-7s ", who);
}

static void say_of(struct run *run, int lane, int attempt, const char *what, const char *text) {
    struct buf line = {0};
    const struct tune_state *state = tune_session_state(run->session);
    time_t now = time(NULL);
    struct tm parts;
    char when[16] = "";
    if (localtime_r(&now, &parts))
        strftime(when, sizeof when, "%H:%M:%S", &parts);
    buf_printf(&line, "%s  round %-3d ", when, state->round);
    who_print(state, lane, attempt, &line);
    buf_printf(&line, "%-10s %s", what, text ? text : "");
    run_line(run, &line);
}

void run_say(struct run *run, const char *what, const char *text) {
    say_of(run, -1, -1, what, text);
}

static void say_log(struct run *run, const struct tune_event *event) {
    const struct tune_event_log *log = &event->log;
    if (log->level < TUNE_LEVELS && log->level != TUNE_LEVEL_DEBUG)
        say_of(run, event->lane, log->attempt, log->phase, log->text);
}

static void say_diagnostic(struct run *run, const struct tune_event *event) {
    const struct tune_event_diagnostic *diag = &event->diagnostic;
    struct buf text = {0};
    buf_puts(&text, diag->file ? diag->file : "kernel");
    if (diag->line > 0) /* some are about the whole kernel */
        buf_printf(&text, ":%d", diag->line);
    buf_printf(&text, ": %s: %s", diag->severity ? diag->severity : "note",
               diag->message ? diag->message : "");
    say_of(run, event->lane, diag->attempt, "check", text.at);
    buf_free(&text);
}

static void say_step(struct run *run, const struct tune_event *event) {
    enum tune_step_is is = event->step_end.is;
    if (is < TUNE_STEP_STATES && is != TUNE_IS_SKIPPED)
        run_say(run, tune_step_word(event->step_end.step), event->step_end.summary);
}

/* Plans are reported when all lanes have theirs. */
static void say_lane_end(struct run *run, const struct tune_event *event) {
    const struct tune_event_lane_end *end = &event->lane_end;
    bool told = end->is < TUNE_STEP_STATES && end->is != TUNE_IS_SKIPPED &&
                end->step < TUNE_STEPS && end->step != TUNE_STEP_PLAN;
    if (told && end->summary && *end->summary)
        say_of(run, event->lane, -1, tune_step_word(end->step), end->summary);
}

/* From here on its lines have the number of the attempt. */
static void say_attempt(struct run *run, const struct tune_event *event) {
    int lane = event->lane, repairs = event->attempt.repairs;
    const struct tune_plan *plan = tune_lane_plan(tune_session_state(run->session), lane);
    struct buf text = {0};
    if (lane < 0)
        return;
    buf_printf(&text, "lane %d: %s", lane + 1, plan && plan->title ? plan->title : "-");
    if (repairs > 0)
        buf_printf(&text, ", repair %d", repairs);
    say_of(run, lane, event->attempt.attempt, "verify", text.at);
    buf_free(&text);
}

static void say_assigned(struct run *run, const struct tune_event *event) {
    const struct tune_state *state = tune_session_state(run->session);
    (void)event;
    for (size_t i = 0; i < state->lanes.len; i++) {
        const struct tune_lane *lane = &state->lanes.at[i];
        const struct tune_plan *plan = tune_lane_plan(state, (int)i);
        struct buf text = {0};
        if (lane->step != TUNE_STEP_PLAN)
            continue;
        buf_printf(&text, "of #%d: %s", lane->parent,
                   lane->closed          ? lane->closed
                   : plan && plan->title ? plan->title
                                         : "-");
        say_of(run, (int)i, -1, "plan", text.at);
        buf_free(&text);
    }
}

static void say_stop(struct run *run, const struct tune_event *event) {
    run_say(run, "stop", event->stop.text);
}

static void say_pause(struct run *run, const struct tune_event *event) {
    run_say(run, "stop", event->pause.text);
}

static void say_lines(struct run *run, const char *what, const char *text) {
    struct str rest = str_of(text), line;
    while (str_next(&rest, '\n', &line)) {
        struct buf copy = {0};
        buf_add(&copy, line.at, line.len);
        run_say(run, what, copy.at ? copy.at : "");
        buf_free(&copy);
    }
}

void run_say_changes(struct run *run) {
    const struct tune_state *state = tune_session_state(run->session);
    for (size_t i = 0; i < state->changed.len; i++) {
        const struct tune_file_change *file = &state->changed.at[i];
        struct buf text = {0};
        buf_printf(&text, "%s %s", file->name,
                   !file->was   ? "is new"
                   : !file->now ? "is gone"
                                : "changed on disk");
        run_say(run, "files", text.at);
        say_lines(run, "files", file->diff ? file->diff : "");
        buf_free(&text);
    }
}

static void say_changed(struct run *run, const struct tune_event *event) {
    (void)event;
    run_say_changes(run);
}

static void count_print(struct buf *out, double count, const char *what) {
    if (isnan(count))
        buf_printf(out, ", tokens %s not reported", what);
    else
        buf_printf(out, ", %.0f tokens %s", count, what);
}

/* The question with the number that an event names; -1: the last one. NULL: there is none. */
static const struct tune_call *call_of(const struct run *run, int number) {
    const struct tune_state *state = tune_session_state(run->session);
    size_t at = number >= 0 ? (size_t)number : state->calls.len - 1;
    return at < state->calls.len ? &state->calls.at[at] : NULL;
}

static void say_asked(struct run *run, const struct tune_event *event) {
    const struct tune_call *call = call_of(run, -1);
    struct buf text = {0};
    (void)event;
    if (!call)
        return;
    buf_printf(&text, "asks %s, about %.0f tokens", call->model, call->estimate);
    if (call->hold_tokens > 0) {
        buf_puts(&text, "; with the answer up to ");
        tune_budget_print(&text, TUNE_BUDGET_TOKENS, call->hold_tokens);
        buf_puts(&text, isnan(call->hold_dollars) ? ", dollars not known" : ", ");
        if (!isnan(call->hold_dollars))
            tune_budget_print(&text, TUNE_BUDGET_DOLLARS, call->hold_dollars);
    }
    say_of(run, call->lane, -1, call->role, text.at);
    buf_free(&text);
}

static void say_answered(struct run *run, const struct tune_event *event) {
    const struct tune_call *call = call_of(run, event->answered.call);
    struct buf text = {0};
    if (!call)
        return;
    buf_printf(&text, "%s%s", call->model, call->failure ? ": " : "");
    buf_puts(&text, call->failure ? call->failure : "");
    count_print(&text, call->input, "in");
    count_print(&text, call->output, "out");
    if (isnan(call->dollars))
        buf_puts(&text, ", cost not reported");
    else
        buf_printf(&text, ", $%.4f", call->dollars);
    if (!isnan(call->elapsed_s))
        buf_printf(&text, ", %.1f s", call->elapsed_s);
    say_of(run, call->lane, -1, call->role, text.at);
    buf_free(&text);
}

typedef void say_fn(struct run *run, const struct tune_event *event);
static say_fn *const told[TUNE_EVENTS] = {
    [TUNE_EVENT_LOG] = say_log,         [TUNE_EVENT_DIAGNOSTIC] = say_diagnostic,
    [TUNE_EVENT_STEP_END] = say_step,   [TUNE_EVENT_LANE_END] = say_lane_end,
    [TUNE_EVENT_ATTEMPT] = say_attempt, [TUNE_EVENT_LANES_ASSIGN] = say_assigned,
    [TUNE_EVENT_ASKED] = say_asked,     [TUNE_EVENT_ANSWERED] = say_answered,
    [TUNE_EVENT_CHANGED] = say_changed, [TUNE_EVENT_STOP] = say_stop,
    [TUNE_EVENT_PAUSE] = say_pause};

static void event_json(struct run *run, int64_t seq, const char *type, const char *json) {
    struct buf line = {0};
    buf_printf(&line, "{\"event\":\"%s\",\"seq\":%lld%s%s", type, (long long)seq,
               json[1] == '}' ? "" : ",", json + 1);
    run_line(run, &line);
}

void run_on_event(void *data, int64_t seq, const char *type, const char *json) {
    struct run *run = data;
    struct tune_event event;
    if (run->json) {
        event_json(run, seq, type, json);
        return;
    }
    struct arena *arena = arena_new();
    if (tune_event_read(arena, type, json, &event) && told[event.is])
        told[event.is](run, &event);
    arena_free(arena);
}
