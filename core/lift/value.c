/* SPDX-License-Identifier: Apache-2.0 */
/* Forms, which say where elements lie, the table of values, what is put in the place of their
 * variables, and what alike ones have in common. */
#include "lift/private.h"

/* ---- forms -------------------------------------------------------------------------------------
 */

struct form form_number(int64_t at) {
    return (struct form){.at = at};
}

struct form form_var(int var, int64_t step) {
    struct form form = {0};
    if (step)
        form.term[form.count++] = (struct form_term){var, step};
    return form;
}

int64_t form_step(const struct form *form, int var) {
    for (int i = 0; i < form->count; i++)
        if (form->term[i].var == var)
            return form->term[i].step;
    return 0;
}

static bool add_term(struct form *to, int var, int64_t step) {
    int at = 0;
    while (at < to->count && to->term[at].var < var)
        at++;
    bool is_there = at < to->count && to->term[at].var == var;
    int64_t sum = (is_there ? to->term[at].step : 0) + step;
    if (is_there && sum) {
        to->term[at].step = sum;
    } else if (is_there) {
        memmove(&to->term[at], &to->term[at + 1], (size_t)(to->count - at - 1) * sizeof *to->term);
        to->term[--to->count] = (struct form_term){0};
    } else if (sum) {
        if (to->count == FORM_TERMS)
            return false;
        memmove(&to->term[at + 1], &to->term[at], (size_t)(to->count - at) * sizeof *to->term);
        to->term[at] = (struct form_term){var, sum};
        to->count++;
    }
    return true;
}

bool form_add(struct form *to, const struct form *from, int64_t times) {
    to->at += times * from->at;
    for (int i = 0; i < from->count; i++)
        if (!add_term(to, from->term[i].var, times * from->term[i].step))
            return false;
    return true;
}

/* False: too many terms; *made is a part of it. */
static bool form_swap(const struct form *form, const struct swap *swap, struct form *made) {
    *made = form_number(form->at);
    for (int i = 0; i < form->count; i++) {
        int var = form->term[i].var;
        struct form one = form_var(var, 1);
        if (!form_add(made, swap->mask >> var & 1 ? &swap->to[var] : &one, form->term[i].step))
            return false;
    }
    return true;
}

uint32_t form_keep(struct lift *l, const struct form *form) {
    /* Terms that are not there are zero, so that equal forms have equal bytes. */
    struct form clean;
    memset(&clean, 0, sizeof clean);
    clean.at = form->at;
    clean.count = form->count;
    for (int i = 0; i < form->count; i++) {
        clean.term[i].var = form->term[i].var;
        clean.term[i].step = form->term[i].step;
    }
    size_t size = offsetof(struct form, term) + (size_t)form->count * sizeof *form->term;
    uint64_t hash = hash_quick(&clean, size);
    size_t at = 0, row;
    while (by_hash_next(&l->form_index, hash, &at, &row))
        if (memcmp(&l->forms.at[row], &clean, size) == 0)
            return (uint32_t)row;
    *vec_push(&l->forms) = clean;
    by_hash_put(&l->form_index, hash, l->forms.len - 1);
    return (uint32_t)l->forms.len - 1;
}

/* ---- the table ---------------------------------------------------------------------------------
 */

struct value_key {
    uint64_t number;
    int64_t low, n;
    uint32_t form, place, a, b, c;
    uint8_t kind, func, dtype, height;
};

static struct value_key key_of(const struct value *value) {
    struct value_key key;
    memset(&key, 0, sizeof key);
    memcpy(&key.number, &value->number, sizeof key.number);
    key.low = value->low;
    key.n = value->n;
    key.form = value->form;
    key.place = value->place;
    key.a = value->a;
    key.b = value->b;
    key.c = value->c;
    key.kind = value->kind;
    key.func = value->func;
    key.dtype = value->dtype;
    return key;
}

static bool has_form(const struct value *value) {
    return value->kind == VALUE_PLACE || value->kind == VALUE_LEAF || value->kind == VALUE_OPAQUE ||
           value->kind == VALUE_SCAN || value->kind == VALUE_GATHER;
}

/* What a value is but for where it begins. */
static uint64_t alike_of(const struct lift *l, const struct value *value) {
    struct {
        struct value_key key;
        uint64_t in[3];
        struct form_term term[FORM_TERMS];
    } text;
    memset(&text, 0, sizeof text);
    text.key = key_of(value);
    text.key.form = text.key.a = text.key.b = text.key.c = 0;
    text.key.low = 0;
    if (value->kind == VALUE_NUMBER)
        text.key.number = 0;
    const value_id in[] = {value->a, value->b, value->c};
    for (int i = 0; i < 3; i++)
        text.in[i] = in[i] == VALUE_NONE ? 0 : value_of(l, in[i])->alike;
    const struct form *form = form_of(l, value->form);
    if (has_form(value))
        for (int i = 0; i < form->count; i++) {
            text.term[i].var = form->term[i].var;
            text.term[i].step = form->term[i].step;
        }
    if (value->kind == VALUE_PLACE && form->count == 0)
        text.key.kind = VALUE_NUMBER;
    return hash_quick(&text, sizeof text);
}

/* Depth of reductions, and free variables. */
static void measure(const struct lift *l, struct value *value) {
    const value_id in[] = {value->a, value->b, value->c};
    value->height = 0;
    value->free = 0;
    for (int i = 0; i < 3; i++)
        if (in[i] != VALUE_NONE) {
            const struct value *operand = value_of(l, in[i]);
            value->height = MAX_OF(value->height, operand->height);
            value->free |= operand->free;
        }
    if (value->kind == VALUE_REDUCE || value->kind == VALUE_SCAN) {
        value->free &= ~((uint64_t)1 << (LIFT_BOUND + value->height));
        value->height++;
    }
    const struct form *form = form_of(l, value->form);
    if (has_form(value))
        for (int i = 0; i < form->count; i++)
            value->free |= (uint64_t)1 << form->term[i].var;
}

value_id value_keep(struct lift *l, struct value value) {
    if (!has_form(&value))
        value.form = 0;
    struct value_key key = key_of(&value);
    uint64_t hash = hash_quick(&key, sizeof key);
    size_t at = 0, row;
    while (by_hash_next(&l->value_index, hash, &at, &row)) {
        struct value_key other = key_of(&l->values.at[row]);
        if (memcmp(&other, &key, sizeof key) == 0)
            return (value_id)row;
    }
    if (l->values.len >= l->max_values)
        l->limit = "different expressions of its tiles";
    measure(l, &value);
    value.alike = alike_of(l, &value);
    value.loc = l->loc;
    *vec_push(&l->values) = value;
    *vec_push(&l->memo) = (struct memo){0};
    by_hash_put(&l->value_index, hash, l->values.len - 1);
    return (value_id)l->values.len - 1;
}

bool value_is_number(const struct lift *l, value_id id, double number) {
    return value_of(l, id)->kind == VALUE_NUMBER && value_of(l, id)->number == number;
}

/* The same operation with other operands, of the line that it was made in first. */
static value_id again(struct lift *l, const struct value *from, const value_id in[3],
                      const struct form *form) {
    uint32_t loc = l->loc;
    l->loc = from->loc;
    value_id made = make_again(l, from, in, form);
    l->loc = loc;
    return made;
}

/* ---- putting forms in the place of variables ------------------------------------------------- */

static value_id swap_one(struct lift *l, value_id id, const struct swap *swap) {
    uint32_t stamp = l->stamp;
    if (!(value_of(l, id)->free & swap->mask))
        return id;
    if (l->memo.at[id].stamp == stamp)
        return l->memo.at[id].is;
    struct value value = *value_of(l, id);
    value_id in[3] = {value.a, value.b, value.c};
    for (int i = 0; i < 3; i++)
        if (in[i] != VALUE_NONE)
            in[i] = swap_one(l, in[i], swap);
    struct form form;
    if (!form_swap(form_of(l, value.form), swap, &form))
        l->limit = "loops around one element";
    value_id made = again(l, &value, in, &form);
    l->memo.at[id].stamp = stamp;
    l->memo.at[id].is = made;
    return made;
}

value_id value_swap(struct lift *l, value_id id, const struct swap *swap) {
    uint32_t before = l->stamp;
    l->stamp = ++l->last_stamp;
    value_id made = swap_one(l, id, swap);
    l->stamp = before;
    return made;
}

value_id value_set(struct lift *l, value_id id, int var, struct form to) {
    struct swap swap = {.mask = (uint64_t)1 << var};
    swap.to[var] = to;
    return value_swap(l, id, &swap);
}

/* ---- what alike values have in common -------------------------------------------------------- */

static value_id join_one(struct lift *l, value_id a, value_id b, int var);

static value_id join_numbers(struct lift *l, double a, double b, int var) {
    if (a != (double)(int64_t)a || b != (double)(int64_t)b || a == b)
        return VALUE_NONE;
    struct form form = form_var(var, (int64_t)b - (int64_t)a);
    form.at = (int64_t)a;
    return make_place(l, &form);
}

/* Reductions whose ranges begin elsewhere are counted from 0. */
static value_id join_reductions(struct lift *l, const struct value *a, const struct value *b,
                                int var) {
    int bound = LIFT_BOUND + a->height - 1;
    value_id body[2];
    const struct value *both[] = {a, b};
    for (int i = 0; i < 2; i++) {
        struct form from = form_var(bound, 1);
        from.at = both[i]->low;
        body[i] = a->low == b->low ? both[i]->a : value_set(l, both[i]->a, bound, from);
    }
    value_id joined = join_one(l, body[0], body[1], var);
    if (joined == VALUE_NONE)
        return joined;
    return make_bound(l, a, a->low == b->low ? a->low : 0, joined);
}

static bool join_forms(const struct lift *l, const struct value *a, const struct value *b, int var,
                       struct form *form) {
    const struct form *x = form_of(l, a->form), *y = form_of(l, b->form);
    *form = *x;
    if (x->count != y->count || memcmp(x->term, y->term, (size_t)x->count * sizeof *x->term) != 0)
        return false;
    struct form step = form_var(var, y->at - x->at);
    return form_add(form, &step, 1);
}

static value_id join_rows(struct lift *l, value_id a, value_id b, int var) {
    struct value x = *value_of(l, a), y = *value_of(l, b);
    value_id in[3] = {x.a, x.b, x.c}, other[3] = {y.a, y.b, y.c};
    struct form form;
    if (x.alike != y.alike)
        return VALUE_NONE;
    if (x.kind == VALUE_NUMBER && y.kind == VALUE_NUMBER)
        return join_numbers(l, x.number, y.number, var);
    if (x.kind != y.kind || !join_forms(l, &x, &y, var, &form) || x.height != y.height)
        return VALUE_NONE;
    if (x.kind == VALUE_REDUCE)
        return join_reductions(l, &x, &y, var);
    for (int i = 0; i < 3; i++) {
        if ((in[i] == VALUE_NONE) != (other[i] == VALUE_NONE))
            return VALUE_NONE;
        if (in[i] != VALUE_NONE && (in[i] = join_one(l, in[i], other[i], var)) == VALUE_NONE)
            return VALUE_NONE;
    }
    return again(l, &x, in, &form);
}

static value_id join_one(struct lift *l, value_id a, value_id b, int var) {
    uint32_t stamp = l->stamp;
    if (a == b)
        return a;
    if (l->memo.at[a].stamp == stamp && l->memo.at[a].beside == b)
        return l->memo.at[a].is;
    value_id made = join_rows(l, a, b, var);
    l->memo.at[a].stamp = stamp;
    l->memo.at[a].beside = b;
    l->memo.at[a].is = made;
    return made;
}

value_id value_join(struct lift *l, value_id a, value_id b, int var) {
    uint32_t before = l->stamp;
    if (value_of(l, a)->alike != value_of(l, b)->alike)
        return VALUE_NONE;
    l->stamp = ++l->last_stamp;
    value_id made = join_one(l, a, b, var);
    l->stamp = before;
    return made;
}
