/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel's arguments in the forms the stages want: from the reference or from the job, to the
 * specialiser (shapes) and to the device (numbers). */
#include "runner/evaluation.h"

#include <math.h>
#include <stdlib.h>

static const struct nki_list *parameters(const struct evaluation *evaluation) {
    return &evaluation->kernel->function_def.args->arguments.args;
}

/* ------------------------------------------------------------------------- numbers out of nothing */

/* splitmix64: the same numbers on every machine. */
static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static float next_normal(uint64_t *state) {
    double u = ((double)(next_random(state) >> 11) + 1) * 0x1p-53;
    double v = (double)(next_random(state) >> 11) * 0x1p-53;
    return (float)(sqrt(-2 * log(u)) * cos(6.283185307179586 * v));
}

/* Normal numbers for floats; small whole ones, which are legal indices, for integers. */
static void fill(struct array *array, char *data, uint64_t *state) {
    size_t count = (size_t)array_count(array), step = dtype_bytes(array->dtype);
    bool whole = !dtype_is_float(array->dtype);
    float chunk[256];
    for (size_t at = 0; at < count; at += COUNT_OF(chunk)) {
        size_t n = MIN_OF(count - at, COUNT_OF(chunk));
        for (size_t i = 0; i < n; i++)
            chunk[i] = whole ? (float)(next_random(state) % 2) : next_normal(state);
        device_from_float(array->dtype, chunk, data + at * step, n);
    }
    array->data = data;
}

/* ------------------------------------------------------------------------------ from the job */

static const struct runner_input *find_input(const struct runner_job *job, struct str name) {
    for (size_t i = 0; i < job->input_count; i++)
        if (str_is(name, job->inputs[i].name))
            return &job->inputs[i];
    return NULL;
}

static void add_value(struct task_inputs *inputs, const struct runner_input *input) {
    if (inputs->count == TASK_MAX_VALUES)
        return;
    struct task_value *value = &inputs->values[inputs->count++];
    if (input->dtype == DTYPE_NONE) {
        value->kind = input->is_whole ? TASK_INT : TASK_FLOAT;
        value->number = input->value;
        value->integer = input->is_whole ? (int64_t)input->value : 0;
        return;
    }
    value->kind = TASK_ARRAY;
    value->array.dtype = input->dtype;
    value->array.ndim = input->ndim;
    for (int d = 0; d < input->ndim; d++)
        value->array.shape[d] = input->shape[d];
}

static void add_data(const struct evaluation *evaluation, struct task_inputs *inputs) {
    uint64_t state = (uint64_t)evaluation->job.seeds[0];
    for (size_t i = 0; i < inputs->count; i++) {
        struct array *array = &inputs->values[i].array;
        if (inputs->values[i].kind == TASK_ARRAY)
            fill(array, arena_alloc(evaluation->arena, 1, array_bytes(array)), &state);
    }
}

struct task_inputs *inputs_from_job(const struct evaluation *evaluation, bool with_data) {
    struct task_inputs *inputs = mem_alloc(1, sizeof *inputs);
    const struct nki_list *args = parameters(evaluation);
    for (uint32_t i = 0; i < args->len; i++) {
        const struct runner_input *input = find_input(&evaluation->job, args->at[i]->arg.name);
        if (input)
            add_value(inputs, input);
    }
    if (with_data)
        add_data(evaluation, inputs);
    return inputs;
}

/* ------------------------------------------------------------------------------ to the stages */

/* The kernel's parameter that value number `index` belongs to: values of a reference stand in the
 * parameters' order, values of the job leave out what it does not name. */
static uint32_t parameter_of(const struct evaluation *evaluation, size_t index) {
    const struct nki_list *args = parameters(evaluation);
    if (!evaluation->job.input_count)
        return (uint32_t)index;
    for (uint32_t i = 0; i < args->len; i++)
        if (find_input(&evaluation->job, args->at[i]->arg.name) && index-- == 0)
            return i;
    return args->len;
}

static const char *name_of(struct evaluation *evaluation, size_t index) {
    struct str name = parameters(evaluation)->at[parameter_of(evaluation, index)]->arg.name;
    return arena_strndup(evaluation->arena, name.at, name.len);
}

struct nki_input *inputs_for_specialiser(struct evaluation *evaluation,
                                         const struct task_inputs *inputs) {
    static const enum nki_input_kind kinds[] = {
        [TASK_ARRAY] = NKI_INPUT_ARRAY, [TASK_FLOAT] = NKI_INPUT_FLOAT,
        [TASK_INT] = NKI_INPUT_INT,     [TASK_BOOL] = NKI_INPUT_BOOL,
        [TASK_TEXT] = NKI_INPUT_STR,    [TASK_NONE] = NKI_INPUT_NONE};
    struct nki_input *list = ARENA_ARRAY(evaluation->arena, struct nki_input, inputs->count + 1);
    for (size_t i = 0; i < inputs->count; i++) {
        const struct task_value *value = &inputs->values[i];
        list[i] = (struct nki_input){.kind = kinds[value->kind], .array = value->array,
                                     .i = value->integer, .f = value->number, .s = value->text};
        if (evaluation->job.input_count)
            list[i].name = name_of(evaluation, i);
    }
    return list;
}

struct array *inputs_for_device(const struct evaluation *evaluation,
                                const struct task_inputs *inputs, struct arena *arena,
                                size_t *count) {
    *count = 0;
    for (size_t i = 0; i < inputs->count; i++)
        *count = MAX_OF(*count, (size_t)parameter_of(evaluation, i) + 1);
    struct array *list = ARENA_ARRAY(arena, struct array, *count + 1);
    for (size_t i = 0; i < inputs->count; i++)
        list[parameter_of(evaluation, i)] = inputs->values[i].array;
    return list;
}

void inputs_print_missing(const struct evaluation *evaluation, struct buf *out) {
    const struct nki_list *args = parameters(evaluation);
    for (uint32_t i = 0; i < args->len; i++) {
        const struct nki_node *arg = args->at[i];
        if (arg->arg.default_value || arg->arg.form == NKI_ARG_STAR ||
            arg->arg.form == NKI_ARG_DOUBLE_STAR || find_input(&evaluation->job, arg->arg.name))
            continue;
        buf_printf(out, "%s" STR_FMT, out->len ? ", " : "", STR_ARG(arg->arg.name));
    }
}
