/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions printed anew: as they stand, but for the parts that the dialects say otherwise. */
#include <stdlib.h>

#include "migrate/older.h"

#define MOST_PARTS 256
#define MOST_NESTING 32 /* names that are defined by names */

const struct migrate_fact *older_fact(const struct older *o, const struct nki_node *node) {
    return &o->m->facts[node->id];
}

const struct nki_seen *older_tile(const struct older *o, const struct nki_node *node) {
    const struct migrate_fact *fact = older_fact(o, node);
    return fact->times && !fact->varies && fact->seen.kind == NKI_SEEN_TILE ? &fact->seen : NULL;
}

void older_ask(struct older *o, const char *question) {
    if (!o->question)
        o->question = question;
}

bool older_same_shape(const struct nki_seen *a, const struct nki_seen *b) {
    if (!a || !b || a->n_dims != b->n_dims)
        return false;
    for (int d = 0; d < a->n_dims; d++)
        if (a->shape[d] != b->shape[d])
            return false;
    return true;
}

bool older_is_column(const struct nki_seen *tile) {
    int64_t elements = 1;
    for (int d = 1; d < tile->n_dims; d++)
        elements *= tile->shape[d];
    return elements == 1;
}

void older_print_shape(const struct nki_seen *tile, struct buf *out) {
    buf_putc(out, '(');
    for (int d = 0; d < tile->n_dims; d++)
        buf_printf(out, "%s%lld", d ? ", " : "", (long long)tile->shape[d]);
    buf_puts(out, tile->n_dims == 1 ? ",)" : ")");
}

/* ---- names ----------------------------------------------------------------------------------- */

/* The value that an assignment gives this name; NULL: it gives it otherwise. */
static const struct nki_node *value_given(const struct nki_node *name) {
    const struct nki_node *stmt = name->parent;
    if (stmt->kind == NKI_TUPLE && stmt->parent->kind == NKI_ASSIGN) { /* a, b = x, y */
        const struct nki_list *names = &stmt->tuple.elts;
        const struct nki_node *values = stmt->parent->assign.value;
        bool pairs = values->kind == NKI_TUPLE && values->tuple.elts.len == names->len;
        for (uint32_t i = 0; pairs && i < names->len; i++)
            if (names->at[i] == name)
                return values->tuple.elts.at[i];
        return NULL;
    }
    if (stmt->kind == NKI_ASSIGN)
        return stmt->assign.value;
    if (stmt->kind == NKI_ANN_ASSIGN)
        return stmt->ann_assign.value;
    return NULL;
}

/* The last binding before a name in one function, else the first behind it; NULL: there is none. */
static const struct nki_node *binding_in(const struct older *o, const struct nki_node *function,
                                         const struct nki_node *name) {
    const struct nki_node *found = NULL;
    for (uint32_t i = function->id; i <= function->last; i++) {
        const struct nki_node *node = o->m->tree->nodes[i];
        bool binds = node->kind == NKI_NAME && node->context == NKI_STORE &&
                     str_equal(node->name.id, name->name.id);
        if (node->kind == NKI_FUNCTION_DEF && node != function)
            i = node->last; /* its names are its own */
        else if (binds && (node->id < name->id || !found) && node->parent->kind != NKI_AUG_ASSIGN)
            found = node;
    }
    return found;
}

/* What gives a name its value where it is read; NULL: it is a parameter or has none. */
static const struct nki_node *binding_of(const struct older *o, const struct nki_node *name) {
    const struct nki_node *function = nki_enclosing(name, NKI_FUNCTION_DEF);
    for (; function; function = nki_enclosing(function, NKI_FUNCTION_DEF)) {
        const struct nki_node *found = binding_in(o, function, name);
        if (found || migrate_is_parameter(function, name->name.id))
            return found;
    }
    return NULL;
}

const struct nki_node *older_value_of(const struct older *o, const struct nki_node *name) {
    const struct nki_node *found = name->kind == NKI_NAME ? binding_of(o, name) : NULL;
    return found ? value_given(found) : NULL;
}

const struct nki_node *older_unpacked(const struct older *o, const struct nki_node *name,
                                      uint32_t *place) {
    const struct nki_node *found = binding_of(o, name);
    const struct nki_node *names = found ? found->parent : NULL;
    bool is = names && names->kind == NKI_TUPLE && names->parent->kind == NKI_ASSIGN &&
              names->parent->assign.value->kind != NKI_TUPLE;
    for (uint32_t i = 0; is && i < names->tuple.elts.len; i++)
        if (names->tuple.elts.at[i] == found)
            *place = i;
    return is ? names->parent->assign.value : NULL;
}

static bool rolls(const struct older *o, const struct nki_node *node, int depth) {
    if (depth > MOST_NESTING)
        return true;
    for (uint32_t i = node->id; i <= node->last; i++) {
        const struct nki_node *part = o->m->tree->nodes[i];
        if (migrate_calls(o->m, part, "nl.program_id"))
            return true;
        const struct nki_node *found =
            part->kind == NKI_NAME && part->context == NKI_LOAD ? binding_of(o, part) : NULL;
        if (!found)
            continue;
        const struct nki_node *value = value_given(found);
        if (found->parent->kind == NKI_FOR || found->parent->kind == NKI_COMPREHENSION ||
            (value && rolls(o, value, depth + 1)))
            return true;
    }
    return false;
}

bool older_rolls(const struct older *o, const struct nki_node *node) {
    return rolls(o, node, 0);
}

const struct nki_seen *older_named(const struct older *o, const struct nki_node *name) {
    const struct nki_seen *tile = older_tile(o, name);
    const struct nki_node *value = tile ? NULL : older_value_of(o, name);
    return value ? older_tile(o, value) : tile;
}

/* ---- printing -------------------------------------------------------------------------------- */

/* Whether a node stands in a call of what is neither NKI nor was evaluated: of numpy's own arrays,
 * where numpy's names stay. */
static bool is_host(const struct older *o, const struct nki_node *node) {
    struct buf name = {0};
    bool host = false;
    for (; node && node != o->stmt; node = node->parent) {
        if (node->kind != NKI_CALL || older_fact(o, node)->times)
            continue;
        buf_clear(&name);
        bool named = migrate_name(o->m, node->call.func, &name);
        struct str whole = buf_str(&name);
        bool ours = named && (str_starts(whole, "nl.") || str_starts(whole, "nisa.") ||
                              str_starts(whole, "nki.") || !memchr(whole.at, '.', whole.len));
        host |= !ours;
    }
    buf_free(&name);
    return host;
}

/* numpy's names of types and operators, as nl has them. */
static bool print_numpy(struct older *o, const struct nki_node *node, struct buf *out) {
    struct buf name = {0}, now = {0};
    bool named = node->kind == NKI_ATTRIBUTE && migrate_name(o->m, node, &name);
    struct str whole = buf_str(&name), of = STR("");
    if (named && !is_host(o, node) && (str_starts(whole, "np.") || str_starts(whole, "numpy."))) {
        const char *dot = strchr(name.at, '.');
        of = str_of(dot + 1);
    }
    bool is_func = node->parent->kind == NKI_CALL && node->parent->call.func == node;
    if (of.len && !is_func && dtype_find(of) != DTYPE_NONE && !str_is(of, "int64") &&
        !str_is(of, "float64"))
        buf_printf(&now, "nl.%s", dtype_name(dtype_find(of)));
    else if (of.len && !is_func && (str_is(of, "max") || str_is(of, "min")))
        buf_printf(&now, "nl.%s", str_is(of, "max") ? "maximum" : "minimum");
    else if (of.len && !is_func && nki_func_find(of) != NKI_FUNC_NONE)
        buf_printf(&now, "nl.%s", nki_func_name(nki_func_find(of)));
    if (now.len)
        migrate_spell(o->m, now.at, out);
    bool done = now.len > 0;
    buf_free(&name);
    buf_free(&now);
    return done;
}

static bool print_otherwise(struct older *o, const struct nki_node *node, struct buf *out) {
    switch (node->kind) {
    case NKI_SUBSCRIPT: return older_print_subscript(o, node, out);
    case NKI_CALL: return older_print_call(o, node, out);
    case NKI_BIN_OP:
    case NKI_UNARY_OP: return older_print_operator(o, node, out);
    case NKI_ATTRIBUTE: return print_numpy(o, node, out);
    default: return false;
    }
}

static int by_start(const void *a, const void *b) {
    const struct nki_node *const *left = a, *const *right = b;
    return (*left)->start < (*right)->start ? -1 : (*left)->start > (*right)->start;
}

/* As it stands, with its parts printed. */
static void print_parts(struct older *o, const struct nki_node *node, struct buf *out) {
    const struct nki_node *parts[MOST_PARTS];
    const char *source = o->m->tree->source.at;
    size_t count = 0;
    uint32_t at = node->start;
    for (uint32_t i = node->id + 1; i <= node->last; i = o->m->tree->nodes[i]->last + 1) {
        if (count == MOST_PARTS || node->kind == NKI_JOINED_STR) {
            count = 0;
            break;
        }
        parts[count++] = o->m->tree->nodes[i];
    }
    if (count)
        qsort(parts, count, sizeof *parts, by_start);
    for (size_t i = 0; i < count; i++) {
        if (parts[i]->start < at)
            continue;
        buf_add(out, source + at, parts[i]->start - at);
        older_print(o, parts[i], out);
        at = parts[i]->end;
    }
    buf_add(out, source + at, node->end - at);
}

void older_print(struct older *o, const struct nki_node *node, struct buf *out) {
    if (print_otherwise(o, node, out))
        o->changed = true;
    else
        print_parts(o, node, out);
}

void older_print_outer(struct older *o, const struct nki_node *node, struct buf *out) {
    /* f(a := b) needs none, but f(name=(a := b)) does. */
    int parens = node->parens || node->kind != NKI_NAMED_EXPR ? node->parens : 1;
    for (int i = 0; i < parens; i++)
        buf_putc(out, '(');
    older_print(o, node, out);
    for (int i = 0; i < parens; i++)
        buf_putc(out, ')');
}
