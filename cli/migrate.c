/* SPDX-License-Identifier: Apache-2.0 */
/* hone migrate: a kernel for another release of NKI. The new source is checked for that release,
 * and what both compute is compared, before anything is said of it. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/kit/kit.h"
#include "target/target.h"
#include "tune/tune.h"

struct migrating {
    const struct cli *cli;
    struct cli_job job;
    const char *from, *to; /* as asked for; from NULL: as the source shows */
    struct migration made;
    bool changed;
    struct runner_result checked;
    bool compared, identical;
    size_t seeds;
    struct buf difference; /* where numbers differ first, or why they were not compared */
    struct buf diff;
};

/* ---- what both compute ----------------------------------------------------------------------- */

/* One of the two. */
struct side {
    char *folder;
    struct runner_result result;
    bool done;
};

static void on_done(void *data, struct runner_result *result) {
    struct side *side = data;
    side->result = *result;
    *result = (struct runner_result){0};
    side->done = true;
}

/* A folder of this process, which os_sweep_scratch removes should it be killed. */
static char *folder_new(struct err *err) {
    const char *temporary = getenv("TMPDIR");
    char name[48];
    snprintf(name, sizeof name, "hone-%ld-migrate-XXXXXX", (long)getpid());
    char *pattern = path_join(temporary && *temporary ? temporary : "/tmp", name);
    if (mkdtemp(pattern))
        return pattern;
    err_set(err, ERR_ENVIRONMENT, "cannot make the folder %s", pattern);
    free(pattern);
    return NULL;
}

/* Runs one side on all seeds, and has its outputs written. */
static bool run_side(struct side *side, struct runner_job job, struct err *err) {
    side->folder = folder_new(err);
    struct loop *loop = side->folder ? loop_new() : NULL;
    struct target *target = loop ? target_open(loop, "sim", NULL, err) : NULL;
    struct runner_callbacks callbacks = {.on_done = on_done, .data = side};
    job.no_time = true;
    job.all_seeds = true;
    job.output_folder = side->folder;
    bool ok = target && target_start(target, &job, &callbacks, err);
    if (ok)
        loop_run_until(loop, &side->done, 0);
    target_free(target);
    if (loop)
        loop_free(loop);
    if (ok && side->result.failure.kind != ERR_NONE) {
        *err = side->result.failure;
        ok = false;
    }
    return ok;
}

static void side_close(struct side *side) {
    if (side->folder)
        (void)!file_remove_tree(side->folder, NULL);
    free(side->folder);
    runner_result_free(&side->result);
}

static bool is_output(const struct runner_artifact *artifact) {
    return artifact->array.dtype != DTYPE_NONE;
}

static const struct runner_artifact *same_output(const struct runner_result *result,
                                                 const struct runner_artifact *wanted) {
    for (size_t i = 0; i < result->artifacts.len; i++) {
        const struct runner_artifact *one = &result->artifacts.at[i];
        if (is_output(one) && one->seed == wanted->seed && strcmp(one->name, wanted->name) == 0)
            return one;
    }
    return NULL;
}

/* How far float32 numbers are apart, as relative L2. */
static void say_distance(struct migrating *m, const char *before, const char *after, size_t count) {
    double square = 0, all = 0;
    for (size_t i = 0; i < count; i++) {
        float a, b;
        memcpy(&a, before + i * sizeof a, sizeof a);
        memcpy(&b, after + i * sizeof b, sizeof b);
        square += ((double)b - a) * ((double)b - a);
        all += (double)a * a;
    }
    buf_printf(&m->difference, "; relative L2 %.3g", sqrt(square / all));
}

/* Says where an output differs first: the element, counted from 0 in row-major order. */
static void say_first(struct migrating *m, const struct runner_artifact *output, char *texts[2],
                      size_t byte, size_t size) {
    size_t item = dtype_bytes(output->array.dtype), count = 1;
    for (int d = 0; d < output->array.ndim; d++)
        count *= (size_t)output->array.shape[d];
    size_t header = size - count * item;
    buf_printf(&m->difference, "%s of seed %lld differs, first in element %zu of %zu", output->name,
               (long long)output->seed, byte < header ? 0 : (byte - header) / item, count);
    if (output->array.dtype == DTYPE_FLOAT32)
        say_distance(m, texts[0] + header, texts[1] + header, count);
}

/* Whether two outputs are the same, bit by bit. */
static bool compare_output(struct migrating *m, const struct runner_artifact *before,
                           const struct runner_artifact *after, struct err *err) {
    size_t sizes[2] = {0}, at = 0;
    char *texts[2] = {file_read(before->path, 0, &sizes[0], err),
                      after ? file_read(after->path, 0, &sizes[1], err) : NULL};
    bool same = texts[0] && texts[1] && sizes[0] == sizes[1];
    if (same)
        while (at < sizes[0] && texts[0][at] == texts[1][at])
            at++;
    if (!same)
        buf_printf(&m->difference, "%s of seed %lld has another shape or type, or is not there",
                   before->name, (long long)before->seed);
    else if (at < sizes[0])
        say_first(m, before, texts, at, sizes[0]);
    free(texts[0]);
    free(texts[1]);
    return same && at == sizes[0];
}

static void compare_sides(struct migrating *m, const struct side *before, const struct side *after,
                          struct err *err) {
    int64_t last = -1;
    size_t outputs = 0;
    m->identical = true;
    for (size_t i = 0; i < before->result.artifacts.len && m->identical; i++) {
        const struct runner_artifact *one = &before->result.artifacts.at[i];
        if (!is_output(one))
            continue;
        m->seeds += one->seed != last;
        last = one->seed;
        outputs++;
        m->identical = compare_output(m, one, same_output(&after->result, one), err);
    }
    m->compared = outputs > 0;
    if (!outputs)
        buf_puts(&m->difference, "the kernel as it was computes nothing here");
}

static void say_failed(struct migrating *m, const char *which, const struct side *side,
                       const struct err *err) {
    const char *why = err->text;
    for (size_t i = 0; i < side->result.diagnostics.all.len; i++)
        if (side->result.diagnostics.all.at[i].severity == DIAG_ERROR) {
            why = side->result.diagnostics.all.at[i].message;
            break;
        }
    buf_printf(&m->difference, "%s does not run: %s", which, why);
}

static bool has_outputs(const struct side *side) {
    for (size_t i = 0; i < side->result.artifacts.len; i++)
        if (is_output(&side->result.artifacts.at[i]))
            return true;
    return false;
}

static void compare_numbers(struct migrating *m) {
    struct runner_job job = m->job.job;
    struct side before = {0}, after = {0};
    struct err err = {0};
    job.release = strcmp(m->made.from, MIGRATE_LEGACY) == 0 ? NULL : m->made.from;
    bool ran = run_side(&before, job, &err);
    if (!ran || !has_outputs(&before)) {
        say_failed(m, "the kernel as it was", &before, &err);
    } else {
        job.kernel_text = m->made.source;
        job.release = m->to;
        ran = run_side(&after, job, &err);
        if (!ran || !has_outputs(&after))
            say_failed(m, "the new kernel", &after, &err);
        else
            compare_sides(m, &before, &after, &err);
    }
    side_close(&before);
    side_close(&after);
}

/* ---- what is printed ------------------------------------------------------------------------- */

static bool is_accepted(const struct migrating *m) {
    return m->checked.diagnostics.errors == 0 && strcmp(m->checked.dialect, "legacy") != 0;
}

static void print_steps(const struct migrating *m, bool asks) {
    for (size_t i = 0; i < m->made.steps.len; i++) {
        const struct migrate_step *step = &m->made.steps.at[i];
        if (step->asks == asks)
            cli_say(stderr, "  line %d (%s): %s\n", step->line, step->since, step->text);
    }
}

/* Each on a line of its own; a line break within what is said would be shown as a mark. */
static void print_errors(const struct migrating *m) {
    cli_say(stderr, "NOT accepted for NKI %s (by lines of what it would become):\n", m->to);
    for (size_t i = 0; i < m->checked.diagnostics.all.len; i++) {
        struct buf text = {0};
        if (m->checked.diagnostics.all.at[i].severity != DIAG_ERROR)
            continue;
        diag_print(&m->checked.diagnostics.all.at[i], &text);
        cli_say(stderr, "  %s\n", text.at);
        buf_free(&text);
    }
}

static void print_text(const struct migrating *m) {
    struct buf text = {0};
    size_t done = m->made.steps.len - m->made.questions;
    if (m->diff.len && !cli_has(m->cli, "write")) {
        text_sanitise(&text, buf_str(&m->diff));
        fputs(text.at, stdout);
        fflush(stdout);
    }
    buf_clear(&text);
    cli_say(stderr, "from NKI %s to %s: %zu change%s, %zu question%s\n", m->made.from, m->to, done,
            PLURAL(done), m->made.questions, PLURAL(m->made.questions));
    print_steps(m, true);
    if (is_accepted(m))
        cli_say(stderr, "accepted for NKI %s\n", m->to);
    else
        print_errors(m);
    if (m->compared && m->identical)
        cli_say(stderr, "numbers are identical on %zu seed%s\n", m->seeds, PLURAL(m->seeds));
    else if (m->difference.len)
        cli_say(stderr, "%s: %s\n", m->compared ? "NUMBERS DIFFER" : "numbers were not compared",
                m->difference.at);
    buf_free(&text);
}

static cJSON *json_steps(const struct migrating *m, bool asks) {
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < m->made.steps.len; i++) {
        const struct migrate_step *step = &m->made.steps.at[i];
        if (step->asks != asks)
            continue;
        cJSON *row = cJSON_CreateObject();
        cJSON_AddNumberToObject(row, "line", step->line);
        cJSON_AddStringToObject(row, "since", step->since);
        cJSON_AddStringToObject(row, "text", step->text);
        cJSON_AddItemToArray(list, row);
    }
    return list;
}

static void print_json(const struct migrating *m) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "kernel", m->job.task->kernel_path);
    cJSON_AddStringToObject(object, "from", m->made.from);
    cJSON_AddStringToObject(object, "to", m->to);
    cJSON_AddBoolToObject(object, "changed", m->changed);
    cJSON_AddItemToObject(object, "changes", json_steps(m, false));
    cJSON_AddItemToObject(object, "questions", json_steps(m, true));
    cJSON_AddBoolToObject(object, "accepted", is_accepted(m));
    cJSON_AddItemToObject(object, "diagnostics", cli_json_diags(&m->checked.diagnostics));
    cli_json_answer(object, "identical",
                    !m->compared   ? TASK_NOT_ASKED
                    : m->identical ? TASK_YES
                                   : TASK_NO);
    cJSON_AddNumberToObject(object, "seeds", (double)m->seeds);
    cli_json_text(object, "difference", m->difference.at ? m->difference.at : "");
    cJSON_AddStringToObject(object, "diff", m->diff.at ? m->diff.at : "");
    cJSON_AddStringToObject(object, "source", m->made.source);
    cli_json_print(object);
}

/* ---- the command ----------------------------------------------------------------------------- */

static void print_diff(struct migrating *m) {
    const char *path = m->job.task->kernel_path;
    struct buf hunks = {0};
    tune_diff_print(&hunks, m->job.task->kernel_text, m->made.source);
    if (hunks.len)
        buf_printf(&m->diff, "--- %s\n+++ %s\n%s", path, path, hunks.at);
    buf_free(&hunks);
}

static bool check_source(struct migrating *m, struct err *err) {
    struct runner_job job = m->job.job;
    job.kernel_text = m->made.source;
    job.release = m->to;
    return runner_check(&job, &m->checked, err);
}

/* Releases by the number of nki: 2.33 is 0.7. */
static const char *release_of(const char *text) {
    const char *found = text ? nki_release_find(text) : NULL;
    return found ? found : text;
}

static bool migrate(struct migrating *m, struct err *err) {
    const struct cli *cli = m->cli;
    struct err no_inputs = {0};
    m->from = release_of(cli_value(cli, "from"));
    m->to = cli_has(cli, "to") ? release_of(cli_value(cli, "to")) : nki_release_newest();
    cli_job_prepare(&m->job.job, false, &no_inputs);
    if (!runner_migrate(&m->job.job, m->from, m->to, &m->made, err))
        return false;
    m->changed = strcmp(m->made.source, m->job.task->kernel_text) != 0;
    print_diff(m);
    if (!check_source(m, err))
        return false;
    bool knows = m->job.job.input_count || m->job.job.reference_path;
    if (no_inputs.kind != ERR_NONE)
        buf_printf(&m->difference, "%s", no_inputs.text);
    else if (m->changed && knows && is_accepted(m) && !cli_has(cli, "no-verify"))
        compare_numbers(m);
    return !cli_has(cli, "write") || !m->changed ||
           file_write(m->job.task->kernel_path, m->made.source, strlen(m->made.source), err);
}

int cli_migrate(const struct cli *cli) {
    struct migrating m = {.cli = cli};
    struct err err = {0};
    int status = cli_job_open(cli, &m.job);
    if (status == CLI_OK && !migrate(&m, &err)) {
        status = cli_fail(cli, &err);
    } else if (status == CLI_OK) {
        if (cli_has(cli, "json"))
            print_json(&m);
        else
            print_text(&m);
        bool good = is_accepted(&m) && !m.made.questions && (!m.compared || m.identical);
        status = good ? CLI_OK : CLI_KERNEL_FAILED;
    }
    runner_result_free(&m.checked);
    migration_free(&m.made);
    buf_free(&m.difference);
    buf_free(&m.diff);
    cli_job_close(&m.job);
    return status;
}
