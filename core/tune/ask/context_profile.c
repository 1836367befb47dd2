/* SPDX-License-Identifier: Apache-2.0 */
/* What a proposer is told of an attempt's time: the profile, the lines that cost most, and what
 * precision has to do with it. Numbers are the state's; nothing is measured here. */
#include <math.h>
#include <stdlib.h>

#include "device/device.h"
#include "tune/ask/sections.h"
#include "tune/read/read.h"
#include "tune/sums/sums.h"

#define LINES_MOST 12

void tune_section_add(struct tune_context *context, const char *name, struct buf *text) {
    if (text->len)
        *vec_push(&context->sections) =
            (struct tune_section){name, arena_strndup(context->arena, text->at, text->len)};
    buf_free(text);
}

void tune_us_print(struct buf *out, double us) {
    if (isnan(us))
        buf_puts(out, "not known");
    else
        clock_print_duration(out, us * 1e-6);
}

/* ------------------------------------------------------------------------------------- metrics */

/* What a prompt does not repeat: shares of times that stand beside them, and sums over engines or
 * partitions, which read like times and sizes of one. */
static bool is_left_out(const char *name) {
    static const char *const ends[] = {"_active_time_percent", "_packet_time", "_packet_count",
                                       "peak_flops_bandwidth_ratio", "total_time"};
    for (size_t i = 0; i < COUNT_OF(ends); i++)
        if (str_ends(str_of(name), ends[i]))
            return true;
    return false;
}

/* Without an exponent, in a unit that suits: "268.4 MB", "758.5 µs", "49.99 %". */
static void value_print(struct buf *out, double value, const char *unit) {
    static const struct {
        double unit;
        const char *name;
    } sizes[] = {{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}};
    if (unit && (!strcmp(unit, "count") || !strcmp(unit, "ratio")))
        unit = NULL;
    if (unit && !strcmp(unit, "s")) {
        clock_print_duration(out, value);
        return;
    }
    for (size_t i = 0; unit && !strcmp(unit, "bytes") && i < COUNT_OF(sizes); i++)
        if (value >= sizes[i].unit) {
            buf_printf(out, "%.4g %s", value / sizes[i].unit, sizes[i].name);
            return;
        }
    if (fabs(value) >= 1e9)
        buf_printf(out, "%.3f G%s", value / 1e9, unit ? unit : "");
    else if (value == floor(value))
        buf_printf(out, "%.0f%s%s", value, unit ? " " : "", unit ? unit : "");
    else
        buf_printf(out, "%.*f%s%s", fabs(value) < 1 ? 4 : 2, value, unit ? " " : "",
                   unit ? unit : "");
}

static bool is_peak(const char *name) {
    return !strcmp(name, "sbuf_peak_bytes") || !strcmp(name, "psum_peak_bytes");
}

static void metrics_print(struct buf *out, const struct tune_attempt *attempt) {
    for (size_t i = 0; i < attempt->metrics.len; i++) {
        struct tune_metric metric = tune_metric_at(attempt, i);
        bool peak = is_peak(metric.name);
        if (!(metric.value != 0) || is_left_out(metric.name))
            continue;
        buf_printf(out, "%s: ", metric.name);
        value_print(out, peak ? metric.value / NKI_PARTITIONS : metric.value, metric.unit);
        buf_puts(out, peak ? " in each partition\n" : "\n");
    }
}

void tune_metrics_moved_print(struct buf *out, const struct tune_attempt *from,
                              const struct tune_attempt *to) {
    for (size_t i = 0; i < to->metrics.len; i++) {
        struct tune_metric metric = tune_metric_at(to, i);
        double before = tune_attempt_metric(from, metric.name);
        bool peak = is_peak(metric.name);
        double part = peak ? NKI_PARTITIONS : 1;
        if (isnan(before) || before == metric.value || is_left_out(metric.name))
            continue;
        buf_printf(out, "%s: ", metric.name);
        value_print(out, before / part, metric.unit);
        buf_puts(out, " -> ");
        value_print(out, metric.value / part, metric.unit);
        buf_puts(out, peak ? " in each partition" : "");
        if (before != 0)
            buf_printf(out, " (%+.1f %%)", (metric.value / before - 1) * 100);
        buf_putc(out, '\n');
    }
}

/* ------------------------------------------------------------------------------------- profile */

static void floor_print(struct buf *out, const struct tune_attempt *attempt) {
    if (isnan(attempt->floor_us))
        return;
    buf_puts(out, "\nfloor of the task: ");
    tune_us_print(out, attempt->floor_us);
    buf_puts(out, " in precision keep (its inputs and results moved once, its products as the "
                  "reference writes them; an algorithm with fewer of them may go below)");
    if (attempt->floor_any_us < attempt->floor_us) {
        buf_puts(out, "; ");
        tune_us_print(out, attempt->floor_split_us);
        buf_puts(out, " in precision split, ");
        tune_us_print(out, attempt->floor_any_us);
        buf_puts(out, " in precision any");
    }
    if (attempt->floor_modelled)
        buf_puts(out, " (modelled)");
}

static void latency_print(struct buf *out, const struct tune_attempt *attempt) {
    buf_puts(out, "latency: ");
    tune_us_print(out, attempt->latency_us);
    if (attempt->modelled)
        buf_puts(out, " (modelled");
    if (attempt->modelled && attempt->low_us > 0) {
        buf_puts(out, "; hardware took ");
        tune_us_print(out, attempt->low_us);
        buf_puts(out, " to ");
        tune_us_print(out, attempt->high_us);
        buf_puts(out, " for most such kernels");
    }
    buf_puts(out, attempt->modelled ? ")" : "");
}

static void bounds_print(struct buf *out, const struct tune_attempt *attempt) {
    for (size_t i = 0; i < attempt->bounds.len; i++) {
        const struct tune_bound *bound = &attempt->bounds.at[i];
        buf_printf(out, "%s: busy ", bound->name);
        tune_us_print(out, bound->busy_us);
        buf_puts(out, "; if it took no time, the latency would be ");
        tune_us_print(out, bound->without_us);
        buf_putc(out, '\n');
    }
}

void tune_profile_section(struct tune_context *context, const char *name,
                          const struct tune_attempt *attempt) {
    struct buf out = {0}, limited = {0};
    latency_print(&out, attempt);
    floor_print(&out, attempt);
    if (tune_predicted(attempt)) {
        buf_puts(&out, "\nthe compiler predicts: ");
        tune_predicted_print(&out, attempt);
    }
    if (attempt->profile_modelled)
        buf_puts(&out, "\nwhat follows comes from the device model, not from the device");
    tune_limited_print(attempt, &limited);
    if (limited.len)
        buf_printf(&out, "\nlimited by: %s", limited.at);
    buf_putc(&out, '\n');
    bounds_print(&out, attempt);
    metrics_print(&out, attempt);
    buf_free(&limited);
    tune_section_add(context, name, &out);
}

/* --------------------------------------------------------------------------------------- lines */

struct str tune_line_text(const char *source, int number) {
    struct str rest = str_of(source), line = {0};
    while (number-- > 0)
        if (!str_next(&rest, '\n', &line))
            return (struct str){0};
    return str_trim(line);
}

#define STATEMENT_COLS 160 /* of a statement that goes over several lines */

/* The statement that begins at a line: also the lines that close its brackets. */
static void statement_print(const char *source, int number, struct buf *out) {
    struct buf text = {0};
    int open = 0;
    for (int last = number; text.len < STATEMENT_COLS && (last == number || open > 0); last++) {
        struct str line = tune_line_text(source, last);
        if (!line.at)
            break;
        buf_printf(&text, "%s" STR_FMT, last == number || text.at[text.len - 1] == '(' ? "" : " ",
                   STR_ARG(line));
        for (size_t i = 0; i < line.len; i++)
            open += (strchr("([{", line.at[i]) != NULL) - (strchr(")]}", line.at[i]) != NULL);
    }
    if (text.len)
        buf_printf(out, "%.*s%s", (int)MIN_OF(text.len, (size_t)STATEMENT_COLS), text.at,
                   text.len > STATEMENT_COLS ? " .." : "");
    buf_free(&text);
}

static int by_share(const void *a, const void *b) {
    double x = ((const struct tune_line_cost *)a)->share,
           y = ((const struct tune_line_cost *)b)->share;
    return x < y ? 1 : x > y ? -1 : 0;
}

void tune_lines_section(struct tune_context *context, const struct tune_state *state,
                        const struct tune_attempt *attempt) {
    struct buf out = {0};
    struct tune_lines lines = tune_lines(state, attempt);
    size_t count = lines.len;
    struct tune_line_cost *sorted = arena_dup(context->arena, lines.at, count * sizeof *sorted);
    if (count)
        qsort(sorted, count, sizeof *sorted, by_share);
    for (size_t i = 0; i < count && i < LINES_MOST && sorted[i].share > 0; i++) {
        buf_printf(&out, "line %d: ", sorted[i].line);
        tune_line_cost_print(attempt, &sorted[i], &out);
        buf_puts(&out, ": ");
        statement_print(tune_source(state, attempt), sorted[i].line, &out);
        buf_putc(&out, '\n');
    }
    tune_section_add(context, "cost per line", &out);
}

/* -------------------------------------------------------------------------------------- causes */

void tune_causes_section(struct tune_context *context, const struct tune_state *state,
                         const struct tune_attempt *attempt) {
    const char *causes = tune_causes(state, attempt);
    struct buf out = {0};
    if (causes && attempt->modelled)
        buf_printf(&out, "By the device model:\n%s", causes);
    else if (causes)
        buf_printf(&out, "By the device model, whose latency differs from the measured one:\n%s",
                   causes);
    tune_section_add(context, "causes", &out);
}

/* ----------------------------------------------------------------------------------- precision */

/* The largest error that the attempt's comparisons showed; NAN: there was none. */
static double error_used(const struct tune_attempt *attempt) {
    double worst = NAN;
    for (size_t i = 0; attempt && i < attempt->seeds.len; i++)
        worst = fmax(worst, attempt->seeds.at[i].rel_l2);
    return worst;
}

/* What a wider class would bring: by the floors, and by a kernel written anew where the device
 * model timed one. */
static void class_print(struct buf *out, const struct tune_state *state,
                        const struct tune_attempt *attempt, enum tune_precision class) {
    double floor_us = attempt ? tune_floor_in(attempt, class) : (double)NAN;
    double offer_us = state->offer_us[class];
    double own_us = attempt ? tune_floor_in(attempt, tune_precision_allowed(state)) : (double)NAN;
    if (isnan(floor_us) && isnan(offer_us))
        return;
    buf_printf(out, "Precision %s: ", tune_precision_word(class));
    if (floor_us == own_us) {
        buf_puts(out, "the same floor as in what is allowed");
    } else if (!isnan(floor_us)) {
        buf_puts(out, "floor ");
        tune_us_print(out, floor_us);
    }
    if (!isnan(offer_us)) {
        buf_puts(out, isnan(floor_us) ? "" : ", ");
        buf_puts(out, "a kernel written anew is modelled at ");
        tune_us_print(out, offer_us);
    }
    buf_putc(out, '\n');
}

void tune_precision_section(struct tune_context *context, const struct tune_state *state,
                            const struct tune_attempt *attempt) {
    static const char *const means[TUNE_PRECISIONS] = {
        [TUNE_PRECISION_KEEP] =
            "no value may be computed or kept in a narrower type than in the seed kernel; fp32 "
            "products split into bf16 ones are not allowed either",
        [TUNE_PRECISION_SPLIT] =
            "fp32 products may be written as bf16 products of split operands; nothing else may "
            "become narrower",
        [TUNE_PRECISION_ANY] = "any type may be used, as long as the result stays within the "
                               "tolerance"};
    struct buf out = {0};
    enum tune_precision allowed = tune_precision_allowed(state);
    double used = error_used(attempt);
    buf_printf(&out, "Allowed is %s: %s.\n", tune_precision_word(allowed), means[allowed]);
    buf_printf(&out, "Error: relative L2 up to %.3g is allowed", state->tolerance);
    if (!isnan(used))
        buf_printf(&out, "; %s is %.3g", context->repair_source ? "the parent's" : "this kernel's",
                   used);
    buf_puts(&out, ".\n");
    for (int class = allowed + 1; class < TUNE_PRECISIONS; class ++)
        class_print(&out, state, attempt, (enum tune_precision) class);
    if (allowed + 1 < TUNE_PRECISIONS)
        buf_puts(&out, "Another class is the person's decision: where it is worth it, a plan says "
                       "so in its `why`, and keeps to what is allowed.\n");
    tune_section_add(context, "precision", &out);
}
