/* SPDX-License-Identifier: Apache-2.0 */
/* What each kind of node consists of, in one table. Children, walking and the dump are read from
 * it. */
#include "nki/syntax/parser.h"
#include "nki/syntax/testing.h"

#include <math.h>

enum field_type {
    NO_FIELD, /* ends a row */
    NODE,     /* struct nki_node *, may be NULL */
    LIST,
    TEXT,  /* struct str */
    NAMES, /* the names of global and nonlocal */
    BINARY,
    UNARY,
    BOOL_OP,
    COMPARISONS,
    FORM,       /* of a parameter */
    CONVERSION, /* of a formatted value */
    LEVEL,      /* of a relative import */
    ASYNC,
};
struct field {
    enum field_type type;
    size_t at;
};

#define F(type, member) \
    { type, offsetof(struct nki_node, member) }
#define MOST_FIELDS 6
static const struct field fields[NKI_KIND_COUNT][MOST_FIELDS + 1] = {
    [NKI_MODULE] = {F(LIST, module.body)},
    [NKI_FUNCTION_DEF] = {F(LIST, function_def.decorators), F(ASYNC, function_def.is_async),
                          F(TEXT, function_def.name), F(NODE, function_def.args),
                          F(NODE, function_def.returns), F(LIST, function_def.body)},
    [NKI_CLASS_DEF] = {F(LIST, class_def.decorators), F(TEXT, class_def.name),
                       F(LIST, class_def.bases), F(LIST, class_def.keywords),
                       F(LIST, class_def.body)},
    [NKI_RETURN] = {F(NODE, return_.value)},
    [NKI_DELETE] = {F(LIST, delete_.targets)},
    [NKI_ASSIGN] = {F(LIST, assign.targets), F(NODE, assign.value)},
    [NKI_AUG_ASSIGN] = {F(BINARY, aug_assign.op), F(NODE, aug_assign.target),
                        F(NODE, aug_assign.value)},
    [NKI_ANN_ASSIGN] = {F(NODE, ann_assign.target), F(NODE, ann_assign.annotation),
                        F(NODE, ann_assign.value)},
    [NKI_FOR] = {F(ASYNC, for_.is_async), F(NODE, for_.target), F(NODE, for_.iter),
                 F(LIST, for_.body), F(LIST, for_.orelse)},
    [NKI_WHILE] = {F(NODE, while_.test), F(LIST, while_.body), F(LIST, while_.orelse)},
    [NKI_IF] = {F(NODE, if_.test), F(LIST, if_.body), F(LIST, if_.orelse)},
    [NKI_WITH] = {F(ASYNC, with_.is_async), F(LIST, with_.items), F(LIST, with_.body)},
    [NKI_RAISE] = {F(NODE, raise_.exc), F(NODE, raise_.cause)},
    [NKI_TRY] = {F(LIST, try_.body), F(LIST, try_.handlers), F(LIST, try_.orelse),
                 F(LIST, try_.finalbody)},
    [NKI_MATCH] = {F(NODE, match.subject), F(LIST, match.cases)},
    [NKI_ASSERT] = {F(NODE, assert_.test), F(NODE, assert_.msg)},
    [NKI_IMPORT] = {F(LIST, import.names)},
    [NKI_IMPORT_FROM] = {F(LEVEL, import_from.level), F(TEXT, import_from.module),
                         F(LIST, import_from.names)},
    [NKI_GLOBAL] = {F(NAMES, global)},
    [NKI_NONLOCAL] = {F(NAMES, global)},
    [NKI_EXPR] = {F(NODE, expr.value)},
    [NKI_ERROR] = {F(LIST, error.body)},
    [NKI_BOOL_OP] = {F(BOOL_OP, bool_op.op), F(LIST, bool_op.values)},
    [NKI_NAMED_EXPR] = {F(NODE, named_expr.target), F(NODE, named_expr.value)},
    [NKI_BIN_OP] = {F(BINARY, bin_op.op), F(NODE, bin_op.left), F(NODE, bin_op.right)},
    [NKI_UNARY_OP] = {F(UNARY, unary_op.op), F(NODE, unary_op.operand)},
    [NKI_LAMBDA] = {F(NODE, lambda.args), F(NODE, lambda.body)},
    [NKI_IF_EXP] = {F(NODE, if_exp.body), F(NODE, if_exp.test), F(NODE, if_exp.orelse)},
    [NKI_DICT] = {F(LIST, dict.keys), F(LIST, dict.values)},
    [NKI_SET] = {F(LIST, set.elts)},
    [NKI_LIST_COMP] = {F(NODE, comp.elt), F(LIST, comp.generators)},
    [NKI_SET_COMP] = {F(NODE, comp.elt), F(LIST, comp.generators)},
    [NKI_DICT_COMP] = {F(NODE, dict_comp.key), F(NODE, dict_comp.value),
                       F(LIST, dict_comp.generators)},
    [NKI_GENERATOR_EXP] = {F(NODE, comp.elt), F(LIST, comp.generators)},
    [NKI_AWAIT] = {F(NODE, await.value)},
    [NKI_YIELD] = {F(NODE, yield.value)},
    [NKI_YIELD_FROM] = {F(NODE, yield.value)},
    [NKI_COMPARE] = {F(COMPARISONS, compare.ops), F(NODE, compare.left),
                     F(LIST, compare.comparators)},
    [NKI_CALL] = {F(NODE, call.func), F(LIST, call.args), F(LIST, call.keywords)},
    [NKI_FORMATTED_VALUE] = {F(NODE, formatted_value.value),
                             F(CONVERSION, formatted_value.conversion),
                             F(NODE, formatted_value.format_spec)},
    [NKI_JOINED_STR] = {F(LIST, joined_str.values)},
    [NKI_ATTRIBUTE] = {F(NODE, attribute.value), F(TEXT, attribute.attr)},
    [NKI_SUBSCRIPT] = {F(NODE, subscript.value), F(NODE, subscript.slice)},
    [NKI_STARRED] = {F(NODE, starred.value)},
    [NKI_NAME] = {F(TEXT, name.id)},
    [NKI_LIST] = {F(LIST, list.elts)},
    [NKI_TUPLE] = {F(LIST, tuple.elts)},
    [NKI_SLICE] = {F(NODE, slice.lower), F(NODE, slice.upper), F(NODE, slice.step)},
    [NKI_COMPREHENSION] = {F(ASYNC, comprehension.is_async), F(NODE, comprehension.target),
                           F(NODE, comprehension.iter), F(LIST, comprehension.ifs)},
    [NKI_EXCEPT_HANDLER] = {F(NODE, except_handler.type), F(TEXT, except_handler.name),
                            F(LIST, except_handler.body)},
    [NKI_ARGUMENTS] = {F(LIST, arguments.args)},
    [NKI_ARG] = {F(FORM, arg.form), F(TEXT, arg.name), F(NODE, arg.annotation),
                 F(NODE, arg.default_value)},
    [NKI_KEYWORD] = {F(TEXT, keyword.name), F(NODE, keyword.value)},
    [NKI_ALIAS] = {F(TEXT, alias.name), F(TEXT, alias.asname)},
    [NKI_WITH_ITEM] = {F(NODE, with_item.context_expr), F(NODE, with_item.optional_vars)},
    [NKI_MATCH_CASE] = {F(NODE, match_case.pattern), F(NODE, match_case.guard),
                        F(LIST, match_case.body)},
    [NKI_MATCH_VALUE] = {F(NODE, match_value.value)},
    [NKI_MATCH_SEQUENCE] = {F(LIST, match_list.patterns)},
    [NKI_MATCH_STAR] = {F(NODE, match_star.name)},
    [NKI_MATCH_MAPPING] = {F(LIST, match_mapping.keys), F(LIST, match_mapping.patterns),
                           F(NODE, match_mapping.rest)},
    [NKI_MATCH_CLASS] = {F(NODE, match_class.cls), F(LIST, match_class.patterns),
                         F(LIST, match_class.keywords)},
    [NKI_MATCH_KEYWORD] = {F(TEXT, match_keyword.name), F(NODE, match_keyword.pattern)},
    [NKI_MATCH_AS] = {F(NODE, match_as.pattern), F(NODE, match_as.name)},
    [NKI_MATCH_OR] = {F(LIST, match_list.patterns)},
};
#undef F

static const char *const names[] = {
#define X(id, name) name,
    NKI_KIND_TABLE(X)
#undef X
};

const char *nki_node_name(enum nki_kind kind) {
    return (unsigned)kind < NKI_KIND_COUNT ? names[kind] : "?";
}

static const void *field_of(const struct nki_node *node, const struct field *field) {
    return (const char *)node + field->at;
}

/* ---- children ------------------------------------------------------------------------------ */

static uint32_t most_children(const struct nki_node *node) {
    uint32_t count = 0;
    for (const struct field *field = fields[node->kind]; field->type; field++) {
        if (field->type == LIST)
            count += ((const struct nki_list *)field_of(node, field))->len;
        count += field->type == NODE;
    }
    return count;
}

static bool is_sorted(struct nki_node *const *all, uint32_t count) {
    for (uint32_t i = 1; i < count; i++)
        if (all[i]->start < all[i - 1]->start)
            return false;
    return true;
}

/* Keyword arguments before `*args`, keys and values: they are few and nearly in order, or two
 * sorted runs. */
static void merge_runs(struct arena *arena, struct nki_node **all, uint32_t count) {
    for (uint32_t width = 1; width < count && !is_sorted(all, count); width *= 2) {
        struct nki_node **from = arena_dup(arena, all, count * sizeof *all);
        for (uint32_t low = 0; low < count; low += 2 * width) {
            uint32_t middle = MIN_OF(low + width, count), high = MIN_OF(low + 2 * width, count);
            uint32_t a = low, b = middle;
            for (uint32_t i = low; i < high; i++) {
                bool take_b = a == middle || (b < high && from[b]->start < from[a]->start);
                all[i] = from[take_b ? b++ : a++];
            }
        }
    }
}

struct nki_node **nki_children_into(const struct nki_tree *tree, const struct nki_node *node,
                                    struct nki_node **some, uint32_t *count) {
    uint32_t most = most_children(node), n = 0;
    struct nki_node **all =
        most <= NKI_SOME_CHILDREN ? some : ARENA_ARRAY(tree->arena, struct nki_node *, most);
    for (const struct field *field = fields[node->kind]; field->type; field++) {
        if (field->type == NODE) {
            struct nki_node *child = *(struct nki_node *const *)field_of(node, field);
            if (child)
                all[n++] = child;
        } else if (field->type == LIST) {
            const struct nki_list *list = field_of(node, field);
            for (uint32_t i = 0; i < list->len; i++)
                if (list->at[i])
                    all[n++] = list->at[i];
        }
    }
    if (!is_sorted(all, n))
        merge_runs(tree->arena, all, n);
    *count = n;
    return all;
}

/* ---- the dump ------------------------------------------------------------------------------ */

struct dump {
    struct buf *out;
    const struct nki_plain *plain; /* NULL: the dump for people */
};

/* What is written where there is nothing. `_` is a name too. */
static const char *nothing(const struct dump *dump) {
    return dump->plain ? "~" : "_";
}

static void dump_name(struct str name, struct dump *dump) {
    const struct map_entry *mark = dump->plain ? map_find(dump->plain->marks, name) : NULL;
    if (mark)
        buf_printf(dump->out, "$%zu", (size_t)(mark - dump->plain->marks->entries));
    else
        buf_add(dump->out, name.at, name.len);
}

static void dump_text(struct str text, struct buf *out) {
    buf_putc(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", c);
        else if (c < ' ' || c == 0x7f)
            buf_printf(out, "\\x%02x", c);
        else
            buf_putc(out, (char)c);
    }
    buf_putc(out, '"');
}

static void dump_number(const struct nki_node *node, struct dump *dump) {
    struct buf *out = dump->out;
    const char *suffix = node->constant.type == NKI_CONST_IMAGINARY ? "j" : "";
    if (node->constant.type == NKI_CONST_INT && !node->constant.is_big)
        buf_printf(out, "%lld", (long long)node->constant.integer);
    else if (node->constant.type == NKI_CONST_INT && dump->plain)
        buf_printf(out, STR_FMT, STR_ARG(nki_node_text(dump->plain->tree, node)));
    else if (node->constant.type == NKI_CONST_INT)
        buf_printf(out, "big:%.17g", node->constant.number);
    else if (isinf(node->constant.number))
        buf_printf(out, "inf%s", suffix);
    else
        buf_printf(out, "f%.17g%s", node->constant.number, suffix);
}

static void dump_constant(const struct nki_node *node, struct dump *dump) {
    struct buf *out = dump->out;
    static const char *const fixed[] = {"None", "False", "True", "..."};
    if (node->constant.type <= NKI_CONST_ELLIPSIS) {
        buf_puts(out, fixed[node->constant.type]);
    } else if (node->constant.type >= NKI_CONST_STRING) {
        buf_puts(out, node->constant.type == NKI_CONST_BYTES ? "b" : "");
        dump_text(node->constant.text, out);
    } else {
        dump_number(node, dump);
    }
}

static void dump_node(const struct nki_node *node, struct dump *dump);

/* A docstring, or a comment that is written as one. */
static bool is_idle_text(const struct nki_node *node) {
    return node && node->kind == NKI_EXPR && node->expr.value->kind == NKI_CONSTANT &&
           node->expr.value->constant.type == NKI_CONST_STRING;
}

static void dump_list(const struct nki_list *list, struct dump *dump) {
    bool first = true;
    buf_putc(dump->out, '[');
    for (uint32_t i = 0; i < list->len; i++) {
        if (dump->plain && is_idle_text(list->at[i]))
            continue;
        buf_puts(dump->out, first ? "" : " ");
        dump_node(list->at[i], dump);
        first = false;
    }
    buf_putc(dump->out, ']');
}

static void dump_operators(const struct nki_node *node, enum field_type type, const void *at,
                           struct buf *out) {
    if (type == BINARY)
        buf_puts(out, nki_binary_text(*(const enum nki_binary *)at));
    else if (type == UNARY)
        buf_puts(out, nki_unary_text(*(const enum nki_unary *)at));
    else if (type == BOOL_OP)
        buf_puts(out, nki_bool_op_text(*(const enum nki_bool_op *)at));
    else
        for (uint32_t i = 0; i < node->compare.comparators.len; i++)
            buf_printf(out, "%s%s", i ? "," : "", nki_comparison_text(node->compare.ops[i]));
}

static void dump_names(const struct nki_node *node, struct buf *out) {
    for (uint32_t i = 0; i < node->global.len; i++)
        buf_printf(out, "%s" STR_FMT, i ? " " : "", STR_ARG(node->global.names[i]));
}

static void dump_field(const struct nki_node *node, const struct field *field, struct dump *dump) {
    struct buf *out = dump->out;
    static const char *const forms[] = {"/", "", "*", "=", "**"};
    const void *at = field_of(node, field);
    switch (field->type) {
    case NODE: dump_node(*(struct nki_node *const *)at, dump); return;
    case LIST: dump_list(at, dump); return;
    case TEXT: {
        const struct str *text = at;
        buf_add(out, text->len ? text->at : nothing(dump), text->len ? text->len : 1);
        return;
    }
    case NAMES: dump_names(node, out); return;
    case FORM: buf_printf(out, "%s.", forms[node->arg.form]); return;
    case CONVERSION:
        buf_putc(out, node->formatted_value.conversion ? node->formatted_value.conversion : '_');
        return;
    case LEVEL: buf_printf(out, "%u", *(const uint32_t *)at); return;
    case ASYNC: buf_puts(out, *(const bool *)at ? "async" : "sync"); return;
    default: dump_operators(node, field->type, at, out);
    }
}

/* The tree's height bounds the recursion. */
static void dump_node(const struct nki_node *node, struct dump *dump) {
    struct buf *out = dump->out;
    if (!node) {
        buf_puts(out, nothing(dump));
        return;
    }
    if (node->kind == NKI_NAME) {
        dump_name(node->name.id, dump);
        return;
    }
    if (node->kind == NKI_CONSTANT) {
        dump_constant(node, dump);
        return;
    }
    buf_printf(out, "(%s", nki_node_name(node->kind));
    for (const struct field *field = fields[node->kind]; field->type; field++) {
        if (field->type == ASYNC && !*(const bool *)field_of(node, field))
            continue;
        buf_putc(out, ' ');
        dump_field(node, field, dump);
    }
    buf_putc(out, ')');
}

void nki_dump(const struct nki_tree *tree, const struct nki_node *node, struct buf *out) {
    struct dump dump = {.out = out};
    dump_node(node ? node : tree->module, &dump);
}

void nki_dump_plain(const struct nki_plain *plain, const struct nki_node *node, struct buf *out) {
    struct dump dump = {.out = out, .plain = plain};
    if (!is_idle_text(node))
        dump_node(node, &dump);
}
