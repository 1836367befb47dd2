/* SPDX-License-Identifier: Apache-2.0 */
/* hone new: a task folder with a first kernel, written from what its reference computes, and
 * evaluated at once. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/kit/kit.h"
#include "device/device.h"
#include "loop/loop.h"
#include "runner/runner.h"
#include "schedule/schedule.h"
#include "task/task.h"
#include "write/write.h"

struct recorded {
    bool done;
    const char *path;           /* of the reference */
    struct task_inputs *inputs; /* shapes only */
    char *graph;
    size_t size;
    struct err err;
};

static void on_shapes(void *data, struct task_inputs *inputs, const struct err *err) {
    struct recorded *recorded = data;
    recorded->done = true;
    if (err)
        recorded->err = *err;
    recorded->inputs = inputs;
}

/* Python records the reference. Afterwards its graph is in the cache. */
static bool record(const char *reference_path, struct recorded *recorded, struct err *err) {
    struct loop *loop = loop_new();
    struct task_reference *reference =
        task_reference_open(loop, reference_path, NULL, &recorded->err);
    if (reference) {
        task_reference_shapes(reference, 0, on_shapes, recorded);
        loop_run_until(loop, &recorded->done, 0);
    }
    task_reference_free(reference);
    loop_free(loop);
    if (recorded->err.kind != ERR_NONE)
        *err = recorded->err;
    else
        recorded->graph = task_graph_read(reference_path, &recorded->size, err);
    return recorded->graph != NULL;
}

/* The kernel of --from says what is to be computed, if that is what it returns; the reference only
 * how its inputs are made and what is right. */
static bool lift(const struct cli *cli, const char *from, const char *reference_path,
                 struct recorded *recorded, struct err *err) {
    struct cli asked = {.command = cli->command};
    struct cli_job job = {0};
    struct runner_lift lift = {0};
    *vec_push(&asked.args) = from;
    for (size_t i = 0; i < cli->given.len; i++)
        *vec_push(&asked.given) = cli->given.at[i];
    bool ok =
        cli_job_open(&asked, &job) == CLI_OK || err_set(err, ERR_USAGE, "nothing was written");
    job.job.reference_path = ok ? reference_path : NULL;
    if (ok)
        cli_job_prepare(&job.job, false, err);
    ok = ok && err->kind == ERR_NONE && runner_lift(&job.job, true, &lift, err);
    if (ok && !lift.whole)
        ok = err_set(err, ERR_KERNEL,
                     "not all that %.200s computes could be said; hone lift says why", from);
    else if (ok && !(lift.error <= (lift.tolerance > 0 ? lift.tolerance : 2e-5)))
        ok = err_set(err, ERR_KERNEL,
                     "what was lifted of %.200s could not be confirmed by its results; hone lift "
                     "says more",
                     from);
    if (ok) {
        free(recorded->graph);
        recorded->graph = mem_strdup(lift.graph.at);
        recorded->size = lift.graph.len;
    }
    runner_lift_free(&lift);
    cli_job_close(&job);
    vec_free(&asked.args);
    vec_free(&asked.given);
    return ok;
}

/* ---- the folder ------------------------------------------------------------------------------ */

/* Copies the reference and what it imports to the folder of the kernel, unless they are there
 * already. */
static bool copy_reference(const char *folder, const char *reference_path, struct err *err) {
    char *place = path_join(folder, "reference.py");
    char *plain = task_path_plain(place), *given = task_path_plain(reference_path);
    bool same = strcmp(plain, given) == 0, ok = true;
    free(place);
    free(plain);
    free(given);
    if (same)
        return true;
    struct task_start start = {.reference_path = reference_path};
    struct task_closure *closure = task_closure_find(&start, err);
    for (size_t i = 0; ok && closure && i < closure->files.len; i++) {
        const struct task_file *file = &closure->files.at[i];
        char *path = path_join(folder, file->is_start ? "reference.py" : file->name);
        char *parent = path_folder(path);
        ok = file_make_dirs(parent, err) && file_write(path, file->text, file->size, err);
        free(parent);
        free(path);
    }
    ok = ok && closure;
    task_closure_free(closure);
    return ok;
}

static void tell_gaps(const struct written *written, const char *source) {
    for (size_t i = 0; i < written->gaps.len; i++) {
        const struct write_gap *gap = &written->gaps.at[i];
        cli_say(stderr, "%s:%d: %s cannot be written yet%s%s\n", source, gap->line, gap->what,
                *gap->why ? ": " : "", gap->why);
    }
}

/* On the device that it was written for. */
static int evaluate(const struct cli *cli, const char *folder) {
    struct cli sim = {.command = cli_find("sim")};
    *vec_push(&sim.args) = folder;
    for (size_t i = 0; i < cli->given.len; i++)
        if (strcmp(cli->given.at[i].option->name, "device") == 0)
            *vec_push(&sim.given) = cli->given.at[i];
    int status = cli_sim(&sim);
    vec_free(&sim.args);
    vec_free(&sim.given);
    return status;
}

/* quiet: nothing is evaluated. */
static int keep(const struct cli *cli, const char *folder, const char *reference,
                const struct written *written, bool quiet, struct err *err) {
    char *kernel = path_join(folder, "kernel.py");
    bool ok = file_make_dirs(folder, err) && copy_reference(folder, reference, err) &&
              file_write(kernel, written->text, strlen(written->text), err);
    free(kernel);
    if (!ok)
        return -1;
    cli_say(stdout, "%s/kernel.py: %s, %zu loop nest%s\n", folder,
            written->gaps.len ? "a skeleton" : "written", written->stages, PLURAL(written->stages));
    fflush(stdout);
    if (!written->gaps.len)
        return quiet ? 0 : evaluate(cli, folder);
    printf("what is missing is marked \"To be written\" in it\n");
    return CLI_KERNEL_FAILED;
}

/* ---- the schedule ---------------------------------------------------------------------------- */

static void list_choices(const struct written *written) {
    for (size_t i = 0; i < written->choices.len; i++) {
        const struct write_choice *choice = &written->choices.at[i];
        cli_say(stdout, "%-32s %lld of", choice->key, (long long)choice->value);
        for (int k = 0; k < choice->count; k++)
            printf(" %lld", (long long)choice->values[k]);
        cli_say(stdout, ": %s", choice->title);
        if (choice->line) /* inputs come from none */
            printf(" (line %d of the reference)", choice->line);
        cli_say(stdout, "%s%s\n", *choice->note ? "; " : "", choice->note);
    }
}

typedef VEC(struct write_setting) settings_vec;

static bool take_settings(const struct cli *cli, struct arena *arena, settings_vec *settings,
                          struct err *err) {
    for (size_t i = 0; cli_value_at(cli, "choose", i); i++) {
        char *key = arena_strdup(arena, cli_value_at(cli, "choose", i)), *end = NULL;
        char *equals = strchr(key, '=');
        long long value = equals ? strtoll(equals + 1, &end, 10) : 0;
        if (!equals || end == equals + 1 || *end)
            return err_set(err, ERR_USAGE,
                           "--choose %.100s: KEY=NUMBER is wanted; --choices lists "
                           "the keys",
                           key);
        *equals = 0;
        *vec_push(settings) = (struct write_setting){key, value};
    }
    return true;
}

/* A setting that no part of the kernel reads is taken for a typing error. */
static bool check_settings(const struct written *written, const settings_vec *settings,
                           struct err *err) {
    for (size_t i = 0; i < settings->len; i++) {
        bool met = false;
        for (size_t k = 0; k < written->choices.len; k++)
            met |= strcmp(written->choices.at[k].key, settings->at[i].key) == 0 &&
                   written->choices.at[k].value == settings->at[i].value;
        if (!met)
            return err_set(err, ERR_USAGE, "nothing takes %.60s=%lld; --choices lists what does",
                           settings->at[i].key, (long long)settings->at[i].value);
    }
    return true;
}

static const struct device_generation *generation_of(const struct cli *cli) {
    return device_generation_find(cli_value(cli, "device") ? cli_value(cli, "device") : "trn2");
}

/* ---- the search ------------------------------------------------------------------------------ */

static void print_step(const struct schedule_step *step) {
    cli_say(stdout, "  %-32s %lld -> %lld  ", step->key, (long long)step->from,
            (long long)step->to);
    if (step->saved_us > 0)
        printf("saves %.1f us", step->saved_us);
    else
        printf("for later steps");
    struct buf text = {0};
    schedule_step_print(step, "reference", &text);
    cli_say(stdout, ": %s\n", text.at);
    buf_free(&text);
}

static void print_schedule(const struct schedule *found) {
    cli_say(
        stdout, "schedule: %zu judged, %zu of them refused; %s\n", found->judged, found->refused,
        found->ended ? "no step and no pair of steps is better" : "the budget ended the search");
    if (found->start_us > 0)
        cli_say(stdout, "  %.1f us as it is, %.1f us with %zu step%s\n", found->start_us,
                found->latency_us, found->steps.len, PLURAL(found->steps.len));
    for (size_t i = 0; i < found->steps.len; i++)
        print_step(&found->steps.at[i]);
}

static void on_turn(void *data) {
    *(bool *)data = true;
}

static void on_wait(void *data, const char *why, bool first) {
    (void)data;
    if (first)
        cli_say(stderr, "hone: %s\n", why);
}

/* The search keeps processors busy as an evaluation does, so it takes its turn with those. */
static struct schedule *search_in_turn(struct schedule_request *request, const char *reference,
                                       struct err *err) {
    bool has_turn = false;
    struct config *config = settings_load(NULL, err);
    if (!config)
        return NULL;
    struct loop *loop = loop_new();
    struct runner_job like = {
        .kernel_path = reference, .no_verify = true, .machine_places = os_cpu_count()};
    runner_limits(&like, config);
    struct runner_turn_callbacks callbacks = {on_turn, on_wait, &has_turn};
    struct runner_turn *turn = runner_turn_wait(loop, &like, &callbacks);
    loop_run_until(loop, &has_turn, 0);
    request->threads = runner_turn_places(turn);
    struct schedule *found = schedule_search(request, err);
    runner_turn_end(turn, runner_turn_grown(turn));
    config_free(config);
    loop_free(loop);
    return found;
}

/* Searches from the person's settings on, and adds to them what was found. False and *err when
 * nothing could be found. */
static bool search(const struct cli *cli, const struct recorded *recorded, struct write_spec *spec,
                   struct schedule **found, struct err *err) {
    double budget = SCHEDULE_BUDGET;
    if (!cli_number(cli, "budget", 1, 1e6, &budget))
        return err_set(err, ERR_USAGE, "--budget is a number of schedules");
    struct schedule_request request = {
        .spec = *spec, .generation = generation_of(cli)->generation, .budget = (size_t)budget};
    struct arena *arena = arena_new();
    request.inputs = runner_inputs_of(arena, recorded->inputs, &request.n_inputs);
    *found = search_in_turn(&request, recorded->path, err);
    arena_free(arena);
    if (!*found)
        return false;
    print_schedule(*found);
    spec->settings = (*found)->settings.at;
    spec->setting_count = (*found)->settings.len;
    return true;
}

static bool is_older(const struct cli *cli) {
    const char *dialect = cli_value(cli, "dialect");
    return dialect && strcmp(dialect, "legacy") == 0;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int write_as_asked(const struct cli *cli, const char *folder, const char *reference,
                          const struct recorded *recorded, struct err *err) {
    struct arena *arena = arena_new();
    settings_vec settings = {0};
    bool ok = take_settings(cli, arena, &settings, err);
    struct write_spec spec = {.graph = {recorded->graph, recorded->size},
                              .name = path_base(folder),
                              .precision = write_precision_of(cli_value(cli, "precision")),
                              .tolerance = recorded->inputs ? recorded->inputs->tolerance : 0,
                              .sbuf_bytes = (double)generation_of(cli)->sbuf_partition_bytes,
                              .older_dialect = is_older(cli),
                              .is_trn1 = generation_of(cli)->generation == NKI_GEN2,
                              .settings = settings.at,
                              .setting_count = settings.len};
    struct schedule *found = NULL;
    struct written *written = ok ? write_kernel(&spec, err) : NULL;
    ok = written && check_settings(written, &settings, err);
    int status = -1;
    if (ok && cli_has(cli, "scheduled") && !written->gaps.len) {
        ok = search(cli, recorded, &spec, &found, err);
        written_free(written);
        written = ok ? write_kernel(&spec, err) : NULL;
        ok = written != NULL;
    }
    if (ok && cli_has(cli, "choices")) {
        list_choices(written);
        status = 0;
    } else if (ok) {
        tell_gaps(written, cli_value(cli, "from") ? cli_value(cli, "from") : "reference.py");
        status = keep(cli, folder, reference, written, cli_has(cli, "no-sim"), err);
    }
    schedule_free(found);
    written_free(written);
    vec_free(&settings);
    arena_free(arena);
    return status;
}

static int write_task(const struct cli *cli, const char *folder, const char *reference) {
    struct err err = {0};
    struct recorded recorded = {.path = reference};
    int status = -1;
    const char *from = cli_value(cli, "from");
    bool ok = record(reference, &recorded, &err);
    if (from && recorded.inputs) {
        err = (struct err){0}; /* whether it could be recorded does not matter then */
        ok = lift(cli, from, reference, &recorded, &err);
    }
    if (ok)
        status = write_as_asked(cli, folder, reference, &recorded, &err);
    task_inputs_free(recorded.inputs);
    free(recorded.graph);
    return status < 0 ? cli_fail(cli, &err) : status;
}

/* Python would wait for a pipe for ever, and behind its wall it may not open a device. */
static bool is_file(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

int cli_new(const struct cli *cli) {
    const char *folder = cli->args.at[0];
    char *beside = path_join(folder, "reference.py"), *kernel = path_join(folder, "kernel.py");
    const char *reference = cli_value(cli, "reference") ? cli_value(cli, "reference") : beside;
    struct err err = {0};
    int status;
    if (file_exists(kernel))
        err_set(&err, ERR_USAGE, "%.200s is there already; hone new never writes over a kernel",
                kernel);
    else if (!file_exists(reference))
        err_set(&err, ERR_USAGE,
                "there is no %.200s; name the reference with --reference, a Python file with "
                "get_inputs() and forward()",
                reference);
    else if (!is_file(reference))
        err_set(&err, ERR_USAGE, "%.200s is no file; the reference is a Python file", reference);
    status = err.kind == ERR_NONE ? write_task(cli, folder, reference) : cli_fail(cli, &err);
    free(beside);
    free(kernel);
    return status;
}
