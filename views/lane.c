/* SPDX-License-Identifier: Apache-2.0 */
/* The lanes of a round that was opened into them: which one commands are about, going from one to
 * another, what a lane is and does. The screen that lists them is screens/lanes.c. The panes draw
 * the lane that is looked at as they draw any round. */
#include "views/inner.h"

#include <math.h>

/* ---- which ---------------------------------------------------------------------------------- */

int lanes_count(const struct tune_state *state) {
    return state->way->numbered ? (int)state->lanes.len : 0;
}

const struct tune_lane *lane_at(const struct tune_state *state, int lane) {
    return lane >= 0 && lane < lanes_count(state) ? &state->lanes.at[lane] : NULL;
}

bool lanes_any(const struct views *views) {
    return views->state && views->state->way->numbered;
}

bool lanes_may(const struct views *views) {
    return lanes_any(views) || tune_search_is_wide(views->state);
}

/* The lane that a command is about: on the screen of lanes, the one under the cursor. */
int lanes_here(const struct views *views) {
    return views->view == VIEW_LANES ? lanes_cursor(views) : views->lane;
}

bool lanes_is_open(const struct views *views) {
    const struct tune_lane *lane = lane_at(views->state, lanes_here(views));
    return !lanes_any(views) || (lane && !lane->closed);
}

static void look(struct views *views, int lane) {
    const struct tune_state *state = views->state;
    views->lane = lane;
    views->lane_seen.dropped = tune_lane_of(state, lane)->dropped;
}

/* There are other lanes: those of a new round, or earlier ones again. */
static void look_at_others(struct views *views) {
    const struct tune_state *state = views->state;
    struct lane_seen seen = views->lane_seen;
    int before = views->lane;
    look(views, seen.seq_before == state->lanes_seq ? seen.before : tune_lane_first(state));
    views->lane_seen.seq = state->lanes_seq;
    views->lane_seen.seq_before = seen.seq;
    views->lane_seen.before = before;
}

void lanes_focus(struct views *views, int lane) {
    if (lane == views->lane || !lane_at(views->state, lane))
        return;
    look(views, lane);
    workbench_refocus(views);
}

static int next_open(const struct tune_state *state, int lane) {
    int count = (int)state->lanes.len;
    for (int i = 1; i < count; i++)
        if (!state->lanes.at[(lane + i) % count].closed)
            return (lane + i) % count;
    return lane;
}

void lanes_follow(struct views *views) {
    const struct tune_state *state = views->state;
    if (!state)
        return;
    if (views->lane_seen.seq != state->lanes_seq)
        look_at_others(views);
    if ((size_t)views->lane >= state->lanes.len)
        look(views, tune_lane_first(state));
    bool dropped = tune_lane_of(state, views->lane)->dropped;
    if (dropped && !views->lane_seen.dropped)
        lanes_focus(views, next_open(state, views->lane));
    views->lane_seen.dropped = tune_lane_of(state, views->lane)->dropped;
}

bool lanes_take_cursor(struct views *views) {
    const struct tune_lane *lane = lane_at(views->state, lanes_here(views));
    if (lane && lane->closed) {
        views_say(views, true, "lane %d is closed: %s", lanes_here(views) + 1, lane->closed);
        return false;
    }
    if (views->view == VIEW_LANES)
        lanes_focus(views, lanes_here(views));
    return true;
}

static void go(struct views *views, int step, bool open) {
    const struct tune_state *state = views->state;
    int count = lanes_count(state), at = lanes_here(views);
    if (!count) {
        views_say(views, false, "this round follows one direction");
        return;
    }
    for (int i = 0; i < count; i++) {
        at = (at + step + count) % count;
        if (!open || !state->lanes.at[at].closed)
            break;
    }
    if (views->view == VIEW_LANES)
        lanes_go(views, at);
    else if (open && state->lanes.at[at].closed)
        views_say(views, false, "no lane is open");
    else
        lanes_focus(views, at);
}

void lanes_next(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    go(views, 1, false);
}

void lanes_previous(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    go(views, -1, false);
}

void lanes_next_open(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    go(views, 1, true);
}

/* ---- what one is and does ------------------------------------------------------------------- */

/* The question of the lane, while it is under way; NULL. */
static const struct tune_call *call_of(const struct tune_state *state, int lane) {
    for (size_t i = state->calls.len; i-- > 0;) {
        const struct tune_call *call = &state->calls.at[i];
        if (!call->ended_ms && call->lane == lane && call->round == state->round)
            return call;
    }
    return NULL;
}

struct rows_look lane_look(const struct tune_state *state, int index) {
    const struct tune_lane *lane = &state->lanes.at[index];
    const struct tune_call *call = call_of(state, index);
    if (lane->closed)
        return (struct rows_look){"×", TUI_DIM};
    if (call && (call->waits || call->held))
        return (struct rows_look){"◆", TUI_WAITING};
    const struct tune_attempt *attempt = tune_attempt_in(state, index);
    if (lane->is == TUNE_IS_OK && attempt && attempt->status != TUNE_STATUS_OPEN)
        return rows_status_look(attempt->status);
    return rows_step_look(state, lane->is);
}

static void running_print(const struct tune_state *state, int index, struct buf *out) {
    const struct tune_lane *lane = &state->lanes.at[index];
    const struct tune_call *call = call_of(state, index);
    if (call) {
        buf_printf(out, "%s ", call->model ? call->model : "-");
        calls_state_print(call, out);
        return;
    }
    buf_puts(out, tune_step_word(lane->next));
    if (lane->doing && strcmp(lane->doing, tune_step_word(lane->next)) != 0)
        buf_printf(out, " %s", lane->doing);
    if (isfinite(lane->total) && lane->total > 0 && isfinite(lane->done))
        buf_printf(out, " %.0f/%.0f", lane->done, lane->total);
}

/* The plan is left out here: it has a column of its own. */
static void ended_print(const struct tune_lane *lane, struct buf *out) {
    struct buf told = {0};
    tune_lane_told(&told, lane);
    bool tells = told.len && lane->step != TUNE_STEP_PLAN;
    bool failed = lane->is == TUNE_IS_FAILED;
    buf_puts(out, tune_step_word(lane->step));
    if (failed || !tells)
        buf_puts(out, failed ? " failed" : " done");
    if (tells)
        buf_printf(out, ": %s", told.at);
    buf_free(&told);
}

/* What it does now, or what came of what it did last, in a few words. */
void lane_does(const struct tune_state *state, int index, struct buf *out) {
    const struct tune_lane *lane = &state->lanes.at[index];
    const struct tune_attempt *attempt = tune_attempt_in(state, index);
    if (lane->closed)
        buf_printf(out, "closed: %s", lane->closed);
    else if (rows_is_halted(state, lane->is))
        buf_printf(out, "%s halted", tune_step_word(lane->next));
    else if (lane->is == TUNE_IS_RUNNING)
        running_print(state, index, out);
    else if (lane->is == TUNE_IS_WAITING)
        buf_printf(out, "%s waits", tune_step_word(lane->next));
    else if (lane->step == TUNE_STEP_PROFILE)
        buf_puts(out, "to be planned");
    else if (attempt && attempt->status != TUNE_STATUS_OPEN)
        buf_printf(out, "%s%s", tune_status_word(attempt->status),
                   tune_beam_has(state, attempt->id) ? ", in the beam" : "");
    else if (lane->is == TUNE_IS_SKIPPED)
        buf_printf(out, "%s left out", tune_step_word(lane->step));
    else
        ended_print(lane, out);
}

/* "#12 of #4, plan 2, rewrite 1": which of its parent's lanes it is. */
void lane_which(const struct tune_state *state, int index, struct buf *out) {
    const struct tune_lane *lane = &state->lanes.at[index];
    int attempt = tune_lane_attempt(state, index);
    bool fanned = false;
    for (size_t i = 0; i < state->lanes.len; i++)
        fanned = fanned || state->lanes.at[i].sample > 0;
    if (attempt >= 0)
        buf_printf(out, "#%d ", attempt);
    buf_printf(out, "of #%d, plan %d", lane->parent, lane->draw + 1);
    if (fanned)
        buf_printf(out, ", rewrite %d", lane->sample + 1);
}

void lanes_running(const struct tune_state *state, struct buf *out) {
    for (int i = 0; i < lanes_count(state); i++) {
        const struct tune_lane *lane = &state->lanes.at[i];
        int attempt = tune_lane_attempt(state, i);
        if (lane->is != TUNE_IS_RUNNING)
            continue;
        buf_puts(out, out->len ? ", " : "");
        if (attempt >= 0)
            buf_printf(out, "#%d", attempt);
        else
            buf_printf(out, "lane %d", i + 1);
        if (lane->doing)
            buf_printf(out, " %s", lane->doing);
    }
}

const char *lane_title(const struct tune_state *state, int index) {
    const struct tune_plan *plan = tune_lane_plan(state, index);
    return !plan ? "" : plan->title ? plan->title : plan->key ? plan->key : "";
}
