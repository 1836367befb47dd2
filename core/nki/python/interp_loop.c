/* SPDX-License-Identifier: Apache-2.0 */
/* Iterating: the two loop statements, and comprehensions. Ranges and sequences are walked in place,
 * everything else through a list of its items. Loops unroll: their body is evaluated once for each
 * item. */
#include "nki/python/inner.h"

/* ---- rounds that may run in any order -------------------------------------------------------- */
/* A program notes only rounds that have instructions, when the first of them is made. */

void rounds_open(struct interp *in, const struct nki_node *loop, bool is_program) {
    *vec_push(&in->rounds) = (struct open_round){
        .loop = ++in->n_round_loops, .loc = interp_loc(in, loop), .is_program = is_program};
}

void rounds_next(struct interp *in, int64_t item) {
    struct open_round *round = &in->rounds.at[in->rounds.len - 1];
    round->item = item;
    round->number = 0;
}

void rounds_close(struct interp *in) {
    in->rounds.len--;
}

static void mark(struct nki_program *program, uint32_t round) {
    size_t n = program->round_marks.len;
    if (n ? program->round_marks.at[n - 1].round != round : round)
        *vec_push(&program->round_marks) =
            (struct nki_round_mark){(uint32_t)program->instrs.len, round};
}

void interp_for_all_rounds(struct interp *in, bool begins) {
    in->for_all_rounds = begins;
}

void rounds_mark(struct interp *in) {
    struct nki_program *program = in->program;
    uint32_t around = 0;
    for (size_t k = 0; k < in->rounds.len && !in->for_all_rounds; k++) {
        struct open_round *round = &in->rounds.at[k];
        if (!round->number) {
            *vec_push(&program->rounds) = (struct nki_round){.loop = round->loop,
                                                             .around = around,
                                                             .loc = round->loc,
                                                             .is_program = round->is_program,
                                                             .item = round->item};
            round->number = (uint32_t)program->rounds.len;
        }
        around = round->number;
    }
    mark(program, around);
}

void rounds_mark_copies(struct interp *in, bool any_order) {
    if (any_order)
        mark(in->program, NKI_ROUND_UNKNOWN);
    else if (in->rounds.len)
        rounds_mark(in);
}

/* ---- items ----------------------------------------------------------------------------------- */

static bool range_items(struct interp *in, const struct nki_node *node,
                        const struct value_range *range, const struct value_seq **items) {
    int64_t n = range_length(range);
    if (!interp_room(in, node, (uint64_t)n, sizeof(struct value)))
        return false;
    struct value_seq *seq = seq_new(in, (size_t)n);
    for (int64_t i = 0; i < n; i++)
        seq->items.at[i] = value_int(range->start + i * range->step);
    *items = seq;
    return true;
}

/* The characters of a str, each a str. */
static bool text_items(struct interp *in, const struct nki_node *node, struct str text,
                       const struct value_seq **items) {
    if (!interp_room(in, node, text.len, sizeof(struct value)))
        return false;
    struct value_seq *seq = seq_new(in, 0);
    for (size_t i = 0; i < text.len;) {
        size_t end = i + 1;
        while (end < text.len && (text.at[end] & 0xc0) == 0x80)
            end++;
        struct str one = {text.at + i, end - i};
        value_push(in, seq, (struct value){.kind = VALUE_STR, .str = interp_intern(in, one)});
        i = end;
    }
    *items = seq;
    return true;
}

static bool object_items(struct interp *in, const struct nki_node *node, struct value object,
                         const struct value_seq **items) {
    struct value answer, key;
    bool found;
    if (object.object->cls->form == CLASS_TUPLE)
        return interp_items(in, node, object.object->inner, items);
    if (!call_method(in, node, &(struct method_use){object, "__iter__", NULL, 0}, &found, &answer))
        return false;
    if (found && answer.kind != VALUE_OBJECT)
        return interp_items(in, node, answer, items);
    if (!find_method(in, object, "__getitem__", &key))
        return interp_error(in, node, "TypeError", "%s cannot be iterated over",
                            value_type_name(object));
    int64_t n;
    if (!op_length(in, node, object, &n) ||
        !interp_room(in, node, (uint64_t)MAX_OF(n, 0), sizeof(struct value)))
        return false;
    struct value_seq *seq = seq_new(in, 0);
    for (int64_t i = 0; i < n; i++) {
        if (!get_item(in, node, object, value_int(i), &answer))
            return false;
        value_push(in, seq, answer);
    }
    *items = seq;
    return true;
}

static bool api_items(struct interp *in, const struct nki_node *node, struct value value,
                      const struct value_seq **items) {
    int64_t n;
    struct value item;
    if (!in->objects->length(in, node, value, &n) ||
        !interp_room(in, node, (uint64_t)MAX_OF(n, 0), sizeof(struct value)))
        return false;
    struct value_seq *seq = seq_new(in, 0);
    for (int64_t i = 0; i < n; i++) {
        if (!in->objects->getitem(in, node, value, value_int(i), &item))
            return false;
        value_push(in, seq, item);
    }
    *items = seq;
    return true;
}

bool interp_items(struct interp *in, const struct nki_node *node, struct value value,
                  const struct value_seq **items) {
    struct value_seq *seq;
    switch (value.kind) {
    case VALUE_TUPLE:
    case VALUE_LIST: *items = value.seq; return true;
    case VALUE_RANGE: return range_items(in, node, value.range, items);
    case VALUE_DICT:
        if (!interp_room(in, node, value.dict->pairs.len, sizeof(struct value)))
            return false;
        *items = seq = seq_new(in, 0);
        for (size_t i = 0; i < value.dict->pairs.len; i++)
            value_push(in, seq, value.dict->pairs.at[i].key);
        return true;
    case VALUE_STR: return text_items(in, node, text_of(value), items);
    case VALUE_CLASS:
        if (value.cls->form != CLASS_ENUM)
            break;
        *items = seq = seq_new(in, 0);
        for (size_t i = 0; i < value.cls->members.len; i++)
            value_push(in, seq, value.cls->members.at[i]);
        return true;
    case VALUE_OBJECT: return object_items(in, node, value, items);
    default:
        if (value.kind == VALUE_HOST || value.kind == VALUE_TENSOR)
            return api_items(in, node, value, items);
    }
    return interp_error(in, node, "TypeError",
                        "%s cannot be iterated over; a range, list, tuple, dict or str can",
                        value_type_name(value));
}

/* Begins without making a list, where that is possible. */
static bool iterate(struct interp *in, const struct nki_node *node, struct value over,
                    struct iteration *it) {
    *it = (struct iteration){.over = over};
    if (over.kind == VALUE_RANGE) {
        it->length = range_length(over.range);
        return true;
    }
    return interp_items(in, node, over, &it->items);
}

static bool iterate_next(struct iteration *it, struct interp *in, struct value *item) {
    (void)in;
    if (it->items) { /* a list may grow or shrink while it is walked */
        if ((size_t)it->at >= it->items->items.len)
            return false;
        *item = it->items->items.at[it->at++];
        return true;
    }
    if (it->at >= it->length)
        return false;
    *item = value_int(it->over.range->start + it->at++ * it->over.range->step);
    return true;
}

static int64_t iterate_length(const struct iteration *it) {
    return it->items ? (int64_t)it->items->items.len : it->length;
}

static enum flow after_loop(struct interp *in, enum flow flow, const struct nki_list *orelse) {
    if (flow == FLOW_BREAK)
        return FLOW_NEXT;
    if (flow == FLOW_RETURN || flow == FLOW_ERROR)
        return flow;
    return exec_block(in, orelse);
}

static enum flow for_round(struct interp *in, const struct nki_node *stmt, struct value item) {
    const struct nki_node *target = stmt->for_.target;
    if (!interp_step(in, stmt))
        return FLOW_ERROR;
    if (target->kind == NKI_NAME)
        store_ref(in, in->frame->unit->cells[target->id].ref, item);
    else if (!assign_target(in, target, item))
        return FLOW_ERROR;
    return exec_block(in, &stmt->for_.body);
}

static enum flow not_on_device(struct interp *in, const struct nki_node *stmt, enum flow flow) {
    if (flow == FLOW_BREAK || flow == FLOW_RETURN)
        (void)interp_error(in, stmt, "err_dynamic_control_flow_not_supported",
                           "break and return are not possible in a loop on the device: end it by "
                           "its condition, in nl.while_loop");
    return flow == FLOW_NEXT || flow == FLOW_CONTINUE ? FLOW_NEXT : FLOW_ERROR;
}

/* A loop that stays one on the device. */
static enum flow for_on_device(struct interp *in, const struct nki_node *stmt,
                               struct iteration *it) {
    struct value item, decides = it->over.range->decides;
    enum flow flow = FLOW_NEXT;
    if (!in->objects->loop_begin(in, stmt))
        return FLOW_ERROR;
    while (flow == FLOW_NEXT && iterate_next(it, in, &item)) {
        flow = FLOW_ERROR;
        if (in->objects->loop_round(in, stmt, decides))
            flow = not_on_device(in, stmt, for_round(in, stmt, item));
        decides = NONE_VALUE;
        in->objects->loop_next(in);
    }
    if (flow == FLOW_NEXT && !in->objects->loop_round(in, stmt, decides))
        flow = FLOW_ERROR;
    in->objects->loop_end(in);
    return flow;
}

enum flow exec_for(struct interp *in, const struct nki_node *stmt) {
    struct value over, item;
    struct iteration it;
    if (!eval(in, stmt->for_.iter, &over) || !iterate(in, stmt->for_.iter, over, &it))
        return FLOW_ERROR;
    enum flow flow = FLOW_NEXT;
    if (over.kind == VALUE_RANGE && over.range->on_device)
        return for_on_device(in, stmt, &it);
    bool is_scope = over.kind == VALUE_RANGE && over.range->is_scope;
    bool any_order = over.kind == VALUE_RANGE && over.range->any_order;
    if (any_order)
        rounds_open(in, stmt, false);
    if (is_scope)
        *vec_push(&in->scopes) = ++in->n_scopes;
    struct fold fold = fold_begin(in, stmt, &it);
    for (;; fold_round(&fold, in, &it)) {
        if (!iterate_next(&it, in, &item))
            break;
        if (any_order)
            rounds_next(in, item.i);
        flow = for_round(in, stmt, item);
        if (flow != FLOW_NEXT && flow != FLOW_CONTINUE)
            break;
    }
    fold_end(&fold, in);
    in->scopes.len -= is_scope;
    if (any_order)
        rounds_close(in);
    if (flow == FLOW_ERROR)
        budget_blame_loop(in, stmt, it.at, iterate_length(&it));
    return after_loop(in, flow, &stmt->for_.orelse);
}

/* `while register:`, a loop on the device. */
static enum flow while_on_device(struct interp *in, const struct nki_node *stmt, struct value reg) {
    enum flow flow = FLOW_NEXT;
    int64_t holds = 0;
    if (!in->objects->loop_begin(in, stmt))
        return FLOW_ERROR;
    while (flow == FLOW_NEXT) {
        flow = FLOW_ERROR;
        if (!in->objects->register_value(in, reg, &holds) ||
            !in->objects->loop_round(in, stmt, reg) || !interp_step(in, stmt->while_.test))
            break;
        flow = FLOW_NEXT;
        if (!holds)
            break;
        flow = not_on_device(in, stmt, exec_block(in, &stmt->while_.body));
        in->objects->loop_next(in);
        if (flow == FLOW_NEXT && !eval(in, stmt->while_.test, &reg))
            flow = FLOW_ERROR;
    }
    in->objects->loop_end(in);
    return flow;
}

/* Whether the test of a `while` is a register; sets *reg to it. */
static bool tests_register(struct interp *in, const struct nki_node *stmt, struct value *reg) {
    int64_t holds;
    return stmt->while_.test->kind == NKI_NAME && eval(in, stmt->while_.test, reg) &&
           in->objects->register_value(in, *reg, &holds);
}

enum flow exec_while(struct interp *in, const struct nki_node *stmt) {
    enum flow flow = FLOW_NEXT;
    int64_t round = 0;
    struct value reg;
    if (tests_register(in, stmt, &reg) && interp_rule(in, NKI_RULE_LOOPS_BY_FUNCTION)) {
        interp_error(in, stmt->while_.test, "TypeError",
                     "a register has no truth value while the kernel is traced, since NKI 0.7: use "
                     "nl.while_loop(register, body), or --release 0.6");
        return FLOW_ERROR;
    }
    if (tests_register(in, stmt, &reg))
        return while_on_device(in, stmt, reg);
    for (bool truth = true;; round++) {
        if (!interp_step(in, stmt->while_.test) || !eval_truth(in, stmt->while_.test, &truth)) {
            flow = FLOW_ERROR;
            break;
        }
        if (!truth)
            break;
        flow = exec_block(in, &stmt->while_.body);
        if (flow != FLOW_NEXT && flow != FLOW_CONTINUE)
            break;
    }
    if (flow == FLOW_ERROR)
        budget_blame_loop(in, stmt, round + 1, -1);
    return after_loop(in, flow, &stmt->while_.orelse);
}

/* ---- comprehensions -------------------------------------------------------------------------- */

/* Their names have slots of their own in the frame of the enclosing function. A generator
 * expression is evaluated at once, to a list. */
struct comprehension {
    const struct nki_node *node;
    const struct nki_list *generators;
    struct value result;
};

static bool add_item(struct interp *in, struct comprehension *c) {
    struct value key, value;
    const struct nki_node *node = c->node;
    if (node->kind == NKI_DICT_COMP) {
        if (!eval(in, node->dict_comp.key, &key) || !eval(in, node->dict_comp.value, &value))
            return false;
        value_dict_put(in, c->result.dict, key, value);
        return true;
    }
    if (!eval(in, node->comp.elt, &value))
        return false;
    struct value_seq *seq = c->result.seq;
    if (node->kind == NKI_SET_COMP) {
        value_dict_put(in, c->result.dict, value, NONE_VALUE);
        return true;
    }
    if (seq->items.len == seq->items.cap &&
        !interp_room(in, node, seq->items.len * 2, sizeof(struct value)))
        return false;
    value_push(in, seq, value);
    return true;
}

static bool conditions(struct interp *in, const struct nki_list *ifs, bool *all) {
    *all = true;
    for (uint32_t i = 0; i < ifs->len && *all; i++)
        if (!eval_truth(in, ifs->at[i], all))
            return false;
    return true;
}

/* Runs generator k and those inside it. The height of the tree bounds the depth. */
static bool run_generator(struct interp *in, struct comprehension *c, uint32_t k) {
    const struct nki_node *generator = c->generators->at[k];
    struct value over, item;
    struct iteration it;
    if (!eval(in, generator->comprehension.iter, &over) ||
        !iterate(in, generator->comprehension.iter, over, &it))
        return false;
    while (iterate_next(&it, in, &item)) {
        bool all;
        bool good = interp_step(in, c->node) &&
                    assign_target(in, generator->comprehension.target, item) &&
                    conditions(in, &generator->comprehension.ifs, &all);
        if (good && all)
            good = k + 1 < c->generators->len ? run_generator(in, c, k + 1) : add_item(in, c);
        if (!good) {
            budget_blame_loop(in, c->node, it.at, iterate_length(&it));
            return false;
        }
    }
    return true;
}

bool eval_comprehension(struct interp *in, const struct nki_node *node, struct value *result) {
    bool pairs = node->kind == NKI_DICT_COMP;
    struct comprehension c = {node, pairs ? &node->dict_comp.generators : &node->comp.generators,
                              NONE_VALUE};
    if (c.generators->len > NKI_MAX_DEPTH)
        return interp_error(in, node, "SyntaxError", "more than %d loops in one comprehension",
                            NKI_MAX_DEPTH);
    if (pairs || node->kind == NKI_SET_COMP) {
        c.result = value_new_dict(in);
        c.result.dict->is_set = !pairs;
    } else {
        c.result = value_list(in, NULL, 0);
    }
    if (!run_generator(in, &c, 0))
        return false;
    *result = c.result;
    return true;
}
