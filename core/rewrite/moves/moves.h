/* SPDX-License-Identifier: Apache-2.0 */
/* The menu of transformations, as everybody may see it. */
#ifndef HONE_REWRITE_MOVES_MOVES_H
#define HONE_REWRITE_MOVES_MOVES_H

/* Which way an edit moves its metric. */
enum rewrite_direction { REWRITE_DOWN, REWRITE_UP };

/* What the keys of kernels begin with that are written anew from the reference. */
#define REWRITE_ANEW "anew:"

/* The strategy that the key of an offer carries out; NULL for a key of another kind. */
const char *rewrite_strategy(const char *key);

#endif
