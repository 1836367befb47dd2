/* SPDX-License-Identifier: Apache-2.0 */
/* The rewriter as a proposer: turns a context into a request, what the menu finds and the kernel
 * written anew into ranked plans, and a chosen plan into a candidate. It decides nothing about
 * correctness or speed: the runner does. */
#include <math.h>
#include <stdio.h>

#include "loop/loop.h"
#include "rewrite/rewrite.h"
#include "runner/runner.h"
#include "task/task.h"
#include "tune/proposer/anew.h"
#include "tune/proposer/inner.h"

#define MAX_PLANS 8
#define PLAN_BUDGET_S 2.5 /* for ranking with the device model */

/* One request under way, on a worker thread. It lives on when it is cancelled. */
struct job {
    struct rewriter *owner; /* NULL: nobody waits for the answer any more */
    struct tune_reply *reply;
    struct arena *arena; /* copies of what the context said */
    struct rewrite_request request;
    struct task_inputs *values;
    struct anew *anew; /* what can be written anew; NULL: nothing */
    VEC(const char *) closed;
    const char *key; /* of the plan to carry out; NULL: make plans */
    VEC(struct tune_plan) plans;
    struct buf source;
    volatile int cancelled;
    char summary[200];     /* of the ranking, for the log */
    struct buf was_judged; /* what the search over schedules says; "": it was made before */
    struct err err;
    bool ok;
};

struct rewriter {
    struct tune_proposer proposer;
    struct loop *loop;
    struct job *job;
    struct anew *anew; /* of the last plan */
};

/* ---- the request ---------------------------------------------------------------------------- */

static void read_inputs(struct job *job, const char *reference_path) {
    static const int64_t seeds[] = TASK_SEEDS;
    if (reference_path)
        job->values = task_inputs_cached(reference_path, seeds[0], true);
    if (!job->values)
        return;
    struct nki_input *inputs = ARENA_ARRAY(job->arena, struct nki_input, job->values->count);
    for (size_t i = 0; i < job->values->count; i++)
        runner_input_of(&job->values->values[i], &inputs[i]);
    job->request.inputs = inputs;
    job->request.n_inputs = job->values->count;
}

/* "Vector" and "vector" are the same engine. */
static const char *lower(struct arena *arena, const char *text) {
    char *copy = text ? arena_strdup(arena, text) : NULL;
    for (char *at = copy; at && *at; at++)
        if (*at >= 'A' && *at <= 'Z')
            *at = (char)(*at - 'A' + 'a');
    return copy;
}

static enum nki_generation generation_of(const char *device) {
    enum nki_generation generation = device ? nki_generation_find(device) : (enum nki_generation)0;
    return generation ? generation : NKI_GENERATION_DEFAULT;
}

static void read_profile(struct job *job, const struct tune_context *context) {
    struct rewrite_line *lines =
        ARENA_ARRAY(job->arena, struct rewrite_line, context->lines.len + 1);
    for (size_t i = 0; i < context->lines.len; i++) {
        const struct tune_line_cost *cost = &context->lines.at[i];
        lines[i] = (struct rewrite_line){cost->line, cost->us, isnan(cost->share) ? 0 : cost->share,
                                         lower(job->arena, cost->engine)};
    }
    job->request.lines = lines;
    job->request.n_lines = context->lines.len;
    job->request.latency_us = isnan(context->latency_us) ? 0 : context->latency_us;
    job->request.floor_us = isnan(context->floor_us) ? 0 : context->floor_us;
    job->request.bound = lower(job->arena, context->bound_by);
}

static struct job *job_new(struct rewriter *rewriter, const struct tune_context *context,
                           struct tune_reply *reply) {
    struct job *job = mem_alloc(1, sizeof *job);
    job->owner = rewriter;
    job->reply = reply;
    job->arena = arena_new();
    job->request.path = arena_strdup(job->arena, context->path ? context->path : "kernel.py");
    if (context->function && *context->function)
        job->request.function = arena_strdup(job->arena, context->function);
    job->request.source = str_of(arena_strdup(job->arena, context->source ? context->source : ""));
    job->request.generation = generation_of(context->device);
    job->request.pessimistic = context->pessimistic;
    read_profile(job, context);
    read_inputs(job, context->reference_path);
    job->anew = anew_take(&rewriter->anew, context);
    for (size_t i = 0; i < context->closed.len; i++)
        *vec_push(&job->closed) = arena_strdup(job->arena, context->closed.at[i].key);
    rewriter->job = job;
    return job;
}

static void job_free(struct job *job) {
    task_inputs_free(job->values);
    vec_free(&job->closed);
    vec_free(&job->plans);
    buf_free(&job->source);
    buf_free(&job->was_judged);
    anew_drop(job->anew);
    arena_free(job->arena);
    mem_free_(job);
}

/* ---- plans ---------------------------------------------------------------------------------- */

static bool is_closed(const struct job *job, const char *key) {
    for (size_t i = 0; i < job->closed.len; i++)
        if (strcmp(job->closed.at[i], key) == 0)
            return true;
    return false;
}

static bool is_closed_key(const void *data, const char *key) {
    return is_closed(data, key);
}

static void add_plan(struct job *job, const struct rewrite_offer *offer) {
    *vec_push(&job->plans) = (struct tune_plan){
        .key = offer->key,
        .title = offer->title,
        .what = offer->what,
        .why = offer->why,
        .author = "rewriter",
        .strategy = rewrite_strategy(offer->key),
        .first_line = offer->first_line,
        .last_line = offer->last_line,
        .metric = offer->metric,
        .direction = offer->direction == REWRITE_UP ? TUNE_DIRECTION_UP : TUNE_DIRECTION_DOWN,
        .size = offer->size,
        .latency = offer->latency,
        .moved = NAN,
    };
}

static void make_plans(struct job *job) {
    struct rewrite_offers offers = {.arena = job->arena};
    struct rewrite_screen screen = {.is_closed = is_closed_key,
                                    .data = job,
                                    .cancel = &job->cancelled,
                                    .budget_s = PLAN_BUDGET_S};
    job->ok = rewrite_offers_make(&job->request, &screen, &offers, &job->err);
    for (size_t i = 0; i < offers.all.len && i < MAX_PLANS; i++)
        add_plan(job, &offers.all.at[i]);
    snprintf(job->summary, sizeof job->summary,
             "tried %zu edit%s, %zu %s; a precondition failed at %zu place%s", offers.looked_at,
             offers.looked_at == 1 ? "" : "s", offers.all.len,
             !offers.modelled      ? "can be made"
             : offers.all.len == 1 ? "is faster on the device model"
                                   : "are faster on the device model",
             offers.declined, offers.declined == 1 ? "" : "s");
    vec_free(&offers.all);
}

static void work(void *data) {
    struct job *job = data;
    if (job->anew)
        anew_fill(job->anew, &job->request, !job->key, &job->cancelled, &job->was_judged);
    if (job->key)
        job->ok = rewrite_apply(&job->request, job->key, &job->source, &job->err);
    else
        make_plans(job);
}

static void answer(struct job *job) {
    if (!job->ok) {
        tune_reply_failed(job->reply, job->err.text);
    } else if (job->key) {
        tune_reply_candidate(job->reply, buf_str(&job->source));
    } else {
        tune_reply_log(job->reply, job->summary);
        if (job->was_judged.len)
            tune_reply_log(job->reply, job->was_judged.at);
        tune_reply_plans(job->reply, job->plans.at, job->plans.len);
    }
}

static void done(void *data) {
    struct job *job = data;
    if (job->owner) {
        job->owner->job = NULL;
        answer(job);
    }
    job_free(job);
}

/* ---- the proposer --------------------------------------------------------------------------- */

static void plan(void *self, const struct tune_context *context, struct tune_reply *reply) {
    struct rewriter *rewriter = self;
    loop_job_start_owned(rewriter->loop, work, done, job_new(rewriter, context, reply));
}

static void rewrite(void *self, const struct tune_context *context, const struct tune_plan *plan_,
                    struct tune_reply *reply) {
    struct rewriter *rewriter = self;
    if (context->repair_error) {
        tune_reply_failed(reply, "the rewriter does not repair its edits");
        return;
    }
    if (!plan_->key || !*plan_->key) {
        tune_reply_failed(reply,
                          "the rewriter carries out its own plans only; write the kernel yourself "
                          "or choose a model");
        return;
    }
    struct job *job = job_new(rewriter, context, reply);
    job->key = arena_strdup(job->arena, plan_->key);
    loop_job_start_owned(rewriter->loop, work, done, job);
}

static void cancel(void *self, struct tune_reply *reply) {
    (void)reply;
    struct rewriter *rewriter = self;
    if (rewriter->job) {
        rewriter->job->owner = NULL;
        rewriter->job->cancelled = 1;
    }
    rewriter->job = NULL;
}

static void destroy(void *self) {
    struct rewriter *rewriter = self;
    cancel(self, NULL);
    anew_drop(rewriter->anew);
    mem_free_(self);
}

struct tune_proposer *tune_rewriter_new(struct loop *loop) {
    struct rewriter *rewriter = mem_alloc(1, sizeof *rewriter);
    rewriter->loop = loop;
    rewriter->proposer = (struct tune_proposer){
        .name = "rewriter",
        .self = rewriter,
        .plan = plan,
        .rewrite = rewrite,
        .cancel = cancel,
        .free = destroy,
    };
    return &rewriter->proposer;
}
