/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kit/junit.h"

#include <stdio.h>

#include "runner/runner.h"

/* The text is made safe first, because XML has no place for control characters and broken UTF-8. */
static void add_escaped(struct buf *out, const char *text) {
    struct buf safe = {0};
    text_sanitise(&safe, str_of(text ? text : ""));
    for (size_t i = 0; i < safe.len; i++)
        switch (safe.at[i]) {
        case '&': buf_puts(out, "&amp;"); break;
        case '<': buf_puts(out, "&lt;"); break;
        case '>': buf_puts(out, "&gt;"); break;
        case '"': buf_puts(out, "&quot;"); break;
        case '\n': buf_puts(out, "&#10;"); break;
        default: buf_putc(out, safe.at[i]); break;
        }
    buf_free(&safe);
}

static void add_attribute(struct buf *out, const char *name, const char *value) {
    buf_printf(out, " %s=\"", name);
    add_escaped(out, value);
    buf_putc(out, '"');
}

void junit_add(struct junit *junit, const char *name, enum junit_outcome outcome, const char *why) {
    static const char *const elements[] = {NULL, "failure", "skipped", "error"};
    struct buf *out = &junit->cases;
    junit->counts[outcome]++;
    buf_puts(out, "    <testcase");
    add_attribute(out, "classname", junit->place);
    add_attribute(out, "name", name);
    if (outcome == JUNIT_PASSED) {
        buf_puts(out, "/>\n");
        return;
    }
    buf_printf(out, ">\n      <%s", elements[outcome]);
    add_attribute(out, "message", why);
    buf_puts(out, "/>\n    </testcase>\n");
}

/* A number or a word that belongs to all cases: "latency_us", "1281.2". */
static void junit_property(struct junit *junit, const char *name, const char *value) {
    buf_puts(&junit->properties, "      <property");
    add_attribute(&junit->properties, "name", name);
    add_attribute(&junit->properties, "value", value);
    buf_puts(&junit->properties, "/>\n");
}

static void print_suite(const struct junit *junit, struct buf *out) {
    const int *counts = junit->counts;
    int all =
        counts[JUNIT_PASSED] + counts[JUNIT_FAILED] + counts[JUNIT_SKIPPED] + counts[JUNIT_ERROR];
    buf_puts(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite");
    add_attribute(out, "name", junit->suite);
    buf_printf(out, " tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\" time=\"%.3f\">\n",
               all, counts[JUNIT_FAILED], counts[JUNIT_ERROR], counts[JUNIT_SKIPPED],
               junit->seconds);
    if (junit->properties.len)
        buf_printf(out, "    <properties>\n%s    </properties>\n", junit->properties.at);
    buf_printf(out, "%s  </testsuite>\n</testsuites>\n", junit->cases.len ? junit->cases.at : "");
}

bool junit_write(const struct junit *junit, const char *file, struct err *err) {
    struct buf text = {0};
    print_suite(junit, &text);
    bool ok = file_write(file, text.at, text.len, err);
    buf_free(&text);
    return ok;
}

void junit_fini(struct junit *junit) {
    buf_free(&junit->properties);
    buf_free(&junit->cases);
}

/* ---- what is reported ----------------------------------------------------------------------- */

static void add_judgement(struct junit *junit, const char *name,
                          const struct task_judgement *judgement) {
    enum junit_outcome outcome = judgement->answer == TASK_YES  ? JUNIT_PASSED
                                 : judgement->answer == TASK_NO ? JUNIT_FAILED
                                                                : JUNIT_SKIPPED;
    const char *why = *judgement->reason ? judgement->reason : task_answer_name(judgement->answer);
    junit_add(junit, name, outcome, why);
}

static void add_seed(struct junit *junit, const struct runner_seed *seed) {
    char name[48], why[64];
    snprintf(name, sizeof name, "correct for seed %lld", (long long)seed->seed);
    snprintf(why, sizeof why, "relative L2 is %.3g", seed->rel_l2);
    junit_add(junit, name, seed->passed ? JUNIT_PASSED : JUNIT_FAILED, why);
}

static void add_number(struct junit *junit, const char *name, double value) {
    char text[48];
    snprintf(text, sizeof text, "%.9g", value);
    if (value > 0)
        junit_property(junit, name, text);
}

void junit_add_result(struct junit *junit, const struct runner_result *result) {
    junit->seconds = result->elapsed_s;
    junit_property(junit, "device", result->device);
    add_number(junit, "latency_us", result->latency_us);
    add_number(junit, "floor_us", result->floor_us);
    if (result->failure.kind != ERR_NONE) {
        junit_add(junit, "evaluation", JUNIT_ERROR, result->failure.text);
        return;
    }
    add_judgement(junit, "compiles", &result->verdict.compiles);
    add_judgement(junit, "correct", &result->verdict.correct);
    for (size_t i = 0; i < result->seeds.len; i++)
        add_seed(junit, &result->seeds.at[i]);
    add_judgement(junit, "credible", &result->verdict.credible);
}

void junit_add_diags(struct junit *junit, const struct diag_list *diags) {
    for (size_t i = 0; i < diags->all.len; i++) {
        const struct diag *diag = &diags->all.at[i];
        char name[96];
        if (diag->severity != DIAG_ERROR)
            continue;
        snprintf(name, sizeof name, "line %d: %s", diag->line, *diag->code ? diag->code : "error");
        junit_add(junit, name, JUNIT_FAILED, diag->message);
    }
    if (!diags->errors)
        junit_add(junit, "no errors", JUNIT_PASSED, "");
}
