/* SPDX-License-Identifier: Apache-2.0 */
/* Lints that hold for any Python: statements out of place or never reached, loop variables that
 * hide something, names that are used before they are assigned or defined nowhere. They report only
 * what is certain from the source. Branches and iterations are not followed. */
#include "nki/lint/rules.h"

static bool is_scope(const struct nki_node *node) {
    return node->kind == NKI_FUNCTION_DEF || node->kind == NKI_CLASS_DEF ||
           node->kind == NKI_LAMBDA;
}

static bool is_comprehension(const struct nki_node *node) {
    return node->kind == NKI_LIST_COMP || node->kind == NKI_SET_COMP ||
           node->kind == NKI_DICT_COMP || node->kind == NKI_GENERATOR_EXP;
}

/* ---- statements ---------------------------------------------------------------------------- */

/* The keyword of a statement that always leaves its block; empty for any other. */
static struct str keyword_of(const struct nki_node *node) {
    switch (node->kind) {
    case NKI_RETURN: return STR("return");
    case NKI_RAISE: return STR("raise");
    case NKI_BREAK: return STR("break");
    case NKI_CONTINUE: return STR("continue");
    default: return STR("");
    }
}

static void check_block(struct lint *lint, const struct nki_list *block) {
    for (uint32_t i = 0; i + 1 < block->len; i++) {
        struct str keyword = keyword_of(block->at[i]);
        if (!keyword.len)
            continue;
        lint_name(lint, LINT_UNREACHABLE, block->at[i + 1], keyword);
        return;
    }
}

static void check_blocks(struct lint *lint, const struct nki_node *node) {
    const struct nki_list *blocks[4];
    nki_blocks_of(node, blocks);
    for (int i = 0; i < 4 && blocks[i]; i++)
        check_block(lint, blocks[i]);
}

static void check_loop_statement(struct lint *lint, const struct nki_node *node) {
    const struct nki_node *above = node->parent;
    while (above && above->kind != NKI_FOR && above->kind != NKI_WHILE && !is_scope(above))
        above = above->parent;
    if (!above || is_scope(above))
        lint_name(lint, LINT_LOOP_OUTSIDE, node, keyword_of(node));
}

static void check_return(struct lint *lint, const struct nki_node *node) {
    if (!nki_enclosing(node, NKI_FUNCTION_DEF))
        lint_node(lint, LINT_RETURN_OUTSIDE, node);
}

static void check_assert(struct lint *lint, const struct nki_node *node) {
    const struct nki_node *test = node->assert_.test;
    if (test->kind == NKI_TUPLE && test->tuple.elts.len)
        lint_node(lint, LINT_ASSERT_TUPLE, test);
}

static bool has_parameter(const struct nki_node *function, struct str name) {
    const struct nki_list *args = &function->function_def.args->arguments.args;
    for (uint32_t i = 0; i < args->len; i++)
        if (str_equal(args->at[i]->arg.name, name))
            return true;
    return false;
}

/* Compares a name in the target of a loop with the loops and the function around it. */
static void check_loop_name(struct lint *lint, const struct nki_node *loop,
                            const struct nki_node *name) {
    const struct nki_node *above = loop->parent;
    if (str_is(name->name.id, "_"))
        return;
    for (; above && !is_scope(above); above = above->parent) {
        if (above->kind != NKI_FOR || above->for_.target->kind != NKI_NAME ||
            !str_equal(above->for_.target->name.id, name->name.id))
            continue;
        lint_name(lint, LINT_LOOP_SHADOW, name, name->name.id);
        return;
    }
    if (above && above->kind == NKI_FUNCTION_DEF && has_parameter(above, name->name.id))
        lint_name(lint, LINT_PARAMETER_SHADOW, name, name->name.id);
}

static void check_for(struct lint *lint, const struct nki_node *node) {
    const struct nki_node *target = node->for_.target;
    for (uint32_t i = target->id; i <= target->last; i++) {
        const struct nki_node *name = lint->tree->nodes[i];
        if (name->kind == NKI_NAME && name->context == NKI_STORE)
            check_loop_name(lint, node, name);
    }
}

/* ---- expressions --------------------------------------------------------------------------- */

static void check_repeated(struct lint *lint, enum lint_rule rule, const struct nki_list *list,
                           struct str (*name_of)(const struct nki_node *node)) {
    struct map seen = {0};
    for (uint32_t i = 0; list->len > 1 && i < list->len; i++) {
        struct str name = name_of(list->at[i]);
        if (!name.len)
            continue;
        if (map_find(&seen, name))
            lint_name(lint, rule, list->at[i], name);
        map_put(&seen, name);
    }
    map_free(&seen);
}

static struct str keyword_name(const struct nki_node *node) {
    return node->keyword.name;
}

static struct str arg_name(const struct nki_node *node) {
    return node->arg.name;
}

/* nl.affine_range and its kin anywhere except as the iterable of a for or a comprehension. */
static void check_range(struct lint *lint, const struct nki_node *call, struct str name) {
    static const char *const ranges[] = {"nl.affine_range", "nl.sequential_range",
                                         "nl.static_range", "nl.dynamic_range"};
    const struct nki_node *parent = call->parent;
    if ((parent->kind == NKI_FOR && parent->for_.iter == call) ||
        (parent->kind == NKI_COMPREHENSION && parent->comprehension.iter == call))
        return;
    for (size_t i = 0; i < COUNT_OF(ranges); i++)
        if (str_is(name, ranges[i]))
            lint_name(lint, LINT_RANGE_OUTSIDE, call, name);
}

/* Whether the name is the index of a loop around the node that the compiler keeps as a loop. */
static bool is_loop_index(const struct lint *lint, const struct nki_node *name) {
    const struct nki_node *loop = name->kind == NKI_NAME ? nki_enclosing(name, NKI_FOR) : NULL;
    bool found = false;
    for (; loop && !found; loop = nki_enclosing(loop, NKI_FOR)) {
        const struct nki_node *target = loop->for_.target, *iter = loop->for_.iter;
        struct buf text = {0};
        found = target->kind == NKI_NAME && str_equal(target->name.id, name->name.id) &&
                iter->kind == NKI_CALL && lint_canonical(lint, iter->call.func, &text) &&
                (str_is(buf_str(&text), "nl.affine_range") ||
                 str_is(buf_str(&text), "nl.sequential_range") || str_is(buf_str(&text), "range"));
        buf_free(&text);
    }
    return found;
}

/* mask=(i % 4) < 2: a mask is a sum of indices times constants, in the dialect that has masks. */
static void check_mask(struct lint *lint, const struct nki_node *call) {
    const struct nki_node *mask = lint->is_legacy ? nki_keyword(call, "mask") : NULL;
    for (uint32_t i = mask ? mask->id : 1; mask && i <= mask->last; i++) {
        const struct nki_node *node = lint->tree->nodes[i];
        bool divides = node->kind == NKI_BIN_OP &&
                       (node->bin_op.op == NKI_MOD || node->bin_op.op == NKI_FLOOR_DIV);
        for (uint32_t k = node->id; divides && k <= node->last; k++)
            if (is_loop_index(lint, lint->tree->nodes[k])) {
                lint_name(lint, LINT_MASK_DIVIDES, node, lint->tree->nodes[k]->name.id);
                return;
            }
    }
}

static void check_call(struct lint *lint, const struct nki_node *node) {
    struct buf name = {0};
    check_mask(lint, node);
    check_repeated(lint, LINT_REPEATED_KEYWORD, &node->call.keywords, keyword_name);
    if (lint_canonical(lint, node->call.func, &name))
        check_range(lint, node, buf_str(&name));
    buf_free(&name);
}

static bool is_literal(const struct nki_node *node) {
    return node->kind == NKI_CONSTANT && node->constant.type >= NKI_CONST_INT;
}

static void check_compare(struct lint *lint, const struct nki_node *node) {
    const struct nki_node *left = node->compare.left;
    for (uint32_t i = 0; i < node->compare.comparators.len; i++) {
        const struct nki_node *right = node->compare.comparators.at[i];
        bool is_identity =
            node->compare.ops[i] == NKI_CMP_IS || node->compare.ops[i] == NKI_CMP_IS_NOT;
        if (is_identity && (is_literal(left) || is_literal(right)))
            lint_node(lint, LINT_IS_LITERAL, node);
        left = right;
    }
}

/* Whether any name that the loop's body or header binds stands in the expression. */
static bool depends_on_round(const struct lint *lint, const struct nki_node *loop,
                             const struct nki_node *expression) {
    for (uint32_t i = expression->id; i <= expression->last; i++) {
        const struct nki_node *name = lint->tree->nodes[i];
        for (uint32_t k = loop->id; name->kind == NKI_NAME && k <= loop->last; k++) {
            const struct nki_node *bound = lint->tree->nodes[k];
            if (bound->kind == NKI_NAME && bound->context == NKI_STORE &&
                str_equal(bound->name.id, name->name.id))
                return true;
        }
    }
    return false;
}

/* The innermost loop around a node in its function, if it is over nl.affine_range. */
static const struct nki_node *affine_loop(const struct lint *lint, const struct nki_node *node) {
    const struct nki_node *loop = nki_enclosing(node, NKI_FOR);
    struct buf name = {0};
    bool affine = loop && loop->for_.iter->kind == NKI_CALL &&
                  lint_canonical(lint, loop->for_.iter->call.func, &name) &&
                  str_is(buf_str(&name), "nl.affine_range");
    buf_free(&name);
    return affine ? loop : NULL;
}

/* t[...] = f(t, ..), at the same place in each round, in the dialect whose rounds may change
 * places. t[...] += x is a sum, which may. */
static void check_carried(struct lint *lint, const struct nki_node *node) {
    const struct nki_node *target = node->assign.targets.at[0], *value = node->assign.value;
    const struct nki_node *loop = lint->is_legacy ? affine_loop(lint, node) : NULL;
    if (!loop || target->kind != NKI_SUBSCRIPT || target->subscript.value->kind != NKI_NAME ||
        depends_on_round(lint, loop, target))
        return;
    for (uint32_t i = value->id; i <= value->last; i++) {
        const struct nki_node *name = lint->tree->nodes[i];
        if (name->kind != NKI_NAME || !str_equal(name->name.id, target->subscript.value->name.id))
            continue;
        lint_name(lint, LINT_CARRIED, node, name->name.id);
        return;
    }
}

/* ---- names --------------------------------------------------------------------------------- */

/* Python's builtins and the names that every module has. */
static const char *const builtins[] = {
    "abs",
    "all",
    "any",
    "ascii",
    "bin",
    "bool",
    "breakpoint",
    "bytearray",
    "bytes",
    "callable",
    "chr",
    "classmethod",
    "compile",
    "complex",
    "delattr",
    "dict",
    "dir",
    "divmod",
    "enumerate",
    "eval",
    "exec",
    "exit",
    "filter",
    "float",
    "format",
    "frozenset",
    "getattr",
    "globals",
    "hasattr",
    "hash",
    "help",
    "hex",
    "id",
    "input",
    "int",
    "isinstance",
    "issubclass",
    "iter",
    "len",
    "list",
    "locals",
    "map",
    "max",
    "memoryview",
    "min",
    "next",
    "object",
    "oct",
    "open",
    "ord",
    "pow",
    "print",
    "property",
    "quit",
    "range",
    "repr",
    "reversed",
    "round",
    "set",
    "setattr",
    "slice",
    "sorted",
    "staticmethod",
    "str",
    "sum",
    "super",
    "tuple",
    "type",
    "vars",
    "zip",
    "NotImplemented",
    "Ellipsis",
};

static bool is_python_name(struct str name) {
    for (size_t i = 0; i < COUNT_OF(builtins); i++)
        if (str_is(name, builtins[i]))
            return true;
    return str_starts(name, "__") || str_ends(name, "Error") || str_ends(name, "Exception") ||
           str_ends(name, "Warning") || str_is(name, "StopIteration") ||
           str_is(name, "KeyboardInterrupt") || str_is(name, "SystemExit");
}

static void check_defined(struct lint *lint, const struct nki_node *node) {
    if (node->context != NKI_LOAD || !lint_is_builtin(lint, node->name.id) ||
        is_python_name(node->name.id))
        return;
    lint_name(lint, LINT_UNDEFINED, node, node->name.id);
    map_put(&lint->bound, node->name.id); /* report each name once */
}

/* Where a store takes effect: that of an assignment after its value, any other at its own place. */
static uint32_t effect_of(const struct nki_node *name) {
    const struct nki_node *stmt = nki_statement_of(name);
    if (stmt->kind == NKI_ASSIGN || stmt->kind == NKI_ANN_ASSIGN || stmt->kind == NKI_AUG_ASSIGN)
        return stmt->end;
    return name->parent->kind == NKI_NAMED_EXPR ? name->parent->end : name->start;
}

static void note_binding(struct map *locals, struct str name, uint32_t at) {
    struct map_entry *entry = map_put(locals, name);
    uintptr_t before = (uintptr_t)entry->value;
    if (!before || before > at + 1u)
        entry->value = (void *)(uintptr_t)(at + 1u); /* 0 means absent */
}

static struct str bound_name(const struct nki_node *node) {
    switch (node->kind) {
    case NKI_FUNCTION_DEF: return node->function_def.name;
    case NKI_CLASS_DEF: return node->class_def.name;
    case NKI_EXCEPT_HANDLER: return node->except_handler.name;
    case NKI_ALIAS: {
        struct str name = node->alias.asname.len ? node->alias.asname : node->alias.name;
        const char *dot = memchr(name.at, '.', name.len);
        return (struct str){name.at, dot ? (size_t)(dot - name.at) : name.len};
    }
    default: return STR("");
    }
}

/* The first place where each local name of the function gets a value. Parameters and names of other
 * scopes have the place 0. */
static void collect_locals(const struct lint *lint, const struct nki_node *function,
                           struct map *locals) {
    for (uint32_t i = function->id + 1; i <= function->last; i++) {
        const struct nki_node *node = lint->tree->nodes[i];
        struct str name = bound_name(node);
        if (name.len)
            note_binding(locals, name, node->start);
        if (node->kind == NKI_NAME && node->context == NKI_STORE)
            note_binding(locals, node->name.id, effect_of(node));
        else if (node->kind == NKI_ARG)
            note_binding(locals, node->arg.name, 0);
        else if (node->kind == NKI_GLOBAL || node->kind == NKI_NONLOCAL)
            for (uint32_t j = 0; j < node->global.len; j++)
                note_binding(locals, node->global.names[j], 0);
        if (is_scope(node) || is_comprehension(node))
            i = node->last;
    }
}

/* Whether a loop of the function holds both the use and the first assignment. Then an earlier
 * iteration may have assigned the name. */
static bool shares_loop(const struct nki_node *use, const struct nki_node *function,
                        uint32_t first) {
    for (const struct nki_node *above = use->parent; above != function; above = above->parent)
        if ((above->kind == NKI_FOR || above->kind == NKI_WHILE) && first <= above->end)
            return true;
    return false;
}

static void check_use(struct lint *lint, const struct nki_node *function,
                      const struct nki_node *name, const struct map *locals) {
    uintptr_t first = (uintptr_t)map_get(locals, name->name.id);
    bool is_augmented = name->parent->kind == NKI_AUG_ASSIGN && name->context == NKI_STORE;
    if (name->context != NKI_LOAD && !is_augmented)
        return;
    if (first && name->start < first - 1 && !shares_loop(name, function, (uint32_t)(first - 1)))
        lint_name(lint, LINT_UNASSIGNED, name, name->name.id);
}

static void check_function(struct lint *lint, const struct nki_node *function) {
    struct map locals = {0};
    uint32_t body = function->function_def.body.len ? function->function_def.body.at[0]->id
                                                    : function->last + 1;
    check_repeated(lint, LINT_REPEATED_PARAMETER, &function->function_def.args->arguments.args,
                   arg_name);
    collect_locals(lint, function, &locals);
    for (uint32_t i = body; i <= function->last; i++) {
        const struct nki_node *node = lint->tree->nodes[i];
        if (node->kind == NKI_NAME)
            check_use(lint, function, node, &locals);
        if (is_scope(node) || is_comprehension(node))
            i = node->last;
    }
    map_free(&locals);
}

/* ---- all of them --------------------------------------------------------------------------- */

typedef void (*check_fn)(struct lint *lint, const struct nki_node *node);
static const check_fn checks[NKI_KIND_COUNT] = {
    [NKI_RETURN] = check_return,
    [NKI_BREAK] = check_loop_statement,
    [NKI_CONTINUE] = check_loop_statement,
    [NKI_ASSERT] = check_assert,
    [NKI_FOR] = check_for,
    [NKI_ASSIGN] = check_carried,
    [NKI_CALL] = check_call,
    [NKI_COMPARE] = check_compare,
    [NKI_NAME] = check_defined,
    [NKI_FUNCTION_DEF] = check_function,
};

void lint_flow(struct lint *lint) {
    for (uint32_t i = 0; i < lint->tree->n_nodes; i++) {
        const struct nki_node *node = lint->tree->nodes[i];
        if (checks[node->kind])
            checks[node->kind](lint, node);
        if (!nki_is_expression(node))
            check_blocks(lint, node);
    }
}
