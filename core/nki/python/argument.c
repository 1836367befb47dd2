/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of the kernel that are made of others: tuples, lists, dicts, dataclasses, named tuples
 * and members of an Enum. What they end in (arrays, numbers) is for the NKI objects. */
#include "nki/python/inner.h"

/* The class of that name in the kernel's file; NULL: it has none. */
static struct value_class *class_named(struct interp *in, struct str name) {
    const struct unit *unit = in->frame->scope->unit;
    uint32_t slot;
    if (!unit_find(unit, name, &slot) || unit->globals.at[slot].kind != VALUE_CLASS)
        return NULL;
    return unit->globals.at[slot].cls;
}

static struct value *items_of(struct interp *in, const struct nki_node *node,
                              const struct nki_input *input, size_t index, struct str name) {
    struct value *items = ARENA_ARRAY(in->heap, struct value, input->n_items + 1);
    for (size_t i = 0; i < input->n_items; i++) {
        const struct nki_input *item = &input->items[i];
        struct buf text = {0};
        if (item->name)
            buf_printf(&text, STR_FMT ".%s", STR_ARG(name), item->name);
        else
            buf_printf(&text, STR_FMT ".%zu", STR_ARG(name), i);
        struct str inner = {arena_strdup(in->heap, text.at), text.len};
        buf_free(&text);
        if (!argument_value(in, node, item, index, inner, &items[i]))
            return NULL;
    }
    return items;
}

static struct value make_dict(struct interp *in, const struct nki_input *input,
                              const struct value *items) {
    struct value dict = value_new_dict(in);
    for (size_t i = 0; i < input->n_items; i++)
        value_dict_put(in, dict.dict, value_string(in, str_of(input->items[i].name)), items[i]);
    return dict;
}

static struct value make_record(struct interp *in, const struct nki_input *input,
                                const struct value *items) {
    struct value_class *known = class_named(in, str_of(input->s));
    struct value object =
        object_new(in, known ? known : class_new(in, arena_strdup(in->heap, input->s), NULL));
    for (size_t i = 0; i < input->n_items; i++)
        attrs_put(in, &object.object->attrs, interp_intern(in, str_of(input->items[i].name)),
                  items[i]);
    if (known && known->form == CLASS_TUPLE)
        object.object->inner = value_tuple(in, items, input->n_items);
    return object;
}

/* A member whose class the file does not know is its value. */
static struct value make_member(struct interp *in, const struct nki_input *input,
                                const struct value *items) {
    struct str rest = str_of(input->s), name;
    str_next(&rest, '.', &name);
    struct value_class *known = class_named(in, name);
    if (in->tracing) { /* Python knows the class */
        struct value_class *cls = class_new(in, arena_strdup(in->heap, input->s), NULL);
        cls->form = CLASS_ENUM;
        struct value made = object_new(in, cls);
        made.object->inner = items[0];
        return made;
    }
    const struct value *member = known && known->form == CLASS_ENUM
                                     ? attrs_find(&known->attrs, interp_intern(in, rest))
                                     : NULL;
    return member ? *member : items[0];
}

bool argument_value(struct interp *in, const struct nki_node *node, const struct nki_input *input,
                    size_t index, struct str name, struct value *result) {
    if (input->kind < NKI_INPUT_TUPLE)
        return in->objects->parameter(in, node, input, index, name, result);
    const struct value *items = items_of(in, node, input, index, name);
    if (!items)
        return false;
    switch (input->kind) {
    case NKI_INPUT_TUPLE: *result = value_tuple(in, items, input->n_items); break;
    case NKI_INPUT_LIST: *result = value_list(in, items, input->n_items); break;
    case NKI_INPUT_DICT: *result = make_dict(in, input, items); break;
    case NKI_INPUT_RECORD: *result = make_record(in, input, items); break;
    default: *result = make_member(in, input, items); break;
    }
    return true;
}
