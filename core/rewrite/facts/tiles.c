/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes, element types and memories of the tiles a kernel makes, as far as its text tells, and the
 * limits they must keep. */
#include "rewrite/facts/inner.h"

static struct rewrite_tile tile_of(const struct rewrite_model *model, const struct nki_node *expr,
                                   int depth);

static const struct rewrite_tile unknown_tile;

static struct rewrite_tile tile_of_input(const struct nki_input *input) {
    struct rewrite_tile tile = {.known = true, .space = NKI_HBM};
    if (!input || input->kind != NKI_INPUT_ARRAY || input->array.ndim < 1 ||
        input->array.ndim > REWRITE_MAX_DIMS)
        return unknown_tile;
    tile.dtype = input->array.dtype;
    tile.n_dims = input->array.ndim;
    for (int i = 0; i < tile.n_dims; i++)
        tile.shape[i] = input->array.shape[i];
    return tile;
}

/* x.dtype, nl.float32, np.float32 */
static enum dtype dtype_of(const struct rewrite_model *model, const struct nki_node *expr,
                           int depth) {
    if (!expr || expr->kind != NKI_ATTRIBUTE)
        return DTYPE_NONE;
    if (str_is(expr->attribute.attr, "dtype"))
        return tile_of(model, expr->attribute.value, depth + 1).dtype;
    return dtype_find(expr->attribute.attr);
}

static enum nki_space space_of(const struct nki_node *buffer) {
    struct str name = rewrite_op_name(buffer);
    if (str_is(name, "psum"))
        return NKI_PSUM;
    return str_ends(name, "hbm") ? NKI_HBM : NKI_SBUF;
}

static bool read_shape(const struct rewrite_model *model, const struct nki_node *shape,
                       struct rewrite_tile *tile) {
    if (!shape || (shape->kind != NKI_TUPLE && shape->kind != NKI_LIST))
        return false;
    const struct nki_list *dims = shape->kind == NKI_TUPLE ? &shape->tuple.elts : &shape->list.elts;
    if (!dims->len || dims->len > REWRITE_MAX_DIMS)
        return false;
    tile->n_dims = (int)dims->len;
    for (uint32_t i = 0; i < dims->len; i++) {
        const struct nki_node *dim = dims->at[i];
        if (!rewrite_int(model, dim, &tile->shape[i]) || tile->shape[i] < 1)
            return false;
        if (rewrite_is_call(model, dim, REWRITE_NL, "par_dim") ||
            (dim->kind == NKI_CALL && nki_is_dotted(dim->call.func, "par_dim")))
            tile->partition_dim = (int)i;
    }
    return true;
}

static struct rewrite_tile tile_of_alloc(const struct rewrite_model *model,
                                         const struct nki_node *call, bool is_full, int depth) {
    struct rewrite_tile tile = {.known = true};
    if (!read_shape(model, rewrite_arg(call, "shape", 0), &tile))
        return unknown_tile;
    tile.dtype = dtype_of(model, rewrite_arg(call, "dtype", is_full ? 2 : 1), depth);
    tile.space = space_of(rewrite_arg(call, "buffer", is_full ? 3 : 2));
    return tile;
}

static struct rewrite_tile tile_of_region(const struct rewrite_model *model,
                                          const struct nki_node *expr, int depth) {
    struct rewrite_tile from = tile_of(model, expr->subscript.value, depth + 1), tile;
    struct rewrite_region region;
    if (!from.known || !rewrite_region_of(model, expr, &region))
        return unknown_tile;
    tile = from;
    tile.n_dims = 0;
    tile.partition_dim = 0;
    bool on_chip = from.space != NKI_HBM;
    for (int i = 0; i < region.n_dims; i++)
        if (!region.dim[i].drops || (on_chip && i == from.partition_dim))
            tile.shape[tile.n_dims++] = region.dim[i].size;
    if (on_chip && tile.n_dims == 1)
        tile.shape[tile.n_dims++] = 1; /* one value per partition */
    tile.known = tile.n_dims > 0;
    return tile;
}

/* nl.sum(x, axis=[1]) and tensor_reduce: the free dimensions from the axis on go or become 1. */
static struct rewrite_tile reduced(struct rewrite_tile tile) {
    tile.n_dims = 2;
    tile.shape[1] = 1;
    return tile;
}

static struct rewrite_tile product(const struct rewrite_tile *a, const struct rewrite_tile *b,
                                   bool transposed) {
    struct rewrite_tile tile = {.known = a->known && b->known && a->n_dims == 2 && b->n_dims == 2,
                                .space = NKI_PSUM,
                                .dtype = DTYPE_FLOAT32,
                                .n_dims = 2};
    tile.shape[0] = a->shape[transposed ? 1 : 0];
    tile.shape[1] = b->shape[1];
    return tile;
}

static bool is_one_of(struct str name, const char *const *list, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (str_is(name, list[i]))
            return true;
    return false;
}

static struct rewrite_tile transposed(struct rewrite_tile tile) {
    if (tile.n_dims != 2)
        return unknown_tile;
    int64_t swap = tile.shape[0];
    tile.shape[0] = tile.shape[1];
    tile.shape[1] = swap;
    return tile;
}

/* The result has the shape of the first tile among a call's operands. */
static struct rewrite_tile tile_of_operand(const struct rewrite_model *model,
                                           const struct nki_node *call, int depth) {
    static const char *const operands[] = {"data", "x", "data1", "src", "data0", "value"};
    struct rewrite_tile best = unknown_tile;
    for (uint32_t i = 0; i < call->call.args.len + COUNT_OF(operands); i++) {
        const struct nki_node *operand = i < call->call.args.len
                                             ? call->call.args.at[i]
                                             : nki_keyword(call, operands[i - call->call.args.len]);
        struct rewrite_tile tile = operand ? tile_of(model, operand, depth + 1) : unknown_tile;
        if (tile.known &&
            (!best.known || tile.shape[tile.n_dims - 1] > best.shape[best.n_dims - 1]))
            best = tile;
    }
    best.space = NKI_SBUF;
    return best;
}

static struct rewrite_tile tile_of_api(const struct rewrite_model *model,
                                       const struct nki_node *call, struct str name, int depth) {
    static const char *const allocs[] = {"ndarray", "zeros", "ones", "empty_like", "zeros_like"};
    static const char *const reductions[] = {"sum",  "max", "min",          "mean",
                                             "prod", "var", "tensor_reduce"};
    struct rewrite_tile tile;
    bool like = str_is(name, "empty_like") || str_is(name, "zeros_like");
    if (!like && is_one_of(name, allocs, COUNT_OF(allocs)))
        return tile_of_alloc(model, call, false, depth);
    if (str_is(name, "full"))
        return tile_of_alloc(model, call, true, depth);
    if (str_is(name, "memset")) {
        tile = (struct rewrite_tile){.known = true, .space = NKI_SBUF};
        tile.known = read_shape(model, rewrite_arg(call, "shape", 0), &tile);
        tile.dtype = dtype_of(model, rewrite_arg(call, "dtype", 2), depth);
        return tile;
    }
    if (str_is(name, "matmul") || str_is(name, "nc_matmul")) {
        bool isa = str_is(name, "nc_matmul");
        const struct nki_node *a = rewrite_arg(call, isa ? "stationary" : "x", 0);
        const struct nki_node *b = rewrite_arg(call, isa ? "moving" : "y", 1);
        const struct nki_node *flag = nki_keyword(call, "transpose_x");
        bool flipped =
            isa || (flag && flag->kind == NKI_CONSTANT && flag->constant.type == NKI_CONST_TRUE);
        struct rewrite_tile left = a ? tile_of(model, a, depth + 1) : unknown_tile;
        struct rewrite_tile right = b ? tile_of(model, b, depth + 1) : unknown_tile;
        return product(&left, &right, flipped);
    }
    if (str_is(name, "expand_dims") || str_is(name, "iota"))
        return unknown_tile;
    if (str_is(name, "broadcast_to")) {
        tile = tile_of_operand(model, call, depth);
        return read_shape(model, rewrite_arg(call, "shape", 1), &tile) ? tile : unknown_tile;
    }
    tile = tile_of_operand(model, call, depth);
    if (tile.known && is_one_of(name, reductions, COUNT_OF(reductions)))
        tile = reduced(tile);
    if (str_is(name, "transpose") || str_is(name, "nc_transpose"))
        tile = transposed(tile);
    if (str_is(name, "nc_transpose"))
        tile.space = NKI_PSUM;
    enum dtype asked = dtype_of(model, nki_keyword(call, "dtype"), depth);
    if (asked)
        tile.dtype = asked;
    return tile;
}

static struct rewrite_tile tile_of_call(const struct rewrite_model *model,
                                        const struct nki_node *call, int depth) {
    struct str name;
    enum rewrite_module module = rewrite_call_of(model, call, &name);
    if (module == REWRITE_NL || module == REWRITE_NISA)
        return tile_of_api(model, call, name, depth);
    if (module || call->call.func->kind != NKI_ATTRIBUTE)
        return unknown_tile;
    struct str method = call->call.func->attribute.attr;
    struct rewrite_tile tile = tile_of(model, call->call.func->attribute.value, depth + 1);
    const struct nki_node *shape = rewrite_arg(call, "shape", 0);
    if (!tile.known || (!str_is(method, "reshape") && !str_is(method, "broadcast_to")) || !shape)
        return unknown_tile;
    return read_shape(model, shape, &tile) ? tile : unknown_tile;
}

static struct rewrite_tile tile_of_name(const struct rewrite_model *model,
                                        const struct nki_node *expr, int depth) {
    struct rewrite_name *name = rewrite_name_of(model, expr->name.id);
    if (!name)
        return unknown_tile;
    const struct nki_node *def = rewrite_def_of(model, expr);
    if (!def)
        return name->is_param ? tile_of_input(name->input) : unknown_tile;
    struct rewrite_memo *memo = model->memo;
    if (!memo->tile_state[def->id]) {
        memo->tile_state[def->id] = REWRITE_MEMO_YES;
        memo->tiles[def->id] = ARENA_NEW(model->arena, struct rewrite_tile);
        const struct nki_node *value = rewrite_value_of_def(def);
        if (value)
            *memo->tiles[def->id] = tile_of(model, value, depth + 1);
    }
    return *memo->tiles[def->id];
}

static struct rewrite_tile tile_of(const struct rewrite_model *model, const struct nki_node *expr,
                                   int depth) {
    if (depth > REWRITE_MAX_DEPTH / 2)
        return unknown_tile;
    switch (expr->kind) {
    case NKI_NAME: return tile_of_name(model, expr, depth);
    case NKI_SUBSCRIPT: return tile_of_region(model, expr, depth);
    case NKI_CALL: return tile_of_call(model, expr, depth);
    default: return unknown_tile;
    }
}

struct rewrite_tile rewrite_tile_of(const struct rewrite_model *model,
                                    const struct nki_node *expr) {
    if (model->memo->depth > REWRITE_MAX_NESTING)
        return unknown_tile;
    model->memo->depth++;
    struct rewrite_tile tile = tile_of(model, expr, 0);
    model->memo->depth--;
    return tile;
}

struct rewrite_tile rewrite_tile_of_def(const struct rewrite_model *model,
                                        const struct nki_node *def) {
    const struct nki_node *value = rewrite_value_of_def(def);
    return value ? rewrite_tile_of(model, value) : unknown_tile;
}

/* ---- limits --------------------------------------------------------------------------------- */

int64_t rewrite_tile_bytes(const struct rewrite_tile *tile) {
    int64_t bytes = tile->dtype ? (int64_t)dtype_bytes(tile->dtype) : 4;
    for (int i = 0; i < tile->n_dims; i++)
        if (i > tile->partition_dim)
            bytes = bytes > ((int64_t)1 << 40) ? bytes : bytes * tile->shape[i];
    return bytes;
}

static bool makes_storage(const struct rewrite_model *model, const struct nki_node *def) {
    const struct nki_node *value = rewrite_value_of_def(def);
    struct str name;
    enum rewrite_module module = value ? rewrite_call_of(model, value, &name) : REWRITE_NO_MODULE;
    return (module == REWRITE_NL || module == REWRITE_NISA) && !str_is(name, "broadcast_to") &&
           !str_is(name, "expand_dims");
}

/* Looks at every on-chip tile that an assignment makes. Finds the first limit that one of them
 * breaks, and adds up what those in SBUF take. */
static const char *each_tile(const struct rewrite_model *model, int64_t *sbuf) {
    *sbuf = 0;
    for (size_t i = 0; i < model->names.len; i++) {
        const struct rewrite_name *name = model->names.entries[i].value;
        for (size_t k = 0; k < name->accesses.len; k++) {
            const struct nki_node *def = name->accesses.at[k].node;
            if (!(name->accesses.at[k].how & REWRITE_BIND) || def->kind != NKI_NAME ||
                !makes_storage(model, def))
                continue;
            struct rewrite_tile tile = rewrite_tile_of_def(model, def);
            if (!tile.known || tile.space == NKI_HBM)
                continue;
            if (tile.shape[tile.partition_dim] > NKI_PARTITIONS)
                return "a tile would have more than 128 partitions";
            int64_t bytes = rewrite_tile_bytes(&tile);
            int64_t last =
                tile.shape[tile.n_dims - 1] * (tile.dtype ? (int64_t)dtype_bytes(tile.dtype) : 4);
            if (tile.space == NKI_PSUM && last > 2048)
                return "a PSUM tile would be larger than a bank of 2 KiB per partition";
            if (tile.space == NKI_SBUF)
                *sbuf += bytes;
        }
    }
    return NULL;
}

int64_t rewrite_sbuf_bytes(const struct rewrite_model *model) {
    int64_t sbuf;
    (void)each_tile(model, &sbuf);
    return sbuf;
}

/* Free sizes of matrix products: 128 columns stationary, 512 moving (NKI ISA reference). */
static const char *product_limits(const struct rewrite_model *model) {
    for (uint32_t i = model->kernel->id; i <= model->kernel->last; i++) {
        const struct nki_node *call = model->tree->nodes[i];
        if (call->kind != NKI_CALL || call->call.args.len + call->call.keywords.len < 2)
            continue;
        bool isa = rewrite_is_call(model, call, REWRITE_NISA, "nc_matmul");
        if (!isa && !rewrite_is_call(model, call, REWRITE_NL, "matmul"))
            continue;
        int first = isa && model->dialect != NKI_DIALECT_LEGACY && !nki_keyword(call, "dst");
        const struct nki_node *a = rewrite_arg(call, isa ? "stationary" : "x", first);
        const struct nki_node *b = rewrite_arg(call, isa ? "moving" : "y", first + 1);
        struct rewrite_tile left = a ? rewrite_tile_of(model, a) : unknown_tile;
        struct rewrite_tile right = b ? rewrite_tile_of(model, b) : unknown_tile;
        if (left.known && left.shape[left.n_dims - 1] > 128)
            return "the stationary operand of a matmul would have more than 128 columns";
        if (right.known && right.n_dims == 2 && right.shape[1] > 512)
            return "the moving operand of a matmul would have more than 512 columns";
    }
    return NULL;
}

/* x // y in the count of a loop must leave no rest, or the end of the data is not reached. */
static const char *counts_exact(const struct rewrite_model *model) {
    for (size_t i = 0; i < model->loops.len; i++) {
        const struct rewrite_loop *loop = model->loops.at[i];
        const struct nki_node *count = loop->count;
        if (loop->known && loop->trips == 0)
            return "a loop would not run at all";
        if (loop->known && (loop->stop - loop->start) % loop->step)
            return "a step would not divide its range";
        for (uint32_t k = count ? count->id : 1; count && k <= count->last; k++) {
            const struct nki_node *node = model->tree->nodes[k];
            int64_t a, b;
            if (node->kind == NKI_BIN_OP && node->bin_op.op == NKI_FLOOR_DIV &&
                rewrite_int(model, node->bin_op.left, &a) &&
                rewrite_int(model, node->bin_op.right, &b) && b > 0 && a % b)
                return "a tile size would not divide its dimension";
        }
    }
    return NULL;
}

const char *rewrite_why_illegal(const struct rewrite_model *model) {
    int64_t sbuf;
    const char *why = each_tile(model, &sbuf);
    if (!why && sbuf > nki_generation_sbuf_bytes(model->request->generation))
        why = "the tiles would not fit in SBUF";
    if (!why)
        why = product_limits(model);
    return why ? why : counts_exact(model);
}
