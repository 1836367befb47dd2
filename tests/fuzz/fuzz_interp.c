/* SPDX-License-Identifier: Apache-2.0 */
/* Any kernel through the specialiser with small budgets: no crash, no hang, and either a program or
 * an error that says where. Seeds are mutated by bytes and by swapping whole words, so that many of
 * them still parse. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "nki/nki.h"

static void require(bool holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "fuzz_interp: %s\n", what);
        abort();
    }
}

static void check_program(const struct nki_program *program) {
    for (size_t i = 0; i < program->locs.len; i++) {
        const struct nki_loc *loc = &program->locs.at[i];
        require(loc->file < program->files.len && loc->line > 0, "a place in a file");
        require(loc->caller < (int32_t)i, "callers come before the called");
    }
    for (size_t i = 0; i < program->instrs.len; i++) {
        const struct nki_instr *instr = &program->instrs.at[i];
        require(instr->loc < program->locs.len, "an instruction has a place");
        if (!instr->more->mate)
            continue;
        require(instr->more->mate == i + 2 || instr->more->mate == i,
                "cores meet next to each other");
        const struct nki_instr *mate = &program->instrs.at[instr->more->mate - 1];
        require(mate->more->mate == i + 1 && mate->op == instr->op && mate->core != instr->core,
                "each meets the other");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct diag_list diags = {0};
    struct str source = {(const char *)data, size};
    struct nki_tree *tree = nki_parse("fuzz.py", source, &diags);
    struct nki_input inputs[2] = {
        {.kind = NKI_INPUT_ARRAY,
         .array = {.dtype = DTYPE_FLOAT32, .ndim = 2, .shape = {256, 512}}},
        {.kind = NKI_INPUT_INT, .i = 2}};
    struct nki_specialise_options options = {.function = "f",
                                             .generation = NKI_GEN3,
                                             .inputs = inputs,
                                             .n_inputs = 2,
                                             .max_instructions = 2000,
                                             .max_steps = 20000,
                                             .max_bytes = 16 << 20,
                                             .every_error = size % 3 == 0};
    if (memmem(data, size, "program_id", strlen("program_id")))
        options.grid[0] = 2;
    struct nki_program *program = nki_specialise(tree, &options, &diags);
    require((program == NULL) == (diags.errors > 0), "a program, or an error");
    if (program)
        check_program(program);
    nki_program_free(program);
    diag_free(&diags);
    nki_tree_free(tree);
    return 0;
}

#ifndef HONE_LIBFUZZER

static const char *const seeds[] = {
    "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\nT = 128\n"
    "@nki.jit\ndef f(x, n):\n    M, N = x.shape\n"
    "    y = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.shared_hbm)\n"
    "    i_p = nl.arange(T)[:, None]\n    i_f = nl.arange(N)[None, :]\n"
    "    for m in nl.affine_range(M // T):\n"
    "        t = nl.load(x[m * T + i_p, i_f], mask=(i_p < M - m * T))\n"
    "        t = nl.multiply(t, n) + nl.exp(t)\n"
    "        nl.store(y[m * T:(m + 1) * T, 0:N], value=t)\n    return y\n",
    "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n"
    "@nki.jit\ndef f(x, n):\n    M, N = x.shape\n"
    "    y = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)\n"
    "    for m in range(M // 128):\n"
    "        a = nl.ndarray((128, N), dtype=x.dtype, buffer=nl.sbuf)\n"
    "        acc = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)\n"
    "        nisa.dma_copy(dst=a, src=x[m * 128:(m + 1) * 128, 0:N])\n"
    "        nisa.nc_matmul(dst=acc, stationary=a[:, 0:128], moving=a)\n"
    "        nisa.tensor_scalar(dst=a, data=acc, op0=nl.multiply, operand0=2.0)\n"
    "        nisa.activation(dst=a, op=nl.exp, data=a, scale=0.5)\n"
    "        nisa.dma_copy(dst=y[m * 128:(m + 1) * 128, 0:N], src=a)\n    return y\n",
    "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n"
    "@nki.jit\ndef f(x, n):\n    me = nl.program_id(0)\n"
    "    y = nl.ndarray((256, 512), dtype=nl.float32, buffer=nl.shared_hbm)\n"
    "    a = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.sbuf)\n"
    "    b = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.sbuf)\n"
    "    for i in range(n):\n"
    "        nisa.dma_copy(dst=a, src=x[me * 128:me * 128 + 128, 0:512])\n"
    "        nisa.sendrecv(src=a, dst=b, send_to_rank=1 - me, recv_from_rank=1 - me, pipe_id=i)\n"
    "        nisa.dma_copy(dst=y[me * 128:me * 128 + 128, 0:512], src=b)\n"
    "    nisa.core_barrier(y, (0, 1))\n    return y\n",
    "from dataclasses import dataclass, field\nfrom enum import Enum\n"
    "class C(Enum):\n    A = 1\n    B = 'b'\n"
    "@dataclass\nclass P:\n    x: int\n    y: list = field(default_factory=list)\n"
    "    def __add__(self, o):\n        return P(self.x + o.x, self.y + o.y)\n"
    "    @property\n    def z(self):\n        return self.x * 2\n"
    "def f(x, n):\n    p = P(1) + P(n, [3])\n    p.y.append(C.A)\n    p.x += 4\n"
    "    d = {k: v for k, v in zip('abc', range(3))}\n    d['a'] -= 1; del d['b']\n"
    "    try:\n        raise ValueError(f'{p.z:>4} {d!r}')\n"
    "    except (KeyError, ValueError) as e:\n        s = str(e).split()\n"
    "    finally:\n        n = 5\n"
    "    while n > 0:\n        n -= 1\n        if n == 2: continue\n    else:\n        n = 7\n"
    "    return s, sorted(d.items(), key=lambda t: -t[1]), '%d-%s' % (n, C('b')), p\n",
    "import math\nfrom functools import reduce, partial\n"
    "def g(a, *b, c=2, **k):\n    def h(i):\n        nonlocal a\n        a += i\n        return a\n"
    "    for i in b:\n        yield h(i) * c\n"
    "def f(x, n):\n    a, (b, *c) = 1, [2, 3, 4]\n    c[1:] = [9, 8][::-1]\n"
    "    t = tuple(g(a, *c, c=n, z=1)) + (b,) * 2\n"
    "    u = reduce(lambda p, q: p * q, t, 1) if t else None\n"
    "    v = {1, 2} | {3} - {4}\n    w = [i * j for i in t for j in v if i != j]\n"
    "    return t, u, w[1:-1:2], max(w, key=abs), math.ceil(n / 3) << 2, (q := n) ** 2, any(v)\n",
};

static const char *const scraps[] = {
    "(",
    ")",
    "[",
    "]",
    ":",
    "\n    ",
    "'",
    ",",
    "*",
    "**",
    " = ",
    ":=",
    " if ",
    " else 1",
    " for i in x",
    " in ",
    "lambda: ",
    "not ",
    "0",
    "-1",
    "1e9",
    "2 ** 70",
    "None",
    "True",
    "x",
    "n",
    "f",
    "f(x, n)",
    "x.shape",
    "len",
    "range(9)",
    "self",
    "...",
    "::",
    "[0]",
    "()",
    "+=",
    "//",
    "%",
    "super()",
    "nl.par_dim(128)",
    "nl.sbuf",
    "nl.psum",
    "nl.float8_e4m3",
    "x[0]",
    "global f\n",
    "return ",
    "raise ",
    "while 1: ",
    "x.reshape((512, 256))",
    "print(x)",
    "float('nan')",
    "10 ** 12",
    "'a' * 99",
    "[x] * 9",
    "__import__",
    "{}",
    "{1}",
    "slice(1)",
    "iter",
    "type(x)",
    "nisa.engine",
};

/* The word (a name, a number or one other byte) at or after a place. */
static struct str word_at(const struct buf *text, size_t at) {
    size_t end = at + 1;
    while (at > 0 && isalnum((unsigned char)text->at[at]) &&
           isalnum((unsigned char)text->at[at - 1]))
        at--;
    while (end < text->len && isalnum((unsigned char)text->at[at]) &&
           isalnum((unsigned char)text->at[end]))
        end++;
    return (struct str){text->at + at, end - at};
}

static void swap_words(struct fuzz *fuzz, struct buf *text) {
    if (!text->len || fuzz_roll(fuzz, 5) == 0) {
        fuzz_mutate(fuzz, text);
        return;
    }
    struct str word = word_at(text, fuzz_roll(fuzz, text->len));
    struct str other = word_at(text, fuzz_roll(fuzz, text->len));
    size_t at = (size_t)(word.at - text->at);
    struct buf out = {0};
    buf_add(&out, text->at, at);
    switch (fuzz_roll(fuzz, 4)) {
    case 0: /* another word of the kernel in its place */ buf_add(&out, other.at, other.len); break;
    case 1: /* nothing in its place */ break;
    case 2: /* a scrap in its place */
        buf_puts(&out, scraps[fuzz_roll(fuzz, COUNT_OF(scraps))]);
        break;
    default: /* a scrap after it */
        buf_add(&out, word.at, word.len);
        buf_puts(&out, scraps[fuzz_roll(fuzz, COUNT_OF(scraps))]);
        break;
    }
    buf_add(&out, text->at + at + word.len, text->len - at - word.len);
    buf_free(text);
    *text = out;
}

static const struct fuzz_target target = {
    .name = "interp", .most = 4, .mutate = swap_words, FUZZ_TABLE(example, seeds)};

int main(int argc, char **argv) {
    return fuzz_main(&target, argc, argv);
}

#endif
