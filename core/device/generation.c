/* SPDX-License-Identifier: Apache-2.0 */
/* The hardware numbers of the three generations of NeuronCores, one row each. Limits that are the
 * same everywhere (128 partitions, the PE array) are constants of the checks; costs per
 * instruction belong to the timing. */
#include "device/device.h"

#include <strings.h>

/* Sources: the AWS NKI architecture guides for Trainium/Inferentia2 (gen2), Trainium2 (gen3) and
 * Trainium3 (gen4) for clocks, memories and peak rates; NKI's nl.tile_size constants for the SBUF
 * a kernel can use (the compiler keeps the rest of 192, 224 and 256 KiB); the NKI DMA overview for
 * engines (16 a core, 27.2 and 38.4 GB/s each). HBM is that of a device divided by its cores (2, 8,
 * 8); where the guide and the product page differ in bandwidth, the lower (2.9 TB/s for Trainium2,
 * 4.7 TB/s for Trainium3). FP8 counts double_row on gen3 and gen4. */
static const struct device_generation rows[] = {
    {
        .name = "trn1",
        .alias = "gen2",
        .generation = NKI_GEN2,
        .clock_ghz = {[NKI_ENGINE_TENSOR] = 2.8,
                      [NKI_ENGINE_VECTOR] = 1.12,
                      [NKI_ENGINE_SCALAR] = 1.4,
                      [NKI_ENGINE_GPSIMD] = 1.4,
                      [NKI_ENGINE_SYNC] = 1.4},
        .sbuf_partition_bytes = 180224,
        .psum_partition_bytes = 16384,
        .psum_banks = 8,
        .hbm_bytes = 16ull << 30,
        .hbm_bytes_per_ns = 820.0 / 2,
        .dma_engines = 16,
        .dma_engine_bytes_per_ns = 27.2,
        .pe_tflops_bf16 = 91.8,
        .pe_tflops_fp32 = 22.9,
        .pe_tflops_fp8 = 91.8,
    },
    {
        .name = "trn2",
        .alias = "gen3",
        .generation = NKI_GEN3,
        .clock_ghz = {[NKI_ENGINE_TENSOR] = 2.4,
                      [NKI_ENGINE_VECTOR] = 0.96,
                      [NKI_ENGINE_SCALAR] = 1.2,
                      [NKI_ENGINE_GPSIMD] = 1.2,
                      [NKI_ENGINE_SYNC] = 1.2},
        .sbuf_partition_bytes = 212984,
        .psum_partition_bytes = 16384,
        .psum_banks = 8,
        .hbm_bytes = 12ull << 30,
        .hbm_bytes_per_ns = 2900.0 / 8,
        .dma_engines = 16,
        .dma_engine_bytes_per_ns = 27.2,
        .pe_tflops_bf16 = 78.6,
        .pe_tflops_fp32 = 19.7,
        .pe_tflops_fp8 = 157.3,
    },
    {
        .name = "trn3",
        .alias = "gen4",
        .generation = NKI_GEN4,
        .clock_ghz = {[NKI_ENGINE_TENSOR] = 2.4,
                      [NKI_ENGINE_VECTOR] = 1.2,
                      [NKI_ENGINE_SCALAR] = 1.2,
                      [NKI_ENGINE_GPSIMD] = 1.2,
                      [NKI_ENGINE_SYNC] = 1.2},
        .sbuf_partition_bytes = 245752,
        .psum_partition_bytes = 16384,
        .psum_banks = 8,
        .hbm_bytes = 18ull << 30,
        .hbm_bytes_per_ns = 4700.0 / 8,
        .dma_engines = 16,
        .dma_engine_bytes_per_ns = 38.4,
        .pe_tflops_bf16 = 78.6,
        .pe_tflops_fp32 = 19.7,
        .pe_tflops_fp8 = 157.3,
    },
};

const struct device_generation *device_generation_find(const char *name) {
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (strcasecmp(rows[i].name, name) == 0 || strcasecmp(rows[i].alias, name) == 0)
            return &rows[i];
    return NULL;
}

const struct device_generation *device_generation_at(size_t index) {
    return index < COUNT_OF(rows) ? &rows[index] : NULL;
}
