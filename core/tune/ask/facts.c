/* SPDX-License-Identifier: Apache-2.0 */
/* What a prompt says of the hardware and of the API: the limits of a generation and the signatures
 * of the instructions that a kernel uses. Both come from the tables that the device model reads. */
#include <ctype.h>

#include "device/device.h"
#include "tune/ask/facts.h"

/* Instructions that are shown although the kernel does not use them yet: most kernels move data and
 * multiply. */
static const char *const common[] = {"dma_copy",      "tensor_copy",   "nc_matmul",
                                     "nc_transpose",  "activation",    "tensor_tensor",
                                     "tensor_scalar", "tensor_reduce", "memset"};

void tune_facts_limits(const char *device, struct buf *out) {
    const struct device_generation *row = device_generation_find(device);
    if (!row)
        return;
    buf_printf(out, "%s, one NeuronCore:\n- SBUF: 128 partitions of %.0f KiB\n", row->name,
               (double)row->sbuf_partition_bytes / 1024);
    buf_printf(out,
               "- PSUM: 128 partitions of %.0f KiB in %u banks of 2 KiB; a matrix product "
               "writes one bank, 512 fp32 values a partition\n",
               (double)row->psum_partition_bytes / 1024, row->psum_banks);
    buf_printf(out, "- HBM: at most %.0f GB/s, through %u DMA engines\n",
               device_memory_bytes_per_ns(row), row->dma_engines);
    buf_printf(out,
               "- Tensor engine: %.0f TFLOPS bf16, %.0f fp32; at most 128 x 128 stationary by "
               "128 x 512 moving\n",
               row->pe_tflops_bf16, row->pe_tflops_fp32);
    buf_puts(out,
             "- Tensor, Vector, Scalar, GpSimd and the DMA engines work at the same time; they "
             "wait for each other only through data\n"
             "- The first dimension of a tile is the partition dimension\n");
}

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

static bool uses(const char *source, const char *name) {
    size_t len = strlen(name);
    for (const char *at = source; (at = strstr(at, name)); at += len)
        if ((at == source || !is_word(at[-1])) && at[len] == '(')
            return true;
    return false;
}

static bool is_common(const char *name) {
    for (size_t i = 0; i < COUNT_OF(common); i++)
        if (!strcmp(common[i], name))
            return true;
    return false;
}

void tune_facts_api(const char *source, struct buf *out) {
    bool legacy = strstr(source, "neuronxcc") != NULL;
    for (int op = 0; op < NKI_OP_COUNT; op++) {
        const struct nki_op_row *row = nki_op_row((enum nki_op)op);
        if (legacy && !nki_op_in_legacy((enum nki_op)op))
            continue;
        if (!uses(source, row->name) && !is_common(row->name))
            continue;
        buf_printf(out, "nisa.%s(", row->name);
        if (legacy)
            nki_op_print_legacy((enum nki_op)op, out);
        else
            buf_puts(out, row->signature);
        buf_printf(out, ")\n    %s; runs on ", row->summary);
        nki_op_print_engines((enum nki_op)op, out);
        buf_putc(out, '\n');
    }
}
