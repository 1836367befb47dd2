/* SPDX-License-Identifier: Apache-2.0 */
/* Small changes of suspected statements, tried out: another operator, number, flag or tile, another
 * part of a tensor, a statement left out. One that makes the outputs right shows where the fault is
 * and how it can be mended; of the reference nothing has to be known for that but its outputs. What
 * is changed are all instructions of a statement together. */
#include "diagnose/alter.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIED_SITES 48
#define MENDS_MOST 12
#define TRIED_AFTER 200 /* the first that makes the outputs right, and as many as before it */

/* ---- one try -------------------------------------------------------------------------------- */

bool alter_try(struct altering *altering, size_t s, alter_fn *fn, const struct change_of *how,
               uint32_t keep) {
    struct study *study = altering->study;
    altering->mended = false;
    if (altering->mends >= MENDS_MOST || altering->tried >= altering->most || study_is_late(study))
        return false;
    arena_reset(altering->arena);
    struct nki_program program = *study->program;
    program.instrs.at = ARENA_ARRAY(altering->arena, struct nki_instr, program.instrs.len + 1);
    program.instrs.len = 0;
    uint32_t round = 0;
    for (uint32_t i = 0; i < study->program->instrs.len; i++) {
        struct nki_instr *instr = &program.instrs.at[program.instrs.len++];
        *instr = study->program->instrs.at[i];
        if (study->site_of[i] != s)
            continue;
        if (!fn && round++ >= keep) {
            program.instrs.len--;
            continue;
        }
        struct nki_operand *operands =
            arena_dup(altering->arena, instr->operands, instr->n_operands * sizeof *operands);
        instr->operands = operands;
        altering->at = i;
        if (fn && !fn(altering, instr, operands, how, round++))
            return false;
    }
    altering->tried++;
    altering->mended = judge_is_right(altering->judge, &program, study->sites.at[s].stores);
    return altering->mended;
}

void alter_mend(struct altering *altering, size_t s, enum likely likely, const char *format, ...) {
    struct site *site = &altering->study->sites.at[s];
    va_list args;
    char what[200];
    /* What makes right tiles wrong is likelier than what makes right ones. Of equals the first in
     * the program: what comes later only undoes it. */
    bool makes_right = site->standing == STANDING_RIGHT && site->is_plain && !site->is_idle;
    double weight = 300 + 10 * (double)likely - (makes_right ? 5 : 0) -
                    (double)site->first / (double)altering->study->program->instrs.len;
    altering->most = MIN_OF(altering->most, altering->tried * 2 + TRIED_AFTER);
    altering->mends++;
    if (site->weight >= weight)
        return;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    snprintf(site->reason, sizeof site->reason, "tried out: the outputs are right %s (%s)", what,
             nki_op_name((enum nki_op)site->op));
    site->weight = weight;
}

/* ---- operators, flags, numbers -------------------------------------------------------------- */

static bool set_func(struct altering *altering, struct nki_instr *instr,
                     struct nki_operand *operands, const struct change_of *how, uint32_t round) {
    (void)altering, (void)instr, (void)round;
    operands[how->operand].i = (int64_t)how->other;
    return true;
}

static bool set_flag(struct altering *altering, struct nki_instr *instr,
                     struct nki_operand *operands, const struct change_of *how, uint32_t round) {
    (void)altering, (void)instr, (void)round;
    operands[how->operand] = (struct nki_operand){.kind = NKI_OPERAND_BOOL, .i = how->by};
    return true;
}

static bool set_number(struct altering *altering, struct nki_instr *instr,
                       struct nki_operand *operands, const struct change_of *how, uint32_t round) {
    (void)altering, (void)instr, (void)round;
    operands[how->operand] = (struct nki_operand){.kind = NKI_OPERAND_FLOAT, .f = how->number};
    return true;
}

static void try_funcs(struct altering *altering, size_t s, size_t k, enum nki_func is,
                      const char *name) {
    const enum likely said = LIKELY_SAID;
    static const char classes[] = "ba";
    for (size_t c = 0; c < 2; c++) {
        if (!nki_func_has(is, classes[c]))
            continue;
        for (int func = 1; func < NKI_FUNC_COUNT; func++) {
            struct change_of how = {.operand = k, .other = (size_t)func};
            if (func != (int)is && nki_func_has((enum nki_func)func, classes[c]) &&
                alter_try(altering, s, set_func, &how, 0))
                alter_mend(altering, s, said, "with %s=nl.%s in place of nl.%s here", name,
                           nki_func_name((enum nki_func)func), nki_func_name(is));
        }
    }
}

static void try_flag(struct altering *altering, size_t s, size_t k,
                     const struct nki_operand *operand, const char *name) {
    for (int to = 0; to < 2; to++) {
        struct change_of how = {.operand = k, .by = to};
        bool is_so = operand->kind == NKI_OPERAND_BOOL && operand->i == to;
        if (!is_so && alter_try(altering, s, set_flag, &how, 0))
            alter_mend(altering, s, LIKELY_UNSAID, "with %s=%s here", name, to ? "True" : "False");
    }
}

/* Whether it stands in the call, and is not what the call takes without it. */
static bool is_said(const struct nki_param *param, double is) {
    double standard = NAN;
    struct str text = str_of(param->standard);
    if (text.len > 1 && str_to_double((struct str){text.at + 1, text.len - 1}, &standard))
        return is != standard;
    return true;
}

static void try_numbers(struct altering *altering, size_t s, size_t k, double is,
                        const struct nki_param *param) {
    enum likely said = is_said(param, is) ? LIKELY_NUMBER : LIKELY_UNSAID;
    const char *name = param->name;
    const double own[] = {-is, 1 / is, 2 * is, is / 2, 10 * is, is / 10, 100 * is, is / 100};
    for (size_t i = 0; i < COUNT_OF(own) + altering->number_count; i++) {
        struct change_of how = {.operand = k,
                                .number = i < COUNT_OF(own) ? own[i]
                                                            : altering->numbers[i - COUNT_OF(own)]};
        if (isfinite(how.number) && how.number != is && alter_try(altering, s, set_number, &how, 0))
            alter_mend(altering, s, said, "with %s=%.9g in place of %.9g here", name, how.number,
                       is);
    }
}

/* ---- other instructions ------------------------------------------------------------------- */

static bool transpose_copy(struct altering *altering, struct nki_instr *instr,
                           struct nki_operand *operands, const struct change_of *how,
                           uint32_t round) {
    (void)altering, (void)how, (void)round;
    const struct nki_ap *dst = operands[0].ap, *src = operands[1].ap;
    if (dst->n_dims != 2 || src->n_dims != 2 || dst->count[0] != src->count[1] ||
        dst->count[1] != src->count[0])
        return false;
    instr->op = NKI_OP_NC_TRANSPOSE;
    instr->engine = NKI_ENGINE_UNKNOWN;
    instr->n_operands = 2;
    return true;
}

static bool invert_copy(struct altering *altering, struct nki_instr *instr,
                        struct nki_operand *operands, const struct change_of *how, uint32_t round) {
    (void)altering, (void)operands, (void)how, (void)round;
    instr->op = NKI_OP_RECIPROCAL;
    instr->engine = NKI_ENGINE_UNKNOWN;
    return true;
}

static bool set_function(struct altering *altering, struct nki_instr *instr,
                         struct nki_operand *operands, const struct change_of *how,
                         uint32_t round) {
    const struct nki_op_row *row = nki_op_row(NKI_OP_ACTIVATION);
    struct nki_operand *list = ARENA_ARRAY(altering->arena, struct nki_operand, row->n_params);
    (void)round;
    list[0] = operands[0];
    list[1] = (struct nki_operand){.kind = NKI_OPERAND_FUNC, .i = (int64_t)how->other};
    list[2] = operands[1];
    list[4] = (struct nki_operand){.kind = NKI_OPERAND_FLOAT, .f = 1};
    instr->op = NKI_OP_ACTIVATION;
    instr->engine = NKI_ENGINE_UNKNOWN;
    instr->operands = list;
    instr->n_operands = row->n_params;
    return true;
}

/* One over each element in place of a function of it. */
static bool set_inverse(struct altering *altering, struct nki_instr *instr,
                        struct nki_operand *operands, const struct change_of *how, uint32_t round) {
    (void)altering, (void)how, (void)round;
    operands[1] = operands[2];
    instr->op = NKI_OP_RECIPROCAL;
    instr->engine = NKI_ENGINE_UNKNOWN;
    instr->n_operands = 2;
    return true;
}

static void try_other_instructions(struct altering *altering, size_t s,
                                   const struct nki_instr *instr) {
    struct change_of how = {0};
    bool copies = instr->op == NKI_OP_TENSOR_COPY && instr->operands[0].kind == NKI_OPERAND_AP &&
                  instr->operands[1].kind == NKI_OPERAND_AP;
    if (copies && alter_try(altering, s, transpose_copy, &how, 0))
        alter_mend(altering, s, LIKELY_SAID, "with a transpose in place of this copy");
    if (copies && alter_try(altering, s, invert_copy, &how, 0))
        alter_mend(altering, s, LIKELY_SAID, "with the reciprocal in place of this copy");
    if (instr->op == NKI_OP_ACTIVATION && instr->n_operands > 2 &&
        alter_try(altering, s, set_inverse, &how, 0))
        alter_mend(altering, s, LIKELY_SAID, "with the reciprocal in place of this function");
    for (int func = 1; (copies || instr->op == NKI_OP_RECIPROCAL) && func < NKI_FUNC_COUNT;
         func++) {
        how.other = (size_t)func;
        if (nki_func_has((enum nki_func)func, 'a') && alter_try(altering, s, set_function, &how, 0))
            alter_mend(altering, s, LIKELY_SAID, "with nl.%s in place of this",
                       nki_func_name((enum nki_func)func));
    }
}

static bool drop_mask(struct altering *altering, struct nki_instr *instr,
                      struct nki_operand *operands, const struct change_of *how, uint32_t round) {
    (void)altering, (void)operands, (void)how, (void)round;
    struct nki_more *more = arena_dup(altering->arena, instr->more, sizeof *more);
    more->mask = NULL;
    instr->more = more;
    return true;
}

/* ---- a statement ---------------------------------------------------------------------------- */

/* The offset of what goes by the place of an element. */
static bool is_place(enum nki_op op, size_t k) {
    return (op == NKI_OP_AFFINE_SELECT && k == NKI_AFFINE_SELECT_offset) ||
           (op == NKI_OP_IOTA && k == NKI_IOTA_offset);
}

static void try_operand(struct altering *altering, size_t s, size_t k) {
    const struct nki_instr *instr =
        &altering->study->program->instrs.at[altering->study->sites.at[s].first];
    const struct nki_param *param = &nki_op_row((enum nki_op)instr->op)->params[k];
    const struct nki_operand *operand = &instr->operands[k];
    bool takes_flag = param->takes >> NKI_OPERAND_BOOL & 1;
    if (is_place((enum nki_op)instr->op, k) && instr->operands[0].kind == NKI_OPERAND_AP)
        alter_place(altering, s, k, instr->operands[0].ap);
    if (operand->kind == NKI_OPERAND_FUNC)
        try_funcs(altering, s, k, (enum nki_func)operand->i, param->name);
    else if (operand->kind == NKI_OPERAND_BOOL || (operand->kind == NKI_OPERAND_NONE && takes_flag))
        try_flag(altering, s, k, operand, param->name);
    else if (operand->kind == NKI_OPERAND_FLOAT)
        try_numbers(altering, s, k, operand->f, param);
    else if (operand->kind == NKI_OPERAND_INT && param->takes >> NKI_OPERAND_FLOAT & 1)
        try_numbers(altering, s, k, (double)operand->i, param);
    else if (operand->kind == NKI_OPERAND_AP && nki_role_reads(param->role))
        alter_tile(altering, s, k, instr);
    else if (operand->kind == NKI_OPERAND_AP) {
        alter_walk(altering, s, k, param->name);
        alter_moves(altering, s, k, operand->ap, param->name);
    }
}

static void try_site(struct altering *altering, size_t s) {
    const struct study *study = altering->study;
    const struct nki_instr *instr = &study->program->instrs.at[study->sites.at[s].first];
    size_t n =
        MIN_OF((size_t)instr->n_operands, (size_t)nki_op_row((enum nki_op)instr->op)->n_params);
    for (size_t k = 0; k < n; k++)
        try_operand(altering, s, k);
    struct change_of how = {0};
    try_other_instructions(altering, s, instr);
    if (instr->more->mask && alter_try(altering, s, drop_mask, &how, 0))
        alter_mend(altering, s, LIKELY_UNSAID, "without the mask of this");
    if (study->sites.at[s].count > 1 && alter_try(altering, s, NULL, NULL, 1))
        alter_mend(altering, s, LIKELY_DROP, "when this runs in the first round only");
    if (alter_try(altering, s, NULL, NULL, 0))
        alter_mend(altering, s, LIKELY_DROP, "without this statement");
}

/* ---- which statements, which numbers -------------------------------------------------------- */

static void add_number(struct altering *altering, double number) {
    for (size_t i = 0; i < altering->number_count; i++)
        if (altering->numbers[i] == number)
            return;
    if (altering->number_count < NUMBERS_MOST && isfinite(number))
        altering->numbers[altering->number_count++] = number;
}

/* Those that the kernel uses, sides of its inputs and what means and norms make of them. */
static void find_numbers(struct altering *altering) {
    const struct nki_program *program = altering->study->program;
    static const double usual[] = {0, 1, -1, 0.5, 2};
    for (size_t i = 0; i < COUNT_OF(usual); i++)
        add_number(altering, usual[i]);
    for (size_t s = 0; s < program->storages.len; s++) {
        const struct nki_storage *storage = program->storages.at[s];
        for (int d = 0; storage->input >= 0 && d < storage->n_dims; d++) {
            double side = (double)storage->shape[d];
            add_number(altering, 1 / side);
            add_number(altering, 1 / sqrt(side));
            add_number(altering, side);
            add_number(altering, sqrt(side));
        }
    }
    for (size_t s = 0; s < altering->study->sites.len; s++) {
        const struct nki_instr *instr = &program->instrs.at[altering->study->sites.at[s].first];
        for (size_t k = 0; k < instr->n_operands; k++)
            if (instr->operands[k].kind == NKI_OPERAND_FLOAT)
                add_number(altering, instr->operands[k].f);
    }
}

static void find_read(struct altering *altering) {
    const struct nki_program *program = altering->study->program;
    altering->read = mem_alloc(program->storages.len + 1, sizeof *altering->read);
    for (uint32_t i = 0; i < program->instrs.len; i++) {
        struct operand_at list[OPERANDS_MOST];
        size_t n = operands_of(program, &program->instrs.at[i], list, OPERANDS_MOST);
        for (size_t k = 0; k < n; k++)
            if (list[k].reads && !(list[k].writes))
                altering->read[list[k].ap->storage] = true;
    }
}

static size_t add_sources(const struct study *study, uint32_t *order, size_t n, bool *taken) {
    for (size_t i = 0; i < n && n < TRIED_SITES; i++)
        for (uint32_t s = (uint32_t)study->sites.len; s-- > 0 && n < TRIED_SITES;)
            if (!taken[s] && study_follows(study, s, order[i])) {
                taken[s] = true;
                order[n++] = s;
            }
    return n;
}

/* The most suspected, then those that they read from, and so on; then the stores, and what they are
 * made of: each tile may be right and only in the wrong place. */
static size_t order_sites(const struct study *study, uint32_t *order) {
    size_t n = 0;
    bool *taken = mem_alloc(study->sites.len + 1, sizeof *taken);
    while (n < TRIED_SITES) {
        uint32_t best = UINT32_MAX;
        for (uint32_t s = 0; s < study->sites.len; s++)
            if (!taken[s] && study->sites.at[s].weight > 30 &&
                (best == UINT32_MAX || study->sites.at[s].weight > study->sites.at[best].weight))
                best = s;
        if (best == UINT32_MAX)
            break;
        taken[best] = true;
        order[n++] = best;
    }
    n = add_sources(study, order, n, taken);
    for (uint32_t s = 0; s < study->sites.len && n < TRIED_SITES; s++)
        if (!taken[s] && study->sites.at[s].stores) {
            taken[s] = true;
            order[n++] = s;
        }
    n = add_sources(study, order, n, taken);
    free(taken);
    return n;
}

static void list_instructions(struct altering *altering) {
    const struct study *study = altering->study;
    size_t n = study->program->instrs.len;
    altering->instrs = mem_alloc(n + 1, sizeof *altering->instrs);
    altering->first_of = mem_alloc(study->sites.len + 2, sizeof *altering->first_of);
    for (size_t s = 0; s < study->sites.len; s++)
        altering->first_of[s + 1] = altering->first_of[s] + study->sites.at[s].count;
    uint32_t *next = mem_dup(altering->first_of, (study->sites.len + 1) * sizeof *next);
    for (uint32_t i = 0; i < n; i++)
        altering->instrs[next[study->site_of[i]]++] = i;
    free(next);
}

void alter_sites(struct study *study) {
    struct altering altering = {.study = study, .arena = arena_new(), .most = ALTERED_MOST};
    uint32_t order[TRIED_SITES];
    if (study->knows_right && !(study->program->cores > 1)) {
        altering.judge = judge_new(study);
        find_numbers(&altering);
        find_read(&altering);
        list_instructions(&altering);
        size_t n = order_sites(study, order);
        for (size_t i = 0; i < n; i++)
            try_site(&altering, order[i]);
    }
    judge_free(altering.judge);
    free(altering.instrs);
    free(altering.first_of);
    free(altering.read);
    arena_free(altering.arena);
}
