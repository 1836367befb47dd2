/* SPDX-License-Identifier: Apache-2.0 */
/* What Python asks of NKI: the interpreter's own functions, one for each kind of question. */
#include "nki/trace/private.h"

#define MOST_ARGUMENTS 3

/* A question with its arguments read. */
struct question {
    struct trace *t;
    struct interp *in;
    const struct nki_node *node;
    struct value v[MOST_ARGUMENTS];
    struct value result;
};

static bool wrong(struct question *q) {
    return interp_fatal(q->in, q->node, "hone-trace",
                        "what the kernel's Python sent is no question of hone's recorder: the "
                        "kernel writes to files that it did not open");
}

static bool is_text(struct value v) {
    return v.kind == VALUE_STR;
}

static bool getattr(struct question *q) {
    return is_text(q->v[1]) ? get_attr_value(q->in, q->node, q->v[0],
                                             interp_intern(q->in, text_of(q->v[1])), &q->result)
                            : wrong(q);
}

static bool setattr(struct question *q) {
    return is_text(q->v[1])
               ? set_attr(q->in, q->node, q->v[0], interp_intern(q->in, text_of(q->v[1])), q->v[2])
               : wrong(q);
}

static bool getitem(struct question *q) {
    return get_item(q->in, q->node, q->v[0], q->v[1], &q->result);
}

static bool setitem(struct question *q) {
    return set_item(q->in, q->node, q->v[0], q->v[1], q->v[2]);
}

static bool find_binary(struct value text, enum nki_binary *op) {
    for (*op = 0; is_text(text) && *op < NKI_BINARY_COUNT; (*op)++)
        if (str_is(text_of(text), nki_binary_text(*op)))
            return true;
    return false;
}

static bool binary(struct question *q) {
    enum nki_binary op;
    return find_binary(q->v[0], &op) ? op_binary(q->in, q->node, op, q->v[1], q->v[2], &q->result)
                                     : wrong(q);
}

static bool inplace(struct question *q) {
    enum nki_binary op;
    if (!find_binary(q->v[0], &op))
        return wrong(q);
    if (q->v[1].kind == VALUE_TENSOR)
        return q->in->objects->inplace(q->in, q->node, op, q->v[1], q->v[2], &q->result);
    return op_binary(q->in, q->node, op, q->v[1], q->v[2], &q->result);
}

static bool compare(struct question *q) {
    for (enum nki_comparison op = 0; is_text(q->v[0]) && op < NKI_CMP_COUNT; op++)
        if (str_is(text_of(q->v[0]), nki_comparison_text(op)))
            return op_compare(q->in, q->node, op, q->v[1], q->v[2], &q->result);
    return wrong(q);
}

static bool unary(struct question *q) {
    static const enum nki_unary all[] = {NKI_UNARY_MINUS, NKI_UNARY_PLUS, NKI_UNARY_INVERT};
    for (size_t i = 0; is_text(q->v[0]) && i < COUNT_OF(all); i++)
        if (str_is(text_of(q->v[0]), nki_unary_text(all[i])))
            return op_unary(q->in, q->node, all[i], q->v[1], &q->result);
    return wrong(q);
}

static bool truth(struct question *q) {
    bool is = false;
    bool good = interp_truth(q->in, q->node, q->v[0], &is);
    q->result = value_bool(is);
    return good;
}

static bool length(struct question *q) {
    int64_t n = 0;
    bool good = op_length(q->in, q->node, q->v[0], &n);
    q->result = value_int(n);
    return good;
}

static bool items(struct question *q) {
    const struct value_seq *seq;
    if (!interp_items(q->in, q->node, q->v[0], &seq))
        return false;
    q->result = value_tuple(q->in, seq->items.at, seq->items.len);
    return true;
}

static bool enter(struct question *q) {
    return q->in->objects->enter(q->in, q->node, q->v[0], &q->result);
}

static bool leave(struct question *q) {
    return q->in->objects->leave(q->in, q->node, q->v[0]);
}

static bool repr(struct question *q) {
    struct buf text = {0};
    value_print(q->in, q->v[0], &text);
    q->result = value_take(q->in, &text);
    return true;
}

static bool print(struct question *q) {
    if (!is_text(q->v[0]))
        return wrong(q);
    interp_note(q->in, q->node, text_of(q->v[0]));
    return true;
}

/* A name below nki that hone does not know may be imported, as it may be in the interpreter. */
static bool module(struct question *q) {
    return is_text(q->v[0]) ? import_module(q->in, q->node, text_of(q->v[0]), &q->result)
                            : wrong(q);
}

static bool isof(struct question *q) {
    bool is = q->v[0].kind == VALUE_NATIVE && q->in->objects->is_of(q->in, q->v[1], q->v[0].native);
    q->result = value_bool(is);
    return true;
}

static const struct {
    bool (*answer)(struct question *q);
    uint32_t arguments;
} questions[TRACE_OP_COUNT] = {
    [TRACE_GETATTR] = {getattr, 2}, [TRACE_GETITEM] = {getitem, 2}, [TRACE_SETITEM] = {setitem, 3},
    [TRACE_BINARY] = {binary, 3},   [TRACE_INPLACE] = {inplace, 3}, [TRACE_COMPARE] = {compare, 3},
    [TRACE_UNARY] = {unary, 2},     [TRACE_TRUTH] = {truth, 1},     [TRACE_LENGTH] = {length, 1},
    [TRACE_ITEMS] = {items, 1},     [TRACE_ENTER] = {enter, 1},     [TRACE_LEAVE] = {leave, 1},
    [TRACE_REPR] = {repr, 1},       [TRACE_PRINT] = {print, 1},     [TRACE_MODULE] = {module, 1},
    [TRACE_ISOF] = {isof, 2},       [TRACE_SETATTR] = {setattr, 3},
};

static bool ask(struct question *q, enum trace_op op, struct wire *wire) {
    if (op >= TRACE_OP_COUNT || !questions[op].answer ||
        wire_tuple(wire) != questions[op].arguments)
        return wrong(q);
    for (uint32_t i = 0; i < questions[op].arguments; i++)
        if (!trace_read(q->t, q->node, wire, &q->v[i]))
            return q->in->failure.set ? false : wrong(q);
    return interp_step(q->in, q->node) && questions[op].answer(q);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Puts the arguments where those of the interpreter's calls are. */
static bool read_arguments(struct question *q, struct wire *wire) {
    struct interp *in = q->in;
    uint32_t n = wire_tuple(wire);
    if (n > INTERP_MAX_TEMPS - in->n_temps)
        return interp_error(in, q->node, "TypeError", "more than %u arguments", INTERP_MAX_TEMPS);
    for (uint32_t i = 0; i < n; i++)
        if (!trace_read(q->t, q->node, wire, &in->temps[in->n_temps++]))
            return in->failure.set ? false : wrong(q);
    return true;
}

static bool read_keywords(struct question *q, struct wire *wire) {
    struct interp *in = q->in;
    uint32_t n = wire_tuple(wire);
    if (n > INTERP_MAX_KEYWORDS - in->n_keywords)
        return interp_error(in, q->node, "TypeError", "more than %u keyword arguments",
                            INTERP_MAX_KEYWORDS);
    for (uint32_t i = 0; i < n; i++) {
        struct value_keyword *keyword = &in->keywords[in->n_keywords];
        uint32_t parts = wire_tuple(wire);
        const struct value_str *name = interp_intern(in, wire_text(wire));
        keyword->name = (struct str){name->at, name->len};
        if (parts != 2 || !trace_read(q->t, q->node, wire, &keyword->value))
            return in->failure.set ? false : wrong(q);
        in->n_keywords++;
    }
    return !wire->bad || wrong(q);
}

/* The dimensions of kernel[grid]. */
static bool read_launch(struct question *q, struct wire *wire, struct launch *launch) {
    struct value sizes, kernel;
    launch->callee = q->v[0];
    if (!trace_read(q->t, q->node, wire, &sizes))
        return q->in->failure.set ? false : wrong(q);
    if (q->v[0].kind != VALUE_NATIVE || sizes.kind != VALUE_TUPLE)
        return wrong(q);
    struct value_function named = {.name = q->v[0].native->name};
    launch->name = named.name;
    if (!get_item(q->in, q->node, (struct value){.kind = VALUE_FUNCTION, .function = &named}, sizes,
                  &kernel))
        return false;
    memcpy(launch->size, kernel.function->launch, sizeof launch->size);
    return true;
}

/* (callee, arguments, keywords), or (kernel, grid, arguments, keywords). */
static bool call(struct question *q, enum trace_op op, struct wire *wire) {
    struct interp *in = q->in;
    size_t temps = in->n_temps, keywords = in->n_keywords;
    struct launch launch = {0};
    bool launches = op == TRACE_LAUNCH;
    if (wire_tuple(wire) != 3u + launches || !trace_read(q->t, q->node, wire, &q->v[0]))
        return in->failure.set ? false : wrong(q);
    if (launches && !read_launch(q, wire, &launch))
        return false;
    bool good = read_arguments(q, wire) && read_keywords(q, wire);
    if (good) {
        struct call call = {.node = q->node,
                            .args = in->temps + temps,
                            .n_args = in->n_temps - temps,
                            .keywords = in->keywords + keywords,
                            .n_keywords = in->n_keywords - keywords,
                            .self = NONE_VALUE};
        in->target = trace_target(in->frame, q->node);
        in->target_node = in->target.len ? q->node : NULL;
        good = launches ? run_launch(in, &call, &launch, &q->result)
                        : call_value(in, &call, q->v[0], &q->result);
    }
    in->n_temps = temps;
    in->n_keywords = keywords;
    return good;
}

/* ---- answering ------------------------------------------------------------------------------- */

/* Keeps the failure for when the exception comes back, and clears it: the kernel may catch it. */
static void put_error(struct trace *t) {
    struct failure *failure = &t->in->failure;
    const char *cls = trace_error_class(t, failure);
    size_t number = t->errors.len;
    *vec_push(&t->errors) = (struct trace_error){*failure, t->raised};
    buf_clear(&t->out);
    wire_put_tuple(&t->out, 5);
    wire_put_int(&t->out, TRACE_ERROR);
    wire_put_int(&t->out, (int64_t)number);
    wire_put_int(&t->out, t->raised);
    wire_put_text(&t->out, str_of(cls));
    wire_put_text(&t->out, str_of(failure->message));
    t->raised = -1;
    if (!failure->fatal)
        failure->set = false;
}

void trace_answer(struct trace *t, enum trace_op op, struct wire *arguments) {
    struct interp *in = t->in;
    struct frame *before = in->frame;
    const struct nki_node *target_node = in->target_node;
    struct str target = in->target;
    bool good = false;
    if (!in->failure.set) {
        struct question q = {t, in, trace_enter(t), {NONE_VALUE}, NONE_VALUE};
        good = op == TRACE_CALL || op == TRACE_LAUNCH ? call(&q, op, arguments)
                                                      : ask(&q, op, arguments);
        buf_clear(&t->out);
        wire_put_tuple(&t->out, 2);
        wire_put_int(&t->out, TRACE_ANSWER);
        trace_write(t, good ? q.result : NONE_VALUE);
    }
    if (!good)
        put_error(t);
    in->frame = before;
    in->target_node = target_node;
    in->target = target;
}
