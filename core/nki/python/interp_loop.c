/* SPDX-License-Identifier: Apache-2.0 */
/* Iterating, and the two loop statements. Ranges and sequences are walked in place, everything else
 * through a list of its items. Loops unroll: their body is evaluated once for each item. */
#include "nki/python/inner.h"

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

bool iterate(struct interp *in, const struct nki_node *node, struct value over,
             struct iteration *it) {
    *it = (struct iteration){.over = over};
    if (over.kind == VALUE_RANGE) {
        it->length = range_length(over.range);
        return true;
    }
    return interp_items(in, node, over, &it->items);
}

bool iterate_next(struct iteration *it, struct interp *in, struct value *item) {
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

int64_t iterate_length(const struct iteration *it) {
    return it->items ? (int64_t)it->items->items.len : it->length;
}

static enum flow after_loop(struct interp *in, enum flow flow, const struct nki_list *orelse) {
    if (flow == FLOW_BREAK)
        return FLOW_NEXT;
    if (flow == FLOW_RETURN || flow == FLOW_ERROR)
        return flow;
    return exec_block(in, orelse);
}

enum flow exec_for(struct interp *in, const struct nki_node *stmt) {
    struct value over, item;
    struct iteration it;
    if (!eval(in, stmt->for_.iter, &over) || !iterate(in, stmt->for_.iter, over, &it))
        return FLOW_ERROR;
    const struct nki_node *target = stmt->for_.target;
    enum flow flow = FLOW_NEXT;
    struct fold fold = fold_begin(in, stmt, &it);
    for (;; fold_round(&fold, in, &it)) {
        if (!iterate_next(&it, in, &item))
            break;
        flow = FLOW_ERROR;
        if (!interp_step(in, stmt))
            break;
        if (target->kind == NKI_NAME)
            store_ref(in, in->frame->unit->cells[target->id].ref, item);
        else if (!assign_target(in, target, item))
            break;
        flow = exec_block(in, &stmt->for_.body);
        if (flow != FLOW_NEXT && flow != FLOW_CONTINUE)
            break;
    }
    fold_end(&fold, in);
    if (flow == FLOW_ERROR)
        budget_blame_loop(in, stmt, it.at, iterate_length(&it));
    return after_loop(in, flow, &stmt->for_.orelse);
}

enum flow exec_while(struct interp *in, const struct nki_node *stmt) {
    enum flow flow = FLOW_NEXT;
    int64_t round = 0;
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
