/* SPDX-License-Identifier: Apache-2.0 */
/* The rewriter as a proposer: turns a context into a request, what the menu finds and the kernel
 * written anew into ranked plans, and a chosen plan into a candidate. It decides nothing about
 * correctness or speed: the runner does. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "loop/loop.h"
#include "rewrite/rewrite.h"
#include "runner/runner.h"
#include "task/task.h"
#include "tune/proposer/anew.h"
#include "tune/exchange/inner.h"
#include "tune/proposer/inner.h"

#define MAX_PLANS 8
#define PLAN_BUDGET 3e6         /* instructions, for ranking with the device model */
#define MOST_REASONS 4          /* of a kind that are told when nothing is left */
#define SPLIT_TOLERANCE 1.77e-5 /* twice the error of bf16 halves: write, product_split.c */

/* One request under way, on a worker thread. It lives on when it is cancelled. */
struct job {
    struct rewriter *owner; /* NULL: nobody waits for the answer any more */
    struct runner_turn *turn;
    bool works; /* it has its turn; else it waits for it */
    struct tune_reply *reply;
    struct arena *arena; /* copies of what the context said */
    struct rewrite_request request;
    struct task_inputs *values;
    bool is_recorded;                 /* the cache has the reference's graph */
    const char *reference_path;       /* NULL: the task has none */
    struct task_reference *reference; /* makes what the cache does not have; NULL: nothing */
    struct err no_inputs;             /* why it could not */
    uint64_t memory_limit;            /* of it, in bytes; 0: none */
    struct anew *anew;                /* what can be written anew; NULL: nothing */
    VEC(struct tune_closed) closed;
    VEC(const char *) was_left;
    const char *key; /* of the plan to carry out; NULL: make plans */
    VEC(struct tune_plan) plans;
    struct buf source;
    volatile int cancelled;
    char summary[200];                /* of the ranking, for the log */
    double offer_us[TUNE_PRECISIONS]; /* what each precision would bring; NAN: nothing to decide */
    struct buf was_judged; /* what the search over schedules says; "": it was made before */
    struct buf left;       /* why nothing is left, in lines */
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

static const int64_t seeds[] = TASK_SEEDS;

/* Takes the reference's arguments: their shapes are all that is needed. */
static void take_inputs(struct job *job, struct task_inputs *values) {
    job->values = values;
    if (!values)
        return;
    job->request.inputs = runner_inputs_of(job->arena, values, &job->request.n_inputs);
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
    for (int i = 0; i < TUNE_PRECISIONS; i++)
        job->offer_us[i] = NAN;
    job->request.path = arena_strdup(job->arena, context->path ? context->path : "kernel.py");
    if (context->function && *context->function)
        job->request.function = arena_strdup(job->arena, context->function);
    job->request.source = str_of(arena_strdup(job->arena, context->source ? context->source : ""));
    job->request.generation = generation_of(context->device);
    job->request.pessimistic = context->pessimistic;
    job->request.lnc = context->lnc;
    job->request.only_certain = context->only_certain;
    job->request.older = !context->takes_current;
    read_profile(job, context);
    if (context->reference_path) {
        job->reference_path = arena_strdup(job->arena, context->reference_path);
        job->is_recorded = tune_look_graph(reply->work.session);
        take_inputs(job, task_shapes_copy(tune_look_shapes(reply->work.session)));
    }
    job->anew = anew_take(&rewriter->anew, context);
    for (size_t i = 0; i < context->closed.len; i++)
        *vec_push(&job->closed) = (struct tune_closed){
            arena_strdup(job->arena, context->closed.at[i].key),
            arena_strdup(job->arena, context->closed.at[i].how),
            context->closed.at[i].title ? arena_strdup(job->arena, context->closed.at[i].title)
                                        : NULL,
            context->closed.at[i].in_others, context->closed.at[i].by_title};
    for (size_t i = 0; i < context->left.len; i++)
        *vec_push(&job->was_left) = arena_strdup(job->arena, context->left.at[i]);
    rewriter->job = job;
    return job;
}

static void job_free(struct job *job) {
    task_reference_free(job->reference);
    task_inputs_free(job->values);
    vec_free(&job->closed);
    vec_free(&job->was_left);
    vec_free(&job->plans);
    buf_free(&job->source);
    buf_free(&job->was_judged);
    buf_free(&job->left);
    anew_drop(job->anew);
    arena_free(job->arena);
    mem_free_(job);
}

/* ---- plans ---------------------------------------------------------------------------------- */

static bool is_closed(const struct job *job, const char *key) {
    for (size_t i = 0; i < job->closed.len; i++)
        if (tune_closed_takes(&job->closed.at[i], key))
            return true;
    return false;
}

static bool is_closed_key(const void *data, const char *key) {
    return is_closed(data, key);
}

/* A plan that the person has just left is not offered first. */
static bool was_left(const struct job *job, const char *key) {
    for (size_t i = 0; i < job->was_left.len; i++)
        if (strcmp(job->was_left.at[i], key) == 0)
            return true;
    return false;
}

/* The lines that an edit changes, which may be more than the statement that it is about. A kernel
 * written anew says itself which lines go. */
static void aim(struct job *job, struct tune_plan *plan) {
    struct buf out = {0};
    if (!str_starts(str_of(plan->key), REWRITE_ANEW) &&
        rewrite_apply(&job->request, plan->key, &out, NULL))
        tune_plan_aim_at(plan, job->request.source, buf_str(&out), job->arena);
    buf_free(&out);
}

static void add_plan(struct job *job, const struct rewrite_offer *offer) {
    struct tune_plan *plan = vec_push(&job->plans);
    *plan = (struct tune_plan){
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
    aim(job, plan);
}

/* Plans with one title are told apart by the lines they change. */
static void tell_apart(struct job *job) {
    bool *alike = ARENA_ARRAY(job->arena, bool, job->plans.len + 1);
    for (size_t i = 0; i < job->plans.len; i++)
        for (size_t j = 0; j < job->plans.len; j++)
            alike[i] |= i != j && !strcmp(job->plans.at[i].title, job->plans.at[j].title);
    for (size_t i = 0; i < job->plans.len; i++) {
        struct tune_plan *plan = &job->plans.at[i];
        struct buf lines = {0};
        tune_plan_lines_print(&lines, plan);
        if (alike[i] && lines.len)
            plan->title = arena_printf(job->arena, "%s (line%s %s)", plan->title,
                                       strpbrk(lines.at, " ,") ? "s" : "", lines.at);
        buf_free(&lines);
    }
}

/* ---- when nothing is left -------------------------------------------------------------------- */

static int by_share(const void *a, const void *b) {
    const struct rewrite_line *left = a, *right = b;
    if (left->share != right->share)
        return left->share > right->share ? -1 : 1;
    return left->line - right->line;
}

static void tell_gap(struct job *job) {
    const struct rewrite_request *request = &job->request;
    struct rewrite_line *lines = ARENA_ARRAY(job->arena, struct rewrite_line, request->n_lines + 1);
    if (!(request->latency_us > 0) || !(request->floor_us > 0))
        return;
    buf_puts(&job->left, "what is left above the floor: ");
    clock_print_duration(&job->left, (request->latency_us - request->floor_us) * 1e-6);
    buf_printf(&job->left, " (%.2f times the floor)", request->latency_us / request->floor_us);
    if (request->n_lines)
        memcpy(lines, request->lines, request->n_lines * sizeof *lines);
    qsort(lines, request->n_lines, sizeof *lines, by_share);
    for (size_t i = 0; i < request->n_lines && i < MOST_REASONS; i++)
        buf_printf(&job->left, "%s %d (%.0f %%%s%s)", i ? "," : "; most of the time is at line",
                   lines[i].line, lines[i].share * 100, lines[i].engine ? " " : "",
                   lines[i].engine ? lines[i].engine : "");
    buf_putc(&job->left, '\n');
}

static bool was_told(const struct rewrite_offers *offers, size_t at) {
    for (size_t i = 0; i < at; i++)
        if (strcmp(offers->declined.at[i].reason, offers->declined.at[at].reason) == 0)
            return true;
    return false;
}

/* The reasons why edits were not tried, each once. */
static void tell_declined(struct job *job, const struct rewrite_offers *offers) {
    size_t told = 0;
    for (size_t i = 0; i < offers->declined.len && told < MOST_REASONS; i++) {
        const struct rewrite_declined *row = &offers->declined.at[i];
        if (was_told(offers, i))
            continue;
        buf_printf(&job->left, "not possible: %s, line %d: %s\n", row->id, row->line, row->reason);
        told++;
    }
}

static int by_loss(const void *a, const void *b) {
    const struct rewrite_lost *left = a, *right = b;
    if (isnan(left->latency) || isnan(right->latency))
        return isnan(left->latency) - isnan(right->latency);
    return (left->latency > right->latency) - (left->latency < right->latency);
}

/* What was timed and is not faster, the nearest first. */
static void tell_lost(struct job *job, struct rewrite_offers *offers) {
    if (offers->lost.len)
        qsort(offers->lost.at, offers->lost.len, sizeof *offers->lost.at, by_loss);
    for (size_t i = 0; i < offers->lost.len && i < MOST_REASONS; i++) {
        const struct rewrite_lost *row = &offers->lost.at[i];
        if (isnan(row->latency))
            buf_printf(&job->left, "refused by the device model: %s: %s\n", row->title, row->why);
        else
            buf_printf(&job->left, "timed, and %s: %s: %+.1f %%\n",
                       row->latency < 0 ? "inside the model's error" : "no gain", row->title,
                       row->latency * 100);
    }
    if (offers->lost.len > MOST_REASONS)
        buf_printf(&job->left, "timed, and no gain: %zu more\n", offers->lost.len - MOST_REASONS);
    if (!isnan(offers->anew_us)) {
        buf_puts(&job->left, "written anew from the reference it would take ");
        clock_print_duration(&job->left, offers->anew_us * 1e-6);
        bool faster = job->request.latency_us > offers->anew_us;
        buf_printf(&job->left, ", which is %s\n", faster ? "inside the model's error" : "no gain");
    }
}

static void tell_closed(struct job *job) {
    for (size_t i = 0; i < job->closed.len && i < MOST_REASONS; i++) {
        const struct tune_closed *row = &job->closed.at[i];
        buf_printf(&job->left, "closed before: %.60s: %s\n", row->title ? row->title : row->key,
                   row->how);
    }
    if (job->closed.len > MOST_REASONS)
        buf_printf(&job->left, "closed before: %zu more\n", job->closed.len - MOST_REASONS);
}

/* What a person could change: a class of precision, the tolerance. */
static void tell_needed(struct job *job) {
    const struct rewrite_anew *anew = job->request.anew;
    if (!anew || anew->precision == WRITE_ANY)
        return;
    double best_us = fmin(job->offer_us[TUNE_PRECISION_SPLIT], job->offer_us[TUNE_PRECISION_ANY]);
    if (best_us < job->request.latency_us) {
        buf_puts(&job->left, "what would help: a kernel written anew takes ");
        clock_print_duration(&job->left, best_us * 1e-6);
        buf_puts(&job->left, best_us == job->offer_us[TUNE_PRECISION_SPLIT]
                                 ? " in precision split (:precision split)\n"
                                 : " in precision any (:precision any)\n");
    } else if (anew->precision == WRITE_KEEP && anew->tolerance > 0 &&
               anew->tolerance < SPLIT_TOLERANCE) {
        buf_printf(&job->left,
                   "what might help: a tolerance of %.2g would allow products of bf16 halves, "
                   "this one of %.2g does not\n",
                   SPLIT_TOLERANCE, anew->tolerance);
    }
}

static void tell_left(struct job *job, struct rewrite_offers *offers) {
    tell_gap(job);
    if (offers->ended)
        buf_puts(&job->left, "not all edits were tried: the kernel has so many instructions that "
                             "the budget for timing them ended\n");
    if (!offers->modelled)
        buf_puts(&job->left,
                 "the rewriter cannot evaluate this kernel, so nothing was timed (it has "
                 "hone's interpreter alone, whatever --tracing says)\n");
    tell_lost(job, offers);
    tell_declined(job, offers);
    tell_closed(job);
    tell_needed(job);
}

static void summarise(struct job *job, const struct rewrite_offers *offers) {
    int len = snprintf(job->summary, sizeof job->summary, "tried %zu edit%s, %zu %s",
                       offers->looked_at, PLURAL(offers->looked_at), offers->all.len,
                       !offers->modelled      ? "can be made"
                       : offers->all.len == 1 ? "is faster on the device model"
                                              : "are faster on the device model");
    if (offers->declined.len)
        snprintf(job->summary + len, sizeof job->summary - (size_t)len,
                 "; a precondition failed at %zu place%s", offers->declined.len,
                 PLURAL(offers->declined.len));
}

static void make_plans(struct job *job) {
    struct rewrite_offers offers = {.arena = job->arena};
    struct rewrite_screen screen = {
        .is_closed = is_closed_key, .data = job, .cancel = &job->cancelled, .budget = PLAN_BUDGET};
    job->ok = rewrite_offers_make(&job->request, &screen, &offers, &job->err);
    for (int left = 0; left < 2; left++)
        for (size_t i = 0; i < offers.all.len && job->plans.len < MAX_PLANS; i++)
            if (was_left(job, offers.all.at[i].key) == left)
                add_plan(job, &offers.all.at[i]);
    tell_apart(job);
    summarise(job, &offers);
    if (job->ok && !offers.all.len)
        tell_left(job, &offers);
    vec_free(&offers.all);
    vec_free(&offers.declined);
    vec_free(&offers.lost);
}

/* A kernel that is written anew has the sizes of one shape. */
static bool has_one_shape(const struct job *job) {
    return !job->values || job->values->shape_count < 2;
}

static void work(void *data) {
    struct job *job = data;
    struct anew_search how = {job->key ? 0 : runner_turn_places(job->turn), &job->cancelled};
    if (job->anew && has_one_shape(job) &&
        !anew_fill(job->anew, &job->request, &how, &job->was_judged, job->offer_us) &&
        job->no_inputs.kind == ERR_NONE)
        err_set(&job->no_inputs, ERR_ENVIRONMENT, "what was recorded of the reference is gone");
    if (job->key)
        job->ok = rewrite_apply(&job->request, job->key, &job->source, &job->err);
    else
        make_plans(job);
}

static void tell_lines(struct tune_reply *reply, const struct buf *text) {
    struct str rest = buf_str(text), line;
    while (str_next(&rest, '\n', &line)) {
        struct buf one = {0};
        buf_add(&one, line.at, line.len);
        if (line.len)
            tune_reply_log(reply, one.at);
        buf_free(&one);
    }
}

/* Without shapes a plan cannot be carried out, and few are found. That is no reason to close it, or
 * to end the session: what needs them can be done later. */
static bool lacks_inputs(const struct job *job) {
    return job->key ? !job->ok && job->no_inputs.kind != ERR_NONE
                    : !job->values && !job->plans.len && job->no_inputs.kind == ERR_ENVIRONMENT;
}

static void answer_without_inputs(struct job *job) {
    struct buf text = {0};
    buf_printf(&text,
               "the cache was emptied, and what %s needs cannot be made again: %s. Nothing is "
               "lost: start, or the same command, tries again",
               job->key ? "the plan" : "a plan", job->no_inputs.text);
    tune_reply_paused(job->reply, text.at);
    buf_free(&text);
}

static void answer(struct job *job) {
    if (lacks_inputs(job)) {
        answer_without_inputs(job);
    } else if (!job->ok) {
        if (!job->key || !tune_submission_await(job->reply, job->err.text))
            tune_reply_failed(job->reply, job->err.text);
    } else if (job->key) {
        tune_reply_candidate(job->reply, buf_str(&job->source));
    } else {
        tune_reply_log(job->reply, job->summary);
        tell_lines(job->reply, &job->was_judged);
        if (job->was_judged.len && !isnan(job->offer_us[TUNE_PRECISION_KEEP]))
            tune_reply_offer(job->reply, job->offer_us);
        tell_lines(job->reply, &job->left);
        tune_reply_plans(job->reply, job->plans.at, job->plans.len);
    }
}

static void done(void *data) {
    struct job *job = data;
    runner_turn_end(job->turn, runner_turn_grown(job->turn));
    if (job->owner) {
        job->owner->job = NULL;
        answer(job);
    }
    job_free(job);
}

/* ---- its turn -------------------------------------------------------------------------------- */

static void begin(struct job *job) {
    job->works = true;
    loop_job_start_owned(job->owner->loop, work, done, job);
}

static void on_inputs(void *data, struct task_inputs *inputs, const struct err *err) {
    struct job *job = data;
    if (!inputs)
        job->no_inputs = *err;
    take_inputs(job, inputs);
    begin(job);
}

/* The cache had the shapes since the kernel was first verified, but anybody may empty it, or make
 * room in it. The reference makes them again. */
static void make_inputs(struct job *job) {
    const struct config *config = job->reply->work.session->config;
    struct task_walling wall = {0};
    struct task_reference_limits limits = {.memory_bytes = job->memory_limit};
    if (config) {
        wall = (struct task_walling){config_get(config, "wall", "level", NULL),
                                     config_get(config, "wall", "read", NULL)};
        limits.wall = &wall;
    }
    job->reference =
        task_reference_open(job->owner->loop, job->reference_path, &limits, &job->no_inputs);
    if (job->reference)
        task_reference_shapes(job->reference, seeds[0], on_inputs, job);
    else
        begin(job);
}

static void on_turn(void *data) {
    struct job *job = data;
    bool whole = job->values && (!job->anew || job->is_recorded);
    if (whole || !job->reference_path)
        begin(job);
    else
        make_inputs(job);
}

static void on_wait(void *data, const char *why, bool first) {
    const struct job *job = data;
    if (first)
        tune_reply_log(job->reply, why);
    tune_step_progress(&job->reply->work, why, (double)NAN, (double)NAN);
}

/* What is done here counts for the machine's budget as an evaluation does. The search keeps as many
 * processors busy as it gets. */
static void start(struct job *job, const struct tune_context *context) {
    const struct tune_session *session = job->reply->work.session;
    bool searches = !job->key && job->anew && anew_is_unsearched(job->anew);
    char occasion[16];
    snprintf(occasion, sizeof occasion, "%d", context->attempt);
    struct runner_job like = {.kernel_path = job->request.path,
                              .reference_path = context->reference_path,
                              .device = context->device,
                              .occasion = occasion,
                              .no_verify = true,
                              .machine_places = searches ? os_cpu_count() : 1};
    if (session->config)
        runner_limits(&like, session->config);
    job->memory_limit = like.memory_limit;
    struct runner_turn_callbacks callbacks = {on_turn, on_wait, job};
    job->turn = runner_turn_wait(job->owner->loop, &like, &callbacks);
}

/* ---- the proposer --------------------------------------------------------------------------- */

static void plan(void *self, const struct tune_context *context, struct tune_reply *reply) {
    start(job_new(self, context, reply), context);
}

static void rewrite(void *self, const struct tune_context *context, const struct tune_plan *plan_,
                    struct tune_reply *reply) {
    if (context->repair_error) {
        tune_reply_failed(reply, "the rewriter does not repair its edits");
        return;
    }
    if (!plan_->key || !*plan_->key) {
        /* a plan that came while nobody but agents proposed is still theirs */
        if (!tune_submission_await(reply, "the rewriter carries out its own plans only"))
            tune_reply_failed(reply,
                              "the rewriter carries out its own plans only; write the kernel "
                              "yourself or choose a model");
        return;
    }
    struct job *job = job_new(self, context, reply);
    job->key = arena_strdup(job->arena, plan_->key);
    start(job, context);
}

static void cancel(void *self, struct tune_reply *reply) {
    (void)reply;
    struct rewriter *rewriter = self;
    struct job *job = rewriter->job;
    rewriter->job = NULL;
    if (!job)
        return;
    job->owner = NULL;
    job->cancelled = 1;
    if (job->works)
        return;
    runner_turn_end(job->turn, 0);
    job_free(job);
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
        .asks_nobody = true,
        .by_key = true,
        .self = rewriter,
        .plan = plan,
        .rewrite = rewrite,
        .cancel = cancel,
        .free = destroy,
    };
    return &rewriter->proposer;
}
