/* SPDX-License-Identifier: Apache-2.0 */
/* Values in messages: what Python has as well goes over as it is, all else as a handle. */
#include "nki/trace/private.h"

#include <stdio.h>
#include <string.h>

/* ---- from Python ----------------------------------------------------------------------------- */

static bool read_items(struct trace *t, const struct nki_node *node, struct wire *wire, uint32_t n,
                       struct value_seq **seq) {
    if (!interp_room(t->in, node, n, sizeof(struct value)))
        return false;
    *seq = seq_new(t->in, n);
    for (uint32_t i = 0; i < n; i++)
        if (!trace_read(t, node, wire, &(*seq)->items.at[i]))
            return false;
    return true;
}

static bool read_thing(struct trace *t, struct wire *wire, struct value *result) {
    int64_t handle = wire_int(wire);
    if (wire->bad || handle < 0 || (size_t)handle >= t->things.len)
        return !(wire->bad = true);
    *result = t->things.at[handle];
    return true;
}

static bool read_slice(struct trace *t, const struct nki_node *node, struct wire *wire,
                       struct value *result) {
    struct value_slice *slice = ARENA_NEW(t->in->heap, struct value_slice);
    *result = (struct value){.kind = VALUE_SLICE, .slice = slice};
    return trace_read(t, node, wire, &slice->start) && trace_read(t, node, wire, &slice->stop) &&
           trace_read(t, node, wire, &slice->step);
}

static bool read_dict(struct trace *t, const struct nki_node *node, struct wire *wire, uint32_t n,
                      struct value *result) {
    struct value key, item;
    *result = value_new_dict(t->in);
    if (n % 2)
        return !(wire->bad = true);
    for (uint32_t i = 0; i < n; i += 2) {
        if (!trace_read(t, node, wire, &key) || !trace_read(t, node, wire, &item) ||
            !interp_step(t->in, node))
            return false;
        if (key.kind == VALUE_LIST || key.kind == VALUE_DICT)
            return !(wire->bad = true);
        value_dict_put(t->in, result->dict, key, item);
    }
    return true;
}

static bool read_range(struct trace *t, struct wire *wire, struct value *result) {
    int64_t start = wire_int(wire), stop = wire_int(wire), step = wire_int(wire);
    if (wire->bad || step == 0)
        return !(wire->bad = true);
    *result = value_range_of(t->in, start, stop, step);
    return true;
}

static bool read_array(struct trace *t, const struct nki_node *node, struct wire *wire,
                       struct value *result) {
    struct str name = wire_text(wire);
    enum dtype dtype = dtype_find(name);
    uint32_t n = wire_tuple(wire);
    int64_t shape[ARRAY_MAX_DIMS] = {0}, count = 1;
    if (!wire->bad && n > ARRAY_MAX_DIMS)
        return interp_error(t->in, node, "hone-gap-numpy",
                            "a numpy array in a kernel has at most %d dimensions", ARRAY_MAX_DIMS);
    for (uint32_t d = 0; d < n; d++) {
        shape[d] = wire_int(wire);
        if (shape[d] < 0 || __builtin_mul_overflow(count, shape[d], &count))
            wire->bad = true;
    }
    struct str bytes = wire_bytes(wire);
    if (wire->bad || (uint64_t)count * sizeof(double) != bytes.len)
        return !(wire->bad = true);
    if (dtype == DTYPE_NONE)
        return interp_error(t->in, node, "TypeError",
                            "hone has no numpy array of " STR_FMT " for a kernel",
                            (int)MIN_OF(name.len, (size_t)80), name.at);
    double *elements = ARENA_ARRAY(t->in->heap, double, (size_t)count);
    if (bytes.len)
        memcpy(elements, bytes.at, bytes.len);
    struct array array = {.dtype = dtype, .ndim = (int)n, .data = elements};
    memcpy(array.shape, shape, sizeof array.shape);
    return t->in->objects->array(t->in, node, &array, result);
}

static bool read_named(struct trace *t, const struct nki_node *node, struct wire *wire,
                       struct value *result) {
    struct str path = wire_text(wire), name = wire_text(wire);
    const struct value_module *module = wire->bad ? NULL : t->in->objects->module(t->in, path);
    if (wire->bad || !module)
        return !(wire->bad = true);
    return module->get(t->in, node, module, name, result) || t->in->failure.set ||
           interp_error(t->in, node, "TypeError", "NKI takes no " STR_FMT "." STR_FMT,
                        STR_ARG(path), (int)MIN_OF(name.len, (size_t)80), name.at);
}

static bool read_class(struct trace *t, struct wire *wire, struct value *result) {
    struct str text = wire_text(wire);
    char name[80];
    (void)wire_bool(wire);
    snprintf(name, sizeof name, STR_FMT, STR_ARG(text));
    return !wire->bad && (interp_builtin(t->in, name, result) || !(wire->bad = true));
}

/* An object of the kernel's. It has a class of that name here, and nothing else. */
static bool read_object(struct trace *t, struct wire *wire, struct value *result) {
    int64_t number = wire_int(wire);
    struct str name = wire_text(wire);
    if (wire->bad)
        return false;
    struct value_class *cls =
        class_new(t->in, arena_strndup(t->in->heap, name.at, MIN_OF(name.len, (size_t)80)), NULL);
    *result = object_new(t->in, cls);
    attrs_put(t->in, &result->object->attrs, t->number_name, value_int(number));
    return true;
}

static bool read_tagged(struct trace *t, const struct nki_node *node, struct wire *wire,
                        struct value *result) {
    uint32_t n = wire_list(wire);
    int64_t tag = wire_int(wire);
    if (wire->bad || n < 1)
        return !(wire->bad = true);
    switch (tag) {
    case TRACE_THING: return n == 2 ? read_thing(t, wire, result) : !(wire->bad = true);
    case TRACE_LIST:
        result->kind = VALUE_LIST;
        return read_items(t, node, wire, n - 1, &result->seq);
    case TRACE_SLICE: return n == 4 ? read_slice(t, node, wire, result) : !(wire->bad = true);
    case TRACE_FUNCTION:
        *result = NONE_VALUE;
        if (n == 3) {
            int64_t number = wire_int(wire);
            *result = trace_function(t, number, wire_text(wire));
        }
        return n == 3 && !wire->bad ? true : !(wire->bad = true);
    case TRACE_DICT: return read_dict(t, node, wire, n - 1, result);
    case TRACE_RANGE: return n == 4 ? read_range(t, wire, result) : !(wire->bad = true);
    case TRACE_CLASS: return n == 3 ? read_class(t, wire, result) : !(wire->bad = true);
    case TRACE_ARRAY: return n == 4 ? read_array(t, node, wire, result) : !(wire->bad = true);
    case TRACE_NAMED: return n == 3 ? read_named(t, node, wire, result) : !(wire->bad = true);
    case TRACE_OBJECT: return n == 3 ? read_object(t, wire, result) : !(wire->bad = true);
    default: return !(wire->bad = true);
    }
}

static bool read_nested(struct trace *t, const struct nki_node *node, struct wire *wire,
                        struct value *result) {
    if (wire->depth >= TRACE_DEPTH)
        return !(wire->bad = true);
    wire->depth++;
    bool good = false;
    if (wire_next(wire) == '[') {
        good = read_tagged(t, node, wire, result);
    } else {
        result->kind = VALUE_TUPLE;
        good = read_items(t, node, wire, wire_tuple(wire), &result->seq);
    }
    wire->depth--;
    return good;
}

bool trace_read(struct trace *t, const struct nki_node *node, struct wire *wire,
                struct value *result) {
    *result = NONE_VALUE;
    switch (wire_next(wire)) {
    case 'N': wire->at++; break;
    case 'T':
    case 'F': *result = value_bool(wire_bool(wire)); break;
    case 'i':
    case 'l': *result = value_int(wire_int(wire)); break;
    case 'g': *result = value_float(wire_float(wire)); break;
    case 'u': *result = value_string(t->in, wire_text(wire)); break;
    case '.':
        wire->at++;
        *result = (struct value){.kind = VALUE_ELLIPSIS};
        break;
    case '[':
    case '(': return read_nested(t, node, wire, result) && !wire->bad;
    default: wire->bad = true;
    }
    return !wire->bad;
}

/* ---- to Python ------------------------------------------------------------------------------- */

/* What is the same each time, so that `is` and dicts work on it. */
static bool is_constant(struct value value) {
    switch (value.kind) {
    case VALUE_NATIVE:
    case VALUE_MODULE:
    case VALUE_DTYPE:
    case VALUE_FUNC:
    case VALUE_ENUM: return true;
    default: return false;
    }
}

static size_t new_handle(struct trace *t, struct value value) {
    *vec_push(&t->things) = value;
    return t->things.len - 1;
}

static size_t constant_handle(struct trace *t, struct value value) {
    char key[200];
    if (value.kind == VALUE_ENUM)
        snprintf(key, sizeof key, "%s.%s=%lld", value.enumeration->type, value.enumeration->member,
                 (long long)value.enumeration->number);
    else
        snprintf(key, sizeof key, "%d %llx", (int)value.kind, (unsigned long long)value.i);
    struct map_entry *entry = map_put(&t->constants, str_of(key));
    if (!entry->value)
        entry->value = (void *)(uintptr_t)(new_handle(t, value) + 1);
    return (size_t)(uintptr_t)entry->value - 1;
}

static void write_thing(struct trace *t, struct value value) {
    bool constant = is_constant(value);
    size_t handle = constant ? constant_handle(t, value) : new_handle(t, value);
    wire_put_list(&t->out, 5);
    wire_put_int(&t->out, TRACE_THING);
    wire_put_int(&t->out, (int64_t)handle);
    wire_put_bool(&t->out, constant);
    wire_put_text(&t->out, str_of(value_type_name(value)));
    wire_put_text(&t->out, str_of(value.kind == VALUE_NATIVE ? value.native->name : ""));
}

static void write_fields(struct trace *t, const struct attrs *attrs) {
    for (uint32_t i = 0; i < attrs->len; i++) {
        wire_put_text(&t->out, (struct str){attrs->at[i].name->at, attrs->at[i].name->len});
        trace_write(t, attrs->at[i].value);
    }
}

/* An argument of the kernel that is made of others (python/specialise.c), or an object of its own
 * that went through hone. */
static void write_object(struct trace *t, const struct value_object *object) {
    const struct value *number = attrs_find(&object->attrs, t->number_name);
    struct str name = str_of(object->cls->name), rest = name;
    if (number) {
        wire_put_list(&t->out, 3);
        wire_put_int(&t->out, TRACE_OBJECT);
        wire_put_int(&t->out, number->i);
        wire_put_text(&t->out, name);
    } else if (object->cls->form == CLASS_ENUM) {
        str_next(&rest, '.', &name);
        wire_put_list(&t->out, 4);
        wire_put_int(&t->out, TRACE_MEMBER);
        wire_put_text(&t->out, name);
        wire_put_text(&t->out, rest);
        trace_write(t, object->inner);
    } else {
        wire_put_list(&t->out, 2 + 2 * object->attrs.len);
        wire_put_int(&t->out, TRACE_RECORD);
        wire_put_text(&t->out, name);
        write_fields(t, &object->attrs);
    }
}

static void write_list(struct trace *t, const struct value_seq *seq) {
    wire_put_list(&t->out, seq->items.len + 1);
    wire_put_int(&t->out, TRACE_LIST);
    for (size_t i = 0; i < seq->items.len; i++)
        trace_write(t, seq->items.at[i]);
}

static void write_dict(struct trace *t, const struct value_dict *dict) {
    wire_put_list(&t->out, 2 * dict->pairs.len + 1);
    wire_put_int(&t->out, TRACE_DICT);
    for (size_t i = 0; i < dict->pairs.len; i++) {
        trace_write(t, dict->pairs.at[i].key);
        trace_write(t, dict->pairs.at[i].value);
    }
}

static void write_range(struct trace *t, const struct value_range *range) {
    wire_put_list(&t->out, 4);
    wire_put_int(&t->out, TRACE_RANGE);
    wire_put_int(&t->out, range->start);
    wire_put_int(&t->out, range->stop);
    wire_put_int(&t->out, range->step);
}

static void write_class(struct trace *t, const struct value_class *cls) {
    wire_put_list(&t->out, 3);
    wire_put_int(&t->out, TRACE_CLASS);
    wire_put_text(&t->out, str_of(cls->name));
    wire_put_bool(&t->out, cls->form == CLASS_EXCEPTION);
}

static void write_tuple(struct trace *t, const struct value_seq *seq) {
    wire_put_tuple(&t->out, seq->items.len);
    for (size_t i = 0; i < seq->items.len; i++)
        trace_write(t, seq->items.at[i]);
}

static void write_slice(struct trace *t, const struct value_slice *slice) {
    wire_put_list(&t->out, 4);
    wire_put_int(&t->out, TRACE_SLICE);
    trace_write(t, slice->start);
    trace_write(t, slice->stop);
    trace_write(t, slice->step);
}

void trace_write(struct trace *t, struct value value) {
    switch (value.kind) {
    case VALUE_NONE: wire_put_none(&t->out); break;
    case VALUE_BOOL: wire_put_bool(&t->out, value.b); break;
    case VALUE_INT: wire_put_int(&t->out, value.i); break;
    case VALUE_FLOAT: wire_put_float(&t->out, value.f); break;
    case VALUE_STR: wire_put_text(&t->out, text_of(value)); break;
    case VALUE_ELLIPSIS: buf_putc(&t->out, '.'); break;
    case VALUE_SLICE: write_slice(t, value.slice); break;
    case VALUE_TUPLE: write_tuple(t, value.seq); break;
    case VALUE_LIST: write_list(t, value.seq); break;
    case VALUE_DICT: write_dict(t, value.dict); break;
    case VALUE_RANGE: write_range(t, value.range); break;
    case VALUE_CLASS: write_class(t, value.cls); break;
    case VALUE_OBJECT: write_object(t, value.object); break;
    default: write_thing(t, value); break;
    }
}

const char *trace_error_class(struct trace *t, const struct failure *failure) {
    struct value cls;
    if (failure->fatal)
        return "";
    bool known = failure->code[0] && interp_builtin(t->in, failure->code, &cls) &&
                 cls.kind == VALUE_CLASS && cls.cls->form == CLASS_EXCEPTION;
    return known ? failure->code : "RuntimeError";
}
