/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that use both packages of NKI, neuronxcc.nki and nki. Each traces kernels by itself, and
 * takes no tile of the other's; here such a file would be judged as if it were of one of them. */
#include "nki/lint/rules.h"

#include <string.h>

enum package { OLDER, CURRENT, PACKAGES };
static const char *const package_names[PACKAGES] = {"neuronxcc.nki", "nki"};

static bool is_below(const char *module, const char *package) {
    size_t len = strlen(package);
    return !strncmp(module, package, len) && (!module[len] || module[len] == '.');
}

/* The package of a name that was imported. Annotations are not compiled: published kernels for nki
 * take them from neuronxcc.nki.typing. */
static enum package package_of(const struct lint *lint, const struct nki_node *node) {
    const char *module = node->kind == NKI_NAME && node->context == NKI_LOAD
                             ? map_get(&lint->aliases, node->name.id)
                             : NULL;
    if (!module || is_below(module, "neuronxcc.nki.typing"))
        return PACKAGES;
    for (int i = 0; i < PACKAGES; i++)
        if (is_below(module, package_names[i]))
            return (enum package)i;
    return PACKAGES;
}

static void both_report(struct lint *lint, const struct nki_node *one,
                        const struct nki_node *other) {
    enum package of = package_of(lint, other);
    int line = nki_place_of(lint->tree, nki_span_of(one).start).line;
    struct buf text = {0};
    buf_printf(&text, STR_FMT " is of %s, while " STR_FMT " in line %d is of %s",
               STR_ARG(other->name.id), package_names[of], STR_ARG(one->name.id), line,
               package_names[of == OLDER ? CURRENT : OLDER]);
    lint_name(lint, LINT_MIXED, other, buf_str(&text));
    buf_free(&text);
}

void lint_mixed(struct lint *lint) {
    const struct nki_node *first = NULL;
    for (uint32_t i = 0; i < lint->tree->n_nodes; i++) {
        const struct nki_node *node = lint->tree->nodes[i];
        enum package package = lint->reached[i] ? package_of(lint, node) : PACKAGES;
        if (package == PACKAGES)
            continue;
        if (first && package != package_of(lint, first)) {
            both_report(lint, first, node);
            return;
        }
        first = first ? first : node;
    }
}
