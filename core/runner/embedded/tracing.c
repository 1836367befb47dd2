/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that Python evaluates (job->tracing): a Python for each evaluation, behind the runner's
 * wall and one of its own. */
#include "runner/embedded/private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_FOLDERS 24

struct tracing {
    struct nki_tracer tracer;
    struct task_tracer *python;
    char *folders[MOST_FOLDERS + 1]; /* that the kernel may read */
};

static bool start(void *data, struct str program, struct err *err) {
    return task_tracer_start(((struct tracing *)data)->python, program, err);
}

static bool exchange(void *data, struct str message, struct str *next, struct err *err) {
    return task_tracer_exchange(((struct tracing *)data)->python, message, next, err);
}

static void stop(void *data) {
    task_tracer_stop(((struct tracing *)data)->python);
}

static bool is_package(const char *folder) {
    char *mark = path_join(folder, "__init__.py");
    bool is = file_exists(mark);
    free(mark);
    return is;
}

static uint32_t levels_of(const struct nki_tree *tree) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < tree->n_nodes; i++)
        if (tree->nodes[i]->kind == NKI_IMPORT_FROM)
            most = MAX_OF(most, tree->nodes[i]->import_from.level);
    return most;
}

/* The kernel's folder, and those above it that it imports from or that are its packages. */
static void add_folders(struct tracing *tracing, const struct nki_tree *tree, const char *path) {
    char *absolute = path_absolute(path), *folder = path_folder(absolute);
    uint32_t levels = levels_of(tree);
    size_t n = 0;
    free(absolute);
    while (n < MOST_FOLDERS && (n == 0 || n < levels || is_package(folder))) {
        char *above = path_folder(folder);
        tracing->folders[n++] = folder;
        folder = above;
    }
    free(folder);
}

struct nki_tracer *tracing_new(const struct evaluation *evaluation, const struct nki_tree *tree) {
    const struct runner_job *job = &evaluation->job;
    double limit_s = job->time_limit_s;
    if (!runner_job_traces(job))
        return NULL;
    struct tracing *tracing = mem_alloc(1, sizeof *tracing);
    add_folders(tracing, tree, job->kernel_path);
    struct task_tracer_limits limits = {
        /* its own limit comes first, so that it is blamed */
        .time_s = limit_s > 0 ? fmin(limit_s / 3, TASK_TRACER_S) : TASK_TRACER_S,
        .memory_bytes = job->memory_limit,
        /* the reference's has numpy */
        .python = evaluation->reference ? task_reference_python(evaluation->reference) : NULL,
        .shown = job->wall.shown,
        .folders = (const char *const *)tracing->folders,
        .level = getenv("HONE_WALL") ? "inside" : NULL};
    tracing->python = task_tracer_new(&limits);
    tracing->tracer = (struct nki_tracer){.start = start,
                                          .exchange = exchange,
                                          .stop = stop,
                                          .data = tracing,
                                          .path = job->kernel_path};
    return &tracing->tracer;
}

void tracing_free(struct nki_tracer *tracer) {
    struct tracing *tracing = tracer ? tracer->data : NULL;
    if (!tracing)
        return;
    task_tracer_free(tracing->python);
    for (size_t i = 0; i <= MOST_FOLDERS; i++)
        free(tracing->folders[i]);
    free(tracing);
}

struct nki_program *tracing_specialise(const struct evaluation *evaluation,
                                       const struct nki_tree *tree,
                                       struct nki_specialise_options *options,
                                       struct diag_list *diags) {
    options->tracer = tracing_new(evaluation, tree);
    struct nki_program *program = nki_specialise(tree, options, diags);
    if (options->tracer && program)
        diag_add(diags, DIAG_NOTE, "hone-traced-by-python3", evaluation->job.kernel_path, 0, 0,
                 "Python %.20s ran this kernel, behind the wall, and hone answered for NKI "
                 "(--tracing python3)",
                 options->tracer->python);
    tracing_free(options->tracer);
    options->tracer = NULL;
    return program;
}
