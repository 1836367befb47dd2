/* SPDX-License-Identifier: Apache-2.0 */
/* Calls: evaluates arguments onto one stack, binds them to parameters, and runs functions of the
 * kernel in frames of their own. */
#include "nki/python/inner.h"

/* ---- frames and functions ------------------------------------------------------------------- */

struct frame *frame_new(struct interp *in, struct scope *scope, struct frame *outer) {
    size_t n = scope->kind == SCOPE_MODULE ? 0 : scope->slot_names.len;
    struct frame *frame = scope->free_frames;
    if (frame)
        scope->free_frames = frame->next_free;
    else
        frame = arena_alloc(in->heap, 1, sizeof *frame + n * sizeof(struct value));
    *frame = (struct frame){.outer = outer, .scope = scope, .unit = scope->unit, .site = -2};
    for (size_t i = 0; i < n; i++)
        frame->slots[i] = UNSET_VALUE;
    return frame;
}

static const struct nki_list *params_of(const struct nki_node *node) {
    const struct nki_node *args =
        node->kind == NKI_LAMBDA ? node->lambda.args : node->function_def.args;
    return &args->arguments.args;
}

struct value make_function(struct interp *in, const struct nki_node *node) {
    struct value_function *function = ARENA_NEW(in->heap, struct value_function);
    struct frame *closure = in->frame;
    while (closure && closure->scope->kind == SCOPE_CLASS)
        closure = closure->outer;
    function->node = node;
    function->unit = in->frame->unit;
    function->scope = function->unit->cells[node->id].scope;
    function->closure = closure;
    struct str name = node->kind == NKI_LAMBDA ? STR("<lambda>") : node->function_def.name;
    function->name = arena_strndup(in->heap, name.at, name.len);
    return (struct value){.kind = VALUE_FUNCTION, .function = function};
}

bool function_defaults(struct interp *in, struct value_function *function) {
    const struct nki_list *params = params_of(function->node);
    function->defaults = ARENA_ARRAY(in->heap, struct value, params->len);
    for (uint32_t i = 0; i < params->len; i++) {
        const struct nki_node *expr = params->at[i]->arg.default_value;
        function->defaults[i] = UNSET_VALUE;
        if (expr && !eval(in, expr, &function->defaults[i]))
            return false;
    }
    return true;
}

/* ---- binding -------------------------------------------------------------------------------- */

struct binding {
    struct interp *in;
    const struct call *call;
    const struct value_function *function;
    const struct nki_list *params;
    struct frame *frame;
};

static bool bind_positional(struct binding *b) {
    uint32_t k = 0;
    for (size_t i = 0; i < b->call->n_args; i++, k++) {
        enum nki_arg_form form =
            k < b->params->len ? b->params->at[k]->arg.form : NKI_ARG_KEYWORD_ONLY;
        if (form == NKI_ARG_STAR) {
            b->frame->slots[k] = value_tuple(b->in, b->call->args + i, b->call->n_args - i);
            return true;
        }
        if (form == NKI_ARG_KEYWORD_ONLY || form == NKI_ARG_DOUBLE_STAR)
            return interp_error(b->in, b->call->node, "TypeError",
                                "%s takes %u positional argument%s, %zu %s given",
                                b->function->name, k, PLURAL(k), b->call->n_args,
                                b->call->n_args == 1 ? "is" : "are");
        b->frame->slots[k] = b->call->args[i];
    }
    return true;
}

static bool bind_keyword(struct binding *b, const struct value_keyword *keyword) {
    for (uint32_t k = 0; k < b->params->len; k++) {
        const struct nki_node *param = b->params->at[k];
        if (param->arg.form == NKI_ARG_STAR || param->arg.form == NKI_ARG_POSITIONAL_ONLY ||
            param->arg.form == NKI_ARG_DOUBLE_STAR || !str_equal(param->arg.name, keyword->name))
            continue;
        if (!is_unset(b->frame->slots[k]))
            return interp_error(b->in, b->call->node, "TypeError",
                                "%s: argument '" STR_FMT "' is given twice", b->function->name,
                                STR_ARG(keyword->name));
        b->frame->slots[k] = keyword->value;
        return true;
    }
    uint32_t last = b->params->len - 1;
    if (!b->params->len || b->params->at[last]->arg.form != NKI_ARG_DOUBLE_STAR)
        return interp_error(b->in, b->call->node, "TypeError", "%s has no parameter '" STR_FMT "'",
                            b->function->name, STR_ARG(keyword->name));
    if (is_unset(b->frame->slots[last]))
        b->frame->slots[last] = value_new_dict(b->in);
    value_dict_put(b->in, b->frame->slots[last].dict,
                   (struct value){.kind = VALUE_STR, .str = interp_intern(b->in, keyword->name)},
                   keyword->value);
    return true;
}

static bool bind_missing(struct binding *b) {
    for (uint32_t k = 0; k < b->params->len; k++) {
        struct value *slot = &b->frame->slots[k];
        if (!is_unset(*slot))
            continue;
        const struct nki_node *param = b->params->at[k];
        if (param->arg.form == NKI_ARG_STAR)
            *slot = value_tuple(b->in, NULL, 0);
        else if (param->arg.form == NKI_ARG_DOUBLE_STAR)
            *slot = value_new_dict(b->in);
        else if (!is_unset(b->function->defaults[k]))
            *slot = b->function->defaults[k];
        else
            return interp_error(b->in, b->call->node, "TypeError",
                                "%s: argument '" STR_FMT "' is missing", b->function->name,
                                STR_ARG(param->arg.name));
    }
    return true;
}

static bool bind_call(struct binding *b) {
    if (!bind_positional(b))
        return false;
    for (size_t i = 0; i < b->call->n_keywords; i++)
        if (!bind_keyword(b, &b->call->keywords[i]))
            return false;
    return bind_missing(b);
}

/* ---- running -------------------------------------------------------------------------------- */

static bool run_body(struct interp *in, const struct nki_node *node, struct frame *frame) {
    if (node->kind == NKI_LAMBDA)
        return eval(in, node->lambda.body, &frame->result);
    enum flow flow = exec_block(in, &node->function_def.body);
    if (flow == FLOW_BREAK || flow == FLOW_CONTINUE)
        return interp_error(in, node, "SyntaxError", "break or continue outside of a loop");
    if (frame->yields)
        frame->result = (struct value){.kind = VALUE_LIST, .seq = frame->yields};
    return flow != FLOW_ERROR;
}

/* Natives call natives, too: one partial() may hold the next. */
static bool has_stack(struct interp *in, const struct nki_node *node) {
    const char *here = __builtin_frame_address(0);
    size_t used =
        here < in->stack_base ? (size_t)(in->stack_base - here) : (size_t)(here - in->stack_base);
    return used <= INTERP_MAX_STACK ||
           interp_error(in, node, "RecursionError",
                        "calls nest too deeply here: they take more than %u MiB of stack",
                        INTERP_MAX_STACK >> 20);
}

static bool enter(struct interp *in, const struct nki_node *node) {
    if (in->depth >= INTERP_MAX_CALLS)
        return interp_error(in, node, "RecursionError",
                            "functions call each other more than %d deep here", INTERP_MAX_CALLS);
    return has_stack(in, node) && interp_step(in, node);
}

bool call_function(struct interp *in, const struct call *call, struct value_function *function,
                   struct value *result) {
    if (!enter(in, call->node))
        return false;
    struct scope *scope = function->scope;
    struct frame *frame = frame_new(in, scope, function->closure);
    struct binding b = {in, call, function, params_of(function->node), frame};
    frame->caller = in->frame;
    frame->function = function;
    frame->call = call->node;
    if (in->target_node == call->node)
        frame->target = in->target;
    bool good = bind_call(&b);
    if (good) {
        struct frame *caller = in->frame;
        const struct nki_node *target_node = in->target_node;
        struct str target = in->target;
        if (scope->yields)
            frame->yields = seq_new(in, 0);
        in->frame = frame;
        in->depth++;
        if (function->skipped)
            interp_warn(in, function->skipped, "hone-decorator",
                        "this decorator of %s is not known here and is skipped", function->name);
        good = run_body(in, function->node, frame);
        in->depth--;
        in->frame = caller;
        in->target_node = target_node;
        in->target = target;
        *result = frame->result;
    }
    if (!scope->captured) {
        frame->next_free = scope->free_frames;
        scope->free_frames = frame;
    }
    return good;
}

bool launch_on_cores(struct interp *in, const struct nki_node *node, int64_t programs) {
    int cores = in->program->generation == NKI_GEN2 ? 1 : 2;
    if (in->dialect == NKI_DIALECT_LEGACY || programs == 1)
        return true;
    if (programs > cores)
        return interp_error(in, node, "hone-launch-grid",
                            "a launch of %lld programs: a program is a physical core, of which a "
                            "logical core has %d here; launch kernel[%d] and loop over the rest",
                            (long long)programs, cores, cores);
    if (in->on_cores)
        return interp_error(in, node, "err_nested_kernel_with_spmd_grid",
                            "a launch on two cores within a launch on two cores");
    in->program->cores = (uint8_t)programs;
    in->on_cores = true;
    return true;
}

/* In the legacy dialect, a kernel that calls another one calls it without a grid. */
static bool is_outermost(struct interp *in, const struct call *call, const struct launch *launch) {
    if (in->dialect != NKI_DIALECT_LEGACY || launch->callee.kind != VALUE_FUNCTION ||
        !launch->callee.function->is_kernel)
        return true;
    for (const struct frame *frame = in->frame; frame; frame = frame->caller)
        if (frame->function && frame->function->is_kernel)
            return interp_error(in, call->node, "err_nested_kernel_with_spmd_grid",
                                "%s calls %s with a grid: a kernel calls another one as "
                                "%s(..), without a grid, and passes what its program does",
                                frame->function->name, launch->name, launch->name);
    return true;
}

static void launch_end(struct interp *in) {
    in->core = 0;
    in->on_cores = false;
}

static bool run_instance(struct interp *in, const struct call *call, const struct launch *launch,
                         struct value *result) {
    return launch->callee.kind == VALUE_FUNCTION
               ? call_function(in, call, launch->callee.function, result)
               : call_value(in, call, launch->callee, result);
}

bool run_launch(struct interp *in, const struct call *call, const struct launch *launch,
                struct value *result) {
    struct interp_launch state = in->objects->launch_begin(in);
    int grid[3], id[3];
    memcpy(grid, in->grid, sizeof grid);
    memcpy(id, in->program_id, sizeof id);
    memcpy(in->grid, launch->size, sizeof in->grid);
    int size[3];
    for (int d = 0; d < 3; d++)
        size[d] = MAX_OF(launch->size[d], 1);
    int64_t count = (int64_t)size[0] * size[1] * size[2];
    bool good = is_outermost(in, call, launch) &&
                (in->on_cores || launch_agrees(in, call->node, launch->name, count)) &&
                launch_on_cores(in, call->node, count);
    bool any_order = in->dialect == NKI_DIALECT_LEGACY && count > 1;
    if (any_order)
        rounds_open(in, call->node, true);
    for (int64_t i = 0; good && i < count; i++) {
        struct value returned;
        if (any_order)
            rounds_next(in, i);
        in->program_id[0] = (int)(i / size[2] / size[1]);
        in->program_id[1] = (int)(i / size[2] % size[1]);
        in->program_id[2] = (int)(i % size[2]);
        in->core = in->on_cores && count > 1 ? (uint8_t)i : in->core;
        in->objects->launch_next(in, &state, (size_t)i);
        good = run_instance(in, call, launch, i ? &returned : result);
    }
    in->objects->launch_end(in, &state);
    if (any_order)
        rounds_close(in);
    if (count > 1)
        launch_end(in);
    memcpy(in->grid, grid, sizeof grid);
    memcpy(in->program_id, id, sizeof id);
    return good;
}

/* Natives go over the texts that they are given. */
static uint64_t call_steps(const struct call *call) {
    uint64_t steps = 1;
    if (call->self.kind == VALUE_STR)
        steps += call->self.str->len / TEXT_STEP;
    for (size_t i = 0; i < call->n_args; i++)
        if (call->args[i].kind == VALUE_STR)
            steps += call->args[i].str->len / TEXT_STEP;
    return steps;
}

static bool call_native(struct interp *in, const struct call *call,
                        const struct value_native *native, struct value *result) {
    struct call mine = *call;
    const struct nki_node *before = in->native_call;
    mine.data = native->data;
    in->native_call = call->node;
    *result = NONE_VALUE;
    bool good = has_stack(in, call->node) && interp_spend(in, call->node, call_steps(&mine)) &&
                native->run(in, &mine, result);
    in->native_call = before;
    return good;
}

/* A call with `self` put in front of the arguments. */
static bool call_with_self(struct interp *in, const struct call *call, struct value self,
                           struct value callee, struct value *result) {
    struct call mine = *call;
    if (callee.kind == VALUE_NATIVE) {
        mine.self = self;
        return call_native(in, &mine, callee.native, result);
    }
    size_t mark = in->n_temps;
    if (mark + call->n_args + 1 > INTERP_MAX_TEMPS)
        return interp_error(in, call->node, "TypeError", "too many arguments");
    in->temps[mark] = self;
    if (call->n_args)
        memmove(in->temps + mark + 1, call->args, call->n_args * sizeof(struct value));
    in->n_temps = mark + call->n_args + 1;
    mine.args = in->temps + mark;
    mine.n_args++;
    bool good = call_value(in, &mine, callee, result);
    in->n_temps = mark;
    return good;
}

static bool not_callable(struct interp *in, const struct call *call, struct value callee) {
    if (module_is_unknown(callee))
        return interp_error(in, call->node, "hone-gap-module",
                            "%s is not known here: it is no part of NKI and in no file beside "
                            "the kernel",
                            callee.module->name);
    return interp_error(in, call->node, "TypeError", "%s cannot be called",
                        value_type_name(callee));
}

static bool call_or_launch(struct interp *in, const struct call *call, struct value callee,
                           struct value *result) {
    const struct value_function *function = callee.function;
    if (!function->launch[0])
        return call_function(in, call, callee.function, result);
    struct launch launch = {.callee = callee, .name = function->name};
    memcpy(launch.size, function->launch, sizeof launch.size);
    return run_launch(in, call, &launch, result);
}

bool call_value(struct interp *in, const struct call *call, struct value callee,
                struct value *result) {
    bool found = false;
    switch (callee.kind) {
    case VALUE_FUNCTION: return call_or_launch(in, call, callee, result);
    case VALUE_NATIVE: return call_native(in, call, callee.native, result);
    case VALUE_BOUND:
        return enter(in, call->node) &&
               call_with_self(in, call, callee.bound->self, callee.bound->callee, result);
    case VALUE_CLASS: return enter(in, call->node) && instantiate(in, call, callee.cls, result);
    case VALUE_OBJECT: {
        struct value method;
        found = find_method(in, callee, "__call__", &method);
        if (found)
            return enter(in, call->node) && call_with_self(in, call, callee, method, result);
        break;
    }
    case VALUE_DTYPE:
    case VALUE_FUNC:
    case VALUE_ENUM:
    case VALUE_TENSOR:
    case VALUE_INDEX:
    case VALUE_REGISTER:
    case VALUE_HOST: {
        const struct nki_node *before = in->native_call;
        in->native_call = call->node;
        bool good = interp_step(in, call->node) && in->objects->call(in, call, callee, result);
        in->native_call = before;
        return good;
    }
    default: break;
    }
    return not_callable(in, call, callee);
}

bool interp_call(struct interp *in, const struct nki_node *node, struct value callee,
                 const struct value *args, size_t n_args, struct value *result) {
    struct call call = {.node = node, .args = args, .n_args = n_args, .self = NONE_VALUE};
    return call_value(in, &call, callee, result);
}

/* ---- evaluating a call ---------------------------------------------------------------------- */

static bool push(struct interp *in, const struct nki_node *node, struct value value) {
    if (in->n_temps >= INTERP_MAX_TEMPS)
        return interp_error(in, node, "TypeError", "more than %u arguments", INTERP_MAX_TEMPS);
    in->temps[in->n_temps++] = value;
    return true;
}

static bool push_keyword(struct interp *in, const struct nki_node *node, struct str name,
                         struct value value) {
    if (in->n_keywords >= INTERP_MAX_KEYWORDS)
        return interp_error(in, node, "TypeError", "more than %u keyword arguments",
                            INTERP_MAX_KEYWORDS);
    in->keywords[in->n_keywords++] = (struct value_keyword){name, value};
    return true;
}

static bool push_args(struct interp *in, const struct nki_list *args) {
    struct value value;
    for (uint32_t i = 0; i < args->len; i++) {
        const struct nki_node *arg = args->at[i];
        if (arg->kind != NKI_STARRED) {
            if (!eval(in, arg, &value) || !push(in, arg, value))
                return false;
            continue;
        }
        const struct value_seq *items;
        if (!eval(in, arg->starred.value, &value) || !interp_items(in, arg, value, &items))
            return false;
        for (size_t k = 0; k < items->items.len; k++)
            if (!push(in, arg, items->items.at[k]))
                return false;
    }
    return true;
}

static bool push_keywords(struct interp *in, const struct nki_list *keywords) {
    struct value value;
    for (uint32_t i = 0; i < keywords->len; i++) {
        const struct nki_node *keyword = keywords->at[i];
        if (!eval(in, keyword->keyword.value, &value))
            return false;
        if (keyword->keyword.name.len) {
            if (!push_keyword(in, keyword, keyword->keyword.name, value))
                return false;
            continue;
        }
        if (value.kind != VALUE_DICT || value.dict->is_set)
            return interp_error(in, keyword, "TypeError", "'**' needs a dict here, not %s",
                                value_type_name(value));
        for (size_t k = 0; k < value.dict->pairs.len; k++) {
            struct value key = value.dict->pairs.at[k].key;
            if (key.kind != VALUE_STR)
                return interp_error(in, keyword, "TypeError", "keys of '**' must be str, not %s",
                                    value_type_name(key));
            if (!push_keyword(in, keyword, text_of(key), value.dict->pairs.at[k].value))
                return false;
        }
    }
    return true;
}

/* object.__init__ and Exception.__init__ */
static bool init_object(struct interp *in, const struct call *call, struct value *result) {
    (void)result;
    if (call->self.kind == VALUE_OBJECT && call->self.object->cls->form == CLASS_EXCEPTION)
        attrs_put(in, &call->self.object->attrs, interp_intern(in, STR("args")),
                  value_tuple(in, call->args, call->n_args));
    return true;
}

/* super().method is looked up in the bases of the class in which the running method was defined. */
static bool eval_super(struct interp *in, const struct nki_node *func, struct attribute *callee) {
    static const struct value_native nothing = {"object.__init__", init_object, NULL};
    const struct value_function *function = in->frame->function;
    if (!function || !function->owner || !function->scope->n_params)
        return interp_error(in, func, "RuntimeError", "super() outside of a method");
    const struct value_str *name = in->frame->unit->cells[func->id].attr.name;
    const struct value *found = NULL;
    for (int i = 0; i < function->owner->n_bases && !found; i++)
        found = class_find(function->owner->bases[i], name);
    callee->self = in->frame->slots[0];
    callee->value = found ? *found : (struct value){.kind = VALUE_NATIVE, .native = &nothing};
    if (!found && !str_starts((struct str){name->at, name->len}, "__"))
        return interp_error(in, func, "AttributeError", "no base of %s has a method '%s'",
                            function->owner->name, name->at);
    return true;
}

static bool is_super(const struct nki_node *func) {
    const struct nki_node *object = func->attribute.value;
    return object->kind == NKI_CALL && object->call.func->kind == NKI_NAME &&
           str_is(object->call.func->name.id, "super");
}

/* The callee, and the object that it is a method of. */
static bool eval_callee(struct interp *in, const struct nki_node *func, struct attribute *callee) {
    callee->self = UNSET_VALUE;
    if (func->kind != NKI_ATTRIBUTE)
        return eval(in, func, &callee->value);
    if (is_super(func))
        return eval_super(in, func, callee);
    struct value object;
    if (!eval(in, func->attribute.value, &object))
        return false;
    const struct cell *cell = &in->frame->unit->cells[func->id];
    if (object.kind == VALUE_MODULE)
        return cell->attr.module == object.module ? (callee->value = *cell->attr.value, true)
                                                  : eval(in, func, &callee->value);
    return get_attr(in, func, object, cell->attr.name, callee);
}

bool eval_call(struct interp *in, const struct nki_node *node, struct value *result) {
    struct attribute callee;
    size_t temps = in->n_temps, keywords = in->n_keywords;
    if (!eval_callee(in, node->call.func, &callee))
        return false;
    struct call call = {.node = node, .self = NONE_VALUE};
    bool method = !is_unset(callee.self) && callee.value.kind == VALUE_FUNCTION;
    bool good = (!method || push(in, node, callee.self)) && push_args(in, &node->call.args) &&
                push_keywords(in, &node->call.keywords);
    if (good) {
        call.args = in->temps + temps;
        call.n_args = in->n_temps - temps;
        call.keywords = in->keywords + keywords;
        call.n_keywords = in->n_keywords - keywords;
        if (!is_unset(callee.self) && !method)
            good = call_with_self(in, &call, callee.self, callee.value, result);
        else
            good = call_value(in, &call, callee.value, result);
    }
    in->n_temps = temps;
    in->n_keywords = keywords;
    return good;
}
