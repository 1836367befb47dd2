/* SPDX-License-Identifier: Apache-2.0 */
/* From a tree and inputs to a program. It finds the kernel function, passes it its arguments,
 * evaluates it, and returns the program or the reason why there is none. */
#include "nki/python/inner.h"

/* ---- arguments that are made of others --------------------------------------------------------
 */

/* Tuples, lists, dicts, dataclasses, named tuples and members of an Enum. What they end in (arrays,
 * numbers) is for the NKI objects. */

/* The class of that name in the kernel's file; NULL: it has none. */
static struct value_class *class_named(struct interp *in, struct str name) {
    const struct unit *unit = in->frame->scope->unit;
    uint32_t slot;
    if (!unit_find(unit, name, &slot) || unit->globals.at[slot].kind != VALUE_CLASS)
        return NULL;
    return unit->globals.at[slot].cls;
}

static bool argument_value(struct interp *in, const struct nki_node *node,
                           const struct nki_input *input, size_t index, struct str name,
                           struct value *result);

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

/* What an argument of the kernel is in Python. A class that the kernel's file knows by name is that
 * one, otherwise a plain one with the same fields. False when an error was reported. */
static bool argument_value(struct interp *in, const struct nki_node *node,
                           const struct nki_input *input, size_t index, struct str name,
                           struct value *result) {
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

/* ---- the kernel's arguments -------------------------------------------------------------------
 */

static const struct nki_list *params_of(const struct nki_node *function) {
    return &function->function_def.args->arguments.args;
}

static void describe_params(const struct nki_node *function, struct buf *out) {
    const struct nki_list *params = params_of(function);
    for (uint32_t i = 0; i < params->len; i++)
        buf_printf(out, "%s" STR_FMT "%s", i ? ", " : "", STR_ARG(params->at[i]->arg.name),
                   params->at[i]->arg.default_value ? "=" : "");
    if (!params->len)
        buf_puts(out, "none");
}

static bool wrong_inputs(struct interp *in, const struct nki_node *function, const char *what,
                         struct str name) {
    struct buf params = {0};
    describe_params(function, &params);
    interp_error(in, function, "TypeError",
                 "%s '" STR_FMT "'; the parameters of " STR_FMT " are: %s", what, STR_ARG(name),
                 STR_ARG(function->function_def.name), params.at);
    buf_free(&params);
    return false;
}

static const struct nki_node *param_named(const struct nki_node *function, struct str name,
                                          size_t *index) {
    const struct nki_list *params = params_of(function);
    for (uint32_t i = 0; i < params->len; i++)
        if (str_equal(params->at[i]->arg.name, name)) {
            *index = i;
            return params->at[i];
        }
    return NULL;
}

static bool takes_any(const struct nki_node *function, enum nki_arg_form form) {
    const struct nki_list *params = params_of(function);
    for (uint32_t i = 0; i < params->len; i++)
        if (params->at[i]->arg.form == form)
            return true;
    return false;
}

/* Reports parameters that get a value from neither an input nor a default. */
static bool check_missing(struct interp *in, const struct nki_node *function, size_t positional) {
    const struct nki_list *params = params_of(function);
    for (size_t i = positional; i < params->len; i++) {
        const struct nki_node *param = params->at[i];
        bool given = param->arg.default_value != NULL || param->arg.form == NKI_ARG_STAR ||
                     param->arg.form == NKI_ARG_DOUBLE_STAR;
        for (size_t k = 0; k < in->options->n_inputs && !given; k++)
            given =
                in->options->inputs[k].name && str_is(param->arg.name, in->options->inputs[k].name);
        if (!given)
            return wrong_inputs(in, function, "there is no input for parameter", param->arg.name);
    }
    return true;
}

struct arguments {
    struct value *args;
    struct value_keyword *keywords;
    size_t n_args, n_keywords;
};

static bool add_input(struct interp *in, const struct nki_node *function,
                      const struct nki_input *input, struct arguments *a) {
    const struct nki_list *params = params_of(function);
    struct value value;
    size_t index = a->n_args;
    if (!input->name) {
        const struct nki_node *param = index < params->len ? params->at[index] : NULL;
        bool fits = param && param->arg.form <= NKI_ARG_STAR;
        if (!fits && !takes_any(function, NKI_ARG_STAR))
            return wrong_inputs(in, function, "too many inputs for", function->function_def.name);
        struct str name = param ? param->arg.name : STR("args");
        if (!argument_value(in, param ? param : function, input, index, name, &value))
            return false;
        a->args[a->n_args++] = value;
        return true;
    }
    struct str name = str_of(input->name);
    const struct nki_node *param = param_named(function, name, &index);
    if (!param && !takes_any(function, NKI_ARG_DOUBLE_STAR))
        return wrong_inputs(in, function, "no parameter for the input", name);
    if (!argument_value(in, param ? param : function, input, index, name, &value))
        return false;
    a->keywords[a->n_keywords++] = (struct value_keyword){name, value};
    return true;
}

/* An input that is missing stands as None. Its first use as a tensor ends a partial evaluation. */
static void leave_missing(struct interp *in, const struct nki_node *function, struct arguments *a) {
    const struct nki_list *params = params_of(function);
    if (a->n_args || a->n_keywords)
        return;
    a->args = ARENA_ARRAY(in->heap, struct value, params->len);
    while (a->n_args < params->len && params->at[a->n_args]->arg.form <= NKI_ARG_PLAIN)
        a->args[a->n_args++] = NONE_VALUE;
}

/* An SPMD launch runs the instances one after the other. Their outputs are the same tensors. */
static bool run_grid(struct interp *in, const struct nki_node *function, const struct call *call,
                     struct value callee) {
    int size[3];
    struct value result;
    for (int d = 0; d < 3; d++)
        size[d] = MAX_OF(in->grid[d], 1);
    int64_t count = (int64_t)size[0] * size[1] * size[2], program = 0;
    if (!launch_on_cores(in, function, count))
        return false;
    bool any_order = in->dialect == NKI_DIALECT_LEGACY && count > 1;
    if (any_order)
        rounds_open(in, function, true);
    for (in->program_id[0] = 0; in->program_id[0] < size[0]; in->program_id[0]++)
        for (in->program_id[1] = 0; in->program_id[1] < size[1]; in->program_id[1]++)
            for (in->program_id[2] = 0; in->program_id[2] < size[2]; in->program_id[2]++) {
                if (any_order)
                    rounds_next(in, program++);
                if (!call_value(in, call, callee, &result) ||
                    !in->objects->returned(in, function, result))
                    return false;
                in->core += in->on_cores;
            }
    return true;
}

static bool run_kernel(struct interp *in, const struct nki_node *function, struct value callee) {
    size_t n = in->options->n_inputs;
    struct arguments a = {ARENA_ARRAY(in->heap, struct value, n),
                          ARENA_ARRAY(in->heap, struct value_keyword, n), 0, 0};
    for (size_t i = 0; i < n; i++)
        if (!add_input(in, function, &in->options->inputs[i], &a))
            return false;
    if (in->options->partial)
        leave_missing(in, function, &a);
    else if (!check_missing(in, function, a.n_args))
        return false;
    struct call call = {.args = a.args,
                        .n_args = a.n_args,
                        .keywords = a.keywords,
                        .n_keywords = a.n_keywords,
                        .self = NONE_VALUE};
    return run_grid(in, function, &call, callee);
}

/* ---- options of the decorator --------------------------------------------------------------- */

/* What nki.jit takes in any release (release/releases.def has what went). The launch among them are
 * fields of the kernel object: a published kernel says grid=[2], and lnc is what hosts compile
 * with. debug_kernel and the two after it stand at entries of AWS's library (core/qkv/qkv.py);
 * they change nothing of what a kernel computes. */
static bool is_launch(struct str name) {
    return str_is(name, "grid") || str_is(name, "lnc");
}

static bool is_option(struct str name) {
    static const char *const others[] = {
        "platform_target",       "mode",          "schedule",
        "address_rotation",      "barrier_check", "compile_config",
        "specialization_config", "debug_kernel",  "show_compiler_tb",
        "experimental_flags"};
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (str_is(name, others[i]))
            return true;
    return is_launch(name);
}

/* What an option of the decorator is, where Python evaluates the file: what it was there. */
static bool option_value(struct interp *in, const struct nki_node *keyword, struct value *v) {
    if (!in->tracing)
        return eval(in, keyword->keyword.value, v);
    (void)in->tracing->option(in, keyword->keyword.name, v);
    return true;
}

/* 2, (2,) or [2] */
static bool read_degree(struct interp *in, const struct nki_node *keyword, int *degree) {
    struct value v;
    if (!option_value(in, keyword, &v))
        return false;
    if ((v.kind == VALUE_TUPLE || v.kind == VALUE_LIST) && v.seq->items.len == 1)
        v = v.seq->items.at[0];
    if (v.kind == VALUE_NONE)
        return true;
    if (v.kind != VALUE_INT || v.i < 1 || v.i > 65536)
        return interp_error(in, keyword, "TypeError",
                            "nki.jit: " STR_FMT " is the number of physical cores, such as 2",
                            STR_ARG(keyword->keyword.name));
    *degree = (int)v.i;
    return true;
}

bool launch_agrees(struct interp *in, const struct nki_node *node, const char *kernel,
                   int64_t degree) {
    int asked = in->options->grid[0];
    if (asked == 0 || asked == degree || in->dialect == NKI_DIALECT_LEGACY)
        return true;
    return interp_error(in, node, "NCC_EVRF066",
                        "NKI kernel '%s' is configured with LNC=%lld, but the launch is for "
                        "LNC=%d: say the same in both (kernel[%d], --lnc, lnc of the settings, "
                        "NEURON_LOGICAL_NC_CONFIG)",
                        kernel, (long long)degree, asked, asked);
}

/* Takes the launch from the decorator. False after an error, such as an option that there is not.
 */
static bool read_decorator(struct interp *in, const struct nki_node *function) {
    const struct nki_node *decorator = nki_kernel_decorator(function);
    int degree = 0;
    if (!decorator || decorator->kind != NKI_CALL)
        return true;
    const struct nki_list *keywords = &decorator->call.keywords;
    for (uint32_t i = 0; i < keywords->len; i++) {
        struct str name = keywords->at[i]->keyword.name;
        if (name.len && !is_option(name))
            return interp_error(in, keywords->at[i], "TypeError",
                                "nki.jit has no option " STR_FMT
                                "; a launch is kernel[2](..), or lnc=2 here",
                                STR_ARG(name));
        if (is_launch(name) && !read_degree(in, keywords->at[i], &degree))
            return false;
    }
    if (!degree)
        return true;
    if (!launch_agrees(in, decorator, in->program->kernel, degree))
        return false;
    in->grid[0] = degree;
    return true;
}

static bool global_of(struct interp *in, const struct unit *unit, const struct nki_node *node,
                      struct str name, struct value *value) {
    uint32_t slot;
    if (!unit_find(unit, name, &slot))
        return interp_error(in, node, "hone-no-kernel",
                            "'" STR_FMT "' is not a function at module level", STR_ARG(name));
    *value = unit->globals.at[slot];
    return !is_unset(*value) ||
           interp_error(in, node, "hone-no-kernel", "the kernel could not be defined: %s",
                        unit->broken.at[slot] ? unit->broken.at[slot]->why
                                              : "its statement is not reached");
}

/* Whether a function can be called without arguments. */
static bool needs_nothing(const struct nki_node *factory) {
    const struct nki_list *params = params_of(factory);
    for (uint32_t i = 0; i < params->len; i++)
        if (params->at[i]->arg.form != NKI_ARG_STAR &&
            params->at[i]->arg.form != NKI_ARG_DOUBLE_STAR && !params->at[i]->arg.default_value)
            return false;
    return true;
}

static bool needs_arguments(struct interp *in, const struct nki_node *function,
                            const struct nki_node *factory) {
    struct str name = factory->function_def.name;
    return interp_error(in, factory, "hone-no-kernel",
                        "the kernel " STR_FMT " is what " STR_FMT
                        "(..) returns, and that needs arguments: give it a name at module level, "
                        "as in kernel = " STR_FMT "(..)",
                        STR_ARG(function->function_def.name), STR_ARG(name), STR_ARG(name));
}

/* The kernel that a factory makes: what the module's name for it stands for, else what it returns
 * without arguments. */
static bool make_kernel(struct interp *in, const struct unit *unit, const struct nki_node *function,
                        struct value *callee) {
    struct nki_made made;
    struct value factory;
    struct call call = {.self = NONE_VALUE};
    if (!nki_find_made(in->tree, in->options->function, &made) || made.function != function)
        return interp_error(in, function, "hone-no-kernel",
                            "'" STR_FMT "' is within another function",
                            STR_ARG(function->function_def.name));
    if (made.name.len && !global_of(in, unit, function, made.name, callee))
        return false;
    if (!made.name.len && !needs_nothing(made.factory))
        return needs_arguments(in, function, made.factory);
    call.node = made.factory;
    if (!made.name.len &&
        (!global_of(in, unit, function, made.factory->function_def.name, &factory) ||
         !call_value(in, &call, factory, callee)))
        return false;
    return callee->kind == VALUE_FUNCTION || callee->kind == VALUE_OBJECT ||
           interp_error(in, function, "hone-no-kernel", "the kernel is a %s, not a function",
                        value_type_name(*callee));
}

/* The same where Python evaluates the file. */
static bool trace_kernel(struct interp *in, const struct nki_node *function, struct value *callee) {
    struct nki_made made;
    struct str name = function->function_def.name;
    bool launches = false, factory = false;
    if (nki_enclosing(function, NKI_FUNCTION_DEF)) {
        if (!nki_find_made(in->tree, in->options->function, &made) || made.function != function ||
            (!made.name.len && !made.factory))
            return interp_error(in, function, "hone-no-kernel",
                                "'" STR_FMT "' is within another function", STR_ARG(name));
        factory = !made.name.len;
        if (factory && !needs_nothing(made.factory))
            return needs_arguments(in, function, made.factory);
        name = factory ? made.factory->function_def.name : made.name;
    }
    if (!in->tracing->kernel(in, name, factory, callee, &launches))
        return false;
    if (launches)
        in->grid[0] = 0; /* what is called launches the kernel itself */
    return true;
}

static bool find_kernel(struct interp *in, const struct unit *unit,
                        const struct nki_node **function, struct value *callee) {
    struct err err = {0};
    *function = nki_find_kernel(in->tree, in->options->function, &err);
    if (!*function) {
        interp_error(in, NULL, "hone-no-kernel", "%s", err.text);
        in->failure.unit = NULL;
        return false;
    }
    struct str own = (*function)->function_def.name;
    struct str name = nki_kernel_name(in->tree, *function, in->options->function);
    in->program->kernel = arena_strndup(in->program->arena, name.at, name.len);
    if (in->tracing)
        return trace_kernel(in, *function, callee) && read_decorator(in, *function);
    if (in->dialect != NKI_DIALECT_LEGACY && !read_decorator(in, *function))
        return false;
    return nki_enclosing(*function, NKI_FUNCTION_DEF) ? make_kernel(in, unit, *function, callee)
                                                      : global_of(in, unit, *function, own, callee);
}

/* A size that is written as a number; 0: it is not. */
static int64_t size_of(const struct nki_node *node) {
    bool is = node->kind == NKI_CONSTANT && node->constant.type == NKI_CONST_INT;
    return is ? MAX_OF(node->constant.integer, 1) : 0;
}

/* How many programs `kernel[2]` or `kernel[4, 4]` starts; 0: that is not written as numbers. */
static int64_t programs_of(const struct nki_node *slice) {
    if (slice->kind != NKI_TUPLE)
        return size_of(slice);
    int64_t programs = 1;
    for (uint32_t i = 0; i < slice->tuple.elts.len; i++)
        if (__builtin_mul_overflow(programs, size_of(slice->tuple.elts.at[i]), &programs))
            return INT64_MAX;
    return programs;
}

/* What calls the kernel is not run, so a launch that the file writes down is none: a note says so
 * where it stands. */
static void tell_launch(struct interp *in, const struct nki_node *function) {
    if (in->options->grid[0] || in->grid[0] > 1)
        return;
    for (uint32_t i = 1; i < in->tree->n_nodes; i++) {
        const struct nki_node *call = in->tree->nodes[i];
        const struct nki_node *launch = call->kind == NKI_CALL ? call->call.func : NULL;
        if (!launch || launch->kind != NKI_SUBSCRIPT || launch->subscript.value->kind != NKI_NAME ||
            !str_equal(launch->subscript.value->name.id, function->function_def.name))
            continue;
        int64_t programs = programs_of(launch->subscript.slice);
        if (programs < 2)
            continue;
        nki_report(in->tree, in->diags, DIAG_NOTE, nki_span_of(call), "hone-launch-not-run",
                   "this launch of %lld programs is not run: the kernel is evaluated as one; %s",
                   (long long)programs,
                   in->dialect == NKI_DIALECT_LEGACY
                       ? "name the function that launches it with --kernel-name"
                       : "give --lnc, or @nki.jit(lnc=2)");
        return;
    }
}

/* A decorator may have left an object that takes the number of cores, as in kernel[2](..), and
 * gives what is called. */
static bool take_launcher(struct interp *in, const struct nki_node *function,
                          struct value *callee) {
    struct value method, cores = value_int(MAX_OF(in->options->grid[0], 1));
    bool found = false;
    if (callee->kind != VALUE_OBJECT || find_method(in, *callee, "__call__", &method))
        return true;
    if (!call_method(in, function, &(struct method_use){*callee, "__getitem__", &cores, 1}, &found,
                     callee))
        return false;
    if (found)
        in->grid[0] = 0; /* what is called launches the kernel itself */
    return true;
}

static bool specialise(struct interp *in) {
    char *name = arena_strdup(in->heap, path_base(in->tree->file));
    char *dot = strrchr(name, '.');
    if (dot)
        *dot = '\0';
    struct unit *unit = unit_new(in, in->tree, name);
    const struct nki_node *function;
    struct value callee;
    if (!in->tracing && !unit_run(in, unit))
        return false;
    in->frame = frame_new(in, unit->scope, NULL);
    in->frame->site = -1;
    if (in->tracing && !in->tracing->begin(in))
        return false;
    kept_begin(in);
    if (!find_kernel(in, unit, &function, &callee) || !take_launcher(in, function, &callee) ||
        !run_kernel(in, function, callee))
        return false;
    tell_launch(in, function);
    kept_end(in);
    return true;
}

static bool ends_early(const struct interp *in) {
    return in->options->partial && in->failure.set && !in->failure.fatal &&
           strcmp(in->failure.code, "MemoryError") != 0;
}

/* Copied rounds hide where an error came first, and copies that are not what evaluating gives are
 * wrong. Then *again becomes true, nothing is reported and all has to be evaluated. */
static struct nki_program *evaluate(struct interp *in, bool *again) {
    struct nki_program *program = in->program;
    bool good = specialise(in) && interp_check(in, NULL) && !recovery_has_found(in->recovery);
    budget_close(in);
    if (good && !in->unlike && program->cores > 1 && !nki_program_weave(program, in->diags)) {
        nki_program_free(program);
        *again = false;
        return NULL;
    }
    *again = in->unlike || (!good && in->copied);
    if (good && !*again)
        return program;
    if (!good && !in->failure.set && !recovery_has_found(in->recovery))
        HONE_BUG("specialising failed without a reason");
    if (!*again && ends_early(in))
        return program;
    if (!*again && in->recovery)
        recovery_report(in);
    else if (!*again)
        interp_report(in);
    nki_program_free(program);
    return NULL;
}

/* A loop whose end was lost with the first error goes on until a limit ends it, and nobody should
 * wait for that long. */
#define FURTHER_PART 4 /* of the steps that an evaluation may take */
#define FURTHER_BYTES ((size_t)128 << 20)

static void bound_further(struct nki_specialise_options *options) {
    size_t steps = options->max_steps ? options->max_steps : NKI_DEFAULT_STEPS;
    size_t bytes = options->max_bytes ? options->max_bytes : NKI_DEFAULT_BYTES;
    options->max_steps = MAX_OF(steps / FURTHER_PART, (size_t)1);
    options->max_bytes = MIN_OF(bytes, FURTHER_BYTES);
}

/* After a first error: all that are independent of each other, in its place. The evaluation that
 * found it is over: two of them at once would take twice the memory that one may. */
static void find_further(const struct nki_tree *tree, const struct nki_specialise_options *asked,
                         const struct interp_objects *objects, const struct interp_library *library,
                         struct diag_list *diags, size_t findings) {
    struct nki_specialise_options options = *asked;
    struct diag_list all = {0};
    bool again;
    options.every_round = true;
    bound_further(&options);
    struct interp *in = interp_new(tree, &options, objects, library, &all);
    in->recovery = recovery_new();
    nki_program_free(evaluate(in, &again));
    interp_free(in);
    if (all.errors)
        diag_forget(diags, findings);
    for (size_t i = 0; all.errors && i < all.all.len; i++)
        diag_copy(diags, &all.all.at[i]);
    diag_free(&all);
}

struct nki_program *
interp_specialise(const struct nki_tree *tree, const struct nki_specialise_options *options,
                  const struct interp_objects *objects, const struct interp_library *library,
                  const struct interp_tracing *tracing, struct diag_list *diags) {
    if (tree->errors) {
        if (!diags->errors)
            diag_add(diags, DIAG_ERROR, "syntax", tree->file, 0, 0, "the kernel does not parse");
        return NULL;
    }
    struct nki_specialise_options mine = *options;
    struct nki_program *program = NULL;
    size_t findings = diags->all.len;
    bool again = true;
    while (again) {
        struct interp *in = interp_new(tree, &mine, objects, library, diags);
        in->tracing = options->tracer ? tracing : NULL;
        program = evaluate(in, &again);
        bool further =
            !program && !again && options->every_error && !in->failure.fatal && !in->tracing;
        if (in->tracing)
            tracing->end(in);
        interp_free(in);
        if (further)
            find_further(tree, &mine, objects, library, diags, findings);
        if (again)
            diag_forget(diags, findings);
        mine.every_round = true;
    }
    return program;
}
