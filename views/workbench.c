/* SPDX-License-Identifier: Apache-2.0 */
/* Screen 1: four panes around the current round. On a small terminal one pane shows at a time,
 * with tabs. What is in a pane is in kernel.c, proposal.c, device.c and profile.c. */
#include "views/private.h"

#include <math.h>
#include <stdio.h>

static const struct {
    const char *name;
    void (*draw)(struct views *views, struct tui_area area);
} panes[PANE_COUNT] = {
    [PANE_KERNEL] = {"kernel", pane_kernel_draw},
    [PANE_PROPOSAL] = {"proposal", pane_proposal_draw},
    [PANE_DEVICE] = {"device", pane_device_draw},
    [PANE_PROFILE] = {"profile", pane_profile_draw},
};

static void kernel_note(const struct views *views, struct buf *note) {
    const struct tune_attempt *parent = views_parent(views);
    const char *path = views->state->kernel_path;
    if (path)
        buf_puts(note, path_base(path));
    if (parent)
        buf_printf(note, "  #%d", parent->id);
    if (parent && isfinite(parent->latency_us))
        buf_printf(note, "  %s", show_latency(parent->latency_us).text);
    if (parent && parent->id != views->state->incumbent && views->state->incumbent >= 0)
        buf_printf(note, "  best is #%d", views->state->incumbent);
}

static void proposal_note(const struct views *views, struct buf *note) {
    const struct tune_candidate *candidate = &views->state->candidate;
    if (!candidate->exists) {
        const struct tune_plan *plan = tune_state_plan(views->state);
        buf_puts(note, plan ? "plan" : "");
        return;
    }
    int added = 0, removed = 0, left = 0;
    for (size_t i = 0; i < candidate->hunks.len; i++) {
        added += candidate->hunks.at[i].new_count;
        removed += candidate->hunks.at[i].old_count;
        left += candidate->hunks.at[i].left;
    }
    if (candidate->attempt >= 0)
        buf_printf(note, "#%d", candidate->attempt);
    else /* it has no number before it is verified */
        buf_printf(note, "from #%d", candidate->parent);
    buf_printf(note, "  +%d -%d  %d hunk%s", added, removed, (int)candidate->hunks.len,
               candidate->hunks.len == 1 ? "" : "s");
    if (left)
        buf_printf(note, ", %d left out", left);
    if (candidate->repair)
        buf_printf(note, "  repair %d", candidate->repair);
    if (candidate->edited)
        buf_puts(note, "  edited");
}

static void device_note(const struct views *views, struct buf *note) {
    const char *phase = log_phase_name(views);
    buf_printf(note, "%s", views->state->target ? views->state->target : "");
    if (phase)
        buf_printf(note, "  only %s", phase);
    if (views->log_level > TUNE_LEVEL_INFO)
        buf_printf(note, "  %s", tune_level_word(views->log_level));
    if (!views->panes[PANE_DEVICE].follow && views->log_rows.len)
        buf_puts(note, "  End follows");
}

static void profile_note(const struct views *views, struct buf *note) {
    const struct tune_attempt *a, *b;
    views_pair(views, &a, &b);
    if (a && b)
        buf_printf(note, "#%d → #%d", a->id, b->id);
    else if (a && isfinite(a->latency_us))
        buf_printf(note, "#%d", a->id);
}

const char *pane_title(struct views *views, enum pane pane, struct buf *note) {
    static void (*const notes[PANE_COUNT])(const struct views *, struct buf *) = {
        kernel_note, proposal_note, device_note, profile_note};
    notes[pane](views, note);
    if (!note->at)
        buf_puts(note, "");
    return panes[pane].name;
}

/* Moving through the proposal or the profile takes the kernel along. */
void pane_moved(struct views *views) {
    views->kernel_moved |= views->pane == PANE_KERNEL || views->pane == PANE_PROPOSAL;
    if (views->pane != PANE_PROPOSAL)
        return;
    int row = views->panes[PANE_PROPOSAL].cursor;
    size_t count = views->side_by_side ? views->diff.sides.len : views->diff.unified.len;
    const struct diff_row *rows =
        views->side_by_side ? views->diff.sides.at : views->diff.unified.at;
    if (row >= 0 && (size_t)row < count && rows[row].old_line > 0)
        tui_list_go(&views->panes[PANE_KERNEL], rows[row].old_line - 1);
}

static void draw_pane(struct views *views, struct tui_area area, enum pane pane) {
    struct buf note = {0};
    const char *title = pane_title(views, pane, &note);
    struct tui_area inside = tui_frame_title(area, views->pane == pane, title, note.at);
    views->pane_spots[pane] = (struct tui_rect){area.row, area.col, area.rows, area.cols};
    panes[pane].draw(views, inside);
    buf_free(&note);
}

static void draw_grid(struct views *views, struct tui_area area) {
    static const struct tui_share upper_lower[] = {{6, 5}, {6, 4}}, halves[] = {{30, 1}, {30, 1}};
    struct tui_rect whole = {0, 0, area.rows, area.cols}, bands[2], spots[PANE_COUNT];
    tui_split_rows(whole, upper_lower, 2, 1, bands);
    tui_split_cols(bands[0], halves, 2, 1, spots);
    tui_split_cols(bands[1], halves, 2, 1, spots + 2);
    for (int i = 0; i < PANE_COUNT; i++)
        tui_frame_edges(tui_area_part(area, spots[i]), false);
    tui_frame_edges(tui_area_part(area, spots[views->pane]), true);
    for (int i = 0; i < PANE_COUNT; i++)
        draw_pane(views, tui_area_part(area, spots[i]), (enum pane)i);
}

static void draw_tabs(struct views *views, struct tui_area area) {
    const char *names[PANE_COUNT];
    struct tui_rect spots[PANE_COUNT];
    for (int i = 0; i < PANE_COUNT; i++)
        names[i] = panes[i].name;
    struct tui_area tabs = tui_area_part(area, (struct tui_rect){0, 1, 1, area.cols - 2});
    tui_tabs_draw(tabs, names, PANE_COUNT, (int)views->pane, spots);
    for (int i = 0; i < PANE_COUNT; i++)
        views->pane_spots[i] = spots[i];
    struct tui_area rest = tui_area_part(area, (struct tui_rect){1, 0, area.rows - 1, area.cols});
    tui_frame_edges(rest, true);
    draw_pane(views, rest, views->pane);
}

void workbench_draw(struct views *views, struct tui_area area) {
    static const struct tui_share lines[] = {{1, 0}, {1, 0}, {8, 1}, {1, 0}, {1, 0}, {1, 0}};
    struct tui_rect whole = {0, 0, area.rows, area.cols}, parts[6];
    tui_split_rows(whole, lines, 6, 0, parts);
    views->lane_spot = (struct tui_rect){0, 0, 0, 0};
    if (lanes_any(views)) {
        chrome_lanes(views, tui_area_part(area, (struct tui_rect){parts[2].row, 0, 1, area.cols}));
        parts[2].row++;
        parts[2].rows--;
    }
    chrome_header(views, tui_area_part(area, parts[0]));
    chrome_steps(views, tui_area_part(area, parts[1]));
    struct tui_area body = tui_area_part(area, parts[2]);
    for (int i = 0; i < PANE_COUNT; i++)
        views->pane_spots[i] = (struct tui_rect){0, 0, 0, 0};
    if (views->zoomed) {
        tui_frame_edges(body, true);
        draw_pane(views, body, views->pane);
    } else if (body.cols < 100 || body.rows < 20) {
        draw_tabs(views, body);
    } else {
        draw_grid(views, body);
    }
    chrome_plan(views, tui_area_part(area, parts[3]));
    chrome_status(views, tui_area_part(area, parts[4]));
    chrome_keys(views, tui_area_part(area, parts[5]));
}

/* What shows on a terminal below the least size: what matters most, in a few short lines. */
void notice_draw(struct views *views, struct tui_area area) {
    const struct tune_state *state = views->state;
    struct tui_rect inner = {0, 1, area.rows, area.cols - 2};
    struct tui_area box = tui_area_part(area, inner);
    int row = MAX_OF(0, area.rows / 2 - 3);
    tui_say(tui_ink(box, TUI_BRAND), row++, 0, "hone");
    tui_say(box, row++, 0, "needs %d x %d, this is %d x %d", VIEWS_MIN_COLS, VIEWS_MIN_ROWS,
            area.cols, area.rows);
    if (!state)
        return;
    const struct tune_attempt *best = tune_state_attempt(state, state->best);
    row++;
    tui_say(box, row++, 0, "%s", state->task ? state->task : "");
    tui_say(tui_ink(box, TUI_GOOD), row++, 0, "round %d/%d  best %s  %s", state->round,
            state->rounds, show_latency(best ? best->latency_us : NAN).text,
            show_speedup(best ? best->speedup : NAN).text);
    tui_put_short(tui_ink(box, TUI_WAITING), row, (struct tui_rect){0, 0, 1, box.cols},
                  str_of(state->wait_text ? state->wait_text : ""));
}
