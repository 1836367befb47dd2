/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "nki/nki.h"

/* A source and what the lints say about it: "line:column code", one on each line. "" is nothing. */
struct row {
    const char *source, *findings;
};

static void expect_rows(const struct row *rows, size_t count, const char *front, bool strict) {
    for (size_t i = 0; i < count; i++) {
        struct buf source = {0}, found = {0};
        struct diag_list diags = {0};
        buf_printf(&source, "%s%s", front, rows[i].source);
        struct nki_tree *tree = nki_parse("k.py", buf_str(&source), &diags);
        assert_int_equal(tree->errors, 0);
        struct nki_lint_options options = {.strict = strict};
        nki_lint(tree, &options, &diags);
        for (size_t j = 0; j < diags.all.len; j++)
            buf_printf(&found, "%s%d:%d %s", j ? "\n" : "", diags.all.at[j].line,
                       diags.all.at[j].column, diags.all.at[j].code);
        assert_string_equal(found.at ? found.at : "", rows[i].findings);
        buf_free(&source);
        buf_free(&found);
        diag_free(&diags);
        nki_tree_free(tree);
    }
}

static void mistakes_of_any_python_are_found(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"return\n", "1:1 hone-return-outside"},
        {"def f():\n  return\n", ""},
        {"break\n", "1:1 hone-loop-outside"},
        {"for i in x:\n  def f():\n    continue\nx = 1\n", "3:5 hone-loop-outside"},
        {"while True:\n  if 1: break\n", ""},
        {"print(a=1, b=2, a=3)\n", "1:17 hone-repeated-keyword"},
        {"def f(a, b, a): pass\n", "1:13 hone-repeated-parameter"},
        {"def f():\n  return 1\n  print()\n  print()\n", "3:3 hone-unreachable"},
        {"for i in [1]:\n  continue\n  print()\n", "3:3 hone-unreachable"},
        {"for i in [1]:\n  for j in [2]:\n    for i in [3]: pass\n", "3:9 hone-loop-shadow"},
        {"for _ in [1]:\n  for _ in [2]: pass\n", ""},
        {"def f(a):\n  for a in [1]: pass\n", "2:7 hone-parameter-shadow"},
        {"assert (1, 'no')\n", "1:8 hone-assert-tuple"},
        {"x = 1\nx is 3\nx is None\n", "2:1 hone-is-literal"},
        {"print(undefined, undefined)\n", "1:7 hone-undefined"},
        {"from m import *\nprint(undefined)\n", ""},
        {"try:\n  raise ValueError\nexcept KeyError as e:\n  print(e)\n", ""},
        {"def f(a):\n  return [b for b in a], (lambda c: c), __name__\n", ""},
    };
    expect_rows(rows, COUNT_OF(rows), "", false);
}

static void use_before_assignment_is_found_where_it_is_certain(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"def f():\n  print(a)\n  a = 1\n", "2:9 hone-unassigned"},
        {"def f():\n  a = a + 1\n", "2:7 hone-unassigned"},
        {"def f():\n  a += 1\n", "2:3 hone-unassigned"},
        {"def f(a):\n  a += 1\n", ""},
        {"a = 1\ndef f():\n  print(a)\n", ""},
        {"a = 1\ndef f():\n  global a\n  a += 1\n", ""},
        {"def f():\n  for i in [1, 2]:\n    if i > 1: print(a)\n    a = i\n", ""},
        {"def f():\n  def g(): return a\n  a = 1\n  return g\n", ""},
        {"def f():\n  with open('x') as a: print(a)\n", ""},
        {"def f():\n  import a.b\n  return a\n", ""},
        {"def f():\n  if (a := 1) and a: pass\n", ""},
    };
    expect_rows(rows, COUNT_OF(rows), "", false);
}

static const char current[] = "import nki, nki.isa as nisa, nki.language as nl\n";

static void names_that_nki_lost_are_found_with_any_alias(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"nl.arange(4)\n", "2:1 hone-removed-name"},
        {"nki.language.mgrid\n", "2:1 hone-removed-name"},
        {"from nki.language import arange as r\nr(4)\n", "3:1 hone-removed-name"},
        {"nki.benchmark\n", "2:1 hone-removed-host-name"},
        {"nl.par_dim(4)\n", "2:1 hone-deprecated-name"},
        {"nl.tile_size.psum_fmax\n", "2:1 hone-deprecated-name"},
        {"nl.load(nl.hbm, mask=1)\n", "2:17 hone-removed-keyword"},
        {"def g(mask): pass\ng(mask=1)\n", ""},
        {"nisa.nc_matmul(dst=1, is_moving_zero=True)\n", "2:23 hone-removed-keyword"},
        {"@nki.jit(mode='trace')\ndef f(): pass\n", "2:10 hone-jit-keyword"},
        {"from neuronxcc.nki.isa import x\nnisa.iota(dst=1)\n", "2:1 hone-legacy-import"},
        {"import neuronxcc.nki.typing as nt\n", ""},
        {"t = [1]\nt[...] = nisa.activation(data=t)\n", "3:10 hone-legacy-store"},
        {"print(nisa.activation(data=1))\n", "2:7 hone-legacy-value"},
        {"print(nisa.activation(dst=1))\n", ""},
        {"x = nl.affine_range(4)\n", "2:5 hone-deprecated-name\n2:5 hone-range-outside-for"},
        {"for i in nl.affine_range(4): nl.affine_range\n", "2:10 hone-deprecated-name"},
    };
    expect_rows(rows, COUNT_OF(rows), current, false);
}

/* It would be judged as if all of it were of one package. A name that is tried in both is not. */
static void a_kernel_of_both_packages_is_told_where(void **state) {
    (void)state;
#define KERNEL "@nki.jit\ndef f(x):\n    a = nl.zeros((128, 1), nl.float32)\n    nisa.iota(dst=a)\n"
    static const struct row rows[] = {
        {"import neuronxcc.nki.isa as nisa\n" KERNEL, "2:8 hone-legacy-import\n"
                                                      "6:5 hone-mixed-packages"},
        {"import neuronxcc.nki.typing as nt\n" KERNEL "    nt.tensor\n", ""},
        {"try:\n    import neuronxcc.nki.isa as nisa\nexcept ImportError:\n"
         "    import nki.isa as nisa\n" KERNEL,
         ""},
    };
#undef KERNEL
    expect_rows(rows, COUNT_OF(rows), current, false);
}

static void legacy_kernels_may_use_legacy_names(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"nl.arange(4)\nnl.load(nl.hbm, mask=1)\n", ""},
        {"@nki.jit(mode='trace')\ndef f(*a): return [b for b in a]\n", ""},
    };
    expect_rows(rows, COUNT_OF(rows), "import neuronxcc.nki as nki, neuronxcc.nki.language as nl\n",
                true);
}

/* Bodies of a kernel; line 1 is the import, lines 2 and 3 the kernel's header. */
static const char kernel[] = "import nki, nki.language as nl, nki.isa as nisa\n"
                             "@nki.jit\n"
                             "def f(a, b):\n  ";

static const struct row subset[] = {
    {"return a[0:4, ...] + nl.ds(b, 4) ** 2\n", ""},
    {"with nl.no_reorder(): pass\n", ""},
    {"for i in range(4): print(f'{i!r}')\n", ""},
    {"return lambda: 1\n", "4:10 hone-strict-lambda"},
    {"return [x for x in a]\n", ""},
    {"return {x: 1 for x in a}\n", "4:10 hone-strict-comprehension"},
    {"return {1, 2}\n", "4:10 hone-strict-set"},
    {"if (x := 1): pass\n", "4:7 hone-strict-walrus"},
    {"yield 1\n", "4:3 hone-strict-async"},
    {"return [*a]\n", "4:11 hone-strict-star"},
    {"return a(**b)\n", "4:12 hone-strict-double-star"},
    {"return {**b, 1: 2, 's': 3}\n", "4:13 hone-strict-double-star\n4:16 hone-strict-dict-key"},
    {"return f'{a:03d}'\n", "4:12 hone-strict-format-spec"},
    {"return a @ b\n", "4:12 hone-strict-matmul"},
    {"return a in b\n", ""},
    {"return a < b in a\n", "4:10 hone-strict-chained-in"},
    {"for i, j in a: pass\n", "4:7 hone-strict-for-target"},
    {"for i in a: pass\n  else: pass\n", "5:9 hone-strict-loop-else"},
    {"with a.b() as c: pass\n", "4:8 hone-strict-with"},
    {"def g(): pass\n", "4:7 hone-strict-inner-def"},
    {"def g(i): pass\n  nl.fori_loop(0, 4, g)\n", ""},
    {"class C: pass\n", "4:3 hone-strict-class"},
    {"del a\n", "4:3 hone-strict-del"},
    {"raise a\n", "4:3 hone-strict-raise"},
    {"try: pass\n  finally: pass\n", "4:3 hone-strict-try"},
    {"match a:\n    case 1: pass\n", "4:3 hone-strict-match"},
    {"import math\n", "4:3 hone-strict-import"},
    {"global x\n", "4:3 hone-strict-global"},
    {"return range(0, stop=4)\n", "4:10 hone-strict-range"},
    {"return 2147483648\n", "4:10 hone-strict-int32"},
    {"return -2147483648\n", ""},
    {"return sum(a)\n", "4:10 hone-strict-builtin"},
    {"return a[::-1]\n", "4:14 hone-strict-slice-step"},
    {"return g(a)\ndef g(*x, **y): pass\n", "5:7 hone-strict-varargs\n5:11 hone-strict-kwargs"},
    {"return C()\nclass C(a):\n  if a: pass\na = 1\n",
     "5:7 hone-strict-class-base\n6:3 hone-strict-class-body"},
    {"return a\n@nki.jit\ndef g(*, c): pass\n", "6:10 hone-strict-kernel-star"},
    {"return g\n@cache\ndef g(): pass\ndef cache(): pass\n", "5:2 hone-strict-decorator"},
    {"return a\ndef host():\n  return [x for x in sorted(set())]\n", ""},
};

static void strict_mode_refuses_what_the_compiler_refuses(void **state) {
    (void)state;
    expect_rows(subset, COUNT_OF(subset), kernel, true);
}

static void without_strict_mode_the_subset_is_no_matter(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(subset); i++) {
        struct row row = {subset[i].source, ""};
        expect_rows(&row, 1, kernel, false);
    }
}

static void messages_name_what_was_found(void **state) {
    (void)state;
    struct diag_list diags = {0};
    struct nki_tree *tree = nki_parse("k.py",
                                      STR("import nki.language as lang\n"
                                          "lang.arange(4)\n"
                                          "for i in lang.dynamic_range(4): pass\n"),
                                      &diags);
    struct nki_lint_options options = {0};
    nki_lint(tree, &options, &diags);
    assert_int_equal(diags.all.len, 2);
    assert_string_equal(diags.all.at[1].message,
                        "nl.dynamic_range is not in NKI since 0.7; loop with nl.fori_loop");
    assert_string_equal(diags.all.at[0].message, "nl.arange is not in NKI since the package nki; "
                                                 "index with slices, nl.ds or .ap()");
    assert_int_equal(diags.all.at[0].severity, DIAG_ERROR);
    assert_int_equal(diags.all.at[0].end_column, 12);
    nki_tree_free(tree);
    diag_free(&diags);
}

/* The messages about a kernel for trn2, a line each. */
static void expect_messages(const char *source, const char *messages) {
    struct diag_list diags = {0};
    struct buf found = {0};
    struct nki_tree *tree = nki_parse("k.py", str_of(source), &diags);
    struct nki_lint_options options = {.generation = NKI_GEN3};
    nki_lint(tree, &options, &diags);
    for (size_t i = 0; i < diags.all.len; i++)
        buf_printf(&found, "%d: %s%s\n", diags.all.at[i].line,
                   diags.all.at[i].severity == DIAG_ERROR ? "" : "perhaps ",
                   diags.all.at[i].message);
    assert_string_equal(found.at ? found.at : "", messages);
    buf_free(&found);
    nki_tree_free(tree);
    diag_free(&diags);
}

static void names_of_no_release_are_told_all_at_once(void **state) {
    (void)state;
    expect_messages("import nki, nki.isa as nisa, nki.language as nl\n"
                    "from nki.language import ndarry\n"
                    "import nki.collectives as nccl\n"
                    "@nki.jit\n"
                    "def k(a):\n"
                    "  nisa.exponentiall(a)\n"
                    "  nccl.all_gathr(a)\n"
                    "  nl.wholly_unknown(a)\n",
                    "2: there is no name 'nki.language.ndarry'; did you mean 'ndarray'?\n"
                    "6: there is no name 'nki.isa.exponentiall'\n" /* exponential is trn3's */
                    "7: there is no name 'nki.collectives.all_gathr'; did you mean "
                    "'all_gather'?\n"
                    "8: there is no name 'nki.language.wholly_unknown'\n");
    expect_messages("import nki\n"
                    "@nki.jti\n"
                    "def k(a): pass\n",
                    "2: there is no name 'nki.jti'; did you mean 'jit'?\n");
    expect_messages("from neuronxcc import nki\n"
                    "import neuronxcc.nki.language as nl\n"
                    "@nki.jit\n"
                    "def k(a):\n"
                    "  return nl.lod(a)\n"
                    "def host(a):\n"
                    "  return nl.stor(a)\n",
                    "5: there is no name 'nki.language.lod'; did you mean 'load'?\n");
}

/* A branch that is not taken, a function that is not called: the compiler would not see the name.
 */
static void names_that_a_run_may_pass_by_are_warned_about(void **state) {
    (void)state;
    expect_messages("import nki, nki.language as nl\n"
                    "def certain(a): return nl.copyy(a)\n"
                    "def perhaps(a): return nl.copyy(a)\n"
                    "def never(a): return nl.copyy(a) or nl.wholly_unknown(a)\n"
                    "@nki.jit\n"
                    "def k(a, flag=nl.lod):\n"
                    "  t = certain(a)\n"
                    "  if nl.loda(a): t = perhaps(a)\n"
                    "  t = flag and nl.stor(a)\n"
                    "  for i in range(2): nl.stoore(t)\n"
                    "  if flag: return nl.lod(a)\n"
                    "  nl.ndarry(t), nl.wholly_unknown(t)\n",
                    "2: there is no name 'nki.language.copyy'; did you mean 'copy'?\n"
                    "3: perhaps there is no name 'nki.language.copyy'; did you mean 'copy'?\n"
                    "6: there is no name 'nki.language.lod'; did you mean 'load'?\n"
                    "8: there is no name 'nki.language.loda'; did you mean 'load'?\n"
                    "9: perhaps there is no name 'nki.language.stor'; did you mean 'store'?\n"
                    "10: there is no name 'nki.language.stoore'; did you mean 'store'?\n"
                    "11: perhaps there is no name 'nki.language.lod'; did you mean 'load'?\n"
                    "12: perhaps there is no name 'nki.language.ndarry'; did you mean "
                    "'ndarray'?\n");
}

static void wrong_keywords_and_members_are_told_without_running_the_kernel(void **state) {
    (void)state;
    expect_messages("import nki, nki.isa as nisa, nki.language as nl\n"
                    "def helper(t):\n"
                    "  nisa.memset(dst=t, valu=0)\n"
                    "@nki.jit\n"
                    "def k(a, **more):\n"
                    "  t = nl.ndarray((nl.tile_size.pmx, 8), dtype=a.dtype, bufer=nl.sbuf)\n"
                    "  nisa.dma_copy(dst=t, src=a, engine=nisa.engine.vectr, name='x', **more)\n"
                    "  helper(t)\n"
                    "  if hasattr(nisa.engine, 'tensr'): nisa.engine.tensr\n"
                    "  nl.ndarray((8, 8), dtype=a.dtype, address=(0, 0)), nisa.engine.gpsimd\n",
                    "3: there is no parameter 'valu'; nisa.memset has dst, value, engine=None, "
                    "name=None\n"
                    "6: there is no name 'nl.tile_size.pmx'\n"
                    "6: there is no parameter 'bufer'; nl.ndarray has shape, dtype, buffer=None, "
                    "name='', address=None\n"
                    "7: there is no name 'nisa.engine.vectr'\n");
    struct diag_list diags = {0};
    struct nki_tree *tree = nki_parse("k.py",
                                      STR("import nki, nki.isa as nisa\n"
                                          "@nki.jit\n"
                                          "def k(a, t):\n"
                                          "  nisa.memset(dst=t, valu=0)\n"
                                          "  if a: return t\n"
                                          "  nisa.memset(dst=t, valu=0)\n"),
                                      &diags);
    nki_lint(tree, &(struct nki_lint_options){.generation = NKI_GEN3}, &diags);
    assert_int_equal(diags.all.len, 2);
    assert_int_equal(diags.all.at[0].severity, DIAG_ERROR);
    assert_int_equal(diags.all.at[1].severity, DIAG_WARNING);
    nki_tree_free(tree);
    diag_free(&diags);
}

static void names_that_a_kernel_asks_for_first_are_no_mistakes(void **state) {
    (void)state;
    expect_messages("import nki, nki.language as nl\n"
                    "from other import nl as theirs\n"
                    "@nki.jit\n"
                    "def k(a):\n"
                    "  try: nl.copyy(a)\n"
                    "  except AttributeError: pass\n"
                    "  if hasattr(nl, 'lod'): nl.lod(a)\n"
                    "  if a: nl.wholly_unknown(a)\n"
                    "  nki.whatever_there_is(a)\n"
                    "  nl.tile_size.pmax, nl.__name__, theirs.stor\n",
                    "");
}

static void nothing_is_said_about_a_file_that_does_not_parse(void **state) {
    (void)state;
    struct diag_list diags = {0};
    struct nki_tree *tree = nki_parse("k.py", STR("x = = 1\nreturn undefined\n"), &diags);
    struct nki_lint_options options = {.strict = true};
    nki_lint(tree, &options, &diags);
    assert_int_equal(diags.all.len, 1);
    nki_tree_free(tree);
    diag_free(&diags);
}

static void rules_have_codes_of_their_own_and_help(void **state) {
    (void)state;
    size_t count;
    const struct nki_lint_rule *rules = nki_lint_rules(&count);
    struct map codes = {0};
    for (size_t i = 0; i < count; i++) {
        assert_true(str_starts(str_of(rules[i].code), "hone-") ||
                    str_starts(str_of(rules[i].code), "err_")); /* of nki.errors */
        assert_true(strlen(rules[i].code) < sizeof(((struct diag *)NULL)->code));
        assert_int_equal(rules[i].strict_only, str_starts(str_of(rules[i].code), "hone-strict-"));
        assert_true(strlen(rules[i].help) > 10);
        assert_null(map_find(&codes, str_of(rules[i].code)));
        map_put(&codes, str_of(rules[i].code));
    }
    map_free(&codes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_of_any_python_are_found),
        cmocka_unit_test(use_before_assignment_is_found_where_it_is_certain),
        cmocka_unit_test(names_that_nki_lost_are_found_with_any_alias),
        cmocka_unit_test(a_kernel_of_both_packages_is_told_where),
        cmocka_unit_test(legacy_kernels_may_use_legacy_names),
        cmocka_unit_test(strict_mode_refuses_what_the_compiler_refuses),
        cmocka_unit_test(without_strict_mode_the_subset_is_no_matter),
        cmocka_unit_test(messages_name_what_was_found),
        cmocka_unit_test(names_of_no_release_are_told_all_at_once),
        cmocka_unit_test(names_that_a_run_may_pass_by_are_warned_about),
        cmocka_unit_test(wrong_keywords_and_members_are_told_without_running_the_kernel),
        cmocka_unit_test(names_that_a_kernel_asks_for_first_are_no_mistakes),
        cmocka_unit_test(nothing_is_said_about_a_file_that_does_not_parse),
        cmocka_unit_test(rules_have_codes_of_their_own_and_help),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
