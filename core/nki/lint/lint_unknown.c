/* SPDX-License-Identifier: Apache-2.0 */
/* Names of NKI's modules that there are in no release, all of them at once and without running the
 * kernel: an error where every run reaches the name, a warning where it looks like a slip of the
 * pen. */
#include "nki/lint/allow.h"
#include "nki/lint/rules.h"

#include <stdio.h>

#include "nki/release/release.h"

struct unknown {
    struct lint *lint;
    struct allow allow; /* with the names of every release */
    struct nki_profile profile;
};

/* What lint_canonical calls a module, its own name, and whether its names are all known here. */
static const struct module {
    const char *canonical, *name;
    bool is_whole;
} modules[] = {{"nl", "nki.language", true},
               {"nisa", "nki.isa", true},
               {"nki", "nki", false},
               {"nki.collectives", "nki.collectives", false}};

static const struct module *module_of(const struct lint *lint, const struct nki_node *node) {
    struct buf name = {0};
    const struct module *found = NULL;
    const struct nki_node *base = node;
    while (base->kind == NKI_ATTRIBUTE)
        base = base->attribute.value;
    if (base->kind == NKI_NAME && map_find(&lint->aliases, base->name.id) &&
        lint_canonical(lint, node, &name))
        for (size_t i = 0; i < COUNT_OF(modules); i++)
            if (str_is(buf_str(&name), modules[i].canonical))
                found = &modules[i];
    buf_free(&name);
    return found;
}

static bool is_known(const struct unknown *unknown, const struct module *module, struct str name) {
    const char *since = NULL;
    struct buf full = {0};
    bool known = allow_member(&unknown->allow, str_of(module->name), name) != ALLOW_NOT ||
                 str_starts(name, "__");
    buf_printf(&full, "%s." STR_FMT, module->canonical, STR_ARG(name));
    known |= allow_is_module(&unknown->allow, buf_str(&full));
    for (const struct release_row *row = NULL; !known && (row = release_next(row, &since));)
        known = row->name && release_names(row->name, buf_str(&full));
    buf_free(&full);
    return known;
}

/* hasattr(nl, "name"), or a name that is tried: the kernel knows that it may not be there. */
static bool is_asked_for(const struct lint *lint, const struct nki_node *node, struct str name) {
    if (nki_enclosing(node, NKI_TRY))
        return true;
    for (uint32_t i = 0; i < lint->tree->n_nodes; i++) {
        const struct nki_node *text = lint->tree->nodes[i];
        if (text->kind == NKI_CONSTANT && text->constant.type == NKI_CONST_STRING &&
            str_equal(text->constant.text, name))
            return true;
    }
    return false;
}

/* What a run may pass by: a branch, a loop that may have no round, what follows an and or an or. */
static bool is_optional(const struct nki_node *node) {
    const struct nki_node *parent = node->parent;
    switch (parent->kind) {
    case NKI_IF: return node != parent->if_.test;
    case NKI_IF_EXP: return node != parent->if_exp.test;
    case NKI_WHILE:
    case NKI_LAMBDA: return true;
    case NKI_BOOL_OP: return parent->bool_op.values.at[0] != node;
    default: return false;
    }
}

/* Whether the function may end before it comes to the node. */
static bool is_left_before(const struct lint *lint, const struct nki_node *function,
                           const struct nki_node *node) {
    for (uint32_t i = function->id; i < node->id; i++) {
        const struct nki_node *other = lint->tree->nodes[i];
        if ((other->kind == NKI_RETURN || other->kind == NKI_RAISE) &&
            nki_enclosing(other, NKI_FUNCTION_DEF) == function && !nki_contains(other, node))
            return true;
    }
    return false;
}

enum { CALLS_DEEP = 6 }; /* functions that a call is followed through */

static bool is_certain_at(const struct unknown *unknown, const struct nki_node *node, int depth);

static bool is_called(const struct unknown *unknown, const struct nki_node *function, int depth) {
    const struct lint *lint = unknown->lint;
    if (nki_kernel_decorator(function) || function == lint->options->kernel)
        return true;
    for (uint32_t i = 0; depth > 0 && i < lint->tree->n_nodes; i++) {
        const struct nki_node *node = lint->tree->nodes[i];
        if (lint->reached[i] && node->kind == NKI_CALL && node->call.func->kind == NKI_NAME &&
            str_equal(node->call.func->name.id, function->function_def.name) &&
            is_certain_at(unknown, node, depth - 1))
            return true;
    }
    return false;
}

static bool is_certain_at(const struct unknown *unknown, const struct nki_node *node, int depth) {
    const struct nki_node *function = nki_enclosing(node, NKI_FUNCTION_DEF);
    if (!function || is_left_before(unknown->lint, function, node))
        return false;
    if (node->id < function->function_def.body.at[0]->id)
        return true; /* a decorator, a default */
    for (; node != function; node = node->parent)
        if (is_optional(node))
            return false;
    return is_called(unknown, function, depth);
}

/* Whether every run of a kernel reaches the node. Compilers that do not run the file pass over its
 * imports. */
static bool is_certain(const struct unknown *unknown, const struct nki_node *node) {
    return node->kind != NKI_ALIAS && is_certain_at(unknown, node, CALLS_DEEP);
}

static void report(struct unknown *unknown, const struct nki_node *node, struct str module,
                   struct str name, bool is_mild) {
    struct buf full = {0};
    char hint[100];
    const char *near = nki_name_near(module, name, &unknown->profile);
    struct nki_span span =
        node->kind == NKI_ATTRIBUTE ? node->attribute.attr_span : nki_span_of(node);
    buf_printf(&full, STR_FMT "." STR_FMT, STR_ARG(module), STR_ARG(name));
    snprintf(hint, sizeof hint, "did you mean '%.60s'?", near ? near : "");
    lint_report(unknown->lint, LINT_UNKNOWN, span,
                (struct lint_detail){
                    .name = buf_str(&full), .hint = near ? hint : NULL, .is_mild = is_mild});
    buf_free(&full);
}

static void check(struct unknown *unknown, const struct nki_node *node, const struct module *module,
                  struct str name) {
    if (!module || is_known(unknown, module, name) || is_asked_for(unknown->lint, node, name))
        return;
    bool has_near = nki_name_near(str_of(module->name), name, &unknown->profile) != NULL;
    bool is_reached = is_certain(unknown, node);
    if (has_near || (module->is_whole && is_reached))
        report(unknown, node, str_of(module->name), name, !is_reached && node->kind != NKI_ALIAS);
}

static const struct module *module_named(struct str name) {
    if (str_starts(name, "neuronxcc."))
        name = (struct str){name.at + strlen("neuronxcc."), name.len - strlen("neuronxcc.")};
    for (size_t i = 0; i < COUNT_OF(modules); i++)
        if (str_is(name, modules[i].name))
            return &modules[i];
    return NULL;
}

void lint_unknown(struct lint *lint) {
    struct unknown unknown = {
        .lint = lint,
        .profile = {lint->is_legacy ? NKI_DIALECT_LEGACY : NKI_DIALECT_CURRENT,
                    lint->options->release, lint->options->generation}};
    allow_init(&unknown.allow, NULL);
    for (uint32_t i = 0; i < lint->tree->n_nodes; i++) {
        const struct nki_node *node = lint->tree->nodes[i];
        if (node->kind == NKI_ATTRIBUTE && lint->reached[i])
            check(&unknown, node, module_of(lint, node->attribute.value), node->attribute.attr);
        else if (node->kind == NKI_ALIAS && node->parent->kind == NKI_IMPORT_FROM &&
                 !str_is(node->alias.name, "*"))
            check(&unknown, node, module_named(node->parent->import_from.module), node->alias.name);
    }
    allow_free(&unknown.allow);
}
