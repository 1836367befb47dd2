/* SPDX-License-Identifier: Apache-2.0 */
/* The user's reference as a queue of requests. Each is answered from the cache or by the Python
 * child, one at a time and in order. What goes wrong becomes one sentence that names the
 * reference's file and line. python.c finds and starts Python. */
#include "task/task.h"

#include "task/cache.h"
#include "task/python.h"
#include "task/scratch.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_SEED_S 120.0
#define MAX_ASKED 3
#define LARGE_PART 0.3 /* of the memory that it may have */

enum operation { OP_INPUTS, OP_SHAPES, OP_FORWARD, OP_COMPARE, OP_STEPS };
static const char *const operation_names[] = {"inputs", "shapes", "forward", "compare", "steps"};

struct request {
    enum operation operation;
    int64_t seed;
    task_inputs_fn *on_inputs;
    task_compare_fn *on_compare;
    void *data;
    struct array *outputs; /* of OP_COMPARE; the caller owns the arrays' data */
    size_t output_count;
    int asked; /* how often Python has made it already */
};

struct task_reference {
    struct loop *loop;
    char *path, *cache;
    double seed_s;
    uint64_t memory_bytes; /* it may have at most; 0: no limit */
    struct python *python;
    VEC(struct request) queue;
    bool sent;  /* Python has the first request of the queue */
    int number; /* number of the request that Python has */
    uint64_t sent_ns;
    struct loop_timer *timer; /* time limit of the request that Python has */
    struct loop_timer *pump_timer;
    struct err failed; /* how a forward ahead of its comparison failed; the comparisons after it
                        * need not find out again */
    bool apart;        /* Python has a wall of its own */
    bool in_callback, dead;
};

static void pump_soon(struct task_reference *reference);

/* ----------------------------------------------------------------------------------- the queue */

static void free_request(struct request *request) {
    free(request->outputs);
}

static struct request pop(struct task_reference *reference) {
    struct request first = reference->queue.at[0];
    reference->queue.len--;
    memmove(reference->queue.at, reference->queue.at + 1,
            reference->queue.len * sizeof *reference->queue.at);
    reference->sent = false;
    loop_timer_stop(reference->timer);
    reference->timer = NULL;
    return first;
}

static void really_free(struct task_reference *reference) {
    for (size_t i = 0; i < reference->queue.len; i++)
        free_request(&reference->queue.at[i]);
    vec_free(&reference->queue);
    free(reference->cache);
    free(reference->path);
    free(reference);
}

void task_reference_free(struct task_reference *reference) {
    if (!reference)
        return;
    python_free(reference->python);
    loop_timer_stop(reference->timer);
    loop_timer_stop(reference->pump_timer);
    reference->python = NULL;
    reference->timer = reference->pump_timer = NULL;
    reference->dead = true;
    if (!reference->in_callback)
        really_free(reference);
}

/* Answers the first request. False when the reference was freed meanwhile. */
static bool finish(struct task_reference *reference, struct task_inputs *inputs,
                   const struct task_comparison *comparison, const struct err *err) {
    struct request request = pop(reference);
    if (request.operation == OP_FORWARD && err)
        reference->failed = *err;
    reference->in_callback = true;
    if (request.on_inputs)
        request.on_inputs(request.data, inputs, err);
    if (request.on_compare)
        request.on_compare(request.data, comparison, err);
    reference->in_callback = false;
    free_request(&request);
    if (reference->dead) {
        really_free(reference);
        return false;
    }
    pump_soon(reference);
    return true;
}

/* Text from the user's file or from Python must not reach a terminal as it is. */
static void make_printable(char *text) {
    for (; *text; text++)
        if ((unsigned char)*text < 32 || *text == 127)
            *text = ' ';
}

static bool finish_with_error(struct task_reference *reference, enum err_kind kind,
                              const char *text) {
    struct err err = {0};
    err_set(&err, kind, "%s", text);
    make_printable(err.text);
    return finish(reference, NULL, NULL, &err);
}

/* ------------------------------------------------------------------------------------- answers */

static bool flag(const cJSON *row, const char *name) {
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, name));
}

static double number_or_nan(const cJSON *row, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(row, name);
    return cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;
}

/* The worst output is the one that takes most of its share; one that is not finite is worse than
 * all. */
static void note_worst(struct task_comparison *comparison, const struct task_match *match) {
    const struct task_match *worst = &comparison->outputs[comparison->worst];
    if (match == worst || isnan(match->rel_l2) ||
        match->rel_l2 / match->share > worst->rel_l2 / worst->share)
        comparison->worst = (size_t)(match - comparison->outputs);
    comparison->rel_l2 = comparison->outputs[comparison->worst].rel_l2;
}

static void read_comparison(const struct task_reference *reference, const cJSON *answer,
                            struct task_comparison *comparison) {
    comparison->seed = reference->queue.at[0].seed;
    comparison->elapsed_s = (double)(clock_monotonic_ns() - reference->sent_ns) * 1e-9;
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(answer, "matches");
    for (const cJSON *row = rows ? rows->child : NULL; row; row = row->next) {
        if (comparison->count == TASK_MAX_VALUES)
            break;
        struct task_match *match = &comparison->outputs[comparison->count++];
        match->rel_l2 = number_or_nan(row, "rel_l2");
        match->max_abs = number_or_nan(row, "max_abs");
        match->finite = flag(row, "finite");
        match->zero = flag(row, "zero");
        match->reference_zero = flag(row, "reference_zero");
        match->is_input = flag(row, "is_input");
        match->share = number_or_nan(row, "share");
        if (!(match->share > 0 && match->share <= 1))
            match->share = 1;
        note_worst(comparison, match);
    }
}

static enum err_kind kind_of(const char *name) {
    static const struct {
        const char *name;
        enum err_kind kind;
    } kinds[] = {{"raise", ERR_USAGE}, {"value", ERR_USAGE}, {"kernel", ERR_KERNEL}};
    for (size_t i = 0; name && i < COUNT_OF(kinds); i++)
        if (strcmp(name, kinds[i].name) == 0)
            return kinds[i].kind;
    return ERR_ENVIRONMENT;
}

/* Memory runs out where the machine has none left, or where the reference takes more than it may
 * have: then it fails each time. A table that grows needs the old one and twice as much at once. */
static enum err_kind fault_of(const struct task_reference *reference, const cJSON *answer,
                              const char *name) {
    double used = number_or_nan(answer, "used"), may = (double)reference->memory_bytes;
    double has = (double)os_total_memory();
    if (strcmp(name, "memory") != 0)
        return kind_of(name);
    bool too_much = (may > 0 && used > may * LARGE_PART) || (has > 0 && used > has);
    return too_much ? ERR_USAGE : ERR_ENVIRONMENT;
}

static void answer_failure(struct task_reference *reference, const cJSON *answer) {
    const cJSON *kind = cJSON_GetObjectItemCaseSensitive(answer, "kind");
    const cJSON *text = cJSON_GetObjectItemCaseSensitive(answer, "text");
    const char *name = cJSON_IsString(kind) ? kind->valuestring : "";
    enum err_kind fault = fault_of(reference, answer, name);
    struct buf message = {0};
    buf_printf(&message,
               fault == ERR_ENVIRONMENT
                   ? "the machine could not run the reference for seed %lld: %s"
                   : "the reference failed for seed %lld: %s",
               (long long)reference->queue.at[0].seed,
               cJSON_IsString(text) ? text->valuestring : "no reason given");
    if (fault == ERR_KERNEL) {
        buf_clear(&message);
        buf_puts(&message, cJSON_IsString(text) ? text->valuestring : "the outputs do not fit");
    }
    finish_with_error(reference, fault, message.at);
    buf_free(&message);
}

/* They are read once, so the folder is removed as soon as it is mapped. */
static void answer_steps(struct task_reference *reference, const char *folder) {
    struct task_inputs *steps = task_cache_take_steps(reference->path, folder);
    if (steps)
        finish(reference, steps, NULL, NULL);
    else
        finish_with_error(reference, ERR_ENVIRONMENT, "the reference's arrays cannot be read back");
}

static void answer_success(struct task_reference *reference, const cJSON *answer) {
    struct request *request = &reference->queue.at[0];
    char *folder = task_cache_seed(reference->cache, request->seed);
    if (request->operation == OP_COMPARE) {
        struct task_comparison *comparison = mem_alloc(1, sizeof *comparison);
        read_comparison(reference, answer, comparison);
        finish(reference, NULL, comparison, NULL);
        free(comparison);
    } else if (request->operation == OP_FORWARD) {
        task_cache_trim(folder);
        finish(reference, NULL, NULL, NULL);
    } else if (request->operation == OP_STEPS) {
        answer_steps(reference, folder);
    } else {
        request->asked++; /* now the pump finds it in the cache */
        reference->sent = false;
        loop_timer_stop(reference->timer);
        reference->timer = NULL;
        task_cache_trim(folder);
        pump_soon(reference);
    }
    free(folder);
}

static void on_answer(void *data, struct str json) {
    struct task_reference *reference = data;
    cJSON *answer = cJSON_ParseWithLength(json.at, json.len);
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(answer, "id");
    if (reference->sent && cJSON_IsNumber(id) && id->valueint == reference->number) {
        if (flag(answer, "ok"))
            answer_success(reference, answer);
        else
            answer_failure(reference, answer);
    }
    cJSON_Delete(answer);
}

static void on_end(void *data, const struct err *err) {
    struct task_reference *reference = data;
    if (!reference->queue.len)
        return;
    struct buf text = {0};
    buf_puts(&text, err->text);
    finish_with_error(reference, err->kind, text.at);
    buf_free(&text);
}

static void on_late(void *data) {
    struct task_reference *reference = data;
    reference->timer = NULL;
    python_stop(reference->python);
    struct buf text = {0};
    buf_printf(&text, "the reference %s gave no answer within %.3g s for seed %lld; it was ended",
               reference->path, reference->seed_s, (long long)reference->queue.at[0].seed);
    finish_with_error(reference, ERR_USAGE, text.at);
    buf_free(&text);
}

/* ------------------------------------------------------------------------------------- sending */

static cJSON *print_output(const struct array *output, const char *path) {
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "path", path);
    cJSON_AddStringToObject(row, "dtype", dtype_name(output->dtype));
    cJSON *shape = cJSON_AddArrayToObject(row, "shape");
    for (int d = 0; d < output->ndim; d++)
        cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)output->shape[d]));
    return row;
}

/* Where Python can see the kernel's outputs: its own wall shows it this part of the cache. */
static const char *scratch_of(const struct task_reference *reference) {
    return reference->apart ? reference->cache : NULL;
}

static bool add_outputs(const struct task_reference *reference, cJSON *message, struct err *err) {
    const struct request *request = &reference->queue.at[0];
    cJSON *rows = cJSON_AddArrayToObject(message, "outputs");
    for (size_t i = 0; i < request->output_count; i++) {
        char *path = task_scratch_write(&request->outputs[i], scratch_of(reference), err);
        if (!path)
            return false;
        cJSON_AddItemToArray(rows, print_output(&request->outputs[i], path));
        free(path);
    }
    return true;
}

static void send_message(struct task_reference *reference, const cJSON *message) {
    char *line = cJSON_PrintUnformatted(message);
    struct buf text = {0};
    buf_printf(&text, "%s\n", line ? line : "{}");
    free(line);
    reference->sent = true;
    reference->sent_ns = clock_monotonic_ns();
    reference->timer = loop_timer_start(reference->loop, (uint64_t)(reference->seed_s * 1000), 0,
                                        on_late, reference);
    python_send(reference->python, buf_str(&text));
    buf_free(&text);
}

static void send_first(struct task_reference *reference) {
    struct request *request = &reference->queue.at[0];
    char *folder = task_cache_seed(reference->cache, request->seed);
    struct err err = {0};
    cJSON *message = cJSON_CreateObject();
    cJSON_AddNumberToObject(message, "id", ++reference->number);
    cJSON_AddStringToObject(message, "op", operation_names[request->operation]);
    cJSON_AddNumberToObject(message, "seed", (double)request->seed);
    cJSON_AddStringToObject(message, "folder", folder);
    bool ok = task_cache_make(folder, &err) && add_outputs(reference, message, &err);
    if (ok)
        send_message(reference, message);
    cJSON_Delete(message);
    free(folder);
    if (!ok) {
        task_scratch_forget(scratch_of(reference));
        finish(reference, NULL, NULL, &err);
    }
}

/* Answers a request for inputs that the cache has. False when Python has to make them. */
static bool serve_from_cache(struct task_reference *reference, const struct request *request) {
    /* A hone that was ended while Python recorded leaves numbers without what they come from. */
    if (request->operation == OP_SHAPES && !request->asked && !task_graph_there(reference->cache))
        return false;
    char *folder = task_cache_seed(reference->cache, request->seed);
    struct task_inputs *inputs =
        task_cache_load(reference->path, folder, request->operation == OP_SHAPES);
    free(folder);
    if (inputs) {
        inputs->from_cache = !request->asked;
        finish(reference, inputs, NULL, NULL);
        return true;
    }
    /* Another hone may have removed it to make room, or emptied the cache. */
    if (request->asked >= MAX_ASKED)
        finish_with_error(reference, ERR_ENVIRONMENT,
                          "the cache of reference inputs cannot be read back");
    return request->asked >= MAX_ASKED;
}

/* Serves the first request as far as it can without waiting. */
static void pump(void *data) {
    struct task_reference *reference = data;
    reference->pump_timer = NULL;
    if (!reference->queue.len || reference->sent)
        return;
    struct request *request = &reference->queue.at[0];
    bool makes_inputs = request->operation == OP_INPUTS || request->operation == OP_SHAPES;
    if (makes_inputs && serve_from_cache(reference, request))
        return;
    if (!makes_inputs && reference->failed.kind != ERR_NONE) {
        struct err err = reference->failed;
        finish(reference, NULL, NULL, &err);
        return;
    }
    if (python_is_ready(reference->python))
        send_first(reference);
    else
        python_start(reference->python);
}

static void pump_soon(struct task_reference *reference) {
    if (!reference->pump_timer && !reference->dead)
        reference->pump_timer = loop_timer_start(reference->loop, 0, 0, pump, reference);
}

static void on_ready(void *data) {
    pump_soon(data);
}

/* ------------------------------------------------------------------------------------- the API */

struct task_reference *task_reference_open(struct loop *loop, const char *path,
                                           const struct task_reference_limits *limits,
                                           struct err *err) {
    char *cache = task_cache_of(path, err);
    if (!cache) {
        if (err && err->kind == ERR_ENVIRONMENT)
            err->kind = ERR_USAGE;
        return NULL;
    }
    struct task_reference *reference = mem_alloc(1, sizeof *reference);
    reference->loop = loop;
    reference->path = path_absolute(path);
    reference->cache = cache;
    reference->seed_s = limits && limits->seed_s > 0 ? limits->seed_s : DEFAULT_SEED_S;
    reference->memory_bytes = limits ? limits->memory_bytes : 0;
    const struct task_walling *wall = limits ? limits->wall : NULL;
    reference->apart = !(wall && wall->level && strcmp(wall->level, "inside") == 0);
    struct python_callbacks callbacks = {
        .on_ready = on_ready, .on_answer = on_answer, .on_end = on_end, .data = reference};
    reference->python = python_new(loop, reference->path, limits, &callbacks);
    return reference;
}

const char *task_reference_python(const struct task_reference *reference) {
    return python_found(reference->python);
}

void task_reference_prepare(struct task_reference *reference, int64_t seed, task_inputs_fn *fn,
                            void *data) {
    *vec_push(&reference->queue) =
        (struct request){.operation = OP_INPUTS, .seed = seed, .on_inputs = fn, .data = data};
    pump_soon(reference);
}

void task_reference_shapes(struct task_reference *reference, int64_t seed, task_inputs_fn *fn,
                           void *data) {
    *vec_push(&reference->queue) =
        (struct request){.operation = OP_SHAPES, .seed = seed, .on_inputs = fn, .data = data};
    pump_soon(reference);
}

void task_reference_forward(struct task_reference *reference, int64_t seed) {
    *vec_push(&reference->queue) = (struct request){.operation = OP_FORWARD, .seed = seed};
    pump_soon(reference);
}

void task_reference_steps(struct task_reference *reference, int64_t seed, task_inputs_fn *fn,
                          void *data) {
    *vec_push(&reference->queue) =
        (struct request){.operation = OP_STEPS, .seed = seed, .on_inputs = fn, .data = data};
    pump_soon(reference);
}

void task_reference_compare(struct task_reference *reference, int64_t seed,
                            const struct array *outputs, size_t count, task_compare_fn *fn,
                            void *data) {
    *vec_push(&reference->queue) =
        (struct request){.operation = OP_COMPARE,
                         .seed = seed,
                         .on_compare = fn,
                         .data = data,
                         .outputs = mem_dup(outputs, count * sizeof *outputs),
                         .output_count = count};
    pump_soon(reference);
}
