/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions and operators on tiles. In the older dialect they return a tile; here they write one
 * that is made before. */
#include <stdio.h>
#include <stdlib.h>

#include "migrate/older.h"

#define MOST_PLACES 16

/* ---- instructions ---------------------------------------------------------------------------- */

enum nki_op older_op(const struct older *o, const struct nki_node *call) {
    struct buf name = {0};
    enum nki_op op = NKI_OP_COUNT;
    if (call->kind == NKI_CALL && migrate_name(o->m, call->call.func, &name) &&
        str_starts(buf_str(&name), "nisa."))
        op = nki_op_find(buf_str(&name));
    buf_free(&name);
    return op != NKI_OP_COUNT && nki_op_in_legacy(op) ? op : NKI_OP_COUNT;
}

static bool is_none(const struct nki_node *node) {
    return node->kind == NKI_CONSTANT && node->constant.type == NKI_CONST_NONE;
}

/* Name of parameter `index` of the older dialect's signature: "data, op, *, bias=None". */
static struct str place_of(const char *signature, uint32_t index) {
    struct str rest = str_of(signature), one;
    for (uint32_t i = 0; str_next(&rest, ',', &one); i++) {
        one = str_trim(one);
        const char *end = memchr(one.at, '=', one.len);
        if (str_is(one, "*"))
            break;
        if (i == index)
            return (struct str){one.at, end ? (size_t)(end - one.at) : one.len};
    }
    return STR("");
}

/* Whether the package nki has no such argument, or needs none. */
static bool goes(struct older *o, enum nki_op op, struct str name, const struct nki_node *value) {
    if (str_is(name, "mask") || str_is(name, "dtype"))
        return true;
    if (op == NKI_OP_MEMSET && str_is(name, "shape"))
        return true;
    return str_is(name, "engine") &&
           (migrate_is(o->m, value, "nisa.unknown_engine") || is_none(value));
}

/* "pattern=.., offset=.., channel_multiplier=.., cmp_op=nl.greater_equal" of a comparison. */
static bool print_predicate(struct older *o, const struct nki_node *test, struct buf *out) {
    static const char *const names[NKI_CMP_COUNT] = {
        [NKI_CMP_EQ] = "nl.equal",   [NKI_CMP_NOT_EQ] = "nl.not_equal",
        [NKI_CMP_LT] = "nl.less",    [NKI_CMP_LT_E] = "nl.less_equal",
        [NKI_CMP_GT] = "nl.greater", [NKI_CMP_GT_E] = "nl.greater_equal"};
    for (int depth = 0; test->kind == NKI_NAME && depth < OLDER_MOST_NESTING; depth++) {
        const struct nki_node *value = older_value_of(o, test);
        if (!value)
            break;
        test = value;
    }
    if (test->kind != NKI_COMPARE || test->compare.comparators.len != 1 ||
        !names[test->compare.ops[0]] ||
        !older_print_affine(o, test->compare.left, test->compare.comparators.at[0], out))
        return false;
    buf_puts(out, ", cmp_op=");
    migrate_spell(o->m, names[test->compare.ops[0]], out);
    return true;
}

/* An operand; a whole tile is cut where the statement's mask ends. */
static void print_operand(struct older *o, const struct nki_node *node, struct buf *out) {
    older_print_outer(o, node, out);
    if (node->kind != NKI_SUBSCRIPT)
        older_cut(o, older_tile(o, node), out);
}

static bool can_go_before(const struct older *o, const struct nki_node *node);

/* An operand that the package nki takes in SBUF only: what lies in PSUM is copied before. */
static void print_in_sbuf(struct older *o, const struct nki_node *node, struct buf *out) {
    const struct nki_seen *tile = older_tile(o, node);
    if (!tile || tile->space != NKI_PSUM || !can_go_before(o, node)) {
        print_operand(o, node, out);
        return;
    }
    const char *name = migrate_new_name(o->m, "tile");
    struct buf from = {0}, lines = {0};
    print_operand(o, node, &from);
    older_print_tile_in(o, name, node, NKI_SBUF, &lines);
    migrate_spell(o->m, "nisa.tensor_copy", &lines);
    buf_printf(&lines, "(dst=%s", name);
    older_cut(o, tile, &lines);
    buf_printf(&lines, ", src=%s)\n", from.at);
    buf_puts(&o->before, lines.at);
    buf_puts(out, name);
    older_cut(o, tile, out);
    buf_free(&from);
    buf_free(&lines);
}

static void print_argument(struct older *o, enum nki_op op, struct str name,
                           const struct nki_node *value, struct buf *out) {
    if (goes(o, op, name, value))
        return;
    buf_puts(out, ", ");
    bool done = (op == NKI_OP_IOTA && str_is(name, "expr")) ||
                (op == NKI_OP_AFFINE_SELECT && str_is(name, "pred"));
    if (!done) {
        buf_printf(out, STR_FMT "=", STR_ARG(name));
        if (op == NKI_OP_NC_MATMUL && str_is(name, "stationary"))
            older_begin_stationary(o);
        if (strcmp(nki_op_engines(op), "G") == 0) /* which does not reach PSUM */
            print_in_sbuf(o, value, out);
        else
            print_operand(o, value, out);
        older_end_operand(o);
    } else if (!(str_is(name, "expr") ? older_print_affine(o, value, NULL, out)
                                      : print_predicate(o, value, out))) {
        older_ask(o, "this index expression is no pattern: say it with pattern=, offset= and "
                     "channel_multiplier=");
    }
}

void older_print_instruction(struct older *o, const struct nki_node *call, struct str dst,
                             struct buf *out) {
    enum nki_op op = older_op(o, call);
    struct buf signature = {0}, name = {0};
    nki_op_print_legacy(op, &signature);
    buf_printf(&name, "nisa.%s", nki_op_name(op));
    migrate_spell(o->m, name.at, out);
    buf_printf(out, "(dst=" STR_FMT, STR_ARG(dst));
    for (uint32_t i = 0; i < call->call.args.len; i++) {
        struct str place = place_of(signature.at, i);
        if (!place.len)
            older_ask(o, "which parameters are these positional arguments?");
        print_argument(o, op, place, call->call.args.at[i], out);
    }
    for (uint32_t i = 0; i < call->call.keywords.len; i++) {
        const struct nki_node *keyword = call->call.keywords.at[i];
        print_argument(o, op, keyword->keyword.name, keyword->keyword.value, out);
    }
    buf_putc(out, ')');
    buf_free(&signature);
    buf_free(&name);
}

/* ---- tiles that hold results ----------------------------------------------------------------- */

/* What a result's shape is: that of the operand where it is the same, so that it holds for other
 * inputs too. */
static void print_result_shape(struct older *o, const struct nki_node *value, struct buf *out) {
    const struct nki_seen *result = older_tile(o, value);
    bool early = older_is_reduction(o, value); /* made where its operands are not yet */
    for (uint32_t i = value->id + 1; !early && i <= value->last; i++) {
        const struct nki_node *node = o->m->tree->nodes[i];
        const struct nki_seen *tile = node->kind == NKI_NAME ? older_tile(o, node) : NULL;
        bool whole = tile && node->parent->kind != NKI_SUBSCRIPT &&
                     node->parent->kind != NKI_ATTRIBUTE && tile->space != NKI_HBM;
        if (whole && (result ? older_same_shape(tile, result) : true)) {
            buf_printf(out, STR_FMT ".shape", STR_ARG(node->name.id));
            return;
        }
    }
    if (result)
        older_print_shape(result, out);
    else
        older_ask(o, "the shape of this tile is not known, or not always the same");
}

void older_print_tile(struct older *o, const char *name, const struct nki_node *value,
                      struct buf *out) {
    older_print_tile_in(o, name, value, older_fact(o, value)->seen.space, out);
}

void older_print_tile_in(struct older *o, const char *name, const struct nki_node *value,
                         enum nki_space space, struct buf *out) {
    const struct migrate_fact *fact = older_fact(o, value);
    const struct nki_node *dtype = value->kind == NKI_CALL ? migrate_keyword(value, "dtype") : NULL;
    char type[32];
    buf_printf(out, "%s = ", name);
    migrate_spell(o->m, "nl.ndarray", out);
    buf_putc(out, '(');
    print_result_shape(o, value, out);
    buf_puts(out, ", dtype=");
    snprintf(type, sizeof type, "nl.%s", dtype_name(fact->seen.dtype));
    if (dtype && !is_none(dtype->keyword.value))
        older_print(o, dtype->keyword.value, out);
    else
        migrate_spell(o->m, type, out);
    buf_puts(out, ", buffer=");
    migrate_spell(o->m, space == NKI_PSUM ? "nl.psum" : "nl.sbuf", out);
    buf_puts(out, ")\n");
    if (!fact->times || fact->seen.kind != NKI_SEEN_TILE)
        older_ask(o, "this was not evaluated with these inputs: its tile is not known");
}

/* An expression inside a comprehension or a branch of one is not a statement of its own. */
static bool can_go_before(const struct older *o, const struct nki_node *node) {
    for (; node && node != o->stmt; node = node->parent)
        if (node->kind == NKI_LAMBDA || node->kind == NKI_COMPREHENSION ||
            node->kind == NKI_LIST_COMP || node->kind == NKI_IF_EXP ||
            node->kind == NKI_GENERATOR_EXP)
            return false;
    return true;
}

/* Prints the statements that compute a value before this one, and the tile's name. */
static bool go_before(struct older *o, const struct nki_node *value, struct buf *out) {
    const char *name = migrate_new_name(o->m, "tile");
    const struct migrate_fact *fact = older_fact(o, value);
    if (!can_go_before(o, value)) {
        older_ask(o, "an instruction within this expression returned a tile: make the tile before");
        return false;
    }
    struct buf lines = {0}, dst = {0};
    buf_puts(&dst, name);
    older_cut(o, older_tile(o, value), &dst);
    older_print_tile(o, name, value, &lines);
    older_print_write(o, buf_str(&dst), &fact->seen, value, &lines);
    buf_puts(&o->before, lines.at);
    buf_puts(out, name);
    buf_free(&lines);
    buf_free(&dst);
    return true;
}

/* ---- operators of nl ------------------------------------------------------------------------- */

/* Both operands and the operator of a call of nl or of Python's operator. */
struct pair {
    const char *op; /* "nl.add" */
    const struct nki_node *left, *right;
};

static const char *const operators[NKI_BINARY_COUNT] = {
    [NKI_ADD] = "nl.add",           [NKI_SUB] = "nl.subtract",
    [NKI_MUL] = "nl.multiply",      [NKI_DIV] = "nl.divide",
    [NKI_POW] = "nl.power",         [NKI_BIT_AND] = "nl.bitwise_and",
    [NKI_BIT_OR] = "nl.bitwise_or", [NKI_BIT_XOR] = "nl.bitwise_xor",
};

const char *older_operator(enum nki_binary op) {
    return operators[op];
}

static bool read_pair(const struct older *o, const struct nki_node *node, struct buf *name,
                      struct pair *pair) {
    if (node->kind == NKI_BIN_OP) {
        *pair = (struct pair){operators[node->bin_op.op], node->bin_op.left, node->bin_op.right};
        return pair->op && older_fact(o, node)->seen.kind == NKI_SEEN_TILE;
    }
    if (node->kind != NKI_CALL || !migrate_name(o->m, node->call.func, name) ||
        !str_starts(buf_str(name), "nl."))
        return false;
    enum nki_func func = nki_func_find(str_of(name->at + 3));
    *pair = (struct pair){name->at, migrate_arg(node, 0, "x"), migrate_arg(node, 1, "y")};
    return func != NKI_FUNC_NONE && nki_func_has(func, 'b') && pair->left && pair->right;
}

static bool is_tile(const struct older *o, const struct nki_node *node) {
    return older_fact(o, node)->times && older_fact(o, node)->seen.kind == NKI_SEEN_TILE;
}

/* a / b is a * (1 / b): no engine divides. */
static void print_divisor(struct older *o, struct pair *pair, struct buf *divisor) {
    if (strcmp(pair->op, "nl.divide") != 0)
        return;
    if (!is_tile(o, pair->right)) {
        pair->op = "nl.multiply";
        o->divides = true;
        buf_puts(divisor, "1.0 / (");
        older_print_outer(o, pair->right, divisor);
        buf_putc(divisor, ')');
        return;
    }
    pair->op = "nl.multiply";
    o->divides = true;
    migrate_spell(o->m, "nl.reciprocal", divisor);
    buf_putc(divisor, '(');
    print_operand(o, pair->right, divisor);
    buf_putc(divisor, ')');
}

/* "nisa.tensor_scalar(dst=t, data=a, op0=nl.add, operand0=b)": b is a number or a column. */
static void print_scalar(struct older *o, struct str dst, const char *op, struct str data,
                         struct str operand, bool reverse, struct buf *out) {
    migrate_spell(o->m, "nisa.tensor_scalar", out);
    buf_printf(out, "(dst=" STR_FMT ", data=" STR_FMT ", op0=", STR_ARG(dst), STR_ARG(data));
    migrate_spell(o->m, op, out);
    buf_printf(out, ", operand0=" STR_FMT "%s)\n", STR_ARG(operand),
               reverse ? ", reverse0=True" : "");
}

static void print_pair(struct older *o, struct str dst, struct pair pair, struct buf *out) {
    struct buf left = {0}, right = {0};
    const struct nki_seen *a = older_tile(o, pair.left), *b = older_tile(o, pair.right);
    bool a_small =
        !is_tile(o, pair.left) || (a && b && older_is_column(a) && !older_same_shape(a, b));
    bool b_small =
        !is_tile(o, pair.right) || (a && b && older_is_column(b) && !older_same_shape(a, b));
    print_operand(o, pair.left, &left);
    print_divisor(o, &pair, &right);
    bool both = a && b && a->space == NKI_PSUM && b->space == NKI_PSUM && !a_small && !b_small;
    if (!right.len && both)
        print_in_sbuf(o, pair.right, &right);
    else if (!right.len)
        print_operand(o, pair.right, &right);
    if (b_small && is_tile(o, pair.left)) {
        print_scalar(o, dst, pair.op, buf_str(&left), buf_str(&right), false, out);
    } else if (a_small && is_tile(o, pair.right)) {
        print_scalar(o, dst, pair.op, buf_str(&right), buf_str(&left), true, out);
    } else {
        if (a && b && !older_same_shape(a, b))
            older_ask(o, "a row is repeated for all partitions here: nl.broadcast_to it first?");
        migrate_spell(o->m, "nisa.tensor_tensor", out);
        buf_printf(out, "(dst=" STR_FMT ", data1=%s, data2=%s, op=", STR_ARG(dst), left.at,
                   right.at);
        migrate_spell(o->m, pair.op, out);
        buf_puts(out, ")\n");
    }
    buf_free(&left);
    buf_free(&right);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* "nisa.tensor_copy(dst=t, src=a)", "nisa.memset(dst=t, value=0)", .. */
static void print_plain(struct older *o, const char *function, struct str dst, const char *word,
                        const struct nki_node *value, struct buf *out) {
    migrate_spell(o->m, function, out);
    buf_printf(out, "(dst=" STR_FMT ", %s=", STR_ARG(dst), word);
    print_operand(o, value, out);
    buf_puts(out, ")\n");
}

/* Whether what an instruction makes is copied to where it goes: Tensor writes to PSUM alone, a
 * transpose no other dtype than it reads, and what dtype= rounds is rounded before it is widened.
 */
static bool is_staged(const struct older *o, const struct nki_seen *to,
                      const struct nki_node *value) {
    const struct nki_seen *made = &older_fact(o, value)->seen;
    bool in_psum = is_tile(o, value) && made->space == NKI_PSUM;
    bool other = is_tile(o, value) && to->dtype != made->dtype;
    bool rounded = other && migrate_keyword(value, "dtype") &&
                   (dtype_bytes(made->dtype) < dtype_bytes(to->dtype) ||
                    dtype_kind(made->dtype) != dtype_kind(to->dtype));
    return (in_psum && to->space == NKI_SBUF) || rounded ||
           (other && older_op(o, value) == NKI_OP_NC_TRANSPOSE);
}

/* It goes on in a copy. */
static void print_staged(struct older *o, struct str dst, const struct nki_node *value,
                         struct buf *out) {
    const char *name = migrate_new_name(o->m, "tile");
    struct buf part = {0};
    buf_puts(&part, name);
    older_begin_result(o);
    older_cut(o, older_tile(o, value), &part);
    older_end_operand(o);
    older_print_tile(o, name, value, out);
    older_print_instruction(o, value, buf_str(&part), out);
    buf_putc(out, '\n');
    migrate_spell(o->m, "nisa.tensor_copy", out);
    buf_printf(out, "(dst=" STR_FMT ", src=%s)\n", STR_ARG(dst), part.at);
    buf_free(&part);
}

static void print_write(struct older *o, struct str dst, const struct nki_seen *to,
                        const struct nki_node *value, struct buf *out) {
    struct buf name = {0};
    struct pair pair;
    const struct nki_node *src = NULL;
    if (migrate_calls(o->m, value, "nl.load") || migrate_calls(o->m, value, "nl.copy"))
        src = migrate_arg(value, 0, migrate_calls(o->m, value, "nl.load") ? "src" : "x");
    if (older_op(o, value) != NKI_OP_COUNT && is_staged(o, to, value)) {
        print_staged(o, dst, value, out);
    } else if (older_op(o, value) != NKI_OP_COUNT) {
        older_print_instruction(o, value, dst, out);
        buf_putc(out, '\n');
    } else if (read_pair(o, value, &name, &pair)) {
        print_pair(o, dst, pair, out);
    } else if (older_is_reduction(o, value)) {
        older_print_reduction(o, dst, value, out);
    } else if (src && migrate_calls(o->m, value, "nl.load") && to->space == NKI_SBUF) {
        print_plain(o, "nisa.dma_copy", dst, "src", src, out);
    } else if (src && !migrate_calls(o->m, value, "nl.load")) {
        print_plain(o, "nisa.tensor_copy", dst, "src", src, out);
    } else if (is_tile(o, value)) {
        print_plain(o, "nisa.tensor_copy", dst, "src", value, out);
    } else {
        print_plain(o, "nisa.memset", dst, "value", value, out);
    }
    buf_free(&name);
}

void older_print_write(struct older *o, struct str dst, const struct nki_seen *to,
                       const struct nki_node *value, struct buf *out) {
    struct buf lines = {0};
    print_write(o, dst, to, value, &lines);
    older_put_condition(o, value, &lines);
    buf_add(out, lines.at, lines.len);
    buf_free(&lines);
}

/* nl.ndarray((4, nl.par_dim(128), 512), ..) as a list of tiles. */
static bool print_blocks(struct older *o, const struct nki_node *call, struct buf *out) {
    const struct nki_node *shape = migrate_arg(call, 0, "shape");
    uint32_t blocks = 0;
    if (!shape || shape->kind != NKI_TUPLE)
        return false;
    const struct nki_list *sizes = &shape->tuple.elts;
    while (blocks < sizes->len && !migrate_calls(o->m, sizes->at[blocks], "nl.par_dim"))
        blocks++;
    if (blocks == sizes->len || blocks == 0)
        return false;
    for (uint32_t i = 0; i < blocks; i++)
        buf_putc(out, '[');
    const struct nki_node *buffer = migrate_arg(call, 2, "buffer");
    bool sums =
        migrate_calls(o->m, call, "nl.zeros") && buffer && migrate_is(o->m, buffer, "nl.psum");
    if (sums) /* the first product that is written to a tile in PSUM clears it */
        migrate_spell(o->m, "nl.ndarray", out);
    else
        older_print(o, call->call.func, out);
    buf_putc(out, '(');
    for (uint32_t i = blocks; i < sizes->len; i++) {
        buf_puts(out, i == blocks ? "(" : ", ");
        older_print_outer(o, sizes->at[i], out);
    }
    buf_puts(out, sizes->len - blocks == 1 ? ",)" : ")");
    for (uint32_t i = 1; i < call->call.args.len; i++) {
        buf_puts(out, ", ");
        older_print_outer(o, call->call.args.at[i], out);
    }
    for (uint32_t i = 0; i < call->call.keywords.len; i++) {
        const struct nki_node *keyword = call->call.keywords.at[i];
        if (str_is(keyword->keyword.name, "name") || str_is(keyword->keyword.name, "shape") ||
            str_is(keyword->keyword.name, "lazy_initialization"))
            continue; /* one name for many tiles */
        buf_printf(out, ", " STR_FMT "=", STR_ARG(keyword->keyword.name));
        older_print_outer(o, keyword->keyword.value, out);
    }
    buf_putc(out, ')');
    for (uint32_t i = blocks; i-- > 0;) {
        buf_puts(out, " for _ in range(");
        older_print_outer(o, sizes->at[i], out);
        buf_puts(out, ")]");
    }
    return true;
}

/* Prints a call as it stands, without the arguments that the package nki has no more. */
static bool print_without(struct older *o, const struct nki_node *call, struct buf *out) {
    const struct nki_node *mask = migrate_keyword(call, "mask");
    if (!mask)
        return false;
    bool first = true;
    older_print(o, call->call.func, out);
    buf_putc(out, '(');
    for (uint32_t i = 0; i < call->call.args.len; i++, first = false) {
        buf_puts(out, first ? "" : ", ");
        older_print_outer(o, call->call.args.at[i], out);
    }
    for (uint32_t i = 0; i < call->call.keywords.len; i++) {
        if (call->call.keywords.at[i] == mask)
            continue;
        buf_puts(out, first ? "" : ", ");
        older_print(o, call->call.keywords.at[i], out);
        first = false;
    }
    buf_putc(out, ')');
    return true;
}

bool older_goes_before(const struct older *o, const struct nki_node *node) {
    struct buf name = {0}, again = {0};
    struct pair pair;
    bool goes = false;
    if (node->kind == NKI_BIN_OP && is_tile(o, node)) {
        goes = read_pair(o, node, &name, &pair);
    } else if (older_op(o, node) != NKI_OP_COUNT) {
        goes = !migrate_keyword(node, "dst") && is_tile(o, node);
    } else if (node->kind == NKI_CALL && is_tile(o, node) && read_pair(o, node, &name, &pair)) {
        const struct nki_seen *a = older_tile(o, pair.left), *b = older_tile(o, pair.right);
        bool both = a && b && a->space == NKI_PSUM && b->space == NKI_PSUM;
        goes = both || (a && b && !older_same_shape(a, b)) || strcmp(pair.op, "nl.divide") == 0;
    }
    const struct nki_node *mask = node->kind == NKI_CALL ? migrate_keyword(node, "mask") : NULL;
    bool masked = mask && !is_none(mask->keyword.value) && is_tile(o, node);
    goes |= masked && migrate_calls(o->m, node, "nl.load"); /* the tile is larger than that */
    goes |= masked && read_pair(o, node, &again, &pair);
    buf_free(&name);
    buf_free(&again);
    return goes;
}

bool older_print_call(struct older *o, const struct nki_node *call, struct buf *out) {
    if (migrate_calls(o->m, call, "nl.par_dim") && call->call.args.len == 1) {
        older_print_outer(o, call->call.args.at[0], out);
        return true;
    }
    return print_blocks(o, call, out) || (older_goes_before(o, call) && go_before(o, call, out)) ||
           print_without(o, call, out);
}

bool older_print_operator(struct older *o, const struct nki_node *node, struct buf *out) {
    if (!is_tile(o, node))
        return false;
    if (node->kind == NKI_UNARY_OP && node->unary_op.op == NKI_UNARY_MINUS) {
        migrate_spell(o->m, "nl.negative", out);
        buf_putc(out, '(');
        older_print_outer(o, node->unary_op.operand, out);
        buf_putc(out, ')');
        return true;
    }
    if (!older_goes_before(o, node)) {
        older_ask(o, "this operator is in no package nki: which instruction is it?");
        return false;
    }
    return go_before(o, node, out);
}
