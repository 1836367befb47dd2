/* SPDX-License-Identifier: Apache-2.0 */
/* Names for the lints: which names a file binds at all, and what its imports call the modules of
 * NKI. Scopes do not matter here: a name bound anywhere counts as bound. */
#include "nki/lint/rules.h"

/* What the lints call the modules of NKI, whatever name a file gives them. */
static const struct {
    const char *module, *canonical;
} modules[] = {
    {"nki.language", "nl"},        {"nki.isa", "nisa"},      {"neuronxcc.nki.language", "nl"},
    {"neuronxcc.nki.isa", "nisa"}, {"neuronxcc.nki", "nki"},
};

static void bind(struct lint *lint, struct str name) {
    if (name.len)
        map_put(&lint->bound, name);
}

/* The part of a dotted name before its first dot. */
static struct str first_part(struct str dotted) {
    const char *dot = memchr(dotted.at, '.', dotted.len);
    return (struct str){dotted.at, dot ? (size_t)(dot - dotted.at) : dotted.len};
}

static void bind_alias(struct lint *lint, const struct nki_node *node) {
    struct buf module = {0};
    const struct nki_node *import = node->parent;
    struct str name = node->alias.asname.len ? node->alias.asname : node->alias.name;
    if (import->kind == NKI_IMPORT_FROM) {
        buf_add(&module, import->import_from.module.at, import->import_from.module.len);
        buf_putc(&module, '.');
    } else if (!node->alias.asname.len) {
        name = first_part(name); /* `import a.b` binds a */
    }
    if (import->kind == NKI_IMPORT_FROM || node->alias.asname.len)
        buf_add(&module, node->alias.name.at, node->alias.name.len);
    else
        buf_add(&module, name.at, name.len);
    lint->imports_all |= str_is(name, "*");
    bind(lint, name);
    map_put(&lint->aliases, name)->value = arena_strdup(lint->tree->arena, module.at);
    buf_free(&module);
}

void lint_bindings(struct lint *lint) {
    for (uint32_t i = 0; i < lint->tree->n_nodes; i++) {
        const struct nki_node *node = lint->tree->nodes[i];
        switch (node->kind) {
        case NKI_NAME:
            if (node->context == NKI_STORE)
                bind(lint, node->name.id);
            break;
        case NKI_ARG: bind(lint, node->arg.name); break;
        case NKI_FUNCTION_DEF: bind(lint, node->function_def.name); break;
        case NKI_CLASS_DEF: bind(lint, node->class_def.name); break;
        case NKI_EXCEPT_HANDLER: bind(lint, node->except_handler.name); break;
        case NKI_ALIAS: bind_alias(lint, node); break;
        default: break;
        }
    }
}

/* Replaces the longest module of NKI at the front of `name` by its short form. */
static void shorten(struct buf *name, size_t start) {
    for (size_t i = 0; i < COUNT_OF(modules); i++) {
        size_t len = strlen(modules[i].module), left = name->len - start;
        if (left < len || memcmp(name->at + start, modules[i].module, len) != 0 ||
            (left > len && name->at[start + len] != '.'))
            continue;
        struct buf rest = {0};
        buf_puts(&rest, modules[i].canonical);
        buf_add(&rest, name->at + start + len, left - len);
        name->len = start;
        buf_add(name, rest.at, rest.len);
        buf_free(&rest);
        return;
    }
}

bool lint_canonical(const struct lint *lint, const struct nki_node *node, struct buf *out) {
    const struct nki_node *base = node;
    while (base->kind == NKI_ATTRIBUTE)
        base = base->attribute.value;
    if (base->kind != NKI_NAME)
        return false;
    size_t start = out->len;
    const char *module = map_get(&lint->aliases, base->name.id);
    if (module)
        buf_puts(out, module);
    else
        buf_add(out, base->name.id.at, base->name.id.len);
    while (base != node) {
        base = base->parent;
        buf_putc(out, '.');
        buf_add(out, base->attribute.attr.at, base->attribute.attr.len);
    }
    shorten(out, start);
    return true;
}

bool lint_is_builtin(const struct lint *lint, struct str name) {
    return !lint->imports_all && !map_find(&lint->bound, name);
}
