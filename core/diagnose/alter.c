/* SPDX-License-Identifier: Apache-2.0 */
/* Small changes of suspected statements, tried out: another operator, number, flag or tile, another
 * part of a tensor, a statement left out. One that makes the outputs right shows where the fault is
 * and how it can be mended; of the reference nothing has to be known for that but its outputs. What
 * is changed are all instructions of a statement together. */
#include "diagnose/private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIED_SITES 14
#define NUMBERS_MOST 48
#define MENDS_MOST 8

struct altering {
    struct study *study;
    struct arena *arena; /* of one try */
    double numbers[NUMBERS_MOST];
    size_t number_count, tried;
    bool *read;  /* per storage: an instruction reads it */
    bool mended; /* by the change that was tried last */
    size_t mends;
};
/* What is likelier to be meant, of several changes that make the outputs right: what the statement
 * says, then numbers, then what it does not say, then leaving it out. */
enum likely { LIKELY_DROP, LIKELY_UNSAID, LIKELY_NUMBER, LIKELY_SAID };
/* Changes instruction number `round` of a statement; its operands may be written to. False: it
 * cannot be changed like that. */
struct change_of {
    size_t operand, other;
    double number;
    int64_t by, per, times; /* an offset of by * (round / per % times) */
    uint32_t storage;
};
typedef bool alter_fn(struct altering *altering, struct nki_instr *instr,
                      struct nki_operand *operands, const struct change_of *how, uint32_t round);

/* ---- one try -------------------------------------------------------------------------------- */

static double run_altered(struct altering *altering, const struct nki_program *program) {
    struct study *study = altering->study;
    const struct diagnose_question *question = study->question;
    struct diag_list diags = {0};
    struct device_image *image =
        device_load(program, device_generation_of(program->generation), &diags);
    diag_free(&diags);
    if (!image)
        return INFINITY;
    struct array *outputs = mem_alloc(program->outputs.len + 1, sizeof *outputs);
    struct device_limits limits = {.cancel = question->cancel,
                                   .memory_bytes = question->memory_bytes};
    struct err err = {0};
    double off = INFINITY;
    if (device_execute(image, question->inputs, question->input_count, outputs, &limits, &err)) {
        off = outputs_off(study, outputs);
        for (size_t k = 0; k < program->outputs.len; k++)
            free(outputs[k].data);
    }
    free(outputs);
    device_unload(image);
    return off;
}

/* True when it makes the outputs right; then *site has the reason. `drop`: leave the statement out,
 * but for its first so many instructions. */
static bool try_change(struct altering *altering, size_t s, alter_fn *fn,
                       const struct change_of *how, uint32_t keep) {
    struct study *study = altering->study;
    altering->mended = false;
    if (altering->mends >= MENDS_MOST || altering->tried >= ALTERED_MOST || study_is_late(study))
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
        if (fn && !fn(altering, instr, operands, how, round++))
            return false;
    }
    altering->tried++;
    double off = run_altered(altering, &program);
    altering->mended = off <= study->question->tolerance;
    return altering->mended;
}

CC_PRINTF(4, 5)
static void mend(struct altering *altering, size_t s, enum likely likely, const char *format, ...) {
    struct site *site = &altering->study->sites.at[s];
    va_list args;
    char what[200];
    /* Of equals the first in the program: what comes later only undoes it. */
    double weight = 300 + 10 * (double)likely -
                    (double)site->first / (double)altering->study->program->instrs.len;
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
                try_change(altering, s, set_func, &how, 0))
                mend(altering, s, said, "with %s=nl.%s in place of nl.%s here", name,
                     nki_func_name((enum nki_func)func), nki_func_name(is));
        }
    }
}

static void try_flag(struct altering *altering, size_t s, size_t k,
                     const struct nki_operand *operand, const char *name) {
    for (int to = 0; to < 2; to++) {
        struct change_of how = {.operand = k, .by = to};
        bool is_so = operand->kind == NKI_OPERAND_BOOL && operand->i == to;
        if (!is_so && try_change(altering, s, set_flag, &how, 0))
            mend(altering, s, LIKELY_UNSAID, "with %s=%s here", name, to ? "True" : "False");
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
    for (size_t i = 0; i < altering->number_count; i++) {
        struct change_of how = {.operand = k, .number = altering->numbers[i]};
        if (how.number != is && try_change(altering, s, set_number, &how, 0))
            mend(altering, s, said, "with %s=%.9g in place of %.9g here", name, how.number, is);
    }
}

/* ---- tiles ---------------------------------------------------------------------------------- */

static bool is_alike(const struct nki_ap *a, const struct nki_ap *b) {
    bool alike = a->n_dims == b->n_dims && !a->indirect && !b->indirect;
    for (int d = 0; alike && d < a->n_dims; d++)
        alike = a->count[d] == b->count[d];
    return alike;
}

static bool swap_tiles(struct altering *altering, struct nki_instr *instr,
                       struct nki_operand *operands, const struct change_of *how, uint32_t round) {
    (void)altering, (void)instr, (void)round;
    if (operands[how->operand].kind != NKI_OPERAND_AP ||
        operands[how->other].kind != NKI_OPERAND_AP)
        return false;
    const struct nki_ap *first = operands[how->operand].ap;
    operands[how->operand].ap = operands[how->other].ap;
    operands[how->other].ap = first;
    return true;
}

static bool fits(const struct altering *altering, const struct nki_ap *ap) {
    const struct nki_storage *storage = &altering->study->program->storages.at[ap->storage];
    bool on_chip = storage->space != NKI_HBM;
    int64_t low = ap->offset, high = ap->offset;
    int64_t size = (int64_t)((on_chip ? storage->block_bytes * storage->blocks : storage->bytes) /
                             dtype_bytes(ap->dtype));
    for (int d = on_chip ? 1 : 0; d < ap->n_dims; d++) {
        int64_t reach = ap->step[d] * (ap->count[d] - 1);
        low += MIN_OF(reach, (int64_t)0);
        high += MAX_OF(reach, (int64_t)0);
    }
    return low >= 0 && high < size;
}

static bool move_tile(struct altering *altering, struct nki_instr *instr,
                      struct nki_operand *operands, const struct change_of *how, uint32_t round) {
    (void)instr;
    if (operands[how->operand].kind != NKI_OPERAND_AP)
        return false;
    struct nki_ap *ap =
        arena_dup(altering->arena, operands[how->operand].ap, sizeof(struct nki_ap));
    ap->offset += how->times ? how->by * ((int64_t)round / how->per % how->times) : how->by;
    operands[how->operand].ap = ap;
    return fits(altering, ap);
}

static uint32_t apart(uint32_t a, uint32_t b) {
    return a > b ? a - b : b - a;
}

/* A tile or an input of the same shape that nobody reads. */
static bool take_unread(struct altering *altering, struct nki_instr *instr,
                        struct nki_operand *operands, const struct change_of *how, uint32_t round) {
    (void)round;
    const struct nki_program *program = altering->study->program;
    const struct nki_ap *is = operands[how->operand].ap;
    if (operands[how->operand].kind != NKI_OPERAND_AP || is->indirect)
        return false;
    const struct nki_storage *old = &program->storages.at[is->storage];
    struct nki_ap *ap = arena_dup(altering->arena, is, sizeof *ap);
    (void)instr;
    uint32_t found = UINT32_MAX;
    for (uint32_t s = 0; s < program->storages.len; s++) {
        const struct nki_storage *other = &program->storages.at[s];
        if (s == is->storage || altering->read[s] || other->output >= 0 ||
            other->space != old->space || other->dtype != old->dtype ||
            other->partitions != old->partitions || other->bytes != old->bytes ||
            other->block_bytes != old->block_bytes || other->blocks != old->blocks)
            continue;
        if (found == UINT32_MAX || apart(s, is->storage) < apart(found, is->storage))
            found = s; /* the nearest was made in the same round */
    }
    ap->storage = found;
    operands[how->operand].ap = ap;
    return found != UINT32_MAX && fits(altering, ap);
}

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

static void try_moves(struct altering *altering, size_t s, size_t k, const struct nki_ap *ap,
                      const char *name) {
    const struct site *site = &altering->study->sites.at[s];
    bool on_chip = altering->study->program->storages.at[ap->storage].space != NKI_HBM;
    for (int d = on_chip ? 1 : 0; d < ap->n_dims; d++) {
        for (int64_t by = -1; by <= 1; by += 2) {
            struct change_of how = {.operand = k, .by = by * ap->step[d]};
            if (how.by && try_change(altering, s, move_tile, &how, 0))
                mend(altering, s, LIKELY_NUMBER, "with %s one element %s along dimension %d", name,
                     by > 0 ? "further" : "before", d);
        }
        for (int64_t per = 1; per < site->count && per <= 64; per++) {
            for (int64_t times = 2;
                 site->count % per == 0 && per * times <= site->count && times <= 64; times++) {
                struct change_of how = {
                    .operand = k, .by = ap->step[d] * ap->count[d], .per = per, .times = times};
                if ((site->count / per) % times == 0 && how.by &&
                    try_change(altering, s, move_tile, &how, 0))
                    mend(altering, s, LIKELY_SAID,
                         "with %s moving on by its own extent along dimension %d each %lld rounds",
                         name, d, (long long)per);
            }
        }
    }
}

static void try_tile(struct altering *altering, size_t s, size_t k, const struct nki_instr *instr) {
    const struct nki_op_row *row = nki_op_row((enum nki_op)instr->op);
    const struct nki_ap *ap = instr->operands[k].ap;
    const char *name = row->params[k].name;
    for (size_t other = k + 1; other < instr->n_operands && other < row->n_params; other++) {
        struct change_of how = {.operand = k, .other = other};
        if (instr->operands[other].kind == NKI_OPERAND_AP &&
            nki_role_reads(row->params[other].role) && is_alike(ap, instr->operands[other].ap) &&
            try_change(altering, s, swap_tiles, &how, 0))
            mend(altering, s, LIKELY_SAID, "with %s and %s exchanged here", name,
                 row->params[other].name);
    }
    struct change_of how = {.operand = k};
    if (try_change(altering, s, take_unread, &how, 0))
        mend(altering, s, LIKELY_SAID,
             "with %s taken from a tensor of the same shape that is never read", name);
    try_moves(altering, s, k, ap, name);
}

/* ---- a statement ---------------------------------------------------------------------------- */

static void try_operand(struct altering *altering, size_t s, size_t k) {
    const struct nki_instr *instr =
        &altering->study->program->instrs.at[altering->study->sites.at[s].first];
    const struct nki_param *param = &nki_op_row((enum nki_op)instr->op)->params[k];
    const struct nki_operand *operand = &instr->operands[k];
    bool takes_flag = param->takes >> NKI_OPERAND_BOOL & 1;
    if (operand->kind == NKI_OPERAND_FUNC)
        try_funcs(altering, s, k, (enum nki_func)operand->i, param->name);
    else if (operand->kind == NKI_OPERAND_BOOL || (operand->kind == NKI_OPERAND_NONE && takes_flag))
        try_flag(altering, s, k, operand, param->name);
    else if (operand->kind == NKI_OPERAND_FLOAT)
        try_numbers(altering, s, k, operand->f, param);
    else if (operand->kind == NKI_OPERAND_INT && param->takes >> NKI_OPERAND_FLOAT & 1)
        try_numbers(altering, s, k, (double)operand->i, param);
    else if (operand->kind == NKI_OPERAND_AP && nki_role_reads(param->role))
        try_tile(altering, s, k, instr);
}

static void try_site(struct altering *altering, size_t s) {
    const struct study *study = altering->study;
    const struct nki_instr *instr = &study->program->instrs.at[study->sites.at[s].first];
    size_t n =
        MIN_OF((size_t)instr->n_operands, (size_t)nki_op_row((enum nki_op)instr->op)->n_params);
    for (size_t k = 0; k < n; k++)
        try_operand(altering, s, k);
    struct change_of how = {0};
    if (instr->op == NKI_OP_TENSOR_COPY && instr->operands[0].kind == NKI_OPERAND_AP &&
        instr->operands[1].kind == NKI_OPERAND_AP &&
        try_change(altering, s, transpose_copy, &how, 0))
        mend(altering, s, LIKELY_SAID, "with a transpose in place of this copy");
    if (instr->op == NKI_OP_TENSOR_COPY && try_change(altering, s, invert_copy, &how, 0))
        mend(altering, s, LIKELY_SAID, "with the reciprocal in place of this copy");
    if (study->sites.at[s].count > 1 && try_change(altering, s, NULL, NULL, 1))
        mend(altering, s, LIKELY_DROP, "when this runs in the first round only");
    if (try_change(altering, s, NULL, NULL, 0))
        mend(altering, s, LIKELY_DROP, "without this statement");
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
        const struct nki_storage *storage = &program->storages.at[s];
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

/* The most suspected, then those that they read from, and so on. */
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
    for (size_t i = 0; i < n && n < TRIED_SITES; i++)
        for (uint32_t s = (uint32_t)study->sites.len; s-- > 0 && n < TRIED_SITES;)
            if (!taken[s] && study_follows(study, s, order[i])) {
                taken[s] = true;
                order[n++] = s;
            }
    free(taken);
    return n;
}

void alter_sites(struct study *study) {
    struct altering altering = {.study = study, .arena = arena_new()};
    uint32_t order[TRIED_SITES];
    if (study->knows_right && !(study->program->cores > 1)) {
        find_numbers(&altering);
        find_read(&altering);
        size_t n = order_sites(study, order);
        for (size_t i = 0; i < n; i++)
            try_site(&altering, order[i]);
    }
    free(altering.read);
    arena_free(altering.arena);
}
