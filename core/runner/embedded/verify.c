/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the compiled kernel on every seed and compares what it returns. Two seeds run at once where
 * there are two cores: they share the program, and each has its own memory. Python does the
 * comparing, which overlaps with the next seed's run. */
#include "base/openblas.h"
#include "runner/embedded/private.h"

#include <math.h>
#include <stdlib.h>

static double seconds_since(uint64_t start_ns) {
    return (double)(clock_monotonic_ns() - start_ns) * 1e-9;
}

static void start_runs(struct evaluation *evaluation);
static void end_wrong(struct seed_run *run);

/* -------------------------------------------------------------------------------------- ending */

static void free_run(struct seed_run *run) {
    size_t count = run->evaluation->program->outputs.len;
    for (size_t i = 0; run->outputs && i < count; i++)
        free(run->outputs[i].data);
    free(run->outputs);
    run->outputs = NULL;
    task_inputs_free(run->inputs);
    run->inputs = NULL;
}

static bool passes(const struct evaluation *evaluation, const struct seed_run *run) {
    return task_comparison_holds(&run->comparison, evaluation->result.tolerance);
}

/* Results are reported in the order of the seeds, whichever ends first; of later shapes only what
 * is wrong. */
static void tell_run(struct evaluation *evaluation, struct seed_run *run) {
    double max_abs = 0;
    run->told = true;
    if (shapes_is_later(evaluation) && passes(evaluation, run))
        return;
    for (size_t i = 0; i < run->comparison.count; i++)
        if (!(run->comparison.outputs[i].max_abs <= max_abs))
            max_abs = run->comparison.outputs[i].max_abs;
    events_write(&(struct runner_event){.kind = RUNNER_CORRECTNESS,
                                        .seed = run->seed,
                                        .value = run->comparison.rel_l2,
                                        .max_abs = max_abs,
                                        .passed = passes(evaluation, run)});
}

static void tell_runs(struct evaluation *evaluation, bool all) {
    for (size_t i = 0; i < evaluation->run_count; i++) {
        struct seed_run *run = &evaluation->runs[i];
        if (run->compared && !run->told)
            tell_run(evaluation, run);
        if (!run->compared && !all)
            return;
    }
}

static void judge(struct evaluation *evaluation) {
    struct task_verdict *verdict = &evaluation->result.verdict;
    struct task_comparison *done = mem_alloc(evaluation->run_count, sizeof *done);
    size_t count = 0;
    for (size_t i = 0; i < evaluation->run_count; i++)
        if (evaluation->runs[i].compared)
            done[count++] = evaluation->runs[i].comparison;
    for (size_t i = 0; i < count; i++)
        evaluation->sums.worst_l2 = fmax(evaluation->sums.worst_l2, done[i].rel_l2);
    struct task_judgement correct = verdict->correct;
    if (count)
        task_judge_numbers(verdict, done, count, evaluation->result.tolerance);
    if (correct.answer == TASK_NO)
        verdict->correct = correct; /* what the kernel itself ran into says more */
    else if (evaluation->result.failure.kind != ERR_NONE && verdict->correct.answer == TASK_YES)
        task_judge(&verdict->correct, TASK_INCONCLUSIVE, "%zu of %zu seeds were compared", count,
                   evaluation->run_count);
    free(done);
}

static void end_run(struct seed_run *run) {
    struct evaluation *evaluation = run->evaluation;
    free_run(run);
    run->ended = true;
    evaluation->running--;
    tell_runs(evaluation, false);
    struct seed_run *held = evaluation->runs;
    while (held < evaluation->runs + evaluation->run_count && !held->held)
        held++;
    if (held < evaluation->runs + evaluation->run_count)
        end_wrong(held);
    else
        start_runs(evaluation);
}

/* Runs from this one on are given up. */
static void stop_from(struct evaluation *evaluation, size_t first) {
    evaluation->compare_until = MIN_OF(evaluation->compare_until, first);
    for (size_t i = first; i < evaluation->run_count; i++)
        evaluation->runs[i].cancel = 1;
}

static bool is_given_up(const struct seed_run *run) {
    return (size_t)(run - run->evaluation->runs) >= run->evaluation->compare_until;
}

/* When the kernel is at fault this settles "correct". Everything else is a failure of the
 * evaluation. */
static void fail_run(struct seed_run *run, const struct err *err) {
    struct evaluation *evaluation = run->evaluation;
    if (is_given_up(run)) {
        end_run(run);
        return;
    }
    if (err->kind == ERR_KERNEL)
        task_judge(&evaluation->result.verdict.correct, TASK_NO, "seed %lld: %s",
                   (long long)run->seed, err->text);
    else
        evaluation->result.failure = *err;
    evaluation->failed = true;
    stop_from(evaluation, 0);
    end_run(run);
}

/* ----------------------------------------------------------------------------------- comparing */

/* Of several wrong seeds the first in their order is looked at, whichever was compared first. So
 * every evaluation of a kernel suspects the same statements. */
static void end_wrong(struct seed_run *run) {
    struct evaluation *evaluation = run->evaluation;
    run->held = false;
    for (struct seed_run *before = evaluation->runs; before < run; before++)
        run->held |= !before->ended && !evaluation->diagnosed;
    if (run->held)
        return;
    if (evaluation->diagnosed || evaluation->failed) {
        end_run(run);
        return;
    }
    evaluation->diagnosed = true;
    tell_runs(evaluation, false); /* what is found stands behind it */
    diagnose_start(run, end_run);
}

static void on_compared(void *data, const struct task_comparison *comparison,
                        const struct err *err) {
    struct seed_run *run = data;
    struct evaluation *evaluation = run->evaluation;
    if (!comparison) {
        fail_run(run, err);
        return;
    }
    run->comparison = *comparison;
    run->comparison.seed = run->seed;
    run->compared = true;
    evaluation->compare_s += comparison->elapsed_s;
    bool wrong = !passes(evaluation, run);
    if (wrong && !evaluation->job.all_seeds)
        stop_from(evaluation, (size_t)(run - evaluation->runs) + 1);
    if (wrong)
        end_wrong(run);
    else
        end_run(run);
}

/* Without a reference: finds what the outputs alone show. */
static void look_at_output(const struct array *output, struct task_match *match) {
    float chunk[1024];
    size_t count = (size_t)array_count(output), step = dtype_bytes(output->dtype);
    match->finite = match->zero = true;
    for (size_t at = 0; at < count; at += COUNT_OF(chunk)) {
        size_t n = MIN_OF(count - at, COUNT_OF(chunk));
        device_to_float(output->dtype, (const char *)output->data + at * step, chunk, n);
        for (size_t i = 0; i < n; i++) {
            match->finite = match->finite && isfinite(chunk[i]);
            match->zero = match->zero && chunk[i] == 0;
        }
    }
}

static bool is_some_input(const struct array *output, const struct task_inputs *inputs) {
    for (size_t i = 0; i < inputs->count; i++) {
        const struct array *input = &inputs->values[i].array;
        if (inputs->values[i].kind == TASK_ARRAY && input->dtype == output->dtype &&
            array_bytes(input) == array_bytes(output) &&
            memcmp(input->data, output->data, array_bytes(output)) == 0)
            return true;
    }
    return false;
}

static void judge_outputs(struct seed_run *run) {
    struct evaluation *evaluation = run->evaluation;
    struct task_comparison comparison = {.seed = run->seed};
    for (size_t i = 0; i < evaluation->program->outputs.len && i < TASK_MAX_VALUES; i++) {
        struct task_match *match = &comparison.outputs[comparison.count++];
        look_at_output(&run->outputs[i], match);
        match->is_input = is_some_input(&run->outputs[i], run->inputs);
    }
    task_judge_numbers(&evaluation->result.verdict, &comparison, 1, INFINITY);
    task_judge(&evaluation->result.verdict.correct, TASK_NOT_ASKED, "there is no reference");
    end_run(run);
}

/* ----------------------------------------------------------------------------------- executing */

/* Those that the kernel prints, and those of the line where somebody looks. */
static void watch_tiles(struct seed_run *run, struct device_limits *limits) {
    const struct runner_job *job = &run->evaluation->job;
    run->show = (struct diagnose_show){.program = run->evaluation->program,
                                       .line = job->break_line,
                                       .round = (size_t)MAX_OF(job->break_round, 1)};
    if (!diagnose_shows(&run->show))
        return;
    limits->watch = diagnose_show_watch;
    limits->watching = &run->show;
}

static void tell_tiles(struct seed_run *run) {
    struct str rest = buf_str(&run->show.text), line;
    if (run->show.line && run->show.seen < run->show.round)
        buf_printf(&run->show.text, "line %d: %zu instructions were executed there, not %zu\n",
                   run->show.line, run->show.seen, run->show.round);
    for (rest = buf_str(&run->show.text); str_next(&rest, '\n', &line);) {
        struct buf text = {0};
        buf_add(&text, line.at, line.len);
        events_write(&(struct runner_event){.kind = RUNNER_LOG,
                                            .severity = DIAG_NOTE,
                                            .name = "print",
                                            .text = text.at ? text.at : ""});
        buf_free(&text);
    }
    buf_free(&run->show.text);
}

static void execute_work(void *data) {
    struct seed_run *run = data;
    struct evaluation *evaluation = run->evaluation;
    struct arena *arena = arena_new();
    struct device_limits limits = {.cancel = &run->cancel,
                                   .memory_bytes =
                                       evaluation->job.memory_limit / evaluation->parallel,
                                   .unrounded = evaluation->job.unrounded};
    uint64_t start = clock_monotonic_ns();
    if (run == evaluation->runs && !shapes_is_later(evaluation))
        watch_tiles(run, &limits);
    run->outputs = mem_alloc(evaluation->program->outputs.len, sizeof *run->outputs);
    size_t count;
    struct array *inputs = inputs_for_device(evaluation, run->inputs, arena, &count);
    run->executed =
        device_execute(evaluation->image, inputs, count, run->outputs, &limits, &run->err);
    if (rounds_are_others(run))
        rounds_execute(run, inputs, count, &limits);
    run->execute_s = seconds_since(start);
    /* A loop whose rounds hone cannot find ends this kernel's attempt, and is no reason to halt all
     * others. */
    if (!run->executed && run->err.kind == ERR_USAGE && !evaluation->job.input_count)
        run->err.kind = ERR_KERNEL;
    if (order_matters(run))
        order_try(run, inputs, count, &limits);
    arena_free(arena);
    if (run->executed && evaluation->job.output_folder && !shapes_is_later(evaluation))
        run->executed = outputs_write(run, &run->err);
}

static void execute_done(void *data) {
    struct seed_run *run = data;
    struct evaluation *evaluation = run->evaluation;
    evaluation->execute_s += run->execute_s;
    tell_tiles(run);
    order_tell(run);
    rounds_tell(run);
    if (!run->executed)
        fail_run(run, &run->err);
    else if (is_given_up(run))
        end_run(run);
    else if (!evaluation->reference)
        judge_outputs(run);
    else
        task_reference_compare(evaluation->reference, run->asked, run->outputs,
                               evaluation->program->outputs.len, on_compared, run);
}

static bool same_signature(const struct task_inputs *a, const struct task_inputs *b) {
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++) {
        const struct task_value *x = &a->values[i], *y = &b->values[i];
        same = x->kind == y->kind && x->array.dtype == y->array.dtype &&
               x->array.ndim == y->array.ndim && x->integer == y->integer && x->items == y->items;
        for (int d = 0; same && d < x->array.ndim; d++)
            same = x->array.shape[d] == y->array.shape[d];
    }
    return same;
}

static void on_inputs(void *data, struct task_inputs *inputs, const struct err *err) {
    struct seed_run *run = data;
    struct evaluation *evaluation = run->evaluation;
    evaluation->inputs_s += seconds_since(run->asked_ns);
    run->inputs = inputs;
    if (!inputs) {
        fail_run(run, err);
    } else if (is_given_up(run)) {
        end_run(run);
    } else if (!same_signature(inputs, evaluation->shapes)) {
        struct err odd;
        err_set(&odd, ERR_USAGE,
                "the reference's inputs for seed %lld have other shapes or types "
                "than those for the first seed",
                (long long)run->seed);
        fail_run(run, &odd);
    } else {
        task_reference_forward(evaluation->reference, run->asked);
        loop_job_start(evaluation->loop, execute_work, execute_done, run);
    }
}

/* ------------------------------------------------------------------------------------ starting */

static void lacks_inputs(void *data) {
    struct seed_run *run = data;
    fail_run(run, &run->err);
}

static void start_run(struct evaluation *evaluation) {
    struct seed_run *run = &evaluation->runs[evaluation->next_run++];
    evaluation->running++;
    run->asked_ns = clock_monotonic_ns();
    if (evaluation->reference) {
        task_reference_prepare(evaluation->reference, run->asked, on_inputs, run);
        return;
    }
    run->inputs = inputs_with_data(evaluation, &run->err);
    if (run->inputs)
        loop_job_start(evaluation->loop, execute_work, execute_done, run);
    else
        loop_post(evaluation->loop, lacks_inputs, run);
}

static void start_runs(struct evaluation *evaluation) {
    while (evaluation->running < evaluation->parallel &&
           evaluation->next_run < MIN_OF(evaluation->run_count, evaluation->compare_until))
        start_run(evaluation);
    if (evaluation->running)
        return;
    tell_runs(evaluation, true);
    if (evaluation->reference)
        judge(evaluation);
    events_phase("execute", evaluation->execute_s);
    if (evaluation->reference)
        events_phase("compare", evaluation->compare_s);
    shapes_next(evaluation);
}

/* Two at once, if there are the cores, and memory for twice the kernel's tensors. */
static size_t choose_parallel(const struct evaluation *evaluation) {
    uint64_t bytes = 0, available = os_available_memory();
    for (size_t i = 0; i < evaluation->program->storages.len; i++)
        if (evaluation->program->storages.at[i]->space == NKI_HBM)
            bytes += evaluation->program->storages.at[i]->bytes;
    size_t most = MIN_OF((size_t)os_cpu_count(), (size_t)VERIFY_PARALLEL);
    most = MIN_OF(most, evaluation->run_count);
    uint64_t limit = evaluation->job.memory_limit;
    if ((available && bytes * 4 > available) || (limit && evaluation->live_bytes * 2 > limit))
        return 1;
    return most;
}

void verify_start(struct evaluation *evaluation) {
    free(evaluation->runs); /* those of the shape before */
    evaluation->next_run = 0;
    evaluation->run_count = evaluation->reference ? evaluation->job.seed_count : 1;
    evaluation->compare_until = evaluation->run_count;
    evaluation->runs = mem_alloc(evaluation->run_count, sizeof *evaluation->runs);
    for (size_t i = 0; i < evaluation->run_count; i++) {
        evaluation->runs[i].evaluation = evaluation;
        evaluation->runs[i].seed = evaluation->job.seeds[i];
        evaluation->runs[i].asked =
            task_seed_of_shape(evaluation->job.seeds[i], evaluation->sums.shape);
    }
    evaluation->parallel = choose_parallel(evaluation);
    openblas_set_num_threads(1); /* products are of tiles; handing one to a thread costs as much */
    events_phase("execute", -1);
    start_runs(evaluation);
}
