/* SPDX-License-Identifier: Apache-2.0 */
/* The hardware numbers of the three generations of NeuronCores, one row each. Limits that are the
 * same everywhere (128 partitions, the PE array) are constants of the checks. Costs of instructions
 * belong to the timing. */
#include "device/image/image.h"

/* What nki/program/generations.def says of a generation, for its row. */
#define GENERATION(id, number, name, alias, sbuf_bytes) \
    static const char name_##id[] = name;               \
    enum { sbuf_bytes_##id = sbuf_bytes };
#include "device/image/testing.h"
#include "nki/program/generations.def"
#undef GENERATION
#define NAMED(id) .name = name_##id, .generation = NKI_##id, .sbuf_partition_bytes = sbuf_bytes_##id

/* Sources: the AWS NKI architecture guides for Trainium/Inferentia2 (gen2), Trainium2 (gen3) and
 * Trainium3 (gen4) for clocks, memories and peak rates; the NKI DMA overview for DMA engines (16 a
 * core, 27.2 and 38.4 GB/s each). HBM is that of a device divided by its cores (2, 8, 8). Where
 * guide and product page differ in bandwidth, the lower is taken (2.9 TB/s for Trainium2, 4.7 TB/s
 * for Trainium3). The peak of FP8 includes double_row on gen3 and gen4. */
static const struct device_generation rows[] = {
    {
        NAMED(GEN2),
        .clock_ghz = {[NKI_ENGINE_TENSOR] = 2.8,
                      [NKI_ENGINE_VECTOR] = 1.12,
                      [NKI_ENGINE_SCALAR] = 1.4,
                      [NKI_ENGINE_GPSIMD] = 1.4,
                      [NKI_ENGINE_SYNC] = 1.4},
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
        NAMED(GEN3),
        .clock_ghz = {[NKI_ENGINE_TENSOR] = 2.4,
                      [NKI_ENGINE_VECTOR] = 0.96,
                      [NKI_ENGINE_SCALAR] = 1.2,
                      [NKI_ENGINE_GPSIMD] = 1.2,
                      [NKI_ENGINE_SYNC] = 1.2},
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
        NAMED(GEN4),
        .clock_ghz = {[NKI_ENGINE_TENSOR] = 2.4,
                      [NKI_ENGINE_VECTOR] = 1.2,
                      [NKI_ENGINE_SCALAR] = 1.2,
                      [NKI_ENGINE_GPSIMD] = 1.2,
                      [NKI_ENGINE_SYNC] = 1.2},
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
    return device_generation_of(nki_generation_find(name));
}

const struct device_generation *device_generation_of(enum nki_generation generation) {
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].generation == generation)
            return &rows[i];
    return NULL;
}

const char *device_name(const char *asked) {
    return asked ? asked : nki_generation_name(NKI_GENERATION_DEFAULT);
}

const struct device_generation *device_generation_ask(const char *asked, struct err *err) {
    const char *name = device_name(asked);
    const struct device_generation *found = device_generation_find(name);
    struct buf all = {0};
    for (size_t i = 0; !found && i < COUNT_OF(rows); i++)
        buf_printf(&all, "%s%s",
                   i == 0                    ? ""
                   : i + 1 == COUNT_OF(rows) ? " and "
                                             : ", ",
                   rows[i].name);
    if (!found)
        err_set(err, ERR_USAGE, "there is no device %s; there are %s", name, all.at);
    buf_free(&all);
    return found;
}

const struct device_generation *device_generation_at(size_t index) {
    return index < COUNT_OF(rows) ? &rows[index] : NULL;
}
