/* SPDX-License-Identifier: Apache-2.0 */
/* The summary of a session: best, ladder, what was learnt, what failed, what it cost, why it ended.
 * Screens lay it out themselves; here are the counts, the text and the JSON. */
#include "tune/read/summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tune/state/state.h"
#include "tune/state/inner.h"
#include "tune/read/score.h"
#include "tune/read/read.h"
#include "tune/sums/sums.h"

#define TOLD 5 /* lessons in the text: the last ones */

/* -------------------------------------------------------------------------------------- counts */

static bool is_same(const char *a, const char *b) {
    return a == b || (a && b && !strcmp(a, b));
}

/* `each`: the reason belongs to this one alone, and the last one's is told. */
static void fail_add(struct tune_summary *summary, struct tune_failing one) {
    struct tune_failing *row = NULL;
    for (size_t i = 0; i < summary->failed.len && !row; i++)
        if (!strcmp(summary->failed.at[i].what, one.what) &&
            (one.each || is_same(summary->failed.at[i].why, one.why)))
            row = &summary->failed.at[i];
    if (!row) {
        row = vec_push(&summary->failed);
        *row = one;
    }
    row->count++;
    row->attempt = one.attempt;
    row->why = one.why;
}

static void said_add(struct tune_summary *summary, const char *what, int attempt, const char *why) {
    struct tune_failing one = {.attempt = attempt, .why = why && *why ? why : NULL};
    snprintf(one.what, sizeof one.what, "%s", what);
    fail_add(summary, one);
}

/* The class of what a compiler or a check said of an attempt last. */
static const char *cause_of(const struct tune_state *state, int attempt) {
    const struct tune_diagnostic *diag;
    const char *cause = NULL;
    size_t at = 0;
    while ((diag = tune_diagnostic_next(state, attempt, &at)))
        if (diag->severity == DIAG_ERROR && diag->cause)
            cause = diag->cause;
    return cause;
}

const struct tune_rejection *tune_rejection_of(const struct tune_state *state, int attempt) {
    for (size_t i = state->rejections.len; i-- > 0;) {
        const struct tune_rejection *rejection = &state->rejections.at[i];
        if (rejection->attempt == attempt && !rejection->by_loop && !rejection->hunk)
            return rejection;
    }
    return NULL;
}

static void count_failed(const struct tune_state *state, const struct tune_attempt *attempt,
                         struct tune_summary *summary) {
    static const char *const words[TUNE_STATUSES] = {[TUNE_STATUS_REVERT] = "not faster",
                                                     [TUNE_STATUS_INCONCLUSIVE] = "inconclusive",
                                                     [TUNE_STATUS_FAILED] = "wrong result",
                                                     [TUNE_STATUS_REJECTED] = "left",
                                                     [TUNE_STATUS_SUSPECT] = "not credible"};
    struct tune_failing one = {.attempt = attempt->id, .each = true, .why = attempt->reason};
    const struct tune_rejection *rejection = tune_rejection_of(state, attempt->id);
    const char *cause = cause_of(state, attempt->id), *word = words[attempt->status];
    if (attempt->status == TUNE_STATUS_REJECTED) {
        said_add(summary, rejection ? "rejected by you" : word, attempt->id,
                 rejection ? rejection->reason : attempt->reason);
        return;
    }
    snprintf(one.what, sizeof one.what, "%s", word ? word : "other");
    if (attempt->status == TUNE_STATUS_FAILED && attempt->verdict.compiles != TUNE_ANSWER_YES)
        snprintf(one.what, sizeof one.what, cause ? "does not compile (%.40s)" : "does not compile",
                 cause);
    fail_add(summary, one);
}

/* Rounds side by side, in each the fastest first, of equals the earliest. One whose speedup is not
 * known has no rivals and comes last. */
static int by_round(const void *a, const void *b) {
    const struct tune_attempt *x = *(const struct tune_attempt *const *)a;
    const struct tune_attempt *y = *(const struct tune_attempt *const *)b;
    int unknown = isnan(x->speedup) - isnan(y->speedup);
    if (x->round != y->round)
        return (x->round > y->round) - (x->round < y->round);
    if (unknown || x->speedup != y->speedup)
        return unknown ? unknown : (x->speedup < y->speedup) - (x->speedup > y->speedup);
    return (x->id > y->id) - (x->id < y->id);
}

/* Whether each attempt is the best that its round kept. A long session keeps thousands. */
static bool *bests_find(const struct tune_state *state) {
    bool *best = mem_alloc(state->attempts.len + 1, sizeof *best);
    VEC(const struct tune_attempt *) kept = {0};
    for (size_t i = 1; i < state->attempts.len; i++)
        if (state->attempts.at[i].status == TUNE_STATUS_KEEP)
            *vec_push(&kept) = &state->attempts.at[i];
    if (kept.len)
        qsort(kept.at, kept.len, sizeof *kept.at, by_round);
    for (size_t i = 0; i < kept.len; i++)
        best[kept.at[i]->id] =
            i == 0 || kept.at[i]->round != kept.at[i - 1]->round || isnan(kept.at[i]->speedup);
    vec_free(&kept);
    return best;
}

/* Of a round that kept several, only the best is a step up; in a beam search only when it is better
 * than all before. */
static void count_ladder(const struct tune_state *state, struct tune_summary *summary) {
    bool *best = bests_find(state);
    double top = NAN;
    for (size_t i = 1; i < state->attempts.len; i++) {
        const struct tune_attempt *attempt = &state->attempts.at[i];
        bool beaten = state->width.parents > 1 && top >= attempt->speedup;
        if (attempt->status != TUNE_STATUS_KEEP)
            continue;
        if (best[i] && !beaten) {
            struct tune_rung *rung = vec_push(&summary->ladder);
            rung->attempt = attempt->id;
            tune_strategy_of(&attempt->plan, rung->strategy);
        }
        top = fmax(top, attempt->speedup);
    }
    free(best);
}

static void count_attempts(const struct tune_state *state, struct tune_summary *summary) {
    for (size_t i = 1; i < state->attempts.len; i++) {
        const struct tune_attempt *attempt = &state->attempts.at[i];
        if (attempt->status != TUNE_STATUS_KEEP && attempt->status != TUNE_STATUS_OPEN)
            count_failed(state, attempt, summary);
    }
    for (size_t i = 0; i < state->rejections.len; i++) {
        const struct tune_rejection *rejection = &state->rejections.at[i];
        if (rejection->attempt < 0 && !rejection->hunk)
            said_add(summary, rejection->by_loop ? "plan not carried out" : "plan rejected by you",
                     -1, rejection->reason);
    }
}

static int by_count(const void *a, const void *b) {
    const struct tune_failing *one = a, *two = b;
    int by_what = strcmp(one->what, two->what);
    if (one->count != two->count)
        return (one->count < two->count) - (one->count > two->count);
    return by_what ? by_what : strcmp(one->why ? one->why : "", two->why ? two->why : "");
}

static void add(double *sum, double value) {
    if (!isnan(value))
        *sum = isnan(*sum) ? value : *sum + value;
}

static struct tune_cost *cost_of(struct tune_summary *summary, const struct tune_call *call) {
    const char *role = call->role ? call->role : "?", *model = call->model ? call->model : "?";
    for (size_t i = 0; i < summary->costs.len; i++)
        if (!strcmp(summary->costs.at[i].role, role) && !strcmp(summary->costs.at[i].model, model))
            return &summary->costs.at[i];
    struct tune_cost *row = vec_push(&summary->costs);
    *row = (struct tune_cost){.role = role, .model = model, .tokens = NAN, .dollars = NAN};
    return row;
}

static void count_calls(const struct tune_state *state, struct tune_summary *summary) {
    for (size_t i = 0; i < state->calls.len; i++) {
        const struct tune_call *call = &state->calls.at[i];
        struct tune_cost *row = cost_of(summary, call);
        const double tokens[] = {call->input, call->output, call->cache_read, call->cache_write};
        row->asked++;
        row->failed += call->failure != NULL;
        row->seconds += isnan(call->elapsed_s) ? 0 : call->elapsed_s;
        for (size_t k = 0; k < COUNT_OF(tokens); k++)
            add(&row->tokens, tokens[k]);
        add(&row->dollars, isnan(call->dollars) ? call->guess_dollars : call->dollars);
        if (!isnan(call->guess_answer))
            add(&row->tokens, call->guess_answer + call->estimate);
        row->guessed = row->guessed || !isnan(call->guess_answer) || !isnan(call->guess_dollars);
        if (call->failure)
            said_add(summary, "question failed", -1, call->failure);
    }
}

void tune_summary_make(const struct tune_state *state, struct tune_summary *summary) {
    *summary = (struct tune_summary){0};
    count_ladder(state, summary);
    count_attempts(state, summary);
    count_calls(state, summary);
    for (size_t i = 0; i < state->notes.len; i++)
        if (!state->notes.at[i].dropped)
            *vec_push(&summary->notes) = (int)i;
    for (size_t i = 0; i < state->memory.len; i++)
        if (!state->memory.at[i].imported && state->memory.at[i].is != TUNE_EXPERIENCE_DELETED)
            *vec_push(&summary->memory) = (int)i;
    if (summary->failed.len)
        qsort(summary->failed.at, summary->failed.len, sizeof *summary->failed.at, by_count);
}

void tune_summary_free(struct tune_summary *summary) {
    vec_free(&summary->ladder);
    vec_free(&summary->failed);
    vec_free(&summary->costs);
    vec_free(&summary->notes);
    vec_free(&summary->memory);
}

/* ---------------------------------------------------------------------------------------- text */

void tune_ratio_print(struct buf *out, const struct tune_state *state,
                      const struct tune_attempt *attempt) {
    const struct tune_attempt *parent = tune_state_attempt(state, attempt->parent);
    buf_printf(out, "%.2fx", attempt->vs_parent);
    if (attempt->modelled)
        buf_puts(out, " (modelled)");
    else if (!isnan(attempt->interval.low) && !isnan(attempt->interval.high))
        buf_printf(out, " (95 %%: %.2f to %.2f)", attempt->interval.low, attempt->interval.high);
    if (parent && parent->precision != attempt->precision)
        buf_printf(out, ", precision %s against %s,", tune_precision_word(attempt->precision),
                   tune_precision_word(parent->precision));
}

/* One line of a text that may have more. */
static void line_put(struct buf *out, const char *text) {
    struct str rest = str_of(text ? text : ""), line = {0};
    if (!str_next(&rest, '\n', &line))
        return;
    buf_add(out, line.at, line.len);
    buf_puts(out, rest.len ? " ..." : "");
}

/* The heading stands only before its first line. */
static void line_begin(struct buf *out, const char **heading) {
    buf_printf(out, "%-8s ", *heading);
    *heading = "";
}

/* The best kernels of other classes: their times say nothing about which kernel is better. */
static void others_text(const struct tune_state *state, const struct tune_attempt *best,
                        struct buf *out) {
    for (int i = 0; i < TUNE_PRECISIONS; i++) {
        int id = tune_best_in(state, (enum tune_precision)i);
        const struct tune_attempt *other = tune_state_attempt(state, id);
        if (!other || other->precision == best->precision)
            continue;
        buf_puts(out, "         ");
        clock_print_duration(out, other->latency_us * 1e-6);
        buf_printf(out, "  %.2fx  attempt %d, the best in precision %s\n", other->speedup, id,
                   tune_precision_word(other->precision));
    }
}

static void best_text(const struct tune_state *state, const char *folder, struct buf *out) {
    const struct tune_attempt *seed = tune_state_attempt(state, 0);
    const struct tune_attempt *best = tune_state_attempt(state, state->best);
    if (!seed || !best)
        return;
    buf_puts(out, "seed     ");
    clock_print_duration(out, seed->latency_us * 1e-6);
    buf_puts(out, "\nbest     ");
    clock_print_duration(out, best->latency_us * 1e-6);
    buf_printf(out, "  %.2fx  attempt %d%s", best->speedup, best->id, tune_attempt_how(best));
    double floor_us = tune_floor_in(best, best->precision);
    if (!isnan(floor_us)) {
        buf_puts(out, ", floor ");
        clock_print_duration(out, floor_us * 1e-6);
    }
    if (best->precision || tune_precision_allowed(state))
        buf_printf(out, ", precision %s", tune_precision_word(best->precision));
    buf_putc(out, '\n');
    others_text(state, best, out);
    if (tune_predicted(best)) {
        buf_puts(out, "compiler predicts ");
        tune_predicted_print(out, best);
        buf_putc(out, '\n');
    }
    if (folder)
        buf_printf(out, "kernel   %s/%s\n", folder, best->path ? best->path : "");
}

static void ladder_text(const struct tune_state *state, const struct tune_summary *summary,
                        struct buf *out) {
    const char *heading = "ladder";
    for (size_t i = 0; i < summary->ladder.len; i++) {
        const struct tune_rung *rung = &summary->ladder.at[i];
        const struct tune_attempt *attempt = &state->attempts.at[rung->attempt];
        line_begin(out, &heading);
        buf_printf(out, "#%d round %d: ", attempt->id, attempt->round);
        tune_ratio_print(out, state, attempt);
        buf_puts(out, " to ");
        clock_print_duration(out, attempt->latency_us * 1e-6);
        buf_printf(out, "  [%s] ", rung->strategy);
        line_put(out, attempt->plan.title ? attempt->plan.title : "by hand");
        buf_putc(out, '\n');
    }
    if (!summary->ladder.len)
        buf_printf(out, "%-8s nothing was faster than the seed kernel\n", heading);
}

static void learnt_text(const struct tune_state *state, const struct tune_summary *summary,
                        struct buf *out) {
    const char *heading = "learnt";
    size_t from = summary->notes.len > TOLD ? summary->notes.len - TOLD : 0;
    for (size_t i = 0; i < summary->memory.len; i++) {
        const struct tune_experience *item = &state->memory.at[summary->memory.at[i]];
        line_begin(out, &heading);
        buf_printf(out, "%s experience, %.2fx: ", tune_experience_word(item->is), item->speedup);
        line_put(out, item->title);
        buf_putc(out, '\n');
    }
    for (size_t i = from; i < summary->notes.len; i++) {
        const struct tune_note *note = &state->notes.at[summary->notes.at[i]];
        line_begin(out, &heading);
        buf_printf(out, "round %d: ", note->round);
        line_put(out, note->lesson);
        buf_putc(out, '\n');
    }
    if (from)
        buf_printf(out, "%-8s and %zu note%s before\n", "", from, PLURAL(from));
}

const char *tune_failing_between(const struct tune_failing *row) {
    return !row->why ? "" : row->each && row->count > 1 ? ", the last one: " : ": ";
}

static void failed_text(const struct tune_summary *summary, struct buf *out) {
    const char *heading = "failed";
    for (size_t i = 0; i < summary->failed.len; i++) {
        const struct tune_failing *row = &summary->failed.at[i];
        line_begin(out, &heading);
        buf_printf(out, "%dx %s", row->count, row->what);
        buf_puts(out, tune_failing_between(row));
        line_put(out, row->why);
        buf_putc(out, '\n');
    }
}

static void spent_put(const struct tune_state *state, enum tune_budget budget, struct buf *out) {
    double spent = tune_budget_spent(state, budget);
    if (isnan(spent))
        buf_printf(out, "%s not reported", tune_budget_word(budget));
    else
        tune_budget_print(out, budget, spent);
}

static void cost_text(const struct tune_state *state, const struct tune_summary *summary,
                      struct buf *out) {
    bool asked = summary->costs.len || !isnan(tune_budget_spent(state, TUNE_BUDGET_TOKENS));
    buf_puts(out, "cost     ");
    for (int i = 0; i < (asked ? TUNE_BUDGETS : TUNE_BUDGET_TOKENS); i++) {
        buf_puts(out, i ? ", " : "");
        spent_put(state, (enum tune_budget)i, out);
    }
    buf_puts(out, asked ? "\n" : ", no model was asked\n");
    for (size_t i = 0; i < summary->costs.len; i++) {
        const struct tune_cost *row = &summary->costs.at[i];
        buf_printf(out, "%-8s %s, %s: %d asked", "", row->role, row->model, row->asked);
        if (row->failed)
            buf_printf(out, " (%d failed)", row->failed);
        buf_puts(out, row->guessed ? ", about " : ", ");
        tune_amount_print(out, TUNE_BUDGET_TOKENS, row->tokens);
        buf_puts(out, isnan(row->tokens) ? " (tokens), " : " tokens, ");
        tune_amount_print(out, TUNE_BUDGET_DOLLARS, row->dollars);
        buf_puts(out, isnan(row->dollars) ? " (dollars), " : ", ");
        tune_amount_print(out, TUNE_BUDGET_WALL_S, row->seconds);
        buf_putc(out, '\n');
    }
}

void tune_summary_print(const struct tune_state *state, const char *folder, const char *why,
                        struct buf *out) {
    struct tune_summary summary;
    const char *reason = why ? why : state->wait_text;
    tune_summary_make(state, &summary);
    if (reason)
        buf_printf(out, "ended    %s\n", reason);
    best_text(state, folder, out);
    if (state->attempts.len) {
        ladder_text(state, &summary, out);
        failed_text(&summary, out);
        learnt_text(state, &summary, out);
    }
    cost_text(state, &summary, out);
    if (state->disturbed)
        buf_printf(out, "again    %d %s disturbed from outside; no kernel was blamed\n",
                   state->disturbed, state->disturbed == 1 ? "evaluation was" : "evaluations were");
    tune_summary_free(&summary);
}

/* --------------------------------------------------------------------------------- as an event */

static void predicted_tell(struct arena *arena, const struct tune_attempt *attempt,
                           struct tune_event_rung *rung) {
    const struct tune_prediction *found = &attempt->prediction;
    struct tune_named *engines = ARENA_ARRAY(arena, struct tune_named, found->engine_count);
    if (!tune_predicted(attempt))
        return;
    for (size_t i = 0; i < found->engine_count; i++)
        engines[i] = (struct tune_named){.name = found->engines[i].engine,
                                         .number = found->engines[i].percent};
    rung->predicted_us = found->us;
    rung->predicted_by = found->by;
    rung->predicted_optimised = found->optimised;
    rung->predicted_utilisation = (struct tune_by_name){engines, found->engine_count, true};
    rung->predicted_macs = found->macs;
    rung->predicted_hbm_bytes = found->hbm_bytes;
}

static struct tune_event_rung *ladder_tell(struct arena *arena, const struct tune_state *state,
                                           const struct tune_summary *summary) {
    struct tune_event_rung *rows = ARENA_ARRAY(arena, struct tune_event_rung, summary->ladder.len);
    for (size_t i = 0; i < summary->ladder.len; i++) {
        const struct tune_attempt *attempt = &state->attempts.at[summary->ladder.at[i].attempt];
        rows[i] = (struct tune_event_rung){.attempt = attempt->id,
                                           .parent = attempt->parent,
                                           .round = attempt->round,
                                           .strategy =
                                               arena_strdup(arena, summary->ladder.at[i].strategy),
                                           .title = attempt->plan.title,
                                           .author = attempt->author,
                                           .latency_us = attempt->latency_us,
                                           .speedup = attempt->speedup,
                                           .ratio = attempt->vs_parent,
                                           .low = attempt->interval.low,
                                           .high = attempt->interval.high,
                                           .modelled = attempt->modelled,
                                           .precision = attempt->precision,
                                           .predicted_us = NAN,
                                           .confirmed = attempt->confirmed};
        predicted_tell(arena, attempt, &rows[i]);
    }
    return rows;
}

static struct tune_event_lesson *notes_tell(struct arena *arena, const struct tune_state *state,
                                            const struct tune_summary *summary) {
    struct tune_event_lesson *rows =
        ARENA_ARRAY(arena, struct tune_event_lesson, summary->notes.len);
    for (size_t i = 0; i < summary->notes.len; i++) {
        const struct tune_note *note = &state->notes.at[summary->notes.at[i]];
        rows[i] = (struct tune_event_lesson){note->round, note->lesson, note->category, note->held,
                                             note->diagnosis};
    }
    return rows;
}

static struct tune_event_learnt *memory_tell(struct arena *arena, const struct tune_state *state,
                                             const struct tune_summary *summary) {
    struct tune_event_learnt *rows =
        ARENA_ARRAY(arena, struct tune_event_learnt, summary->memory.len);
    for (size_t i = 0; i < summary->memory.len; i++) {
        const struct tune_experience *item = &state->memory.at[summary->memory.at[i]];
        rows[i] = (struct tune_event_learnt){item->attempt, item->title, item->speedup, item->is};
    }
    return rows;
}

static struct tune_event_failing *failed_tell(struct arena *arena,
                                              const struct tune_summary *summary) {
    struct tune_event_failing *rows =
        ARENA_ARRAY(arena, struct tune_event_failing, summary->failed.len);
    for (size_t i = 0; i < summary->failed.len; i++) {
        const struct tune_failing *failing = &summary->failed.at[i];
        rows[i] = (struct tune_event_failing){arena_strdup(arena, failing->what), failing->count,
                                              MAX_OF(failing->attempt, -1), failing->why};
    }
    return rows;
}

static struct tune_event_cost *cost_tell(struct arena *arena, const struct tune_state *state,
                                         const struct tune_summary *summary) {
    struct tune_event_cost *cost = ARENA_NEW(arena, struct tune_event_cost);
    struct tune_event_model_cost *rows =
        ARENA_ARRAY(arena, struct tune_event_model_cost, summary->costs.len);
    for (size_t i = 0; i < summary->costs.len; i++) {
        const struct tune_cost *one = &summary->costs.at[i];
        rows[i] =
            (struct tune_event_model_cost){one->role,   one->model,   one->asked,   one->failed,
                                           one->tokens, one->dollars, one->seconds, one->guessed};
    }
    *cost = (struct tune_event_cost){.rounds = tune_budget_spent(state, TUNE_BUDGET_ROUNDS),
                                     .wall = tune_budget_spent(state, TUNE_BUDGET_WALL_S),
                                     .device = tune_budget_spent(state, TUNE_BUDGET_DEVICE_S),
                                     .tokens = tune_budget_spent(state, TUNE_BUDGET_TOKENS),
                                     .dollars = tune_budget_spent(state, TUNE_BUDGET_DOLLARS),
                                     .models = {rows, summary->costs.len, true}};
    return cost;
}

/* The best kernel of each class that has one. */
static struct tune_event_class *classes_tell(struct arena *arena, const struct tune_state *state,
                                             size_t *count) {
    struct tune_event_class *rows = ARENA_ARRAY(arena, struct tune_event_class, TUNE_PRECISIONS);
    *count = 0;
    for (int i = 0; i < TUNE_PRECISIONS; i++) {
        int id = tune_best_in(state, (enum tune_precision)i);
        const struct tune_attempt *best = tune_state_attempt(state, id);
        if (best)
            rows[(*count)++] =
                (struct tune_event_class){.precision = (enum tune_precision)i,
                                          .attempt = id,
                                          .latency_us = best->latency_us,
                                          .floor_us = tune_floor_in(best, best->precision),
                                          .speedup = best->speedup};
    }
    return rows;
}

struct tune_event_summary tune_summary_tell(const struct tune_state *state, const char *why,
                                            struct arena *arena) {
    struct tune_summary summary;
    const struct tune_attempt *seed = tune_state_attempt(state, 0);
    const struct tune_attempt *best = tune_state_attempt(state, state->best);
    size_t classes = 0;
    struct tune_event_class *by_class = classes_tell(arena, state, &classes);
    tune_summary_make(state, &summary);
    struct tune_event_summary told = {
        .why = why ? why : state->wait_text,
        .attempts = (int)state->attempts.len,
        .seed_us = seed ? seed->latency_us : (double)NAN,
        .best_us = best ? best->latency_us : (double)NAN,
        .speedup = best ? best->speedup : (double)NAN,
        .best = best ? best->id : -1,
        .precision = best ? best->precision : TUNE_PRECISION_KEEP,
        .classes = {by_class, classes, true},
        .ladder = {ladder_tell(arena, state, &summary), summary.ladder.len, true},
        .failed = {failed_tell(arena, &summary), summary.failed.len, true},
        .notes = {notes_tell(arena, state, &summary), summary.notes.len, true},
        .experiences = {memory_tell(arena, state, &summary), summary.memory.len, true},
        .cost = cost_tell(arena, state, &summary)};
    tune_summary_free(&summary);
    return told;
}
