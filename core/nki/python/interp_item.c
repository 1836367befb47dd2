/* SPDX-License-Identifier: Apache-2.0 */
/* Subscripts of Python's own containers: reading, writing and deleting items and slices. Those of
 * tensors and other values of the API go to the API side. */
#include "nki/python/inner.h"

struct bounds {
    int64_t start, step, count;
};

static bool slice_part(struct interp *in, const struct nki_node *node, struct value part,
                       int64_t missing, int64_t *out) {
    *out = missing;
    if (part.kind == VALUE_NONE)
        return true;
    if (part.kind == VALUE_OBJECT && part.object->cls->is_int)
        part = part.object->inner;
    if (!is_integer(part))
        return interp_error(in, node, "TypeError", "a slice needs integers, not %s",
                            value_type_name(part));
    *out = integer_of(part);
    return true;
}

static int64_t clamp(int64_t i, int64_t n, int64_t low, int64_t high) {
    if (i < 0)
        i = i < -n ? -1 : i + n;
    return i < low ? low : i > high ? high : i;
}

/* What a slice selects from n items, by Python's rules. */
static bool slice_bounds(struct interp *in, const struct nki_node *node,
                         const struct value_slice *slice, int64_t n, struct bounds *b) {
    int64_t start, stop;
    if (!slice_part(in, node, slice->step, 1, &b->step))
        return false;
    if (b->step == 0)
        return interp_error(in, node, "ValueError", "the step of a slice cannot be zero");
    bool up = b->step > 0;
    if (!slice_part(in, node, slice->start, 0, &start) ||
        !slice_part(in, node, slice->stop, 0, &stop))
        return false;
    int64_t low = up ? 0 : -1, high = up ? n : n - 1;
    start = slice->start.kind == VALUE_NONE ? (up ? 0 : n - 1) : clamp(start, n, low, high);
    stop = slice->stop.kind == VALUE_NONE ? (up ? n : -1) : clamp(stop, n, low, high);
    struct value_range range = {.start = start, .stop = stop, .step = b->step};
    b->start = start;
    b->count = range_length(&range);
    return true;
}

static bool index_of(struct interp *in, const struct nki_node *node, struct value object,
                     struct value key, int64_t *index) {
    int64_t n;
    if (key.kind == VALUE_OBJECT && key.object->cls->is_int)
        key = key.object->inner;
    bool found = false;
    if (key.kind == VALUE_OBJECT &&
        !call_method(in, node, &(struct method_use){key, "__index__", NULL, 0}, &found, &key))
        return false;
    if (!is_integer(key))
        return interp_error(in, node, "TypeError", "the index of a %s must be an integer, not %s",
                            value_type_name(object), value_type_name(key));
    if (!op_length(in, node, object, &n))
        return false;
    int64_t i = integer_of(key);
    *index = i < 0 ? i + n : i;
    if (*index < 0 || *index >= n)
        return interp_error(in, node, "IndexError",
                            "index %lld is out of range for a %s of %lld items", (long long)i,
                            value_type_name(object), (long long)n);
    return true;
}

static bool seq_get(struct interp *in, const struct nki_node *node, struct value object,
                    struct value key, struct value *result) {
    const struct value_seq *seq = object.seq;
    if (key.kind == VALUE_INT && key.i >= 0 && key.i < (int64_t)seq->items.len) {
        *result = seq->items.at[key.i];
        return true;
    }
    if (key.kind == VALUE_SLICE) {
        struct bounds b;
        if (!slice_bounds(in, node, key.slice, (int64_t)seq->items.len, &b) ||
            !interp_room(in, node, (uint64_t)b.count, sizeof(struct value)))
            return false;
        struct value_seq *part = seq_new(in, (size_t)b.count);
        for (int64_t i = 0; i < b.count; i++)
            part->items.at[i] = seq->items.at[b.start + i * b.step];
        *result = (struct value){.kind = object.kind, .seq = part};
        return true;
    }
    int64_t i;
    if (!index_of(in, node, object, key, &i))
        return false;
    *result = seq->items.at[i];
    return true;
}

static bool range_get(struct interp *in, const struct nki_node *node, struct value object,
                      struct value key, struct value *result) {
    const struct value_range *r = object.range;
    int64_t i;
    if (key.kind == VALUE_SLICE) {
        struct bounds b;
        if (!slice_bounds(in, node, key.slice, range_length(r), &b))
            return false;
        int64_t step = r->step * b.step, start = r->start + b.start * r->step;
        *result = value_range_of(in, start, start + b.count * step, step);
        return true;
    }
    if (!index_of(in, node, object, key, &i))
        return false;
    *result = value_int(r->start + i * r->step);
    return true;
}

/* A string that is not plain ASCII is first made a list of its characters. */
static bool text_get(struct interp *in, const struct nki_node *node, struct value object,
                     struct value key, struct value *result) {
    const struct value_seq *items;
    struct value list = {.kind = VALUE_LIST}, part;
    if (!interp_items(in, node, object, &items))
        return false;
    list.seq = seq_new(in, 0);
    *list.seq = *items;
    if (key.kind != VALUE_SLICE) {
        int64_t i;
        if (!index_of(in, node, object, key, &i))
            return false;
        *result = items->items.at[i];
        return true;
    }
    if (!seq_get(in, node, list, key, &part))
        return false;
    struct buf out = {0};
    for (size_t i = 0; i < part.seq->items.len; i++)
        buf_add(&out, part.seq->items.at[i].str->at, part.seq->items.at[i].str->len);
    *result = value_take(in, &out);
    return true;
}

static bool dict_get(struct interp *in, const struct nki_node *node, struct value object,
                     struct value key, struct value *result) {
    const struct value_pair *pair = value_dict_find(in, object.dict, key);
    if (!pair && object.dict->factory.kind != VALUE_NONE) {
        if (!interp_call(in, node, object.dict->factory, NULL, 0, result))
            return false;
        value_dict_put(in, object.dict, key, *result);
        return true;
    }
    if (!pair) {
        struct buf text = {0};
        value_repr(in, key, &text);
        interp_error(in, node, "KeyError", "key %.200s is not in the dict",
                     text.at ? text.at : "''");
        buf_free(&text);
        return false;
    }
    *result = pair->value;
    return true;
}

static bool class_get(struct interp *in, const struct nki_node *node, struct value object,
                      struct value key, struct value *result) {
    if (object.cls->form == CLASS_ENUM && key.kind == VALUE_STR) {
        const struct value *member = class_find(object.cls, interp_intern(in, text_of(key)));
        if (!member)
            return interp_error(in, node, "KeyError", "%s has no member '" STR_FMT "'",
                                object.cls->name, STR_ARG(text_of(key)));
        *result = *member;
        return true;
    }
    *result = object; /* Generic[T] */
    return true;
}

#define MAX_LAUNCH 65536 /* instances along one dimension */

static bool launch_size(struct interp *in, const struct nki_node *node, struct value size,
                        int *dimension) {
    int least = in->dialect == NKI_DIALECT_LEGACY ? 0 : 1; /* kernel[0] launched one instance */
    if (!is_integer(size) || integer_of(size) < least || integer_of(size) > MAX_LAUNCH)
        return interp_error(in, node, "TypeError",
                            "the launch grid of a kernel is 1 to 3 numbers from 1 to %d",
                            MAX_LAUNCH);
    *dimension = (int)MAX_OF(integer_of(size), 1);
    return true;
}

/* kernel[grid]: the kernel, with the grid to launch it on. */
static bool function_get(struct interp *in, const struct nki_node *node,
                         const struct value_function *function, struct value key,
                         struct value *result) {
    struct value_function *launched = arena_dup(in->heap, function, sizeof *function);
    *result = (struct value){.kind = VALUE_FUNCTION, .function = launched};
    memset(launched->launch, 0, sizeof launched->launch);
    if (key.kind != VALUE_TUPLE && key.kind != VALUE_LIST)
        return launch_size(in, node, key, &launched->launch[0]);
    size_t n = key.seq->items.len;
    if (n > 3)
        return interp_error(in, node, "TypeError", "a launch grid has at most 3 dimensions");
    for (size_t i = 0; i < n; i++)
        if (!launch_size(in, node, key.seq->items.at[i], &launched->launch[i]))
            return false;
    return true;
}

bool get_item(struct interp *in, const struct nki_node *node, struct value object, struct value key,
              struct value *result) {
    bool found = false;
    switch (object.kind) {
    case VALUE_TUPLE:
    case VALUE_LIST: return seq_get(in, node, object, key, result);
    case VALUE_DICT:
        if (!object.dict->is_set)
            return dict_get(in, node, object, key, result);
        break;
    case VALUE_RANGE: return range_get(in, node, object, key, result);
    case VALUE_STR: return text_get(in, node, object, key, result);
    case VALUE_FUNCTION: return function_get(in, node, object.function, key, result);
    case VALUE_NATIVE: /* list[int] */ *result = object; return true;
    case VALUE_CLASS: return class_get(in, node, object, key, result);
    case VALUE_MODULE:
        if (!module_is_unknown(object))
            break;
        *result = object;
        return true;
    case VALUE_OBJECT:
        if (object.object->cls->form == CLASS_TUPLE)
            return seq_get(in, node, object.object->inner, key, result);
        if (!call_method(in, node, &(struct method_use){object, "__getitem__", &key, 1}, &found,
                         result))
            return false;
        if (found)
            return true;
        break;
    default:
        if (is_api(object))
            return in->objects->getitem(in, node, object, key, result);
    }
    return interp_error(in, node, "TypeError", "%s cannot be indexed", value_type_name(object));
}

/* list[a:b] = items */
static bool set_slice(struct interp *in, const struct nki_node *node, struct value_seq *seq,
                      const struct value_slice *slice, struct value item) {
    struct bounds b;
    const struct value_seq *source;
    if (!slice_bounds(in, node, slice, (int64_t)seq->items.len, &b) ||
        !interp_items(in, node, item, &source))
        return false;
    size_t n = source->items.len, count = (size_t)b.count, old = seq->items.len;
    if (b.step != 1 && n != count)
        return interp_error(in, node, "ValueError", "%zu items cannot replace %zu", n, count);
    if (!interp_room(in, node, old + n, sizeof(struct value)))
        return false;
    struct value *copy = arena_dup(in->heap, source->items.at, n * sizeof *copy);
    if (b.step != 1) {
        for (size_t i = 0; i < n; i++)
            seq->items.at[b.start + (int64_t)i * b.step] = copy[i];
        return true;
    }
    size_t start = (size_t)b.start, tail = old - start - count;
    struct value_seq *grown = seq_new(in, old - count + n);
    memcpy(grown->items.at, seq->items.at, start * sizeof *copy);
    memcpy(grown->items.at + start, copy, n * sizeof *copy);
    memcpy(grown->items.at + start + n, seq->items.at + start + count, tail * sizeof *copy);
    *seq = *grown;
    return true;
}

bool set_item(struct interp *in, const struct nki_node *node, struct value object, struct value key,
              struct value item) {
    bool found = false;
    struct value ignored;
    int64_t i;
    switch (object.kind) {
    case VALUE_LIST:
        if (key.kind == VALUE_SLICE)
            return set_slice(in, node, object.seq, key.slice, item);
        if (!index_of(in, node, object, key, &i))
            return false;
        object.seq->items.at[i] = item;
        return true;
    case VALUE_DICT:
        if (object.dict->is_set)
            break;
        if (key.kind == VALUE_LIST || key.kind == VALUE_DICT)
            return interp_error(in, node, "TypeError", "a %s cannot be a key of a dict",
                                value_type_name(key));
        value_dict_put(in, object.dict, key, item);
        return true;
    case VALUE_OBJECT: {
        struct value args[2] = {key, item};
        if (!call_method(in, node, &(struct method_use){object, "__setitem__", args, 2}, &found,
                         &ignored))
            return false;
        if (found)
            return true;
        break;
    }
    default:
        if (is_api(object))
            return in->objects->setitem(in, node, object, key, item);
    }
    return interp_error(in, node, "TypeError", "items of a %s cannot be assigned",
                        value_type_name(object));
}

bool del_item(struct interp *in, const struct nki_node *node, struct value object,
              struct value key) {
    struct value ignored;
    if (object.kind == VALUE_DICT)
        return dict_get(in, node, object, key, &ignored) && value_dict_remove(in, object.dict, key);
    if (object.kind == VALUE_LIST && key.kind != VALUE_SLICE) {
        int64_t i;
        if (!index_of(in, node, object, key, &i))
            return false;
        struct value *at = object.seq->items.at + i;
        interp_count(in, object.seq->items.len / 64);
        memmove(at, at + 1, (object.seq->items.len - (size_t)i - 1) * sizeof *at);
        object.seq->items.len--;
        return true;
    }
    if (object.kind == VALUE_LIST) {
        struct value empty = value_tuple(in, NULL, 0);
        return set_slice(in, node, object.seq, key.slice, empty);
    }
    bool found = false;
    if (object.kind == VALUE_OBJECT &&
        (!call_method(in, node, &(struct method_use){object, "__delitem__", &key, 1}, &found,
                      &ignored) ||
         found))
        return found;
    return interp_error(in, node, "TypeError", "items of a %s cannot be deleted",
                        value_type_name(object));
}
