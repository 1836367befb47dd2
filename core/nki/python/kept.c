/* SPDX-License-Identifier: Apache-2.0 */
/* What Python keeps. A call of the kernel may change what the names of its files hold, for the next
 * call. And the body of a loop on the device, which the device traces once and hone runs for every
 * round, changes what Python keeps once: later rounds begin with what the first began with. */
#include "nki/python/inner.h"

#include <stdlib.h>

#define KEPT_DEPTH 16     /* of values in values */
#define KEPT_VALUES 20000 /* of one name */
#define TRACED_PARTS 4096 /* frames and containers that a body may reach */

/* A digest of all that a name leads to: contents, and which objects they are. */
struct digest {
    uint64_t sum;
    int left, depth;
};

static void digest_add(struct digest *digest, uint64_t number) {
    digest->sum = (digest->sum ^ number) * 0x100000001b3u + 0x9e3779b97f4a7c15u;
}

static void digest_pointer(struct digest *digest, const void *pointer) {
    digest_add(digest, (uint64_t)(uintptr_t)pointer);
}

static void digest_value(struct digest *digest, struct value value);

static void digest_values(struct digest *digest, const struct value *values, size_t count) {
    digest_add(digest, count);
    for (size_t i = 0; i < count; i++)
        digest_value(digest, values[i]);
}

static void digest_attrs(struct digest *digest, const struct attrs *attrs) {
    digest_add(digest, attrs->len);
    for (uint32_t i = 0; i < attrs->len; i++) {
        digest_pointer(digest, attrs->at[i].name);
        digest_value(digest, attrs->at[i].value);
    }
}

static void digest_dict(struct digest *digest, const struct value_dict *dict) {
    digest_add(digest, dict->pairs.len);
    for (size_t i = 0; i < dict->pairs.len; i++) {
        digest_value(digest, dict->pairs.at[i].key);
        digest_value(digest, dict->pairs.at[i].value);
    }
}

/* With what it closes over, and its default values. */
static void digest_function(struct digest *digest, const struct value_function *function) {
    digest_pointer(digest, function);
    if (function->defaults)
        digest_values(digest, function->defaults, function->scope->n_params);
    for (const struct frame *at = function->closure; at && at->scope->kind == SCOPE_FUNCTION;
         at = at->outer)
        digest_values(digest, at->slots, at->scope->slot_names.len);
}

static void digest_plain(struct digest *digest, struct value value) {
    switch (value.kind) {
    case VALUE_NONE: break;
    case VALUE_BOOL: digest_add(digest, value.b); break;
    case VALUE_STR:
        for (size_t i = 0; i < value.str->len; i++)
            digest_add(digest, (unsigned char)value.str->at[i]);
        break;
    default: digest_add(digest, (uint64_t)value.i); break; /* a number, or which object it is */
    }
}

static void digest_value(struct digest *digest, struct value value) {
    if (digest->left <= 0 || digest->depth > KEPT_DEPTH)
        return;
    digest->left--;
    digest->depth++;
    digest_add(digest, value.kind);
    switch (value.kind) {
    case VALUE_KIND_COUNT: break; /* it has no value */
    case VALUE_TUPLE:
    case VALUE_LIST: digest_values(digest, value.seq->items.at, value.seq->items.len); break;
    case VALUE_DICT: digest_dict(digest, value.dict); break;
    case VALUE_FUNCTION: digest_function(digest, value.function); break;
    case VALUE_CLASS: digest_attrs(digest, &value.cls->attrs); break;
    case VALUE_OBJECT:
        digest_attrs(digest, &value.object->attrs);
        digest_value(digest, value.object->inner);
        break;
    case VALUE_BOUND:
        digest_value(digest, value.bound->self);
        digest_value(digest, value.bound->callee);
        break;
    default: digest_plain(digest, value); break;
    }
    digest->depth--;
}

static uint64_t digest_of(struct value value) {
    struct digest digest = {.left = KEPT_VALUES};
    digest_value(&digest, value);
    return digest.sum;
}

/* Names without a value may be builtins, which get theirs when they are first used. */
void kept_begin(struct interp *in) {
    for (size_t i = 0; i < in->units.len; i++) {
        struct unit *unit = in->units.at[i];
        for (size_t slot = 0; slot < unit->globals.len; slot++)
            if (!is_unset(unit->globals.at[slot]))
                *vec_push(&in->held) =
                    (struct held){unit, (uint32_t)slot, digest_of(unit->globals.at[slot])};
    }
}

/* Where the module binds the name first; 0: nowhere in a plain way. */
static int line_of_name(const struct nki_tree *tree, struct str name) {
    for (uint32_t i = 0; i < tree->n_nodes; i++) {
        const struct nki_node *node = tree->nodes[i];
        if (node->kind == NKI_NAME && node->context == NKI_STORE && str_equal(node->name.id, name))
            return nki_place_of(tree, node->start).line;
    }
    return 0;
}

void kept_end(struct interp *in) {
    struct nki_program *program = in->program;
    for (size_t i = 0; i < in->held.len && !program->kept; i++) {
        const struct held *held = &in->held.at[i];
        struct str name = held->unit->scope->slot_names.at[held->slot];
        if (digest_of(held->unit->globals.at[held->slot]) == held->digest)
            continue;
        program->kept = arena_strndup(program->arena, name.at, name.len);
        program->kept_line = held->unit->tree == in->tree ? line_of_name(in->tree, name) : 0;
    }
}

/* ---- bodies that are traced once ------------------------------------------------------------- */

/* Something that can change, and what it held. */
struct part {
    enum part_kind { PART_SLOTS, PART_LIST, PART_DICT, PART_ATTRS } kind;
    union {
        struct value *slots;
        struct value_seq *seq;
        struct value_dict *dict;
        struct attrs *attrs;
    };
    size_t n_slots;
    const struct scope *scope; /* of slots: their names */
    struct unit *unit;         /* whose globals the slots are, which may move; NULL: a frame's */
    struct str name;           /* of the slot that leads here */
    struct content {
        void *at;
        size_t n;
    } first, last; /* before the first round, after it */
};
struct interp_traced {
    struct part *parts;
    size_t n, round;
    bool changes, too_many;
    struct map seen; /* addresses of parts */
};

static size_t item_size(const struct part *part) {
    return part->kind == PART_DICT    ? sizeof(struct value_pair)
           : part->kind == PART_ATTRS ? sizeof(struct attr)
                                      : sizeof(struct value);
}

static struct value *slots_of(const struct part *part) {
    return part->unit ? part->unit->globals.at : part->slots;
}

static const void *items_of(const struct part *part, size_t *n) {
    switch (part->kind) {
    case PART_SLOTS: *n = part->n_slots; return slots_of(part);
    case PART_LIST: *n = part->seq->items.len; return part->seq->items.at;
    case PART_DICT: *n = part->dict->pairs.len; return part->dict->pairs.at;
    case PART_ATTRS: *n = part->attrs->len; return part->attrs->at;
    }
    return NULL;
}

static void save(const struct part *part, struct content *to) {
    const void *items = items_of(part, &to->n);
    to->at = mem_alloc(to->n + 1, item_size(part));
    if (to->n)
        memcpy(to->at, items, to->n * item_size(part));
}

static void put_back(struct interp *in, const struct part *part, const struct content *from) {
    switch (part->kind) {
    case PART_SLOTS:
        if (from->n)
            memcpy(slots_of(part), from->at, from->n * sizeof(struct value));
        return;
    case PART_LIST:
        part->seq->items.len = 0;
        for (size_t i = 0; i < from->n; i++)
            value_push(in, part->seq, ((const struct value *)from->at)[i]);
        return;
    case PART_DICT: value_dict_assign(in, part->dict, from->at, from->n); return;
    case PART_ATTRS:
        part->attrs->len = 0;
        for (size_t i = 0; i < from->n; i++) {
            const struct attr *attr = (const struct attr *)from->at + i;
            attrs_put(in, part->attrs, attr->name, attr->value);
        }
        return;
    }
}

static bool is_same_item(const struct part *part, const void *a, const void *b) {
    if (part->kind == PART_DICT)
        return value_same(((const struct value_pair *)a)->key,
                          ((const struct value_pair *)b)->key) &&
               value_same(((const struct value_pair *)a)->value,
                          ((const struct value_pair *)b)->value);
    if (part->kind == PART_ATTRS)
        return ((const struct attr *)a)->name == ((const struct attr *)b)->name &&
               value_same(((const struct attr *)a)->value, ((const struct attr *)b)->value);
    return value_same(*(const struct value *)a, *(const struct value *)b);
}

/* Whether the part holds something else than before the first round, and under which name. Globals
 * without a value may be builtins, which get theirs when they are first used. */
static bool has_changed(const struct part *part, struct str *name) {
    size_t n, size = item_size(part);
    const char *items = items_of(part, &n), *before = part->first.at;
    *name = part->name;
    if (n != part->first.n)
        return true;
    for (size_t i = 0; i < n; i++) {
        bool is_builtin = part->unit && is_unset(((const struct value *)part->first.at)[i]);
        if (is_builtin || is_same_item(part, items + i * size, before + i * size))
            continue;
        if (part->scope)
            *name = part->scope->slot_names.at[i];
        return true;
    }
    return false;
}

static void reach(struct interp_traced *traced, struct value value, struct str name, int depth);

static struct part *add_part(struct interp_traced *traced, struct part part, const void *address) {
    struct map_entry *entry =
        map_put(&traced->seen, (struct str){(const char *)&address, sizeof address});
    if (entry->value || traced->n == TRACED_PARTS) {
        traced->too_many |= !entry->value;
        return NULL;
    }
    entry->value = traced;
    struct part *added = &traced->parts[traced->n++];
    *added = part;
    save(added, &added->first);
    return added;
}

static void reach_slots(struct interp_traced *traced, struct part part, int depth) {
    part.n_slots = part.unit ? MIN_OF(part.unit->globals.len, part.scope->slot_names.len)
                             : part.scope->slot_names.len;
    if (!add_part(traced, part, slots_of(&part)))
        return;
    for (size_t i = 0; i < part.n_slots; i++)
        reach(traced, slots_of(&part)[i], part.scope->slot_names.at[i], depth + 1);
}

static void reach_function(struct interp_traced *traced, const struct value_function *function,
                           struct str name, int depth) {
    for (uint32_t i = 0; function->defaults && i < function->scope->n_params; i++)
        reach(traced, function->defaults[i], name, depth + 1);
    for (struct frame *at = function->closure; at && at->scope->kind == SCOPE_FUNCTION;
         at = at->outer)
        reach_slots(traced, (struct part){.slots = at->slots, .scope = at->scope}, depth);
}

static void reach_attrs(struct interp_traced *traced, struct attrs *attrs, struct str name,
                        int depth) {
    struct part part = {.kind = PART_ATTRS, .attrs = attrs, .name = name};
    if (!add_part(traced, part, attrs))
        return;
    for (uint32_t i = 0; i < attrs->len; i++)
        reach(traced, attrs->at[i].value, name, depth + 1);
}

static void reach_items(struct interp_traced *traced, struct value value, struct str name,
                        int depth) {
    struct part part = {.kind = PART_LIST, .seq = value.seq, .name = name};
    if (value.kind == VALUE_LIST && !add_part(traced, part, value.seq))
        return;
    for (size_t i = 0; i < value.seq->items.len; i++)
        reach(traced, value.seq->items.at[i], name, depth + 1);
}

static void reach_dict(struct interp_traced *traced, struct value_dict *dict, struct str name,
                       int depth) {
    struct part part = {.kind = PART_DICT, .dict = dict, .name = name};
    if (!add_part(traced, part, dict))
        return;
    for (size_t i = 0; i < dict->pairs.len; i++)
        reach(traced, dict->pairs.at[i].value, name, depth + 1);
}

static void reach(struct interp_traced *traced, struct value value, struct str name, int depth) {
    if (depth > KEPT_DEPTH || traced->too_many)
        return;
    switch (value.kind) {
    case VALUE_TUPLE:
    case VALUE_LIST: reach_items(traced, value, name, depth); return;
    case VALUE_DICT: reach_dict(traced, value.dict, name, depth); return;
    case VALUE_FUNCTION: reach_function(traced, value.function, name, depth); return;
    case VALUE_CLASS: reach_attrs(traced, &value.cls->attrs, name, depth); return;
    case VALUE_OBJECT: reach_attrs(traced, &value.object->attrs, name, depth); return;
    case VALUE_BOUND:
        reach(traced, value.bound->self, name, depth + 1);
        reach(traced, value.bound->callee, name, depth + 1);
        return;
    default: return;
    }
}

struct interp_traced *interp_traced_begin(struct interp *in, struct value body) {
    struct interp_traced *traced = mem_alloc(1, sizeof *traced);
    traced->parts = mem_alloc(TRACED_PARTS, sizeof *traced->parts);
    reach(traced, body, STR("the body"), 0);
    for (size_t i = 0; i < in->units.len; i++) {
        struct unit *unit = in->units.at[i];
        reach_slots(traced, (struct part){.unit = unit, .scope = unit->scope}, 0);
    }
    return traced;
}

static void restore(struct interp *in, struct interp_traced *traced, bool last) {
    for (size_t i = 0; traced->changes && i < traced->n; i++)
        put_back(in, &traced->parts[i], last ? &traced->parts[i].last : &traced->parts[i].first);
}

void interp_traced_round(struct interp *in, struct interp_traced *traced) {
    if (traced->round)
        restore(in, traced, false);
}

bool interp_traced_next(struct interp *in, struct interp_traced *traced, struct str *name) {
    if (traced->round++) {
        restore(in, traced, true);
        return false;
    }
    for (size_t i = 0; i < traced->n && !traced->changes && !traced->too_many; i++)
        traced->changes = has_changed(&traced->parts[i], name);
    for (size_t i = 0; traced->changes && i < traced->n; i++)
        save(&traced->parts[i], &traced->parts[i].last);
    return traced->changes;
}

void interp_traced_end(struct interp_traced *traced) {
    for (size_t i = 0; i < traced->n; i++) {
        free(traced->parts[i].first.at);
        free(traced->parts[i].last.at);
    }
    free(traced->parts);
    map_free(&traced->seen);
    free(traced);
}
