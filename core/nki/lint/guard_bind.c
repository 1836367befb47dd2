/* SPDX-License-Identifier: Apache-2.0 */
/* What the names of a candidate stand for. Imports hold for the whole file: a name that is imported
 * anywhere may be the module everywhere. Where scopes matter, for the names of Python's builtins,
 * they are as in Python. */
#include "nki/lint/guard.h"

#include <ctype.h>

bool guard_is_dunder(struct str name) {
    return name.len > 2 && name.at[0] == '_' && name.at[name.len - 1] == '_';
}

/* ---- imports -------------------------------------------------------------------------------- */

bool guard_in_class(const struct nki_node *node) {
    const struct nki_node *function = nki_enclosing(node, NKI_FUNCTION_DEF);
    const struct nki_node *class = nki_enclosing(node, NKI_CLASS_DEF);
    return class && (!function || nki_contains(function, class));
}

static struct str first_part(struct str dotted) {
    const char *dot = memchr(dotted.at, '.', dotted.len);
    return (struct str){dotted.at, dot ? (size_t)(dot - dotted.at) : dotted.len};
}

static const char *joined(struct guard *guard, struct str module, struct str name) {
    return arena_printf(guard->arena, STR_FMT "." STR_FMT, STR_ARG(module), STR_ARG(name));
}

static bool is_module(const struct guard *guard, struct str name) {
    struct buf known = {0};
    allow_module_name(name, &known);
    bool is = allow_is_module(&guard->allow, buf_str(&known));
    buf_free(&known);
    return is;
}

static enum allow_use member_use(const struct guard *guard, struct str module, struct str name) {
    struct buf known = {0};
    allow_module_name(module, &known);
    enum allow_use use = allow_member(&guard->allow, buf_str(&known), name);
    buf_free(&known);
    return use;
}

/* The module may not get as far as binding the name, or may lose it again. Then the name is
 * Python's. */
static void check_name(struct guard *guard, const struct nki_node *alias, struct str name) {
    if (allow_word(&guard->allow, ALLOW_OTHER_BUILTIN, name))
        guard_add(guard, guard_rule_of(name, LINT_C_NAME), alias, name);
}

static void bind_import(struct guard *guard, struct str name, struct guard_target target) {
    struct map_entry *entry = map_put(&guard->imports, name);
    struct guard_target *copy = ARENA_NEW(guard->arena, struct guard_target);
    *copy = target;
    copy->next = entry->value;
    entry->value = copy;
}

/* The name of a helper itself, not what the name leads to. */
static struct guard_target in_helper(const struct guard_helper *helper, struct str name) {
    bool has = map_find(&helper->exports, name) != NULL;
    return (struct guard_target){
        .kind = has ? GUARD_HELPER_MEMBER : GUARD_REFUSED, .use = ALLOW_ANY, .helper = helper};
}

static void bind_module(struct guard *guard, const struct nki_node *alias) {
    struct str module = alias->alias.name, name = alias->alias.asname;
    struct str whole = name.len ? module : first_part(module);
    struct guard_target target = {.name = arena_strndup(guard->arena, whole.at, whole.len)};
    if (is_module(guard, module) && is_module(guard, whole))
        target.kind = GUARD_MODULE;
    else if ((target.helper = guard_helper_find(guard, module, 0)) &&
             (name.len || whole.len == module.len))
        target.kind = GUARD_HELPER;
    else
        guard_add(guard, guard_rule_of(module, LINT_C_IMPORT), alias, module);
    check_name(guard, alias, name.len ? name : whole);
    bind_import(guard, name.len ? name : whole, target);
}

/* What `from module import name` binds. */
static struct guard_target part_of(struct guard *guard, const struct nki_node *from,
                                   struct str name) {
    struct str module = from->import_from.module;
    const char *whole = joined(guard, module, name);
    struct guard_target target = {.name = whole};
    const struct guard_helper *helper;
    if (!from->import_from.level && is_module(guard, module)) {
        target.use = member_use(guard, module, name);
        target.kind = is_module(guard, str_of(whole)) ? GUARD_MODULE
                      : target.use                    ? GUARD_MEMBER
                                                      : GUARD_REFUSED;
        return target;
    }
    if (module.len && (helper = guard_helper_find(guard, module, from->import_from.level)))
        target = in_helper(helper, name);
    else if (!module.len && (helper = guard_helper_find(guard, name, from->import_from.level)))
        target = (struct guard_target){.kind = GUARD_HELPER, .helper = helper};
    target.name = whole;
    return target;
}

/* A star may bring, under its own name, what an earlier import gave another name. */
static void check_renamed(struct guard *guard, const struct nki_node *from) {
    for (size_t i = 0; i < guard->imports.len; i++) {
        const struct guard_target *target = guard->imports.entries[i].value;
        struct str name = {guard->imports.entries[i].key, guard->imports.entries[i].key_len};
        const char *dot = target->name ? strrchr(target->name, '.') : NULL;
        if (target->kind == GUARD_MEMBER && !(dot && str_is(name, dot + 1)))
            guard_add(guard, LINT_C_IMPORT, from, name);
    }
}

static void bind_star(struct guard *guard, const struct nki_node *from) {
    struct str module = from->import_from.module;
    struct guard_target target = {.name = arena_strndup(guard->arena, module.at, module.len),
                                  .id = from->id};
    check_renamed(guard, from);
    if (!from->import_from.level && is_module(guard, module))
        target.kind = GUARD_MODULE;
    else if (module.len &&
             (target.helper = guard_helper_find(guard, module, from->import_from.level)))
        target.kind = GUARD_HELPER;
    else
        guard_add(guard, guard_rule_of(module, LINT_C_IMPORT), from, module);
    *vec_push(&guard->stars) = target;
}

static void bind_from(struct guard *guard, const struct nki_node *from) {
    for (uint32_t i = 0; i < from->import_from.names.len; i++) {
        const struct nki_node *alias = from->import_from.names.at[i];
        struct str name = alias->alias.name;
        if (str_is(name, "*")) {
            bind_star(guard, from);
            continue;
        }
        struct guard_target target = part_of(guard, from, name);
        if (target.kind == GUARD_REFUSED) {
            struct str module = from->import_from.module;
            if (module.len)
                guard_add_unknown(guard, LINT_C_IMPORT, alias, module, name);
            else
                guard_add(guard, guard_rule_of(name, LINT_C_IMPORT), alias, name);
        }
        name = alias->alias.asname.len ? alias->alias.asname : name;
        check_name(guard, alias, name);
        bind_import(guard, name, target);
    }
}

static void bind_imports(struct guard *guard, const struct nki_node *node) {
    if (guard_in_class(node)) /* it would be an attribute, and so one of every name */
        guard_add(guard, LINT_C_IMPORT, node, nki_node_text(guard->tree, node));
    if (node->kind == NKI_IMPORT_FROM)
        bind_from(guard, node);
    else
        for (uint32_t i = 0; i < node->import.names.len; i++)
            bind_module(guard, node->import.names.at[i]);
}

/* ---- other names ---------------------------------------------------------------------------- */

static void own_add(struct guard *guard, const struct nki_node *node, struct str name) {
    if (allow_word(&guard->allow, ALLOW_NOT_OWN, name))
        guard_add(guard, LINT_C_ATTRIBUTE, node, name);
    else if (!guard_is_dunder(name))
        map_put(&guard->own, name);
}

static bool is_static(const struct nki_node *function) {
    const struct nki_list *all = &function->function_def.decorators;
    for (uint32_t i = 0; i < all->len; i++)
        if (all->at[i]->kind == NKI_NAME && str_is(all->at[i]->name.id, "staticmethod"))
            return true;
    return false;
}

bool guard_is_self(const struct nki_node *base) {
    const struct nki_node *function = nki_enclosing(base, NKI_FUNCTION_DEF);
    if (base->kind != NKI_NAME || !function || function->parent->kind != NKI_CLASS_DEF ||
        is_static(function))
        return false;
    const struct nki_list *args = &function->function_def.args->arguments.args;
    return args->len && str_equal(args->at[0]->arg.name, base->name.id);
}

/* The fields of a namedtuple are the words of a string, or the strings of a list. */
static void own_fields(struct guard *guard, const struct nki_node *node) {
    struct str rest = {0}, name;
    if (node->kind == NKI_CONSTANT && node->constant.type == NKI_CONST_STRING)
        rest = node->constant.text;
    else if (node->kind == NKI_LIST || node->kind == NKI_TUPLE)
        for (uint32_t i = 0; i < node->list.elts.len; i++)
            own_fields(guard, node->list.elts.at[i]);
    while (str_next(&rest, ' ', &name)) {
        name = str_trim(name);
        if (name.len && name.at[name.len - 1] == ',')
            name.len--;
        if (name.len)
            own_add(guard, node, name);
    }
}

static void bind_name(struct guard *guard, const struct nki_node *node, struct str name) {
    if (!name.len)
        return;
    map_put(&guard->bound, name);
    if (guard_in_class(node))
        own_add(guard, node, name);
}

static void bind_other(struct guard *guard, const struct nki_node *node) {
    const struct nki_node *func = node->kind == NKI_CALL ? node->call.func : NULL;
    if (node->kind == NKI_NAME && node->context == NKI_STORE)
        bind_name(guard, node, node->name.id);
    else if (node->kind == NKI_ARG)
        map_put(&guard->bound, node->arg.name);
    else if (node->kind == NKI_FUNCTION_DEF)
        bind_name(guard, node, node->function_def.name);
    else if (node->kind == NKI_CLASS_DEF)
        bind_name(guard, node, node->class_def.name);
    else if (node->kind == NKI_EXCEPT_HANDLER && node->except_handler.name.len)
        map_put(&guard->bound, node->except_handler.name);
    else if (node->kind == NKI_ATTRIBUTE && node->context == NKI_STORE &&
             guard_is_self(node->attribute.value))
        own_add(guard, node, node->attribute.attr);
    else if (func && func->kind == NKI_NAME && str_is(func->name.id, "namedtuple") &&
             node->call.args.len > 1)
        own_fields(guard, node->call.args.at[1]);
}

/* The words of a type that is written as text. */
static void typed_words(struct guard *guard, struct str text) {
    size_t from = 0;
    for (size_t i = 0; i <= text.len; i++) {
        bool in_word = i < text.len && (isalnum((unsigned char)text.at[i]) || text.at[i] == '_');
        if (in_word)
            continue;
        if (i > from)
            map_put(&guard->typed, (struct str){text.at + from, i - from});
        from = i + 1;
    }
}

static void typed_find(struct guard *guard, const struct nki_node *node) {
    bool is_text = node->kind == NKI_CONSTANT && node->constant.type == NKI_CONST_STRING;
    if ((node->kind != NKI_NAME && !is_text) || !guard_is_type_place(node))
        return;
    if (is_text)
        typed_words(guard, node->constant.text);
    else
        map_put(&guard->typed, node->name.id);
}

void guard_bindings(struct guard *guard) {
    for (uint32_t i = 0; i < guard->tree->n_nodes; i++) {
        const struct nki_node *node = guard->tree->nodes[i];
        if (node->kind == NKI_IMPORT || node->kind == NKI_IMPORT_FROM)
            bind_imports(guard, node);
        else
            bind_other(guard, node);
        typed_find(guard, node);
    }
}

/* ---- scopes --------------------------------------------------------------------------------- */

static bool has_parameter(const struct nki_node *args, struct str name) {
    for (uint32_t i = 0; i < args->arguments.args.len; i++)
        if (str_equal(args->arguments.args.at[i]->arg.name, name))
            return true;
    return false;
}

/* The targets of a comprehension are its own, not its function's. Those of := are its
 * function's. */
static bool is_comprehension_target(const struct nki_node *node) {
    for (const struct nki_node *at = node; at->parent; at = at->parent)
        if (at->parent->kind == NKI_COMPREHENSION && at->parent->comprehension.target == at)
            return true;
        else if (nki_is_statement(at->parent) || at->parent->kind == NKI_NAMED_EXPR)
            return false;
    return false;
}

static bool binds_here(const struct guard *guard, const struct nki_node *scope, struct str name) {
    bool binds = false;
    for (uint32_t i = scope->id + 1; i <= scope->last; i++) {
        const struct nki_node *node = guard->tree->nodes[i];
        if (node->kind == NKI_GLOBAL)
            for (uint32_t k = 0; k < node->global.len; k++)
                if (str_equal(node->global.names[k], name))
                    return false;
        if (node->kind == NKI_FUNCTION_DEF || node->kind == NKI_CLASS_DEF) {
            binds |= str_equal(
                node->kind == NKI_CLASS_DEF ? node->class_def.name : node->function_def.name, name);
            i = node->last;
        } else if (node->kind == NKI_LAMBDA) {
            i = node->last; /* what := binds in there is its own */
        } else if (node->kind == NKI_NAME && node->context == NKI_STORE &&
                   str_equal(node->name.id, name)) {
            binds |= !is_comprehension_target(node);
        } else if (node->kind == NKI_EXCEPT_HANDLER) {
            binds |= str_equal(node->except_handler.name, name);
        }
    }
    return binds;
}

/* Keeps the answer for each function and name, because the same name may be read often. */
static bool scope_binds(struct guard *guard, const struct nki_node *scope, struct str name) {
    struct buf key = {0};
    buf_printf(&key, "%u " STR_FMT, scope->id, STR_ARG(name));
    struct map_entry *entry = map_find(&guard->locals, buf_str(&key));
    if (!entry) {
        bool binds =
            scope->kind == NKI_FUNCTION_DEF && has_parameter(scope->function_def.args, name);
        binds = binds || binds_here(guard, scope, name);
        entry = map_put(&guard->locals, buf_str(&key));
        entry->value = binds ? guard : NULL;
    }
    buf_free(&key);
    return entry->value != NULL;
}

static bool is_in_list(const struct nki_list *list, const struct nki_node *node) {
    return list->len && node->id >= list->at[0]->id && node->id <= list->at[list->len - 1]->last;
}

static bool is_comprehension(const struct nki_node *node) {
    return node->kind == NKI_LIST_COMP || node->kind == NKI_SET_COMP ||
           node->kind == NKI_GENERATOR_EXP || node->kind == NKI_DICT_COMP;
}

/* The elements see the targets. The iterable may not. */
static bool comprehension_binds(const struct nki_node *comp, const struct nki_node *child,
                                struct str name) {
    const struct nki_list *all =
        comp->kind == NKI_DICT_COMP ? &comp->dict_comp.generators : &comp->comp.generators;
    for (uint32_t i = 0; i < all->len && child->kind != NKI_COMPREHENSION; i++) {
        const struct nki_node *target = all->at[i]->comprehension.target;
        if (target->kind == NKI_NAME && str_equal(target->name.id, name))
            return true;
    }
    return false;
}

bool guard_is_local(struct guard *guard, const struct nki_node *name) {
    struct str id = name->name.id;
    bool in_function = false;
    for (const struct nki_node *at = name; at->parent; at = at->parent) {
        const struct nki_node *scope = at->parent;
        if (scope->kind == NKI_LAMBDA && at == scope->lambda.body) {
            if (has_parameter(scope->lambda.args, id))
                return true;
            in_function = true;
        } else if (scope->kind == NKI_FUNCTION_DEF && is_in_list(&scope->function_def.body, at)) {
            if (scope_binds(guard, scope, id))
                return true;
            in_function = true;
        } else if (scope->kind == NKI_CLASS_DEF && is_in_list(&scope->class_def.body, at) &&
                   !in_function && binds_here(guard, scope, id)) {
            return false; /* a class looks there, then among the builtins */
        } else if (is_comprehension(scope) && comprehension_binds(scope, at, id)) {
            return true;
        }
    }
    return false;
}

static bool has_target(const struct nki_list *targets, struct str name) {
    for (uint32_t i = 0; i < targets->len; i++) {
        const struct nki_node *node = targets->at[i];
        if ((node->kind == NKI_NAME && str_equal(node->name.id, name)) ||
            ((node->kind == NKI_TUPLE || node->kind == NKI_LIST) &&
             has_target(&node->list.elts, name)))
            return true;
    }
    return false;
}

/* Whether a statement at the top of the file certainly binds the name. */
static bool binds_surely(const struct nki_node *statement, struct str name) {
    switch ((enum nki_kind)statement->kind) {
    case NKI_FUNCTION_DEF: return str_equal(statement->function_def.name, name);
    case NKI_CLASS_DEF: return str_equal(statement->class_def.name, name);
    case NKI_ASSIGN: return has_target(&statement->assign.targets, name);
    default: return false;
    }
}

bool guard_is_own(struct guard *guard, const struct nki_node *name) {
    const struct nki_list *body = &guard->tree->module->module.body;
    uint32_t star = 0;
    if (!map_find(&guard->bound, name->name.id))
        return false;
    for (size_t i = 0; i < guard->stars.len; i++)
        star = MAX_OF(star, guard->stars.at[i].id);
    if (!star || guard->in_text || guard_is_local(guard, name))
        return true;
    for (uint32_t i = 0; i < body->len && body->at[i]->id < name->id; i++)
        if (body->at[i]->id > star && !nki_contains(body->at[i], name) &&
            binds_surely(body->at[i], name->name.id))
            return true;
    return false;
}
