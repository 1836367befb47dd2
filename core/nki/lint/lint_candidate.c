/* SPDX-License-Identifier: Apache-2.0 */
/* The rules for a kernel that somebody proposed, from its source: it keeps to the list of what it
 * may name and reach (guard.c), and it does not use that to cheat: by keeping state, or by treating
 * one shape or some contents in another way. This is no sandbox. Behind it are the runner's wall,
 * the data flow of the program (facts.c) and the verdict. What the original kernel does is its
 * owner's business. */
#include "nki/lint/guard.h"

#include <stdio.h>

/* ---- state ---------------------------------------------------------------------------------- */

static void check_global(struct lint *lint, const struct nki_node *node) {
    for (uint32_t i = 0; i < node->global.len; i++)
        lint_name(lint, LINT_C_GLOBAL, node, node->global.names[i]);
}

/* A list or dict as a default value lives from one call to the next. */
static void check_arg(struct lint *lint, const struct nki_node *node) {
    const struct nki_node *value = node->arg.default_value;
    if (value && (value->kind == NKI_DICT || value->kind == NKI_LIST || value->kind == NKI_SET))
        lint_name(lint, LINT_C_GLOBAL, node, node->arg.name);
}

/* Whether a value may change while its name stays. */
static bool is_mutable(const struct nki_node *value) {
    return value && value->kind != NKI_CONSTANT && value->kind != NKI_ATTRIBUTE &&
           value->kind != NKI_NAME && value->kind != NKI_BIN_OP && value->kind != NKI_UNARY_OP &&
           value->kind != NKI_TUPLE;
}

static bool has_name(const struct nki_list *targets, struct str id) {
    for (uint32_t i = 0; i < targets->len; i++)
        if (targets->at[i]->kind == NKI_NAME && str_equal(targets->at[i]->name.id, id))
            return true;
    return false;
}

/* Whether the module itself binds the name to something that can be filled. */
static bool is_of_module(const struct lint *lint, struct str id) {
    const struct nki_list *body = &lint->tree->module->module.body;
    for (uint32_t i = 0; i < body->len; i++) {
        const struct nki_node *node = body->at[i];
        if (node->kind == NKI_ASSIGN && is_mutable(node->assign.value) &&
            has_name(&node->assign.targets, id))
            return true;
        if (node->kind == NKI_ANN_ASSIGN && is_mutable(node->ann_assign.value) &&
            node->ann_assign.target->kind == NKI_NAME &&
            str_equal(node->ann_assign.target->name.id, id))
            return true;
    }
    return false;
}

/* Whether a function around the place binds the name. */
static bool is_local(const struct lint *lint, const struct nki_node *name) {
    const struct nki_node *at = nki_enclosing(name, NKI_FUNCTION_DEF);
    for (; at; at = nki_enclosing(at, NKI_FUNCTION_DEF))
        for (uint32_t i = at->id; i <= at->last; i++) {
            const struct nki_node *node = lint->tree->nodes[i];
            if ((node->kind == NKI_ARG && str_equal(node->arg.name, name->name.id)) ||
                (node->kind == NKI_NAME && node->context == NKI_STORE &&
                 str_equal(node->name.id, name->name.id)))
                return true;
        }
    return false;
}

/* KEPT[0] = .., KEPT.append(..), or another name for it. */
static bool may_fill(const struct nki_node *name) {
    static const char *const fills[] = {"append", "appendleft", "extend",     "extendleft",
                                        "insert", "update",     "add",        "setdefault",
                                        "pop",    "popleft",    "popitem",    "clear",
                                        "remove", "discard",    "move_to_end"};
    const struct nki_node *up = name->parent;
    if (up->kind == NKI_SUBSCRIPT && up->subscript.value == name)
        return up->context != NKI_LOAD;
    if (up->kind == NKI_ASSIGN)
        return up->assign.value == name;
    for (size_t i = 0; up->kind == NKI_ATTRIBUTE && i < COUNT_OF(fills); i++)
        if (str_is(up->attribute.attr, fills[i]))
            return true;
    return false;
}

/* A list or dict of the module that a function fills lives from one call to the next. */
static void check_name(struct lint *lint, const struct nki_node *node) {
    if (node->context == NKI_LOAD && may_fill(node) && nki_enclosing(node, NKI_FUNCTION_DEF) &&
        !is_local(lint, node) && is_of_module(lint, node->name.id))
        lint_name(lint, LINT_C_GLOBAL, node, node->name.id);
}

/* ---- decorators ----------------------------------------------------------------------------- */

static bool is_own_function(const struct lint *lint, struct str id) {
    const struct nki_list *body = &lint->tree->module->module.body;
    for (uint32_t i = 0; i < body->len; i++)
        if (body->at[i]->kind == NKI_FUNCTION_DEF && str_equal(body->at[i]->function_def.name, id))
            return true;
    return false;
}

/* What decorates a function may put another one in its place: then not what was checked runs. */
static void check_decorators(struct lint *lint, const struct nki_node *function) {
    const struct nki_list *all = &function->function_def.decorators;
    for (uint32_t i = 0; i < all->len; i++) {
        const struct nki_node *node = all->at[i];
        const struct nki_node *named = node->kind == NKI_CALL ? node->call.func : node;
        bool is_plain = named->kind == NKI_ATTRIBUTE || named->kind == NKI_NAME;
        if (!is_plain || (named->kind == NKI_NAME && is_own_function(lint, named->name.id)))
            lint_name(lint, LINT_C_USE, node, nki_node_text(lint->tree, node));
    }
}

/* ---- tests ---------------------------------------------------------------------------------- */

static bool is_shape(const struct nki_node *node) {
    return node->kind == NKI_ATTRIBUTE && str_is(node->attribute.attr, "shape");
}

/* A tuple or list of numbers, or a collection of such. */
static bool is_literal_shape(const struct nki_node *node) {
    if (node->kind == NKI_DICT)
        return true;
    if (node->kind != NKI_TUPLE && node->kind != NKI_LIST && node->kind != NKI_SET)
        return false;
    const struct nki_list *elts = node->kind == NKI_TUPLE ? &node->tuple.elts : &node->list.elts;
    bool is_literal = elts->len > 0;
    for (uint32_t i = 0; i < elts->len; i++)
        is_literal &= elts->at[i]->kind == NKI_CONSTANT || is_literal_shape(elts->at[i]);
    return is_literal;
}

static bool is_exact_shape(const struct nki_node *compare) {
    const struct nki_node *left = compare->compare.left;
    for (uint32_t i = 0; i < compare->compare.comparators.len; i++) {
        const struct nki_node *right = compare->compare.comparators.at[i];
        if ((is_shape(left) && is_literal_shape(right)) ||
            (is_shape(right) && is_literal_shape(left)))
            return true;
        left = right;
    }
    return false;
}

/* Whether the file asks the name for its shape. Then it is a tensor, and neither a tuple nor a
 * number. */
static bool has_shape(const struct lint *lint, struct str name) {
    for (uint32_t i = 0; i < lint->tree->n_nodes; i++) {
        const struct nki_node *node = lint->tree->nodes[i];
        if (is_shape(node) && node->attribute.value->kind == NKI_NAME &&
            str_equal(node->attribute.value->name.id, name))
            return true;
    }
    return false;
}

static bool is_parameter(const struct nki_node *node) {
    const struct nki_node *function = nki_enclosing(node, NKI_FUNCTION_DEF);
    const struct nki_list *args = function ? &function->function_def.args->arguments.args : NULL;
    for (uint32_t i = 0; args && i < args->len; i++)
        if (str_equal(args->at[i]->arg.name, node->name.id))
            return true;
    return false;
}

static bool is_tensor(const struct lint *lint, const struct nki_node *node) {
    return node->kind == NKI_NAME && is_parameter(node) && has_shape(lint, node->name.id);
}

/* str(x), float(x), id(x): an input as something that a test can look at. */
static bool asks_input(const struct lint *lint, const struct nki_node *node) {
    static const char *const asks[] = {"str",   "repr", "format", "bool", "int",
                                       "float", "hash", "ascii",  "list", "any",
                                       "all",   "sum",  "min",    "max",  "id"};
    const struct nki_list *args = node->kind == NKI_CALL ? &node->call.args : NULL;
    if (!args || !args->len || node->call.func->kind != NKI_NAME || !is_tensor(lint, args->at[0]))
        return false;
    for (size_t i = 0; i < COUNT_OF(asks); i++)
        if (str_is(node->call.func->name.id, asks[i]))
            return true;
    return false;
}

static void check_test(struct lint *lint, const struct nki_node *test) {
    for (uint32_t i = test->id; i <= test->last; i++) {
        const struct nki_node *node = lint->tree->nodes[i];
        if (asks_input(lint, node))
            lint_name(lint, LINT_C_CONTENT, node, node->call.args.at[0]->name.id);
        if (node->kind == NKI_COMPARE && is_exact_shape(node))
            lint_name(lint, LINT_C_SHAPE, node, nki_node_text(lint->tree, node));
        if (node->kind != NKI_SUBSCRIPT || node->subscript.value->kind != NKI_NAME)
            continue;
        const struct nki_node *name = node->subscript.value;
        if (is_parameter(name) && has_shape(lint, name->name.id))
            lint_name(lint, LINT_C_CONTENT, node, name->name.id);
    }
}

static void check_if(struct lint *lint, const struct nki_node *node) {
    check_test(lint, node->if_.test);
}

static void check_while(struct lint *lint, const struct nki_node *node) {
    check_test(lint, node->while_.test);
}

static void check_if_exp(struct lint *lint, const struct nki_node *node) {
    check_test(lint, node->if_exp.test);
}

/* Whether a pattern takes one shape only: (128, 512), or such among others. */
static bool is_exact_pattern(const struct nki_node *pattern) {
    while (pattern->kind == NKI_MATCH_AS && pattern->match_as.pattern)
        pattern = pattern->match_as.pattern;
    if (pattern->kind == NKI_MATCH_VALUE)
        return pattern->match_value.value->kind == NKI_CONSTANT;
    if (pattern->kind != NKI_MATCH_SEQUENCE && pattern->kind != NKI_MATCH_OR)
        return false;
    bool is_or = pattern->kind == NKI_MATCH_OR, all = true, any = false;
    const struct nki_list *list = &pattern->match_list.patterns;
    for (uint32_t i = 0; i < list->len; i++) {
        bool is = is_exact_pattern(list->at[i]);
        all &= is;
        any |= is;
    }
    return is_or ? any : all && list->len;
}

static void check_match(struct lint *lint, const struct nki_node *node) {
    check_test(lint, node->match.subject);
    for (uint32_t i = 0; i < node->match.cases.len; i++) {
        const struct nki_node *each = node->match.cases.at[i];
        if (each->kind != NKI_MATCH_CASE)
            continue;
        const struct nki_node *pattern = each->match_case.pattern;
        if (is_shape(node->match.subject) && is_exact_pattern(pattern))
            lint_name(lint, LINT_C_SHAPE, pattern, nki_node_text(lint->tree, pattern));
        if (each->match_case.guard)
            check_test(lint, each->match_case.guard);
    }
}

/* A table that is looked up by the whole shape: {(4096, 4096): ...}[x.shape]. */
static void check_subscript(struct lint *lint, const struct nki_node *node) {
    if (is_shape(node->subscript.slice))
        lint_name(lint, LINT_C_SHAPE, node, nki_node_text(lint->tree, node));
}

/* ---- all of them ---------------------------------------------------------------------------- */

typedef void (*check_fn)(struct lint *lint, const struct nki_node *node);
static const check_fn checks[NKI_KIND_COUNT] = {
    [NKI_GLOBAL] = check_global, [NKI_ARG] = check_arg,       [NKI_IF] = check_if,
    [NKI_MATCH] = check_match,   [NKI_NAME] = check_name,     [NKI_FUNCTION_DEF] = check_decorators,
    [NKI_WHILE] = check_while,   [NKI_IF_EXP] = check_if_exp, [NKI_SUBSCRIPT] = check_subscript,
};

static const char *const narrow[] = {
    "bfloat16",         "float16",     "half",           "tfloat32",         "float8_e4m3",
    "float8_e4m3fn",    "float8_e5m2", "float8_e8m0fnu", "float8_e4m3fn_x4", "float8_e5m2_x4",
    "float4_e2m1fn_x4",
};

static void check_type(struct lint *lint, const struct nki_node *node) {
    struct str name = {0};
    if (node->kind == NKI_ATTRIBUTE)
        name = node->attribute.attr;
    else if (node->kind == NKI_CONSTANT && node->constant.type == NKI_CONST_STRING)
        name = node->constant.text;
    for (size_t i = 0; i < COUNT_OF(narrow); i++)
        if (str_is(name, narrow[i]))
            lint_name(lint, LINT_C_NARROW, node, name);
}

static void find(const struct nki_tree *tree, const struct nki_candidate_options *options,
                 struct diag_list *diags) {
    struct nki_lint_options none = {0};
    struct lint lint = {.tree = tree, .options = &none, .diags = diags};
    for (uint32_t i = 0; i < tree->n_nodes; i++) {
        const struct nki_node *node = tree->nodes[i];
        if (checks[node->kind])
            checks[node->kind](&lint, node);
        if (options->looks_for_types)
            check_type(&lint, node);
    }
}

static void check_dialect(const struct nki_tree *tree, const struct nki_tree *original,
                          struct diag_list *diags) {
    struct nki_dialect_info now = nki_detect_dialect(tree), was = nki_detect_dialect(original);
    struct lint lint = {.tree = tree, .diags = diags};
    if (now.dialect == NKI_DIALECT_UNKNOWN || was.dialect == NKI_DIALECT_UNKNOWN ||
        now.dialect == was.dialect)
        return;
    const char *name =
        now.dialect == NKI_DIALECT_LEGACY ? "the legacy package neuronxcc.nki" : "the package nki";
    lint_report(&lint, LINT_C_DIALECT, now.seen, (struct lint_detail){.name = str_of(name)});
}

/* What identifies a finding: its code and message, without its place. */
static void key_print(struct buf *out, const struct diag *diag) {
    buf_clear(out);
    buf_printf(out, "%s %s", diag->code, diag->message);
}

/* Takes the findings that the original does not have. */
static void take_new(const struct diag_list *found, const struct diag_list *before,
                     struct diag_list *diags) {
    struct map known = {0};
    struct buf key = {0};
    for (size_t i = 0; i < before->all.len; i++) {
        key_print(&key, &before->all.at[i]);
        map_put(&known, buf_str(&key));
    }
    for (size_t i = 0; i < found->all.len; i++) {
        const struct diag *diag = &found->all.at[i];
        key_print(&key, diag);
        if (map_find(&known, buf_str(&key)))
            continue;
        diag_copy(diags, diag);
    }
    map_free(&known);
    buf_free(&key);
}

/* Names that are not there are told by the list. */
static void find_errors(const struct nki_tree *tree, const char *release, struct diag_list *diags) {
    size_t count;
    const char *unknown = nki_lint_rules(&count)[LINT_UNKNOWN].code;
    struct diag_list all = {0};
    struct nki_lint_options options = {.release = release};
    nki_lint(tree, &options, &all);
    for (size_t i = 0; i < all.all.len; i++)
        if (all.all.at[i].severity == DIAG_ERROR && strcmp(all.all.at[i].code, unknown) != 0)
            diag_copy(diags, &all.all.at[i]);
    diag_free(&all);
}

/* ---- the list ------------------------------------------------------------------------------- */

static void report(struct lint *lint, const struct guard_finding *finding) {
    const struct nki_node *node = finding->node;
    struct nki_span span = nki_span_of(node);
    if (node->kind == NKI_ATTRIBUTE) /* a chain may span many lines; this is the part in question */
        span = node->attribute.attr_span;
    char hint[100];
    snprintf(hint, sizeof hint, "did you mean '%.60s'?", finding->near ? finding->near : "");
    lint_report(lint, finding->rule, span,
                (struct lint_detail){.name = finding->name, .hint = finding->near ? hint : NULL});
}

static bool helpers_are_whole(const struct guard_files *files) {
    for (size_t i = 0; i < files->all.len; i++)
        if (!files->all.at[i]->tree || files->all.at[i]->tree->errors)
            return false;
    return true;
}

/* Finds what the file does beyond the list. Findings that `original` has too are excused where the
 * candidate has them unchanged. False when a file that it imports cannot be read as Python: then
 * much of what was found is about names of that file. */
static bool find_beyond(const struct nki_tree *tree, const struct nki_tree *original,
                        const struct nki_candidate_options *options, struct diag_list *diags) {
    struct nki_lint_options none = {0};
    struct lint lint = {.tree = tree, .options = &none, .diags = diags};
    struct guard_files files = {.kernel = options->path, .reference = options->reference};
    struct guard guard = {.tree = tree,
                          .original = original,
                          .release = options->release,
                          .generation = options->generation,
                          .files = &files,
                          .path = options->path};
    struct map tainted = {0};
    guard_run(&guard);
    if (original && !original->errors)
        guard_excuse(&guard, &tainted);
    for (size_t i = 0; i < guard.found.len; i++)
        if (!guard.found.at[i].excused)
            report(&lint, &guard.found.at[i]);
    bool whole = helpers_are_whole(&files);
    map_free(&tainted);
    guard_free(&guard);
    guard_files_free(&files);
    return whole;
}

void nki_lint_beyond(const struct nki_tree *tree, const struct nki_candidate_options *options,
                     struct diag_list *diags) {
    size_t first = diags->all.len;
    struct diag_list found = {0};
    if (tree->errors)
        return;
    if (find_beyond(tree, NULL, options, &found))
        for (size_t i = 0; i < found.all.len; i++)
            diag_copy(diags, &found.all.at[i]);
    diag_free(&found);
    nki_sort_findings(diags, first);
}

static void add_beyond(const struct nki_tree *tree, const struct nki_candidate_options *options,
                       struct diag_list *diags) {
    struct diag_list found = {0}, before = {0};
    const struct nki_tree *original = options->original;
    bool is_allowed = options->allows_original && original && !original->errors;
    (void)find_beyond(tree, is_allowed ? NULL : original, options, &found);
    if (is_allowed)
        (void)find_beyond(original, NULL, options, &before);
    take_new(&found, &before, diags);
    diag_free(&found);
    diag_free(&before);
}

void nki_lint_candidate(const struct nki_tree *tree, const struct nki_candidate_options *options,
                        struct diag_list *diags) {
    const struct nki_tree *original = options->original;
    struct diag_list found = {0}, before = {0};
    size_t first = diags->all.len;
    if (tree->errors)
        return;
    add_beyond(tree, options, diags);
    find(tree, options, &found);
    find_errors(tree, options->release, &found);
    if (original && !original->errors) {
        if (!options->any_dialect)
            check_dialect(tree, original, diags);
        find(original, options, &before);
        find_errors(original, options->release, &before);
    }
    take_new(&found, &before, diags);
    nki_sort_findings(diags, first);
    diag_free(&found);
    diag_free(&before);
}
