/* SPDX-License-Identifier: Apache-2.0 */
/* Index expressions of the legacy dialect: nl.arange, nl.mgrid, arithmetic on them, and the masks
 * made by comparing them. Everything stays affine; anything else is an error here. tensor_getitem.c
 * applies the expressions to tensors, tensor_ap.c the masks. */
#include "nki/api/api.h"

#include <stddef.h>

#define INTERNED 4096 /* expressions kept, by hash; a power of two */

/* Bytes of an expression that are in use. Only a mask uses the terms. */
static size_t used_bytes(const struct index_expr *expr) {
    return expr->mask ? sizeof *expr : offsetof(struct index_expr, n_terms);
}

void index_read(struct index_expr *scratch, const struct index_expr *from) {
    *scratch = (struct index_expr){0};
    memcpy(scratch, from, used_bytes(from));
}

/* Expressions never change, and kernels make the same few again and again. So equal ones are
 * shared. */
const struct index_expr *index_new(struct interp *in, const struct index_expr *copy) {
    struct api *api = api_of(in);
    size_t bytes = used_bytes(copy);
    if (!api->interned)
        api->interned = ARENA_ARRAY(interp_scratch(in), const struct index_expr *, INTERNED);
    const struct index_expr **slot = &api->interned[hash_quick(copy, bytes) % INTERNED];
    if (!*slot || (*slot)->mask != copy->mask || memcmp(*slot, copy, bytes) != 0)
        *slot = arena_dup(interp_scratch(in), copy, bytes);
    return *slot;
}

static struct value index_value(struct interp *in, const struct index_expr *expr) {
    return (struct value){.kind = VALUE_INDEX, .index = index_new(in, expr)};
}

/* A dimension of one position has no step, so that an expression may be repeated along it. */
static int64_t step_of(int64_t size, int64_t step) {
    return size == 1 ? 0 : step;
}

struct value index_arange(struct interp *in, int64_t start, int64_t count, int64_t step) {
    struct index_expr expr = {
        .n_dims = 1, .size = {count}, .at = {.c0 = start, .c = {step_of(count, step)}}};
    return index_value(in, &expr);
}

struct index_affine index_align(const struct index_affine *affine, int from_dims, int to_dims) {
    struct index_affine out = {.c0 = affine->c0};
    int shift = to_dims - from_dims;
    for (int d = 0; d < from_dims; d++)
        if (d + shift >= 0 && d + shift < INDEX_MAX_DIMS)
            out.c[d + shift] = affine->c[d];
    return out;
}

bool index_broadcast(const struct index_expr *a, const struct index_expr *b,
                     struct index_expr *joined) {
    int n = MAX_OF(a->n_dims, b->n_dims);
    joined->n_dims = n;
    for (int d = 0; d < n; d++) {
        int da = d - (n - a->n_dims), db = d - (n - b->n_dims);
        int64_t sa = da < 0 ? 1 : a->size[da], sb = db < 0 ? 1 : b->size[db];
        if (sa != sb && sa != 1 && sb != 1)
            return false;
        joined->size[d] = sa == 1 ? sb : sa;
    }
    return true;
}

static bool is_number(struct value v, int64_t *number) {
    if (v.kind == VALUE_BOOL)
        *number = v.b;
    else if (v.kind == VALUE_INT)
        *number = v.i;
    else if (v.kind == VALUE_FLOAT && v.f == (double)(int64_t)v.f)
        *number = (int64_t)v.f;
    else
        return false;
    return true;
}

/* An operand as an expression. A number is an expression without dimensions. */
static bool as_expr(struct value v, struct index_expr *expr) {
    int64_t number;
    if (v.kind == VALUE_INDEX) {
        index_read(expr, v.index);
        return true;
    }
    *expr = (struct index_expr){0};
    if (!is_number(v, &number))
        return false;
    expr->at.c0 = MIN_OF(MAX_OF(number, -INDEX_MAX_NUMBER - 1), INDEX_MAX_NUMBER + 1);
    expr->mask = v.kind == VALUE_BOOL;
    if (expr->mask && !number) {
        expr->n_terms = 1;
        expr->term[0] = (struct index_affine){.c0 = -1};
    }
    return true;
}

static bool is_constant(const struct index_affine *affine) {
    for (int d = 0; d < INDEX_MAX_DIMS; d++)
        if (affine->c[d])
            return false;
    return true;
}

static bool not_affine(struct interp *in, const struct nki_node *node, const char *what) {
    return interp_error(in, node, "err_unsupported_expression_in_index",
                        "%s of index expressions is not affine: indices may be added, subtracted "
                        "and multiplied by integers",
                        what);
}

static bool mismatch(struct interp *in, const struct nki_node *node, const struct index_expr *a,
                     const struct index_expr *b) {
    return interp_error(in, node, "hone-index",
                        "index expressions with %d and %d dimensions cannot be "
                        "combined: sizes must be equal or 1",
                        a->n_dims, b->n_dims);
}

struct scaled {
    const struct index_expr *expr;
    int64_t factor;
};

static bool too_large(const struct index_affine *affine) {
    bool large = affine->c0 > INDEX_MAX_NUMBER || affine->c0 < -INDEX_MAX_NUMBER;
    for (int d = 0; d < INDEX_MAX_DIMS; d++)
        large |= affine->c[d] > INDEX_MAX_NUMBER || affine->c[d] < -INDEX_MAX_NUMBER;
    return large;
}

static bool check_size(struct interp *in, const struct nki_node *node,
                       const struct index_affine *affine) {
    return !too_large(affine) ||
           interp_error(in, node, "hone-index", "the index expression has numbers beyond %lld",
                        (long long)INDEX_MAX_NUMBER);
}

/* out = a + b over the joined shape, each times its factor. */
static bool combine(struct interp *in, const struct nki_node *node, struct scaled a,
                    struct scaled b, struct index_expr *out) {
    *out = (struct index_expr){.plus = a.expr->plus ? a.expr->plus : b.expr->plus};
    if ((a.expr->plus && b.expr->plus) || (a.expr->plus && a.factor != 1) ||
        (b.expr->plus && b.factor != 1))
        return not_affine(in, node, "a number of the device");
    if (!index_broadcast(a.expr, b.expr, out))
        return mismatch(in, node, a.expr, b.expr);
    struct index_affine x = index_align(&a.expr->at, a.expr->n_dims, out->n_dims);
    struct index_affine y = index_align(&b.expr->at, b.expr->n_dims, out->n_dims);
    out->at.c0 = x.c0 * a.factor + y.c0 * b.factor;
    for (int d = 0; d < INDEX_MAX_DIMS; d++)
        out->at.c[d] = x.c[d] * a.factor + y.c[d] * b.factor;
    return check_size(in, node, &out->at);
}

static bool join_masks(struct interp *in, const struct nki_node *node, const struct index_expr *a,
                       const struct index_expr *b, struct value *result) {
    struct index_expr out = {.mask = true};
    if (!a->mask || !b->mask)
        return interp_error(in, node, "err_unsupported_expression_in_mask",
                            "& joins comparisons of index expressions; put each comparison in "
                            "parentheses");
    if (!index_broadcast(a, b, &out))
        return mismatch(in, node, a, b);
    if (a->n_terms + b->n_terms > INDEX_MAX_TERMS)
        return interp_error(in, node, "err_unsupported_expression_in_mask",
                            "a mask joins %d comparisons; at most %d are allowed",
                            (int)(a->n_terms + b->n_terms), INDEX_MAX_TERMS);
    for (int k = 0; k < a->n_terms; k++)
        out.term[out.n_terms++] = index_align(&a->term[k], a->n_dims, out.n_dims);
    for (int k = 0; k < b->n_terms; k++)
        out.term[out.n_terms++] = index_align(&b->term[k], b->n_dims, out.n_dims);
    *result = index_value(in, &out);
    return true;
}

static int64_t floor_divide(int64_t a, int64_t b) {
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* The quotient, when it is the same for all values of the expression. */
static bool one_quotient(const struct index_expr *a, int64_t k, int64_t *quotient) {
    int64_t low = a->at.c0, high = low;
    for (int d = 0; d < a->n_dims; d++) {
        int64_t reach = a->at.c[d] * (a->size[d] - 1);
        low += MIN_OF(reach, 0);
        high += MAX_OF(reach, 0);
    }
    *quotient = floor_divide(low, k);
    return *quotient == floor_divide(high, k);
}

/* a / k, a // k and a % k where the result is affine. It is when every coefficient is a multiple of
 * k, or when all values lie between two neighbouring multiples. */
static bool divide(struct interp *in, const struct nki_node *node, enum nki_binary op,
                   const struct index_expr *a, int64_t k, struct index_expr *out) {
    int64_t quotient;
    bool multiple = true;
    if (k == 0)
        return interp_error(in, node, "hone-index", "division by zero in an index expression");
    for (int d = 0; d < a->n_dims; d++)
        multiple &= a->at.c[d] % k == 0 || a->size[d] <= 1;
    multiple &= op != NKI_DIV || a->at.c0 % k == 0;
    *out = *a;
    if (multiple) {
        quotient = floor_divide(a->at.c0, k);
        out->at = (struct index_affine){.c0 = op == NKI_MOD ? a->at.c0 - quotient * k : quotient};
        for (int d = 0; op != NKI_MOD && d < a->n_dims; d++)
            out->at.c[d] = a->size[d] > 1 ? a->at.c[d] / k : 0;
    } else if (op != NKI_DIV && one_quotient(a, k, &quotient)) {
        if (op == NKI_MOD)
            out->at.c0 -= quotient * k;
        else
            out->at = (struct index_affine){.c0 = quotient};
    } else {
        return not_affine(in, node, op == NKI_MOD ? "the remainder" : "the quotient");
    }
    return true;
}

bool index_plus(struct interp *in, const struct nki_node *node, struct value a, struct value b,
                struct value *result) {
    struct index_expr out;
    struct value tile = a.kind == VALUE_TENSOR ? a : b;
    index_read(&out, a.kind == VALUE_TENSOR ? b.index : a.index);
    if (out.mask || out.plus || !out.n_dims || tensor_count(tile.tensor) != 1)
        return interp_error(in, node, "err_unsupported_expression_in_index",
                            "an index may have one tile of one number added to it; this one has "
                            "shape %s",
                            tensor_shape_text(in, tile.tensor));
    out.plus = tile.tensor;
    *result = index_value(in, &out);
    return true;
}

bool index_binary(struct interp *in, const struct nki_node *node, enum nki_binary op,
                  struct value a, struct value b, struct value *result) {
    struct index_expr x, y, out;
    if (!as_expr(a, &x) || !as_expr(b, &y))
        return interp_error(in, node, "hone-index",
                            "an index expression cannot be combined with %s by %s",
                            value_type_name(a.kind == VALUE_INDEX ? b : a), nki_binary_text(op));
    if (op == NKI_BIT_AND)
        return join_masks(in, node, &x, &y, result);
    if ((x.plus || y.plus) && op != NKI_ADD && op != NKI_SUB)
        return not_affine(in, node, nki_binary_text(op));
    if (!check_size(in, node, &x.at) || !check_size(in, node, &y.at))
        return false;
    if ((x.mask && a.kind == VALUE_INDEX) || (y.mask && b.kind == VALUE_INDEX))
        return interp_error(in, node, "err_unsupported_expression_in_mask",
                            "masks are joined by & only, not by %s", nki_binary_text(op));
    switch (op) {
    case NKI_ADD:
    case NKI_SUB:
        if (!combine(in, node, (struct scaled){&x, 1}, (struct scaled){&y, op == NKI_ADD ? 1 : -1},
                     &out))
            return false;
        break;
    case NKI_MUL: {
        if (!is_constant(&x.at) && !is_constant(&y.at))
            return not_affine(in, node, "the product");
        if (!is_constant(&y.at)) {
            struct index_expr other = x;
            x = y;
            y = other;
        }
        struct index_expr shape = {.n_dims = y.n_dims};
        memcpy(shape.size, y.size, sizeof shape.size);
        if (!combine(in, node, (struct scaled){&x, y.at.c0}, (struct scaled){&shape, 1}, &out))
            return false;
        break;
    }
    case NKI_FLOOR_DIV:
    case NKI_DIV:
    case NKI_MOD:
        if (!is_constant(&y.at))
            return not_affine(in, node, "the quotient");
        if (!divide(in, node, op, &x, y.at.c0, &out))
            return false;
        break;
    default: return not_affine(in, node, nki_binary_text(op));
    }
    *result = index_value(in, &out);
    return true;
}

static void add_term(struct index_expr *mask, const struct index_affine *at, int64_t sign,
                     int64_t plus) {
    struct index_affine *term = &mask->term[mask->n_terms++];
    term->c0 = at->c0 * sign + plus;
    for (int d = 0; d < INDEX_MAX_DIMS; d++)
        term->c[d] = at->c[d] * sign;
}

bool index_compare(struct interp *in, const struct nki_node *node, enum nki_comparison op,
                   struct value a, struct value b, struct value *result) {
    struct index_expr x, y, difference;
    if (op == NKI_CMP_IS || op == NKI_CMP_IS_NOT) {
        bool same = a.kind == b.kind && a.index == b.index;
        *result = value_bool(same == (op == NKI_CMP_IS));
        return true;
    }
    if (!as_expr(a, &x) || !as_expr(b, &y)) {
        if (op == NKI_CMP_EQ || op == NKI_CMP_NOT_EQ) {
            *result = value_bool(op == NKI_CMP_NOT_EQ);
            return true;
        }
        return interp_error(in, node, "err_unsupported_expression_in_mask",
                            "an index expression cannot be compared with %s",
                            value_type_name(a.kind == VALUE_INDEX ? b : a));
    }
    if (x.plus || y.plus)
        return interp_error(in, node, "err_unsupported_expression_in_mask",
                            "a mask cannot depend on a number of the device");
    if (!combine(in, node, (struct scaled){&x, 1}, (struct scaled){&y, -1}, &difference))
        return false;
    struct index_expr mask = {.mask = true, .n_dims = difference.n_dims};
    memcpy(mask.size, difference.size, sizeof mask.size);
    switch (op) {
    case NKI_CMP_GT_E: add_term(&mask, &difference.at, 1, 0); break;
    case NKI_CMP_GT: add_term(&mask, &difference.at, 1, -1); break;
    case NKI_CMP_LT_E: add_term(&mask, &difference.at, -1, 0); break;
    case NKI_CMP_LT: add_term(&mask, &difference.at, -1, -1); break;
    case NKI_CMP_EQ:
        add_term(&mask, &difference.at, 1, 0);
        add_term(&mask, &difference.at, -1, 0);
        break;
    default:
        return interp_error(
            in, node, "err_unsupported_expression_in_mask",
            "%s is not allowed in a mask: use ==, <, <=, > or >=", nki_comparison_text(op));
    }
    *result = index_value(in, &mask);
    return true;
}

bool index_unary(struct interp *in, const struct nki_node *node, enum nki_unary op, struct value a,
                 struct value *result) {
    struct index_expr out;
    index_read(&out, a.index);
    if (op == NKI_UNARY_MINUS && out.plus)
        return not_affine(in, node, "the negative");
    if (op == NKI_UNARY_MINUS && !out.mask) {
        out.at.c0 = -out.at.c0;
        for (int d = 0; d < out.n_dims; d++)
            out.at.c[d] = -out.at.c[d];
    } else if (op == NKI_UNARY_INVERT && out.mask && out.n_terms == 1) {
        struct index_affine term = out.term[0];
        out.n_terms = 0;
        add_term(&out, &term, -1, -1);
    } else if (op != NKI_UNARY_PLUS) {
        return interp_error(in, node, "err_unsupported_expression_in_mask",
                            "%s cannot be applied to this index expression", nki_unary_text(op));
    }
    *result = index_value(in, &out);
    return true;
}

static bool full_slice(struct value key) {
    return key.kind == VALUE_SLICE && key.slice->start.kind == VALUE_NONE &&
           key.slice->stop.kind == VALUE_NONE && key.slice->step.kind == VALUE_NONE;
}

static void copy_axis(const struct index_expr *from, int d, struct index_expr *to) {
    int at = to->n_dims++;
    to->size[at] = from->size[d];
    to->at.c[at] = from->at.c[d];
    for (int k = 0; k < from->n_terms; k++)
        to->term[k].c[at] = from->term[k].c[d];
}

/* One part of the key: a new axis, a kept axis, a cut axis, or an ellipsis. */
static bool take_axis(struct interp *in, const struct nki_node *node, const struct index_expr *expr,
                      struct value part, int *d, struct index_expr *out) {
    if (part.kind == VALUE_NONE) {
        if (out->n_dims == INDEX_MAX_DIMS)
            return interp_error(in, node, "hone-index",
                                "an index expression has at most %d dimensions", INDEX_MAX_DIMS);
        out->size[out->n_dims++] = 1;
        return true;
    }
    if (*d >= expr->n_dims)
        return interp_error(in, node, "hone-index",
                            "too many indices for an index expression of %d "
                            "dimension(s)",
                            expr->n_dims);
    if (full_slice(part)) {
        copy_axis(expr, (*d)++, out);
        return true;
    }
    int64_t number;
    if (is_number(part, &number) && !expr->mask && number >= 0 && number < expr->size[*d]) {
        out->at.c0 += expr->at.c[(*d)++] * number;
        return true;
    }
    if (part.kind == VALUE_SLICE && !expr->mask) {
        int64_t start = 0, stop = expr->size[*d];
        if ((part.slice->start.kind != VALUE_NONE && !is_number(part.slice->start, &start)) ||
            (part.slice->stop.kind != VALUE_NONE && !is_number(part.slice->stop, &stop)) ||
            start < 0 || stop > expr->size[*d] || start > stop)
            return interp_error(in, node, "hone-index",
                                "this slice of an index expression is out of range");
        copy_axis(expr, *d, out);
        out->at.c0 += expr->at.c[(*d)++] * start;
        out->size[out->n_dims - 1] = stop - start;
        out->at.c[out->n_dims - 1] = step_of(stop - start, out->at.c[out->n_dims - 1]);
        return true;
    }
    return interp_error(in, node, "hone-index",
                        "an index expression is indexed with : and None only");
}

bool index_getitem(struct interp *in, const struct nki_node *node, const struct index_expr *from,
                   struct value key, struct value *result) {
    struct index_expr whole, *expr = &whole;
    index_read(expr, from);
    struct index_expr out = {.mask = expr->mask, .plus = expr->plus, .n_terms = expr->n_terms};
    out.at.c0 = expr->at.c0;
    for (int k = 0; k < expr->n_terms; k++)
        out.term[k].c0 = expr->term[k].c0;
    const struct value *parts = &key;
    size_t n = 1;
    if (key.kind == VALUE_TUPLE) {
        parts = key.seq->items.at;
        n = key.seq->items.len;
    }
    int d = 0, named = 0;
    for (size_t i = 0; i < n; i++)
        named += parts[i].kind != VALUE_NONE && parts[i].kind != VALUE_ELLIPSIS;
    for (size_t i = 0; i < n; i++) {
        if (parts[i].kind == VALUE_ELLIPSIS) {
            while (d + named < expr->n_dims)
                copy_axis(expr, d++, &out);
            continue;
        }
        named -= parts[i].kind != VALUE_NONE;
        if (!take_axis(in, node, expr, parts[i], &d, &out))
            return false;
    }
    while (d < expr->n_dims && out.n_dims < INDEX_MAX_DIMS)
        copy_axis(expr, d++, &out);
    *result = index_value(in, &out);
    return true;
}

bool index_grid(struct interp *in, const struct nki_node *node, struct value key,
                struct value *result) {
    const struct value *parts = &key;
    size_t n = 1;
    if (key.kind == VALUE_TUPLE) {
        parts = key.seq->items.at;
        n = key.seq->items.len;
    }
    if (n == 0 || n > INDEX_MAX_DIMS)
        return interp_error(in, node, "hone-index", "nl.mgrid takes 1 to %d slices",
                            INDEX_MAX_DIMS);
    struct index_expr axis[INDEX_MAX_DIMS] = {0};
    for (size_t i = 0; i < n; i++) {
        int64_t start = 0, stop, step = 1;
        if (parts[i].kind != VALUE_SLICE || !is_number(parts[i].slice->stop, &stop) ||
            (parts[i].slice->start.kind != VALUE_NONE &&
             !is_number(parts[i].slice->start, &start)) ||
            (parts[i].slice->step.kind != VALUE_NONE && !is_number(parts[i].slice->step, &step)) ||
            step < 1 || step > INDEX_MAX_NUMBER || start < -INDEX_MAX_NUMBER || stop < start ||
            stop > INDEX_MAX_NUMBER)
            return interp_error(in, node, "hone-index",
                                "nl.mgrid is indexed with slices start:stop");
        for (size_t k = 0; k < n; k++)
            axis[k].size[i] = MAX_OF((stop - start + step - 1) / step, 0);
        axis[i].n_dims = (int)n;
        axis[i].at.c0 = start;
        axis[i].at.c[i] = step_of(axis[i].size[i], step);
    }
    struct value items[INDEX_MAX_DIMS];
    for (size_t i = 0; i < n; i++)
        items[i] = index_value(in, &axis[i]);
    *result = value_tuple(in, items, n);
    return true;
}

bool api_grid_axis(struct value tuple, struct str name, struct value *result) {
    static const char axes[] = "pxyzw";
    const struct value_seq *items = tuple.seq;
    const char *axis = name.len == 1 ? memchr(axes, name.at[0], sizeof axes - 1) : NULL;
    if (!axis || (size_t)(axis - axes) >= items->items.len ||
        items->items.at[axis - axes].kind != VALUE_INDEX)
        return false;
    *result = items->items.at[axis - axes];
    return true;
}
