/* SPDX-License-Identifier: Apache-2.0 */
/* What a line of a kernel costs, in the same words for questions and screens: its part of the
 * critical path, and how long it keeps an engine busy, which is another thing. */
#include <math.h>

#include "tune/read/read.h"

/* Costs of lines are parts of the critical path, as the device model knows it; else they say how
 * long a device was busy with a line. */
static bool is_critical(const struct tune_attempt *attempt) {
    return attempt->modelled || attempt->profile_modelled;
}

/* Several transfers go on at once, so that the sum of their times is no share. */
static void busy_print(const struct tune_attempt *attempt, const struct tune_line_cost *line,
                       struct buf *out) {
    double latency_us = attempt->profile_modelled ? attempt->modelled_us : attempt->latency_us;
    buf_printf(out, ", %s", line->engine);
    if (!(line->calls > 0) || !(line->busy_us > 0) || !(latency_us > 0))
        return;
    if (strcmp(line->engine, "DMA") != 0)
        buf_printf(out, " busy %.1f %%,", 100 * line->busy_us / latency_us);
    buf_printf(out, " %.0f x %.3g us", line->calls, line->busy_us / line->calls);
}

void tune_line_cost_print(const struct tune_attempt *attempt, const struct tune_line_cost *line,
                          struct buf *out) {
    if (!is_critical(attempt))
        buf_printf(out, "busy for %.1f %% of the time", line->share * 100);
    else if (line->share > 0)
        buf_printf(out, "%.1f %% of the critical path", line->share * 100);
    else
        buf_puts(out, "not on the critical path");
    if (line->engine && *line->engine)
        busy_print(attempt, line, out);
}
