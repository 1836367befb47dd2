/* SPDX-License-Identifier: Apache-2.0 */
/* Private to this folder: points of the search and how they are judged. */
#ifndef HONE_SCHEDULE_PRIVATE_H
#define HONE_SCHEDULE_PRIVATE_H

#include "schedule/schedule.h"

/* One schedule. */
struct point {
    struct write_setting *settings; /* arena; what differs from the choices' first values */
    size_t count;
    struct written *written;
    uint64_t text; /* its hash */
    size_t length;
    uint64_t shape;     /* hash of which choices there are */
    const char *key;    /* arena: whose value was changed to come here; or NULL */
    const char **tried; /* arena: keys that were tried with it, up to NULL; or NULL */
    double latency_us;  /* 0: not judged, or refused */
};
typedef VEC(struct point) point_vec;
/* A kernel that was timed: other settings may give the same text. */
struct seen {
    struct hash text;
    double latency_us;
};
/* The best point of those that have the same choices. */
struct rival {
    struct point point; /* without what was written */
    bool climbed;       /* all choices were tried from it */
};
struct search {
    const struct schedule_request *request;
    struct arena *arena;
    VEC(struct seen) seen;
    struct by_hash by_text;
    size_t judged, refused, budget;
    struct point best;
    VEC(struct rival) rivals;
    int rivals_climbed;
};

/* judge.c: writes and times the points, on as many threads as are asked for. What does not fit into
 * the budget any more keeps a latency of 0. Settings that decide nothing are taken out. */
void judge_points(struct search *search, point_vec *points);
void point_drop(struct point *point);
/* Order of worth: refused ones are last, ties go to the simpler kernel. */
int point_order(const void *a, const void *b);
const struct write_choice *point_choice(const struct point *point, const char *key);
/* The point with one more setting, which replaces another of that key; not judged. */
struct point point_with(struct search *search, const struct point *from, const char *key,
                        int64_t value);
bool search_is_cancelled(const struct search *search);

#endif
