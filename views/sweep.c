/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps in the workbench: which constants the kernel has and what was tried of each, and the line
 * that asks for more. What a sweep does is core/tune's. */
#include "views/inner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "rewrite/rewrite.h"

/* What came of one value, when the attempt is part of a sweep over that constant alone. */
static void tried_print(struct buf *out, const struct tune_state *state,
                        const struct tune_attempt *attempt, const char *name) {
    struct tune_sweep sweep;
    if (!tune_sweep_is_one(&attempt->plan) ||
        !tune_sweep_parse(str_of(attempt->plan.key + strlen("sweep:")), &sweep, NULL) ||
        sweep.count != 1 || strcmp(sweep.axes[0].name, name) != 0)
        return;
    const struct tune_attempt *base = tune_state_attempt(state, sweep.base);
    buf_printf(out, "%s%lld ", out->len ? ", " : "tried ", (long long)sweep.axes[0].values[0]);
    if (base && !isnan(attempt->speedup) && !isnan(base->speedup))
        buf_printf(out, "%.3fx", attempt->speedup / base->speedup);
    else
        buf_puts(out, tune_status_word(attempt->status));
}

static void values_print(struct buf *out, const struct rewrite_constant *constant) {
    int64_t values[REWRITE_CONSTANT_VALUES];
    size_t count = rewrite_constant_values(constant, values);
    for (size_t i = 0; i < count; i++)
        buf_printf(out, "%s%lld", i ? "," : "", (long long)values[i]);
}

static struct rewrite_constants *constants_of(const struct views *views) {
    const struct tune_attempt *from = views_incumbent(views);
    const char *source = from ? tune_source(views->state, from) : views->state->kernel_source;
    return rewrite_constants_find(str_of(source ? source : ""), views->state->function);
}

/* Opens the line with values, which can be changed before it is sent. */
static void sweep_chosen(struct views *views, struct str text, struct views_request *request) {
    (void)request;
    long long index;
    struct rewrite_constants *constants = constants_of(views);
    if (str_to_int(text, &index) && index >= 0 && (size_t)index < constants->all.len) {
        struct buf line = {0};
        buf_printf(&line, "sweep %s=", constants->all.at[index].name);
        values_print(&line, &constants->all.at[index]);
        views_open_line(views, false, line.at);
        buf_free(&line);
    }
    rewrite_constants_free(constants);
}

static void list_constants(struct views *views) {
    const struct tune_state *state = views->state;
    struct rewrite_constants *constants = constants_of(views);
    views->over.rows.len = 0;
    for (size_t i = 0; i < constants->all.len; i++) {
        const struct rewrite_constant *row = &constants->all.at[i];
        struct buf name = {0}, tried = {0};
        char line[16];
        snprintf(line, sizeof line, "%d", row->line);
        buf_printf(&name, "%s = %lld", row->name, (long long)row->value);
        for (size_t k = 0; k < state->attempts.len; k++)
            tried_print(&tried, state, &state->attempts.at[k], row->name);
        if (!tried.len)
            values_print(&tried, row);
        views_menu_row(views, (int)i, line, name.at, tried.at ? tried.at : "");
        buf_free(&name);
        buf_free(&tried);
    }
    if (constants->all.len)
        views_open_menu(views,
                        views_can(views, TUNE_ACT_SWEEP)
                            ? "constants of the kernel, by line (Enter: values to try)"
                            : "constants of the kernel, by line (s measures it first)",
                        sweep_chosen);
    else
        views_say(views, true, "the kernel has no named constant that can be changed in one place");
    rewrite_constants_free(constants);
}

void act_sweep(struct views *views, struct str args, struct views_request *request) {
    (void)request;
    struct buf text = {0};
    args = str_trim(args);
    buf_add(&text, args.at ? args.at : "", args.len);
    if (args.len)
        views_act(views, &(struct tune_action){.kind = TUNE_ACT_SWEEP, .text = text.at});
    else
        list_constants(views);
    buf_free(&text);
}
