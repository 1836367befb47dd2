/* SPDX-License-Identifier: Apache-2.0 */
/* What a candidate reads and reaches: every name has to be on the list, and so has every attribute
 * on the way from it. A module may stand only in front of a name that is taken from it, never as a
 * value. So no value leads to a module, and an attribute of a value needs only its name checked. */
#include "nki/lint/guard.h"

/* ---- what is said about a name that is not on the list -------------------------------------- */

static const struct {
    const char *name;
    enum lint_rule rule;
} told[] = {
    {"open", LINT_C_FILE},
    {"__file__", LINT_C_FILE},
    {"numpy.load", LINT_C_FILE},
    {"numpy.save", LINT_C_FILE},
    {"numpy.savez", LINT_C_FILE},
    {"numpy.loadtxt", LINT_C_FILE},
    {"numpy.savetxt", LINT_C_FILE},
    {"numpy.fromfile", LINT_C_FILE},
    {"numpy.genfromtxt", LINT_C_FILE},
    {"numpy.fromregex", LINT_C_FILE},
    {"numpy.memmap", LINT_C_FILE},
    {"numpy.DataSource", LINT_C_FILE},
    {"tofile", LINT_C_FILE},
    {"dump", LINT_C_FILE},
    {"eval", LINT_C_CALL},
    {"exec", LINT_C_CALL},
    {"compile", LINT_C_CALL},
    {"__import__", LINT_C_CALL},
    {"breakpoint", LINT_C_CALL},
    {"input", LINT_C_CALL},
    {"globals", LINT_C_CALL},
    {"locals", LINT_C_CALL},
    {"vars", LINT_C_CALL},
    {"setattr", LINT_C_CALL},
    {"delattr", LINT_C_CALL},
    {"memoryview", LINT_C_CALL},
    {"exit", LINT_C_CALL},
    {"quit", LINT_C_CALL},
    {"getattr", LINT_C_CALL},
    {"type", LINT_C_CALL},
    {"nki.simulate", LINT_C_CALL},
    {"nki.simulate_kernel", LINT_C_CALL},
    {"nki.benchmark", LINT_C_CALL},
    {"nki.profile", LINT_C_CALL},
    {"nki.baremetal", LINT_C_CALL},
    {"f_back", LINT_C_INTERNALS},
    {"f_globals", LINT_C_INTERNALS},
    {"f_builtins", LINT_C_INTERNALS},
    {"f_locals", LINT_C_INTERNALS},
    {"f_code", LINT_C_INTERNALS},
    {"gi_frame", LINT_C_INTERNALS},
    {"tb_frame", LINT_C_INTERNALS},
    {"cr_frame", LINT_C_INTERNALS},
    {"ag_frame", LINT_C_INTERNALS},
    {"gi_code", LINT_C_INTERNALS},
};

enum lint_rule guard_rule_of(struct str name, enum lint_rule otherwise) {
    struct buf known = {0};
    enum lint_rule rule = otherwise;
    allow_module_name(name, &known);
    for (size_t i = 0; i < COUNT_OF(told); i++)
        if (str_is(buf_str(&known), told[i].name))
            rule = told[i].rule;
    if (rule == otherwise && guard_is_dunder(name))
        rule = LINT_C_INTERNALS;
    buf_free(&known);
    return rule;
}

/* ---- names that are not there --------------------------------------------------------------- */

#define MAX_NEAR 50 /* findings, after which no near name is looked for */

typedef VEC(const char *) name_list;

static void names_add(const struct map *from, name_list *names) {
    for (size_t i = 0; i < from->len; i++)
        *vec_push(names) = from->entries[i].key;
}

/* The nearest of what the file binds and imports, and of the builtins that it may use. */
static const char *near_own(struct guard *guard, struct str name) {
    name_list names = {0};
    names_add(&guard->bound, &names);
    names_add(&guard->imports, &names);
    names_add(&guard->allow.words[ALLOW_BUILTIN], &names);
    *vec_push(&names) = NULL;
    const char *text = arena_strndup(guard->arena, name.at, name.len);
    const char *near = map_find(&guard->bound, name) ? NULL : str_nearest(text, names.at);
    vec_free(&names);
    return near && strcmp(near, text) != 0 ? near : NULL;
}

void guard_add_unknown(struct guard *guard, enum lint_rule otherwise, const struct nki_node *node,
                       struct str module, struct str name) {
    const char *whole =
        module.len ? arena_printf(guard->arena, STR_FMT "." STR_FMT, STR_ARG(module), STR_ARG(name))
                   : arena_strndup(guard->arena, name.at, name.len);
    enum lint_rule rule = guard_rule_of(str_of(whole), otherwise);
    struct nki_profile profile = {guard->dialect, guard->release, guard->generation};
    const char *near = rule != otherwise || guard->found.len >= MAX_NEAR ? NULL
                       : module.len ? nki_name_near(module, name, &profile)
                                    : near_own(guard, name);
    guard_add(guard, near ? LINT_C_UNKNOWN : rule, node, str_of(whole));
    if (near)
        guard->found.at[guard->found.len - 1].near = near;
}

/* ---- where a name stands -------------------------------------------------------------------- */

const struct nki_node *guard_attribute_of(const struct nki_node *node) {
    const struct nki_node *parent = node->parent;
    return parent && parent->kind == NKI_ATTRIBUTE && parent->attribute.value == node ? parent
                                                                                      : NULL;
}

const struct nki_node *guard_call_of(const struct nki_node *node) {
    const struct nki_node *parent = node->parent;
    return parent && parent->kind == NKI_CALL && parent->call.func == node ? parent : NULL;
}

bool guard_is_plain_call(const struct nki_node *call) {
    for (uint32_t i = 0; i < call->call.args.len; i++)
        if (call->call.args.at[i]->kind == NKI_STARRED)
            return false;
    for (uint32_t i = 0; i < call->call.keywords.len; i++)
        if (!call->call.keywords.at[i]->keyword.name.len)
            return false;
    return true;
}

bool guard_is_called_by(const struct guard *guard, const struct nki_node *argument,
                        const char *const *names) {
    const struct nki_node *call = argument->parent;
    bool is = false;
    if (!call || call->kind != NKI_CALL || call->call.func == argument ||
        call->call.func->kind != NKI_NAME)
        return false;
    struct str id = call->call.func->name.id;
    for (; *names; names++)
        is |= str_is(id, *names);
    return is && !guard->stars.len && !map_find(&guard->bound, id) &&
           !map_find(&guard->imports, id);
}

static bool is_decorator(const struct nki_node *node) {
    const struct nki_node *up = node->parent;
    if (up->kind == NKI_FUNCTION_DEF)
        for (uint32_t i = 0; i < up->function_def.decorators.len; i++)
            if (up->function_def.decorators.at[i] == node)
                return true;
    return false;
}

/* What says where files go, or what tools are told, belongs to the person: it must be as in the
 * original. */
static bool is_jit_keyword(const struct guard *guard, const struct nki_node *keyword) {
    struct str name = keyword->keyword.name;
    static const char *const host_modes[] = {"baremetal", "benchmark", "profile"};
    const struct nki_node *value = keyword->keyword.value;
    bool is_text = value->kind == NKI_CONSTANT && value->constant.type == NKI_CONST_STRING;
    bool is_mode = str_is(name, "mode");
    if (map_find(&guard->decorations, nki_node_text(guard->tree, keyword)))
        return true;
    for (size_t i = 0; is_mode && is_text && i < COUNT_OF(host_modes); i++)
        if (str_is(value->constant.text, host_modes[i]))
            return false;
    return allow_word(&guard->allow, ALLOW_JIT_KEYWORD, name) && (!is_mode || is_text);
}

static bool is_jit(const struct guard *guard, const struct nki_node *node) {
    const struct nki_node *call = guard_call_of(node);
    if (!call)
        return is_decorator(node);
    if (!guard_is_plain_call(call) || call->call.args.len > 1)
        return false;
    for (uint32_t i = 0; i < call->call.keywords.len; i++)
        if (!is_jit_keyword(guard, call->call.keywords.at[i]))
            return false;
    return true;
}

/* ---- getattr and hasattr -------------------------------------------------------------------- */

/* The attribute's name in getattr(x, "name"); NULL when it is not written out. */
static const struct nki_node *named_attribute(const struct nki_node *call) {
    const struct nki_node *what = call->call.args.len > 1 ? call->call.args.at[1] : NULL;
    bool is_plain = what && guard_is_plain_call(call) && !call->call.keywords.len &&
                    what->kind == NKI_CONSTANT && what->constant.type == NKI_CONST_STRING;
    return is_plain ? what : NULL;
}

static bool has_attribute(const struct guard *guard, struct str name, bool may_be_own) {
    if (guard_is_dunder(name))
        return allow_word(&guard->allow, ALLOW_DUNDER_READ, name) != ALLOW_NOT;
    return allow_word(&guard->allow, ALLOW_ATTRIBUTE, name) ||
           (may_be_own && map_find(&guard->own, name));
}

static bool is_hasattr(const struct nki_node *call) {
    return call->call.func->kind == NKI_NAME && str_is(call->call.func->name.id, "hasattr");
}

/* The name of a module was checked together with the module. */
static bool is_module_name(const struct guard *guard, const struct nki_node *node) {
    const struct guard_target *target =
        node->kind == NKI_NAME ? map_get(&guard->imports, node->name.id) : NULL;
    for (; target; target = target->next)
        if (target->kind != GUARD_MODULE)
            return false;
    return node->kind == NKI_NAME && (map_find(&guard->imports, node->name.id) ||
                                      (!map_find(&guard->bound, node->name.id) &&
                                       allow_convention(&guard->allow, node->name.id)));
}

static bool is_named(const struct guard *guard, const struct nki_node *node) {
    const struct nki_node *call = guard_call_of(node);
    const struct nki_node *what = call ? named_attribute(call) : NULL;
    if (!what)
        return false;
    return is_hasattr(call) ? !guard_is_dunder(what->constant.text)
                            : is_module_name(guard, call->call.args.at[0]) ||
                                  has_attribute(guard, what->constant.text, true);
}

/* The call getattr(nl, "float8_e4m3"), found from the module in it. */
static const struct nki_node *asked_of(const struct guard *guard, const struct nki_node *module) {
    static const char *const both[] = {"getattr", "hasattr", NULL};
    bool is_asked = guard_is_called_by(guard, module, both) && module->parent->call.args.len &&
                    module->parent->call.args.at[0] == module;
    return is_asked ? named_attribute(module->parent) : NULL;
}

/* Whether the use at `node` (a name, or the attribute that ends at a member) is allowed by
 * `use`. */
static bool guard_use_fits(struct guard *guard, const struct nki_node *node, enum allow_use use) {
    switch (use) {
    case ALLOW_NOT: return false;
    case ALLOW_ANY: return true;
    case ALLOW_CALLED: return guard_call_of(node) && guard_is_plain_call(node->parent);
    case ALLOW_TYPE:
    case ALLOW_ASKED:
    case ALLOW_CLASS:
    case ALLOW_ENUM: return guard_type_fits(guard, node, use);
    case ALLOW_DECORATOR: return guard_decorates_own(guard, node);
    case ALLOW_NAMED: return is_named(guard, node);
    case ALLOW_JIT: return is_jit(guard, node);
    }
    return false;
}

/* ---- attributes of values ------------------------------------------------------------------- */

/* "{} of {}".format(...): fields without a dot or an index reach nothing. */
static bool is_plain_format(const struct nki_node *node) {
    const struct nki_node *text = node->attribute.value;
    bool inside = false;
    if (!str_is(node->attribute.attr, "format") || text->kind != NKI_CONSTANT ||
        text->constant.type != NKI_CONST_STRING || !guard_call_of(node))
        return false;
    for (size_t i = 0; i < text->constant.text.len; i++) {
        char c = text->constant.text.at[i];
        if (c == '{')
            inside = true;
        else if (c == '}' || c == ':')
            inside = false;
        else if (inside && (c == '.' || c == '['))
            return false;
    }
    return true;
}

static void guard_attribute(struct guard *guard, const struct nki_node *node, bool may_be_own) {
    struct str name = node->attribute.attr;
    bool is_own = may_be_own && map_find(&guard->own, name);
    bool is_read = node->context == NKI_LOAD;
    /* Objects of others have it too, so it may be changed on an own object only. */
    bool is_theirs = allow_word(&guard->allow, ALLOW_ATTRIBUTE, name) != ALLOW_NOT;
    if (is_read ? has_attribute(guard, name, may_be_own) || is_plain_format(node)
                : is_own && (!is_theirs || guard_is_self(node->attribute.value)))
        return;
    guard_add(guard, guard_rule_of(name, LINT_C_ATTRIBUTE), node, name);
}

static void check_attributes(struct guard *guard, const struct nki_node *base, bool may_be_own) {
    const struct nki_node *next;
    for (; (next = guard_attribute_of(base)); base = next)
        guard_attribute(guard, next, may_be_own);
}

/* ---- what comes from an import -------------------------------------------------------------- */

static bool is_known_module(const struct guard *guard, const struct buf *name) {
    struct buf known = {0};
    allow_module_name(buf_str(name), &known);
    bool is = allow_is_module(&guard->allow, buf_str(&known));
    buf_free(&known);
    return is;
}

static enum allow_use use_in(const struct guard *guard, const struct buf *module, struct str name) {
    struct buf known = {0};
    allow_module_name(buf_str(module), &known);
    enum allow_use use = allow_member(&guard->allow, buf_str(&known), name);
    buf_free(&known);
    return use;
}

static struct str kept(struct guard *guard, const struct buf *text) {
    return str_of(arena_strndup(guard->arena, text->at, text->len));
}

static void check_member(struct guard *guard, const struct nki_node *node, enum allow_use use,
                         struct str name) {
    if (!guard_use_fits(guard, node, use))
        guard_add(guard, guard_rule_of(name, LINT_C_USE), node, name);
    check_attributes(guard, node, false);
}

/* A module that is reached by its name in text, or through a star, would be a value. That is
 * refused. */
static void check_asked(struct guard *guard, const struct nki_node *node,
                        const struct nki_node *what, struct buf *module) {
    struct str name = what->constant.text;
    bool is_asked_for = !guard_is_dunder(name) && is_hasattr(node->parent);
    bool is_value = use_in(guard, module, name) == ALLOW_ANY;
    buf_printf(module, "." STR_FMT, STR_ARG(name));
    if (is_asked_for || (is_value && !is_known_module(guard, module)))
        return;
    guard_add(guard, guard_rule_of(buf_str(module), LINT_C_NAME), node, kept(guard, module));
}

/* Follows the attributes from a module to the member that is taken from it. */
static void check_module(struct guard *guard, const struct nki_node *node, const char *name) {
    struct buf module = {0};
    buf_puts(&module, name);
    for (const struct nki_node *next;; node = next) {
        next = guard_attribute_of(node);
        const struct nki_node *what = next ? NULL : asked_of(guard, node);
        if (what)
            check_asked(guard, node, what, &module);
        else if (!next)
            guard_add(guard, LINT_C_MODULE, node, kept(guard, &module));
        if (!next)
            break;
        struct str attr = next->attribute.attr;
        enum allow_use use = use_in(guard, &module, attr);
        struct str before = kept(guard, &module);
        buf_printf(&module, "." STR_FMT, STR_ARG(attr));
        bool is_module = is_known_module(guard, &module);
        if (is_module && next->context == NKI_LOAD)
            continue;
        if (next->context != NKI_LOAD)
            guard_add(guard, LINT_C_ASSIGN, next, kept(guard, &module));
        else if (use)
            check_member(guard, next, use, kept(guard, &module));
        else
            guard_add_unknown(guard, LINT_C_NAME, next, before, attr);
        break;
    }
    buf_free(&module);
}

static void check_helper(struct guard *guard, const struct nki_node *node,
                         const struct guard_helper *helper) {
    const struct nki_node *next = guard_attribute_of(node);
    if (!next)
        guard_add(guard, LINT_C_MODULE, node, nki_node_text(guard->tree, node));
    else if (next->context != NKI_LOAD)
        guard_add(guard, LINT_C_ASSIGN, next, nki_node_text(guard->tree, next));
    else if (!map_find(&helper->exports, next->attribute.attr))
        guard_add(guard, LINT_C_NAME, next, nki_node_text(guard->tree, next));
    else
        check_attributes(guard, next, true);
}

static void check_target(struct guard *guard, const struct nki_node *node,
                         const struct guard_target *target) {
    if (target->kind == GUARD_MODULE)
        check_module(guard, node, target->name);
    else if (target->kind == GUARD_MEMBER)
        check_member(guard, node, target->use, str_of(target->name));
    else if (target->kind == GUARD_HELPER)
        check_helper(guard, node, target->helper);
    else if (target->kind == GUARD_HELPER_MEMBER)
        check_attributes(guard, node, true);
    else
        guard_add(guard, guard_rule_of(str_of(target->name), LINT_C_NAME), node,
                  str_of(target->name));
}

/* ---- names ---------------------------------------------------------------------------------- */

static bool is_of_module(struct guard *guard, const struct nki_node *node, const char *name) {
    struct buf module = {0};
    buf_puts(&module, name);
    enum allow_use use = use_in(guard, &module, node->name.id);
    buf_printf(&module, "." STR_FMT, STR_ARG(node->name.id));
    /* Bases that are enumerations are known by their imports. */
    bool is =
        use != ALLOW_ENUM && !is_known_module(guard, &module) && guard_use_fits(guard, node, use);
    buf_free(&module);
    return is;
}

/* from x import *: whether x has a member of that name on the list. */
static bool is_of_star(struct guard *guard, const struct nki_node *node) {
    for (size_t i = 0; i < guard->stars.len; i++) {
        const struct guard_target *star = &guard->stars.at[i];
        if (star->kind == GUARD_HELPER
                ? map_find(&star->helper->exports, node->name.id) != NULL
                : star->kind == GUARD_MODULE && is_of_module(guard, node, star->name))
            return true;
    }
    return false;
}

static void check_plain(struct guard *guard, const struct nki_node *node) {
    struct str id = node->name.id;
    enum allow_use use = allow_word(&guard->allow, ALLOW_BUILTIN, id);
    bool is_python = allow_word(&guard->allow, ALLOW_OTHER_BUILTIN, id) != ALLOW_NOT;
    bool is_own = guard_is_own(guard, node), is_free = map_find(&guard->free, id);
    const char *module = is_own && !is_free ? NULL : allow_convention(&guard->allow, id);
    if (module && !is_of_star(guard, node)) {
        check_module(guard, node, module);
        return;
    }
    /* With a star, a name that a harness binds may be a module of the star's. A module is not
     * called. */
    bool is_bound = is_own || (is_free && (!guard->stars.len || guard_call_of(node)));
    bool is_fine = use == ALLOW_ANY || (is_bound && !is_python && !guard_is_dunder(id)) ||
                   (is_python && guard_is_local(guard, node)) || guard_use_fits(guard, node, use) ||
                   (!is_python && is_of_star(guard, node));
    if (!is_fine && (use || is_python || is_own))
        guard_add(guard, guard_rule_of(id, use ? LINT_C_USE : LINT_C_NAME), node, id);
    else if (!is_fine)
        guard_add_unknown(guard, LINT_C_NAME, node, STR(""), id);
    check_attributes(guard, node, true);
}

static void check_name(struct guard *guard, const struct nki_node *node) {
    const struct guard_target *target = map_get(&guard->imports, node->name.id);
    if (node->context != NKI_LOAD)
        return;
    if (!target)
        check_plain(guard, node);
    for (; target; target = target->next)
        check_target(guard, node, target);
}

static bool begins_with_name(const struct nki_node *attribute) {
    const struct nki_node *base = attribute;
    while (base->kind == NKI_ATTRIBUTE)
        base = base->attribute.value;
    return base->kind == NKI_NAME;
}

/* C(name=pattern) reads the attribute of whatever is matched. */
static void check_keyword_pattern(struct guard *guard, const struct nki_node *node) {
    struct str name = node->match_keyword.name;
    if (!has_attribute(guard, name, true))
        guard_add(guard, guard_rule_of(name, LINT_C_ATTRIBUTE), node, name);
}

void guard_names(struct guard *guard) {
    for (uint32_t i = 0; i < guard->tree->n_nodes; i++) {
        const struct nki_node *node = guard->tree->nodes[i];
        if (node->kind == NKI_NAME)
            check_name(guard, node);
        else if (node->kind == NKI_ATTRIBUTE && !begins_with_name(node))
            guard_attribute(guard, node, true);
        else if (node->kind == NKI_MATCH_KEYWORD)
            check_keyword_pattern(guard, node);
    }
}
