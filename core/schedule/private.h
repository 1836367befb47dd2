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
    char why[160];      /* the first error where it was refused */
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
    size_t text;   /* bytes of the kernels that were judged */
    char why[160]; /* the first one was refused; "": none was */
    struct point best;
    VEC(struct rival) rivals;
    int rivals_climbed;
};

typedef VEC(const char *) key_vec;

#define SEARCH_SAME 5e-4 /* of the latency: less is no gain, and the simpler kernel is taken */

/* search.c: better by more than nothing; before_us 0: than one that is refused. */
bool search_is_better(double us, double before_us);
/* Whether more may be judged. */
bool search_goes_on(const struct search *search);
/* Whether a choice is a person's, and stays as it is. */
bool search_is_persons(const struct search *search, const char *key);
/* Appends a point for each other value of a choice; they are not judged. */
void search_add_values(struct search *search, const struct point *from, const char *key,
                       point_vec *fresh);
void points_drop(point_vec *points);

/* answer.c: what the search found; it takes over the arena. */
struct schedule *search_answer(struct search *search, double start_us);

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
