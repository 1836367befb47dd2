/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel that somebody proposed may not do, from its source: reach for anything but its
 * arguments, run code that is not there to be read, keep state, treat one shape or some contents in
 * another way. It is no sandbox: what it cannot see is up to the runner's limits, the data flow of
 * the program (facts.c) and the verdict. What the original kernel does is its owner's business. */
#include "nki/lint.h"

/* ---- imports --------------------------------------------------------------------------------- */

static const char *const modules[] = {
    "nki",  "neuronxcc",  "nkilib",     "neuronx_nki", "numpy",       "math",       "cmath",
    "enum", "functools",  "itertools",  "typing",      "dataclasses", "abc",        "operator",
    "numbers", "collections", "typing_extensions", "__future__", "ml_dtypes",
};

/* Parts of allowed modules that read files or load code. */
static const char *const back_doors[] = {
    "numpy.ctypeslib", "numpy.f2py",  "numpy.distutils", "numpy.testing", "numpy.lib",
    "numpy.memmap",    "numpy.load",  "numpy.save",      "numpy.savez",   "numpy.loadtxt",
    "numpy.savetxt",   "numpy.fromfile", "numpy.genfromtxt", "numpy.DataSource",
    "numpy.fromregex",
};

/* What runs or measures kernels: the candidate is the kernel, not the measurement. */
static const char *const host_side[] = {
    "nki.simulate", "nki.simulate_kernel", "nki.benchmark", "nki.profile", "nki.baremetal",
};

/* Whether `name` is `whole` or something in it. */
static bool is_within(struct str name, const char *whole) {
    size_t len = strlen(whole);
    return name.len >= len && memcmp(name.at, whole, len) == 0 &&
           (name.len == len || name.at[len] == '.');
}

static bool is_in(struct str name, const char *const *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (is_within(name, list[i]))
            return true;
    return false;
}

static void check_module(struct lint *lint, const struct nki_node *node, struct str name) {
    if (!is_in(name, modules, COUNT_OF(modules)))
        lint_name(lint, LINT_C_IMPORT, node, name);
    else if (is_in(name, back_doors, COUNT_OF(back_doors)))
        lint_name(lint, LINT_C_FILE, node, name);
    else if (is_in(name, host_side, COUNT_OF(host_side)))
        lint_name(lint, LINT_C_CALL, node, name);
}

static void check_import(struct lint *lint, const struct nki_node *node) {
    for (uint32_t i = 0; i < node->import.names.len; i++)
        check_module(lint, node->import.names.at[i], node->import.names.at[i]->alias.name);
}

static void check_import_from(struct lint *lint, const struct nki_node *node) {
    struct buf name = {0};
    if (node->import_from.level) {
        lint_name(lint, LINT_C_IMPORT, node, nki_node_text(lint->tree, node));
        return;
    }
    for (uint32_t i = 0; i < node->import_from.names.len; i++) {
        struct str module = node->import_from.module;
        struct str part = node->import_from.names.at[i]->alias.name;
        buf_clear(&name);
        buf_printf(&name, STR_FMT "." STR_FMT, STR_ARG(module), STR_ARG(part));
        check_module(lint, node, buf_str(&name));
    }
    buf_free(&name);
}

/* ---- calls and names ------------------------------------------------------------------------- */

static const char *const code_builtins[] = {
    "eval", "exec", "compile", "__import__", "breakpoint", "input", "globals", "locals", "vars",
    "setattr", "delattr", "memoryview", "exit", "quit", "__builtins__", "__loader__", "__spec__",
};

static void check_name(struct lint *lint, const struct nki_node *node) {
    struct str name = node->name.id;
    if (node->context != NKI_LOAD || !lint_is_builtin(lint, name))
        return;
    if (str_is(name, "open") || str_is(name, "__file__"))
        lint_name(lint, LINT_C_FILE, node, name);
    else if (is_in(name, code_builtins, COUNT_OF(code_builtins)))
        lint_name(lint, LINT_C_CALL, node, name);
}

/* getattr with a name that is put together at run time reaches everything. */
static void check_getattr(struct lint *lint, const struct nki_node *call) {
    const struct nki_node *func = call->call.func;
    if (func->kind != NKI_NAME || !str_is(func->name.id, "getattr") ||
        !lint_is_builtin(lint, func->name.id) || call->call.args.len < 2)
        return;
    const struct nki_node *what = call->call.args.at[1];
    bool is_plain = what->kind == NKI_CONSTANT && what->constant.type == NKI_CONST_STRING &&
                    !str_starts(what->constant.text, "__");
    if (!is_plain)
        lint_name(lint, LINT_C_CALL, call, nki_node_text(lint->tree, call));
}

static const char *const internals[] = {
    "f_back", "f_globals", "f_locals", "f_code", "gi_frame", "tb_frame", "cr_frame", "ag_frame",
};
static const char *const harmless[] = {
    "__name__", "__doc__", "__init__", "__post_init__", "__len__", "__getitem__", "__repr__",
    "__version__",
};

static void check_attribute(struct lint *lint, const struct nki_node *node) {
    struct str attr = node->attribute.attr;
    bool is_dunder = str_starts(attr, "__") && str_ends(attr, "__") &&
                     !is_in(attr, harmless, COUNT_OF(harmless));
    struct buf name = {0};
    if (is_dunder || is_in(attr, internals, COUNT_OF(internals)))
        lint_name(lint, LINT_C_INTERNALS, node, attr);
    else if (str_is(attr, "tofile"))
        lint_name(lint, LINT_C_FILE, node, attr);
    else if (!lint_canonical(lint, node, &name))
        ;
    else if (is_in(buf_str(&name), back_doors, COUNT_OF(back_doors)))
        lint_name(lint, LINT_C_FILE, node, buf_str(&name));
    else if (is_in(buf_str(&name), host_side, COUNT_OF(host_side)))
        lint_name(lint, LINT_C_CALL, node, buf_str(&name));
    buf_free(&name);
}

static void check_global(struct lint *lint, const struct nki_node *node) {
    for (uint32_t i = 0; i < node->global.len; i++)
        lint_name(lint, LINT_C_GLOBAL, node, node->global.names[i]);
}

/* A list or dict as a default value lives from one call to the next. */
static void check_arg(struct lint *lint, const struct nki_node *node) {
    const struct nki_node *value = node->arg.default_value;
    if (value && (value->kind == NKI_DICT || value->kind == NKI_LIST || value->kind == NKI_SET))
        lint_name(lint, LINT_C_GLOBAL, node, node->arg.name);
}

/* ---- tests ------------------------------------------------------------------------------------ */

static bool is_shape(const struct nki_node *node) {
    return node->kind == NKI_ATTRIBUTE && str_is(node->attribute.attr, "shape");
}

/* A tuple or list of numbers, or a collection of such. */
static bool is_literal_shape(const struct nki_node *node) {
    if (node->kind == NKI_DICT)
        return true;
    if (node->kind != NKI_TUPLE && node->kind != NKI_LIST && node->kind != NKI_SET)
        return false;
    const struct nki_list *elts = node->kind == NKI_TUPLE ? &node->tuple.elts : &node->list.elts;
    bool is_literal = elts->len > 0;
    for (uint32_t i = 0; i < elts->len; i++)
        is_literal &= elts->at[i]->kind == NKI_CONSTANT || is_literal_shape(elts->at[i]);
    return is_literal;
}

static bool is_exact_shape(const struct nki_node *compare) {
    const struct nki_node *left = compare->compare.left;
    for (uint32_t i = 0; i < compare->compare.comparators.len; i++) {
        const struct nki_node *right = compare->compare.comparators.at[i];
        if ((is_shape(left) && is_literal_shape(right)) ||
            (is_shape(right) && is_literal_shape(left)))
            return true;
        left = right;
    }
    return false;
}

/* Whether the file asks the name for its shape: then it is a tensor, not a tuple or a number. */
static bool has_shape(const struct lint *lint, struct str name) {
    for (uint32_t i = 0; i < lint->tree->n_nodes; i++) {
        const struct nki_node *node = lint->tree->nodes[i];
        if (is_shape(node) && node->attribute.value->kind == NKI_NAME &&
            str_equal(node->attribute.value->name.id, name))
            return true;
    }
    return false;
}

static bool is_parameter(const struct nki_node *node) {
    const struct nki_node *function = nki_enclosing(node, NKI_FUNCTION_DEF);
    const struct nki_list *args = function ? &function->function_def.args->arguments.args : NULL;
    for (uint32_t i = 0; args && i < args->len; i++)
        if (str_equal(args->at[i]->arg.name, node->name.id))
            return true;
    return false;
}

static void check_test(struct lint *lint, const struct nki_node *test) {
    for (uint32_t i = test->id; i <= test->last; i++) {
        const struct nki_node *node = lint->tree->nodes[i];
        if (node->kind == NKI_COMPARE && is_exact_shape(node))
            lint_name(lint, LINT_C_SHAPE, node, nki_node_text(lint->tree, node));
        if (node->kind != NKI_SUBSCRIPT || node->subscript.value->kind != NKI_NAME)
            continue;
        const struct nki_node *name = node->subscript.value;
        if (is_parameter(name) && has_shape(lint, name->name.id))
            lint_name(lint, LINT_C_CONTENT, node, name->name.id);
    }
}

static void check_if(struct lint *lint, const struct nki_node *node) {
    check_test(lint, node->if_.test);
}

static void check_while(struct lint *lint, const struct nki_node *node) {
    check_test(lint, node->while_.test);
}

static void check_if_exp(struct lint *lint, const struct nki_node *node) {
    check_test(lint, node->if_exp.test);
}

/* A table that is looked up by the whole shape: {(4096, 4096): ...}[x.shape]. */
static void check_subscript(struct lint *lint, const struct nki_node *node) {
    if (is_shape(node->subscript.slice))
        lint_name(lint, LINT_C_SHAPE, node, nki_node_text(lint->tree, node));
}

/* ---- all of them ------------------------------------------------------------------------------ */

typedef void (*check_fn)(struct lint *lint, const struct nki_node *node);
static const check_fn checks[NKI_KIND_COUNT] = {
    [NKI_IMPORT] = check_import, [NKI_IMPORT_FROM] = check_import_from,
    [NKI_NAME] = check_name,     [NKI_CALL] = check_getattr,
    [NKI_GLOBAL] = check_global, [NKI_ATTRIBUTE] = check_attribute,
    [NKI_ARG] = check_arg,       [NKI_IF] = check_if,
    [NKI_WHILE] = check_while,   [NKI_IF_EXP] = check_if_exp,
    [NKI_SUBSCRIPT] = check_subscript,
};

static const char *const narrow[] = {
    "bfloat16",        "float16",         "half",       "tfloat32",    "float8_e4m3",
    "float8_e4m3fn",   "float8_e5m2",     "float8_e8m0fnu", "float8_e4m3fn_x4",
    "float8_e5m2_x4",  "float4_e2m1fn_x4",
};

static void check_type(struct lint *lint, const struct nki_node *node) {
    struct str name = {0};
    if (node->kind == NKI_ATTRIBUTE)
        name = node->attribute.attr;
    else if (node->kind == NKI_CONSTANT && node->constant.type == NKI_CONST_STRING)
        name = node->constant.text;
    if (name.len && is_in(name, narrow, COUNT_OF(narrow)))
        lint_name(lint, LINT_C_NARROW, node, name);
}

static void find(const struct nki_tree *tree, const struct nki_candidate_options *options,
                 struct diag_list *diags) {
    struct nki_lint_options none = {0};
    struct lint lint = {.tree = tree, .options = &none, .diags = diags};
    lint_bindings(&lint);
    for (uint32_t i = 0; i < tree->n_nodes; i++) {
        const struct nki_node *node = tree->nodes[i];
        if (checks[node->kind])
            checks[node->kind](&lint, node);
        if (options->looks_for_types)
            check_type(&lint, node);
    }
    map_free(&lint.aliases);
    map_free(&lint.bound);
}

static void check_dialect(const struct nki_tree *tree, const struct nki_tree *original,
                          struct diag_list *diags) {
    struct nki_dialect_info now = nki_detect_dialect(tree), was = nki_detect_dialect(original);
    struct lint lint = {.tree = tree, .diags = diags};
    if (now.dialect == NKI_DIALECT_UNKNOWN || was.dialect == NKI_DIALECT_UNKNOWN ||
        now.dialect == was.dialect)
        return;
    const char *name = now.dialect == NKI_DIALECT_LEGACY ? "the legacy package neuronxcc.nki"
                                                         : "the package nki";
    lint_report(&lint, LINT_C_DIALECT, now.seen, (struct lint_detail){.name = str_of(name)});
}

/* What is known by code and message, places aside. */
static void key_print(struct buf *out, const struct diag *diag) {
    buf_clear(out);
    buf_printf(out, "%s %s", diag->code, diag->message);
}

/* The findings that are not among those of the original. */
static void take_new(const struct diag_list *found, const struct diag_list *before,
                     struct diag_list *diags) {
    struct map known = {0};
    struct buf key = {0};
    for (size_t i = 0; i < before->all.len; i++) {
        key_print(&key, &before->all.at[i]);
        map_put(&known, buf_str(&key));
    }
    for (size_t i = 0; i < found->all.len; i++) {
        const struct diag *diag = &found->all.at[i];
        key_print(&key, diag);
        if (map_find(&known, buf_str(&key)))
            continue;
        struct diag *copy = diag_add(diags, diag->severity, diag->code, diag->file, diag->line,
                                     diag->column, "%s", diag->message);
        copy->end_line = diag->end_line;
        copy->end_column = diag->end_column;
    }
    map_free(&known);
    buf_free(&key);
}

static void find_errors(const struct nki_tree *tree, const char *release, struct diag_list *diags) {
    struct diag_list all = {0};
    struct nki_lint_options options = {.release = release};
    nki_lint(tree, &options, &all);
    for (size_t i = 0; i < all.all.len; i++)
        if (all.all.at[i].severity == DIAG_ERROR)
            diag_add(diags, DIAG_ERROR, all.all.at[i].code, all.all.at[i].file,
                     all.all.at[i].line, all.all.at[i].column, "%s", all.all.at[i].message);
    diag_free(&all);
}

void nki_lint_candidate(const struct nki_tree *tree, const struct nki_candidate_options *options,
                        struct diag_list *diags) {
    const struct nki_tree *original = options->original;
    struct diag_list found = {0}, before = {0};
    size_t first = diags->all.len;
    if (tree->errors)
        return;
    find(tree, options, &found);
    find_errors(tree, options->release, &found);
    if (original && !original->errors) {
        check_dialect(tree, original, diags);
        find(original, options, &before);
        find_errors(original, options->release, &before);
    }
    take_new(&found, &before, diags);
    nki_sort_findings(diags, first);
    diag_free(&found);
    diag_free(&before);
}
