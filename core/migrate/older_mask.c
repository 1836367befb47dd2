/* SPDX-License-Identifier: Apache-2.0 */
/* Masks: where the slices of a statement's operands end, for what the package nki has no mask= for.
 */
#include <stdlib.h>
#include <string.h>

#include "migrate/older.h"

void older_forget_mask(struct older *o) {
    for (int a = 0; a < NKI_SEEN_DIMS; a++) {
        free(o->limits[a]);
        o->limits[a] = NULL;
    }
    o->n_axes = 0;
    o->turns = false;
}

/* The one axis that an index expression runs over, by steps of 1 or -1; -1: there is none. */
static int axis_of(const struct nki_seen *seen) {
    int axis = -1;
    for (int d = 0; d < seen->n_dims; d++) {
        if (!seen->step[d])
            continue;
        if (axis >= 0 || (seen->step[d] != 1 && seen->step[d] != -1))
            return -1;
        axis = d;
    }
    return axis;
}

/* "min(128, end - base + 1)" */
static void put_limit(struct older *o, int axis, int64_t size, struct str count) {
    char *before = o->limits[axis];
    struct buf text = {0};
    if (before)
        buf_printf(&text, "min(%s, " STR_FMT ")", before, STR_ARG(count));
    else
        buf_printf(&text, "min(%lld, " STR_FMT ")", (long long)size, STR_ARG(count));
    free(before);
    o->limits[axis] = buf_take(&text);
}

/* index < end, end > index, with = or without; or base - index >= end. */
static bool read_bound(struct older *o, const struct nki_node *test) {
    enum nki_comparison op = (enum nki_comparison)test->compare.ops[0];
    const struct nki_node *left = test->compare.left, *right = test->compare.comparators.at[0];
    bool first = older_is_index(o, left), less = op == NKI_CMP_LT || op == NKI_CMP_LT_E;
    bool more = op == NKI_CMP_GT || op == NKI_CMP_GT_E;
    bool closed = op == NKI_CMP_LT_E || op == NKI_CMP_GT_E;
    const struct nki_node *index = first ? left : right, *end = first ? right : left;
    if (test->compare.comparators.len != 1 || (!less && !more) || !older_is_index(o, index) ||
        older_is_index(o, end) || older_fact(o, index)->varies)
        return false;
    const struct nki_seen *seen = &older_fact(o, index)->seen;
    int axis = axis_of(seen);
    bool below = first ? less : more; /* the index is below the end */
    struct buf base = {0}, count = {0};
    bool ok = axis >= 0 && below == (seen->step[axis] == 1) && older_print_base(o, index, 0, &base);
    struct str last = older_text_of(o, end);
    bool zero = end->kind == NKI_CONSTANT && end->constant.integer == 0;
    if (ok && below)
        buf_printf(&count, STR_FMT, STR_ARG(last));
    if (ok && below && base.len)
        buf_printf(&count, " - (%s)", base.at);
    if (ok && !below)
        buf_puts(&count, base.len ? base.at : "0");
    if (ok && !below && !zero)
        buf_printf(&count, " - (" STR_FMT ")", STR_ARG(last));
    if (ok && closed)
        buf_puts(&count, " + 1");
    if (ok) {
        o->n_axes = MAX_OF(o->n_axes, seen->n_dims);
        put_limit(o, axis, seen->shape[axis], buf_str(&count));
    }
    buf_free(&base);
    buf_free(&count);
    return ok;
}

static bool read_mask(struct older *o, const struct nki_node *mask, int depth) {
    const struct nki_node *value = mask->kind == NKI_NAME ? older_value_of(o, mask) : NULL;
    if (depth > OLDER_MOST_NESTING)
        return false;
    if (value)
        return read_mask(o, value, depth + 1);
    if (mask->kind == NKI_BIN_OP && mask->bin_op.op == NKI_BIT_AND)
        return read_mask(o, mask->bin_op.left, depth + 1) &&
               read_mask(o, mask->bin_op.right, depth + 1);
    if (mask->kind == NKI_BOOL_OP && mask->bool_op.op == NKI_AND) {
        bool ok = true;
        for (uint32_t i = 0; i < mask->bool_op.values.len; i++)
            ok = ok && read_mask(o, mask->bool_op.values.at[i], depth + 1);
        return ok;
    }
    return mask->kind == NKI_COMPARE && read_bound(o, mask);
}

/* Whether a call's axes are those of its operands: only then a mask is where they end. */
static bool goes_along(const struct older *o, const struct nki_node *call) {
    enum nki_op op = older_op(o, call);
    struct buf name = {0};
    bool along = op == NKI_OP_NC_TRANSPOSE || (op != NKI_OP_COUNT && nki_op_streams(op));
    if (op == NKI_OP_COUNT && call->kind == NKI_CALL && migrate_name(o->m, call->call.func, &name))
        along = strcmp(name.at, "nl.load") == 0 || strcmp(name.at, "nl.store") == 0 ||
                strcmp(name.at, "nl.copy") == 0 ||
                (str_starts(buf_str(&name), "nl.") &&
                 nki_func_find(str_of(name.at + 3)) != NKI_FUNC_NONE);
    buf_free(&name);
    return along;
}

/* The value that a statement assigns. */
static const struct nki_node *written(const struct nki_node *stmt) {
    return stmt->kind == NKI_ASSIGN ? stmt->assign.value : NULL;
}

void older_read_mask(struct older *o) {
    struct str first = {NULL, 0};
    older_forget_mask(o);
    for (uint32_t i = o->stmt->id; i <= o->stmt->last; i++) {
        const struct nki_node *node = o->m->tree->nodes[i];
        if (nki_is_statement(node) && node != o->stmt)
            return; /* the header of a block */
        bool is = node->kind == NKI_KEYWORD && str_is(node->keyword.name, "mask") &&
                  !(node->keyword.value->kind == NKI_CONSTANT);
        if (!is)
            continue;
        struct str text = older_text_of(o, node->keyword.value);
        bool same = first.at && str_equal(first, text);
        bool ok = same || (!first.at && goes_along(o, node->parent) &&
                           read_mask(o, node->keyword.value, 0));
        first = text;
        o->turns |= older_op(o, node->parent) == NKI_OP_NC_TRANSPOSE;
        if (!ok || (o->turns && node->parent != written(o->stmt)))
            older_ask(o, "mask= is in no call any more: where do the slices of the operands end?");
    }
}

void older_turn_mask(struct older *o) {
    if (!o->turns || o->n_axes != 2)
        return;
    char *first = o->limits[0];
    o->limits[0] = o->limits[1];
    o->limits[1] = first;
}

void older_cut(const struct older *o, const struct nki_seen *tile, struct buf *out) {
    if (!o->n_axes || !tile || tile->n_dims != o->n_axes)
        return;
    for (int d = 0; d < tile->n_dims; d++) {
        buf_puts(out, d ? ", " : "[");
        if (o->limits[d] && tile->shape[d] > 1)
            buf_printf(out, "0:%s", o->limits[d]);
        else
            buf_printf(out, "0:%lld", (long long)tile->shape[d]);
    }
    buf_putc(out, ']');
}
