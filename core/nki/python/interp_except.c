/* SPDX-License-Identifier: Apache-2.0 */
/* raise, try and the classes of Python's exceptions. `except Exception` catches an error of hone's
 * own (a limit of the hardware, say) like one that the kernel raised. Nothing catches a budget that
 * is used up. */
#include "nki/python/inner.h"

#include <stdio.h>

/* Exceptions with their base, bases first. */
static const struct {
    const char *name, *base;
} exceptions[] = {
    {"BaseException", NULL},
    {"Exception", "BaseException"},
    {"SystemExit", "BaseException"},
    {"KeyboardInterrupt", "BaseException"},
    {"ArithmeticError", "Exception"},
    {"ZeroDivisionError", "ArithmeticError"},
    {"OverflowError", "ArithmeticError"},
    {"AssertionError", "Exception"},
    {"AttributeError", "Exception"},
    {"ImportError", "Exception"},
    {"ModuleNotFoundError", "ImportError"},
    {"LookupError", "Exception"},
    {"IndexError", "LookupError"},
    {"KeyError", "LookupError"},
    {"MemoryError", "Exception"},
    {"NameError", "Exception"},
    {"UnboundLocalError", "NameError"},
    {"OSError", "Exception"},
    {"FileNotFoundError", "OSError"},
    {"RuntimeError", "Exception"},
    {"NotImplementedError", "RuntimeError"},
    {"RecursionError", "RuntimeError"},
    {"StopIteration", "Exception"},
    {"SyntaxError", "Exception"},
    {"TypeError", "Exception"},
    {"ValueError", "Exception"},
    {"NkiValidationError", "Exception"}, /* nisa.NkiValidationError */
    {"Warning", "Exception"},
    {"UserWarning", "Warning"},
    {"DeprecationWarning", "Warning"},
    {"RuntimeWarning", "Warning"},
};

bool builtin_exception(struct interp *in, const char *name, struct value *result) {
    for (size_t i = 0; i < COUNT_OF(exceptions); i++) {
        if (strcmp(exceptions[i].name, name) != 0)
            continue;
        struct value base = {.kind = VALUE_NONE};
        if (exceptions[i].base && !interp_builtin(in, exceptions[i].base, &base))
            return false;
        struct value_class *cls =
            class_new(in, exceptions[i].name, base.kind == VALUE_CLASS ? base.cls : NULL);
        cls->form = CLASS_EXCEPTION;
        *result = (struct value){.kind = VALUE_CLASS, .cls = cls};
        return true;
    }
    return false;
}

static struct value message_of(struct interp *in, struct value exception) {
    struct buf out = {0};
    value_print(in, exception, &out);
    return value_take(in, &out);
}

/* The failure that is set, as an exception object that the kernel can look at. */
static struct value as_exception(struct interp *in) {
    struct failure *f = &in->failure;
    if (f->exception.kind == VALUE_OBJECT)
        return f->exception;
    struct value cls, message = value_string(in, str_of(f->message));
    if (!f->code[0] || !interp_builtin(in, f->code, &cls) || cls.kind != VALUE_CLASS)
        interp_builtin(in, "RuntimeError", &cls);
    struct value object = object_new(in, cls.cls);
    attrs_put(in, &object.object->attrs, interp_intern(in, STR("args")),
              value_tuple(in, &message, 1));
    f->exception = object;
    return object;
}

static void raise_object(struct interp *in, const struct nki_node *stmt, struct value object) {
    struct value message = message_of(in, object);
    const char *name = object.object->cls->name;
    if (message.str->len)
        interp_error(in, stmt, name, "%s", message.str->at);
    else
        interp_error(in, stmt, name, "%s was raised", name);
    in->failure.exception = object;
}

enum flow exec_raise(struct interp *in, const struct nki_node *stmt) {
    struct value exception;
    if (!stmt->raise_.exc) {
        exception = in->handled;
        if (exception.kind != VALUE_OBJECT) {
            interp_error(in, stmt, "RuntimeError", "there is no exception to raise again");
            return FLOW_ERROR;
        }
    } else if (!eval(in, stmt->raise_.exc, &exception)) {
        return FLOW_ERROR;
    }
    if (exception.kind == VALUE_CLASS) {
        struct value cls = exception;
        if (!interp_call(in, stmt, cls, NULL, 0, &exception))
            return FLOW_ERROR;
    }
    struct value base;
    if (exception.kind != VALUE_OBJECT || !interp_builtin(in, "BaseException", &base) ||
        !class_is(exception.object->cls, base.cls)) {
        interp_error(in, stmt, "TypeError", "only exceptions can be raised, not %s",
                     value_type_name(exception));
        return FLOW_ERROR;
    }
    raise_object(in, stmt, exception);
    return FLOW_ERROR;
}

bool context_takes(struct interp *in, const struct nki_node *node, struct value context) {
    bool found, taken = false;
    if (in->failure.fatal)
        return false;
    struct value exception = as_exception(in), result = NONE_VALUE;
    struct value cls = {.kind = VALUE_CLASS, .cls = exception.object->cls};
    struct value args[3] = {cls, exception, NONE_VALUE};
    struct failure failure = in->failure;
    in->failure.set = false;
    if (!call_method(in, node, &(struct method_use){context, "__exit__", args, 3}, &found,
                     &result) ||
        !interp_truth(in, node, result, &taken))
        return false;
    if (!taken)
        in->failure = failure;
    return taken;
}

static bool matches(const struct value *types, size_t n, struct value exception) {
    for (size_t i = 0; i < n; i++) {
        if (types[i].kind == VALUE_CLASS && class_is(exception.object->cls, types[i].cls))
            return true;
        if (types[i].kind == VALUE_TUPLE &&
            matches(types[i].seq->items.at, types[i].seq->items.len, exception))
            return true;
    }
    return false;
}

/* Runs the handler. The failure is already cleared. */
static enum flow handle(struct interp *in, const struct nki_node *handler, struct value exception) {
    struct value before = in->handled;
    struct ref ref = in->frame->unit->cells[handler->id].ref;
    if (handler->except_handler.name.len)
        store_ref(in, ref, exception);
    in->handled = exception;
    enum flow flow = exec_block(in, &handler->except_handler.body);
    in->handled = before;
    if (handler->except_handler.name.len)
        store_ref(in, ref, UNSET_VALUE);
    return flow;
}

static enum flow handle_failure(struct interp *in, const struct nki_node *stmt) {
    if (in->failure.fatal)
        return FLOW_ERROR;
    struct failure saved = in->failure;
    struct value exception = as_exception(in);
    saved.exception = exception;
    in->failure.set = false;
    for (uint32_t i = 0; i < stmt->try_.handlers.len; i++) {
        const struct nki_node *handler = stmt->try_.handlers.at[i];
        struct value type;
        if (handler->except_handler.type && !eval(in, handler->except_handler.type, &type))
            return FLOW_ERROR;
        if (!handler->except_handler.type || matches(&type, 1, exception))
            return handle(in, handler, exception);
    }
    in->failure = saved;
    return FLOW_ERROR;
}

enum flow exec_try(struct interp *in, const struct nki_node *stmt) {
    size_t temps = in->n_temps, keywords = in->n_keywords;
    in->tries++;
    enum flow flow = exec_block(in, &stmt->try_.body);
    in->tries--;
    if (flow == FLOW_ERROR) {
        in->n_temps = temps;
        in->n_keywords = keywords;
        flow = handle_failure(in, stmt);
    } else if (flow == FLOW_NEXT) {
        flow = exec_block(in, &stmt->try_.orelse);
    }
    if (!stmt->try_.finalbody.len || in->failure.fatal)
        return flow;
    struct failure saved = in->failure;
    struct value result = in->frame->result;
    in->failure.set = false;
    enum flow last = exec_block(in, &stmt->try_.finalbody);
    if (last != FLOW_NEXT)
        return last;
    in->failure = saved;
    in->frame->result = result;
    return flow;
}
