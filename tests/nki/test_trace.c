/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel that Python evaluates becomes what the interpreter makes of it: the golden programs of
 * tests/nki/api for the newest release, and what is said of errors there. Also what a kernel may do
 * to the Python that runs it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "nki/nki.h"
#include "nki/program/testing.h"
#include "task/task.h"

#include "inputs.h"

#define FOLDER HONE_SOURCE_DIR "/tests/nki/api/"

static const char imports[] = "import nki\nimport nki.language as nl, nki.isa as nisa\n";

/* ---- both ways ------------------------------------------------------------------------------- */

struct traced {
    struct nki_tracer tracer;
    struct task_tracer *python;
};

static bool start(void *data, struct str program, struct err *err) {
    return task_tracer_start(((struct traced *)data)->python, program, err);
}

static bool exchange(void *data, struct str message, struct str *next, struct err *err) {
    return task_tracer_exchange(((struct traced *)data)->python, message, next, err);
}

static void stop(void *data) {
    task_tracer_stop(((struct traced *)data)->python);
}

static void traced_new(struct traced *traced, double time_s) {
    struct task_tracer_limits limits = {.time_s = time_s, .level = "limits"};
    traced->python = task_tracer_new(&limits);
    traced->tracer =
        (struct nki_tracer){.start = start, .exchange = exchange, .stop = stop, .data = traced};
}

/* The program with the places of its instructions, or what is wrong. */
static void print_program(const struct nki_program *program, struct buf *out) {
    nki_program_print(program, out);
    for (size_t i = 0; i < program->instrs.len; i++) {
        int32_t at = (int32_t)program->instrs.at[i].loc;
        for (; at >= 0; at = program->locs.at[at].caller)
            buf_printf(out, "%u:%u ", program->locs.at[at].line, program->locs.at[at].column);
        buf_putc(out, '\n');
    }
}

static void print_diags(const struct diag_list *diags, bool texts, struct buf *out) {
    for (size_t i = 0; i < diags->all.len; i++) {
        const struct diag *diag = &diags->all.at[i];
        if (texts || diag->severity != DIAG_ERROR)
            diag_print(diag, out);
        else
            buf_printf(out, "%s:%d: %s", diag->file, diag->line, diag->code);
        buf_putc(out, '\n');
    }
}

static bool specialise(const char *source, const struct inputs *inputs, struct nki_tracer *tracer,
                       bool texts, struct buf *out) {
    struct diag_list diags = {0};
    struct nki_tree *tree = nki_parse("kernel.py", str_of(source), &diags);
    struct nki_specialise_options options = {.function = "k",
                                             .generation = NKI_GEN3,
                                             .max_steps = 20000,
                                             .inputs = inputs->at,
                                             .n_inputs = inputs->n,
                                             .tracer = tracer};
    struct nki_program *program = nki_specialise(tree, &options, &diags);
    bool good = program != NULL;
    print_diags(&diags, texts, out);
    if (program)
        print_program(program, out);
    nki_program_free(program);
    nki_tree_free(tree);
    diag_free(&diags);
    return good;
}

/* ---- the golden programs --------------------------------------------------------------------- */

static struct str take_until(struct str *rest, const char *mark) {
    struct str all = *rest, line, taken = {rest->at, 0};
    while (str_next(rest, '\n', &line)) {
        if (str_starts(line, mark)) {
            *rest = (struct str){line.at, all.len - (size_t)(line.at - all.at)};
            return taken;
        }
        taken.len = (size_t)(rest->at ? rest->at - all.at : (ptrdiff_t)all.len);
        if (!rest->len)
            taken.len = all.len;
    }
    return taken;
}

struct tally {
    size_t same, different;
};

static void compare(struct str title, struct str inputs_text, struct str kernel,
                    struct tally *tally) {
    struct buf source = {0}, wanted = {0}, found = {0};
    struct inputs inputs = {.arena = arena_new()};
    struct traced traced;
    buf_puts(&source, imports);
    buf_add(&source, kernel.at, kernel.len);
    read_inputs(inputs_text, &inputs);
    traced_new(&traced, 60);
    specialise(source.at, &inputs, NULL, false, &wanted);
    specialise(source.at, &inputs, &traced.tracer, false, &found);
    bool same = str_equal(buf_str(&wanted), buf_str(&found));
    if (!same)
        print_error("%.*s\n--- hone\n%s\n--- python3\n%s\n", STR_ARG(title), wanted.at, found.at);
    tally->same += same;
    tally->different += !same;
    task_tracer_free(traced.python);
    buf_free(&source);
    buf_free(&wanted);
    buf_free(&found);
    arena_free(inputs.arena);
}

/* Python itself refuses these: it launches no function without @nki.jit, and a name at module level
 * that cannot be made ends the file. */
static bool is_pythons(struct str title) {
    static const char *const titles[] = {"a kernel that is made of several",
                                         "a barrier of one of two cores",
                                         "more programs than cores", "a launch within a launch"};
    for (size_t i = 0; i < COUNT_OF(titles); i++)
        if (str_is(str_trim(title), titles[i]))
            return true;
    return false;
}

static void run_file(const char *name) {
    struct buf path = {0};
    struct err err = {0};
    size_t size = 0;
    struct tally tally = {0};
    buf_printf(&path, FOLDER "%s", name);
    char *text = file_read(path.at, 1 << 20, &size, &err);
    if (!text)
        fail_msg("%s", err.text);
    struct str rest = {text, size};
    while (rest.len) {
        struct str header, title, dialect;
        assert_true(str_next(&rest, '\n', &header));
        struct str fields = {header.at + 3, header.len - 3};
        assert_true(str_next(&fields, '|', &title) && str_next(&fields, '|', &dialect));
        struct str kernel = take_until(&rest, "--->");
        (void)take_until(&rest, "###");
        if (str_is(str_trim(dialect), "current") && !is_pythons(title))
            compare(title, str_trim(fields), kernel, &tally);
    }
    print_message("%s: %zu are the same, %zu are not\n", name, tally.same, tally.different);
    assert_int_equal(tally.different, 0);
    assert_true(tally.same > 10);
    buf_free(&path);
    free(text);
}

static void test_programs_are_the_interpreters(void **state) {
    (void)state;
    run_file("current.txt");
}

static void test_errors_have_the_interpreters_code_and_line(void **state) {
    (void)state;
    run_file("errors.txt");
}

/* ---- what kernels do to their Python ----------------------------------------------------------
 */

#define HEAD                                                                             \
    "import nki\nimport nki.language as nl, nki.isa as nisa\nimport os, sys\n@nki.jit\n" \
    "def k(x):\n"
#define TAIL                                                               \
    "    y = nl.ndarray((4, 4), dtype=nl.float32, buffer=nl.shared_hbm)\n" \
    "    nisa.dma_copy(dst=y, src=x)\n"                                    \
    "    return y\n"

static const struct {
    const char *kernel, *code, *text;
} hostile[] = {
    {"    sys.exit(3)\n", "SystemExit", "sys.exit(3)"},
    {"    os._exit(5)\n", "hone-trace", "exit status 5"},
    {"    os.kill(os.getpid(), 9)\n", "hone-trace", "killed by signal 9"},
    {"    os.abort()\n", "hone-trace", "killed by signal 6"},
    {"    while True: pass\n", "hone-trace", "loop that never ends"},
    {"    os.closerange(0, 256)\n", "hone-trace", "closed its pipe"},
    {"    for fd in range(3, 30):\n"
     "        try: os.write(fd, b'x' * 100)\n"
     "        except OSError: pass\n",
     "hone-trace", "did not open"},
    {"    for fd in range(3, 30):\n"
     "        try: os.write(fd, b'\\4\\0\\0\\0abcd')\n"
     "        except OSError: pass\n",
     "hone-trace", "did not open"},
    {"    import marshal\n"
     "    for fd in range(3, 30):\n"
     "        m = marshal.dumps((5, (), None, ([0, 1 << 40], (), ())), 2)\n"
     "        try: os.write(fd, len(m).to_bytes(4, 'little') + m)\n"
     "        except OSError: pass\n",
     "hone-trace", "did not open"},
    {"    import marshal\n"
     "    for fd in range(3, 30):\n"
     "        m = marshal.dumps((5, (1 << 30,), ((1,),), ()), 2)\n"
     "        try: os.write(fd, len(m).to_bytes(4, 'little') + m)\n"
     "        except OSError: pass\n",
     "hone-trace", "did not open"},
    {"    while True: os.write(2, b'x' * 65536)\n", "hone-trace", "prints without end"},
    {"    if os.fork() == 0:\n"
     "        import time\n"
     "        time.sleep(600)\n"
     "    os._exit(0)\n",
     "hone-trace", "has ended"},
    {"    def f(): return f()\n"
     "    f()\n",
     "RecursionError", ""},
    {"    raise KeyboardInterrupt\n", "KeyboardInterrupt", "was raised"},
    {"    class E(BaseException):\n"
     "        def __str__(self): raise ValueError\n"
     "    raise E\n",
     "E", "was raised"},
    {"    x = bytearray(1 << 40)\n", "MemoryError", ""},
    {"    raise ValueError('\\udc80 half')\n", "ValueError", "half"},
    {"    a = []\n"
     "    a.append(a)\n"
     "    nl.ndarray(a, dtype=nl.float32)\n",
     "RecursionError", ""},
    {"    nl.ndarray((1 << 70, 4), dtype=nl.float32)\n", "OverflowError", "64 bits"},
    {"    nl.ndarray(os, dtype=nl.float32)\n", "hone-argument", ""},
};

static void test_a_kernel_that_harms_its_python_is_told(void **state) {
    (void)state;
    struct nki_input input = {.kind = NKI_INPUT_ARRAY,
                              .array = {.dtype = DTYPE_FLOAT32, .ndim = 2, .shape = {4, 4}}};
    for (size_t i = 0; i < COUNT_OF(hostile); i++) {
        struct buf source = {0};
        struct diag_list diags = {0};
        struct traced traced;
        traced_new(&traced, strstr(hostile[i].kernel, "while True: pass") ? 3 : 60);
        buf_printf(&source, "%s%s%s", HEAD, hostile[i].kernel, TAIL);
        struct nki_tree *tree = nki_parse("kernel.py", buf_str(&source), &diags);
        struct nki_specialise_options options = {.generation = NKI_GEN3,
                                                 .inputs = &input,
                                                 .n_inputs = 1,
                                                 .every_error = true,
                                                 .tracer = &traced.tracer};
        struct nki_program *program = nki_specialise(tree, &options, &diags);
        const struct diag *first = NULL;
        for (size_t k = 0; k < diags.all.len && !first; k++)
            if (diags.all.at[k].severity == DIAG_ERROR)
                first = &diags.all.at[k];
        if (program || !first || strcmp(first->code, hostile[i].code) != 0 ||
            !strstr(first->message, hostile[i].text))
            fail_msg("%s\n%s [%s]", hostile[i].kernel, first ? first->message : "no error",
                     first ? first->code : "");
        nki_program_free(program);
        nki_tree_free(tree);
        task_tracer_free(traced.python);
        diag_free(&diags);
        buf_free(&source);
    }
}

/* Whatever the kernel catches, a budget that is used up and what hone cannot do end it. */
static void test_nothing_catches_what_ends_the_evaluation(void **state) {
    (void)state;
    static const char kernel[] = HEAD "    while True:\n"
                                      "        try:\n"
                                      "            nl.ndarray((4, 4), dtype=nl.float32)\n"
                                      "        except BaseException:\n"
                                      "            break\n" TAIL;
    struct inputs inputs = {.arena = arena_new()};
    struct buf found = {0};
    struct traced traced;
    traced_new(&traced, 100);
    read_inputs(STR("x:float32:4,4"), &inputs);
    assert_false(specialise(kernel, &inputs, &traced.tracer, true, &found));
    if (!strstr(found.at, "hone-steps"))
        fail_msg("%s", found.at);
    task_tracer_free(traced.python);
    arena_free(inputs.arena);
    buf_free(&found);
}

/* Classes, exceptions, closures and generators are Python's own; what NKI refuses can be caught. */
static void test_python_is_pythons_own(void **state) {
    (void)state;
    static const char kernel[] =
        "import nki, dataclasses, enum, functools, itertools, collections\n"
        "import nki.language as nl, nki.isa as nisa\n"
        "@dataclasses.dataclass(frozen=True)\n"
        "class Tile:\n"
        "    data: nl.NkiTensor\n"
        "    kind: object = nl.float32\n"
        "    def __matmul__(self, other): return (self, other)\n"
        "class Mode(enum.Enum):\n"
        "    A = nl.bfloat16\n"
        "def tiles(x):\n"
        "    for i in range(2):\n"
        "        t = nl.ndarray((2, 4), dtype=x.dtype, buffer=nl.sbuf)\n"
        "        nisa.dma_copy(dst=t, src=x[i * 2:(i + 1) * 2])\n"
        "        yield i, t\n"
        "@nki.jit\n"
        "def k(x):\n"
        "    assert isinstance(x, nl.NkiTensor) and not isinstance(3, nl.NkiTensor)\n"
        "    assert x.dtype is nl.float32 and x.dtype == nl.float32 and x.dtype != nl.int32\n"
        "    assert {nl.float32: 1}[x.dtype] == 1 and x.dtype in (nl.int32, nl.float32)\n"
        "    assert x is not None and x != None and len(x) == 4 and tuple(x.shape) == (4, 4)\n"
        "    assert Mode.A.value is nl.bfloat16 and (Tile(x) @ 3)[1] == 3\n"
        "    y = nl.ndarray((4, 4), dtype=nl.float32, buffer=nl.shared_hbm)\n"
        "    try:\n"
        "        nl.ndarray((1 << 20, 4), dtype=nl.float32, buffer=nl.sbuf)\n"
        "        nisa.dma_copy(dst=3, src=x)\n"
        "    except Exception as error:\n"
        "        print('caught', type(error).__name__)\n"
        "    assert getattr(nl, 'nothing_like_it', 7) == 7 and not hasattr(x, 'nothing')\n"
        "    for i, t in tiles(x):\n"
        "        nisa.dma_copy(dst=y[i * 2:(i + 1) * 2], src=t)\n"
        "    print(f'{x.shape} {1 << 80}')\n"
        "    return y\n";
    struct inputs inputs = {.arena = arena_new()};
    struct buf found = {0};
    struct traced traced;
    traced_new(&traced, 60);
    read_inputs(STR("x:float32:4,4"), &inputs);
    if (!specialise(kernel, &inputs, &traced.tracer, true, &found))
        fail_msg("%s", found.at);
    assert_non_null(strstr(found.at, "caught"));
    assert_non_null(strstr(found.at, "1208925819614629174706176"));
    assert_non_null(strstr(found.at, "3 dma_copy"));
    task_tracer_free(traced.python);
    arena_free(inputs.arena);
    buf_free(&found);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs_are_the_interpreters),
        cmocka_unit_test(test_errors_have_the_interpreters_code_and_line),
        cmocka_unit_test(test_a_kernel_that_harms_its_python_is_told),
        cmocka_unit_test(test_nothing_catches_what_ends_the_evaluation),
        cmocka_unit_test(test_python_is_pythons_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
