/* SPDX-License-Identifier: Apache-2.0 */
/* What a person reads when a kernel is wrong, and that no kernel can hang or fill the machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "nki/interp_double.h"

static void check(const char *source, const char *expected) {
    struct nki_specialise_options options = {0};
    const char *result = run_with(source, &options);
    if (strcmp(result, expected) != 0)
        print_error("source:\n%s\n", source);
    assert_string_equal(result, expected);
}

static void errors_say_what_was_found(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"def k():\n    total = 1\n    return totl\n",
         "k.py:3:12: error: name 'totl' is not defined; did you mean 'total'? [NameError]"},
        {"def k():\n    return lenn([1])\n",
         "k.py:2:12: error: name 'lenn' is not defined [NameError]"},
        {"def k():\n    return [1, 2][5]\n",
         "k.py:2:12: error: index 5 is out of range for a list of 2 items [IndexError]"},
        {"def k():\n    return {'a': 1}['b']\n",
         "k.py:2:12: error: key 'b' is not in the dict [KeyError]"},
        {"def k():\n    return 99999999999999999999\n",
         "k.py:2:12: error: whole numbers in kernels have at most 63 bits; write 1e+20 for a float "
         "[hone-gap-python]"},
        {"def k():\n    return 'a' + 1\n",
         "k.py:2:12: error: '+' is not defined between str and int [TypeError]"},
        {"def k():\n    return 3 < 'a'\n",
         "k.py:2:12: error: '<' is not defined between int and str [TypeError]"},
        {"def k():\n    a, b = 1, 2, 3\n",
         "k.py:2:5: error: 3 values cannot be unpacked into 2 names [ValueError]"},
        {"def k():\n    for i in 5:\n        pass\n",
         "k.py:2:14: error: int cannot be iterated over; a range, list, tuple, dict or str can "
         "[TypeError]"},
        {"def k():\n    return (3).foo\n",
         "k.py:2:12: error: int has no attribute 'foo' [AttributeError]"},
        {"def k():\n    return (3).to_bytes(2)\n",
         "k.py:2:12: error: hone does not know the method 'to_bytes' of int [hone-gap-python]"},
        {"def k():\n    return 'a'.maketrans\n",
         "k.py:2:12: error: hone does not know the method 'maketrans' of str [hone-gap-python]"},
        {"def k():\n    return (2.5).numerator\n",
         "k.py:2:12: error: float has no attribute 'numerator' [AttributeError]"},
        {"import nki.language as nl\ndef k():\n    return nl.lod\n",
         "k.py:3:12: error: module nki.language has no attribute 'lod'; did you mean "
         "'load'? [AttributeError]"},
        {"import nki.language as nl\ndef k():\n    return nl.zzzzzzzzz\n",
         "k.py:3:12: error: module nki.language has no attribute 'zzzzzzzzz' [AttributeError]"},
        {"def f(a, b):\n    return a\ndef k():\n    return f(1)\n",
         "k.py:4:12: error: f: argument 'b' is missing [TypeError]"},
        {"def f(a, b):\n    return a\ndef k():\n    return f(1, 2, 3)\n",
         "k.py:4:12: error: f takes 2 positional arguments, 3 are given [TypeError]"},
        {"def f(a):\n    return a\ndef k():\n    return f(1, c=2)\n",
         "k.py:4:12: error: f has no parameter 'c' [TypeError]"},
        {"def f(a):\n    return a\ndef k():\n    return f(1, a=2)\n",
         "k.py:4:12: error: f: argument 'a' is given twice [TypeError]"},
        {"def k():\n    return 3()\n", "k.py:2:12: error: int cannot be called [TypeError]"},
        {"def k():\n    M = 100\n    assert M % 128 == 0, f'M is {M}'\n",
         "k.py:3:5: error: assertion failed: M is 100 [AssertionError]"},
        {"def k():\n    M = 100\n    assert M % 128 == 0\n",
         "k.py:3:5: error: assertion failed: M % 128 == 0 is false [AssertionError]"},
        {"def k():\n    raise ValueError('no')\n", "k.py:2:5: error: no [ValueError]"},
        {"def k():\n    raise NotImplementedError\n",
         "k.py:2:5: error: NotImplementedError was raised [NotImplementedError]"},
        {"def k():\n    raise 3\n",
         "k.py:2:5: error: only exceptions can be raised, not int [TypeError]"},
        {"def k():\n    (1, 2)[0] = 3\n",
         "k.py:2:5: error: items of a tuple cannot be assigned [TypeError]"},
        {"def k():\n    return range(1, 2, 0)\n",
         "k.py:2:12: error: the step of a range cannot be zero [ValueError]"},
        {"def k():\n    return int('x')\n", "k.py:2:12: error: 'x' is not an integer [ValueError]"},
        {"def k():\n    return 1j\n",
         "k.py:2:12: error: hone knows no complex numbers in kernels [hone-gap-python]"},
        {"import nki.language as nl\ndef k():\n    return nl.load()\n",
         "k.py:3:12: error: nl.load: argument 'src' is missing [TypeError]"},
        {"import nki.language as nl\ndef k():\n    return nl.load(1, typ=3)\n",
         "k.py:3:12: error: nl.load has no parameter 'typ'; it has src, dtype [TypeError]"},
        {"import nki.language as nl\ndef k():\n    return nl.load(1, 2)\n",
         "k.py:3:12: error: nl.load takes 1 positional argument, 2 are given [TypeError]"},
        {"def f(x):\n    return g(x)\ndef g(x):\n    return x / 0\ndef k():\n    y = f(1)\n",
         "k.py:4:12: error: division by zero [ZeroDivisionError]"
         "| in g, called from line 2\n| in f, called from line 6\n"},
        {"@foo.bar\ndef f(x):\n    return x\ndef k():\n    return f(1)\n",
         "| this decorator of f is not known here and is skipped\n1"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        check(rows[i][0], rows[i][1]);
}

static void inputs_have_to_fit_the_parameters(void **state) {
    (void)state;
    struct nki_input inputs[3] = {{.kind = NKI_INPUT_INT, .i = 1},
                                  {.kind = NKI_INPUT_INT, .i = 2},
                                  {.name = "c", .kind = NKI_INPUT_FLOAT, .f = 0.5}};
    struct nki_specialise_options options = {.inputs = inputs, .n_inputs = 3};
    assert_string_equal(run_with("def k(a, b, c=1, d=4):\n    return a, b, c, d\n", &options),
                        "(1, 2, 0.5, 4)");
    assert_string_equal(run_with("def k(a, *b, **c):\n    return a, b, c\n", &options),
                        "(1, (2,), {'c': 0.5})");
    assert_string_equal(run_with("def k(a, *, c):\n    return a\n", &options),
                        "k.py:1:1: error: too many inputs for 'k'; the parameters of k are: a, c "
                        "[TypeError]");
    assert_string_equal(run_with("def k(a, b):\n    return a\n", &options),
                        "k.py:1:1: error: no parameter for the input 'c'; the parameters of k "
                        "are: a, b [TypeError]");
    assert_string_equal(run_with("def k(a, b, c, d):\n    return a\n", &options),
                        "k.py:1:1: error: there is no input for parameter 'd'; the parameters of "
                        "k are: a, b, c, d [TypeError]");
}

struct budget_row {
    const char *source, *expected; /* the code of the error */
};

static void nothing_runs_for_ever(void **state) {
    (void)state;
    static const struct budget_row rows[] = {
        {"def k():\n    while True:\n        pass\n", "hone-steps"},
        {"def k():\n    for i in range(10 ** 15):\n        x = i\n", "hone-steps"},
        {"def k():\n    try:\n        while 1: pass\n    except:\n        pass\n", "hone-steps"},
        {"def k():\n    return [i for i in range(10 ** 12)]\n", "hone-"},
        {"def k():\n    return sum(range(10 ** 12))\n", "MemoryError"},
        {"def k():\n    return list(range(10 ** 9))\n", "MemoryError"},
        {"def k():\n    return [0] * 10 ** 14\n", "MemoryError"},
        {"def k():\n    return 'x' * 10 ** 14\n", "MemoryError"},
        {"def k():\n    return f'{1:>99999999}'\n", "ValueError"},
        {"def k():\n    x = 'a'\n    for i in range(100): x += x\n", "hone-steps"},
        {"def k():\n    x = [1]\n    for i in range(100): x += x\n", "lists and tuples"},
        {"def k():\n    x, y = [1], [1]\n    for i in range(45): x, y = [x, x], [y, y]\n"
         "    return x == y\n",
         "k.py:4:12"},
        {"def k():\n    x = {}\n    while 1: x[len(x)] = str(x)\n", "the loop in line 3"},
        {"def k():\n    x = {(0,): 1}\n    for i in range(60): x = {(x, x): x}\n"
         "    for i in range(10 ** 9): i\n",
         "the loop in line 4 was in round"},
        {"def k():\n    x = []\n    while 1: x.append(x)\n", "hone-"},
        {"def k():\n    return k()\n", "RecursionError"},
        {"def k():\n    f = lambda g: g(g)\n    return f(f)\n", "RecursionError"},
        {"class A:\n    def __getattr__(self, n): return self.x\ndef k():\n    return A().y\n",
         "RecursionError"},
        {"class A:\n    def __init__(self): A()\ndef k():\n    A()\n", "RecursionError"},
        {"class A:\n    def __add__(self, o): return self + o\ndef k():\n    A() + 1\n",
         "RecursionError"},
        {"class A:\n    def __repr__(self): return f'{self}'\ndef k():\n    return f'{A()}'\n",
         "RecursionError"},
        {"import functools\ndef k():\n    f = int\n    for i in range(50000): f = "
         "functools.partial(f)\n    return f()\n",
         "RecursionError"},
        {"def k():\n    t = 'a' * 10 ** 6\n    return t.find('a' * 500000 + 'b'), t.rfind('b' + "
         "'a' * 500000)\n",
         "hone-steps"},
        {"def k():\n    t = 'a' * 10 ** 6\n    while 1: t.count('b')\n", "the loop in line 3"},
        {"def k():\n    t, u = 'a' * 10 ** 6, 'a' * 999999 + 'b'\n    while 1: t == u\n",
         "the loop in line 3"},
        {"def k():\n    t, u = 'a' * 10 ** 6, 'a' * 999999 + 'b'\n    while 1: t < u\n",
         "the loop in line 3"},
        {"def k():\n    t = [0] * 100000\n    u = t + []\n    while 1: t < u\n",
         "the loop in line 4"},
        {"def k():\n    t = 'a' * 10 ** 6\n    while 1: 'b' in t\n", "the loop in line 3"},
        {"import nki.language as nl\ndef k():\n    for i in range(10 ** 9): nl.load(i)\n",
         "hone-instructions"},
        {"def k():\n    return 2 ** 10 ** 9\n", "hone-gap-python"},
        {"import itertools\ndef k():\n    return itertools.product(range(99), repeat=9)\n",
         "MemoryError"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct nki_specialise_options options = {
            .max_steps = 300000, .max_bytes = 64 << 20, .max_instructions = 1000};
        const char *result = run_with(rows[i].source, &options);
        if (!strstr(result, rows[i].expected))
            print_error("%s\n%s\n", rows[i].source, result);
        assert_non_null(strstr(result, rows[i].expected));
        assert_int_equal(strncmp(result, "k.py:", 5), 0);
    }
}

static void values_that_contain_themselves_end(void **state) {
    (void)state;
    check("def k():\n    x = [1]\n    x.append(x)\n    y = [1]\n    y.append(y)\n"
          "    return len(str(x)) < 200, x == y\n",
          "(True, False)");
}

static void a_cancelled_specialisation_stops(void **state) {
    (void)state;
    volatile int cancel = 1;
    struct nki_specialise_options options = {.cancel = &cancel};
    assert_string_equal(run_with("def k():\n    while True:\n        pass\n", &options),
                        "k.py:1:1: error: specialising was stopped here [Cancelled]");
}

static void instructions_know_where_they_came_from(void **state) {
    (void)state;
    struct diag_list diags = {0};
    struct nki_specialise_options options = {.function = "k"};
    struct nki_tree *tree = nki_parse("k.py",
                                      str_of("import nki.language as nl\n"
                                             "def f(x):\n    return nl.load(x)\n"
                                             "def k():\n"
                                             "    for i in range(3):\n"
                                             "        f(i)\n"
                                             "    f(9)\n"),
                                      &diags);
    struct nki_program *program = nki_specialise(tree, &options, &diags);
    assert_non_null(program);
    assert_int_equal(program->instrs.len, 4);
    const struct nki_loc *first = &program->locs.at[program->instrs.at[0].loc];
    const struct nki_loc *last = &program->locs.at[program->instrs.at[3].loc];
    assert_int_equal(program->instrs.at[0].loc, program->instrs.at[2].loc);
    assert_int_equal(first->line, 3);
    assert_int_equal(first->column, 12);
    assert_int_equal(program->locs.at[first->caller].line, 6);
    assert_int_equal(program->locs.at[last->caller].line, 7);
    assert_int_equal(program->locs.at[last->caller].caller, -1);
    assert_string_equal(program->kernel, "k");
    nki_program_free(program);
    nki_tree_free(tree);
    diag_free(&diags);
}

/* Causes in the order of the evaluation; what follows from one is a note of it. */
static void all_independent_errors_are_found_at_once(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"def k():\n    a = first\n    b = 2 + 'x'\n    c = a + 1\n    d = c\n    return other\n",
         "k.py:2:9: error: name 'first' is not defined [NameError]"
         "| lines 4, 5 use what this should make, and were not looked at\n"
         "| '+' is not defined between int and str\n| name 'other' is not defined\n"},
        /* each round of a loop fails alike, and a function that is called twice */
        {"def f(x):\n    y = x.size\n    return y + 1\n"
         "def k():\n    for i in range(3):\n        z = f(i)\n        z += 1\n        len(5)\n",
         "k.py:2:9: error: int has no attribute 'size' [AttributeError]"
         "| in f, called from line 6\n"
         "| lines 3, 6, 7 use what this should make, and were not looked at\n"
         "| int has no length\n"},
        /* a list that lacks an element is no second error */
        {"def k():\n    x = []\n    x.append(nope)\n    y = x[0]\n    return y\n",
         "k.py:3:14: error: name 'nope' is not defined [NameError]"
         "| lines 4, 5 use what this should make, and were not looked at\n"},
        /* a handler decides about an error, and what is passed over as a whole leaves no names */
        {"def k():\n    try:\n        a = nope\n    except NameError:\n        a = 1\n    b = a.b\n"
         "    for i in b:\n        c = 1\n    return c\n",
         "k.py:6:9: error: int has no attribute 'b' [AttributeError]"
         "| lines 7, 9 use what this should make, and were not looked at\n"},
        /* what no statement can be passed over for ends it */
        {"def k():\n    assert False\n    return nope\n",
         "k.py:2:5: error: assertion failed: False is false [AssertionError]"},
        {"def k():\n    return 7\n", "7"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct nki_specialise_options options = {.every_error = true};
        const char *result = run_with(rows[i][0], &options);
        if (strcmp(result, rows[i][1]) != 0)
            print_error("source:\n%s\n%s\n", rows[i][0], result);
        assert_string_equal(result, rows[i][1]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_say_what_was_found),
        cmocka_unit_test(all_independent_errors_are_found_at_once),
        cmocka_unit_test(inputs_have_to_fit_the_parameters),
        cmocka_unit_test(nothing_runs_for_ever),
        cmocka_unit_test(values_that_contain_themselves_end),
        cmocka_unit_test(a_cancelled_specialisation_stops),
        cmocka_unit_test(instructions_know_where_they_came_from),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    buf_free(&returned);
    buf_free(&seen);
    return failed;
}
