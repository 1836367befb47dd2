/* SPDX-License-Identifier: Apache-2.0 */
/* The conversation with the Python that runs a kernel: loading its file, finding the kernel in it,
 * and running functions of it, during each of which Python may ask. */
#include "nki/trace/private.h"

#include <stdio.h>
#include <stdlib.h>

/* Where it last asked is as near as hone can come to what happened in Python. */
static bool lost(struct trace *t, const char *code, const char *text) {
    struct frame *before = t->in->frame;
    const struct nki_node *node = t->stack.len ? trace_enter(t) : NULL;
    t->over = true;
    interp_fatal(t->in, node, code, "%s%s", text,
                 node ? "; the kernel last asked for something of NKI here" : "");
    t->in->frame = before;
    return false;
}

static bool no_message(struct trace *t) {
    return lost(t, "hone-trace",
                "what the kernel's Python sent is no message of hone's recorder: the kernel "
                "writes to files that it did not open");
}

/* ---- what came of a function ----------------------------------------------------------------- */

/* The assert statement that raised, if one did. */
static const struct nki_node *assert_around(const struct nki_node *node) {
    const struct nki_node *stmt = nki_statement_of(node);
    return stmt && stmt->kind == NKI_ASSERT ? stmt : NULL;
}

static void print_raised(const struct trace *t, const struct nki_node *node, struct str name,
                         struct str text, struct buf *out) {
    const struct nki_node *assertion = str_is(name, "AssertionError") ? assert_around(node) : NULL;
    if (assertion)
        buf_puts(out, "assertion failed: ");
    if (text.len) {
        buf_add(out, text.at, text.len);
    } else if (assertion) {
        text = nki_node_text(t->in->frame->unit->tree, assertion->assert_.test);
        buf_add(out, text.at, MIN_OF(text.len, (size_t)200));
        buf_puts(out, " is false");
    } else {
        buf_printf(out, STR_FMT " was raised", STR_ARG(name));
    }
}

/* The exception came out of Python: one that hone raised there, or the kernel's own. Always
 * false. */
static bool take_raised(struct trace *t, struct wire *wire) {
    struct interp *in = t->in;
    uint32_t parts = wire_tuple(wire);
    int64_t number = wire_int(wire), kept = wire_int(wire);
    struct str name = wire_text(wire), text = wire_text(wire);
    if (wire->bad || parts != 4)
        return no_message(t);
    if (in->failure.set) /* that is what stopped it */
        return false;
    t->raised = kept;
    if (number >= 0 && (size_t)number < t->errors.len) {
        in->failure = t->errors.at[number].failure;
        return false;
    }
    char code[64];
    struct buf message = {0};
    struct frame *before = in->frame;
    const struct nki_node *node = trace_enter(t);
    snprintf(code, sizeof code, STR_FMT, (int)MIN_OF(name.len, sizeof code - 1), name.at);
    print_raised(t, node, name, text, &message);
    node = str_is(name, "AssertionError") && assert_around(node) ? assert_around(node) : node;
    interp_error(in, node, code, "%s", message.at ? message.at : "");
    buf_free(&message);
    in->frame = before;
    return false;
}

static bool take_result(struct trace *t, struct wire *wire, struct value *result) {
    if (wire_tuple(wire) != 1 || !trace_read(t, NULL, wire, result))
        return t->in->failure.set ? false : no_message(t);
    return !t->in->failure.set;
}

/* Sends what t->out holds, and answers until the function that it started is done. */
static bool converse(struct trace *t, struct value *result) {
    while (true) {
        struct str message;
        struct err err = {0};
        if (t->over)
            return lost(t, "hone-trace", "the kernel's Python is gone");
        if (t->out.len > TRACE_MESSAGE)
            return lost(t, "hone-memory", "a value is too large for the pipe to Python");
        if (!t->tracer->exchange(t->tracer->data, buf_str(&t->out), &message, &err))
            return lost(t, err.kind == ERR_CANCELLED ? "Cancelled" : "hone-trace", err.text);
        const unsigned char *at = (const unsigned char *)message.at;
        struct wire wire = {.at = at, .end = at + message.len};
        uint32_t parts = wire_tuple(&wire);
        int64_t op = wire_int(&wire);
        struct wire stack = wire; /* the places in it come behind it */
        for (uint32_t i = 0, n = wire_tuple(&wire); i < n && !wire.bad; i++)
            (void)wire_int(&wire);
        if (wire.bad || parts != 4 || op < 0 || op >= TRACE_OP_COUNT ||
            !trace_places(t, &stack, &wire))
            return no_message(t);
        if (op == TRACE_RETURN)
            return take_result(t, &wire, result);
        if (op == TRACE_RAISE)
            return take_raised(t, &wire);
        trace_answer(t, (enum trace_op)op, &wire);
    }
}

/* ---- functions of the kernel ----------------------------------------------------------------- */

struct foreign {
    struct trace *t;
    int64_t number;
};

static void begin_run(struct trace *t, int64_t number, size_t n_args) {
    buf_clear(&t->out);
    wire_put_tuple(&t->out, 4);
    wire_put_int(&t->out, TRACE_RUN);
    wire_put_int(&t->out, number);
    wire_put_tuple(&t->out, n_args);
}

static bool run_foreign(struct interp *in, const struct call *call, struct value *result) {
    const struct foreign *foreign = call->data;
    struct trace *t = foreign->t;
    struct frame *before = in->frame;
    begin_run(t, foreign->number, call->n_args);
    for (size_t i = 0; i < call->n_args; i++)
        trace_write(t, call->args[i]);
    wire_put_tuple(&t->out, call->n_keywords);
    for (size_t i = 0; i < call->n_keywords; i++) {
        wire_put_tuple(&t->out, 2);
        wire_put_text(&t->out, call->keywords[i].name);
        trace_write(t, call->keywords[i].value);
    }
    bool good = converse(t, result);
    in->frame = before;
    return good;
}

struct value trace_function(struct trace *t, int64_t number, struct str name) {
    struct foreign *foreign = ARENA_NEW(t->in->heap, struct foreign);
    struct value_native *native = ARENA_NEW(t->in->heap, struct value_native);
    *foreign = (struct foreign){t, number};
    *native = (struct value_native){
        arena_strndup(t->in->heap, name.at, MIN_OF(name.len, (size_t)200)), run_foreign, foreign};
    return (struct value){.kind = VALUE_NATIVE, .native = native};
}

/* ---- beginning and end ----------------------------------------------------------------------- */

/* How many folders the file's relative imports go up. */
static int64_t levels_of(const struct nki_tree *tree) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < tree->n_nodes; i++)
        if (tree->nodes[i]->kind == NKI_IMPORT_FROM)
            most = MAX_OF(most, tree->nodes[i]->import_from.level);
    return (int64_t)MIN_OF(most, 20u);
}

static bool start(struct trace *t) {
    struct err err = {0};
    struct str loops = embed_find("nki/trace/loops.py"),
               recorder = embed_find("nki/trace/recorder.py");
    struct value version = NONE_VALUE;
    struct buf program = {0};
    if (!loops.len || !recorder.len)
        HONE_BUG("the recorder is not in the program");
    buf_add(&program, loops.at, loops.len);
    buf_add(&program, recorder.at, recorder.len);
    bool started = t->tracer->start(t->tracer->data, buf_str(&program), &err);
    buf_free(&program);
    if (!started)
        return lost(t, "hone-trace", err.text);
    if (!converse(t, &version))
        return false;
    if (version.kind == VALUE_STR)
        snprintf(t->tracer->python, sizeof t->tracer->python, STR_FMT, STR_ARG(text_of(version)));
    return true;
}

static bool load(struct trace *t) {
    const struct nki_tree *tree = t->in->tree;
    const char *path = t->tracer->path ? t->tracer->path : tree->file;
    struct value ignored;
    begin_run(t, TRACE_LOAD, 4);
    wire_put_text(&t->out, str_of(path));
    wire_put_text(&t->out, str_of(tree->file));
    wire_put_text(&t->out, tree->source);
    wire_put_int(&t->out, levels_of(tree));
    wire_put_tuple(&t->out, 0);
    t->in->tolerant++;
    bool good = converse(t, &ignored);
    t->in->tolerant--;
    return good;
}

static bool is_run_by_python(struct interp *in) {
    if (in->dialect == NKI_DIALECT_LEGACY)
        return interp_error(in, in->tree->module, "hone-trace",
                            "a kernel of neuronxcc.nki is read by a compiler, and no Python runs "
                            "it: leave out --tracing python3");
    return !interp_rule(in, NKI_RULE_SUBSET) ||
           interp_error(in, in->tree->module, "hone-trace",
                        "a kernel for NKI %s is read by a compiler; Python runs kernels since NKI "
                        "0.7: leave out --tracing python3, or say --release 0.7",
                        in->program->release);
}

static bool trace_begin(struct interp *in) {
    struct trace *t = ARENA_NEW(in->heap, struct trace);
    in->trace = t;
    *t = (struct trace){.in = in, .tracer = in->options->tracer, .raised = -1};
    t->base = in->frame;
    t->number_name = interp_intern(in, STR("<number>"));
    t->options = NONE_VALUE;
    return is_run_by_python(in) && start(t) && load(t);
}

/* What Python knows of the kernel: (function, options, whether it launches itself). */
static bool take_kernel(struct trace *t, struct value told, struct value *callee, bool *launches) {
    const struct value *parts = told.kind == VALUE_TUPLE ? told.seq->items.at : NULL;
    if (!parts || told.seq->items.len != 3 || parts[0].kind != VALUE_NATIVE ||
        parts[1].kind != VALUE_TUPLE || parts[2].kind != VALUE_BOOL)
        return no_message(t);
    *callee = parts[0];
    t->options = parts[1];
    *launches = parts[2].b;
    return true;
}

static bool trace_kernel(struct interp *in, struct str name, bool factory, struct value *callee,
                         bool *launches) {
    struct trace *t = in->trace;
    struct value told;
    begin_run(t, TRACE_FIND, 3);
    wire_put_text(&t->out, name);
    wire_put_bool(&t->out, factory);
    wire_put_int(&t->out, MAX_OF(in->options->grid[0], 1));
    wire_put_tuple(&t->out, 0);
    in->tolerant++;
    bool good = converse(t, &told);
    in->tolerant--;
    in->tries++; /* so that nothing in the kernel catches what hone cannot do */
    return good && take_kernel(t, told, callee, launches);
}

static bool trace_option(struct interp *in, struct str name, struct value *value) {
    const struct trace *t = in->trace;
    *value = NONE_VALUE;
    if (t->options.kind != VALUE_TUPLE)
        return false;
    for (size_t i = 0; i < t->options.seq->items.len; i++) {
        struct value pair = t->options.seq->items.at[i];
        bool is = pair.kind == VALUE_TUPLE && pair.seq->items.len == 2 &&
                  pair.seq->items.at[0].kind == VALUE_STR &&
                  str_equal(text_of(pair.seq->items.at[0]), name);
        if (is) {
            *value = pair.seq->items.at[1];
            return true;
        }
    }
    return false;
}

static void trace_end(struct interp *in) {
    struct trace *t = in->trace;
    if (!t)
        return;
    t->tracer->stop(t->tracer->data);
    buf_free(&t->out);
    vec_free(&t->things);
    map_free(&t->constants);
    vec_free(&t->places);
    map_free(&t->frames);
    vec_free(&t->stack);
    vec_free(&t->shown);
    vec_free(&t->errors);
    in->trace = NULL;
}

const struct interp_tracing trace_tracing = {
    .begin = trace_begin,
    .kernel = trace_kernel,
    .option = trace_option,
    .end = trace_end,
};
