/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs, most of them nearly legal. The bytes decide as long as there are some. Then
 * chance goes on, from the last ones. */
#ifndef HONE_TESTS_FUZZ_PROGRAMS_H
#define HONE_TESTS_FUZZ_PROGRAMS_H

#include "device/build.h"

struct dice {
    const uint8_t *data;
    size_t left;
    uint64_t state;
};
/* A number below n. */
uint32_t dice_roll(struct dice *dice, uint32_t n);

/* A program of any generation and dialect with ten storages of all spaces, of which up to four are
 * inputs. The caller ends it. */
struct build programs_begin(struct dice *dice);
/* One instruction more, with operands that it mostly takes. */
void programs_add(struct build *b, struct dice *dice);
/* Weaves a program of two cores; without instructions where they do not fit each other. */
void programs_end(struct build *b);
/* How many instructions were added last: two that meet, or one. */
size_t programs_last(const struct build *b);
/* Whether what was added last loads. */
bool programs_is_accepted(struct build *b);
/* The main of a target whose inputs are such bytes. */
int programs_main(const char *name, int argc, char **argv);

#endif
