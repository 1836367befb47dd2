/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of elements of a tensor in HBM, as access patterns name them. */
#include "device/check/own.h"

/* One access, and what to do with its elements. */
struct visit {
    const struct check_elements *elements;
    enum { FINDS, ADDS, REMOVES } does;
    int64_t found; /* FINDS: the number of the first whose bit is set; -1 */
};

static void add_run(uint8_t *bits, int64_t from, int64_t to) {
    for (; from < to && from % 8; from++)
        bits[from / 8] |= (uint8_t)(1u << (from % 8));
    if (to - from >= 8)
        memset(bits + from / 8, 0xff, (size_t)(to - from) / 8);
    for (from += (to - from) / 8 * 8; from < to; from++)
        bits[from / 8] |= (uint8_t)(1u << (from % 8));
}

static void remove_run(uint8_t *bits, int64_t from, int64_t to) {
    for (; from < to && from % 8; from++)
        bits[from / 8] &= (uint8_t) ~(1u << (from % 8));
    if (to - from >= 8)
        memset(bits + from / 8, 0, (size_t)(to - from) / 8);
    for (from += (to - from) / 8 * 8; from < to; from++)
        bits[from / 8] &= (uint8_t) ~(1u << (from % 8));
}

static int64_t find_in_run(const uint8_t *bits, int64_t from, int64_t to) {
    for (; from < to; from++) {
        if (from % 8 == 0 && to - from >= 8 && !bits[from / 8])
            from += 7;
        else if (bits[from / 8] >> (from % 8) & 1)
            return from;
    }
    return -1;
}

/* False when one was found. */
static bool visit_run(struct visit *visit, int64_t at, int64_t n) {
    int64_t from = MAX_OF(at, 0), to = MIN_OF(at + n, visit->elements->n);
    if (from >= to)
        return true;
    if (visit->does == ADDS)
        add_run(visit->elements->bits, from, to);
    else if (visit->does == REMOVES)
        remove_run(visit->elements->bits, from, to);
    else
        visit->found = find_in_run(visit->elements->bits, from, to);
    return visit->found < 0;
}

/* The same for an access pattern, whose index of one dimension after the other runs. */
static bool visit_dims(struct visit *visit, const struct nki_ap *ap, int d, int64_t at) {
    int64_t size = (int64_t)dtype_bytes(ap->dtype), unit = (int64_t)visit->elements->size;
    if (d == ap->n_dims)
        return visit_run(visit, at * size / unit, MAX_OF(size / unit, 1));
    if (d == ap->n_dims - 1 && ap->step[d] == 1)
        return visit_run(visit, at * size / unit, (ap->count[d] * size + unit - 1) / unit);
    bool good = true;
    for (int32_t i = 0; good && i < (ap->step[d] ? ap->count[d] : 1); i++)
        good = visit_dims(visit, ap, d + 1, at + i * ap->step[d]);
    return good;
}

void check_elements_add(const struct check_elements *elements, const struct nki_ap *ap) {
    struct visit visit = {.elements = elements, .does = ADDS, .found = -1};
    (void)visit_dims(&visit, ap, 0, ap->offset);
}

int64_t check_elements_find(const struct check_elements *elements, const struct nki_ap *ap) {
    struct visit visit = {.elements = elements, .found = -1};
    (void)visit_dims(&visit, ap, 0, ap->offset);
    return visit.found;
}

void check_elements_remove(const struct check_elements *elements, const struct nki_ap *ap) {
    struct visit visit = {.elements = elements, .does = REMOVES, .found = -1};
    (void)visit_dims(&visit, ap, 0, ap->offset);
}

bool check_elements_none(const struct check_elements *elements) {
    return find_in_run(elements->bits, 0, elements->n) < 0;
}

void check_print_element(const struct nki_storage *storage, int64_t at, struct buf *out) {
    int64_t index[ARRAY_MAX_DIMS] = {0};
    for (int d = storage->n_dims - 1; d >= 0; d--) {
        index[d] = d ? at % MAX_OF(storage->shape[d], 1) : at;
        at /= MAX_OF(storage->shape[d], 1);
    }
    buf_printf(out, "`%s[", storage->name);
    for (int d = 0; d < storage->n_dims; d++)
        buf_printf(out, "%s%lld", d ? ", " : "", (long long)index[d]);
    buf_puts(out, "]`");
}
