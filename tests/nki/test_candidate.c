/* SPDX-License-Identifier: Apache-2.0 */
/* What is said about a candidate before it is run, from its source, and from what its program does
 * with inputs, outputs and types. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nki/nki.h"

static const char *const fronts[] = {
    "import nki\nimport nki.isa as nisa\nimport nki.language as nl\nimport numpy as np\n",
    "import neuronxcc.nki as nki\nimport neuronxcc.nki.isa as nisa\n"
    "import neuronxcc.nki.language as nl\nimport numpy as np\n",
};

static const char *release; /* of the target */

/* The codes of what is found in front + source, without "hone-candidate-", separated by blanks. */
static char *lint(const char *front, const char *source, const char *original) {
    struct diag_list diags = {0};
    struct buf text = {0}, found = {0};
    buf_printf(&text, "%s%s", front, source);
    struct nki_tree *tree = nki_parse("k.py", buf_str(&text), &diags);
    assert_int_equal(tree->errors, 0);
    buf_clear(&text);
    buf_printf(&text, "%s%s", front, original);
    struct nki_tree *before = nki_parse("k.py", buf_str(&text), &diags);
    struct nki_candidate_options options = {.original = before, .release = release};
    nki_lint_candidate(tree, &options, &diags);
    for (size_t i = 0; i < diags.all.len; i++) {
        assert_true(diags.all.at[i].line > 0 && diags.all.at[i].message[0]);
        buf_printf(&found, "%s%s", i ? " " : "", strrchr(diags.all.at[i].code, '-') + 1);
    }
    buf_free(&text);
    nki_tree_free(before);
    nki_tree_free(tree);
    diag_free(&diags);
    return found.at ? buf_take(&found) : mem_strdup("");
}

static void what_reaches_past_the_arguments_is_found_in_both_dialects(void **state) {
    (void)state;
    static const struct {
        const char *source, *codes;
    } rows[] = {
        {"import os\n", "import"},
        {"from subprocess import run\n", "import"},
        {"import sys, threading, atexit\n", "import import import"},
        {"from . import reference\n", "import"},
        {"from reference import forward\n", "import"},
        {"import math, functools\nfrom typing import Optional\nimport ml_dtypes\n", ""},
        {"def f(x):\n  return eval('x')\n", "call"},
        {"def f(x):\n  exec('x')\n  return __import__('os')\n", "call call"},
        {"def f(x, n):\n  return getattr(x, 'sh' + n)\n", "call"},
        {"def f(x):\n  return getattr(x, 'shape')\n", ""},
        {"def f():\n  return open('reference.py').read()\n", "file attribute"},
        {"def f():\n  return np.load('y.npy'), np.zeros(3)\n", "file"},
        {"from numpy import fromfile\n", "file"},
        {"def f(x):\n  return nki.simulate_kernel(f, x)\n", "call"},
        {"def f(x):\n  return f.__globals__['x'], f.__name__\n", "internals"},
        {"def f(x):\n  return x.tb_frame.f_back\n", "internals internals"},
        {"n = 0\ndef f():\n  global n\n  n += 1\n", "global"},
        {"def f(x, seen={}):\n  pass\n", "global"},
        {"def f(x):\n  if x.shape == (128, 512):\n    return x\n", "shape"},
        {"def f(x):\n  return 1 if x.shape in [(128, 512)] else 2\n", "shape"},
        {"def f(x):\n  return {(128, 512): 1}[x.shape]\n", "shape"},
        {"def f(x):\n  match x.shape:\n    case (128, 512): return x\n", "shape"},
        {"def f(x):\n  match x.shape:\n    case (m, 512): return x\n", ""},
        {"def f(x):\n  n = x.shape[0]\n  match n:\n    case 1 if x[0] > 1: pass\n", "content"},
        {"def f(x):\n  assert x.shape == (128, 512)\n  if x.shape[0] > 128: pass\n", ""},
        {"def f(x, y):\n  if x.shape == y.shape: pass\n", ""},
        {"def f(x):\n  n = x.shape[0]\n  if x[0, 0] > 1: pass\n", "content"},
        {"def f(x, cfg):\n  n = x.shape[0]\n  if cfg[0] > 1: pass\n", ""},
    };
    for (size_t d = 0; d < COUNT_OF(fronts); d++)
        for (size_t i = 0; i < COUNT_OF(rows); i++) {
            char *found = lint(fronts[d], rows[i].source, "");
            if (strcmp(found, rows[i].codes) != 0)
                fail_msg("%s: \"%s\", not \"%s\"", rows[i].source, found, rows[i].codes);
            free(found);
            found = lint(fronts[d], rows[i].source, rows[i].source);
            assert_string_equal(found, ""); /* it came with the kernel */
            free(found);
        }
}

static void another_dialect_and_names_the_release_lost_are_found(void **state) {
    (void)state;
    struct diag_list diags = {0};
    struct nki_tree *now = nki_parse("k.py", str_of(fronts[0]), &diags);
    struct nki_tree *legacy = nki_parse("k.py", str_of(fronts[1]), &diags);
    struct nki_candidate_options options = {.original = legacy};
    nki_lint_candidate(now, &options, &diags);
    assert_int_equal(diags.all.len, 1);
    assert_string_equal(diags.all.at[0].code, "hone-candidate-dialect");
    options.any_dialect = true;
    nki_lint_candidate(now, &options, &diags);
    assert_int_equal(diags.all.len, 1); /* nothing more */
    nki_tree_free(now);
    nki_tree_free(legacy);
    diag_free(&diags);
    char *found = lint(fronts[0], "def f(x):\n  return nl.arange(4)\n", "");
    assert_string_equal(found, "name"); /* hone-removed-name */
    free(found);
    found = lint(fronts[1], "def f(x):\n  return nl.arange(4)\n", "");
    assert_string_equal(found, "");
    free(found);
}

/* The first message about front + source. */
static char *first_message(const char *front, const char *source) {
    struct diag_list diags = {0};
    struct buf text = {0};
    buf_printf(&text, "%s%s", front, source);
    struct nki_tree *tree = nki_parse("k.py", buf_str(&text), &diags);
    struct nki_candidate_options options = {.release = release};
    nki_lint_candidate(tree, &options, &diags);
    char *message = mem_strdup(diags.all.len ? diags.all.at[0].message : "");
    buf_free(&text);
    nki_tree_free(tree);
    diag_free(&diags);
    return message;
}

static void a_mistyped_name_is_told_with_the_near_one(void **state) {
    (void)state;
    static const struct {
        int front;
        const char *source, *message;
    } rows[] = {
        {0, "def f(x):\n  return nl.copyy(x)\n",
         "there is no name 'nki.language.copyy'; did you mean 'copy'?"},
        {1, "def f(x):\n  return nisa.nc_matmull(x, x)\n",
         "there is no name 'neuronxcc.nki.isa.nc_matmull'; did you mean 'nc_matmul'?"},
        {0, "from nki.isa import tensor_scaler\n",
         "there is no name 'nki.isa.tensor_scaler'; did you mean 'tensor_scalar'?"},
        {0, "def f(tile):\n  return tle + 1\n", "there is no name 'tle'; did you mean 'tile'?"},
        {0, "def f(x):\n  return lenn(x)\n", "there is no name 'lenn'; did you mean 'len'?"},
        {0, "def f(x):\n  return nissa.memset(x)\n",
         "there is no name 'nissa'; did you mean 'nisa'?"},
        {0, "def f(x):\n  return nl.parallel_for(x)\n",
         "'nki.language.parallel_for' is not among what a candidate may use"},
        {0, "def f(x):\n  return gloobals()\n", "'gloobals' is not among what a candidate may use"},
        {0, "def f(x):\n  return globals()\n", "a candidate may not use 'globals'"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char *message = first_message(fronts[rows[i].front], rows[i].source);
        if (strncmp(message, rows[i].message, strlen(rows[i].message)) != 0)
            print_error("%s: %s\n", rows[i].source, message);
        assert_memory_equal(message, rows[i].message, strlen(rows[i].message));
        free(message);
    }
}

static void the_release_of_the_target_decides_which_names_there_are(void **state) {
    (void)state;
    static const struct {
        const char *body, *release, *codes;
    } rows[] = {
        {"  nl.fori_loop(0, 4, x)\n", NULL, ""},
        {"  nl.fori_loop(0, 4, x)\n", "0.6.0", ""},
        {"  nl.fori_loop(0, 4, x)\n", "0.10.0", ""},
        {"  nl.fori_loop(0, 4, x)\n", "0.5.1", "name"}, /* hone-newer-name */
        {"  return nl.load(x)\n", "0.2.0", "name"},
        {"  return nl.load(x)\n", "0.3.0", ""},
        {"  nisa.tensor_copy_dynamic_src(x)\n", NULL, "name"},
        {"  nisa.tensor_copy_dynamic_src(x)\n", "0.4.0", "name"},
        {"  nisa.tensor_copy_dynamic_src(x)\n", "0.3.0", ""},
        {"  nisa.dma_copy(x, dst_rmw_op=1)\n", "0.2.0", ""},
        {"  nisa.dma_copy(x, dst_rmw_op=1)\n", "0.3.0", "keyword"},
        {"  nl.arange(4)\n", "0.1.0", "name"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct buf source = {0};
        buf_printf(&source, "def f(x):\n%s", rows[i].body);
        release = rows[i].release;
        char *found = lint(fronts[0], source.at, "");
        if (strcmp(found, rows[i].codes) != 0)
            fail_msg("%s with %s: \"%s\"", rows[i].body, rows[i].release ? rows[i].release : "none",
                     found);
        free(found);
        buf_free(&source);
    }
    release = NULL;
}

/* ---- programs ------------------------------------------------------------------------------- */

static struct nki_facts facts_of(const char *front, const char *body, enum dtype dtype) {
    struct diag_list diags = {0};
    struct buf text = {0};
    struct nki_input inputs[2] = {{.kind = NKI_INPUT_ARRAY, .array = {dtype, 2, {128, 128}, NULL}},
                                  {.kind = NKI_INPUT_ARRAY, .array = {dtype, 2, {128, 128}, NULL}}};
    struct nki_specialise_options options = {
        .inputs = inputs, .n_inputs = 2, .generation = NKI_GEN3};
    buf_printf(&text, "%s@nki.jit\ndef kernel(x, w):\n%s    return y\n", front, body);
    struct nki_tree *tree = nki_parse("k.py", buf_str(&text), &diags);
    struct nki_program *program = nki_specialise(tree, &options, &diags);
    if (!program)
        fail_msg("%s: %s", body, diags.all.at[0].message);
    struct nki_facts facts;
    nki_facts_find(program, &facts);
    nki_program_free(program);
    nki_tree_free(tree);
    buf_free(&text);
    diag_free(&diags);
    return facts;
}

#define Y "    y = nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.shared_hbm)\n"
#define TILE(name, dtype) \
    "    " name " = nl.ndarray((128, 128), dtype=nl." dtype ", buffer=nl.sbuf)\n"
#define LOAD(name, from) "    nisa.dma_copy(dst=" name ", src=" from ")\n"
#define ADD(c, a, b) "    nisa.tensor_tensor(dst=" c ", data1=" a ", data2=" b ", op=nl.add)\n"
#define STORE(c) "    nisa.dma_copy(dst=y, src=" c ")\n"
#define HONEST                                                                                     \
    Y TILE("a", "float32") TILE("b", "float32") TILE("c", "float32") LOAD("a", "x") LOAD("b", "w") \
        ADD("c", "a", "b") STORE("c")

static void expect(const struct nki_facts *before, const struct nki_facts *after,
                   enum nki_precision precision, const char *codes) {
    struct diag_list diags = {0};
    struct buf found = {0};
    nki_facts_compare(after, before, precision, "k.py", &diags);
    for (size_t i = 0; i < diags.all.len; i++)
        buf_printf(&found, "%s%s", i ? " " : "", strrchr(diags.all.at[i].code, '-') + 1);
    if (strcmp(found.at ? found.at : "", codes) != 0)
        fail_msg("\"%s\", not \"%s\": %s", found.at ? found.at : "", codes,
                 diags.all.len ? diags.all.at[0].message : "");
    buf_free(&found);
    diag_free(&diags);
}

static void work_that_is_left_out_is_found(void **state) {
    (void)state;
    static const struct {
        const char *body, *codes;
    } rows[] = {
        {HONEST, ""},
        /* the same number whatever the input is */
        {Y TILE("c", "float32") "    nisa.memset(dst=c, value=1.0)\n" STORE("c"),
         "constant unread unread"},
        /* loads whose data goes nowhere */
        {Y TILE("a", "float32") TILE("b", "float32") LOAD("a", "x")
             LOAD("b", "w") "    nisa.memset(dst=a, value=1.0)\n" STORE("a"),
         "constant"},
        {Y TILE("a", "float32") LOAD("a", "x") STORE("a"), "unread"},
        /* half of the rows */
        {Y TILE("a", "float32") TILE("b", "float32") TILE("c", "float32") LOAD("a", "x") LOAD(
             "b", "w") ADD("c", "a", "b") "    nisa.dma_copy(dst=y[0:64, :], src=c[0:64, :])\n",
         "unwritten"},
        /* in four parts, by columns */
        {Y TILE("a", "float32") TILE("b", "float32") TILE("c", "float32") LOAD("a", "x")
             LOAD("b", "w") ADD("c", "a", "b") "    for i in range(4):\n"
                                               "        nisa.dma_copy(dst=y[:, i * 32:i * 32 + "
                                               "32], src=c[:, i * 32:i * 32 + 32])\n",
         ""},
    };
    struct nki_facts honest = facts_of(fronts[0], HONEST, DTYPE_FLOAT32);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct nki_facts facts = facts_of(fronts[0], rows[i].body, DTYPE_FLOAT32);
        expect(&honest, &facts, NKI_PRECISION_KEEP, rows[i].codes);
    }
    struct nki_facts half = facts_of(fronts[0], rows[4].body, DTYPE_FLOAT32);
    expect(&half, &half, NKI_PRECISION_KEEP, ""); /* so did the original */
}

static void legacy_kernels_are_followed_too(void **state) {
    (void)state;
    static const char y[] =
        "    y = nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.shared_hbm)\n";
    struct buf text = {0};
    buf_printf(&text, "%s    nl.store(y, nl.add(nl.load(x), nl.load(w)))\n", y);
    struct nki_facts honest = facts_of(fronts[1], text.at, DTYPE_FLOAT32);
    expect(&honest, &honest, NKI_PRECISION_KEEP, "");
    buf_clear(&text);
    buf_printf(&text,
               "%s    a = nl.load(x)\n    b = nl.load(w)\n"
               "    nl.store(y, nl.zeros((128, 128), dtype=nl.float32, buffer=nl.sbuf))\n",
               y);
    struct nki_facts constant = facts_of(fronts[1], text.at, DTYPE_FLOAT32);
    expect(&honest, &constant, NKI_PRECISION_KEEP, "constant");
    buf_clear(&text);
    buf_printf(&text, "%s    nl.store(y, nl.add(nl.load(x), nl.load(w), dtype=nl.bfloat16))\n", y);
    struct nki_facts narrow = facts_of(fronts[1], text.at, DTYPE_FLOAT32);
    expect(&honest, &narrow, NKI_PRECISION_KEEP, "precision");
    expect(&honest, &narrow, NKI_PRECISION_ANY, "");
    buf_free(&text);
}

static void narrower_types_are_found_unless_the_policy_allows_them(void **state) {
    (void)state;
#define CAST                                                                          \
    Y TILE("a", "bfloat16") TILE("b", "bfloat16") TILE("c", "float32") LOAD("a", "x") \
        LOAD("b", "w") ADD("c", "a", "b") STORE("c")
    struct nki_facts honest = facts_of(fronts[0], HONEST, DTYPE_FLOAT32);
    struct nki_facts cast = facts_of(fronts[0], CAST, DTYPE_FLOAT32);
    expect(&honest, &cast, NKI_PRECISION_KEEP, "precision");
    expect(&honest, &cast, NKI_PRECISION_ANY, "");
    expect(&honest, &cast, NKI_PRECISION_SPLIT, "");
    expect(&cast, &cast, NKI_PRECISION_KEEP, "");
    /* The inputs themselves are bfloat16, so nothing becomes narrower. */
    struct nki_facts wide = facts_of(fronts[0], HONEST, DTYPE_BFLOAT16);
    struct nki_facts same = facts_of(fronts[0], CAST, DTYPE_BFLOAT16);
    expect(&wide, &same, NKI_PRECISION_KEEP, "");
}

#define PSUM "    p = nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.psum)\n"
#define MULTIPLY(a, b) "    nisa.nc_matmul(dst=p, stationary=" a ", moving=" b ")\n"
#define PARTS(dtype) \
    Y PSUM TILE("a", dtype) TILE("b", dtype) TILE("c", "float32") LOAD("a", "x") LOAD("b", "w")
#define RESULT "    nisa.tensor_copy(dst=c, src=p)\n" STORE("c")

/* High by high, high by low and low by high are three, of which two are the least. */
static void split_products_are_counted(void **state) {
    (void)state;
    static const double needed = 128. * 128 * 128;
    static const struct {
        const char *body;
        size_t findings;
    } rows[] = {
        {PARTS("float32") MULTIPLY("a", "b") RESULT, 0},
        {PARTS("bfloat16") MULTIPLY("a", "b") RESULT, 1}, /* one is no sum */
        {PARTS("bfloat16") MULTIPLY("a", "b") MULTIPLY("a", "b") RESULT, 0},
        {PARTS("bfloat16") MULTIPLY("a", "b") MULTIPLY("a", "b") MULTIPLY("b", "a") RESULT, 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct nki_facts facts = facts_of(fronts[0], rows[i].body, DTYPE_FLOAT32);
        struct diag_list diags = {0};
        nki_facts_check_split(&facts, needed, "k.py", &diags);
        assert_int_equal(diags.all.len, rows[i].findings);
        if (diags.all.len)
            assert_string_equal(diags.all.at[0].code, "hone-candidate-precision");
        diag_free(&diags);
    }
}

#define WITH(dtype, first, then)                                                      \
    Y TILE("a", "float32") TILE("b", "float32") TILE("c", "float32") TILE("i", dtype) \
        LOAD("a", "x") LOAD("b", "w") "    nisa.tensor_scalar(dst=i, data=b, " first  \
                                      ")\n" then ADD("c", "a", "b") STORE("c")
#define SCALED "op0=nl.multiply, operand0=32767.0"
#define BACK "    nisa.tensor_scalar(dst=b, data=i, op0=nl.multiply, operand0=0.00003)\n"

/* Fixed point in 16 bits is as inexact as a short float; truth values are exact. */
static void short_whole_numbers_are_narrower_where_they_become_floats_again(void **state) {
    (void)state;
    static const struct {
        const char *body, *codes;
    } rows[] = {
        {WITH("int16", SCALED, BACK), "precision"},
        {WITH("int8", SCALED, BACK), "precision"},
        {WITH("uint8", SCALED, "    nisa.tensor_copy(dst=b, src=i)\n"), "precision"},
        {WITH("int32", SCALED, BACK), ""},
        {WITH("int16", SCALED, ""), ""}, /* it stays one */
        {WITH("uint8", "op0=nl.greater, operand0=0.5",
              "    nisa.tensor_tensor(dst=b, data1=b, data2=i, op=nl.multiply)\n"),
         ""},
        {WITH("uint8", "op0=nl.multiply, operand0=2.0, op1=nl.greater, operand1=0.5", BACK), ""},
    };
    struct nki_facts honest = facts_of(fronts[0], HONEST, DTYPE_FLOAT32);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct nki_facts facts = facts_of(fronts[0], rows[i].body, DTYPE_FLOAT32);
        expect(&honest, &facts, NKI_PRECISION_KEEP, rows[i].codes);
        expect(&honest, &facts, NKI_PRECISION_ANY, "");
    }
}

/* Whatever leads to it: a list in a list, a closure, an iterator, an object. */
static void what_a_call_keeps_for_the_next_is_found(void **state) {
    (void)state;
    static const struct {
        const char *module, *body, *codes;
    } rows[] = {
        {"KEPT = [[]]\n", "    KEPT[0].append(1)\n" HONEST, "global"},
        {"KEPT = {'a': {}}\n", "    KEPT['a'][0] = 1\n" HONEST, "global"},
        {"def make():\n    kept = []\n    def keep(v):\n        kept.append(v)\n    return keep\n"
         "KEEP = make()\n",
         "    KEEP(1)\n" HONEST, "global"},
        {"CALLS = iter([1, 2, 3])\n", "    next(CALLS)\n" HONEST, "global"},
        {"class Kept:\n    n = 0\n", "    Kept.n = 2\n" HONEST, "global"},
        {"class Box:\n    def __init__(self):\n        self.n = [0]\nBOX = Box()\n",
         "    BOX.n[0] = 2\n" HONEST, "global"},
        {"KEPT = []\n", "    for one in (KEPT,):\n        one += [1]\n" HONEST, "global"},
        /* what is only read, or copied */
        {"SIZES = [1, 2]\n", "    mine = list(SIZES)\n    mine.append(3)\n" HONEST, ""},
        {"def scale(f):\n    def by(v):\n        return v * f\n    return by\nTWICE = scale(2)\n",
         "    n = TWICE(3)\n" HONEST, ""},
        {"class Box:\n    def __init__(self, n):\n        self.n = n\nBOX = Box(4)\n",
         "    other = Box(BOX.n)\n    other.n += 1\n" HONEST, ""},
    };
    struct nki_facts honest = facts_of(fronts[0], HONEST, DTYPE_FLOAT32);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct buf front = {0};
        buf_printf(&front, "%s%s", fronts[0], rows[i].module);
        struct nki_facts facts = facts_of(front.at, rows[i].body, DTYPE_FLOAT32);
        expect(&honest, &facts, NKI_PRECISION_KEEP, rows[i].codes);
        expect(&facts, &facts, NKI_PRECISION_KEEP, ""); /* so did the original */
        buf_free(&front);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_reaches_past_the_arguments_is_found_in_both_dialects),
        cmocka_unit_test(another_dialect_and_names_the_release_lost_are_found),
        cmocka_unit_test(a_mistyped_name_is_told_with_the_near_one),
        cmocka_unit_test(the_release_of_the_target_decides_which_names_there_are),
        cmocka_unit_test(work_that_is_left_out_is_found),
        cmocka_unit_test(legacy_kernels_are_followed_too),
        cmocka_unit_test(narrower_types_are_found_unless_the_policy_allows_them),
        cmocka_unit_test(split_products_are_counted),
        cmocka_unit_test(short_whole_numbers_are_narrower_where_they_become_floats_again),
        cmocka_unit_test(what_a_call_keeps_for_the_next_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
