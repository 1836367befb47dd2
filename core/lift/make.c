/* SPDX-License-Identifier: Apache-2.0 */
/* Values in the simplest form that is known: sums of neighbouring ranges are one sum, a mask that
 * is always set is none. Rounding between two such forms differs. */
#include "device/device.h"
#include "lift/private.h"

#include <math.h>

#define LOWEST (-1e30) /* what stands for minus infinity where a maximum begins, or less */

static struct value blank(enum value_kind kind) {
    return (struct value){.kind = (uint8_t)kind, .a = VALUE_NONE, .b = VALUE_NONE, .c = VALUE_NONE};
}

static bool is_nothing(const struct lift *l, value_id id) {
    return value_of(l, id)->kind == VALUE_NOTHING;
}

value_id make_number(struct lift *l, double number) {
    struct value value = blank(VALUE_NUMBER);
    value.number = number == 0 ? 0 : number;
    return value_keep(l, value);
}

value_id make_place(struct lift *l, const struct form *form) {
    struct value value = blank(VALUE_PLACE);
    if (form->count == 0)
        return make_number(l, (double)form->at);
    value.form = form_keep(l, form);
    return value_keep(l, value);
}

value_id make_leaf(struct lift *l, uint32_t storage, const struct form *form, enum dtype dtype) {
    struct value value = blank(VALUE_LEAF);
    value.place = storage;
    value.form = form_keep(l, form);
    value.dtype = (uint8_t)dtype;
    return value_keep(l, value);
}

value_id make_gather(struct lift *l, uint32_t storage, const struct form *form, value_id index,
                     int64_t step) {
    struct value value = blank(VALUE_GATHER);
    value.place = storage;
    value.form = form_keep(l, form);
    value.dtype = (uint8_t)lift_storage(l, storage)->dtype;
    value.a = index;
    value.n = step;
    return is_nothing(l, index) ? index : value_keep(l, value);
}

value_id make_opaque(struct lift *l, uint32_t opaque, const struct form *form) {
    struct value value = blank(VALUE_OPAQUE);
    value.place = opaque;
    value.form = form_keep(l, form);
    return value_keep(l, value);
}

value_id make_nothing(struct lift *l) {
    return value_keep(l, blank(VALUE_NOTHING));
}

static bool is_whole_number(const struct lift *l, value_id id) {
    const struct value *value = value_of(l, id);
    switch (value->kind) {
    case VALUE_NUMBER: return value->number == floor(value->number);
    case VALUE_PLACE: return true;
    case VALUE_LEAF:
    case VALUE_GATHER:
    case VALUE_CAST: return dtype_is_int(value->dtype);
    case VALUE_BINARY:
        return nki_func_has(value->func, 'c') ||
               (value->func != NKI_FUNC_DIVIDE && value->func != NKI_FUNC_POWER &&
                is_whole_number(l, value->a) && is_whole_number(l, value->b));
    case VALUE_WHERE: return is_whole_number(l, value->b) && is_whole_number(l, value->c);
    case VALUE_UNARY: return value->func == NKI_FUNC_FLOOR || value->func == NKI_FUNC_CEIL;
    case VALUE_REDUCE: return is_whole_number(l, value->a);
    default: return false;
    }
}

/* a * b + c with numbers. */
static value_id scaled(struct lift *l, value_id a, double by, double plus) {
    value_id value = make_binary(l, NKI_FUNC_MULTIPLY, a, make_number(l, by));
    return make_binary(l, NKI_FUNC_ADD, value, make_number(l, plus));
}

/* sqrt(2 / pi) * (x + 0.044715 * x^3) */
static value_id inner_of_gelu(struct lift *l, value_id a) {
    value_id square = make_unary(l, NKI_FUNC_SQUARE, a);
    value_id all = make_binary(l, NKI_FUNC_MULTIPLY, scaled(l, square, 0.044715, 1), a);
    return scaled(l, all, 0.7978845608028654, 0);
}

/* Functions of the engines, said with those that numpy has; VALUE_NONE for others. */
static value_id spelled_out(struct lift *l, enum nki_func func, value_id a) {
    switch (func) {
    case NKI_FUNC_NEGATIVE: return scaled(l, a, -1, 0);
    case NKI_FUNC_RELU: return make_binary(l, NKI_FUNC_MAXIMUM, a, make_number(l, 0));
    case NKI_FUNC_RECIPROCAL: return make_binary(l, NKI_FUNC_DIVIDE, make_number(l, 1), a);
    case NKI_FUNC_RSQRT:
        return make_binary(l, NKI_FUNC_DIVIDE, make_number(l, 1), make_unary(l, NKI_FUNC_SQRT, a));
    case NKI_FUNC_SILU:
        return make_binary(l, NKI_FUNC_MULTIPLY, a, make_unary(l, NKI_FUNC_SIGMOID, a));
    case NKI_FUNC_SOFTPLUS:
        return make_unary(l, NKI_FUNC_LOG, scaled(l, make_unary(l, NKI_FUNC_EXP, a), 1, 1));
    case NKI_FUNC_GELU: {
        value_id erf = make_unary(l, NKI_FUNC_ERF, scaled(l, a, 0.7071067811865476, 0));
        return make_binary(l, NKI_FUNC_MULTIPLY, a, scaled(l, erf, 0.5, 0.5));
    }
    case NKI_FUNC_GELU_APPRX_TANH: {
        value_id tanh = make_unary(l, NKI_FUNC_TANH, inner_of_gelu(l, a));
        return make_binary(l, NKI_FUNC_MULTIPLY, a, scaled(l, tanh, 0.5, 0.5));
    }
    case NKI_FUNC_GELU_APPRX_SIGMOID:
        return make_binary(l, NKI_FUNC_MULTIPLY, a,
                           make_unary(l, NKI_FUNC_SIGMOID, scaled(l, a, 1.702, 0)));
    default: return VALUE_NONE;
    }
}

value_id make_unary(struct lift *l, enum nki_func func, value_id a) {
    struct value value = blank(VALUE_UNARY);
    const struct value *of = value_of(l, a);
    if (func == NKI_FUNC_COPY || func == NKI_FUNC_NONE || is_nothing(l, a))
        return a;
    value_id spelled = spelled_out(l, func, a);
    if (spelled != VALUE_NONE)
        return spelled;
    of = value_of(l, a);
    if (of->kind == VALUE_NUMBER && func == NKI_FUNC_EXP)
        return make_number(l, exp(of->number));
    if (of->kind == VALUE_NUMBER && func == NKI_FUNC_SQRT)
        return make_number(l, sqrt(of->number));
    value.func = (uint8_t)func;
    value.a = a;
    return value_keep(l, value);
}

/* ---- sums --------------------------------------------------------------------------------------
 */

/* The larger whole number that is not above a / b. */
static int64_t floor_divide(int64_t a, int64_t b) {
    return a / b - (a % b != 0 && a < 0);
}

/* Where the first element begins that the variable names: ranges count from there. False where the
 * variable names none. */
static bool find_start(struct lift *l, value_id id, int var, int64_t *start) {
    const struct value *value = value_of(l, id);
    if (!(value->free >> var & 1))
        return false;
    const struct form *form = form_of(l, value->form);
    int64_t step = form_step(form, var);
    if (value->kind != VALUE_REDUCE && step > 0) {
        *start = floor_divide(form->at, step);
        return true;
    }
    const value_id in[] = {value->a, value->b, value->c};
    for (int i = 0; i < 3; i++)
        if (in[i] != VALUE_NONE && find_start(l, in[i], var, start))
            return true;
    return false;
}

static value_id repeated(struct lift *l, enum nki_func func, int64_t n, value_id body) {
    if (func == NKI_FUNC_ADD)
        return make_binary(l, NKI_FUNC_MULTIPLY, body, make_number(l, (double)n));
    if (func == NKI_FUNC_MULTIPLY)
        return make_binary(l, NKI_FUNC_POWER, body, make_number(l, (double)n));
    return body;
}

/* The inner reduction takes every n-th element, and the outer one goes over the n that it begins
 * with. */
static value_id join_interleaved(struct lift *l, const struct value *outer, struct value inner) {
    int own = LIFT_BOUND + inner.height - 1, var = LIFT_BOUND + inner.height;
    struct form both = form_var(own, outer->n), one = form_var(var, 1);
    form_add(&both, &one, 1);
    value_id first = value_set(l, inner.a, own, form_number(0));
    if (outer->low || value_of(l, first)->height != inner.height - 1 ||
        value_set(l, first, var, both) != inner.a)
        return VALUE_NONE;
    inner.low *= outer->n;
    inner.n *= outer->n;
    inner.height++; /* the variable of the outer one is left */
    return make_bound(l, &inner, inner.low, first);
}

/* A reduction of reductions over neighbouring ranges is one over all of them: VALUE_NONE where the
 * body depends on more than n * outer + inner. */
static value_id join_ranges(struct lift *l, const struct value *outer, value_id body) {
    struct value inner = *value_of(l, body);
    if (inner.kind != VALUE_REDUCE || inner.func != outer->func || outer->func == NKI_FUNC_MULTIPLY)
        return VALUE_NONE;
    int own = LIFT_BOUND + inner.height - 1, var = LIFT_BOUND + inner.height;
    struct form both = form_var(var, inner.n), one = form_var(own, 1);
    form_add(&both, &one, 1);
    value_id first = value_set(l, inner.a, var, form_number(0));
    if (value_of(l, first)->height != inner.height - 1 || value_set(l, first, own, both) != inner.a)
        return join_interleaved(l, outer, inner);
    inner.low += inner.n * outer->low;
    inner.n *= outer->n;
    inner.a = first;
    return make_bound(l, &inner, inner.low, first);
}

value_id make_bound(struct lift *l, const struct value *from, int64_t low, value_id body) {
    struct value value = *from;
    int old = LIFT_BOUND + from->height - 1, var = LIFT_BOUND + value_of(l, body)->height;
    int64_t start = 0;
    if (is_nothing(l, body))
        return body;
    if (value_is_deep(l, body)) {
        l->limit = "reductions within reductions";
        return body;
    }
    if (old != var)
        body = value_set(l, body, old, form_var(var, 1));
    if (from->n == 1 || !(value_of(l, body)->free >> var & 1))
        return from->n == 1 ? value_set(l, body, var, form_number(low))
                            : repeated(l, from->func, from->n, body);
    if (find_start(l, body, var, &start) && start) {
        struct form shifted = form_var(var, 1);
        shifted.at = -start;
        body = value_set(l, body, var, shifted);
    }
    value.a = body;
    value.low = low + start;
    value_id joined = join_ranges(l, &value, body);
    return joined != VALUE_NONE ? joined : value_keep(l, value);
}

static value_id bind(struct lift *l, struct value value, int var, value_id body) {
    int bound = LIFT_BOUND + value_of(l, body)->height;
    if (value_is_deep(l, body)) {
        l->limit = "reductions within reductions";
        return body;
    }
    value.height = (uint8_t)(bound - LIFT_BOUND + 1);
    return make_bound(l, &value, 0, value_set(l, body, var, form_var(bound, 1)));
}

value_id make_reduce(struct lift *l, enum nki_func func, int var, int64_t n, value_id body) {
    struct value value = blank(VALUE_REDUCE);
    value.func = (uint8_t)func;
    value.n = n;
    return bind(l, value, var, body);
}

/* Whether a value is 1 where `form` is 0 and 0 elsewhere. */
static bool is_delta(const struct lift *l, value_id id, struct form *form) {
    const struct value *value = value_of(l, id);
    if (value->kind != VALUE_BINARY || value->func != NKI_FUNC_EQUAL ||
        !value_is_number(l, value->b, 0) || value_of(l, value->a)->kind != VALUE_PLACE)
        return false;
    *form = *form_of(l, value_of(l, value->a)->form);
    return true;
}

/* Solves form = 0 for a variable that is in range whatever the others are. */
static bool solve(const struct form *form, int var, const int64_t *count, struct form *solution) {
    int64_t step = form_step(form, var);
    if (step != 1 && step != -1)
        return false;
    struct form rest = *form, own = form_var(var, step);
    if (!form_add(&rest, &own, -1))
        return false;
    *solution = form_number(0);
    form_add(solution, &rest, -step);
    int64_t low = solution->at, high = solution->at;
    for (int i = 0; i < solution->count; i++) {
        int64_t reach = solution->term[i].step;
        if (solution->term[i].var >= LIFT_DIMS)
            return false;
        reach *= count[solution->term[i].var] - 1;
        *(reach < 0 ? &low : &high) += reach;
    }
    return low >= 0 && high < count[var];
}

value_id make_sum(struct lift *l, int var, int64_t n, value_id body, const int64_t *count) {
    const struct value value = *value_of(l, body);
    struct form form, solution;
    if (value.kind == VALUE_BINARY && value.func == NKI_FUNC_MULTIPLY) {
        if (is_delta(l, value.b, &form) && solve(&form, var, count, &solution))
            return value_set(l, value.a, var, solution);
        if (is_delta(l, value.a, &form) && solve(&form, var, count, &solution))
            return value_set(l, value.b, var, solution);
    }
    return make_reduce(l, NKI_FUNC_ADD, var, n, body);
}

/* Two terms as one reduction, where they are neighbours. */
static value_id merge(struct lift *l, enum nki_func func, value_id a, value_id b) {
    const struct value x = *value_of(l, a), y = *value_of(l, b);
    bool is_range = x.kind == VALUE_REDUCE && x.func == func;
    if (value_is_deep(l, a) || value_is_deep(l, b))
        return VALUE_NONE;
    if (is_range && y.kind == VALUE_REDUCE && y.func == func && x.a == y.a &&
        y.low == x.low + x.n) {
        struct value both = x;
        both.n += y.n;
        return value_keep(l, both);
    }
    if (is_range && value_of(l, x.a)->kind == y.kind) {
        int var = LIFT_BOUND + x.height - 1;
        if (value_set(l, x.a, var, form_number(x.low + x.n)) == b) {
            struct value longer = x;
            longer.n++;
            return value_keep(l, longer);
        }
    }
    if (a == b || x.kind == VALUE_NUMBER)
        return VALUE_NONE;
    value_id joined = value_join(l, a, b, LIFT_SPARE);
    return joined == VALUE_NONE ? joined : make_reduce(l, func, LIFT_SPARE, 2, joined);
}

static bool is_sum(enum nki_func func) {
    return func == NKI_FUNC_ADD || func == NKI_FUNC_MAXIMUM || func == NKI_FUNC_MINIMUM ||
           func == NKI_FUNC_MULTIPLY;
}

static value_id add_term(struct lift *l, enum nki_func func, value_id a, value_id b) {
    const struct value x = *value_of(l, a);
    value_id merged = merge(l, func, a, b);
    if (merged != VALUE_NONE)
        return merged;
    if (x.kind != VALUE_BINARY || x.func != func)
        return VALUE_NONE;
    bool number = value_of(l, x.b)->kind == VALUE_NUMBER;
    merged = merge(l, func, number ? x.a : x.b, b);
    return merged == VALUE_NONE ? merged : make_binary(l, func, number ? x.b : x.a, merged);
}

/* ---- operators ---------------------------------------------------------------------------------
 */

static value_id fold(struct lift *l, enum nki_func func, double a, double b) {
    switch (func) {
    case NKI_FUNC_ADD: return make_number(l, a + b);
    case NKI_FUNC_SUBTRACT: return make_number(l, a - b);
    case NKI_FUNC_MULTIPLY: return make_number(l, a * b);
    case NKI_FUNC_DIVIDE: return make_number(l, a / b);
    case NKI_FUNC_MAXIMUM: return make_number(l, fmax(a, b));
    case NKI_FUNC_MINIMUM: return make_number(l, fmin(a, b));
    case NKI_FUNC_POWER: return make_number(l, pow(a, b));
    default: return VALUE_NONE;
    }
}

/* A value as a form, where it is one. */
static bool as_form(const struct lift *l, value_id id, struct form *form) {
    const struct value *value = value_of(l, id);
    if (value->kind == VALUE_PLACE)
        *form = *form_of(l, value->form);
    else if (value->kind == VALUE_NUMBER && value->number == floor(value->number) &&
             fabs(value->number) < 1e9)
        *form = form_number((int64_t)value->number);
    else
        return false;
    return true;
}

static value_id place_with(struct lift *l, enum nki_func func, value_id a, value_id b) {
    struct form x, y, made = form_number(0);
    if (value_of(l, a)->kind != VALUE_PLACE && value_of(l, b)->kind != VALUE_PLACE)
        return VALUE_NONE;
    if (!as_form(l, a, &x) || !as_form(l, b, &y))
        return VALUE_NONE;
    bool by = func == NKI_FUNC_MULTIPLY && (y.count == 0 || x.count == 0);
    if (by && form_add(&made, y.count ? &y : &x, y.count ? x.at : y.at))
        return make_place(l, &made);
    if (func != NKI_FUNC_ADD && func != NKI_FUNC_SUBTRACT && !nki_func_has(func, 'c'))
        return VALUE_NONE;
    if (nki_func_has(func, 'c') && value_is_number(l, b, 0))
        return VALUE_NONE;
    made = x;
    if (!form_add(&made, &y, func == NKI_FUNC_ADD ? 1 : -1))
        return VALUE_NONE;
    value_id place = make_place(l, &made);
    return nki_func_has(func, 'c') ? make_binary(l, func, place, make_number(l, 0)) : place;
}

/* With numbers that change nothing, or alone. */
static value_id simpler(struct lift *l, enum nki_func func, value_id a, value_id b) {
    const struct value *x = value_of(l, a), *y = value_of(l, b);
    if (is_nothing(l, a) || func == NKI_FUNC_BYPASS)
        return a;
    if (is_nothing(l, b))
        return b;
    if (x->kind == VALUE_NUMBER && y->kind == VALUE_NUMBER)
        return fold(l, func, x->number, y->number);
    if (y->kind == VALUE_NUMBER) {
        double n = y->number;
        bool same =
            (n == 0 && (func == NKI_FUNC_ADD || func == NKI_FUNC_SUBTRACT)) ||
            (n == 1 &&
             (func == NKI_FUNC_MULTIPLY || func == NKI_FUNC_DIVIDE || func == NKI_FUNC_POWER)) ||
            (n <= LOWEST && func == NKI_FUNC_MAXIMUM) || (n >= -LOWEST && func == NKI_FUNC_MINIMUM);
        if (same)
            return a;
    }
    return place_with(l, func, a, b);
}

value_id make_binary(struct lift *l, enum nki_func func, value_id a, value_id b) {
    struct value value = blank(VALUE_BINARY);
    bool swaps = is_sum(func) || func == NKI_FUNC_EQUAL || func == NKI_FUNC_NOT_EQUAL;
    if (swaps && value_of(l, a)->kind == VALUE_NUMBER && value_of(l, b)->kind != VALUE_NUMBER) {
        value_id other = a;
        a = b;
        b = other;
    }
    value_id made = simpler(l, func, a, b);
    if (made == VALUE_NONE && is_sum(func) && func != NKI_FUNC_MULTIPLY)
        made = add_term(l, func, a, b);
    if (made != VALUE_NONE)
        return made;
    if (func == NKI_FUNC_MULTIPLY && a == b)
        return make_unary(l, NKI_FUNC_SQUARE, a);
    value.func = (uint8_t)func;
    value.a = a;
    value.b = b;
    return value_keep(l, value);
}

/* Whether all whole numbers of one type are of the other one, too. */
static bool fits_type(enum dtype from, enum dtype to) {
    bool from_signed = dtype_kind(from) == 'i', to_signed = dtype_kind(to) == 'i';
    size_t small = dtype_bytes(from), large = dtype_bytes(to);
    if (to == DTYPE_BOOL)
        return from == to;
    return from == to || (from_signed == to_signed ? small <= large : to_signed && small < large);
}

static bool fits_number(double number, enum dtype to) {
    double most = ldexp(1, (int)(8 * dtype_bytes(to)) - (dtype_kind(to) == 'i'));
    if (to == DTYPE_BOOL)
        return number == 0 || number == 1;
    return number < most && number >= (dtype_kind(to) == 'i' ? -most : 0);
}

/* Whether a whole number surely is one of the type; 32 bits hold what kernels count. */
static bool fits(const struct lift *l, value_id id, enum dtype to) {
    const struct value *value = value_of(l, id);
    switch (value->kind) {
    case VALUE_NUMBER: return fits_number(value->number, to);
    case VALUE_LEAF:
    case VALUE_GATHER:
    case VALUE_CAST: return fits_type(value->dtype, to);
    case VALUE_WHERE: return fits(l, value->b, to) && fits(l, value->c, to);
    case VALUE_BINARY:
        if (nki_func_has(value->func, 'c'))
            return true;
        break;
    default: break;
    }
    return dtype_kind(to) == 'i' && dtype_bytes(to) >= 4;
}

/* Whether a type has the number: float8_e8m0fnu has powers of two only. */
static bool stays(enum dtype dtype, float number) {
    uint8_t bytes[8];
    float back = 0;
    if (!dtype_is_float(dtype))
        return true;
    device_from_float(dtype, &number, bytes, 1);
    device_to_float(dtype, bytes, &back, 1);
    return back == number;
}

static bool has_dtype(const struct lift *l, value_id id, enum dtype dtype) {
    const struct value *value = value_of(l, id);
    double exact = dtype_bytes(dtype) > 1 ? 128 : 8; /* whole numbers up to it are floats of most */
    bool typed = value->kind == VALUE_LEAF || value->kind == VALUE_CAST;
    if (typed && value->dtype == dtype)
        return true;
    if (dtype_is_int(dtype))
        return is_whole_number(l, id) && fits(l, id, dtype);
    return value->kind == VALUE_NUMBER && value->number == floor(value->number) &&
           fabs(value->number) <= exact && stays(dtype, (float)value->number);
}

value_id make_cast(struct lift *l, enum dtype dtype, value_id a) {
    struct value value = blank(VALUE_CAST);
    if (dtype == DTYPE_FLOAT32 || is_nothing(l, a) || value_of(l, a)->kind == VALUE_OPAQUE ||
        has_dtype(l, a, dtype))
        return a;
    if (dtype == DTYPE_BOOL && value_of(l, a)->kind == VALUE_NUMBER)
        return make_number(l, value_of(l, a)->number != 0);
    if (dtype == DTYPE_BOOL)
        return make_binary(l, NKI_FUNC_NOT_EQUAL, a, make_number(l, 0));
    value.dtype = (uint8_t)dtype;
    value.a = a;
    return value_keep(l, value);
}

value_id make_where(struct lift *l, value_id a, value_id b, value_id c) {
    struct value value = blank(VALUE_WHERE);
    const struct value *condition = value_of(l, a);
    if (condition->kind == VALUE_NUMBER)
        return condition->number != 0 ? b : c;
    if (b == c || is_nothing(l, c))
        return b;
    if (is_nothing(l, a) || is_nothing(l, b))
        return is_nothing(l, a) ? a : b;
    if (value_is_number(l, b, 1) && value_is_number(l, c, 0) && condition->kind == VALUE_BINARY &&
        nki_func_has(condition->func, 'c'))
        return a;
    value.a = a;
    value.b = b;
    value.c = c;
    return value_keep(l, value);
}

value_id make_again(struct lift *l, const struct value *from, const value_id in[3],
                    const struct form *form) {
    struct value value = *from;
    switch (from->kind) {
    case VALUE_PLACE: return make_place(l, form);
    case VALUE_UNARY: return make_unary(l, from->func, in[0]);
    case VALUE_BINARY: return make_binary(l, from->func, in[0], in[1]);
    case VALUE_CAST: return make_cast(l, from->dtype, in[0]);
    case VALUE_WHERE: return make_where(l, in[0], in[1], in[2]);
    case VALUE_SCAN: return make_scan_again(l, from, in, form);
    case VALUE_REDUCE: return make_bound(l, from, from->low, in[0]);
    default: break;
    }
    value.form = form_keep(l, form);
    value.a = in[0];
    value.b = in[1];
    value.c = in[2];
    return value_keep(l, value);
}
