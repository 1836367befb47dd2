/* SPDX-License-Identifier: Apache-2.0 */
/* Turns names into slots, once for a file: which scope each node belongs to, which names each scope
 * binds, and, for each use of a name, how many frames outwards and in which slot it is.
 * Comprehensions are blocks: they have names of their own in the frame of the enclosing function.
 * Nothing is evaluated. */
#include "nki/python/inner.h"

#include <stdlib.h>

struct resolver {
    struct interp *in;
    struct unit *unit;
    struct scope **scope_of; /* by node id */
};

static bool is_comprehension(const struct nki_node *node) {
    return node->kind == NKI_LIST_COMP || node->kind == NKI_SET_COMP ||
           node->kind == NKI_DICT_COMP || node->kind == NKI_GENERATOR_EXP;
}

static struct scope *scope_new(struct resolver *r, enum scope_kind kind, struct scope *parent,
                               const struct nki_node *node) {
    struct scope *scope = ARENA_NEW(r->in->heap, struct scope);
    scope->kind = kind;
    scope->parent = parent;
    scope->unit = r->unit;
    scope->node = node;
    scope->host = kind == SCOPE_BLOCK ? parent->host : scope;
    *vec_push(&r->unit->scopes) = scope;
    r->unit->cells[node->id].scope = scope;
    return scope;
}

/* The scope in which a child of `parent` is evaluated. */
static struct scope *scope_for_child(const struct resolver *r, const struct nki_node *parent,
                                     const struct nki_node *child) {
    struct scope *outer = r->scope_of[parent->id];
    struct scope *inner = r->unit->cells[parent->id].scope;
    switch ((enum nki_kind)parent->kind) {
    case NKI_FUNCTION_DEF:
    case NKI_CLASS_DEF: return nki_is_statement(child) ? inner : outer;
    case NKI_LAMBDA: return child == parent->lambda.body ? inner : outer;
    case NKI_LIST_COMP:
    case NKI_SET_COMP:
    case NKI_GENERATOR_EXP:
    case NKI_DICT_COMP: return inner;
    case NKI_COMPREHENSION: {
        /* The first iterable belongs to the scope that encloses the comprehension. */
        const struct nki_node *comp = parent->parent;
        const struct nki_list *all =
            comp->kind == NKI_DICT_COMP ? &comp->dict_comp.generators : &comp->comp.generators;
        if (parent == all->at[0] && child == parent->comprehension.iter)
            return r->scope_of[comp->id];
        return outer;
    }
    default: return outer;
    }
}

static struct scope *host_of(struct scope *scope) {
    while (scope->kind == SCOPE_BLOCK)
        scope = scope->parent;
    return scope;
}

static uint32_t new_slot(struct scope *host, struct str name) {
    if (host->kind == SCOPE_MODULE) {
        *vec_push(&host->unit->globals) = UNSET_VALUE;
        *vec_push(&host->unit->broken) = NULL;
    }
    *vec_push(&host->slot_names) = name;
    return (uint32_t)host->slot_names.len - 1;
}

static void bind(struct scope *scope, struct str name) {
    if (scope->outside.len && map_find(&scope->outside, name))
        return;
    struct map_entry *entry = map_put(&scope->names, name);
    if (entry->value)
        return;
    struct str slot_name = scope->kind == SCOPE_BLOCK ? (struct str){"", 0} : name;
    entry->value = (void *)(uintptr_t)(new_slot(scope->host, slot_name) + 1);
}

uint32_t unit_global(struct unit *unit, struct str name) {
    bind(unit->scope, name);
    return (uint32_t)(uintptr_t)map_get(&unit->scope->names, name) - 1;
}

bool unit_find(const struct unit *unit, struct str name, uint32_t *slot) {
    uintptr_t found = (uintptr_t)map_get(&unit->scope->names, name);
    *slot = (uint32_t)found - 1;
    return found != 0;
}

/* The name that an alias binds: `asname`, otherwise the first part of the dotted name. */
static struct str alias_name(const struct nki_node *node) {
    if (node->alias.asname.len)
        return node->alias.asname;
    struct str name = node->alias.name;
    const char *dot =
        name.len && node->parent->kind == NKI_IMPORT ? memchr(name.at, '.', name.len) : NULL;
    return dot ? (struct str){name.at, (size_t)(dot - name.at)} : name;
}

/* The name that a node binds, and in which scope. False when it binds none. */
static bool binding_of(const struct resolver *r, const struct nki_node *node, struct str *name,
                       struct scope **scope) {
    *scope = r->scope_of[node->id];
    switch ((enum nki_kind)node->kind) {
    case NKI_NAME:
        *name = node->name.id;
        if (node->parent->kind == NKI_NAMED_EXPR && node == node->parent->named_expr.target)
            *scope = host_of(*scope);
        return node->context == NKI_STORE || node->context == NKI_DEL;
    case NKI_FUNCTION_DEF: *name = node->function_def.name; return true;
    case NKI_CLASS_DEF: *name = node->class_def.name; return true;
    case NKI_ALIAS: *name = alias_name(node); return !str_is(node->alias.name, "*");
    case NKI_EXCEPT_HANDLER: *name = node->except_handler.name; return name->len > 0;
    case NKI_ARG:
        *name = node->arg.name;
        *scope = r->unit->cells[node->parent->parent->id].scope;
        return true;
    default: return false;
    }
}

static void bind_params(struct scope *scope, const struct nki_node *args) {
    const struct nki_list *list = &args->arguments.args;
    for (uint32_t i = 0; i < list->len; i++) {
        if (map_get(&scope->names, list->at[i]->arg.name))
            new_slot(scope, (struct str){"", 0}); /* a name given twice; parameter k is slot k */
        bind(scope, list->at[i]->arg.name);
    }
    scope->n_params = list->len;
}

static void declare_outside(struct scope *scope, const struct nki_node *stmt) {
    scope = host_of(scope);
    if (scope->kind == SCOPE_MODULE)
        return; /* its names are global anyway */
    uintptr_t how = stmt->kind == NKI_GLOBAL ? 1 : 2;
    for (uint32_t i = 0; i < stmt->global.len; i++)
        map_put(&scope->outside, stmt->global.names[i])->value = (void *)how;
}

static void open_scopes(struct resolver *r) {
    const struct nki_tree *tree = r->unit->tree;
    for (uint32_t i = 0; i < tree->n_nodes; i++) {
        struct nki_node *node = tree->nodes[i];
        struct scope *scope =
            node->parent ? scope_for_child(r, node->parent, node) : r->unit->scope;
        r->scope_of[i] = scope;
        if (node->kind == NKI_FUNCTION_DEF) {
            bind_params(scope_new(r, SCOPE_FUNCTION, scope, node), node->function_def.args);
        } else if (node->kind == NKI_LAMBDA) {
            bind_params(scope_new(r, SCOPE_FUNCTION, scope, node), node->lambda.args);
        } else if (node->kind == NKI_CLASS_DEF) {
            scope_new(r, SCOPE_CLASS, scope, node);
        } else if (is_comprehension(node)) {
            scope_new(r, SCOPE_BLOCK, scope, node);
        } else if (node->kind == NKI_GLOBAL || node->kind == NKI_NONLOCAL) {
            declare_outside(scope, node);
        } else if (node->kind == NKI_YIELD || node->kind == NKI_YIELD_FROM) {
            host_of(scope)->yields = true;
        }
    }
}

/* Walks outwards from the scope in which a name is used. The frame of a class is seen from the
 * class body itself only, not from its methods. */
static struct ref find_name(struct resolver *r, struct scope *scope, struct str name) {
    uint16_t depth = 0;
    bool direct = true;
    for (struct scope *s = scope; s && s->kind != SCOPE_MODULE; s = s->parent) {
        uintptr_t outside = s->outside.len ? (uintptr_t)map_get(&s->outside, name) : 0;
        if (outside == 1)
            break;
        uintptr_t slot = outside ? 0 : (uintptr_t)map_get(&s->names, name);
        if (slot && (s->host->kind != SCOPE_CLASS || direct)) {
            s->host->captured |= depth > 0;
            if (s->host->kind == SCOPE_MODULE)
                return (struct ref){REF_GLOBAL, 0, (uint32_t)slot - 1};
            return (struct ref){REF_FRAME, depth, (uint32_t)slot - 1};
        }
        if (s->kind == SCOPE_BLOCK)
            continue;
        /* The frame of a method is linked to the frame around its class. */
        depth += s->kind == SCOPE_FUNCTION || direct;
        direct = false;
    }
    return (struct ref){REF_GLOBAL, 0, unit_global(r->unit, name)};
}

/* A frame that something inside may still read after its function returned is never used again. */
static void mark_captured(struct unit *unit) {
    for (size_t i = 0; i < unit->scopes.len; i++) {
        const struct scope *scope = unit->scopes.at[i];
        if (scope->kind == SCOPE_FUNCTION || scope->kind == SCOPE_CLASS)
            scope->parent->host->captured = true;
    }
}

static void bind_names(struct resolver *r) {
    const struct nki_tree *tree = r->unit->tree;
    for (uint32_t i = 0; i < tree->n_nodes; i++) {
        struct str name;
        struct scope *scope;
        if (binding_of(r, tree->nodes[i], &name, &scope))
            bind(scope, name);
    }
}

static void resolve_names(struct resolver *r) {
    const struct nki_tree *tree = r->unit->tree;
    for (uint32_t i = 0; i < tree->n_nodes; i++) {
        struct nki_node *node = tree->nodes[i];
        struct cell *cell = &r->unit->cells[i];
        struct str name;
        struct scope *scope;
        if (binding_of(r, node, &name, &scope))
            cell->ref = find_name(r, scope, name);
        else if (node->kind == NKI_NAME)
            cell->ref = find_name(r, scope, node->name.id);
        else if (node->kind == NKI_ATTRIBUTE)
            cell->attr.name = interp_intern(r->in, node->attribute.attr);
    }
}

static struct value constant_value(struct interp *in, const struct nki_node *node) {
    switch (node->constant.type) {
    case NKI_CONST_FALSE:
    case NKI_CONST_TRUE: return value_bool(node->constant.type == NKI_CONST_TRUE);
    case NKI_CONST_ELLIPSIS: return (struct value){.kind = VALUE_ELLIPSIS};
    case NKI_CONST_INT:
        return value_int(node->constant.integer); /* one that is_big is refused when it is used */
    case NKI_CONST_FLOAT: return value_float(node->constant.number);
    case NKI_CONST_STRING:
    case NKI_CONST_BYTES:
        return (struct value){.kind = VALUE_STR, .str = interp_intern(in, node->constant.text)};
    default: return NONE_VALUE;
    }
}

static void make_constants(struct resolver *r) {
    const struct nki_tree *tree = r->unit->tree;
    for (uint32_t i = 0; i < tree->n_nodes; i++)
        if (tree->nodes[i]->kind == NKI_CONSTANT)
            r->unit->cells[i].constant = constant_value(r->in, tree->nodes[i]);
}

void scope_resolve(struct interp *in, struct unit *unit) {
    struct resolver r = {in, unit, NULL};
    unit->cells = ARENA_ARRAY(in->heap, struct cell, unit->tree->n_nodes + 1);
    r.scope_of = mem_alloc(unit->tree->n_nodes + 1, sizeof(struct scope *));
    unit->scope = scope_new(&r, SCOPE_MODULE, NULL, unit->tree->module);
    open_scopes(&r);
    bind_names(&r);
    resolve_names(&r);
    make_constants(&r);
    mark_captured(unit);
    free(r.scope_of);
}

void scope_free(struct unit *unit) {
    for (size_t i = 0; i < unit->scopes.len; i++) {
        map_free(&unit->scopes.at[i]->names);
        map_free(&unit->scopes.at[i]->outside);
        vec_free(&unit->scopes.at[i]->slot_names);
    }
    vec_free(&unit->scopes);
    vec_free(&unit->globals);
    vec_free(&unit->broken);
}
