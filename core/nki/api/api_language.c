/* SPDX-License-Identifier: Apache-2.0 */
/* nki.language: the table of its names, the calls of operators (nl.exp(x)), reductions, loops and
 * queries. What creates and moves tensors is in api_create.c and api_move.c. */
#include "nki/api/api.h"

bool api_bind(struct interp *in, const struct call *call, const char *signature,
              struct value *values) {
    bool given[API_MAX_BOUND] = {0};
    const struct signature *parsed = interp_signature(in, signature);
    size_t n = signature_count(parsed);
    if (n > API_MAX_BOUND)
        HONE_BUG("a signature with too many parameters");
    for (size_t k = 0; k < n; k++)
        values[k] = NONE_VALUE;
    if (!interp_bind(in, call, parsed, values, given))
        return false;
    for (size_t k = 0; k < n; k++)
        if (!given[k])
            values[k] = NONE_VALUE;
    return true;
}

static bool legacy(struct interp *in) {
    return interp_dialect(in) == NKI_DIALECT_LEGACY;
}

static bool read_options(struct api_op *op, struct value dtype, struct value mask) {
    if (mask.kind != VALUE_NONE && !legacy(op->in))
        return interp_error(op->in, op->node, "hone-removed-keyword",
                            "mask= does not exist any more: size the slices "
                            "of the operands instead");
    return api_want_dtype(op->in, op->node, dtype, &op->dtype) &&
           api_want_mask(op->in, op->node, mask, &op->mask);
}

bool api_func_call(struct interp *in, const struct call *call, enum nki_func func,
                   struct value *result) {
    struct value v[4];
    struct api_op op = {.in = in, .node = call->node, .func = func};
    if (func == NKI_FUNC_COPY)
        return api_bind(in, call, "x, dtype=None, mask=None, **", v) &&
               read_options(&op, v[1], v[2]) && api_lower_unary(&op, v[0], result);
    if (nki_func_has(func, 'b'))
        return api_bind(in, call, "x, y, dtype=None, mask=None", v) &&
               read_options(&op, v[2], v[3]) && api_take_pair(&op, v[0], v[1]) &&
               api_lower_binary(&op, v[0], v[1], result);
    return api_bind(in, call, "x, dtype=None, mask=None", v) && read_options(&op, v[1], v[2]) &&
           api_lower_unary(&op, v[0], result);
}

/* ---- reductions and composites -------------------------------------------------------------- */

static bool read_keepdims(struct interp *in, const struct nki_node *node, struct value v,
                          bool *keep) {
    *keep = false;
    return v.kind == VALUE_NONE || interp_truth(in, node, v, keep);
}

static bool nl_reduce(struct interp *in, const struct call *call, struct value *result) {
    struct value v[5];
    struct api_op op = {.in = in, .node = call->node, .func = (enum nki_func)(uintptr_t)call->data};
    struct api_reduction reduction = {0};
    if (!api_bind(in, call, "x, axis, dtype=None, mask=None, keepdims=False", v))
        return false;
    reduction.axes = v[1];
    return read_options(&op, v[2], v[3]) &&
           read_keepdims(in, call->node, v[4], &reduction.keepdims) &&
           api_lower_reduce(&op, v[0], &reduction, result);
}

static bool nl_var(struct interp *in, const struct call *call, struct value *result) {
    struct value v[5];
    struct api_op op = {.in = in, .node = call->node};
    struct api_reduction reduction = {.keepdims = true};
    if (!api_bind(in, call, "x, axis, dtype=None, mask=None, keepdims=False", v))
        return false;
    reduction.axes = v[1];
    return read_options(&op, v[2], v[3]) && api_lower_variance(&op, v[0], &reduction, result);
}

static bool nl_softmax(struct interp *in, const struct call *call, struct value *result) {
    struct value v[5];
    struct api_op op = {.in = in, .node = call->node};
    if (!api_bind(in, call, "x, axis=-1, dtype=None, mask=None, compute_dtype=None", v))
        return false;
    if (v[1].kind == VALUE_NONE)
        v[1] = value_int(-1);
    return read_options(&op, v[2], v[3]) && api_lower_softmax(&op, v[0], v[1], result);
}

static bool nl_rms_norm(struct interp *in, const struct call *call, struct value *result) {
    struct value v[8];
    struct api_op op = {.in = in, .node = call->node};
    struct api_rms_norm norm = {.epsilon = 1e-6};
    if (!api_bind(in, call,
                  "x, w, axis, n, epsilon=1e-6, dtype=None, compute_dtype=None, "
                  "mask=None",
                  v) ||
        !read_options(&op, v[5], v[7]) || !api_want_tensor(in, call->node, "x", v[0], &norm.x) ||
        !api_want_tensor(in, call->node, "w", v[1], &norm.w))
        return false;
    norm.axis = v[2];
    if (!api_want_number(v[3], &norm.n) ||
        (v[4].kind != VALUE_NONE && !api_want_number(v[4], &norm.epsilon)))
        return interp_error(in, call->node, "hone-argument",
                            "nl.rms_norm: n and epsilon are numbers");
    return api_lower_rms_norm(&op, &norm, result);
}

static bool nl_matmul(struct interp *in, const struct call *call, struct value *result) {
    struct value v[5];
    const struct tensor *x, *y;
    struct api_op op = {.in = in, .node = call->node};
    bool transpose = false;
    if (!api_bind(in, call, "x, y, transpose_x=False, mask=None, dtype=None", v) ||
        !read_options(&op, v[4], v[3]) || !api_want_tensor(in, call->node, "x", v[0], &x) ||
        !api_want_tensor(in, call->node, "y", v[1], &y) ||
        (v[2].kind != VALUE_NONE && !interp_truth(in, call->node, v[2], &transpose)))
        return false;
    return api_lower_matmul(&op, x, y, transpose, result);
}

/* A predicate of small integers, which the predicated copy takes. That of the current dialect takes
 * none with a sign. */
static const struct tensor *predicate(const struct api_op *op, const struct tensor *condition) {
    bool small = dtype_is_int(condition->dtype) && dtype_bytes(condition->dtype) < 4;
    bool sign = dtype_kind(condition->dtype) == 'i' && !legacy(op->in);
    if (small && !sign)
        return condition;
    struct tensor *tile = api_tile_like(op->in, op->node, condition, NKI_SBUF, DTYPE_UINT8);
    if (small) {
        struct api_op set = {
            .in = op->in, .node = op->node, .func = NKI_FUNC_NOT_EQUAL, .dst = tile};
        struct value ignored;
        return tile && api_lower_binary(&set, value_tensor(condition), value_int(0), &ignored)
                   ? tile
                   : NULL;
    }
    return tile && api_copy(op->in, op->node, tile, condition, NULL) ? tile : NULL;
}

static enum dtype either_dtype(struct value x, struct value y) {
    if (x.kind == VALUE_TENSOR && y.kind == VALUE_TENSOR)
        return api_promote(x.tensor->dtype, y.tensor->dtype);
    return x.kind == VALUE_TENSOR   ? x.tensor->dtype
           : y.kind == VALUE_TENSOR ? y.tensor->dtype
                                    : DTYPE_FLOAT32;
}

/* A tile or a number, as a tile of the wanted shape and dtype. */
static const struct tensor *as_tile(const struct api_op *op, const struct tensor *shape,
                                    enum dtype dtype, struct value v) {
    int64_t sizes[TENSOR_MAX_DIMS];
    const struct tensor *t = v.kind == VALUE_TENSOR ? v.tensor : NULL;
    for (int d = 0; d < shape->n_dims; d++)
        sizes[d] = shape->dim[d].size;
    if (t && !tensor_same_shape(t, shape))
        t = tensor_broadcast(op->in, op->node, t, sizes, shape->n_dims);
    if (t && t->dtype == dtype)
        return t;
    struct tensor *tile = api_tile_like(op->in, op->node, shape, NKI_SBUF, dtype);
    struct value item = t ? value_tensor(t) : v;
    return tile && api_assign(op->in, op->node, tile, item) ? tile : NULL;
}

/* dst = y; dst = x where the condition holds. */
static bool nl_where(struct interp *in, const struct call *call, struct value *result) {
    struct value v[5];
    const struct tensor *condition, *x, *set;
    struct api_op op = {.in = in, .node = call->node, .name = "where"};
    struct api_build b;
    if (!api_bind(in, call, "condition, x, y, dtype=None, mask=None", v) ||
        !read_options(&op, v[3], v[4]) ||
        !api_want_tensor(in, call->node, "condition", v[0], &condition) ||
        !api_take_pair(&op, v[0], v[1]) || !api_take_pair(&op, v[0], v[2]))
        return false;
    enum dtype dtype = op.dtype ? op.dtype : either_dtype(v[1], v[2]);
    struct tensor *dst = api_tile_like(in, call->node, condition, NKI_SBUF, dtype);
    if (!dst || !api_assign(in, call->node, dst, v[2]) ||
        !(x = as_tile(&op, condition, dtype, v[1])) || !(set = predicate(&op, condition)))
        return false;
    api_start(&b, in, call->node, NKI_OP_TENSOR_COPY_PREDICATED);
    b.mask = op.mask;
    api_put_tensor(&b, NKI_TENSOR_COPY_PREDICATED_dst, dst);
    api_put_tensor(&b, NKI_TENSOR_COPY_PREDICATED_src, x);
    api_put_tensor(&b, NKI_TENSOR_COPY_PREDICATED_predicate, set);
    if (!api_emit(&b))
        return false;
    *result = value_tensor(dst);
    return true;
}

static bool nl_dropout(struct interp *in, const struct call *call, struct value *result) {
    struct value v[4];
    const struct tensor *x;
    struct api_op op = {.in = in, .node = call->node};
    struct api_build b;
    double rate;
    if (!api_bind(in, call, "x, rate, dtype=None, mask=None", v) ||
        !read_options(&op, v[2], v[3]) || !api_want_tensor(in, call->node, "x", v[0], &x))
        return false;
    struct tensor *dst = api_tile_like(in, call->node, x, NKI_SBUF, x->dtype);
    if (!dst)
        return false;
    api_start(&b, in, call->node, NKI_OP_DROPOUT);
    b.mask = op.mask;
    api_put_tensor(&b, NKI_DROPOUT_dst, dst);
    api_put_tensor(&b, NKI_DROPOUT_data, x);
    if (v[1].kind == VALUE_TENSOR)
        api_put_tensor(&b, NKI_DROPOUT_prob, v[1].tensor);
    else if (api_want_number(v[1], &rate))
        api_put(&b, NKI_DROPOUT_prob, operand_float(rate));
    if (!api_emit(&b))
        return false;
    *result = api_produced(in, call->node, dst, op.mask);
    return true;
}

/* ---- loops, programs, queries --------------------------------------------------------------- */

/* A bound of a loop on the device: a number, or a register, which then decides the loop. */
static bool want_bound(struct interp *in, const struct nki_node *node, const char *what,
                       struct value v, int64_t *bound, struct value *decides) {
    if (!api_register_value(in, v, bound))
        return api_want_int(in, node, what, v, bound);
    if (api_scalar_dtype(in, v) == DTYPE_INT64)
        return interp_error(in, node, "hone-dtype",
                            "the %s of a loop is of int32; found an NkiScalar of int64, which no "
                            "branch compares",
                            what);
    *decides = v;
    return true;
}

static bool nl_dynamic_range(struct interp *in, const struct call *call, struct value *result) {
    struct value v[4];
    int64_t n[3] = {0, 0, 1};
    struct value_range *range = ARENA_NEW(interp_arena(in), struct value_range);
    range->decides = NONE_VALUE;
    if (interp_rule(in, NKI_RULE_LOOPS_BY_FUNCTION))
        return interp_error(in, call->node, "hone-removed-name",
                            "nl.dynamic_range cannot be looped over since NKI 0.7: use "
                            "nl.fori_loop(start, stop, body), or --release 0.6");
    if (!api_bind(in, call, "start, stop=None, step=None, **", v))
        return false;
    if (v[1].kind == VALUE_NONE) {
        v[1] = v[0];
        v[0] = value_int(0);
    }
    if (!want_bound(in, call->node, "start", v[0], &n[0], &range->decides) ||
        !want_bound(in, call->node, "stop", v[1], &n[1], &range->decides) ||
        (v[2].kind != VALUE_NONE && !api_want_int(in, call->node, "step", v[2], &n[2])))
        return false;
    if (n[2] <= 0)
        return interp_error(in, call->node, "hone-argument",
                            "the step of a loop must be 1 or more; found %lld", (long long)n[2]);
    range->start = n[0], range->stop = n[1], range->step = n[2];
    range->on_device = !legacy(in);
    *result = (struct value){.kind = VALUE_RANGE, .range = range};
    return true;
}

static bool nl_range(struct interp *in, const struct call *call, struct value *result) {
    struct value v[4];
    int64_t n[3] = {0, 0, 1};
    if (!api_bind(in, call, "start, stop=None, step=None, **", v))
        return false;
    if (v[1].kind == VALUE_NONE) {
        v[1] = v[0];
        v[0] = value_int(0);
    }
    if (v[2].kind == VALUE_NONE)
        v[2] = value_int(1);
    for (int i = 0; i < 3; i++)
        if (!api_want_int(in, call->node, call->data, v[i], &n[i]))
            return false;
    if (n[2] <= 0)
        return interp_error(in, call->node, "hone-argument",
                            "the step of a loop must be 1 or more; found %lld", (long long)n[2]);
    struct value_range *range = ARENA_NEW(interp_arena(in), struct value_range);
    *range =
        (struct value_range){.start = n[0],
                             .stop = n[1],
                             .step = n[2],
                             .is_scope = legacy(in) && strcmp(call->data, "nl.static_range"),
                             .any_order = legacy(in) && !strcmp(call->data, "nl.affine_range")};
    *result = (struct value){.kind = VALUE_RANGE, .range = range};
    return true;
}

/* The body is traced once on the device, so what it counts in Python is counted once. */
static void tell_traced(struct interp *in, const struct call *call, const char *loop,
                        struct interp_traced *traced) {
    struct str name;
    if (interp_traced_next(in, traced, &name))
        interp_warn(in, call->node, "hone-traced-once",
                    "the body of %s changes '" STR_FMT "', which Python keeps: the body is traced "
                    "once, so it changes once, not in every round",
                    loop, STR_ARG(name));
}

/* Loops of the device are run here: their index takes its values one after the other. */
static bool nl_fori_loop(struct interp *in, const struct call *call, struct value *result) {
    struct value v[4], ignored, decides = NONE_VALUE;
    int64_t low, high, step = 1;
    *result = NONE_VALUE;
    if (!api_bind(in, call, "lower, upper, body_fun, step=1", v) ||
        !want_bound(in, call->node, "lower", v[0], &low, &decides) ||
        !want_bound(in, call->node, "upper", v[1], &high, &decides) ||
        (v[3].kind != VALUE_NONE && !api_want_int(in, call->node, "step", v[3], &step)))
        return false;
    if (step < 1)
        return interp_error(in, call->node, "hone-argument",
                            "the step of a loop must be 1 or more; found %lld", (long long)step);
    if (!api_loop_begin(in, call->node))
        return false;
    bool good = true;
    struct interp_traced *traced = interp_traced_begin(in, v[2]);
    for (int64_t i = low; good && i < high; i += step) {
        struct value index = api_scalar_index(in, call->node, i);
        interp_traced_round(in, traced);
        good = api_loop_round(in, call->node, decides) && interp_spend(in, call->node, 1) &&
               interp_call(in, call->node, v[2], &index, 1, &ignored);
        if (good && ignored.kind != VALUE_NONE && ignored.kind != VALUE_INSTRUCTION)
            good = interp_error(in, call->node, "TypeError",
                                "the body of nl.fori_loop returns a %s, and must return nothing: "
                                "what a round leaves is in tiles that are made before the loop",
                                value_type_name(ignored));
        decides = NONE_VALUE;
        tell_traced(in, call, "nl.fori_loop", traced);
        api_loop_next(in);
    }
    interp_traced_end(traced);
    good = good && api_loop_round(in, call->node, decides);
    api_loop_end(in);
    return good;
}

/* body_fun gets the register and returns the next one; 0 ends the loop. */
static bool nl_while_loop(struct interp *in, const struct call *call, struct value *result) {
    struct value v[2];
    int64_t holds = 0;
    *result = NONE_VALUE;
    if (!api_bind(in, call, "init, body_fun", v))
        return false;
    struct value reg = v[0];
    bool good = api_loop_begin(in, call->node);
    struct interp_traced *traced = interp_traced_begin(in, v[1]);
    while (good) {
        good = api_register_value(in, reg, &holds) ||
               interp_error(in, call->node, "hone-argument",
                            "nl.while_loop goes on while a register is not 0; found %s",
                            value_type_name(reg));
        good = good && api_loop_round(in, call->node, reg);
        if (!good || !holds)
            break;
        struct value argument = reg;
        interp_traced_round(in, traced);
        good = interp_spend(in, call->node, 1) &&
               interp_call(in, call->node, v[1], &argument, 1, &reg);
        tell_traced(in, call, "nl.while_loop", traced);
        api_loop_next(in);
    }
    interp_traced_end(traced);
    api_loop_end(in);
    return good;
}

enum { PROGRAM_ID, NUM_PROGRAMS, PROGRAM_NDIM };

static bool nl_program(struct interp *in, const struct call *call, struct value *result) {
    struct value v[1];
    const int *grid = interp_grid(in);
    intptr_t what = (intptr_t)call->data;
    int n_dims = 0;
    while (n_dims < 3 && grid[n_dims] > 0)
        n_dims++;
    if (what == PROGRAM_NDIM) {
        *result = value_int(n_dims);
        return true;
    }
    int64_t axis = 0;
    if (!api_bind(in, call, what == NUM_PROGRAMS ? "axes=0" : "axis=0", v) ||
        (v[0].kind == VALUE_INT && !api_want_int(in, call->node, "axis", v[0], &axis)))
        return false;
    if (axis < 0 || axis > 2 || (axis && !legacy(in)))
        return interp_error(in, call->node, "hone-program-axis",
                            "the launch has no axis %lld: there is 0, over the cores",
                            (long long)axis);
    int64_t size = axis < n_dims ? grid[axis] : 1;
    *result = value_int(what == NUM_PROGRAMS ? size : interp_program_id(in, (int)axis));
    return true;
}

static bool nl_is_buffer(struct interp *in, const struct call *call, struct value *result) {
    struct value v[1];
    struct api_buffer buffer;
    if (!api_bind(in, call, "buffer", v) || !api_want_buffer(in, call->node, v[0], &buffer))
        return false;
    *result = value_bool((uintptr_t)call->data & (1u << buffer.space));
    return true;
}

/* The seed of nl.rand: a tile of one element in the current dialect, which hone's numbers do not
 * depend on. */
static bool nl_random_seed(struct interp *in, const struct call *call, struct value *result) {
    struct value v[1];
    const struct tensor *seed;
    *result = NONE_VALUE;
    if (legacy(in))
        return true;
    if (!api_bind(in, call, "seed", v) || !api_want_tensor(in, call->node, "seed", v[0], &seed))
        return false;
    if (seed->space == NKI_HBM)
        return interp_error(in, call->node, "err_unsupported_memory",
                            "nl.random_seed: the seed is a tile of SBUF or PSUM");
    if (tensor_count(seed) != 1 || dtype_bytes(seed->dtype) != 4)
        return interp_error(in, call->node, "hone-argument",
                            "nl.random_seed: seed is a tile of shape [1, 1] and of 32 bits");
    return true;
}

/* Calls that affect neither numbers nor time. */
bool nl_nothing(struct interp *in, const struct call *call, struct value *result) {
    (void)in;
    (void)call;
    *result = NONE_VALUE;
    return true;
}

static bool nl_device_print(struct interp *in, const struct call *call, struct value *result) {
    struct value v[3];
    const struct tensor *tensor;
    struct nki_program *program = interp_program(in);
    if (!api_bind(in, call,
                  interp_dialect(in) == NKI_DIALECT_LEGACY ? "prefix, x, *, mask=None"
                                                           : "print_prefix, tensor",
                  v))
        return false;
    *result = NONE_VALUE;
    if (v[0].kind != VALUE_STR)
        return interp_error(in, call->node, "TypeError",
                            "device_print needs a text before the tensor, not %s",
                            value_type_name(v[0]));
    if (!api_want_tensor(in, call->node, "what device_print shows", v[1], &tensor))
        return false;
    const struct nki_ap *ap = tensor_ap(in, call->node, tensor, NULL);
    if (!ap)
        return false;
    if (program->prints.len < NKI_MOST_PRINTS)
        *vec_push(&program->prints) = (struct nki_print){
            (uint32_t)program->instrs.len, interp_loc(in, call->node),
            arena_strndup(program->arena, v[0].str->at, MIN_OF(v[0].str->len, (size_t)200)), ap};
    return true;
}

static const struct value_enum contexts[] = {{"context", "no_reorder", 1}, {"context", "none", 0}};

bool nl_context(struct interp *in, const struct call *call, struct value *result) {
    (void)in;
    *result = (struct value){.kind = VALUE_ENUM, .enumeration = &contexts[call->data ? 0 : 1]};
    return true;
}

/* nl.spmd_dim(grid, nl.nc(n)), nl.nc(n): the size of a launch dimension. */
static bool nl_spmd_dim(struct interp *in, const struct call *call, struct value *result) {
    int64_t product = 1, n;
    for (size_t i = 0; i < call->n_args; i++) {
        if (!api_want_int(in, call->node, "a launch dimension", call->args[i], &n))
            return false;
        product *= n;
    }
    *result = value_int(product);
    return true;
}

/* Programs of the older dialect's launches run one after the other here, so none of them has the
 * others' tiles. Over a launch of one program the sum is the tile itself. */
static bool nl_all_reduce(struct interp *in, const struct call *call, struct value *result) {
    struct value v[7];
    const struct tensor *x;
    struct api_op op = {.in = in, .node = call->node, .func = NKI_FUNC_COPY};
    if (!api_bind(in, call,
                  "x, op, program_axes, *, dtype=None, mask=None, parallel_reduce=True, "
                  "asynchronous=False",
                  v) ||
        !api_want_tensor(in, call->node, "x of nl.all_reduce", v[0], &x))
        return false;
    const int *grid = interp_grid(in);
    if (MAX_OF(grid[0], 1) * MAX_OF(grid[1], 1) * MAX_OF(grid[2], 1) > 1)
        return interp_error(in, call->node, "hone-gap",
                            "hone runs the programs of a launch one after the other, so the "
                            "values of later ones are not there yet (nl.all_reduce): let each "
                            "program store its part, and one sum them");
    return read_options(&op, v[3], v[4]) && api_lower_unary(&op, v[0], result);
}

/* ---- names ---------------------------------------------------------------------------------- */

#define FUNC_DATA(func) ((const void *)(uintptr_t)(func))
#define SPACE_DATA(bits) ((const void *)(uintptr_t)(bits))

static const struct value_native natives[] = {
    {"nl.ndarray", nl_ndarray, NULL},
    {"nl.zeros", nl_filled, NULL},
    {"nl.ones", nl_filled, "1"},
    {"nl.full", nl_full, NULL},
    {"nl.zeros_like", nl_like, "0"},
    {"nl.empty_like", nl_like, NULL},
    {"nl.rand", nl_rand, NULL},
    {"nl.random_seed", nl_random_seed, NULL},
    {"nl.shared_constant", nl_shared_constant, NULL},
    {"nl.shared_identity_matrix", nl_shared_identity_matrix, NULL},
    {"nl.par_dim", nl_par_dim, NULL},
    {"nl.load", nl_load, NULL},
    {"nl.store", nl_store, NULL},
    {"nl.atomic_rmw", nl_atomic_rmw, NULL},
    {"nl.load_transpose2d", nl_load_transpose2d, NULL},
    {"nl.transpose", nl_transpose, NULL},
    {"nl.expand_dims", nl_expand_dims, NULL},
    {"nl.broadcast_to", nl_broadcast_to, NULL},
    {"nl.gather_flattened", nl_gather_flattened, NULL},
    {"nl.ds", nl_ds, NULL},
    {"nl.arange", nl_arange, NULL},
    {"nl.static_cast", nl_cast, NULL},
    {"nl.loop_reduce", api_loop_reduce, NULL},
    {"nl.all_reduce", nl_all_reduce, NULL},
    {"nl.sum", nl_reduce, FUNC_DATA(NKI_FUNC_ADD)},
    {"nl.max", nl_reduce, FUNC_DATA(NKI_FUNC_MAXIMUM)},
    {"nl.min", nl_reduce, FUNC_DATA(NKI_FUNC_MINIMUM)},
    {"nl.mean", nl_reduce, FUNC_DATA(NKI_FUNC_AVERAGE)},
    {"nl.prod", nl_reduce, FUNC_DATA(NKI_FUNC_MULTIPLY)},
    {"nl.all", nl_reduce, FUNC_DATA(NKI_FUNC_LOGICAL_AND)},
    {"nl.any", nl_reduce, FUNC_DATA(NKI_FUNC_LOGICAL_OR)},
    {"nl.var", nl_var, NULL},
    {"nl.softmax", nl_softmax, NULL},
    {"nl.rms_norm", nl_rms_norm, NULL},
    {"nl.matmul", nl_matmul, NULL},
    {"nl.where", nl_where, NULL},
    {"nl.dropout", nl_dropout, NULL},
    {"nl.range", nl_range, "nl.range"},
    {"nl.static_range", nl_range, "nl.static_range"},
    {"nl.affine_range", nl_range, "nl.affine_range"},
    {"nl.sequential_range", nl_range, "nl.sequential_range"},
    {"nl.dynamic_range", nl_dynamic_range, NULL},
    {"nl.fori_loop", nl_fori_loop, NULL},
    {"nl.while_loop", nl_while_loop, NULL},
    {"nl.program_id", nl_program, SPACE_DATA(PROGRAM_ID)},
    {"nl.num_programs", nl_program, SPACE_DATA(NUM_PROGRAMS)},
    {"nl.program_ndim", nl_program, SPACE_DATA(PROGRAM_NDIM)},
    {"nl.spmd_dim", nl_spmd_dim, NULL},
    {"nl.nc", nl_spmd_dim, NULL},
    {"nl.is_hbm", nl_is_buffer, SPACE_DATA(1u << NKI_HBM)},
    {"nl.is_sbuf", nl_is_buffer, SPACE_DATA(1u << NKI_SBUF)},
    {"nl.is_psum", nl_is_buffer, SPACE_DATA(1u << NKI_PSUM)},
    {"nl.is_on_chip", nl_is_buffer, SPACE_DATA(1u << NKI_SBUF | 1u << NKI_PSUM)},
    {"nl.device_print", nl_device_print, NULL},
    {"nl.no_reorder", nl_context, "1"},
};

static const struct value_enum grid_marker = {"grid", "mgrid", 0};

static bool native_named(struct str name, struct value *result) {
    for (size_t i = 0; i < COUNT_OF(natives); i++)
        if (str_is(name, natives[i].name + 3)) {
            *result = (struct value){.kind = VALUE_NATIVE, .native = &natives[i]};
            return true;
        }
    for (const struct value_native *native = api_grid_natives; native->name; native++)
        if (str_is(name, native->name + 3)) {
            *result = (struct value){.kind = VALUE_NATIVE, .native = native};
            return true;
        }
    return false;
}

/* nl.MemoryRegion: nl.sbuf is its member sbuf. */
static bool region_get(struct interp *in, const struct nki_node *node,
                       const struct value_module *module, struct str name, struct value *result) {
    (void)in;
    (void)node;
    (void)module;
    return api_buffer_name(name, result);
}

static const struct value_module memory_region = {"nl.MemoryRegion", region_get};

bool api_language_name(struct interp *in, const struct nki_node *node, struct str name,
                       struct value *result) {
    enum nki_func func = nki_func_find(name);
    enum dtype dtype = dtype_find(name);
    if (native_named(name, result) || api_buffer_name(name, result))
        return true;
    if (func != NKI_FUNC_NONE)
        *result = (struct value){.kind = VALUE_FUNC, .i = func};
    else if (dtype != DTYPE_NONE)
        *result = (struct value){.kind = VALUE_DTYPE, .i = dtype};
    else if (str_is(name, "mgrid") && legacy(in))
        *result = (struct value){.kind = VALUE_ENUM, .enumeration = &grid_marker};
    else if (str_is(name, "mgrid"))
        return interp_error(in, node, "hone-removed-name",
                            "nl.mgrid does not exist any more: index with slices, "
                            "nl.ds or .ap()");
    else if (str_is(name, "finfo") && legacy(in))
        return api_numpy_name(in, node, name, result);
    else if (str_is(name, "fp32") || str_is(name, "bfp16"))
        *result = (struct value){.kind = VALUE_DTYPE,
                                 .i = name.at[0] == 'f' ? DTYPE_FLOAT32 : DTYPE_BFLOAT16};
    else if (str_is(name, "MemoryRegion"))
        *result = (struct value){.kind = VALUE_MODULE, .module = &memory_region};
    else if (str_is(name, "NKIObject") || str_is(name, "NkiObject"))
        return interp_builtin(in, "NKIObject", result);
    else
        return api_class_name(in, "nl", name, result);
    return true;
}

enum nki_func api_func_of(struct value value) {
    if (value.kind == VALUE_NATIVE && value.native->run == nl_reduce)
        return (enum nki_func)(uintptr_t)value.native->data;
    return value.kind == VALUE_FUNC ? (enum nki_func)value.i : NKI_FUNC_NONE;
}
