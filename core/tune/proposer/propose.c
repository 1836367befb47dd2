/* SPDX-License-Identifier: Apache-2.0 */
/* The plan and rewrite steps: asks the proposer, stores what it answers. What a proposal is worth
 * is found out by others. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tune/proposer/inner.h"
#include "tune/state/state.h"
#include "tune/read/read.h"
#include "tune/exchange/inner.h"
#include "tune/sums/sums.h"

#define MAX_PLANS 64

struct tune_reply *tune_request(struct tune_work work, enum tune_work_is is,
                                struct tune_context *context) {
    struct tune_reply *reply = mem_alloc(1, sizeof *reply);
    *reply = (struct tune_reply){.work = work, .is = is, .context = context};
    struct tune_reply **end = &work.session->replies;
    while (*end)
        end = &(*end)->next;
    *end = reply;
    return reply;
}

void tune_request_end(struct tune_reply *reply) {
    reply->done = true;
}

void tune_replies_free(struct tune_session *session) {
    struct tune_reply **place = &session->replies;
    while (*place && !session->asking) {
        struct tune_reply *reply = *place;
        if (!reply->done) {
            place = &reply->next;
            continue;
        }
        *place = reply->next;
        tune_context_free(reply->context);
        if (reply->lesson_arena)
            arena_free(reply->lesson_arena);
        free(reply);
    }
}

/* Which notes and experiences are in a prompt. The rewriter is asked without one. */
static void entered_note(struct tune_session *session, int lane) {
    const struct tune_state *state = session->state;
    if (session->proposer->asks_nobody)
        return;
    VEC(int) notes = {0};
    VEC(int) memory = {0};
    for (size_t i = 0; i < state->notes.len; i++)
        if (tune_context_has_note(state, i))
            *vec_push(&notes) = (int)i;
    for (size_t i = 0; i < state->memory.len; i++)
        if (tune_context_has_experience(state, i))
            *vec_push(&memory) = (int)i;
    if (notes.len || memory.len)
        tune_emit(session, lane,
                  TUNE_EVENT(ENTERED, entered, .notes = {notes.at, notes.len, true},
                             .memory = {memory.at, memory.len, true}));
    vec_free(&notes);
    vec_free(&memory);
}

void tune_plan_start(struct tune_session *session, int lane) {
    const struct tune_state *state = session->state;
    if (state->way->opens &&
        (tune_sweep_plan(session, lane) || tune_submission_plan(session, lane)))
        return;
    entered_note(session, lane);
    if (session->halted)
        return;
    struct tune_reply *reply = tune_request(tune_work_of(session, lane, TUNE_STEP_PLAN),
                                            TUNE_WORK_PLAN, tune_context_build(state, lane));
    session->asking++;
    session->proposer->plan(session->proposer->self, reply->context, reply);
    session->asking--;
}

/* The kernel that came with the plan, by the same author. */
static void kernel_take(struct tune_reply *reply, const char *source) {
    if (reply->plan.author)
        tune_reply_author(reply, reply->plan.author);
    tune_reply_candidate(reply, str_of(source));
}

void tune_rewrite_start(struct tune_session *session, int lane) {
    const struct tune_plan *plan = tune_lane_plan(session->state, lane);
    if (!plan) {
        tune_step_done(session, lane, TUNE_STEP_REWRITE, TUNE_IS_FAILED, "there is no plan");
        return;
    }
    struct tune_reply *reply =
        tune_request(tune_work_of(session, lane, TUNE_STEP_REWRITE), TUNE_WORK_REWRITE,
                     tune_context_build(session->state, lane));
    reply->plan = *plan;
    session->asking++;
    if (tune_sweep_is_one(plan))
        tune_sweep_rewrite(reply->context, &reply->plan, reply);
    else if (tune_lane_kernel(session->state, lane))
        kernel_take(reply, tune_lane_kernel(session->state, lane));
    else if (!tune_submission_rewrite(&reply->plan, reply)) {
        struct tune_plan carried = tune_submission_carried(session->state, &reply->plan);
        session->proposer->rewrite(session->proposer->self, reply->context, &carried, reply);
    }
    session->asking--;
}

static bool reply_is_open(const struct tune_reply *reply) {
    return !reply->done && !reply->work.session->closing;
}

/* Whether the answer is wanted; not when it comes too late or for the second time. */
static bool reply_is_current(const struct tune_reply *reply, enum tune_work_is work) {
    return reply_is_open(reply) && reply->is == work;
}

static const char *author_of(const struct tune_reply *reply) {
    return *reply->author ? reply->author : reply->work.session->proposer->name;
}

/* --------------------------------------------------------------------------------------- plans */

/* What is to be written down. Texts that nobody else keeps long enough are in the arena. */
struct offers {
    VEC(struct tune_plan) plans;
    struct arena *arena;
};

/* Whether the plan is left out, with the reason in the log. */
static bool leaves_out(struct tune_reply *reply, const struct tune_plan *plan, size_t before) {
    const char *how = tune_context_closed_how(reply->context, plan);
    const char *title = plan->title ? plan->title : "a plan";
    if (how)
        tune_emit_log(reply->work.session, reply->work.lane, TUNE_LEVEL_INFO, "plan",
                      "left out: \"%.60s\" was tried and closed already (%s)", title, how);
    else if (before >= MAX_PLANS)
        tune_emit_log(reply->work.session, reply->work.lane, TUNE_LEVEL_INFO, "plan",
                      "left out: \"%.60s\" comes after the first %d plans", title, MAX_PLANS);
    return how || before >= MAX_PLANS;
}

static void plan_store(struct tune_reply *reply, struct tune_plan plan, struct offers *offers) {
    if (leaves_out(reply, &plan, offers->plans.len))
        return;
    if (!plan.author)
        plan.author = author_of(reply);
    plan.held = TUNE_ANSWER_UNKNOWN;
    plan.moved = NAN;
    plan.edited = plan.revised = false;
    *vec_push(&offers->plans) = plan;
}

/* A plan that asks for a sweep becomes one for each of its values. */
static void sweep_store(struct tune_reply *reply, struct tune_plan plan, struct offers *offers) {
    struct tune_plan plans[TUNE_SWEEP_MOST];
    struct err err = {0};
    plan.author = plan.author ? plan.author : author_of(reply);
    plan.source = NULL; /* its values are written by hone */
    size_t count = tune_sweep_expand(reply->work.session->state, reply->context->attempt, &plan,
                                     offers->arena, plans, &err);
    for (size_t i = 0; i < count; i++)
        plan_store(reply, plans[i], offers);
    if (!count)
        tune_emit_log(reply->work.session, reply->work.lane, TUNE_LEVEL_WARNING, "plan",
                      "no sweep: %s", err.text);
    plan.sweep = NULL;
    if (!count && err.kind == ERR_USAGE)
        plan_store(reply, plan, offers);
}

static bool plans_store(struct tune_reply *reply, const struct tune_plan *plans, size_t count) {
    struct offers offers = {.arena = arena_new()};
    for (size_t i = 0; i < count && i < MAX_PLANS; i++) {
        if (plans[i].sweep)
            sweep_store(reply, plans[i], &offers);
        else
            plan_store(reply, plans[i], &offers);
    }
    bool some = offers.plans.len &&
                tune_emit(reply->work.session, reply->work.lane,
                          TUNE_EVENT(PLANS, plans, .plans = {offers.plans.at, offers.plans.len}));
    vec_free(&offers.plans);
    arena_free(offers.arena);
    return some;
}

/* Where there are several lanes, they divide the offers among them once all questions are
 * answered. */
static void plans_end(struct tune_session *session, int lane, bool some) {
    const struct tune_plan *plan = tune_lane_plan(session->state, lane);
    if (!some)
        tune_step_done(session, lane, TUNE_STEP_PLAN, TUNE_IS_FAILED, "nothing left to propose");
    else
        tune_step_done(session, lane, TUNE_STEP_PLAN, TUNE_IS_OK, "%s",
                       plan && plan->title ? plan->title : "a plan");
    if (!some && session->state->way->tries_again)
        tune_stop(session, lane, "%s has nothing left to propose for this kernel",
                  session->proposer->name);
}

void tune_reply_plans(struct tune_reply *reply, const struct tune_plan *plans, size_t count) {
    if (!reply_is_current(reply, TUNE_WORK_PLAN))
        return;
    struct tune_session *session = reply->work.session;
    bool some = plans_store(reply, plans, count);
    tune_request_end(reply);
    if (!session->halted)
        plans_end(session, reply->work.lane, some);
    tune_advance(session);
}

/* --------------------------------------------------------------------------------- candidates */

static void plan_fail(struct tune_session *session, int lane, const char *text) {
    tune_emit(session, lane, TUNE_EVENT(PLAN_FAILED, plan_failed, .text = text));
    const struct tune_attempt *open = tune_attempt_in(session->state, lane);
    if (open && open->id > 0 && open->status == TUNE_STATUS_OPEN) {
        const char *why = open->verdict.compiles == TUNE_ANSWER_NO ? open->verdict.compiles_why
                                                                   : open->verdict.correct_why;
        struct buf reason = {0};
        buf_printf(&reason, "%s%s%s", why ? why : "", why ? "; " : "", text);
        if (tune_emit(session, lane,
                      TUNE_EVENT(DECIDED, decided, .attempt = open->id,
                                 .status = TUNE_STATUS_FAILED, .reason = reason.at)))
            tune_export(session, open->id);
        buf_free(&reason);
    }
    tune_step_done(session, lane, TUNE_STEP_REWRITE, TUNE_IS_FAILED, "%s", text);
}

static void candidate_store(struct tune_reply *reply, struct str source) {
    struct tune_session *session = reply->work.session;
    const struct tune_state *state = session->state;
    int lane = reply->work.lane;
    const struct tune_attempt *open = tune_attempt_in(state, lane);
    char *given = mem_alloc(source.len + 1, 1);
    memcpy(given, source.at, source.len);
    char *text = tune_source_ended(state, tune_lane_parent(state, lane), given);
    free(given);
    bool ok = tune_emit(session, lane,
                        TUNE_EVENT(CANDIDATE, candidate, .source = text, .author = author_of(reply),
                                   .parent = tune_lane_parent(state, lane),
                                   .repair = open && open->id > 0 ? open->repairs + 1 : 0));
    free(text);
    if (!ok)
        return;
    struct buf said = {0};
    tune_candidate_print(&said, &tune_lane_of(state, lane)->candidate);
    tune_step_done(session, lane, TUNE_STEP_REWRITE, TUNE_IS_OK, "%s", said.at);
    buf_free(&said);
}

void tune_reply_candidate(struct tune_reply *reply, struct str source) {
    if (!reply_is_current(reply, TUNE_WORK_REWRITE))
        return;
    struct tune_session *session = reply->work.session;
    const struct tune_state *state = session->state;
    int lane = reply->work.lane;
    const struct tune_attempt *parent = tune_state_attempt(state, tune_lane_parent(state, lane));
    const struct tune_attempt *open = tune_attempt_in(state, lane);
    tune_request_end(reply);
    const char *old = open && open->id > 0 ? tune_source(state, open)
                      : parent             ? tune_source(state, parent)
                                           : "";
    struct buf why = {0};
    if (tune_same_find(state, source, old, &why))
        plan_fail(session, lane, why.at);
    else
        candidate_store(reply, source);
    buf_free(&why);
    tune_advance(session);
}

static void reply_fail(struct tune_reply *reply, const char *text) {
    struct tune_session *session = reply->work.session;
    int lane = reply->work.lane;
    if (reply->is == TUNE_WORK_PLAN) {
        tune_request_end(reply);
        tune_step_done(session, lane, TUNE_STEP_PLAN, TUNE_IS_FAILED, "%s", text);
        if (session->state->way->tries_again)
            tune_stop(session, lane, "no plan: %s", text);
    } else if (reply->is == TUNE_WORK_REWRITE) {
        tune_request_end(reply);
        plan_fail(session, lane, text);
    } else {
        tune_emit_log(session, lane, TUNE_LEVEL_WARNING, tune_step_word(reply->work.step),
                      "%s; hone wrote this itself", text);
        tune_reply_lesson(reply, NULL);
    }
}

void tune_reply_failed(struct tune_reply *reply, const char *text) {
    struct tune_session *session = reply->work.session;
    if (!reply_is_open(reply) || reply->learnt)
        return;
    reply_fail(reply, text);
    tune_advance(session);
}

/* ----------------------------------------------------------------------------- while it works */

void tune_reply_author(struct tune_reply *reply, const char *name) {
    if (reply_is_open(reply))
        snprintf(reply->author, sizeof reply->author, "%s", name);
}

void tune_reply_log(struct tune_reply *reply, const char *text) {
    if (!reply_is_open(reply))
        return;
    tune_emit_log(reply->work.session, reply->work.lane, TUNE_LEVEL_INFO,
                  tune_step_word(reply->work.step), "%s", text);
}

void tune_reply_offer(struct tune_reply *reply, const double us[TUNE_PRECISIONS]) {
    if (reply_is_open(reply))
        (void)tune_emit(reply->work.session, TUNE_ALL_LANES,
                        TUNE_EVENT(OFFER, offer, .keep_us = us[TUNE_PRECISION_KEEP],
                                   .split_us = us[TUNE_PRECISION_SPLIT],
                                   .any_us = us[TUNE_PRECISION_ANY]));
}

static struct tune_lesson *lesson_keep(struct arena *arena, const struct tune_lesson *lesson) {
    struct tune_lesson *kept = ARENA_ARRAY(arena, struct tune_lesson, 1);
    *kept = *lesson;
    kept->title = lesson->title ? arena_strdup(arena, lesson->title) : NULL;
    kept->text = lesson->text ? arena_strdup(arena, lesson->text) : NULL;
    return kept;
}

void tune_reply_lesson(struct tune_reply *reply, const struct tune_lesson *lesson) {
    struct tune_session *session = reply->work.session;
    bool lessons = reply->is == TUNE_WORK_SUMMARISE || reply->is == TUNE_WORK_REFLECT;
    if (!lessons || reply->done || reply->learnt || session->closing)
        return;
    reply->learnt = true;
    reply->lesson_arena = arena_new();
    reply->lesson = lesson ? lesson_keep(reply->lesson_arena, lesson) : NULL;
    tune_advance(session);
}
