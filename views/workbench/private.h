/* SPDX-License-Identifier: Apache-2.0 */
/* Screen 1 is several files: what they share. */
#ifndef HONE_VIEWS_WORKBENCH_PRIVATE_H
#define HONE_VIEWS_WORKBENCH_PRIVATE_H

#include "views/inner.h"
#include "views/profile/profile.h"

enum pane { PANE_KERNEL, PANE_PROPOSAL, PANE_DEVICE, PANE_PROFILE, PANE_COUNT };

/* Questions to models that run: which one is looked at, and the text of one for a person. */
struct calls {
    int here; /* that a person went to; -1: none */
    int read; /* the one whose text is in `asked`; -1: none */
    struct source asked;
    struct buf text;
};

struct workbench {
    enum pane pane;
    bool zoomed, hunks;
    int hunk, step;            /* step: the one looked at, -1: none */
    int stop;                  /* the gate at which the loop stood when last drawn, -1: none */
    bool stopped;              /* the loop stood then, at a gate or not */
    bool first;                /* the first kernel was being evaluated then */
    enum tune_step hunks_step; /* the loop's step when the person began to go through hunks */
    struct tui_list panes[PANE_COUNT];
    struct tui_rect pane_spots[PANE_COUNT], step_spots[TUNE_STEPS];
    struct tui_rect lane_spot; /* a column for each lane from lane_first on */
    int lane_first;
    struct source kernel;
    bool kernel_moved;    /* a person went to a line of the kernel pane */
    const char *proposed; /* the candidate that was drawn last; it is only compared */
    struct diff diff;
    struct buf costs;  /* what carrying out the plan will cost */
    int64_t costs_seq; /* when and for which lane that was worked out */
    int costs_lane;
    struct calls calls;
};
struct workbench *workbench_of(const struct views *views);

/* A pane: its rows, and what stands beside its title. */
void pane_kernel_draw(struct views *views, struct tui_area area);
void pane_kernel_note(const struct views *views, struct buf *note);
void pane_proposal_draw(struct views *views, struct tui_area area);
void pane_proposal_note(const struct views *views, struct buf *note);
void pane_device_draw(struct views *views, struct tui_area area);
void pane_device_note(const struct views *views, struct buf *note);
/* Whether its log ends with findings of which one names a line. */
bool pane_device_has_cause(struct views *views);

/* kernel.c: what was found at a line of the attempt; false: nothing. */
bool kernel_explain(const struct views *views, const struct tune_attempt *attempt, int line,
                    struct buf *out);

/* steps.c: the lines around the panes */
void workbench_steps(struct views *views, struct tui_area area);
void workbench_lanes(struct views *views, struct tui_area area);
void workbench_plan(struct views *views, struct tui_area area);
bool workbench_lane_click(struct views *views, int row, int col); /* false: none is there */

/* calls.c: in place of a proposal while models are asked. False: none runs. */
bool calls_draw(struct views *views, struct tui_area area);
/* The line of what is drawn; false where that is no question. */
bool calls_line(const struct views *views, int row, struct str *line);
bool calls_many(const struct views *views);
void calls_next(struct views *views, struct str args, struct views_request *request);
void calls_previous(struct views *views, struct str args, struct views_request *request);
void calls_forget(struct calls *calls);

/* decide.c: what is decided about a proposal */
bool decide_has_hunks(const struct views *views);
bool decide_in_hunks(const struct views *views);
bool decide_has_plans(const struct views *views);
bool decide_is_measured(const struct views *views);
void decide_take(struct views *views, struct str args, struct views_request *request);
void decide_hunks(struct views *views, struct str args, struct views_request *request);
void decide_plans(struct views *views, struct str args, struct views_request *request);
void decide_write(struct views *views, struct str args, struct views_request *request);
void decide_overrule(struct views *views, struct str args, struct views_request *request);

#endif
