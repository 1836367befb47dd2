/* SPDX-License-Identifier: Apache-2.0 */
/* The statements of a kernel, which of them reads what another wrote, and which of their tiles are
 * worth a look: those that somebody else reads. Of an accumulator only its last state is. */
#include "diagnose/private.h"

#include <stdlib.h>

#define WRITERS_MOST 16

/* Who wrote a storage so far. */
struct written {
    uint16_t by[WRITERS_MOST];
    uint16_t count;
    uint32_t last; /* instruction; UINT32_MAX */
};
struct survey {
    struct study *study;
    struct written *written; /* per storage */
    bool *seen;              /* per instruction: another statement reads what it wrote */
};

static size_t add_ap(struct operand_at *list, size_t n, size_t most, struct operand_at one) {
    if (n < most)
        list[n++] = one;
    if (n < most && one.ap->indirect && one.ap->indirect->index)
        list[n++] = (struct operand_at){one.ap->indirect->index, one.operand, false, true};
    return n;
}

size_t operands_of(const struct nki_program *program, const struct nki_instr *instr,
                   struct operand_at *list, size_t most) {
    (void)program;
    const struct nki_op_row *row = nki_op_row((enum nki_op)instr->op);
    size_t n = 0;
    for (size_t k = 0; k < instr->n_operands && k < row->n_params; k++) {
        const struct nki_operand *operand = &instr->operands[k];
        enum nki_role role = row->params[k].role;
        struct operand_at one = {operand->ap, k, nki_role_writes(role),
                                 nki_role_reads(role) || role == NKI_ROLE_UPDATES ||
                                     role == NKI_ROLE_PLAIN};
        if (one.writes && instr->more->mask)
            one.reads = true;
        if (operand->kind == NKI_OPERAND_AP)
            n = add_ap(list, n, most, one);
        for (uint32_t i = 0; operand->kind == NKI_OPERAND_APS && i < operand->n; i++) {
            one.ap = operand->aps[i];
            n = add_ap(list, n, most, one);
        }
    }
    return n;
}

const struct nki_loc *study_place(const struct study *study, const struct site *site) {
    return nki_loc_own(study->program, site->loc);
}

/* ---- sites ---------------------------------------------------------------------------------- */

/* Sites by place and kind, found from the last one made: most loops come back to one of the last.
 */
static uint32_t site_for(struct study *study, uint32_t *of_loc, const struct nki_instr *instr) {
    uint32_t s = of_loc[instr->loc];
    if (s != UINT32_MAX && study->sites.at[s].op == instr->op)
        return s;
    for (s = 0; s < study->sites.len; s++)
        if (study->sites.at[s].loc == instr->loc && study->sites.at[s].op == instr->op)
            break;
    if (s == study->sites.len)
        *vec_push(&study->sites) = (struct site){.loc = instr->loc,
                                                 .op = instr->op,
                                                 .array = -1,
                                                 .bad_line = UINT32_MAX,
                                                 .first = UINT32_MAX};
    of_loc[instr->loc] = s;
    return s;
}

static bool find_sites(struct study *study) {
    const struct nki_program *program = study->program;
    uint32_t *of_loc = ARENA_ARRAY(study->arena, uint32_t, program->locs.len + 1);
    for (size_t i = 0; i < program->locs.len; i++)
        of_loc[i] = UINT32_MAX;
    study->site_of = ARENA_ARRAY(study->arena, uint32_t, program->instrs.len + 1);
    for (size_t i = 0; i < program->instrs.len; i++) {
        if (program->instrs.at[i].loc >= program->locs.len)
            return false;
        uint32_t s = site_for(study, of_loc, &program->instrs.at[i]);
        if (s >= SITES_MOST)
            return false;
        study->site_of[i] = s;
        if (!study->sites.at[s].count++)
            study->sites.at[s].first = (uint32_t)i;
    }
    return true;
}

/* ---- who reads whom ------------------------------------------------------------------------- */

static void note_read(struct survey *survey, uint32_t site, const struct nki_ap *ap) {
    struct study *study = survey->study;
    const struct written *written = &survey->written[ap->storage];
    for (int i = 0; i < written->count; i++)
        study->follows[written->by[i] * study->words + site / 64] |= UINT64_C(1) << (site % 64);
    if (written->last != UINT32_MAX && study->site_of[written->last] != site)
        survey->seen[written->last] = true;
}

static void note_write(struct survey *survey, uint32_t instr, const struct nki_ap *ap) {
    struct written *written = &survey->written[ap->storage];
    uint16_t site = (uint16_t)survey->study->site_of[instr];
    bool there = false;
    for (int i = 0; i < written->count; i++)
        there = there || written->by[i] == site;
    if (!there && written->count < WRITERS_MOST)
        written->by[written->count++] = site;
    written->last = instr;
    if (survey->study->program->storages.at[ap->storage]->output >= 0)
        survey->study->sites.at[site].stores = true;
}

static void note_types(struct study *study, struct site *site, const struct operand_at *list,
                       size_t n) {
    size_t narrow = 0, wide = 0;
    (void)study;
    for (size_t k = 0; k < n; k++) {
        size_t bytes = dtype_bytes(list[k].ap->dtype);
        if (list[k].writes && !dtype_is_int(list[k].ap->dtype))
            narrow = bytes;
        else if (!list[k].writes && !dtype_is_int(list[k].ap->dtype))
            wide = MAX_OF(wide, bytes);
    }
    site->narrows = site->narrows || (narrow && narrow < wide);
}

static void note_instr(struct survey *survey, uint32_t i) {
    struct study *study = survey->study;
    uint32_t s = study->site_of[i];
    struct operand_at list[OPERANDS_MOST];
    size_t n = operands_of(study->program, &study->program->instrs.at[i], list, OPERANDS_MOST);
    for (size_t k = 0; k < n; k++)
        if (list[k].reads)
            note_read(survey, s, list[k].ap);
    for (size_t k = 0; k < n; k++) {
        if (!list[k].writes)
            continue;
        for (size_t other = 0; other < n; other++)
            if (list[other].reads && list[other].ap->storage == list[k].ap->storage &&
                study->program->storages.at[list[k].ap->storage]->input < 0)
                study->sites.at[s].accumulates = true;
        note_write(survey, i, list[k].ap);
    }
    note_types(study, &study->sites.at[s], list, n);
}

/* ---- what is looked at ---------------------------------------------------------------------- */

static bool is_seen(const struct survey *survey, uint32_t i) {
    const struct site *site = &survey->study->sites.at[survey->study->site_of[i]];
    return !site->accumulates || survey->seen[i];
}

/* The first and the last of the tiles, and some between. */
static void pick(struct survey *survey) {
    struct study *study = survey->study;
    study->is_seen = ARENA_ARRAY(study->arena, bool, study->program->instrs.len + 1);
    for (uint32_t i = 0; i < study->program->instrs.len; i++)
        study->is_seen[i] = is_seen(survey, i);
    uint32_t *passed = mem_alloc(study->sites.len + 1, sizeof *passed);
    for (uint32_t i = 0; i < study->program->instrs.len; i++)
        study->sites.at[study->site_of[i]].seen += is_seen(survey, i);
    for (uint32_t i = 0; i < study->program->instrs.len; i++) {
        struct site *site = &study->sites.at[study->site_of[i]];
        if (!is_seen(survey, i))
            continue;
        uint32_t number = passed[study->site_of[i]]++;
        uint64_t due = (uint64_t)site->pick_count * MAX_OF(site->seen - 1, 1u) / (PICKS_MOST - 1);
        if (site->pick_count < PICKS_MOST && number >= due)
            site->picks[site->pick_count++] = i;
    }
    free(passed);
}

bool survey(struct study *study) {
    const struct nki_program *program = study->program;
    if (program->instrs.len > DIAGNOSE_INSTRUCTIONS || program->folds.len || !program->instrs.len ||
        !find_sites(study))
        return false;
    struct survey survey = {.study = study};
    study->words = study->sites.len / 64 + 1;
    study->follows = ARENA_ARRAY(study->arena, uint64_t, study->words * study->sites.len);
    survey.written = mem_alloc(program->storages.len + 1, sizeof *survey.written);
    survey.seen = mem_alloc(program->instrs.len + 1, sizeof *survey.seen);
    for (size_t s = 0; s < program->storages.len; s++)
        survey.written[s].last = UINT32_MAX;
    for (uint32_t i = 0; i < program->instrs.len; i++)
        note_instr(&survey, i);
    pick(&survey);
    free(survey.written);
    free(survey.seen);
    return true;
}
