/* SPDX-License-Identifier: Apache-2.0 */
/* Draws numbers with block and braille glyphs. The canvas turns them into ASCII where it must.
 * Nothing is kept between calls, and memory is needed only where a row needs a sum for each
 * column. */
#include "tui/widgets/chart.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const heights[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
static const char *const widths[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};

static double within(double value, double low, double high) {
    return !(value > low) ? low : value > high ? high : value;
}

void tui_chart_bar(struct tui_area area, double fraction, enum tui_role role) {
    struct tui_area bar = tui_ink(area, role);
    int eighths = (int)lround(within(fraction, 0, 1) * area.cols * 8);
    if (fraction > 0 && eighths == 0)
        eighths = 1;
    if (area.canvas->ascii)
        eighths = (eighths + 4) / 8 * 8;
    for (int col = 0; col < area.cols && eighths > 0; col++, eighths -= 8)
        tui_put(bar, 0, col, str_of(widths[MIN_OF(eighths, 8)]));
}

/* One glyph of eight heights: "▁" to "█", " " for 0 and below. */
static const char *tui_chart_level(double fraction) {
    if (!(fraction > 0))
        return heights[0];
    return heights[1 + (int)within(fraction * 8, 0, 7)];
}

static bool range_of(const double *values, size_t count, double *low, double *high) {
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i]))
            continue;
        *low = fmin(*low, values[i]);
        *high = fmax(*high, values[i]);
    }
    return *low <= *high;
}

void tui_chart_sparkline(struct tui_area area, const double *values, size_t count) {
    static const char ascii[] = "_.-=*#%@";
    size_t skip = count > (size_t)area.cols ? count - (size_t)area.cols : 0;
    double low, high;
    if (!range_of(values + skip, count - skip, &low, &high))
        return;
    double span = high > low ? high - low : 1;
    for (size_t i = skip; i < count; i++) {
        if (!isfinite(values[i]))
            continue;
        int level = (int)within((values[i] - low) / span * 8, 0, 7);
        struct str glyph =
            area.canvas->ascii ? (struct str){&ascii[level], 1} : str_of(heights[level + 1]);
        tui_put(area, 0, (int)(i - skip), glyph);
    }
}

/* Sets one dot of a grid of 2 x 4 dots a cell. */
static void tui_chart_dot(struct tui_area area, int x, int y) {
    static const uint8_t bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    int row = y / 4, col = x / 2;
    if (x < 0 || y < 0 || row >= area.rows || col >= area.cols)
        return;
    struct tui_canvas *canvas = area.canvas;
    const struct tui_cell *cell =
        &canvas->cells[(size_t)(area.row + row) * (size_t)canvas->cols + (size_t)(area.col + col)];
    uint32_t code = 0;
    if (cell->len)
        text_decode((struct str){cell->text, cell->len}, &code);
    uint32_t dots = code >= 0x2800 && code <= 0x28ff ? code & 0xff : 0;
    char glyph[4];
    size_t len = text_encode(0x2800 + (dots | bits[y % 4][x % 2]), glyph);
    tui_put(area, row, col, (struct str){glyph, len});
}

bool tui_chart_steps(struct tui_area area, const double *values, size_t count, enum tui_role role) {
    double low, high;
    if (count < 2 || area.cols < 2 || area.rows < 1 || !range_of(values, count, &low, &high))
        return false;
    struct tui_area ink = tui_ink(area, role);
    int width = area.cols * 2, height = area.rows * 4, last = -1;
    double span = high > low ? high - low : 1;
    for (int x = 0; x < width; x++) {
        double value = values[(size_t)x * count / (size_t)width];
        if (!isfinite(value)) {
            last = -1;
            continue;
        }
        int y = (int)lround((high - value) / span * (height - 1));
        int from = last < 0 ? y : MIN_OF(last, y), to = last < 0 ? y : MAX_OF(last, y);
        for (int dot = from; dot <= to; dot++)
            tui_chart_dot(ink, x, dot);
        last = y;
    }
    return true;
}

static void add_busy(double *sums, int cols, double from, double to) {
    int first = (int)within(floor(from), 0, cols - 1), last = (int)within(floor(to), 0, cols - 1);
    for (int col = first; col <= last; col++)
        sums[col] += fmax(0, fmin(to, col + 1) - fmax(from, col));
    if (to <= from && to >= 0 && from < cols)
        sums[first] += 1e-9;
}

void tui_chart_busy(struct tui_area area, const struct tui_busy *busy, size_t count,
                    struct tui_busy range, enum tui_role role) {
    if (area.cols < 1 || area.rows < 1 || !(range.end > range.start))
        return;
    double *sums = mem_alloc((size_t)area.cols, sizeof *sums);
    double scale = area.cols / (range.end - range.start);
    for (size_t i = 0; i < count; i++)
        if (busy[i].end >= range.start && busy[i].start < range.end)
            add_busy(sums, area.cols, (busy[i].start - range.start) * scale,
                     (busy[i].end - range.start) * scale);
    for (int col = 0; col < area.cols; col++)
        if (sums[col] > 0)
            tui_put(tui_ink(area, role), 0, col, str_of(tui_chart_level(sums[col])));
    free(sums);
}

/* The part of a roofline chart that is inside its axes, in powers of ten. */
struct frame {
    struct tui_area plot;
    double x0, x1, y0, y1;
};

static struct frame frame_of(struct tui_area area, const struct tui_roofline *roof) {
    double ridge = log10(roof->peak / roof->slope), peak = log10(roof->peak);
    struct frame frame = {.x0 = ridge - 1, .x1 = ridge + 1, .y0 = peak - 1, .y1 = peak + 0.15};
    for (size_t i = 0; i < roof->count; i++) {
        const struct tui_mark *mark = &roof->marks[i];
        if (!(mark->x > 0) || !(mark->y > 0) || !isfinite(mark->x) || !isfinite(mark->y))
            continue;
        frame.x0 = fmin(frame.x0, log10(mark->x) - 0.3);
        frame.x1 = fmax(frame.x1, log10(mark->x) + 0.3);
        frame.y0 = fmin(frame.y0, log10(mark->y) - 0.3);
        frame.y1 = fmax(frame.y1, log10(mark->y) + 0.15);
    }
    if (roof->reach > 0 && isfinite(roof->reach))
        frame.y0 = fmin(frame.y0, log10(roof->reach) - 0.15);
    frame.plot = tui_area_part(area, (struct tui_rect){0, 9, area.rows - 2, area.cols - 9});
    return frame;
}

static void draw_ticks(struct tui_area area, const struct frame *frame,
                       const struct tui_roofline *roof) {
    struct tui_area dim = tui_ink(area, TUI_DIM), axis = tui_ink(area, TUI_FRAME);
    int rows = frame->plot.rows, cols = frame->plot.cols;
    tui_fill(axis, (struct tui_rect){0, 8, rows, 1}, "│");
    tui_fill(axis, (struct tui_rect){rows, 9, 1, cols}, "─");
    tui_say(axis, rows, 8, "└");
    for (int power = (int)ceil(frame->y0); power <= (int)floor(frame->y1); power++) {
        int row = (int)lround((frame->y1 - power) / (frame->y1 - frame->y0) * (rows - 1));
        tui_say_right(dim, row, 8, "%g", pow(10, power));
        tui_say(axis, row, 8, "┤");
    }
    for (int power = (int)ceil(frame->x0); power <= (int)floor(frame->x1); power++) {
        int col = (int)lround((power - frame->x0) / (frame->x1 - frame->x0) * (cols - 1));
        tui_say(axis, rows, 9 + col, "┴");
        char label[16];
        int start = 9 + MAX_OF(col - 1, 0);
        int length = snprintf(label, sizeof label, "%g", pow(10, power));
        if (start + length < area.cols - (int)strlen(roof->x_unit) - 1)
            tui_say(dim, rows + 1, start, "%s", label);
    }
    tui_say_right(dim, rows + 1, area.cols, " %s", roof->x_unit);
    tui_say(dim, 0, 9, "%s", roof->y_unit);
}

static int row_of(const struct frame *frame, double y) {
    return (int)lround((frame->y1 - log10(y)) / (frame->y1 - frame->y0) * (frame->plot.rows - 1));
}

static int col_of(const struct frame *frame, double x) {
    return (int)lround((log10(x) - frame->x0) / (frame->x1 - frame->x0) * (frame->plot.cols - 1));
}

/* Draws where bandwidth stops and the engine begins to limit, and the height that can be
 * reached. */
static void draw_guides(const struct frame *frame, const struct tui_roofline *roof) {
    struct tui_area dim = tui_ink(frame->plot, TUI_DIM);
    double ridge = roof->peak / roof->slope;
    int col = col_of(frame, ridge), top = row_of(frame, roof->peak);
    if (roof->reach > 0 && isfinite(roof->reach))
        tui_fill(tui_ink(frame->plot, TUI_GOOD),
                 (struct tui_rect){row_of(frame, roof->reach), 0, 1, frame->plot.cols}, "┄");
    for (int row = top + 1; row < frame->plot.rows; row++)
        tui_put(dim, row, col, STR("┊"));
    char label[24];
    int width = snprintf(label, sizeof label, "ridge %.3g", ridge);
    int at = col + 1 + width <= frame->plot.cols ? col + 1 : col - width;
    tui_say(dim, frame->plot.rows - 1, at, "%s", label);
}

void tui_chart_roofline(struct tui_area area, const struct tui_roofline *roof) {
    if (area.rows < 5 || area.cols < 24 || !(roof->peak > 0) || !(roof->slope > 0))
        return;
    struct frame frame = frame_of(area, roof);
    struct tui_area line = tui_ink(frame.plot, TUI_BAR);
    draw_guides(&frame, roof);
    int width = frame.plot.cols * 2, height = frame.plot.rows * 4;
    for (int x = 0; x < width; x++) {
        double at = frame.x0 + (frame.x1 - frame.x0) * x / (width - 1);
        double top = fmin(log10(roof->peak), log10(roof->slope) + at);
        int y = (int)lround((frame.y1 - top) / (frame.y1 - frame.y0) * (height - 1));
        tui_chart_dot(line, x, y);
    }
    draw_ticks(area, &frame, roof);
    for (size_t i = 0; i < roof->count; i++) {
        const struct tui_mark *mark = &roof->marks[i];
        if (!(mark->x > 0) || !(mark->y > 0))
            continue;
        int col = col_of(&frame, mark->x), row = row_of(&frame, mark->y);
        tui_put(tui_ink(frame.plot, mark->role), row, col, str_of(mark->glyph));
    }
}
