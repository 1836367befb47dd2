/* SPDX-License-Identifier: Apache-2.0 */
/* One evaluation inside the embedded runner's process. */
#ifndef HONE_RUNNER_EMBEDDED_PRIVATE_H
#define HONE_RUNNER_EMBEDDED_PRIVATE_H

#include "device/device.h"
#include "diagnose/diagnose.h"
#include "nki/nki.h"
#include "runner/embedded/embedded.h"
#include "runner/machine/machine.h"
#include "runner/protocol/inner.h"

struct evaluation;

/* Which output has other numbers where rounds run in another order, and by how much (relative L2).
 * 0: none was found. */
struct order_found {
    double off;
    size_t output;
};

/* One seed on its way: inputs, the kernel's outputs, the comparison. */
struct seed_run {
    struct evaluation *evaluation;
    int64_t seed;  /* as it is told */
    int64_t asked; /* as the reference is asked for it: with the number of the shape */
    struct task_inputs *inputs;
    struct array *outputs; /* as many as the program has; their data is freed after comparing */
    uint64_t asked_ns;
    double execute_s;
    struct err err; /* how the execution failed */
    struct task_comparison comparison;
    struct diagnose_show show; /* of the first seed */
    struct order_found order;  /* the same */
    volatile int cancel;
    bool executed, compared, told;
    bool own_rounds;  /* by a program of its own */
    bool held, ended; /* it is wrong, and seeds before it are not compared yet; nothing follows */
};

/* A task with several shapes, on the way through them. What result holds of timing is that of the
 * first one, until all are done. */
struct shape_sums {
    size_t shape;                      /* the one that is evaluated now */
    double incumbent_us;               /* of that shape; 0: not timed */
    double weight, us, was_us;         /* sums over the shapes that are done, weighted */
    double floor_us, split_us, any_us; /* the same of floors; NAN: one was not known */
    double first_us, worst_l2;         /* the first shape's latency; largest error of all */
    bool lacks_incumbent;
};

struct evaluation {
    struct loop *loop;
    struct arena *arena;
    struct runner_job job;
    const struct device_generation *generation;
    struct device_constants constants; /* the generation's, or those of the job */
    struct diag_list diags;
    size_t diags_told;
    struct nki_tree *tree;
    const struct nki_node *kernel;
    struct task_inputs *shapes; /* the first seed's arguments, or those made from the job; of a task
                                 * with several shapes those of the shape that is evaluated now */
    struct shape_sums sums;
    struct task_reference *reference;
    struct nki_program *program;
    struct device_image *image;
    struct device_profile *profile;
    struct device_causes *causes; /* of its latency; NULL: they could not be found */
    struct runner_result result;
    struct seed_run *runs;
    size_t run_count, next_run, running, parallel;
    uint64_t live_bytes;                   /* the most memory that a run has at once */
    double inputs_s, execute_s, compare_s; /* sums over the seeds */
    size_t compare_until;                  /* runs from there on are given up: one was wrong */
    bool compiled, failed;                 /* failed: a run did, and all are given up */
    bool diagnosed;                        /* a wrong seed was looked at, or is being looked at */
    bool rounds_told;
};

/* Finds the function that is the kernel, and its name. False with *err where the file has none. */
bool evaluation_find_kernel(struct evaluation *evaluation, struct err *err) CC_MUST_USE;
/* source.c: fills dialect and release of the result; adds what the source alone shows to the
 * findings. */
void evaluation_name_language(struct evaluation *evaluation);
void evaluation_lint(struct evaluation *evaluation);

/* Ends the evaluation with what the result holds by now. Called once, on the loop's thread. */
void evaluation_finish(struct evaluation *evaluation);
/* Writes the findings that were not reported yet. False when there are errors among all findings;
 * that settles "compiles". */
bool evaluation_tell_diags(struct evaluation *evaluation);
/* series.c: a job on each line of stdin, until its end. */
void evaluation_series(void);

/* The clock's constants: those of the device, replaced by a host's, at their worse ends if that is
 * asked for. */
bool evaluation_choose_constants(struct evaluation *evaluation, struct err *err) CC_MUST_USE;

/* shapes.c: whether the task has several shapes, and whether this is another than the first. */
bool shapes_are_several(const struct evaluation *evaluation);
bool shapes_is_later(const struct evaluation *evaluation);
/* The shape that is evaluated now is done, or failed: begins the next one, or ends the
 * evaluation. */
void shapes_next(struct evaluation *evaluation);
/* embedded.c: asks for the inputs of the shape, and compiles when they are there. */
void evaluation_begin_shape(struct evaluation *evaluation);

/* compile.c: the sample of the kernel or of the incumbent. */
void evaluation_tell_sample(double us, bool incumbent);
/* compile.c: specialises, checks and times on a worker thread; fills the result. */
void compile_work(struct evaluation *evaluation);

/* The floor is that of all kernels of the task, as far as its reference shows what the task
 * needs. */
void evaluation_use_task_floor(struct evaluation *evaluation);

/* tracing.c: nki_specialise, by Python where the job says so, which a note then tells. */
struct nki_program *tracing_specialise(const struct evaluation *evaluation,
                                       const struct nki_tree *tree,
                                       struct nki_specialise_options *options,
                                       struct diag_list *diags) CC_MUST_USE;
/* The tracer alone; NULL where the job asks for none. */
struct nki_tracer *tracing_new(const struct evaluation *evaluation,
                               const struct nki_tree *tree) CC_MUST_USE;
void tracing_free(struct nki_tracer *tracer); /* accepts NULL */

/* lift.c: steps of what commands do in their own process. Each needs the one before it, and the
 * first needs inputs_open_files. Errors are for the user. */
bool here_find_kernel(struct evaluation *evaluation, struct err *err) CC_MUST_USE;
bool here_find_inputs(struct evaluation *evaluation, struct err *err) CC_MUST_USE;
bool here_specialise(struct evaluation *evaluation, struct err *err) CC_MUST_USE;

/* compile.c: the same program with every round of its loops evaluated; NULL where it has more than
 * `most` instructions. */
struct nki_program *compile_every_round(struct evaluation *evaluation, size_t most) CC_MUST_USE;

/* The program with the numbers of these inputs, where they are values of a reference, and with what
 * registers are told to hold. What it needs of the inputs is in the arena. */
struct nki_program *compile_for(const struct evaluation *evaluation,
                                const struct task_inputs *inputs, const struct nki_number *told,
                                size_t n_told, struct arena *arena,
                                struct diag_list *diags) CC_MUST_USE;
/* rounds.c: whether a run failed because loops have other rounds than its program; then makes
 * another one from what its registers held, and executes that, until all is as it is found. Tells
 * it once. */
bool rounds_are_others(const struct seed_run *run);
void rounds_execute(struct seed_run *run, const struct array *inputs, size_t count,
                    const struct device_limits *limits);
void rounds_tell(const struct seed_run *run);

/* order.c: whether a run was found to carry values through rounds that may run in any order; then
 * executes it in another one, and warns where numbers come out otherwise. */
bool order_matters(const struct seed_run *run);
void order_try(struct seed_run *run, const struct array *inputs, size_t count,
               const struct device_limits *limits);
void order_tell(struct seed_run *run);

/* How many seeds run at once, where there are the cores and the memory. */
#define VERIFY_PARALLEL ((size_t)2)
/* verify.c: runs all seeds and compares them, then finishes. */
void verify_start(struct evaluation *evaluation);

/* diagnose.c: finds why the outputs of a run are wrong and adds that to the findings; `done` comes
 * once, later, on the loop's thread. Where it cannot be found, it comes all the same. */
void diagnose_start(struct seed_run *run, void (*done)(struct seed_run *run));

/* inputs.c */
/* Completes the inputs of the job that are files. The header of an .npy gives dtype and shape,
 * which must agree with what the job says. False and *err (usage) for a file that cannot be
 * used. */
bool inputs_open_files(struct evaluation *evaluation, struct err *err) CC_MUST_USE;
/* False and *err (usage) when the job names an input for which the kernel has no parameter. */
bool inputs_name_parameters(const struct evaluation *evaluation, struct err *err);
/* The job's inputs as arguments without numbers, in the order of the kernel's parameters. */
struct task_inputs *inputs_from_job(const struct evaluation *evaluation) CC_MUST_USE;
/* The same with numbers: those of the files, or random ones. NULL and *err when a file cannot be
 * read. */
struct task_inputs *inputs_with_data(const struct evaluation *evaluation,
                                     struct err *err) CC_MUST_USE;
/* Arguments as the specialiser takes them, *count of them. Those from the job have names. */
struct nki_input *inputs_for_specialiser(struct evaluation *evaluation,
                                         const struct task_inputs *inputs, size_t *count);
/* Arguments as the device takes them, one for each parameter of the kernel or each value of the
 * reference; what is not an array has an empty one. The list is in the arena, the data in
 * `inputs`. */
struct array *inputs_for_device(const struct evaluation *evaluation,
                                const struct task_inputs *inputs, struct arena *arena,
                                size_t *count);
/* Prints the names of the parameters that still need an argument, separated by commas. */
void inputs_print_missing(const struct evaluation *evaluation, struct buf *out);

/* outputs.c: writes what a seed's run returned to the job's output folder as output_0.npy and on.
 * Where there is a reference, each seed has a folder of its own. False and *err when it cannot be
 * written. */
bool outputs_write(const struct seed_run *run, struct err *err);

/* causes.c: the causes as JSON, to be freed. */
char *causes_json(const struct device_causes *causes) CC_MUST_USE;
/* profile.c: writes the profile of the evaluation as the artefact "profile". */
bool profile_write(const struct evaluation *evaluation, const char *path, struct err *err);

#endif
