/* SPDX-License-Identifier: Apache-2.0 */
/* What tests look through, for nobody else outside this room. */
#ifndef HONE_NKI_SYNTAX_TESTING_H
#define HONE_NKI_SYNTAX_TESTING_H

#include "nki/syntax/syntax.h"

/* The tree as a compact s-expression, one line: (Module (Assign x (BinOp + a 1))). For tests. */
void nki_dump(const struct nki_tree *tree, const struct nki_node *node, struct buf *out);
/* The source put together again from tokens and trivia; equal to tree->source by construction. */
void nki_print(const struct nki_tree *tree, struct buf *out);

#endif
