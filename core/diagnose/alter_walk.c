/* SPDX-License-Identifier: Apache-2.0 */
/* The tiles of an operand in another order: where they lie, round for round, is read as steps of
 * the loops around the statement; other steps are tried, a step in the other direction, none, and
 * the steps of two loops exchanged. How many rounds loops have is seen in the walks of statements
 * that run as often, and in how often others run. */
#include "diagnose/alter.h"

#include <stdio.h>
#include <stdlib.h>

#define BY_MOST 24 /* steps that are tried for a loop */

struct offsets {
    int64_t *at;
    uint32_t n;
};

static const struct nki_ap *operand_ap(const struct altering *altering, size_t s, size_t k,
                                       uint32_t round) {
    const struct nki_instr *instr =
        &altering->study->program->instrs.at[altering->instrs[altering->first_of[s] + round]];
    bool there = k < instr->n_operands && instr->operands[k].kind == NKI_OPERAND_AP &&
                 !instr->operands[k].ap->indirect;
    return there ? instr->operands[k].ap : NULL;
}

/* False: in some round there is no such tile. */
static bool read_offsets(const struct altering *altering, size_t s, size_t k, struct offsets *to) {
    uint32_t n = altering->study->sites.at[s].count;
    for (to->n = 0; to->n < n; to->n++) {
        const struct nki_ap *ap = operand_ap(altering, s, k, to->n);
        if (!ap)
            return false;
        to->at[to->n] = ap->offset;
    }
    return true;
}

/* ---- loops ---------------------------------------------------------------------------------- */

/* Rounds after which something changes; sorted, each a divisor of the next. */
struct marks {
    int64_t at[16];
    int n;
};

static void add_mark(struct marks *marks, int64_t mark) {
    int i = 0;
    while (i < marks->n && marks->at[i] < mark)
        i++;
    if (i == marks->n || marks->at[i] == mark || marks->n == (int)COUNT_OF(marks->at) ||
        marks->at[i] % mark || (i && mark % marks->at[i - 1]))
        return;
    for (int k = marks->n++; k > i; k--)
        marks->at[k] = marks->at[k - 1];
    marks->at[i] = mark;
}

/* Where a walk does not go on by the step it began with. */
static void marks_of_walk(struct marks *marks, const struct offsets *offsets) {
    for (int64_t per = 1; per < offsets->n;) {
        int64_t step = offsets->at[per] - offsets->at[0], r = per;
        while (r < offsets->n && offsets->at[r] - offsets->at[r - per] == step)
            r += per;
        if (r >= offsets->n || offsets->n % r)
            return;
        add_mark(marks, r);
        per = r;
    }
}

static void find_marks(const struct altering *altering, size_t s, struct marks *marks) {
    const struct study *study = altering->study;
    uint32_t count = study->sites.at[s].count;
    struct offsets offsets = {mem_alloc(count + 1, sizeof *offsets.at), 0};
    *marks = (struct marks){{1, count}, count > 1 ? 2 : 1};
    for (size_t other = 0; other < study->sites.len; other++) {
        const struct site *site = &study->sites.at[other];
        const struct nki_instr *instr = &study->program->instrs.at[site->first];
        for (size_t k = 0; site->count == count && k < instr->n_operands; k++)
            if (read_offsets(altering, other, k, &offsets))
                marks_of_walk(marks, &offsets);
    }
    for (size_t other = 0; other < study->sites.len; other++)
        if (study->sites.at[other].count < count && count % study->sites.at[other].count == 0)
            add_mark(marks, count / study->sites.at[other].count);
    free(offsets.at);
}

static int64_t walk_at(const struct walk *walk, int64_t round) {
    int64_t at = walk->base;
    for (int d = 0; d < walk->n; d++)
        at += walk->by[d] * (round / walk->per[d] % walk->times[d]);
    return at;
}

/* False: the tiles do not lie so. */
static bool find_walk(const struct altering *altering, size_t s, size_t k, struct walk *walk) {
    struct marks marks;
    uint32_t count = altering->study->sites.at[s].count;
    struct offsets offsets = {mem_alloc(count + 1, sizeof *offsets.at), 0};
    find_marks(altering, s, &marks);
    bool fits = marks.n - 1 <= DIGITS_MOST && read_offsets(altering, s, k, &offsets);
    *walk = (struct walk){.base = fits ? offsets.at[0] : 0};
    for (int d = 0; fits && d + 1 < marks.n; d++) {
        walk->per[d] = marks.at[d];
        walk->times[d] = marks.at[d + 1] / marks.at[d];
        walk->by[d] = offsets.at[marks.at[d]] - offsets.at[0];
        walk->n++;
    }
    for (uint32_t r = 0; fits && r < count; r++)
        fits = offsets.at[r] == walk_at(walk, r);
    free(offsets.at);
    return fits;
}

static bool goes_back(const struct walk *walk) {
    bool back = false;
    for (int d = 0; d < walk->n; d++)
        back = back || walk->by[d] < 0;
    return back;
}

/* ---- places by number ----------------------------------------------------------------------- */

/* Masks and numberings by place say with an offset which row of the whole a tile begins at. */
static bool set_place(struct altering *altering, struct nki_instr *instr,
                      struct nki_operand *operands, const struct change_of *how, uint32_t round) {
    (void)altering, (void)instr;
    struct nki_operand *operand = &operands[how->operand];
    int64_t is = operand->kind == NKI_OPERAND_INT ? operand->i : 0;
    *operand = (struct nki_operand){.kind = NKI_OPERAND_INT,
                                    .i = how->walk ? walk_at(how->walk, round) : is + how->by};
    return true;
}

static void try_place(struct altering *altering, size_t s, size_t k, const struct walk *walk) {
    struct change_of how = {.operand = k, .walk = walk};
    if (walk->by[0] && alter_try(altering, s, set_place, &how, 0))
        alter_mend(altering, s, LIKELY_SAID, "with an offset that goes on by %lld each %s%s",
                   (long long)walk->by[0], walk->per[0] > 1 ? "few rounds" : "round",
                   goes_back(walk) ? ", backwards" : "");
}

void alter_place(struct altering *altering, size_t s, size_t k, const struct nki_ap *dst) {
    const struct nki_instr *instr =
        &altering->study->program->instrs.at[altering->study->sites.at[s].first];
    const struct nki_operand *operand = &instr->operands[k];
    struct marks marks;
    for (int by = -1; by <= 1; by += 2) {
        struct change_of how = {.operand = k, .by = by};
        if (alter_try(altering, s, set_place, &how, 0))
            alter_mend(altering, s, LIKELY_NUMBER, "with an offset that is %s by 1",
                       by < 0 ? "smaller" : "larger");
    }
    find_marks(altering, s, &marks);
    for (int d = 0; d + 1 < marks.n; d++)
        for (int dim = 0; dim < dst->n_dims; dim++)
            for (int sign = 1; sign >= -1; sign -= 2) {
                struct walk walk = {.n = 1,
                                    .base = operand->kind == NKI_OPERAND_INT ? operand->i : 0,
                                    .by = {sign * dst->count[dim]},
                                    .per = {marks.at[d]},
                                    .times = {marks.at[d + 1] / marks.at[d]}};
                try_place(altering, s, k, &walk);
            }
}

/* ---- other walks ---------------------------------------------------------------------------- */

static bool set_walk(struct altering *altering, struct nki_instr *instr,
                     struct nki_operand *operands, const struct change_of *how, uint32_t round) {
    (void)instr;
    if (operands[how->operand].kind != NKI_OPERAND_AP)
        return false;
    struct nki_ap *ap =
        arena_dup(altering->arena, operands[how->operand].ap, sizeof(struct nki_ap));
    ap->offset = walk_at(how->walk, round);
    operands[how->operand].ap = ap;
    return alter_fits(altering, ap);
}

/* Steps back from the base: a walk begins where its lowest tile stays in place. */
static int64_t back(int64_t by, int64_t times) {
    return MIN_OF(by, (int64_t)0) * (times - 1);
}

/* Loops run forwards as a rule: of two walks that would be right, one that goes back is less likely
 * meant. */
static void try_walk(struct altering *altering, size_t s, size_t k, const struct walk *walk,
                     const char *name) {
    struct change_of how = {.operand = k, .walk = walk};
    if (!alter_try(altering, s, set_walk, &how, 0))
        return;
    char at[100] = "";
    size_t used = 0, rounds = altering->study->sites.at[s].count;
    for (size_t r = 0; r < MIN_OF(rounds, (size_t)4); r++)
        used += (size_t)snprintf(at + used, sizeof at - used, "%s%lld", r ? ", " : "",
                                 (long long)walk_at(walk, (int64_t)r));
    alter_mend(altering, s, goes_back(walk) ? LIKELY_UNSAID : LIKELY_SAID,
               "with the tiles of %s at elements %s%s", name, at, rounds > 4 ? ", .." : "");
}

static size_t add_by(int64_t *list, size_t n, int64_t by) {
    for (size_t i = 0; i < n; i++)
        if (list[i] == by)
            return n;
    if (n < BY_MOST)
        list[n++] = by;
    return n;
}

/* Steps that a loop may take: none, the other way, the tile's own extents, those of other loops. */
static size_t steps_for(const struct walk *walk, int d, const struct nki_ap *ap, bool on_chip,
                        int64_t *list) {
    size_t n = add_by(list, 0, walk->by[d]); /* what it does now, first */
    n = add_by(list, n, -walk->by[d]);
    n = add_by(list, n, 0);
    for (int dim = on_chip ? 1 : 0; dim < ap->n_dims; dim++) {
        n = add_by(list, n, ap->step[dim] * ap->count[dim]);
        n = add_by(list, n, ap->step[dim]);
    }
    for (int other = 0; other < walk->n; other++)
        n = add_by(list, n, walk->by[other]);
    return n;
}

void alter_walk(struct altering *altering, size_t s, size_t k, const char *name) {
    struct walk walk;
    const struct nki_ap *ap = operand_ap(altering, s, k, 0);
    if (!ap || altering->study->sites.at[s].count < 2 || !find_walk(altering, s, k, &walk))
        return;
    bool on_chip = altering->study->program->storages.at[ap->storage]->space != NKI_HBM;
    for (int d = 0; d < walk.n; d++) {
        int64_t list[BY_MOST];
        size_t n = steps_for(&walk, d, ap, on_chip, list);
        for (size_t i = 1; i < n; i++) {
            struct walk other = walk;
            other.by[d] = list[i];
            other.base += back(walk.by[d], walk.times[d]) - back(list[i], walk.times[d]);
            try_walk(altering, s, k, &other, name);
        }
    }
    for (int d = 0; d < walk.n; d++)
        for (int e = d + 1; e < walk.n; e++) {
            struct walk other = walk;
            other.by[d] = walk.by[e];
            other.by[e] = walk.by[d];
            if (other.by[d] != other.by[e])
                try_walk(altering, s, k, &other, name);
        }
}
