/* SPDX-License-Identifier: Apache-2.0 */
/* The part of numpy that kernels use while they are specialised: dtypes, ufuncs as operators, and
 * small constant arrays (identity masks, index tables). Arrays hold their elements as float64. */
#include "nki/api/api.h"

#include <math.h>

static bool read_dtype(struct interp *in, const struct nki_node *node, struct value v,
                       enum dtype standard, enum dtype *dtype) {
    if (!api_want_dtype(in, node, v, dtype))
        return false;
    if (*dtype == DTYPE_NONE)
        *dtype = standard;
    return true;
}

/* np.identity(n, dtype), np.eye(n, m, k, dtype) */
static bool np_identity(struct interp *in, const struct call *call, struct value *result) {
    struct value v[4];
    int64_t n, m, k = 0;
    enum dtype dtype;
    bool eye = call->data != NULL;
    if (!api_bind(in, call, eye ? "N, M=None, k=0, dtype=None" : "n, dtype=None", v) ||
        !api_want_int(in, call->node, "the size of the matrix", v[0], &n) ||
        !read_dtype(in, call->node, v[eye ? 3 : 1], DTYPE_FLOAT64, &dtype))
        return false;
    m = n;
    if (eye && ((v[1].kind != VALUE_NONE && !api_want_int(in, call->node, "M", v[1], &m)) ||
                (v[2].kind != VALUE_NONE && !api_want_int(in, call->node, "k", v[2], &k))))
        return false;
    struct array *array = api_host_new(in, call->node, dtype, (int64_t[]){n, m}, 2);
    if (!array)
        return false;
    for (int64_t i = 0; i < n; i++)
        if (k >= -i && k < m - i)
            ((double *)array->data)[i * m + i + k] = 1;
    *result = api_host_value(array);
    return true;
}

static bool fill(struct interp *in, const struct call *call, struct value shape_value,
                 struct value dtype_value, double value, struct value *result) {
    int64_t shape[TENSOR_MAX_DIMS];
    int n;
    enum dtype dtype;
    if (!api_host_shape(in, call->node, shape_value, shape, &n) ||
        !read_dtype(in, call->node, dtype_value, DTYPE_FLOAT64, &dtype))
        return false;
    struct array *array = api_host_new(in, call->node, dtype, shape, n);
    if (!array)
        return false;
    for (int64_t i = 0, count = array_count(array); i < count; i++)
        ((double *)array->data)[i] = value;
    *result = api_host_value(array);
    return true;
}

/* np.zeros, np.empty (no data), np.ones */
static bool np_filled(struct interp *in, const struct call *call, struct value *result) {
    struct value v[2];
    return api_bind(in, call, "shape, dtype=None", v) &&
           fill(in, call, v[0], v[1], call->data ? 1 : 0, result);
}

static bool np_full(struct interp *in, const struct call *call, struct value *result) {
    struct value v[3];
    double value;
    if (!api_bind(in, call, "shape, fill_value, dtype=None", v))
        return false;
    if (!api_want_number(v[1], &value))
        return interp_error(in, call->node, "hone-gap-numpy", "np.full needs a number");
    return fill(in, call, v[0], v[2], value, result);
}

static bool np_arange(struct interp *in, const struct call *call, struct value *result) {
    struct value v[4];
    int64_t start = 0, stop, step = 1;
    enum dtype dtype;
    if (!api_bind(in, call, "start, stop=None, step=None, dtype=None", v) ||
        !api_want_int(in, call->node, "np.arange", v[v[1].kind != VALUE_NONE], &stop) ||
        (v[1].kind != VALUE_NONE && !api_want_int(in, call->node, "np.arange", v[0], &start)) ||
        (v[2].kind != VALUE_NONE && !api_want_int(in, call->node, "np.arange", v[2], &step)) ||
        !read_dtype(in, call->node, v[3], DTYPE_INT64, &dtype))
        return false;
    int64_t count = step > 0 ? MAX_OF((stop - start + step - 1) / step, 0) : 0;
    struct array *array = api_host_new(in, call->node, dtype, &count, 1);
    if (!array)
        return false;
    for (int64_t i = 0; i < count; i++)
        ((double *)array->data)[i] = (double)(start + i * step);
    *result = api_host_value(array);
    return true;
}

static bool measure(struct interp *in, const struct nki_node *node, struct value v, int64_t *shape,
                    int *n) {
    while (v.kind == VALUE_LIST || v.kind == VALUE_TUPLE) {
        if (*n == ARRAY_MAX_DIMS || v.seq->items.len == 0)
            return interp_error(in, node, "hone-gap-numpy",
                                "np.array: the list is empty or nested too deeply");
        shape[(*n)++] = (int64_t)v.seq->items.len;
        v = v.seq->items.at[0];
    }
    return true;
}

static bool collect(struct interp *in, const struct nki_node *node, struct value v, int depth,
                    const struct array *array, double **next) {
    if (depth == array->ndim) {
        if (!api_want_number(v, (*next)++))
            return interp_error(in, node, "hone-gap-numpy",
                                "np.array takes nested lists of numbers");
        return true;
    }
    if ((v.kind != VALUE_LIST && v.kind != VALUE_TUPLE) ||
        (int64_t)v.seq->items.len != array->shape[depth])
        return interp_error(in, node, "hone-gap-numpy",
                            "np.array: the lists have different lengths");
    for (size_t i = 0; i < v.seq->items.len; i++)
        if (!collect(in, node, v.seq->items.at[i], depth + 1, array, next))
            return false;
    return true;
}

static bool np_array(struct interp *in, const struct call *call, struct value *result) {
    struct value v[2];
    int64_t shape[ARRAY_MAX_DIMS];
    int n = 0;
    enum dtype dtype;
    if (!api_bind(in, call, "object, dtype=None", v))
        return false;
    if (v[0].kind == VALUE_HOST) {
        struct array *same = call->data ? v[0].host : api_host_copy(in, call->node, v[0].host);
        *result = api_host_value(same);
        return same != NULL;
    }
    if (!measure(in, call->node, v[0], shape, &n) ||
        !read_dtype(in, call->node, v[1], DTYPE_FLOAT64, &dtype))
        return false;
    struct array *array = api_host_new(in, call->node, dtype, shape, n);
    if (!array)
        return false;
    double *next = array->data;
    *result = api_host_value(array);
    return collect(in, call->node, v[0], 0, array, &next);
}

/* np.tril and np.triu (data is set) */
static bool np_triangle(struct interp *in, const struct call *call, struct value *result) {
    struct value v[2];
    int64_t k = 0;
    if (!api_bind(in, call, "m, k=0", v) ||
        (v[1].kind != VALUE_NONE && !api_want_int(in, call->node, "k", v[1], &k)))
        return false;
    if (v[0].kind != VALUE_HOST || v[0].host->ndim != 2)
        return interp_error(in, call->node, "hone-gap-numpy", "np.tril and np.triu take a matrix");
    struct array *out = api_host_new(in, call->node, v[0].host->dtype, v[0].host->shape, 2);
    if (!out)
        return false;
    for (int64_t i = 0; i < out->shape[0]; i++)
        for (int64_t j = 0; j < out->shape[1]; j++)
            if (call->data ? j - i >= k : j - i <= k)
                ((double *)out->data)[i * out->shape[1] + j] =
                    api_host_read(v[0].host, i * out->shape[1] + j);
    *result = api_host_value(out);
    return true;
}

/* np.dtype(x) is the dtype itself; its .type makes numbers. */
static bool np_dtype(struct interp *in, const struct call *call, struct value *result) {
    struct value v[1];
    enum dtype dtype;
    if (!api_bind(in, call, "dtype", v) || !api_want_dtype(in, call->node, v[0], &dtype))
        return false;
    *result = (struct value){.kind = VALUE_DTYPE, .i = dtype};
    return true;
}

static const struct {
    const char *name;
    double (*run)(double);
} functions[] = {
    {"sqrt", sqrt}, {"exp", exp}, {"log", log}, {"log2", log2}, {"ceil", ceil},  {"floor", floor},
    {"abs", fabs},  {"sin", sin}, {"cos", cos}, {"tanh", tanh}, {"round", rint},
};

/* np.sqrt(2.0) and the like, on numbers and host arrays. */
static bool np_function(struct interp *in, const struct call *call, struct value *result) {
    double x;
    double (*run)(double) = functions[(uintptr_t)call->data].run;
    if (call->n_args == 1 && call->args[0].kind == VALUE_HOST) {
        const struct array *from = call->args[0].host;
        struct array *out = api_host_new(in, call->node, from->dtype, from->shape, from->ndim);
        for (int64_t i = 0, n = array_count(from); out && i < n; i++)
            ((double *)out->data)[i] = run(api_host_read(from, i));
        *result = api_host_value(out);
        return out != NULL;
    }
    if (call->n_args != 1 || !api_want_number(call->args[0], &x))
        return interp_error(in, call->node, "hone-gap-numpy", "np.%s takes a number here",
                            functions[(uintptr_t)call->data].name);
    *result = value_float(run(x));
    return true;
}

static bool want_array(struct interp *in, const struct nki_node *node, const char *what,
                       struct value v, const struct array **array) {
    *array = v.kind == VALUE_HOST ? v.host : NULL;
    return *array || interp_error(in, node, "TypeError", "%s takes numpy arrays; found %s", what,
                                  value_type_name(v));
}

static bool give_array(struct array *array, struct value *result) {
    *result = api_host_value(array);
    return array != NULL;
}

/* np.kron(a, b): each element of a times all of b. np.outer takes both as one row. */
static bool np_kron(struct interp *in, const struct call *call, struct value *result) {
    struct value v[2];
    const struct array *a, *b;
    if (!api_bind(in, call, "a, b", v) || !want_array(in, call->node, "np.kron", v[0], &a) ||
        !want_array(in, call->node, "np.kron", v[1], &b))
        return false;
    bool outer = call->data != NULL;
    struct array x = *a, y = *b, shape = {0};
    if (outer) {
        x.shape[0] = array_count(a);
        y.shape[0] = 1;
        y.shape[1] = array_count(b);
        x.ndim = y.ndim = 2;
        x.shape[1] = 1;
    }
    if (x.ndim != y.ndim)
        return interp_error(in, call->node, "ValueError",
                            "np.kron takes arrays of as many dimensions in a kernel");
    for (int d = 0; d < x.ndim; d++)
        shape.shape[d] = x.shape[d] * y.shape[d];
    struct array *out = api_host_new(in, call->node, a->dtype, shape.shape, x.ndim);
    for (int64_t i = 0, n = out ? array_count(out) : 0; i < n; i++) {
        int64_t rest = i, at = 0, to = 0, wide = 1, tall = 1;
        for (int d = x.ndim - 1; d >= 0; d--) {
            int64_t index = rest % out->shape[d];
            rest /= out->shape[d];
            at += index / y.shape[d] * wide;
            to += index % y.shape[d] * tall;
            wide *= x.shape[d];
            tall *= y.shape[d];
        }
        ((double *)out->data)[i] = api_host_read(a, at) * api_host_read(b, to);
    }
    return give_array(out, result);
}

/* np.tile(a, reps): the array again and again. */
static bool np_tile(struct interp *in, const struct call *call, struct value *result) {
    struct value v[2];
    const struct array *a;
    int64_t reps[TENSOR_MAX_DIMS], shape[ARRAY_MAX_DIMS];
    int n;
    if (!api_bind(in, call, "A, reps", v) || !want_array(in, call->node, "np.tile", v[0], &a) ||
        !api_host_shape(in, call->node, v[1], reps, &n))
        return false;
    int rank = MAX_OF(n, a->ndim);
    for (int d = 0; d < rank; d++) {
        int own = d - rank + a->ndim, times = d - rank + n;
        shape[d] = (own >= 0 ? a->shape[own] : 1) * (times >= 0 ? reps[times] : 1);
    }
    struct array *out = api_host_new(in, call->node, a->dtype, shape, rank);
    for (int64_t i = 0, count = out ? array_count(out) : 0; i < count; i++) {
        int64_t rest = i, at = 0, wide = 1;
        for (int d = rank - 1; d >= rank - a->ndim; d--) {
            int64_t size = a->shape[d - rank + a->ndim];
            at += rest % out->shape[d] % size * wide;
            rest /= out->shape[d];
            wide *= size;
        }
        ((double *)out->data)[i] = api_host_read(a, at);
    }
    return give_array(out, result);
}

/* np.concatenate(arrays, axis=0); np.stack (data is set) gives each a new axis 0 first. */
static bool np_concatenate(struct interp *in, const struct call *call, struct value *result) {
    struct value v[2];
    const struct value_seq *items;
    int64_t axis, length = 0;
    const struct array *first, *a;
    bool stack = call->data != NULL;
    if (!api_bind(in, call, "arrays, axis=0", v) || !interp_items(in, call->node, v[0], &items) ||
        !api_want_int(in, call->node, "axis", v[1].kind == VALUE_NONE ? value_int(0) : v[1], &axis))
        return false;
    if (!items->items.len)
        return interp_error(in, call->node, "ValueError", "there is no array to join");
    if (!want_array(in, call->node, "np.concatenate", items->items.at[0], &first))
        return false;
    axis += axis < 0 ? first->ndim : 0;
    if (axis < 0 || axis >= (stack ? 1 : first->ndim))
        return interp_error(in, call->node, "ValueError", "axis %lld cannot be joined along here",
                            (long long)axis);
    for (size_t k = 0; k < items->items.len; k++) {
        if (!want_array(in, call->node, "np.concatenate", items->items.at[k], &a))
            return false;
        bool fits = a->ndim == first->ndim;
        for (int d = 0; fits && d < a->ndim; d++)
            fits = (!stack && d == axis) || a->shape[d] == first->shape[d];
        if (!fits)
            return interp_error(in, call->node, "ValueError",
                                "the arrays to join have different shapes");
        length += stack ? 1 : a->shape[axis];
    }
    int64_t shape[ARRAY_MAX_DIMS + 1] = {length}, outer = 1, inner = 1;
    for (int d = 0; d < first->ndim; d++) {
        shape[d + stack] = !stack && d == axis ? length : first->shape[d];
        outer *= !stack && d < axis ? first->shape[d] : 1;
        inner *= stack || d > axis ? first->shape[d] : 1;
    }
    struct array *out =
        first->ndim + stack > ARRAY_MAX_DIMS
            ? NULL
            : api_host_new(in, call->node, first->dtype, shape, first->ndim + stack);
    double *to = out ? out->data : NULL;
    for (int64_t o = 0; out && o < outer; o++)
        for (size_t k = 0; k < items->items.len; k++) {
            a = items->items.at[k].host;
            int64_t n = (stack ? 1 : a->shape[axis]) * inner;
            memcpy(to, (const double *)a->data + o * n, (size_t)n * sizeof *to);
            to += n;
        }
    return give_array(out, result);
}

/* np.where(condition, x, y) of arrays and numbers. */
static bool np_where(struct interp *in, const struct call *call, struct value *result) {
    struct value v[3], sum;
    const struct array *condition;
    if (!api_bind(in, call, "condition, x, y", v) ||
        !want_array(in, call->node, "np.where", v[0], &condition) ||
        /* the shapes join as in a sum */
        !api_host_binary(in, call->node, NKI_ADD, v[0], v[1], &sum) ||
        !api_host_binary(in, call->node, NKI_ADD, sum, v[2], &sum))
        return false;
    struct array *out = sum.host;
    for (int64_t i = 0, n = array_count(out); i < n; i++) {
        bool yes = api_host_at(v[0].host, out, i) != 0;
        const struct value *from = yes ? &v[1] : &v[2];
        double number = 0;
        if (from->kind == VALUE_HOST)
            number = api_host_at(from->host, out, i);
        else
            (void)api_want_number(*from, &number);
        ((double *)out->data)[i] = number;
    }
    return give_array(out, result);
}

static bool np_transpose(struct interp *in, const struct call *call, struct value *result) {
    struct value v[1];
    const struct array *a;
    return api_bind(in, call, "a", v) && want_array(in, call->node, "np.transpose", v[0], &a) &&
           give_array(api_host_transpose(in, call->node, a), result);
}

static bool product_of(struct interp *in, const struct call *call, struct value *result) {
    const struct value_seq *items;
    int64_t product = 1, n;
    if (call->n_args < 1 || !interp_items(in, call->node, call->args[0], &items))
        return call->n_args
                   ? false
                   : interp_error(in, call->node, "hone-gap-numpy", "np.prod takes a list");
    for (size_t i = 0; i < items->items.len; i++) {
        if (!api_want_int(in, call->node, "an element", items->items.at[i], &n))
            return false;
        product *= n;
    }
    *result = value_int(product);
    return true;
}

static const struct value_native natives[] = {
    {"np.identity", np_identity, NULL},  {"np.eye", np_identity, "eye"},
    {"np.zeros", np_filled, NULL},       {"np.empty", np_filled, NULL},
    {"np.ones", np_filled, "1"},         {"np.full", np_full, NULL},
    {"np.arange", np_arange, NULL},      {"np.array", np_array, NULL},
    {"np.asarray", np_array, "asarray"}, {"np.tril", np_triangle, NULL},
    {"np.triu", np_triangle, "upper"},   {"np.dtype", np_dtype, NULL},
    {"np.prod", product_of, NULL},       {"np.finfo", np_dtype, NULL},
    {"np.iinfo", np_dtype, NULL},        {"np.kron", np_kron, NULL},
    {"np.outer", np_kron, "outer"},      {"np.tile", np_tile, NULL},
    {"np.where", np_where, NULL},        {"np.concatenate", np_concatenate, NULL},
    {"np.stack", np_concatenate, "new"}, {"np.transpose", np_transpose, NULL},
};
#define FUNCTION(i) \
    { "np.function", np_function, (const void *)(uintptr_t)(i) }
static const struct value_native function_natives[COUNT_OF(functions)] = {
    FUNCTION(0), FUNCTION(1), FUNCTION(2), FUNCTION(3), FUNCTION(4),  FUNCTION(5),
    FUNCTION(6), FUNCTION(7), FUNCTION(8), FUNCTION(9), FUNCTION(10),
};

/* ufuncs whose name in numpy differs from that in nl. */
static const struct {
    const char *name;
    enum nki_func func;
} ufuncs[] = {
    {"true_divide", NKI_FUNC_DIVIDE},
    {"absolute", NKI_FUNC_ABS},
    {"amax", NKI_FUNC_MAXIMUM},
    {"amin", NKI_FUNC_MINIMUM},
    {"max", NKI_FUNC_MAXIMUM},
    {"min", NKI_FUNC_MINIMUM},
    {"sum", NKI_FUNC_ADD},
    {"bitwise_not", NKI_FUNC_INVERT},
    {"remainder", NKI_FUNC_MOD},
    {"mean", NKI_FUNC_AVERAGE},
    {"all", NKI_FUNC_LOGICAL_AND},
    {"any", NKI_FUNC_LOGICAL_OR},
};

static bool constant_named(struct str name, struct value *result) {
    if (str_is(name, "pi"))
        *result = value_float(3.14159265358979323846);
    else if (str_is(name, "e"))
        *result = value_float(2.71828182845904523536);
    else if (str_is(name, "inf"))
        *result = value_float(INFINITY);
    else if (str_is(name, "nan"))
        *result = value_float(NAN);
    else if (str_is(name, "newaxis"))
        *result = NONE_VALUE;
    else
        return false;
    return true;
}

bool api_numpy_name(struct interp *in, const struct nki_node *node, struct str name,
                    struct value *result) {
    (void)in;
    (void)node;
    enum dtype dtype = dtype_find(name);
    for (size_t i = 0; i < COUNT_OF(natives); i++)
        if (str_is(name, natives[i].name + 3)) {
            *result = (struct value){.kind = VALUE_NATIVE, .native = &natives[i]};
            return true;
        }
    if (dtype != DTYPE_NONE) {
        *result = (struct value){.kind = VALUE_DTYPE, .i = dtype};
        return true;
    }
    for (size_t i = 0; i < COUNT_OF(ufuncs); i++)
        if (str_is(name, ufuncs[i].name)) {
            *result = (struct value){.kind = VALUE_FUNC, .i = ufuncs[i].func};
            return true;
        }
    enum nki_func func = nki_func_find(name);
    if (func != NKI_FUNC_NONE) {
        *result = (struct value){.kind = VALUE_FUNC, .i = func};
        return true;
    }
    return constant_named(name, result);
}

/* Plain mathematics where a ufunc is called on a number. */
bool api_numpy_call(struct interp *in, const struct call *call, enum nki_func func,
                    struct value *result) {
    struct call copy = *call;
    for (size_t i = 0; i < COUNT_OF(functions); i++)
        if (strcmp(functions[i].name, nki_func_name(func)) == 0) {
            copy.data = function_natives[i].data;
            return np_function(in, &copy, result);
        }
    return interp_error(in, call->node, "hone-gap-numpy", "np.%s is not available on numbers here",
                        nki_func_name(func));
}
