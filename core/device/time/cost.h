/* SPDX-License-Identifier: Apache-2.0 */
/* What one instruction costs its engine. Private to this folder. */
#ifndef HONE_DEVICE_COST_H
#define HONE_DEVICE_COST_H

#include "device/image/inner.h"
#include "device/time/time.h"

/* interval: how long the engine is busy before it takes the next instruction; latency: from start
 * until the result can be used by an instruction that waits for it. Both in ns, latency >=
 * interval. */
struct cost {
    double interval_ns, latency_ns;
    bool port; /* needs the port to SBUF that Vector and GpSimd share, for its interval */
};

/* The constants of a generation that timing needs beyond device.h. Sources in cost.c. */
struct cost_table {
    enum nki_generation generation;
    double pe_column_ns;  /* one moving column, one pass */
    double pe_weight_ns;  /* one column of the stationary operand, loaded beneath the columns */
    double pe_issue_ns;   /* added to every matmul instruction */
    double pe_latency_ns; /* pipeline: last column in to result usable */
    double pe_cold_ns;    /* half clock for that long after an idle stretch; 0: none */
    double pe_idle_ns;    /* that long idle makes it cold */
    int pe_transpose_fp32_passes;
    double vector_fixed_ns, vector_latency_ns; /* per instruction; added to the interval */
    double vector_element_ns;
    double vector_fast_fp32;       /* rate of one-input fp32 SBUF to SBUF, relative */
    double vector_fast_16bit;      /* rate of one-input 16-bit SBUF to SBUF */
    double vector_pair;            /* two SBUF inputs: element times per element */
    double vector_reciprocal;      /* element times per element */
    double vector_fast_16bit_pair; /* two 16-bit SBUF inputs, relative to 2 cycles an element */
    double scalar_fixed_ns, scalar_latency_ns;
    double scalar_function_ns; /* added for an activation function other than copy */
    double scalar_element_ns;
    double scalar_table_ns; /* loading a set of activation functions */
    double gpsimd_fixed_ns, gpsimd_latency_ns;
    double gpsimd_element_ns;
    double semaphore_ns;          /* one engine's result seen by another */
    double dma_issue_ns;          /* descriptors of one transfer by the hardware generator */
    double dma_static_issue_ns;   /* of one transfer whose descriptors were laid down before */
    double dma_software_ns;       /* a descriptor that GpSimd writes: of data-dependent addresses */
    double dma_start_ns;          /* issue to the first packet */
    double dma_complete_ns;       /* last packet to the waiting instruction */
    double dma_descriptor_ns;     /* per descriptor */
    double dma_byte_ns;           /* per byte of one DMA engine */
    double dma_sustained_byte_ns; /* a descriptor takes at least this per byte */
    double start_ns, end_ns;      /* around the kernel */
};
const struct cost_table *cost_table_of(enum nki_generation generation);

/* Where instruction i runs: the resolved engine, and whether the compiler gave one of its two
 * inputs a place in PSUM. */
struct cost_place {
    enum nki_engine engine;
    bool input_in_psum;
};
/* The cost of instruction i (not of DMA transfers: those are dma.c's). */
struct cost cost_of(const struct nki_program *program, size_t i, struct cost_place place,
                    const struct cost_table *table);
/* Floating point operations of a matrix product as Neuron's profiler counts them; 0 for others.
 * *transpose is set for products that only move data. */
double cost_flops(const struct nki_program *program, const struct nki_instr *instr,
                  bool *transpose);
/* Passes through the PE array for a matmul's dtypes: 4 for fp32, 1 otherwise. */
int cost_pe_passes(const struct nki_program *program, const struct nki_instr *instr,
                   const struct cost_table *table);

#endif
