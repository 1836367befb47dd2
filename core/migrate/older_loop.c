/* SPDX-License-Identifier: Apache-2.0 */
/* nl.loop_reduce: the first round of its loops writes its value, each later one combines it with
 * what there is. The older dialect has one tile for all rounds; it is made before the loops. */
#include "migrate/older.h"

#define MOST_LOOPS 8

struct reduction {
    const struct nki_node *value, *op;
    const struct nki_node *loops[MOST_LOOPS]; /* that it runs over */
    int n_loops;
};

/* The loop around a node whose variable has this name. */
static const struct nki_node *loop_of(const struct nki_node *node, struct str name) {
    const struct nki_node *loop = nki_enclosing(node, NKI_FOR);
    while (loop &&
           !(loop->for_.target->kind == NKI_NAME && str_equal(loop->for_.target->name.id, name)))
        loop = nki_enclosing(loop, NKI_FOR);
    return loop;
}

/* The call that makes the range a loop runs over. */
static const struct nki_node *range_of(const struct older *o, const struct nki_node *loop) {
    const struct nki_node *iter = loop->for_.iter;
    if (iter->kind == NKI_NAME)
        iter = older_value_of(o, iter);
    bool range =
        iter && iter->kind == NKI_CALL &&
        (migrate_calls(o->m, iter, "nl.affine_range") ||
         migrate_calls(o->m, iter, "nl.sequential_range") ||
         migrate_calls(o->m, iter, "nl.static_range") || migrate_calls(o->m, iter, "range"));
    return range && iter->call.args.len && !iter->call.keywords.len ? iter : NULL;
}

static bool read_reduction(const struct older *o, const struct nki_node *call,
                           struct reduction *r) {
    *r = (struct reduction){.value = migrate_arg(call, 0, "x"), .op = migrate_arg(call, 1, "op")};
    const struct nki_node *indices = migrate_arg(call, 2, "loop_indices");
    bool many = indices && (indices->kind == NKI_LIST || indices->kind == NKI_TUPLE);
    uint32_t n = !indices                    ? 0
                 : indices->kind == NKI_LIST ? indices->list.elts.len
                 : many                      ? indices->tuple.elts.len
                                             : 1;
    if (!r->value || !r->op || n == 0 || n > MOST_LOOPS || migrate_keyword(call, "mask"))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const struct nki_node *index = !many                       ? indices
                                       : indices->kind == NKI_LIST ? indices->list.elts.at[i]
                                                                   : indices->tuple.elts.at[i];
        const struct nki_node *loop =
            index->kind == NKI_NAME ? loop_of(call, index->name.id) : NULL;
        if (!loop || !range_of(o, loop))
            return false;
        r->loops[r->n_loops++] = loop;
    }
    return true;
}

/* "if i == 0 and j == 2:" */
static void print_first(const struct older *o, const struct reduction *r, struct buf *out) {
    for (int i = 0; i < r->n_loops; i++) {
        const struct nki_node *range = range_of(o, r->loops[i]);
        struct str start =
            range->call.args.len > 1
                ? nki_text(o->m->tree, nki_outer_span(o->m->tree, range->call.args.at[0]))
                : STR("0");
        buf_printf(out, "%s" STR_FMT " == " STR_FMT, i ? " and " : "if ",
                   STR_ARG(r->loops[i]->for_.target->name.id), STR_ARG(start));
    }
    buf_puts(out, ":\n");
}

bool older_is_reduction(const struct older *o, const struct nki_node *node) {
    struct reduction r;
    return migrate_calls(o->m, node, "nl.loop_reduce") && read_reduction(o, node, &r);
}

const struct nki_node *older_outermost(const struct older *o, const struct nki_node *call) {
    struct reduction r;
    const struct nki_node *outer = NULL;
    if (!read_reduction(o, call, &r))
        return NULL;
    for (int i = 0; i < r.n_loops; i++)
        outer = !outer || r.loops[i]->id < outer->id ? r.loops[i] : outer;
    return outer;
}

void older_print_reduction(struct older *o, struct str dst, const struct nki_node *call,
                           struct buf *out) {
    struct reduction r;
    struct buf value = {0};
    if (!read_reduction(o, call, &r))
        return;
    older_print_outer(o, r.value, &value);
    if (r.value->kind != NKI_SUBSCRIPT)
        older_cut(o, older_tile(o, r.value), &value);
    print_first(o, &r, out);
    buf_printf(out, STR_FMT, STR_ARG(nki_indent_unit(o->m->tree)));
    migrate_spell(o->m, "nisa.tensor_copy", out);
    buf_printf(out, "(dst=" STR_FMT ", src=%s)\nelse:\n" STR_FMT, STR_ARG(dst), value.at,
               STR_ARG(nki_indent_unit(o->m->tree)));
    migrate_spell(o->m, "nisa.tensor_tensor", out);
    buf_printf(out, "(dst=" STR_FMT ", data1=" STR_FMT ", data2=%s, op=", STR_ARG(dst),
               STR_ARG(dst), value.at);
    older_print(o, r.op, out);
    buf_puts(out, ")\n");
    buf_free(&value);
}
