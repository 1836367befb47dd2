/* SPDX-License-Identifier: Apache-2.0 */
/* Folded loops against unrolled ones: random kernels, in both dialects, are timed with rounds left
 * out and with all of them, and all that a profile says must be the same to the last bit. Loops
 * whose rounds are not alike must not be folded. Where rounds are copied, the program must be the
 * one that evaluating all of them makes. */
#include "device/device.h"
#include "device/image/inner.h"
#include "device/time/inner.h"
#include "nki/program/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <math.h>

#define HEAD                                                                     \
    "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n"            \
    "@nki.jit\n"                                                                 \
    "def kernel(x, n):\n"                                                        \
    "    y = nl.ndarray((128, 65536), dtype=nl.float32, buffer=nl.shared_hbm)\n" \
    "    acc = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)\n"        \
    "    w = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)\n"          \
    "    nisa.memset(dst=acc, value=0.0)\n"                                      \
    "    nisa.dma_copy(dst=w, src=x[0:128, 0:64])\n"
#define TAIL                                           \
    "    nisa.dma_copy(dst=y[0:128, 0:64], src=acc)\n" \
    "    return y\n"
#define LEGACY                                                                   \
    "import neuronxcc.nki as nki\nimport neuronxcc.nki.isa as nisa\n"            \
    "import neuronxcc.nki.language as nl\nimport numpy as np\n"                  \
    "@nki.jit\n"                                                                 \
    "def kernel(x, n):\n"                                                        \
    "    y = nl.ndarray((128, 65536), dtype=nl.float32, buffer=nl.shared_hbm)\n" \
    "    w = nl.load(x[0:128, 0:64])\n"

/* ---- random kernels ------------------------------------------------------------------------- */

struct random {
    uint32_t seed;
    struct buf text;
    int tiles; /* of the loop: t0 .. */
    int width;
    bool open; /* copies leave their engine to the compiler */
};

static uint32_t draw(struct random *r, uint32_t below) {
    r->seed = r->seed * 1664525 + 1013904223;
    return (r->seed >> 10) % below;
}

static const char *place(struct random *r) {
    static const char *const places[] = {
        "i", "(i % 4)", "(i % 6)", "(i * 3 + 1) % 8", "(i // 2) % 3", "(i // 3)", "m"};
    uint32_t first = r->open ? 1 : 0; /* its rounds are more than x has room for */
    return places[first + draw(r, COUNT_OF(places) - first)];
}

/* A tile of this round, or one from before the loop. */
static const char *some(struct random *r, char name[16]) {
    if (!r->tiles || draw(r, 5) == 0)
        return draw(r, 2) ? "w" : "acc";
    snprintf(name, 16, "t%u", draw(r, (uint32_t)r->tiles));
    return name;
}

static int new_tile(struct random *r) {
    buf_printf(&r->text, "        t%d = nl.ndarray((128, %d), dtype=nl.float32, buffer=nl.sbuf)\n",
               r->tiles, r->width);
    return r->tiles++;
}

static void add_load(struct random *r) {
    int tile = new_tile(r);
    const char *at = place(r);
    buf_printf(
        &r->text,
        "        nisa.dma_copy(dst=t%d[0:128, 0:64], src=x[0:128, (%s) * 64:(%s) * 64 + 64])\n",
        tile, at, at);
}

static void add_product(struct random *r) {
    static const char *const engines[] = {", engine=nisa.engine.vector",
                                          ", engine=nisa.engine.scalar", ""};
    char a[16], b[16];
    const char *left = some(r, a), *right = some(r, b);
    buf_printf(
        &r->text,
        "        p = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.psum)\n"
        "        nisa.nc_matmul(dst=p, stationary=%s[0:128, 0:64], moving=%s[0:128, 0:64])\n",
        left, right);
    int tile = new_tile(r);
    buf_printf(&r->text, "        nisa.tensor_copy(dst=t%d[0:64, 0:64], src=p%s)\n", tile,
               engines[r->open ? 2 : draw(r, 2)]);
}

static void add_step(struct random *r) {
    static const char *const functions[] = {"exp", "copy", "tanh"};
    char a[16], b[16], c[16];
    const char *x = some(r, a), *y = some(r, b), *z = some(r, c);
    switch (draw(r, 9)) {
    case 0: add_load(r); return;
    case 1: add_product(r); return;
    case 2:
        buf_printf(
            &r->text,
            "        nisa.activation(dst=t%d[0:128, 0:64], op=nl.%s, data=%s[0:128, 0:64])\n",
            new_tile(r), functions[draw(r, 3)], x);
        return;
    case 3:
        buf_printf(&r->text,
                   "        nisa.tensor_tensor(dst=%s[0:128, 0:64], data1=%s[0:128, 0:64], "
                   "data2=%s[0:128, 0:64], op=nl.add)\n",
                   x, y, z);
        return;
    case 4:
        buf_printf(&r->text,
                   "        for k in range(3):\n"
                   "            nisa.tensor_scalar(dst=%s[0:128, k * 16:k * 16 + 16], "
                   "data=%s[0:128, 0:16], op0=nl.multiply, operand0=0.5)\n",
                   x, y);
        return;
    case 5:
        buf_printf(&r->text,
                   "        if n > 3:\n"
                   "            nisa.tensor_copy(dst=%s[0:128, 0:32], src=%s[0:128, 32:64], "
                   "engine=nisa.engine.gpsimd)\n",
                   x, y);
        return;
    default: {
        const char *at = place(r);
        buf_printf(&r->text,
                   "        nisa.dma_copy(dst=y[0:128, (%s) * 64:(%s) * 64 + 64], "
                   "src=%s[0:128, 0:64])\n",
                   at, at, x);
    }
    }
}

static void add_loop(struct random *r) {
    static const int widths[] = {1024, 2048, 4096, 8192};
    r->tiles = 0;
    r->width = widths[draw(r, COUNT_OF(widths))];
    buf_printf(&r->text, "    for i in range(n):\n        m = i %% 5\n");
    add_load(r);
    if (r->open)
        add_product(r);
    for (int left = 2 + (int)draw(r, 5); left; left--)
        add_step(r);
}

static void add_legacy_step(struct random *r) {
    const char *at = place(r);
    int tile = r->tiles;
    char a[16], b[16];
    const char *x = tile ? some(r, a) : "w", *y = tile ? some(r, b) : "w";
    x = x[0] == 'a' ? "w" : x;
    y = y[0] == 'a' ? "w" : y;
    switch (draw(r, 6)) {
    case 0: buf_printf(&r->text, "        t%d = nl.load(x[p, (%s) * 64 + f])\n", tile, at); break;
    case 1: buf_printf(&r->text, "        t%d = nl.exp(%s)\n", tile, x); break;
    case 2: buf_printf(&r->text, "        t%d = nl.add(%s, %s)\n", tile, x, y); break;
    case 3:
        buf_printf(&r->text, "        t%d = nisa.tensor_scalar(%s, np.add, 1.0)\n", tile, x);
        break;
    case 4: buf_printf(&r->text, "        t%d = nl.multiply(%s, %s)\n", tile, x, y); break;
    default: buf_printf(&r->text, "        nl.store(y[p, (%s) * 64 + f], %s)\n", at, x); return;
    }
    r->tiles++;
}

static void add_legacy_loop(struct random *r) {
    r->tiles = 0;
    buf_printf(&r->text, "    for i in nl.sequential_range(n):\n"
                         "        m = i %% 5\n"
                         "        p = nl.arange(128)[:, None]\n"
                         "        f = nl.arange(64)[None, :]\n");
    for (int left = 3 + (int)draw(r, 6); left; left--)
        add_legacy_step(r);
    buf_printf(&r->text, "        nl.store(y[p, i * 64 + f], %s)\n", r->tiles ? "t0" : "w");
}

/* ---- timing --------------------------------------------------------------------------------- */

struct timed {
    struct nki_tree *tree;
    struct device_kernel kernel;
    struct diag_list diags;
    bool folded;
};

/* About `kept` rounds of loops are evaluated, or all; or some are copied. */
enum how { FOLDED, EVALUATED, COPIED };

static struct timed make(const char *text, int64_t rounds, uint32_t kept, enum how how) {
    struct timed t = {0};
    struct nki_input inputs[] = {
        {.array = {.dtype = DTYPE_FLOAT32, .ndim = 2, .shape = {128, 65536}}},
        {.kind = NKI_INPUT_INT, .i = rounds}};
    struct nki_specialise_options options = {.generation = NKI_GEN3,
                                             .inputs = inputs,
                                             .n_inputs = 2,
                                             .fold_rounds = how == FOLDED ? kept : 0,
                                             .every_round = how == EVALUATED,
                                             .was_folded = &t.folded};
    t.tree = nki_parse("kernel.py", str_of(text), &t.diags);
    t.kernel.program = nki_specialise(t.tree, &options, &t.diags);
    if (t.kernel.program)
        t.kernel.image = device_load(t.kernel.program, device_generation_of(NKI_GEN3), &t.diags);
    return t;
}

static struct timed time_it(const char *text, int64_t rounds, uint32_t kept) {
    struct timed t = make(text, rounds, kept, kept ? FOLDED : EVALUATED);
    if (t.kernel.image)
        t.kernel.profile = device_time(t.kernel.image);
    return t;
}

static void discard(struct timed *t) {
    device_kernel_free(&t->kernel);
    nki_tree_free(t->tree);
    diag_free(&t->diags);
}

static void same(const char *text, const char *what, double is, double was) {
    if (is != was && !(isnan(is) && isnan(was)))
        fail_msg("%s: folded %.17g, unrolled %.17g, in\n%s", what, is, was, text);
}

static const struct device_line *line_at(const struct device_profile *profile, uint32_t line) {
    for (size_t i = 0; i < profile->lines.len; i++)
        if (profile->lines.at[i].line == line)
            return &profile->lines.at[i];
    fail_msg("line %u is missing", line);
    return NULL;
}

static void assert_same_profile(const char *text, const struct device_profile *is,
                                const struct device_profile *was) {
    same(text, "latency", is->latency_us, was->latency_us);
    assert_string_equal(is->bound, was->bound);
    assert_true(fabs(is->floor_us - was->floor_us) <= 1e-9 * was->floor_us);
    assert_int_equal(is->metrics.len, was->metrics.len);
    for (size_t i = 0; i < is->metrics.len; i++)
        same(text, is->metrics.at[i].name, is->metrics.at[i].value, was->metrics.at[i].value);
    assert_int_equal(is->bounds.len, was->bounds.len);
    for (size_t i = 0; i < is->bounds.len; i++) {
        same(text, is->bounds.at[i].name, is->bounds.at[i].busy_ns, was->bounds.at[i].busy_ns);
        same(text, "without it", is->bounds.at[i].without_ns, was->bounds.at[i].without_ns);
    }
    assert_int_equal(is->lines.len, was->lines.len);
    for (size_t i = 0; i < is->lines.len; i++) {
        const struct device_line *line = &is->lines.at[i], *old = line_at(was, line->line);
        same(text, "share", line->share, old->share);
        same(text, "instructions", (double)line->instructions, (double)old->instructions);
        same(text, "HBM", (double)line->hbm_bytes, (double)old->hbm_bytes);
        for (int e = 0; e < NKI_ENGINE_COUNT; e++)
            same(text, "engine", line->engine_ns[e], old->engine_ns[e]);
    }
}

/* What is known of a kind of instructions holds for each of them: the profile is the same when no
 * two are of a kind. */
static void compare_kinds(const char *text, struct timed *t) {
    struct device_image *image = t->kernel.image;
    assert_true(image->kinds.len < t->kernel.program->instrs.len);
    image->kinds.len = 0;
    for (uint32_t i = 0; i < t->kernel.program->instrs.len; i++) {
        image->kind[i] = i;
        *vec_push(&image->kinds) = i;
    }
    device_find_reaches(image);
    struct device_profile *apart = device_time(image);
    assert_same_profile(text, apart, t->kernel.profile);
    device_profile_free(apart);
}

static void assert_same_spans(const char *text, const struct device_profile *is,
                              const struct device_profile *was) {
    assert_int_equal(is->spans.len, was->spans.len);
    for (size_t i = 0; i < is->spans.len; i++) {
        const struct device_span *span = &is->spans.at[i], *old = &was->spans.at[i];
        same(text, "a span's queue", span->queue, old->queue);
        same(text, "a span's instruction", span->instr, old->instr);
        same(text, "a span's start", span->start_ns, old->start_ns);
        same(text, "a span's end", span->end_ns, old->end_ns);
    }
}

/* A program of copied rounds, timed without most of them, has the profile of the whole one, with
 * the spans of all rounds. Whether it became steady. */
static bool compare_shorter(const char *text, int64_t rounds, uint32_t kept,
                            const struct timed *whole) {
    struct timed copied = make(text, rounds, 0, COPIED), shorter = {0};
    shorter.kernel.program = nki_program_shorten(copied.kernel.program, kept, SIZE_MAX);
    if (shorter.kernel.program) {
        assert_int_equal(nki_program_count(shorter.kernel.program),
                         whole->kernel.program->instrs.len);
        shorter.kernel.image =
            device_load(shorter.kernel.program, device_generation_of(NKI_GEN3), &shorter.diags);
        assert_non_null(shorter.kernel.image);
        shorter.kernel.profile = time_profile(shorter.kernel.image, NULL, true);
    }
    bool steady = shorter.kernel.profile;
    if (steady) {
        assert_same_profile(text, shorter.kernel.profile, whole->kernel.profile);
        assert_same_spans(text, shorter.kernel.profile, whole->kernel.profile);
    }
    discard(&shorter);
    discard(&copied);
    return steady;
}

/* Whether it was folded and became steady; then it is the same as unrolled. */
static bool compare(const char *text, int64_t rounds, uint32_t kept) {
    struct timed folded = time_it(text, rounds, kept), whole = time_it(text, rounds, 0);
    if (!whole.kernel.profile)
        fail_msg("%s\n%s", whole.diags.all.len ? whole.diags.all.at[0].message : "", text);
    bool steady = folded.folded && folded.kernel.profile;
    if (folded.kernel.program)
        assert_int_equal(nki_program_count(folded.kernel.program),
                         whole.kernel.program->instrs.len);
    if (steady)
        same(text, "latency alone, folded", device_time_latency(folded.kernel.image, NULL),
             folded.kernel.profile->latency_us);
    if (folded.kernel.profile)
        assert_same_profile(text, folded.kernel.profile, whole.kernel.profile);
    if (rounds % 3 == 0) /* of some, as it takes long */
        compare_kinds(text, &whole);
    if (steady)
        assert_true(compare_shorter(text, rounds, kept, &whole));
    discard(&folded);
    discard(&whole);
    return steady;
}

static int compare_random(uint32_t seed, bool legacy) {
    struct random r = {.seed = seed * 7919 + 13};
    buf_puts(&r.text, legacy ? LEGACY : HEAD);
    for (int loops = 1 + (int)draw(&r, 2); loops; loops--)
        (legacy ? add_legacy_loop : add_loop)(&r);
    buf_puts(&r.text, legacy ? "    return y\n" : TAIL);
    bool steady = compare(r.text.at, 900 + (int64_t)draw(&r, 60), 200 + draw(&r, 300));
    buf_free(&r.text);
    return steady;
}

static void random_current(void **state) {
    (void)state;
    int steady = 0;
    for (uint32_t seed = 0; seed < 24; seed++)
        steady += compare_random(seed, false);
    assert_true(steady >= 6);
}

static void random_legacy(void **state) {
    (void)state;
    int steady = 0;
    for (uint32_t seed = 0; seed < 20; seed++)
        steady += compare_random(seed, true);
    assert_true(steady >= 3);
}

/* Which engine copies out of PSUM depends on what each has done so far. This repeats after more
 * rounds than the loop's own places do. */
static void random_choices(void **state) {
    (void)state;
    int steady = 0;
    for (uint32_t seed = 0; seed < 4; seed++) {
        struct random r = {.seed = seed * 104729 + 7, .open = true};
        buf_puts(&r.text, HEAD);
        add_loop(&r);
        buf_puts(&r.text, TAIL);
        steady += compare(r.text.at, 800 + (int64_t)draw(&r, 60), 350);
        buf_free(&r.text);
    }
    assert_true(steady >= 1);
}

/* Copies that go to Vector and to Scalar by turns, in no simple ratio. */
static void choices_of_both_engines(void **state) {
    (void)state;
    static const char text[] =
        HEAD "    b = nl.ndarray((128, 320), dtype=nl.float32, buffer=nl.sbuf)\n"
             "    nisa.dma_copy(dst=b, src=x[0:128, 0:320])\n"
             "    for i in range(n):\n"
             "        p = nl.ndarray((64, 320), dtype=nl.float32, buffer=nl.psum)\n"
             "        for k in range(3):\n"
             "            nisa.nc_matmul(dst=p, stationary=w, moving=b)\n"
             "        t = nl.ndarray((64, 320), dtype=nl.float32, buffer=nl.sbuf)\n"
             "        nisa.tensor_copy(dst=t, src=p)\n"
             "        nisa.tensor_scalar(dst=t[0:64, 0:32], data=t[0:64, 0:32], op0=nl.add, "
             "operand0=0.5)\n"
             "        nisa.dma_copy(dst=y[0:64, 0:64], src=t[0:64, 0:64])\n" TAIL;
    assert_true(compare(text, 900, 300));
}

/* ---- what must not be folded ---------------------------------------------------------------- */

#define TILE "        t = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)\n"
#define LOAD "        nisa.dma_copy(dst=t, src=x[0:128, i * 64:i * 64 + 64])\n"
#define ADD "        nisa.tensor_tensor(dst=acc, data1=acc, data2=t, op=nl.add)\n"

static void rounds_that_differ(void **state) {
    (void)state;
    static const char *const bodies[] = {
        /* decided by the index */
        "    for i in range(n):\n" TILE LOAD "        if i == 150:\n    " ADD,
        "    for i in range(n):\n" TILE LOAD "        k = 2 if i > 200 else 1\n" ADD,
        /* handed on */
        "    t = w\n    for i in range(n):\n" ADD TILE LOAD,
        "    kept = []\n    for i in range(n):\n" TILE LOAD "        kept.append(i)\n"
        "    for i in range(len(kept) - 380):\n" TILE ADD,
        "    s = 0\n    for i in range(n):\n" TILE LOAD "        s += 1\n" ADD,
        "    kept = [0]\n    for i in range(n):\n" TILE LOAD "        kept[0] = i\n" ADD,
        /* the index as a number of an instruction, and as a size */
        "    for i in range(n):\n" TILE LOAD
        "        nisa.tensor_scalar(dst=t, data=t, op0=nl.add, operand0=i * 0.5)\n" ADD,
        "    for i in range(n):\n"
        "        for k in range(i % 3):\n"
        "            nisa.memset(dst=acc, value=1.0)\n",
        /* squares, and an index of a list */
        "    for i in range(200):\n" TILE
        "        nisa.dma_copy(dst=t, src=x[0:128, i * i:i * i + 64])\n" ADD,
        "    places = [3 * k * k % 61 for k in range(n)]\n    for i in range(n):\n" TILE
        "        nisa.dma_copy(dst=t, src=x[0:128, places[i] * 64:places[i] * 64 + 64])\n" ADD,
    };
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        struct buf text = {0};
        buf_printf(&text, "%s%s%s", HEAD, bodies[i], TAIL);
        struct timed t = time_it(text.at, 390, 64);
        if (!t.kernel.profile || t.folded)
            fail_msg("%s%s", t.diags.all.len ? t.diags.all.at[0].message : "folded:\n", text.at);
        discard(&t);
        buf_free(&text);
    }
}

/* What one round hands to another through HBM, or that moves on chip, is not left out. */
static void data_that_moves(void **state) {
    (void)state;
    static const char *const bodies[] = {
        "    for i in range(n):\n" TILE
        "        nisa.dma_copy(dst=t, src=y[0:128, i * 64:i * 64 + 64])\n"
        "        nisa.dma_copy(dst=y[0:128, i * 64 + 6400:i * 64 + 6464], src=t)\n",
        "    big = nl.ndarray((128, 4000), dtype=nl.float32, buffer=nl.sbuf)\n"
        "    for i in range(n):\n        nisa.memset(dst=big[0:128, i * 10:i * 10 + 10], "
        "value=0.0)\n"
        "    nisa.dma_copy(dst=y[0:128, 64:4064], src=big)\n",
    };
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        struct buf text = {0};
        buf_printf(&text, "%s%s%s", HEAD, bodies[i], TAIL);
        assert_false(compare(text.at, 390, 64));
        buf_free(&text);
    }
}

/* ---- copied rounds --------------------------------------------------------------------------- */

/* The program of a kernel as text, or what is wrong with it. */
static void print_kernel(const char *text, int64_t rounds, bool every_round, struct buf *out) {
    struct diag_list diags = {0};
    struct nki_input inputs[] = {
        {.array = {.dtype = DTYPE_FLOAT32, .ndim = 2, .shape = {128, 65536}}},
        {.kind = NKI_INPUT_INT, .i = rounds}};
    struct nki_specialise_options options = {.generation = NKI_GEN3,
                                             .inputs = inputs,
                                             .n_inputs = 2,
                                             .max_instructions = 30000,
                                             .every_round = every_round};
    struct nki_tree *tree = nki_parse("kernel.py", str_of(text), &diags);
    struct nki_program *program = nki_specialise(tree, &options, &diags);
    if (program)
        nki_program_print(program, out);
    for (size_t i = 0; i < diags.all.len; i++)
        diag_print(&diags.all.at[i], out);
    nki_program_free(program);
    nki_tree_free(tree);
    diag_free(&diags);
}

/* Compares two prints and returns whether there is a program. */
static bool compare_copies(const char *text, int64_t rounds) {
    struct buf copied = {0}, whole = {0};
    print_kernel(text, rounds, false, &copied);
    print_kernel(text, rounds, true, &whole);
    if (copied.len != whole.len || memcmp(copied.at, whole.at, whole.len) != 0)
        fail_msg("with copies:\n%.2000s\nwithout:\n%.2000s\nof\n%s", copied.at, whole.at, text);
    bool program = strstr(whole.at, "error") == NULL;
    buf_free(&copied);
    buf_free(&whole);
    return program;
}

static void random_copies(void **state) {
    (void)state;
    int programs = 0;
    for (uint32_t seed = 0; seed < 120; seed++) {
        struct random r = {.seed = seed * 15485863 + 11, .open = seed % 4 == 2};
        bool legacy = seed % 2;
        buf_puts(&r.text, legacy ? LEGACY : HEAD);
        for (int loops = 1 + (int)draw(&r, 2); loops; loops--)
            (legacy ? add_legacy_loop : add_loop)(&r);
        buf_puts(&r.text, legacy ? "    return y\n" : TAIL);
        programs += compare_copies(r.text.at, 5 + (int64_t)draw(&r, 90));
        buf_free(&r.text);
    }
    assert_true(programs >= 100);
}

#define IN_LOOPS(body) "    for j in range(n):\n        for i in range(0, n * 2, 2):\n    " body

/* Loops in loops, views made by a pattern, steps, indices that are divided. */
static const char *const shapes_of_loops[] = {
    IN_LOOPS(TILE) "            nisa.dma_copy(dst=t, src=x.ap(pattern=[[65536, 128], [1, 64]], "
                   "offset=j * 640 + i * 32))\n"
                   "            nisa.tensor_tensor(dst=acc, data1=acc, data2=t, op=nl.add)\n"
                   "            nisa.dma_copy(dst=y[0:128, i * 32:i * 32 + 64], src=acc)\n",
    IN_LOOPS(
        "        c = i // 2 % 3\n") "            nisa.tensor_copy(dst=acc[0:128, c * 8:c * 8 + "
                                    "8], src=w[0:128, (j // 4) * 4:(j // 4) * 4 + 8])\n",
    "    for i in range(n * 128, 0, -128):\n" TILE
    "        nisa.dma_copy(dst=t, src=x[0:128, i // 128 * 64:i // 128 * 64 + 64])\n" ADD,
    "    big = nl.ndarray((128, 8, 8192), dtype=nl.float32, buffer=nl.sbuf)\n"
    "    for i in range(n):\n"
    "        nisa.memset(dst=big[i:i + 1, i % 8, i * 4:i * 4 + 4], value=0.0)\n",
    "    for i in range(n):\n"
    "        for k in nl.affine_range(9):\n"
    "            p = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.psum)\n"
    "            nisa.nc_matmul(dst=p, stationary=w, moving=w)\n"
    "            nisa.tensor_copy(dst=acc[0:64, 0:64], src=p)\n"
    "            nisa.dma_copy(dst=y[0:64, i * 64:i * 64 + 64], src=acc[0:64, 0:64])\n",
};

static void loops_of_many_shapes(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(shapes_of_loops); i++)
        for (int64_t rounds = 3; rounds < 60; rounds += 7) {
            struct buf text = {0};
            buf_printf(&text, "%s%s%s", HEAD, shapes_of_loops[i], TAIL);
            assert_true(compare_copies(text.at, rounds));
            buf_free(&text);
        }
}

/* Loops that must be evaluated round by round, and errors in the middle of one that need not. */
static const char *const told_apart[] = {
    "    for i in range(n):\n" TILE LOAD "        if i == 50:\n    " ADD,
    "    t = w\n    for i in range(n):\n" ADD TILE LOAD,
    "    for i in range(n):\n" TILE
    "        nisa.dma_copy(dst=t, src=x[0:128, i * i:i * i + 64])\n",
    "    for i in range(n):\n" TILE
    "        nisa.dma_copy(dst=t, src=x[0:128, i * 1000:i * 1000 + 64])\n" ADD,
    /* numbers that become negative count from the end */
    "    for i in range(n):\n" TILE
    "        nisa.dma_copy(dst=t, src=x[0:128, 9000 - i * 100:9064 - i * 100])\n" ADD,
    "    for i in range(n):\n        for k in range(n * 20):\n    " ADD "    t = w\n",
    "    t = w\n    for i in range(n):\n        for k in range(n * 20):\n    " ADD,
};

static void rounds_told_apart(void **state) {
    (void)state;
    int programs = 0;
    for (size_t i = 0; i < COUNT_OF(told_apart); i++) {
        struct buf text = {0};
        buf_printf(&text, "%s%s%s", HEAD, told_apart[i], TAIL);
        programs += compare_copies(text.at, 99);
        buf_free(&text);
    }
    assert_int_equal(programs, 4);
}

/* ---- the whole way -------------------------------------------------------------------------- */

static const char long_loop[] =
    HEAD "    for i in range(n):\n        m = i % 16\n" TILE
         "        nisa.dma_copy(dst=t, src=x[0:128, m * 64:m * 64 + 64])\n"
         "        nisa.activation(dst=t, op=nl.exp, data=t)\n" ADD
         "        nisa.dma_copy(dst=y[0:128, m * 64:m * 64 + 64], src=t)\n" TAIL;

static bool time_kernel(const char *text, int64_t rounds, struct device_kernel *kernel,
                        struct diag_list *diags) {
    struct nki_input inputs[] = {
        {.array = {.dtype = DTYPE_FLOAT32, .ndim = 2, .shape = {128, 65536}}},
        {.kind = NKI_INPUT_INT, .i = rounds}};
    struct nki_specialise_options options = {
        .generation = NKI_GEN3, .inputs = inputs, .n_inputs = 2};
    struct nki_tree *tree = nki_parse("kernel.py", str_of(text), diags);
    bool ok = device_kernel_time(tree, &options, NULL, diags, kernel);
    struct diag_list alone = {0};
    double us = device_kernel_latency(tree, &options, NULL, &alone);
    same(text, "latency alone", us, ok ? kernel->profile->latency_us : 0);
    assert_int_equal(alone.all.len, diags->all.len);
    diag_free(&alone);
    nki_tree_free(tree);
    return ok;
}

/* Ten million instructions, far over what may be unrolled; twice the rounds take twice as
 * long but for how they begin and end. */
static void many_rounds(void **state) {
    (void)state;
    double us[3];
    for (int i = 0; i < 3; i++) {
        struct device_kernel kernel;
        struct diag_list diags = {0};
        assert_true(time_kernel(long_loop, 2500000 + i * 400000, &kernel, &diags));
        assert_int_equal(nki_program_count(kernel.program), 3 + 4 * (2500000 + i * 400000));
        assert_true(kernel.program->instrs.len < 50000);
        us[i] = kernel.profile->latency_us;
        device_kernel_free(&kernel);
        diag_free(&diags);
    }
    assert_true(fabs((us[2] - us[1]) / (us[1] - us[0]) - 1) < 1e-9);
}

/* An error in a round that would be left out is told as when all are evaluated. */
static void errors_in_rounds_left_out(void **state) {
    (void)state;
    static const char text[] =
        HEAD "    for i in range(n):\n" TILE
             "        nisa.dma_copy(dst=t, src=x[0:128, i * 32:i * 32 + 64])\n" ADD TAIL;
    struct device_kernel kernel;
    struct diag_list diags = {0};
    assert_false(time_kernel(text, 3000, &kernel, &diags));
    device_kernel_free(&kernel);
    struct timed whole = time_it(text, 3000, 0);
    assert_int_equal(diags.all.len, whole.diags.all.len);
    assert_int_equal(diags.errors, 1);
    assert_string_equal(diags.all.at[0].message, whole.diags.all.at[0].message);
    discard(&whole);
    diag_free(&diags);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_current),
        cmocka_unit_test(random_legacy),
        cmocka_unit_test(random_choices),
        cmocka_unit_test(choices_of_both_engines),
        cmocka_unit_test(rounds_that_differ),
        cmocka_unit_test(data_that_moves),
        cmocka_unit_test(random_copies),
        cmocka_unit_test(loops_of_many_shapes),
        cmocka_unit_test(rounds_told_apart),
        cmocka_unit_test(many_rounds),
        cmocka_unit_test(errors_in_rounds_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
