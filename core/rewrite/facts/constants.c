/* SPDX-License-Identifier: Apache-2.0 */
/* Finds named integers in a kernel file and changes one of them. Whether the new value makes sense
 * shows when the kernel is compiled and run. */
#include "rewrite/facts/constants.h"

#include <stdio.h>
#include <stdlib.h>

#include "rewrite/facts/inner.h"

#define MAX_CONSTANTS 400
#define MAX_TRIED 1000
#define MAX_FUNCTIONS 200
#define MAX_NODES 200000 /* of a file, which is walked for each of these names */
#define MAX_DEPTH 50     /* of expressions and of constants defined by constants */

/* ---- scopes --------------------------------------------------------------------------------- */

static const struct nki_node *scope_of(const struct nki_node *node) {
    return nki_enclosing(node, NKI_FUNCTION_DEF);
}

static bool names_global(const struct nki_node *node, struct str id) {
    bool is = node->kind == NKI_GLOBAL || node->kind == NKI_NONLOCAL;
    for (uint32_t i = 0; is && i < node->global.len; i++)
        if (str_equal(node->global.names[i], id))
            return true;
    return false;
}

/* How many times a scope binds the name itself; 2 also where something else may bind it. */
static int binds(const struct nki_tree *tree, const struct nki_node *scope, struct str id) {
    int count = 0;
    uint32_t first = scope ? scope->id + 1 : 0, last = scope ? scope->last : tree->module->last;
    for (uint32_t i = first; i <= last; i++) {
        const struct nki_node *node = tree->nodes[i];
        bool name =
            node->kind == NKI_NAME && node->context != NKI_LOAD && str_equal(node->name.id, id);
        bool other = (node->kind == NKI_FUNCTION_DEF && str_equal(node->function_def.name, id)) ||
                     (node->kind == NKI_ARG && str_equal(node->arg.name, id));
        if (names_global(node, id))
            return 2;
        count += (name || other) && scope_of(node) == scope;
    }
    return count;
}

/* Reads below a node that mean a binding outside of it. Functions that bind the name anew are left
 * out. */
static int reads_below(const struct nki_tree *tree, const struct nki_node *below, struct str id) {
    int count = 0;
    for (uint32_t i = below->id; i <= below->last; i++) {
        const struct nki_node *node = tree->nodes[i];
        if (node != below && node->kind == NKI_FUNCTION_DEF && binds(tree, node, id)) {
            i = node->last;
            continue;
        }
        count +=
            node->kind == NKI_NAME && node->context == NKI_LOAD && str_equal(node->name.id, id);
    }
    return count;
}

/* Reads in the functions that count, and in other constants. */
static int reads(const struct rewrite_constants *constants, const struct rewrite_constant *row) {
    int count = row->owner ? reads_below(constants->tree, row->owner, row->id) : 0;
    for (size_t i = 0; i < constants->functions.len && !row->owner; i++)
        if (!binds(constants->tree, constants->functions.at[i], row->id))
            count += reads_below(constants->tree, constants->functions.at[i], row->id);
    for (size_t i = 0; i < constants->all.len && !row->owner; i++)
        if (!constants->all.at[i].owner)
            count += reads_below(constants->tree, constants->all.at[i].bound_to, row->id);
    return count;
}

/* Removes code whose result is not read any more, then code that only served it. */
static void drop_unread(struct rewrite_constants *constants) {
    size_t before;
    do {
        before = constants->all.len;
        for (size_t i = 0; i < constants->all.len; i++)
            constants->all.at[i].uses = reads(constants, &constants->all.at[i]);
        size_t left = 0;
        for (size_t i = 0; i < constants->all.len; i++)
            if (constants->all.at[i].uses)
                constants->all.at[left++] = constants->all.at[i];
        constants->all.len = left;
    } while (constants->all.len < before);
}

static bool is_listed(const struct rewrite_constants *constants, const struct nki_node *function) {
    for (size_t i = 0; i < constants->functions.len; i++)
        if (constants->functions.at[i] == function)
            return true;
    return false;
}

/* Marks the functions that count: the kernel, those that it names, those that they name, and so on.
 * Where there is not exactly one kernel, every function counts. */
static void functions_find(struct rewrite_constants *constants, const struct nki_node *kernel) {
    const struct nki_tree *tree = constants->tree;
    const struct nki_list *body = &tree->module->module.body;
    if (kernel)
        *vec_push(&constants->functions) = kernel;
    for (uint32_t i = 0; i < body->len && !kernel && i < MAX_FUNCTIONS; i++)
        if (body->at[i]->kind == NKI_FUNCTION_DEF &&
            nki_find_function(tree, body->at[i]->function_def.name) == body->at[i])
            *vec_push(&constants->functions) = body->at[i];
    for (size_t i = 0; i < constants->functions.len && i < MAX_FUNCTIONS; i++) {
        const struct nki_node *function = constants->functions.at[i];
        for (uint32_t k = function->id; k <= function->last; k++) {
            const struct nki_node *node = tree->nodes[k];
            const struct nki_node *named =
                node->kind == NKI_NAME ? nki_find_function(tree, node->name.id) : NULL;
            if (named && !is_listed(constants, named))
                *vec_push(&constants->functions) = named;
        }
    }
}

/* ---- values --------------------------------------------------------------------------------- */

static const struct rewrite_constant *visible(const struct rewrite_constants *constants,
                                              const struct nki_node *owner, struct str id) {
    const struct rewrite_constant *found = NULL;
    for (size_t i = 0; i < constants->all.len; i++) {
        const struct rewrite_constant *at = &constants->all.at[i];
        if (str_equal(at->id, id) && (at->owner == owner || (!at->owner && !found)))
            found = at;
    }
    return found;
}

static bool evaluate(const struct rewrite_constants *constants, const struct nki_node *owner,
                     const struct nki_node *expr, int64_t *value, int depth);

static bool evaluate_pair(const struct rewrite_constants *constants, const struct nki_node *owner,
                          const struct nki_node *expr, int64_t *value, int depth) {
    int64_t a, b;
    if (!evaluate(constants, owner, expr->bin_op.left, &a, depth + 1) ||
        !evaluate(constants, owner, expr->bin_op.right, &b, depth + 1))
        return false;
    switch (expr->bin_op.op) {
    case NKI_ADD: *value = a + b; return true;
    case NKI_SUB: *value = a - b; return true;
    case NKI_MUL: *value = a * b; return true;
    case NKI_FLOOR_DIV: *value = b > 0 ? a / b : -1; return true;
    case NKI_SHIFT_LEFT: *value = b < 31 ? a << b : -1; return true;
    default: return false;
    }
}

/* Looks only at what stands in the source: numbers, tile sizes, constants above. */
static bool evaluate(const struct rewrite_constants *constants, const struct nki_node *owner,
                     const struct nki_node *expr, int64_t *value, int depth) {
    const struct rewrite_constant *other;
    bool known = false;
    if (depth > MAX_DEPTH)
        return false;
    switch (expr->kind) {
    case NKI_CONSTANT:
        known = expr->constant.type == NKI_CONST_INT && !expr->constant.is_big;
        *value = known ? expr->constant.integer : 0;
        break;
    case NKI_ATTRIBUTE: known = rewrite_tile_size(expr, value); break;
    case NKI_NAME:
        other = visible(constants, owner, expr->name.id);
        known = other != NULL;
        *value = other ? other->value : 0;
        break;
    case NKI_BIN_OP: known = evaluate_pair(constants, owner, expr, value, depth); break;
    default: break;
    }
    return known && *value >= 0 && *value <= REWRITE_CONSTANT_MOST;
}

/* ---- finding -------------------------------------------------------------------------------- */

static void add(struct rewrite_constants *constants, const struct nki_node *owner, struct str id,
                const struct nki_node *value) {
    const struct nki_tree *tree = constants->tree;
    struct rewrite_constant row = {.id = id, .owner = owner};
    if (constants->all.len >= MAX_CONSTANTS || constants->tried >= MAX_TRIED ||
        !evaluate(constants, owner, value, &row.value, 0))
        return;
    constants->tried++;
    if (binds(tree, owner, id) != 1)
        return;
    struct nki_span span = nki_outer_span(tree, value);
    struct str text = nki_text(tree, span);
    row.bound_to = value;
    row.span = span;
    row.text = arena_strndup(constants->arena, text.at, text.len);
    row.line = nki_place_of(tree, value->start).line;
    *vec_push(&constants->all) = row;
}

static void add_assigned(struct rewrite_constants *constants, const struct nki_node *owner,
                         const struct nki_node *target, const struct nki_node *value) {
    if (target->kind == NKI_NAME)
        add(constants, owner, target->name.id, value);
    if (target->kind != NKI_TUPLE || value->kind != NKI_TUPLE ||
        target->tuple.elts.len != value->tuple.elts.len)
        return;
    for (uint32_t i = 0; i < target->tuple.elts.len; i++)
        if (target->tuple.elts.at[i]->kind == NKI_NAME)
            add(constants, owner, target->tuple.elts.at[i]->name.id, value->tuple.elts.at[i]);
}

static void add_block(struct rewrite_constants *constants, const struct nki_node *owner,
                      const struct nki_list *body) {
    for (uint32_t i = 0; i < body->len; i++) {
        const struct nki_node *stmt = body->at[i];
        if (stmt->kind == NKI_ASSIGN && stmt->assign.targets.len == 1)
            add_assigned(constants, owner, stmt->assign.targets.at[0], stmt->assign.value);
        else if (stmt->kind == NKI_ANN_ASSIGN && stmt->ann_assign.value)
            add_assigned(constants, owner, stmt->ann_assign.target, stmt->ann_assign.value);
    }
}

struct call {
    const struct nki_input *inputs;
    size_t n; /* 0: not known */
};

/* Whether the kernel is called with a value for its parameter at this position. */
static bool is_given(const struct call *call, size_t position, struct str name) {
    for (size_t i = 0; i < call->n; i++) {
        const struct nki_input *input = &call->inputs[i];
        if (input->name ? str_is(name, input->name) : position-- == 0)
            return true;
    }
    return call->n == 0;
}

/* Defaults of a function's parameters. The task says what the kernel is called with, so of its own
 * only those count for which it gives nothing; `call` is NULL for a helper. */
static void add_defaults(struct rewrite_constants *constants, const struct nki_node *function,
                         const struct call *call) {
    const struct nki_list *args = &function->function_def.args->arguments.args;
    for (uint32_t i = 0; i < args->len; i++)
        if (args->at[i]->arg.default_value && !(call && is_given(call, i, args->at[i]->arg.name)))
            add(constants, function, args->at[i]->arg.name, args->at[i]->arg.default_value);
}

static int by_place(const void *a, const void *b) {
    const struct rewrite_constant *left = a, *right = b;
    return (left->span.start > right->span.start) - (left->span.start < right->span.start);
}

/* The name alone where no other constant has it; else with its function in front. */
static void name_all(struct rewrite_constants *constants) {
    for (size_t i = 0; i < constants->all.len; i++) {
        struct rewrite_constant *row = &constants->all.at[i];
        bool alone = true;
        for (size_t k = 0; k < constants->all.len; k++)
            alone &= k == i || !str_equal(constants->all.at[k].id, row->id);
        struct str owner = row->owner ? row->owner->function_def.name : (struct str){0};
        row->name = arena_printf(constants->arena, STR_FMT "%s" STR_FMT, alone ? 0 : (int)owner.len,
                                 owner.at ? owner.at : "", alone || !row->owner ? "" : ".",
                                 STR_ARG(row->id));
    }
}

struct rewrite_constants *rewrite_constants_find(struct str source, const char *function) {
    return rewrite_constants_called(source, function, NULL, 0);
}

struct rewrite_constants *rewrite_constants_called(struct str source, const char *function,
                                                   const struct nki_input *inputs, size_t n) {
    const struct call call = {inputs, n};
    struct rewrite_constants *constants = mem_alloc(1, sizeof *constants);
    struct diag_list ignored = {0};
    constants->arena = arena_new();
    constants->tree = nki_parse("kernel.py", source, &ignored);
    diag_free(&ignored);
    if (constants->tree->errors || constants->tree->n_nodes > MAX_NODES)
        return constants;
    struct err err = {0};
    const struct nki_node *kernel = nki_find_kernel(constants->tree, function, &err);
    functions_find(constants, kernel);
    add_block(constants, NULL, &constants->tree->module->module.body);
    for (size_t i = 0; i < constants->functions.len; i++) {
        const struct nki_node *at = constants->functions.at[i];
        add_defaults(constants, at, at == kernel ? &call : NULL);
        add_block(constants, at, &at->function_def.body);
    }
    drop_unread(constants);
    if (constants->all.len)
        qsort(constants->all.at, constants->all.len, sizeof *constants->all.at, by_place);
    name_all(constants);
    return constants;
}

void rewrite_constants_free(struct rewrite_constants *constants) {
    if (!constants)
        return;
    vec_free(&constants->all);
    vec_free(&constants->functions);
    nki_tree_free(constants->tree);
    arena_free(constants->arena);
    free(constants);
}

/* ---- using them ----------------------------------------------------------------------------- */

static bool is_called(const struct rewrite_constant *row, struct str name) {
    struct str owner = row->owner ? row->owner->function_def.name : (struct str){0};
    if (str_is(name, row->name) || str_equal(name, row->id))
        return true;
    return name.len == owner.len + 1 + row->id.len && owner.len && name.at[owner.len] == '.' &&
           !memcmp(name.at, owner.at, owner.len) && str_ends(name, row->name);
}

static const struct rewrite_constant *none(const struct rewrite_constants *constants,
                                           struct str name, struct err *err) {
    struct buf all = {0};
    for (size_t i = 0; i < constants->all.len && all.len < 200; i++)
        buf_printf(&all, "%s%s", i ? ", " : "", constants->all.at[i].name);
    err_set(err, ERR_USAGE, "the kernel has no constant \"%.*s\"; it has %s",
            (int)MIN_OF(name.len, 60), name.at, all.len ? all.at : "none that can be changed");
    buf_free(&all);
    return NULL;
}

const struct rewrite_constant *rewrite_constants_named(const struct rewrite_constants *constants,
                                                       struct str name, struct err *err) {
    const struct rewrite_constant *found = NULL;
    for (size_t i = 0; i < constants->all.len; i++) {
        const struct rewrite_constant *row = &constants->all.at[i];
        if (str_is(name, row->name))
            return row;
        if (!is_called(row, name))
            continue;
        if (found) {
            err_set(err, ERR_USAGE, "there are several constants \"%.*s\": name it as %s or %s",
                    (int)MIN_OF(name.len, 60), name.at, found->name, row->name);
            return NULL;
        }
        found = row;
    }
    return found ? found : none(constants, name, err);
}

size_t rewrite_constant_values(const struct rewrite_constant *constant,
                               int64_t values[REWRITE_CONSTANT_VALUES]) {
    size_t count = 0;
    for (int64_t part = 4; part >= 2; part /= 2)
        if (constant->value >= part && constant->value % part == 0)
            values[count++] = constant->value / part;
    for (int64_t times = 2; times <= 8; times *= 2)
        if (constant->value > 0 && constant->value * times <= REWRITE_CONSTANT_MOST)
            values[count++] = constant->value * times;
    return count;
}

void rewrite_constant_set(const struct rewrite_constant *constant, int64_t value,
                          struct nki_edits *edits) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    nki_edit_replace(edits, constant->span, str_of(text));
}
