/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of an input as parts of it: an address is divided into the digits of a shape, and each
 * variable becomes an axis. */
#include "lift/private.h"

/* Digits of a form in a shape: low + sum(by[v] * vars[v]). */
struct spread {
    int dims;
    int64_t size[NODE_DIMS], low[NODE_DIMS], by[NODE_DIMS][NODE_DIMS];
};

static bool spread(const struct form *form, const struct ranges *ranges, const int *vars, int count,
                   struct spread *s) {
    int64_t step[NODE_DIMS + 1], rest = form->at;
    step[s->dims] = 1;
    for (int d = s->dims - 1; d >= 0; d--)
        step[d] = step[d + 1] * s->size[d];
    for (int d = 0; d < s->dims; d++) {
        s->low[d] = rest / step[d + 1];
        rest %= step[d + 1];
    }
    for (int i = 0; i < count; i++) {
        int64_t by = form_step(form, vars[i]);
        if (by < 0 || form->at < 0)
            return false;
        for (int d = 0; d < s->dims; d++) {
            s->by[d][i] = by / step[d + 1];
            by %= step[d + 1];
        }
    }
    for (int d = 0; d < s->dims; d++) {
        int64_t last = s->low[d];
        for (int i = 0; i < count; i++)
            last += s->by[d][i] * (ranges->n[vars[i]] - 1);
        if (last >= s->size[d])
            return false;
    }
    for (int i = 0; i < count; i++) {
        int digits = 0;
        for (int d = 0; d < s->dims; d++)
            digits += s->by[d][i] != 0;
        if (digits != 1)
            return false;
    }
    return true;
}

/* The shape whose steps are those of the form. */
static bool own_shape(const struct form *form, int64_t size, struct spread *s) {
    int64_t steps[FORM_TERMS + 1];
    int n = 0;
    for (int i = 0; i < form->count; i++)
        steps[n++] = form->term[i].step;
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && steps[k] > steps[k - 1]; k--) {
            int64_t other = steps[k];
            steps[k] = steps[k - 1];
            steps[k - 1] = other;
        }
    s->dims = 0;
    int64_t above = size;
    for (int i = 0; i <= n; i++) {
        int64_t step = i < n ? steps[i] : 1;
        if (step <= 0 || above % step)
            return false;
        if (above == step)
            continue;
        if (s->dims == NODE_DIMS)
            return false;
        s->size[s->dims++] = above / step;
        above = step;
    }
    return true;
}

/* An array whose axes are asked for one after the other. */
struct axes {
    int node, count;
    int var[NODE_DIMS]; /* number in vars; -1: of one element */
};

/* Divides the digit's axis `at` among the variables on it. False where they are no loops within
 * loops. */
static bool take_digit(struct lifted *lifted, struct axes *axes, int at, const struct spread *s,
                       int digit, const int64_t *n, int count) {
    int on[NODE_DIMS], vars = 0;
    for (int i = 0; i < count; i++)
        if (s->by[digit][i]) {
            int k = vars++;
            for (; k > 0 && s->by[digit][on[k - 1]] < s->by[digit][i]; k--)
                on[k] = on[k - 1];
            on[k] = i;
        }
    struct node part = lifted->nodes.at[axes->node];
    int64_t last = vars ? s->by[digit][on[vars - 1]] : 1, all = 1;
    for (int d = 0; d < part.ndim; d++)
        part.first[d] = 0, part.step[d] = 1;
    if (vars)
        all = s->by[digit][on[0]] / last * n[on[0]];
    for (int k = 0; k + 1 < vars; k++) {
        int64_t by = s->by[digit][on[k]], next = s->by[digit][on[k + 1]];
        if (by % next || by < next * n[on[k + 1]])
            return false;
    }
    if (s->low[digit] + (all - 1) * last >= s->size[digit] || axes->count + vars > NODE_DIMS + 1)
        return false;
    part.first[at] = s->low[digit];
    part.step[at] = last;
    part.shape[at] = all;
    axes->node = node_slice(lifted, axes->node, &part);
    axes->var[at] = vars ? on[0] : -1;
    for (int k = 0; k + 1 < vars; k++) {
        /* [.., a * b, ..] becomes [.., a, b, ..], of which the first c of b count. */
        struct node now = lifted->nodes.at[axes->node];
        int place = at + k;
        int64_t inner = now.shape[place] / n[on[k]];
        int64_t shape[NODE_DIMS];
        if (now.ndim == NODE_DIMS || now.shape[place] % n[on[k]])
            return false;
        memcpy(shape, now.shape, sizeof shape);
        memmove(&shape[place + 2], &now.shape[place + 1],
                (size_t)(now.ndim - place - 1) * sizeof *shape);
        shape[place] = n[on[k]];
        shape[place + 1] = inner;
        axes->node = node_reshape(lifted, axes->node, shape, now.ndim + 1);
        memmove(&axes->var[place + 2], &axes->var[place + 1],
                (size_t)(axes->count - place - 1) * sizeof *axes->var);
        axes->var[place] = on[k];
        axes->var[place + 1] = on[k + 1];
        axes->count++;
        struct node cut = lifted->nodes.at[axes->node];
        for (int d = 0; d < cut.ndim; d++)
            cut.first[d] = 0, cut.step[d] = 1;
        cut.shape[place + 1] = s->by[digit][on[k + 1]] / last * n[on[k + 1]];
        axes->node = node_slice(lifted, axes->node, &cut);
    }
    return true;
}

/* Two variables whose sum is the place: windows. */
static bool take_windows(struct lifted *lifted, struct axes *axes, int at, const struct spread *s,
                         int digit, const int64_t *n, int count) {
    int on[2], vars = 0;
    for (int i = 0; i < count; i++)
        if (s->by[digit][i]) {
            if (vars == 2)
                return false;
            on[vars++] = i;
        }
    if (vars < 2)
        return false;
    if (s->by[digit][on[0]] < s->by[digit][on[1]] ||
        (s->by[digit][on[0]] == s->by[digit][on[1]] && n[on[0]] < n[on[1]])) {
        int other = on[0];
        on[0] = on[1];
        on[1] = other;
    }
    int64_t by = s->by[digit][on[0]], places = (n[on[0]] - 1) * by + 1;
    struct node part = lifted->nodes.at[axes->node];
    if (s->by[digit][on[1]] != 1 || part.ndim == NODE_DIMS)
        return false;
    for (int d = 0; d < part.ndim; d++)
        part.first[d] = 0, part.step[d] = 1;
    part.first[at] = s->low[digit];
    part.shape[at] = places + n[on[1]] - 1;
    axes->node = node_slice(lifted, axes->node, &part);
    struct node windows = lifted->nodes.at[axes->node];
    windows = (struct node){.kind = NODE_WINDOWS,
                            .op = "windows",
                            .dtype = windows.dtype,
                            .ndim = part.ndim + 1,
                            .in = {axes->node},
                            .in_count = 1,
                            .axes = {at},
                            .axis_count = 1,
                            .loc = windows.loc};
    memcpy(windows.shape, part.shape, sizeof windows.shape);
    windows.shape[at] = places;
    windows.shape[part.ndim] = n[on[1]];
    axes->node = node_add(lifted, windows);
    for (int d = 0; d < windows.ndim; d++)
        windows.first[d] = 0, windows.step[d] = 1;
    windows.step[at] = by;
    windows.shape[at] = n[on[0]];
    axes->node = node_slice(lifted, axes->node, &windows);
    axes->var[at] = on[0];
    axes->var[axes->count++] = on[1];
    return true;
}

/* Takes out axes of one element, and brings the others into the order of the variables. */
static int in_order(struct lifted *lifted, const struct axes *axes, int count) {
    const struct node *node = &lifted->nodes.at[axes->node];
    int64_t shape[NODE_DIMS];
    int var[NODE_DIMS], order[NODE_DIMS] = {0}, n = 0;
    for (int d = 0; d < axes->count; d++)
        if (axes->var[d] >= 0) {
            shape[n] = node->shape[d];
            var[n++] = axes->var[d];
        }
    if (n != count)
        return -1;
    for (int d = 0; d < n; d++)
        order[var[d]] = d;
    return node_transpose(lifted, node_reshape(lifted, axes->node, shape, n), order);
}

static int take_all(struct lifted *lifted, int source, const struct spread *s, const int64_t *n,
                    int count) {
    struct axes axes = {.node = node_reshape(lifted, source, s->size, s->dims), .count = s->dims};
    for (int d = s->dims - 1; d >= 0; d--) {
        struct axes before = axes;
        if (take_digit(lifted, &axes, d, s, d, n, count))
            continue;
        axes = before;
        if (!take_windows(lifted, &axes, d, s, d, n, count))
            return -1;
    }
    return in_order(lifted, &axes, count);
}

/* Turns round the variables with which places go down. Returns which. */
static uint64_t turn(struct form *form, const struct ranges *ranges) {
    uint64_t turned = 0;
    struct form up = form_number(form->at);
    for (int i = 0; i < form->count; i++) {
        struct form_term term = form->term[i];
        if (term.step < 0) {
            turned |= (uint64_t)1 << term.var;
            up.at += term.step * (ranges->n[term.var] - 1);
            term.step = -term.step;
        }
        up.term[up.count++] = term;
    }
    *form = up;
    return turned;
}

/* The array with the axes of variables that were turned the other way round. */
static int turn_axes(struct lifted *lifted, int made, const int *vars, int count, uint64_t turned) {
    if (made < 0 || !turned)
        return made;
    struct node part = lifted->nodes.at[made];
    for (int d = 0; d < count; d++) {
        bool down = turned >> (vars ? vars[d] : d) & 1;
        part.first[d] = down ? part.shape[d] - 1 : 0;
        part.step[d] = down ? -1 : 1;
    }
    return node_slice(lifted, made, &part);
}

int emit_along(struct lifted *lifted, int node, const struct form *place,
               const struct ranges *ranges, int count, uint64_t own) {
    struct form up = *place, *form = &up;
    uint64_t turned = turn(form, ranges);
    const struct node *whole = &lifted->nodes.at[node];
    struct spread s = {.dims = count + 1};
    memcpy(s.size, whole->shape, sizeof s.size);
    s.low[count] = form->at;
    for (int i = 0; i < count; i++) {
        int64_t by = form_step(form, i);
        if (by && own >> i & 1)
            return -1;
        s.by[count][i] = by;
        s.by[i][i] = own >> i & 1;
    }
    return turn_axes(lifted, take_all(lifted, node, &s, ranges->n, count), NULL, count, turned);
}

int emit_source(struct lifted *lifted, uint32_t id) {
    const struct nki_storage *storage = lifted->l.program->storages.at[id];
    struct node node = {.kind = storage->constant ? NODE_DATA : NODE_INPUT,
                        .op = storage->constant ? "constant" : "input",
                        .dtype = storage->dtype,
                        .ndim = storage->n_dims,
                        .storage = id,
                        .loc = storage->loc};
    if (storage->n_dims > NODE_DIMS)
        return -1;
    memcpy(node.shape, storage->shape, (size_t)storage->n_dims * sizeof *node.shape);
    return node_add(lifted, node);
}

int emit_leaf(struct lifted *lifted, const struct value *leaf, const struct ranges *ranges,
              const int *vars, int count) {
    struct form up = *form_of(&lifted->l, leaf->form), *form = &up;
    uint64_t turned = turn(form, ranges);
    int source = emit_source(lifted, leaf->place), made = -1;
    int64_t n[NODE_DIMS] = {0};
    if (source < 0 || count > NODE_DIMS)
        return emit_fail(lifted, "it has more than 8 dimensions", leaf->loc);
    for (int i = 0; i < count; i++)
        n[i] = ranges->n[vars[i]];
    const struct node *whole = &lifted->nodes.at[source];
    struct spread s = {.dims = whole->ndim};
    memcpy(s.size, whole->shape, sizeof s.size);
    int64_t size = node_size(whole);
    if (spread(form, ranges, vars, count, &s))
        made = take_all(lifted, source, &s, n, count);
    if (made >= 0)
        return turn_axes(lifted, made, vars, count, turned);
    memset(&s, 0, sizeof s);
    if (own_shape(form, size, &s) && spread(form, ranges, vars, count, &s))
        made = take_all(lifted, source, &s, n, count);
    return made >= 0
               ? turn_axes(lifted, made, vars, count, turned)
               : emit_fail(lifted, "its elements lie in no part of the input's array", leaf->loc);
}
