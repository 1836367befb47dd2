/* SPDX-License-Identifier: Apache-2.0 */
/* nisa.* calls of both dialects, bound by the table of instructions. A call of the current dialect
 * names its dst. A legacy call returns a new tile, and rules here give its shape and dtype. */
#include "nki/api/api.h"

#define MAX_PARAMETERS 24

/* Where a parameter of a signature goes: an operand, or one of these. */
enum {
    TO_ENGINE = -1,
    TO_NAME = -2,
    TO_MASK = -3,
    TO_DTYPE = -4,
    TO_IGNORE = -5,
    TO_SHAPE = -6,
    TO_PREDICATE = -7,
    TO_EXPRESSION = -8,
    TO_PLACE = -9,
    TO_RMW = -10
};

static const struct {
    const char *name;
    int to;
} special[] = {
    {"engine", TO_ENGINE}, {"name", TO_NAME},      {"mask", TO_MASK},       {"dtype", TO_DTYPE},
    {"shape", TO_SHAPE},   {"pred", TO_PREDICATE}, {"expr", TO_EXPRESSION}, {"dst_rmw_op", TO_RMW},
};

struct api_binding {
    const struct signature *signature;
    int n;
    int to[MAX_PARAMETERS];
    bool has_dst;
};

static int destination(enum nki_op op, struct str name) {
    int k = nki_operand_index(op, name);
    if (k >= 0)
        return k;
    for (size_t i = 0; i < COUNT_OF(special); i++)
        if (str_is(name, special[i].name))
            return special[i].to;
    return TO_IGNORE;
}

/* The forms of a signature: the current one, the legacy one, and the current one with what older
 * releases took. What older releases took is ignored or refused with a sentence of its own. */
enum form { FORM_CURRENT, FORM_LEGACY, FORM_OLDER };

/* The signature in the kernel's release, where the newest has another one; NULL: it is the same. */
static const char *older_signature(struct interp *in, enum nki_op op) {
    static const struct {
        const char *function, *first, *last, *parameters;
    } rows[] = {
#define SIGNATURE(function, first, last, parameters) {function, first, last, parameters},
#define SINCE(functions, keyword, first)
#include "nki/release/older.def"
#undef SIGNATURE
#undef SINCE
    };
    const char *release = interp_program(in)->release;
    for (size_t i = 0; release && i < COUNT_OF(rows); i++)
        if (strcmp(rows[i].function + strlen("nisa."), nki_op_name(op)) == 0 &&
            nki_release_compare(release, rows[i].first) >= 0 &&
            nki_release_compare(release, rows[i].last) <= 0)
            return rows[i].parameters;
    return NULL;
}

static const char *signature_of(struct interp *in, enum nki_op op, enum form form) {
    const char *older = form == FORM_LEGACY ? NULL : older_signature(in, op);
    const char *current = older ? older : nki_op_row(op)->signature;
    if (form == FORM_CURRENT)
        return current;
    if (form == FORM_OLDER)
        return arena_printf(interp_arena(in), "%s, mask=None%s", current,
                            strstr(current, "dtype") ? "" : ", dtype=None");
    struct buf legacy = {0};
    nki_op_print_legacy(op, &legacy);
    bool star = strstr(legacy.at, "*") != NULL, dtype = strstr(legacy.at, "dtype") != NULL;
    const char *text = arena_printf(interp_arena(in), "%s%s, mask=None%s, name=None", legacy.at,
                                    star ? "" : ", *", dtype ? "" : ", dtype=None");
    buf_free(&legacy);
    return text;
}

static const struct api_binding *binding_of(struct interp *in, enum nki_op op, enum form form) {
    struct api *api = api_of(in);
    if (api->bindings[form][op])
        return api->bindings[form][op];
    struct api_binding *binding = ARENA_NEW(interp_arena(in), struct api_binding);
    binding->signature = interp_signature(in, signature_of(in, op, form));
    binding->n = (int)MIN_OF(signature_count(binding->signature), MAX_PARAMETERS);
    for (int k = 0; k < binding->n; k++) {
        binding->to[k] = destination(op, signature_name(binding->signature, (size_t)k));
        binding->has_dst |= binding->to[k] == NKI_DST;
    }
    api->bindings[form][op] = binding;
    return binding;
}

/* ---- values as operands --------------------------------------------------------------------- */

struct isa_call {
    struct api_build build;
    const struct api_binding *binding;
    struct value value[MAX_PARAMETERS];
    enum dtype dtype;
    int64_t shape[TENSOR_MAX_DIMS];
    int n_dims;
    const struct index_expr *expression, *predicate;
    bool rmw;
};

static size_t count_numbers(struct value v, int depth) {
    if (v.kind != VALUE_LIST && v.kind != VALUE_TUPLE)
        return 1;
    size_t n = 0;
    for (size_t i = 0; depth < 4 && i < v.seq->items.len; i++)
        n += count_numbers(v.seq->items.at[i], depth + 1);
    return n;
}

static bool flatten(struct interp *in, const struct nki_node *node, struct value v,
                    int64_t **next) {
    if (v.kind == VALUE_LIST || v.kind == VALUE_TUPLE) {
        for (size_t i = 0; i < v.seq->items.len; i++)
            if (!flatten(in, node, v.seq->items.at[i], next))
                return false;
        return true;
    }
    return api_want_int(in, node, "an element of the list", v, (*next)++);
}

static bool list_operand(struct isa_call *c, struct value v, struct nki_operand *out) {
    struct interp *in = c->build.in;
    size_t n = v.seq->items.len;
    if (n && v.seq->items.at[0].kind == VALUE_TENSOR) {
        if (n > NKI_MOST_LISTED)
            return interp_error(in, c->build.node, "hone-limit",
                                "the list has %zu tensors; at most %zu are allowed", n,
                                NKI_MOST_LISTED);
        const struct nki_ap **aps = ARENA_ARRAY(interp_arena(in), const struct nki_ap *, n);
        for (size_t i = 0; i < n; i++) {
            const struct tensor *t;
            if (!api_want_tensor(in, c->build.node, "an element of the list", v.seq->items.at[i],
                                 &t) ||
                !(aps[i] = tensor_ap(in, c->build.node, t, NULL)))
                return false;
        }
        *out = (struct nki_operand){.kind = NKI_OPERAND_APS, .n = (uint32_t)n, .aps = aps};
        return true;
    }
    size_t total = count_numbers(v, 0);
    if (total > NKI_MOST_LISTED)
        return interp_error(in, c->build.node, "hone-limit",
                            "the list has %zu numbers; at most %zu are allowed", total,
                            NKI_MOST_LISTED);
    int64_t *ints = ARENA_ARRAY(interp_arena(in), int64_t, total), *next = ints;
    *out = (struct nki_operand){.kind = NKI_OPERAND_INTS, .n = (uint32_t)total, .ints = ints};
    return flatten(in, c->build.node, v, &next);
}

/* The scales of dma_compute. Only 1.0 is possible (nki.isa reference), so they need no operand. */
static bool put_scales(struct isa_call *c, struct value v) {
    bool list = v.kind == VALUE_LIST || v.kind == VALUE_TUPLE;
    size_t n = list ? v.seq->items.len : v.kind != VALUE_NONE;
    for (size_t i = 0; i < n; i++) {
        double scale;
        if (!api_want_number(list ? v.seq->items.at[i] : v, &scale) || scale != 1)
            return interp_error(c->build.in, c->build.node, "hone-argument",
                                "nisa.dma_compute: scale %zu is not 1.0, the only one possible; "
                                "multiply before, with nisa.tensor_scalar",
                                i);
    }
    return true;
}

/* A number in place of a member of an enumeration, which is refused since NKI 0.3. A transfer's
 * mode is taken all the same: AWS's own library gives its number up to NKI 0.7. */
static bool put_number(struct isa_call *c, int k, int64_t number) {
    const struct nki_param *param = &nki_op_row(c->build.op)->params[k];
    bool member = param->takes & (1u << NKI_OPERAND_ENUM);
    bool mode =
        strcmp(param->name, "dge_mode") == 0 && number >= NKI_DGE_UNKNOWN && number <= NKI_DGE_NONE;
    c->build.operand[k] = mode ? operand_enum(number) : operand_int(number);
    if (!member || param->takes & (1u << NKI_OPERAND_FLOAT) ||
        !interp_rule(c->build.in, NKI_RULE_ENUMS))
        return true;
    if (mode) {
        interp_warn(c->build.in, c->build.node, "hone-enum",
                    "dge_mode is documented to be a member of nisa.dge_mode, not a number");
        return true;
    }
    return interp_error(c->build.in, c->build.node, "hone-enum",
                        "%s must be a member of nisa.%s, not a number", param->name, param->name);
}

/* A member of an enumeration by its name, which kernels give for perf_mode: "double_row". */
static void read_member(const struct isa_call *c, int k, struct value *v) {
    if (v->kind == VALUE_STR && c->build.op == NKI_OP_NC_MATMUL && k == NKI_NC_MATMUL_perf_mode)
        (void)api_enum_member("matmul_perf_mode", (struct str){v->str->at, v->str->len}, v);
}

static bool put_value(struct isa_call *c, int k, struct value v) {
    struct nki_operand *out = &c->build.operand[k];
    read_member(c, k, &v);
    if (c->build.op == NKI_OP_DMA_COMPUTE && k == NKI_DMA_COMPUTE_scales)
        return put_scales(c, v);
    double number;
    switch (v.kind) {
    case VALUE_NONE: return true;
    case VALUE_BOOL: *out = operand_bool(v.b); return true;
    case VALUE_INT: return put_number(c, k, v.i);
    case VALUE_FLOAT: *out = operand_float(v.f); return true;
    case VALUE_FUNC:
    case VALUE_NATIVE:
        if (api_func_of(v) == NKI_FUNC_NONE)
            break;
        *out = operand_func(api_func_of(v));
        return true;
    case VALUE_ENUM: *out = operand_enum(v.enumeration->number); return true;
    case VALUE_DTYPE: *out = (struct nki_operand){.kind = NKI_OPERAND_DTYPE, .i = v.i}; return true;
    case VALUE_REGISTER: *out = api_register_operand(c->build.in, v); return true;
    case VALUE_LIST:
    case VALUE_TUPLE: return list_operand(c, v, out);
    case VALUE_TENSOR:
        c->build.tensor[k] = v.tensor;
        *out = (struct nki_operand){.kind = NKI_OPERAND_AP};
        return true;
    default:
        if (!api_want_number(v, &number))
            break;
        *out = operand_float(number);
        return true;
    }
    return interp_error(c->build.in, c->build.node, "hone-argument",
                        "nisa.%s: an operand cannot be %s", nki_op_name(c->build.op),
                        value_type_name(v));
}

static bool put_engine(struct isa_call *c, struct value v) {
    if (v.kind == VALUE_NONE)
        return true;
    if (v.kind != VALUE_ENUM || strcmp(v.enumeration->type, "engine") != 0)
        return interp_error(c->build.in, c->build.node, "hone-enum",
                            "engine must be a member of "
                            "nisa.engine; found %s",
                            value_type_name(v));
    c->build.engine = (enum nki_engine)v.enumeration->number;
    return true;
}

static bool put_special(struct isa_call *c, int to, struct value v) {
    struct interp *in = c->build.in;
    const struct nki_node *node = c->build.node;
    switch (to) {
    case TO_ENGINE: return put_engine(c, v);
    case TO_NAME:
        if (v.kind == VALUE_STR)
            c->build.label = arena_strndup(interp_arena(in), v.str->at, v.str->len);
        return true;
    case TO_MASK:
        if (v.kind != VALUE_NONE && interp_dialect(in) != NKI_DIALECT_LEGACY)
            return interp_error(in, node, "hone-removed-keyword",
                                "mask= does not exist any more: size the slices of "
                                "the operands instead");
        return api_want_mask(in, node, v, &c->build.mask);
    case TO_DTYPE:
        if (v.kind != VALUE_NONE && interp_dialect(in) != NKI_DIALECT_LEGACY)
            interp_warn(in, node, "hone-removed-keyword",
                        "dtype= has no effect on nisa.%s any more: dst decides",
                        nki_op_name(c->build.op));
        return api_want_dtype(in, node, v, &c->dtype);
    case TO_SHAPE: return tensor_read_shape(in, node, v, c->shape, &c->n_dims);
    case TO_RMW: c->rmw = v.kind != VALUE_NONE; return true;
    case TO_EXPRESSION:
    case TO_PREDICATE:
        if (v.kind != VALUE_INDEX || v.index->mask != (to == TO_PREDICATE) || v.index->plus)
            return interp_error(in, node, "hone-argument",
                                "nisa.%s takes %s of nl.arange; found %s", nki_op_name(c->build.op),
                                to == TO_PREDICATE ? "a comparison" : "an expression",
                                value_type_name(v));
        *(to == TO_PREDICATE ? &c->predicate : &c->expression) = v.index;
        return true;
    default: return true;
    }
}

static bool bind_call(struct isa_call *c, const struct call *call) {
    bool given[MAX_PARAMETERS] = {0};
    for (int k = 0; k < MAX_PARAMETERS; k++)
        c->value[k] = NONE_VALUE;
    if (!interp_bind(c->build.in, call, c->binding->signature, c->value, given))
        return false;
    for (int k = 0; k < c->binding->n; k++) {
        if (!given[k])
            continue;
        int to = c->binding->to[k];
        if (!(to >= 0 ? put_value(c, to, c->value[k]) : put_special(c, to, c->value[k])))
            return false;
    }
    return true;
}

/* ---- results of legacy calls ---------------------------------------------------------------- */

/* The operand that the result is made of, if it is a tile. */
static const struct tensor *main_operand(const struct isa_call *c) {
    int source = nki_op_source(c->build.op, NKI_DST);
    return source < 0 ? NULL : c->build.tensor[source];
}

static struct tensor *tile_of(struct isa_call *c, enum nki_space space, enum dtype dtype,
                              const int64_t *shape, int n_dims) {
    return tensor_tile(c->build.in, c->build.node, space, c->dtype ? c->dtype : dtype, shape,
                       n_dims);
}

/* A tile like another, with one free dimension in place of all. */
static struct tensor *narrow_tile(struct isa_call *c, const struct tensor *like, int64_t width,
                                  enum dtype dtype) {
    return tile_of(c, NKI_SBUF, dtype, (int64_t[]){tensor_partitions(like), width}, 2);
}

static struct tensor *transpose_result(struct isa_call *c, const struct tensor *data) {
    int64_t shape[2] = {tensor_free(data), tensor_partitions(data)};
    bool vector = c->build.engine == NKI_ENGINE_VECTOR ||
                  (c->build.engine == NKI_ENGINE_UNKNOWN && shape[0] <= 32 && shape[1] <= 32);
    if (c->build.engine == NKI_ENGINE_UNKNOWN)
        c->build.engine = vector ? NKI_ENGINE_VECTOR : NKI_ENGINE_TENSOR;
    return tile_of(c, vector ? NKI_SBUF : NKI_PSUM, data->dtype, shape, 2);
}

/* 2-D [1,0], 3-D [2,1,0], 4-D [3,1,2,0] */
static struct tensor *dma_transpose_result(struct isa_call *c, const struct tensor *src) {
    int64_t shape[TENSOR_MAX_DIMS];
    int n = src->n_dims;
    for (int d = 0; d < n; d++)
        shape[d] = src->dim[d].size;
    int64_t first = shape[0];
    shape[0] = shape[n - 1];
    shape[n - 1] = first;
    return tile_of(c, NKI_SBUF, src->dtype, shape, n);
}

/* [M, .. the free dimensions of the moving operand]. With double_row both operands have two rows in
 * each partition, [K, 2, M] and [K, 2, N]. */
static struct tensor *matmul_result(struct isa_call *c) {
    const struct tensor *stationary = c->build.tensor[NKI_NC_MATMUL_stationary];
    const struct tensor *moving = c->build.tensor[NKI_NC_MATMUL_moving];
    if (!stationary || !moving) {
        interp_error(c->build.in, c->build.node, "hone-argument",
                     "nisa.nc_matmul: stationary and moving must "
                     "be tiles");
        return NULL;
    }
    bool turns = c->build.operand[NKI_NC_MATMUL_is_transpose].i;
    const struct nki_operand *mode = &c->build.operand[NKI_NC_MATMUL_perf_mode];
    bool rows = mode->kind == NKI_OPERAND_ENUM && mode->i == NKI_PERF_DOUBLE_ROW;
    int64_t shape[TENSOR_MAX_DIMS] = {tensor_free(stationary) / (rows ? 2 : 1)};
    int n = 1, d = 0;
    for (; rows && d < moving->n_dims; d++)
        if (!moving->dim[d].part && moving->dim[d].size != 1)
            break;
    if (rows && (d == moving->n_dims || moving->dim[d].size != 2)) {
        interp_error(c->build.in, c->build.node, "hone-shape",
                     "nisa.nc_matmul: double_row takes a moving operand of [K, 2, N]");
        return NULL;
    }
    for (d = rows ? d + 1 : 0; d < moving->n_dims; d++)
        if (!moving->dim[d].part)
            shape[n++] = moving->dim[d].size;
    api_put(&c->build, NKI_NC_MATMUL_accumulate, operand_bool(false));
    return tile_of(c, NKI_PSUM, turns ? stationary->dtype : DTYPE_FLOAT32, shape, n);
}

static struct tensor *gather_result(struct isa_call *c, const struct tensor *source) {
    const struct tensor *index = c->build.tensor[NKI_LOCAL_GATHER_index];
    if (!index) {
        interp_error(c->build.in, c->build.node, "hone-argument",
                     "nisa.local_gather: index must be a tile");
        return NULL;
    }
    const struct nki_operand *valid = &c->build.operand[NKI_LOCAL_GATHER_num_valid_indices];
    const struct nki_operand *width = &c->build.operand[NKI_LOCAL_GATHER_num_elem_per_idx];
    int64_t each = width->kind == NKI_OPERAND_INT ? width->i : 1;
    int64_t n = valid->kind == NKI_OPERAND_INT ? valid->i : tensor_free(index) * 16;
    return each == 1 ? narrow_tile(c, source, n, source->dtype)
                     : tile_of(c, NKI_SBUF, source->dtype,
                               (int64_t[]){tensor_partitions(source), n, each}, 3);
}

static enum dtype result_dtype(const struct isa_call *c, const struct tensor *main) {
    const struct tensor *other = NULL;
    if (c->build.op == NKI_OP_TENSOR_TENSOR)
        other = c->build.tensor[NKI_TENSOR_TENSOR_data2];
    else if (c->build.op == NKI_OP_TENSOR_TENSOR_SCAN)
        other = c->build.tensor[NKI_TENSOR_TENSOR_SCAN_data1];
    else if (c->build.op == NKI_OP_SCALAR_TENSOR_TENSOR)
        other = c->build.tensor[NKI_SCALAR_TENSOR_TENSOR_operand1];
    return other ? api_promote(main->dtype, other->dtype) : main->dtype;
}

static struct tensor *legacy_result(struct isa_call *c) {
    struct api_build *b = &c->build;
    const struct tensor *main = main_operand(c);
    if (b->op == NKI_OP_MEMSET)
        return tile_of(c, NKI_SBUF, DTYPE_FLOAT32, c->shape, c->n_dims);
    if (b->op == NKI_OP_IOTA)
        return tile_of(c, NKI_SBUF, DTYPE_INT32, c->expression->size, c->expression->n_dims);
    if (b->op == NKI_OP_NC_MATMUL)
        return matmul_result(c);
    if (!main) {
        interp_error(b->in, b->node, "hone-argument", "nisa.%s: the data operand must be a tile",
                     nki_op_name(b->op));
        return NULL;
    }
    switch (b->op) {
    case NKI_OP_NC_TRANSPOSE: return transpose_result(c, main);
    case NKI_OP_DMA_TRANSPOSE: return dma_transpose_result(c, main);
    case NKI_OP_BN_STATS: return narrow_tile(c, main, 6, main->dtype);
    case NKI_OP_BN_AGGR: return narrow_tile(c, main, 2, main->dtype);
    case NKI_OP_MAX8: return narrow_tile(c, main, 8, main->dtype);
    case NKI_OP_NC_FIND_INDEX8: return narrow_tile(c, main, 8, DTYPE_UINT32);
    case NKI_OP_LOCAL_GATHER: return gather_result(c, main);
    case NKI_OP_TENSOR_PARTITION_REDUCE: {
        struct tensor one;
        tensor_read(&one, main);
        for (int d = 0; d < one.n_dims; d++)
            if (one.dim[d].part)
                one.dim[d].size = 1;
        return api_tile_like(b->in, b->node, &one, NKI_SBUF, c->dtype ? c->dtype : main->dtype);
    }
    case NKI_OP_SEQUENCE_BOUNDS:
        return tile_of(c, NKI_SBUF, main->dtype,
                       (int64_t[]){tensor_partitions(main), 2, tensor_free(main)}, 3);
    default:
        return api_tile_like(b->in, b->node, main, NKI_SBUF,
                             c->dtype ? c->dtype : result_dtype(c, main));
    }
}

/* ---- calls that are more than one row of the table ------------------------------------------ */

/* iota and affine_select: an affine expression as pattern, offset and channel multiplier. Dimension
 * 0 is the partition. */
static void put_affine(struct isa_call *c, const struct index_affine *at, const int64_t *size,
                       int n_dims) {
    int n = MAX_OF(n_dims - 1, 1);
    int64_t *pattern = ARENA_ARRAY(interp_arena(c->build.in), int64_t, 2 * (size_t)n);
    pattern[1] = 1;
    for (int d = 1; d < n_dims; d++) {
        pattern[2 * (d - 1)] = at->c[d];
        pattern[2 * (d - 1) + 1] = size[d];
    }
    bool iota = c->build.op == NKI_OP_IOTA;
    api_put(&c->build, iota ? NKI_IOTA_pattern : NKI_AFFINE_SELECT_pattern,
            (struct nki_operand){.kind = NKI_OPERAND_INTS, .n = 2 * (uint32_t)n, .ints = pattern});
    api_put(&c->build, iota ? NKI_IOTA_channel_multiplier : NKI_AFFINE_SELECT_channel_multiplier,
            operand_int(at->c[0]));
    api_put(&c->build, iota ? NKI_IOTA_offset : NKI_AFFINE_SELECT_offset, operand_int(at->c0));
}

static bool is_opposite(const struct index_affine *a, const struct index_affine *b) {
    if (a->c0 != -b->c0)
        return false;
    for (int d = 0; d < INDEX_MAX_DIMS; d++)
        if (a->c[d] != -b->c[d])
            return false;
    return true;
}

/* One selection for each comparison that the predicate joins. */
static bool legacy_select(struct isa_call *c, struct value *result) {
    struct api_build *b = &c->build;
    const struct tensor *data = b->tensor[NKI_AFFINE_SELECT_on_true_tile];
    struct tensor *dst = legacy_result(c);
    const struct index_expr *pred = c->predicate;
    if (!dst || !data)
        return false;
    int64_t size[INDEX_MAX_DIMS];
    int n = MIN_OF(data->n_dims, INDEX_MAX_DIMS);
    for (int d = 0; d < n; d++)
        size[d] = data->dim[d].size;
    for (int k = 0; k < pred->n_terms; k++) {
        bool equal = k + 1 < pred->n_terms && is_opposite(&pred->term[k], &pred->term[k + 1]);
        struct index_affine at = index_align(&pred->term[k], pred->n_dims, n);
        put_affine(c, &at, size, n);
        api_put_tensor(b, NKI_AFFINE_SELECT_dst, dst);
        api_put_tensor(b, NKI_AFFINE_SELECT_on_true_tile, k ? dst : data);
        api_put(b, NKI_AFFINE_SELECT_cmp_op,
                operand_func(equal ? NKI_FUNC_EQUAL : NKI_FUNC_GREATER_EQUAL));
        if (!api_emit(b))
            return false;
        k += equal;
    }
    if (pred->n_terms == 0 && !api_copy(b->in, b->node, dst, data, b->mask))
        return false;
    *result = api_produced(b->in, b->node, dst, b->mask);
    return true;
}

static bool legacy_reduce(struct isa_call *c, struct value *result) {
    struct api_build *b = &c->build;
    int parameter = -1;
    for (int k = 0; k < c->binding->n; k++)
        if (c->binding->to[k] == NKI_TENSOR_REDUCE_axis)
            parameter = k;
    const struct nki_operand *operand = b->operand, *func = &operand[NKI_TENSOR_REDUCE_op];
    const struct tensor *data = b->tensor[NKI_TENSOR_REDUCE_data];
    bool is_func = func->kind == NKI_OPERAND_FUNC; /* here a kernel may give a number */
    struct api_op op = {.in = b->in,
                        .node = b->node,
                        .dtype = c->dtype,
                        .mask = b->mask,
                        .func = is_func ? (enum nki_func)func->i : NKI_FUNC_NONE};
    struct api_reduction reduction = {
        .axes = c->value[parameter],
        .negate = operand[NKI_TENSOR_REDUCE_negate].i,
        .keepdims = operand[NKI_TENSOR_REDUCE_keepdims].i,
    };
    if (!data || !is_func || !nki_func_has(op.func, 'r'))
        return interp_error(b->in, b->node, "hone-operator",
                            "nisa.tensor_reduce: op must be a reduction like "
                            "np.add, data a tile");
    return api_lower_reduce(&op, value_tensor(data), &reduction, result);
}

/* The view with as many dimensions as `like`, of size 1 behind the partition, when it has a single
 * column; else itself. */
static const struct tensor *as_column(struct interp *in, const struct tensor *t,
                                      const struct tensor *like) {
    if (t->n_dims == like->n_dims || tensor_free(t) != 1 || tensor_part(like) != 0 ||
        tensor_part(t) < 0)
        return t;
    struct tensor view;
    tensor_read(&view, t);
    view.dim[0] = t->dim[tensor_part(t)];
    view.n_dims = like->n_dims;
    for (int d = 1; d < view.n_dims; d++)
        view.dim[d] = (struct tensor_dim){.size = 1, .step = 1};
    return t->bounds || t->indirect ? t : tensor_keep(in, &view);
}

/* The two sources of tensor_tensor and tensor_tensor_scan: sizes of 1 are repeated, and a column
 * along all free dimensions of the other one. */
static bool broadcast_pair(struct isa_call *c) {
    struct api_build *b = &c->build;
    int i = nki_op_source(b->op, NKI_DST), j = nki_op_source(b->op, i);
    for (int swap = 0; swap < 2; swap++) {
        const struct tensor *x = b->tensor[swap ? j : i], *y = b->tensor[swap ? i : j];
        if (!x || !y || tensor_count(x) >= tensor_count(y))
            continue;
        if (tensor_partitions(x) != tensor_partitions(y))
            return interp_error(b->in, b->node, "err_num_partition_mismatch",
                                "nisa.%s: the tiles have shapes %s and %s, and it repeats no "
                                "partitions: use the broadcast_to of the smaller one",
                                nki_op_name(b->op), tensor_shape_text(b->in, x),
                                tensor_shape_text(b->in, y));
        x = as_column(b->in, x, y);
        if (x->n_dims != y->n_dims)
            continue;
        int64_t shape[TENSOR_MAX_DIMS];
        for (int d = 0; d < y->n_dims; d++)
            shape[d] = MAX_OF(x->dim[d].size, y->dim[d].size);
        if (!(b->tensor[swap ? j : i] = tensor_broadcast(b->in, b->node, x, shape, y->n_dims)))
            return false;
    }
    return true;
}

/* The Tensor engine reads only SBUF, and GpSimd cannot reach PSUM. For instructions of these
 * engines the legacy compiler copies such operands to SBUF. */
static bool leave_psum(struct isa_call *c) {
    struct api_build *b = &c->build;
    const char *engines = nki_op_engines(b->op);
    bool sbuf_only = b->op == NKI_OP_NC_MATMUL || strcmp(engines, "G") == 0;
    for (int k = 1; sbuf_only && k < API_MAX_OPERANDS; k++) {
        const struct tensor *t = b->tensor[k];
        if (!t || t->space != NKI_PSUM)
            continue;
        struct tensor *copy = api_tile_like(b->in, b->node, t, NKI_SBUF, t->dtype);
        if (!copy || !api_copy(b->in, b->node, copy, t, NULL))
            return false;
        b->tensor[k] = copy;
    }
    return true;
}

/* Compute engines read real partitions, so broadcasts over partitions are made first. */
static bool settle_operands(struct isa_call *c) {
    struct api_build *b = &c->build;
    bool dma = strchr(nki_op_engines(b->op), 'D') != NULL;
    bool legacy = interp_dialect(b->in) == NKI_DIALECT_LEGACY;
    if (!dma && legacy && (b->op == NKI_OP_TENSOR_TENSOR || b->op == NKI_OP_TENSOR_TENSOR_SCAN) &&
        !broadcast_pair(c))
        return false;
    for (int k = 1; !dma && k < API_MAX_OPERANDS; k++)
        if (b->tensor[k] && !(b->tensor[k] = api_operand(b->in, b->node, b->tensor[k])))
            return false;
    return true;
}

/* dma_copy(.., dst_rmw_op=np.add): dst += src by DMA. */
static bool legacy_accumulate(struct isa_call *c) {
    struct api_build *b = &c->build, sum;
    const struct nki_ap **aps = ARENA_ARRAY(interp_arena(b->in), const struct nki_ap *, 2);
    if (!(aps[0] = tensor_ap(b->in, b->node, b->tensor[NKI_DMA_COPY_src], NULL)) ||
        !(aps[1] = tensor_ap(b->in, b->node, b->tensor[NKI_DMA_COPY_dst], NULL)))
        return false;
    api_start(&sum, b->in, b->node, NKI_OP_DMA_COMPUTE);
    api_put_tensor(&sum, NKI_DMA_COMPUTE_dst, b->tensor[NKI_DMA_COPY_dst]);
    api_put(&sum, NKI_DMA_COMPUTE_srcs,
            (struct nki_operand){.kind = NKI_OPERAND_APS, .n = 2, .aps = aps});
    api_put(&sum, NKI_DMA_COMPUTE_reduce_op, operand_func(NKI_FUNC_ADD));
    return api_emit(&sum);
}

static bool check_dst(struct isa_call *c) {
    const struct tensor *dst = c->build.tensor[NKI_DST];
    if (!dst)
        return interp_error(c->build.in, c->build.node, "hone-argument",
                            "nisa.%s: dst must be a tensor", nki_op_name(c->build.op));
    if (dst->immutable)
        return interp_error(c->build.in, c->build.node, "err_cannot_update_immutable_parameter",
                            "a kernel parameter cannot be written: annotate it nt.mutable_tensor "
                            "and return it");
    return true;
}

/* The axes as the release counts them: until NKI 0.3, 1 was the last one of a tile of three or four
 * dimensions. They must be the last dimensions, and dst hold what they leave. */
static bool check_axes(struct isa_call *c) {
    struct api_build *b = &c->build;
    const struct tensor *data = b->tensor[NKI_TENSOR_REDUCE_data], *dst = b->tensor[NKI_DST];
    struct nki_operand *axes = &b->operand[NKI_TENSOR_REDUCE_axis];
    bool one = axes->kind == NKI_OPERAND_INT, reduced[TENSOR_MAX_DIMS] = {0};
    if (b->op != NKI_OP_TENSOR_REDUCE || !data || (!one && axes->kind != NKI_OPERAND_INTS))
        return true;
    if (one && axes->i == 1 && data->n_dims > 2 && !interp_rule(b->in, NKI_RULE_REAL_AXES))
        axes->i = data->n_dims - 1;
    int64_t left = 1;
    int first = data->n_dims;
    for (uint32_t i = 0; i < (one ? 1 : axes->n); i++) {
        int64_t axis = one ? axes->i : axes->ints[i];
        axis += axis < 0 ? data->n_dims : 0;
        if (axis < 1 || axis >= data->n_dims)
            return interp_error(b->in, b->node, "hone-axis",
                                "nisa.tensor_reduce: data of shape %s has the axes 1 to %d to "
                                "reduce; partitions are reduced by nisa.tensor_partition_reduce "
                                "or a matmul",
                                tensor_shape_text(b->in, data), data->n_dims - 1);
        reduced[axis] = true;
        first = MIN_OF(first, (int)axis);
    }
    for (int d = 1; d < data->n_dims; d++)
        if (d >= first && !reduced[d])
            return interp_error(b->in, b->node, "hone-axis",
                                "nisa.tensor_reduce: the axes must be the last ones of shape %s; "
                                "exchange dimensions of the view first, with .permute",
                                tensor_shape_text(b->in, data));
        else if (d < first)
            left *= data->dim[d].size;
    return tensor_free(dst) == left ||
           interp_error(b->in, b->node, "hone-shape",
                        "nisa.tensor_reduce: dst has %lld elements per partition, the reduction "
                        "leaves %lld",
                        (long long)tensor_free(dst), (long long)left);
}

static bool run_with_dst(struct isa_call *c, struct value *result) {
    if (!check_dst(c) || !settle_operands(c) || !check_axes(c))
        return false;
    size_t first = interp_program(c->build.in)->instrs.len;
    if (!(c->rmw ? legacy_accumulate(c) : api_emit(&c->build)))
        return false;
    *result = api_instruction(c->build.in, c->build.node, first);
    return true;
}

/* Whether it does without tiles of the compiler's, if the kernel has none. */
static bool is_explicit(const struct api_build *b) {
    size_t bias = b->op == NKI_OP_ACTIVATION          ? NKI_ACTIVATION_bias
                  : b->op == NKI_OP_ACTIVATION_REDUCE ? NKI_ACTIVATION_REDUCE_bias
                                                      : 0;
    if (bias && b->operand[bias].kind != NKI_OPERAND_AP)
        return api_implicit(b->in, b->node, API_IMPLICIT_BIAS);
    return b->op != NKI_OP_NC_TRANSPOSE || b->engine == NKI_ENGINE_VECTOR ||
           api_implicit(b->in, b->node, API_IMPLICIT_TRANSPOSE);
}

static bool run_legacy(struct isa_call *c, struct value *result) {
    struct api_build *b = &c->build;
    if (!settle_operands(c) || !leave_psum(c) || !is_explicit(b))
        return false;
    if (b->op == NKI_OP_AFFINE_SELECT)
        return legacy_select(c, result);
    if (b->op == NKI_OP_TENSOR_REDUCE)
        return legacy_reduce(c, result);
    struct tensor *dst = legacy_result(c);
    if (!dst)
        return false;
    if (b->op == NKI_OP_IOTA)
        put_affine(c, &c->expression->at, c->expression->size, c->expression->n_dims);
    api_put_tensor(b, NKI_DST, dst);
    if (!api_emit(b))
        return false;
    *result = api_produced(b->in, b->node, dst, api_dst_mask(b));
    return true;
}

static bool has_keyword(const struct call *call, const char *name) {
    for (size_t i = 0; i < call->n_keywords; i++)
        if (str_is(call->keywords[i].name, name))
            return true;
    return false;
}

static bool missing_dst(struct interp *in, const struct call *call, enum nki_op op) {
    const struct nki_node *parent = call->node->parent;
    bool used = parent && (parent->kind == NKI_ASSIGN || parent->kind == NKI_AUG_ASSIGN);
    if (call->n_args || has_keyword(call, nki_op_row(op)->params[NKI_DST].name) || !used)
        return true;
    return interp_error(in, call->node, "hone-missing-dst",
                        "nisa.%s: dst is missing: give the tile to write as "
                        "dst=; an instruction returns no tile",
                        nki_op_name(op));
}

bool api_isa_call(struct interp *in, const struct call *call, struct value *result) {
    enum nki_op op = (enum nki_op)(uintptr_t)call->data;
    bool legacy = interp_dialect(in) == NKI_DIALECT_LEGACY && nki_op_in_legacy(op);
    struct isa_call c = {.dtype = DTYPE_NONE};
    if (!legacy && !missing_dst(in, call, op))
        return false;
    bool older = has_keyword(call, "mask") || has_keyword(call, "dtype");
    c.binding = binding_of(in, op, legacy ? FORM_LEGACY : older ? FORM_OLDER : FORM_CURRENT);
    if (legacy && !c.binding->has_dst && has_keyword(call, "dst"))
        c.binding = binding_of(in, op, FORM_OLDER);
    api_start(&c.build, in, call->node, op);
    if (!bind_call(&c, call))
        return false;
    return c.binding->has_dst ? run_with_dst(&c, result) : run_legacy(&c, result);
}
