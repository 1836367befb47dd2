/* SPDX-License-Identifier: Apache-2.0 */
/* Comprehensions. Their names have slots of their own in the frame of the enclosing function. A
 * generator expression is evaluated at once, to a list. */
#include "nki/python/inner.h"

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
