/* SPDX-License-Identifier: Apache-2.0 */
/* match: the first case whose pattern takes the subject, and whose guard holds. Names are bound
 * when the whole pattern matches, as CPython does. */
#include "nki/python/inner.h"

struct capture {
    const struct nki_node *name;
    struct value value;
};
/* A pattern that is tried. */
struct attempt {
    struct interp *in;
    VEC(struct capture) captures;
};

/* Sets *is to whether the pattern takes the value. False after interp_error. The tree's height
 * bounds the depth. */
static bool try_pattern(struct attempt *a, const struct nki_node *pattern, struct value value,
                        bool *is);

static void capture(struct attempt *a, const struct nki_node *name, struct value value) {
    if (name)
        *vec_push(&a->captures) = (struct capture){name, value};
}

static bool try_all(struct attempt *a, const struct nki_list *patterns, const struct value *values,
                    bool *is) {
    *is = true;
    for (uint32_t i = 0; i < patterns->len && *is; i++)
        if (!try_pattern(a, patterns->at[i], values[i], is))
            return false;
    return true;
}

/* None, True and False are compared by identity, other values by ==. */
static bool try_value(struct attempt *a, const struct nki_node *node, struct value value,
                      bool *is) {
    const struct nki_node *expected = node->match_value.value;
    struct value wanted, equal;
    if (!eval(a->in, expected, &wanted))
        return false;
    if (expected->kind == NKI_CONSTANT && expected->constant.type <= NKI_CONST_TRUE) {
        *is = value_same(wanted, value);
        return true;
    }
    return op_compare(a->in, node, NKI_CMP_EQ, value, wanted, &equal) &&
           interp_truth(a->in, node, equal, is);
}

/* ---- sequences ------------------------------------------------------------------------------- */

static bool is_sequence(struct value value) {
    return value.kind == VALUE_TUPLE || value.kind == VALUE_LIST || value.kind == VALUE_RANGE ||
           (value.kind == VALUE_OBJECT && value.object->cls->form == CLASS_TUPLE);
}

static bool try_sequence(struct attempt *a, const struct nki_node *node, struct value value,
                         bool *is) {
    const struct nki_list *list = &node->match_list.patterns;
    const struct value_seq *items;
    uint32_t star = list->len;
    *is = false;
    if (!is_sequence(value))
        return true;
    if (!interp_items(a->in, node, value, &items))
        return false;
    for (uint32_t i = 0; i < list->len; i++)
        if (list->at[i]->kind == NKI_MATCH_STAR)
            star = i;
    size_t n = items->items.len;
    bool has_star = star < list->len;
    if (has_star ? n + 1 < list->len : n != list->len)
        return true;
    const struct nki_list before = {list->at, star};
    if (!try_all(a, &before, items->items.at, is) || !*is || !has_star)
        return !a->in->failure.set;
    size_t after = list->len - star - 1, between = n - star - after;
    const struct nki_node *name = list->at[star]->match_star.name;
    if (name && !interp_room(a->in, node, between, sizeof(struct value)))
        return false;
    if (name)
        capture(a, name, value_list(a->in, items->items.at + star, between));
    const struct nki_list last = {list->at + star + 1, (uint32_t)after};
    return try_all(a, &last, items->items.at + star + between, is);
}

/* ---- mappings -------------------------------------------------------------------------------- */

static bool try_mapping(struct attempt *a, const struct nki_node *node, struct value value,
                        bool *is) {
    const struct nki_list *keys = &node->match_mapping.keys;
    *is = value.kind == VALUE_DICT && !value.dict->is_set;
    if (!*is || (!keys->len && !node->match_mapping.rest))
        return true;
    struct value rest = value_new_dict(a->in);
    size_t n = node->match_mapping.rest ? value.dict->pairs.len : 0;
    if (!interp_room(a->in, node, n, sizeof(struct value_pair)))
        return false;
    for (size_t i = 0; i < n; i++)
        value_dict_put(a->in, rest.dict, value.dict->pairs.at[i].key,
                       value.dict->pairs.at[i].value);
    for (uint32_t i = 0; i < keys->len && *is; i++) {
        struct value key;
        if (!eval(a->in, keys->at[i], &key))
            return false;
        const struct value_pair *pair = value_dict_find(a->in, value.dict, key);
        *is = pair != NULL;
        if (pair && !try_pattern(a, node->match_mapping.patterns.at[i], pair->value, is))
            return false;
        if (pair && node->match_mapping.rest)
            value_dict_remove(a->in, rest.dict, key);
    }
    if (*is)
        capture(a, node->match_mapping.rest, rest);
    return true;
}

/* ---- classes --------------------------------------------------------------------------------- */

/* The names of attributes that stand for positions: __match_args__, or the fields from which a
 * dataclass or a named tuple has it. NULL after interp_error. */
static const struct value_seq *match_args(struct interp *in, const struct nki_node *node,
                                          const struct value_class *cls) {
    const struct value *own = class_find(cls, interp_intern(in, STR("__match_args__")));
    if (own && own->kind == VALUE_TUPLE)
        return own->seq;
    if (own) {
        interp_error(in, node, "TypeError", "%s.__match_args__ must be a tuple, not %s", cls->name,
                     value_type_name(*own));
        return NULL;
    }
    struct value_seq *names = seq_new(in, 0);
    for (size_t i = 0; (cls->is_data || cls->form == CLASS_TUPLE) && i < cls->fields.len; i++)
        if (cls->fields.at[i].in_init)
            value_push(in, names, (struct value){.kind = VALUE_STR, .str = cls->fields.at[i].name});
    return names;
}

static bool try_attribute(struct attempt *a, const struct nki_node *pattern, struct value value,
                          const struct value_str *name, bool *is) {
    struct value part;
    *is = has_attr(a->in, pattern, value, name);
    if (!*is || a->in->failure.set)
        return !a->in->failure.set;
    return get_attr_value(a->in, pattern, value, name, &part) && try_pattern(a, pattern, part, is);
}

/* By position. Of Python's own types, the one position is the value itself. */
static bool try_positions(struct attempt *a, const struct nki_node *node, struct value cls,
                          struct value value, bool *is) {
    const struct nki_list *list = &node->match_class.patterns;
    enum value_kind kind;
    if (!list->len)
        return true;
    bool is_own = cls.kind == VALUE_NATIVE && a->in->library->is_type(cls.native, &kind);
    if (is_own && list->len == 1)
        return try_pattern(a, list->at[0], value, is);
    const struct value_seq *names =
        cls.kind == VALUE_CLASS ? match_args(a->in, node, cls.cls) : seq_new(a->in, 0);
    if (!names)
        return false;
    if (list->len > names->items.len)
        return interp_error(a->in, node, "TypeError", "%s takes %zu patterns by position, not %u",
                            cls.kind == VALUE_CLASS ? cls.cls->name : "the type",
                            is_own ? (size_t)1 : names->items.len, list->len);
    for (uint32_t i = 0; i < list->len && *is; i++) {
        struct value name = names->items.at[i];
        if (name.kind != VALUE_STR)
            return interp_error(a->in, node, "TypeError", "__match_args__ must hold names, not %s",
                                value_type_name(name));
        for (uint32_t k = 0; k < node->match_class.keywords.len; k++)
            if (str_equal(node->match_class.keywords.at[k]->match_keyword.name, text_of(name)))
                return interp_error(a->in, node, "TypeError", "two patterns for the attribute '%s'",
                                    name.str->at);
        if (!try_attribute(a, list->at[i], value, interp_intern(a->in, text_of(name)), is))
            return false;
    }
    return true;
}

static bool is_of_class(struct interp *in, const struct nki_node *node, struct value value,
                        struct value cls, bool *is) {
    struct value isinstance, result, args[2] = {value, cls};
    if (cls.kind != VALUE_CLASS && cls.kind != VALUE_NATIVE)
        return interp_error(in, node, "TypeError", "a pattern with brackets names a class, not %s",
                            value_type_name(cls));
    return interp_builtin(in, "isinstance", &isinstance) &&
           interp_call(in, node, isinstance, args, 2, &result) &&
           interp_truth(in, node, result, is);
}

static bool try_class(struct attempt *a, const struct nki_node *node, struct value value,
                      bool *is) {
    const struct nki_list *keywords = &node->match_class.keywords;
    struct value cls;
    if (!eval(a->in, node->match_class.cls, &cls) ||
        !is_of_class(a->in, node->match_class.cls, value, cls, is))
        return false;
    if (*is && !try_positions(a, node, cls, value, is))
        return false;
    for (uint32_t i = 0; i < keywords->len && *is; i++) {
        const struct nki_node *keyword = keywords->at[i];
        if (!try_attribute(a, keyword->match_keyword.pattern, value,
                           interp_intern(a->in, keyword->match_keyword.name), is))
            return false;
    }
    return true;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static bool try_either(struct attempt *a, const struct nki_node *node, struct value value,
                       bool *is) {
    const struct nki_list *list = &node->match_list.patterns;
    size_t captures = a->captures.len;
    *is = false;
    for (uint32_t i = 0; i < list->len && !*is; i++) {
        a->captures.len = captures;
        if (!try_pattern(a, list->at[i], value, is))
            return false;
    }
    return true;
}

static bool try_pattern(struct attempt *a, const struct nki_node *pattern, struct value value,
                        bool *is) {
    *is = true;
    if (!interp_step(a->in, pattern))
        return false;
    switch ((enum nki_kind)pattern->kind) {
    case NKI_MATCH_VALUE: return try_value(a, pattern, value, is);
    case NKI_MATCH_SEQUENCE: return try_sequence(a, pattern, value, is);
    case NKI_MATCH_MAPPING: return try_mapping(a, pattern, value, is);
    case NKI_MATCH_CLASS: return try_class(a, pattern, value, is);
    case NKI_MATCH_OR: return try_either(a, pattern, value, is);
    default: break;
    }
    if (pattern->match_as.pattern && !try_pattern(a, pattern->match_as.pattern, value, is))
        return false;
    if (*is)
        capture(a, pattern->match_as.name, value);
    return true;
}

/* Whether the case is the one. */
static bool try_case(struct interp *in, const struct nki_node *node, struct value subject,
                     bool *is) {
    struct attempt a = {.in = in};
    bool good = try_pattern(&a, node->match_case.pattern, subject, is);
    for (size_t i = 0; good && *is && i < a.captures.len; i++)
        good = assign_target(in, a.captures.at[i].name, a.captures.at[i].value);
    vec_free(&a.captures);
    if (good && *is && node->match_case.guard)
        return eval_truth(in, node->match_case.guard, is);
    return good;
}

enum flow exec_match(struct interp *in, const struct nki_node *stmt) {
    struct value subject;
    if (!eval(in, stmt->match.subject, &subject))
        return FLOW_ERROR;
    for (uint32_t i = 0; i < stmt->match.cases.len; i++) {
        const struct nki_node *node = stmt->match.cases.at[i];
        bool is = false;
        if (node->kind == NKI_MATCH_CASE && !try_case(in, node, subject, &is))
            return FLOW_ERROR;
        if (is)
            return exec_block(in, &node->match_case.body);
    }
    return FLOW_NEXT;
}
