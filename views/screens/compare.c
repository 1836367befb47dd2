/* SPDX-License-Identifier: Apache-2.0 */
/* Screen 3: any two attempts, with source and metrics. The marks say which two. */
#include "views/inner.h"

#include <stdio.h>

struct compare {
    struct tui_list list;
    struct diff diff;
};

static struct compare *own(const struct views *views) {
    return views->own[VIEW_DIFF];
}

static void choose_pair(struct views *views, const struct tune_attempt **a,
                        const struct tune_attempt **b) {
    const struct tune_state *state = views->state;
    *a = tune_state_attempt(state, views->marks[0] >= 0 ? views->marks[0] : 0);
    *b = tune_state_attempt(state, views->marks[1]);
    if (!*b && views->marks[0] < 0)
        *b = views_incumbent(views);
    if (!*b)
        *b = *a;
}

static void draw_attempt_line(struct tui_area area, const struct tune_attempt *attempt,
                              const char *sign) {
    int col = tui_say(tui_ink(area, TUI_STRONG), 0, 1, "%s #%d", sign, attempt->id) + 2;
    col = tui_say(area, 0, col, "%s  %s", show_latency(attempt->latency_us).text,
                  show_speedup(attempt->speedup).text) +
          2;
    const char *title = attempt->id == 0 ? "the seed" : attempt->plan.title;
    tui_put_short(tui_ink(area, TUI_DIM), 0, (struct tui_rect){0, col, 1, area.cols - col - 1},
                  str_of(title ? title : ""));
}

static void compare_draw(struct views *views, struct tui_area body) {
    struct diff *diff = &own(views)->diff;
    const struct tune_attempt *a, *b;
    choose_pair(views, &a, &b);
    if (!a || !b) {
        tui_say(tui_ink(body, TUI_DIM), 1, 2, "no two attempts yet; mark them in the history (7)");
        return;
    }
    draw_attempt_line(tui_area_part(body, (struct tui_rect){0, 0, 1, body.cols}), a, "-");
    draw_attempt_line(tui_area_part(body, (struct tui_rect){1, 0, 1, body.cols}), b, "+");
    const char *first = tune_source(views->state, a), *second = tune_source(views->state, b);
    if (diff->old.text != first || diff->new_.text != second) {
        size_t count;
        struct tune_hunk *hunks = tune_hunks(str_of(first), str_of(second), &count);
        diff_set(diff, first, second, hunks, count);
        mem_free_(hunks);
    }
    struct tui_rect rest = {2, 0, body.rows - 2, body.cols};
    if (body.cols >= 110) {
        struct tui_rect side = {2, body.cols - 46, body.rows - 2, 46};
        rest.cols -= 45;
        profile_pair_draw(tui_frame(tui_area_part(body, side), false, "metrics", ""),
                          &(struct profile_pair){a, b, tune_roof_of(views->state)});
    }
    struct buf note = {0};
    buf_printf(&note, "+%d -%d  %s", diff->added, diff->removed,
               show_change(a->latency_us, b->latency_us).text);
    struct tui_area inside = tui_frame(tui_area_part(body, rest), true, "source", note.at);
    buf_free(&note);
    views->list_spot = (struct tui_rect){inside.row, inside.col, inside.rows, inside.cols};
    if (diff->n_hunks == 0)
        tui_say(tui_ink(inside, TUI_DIM), 1, 2, "the sources are equal");
    diff_draw(views, inside, &(struct diff_shown){diff, NULL, &own(views)->list, -1});
}

static struct tui_list *compare_list(struct views *views) {
    return &own(views)->list;
}

static struct str compare_line(const void *data, int row) {
    const struct views *views = data;
    return diff_line(&own(views)->diff, diff_has_sides(views), row);
}

static void compare_enter(struct views *views, struct views_request *request) {
    (void)request;
    views_show(views, VIEW_HISTORY);
}

static void compare_forget(struct views *views) {
    diff_free(&own(views)->diff);
    *own(views) = (struct compare){0};
}

const struct screen compare_screen = {
    .name = "diff",
    .about = "two attempts, source and metrics",
    .command = {"diff", "", "screen 3: two attempts, source and metrics", WHERE_TUNING, PLACE_OPEN,
                TUNE_ACTIONS, NULL, NULL, NULL},
    .key = "3",
    .takes = "approve reject side-by-side",
    .keys = "n next-match\nN previous-match\nd side-by-side\n",
    .size = sizeof(struct compare),
    .forget = compare_forget,
    .draw = compare_draw,
    .list = compare_list,
    .line_of = compare_line,
    .enter = compare_enter,
};
