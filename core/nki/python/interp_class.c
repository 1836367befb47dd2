/* SPDX-License-Identifier: Apache-2.0 */
/* def and class: decorators, fields and generated constructors, Enum members, named tuples, and
 * making objects. Attributes are looked up in interp_attr.c. */
#include "nki/python/inner.h"

#include <stdio.h>

struct value_class *class_new(struct interp *in, const char *name, struct value_class *base) {
    struct value_class *cls = ARENA_NEW(in->heap, struct value_class);
    cls->name = arena_strdup(in->heap, name);
    if (base) {
        cls->bases[cls->n_bases++] = base;
        cls->form = base->form;
        cls->is_int = base->is_int;
        cls->is_flag = base->is_flag;
        cls->generated = base->generated;
        cls->frozen = base->frozen;
        cls->is_data = base->is_data;
        cls->lenient = base->lenient;
    }
    return cls;
}

struct value object_new(struct interp *in, struct value_class *cls) {
    struct value_object *object = ARENA_NEW(in->heap, struct value_object);
    object->cls = cls;
    return (struct value){.kind = VALUE_OBJECT, .object = object};
}

/* ---- decorators ----------------------------------------------------------------------------- */

enum decorator {
    DECORATOR_OTHER,
    DECORATOR_STATIC,
    DECORATOR_CLASS,
    DECORATOR_PROPERTY,
    DECORATOR_DATA,
    DECORATOR_AUTO_ALLOC,
    DECORATOR_NOTHING
};

/* Decorators are known by the last part of their dotted name, because they are written with and
 * without their module. */
static enum decorator decorator_of(const struct nki_node *node, struct buf *dotted) {
    static const struct {
        const char *name;
        enum decorator decorator;
    } known[] = {
        {"staticmethod", DECORATOR_STATIC},
        {"classmethod", DECORATOR_CLASS},
        {"property", DECORATOR_PROPERTY},
        {"cached_property", DECORATOR_PROPERTY},
        {"dataclass", DECORATOR_DATA},
        {"lru_cache", DECORATOR_NOTHING},
        {"cache", DECORATOR_NOTHING},
        {"wraps", DECORATOR_NOTHING},
        {"abstractmethod", DECORATOR_NOTHING},
        {"unique", DECORATOR_NOTHING},
        {"total_ordering", DECORATOR_NOTHING},
        {"overload", DECORATOR_NOTHING},
        {"override", DECORATOR_NOTHING},
        {"final", DECORATOR_NOTHING},
        {"enable_stack_allocator", DECORATOR_NOTHING},
        {"skip_middle_end_transformations", DECORATOR_NOTHING},
        {"force_auto_alloc", DECORATOR_AUTO_ALLOC},
    };
    if (!nki_dotted_name(node->kind == NKI_CALL ? node->call.func : node, dotted))
        return DECORATOR_OTHER;
    const char *dot = strrchr(dotted->at, '.');
    const char *last = dot ? dot + 1 : dotted->at;
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (strcmp(known[i].name, last) == 0)
            return known[i].decorator;
    return DECORATOR_OTHER;
}

/* @name.setter: the property of that name gets a setter. */
static bool is_setter(struct interp *in, const struct nki_node *node, struct value function,
                      struct value *property) {
    if (node->kind != NKI_ATTRIBUTE || !str_is(node->attribute.attr, "setter") ||
        node->attribute.value->kind != NKI_NAME)
        return false;
    if (!load_ref(in, node->attribute.value, in->frame->unit->cells[node->attribute.value->id].ref,
                  property) ||
        property->kind != VALUE_FUNCTION)
        return false;
    property->function->setter = function.function;
    return true;
}

bool interp_auto_allocates(const struct interp *in) {
    return in->auto_allocates;
}

/* A decorator that the kernel's own files define is called. Others are skipped, and calling the
 * function reports it. */
static bool apply_other(struct interp *in, const struct nki_node *node, struct value *value) {
    struct value decorator;
    if (!eval(in, node, &decorator)) {
        if (in->failure.fatal)
            return false;
        in->failure.set = false;
        decorator = NONE_VALUE;
    }
    if (decorator.kind == VALUE_FUNCTION || decorator.kind == VALUE_CLASS ||
        decorator.kind == VALUE_OBJECT || decorator.kind == VALUE_BOUND)
        return interp_call(in, node, decorator, value, 1, value);
    if (decorator.kind != VALUE_NATIVE && !is_api(decorator) && value->kind == VALUE_FUNCTION)
        value->function->skipped = node;
    return true;
}

static bool decorate_function(struct interp *in, const struct nki_node *stmt, struct value *value) {
    const struct nki_list *all = &stmt->function_def.decorators;
    const struct nki_node *kernel = nki_kernel_decorator(stmt);
    value->function->is_kernel = kernel != NULL;
    for (uint32_t i = all->len; i-- > 0;) {
        struct buf dotted = {0};
        bool good = true;
        struct value property;
        enum decorator which = decorator_of(all->at[i], &dotted);
        if (all->at[i] == kernel || value->kind != VALUE_FUNCTION)
            which = DECORATOR_NOTHING;
        in->auto_allocates |= which == DECORATOR_AUTO_ALLOC;
        if (which == DECORATOR_STATIC)
            value->function->form = FUNCTION_STATIC;
        else if (which == DECORATOR_CLASS)
            value->function->form = FUNCTION_CLASS;
        else if (which == DECORATOR_PROPERTY)
            value->function->form = FUNCTION_PROPERTY;
        else if (which == DECORATOR_OTHER && is_setter(in, all->at[i], *value, &property))
            *value = property;
        else if (which == DECORATOR_OTHER)
            good = apply_other(in, all->at[i], value);
        buf_free(&dotted);
        if (!good)
            return false;
    }
    return true;
}

enum flow exec_function_def(struct interp *in, const struct nki_node *stmt) {
    struct value value = make_function(in, stmt);
    if (!function_defaults(in, value.function) || !decorate_function(in, stmt, &value))
        return FLOW_ERROR;
    store_ref(in, in->frame->unit->cells[stmt->id].ref, value);
    return FLOW_NEXT;
}

/* ---- classes -------------------------------------------------------------------------------- */

static bool add_base(struct interp *in, const struct nki_node *node, struct value_class *cls) {
    struct value base;
    if (!eval(in, node, &base))
        return false;
    /* typing.Generic, abc.ABC and the bases of other modules mean nothing here. */
    enum value_kind kind;
    if (base.kind == VALUE_NATIVE && in->library->is_type(base.native, &kind))
        cls->is_int |= kind == VALUE_INT || kind == VALUE_STR || kind == VALUE_FLOAT;
    if (base.kind == VALUE_NATIVE || base.kind == VALUE_MODULE || is_api(base))
        return true;
    if (base.kind != VALUE_CLASS)
        return interp_error(in, node, "TypeError", "a class cannot inherit from %s",
                            value_type_name(base));
    if (cls->n_bases == (int)COUNT_OF(cls->bases))
        return interp_error(in, node, "TypeError", "a class with more than %d bases", cls->n_bases);
    cls->bases[cls->n_bases++] = base.cls;
    if (base.cls->form != CLASS_PLAIN)
        cls->form = base.cls->form;
    cls->is_int |= base.cls->is_int;
    cls->is_flag |= base.cls->is_flag;
    cls->generated |= base.cls->generated;
    cls->is_data |= base.cls->is_data;
    cls->lenient |= base.cls->lenient;
    cls->frozen |= base.cls->frozen;
    return true;
}

static void add_field(struct interp *in, struct value_class *cls, struct field field) {
    for (size_t i = 0; i < cls->fields.len; i++)
        if (cls->fields.at[i].name == field.name) {
            cls->fields.at[i] = field;
            return;
        }
    if (cls->fields.len == cls->fields.cap) {
        size_t cap = cls->fields.cap * 2 + 8;
        struct field *grown = ARENA_ARRAY(in->heap, struct field, cap);
        if (cls->fields.len)
            memcpy(grown, cls->fields.at, cls->fields.len * sizeof *grown);
        cls->fields.at = grown;
        cls->fields.cap = cap;
    }
    cls->fields.at[cls->fields.len++] = field;
}

/* field(default=.., default_factory=.., init=..) comes as an object of class "field". */
static struct field field_from(struct interp *in, const struct value_str *name,
                               struct value *value) {
    struct field field = {name, UNSET_VALUE, UNSET_VALUE, true};
    if (!value)
        return field;
    field.default_value = *value;
    if (value->kind != VALUE_OBJECT || strcmp(value->object->cls->name, "field") != 0)
        return field;
    const struct attrs *attrs = &value->object->attrs;
    const struct value *part = attrs_find(attrs, interp_intern(in, STR("default")));
    field.default_value = part ? *part : UNSET_VALUE;
    if ((part = attrs_find(attrs, interp_intern(in, STR("default_factory")))))
        field.factory = *part;
    if ((part = attrs_find(attrs, interp_intern(in, STR("init")))))
        field.in_init = part->kind != VALUE_BOOL || part->b;
    return field;
}

/* An NKIObject that annotates none of its attributes has those that it assigns as fields. */
static void take_plain_fields(struct interp *in, const struct nki_list *body,
                              struct value_class *cls) {
    for (uint32_t i = 0; i < body->len; i++) {
        const struct nki_node *line = body->at[i];
        if (line->kind != NKI_ASSIGN || line->assign.targets.len != 1 ||
            line->assign.targets.at[0]->kind != NKI_NAME)
            continue;
        const struct value_str *name = interp_intern(in, line->assign.targets.at[0]->name.id);
        add_field(in, cls, field_from(in, name, attrs_find(&cls->attrs, name)));
    }
}

static void take_fields(struct interp *in, const struct nki_node *stmt, struct value_class *cls) {
    for (int i = 0; i < cls->n_bases; i++)
        for (size_t k = 0; k < cls->bases[i]->fields.len; k++)
            add_field(in, cls, cls->bases[i]->fields.at[k]);
    const struct nki_list *body = &stmt->class_def.body;
    for (uint32_t i = 0; i < body->len; i++) {
        const struct nki_node *line = body->at[i];
        if (line->kind != NKI_ANN_ASSIGN || line->ann_assign.target->kind != NKI_NAME)
            continue;
        const struct value_str *name = interp_intern(in, line->ann_assign.target->name.id);
        add_field(in, cls, field_from(in, name, attrs_find(&cls->attrs, name)));
    }
    if (cls->generated && cls->form == CLASS_PLAIN && !cls->fields.len)
        take_plain_fields(in, body, cls);
}

static bool is_member_name(struct str name) {
    return name.len && !(str_starts(name, "__") || (name.at[0] == '_' && str_ends(name, "_")));
}

static void make_member(struct interp *in, struct value_class *cls, struct attr *attr,
                        int64_t *automatic) {
    struct value value = attr->value;
    if (value.kind == VALUE_OBJECT && strcmp(value.object->cls->name, "auto") == 0)
        value = value_int(*automatic);
    if (value.kind == VALUE_INT)
        *automatic = cls->is_flag ? MAX_OF(value.i, 1) * 2 : value.i + 1;
    struct value member = object_new(in, cls);
    member.object->inner = value;
    attrs_put(in, &member.object->attrs, interp_intern(in, STR("name")),
              (struct value){.kind = VALUE_STR, .str = attr->name});
    for (size_t i = 0; i < cls->members.len; i++)
        if (value_equal(in, cls->members.at[i].object->inner, value)) { /* an alias */
            attr->value = cls->members.at[i];
            return;
        }
    struct value_seq seq = {{cls->members.at, cls->members.len, cls->members.cap}};
    value_push(in, &seq, member);
    cls->members.at = seq.items.at;
    cls->members.len = seq.items.len;
    cls->members.cap = seq.items.cap;
    attr->value = member;
}

static void make_members(struct interp *in, struct value_class *cls) {
    int64_t automatic = 1;
    for (uint32_t i = 0; i < cls->attrs.len; i++) {
        struct attr *attr = &cls->attrs.at[i];
        if (attr->value.kind == VALUE_FUNCTION || attr->value.kind == VALUE_CLASS ||
            !is_member_name((struct str){attr->name->at, attr->name->len}))
            continue;
        make_member(in, cls, attr, &automatic);
    }
}

/* Runs the body in a frame of its own. Keeps what it assigned, in the order of its slots. */
static bool run_class_body(struct interp *in, const struct nki_node *stmt,
                           struct value_class *cls) {
    struct scope *scope = in->frame->unit->cells[stmt->id].scope;
    struct frame *outer = in->frame, *before = in->frame;
    while (outer->scope->kind == SCOPE_CLASS)
        outer = outer->outer;
    struct frame *frame = frame_new(in, scope, outer);
    frame->caller = before;
    in->frame = frame;
    in->depth++;
    enum flow flow =
        in->depth < INTERP_MAX_CALLS ? exec_block(in, &stmt->class_def.body) : FLOW_ERROR;
    in->depth--;
    in->frame = before;
    if (flow == FLOW_ERROR)
        return interp_error(in, stmt, "RecursionError", "classes nested too deeply");
    for (size_t i = 0; i < scope->slot_names.len; i++) {
        struct str name = scope->slot_names.at[i];
        if (!name.len || is_unset(frame->slots[i]))
            continue;
        if (frame->slots[i].kind == VALUE_FUNCTION && !frame->slots[i].function->owner)
            frame->slots[i].function->owner = cls;
        attrs_put(in, &cls->attrs, interp_intern(in, name), frame->slots[i]);
    }
    return true;
}

static bool decorate_class(struct interp *in, const struct nki_node *stmt, struct value *value) {
    const struct nki_list *all = &stmt->class_def.decorators;
    for (uint32_t i = all->len; i-- > 0;) {
        struct buf dotted = {0};
        enum decorator which = decorator_of(all->at[i], &dotted);
        bool good = true;
        if (which == DECORATOR_DATA && value->kind == VALUE_CLASS) {
            const struct nki_node *frozen =
                all->at[i]->kind == NKI_CALL ? nki_keyword(all->at[i], "frozen") : NULL;
            value->cls->lenient |= value->cls->generated && !value->cls->is_data;
            value->cls->is_data = value->cls->generated = true;
            value->cls->frozen =
                frozen && frozen->kind == NKI_CONSTANT && frozen->constant.type == NKI_CONST_TRUE;
        } else if (which == DECORATOR_OTHER) {
            good = apply_other(in, all->at[i], value);
        }
        buf_free(&dotted);
        if (!good)
            return false;
    }
    return true;
}

enum flow exec_class_def(struct interp *in, const struct nki_node *stmt) {
    char name[200];
    snprintf(name, sizeof name, STR_FMT, STR_ARG(stmt->class_def.name));
    struct value value = {.kind = VALUE_CLASS, .cls = class_new(in, name, NULL)};
    for (uint32_t i = 0; i < stmt->class_def.bases.len; i++)
        if (!add_base(in, stmt->class_def.bases.at[i], value.cls))
            return FLOW_ERROR;
    value.cls->is_int &= value.cls->form == CLASS_ENUM; /* class N(int, Enum) */
    if (!run_class_body(in, stmt, value.cls))
        return FLOW_ERROR;
    take_fields(in, stmt, value.cls);
    if (value.cls->form == CLASS_ENUM)
        make_members(in, value.cls);
    if (!decorate_class(in, stmt, &value))
        return FLOW_ERROR;
    store_ref(in, in->frame->unit->cells[stmt->id].ref, value);
    return FLOW_NEXT;
}

/* ---- objects -------------------------------------------------------------------------------- */

static bool field_value(struct interp *in, const struct call *call, const struct field *field,
                        const struct value_class *cls, struct value *value) {
    if (!is_unset(field->factory))
        return interp_call(in, call->node, field->factory, NULL, 0, value);
    *value = field->default_value;
    if (!is_unset(*value))
        return true;
    *value = NONE_VALUE; /* NKIObject: a field without default is None */
    return !cls->is_data || cls->lenient ||
           interp_error(in, call->node, "TypeError", "%s: argument '%s' is missing", cls->name,
                        field->name->at);
}

static const struct value *keyword_value(const struct call *call, const struct value_str *name) {
    for (size_t i = 0; i < call->n_keywords; i++)
        if (str_equal(call->keywords[i].name, (struct str){name->at, name->len}))
            return &call->keywords[i].value;
    return NULL;
}

static bool keywords_known(struct interp *in, const struct call *call,
                           const struct value_class *cls) {
    for (size_t i = 0; i < call->n_keywords; i++) {
        bool known = false;
        for (size_t k = 0; k < cls->fields.len && !known; k++)
            known = str_is(call->keywords[i].name, cls->fields.at[k].name->at);
        if (!known)
            return interp_error(in, call->node, "TypeError", "%s has no field '" STR_FMT "'",
                                cls->name, STR_ARG(call->keywords[i].name));
    }
    return true;
}

/* The constructor made from the fields: by position, by keyword, by default. */
static bool fill_fields(struct interp *in, const struct call *call, struct value_class *cls,
                        struct attrs *attrs) {
    size_t next = 0;
    if (!keywords_known(in, call, cls))
        return false;
    for (size_t k = 0; k < cls->fields.len; k++) {
        const struct field *field = &cls->fields.at[k];
        const struct value *given = field->in_init ? keyword_value(call, field->name) : NULL;
        struct value value;
        if (field->in_init && next < call->n_args)
            value = call->args[next++];
        else if (given)
            value = *given;
        else if (!field_value(in, call, field, cls, &value))
            return false;
        attrs_put(in, attrs, field->name, value);
    }
    if (next < call->n_args)
        return interp_error(in, call->node, "TypeError", "%s takes %zu arguments, %zu are given",
                            cls->name, next, call->n_args);
    return true;
}

static bool make_tuple(struct interp *in, const struct call *call, struct value_class *cls,
                       struct value *result) {
    *result = object_new(in, cls);
    struct attrs *attrs = &result->object->attrs;
    cls->is_data = true;
    if (!fill_fields(in, call, cls, attrs))
        return false;
    struct value_seq *seq = seq_new(in, 0);
    for (uint32_t i = 0; i < attrs->len; i++)
        value_push(in, seq, attrs->at[i].value);
    result->object->inner = (struct value){.kind = VALUE_TUPLE, .seq = seq};
    return true;
}

static bool find_member(struct interp *in, const struct call *call, struct value_class *cls,
                        struct value *result) {
    for (size_t i = 0; i < cls->members.len && call->n_args; i++) {
        *result = cls->members.at[i];
        if (value_equal(in, result->object->inner, call->args[0]) ||
            value_same(*result, call->args[0]))
            return true;
    }
    struct buf text = {0};
    if (call->n_args)
        value_repr(in, call->args[0], &text);
    interp_error(in, call->node, "ValueError", "%.100s is no value of %s",
                 text.at ? text.at : "nothing", cls->name);
    buf_free(&text);
    return false;
}

/* Calls object.__init__(args), or the generated one and __post_init__. */
static bool initialise(struct interp *in, const struct call *call, struct value_class *cls,
                       struct value object) {
    struct value init, ignored;
    bool found;
    if (find_method(in, object, "__init__", &init)) {
        struct value_bound *bound = ARENA_NEW(in->heap, struct value_bound);
        *bound = (struct value_bound){object, init};
        return call_value(in, call, (struct value){.kind = VALUE_BOUND, .bound = bound}, &ignored);
    }
    if (cls->form == CLASS_EXCEPTION) {
        attrs_put(in, &object.object->attrs, interp_intern(in, STR("args")),
                  value_tuple(in, call->args, call->n_args));
        return true;
    }
    if (!fill_fields(in, call, cls, &object.object->attrs))
        return false;
    return call_method(in, call->node, &(struct method_use){object, "__post_init__", NULL, 0},
                       &found, &ignored);
}

bool instantiate(struct interp *in, const struct call *call, struct value_class *cls,
                 struct value *result) {
    if (cls->form == CLASS_ENUM)
        return find_member(in, call, cls, result);
    if (cls->form == CLASS_TUPLE)
        return make_tuple(in, call, cls, result);
    struct value object = object_new(in, cls);
    if (cls->form == CLASS_EXCEPTION)
        attrs_put(in, &object.object->attrs, interp_intern(in, STR("args")),
                  value_tuple(in, call->args, call->n_args));
    bool frozen = cls->frozen;
    cls->frozen = false;
    bool good = initialise(in, call, cls, object);
    cls->frozen = frozen;
    *result = object;
    return good;
}
