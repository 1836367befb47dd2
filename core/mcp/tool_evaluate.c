/* SPDX-License-Identifier: Apache-2.0 */
/* Tools that try a kernel on the device model, in children, without the session knowing of it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "mcp/private.h"
#include "nki/nki.h"
#include "runner/runner.h"

#define MOST_KERNELS 8
#define MOST_FINDINGS 20
#define MOST_LINES 8

/* One kernel at work, or done. */
struct tried {
    struct evaluation *of;
    struct runner *runner; /* NULL: it waits for its turn, is done, or asked */
    struct mcp_turn turn;
    bool asked; /* of the child that checks */
    char *source, name[64];
    struct runner_result result;
};
struct evaluation {
    struct mcp_call *call;
    struct tried *tried;
    size_t count, left;
    struct loop_timer *tells; /* how many are done */
    bool checks;              /* without numbers and times */
};

/* ------------------------------------------------------------------------------------ answers */

static void findings_put(cJSON *object, const struct diag_list *diags) {
    cJSON *rows = cJSON_AddArrayToObject(object, "findings");
    for (size_t i = 0; i < MIN_OF(diags->all.len, (size_t)MOST_FINDINGS); i++) {
        const struct diag *diag = &diags->all.at[i];
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "severity", diag_severity_name(diag->severity));
        mcp_put_text(row, "code", diag->code);
        if (diag->line > 0)
            cJSON_AddNumberToObject(row, "line", diag->line);
        mcp_put_text(row, "message", diag->message);
        cJSON_AddItemToArray(rows, row);
    }
    cJSON_AddNumberToObject(object, "errors", (double)diags->errors);
    cJSON_AddNumberToObject(object, "warnings", (double)diags->warnings);
}

static void verdict_put(cJSON *object, const struct task_verdict *verdict) {
    const struct {
        const char *name;
        const struct task_judgement *its;
    } rows[] = {{"compiles", &verdict->compiles},
                {"correct", &verdict->correct},
                {"credible", &verdict->credible}};
    cJSON *answers = cJSON_AddObjectToObject(object, "verdict");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char key[24];
        if (rows[i].its->answer == TASK_NOT_ASKED)
            continue;
        snprintf(key, sizeof key, "%s_why", rows[i].name);
        cJSON_AddStringToObject(answers, rows[i].name, task_answer_name(rows[i].its->answer));
        mcp_put_text(answers, key, rows[i].its->reason);
    }
}

static void costs_put(cJSON *object, const char *source, const struct runner_result *result) {
    cJSON *lines = cJSON_AddArrayToObject(object, "lines");
    for (size_t i = 0; i < MIN_OF(result->lines.len, (size_t)MOST_LINES); i++) {
        const struct runner_line *line = &result->lines.at[i];
        struct buf text = {0};
        cJSON *row = cJSON_CreateObject();
        mcp_line_print(source, line->line, &text);
        cJSON_AddNumberToObject(row, "line", line->line);
        mcp_put_number(row, "us", line->us);
        mcp_put_number(row, "share", line->share);
        mcp_put_number(row, "busy_us", line->busy_us);
        mcp_put_text(row, "engine", line->engine);
        mcp_put_text(row, "text", text.at);
        cJSON_AddItemToArray(lines, row);
        buf_free(&text);
    }
    cJSON *bounds = cJSON_AddArrayToObject(object, "bounds");
    for (size_t i = 0; i < result->bounds.len; i++) {
        cJSON *row = cJSON_CreateObject();
        mcp_put_text(row, "name", result->bounds.at[i].name);
        mcp_put_number(row, "busy_us", result->bounds.at[i].busy_us);
        mcp_put_number(row, "latency_without_us", result->bounds.at[i].without_us);
        cJSON_AddItemToArray(bounds, row);
    }
}

/* As of an attempt, by the same rule. */
static void limited_put(cJSON *object, const struct runner_result *result) {
    struct tune_attempt attempt = {.latency_us = result->latency_us,
                                   .bound_by = result->bound[0] ? result->bound : NULL};
    for (size_t i = 0; i < result->bounds.len; i++)
        *vec_push(&attempt.bounds) =
            (struct tune_bound){result->bounds.at[i].name, result->bounds.at[i].busy_us,
                                result->bounds.at[i].without_us};
    mcp_put_limited(object, "bound_by", &attempt);
    vec_free(&attempt.bounds);
}

/* The account of causes, as people and models read it. */
static void causes_put(cJSON *object, const struct runner_result *result) {
    cJSON *causes = result->causes ? cJSON_Parse(result->causes) : NULL;
    mcp_put_text(object, "causes",
                 cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(causes, "text")));
    cJSON_Delete(causes);
}

static void numbers_put(cJSON *object, const struct runner_result *result) {
    const struct {
        const char *key;
        double value;
    } rows[] = {{"latency_us", result->latency_us},
                {"low_us", result->low_us},
                {"high_us", result->high_us},
                {"floor_us", result->floor_us}};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].value > 0)
            mcp_put_number(object, rows[i].key, rows[i].value);
    limited_put(object, result);
    if (result->seeds.len) {
        double worst = 0;
        for (size_t i = 0; i < result->seeds.len; i++)
            worst = fmax(worst, result->seeds.at[i].rel_l2);
        mcp_put_number(object, "worst_rel_l2", worst);
        cJSON_AddNumberToObject(object, "seeds", (double)result->seeds.len);
    }
}

/* What a candidate may not do, whoever wrote it: the same list as for proposals. By names alone;
 * types are looked at in the program once the kernel is handed in. */
static void guard(const struct tune_state *state, struct tried *tried) {
    const char *path = tune_kernel_file(state) ? tune_kernel_file(state) : "kernel.py";
    const char *first = state->kernel_source ? state->kernel_source : "";
    const char *a = tune_memory_dialect(first), *b = tune_memory_dialect(tried->source);
    struct diag_list ignored = {0}, *found = &tried->result.diagnostics;
    struct nki_tree *original = nki_parse(path, str_of(first), &ignored);
    struct nki_tree *tree = nki_parse(path, str_of(tried->source), &ignored);
    struct nki_candidate_options options = {.original = original,
                                            .allows_original = state->allows_seed,
                                            .any_dialect = a && b && strcmp(a, b) != 0,
                                            .release = tune_release(state),
                                            .generation = nki_generation_find(state->device),
                                            .looks_for_types = tune_precision_allowed(state) ==
                                                               TUNE_PRECISION_KEEP,
                                            .path = path,
                                            .reference = tune_reference_file(state)};
    nki_lint_candidate(tree, &options, found);
    nki_tree_free(tree);
    nki_tree_free(original);
    diag_free(&ignored);
}

/* A launch on more cores than the session's kernels have is refused here as in the loop. */
static bool cores_judge(const struct tune_state *state, struct runner_result *result) {
    struct buf why = {0};
    bool more = tune_cores_exceed(state, result->lnc, &why);
    if (more) {
        diag_add(&result->diagnostics, DIAG_ERROR, "hone-candidate-cores", NULL, 0, 0, "%s",
                 why.at);
        task_judge(&result->verdict.credible, TASK_NO, "%s", why.at);
    }
    buf_free(&why);
    return more;
}

/* A ratio between times on as many cores; where the incumbent has others, they are said. */
static void ratio_put(cJSON *object, const struct tune_attempt *best,
                      const struct runner_result *result) {
    if (!best || !best->modelled || !(result->latency_us > 0))
        return;
    mcp_put_number(object, "vs_incumbent", best->latency_us / result->latency_us);
    if (MAX_OF(best->lnc, 1) != MAX_OF(result->lnc, 1))
        cJSON_AddNumberToObject(object, "incumbent_cores", MAX_OF(best->lnc, 1));
}

static cJSON *tried_write(const struct tune_state *state, struct tried *tried, bool checks) {
    struct runner_result *result = &tried->result;
    bool more = cores_judge(state, result);
    cJSON *object = cJSON_CreateObject();
    struct buf same = {0};
    cJSON_AddStringToObject(object, "kernel", tried->name);
    mcp_put_text(object, "dialect", result->dialect);
    if (result->instructions) {
        cJSON_AddNumberToObject(object, "instructions", (double)result->instructions);
        cJSON_AddNumberToObject(object, "cores", MAX_OF(result->lnc, 1));
    }
    verdict_put(object, &result->verdict);
    if (!checks) {
        numbers_put(object, result);
        if (!more)
            ratio_put(object, tune_state_attempt(state, state->incumbent), result);
        costs_put(object, tried->source, result);
        causes_put(object, result);
    }
    findings_put(object, &result->diagnostics);
    if (tune_same_find(state, str_of(tried->source), NULL, &same))
        mcp_put_text(object, "tried_before", same.at);
    buf_free(&same);
    if (result->failure.kind != ERR_NONE) {
        cJSON_AddStringToObject(object, "failure", result->failure.text);
        cJSON_AddStringToObject(object, "whose", err_kind_name(result->failure.kind));
    }
    return object;
}

/* ------------------------------------------------------------------------------------ the work */

static void evaluation_free(struct evaluation *own) {
    loop_timer_stop(own->tells);
    for (size_t i = 0; i < own->count; i++) {
        if (own->tried[i].asked)
            runner_checks_drop(own->call->client->server->checks, &own->tried[i]);
        mcp_turn_end(&own->tried[i].turn);
        runner_drop(own->tried[i].runner);
        runner_result_free(&own->tried[i].result);
        free(own->tried[i].source);
    }
    free(own->tried);
    free(own);
}

static void cancel(struct mcp_call *call) {
    evaluation_free(call->work);
}

static void answer(struct evaluation *own) {
    struct mcp_call *call = own->call;
    const struct tune_state *state = mcp_state(call);
    cJSON *object;
    for (size_t i = 0; own->checks && i < own->count; i++)
        guard(state, &own->tried[i]);
    if (own->count == 1) {
        object = tried_write(state, &own->tried[0], own->checks);
    } else {
        object = cJSON_CreateObject();
        cJSON *rows = cJSON_AddArrayToObject(object, "kernels");
        for (size_t i = 0; i < own->count; i++)
            cJSON_AddItemToArray(rows, tried_write(state, &own->tried[i], own->checks));
    }
    evaluation_free(own);
    mcp_call_done(call, object, NULL);
}

static void on_event(void *data, const struct runner_event *event) {
    const struct tried *tried = data;
    if (event->kind == RUNNER_PHASE && event->seconds < 0)
        mcp_call_progress(tried->of->call, NAN, "%s: %s", tried->name, event->name);
    else if (event->kind == RUNNER_CORRECTNESS)
        mcp_call_progress(tried->of->call, NAN, "%s: seed %lld, relative L2 %.3g", tried->name,
                          (long long)event->seed, event->value);
}

static void on_done(void *data, struct runner_result *result);

static struct runner_job job_of(const struct evaluation *own, const struct tried *tried);

static bool run(struct tried *tried, struct err *err) {
    struct runner_job job = job_of(tried->of, tried);
    const struct runner_callbacks callbacks = {on_event, on_done, tried};
    tried->runner =
        runner_start(tried->of->call->client->server->options.loop, &job, &callbacks, err);
    return tried->runner != NULL;
}

/* What the child that checks could not say: the shapes are not in the cache yet, so the reference
 * has to be asked; or it could not work behind its wall. */
static bool needs_runner(const struct tried *tried, const struct runner_result *result) {
    bool no_shapes = result->verdict.compiles.answer == TASK_NOT_ASKED &&
                     !result->diagnostics.errors && tune_reference_file(mcp_state(tried->of->call));
    return tried->asked && (no_shapes || result->failure.kind == ERR_ENVIRONMENT);
}

static void on_done(void *data, struct runner_result *result) {
    struct tried *tried = data;
    struct err ignored = {0};
    bool again = needs_runner(tried, result);
    tried->runner = NULL;
    tried->asked = false;
    mcp_turn_end(&tried->turn);
    if (again && run(tried, &ignored))
        return;
    tried->result = *result;
    *result = (struct runner_result){0};
    if (--tried->of->left == 0)
        answer(tried->of);
}

static struct runner_job job_of(const struct evaluation *own, const struct tried *tried) {
    const struct mcp_options *options = &own->call->client->server->options;
    const struct tune_state *state = mcp_state(own->call);
    struct runner_job job = {.kernel_path =
                                 tune_kernel_file(state) ? tune_kernel_file(state) : "kernel.py",
                             .kernel_text = tried->source,
                             .kernel_name = state->function,
                             .reference_path = tune_reference_file(state),
                             .device = state->device,
                             .release = tune_release(state),
                             .tracing = state->tracing,
                             .seeds = state->seeds.at,
                             .seed_count = state->seeds.len,
                             .tolerance = state->tolerance > 0 ? state->tolerance : 0,
                             .check_only = own->checks,
                             .strict = own->checks,
                             .pessimistic = state->is_pessimistic,
                             .lnc = state->lnc,
                             .wall = {.level = config_get(options->config, "wall", "level", NULL),
                                      .shown = config_get(options->config, "wall", "read", NULL)}};
    runner_limits(&job, options->config);
    job.takes_turns = !own->checks;
    return job;
}

/* Of the child that has started already, where it is free. */
static bool ask(struct tried *tried) {
    struct mcp_server *server = tried->of->call->client->server;
    struct runner_job job = job_of(tried->of, tried);
    const struct runner_callbacks callbacks = {on_event, on_done, tried};
    if (!server->checks)
        server->checks = runner_checks_new(server->options.loop);
    return runner_checks_ask(server->checks, &job, &callbacks, &(struct err){0});
}

static void go(void *data) {
    struct tried *tried = data;
    struct err err = {0};
    if (run(tried, &err))
        return;
    struct runner_result failed = {.failure = err};
    on_done(tried, &failed);
}

/* Also while all of them wait for their turn. */
static void on_tells(void *data) {
    const struct evaluation *own = data;
    mcp_call_progress(own->call, NAN, "%zu of %zu kernels done", own->count - own->left,
                      own->count);
}

/* None of them tells its end before all are started. */
static bool start(struct evaluation *own, struct err *err) {
    struct mcp_server *server = own->call->client->server;
    own->left = own->count;
    if (!own->checks)
        own->tells = loop_timer_start(server->options.loop, MCP_TELLS_EVERY_MS, MCP_TELLS_EVERY_MS,
                                      on_tells, own);
    for (size_t i = 0; i < own->count; i++) {
        struct tried *tried = &own->tried[i];
        tried->asked = own->checks && ask(tried);
        tried->turn = (struct mcp_turn){.client = own->call->client, .go = go, .data = tried};
        if (!own->checks)
            mcp_turn_ask(&server->evaluations, &tried->turn);
        else if (!tried->asked && !run(tried, err))
            return false;
    }
    return true;
}

static bool kernels_take(struct evaluation *own, struct err *err) {
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(own->call->args, "kernels"), *one;
    int count = list ? cJSON_GetArraySize(list) : 1;
    if (count < 1 || count > MOST_KERNELS)
        return err_set(err, ERR_USAGE, "give 1 to %d kernels, not %d", MOST_KERNELS, count);
    own->tried = mem_alloc((size_t)count, sizeof *own->tried);
    own->count = (size_t)count;
    for (size_t i = 0; i < own->count; i++)
        own->tried[i].of = own;
    if (!list) {
        own->tried[0].source = mcp_kernel_of(own->call, own->tried[0].name, err);
        return own->tried[0].source != NULL;
    }
    size_t i = 0;
    cJSON_ArrayForEach(one, list) {
        snprintf(own->tried[i].name, sizeof own->tried[i].name, "kernel %zu", i + 1);
        own->tried[i++].source = mem_strdup(one->valuestring);
    }
    return true;
}

static void try_kernels(struct mcp_call *call, bool checks) {
    struct err err = {0};
    struct evaluation *own = mem_alloc(1, sizeof *own);
    *own = (struct evaluation){.call = call, .checks = checks};
    if (!kernels_take(own, &err) || !start(own, &err)) {
        evaluation_free(own);
        mcp_call_failed(call, "%s", err.text);
        return;
    }
    call->work = own;
    call->cancel = cancel;
}

void mcp_tool_check(struct mcp_call *call) {
    try_kernels(call, true);
}

/* What is told beside the incumbent, and how many cores there may be, the first kernel decides. */
void mcp_tool_evaluate(struct mcp_call *call) {
    if (!mcp_tool_awaits_first(call))
        try_kernels(call, false);
}
