/* SPDX-License-Identifier: Apache-2.0 */
/* Which definition a use of a name reads, what is written where, and which statement makes a tile:
 * the questions about data flow that decide whether an edit is legal. Answers are conservative. */
#include "rewrite/facts/inner.h"

/* Is `stmt` in the block that holds `use`, or in one around it, and before it? */
static bool dominates(const struct nki_node *stmt, const struct nki_node *use) {
    const struct nki_node *at = use;
    while (at && at->parent != stmt->parent)
        at = at->parent;
    uint32_t mine, its;
    const struct nki_list *block = nki_block_of(stmt, &mine);
    return at && block && nki_block_of(at, &its) == block && mine < its;
}

/* A loop variable binds for the body of its loop only. */
static bool reaches(const struct rewrite_access *bind, const struct nki_node *use) {
    if (bind->node->kind == NKI_ARG)
        return true;
    if (bind->stmt->kind == NKI_FOR && nki_contains(bind->stmt->for_.target, bind->node))
        return nki_contains(bind->stmt, use) && use->id > bind->stmt->for_.iter->last;
    return dominates(bind->stmt, use);
}

/* A binding further down in a loop around the use reaches the use in the next iteration, unless
 * each iteration makes the binding that was found anew. */
static bool comes_round(const struct rewrite_name *name, const struct rewrite_access *binding,
                        const struct nki_node *load) {
    for (size_t i = 0; i < name->accesses.len; i++) {
        const struct rewrite_access *later = &name->accesses.at[i];
        if (!(later->how & REWRITE_BIND) || later->node->id < load->id)
            continue;
        for (const struct nki_node *up = load->parent; up; up = up->parent)
            if ((up->kind == NKI_FOR || up->kind == NKI_WHILE) && nki_contains(up, later->node) &&
                !nki_contains(up, binding->node))
                return true;
    }
    return false;
}

static const struct rewrite_access *find_binding(const struct rewrite_model *model,
                                                 const struct nki_node *load) {
    const struct rewrite_name *name = rewrite_name_of(model, load->name.id);
    if (!name)
        return NULL;
    for (size_t i = name->accesses.len; i-- > 0;) {
        const struct rewrite_access *access = &name->accesses.at[i];
        if (!(access->how & REWRITE_BIND) || access->node->id > load->id)
            continue;
        if (access->stmt && access->stmt->kind == NKI_MATCH)
            return NULL; /* what a pattern binds only where it matches */
        if (access->stmt && access->node->kind != NKI_ARG && nki_contains(access->stmt, load) &&
            access->stmt->kind != NKI_FOR)
            continue; /* x = f(x): the right side reads the earlier one */
        return reaches(access, load) && !comes_round(name, access, load) ? access : NULL;
    }
    return NULL;
}

/* The node that binds what is read: the last one before the use that reaches it. NULL when another
 * one may reach it, too. */
static struct nki_node *binding_of(const struct rewrite_model *model, const struct nki_node *load) {
    struct rewrite_memo *memo = model->memo;
    if (!memo->def_state[load->id]) {
        const struct rewrite_access *access = find_binding(model, load);
        memo->defs[load->id] = access ? access->node : NULL;
        memo->def_state[load->id] = REWRITE_MEMO_YES;
    }
    return memo->defs[load->id];
}

struct nki_node *rewrite_def_of(const struct rewrite_model *model, const struct nki_node *load) {
    struct nki_node *node = binding_of(model, load);
    return node && node->kind == NKI_NAME ? node : NULL;
}

bool rewrite_uses_of(const struct rewrite_model *model, const struct nki_node *def,
                     struct rewrite_uses *uses) {
    const struct rewrite_name *name = rewrite_name_of(model, def->name.id);
    uses->at = ARENA_ARRAY(model->arena, struct nki_node *, name->accesses.len);
    uses->len = 0;
    for (size_t i = 0; i < name->accesses.len; i++) {
        const struct rewrite_access *access = &name->accesses.at[i];
        if (access->how & REWRITE_BIND)
            continue;
        const struct nki_node *binding = binding_of(model, access->node);
        if (!binding)
            return false;
        if (binding == def)
            uses->at[uses->len++] = access->node;
    }
    return true;
}

bool rewrite_is_written_between(const struct rewrite_model *model, struct rewrite_name *name,
                                uint32_t from, uint32_t to) {
    const struct rewrite_name *root = rewrite_root(name);
    for (size_t i = 0; i < model->names.len; i++) {
        struct rewrite_name *other = model->names.entries[i].value;
        if (rewrite_root(other) != root)
            continue;
        for (size_t k = 0; k < other->accesses.len; k++) {
            const struct rewrite_access *access = &other->accesses.at[k];
            bool counts =
                access->how & REWRITE_WRITE || (access->how & REWRITE_BIND && other == name);
            if (counts && access->node->id >= from && access->node->id <= to)
                return true;
        }
    }
    return false;
}

bool rewrite_is_written(const struct rewrite_model *model, struct rewrite_name *name,
                        const struct nki_node *within, const struct nki_node *except) {
    if (!except || !nki_contains(within, except))
        return rewrite_is_written_between(model, name, within->id, within->last);
    return (except->id > within->id &&
            rewrite_is_written_between(model, name, within->id, except->id - 1)) ||
           rewrite_is_written_between(model, name, except->last + 1, within->last);
}

const struct nki_list *rewrite_block_of(const struct nki_node *stmt) {
    uint32_t index;
    return nki_block_of(stmt, &index);
}

struct nki_node *rewrite_value_of_def(const struct nki_node *def) {
    const struct nki_node *stmt = def->parent;
    if (stmt && stmt->kind == NKI_ASSIGN && stmt->assign.targets.len == 1 &&
        stmt->assign.targets.at[0] == def)
        return stmt->assign.value;
    return NULL;
}

/* ---- which statement makes a tile ----------------------------------------------------------- */

static bool is_alloc(const struct rewrite_model *model, const struct nki_node *value) {
    struct str name;
    return value && rewrite_call_of(model, value, &name) == REWRITE_NL &&
           (str_is(name, "ndarray") || str_is(name, "empty_like"));
}

/* The plain name, or the name of t[...] and t[:, :] style whole accesses; NULL for a part. */
static struct nki_node *whole_name(const struct rewrite_model *model, struct nki_node *expr) {
    if (expr && expr->kind == NKI_NAME)
        return expr;
    struct rewrite_region region;
    if (!expr || expr->kind != NKI_SUBSCRIPT || expr->subscript.value->kind != NKI_NAME ||
        !rewrite_region_of(model, expr, &region))
        return NULL;
    struct rewrite_tile tile = rewrite_tile_of(model, expr->subscript.value);
    for (int i = 0; i < region.n_dims; i++)
        if (!region.dim[i].full &&
            (!tile.known || region.dim[i].size != tile.shape[i] || region.dim[i].start.base))
            return NULL;
    return expr->subscript.value;
}

/* dst= of a nisa call statement; the first argument in the current dialect. */
static struct nki_node *dst_of(const struct rewrite_model *model, const struct nki_node *call) {
    struct nki_node *dst = nki_keyword(call, "dst");
    if (!dst && model->dialect != NKI_DIALECT_LEGACY)
        dst = rewrite_arg(call, "dst", 0);
    return dst;
}

static bool made_by_dst(const struct rewrite_model *model, struct nki_node *stmt,
                        struct rewrite_maker *maker) {
    maker->call = stmt->expr.value;
    if (maker->call->kind != NKI_CALL)
        return false;
    maker->module = rewrite_call_of(model, maker->call, &maker->op);
    if (maker->module != REWRITE_NISA)
        return false;
    struct nki_node *name = whole_name(model, dst_of(model, maker->call));
    maker->def = name ? rewrite_def_of(model, name) : NULL;
    if (!maker->def || !is_alloc(model, rewrite_value_of_def(maker->def)))
        return false;
    maker->alloc = maker->def->parent;
    struct rewrite_uses uses;
    if (maker->alloc->parent != stmt->parent || !rewrite_uses_of(model, maker->def, &uses))
        return false;
    for (size_t i = 0; i < uses.len; i++)
        if (uses.at[i]->id < stmt->id)
            return false;
    return true;
}

bool rewrite_is_none(const struct nki_node *expr) {
    return !expr || (expr->kind == NKI_CONSTANT && expr->constant.type == NKI_CONST_NONE);
}

/* `v[i, ...] = f(...)`, where nothing else writes v and nothing shares its memory. */
static bool made_as_element(const struct rewrite_model *model, struct nki_node *stmt,
                            struct rewrite_maker *maker) {
    struct nki_node *target = stmt->assign.targets.at[0];
    if (target->kind != NKI_SUBSCRIPT || target->subscript.value->kind != NKI_NAME)
        return false;
    struct rewrite_name *name = rewrite_name_of(model, target->subscript.value->name.id);
    maker->element = target;
    maker->def = NULL;
    for (size_t i = 0; i < name->accesses.len; i++) {
        const struct rewrite_access *access = &name->accesses.at[i];
        if (access->how & REWRITE_BIND && maker->def)
            return false;
        if (access->how & REWRITE_BIND)
            maker->def = access->node;
        if (access->how & REWRITE_WRITE && access->node != target->subscript.value)
            return false;
    }
    for (size_t i = 0; i < model->names.len; i++) {
        struct rewrite_name *other = model->names.entries[i].value;
        if (other != name && rewrite_root(other) == rewrite_root(name))
            return false;
    }
    if (!maker->def || maker->def->kind != NKI_NAME ||
        !is_alloc(model, rewrite_value_of_def(maker->def)))
        return false;
    maker->tile = rewrite_tile_of(model, target);
    return maker->tile.known && maker->tile.space == NKI_SBUF;
}

/* Nobody else may change the tile as long as this definition is the one that is read. */
static bool is_only_writer(const struct rewrite_model *model, const struct rewrite_maker *maker) {
    struct rewrite_uses uses;
    if (!rewrite_uses_of(model, maker->def, &uses))
        return false;
    const struct rewrite_name *name = rewrite_name_of(model, maker->def->name.id);
    for (size_t k = 0; k < name->accesses.len; k++) {
        const struct rewrite_access *access = &name->accesses.at[k];
        if (!(access->how & REWRITE_WRITE) || nki_contains(maker->stmt, access->node))
            continue;
        for (size_t i = 0; i < uses.len; i++)
            if (uses.at[i] == access->node)
                return false;
        if (access->node->context != NKI_LOAD && nki_contains(maker->stmt->parent, access->node))
            return false; /* x += ... on the very name */
    }
    return true;
}

bool rewrite_maker_of(const struct rewrite_model *model, struct nki_node *stmt,
                      struct rewrite_maker *maker) {
    *maker = (struct rewrite_maker){.stmt = stmt};
    if (stmt->kind == NKI_EXPR) {
        if (!made_by_dst(model, stmt, maker))
            return false;
        maker->tile = rewrite_tile_of_def(model, maker->def);
        return is_only_writer(model, maker);
    }
    if (stmt->kind != NKI_ASSIGN || stmt->assign.targets.len != 1 ||
        stmt->assign.value->kind != NKI_CALL)
        return false;
    maker->call = stmt->assign.value;
    maker->module = rewrite_call_of(model, maker->call, &maker->op);
    if ((maker->module != REWRITE_NL && maker->module != REWRITE_NISA) ||
        is_alloc(model, maker->call))
        return false;
    maker->def = stmt->assign.targets.at[0];
    if (maker->def->kind != NKI_NAME)
        return made_as_element(model, stmt, maker);
    maker->tile = rewrite_tile_of_def(model, maker->def);
    return is_only_writer(model, maker);
}

bool rewrite_same_view(const struct rewrite_model *model, const struct nki_node *a,
                       const struct nki_node *b) {
    if (!a || !b || a->kind != b->kind)
        return false;
    const struct nki_node *left = rewrite_root_node(a), *right = rewrite_root_node(b);
    if (!left || !right || !str_equal(left->name.id, right->name.id) ||
        !str_equal(nki_node_text(model->tree, a), nki_node_text(model->tree, b)))
        return false;
    const struct nki_node *def = rewrite_def_of(model, left);
    return def == rewrite_def_of(model, right) &&
           (def || rewrite_name_of(model, left->name.id)->is_param);
}

bool rewrite_reads(const struct rewrite_model *model, const struct nki_node *expr,
                   const struct rewrite_maker *maker) {
    if (!expr)
        return false;
    if (!maker->element)
        return expr->kind == NKI_NAME && rewrite_def_of(model, expr) == maker->def;
    return expr->kind == NKI_SUBSCRIPT &&
           str_equal(nki_node_text(model->tree, expr), nki_node_text(model->tree, maker->element));
}

int rewrite_ordinal(const struct rewrite_model *model, const struct nki_node *def) {
    const struct rewrite_name *name = rewrite_name_of(model, def->name.id);
    int n = 0;
    for (size_t i = 0; i < name->accesses.len && name->accesses.at[i].node != def; i++)
        n += (name->accesses.at[i].how & REWRITE_BIND) != 0;
    return n;
}

/* The one statement that writes v, when it makes just the element that is read here. */
static bool element_maker(const struct rewrite_model *model, const struct nki_node *expr,
                          struct rewrite_maker *maker) {
    if (expr->subscript.value->kind != NKI_NAME)
        return false;
    const struct rewrite_name *name = rewrite_name_of(model, expr->subscript.value->name.id);
    for (size_t i = 0; name && i < name->accesses.len; i++) {
        const struct rewrite_access *access = &name->accesses.at[i];
        if (access->how & REWRITE_WRITE && access->stmt && access->stmt->kind == NKI_ASSIGN)
            return rewrite_maker_of(model, access->stmt, maker) && maker->element &&
                   rewrite_reads(model, expr, maker);
    }
    return false;
}

bool rewrite_maker_of_use(const struct rewrite_model *model, const struct nki_node *expr,
                          struct rewrite_maker *maker) {
    if (expr->kind == NKI_SUBSCRIPT && element_maker(model, expr, maker))
        return true;
    struct nki_node *name = whole_name(model, (struct nki_node *)(uintptr_t)expr);
    struct nki_node *def = name ? rewrite_def_of(model, name) : NULL;
    if (!def)
        return false;
    if (!is_alloc(model, rewrite_value_of_def(def)))
        return def->parent->kind == NKI_ASSIGN && rewrite_maker_of(model, def->parent, maker);
    struct rewrite_uses uses;
    if (!rewrite_uses_of(model, def, &uses) || !uses.len)
        return false;
    struct nki_node *first = nki_statement_of(uses.at[0]);
    return first && first->kind == NKI_EXPR && rewrite_maker_of(model, first, maker) &&
           maker->def == def;
}

bool rewrite_is_load(const struct rewrite_model *model, const struct rewrite_maker *maker,
                     struct nki_node **src) {
    if (maker->element)
        return false;
    if (maker->module == REWRITE_NL && str_is(maker->op, "load")) {
        *src = rewrite_arg(maker->call, "src", 0);
        return *src && rewrite_is_none(nki_keyword(maker->call, "mask"));
    }
    if (maker->module != REWRITE_NISA || !str_is(maker->op, "dma_copy") || !maker->alloc)
        return false;
    *src = nki_keyword(maker->call, "src");
    if (!*src && maker->call->call.args.len > 1)
        *src = maker->call->call.args.at[1];
    struct rewrite_tile from = *src ? rewrite_tile_of(model, *src) : (struct rewrite_tile){0};
    return from.known && from.space == NKI_HBM &&
           rewrite_is_none(nki_keyword(maker->call, "mask")) &&
           maker->call->call.args.len + maker->call->call.keywords.len <= 2;
}
