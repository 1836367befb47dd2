/* SPDX-License-Identifier: Apache-2.0 */
/* Small changes of statements, tried out: what alter.c has and its tables share. Private to this
 * folder. */
#ifndef HONE_DIAGNOSE_ALTER_H
#define HONE_DIAGNOSE_ALTER_H

#include "diagnose/private.h"

#define NUMBERS_MOST 64
#define DIGITS_MOST 6

struct altering {
    struct study *study;
    struct arena *arena; /* of one try */
    double numbers[NUMBERS_MOST];
    size_t number_count, tried, most; /* most: that are tried */
    bool *read;                       /* per storage: an instruction reads it */
    uint32_t *instrs, *first_of; /* instructions by site; per site, and one more: index in it */
    uint32_t at;                 /* instruction that is changed just now */
    struct judge *judge;         /* judge.c */
    bool mended;                 /* by the change that was tried last */
    size_t mends;
};
/* What is likelier to be meant, of several changes that make the outputs right: what the statement
 * says, then numbers, then what it does not say, then leaving it out. */
enum likely { LIKELY_DROP, LIKELY_UNSAID, LIKELY_NUMBER, LIKELY_SAID };
/* Where the tiles of an operand lie, round for round: base + sum of by[d] * digit d, which goes on
 * each per[d] rounds and begins anew after times[d]. */
struct walk {
    int n;
    int64_t base, by[DIGITS_MOST], per[DIGITS_MOST], times[DIGITS_MOST];
};
/* How instruction number `round` of a statement is changed. */
struct change_of {
    size_t operand, other;
    double number;
    int64_t by; /* an offset, or a flag */
    uint32_t storage;
    const struct walk *walk;
};
/* Its operands may be written to. False: it cannot be changed like that. */
typedef bool alter_fn(struct altering *altering, struct nki_instr *instr,
                      struct nki_operand *operands, const struct change_of *how, uint32_t round);

/* True when it makes the outputs right. `fn` NULL: leaves the statement out, but for its first
 * `keep` instructions. */
bool alter_try(struct altering *altering, size_t s, alter_fn *fn, const struct change_of *how,
               uint32_t keep);
/* Notes that the change tried last makes the outputs right: what it is, in words after "the outputs
 * are right". */
void alter_mend(struct altering *altering, size_t s, enum likely likely, const char *format, ...)
    CC_PRINTF(4, 5);
/* alter_tiles.c: another tile, or another place of it. */
void alter_tile(struct altering *altering, size_t s, size_t k, const struct nki_instr *instr);
/* .. and the same tile, moved. */
void alter_moves(struct altering *altering, size_t s, size_t k, const struct nki_ap *ap,
                 const char *name);
/* alter_walk.c: the same tiles in another order, or other steps. */
void alter_walk(struct altering *altering, size_t s, size_t k, const char *name);
/* .. and another offset of a mask or a numbering by place, whose tile is `dst`. */
void alter_place(struct altering *altering, size_t s, size_t k, const struct nki_ap *dst);
/* Whether the pattern lies within its storage. */
bool alter_fits(const struct altering *altering, const struct nki_ap *ap);

/* judge.c: whether an altered program is right. It stops at the first tile of an output that is
 * not. */
struct judge *judge_new(struct study *study);
void judge_free(struct judge *judge);
bool judge_is_right(struct judge *judge, const struct nki_program *program, bool stores);

#endif
