/* SPDX-License-Identifier: Apache-2.0 */
/* Private to this folder: points of the search and how they are judged. */
#ifndef HONE_SCHEDULE_PRIVATE_H
#define HONE_SCHEDULE_PRIVATE_H

#include "schedule/schedule.h"

#define BEAM 3 /* schedules that are kept side by side */

/* One schedule. */
struct point {
    struct write_setting *settings; /* arena; what differs from the choices' first values */
    size_t count;
    struct written *written;
    uint64_t text; /* its hash */
    size_t length;
    double latency_us; /* 0: not judged, or refused */
};
typedef VEC(struct point) point_vec;
/* A kernel that was timed: other settings may give the same text. */
struct seen {
    struct hash text;
    double latency_us;
};
struct search {
    const struct schedule_request *request;
    struct arena *arena;
    VEC(struct seen) seen;
    struct by_hash by_text;
    size_t judged, refused, budget;
    point_vec beam; /* best first */
};

/* judge.c: writes and times the points, on as many threads as are asked for. What does not fit into
 * the budget any more keeps a latency of 0. Settings that decide nothing are taken out. */
void judge_points(struct search *search, point_vec *points);
void point_drop(struct point *point);
const struct write_choice *point_choice(const struct point *point, const char *key);
/* The point with one more setting, which replaces another of that key; not judged. */
struct point point_with(struct search *search, const struct point *from, const char *key,
                        int64_t value);
bool search_is_cancelled(const struct search *search);

#endif
