/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that are no decorated function at module level: `double = make(2.0)` where make returns a
 * function that it decorates, `kernel = nki.jit(body)`, or make() alone, which is called without
 * arguments. */
#include "nki/syntax/syntax.h"

/* The function that a block of statements defines by that name, the last one; NULL: none. */
static struct nki_node *defined_in(const struct nki_list *body, struct str name) {
    struct nki_node *found = NULL;
    for (uint32_t i = 0; i < body->len; i++)
        if (body->at[i]->kind == NKI_FUNCTION_DEF &&
            str_equal(body->at[i]->function_def.name, name))
            found = body->at[i];
    return found;
}

/* The kernel of a call nki.jit(body): the function's name; NULL: it is none. */
static const struct nki_node *jitted(const struct nki_node *value) {
    bool jit = value->kind == NKI_CALL && value->call.args.len == 1 &&
               value->call.args.at[0]->kind == NKI_NAME && nki_makes_kernel(value->call.func);
    return jit ? value->call.args.at[0] : NULL;
}

struct nki_node *nki_made_by(const struct nki_node *factory) {
    const struct nki_list *body = &factory->function_def.body;
    const struct nki_node *last = body->len ? body->at[body->len - 1] : NULL;
    const struct nki_node *value = last && last->kind == NKI_RETURN ? last->return_.value : NULL;
    const struct nki_node *name = !value ? NULL : value->kind == NKI_NAME ? value : jitted(value);
    struct nki_node *kernel = name ? defined_in(body, name->name.id) : NULL;
    bool decorated = kernel && (nki_kernel_decorator(kernel) || name != value);
    return decorated && !nki_kernel_decorator(factory) ? kernel : NULL;
}

/* Reads `name = make(2.0)` or `name = nki.jit(body)`. */
static bool read_assignment(const struct nki_tree *tree, const struct nki_node *stmt,
                            struct nki_made *made) {
    bool plain = stmt->kind == NKI_ASSIGN && stmt->assign.targets.len == 1 &&
                 stmt->assign.targets.at[0]->kind == NKI_NAME &&
                 stmt->assign.value->kind == NKI_CALL;
    if (!plain)
        return false;
    const struct nki_node *value = stmt->assign.value, *body = jitted(value);
    struct nki_node *factory = value->call.func->kind == NKI_NAME
                                   ? nki_find_function(tree, value->call.func->name.id)
                                   : NULL;
    *made = (struct nki_made){.name = stmt->assign.targets.at[0]->name.id};
    if (body)
        made->function = nki_find_function(tree, body->name.id);
    else if (factory && (made->function = nki_made_by(factory)))
        made->factory = factory;
    return made->function != NULL;
}

bool nki_find_made(const struct nki_tree *tree, const char *name, struct nki_made *made) {
    const struct nki_list *body = &tree->module->module.body;
    bool found = false;
    struct nki_made one;
    for (uint32_t i = 0; i < body->len; i++)
        if (read_assignment(tree, body->at[i], &one) &&
            (!name || str_is(one.name, name) ||
             (one.factory && str_is(one.function->function_def.name, name)))) {
            *made = one;
            found = true;
        }
    for (uint32_t i = 0; i < body->len && !found; i++) {
        struct nki_node *factory = body->at[i];
        struct nki_node *kernel = factory->kind == NKI_FUNCTION_DEF ? nki_made_by(factory) : NULL;
        if (!kernel || (name && !str_is(kernel->function_def.name, name) &&
                        !str_is(factory->function_def.name, name)))
            continue;
        *made = (struct nki_made){.function = kernel, .factory = factory};
        return true;
    }
    return found;
}

struct str nki_kernel_name(const struct nki_tree *tree, const struct nki_node *kernel,
                           const char *given) {
    struct nki_made made;
    struct str own = kernel->function_def.name;
    if (given || nki_find_function(tree, own) == kernel || !nki_find_made(tree, NULL, &made) ||
        made.function != kernel)
        return given ? str_of(given) : own;
    return made.name.len ? made.name : made.factory->function_def.name;
}
