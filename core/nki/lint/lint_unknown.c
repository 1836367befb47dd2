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

static void report(struct unknown *unknown, const struct nki_node *node, struct str module,
                   struct str name, bool is_warning) {
    struct buf full = {0};
    char hint[100];
    const char *near = nki_name_near(module, name, &unknown->profile);
    struct nki_span span =
        node->kind == NKI_ATTRIBUTE ? node->attribute.attr_span : nki_span_of(node);
    buf_printf(&full, STR_FMT "." STR_FMT, STR_ARG(module), STR_ARG(name));
    snprintf(hint, sizeof hint, "did you mean '%.60s'?", near ? near : "");
    lint_report(unknown->lint, LINT_UNKNOWN, span,
                (struct lint_detail){
                    .name = buf_str(&full), .hint = near ? hint : NULL, .is_warning = is_warning});
    buf_free(&full);
}

static void check(struct unknown *unknown, const struct nki_node *node, const struct module *module,
                  struct str name) {
    if (!module || is_known(unknown, module, name) || is_asked_for(unknown->lint, node, name))
        return;
    bool has_near = nki_name_near(str_of(module->name), name, &unknown->profile) != NULL;
    bool is_reached = lint_is_certain(unknown->lint, node);
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
