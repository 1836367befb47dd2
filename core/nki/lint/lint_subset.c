/* SPDX-License-Identifier: Apache-2.0 */
/* What the NKI compiler's front end (NKI 0.6, parser) refuses, node by node. Sources: the NKI
 * language guide and the rules of the open-source front end. */
#include "nki/release/release.h"
#include "nki/lint/rules.h"

/* Kinds that are refused wherever they stand. Lists may be comprehensions: the migration guide
 * writes rotating buffers as such, and published kernels do. */
static const struct {
    enum nki_kind kind;
    enum lint_rule rule;
} refused[] = {
    {NKI_LAMBDA, LINT_S_LAMBDA},
    {NKI_SET_COMP, LINT_S_COMPREHENSION},
    {NKI_DICT_COMP, LINT_S_COMPREHENSION},
    {NKI_GENERATOR_EXP, LINT_S_COMPREHENSION},
    {NKI_SET, LINT_S_SET},
    {NKI_NAMED_EXPR, LINT_S_WALRUS},
    {NKI_AWAIT, LINT_S_ASYNC},
    {NKI_YIELD, LINT_S_ASYNC},
    {NKI_YIELD_FROM, LINT_S_ASYNC},
    {NKI_STARRED, LINT_S_STAR},
    {NKI_DELETE, LINT_S_DELETE},
    {NKI_RAISE, LINT_S_RAISE},
    {NKI_TRY, LINT_S_TRY},
    {NKI_MATCH, LINT_S_MATCH},
    {NKI_IMPORT, LINT_S_IMPORT},
    {NKI_IMPORT_FROM, LINT_S_IMPORT},
    {NKI_GLOBAL, LINT_S_GLOBAL},
    {NKI_NONLOCAL, LINT_S_GLOBAL},
};

static const char *const missing_builtins[] = {
    "all",       "any",     "bytes",   "callable", "chr",      "enumerate", "filter", "format",
    "frozenset", "getattr", "hasattr", "hash",     "id",       "iter",      "map",    "next",
    "open",      "ord",     "pow",     "repr",     "reversed", "round",     "set",    "setattr",
    "sorted",    "sum",     "super",   "vars",     "zip",
};

static struct str last_part(struct str dotted) {
    for (size_t i = dotted.len; i > 0; i--)
        if (dotted.at[i - 1] == '.')
            return (struct str){dotted.at + i, dotted.len - i};
    return dotted;
}

static bool is_canonical(const struct lint *lint, const struct nki_node *node,
                         const char *expected) {
    struct buf name = {0};
    bool is_it = lint_canonical(lint, node, &name) && str_is(buf_str(&name), expected);
    buf_free(&name);
    return is_it;
}

/* Whether the release has the rule, or, where strict is asked for, an older one has it. */
static bool refuses(const struct lint *lint, enum nki_rule rule) {
    return lint_rule(lint, rule) || (lint->options->strict && !lint_rule(lint, NKI_RULE_SUBSET));
}

/* ---- functions ----------------------------------------------------------------------------- */

static void check_decorators(struct lint *lint, const struct nki_node *function) {
    static const char *const known[] = {"jit", "staticmethod", "dataclass", "nki_jit"};
    const struct nki_list *list = &function->function_def.decorators;
    for (uint32_t i = 0; i < list->len; i++) {
        const struct nki_node *node = list->at[i];
        struct buf name = {0};
        bool is_known = false;
        if (nki_dotted_name(node->kind == NKI_CALL ? node->call.func : node, &name))
            for (size_t j = 0; j < COUNT_OF(known); j++)
                is_known |= str_is(last_part(buf_str(&name)), known[j]);
        if (!is_known)
            lint_name(lint, LINT_S_DECORATOR, node, nki_node_text(lint->tree, node));
        buf_free(&name);
    }
}

static void check_parameters(struct lint *lint, const struct nki_node *function) {
    const struct nki_list *args = &function->function_def.args->arguments.args;
    bool is_kernel = function == lint->options->kernel || nki_kernel_decorator(function);
    for (uint32_t i = 0; i < args->len; i++) {
        const struct nki_node *arg = args->at[i];
        if (arg->arg.form == NKI_ARG_STAR)
            lint_name(lint, LINT_S_VARARGS, arg, arg->arg.name);
        else if (arg->arg.form == NKI_ARG_DOUBLE_STAR)
            lint_name(lint, LINT_S_KWARGS, arg, arg->arg.name);
        else if (arg->arg.form == NKI_ARG_KEYWORD_ONLY && is_kernel &&
                 refuses(lint, NKI_RULE_SIGNATURE)) {
            lint_name(lint, LINT_S_KERNEL_STAR, arg, arg->arg.name);
            return;
        }
    }
}

static void check_function(struct lint *lint, const struct nki_node *node) {
    if (node->function_def.is_async)
        lint_node(lint, LINT_S_ASYNC, node);
    if (nki_enclosing(node, NKI_FUNCTION_DEF) &&
        !(lint_rule(lint, NKI_RULE_LOOP_FUNCTIONS) &&
          map_find(&lint->loop_bodies, node->function_def.name)))
        lint_report(lint, LINT_S_INNER_DEF, node->function_def.name_span,
                    (struct lint_detail){.name = node->function_def.name});
    check_decorators(lint, node);
    check_parameters(lint, node);
}

/* NKI 0.3 to 0.6: tests against None are accepted in practice. */
static bool is_none(const struct nki_node *node) {
    return node->kind == NKI_CONSTANT && node->constant.type == NKI_CONST_NONE;
}

static void check_identity(struct lint *lint, const struct nki_node *node) {
    const struct nki_node *left = node->compare.left;
    for (uint32_t i = 0; i < node->compare.comparators.len; i++) {
        const struct nki_node *right = node->compare.comparators.at[i];
        enum nki_comparison op = node->compare.ops[i];
        if ((op == NKI_CMP_IS || op == NKI_CMP_IS_NOT) && !is_none(left) && !is_none(right) &&
            refuses(lint, NKI_RULE_IDENTITY))
            lint_name(lint, LINT_S_IDENTITY, node, str_of(nki_comparison_text(op)));
        left = right;
    }
}

/* ---- statements ---------------------------------------------------------------------------- */

static void check_for(struct lint *lint, const struct nki_node *node) {
    if (node->for_.is_async)
        lint_node(lint, LINT_S_ASYNC, node);
    if (node->for_.target->kind != NKI_NAME)
        lint_node(lint, LINT_S_FOR_TARGET, node->for_.target);
    if (node->for_.orelse.len)
        lint_node(lint, LINT_S_LOOP_ELSE, node->for_.orelse.at[0]);
}

static void check_while(struct lint *lint, const struct nki_node *node) {
    if (node->while_.orelse.len)
        lint_node(lint, LINT_S_LOOP_ELSE, node->while_.orelse.at[0]);
}

static void check_with(struct lint *lint, const struct nki_node *node) {
    const struct nki_node *item = node->with_.items.at[0];
    const struct nki_node *call = item->with_item.context_expr;
    bool is_known = node->with_.items.len == 1 && !item->with_item.optional_vars &&
                    call->kind == NKI_CALL && !call->call.args.len && !call->call.keywords.len &&
                    is_canonical(lint, call->call.func, "nl.no_reorder");
    if (!is_known || node->with_.is_async)
        lint_node(lint, LINT_S_WITH, item);
}

static void check_class(struct lint *lint, const struct nki_node *node) {
    if (nki_enclosing(node, NKI_FUNCTION_DEF))
        lint_node(lint, LINT_S_CLASS, node);
}

static bool is_class_base(const struct nki_node *base) {
    struct buf name = {0};
    bool is_it = false;
    if (nki_dotted_name(base, &name)) {
        struct str last = last_part(buf_str(&name));
        is_it = str_is(last, "NKIObject") || str_is(last, "Enum") || str_is(last, "NamedTuple");
    }
    buf_free(&name);
    return is_it;
}

void lint_strict_class(struct lint *lint, const struct nki_node *node) {
    const struct nki_list *body = &node->class_def.body;
    if (node->class_def.bases.len != 1 || node->class_def.keywords.len ||
        !is_class_base(node->class_def.bases.at[0]))
        lint_report(lint, LINT_S_CLASS_BASE, node->class_def.name_span,
                    (struct lint_detail){.name = node->class_def.name});
    for (uint32_t i = 0; i < body->len; i++) {
        enum nki_kind kind = body->at[i]->kind;
        if (kind != NKI_EXPR && kind != NKI_PASS && kind != NKI_ASSIGN && kind != NKI_ANN_ASSIGN &&
            kind != NKI_FUNCTION_DEF)
            lint_node(lint, LINT_S_CLASS_BODY, body->at[i]);
    }
}

/* ---- expressions --------------------------------------------------------------------------- */

static void check_bin_op(struct lint *lint, const struct nki_node *node) {
    if (node->bin_op.op == NKI_MATMUL)
        lint_report(lint, LINT_S_MATMUL, node->bin_op.op_span, (struct lint_detail){0});
}

static void check_aug_assign(struct lint *lint, const struct nki_node *node) {
    if (node->aug_assign.op == NKI_MATMUL)
        lint_node(lint, LINT_S_MATMUL, node);
}

static void check_compare(struct lint *lint, const struct nki_node *node) {
    check_identity(lint, node);
    for (uint32_t i = 0; node->compare.comparators.len > 1 && i < node->compare.comparators.len;
         i++) {
        enum nki_comparison op = node->compare.ops[i];
        if (op == NKI_CMP_IN || op == NKI_CMP_NOT_IN)
            lint_name(lint, LINT_S_CHAINED_IN, node, str_of(nki_comparison_text(op)));
    }
}

static bool is_range(struct str name) {
    static const char *const ranges[] = {"range",           "nl.range",
                                         "nl.affine_range", "nl.sequential_range",
                                         "nl.static_range", "nl.dynamic_range"};
    for (size_t i = 0; i < COUNT_OF(ranges); i++)
        if (str_is(name, ranges[i]))
            return true;
    return false;
}

static void check_call(struct lint *lint, const struct nki_node *node) {
    struct buf name = {0};
    uint32_t args = node->call.args.len, keywords = node->call.keywords.len;
    if (lint_canonical(lint, node->call.func, &name) && is_range(buf_str(&name)) &&
        (keywords || args < 1 || args > 3))
        lint_name(lint, LINT_S_RANGE, node, buf_str(&name));
    for (size_t i = 0; name.at && i < COUNT_OF(missing_builtins); i++)
        if (str_is(buf_str(&name), missing_builtins[i]) && lint_is_builtin(lint, buf_str(&name)))
            lint_name(lint, LINT_S_BUILTIN, node->call.func, buf_str(&name));
    buf_free(&name);
}

static void check_keyword(struct lint *lint, const struct nki_node *node) {
    if (!node->keyword.name.len)
        lint_node(lint, LINT_S_DOUBLE_STAR, node);
}

static void check_dict(struct lint *lint, const struct nki_node *node) {
    for (uint32_t i = 0; i < node->dict.keys.len; i++) {
        const struct nki_node *key = node->dict.keys.at[i];
        if (!key)
            lint_node(lint, LINT_S_DOUBLE_STAR, node->dict.values.at[i]);
        else if (key->kind == NKI_TUPLE ||
                 (key->kind == NKI_CONSTANT && key->constant.type != NKI_CONST_STRING))
            lint_node(lint, LINT_S_DICT_KEY, key);
    }
}

static void check_formatted(struct lint *lint, const struct nki_node *node) {
    if (node->formatted_value.format_spec)
        lint_node(lint, LINT_S_FORMAT_SPEC, node);
}

static void check_constant(struct lint *lint, const struct nki_node *node) {
    bool is_negative =
        node->parent->kind == NKI_UNARY_OP && node->parent->unary_op.op == NKI_UNARY_MINUS;
    if (node->constant.type == NKI_CONST_INT &&
        node->constant.integer > (int64_t)INT32_MAX + is_negative)
        lint_name(lint, LINT_S_INT32, node, nki_node_text(lint->tree, node));
}

static void check_slice(struct lint *lint, const struct nki_node *node) {
    const struct nki_node *step = node->slice.step;
    if (!step)
        return;
    bool is_negative = step->kind == NKI_UNARY_OP && step->unary_op.op == NKI_UNARY_MINUS &&
                       step->unary_op.operand->kind == NKI_CONSTANT;
    bool is_zero = step->kind == NKI_CONSTANT && step->constant.type == NKI_CONST_INT &&
                   step->constant.integer == 0;
    if (is_negative || is_zero)
        lint_node(lint, LINT_S_SLICE_STEP, step);
}

typedef void (*check_fn)(struct lint *lint, const struct nki_node *node);
static const check_fn checks[NKI_KIND_COUNT] = {
    [NKI_FUNCTION_DEF] = check_function,
    [NKI_CLASS_DEF] = check_class,
    [NKI_FOR] = check_for,
    [NKI_WHILE] = check_while,
    [NKI_WITH] = check_with,
    [NKI_BIN_OP] = check_bin_op,
    [NKI_AUG_ASSIGN] = check_aug_assign,
    [NKI_COMPARE] = check_compare,
    [NKI_CALL] = check_call,
    [NKI_KEYWORD] = check_keyword,
    [NKI_DICT] = check_dict,
    [NKI_FORMATTED_VALUE] = check_formatted,
    [NKI_CONSTANT] = check_constant,
    [NKI_SLICE] = check_slice,
};

void lint_strict_node(struct lint *lint, const struct nki_node *node) {
    for (size_t i = 0; i < COUNT_OF(refused); i++)
        if (refused[i].kind == (enum nki_kind)node->kind)
            lint_node(lint, refused[i].rule, node);
    if (checks[node->kind])
        checks[node->kind](lint, node);
}
