/* SPDX-License-Identifier: Apache-2.0 */
/* Charts: functions from data and an area to cells. Unknown values are NaN and draw nothing. */
#ifndef HONE_TUI_CHART_H
#define HONE_TUI_CHART_H

#include "tui/cells/cells.h"

/* A bar over the first row of the area, in eighths of a column. `fraction` is kept within 0..1. */
void tui_chart_bar(struct tui_area area, double fraction, enum tui_role role);
/* The last values that fit, one for each column, scaled between the least and the greatest of
 * them. */
void tui_chart_sparkline(struct tui_area area, const double *values, size_t count);
/* A step line of values over the whole width, drawn with dots, with the greatest value at the top.
 * The caller writes the axis. False when fewer than two values are known. */
bool tui_chart_steps(struct tui_area area, const double *values, size_t count, enum tui_role role);

/* What is busy from start to end, in any one unit. */
struct tui_busy {
    double start, end;
};
/* One row, which shows as a height how busy each column's part of [from, to) is. Intervals come in
 * any order. Overlapping ones count once only if the caller merged them. Nothing disappears: a part
 * with any work shows at least the lowest glyph. */
void tui_chart_busy(struct tui_area area, const struct tui_busy *busy, size_t count,
                    struct tui_busy range, enum tui_role role);

struct tui_mark {
    double x, y;
    const char *glyph; /* one column */
    enum tui_role role;
};
/* A roofline on logarithmic axes: y = min(peak, slope * x). The range of x covers the ridge point
 * and every mark. Marks lie over the line, the last one on top. Both roof values are positive. Axis
 * labels, the ridge, and a dashed line at the height `reach` are drawn. */
struct tui_roofline {
    double peak, slope;
    double reach; /* NAN: none */
    const char *x_unit, *y_unit;
    const struct tui_mark *marks;
    size_t count;
};
void tui_chart_roofline(struct tui_area area, const struct tui_roofline *roof);

#endif
