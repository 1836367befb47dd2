/* SPDX-License-Identifier: Apache-2.0 */
/* What tests look at. Nobody else outside this room may include it. */
#ifndef HONE_NKI_SYNTAX_TESTING_H
#define HONE_NKI_SYNTAX_TESTING_H

#include "nki/syntax/syntax.h"

/* Prints the tree as a compact s-expression on one line: (Module (Assign x (BinOp + a 1))). */
void nki_dump(const struct nki_tree *tree, const struct nki_node *node, struct buf *out);
/* Puts the source together again from tokens and trivia. The result equals tree->source. */
void nki_print(const struct nki_tree *tree, struct buf *out);

#endif
