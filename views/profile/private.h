/* SPDX-License-Identifier: Apache-2.0 */
/* Screen 5 and the timeline on it: what the two files share. */
#ifndef HONE_VIEWS_PROFILE_PRIVATE_H
#define HONE_VIEWS_PROFILE_PRIVATE_H

#include "views/inner.h"
#include "views/profile/profile.h"

/* What the lower part of the screen shows. */
enum profile_part {
    PROFILE_LINES,
    PROFILE_TIMELINE,
    PROFILE_ROOFLINE,
    PROFILE_ACCOUNT,
    PROFILE_QUERY,
    PROFILE_PARTS
};

#define TIMELINE_QUEUES 32

struct timeline_span {
    uint32_t instr;
    int line;          /* of the kernel; 0 when it came from none */
    char name[24];     /* the operation */
    double start, end; /* ns */
    uint32_t wait;     /* number + 1 in the timeline's waits; 0: not known */
    bool critical;     /* it is on the critical path */
    double idle;       /* ns for which its queue did nothing before it */
};
/* What was waited for: "operand", and where that comes from. */
struct timeline_wait {
    char wait[12], op[24], queue[16];
    int line;
};
struct timeline_queue {
    char name[16];
    VEC(struct timeline_span) spans; /* by start */
    VEC(struct tui_busy) busy;       /* the same, merged */
    size_t cursor;                   /* into spans */
};
/* The timeline of one attempt. While `text` is there it is still being read. */
struct timeline {
    char hash[40];
    char *text;
    size_t at, count;
    VEC(uint8_t) order; /* while it is read: the queue of each span, as they came */
    size_t reasons;     /* .. and of how many the reasons are read */
    bool reads_reasons;
    VEC(struct timeline_wait) waits;
    struct timeline_queue queues[TIMELINE_QUEUES];
    int n_queues, cols; /* cols: as drawn last */
    double end;         /* ns; of the axis */
    double own_end;     /* of what is shown on it */
    struct tui_busy window;
};

/* A question in SQL, and its answer. */
struct profile_query {
    struct buf sql, text; /* sql: empty: nothing was asked */
    VEC(struct str) rows; /* of the text, the head first */
    struct tui_list list;
    bool runs, failed;
    int attempt;
};

/* A row of the account of why the kernel takes its time: a line of it, or where one goes on. */
struct profile_account_row {
    struct str text;
    int indent;
    bool head;
    int line; /* of the kernel, that the whole line names first; 0: none */
};
struct profile_account {
    struct buf text; /* empty: nothing is known */
    VEC(struct profile_account_row) rows;
    int cols; /* that they are folded for */
    struct tui_list list;
};

struct profile {
    struct tui_list list; /* of lines, or of the queues of the timeline */
    enum profile_part part;
    struct source source; /* of the attempt that is drawn */
    int line, attempt;    /* under the cursor; line 0: none */
    int shown;            /* the attempt whose profile this is */
    struct profile_query query;
    struct profile_account account;
    struct timeline timeline;
    struct timeline other; /* of the attempt that it is compared with */
    VEC(int) hot;          /* lines of the source in the order of the list */
};
struct profile *profile_of(const struct views *views);

/* roofline.c. False: there is nothing to draw it from. The sum: "#4: floor 0.870 ms / 1.12 ms = 78
 * % roofline", nothing where that is not known; without its ends where `cols` columns (0: as many
 * as it takes) are too few. */
bool profile_roofline_draw(struct views *views, struct tui_area area,
                           const struct tune_attempt *attempt);
void profile_roof_print(const struct tune_state *state, const struct tune_attempt *attempt,
                        int cols, struct buf *out);

/* timeline.c. other: an attempt that is drawn below on the same axis; may be NULL. zoom: 0.5 shows
 * half as much; step: 1 or -1. */
void profile_timeline_draw(struct views *views, struct tui_area area,
                           const struct tune_attempt *attempt, const struct tune_attempt *other);
void profile_timeline_zoom(struct views *views, double factor);
void profile_timeline_step(struct views *views, int step);
/* To the next instruction on the critical path, or the one before; whichever queue it is on. */
void profile_timeline_path(struct views *views, int step);
void profile_timeline_free(struct timeline *timeline);
/* The queue that is busy longest. */
int profile_timeline_busiest(const struct timeline *timeline);
/* A text in quotation marks, cut to fit, and a number; false when something else comes. */
bool timeline_read_text(const char **at, char *out, size_t size);
bool timeline_read_number(const char **at, double *value);

/* query.c: commands, what is drawn, completion of the line. */
void profile_query_run(struct views *views, struct str args, struct views_request *request);
void profile_query_type(struct views *views, struct str args, struct views_request *request);
bool profile_query_can(const struct views *views);
void profile_query_draw(struct views *views, struct tui_area area);
bool profile_query_complete(struct views *views, struct str typed, struct buf *line);
struct str profile_query_line(const struct profile_query *query, int row);
void profile_query_forget(struct profile_query *query);

/* account.c */
void profile_account_draw(struct views *views, struct tui_area area,
                          const struct tune_attempt *attempt);
struct str profile_account_line(const struct profile_account *account, int row);
void profile_account_forget(struct profile_account *account);

/* causes.c: the list `waits`, from its first row; the reason of the next span; false: there is no
 * more. */
void timeline_read_waits(struct timeline *timeline, const char *from);
bool timeline_read_reason(struct timeline *timeline, const char **at);
void timeline_draw_cause(const struct timeline *timeline, struct tui_area area,
                         const struct timeline_span *span);
/* Moves the cursor from the one of *queue along the critical path; false: there is nothing. */
bool timeline_step_critical(struct timeline *timeline, int *queue, int step);

#endif
