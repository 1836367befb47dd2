/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of neuronxcc.nki said in the package nki: expressions are printed anew where the dialects
 * differ, and instructions that returned a tile become statements before the one they stood in. */
#ifndef HONE_MIGRATE_OLDER_H
#define HONE_MIGRATE_OLDER_H

#include "migrate/private.h"

#define OLDER_MOST_CONDITIONS 4

struct older {
    struct migrate *m;
    const struct nki_node *stmt; /* that is printed */
    struct buf before;           /* lines that come before it */
    const char *question;        /* what was met that has to be decided; NULL: nothing */
    bool divides;                /* a division became a product */
    bool changed;                /* something is said otherwise than it was */
    enum {
        OLDER_ALIKE,
        OLDER_TURNED,
        OLDER_PRODUCT
    } axes_of;       /* whose axes the mask has: of all
                      * operands; of what a transpose
                      * reads; [K, N ..] of a product */
    unsigned hidden; /* axes that the operand that is printed has not */
    bool turned;     /* the limits are those of the result */
    const struct nki_node *conditions[OLDER_MOST_CONDITIONS]; /* parts of the mask without an index:
                                                               * whether it runs at all */
    int n_conditions;
    int n_axes;                  /* of the statement's mask; 0: it has none */
    char *limits[NKI_SEEN_DIMS]; /* how far an axis goes, "min(128, n - i * 128)"; NULL: to its
                                  * end */
};

/* ---- older_text.c ---------------------------------------------------------------------------- */

/* Prints an expression as the package nki has it. */
void older_print(struct older *o, const struct nki_node *node, struct buf *out);
/* The same, with the parentheses around it. */
void older_print_outer(struct older *o, const struct nki_node *node, struct buf *out);
/* Notes a question; the first one of a statement is asked. */
void older_ask(struct older *o, const char *question);
const struct migrate_fact *older_fact(const struct older *o, const struct nki_node *node);
/* What a node is, where it was always a tile of one shape; NULL else. */
const struct nki_seen *older_tile(const struct older *o, const struct nki_node *node);
/* The value that a name has where it is read: that of the last assignment before it in its
 * function; NULL: it is a parameter or has none. */
const struct nki_node *older_value_of(const struct older *o, const struct nki_node *name);
/* The value that is unpacked into a name (`p, f = value`), and at which place; NULL: none is. */
const struct nki_node *older_unpacked(const struct older *o, const struct nki_node *name,
                                      uint32_t *place);
/* Whether an expression follows from the variable of a loop, or the number of a program, whatever
 * it was when the kernel was evaluated. */
bool older_rolls(const struct older *o, const struct nki_node *node);
/* The same of a name, also where it is written. */
const struct nki_seen *older_named(const struct older *o, const struct nki_node *name);
/* "(128, 512)" */
void older_print_shape(const struct nki_seen *tile, struct buf *out);
bool older_same_shape(const struct nki_seen *a, const struct nki_seen *b);
bool older_is_column(const struct nki_seen *tile); /* one element for each partition */

/* ---- older_index.c --------------------------------------------------------------------------- */

/* Prints t[i_p, i * 128 + i_f] as slices. False: it is none of those. */
bool older_print_subscript(struct older *o, const struct nki_node *node, struct buf *out);
/* How many dimensions of blocks the tensor that a name stands for has; they are a list of tiles. */
int older_blocks(const struct older *o, const struct nki_node *name);
/* Whether a node is an index expression: what evaluating it showed. */
bool older_is_index(const struct older *o, const struct nki_node *node);
/* A node as it stands in the kernel, with the parentheses around it. */
struct str older_text_of(const struct older *o, const struct nki_node *node);
/* Prints from where on an index expression goes; nothing where that is 0. False: it is not known.
 * `depth`: 0; names are followed OLDER_MOST_NESTING deep. */
enum { OLDER_MOST_NESTING = 32 };
bool older_print_base(struct older *o, const struct nki_node *node, int depth, struct buf *out);
/* offset and pattern of an index expression over its axes, or of the difference of two (b NULL: of
 * one), as affine_select and iota take them: "pattern=[[1, 512]], offset=0, channel_multiplier=1".
 * False: it is no index expression. */
bool older_print_affine(struct older *o, const struct nki_node *a, const struct nki_node *b,
                        struct buf *out);

/* ---- older_names.c --------------------------------------------------------------------------- */

/* Whether an expression is an nl.arange, or of an nl.mgrid, and where it begins; *start NULL: at
 * 0. */
bool older_start_of(const struct older *o, const struct nki_node *node,
                    const struct nki_node **start);
/* Whether all this of an index expression follows from numbers in the kernel alone, so that it is
 * the same for all inputs. */
enum { OLDER_BEGIN = 1, OLDER_EXTENT = 2, OLDER_STEP = 4 };
bool older_holds(const struct older *o, const struct nki_node *node, unsigned what);
/* Asks for the names that numbers come from. */
void older_ask_names(struct older *o);
/* Prints from the first element of an index to behind its last one, of `n`: "128", "half",
 * "2 * half - 1". Asks where only the inputs at hand tell. */
void older_print_count(struct older *o, const struct nki_node *node, int64_t n, int64_t step,
                       struct buf *out);

/* ---- older_mask.c ---------------------------------------------------------------------------- */

/* Reads mask= of the statement: from now on slices end where it says. Asks where it cannot be read
 * as ends of axes. */
void older_read_mask(struct older *o);
void older_forget_mask(struct older *o);
/* Which axes of the mask an operand has: what a transpose writes has them the other way round, the
 * stationary operand of a product the first one alone, its result the others. Called before it is
 * printed, and older_end_operand after it. */
void older_begin_result(struct older *o);
void older_begin_stationary(struct older *o);
void older_end_operand(struct older *o);
/* How far an axis goes for the operand that is printed; NULL: to its end. */
const char *older_limit(const struct older *o, int axis);
/* "if condition:" around lines that write what a call computes, where its mask has parts without an
 * index. */
void older_put_condition(struct older *o, const struct nki_node *call, struct buf *lines);
/* Appends "[0:min(128, n), 0:512]" to the name of a tile, where the statement's mask cuts it. */
void older_cut(const struct older *o, const struct nki_seen *tile, struct buf *out);

/* ---- older_loop.c ---------------------------------------------------------------------------- */

/* Whether a node is a call of nl.loop_reduce over loops that are around it. */
bool older_is_reduction(const struct older *o, const struct nki_node *node);
/* The outermost of its loops. */
const struct nki_node *older_outermost(const struct older *o, const struct nki_node *call);
/* Prints what writes it to a tile: in the first round a copy, later the operator. */
void older_print_reduction(struct older *o, struct str dst, const struct nki_node *call,
                           struct buf *out);

/* ---- older_call.c ---------------------------------------------------------------------------- */

/* The instruction that a call is ("activation"); NKI_OP_COUNT: it is none. */
enum nki_op older_op(const struct older *o, const struct nki_node *call);
/* Prints an instruction that writes to `dst`: "nisa.activation(dst=t, op=.., data=..)". */
void older_print_instruction(struct older *o, const struct nki_node *call, struct str dst,
                             struct buf *out);
/* Whether a value is computed by a statement before this one. */
bool older_goes_before(const struct older *o, const struct nki_node *node);
/* Prints a call as a value: instructions go before the statement. False: it stays as it is. */
bool older_print_call(struct older *o, const struct nki_node *call, struct buf *out);
/* Prints an operator on tiles. False: there are no tiles. */
bool older_print_operator(struct older *o, const struct nki_node *node, struct buf *out);
/* Prints the statement that writes an expression to a tile. */
void older_print_write(struct older *o, struct str dst, const struct nki_seen *to,
                       const struct nki_node *value, struct buf *out);
/* "y = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)", a line. */
void older_print_tile(struct older *o, const char *name, const struct nki_node *value,
                      struct buf *out);
void older_print_tile_in(struct older *o, const char *name, const struct nki_node *value,
                         enum nki_space space, struct buf *out);
/* The operator of nl for a binary one of Python; NULL: there is none. */
const char *older_operator(enum nki_binary op);

#endif
