/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel's arguments in the forms that the stages need. They come from the reference or from the
 * job, and go to the specialiser (shapes) and to the device (numbers). */
#include "runner/embedded/private.h"
#include "runner/embedded/npy.h"

#include <math.h>
#include <stdlib.h>

static const struct nki_list *parameters(const struct evaluation *evaluation) {
    return &evaluation->kernel->function_def.args->arguments.args;
}

/* ---------------------------------------------------------------------- numbers out of nothing */

/* splitmix64 gives the same numbers on every machine. */
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

/* Floats get normal numbers. Integers get small whole ones, which are legal indices. */
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

struct task_inputs *inputs_from_job(const struct evaluation *evaluation) {
    struct task_inputs *inputs = mem_alloc(1, sizeof *inputs);
    const struct nki_list *args = parameters(evaluation);
    for (uint32_t i = 0; i < args->len; i++) {
        const struct runner_input *input = find_input(&evaluation->job, args->at[i]->arg.name);
        if (input)
            add_value(inputs, input);
    }
    return inputs;
}

/* The kernel's parameter for value number `index`. Values of a reference are in the order of the
 * parameters. Values of the job leave out parameters that it does not name. */
static uint32_t parameter_of(const struct evaluation *evaluation, size_t index) {
    const struct nki_list *args = parameters(evaluation);
    if (!evaluation->job.input_count)
        return (uint32_t)index;
    for (uint32_t i = 0; i < args->len; i++)
        if (find_input(&evaluation->job, args->at[i]->arg.name) && index-- == 0)
            return i;
    return args->len;
}

/* ---------------------------------------------------------------------------------- from files */

static bool is_npy(const char *file) {
    return str_ends(str_of(file), ".npy");
}

static bool names_a_type(struct runner_input *input, struct err *err) {
    if (input->dtype == DTYPE_NONE || (!is_npy(input->file) && !input->ndim))
        return err_set(err, ERR_USAGE,
                       "%s holds raw numbers: say which, as in --input "
                       "%s=%s:4096x1024:bfloat16",
                       input->file, input->name, input->file);
    if (!file_exists(input->file))
        return err_set(err, ERR_USAGE, "cannot read %s: there is no such file", input->file);
    return true;
}

/* An .npy of unsigned or untyped items may hold the codes of another type. Otherwise the types must
 * agree. */
static bool takes_type(struct runner_input *input, const struct npy_header *header,
                       struct err *err) {
    bool is_code = header->dtype == DTYPE_NONE || dtype_kind(header->dtype) == 'u';
    if (input->dtype == DTYPE_NONE && header->dtype == DTYPE_NONE)
        return err_set(err, ERR_USAGE,
                       "%s does not say what its %zu-byte numbers are: add it, as "
                       "in --input %s=%s:bfloat16",
                       input->file, header->item_bytes, input->name, input->file);
    if (input->dtype == DTYPE_NONE)
        input->dtype = header->dtype;
    if (input->dtype == header->dtype)
        return true;
    if (is_code && dtype_bytes(input->dtype) == header->item_bytes)
        return true;
    return err_set(err, ERR_USAGE, "%s holds %s, which cannot be read as %s", input->file,
                   header->dtype == DTYPE_NONE ? "items of another size"
                                               : dtype_name(header->dtype),
                   dtype_name(input->dtype));
}

static bool takes_shape(struct runner_input *input, const struct npy_header *header,
                        struct err *err) {
    bool same = input->ndim == header->ndim;
    for (int d = 0; same && d < header->ndim; d++)
        same = input->shape[d] == header->shape[d];
    if (input->ndim && !same)
        return err_set(err, ERR_USAGE, "%s holds an array of another shape than --input %s says",
                       input->file, input->name);
    input->ndim = header->ndim;
    for (int d = 0; d < header->ndim; d++)
        input->shape[d] = header->shape[d];
    return true;
}

static bool open_file(struct runner_input *input, struct err *err) {
    struct npy_header header;
    if (!is_npy(input->file))
        return names_a_type(input, err);
    if (!npy_read_header(input->file, &header, err) || !takes_type(input, &header, err) ||
        !takes_shape(input, &header, err))
        return false;
    return true;
}

bool inputs_open_files(struct evaluation *evaluation, struct err *err) {
    struct runner_job *job = &evaluation->job;
    if (!job->input_count)
        return true;
    struct runner_input *inputs =
        arena_dup(evaluation->arena, job->inputs, job->input_count * sizeof *inputs);
    job->inputs = inputs;
    for (size_t i = 0; i < job->input_count; i++) {
        if (!inputs[i].file)
            continue;
        if (!open_file(&inputs[i], err))
            return false;
        if (inputs[i].dtype == DTYPE_FLOAT64) /* of int64 the kernel's release decides */
            return err_set(err, ERR_USAGE,
                           "%s holds %s, which the device does not have: save it "
                           "with 32 bits",
                           inputs[i].file, dtype_name(inputs[i].dtype));
    }
    return true;
}

static bool read_file(const struct runner_input *input, struct array *array, struct err *err) {
    struct npy_header header = {0};
    if (is_npy(input->file) && !npy_read_header(input->file, &header, err))
        return false;
    return npy_read_data(input->file,
                         (struct npy_part){header.offset, array_bytes(array), !is_npy(input->file)},
                         array->data, err);
}

struct task_inputs *inputs_with_data(const struct evaluation *evaluation, struct err *err) {
    struct task_inputs *inputs = inputs_from_job(evaluation);
    const struct nki_list *args = parameters(evaluation);
    uint64_t state = (uint64_t)evaluation->job.seeds[0];
    bool ok = true;
    for (size_t i = 0; ok && i < inputs->count; i++) {
        struct array *array = &inputs->values[i].array;
        if (inputs->values[i].kind != TASK_ARRAY)
            continue;
        const struct runner_input *input =
            find_input(&evaluation->job, args->at[parameter_of(evaluation, i)]->arg.name);
        array->data = arena_alloc(evaluation->arena, 1, array_bytes(array));
        if (input && input->file)
            ok = read_file(input, array, err);
        else
            fill(array, array->data, &state);
    }
    if (ok)
        return inputs;
    task_inputs_free(inputs);
    return NULL;
}

/* ------------------------------------------------------------------------------ to the stages */

static const char *name_of(struct evaluation *evaluation, size_t index) {
    struct str name = parameters(evaluation)->at[parameter_of(evaluation, index)]->arg.name;
    return arena_strndup(evaluation->arena, name.at, name.len);
}

static size_t add_input(struct arena *arena, const struct task_inputs *values, size_t at,
                        struct nki_input *input);

/* The `count` values from number `at` on as a list; returns where what follows them begins. */
static size_t add_inputs(struct arena *arena, const struct task_inputs *values, size_t at,
                         size_t count, struct nki_input *list) {
    for (size_t i = 0; i < count; i++)
        at = add_input(arena, values, at, &list[i]);
    return at;
}

static size_t add_input(struct arena *arena, const struct task_inputs *values, size_t at,
                        struct nki_input *input) {
    static const enum nki_input_kind kinds[] = {
        [TASK_ARRAY] = NKI_INPUT_ARRAY,   [TASK_FLOAT] = NKI_INPUT_FLOAT,
        [TASK_INT] = NKI_INPUT_INT,       [TASK_BOOL] = NKI_INPUT_BOOL,
        [TASK_TEXT] = NKI_INPUT_STR,      [TASK_NONE] = NKI_INPUT_NONE,
        [TASK_DTYPE] = NKI_INPUT_DTYPE,   [TASK_TUPLE] = NKI_INPUT_TUPLE,
        [TASK_LIST] = NKI_INPUT_LIST,     [TASK_DICT] = NKI_INPUT_DICT,
        [TASK_RECORD] = NKI_INPUT_RECORD, [TASK_MEMBER] = NKI_INPUT_MEMBER,
    };
    const struct task_value *value = &values->values[at];
    struct nki_input *items = ARENA_ARRAY(arena, struct nki_input, value->items + 1);
    *input = (struct nki_input){.name = value->name,
                                .kind = kinds[value->kind],
                                .array = value->array,
                                .i = value->integer,
                                .f = value->number,
                                .s = value->text,
                                .items = items,
                                .n_items = value->items,
                                .place = (int32_t)at + 1};
    return add_inputs(arena, values, at + 1, value->items, items);
}

struct nki_input *runner_inputs_of(struct arena *arena, const struct task_inputs *values,
                                   size_t *count) {
    struct nki_input *list = ARENA_ARRAY(arena, struct nki_input, values->count + 1);
    *count = 0;
    for (size_t at = 0; at < values->count;)
        at = add_input(arena, values, at, &list[(*count)++]);
    return list;
}

struct nki_input *inputs_for_specialiser(struct evaluation *evaluation,
                                         const struct task_inputs *inputs, size_t *count) {
    struct nki_input *list = runner_inputs_of(evaluation->arena, inputs, count);
    for (size_t i = 0; evaluation->job.input_count && i < *count; i++) {
        list[i].name = name_of(evaluation, i);
        list[i].place = 0;
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

bool inputs_name_parameters(const struct evaluation *evaluation, struct err *err) {
    const struct runner_job *job = &evaluation->job;
    const struct nki_list *args = parameters(evaluation);
    for (size_t i = 0; i < job->input_count; i++) {
        bool found = false;
        for (uint32_t k = 0; k < args->len; k++)
            found = found || str_is(args->at[k]->arg.name, job->inputs[i].name) ||
                    args->at[k]->arg.form == NKI_ARG_DOUBLE_STAR;
        if (!found)
            return err_set(err, ERR_USAGE, "%s has no parameter %s", evaluation->result.kernel_name,
                           job->inputs[i].name);
    }
    return true;
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
