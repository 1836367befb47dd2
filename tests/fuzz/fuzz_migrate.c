/* SPDX-License-Identifier: Apache-2.0 */
/* Any kernel through the migration: no crash, no hang, and either an error or a source that parses,
 * which has all comments of the old one. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "migrate/migrate.h"

static void require(bool holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "fuzz_migrate: %s\n", what);
        abort();
    }
}

static void migrate(struct str source, const char *from, const char *to) {
    struct nki_input inputs[2] = {
        {.kind = NKI_INPUT_ARRAY,
         .array = {.dtype = DTYPE_FLOAT32, .ndim = 2, .shape = {128, 512}}},
        {.kind = NKI_INPUT_INT, .i = 2}};
    struct migrate_options options = {.from = from,
                                      .to = to,
                                      .generation = NKI_GEN3,
                                      .inputs = inputs,
                                      .n_inputs = COUNT_OF(inputs),
                                      .max_steps = 4000};
    struct migration made;
    struct err err = {0};
    struct diag_list diags = {0};
    if (!migrate_kernel("fuzz.py", source, &options, &made, &err)) {
        require(err.text[0] && !strstr(err.text, "the fault is hone's"), err.text);
        return;
    }
    struct nki_tree *tree = nki_parse("fuzz.py", str_of(made.source), &diags);
    require(tree->errors == 0 || memchr(source.at, 0, source.len), "what it wrote parses");
    for (size_t i = 0; i < made.steps.len; i++)
        require(made.steps.at[i].line > 0 && made.steps.at[i].text[0], "a line and a text");
    nki_tree_free(tree);
    diag_free(&diags);
    migration_free(&made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct str source = {(const char *)data, size};
    migrate(source, NULL, "0.7");
    migrate(source, "0.1", "0.6");
    return 0;
}

#ifndef HONE_LIBFUZZER

static const char *const seeds[] = {
    "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n"
    "@nki.jit(mode='a', platform_target='b')\ndef f(x, n, *, k=[1], q=2):\n"
    "    y = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.hbm)\n"
    "    t = nl.ndarray((128, 512), dtype=nl.float32, buffer='psum')\n"
    "    nisa.memset(t, value=2.0)\n    nisa.dma_copy(dst=y, src=t, dge_mode=2)\n"
    "    nisa.dma_copy(dst=y, src=t, dst_rmw_op=nl.add, unique_indices=True)\n"
    "    nisa.affine_select(t, [[1, 512]], 0, 1, t, 0.0)\n"
    "    nisa.tensor_reduce(t, nl.add, t, 1)\n    a = nl.rsqrt(t)\n"
    "    if n is not k: return y\n    return y\n",
    "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n@nki.jit\ndef f(x, n):\n"
    "    r = nisa.register_alloc()\n    c = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)\n"
    "    for i in nl.affine_range(2, name='a'):\n        for j in nl.dynamic_range(1, r, 2):\n"
    "            # a\n            nisa.memset(c, value=i)\n    while r:\n"
    "        nisa.tensor_scalar(c, c, nl.add, 1)\n        nisa.register_load(r, c)\n"
    "    if r: pass\n    nisa.register_move(r, imm=4)\n"
    "    nisa.sendrecv(c, c, 1, 1, use_gpsimd_dma=n)\n    return c\n",
    "import neuronxcc.nki as nki, os\nfrom neuronxcc import nki as k\n"
    "from neuronxcc.nki.language import par_dim, load as l\nimport neuronxcc.nki.language as nl\n"
    "import neuronxcc.nki\nimport neuronxcc.nki.isa as nisa\n@nki.jit\ndef f(x, n):\n"
    "    o = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
    "    p = nl.arange(128)[:, None]\n    q = nl.arange(512)[None, :]\n"
    "    for i in nl.affine_range(1):\n        t = nl.load(x[i * 128 + p, q], mask=(p < 100))\n"
    "        u = nisa.activation(op=nl.exp, data=t, scale=2.0)\n"
    "        v = nisa.tensor_tensor(u, t * 2 + u, op=nl.add, dtype=nl.bfloat16)\n"
    "        nl.store(o[i * 128 + p, q], value=v)\n    return o\n",
};

static const char *const scraps[] = {
    "(",        ")",
    "[",        "]",
    ":",        "\n",
    "\n    ",   "\r\n",
    "'",        "\"\"\"",
    ",",        "*, ",
    " = ",      "# c",
    " is ",     " is not ",
    " if ",     " else 1",
    "return ",  "break",
    "\\\n",     "f'{x}'",
    "lambda: ", "nki",
    "nl.",      "nisa.",
    "x",        "t",
    "dst=",     "mask=(p < 3)",
    "None",     "nl.load(x)",
    "[p, q]",   "[...]",
    "nl.psum",  "nl.affine_range(",
    ":=",       "(a := t)",
    "range",    "while r:",
    "import ",  "from ",
    "as ",      "neuronxcc.nki.language",
};

static const struct fuzz_target target = {
    .name = "migrate", .most = 4, FUZZ_TABLE(example, seeds), FUZZ_TABLE(piece, scraps)};

int main(int argc, char **argv) {
    return fuzz_main(&target, argc, argv);
}
#endif
