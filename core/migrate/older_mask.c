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
    o->n_axes = o->n_conditions = 0;
    o->axes_of = OLDER_ALIKE;
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

/* Whether a part of a mask has an index, also one that its names stand for. */
static bool has_index(const struct older *o, const struct nki_node *part, int depth) {
    if (depth > OLDER_MOST_NESTING)
        return true;
    for (uint32_t i = part->id; i <= part->last; i++) {
        const struct nki_node *node = o->m->tree->nodes[i];
        const struct nki_node *value =
            node->kind == NKI_NAME && node->context == NKI_LOAD ? older_value_of(o, node) : NULL;
        if (older_is_index(o, node) || (value && has_index(o, value, depth + 1)))
            return true;
    }
    return false;
}

/* A part that holds for all elements or for none. */
static bool read_condition(struct older *o, const struct nki_node *part) {
    const struct migrate_fact *fact = older_fact(o, part);
    bool number = fact->times && fact->seen.kind != NKI_SEEN_TILE &&
                  fact->seen.kind != NKI_SEEN_INDEX && fact->seen.kind != NKI_SEEN_REGISTER;
    if (!number || o->n_conditions == OLDER_MOST_CONDITIONS)
        return false;
    o->conditions[o->n_conditions++] = part;
    return true;
}

static bool read_mask(struct older *o, const struct nki_node *mask, int depth) {
    const struct nki_node *value = mask->kind == NKI_NAME ? older_value_of(o, mask) : NULL;
    if (depth > OLDER_MOST_NESTING)
        return false;
    if (!has_index(o, mask, depth))
        return read_condition(o, mask);
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
    bool along = op == NKI_OP_NC_TRANSPOSE || op == NKI_OP_NC_MATMUL ||
                 (op != NKI_OP_COUNT && nki_op_streams(op));
    if (op == NKI_OP_COUNT && call->kind == NKI_CALL && migrate_name(o->m, call->call.func, &name))
        along = strcmp(name.at, "nl.load") == 0 || strcmp(name.at, "nl.store") == 0 ||
                strcmp(name.at, "nl.copy") == 0 ||
                (str_starts(buf_str(&name), "nl.") &&
                 nki_func_find(str_of(name.at + 3)) != NKI_FUNC_NONE);
    buf_free(&name);
    return along;
}

/* The value that a statement assigns or adds. */
static const struct nki_node *written(const struct nki_node *stmt) {
    return stmt->kind == NKI_ASSIGN       ? stmt->assign.value
           : stmt->kind == NKI_AUG_ASSIGN ? stmt->aug_assign.value
                                          : NULL;
}

/* The mask= of a call; NULL: it has none, or mask=None. */
static const struct nki_node *mask_of(const struct nki_node *node) {
    const struct nki_node *mask = node->kind == NKI_CALL ? migrate_keyword(node, "mask") : NULL;
    bool none = mask && mask->keyword.value->kind == NKI_CONSTANT;
    return mask && !none ? mask->keyword.value : NULL;
}

/* Reads the mask of one call; `first` is the text of that of an earlier one. */
static bool read_call(struct older *o, const struct nki_node *call, struct str *first) {
    enum nki_op op = older_op(o, call);
    struct str text = older_text_of(o, mask_of(call));
    bool ok = first->at ? str_equal(*first, text) : read_mask(o, mask_of(call), 0);
    ok = ok && (!o->n_axes || first->at || goes_along(o, call));
    *first = text;
    if (op == NKI_OP_NC_TRANSPOSE || op == NKI_OP_NC_MATMUL)
        o->axes_of = op == NKI_OP_NC_TRANSPOSE ? OLDER_TURNED : OLDER_PRODUCT;
    return ok && (!o->n_axes || o->axes_of == OLDER_ALIKE || call == written(o->stmt));
}

void older_read_mask(struct older *o) {
    struct str first = {NULL, 0};
    older_forget_mask(o);
    for (uint32_t i = o->stmt->id; i <= o->stmt->last; i++) {
        const struct nki_node *node = o->m->tree->nodes[i];
        if (nki_is_statement(node) && node != o->stmt)
            return; /* the header of a block */
        if (mask_of(node) && !read_call(o, node, &first))
            older_ask(o, "mask= is in no call any more: where do the slices of the operands end?");
    }
}

static void turn(struct older *o) {
    char *first = o->limits[0];
    o->limits[0] = o->limits[1];
    o->limits[1] = first;
    o->turned = !o->turned;
}

void older_begin_result(struct older *o) {
    if (o->axes_of == OLDER_TURNED && o->n_axes == 2)
        turn(o);
    if (o->axes_of == OLDER_PRODUCT)
        o->hidden = 1u;
}

void older_begin_stationary(struct older *o) {
    if (o->axes_of == OLDER_PRODUCT)
        o->hidden = ~1u;
}

void older_end_operand(struct older *o) {
    if (o->turned)
        turn(o);
    o->hidden = 0;
}

const char *older_limit(const struct older *o, int axis) {
    return axis < o->n_axes && !(o->hidden >> axis & 1) ? o->limits[axis] : NULL;
}

void older_cut(const struct older *o, const struct nki_seen *tile, struct buf *out) {
    bool fits = tile && (tile->n_dims == o->n_axes || (o->hidden && tile->n_dims < o->n_axes));
    if (!o->n_axes || !fits)
        return;
    for (int d = 0; d < tile->n_dims; d++) {
        buf_puts(out, d ? ", " : "[");
        if (older_limit(o, d) && tile->shape[d] > 1)
            buf_printf(out, "0:%s", older_limit(o, d));
        else
            buf_printf(out, "0:%lld", (long long)tile->shape[d]);
    }
    buf_putc(out, ']');
}

void older_put_condition(struct older *o, const struct nki_node *call, struct buf *lines) {
    struct str rest = buf_str(lines), line;
    struct buf text = {0};
    if (!o->n_conditions || !mask_of(call))
        return;
    for (int i = 0; i < o->n_conditions; i++) {
        const struct nki_node *part = o->conditions[i];
        bool tight = o->n_conditions == 1 || part->kind == NKI_NAME || part->kind == NKI_COMPARE;
        buf_printf(&text, tight ? "%s" STR_FMT : "%s(" STR_FMT ")", i ? " and " : "if ",
                   STR_ARG(nki_node_text(o->m->tree, part)));
    }
    buf_puts(&text, ":\n");
    while (str_next(&rest, '\n', &line))
        if (line.len)
            buf_printf(&text, STR_FMT STR_FMT "\n", STR_ARG(nki_indent_unit(o->m->tree)),
                       STR_ARG(line));
    buf_free(lines);
    *lines = text;
}
