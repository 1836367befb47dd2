/* SPDX-License-Identifier: Apache-2.0 */
/* Ways of writing that open something by themselves: names that Python itself looks for, letters
 * that Python takes for other letters, a file in another encoding, text that is evaluated later
 * (annotations), coroutines, metaclasses. */
#include "nki/lint/guard.h"

#include <ctype.h>

static void add_form(struct guard *guard, const struct nki_node *node, const char *what) {
    guard_add(guard, LINT_C_FORM, node, str_of(what));
}

/* ---- names ---------------------------------------------------------------------------------- */

/* Python folds letters: a fullwidth "eval" is eval in Python, but another name here. */
static void check_letters(struct guard *guard, const struct nki_node *node, struct str name) {
    for (size_t i = 0; i < name.len; i++)
        if ((unsigned char)name.at[i] >= 0x80) {
            add_form(guard, node, "a name with other letters than ASCII's");
            return;
        }
}

/* Names with two underscores on both sides have meanings. A candidate may bind only harmless
 * ones. */
static void check_dunder(struct guard *guard, const struct nki_node *node, struct str name,
                         bool may_define) {
    bool is_fine = may_define && allow_word(&guard->allow, ALLOW_DUNDER_DEFINE, name);
    if (guard_is_dunder(name) && !is_fine)
        guard_add(guard, LINT_C_INTERNALS, node, name);
}

static void check_alias(struct guard *guard, const struct nki_node *node) {
    check_letters(guard, node, node->alias.name);
    check_letters(guard, node, node->alias.asname);
    check_dunder(guard, node, node->alias.asname, false);
}

static void check_names(struct guard *guard, const struct nki_node *node) {
    if (node->kind != NKI_GLOBAL && node->kind != NKI_NONLOCAL)
        return;
    for (uint32_t i = 0; i < node->global.len; i++) {
        check_letters(guard, node, node->global.names[i]);
        check_dunder(guard, node, node->global.names[i], false);
    }
}

/* ---- annotations ---------------------------------------------------------------------------- */

static const char odd_type[] = "an annotation that is more than names of types";

static bool is_literal(const struct guard *guard, const struct nki_node *base) {
    const struct nki_node *first = base->kind == NKI_ATTRIBUTE ? base->attribute.value : base;
    const struct guard_target *target =
        first->kind == NKI_NAME ? map_get(&guard->imports, first->name.id) : NULL;
    if (!target || map_find(&guard->bound, first->name.id))
        return false;
    return first == base ? str_ends(str_of(target->name), ".Literal")
                         : str_is(base->attribute.attr, "Literal");
}

static bool is_literal_part(const struct guard *guard, const struct nki_node *node) {
    const struct nki_node *up = node->parent;
    while (up && up->kind == NKI_TUPLE)
        up = up->parent;
    if (!up || up->kind != NKI_SUBSCRIPT)
        return false;
    return is_literal(guard, up->subscript.value);
}

static bool is_type_kind(const struct nki_node *node) {
    switch ((enum nki_kind)node->kind) {
    case NKI_MODULE:
    case NKI_EXPR:
    case NKI_NAME:
    case NKI_ATTRIBUTE:
    case NKI_SUBSCRIPT:
    case NKI_TUPLE:
    case NKI_LIST:
    case NKI_CONSTANT:
    case NKI_BIN_OP:
    case NKI_UNARY_OP:
    case NKI_STARRED: return true;
    default: return false;
    }
}

static bool names_types(struct guard *guard, const struct nki_tree *tree,
                        const struct nki_node *root);

/* A type written as text, which Python or a tool may evaluate. It may consist only of names, and
 * these must be on the list. The text is checked like a file, with the names of this one. */
static bool text_names_types(struct guard *guard, const struct nki_node *text) {
    struct diag_list ignored = {0};
    struct nki_tree *tree = nki_parse(guard->path, text->constant.text, &ignored);
    const struct nki_tree *before = guard->tree;
    size_t found = guard->found.len;
    bool is = !tree->errors && names_types(guard, tree, tree->module);
    guard->tree = tree;
    guard->in_text = true;
    if (is)
        guard_names(guard);
    guard->in_text = false;
    guard->tree = before;
    is &= guard->found.len == found;
    guard->found.len = found;
    nki_tree_free(tree);
    diag_free(&ignored);
    return is;
}

static bool names_types(struct guard *guard, const struct nki_tree *tree,
                        const struct nki_node *root) {
    for (uint32_t i = root->id; i <= root->last; i++) {
        const struct nki_node *node = tree->nodes[i];
        bool is_text = node->kind == NKI_CONSTANT && node->constant.type == NKI_CONST_STRING;
        if (!is_type_kind(node) ||
            (node->kind == NKI_NAME && guard->tree == tree && guard_is_local(guard, node)) ||
            (is_text && !is_literal_part(guard, node) &&
             (guard->tree != tree || !text_names_types(guard, node))))
            return false;
    }
    return true;
}

static void check_type(struct guard *guard, const struct nki_node *type) {
    if (type && !names_types(guard, guard->tree, type))
        add_form(guard, type, odd_type);
}

/* Whether the value is a call that makes a type: TypeVar("T"), namedtuple("T", ...). */
static bool makes_type(const struct nki_node *value) {
    static const char *const makers[] = {"TypeVar", "NewType", "ParamSpec", "namedtuple"};
    const struct nki_node *func = value->kind == NKI_CALL ? value->call.func : NULL;
    struct str name = {0};
    if (func && func->kind == NKI_NAME)
        name = func->name.id;
    else if (func && func->kind == NKI_ATTRIBUTE)
        name = func->attribute.attr;
    for (size_t i = 0; i < COUNT_OF(makers); i++)
        if (str_is(name, makers[i]))
            return value->call.keywords.len == 0;
    return false;
}

/* Whether the node is a variable of a function. A class in a function has its own variables. */
static bool in_function(const struct nki_node *node) {
    return !guard_in_class(node) &&
           (nki_enclosing(node, NKI_FUNCTION_DEF) || nki_enclosing(node, NKI_LAMBDA));
}

static bool is_of_enum(const struct guard *guard, const struct nki_node *base, const char *end) {
    const struct nki_node *first = base->kind == NKI_ATTRIBUTE ? base->attribute.value : base;
    struct str name = base->kind == NKI_ATTRIBUTE ? base->attribute.attr : (struct str){0};
    const struct guard_target *target =
        first->kind == NKI_NAME ? map_get(&guard->imports, first->name.id) : NULL;
    for (; target; target = target->next)
        if (target->name &&
            ((str_is(str_of(target->name), "enum") && str_ends(name, end)) ||
             (str_starts(str_of(target->name), "enum.") && str_ends(str_of(target->name), end))))
            return true;
    return false;
}

static bool has_base(const struct guard *guard, const struct nki_node *class, const char *end) {
    bool has = false;
    for (uint32_t i = 0; i < class->class_def.bases.len; i++)
        has |= is_of_enum(guard, class->class_def.bases.at[i], end);
    return has;
}

/* Whether the value makes a member of an enumeration. An enumeration with members cannot be called
 * to make another one with names from text. Of a Flag, 0 and several bits at once are not members
 * in Python. */
static bool is_member(const struct guard *guard, const struct nki_node *value, bool is_flag) {
    const struct guard_target *made =
        value->kind == NKI_CALL ? guard_import_of(guard, value->call.func) : NULL;
    int64_t bits = value->kind == NKI_CONSTANT ? value->constant.integer : 0;
    if (made)
        return made->kind == GUARD_MEMBER && !made->next && str_is(str_of(made->name), "enum.auto");
    if (!is_flag)
        return value->kind == NKI_CONSTANT || value->kind == NKI_TUPLE;
    return value->kind == NKI_CONSTANT && value->constant.type == NKI_CONST_INT && bits > 0 &&
           (bits & (bits - 1)) == 0;
}

static bool has_member(const struct guard *guard, const struct nki_node *class) {
    bool is_flag = has_base(guard, class, "Flag");
    for (uint32_t i = 0; i < class->class_def.body.len; i++) {
        const struct nki_node *node = class->class_def.body.at[i];
        const struct nki_node *value = node->kind == NKI_ASSIGN ? node->assign.value : NULL;
        if (value && node->assign.targets.at[0]->kind == NKI_NAME &&
            node->assign.targets.at[0]->name.id.at[0] != '_' && is_member(guard, value, is_flag))
            return true;
    }
    return false;
}

/* A name that annotations use must be a type or a number wherever the module gives it a value. */
static void check_typed(struct guard *guard, const struct nki_node *name) {
    const struct nki_node *up = name->parent;
    if (!map_find(&guard->typed, name->name.id) || in_function(name))
        return;
    const struct nki_node *value = up->kind == NKI_ASSIGN       ? up->assign.value
                                   : up->kind == NKI_ANN_ASSIGN ? up->ann_assign.value
                                                                : NULL;
    if (value && !makes_type(value))
        check_type(guard, value);
    else if (!value && up->kind != NKI_ANN_ASSIGN)
        add_form(guard, name, odd_type);
}

/* Other text in brackets after a name of typing is a type that is evaluated later. */
static void check_subscript(struct guard *guard, const struct nki_node *node) {
    const struct nki_node *base = node->subscript.value;
    const struct guard_target *target =
        base->kind == NKI_NAME ? map_get(&guard->imports, base->name.id) : NULL;
    bool is_type =
        target && target->kind == GUARD_MEMBER && str_starts(str_of(target->name), "typing");
    if (is_type && !guard_is_type_place(node))
        check_type(guard, node);
}

/* ---- kinds of statements -------------------------------------------------------------------- */

static const char coroutine[] = "coroutines (async, await)";

static void check_function(struct guard *guard, const struct nki_node *node) {
    check_letters(guard, node, node->function_def.name);
    check_dunder(guard, node, node->function_def.name, node->parent->kind == NKI_CLASS_DEF);
    if (node->function_def.is_async)
        add_form(guard, node, coroutine);
    check_type(guard, node->function_def.returns);
}

static void check_class(struct guard *guard, const struct nki_node *node) {
    if (has_base(guard, node, "") && !has_member(guard, node))
        add_form(guard, node, "an enumeration without members");
    check_letters(guard, node, node->class_def.name);
    check_dunder(guard, node, node->class_def.name, false);
    for (uint32_t i = 0; i < node->class_def.keywords.len; i++)
        if (!str_is(node->class_def.keywords.at[i]->keyword.name, "total"))
            add_form(guard, node->class_def.keywords.at[i],
                     "a class with a metaclass or other arguments");
}

static void check_arg(struct guard *guard, const struct nki_node *node) {
    check_letters(guard, node, node->arg.name);
    check_dunder(guard, node, node->arg.name, false);
    check_type(guard, node->arg.annotation);
}

static void check_name(struct guard *guard, const struct nki_node *node) {
    check_letters(guard, node, node->name.id);
    if (node->context == NKI_STORE) {
        check_dunder(guard, node, node->name.id, true);
        check_typed(guard, node);
    }
    if (node->context == NKI_DEL)
        check_dunder(guard, node, node->name.id, false);
}

static void check_attribute(struct guard *guard, const struct nki_node *node) {
    check_letters(guard, node, node->attribute.attr);
}

static void check_keyword(struct guard *guard, const struct nki_node *node) {
    check_letters(guard, node, node->keyword.name);
    check_dunder(guard, node, node->keyword.name, false);
}

static void check_handler(struct guard *guard, const struct nki_node *node) {
    check_letters(guard, node, node->except_handler.name);
    check_dunder(guard, node, node->except_handler.name, false);
}

static void check_keyword_pattern(struct guard *guard, const struct nki_node *node) {
    check_letters(guard, node, node->match_keyword.name);
    check_dunder(guard, node, node->match_keyword.name, false);
}

/* Python never evaluates annotations of a function's variables. */
static void check_ann_assign(struct guard *guard, const struct nki_node *node) {
    if (!in_function(node))
        check_type(guard, node->ann_assign.annotation);
}

static void check_coroutine(struct guard *guard, const struct nki_node *node) {
    bool is_async = node->kind == NKI_AWAIT || (node->kind == NKI_FOR && node->for_.is_async) ||
                    (node->kind == NKI_WITH && node->with_.is_async) ||
                    (node->kind == NKI_COMPREHENSION && node->comprehension.is_async);
    if (is_async)
        add_form(guard, node, coroutine);
}

static void check_from(struct guard *guard, const struct nki_node *node) {
    check_letters(guard, node, node->import_from.module);
}

/* A letter given by its name (\N{..}) is not resolved here, so Python reads another text. */
static void check_text(struct guard *guard, const struct nki_node *node) {
    struct str text = node->constant.text;
    if (node->constant.type != NKI_CONST_STRING)
        return;
    for (size_t i = 0; i + 2 < text.len; i++)
        if (!memcmp(text.at + i, "\\N{", 3)) {
            add_form(guard, node, "a letter by its name (\\N{...})");
            return;
        }
}

typedef void (*check_fn)(struct guard *guard, const struct nki_node *node);
static const check_fn checks[NKI_KIND_COUNT] = {
    [NKI_FUNCTION_DEF] = check_function,
    [NKI_CLASS_DEF] = check_class,
    [NKI_ARG] = check_arg,
    [NKI_NAME] = check_name,
    [NKI_ATTRIBUTE] = check_attribute,
    [NKI_KEYWORD] = check_keyword,
    [NKI_EXCEPT_HANDLER] = check_handler,
    [NKI_MATCH_KEYWORD] = check_keyword_pattern,
    [NKI_ALIAS] = check_alias,
    [NKI_GLOBAL] = check_names,
    [NKI_NONLOCAL] = check_names,
    [NKI_ANN_ASSIGN] = check_ann_assign,
    [NKI_SUBSCRIPT] = check_subscript,
    [NKI_AWAIT] = check_coroutine,
    [NKI_FOR] = check_coroutine,
    [NKI_WITH] = check_coroutine,
    [NKI_COMPREHENSION] = check_coroutine,
    [NKI_IMPORT_FROM] = check_from,
    [NKI_CONSTANT] = check_text,
};

/* ---- the file ------------------------------------------------------------------------------- */

static bool is_utf8(struct str text) {
    static const char *const names[] = {"utf-8", "utf8", "UTF-8", "UTF8"};
    size_t len = 0;
    while (len < text.len && (isalnum((unsigned char)text.at[len]) || text.at[len] == '-' ||
                              text.at[len] == '_' || text.at[len] == '.'))
        len++;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (str_is((struct str){text.at, len}, names[i]))
            return true;
    return false;
}

/* "coding:" or "coding=" in the first two lines. Python reads the whole file by it, so a comment
 * here may be a statement there. */
static void check_encoding(struct guard *guard) {
    struct str text = guard->tree->source;
    int lines = 0;
    for (size_t i = 0; i + 7 < text.len && lines < 2; i++) {
        lines += text.at[i] == '\n';
        if (memcmp(text.at + i, "coding", 6) != 0 ||
            (text.at[i + 6] != ':' && text.at[i + 6] != '='))
            continue;
        size_t at = i + 7;
        while (at < text.len && (text.at[at] == ' ' || text.at[at] == '\t'))
            at++;
        if (!is_utf8((struct str){text.at + at, text.len - at}))
            add_form(guard, guard->tree->module, "another encoding than UTF-8");
    }
}

void guard_forms(struct guard *guard) {
    check_encoding(guard);
    for (uint32_t i = 0; i < guard->tree->n_nodes; i++) {
        const struct nki_node *node = guard->tree->nodes[i];
        if (checks[node->kind])
            checks[node->kind](guard, node);
    }
}
