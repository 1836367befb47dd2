/* SPDX-License-Identifier: Apache-2.0 */
/* hone diff: two kernels or attempts: what changed in the source, and what it did to the latency,
 * the engines, the metrics and the lines. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/query/private.h"
#include "cli/query/query.h"

#define MOST_LINES 15 /* of costs as text */
#define WORTH 0.01    /* the share by which a metric must differ to be shown as text */

/* ---- text ----------------------------------------------------------------------------------- */

static const struct device_profile *profile_of(const struct comparison *comparison, int side) {
    return comparison->sides[side]->timed.profile;
}

/* Physical cores that a side launches on. */
static int cores_of(const struct comparison *comparison, int side) {
    return MAX_OF(comparison->sides[side]->timed.program->cores, 1);
}

static void print_latency(const struct comparison *comparison, FILE *to) {
    double was = profile_of(comparison, 0)->latency_us, is = profile_of(comparison, 1)->latency_us;
    int before = cores_of(comparison, 0), after = cores_of(comparison, 1);
    fprintf(to, "latency  %.6g µs -> %.6g µs, %.4gx (by the device model", was, is, was / is);
    if (before != after)
        fprintf(to, ", %d core%s against %d", after, PLURAL(after), before);
    fprintf(to, ")\n");
}

/* Bounds that save as much are told as alike, as everywhere. */
void profile_limited_print(const struct device_profile *profile, struct buf *out) {
    struct tune_attempt attempt = {.latency_us = profile->latency_us, .bound_by = profile->bound};
    for (size_t i = 0; i < profile->bounds.len; i++)
        if (strcmp(profile->bounds.at[i].name, "latency") != 0)
            *vec_push(&attempt.bounds) = (struct tune_bound){
                profile->bounds.at[i].name, profile->bounds.at[i].busy_ns * 1e-3,
                profile->bounds.at[i].without_ns * 1e-3};
    tune_limited_print(&attempt, out);
    vec_free(&attempt.bounds);
}

static void print_head(const struct comparison *comparison, FILE *to) {
    struct buf names[2] = {{0}};
    for (int side = 0; side < 2; side++)
        subject_print(comparison->sides[side], &names[side]);
    cli_say(to, "before   %s\nafter    %s\n", names[0].at, names[1].at);
    print_latency(comparison, to);
    struct buf before = {0}, after = {0};
    profile_limited_print(profile_of(comparison, 0), &before);
    profile_limited_print(profile_of(comparison, 1), &after);
    cli_say(to, "bound    %s -> %s\n", before.at ? before.at : "", after.at ? after.at : "");
    buf_free(&before);
    buf_free(&after);
    buf_free(&names[0]);
    buf_free(&names[1]);
}

static void print_engines(const struct comparison *comparison, FILE *to) {
    fprintf(to, "\nbusy µs        before       after      change\n");
    const char *engine;
    for (size_t i = 0; (engine = comparison_engine(i)); i++) {
        double before = comparison_busy(comparison, 0, engine);
        double after = comparison_busy(comparison, 1, engine);
        if (before > 0 || after > 0)
            fprintf(to, "%-9s %11.2f %11.2f %+11.2f\n", engine, before, after, after - before);
    }
}

static void print_metrics(const struct comparison *comparison, FILE *to) {
    const struct device_profile *before = profile_of(comparison, 0);
    bool any = false;
    for (size_t i = 0; i < before->metrics.len; i++) {
        const struct device_metric *was = &before->metrics.at[i];
        const struct device_metric *is = comparison_after(comparison, was->name);
        double most = is ? fmax(fabs(was->value), fabs(is->value)) : 0;
        if (!is || !(fabs(is->value - was->value) > WORTH * most))
            continue;
        if (!any)
            fprintf(to, "\n%-34s %14s %14s\n", "metrics that differ by 1 % or more", "before",
                    "after");
        any = true;
        cli_say(to, "%-34s %14.6g %14.6g %s\n", was->name, was->value, is->value, was->unit);
    }
}

static void print_number(FILE *to, int line) {
    if (line)
        fprintf(to, "%6d", line);
    else
        fprintf(to, "%6s", "-");
}

static void print_lines(const struct comparison *comparison, FILE *to) {
    size_t shown = 0;
    fprintf(to, "\n              on the critical path, µs        busy, µs\n"
                "  line  line    before     after    change    before     after\n");
    for (size_t i = 0; i < comparison->lines.len && shown < MOST_LINES; i++) {
        const struct diff_line *row = &comparison->lines.at[i];
        const char *engines[2];
        double was = comparison_line_busy(row, 0, &engines[0]);
        double is = comparison_line_busy(row, 1, &engines[1]);
        if (fabs(row->us[1] - row->us[0]) < 0.005 && fabs(is - was) < 0.005)
            continue;
        shown++;
        print_number(to, row->line[0]);
        print_number(to, row->line[1]);
        fprintf(to, " %9.2f %9.2f %+9.2f %9.2f %9.2f %-6s  ", row->us[0], row->us[1],
                row->us[1] - row->us[0], was, is, engines[is > 0]);
        cli_say(to, STR_FMT "%s\n", (int)MIN_OF(row->text.len, (size_t)60), row->text.at,
                row->file ? row->file : "");
    }
    if (!shown)
        fprintf(to, "(no line costs more or less)\n");
}

static void print_source(const struct comparison *comparison, FILE *to) {
    struct buf text = {0}, safe = {0};
    comparison_diff(comparison, &text);
    text_sanitise(&safe, buf_str(&text));
    fprintf(to, "\n%s", safe.len ? safe.at : "The sources are the same.\n");
    buf_free(&text);
    buf_free(&safe);
}

static void print(const struct comparison *comparison, FILE *to) {
    print_head(comparison, to);
    print_engines(comparison, to);
    print_lines(comparison, to);
    print_metrics(comparison, to);
    print_source(comparison, to);
}

/* ---- the command ---------------------------------------------------------------------------- */

/* "TASK 1 2" is "TASK#1 TASK#2". */
static bool name_sides(const struct cli *cli, struct buf names[2]) {
    long long number;
    for (size_t side = 0; side < 2; side++) {
        bool three = cli->args.len == 3;
        buf_puts(&names[side], cli->args.at[three ? 0 : side]);
        if (!three)
            continue;
        if (!str_to_int(str_of(cli->args.at[side + 1]), &number) || number < 0)
            return false;
        buf_printf(&names[side], "#%lld", number);
    }
    return true;
}

static bool compare(const struct cli *cli, const struct buf names[2], struct err *err) {
    struct subject sides[2] = {{0}};
    bool ok = true;
    for (int i = 0; ok && i < 2; i++)
        ok = subject_open(&sides[i], cli, names[i].at, err) && subject_time(&sides[i], err);
    if (ok) {
        struct comparison comparison;
        comparison_make(&comparison, &sides[0], &sides[1]);
        if (cli_has(cli, "json"))
            comparison_print_json(&comparison);
        else
            print(&comparison, stdout);
        comparison_free(&comparison);
    }
    subject_close(&sides[0]);
    subject_close(&sides[1]);
    return ok;
}

int cli_diff(const struct cli *cli) {
    struct buf names[2] = {{0}};
    struct err err = {0};
    bool named = name_sides(cli, names), ok = named && compare(cli, names, &err);
    buf_free(&names[0]);
    buf_free(&names[1]);
    if (!named)
        return cli_wrong_usage(cli, "of three arguments the last two are numbers of attempts");
    if (!ok && !err.text[0])
        return err_exit_status(&err); /* it has said why */
    return ok ? CLI_OK : cli_fail(cli, &err);
}
