/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel computes, found from its program: every tile is an expression over elements of the
 * inputs, tiles that one expression makes become whole arrays, and these are the graph that
 * core/task/record makes of a reference. What cannot be said so is opaque and is named by its line.
 *
 *     program ──▶ values of tiles ──▶ pieces of outputs ──▶ graph ──▶ JSON, words
 *                 step*.c, scan.c      store.c, merge.c    emit*.c    print.c
 */
#ifndef HONE_LIFT_H
#define HONE_LIFT_H

#include "nki/nki.h"

#define LIFT_MAX_INSTRUCTIONS 400000
#define LIFT_MAX_VALUES 6000000 /* expressions, about 100 bytes each */

struct lift_limits {
    size_t instructions, values; /* 0: those above */
    const volatile int *cancel;  /* may be NULL */
};
/* A piece that stayed opaque: what it is, why, and the kernel's line. */
struct lift_opaque {
    const char *what, *why;
    int line;
    size_t times; /* instructions of this line */
    bool matters; /* an output hangs on it */
};
struct lifted;
/* Lifts a program that has all its rounds. The program must outlive the result. NULL and *err
 * (usage) where it is longer than the limits, or was cancelled. */
struct lifted *lift_program(const struct nki_program *program, const struct lift_limits *limits,
                            struct err *err) CC_MUST_USE;
void lifted_free(struct lifted *lifted); /* accepts NULL */

/* Whether all outputs are in the graph. */
bool lifted_is_whole(const struct lifted *lifted);
size_t lifted_opaque_count(const struct lifted *lifted);
struct lift_opaque lifted_opaque_at(const struct lifted *lifted, size_t index);

/* Prints the graph as meta.json of a recorded reference has it: the kernel's arguments are its
 * inputs, and `line` is the kernel's. What is not whole is {"refused": .., "line": ..}. `inputs`:
 * what the task calls the kernel with. Those that are no arrays the program has no more, and the
 * written kernel takes them all the same, keywords by their names. */
void lifted_print_graph(const struct lifted *lifted, const struct nki_input *inputs,
                        size_t n_inputs, struct buf *out);
/* Prints the graph for a person, a line for each array, and what is opaque. */
void lifted_print_words(const struct lifted *lifted, struct buf *out);

/* Compares the graph with what the kernel computed. `inputs` are the kernel's arguments in
 * order (nki_storage.input), `outputs` what it made of them; elements are taken here and there in
 * each output, as many as `work` operations allow. Returns the relative L2 error of the worst
 * output, and in *elements how many were compared; INFINITY where nothing can be compared. */
double lifted_check(const struct lifted *lifted, const struct array *inputs,
                    const struct array *outputs, double work, size_t *elements);

#endif
