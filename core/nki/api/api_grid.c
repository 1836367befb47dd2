/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors as grids of tiles, and of blocks of tiles: nl.tiles, nl.blocks, nl.alloc_tiles and
 * nl.alloc_blocks of NKI 0.7. A grid selects elements of a tensor; what it selects costs nothing
 * and is an operand as .data. Source: their pages of SDK 2.33. New tiles on chip follow each other
 * along the free dimension, row of tiles by row of tiles; the reference does not say in which
 * order. */
#include "nki/api/api.h"

struct api_grid {
    const struct tensor *tensor;
    int n;          /* dimensions of the source */
    int first;      /* the first that is tiled; those before it are taken one by one */
    bool blocks;    /* a coordinate is a block; else a tile */
    bool dense;     /* the tensor is [partitions of a tile, the free elements of all tiles] */
    int64_t across; /* dense: tiles side by side */
    int64_t start[TENSOR_MAX_DIMS], size[TENSOR_MAX_DIMS]; /* the elements selected */
    int64_t tile[TENSOR_MAX_DIMS], block[TENSOR_MAX_DIMS]; /* by dimension of the source */
    bool taken[TENSOR_MAX_DIMS];                           /* an integer took the coordinate */
};

bool api_grid_is_blocks(const struct api_grid *grid) {
    return grid->blocks;
}

/* How many elements a coordinate stands for. */
static int64_t step_of(const struct api_grid *g, int d) {
    if (d < g->first)
        return 1;
    return g->tile[d] * (g->blocks ? g->block[d] : 1);
}

static int64_t count_of(const struct api_grid *g, int d) {
    return (g->size[d] + step_of(g, d) - 1) / step_of(g, d);
}

static struct value give(struct interp *in, const struct api_grid *g) {
    return (struct value){.kind = VALUE_GRID, .grid = arena_dup(interp_arena(in), g, sizeof *g)};
}

/* Exact positive integers; *n of them. */
static bool want_sizes(struct interp *in, const struct nki_node *node, const char *what,
                       struct value v, int64_t *sizes, int *n) {
    if (v.kind != VALUE_TUPLE)
        return interp_error(in, node, "TypeError", "%s is a tuple of integers; found %s", what,
                            value_type_name(v));
    *n = (int)MIN_OF(v.seq->items.len, TENSOR_MAX_DIMS);
    for (int i = 0; i < *n; i++) {
        struct value item = v.seq->items.at[i];
        if (item.kind != VALUE_INT)
            return interp_error(in, node, "TypeError", "%s consists of integers; found %s", what,
                                value_type_name(item));
        if (item.i < 1)
            return interp_error(in, node, "ValueError",
                                "%s consists of positive numbers; found "
                                "%lld",
                                what, (long long)item.i);
        sizes[i] = item.i;
    }
    return true;
}

static bool put_tiles(struct interp *in, const struct nki_node *node, struct value v,
                      struct api_grid *g) {
    int64_t sizes[TENSOR_MAX_DIMS];
    int n;
    if (!want_sizes(in, node, "tile_shape", v, sizes, &n))
        return false;
    if (n < 2 || n > g->n)
        return interp_error(in, node, "ValueError",
                            "tile_shape has %d numbers: at least two are needed, and at most as "
                            "many as the %d dimensions of the tensor",
                            n, g->n);
    g->first = g->n - n;
    for (int i = 0; i < n; i++) {
        g->tile[g->first + i] = sizes[i];
        g->block[g->first + i] = 1;
    }
    return true;
}

static bool put_blocks(struct interp *in, const struct nki_node *node, struct value v,
                       struct api_grid *g) {
    int64_t sizes[TENSOR_MAX_DIMS];
    int n;
    if (!want_sizes(in, node, "block_shape", v, sizes, &n))
        return false;
    if (n != g->n - g->first)
        return interp_error(in, node, "ValueError",
                            "block_shape has %d numbers, tile_shape %d: both have as many", n,
                            g->n - g->first);
    memcpy(g->block + g->first, sizes, (size_t)n * sizeof *sizes);
    g->blocks = true;
    return true;
}

/* A grid over what the source selects, without tiles when it is a tensor. */
static bool read_source(struct interp *in, const struct nki_node *node, struct value v,
                        struct api_grid *g) {
    if (v.kind == VALUE_GRID) {
        *g = *v.grid;
        memset(g->taken + g->first, 0, sizeof g->taken - (size_t)g->first * sizeof g->taken[0]);
        g->blocks = false;
        return true;
    }
    *g = (struct api_grid){.first = -1};
    if (!api_want_tensor(in, node, "source", v, &g->tensor))
        return false;
    g->n = g->tensor->n_dims;
    for (int d = 0; d < g->n; d++) {
        g->size[d] = g->tensor->dim[d].size;
        g->tile[d] = g->block[d] = 1;
    }
    return true;
}

/* nl.tiles(source, *, tile_shape=None) */
static bool nl_tiles(struct interp *in, const struct call *call, struct value *result) {
    struct value v[2];
    struct api_grid g;
    if (!api_bind(in, call, "source, *, tile_shape=None", v) ||
        !read_source(in, call->node, v[0], &g))
        return false;
    if (v[1].kind == VALUE_NONE && g.first < 0)
        return interp_error(in, call->node, "TypeError", "nl.tiles of a tensor needs tile_shape");
    if (v[1].kind != VALUE_NONE && g.dense)
        return interp_error(in, call->node, "hone-argument",
                            "tiles of nl.alloc_tiles keep their shape in hone");
    if (v[1].kind != VALUE_NONE && !put_tiles(in, call->node, v[1], &g))
        return false;
    *result = give(in, &g);
    return true;
}

/* nl.blocks(source, *, tile_shape=None, block_shape) */
static bool nl_blocks(struct interp *in, const struct call *call, struct value *result) {
    struct value v[3];
    struct api_grid g;
    if (!api_bind(in, call, "source, *, tile_shape=None, block_shape", v) ||
        !read_source(in, call->node, v[0], &g))
        return false;
    if (v[1].kind == VALUE_NONE && g.first < 0)
        return interp_error(in, call->node, "TypeError", "nl.blocks of a tensor needs tile_shape");
    if ((v[1].kind != VALUE_NONE && !put_tiles(in, call->node, v[1], &g)) ||
        !put_blocks(in, call->node, v[2], &g))
        return false;
    *result = give(in, &g);
    return true;
}

/* ---- new tensors ---------------------------------------------------------------------------- */

/* On chip: a row of tiles behind the other along the free dimension. */
static struct value dense_shape(struct interp *in, struct api_grid *g) {
    int64_t down = (g->size[0] + g->tile[0] - 1) / g->tile[0];
    g->across = (g->size[1] + g->tile[1] - 1) / g->tile[1];
    g->dense = true;
    return value_tuple(in,
                       (struct value[]){value_int(MIN_OF(g->tile[0], g->size[0])),
                                        value_int(down * g->across * g->tile[1])},
                       2);
}

/* nl.alloc_tiles, and nl.alloc_blocks (data is set). */
static bool nl_alloc(struct interp *in, const struct call *call, struct value *result) {
    struct value v[7], made, shape;
    struct api_grid g = {0};
    struct api_buffer buffer;
    bool blocks = call->data != NULL;
    if (!api_bind(in, call,
                  blocks ? "*, tile_shape, block_shape, element_shape, buffer, dtype, "
                           "address=None, name=''"
                         : "*, tile_shape, element_shape, buffer, dtype, address=None, name=''",
                  v))
        return false;
    const struct value *rest = v + 1 + blocks; /* element_shape, buffer, dtype, address, name */
    if (!want_sizes(in, call->node, "element_shape", rest[0], g.size, &g.n) ||
        !put_tiles(in, call->node, v[0], &g) || (blocks && !put_blocks(in, call->node, v[1], &g)) ||
        !api_want_buffer(in, call->node, rest[1], &buffer))
        return false;
    if (rest[1].kind == VALUE_NONE)
        return interp_error(in, call->node, "TypeError",
                            "buffer is one of nl.sbuf, nl.psum, "
                            "nl.shared_hbm and nl.private_hbm");
    shape = rest[0];
    if (buffer.space != NKI_HBM) {
        if (g.n != 2)
            return interp_error(in, call->node, "hone-argument",
                                "hone lays tiles on chip out in two dimensions; element_shape has "
                                "%d",
                                g.n);
        shape = dense_shape(in, &g);
    }
    struct value args[5] = {shape, rest[2], rest[1], rest[4], rest[3]};
    struct call array = {.node = call->node, .args = args, .n_args = 5};
    if (!nl_ndarray(in, &array, &made))
        return false;
    g.tensor = made.tensor;
    *result = give(in, &g);
    return true;
}

/* ---- selections ----------------------------------------------------------------------------- */

static bool select_part(struct interp *in, const struct nki_node *node, struct api_grid *g, int d,
                        struct value part) {
    int64_t count = count_of(g, d), step = step_of(g, d), from = 0, to = count, by = 1;
    if (part.kind == VALUE_SLICE) {
        const struct value_slice *s = part.slice;
        if ((s->start.kind != VALUE_NONE && !api_want_int(in, node, "a bound", s->start, &from)) ||
            (s->stop.kind != VALUE_NONE && !api_want_int(in, node, "a bound", s->stop, &to)) ||
            (s->step.kind != VALUE_NONE && !api_want_int(in, node, "a step", s->step, &by)))
            return false;
        if (by != 1)
            return interp_error(in, node, "hone-argument", "a grid is sliced without steps");
        from += from < 0 ? count : 0;
        to = MIN_OF(to + (to < 0 ? count : 0), count);
    } else {
        if (part.kind != VALUE_INT)
            return interp_error(in, node, "TypeError",
                                "a grid is indexed with integers and slices; found %s",
                                value_type_name(part));
        from = part.i + (part.i < 0 ? count : 0);
        to = from + 1;
        g->taken[d] = true;
    }
    if (from < 0 || from >= to || to > count)
        return interp_error(in, node, "IndexError",
                            "coordinate %lld is outside of the %lld of dimension %d of the grid",
                            (long long)(from < 0 || from >= count ? from : to), (long long)count,
                            d);
    g->start[d] += from * step;
    g->size[d] = MIN_OF(g->size[d] - from * step, (to - from) * step);
    return true;
}

bool api_grid_getitem(struct interp *in, const struct nki_node *node, const struct api_grid *grid,
                      struct value key, struct value *result) {
    const struct value *parts = key.kind == VALUE_TUPLE ? key.seq->items.at : &key;
    size_t n = key.kind == VALUE_TUPLE ? key.seq->items.len : 1, k = 0;
    struct api_grid g = *grid;
    for (int d = 0; d < g.n && k < n; d++)
        if (!grid->taken[d] && !select_part(in, node, &g, d, parts[k++]))
            return false;
    if (k < n)
        return interp_error(in, node, "IndexError", "too many indices for a grid");
    *result = give(in, &g);
    return true;
}

static bool is_one_operand(const struct api_grid *g) {
    if (!g->dense)
        return true;
    bool one_row = g->start[0] % g->tile[0] == 0 && g->size[0] <= g->tile[0];
    return one_row && g->start[1] % g->tile[1] == 0;
}

static struct value slice_of(struct interp *in, int64_t start, int64_t size) {
    struct value_slice *slice = ARENA_NEW(interp_arena(in), struct value_slice);
    *slice = (struct value_slice){value_int(start), value_int(start + size), NONE_VALUE};
    return (struct value){.kind = VALUE_SLICE, .slice = slice};
}

static bool data_of(struct interp *in, const struct nki_node *node, const struct api_grid *g,
                    struct value *result) {
    struct value parts[TENSOR_MAX_DIMS];
    struct tensor *view;
    if (!is_one_operand(g))
        return interp_error(in, node, "ValueError",
                            "no single access pattern has these tiles, which lie in several rows "
                            "on chip: take a row of tiles at a time");
    for (int d = 0; d < g->n; d++)
        parts[d] = d < g->first && g->taken[d] ? value_int(g->start[d])
                                               : slice_of(in, g->start[d], g->size[d]);
    if (g->dense) {
        int64_t row = g->start[0] / g->tile[0];
        parts[0] = slice_of(in, 0, g->size[0]);
        parts[1] = slice_of(in, row * g->across * g->tile[1] + g->start[1], g->size[1]);
    }
    if (!tensor_getitem(in, node, g->tensor, value_tuple(in, parts, (size_t)g->n), &view))
        return false;
    *result = value_tensor(view);
    return true;
}

bool api_grid_attribute(struct interp *in, const struct nki_node *node, const struct api_grid *g,
                        struct str name, struct value *result) {
    struct value of[TENSOR_MAX_DIMS];
    size_t n = 0;
    if (str_is(name, "data"))
        return data_of(in, node, g, result);
    bool counts = str_is(name, "shape"), steps = str_is(name, "index_step_elements");
    bool elements = str_is(name, "element_shape"), tiles = str_is(name, "tile_shape");
    if (counts || steps || elements || tiles || (str_is(name, "block_shape") && g->blocks)) {
        for (int d = counts || steps || elements ? 0 : g->first; d < g->n; d++) {
            bool gone = (counts || steps || (elements && d < g->first)) && g->taken[d];
            if (!gone)
                of[n++] = value_int(counts     ? count_of(g, d)
                                    : steps    ? step_of(g, d)
                                    : elements ? g->size[d]
                                    : tiles    ? g->tile[d]
                                               : g->block[d]);
        }
        *result = value_tuple(in, of, n);
        return true;
    }
    if (str_is(name, "is_data_representable")) {
        *result = value_bool(is_one_operand(g));
        return true;
    }
    if (str_is(name, "is_remainder")) {
        bool rest = false;
        for (int d = g->first; d < g->n; d++)
            rest |= g->size[d] % step_of(g, d) != 0;
        *result = value_bool(rest);
        return true;
    }
    if (str_is(name, "dtype") || str_is(name, "buffer"))
        return tensor_attribute(in, node, value_tensor(g->tensor).tensor, name, result);
    return interp_error(in, node, "AttributeError", "a grid has no attribute '" STR_FMT "'",
                        STR_ARG(name));
}

const struct value_native api_grid_natives[] = {
    {"nl.tiles", nl_tiles, NULL},
    {"nl.blocks", nl_blocks, NULL},
    {"nl.alloc_tiles", nl_alloc, NULL},
    {"nl.alloc_blocks", nl_alloc, "blocks"},
    {NULL, NULL, NULL},
};
