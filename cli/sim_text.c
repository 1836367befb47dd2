/* SPDX-License-Identifier: Apache-2.0 */
/* What hone sim prints for a person: the verdict, the latency and what it rests on, the costly
 * lines. */
#include "cli/sim.h"

#include <math.h>
#include <stdio.h>

#include "device/device.h"
#include "tune/tune.h"

#define COSTLY_LINES 8

static void print_judgement(struct buf *out, const char *name,
                            const struct task_judgement *judgement) {
    buf_printf(out, "%-9s %s%s%s\n", name, task_answer_name(judgement->answer),
               judgement->reason[0] ? ": " : "", judgement->reason);
}

/* Prints the floors in other precisions, where they are lower. */
static void print_floors(struct buf *out, const struct runner_result *result) {
    if (!(result->floor_any_us < result->floor_us))
        return;
    buf_puts(out, ", ");
    clock_print_duration(out, result->floor_split_us * 1e-6);
    buf_puts(out, " with fp32 products split into bf16, ");
    clock_print_duration(out, result->floor_any_us * 1e-6);
    buf_puts(out, " all in bf16");
}

/* By the rule that screens and prompts have. */
static void print_limited(struct buf *out, const struct runner_result *result) {
    struct tune_attempt attempt = {.latency_us = result->latency_us,
                                   .bound_by = result->bound[0] ? result->bound : NULL};
    struct buf limited = {0};
    for (size_t i = 0; i < result->bounds.len; i++)
        *vec_push(&attempt.bounds) =
            (struct tune_bound){result->bounds.at[i].name, result->bounds.at[i].busy_us,
                                result->bounds.at[i].without_us};
    tune_limited_print(&attempt, &limited);
    if (limited.len)
        buf_printf(out, "; limited by %s", limited.at);
    buf_free(&limited);
    vec_free(&attempt.bounds);
}

static void print_latency(struct buf *out, const struct runner_result *result) {
    if (!(result->latency_us > 0))
        return;
    buf_puts(out, "latency   ");
    clock_print_duration(out, result->latency_us * 1e-6);
    buf_puts(out, " (modelled); floor ");
    clock_print_duration(out, result->floor_us * 1e-6);
    if (result->floor_bound[0])
        buf_printf(out, " (%s)", result->floor_bound);
    print_floors(out, result);
    print_limited(out, result);
    buf_putc(out, '\n');
    if (!(result->low_us > 0))
        return;
    buf_puts(out, "error     eight of ten kernels like this took ");
    clock_print_duration(out, result->low_us * 1e-6);
    buf_puts(out, " to ");
    clock_print_duration(out, result->high_us * 1e-6);
    buf_puts(out, " on hardware\n");
}

/* What the latency rests on that nobody documented or measured. */
static void print_rests(struct buf *out, const struct runner_result *result) {
    double fitted = NAN, guessed = NAN;
    for (size_t i = 0; i < result->metrics.len; i++) {
        const struct runner_metric *metric = &result->metrics.at[i];
        if (!strcmp(metric->name, "fitted_rules_percent"))
            fitted = metric->value;
        else if (!strcmp(metric->name, "guessed_rules_percent"))
            guessed = metric->value;
    }
    if (isfinite(fitted) && isfinite(guessed))
        buf_printf(out, "rests on  fitted rules for %.0f %%, guessed ones for %.0f %%\n", fitted,
                   guessed);
}

static void print_limit(struct buf *out, const struct sim *sim) {
    struct buf why = {0};
    if (cli_sim_is_too_slow(sim, &why))
        buf_printf(out, "limit     no: %s\n", why.at);
    else if (sim->limit_us > 0 && sim->result.latency_us > 0)
        buf_puts(out, "limit     yes\n");
    buf_free(&why);
}

static struct str why_not(const struct buf *said) {
    static const char start[] = "the compiler predicts nothing: ";
    struct str text = buf_str(said);
    if (!str_starts(text, start))
        return text;
    return (struct str){text.at + sizeof start - 1, text.len - (sizeof start - 1)};
}

/* Why there is no prediction interests only those who asked for one. */
static void print_prediction(struct buf *out, const struct sim *sim) {
    const struct runner_prediction *found = &sim->prediction;
    const char *set = config_get(sim->config, "defaults", "nki_python", NULL);
    if (!(found->us > 0)) {
        if (set && *set && sim->unpredicted.len)
            buf_printf(out, "compiler  no prediction: " STR_FMT "\n",
                       STR_ARG(why_not(&sim->unpredicted)));
        return;
    }
    buf_puts(out, "compiler  predicts ");
    clock_print_duration(out, found->us * 1e-6);
    buf_printf(out, " (%s)", found->by);
    for (size_t i = 0, said = 0; i < found->engine_count; i++)
        if (found->engines[i].percent >= 1)
            buf_printf(out, "%s%s %.0f %%", said++ ? ", " : ": ", found->engines[i].engine,
                       found->engines[i].percent);
    buf_putc(out, '\n');
}

static void print_lines(struct buf *out, const struct sim *sim) {
    const struct runner_result *result = &sim->result;
    if (result->lines.len)
        buf_puts(out, "\n  share  engine   line\n");
    for (size_t i = 0; i < result->lines.len && i < COSTLY_LINES; i++) {
        const struct runner_line *line = &result->lines.at[i];
        struct str rest = {sim->job.task->kernel_text, sim->job.task->kernel_len}, text = {0};
        for (int n = 0; n < line->line; n++)
            if (!str_next(&rest, '\n', &text))
                text = (struct str){"", 0};
        text = str_trim(text);
        buf_printf(out, "%6.1f%%  %-7s %5d  %.*s\n", line->share * 100, line->engine, line->line,
                   (int)MIN_OF(text.len, (size_t)56), text.at);
    }
}

static void print_outputs(struct buf *out, const struct runner_result *result) {
    for (size_t i = 0; i < result->artifacts.len; i++) {
        const struct runner_artifact *artifact = &result->artifacts.at[i];
        if (artifact->array.dtype == DTYPE_NONE)
            continue;
        buf_printf(out, "%-9s %s (%s", artifact->name, artifact->path,
                   dtype_name(artifact->array.dtype));
        for (int d = 0; d < artifact->array.ndim; d++)
            buf_printf(out, "%c%lld", d ? 'x' : ' ', (long long)artifact->array.shape[d]);
        buf_puts(out, ")\n");
    }
}

void cli_sim_print_text(const struct sim *sim) {
    const struct runner_result *result = &sim->result;
    struct buf raw = {0}, safe = {0};
    buf_add(&safe, sim->shown.at, sim->shown.len);
    cli_print_diags(&result->diagnostics, sim->job.task, &safe);
    buf_puts(&raw, "kernel    ");
    if (sim->job.attempt.source)
        buf_printf(&raw, "attempt %d of ", sim->job.attempt.attempt);
    buf_printf(&raw, "%s (%s, %s dialect%s%s) on %s%s, %llu instructions\n",
               sim->job.task->kernel_path, result->kernel_name[0] ? result->kernel_name : "?",
               result->dialect[0] ? result->dialect : "unknown", result->release[0] ? ", NKI " : "",
               result->release, result->device, result->lnc > 1 ? ", two cores" : "",
               (unsigned long long)result->instructions);
    print_judgement(&raw, "compiles", &result->verdict.compiles);
    print_judgement(&raw, "correct", &result->verdict.correct);
    print_judgement(&raw, "credible", &result->verdict.credible);
    if (result->wall[0])
        buf_printf(&raw, "wall      %s\n", result->wall);
    print_latency(&raw, result);
    print_rests(&raw, result);
    print_limit(&raw, sim);
    print_prediction(&raw, sim);
    print_outputs(&raw, result);
    print_lines(&raw, sim);
    if (result->causes_text)
        buf_printf(&raw, "\n%s", result->causes_text);
    text_sanitise(&safe, buf_str(&raw));
    fputs(safe.at, stdout);
    buf_free(&raw);
    buf_free(&safe);
}
