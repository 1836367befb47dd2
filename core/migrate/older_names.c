/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of index expressions, by the kernel's names. What an index was when the kernel was
 * evaluated holds for the inputs at hand; a number is written only where it follows from numbers in
 * the kernel alone. */
#include "migrate/older.h"

#define BAKED                                                                               \
    "the numbers of this index follow from the inputs at hand: say the slice by the names " \
    "they come from?"

/* ---- nl.mgrid -------------------------------------------------------------------------------- */

/* Which slice of nl.mgrid[a:b, c:d] an expression is: a name that it was unpacked into, or an
 * attribute of it. NULL: it is none. */
static const struct nki_node *grid_slice(const struct older *o, const struct nki_node *node) {
    static const char axes[] = "pxyzw";
    uint32_t place = 0;
    const struct nki_node *grid = NULL;
    if (node->kind == NKI_NAME) {
        grid = older_unpacked(o, node, &place);
    } else if (node->kind == NKI_ATTRIBUTE && node->attribute.attr.len == 1) {
        const char *axis = strchr(axes, node->attribute.attr.at[0]);
        place = axis ? (uint32_t)(axis - axes) : UINT32_MAX;
        grid = node->attribute.value;
    }
    for (int depth = 0; grid && grid->kind == NKI_NAME && depth < OLDER_MOST_NESTING; depth++)
        grid = older_value_of(o, grid);
    if (!grid || grid->kind != NKI_SUBSCRIPT ||
        !migrate_is(o->m, grid->subscript.value, "nl.mgrid"))
        return NULL;
    const struct nki_node *slice = grid->subscript.slice;
    if (slice->kind == NKI_TUPLE)
        slice = place < slice->tuple.elts.len ? slice->tuple.elts.at[place] : NULL;
    else if (place)
        slice = NULL;
    return slice && slice->kind == NKI_SLICE ? slice : NULL;
}

/* Arguments of nl.arange(start, stop, step), or of the slice that an index is made of; false: it is
 * made otherwise. Those that are left out are NULL. */
static bool read_range(const struct older *o, const struct nki_node *node,
                       const struct nki_node *range[3]) {
    const struct nki_node *slice = grid_slice(o, node);
    range[0] = range[1] = range[2] = NULL;
    if (slice) {
        range[0] = slice->slice.lower;
        range[1] = slice->slice.upper;
        range[2] = slice->slice.step;
        return true;
    }
    if (node->kind != NKI_CALL || !migrate_calls(o->m, node, "nl.arange") ||
        node->call.keywords.len || node->call.args.len < 1 || node->call.args.len > 3)
        return false;
    bool alone = node->call.args.len == 1;
    for (uint32_t i = 0; i < node->call.args.len; i++)
        range[alone ? 1 : i] = node->call.args.at[i];
    return true;
}

static bool is_zero(const struct nki_node *node) {
    return !node || (node->kind == NKI_CONSTANT && node->constant.type == NKI_CONST_INT &&
                     node->constant.integer == 0);
}

bool older_start_of(const struct older *o, const struct nki_node *node,
                    const struct nki_node **start) {
    const struct nki_node *range[3];
    bool is = read_range(o, node, range);
    *start = is && !is_zero(range[0]) ? range[0] : NULL;
    return is;
}

/* ---- what is the same for all inputs --------------------------------------------------------- */

/* What a name of the module is, which no function binds. */
static const struct nki_node *module_value(const struct older *o, const struct nki_node *name) {
    const struct nki_node *function = nki_enclosing(name, NKI_FUNCTION_DEF);
    for (; function; function = nki_enclosing(function, NKI_FUNCTION_DEF))
        if (migrate_is_parameter(function, name->name.id))
            return NULL;
    return migrate_value_of(o->m, name);
}

/* Whether a number follows from numbers in the kernel alone. */
static bool is_fixed(const struct older *o, const struct nki_node *node, int depth) {
    struct buf name = {0};
    if (!node)
        return true;
    if (depth > OLDER_MOST_NESTING)
        return false;
    switch ((enum nki_kind)node->kind) {
    case NKI_CONSTANT: return true;
    case NKI_BIN_OP:
        return is_fixed(o, node->bin_op.left, depth + 1) &&
               is_fixed(o, node->bin_op.right, depth + 1);
    case NKI_UNARY_OP: return is_fixed(o, node->unary_op.operand, depth + 1);
    case NKI_ATTRIBUTE: {
        bool is = migrate_name(o->m, node, &name) && str_starts(buf_str(&name), "nl.");
        buf_free(&name);
        return is;
    }
    case NKI_NAME: {
        const struct nki_node *value = older_value_of(o, node);
        value = value ? value : module_value(o, node);
        return value && is_fixed(o, value, depth + 1);
    }
    default: return false;
    }
}

static bool holds(const struct older *o, const struct nki_node *node, unsigned what, int depth) {
    const struct nki_node *range[3], *value;
    if (depth > OLDER_MOST_NESTING)
        return false;
    if (!older_is_index(o, node))
        return !(what & OLDER_BEGIN) || is_fixed(o, node, depth + 1);
    if (read_range(o, node, range))
        return (!(what & (OLDER_BEGIN | OLDER_EXTENT)) || is_fixed(o, range[0], depth + 1)) &&
               (!(what & OLDER_EXTENT) || is_fixed(o, range[1], depth + 1)) &&
               (!(what & (OLDER_STEP | OLDER_EXTENT)) || is_fixed(o, range[2], depth + 1));
    switch ((enum nki_kind)node->kind) {
    case NKI_SUBSCRIPT: return holds(o, node->subscript.value, what, depth + 1);
    case NKI_UNARY_OP: return holds(o, node->unary_op.operand, what, depth + 1);
    case NKI_BIN_OP:
        if (node->bin_op.op != NKI_ADD && node->bin_op.op != NKI_SUB && (what & OLDER_STEP))
            what |= OLDER_BEGIN; /* a factor scales steps, too */
        return holds(o, node->bin_op.left, what, depth + 1) &&
               holds(o, node->bin_op.right, what, depth + 1);
    case NKI_NAME:
        value = older_value_of(o, node);
        return value && holds(o, value, what, depth + 1);
    default: return false;
    }
}

bool older_holds(const struct older *o, const struct nki_node *node, unsigned what) {
    return holds(o, node, what, 0);
}

void older_ask_names(struct older *o) {
    older_ask(o, BAKED);
}

/* ---- how far an index goes ------------------------------------------------------------------- */

/* What says how many elements there are: those from `first` (NULL: 0) to before `end`. */
struct count {
    const struct nki_node *first, *end; /* end NULL: not found */
};

/* Whether a number was the same all the time, and which. */
static bool was(const struct older *o, const struct nki_node *node, int64_t *number) {
    const struct migrate_fact *fact = older_fact(o, node);
    *number = fact->seen.whole;
    return fact->times && !fact->moves && fact->seen.kind == NKI_SEEN_WHOLE;
}

static struct count find_count(const struct older *o, const struct nki_node *node, int64_t n,
                               int depth) {
    const struct nki_node *range[3];
    struct count none = {0};
    int64_t first = 0, end;
    if (depth > OLDER_MOST_NESTING || !older_is_index(o, node))
        return none;
    if (read_range(o, node, range)) {
        struct count count = {is_zero(range[0]) ? NULL : range[0], range[1]};
        bool same = count.end && !range[2] && was(o, count.end, &end) &&
                    (!count.first || was(o, count.first, &first)) && end - first == n;
        return same ? count : none;
    }
    if (node->kind == NKI_SUBSCRIPT)
        return find_count(o, node->subscript.value, n, depth + 1);
    if (node->kind == NKI_BIN_OP) {
        struct count left = find_count(o, node->bin_op.left, n, depth + 1);
        return left.end ? left : find_count(o, node->bin_op.right, n, depth + 1);
    }
    const struct nki_node *value = node->kind == NKI_NAME ? older_value_of(o, node) : NULL;
    return value ? find_count(o, value, n, depth + 1) : none;
}

static void print_factor(struct older *o, const struct nki_node *node, int precedence,
                         struct buf *out) {
    bool tight = nki_precedence(node) >= precedence;
    buf_puts(out, tight ? "" : "(");
    older_print(o, node, out);
    buf_puts(out, tight ? "" : ")");
}

/* "n // 2", "end - first", in parentheses where they bind less tightly. */
static void print_names(struct older *o, const struct count *count, int precedence,
                        struct buf *out) {
    bool loose = count->first && precedence > 11;
    buf_puts(out, loose ? "(" : "");
    print_factor(o, count->end, count->first ? 11 : precedence, out);
    if (count->first) {
        buf_puts(out, " - ");
        print_factor(o, count->first, 12, out);
    }
    buf_puts(out, loose ? ")" : "");
}

void older_print_count(struct older *o, const struct nki_node *node, int64_t n, int64_t step,
                       struct buf *out) {
    struct count count = find_count(o, node, n, 0);
    bool plain = count.end && !count.first &&
                 (count.end->kind == NKI_NAME || count.end->kind == NKI_ATTRIBUTE ||
                  count.end->kind == NKI_CONSTANT);
    bool fixed = older_holds(o, node, OLDER_EXTENT);
    if (!older_holds(o, node, OLDER_STEP) || (!fixed && !count.end))
        older_ask_names(o);
    if (step == 1 && plain) {
        buf_printf(out, STR_FMT, STR_ARG(older_text_of(o, count.end)));
    } else if (step == 1 && count.end && !fixed) {
        print_names(o, &count, 11, out);
    } else if (count.end && !fixed) {
        buf_printf(out, "%lld * ", (long long)step);
        print_names(o, &count, 13, out);
        buf_printf(out, " - %lld", (long long)(step - 1));
    } else {
        buf_printf(out, "%lld", (long long)((n - 1) * step + 1));
    }
}
