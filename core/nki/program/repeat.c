/* SPDX-License-Identifier: Apache-2.0 */
/* Periods of a loop that are alike: what two of them have in common, what moves from one to the
 * next, and further ones made of that. Who knows that all periods of a loop move evenly evaluates a
 * few of them and copies the others. */
#include "nki/program/program.h"

#include <stdlib.h>

/* An access pattern that is another in each period. */
struct move {
    const struct nki_ap *one, *other; /* of both periods */
    int64_t offset, partition;        /* from the first to the other */
    bool own;                         /* it is in a tile that each period makes for itself */
};
/* Where such a pattern stands: operand `operand` of instruction `instr` of a period; of a list, in
 * place `at`. */
struct place {
    uint32_t instr, operand, at, move;
};
struct nki_repeat {
    const struct nki_program *program;
    struct nki_period one, other;
    uint32_t apart; /* periods */
    VEC(struct move) moves;
    VEC(struct place) places; /* in the order of instructions and operands */
};

/* ---- two periods ----------------------------------------------------------------------------- */

/* Looked at last are the moves of the instructions just before, which share patterns. */
#define MOVES_SHARED 16

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_storage(const struct nki_storage *a, const struct nki_storage *b) {
    return a->space == b->space && a->dtype == b->dtype && a->loc == b->loc &&
           a->n_dims == b->n_dims &&
           memcmp(a->shape, b->shape, ARRAY_MAX_DIMS * sizeof *a->shape) == 0 &&
           a->partitions == b->partitions && a->blocks == b->blocks &&
           a->block_bytes == b->block_bytes && a->bytes == b->bytes && a->zeroed == b->zeroed &&
           a->shared == b->shared && a->input == b->input && a->output == b->output &&
           a->address_partition == b->address_partition && a->address_byte == b->address_byte &&
           a->constant == b->constant && !a->again && !b->again && same_text(a->name, b->name);
}

static bool same_shape(const struct nki_ap *a, const struct nki_ap *b) {
    if (a->dtype != b->dtype || a->n_dims != b->n_dims || a->indirect != b->indirect)
        return false;
    for (int d = 0; d < a->n_dims; d++)
        if (a->step[d] != b->step[d] || a->count[d] != b->count[d])
            return false;
    return true;
}

static void add_place(struct nki_repeat *repeat, struct place place, const struct move *move) {
    size_t at = repeat->moves.len, first = at > MOVES_SHARED ? at - MOVES_SHARED : 0;
    while (at > first && (repeat->moves.at[at - 1].one != move->one ||
                          repeat->moves.at[at - 1].other != move->other))
        at--;
    if (at == first) {
        *vec_push(&repeat->moves) = *move;
        at = repeat->moves.len;
    }
    place.move = (uint32_t)at - 1;
    *vec_push(&repeat->places) = place;
}

static bool pair_patterns(struct nki_repeat *repeat, struct place place, const struct nki_ap *one,
                          const struct nki_ap *other) {
    struct move move = {one, other, 0, 0, false};
    if (one == other)
        return true;
    if (!same_shape(one, other) || __builtin_sub_overflow(other->offset, one->offset, &move.offset))
        return false;
    move.partition = (int64_t)other->partition - (int64_t)one->partition;
    move.own = one->storage >= repeat->one.first_storage &&
               one->storage - repeat->one.first_storage < repeat->one.storages;
    if (other->storage != one->storage + (move.own ? repeat->apart * repeat->one.storages : 0))
        return false;
    if (move.own || move.offset || move.partition)
        add_place(repeat, place, &move);
    return true;
}

static bool pair_operands(struct nki_repeat *repeat, struct place place,
                          const struct nki_operand *one, const struct nki_operand *other) {
    if (one->kind != other->kind || one->n != other->n)
        return false;
    switch ((enum nki_operand_kind)one->kind) {
    case NKI_OPERAND_NONE: return true;
    case NKI_OPERAND_AP: return pair_patterns(repeat, place, one->ap, other->ap);
    case NKI_OPERAND_APS:
        for (place.at = 0; place.at < one->n; place.at++)
            if (!pair_patterns(repeat, place, one->aps[place.at], other->aps[place.at]))
                return false;
        return true;
    case NKI_OPERAND_INTS:
        return !one->n || memcmp(one->ints, other->ints, one->n * sizeof *one->ints) == 0;
    default: return one->i == other->i;
    }
}

static bool same_rest(const struct nki_more *a, const struct nki_more *b) {
    return a == b ||
           (a->order_group == b->order_group && a->mask == b->mask && a->mark == b->mark &&
            !a->n_after && !b->n_after && same_text(a->label, b->label));
}

static bool pair_instructions(struct nki_repeat *repeat, uint32_t i) {
    const struct nki_instr *one = &repeat->program->instrs.at[repeat->one.first + i];
    const struct nki_instr *other = &repeat->program->instrs.at[repeat->other.first + i];
    if (one->op != other->op || one->engine != other->engine ||
        one->n_operands != other->n_operands || one->loc != other->loc ||
        one->core != other->core || !same_rest(one->more, other->more))
        return false;
    for (uint32_t k = 0; k < one->n_operands; k++)
        if (!pair_operands(repeat, (struct place){i, k, 0, 0}, &one->operands[k],
                           &other->operands[k]))
            return false;
    return true;
}

static bool pair_storages(const struct nki_repeat *repeat) {
    struct nki_storage *const *all = repeat->program->storages.at;
    for (uint32_t s = 0; s < repeat->one.storages; s++)
        if (!same_storage(all[repeat->one.first_storage + s], all[repeat->other.first_storage + s]))
            return false;
    return true;
}

struct nki_repeat *nki_repeat_find(const struct nki_program *program, struct nki_period one,
                                   struct nki_period other, uint32_t apart) {
    struct nki_repeat *repeat = mem_alloc(1, sizeof *repeat);
    *repeat = (struct nki_repeat){.program = program, .one = one, .other = other, .apart = apart};
    bool alike = one.length == other.length && one.storages == other.storages &&
                 other.first_storage == one.first_storage + apart * one.storages &&
                 pair_storages(repeat);
    for (uint32_t i = 0; i < one.length && alike; i++)
        alike = pair_instructions(repeat, i);
    if (alike)
        return repeat;
    nki_repeat_free(repeat);
    return NULL;
}

void nki_repeat_free(struct nki_repeat *repeat) {
    if (!repeat)
        return;
    vec_free(&repeat->moves);
    vec_free(&repeat->places);
    mem_free_(repeat);
}

/* Moves that would go past what a number holds are not even. */
static bool is_multiple(int64_t one, int64_t many, int64_t times) {
    int64_t product;
    return !__builtin_mul_overflow(one, times, &product) && product == many;
}

bool nki_repeat_agrees(const struct nki_repeat *one, const struct nki_repeat *many) {
    if (one->places.len != many->places.len)
        return false;
    for (size_t i = 0; i < one->places.len; i++) {
        const struct place *a = &one->places.at[i], *b = &many->places.at[i];
        const struct move *x = &one->moves.at[a->move], *y = &many->moves.at[b->move];
        if (a->instr != b->instr || a->operand != b->operand || a->at != b->at ||
            x->own != y->own || !is_multiple(x->offset, y->offset, many->apart) ||
            !is_multiple(x->partition, y->partition, many->apart))
            return false;
    }
    return true;
}

/* ---- further periods ------------------------------------------------------------------------- */

/* The patterns of the period that comes `times` after the other one, in the order of the moves. */
static struct nki_ap *move_patterns(struct nki_program *program, const struct nki_repeat *repeat,
                                    uint32_t times) {
    size_t n = repeat->moves.len;
    struct nki_ap *aps = n ? ARENA_ARRAY(program->arena, struct nki_ap, n) : NULL;
    for (size_t m = 0; m < n; m++) {
        const struct move *move = &repeat->moves.at[m];
        aps[m] = *move->other;
        aps[m].offset += move->offset * times;
        aps[m].partition += (uint32_t)(move->partition * times);
        aps[m].storage += move->own ? repeat->one.storages * times : 0;
    }
    return aps;
}

static void put_pattern(struct nki_program *program, struct nki_operand *operand, uint32_t at,
                        const struct nki_ap *ap) {
    if (operand->kind == NKI_OPERAND_AP) {
        operand->ap = ap;
        return;
    }
    const struct nki_ap **aps =
        arena_dup(program->arena, operand->aps, operand->n * sizeof *operand->aps);
    aps[at] = ap;
    operand->aps = aps;
}

/* How many operands the instructions have together that patterns of theirs move in. */
static size_t count_operands(const struct nki_repeat *repeat) {
    const struct nki_instr *instrs = &repeat->program->instrs.at[repeat->other.first];
    size_t n = 0;
    for (size_t i = 0; i < repeat->places.len; i++)
        if (!i || repeat->places.at[i].instr != repeat->places.at[i - 1].instr)
            n += instrs[repeat->places.at[i].instr].n_operands;
    return n;
}

/* The operands of a period lie in one piece. */
static void copy_period(struct nki_program *program, const struct nki_repeat *repeat,
                        size_t n_operands, uint32_t times) {
    const struct nki_ap *aps = move_patterns(program, repeat, times);
    const struct place *place = repeat->places.at, *end = place + repeat->places.len;
    struct nki_operand *room =
        n_operands ? ARENA_ARRAY(program->arena, struct nki_operand, n_operands) : NULL;
    for (uint32_t i = 0; i < repeat->other.length; i++) {
        struct nki_instr instr = program->instrs.at[repeat->other.first + i];
        if (place < end && place->instr == i) {
            struct nki_operand *operands = room;
            memcpy(operands, instr.operands, instr.n_operands * sizeof *operands);
            room += instr.n_operands;
            for (; place < end && place->instr == i; place++)
                put_pattern(program, &operands[place->operand], place->at, &aps[place->move]);
            instr.operands = operands;
        }
        *vec_push(&program->instrs) = instr;
    }
}

uint64_t nki_repeat_bytes(const struct nki_repeat *repeat) {
    const struct nki_instr *instrs = &repeat->program->instrs.at[repeat->other.first];
    uint64_t bytes = repeat->other.length * sizeof *instrs +
                     repeat->other.storages * sizeof(struct nki_storage *) +
                     repeat->moves.len * sizeof(struct nki_ap);
    return bytes + count_operands(repeat) * sizeof(struct nki_operand);
}

void nki_repeat_copy(struct nki_program *program, const struct nki_repeat *repeat, uint32_t times) {
    vec_reserve(&program->instrs, program->instrs.len + (size_t)times * repeat->other.length);
    vec_reserve(&program->storages, program->storages.len + (size_t)times * repeat->other.storages);
    size_t n_operands = count_operands(repeat);
    for (uint32_t k = 1; k <= times; k++) {
        for (uint32_t s = 0; s < repeat->other.storages; s++) {
            struct nki_storage *storage = program->storages.at[repeat->other.first_storage + s];
            *vec_push(&program->storages) = storage;
        }
        copy_period(program, repeat, n_operands, k);
    }
}

#define LEAST_NOTED 1024 /* instructions */

void nki_repeat_note(struct nki_program *program, const struct nki_fold *loop) {
    while (program->repeats.len &&
           program->repeats.at[program->repeats.len - 1].first >= loop->first)
        program->repeats.len--;
    if ((uint64_t)loop->kept * loop->length >= LEAST_NOTED)
        *vec_push(&program->repeats) = *loop;
}
