/* SPDX-License-Identifier: Apache-2.0 */
/* What sim and check have in common: the task, the options that make a job, and printing
 * findings. */
#include "cli/kit/job.h"
#include "cli/kit/sessions.h"
#include "cli/kit/settings.h"
#include "nki/nki.h"
#include "tune/tune.h"

#include "loop/loop.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- options -------------------------------------------------------------------------------- */

static bool parse_shape(struct str text, struct runner_input *input) {
    struct str side;
    while (str_next(&text, 'x', &side)) {
        long long length;
        if (input->ndim == ARRAY_MAX_DIMS || !str_to_int(side, &length) || length < 1 ||
            length > 1000000000000)
            return false;
        input->shape[input->ndim++] = length;
    }
    return input->ndim > 0;
}

/* The part of "FILE:SHAPE:DTYPE" that names the file: up to the last .npy or .bin at the end of the
 * text or of a part. Empty: it is no file. */
static struct str file_of(struct str text) {
    static const char *const endings[] = {".npy", ".bin"};
    for (size_t len = text.len; len > 4; len--)
        for (size_t i = 0; i < COUNT_OF(endings); i++)
            if (str_ends((struct str){text.at, len}, endings[i]) &&
                (len == text.len || text.at[len] == ':'))
                return (struct str){text.at, len};
    return (struct str){"", 0};
}

static char *file_name(struct str file) {
    struct buf name = {0};
    buf_add(&name, file.at, file.len);
    return buf_take(&name);
}

/* Reads what may follow a file's name, once each and in any order: a shape, a type. */
static bool parse_file_part(struct str part, struct runner_input *input) {
    enum dtype dtype = dtype_find(part);
    if (dtype == DTYPE_NONE)
        return !input->ndim && parse_shape(part, input);
    if (input->dtype != DTYPE_NONE)
        return false;
    input->dtype = dtype;
    return true;
}

/* Reads "x.npy", "codes.npy:bfloat16" or "raw.bin:4096x1024:bfloat16". */
static bool parse_file(struct cli_job *job, struct str text, struct str file,
                       struct runner_input *input) {
    struct str rest = {text.at + file.len, text.len - file.len}, part;
    char *name = file_name(file);
    input->file = *vec_push(&job->files) = name;
    if (!rest.len)
        return true;
    rest.at++, rest.len--;
    if (!rest.len)
        return false;
    while (str_next(&rest, ':', &part))
        if (!parse_file_part(part, input))
            return false;
    return true;
}

/* Reads "x=4096x1024:float32", "n=7", "eps=1e-5" or "x=x.npy". */
static bool parse_input(struct cli_job *job, const char *text, struct runner_input *input) {
    struct str rest = str_of(text), name, shape, file;
    if (!str_next(&rest, '=', &name) || !name.len || name.len >= sizeof input->name || !rest.len)
        return false;
    snprintf(input->name, sizeof input->name, STR_FMT, STR_ARG(name));
    long long whole;
    if (str_to_int(rest, &whole)) {
        input->value = (double)whole;
        input->is_whole = true;
        return true;
    }
    if (str_to_double(rest, &input->value))
        return true;
    file = file_of(rest);
    if (file.len)
        return parse_file(job, rest, file, input);
    str_next(&rest, ':', &shape);
    input->dtype = rest.at ? dtype_find(rest) : DTYPE_FLOAT32;
    return input->dtype != DTYPE_NONE && parse_shape(shape, input);
}

static int read_inputs(const struct cli *cli, struct cli_job *job) {
    const char *text;
    for (size_t i = 0; (text = cli_value_at(cli, "input", i)); i++) {
        struct runner_input input = {0};
        if (i == RUNNER_MAX_INPUTS || !parse_input(job, text, &input))
            return cli_wrong_usage(cli,
                                   "--input must look like x=4096x1024:float32, eps=1e-5, "
                                   "x=x.npy or x=x.bin:4096x1024:bfloat16, not '%s'",
                                   text);
        *vec_push(&job->inputs) = input;
    }
    job->job.inputs = job->inputs.at;
    job->job.input_count = job->inputs.len;
    return CLI_OK;
}

static int read_seeds(const struct cli *cli, struct cli_job *job) {
    const char *text = cli_value(cli, "seeds");
    struct str rest = str_of(text), one;
    while (text && str_next(&rest, ',', &one)) {
        long long seed;
        if (job->seed_count == TASK_MAX_SEEDS || !str_to_int(str_trim(one), &seed) || seed < 0 ||
            seed > 4294967295)
            return cli_wrong_usage(cli,
                                   "--seeds must be up to %d numbers such as 0,21,42, "
                                   "not '%s'",
                                   TASK_MAX_SEEDS, text);
        job->seeds[job->seed_count++] = seed;
    }
    if (job->seed_count) {
        job->job.seeds = job->seeds;
        job->job.seed_count = job->seed_count;
    }
    return CLI_OK;
}

/* Which function of a file of several is the kernel: the one that was asked for, or that the task
 * or its session names. */
static bool find_function(const struct cli *cli, struct cli_job *job, const char *name,
                          struct err *err) {
    const struct task *task = job->task;
    const char *asked = cli_value(cli, "kernel-name");
    struct str text = {task->kernel_text, task->kernel_len};
    struct err none = {0};
    job->job.kernel_name = asked;
    if (asked)
        return nki_has_kernel(task->kernel_path, text, asked, err);
    nki_print_other_kernels(task->kernel_path, text, &job->others);
    if (!job->others.len)
        return true;
    char *session = job->attempt.source ? NULL : cli_session_of(name, &none);
    job->function = session ? tune_session_function(session) : NULL;
    free(session);
    const char *told = job->function ? job->function : task->function;
    if (told && nki_has_kernel(task->kernel_path, text, told, &none)) {
        job->job.kernel_name = told;
        buf_clear(&job->others);
    }
    return true;
}

/* ---- attempts ------------------------------------------------------------------------------- */

/* Finds the attempt that TASK#N is. */
static bool find_attempt(const char *text, struct cli_job *job, struct err *err) {
    char *name = mem_strdup(text);
    int number = cli_attempt_split(name);
    char *session = number >= 0 ? cli_session_of(name, err) : NULL;
    bool ok = number < 0 || (session && tune_session_kernel(session, number, &job->attempt, err));
    free(session);
    free(name);
    return ok;
}

/* The attempt's source stands for the kernel's, with what its session evaluates it with. */
static void take_attempt(struct cli_job *job) {
    const struct tune_session_kernel *found = &job->attempt;
    free(job->task->kernel_text);
    job->task->kernel_text = mem_strdup(found->source);
    job->task->kernel_len = strlen(found->source);
    if (found->function) {
        free(job->task->function);
        job->task->function = mem_strdup(found->function);
    }
}

static bool open_task(const struct cli *cli, struct cli_job *job, struct err *err) {
    const char *name = cli->args.at[0], *reference = cli_value(cli, "reference");
    const struct tune_session_kernel *found = &job->attempt;
    if (job->takes_attempts && !find_attempt(name, job, err))
        return false;
    if (found->source) {
        /* The reference of a seed in the binary is in the cache, where it may be gone. */
        bool has = file_exists(found->kernel) || file_exists(found->reference);
        reference = reference ? reference : has ? found->reference : NULL;
        name = found->kernel;
    }
    job->task = task_open(name, reference, err);
    if (job->task && found->source)
        take_attempt(job);
    return job->task && find_function(cli, job, name, err);
}

/* What the command line leaves open is as in the session. */
static void take_settings(const struct cli *cli, struct cli_job *job) {
    const struct tune_session_kernel *found = &job->attempt;
    if (!found->source)
        return;
    job->job.device = job->job.device ? job->job.device : found->device;
    if (found->release && !cli_value(cli, "release"))
        job->job.release = found->release;
    if (!cli_value(cli, "tracing"))
        job->job.tracing = found->tracing;
    job->job.lnc = found->lnc;
    job->job.pessimistic = found->is_pessimistic;
}

/* How it is launched and timed, for commands that have these options. */
static int read_launch(const struct cli *cli, struct cli_job *job) {
    double cores = 0;
    if (!cli_number(cli, "lnc", 1, 2, &cores))
        return CLI_WRONG_USAGE;
    job->job.lnc = cores > 0 ? (int)cores : job->job.lnc;
    job->job.pessimistic = job->job.pessimistic || cli_has(cli, "pessimistic");
    return CLI_OK;
}

/* Under which path findings are told and modules looked for: lines of an attempt are not those of
 * the file that is there now. */
static const char *path_of(const struct cli *cli, struct cli_job *job) {
    const char *as = cli_value(cli, "as");
    if (!as && job->attempt.source)
        buf_printf(&job->path, "%s#%d", job->task->kernel_path, job->attempt.attempt);
    return as ? as : job->path.len ? job->path.at : job->task->kernel_path;
}

int cli_job_open(const struct cli *cli, struct cli_job *job) {
    struct err err = {0};
    const char *as = cli_value(cli, "as");
    if (as && !*as)
        return cli_wrong_usage(cli, "--as: give a path");
    if (!open_task(cli, job, &err))
        return cli_fail(cli, &err);
    job->job.kernel_path = path_of(cli, job);
    job->job.kernel_text = job->task->kernel_text;
    job->job.reference_path = job->task->reference_path;
    job->job.model = job->task->model;
    job->job.device = cli_value(cli, "device");
    job->job.strict = cli_has(cli, "strict");
    job->config = settings_load(job->attempt.source ? job->attempt.kernel : cli->args.at[0], &err);
    if (!job->config)
        return cli_fail(cli, &err);
    job->job.release = cli_release(cli, job->config);
    job->job.tracing = cli_tracing(cli, job->config);
    take_settings(cli, job);
    job->job.wall = (struct task_walling){.level = config_get(job->config, "wall", "level", NULL),
                                          .shown = config_get(job->config, "wall", "read", NULL)};
    runner_limits(&job->job, job->config);
    int status = read_launch(cli, job);
    if (status == CLI_OK)
        status = read_inputs(cli, job);
    return status == CLI_OK ? read_seeds(cli, job) : status;
}

void cli_job_say_others(const struct cli_job *job, const char *command, const char *taken) {
    if (job->others.len && *taken)
        cli_say(stderr, "hone %s: %s is taken; --kernel-name takes another one: %s\n", command,
                taken, job->others.at);
}

void cli_job_close(struct cli_job *job) {
    task_free(job->task);
    tune_session_kernel_free(&job->attempt);
    free(job->function);
    buf_free(&job->others);
    buf_free(&job->path);
    config_free(job->config);
    for (size_t i = 0; i < job->files.len; i++)
        free(job->files.at[i]);
    vec_free(&job->files);
    vec_free(&job->inputs);
}

/* ---- findings ------------------------------------------------------------------------------- */

static struct str line_of(const struct task *task, int number) {
    struct str rest = {task->kernel_text, task->kernel_len}, line = {NULL, 0};
    for (int i = 0; i < number; i++)
        if (!str_next(&rest, '\n', &line))
            return (struct str){NULL, 0};
    return line;
}

/* The kernel's own text: its file, or an attempt at it ("kernel.py#3"). */
static bool is_kernel(const struct task *task, const char *file) {
    size_t len = strlen(task->kernel_path);
    return !strncmp(file, task->kernel_path, len) && (!file[len] || file[len] == '#');
}

/* Prints the source line and a mark under the span. Tabs stay, so that the mark is in the right
 * column. */
static void print_source(const struct diag *diag, const struct task *task, struct buf *out) {
    struct str line = line_of(task, diag->line);
    size_t column = (size_t)diag->column;
    if (!line.at || !column || column > line.len + 1 || line.len > 500 ||
        !is_kernel(task, diag->file))
        return;
    buf_printf(out, "%6d | ", diag->line);
    buf_add(out, line.at, line.len);
    buf_puts(out, "\n       | ");
    for (size_t i = 0; i + 1 < column; i++)
        if (line.at[i] == '\t' || ((unsigned char)line.at[i] & 0xc0) != 0x80)
            buf_putc(out, line.at[i] == '\t' ? '\t' : ' ');
    buf_putc(out, '^');
    size_t end = diag->end_line == diag->line ? (size_t)MAX_OF(diag->end_column, 0) : 0;
    for (size_t i = column + 1; i < end && i <= line.len; i++)
        if (((unsigned char)line.at[i - 1] & 0xc0) != 0x80)
            buf_putc(out, '~');
    buf_putc(out, '\n');
}

void cli_print_diags(const struct diag_list *diags, const struct task *task, struct buf *out) {
    struct buf text = {0};
    for (size_t i = 0; i < diags->all.len; i++) {
        struct buf one = {0};
        diag_print(&diags->all.at[i], &one);
        buf_add(&text, one.at, one.len);
        buf_putc(&text, '\n');
        buf_free(&one);
        print_source(&diags->all.at[i], task, &text);
    }
    if (text.len)
        text_sanitise(out, buf_str(&text));
    buf_free(&text);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

cJSON *cli_json_diags(const struct diag_list *diags) {
    cJSON *rows = cJSON_CreateArray();
    for (size_t i = 0; i < diags->all.len; i++) {
        const struct diag *diag = &diags->all.at[i];
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "file", diag->file);
        cJSON_AddNumberToObject(row, "line", diag->line);
        cJSON_AddNumberToObject(row, "column", diag->column);
        cJSON_AddStringToObject(row, "severity", diag_severity_name(diag->severity));
        cJSON_AddStringToObject(row, "code", diag->code);
        cJSON_AddStringToObject(row, "message", diag->message);
        cJSON_AddItemToArray(rows, row);
    }
    return rows;
}

void cli_json_text(cJSON *object, const char *name, const char *text) {
    if (*text)
        cJSON_AddStringToObject(object, name, text);
    else
        cJSON_AddNullToObject(object, name);
}

void cli_json_answer(cJSON *object, const char *name, enum task_answer answer) {
    if (answer == TASK_YES || answer == TASK_NO)
        cJSON_AddBoolToObject(object, name, answer == TASK_YES);
    else
        cJSON_AddNullToObject(object, name);
}

/* Frees both. */
static void json_put(cJSON *object, char *text) {
    struct buf safe = {0};
    text_json(&safe, str_of(text ? text : "null"));
    puts(safe.at);
    fflush(stdout);
    buf_free(&safe);
    free(text);
    cJSON_Delete(object);
}

void cli_json_print(cJSON *object) {
    json_put(object, cJSON_Print(object));
}

void cli_json_line(cJSON *object) {
    json_put(object, cJSON_PrintUnformatted(object));
}

/* ---- inputs of the reference ----------------------------------------------------------------- */

struct prepared {
    bool done;
    size_t shapes; /* of the task, 0: one without a name */
    struct err err;
};

static void on_inputs(void *data, struct task_inputs *inputs, const struct err *err) {
    struct prepared *prepared = data;
    prepared->done = true;
    if (err)
        prepared->err = *err;
    prepared->shapes = inputs ? inputs->shape_count : 0;
    task_inputs_free(inputs); /* it is in the cache now */
}

/* Whether the cache has the inputs of the seed; *shapes: how many the task has. */
static bool is_prepared(const struct runner_job *job, int64_t seed, bool shapes_only,
                        size_t *shapes) {
    struct task_inputs *known = task_inputs_cached(job->reference_path, seed, shapes_only);
    *shapes = known ? known->shape_count : 0;
    task_inputs_free(known);
    return known != NULL;
}

void cli_job_prepare(const struct runner_job *job, bool shapes_only, struct err *err) {
    int64_t seed = job->seeds ? job->seeds[0] : 0;
    if (!job->reference_path || job->input_count)
        return;
    struct prepared prepared = {0};
    size_t shape = 0, ignored;
    seed = shapes_only ? 0 : seed;
    while (is_prepared(job, task_seed_of_shape(seed, shape), shapes_only,
                       shape ? &ignored : &prepared.shapes))
        if (++shape >= prepared.shapes)
            return;
    struct loop *loop = loop_new();
    struct task_reference_limits limits = {.wall = &job->wall};
    struct task_reference *reference =
        task_reference_open(loop, job->reference_path, &limits, &prepared.err);
    for (bool more = reference != NULL; more; more = ++shape < prepared.shapes) {
        prepared.done = false;
        task_reference_prepare(reference, task_seed_of_shape(seed, shape), on_inputs, &prepared);
        loop_run_until(loop, &prepared.done, 0);
    }
    *err = prepared.err;
    task_reference_free(reference);
    loop_free(loop);
}
