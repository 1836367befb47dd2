/* SPDX-License-Identifier: Apache-2.0 */
/* Values: making, comparing and hashing them, growing containers. Containers are in the heap of the
 * specialisation. Texts are in the program's arena, because the program may keep them. Operators
 * with their errors are in interp_ops.c, texts of values in value_format.c. */
#include "nki/python/inner.h"

#include <math.h>

#define MAX_COMPARE_DEPTH 50
#define MAX_HASHED_TEXT 4096 /* characters of one string */
#define MAX_HASHED 1000      /* items of one value, with those inside its items */

struct value value_string(struct interp *in, struct str text) {
    struct arena *arena = interp_arena(in);
    struct value_str *str = arena_alloc(arena, 1, sizeof *str + text.len + 1);
    char *at = (char *)(str + 1);
    if (text.len)
        memcpy(at, text.at, text.len);
    interp_grew(in, GROWN_TEXTS, text.len, sizeof *str + text.len + 1);
    *str = (struct value_str){text.len, at};
    return (struct value){.kind = VALUE_STR, .str = str};
}

struct value value_text(struct interp *in, const char *format, ...) {
    struct buf buf = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&buf, format, args);
    va_end(args);
    return value_take(in, &buf);
}

struct value value_take(struct interp *in, struct buf *buf) {
    struct value value = value_string(in, buf_str(buf));
    buf_free(buf);
    return value;
}

struct value_seq *seq_new(struct interp *in, size_t n) {
    struct value_seq *seq = arena_alloc(in->heap, 1, sizeof *seq + n * sizeof(struct value));
    interp_grew(in, GROWN_LISTS, n, sizeof *seq + n * sizeof(struct value));
    seq->items.at = (struct value *)(seq + 1);
    seq->items.len = seq->items.cap = n;
    return seq;
}

static struct value sequence(struct interp *in, enum value_kind kind, const struct value *items,
                             size_t n) {
    struct value_seq *seq = seq_new(in, n);
    if (n)
        memcpy(seq->items.at, items, n * sizeof *items);
    return (struct value){.kind = kind, .seq = seq};
}

struct value value_tuple(struct interp *in, const struct value *items, size_t n) {
    return sequence(in, VALUE_TUPLE, items, n);
}

struct value value_list(struct interp *in, const struct value *items, size_t n) {
    return sequence(in, VALUE_LIST, items, n);
}

void value_push(struct interp *in, struct value_seq *seq, struct value item) {
    if (seq->items.len == seq->items.cap) {
        size_t cap = seq->items.cap * 2 + 4;
        struct value *grown = ARENA_ARRAY(in->heap, struct value, cap);
        if (seq->items.len)
            memcpy(grown, seq->items.at, seq->items.len * sizeof *grown);
        interp_grew(in, GROWN_LISTS, seq->items.len, cap * sizeof *grown);
        seq->items.at = grown;
        seq->items.cap = cap;
    }
    seq->items.at[seq->items.len++] = item;
}

struct value value_range_of(struct interp *in, int64_t start, int64_t stop, int64_t step) {
    struct value_range *range = ARENA_NEW(in->heap, struct value_range);
    *range = (struct value_range){.start = start, .stop = stop, .step = step};
    return (struct value){.kind = VALUE_RANGE, .range = range};
}

struct value value_bind(struct interp *in, struct value self, const struct value_native *native) {
    struct value_bound *bound = ARENA_NEW(in->heap, struct value_bound);
    *bound = (struct value_bound){self, {.kind = VALUE_NATIVE, .native = native}};
    return (struct value){.kind = VALUE_BOUND, .bound = bound};
}

/* ---- equality and hashes -------------------------------------------------------------------- */

bool value_same(struct value a, struct value b) {
    if (a.kind != b.kind)
        return false;
    switch (a.kind) {
    case VALUE_NONE:
    case VALUE_ELLIPSIS: return true;
    case VALUE_BOOL: return a.b == b.b;
    case VALUE_FLOAT: return a.f == b.f;
    case VALUE_STR: return str_equal(text_of(a), text_of(b));
    case VALUE_BOUND:
        return value_same(a.bound->self, b.bound->self) &&
               value_same(a.bound->callee, b.bound->callee);
    case VALUE_ENUM:
        return a.enumeration == b.enumeration ||
               (strcmp(a.enumeration->type, b.enumeration->type) == 0 &&
                strcmp(a.enumeration->member, b.enumeration->member) == 0);
    default: return a.i == b.i; /* numbers and pointers alike */
    }
}

static bool equal_at(struct interp *in, struct value a, struct value b, int depth);

static bool equal_items(struct interp *in, const struct value_seq *a, const struct value_seq *b,
                        int depth) {
    if (a->items.len != b->items.len)
        return false;
    for (size_t i = 0; i < a->items.len; i++)
        if (!equal_at(in, a->items.at[i], b->items.at[i], depth))
            return false;
    return true;
}

static bool equal_dicts(struct interp *in, const struct value_dict *a, const struct value_dict *b,
                        int depth) {
    if (a->pairs.len != b->pairs.len || a->is_set != b->is_set)
        return false;
    for (size_t i = 0; i < a->pairs.len; i++) {
        const struct value_pair *other = value_dict_find(in, b, a->pairs.at[i].key);
        if (!other || !equal_at(in, a->pairs.at[i].value, other->value, depth))
            return false;
    }
    return true;
}

static bool equal_ranges(const struct value_range *a, const struct value_range *b) {
    int64_t length = range_length(a);
    return length == range_length(b) && (length == 0 || a->start == b->start) &&
           (length <= 1 || a->step == b->step);
}

/* Up to NKI 0.6 the compiler compares NKIObjects by what they hold; since 0.7 Python does. */
static bool equal_contents(struct interp *in, const struct value_object *a,
                           const struct value_object *b, int depth) {
    if (a->attrs.len != b->attrs.len)
        return false;
    for (uint32_t i = 0; i < a->attrs.len; i++) {
        const struct value *other = attrs_find(&b->attrs, a->attrs.at[i].name);
        if (!other || !equal_at(in, a->attrs.at[i].value, *other, depth))
            return false;
    }
    return true;
}

static bool equal_objects(struct interp *in, const struct value_object *a,
                          const struct value_object *b, int depth) {
    if (a == b || a->cls != b->cls)
        return a == b;
    if (a->cls->form == CLASS_TUPLE)
        return equal_at(in, a->inner, b->inner, depth);
    if (a->cls->generated && !a->cls->is_data && interp_rule(in, NKI_RULE_SUBSET))
        return equal_contents(in, a, b, depth);
    for (size_t i = 0; a->cls->is_data && i < a->cls->fields.len; i++) {
        const struct value *mine = attrs_find(&a->attrs, a->cls->fields.at[i].name);
        const struct value *other = attrs_find(&b->attrs, a->cls->fields.at[i].name);
        if (!mine || !other || !equal_at(in, *mine, *other, depth))
            return false;
    }
    return a->cls->is_data;
}

static bool equal_mixed(struct interp *in, struct value a, struct value b, int depth) {
    if (is_number(a) && is_number(b)) {
        if (a.kind == VALUE_FLOAT || b.kind == VALUE_FLOAT)
            return number_of(a) == number_of(b);
        return integer_of(a) == integer_of(b);
    }
    if (a.kind == VALUE_OBJECT && (a.object->cls->is_int || b.kind == VALUE_TUPLE) &&
        b.kind != VALUE_OBJECT)
        return equal_at(in, a.object->inner, b, depth);
    if (b.kind == VALUE_OBJECT && (b.object->cls->is_int || a.kind == VALUE_TUPLE) &&
        a.kind != VALUE_OBJECT)
        return equal_at(in, a, b.object->inner, depth);
    return false;
}

static bool equal_at(struct interp *in, struct value a, struct value b, int depth) {
    if (depth > 0 && in->steps++ > in->max_steps)
        return false; /* a value shared often enough has no end; the next step reports it */
    if (a.kind != b.kind)
        return depth < MAX_COMPARE_DEPTH && equal_mixed(in, a, b, depth + 1);
    if (depth >= MAX_COMPARE_DEPTH)
        return value_same(a, b);
    switch (a.kind) {
    case VALUE_TUPLE:
    case VALUE_LIST: return a.seq == b.seq || equal_items(in, a.seq, b.seq, depth + 1);
    case VALUE_DICT: return a.dict == b.dict || equal_dicts(in, a.dict, b.dict, depth + 1);
    case VALUE_RANGE: return equal_ranges(a.range, b.range);
    case VALUE_SLICE:
        return equal_at(in, a.slice->start, b.slice->start, depth + 1) &&
               equal_at(in, a.slice->stop, b.slice->stop, depth + 1) &&
               equal_at(in, a.slice->step, b.slice->step, depth + 1);
    case VALUE_OBJECT: return equal_objects(in, a.object, b.object, depth + 1);
    case VALUE_STR:
        if (a.str == b.str)
            return true;
        in->steps += MIN_OF(a.str->len, b.str->len) / TEXT_STEP;
        return value_same(a, b);
    default: return value_same(a, b);
    }
}

bool value_equal(struct interp *in, struct value a, struct value b) {
    return equal_at(in, a, b, 0);
}

static uint64_t mix(uint64_t x) {
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdULL;
    x ^= x >> 33;
    return x;
}

/* Hashes only the first items and characters. Equal values have equal first ones. */
static uint64_t hash_at(struct value v, int depth, int *left) {
    switch (v.kind) {
    case VALUE_NONE:
    case VALUE_ELLIPSIS: return v.kind;
    case VALUE_BOOL:
    case VALUE_INT: return mix((uint64_t)integer_of(v));
    case VALUE_FLOAT:
        if (v.f == floor(v.f) && fabs(v.f) < 9e18)
            return mix((uint64_t)(int64_t)v.f);
        return hash_quick(&v.f, sizeof v.f);
    case VALUE_STR: return hash_quick(v.str->at, MIN_OF(v.str->len, MAX_HASHED_TEXT)) ^ v.str->len;
    case VALUE_TUPLE: {
        uint64_t hash = v.seq->items.len;
        for (size_t i = 0; i < v.seq->items.len && depth < MAX_COMPARE_DEPTH && (*left)-- > 0; i++)
            hash = mix(hash * 31 + hash_at(v.seq->items.at[i], depth + 1, left));
        return hash;
    }
    case VALUE_OBJECT:
        if (v.object->cls->is_int || v.object->cls->form == CLASS_TUPLE)
            return hash_at(v.object->inner, depth + 1, left);
        return v.object->cls->is_data ? mix((uintptr_t)v.object->cls) : mix((uintptr_t)v.object);
    case VALUE_ENUM: return mix((uint64_t)v.enumeration->number);
    case VALUE_RANGE:
    case VALUE_SLICE:
    case VALUE_BOUND: return v.kind;
    default: return mix((uint64_t)v.i);
    }
}

uint64_t value_hash(struct value value) {
    int left = MAX_HASHED;
    return hash_at(value, 0, &left);
}

/* ---- dicts ---------------------------------------------------------------------------------- */

struct value value_new_dict(struct interp *in) {
    return (struct value){.kind = VALUE_DICT, .dict = ARENA_NEW(in->heap, struct value_dict)};
}

/* Small dicts are searched in order. Larger ones have a table of pair numbers. */
#define DICT_SMALL 8

static void dict_index(struct value_dict *dict, size_t pair) {
    size_t mask = dict->n_slots - 1;
    size_t slot = (size_t)value_hash(dict->pairs.at[pair].key) & mask;
    while (dict->slots[slot])
        slot = (slot + 1) & mask;
    dict->slots[slot] = (uint32_t)(pair + 1);
}

static void dict_rebuild(struct value_dict *dict) {
    if (dict->n_slots)
        memset(dict->slots, 0, dict->n_slots * sizeof *dict->slots);
    for (size_t i = 0; i < dict->pairs.len && dict->n_slots; i++)
        dict_index(dict, i);
}

struct value_pair *value_dict_find(struct interp *in, const struct value_dict *dict,
                                   struct value key) {
    if (!dict->n_slots) {
        for (size_t i = 0; i < dict->pairs.len; i++)
            if (value_equal(in, dict->pairs.at[i].key, key))
                return &dict->pairs.at[i];
        return NULL;
    }
    size_t mask = dict->n_slots - 1;
    for (size_t slot = (size_t)value_hash(key) & mask; dict->slots[slot];
         slot = (slot + 1) & mask) {
        struct value_pair *pair = &dict->pairs.at[dict->slots[slot] - 1];
        if (value_equal(in, pair->key, key))
            return pair;
    }
    return NULL;
}

static void dict_grow(struct interp *in, struct value_dict *dict) {
    size_t cap = dict->pairs.cap ? dict->pairs.cap * 2 : 4;
    struct value_pair *grown = ARENA_ARRAY(in->heap, struct value_pair, cap);
    if (dict->pairs.len)
        memcpy(grown, dict->pairs.at, dict->pairs.len * sizeof *grown);
    interp_count(in, cap * 2);
    interp_grew(in, GROWN_DICTS, dict->pairs.len,
                cap * (sizeof *grown + (cap > DICT_SMALL ? 2 * sizeof *dict->slots : 0)));
    dict->pairs.at = grown;
    dict->pairs.cap = cap;
    if (cap <= DICT_SMALL)
        return;
    dict->n_slots = cap * 2;
    dict->slots = ARENA_ARRAY(in->heap, uint32_t, dict->n_slots);
    dict_rebuild(dict);
}

void value_dict_put(struct interp *in, struct value_dict *dict, struct value key,
                    struct value item) {
    struct value_pair *found = value_dict_find(in, dict, key);
    if (found) {
        found->value = item;
        return;
    }
    if (dict->pairs.len == dict->pairs.cap)
        dict_grow(in, dict);
    dict->pairs.at[dict->pairs.len++] = (struct value_pair){key, item};
    if (dict->n_slots)
        dict_index(dict, dict->pairs.len - 1);
}

void value_dict_assign(struct interp *in, struct value_dict *dict, const struct value_pair *pairs,
                       size_t n) {
    dict->pairs.len = 0;
    while (dict->pairs.cap < n)
        dict_grow(in, dict);
    for (size_t i = 0; i < n; i++)
        dict->pairs.at[i] = pairs[i];
    dict->pairs.len = n;
    dict_rebuild(dict);
}

bool value_dict_remove(struct interp *in, struct value_dict *dict, struct value key) {
    struct value_pair *found = value_dict_find(in, dict, key);
    if (!found)
        return false;
    size_t at = (size_t)(found - dict->pairs.at);
    dict->pairs.len--;
    memmove(found, found + 1, (dict->pairs.len - at) * sizeof *found);
    dict_rebuild(dict);
    interp_count(in, dict->pairs.len / 4);
    return true;
}

const char *value_type_name(struct value value) {
    static const char *const names[VALUE_KIND_COUNT] = {
        [VALUE_NONE] = "None",
        [VALUE_BOOL] = "bool",
        [VALUE_INT] = "int",
        [VALUE_FLOAT] = "float",
        [VALUE_STR] = "str",
        [VALUE_ELLIPSIS] = "ellipsis",
        [VALUE_SLICE] = "slice",
        [VALUE_TUPLE] = "tuple",
        [VALUE_LIST] = "list",
        [VALUE_DICT] = "dict",
        [VALUE_RANGE] = "range",
        [VALUE_FUNCTION] = "function",
        [VALUE_CLASS] = "class",
        [VALUE_OBJECT] = "object",
        [VALUE_BOUND] = "method",
        [VALUE_NATIVE] = "builtin",
        [VALUE_MODULE] = "module",
        [VALUE_DTYPE] = "dtype",
        [VALUE_FUNC] = "operator",
        [VALUE_ENUM] = "enum member",
        [VALUE_TENSOR] = "tensor",
        [VALUE_INDEX] = "index expression",
        [VALUE_REGISTER] = "register",
        [VALUE_HOST] = "numpy array",
        [VALUE_GRID] = "grid of tiles",
        [VALUE_INSTRUCTION] = "NkiInstruction",
    };
    if (value.kind == VALUE_OBJECT)
        return value.object->cls->name;
    if (value.kind == VALUE_DICT && value.dict->is_set)
        return "set";
    return value.kind < VALUE_KIND_COUNT ? names[value.kind] : "nothing";
}
