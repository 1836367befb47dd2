/* SPDX-License-Identifier: Apache-2.0 */
/* What the original kernel's file does beyond the list (a harness that imports torch, a test)
 * remains its owner's. So a statement at the top of the file is excused when the candidate has it
 * unchanged. What such a statement binds is not for new code: to use the name is again a finding,
 * which is excused in kept statements too. A kept statement is not excused when new code can tell
 * it what to do, through a value that it reads. */
#include "nki/lint/guard.h"

struct statement {
    const struct nki_node *node;
    bool is_kept, is_marked; /* is_marked: it goes beyond the list */
};

static struct nki_span whole_span(const struct nki_tree *tree, const struct nki_node *node) {
    struct nki_span span = nki_outer_span(tree, node);
    const struct nki_list *decorators = node->kind == NKI_FUNCTION_DEF
                                            ? &node->function_def.decorators
                                        : node->kind == NKI_CLASS_DEF ? &node->class_def.decorators
                                                                      : NULL;
    if (decorators && decorators->len)
        span.start = MIN_OF(span.start, decorators->at[0]->start);
    return span;
}

static struct statement *statements_find(struct guard *guard) {
    const struct nki_list *body = &guard->tree->module->module.body;
    struct statement *all = ARENA_ARRAY(guard->arena, struct statement, body->len + 1);
    struct map texts = {0};
    const struct nki_tree *from = guard->original;
    for (uint32_t i = 0; i < from->module->module.body.len; i++)
        map_put(&texts, nki_text(from, whole_span(from, from->module->module.body.at[i])));
    for (uint32_t i = 0; i < body->len; i++) {
        struct str text = nki_text(guard->tree, whole_span(guard->tree, body->at[i]));
        all[i] = (struct statement){body->at[i], map_find(&texts, text) != NULL, false};
    }
    map_free(&texts);
    return all;
}

/* The statement at the top of the file that holds the node. */
static struct statement *statement_of(const struct guard *guard, struct statement *all,
                                      const struct nki_node *node) {
    size_t low = 0, high = guard->tree->module->module.body.len;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (all[middle].node->id <= node->id)
            low = middle;
        else
            high = middle;
    }
    return high && nki_contains(all[low].node, node) ? &all[low] : NULL;
}

/* `take` gets every name that the statement binds in the module. */
typedef void (*take_fn)(struct map *names, struct str name);
static void bound_by(const struct guard *guard, const struct nki_node *statement, take_fn take,
                     struct map *names) {
    for (uint32_t i = statement->id; i <= statement->last; i++) {
        const struct nki_node *node = guard->tree->nodes[i];
        bool is_function = node->kind == NKI_FUNCTION_DEF;
        if (is_function || node->kind == NKI_CLASS_DEF) {
            take(names, is_function ? node->function_def.name : node->class_def.name);
            i = node->last;
        } else if (node->kind == NKI_NAME && node->context == NKI_STORE) {
            take(names, node->name.id);
        } else if (node->kind == NKI_EXCEPT_HANDLER && node->except_handler.name.len) {
            take(names, node->except_handler.name);
        }
    }
}

static void put(struct map *names, struct str name) {
    map_put(names, name);
}

static void mark(struct guard *guard, struct statement *statement, struct map *tainted) {
    if (!statement->is_marked)
        bound_by(guard, statement->node, put, tainted);
    statement->is_marked = true;
}

/* Whether what the statement binds may change without being bound again. */
static bool is_mutable(const struct nki_node *statement) {
    const struct nki_node *value = statement->kind == NKI_ASSIGN       ? statement->assign.value
                                   : statement->kind == NKI_ANN_ASSIGN ? statement->ann_assign.value
                                                                       : NULL;
    return statement->kind == NKI_CLASS_DEF ||
           (value && value->kind != NKI_CONSTANT && value->kind != NKI_ATTRIBUTE &&
            value->kind != NKI_BIN_OP && value->kind != NKI_UNARY_OP);
}

/* X[0] = ..., X.append(...): kept code beyond the list may put its own values in there. */
static bool is_filled(const struct nki_node *name) {
    const struct nki_node *up = name->parent;
    bool is_item =
        up->kind == NKI_SUBSCRIPT && up->subscript.value == name && up->context == NKI_STORE;
    bool is_called =
        up->kind == NKI_ATTRIBUTE && up->parent->kind == NKI_CALL && up->parent->call.func == up;
    return is_item || is_called;
}

/* Lists and dicts that kept code fills may hold what new code may not use, such as a register of
 * functions. */
static void find_filled(struct guard *guard, struct statement *all, struct map *tainted) {
    uint32_t count = guard->tree->module->module.body.len;
    struct map mutable = {0};
    for (uint32_t i = 0; i < count; i++)
        if (all[i].is_kept && all[i].node->kind != NKI_CLASS_DEF && is_mutable(all[i].node))
            bound_by(guard, all[i].node, put, &mutable);
    for (uint32_t i = 0; i < guard->tree->n_nodes; i++) {
        const struct nki_node *node = guard->tree->nodes[i];
        if (node->kind != NKI_NAME || !map_find(&mutable, node->name.id) || !is_filled(node) ||
            guard_is_local(guard, node))
            continue;
        const struct statement *statement = statement_of(guard, all, node);
        if (statement && statement->is_kept)
            map_put(tainted, node->name.id);
    }
    map_free(&mutable);
}

/* A kept statement that reads what another of them bound is marked too. True when there was one
 * more. */
static bool spread(struct guard *guard, struct statement *all, struct map *tainted) {
    size_t before = tainted->len;
    for (uint32_t i = 0; i < guard->tree->n_nodes; i++) {
        const struct nki_node *node = guard->tree->nodes[i];
        if (node->kind != NKI_NAME || node->context != NKI_LOAD ||
            !map_find(tainted, node->name.id) || guard_is_local(guard, node))
            continue;
        struct statement *statement = statement_of(guard, all, node);
        if (statement && statement->is_kept)
            mark(guard, statement, tainted);
    }
    return tainted->len > before;
}

/* if __name__ == "__main__": an import does not run it. */
static bool is_main(const struct nki_node *node) {
    const struct nki_node *test = node->kind == NKI_IF ? node->if_.test : NULL;
    return test && test->kind == NKI_COMPARE && test->compare.left->kind == NKI_NAME &&
           str_is(test->compare.left->name.id, "__name__") && test->compare.comparators.len == 1 &&
           test->compare.ops[0] == NKI_CMP_EQ &&
           test->compare.comparators.at[0]->kind == NKI_CONSTANT &&
           str_is(test->compare.comparators.at[0]->constant.text, "__main__");
}

/* Whether importing the file runs a call in the statement. */
static bool runs_at_import(const struct guard *guard, const struct nki_node *statement) {
    for (uint32_t i = statement->id; i <= statement->last; i++) {
        const struct nki_node *node = guard->tree->nodes[i];
        if (node->kind == NKI_CALL)
            return true;
        if (node->kind == NKI_FUNCTION_DEF || node->kind == NKI_LAMBDA || is_main(node))
            i = node->last;
    }
    return false;
}

/* Names through which a new statement can tell kept code what to do: names that it imports anew,
 * and, where the import runs it, values of kept statements that it gets hold of. */
static void told_by(const struct guard *guard, const struct nki_node *statement,
                    const struct map *mutable, struct map *names) {
    for (uint32_t i = statement->id; i <= statement->last; i++) {
        const struct nki_node *node = guard->tree->nodes[i];
        struct str name = {0};
        if (node->kind == NKI_FUNCTION_DEF || node->kind == NKI_LAMBDA)
            i = node->last;
        else if (node->kind == NKI_ALIAS)
            name = node->alias.asname.len ? node->alias.asname : node->alias.name;
        else if (node->kind == NKI_NAME && node->context == NKI_LOAD &&
                 map_find(mutable, node->name.id))
            name = node->name.id;
        if (name.len)
            map_put(names, name);
    }
}

/* What new statements bind that can tell kept code what to do. Values can. Functions can where
 * the import runs kept code beyond the list. Called later, they keep to the list like everything
 * new. */
static void new_values(const struct guard *guard, const struct statement *all, struct map *names) {
    uint32_t count = guard->tree->module->module.body.len;
    bool runs = false;
    struct map mutable = {0};
    for (uint32_t i = 0; i < count; i++)
        runs |= all[i].is_kept && all[i].is_marked && runs_at_import(guard, all[i].node);
    for (uint32_t i = 0; i < count; i++) {
        const struct nki_node *node = all[i].node;
        bool defines = node->kind == NKI_FUNCTION_DEF || node->kind == NKI_CLASS_DEF;
        if (all[i].is_kept && is_mutable(node))
            bound_by(guard, node, put, &mutable);
        if (!all[i].is_kept && (runs || !defines))
            bound_by(guard, node, put, names);
    }
    for (uint32_t i = 0; i < count; i++)
        if (!all[i].is_kept)
            told_by(guard, all[i].node, &mutable, names);
    map_free(&mutable);
}

static bool reads_any(struct guard *guard, const struct nki_node *statement,
                      const struct map *names) {
    for (uint32_t i = statement->id; names->len && i <= statement->last; i++) {
        const struct nki_node *node = guard->tree->nodes[i];
        if (node->kind == NKI_NAME && node->context == NKI_LOAD && map_find(names, node->name.id) &&
            !guard_is_local(guard, node))
            return true;
    }
    return false;
}

/* Finds new code that uses what only kept code may use. */
static void find_uses(struct guard *guard, struct statement *all, const struct map *tainted) {
    for (uint32_t i = 0; i < guard->tree->n_nodes; i++) {
        const struct nki_node *node = guard->tree->nodes[i];
        if (node->kind != NKI_NAME || node->context != NKI_LOAD ||
            !map_find(tainted, node->name.id) || guard_is_local(guard, node))
            continue;
        const struct statement *statement = statement_of(guard, all, node);
        if (!statement || !statement->is_kept)
            guard_add(guard, LINT_C_KEPT, node, node->name.id);
    }
}

void guard_excuse(struct guard *guard, struct map *tainted) {
    struct statement *all = statements_find(guard);
    struct map changed = {0};
    size_t found = guard->found.len;
    for (size_t i = 0; i < found; i++) {
        struct statement *statement = statement_of(guard, all, guard->found.at[i].node);
        if (statement && statement->is_kept)
            mark(guard, statement, tainted);
    }
    if (tainted->len)
        find_filled(guard, all, tainted);
    while (spread(guard, all, tainted))
        ;
    new_values(guard, all, &changed);
    for (size_t i = 0; i < found; i++) {
        struct guard_finding *finding = &guard->found.at[i];
        const struct statement *statement = statement_of(guard, all, finding->node);
        finding->excused =
            statement && statement->is_kept && !reads_any(guard, statement->node, &changed);
    }
    find_uses(guard, all, tainted);
    map_free(&changed);
}
