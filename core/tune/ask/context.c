/* SPDX-License-Identifier: Apache-2.0 */
/* The context of a proposal: what the next plan is made from, as data and as text, from the state
 * alone. It sends nothing and does not know who reads it. */
#include "tune/ask/context.h"

#include <math.h>
#include <stdlib.h>

#include "device/device.h"
#include "runner/runner.h"
#include "tune/ask/facts.h"
#include "tune/ask/sections.h"
#include "tune/state/state.h"
#include "tune/ask/menu.h"
#include "tune/state/inner.h"
#include "tune/ask/ask.h"
#include "tune/read/read.h"
#include "tune/sums/sums.h"

static const char *keep(struct tune_context *context, const char *text) {
    return text ? arena_strdup(context->arena, text) : NULL;
}

static const char *limited_keep(struct tune_context *context, const struct tune_attempt *attempt) {
    struct buf limited = {0};
    tune_limited_print(attempt, &limited);
    const char *kept = limited.len ? keep(context, limited.at) : NULL;
    buf_free(&limited);
    return kept;
}

/* What closed a direction last is how it was closed. */
static void closed_add(struct tune_context *context, struct tune_closed row) {
    if (!row.key || !*row.key)
        return;
    for (size_t i = 0; i < context->closed.len; i++) {
        struct tune_closed *there = &context->closed.at[i];
        if (!strcmp(there->key, row.key)) {
            there->in_others |= row.in_others;
            there->by_title |= row.by_title;
            there->how = row.how;
            return;
        }
    }
    row.key = keep(context, row.key);
    row.title = keep(context, row.title);
    *vec_push(&context->closed) = row;
}

/* A direction that had its second turn is closed by what stood in its way. */
static const char *closed_how(struct tune_context *context, const struct tune_state *state,
                              const struct tune_attempt *attempt) {
    struct buf how = {0}, obstacle = {0};
    buf_printf(&how, "attempt %d", attempt->id);
    if (attempt->left_out)
        buf_printf(&how, ", without %d of its %d hunks", attempt->left_out, attempt->hunks);
    if (tune_is_second_turn(state, attempt))
        tune_obstacle_print(state, attempt, &obstacle);
    buf_printf(&how, ": %s%s%s", tune_status_word(attempt->status),
               obstacle.len ? " in its second turn," : "", obstacle.len ? obstacle.at : "");
    const char *kept = keep(context, how.at);
    buf_free(&how);
    buf_free(&obstacle);
    return kept;
}

/* Directions that did not work, whoever found that out. */
static void closed_fill(struct tune_context *context, const struct tune_state *state) {
    for (size_t i = 1; i < state->attempts.len; i++) {
        const struct tune_attempt *attempt = &state->attempts.at[i];
        /* A parent of a beam lives on beside what was made of it. */
        bool made = !state->way->keeps_at_once && attempt->parent == context->attempt;
        if (attempt->outdated || tune_has_second_turn(state, attempt))
            continue;
        if (state->way->keeps_at_once && attempt->parent == context->attempt &&
            attempt->status == TUNE_STATUS_KEEP && attempt->plan.key && *attempt->plan.key)
            *vec_push(&context->left) = keep(context, attempt->plan.key);
        if (made || (attempt->status != TUNE_STATUS_KEEP && attempt->status != TUNE_STATUS_OPEN))
            closed_add(context,
                       (struct tune_closed){.key = attempt->plan.key,
                                            .title = attempt->plan.title,
                                            .how = closed_how(context, state, attempt),
                                            .by_title = attempt->status != TUNE_STATUS_KEEP &&
                                                        tune_is_second_turn(state, attempt)});
    }
    for (size_t i = 0; i < state->rejections.len; i++) {
        const struct tune_rejection *row = &state->rejections.at[i];
        closed_add(context, (struct tune_closed){.key = row->key,
                                                 .title = row->title,
                                                 .how = row->by_loop ? "it could not be carried out"
                                                                     : "the person rejected it",
                                                 .in_others = !row->by_loop});
    }
}

static void profile_fill(struct tune_context *context, const struct tune_state *state,
                         const struct tune_attempt *attempt) {
    struct tune_lines lines = tune_lines(state, attempt);
    for (size_t i = 0; i < lines.len; i++) {
        struct tune_line_cost line = lines.at[i];
        line.engine = keep(context, line.engine);
        *vec_push(&context->lines) = line;
    }
    for (size_t i = 0; i < attempt->metrics.len; i++) {
        struct tune_metric metric = tune_metric_at(attempt, i);
        *vec_push(&context->metrics) = (struct tune_metric){
            keep(context, metric.name), keep(context, metric.unit), metric.value};
    }
    for (size_t i = 0; i < attempt->bounds.len; i++)
        *vec_push(&context->bounds) =
            (struct tune_bound){keep(context, attempt->bounds.at[i].name),
                                attempt->bounds.at[i].busy_us, attempt->bounds.at[i].without_us};
}

static void memory_print(struct tune_context *context, const struct tune_state *state) {
    struct buf memory = {0}, closed = {0};
    tune_context_memory(state, &memory);
    tune_context_closed(state, &closed);
    tune_section_add(context, "memory", &memory);
    tune_section_add(context, "closed directions", &closed);
}

void tune_section_task(struct tune_context *context, const struct tune_state *state) {
    struct buf out = {0};
    buf_printf(&out, "%s%s%s on %s (%s%s%s)\n", state->task ? state->task : "kernel",
               state->function ? ", function " : "", state->function ? state->function : "",
               device_name(state->device), state->target ? state->target : "sim",
               state->nki ? ", NKI " : "", state->nki ? state->nki : "");
    if (state->sizes)
        buf_printf(&out, "inputs: %s\n", state->sizes);
    buf_printf(&out, "tolerance: relative L2 %.3g; precision: %s\n", state->tolerance,
               state->precision ? state->precision : "keep");
    tune_section_add(context, "task", &out);
}

/* A source with line numbers, for people and models to point at. */
static void numbered_print(struct tune_context *context, const char *name, const char *source) {
    struct buf out = {0};
    struct str rest = str_of(source), line;
    for (int number = 1; str_next(&rest, '\n', &line); number++)
        if (rest.len || line.len)
            buf_printf(&out, "%4d  " STR_FMT "\n", number, STR_ARG(line));
    tune_section_add(context, name, &out);
}

void tune_section_text(struct tune_context *context, const char *name, const char *text) {
    struct buf out = {0};
    if (text)
        buf_puts(&out, text);
    tune_section_add(context, name, &out);
}

/* What is the same in every question of a session, for all roles: services can cache it. */
void tune_section_shared(struct tune_context *context, const struct tune_state *state,
                         const char *source) {
    struct buf out = {0};
    tune_facts_limits(device_name(state->device), &out);
    tune_section_add(context, "limits", &out);
    if (source)
        tune_facts_api(tune_memory_dialect(source), tune_release(state), device_name(state->device),
                       &out);
    tune_section_add(context, "api", &out);
    tune_facts_metrics(&out);
    tune_section_add(context, "metrics", &out);
    tune_section_text(context, "reference", state->reference_source);
}

/* The instructions that matter here, in full: those of the kernel and of its profile, of the plan,
 * of the strategies that are shown. */
static void in_use_section(struct tune_context *context, const struct tune_state *state,
                           const struct tune_plan *plan) {
    struct buf words = {0}, out = {0};
    for (size_t i = 0; i < context->sections.len; i++)
        if (!strcmp(context->sections.at[i].name, "strategies") ||
            !strcmp(context->sections.at[i].name, "causes")) /* what nl.matmul becomes */
            buf_puts(&words, context->sections.at[i].text);
    if (plan)
        buf_printf(&words, " %s %s", plan->title ? plan->title : "", plan->what ? plan->what : "");
    const struct tune_facts_told told = {tune_memory_dialect(context->source), tune_release(state),
                                         device_name(state->device)};
    tune_facts_in_use(&told, context->source, words.at, &out);
    buf_free(&words);
    tune_section_add(context, "api in use", &out);
}

void tune_context_pages(const struct tune_context *context, const struct tune_state *state,
                        struct buf *out) {
    const char *source = context->repair_source ? context->repair_source : context->source;
    const struct tune_facts_told told = {tune_memory_dialect(source), tune_release(state),
                                         device_name(state->device)};
    tune_facts_pages(&told, source, out);
}

/* The same question goes out several times at once, and the answers should differ. */
static void several_print(struct tune_context *context, const struct tune_state *state,
                          const struct tune_lane *lane) {
    int samples = 0, draws = 0;
    struct buf out = {0};
    for (size_t i = 0; i < state->lanes.len; i++) {
        const struct tune_lane *other = &state->lanes.at[i];
        if (other->parent != lane->parent)
            continue;
        draws = MAX_OF(draws, other->draw + 1);
        samples = other->draw == lane->draw ? MAX_OF(samples, other->sample + 1) : samples;
    }
    if (lane->plan < 0 && draws > 1)
        buf_printf(&out,
                   "This question is put %d times at once; this is number %d. The most obvious "
                   "change belongs to number 1, the others look further.\n",
                   draws, lane->draw + 1);
    if (lane->plan >= 0 && samples > 1)
        buf_printf(&out,
                   "This plan is carried out %d times at once; this is number %d. The most "
                   "obvious way belongs to number 1, the others take another one.\n",
                   samples, lane->sample + 1);
    tune_section_add(context, "several", &out);
}

static void share_print(struct buf *out, const char *label, double share) {
    if (!isnan(share))
        buf_printf(out, "%s%+.0f %%\n", label, share * 100);
}

void tune_section_plan(struct tune_context *context, const struct tune_plan *plan) {
    struct buf out = {0};
    if (plan) {
        context->first_line = plan->first_line;
        context->last_line = plan->last_line;
        buf_printf(&out, "%s\n%s\n", plan->title ? plan->title : "", plan->what ? plan->what : "");
        if (plan->why)
            buf_printf(&out, "Why: %s\n", plan->why);
        if (plan->first_line) {
            buf_puts(&out, "Lines: ");
            tune_plan_lines_print(&out, plan);
            buf_putc(&out, '\n');
        }
        if (plan->metric)
            buf_printf(&out, "It should bring %s %s", plan->metric,
                       tune_direction_word(plan->direction));
        if (plan->metric)
            buf_puts(&out, isnan(plan->size) ? "\n" : " by ");
        if (plan->metric && !isnan(plan->size))
            buf_printf(&out, "%.0f %%\n", plan->size * 100);
        share_print(&out, "and the latency by ", plan->latency);
    }
    tune_section_add(context, "plan", &out);
}

static void diagnostic_print(struct buf *out, const struct tune_state *state,
                             const struct tune_diagnostic *diag, const char *source) {
    const struct tune_facts_told told = {tune_memory_dialect(source), tune_release(state),
                                         device_name(state->device)};
    struct message meaning;
    bool known = diag->code && *diag->code && message_by_code(diag->code, &meaning);
    struct str text = tune_line_text(source, diag->line);
    buf_printf(out, "%s error", tune_diagnostic_cause(diag));
    if (diag->line > 0)
        buf_printf(out, ", line %d", diag->line);
    buf_printf(out, ": %s", diag->message ? diag->message : "");
    if (diag->code && *diag->code)
        buf_printf(out, " [%s]", diag->code);
    if (text.len)
        buf_printf(out, "\n    " STR_FMT, STR_ARG(text));
    if (known && !meaning.is_own) /* a lint says so itself */
        buf_printf(out, "\n    " STR_FMT ": %s. %s", STR_ARG(meaning.name), meaning.what,
                   meaning.fix);
    buf_putc(out, '\n');
    tune_facts_near(&told, diag->message, out);
}

/* What a diagnosis found out about wrong numbers, a line for each finding. It is bounded already.
 */
static void wrong_print(struct buf *out, const struct tune_state *state,
                        const struct tune_attempt *open) {
    const struct tune_diagnostic *diag;
    size_t at = 0;
    buf_printf(out, "It compiles and computes wrong numbers: %s\n",
               open->verdict.correct_why ? open->verdict.correct_why
                                         : "not those of the reference");
    while ((diag = tune_diagnostic_next(state, open->id, &at))) {
        struct message meaning;
        struct str text = tune_line_text(tune_source(state, open), diag->line);
        bool own = diag->code && message_by_code(diag->code, &meaning) && meaning.is_own;
        if (diag->severity != DIAG_NOTE || !own)
            continue;
        if (diag->line > 0)
            buf_printf(out, "line %d: ", diag->line);
        buf_printf(out, "%s [%s]\n", diag->message ? diag->message : "", diag->code);
        if (text.len)
            buf_printf(out, "    " STR_FMT "\n", STR_ARG(text));
    }
}

/* What the check or the comparison said about the candidate; only while one is open that can be
 * repaired by it. */
static void repair_fill(struct tune_context *context, const struct tune_state *state,
                        const struct tune_attempt *open) {
    if (!open || open->id == 0 || open->status != TUNE_STATUS_OPEN || !tune_is_broken(state, open))
        return;
    struct buf out = {0};
    const struct tune_diagnostic *diag;
    size_t at = 0;
    int most = tune_repairs_most(state, open);
    if (most > 0)
        buf_printf(&out, "This is repair turn %d of %d.%s\n", MIN_OF(open->repairs + 1, most), most,
                   open->repairs + 1 >= most ? " There is no turn after it." : "");
    size_t head = out.len;
    while ((diag = tune_diagnostic_next(state, open->id, &at)))
        if (diag->severity == DIAG_ERROR)
            diagnostic_print(&out, state, diag, tune_source(state, open));
    if (open->verdict.compiles != TUNE_ANSWER_NO)
        wrong_print(&out, state, open);
    if (out.len == head && open->verdict.compiles_why)
        buf_puts(&out, open->verdict.compiles_why);
    context->repair_error = keep(context, out.at ? out.at : "it does not compile");
    context->repair_source = keep(context, tune_source(state, open));
    tune_section_add(context, "what has to be repaired", &out);
    tune_section_text(context, "earlier turns", open->turns);
}

void tune_section_changes(struct tune_context *context, const struct tune_state *state) {
    for (size_t i = 0; i < state->parts.len; i++) {
        struct tune_part_change change = state->parts.at[i];
        change.part = keep(context, change.part);
        change.text = keep(context, change.text);
        *vec_push(&context->changes) = change;
    }
}

static void menu_print(struct tune_context *context, const struct tune_state *state, int call) {
    struct buf strategies = {0}, avoid = {0};
    tune_menu_show(state, state->incumbent, call, &strategies, &avoid);
    tune_section_add(context, "strategies", &strategies);
    tune_section_add(context, "dead ends", &avoid);
}

/* NKI 0.2 was the first whose kernels of the package nki look as they do today. */
static bool takes_current(const struct tune_state *state) {
    bool here = !state->target || strcmp(state->target, "sim") == 0;
    return here || (tune_release(state) && nki_release_compare(tune_release(state), "0.2") >= 0);
}

/* `call`: the question that the context is for, where it was put already; else -1. */
static struct tune_context *proposal_context(const struct tune_state *state, int lane, int call) {
    struct tune_context *context = mem_alloc(1, sizeof *context);
    context->arena = arena_new();
    context->round = state->round;
    context->attempt = tune_lane_parent(state, lane);
    context->task = keep(context, state->task);
    context->function = keep(context, state->function);
    context->path = keep(context, tune_kernel_file(state));
    context->reference_path = keep(context, tune_reference_file(state));
    context->device = keep(context, state->device);
    context->pessimistic = state->is_pessimistic;
    context->lnc = state->lnc;
    context->precision = keep(context, state->precision ? state->precision : "keep");
    context->once = call >= 0 && (size_t)call < state->calls.len ? state->calls.at[call].once
                                                                 : tune_asks_for_both(state);
    context->takes_current = takes_current(state);
    context->tolerance = state->tolerance;
    context->latency_us = context->floor_us = NAN;
    const struct tune_attempt *from = tune_state_attempt(state, context->attempt);
    context->source = keep(context, from ? tune_source(state, from) : state->kernel_source);
    closed_fill(context, state);
    tune_section_changes(context, state);
    tune_section_task(context, state);
    if (from) {
        context->latency_us = from->latency_us;
        context->only_certain = from->modelled && !state->keeps_inside;
        context->floor_us = tune_floor_in(from, tune_precision_allowed(state));
        context->bound_by = keep(context, from->bound_by);
        context->limited_by = limited_keep(context, from);
        profile_fill(context, state, from);
        tune_profile_section(context, "profile", from);
        tune_lines_section(context, state, from);
        tune_causes_section(context, state, from);
    }
    tune_tried_sections(context, state);
    memory_print(context, state);
    menu_print(context, state, call);
    repair_fill(context, state, tune_attempt_in(state, lane));
    tune_section_plan(context, tune_lane_plan(state, lane));
    tune_section_shared(context, state, context->source);
    tune_section_imports(context, state);
    in_use_section(context, state, tune_lane_plan(state, lane));
    tune_section_text(context, "plans wanted",
                      state->way->divides ? "one or two plans" : "one to three plans");
    tune_precision_section(context, state, from);
    several_print(context, state, tune_lane_of(state, lane));
    numbered_print(context, "kernel", context->source);
    if (context->repair_source)
        numbered_print(context, "failed kernel", context->repair_source);
    return context;
}

struct tune_context *tune_context_build(const struct tune_state *state, int lane) {
    return proposal_context(state, lane, -1);
}

/* --------------------------------------------------------------------------- one more question */

/* The words that a question went out with; what was edited since comes before them. */
static void edits_fill(struct tune_context *context, const struct tune_call *call) {
    for (size_t i = call->n_edits; i > 0; i--) {
        struct tune_part_change change = call->edits[i - 1];
        change.part = keep(context, change.part);
        change.text = keep(context, change.text);
        vec_push(&context->changes);
        memmove(context->changes.at + 1, context->changes.at,
                (context->changes.len - 1) * sizeof change);
        context->changes.at[0] = change;
    }
}

/* The answer that could not be used, and why. */
static void mend_fill(struct tune_context *context, const struct tune_call *call) {
    tune_section_text(context, "answer", call->said && *call->said ? call->said : "(nothing)");
    tune_section_text(context, "complaint", call->unread);
}

static const struct tune_call *call_at(const struct tune_state *state, int number) {
    return number >= 0 && (size_t)number < state->calls.len ? &state->calls.at[number] : NULL;
}

static bool is_mended(const struct tune_call *call) {
    return call && call->unread && !call->lost;
}

struct tune_context *tune_context_question(const struct tune_state *state, int lane,
                                           enum tune_role role, int call) {
    const struct tune_call *at = call_at(state, call);
    const struct tune_call *mended = !at || is_mended(at) ? at : call_at(state, at->mends);
    bool lesson = role == TUNE_ROLE_SUMMARISER || role == TUNE_ROLE_REFLECTOR;
    struct tune_context *context =
        lesson ? tune_context_lesson(state, lane) : proposal_context(state, lane, call);
    if (at && at->n_edits)
        edits_fill(context, at);
    else if (mended)
        edits_fill(context, mended);
    if (is_mended(mended))
        mend_fill(context, mended);
    return context;
}

void tune_context_free(struct tune_context *context) {
    if (!context)
        return;
    vec_free(&context->closed);
    vec_free(&context->left);
    vec_free(&context->lines);
    vec_free(&context->metrics);
    vec_free(&context->bounds);
    vec_free(&context->sections);
    vec_free(&context->changes);
    arena_free(context->arena);
    free(context);
}

bool tune_closed_takes(const struct tune_closed *closed, const char *key) {
    if (!closed->in_others)
        return strcmp(closed->key, key) == 0;
    size_t length = strlen(closed->key);
    for (const char *at = key; at; at = strchr(at, '+')) {
        at += *at == '+';
        if (strncmp(at, closed->key, length) == 0 && (!at[length] || at[length] == '+'))
            return true;
    }
    return false;
}

static bool closes(const struct tune_closed *row, const struct tune_plan *plan) {
    struct tune_plan closed = {.title = row->title};
    return (plan->key && tune_closed_takes(row, plan->key)) ||
           (row->by_title && tune_same_direction(&closed, plan));
}

const char *tune_context_closed_how(const struct tune_context *context,
                                    const struct tune_plan *plan) {
    for (size_t i = 0; i < context->closed.len; i++)
        if (closes(&context->closed.at[i], plan))
            return context->closed.at[i].how;
    return NULL;
}
