/* SPDX-License-Identifier: Apache-2.0 */
/* Why a run's outputs are wrong: the reference goes through its steps once more, and a worker
 * thread holds the kernel against them (core/diagnose). What is found are notes among the findings.
 */
#include "runner/embedded/private.h"

#include "diagnose/diagnose.h"

#include <math.h>
#include <stdlib.h>

struct diagnosing {
    struct seed_run *run;
    void (*done)(struct seed_run *run);
    struct task_inputs *steps;
    struct arena *arena;
    struct diag_list found;
    uint64_t start_ns;
};

static void finish(void *data) {
    struct diagnosing *d = data;
    struct evaluation *evaluation = d->run->evaluation;
    for (size_t i = 0; i < d->found.all.len; i++) {
        const struct diag *diag = &d->found.all.at[i];
        diag_add(&evaluation->diags, diag->severity, diag->code, diag->file, diag->line,
                 diag->column, "%s", diag->message);
    }
    (void)evaluation_tell_diags(evaluation);
    events_phase("diagnose", (double)(clock_monotonic_ns() - d->start_ns) * 1e-9);
    struct seed_run *run = d->run;
    void (*done)(struct seed_run *) = d->done;
    diag_free(&d->found);
    task_inputs_free(d->steps);
    arena_free(d->arena);
    free(d);
    done(run);
}

/* A line of names: "12\tsum in `total`". */
static void read_name(struct diagnosing *d, struct str line, struct diagnose_array *array) {
    struct str number;
    long long value = 0;
    struct buf safe = {0};
    if (!str_next(&line, '\t', &number) || !str_to_int(number, &value))
        value = 0;
    text_sanitise(&safe, line);
    array->name = arena_strdup(d->arena, safe.at ? safe.at : "");
    array->line = value > 0 && value < 1000000 ? (int)value : 0;
    buf_free(&safe);
}

static bool is_usable(const struct task_value *value) {
    return value->kind == TASK_ARRAY && value->array.dtype == DTYPE_FLOAT32 && value->array.data;
}

static size_t take_arrays(struct diagnosing *d, struct diagnose_array *list) {
    const struct task_inputs *steps = d->steps;
    if (!steps || !steps->count || steps->values[0].kind != TASK_TEXT)
        return 0;
    struct str rest = str_of(steps->values[0].text), line;
    size_t n = 0;
    for (size_t i = 1; i < steps->count && str_next(&rest, '\n', &line); i++) {
        if (!is_usable(&steps->values[i]))
            return 0;
        list[n].array = steps->values[i].array;
        read_name(d, line, &list[n++]);
    }
    return n;
}

/* The last arrays are the reference's outputs. They are those of the kernel in its own order if
 * sizes agree, and the difference is the one that Python found after transform_nki_outputs. */
static const struct array *right_outputs(const struct diagnosing *d,
                                         const struct diagnose_array *list, size_t n) {
    const struct seed_run *run = d->run;
    size_t outputs = run->evaluation->program->outputs.len;
    if (!outputs || outputs != run->comparison.count || n < outputs)
        return NULL;
    struct array *right = ARENA_ARRAY(d->arena, struct array, outputs);
    for (size_t k = 0; k < outputs; k++) {
        right[k] = list[n - outputs + k].array;
        if (array_count(&right[k]) != array_count(&run->outputs[k]))
            return NULL;
    }
    return right;
}

/* It must not be what an evaluation's time runs out with. */
static double seconds_for(const struct runner_job *job) {
    double limit_s = job->time_limit_s > 0 ? job->time_limit_s : RUNNER_TIME_LIMIT_S;
    return fmin(DIAGNOSE_SECONDS, limit_s / 10);
}

/* The kernel that is right, for the same inputs. Without it the diagnosis has less to go by. */
static struct device_image *load_parent(struct diagnosing *d, struct nki_tree **tree) {
    struct evaluation *evaluation = d->run->evaluation;
    const struct runner_job *job = &evaluation->job;
    size_t n_inputs;
    const struct nki_input *inputs =
        inputs_for_specialiser(evaluation, evaluation->shapes, &n_inputs);
    struct nki_specialise_options options = {.function = job->kernel_name,
                                             .generation = evaluation->generation->generation,
                                             .release = evaluation->job.release,
                                             .inputs = inputs,
                                             .n_inputs = n_inputs,
                                             .grid = {job->lnc},
                                             .max_instructions = (size_t)job->instruction_limit,
                                             .max_steps = (size_t)job->step_limit,
                                             .max_bytes = (size_t)job->value_limit};
    struct diag_list diags = {0};
    *tree = nki_parse("parent.py", str_of(job->parent_text), &diags);
    struct nki_program *program = (*tree)->errors ? NULL : nki_specialise(*tree, &options, &diags);
    struct device_image *image =
        program ? device_load(program, evaluation->generation, &diags) : NULL;
    if (program && !image)
        nki_program_free(program);
    diag_free(&diags);
    return image;
}

static void free_parent(struct device_image *image, struct nki_tree *tree) {
    const struct nki_program *program = image ? device_image_program(image) : NULL;
    device_unload(image);
    if (program)
        nki_program_free((struct nki_program *)(uintptr_t)program);
    if (tree)
        nki_tree_free(tree);
}

static void work(void *data) {
    struct diagnosing *d = data;
    struct nki_tree *tree = NULL;
    struct evaluation *evaluation = d->run->evaluation;
    struct diagnose_array *list = ARENA_ARRAY(d->arena, struct diagnose_array, TASK_MAX_VALUES);
    size_t n = take_arrays(d, list);
    struct diagnose_question question = {.image = evaluation->image,
                                         .outputs = d->run->outputs,
                                         .known = list,
                                         .known_count = n,
                                         .right = right_outputs(d, list, n),
                                         .expected = d->run->comparison.rel_l2,
                                         .tolerance = evaluation->result.tolerance,
                                         .seconds = seconds_for(&evaluation->job),
                                         .memory_bytes = evaluation->job.memory_limit};
    question.inputs =
        inputs_for_device(evaluation, d->run->inputs, d->arena, &question.input_count);
    struct device_image *parent = evaluation->job.parent_text ? load_parent(d, &tree) : NULL;
    question.parent = parent;
    question.source = evaluation->job.kernel_text;
    question.parent_source = parent ? evaluation->job.parent_text : NULL;
    diagnose(&question, &d->found);
    free_parent(parent, tree);
}

static void on_steps(void *data, struct task_inputs *steps, const struct err *err) {
    struct diagnosing *d = data;
    (void)err; /* without its steps, what the kernel does alone is looked at */
    d->steps = steps;
    loop_job_start(d->run->evaluation->loop, work, finish, d);
}

void diagnose_start(struct seed_run *run, void (*done)(struct seed_run *run)) {
    struct diagnosing *d = mem_alloc(1, sizeof *d);
    *d = (struct diagnosing){
        .run = run, .done = done, .arena = arena_new(), .start_ns = clock_monotonic_ns()};
    events_phase("diagnose", -1);
    task_reference_steps(run->evaluation->reference, run->asked, on_steps, d);
}
