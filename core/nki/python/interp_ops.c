/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on Python's own values: arithmetic with Python's rules for signs and division,
 * comparison, containment, length. Those on tensors and other values of the API go to the API
 * side. */
#include "nki/python/inner.h"

#include <math.h>

static bool overflow(struct interp *in, const struct nki_node *node, enum nki_binary op) {
    return interp_error(in, node, "hone-gap-python",
                        "the result of '%s' does not fit a 64-bit integer, and hone has no larger "
                        "ones",
                        nki_binary_text(op));
}

static bool by_zero(struct interp *in, const struct nki_node *node) {
    return interp_error(in, node, "ZeroDivisionError", "division by zero");
}

static int64_t floor_div(int64_t a, int64_t b) {
    int64_t q = a / b;
    return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}

static int64_t floor_mod(int64_t a, int64_t b) {
    int64_t r = a % b;
    return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;
}

static bool int_power(struct interp *in, const struct nki_node *node, int64_t a, int64_t b,
                      struct value *result) {
    if (b < 0) {
        if (a == 0)
            return by_zero(in, node);
        *result = value_float(pow((double)a, (double)b));
        return true;
    }
    int64_t value = 1;
    for (; b > 0; b >>= 1) {
        if ((b & 1) && __builtin_mul_overflow(value, a, &value))
            return overflow(in, node, NKI_POW);
        if (b > 1 && __builtin_mul_overflow(a, a, &a))
            return overflow(in, node, NKI_POW);
    }
    *result = value_int(value);
    return true;
}

static bool int_shift(struct interp *in, const struct nki_node *node, bool left,
                      struct value pair[2], struct value *result) {
    int64_t a = integer_of(pair[0]), b = integer_of(pair[1]);
    if (b < 0)
        return interp_error(in, node, "ValueError", "a shift by a negative count (%lld)",
                            (long long)b);
    if (!left) {
        *result = value_int(b > 63 ? (a < 0 ? -1 : 0) : a >> b);
        return true;
    }
    int64_t factor;
    if (a != 0 && (b > 62 || __builtin_mul_overflow(a, (int64_t)1 << b, &factor)))
        return overflow(in, node, NKI_SHIFT_LEFT);
    *result = value_int(a == 0 ? 0 : factor);
    return true;
}

static bool int_divide(struct interp *in, const struct nki_node *node, enum nki_binary op,
                       struct value pair[2], struct value *result) {
    int64_t a = integer_of(pair[0]), b = integer_of(pair[1]);
    if (b == 0)
        return by_zero(in, node);
    if (op == NKI_DIV) {
        *result = value_float((double)a / (double)b);
        return true;
    }
    if (b == -1) { /* INT64_MIN / -1 */
        int64_t negated = 0;
        if (op == NKI_FLOOR_DIV && __builtin_sub_overflow((int64_t)0, a, &negated))
            return overflow(in, node, op);
        *result = value_int(negated);
        return true;
    }
    *result = value_int(op == NKI_FLOOR_DIV ? floor_div(a, b) : floor_mod(a, b));
    return true;
}

static bool int_binary(struct interp *in, const struct nki_node *node, enum nki_binary op,
                       struct value pair[2], struct value *result) {
    int64_t a = integer_of(pair[0]), b = integer_of(pair[1]), r = 0;
    bool both_bool = pair[0].kind == VALUE_BOOL && pair[1].kind == VALUE_BOOL;
    bool over = false;
    switch (op) {
    case NKI_ADD: over = __builtin_add_overflow(a, b, &r); break;
    case NKI_SUB: over = __builtin_sub_overflow(a, b, &r); break;
    case NKI_MUL: over = __builtin_mul_overflow(a, b, &r); break;
    case NKI_BIT_OR: r = a | b; break;
    case NKI_BIT_XOR: r = a ^ b; break;
    case NKI_BIT_AND: r = a & b; break;
    case NKI_SHIFT_LEFT:
    case NKI_SHIFT_RIGHT: return int_shift(in, node, op == NKI_SHIFT_LEFT, pair, result);
    case NKI_POW: return int_power(in, node, a, b, result);
    case NKI_MATMUL:
        return interp_error(in, node, "TypeError", "'@' needs tensors, not two integers");
    default: return int_divide(in, node, op, pair, result);
    }
    if (over)
        return overflow(in, node, op);
    *result = both_bool && op <= NKI_BIT_AND ? value_bool(r) : value_int(r);
    return true;
}

static double float_mod(double a, double b) {
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static bool float_binary(struct interp *in, const struct nki_node *node, enum nki_binary op,
                         struct value pair[2], struct value *result) {
    double a = number_of(pair[0]), b = number_of(pair[1]), r = 0;
    switch (op) {
    case NKI_ADD: r = a + b; break;
    case NKI_SUB: r = a - b; break;
    case NKI_MUL: r = a * b; break;
    case NKI_DIV:
    case NKI_FLOOR_DIV:
    case NKI_MOD:
        if (b == 0)
            return by_zero(in, node);
        r = op == NKI_DIV ? a / b : op == NKI_FLOOR_DIV ? floor(a / b) : float_mod(a, b);
        break;
    case NKI_POW:
        if (a == 0 && b < 0)
            return by_zero(in, node);
        r = pow(a, b);
        break;
    default:
        return interp_error(in, node, "TypeError", "'%s' needs integers, not %s and %s",
                            nki_binary_text(op), value_type_name(pair[0]),
                            value_type_name(pair[1]));
    }
    *result = value_float(r);
    return true;
}

static bool concatenate(struct interp *in, const struct nki_node *node, struct value a,
                        struct value b, struct value *result) {
    if (a.kind == VALUE_STR) {
        if (!interp_room(in, node, a.str->len + b.str->len, 1))
            return false;
        struct buf buf = {0};
        buf_add(&buf, a.str->at, a.str->len);
        buf_add(&buf, b.str->at, b.str->len);
        *result = value_take(in, &buf);
        return true;
    }
    size_t n = a.seq->items.len, m = b.seq->items.len;
    if (!interp_room(in, node, n + m, sizeof(struct value)))
        return false;
    struct value_seq *seq = seq_new(in, n + m);
    if (n)
        memcpy(seq->items.at, a.seq->items.at, n * sizeof(struct value));
    if (m)
        memcpy(seq->items.at + n, b.seq->items.at, m * sizeof(struct value));
    *result = (struct value){.kind = a.kind, .seq = seq};
    return true;
}

static bool repeat(struct interp *in, const struct nki_node *node, struct value a, int64_t times,
                   struct value *result) {
    bool text = a.kind == VALUE_STR;
    uint64_t n = text ? a.str->len : a.seq->items.len, total;
    if (times < 0)
        times = 0;
    if (__builtin_mul_overflow(n, (uint64_t)times, &total))
        total = UINT64_MAX;
    if (!interp_room(in, node, total, text ? 1 : sizeof(struct value)))
        return false;
    if (text) {
        struct buf buf = {0};
        for (uint64_t done = 0; done < total; done += n)
            buf_add(&buf, a.str->at, n);
        *result = value_take(in, &buf);
        return true;
    }
    struct value_seq *seq = seq_new(in, total);
    for (uint64_t done = 0; done < total; done += n)
        memcpy(seq->items.at + done, a.seq->items.at, n * sizeof(struct value));
    *result = (struct value){.kind = a.kind, .seq = seq};
    return true;
}

static void dict_add_all(struct interp *in, struct value_dict *to, const struct value_dict *from) {
    for (size_t i = 0; i < from->pairs.len; i++)
        value_dict_put(in, to, from->pairs.at[i].key, from->pairs.at[i].value);
}

/* | & - ^ of two sets; | of two dicts. */
static bool dict_binary(struct interp *in, enum nki_binary op, struct value a, struct value b,
                        struct value *result) {
    *result = value_new_dict(in);
    result->dict->is_set = a.dict->is_set;
    if (op == NKI_BIT_OR) {
        dict_add_all(in, result->dict, a.dict);
        dict_add_all(in, result->dict, b.dict);
        return true;
    }
    for (size_t i = 0; i < a.dict->pairs.len; i++) {
        struct value key = a.dict->pairs.at[i].key;
        if ((value_dict_find(in, b.dict, key) != NULL) == (op == NKI_BIT_AND))
            value_dict_put(in, result->dict, key, NONE_VALUE);
    }
    for (size_t i = 0; op == NKI_BIT_XOR && i < b.dict->pairs.len; i++)
        if (!value_dict_find(in, a.dict, b.dict->pairs.at[i].key))
            value_dict_put(in, result->dict, b.dict->pairs.at[i].key, NONE_VALUE);
    return true;
}

static bool is_sequence(struct value v) {
    return v.kind == VALUE_STR || v.kind == VALUE_LIST || v.kind == VALUE_TUPLE;
}

/* The special methods of the operators: "__add__", "__radd__". */
static const char *const methods[NKI_BINARY_COUNT][2] = {
    [NKI_BIT_OR] = {"__or__", "__ror__"},
    [NKI_BIT_XOR] = {"__xor__", "__rxor__"},
    [NKI_BIT_AND] = {"__and__", "__rand__"},
    [NKI_SHIFT_LEFT] = {"__lshift__", "__rlshift__"},
    [NKI_SHIFT_RIGHT] = {"__rshift__", "__rrshift__"},
    [NKI_ADD] = {"__add__", "__radd__"},
    [NKI_SUB] = {"__sub__", "__rsub__"},
    [NKI_MUL] = {"__mul__", "__rmul__"},
    [NKI_MATMUL] = {"__matmul__", "__rmatmul__"},
    [NKI_DIV] = {"__truediv__", "__rtruediv__"},
    [NKI_FLOOR_DIV] = {"__floordiv__", "__rfloordiv__"},
    [NKI_MOD] = {"__mod__", "__rmod__"},
    [NKI_POW] = {"__pow__", "__rpow__"},
};

static struct value unwrapped(struct value v) {
    if (v.kind != VALUE_OBJECT)
        return v;
    if (v.object->cls->is_int || v.object->cls->form == CLASS_TUPLE)
        return v.object->inner;
    return v;
}

static bool object_binary(struct interp *in, const struct nki_node *node, enum nki_binary op,
                          struct value pair[2], struct value *result) {
    for (int side = 0; side < 2; side++) {
        bool found = false;
        if (pair[side].kind != VALUE_OBJECT)
            continue;
        if (!call_method(in, node,
                         &(struct method_use){pair[side], methods[op][side], &pair[1 - side], 1},
                         &found, result))
            return false;
        if (found)
            return true;
    }
    struct value a = unwrapped(pair[0]), b = unwrapped(pair[1]);
    if (a.kind != VALUE_OBJECT && b.kind != VALUE_OBJECT)
        return op_binary(in, node, op, a, b, result);
    return interp_error(in, node, "TypeError", "'%s' is not defined between %s and %s",
                        nki_binary_text(op), value_type_name(pair[0]), value_type_name(pair[1]));
}

static bool binary_rest(struct interp *in, const struct nki_node *node, enum nki_binary op,
                        struct value pair[2], struct value *result) {
    struct value a = pair[0], b = pair[1];
    if (op == NKI_ADD && a.kind == b.kind && is_sequence(a))
        return concatenate(in, node, a, b, result);
    if (op == NKI_MUL && is_sequence(a) && is_integer(b))
        return repeat(in, node, a, integer_of(b), result);
    if (op == NKI_MUL && is_sequence(b) && is_integer(a))
        return repeat(in, node, b, integer_of(a), result);
    if (op == NKI_MOD && a.kind == VALUE_STR)
        return format_percent(in, node, text_of(a), b, result);
    if (a.kind == VALUE_DICT && b.kind == VALUE_DICT && a.dict->is_set == b.dict->is_set &&
        (op == NKI_BIT_OR ||
         (a.dict->is_set && (op == NKI_BIT_AND || op == NKI_SUB || op == NKI_BIT_XOR))))
        return interp_spend(in, node, a.dict->pairs.len + b.dict->pairs.len) &&
               dict_binary(in, op, a, b, result);
    if (a.kind == VALUE_OBJECT || b.kind == VALUE_OBJECT)
        return object_binary(in, node, op, pair, result);
    /* A union in an annotation: `int | None`. */
    if (op == NKI_BIT_OR && (a.kind == VALUE_CLASS || a.kind == VALUE_NATIVE)) {
        *result = a;
        return true;
    }
    return interp_error(in, node, "TypeError", "'%s' is not defined between %s and %s",
                        nki_binary_text(op), value_type_name(a), value_type_name(b));
}

bool op_binary(struct interp *in, const struct nki_node *node, enum nki_binary op, struct value a,
               struct value b, struct value *result) {
    struct value pair[2] = {a, b};
    if (is_integer(a) && is_integer(b))
        return int_binary(in, node, op, pair, result);
    if (is_number(a) && is_number(b))
        return float_binary(in, node, op, pair, result);
    if ((is_api(a) || is_api(b)) && a.kind != VALUE_OBJECT && b.kind != VALUE_OBJECT &&
        !(op == NKI_MOD && a.kind == VALUE_STR))
        return in->objects->binary(in, node, op, a, b, result);
    return binary_rest(in, node, op, pair, result);
}

bool op_unary(struct interp *in, const struct nki_node *node, enum nki_unary op, struct value a,
              struct value *result) {
    if (op == NKI_UNARY_NOT) {
        bool truth;
        if (is_api(a) && a.kind == VALUE_INDEX)
            return in->objects->unary(in, node, op, a, result);
        if (!interp_truth(in, node, a, &truth))
            return false;
        *result = value_bool(!truth);
        return true;
    }
    a = unwrapped(a);
    if (is_integer(a)) {
        int64_t i = integer_of(a);
        if (op == NKI_UNARY_MINUS && i == INT64_MIN)
            return overflow(in, node, NKI_SUB);
        *result = value_int(op == NKI_UNARY_MINUS ? -i : op == NKI_UNARY_INVERT ? ~i : i);
        return true;
    }
    if (a.kind == VALUE_FLOAT && op != NKI_UNARY_INVERT) {
        *result = value_float(op == NKI_UNARY_MINUS ? -a.f : a.f);
        return true;
    }
    if (is_api(a))
        return in->objects->unary(in, node, op, a, result);
    static const char *const names[] = {"", "__neg__", "__pos__", "__invert__"};
    bool found = false;
    if (a.kind == VALUE_OBJECT &&
        (!call_method(in, node, &(struct method_use){a, names[op], NULL, 0}, &found, result) ||
         found))
        return found;
    return interp_error(in, node, "TypeError", "'%s' is not defined for %s", nki_unary_text(op),
                        value_type_name(a));
}

bool interp_truth(struct interp *in, const struct nki_node *node, struct value v, bool *truth) {
    switch (v.kind) {
    case VALUE_NONE: *truth = false; return true;
    case VALUE_BOOL: *truth = v.b; return true;
    case VALUE_INT: *truth = v.i != 0; return true;
    case VALUE_FLOAT: *truth = v.f != 0; return true;
    case VALUE_STR: *truth = v.str->len > 0; return true;
    case VALUE_TUPLE:
    case VALUE_LIST: *truth = v.seq->items.len > 0; return true;
    case VALUE_DICT: *truth = v.dict->pairs.len > 0; return true;
    case VALUE_RANGE: *truth = range_length(v.range) > 0; return true;
    case VALUE_MODULE:
        if (module_is_unknown(v))
            return interp_error(in, node, "hone-gap-module",
                                "%s is not known here, so its truth cannot be tested",
                                v.module->name);
        *truth = true;
        return true;
    case VALUE_OBJECT: {
        struct value answer = NONE_VALUE;
        bool found = false;
        if (v.object->cls->is_int || v.object->cls->form == CLASS_TUPLE)
            return interp_truth(in, node, v.object->inner, truth);
        if (!call_method(in, node, &(struct method_use){v, "__bool__", NULL, 0}, &found, &answer))
            return false;
        if (!found &&
            !call_method(in, node, &(struct method_use){v, "__len__", NULL, 0}, &found, &answer))
            return false;
        *truth = !found || (is_number(answer) && number_of(answer) != 0);
        return true;
    }
    default: *truth = true; return !is_api(v) || in->objects->truth(in, node, v, truth);
    }
}

/* ---- length, containment, comparison -------------------------------------------------------- */

int64_t range_length(const struct value_range *r) {
    uint64_t span, step;
    if (r->step > 0 ? r->start >= r->stop : r->start <= r->stop)
        return 0;
    span = r->step > 0 ? (uint64_t)r->stop - (uint64_t)r->start
                       : (uint64_t)r->start - (uint64_t)r->stop;
    step = r->step > 0 ? (uint64_t)r->step : 0 - (uint64_t)r->step;
    uint64_t n = (span - 1) / step + 1;
    return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

bool op_length(struct interp *in, const struct nki_node *node, struct value v, int64_t *length) {
    struct value answer;
    bool found = false;
    switch (v.kind) {
    case VALUE_STR:
        *length = 0;
        for (size_t i = 0; i < v.str->len; i++) /* counts characters of UTF-8 */
            *length += (v.str->at[i] & 0xc0) != 0x80;
        return true;
    case VALUE_TUPLE:
    case VALUE_LIST: *length = (int64_t)v.seq->items.len; return true;
    case VALUE_DICT: *length = (int64_t)v.dict->pairs.len; return true;
    case VALUE_RANGE: *length = range_length(v.range); return true;
    case VALUE_CLASS:
        if (v.cls->form != CLASS_ENUM)
            break;
        *length = (int64_t)v.cls->members.len;
        return true;
    case VALUE_OBJECT:
        if (v.object->cls->form == CLASS_TUPLE)
            return op_length(in, node, v.object->inner, length);
        if (!call_method(in, node, &(struct method_use){v, "__len__", NULL, 0}, &found, &answer))
            return false;
        if (found && is_integer(answer)) {
            *length = integer_of(answer);
            return true;
        }
        break;
    default:
        if (is_api(v))
            return in->objects->length(in, node, v, length);
    }
    return interp_error(in, node, "TypeError", "%s has no length", value_type_name(v));
}

static bool op_contains(struct interp *in, const struct nki_node *node, struct value item,
                        struct value container, bool *found) {
    *found = false;
    struct value answer;
    bool has = false;
    if (container.kind == VALUE_OBJECT) {
        if (!call_method(in, node, &(struct method_use){container, "__contains__", &item, 1}, &has,
                         &answer))
            return false;
        if (has)
            return interp_truth(in, node, answer, found);
    }
    if (container.kind == VALUE_DICT) {
        *found = value_dict_find(in, container.dict, item) != NULL;
        return true;
    }
    if (container.kind == VALUE_STR) {
        if (item.kind != VALUE_STR)
            return interp_error(in, node, "TypeError", "'in' a str needs a str on its left, not %s",
                                value_type_name(item));
        *found = !item.str->len ||
                 memmem(container.str->at, container.str->len, item.str->at, item.str->len) != NULL;
        return interp_spend(in, node, container.str->len / TEXT_STEP);
    }
    if (container.kind == VALUE_RANGE && is_integer(item)) {
        const struct value_range *r = container.range;
        int64_t i = integer_of(item);
        bool inside = r->step > 0 ? i >= r->start && i < r->stop : i <= r->start && i > r->stop;
        *found = inside && ((uint64_t)i - (uint64_t)r->start) % (uint64_t)r->step == 0;
        if (inside && r->step < 0)
            *found = ((uint64_t)r->start - (uint64_t)i) % (0 - (uint64_t)r->step) == 0;
        return true;
    }
    const struct value_seq *items;
    if (!interp_items(in, node, container, &items) || !interp_spend(in, node, items->items.len / 4))
        return false;
    for (size_t i = 0; i < items->items.len && !*found; i++)
        *found = value_equal(in, items->items.at[i], item);
    return true;
}

static int order_text(struct value a, struct value b) {
    int order = memcmp(a.str->at, b.str->at, MIN_OF(a.str->len, b.str->len));
    return order ? order : (a.str->len > b.str->len) - (a.str->len < b.str->len);
}

static bool by_order(enum nki_comparison op, int order) {
    switch (op) {
    case NKI_CMP_LT: return order < 0;
    case NKI_CMP_LT_E: return order <= 0;
    case NKI_CMP_GT: return order > 0;
    default: return order >= 0;
    }
}

static bool number_order(enum nki_comparison op, struct value a, struct value b) {
    if (a.kind == VALUE_FLOAT || b.kind == VALUE_FLOAT) {
        double x = number_of(a), y = number_of(b);
        return op == NKI_CMP_LT     ? x < y
               : op == NKI_CMP_LT_E ? x <= y
               : op == NKI_CMP_GT   ? x > y
                                    : x >= y; /* NaN: false for all */
    }
    int64_t x = integer_of(a), y = integer_of(b);
    return by_order(op, (x > y) - (x < y));
}

static bool order_values(struct interp *in, const struct nki_node *node, enum nki_comparison op,
                         struct value pair[2], bool *answer);

static bool order_sequences(struct interp *in, const struct nki_node *node, enum nki_comparison op,
                            struct value pair[2], bool *answer) {
    const struct value_seq *a = pair[0].seq, *b = pair[1].seq;
    size_t n = MIN_OF(a->items.len, b->items.len);
    for (size_t i = 0; i < n; i++) {
        interp_count(in, i % 4 == 0);
        struct value items[2] = {a->items.at[i], b->items.at[i]};
        if (!value_equal(in, items[0], items[1])) {
            /* Sequences may hold sequences. Their nesting bounds the recursion. */
            in->depth++;
            bool done = in->depth < INTERP_MAX_CALLS && order_values(in, node, op, items, answer);
            in->depth--;
            return done || interp_error(in, node, "RecursionError", "values nested too deeply");
        }
    }
    *answer = by_order(op, (a->items.len > b->items.len) - (a->items.len < b->items.len));
    return true;
}

static const char *const order_methods[] = {
    [NKI_CMP_EQ] = "__eq__",   [NKI_CMP_NOT_EQ] = "__ne__", [NKI_CMP_LT] = "__lt__",
    [NKI_CMP_LT_E] = "__le__", [NKI_CMP_GT] = "__gt__",     [NKI_CMP_GT_E] = "__ge__",
};
static const enum nki_comparison reflected[] = {
    [NKI_CMP_EQ] = NKI_CMP_EQ,     [NKI_CMP_NOT_EQ] = NKI_CMP_NOT_EQ, [NKI_CMP_LT] = NKI_CMP_GT,
    [NKI_CMP_LT_E] = NKI_CMP_GT_E, [NKI_CMP_GT] = NKI_CMP_LT,         [NKI_CMP_GT_E] = NKI_CMP_LT_E,
};

static bool object_order(struct interp *in, const struct nki_node *node, enum nki_comparison op,
                         struct value pair[2], bool *found, struct value *result) {
    *found = false;
    for (int side = 0; side < 2 && !*found; side++) {
        if (pair[side].kind != VALUE_OBJECT)
            continue;
        const char *name = order_methods[side ? reflected[op] : op];
        if (!call_method(in, node, &(struct method_use){pair[side], name, &pair[1 - side], 1},
                         found, result))
            return false;
    }
    return true;
}

static bool order_values(struct interp *in, const struct nki_node *node, enum nki_comparison op,
                         struct value pair[2], bool *answer) {
    struct value a = unwrapped(pair[0]), b = unwrapped(pair[1]), result;
    bool found;
    if (is_number(a) && is_number(b)) {
        *answer = number_order(op, a, b);
        return true;
    }
    if (a.kind == VALUE_STR && b.kind == VALUE_STR) {
        *answer = by_order(op, order_text(a, b));
        return interp_spend(in, node, MIN_OF(a.str->len, b.str->len) / TEXT_STEP);
    }
    if (a.kind == b.kind && (a.kind == VALUE_TUPLE || a.kind == VALUE_LIST))
        return order_sequences(in, node, op, (struct value[2]){a, b}, answer);
    if (is_api(a) || is_api(b))
        return in->objects->compare(in, node, op, a, b, &result) &&
               interp_truth(in, node, result, answer);
    if (!object_order(in, node, op, pair, &found, &result))
        return false;
    if (found)
        return interp_truth(in, node, result, answer);
    if (a.kind == VALUE_DICT && b.kind == VALUE_DICT && a.dict->is_set && b.dict->is_set) {
        const struct value_dict *small = op == NKI_CMP_LT || op == NKI_CMP_LT_E ? a.dict : b.dict;
        const struct value_dict *large = small == a.dict ? b.dict : a.dict;
        *answer = op == NKI_CMP_LT_E || op == NKI_CMP_GT_E || small->pairs.len < large->pairs.len;
        for (size_t i = 0; i < small->pairs.len && *answer; i++)
            *answer = value_dict_find(in, large, small->pairs.at[i].key) != NULL;
        return interp_spend(in, node, small->pairs.len / 4);
    }
    return interp_error(in, node, "TypeError", "'%s' is not defined between %s and %s",
                        nki_comparison_text(op), value_type_name(a), value_type_name(b));
}

bool op_less(struct interp *in, const struct nki_node *node, struct value a, struct value b,
             bool *less) {
    return order_values(in, node, NKI_CMP_LT, (struct value[2]){a, b}, less);
}

static bool equality(struct interp *in, const struct nki_node *node, enum nki_comparison op,
                     struct value pair[2], struct value *result) {
    struct value a = pair[0], b = pair[1];
    bool found = false;
    /* A tensor compared with None is a test for None, in every dialect. */
    if ((is_api(a) || is_api(b)) && a.kind != VALUE_NONE && b.kind != VALUE_NONE &&
        a.kind != VALUE_OBJECT && b.kind != VALUE_OBJECT)
        return in->objects->compare(in, node, op, a, b, result);
    if (a.kind == VALUE_OBJECT || b.kind == VALUE_OBJECT) {
        if (!object_order(in, node, op, pair, &found, result))
            return false;
        if (!found && op == NKI_CMP_NOT_EQ) {
            if (!object_order(in, node, NKI_CMP_EQ, pair, &found, result))
                return false;
            bool truth = false;
            if (found && !interp_truth(in, node, *result, &truth))
                return false;
            *result = value_bool(!truth);
        }
        if (found)
            return true;
    }
    *result = value_bool(value_equal(in, a, b) == (op == NKI_CMP_EQ));
    return interp_spend(in, node, 0);
}

bool op_compare(struct interp *in, const struct nki_node *node, enum nki_comparison op,
                struct value a, struct value b, struct value *result) {
    struct value pair[2] = {a, b};
    bool answer, found;
    switch (op) {
    case NKI_CMP_EQ:
    case NKI_CMP_NOT_EQ: return equality(in, node, op, pair, result);
    case NKI_CMP_IS:
    case NKI_CMP_IS_NOT: answer = value_same(a, b) == (op == NKI_CMP_IS); break;
    case NKI_CMP_IN:
    case NKI_CMP_NOT_IN:
        if (!op_contains(in, node, a, b, &answer))
            return false;
        answer = answer == (op == NKI_CMP_IN);
        break;
    default:
        if (is_number(a) && is_number(b)) {
            answer = number_order(op, a, b);
            break;
        }
        if ((is_api(a) || is_api(b)) && a.kind != VALUE_OBJECT && b.kind != VALUE_OBJECT)
            return in->objects->compare(in, node, op, a, b, result);
        /* what a method returns is the comparison, whatever it is */
        if (!object_order(in, node, op, pair, &found, result))
            return false;
        if (found)
            return true;
        if (!order_values(in, node, op, pair, &answer))
            return false;
    }
    *result = value_bool(answer);
    return true;
}
