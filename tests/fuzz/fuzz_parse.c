/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes into the parser: no crash, no hang, and the tokens with their trivia give the bytes
 * back. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "nki/nki.h"
#include "nki/syntax/testing.h"

static void require(bool holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "fuzz_parse: %s\n", what);
        abort();
    }
}

/* What holds for every tree: parents, numbers, heights and spans fit together. */
static void check_tree(const struct nki_tree *tree) {
    for (uint32_t i = 0; i < tree->n_nodes; i++) {
        const struct nki_node *node = tree->nodes[i];
        require(node->id == i && node->last >= i && node->last < tree->n_nodes, "pre-order");
        require(node->height >= 1 && node->height <= NKI_MAX_DEPTH, "height");
        require((node->parent == NULL) == (i == 0), "parent");
        require(!node->parent || nki_contains(node->parent, node), "descendants");
        require(node->start <= node->end && node->end <= tree->source.len, "span");
    }
}

static void check_edits(const struct nki_tree *tree) {
    struct nki_edits edits = {.tree = tree};
    struct buf out = {0};
    struct err err;
    for (uint32_t i = 0; i < tree->n_nodes; i++)
        if (nki_is_statement(tree->nodes[i]) && tree->nodes[i]->kind != NKI_ERROR && i % 3 == 1) {
            (void)!nki_edit_insert_before(&edits, tree->nodes[i], STR("pass\n"));
            (void)!nki_edit_insert_after(&edits, tree->nodes[i], STR("pass"));
        }
    require(nki_edits_apply(&edits, &out, &err), "insertions never overlap");
    struct nki_tree *again = nki_parse("edited.py", buf_str(&out), NULL);
    require(tree->errors || !again->errors, "inserted statements keep a kernel parseable");
    nki_tree_free(again);
    nki_edits_free(&edits);
    buf_free(&out);
}

static bool is_line_end(char c) {
    return c == '\n' || c == '\r';
}

/* Whether text put after it would belong to its last line, or that line to the one before. */
static bool is_open_at_end(struct str source) {
    size_t end = source.len;
    while (end && !is_line_end(source.at[end - 1]))
        end--;
    while (end && is_line_end(source.at[end - 1]))
        end--;
    return str_ends(source, "\r") || str_ends(source, "\\") || (end && source.at[end - 1] == '\\');
}

/* One more remark leaves it the same kernel. */
static void check_hash(const struct nki_tree *tree) {
    struct buf more = {0};
    if (tree->errors || is_open_at_end(tree->source))
        return;
    buf_add(&more, tree->source.at, tree->source.len);
    buf_puts(&more, "\n# a remark\n");
    struct hash a = nki_source_hash(tree->source), b = nki_source_hash(buf_str(&more));
    require(strcmp(a.hex, b.hex) == 0, "a remark makes no other kernel");
    buf_free(&more);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct diag_list diags = {0};
    struct buf out = {0};
    struct str source = {(const char *)data, size};
    struct nki_tree *tree = nki_parse("fuzz.py", source, &diags);
    nki_print(tree, &out);
    require(out.len == size && (!size || memcmp(out.at, data, size) == 0), "prints back");
    require((tree->errors == 0) == (diags.errors == 0), "errors are reported");
    require(diags.all.len <= NKI_MAX_ERRORS, "not more errors than the limit");
    check_tree(tree);
    check_edits(tree);
    check_hash(tree);
    buf_clear(&out);
    nki_dump(tree, NULL, &out);
    (void)nki_detect_dialect(tree);
    struct nki_lint_options strict = {.strict = true};
    nki_lint(tree, &strict, &diags);
    buf_free(&out);
    diag_free(&diags);
    nki_tree_free(tree);
    return 0;
}

#ifndef HONE_LIBFUZZER

static const char *const seeds[] = {
    "import nki\nimport nki.language as nl\n\n@nki.jit\ndef f(a, *, b=1, **kw):\n"
    "    out = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.shared_hbm)  # result\n"
    "    for i in range(4):\n        if i % 2 == 0 and not b:\n"
    "            out[i, 0:4] += a[i] ** -2\n        elif b:\n            continue\n"
    "        else:\n            break\n    return out\n",
    "x = f'{a!r:>{width}} {{}} {b[\"k\"]=}' \"tail\" rb'raw'\ny: int = 0x_ff + 1e-3j\n",
    "try:\n\twith a as b, c:\n\t\traise E from None\nexcept (A, B) as e:\n\tpass\n"
    "finally:\n\tdel x, y\n",
    "class A(B, metaclass=C):\n  \"\"\"doc\n  string\"\"\"\n"
    "  z = [i for i in (1, 2) if i]; w = {**a, 'b': 1}\n",
    "lambda x, /, y=1: (yield)\nwhile (n := n - 1) > 0: print(n)\nelse: pass\n"
    "async def g(): await h\n",
    "a = b = c, *d = {1, 2}, {k: v for k, v in e}\na[1:2, ::3, ...] @= b if c else d\r\n"
    "match x:\n case 1 | -2 if y: pass\n case {'k': [a, *_], **r} | C(b, c=d.e) as f: pass\n"
    " case _: pass\n",
};

static const char *const scraps[] = {
    "(",      ")",  "[",        "]",    "{",      "}",      ":",      "\n",      "\n    ", "\t",
    "'",      "\"", "\"\"\"",   "f'",   "{x!r:",  "\\",     "\\\n",   "#",       ",",      "*",
    "**",     "=",  ":=",       "if ",  "else",   "for ",   "in ",    "lambda ", "not ",   "def ",
    "class ", "@",  "\xc3\xa9", "\xff", "\r\n",   ";",      "match ", "case ",   "_",      "as ",
    "...",    "0x", "1_",       "e9",   "async ", "yield ", "\f",
};

static const struct fuzz_target target = {
    .name = "parse", FUZZ_TABLE(example, seeds), FUZZ_TABLE(piece, scraps)};

int main(int argc, char **argv) {
    return fuzz_main(&target, argc, argv);
}

#endif
