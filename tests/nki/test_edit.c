/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "nki/nki.h"

static const char kernel[] = "@nki.jit\n"
                             "def f(a):\n"
                             "    # the output\n"
                             "    out = g(a)  # made here\n"
                             "\n"
                             "    for i in range(4):\n"
                             "        load(i)\n"
                             "        text = \"\"\"one\n"
                             "two\"\"\"\n"
                             "    if a: x; y\n"
                             "    return out\n";

/* The statement whose text starts like this. A failed assertion when there is none. */
static struct nki_node *stmt(const struct nki_tree *tree, const char *start) {
    for (uint32_t i = 0; i < tree->n_nodes; i++)
        if (nki_is_statement(tree->nodes[i]) &&
            str_starts(nki_node_text(tree, tree->nodes[i]), start))
            return tree->nodes[i];
    fail_msg("no statement starts with %s", start);
    return NULL;
}

/* Applies the edits, compares, and releases them with their tree. */
static void expect(struct nki_edits *edits, const char *expected) {
    struct buf out = {0};
    struct err err = {0};
    assert_true(nki_edits_apply(edits, &out, &err));
    assert_string_equal(out.at, expected);
    buf_free(&out);
    nki_edits_free(edits);
}

static void no_edits_give_the_source(void **state) {
    (void)state;
    struct nki_tree *tree = nki_parse("k.py", str_of(kernel), NULL);
    struct nki_edits edits = {.tree = tree};
    expect(&edits, kernel);
    nki_tree_free(tree);
}

static void replacements_may_come_in_any_order(void **state) {
    (void)state;
    struct nki_tree *tree = nki_parse("k.py", STR("f(a + b, (c))\n"), NULL);
    struct nki_node *call = stmt(tree, "f")->expr.value;
    struct nki_edits edits = {.tree = tree};
    nki_edit_node(&edits, call->call.args.at[1], STR("y"));
    nki_edit_node(&edits, call->call.args.at[0], STR("x"));
    nki_edit_insert(&edits, call->end, STR(".z"));
    nki_edit_insert(&edits, call->end, STR("[0]"));
    nki_edit_insert(&edits, call->start, STR("not "));
    expect(&edits, "not f(x, (y)).z[0]\n");
    nki_tree_free(tree);
}

static void overlapping_replacements_are_refused(void **state) {
    (void)state;
    struct nki_tree *tree = nki_parse("k.py", STR("a\nf(a + b)\n"), NULL);
    struct nki_node *call = stmt(tree, "f")->expr.value;
    struct nki_edits edits = {.tree = tree};
    struct buf out = {0};
    struct err err = {0};
    nki_edit_node(&edits, call, STR("g()"));
    nki_edit_node(&edits, call->call.args.at[0], STR("x"));
    assert_false(nki_edits_apply(&edits, &out, &err));
    assert_string_equal(err.text, "k.py:2: two changes of the source overlap here");
    buf_free(&out);
    nki_edits_free(&edits);
    nki_tree_free(tree);
}

static void inserted_lines_get_the_indentation(void **state) {
    (void)state;
    struct nki_tree *tree = nki_parse("k.py", STR("if a:\n\tb\n\tc"), NULL);
    struct nki_edits edits = {.tree = tree};
    assert_true(nki_edit_insert_before(&edits, stmt(tree, "b"), STR("if x:\n\ty\n\nz\n")));
    assert_true(nki_edit_insert_after(&edits, stmt(tree, "c"), STR("d")));
    expect(&edits, "if a:\n\tif x:\n\t\ty\n\n\tz\n\tb\n\tc\n\td\n");
    nki_tree_free(tree);
}

static void inserted_lines_get_the_line_ends_of_the_file(void **state) {
    (void)state;
    struct nki_tree *tree = nki_parse("k.py", STR("a\r\nb\r\n"), NULL);
    struct nki_edits edits = {.tree = tree};
    assert_true(nki_edit_insert_after(&edits, stmt(tree, "a"), STR("x\ny\n")));
    expect(&edits, "a\r\nx\r\ny\r\nb\r\n");
    nki_tree_free(tree);
}

static void replacements_have_the_line_ends_of_the_file(void **state) {
    (void)state;
    struct nki_tree *tree = nki_parse("k.py", STR("a\r\nb(c)\r\n"), NULL);
    struct nki_edits edits = {.tree = tree};
    nki_edit_node(&edits, stmt(tree, "a"), STR("x\ny\r\nz"));
    nki_edit_insert(&edits, stmt(tree, "b")->start, STR("w\n"));
    expect(&edits, "x\r\ny\r\nz\r\nw\r\nb(c)\r\n");
    nki_tree_free(tree);
    tree = nki_parse("k.py", STR("a\nb\n"), NULL);
    edits = (struct nki_edits){.tree = tree};
    nki_edit_node(&edits, stmt(tree, "a"), STR("x\r\ny"));
    expect(&edits, "x\ny\nb\n");
    nki_tree_free(tree);
}

static void what_follows_an_inner_statement_comes_first(void **state) {
    (void)state;
    struct nki_tree *tree = nki_parse("k.py", STR("for i in a:\n  b\nc\n"), NULL);
    struct nki_edits edits = {.tree = tree};
    assert_true(nki_edit_insert_before(&edits, stmt(tree, "c"), STR("before")));
    assert_true(nki_edit_insert_after(&edits, stmt(tree, "for"), STR("outer")));
    assert_true(nki_edit_insert_after(&edits, stmt(tree, "b"), STR("inner")));
    expect(&edits, "for i in a:\n  b\n  inner\nouter\nbefore\nc\n");
    nki_tree_free(tree);
}

static void decorators_belong_to_the_statement(void **state) {
    (void)state;
    struct nki_tree *tree = nki_parse("k.py", str_of(kernel), NULL);
    struct nki_span lines = nki_stmt_lines(tree, stmt(tree, "def"), NULL);
    assert_int_equal(lines.start, 0);
    assert_int_equal(lines.end, tree->source.len);
    struct nki_edits edits = {.tree = tree};
    assert_true(nki_edit_insert_before(&edits, stmt(tree, "def"), STR("import x")));
    struct buf out = {0};
    struct err err;
    assert_true(nki_edits_apply(&edits, &out, &err));
    assert_true(str_starts(buf_str(&out), "import x\n@nki.jit\n"));
    buf_free(&out);
    nki_edits_free(&edits);
    nki_tree_free(tree);
}

static void lines_take_their_comments_along(void **state) {
    (void)state;
    struct nki_tree *tree = nki_parse("k.py", str_of(kernel), NULL);
    bool shares;
    struct nki_node *out = stmt(tree, "out");
    assert_true(str_is(nki_text(tree, nki_stmt_lines(tree, out, &shares)),
                       "    out = g(a)  # made here\n"));
    assert_false(shares);
    assert_true(str_is(nki_text(tree, nki_stmt_lines_with_comments(tree, out)),
                       "    # the output\n    out = g(a)  # made here\n"));
    assert_true(str_is(nki_text(tree, nki_stmt_lines(tree, stmt(tree, "x"), &shares)), "x"));
    assert_true(shares);
    assert_true(str_is(nki_indent_of(tree, stmt(tree, "load")), "        "));
    assert_true(str_is(nki_indent_unit(tree), "    "));
    nki_tree_free(tree);
}

static void statements_that_share_a_line_take_no_lines_beside_them(void **state) {
    (void)state;
    struct nki_tree *tree = nki_parse("k.py", STR("if a: x; y\nelif b: z\nc \\\n + d\n"), NULL);
    struct nki_edits edits = {.tree = tree};
    assert_false(nki_edit_insert_before(&edits, stmt(tree, "x"), STR("w")));
    assert_false(nki_edit_insert_after(&edits, stmt(tree, "x"), STR("w")));
    assert_false(nki_edit_insert_before(&edits, stmt(tree, "elif"), STR("w")));
    assert_true(nki_edit_insert_after(&edits, stmt(tree, "c"), STR("w")));
    expect(&edits, "if a: x; y\nelif b: z\nc \\\n + d\nw\n");
    nki_tree_free(tree);
}

static void removing_leaves_a_kernel(void **state) {
    (void)state;
    static const struct {
        const char *source, *removed, *expected;
    } rows[] = {
        {"a\n# note\nb  # b\nc\n", "b", "a\n# note\nc\n"},
        {"if x:\n    b\nc\n", "b", "if x:\n    pass\nc\n"},
        {"a; b; c\n", "b", "a; c\n"},
        {"a; b; c\n", "a", "b; c\n"},
        {"a; b\nc\n", "b", "a\nc\n"},
        {"if x: b\n", "b", "if x: pass\n"},
        {"if x:\n    y\nelif z:\n    w\nelse:\n    v\n", "elif", "if x:\n    y\nelse:\n    v\n"},
        {"@d\ndef f():\n    pass\nx\n", "def", "x\n"},
        {"x", "x", ""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct nki_tree *tree = nki_parse("k.py", str_of(rows[i].source), NULL);
        struct nki_edits edits = {.tree = tree};
        nki_edit_remove_stmt(&edits, stmt(tree, rows[i].removed));
        struct buf out = {0};
        struct err err;
        assert_true(nki_edits_apply(&edits, &out, &err));
        assert_string_equal(out.at ? out.at : "", rows[i].expected);
        buf_free(&out);
        nki_edits_free(&edits);
        nki_tree_free(tree);
    }
}

static void reindenting_keeps_strings_and_blank_lines(void **state) {
    (void)state;
    struct nki_tree *tree = nki_parse("k.py", str_of(kernel), NULL);
    struct buf out = {0};
    nki_reindent(tree, nki_stmt_lines(tree, stmt(tree, "for"), NULL), STR("    "),
                 STR("            "), &out);
    assert_string_equal(out.at, "            for i in range(4):\n"
                                "                load(i)\n"
                                "                text = \"\"\"one\n"
                                "two\"\"\"\n");
    buf_clear(&out);
    nki_reindent(tree, nki_stmt_lines(tree, stmt(tree, "load"), NULL), STR("        "), STR(""),
                 &out);
    assert_string_equal(out.at, "load(i)\n");
    buf_free(&out);
    nki_tree_free(tree);
}

static void blocks_of_a_node_are_listed(void **state) {
    (void)state;
    struct nki_tree *tree = nki_parse("k.py", STR("try: a\nexcept b: c\nelse: d\n"), NULL);
    const struct nki_list *blocks[4];
    nki_blocks_of(stmt(tree, "try"), blocks);
    assert_int_equal(blocks[0]->len, 1);
    assert_int_equal(blocks[1]->at[0]->kind, NKI_EXCEPT_HANDLER);
    assert_int_equal(blocks[2]->len, 1);
    assert_int_equal(blocks[3]->len, 0);
    nki_blocks_of(stmt(tree, "a"), blocks);
    assert_null(blocks[0]);
    nki_tree_free(tree);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_edits_give_the_source),
        cmocka_unit_test(replacements_may_come_in_any_order),
        cmocka_unit_test(overlapping_replacements_are_refused),
        cmocka_unit_test(inserted_lines_get_the_indentation),
        cmocka_unit_test(inserted_lines_get_the_line_ends_of_the_file),
        cmocka_unit_test(replacements_have_the_line_ends_of_the_file),
        cmocka_unit_test(what_follows_an_inner_statement_comes_first),
        cmocka_unit_test(decorators_belong_to_the_statement),
        cmocka_unit_test(lines_take_their_comments_along),
        cmocka_unit_test(statements_that_share_a_line_take_no_lines_beside_them),
        cmocka_unit_test(removing_leaves_a_kernel),
        cmocka_unit_test(reindenting_keeps_strings_and_blank_lines),
        cmocka_unit_test(blocks_of_a_node_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
