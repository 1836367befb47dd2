/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of NkiTensor.indirect(). Element i of a row is where the index tile says, so the
 * instruction works on a copy in which the elements lie side by side. A copy that was written goes
 * back to these positions afterwards. */
#include "device/exec/run.h"

/* The positions of an operand, as the index tile has them: row after row. */
struct positions {
    const struct nki_indirect *indirect;
    int64_t *at, width, rows;
    int64_t group; /* partitions that share their positions */
};

static bool read_positions(struct exec *x, const struct nki_ap *ap, struct positions *positions) {
    struct view index;
    if (!exec_read_ap(x, ap->indirect->index, &index))
        return false;
    int64_t *at = arena_alloc(x->scratch, (size_t)view_count(&index), sizeof *at);
    view_to_ints(&index, at);
    *positions =
        (struct positions){.indirect = ap->indirect,
                           .at = at,
                           .width = view_free(&index),
                           .rows = index.count[0],
                           .group = nki_index_group((enum nki_engine)x->image->engine[x->i])};
    return true;
}

/* The address of element i of row p, in bytes from that of the operand. */
static bool place_of(struct exec *x, const struct positions *positions, const struct view *view,
                     int64_t p, int64_t i, int64_t *place) {
    int64_t row = p / positions->group * positions->group + i % positions->group;
    int64_t column = i / positions->group;
    if (row >= positions->rows || column >= positions->width)
        return exec_fail(x, "the index has no position for element %lld", (long long)i);
    int64_t at = positions->at[row * positions->width + column];
    if (at < 0 || at >= positions->indirect->limit)
        return exec_fail(x,
                         "index[%lld, %lld] is %lld, which is out of bounds: it must be below %lld",
                         (long long)row, (long long)column, (long long)at,
                         (long long)positions->indirect->limit);
    *place = p * view->step[0] + at * positions->indirect->step * (int64_t)dtype_bytes(view->dtype);
    return true;
}

/* Whether the cell of PSUM at an address was written. */
static bool is_written(const struct psum_cells *cells, const uint8_t *base, const uint8_t *at) {
    return cells->state == CELLS_ALL || (cells->state == CELLS_SOME && cells->map[(at - base) / 2]);
}

/* Notes that a copy goes back to its positions, and which of its cells were written. */
static void note_scatter(struct exec *x, const struct nki_ap *ap, const struct view *home,
                         const struct view *copy) {
    size_t n = (size_t)view_count(copy) * dtype_bytes(copy->dtype) / 2 + 1;
    x->scatter = (struct scatter){.ap = ap, .home = *home, .copy = *copy};
    x->scatter.written.state = CELLS_SOME;
    x->scatter.written.map = arena_alloc(x->scratch, n, 1);
    memset(x->scatter.written.map, 0, n);
}

static struct view copy_of(struct exec *x, const struct view *view) {
    struct view copy = *view;
    int64_t size = (int64_t)dtype_bytes(view->dtype);
    copy.at = arena_alloc(x->scratch, (size_t)view_count(view), (size_t)size);
    copy.step[0] = view->count[1] * size;
    copy.step[1] = size;
    copy.storage = DEVICE_NEVER;
    return copy;
}

bool exec_gather_columns(struct exec *x, const struct nki_ap *ap, bool writes, struct view *view) {
    struct positions positions;
    const uint8_t *base = NULL;
    size_t size = dtype_bytes(view->dtype);
    if (!read_positions(x, ap, &positions))
        return false;
    bool psum = writes && x->program->storages.at[view->storage]->space == NKI_PSUM;
    const struct psum_cells *cells = psum ? exec_cells(x, view, &base) : NULL;
    struct view copy = copy_of(x, view);
    if (writes)
        note_scatter(x, ap, view, &copy);
    for (int64_t p = 0; p < view->count[0]; p++)
        for (int64_t i = 0; i < view->count[1]; i++) {
            int64_t place, to = p * copy.step[0] + i * copy.step[1];
            if (!place_of(x, &positions, view, p, i, &place))
                return false;
            memcpy(copy.at + to, view->at + place, size);
            if (cells)
                x->scatter.written.map[to / 2] = is_written(cells, base, view->at + place);
        }
    *view = copy;
    return true;
}

bool exec_scatter_columns(struct exec *x) {
    struct positions positions;
    const struct view *home = &x->scatter.home, *copy = &x->scatter.copy;
    if (!read_positions(x, x->scatter.ap, &positions))
        return false;
    struct view one = {
        .dtype = home->dtype, .n_dims = 1, .count = {1}, .step = {0}, .storage = home->storage};
    for (int64_t p = 0; p < home->count[0]; p++)
        for (int64_t i = 0; i < home->count[1]; i++) {
            int64_t place;
            if (!place_of(x, &positions, home, p, i, &place))
                return false;
            one.at = home->at + place;
            memcpy(one.at, copy->at + p * copy->step[0] + i * copy->step[1],
                   dtype_bytes(one.dtype));
            exec_mark_cells(x, &one);
        }
    return true;
}
