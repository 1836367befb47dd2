/* SPDX-License-Identifier: Apache-2.0 */
/* Tile sizes: a constant of the kernel that loop counts divide by gets another value. The new
 * kernel is analysed as a whole: it must keep every limit, and every division must still be
 * exact. */
#include "rewrite/facts/facts.h"
#include "rewrite/moves/private.h"

#include <math.h>

#define MAX_FACTOR 64 /* a tile grows by at most this much in one edit */

static bool is_name(const struct nki_node *node, struct str id) {
    return node->kind == NKI_NAME && str_equal(node->name.id, id);
}

/* Whether the name divides the count of this loop, or is the step of its range. */
static bool divides_count(const struct rewrite_model *model, const struct rewrite_loop *loop,
                          struct str id) {
    const struct nki_node *iter = loop->node->for_.iter;
    if (iter->call.args.len == 3 && is_name(iter->call.args.at[2], id))
        return true;
    for (uint32_t i = iter->id; i <= iter->last; i++) {
        const struct nki_node *node = model->tree->nodes[i];
        if (node->kind == NKI_BIN_OP && node->bin_op.op == NKI_FLOOR_DIV &&
            is_name(node->bin_op.right, id))
            return true;
    }
    return false;
}

/* What a call does with a size in its arguments: it lays data out by it, or computes with it. */
static bool call_lays_out(const struct rewrite_model *model, const struct nki_node *call,
                          const struct nki_node *argument) {
    static const char *const layout[] = {"affine_range", "sequential_range", "static_range",
                                         "ds",           "arange",           "par_dim"};
    static const char *const allocs[] = {"ndarray", "zeros", "ones", "full", "memset"};
    struct str name;
    if (nki_is_dotted(call->call.func, "range") || nki_is_dotted(call->call.func, "par_dim"))
        return true;
    if (rewrite_call_of(model, call, &name) == REWRITE_NO_MODULE)
        return call->call.func->kind == NKI_ATTRIBUTE &&
               (str_is(call->call.func->attribute.attr, "reshape") ||
                str_is(call->call.func->attribute.attr, "broadcast_to"));
    for (size_t i = 0; i < COUNT_OF(layout); i++)
        if (str_is(name, layout[i]))
            return true;
    for (size_t i = 0; i < COUNT_OF(allocs); i++)
        if (str_is(name, allocs[i]))
            return rewrite_arg(call, "shape", 0) == argument;
    return false;
}

static bool name_lays_out(const struct rewrite_model *model, const struct nki_node *def, int depth);
static bool id_lays_out(const struct rewrite_model *model, struct str id, int depth);

/* Whether what is bound with `below`, a part of the value, lays data out: the name itself, or the
 * one with the same place in `a, b = T // 2, 4 * T`. */
static bool target_lays_out(const struct rewrite_model *model, const struct nki_node *target,
                            const struct nki_node *value, const struct nki_node *below, int depth) {
    if (target->kind == NKI_TUPLE && value->kind == NKI_TUPLE &&
        target->tuple.elts.len == value->tuple.elts.len)
        for (uint32_t i = 0; i < value->tuple.elts.len; i++)
            if (nki_contains(value->tuple.elts.at[i], below))
                target = target->tuple.elts.at[i];
    return target->kind == NKI_NAME && name_lays_out(model, target, depth + 1);
}

/* Whether the size lays data out here (an index, a shape, a count) and is not computed with. */
static bool lays_out(const struct rewrite_model *model, const struct nki_node *node, int depth) {
    const struct nki_node *up = node->parent, *below = node;
    for (; up; node = up, up = up->parent) {
        switch (up->kind) {
        case NKI_SUBSCRIPT: return node == up->subscript.slice;
        case NKI_ASSERT: return true;
        case NKI_CALL:
            if (nki_is_dotted(up->call.func, "min") || nki_is_dotted(up->call.func, "max"))
                break;
            return call_lays_out(model, up, node->kind == NKI_KEYWORD ? node->keyword.value : node);
        case NKI_ASSIGN:
            return up->assign.targets.len == 1 &&
                   target_lays_out(model, up->assign.targets.at[0], up->assign.value, below, depth);
        case NKI_ANN_ASSIGN:
            return target_lays_out(model, up->ann_assign.target, up->ann_assign.value, below,
                                   depth);
        case NKI_BIN_OP:
        case NKI_UNARY_OP:
        case NKI_TUPLE:
        case NKI_LIST:
        case NKI_SLICE:
        case NKI_KEYWORD:
        case NKI_COMPARE: break;
        default: return false;
        }
    }
    return false;
}

bool rewrite_lays_out(const struct rewrite_model *model, const struct nki_node *node) {
    return lays_out(model, node, 0);
}

static bool name_lays_out(const struct rewrite_model *model, const struct nki_node *def,
                          int depth) {
    return id_lays_out(model, def->name.id, depth);
}

static bool id_lays_out(const struct rewrite_model *model, struct str id, int depth) {
    const struct rewrite_name *name = rewrite_name_of(model, id);
    if (!name || depth > 6)
        return name == NULL;
    for (size_t i = 0; i < name->accesses.len; i++)
        if (name->accesses.at[i].node->context == NKI_LOAD &&
            name->accesses.at[i].node->kind == NKI_NAME &&
            !lays_out(model, name->accesses.at[i].node, depth))
            return false;
    return true;
}

/* The innermost statement around a span. */
static struct nki_node *stmt_at(const struct rewrite_model *model, struct nki_span span) {
    struct nki_node *found = model->kernel;
    for (uint32_t i = 0; i < model->tree->n_nodes; i++) {
        struct nki_node *node = model->tree->nodes[i];
        if (nki_is_statement(node) && node->start <= span.start && node->end >= span.end)
            found = node;
    }
    return found;
}

static bool is_legal(const struct rewrite_model *model, const struct rewrite_constant *constant,
                     int64_t value, const char **why) {
    struct nki_edits edits = {.tree = model->tree};
    struct buf out = {0};
    struct rewrite_model *after = NULL;
    rewrite_constant_set(constant, value, &edits);
    if (nki_edits_apply(&edits, &out, NULL)) {
        struct rewrite_request next = *model->request;
        next.source = buf_str(&out);
        after = rewrite_model_new(&next, NULL);
    }
    *why = after ? rewrite_why_illegal(after) : "it would not parse";
    rewrite_model_free(after);
    buf_free(&out);
    nki_edits_free(&edits);
    return *why == NULL;
}

/* Cost of an element in a row of n: a fixed part for each instruction and descriptor, and the
 * stream; beyond a few thousand elements nothing is won and overlap is lost. */
double rewrite_row_cost(int64_t n) {
    return (1 + 200.0 / (double)n) * (n > 2048 ? 1 + 0.02 * log2((double)n / 2048) : 1);
}

static void add_site(struct rewrite_model *model, const struct rewrite_row *row,
                     const struct rewrite_constant *constant, int64_t value, double share) {
    struct str name = constant->id;
    int64_t old = constant->value;
    struct rewrite_site *site = rewrite_site_add(model, row, stmt_at(model, constant->span));
    site->number[0] = value;
    site->number[1] = constant->span.start;
    site->number[2] = constant->span.end;
    site->key =
        arena_printf(model->arena, "tile:" STR_FMT ":%lld", STR_ARG(name), (long long)value);
    site->title = arena_printf(model->arena, STR_FMT ": %lld to %lld", STR_ARG(name),
                               (long long)old, (long long)value);
    site->what = arena_printf(model->arena,
                              "Set " STR_FMT " to %lld; loop counts and index "
                              "expressions follow.",
                              STR_ARG(name), (long long)value);
    site->why =
        value > old
            ? "Larger tiles move more bytes in each transfer and pay fixed costs less often."
            : "Smaller tiles let transfers and engines overlap more.";
    site->gain =
        value > old ? share * (1 - rewrite_row_cost(value) / rewrite_row_cost(old)) : 0.004 * share;
    site->size = (double)value / (double)old - 1;
    if (value < old) {
        site->metric = "latency";
        site->size = site->gain;
    }
}

/* The NAME node that binds the constant; NULL for one of the module. */
static const struct nki_node *binding(const struct rewrite_model *model,
                                      const struct rewrite_constant *constant) {
    const struct rewrite_name *name = rewrite_name_of(model, constant->id);
    for (size_t i = 0; name && i < name->accesses.len; i++)
        if (name->accesses.at[i].how & (REWRITE_BIND | REWRITE_WRITE))
            return name->accesses.at[i].node;
    return NULL;
}

static void look_at(struct rewrite_model *model, const struct rewrite_row *row,
                    const struct rewrite_constant *constant) {
    int64_t old = constant->value;
    struct str name = constant->id;
    struct nki_node *stmt = stmt_at(model, constant->span);
    double share = 0;
    int64_t most = 1;
    for (size_t i = 0; i < model->loops.len; i++) {
        const struct rewrite_loop *loop = model->loops.at[i];
        if (!divides_count(model, loop, name))
            continue;
        share += rewrite_share(model, loop->node, 0.5);
        most = MAX_OF(most, loop->trips);
    }
    if (share <= 0 || old < 2)
        return;
    if (!id_lays_out(model, name, 0)) {
        rewrite_decline(model, row, stmt, STR_FMT " is not only used to lay data out",
                        STR_ARG(name));
        return;
    }
    share = fmin(share, 1);
    const char *why = NULL;
    int64_t value = old;
    for (int64_t factor = 2; factor <= MIN_OF(most, MAX_FACTOR); factor++) {
        if (most % factor || model->sites.len > 400)
            continue;
        value = old * factor;
        if (is_legal(model, constant, value, &why))
            add_site(model, row, constant, value, share);
        else
            rewrite_decline(model, row, stmt, STR_FMT " = %lld: %s", STR_ARG(name),
                            (long long)value, why);
    }
    if (old % 2 == 0 && old > NKI_PARTITIONS && is_legal(model, constant, old / 2, &why))
        add_site(model, row, constant, old / 2, share);
}

/* Bound in the kernel's own block, or at module level where the kernel reads it. */
static bool is_of_kernel(const struct rewrite_model *model,
                         const struct rewrite_constant *constant) {
    const struct nki_node *bound = binding(model, constant);
    if (!constant->owner)
        return bound == NULL;
    return bound && str_equal(constant->owner->function_def.name, model->kernel->function_def.name);
}

void rewrite_find_tile(struct rewrite_model *model, const struct rewrite_row *row) {
    if (rewrite_why_illegal(model)) {
        rewrite_decline(model, row, model->kernel, "%s already", rewrite_why_illegal(model));
        return;
    }
    const struct rewrite_request *request = model->request;
    struct rewrite_constants *constants = rewrite_constants_called(
        request->source, request->function, request->inputs, request->n_inputs);
    for (size_t i = 0; i < constants->all.len; i++)
        if (is_of_kernel(model, &constants->all.at[i]))
            look_at(model, row, &constants->all.at[i]);
    rewrite_constants_free(constants);
}

bool rewrite_apply_tile(struct rewrite_model *model, const struct rewrite_site *site,
                        struct nki_edits *edits, struct err *err) {
    (void)err;
    const struct nki_span span = {(uint32_t)site->number[1], (uint32_t)site->number[2]};
    nki_edit_replace(edits, span,
                     str_of(arena_printf(model->arena, "%lld", (long long)site->number[0])));
    return true;
}
