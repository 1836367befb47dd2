/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that numpy makes in kernels: their parts, attributes, methods and arithmetic. They hold
 * their elements as float64. A part is a copy here and a view in numpy, so what would show that
 * is refused: writing to a part, and to an array of which a part was taken. */
#include "nki/api/api.h"

#include <math.h>

#define MAX_ELEMENTS (1 << 24)

double api_host_read(const struct array *array, int64_t index) {
    return ((const double *)array->data)[index];
}

/* What all arrays here are made as. */
struct host {
    struct array array;
    bool shares; /* it is a part of another one, or a part of it was taken */
};

struct array *api_host_new(struct interp *in, const struct nki_node *node, enum dtype dtype,
                           const int64_t *shape, int n_dims) {
    struct array *array = &ARENA_NEW(interp_arena(in), struct host)->array;
    array->dtype = dtype;
    array->ndim = n_dims;
    int64_t count = 1;
    for (int d = 0; d < n_dims; d++) {
        array->shape[d] = shape[d];
        if (shape[d] < 0 || (shape[d] && count > MAX_ELEMENTS / shape[d])) {
            interp_error(in, node, "hone-gap-numpy",
                         "a numpy array in a kernel has at most %d elements", MAX_ELEMENTS);
            return NULL;
        }
        count *= shape[d];
    }
    if (!interp_spend(in, node, (uint64_t)count / 16))
        return NULL;
    interp_grew(in, GROWN_ARRAYS, (uint64_t)count, (uint64_t)count * sizeof(double));
    array->data = ARENA_ARRAY(interp_arena(in), double, (size_t)count);
    return array;
}

struct array *api_host_copy(struct interp *in, const struct nki_node *node,
                            const struct array *array) {
    struct array *copy = api_host_new(in, node, array->dtype, array->shape, array->ndim);
    if (copy)
        memcpy(copy->data, array->data, (size_t)array_count(array) * sizeof(double));
    return copy;
}

bool api_host_given(struct interp *in, const struct nki_node *node, const struct array *array,
                    struct value *result) {
    struct array *copy = api_host_copy(in, node, array);
    *result = api_host_value(copy);
    return copy != NULL;
}

struct value api_host_value(struct array *array) {
    return (struct value){.kind = VALUE_HOST, .host = array};
}

bool api_host_shape(struct interp *in, const struct nki_node *node, struct value v, int64_t *shape,
                    int *n) {
    return tensor_read_shape(in, node, v, shape, n) &&
           (*n <= ARRAY_MAX_DIMS || interp_error(in, node, "hone-gap-numpy",
                                                 "a numpy array in a kernel has at "
                                                 "most %d dimensions",
                                                 ARRAY_MAX_DIMS));
}

/* What one part of a key selects from an axis. */
struct host_range {
    int64_t start, count, step;
    bool drop;
};

static bool bound_of(struct interp *in, const struct nki_node *node, struct value v,
                     int64_t missing, int64_t size, int64_t *bound) {
    *bound = missing;
    if (v.kind == VALUE_NONE)
        return true;
    if (!api_want_int(in, node, "a part of a slice", v, bound))
        return false;
    *bound += *bound < 0 ? size : 0;
    return true;
}

/* As Python slices: bounds that reach outside are those of the axis. */
static bool host_slice(struct interp *in, const struct nki_node *node, int64_t size,
                       const struct value_slice *slice, struct host_range *range) {
    int64_t step = 1, start, stop;
    if (slice->step.kind != VALUE_NONE &&
        !api_want_int(in, node, "the step of a slice", slice->step, &step))
        return false;
    if (step == 0 || step < -MAX_ELEMENTS || step > MAX_ELEMENTS)
        return interp_error(in, node, "ValueError", "the step of a slice cannot be %lld",
                            (long long)step);
    int64_t low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
    if (!bound_of(in, node, slice->start, step < 0 ? high : low, size, &start) ||
        !bound_of(in, node, slice->stop, step < 0 ? low : high, size, &stop))
        return false;
    if (slice->stop.kind == VALUE_NONE && step < 0)
        stop = -1;
    start = MAX_OF(low, MIN_OF(start, high));
    stop = MAX_OF(low, MIN_OF(stop, high));
    int64_t span = step < 0 ? start - stop : stop - start, wide = step < 0 ? -step : step;
    *range = (struct host_range){start, span > 0 ? (span + wide - 1) / wide : 0, step, false};
    return true;
}

static bool host_index(struct interp *in, const struct nki_node *node, int64_t size,
                       struct value part, struct host_range *range) {
    int64_t at;
    if (part.kind == VALUE_SLICE)
        return host_slice(in, node, size, part.slice, range);
    if (part.kind != VALUE_INT)
        return interp_error(in, node, "TypeError",
                            "a numpy array in a kernel is indexed with integers, slices, None and "
                            "..., not with %s",
                            value_type_name(part));
    at = part.i < 0 ? part.i + size : part.i;
    *range = (struct host_range){at, 1, 1, true};
    return (at >= 0 && at < size) ||
           interp_error(in, node, "IndexError", "index %lld is out of range of an axis of %lld",
                        (long long)part.i, (long long)size);
}

static bool new_axis(struct interp *in, const struct nki_node *node, struct array *view,
                     int64_t size) {
    if (view->ndim == ARRAY_MAX_DIMS)
        return interp_error(in, node, "hone-argument",
                            "a numpy array in a kernel has at most %d dimensions", ARRAY_MAX_DIMS);
    view->shape[view->ndim++] = size;
    return true;
}

/* What the key selects: a range of each axis, and the shape of what is left. */
static bool host_select(struct interp *in, const struct nki_node *node, const struct array *array,
                        struct value key, struct host_range range[ARRAY_MAX_DIMS],
                        struct array *view) {
    const struct value *parts = key.kind == VALUE_TUPLE ? key.seq->items.at : &key;
    size_t n = key.kind == VALUE_TUPLE ? key.seq->items.len : 1, named = 0;
    int d = 0;
    *view = (struct array){.dtype = array->dtype};
    for (size_t k = 0; k < n; k++)
        named += parts[k].kind != VALUE_NONE && parts[k].kind != VALUE_ELLIPSIS;
    if (named > (size_t)array->ndim)
        return interp_error(in, node, "IndexError", "too many indices for a numpy array");
    for (size_t k = 0; k <= n; k++) {
        bool rest = k == n || parts[k].kind == VALUE_ELLIPSIS;
        if (!rest && parts[k].kind == VALUE_NONE) {
            if (!new_axis(in, node, view, 1))
                return false;
            continue;
        }
        int until = rest ? array->ndim - (int)named : d + 1;
        for (; d < until; d++) {
            range[d] = (struct host_range){0, array->shape[d], 1, false};
            if (!rest && !host_index(in, node, array->shape[d], parts[k], &range[d]))
                return false;
            if (!range[d].drop && !new_axis(in, node, view, range[d].count))
                return false;
        }
        named -= rest ? 0 : 1;
    }
    return true;
}

/* Where the i-th element of what is selected lies. */
static int64_t host_place(const struct array *array, const struct host_range *range, int64_t i) {
    int64_t at = 0, step = 1;
    for (int d = array->ndim - 1; d >= 0; d--) {
        at += (range[d].start + i % range[d].count * range[d].step) * step;
        i /= range[d].count;
        step *= array->shape[d];
    }
    return at;
}

/* The elements as numbers of Python, in lists of lists. */
static struct value nested(struct interp *in, const struct array *array, int d, int64_t *next) {
    if (d == array->ndim) {
        double number = api_host_read(array, (*next)++);
        if (array->dtype == DTYPE_BOOL)
            return value_bool(number != 0);
        return dtype_is_int(array->dtype) ? value_int((int64_t)number) : value_float(number);
    }
    size_t n = (size_t)array->shape[d];
    struct value *items = ARENA_ARRAY(interp_arena(in), struct value, n + 1);
    for (size_t i = 0; i < n; i++)
        items[i] = nested(in, array, d + 1, next);
    return value_list(in, items, n);
}

bool api_host_getitem(struct interp *in, const struct nki_node *node, struct array *array,
                      struct value key, struct value *result) {
    struct array view;
    struct host_range range[ARRAY_MAX_DIMS];
    if (!host_select(in, node, array, key, range, &view))
        return false;
    struct array *out = api_host_new(in, node, view.dtype, view.shape, view.ndim);
    if (!out)
        return false;
    for (int64_t i = 0, total = array_count(out); i < total; i++)
        ((double *)out->data)[i] = api_host_read(array, host_place(array, range, i));
    int64_t next = 0;
    *result = out->ndim ? api_host_value(out) : nested(in, out, 0, &next);
    if (out->ndim)
        ((struct host *)array)->shares = ((struct host *)out)->shares = true;
    return true;
}

/* A number as an array of the dtype holds it; floats below fp32 are rounded when they are used. */
static double host_number(enum dtype dtype, double number) {
    if (dtype == DTYPE_FLOAT32)
        return (double)(float)number;
    if (dtype == DTYPE_BOOL)
        return number != 0;
    return dtype_is_int(dtype) ? trunc(number) : number;
}

static bool is_same_shape(const struct array *a, const struct array *b) {
    return a->ndim == b->ndim &&
           memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof a->shape[0]) == 0;
}

bool api_host_setitem(struct interp *in, const struct nki_node *node, struct array *array,
                      struct value key, struct value item) {
    struct array view;
    struct host_range range[ARRAY_MAX_DIMS];
    const struct array *from = item.kind == VALUE_HOST ? item.host : NULL;
    double number = 0;
    if (((const struct host *)array)->shares)
        return interp_error(in, node, "hone-gap-numpy",
                            "parts of numpy arrays are copies in a kernel: write to the array "
                            "itself, as in m[i, j] = x, and take parts when it is done");
    if (!host_select(in, node, array, key, range, &view))
        return false;
    if (from ? !is_same_shape(from, &view) : !api_want_number(item, &number))
        return interp_error(in, node, "hone-gap-numpy",
                            "elements of a numpy array become a number, or those of an array of "
                            "the same shape");
    int64_t total = array_count(&view);
    if (!interp_spend(in, node, (uint64_t)total / 16))
        return false;
    for (int64_t i = 0; i < total; i++)
        ((double *)array->data)[host_place(array, range, i)] =
            host_number(array->dtype, from ? api_host_read(from, i) : number);
    return true;
}

static bool host_astype(struct interp *in, const struct call *call, struct value *result) {
    struct value v[1];
    enum dtype dtype;
    if (!api_bind(in, call, "dtype", v) || !api_want_dtype(in, call->node, v[0], &dtype))
        return false;
    struct array *copy = api_host_copy(in, call->node, call->self.host);
    if (copy)
        copy->dtype = dtype;
    *result = api_host_value(copy);
    return copy != NULL;
}

static bool host_reshape(struct interp *in, const struct call *call, struct value *result) {
    int64_t shape[TENSOR_MAX_DIMS], count = 1;
    int n;
    struct value v = call->n_args == 1 ? call->args[0] : value_tuple(in, call->args, call->n_args);
    if (!api_host_shape(in, call->node, v, shape, &n))
        return false;
    struct host *host = arena_dup(interp_arena(in), call->self.host, sizeof *host);
    struct array *copy = &host->array;
    copy->ndim = n;
    for (int d = 0; d < n; d++) {
        int64_t known = 1;
        for (int e = 0; e < n; e++)
            known *= e == d ? 1 : shape[e];
        if (shape[d] == -1 && known > 0)
            shape[d] = array_count(call->self.host) / known;
        count *= copy->shape[d] = shape[d];
    }
    if (count != array_count(call->self.host))
        return interp_error(in, call->node, "hone-gap-numpy",
                            "reshape of a numpy array to another size");
    *result = api_host_value(copy);
    return true;
}

enum { HOST_MAX, HOST_MIN, HOST_SUM };

/* max(), min() and sum() over all elements. */
static bool host_total(struct interp *in, const struct call *call, struct value *result) {
    const struct array *array = call->self.host;
    intptr_t what = (intptr_t)call->data;
    int64_t n = array_count(array);
    if (call->n_args || call->n_keywords || n == 0)
        return interp_error(in, call->node, "hone-gap-numpy",
                            "max, min and sum of a numpy array in a kernel take no arguments and "
                            "at least one element");
    double total = api_host_read(array, 0);
    for (int64_t i = 1; i < n; i++) {
        double next = api_host_read(array, i);
        total = what == HOST_SUM                       ? total + next
                : (what == HOST_MAX) == (next > total) ? next
                                                       : total;
    }
    *result = dtype_is_int(array->dtype) ? value_int((int64_t)total) : value_float(total);
    return true;
}

/* tolist(), and item() of an array of one element. */
static bool host_list(struct interp *in, const struct call *call, struct value *result) {
    int64_t next = 0;
    struct array one = {.dtype = call->self.host->dtype, .data = call->self.host->data};
    if (call->data && array_count(call->self.host) != 1)
        return interp_error(in, call->node, "ValueError", "item() of an array of %lld elements",
                            (long long)array_count(call->self.host));
    *result = nested(in, call->data ? &one : call->self.host, 0, &next);
    return true;
}

/* copy(), and flatten() and ravel(), which have one dimension. */
static bool host_copy(struct interp *in, const struct call *call, struct value *result) {
    struct array *copy = api_host_copy(in, call->node, call->self.host);
    if (copy && call->data) {
        copy->shape[0] = array_count(copy);
        copy->ndim = 1;
    }
    *result = api_host_value(copy);
    return copy != NULL;
}

struct array *api_host_transpose(struct interp *in, const struct nki_node *node,
                                 const struct array *array) {
    struct array shape = {.ndim = array->ndim};
    for (int d = 0; d < array->ndim; d++)
        shape.shape[d] = array->shape[array->ndim - 1 - d];
    struct array *out = api_host_new(in, node, array->dtype, shape.shape, shape.ndim);
    for (int64_t i = 0, n = array_count(array); out && i < n; i++) {
        int64_t at = 0, rest = i;
        for (int d = array->ndim - 1; d >= 0; d--) {
            int64_t stride = 1;
            for (int e = 0; e < d; e++)
                stride *= array->shape[e];
            at += rest % array->shape[d] * stride;
            rest /= array->shape[d];
        }
        ((double *)out->data)[at] = api_host_read(array, i);
    }
    return out;
}

static const struct value_native host_methods[] = {
    {"array.tolist", host_list, NULL},
    {"array.item", host_list, "item"},
    {"array.copy", host_copy, NULL},
    {"array.flatten", host_copy, "flat"},
    {"array.ravel", host_copy, "flat"},
    {"array.max", host_total, (const void *)(intptr_t)HOST_MAX},
    {"array.min", host_total, (const void *)(intptr_t)HOST_MIN},
    {"array.sum", host_total, (const void *)(intptr_t)HOST_SUM},
    {"array.astype", host_astype, NULL},
    {"array.reshape", host_reshape, NULL},
};

bool api_host_attribute(struct interp *in, const struct nki_node *node, struct array *array,
                        struct str name, struct value *result) {
    struct value shape[ARRAY_MAX_DIMS];
    for (size_t i = 0; i < COUNT_OF(host_methods); i++)
        if (str_is(name, host_methods[i].name + 6)) {
            *result = value_bind(in, api_host_value(array), &host_methods[i]);
            return true;
        }
    for (int d = 0; d < array->ndim; d++)
        shape[d] = value_int(array->shape[d]);
    if (str_is(name, "shape"))
        *result = value_tuple(in, shape, (size_t)array->ndim);
    else if (str_is(name, "dtype"))
        *result = (struct value){.kind = VALUE_DTYPE, .i = array->dtype};
    else if (str_is(name, "ndim"))
        *result = value_int(array->ndim);
    else if (str_is(name, "size"))
        *result = value_int(array_count(array));
    else if (str_is(name, "T"))
        *result = api_host_value(api_host_transpose(in, node, array));
    else
        return interp_error(in, node, "hone-gap-numpy",
                            "numpy arrays in kernels have no attribute '" STR_FMT "'",
                            STR_ARG(name));
    return true;
}

static double combine(enum nki_binary op, double a, double b) {
    switch (op) {
    case NKI_ADD: return a + b;
    case NKI_SUB: return a - b;
    case NKI_MUL: return a * b;
    case NKI_DIV: return a / b;
    case NKI_FLOOR_DIV: return floor(a / b);
    case NKI_MOD: return a - floor(a / b) * b;
    case NKI_POW: return pow(a, b);
    default: return NAN;
    }
}

/* The common shape of two arrays, as numpy finds it; NULL stands for a number. */
static bool join_shapes(struct interp *in, const struct nki_node *node, const struct array *a,
                        const struct array *b, struct array *out) {
    out->ndim = MAX_OF(a ? a->ndim : 0, b ? b->ndim : 0);
    for (int d = 0; d < out->ndim; d++) {
        int i = a ? d - out->ndim + a->ndim : -1, j = b ? d - out->ndim + b->ndim : -1;
        int64_t x = i >= 0 ? a->shape[i] : 1, y = j >= 0 ? b->shape[j] : 1;
        if (x != y && x != 1 && y != 1)
            return interp_error(in, node, "ValueError",
                                "shapes of numpy arrays do not fit together: %lld and %lld "
                                "elements along dimension %d",
                                (long long)x, (long long)y, d);
        out->shape[d] = x == 1 ? y : x;
    }
    return true;
}

double api_host_at(const struct array *array, const struct array *shape, int64_t i) {
    int64_t at = 0, step = 1;
    for (int d = shape->ndim - 1; d >= 0; d--) {
        int own = d - shape->ndim + array->ndim;
        if (own >= 0) {
            at += array->shape[own] == 1 ? 0 : i % shape->shape[d] * step;
            step *= array->shape[own];
        }
        i /= shape->shape[d];
    }
    return api_host_read(array, at);
}

struct operand {
    const struct array *array; /* NULL: */
    double number;
    bool is_float;
};

static bool operand_of(struct value v, struct operand *operand) {
    *operand = (struct operand){.array = v.kind == VALUE_HOST ? v.host : NULL};
    operand->is_float =
        operand->array ? dtype_is_float(operand->array->dtype) : v.kind == VALUE_FLOAT;
    return operand->array || api_want_number(v, &operand->number);
}

/* A new array of the two operands' common shape. NULL after an error. */
static struct array *common_array(struct interp *in, const struct nki_node *node,
                                  const struct operand *a, const struct operand *b) {
    struct array shape = {0};
    enum dtype left = a->array ? a->array->dtype : DTYPE_BOOL;
    enum dtype right = b->array ? b->array->dtype : DTYPE_BOOL;
    bool second = left == DTYPE_BOOL || (!a->is_float && b->is_float && right != DTYPE_BOOL);
    enum dtype dtype = second ? right : left;
    if (a->is_float || b->is_float)
        dtype = dtype_is_float(dtype) ? dtype : DTYPE_FLOAT64;
    else if (dtype == DTYPE_BOOL)
        dtype = DTYPE_INT64;
    return join_shapes(in, node, a->array, b->array, &shape)
               ? api_host_new(in, node, dtype, shape.shape, shape.ndim)
               : NULL;
}

static double side(const struct operand *operand, const struct array *shape, int64_t i) {
    return operand->array ? api_host_at(operand->array, shape, i) : operand->number;
}

bool api_host_binary(struct interp *in, const struct nki_node *node, enum nki_binary op,
                     struct value a, struct value b, struct value *result) {
    struct operand x, y;
    if (!operand_of(a, &x) || !operand_of(b, &y))
        return interp_error(in, node, "TypeError",
                            "numpy arrays in kernels combine with numbers and arrays, not %s",
                            value_type_name(a.kind == VALUE_HOST ? b : a));
    struct array *out = common_array(in, node, &x, &y);
    if (!out)
        return false;
    if (op == NKI_DIV && !dtype_is_float(out->dtype))
        out->dtype = DTYPE_FLOAT64;
    for (int64_t i = 0, n = array_count(out); i < n; i++)
        ((double *)out->data)[i] = combine(op, side(&x, out, i), side(&y, out, i));
    *result = api_host_value(out);
    return true;
}

bool api_host_compare(struct interp *in, const struct nki_node *node, enum nki_comparison op,
                      struct value a, struct value b, struct value *result) {
    struct operand x, y;
    if (!operand_of(a, &x) || !operand_of(b, &y))
        return interp_error(in, node, "TypeError",
                            "numpy arrays in kernels are compared with numbers and arrays, not %s",
                            value_type_name(a.kind == VALUE_HOST ? b : a));
    struct array *out = common_array(in, node, &x, &y);
    if (!out)
        return false;
    out->dtype = DTYPE_BOOL;
    for (int64_t i = 0, n = array_count(out); i < n; i++) {
        double l = side(&x, out, i), r = side(&y, out, i);
        bool is = op == NKI_CMP_EQ       ? l == r
                  : op == NKI_CMP_NOT_EQ ? l != r
                  : op == NKI_CMP_LT     ? l < r
                  : op == NKI_CMP_LT_E   ? l <= r
                  : op == NKI_CMP_GT     ? l > r
                                         : l >= r;
        ((double *)out->data)[i] = is;
    }
    *result = api_host_value(out);
    return true;
}
