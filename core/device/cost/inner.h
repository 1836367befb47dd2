/* SPDX-License-Identifier: Apache-2.0 */
/* What one instruction costs its engine; for the rooms of the device. */
#ifndef HONE_DEVICE_COST_INNER_H
#define HONE_DEVICE_COST_INNER_H

#include "device/cost/cost.h"
#include "device/image/inner.h"

#include <math.h>

/* interval: how long the engine is busy before it takes the next instruction. latency: from the
 * start until an instruction that waits for the result can use it. Both in ns; latency >=
 * interval. */
struct cost {
    double interval_ns, latency_ns;
    double active_ns; /* of the Tensor engine: its interval times the share of its rows that work */
    bool port;        /* holds the port to SBUF that Vector and GpSimd share, for its interval */
    uint16_t tiles;   /* the parts of the PE array that a product takes, a bit for each of 4 x 4;
                       * 0: all */
};

/* The nearest multiple of 2^-20 ns. Sums and differences of such times are exact for hours. */
static inline double cost_on_grid(double ns) {
    return rint(ns * 0x1p20) * 0x1p-20;
}

/* Where instruction i runs: its engine, and whether the compiler put one of its two inputs into
 * PSUM. */
struct cost_place {
    enum nki_engine engine;
    bool input_in_psum;
};
/* The cost of instruction i. Those of a kind (image->kind) in the same place cost the same, but for
 * products whose weights are there already. Transfers are in compile/dma.c. */
struct cost cost_of(const struct nki_program *program, size_t i, struct cost_place place,
                    const struct device_constants *table);
/* Whether it is a product whose weights the PE array has, from a product just before it. */
bool cost_has_weights(const struct nki_program *program, size_t i);
/* Floating point operations of a matrix product as Neuron's profiler counts them; 0 for other
 * instructions. Sets *transpose for products that only move data. */
double cost_flops(const struct nki_program *program, const struct nki_instr *instr,
                  bool *transpose);
/* How often a matmul of these dtypes passes through the PE array: 4 times for fp32, otherwise
 * once. */
int cost_pe_passes(const struct nki_program *program, const struct nki_instr *instr,
                   const struct device_constants *table);

#endif
