/* SPDX-License-Identifier: Apache-2.0 */
/* Walks several operands of different shapes in step, in runs as long as their layouts allow. It
 * knows addresses and steps only, but neither types nor storages. */
#include "device/exec/run.h"

int64_t view_count(const struct view *view) {
    int64_t count = 1;
    for (int d = 0; d < view->n_dims; d++)
        count *= view->count[d];
    return count;
}

int64_t view_free(const struct view *view) {
    return view_count(view) / view->count[0];
}

bool view_is_dense(const struct view *view) {
    int64_t expected = (int64_t)dtype_bytes(view->dtype);
    for (int d = view->n_dims - 1; d >= 0; d--) {
        if (view->count[d] != 1 && view->step[d] != expected)
            return false;
        expected *= view->count[d];
    }
    return true;
}

void view_range(const struct view *view, const uint8_t **low, const uint8_t **high) {
    *low = view->at;
    *high = view->at + dtype_bytes(view->dtype);
    for (int d = 0; d < view->n_dims; d++) {
        int64_t reach = view->step[d] * (view->count[d] - 1);
        *(reach < 0 ? low : high) += reach;
    }
}

/* How far one view is used up: what is left of dimension d, and its step. */
struct rest {
    int d;
    int64_t count, step;
};

static void next_dim(struct rest *rest, const struct view *view, int first) {
    while (rest->d >= first && rest->count == 1) {
        rest->d--;
        if (rest->d >= first) {
            rest->count = view->count[rest->d];
            rest->step = view->step[rest->d];
        }
    }
}

/* Adds a dimension outside the present ones, or merges it with the last where every view allows. */
static bool add_dim(struct walk *walk, int64_t count, const int64_t *step, bool merge) {
    int n = walk->n_dims;
    bool follows = merge && n > 0;
    for (int v = 0; follows && v < walk->n_views; v++)
        follows = step[v] == walk->step[v][n - 1] * walk->count[n - 1];
    if (follows) {
        walk->count[n - 1] *= count;
        return true;
    }
    if (n == WALK_DIMS)
        return false;
    walk->count[n] = count;
    for (int v = 0; v < walk->n_views; v++)
        walk->step[v][n] = step[v];
    walk->n_dims++;
    return true;
}

/* Takes dimensions from the innermost outwards, down to dimension `first` of each view. */
static bool refine(struct walk *walk, const struct view *const *views, int first) {
    struct rest rest[WALK_VIEWS];
    for (int v = 0; v < walk->n_views; v++)
        rest[v] = (struct rest){views[v]->n_dims, 1, 0};
    for (;;) {
        int64_t least = INT64_MAX, step[WALK_VIEWS];
        int done = 0;
        for (int v = 0; v < walk->n_views; v++) {
            next_dim(&rest[v], views[v], first);
            done += rest[v].d < first;
            if (rest[v].d >= first && rest[v].count < least)
                least = rest[v].count;
        }
        if (done)
            return done == walk->n_views;
        for (int v = 0; v < walk->n_views; v++) {
            if (rest[v].count % least)
                return false;
            step[v] = rest[v].step;
            rest[v].count /= least;
            rest[v].step *= least;
        }
        if (!add_dim(walk, least, step, true))
            return false;
    }
}

static void reverse_dims(struct walk *walk) {
    for (int a = 0, b = walk->n_dims - 1; a < b; a++, b--) {
        int64_t count = walk->count[a];
        walk->count[a] = walk->count[b];
        walk->count[b] = count;
        for (int v = 0; v < walk->n_views; v++) {
            int64_t step = walk->step[v][a];
            walk->step[v][a] = walk->step[v][b];
            walk->step[v][b] = step;
        }
    }
}

bool walk_start(struct walk *walk, const struct view *const *views, int n, bool rows) {
    int64_t step[WALK_VIEWS] = {0};
    walk->n_views = n;
    walk->n_dims = 0;
    for (int v = 0; v < n; v++)
        walk->at[v] = views[v]->at;
    if (!refine(walk, views, rows ? 1 : 0))
        return false;
    if (walk->n_dims == 0) {
        for (int v = 0; v < n; v++)
            step[v] = (int64_t)dtype_bytes(views[v]->dtype);
        add_dim(walk, 1, step, false);
    }
    if (rows) {
        for (int v = 0; v < n; v++)
            step[v] = views[v]->step[0];
        if (!add_dim(walk, views[0]->count[0], step, false))
            return false;
    }
    reverse_dims(walk);
    memset(walk->index, 0, sizeof walk->index);
    return true;
}

bool walk_next(struct walk *walk) {
    for (int d = walk->n_dims - 2; d >= 0; d--) {
        for (int v = 0; v < walk->n_views; v++)
            walk->at[v] += walk->step[v][d];
        if (++walk->index[d] < walk->count[d])
            return true;
        for (int v = 0; v < walk->n_views; v++)
            walk->at[v] -= walk->step[v][d] * walk->count[d];
        walk->index[d] = 0;
    }
    return false;
}
