/* SPDX-License-Identifier: Apache-2.0 */
/* The plan: what the schedule works through. A program's instructions in order, with what the
 * compiler of the legacy dialect changes: loads it keeps resident instead of repeating, and spills
 * where SBUF is too small. Private to this folder. */
#ifndef HONE_DEVICE_PLAN_H
#define HONE_DEVICE_PLAN_H

#include "device/cost.h"
#include "device/image.h"

enum step_kind {
    STEP_INSTR,
    STEP_RESIDENT,              /* a load whose data is in SBUF already: takes no time */
    STEP_SAVE, STEP_RELOAD,     /* spill of `block` to HBM, and back */
};
struct step {
    uint8_t kind;
    uint32_t instr;             /* the instruction, or the one that needs the spill */
    uint32_t block;             /* of SAVE and RELOAD */
};

/* Memory of a block is taken before a step, or given back after it. */
struct memory_event {
    uint32_t step, block;
};

struct plan {
    const struct device_image *image;
    VEC(struct step) steps;
    VEC(struct memory_event) takes, gives;  /* by step */
    uint32_t *alias;            /* per block: the block whose storage it shares, mostly itself */
    uint64_t sbuf_peak, psum_peak;          /* bytes per partition, in program order */
    uint64_t spill_save_bytes, spill_reload_bytes;
};
struct plan *plan_make(const struct device_image *image);
void plan_free(struct plan *plan);
/* Bytes per partition that a block takes in its memory (PSUM: whole banks for more than one). */
uint64_t plan_block_bytes(const struct device_image *image, uint32_t block);
/* Block number of the first block an operand touches, and how many. */
uint32_t plan_operand_blocks(const struct device_image *image, const struct nki_ap *ap,
                             uint32_t *count);

/* dma.c: how a transfer loads the DMA engines. */
struct transfer {
    uint32_t engines;           /* it uses */
    double engine_ns;           /* that each of them is busy */
    uint64_t bytes;             /* moved */
    uint64_t descriptors;
    bool reads_hbm, writes_hbm;
};
struct transfer transfer_of(const struct device_image *image, size_t i,
                            const struct cost_table *table);
struct transfer transfer_of_block(const struct device_image *image, uint32_t block, bool save,
                                  const struct cost_table *table);

/* depend.c: which steps a step waits for. */
struct depends {
    uint32_t *base;             /* producers of step s: producer[base[s] .. base[s + 1]] */
    VEC(uint32_t) producer;
};
struct depends *depends_make(const struct plan *plan, const uint8_t *lanes);
void depends_free(struct depends *depends);

/* schedule.c */
enum lane {
    LANE_TENSOR, LANE_VECTOR, LANE_SCALAR, LANE_GPSIMD, LANE_DMA_IN, LANE_DMA_OUT, LANE_COUNT
};
extern const char *const lane_names[LANE_COUNT];
enum nki_engine lane_engine(enum lane lane);
struct timeline {
    double *start, *end, *visible;  /* per step: busy from, to, and when others see the result */
    int32_t *cause;                 /* per step: the step that made it start when it did; -1 */
    uint8_t *lane;
    double latency_ns;
    double throttled_ns;            /* of the Tensor engine, lost to a cold clock */
};
/* Times every step. `lifted` >= 0 makes that lane take no time (both DMA lanes together). */
struct timeline *timeline_make(const struct plan *plan, const struct depends *depends,
                               const struct cost_table *table, int lifted);
void timeline_free(struct timeline *timeline);
/* The lane of each step, in an array the caller frees. */
uint8_t *timeline_lanes(const struct plan *plan);

#endif
