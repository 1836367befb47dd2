/* SPDX-License-Identifier: Apache-2.0 */
/* Where Python is: its frames as the interpreter's, so that instructions, costs and errors have the
 * same places and the same calls behind them. */
#include "nki/trace/private.h"

#include <string.h>
#include <unistd.h>

/* ---- nodes ----------------------------------------------------------------------------------- */

/* The smallest node around the bytes, and of several the innermost. Python's places of calls over
 * several lines begin at the method's name. */
static const struct nki_node *node_around(const struct nki_tree *tree, uint32_t start,
                                          uint32_t end) {
    const struct nki_node *best = tree->module;
    for (uint32_t i = 1; i < tree->n_nodes; i++) {
        const struct nki_node *node = tree->nodes[i];
        if (node->start > start || node->end < end) {
            i = node->last;
            continue;
        }
        if (node->end - node->start <= best->end - best->start || best == tree->module)
            best = node;
    }
    return best;
}

/* Pythons before 3.11 tell only the line: the statement that begins there, or the call that it
 * consists of. */
static const struct nki_node *node_of_line(const struct nki_tree *tree, int line) {
    struct nki_span span = nki_line_span(tree, line);
    const struct nki_node *found = NULL;
    for (uint32_t i = 1; i < tree->n_nodes && !found; i++)
        if (nki_is_statement(tree->nodes[i]) && tree->nodes[i]->start >= span.start &&
            tree->nodes[i]->start < span.end)
            found = tree->nodes[i];
    if (!found)
        return node_around(tree, span.start, span.start);
    if (found->kind == NKI_EXPR)
        return found->expr.value;
    if (found->kind == NKI_ASSIGN && found->assign.value->kind == NKI_CALL)
        return found->assign.value;
    if (found->kind == NKI_RETURN && found->return_.value)
        return found->return_.value;
    return found;
}

struct position {
    int64_t line, column, end_line, end_column;
};

static uint32_t offset_of(const struct nki_tree *tree, int64_t line, int64_t column) {
    struct nki_span span = nki_line_span(tree, (int)MIN_OF(line, (int64_t)INT32_MAX));
    return (uint32_t)MIN_OF((uint64_t)span.start + (uint64_t)column, (uint64_t)span.end);
}

static const struct nki_node *node_at(const struct nki_tree *tree, const struct position *at) {
    if (at->column < 0 || at->end_column < 0)
        return node_of_line(tree, (int)MIN_OF(at->line, (int64_t)INT32_MAX));
    return node_around(tree, offset_of(tree, at->line, at->column),
                       offset_of(tree, at->end_line, at->end_column));
}

/* The scope of the function of that name around the node, as Python calls it. */
static struct scope *scope_of(const struct unit *unit, const struct nki_node *node,
                              struct str name) {
    bool lambda = str_is(name, "<lambda>"), inner = !lambda && str_starts(name, "<");
    if (str_is(name, "<module>"))
        return unit->scope;
    for (const struct nki_node *n = node; n; n = n->parent) {
        bool is = n->kind == NKI_LAMBDA         ? lambda
                  : n->kind == NKI_FUNCTION_DEF ? inner || str_equal(n->function_def.name, name)
                  : n->kind == NKI_CLASS_DEF    ? str_equal(n->class_def.name, name)
                                                : false;
        if (is && unit->cells[n->id].scope)
            return unit->cells[n->id].scope;
    }
    return unit->scope;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Python makes paths absolute that hone was given as they are. */
static struct str shown_path(const struct trace *t, struct str path) {
    char here[4096];
    if (t->in->tree->file[0] == '/' || !getcwd(here, sizeof here - 1))
        return path;
    size_t len = strlen(here);
    here[len++] = '/';
    if (path.len > len && memcmp(path.at, here, len) == 0)
        return (struct str){path.at + len, path.len - len};
    return path;
}

static struct unit *read_unit(struct trace *t, const char *path) {
    struct diag_list ignored = {0};
    struct err err = {0};
    struct nki_tree *tree =
        t->in->units.len < INTERP_MAX_UNITS ? nki_parse_file(path, &ignored, &err) : NULL;
    if (!tree) /* it cannot be read, so its lines are not known */
        tree = nki_parse(path, STR("pass\n"), &ignored);
    char *name = arena_strdup(t->in->heap, path_base(path));
    struct unit *unit = unit_new(t->in, tree, name);
    unit->own_tree = tree;
    interp_grew(t->in, GROWN_SOURCES, tree->n_nodes, arena_bytes(tree->arena));
    diag_free(&ignored);
    return unit;
}

static struct unit *unit_at(struct trace *t, struct str path) {
    struct str shown = shown_path(t, path);
    for (size_t i = 0; i < t->in->units.len; i++) {
        struct unit *unit = t->in->units.at[i];
        if (str_is(path, unit->path) || str_is(shown, unit->path))
            return unit;
    }
    if (t->in->units.len > INTERP_MAX_UNITS)
        return t->in->units.at[t->in->units.len - 1];
    return read_unit(t, arena_strndup(t->in->heap, shown.at, MIN_OF(shown.len, (size_t)4000)));
}

static bool read_place(struct trace *t, struct wire *wire) {
    if (wire_tuple(wire) != 7)
        return !(wire->bad = true);
    struct str path = wire_text(wire), name = wire_text(wire);
    struct place place = {.code = wire_int(wire)};
    struct position at = {wire_int(wire), wire_int(wire), 0, 0};
    at.end_line = wire_int(wire);
    at.end_column = wire_int(wire);
    if (wire->bad || at.line < 0 || memchr(path.at, 0, path.len))
        return !(wire->bad = true);
    place.unit = unit_at(t, path);
    place.node = node_at(place.unit->tree, &at);
    place.scope = scope_of(place.unit, place.node, name);
    place.is_call = place.scope->kind == SCOPE_FUNCTION;
    *vec_push(&t->places) = place;
    interp_count(t->in, place.unit->tree->n_nodes / 64);
    return true;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

bool trace_places(struct trace *t, struct wire *stack, struct wire *fresh) {
    uint32_t n_fresh = wire_none(fresh) ? 0 : wire_tuple(fresh);
    for (uint32_t i = 0; i < n_fresh; i++)
        if (!read_place(t, fresh))
            return false;
    uint32_t n = wire_tuple(stack);
    size_t same = 0;
    for (uint32_t i = 0; i < n; i++) {
        int64_t number = wire_int(stack);
        if (stack->bad || number < 0 || (size_t)number >= t->places.len)
            return !(stack->bad = true);
        if (i < t->stack.len && same == i && t->stack.at[i] == number)
            same++;
        if (i >= t->stack.len)
            (void)vec_push(&t->stack);
        t->stack.at[i] = number;
    }
    t->stack.len = n;
    /* A frame follows from the calls before it and its function. */
    t->shown.len = MIN_OF(t->shown.len, same);
    return !fresh->bad && !stack->bad;
}

static const struct place *place_in(const struct trace *t, size_t level) {
    return &t->places.at[t->stack.at[level]];
}

struct str trace_target(const struct frame *frame, const struct nki_node *node) {
    const struct nki_node *parent = node->parent;
    if (!parent || node->kind != NKI_CALL)
        return (struct str){"", 0};
    if (parent->kind == NKI_ASSIGN && parent->assign.value == node)
        return target_name(parent->assign.targets.at[0]);
    if (parent->kind == NKI_ANN_ASSIGN && parent->ann_assign.value == node)
        return target_name(parent->ann_assign.target);
    if (parent->kind == NKI_RETURN)
        return frame->target;
    return (struct str){"", 0};
}

static struct frame *make_frame(struct trace *t, size_t level, struct frame *caller) {
    const struct place *place = place_in(t, level);
    struct frame *frame = frame_new(t->in, place->scope, NULL);
    frame->caller = caller;
    if (level && place->is_call) {
        frame->call = place_in(t, level - 1)->node;
        frame->target = trace_target(caller, frame->call);
    }
    return frame;
}

/* The frame at a level of the stack: the same for the same calls. */
static struct frame *frame_for(struct trace *t, size_t level, struct frame *caller) {
    struct {
        const struct frame *caller;
        int64_t call, code;
        const struct scope *scope;
    } key = {caller, level ? t->stack.at[level - 1] : -1, place_in(t, level)->code,
             place_in(t, level)->scope};
    char bytes[sizeof key];
    memcpy(bytes, &key, sizeof key);
    struct map_entry *entry = map_put(&t->frames, (struct str){bytes, sizeof bytes});
    if (!entry->value) {
        struct frame *made = make_frame(t, level, caller);
        entry = map_find(&t->frames, (struct str){bytes, sizeof bytes});
        entry->value = made;
    }
    return entry->value;
}

const struct nki_node *trace_enter(struct trace *t) {
    for (size_t level = t->shown.len; level < t->stack.len; level++) {
        struct frame *caller = level ? t->shown.at[level - 1] : t->base;
        *vec_push(&t->shown) = frame_for(t, level, caller);
    }
    size_t n = t->stack.len;
    t->in->frame = n ? t->shown.at[n - 1] : t->base;
    return n ? place_in(t, n - 1)->node : t->in->tree->module;
}
