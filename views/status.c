/* SPDX-License-Identifier: Apache-2.0 */
/* What goes on and what waits for the person: a word for titles, the status line, messages, which
 * never hide either, and what would be left behind when the person quits now. */
#include "views/inner.h"

#include <math.h>
#include <stdio.h>

static const char *spinner(const struct tui_area area, int64_t now_ms) {
    static const char *const ascii[] = {"|", "/", "-", "\\"};
    return area.canvas->ascii ? ascii[now_ms / 100 % 4] : spinner_at(now_ms);
}

/* ---- in a word ------------------------------------------------------------------------------ */

/* Whether a question to a model waits for the person: for an answer, or to be sent. */
static bool asks_person(const struct tune_state *state) {
    return tune_can(state, TUNE_ANY_LANE, TUNE_ACT_ANSWER) ||
           tune_can(state, TUNE_ANY_LANE, TUNE_ACT_SEND);
}

static bool is_running(const struct tune_state *state) {
    return state->steps[state->step].is == TUNE_IS_RUNNING;
}

static enum tui_role put_word(struct buf *out, const char *word, enum tui_role role) {
    buf_puts(out, word);
    return role;
}

/* The word while nothing waits. */
static enum tui_role loop_word(const struct tune_state *state, struct buf *out) {
    bool environment = state->stopped_by_environment;
    if (state->running)
        return put_word(out, "running", TUI_ACTIVE);
    if (is_running(state))
        return put_word(out, "pausing", TUI_WARN);
    if (state->wait == TUNE_WAIT_STOPPED)
        return put_word(out, environment ? "stopped" : "ended", TUI_STRONG);
    return state->round ? put_word(out, "paused", TUI_WARN) : put_word(out, "not started", TUI_DIM);
}

enum tui_role status_word(const struct tune_state *state, struct buf *out) {
    const struct tune_waiting *service = tune_state_waits(state);
    if (state->read_only)
        return put_word(out, "read-only", TUI_DIM);
    if (state->changed.len)
        return put_word(out, "waits for you: files", TUI_WAITING);
    if (state->wait == TUNE_WAIT_GATE) {
        buf_printf(out, "waits for you: %s", tune_step_word(state->wait_step));
        return TUI_WAITING;
    }
    if (asks_person(state))
        return put_word(out, "waits for you: question", TUI_WAITING);
    if (state->trouble)
        return put_word(out, "halted", TUI_BAD);
    if (state->looks_at)
        return put_word(out, "waits for the disk", TUI_WARN);
    if (service) {
        buf_printf(out, "waits for %.40s", service->model ? service->model : "a model");
        return TUI_WARN;
    }
    return loop_word(state, out);
}

enum views_turn views_title(const struct views *views, struct buf *out) {
    const struct tune_state *state = views->state;
    buf_puts(out, "hone");
    if (!state)
        return VIEWS_TURN_UNKNOWN;
    buf_printf(out, ": %s, ", state->task ? state->task : "-");
    if (state->opening) {
        buf_puts(out, "opening");
        return VIEWS_TURN_UNKNOWN;
    }
    bool waits = status_word(state, out) == TUI_WAITING;
    bool ended = state->wait == TUNE_WAIT_STOPPED || state->trouble;
    return waits || (ended && !state->read_only) ? VIEWS_TURN_PERSON : VIEWS_TURN_LOOP;
}

/* ---- the status line ------------------------------------------------------------------------ */

/* What goes on, in one sentence: the step that runs, or what waits for the person. */
static int running_text(struct views *views, struct tui_area area) {
    const struct tune_state *state = views->state;
    const struct tune_step_view *step = &state->steps[state->step];
    int col = tui_say(tui_ink(area, TUI_ACTIVE), 0, 1, "%s %s", spinner(area, views->now_ms),
                      tune_step_word(state->step));
    col = tui_say(area, 0, col + 2, "%s",
                  show_elapsed(step->started_ms ? views->now_ms - step->started_ms : 0).text);
    struct buf waits = {0};
    const struct tune_waiting *service = tune_state_waits(state);
    if (service)
        tune_waiting_print(service, views->now_ms, &waits);
    if (service || place_waits(views, &waits)) {
        col = tui_put_short(tui_ink(area, TUI_WAITING), 0,
                            (struct tui_rect){0, col + 2, 1, area.cols - col - 3}, buf_str(&waits));
        buf_free(&waits);
        return col;
    }
    struct buf asks = {0};
    if (calls_doing(views, &asks))
        col = tui_put_short(asks_person(state) ? tui_ink(area, TUI_WAITING) : area, 0,
                            (struct tui_rect){0, col + 2, 1, area.cols - col - 3}, buf_str(&asks));
    buf_free(&asks);
    if (step->doing)
        col = tui_say(area, 0, col + 2, "%s", step->doing);
    if (isfinite(step->total) && step->total > 0 && isfinite(step->done)) {
        struct tui_rect bar = {0, col + 2, 1, MIN_OF(20, area.cols - col - 12)};
        if (bar.cols > 4) {
            tui_fill(tui_ink(area, TUI_BAR_OTHER), bar, "░");
            tui_chart_bar(tui_area_part(area, bar), step->done / step->total, TUI_BAR);
            col = tui_say(area, 0, col + 3 + bar.cols, "%.0f/%.0f%s", step->done, step->total,
                          lanes_any(views) ? " lanes" : "");
        }
    }
    return col;
}

/* Whether the state of the place is more important than what the loop says. At a gate it is not,
 * and the head has it. */
static bool place_matters(const struct views *views) {
    const struct tune_state *state = views->state;
    const struct target_status *status = place_in_trouble(views) ? state->place->status : NULL;
    if (!status || !status->text[0])
        return false;
    bool connects = status->state == TARGET_CONNECTING && !status->retry_ms;
    return state->wait != TUNE_WAIT_GATE &&
           (!connects || state->steps[state->step].is == TUNE_IS_RUNNING);
}

/* What auto-green does not pass. */
static const char *const not_green[TUNE_STEPS] = {
    [TUNE_STEP_PROFILE] = "auto-green stops: the kernel was not measured",
    [TUNE_STEP_PLAN] = "auto-green stops: there is no plan",
    [TUNE_STEP_REWRITE] = "auto-green stops: there is no kernel to try",
    [TUNE_STEP_VERIFY] = "auto-green stops: it did not pass the check",
    [TUNE_STEP_BENCHMARK] = "auto-green stops: it was not measured",
    [TUNE_STEP_DECIDE] = "auto-green stops: the result is not credible",
    [TUNE_STEP_SUMMARISE] = "auto-green stops: there is no summary",
    [TUNE_STEP_REFLECT] = "auto-green stops: there is no lesson"};

/* Why the loop stops although the gate of the step does not say "ask"; NULL when it does. */
static const char *gate_reason(const struct views *views) {
    const struct tune_state *state = views->state;
    const struct tune_step_view *step = &state->steps[state->wait_step];
    const struct tune_plan *plan = tune_lane_plan(state, views->lane);
    if (step->gate == TUNE_GATE_ASK)
        return NULL;
    if (state->wait_step == TUNE_STEP_PLAN && plan && plan->revised)
        return "you asked for it";
    if (step->gate == TUNE_GATE_AUTO_GREEN && step->is != TUNE_IS_OK)
        return not_green[state->wait_step];
    return "open from the next one on; a goes on now";
}

/* What waits at a gate as it is now, because a person may have changed it since the step ended. */
static void gate_print(const struct views *views, struct buf *out) {
    const struct tune_state *state = views->state;
    enum tune_step step = state->wait_step;
    const struct tune_plan *plan = tune_lane_plan(state, views->lane);
    const struct tune_attempt *attempt = tune_attempt_in(state, views->lane);
    struct buf summary = {0};
    tune_step_told(&summary, state, views->lane, step);
    if (!summary.len) {
        buf_puts(out, state->wait_text ? state->wait_text : "waits for you");
        return;
    }
    const char *reason = gate_reason(views);
    buf_printf(out, "%s%s%s%s: ", tune_step_word(step), reason ? " (" : "", reason ? reason : "",
               reason ? ")" : "");
    if (state->way->numbered)
        buf_printf(out, "%s; %d of %d lanes open", summary.at, tune_lanes_open(state),
                   lanes_count(state));
    else if (step == TUNE_STEP_PLAN && plan && plan->title)
        buf_puts(out, plan->title);
    else if (step == TUNE_STEP_DECIDE && attempt && attempt->reason && attempt->id > 0 &&
             !strcmp(attempt->reason, "overruled by you"))
        buf_printf(out, "%s, overruled by you; the loop said %s", tune_status_word(attempt->status),
                   summary.at);
    else
        buf_puts(out, summary.at);
    buf_free(&summary);
    if (step == TUNE_STEP_VERIFY && state->roles && !state->way->numbered &&
        tune_role_next(state, views->lane) == TUNE_ROLE_FIXER)
        buf_puts(out, "; a asks for a repair");
    if (step == TUNE_STEP_REWRITE && state->steps[step].is == TUNE_IS_FAILED)
        buf_puts(out, "; a gives it up");
}

struct status_look {
    const char *glyph;
    enum tui_role role;
};

/* As much of the hints "; a does this, b does that" as has room beside the text, but the first. */
static size_t hint_length(const char *more, int cols) {
    size_t len = strlen(more), first = strcspn(more, ",");
    while (len > first && (int)len > cols)
        do
            len--;
        while (more[len] != ',');
    return len;
}

bool status_is_dry(const struct tune_state *state) {
    return state->wait == TUNE_WAIT_STOPPED && state->wait_text &&
           strstr(state->wait_text, "nothing left to propose");
}

/* No round is left of the limit that a person or an option set: a start alone does nothing. */
static bool rounds_are_used(const struct tune_state *state) {
    return state->wait == TUNE_WAIT_STOPPED && tune_budget_left(state, TUNE_BUDGET_ROUNDS) < 1;
}

static void wait_print(const struct views *views, struct buf *out) {
    const struct tune_state *state = views->state;
    if (state->wait == TUNE_WAIT_GATE)
        gate_print(views, out);
    else
        buf_puts(out, state->wait_text ? state->wait_text : "waits for you");
}

/* What the loop waits for, and what else can be done about it. */
static void waiting_text(struct views *views, struct tui_area area, struct status_look look) {
    const struct tune_state *state = views->state;
    struct tui_area ink = tui_ink(area, look.role);
    struct buf text = {0};
    tui_say(ink, 0, 1, "%s", look.glyph);
    wait_print(views, &text);
    bool starts = state->wait != TUNE_WAIT_GATE && views_can(views, TUNE_ACT_START) &&
                  !(text.at && strstr(text.at, "start "));
    bool sums = summary_is_due(state) && views->view != VIEW_SUMMARY;
    bool dry = starts && status_is_dry(state);
    char allow[80];
    snprintf(allow, sizeof allow, "; more with :budget rounds %.0f, s starts then%s",
             state->budgets[TUNE_BUDGET_ROUNDS].limit * 2, sums ? ", b summary" : "");
    const char *more = dry ? "; w write one, R go on from another, b summary"
                       : starts && rounds_are_used(state) ? allow
                       : starts && sums                   ? "; s starts, b summary"
                       : starts                           ? "; s starts"
                       : sums                             ? "; b summary"
                                                          : "";
    size_t shown = hint_length(more, area.cols - 4 - (int)text_columns(buf_str(&text)));
    struct tui_rect line = {0, 3, 1, area.cols - 4 - (int)shown};
    int end = tui_put_short(ink, 0, line, buf_str(&text));
    tui_say(tui_ink(area, TUI_DIM), 0, end, "%.*s", (int)shown, more);
    buf_free(&text);
}

/* Nothing runs before a person has said which files count, whatever else waits. */
static void files_text(const struct views *views, struct tui_area area) {
    const struct tune_state *state = views->state;
    struct buf text = {0};
    buf_printf(&text, "files: %s", state->changed.at[0].name);
    if (state->changed.len > 1)
        buf_printf(&text, " and %zu more", state->changed.len - 1);
    buf_puts(&text, " changed on disk; s asks which to use");
    tui_say(tui_ink(area, TUI_WAITING), 0, 1, "◆");
    tui_put_short(tui_ink(area, TUI_WAITING), 0, (struct tui_rect){0, 3, 1, area.cols - 4},
                  buf_str(&text));
    buf_free(&text);
}

static const char *read_only_head(const struct tune_state *state) {
    return state->held_by || !state->why_read_only ? "the session is open in " : "";
}

static const char *read_only_why(const struct tune_state *state) {
    return state->held_by         ? state->held_by
           : state->why_read_only ? state->why_read_only
                                  : "another process";
}

/* Who held the session has left. */
static void left_print(const struct tune_state *state, struct buf *out) {
    buf_printf(out, "%s, which had this session, has left it; s takes it over", state->held_by);
}

void status_say_read_only(struct views *views, const char *command) {
    struct buf why = {0};
    if (views->state->holder_left)
        left_print(views->state, &why);
    else
        buf_printf(&why, "%s%s%s", read_only_head(views->state), read_only_why(views->state),
                   views->state->held_by ? "; leave hone there first" : "");
    views_say(views, true, "'%s' is not possible, the session is read-only: %s", command, why.at);
    buf_free(&why);
}

static void left_text(const struct tune_state *state, struct tui_area area) {
    struct buf text = {0};
    left_print(state, &text);
    tui_say(tui_ink(area, TUI_WAITING), 0, 1, "◆");
    tui_put_short(tui_ink(area, TUI_WAITING), 0, (struct tui_rect){0, 3, 1, area.cols - 4},
                  buf_str(&text));
    buf_free(&text);
}

static const struct status_look looks[TUNE_WAITS] = {
    [TUNE_WAIT_NOTHING] = {"", TUI_PLAIN},   [TUNE_WAIT_GATE] = {"◆", TUI_WAITING},
    [TUNE_WAIT_PAUSED] = {"■", TUI_WARN},    [TUNE_WAIT_REJECTED] = {"■", TUI_WARN},
    [TUNE_WAIT_STOPPED] = {"■", TUI_STRONG},
};

void chrome_status(struct views *views, struct tui_area area) {
    const struct tune_state *state = views->state;
    struct tui_rect line = {0, 1, 1, area.cols - 2};
    if (state->trouble)
        tui_put_short(tui_ink(area, TUI_BAD), 0, line, str_of(state->trouble));
    else if (state->holder_left)
        left_text(state, area);
    else if (place_matters(views))
        tui_put_short(tui_ink(area, place_role(views)), 0, line,
                      str_of(state->place->status->text));
    else if (state->looks_at && state->wait != TUNE_WAIT_GATE)
        tui_put_short(tui_ink(area, TUI_WARN), 0, line, str_of(state->looks_at));
    else if (state->wait == TUNE_WAIT_NOTHING && is_running(state))
        running_text(views, area);
    else if (state->read_only)
        tui_say(tui_ink(area, TUI_WARN), 0, 1, "read-only: %s%s", read_only_head(state),
                read_only_why(state));
    else if (state->changed.len)
        files_text(views, area);
    else if (state->wait_text || looks[state->wait].glyph[0])
        waiting_text(views, area, looks[state->wait]);
    else if (!state->running)
        tui_say(tui_ink(area, TUI_WAITING), 0, 1, "◆ press s to start");
}

/* ---- messages ------------------------------------------------------------------------------- */

#define MESSAGE_ROWS 5
#define READ_MS 4000 /* that a message stays at least, to be read */

static struct loop_at loop_at(const struct views *views) {
    const struct tune_state *state = views->state;
    return state ? (struct loop_at){state->wait, state->step, state->round} : (struct loop_at){0};
}

void status_message_said(struct views *views) {
    views->message_at = loop_at(views);
    views->message_beside = false;
}

/* Answers of keys are about the loop as it was. What went wrong stays until the next key, because
 * it may say where something was saved. */
void status_message_follow(struct views *views) {
    struct loop_at now = loop_at(views), then = views->message_at;
    if (!views->message[0])
        return;
    if (!views->message_ms)
        views->message_ms = views->now_ms;
    bool waits = now.wait != then.wait && now.wait != TUNE_WAIT_NOTHING;
    bool is_read = views->now_ms - views->message_ms >= READ_MS;
    if (now.wait == then.wait && now.step == then.step && now.round == then.round)
        return;
    if (is_read && !views->message_bad)
        views->message[0] = 0;
    else
        views->message_beside = waits || is_read;
}

/* Whether the status line has something that a person must see before the next key. */
static bool status_matters(const struct views *views) {
    const struct tune_state *state = views->state;
    return state && (state->wait == TUNE_WAIT_GATE || state->trouble || state->changed.len ||
                     state->holder_left || asks_person(state) || views->message_beside);
}

/* Whether the status line says why the loop does not go on. */
static bool tells_wait(const struct views *views) {
    const struct tune_state *state = views->state;
    return !state->holder_left && !place_matters(views) && !state->read_only &&
           !state->changed.len && !state->looks_at && state->wait != TUNE_WAIT_NOTHING;
}

/* What is wrong with the session, or why the loop does not go on, where one line is too short for
 * it; otherwise nothing. */
static void long_status(const struct views *views, const struct tui_area area, struct buf *out) {
    const struct tune_state *state = views->state;
    bool waits = state && !state->trouble && !state->opening && tells_wait(views);
    if (state && state->trouble)
        buf_puts(out, state->trouble);
    if (waits)
        buf_printf(out, "%s ", looks[state->wait].glyph);
    if (waits)
        wait_print(views, out);
    if ((int)text_columns(buf_str(out)) <= area.cols - 2)
        buf_clear(out);
    else if (waits && state->wait != TUNE_WAIT_GATE && views_can(views, TUNE_ACT_START) &&
             !strstr(out->at, "start "))
        buf_puts(out, "; s starts");
}

static int message_rows(struct tui_area area, struct str text) {
    struct tui_rect measure = {0, 1, 0, area.cols - 2};
    return MIN_OF(tui_put_wrapped(tui_area_part(area, measure), 0, text), MESSAGE_ROWS);
}

/* Whether a message is drawn by itself: trouble says the same in the place of the status. */
static bool says_message(const struct views *views) {
    const char *trouble = views->state ? views->state->trouble : NULL;
    return views->message[0] && !(trouble && !strcmp(views->message, trouble));
}

int status_rows(const struct views *views, struct tui_area area) {
    struct buf status = {0};
    if (!says_message(views) || status_matters(views))
        long_status(views, area, &status);
    int rows = status.len ? message_rows(area, buf_str(&status)) : 1;
    buf_free(&status);
    return MAX_OF(rows, 1);
}

/* Draws the rows of a message, or of a long status, that end above `end`; returns the first. */
static int message_draw(struct views *views, struct tui_area area, int end, struct str text,
                        bool says) {
    bool matters = status_matters(views);
    bool bad = says ? views->message_bad : views->state->trouble != NULL;
    enum tui_role waits =
        views->state && views->state->wait == TUNE_WAIT_GATE ? TUI_WAITING : TUI_STRONG;
    int rows = MIN_OF(message_rows(area, text), end);
    struct tui_area box = tui_area_part(area, (struct tui_rect){end - rows, 0, rows, area.cols});
    if (rows > 1 || matters)
        box = tui_paper(box, TUI_PAPER_BAR);
    tui_clear(box);
    box = tui_ink(box, bad ? TUI_BAD : says ? TUI_STRONG : waits);
    tui_put_lines(tui_area_part(box, (struct tui_rect){0, 1, rows, area.cols - 2}), text);
    return end - rows;
}

/* A message stands above what waits, and takes no line of it. */
void status_message(struct views *views, struct tui_area area) {
    struct buf status = {0};
    bool says = says_message(views);
    int end = area.rows - 1;
    if (!says || status_matters(views))
        long_status(views, area, &status);
    if (status.len)
        end = message_draw(views, area, end, buf_str(&status), false);
    else if (says && status_matters(views))
        end--;
    if (says)
        message_draw(views, area, end, str_of(views->message), true);
    buf_free(&status);
}

/* ---- leaving -------------------------------------------------------------------------------- */

/* What runs is given up, wherever it is evaluated; a job on a host goes on there. */
static void running_print(const struct views *views, struct buf *out) {
    const struct tune_state *state = views->state;
    int calls = calls_running(state);
    buf_printf(out, "%s runs. ", tune_step_word(state->step));
    if (calls)
        buf_printf(
            out,
            "%d question%s to models %s given up, and what was sent is paid for. It is asked "
            "again when you come back and start. ",
            calls, PLURAL(calls), calls == 1 ? "is" : "are");
    else if (place_is_remote(views) && state->step >= TUNE_STEP_VERIFY)
        buf_printf(out,
                   "What was sent to %s goes on there; hone follows it again when you come back. ",
                   state->place->info->name);
    else
        buf_puts(out, "It is given up, and starts over when you come back and start. ");
}

/* Whether something was proposed that is not decided. */
static bool is_in_round(const struct tune_state *state) {
    size_t last = state->attempts.len;
    return state->wait == TUNE_WAIT_PAUSED &&
           (tune_lane_of(state, 0)->candidate.exists ||
            (last > 1 && state->attempts.at[last - 1].status == TUNE_STATUS_OPEN));
}

bool status_unfinished(const struct views *views, struct buf *out) {
    const struct tune_state *state = views->state;
    if (!state || state->read_only)
        return false;
    if (state->is_lost) {
        buf_puts(out, "The session's files are gone. s asks where to save it, whole; when you "
                      "leave, hone saves it beside them. ");
    } else if (state->wait == TUNE_WAIT_GATE) {
        struct buf gate = {0};
        gate_print(views, &gate);
        buf_printf(out, "This waits for you: %s. It waits here when you come back. ", gate.at);
        buf_free(&gate);
    } else if (asks_person(state) || state->changed.len) {
        buf_puts(out, "A question waits for you. It is asked again when you come back. ");
    } else if (is_running(state)) {
        running_print(views, out);
    } else if (state->running) {
        buf_puts(out, "The loop runs. It will wait until you come back and start it. ");
    } else if (is_in_round(state)) {
        buf_printf(out,
                   "The loop is paused in round %d. It waits there until you come back and start "
                   "it. ",
                   state->round);
    }
    return out->len > 0;
}
