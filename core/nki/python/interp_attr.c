/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes: of objects through their class and its bases, of modules, functions, classes and
 * builtin types. A method comes back with the object it was found on, so that a call needs no bound
 * value. */
#include "nki/python/inner.h"

struct value *attrs_find(const struct attrs *attrs, const struct value_str *name) {
    for (uint32_t i = 0; i < attrs->len; i++)
        if (attrs->at[i].name == name)
            return &attrs->at[i].value;
    return NULL;
}

void attrs_put(struct interp *in, struct attrs *attrs, const struct value_str *name,
               struct value value) {
    struct value *found = attrs_find(attrs, name);
    if (found) {
        *found = value;
        return;
    }
    if (attrs->len == attrs->cap) {
        attrs->cap = attrs->cap * 2 + 4;
        struct attr *grown = ARENA_ARRAY(in->heap, struct attr, attrs->cap);
        if (attrs->len)
            memcpy(grown, attrs->at, attrs->len * sizeof *grown);
        attrs->at = grown;
    }
    attrs->at[attrs->len++] = (struct attr){name, value};
}

/* Searches depth first, left to right. Classes are made after their bases, so this ends. */
struct value *class_find(const struct value_class *cls, const struct value_str *name) {
    struct value *found = attrs_find(&cls->attrs, name);
    for (int i = 0; i < cls->n_bases && !found; i++)
        found = class_find(cls->bases[i], name);
    return found;
}

bool class_is(const struct value_class *cls, const struct value_class *base) {
    if (cls == base)
        return true;
    for (int i = 0; i < cls->n_bases; i++)
        if (class_is(cls->bases[i], base))
            return true;
    return false;
}

bool find_method(struct interp *in, struct value object, const char *name, struct value *method) {
    if (object.kind != VALUE_OBJECT)
        return false;
    const struct value *found = class_find(object.object->cls, interp_intern(in, str_of(name)));
    if (!found || found->kind == VALUE_NONE)
        return false;
    *method = *found;
    return true;
}

bool call_method(struct interp *in, const struct nki_node *node, const struct method_use *use,
                 bool *found, struct value *result) {
    struct value method, full[4] = {use->object};
    *found = find_method(in, use->object, use->name, &method);
    if (!*found)
        return true;
    for (size_t i = 0; i < use->n && i + 1 < COUNT_OF(full); i++)
        full[i + 1] = use->args[i];
    struct call call = {.node = node, .args = full, .n_args = use->n + 1, .self = NONE_VALUE};
    return call_value(in, &call, method, result);
}

/* ---- of objects ----------------------------------------------------------------------------- */

/* What a class has under a name, as an attribute of its object. */
static bool from_class(struct interp *in, const struct nki_node *node, struct value object,
                       struct value found, struct attribute *result) {
    result->value = found;
    if (found.kind == VALUE_NATIVE)
        result->self = object;
    if (found.kind != VALUE_FUNCTION)
        return true;
    struct value cls = {.kind = VALUE_CLASS,
                        .cls = object.kind == VALUE_OBJECT ? object.object->cls : object.cls};
    switch (found.function->form) {
    case FUNCTION_PROPERTY: {
        struct call call = {.node = node, .args = &object, .n_args = 1, .self = NONE_VALUE};
        return call_value(in, &call, found, &result->value);
    }
    case FUNCTION_CLASS: result->self = cls; break;
    case FUNCTION_PLAIN: result->self = object; break;
    case FUNCTION_STATIC: break;
    }
    return true;
}

static bool object_special(struct interp *in, struct value object, struct str name,
                           struct value *result) {
    struct value_object *o = object.object;
    if (str_is(name, "__class__")) {
        *result = (struct value){.kind = VALUE_CLASS, .cls = o->cls};
        return true;
    }
    if (str_is(name, "__dict__")) {
        *result = value_new_dict(in);
        for (uint32_t i = 0; i < o->attrs.len; i++)
            value_dict_put(in, result->dict,
                           (struct value){.kind = VALUE_STR, .str = o->attrs.at[i].name},
                           o->attrs.at[i].value);
        return true;
    }
    if (o->cls->form == CLASS_ENUM && str_is(name, "value")) {
        *result = o->inner;
        return true;
    }
    if (o->cls->form == CLASS_TUPLE && str_is(name, "_fields")) {
        *result = value_tuple(in, NULL, 0);
        for (size_t i = 0; i < o->cls->fields.len; i++)
            value_push(in, result->seq,
                       (struct value){.kind = VALUE_STR, .str = o->cls->fields.at[i].name});
        return true;
    }
    return false;
}

static bool object_attr(struct interp *in, const struct nki_node *node, struct value object,
                        const struct value_str *name, struct attribute *result) {
    struct value_object *o = object.object;
    struct str text = {name->at, name->len};
    struct value *own = attrs_find(&o->attrs, name), *shared;
    if (own) {
        result->value = *own;
        return true;
    }
    if (object_special(in, object, text, &result->value))
        return true;
    if ((shared = class_find(o->cls, name)))
        return from_class(in, node, object, *shared, result);
    const struct value_native *native = NULL;
    if (o->cls->form == CLASS_TUPLE && (native = in->library->tuple_method(text))) {
        result->self = object;
        result->value = (struct value){.kind = VALUE_NATIVE, .native = native};
        return true;
    }
    if (o->cls->form == CLASS_TUPLE && (native = in->library->method(VALUE_TUPLE, false, text))) {
        result->self = o->inner;
        result->value = (struct value){.kind = VALUE_NATIVE, .native = native};
        return true;
    }
    struct value key = {.kind = VALUE_STR, .str = name};
    if (str_starts(text, "__"))
        return !(result->found = false);
    return call_method(in, node, &(struct method_use){object, "__getattr__", &key, 1},
                       &result->found, &result->value);
}

static bool class_attr(struct interp *in, struct value object, const struct value_str *name,
                       struct attribute *result) {
    struct value_class *cls = object.cls;
    struct str text = {name->at, name->len};
    const struct value *found = class_find(cls, name);
    if (found) {
        result->value = *found;
        if (found->kind == VALUE_FUNCTION && found->function->form == FUNCTION_CLASS)
            result->self = object;
        return true;
    }
    if (str_is(text, "__name__") || str_is(text, "__qualname__")) {
        result->value = value_string(in, str_of(cls->name));
        return true;
    }
    if (str_is(text, "__members__") && cls->form == CLASS_ENUM) {
        result->value = value_new_dict(in);
        const struct value_str *key = interp_intern(in, STR("name"));
        for (size_t i = 0; i < cls->members.len; i++)
            value_dict_put(in, result->value.dict,
                           *attrs_find(&cls->members.at[i].object->attrs, key), cls->members.at[i]);
        return true;
    }
    return false;
}

static bool plain_attr(struct interp *in, struct value object, struct str name,
                       struct value *result) {
    switch (object.kind) {
    case VALUE_FUNCTION:
        if (str_is(name, "__name__") || str_is(name, "__qualname__"))
            *result = value_string(in, str_of(object.function->name));
        else if (str_is(name, "func") || str_is(name, "__wrapped__"))
            *result = object;
        else if (str_is(name, "__doc__"))
            *result = NONE_VALUE;
        else
            return false;
        return true;
    case VALUE_NATIVE:
        if (!str_is(name, "__name__"))
            return false;
        *result = value_string(in, str_of(object.native->name));
        return true;
    case VALUE_SLICE:
        *result = str_is(name, "start")  ? object.slice->start
                  : str_is(name, "stop") ? object.slice->stop
                                         : object.slice->step;
        return str_is(name, "start") || str_is(name, "stop") || str_is(name, "step");
    case VALUE_RANGE:
        *result = value_int(str_is(name, "start")  ? object.range->start
                            : str_is(name, "stop") ? object.range->stop
                                                   : object.range->step);
        return str_is(name, "start") || str_is(name, "stop") || str_is(name, "step");
    case VALUE_INT:
    case VALUE_BOOL:
    case VALUE_FLOAT:
        *result = str_is(name, "imag")          ? value_int(0)
                  : str_is(name, "denominator") ? value_int(1)
                                                : object;
        return str_is(name, "real") || str_is(name, "imag") ||
               (object.kind != VALUE_FLOAT &&
                (str_is(name, "numerator") || str_is(name, "denominator")));
    default: return false;
    }
}

static bool no_name(struct interp *in, const struct nki_node *node, const char *module,
                    struct str name) {
    const struct nki_program *program = interp_program(in);
    if (in->library->name_is_gap(module, name))
        return interp_error(in, node, "hone-gap-python", "hone does not know %s." STR_FMT " yet",
                            module, STR_ARG(name));
    struct nki_profile profile = {in->dialect, program->release, program->generation};
    const char *near = nki_name_near(str_of(module), name, &profile);
    return interp_error(in, node, "AttributeError",
                        "module %s has no attribute '" STR_FMT "'%s%s%s", module, STR_ARG(name),
                        near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* Python's objects have more of the names that begin and end with two underscores than hone's. */
static bool is_special(struct str name) {
    return name.len > 4 && !memcmp(name.at, "__", 2) && !memcmp(name.at + name.len - 2, "__", 2);
}

/* Whether what is missing is a method of a type of Python, or of its values. */
static bool is_gap(struct interp *in, struct value object, struct str name) {
    enum value_kind kind = object.kind;
    bool is_set = kind == VALUE_DICT && object.dict->is_set;
    if (kind == VALUE_NATIVE && in->library->is_type(object.native, &kind))
        is_set = str_is(str_of(object.native->name), "set");
    return in->library->is_gap(kind, is_set, name);
}

static bool no_attr(struct interp *in, const struct nki_node *node, struct value object,
                    struct str name) {
    if (object.kind == VALUE_MODULE)
        return no_name(in, node, object.module->name, name);
    if (is_special(name) && object.kind != VALUE_OBJECT)
        return interp_error(in, node, "hone-gap-python", "hone does not know '" STR_FMT "' of %s",
                            STR_ARG(name), value_type_name(object));
    if (is_gap(in, object, name))
        return interp_error(in, node, "hone-gap-python",
                            "hone does not know the method '" STR_FMT "' of %s", STR_ARG(name),
                            value_type_name(object));
    return interp_error(in, node, "AttributeError", "%s%s%s has no attribute '" STR_FMT "'",
                        value_type_name(object), object.kind == VALUE_CLASS ? " " : "",
                        object.kind == VALUE_CLASS ? object.cls->name : "", STR_ARG(name));
}

/* result->found is false, and no error is set, when there is no such attribute. */
static bool lookup(struct interp *in, const struct nki_node *node, struct value object,
                   const struct value_str *name, struct attribute *result) {
    struct str text = {name->at, name->len};
    *result = (struct attribute){true, NONE_VALUE, UNSET_VALUE};
    switch (object.kind) {
    case VALUE_MODULE:
        result->found = object.module->get(in, node, object.module, text, &result->value);
        return !in->failure.set;
    case VALUE_OBJECT: return object_attr(in, node, object, name, result);
    case VALUE_CLASS:
        if (class_attr(in, object, name, result))
            return true;
        break;
    default:
        if (is_api(object))
            return in->objects->getattr(in, node, object, text, &result->value);
    }
    bool is_set = object.kind == VALUE_DICT && object.dict->is_set;
    const struct value_native *method = in->library->method(object.kind, is_set, text);
    if (method) {
        result->self = object;
        result->value = (struct value){.kind = VALUE_NATIVE, .native = method};
        return true;
    }
    result->found =
        plain_attr(in, object, text, &result->value) ||
        (object.kind == VALUE_TUPLE && in->objects->grid_axis(object, text, &result->value));
    return true;
}

bool get_attr(struct interp *in, const struct nki_node *node, struct value object,
              const struct value_str *name, struct attribute *result) {
    if (!lookup(in, node, object, name, result))
        return false;
    return result->found || no_attr(in, node, object, (struct str){name->at, name->len});
}

bool get_attr_value(struct interp *in, const struct nki_node *node, struct value object,
                    const struct value_str *name, struct value *result) {
    struct attribute attribute;
    if (!get_attr(in, node, object, name, &attribute))
        return false;
    *result = attribute.value;
    if (is_unset(attribute.self))
        return true;
    struct value_bound *bound = ARENA_NEW(in->heap, struct value_bound);
    *bound = (struct value_bound){attribute.self, attribute.value};
    *result = (struct value){.kind = VALUE_BOUND, .bound = bound};
    return true;
}

bool has_attr(struct interp *in, const struct nki_node *node, struct value object,
              const struct value_str *name) {
    struct attribute attribute;
    if (module_is_unknown(object))
        return false;
    bool good = lookup(in, node, object, name, &attribute);
    if (!good && !in->failure.fatal)
        in->failure.set = false;
    return good && attribute.found;
}

bool set_attr(struct interp *in, const struct nki_node *node, struct value object,
              const struct value_str *name, struct value value) {
    struct str text = {name->at, name->len};
    if (object.kind == VALUE_CLASS) {
        attrs_put(in, &object.cls->attrs, name, value);
        return true;
    }
    if (object.kind != VALUE_OBJECT)
        return interp_error(in, node, "AttributeError",
                            "attribute '" STR_FMT "' of a %s cannot be assigned", STR_ARG(text),
                            value_type_name(object));
    struct value_class *cls = object.object->cls;
    const struct value *shared = class_find(cls, name);
    if (shared && shared->kind == VALUE_FUNCTION && shared->function->form == FUNCTION_PROPERTY) {
        struct value args[2] = {object, value}, ignored;
        if (!shared->function->setter)
            return interp_error(in, node, "AttributeError",
                                "property '" STR_FMT "' of %s has no setter", STR_ARG(text),
                                cls->name);
        struct call call = {.node = node, .args = args, .n_args = 2, .self = NONE_VALUE};
        return call_function(in, &call, shared->function->setter, &ignored);
    }
    if (cls->frozen || cls->form == CLASS_ENUM || cls->form == CLASS_TUPLE)
        return interp_error(in, node, "AttributeError",
                            "%s is immutable: its '" STR_FMT "' cannot be assigned", cls->name,
                            STR_ARG(text));
    attrs_put(in, &object.object->attrs, name, value);
    return true;
}
