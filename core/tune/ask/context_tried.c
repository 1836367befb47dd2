/* SPDX-License-Identifier: Apache-2.0 */
/* What a proposer is told of the session so far: a row for each attempt with all that is known of
 * it, what nobody wanted or could carry out, and what was proposed and not tried. Each thing is
 * said once. */
#include <math.h>
#include <stdlib.h>

#include "device/device.h"
#include "tune/ask/ask.h"
#include "tune/ask/sections.h"
#include "tune/read/read.h"
#include "tune/state/inner.h"
#include "tune/sums/sums.h"

#define LINES_OF_A_LOSS 2
#define CONTEXT_NOTES 12 /* the last so many, besides the pinned ones */

/* Whether its metric moved as predicted while the latency did not, and whoever follows it again may
 * do it otherwise. */
static bool gained_nothing(const struct tune_attempt *attempt) {
    const struct tune_plan *plan = &attempt->plan;
    return plan->held == TUNE_ANSWER_YES && attempt->status == TUNE_STATUS_REVERT && !plan->sweep &&
           plan->key && !(plan->author && !strcmp(plan->author, "rewriter"));
}

static bool is_same_direction(const struct tune_attempt *a, const struct tune_attempt *b) {
    return a != b && tune_same_direction(&a->plan, &b->plan);
}

bool tune_has_second_turn(const struct tune_state *state, const struct tune_attempt *attempt) {
    if (!gained_nothing(attempt))
        return false;
    for (size_t i = 1; i < state->attempts.len; i++)
        if (is_same_direction(&state->attempts.at[i], attempt))
            return false;
    return true;
}

bool tune_is_second_turn(const struct tune_state *state, const struct tune_attempt *attempt) {
    for (size_t i = 1; i < state->attempts.len && (int)i < attempt->id; i++)
        if (is_same_direction(&state->attempts.at[i], attempt) &&
            gained_nothing(&state->attempts.at[i]))
            return true;
    return false;
}

bool tune_context_has_note(const struct tune_state *state, size_t index) {
    const struct tune_note *note = &state->notes.at[index];
    return !note->dropped && (note->pinned || index + CONTEXT_NOTES >= state->notes.len);
}

/* What the person did not want; with `by_loop` what nobody could carry out. */
static void rejections_print(struct tune_context *context, const struct tune_state *state,
                             const char *section, bool by_loop) {
    struct buf out = {0};
    for (size_t i = 0; i < state->rejections.len; i++) {
        const struct tune_rejection *rejection = &state->rejections.at[i];
        if (rejection->hunk || rejection->by_loop != by_loop)
            continue;
        buf_printf(&out, "- \"%s\" (round %d): %s\n",
                   rejection->title ? rejection->title : "a kernel", rejection->round,
                   rejection->reason ? rejection->reason : "no reason given");
    }
    tune_section_add(context, section, &out);
}

static void declined_print(struct tune_context *context, const struct tune_state *state) {
    struct buf out = {0};
    for (size_t i = 0; i < state->rejections.len; i++) {
        const struct tune_rejection *rejection = &state->rejections.at[i];
        if (!rejection->hunk)
            continue;
        buf_printf(&out, "- of \"%s\" (round %d): %s\n%s",
                   rejection->title ? rejection->title : "a kernel", rejection->round,
                   rejection->reason ? rejection->reason : "no reason given", rejection->hunk);
    }
    tune_section_add(context, "declined", &out);
}

/* What moved as predicted, where the time went by line, and what stood in the way. */
static void second_turn_print(const struct tune_state *state, const struct tune_attempt *attempt,
                              struct buf *out) {
    struct buf obstacle = {0};
    tune_prediction_print(out, attempt);
    tune_difference_print(state, attempt, LINES_OF_A_LOSS, out);
    tune_obstacle_print(state, attempt, &obstacle);
    buf_printf(out,
               " The latency did not follow%s%s: this direction may be proposed once more, under "
               "its title, if the plan removes what stood in the way.",
               obstacle.len ? ";" : "", obstacle.len ? obstacle.at : "");
    buf_free(&obstacle);
}

/* Of a direction that was followed twice. */
static void closed_print(const struct tune_state *state, const struct tune_attempt *attempt,
                         struct buf *out) {
    struct buf obstacle = {0};
    tune_obstacle_print(state, attempt, &obstacle);
    buf_printf(out, " This was its second turn, and it is closed%s%s.",
               obstacle.len ? "; what stands in the way:" : "", obstacle.len ? obstacle.at : "");
    buf_free(&obstacle);
}

/* Of slower attempts on the kernel at hand, the last few: where their time went. */
#define LOSSES 3

static bool is_loss(const struct tune_context *context, const struct tune_attempt *attempt) {
    return attempt->parent == context->attempt && attempt->vs_parent < 1 && !attempt->outdated;
}

/* The first of them; what is before it is too long ago. */
static int first_loss(const struct tune_context *context, const struct tune_state *state) {
    int left = LOSSES, id = (int)state->attempts.len;
    while (id > 1 && left > 0)
        left -= is_loss(context, &state->attempts.at[--id]);
    return id;
}

static const struct tune_note *note_of(const struct tune_state *state, int attempt) {
    for (size_t i = state->notes.len; i > 0; i--)
        if (state->notes.at[i - 1].attempt == attempt && tune_context_has_note(state, i - 1))
            return &state->notes.at[i - 1];
    return NULL;
}

/* hone's own note says what the row says: the decision, the prediction, what limits. */
static bool adds_something(const struct tune_note *note) {
    return note && note->lesson && (note->author || note->edited || note->pinned);
}

static void limited_print(const struct tune_state *state, const struct tune_attempt *attempt,
                          struct buf *out) {
    const struct tune_attempt *parent = tune_state_attempt(state, attempt->parent);
    struct buf from = {0}, to = {0};
    if (parent)
        tune_limited_print(parent, &from);
    tune_limited_print(attempt, &to);
    if (from.len && to.len && strcmp(from.at, to.at) != 0)
        buf_printf(out, " It was limited by %s, and is by %s.", from.at, to.at);
    buf_free(&from);
    buf_free(&to);
}

void tune_gain_rests_add(struct buf *out, const struct tune_state *state,
                         const struct tune_attempt *attempt) {
    struct buf said = {0};
    struct tune_rests rests = tune_gain_rests(tune_state_attempt(state, attempt->parent), attempt);
    tune_rests_print(&said, &rests);
    if (said.len)
        buf_printf(out, " (%s)", said.at);
    buf_free(&said);
}

/* One row for all that is known of an attempt. */
static void row_print(struct tune_context *context, const struct tune_state *state,
                      const struct tune_attempt *attempt, int losses, struct buf *out) {
    const struct tune_note *note = note_of(state, attempt->id);
    buf_printf(out, "- attempt %d on %d, \"%s\": %s", attempt->id, attempt->parent,
               attempt->plan.title ? attempt->plan.title : "", tune_status_word(attempt->status));
    if (!isnan(attempt->vs_parent) && !attempt->reason)
        buf_printf(out, ", %.3fx", attempt->vs_parent);
    tune_gain_rests_add(out, state, attempt);
    if (attempt->reason)
        buf_printf(out, ": %s", attempt->reason);
    tune_sentence_end(out);
    tune_part_tried_print(out, attempt);
    if (tune_has_second_turn(state, attempt))
        second_turn_print(state, attempt, out);
    else {
        tune_prediction_print(out, attempt);
        limited_print(state, attempt, out);
        if (attempt->id >= losses && is_loss(context, attempt))
            tune_difference_print(state, attempt, LINES_OF_A_LOSS, out);
        if (attempt->status != TUNE_STATUS_KEEP && tune_is_second_turn(state, attempt))
            closed_print(state, attempt, out);
    }
    if (adds_something(note))
        buf_printf(out, " %s: %s", note->pinned ? "Pinned" : "Lesson", note->lesson);
    buf_putc(out, '\n');
}

/* The conditions under which all of it was measured. */
static void conditions_print(const struct tune_state *state, struct buf *out) {
    bool modelled = state->attempts.len && state->attempts.at[0].modelled;
    buf_printf(out, "%s on %s%s%s, precision %s:\n", modelled ? "Modelled" : "Measured",
               device_name(state->device), state->sizes ? ", " : "",
               state->sizes ? state->sizes : "", state->precision ? state->precision : "keep");
}

static void tried_print(struct tune_context *context, const struct tune_state *state) {
    struct buf out = {0};
    int losses = first_loss(context, state);
    for (size_t i = 1; i < state->attempts.len; i++) {
        const struct tune_attempt *attempt = &state->attempts.at[i];
        if (attempt->status == TUNE_STATUS_OPEN || attempt->outdated)
            continue;
        if (!out.len)
            conditions_print(state, &out);
        row_print(context, state, attempt, losses, &out);
    }
    tune_section_add(context, "tried before", &out);
}

/* Notes about nothing that has a row; with `every` all of them, for a template that shows no rows.
 */
static void notes_print(struct tune_context *context, const struct tune_state *state, bool every) {
    struct buf out = {0};
    size_t older = 0;
    for (size_t i = 0; i < state->notes.len; i++) {
        const struct tune_note *note = &state->notes.at[i];
        const struct tune_attempt *about = tune_state_attempt(state, note->attempt);
        bool has_row = !every && about && about->id > 0 && !about->outdated &&
                       about->status != TUNE_STATUS_OPEN;
        older += !has_row && !note->dropped && !tune_context_has_note(state, i);
        if (!tune_context_has_note(state, i) || (has_row && note_of(state, about->id) == note))
            continue;
        buf_printf(&out, "- round %d, %s: %s", note->round, tune_category_word(note->category),
                   note->lesson ? note->lesson : "");
        if (note->evidence)
            buf_printf(&out, " (%s)", note->evidence);
        buf_putc(&out, '\n');
    }
    if (out.len && older)
        buf_printf(&out, "[... %zu older note%s left out ...]\n", older, PLURAL(older));
    tune_section_add(context, every ? TUNE_EVERY_NOTE : "notes", &out);
}

/* Ideas that were thrown away because another one was taken first. */
static void stock_print(struct tune_context *context, const struct tune_state *state) {
    struct buf out = {0};
    size_t at[TUNE_STOCK_SHOWN], count = tune_stock_list(state, at, TUNE_STOCK_SHOWN);
    for (size_t i = 0; i < count; i++) {
        const struct tune_stocked *row = &state->stock.at[at[i]];
        buf_printf(&out, "- \"%s\" (round %d, for attempt %d): %s", row->plan.title, row->round,
                   row->parent, row->plan.what ? row->plan.what : "");
        tune_sentence_end(&out);
        if (row->plan.latency < 0)
            buf_printf(&out, " Predicted: latency %+.0f %%.", row->plan.latency * 100);
        buf_putc(&out, '\n');
    }
    tune_section_add(context, "stock", &out);
}

void tune_tried_sections(struct tune_context *context, const struct tune_state *state) {
    notes_print(context, state, false);
    notes_print(context, state, true);
    rejections_print(context, state, "rejections", false);
    rejections_print(context, state, "not carried out", true);
    declined_print(context, state);
    tried_print(context, state);
    stock_print(context, state);
}
