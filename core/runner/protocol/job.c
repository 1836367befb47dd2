/* SPDX-License-Identifier: Apache-2.0 */
/* The job as one line of JSON, and back. What comes in is checked here, so that the runner can
 * trust every number in it. Nothing is run. */
#include "runner/protocol/protocol.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void add_text(cJSON *object, const char *name, const char *text) {
    if (text)
        cJSON_AddStringToObject(object, name, text);
}

static void add_flag(cJSON *object, const char *name, bool value) {
    if (value)
        cJSON_AddTrueToObject(object, name);
}

static void add_number(cJSON *object, const char *name, double value) {
    if (value > 0)
        cJSON_AddNumberToObject(object, name, value);
}

static void add_shape(cJSON *row, const struct runner_input *input) {
    cJSON *shape = cJSON_AddArrayToObject(row, "shape");
    for (int d = 0; d < input->ndim; d++)
        cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)input->shape[d]));
}

static void add_inputs(cJSON *object, const struct runner_job *job) {
    cJSON *rows = cJSON_AddArrayToObject(object, "inputs");
    for (size_t i = 0; i < job->input_count; i++) {
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "name", job->inputs[i].name);
        cJSON_AddItemToArray(rows, row);
        add_text(row, "file", job->inputs[i].file);
        if (job->inputs[i].dtype == DTYPE_NONE && !job->inputs[i].file) {
            cJSON_AddNumberToObject(row, "value", job->inputs[i].value);
            add_flag(row, "is_whole", job->inputs[i].is_whole);
            continue;
        }
        if (job->inputs[i].dtype != DTYPE_NONE)
            cJSON_AddStringToObject(row, "dtype", dtype_name(job->inputs[i].dtype));
        if (!job->inputs[i].file || job->inputs[i].ndim)
            add_shape(row, &job->inputs[i]);
    }
}

static void add_seeds(cJSON *object, const struct runner_job *job) {
    if (!job->seeds)
        return;
    cJSON *seeds = cJSON_AddArrayToObject(object, "seeds");
    for (size_t i = 0; i < job->seed_count; i++)
        cJSON_AddItemToArray(seeds, cJSON_CreateNumber((double)job->seeds[i]));
}

bool runner_job_traces(const struct runner_job *job) {
    return job->tracing && strcmp(job->tracing, "python3") == 0;
}

/* Only the embedded runner reads these. */
static void add_model(cJSON *object, const struct runner_job *job) {
    cJSON *constants = job->constants ? cJSON_Parse(job->constants) : NULL;
    if (constants)
        cJSON_AddItemToObject(object, "constants", constants);
    add_flag(object, "pessimistic", job->pessimistic);
    add_flag(object, "unrounded", job->unrounded);
    add_text(object, "tracing", job->tracing);
    if (runner_job_traces(job)) /* for the wall around that Python */
        add_text(object, "wall_read", job->wall.shown);
}

/* Only remote runners read these. */
static void add_remote(cJSON *object, const struct runner_job *job) {
    add_text(object, "session", job->session);
    if (job->setting_count) {
        cJSON *settings = cJSON_AddObjectToObject(object, "settings");
        for (size_t i = 0; i < job->setting_count; i++)
            add_text(settings, job->settings[i].name, job->settings[i].value);
    }
    cJSON *model = job->model ? cJSON_Parse(job->model) : NULL;
    if (!model)
        return;
    cJSON_AddStringToObject(object, "kind", "model");
    cJSON_AddItemToObject(object, "model", model);
}

void runner_job_print(const struct runner_job *job, struct buf *out) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddNumberToObject(object, "protocol", RUNNER_PROTOCOL);
    add_text(object, "kernel_path", job->kernel_path);
    add_text(object, "kernel_text", job->kernel_text);
    add_text(object, "kernel_name", job->kernel_name);
    add_text(object, "incumbent_text", job->incumbent_text);
    add_text(object, "parent_text", job->parent_text);
    add_text(object, "reference_path", job->reference_path);
    add_text(object, "device", job->device);
    add_text(object, "release", job->release);
    add_text(object, "artifact_folder", job->artifact_folder);
    add_text(object, "output_folder", job->output_folder);
    if (job->input_count)
        add_inputs(object, job);
    add_seeds(object, job);
    add_number(object, "tolerance", job->tolerance);
    add_flag(object, "check_only", job->check_only);
    add_flag(object, "predict_only", job->predict_only);
    add_flag(object, "no_time", job->no_time);
    add_flag(object, "no_verify", job->no_verify);
    add_flag(object, "all_seeds", job->all_seeds);
    add_flag(object, "strict", job->strict);
    add_number(object, "break_line", job->break_line);
    add_number(object, "break_round", job->break_round);
    add_number(object, "time_limit_s", job->time_limit_s);
    add_number(object, "memory_limit", (double)job->memory_limit);
    add_number(object, "instruction_limit", (double)job->instruction_limit);
    add_number(object, "step_limit", (double)job->step_limit);
    add_number(object, "lnc", job->lnc);
    add_number(object, "value_limit", (double)job->value_limit);
    add_model(object, job);
    add_remote(object, job);
    char *text = cJSON_PrintUnformatted(object);
    buf_puts(out, text ? text : "{}");
    free(text);
    cJSON_Delete(object);
}

/* ------------------------------------------------------------------------------------- parsing */

/* A job that is being read. *err keeps the first thing that is wrong. */
struct reading {
    const cJSON *object;
    struct arena *arena;
    struct err *err;
    bool ok;
};

static void complain(struct reading *reading, const char *name, const char *what) {
    if (reading->ok)
        err_set(reading->err, ERR_USAGE, "the job's \"%s\" %s", name, what);
    reading->ok = false;
}

static const cJSON *get(struct reading *reading, const char *name) {
    return cJSON_GetObjectItemCaseSensitive(reading->object, name);
}

static const char *get_text(struct reading *reading, const char *name) {
    const cJSON *item = get(reading, name);
    if (!item || cJSON_IsNull(item))
        return NULL;
    if (!cJSON_IsString(item)) {
        complain(reading, name, "must be a string");
        return NULL;
    }
    return arena_strdup(reading->arena, item->valuestring);
}

static bool get_flag(struct reading *reading, const char *name) {
    const cJSON *item = get(reading, name);
    if (item && !cJSON_IsBool(item))
        complain(reading, name, "must be true or false");
    return cJSON_IsTrue(item);
}

static double get_number(struct reading *reading, const char *name, double most) {
    const cJSON *item = get(reading, name);
    if (!item || cJSON_IsNull(item))
        return 0;
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble <= most)) {
        complain(reading, name, "must be a number, 0 or more");
        return 0;
    }
    return item->valuedouble;
}

static void read_shape(struct reading *reading, const cJSON *shape, struct runner_input *input) {
    double bytes = (double)dtype_bytes(input->dtype);
    if (!cJSON_IsArray(shape) || cJSON_GetArraySize(shape) > ARRAY_MAX_DIMS) {
        complain(reading, "inputs", "have a shape that is not a list of up to 8 numbers");
        return;
    }
    for (const cJSON *side = shape->child; side; side = side->next) {
        double length = cJSON_IsNumber(side) ? side->valuedouble : -1;
        bytes *= length;
        if (!(length >= 1 && length <= 1e12) || length != floor(length) || !(bytes <= 1e13)) {
            complain(reading, "inputs", "have a dimension that is not a number of elements");
            return;
        }
        input->shape[input->ndim++] = (int64_t)length;
    }
}

static void read_input(struct reading *reading, const cJSON *row, struct runner_input *input) {
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(row, "name");
    const cJSON *dtype = cJSON_GetObjectItemCaseSensitive(row, "dtype");
    if (!cJSON_IsString(name) || strlen(name->valuestring) >= sizeof input->name) {
        complain(reading, "inputs", "must have a name of up to 63 bytes");
        return;
    }
    snprintf(input->name, sizeof input->name, "%s", name->valuestring);
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(row, "value");
    if (cJSON_IsNumber(value)) {
        input->value = value->valuedouble;
        input->is_whole = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, "is_whole"));
        return;
    }
    const cJSON *file = cJSON_GetObjectItemCaseSensitive(row, "file");
    if (cJSON_IsString(file))
        input->file = arena_strdup(reading->arena, file->valuestring);
    const cJSON *shape = cJSON_GetObjectItemCaseSensitive(row, "shape");
    input->dtype = cJSON_IsString(dtype) ? dtype_find(str_of(dtype->valuestring)) : DTYPE_NONE;
    if (input->dtype == DTYPE_NONE && (dtype || !input->file))
        complain(reading, "inputs", "must have a dtype that NKI knows");
    else if (shape || !input->file)
        read_shape(reading, shape, input);
}

static void read_inputs(struct reading *reading, struct runner_job *job) {
    const cJSON *rows = get(reading, "inputs");
    if (!rows)
        return;
    int count = cJSON_IsArray(rows) ? cJSON_GetArraySize(rows) : RUNNER_MAX_INPUTS + 1;
    if (count > RUNNER_MAX_INPUTS) {
        complain(reading, "inputs", "must be a list of up to 64");
        return;
    }
    struct runner_input *inputs = ARENA_ARRAY(reading->arena, struct runner_input, (size_t)count);
    size_t i = 0;
    for (const cJSON *row = rows->child; row; row = row->next)
        read_input(reading, row, &inputs[i++]);
    job->inputs = inputs;
    job->input_count = i;
}

static void read_seeds(struct reading *reading, struct runner_job *job) {
    static const int64_t usual[] = TASK_SEEDS;
    const cJSON *rows = get(reading, "seeds");
    int count = rows ? cJSON_IsArray(rows) ? cJSON_GetArraySize(rows) : -1 : 0;
    if (count < 0 || count > TASK_MAX_SEEDS) {
        complain(reading, "seeds", "must be a list of up to 64 numbers");
        return;
    }
    int64_t *seeds = count ? ARENA_ARRAY(reading->arena, int64_t, (size_t)count)
                           : arena_dup(reading->arena, usual, sizeof usual);
    size_t i = 0;
    for (const cJSON *row = count ? rows->child : NULL; row; row = row->next) {
        if (!cJSON_IsNumber(row) || !(row->valuedouble >= 0 && row->valuedouble <= 4294967295.0)) {
            complain(reading, "seeds", "must be numbers from 0 to 4294967295");
            return;
        }
        seeds[i++] = (int64_t)row->valuedouble;
    }
    job->seeds = seeds;
    job->seed_count = count ? i : COUNT_OF(usual);
}

/* Its contents are checked where the device is known. */
static void read_constants(struct reading *reading, struct runner_job *job) {
    const cJSON *item = get(reading, "constants");
    if (!item || cJSON_IsNull(item))
        return;
    char *text = cJSON_IsObject(item) ? cJSON_PrintUnformatted(item) : NULL;
    if (!text)
        complain(reading, "constants", "must be an object of numbers");
    job->constants = arena_strdup(reading->arena, text);
    free(text);
}

static void read_job(struct reading *reading, struct runner_job *job) {
    if (get_number(reading, "protocol", 1e6) != RUNNER_PROTOCOL)
        complain(reading, "protocol", "is of another version than this runner's, which is 1");
    job->kernel_path = get_text(reading, "kernel_path");
    job->kernel_text = get_text(reading, "kernel_text");
    job->kernel_name = get_text(reading, "kernel_name");
    job->incumbent_text = get_text(reading, "incumbent_text");
    job->parent_text = get_text(reading, "parent_text");
    job->reference_path = get_text(reading, "reference_path");
    job->device = get_text(reading, "device");
    job->release = get_text(reading, "release");
    job->tracing = get_text(reading, "tracing");
    job->wall.shown = get_text(reading, "wall_read");
    job->artifact_folder = get_text(reading, "artifact_folder");
    job->output_folder = get_text(reading, "output_folder");
    if (!job->kernel_path)
        complain(reading, "kernel_path", "is missing");
    job->tolerance = get_number(reading, "tolerance", 1e9);
    job->check_only = get_flag(reading, "check_only");
    job->predict_only = get_flag(reading, "predict_only");
    job->no_time = get_flag(reading, "no_time");
    job->no_verify = get_flag(reading, "no_verify");
    job->all_seeds = get_flag(reading, "all_seeds");
    job->strict = get_flag(reading, "strict");
    job->break_line = (int)get_number(reading, "break_line", 1e9);
    job->break_round = (int)get_number(reading, "break_round", 1e9);
    job->pessimistic = get_flag(reading, "pessimistic");
    job->unrounded = get_flag(reading, "unrounded");
    read_constants(reading, job);
    job->time_limit_s = get_number(reading, "time_limit_s", 1e7);
    job->memory_limit = (uint64_t)get_number(reading, "memory_limit", 1e15);
    job->instruction_limit = (uint64_t)get_number(reading, "instruction_limit", 1e12);
    job->step_limit = (uint64_t)get_number(reading, "step_limit", 1e15);
    job->lnc = (int)get_number(reading, "lnc", 2);
    job->value_limit = (uint64_t)get_number(reading, "value_limit", 1e15);
    read_inputs(reading, job);
    read_seeds(reading, job);
}

bool runner_job_parse(struct str text, struct arena *arena, struct runner_job *job,
                      struct err *err) {
    *job = (struct runner_job){0};
    cJSON *object = cJSON_ParseWithLength(text.at, text.len);
    if (!cJSON_IsObject(object)) {
        cJSON_Delete(object);
        return err_set(err, ERR_USAGE, "the job is not a JSON object");
    }
    struct reading reading = {.object = object, .arena = arena, .err = err, .ok = true};
    read_job(&reading, job);
    cJSON_Delete(object);
    return reading.ok;
}
