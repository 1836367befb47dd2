/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "nki/nki.h"
#include "nki/syntax/testing.h"

static struct nki_tree *parse(const char *source, struct diag_list *diags) {
    return nki_parse("k.py", str_of(source), diags);
}

/* ---- trees --------------------------------------------------------------------------------- */

/* Sources and the body of the module they parse to. */
static const struct {
    const char *source, *tree;
} trees[] = {
    {"x = 1", "(Assign [x] 1)"},
    {"a = b = c", "(Assign [a b] c)"},
    {"(a, [b, *c]) = d", "(Assign [(Tuple [a (List [b (Starred c)])])] d)"},
    {"x: int", "(AnnAssign x int _)"},
    {"x.y: f32 = 1", "(AnnAssign (Attribute x y) f32 1)"},
    {"a @= b", "(AugAssign @ a b)"},
    {"a //= 2; b **= 3; c >>= 1; d <<= 2",
     "(AugAssign // a 2) (AugAssign ** b 3) (AugAssign >> c 1) (AugAssign << d 2)"},
    {"0x_ff, 0b1_0, 0o17, 1_000, 1.5e-3, .5, 1e999, 3j, 99999999999999999999",
     "(Expr (Tuple [255 2 15 1000 f0.0015 f0.5 inf f3j big:1e+20]))"},
    {"'a' \"b\" r'\\n' '\\x41\\t\\u00e9\\\n!'", "(Expr \"ab\\\\nA\\x09\xc3\xa9!\")"},
    {"b'\\x00a' b'b'", "(Expr b\"\\x00ab\")"},
    {"'''two\r\nlines'''", "(Expr \"two\\x0alines\")"},
    {"f'{a!r:>{w}}{{}}{b[\"k\"]=}' 'tail'",
     "(Expr (JoinedStr [(FormattedValue a r (JoinedStr [\">\" (FormattedValue w _ _)])) "
     "\"{}b[\\\"k\\\"]=\" (FormattedValue (Subscript b \"k\") r _) \"tail\"]))"},
    {"f'{x:{y}.2f}{z + 1}'",
     "(Expr (JoinedStr [(FormattedValue x _ (JoinedStr [(FormattedValue y _ _) "
     "\".2f\"])) (FormattedValue (BinOp + z 1) _ _)]))"},
    {"-x ** -y", "(Expr (UnaryOp - (BinOp ** x (UnaryOp - y))))"},
    {"a + b * c - d // e % f",
     "(Expr (BinOp - (BinOp + a (BinOp * b c)) (BinOp % (BinOp // d e) f)))"},
    {"not a in b", "(Expr (UnaryOp not (Compare in a [b])))"},
    {"a < b <= c is not d not in e", "(Expr (Compare <,<=,is not,not in a [b c d e]))"},
    {"a and b or not c and d",
     "(Expr (BoolOp or [(BoolOp and [a b]) (BoolOp and [(UnaryOp not c) d])]))"},
    {"x if y else z if w else v", "(Expr (IfExp x y (IfExp z w v)))"},
    {"lambda a, /, b=1, *c, d, **e: a",
     "(Expr (Lambda (arguments [(arg /. a _ _) (arg . b _ 1) (arg *. c _ _) (arg =. d _ "
     "_) (arg **. e _ _)]) a))"},
    {"lambda: (yield)", "(Expr (Lambda (arguments []) (Yield _)))"},
    {"(a for a in b if c if d)", "(Expr (GeneratorExp a [(comprehension a b [c d])]))"},
    {"[x for x, *y in z for w in x]",
     "(Expr (ListComp x [(comprehension (Tuple [x (Starred y)]) z []) (comprehension w x "
     "[])]))"},
    {"{k: v for k, v in d}", "(Expr (DictComp k v [(comprehension (Tuple [k v]) d [])]))"},
    {"{1, *a}", "(Expr (Set [1 (Starred a)]))"},
    {"{**a, 'b': 1}", "(Expr (Dict [_ \"b\"] [a 1]))"},
    {"{}", "(Expr (Dict [] []))"},
    {"()", "(Expr (Tuple []))"},
    {"(a,)", "(Expr (Tuple [a]))"},
    {"((a))", "(Expr a)"},
    {"[]", "(Expr (List []))"},
    {"f(a, *b, c=1, **d)", "(Expr (Call f [a (Starred b)] [(keyword c 1) (keyword _ d)]))"},
    {"f(x for x in y)", "(Expr (Call f [(GeneratorExp x [(comprehension x y [])])] []))"},
    {"f(*a if b else c)", "(Expr (Call f [(Starred (IfExp a b c))] []))"},
    {"a.b.c[0](1).d",
     "(Expr (Attribute (Call (Subscript (Attribute (Attribute a b) c) 0) [1] []) d))"},
    {"t[1:2, ::3, ..., None]",
     "(Expr (Subscript t (Tuple [(Slice 1 2 _) (Slice _ _ 3) ... None])))"},
    {"t[a:b]", "(Expr (Subscript t (Slice a b _)))"},
    {"t[i, *j] = 1", "(Assign [(Subscript t (Tuple [i (Starred j)]))] 1)"},
    {"print((n := 4))", "(Expr (Call print [(NamedExpr n 4)] []))"},
    {"def f(a, /, b: int = 2, *args, c, d=4, **kw) -> g: pass",
     "(FunctionDef [] f (arguments [(arg /. a _ _) (arg . b int 2) (arg *. args _ _) "
     "(arg =. c _ _) (arg =. d _ 4) (arg **. kw _ _)]) g [(Pass)])"},
    {"@nki.jit\n@dec(1)\nasync def f(): await g",
     "(FunctionDef [(Attribute nki jit) (Call dec [1] [])] async f (arguments []) _ "
     "[(Expr (Await g))])"},
    {"class A(B, metaclass=C):\n  x: int = 1\n  def m(self): return self",
     "(ClassDef [] A [B] [(keyword metaclass C)] [(AnnAssign x int 1) (FunctionDef [] m "
     "(arguments [(arg . self _ _)]) _ [(Return self)])])"},
    {"if a: b\nelif c: d\nelse: e", "(If a [(Expr b)] [(If c [(Expr d)] [(Expr e)])])"},
    {"while a:\n\tbreak\nelse:\n\tcontinue", "(While a [(Break)] [(Continue)])"},
    {"for i, (j, k) in nl.affine_range(4), 2:\n    pass\nelse:\n    x",
     "(For (Tuple [i (Tuple [j k])]) (Tuple [(Call (Attribute nl affine_range) [4] []) "
     "2]) [(Pass)] [(Expr x)])"},
    {"async def f():\n  async for a in b: pass\n  async with c: pass",
     "(FunctionDef [] async f (arguments []) _ [(For async a b [(Pass)] []) (With async "
     "[(withitem c _)] [(Pass)])])"},
    {"with a as b, c as (d, e):\n  pass",
     "(With [(withitem a b) (withitem c (Tuple [d e]))] [(Pass)])"},
    {"with (a as b, c,):\n  pass", "(With [(withitem a b) (withitem c _)] [(Pass)])"},
    {"with (a): pass", "(With [(withitem a _)] [(Pass)])"},
    {"try: a\nexcept (B, C) as d: e\nexcept F: g\nexcept: h\nelse: i\nfinally: j",
     "(Try [(Expr a)] [(ExceptHandler (Tuple [B C]) d [(Expr e)]) (ExceptHandler F _ "
     "[(Expr g)]) (ExceptHandler _ _ [(Expr h)])] [(Expr i)] [(Expr j)])"},
    {"try: a\nfinally: b", "(Try [(Expr a)] [] [] [(Expr b)])"},
    {"match a, *b:\n  case 1 | -2.5 | None: c\n  case _ if d: e",
     "(Match (Tuple [a (Starred b)]) [(match_case (MatchOr [(MatchValue 1) (MatchValue "
     "(UnaryOp - f2.5)) (MatchValue None)]) _ [(Expr c)]) (match_case (MatchAs _ _) d [(Expr "
     "e)])])"},
    {"match a:\n  case b, (c), *d: pass\n  case [*_,] | () as e: pass",
     "(Match a [(match_case (MatchSequence [(MatchAs _ b) (MatchAs _ c) (MatchStar d)]) _ "
     "[(Pass)]) (match_case (MatchAs (MatchOr [(MatchSequence [(MatchStar _)]) (MatchSequence "
     "[])]) e) _ [(Pass)])])"},
    {"match a:\n  case {'k': b.c, d.e: {}, **f}: pass\n  case G.H(1, x=(i,)): pass",
     "(Match a [(match_case (MatchMapping [\"k\" (Attribute d e)] [(MatchValue (Attribute b c)) "
     "(MatchMapping [] [] _)] f) _ [(Pass)]) (match_case (MatchClass (Attribute G H) [(MatchValue "
     "1)] [(keyword_pattern x (MatchSequence [(MatchAs _ i)]))]) _ [(Pass)])])"},
    {"match = case = _", "(Assign [match case] _)"},
    {"match(a)[1:2]", "(Expr (Subscript (Call match [a] []) (Slice 1 2 _)))"},
    {"raise", "(Raise _ _)"},
    {"raise A from b", "(Raise A b)"},
    {"assert a, 'm'", "(Assert a \"m\")"},
    {"del a, b[0], c.d", "(Delete [a (Subscript b 0) (Attribute c d)])"},
    {"global a, b", "(Global a b)"},
    {"return", "(Return _)"},
    {"import a.b.c as d, e", "(Import [(alias a.b.c d) (alias e _)])"},
    {"from . import a", "(ImportFrom 1 _ [(alias a _)])"},
    {"from ...x.y import (a as b, c,)", "(ImportFrom 3 x.y [(alias a b) (alias c _)])"},
    {"from m import *", "(ImportFrom 0 m [(alias * _)])"},
    {"match = 1; match[0]; match(x)",
     "(Assign [match] 1) (Expr (Subscript match 0)) (Expr (Call match [x] []))"},
    {"x = (1 +\n     2)  # note\n\n# end", "(Assign [x] (BinOp + 1 2))"},
    {"if a:\n        b\n        # comment\n\n        c\nd",
     "(If a [(Expr b) (Expr c)] []) (Expr d)"},
    {"\xef\xbb\xbfx = \xc3\xa9", "(Assign [x] \xc3\xa9)"},
    {"x = a \\\n  + b", "(Assign [x] (BinOp + a b))"},
    {"yield_ = 1if x else 2", "(Assign [yield_] (IfExp 1 x 2))"},
};

static void every_construct_gives_its_tree(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(trees); i++) {
        struct diag_list diags = {0};
        struct nki_tree *tree = parse(trees[i].source, &diags);
        struct buf dump = {0}, expected = {0};
        nki_dump(tree, NULL, &dump);
        buf_printf(&expected, "(Module [%s])", trees[i].tree);
        assert_string_equal(dump.at, expected.at);
        assert_int_equal(diags.all.len, 0);
        buf_free(&dump);
        buf_free(&expected);
        nki_tree_free(tree);
        diag_free(&diags);
    }
}

static void every_source_prints_back(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(trees); i++) {
        struct nki_tree *tree = parse(trees[i].source, NULL);
        struct buf out = {0};
        nki_print(tree, &out);
        assert_string_equal(out.at, trees[i].source);
        buf_free(&out);
        nki_tree_free(tree);
    }
}

/* ---- errors -------------------------------------------------------------------------------- */

static const struct {
    const char *source, *diagnostics;
} errors[] = {
    {"x = (1,\ny = 2\n", "1:5: '(' is never closed; expected ')'"},
    {"def f(:\n    pass\n", "1:6: '(' is never closed; expected ')'"},
    {"if x\n    y\nz = 1 2\n",
     "1:5: found the end of the line, expected ':' after the condition\n3:7: found '2', "
     "expected an operator or the end of the statement"},
    {"x = 'abc\ny = 3\n",
     "1:5: the string that starts here is not closed before the end of the line"},
    {"for i in range(3):\nx = 1\n", "1:1: no indented block follows the loop header"},
    {"  x = 1\n", "1:3: this line is indented, but no block starts above it"},
    {"if a:\n    b\n   c\n",
     "3:4: this line is indented by 3 columns, which is no enclosing block's "
     "indentation; the nearest is 0"},
    {"f(a=1, 2)\n",
     "1:8: a positional argument stands after a keyword argument; give it a keyword or "
     "move it to the front"},
    {"1 = x\n", "1:1: cannot assign to a constant; a name, attribute, subscript or a list of them "
                "is allowed here"},
    {"f() += 1\n", "1:1: an augmented assignment changes one name, attribute or subscript"},
    {"x = [1, 2\ndef f(): pass\n", "1:5: '[' is never closed; expected ']'"},
    {"a)\n", "1:2: found ')' without the bracket that it closes"},
    {"(a]\n", "1:3: found ']', expected ')' for the '(' on line 1"},
    {"x = 08\n",
     "1:5: '08' is not a number: a decimal number does not start with 0; octal is written "
     "0o17"},
    {"x = 1__0\n",
     "1:5: '1__0' is not a number: letters, digits or underscores follow it that do not "
     "belong there"},
    {"x = 5e\n", "1:5: '5e' is not a number: letters, digits or underscores follow it that do not "
                 "belong there"},
    {"x = a ? b\n", "1:7: found '?', which has no meaning here"},
    {"x = \"\"\"abc\n",
     "1:5: the string that starts here is not closed before the end of the file"},
    {"f'{x'\n", "1:3: '{' of the f-string is never closed; expected '}' (write '{{' for a brace)"},
    {"f'{}'\n", "1:3: found no expression between '{' and '}' in the f-string"},
    {"f'}'\n", "1:3: found a single '}' in an f-string; write '}}' for a brace"},
    {"f'{x!z}'\n", "1:5: a conversion in an f-string is !r, !s or !a"},
    {"f'{a b}'\n", "1:6: found 'b', expected the end of the expression in the f-string"},
    {"'a' b'c'\n", "1:5: strings and bytes stand side by side; they cannot be joined"},
    {"def f(a, a=1, b): pass\n",
     "1:15: a parameter without a default follows one that has a default"},
    {"def f(*): pass\n", "1:8: found ')', expected the name of a parameter"},
    {"match x:\n    case 1 +:\n        pass\n    case 2:\n        y = = 1\nz = = 1\n",
     "2:13: found ':', expected an expression\n5:13: found '=', expected an expression\n6:5: "
     "found '=', expected an expression"},
    {"match x:\n    case a: pass\n    case 1: pass\n",
     "2:10: this takes everything, so no case after it is reached"},
    {"match x:\n    case a | 1: pass\n",
     "2:10: this takes everything, so nothing after it is reached"},
    {"match x:\n    case (a, a): pass\n", "2:14: the pattern binds 'a' twice"},
    {"match x:\n    case [a] | [b]: pass\n",
     "2:16: alternatives of a pattern bind different names"},
    {"match x:\n    case *a, *b: pass\n    case *a: pass\n",
     "2:14: a sequence of patterns may have one '*' only\n3:10: '*' stands in a sequence of "
     "patterns only"},
    {"match x:\n    case C(a=1, 2): pass\n", "2:17: a pattern by position follows one by name"},
    {"match x:\n    case 1 + a: pass\n    case f'': pass\n    case {a: 1}: pass\n",
     "2:10: a pattern is no expression; write the value as a literal\n3:10: a pattern cannot be "
     "an f-string\n4:11: the key of a pattern is a literal or a name with a dot"},
    {"match x:\n    case 1: pass\n    y = 1\n",
     "3:5: found 'y', expected 'case' in the block of 'match'"},
    {"try:\n    a\nexcept* E:\n    b\n",
     "3:7: hone does not know groups of exceptions yet; use except"},
    {"def f[T: (int, str)](x: T): pass\nclass C[T](B): pass\n",
     "1:6: hone does not know parameters of types yet; leave them out\n"
     "2:8: hone does not know parameters of types yet; leave them out"},
    {"type X = int\ntype = 1\ntype(x)\n",
     "1:1: hone does not know the statement type yet; leave the word out"},
    {"x = '\xff'\n", "1:6: found the byte 0xff, which is no UTF-8; save the file as UTF-8"},
    {"try:\n    a\n", "1:1: this 'try' has no 'except' and no 'finally'"},
    {"else: pass\n", "1:1: this branch follows no 'if' or loop; check the indentation"},
    {"import a.\n", "1:10: found the end of the line, expected a name after '.'"},
    {"lambda: \n", "1:9: found the end of the line, expected an expression"},
    {"'\\xg'\n", "1:2: this escape needs 2 hexadecimal digits, found 0"},
    {"@x\ny = 1\n", "2:1: found 'y', expected 'def' or 'class' after a decorator"},
    {"print 'a'\n", "1:7: found a string, expected an operator or the end of the statement"},
    {"x = \xe2\x80\x9c"
     "a\xe2\x80\x9d\n",
     "1:5: found a curly quote (U+201C); write \"\n1:9: found a curly quote (U+201D); write \""},
    {"if x:\n\ty\n        z\n",
     "3:9: this line is indented with tabs where its block uses blanks (or the other way "
     "round); use one of them throughout"},
    {"x = \\ 1\n", "1:5: found '\\' that is not the last character of its line; it can only join a "
                   "line with the next one"},
    {"async x\n", "1:7: found 'x', expected 'def', 'for' or 'with' after 'async'"},
    {"a = b if c\n",
     "1:11: found the end of the line, expected 'else' of the conditional expression"},
    {"class A\n  pass\n", "1:8: found the end of the line, expected ':' after the class header"},
    {"return = 1\n", "1:8: found '=', expected an expression"},
    {"(x for x in y) = 1\n",
     "1:1: cannot assign to an expression; a name, attribute, subscript or a list of "
     "them is allowed here"},
    {"del f()\n",
     "1:5: cannot delete the result of a call; a name, attribute, subscript or a list of "
     "them is allowed here"},
    {"x: int: 3\n", "1:7: found ':', expected an operator or the end of the statement"},
    {"f(**a, *b, c)\n",
     "1:12: a positional argument stands after a keyword argument; give it a keyword or "
     "move it to the front"},
    {"with open(x) as 1: pass\n",
     "1:17: cannot assign to a constant; a name, attribute, subscript or a list of them "
     "is allowed here"},
    {"a if b else c := 1\n", "1:15: found ':=', expected an operator or the end of the statement"},
    {"\xff\n", "1:1: found the byte 0xff, which is no UTF-8; save the file as UTF-8"},
};

static void print_all(const struct diag_list *diags, struct buf *out) {
    for (size_t i = 0; i < diags->all.len; i++) {
        const struct diag *diag = &diags->all.at[i];
        buf_printf(out, "%s%d:%d: %s", i ? "\n" : "", diag->line, diag->column, diag->message);
    }
}

static void bad_source_is_reported_with_place_and_expectation(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(errors); i++) {
        struct diag_list diags = {0};
        struct nki_tree *tree = parse(errors[i].source, &diags);
        struct buf found = {0};
        print_all(&diags, &found);
        assert_string_equal(found.at, errors[i].diagnostics);
        assert_int_equal(tree->errors, diags.errors);
        assert_string_equal(diags.all.at[0].code,
                            strstr(found.at, "hone does not") ? "hone-gap-python" : "syntax");
        assert_string_equal(diags.all.at[0].file, "k.py");
        buf_free(&found);
        nki_tree_free(tree);
        diag_free(&diags);
    }
}

static void errors_in_several_statements_are_all_reported(void **state) {
    (void)state;
    struct diag_list diags = {0};
    struct nki_tree *tree = parse("def f(a):\n"
                                  "    x = = 1\n"
                                  "    for i in range(3)\n"
                                  "        y = 1 +\n"
                                  "        z = 2\n"
                                  "    return x\n"
                                  "g(1 2)\n"
                                  "h()\n",
                                  &diags);
    struct buf dump = {0};
    nki_dump(tree, NULL, &dump);
    assert_int_equal(diags.errors, 4);
    assert_int_equal(diags.all.at[2].line, 4);
    assert_string_equal(dump.at, "(Module [(FunctionDef [] f (arguments [(arg . a _ _)]) _ "
                                 "[(Error []) (Error [(Error []) (Assign [z] 2)]) (Return x)]) "
                                 "(Error []) (Expr (Call h [] []))])");
    buf_free(&dump);
    nki_tree_free(tree);
    diag_free(&diags);
}

static void a_nul_byte_is_reported(void **state) {
    (void)state;
    struct diag_list diags = {0};
    struct nki_tree *tree = nki_parse("k.py", STR("x = 1\0\n"), &diags);
    assert_int_equal(tree->errors, 1);
    assert_string_equal(diags.all.at[0].message,
                        "found a NUL byte; a kernel is text without NUL bytes");
    nki_tree_free(tree);
    diag_free(&diags);
}

static void no_more_than_fifty_errors_are_reported(void **state) {
    (void)state;
    struct diag_list diags = {0};
    struct buf source = {0};
    for (int i = 0; i < 200; i++)
        buf_puts(&source, "1 = x\n");
    struct nki_tree *tree = nki_parse("k.py", buf_str(&source), &diags);
    assert_int_equal(diags.all.len, NKI_MAX_ERRORS);
    assert_int_equal(tree->errors, 200);
    nki_tree_free(tree);
    buf_free(&source);
    diag_free(&diags);
}

/* ---- limits -------------------------------------------------------------------------------- */

static void repeat(struct buf *out, const char *text, int times) {
    for (int i = 0; i < times; i++)
        buf_puts(out, text);
}

static void expect_limit(struct buf *source, const char *part) {
    struct diag_list diags = {0};
    struct nki_tree *tree = nki_parse("k.py", buf_str(source), &diags);
    assert_true(diags.errors >= 1);
    assert_non_null(strstr(diags.all.at[0].message, part));
    nki_tree_free(tree);
    diag_free(&diags);
    buf_free(source);
}

static void deep_nesting_is_refused_however_it_is_written(void **state) {
    (void)state;
    static const struct {
        const char *open, *close;
    } shapes[] = {
        {"(", ")"}, {"[", "]"},   {"f(", ")"},      {"a[", "]"},          {"{1:", "}"},
        {"-", ""},  {"not ", ""}, {"lambda: ", ""}, {"a ** ", ""},        {"", ".a"},
        {"", "()"}, {"a + ", ""}, {"await ", ""},   {"a if b else ", ""}, {"*", ""},
    };
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        struct buf source = {0};
        repeat(&source, shapes[i].open, 100000);
        buf_puts(&source, "x");
        repeat(&source, shapes[i].close, 100000);
        expect_limit(&source, i == 14 ? "expected" : "nest");
    }
}

static void deep_blocks_and_long_elif_chains_are_refused(void **state) {
    (void)state;
    struct buf blocks = {0}, chain = {0};
    for (int i = 0; i < 300; i++) {
        repeat(&blocks, " ", i);
        buf_puts(&blocks, "if x:\n");
    }
    expect_limit(&blocks, "nest");
    buf_puts(&chain, "if x: pass\n");
    repeat(&chain, "elif x: pass\n", 1000);
    expect_limit(&chain, "nest");
}

static void moderate_nesting_is_fine(void **state) {
    (void)state;
    struct buf source = {0};
    repeat(&source, "(", 150);
    buf_puts(&source, "x");
    repeat(&source, ")", 150);
    repeat(&source, " + 1", 150);
    struct nki_tree *tree = nki_parse("k.py", buf_str(&source), NULL);
    assert_int_equal(tree->errors, 0);
    nki_tree_free(tree);
    buf_free(&source);
}

static void a_file_over_the_size_limit_is_refused(void **state) {
    (void)state;
    struct buf source = {0};
    char *blanks = mem_alloc(NKI_MAX_SOURCE + 1, 1);
    memset(blanks, ' ', NKI_MAX_SOURCE + 1);
    buf_add(&source, blanks, NKI_MAX_SOURCE + 1);
    free(blanks);
    expect_limit(&source, "8388609 bytes");
}

static void a_tree_over_the_node_limit_is_refused(void **state) {
    (void)state;
    struct buf source = {0};
    buf_puts(&source, "[");
    repeat(&source, "a,", NKI_MAX_NODES + 1);
    buf_puts(&source, "]\nx = = 1\n");
    expect_limit(&source, "more than 2097152");
}

/* ---- looking things up --------------------------------------------------------------------- */

static const char small[] = "import nki.language as nl\n"
                            "\n"
                            "def f(a):\n"
                            "    # rows\n"
                            "    for i in nl.affine_range(4):  # tiles\n"
                            "        b = ((a[i]) + 1) * 2\n"
                            "    return b\n";

static struct nki_node *find(const struct nki_tree *tree, enum nki_kind kind, int which) {
    for (uint32_t i = 0; i < tree->n_nodes; i++)
        if (tree->nodes[i]->kind == kind && which-- == 0)
            return tree->nodes[i];
    return NULL;
}

static void spans_and_places_are_exact(void **state) {
    (void)state;
    struct nki_tree *tree = parse(small, NULL);
    struct nki_node *loop = find(tree, NKI_FOR, 0);
    struct nki_place place = nki_place_of(tree, loop->start);
    assert_int_equal(place.line, 5);
    assert_int_equal(place.column, 5);
    assert_true(str_is(nki_node_text(tree, loop->for_.iter), "nl.affine_range(4)"));
    assert_true(str_ends(nki_node_text(tree, loop), "* 2"));
    struct nki_node *sum = find(tree, NKI_BIN_OP, 1);
    assert_true(str_is(nki_node_text(tree, sum), "(a[i]) + 1"));
    assert_int_equal(sum->parens, 1);
    assert_true(str_is(nki_text(tree, nki_outer_span(tree, sum)), "((a[i]) + 1)"));
    assert_true(str_is(nki_text(tree, nki_outer_span(tree, sum->bin_op.left)), "(a[i])"));
    assert_true(str_is(nki_text(tree, sum->bin_op.op_span), "+"));
    assert_int_equal(tree->n_comments, 2);
    assert_true(str_is(nki_text(tree, tree->comments[1]), "# tiles"));
    nki_tree_free(tree);
}

static void nodes_know_their_neighbours(void **state) {
    (void)state;
    struct nki_tree *tree = parse(small, NULL);
    struct nki_node *function = find(tree, NKI_FUNCTION_DEF, 0);
    struct nki_node *index = find(tree, NKI_SUBSCRIPT, 0);
    uint32_t position;
    assert_ptr_equal(nki_enclosing(index, NKI_FUNCTION_DEF), function);
    assert_int_equal(nki_statement_of(index)->kind, NKI_ASSIGN);
    assert_true(nki_contains(function, index));
    assert_false(nki_contains(index, function));
    assert_ptr_equal(nki_block_of(find(tree, NKI_RETURN, 0), &position),
                     &function->function_def.body);
    assert_int_equal(position, 1);
    nki_tree_free(tree);
}

static void nodes_stand_in_source_order(void **state) {
    (void)state;
    struct nki_tree *tree = parse("f(a=1, *b)\n{c: 1, d: 2, e: 3}\nx if y else z\n", NULL);
    for (uint32_t i = 1; i < tree->n_nodes; i++)
        assert_true(tree->nodes[i]->start >= tree->nodes[i - 1]->start);
    nki_tree_free(tree);
}

static void dotted_names_and_keywords_are_found(void **state) {
    (void)state;
    struct nki_tree *tree = parse("nki.language.load(x, dtype=y).z\n", NULL);
    struct nki_node *call = find(tree, NKI_CALL, 0);
    struct buf name = {0};
    assert_true(nki_is_dotted(call->call.func, "nki.language.load"));
    assert_false(nki_is_dotted(call->call.func, "language.load"));
    assert_false(nki_is_dotted(call->call.func, "x.nki.language.load"));
    assert_true(nki_dotted_name(call->call.func, &name));
    assert_string_equal(name.at, "nki.language.load");
    assert_false(nki_dotted_name(call->parent, &name));
    assert_true(str_is(nki_keyword(call, "dtype")->name.id, "y"));
    assert_null(nki_keyword(call, "mask"));
    buf_free(&name);
    nki_tree_free(tree);
}

static void precedence_says_when_parentheses_are_needed(void **state) {
    (void)state;
    static const char *const loosest_first[] = {
        "a, b",  "lambda: a", "a if b else c", "a or b",  "a and b", "not a",
        "a < b", "a | b",     "a ^ b",         "a & b",   "a << b",  "a + b",
        "a * b", "-a",        "a ** b",        "await a", "a.b"};
    int last = -1;
    for (size_t i = 0; i < COUNT_OF(loosest_first); i++) {
        struct nki_tree *tree = parse(loosest_first[i], NULL);
        int precedence = nki_precedence(find(tree, NKI_EXPR, 0)->expr.value);
        assert_true(precedence > last);
        last = precedence;
        nki_tree_free(tree);
    }
}

/* ---- dialects and kernels ------------------------------------------------------------------ */

static void dialects_are_told_by_imports_then_by_use(void **state) {
    (void)state;
    static const struct {
        const char *source, *dialect, *why;
    } rows[] = {
        {"import neuronxcc.nki as nki\n", "legacy", "imports neuronxcc"},
        {"from neuronxcc import nki\n", "legacy", "imports neuronxcc"},
        {"import nki, numpy\n", "current", "imports nki"},
        {"from nki.language import load\n", "current", "imports nki"},
        {"import nkipy\n", "unknown", "the file does not show which"},
        {"from .nki import x\n", "unknown", "the file does not show which"},
        {"def f(a): return nl.load(a, mask=m)\n", "legacy", "passes mask="},
        {"def f(a): x = nl.arange(4)[:, None]\n", "legacy", "uses nl.arange"},
        {"def f(a): nisa.tensor_copy(dst=b, src=a)\n", "current", "passes dst= to nki.isa"},
        {"def f(a): b = nisa.tensor_copy(a)\n", "legacy", "uses the value of a nki.isa call"},
        {"import nki\nimport neuronxcc.nki\nnisa.memset(dst=t, value=0)\n", "current",
         "passes dst= to nki.isa"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct nki_tree *tree = parse(rows[i].source, NULL);
        struct nki_dialect_info found = nki_detect_dialect(tree);
        assert_string_equal(nki_dialect_name(found.dialect), rows[i].dialect);
        assert_string_equal(found.why, rows[i].why);
        nki_tree_free(tree);
    }
}

static void the_kernel_is_found_by_name_decorator_or_being_alone(void **state) {
    (void)state;
    static const struct {
        const char *source, *name, *kernel; /* kernel NULL: an error */
    } rows[] = {
        {"@nki.jit\ndef a(): pass\ndef b(): pass\n", NULL, "a"},
        {"@nki.jit\ndef a(): pass\ndef b(): pass\n", "b", "b"},
        {"@nki.jit(mode='trace')\ndef a(): pass\ndef b(): pass\n", NULL, "a"},
        {"@jit\ndef a(): pass\n@jit\ndef b(): a()\n", NULL, "b"},
        {"@jit\ndef b(): a()\n@jit\ndef a(): pass\n", NULL, "b"},
        {"def helper(): pass\ndef add_kernel(): pass\n", NULL, "add_kernel"},
        {"def solution(): pass\n", NULL, "solution"},
        {"def a(): pass\ndef b(): pass\n", NULL, NULL},
        {"x = 1\n", NULL, NULL},
        {"def a(): pass\n", "b", NULL},
        {"class C:\n  def a(self): pass\ndef b(): pass\n", NULL, "b"},
        {"if x:\n  def a(): pass\n", "a", "a"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct nki_tree *tree = parse(rows[i].source, NULL);
        struct err err = {0};
        struct nki_node *kernel = nki_find_kernel(tree, rows[i].name, &err);
        assert_int_equal(kernel != NULL, rows[i].kernel != NULL);
        if (kernel)
            assert_true(str_is(kernel->function_def.name, rows[i].kernel));
        else
            assert_non_null(strstr(err.text, "k.py: "));
        nki_tree_free(tree);
    }
}

static void a_kernel_that_is_not_there_is_told_from_what_is(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"@jit\ndef one(): pass\n@jit\ndef two(): pass\n",
         "'three' at module level; there is one, two"},
        {"x = 1\n", "'three' at module level; there is none"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct nki_tree *tree = parse(rows[i][0], NULL);
        struct err err = {0};
        assert_null(nki_find_kernel(tree, "three", &err));
        assert_non_null(strstr(err.text, rows[i][1]));
        nki_tree_free(tree);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_construct_gives_its_tree),
        cmocka_unit_test(every_source_prints_back),
        cmocka_unit_test(bad_source_is_reported_with_place_and_expectation),
        cmocka_unit_test(errors_in_several_statements_are_all_reported),
        cmocka_unit_test(a_nul_byte_is_reported),
        cmocka_unit_test(no_more_than_fifty_errors_are_reported),
        cmocka_unit_test(deep_nesting_is_refused_however_it_is_written),
        cmocka_unit_test(deep_blocks_and_long_elif_chains_are_refused),
        cmocka_unit_test(moderate_nesting_is_fine),
        cmocka_unit_test(a_file_over_the_size_limit_is_refused),
        cmocka_unit_test(a_tree_over_the_node_limit_is_refused),
        cmocka_unit_test(spans_and_places_are_exact),
        cmocka_unit_test(nodes_know_their_neighbours),
        cmocka_unit_test(nodes_stand_in_source_order),
        cmocka_unit_test(dotted_names_and_keywords_are_found),
        cmocka_unit_test(precedence_says_when_parentheses_are_needed),
        cmocka_unit_test(dialects_are_told_by_imports_then_by_use),
        cmocka_unit_test(the_kernel_is_found_by_name_decorator_or_being_alone),
        cmocka_unit_test(a_kernel_that_is_not_there_is_told_from_what_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
