/* SPDX-License-Identifier: Apache-2.0 */
/* A target and a proposer for tests: kernels say in comments how they behave, and plans come from a
 * script. Everything else of a session is real. */
#ifndef HONE_TESTS_TUNE_FAKE_H
#define HONE_TESTS_TUNE_FAKE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "loop/loop.h"
#include "loop/testing.h"
#include "store/store.h"
#include "tune/ask/testing.h"
#include "tune/events/testing.h"
#include "tune/read/testing.h"
#include "tune/session/place.h"
#include "tune/state/inner.h"
#include "tune/tune.h"

/* What a text in a kernel says, each on a line: "# latency 900", "# hbm 100", "# broken", "#
 * wrong", "# wrong here" (a diagnosis names a line), "# crash". */
static double fake_number(const char *source, const char *what, double missing) {
    const char *at = strstr(source, what);
    return at ? strtod(at + strlen(what), NULL) : missing;
}

/* Reads "# latency 900"; or "LATENCY = 900", of a kernel that has this constant. */
static double fake_latency(const char *source) {
    return fake_number(source, "# latency ", fake_number(source, "LATENCY = ", 1000));
}

struct fake_run {
    struct fake_place *place;
    struct fake_run *next;
    struct runner_callbacks callbacks;
    struct loop_timer *timer;
    char *source, *incumbent;
    int64_t seeds[TASK_MAX_SEEDS];
    size_t n_seeds;
    bool no_time, predict_only, cancelled;
};
struct fake_place {
    struct loop *loop;
    struct fake_run *runs;
    int started, seeds_run;
    bool slow;         /* evaluations never end on their own */
    bool measured;     /* times come in samples, of the incumbent too */
    bool lucky;        /* from the third timing on, kernels are as slow as the seed kernel */
    int lnc;           /* physical cores of a launch; 0: unknown */
    const char *doubt; /* why samples cannot be compared: the incumbent's are left out; NULL */
    int fails;         /* how many evaluations end as failures of the place */
    int cancelled, timed, predicted;
    const char *nki;             /* release that it reports; NULL */
    char model[1000];            /* of the last job */
    char occasion[24], last[16]; /* of the last job; what it was about: "time", "seeds", "both" */
};

/* Ten samples of the kernel, with those of the incumbent in between. */
static void fake_samples(struct fake_run *run) {
    for (int i = 0; i < 10; i++) {
        bool slow = run->place->lucky && run->place->timed > 2;
        double us = (slow ? 1000 : fake_latency(run->source)) + i;
        struct runner_event event = {.kind = RUNNER_SAMPLE, .value = us};
        run->callbacks.on_event(run->callbacks.data, &event);
        if (!run->incumbent || run->place->doubt)
            continue;
        event.value = fake_latency(run->incumbent) + 9 - i;
        event.incumbent = true;
        run->callbacks.on_event(run->callbacks.data, &event);
    }
}

/* "# predicts 700": the compiler's prediction, in every evaluation that compiles. */
static void fake_predict(struct fake_run *run, struct runner_result *result) {
    struct runner_prediction *found = &result->prediction;
    found->us = fake_number(run->source, "# predicts ", 0);
    found->optimised = RUNNER_NOT_OPTIMISED;
    found->macs = found->hbm_bytes = (double)NAN;
    found->engines[found->engine_count++] = (struct runner_utilisation){"vector", 71.5};
    snprintf(found->by, sizeof found->by, "nki %g", fake_number(run->source, "# nki ", 0.6));
    struct runner_event event = {.kind = RUNNER_PREDICTION, .prediction = found};
    if (found->us > 0 && !run->cancelled && run->callbacks.on_event)
        run->callbacks.on_event(run->callbacks.data, &event);
}

static void fake_end_run(struct fake_run *run, struct runner_result *result) {
    struct fake_run **place = &run->place->runs;
    while (*place != run)
        place = &(*place)->next;
    *place = run->next;
    run->callbacks.on_done(run->callbacks.data, result);
    vec_free(&result->metrics);
    vec_free(&result->lines);
    vec_free(&result->bounds);
    free(run->incumbent);
    free(run->source);
    free(run);
}

/* What a profile counts of a kernel: "# hbm 500" bytes read, "# tiles 20" instructions. */
static void fake_metrics(struct runner_result *result, const char *source) {
    const struct runner_metric rows[] = {
        {"hbm_read_bytes", "bytes", fake_number(source, "# hbm ", 1000)},
        {"hbm_write_bytes", "bytes", 1000},
        {"hardware_flops", "flops", 0},
        {"tensor_engine_instruction_count", "count", 0},
        {"vector_engine_instruction_count", "count", fake_number(source, "# tiles ", 10)},
        {"scalar_engine_instruction_count", "count", 0},
        {"gpsimd_engine_instruction_count", "count", 0},
        {"dma_packet_count", "count", 10}};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        *vec_push(&result->metrics) = rows[i];
}

static void fake_finish(void *data) {
    struct fake_run *run = data;
    struct runner_result result = {0};
    const char *source = run->source;
    bool broken = strstr(source, "# broken"), wrong = strstr(source, "# wrong");
    if (!broken)
        fake_predict(run, &result);
    if (run->predict_only) {
        fake_end_run(run, &result);
        return;
    }
    struct runner_event event = {
        .kind = RUNNER_LOG, .name = "compile", .text = "specialised", .severity = DIAG_NOTE};
    if (!run->cancelled)
        run->callbacks.on_event(run->callbacks.data, &event);
    task_judge(&result.verdict.compiles, broken ? TASK_NO : TASK_YES, "%s",
               broken ? "kernel.py:2: tile has 256 partitions, at most 128 fit" : "");
    if (broken && !run->cancelled) {
        struct diag diag = {.severity = DIAG_ERROR, .file = "kernel.py", .line = 2, .column = 1};
        if (strstr(source, "# broken internal"))
            snprintf(diag.code, sizeof diag.code, "NCC_IXGM002");
        char text[] = "tile has 256 partitions, at most 128 fit";
        diag.message = text;
        event = (struct runner_event){.kind = RUNNER_DIAGNOSTIC, .diag = &diag};
        run->callbacks.on_event(run->callbacks.data, &event);
    }
    for (size_t i = 0; !broken && !run->cancelled && i < run->n_seeds; i++) {
        event = (struct runner_event){.kind = RUNNER_CORRECTNESS,
                                      .seed = run->seeds[i],
                                      .value = wrong ? 0.5 : 3e-7,
                                      .passed = !wrong};
        run->callbacks.on_event(run->callbacks.data, &event);
        run->place->seeds_run++;
        if (wrong)
            break;
    }
    if (wrong && !run->cancelled && strstr(source, "# wrong here")) {
        struct diag diag = {.severity = DIAG_NOTE, .file = "kernel.py", .line = 2, .column = 1};
        snprintf(diag.code, sizeof diag.code, "hone-suspect");
        char text[] = "suspect 1: what this activation writes is in none of the arrays";
        diag.message = text;
        event = (struct runner_event){.kind = RUNNER_DIAGNOSTIC, .diag = &diag};
        run->callbacks.on_event(run->callbacks.data, &event);
    }
    if (!broken && run->n_seeds)
        task_judge(&result.verdict.correct, wrong ? TASK_NO : TASK_YES, "%s",
                   wrong ? "seed 0: relative L2 0.5, allowed 2e-05" : "");
    if (run->place->measured && !run->no_time && !run->cancelled && !broken)
        fake_samples(run);
    if (!broken && !run->no_time) {
        result.latency_us = fake_latency(source);
        result.floor_us = 100;
        fake_metrics(&result, source);
        *vec_push(&result.lines) = (struct runner_line){.line = 1, .us = 5, .share = 1};
        *vec_push(&result.bounds) = (struct runner_bound){"DMA", 400, 300};
        snprintf(result.bound, sizeof result.bound, "DMA");
    }
    if (run->place->nki)
        snprintf(result.nki, sizeof result.nki, "%s", run->place->nki);
    result.modelled = !run->place->measured;
    result.elapsed_s = 0.5;
    result.device_s = run->place->measured ? 0.125 : 0;
    if (run->place->measured)
        result.floor_us = 0;
    result.lnc = run->place->lnc;
    if (run->place->doubt && run->incumbent)
        task_judge(&result.verdict.faster, TASK_INCONCLUSIVE, "%s", run->place->doubt);
    if (run->place->fails > 0 && run->place->fails--)
        result.failure = (struct err){ERR_ENVIRONMENT, "core 0 does not answer"};
    snprintf(result.kernel_name, sizeof result.kernel_name, "kernel");
    if (strstr(source, "# crash"))
        result.failure = (struct err){ERR_ENVIRONMENT, "the runner was killed by signal 9"};
    if (strstr(source, "# dies"))
        result.failure = (struct err){ERR_UNKNOWN, "the runner crashed"};
    run->place->cancelled += run->cancelled;
    if (run->cancelled)
        result.failure = (struct err){ERR_CANCELLED, "cancelled"};
    fake_end_run(run, &result);
}

static void *fake_start(void *self, const struct runner_job *job,
                        const struct runner_callbacks *callbacks, struct err *err) {
    (void)err;
    struct fake_place *place = self;
    struct fake_run *run = mem_alloc(1, sizeof *run);
    *run = (struct fake_run){.place = place,
                             .next = place->runs,
                             .callbacks = *callbacks,
                             .source = mem_strdup(job->kernel_text),
                             .incumbent = mem_strdup(job->incumbent_text),
                             .n_seeds = job->seed_count,
                             .no_time = job->no_time,
                             .predict_only = job->predict_only};
    if (job->seed_count)
        memcpy(run->seeds, job->seeds, job->seed_count * sizeof *job->seeds);
    place->timed += !job->no_time && !job->predict_only;
    place->predicted += job->predict_only;
    snprintf(place->model, sizeof place->model, "%s", job->model ? job->model : "");
    snprintf(place->occasion, sizeof place->occasion, "%s", job->occasion ? job->occasion : "");
    snprintf(place->last, sizeof place->last, "%s",
             job->no_time     ? "seeds"
             : job->no_verify ? "time"
                              : "both");
    place->runs = run;
    place->started += !job->predict_only;
    if (!place->slow)
        run->timer = loop_timer_start(place->loop, 0, 0, fake_finish, run);
    return run;
}

static void fake_cancel(void *handle) {
    struct fake_run *run = handle;
    run->cancelled = true;
    if (!run->timer)
        run->timer = loop_timer_start(run->place->loop, 0, 0, fake_finish, run);
}

static void fake_release(void *self) {
    struct fake_place *place = self;
    while (place->runs) {
        struct fake_run *run = place->runs;
        place->runs = run->next;
        loop_timer_stop(run->timer);
        free(run->incumbent);
        free(run->source);
        free(run);
    }
}

/* One scripted plan: what plan() offers, and the kernel that rewrite() makes of it. */
struct fake_plan {
    const char *key, *source; /* source NULL: the rewrite fails */
    double size;              /* predicted fall of hbm_read_bytes */
    const char *repaired;     /* what a repair turn returns; NULL: it fails */
};
struct fake_proposer {
    struct tune_proposer vtable;
    const struct fake_plan *plans;
    size_t count;
    int asked, repairs;
    char *context; /* the text of the last plan's context */
};

static void fake_plans(void *self, const struct tune_context *context, struct tune_reply *reply) {
    struct fake_proposer *proposer = self;
    struct tune_plan plans[16] = {0};
    struct buf text = {0};
    tune_context_print(context, &text);
    free(proposer->context);
    proposer->context = buf_take(&text);
    proposer->asked++;
    for (size_t i = 0; i < proposer->count; i++)
        plans[i] = (struct tune_plan){.key = proposer->plans[i].key,
                                      .title = proposer->plans[i].key,
                                      .what = "does it",
                                      .why = "because",
                                      .metric = "hbm_read_bytes",
                                      .direction = TUNE_DIRECTION_DOWN,
                                      .size = proposer->plans[i].size,
                                      .latency = NAN};
    tune_reply_plans(reply, plans, proposer->count);
}

static void fake_rewrite(void *self, const struct tune_context *context,
                         const struct tune_plan *plan, struct tune_reply *reply) {
    struct fake_proposer *proposer = self;
    const char *source = NULL;
    for (size_t i = 0; i < proposer->count; i++)
        if (!strcmp(proposer->plans[i].key, plan->key))
            source =
                context->repair_error ? proposer->plans[i].repaired : proposer->plans[i].source;
    proposer->repairs += context->repair_error != NULL;
    if (source)
        tune_reply_candidate(reply, str_of(source));
    else
        tune_reply_failed(reply, "it does not apply here");
}

struct fake {
    char *folder, *task;
    struct loop *loop;
    struct fake_place place;
    struct tune_place seen;
    struct fake_proposer proposer;
    struct tune_options options;
    struct tune_session *session;
};

static void fake_file(const char *folder, const char *name, const char *text) {
    struct err err = {0};
    char *path = path_join(folder, name);
    assert_true(file_write(path, text, strlen(text), &err));
    free(path);
}

static void fake_open(struct fake *fake) {
    struct err err = {0};
    fake->session = tune_session_open(&fake->options, fake->loop, &err);
    if (!fake->session)
        fail_msg("%s", err.text);
}

static bool fake_measured; /* the next place measures */

static void fake_begin(struct fake *fake, const struct fake_plan *plans, size_t count,
                       enum tune_gate gate) {
    struct fake_place place = {.measured = fake_measured};
    *fake = (struct fake){.folder = mem_strdup("/tmp/hone_tune_XXXXXX"), .place = place};
    assert_non_null(mkdtemp(fake->folder));
    setenv("XDG_STATE_HOME", fake->folder, 1);
    fake_file(fake->folder, "kernel.py",
              "def kernel(): x = '''\n    # latency 1000\n    # hbm 1000\n'''\n");
    fake_file(fake->folder, "reference.py", "def get_inputs(): pass\n");
    fake->loop = loop_new();
    fake->place.loop = fake->loop;
    fake->proposer = (struct fake_proposer){.vtable = {.name = "script",
                                                       .repairs = true,
                                                       .self = &fake->proposer,
                                                       .plan = fake_plans,
                                                       .rewrite = fake_rewrite},
                                            .plans = plans,
                                            .count = count};
    fake->seen = (struct tune_place){.self = &fake->place,
                                     .modelled = !place.measured,
                                     .alone = true,
                                     .parallel = 1,
                                     .start = fake_start,
                                     .cancel = fake_cancel,
                                     .free = fake_release};
    fake->options = (struct tune_options){.task = fake->folder,
                                          .gate_set = true,
                                          .gate = gate,
                                          .rounds = 50,
                                          .use = &fake->proposer.vtable,
                                          .place = &fake->seen};
    fake_open(fake);
}

/* Everything that hone wrote is in the table of events, and comes back as it is. */
static bool fake_event_check(void *data, const struct store_event *event) {
    (void)data;
    if (!tune_event_is_as_written(event->type, event->payload))
        fail_msg("%s %s", event->type, event->payload);
    return true;
}

static void fake_events_check(struct fake *fake) {
    struct err err = {0};
    struct store *store = store_open(tune_session_folder(fake->session), true, &err);
    assert_non_null(store);
    assert_true(store_replay(store, 0, fake_event_check, NULL, &err));
    store_close(store);
}

static void fake_end(struct fake *fake) {
    struct err err = {0};
    if (fake->session) /* otherwise it could not be opened */
        fake_events_check(fake);
    tune_session_close(fake->session);
    loop_free(fake->loop);
    assert_true(file_remove_tree(fake->folder, &err));
    free(fake->folder);
    free(fake->proposer.context);
}

static const struct tune_state *fake_state(const struct fake *fake) {
    return tune_session_state(fake->session);
}

/* Serves the loop until the session waits for a person or has stopped. */
static CC_UNUSED void fake_settle(struct fake *fake) {
    assert_true(loop_run_until_idle(fake->loop, 60000));
    if (fake_state(fake)->trouble)
        fail_msg("%s", fake_state(fake)->trouble);
    assert_false(tune_session_is_busy(fake->session));
}

static CC_UNUSED bool fake_try(struct fake *fake, struct tune_action action) {
    struct err err = {0};
    bool ok = tune_session_act(fake->session, &action, &err);
    assert_true(ok || err.text[0]);
    return ok;
}

static CC_UNUSED void fake_act(struct fake *fake, struct tune_action action) {
    struct err err = {0};
    if (!tune_session_act(fake->session, &action, &err))
        fail_msg("%s", err.text);
    fake_settle(fake);
}

/* A person who does anything at all, sensible or not, `times` times. */
static inline void fake_act_at_random(struct fake *fake, unsigned seed, int times) {
    static const char *const texts[] = {"keep",
                                        "revert",
                                        "a title\nand text",
                                        "",
                                        "def kernel():\n    # latency 640\n",
                                        "def kernel():\n    # latency 1\n    # broken\n"};
    for (int i = 0; i < times; i++) {
        seed = seed * 1103515245 + 12345;
        unsigned bits = seed >> 8;
        struct tune_action action = {.kind = (enum tune_action_kind)(bits % TUNE_ACTIONS),
                                     .lane = (int)((bits >> 2) % 5) - 1,
                                     .step = (enum tune_step)((bits >> 5) % (TUNE_STEPS + 2)),
                                     .gate = (enum tune_gate)((bits >> 9) % TUNE_GATES),
                                     .attempt = (int)((bits >> 12) % 6),
                                     .index = (int)((bits >> 15) % 5) - 1,
                                     .number = (bits >> 18) % 3 ? 60 : 1e-4,
                                     .text = texts[(bits >> 20) % 6]};
        if ((bits >> 4) % 3 == 0)
            action.kind = i % 2 ? TUNE_ACT_APPROVE : TUNE_ACT_START;
        fake_try(fake, action);
        fake_settle(fake);
    }
}

#endif
