/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel that Python evaluates, from this side. Private to this folder. */
#ifndef HONE_NKI_TRACE_PRIVATE_H
#define HONE_NKI_TRACE_PRIVATE_H

#include "nki/python/inner.h"
#include "nki/trace/trace.h"

/* What Python sends, in the order of recorder.py. The first two end what it was asked to run. */
enum trace_op {
    TRACE_RETURN,
    TRACE_RAISE,
    TRACE_GETATTR,
    TRACE_GETITEM,
    TRACE_SETITEM,
    TRACE_CALL,
    TRACE_BINARY,
    TRACE_INPLACE,
    TRACE_COMPARE,
    TRACE_UNARY,
    TRACE_TRUTH,
    TRACE_LENGTH,
    TRACE_ITEMS,
    TRACE_ENTER,
    TRACE_LEAVE,
    TRACE_REPR,
    TRACE_PRINT,
    TRACE_MODULE,
    TRACE_ISOF,
    TRACE_SETATTR,
    TRACE_LAUNCH,
    TRACE_OP_COUNT
};
/* What it gets: (ANSWER, value), (ERROR, number, kept, class, text), (RUN, function, arguments,
 * keywords). */
enum trace_answer { TRACE_ANSWER, TRACE_ERROR, TRACE_RUN };
/* The first item of a list in a message: what the list stands for. */
enum trace_tag {
    TRACE_THING,    /* handle; to Python also: whether it is a constant, its type, its name */
    TRACE_LIST,     /* items */
    TRACE_SLICE,    /* start, stop, step */
    TRACE_FUNCTION, /* number, name: a function of the kernel */
    TRACE_DICT,     /* key, value, .. */
    TRACE_RANGE,    /* start, stop, step */
    TRACE_RECORD,   /* class, field, value, ..: an argument of the kernel */
    TRACE_MEMBER,   /* class, member, value: likewise */
    TRACE_CLASS,    /* name, whether it is an exception */
    TRACE_ARRAY,    /* dtype, shape, float64s: an array of numpy */
    TRACE_NAMED,    /* module, name: what hone knows under the same name */
    TRACE_OBJECT,   /* number, class: an object of the kernel that hone knows nothing of */
};
/* Functions of recorder.py that hone runs by number. */
enum { TRACE_LOAD, TRACE_FIND };

#define TRACE_DEPTH 60                    /* of values in values */
#define TRACE_MESSAGE ((size_t)160 << 20) /* bytes of one, at most */

/* A place in the kernel's Python. */
struct place {
    struct unit *unit;
    const struct nki_node *node;
    struct scope *scope; /* of the function around it */
    int64_t code;        /* which function it is, by a number of Python's */
    bool is_call;        /* frames of it were called, and did not run as a file or class */
};

/* An exception on its way: what hone would say of it, and which of Python's it is. */
struct trace_error {
    struct failure failure;
    int64_t kept; /* the number that Python keeps it under; -1: it is hone's */
};

struct trace {
    struct interp *in;
    struct nki_tracer *tracer;
    struct buf out;
    struct frame *base;
    VEC(struct value) things;  /* by handle */
    struct map constants;      /* key: handle + 1 */
    VEC(struct place) places;  /* by number */
    struct map frames;         /* caller, its place, code: struct frame */
    VEC(int64_t) stack;        /* as it was last told, .. */
    VEC(struct frame *) shown; /* .. and the frames of it */
    VEC(struct trace_error) errors;
    int64_t raised; /* what Python keeps the exception under that is on its way; -1: none */
    const struct value_str *number_name;
    struct value options; /* of nki.jit, a tuple of pairs */
    bool over;            /* nothing more can be asked */
};

/* ---- wire.c: what is in a message ------------------------------------------------------------ */

struct wire {
    const unsigned char *at, *end;
    bool bad; /* it is no such value; all that is read from then on is empty */
    int depth;
};
/* What comes next: a letter of marshal; 0 at the end. */
int wire_next(const struct wire *wire);
uint32_t wire_tuple(struct wire *wire); /* the number of its items, which follow */
uint32_t wire_list(struct wire *wire);
int64_t wire_int(struct wire *wire);
struct str wire_text(struct wire *wire);  /* is in the message */
struct str wire_bytes(struct wire *wire); /* likewise */
double wire_float(struct wire *wire);
/* Skips None, which stands for nothing. */
bool wire_none(struct wire *wire);
bool wire_bool(struct wire *wire);

void wire_put_tuple(struct buf *out, size_t n);
void wire_put_list(struct buf *out, size_t n);
void wire_put_int(struct buf *out, int64_t i);
void wire_put_float(struct buf *out, double f);
void wire_put_text(struct buf *out, struct str text);
void wire_put_bool(struct buf *out, bool b);
void wire_put_none(struct buf *out);

/* ---- values.c -------------------------------------------------------------------------------- */

/* Reads a value. False with wire->bad, or after interp_error. */
bool trace_read(struct trace *t, const struct nki_node *node, struct wire *wire,
                struct value *result);
/* Writes one to t->out. */
void trace_write(struct trace *t, struct value value);
/* What a class of Python's exceptions is called that stands for the error; "": nothing may catch
 * it. */
const char *trace_error_class(struct trace *t, const struct failure *failure);

/* ---- places.c -------------------------------------------------------------------------------- */

/* Reads a stack and the places that are new in it. False where the message is bad. */
bool trace_places(struct trace *t, struct wire *stack, struct wire *fresh);
/* Makes the stack that was told last the interpreter's, as if it had called those functions.
 * Returns the place in the innermost frame. */
const struct nki_node *trace_enter(struct trace *t);
/* The name that the result of the node is assigned to, in the frame. */
struct str trace_target(const struct frame *frame, const struct nki_node *node);

/* ---- answers.c ------------------------------------------------------------------------------- */

/* Does what Python asks, and writes the answer to t->out. */
void trace_answer(struct trace *t, enum trace_op op, struct wire *arguments);

/* ---- trace.c --------------------------------------------------------------------------------- */

/* A function of the kernel by Python's number. */
struct value trace_function(struct trace *t, int64_t number, struct str name);

#endif
