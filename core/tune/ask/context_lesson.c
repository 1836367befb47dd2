/* SPDX-License-Identifier: Apache-2.0 */
/* The context of a lesson: what was planned, what was measured, both kernels. */
#include <math.h>
#include <stdlib.h>

#include "tune/ask/ask.h"
#include "tune/ask/sections.h"
#include "tune/read/read.h"
#include "tune/state/inner.h"

#define LINES_OF_A_LESSON 6

static void measured_print(struct tune_context *context, const struct tune_state *state,
                           const struct tune_attempt *parent, const struct tune_attempt *attempt) {
    struct buf out = {0};
    buf_printf(&out, "attempt %d against attempt %d: ", attempt->id, attempt->parent);
    tune_us_print(&out, parent ? parent->latency_us : NAN);
    buf_puts(&out, " -> ");
    tune_us_print(&out, attempt->latency_us);
    if (!isnan(attempt->vs_parent))
        buf_printf(&out, ", %.3f times as fast", attempt->vs_parent);
    tune_gain_rests_add(&out, state, attempt);
    buf_printf(&out, "%s\ndecision: %s%s%s\n", tune_attempt_how(attempt),
               tune_status_word(attempt->status), attempt->reason ? ": " : "",
               attempt->reason ? attempt->reason : "");
    if (attempt->left_out)
        buf_printf(&out,
                   "left out: a person left %d of the plan's %d hunks out; this is about the "
                   "rest alone\n",
                   attempt->left_out, attempt->hunks);
    struct buf held = {0};
    tune_prediction_print(&held, attempt);
    if (held.len)
        buf_printf(&out, "prediction:%s\n", held.at);
    buf_free(&held);
    struct buf lines = {0};
    tune_difference_print(state, attempt, LINES_OF_A_LESSON, &lines);
    if (lines.len)
        buf_printf(&out, "by line:%s\n", lines.at);
    buf_free(&lines);
    if (parent)
        tune_metrics_moved_print(&out, parent, attempt);
    tune_section_add(context, "measured", &out);
}

struct tune_context *tune_context_lesson(const struct tune_state *state, int lane) {
    struct tune_context *context = mem_alloc(1, sizeof *context);
    context->arena = arena_new();
    context->round = state->round;
    context->attempt = tune_lane_attempt(state, lane);
    context->latency_us = context->floor_us = NAN;
    const struct tune_attempt *attempt = tune_attempt_in(state, lane);
    if (!attempt)
        return context;
    const struct tune_attempt *parent = tune_state_attempt(state, attempt->parent);
    tune_section_changes(context, state);
    tune_section_shared(context, state, tune_source(state, attempt));
    tune_section_task(context, state);
    tune_section_plan(context, attempt->plan.title ? &attempt->plan : NULL);
    measured_print(context, state, parent, attempt);
    bool gain = !(attempt->vs_parent < 1);
    tune_section_text(context, gain ? "faster" : "slower", tune_source(state, attempt));
    tune_section_text(context, gain ? "slower" : "faster", tune_source(state, parent));
    tune_profile_section(context, "profile", attempt);
    tune_causes_section(context, state, attempt);
    if (parent)
        tune_profile_section(context, "profile before", parent);
    return context;
}
