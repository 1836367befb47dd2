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
            interp_error(in, node, "", "a numpy array in a kernel has at most %d elements",
                         MAX_ELEMENTS);
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

struct value api_host_value(struct array *array) {
    return (struct value){.kind = VALUE_HOST, .host = array};
}

bool api_host_shape(struct interp *in, const struct nki_node *node, struct value v, int64_t *shape,
                    int *n) {
    return tensor_read_shape(in, node, v, shape, n) &&
           (*n <= ARRAY_MAX_DIMS || interp_error(in, node, "",
                                                 "a numpy array in a kernel has at "
                                                 "most %d dimensions",
                                                 ARRAY_MAX_DIMS));
}

/* What one part of a key selects from an axis. */
struct host_range {
    int64_t start, count;
    bool drop;
};

static bool host_index(struct interp *in, const struct nki_node *node, int64_t size,
                       struct value part, struct host_range *range) {
    int64_t stop = size;
    *range = (struct host_range){.drop = part.kind == VALUE_INT};
    if (range->drop) {
        range->start = part.i < 0 ? part.i + size : part.i;
        stop = range->start < size ? range->start + 1 : -1;
    } else if (part.kind == VALUE_SLICE && part.slice->step.kind == VALUE_NONE) {
        if (part.slice->start.kind == VALUE_INT)
            range->start = part.slice->start.i;
        if (part.slice->stop.kind == VALUE_INT)
            stop = part.slice->stop.i;
    } else {
        return interp_error(in, node, "",
                            "a numpy array in a kernel is indexed with integers and "
                            "slices");
    }
    if (range->start < 0 || stop < range->start || stop > size)
        return interp_error(in, node, "", "index out of range of a numpy array");
    range->count = stop - range->start;
    return true;
}

/* What the key selects: a range of each axis, and the shape of what is left. */
static bool host_select(struct interp *in, const struct nki_node *node, const struct array *array,
                        struct value key, struct host_range range[ARRAY_MAX_DIMS],
                        struct array *view) {
    const struct value *parts = key.kind == VALUE_TUPLE ? key.seq->items.at : &key;
    size_t n = key.kind == VALUE_TUPLE ? key.seq->items.len : 1;
    *view = (struct array){.dtype = array->dtype};
    if (n > (size_t)array->ndim)
        return interp_error(in, node, "", "too many indices for a numpy array");
    for (int d = 0; d < array->ndim; d++) {
        range[d] = (struct host_range){.count = array->shape[d]};
        if ((size_t)d < n && !host_index(in, node, array->shape[d], parts[d], &range[d]))
            return false;
        if (!range[d].drop)
            view->shape[view->ndim++] = range[d].count;
    }
    return true;
}

/* Where the i-th element of what is selected lies. */
static int64_t host_place(const struct array *array, const struct host_range *range, int64_t i) {
    int64_t at = 0, step = 1;
    for (int d = array->ndim - 1; d >= 0; d--) {
        at += (range[d].start + i % range[d].count) * step;
        i /= range[d].count;
        step *= array->shape[d];
    }
    return at;
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
    *result = out->ndim ? api_host_value(out) : value_float(api_host_read(out, 0));
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
        return interp_error(in, node, "",
                            "parts of numpy arrays are copies in a kernel: write to the array "
                            "itself, as in m[i, j] = x, and take parts when it is done");
    if (!host_select(in, node, array, key, range, &view))
        return false;
    if (from ? !is_same_shape(from, &view) : !api_want_number(item, &number))
        return interp_error(in, node, "",
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
    for (int d = 0; d < n; d++)
        count *= copy->shape[d] = shape[d];
    if (count != array_count(call->self.host))
        return interp_error(in, call->node, "", "reshape of a numpy array to another size");
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
        return interp_error(in, call->node, "",
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

static const struct value_native host_methods[] = {
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
    else
        return interp_error(in, node, "", "numpy arrays in kernels have no attribute '" STR_FMT "'",
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

bool api_host_binary(struct interp *in, const struct nki_node *node, enum nki_binary op,
                     struct value a, struct value b, struct value *result) {
    const struct array *x = a.kind == VALUE_HOST ? a.host : NULL;
    const struct array *y = b.kind == VALUE_HOST ? b.host : NULL;
    double left = 0, right = 0;
    if ((!x && !api_want_number(a, &left)) || (!y && !api_want_number(b, &right)) ||
        (x && y && !is_same_shape(x, y)))
        return interp_error(in, node, "",
                            "numpy arrays in kernels combine with numbers and "
                            "arrays of the same shape");
    const struct array *shape = x ? x : y;
    struct array *out = api_host_new(in, node, shape->dtype, shape->shape, shape->ndim);
    for (int64_t i = 0, n = array_count(shape); out && i < n; i++)
        ((double *)out->data)[i] =
            combine(op, x ? api_host_read(x, i) : left, y ? api_host_read(y, i) : right);
    *result = api_host_value(out);
    return out != NULL;
}
