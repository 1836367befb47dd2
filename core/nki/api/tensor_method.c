/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes and methods of tensors. NkiTensor of the current dialect and tiles of the legacy one
 * share one table. */
#include "nki/api/api.h"

#include <stdlib.h>

static const struct tensor *self_of(const struct call *call) {
    return call->self.tensor;
}

static bool give(const struct tensor *view, struct value *result) {
    *result = value_tensor(view);
    return view != NULL;
}

/* A shape given as one tuple or as several integers. */
static bool read_shape(struct interp *in, const struct call *call, int64_t *shape, int *n) {
    if (call->n_keywords == 1 && call->n_args == 0)
        return tensor_read_shape(in, call->node, call->keywords[0].value, shape, n);
    if (call->n_args == 1)
        return tensor_read_shape(in, call->node, call->args[0], shape, n);
    return tensor_read_shape(in, call->node, value_tuple(in, call->args, call->n_args), shape, n);
}

static bool reshape(struct interp *in, const struct call *call, struct value *result) {
    int64_t shape[TENSOR_MAX_DIMS];
    int n;
    return read_shape(in, call, shape, &n) &&
           give(tensor_reshape(in, call->node, self_of(call), shape, n), result);
}

/* Calls a function of nl with the tensor before the other arguments. */
static bool forward(struct interp *in, const struct call *call, native_fn *run,
                    struct value *result) {
    struct value args[6] = {call->self};
    struct call copy = *call;
    if (call->n_args > 4)
        return interp_error(in, call->node, "hone-argument", "too many arguments");
    memcpy(args + 1, call->args, call->n_args * sizeof args[0]);
    copy.args = args;
    copy.n_args = call->n_args + 1;
    return run(in, &copy, result);
}

static bool astype(struct interp *in, const struct call *call, struct value *result) {
    return forward(in, call, nl_cast, result);
}

static bool expand_dims(struct interp *in, const struct call *call, struct value *result) {
    return forward(in, call, nl_expand_dims, result);
}

static bool broadcast_to(struct interp *in, const struct call *call, struct value *result) {
    int64_t shape[TENSOR_MAX_DIMS];
    int n;
    const struct tensor *view;
    if (!read_shape(in, call, shape, &n) ||
        !(view = tensor_broadcast(in, call->node, self_of(call), shape, n)) ||
        !(view = api_operand(in, call->node, view)))
        return false;
    return give(view, result);
}

static bool reinterpret(struct interp *in, const struct call *call, struct value *result) {
    struct value v[1];
    enum dtype dtype;
    return api_bind(in, call, "dtype", v) && api_want_dtype(in, call->node, v[0], &dtype) &&
           give(tensor_cast_view(in, call->node, self_of(call), dtype), result);
}

/* ---- one dimension at a time ---------------------------------------------------------------- */

static bool want_dim(struct interp *in, const struct nki_node *node, const struct tensor *t,
                     struct value v, int limit, int *dim) {
    int64_t at;
    if (!api_want_int(in, node, "dim", v, &at))
        return false;
    if (at < 0)
        at += limit;
    if (at < 0 || at >= limit)
        return interp_error(in, node, "hone-axis",
                            "dimension %lld is out of range for a tensor of shape "
                            "%s",
                            (long long)at, tensor_shape_text(in, t));
    *dim = (int)at;
    return true;
}

static bool free_dim(struct interp *in, const struct nki_node *node, const struct tensor *t,
                     struct value v, int *dim) {
    if (!want_dim(in, node, t, v, t->n_dims, dim))
        return false;
    if (t->dim[*dim].part)
        return interp_error(in, node, "hone-partition-dimension",
                            "dimension %d is the partition dimension: it stays as "
                            "it is",
                            *dim);
    return true;
}

static bool permute(struct interp *in, const struct call *call, struct value *result) {
    const struct tensor *t = self_of(call);
    int64_t dims[TENSOR_MAX_DIMS];
    int n;
    struct tensor out;
    unsigned seen = 0;
    if (!read_shape(in, call, dims, &n))
        return false;
    tensor_read(&out, t);
    for (int d = 0; d < n; d++) {
        if (dims[d] < 0 || dims[d] >= t->n_dims || seen & 1u << dims[d])
            break;
        seen |= 1u << dims[d];
        out.dim[d] = t->dim[dims[d]];
    }
    if (n != t->n_dims || seen != (1u << n) - 1)
        return interp_error(in, call->node, "hone-reshape",
                            "permute takes every dimension of %s once", tensor_shape_text(in, t));
    if (t->space != NKI_HBM && dims[0] != 0)
        return interp_error(in, call->node, "hone-partition-dimension",
                            "permute cannot move the partition dimension: "
                            "dims[0] must be 0");
    return give(tensor_keep(in, &out), result);
}

static bool broadcast(struct interp *in, const struct call *call, struct value *result) {
    struct value v[2];
    const struct tensor *t = self_of(call);
    int64_t size;
    int dim;
    struct tensor out;
    if (!api_bind(in, call, "dim, size", v) || !free_dim(in, call->node, t, v[0], &dim) ||
        !api_want_int(in, call->node, "size", v[1], &size))
        return false;
    if (t->dim[dim].size != 1 || size < 1 || size > TENSOR_MAX_ELEMENTS / tensor_count(t))
        return interp_error(in, call->node, "hone-reshape",
                            "broadcast repeats a dimension of size 1; "
                            "dimension %d of %s is larger",
                            dim, tensor_shape_text(in, t));
    tensor_read(&out, t);
    out.dim[dim] = (struct tensor_dim){.size = size};
    return give(tensor_keep(in, &out), result);
}

static bool expand_dim(struct interp *in, const struct call *call, struct value *result) {
    struct value v[1];
    const struct tensor *t = self_of(call);
    int64_t shape[TENSOR_MAX_DIMS + 1];
    int dim;
    if (!api_bind(in, call, "dim", v) || !want_dim(in, call->node, t, v[0], t->n_dims + 1, &dim))
        return false;
    if (t->n_dims == TENSOR_MAX_DIMS)
        return interp_error(in, call->node, "err_exceed_max_supported_dimension",
                            "a tensor has at most %d dimensions", TENSOR_MAX_DIMS);
    for (int d = 0; d <= t->n_dims; d++)
        shape[d] = d == dim ? 1 : t->dim[d - (d > dim)].size;
    return give(tensor_reshape(in, call->node, t, shape, t->n_dims + 1), result);
}

static bool squeeze_dim(struct interp *in, const struct call *call, struct value *result) {
    struct value v[1];
    const struct tensor *t = self_of(call);
    struct tensor out;
    int dim;
    if (!api_bind(in, call, "dim", v) || !free_dim(in, call->node, t, v[0], &dim))
        return false;
    if (t->dim[dim].size != 1)
        return interp_error(in, call->node, "hone-reshape",
                            "squeeze_dim removes a dimension of size 1; "
                            "dimension %d of %s is larger",
                            dim, tensor_shape_text(in, t));
    tensor_read(&out, t);
    memmove(&out.dim[dim], &out.dim[dim + 1], (size_t)(--out.n_dims - dim) * sizeof out.dim[0]);
    return give(tensor_keep(in, &out), result);
}

static bool reshape_dim(struct interp *in, const struct call *call, struct value *result) {
    struct value v[2];
    const struct tensor *t = self_of(call);
    int64_t sizes[TENSOR_MAX_DIMS], shape[2 * TENSOR_MAX_DIMS], known = 1;
    int dim, n, at = 0, hole = -1;
    if (!api_bind(in, call, "dim, shape", v) || !free_dim(in, call->node, t, v[0], &dim) ||
        !tensor_read_shape(in, call->node, v[1], sizes, &n))
        return false;
    for (int d = 0; d < t->n_dims; d++) {
        if (d != dim) {
            shape[at++] = t->dim[d].size;
            continue;
        }
        for (int k = 0; k < n; k++) {
            hole = sizes[k] == -1 ? at : hole;
            if (sizes[k] > t->dim[dim].size || known > t->dim[dim].size)
                return interp_error(in, call->node, "hone-reshape",
                                    "reshape_dim: dimension %d has %lld "
                                    "elements only",
                                    dim, (long long)t->dim[dim].size);
            known *= sizes[k] == -1 ? 1 : MAX_OF(sizes[k], 1);
            shape[at++] = sizes[k];
        }
    }
    if (hole >= 0)
        shape[hole] = t->dim[dim].size / known;
    if (at > TENSOR_MAX_DIMS)
        return interp_error(in, call->node, "err_exceed_max_supported_dimension",
                            "a tensor has at most %d dimensions", TENSOR_MAX_DIMS);
    return give(tensor_reshape(in, call->node, t, shape, at), result);
}

static bool flatten_dims(struct interp *in, const struct call *call, struct value *result) {
    struct value v[2];
    const struct tensor *t = self_of(call);
    int64_t shape[TENSOR_MAX_DIMS], product = 1;
    int start, end, at = 0;
    if (!api_bind(in, call, "start, end", v) ||
        !want_dim(in, call->node, t, v[0], t->n_dims, &start) ||
        !want_dim(in, call->node, t, v[1], t->n_dims, &end))
        return false;
    for (int d = 0; d < t->n_dims; d++) {
        if (d < start || d > end) {
            shape[at++] = t->dim[d].size;
            continue;
        }
        product *= t->dim[d].size;
        if (d == end)
            shape[at++] = product;
    }
    return give(tensor_reshape(in, call->node, t, shape, at), result);
}

static bool slice(struct interp *in, const struct call *call, struct value *result) {
    struct value v[4], key[TENSOR_MAX_DIMS];
    const struct tensor *t = self_of(call);
    struct value_slice *all = ARENA_ARRAY(interp_scratch(in), struct value_slice, 2);
    struct tensor *view;
    int dim;
    if (!api_bind(in, call, "dim, start, end, step=1", v) ||
        !want_dim(in, call->node, t, v[0], t->n_dims, &dim))
        return false;
    all[1] = (struct value_slice){v[1], v[2], v[3]};
    for (int d = 0; d < t->n_dims; d++)
        key[d] = (struct value){.kind = VALUE_SLICE, .slice = &all[d == dim]};
    if (!tensor_getitem(in, call->node, t, value_tuple(in, key, t->n_dims), &view))
        return false;
    return give(view, result);
}

/* A position that only the device knows: a register, or a tile of one element. */
static bool put_scalar(struct interp *in, const struct nki_node *node, struct tensor *view,
                       struct value index, int64_t step, int64_t limit) {
    struct nki_indirect *indirect = ARENA_NEW(interp_arena(in), struct nki_indirect);
    *indirect = (struct nki_indirect){.reg = -1, .step = step, .limit = limit};
    if (view->indirect)
        return interp_error(in, node, "hone-index", "a view has at most one dynamic index");
    if (view->space != NKI_HBM && api_scalar_dtype(in, index) == DTYPE_INT64)
        return interp_error(in, node, "hone-dtype",
                            "an offset on chip is of int32; found an NkiScalar of int64, which "
                            "addresses HBM only");
    struct nki_operand reg = {.i = index.i};
    if (index.kind == VALUE_REGISTER)
        reg = api_register_operand(in, index);
    else if (index.kind == VALUE_INT)
        reg.kind = NKI_OPERAND_INT;
    if (reg.kind == NKI_OPERAND_INT && reg.i >= 0 && (limit <= 0 || reg.i < limit)) {
        view->offset += reg.i * step;
        return true;
    }
    if (reg.kind == NKI_OPERAND_REG)
        indirect->reg = (int32_t)reg.i;
    else if (index.kind == VALUE_TENSOR)
        indirect->index = tensor_ap(in, node, index.tensor, NULL);
    else
        return interp_error(in, node, "hone-argument",
                            "a dynamic index is a register or a tile of one element; "
                            "found %s",
                            value_type_name(index));
    view->indirect = indirect;
    return index.kind == VALUE_REGISTER || indirect->index;
}

static bool select_index(struct interp *in, const struct call *call, struct value *result) {
    struct value v[2];
    const struct tensor *t = self_of(call);
    struct tensor out;
    int64_t index;
    int dim;
    if (!api_bind(in, call, "dim, index", v) || !free_dim(in, call->node, t, v[0], &dim))
        return false;
    tensor_read(&out, t);
    memmove(&out.dim[dim], &out.dim[dim + 1], (size_t)(--out.n_dims - dim) * sizeof out.dim[0]);
    if (v[1].kind == VALUE_TENSOR || v[1].kind == VALUE_REGISTER) {
        if (!put_scalar(in, call->node, &out, v[1], t->dim[dim].step, t->dim[dim].size))
            return false;
    } else {
        if (!api_want_int(in, call->node, "index", v[1], &index))
            return false;
        if (index < 0 || index >= t->dim[dim].size)
            return interp_error(in, call->node, "err_tensor_access_out_of_bound",
                                "index %lld is out of range: dimension %d has size %lld",
                                (long long)index, dim, (long long)t->dim[dim].size);
        out.offset += index * t->dim[dim].step;
    }
    return give(tensor_keep(in, &out), result);
}

static bool put_rows(struct interp *in, const struct nki_node *node, struct tensor *view,
                     const struct tensor *rows, int64_t step, int64_t limit) {
    struct nki_indirect *indirect = ARENA_NEW(interp_arena(in), struct nki_indirect);
    *indirect = (struct nki_indirect){.vector = true, .reg = -1, .step = step, .limit = limit};
    view->indirect = indirect;
    view->indirect_dim = 0;
    view->dim[0].step = 0;
    indirect->index = tensor_ap(in, node, rows, NULL);
    return indirect->index != NULL;
}

static bool vector_select(struct interp *in, const struct call *call, struct value *result) {
    struct value v[2];
    const struct tensor *t = self_of(call), *rows;
    struct tensor out;
    if (!api_bind(in, call, "dim=0, vector_offset", v) ||
        !api_want_tensor(in, call->node, "vector_offset", v[1], &rows))
        return false;
    tensor_read(&out, t);
    if (t->space != NKI_HBM)
        return interp_error(in, call->node, "err_unsupported_memory",
                            "vector_select works on tensors in HBM");
    out.dim[0].size = tensor_partitions(rows);
    return put_rows(in, call->node, &out, rows, t->dim[0].step, t->dim[0].size) &&
           give(tensor_keep(in, &out), result);
}

/* ---- explicit access patterns --------------------------------------------------------------- */

static bool read_pattern(struct interp *in, const struct nki_node *node, struct value v,
                         struct tensor *out) {
    const struct value_seq *items = v.kind == VALUE_LIST || v.kind == VALUE_TUPLE ? v.seq : NULL;
    if (!items || items->items.len < 1 || items->items.len > TENSOR_MAX_DIMS)
        return interp_error(in, node, "hone-argument", "pattern is a list of [step, count] pairs");
    int64_t count = 1;
    out->n_dims = (uint8_t)items->items.len;
    for (size_t d = 0; d < items->items.len; d++) {
        struct value pair = items->items.at[d];
        if ((pair.kind != VALUE_LIST && pair.kind != VALUE_TUPLE) || pair.seq->items.len != 2 ||
            !api_want_int(in, node, "a step", pair.seq->items.at[0], &out->dim[d].step) ||
            !api_want_int(in, node, "a count", pair.seq->items.at[1], &out->dim[d].size))
            return interp_error(in, node, "hone-argument",
                                "pattern is a list of [step, count] pairs of "
                                "integers");
        out->dim[d].part = false;
        if (out->dim[d].size > TENSOR_MAX_ELEMENTS / count ||
            llabs(out->dim[d].step) > TENSOR_MAX_ELEMENTS / MAX_OF(out->dim[d].size, 1))
            return interp_error(in, node, "hone-limit",
                                "the pattern reaches far outside any tensor");
        count *= MAX_OF(out->dim[d].size, 1);
        if (out->dim[d].size < 1)
            return interp_error(in, node, "hone-shape",
                                "a count in a pattern is 1 or more; found %lld",
                                (long long)out->dim[d].size);
    }
    return true;
}

/* Elements per partition of a storage, in units of the view's dtype. */
static int64_t row_length(struct interp *in, const struct tensor *t) {
    const struct nki_storage *storage = tensor_storage(in, t);
    return (int64_t)(storage->block_bytes * storage->blocks / dtype_bytes(t->dtype));
}

/* On chip, a flat position counts whole rows of the storage, partition by partition. */
static bool split_partitions(struct interp *in, const struct nki_node *node, struct tensor *out,
                             int64_t offset) {
    int64_t row = row_length(in, out);
    struct tensor_dim *first = &out->dim[0];
    if (offset < 0)
        return interp_error(in, node, "err_tensor_access_out_of_bound",
                            "the access pattern starts %lld elements before the tensor",
                            (long long)-offset);
    if (row == 0 || (first->size > 1 && first->step % row))
        return interp_error(in, node, "hone-partition-dimension",
                            "the partition step of an access pattern must be the "
                            "number of elements per partition (%lld); found %lld",
                            (long long)row, (long long)first->step);
    first->step = first->size > 1 ? first->step / row : 1;
    first->part = true;
    out->partition = offset / row;
    out->offset = offset % row;
    return true;
}

static int64_t row_elements(const struct nki_storage *storage, int64_t dim) {
    int64_t step = 1;
    for (int64_t d = dim + 1; d < storage->n_dims; d++)
        step *= storage->shape[d];
    return step;
}

static bool access_pattern(struct interp *in, const struct call *call, struct value *result) {
    struct value v[6];
    const struct tensor *t = self_of(call), *rows;
    struct tensor out;
    int64_t more = 0, dim = 0;
    enum dtype dtype;
    if (!api_bind(in, call,
                  "pattern, offset=None, scalar_offset=None, vector_offset=None, "
                  "indirect_dim=0, dtype=None",
                  v) ||
        !api_want_dtype(in, call->node, v[5], &dtype) ||
        (v[1].kind != VALUE_NONE && !api_want_int(in, call->node, "offset", v[1], &more)) ||
        (v[4].kind != VALUE_NONE && !api_want_int(in, call->node, "indirect_dim", v[4], &dim)))
        return false;
    const struct nki_storage *storage = tensor_storage(in, t);
    if (v[2].kind != VALUE_NONE && v[3].kind != VALUE_NONE)
        return interp_error(in, call->node, "hone-argument",
                            ".ap() takes scalar_offset or vector_offset, not both: an index for "
                            "all rows, or one for each");
    if (t->indirect)
        return interp_error(in, call->node, "hone-index",
                            "a view with an index that only the device knows has no .ap() of its "
                            "own: say the pattern and the index in one .ap() of the tensor");
    tensor_read(&out, t);
    out.bounds = NULL;
    if (dtype != DTYPE_NONE) {
        out.offset = out.offset * (int64_t)dtype_bytes(t->dtype) / (int64_t)dtype_bytes(dtype);
        out.dtype = dtype;
    }
    if (!read_pattern(in, call->node, v[0], &out))
        return false;
    if (t->space == NKI_HBM)
        out.offset += more;
    else if (!split_partitions(in, call->node, &out,
                               out.partition * row_length(in, &out) + out.offset + more))
        return false;
    int64_t step = row_elements(storage, dim);
    int64_t limit = dim >= 0 && dim < storage->n_dims ? storage->shape[dim] : 0;
    if (v[2].kind == VALUE_INT) {
        if (v[2].i < 0 || v[2].i >= limit)
            return interp_error(in, call->node, "err_tensor_access_out_of_bound",
                                "scalar_offset %lld is out of range: the dimension has %lld "
                                "elements",
                                (long long)v[2].i, (long long)limit);
        out.offset += v[2].i * step;
    } else if (v[2].kind != VALUE_NONE && !put_scalar(in, call->node, &out, v[2], step, limit)) {
        return false;
    }
    if (v[3].kind != VALUE_NONE &&
        (!api_want_tensor(in, call->node, "vector_offset", v[3], &rows) ||
         !put_rows(in, call->node, &out, rows, step, limit)))
        return false;
    return give(tensor_keep(in, &out), result);
}

static bool get_pattern(struct interp *in, const struct call *call, struct value *result) {
    const struct tensor *t = self_of(call);
    struct value dims[TENSOR_MAX_DIMS];
    int64_t row = t->space == NKI_HBM ? 1 : row_length(in, t);
    for (int d = 0; d < t->n_dims; d++) {
        struct value pair[2] = {value_int(t->dim[d].step * (t->dim[d].part ? row : 1)),
                                value_int(t->dim[d].size)};
        dims[d] = value_list(in, pair, 2);
    }
    *result = value_list(in, dims, t->n_dims);
    return true;
}

static bool contiguous(struct interp *in, const struct call *call, struct value *result) {
    const struct tensor *t = self_of(call);
    int64_t step = 1;
    bool plain = true;
    (void)in;
    for (int d = t->n_dims - 1; d >= 0; d--) {
        if (t->dim[d].part)
            continue;
        plain &= t->dim[d].step == step || t->dim[d].size == 1;
        step *= t->dim[d].size;
    }
    *result = value_bool(plain);
    return true;
}

static bool is_indirect(struct interp *in, const struct call *call, struct value *result) {
    (void)in;
    *result = value_bool(self_of(call)->indirect != NULL);
    return true;
}

static bool assert_shape(struct interp *in, const struct call *call, struct value *result) {
    int64_t shape[TENSOR_MAX_DIMS];
    int n;
    const struct tensor *t = self_of(call);
    if (!read_shape(in, call, shape, &n))
        return false;
    bool same = n == t->n_dims;
    for (int d = 0; same && d < n; d++)
        same = shape[d] == t->dim[d].size;
    *result = call->self;
    return same || interp_error(in, call->node, "hone-shape",
                                "assert_shape: the tensor has shape %s", tensor_shape_text(in, t));
}

/* ---- the table ------------------------------------------------------------------------------ */

static const struct value_native methods[] = {
    {"reshape", reshape, NULL},
    {"astype", astype, NULL},
    {"expand_dims", expand_dims, NULL},
    {"broadcast_to", broadcast_to, NULL},
    {"view", reinterpret, NULL},
    {"reinterpret_cast", reinterpret, NULL},
    {"permute", permute, NULL},
    {"broadcast", broadcast, NULL},
    {"expand_dim", expand_dim, NULL},
    {"squeeze_dim", squeeze_dim, NULL},
    {"reshape_dim", reshape_dim, NULL},
    {"flatten_dims", flatten_dims, NULL},
    {"slice", slice, NULL},
    {"select", select_index, NULL},
    {"vector_select", vector_select, NULL},
    {"ap", access_pattern, NULL},
    {"get_pattern", get_pattern, NULL},
    {"is_contiguous", contiguous, NULL},
    {"is_indirect", is_indirect, NULL},
    {"assert_shape", assert_shape, NULL},
    {"rearrange", tensor_rearrange, NULL},
    {"indirect", tensor_columns, NULL},
};

/* Methods that came with NKI 0.5 (its release notes; .ap, .reshape and .view are older, and
 * .indirect is a row of releases.def). */
static const char views[] = "slice select vector_select permute broadcast expand_dim squeeze_dim "
                            "reshape_dim flatten_dims rearrange";

static bool has_method(struct interp *in, const struct nki_node *node, struct str name) {
    return interp_dialect(in) == NKI_DIALECT_LEGACY || interp_rule(in, NKI_RULE_VIEWS) ||
           !release_names(views, name) ||
           interp_error(in, node, "hone-newer-name",
                        "the target's NKI does not have ." STR_FMT
                        " of tensors yet; it came with NKI 0.5: index, or use .ap()",
                        STR_ARG(name));
}

static struct value sizes_of(struct interp *in, const struct tensor *t, bool steps) {
    struct value items[TENSOR_MAX_DIMS];
    int64_t row = t->space == NKI_HBM || !steps ? 1 : row_length(in, t);
    for (int d = 0; d < t->n_dims; d++)
        items[d] = value_int(steps ? t->dim[d].step * (t->dim[d].part ? row : 1) : t->dim[d].size);
    return value_tuple(in, items, t->n_dims);
}

bool tensor_attribute(struct interp *in, const struct nki_node *node, struct tensor *tensor,
                      struct str name, struct value *result) {
    const struct nki_storage *storage = tensor_storage(in, tensor);
    for (size_t i = 0; i < COUNT_OF(methods); i++)
        if (str_is(name, methods[i].name)) {
            *result = value_bind(in, value_tensor(tensor), &methods[i]);
            if (!has_method(in, node, name))
                return false;
            return methods[i].run == is_indirect || tensor_is_whole(in, node, tensor);
        }
    if (str_is(name, "data")) { /* what grids of tiles have, too */
        *result = value_tensor(tensor);
        return true;
    }
    if (str_is(name, "shape"))
        *result = sizes_of(in, tensor, false);
    else if (str_is(name, "strides"))
        *result = sizes_of(in, tensor, true);
    else if (str_is(name, "dtype"))
        *result = (struct value){.kind = VALUE_DTYPE, .i = tensor->dtype};
    else if (str_is(name, "ndim"))
        *result = value_int(tensor->n_dims);
    else if (str_is(name, "size"))
        *result = value_int(tensor_count(tensor));
    else if (str_is(name, "itemsize"))
        *result = value_int((int64_t)dtype_bytes(tensor->dtype));
    else if (str_is(name, "offset"))
        *result = value_int(tensor->offset);
    else if (str_is(name, "name"))
        *result = value_string(in, str_of(storage->name));
    else if (str_is(name, "buffer"))
        *result = api_buffer_value(
            (struct api_buffer){.space = tensor->space, .shared = storage->shared});
    else
        return false;
    return true;
}
