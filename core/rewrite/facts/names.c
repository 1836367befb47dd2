/* SPDX-License-Identifier: Apache-2.0 */
/* The rewriter's model of a kernel: who binds, reads and writes each name, which names may share
 * memory, where the loops are and what the modules are called. It is conservative: what it does not
 * understand counts as read and written. Numbers and shapes are in integers.c
 * and tiles.c. */
#include "rewrite/facts/inner.h"

/* ---- modules and calls ---------------------------------------------------------------------- */

static const struct {
    const char *dotted;
    enum rewrite_module module;
} module_names[] = {
    {"nki", REWRITE_NKI},         {"neuronxcc.nki", REWRITE_NKI},
    {"nki.language", REWRITE_NL}, {"neuronxcc.nki.language", REWRITE_NL},
    {"nki.isa", REWRITE_NISA},    {"neuronxcc.nki.isa", REWRITE_NISA},
    {"numpy", REWRITE_NUMPY},     {"math", REWRITE_MATH},
};

static enum rewrite_module module_find(struct str dotted) {
    for (size_t i = 0; i < COUNT_OF(module_names); i++)
        if (str_is(dotted, module_names[i].dotted))
            return module_names[i].module;
    return REWRITE_NO_MODULE;
}

static void add_module(struct rewrite_model *model, struct str name, struct str dotted) {
    enum rewrite_module module = module_find(dotted);
    if (!module)
        return;
    map_put(&model->modules, name)->value = (void *)(uintptr_t)module;
    const char *text = arena_strndup(model->arena, name.at, name.len);
    if (module == REWRITE_NL)
        model->nl = text;
    if (module == REWRITE_NISA)
        model->nisa = text;
}

static void add_import_from(struct rewrite_model *model, const struct nki_node *node) {
    for (uint32_t i = 0; i < node->import_from.names.len; i++) {
        const struct nki_node *alias = node->import_from.names.at[i];
        const char *dotted =
            arena_printf(model->arena, STR_FMT "." STR_FMT, STR_ARG(node->import_from.module),
                         STR_ARG(alias->alias.name));
        struct str name = alias->alias.asname.len ? alias->alias.asname : alias->alias.name;
        add_module(model, name, str_of(dotted));
    }
}

static void find_modules(struct rewrite_model *model) {
    for (uint32_t i = 0; i < model->tree->n_nodes; i++) {
        const struct nki_node *node = model->tree->nodes[i];
        if (node->kind == NKI_IMPORT_FROM)
            add_import_from(model, node);
        if (node->kind != NKI_IMPORT)
            continue;
        for (uint32_t k = 0; k < node->import.names.len; k++) {
            const struct nki_node *alias = node->import.names.at[k];
            struct str asname = alias->alias.asname;
            add_module(model, asname.len ? asname : alias->alias.name, alias->alias.name);
        }
    }
}

enum rewrite_module rewrite_call_of(const struct rewrite_model *model, const struct nki_node *call,
                                    struct str *name) {
    *name = (struct str){"", 0};
    if (!call || call->kind != NKI_CALL || call->call.func->kind != NKI_ATTRIBUTE)
        return REWRITE_NO_MODULE;
    const struct nki_node *func = call->call.func;
    struct buf dotted = {0};
    enum rewrite_module module = REWRITE_NO_MODULE;
    if (nki_dotted_name(func->attribute.value, &dotted)) {
        module = (enum rewrite_module)(uintptr_t)map_get(&model->modules, buf_str(&dotted));
        if (module == REWRITE_NO_MODULE) /* "nki.language" through "import nki" */
            module = module_find(buf_str(&dotted));
    }
    buf_free(&dotted);
    if (module)
        *name = func->attribute.attr;
    return module;
}

bool rewrite_is_call(const struct rewrite_model *model, const struct nki_node *node,
                     enum rewrite_module module, const char *name) {
    struct str found;
    return rewrite_call_of(model, node, &found) == module && str_is(found, name);
}

struct nki_node *rewrite_arg(const struct nki_node *call, const char *keyword, int position) {
    struct nki_node *value = nki_keyword(call, keyword);
    if (!value && position >= 0 && (uint32_t)position < call->call.args.len)
        value = call->call.args.at[position];
    return value && value->kind == NKI_STARRED ? NULL : value;
}

struct str rewrite_op_name(const struct nki_node *expr) {
    if (expr && expr->kind == NKI_ATTRIBUTE)
        return expr->attribute.attr;
    return (struct str){"", 0};
}

bool rewrite_is_pure(enum rewrite_module module, struct str name) {
    static const char *const effects[] = {
        "rand",
        "rand2",
        "random_seed",
        "dropout",
        "rng",
        "set_rng_seed",
        "rand_set_state",
        "rand_get_state",
        "device_print",
        "sendrecv",
        "core_barrier",
        "register_alloc",
        "register_move",
        "register_load",
        "register_store",
        "store",
        "atomic_rmw",
        "loop_reduce",
        "all_reduce",
        "fori_loop",
        "while_loop",
        "builtin_custom_op",
        "range_select",
        "select_reduce",
        "tensor_scalar_cumulative",
    };
    if (module != REWRITE_NL && module != REWRITE_NISA)
        return false;
    for (size_t i = 0; i < COUNT_OF(effects); i++)
        if (str_is(name, effects[i]))
            return false;
    return true;
}

/* ---- names ---------------------------------------------------------------------------------- */

struct rewrite_name *rewrite_name_of(const struct rewrite_model *model, struct str id) {
    return map_get(&model->names, id);
}

static struct rewrite_name *name_get(struct rewrite_model *model, struct str id) {
    struct map_entry *entry = map_put(&model->names, id);
    if (!entry->value) {
        struct rewrite_name *name = ARENA_NEW(model->arena, struct rewrite_name);
        name->id = id;
        name->alias = name;
        entry->value = name;
    }
    return entry->value;
}

struct rewrite_name *rewrite_root(struct rewrite_name *name) {
    while (name->alias != name)
        name = name->alias;
    return name;
}

static void unite(struct rewrite_name *a, struct rewrite_name *b) {
    rewrite_root(b)->alias = rewrite_root(a);
}

struct nki_node *rewrite_root_node(const struct nki_node *expr) {
    while (expr) {
        switch (expr->kind) {
        case NKI_NAME: return (struct nki_node *)(uintptr_t)expr;
        case NKI_SUBSCRIPT: expr = expr->subscript.value; break;
        case NKI_ATTRIBUTE: expr = expr->attribute.value; break;
        case NKI_CALL:
            expr = expr->call.func->kind == NKI_ATTRIBUTE ? expr->call.func->attribute.value : NULL;
            break;
        default: return NULL;
        }
    }
    return NULL;
}

/* How the call around `child` uses the value of that whole expression. */
static unsigned use_in_call(const struct rewrite_model *model, const struct nki_node *call,
                            const struct nki_node *child) {
    struct str name;
    enum rewrite_module module = rewrite_call_of(model, call, &name);
    const struct nki_node *value = child->kind == NKI_KEYWORD ? child->keyword.value : child;
    if (module == REWRITE_NUMPY || module == REWRITE_MATH || module == REWRITE_NKI)
        return REWRITE_READ;
    if (module == REWRITE_NO_MODULE) {
        static const char *const harmless[] = {"range", "len",   "min",   "max",
                                               "int",   "float", "print", "isinstance",
                                               "abs",   "str",   "divmod"};
        for (size_t i = 0; i < COUNT_OF(harmless); i++)
            if (nki_is_dotted(call->call.func, harmless[i]))
                return REWRITE_READ;
        return REWRITE_READ | REWRITE_WRITE;
    }
    if (value == nki_keyword(call, "dst") || value == nki_keyword(call, "reduce_res"))
        return REWRITE_READ | REWRITE_WRITE;
    bool first = call->call.args.len && call->call.args.at[0] == value;
    if (module == REWRITE_NL)
        return first && (str_is(name, "store") || str_is(name, "atomic_rmw")) ? REWRITE_WRITE
                                                                              : REWRITE_READ;
    bool dst_first = model->dialect != NKI_DIALECT_LEGACY && !nki_keyword(call, "dst");
    return first && dst_first ? REWRITE_READ | REWRITE_WRITE : REWRITE_READ;
}

/* A method call on the name: list methods change it, tensor methods make views. */
static unsigned use_as_method(const struct nki_node *attribute) {
    static const char *const changing[] = {"append", "extend",  "insert", "pop",    "clear",
                                           "remove", "reverse", "sort",   "update", "setdefault"};
    for (size_t i = 0; i < COUNT_OF(changing); i++)
        if (str_is(attribute->attribute.attr, changing[i]))
            return REWRITE_READ | REWRITE_WRITE;
    return REWRITE_READ;
}

/* Follows subscripts and attributes up from a NAME to the use of the view. */
static unsigned use_of(const struct rewrite_model *model, const struct nki_node *name) {
    const struct nki_node *node = name;
    for (int depth = 0; node->parent && depth < REWRITE_MAX_DEPTH * 2; depth++) {
        const struct nki_node *up = node->parent;
        if (up->kind == NKI_SUBSCRIPT && up->subscript.value == node) {
            if (up->context != NKI_LOAD)
                return up->parent->kind == NKI_AUG_ASSIGN ? REWRITE_READ | REWRITE_WRITE
                                                          : REWRITE_WRITE;
        } else if (up->kind == NKI_ATTRIBUTE) {
            unsigned how = use_as_method(up);
            if (how & REWRITE_WRITE)
                return how;
            if (str_is(up->attribute.attr, "shape") || str_is(up->attribute.attr, "dtype"))
                return REWRITE_READ;
        } else if (up->kind == NKI_CALL && up->call.func == node) {
            /* the call of a method: its result is a view of the name */
        } else if (up->kind == NKI_CALL) {
            return use_in_call(model, up, node);
        } else if (up->kind != NKI_KEYWORD) {
            return REWRITE_READ;
        }
        node = up;
    }
    return REWRITE_READ;
}

static void add_access(struct rewrite_model *model, struct nki_node *node, struct str id,
                       unsigned how) {
    struct rewrite_name *name = name_get(model, id);
    *vec_push(&name->accesses) = (struct rewrite_access){node, nki_statement_of(node), how};
}

static void find_accesses(struct rewrite_model *model) {
    for (uint32_t i = model->kernel->id + 1; i <= model->kernel->last; i++) {
        struct nki_node *node = model->tree->nodes[i];
        if (node->kind == NKI_ARG) {
            add_access(model, node, node->arg.name, REWRITE_BIND);
            name_get(model, node->arg.name)->is_param = node->parent->parent == model->kernel;
        }
        if (node->kind != NKI_NAME)
            continue;
        if (node->context == NKI_LOAD)
            add_access(model, node, node->name.id, use_of(model, node));
        else if (node->parent->kind == NKI_AUG_ASSIGN)
            add_access(model, node, node->name.id, REWRITE_READ | REWRITE_WRITE);
        else
            add_access(model, node, node->name.id, REWRITE_BIND);
    }
}

/* ---- what may share memory ------------------------------------------------------------------ */

/* Whether a call makes something new: its result shares no memory with its arguments. */
static bool is_fresh(const struct rewrite_model *model, const struct nki_node *call) {
    struct str name;
    enum rewrite_module module = rewrite_call_of(model, call, &name);
    if (module == REWRITE_NISA || module == REWRITE_NUMPY || module == REWRITE_MATH)
        return true;
    if (module == REWRITE_NL)
        return !str_is(name, "expand_dims") && !str_is(name, "broadcast_to");
    return call->call.func->kind == NKI_NAME &&
           (nki_is_dotted(call->call.func, "range") || nki_is_dotted(call->call.func, "len"));
}

/* Unites the name with every name whose memory the expression may show. */
static void unite_with_views(struct rewrite_model *model, struct rewrite_name *name,
                             const struct nki_node *expr) {
    for (uint32_t i = expr->id; i <= expr->last; i++) {
        const struct nki_node *node = model->tree->nodes[i];
        if (node->kind == NKI_CALL && is_fresh(model, node)) {
            i = node->last;
        } else if (node->kind == NKI_SUBSCRIPT) {
            /* an index holds numbers: only the value shares memory */
            unite_with_views(model, name, node->subscript.value);
            i = node->last;
        } else if (node->kind == NKI_ATTRIBUTE && (str_is(node->attribute.attr, "shape") ||
                                                   str_is(node->attribute.attr, "dtype"))) {
            i = node->last;
        } else if (node->kind == NKI_NAME && !map_get(&model->modules, node->name.id)) {
            unite(name, name_get(model, node->name.id));
        }
    }
}

static void unite_targets(struct rewrite_model *model, const struct nki_node *target,
                          const struct nki_node *value) {
    struct nki_node *root = rewrite_root_node(target);
    int64_t number;
    if (root && !rewrite_int(model, value, &number))
        unite_with_views(model, name_get(model, root->name.id), value);
    if (target->kind != NKI_TUPLE && target->kind != NKI_LIST)
        return;
    const struct nki_list *parts =
        target->kind == NKI_TUPLE ? &target->tuple.elts : &target->list.elts;
    for (uint32_t i = 0; i < parts->len; i++)
        if ((root = rewrite_root_node(parts->at[i])))
            unite_with_views(model, name_get(model, root->name.id), value);
}

/* What patterns bind are the subject or its parts. */
static void unite_captures(struct rewrite_model *model, const struct nki_node *match) {
    for (uint32_t i = match->id; i <= match->last; i++) {
        const struct nki_node *node = model->tree->nodes[i];
        if (node->kind == NKI_NAME && node->context == NKI_STORE && nki_statement_of(node) == match)
            unite_with_views(model, name_get(model, node->name.id), match->match.subject);
    }
}

static void find_aliases(struct rewrite_model *model) {
    for (uint32_t i = model->kernel->id + 1; i <= model->kernel->last; i++) {
        const struct nki_node *node = model->tree->nodes[i];
        if (node->kind == NKI_ASSIGN) {
            for (uint32_t k = 0; k < node->assign.targets.len; k++)
                if (node->assign.targets.at[k]->kind != NKI_SUBSCRIPT ||
                    node->assign.value->kind != NKI_CALL)
                    unite_targets(model, node->assign.targets.at[k], node->assign.value);
        } else if (node->kind == NKI_FOR && node->for_.iter->kind != NKI_CALL) {
            unite_targets(model, node->for_.target, node->for_.iter);
        } else if (node->kind == NKI_MATCH) {
            unite_captures(model, node);
        } else if (node->kind == NKI_CALL && node->call.func->kind == NKI_ATTRIBUTE &&
                   str_is(node->call.func->attribute.attr, "append")) {
            const struct nki_node *root = rewrite_root_node(node->call.func);
            for (uint32_t k = 0; root && k < node->call.args.len; k++)
                unite_with_views(model, name_get(model, root->name.id), node->call.args.at[k]);
        }
    }
}

/* ---- loops ---------------------------------------------------------------------------------- */

static bool is_range(const struct rewrite_model *model, const struct nki_node *iter) {
    if (iter->kind != NKI_CALL || iter->call.keywords.len || iter->call.args.len < 1 ||
        iter->call.args.len > 3)
        return false;
    struct str name;
    if (nki_is_dotted(iter->call.func, "range"))
        return true;
    return rewrite_call_of(model, iter, &name) == REWRITE_NL &&
           (str_is(name, "affine_range") || str_is(name, "sequential_range") ||
            str_is(name, "static_range"));
}

static void add_loop(struct rewrite_model *model, struct nki_node *node) {
    const struct nki_node *iter = node->for_.iter;
    if (!is_range(model, iter) || node->for_.target->kind != NKI_NAME || node->for_.orelse.len)
        return;
    struct rewrite_loop *loop = ARENA_NEW(model->arena, struct rewrite_loop);
    *vec_push(&model->loops) = loop;
    loop->node = node;
    loop->var = node->for_.target->name.id;
    loop->step = 1;
    const struct nki_list *args = &iter->call.args;
    int64_t stop = 0;
    loop->count = args->len == 1 ? args->at[0] : NULL;
    loop->known = rewrite_int(model, args->at[args->len > 1 ? 1 : 0], &stop) &&
                  (args->len < 2 || rewrite_int(model, args->at[0], &loop->start)) &&
                  (args->len < 3 || rewrite_int(model, args->at[2], &loop->step)) &&
                  loop->step > 0 && loop->start >= 0 && stop < (1 << 24);
    loop->stop = stop;
    if (loop->known)
        loop->trips = stop <= loop->start ? 0 : (stop - loop->start + loop->step - 1) / loop->step;
}

const struct rewrite_loop *rewrite_loop_of(const struct rewrite_model *model,
                                           const struct nki_node *node) {
    for (size_t i = 0; i < model->loops.len; i++)
        if (model->loops.at[i]->node == node)
            return model->loops.at[i];
    return NULL;
}

int rewrite_loops_around(const struct rewrite_model *model, const struct nki_node *node,
                         const struct rewrite_loop *loops[REWRITE_MAX_DIMS]) {
    const struct rewrite_loop *found[REWRITE_MAX_DIMS];
    int n = 0;
    const struct nki_node *stmt = nki_statement_of(node);
    for (const struct nki_node *up = stmt ? stmt->parent : NULL; up && up != model->kernel;
         up = up->parent) {
        const struct rewrite_loop *loop = up->kind == NKI_FOR ? rewrite_loop_of(model, up) : NULL;
        if (!loop || n == REWRITE_MAX_DIMS)
            return 0;
        found[n++] = loop;
    }
    for (int i = 0; i < n; i++)
        loops[i] = found[n - 1 - i];
    return n;
}

static struct rewrite_memo *memo_new(struct arena *arena, uint32_t n) {
    struct rewrite_memo *memo = ARENA_NEW(arena, struct rewrite_memo);
    memo->def_state = ARENA_ARRAY(arena, uint8_t, n);
    memo->int_state = ARENA_ARRAY(arena, uint8_t, n);
    memo->tile_state = ARENA_ARRAY(arena, uint8_t, n);
    memo->affine_state = ARENA_ARRAY(arena, uint8_t, n);
    memo->defs = ARENA_ARRAY(arena, struct nki_node *, n);
    memo->ints = ARENA_ARRAY(arena, int64_t, n);
    memo->tiles = ARENA_ARRAY(arena, struct rewrite_tile *, n);
    memo->affines = ARENA_ARRAY(arena, struct rewrite_affine *, n);
    return memo;
}

/* ---- making it ------------------------------------------------------------------------------ */

static void bind_inputs(struct rewrite_model *model) {
    const struct nki_list *args = &model->kernel->function_def.args->arguments.args;
    const struct rewrite_request *request = model->request;
    size_t position = 0;
    for (size_t i = 0; i < request->n_inputs; i++) {
        const struct nki_input *input = &request->inputs[i];
        struct str id = {"", 0};
        if (input->name)
            id = str_of(input->name);
        else if (position < args->len)
            id = args->at[position++]->arg.name;
        struct rewrite_name *name = rewrite_name_of(model, id);
        if (name && name->is_param)
            name->input = input;
    }
}

struct rewrite_model *rewrite_model_new(const struct rewrite_request *request, struct err *err) {
    struct rewrite_model *model = mem_alloc(1, sizeof *model);
    struct diag_list diags = {0};
    model->arena = arena_new();
    model->request = arena_dup(model->arena, request, sizeof *request);
    model->tree = nki_parse(request->path ? request->path : "kernel.py", request->source, &diags);
    if (model->tree->errors)
        err_set(err, ERR_KERNEL, "line %d: %s", diags.all.len ? diags.all.at[0].line : 0,
                diags.all.len ? diags.all.at[0].message : "the source does not parse");
    else
        model->kernel = nki_find_kernel(model->tree, request->function, err);
    diag_free(&diags);
    if (!model->kernel) {
        rewrite_model_free(model);
        return NULL;
    }
    model->dialect = nki_detect_dialect(model->tree).dialect;
    model->memo = memo_new(model->arena, model->tree->n_nodes);
    find_modules(model);
    find_accesses(model);
    bind_inputs(model);
    for (uint32_t i = model->kernel->id + 1; i <= model->kernel->last; i++)
        if (model->tree->nodes[i]->kind == NKI_FOR)
            add_loop(model, model->tree->nodes[i]);
    find_aliases(model);
    return model;
}

void rewrite_model_free(struct rewrite_model *model) {
    if (!model)
        return;
    for (size_t i = 0; i < model->names.len; i++) {
        struct rewrite_name *name = model->names.entries[i].value;
        vec_free(&name->accesses);
    }
    map_free(&model->names);
    map_free(&model->modules);
    vec_free(&model->loops);
    vec_free(&model->sites);
    vec_free(&model->declined);
    nki_tree_free(model->tree);
    arena_free(model->arena);
    mem_free_(model);
}
