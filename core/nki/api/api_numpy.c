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
        return interp_error(in, call->node, "", "np.full needs a number");
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
            return interp_error(in, node, "", "np.array: the list is empty or nested too deeply");
        shape[(*n)++] = (int64_t)v.seq->items.len;
        v = v.seq->items.at[0];
    }
    return true;
}

static bool collect(struct interp *in, const struct nki_node *node, struct value v, int depth,
                    const struct array *array, double **next) {
    if (depth == array->ndim) {
        if (!api_want_number(v, (*next)++))
            return interp_error(in, node, "", "np.array takes nested lists of numbers");
        return true;
    }
    if ((v.kind != VALUE_LIST && v.kind != VALUE_TUPLE) ||
        (int64_t)v.seq->items.len != array->shape[depth])
        return interp_error(in, node, "", "np.array: the lists have different lengths");
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
        return interp_error(in, call->node, "", "np.tril and np.triu take a matrix");
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
        return interp_error(in, call->node, "", "np.%s takes a number here",
                            functions[(uintptr_t)call->data].name);
    *result = value_float(run(x));
    return true;
}

static bool product_of(struct interp *in, const struct call *call, struct value *result) {
    const struct value_seq *items;
    int64_t product = 1, n;
    if (call->n_args < 1 || !interp_items(in, call->node, call->args[0], &items))
        return call->n_args ? false : interp_error(in, call->node, "", "np.prod takes a list");
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
    {"np.iinfo", np_dtype, NULL},
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
    return interp_error(in, call->node, "", "np.%s is not available on numbers here",
                        nki_func_name(func));
}
