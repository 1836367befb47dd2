/* SPDX-License-Identifier: Apache-2.0 */
/* Whole numbers that depend on variables: places of elements, positions, conditions. */
#include "lift/private.h"

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

struct form form_swap(const struct form *form, const struct swap *swap) {
    struct form made = form_number(form->at);
    for (int i = 0; i < form->count; i++) {
        int var = form->term[i].var;
        struct form one = form_var(var, 1);
        if (!form_add(&made, swap->mask >> var & 1 ? &swap->to[var] : &one, form->term[i].step))
            HONE_BUG("an address has too many variables");
    }
    return made;
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
