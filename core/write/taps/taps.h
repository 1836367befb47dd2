/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions: a sum of products whose operands are parts of one array, some elements apart, and
 * parts of another one, the taps. The first array is brought to SBUF once, with what is summed over
 * on the partitions; every tap multiplies a part of that tile, and PSUM adds up all of them. Taps
 * of few channels lie above each other on the partitions, so that one product takes several. */
#ifndef HONE_WRITE_TAPS_TAPS_H
#define HONE_WRITE_TAPS_TAPS_H

#include "write/kit/kit.h"

/* find.c: the graph with such sums as one node each, of kind GRAPH_TAPS, whose operands are those
 * of all products in order; in the arena. Those that could not be written (writer->no_taps) stay as
 * they are. Nodes have the same numbers in either case. */
struct graph *taps_find(struct writer *writer, const struct graph *graph);

/* inset.c: where an update only puts numbers around the pixels of an image, or between them, and
 * convolutions are all that reads it, how: it lies nowhere. NULL where that is not so, or is not
 * wanted. */
const struct inset *taps_inset(struct writer *writer, int node);

/* taps.c: such a node as a stage. `operands` are the views of all operands in order, `to` where the
 * result lies. False where it cannot be written so: nothing is printed then. */
bool taps_emit(struct writer *writer, int node, const struct view *operands, const struct view *to);

#endif
