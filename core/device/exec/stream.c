/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: elements of operands pass through an engine in pieces that fit the first cache, in fp32
 * or as integers. Operands in fp32 with unit steps are used in place; others are converted on the
 * way. The caller says what is computed. */
#include "device/exec/run.h"

/* ---- whole views ---------------------------------------------------------------------------- */

void view_to_floats(const struct view *view, float *to) {
    struct walk walk;
    convert_load_fn *load = convert_load(view->dtype);
    walk_start(&walk, &view, 1, false);
    do {
        load(walk.at[0], walk_step(&walk, 0), to, (size_t)walk_run(&walk));
        to += walk_run(&walk);
    } while (walk_next(&walk));
}

void view_from_floats(const struct view *view, const float *from) {
    struct walk walk;
    convert_store_fn *store = convert_store(view->dtype);
    walk_start(&walk, &view, 1, false);
    do {
        store(from, walk.at[0], walk_step(&walk, 0), (size_t)walk_run(&walk));
        from += walk_run(&walk);
    } while (walk_next(&walk));
}

void view_to_ints(const struct view *view, int64_t *to) {
    struct walk walk;
    walk_start(&walk, &view, 1, false);
    do {
        convert_load_ints(view->dtype, walk.at[0], walk_step(&walk, 0), to,
                          (size_t)walk_run(&walk));
        to += walk_run(&walk);
    } while (walk_next(&walk));
}

void view_from_ints(const struct view *view, const int64_t *from) {
    struct walk walk;
    walk_start(&walk, &view, 1, false);
    do {
        convert_store_ints(view->dtype, from, walk.at[0], walk_step(&walk, 0),
                           (size_t)walk_run(&walk));
        from += walk_run(&walk);
    } while (walk_next(&walk));
}

void view_to_bytes(const struct view *view, uint8_t *to) {
    struct walk walk;
    size_t size = dtype_bytes(view->dtype);
    walk_start(&walk, &view, 1, false);
    do {
        convert_copy(size, walk.at[0], walk_step(&walk, 0), to, (int64_t)size,
                     (size_t)walk_run(&walk));
        to += (size_t)walk_run(&walk) * size;
    } while (walk_next(&walk));
}

void view_from_bytes(const struct view *view, const uint8_t *from) {
    struct walk walk;
    size_t size = dtype_bytes(view->dtype);
    walk_start(&walk, &view, 1, false);
    do {
        convert_copy(size, from, (int64_t)size, walk.at[0], walk_step(&walk, 0),
                     (size_t)walk_run(&walk));
        from += (size_t)walk_run(&walk) * size;
    } while (walk_next(&walk));
}

/* ---- hazards -------------------------------------------------------------------------------- */

static bool same_pattern(const struct view *a, const struct view *b) {
    if (a->at != b->at || a->dtype != b->dtype || a->n_dims != b->n_dims)
        return false;
    for (int d = 0; d < a->n_dims; d++)
        if (a->count[d] != b->count[d] || (a->count[d] > 1 && a->step[d] != b->step[d]))
            return false;
    return true;
}

/* Whether writing dst piece by piece could change elements of src that are still to be read. */
static bool is_hazard(const struct view *dst, const struct view *src) {
    const uint8_t *dst_low, *dst_high, *src_low, *src_high;
    if (src->storage != dst->storage || src->storage == DEVICE_NEVER || same_pattern(dst, src))
        return false;
    view_range(dst, &dst_low, &dst_high);
    view_range(src, &src_low, &src_high);
    return dst_low < src_high && src_low < dst_high;
}

/* A copy of the view's elements, side by side, in the view's type. */
static struct view snapshot(struct exec *x, const struct view *view) {
    size_t size = dtype_bytes(view->dtype);
    struct view copy = *view;
    copy.at = arena_alloc(x->scratch, (size_t)view_count(view), size);
    copy.storage = DEVICE_NEVER;
    int64_t step = (int64_t)size;
    for (int d = view->n_dims - 1; d >= 0; d--) {
        copy.step[d] = step;
        step *= view->count[d];
    }
    view_to_bytes(view, copy.at);
    return copy;
}

/* The same elements with one plain row for each partition. */
static struct view flatten(struct exec *x, const struct view *view) {
    struct view copy = snapshot(x, view);
    int64_t size = (int64_t)dtype_bytes(view->dtype), free = view_free(view);
    copy.n_dims = 2;
    copy.count[0] = view->count[0];
    copy.count[1] = free;
    copy.step[0] = free * size;
    copy.step[1] = size;
    return copy;
}

/* ---- copies --------------------------------------------------------------------------------- */

static void copy_runs(struct exec *x, struct walk *walk, const struct view *dst,
                      const struct view *src) {
    size_t size = dtype_bytes(dst->dtype), run = (size_t)walk_run(walk);
    int64_t to = walk_step(walk, 0), from = walk_step(walk, 1);
    convert_load_fn *load = convert_load(src->dtype);
    convert_store_fn *store = convert_store(dst->dtype);
    do {
        if (dst->dtype == src->dtype) {
            convert_copy(size, walk->at[1], from, walk->at[0], to, run);
            continue;
        }
        for (size_t done = 0; done < run; done += STREAM_RUN) {
            size_t n = MIN_OF(run - done, (size_t)STREAM_RUN);
            load(walk->at[1] + from * (int64_t)done, from, x->runs[0], n);
            store(x->runs[0], walk->at[0] + to * (int64_t)done, to, n);
        }
    } while (walk_next(walk));
}

/* To or from int64, which floats do not hold. Like other conversions this one saturates. */
static void copy_wide(struct exec *x, const struct view *dst, const struct view *src) {
    size_t n = (size_t)view_count(src);
    int64_t *values = arena_alloc(x->scratch, n, sizeof *values);
    bool is_signed = dtype_kind(dst->dtype) == 'i';
    int bits = 8 * (int)dtype_bytes(dst->dtype) - is_signed;
    int64_t high = bits >= 63 ? INT64_MAX : (INT64_C(1) << bits) - 1;
    int64_t low = !is_signed ? 0 : -high - 1;
    view_to_ints(src, values);
    for (size_t i = 0; i < n; i++)
        values[i] = values[i] < low ? low : values[i] > high ? high : values[i];
    view_from_ints(dst, values);
}

bool view_copy(struct exec *x, const struct view *dst, const struct view *src) {
    struct walk walk;
    struct view copy;
    if (is_hazard(dst, src)) {
        copy = snapshot(x, src);
        src = &copy;
    }
    bool is_wide = dst->dtype == DTYPE_INT64 || src->dtype == DTYPE_INT64;
    if (is_wide && dst->dtype != src->dtype && dtype_is_int(dst->dtype) &&
        dtype_is_int(src->dtype)) {
        copy_wide(x, dst, src);
        return true;
    }
    if (walk_start(&walk, (const struct view *[]){dst, src}, 2, false)) {
        copy_runs(x, &walk, dst, src);
        return true;
    }
    size_t n = (size_t)view_count(src);
    if (dst->dtype == src->dtype) {
        uint8_t *bytes = arena_alloc(x->scratch, n, dtype_bytes(src->dtype));
        view_to_bytes(src, bytes);
        view_from_bytes(dst, bytes);
        return true;
    }
    float *floats = arena_alloc(x->scratch, n, sizeof *floats);
    view_to_floats(src, floats);
    view_from_floats(dst, floats);
    return true;
}

/* ---- streams in fp32 ------------------------------------------------------------------------ */

/* How the elements of a view get into a run of floats and out of it again. */
struct port {
    convert_load_fn *load;
    convert_store_fn *store;
    bool in_place;           /* fp32 with unit steps */
    const uint8_t *repeated; /* when the step is 0: the element that fills the run */
    size_t filled;
};

static bool is_in_place(const struct walk *walk, int v, const struct view *view) {
    if (view->dtype != DTYPE_FLOAT32)
        return false;
    uintptr_t low = (uintptr_t)walk->at[v];
    for (int d = 0; d < walk->n_dims - 1; d++)
        low |= (uintptr_t)walk->step[v][d];
    bool unit = walk_step(walk, v) == 4 || walk_run(walk) == 1;
    return unit && low % _Alignof(float) == 0;
}

static const float *fill_run(struct port *port, float *to, const uint8_t *at, int64_t step,
                             size_t n) {
    if (port->in_place)
        return (const float *)(const void *)at;
    if (step == 0) {
        if (port->repeated == at && port->filled >= n)
            return to;
        port->repeated = at;
        port->filled = n;
        port->load(at, 0, to, 1);
        float value = to[0];
        for (size_t i = 0; i < n; i++)
            to[i] = value;
        return to;
    }
    port->load(at, step, to, n);
    return to;
}

struct pass {
    const struct stream *stream;
    struct walk walk;
    struct port port[STREAM_SOURCES + 1]; /* the last is the destination's */
    int dst;                              /* number of the destination's view; -1: none */
};

static void pass_run(struct exec *x, struct pass *p) {
    const struct stream *stream = p->stream;
    size_t run = (size_t)walk_run(&p->walk);
    struct port *out = &p->port[STREAM_SOURCES];
    for (size_t done = 0; done < run; done += STREAM_RUN) {
        struct chunk chunk = {.n = MIN_OF(run - done, (size_t)STREAM_RUN),
                              .row = (size_t)p->walk.index[0]};
        for (int v = 0; v < stream->n_src; v++) {
            int64_t step = walk_step(&p->walk, v);
            chunk.src[v] = fill_run(&p->port[v], x->runs[v], p->walk.at[v] + step * (int64_t)done,
                                    step, chunk.n);
        }
        chunk.dst = x->runs[STREAM_SOURCES];
        if (p->dst < 0) {
            stream->run(stream->job, &chunk);
            continue;
        }
        int64_t step = walk_step(&p->walk, p->dst);
        uint8_t *to = p->walk.at[p->dst] + step * (int64_t)done;
        if (out->in_place)
            chunk.dst = (float *)(void *)to;
        stream->run(stream->job, &chunk);
        if (!out->in_place)
            out->store(chunk.dst, to, step, chunk.n);
    }
}

static bool start_pass(struct pass *p, const struct view *const *views, int n) {
    const struct stream *stream = p->stream;
    if (!walk_start(&p->walk, views, n, stream->rows))
        return false;
    for (int v = 0; v < stream->n_src; v++)
        p->port[v] = (struct port){.load = convert_load(views[v]->dtype),
                                   .in_place = is_in_place(&p->walk, v, views[v])};
    if (p->dst >= 0)
        p->port[STREAM_SOURCES] =
            (struct port){.store = convert_store(stream->dst->dtype),
                          .in_place = is_in_place(&p->walk, p->dst, views[p->dst])};
    return true;
}

bool stream_floats(struct exec *x, const struct stream *stream) {
    struct pass p = {.stream = stream, .dst = stream->dst ? stream->n_src : -1};
    struct view copies[STREAM_SOURCES + 1];
    const struct view *views[STREAM_SOURCES + 1] = {0};
    int n = stream->n_src + (stream->dst ? 1 : 0);
    for (int v = 0; v < stream->n_src; v++) {
        views[v] = stream->src[v];
        if (stream->dst && is_hazard(stream->dst, views[v])) {
            copies[v] = snapshot(x, views[v]);
            views[v] = &copies[v];
        }
    }
    if (stream->dst)
        views[n - 1] = stream->dst;
    bool flat = !start_pass(&p, views, n);
    if (flat) {
        for (int v = 0; v < n; v++) {
            copies[v] = flatten(x, views[v]);
            views[v] = &copies[v];
        }
        if (!start_pass(&p, views, n))
            return exec_fail(x, "the shapes of the operands do not fit together");
    }
    do
        pass_run(x, &p);
    while (walk_next(&p.walk));
    if (flat && stream->dst)
        view_from_bytes(stream->dst, copies[n - 1].at);
    return true;
}

/* ---- streams of integers -------------------------------------------------------------------- */

/* Integers are rare, so this is simple: whole operands are taken out, computed and put back. */
bool stream_ints(struct exec *x, const struct int_stream *stream) {
    const struct view *shape = stream->dst ? stream->dst : stream->src[0];
    size_t n = (size_t)view_count(shape), rows = stream->rows ? (size_t)shape->count[0] : 1;
    int64_t *values[3] = {0};
    for (int v = 0; v < stream->n_src; v++) {
        values[v] = arena_alloc(x->scratch, n, sizeof **values);
        view_to_ints(stream->src[v], values[v]);
    }
    values[2] = arena_alloc(x->scratch, n, sizeof **values);
    for (size_t row = 0; row < rows; row++) {
        size_t at = row * (n / rows);
        struct int_chunk chunk = {.dst = values[2] + at, .n = n / rows, .row = row};
        for (int v = 0; v < stream->n_src; v++)
            chunk.src[v] = values[v] + at;
        stream->run(stream->job, &chunk);
    }
    if (stream->dst)
        view_from_ints(stream->dst, values[2]);
    return true;
}
