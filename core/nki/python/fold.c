/* SPDX-License-Identifier: Apache-2.0 */
/* Of a loop whose rounds are alike (regular.c) only some are evaluated. Of a long one the others
 * are left out where only the latency is asked for, and the program says how many there were. In
 * all other loops they are copied from those that were evaluated (program/repeat.c). The first
 * period counts apart, because a kernel may make something there that it makes only once. At least
 * one whole period is evaluated after the gap. So the program also has the last place of everything
 * that moves with the index. If that is not where the copies lead to, all is evaluated again
 * without. */
#include "nki/python/inner.h"

#include <stdlib.h>

#define LEAST_KEPT 3   /* periods */
#define MOST_FOLDS 64  /* folded loops of a program; the schedule looks for each of them */
#define LEAST_ROUNDS 7 /* for fewer, looking at the body costs what copies save */
#define SEEN 2         /* periods whose difference says how all others differ */

static bool may_leave_out(const struct interp *in, int64_t length) {
    uint32_t rounds = in->options->fold_rounds;
    return rounds && !in->folding && in->program->cores <= 1 &&
           in->program->folds.len < MOST_FOLDS && length > (int64_t)rounds;
}

struct fold fold_begin(struct interp *in, const struct nki_node *loop, const struct iteration *it) {
    struct fold fold = {.loop = loop, .leaves_out = may_leave_out(in, it->length)};
    const struct nki_node *target = loop->for_.target;
    bool copies = !in->options->every_round && it->length >= LEAST_ROUNDS;
    if (in->tolerant || in->on_device || it->items || loop->for_.orelse.len ||
        target->kind != NKI_NAME || in->frame->unit->cells[loop->id].irregular ||
        !(fold.leaves_out || copies))
        return fold;
    fold.state = FOLD_FIRST;
    in->folding |= fold.leaves_out;
    fold.base = in->program->instrs.len;
    fold.registers = in->program->n_registers;
    fold.marks = in->program->n_marks;
    return fold;
}

/* No more rounds are left out or copied. */
static void give_up(struct fold *fold, struct interp *in) {
    if (fold->leaves_out)
        in->folding = false;
    fold->leaves_out = false;
    fold->state = FOLD_NOT;
}

void fold_end(struct fold *fold, struct interp *in) {
    give_up(fold, in);
    nki_repeat_free(fold->repeat);
    fold->repeat = NULL;
}

/* Whether leaving rounds out saves enough. */
static bool saves_enough(struct fold *fold, const struct interp *in, const struct iteration *it) {
    size_t made = in->program->instrs.len - fold->base;
    fold->kept = in->options->fold_rounds / fold->period + LEAST_KEPT;
    int64_t saved = it->length - fold->period * (fold->kept + 2);
    return saved >= fold->period && made &&
           (double)saved * (double)made >= (double)in->options->fold_least;
}

/* After the first round: how many periods are evaluated at first, if it is worth the while. */
static void find_period(struct fold *fold, struct interp *in, const struct iteration *it) {
    fold->period = loop_period(in, fold->loop, llabs(it->over.range->step));
    in->frame->unit->cells[fold->loop->id].irregular = !fold->period;
    if (fold->leaves_out && !(fold->period && saves_enough(fold, in, it)))
        give_up(fold, in);
    if (!fold->leaves_out)
        fold->kept = SEEN;
    /* The first period, those that are kept, one to copy or to leave out, and the last. */
    bool worth = fold->period && it->length / fold->period >= fold->kept + 3;
    fold->state =
        worth && (fold->leaves_out || !in->options->every_round) ? FOLD_COUNTING : FOLD_NOT;
}

static void start_counting(struct fold *fold, const struct interp *in) {
    const struct nki_program *program = in->program;
    fold->base = program->instrs.len;
    fold->storages = program->storages.len;
    fold->row =
        (struct nki_fold){.first = (uint32_t)fold->base, .first_storage = (uint32_t)fold->storages};
    fold->tile_bytes = in->grown[GROWN_TILES].bytes;
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
           program->n_registers == fold->registers && program->n_marks == fold->marks;
}

/* Goes on to the last whole period. */
static void skip_to_last(struct fold *fold, struct iteration *it, int64_t left) {
    it->at += left * fold->period;
    fold->row.left_out = (uint64_t)left;
    fold->state = FOLD_REST;
    fold->last = it->at + fold->period;
}

static void leave_out(struct fold *fold, struct interp *in, struct iteration *it, int64_t left) {
    fold->row.rounds = (uint32_t)fold->period;
    fold->row.kept = (uint32_t)fold->kept;
    skip_to_last(fold, it, left);
    *vec_push(&in->program->folds) = fold->row;
    if (in->options->was_folded)
        *in->options->was_folded = true;
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* A period of the program, counted from the first that is not apart. */
static struct nki_period period_of(const struct fold *fold, uint32_t number) {
    const struct nki_fold *row = &fold->row;
    return (struct nki_period){row->first + number * row->length, row->length,
                               row->first_storage + number * row->storages, row->storages};
}

/* Copies all that comes before the last period, if the budgets allow it: if not, evaluation finds
 * where they end. */
static void copy(struct fold *fold, struct interp *in, struct iteration *it, int64_t left) {
    uint64_t tile_bytes = in->grown[GROWN_TILES].bytes - fold->tile_bytes;
    uint64_t storages = (uint64_t)left * fold->row.storages;
    struct nki_repeat *repeat =
        nki_repeat_find(in->program, period_of(fold, 0), period_of(fold, 1), 1);
    bool fits = repeat &&
                budget_allows(in, (uint64_t)left, fold->row.length,
                              nki_repeat_bytes(repeat) + tile_bytes / SEEN) &&
                storages < UINT32_MAX / 4;
    if (!fits) {
        nki_repeat_free(repeat);
        give_up(fold, in);
        return;
    }
    rounds_mark_copies(in, it->over.range->any_order);
    nki_repeat_copy(in->program, repeat, (uint32_t)left);
    in->grown[GROWN_TILES].bytes += tile_bytes / SEEN * (uint64_t)left;
    in->copied = true;
    fold->repeat = repeat;
    skip_to_last(fold, it, left);
}

/* All periods are here. */
static void note_loop(const struct fold *fold, struct nki_program *program) {
    struct nki_fold loop = fold->row;
    loop.rounds = (uint32_t)fold->period;
    loop.kept = SEEN + (uint32_t)fold->row.left_out;
    loop.left_out = 0;
    nki_repeat_note(program, &loop);
}

/* The last period was evaluated: it has to be where the copies lead to. */
static void compare_last(struct fold *fold, struct interp *in) {
    uint32_t apart = (uint32_t)fold->row.left_out + 1;
    struct nki_period last = period_of(fold, apart + 1);
    bool whole = (size_t)last.first + last.length == in->program->instrs.len &&
                 (size_t)last.first_storage + last.storages == in->program->storages.len;
    struct nki_repeat *many =
        whole ? nki_repeat_find(in->program, period_of(fold, 1), last, apart) : NULL;
    bool agrees = many && nki_repeat_agrees(fold->repeat, many);
    in->unlike |= !agrees;
    if (agrees)
        note_loop(fold, in->program);
    nki_repeat_free(many);
    nki_repeat_free(fold->repeat);
    fold->repeat = NULL;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* At the end of a period: the first begins the count, and after the last that is kept the gap
 * follows. */
static void end_period(struct fold *fold, struct interp *in, struct iteration *it) {
    int64_t ended = it->at / fold->period;
    int64_t left = it->length / fold->period - ended - 1;
    if (ended == 1)
        start_counting(fold, in);
    else if (!is_alike(fold, in->program))
        give_up(fold, in);
    else if (ended == fold->kept + 1)
        (fold->leaves_out ? leave_out : copy)(fold, in, it, left);
}

void fold_round(struct fold *fold, struct interp *in, struct iteration *it) {
    if (fold->state == FOLD_FIRST && it->at == 1)
        find_period(fold, in, it);
    if (fold->state == FOLD_COUNTING && it->at % fold->period == 0)
        end_period(fold, in, it);
    if (fold->repeat && it->at == fold->last)
        compare_last(fold, in);
}
