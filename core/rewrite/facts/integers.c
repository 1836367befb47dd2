/* SPDX-License-Identifier: Apache-2.0 */
/* Integers of a kernel: constants, affine forms over loop variables, and the regions that
 * subscripts select. Anything else is "not known". */
#include "rewrite/facts/inner.h"

#include <stdlib.h>

static const struct {
    const char *name;
    int64_t value;
} tile_sizes[] = {
    /* nl.tile_size of the NKI language reference */
    {"pmax", 128},
    {"psum_fmax", 512},
    {"psum_bank_fmax", 512},
    {"gemm_stationary_fmax", 128},
    {"gemm_moving_fmax", 512},
    {"bn_stats_fmax", 512},
    {"psum_num_banks", 8},
};

static bool eval(const struct rewrite_model *model, const struct nki_node *expr, int64_t *value,
                 int depth);

static bool fits(int64_t value) {
    return value > -((int64_t)1 << 40) && value < ((int64_t)1 << 40);
}

static bool eval_binary(const struct rewrite_model *model, const struct nki_node *expr,
                        int64_t *value, int depth) {
    int64_t a, b;
    if (!eval(model, expr->bin_op.left, &a, depth + 1) ||
        !eval(model, expr->bin_op.right, &b, depth + 1))
        return false;
    switch (expr->bin_op.op) {
    case NKI_ADD: *value = a + b; break;
    case NKI_SUB: *value = a - b; break;
    case NKI_MUL:
        if (llabs(a) > (1 << 30) || llabs(b) > (1 << 30))
            return false;
        *value = a * b;
        break;
    case NKI_FLOOR_DIV:
        if (b <= 0 || a < 0)
            return false;
        *value = a / b;
        break;
    case NKI_MOD:
        if (b <= 0 || a < 0)
            return false;
        *value = a % b;
        break;
    default: return false;
    }
    return fits(*value);
}

/* x.shape of a parameter or a tile whose shape is known. */
static bool eval_shape(const struct rewrite_model *model, const struct nki_node *attribute,
                       int64_t index, int64_t *value) {
    if (!attribute || attribute->kind != NKI_ATTRIBUTE ||
        !str_is(attribute->attribute.attr, "shape"))
        return false;
    struct rewrite_tile tile = rewrite_tile_of(model, attribute->attribute.value);
    if (index < 0)
        index += tile.n_dims;
    if (!tile.known || index < 0 || index >= tile.n_dims)
        return false;
    *value = tile.shape[index];
    return true;
}

/* What a statement binds to the name at this place of its targets: *part is the value where the
 * whole is one expression for it, else the number of its element in *whole. */
struct binding {
    const struct nki_node *part, *whole;
    int64_t index;
};
static bool has_star(const struct nki_node *tuple) {
    bool has = false;
    for (uint32_t i = 0; i < tuple->tuple.elts.len; i++)
        has |= tuple->tuple.elts.at[i]->kind == NKI_STARRED;
    return has;
}
static bool binding_in(const struct nki_node *target, const struct nki_node *value, struct str id,
                       struct binding *found) {
    if (target->kind == NKI_NAME && str_equal(target->name.id, id)) {
        *found = (struct binding){.part = value};
        return true;
    }
    for (uint32_t i = 0; target->kind == NKI_TUPLE && i < target->tuple.elts.len; i++) {
        const struct nki_node *element = target->tuple.elts.at[i];
        if (element->kind != NKI_NAME || !str_equal(element->name.id, id))
            continue;
        *found = (struct binding){.whole = has_star(target) ? NULL : value, .index = i};
        if (value->kind == NKI_TUPLE)
            *found = (struct binding){.part = value->tuple.elts.len == target->tuple.elts.len
                                                  ? value->tuple.elts.at[i]
                                                  : NULL};
        return true;
    }
    return false;
}

/* `T = 128`, `T: int = 128`, `TM, TN = 128, 512`, `M, K = x.shape`, `A = B = 128`. */
static bool binding_of(const struct nki_node *stmt, struct str id, struct binding *found) {
    if (stmt->kind == NKI_ANN_ASSIGN && stmt->ann_assign.value)
        return binding_in(stmt->ann_assign.target, stmt->ann_assign.value, id, found);
    for (uint32_t i = 0; stmt->kind == NKI_ASSIGN && i < stmt->assign.targets.len; i++)
        if (binding_in(stmt->assign.targets.at[i], stmt->assign.value, id, found))
            return true;
    return false;
}

static bool eval_binding(const struct rewrite_model *model, const struct binding *binding,
                         int64_t *value, int depth) {
    if (binding->part)
        return eval(model, binding->part, value, depth + 1);
    return binding->whole && eval_shape(model, binding->whole, binding->index, value);
}

/* A constant at module level that is bound once. */
static bool eval_global(const struct rewrite_model *model, struct str id, int64_t *value,
                        int depth) {
    struct binding found = {0}, other;
    const struct nki_list *body = &model->tree->module->module.body;
    for (uint32_t i = 0; i < body->len; i++) {
        if (!binding_of(body->at[i], id, &other))
            continue;
        if (found.part || !other.part)
            return false;
        found = other;
    }
    return found.part && eval_binding(model, &found, value, depth);
}

/* The statement that binds this NAME (store) node, where it is a plain one. */
static bool eval_bound(const struct rewrite_model *model, const struct nki_node *def,
                       int64_t *value, int depth) {
    struct binding binding;
    const struct nki_node *stmt = def->parent;
    if (stmt && stmt->kind == NKI_TUPLE)
        stmt = stmt->parent;
    return stmt && binding_of(stmt, def->name.id, &binding) &&
           eval_binding(model, &binding, value, depth);
}

static bool eval_def(const struct rewrite_model *model, const struct nki_node *def, int64_t *value,
                     int depth) {
    struct rewrite_memo *memo = model->memo;
    if (!memo->int_state[def->id]) {
        memo->int_state[def->id] = REWRITE_MEMO_NO;
        int64_t found;
        if (def->kind == NKI_NAME && eval_bound(model, def, &found, depth)) {
            memo->int_state[def->id] = REWRITE_MEMO_YES;
            memo->ints[def->id] = found;
        }
    }
    *value = memo->ints[def->id];
    return memo->int_state[def->id] == REWRITE_MEMO_YES;
}

/* A parameter that nothing binds again: what the task calls the kernel with, else its default. */
static bool eval_parameter(const struct rewrite_model *model, const struct rewrite_name *name,
                           int64_t *value, int depth) {
    const struct nki_node *arg = name->accesses.at[0].node;
    if (arg->kind != NKI_ARG)
        return false;
    for (size_t i = 1; i < name->accesses.len; i++)
        if (name->accesses.at[i].how & REWRITE_BIND)
            return false;
    if (!name->input)
        return model->request->n_inputs && arg->arg.default_value &&
               eval(model, arg->arg.default_value, value, depth + 1);
    *value = name->input->i;
    return name->input->kind == NKI_INPUT_INT;
}

static bool eval_name(const struct rewrite_model *model, const struct nki_node *expr,
                      int64_t *value, int depth) {
    struct rewrite_name *name = rewrite_name_of(model, expr->name.id);
    if (!name)
        return false;
    bool bound = false;
    for (size_t i = 0; i < name->accesses.len; i++) {
        bound |= (name->accesses.at[i].how & REWRITE_BIND) != 0;
        if (name->accesses.at[i].node->context != NKI_LOAD &&
            name->accesses.at[i].how & REWRITE_WRITE)
            return false; /* n += 1 */
    }
    if (!bound)
        return eval_global(model, expr->name.id, value, depth);
    struct nki_node *def = rewrite_def_of(model, expr);
    if (def)
        return eval_def(model, def, value, depth);
    return name->is_param && eval_parameter(model, name, value, depth);
}

static bool eval_call(const struct rewrite_model *model, const struct nki_node *expr,
                      int64_t *value, int depth) {
    bool is_min = nki_is_dotted(expr->call.func, "min");
    if (is_min || nki_is_dotted(expr->call.func, "max")) {
        int64_t a, b;
        if (expr->call.args.len != 2 || !eval(model, expr->call.args.at[0], &a, depth + 1) ||
            !eval(model, expr->call.args.at[1], &b, depth + 1))
            return false;
        *value = is_min ? MIN_OF(a, b) : MAX_OF(a, b);
        return true;
    }
    bool is_same = nki_is_dotted(expr->call.func, "int") ||
                   rewrite_is_call(model, expr, REWRITE_NL, "par_dim") ||
                   nki_is_dotted(expr->call.func, "par_dim");
    return is_same && expr->call.args.len == 1 &&
           eval(model, expr->call.args.at[0], value, depth + 1);
}

bool rewrite_tile_size(const struct nki_node *expr, int64_t *value) {
    const struct nki_node *of = expr->kind == NKI_ATTRIBUTE ? expr->attribute.value : NULL;
    if (!of || of->kind != NKI_ATTRIBUTE || !str_is(of->attribute.attr, "tile_size"))
        return false;
    for (size_t i = 0; i < COUNT_OF(tile_sizes); i++)
        if (str_is(expr->attribute.attr, tile_sizes[i].name)) {
            *value = tile_sizes[i].value;
            return true;
        }
    return false;
}

static bool eval(const struct rewrite_model *model, const struct nki_node *expr, int64_t *value,
                 int depth) {
    int64_t index;
    if (depth > REWRITE_MAX_DEPTH)
        return false;
    switch (expr->kind) {
    case NKI_CONSTANT:
        *value = expr->constant.integer;
        return expr->constant.type == NKI_CONST_INT && !expr->constant.is_big && fits(*value);
    case NKI_NAME: return eval_name(model, expr, value, depth);
    case NKI_BIN_OP: return eval_binary(model, expr, value, depth);
    case NKI_UNARY_OP:
        if (expr->unary_op.op != NKI_UNARY_MINUS ||
            !eval(model, expr->unary_op.operand, value, depth + 1))
            return false;
        *value = -*value;
        return true;
    case NKI_CALL: return eval_call(model, expr, value, depth);
    case NKI_ATTRIBUTE: return rewrite_tile_size(expr, value);
    case NKI_SUBSCRIPT:
        return eval(model, expr->subscript.slice, &index, depth + 1) &&
               eval_shape(model, expr->subscript.value, index, value);
    default: return false;
    }
}

bool rewrite_int(const struct rewrite_model *model, const struct nki_node *expr, int64_t *value) {
    if (model->memo->depth > REWRITE_MAX_NESTING)
        return false;
    model->memo->depth++;
    bool known = eval(model, expr, value, 0);
    model->memo->depth--;
    return known;
}

/* ---- affine forms --------------------------------------------------------------------------- */

static struct rewrite_affine affine(const struct rewrite_model *model, const struct nki_node *expr,
                                    int depth);

static const struct rewrite_affine unknown_affine;

static void add_term(struct rewrite_affine *to, const struct rewrite_loop *loop, int64_t coef) {
    for (int i = 0; i < to->n_terms; i++)
        if (to->term[i].loop == loop) {
            to->term[i].coef += coef;
            return;
        }
    if (to->n_terms == REWRITE_MAX_TERMS) {
        to->known = false;
        return;
    }
    to->term[to->n_terms].loop = loop;
    to->term[to->n_terms++].coef = coef;
}

static struct rewrite_affine scaled(struct rewrite_affine a, int64_t by) {
    a.base *= by;
    a.arange_step *= by;
    for (int i = 0; i < a.n_terms; i++)
        a.term[i].coef *= by;
    a.known &= fits(a.base) && llabs(by) < (1 << 30);
    return a;
}

static struct rewrite_affine plus(struct rewrite_affine a, const struct rewrite_affine *b) {
    if (!a.known || !b->known || (a.arange && b->arange))
        return unknown_affine;
    a.base += b->base;
    if (b->arange) {
        a.arange = b->arange;
        a.arange_step = b->arange_step;
        a.arange_axis = b->arange_axis;
    }
    for (int i = 0; i < b->n_terms; i++)
        add_term(&a, b->term[i].loop, b->term[i].coef);
    return a;
}

static struct rewrite_affine affine_binary(const struct rewrite_model *model,
                                           const struct nki_node *expr, int depth) {
    struct rewrite_affine a = affine(model, expr->bin_op.left, depth + 1);
    struct rewrite_affine b = affine(model, expr->bin_op.right, depth + 1);
    bool a_const = a.known && !a.n_terms && !a.arange, b_const = b.known && !b.n_terms && !b.arange;
    switch (expr->bin_op.op) {
    case NKI_ADD: return plus(a, &b);
    case NKI_SUB: b = scaled(b, -1); return plus(a, &b);
    case NKI_MUL:
        if (a_const && b.known)
            return scaled(b, a.base);
        if (b_const && a.known)
            return scaled(a, b.base);
        return unknown_affine;
    default: return unknown_affine;
    }
}

/* nl.arange(n)[:, None]: an index that runs along one axis of the tile. */
static struct rewrite_affine affine_arange(const struct rewrite_model *model,
                                           const struct nki_node *expr) {
    struct rewrite_affine result = {.known = true, .arange_step = 1};
    const struct nki_node *call = expr->subscript.value, *index = expr->subscript.slice;
    if (!rewrite_is_call(model, call, REWRITE_NL, "arange") || call->call.args.len != 1 ||
        !rewrite_int(model, call->call.args.at[0], &result.arange) || result.arange < 1 ||
        index->kind != NKI_TUPLE)
        return unknown_affine;
    for (uint32_t i = 0; i < index->tuple.elts.len; i++)
        if (index->tuple.elts.at[i]->kind == NKI_SLICE) {
            result.arange_axis = (int)i;
            return result;
        }
    return unknown_affine;
}

/* The loop whose variable this name is, at this place. */
static const struct rewrite_loop *loop_of_var(const struct rewrite_model *model,
                                              const struct nki_node *def) {
    return def->parent && def->parent->kind == NKI_FOR ? rewrite_loop_of(model, def->parent) : NULL;
}

static struct rewrite_affine affine(const struct rewrite_model *model, const struct nki_node *expr,
                                    int depth) {
    struct rewrite_affine result = {.known = true};
    if (depth > REWRITE_MAX_DEPTH)
        return unknown_affine;
    if (eval(model, expr, &result.base, depth))
        return result;
    if (expr->kind == NKI_BIN_OP)
        return affine_binary(model, expr, depth);
    if (expr->kind == NKI_SUBSCRIPT)
        return affine_arange(model, expr);
    if (expr->kind != NKI_NAME)
        return unknown_affine;
    const struct nki_node *def = rewrite_def_of(model, expr);
    if (!def || rewrite_is_written_between(model, rewrite_name_of(model, expr->name.id),
                                           def->id + 1, expr->id))
        return unknown_affine;
    const struct rewrite_loop *loop = loop_of_var(model, def);
    if (loop) {
        add_term(&result, loop, 1);
        result.base = 0;
        return result;
    }
    struct rewrite_memo *memo = model->memo;
    if (!memo->affine_state[def->id]) {
        memo->affine_state[def->id] = REWRITE_MEMO_YES;
        struct rewrite_affine *kept = ARENA_NEW(model->arena, struct rewrite_affine);
        memo->affines[def->id] = kept;
        const struct nki_node *value = rewrite_value_of_def(def);
        *kept = value ? affine(model, value, depth + 1) : unknown_affine;
    }
    return *memo->affines[def->id];
}

struct rewrite_affine rewrite_affine_of(const struct rewrite_model *model,
                                        const struct nki_node *expr) {
    struct rewrite_affine result = affine(model, expr, 0);
    int kept = 0;
    for (int i = 0; i < result.n_terms; i++)
        if (result.term[i].coef)
            result.term[kept++] = result.term[i];
    result.n_terms = kept;
    return result;
}

int64_t rewrite_coef(const struct rewrite_affine *affine_form, const struct rewrite_loop *loop) {
    for (int i = 0; i < affine_form->n_terms; i++)
        if (affine_form->term[i].loop == loop)
            return affine_form->term[i].coef;
    return 0;
}

/* ---- regions -------------------------------------------------------------------------------- */

static bool slice_dim(const struct rewrite_model *model, const struct nki_node *slice,
                      int64_t extent, struct rewrite_dim *dim) {
    int64_t step = 1;
    if (slice->slice.step && (!rewrite_int(model, slice->slice.step, &step) || step != 1))
        return false;
    dim->start = slice->slice.lower ? rewrite_affine_of(model, slice->slice.lower)
                                    : (struct rewrite_affine){.known = true};
    if (!slice->slice.upper) {
        if (!extent || dim->start.n_terms || !dim->start.known)
            return false;
        dim->size = extent - dim->start.base;
        dim->full = dim->start.base == 0;
        return dim->size > 0;
    }
    struct rewrite_affine upper = rewrite_affine_of(model, slice->slice.upper);
    struct rewrite_affine size = scaled(dim->start, -1);
    size = plus(size, &upper);
    for (int i = 0; i < size.n_terms; i++)
        if (size.term[i].coef)
            return false;
    dim->size = size.base;
    dim->full = extent && dim->size == extent;
    return size.known && !size.arange && dim->size > 0;
}

static bool index_dim(const struct rewrite_model *model, struct nki_node *node, int64_t extent,
                      struct rewrite_dim *dim) {
    dim->node = node;
    if (node->kind == NKI_SLICE)
        return slice_dim(model, node, extent, dim);
    if (rewrite_is_call(model, node, REWRITE_NL, "ds") && node->call.args.len == 2) {
        dim->start = rewrite_affine_of(model, node->call.args.at[0]);
        bool known = rewrite_int(model, node->call.args.at[1], &dim->size);
        dim->full = known && dim->size == extent;
        return known && dim->start.known && dim->size > 0;
    }
    dim->start = rewrite_affine_of(model, node);
    dim->size = dim->start.arange ? dim->start.arange : 1;
    dim->drops = !dim->start.arange;
    dim->full = dim->size == extent && !dim->drops && !dim->start.n_terms && !dim->start.base;
    return dim->start.known && (!dim->start.arange || dim->start.arange_step == 1);
}

bool rewrite_region_of(const struct rewrite_model *model, const struct nki_node *expr,
                       struct rewrite_region *region) {
    *region = (struct rewrite_region){0};
    if (!expr || expr->kind != NKI_SUBSCRIPT || expr->subscript.value->kind != NKI_NAME)
        return false;
    region->base = rewrite_name_of(model, expr->subscript.value->name.id);
    struct nki_node *index = expr->subscript.slice;
    struct nki_node **dims = &index;
    uint32_t n = 1;
    if (index->kind == NKI_TUPLE) {
        dims = index->tuple.elts.at;
        n = index->tuple.elts.len;
    }
    if (!region->base || n > REWRITE_MAX_DIMS)
        return false;
    struct rewrite_tile tile = rewrite_tile_of(model, expr->subscript.value);
    if (n == 1 && dims[0]->kind == NKI_CONSTANT && dims[0]->constant.type == NKI_CONST_ELLIPSIS) {
        for (int i = 0; tile.known && i < tile.n_dims; i++)
            region->dim[i] = (struct rewrite_dim){
                .node = dims[0], .start.known = true, .size = tile.shape[i], .full = true};
        region->n_dims = tile.n_dims;
        return region->known = tile.known;
    }
    region->n_dims = (int)n;
    region->known = true;
    for (uint32_t i = 0; i < n; i++)
        region->known &=
            index_dim(model, dims[i], tile.known && (int)i < tile.n_dims ? tile.shape[i] : 0,
                      &region->dim[i]);
    return region->known && (!tile.known || (int)n == tile.n_dims);
}

/* ---- what an expression depends on ---------------------------------------------------------- */

static bool is_bound(const struct rewrite_name *name) {
    for (size_t i = 0; i < name->accesses.len; i++)
        if (name->accesses.at[i].how & REWRITE_BIND)
            return true;
    return false;
}

static bool name_depends(const struct rewrite_model *model, const struct nki_node *name,
                         const struct nki_node *outermost, unsigned *depends,
                         const struct rewrite_loop *const *loops, int n) {
    const struct nki_node *def = rewrite_def_of(model, name);
    int64_t number;
    if (map_get(&model->modules, name->name.id) || !rewrite_name_of(model, name->name.id) ||
        rewrite_int(model, name, &number))
        return true;
    struct rewrite_name *known = rewrite_name_of(model, name->name.id);
    if (!def && !is_bound(known)) /* of the module, or built in */
        return true;
    if (!def)
        return known->is_param && !rewrite_is_written(model, known, outermost, NULL);
    if (!nki_contains(outermost, def))
        return true;
    struct rewrite_affine form = rewrite_affine_of(model, name);
    if (!form.known)
        return false;
    for (int i = 0; i < form.n_terms; i++) {
        int k = 0;
        while (k < n && loops[k] != form.term[i].loop)
            k++;
        if (k == n)
            return false;
        *depends |= 1u << k;
    }
    return true;
}

bool rewrite_depends(const struct rewrite_model *model, const struct nki_node *expr,
                     const struct nki_node *outermost, unsigned *depends,
                     const struct rewrite_loop *const *loops, int n) {
    for (uint32_t i = expr->id; i <= expr->last; i++) {
        const struct nki_node *node = model->tree->nodes[i];
        if (node->kind == NKI_LAMBDA ||
            (node->kind >= NKI_LIST_COMP && node->kind <= NKI_YIELD_FROM))
            return false;
        if (node->kind == NKI_NAME && !name_depends(model, node, outermost, depends, loops, n))
            return false;
    }
    return true;
}
