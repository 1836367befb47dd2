/* SPDX-License-Identifier: Apache-2.0 */
/* Folding: of a long loop whose rounds are alike (regular.c) only some are evaluated, and the
 * program says how many were left out. The first period counts apart, because a kernel may make
 * something there that it makes only once. At least one whole period is evaluated after the gap. So
 * the program also has the last place of everything that moves with the index. */
#include "nki/python/inner.h"

#define LEAST_KEPT 3  /* periods */
#define MOST_FOLDS 64 /* folded loops of a program; the schedule looks for each of them */

struct fold fold_begin(struct interp *in, const struct nki_node *loop, const struct iteration *it) {
    struct fold fold = {.loop = loop};
    const struct nki_node *target = loop->for_.target;
    uint32_t rounds = in->options->fold_rounds;
    if (!rounds || in->folding || in->program->cores > 1 || in->program->folds.len >= MOST_FOLDS ||
        in->tolerant || it->items || loop->for_.orelse.len || target->kind != NKI_NAME ||
        it->length <= (int64_t)rounds)
        return fold;
    fold.state = FOLD_FIRST;
    in->folding = true;
    fold.base = in->program->instrs.len;
    fold.registers = in->program->n_registers;
    return fold;
}

void fold_end(struct fold *fold, struct interp *in) {
    if (fold->state != FOLD_NOT)
        in->folding = false;
    fold->state = FOLD_NOT;
}

/* After the first round: whether folding saves enough, and how many periods are kept. */
static void find_period(struct fold *fold, struct interp *in, const struct iteration *it) {
    fold->period = loop_period(in, fold->loop);
    size_t made = in->program->instrs.len - fold->base;
    fold->kept = fold->period ? in->options->fold_rounds / fold->period + LEAST_KEPT : 0;
    int64_t saved = it->length - fold->period * (fold->kept + 2);
    if (!fold->period || saved < fold->period || !made ||
        (double)saved * (double)made < (double)in->options->fold_least)
        fold_end(fold, in);
    else
        fold->state = FOLD_COUNTING;
}

static void start_counting(struct fold *fold, const struct nki_program *program) {
    fold->base = program->instrs.len;
    fold->storages = program->storages.len;
    fold->row =
        (struct nki_fold){.first = (uint32_t)fold->base, .first_storage = (uint32_t)fold->storages};
}

/* Whether the period that has just ended made as much as the first one. */
static bool is_alike(struct fold *fold, const struct nki_program *program) {
    uint32_t instrs = (uint32_t)(program->instrs.len - fold->base);
    uint32_t storages = (uint32_t)(program->storages.len - fold->storages);
    if (!fold->row.length) {
        fold->row.length = instrs;
        fold->row.storages = storages;
    }
    fold->base = program->instrs.len;
    fold->storages = program->storages.len;
    return instrs && instrs == fold->row.length && storages == fold->row.storages &&
           program->n_registers == fold->registers;
}

static void leave_out(struct fold *fold, struct interp *in, struct iteration *it) {
    int64_t left = (it->length - it->at) / fold->period - 1;
    fold->row.rounds = (uint32_t)fold->period;
    fold->row.kept = (uint32_t)fold->kept;
    fold->row.left_out = (uint64_t)left;
    *vec_push(&in->program->folds) = fold->row;
    it->at += left * fold->period;
    if (in->options->was_folded)
        *in->options->was_folded = true;
    fold->state = FOLD_REST;
}

/* At the end of a period: the first begins the count, and after the last that is kept the gap
 * follows. */
static void end_period(struct fold *fold, struct interp *in, struct iteration *it) {
    const struct nki_program *program = in->program;
    int64_t ended = it->at / fold->period;
    if (ended == 1)
        start_counting(fold, program);
    else if (!is_alike(fold, program))
        fold_end(fold, in);
    else if (ended == fold->kept + 1)
        leave_out(fold, in, it);
}

void fold_round(struct fold *fold, struct interp *in, struct iteration *it) {
    if (fold->state == FOLD_FIRST && it->at == 1)
        find_period(fold, in, it);
    if (fold->state == FOLD_COUNTING && it->at % fold->period == 0)
        end_period(fold, in, it);
}
