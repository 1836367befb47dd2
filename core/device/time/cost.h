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

/* Where instruction i runs: the resolved engine, and whether the compiler gave one of its two
 * inputs a place in PSUM. */
struct cost_place {
    enum nki_engine engine;
    bool input_in_psum;
};
/* The cost of instruction i (not of DMA transfers: those are dma.c's). */
struct cost cost_of(const struct nki_program *program, size_t i, struct cost_place place,
                    const struct device_constants *table);
/* Floating point operations of a matrix product as Neuron's profiler counts them; 0 for others.
 * *transpose is set for products that only move data. */
double cost_flops(const struct nki_program *program, const struct nki_instr *instr,
                  bool *transpose);
/* Passes through the PE array for a matmul's dtypes: 4 for fp32, 1 otherwise. */
int cost_pe_passes(const struct nki_program *program, const struct nki_instr *instr,
                   const struct device_constants *table);

#endif
