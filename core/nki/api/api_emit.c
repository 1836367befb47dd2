/* SPDX-License-Identifier: Apache-2.0 */
/* Building instructions: operands by name, masks, the order of dimensions, and the instructions
 * that moving data needs (copies, broadcasts over partitions, constants). Other files decide what
 * nl.* functions become. The device knows the limits of the hardware. */
#include "nki/api/api.h"

#include <ctype.h>

#define MATMUL_COLUMNS 512 /* of one moving operand: an fp32 bank of PSUM */

/* What every emission needs of a row of the table. */
struct api_row {
    int n;
    bool streams;                                  /* works element by element */
    int oob_mode;                                  /* -1: there is no such parameter */
    struct nki_operand standard[API_MAX_OPERANDS]; /* for parameters that are not given */
};

struct api *api_of(struct interp *in) {
    struct api **slot = interp_api(in);
    if (!*slot)
        *slot = ARENA_NEW(interp_arena(in), struct api);
    return *slot;
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* "=None", "=False", "=1.0" */
static struct nki_operand standard_of(struct str text) {
    long long number;
    double real;
    if (str_is(text, "=True") || str_is(text, "=False"))
        return operand_bool(str_is(text, "=True"));
    struct str value = text.len ? (struct str){text.at + 1, text.len - 1} : text;
    if (str_to_int(value, &number))
        return operand_int(number);
    if (str_to_double(value, &real))
        return operand_float(real);
    return (struct nki_operand){0};
}

static const struct api_row *row_of(struct interp *in, enum nki_op op) {
    struct api *api = api_of(in);
    if (api->rows[op])
        return api->rows[op];
    const struct nki_op_row *table = nki_op_row(op);
    struct api_row *row = ARENA_NEW(interp_arena(in), struct api_row);
    row->n = table->n_params;
    row->streams = nki_op_streams(op);
    row->oob_mode = nki_operand_index(op, STR("oob_mode"));
    for (size_t k = 0; k < table->n_params; k++)
        row->standard[k] = standard_of(str_of(table->params[k].standard));
    api->rows[op] = row;
    return row;
}

void api_start(struct api_build *b, struct interp *in, const struct nki_node *node,
               enum nki_op op) {
    const struct api_row *row = row_of(in, op);
    *b = (struct api_build){.in = in, .node = node, .op = op};
    memcpy(b->operand, row->standard, (size_t)row->n * sizeof b->operand[0]);
}

void api_put_tensor(struct api_build *b, size_t k, const struct tensor *tensor) {
    b->tensor[k] = tensor;
    b->operand[k] = (struct nki_operand){.kind = NKI_OPERAND_AP};
}

void api_put(struct api_build *b, size_t k, struct nki_operand operand) {
    b->operand[k] = operand;
}

/* ---- emission ------------------------------------------------------------------------------- */

static bool check_counts(struct api_build *b, const struct tensor *const *views) {
    const struct nki_op_row *row = nki_op_row(b->op);
    if (!views[NKI_DST])
        return true;
    int64_t wanted = tensor_count(views[NKI_DST]);
    for (size_t k = 0; k < row->n_params; k++) {
        if (!views[k] || row->params[k].role != NKI_ROLE_STREAMS ||
            (views[k]->indirect && !views[k]->indirect->columns))
            continue;
        bool parts = views[k]->space == NKI_HBM || views[NKI_DST]->space == NKI_HBM ||
                     tensor_partitions(views[k]) == tensor_partitions(views[NKI_DST]);
        if (tensor_count(views[k]) != wanted)
            return interp_error(b->in, b->node, parts ? "hone-shape" : "err_num_partition_mismatch",
                                "nisa.%s: %s has shape %s (%lld "
                                "elements), dst has shape %s (%lld elements): they must be equal",
                                row->name, row->params[k].name, tensor_shape_text(b->in, views[k]),
                                (long long)tensor_count(views[k]),
                                tensor_shape_text(b->in, views[NKI_DST]), (long long)wanted);
    }
    return true;
}

/* The documentation (nki.errors) has it as an error of all branches. Kernels with branches that
 * know their way were published as running, so those by the index of a loop are warned about. */
static void tell_branch(struct api_build *b, const struct tensor *tile) {
    const char *name = tensor_storage(b->in, tile)->name;
    if (!interp_branch_is_open(b->in, tile->branch))
        interp_warn(b->in, b->node, "hone-branch-tile",
                    "the tile %s%swas made in a branch that has ended and that depends on a loop's "
                    "index; NKI's documentation refuses that: make it before the branch, and write "
                    "to it there",
                    name, name[0] ? " " : "of this operand ");
}

/* Tiles of the legacy dialect end with the loop that makes them. */
static bool check_scopes(struct api_build *b, int n) {
    for (int k = 0; k < n; k++) {
        if (b->tensor[k])
            tell_branch(b, b->tensor[k]);
        if (!b->tensor[k] || interp_scope_is_open(b->in, b->tensor[k]->scope))
            continue;
        const char *name = tensor_storage(b->in, b->tensor[k])->name;
        return interp_error(b->in, b->node, "err_local_variable_used_out_of_scope",
                            "the tile %s%swas made in a loop that has ended: make it before the "
                            "loop, and write to it there",
                            name, name[0] ? " " : "of this operand ");
    }
    return true;
}

/* In the legacy dialect only nisa.tensor_copy_dynamic_* reaches into a tile by a tile's number. */
static bool check_dynamic(const struct api_build *b, int n) {
    for (int k = 0; k < n && !b->dynamic; k++) {
        const struct tensor *t = b->tensor[k];
        if (t && t->indirect && !t->indirect->vector && t->indirect->index && t->space != NKI_HBM &&
            interp_dialect(b->in) == NKI_DIALECT_LEGACY)
            return interp_error(b->in, b->node,
                                "err_copy_dynamic_indirect_indices_not_natively_supported",
                                "an index with a tile's number in it: copy what it selects, with "
                                "nisa.tensor_copy_dynamic_src or _dst, and use the copy");
    }
    return true;
}

static bool touches(const struct index_expr *mask, int term, int d) {
    return mask->term[term].c[d] != 0 && mask->size[d] != 1;
}

static bool touches_free(const struct index_expr *mask, int term) {
    for (int d = 1; d < mask->n_dims; d++)
        if (touches(mask, term, d))
            return true;
    return false;
}

/* The mask as one operand sees it. A mask of nc_matmul runs over [K, N ..] of the moving operand:
 * the stationary operand shares K with it, the result N. A transpose swaps its dimensions. */
static void mask_for(const struct api_build *b, int k, struct index_expr *mask) {
    *mask = *b->mask;
    if (b->op == NKI_OP_NC_MATMUL && k != NKI_NC_MATMUL_moving && mask->n_dims > 1) {
        int kept = 0;
        for (int t = 0; t < mask->n_terms; t++)
            if (k == NKI_DST ? !touches(mask, t, 0) : !touches_free(mask, t))
                mask->term[kept++] = mask->term[t];
        mask->n_terms = kept;
        if (k != NKI_DST)
            mask->n_dims = 2;
        return;
    }
    if (mask->n_dims != 2)
        return;
    if ((b->op == NKI_OP_NC_TRANSPOSE || b->op == NKI_OP_DMA_TRANSPOSE) && k == NKI_DST) {
        int64_t size = mask->size[0];
        mask->size[0] = mask->size[1];
        mask->size[1] = size;
        for (int t = 0; t < mask->n_terms; t++) {
            int64_t c = mask->term[t].c[0];
            mask->term[t].c[0] = mask->term[t].c[1];
            mask->term[t].c[1] = c;
        }
    }
}

const struct index_expr *api_dst_mask(const struct api_build *b) {
    struct index_expr mask;
    if (!b->mask)
        return NULL;
    mask_for(b, NKI_DST, &mask);
    return index_new(b->in, &mask);
}

/* The order of dimensions that puts the partition first. Operands of the same rank get the same
 * order. NULL when all are in order. */
static const int *choose_order(const struct api_build *b, int n, int *order, int *rank) {
    for (int k = 0; k < n; k++) {
        const struct tensor *t = b->tensor[k];
        if (!t || t->space == NKI_HBM)
            continue;
        int part = tensor_part(t);
        if (part <= 0)
            continue;
        int at = 0;
        for (int d = 0; d < t->n_dims; d++)
            if (t->dim[d].part)
                order[at++] = d;
        for (int d = 0; d < t->n_dims; d++)
            if (!t->dim[d].part)
                order[at++] = d;
        *rank = t->n_dims;
        return order;
    }
    return NULL;
}

static const struct nki_mask *keep_mask(struct api_build *b, const struct tensor_clip *clip,
                                        const struct tensor *dst, const int *order) {
    struct nki_mask *mask = ARENA_NEW(interp_arena(b->in), struct nki_mask);
    if (dst->n_dims > NKI_MAX_DIMS) {
        interp_error(b->in, b->node, "err_unsupported_expression_in_mask",
                     "a mask over several dimensions at once works on at most %d dimensions",
                     NKI_MAX_DIMS);
        return NULL;
    }
    mask->n_terms = clip->n_rest;
    for (int k = 0; k < clip->n_rest; k++) {
        mask->term[k].c0 = clip->rest[k].c0;
        for (int d = 0; d < dst->n_dims; d++)
            mask->term[k].c[d] = clip->rest[k].c[order ? order[d] : d];
    }
    return mask;
}

static const struct nki_more *keep_more(struct api_build *b, const struct nki_more *more) {
    struct api *api = api_of(b->in);
    if (!more->mask && !more->label && !more->order_group)
        return &nki_nothing_more;
    const struct nki_more *last = api->more;
    if (!last || last->mask != more->mask || last->label != more->label ||
        last->order_group != more->order_group)
        api->more = arena_dup(interp_arena(b->in), more, sizeof *more);
    return api->more;
}

struct clipped {
    struct tensor view[API_MAX_OPERANDS];
    struct tensor_clip clip; /* of dst */
};

/* Applies the mask to every operand; *empty when nothing is left of one. */
static bool clip_operands(struct api_build *b, int n, const struct tensor **views,
                          struct clipped *c, bool *empty) {
    *empty = false;
    for (int k = 0; k < n; k++) {
        if (!views[k])
            continue;
        struct index_expr mask;
        struct tensor_clip clip;
        mask_for(b, k, &mask);
        tensor_read(&c->view[k], views[k]);
        if (!tensor_mask(b->in, b->node, &c->view[k], &mask, &clip))
            return false;
        if (k == 0)
            c->clip = clip;
        *empty |= clip.empty;
        views[k] = &c->view[k];
    }
    return true;
}

/* ---- patterns of many dimensions ------------------------------------------------------------ */

/* The dimensions that a pattern of the view needs: those of size 1 go, and contiguous ones join. */
int api_pattern_dims(const struct tensor *t) {
    int n = t->space == NKI_HBM ? 0 : 1, last = -1;
    for (int d = 0; d < t->n_dims; d++) {
        if (t->dim[d].size == 1 || t->dim[d].part)
            continue;
        bool joins = last >= 0 && t->dim[last].step == t->dim[d].step * t->dim[d].size;
        n += !joins;
        last = d;
    }
    return n;
}

/* The free dimension to take one by one; -1 when the patterns fit as they are. */
static int dim_to_split(const struct api_build *b, int n) {
    for (int k = 0; k < n; k++) {
        const struct tensor *t = b->tensor[k];
        if (!t || t->n_dims <= NKI_MAX_DIMS || api_pattern_dims(t) <= NKI_MAX_DIMS)
            continue;
        for (int d = 0; d < t->n_dims; d++)
            if (!t->dim[d].part && t->dim[d].size > 1)
                return d;
    }
    return -1;
}

/* Emits one instruction for each position along a dimension, as the compiler does. */
static bool emit_split(struct api_build *b, int n, int dim) {
    struct api_build part = *b;
    int64_t size = b->tensor[NKI_DST]->dim[dim].size;
    for (int64_t i = 0; i < size; i++) {
        for (int k = 0; k < n; k++) {
            struct tensor view;
            if (!b->tensor[k] || b->tensor[k]->n_dims != b->tensor[NKI_DST]->n_dims)
                continue;
            tensor_read(&view, b->tensor[k]);
            if (view.dim[dim].size != size)
                continue;
            view.offset += i * view.dim[dim].step;
            view.dim[dim].size = 1;
            part.tensor[k] = tensor_keep(b->in, &view);
        }
        if (!api_emit(&part))
            return false;
    }
    api_of(b->in)->split = true;
    return true;
}

/* With oob_mode.skip, positions that an index tile puts out of bounds are left out. */
static void skip_out_of_bounds(struct api_build *b, const struct api_row *row) {
    struct arena *arena = interp_arena(b->in);
    int mode = row->oob_mode;
    if (mode < 0 || b->operand[mode].kind != NKI_OPERAND_ENUM || b->operand[mode].i != NKI_OOB_SKIP)
        return;
    for (int k = 0; k < row->n; k++) {
        if (b->operand[k].kind != NKI_OPERAND_AP || !b->operand[k].ap->indirect)
            continue;
        struct nki_ap *ap = arena_dup(arena, b->operand[k].ap, sizeof *ap);
        struct nki_indirect *indirect = arena_dup(arena, ap->indirect, sizeof *indirect);
        indirect->skip_out_of_bounds = true;
        ap->indirect = indirect;
        b->operand[k].ap = ap;
    }
}

bool api_emit(struct api_build *b) {
    const struct api_row *row = row_of(b->in, b->op);
    int n = row->n;
    struct api *api = api_of(b->in);
    const struct tensor *views[API_MAX_OPERANDS];
    struct clipped clipped;
    int turned[TENSOR_MAX_DIMS], rank = 0;
    memcpy(views, b->tensor, sizeof views);
    clipped.clip.n_rest = 0;
    if (b->mask && !clip_operands(b, n, views, &clipped, &api->skipped))
        return false;
    api->skipped &= b->mask != NULL;
    if (api->skipped)
        return true;
    if (!check_scopes(b, n) || !check_dynamic(b, n) || (row->streams && !check_counts(b, views)))
        return false;
    int dim = row->streams && !b->mask ? dim_to_split(b, n) : -1;
    if (dim >= 0 && b->tensor[NKI_DST]->n_dims > dim)
        return emit_split(b, n, dim);
    api->split = false;
    const int *order = choose_order(b, n, turned, &rank);
    for (int k = 0; k < n; k++) {
        if (!views[k])
            continue;
        b->operand[k].ap =
            tensor_ap(b->in, b->node, views[k], views[k]->n_dims == rank ? order : NULL);
        if (!b->operand[k].ap)
            return false;
    }
    skip_out_of_bounds(b, row);
    struct nki_instr instr = {
        .op = (uint8_t)b->op,
        .engine = (uint8_t)b->engine,
        .n_operands = (uint8_t)n,
        .loc = interp_loc(b->in, b->node),
        .operands = arena_dup(interp_arena(b->in), b->operand, (size_t)n * sizeof b->operand[0]),
    };
    struct nki_more more = {.order_group = api->order_group, .label = b->label};
    if (clipped.clip.n_rest && !(more.mask = keep_mask(b, &clipped.clip, views[0], order)))
        return false;
    instr.more = keep_more(b, &more);
    return interp_emit(b->in, b->node, &instr);
}

struct value api_produced(struct interp *in, const struct nki_node *node, const struct tensor *tile,
                          const struct index_expr *mask) {
    struct api *api = api_of(in);
    struct tensor view;
    tensor_read(&view, tile);
    view.origin = node;
    view.mask = mask;
    view.nothing = api->skipped;
    view.producer = api->skipped || api->split ? 0 : (uint32_t)interp_program(in)->instrs.len;
    return value_tensor(tensor_keep(in, &view));
}

/* ---- moving data ---------------------------------------------------------------------------- */

bool api_memset(struct interp *in, const struct nki_node *node, const struct tensor *dst,
                double value) {
    struct api_build b;
    api_start(&b, in, node, NKI_OP_MEMSET);
    api_put_tensor(&b, NKI_MEMSET_dst, dst);
    api_put(&b, NKI_MEMSET_value,
            dtype_is_int(dst->dtype) && value == (double)(int64_t)value
                ? operand_int((int64_t)value)
                : operand_float(value));
    return api_emit(&b);
}

struct tensor *api_tile_like(struct interp *in, const struct nki_node *node,
                             const struct tensor *shape, enum nki_space space, enum dtype dtype) {
    struct tensor_request request = {.space = space,
                                     .dtype = dtype,
                                     .n_dims = shape->n_dims,
                                     .name = interp_target_name(in),
                                     .address_partition = -1};
    for (int d = 0; d < shape->n_dims; d++)
        request.shape[d] = shape->dim[d].size;
    request.part = MAX_OF(tensor_part(shape), 0);
    return tensor_new(in, node, &request);
}

bool api_copy(struct interp *in, const struct nki_node *node, const struct tensor *dst,
              const struct tensor *src, const struct index_expr *mask) {
    struct api_build b;
    bool dma = dst->space == NKI_HBM || src->space == NKI_HBM;
    if (dma && src->space == NKI_PSUM) {
        struct tensor *bounce = api_tile_like(in, node, src, NKI_SBUF, src->dtype);
        if (!bounce || !api_copy(in, node, bounce, src, mask))
            return false;
        src = bounce;
    }
    if (dma && dst->space == NKI_PSUM) {
        struct tensor *bounce = api_tile_like(in, node, dst, NKI_SBUF, dst->dtype);
        return bounce && api_copy(in, node, bounce, src, mask) &&
               api_copy(in, node, dst, bounce, mask);
    }
    if (!dma && !(src = api_operand(in, node, src)))
        return false;
    api_start(&b, in, node, dma ? NKI_OP_DMA_COPY : NKI_OP_TENSOR_COPY);
    b.mask = mask;
    api_put_tensor(&b, NKI_DST, dst);
    api_put_tensor(&b, dma ? NKI_DMA_COPY_src : NKI_TENSOR_COPY_src, src);
    return api_emit(&b);
}

static struct tensor *make_identity(struct interp *in, const struct nki_node *node,
                                    enum dtype dtype, int64_t n) {
    struct tensor *tile = tensor_tile(in, node, NKI_SBUF, dtype, (int64_t[]){n, n}, 2);
    if (!tile || !api_memset(in, node, tile, 1))
        return NULL;
    int64_t *pattern = ARENA_ARRAY(interp_arena(in), int64_t, 2);
    pattern[0] = -1;
    pattern[1] = n;
    struct api_build b;
    api_start(&b, in, node, NKI_OP_AFFINE_SELECT);
    api_put_tensor(&b, NKI_AFFINE_SELECT_dst, tile);
    api_put(&b, NKI_AFFINE_SELECT_pattern,
            (struct nki_operand){.kind = NKI_OPERAND_INTS, .n = 2, .ints = pattern});
    api_put(&b, NKI_AFFINE_SELECT_channel_multiplier, operand_int(1));
    api_put_tensor(&b, NKI_AFFINE_SELECT_on_true_tile, tile);
    api_put(&b, NKI_AFFINE_SELECT_on_false_value, operand_float(0));
    api_put(&b, NKI_AFFINE_SELECT_cmp_op, operand_func(NKI_FUNC_EQUAL));
    return api_emit(&b) ? tile : NULL;
}

struct tensor *api_constant_tile(struct interp *in, const struct nki_node *node,
                                 enum api_constant_kind kind, enum dtype dtype, int64_t size) {
    struct api *api = api_of(in);
    for (struct api_constant *c = api->constants; c; c = c->next)
        if (c->what == (int)kind && c->dtype == dtype && c->size == size)
            return c->tile;
    struct tensor *tile;
    interp_for_all_rounds(in, true);
    if (kind == API_IDENTITY) {
        tile = make_identity(in, node, dtype, size);
    } else {
        tile = tensor_tile(in, node, NKI_SBUF, dtype, (int64_t[]){1, size}, 2);
        if (tile && !api_memset(in, node, tile, 1))
            tile = NULL;
    }
    interp_for_all_rounds(in, false);
    if (!tile)
        return NULL;
    tile->scope = tile->branch = 0; /* it is made once, wherever that is */
    struct api_constant *c = ARENA_NEW(interp_arena(in), struct api_constant);
    *c = (struct api_constant){
        .what = kind, .dtype = dtype, .size = size, .tile = tile, .next = api->constants};
    api->constants = c;
    return tile;
}

/* Columns [start, start + count) of a tile of two dimensions. */
static struct tensor *columns(struct interp *in, const struct tensor *tile, int64_t start,
                              int64_t count) {
    struct tensor view;
    tensor_read(&view, tile);
    view.offset += start * view.dim[1].step;
    view.dim[1].size = count;
    return tensor_keep(in, &view);
}

/* Copies one partition's row to all partitions of `tile`: ones.T @ row on the Tensor engine. */
static bool spread_row(struct interp *in, const struct nki_node *node, const struct tensor *row,
                       const struct tensor *tile) {
    int64_t parts = tile->dim[0].size, width = tile->dim[1].size;
    struct tensor *ones = api_constant_tile(in, node, API_ONES_ROW, row->dtype, parts);
    if (!ones)
        return false;
    for (int64_t at = 0; at < width; at += MATMUL_COLUMNS) {
        int64_t n = MIN_OF(width - at, MATMUL_COLUMNS);
        struct tensor *psum =
            tensor_tile(in, node, NKI_PSUM, DTYPE_FLOAT32, (int64_t[]){parts, n}, 2);
        struct api_build b;
        if (!psum)
            return false;
        api_start(&b, in, node, NKI_OP_NC_MATMUL);
        api_put_tensor(&b, NKI_NC_MATMUL_dst, psum);
        api_put_tensor(&b, NKI_NC_MATMUL_stationary, ones);
        api_put_tensor(&b, NKI_NC_MATMUL_moving, columns(in, row, at, n));
        api_put(&b, NKI_NC_MATMUL_accumulate, operand_bool(false));
        if (!api_emit(&b) || !api_copy(in, node, columns(in, tile, at, n), psum, NULL))
            return false;
    }
    return true;
}

/* The single partition behind a broadcast, as a row in SBUF that the Tensor engine can read. */
static struct tensor *row_behind(struct interp *in, const struct nki_node *node,
                                 const struct tensor *tensor) {
    struct tensor view;
    tensor_read(&view, tensor);
    for (int d = 0; d < view.n_dims; d++)
        if (view.dim[d].part)
            view.dim[d].size = 1;
    int64_t width = tensor_free(tensor);
    bool plain = view.space == NKI_SBUF && dtype_is_float(view.dtype);
    int64_t step = 1;
    for (int d = view.n_dims - 1; d >= 0; d--) {
        if (view.dim[d].part || view.dim[d].size == 1)
            continue;
        plain &= view.dim[d].step == step;
        step *= view.dim[d].size;
    }
    const struct tensor *flat = &view;
    if (!plain) {
        struct tensor *copy = api_tile_like(
            in, node, &view, NKI_SBUF, dtype_is_float(view.dtype) ? view.dtype : DTYPE_FLOAT32);
        if (!copy || !api_copy(in, node, copy, tensor_keep(in, &view), NULL))
            return NULL;
        flat = copy;
    }
    return tensor_reshape(in, node, flat, (int64_t[]){1, width}, 2);
}

/* Tiles begin with their partitions. In the legacy dialect a tensor may have blocks before them. */
static bool is_one_tile(struct interp *in, const struct nki_node *node,
                        const struct tensor *tensor) {
    const struct nki_storage *storage = tensor_storage(in, tensor);
    int64_t blocks = 1;
    for (int d = 0; d < tensor_part(tensor); d++)
        blocks *= tensor->dim[d].size;
    return storage->blocks < 2 || blocks < 2 ||
           interp_error(in, node, "err_failed_to_infer_tile_from_local_tensor",
                        "%s has %lld blocks before its partition dimension, and an instruction "
                        "takes one tile: index them first, as in %s[0]",
                        storage->name, (long long)blocks, storage->name);
}

const struct tensor *api_operand(struct interp *in, const struct nki_node *node,
                                 const struct tensor *tensor) {
    int part = tensor_part(tensor);
    if (!is_one_tile(in, node, tensor))
        return NULL;
    if (tensor->space == NKI_HBM || part < 0 || tensor->dim[part].step != 0 ||
        tensor->dim[part].size == 1 || (tensor->indirect && tensor->indirect->vector))
        return tensor; /* rows by a tile of indices are no broadcast: the check refuses them */
    struct tensor *row = row_behind(in, node, tensor);
    struct tensor *tile = row ? api_tile_like(in, node, tensor, NKI_SBUF, tensor->dtype) : NULL;
    struct tensor *flat =
        tile ? tensor_reshape(in, node, tile,
                              (int64_t[]){tensor->dim[part].size, tensor_free(tensor)}, 2)
             : NULL;
    return flat && spread_row(in, node, row, flat) ? tile : NULL;
}
