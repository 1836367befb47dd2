/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzz targets share: one mutator, stored corpora, seeds. A target is a file fuzz_NAME.c
 * with LLVMFuzzerTestOneInput, which libFuzzer calls in the preset `fuzz`. Everywhere else its main
 * is fuzz_main:
 *
 *     fuzz_NAME 4000          replays tests/fuzz/corpus/NAME, then 4000 inputs made from it
 *     fuzz_NAME 5s            the same for five seconds
 *     fuzz_NAME FILE...       only these inputs
 *     fuzz_NAME write FOLDER  the target's own examples, each in a file
 *
 * Each run begins with a seed of its own, which it prints; HONE_FUZZ_SEED repeats one. When a
 * target dies or hangs, its input is kept in a file whose name is printed. */
#ifndef HONE_TESTS_FUZZ_FUZZ_H
#define HONE_TESTS_FUZZ_FUZZ_H

#include "base/base.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz;
struct fuzz_target {
    const char *name;
    const char *const *examples; /* whole inputs */
    size_t example_count;
    const char *const *pieces; /* pieces that often matter, put anywhere */
    size_t piece_count;
    int heads; /* not 0: every example is used after each first byte below it */
    int most;  /* mutations of an input; 0: 12 */
    /* Adds examples that are not in the table; NULL: none. */
    void (*begin)(struct fuzz *fuzz);
    /* Changes an input once. NULL: fuzz_mutate. */
    void (*mutate)(struct fuzz *fuzz, struct buf *text);
};

struct fuzz {
    const struct fuzz_target *target;
    uint64_t seed, state;
    VEC(struct buf) examples;
};

/* A number below n; 0 when n is 0. */
uint64_t fuzz_roll(struct fuzz *fuzz, uint64_t n);
/* A new example, to be filled. */
struct buf *fuzz_example(struct fuzz *fuzz);
/* Changes the text: bytes changed, inserted, dropped, repeated or cut off; pieces of the target or
 * of other examples inserted. */
void fuzz_mutate(struct fuzz *fuzz, struct buf *text);
/* The whole program. Returns its exit status. */
int fuzz_main(const struct fuzz_target *target, int argc, char **argv);

/* A target's table in its initialiser. */
#define FUZZ_TABLE(field, table) .field##s = (table), .field##_count = COUNT_OF(table)

#endif
