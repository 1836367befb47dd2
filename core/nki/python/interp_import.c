/* SPDX-License-Identifier: Apache-2.0 */
/* Files and modules. The module level of the kernel's file is evaluated tolerantly: a statement
 * that cannot be evaluated (a harness needs torch, say) leaves its names without a value. That
 * matters only to a kernel that uses them. An import finds hone's own modules, the API side's, or a
 * file beside the importing one. Otherwise it gives a name that is good for everything except being
 * used. What a call of the kernel leaves changed in a file is found at the end. */
#include "nki/syntax/syntax.h"
#include "nki/python/inner.h"

#include <stdio.h>
#include <stdlib.h>

struct unit_module {
    struct value_module base;
    struct unit *unit;
};

/* Files may import * from each other in a circle, and from one file by many ways: in one search
 * each is looked into once. */
bool unit_find_in_stars(struct interp *in, const struct nki_node *node, struct unit *unit,
                        struct str name, struct value *result) {
    bool found = false;
    if (!in->within_search)
        in->search++;
    if (unit->searched == in->search)
        return false;
    unit->searched = in->search;
    in->within_search++;
    for (size_t i = unit->stars.len; !found && i-- > 0;)
        found = unit->stars.at[i]->get(in, node, unit->stars.at[i], name, result);
    in->within_search--;
    return found;
}

static bool unit_get(struct interp *in, const struct nki_node *node,
                     const struct value_module *module, struct str name, struct value *result) {
    struct unit *unit = ((const struct unit_module *)module)->unit;
    uint32_t slot;
    if (unit_find(unit, name, &slot)) {
        *result = unit->globals.at[slot];
        if (!is_unset(*result))
            return true;
        if (unit->broken.at[slot])
            return interp_broken(in, node, name, unit->path, unit->broken.at[slot]);
    }
    return unit_find_in_stars(in, node, unit, name, result);
}

static void set_global(struct unit *unit, struct str name, struct value value) {
    uint32_t slot = unit_global(unit, name); /* may move the globals */
    unit->globals.at[slot] = value;
}

struct unit *unit_new(struct interp *in, const struct nki_tree *tree, const char *name) {
    struct unit *unit = ARENA_NEW(in->heap, struct unit);
    struct unit_module *module = ARENA_NEW(in->heap, struct unit_module);
    unit->tree = tree;
    unit->path = tree->file;
    unit->name = name;
    unit->file = (uint32_t)in->program->files.len;
    *vec_push(&in->program->files) = arena_strdup(in->program->arena, tree->file);
    *vec_push(&in->units) = unit;
    scope_resolve(in, unit);
    *module = (struct unit_module){{name, unit_get}, unit};
    unit->module = (struct value){.kind = VALUE_MODULE, .module = &module->base};
    set_global(unit, STR("__name__"), value_string(in, str_of(name)));
    set_global(unit, STR("__file__"), value_string(in, str_of(unit->path)));
    return unit;
}

/* ---- module level --------------------------------------------------------------------------- */

static void mark_broken(struct interp *in, struct unit *unit, const struct nki_node *stmt) {
    struct broken *broken = ARENA_NEW(in->heap, struct broken);
    *broken = (struct broken){arena_printf(in->heap, "the statement in line %d failed (%s)",
                                           nki_place_of(unit->tree, stmt->start).line,
                                           in->failure.message),
                              in->failure};
    for (uint32_t i = stmt->id; i <= stmt->last; i++) {
        const struct nki_node *node = unit->tree->nodes[i];
        bool binds = node->kind == NKI_FUNCTION_DEF || node->kind == NKI_CLASS_DEF ||
                     node->kind == NKI_ALIAS ||
                     (node->kind == NKI_NAME && node->context == NKI_STORE);
        struct ref ref = unit->cells[i].ref;
        if (binds && ref.kind == REF_GLOBAL && is_unset(unit->globals.at[ref.slot]))
            unit->broken.at[ref.slot] = broken;
        if (node->kind == NKI_FUNCTION_DEF || node->kind == NKI_CLASS_DEF)
            i = node->last;
    }
}

/* False when specialising has to end: it is cancelled, or a budget of the whole is used up. */
static bool run_statement(struct interp *in, struct unit *unit, const struct nki_node *stmt) {
    uint64_t limit = in->max_steps;
    size_t temps = in->n_temps, keywords = in->n_keywords;
    size_t storages = in->program->storages.len;
    in->max_steps = MIN_OF(limit, in->steps + INTERP_MODULE_STEPS);
    in->next_check = MIN_OF(in->next_check, in->max_steps);
    enum flow flow = exec(in, stmt);
    in->max_steps = limit;
    in->next_check = in->steps;
    in->n_temps = temps;
    in->n_keywords = keywords;
    if (flow != FLOW_ERROR)
        return true;
    bool steps = strcmp(in->failure.code, "hone-steps") == 0 && in->steps < limit;
    if (in->failure.fatal && !steps)
        return false;
    in->program->storages.len = storages;
    mark_broken(in, unit, stmt);
    in->failure.set = in->failure.fatal = false;
    return true;
}

bool unit_run(struct interp *in, struct unit *unit) {
    struct frame *before = in->frame;
    struct frame *frame = frame_new(in, unit->scope, NULL);
    unit->started = true;
    frame->caller = before;
    in->frame = frame;
    in->tolerant++;
    in->depth++;
    bool good = true;
    for (uint32_t i = 0; i < unit->tree->module->module.body.len && good; i++)
        good = run_statement(in, unit, unit->tree->module->module.body.at[i]);
    in->depth--;
    in->tolerant--;
    in->frame = before;
    return good;
}

/* ---- names nobody knows --------------------------------------------------------------------- */

static bool unknown_get(struct interp *in, const struct nki_node *node,
                        const struct value_module *module, struct str name, struct value *result) {
    struct buf path = {0};
    buf_printf(&path, "%s." STR_FMT, module->name, STR_ARG(name));
    bool good = path.len > 1000
                    ? interp_error(in, node, "ImportError", "a name of %zu characters", path.len)
                    : import_module(in, node, buf_str(&path), result);
    buf_free(&path);
    return good;
}

bool module_is_unknown(struct value value) {
    return value.kind == VALUE_MODULE && value.module->get == unknown_get;
}

static struct value unknown_module(struct interp *in, struct str path) {
    struct value_module *module = ARENA_NEW(in->heap, struct value_module);
    module->name = arena_strndup(in->heap, path.at, path.len);
    module->get = unknown_get;
    return (struct value){.kind = VALUE_MODULE, .module = module};
}

/* ---- files ---------------------------------------------------------------------------------- */

static struct unit *loaded_unit(const struct interp *in, const char *path) {
    for (size_t i = 0; i < in->units.len; i++)
        if (strcmp(in->units.at[i]->path, path) == 0)
            return in->units.at[i];
    return NULL;
}

/* The error of a file, in the file. */
static struct failure *failure_there(struct interp *in, const struct nki_tree *tree,
                                     const struct diag *diag) {
    struct unit *unit = ARENA_NEW(in->heap, struct unit);
    struct failure *there = ARENA_NEW(in->heap, struct failure);
    struct nki_span span = nki_line_span(tree, diag->line);
    unit->tree = tree;
    unit->path = tree->file;
    span.start = MIN_OF(span.start + (uint32_t)MAX_OF(diag->column - 1, 0), span.end);
    span.end = MIN_OF(span.start + 1, span.end);
    *there = (struct failure){
        .message = arena_strdup(in->heap, diag->message), .unit = unit, .span = span};
    snprintf(there->code, sizeof there->code, "%s", diag->code);
    return there;
}

/* No Python imports a file that is none, whatever of it is used. */
static void unparsed_error(struct interp *in, const struct nki_node *node,
                           const struct nki_tree *tree, const struct diag *diag) {
    bool is_error = diag && !strcmp(diag->code, NKI_NO_PYTHON), fresh = !in->failure.set;
    interp_error(in, node, is_error ? "SyntaxError" : "ImportError", "%s:%d: %s", tree->file,
                 diag ? diag->line : 0, diag ? diag->message : "does not parse");
    if (!fresh || !diag)
        return;
    in->failure.fatal = is_error && !in->tries;
    in->failure.first = failure_there(in, tree, diag);
}

static bool load_unit(struct interp *in, const struct nki_node *node, const char *path,
                      struct unit **unit) {
    struct diag_list diags = {0};
    struct err err = {0};
    if (in->units.len >= INTERP_MAX_UNITS)
        return interp_error(in, node, "ImportError", "more than %d files are imported",
                            INTERP_MAX_UNITS);
    if (in->depth >= INTERP_MAX_CALLS / 4)
        return interp_error(in, node, "ImportError", "files import each other too deeply");
    struct nki_tree *tree = nki_parse_file(path, &diags, &err);
    if (!tree) {
        interp_error(in, node, "ImportError", "%s", err.text);
    } else if (tree->errors) {
        *vec_push(&in->unparsed) = tree;
        unparsed_error(in, node, tree, diags.all.len ? &diags.all.at[0] : NULL);
    } else {
        char *name = arena_strdup(in->heap, path_base(path));
        *strrchr(name, '.') = '\0';
        *unit = unit_new(in, tree, name);
        (*unit)->own_tree = tree;
        interp_grew(in, GROWN_SOURCES, tree->n_nodes, arena_bytes(tree->arena));
        interp_count(in, tree->n_nodes);
    }
    diag_free(&diags);
    return !in->failure.set && unit_run(in, *unit);
}

/* Imports a module from a file, which is searched from the importing file's folder, `up` folders
 * higher. Sets *found to false, without an error, when there is no such file. */
static bool import_file(struct interp *in, const struct nki_node *node, struct str dotted,
                        uint32_t up, bool *found, struct value *result) {
    *found = false;
    if (up > 20 || dotted.len > 1000)
        return true;
    char *path = nki_import_path(in->frame->unit->path, dotted, up);
    if (!path)
        return true;
    struct unit *unit = loaded_unit(in, path);
    bool good = unit || load_unit(in, node, path, &unit);
    free(path);
    *found = good;
    if (good)
        *result = unit->module;
    return good;
}

static bool known_module(struct interp *in, struct str path, struct value *result) {
    const struct value_module *module = in->library->module(path);
    if (!module)
        module = in->objects->module(in, path);
    *result = (struct value){.kind = VALUE_MODULE, .module = module};
    return module != NULL;
}

bool import_module(struct interp *in, const struct nki_node *node, struct str path,
                   struct value *result) {
    bool found;
    if (known_module(in, path, result))
        return true;
    if (in->failure.set || !import_file(in, node, path, 0, &found, result))
        return false;
    if (!found)
        *result = unknown_module(in, path);
    return true;
}

/* ---- statements ----------------------------------------------------------------------------- */

enum flow exec_import(struct interp *in, const struct nki_node *stmt) {
    for (uint32_t i = 0; i < stmt->import.names.len; i++) {
        const struct nki_node *alias = stmt->import.names.at[i];
        struct str path = alias->alias.name;
        struct value module;
        const char *dot = path.len ? memchr(path.at, '.', path.len) : NULL;
        if (!alias->alias.asname.len && dot)
            path.len = (size_t)(dot - path.at);
        if (!import_module(in, alias, path, &module))
            return FLOW_ERROR;
        store_ref(in, in->frame->unit->cells[alias->id].ref, module);
    }
    return FLOW_NEXT;
}

static bool relative_module(struct interp *in, const struct nki_node *stmt, struct str path,
                            struct value *result) {
    bool found;
    if (!import_file(in, stmt, path, stmt->import_from.level - 1, &found, result))
        return false;
    if (!found)
        *result = unknown_module(in, path.len ? path : STR("."));
    return true;
}

/* The name itself, or a module of that name inside the package, otherwise an unknown name. */
static bool import_name(struct interp *in, const struct nki_node *stmt,
                        const struct nki_node *alias, struct value module) {
    struct value value;
    struct str name = alias->alias.name;
    bool got = module.module->get(in, alias, module.module, name, &value);
    if (!got && in->failure.set)
        return false;
    if (!got) {
        struct buf path = {0};
        buf_printf(&path, STR_FMT "." STR_FMT, STR_ARG(stmt->import_from.module), STR_ARG(name));
        got = stmt->import_from.level ? relative_module(in, stmt, buf_str(&path), &value)
                                      : import_module(in, alias, buf_str(&path), &value);
        buf_free(&path);
        if (!got)
            return false;
    }
    store_ref(in, in->frame->unit->cells[alias->id].ref, value);
    return true;
}

static void import_star(struct interp *in, struct value module) {
    struct unit *unit = in->frame->unit;
    if (!module_is_unknown(module))
        *vec_push(&unit->stars) = module.module;
}

/* `from . import name` takes a name from the package's __init__, or a file of its own. */
static bool import_siblings(struct interp *in, const struct nki_node *stmt) {
    bool found;
    struct value package, value;
    if (!import_file(in, stmt, STR("__init__"), stmt->import_from.level - 1, &found, &package))
        return false;
    for (uint32_t i = 0; i < stmt->import_from.names.len; i++) {
        const struct nki_node *alias = stmt->import_from.names.at[i];
        bool got =
            found && package.module->get(in, alias, package.module, alias->alias.name, &value);
        if (in->failure.set || (!got && !relative_module(in, stmt, alias->alias.name, &value)))
            return false;
        if (!str_is(alias->alias.name, "*"))
            store_ref(in, in->frame->unit->cells[alias->id].ref, value);
    }
    return true;
}

enum flow exec_import_from(struct interp *in, const struct nki_node *stmt) {
    struct value module;
    if (!stmt->import_from.module.len)
        return import_siblings(in, stmt) ? FLOW_NEXT : FLOW_ERROR;
    bool good = stmt->import_from.level
                    ? relative_module(in, stmt, stmt->import_from.module, &module)
                    : import_module(in, stmt, stmt->import_from.module, &module);
    if (!good)
        return FLOW_ERROR;
    for (uint32_t i = 0; i < stmt->import_from.names.len; i++) {
        const struct nki_node *alias = stmt->import_from.names.at[i];
        if (str_is(alias->alias.name, "*"))
            import_star(in, module);
        else if (!import_name(in, stmt, alias, module))
            return FLOW_ERROR;
    }
    return FLOW_NEXT;
}
