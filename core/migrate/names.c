/* SPDX-License-Identifier: Apache-2.0 */
/* Names: what a file calls the modules of NKI, and how a name of the tables is written in it. */
#include "migrate/private.h"

/* Modules, and what the tables call them. */
static const struct {
    const char *module, *canonical;
} modules[] = {
    {"neuronxcc.nki.language", "nl"}, {"neuronxcc.nki.isa", "nisa"}, {"neuronxcc.nki", "nki"},
    {"nki.language", "nl"},           {"nki.isa", "nisa"},
};

/* The length of the module `module` at the front of a dotted name; 0: it is not there. */
static size_t front(struct str name, const char *module) {
    size_t len = strlen(module);
    bool is = str_starts(name, module) && (name.len == len || name.at[len] == '.');
    return is ? len : 0;
}

/* "neuronxcc.nki.language.load" as "nl.load". */
static void shorten(struct str name, struct buf *out) {
    for (size_t i = 0; i < COUNT_OF(modules); i++) {
        size_t len = front(name, modules[i].module);
        if (!len)
            continue;
        buf_puts(out, modules[i].canonical);
        buf_add(out, name.at + len, name.len - len);
        return;
    }
    buf_add(out, name.at, name.len);
}

static void read_alias(struct migrate *m, const struct nki_node *alias) {
    const struct nki_node *import = alias->parent;
    struct str name = alias->alias.asname.len ? alias->alias.asname : alias->alias.name;
    struct buf whole = {0}, canonical = {0};
    if (import->kind == NKI_IMPORT && !alias->alias.asname.len)
        return; /* "import nki.language" binds nki, which is written out where it is used */
    if (import->kind == NKI_IMPORT_FROM)
        buf_printf(&whole, STR_FMT ".", STR_ARG(import->import_from.module));
    buf_printf(&whole, STR_FMT, STR_ARG(alias->alias.name));
    shorten(buf_str(&whole), &canonical);
    map_put(&m->aliases, name)->value = arena_strdup(m->tree->arena, canonical.at);
    if (!nki_enclosing(import, NKI_FUNCTION_DEF))
        map_put(&m->outer, name);
    buf_free(&whole);
    buf_free(&canonical);
}

void migrate_read_imports(struct migrate *m) {
    map_free(&m->aliases);
    map_free(&m->outer);
    m->aliases = m->outer = (struct map){0};
    for (uint32_t i = 0; i < m->tree->n_nodes; i++)
        if (m->tree->nodes[i]->kind == NKI_ALIAS)
            read_alias(m, m->tree->nodes[i]);
}

bool migrate_name(const struct migrate *m, const struct nki_node *node, struct buf *out) {
    struct buf dotted = {0};
    bool named = nki_dotted_name(node, &dotted);
    if (named) {
        struct str whole = buf_str(&dotted);
        const char *dot = memchr(whole.at, '.', whole.len);
        struct str first = {whole.at, dot ? (size_t)(dot - whole.at) : whole.len};
        const char *module = map_get(&m->aliases, first);
        struct buf joined = {0};
        if (module)
            buf_puts(&joined, module);
        else
            buf_add(&joined, first.at, first.len);
        buf_add(&joined, whole.at + first.len, whole.len - first.len);
        shorten(buf_str(&joined), out);
        buf_free(&joined);
    }
    buf_free(&dotted);
    return named;
}

bool migrate_is(const struct migrate *m, const struct nki_node *node, const char *name) {
    struct buf own = {0};
    bool is = node && migrate_name(m, node, &own) && strcmp(own.at, name) == 0;
    buf_free(&own);
    return is;
}

bool migrate_calls(const struct migrate *m, const struct nki_node *node, const char *name) {
    return node && node->kind == NKI_CALL && migrate_is(m, node->call.func, name);
}

/* The shortest way of the file to a module. One that a function imports is not known outside of it,
 * and taken only in a file without others. */
static const char *way_to(const struct migrate *m, const char *canonical) {
    const char *best = NULL;
    bool any = m->outer.len > 0;
    for (size_t i = 0; i < m->aliases.len; i++) {
        const struct map_entry *entry = &m->aliases.entries[i];
        if (any && !map_find(&m->outer, str_of(entry->key)))
            continue;
        if (strcmp(entry->value, canonical) == 0 && (!best || strlen(entry->key) < strlen(best)))
            best = entry->key;
    }
    return best;
}

void migrate_spell(const struct migrate *m, const char *name, struct buf *out) {
    const char *dot = strchr(name, '.');
    char module[8] = "";
    if (dot && (size_t)(dot - name) < sizeof module)
        memcpy(module, name, (size_t)(dot - name));
    const char *way = *module ? way_to(m, module) : NULL;
    const char *nki = way_to(m, "nki");
    if (way)
        buf_printf(out, "%s%s", way, dot);
    else if (strcmp(module, "nl") == 0)
        buf_printf(out, "%s.language%s", nki ? nki : "nki", dot);
    else if (strcmp(module, "nisa") == 0)
        buf_printf(out, "%s.isa%s", nki ? nki : "nki", dot);
    else
        buf_puts(out, name);
}

static struct str bound_by(const struct nki_node *node) {
    switch (node->kind) {
    case NKI_NAME: return node->context == NKI_STORE ? node->name.id : STR("");
    case NKI_ARG: return node->arg.name;
    case NKI_FUNCTION_DEF: return node->function_def.name;
    case NKI_CLASS_DEF: return node->class_def.name;
    case NKI_ALIAS: return node->alias.asname.len ? node->alias.asname : node->alias.name;
    default: return STR("");
    }
}

bool migrate_binds(const struct migrate *m, struct str name) {
    for (uint32_t i = 0; i < m->tree->n_nodes; i++)
        if (str_equal(bound_by(m->tree->nodes[i]), name))
            return true;
    return false;
}
