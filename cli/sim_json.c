/* SPDX-License-Identifier: Apache-2.0 */
/* What hone sim --json prints: one object. */
#include "cli/sim.h"

#include <cjson/cJSON.h>
#include <math.h>

#include "device/device.h"

static void add_known(cJSON *object, const char *name, double value, bool known) {
    if (known && isfinite(value))
        cJSON_AddNumberToObject(object, name, value);
    else
        cJSON_AddNullToObject(object, name);
}

static void add_seeds(cJSON *object, const struct runner_result *result) {
    cJSON *rows = cJSON_AddArrayToObject(object, "seeds");
    for (size_t i = 0; i < result->seeds.len; i++) {
        cJSON *row = cJSON_CreateObject();
        cJSON_AddNumberToObject(row, "seed", (double)result->seeds.at[i].seed);
        add_known(row, "rel_l2", result->seeds.at[i].rel_l2, true);
        cJSON_AddItemToArray(rows, row);
    }
}

static void add_metrics(cJSON *object, const struct runner_result *result) {
    cJSON *metrics = cJSON_AddObjectToObject(object, "metrics");
    for (size_t i = 0; i < result->metrics.len; i++)
        add_known(metrics, result->metrics.at[i].name, result->metrics.at[i].value, true);
}

static void add_elapsed(cJSON *object, const struct runner_result *result) {
    cJSON *elapsed = cJSON_AddObjectToObject(object, "elapsed_s");
    for (size_t i = 0; i < result->phases.len; i++)
        cJSON_AddNumberToObject(elapsed, result->phases.at[i].name, result->phases.at[i].seconds);
    cJSON_AddNumberToObject(elapsed, "total", result->elapsed_s);
}

/* Adds the files of --save-outputs. seed is null where the inputs were given. */
static void add_outputs(cJSON *object, const struct sim *sim) {
    cJSON *rows = cJSON_AddArrayToObject(object, "outputs");
    for (size_t i = 0; i < sim->result.artifacts.len; i++) {
        const struct runner_artifact *artifact = &sim->result.artifacts.at[i];
        if (artifact->array.dtype == DTYPE_NONE)
            continue;
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "name", artifact->name);
        bool has_seed = sim->job.job.reference_path && !sim->job.job.input_count;
        add_known(row, "seed", (double)artifact->seed, has_seed);
        cJSON_AddStringToObject(row, "file", artifact->path);
        cJSON_AddStringToObject(row, "dtype", dtype_name(artifact->array.dtype));
        cJSON *shape = cJSON_AddArrayToObject(row, "shape");
        for (int d = 0; d < artifact->array.ndim; d++)
            cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)artifact->array.shape[d]));
        cJSON_AddItemToArray(rows, row);
    }
}

/* Tiles that were shown, line by line. */
static void add_shown(cJSON *object, struct str rest) {
    cJSON *rows = cJSON_AddArrayToObject(object, "shown");
    for (struct str line; str_next(&rest, '\n', &line);) {
        struct buf text = {0};
        buf_add(&text, line.at, line.len);
        cJSON_AddItemToArray(rows, cJSON_CreateString(text.at ? text.at : ""));
        buf_free(&text);
    }
}

static void add_prediction(cJSON *object, const struct runner_prediction *found) {
    add_known(object, "predicted_us", found->us, found->us > 0);
    if (!(found->us > 0))
        return;
    cJSON_AddStringToObject(object, "predicted_by", found->by);
    cJSON *engines = cJSON_AddObjectToObject(object, "predicted_utilisation");
    for (size_t i = 0; i < found->engine_count; i++)
        add_known(engines, found->engines[i].engine, found->engines[i].percent, true);
    add_known(object, "predicted_macs", found->macs, true);
    add_known(object, "predicted_hbm_bytes", found->hbm_bytes, true);
}

/* Adds why there is no whole answer, and whose fault that is. */
static void add_failure(cJSON *object, const struct err *failure) {
    if (failure->kind == ERR_NONE)
        return;
    cJSON *row = cJSON_AddObjectToObject(object, "failure");
    cJSON_AddStringToObject(row, "kind", err_kind_name(failure->kind));
    cJSON_AddStringToObject(row, "text", failure->text);
}

void cli_sim_print_json(const struct sim *sim) {
    const struct runner_result *result = &sim->result;
    const char *device = device_name(sim->job.job.device);
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "kernel", sim->job.task->kernel_path);
    if (sim->job.attempt.source)
        cJSON_AddNumberToObject(object, "attempt", sim->job.attempt.attempt);
    cli_json_text(object, "function", sim->result.kernel_name);
    cJSON_AddStringToObject(object, "device", result->device[0] ? result->device : device);
    cJSON_AddStringToObject(object, "dialect", result->dialect);
    cli_json_text(object, "release", result->release);
    cli_json_answer(object, "compiles", result->verdict.compiles.answer);
    cli_json_answer(object, "correct", result->verdict.correct.answer);
    cli_json_answer(object, "credible", result->verdict.credible.answer);
    cJSON_AddStringToObject(object, "wall", result->wall);
    add_seeds(object, result);
    add_known(object, "latency_us", result->latency_us, result->latency_us > 0);
    add_known(object, "low_us", result->low_us, result->low_us > 0);
    add_known(object, "high_us", result->high_us, result->high_us > 0);
    add_known(object, "floor_us", result->floor_us, result->floor_us > 0);
    add_known(object, "floor_split_us", result->floor_split_us, result->floor_us > 0);
    add_known(object, "floor_any_us", result->floor_any_us, result->floor_us > 0);
    cJSON_AddNumberToObject(object, "instructions", (double)result->instructions);
    cJSON_AddNumberToObject(object, "cores", MAX_OF(result->lnc, 1));
    add_prediction(object, &sim->prediction);
    add_metrics(object, result);
    cJSON *causes = result->causes ? cJSON_Parse(result->causes) : NULL;
    cJSON_AddItemToObject(object, "causes", causes ? causes : cJSON_CreateNull());
    if (sim->shown.len)
        add_shown(object, buf_str(&sim->shown));
    if (cli_has(sim->cli, "save-outputs"))
        add_outputs(object, sim);
    cJSON_AddItemToObject(object, "diagnostics", cli_json_diags(&result->diagnostics));
    add_elapsed(object, result);
    add_failure(object, &result->failure);
    cli_json_print(object);
}
