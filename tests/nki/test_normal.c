/* SPDX-License-Identifier: Apache-2.0 */
/* What makes two sources the same kernel, and what does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "nki/nki.h"

static const char kernel[] = "import nki\n"
                             "T = 128\n"
                             "@nki.jit\n"
                             "def f(a, n=4):\n"
                             "    out = g(a, [1, 2], x=0x10, s='t')\n"
                             "    for i in range(n):\n"
                             "        row, col = i * (T + 1), i\n"
                             "        out[row] = [i + k for k in out[col]]\n"
                             "    return out\n";

static bool same(const char *a, const char *b) {
    return !strcmp(nki_source_hash(str_of(a)).hex, nki_source_hash(str_of(b)).hex);
}

static void looks_make_no_difference(void **state) {
    (void)state;
    static const char *const others[] = {
        /* comments, blank lines, spacing, docstrings, commas, parentheses, spellings */
        "'''A file.'''\nimport nki\n\n\nT=128  # rows\n@nki.jit\ndef f(a, n = 4,):\n"
        "  \"\"\"What it does.\"\"\"\n  out = (g(a, [1,\n    2,], x=16, s=\"t\",))\n"
        "  for i in range((n)):\n      # a tile\n      row, col = (i*(T+1), i)\n"
        "      out[row] = [i + k for k in out[col]]\n  return out",
        /* names of its own */
        "import nki\nT = 128\n@nki.jit\ndef f(a, n=4):\n"
        "    result = g(a, [1, 2], x=0x10, s='t')\n    for step in range(n):\n"
        "        p, q = step * (T + 1), step\n        result[p] = [step + k for k in result[q]]\n"
        "    return result\n"};
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (!same(kernel, others[i]))
            fail_msg("other %zu is another kernel", i);
    assert_true(same("x = 1\r\n", "x = 1\n"));
    assert_true(same("", "# nothing\n"));
}

static void what_it_does_makes_one(void **state) {
    (void)state;
    static const char *const changes[][2] = {{"T = 128", "T = 256"},
                                             {"T = 128", "U = 128"},
                                             {"n=4", "n=5"},
                                             {"range(n)", "range(a)"},
                                             {"(T + 1)", "(T - 1)"},
                                             {"i * (T + 1)", "i * T + 1"},
                                             {"x=0x10", "y=0x10"},
                                             {"s='t'", "s=b't'"},
                                             {"s='t'", "s=t"},
                                             {"[1, 2]", "(1, 2)"},
                                             {"[1, 2]", "[2, 1]"},
                                             {"row, col =", "col, row ="},
                                             {"    return", "        return"},
                                             {"@nki.jit\n", ""},
                                             {"out[col]", "out[col:]"},
                                             {"out[row]", "out[row,]"},
                                             {"def f(a, n=4)", "def f(b, n=4)"},
                                             {"g(a", "h(a"}};
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        const char *at = strstr(kernel, changes[i][0]);
        assert_non_null(at);
        struct buf other = {0};
        buf_add(&other, kernel, (size_t)(at - kernel));
        buf_puts(&other, changes[i][1]);
        buf_puts(&other, at + strlen(changes[i][0]));
        if (same(kernel, other.at))
            fail_msg("%s for %s makes no difference", changes[i][1], changes[i][0]);
        buf_free(&other);
    }
}

/* Where a new name could mean something else, it is another kernel. */
static void names_that_others_see_are_kept(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"def f():\n    global a\n    a = 1\n", "def f():\n    global b\n    b = 1\n"},
        {"def f():\n    return T + sum(T for T in x)\n",
         "def f():\n    return U + sum(U for U in x)\n"},
        {"def f():\n    def g(p, q): return p - q\n    return g(p=1, q=2)\n",
         "def f():\n    def g(q, p): return q - p\n    return g(p=1, q=2)\n"},
        {"def f():\n    class C:\n        a = 1\n    return C.a\n",
         "def f():\n    class C:\n        b = 1\n    return C.a\n"},
        {"@nki.jit\ndef f():\n    nki = 1\n", "@foo.jit\ndef f():\n    foo = 1\n"},
        {"x[_:]", "x[:]"},
        {"import a as _", "import a"},
        {"x = 123456789012345678901234567890", "x = 123456789012345678901234567891"},
        {"def f():\n    a = 1\n    b = 2\n    return a\n",
         "def f():\n    a = 1\n    b = 2\n    return b\n"},
        {"def f(:\n    a = 1\n", "def f(:\n    b = 1\n"}};
    for (size_t i = 0; i < COUNT_OF(pairs); i++)
        if (same(pairs[i][0], pairs[i][1]))
            fail_msg("pair %zu is the same", i);
    assert_true(same("def f(:\n    a = 1\n", "def f(:\n    a = 1\n\n"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks_make_no_difference),
        cmocka_unit_test(what_it_does_makes_one),
        cmocka_unit_test(names_that_others_see_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
