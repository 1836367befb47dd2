/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of the suite: functions of suite/ and the arguments they are run with. Each is small,
 * and most of its time goes into one thing, whose constants it shows. */
#include "calibrate/calibrate.h"

#define F32(name, columns) \
    { name, DTYPE_FLOAT32, 128, columns, 0 }
#define B16(name, columns) \
    { name, DTYPE_BFLOAT16, 128, columns, 0 }
#define I32(name, columns) \
    { name, DTYPE_INT32, 128, columns, 0 }
#define ROWS(name, rows, columns) \
    { name, DTYPE_FLOAT32, rows, columns, 0 }
#define N(name, number) \
    { name, DTYPE_NONE, 0, 0, number }

static const struct calibrate_kernel kernels[] = {
    {"nothing", "nothing", "what stands around a kernel", false, {F32("a", 64)}},

    {"vector_small",
     "vector_scale",
     "Vector: an instruction",
     false,
     {F32("a", 64), N("chains", 8), N("rounds", 32)}},
    {"vector_wide",
     "vector_scale",
     "Vector: fp32 in SBUF",
     false,
     {F32("a", 8192), N("chains", 8), N("rounds", 16)}},
    {"vector_wide_bf16",
     "vector_scale",
     "Vector: bf16 in SBUF",
     false,
     {B16("a", 16384), N("chains", 8), N("rounds", 16)}},
    {"vector_chain",
     "vector_scale",
     "Vector: from result to result",
     false,
     {F32("a", 8), N("chains", 1), N("rounds", 192)}},
    {"vector_two",
     "vector_sum",
     "Vector: two fp32 inputs",
     false,
     {F32("a", 9216), N("chains", 8), N("rounds", 12)}},
    {"vector_two_bf16",
     "vector_sum",
     "Vector: two bf16 inputs",
     false,
     {B16("a", 9216), N("chains", 8), N("rounds", 12)}},
    {"vector_reduce",
     "vector_reduce",
     "Vector: an element",
     false,
     {F32("a", 8192), N("chains", 8), N("rounds", 12)}},
    {"vector_reciprocal",
     "vector_reciprocal",
     "Vector: a reciprocal",
     false,
     {F32("a", 1024), N("chains", 8), N("rounds", 12)}},

    {"scalar_small",
     "scalar_copy",
     "Scalar: an instruction",
     false,
     {F32("a", 64), N("chains", 8), N("rounds", 32)}},
    {"scalar_wide",
     "scalar_copy",
     "Scalar: an element",
     false,
     {F32("a", 8192), N("chains", 8), N("rounds", 12)}},
    {"scalar_chain",
     "scalar_copy",
     "Scalar: from result to result",
     false,
     {F32("a", 8), N("chains", 1), N("rounds", 192)}},
    {"scalar_exp",
     "scalar_exp",
     "Scalar: a function",
     false,
     {F32("a", 64), N("chains", 8), N("rounds", 32)}},
    {"scalar_tables",
     "scalar_tables",
     "Scalar: loading a table",
     false,
     {F32("a", 64), N("chains", 4), N("rounds", 16)}},

    {"gpsimd_small",
     "gpsimd_sum",
     "GpSimd: an instruction",
     false,
     {F32("a", 72), N("chains", 8), N("rounds", 24)}},
    {"gpsimd_wide",
     "gpsimd_sum",
     "GpSimd: an element",
     false,
     {F32("a", 4608), N("chains", 8), N("rounds", 8)}},
    {"gpsimd_chain",
     "gpsimd_chain",
     "GpSimd: from result to result",
     false,
     {F32("a", 8), N("rounds", 128)}},
    {"vector_beside_gpsimd",
     "vector_beside_gpsimd",
     "Vector and GpSimd at once",
     false,
     {B16("a", 4096), N("chains", 8), N("rounds", 16)}},
    {"from_engine_to_engine",
     "from_engine_to_engine",
     "from one engine to another",
     false,
     {F32("a", 8), N("rounds", 96)}},

    {"tensor_wide",
     "tensor_products",
     "Tensor: a column",
     false,
     {B16("a", 256), B16("b", 512), N("rounds", 32)}},
    {"tensor_fp32",
     "tensor_products",
     "Tensor: a column in fp32",
     false,
     {F32("a", 256), F32("b", 512), N("rounds", 12)}},
    {"tensor_narrow",
     "tensor_products",
     "Tensor: loading weights",
     false,
     {B16("a", 256), B16("b", 64), N("rounds", 96)}},
    {"tensor_after_pauses",
     "tensor_after_pauses",
     "Tensor: its clock after idling",
     false,
     {B16("a", 256), F32("b", 8192), N("rounds", 8)}},
    {"tensor_chain",
     "tensor_chain",
     "Tensor: from result to result",
     false,
     {B16("a", 128), B16("b", 64), N("rounds", 64)}},

    {"dma_wide", "loads", "DMA: bytes in long runs", false, {F32("a", 24576), N("chains", 12)}},
    {"dma_longest",
     "loads",
     "DMA: bytes in the longest runs",
     false,
     {F32("a", 32768), N("chains", 2)}},
    {"dma_rows",
     "loads_in_pieces",
     "DMA: pieces of 2 KiB",
     false,
     {F32("a", 32768), N("chains", 8), N("run", 512)}},
    {"dma_short_rows",
     "loads_in_pieces",
     "DMA: pieces of 512 bytes",
     false,
     {F32("a", 32768), N("chains", 8), N("run", 128)}},
    {"dma_pieces",
     "loads_in_pieces",
     "DMA: pieces of 64 bytes",
     false,
     {F32("a", 8192), N("chains", 8), N("run", 16)}},
    {"dma_small", "loads_of_rows", "DMA: a transfer", false, {ROWS("a", 384, 4)}},
    {"dma_chain",
     "there_and_back",
     "DMA: from transfer to transfer",
     false,
     {F32("a", 64), N("rounds", 16)}},
    {"dma_static",
     "loads_of_rows_by_gpsimd",
     "DMA: a transfer that GpSimd starts",
     true,
     {ROWS("a", 384, 4)}},
    {"dma_gather",
     "gathers",
     "DMA: rows that an index names",
     true,
     {F32("a", 64), I32("n", 1), N("chains", 24)}},
};

const struct calibrate_kernel *calibrate_kernel_at(size_t index) {
    return index < COUNT_OF(kernels) ? &kernels[index] : NULL;
}

struct str calibrate_text(enum nki_dialect dialect) {
    return embed_find(dialect == NKI_DIALECT_LEGACY ? "core/calibrate/suite/legacy.py"
                                                    : "core/calibrate/suite/current.py");
}

static size_t inputs_of(const struct calibrate_kernel *kernel,
                        struct nki_input inputs[CALIBRATE_INPUTS]) {
    size_t n = 0;
    for (; n < CALIBRATE_INPUTS && kernel->inputs[n].name; n++) {
        const struct calibrate_input *from = &kernel->inputs[n];
        bool number = from->dtype == DTYPE_NONE;
        inputs[n] = (struct nki_input){.name = from->name,
                                       .kind = number ? NKI_INPUT_INT : NKI_INPUT_ARRAY,
                                       .i = from->number,
                                       .array = {.dtype = from->dtype,
                                                 .ndim = number ? 0 : 2,
                                                 .shape = {from->rows, from->columns}}};
    }
    return n;
}

bool calibrate_make(const struct calibrate_kernel *kernel, enum nki_dialect dialect,
                    enum nki_generation generation, struct calibrate_made *made, struct err *err) {
    struct nki_input inputs[CALIBRATE_INPUTS];
    struct nki_specialise_options options = {.function = kernel->function,
                                             .generation = generation,
                                             .inputs = inputs,
                                             .n_inputs = inputs_of(kernel, inputs)};
    struct diag_list diags = {0};
    *made = (struct calibrate_made){0};
    made->tree = nki_parse("suite.py", calibrate_text(dialect), &diags);
    made->program = made->tree->errors ? NULL : nki_specialise(made->tree, &options, &diags);
    if (made->program)
        made->image = device_load(made->program, device_generation_of(generation), &diags);
    if (!made->image)
        err_set(err, ERR_KERNEL, "the device model does not take %s: %s", kernel->name,
                diags.all.len ? diags.all.at[0].message : "no program");
    diag_free(&diags);
    return made->image != NULL;
}

void calibrate_unmake(struct calibrate_made *made) {
    device_unload(made->image);
    if (made->program)
        nki_program_free(made->program);
    if (made->tree)
        nki_tree_free(made->tree);
    *made = (struct calibrate_made){0};
}
