/* SPDX-License-Identifier: Apache-2.0 */
/* What kind of file it is: which dialect of NKI it is written in, and which of its functions is the
 * kernel. Both are read from the source alone, by what the public kernels of each dialect have in
 * common. Nothing is imported or run. */
#include "nki/syntax/syntax.h"

/* ---- dialect ------------------------------------------------------------------------------- */

static bool is_module_or_below(struct str name, const char *module) {
    size_t len = strlen(module);
    return str_starts(name, module) && (name.len == len || name.at[len] == '.');
}

static enum nki_dialect dialect_of_module(struct str name) {
    if (is_module_or_below(name, "neuronxcc"))
        return NKI_DIALECT_LEGACY;
    return is_module_or_below(name, "nki") ? NKI_DIALECT_CURRENT : NKI_DIALECT_UNKNOWN;
}

static enum nki_dialect dialect_of_import(const struct nki_node *node) {
    if (node->kind == NKI_IMPORT_FROM)
        return node->import_from.level ? NKI_DIALECT_UNKNOWN
                                       : dialect_of_module(node->import_from.module);
    if (node->kind == NKI_ALIAS && node->parent->kind == NKI_IMPORT)
        return dialect_of_module(node->alias.name);
    return NKI_DIALECT_UNKNOWN;
}

/* Names that exist in the legacy API only. */
static const struct {
    const char *dotted, *why;
} legacy_names[] = {
    {"nl.par_dim", "uses nl.par_dim"},       {"nl.arange", "uses nl.arange"},
    {"nl.mgrid", "uses nl.mgrid"},           {"nl.loop_reduce", "uses nl.loop_reduce"},
    {"nl.spmd_dim", "uses nl.spmd_dim"},     {"nki.baremetal", "uses nki.baremetal"},
    {"nki.benchmark", "uses nki.benchmark"}, {"nki.simulate_kernel", "uses nki.simulate_kernel"},
};

/* Calls of nki.isa that returned a tile before they took a dst. */
static const char *const value_calls[] = {
    "nisa.activation",    "nisa.tensor_tensor", "nisa.tensor_scalar",
    "nisa.tensor_reduce", "nisa.nc_matmul",     "nisa.nc_transpose",
    "nisa.tensor_copy",   "nisa.reciprocal",    "nisa.tensor_tensor_scan",
    "nisa.bn_stats",      "nisa.bn_aggr",       "nisa.affine_select",
    "nisa.iota",          "nisa.memset",
};

static bool is_value_call(const struct nki_node *call) {
    for (size_t i = 0; i < COUNT_OF(value_calls); i++)
        if (nki_is_dotted(call->call.func, value_calls[i]))
            return true;
    return false;
}

/* tile[...] = nl.load(..). Only the legacy dialect assigns values to tiles. */
static bool is_tile_assignment(const struct nki_node *node) {
    if (node->kind != NKI_ASSIGN || node->assign.targets.at[0]->kind != NKI_SUBSCRIPT ||
        node->assign.value->kind != NKI_CALL)
        return false;
    const struct nki_node *func = node->assign.value->call.func;
    return func->kind == NKI_ATTRIBUTE && func->attribute.value->kind == NKI_NAME &&
           str_is(func->attribute.value->name.id, "nl");
}

/* The dialect that a name, call or keyword shows. Sets *why when it shows one. */
static enum nki_dialect dialect_of_use(const struct nki_node *node, const char **why) {
    if (node->kind == NKI_ATTRIBUTE) {
        for (size_t i = 0; i < COUNT_OF(legacy_names); i++)
            if (nki_is_dotted(node, legacy_names[i].dotted)) {
                *why = legacy_names[i].why;
                return NKI_DIALECT_LEGACY;
            }
    } else if (node->kind == NKI_CALL && is_value_call(node)) {
        bool has_dst = nki_keyword(node, "dst") != NULL;
        bool is_value = node->parent->kind != NKI_EXPR;
        *why = has_dst ? "passes dst= to nki.isa" : "uses the value of a nki.isa call";
        return has_dst ? NKI_DIALECT_CURRENT : is_value ? NKI_DIALECT_LEGACY : NKI_DIALECT_UNKNOWN;
    } else if (is_tile_assignment(node)) {
        *why = "assigns to a tile";
        return NKI_DIALECT_LEGACY;
    } else if (node->kind == NKI_KEYWORD && str_is(node->keyword.name, "mask")) {
        *why = "passes mask=";
        return NKI_DIALECT_LEGACY;
    }
    return NKI_DIALECT_UNKNOWN;
}

static struct nki_dialect_info by_imports(const struct nki_tree *tree) {
    struct nki_dialect_info found = {.why = "the file does not show which"};
    for (uint32_t i = 0; i < tree->n_nodes; i++) {
        const struct nki_node *node = tree->nodes[i];
        enum nki_dialect dialect = dialect_of_import(node);
        if (dialect == NKI_DIALECT_UNKNOWN)
            continue;
        if (found.dialect != NKI_DIALECT_UNKNOWN && found.dialect != dialect)
            return (struct nki_dialect_info){.why = "imports both packages"};
        if (found.dialect == NKI_DIALECT_UNKNOWN)
            found = (struct nki_dialect_info){dialect, nki_span_of(node),
                                              dialect == NKI_DIALECT_LEGACY ? "imports neuronxcc"
                                                                            : "imports nki"};
    }
    return found;
}

struct nki_dialect_info nki_detect_dialect(const struct nki_tree *tree) {
    struct nki_dialect_info found = by_imports(tree);
    for (uint32_t i = 0; i < tree->n_nodes && found.dialect == NKI_DIALECT_UNKNOWN; i++) {
        const struct nki_node *node = tree->nodes[i];
        const char *why = NULL;
        enum nki_dialect dialect = dialect_of_use(node, &why);
        if (dialect != NKI_DIALECT_UNKNOWN)
            found = (struct nki_dialect_info){dialect, nki_span_of(node), why};
    }
    return found;
}

const char *nki_dialect_name(enum nki_dialect dialect) {
    static const char *const names[] = {"unknown", "legacy", "current"};
    return names[dialect];
}

/* ---- functions and kernels ----------------------------------------------------------------- */

/* Called in order for every function that is in no other function and no class. */
typedef void (*function_fn)(struct nki_node *function, void *context);
static void each_function(const struct nki_tree *tree, function_fn visit, void *context) {
    for (uint32_t i = 0; i < tree->n_nodes; i++) {
        struct nki_node *node = tree->nodes[i];
        if (node->kind == NKI_FUNCTION_DEF)
            visit(node, context);
        if (node->kind == NKI_FUNCTION_DEF || node->kind == NKI_CLASS_DEF)
            i = node->last;
    }
}

struct by_name {
    struct str name;
    struct nki_node *found;
};

static void match_name(struct nki_node *function, void *context) {
    struct by_name *search = context;
    if (str_equal(function->function_def.name, search->name))
        search->found = function;
}

struct nki_node *nki_find_function(const struct nki_tree *tree, struct str name) {
    struct by_name search = {.name = name};
    each_function(tree, match_name, &search);
    return search.found;
}

bool nki_makes_kernel(const struct nki_node *decorator) {
    static const char *const dotted[] = {
        "nki.jit",
        "nki.trace",
        "nki.baremetal",
        "nki.benchmark",
        "nki.profile",
        "jit",
        "nki_jit",
        "baremetal",
        "profile",
        "neuronxcc.nki.jit",
        "neuronxcc.nki.baremetal",
        "neuronxcc.nki.benchmark",
    };
    if (decorator->kind == NKI_CALL)
        decorator = decorator->call.func;
    for (size_t i = 0; i < COUNT_OF(dotted); i++)
        if (nki_is_dotted(decorator, dotted[i]))
            return true;
    return false;
}

struct nki_node *nki_kernel_decorator(const struct nki_node *function) {
    const struct nki_list *decorators = &function->function_def.decorators;
    for (uint32_t i = 0; i < decorators->len; i++)
        if (nki_makes_kernel(decorators->at[i]))
            return decorators->at[i];
    return NULL;
}

/* The candidates for the kernel, by how sure they are. */
struct candidates {
    const struct nki_tree *tree;
    VEC(struct nki_node *) decorated, named, all;
};

static bool is_kernel_name(struct str name) {
    return str_is(name, "kernel") || str_ends(name, "_kernel");
}

static void sort_candidate(struct nki_node *function, void *context) {
    struct candidates *found = context;
    *vec_push(&found->all) = function;
    if (nki_kernel_decorator(function))
        *vec_push(&found->decorated) = function;
    if (is_kernel_name(function->function_def.name))
        *vec_push(&found->named) = function;
}

/* Maps each name to the function that mentions it; to the map itself where several do. */
static void collect_mentions(const struct candidates *found, struct map *mentions) {
    for (size_t f = 0; f < found->all.len; f++) {
        struct nki_node *function = found->all.at[f];
        for (uint32_t i = function->id; i <= function->last; i++) {
            const struct nki_node *node = found->tree->nodes[i];
            if (node->kind != NKI_NAME)
                continue;
            struct map_entry *entry = map_put(mentions, node->name.id);
            entry->value =
                !entry->value || entry->value == function ? (void *)function : (void *)mentions;
        }
    }
}

/* Leaves of the decorated functions those that no other function mentions, unless that is none. */
static void drop_called(struct candidates *found) {
    struct map mentions = {0};
    size_t kept = 0;
    collect_mentions(found, &mentions);
    for (size_t i = 0; i < found->decorated.len; i++) {
        struct nki_node *function = found->decorated.at[i];
        const void *user = map_get(&mentions, function->function_def.name);
        if (!user || user == function)
            found->decorated.at[kept++] = function;
    }
    if (kept)
        found->decorated.len = kept;
    map_free(&mentions);
}

/* The only candidate. Of several decorated ones, the last that no other function calls; where each
 * is called, the last. */
static struct nki_node *choose(struct candidates *found) {
    if (found->decorated.len > 1)
        drop_called(found);
    if (found->decorated.len)
        return found->decorated.at[found->decorated.len - 1];
    if (found->all.len == 1)
        return found->all.at[0];
    return found->named.len == 1 ? found->named.at[0] : NULL;
}

static void print_candidates(const struct candidates *found, struct buf *out) {
    for (size_t i = 0; i < found->all.len && i < 8; i++)
        buf_printf(out, "%s" STR_FMT, i ? ", " : "", STR_ARG(found->all.at[i]->function_def.name));
    if (found->all.len > 8)
        buf_puts(out, ", ...");
}

static void say_none_called(const struct nki_tree *tree, const char *name, struct err *err) {
    struct candidates found = {.tree = tree};
    each_function(tree, sort_candidate, &found);
    struct buf names = {0};
    print_candidates(&found, &names);
    err_set(err, ERR_KERNEL, "%s: there is no function '%s' at module level; there is %s",
            tree->file, name, names.len ? names.at : "none");
    buf_free(&names);
    vec_free(&found.decorated);
    vec_free(&found.named);
    vec_free(&found.all);
}

static struct nki_node *find_without_name(const struct nki_tree *tree, struct err *err) {
    struct candidates found = {.tree = tree};
    each_function(tree, sort_candidate, &found);
    struct nki_made made;
    bool is_made = !found.decorated.len && nki_find_made(tree, NULL, &made);
    struct nki_node *kernel = is_made ? made.function : choose(&found);
    struct buf names = {0};
    print_candidates(&found, &names);
    if (!kernel && !found.all.len)
        err_set(err, ERR_KERNEL, "%s: there is no function in this file that could be the kernel",
                tree->file);
    else if (!kernel)
        err_set(err, ERR_KERNEL,
                "%s: which function is the kernel? None has @nki.jit; name one "
                "of %s",
                tree->file, names.at);
    buf_free(&names);
    vec_free(&found.decorated);
    vec_free(&found.named);
    vec_free(&found.all);
    return kernel;
}

/* Two kernels have two decorators. Most files have one, which need not be read for that. */
static bool may_have_two_kernels(struct str text) {
    const char *first = text.len ? memchr(text.at, '@', text.len) : NULL;
    return first && memchr(first + 1, '@', (size_t)(text.at + text.len - first - 1));
}

void nki_print_other_kernels(const char *file, struct str text, struct buf *out) {
    if (!may_have_two_kernels(text))
        return;
    struct diag_list diags = {0};
    struct nki_tree *tree = nki_parse(file, text, &diags);
    struct candidates found = {.tree = tree};
    each_function(tree, sort_candidate, &found);
    if (found.decorated.len > 1)
        drop_called(&found);
    for (size_t i = 0; i + 1 < found.decorated.len; i++)
        buf_printf(out, "%s" STR_FMT, i ? ", " : "",
                   STR_ARG(found.decorated.at[i]->function_def.name));
    vec_free(&found.decorated);
    vec_free(&found.named);
    vec_free(&found.all);
    nki_tree_free(tree);
    diag_free(&diags);
}

bool nki_has_kernel(const char *file, struct str text, const char *name, struct err *err) {
    struct diag_list diags = {0};
    struct err none = {0};
    struct nki_tree *tree = nki_parse(file, text, &diags);
    bool has = tree->errors || nki_find_kernel(tree, name, &none);
    if (!has)
        err_set(err, ERR_USAGE, "%s", none.text);
    nki_tree_free(tree);
    diag_free(&diags);
    return has;
}

struct nki_node *nki_find_kernel(const struct nki_tree *tree, const char *name, struct err *err) {
    if (!name)
        return find_without_name(tree, err);
    struct nki_node *kernel = nki_find_function(tree, str_of(name));
    struct nki_node *inner = kernel ? nki_made_by(kernel) : NULL;
    struct nki_made made;
    if (inner)
        return inner;
    if (!kernel && nki_find_made(tree, name, &made))
        return made.function;
    if (!kernel)
        say_none_called(tree, name, err);
    return kernel;
}
