/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the rounds of a loop differ only in where they read and write. That is so under three
 * conditions. The body hands nothing from one round to the next. It decides nothing by the loop's
 * index. It uses the index only to say which part of a tensor is meant, by sums, products with
 * constants, quotients and remainders. Then rounds that are a period apart do the same, at places
 * that lie a fixed step apart. Where the code does not show that, the answer is no. */
#include "nki/python/inner.h"

#include <stdlib.h>

#define MOST_ROUNDS 512 /* in a period; a longer one saves too little */
#define MOST_PASSES 4   /* over the body: each finds more names that vary */

enum form { FORM_OTHER, FORM_NUMBER, FORM_TENSOR, FORM_KEY };

/* What an expression gives. A number that varies is (step * index + constant) / divisor, rounded
 * down or taken modulo something. */
struct seen {
    bool varies; /* it changes with the loop's index */
    enum form form;
    int64_t divisor;
};

struct name {
    bool varies, assigned; /* assigned: in this round, above the statement that is looked at */
    bool looped;           /* it is an inner loop's target and has several values in a round */
    bool formed;           /* a form is known, the next member */
    enum form form;        /* FORM_OTHER where there were several */
    uint8_t stores;        /* places that assign it */
    int64_t divisor;
};

struct look {
    struct interp *in;
    const struct nki_node *loop;
    struct name *names; /* by slot of the frame */
    size_t n_names;
    int64_t step;   /* of the index from round to round */
    int64_t period; /* rounds after which quotients and remainders repeat */
    bool refused, changed;
};

static struct seen look_at(struct look *look, const struct nki_node *node);

static struct seen refuse(struct look *look) {
    look->refused = true;
    return (struct seen){.divisor = 1};
}

static const struct cell *cell_of(const struct look *look, const struct nki_node *node) {
    return &look->in->frame->unit->cells[node->id];
}

/* ---- values that are known ------------------------------------------------------------------ */

static struct name *own_name(const struct look *look, const struct nki_node *node) {
    struct ref ref = cell_of(look, node)->ref;
    bool own = node->kind == NKI_NAME && ref.kind == REF_FRAME && ref.depth == 0;
    return own && ref.slot < look->n_names ? &look->names[ref.slot] : NULL;
}

/* The value that a name, a constant or a module's attribute had in the round before. Nothing is
 * evaluated for that; false when it is not known. */
static bool peek(const struct look *look, const struct nki_node *node, struct value *value) {
    const struct cell *cell = cell_of(look, node);
    struct value module;
    *value = UNSET_VALUE;
    if (node->kind == NKI_CONSTANT)
        *value = cell->constant;
    else if (node->kind == NKI_NAME && cell->ref.kind == REF_GLOBAL)
        *value = look->in->frame->unit->globals.at[cell->ref.slot];
    else if (node->kind == NKI_NAME && cell->ref.kind == REF_FRAME && cell->ref.depth == 0)
        *value = look->in->frame->slots[cell->ref.slot];
    else if (node->kind == NKI_ATTRIBUTE && peek(look, node->attribute.value, &module) &&
             module.kind == VALUE_MODULE && cell->attr.module == module.module)
        *value = *cell->attr.value;
    return !is_unset(*value);
}

static enum form form_of(struct value value) {
    if (is_number(value) || value.kind == VALUE_INDEX)
        return FORM_NUMBER;
    if (value.kind == VALUE_TENSOR)
        return FORM_TENSOR;
    return value.kind == VALUE_SLICE ? FORM_KEY : FORM_OTHER;
}

/* A positive number that is the same in all rounds. */
static bool constant_of(const struct look *look, const struct nki_node *node, int64_t *number) {
    struct value value;
    int64_t left, right;
    if (node->kind == NKI_BIN_OP) {
        if (!constant_of(look, node->bin_op.left, &left) ||
            !constant_of(look, node->bin_op.right, &right))
            return false;
        if (node->bin_op.op == NKI_FLOOR_DIV)
            *number = left / right;
        else if (node->bin_op.op != NKI_MUL || __builtin_mul_overflow(left, right, number))
            return false;
        return *number > 0;
    }
    const struct name *name = own_name(look, node);
    if ((name && (name->looped || name->stores > 1 || name->varies)) || !peek(look, node, &value) ||
        value.kind != VALUE_INT)
        return false;
    *number = value.i;
    return value.i > 0;
}

/* ---- expressions ---------------------------------------------------------------------------- */

static int64_t common_divisor(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static int64_t common_multiple(int64_t a, int64_t b) {
    int64_t product;
    return __builtin_mul_overflow(a / common_divisor(a, b), b, &product) ? INT64_MAX : product;
}

static struct seen look_at_name(struct look *look, const struct nki_node *node) {
    struct value value;
    const struct name *name = own_name(look, node);
    bool known = peek(look, node, &value);
    if (!name)
        return (struct seen){false, known ? form_of(value) : FORM_OTHER, 1};
    if (name->stores && !name->assigned)
        return refuse(look); /* handed on from the round before */
    enum form form = name->stores > 1 ? name->form : known ? form_of(value) : FORM_OTHER;
    return (struct seen){name->varies, form, name->divisor};
}

/* a // c and a % c. They repeat after a number of rounds, which the period becomes a multiple of:
 * what is divided moves by a multiple of the index's step. */
static struct seen divide(struct look *look, struct seen a, const struct nki_node *by,
                          enum nki_binary op) {
    int64_t number, whole;
    if (!constant_of(look, by, &number) || __builtin_mul_overflow(number, a.divisor, &whole))
        return refuse(look);
    look->period = common_multiple(look->period, whole / common_divisor(whole, look->step));
    if (look->period > MOST_ROUNDS)
        return refuse(look);
    if (op == NKI_FLOOR_DIV)
        a.divisor = whole;
    return a;
}

static struct seen look_at_binary(struct look *look, const struct nki_node *node) {
    struct seen a = look_at(look, node->bin_op.left), b = look_at(look, node->bin_op.right);
    enum nki_binary op = node->bin_op.op;
    struct seen both = {a.varies || b.varies, FORM_OTHER, common_multiple(a.divisor, b.divisor)};
    bool numbers = a.form == FORM_NUMBER && b.form == FORM_NUMBER;
    if (a.form == FORM_TENSOR || b.form == FORM_TENSOR)
        both.form = FORM_TENSOR;
    else if (numbers)
        both.form = FORM_NUMBER;
    if (!both.varies || look->refused)
        return both;
    if (both.form == FORM_TENSOR) { /* an instruction: its numbers must be the same each round */
        bool fine = (!a.varies || a.form == FORM_TENSOR) && (!b.varies || b.form == FORM_TENSOR);
        return fine ? both : refuse(look);
    }
    if (numbers && (op == NKI_ADD || op == NKI_SUB || (op == NKI_MUL && !(a.varies && b.varies))))
        return both;
    if (numbers && !b.varies && (op == NKI_FLOOR_DIV || op == NKI_MOD))
        return divide(look, a, node->bin_op.right, op);
    return refuse(look);
}

static void look_at_steady(struct look *look, const struct nki_node *node) {
    if (look_at(look, node).varies)
        refuse(look);
}

static struct seen look_at_list(struct look *look, const struct nki_list *elts) {
    struct seen all = {.form = FORM_OTHER, .divisor = 1};
    for (uint32_t i = 0; i < elts->len; i++) {
        struct seen one = look_at(look, elts->at[i]);
        if (one.varies && one.form != FORM_TENSOR)
            return refuse(look);
        if (one.varies)
            all = one;
    }
    return all;
}

/* A key of a subscript: numbers in it may vary. */
static struct seen look_at_key(struct look *look, const struct nki_node *node) {
    struct seen key = {.form = FORM_KEY, .divisor = 1};
    if (node->kind == NKI_SLICE) {
        const struct nki_node *ends[] = {node->slice.lower, node->slice.upper};
        for (size_t i = 0; i < COUNT_OF(ends); i++) {
            struct seen end = ends[i] ? look_at(look, ends[i]) : key;
            key.varies |= end.varies;
            if (end.varies && end.form != FORM_NUMBER)
                return refuse(look);
        }
        if (node->slice.step)
            look_at_steady(look, node->slice.step);
        return key;
    }
    if (node->kind == NKI_TUPLE) {
        for (uint32_t i = 0; i < node->tuple.elts.len; i++)
            key.varies |= look_at_key(look, node->tuple.elts.at[i]).varies;
        return key;
    }
    struct seen one = look_at(look, node);
    if (one.varies && one.form != FORM_NUMBER && one.form != FORM_KEY)
        return refuse(look);
    key.varies = one.varies;
    return key;
}

static struct seen look_at_subscript(struct look *look, const struct nki_node *node) {
    struct seen base = look_at(look, node->subscript.value);
    struct seen key = look_at_key(look, node->subscript.slice);
    if (key.varies && base.form != FORM_TENSOR)
        return refuse(look);
    base.varies |= key.varies;
    if (base.form == FORM_KEY)
        base.form = FORM_OTHER;
    return base;
}

static struct seen look_at_attribute(struct look *look, const struct nki_node *node) {
    static const char *const same_for_all_views[] = {"shape", "dtype", "ndim"};
    struct value value;
    struct seen base = look_at(look, node->attribute.value);
    if (!base.varies && peek(look, node, &value))
        return (struct seen){false, form_of(value), 1};
    if (!base.varies && peek(look, node->attribute.value, &value) && value.kind == VALUE_MODULE)
        return (struct seen){false, FORM_OTHER, 1};
    for (size_t i = 0; i < COUNT_OF(same_for_all_views); i++)
        if (base.form == FORM_TENSOR && str_is(node->attribute.attr, same_for_all_views[i]))
            return (struct seen){false, FORM_OTHER, 1};
    return refuse(look);
}

/* ---- calls ---------------------------------------------------------------------------------- */

static bool is_named(const char *name, const char *const *names, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* Functions whose result depends on their arguments alone. */
static bool is_plain(struct value callee) {
    static const char *const builtins[] = {"range", "len", "min", "max", "abs", "int", "float"};
    static const char *const others[] = {
        "nl.loop_reduce", "nl.fori_loop",    "nl.shared_constant", "nl.shared_identity_matrix",
        "nl.no_reorder",  "nl.device_print", "nl.atomic_rmw",      "nl.rand",
        "nl.dropout"};
    if (callee.kind == VALUE_FUNC)
        return true;
    if (callee.kind != VALUE_NATIVE)
        return false;
    const char *name = callee.native->name;
    if (is_named(name, builtins, COUNT_OF(builtins)))
        return true;
    bool ours = strncmp(name, "nl.", 3) == 0 || strncmp(name, "nisa.", 5) == 0;
    return ours && !strstr(name, "register") && !is_named(name, others, COUNT_OF(others));
}

/* What is not known to be a number or a key counts as a tensor. That is safe: less is allowed with
 * a tensor. */
static enum form form_of_call(struct value callee) {
    static const char *const numbers[] = {"len", "min", "max", "abs", "int", "float", "nl.arange"};
    if (callee.kind == VALUE_NATIVE && is_named(callee.native->name, numbers, COUNT_OF(numbers)))
        return FORM_NUMBER;
    return FORM_TENSOR;
}

/* nl.ds(start, size): a key whose start may vary. */
static struct seen look_at_part(struct look *look, const struct nki_node *node) {
    if (node->call.args.len != 2 || node->call.keywords.len)
        return refuse(look);
    struct seen start = look_at(look, node->call.args.at[0]);
    look_at_steady(look, node->call.args.at[1]);
    if (start.varies && start.form != FORM_NUMBER)
        return refuse(look);
    return (struct seen){start.varies, FORM_KEY, 1};
}

/* tensor.ap(pattern, offset=..): a view whose place may vary. */
static struct seen look_at_view(struct look *look, const struct nki_node *node) {
    struct seen base = look_at(look, node->call.func->attribute.value);
    bool varies = base.varies;
    for (uint32_t i = 0; i < node->call.args.len; i++)
        look_at_steady(look, node->call.args.at[i]);
    for (uint32_t i = 0; i < node->call.keywords.len; i++) {
        const struct nki_node *keyword = node->call.keywords.at[i];
        struct seen value = look_at(look, keyword->keyword.value);
        bool place = str_is(keyword->keyword.name, "offset") && value.form == FORM_NUMBER;
        if (value.varies && !place)
            return refuse(look);
        varies |= value.varies;
    }
    return (struct seen){varies, FORM_TENSOR, 1};
}

static bool is_view(const struct look *look, const struct nki_node *func) {
    struct value base;
    return func->kind == NKI_ATTRIBUTE && str_is(func->attribute.attr, "ap") &&
           peek(look, func->attribute.value, &base) && base.kind == VALUE_TENSOR;
}

static struct seen look_at_call(struct look *look, const struct nki_node *node) {
    struct value callee;
    const struct nki_node *func = node->call.func;
    const struct name *name = own_name(look, func);
    if (is_view(look, func))
        return look_at_view(look, node);
    if ((name && name->stores) || !peek(look, func, &callee) || !is_plain(callee))
        return refuse(look);
    if (callee.kind == VALUE_NATIVE && strcmp(callee.native->name, "nl.ds") == 0)
        return look_at_part(look, node);
    bool varies = look_at_list(look, &node->call.args).varies;
    for (uint32_t i = 0; i < node->call.keywords.len; i++) {
        struct seen value = look_at(look, node->call.keywords.at[i]->keyword.value);
        if (value.varies && value.form != FORM_TENSOR)
            return refuse(look);
        varies |= value.varies;
    }
    return (struct seen){varies, form_of_call(callee), 1};
}

static struct seen look_at_all_steady(struct look *look, const struct nki_node *first,
                                      const struct nki_list *rest) {
    if (first)
        look_at_steady(look, first);
    for (uint32_t i = 0; i < rest->len; i++)
        look_at_steady(look, rest->at[i]);
    return (struct seen){false, FORM_OTHER, 1};
}

static struct seen look_at(struct look *look, const struct nki_node *node) {
    struct value value;
    struct seen seen;
    if (look->refused)
        return refuse(look);
    switch ((enum nki_kind)node->kind) {
    case NKI_CONSTANT:
        return (struct seen){false, peek(look, node, &value) ? form_of(value) : FORM_OTHER, 1};
    case NKI_NAME: return look_at_name(look, node);
    case NKI_BIN_OP: return look_at_binary(look, node);
    case NKI_ATTRIBUTE: return look_at_attribute(look, node);
    case NKI_SUBSCRIPT: return look_at_subscript(look, node);
    case NKI_CALL: return look_at_call(look, node);
    case NKI_TUPLE: return look_at_list(look, &node->tuple.elts);
    case NKI_LIST: return look_at_list(look, &node->list.elts);
    case NKI_UNARY_OP:
        seen = look_at(look, node->unary_op.operand);
        return seen.varies ? refuse(look) : seen;
    case NKI_COMPARE:
        return look_at_all_steady(look, node->compare.left, &node->compare.comparators);
    case NKI_BOOL_OP: return look_at_all_steady(look, NULL, &node->bool_op.values);
    default: return refuse(look);
    }
}

/* ---- statements ----------------------------------------------------------------------------- */

static void look_at_block(struct look *look, const struct nki_list *body);

static void assign(struct look *look, const struct nki_node *target, struct seen value) {
    if (target->kind == NKI_SUBSCRIPT) {
        struct seen base = look_at(look, target->subscript.value);
        look_at_key(look, target->subscript.slice);
        if (base.form != FORM_TENSOR || (value.varies && value.form != FORM_TENSOR))
            refuse(look);
        return;
    }
    struct name *name = own_name(look, target);
    if (!name) {
        refuse(look);
        return;
    }
    name->form = !name->formed || name->form == value.form ? value.form : FORM_OTHER;
    name->assigned = name->formed = true;
    if (value.varies && (!name->varies || name->divisor % value.divisor)) {
        name->divisor = common_multiple(name->divisor, value.divisor);
        name->varies = look->changed = true;
    }
}

static void look_at_for(struct look *look, const struct nki_node *stmt) {
    struct name *target = own_name(look, stmt->for_.target);
    look_at_steady(look, stmt->for_.iter);
    if (!target || stmt->for_.orelse.len) {
        refuse(look);
        return;
    }
    target->assigned = target->looped = true;
    look_at_block(look, &stmt->for_.body);
}

/* target op= value. A list would be changed in place, for all names that stand for it. */
static void look_at_update(struct look *look, const struct nki_node *stmt) {
    const struct nki_node *target = stmt->aug_assign.target;
    struct value old;
    struct seen value = look_at(look, stmt->aug_assign.value), before = look_at(look, target);
    if ((value.varies || before.varies) && value.form != FORM_TENSOR)
        refuse(look);
    if (target->kind == NKI_SUBSCRIPT)
        assign(look, target, value);
    else if (!peek(look, target, &old) || form_of(old) == FORM_OTHER)
        refuse(look);
}

static void look_at_statement(struct look *look, const struct nki_node *stmt) {
    struct seen value;
    switch ((enum nki_kind)stmt->kind) {
    case NKI_ASSIGN:
        value = look_at(look, stmt->assign.value);
        for (uint32_t i = 0; i < stmt->assign.targets.len; i++)
            assign(look, stmt->assign.targets.at[i], value);
        return;
    case NKI_AUG_ASSIGN: look_at_update(look, stmt); return;
    case NKI_EXPR: look_at(look, stmt->expr.value); return;
    case NKI_FOR: look_at_for(look, stmt); return;
    case NKI_IF:
        look_at_steady(look, stmt->if_.test);
        look_at_block(look, &stmt->if_.body);
        look_at_block(look, &stmt->if_.orelse);
        return;
    case NKI_PASS: return;
    default: refuse(look);
    }
}

static void look_at_block(struct look *look, const struct nki_list *body) {
    for (uint32_t i = 0; i < body->len && !look->refused; i++)
        look_at_statement(look, body->at[i]);
}

/* ---- the loop ------------------------------------------------------------------------------- */

static void count_stores(struct look *look) {
    const struct nki_node *loop = look->loop;
    for (uint32_t id = loop->id; id <= loop->last; id++) {
        const struct nki_node *node = look->in->frame->unit->tree->nodes[id];
        if (node->kind != NKI_NAME || node->context != NKI_STORE)
            continue;
        struct name *name = own_name(look, node);
        if (!name)
            refuse(look); /* a name of another function, or of the module */
        else if (name->stores < UINT8_MAX)
            name->stores++;
    }
}

/* Passes over the body until no more names are found to vary. One is not enough: an inner loop may
 * read above what it assigns below. */
static bool look_at_body(struct look *look) {
    struct name *index = own_name(look, look->loop->for_.target);
    for (int pass = 0; pass < MOST_PASSES && !look->refused; pass++) {
        look->changed = false;
        for (size_t i = 0; i < look->n_names; i++)
            look->names[i].assigned = false;
        index->assigned = index->varies = true;
        look_at_block(look, &look->loop->for_.body);
        if (!look->changed)
            return !look->refused;
    }
    return false;
}

int64_t loop_period(struct interp *in, const struct nki_node *loop, int64_t step) {
    struct look look = {.in = in, .loop = loop, .step = step, .period = 1};
    look.n_names =
        in->frame->scope->host == in->frame->scope ? in->frame->scope->slot_names.len : 0;
    look.names = mem_alloc(look.n_names + 1, sizeof *look.names);
    for (size_t i = 0; i < look.n_names; i++)
        look.names[i].divisor = 1;
    struct name *index = own_name(&look, loop->for_.target);
    count_stores(&look);
    bool regular = index && index->stores == 1 && !look.refused && look_at_body(&look);
    free(look.names);
    return regular ? look.period : 0;
}
