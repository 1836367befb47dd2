/* SPDX-License-Identifier: Apache-2.0 */
/* Index expressions over nl.arange and nl.mgrid. What they were when the kernel was evaluated says
 * which axis each of them runs over, how far and in which steps; the source says from where on. */
#include <stdio.h>
#include <stdlib.h>

#include "migrate/older.h"

/* ---- where an index begins ------------------------------------------------------------------- */

bool older_is_index(const struct older *o, const struct nki_node *node) {
    const struct migrate_fact *fact = older_fact(o, node);
    return fact->times && fact->seen.kind == NKI_SEEN_INDEX;
}

struct str older_text_of(const struct older *o, const struct nki_node *node) {
    return nki_text(o->m->tree, nki_outer_span(o->m->tree, node));
}

/* "a + b", "a - b"; nothing where both begin at 0. */
static bool print_sum(struct older *o, const struct nki_node *node, int depth, struct buf *out) {
    struct buf left = {0}, right = {0};
    bool minus = node->bin_op.op == NKI_SUB;
    bool ok = older_print_base(o, node->bin_op.left, depth, &left) &&
              older_print_base(o, node->bin_op.right, depth, &right);
    if (left.len)
        buf_puts(out, left.at);
    if (right.len && minus)
        buf_printf(out, "%s(%s)", left.len ? " - " : "-", right.at);
    else if (right.len)
        buf_printf(out, "%s%s", left.len ? " + " : "", right.at);
    buf_free(&left);
    buf_free(&right);
    return ok;
}

/* "(a + b) * 128": one side is an index, the other a number. */
static bool print_product(struct older *o, const struct nki_node *node, int depth,
                          struct buf *out) {
    const struct nki_node *index =
        older_is_index(o, node->bin_op.left) ? node->bin_op.left : node->bin_op.right;
    const struct nki_node *number =
        index == node->bin_op.left ? node->bin_op.right : node->bin_op.left;
    struct buf base = {0};
    bool ok = older_print_base(o, index, depth, &base) && !older_is_index(o, number);
    if (base.len)
        buf_printf(out, "(%s) * (" STR_FMT ")", base.at, STR_ARG(older_text_of(o, number)));
    buf_free(&base);
    return ok;
}

/* The same by names. False: the source does not say it. */
static bool print_named(struct older *o, const struct nki_node *node, int depth, struct buf *out) {
    const struct nki_node *start;
    if (older_start_of(o, node, &start))
        return !start || older_print_base(o, start, depth + 1, out);
    if (node->kind == NKI_BIN_OP && (node->bin_op.op == NKI_ADD || node->bin_op.op == NKI_SUB))
        return print_sum(o, node, depth + 1, out);
    if (node->kind == NKI_BIN_OP && node->bin_op.op == NKI_MUL)
        return print_product(o, node, depth + 1, out);
    if (node->kind == NKI_SUBSCRIPT)
        return older_print_base(o, node->subscript.value, depth + 1, out);
    const struct nki_node *value = node->kind == NKI_NAME ? older_value_of(o, node) : NULL;
    return value && older_print_base(o, value, depth + 1, out);
}

/* Writes where an index expression begins, as the source says it; nothing for 0. */
bool older_print_base(struct older *o, const struct nki_node *node, int depth, struct buf *out) {
    const struct migrate_fact *fact = older_fact(o, node);
    struct buf text = {0};
    if (depth > OLDER_MOST_NESTING)
        return false;
    if (!older_is_index(o, node)) {
        bool zero = node->kind == NKI_CONSTANT && node->constant.integer == 0;
        bool tight = nki_precedence(node) >= 12;
        if (!zero)
            buf_printf(out, tight ? STR_FMT : "(" STR_FMT ")",
                       STR_ARG(nki_node_text(o->m->tree, node)));
        return true;
    }
    bool one = !fact->moves && !fact->varies && !older_rolls(o, node);
    bool fixed = one && older_holds(o, node, OLDER_BEGIN);
    bool named = !fixed && print_named(o, node, depth, &text);
    if (named && text.len)
        buf_puts(out, text.at);
    if (!named && one && fact->seen.whole)
        buf_printf(out, "%lld", (long long)fact->seen.whole);
    if (!named && one && !fixed)
        older_ask_names(o);
    buf_free(&text);
    return named || one;
}

/* ---- slices ---------------------------------------------------------------------------------- */

/* What an element of a subscript selects. */
struct part {
    const struct nki_node *node;
    int axis;  /* of all index expressions, that it runs over; -1: none */
    int own;   /* the same, of its own */
    int axes;  /* how many it runs over */
    bool wide; /* it is a number that stands for an axis of length 1 */
};

/* "base:base + n", "base:base + 5:2" */
static bool print_slice(struct older *o, const struct part *part, struct buf *out) {
    const struct nki_seen *seen = &older_fact(o, part->node)->seen;
    struct buf base = {0};
    int64_t n = seen->shape[part->own], step = seen->step[part->own];
    if (step < 1 || older_fact(o, part->node)->varies ||
        !older_print_base(o, part->node, 0, &base)) {
        buf_free(&base);
        return false;
    }
    buf_printf(out, "%s:", base.len ? base.at : "0");
    if (base.len)
        buf_printf(out, "%s + ", base.at);
    const char *limit = older_limit(o, part->axis);
    if (limit && step != 1) {
        buf_free(&base);
        return false;
    }
    if (limit)
        buf_puts(out, limit);
    else
        older_print_count(o, part->node, n, step, out);
    if (step != 1)
        buf_printf(out, ":%lld", (long long)step);
    buf_free(&base);
    return true;
}

/* A number, alone or as a slice of one. */
static bool print_number(struct older *o, const struct part *part, struct buf *out) {
    struct buf base = {0};
    bool ok = !older_is_index(o, part->node) || older_print_base(o, part->node, 0, &base);
    if (ok && !older_is_index(o, part->node))
        older_print(o, part->node, &base);
    const char *text = base.len ? base.at : "0";
    long long number;
    if (ok && part->wide && str_to_int(str_of(text), &number))
        buf_printf(out, "%lld:%lld", number, number + 1);
    else if (ok && part->wide)
        buf_printf(out, "%s:%s + 1", text, text);
    else if (ok)
        buf_puts(out, text);
    buf_free(&base);
    return ok;
}

static void read_part(const struct older *o, const struct nki_node *node, struct part *part,
                      int *n_axes) {
    *part = (struct part){.node = node, .axis = -1};
    if (!older_is_index(o, node))
        return;
    const struct nki_seen *seen = &older_fact(o, node)->seen;
    *n_axes = MAX_OF(*n_axes, seen->n_dims);
    for (int d = 0; d < seen->n_dims; d++)
        if (seen->step[d] && seen->shape[d] > 1) {
            part->axis = part->own = d;
            part->axes++;
        }
}

/* Whether an index expression has more than one position along an axis, whose elements are then
 * repeated where none runs over it. */
static bool is_repeated(const struct older *o, const struct part *parts, uint32_t count, int n_axes,
                        int axis) {
    for (uint32_t i = 0; i < count; i++) {
        const struct nki_seen *seen = &older_fact(o, parts[i].node)->seen;
        int own = axis - (n_axes - seen->n_dims);
        if (older_is_index(o, parts[i].node) && own >= 0 && seen->shape[own] > 1)
            return true;
    }
    return false;
}

/* Axes come in order, each from one element; those of length 1 from a number. Aligned at the last
 * one where expressions have fewer axes than others. */
static bool put_axes(const struct older *o, struct part *parts, uint32_t count, int n_axes) {
    int axis = 0;
    for (uint32_t i = 0; i < count; i++)
        if (parts[i].axis >= 0)
            parts[i].axis += n_axes - older_fact(o, parts[i].node)->seen.n_dims;
    for (uint32_t i = 0; i < count; i++) {
        if (parts[i].axes > 1)
            return false;
        if (parts[i].axis < 0) {
            bool later = false; /* whether this axis comes from a later element */
            for (uint32_t k = i + 1; k < count; k++)
                later |= parts[k].axis == axis;
            if (!later && axis < n_axes) {
                if (parts[i].node->kind == NKI_SLICE || is_repeated(o, parts, count, n_axes, axis))
                    return false;
                parts[i].wide = true;
                axis++;
            }
            continue;
        }
        if (parts[i].axis != axis)
            return false;
        axis++;
    }
    return axis == n_axes;
}

int older_blocks(const struct older *o, const struct nki_node *name) {
    const struct nki_node *made = name->kind == NKI_NAME ? older_value_of(o, name) : NULL;
    const struct nki_node *shape =
        made && made->kind == NKI_CALL ? migrate_arg(made, 0, "shape") : NULL;
    if (!shape || shape->kind != NKI_TUPLE)
        return 0;
    for (uint32_t d = 0; d < shape->tuple.elts.len; d++)
        if (migrate_calls(o->m, shape->tuple.elts.at[d], "nl.par_dim"))
            return (int)d;
    return 0;
}

/* ---- access patterns ------------------------------------------------------------------------- */

#define CANNOT "this index is no slice: say it with .ap(pattern=, offset=)?"

/* Steps of the dimensions behind those of blocks, in elements. False: the tensor is not known. */
static bool read_steps(const struct older *o, const struct nki_node *node, int blocks,
                       uint32_t count, int64_t steps[NKI_SEEN_DIMS]) {
    const struct nki_node *name = node->subscript.value;
    const struct nki_seen *all = name->kind == NKI_NAME ? older_named(o, name) : NULL;
    if (!all || all->n_dims != blocks + (int)count)
        return false;
    int64_t step = 1;
    for (int d = (int)count - 1; d >= 0; d--) {
        steps[d] = step;
        step *= all->shape[blocks + d];
    }
    return true;
}

/* ".ap(pattern=[[512, 128], [1, 512]], offset=0)" */
static bool print_pattern(struct older *o, const struct nki_node *node, const struct part *parts,
                          uint32_t count, int n_axes, struct buf *out) {
    int64_t steps[NKI_SEEN_DIMS], step[NKI_SEEN_DIMS] = {0}, size[NKI_SEEN_DIMS] = {0};
    int blocks = older_blocks(o, node->subscript.value);
    struct buf offset = {0};
    bool ok = read_steps(o, node, blocks, count, steps);
    for (uint32_t d = 0; d < count && ok; d++) {
        const struct nki_seen *seen = &older_fact(o, parts[d].node)->seen;
        struct buf base = {0};
        bool index = older_is_index(o, parts[d].node);
        ok = parts[d].node->kind != NKI_SLICE && !older_fact(o, parts[d].node)->varies &&
             older_print_base(o, parts[d].node, 0, &base);
        for (int a = 0; index && a < seen->n_dims; a++) {
            step[a + n_axes - seen->n_dims] += seen->step[a] * steps[d];
            size[a + n_axes - seen->n_dims] =
                MAX_OF(size[a + n_axes - seen->n_dims], seen->shape[a]);
        }
        if (base.len && steps[d] != 1)
            buf_printf(&offset, "%s(%s) * %lld", offset.len ? " + " : "", base.at,
                       (long long)steps[d]);
        else if (base.len)
            buf_printf(&offset, "%s%s", offset.len ? " + " : "", base.at);
        buf_free(&base);
    }
    buf_puts(out, ".ap(pattern=[");
    for (int a = 0; a < n_axes && ok; a++) {
        const char *limit = older_limit(o, a);
        buf_printf(out, "%s[%lld, ", a ? ", " : "", (long long)step[a]);
        if (limit)
            buf_printf(out, "%s]", limit);
        else
            buf_printf(out, "%lld]", (long long)MAX_OF(size[a], 1));
    }
    buf_printf(out, "], offset=%s)", offset.len ? offset.at : "0");
    buf_free(&offset);
    return ok;
}

static bool print_slices(struct older *o, struct part *parts, uint32_t count, int n_axes,
                         struct buf *out) {
    bool ok = !n_axes || put_axes(o, parts, count, n_axes);
    for (uint32_t i = 0; i < count && ok; i++) {
        buf_puts(out, i ? ", " : "[");
        ok = parts[i].axis >= 0 ? print_slice(o, &parts[i], out) : print_number(o, &parts[i], out);
        buf_puts(out, i + 1 == count ? "]" : "");
    }
    return ok;
}

bool older_print_subscript(struct older *o, const struct nki_node *node, struct buf *out) {
    const struct nki_node *slice = node->subscript.slice;
    const struct nki_list *list = slice->kind == NKI_TUPLE ? &slice->tuple.elts : NULL;
    uint32_t count = list ? list->len : 1;
    int blocks = older_blocks(o, node->subscript.value), n_axes = 0;
    struct part parts[NKI_SEEN_DIMS];
    if (count > NKI_SEEN_DIMS || older_is_index(o, node))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const struct nki_node *one = list ? list->at[i] : slice;
        read_part(o, one, &parts[i], &n_axes);
        if (older_fact(o, one)->seen.kind == NKI_SEEN_TILE && older_fact(o, one)->times)
            older_ask(o, "a tile is the index: .ap(pattern=, vector_offset=) or .select()?");
    }
    if (!n_axes && !blocks)
        return false;
    struct buf text = {0}, part = {0};
    older_print(o, node->subscript.value, &text);
    uint32_t first = (uint32_t)MIN_OF(blocks, (int)count);
    bool ok = true;
    for (uint32_t i = 0; i < first && ok; i++) {
        buf_putc(&text, '[');
        ok = parts[i].axis < 0 && parts[i].node->kind != NKI_SLICE &&
             print_number(o, &parts[i], &text);
        buf_putc(&text, ']');
    }
    struct part copy[NKI_SEEN_DIMS];
    memcpy(copy, parts, sizeof copy);
    if (ok && !print_slices(o, copy + first, count - first, n_axes, &part)) {
        buf_clear(&part);
        ok = n_axes && print_pattern(o, node, parts + first, count - first, n_axes, &part);
    }
    if (ok)
        buf_printf(out, "%s%s", text.at, part.len ? part.at : "");
    else
        older_ask(o, CANNOT);
    buf_free(&text);
    buf_free(&part);
    return ok;
}

/* ---- patterns of instructions ---------------------------------------------------------------- */

bool older_print_affine(struct older *o, const struct nki_node *a, const struct nki_node *b,
                        struct buf *out) {
    const struct nki_node *sides[2] = {a, b};
    struct nki_seen sum = {0};
    struct buf offset = {0};
    bool ok = true, any = false;
    for (int s = 0; s < 2 && sides[s]; s++) {
        struct buf base = {0};
        if (older_is_index(o, sides[s])) {
            const struct nki_seen *seen = &older_fact(o, sides[s])->seen;
            any = true;
            sum.n_dims = MAX_OF(sum.n_dims, seen->n_dims);
            for (int d = 0; d < seen->n_dims; d++) {
                sum.step[d] += s ? -seen->step[d] : seen->step[d];
                sum.shape[d] = MAX_OF(sum.shape[d], seen->shape[d]);
            }
        }
        ok = ok && !older_fact(o, sides[s])->varies && older_print_base(o, sides[s], 0, &base);
        if (base.len)
            buf_printf(&offset, s ? "%s(%s)" : "%s%s", s ? offset.len ? " - " : "-" : "", base.at);
        buf_free(&base);
    }
    ok = ok && any && sum.n_dims > 1;
    if (ok) {
        buf_puts(out, "pattern=[");
        for (int d = 1; d < sum.n_dims; d++)
            buf_printf(out, "%s[%lld, %lld]", d > 1 ? ", " : "", (long long)sum.step[d],
                       (long long)sum.shape[d]);
        buf_printf(out, "], offset=%s, channel_multiplier=%lld", offset.len ? offset.at : "0",
                   (long long)sum.step[0]);
    }
    buf_free(&offset);
    return ok;
}
