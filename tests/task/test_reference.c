/* SPDX-License-Identifier: Apache-2.0 */
/* References that work, and all the ways in which they do not, each with a real Python child. */
#include "task/references.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/stat.h>

static void bfloat16_inputs_are_rounded_to_nearest_even(void **state) {
    char *path =
        put(state, "bf16.py",
            HEAD "nki_input_dtypes = ['bfloat16', None, 'float8_e4m3']\n"
                 "def get_inputs():\n"
                 "    return [np.array([1, 1.00390625, 1.01171875, -3.1415927], np.float32), 7,\n"
                 "            np.array([0.3, 1e9, -17, 0], np.float32)]\n"
                 "def forward(x, n, y):\n    return x\n");
    struct answers answers = {0};
    prepare(path, 0, 20, &answers);
    assert_non_null(answers.inputs);
    assert_int_equal(answers.inputs->values[0].array.dtype, DTYPE_BFLOAT16);
    const uint16_t wanted[] = {0x3f80, 0x3f80, 0x3f82, 0xc049};
    assert_memory_equal(answers.inputs->values[0].array.data, wanted, sizeof wanted);
    assert_int_equal(answers.inputs->values[1].integer, 7);
    const uint8_t small[] = {0x2a, 0x77, 0xd8, 0x00}; /* 0.3125, 240, -16, 0 */
    assert_memory_equal(answers.inputs->values[2].array.data, small, sizeof small);
    free_answers(&answers);
    free(path);
}

static void outputs_are_compared_in_double_precision(void **state) {
    char *path = put(state, "cmp.py",
                     HEAD "def get_inputs():\n    return [np.arange(1, 5, dtype=np.float32)]\n"
                          "def forward(x):\n    return x * 2\n");
    struct answers answers = {0};
    float data[] = {2, 4, 6, 8.001f};
    struct array output = {DTYPE_FLOAT32, 2, {2, 2}, data}; /* another shape of the same size */
    compare(path, &output, 1, &answers);
    assert_true(answers.compared);
    /* 0.001 / sqrt(4 + 16 + 36 + 64) */
    assert_true(answers.comparison.rel_l2 > 9.12e-5 && answers.comparison.rel_l2 < 9.14e-5);
    assert_true(answers.comparison.outputs[0].max_abs > 9.9e-4);
    assert_true(answers.comparison.outputs[0].finite);
    assert_false(answers.comparison.outputs[0].is_input);
    free_answers(&answers);
    uint16_t halves[] = {0x4000, 0x4080, 0x40c0, 0x4100}; /* 2 4 6 8 as bfloat16 */
    struct array bf16 = {DTYPE_BFLOAT16, 1, {4}, halves};
    compare(path, &bf16, 1, &answers);
    assert_true(answers.compared && answers.comparison.rel_l2 == 0);
    free_answers(&answers);
    float copy[] = {1, 2, 3, 4};
    struct array input = {DTYPE_FLOAT32, 1, {4}, copy};
    compare(path, &input, 1, &answers);
    assert_true(answers.comparison.outputs[0].is_input);
    free_answers(&answers);
    float nan[] = {2, 4, 6, __builtin_nanf("")};
    struct array broken = {DTYPE_FLOAT32, 1, {4}, nan};
    compare(path, &broken, 1, &answers);
    assert_false(answers.comparison.outputs[0].finite);
    assert_false(answers.comparison.rel_l2 <= 1e9);
    free_answers(&answers);
    free(path);
}

static void several_outputs_keep_their_order(void **state) {
    char *path = put(state, "two.py",
                     HEAD "def get_inputs():\n    return [np.ones((2, 2), np.float32)]\n"
                          "def forward(x):\n    return x + 1, np.float32([5, 6])\n"
                          "def transform_nki_outputs(k_res, ref):\n"
                          "    assert isinstance(k_res, tuple) and isinstance(ref, tuple)\n"
                          "    return [np.reshape(k, r.shape) for k, r in zip(k_res, ref)]\n");
    float a[] = {2, 2, 2, 2}, b[] = {5, 6};
    struct array outputs[] = {{DTYPE_FLOAT32, 1, {4}, a}, {DTYPE_FLOAT32, 1, {2}, b}};
    struct answers answers = {0};
    compare(path, outputs, 2, &answers);
    assert_true(answers.compared);
    assert_int_equal(answers.comparison.count, 2);
    assert_true(answers.comparison.rel_l2 == 0);
    free_answers(&answers);
    free(path);
}

static void where_the_reference_is_infinite_the_kernel_must_be(void **state) {
    char *path = put(state, "mask.py",
                     HEAD "def get_inputs():\n    return [np.arange(1, 5, dtype=np.float32)]\n"
                          "def forward(x):\n    return np.where(x > 2, x, -np.inf)\n");
    struct answers answers = {0};
    float data[] = {-__builtin_inff(), -__builtin_inff(), 3, 4.001f};
    struct array output = {DTYPE_FLOAT32, 1, {4}, data};
    compare(path, &output, 1, &answers);
    assert_true(answers.compared && answers.comparison.outputs[0].finite);
    /* 0.001 / sqrt(9 + 16) */
    assert_true(answers.comparison.rel_l2 > 1.99e-4 && answers.comparison.rel_l2 < 2.01e-4);
    free_answers(&answers);
    data[1] = -1e30f;
    compare(path, &output, 1, &answers);
    assert_true(answers.compared && isnan(answers.comparison.rel_l2));
    struct task_verdict verdict = {0};
    task_judge_numbers(&verdict, &answers.comparison, 1, 1);
    assert_int_equal(verdict.correct.answer, TASK_NO);
    assert_non_null(strstr(verdict.correct.reason, "not infinite where the reference is"));
    free_answers(&answers);
    free(path);
}

static void each_output_may_have_its_own_tolerance(void **state) {
    char *path = put(state, "own.py",
                     HEAD "TOLERANCE = {'y': 1e-2, 'z': 1e-5}\n"
                          "def get_inputs():\n    return [np.ones(4, np.float32)]\n"
                          "def forward(x):\n    return {'y': x * 2, 'z': x * 3}\n");
    struct answers answers = {0};
    float y[] = {2.01f, 2.01f, 2.01f, 2.01f}, z[] = {3, 3, 3, 3.0005f};
    struct array outputs[] = {{DTYPE_FLOAT32, 1, {4}, y}, {DTYPE_FLOAT32, 1, {4}, z}};
    compare(path, outputs, 2, &answers);
    assert_true(answers.compared && answers.inputs->tolerance == 1e-2);
    assert_int_equal(answers.comparison.worst, 1); /* 8e-5 of 1e-5, and 5e-3 of 1e-2 */
    assert_false(task_comparison_holds(&answers.comparison, answers.inputs->tolerance));
    assert_true(task_comparison_holds(&answers.comparison, 0.1)); /* ten times of each */
    struct task_verdict verdict = {0};
    task_judge_numbers(&verdict, &answers.comparison, 1, answers.inputs->tolerance);
    assert_non_null(strstr(verdict.correct.reason, "output 1"));
    assert_non_null(strstr(verdict.correct.reason, "allowed is 1e-05"));
    free_answers(&answers);
    free(path);
}

static void inputs_of_a_dict_are_keywords(void **state) {
    char *path = put(state, "keywords.py",
                     HEAD "def get_inputs():\n"
                          "    return {'y': np.full(2, 5, np.float32), 'x': np.ones(2, np.float32),"
                          " 'scale': 3}\n"
                          "def forward(x, y, scale=1):\n    return (x - y) * scale\n");
    struct answers answers = {0};
    float data[] = {-12, -12};
    struct array output = {DTYPE_FLOAT32, 1, {2}, data};
    compare(path, &output, 1, &answers);
    assert_true(answers.compared && answers.comparison.rel_l2 == 0);
    const char *const names[] = {"y", "x", "scale"};
    assert_int_equal(answers.inputs->count, COUNT_OF(names));
    for (size_t i = 0; i < COUNT_OF(names); i++)
        assert_string_equal(answers.inputs->values[i].name, names[i]);
    free_answers(&answers);
    free(path);
}

static void an_array_alone_is_the_one_input(void **state) {
    char *path = put(state, "alone.py",
                     HEAD "def get_inputs():\n    return np.ones((3, 2), np.float32)\n"
                          "def forward(x):\n    return x\n");
    struct answers answers = {0};
    prepare(path, 0, 20, &answers);
    assert_non_null(answers.inputs);
    assert_int_equal(answers.inputs->count, 1);
    assert_int_equal(answers.inputs->values[0].kind, TASK_ARRAY);
    free_answers(&answers);
    free(path);
}

static void arguments_may_be_made_of_others(void **state) {
    char *path =
        put(state, "nested.py",
            "import dataclasses\nimport enum\n" HEAD "class Mode(enum.Enum):\n    FAST = 3\n"
            "@dataclasses.dataclass\nclass Config:\n    n: int\n    mode: Mode\n"
            "def get_inputs():\n    return [np.ones(4, np.float32)]\n"
            "def forward(x):\n    return x\n"
            "def transform_to_nki_inputs(inputs):\n"
            "    return {'weights': {'a': inputs[0], 'b': (None, np.float16)},\n"
            "            'config': Config(7, Mode.FAST)}\n");
    static const struct {
        enum task_value_kind kind;
        const char *name, *text;
        size_t items;
    } rows[] = {{TASK_DICT, "weights", "", 2},    {TASK_ARRAY, "a", NULL, 0},
                {TASK_TUPLE, "b", "", 2},         {TASK_NONE, NULL, NULL, 0},
                {TASK_DTYPE, NULL, "float16", 0}, {TASK_RECORD, "config", "Config", 2},
                {TASK_INT, "n", NULL, 0},         {TASK_MEMBER, "mode", "Mode.FAST", 1},
                {TASK_INT, "value", NULL, 0}};
    struct answers answers = {0};
    for (int round = 0; round < 2; round++) { /* the second time from the cache */
        prepare(path, 0, 20, &answers);
        assert_non_null(answers.inputs);
        assert_int_equal(answers.inputs->count, COUNT_OF(rows));
        for (size_t i = 0; i < COUNT_OF(rows); i++) {
            const struct task_value *value = &answers.inputs->values[i];
            assert_int_equal(value->kind, rows[i].kind);
            assert_int_equal(value->items, rows[i].items);
            assert_true(!value->name == !rows[i].name &&
                        (!value->name || !strcmp(value->name, rows[i].name)));
            assert_true(!value->text == !rows[i].text &&
                        (!value->text || !strcmp(value->text, rows[i].text)));
        }
        free_answers(&answers);
    }
    free(path);
}

static void tensors_of_torch_are_arrays(void **state) {
    /* What hone asks of torch, for machines without it. */
    free(put(state, "torch.py",
             HEAD
             "class dtype:\n    def __init__(self, name): self.name = name\n"
             "    def __str__(self): return 'torch.' + self.name\n"
             "class Tensor:\n"
             "    def __init__(self, values, name): self.values, self.dtype = values, dtype(name)\n"
             "    def detach(self): return self\n"
             "    def cpu(self): return self\n"
             "    def float(self): return Tensor(self.values, 'float32')\n"
             "    def numpy(self):\n"
             "        assert str(self.dtype) != 'torch.bfloat16'\n        return self.values\n"
             "def manual_seed(seed): np.random.seed(seed + 1)\n"));
    char *path = put(state, "of_torch.py",
                     HEAD "import torch\n"
                          "def get_inputs():\n"
                          "    return [torch.Tensor(np.float32([1, 2.001]), 'bfloat16')]\n"
                          "def forward(x):\n    return torch.Tensor(x.values * 2, 'float32')\n");
    struct answers answers = {0};
    float data[] = {2, 4.002f};
    struct array output = {DTYPE_FLOAT32, 1, {2}, data};
    compare(path, &output, 1, &answers);
    assert_true(answers.compared && answers.comparison.rel_l2 < 1e-6);
    assert_int_equal(answers.inputs->values[0].array.dtype, DTYPE_BFLOAT16);
    free_answers(&answers);
    free(path);
}

static void outputs_that_do_not_fit_are_the_kernels_fault(void **state) {
    char *path = put(state, "shape.py",
                     HEAD "def get_inputs():\n    return [np.ones((2, 2), np.float32)]\n"
                          "def forward(x):\n    return x + 1\n");
    float data[3] = {0};
    struct array output = {DTYPE_FLOAT32, 1, {3}, data};
    struct answers answers = {0};
    compare(path, &output, 1, &answers);
    assert_false(answers.compared);
    assert_int_equal(answers.err.kind, ERR_KERNEL);
    assert_non_null(strstr(answers.err.text, "(3,)"));
    free_answers(&answers);
    free(path);
}

static void a_reference_that_raises_shows_its_line(void **state) {
    expect_failure(state,
                   HEAD "def get_inputs():\n    raise ValueError('wrong\\x1b[31m day')\n" FORWARD,
                   ERR_USAGE, "bad.py:3: ValueError: wrong [31m day");
    expect_failure(state, "import numpy as np\nif True print(1)\n", ERR_USAGE,
                   "bad.py:2: SyntaxError");
    expect_failure(state, HEAD INPUTS, ERR_USAGE, "no function forward()");
    expect_failure(state, HEAD "import sys\ndef get_inputs():\n    sys.exit(4)\n" FORWARD,
                   ERR_USAGE, "bad.py:4: SystemExit: 4");
    expect_forward_failure(state, HEAD INPUTS "def forward(x, eps):\n    return x @ x\n", ERR_USAGE,
                           "bad.py:5: ValueError: matmul");
}

/* Asked for again it would fail again, so it is no failure of the machine. */
static void a_function_that_takes_something_else_is_said(void **state) {
    expect_failure(state, HEAD "\ndef get_inputs(batch, seed=0):\n    return []\n" FORWARD,
                   ERR_USAGE,
                   "bad.py:3: get_inputs(batch, seed=0) cannot be called: missing a required "
                   "argument: 'batch'; hone calls it without arguments but its own SHAPES, and "
                   "with the number of the seed where it has a parameter named seed");
    expect_failure(state, HEAD "SHAPES = {'a': {'size': 3}}\n" INPUTS FORWARD, ERR_USAGE,
                   "get_inputs() cannot be called: got an unexpected keyword argument 'size'");
    expect_failure(state, HEAD INPUTS FORWARD "def transform_to_nki_inputs():\n    pass\n",
                   ERR_USAGE, "transform_to_nki_inputs() cannot be called: too many positional");
    expect_forward_failure(state, HEAD INPUTS "def forward(x):\n    return x\n", ERR_USAGE,
                           "forward(x) cannot be called: too many positional arguments; hone calls "
                           "it with what get_inputs() returns");
    char *path = put(state, "outputs.py",
                     HEAD INPUTS FORWARD "def transform_nki_outputs(k_res):\n    return k_res\n");
    float data[12] = {0};
    struct array output = {DTYPE_FLOAT32, 2, {4, 3}, data};
    struct answers answers = {0};
    compare(path, &output, 1, &answers);
    assert_int_equal(answers.err.kind, ERR_USAGE);
    assert_non_null(strstr(answers.err.text, "transform_nki_outputs(k_res) cannot be called"));
    free_answers(&answers);
    free(path);
}

static void the_number_of_the_seed_is_given_where_it_is_asked_for(void **state) {
    static const char *const heads[] = {"seed", "*, seed=7", "size=2, seed=None"};
    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        char name[32];
        snprintf(name, sizeof name, "seeded%zu.py", i);
        struct buf text = {0};
        buf_printf(&text,
                   HEAD "def get_inputs(%s):\n    return [np.full(2, seed, np.float32)]\n"
                        "def forward(x):\n    return x\n",
                   heads[i]);
        char *path = put(state, name, text.at);
        buf_free(&text);
        struct answers answers = {0};
        prepare(path, 41 + (int)i, 20, &answers);
        assert_non_null(answers.inputs);
        assert_true(((const float *)answers.inputs->values[0].array.data)[1] == 41 + (float)i);
        free_answers(&answers);
        free(path);
    }
}

static void what_nobody_can_use_is_said(void **state) {
    expect_failure(state, HEAD "def get_inputs():\n    return None\n" FORWARD, ERR_USAGE,
                   "get_inputs() returned NoneType");
    static const char *const keys[] = {"'a b'", "'a\\n\\x1b[31m'", "'lambda'", "1", "''"};
    static const char form[] = HEAD "def get_inputs():\n    return {%s: 1}\n"
                                    "def forward(**given):\n    return np.ones(2)\n";
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        char text[sizeof form + 32];
        snprintf(text, sizeof text, form, keys[i]);
        expect_failure(state, text, ERR_USAGE, "its keys must be names of parameters");
    }
    expect_failure(state,
                   HEAD "def get_inputs():\n    return [np.array([{}, []], object)]\n" FORWARD,
                   ERR_USAGE, "array of object");
    expect_failure(state, HEAD "def get_inputs():\n    return [[1, {2}]]\n" FORWARD, ERR_USAGE,
                   "input 0 of the kernel is a set");
    expect_failure(state, HEAD "def get_inputs():\n    return [{1: 2}]\n" FORWARD, ERR_USAGE,
                   "keys are strings");
    expect_failure(state,
                   HEAD "def get_inputs():\n    x = []\n    x.append(x)\n    return [x]\n" FORWARD,
                   ERR_USAGE, "too large: at most 8 levels");
    expect_failure(state, HEAD INPUTS FORWARD "TOLERANCE = [1e-5, 0]\n", ERR_USAGE,
                   "they must be above 0");
    expect_failure(state, HEAD INPUTS FORWARD "TOLERANCE = 'high'\n", ERR_USAGE,
                   "TOLERANCE is 'high'");
    expect_forward_failure(state, HEAD INPUTS "def forward(x, eps):\n    pass\n", ERR_USAGE,
                           "forward() returned nothing");
    expect_forward_failure(state, HEAD INPUTS "def forward(x, eps):\n    return x / 0 * 0\n",
                           ERR_USAGE, "12 of 12 elements that are NaN");
    expect_forward_failure(state, HEAD INPUTS "def forward(x, eps):\n    return np.array([None])\n",
                           ERR_USAGE, "array of object");
}

static void a_reference_that_hangs_is_ended(void **state) {
    char *path = put(state, "hang.py",
                     HEAD "import time\n"
                          "def get_inputs():\n    time.sleep(600)\n" FORWARD);
    struct answers answers = {0};
    prepare(path, 3, 0.5, &answers);
    assert_int_equal(answers.err.kind, ERR_USAGE);
    assert_non_null(strstr(answers.err.text, "hang.py gave no answer within 0.5 s for seed 3"));
    free_answers(&answers);
    free(path);
}

static void a_reference_that_ends_python_is_said(void **state) {
    expect_failure(
        state,
        HEAD "import os, sys\ndef get_inputs():\n"
             "    print('last words', file=sys.stderr, flush=True)\n    os._exit(5)\n" FORWARD,
        ERR_USAGE, "exit status 5: last words");
    static const char *const ends[] = {"os.abort()", "os.kill(os.getpid(), signal.SIGSEGV)",
                                       "os._exit(0)"};
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        struct buf text = {0};
        buf_printf(&text, HEAD "import os, signal\ndef get_inputs():\n    %s\n" FORWARD, ends[i]);
        expect_failure(state, text.at, ERR_USAGE, "the reference ended its Python");
        buf_free(&text);
    }
}

static void what_an_exception_says_is_cut_and_may_fail(void **state) {
    expect_failure(state,
                   HEAD "def get_inputs():\n    raise ValueError('long ' * 6000000)\n" FORWARD,
                   ERR_USAGE, "ValueError: long long");
    expect_failure(state,
                   HEAD "class Odd(Exception):\n    def __str__(self):\n        raise KeyError\n"
                        "def get_inputs():\n    raise Odd\n" FORWARD,
                   ERR_USAGE, "Odd (its text cannot be had)");
}

/* Nobody would look for a mistake in the reference where the disk is full. */
static void what_the_machine_lacks_is_not_the_reference_s_failure(void **state) {
    static const char *const raised[] = {"OSError(errno.ENOSPC, 'full')",
                                         "OSError(errno.ENOMEM, 'none')", "MemoryError"};
    for (size_t i = 0; i < COUNT_OF(raised); i++) {
        struct buf text = {0};
        buf_printf(&text, HEAD "import errno\ndef get_inputs():\n    raise %s\n" FORWARD,
                   raised[i]);
        expect_failure(state, text.at, ERR_ENVIRONMENT, "the machine could not run the reference");
        buf_free(&text);
    }
    expect_failure(state, HEAD "def get_inputs():\n    raise OSError(2, 'gone')\n" FORWARD,
                   ERR_USAGE, "the reference failed");
}

static void a_python_that_is_killed_is_not_blamed(void **state) {
    expect_failure(state,
                   HEAD "import os, signal\ndef get_inputs():\n"
                        "    os.kill(os.getpid(), signal.SIGKILL)\n" FORWARD,
                   ERR_ENVIRONMENT, "was ended from outside (killed by signal 9");
    char *python = put(state, "shot-python", "#!/bin/sh\nkill -9 $$\n");
    assert_int_equal(chmod(python, 0755), 0);
    char *path = put(state, "shot.py", HEAD INPUTS FORWARD);
    setenv("HONE_PYTHON", python, 1);
    struct answers answers = {0};
    prepare(path, 0, 20, &answers);
    unsetenv("HONE_PYTHON");
    assert_int_equal(answers.err.kind, ERR_ENVIRONMENT);
    assert_non_null(strstr(answers.err.text, "ended while it started (killed by signal 9"));
    assert_null(strstr(answers.err.text, "numpy"));
    free_answers(&answers);
    free(path);
    free(python);
}

static void memory_has_a_limit(void **state) {
    char *path = put(state, "big.py",
                     HEAD "def get_inputs():\n    return [np.ones(1 << 34, np.float32)]\n" FORWARD);
    struct loop *loop = loop_new();
    struct task_reference_limits limits = {.memory_bytes = (uint64_t)4 << 30};
    struct task_reference *reference = task_reference_open(loop, path, &limits, NULL);
    struct answers answers = {0};
    task_reference_prepare(reference, 0, on_inputs, &answers);
    const bool never = false;
    for (int i = 0; i < 600 && !answers.count; i++)
        loop_run_until(loop, &never, 100);
    assert_int_equal(answers.err.kind, ERR_USAGE);
    assert_non_null(strstr(answers.err.text, "big.py:3: out of memory"));
    task_reference_free(reference);
    loop_free(loop);
    free_answers(&answers);
    free(path);
}

static void assert_same_shapes(const struct task_inputs *a, const struct task_inputs *b) {
    assert_int_equal(a->count, b->count);
    assert_true(a->tolerance == b->tolerance);
    for (size_t i = 0; i < a->count; i++) {
        const struct task_value *x = &a->values[i], *y = &b->values[i];
        assert_int_equal(x->kind, y->kind);
        assert_int_equal(x->array.dtype, y->array.dtype);
        assert_int_equal(x->array.ndim, y->array.ndim);
        assert_memory_equal(x->array.shape, y->array.shape, sizeof x->array.shape);
        assert_true(x->number == y->number);
        assert_int_equal(x->integer, y->integer);
    }
}

/* Where numbers decide nothing, shapes are found without making any. Where they do, numbers are
 * made. */
static void shapes_are_what_the_inputs_have(void **state) {
    static const struct {
        const char *text;
        bool numbers; /* have to be made for it */
    } all[] = {
        {HEAD INPUTS FORWARD "TOLERANCE = 1e-3\n", false},
        {HEAD "nki_input_dtypes = ['bfloat16', 'float8_e4m3', None]\n"
              "def get_inputs():\n"
              "    x = np.random.randn(8, 6).astype(np.float32) * 0.1\n"
              "    x += np.random.rand(6)\n"
              "    w = np.random.uniform(-1, 1, (6, 2)).T / np.sqrt(6)\n"
              "    return [x, w, 3]\n"
              "def transform_to_nki_inputs(inputs):\n"
              "    x, w, n = inputs\n"
              "    return [np.ascontiguousarray(x.T).reshape(2, 3, 8), w.astype(np.float32), n]\n"
              "def forward(x, w, n):\n    return x\n",
         false},
        {HEAD "rng = np.random.default_rng(1)\n"
              "def get_inputs():\n"
              "    return [rng.standard_normal((4, 2), dtype=np.float32), np.arange(5),\n"
              "            rng.integers(0, 9, size=(7,)).astype(np.int32)]\n" FORWARD,
         false},
        {HEAD "def get_inputs():\n"
              "    x = np.random.randint(0, 9, size=(40,)).astype(np.int32)\n"
              "    return [x, int(x.max()), x[x > 4]]\n" FORWARD,
         true},
        {HEAD "def get_inputs():\n"
              "    x = np.random.randn(4, 4)\n"
              "    return [x @ x, float(np.random.normal())]\n" FORWARD,
         true},
        {HEAD "def get_inputs():\n"
              "    x = np.float32(np.random.randn(40))\n"
              "    return [x, len(set(x.tolist()))]\n" FORWARD,
         true},
    };
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        char name[40];
        snprintf(name, sizeof name, "outline%zu/reference.py", i);
        char *path = put(state, name, all[i].text);
        struct answers shapes = {0}, again = {0}, inputs = {0};
        find_shapes(path, 5, &shapes);
        struct task_inputs *made = task_inputs_cached(path, 5, false);
        assert_int_equal(made != NULL, all[i].numbers);
        find_shapes(path, 5, &again);
        assert_true(again.inputs->from_cache);
        prepare(path, 5, 20, &inputs);
        assert_non_null(inputs.inputs);
        assert_same_shapes(shapes.inputs, inputs.inputs);
        assert_same_shapes(again.inputs, inputs.inputs);
        task_inputs_free(made);
        free_answers(&shapes);
        free_answers(&again);
        free_answers(&inputs);
        free(path);
    }
}

static void inputs_tell_what_the_reference_needs(void **state) {
    char *path = put(state, "needs/reference.py",
                     HEAD "def get_inputs():\n"
                          "    return [np.ones((8, 4), np.float32), np.ones((4, 6), np.float32)]\n"
                          "def forward(x, w):\n    return x @ w\n");
    struct answers shapes = {0}, inputs = {0};
    find_shapes(path, 5, &shapes);
    prepare(path, 6, 20, &inputs);
    const struct task_work *all[] = {&shapes.inputs->work, &inputs.inputs->work};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        assert_true(all[i]->known);
        assert_float_equal(all[i]->read_bytes, 4 * (8 * 4 + 4 * 6), 0);
        assert_float_equal(all[i]->written, 8 * 6, 0);
        assert_float_equal(all[i]->fp32, 8 * 4 * 6, 0);
    }
    free_answers(&shapes);
    free_answers(&inputs);
    free(path);
    path = put(state, "needs_not/reference.py",
               HEAD "def get_inputs():\n    return [np.ones((8, 4), np.float32)]\n"
                    "def forward(x):\n    return x * np.linalg.matrix_rank(x)\n");
    find_shapes(path, 5, &shapes);
    assert_false(shapes.inputs->work.known);
    assert_string_equal(shapes.inputs->work.refused, "numpy.matrix_rank");
    assert_int_equal(shapes.inputs->work.line, 5);
    free_answers(&shapes);
    free(path);
}

static void without_numpy_the_error_says_what_was_tried(void **state) {
    char *python = put(state, "bare-python", "#!/bin/sh\nexec /usr/bin/python3 -S -E -I \"$@\"\n");
    assert_int_equal(chmod(python, 0755), 0);
    char *path = put(state, "nonumpy.py", HEAD INPUTS FORWARD);
    setenv("HONE_PYTHON", python, 1);
    struct answers answers = {0};
    prepare(path, 0, 20, &answers);
    assert_int_equal(answers.err.kind, ERR_ENVIRONMENT);
    assert_non_null(strstr(answers.err.text, "no numpy"));
    assert_non_null(strstr(answers.err.text, "bare-python (ModuleNotFoundError"));
    assert_non_null(strstr(answers.err.text, "apt install python3-numpy"));
    free_answers(&answers);
    setenv("HONE_PYTHON", "/no/such/python", 1);
    prepare(path, 0, 20, &answers);
    assert_non_null(strstr(answers.err.text, "/no/such/python (No such file or directory)"));
    unsetenv("HONE_PYTHON");
    free_answers(&answers);
    free(path);
    free(python);
}

/* What hone knows of a login is not for the reference. */
static void a_reference_sees_no_secret(void **state) {
    static const char *const names[] = {"ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY",
                                        "SSH_AUTH_SOCK", "HONE_ANYTHING", "HTTPS_PROXY"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        setenv(names[i], "ge-heim", 1);
    expect_failure(state,
                   "import os\n" INPUTS FORWARD
                   "seen = sorted(name for name, value in os.environ.items() if 'heim' in value)\n"
                   "raise ValueError(f'{len(seen)} secrets: {seen}')\n",
                   ERR_USAGE, "0 secrets");
    for (size_t i = 0; i < COUNT_OF(names); i++)
        unsetenv(names[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reference_sees_no_secret),
        cmocka_unit_test(bfloat16_inputs_are_rounded_to_nearest_even),
        cmocka_unit_test(outputs_are_compared_in_double_precision),
        cmocka_unit_test(several_outputs_keep_their_order),
        cmocka_unit_test(where_the_reference_is_infinite_the_kernel_must_be),
        cmocka_unit_test(each_output_may_have_its_own_tolerance),
        cmocka_unit_test(inputs_of_a_dict_are_keywords),
        cmocka_unit_test(an_array_alone_is_the_one_input),
        cmocka_unit_test(arguments_may_be_made_of_others),
        cmocka_unit_test(tensors_of_torch_are_arrays),
        cmocka_unit_test(outputs_that_do_not_fit_are_the_kernels_fault),
        cmocka_unit_test(a_reference_that_raises_shows_its_line),
        cmocka_unit_test(a_function_that_takes_something_else_is_said),
        cmocka_unit_test(the_number_of_the_seed_is_given_where_it_is_asked_for),
        cmocka_unit_test(what_nobody_can_use_is_said),
        cmocka_unit_test(a_reference_that_hangs_is_ended),
        cmocka_unit_test(what_an_exception_says_is_cut_and_may_fail),
        cmocka_unit_test(what_the_machine_lacks_is_not_the_reference_s_failure),
        cmocka_unit_test(a_python_that_is_killed_is_not_blamed),
        cmocka_unit_test(a_reference_that_ends_python_is_said),
        cmocka_unit_test(memory_has_a_limit),
        cmocka_unit_test(inputs_tell_what_the_reference_needs),
        cmocka_unit_test(without_numpy_the_error_says_what_was_tried),
        cmocka_unit_test(shapes_are_what_the_inputs_have),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
