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
    STEP_RESIDENT, /* a load whose data is in SBUF already: takes no time */
    STEP_SAVE,
    STEP_RELOAD, /* spill of `block` to HBM, and back */
};
struct step {
    uint8_t kind;
    uint32_t instr;        /* the instruction, or the one that needs the spill */
    uint32_t block, bytes; /* of SAVE and RELOAD: what moves, per partition */
};

/* A stretch of a block's life in SBUF or PSUM: from the step that brings it in until the last of
 * the steps that use it is over. A spill ends one residence, the reload begins the next. */
struct residence {
    uint32_t block;
    uint32_t users;      /* steps that use it */
    uint32_t first_user; /* the step that brings it in */
    uint64_t bytes;      /* per partition */
    bool psum;
};

/* An operand, and the blocks it touches: [first, first + count). */
struct plan_operand {
    const struct nki_ap *ap;
    uint32_t first, count;
    bool is_dst, is_src, is_index;
};

struct plan {
    const struct device_image *image;
    VEC(struct plan_operand) operands; /* of instruction i: [operand_base[i], .. [i + 1]) */
    uint32_t *operand_base;
    VEC(struct step) steps;
    VEC(struct residence) residences; /* in the order they begin */
    VEC(uint32_t) uses; /* residences that step s uses: uses[use_base[s] .. [s + 1]] */
    VEC(uint32_t) use_base;
    uint32_t *alias;               /* per block: the block whose storage it shares, mostly itself */
    bool *input_in_psum;           /* per instruction: the compiler put an input of it into PSUM */
    bool reorders;                 /* the compiler may reorder: legacy dialect */
    uint64_t sbuf_peak, psum_peak; /* bytes per partition, in program order */
    uint64_t spill_save_bytes, spill_reload_bytes;
    uint64_t reload_bytes; /* inputs read again because SBUF could not hold them */
};
struct plan *plan_make(const struct device_image *image);
void plan_free(struct plan *plan);
/* Bytes per partition that a block takes in its memory. */
uint64_t plan_block_bytes(const struct device_image *image, uint32_t block);
/* The operands of instruction i, and how many. */
const struct plan_operand *plan_operands(const struct plan *plan, size_t i, size_t *n);

/* dma.c: how a transfer loads the DMA engines. */
struct transfer {
    uint32_t engines; /* it uses */
    double engine_ns; /* that each of them is busy */
    uint64_t bytes;   /* moved */
    uint64_t descriptors;
    bool reads_hbm, writes_hbm;
};
struct transfer transfer_of(const struct plan *plan, size_t i, const struct cost_table *table);
struct transfer transfer_of_spill(const struct device_image *image, const struct step *step,
                                  const struct cost_table *table);

/* schedule.c, costs: what each step costs wherever it is scheduled. */
enum lane {
    LANE_TENSOR,
    LANE_VECTOR,
    LANE_SCALAR,
    LANE_GPSIMD,
    LANE_DMA_IN,
    LANE_DMA_OUT,
    LANE_COUNT
};
extern const char *const lane_names[LANE_COUNT];
enum nki_engine lane_engine(enum lane lane);
struct step_cost {
    double interval_ns, latency_ns; /* of an instruction */
    struct transfer transfer;       /* of a transfer */
    uint16_t function_set;          /* of an activation: the table it needs, 0: none */
    uint8_t lane;
};
/* One per step, in an array the caller frees. */
struct step_cost *plan_costs(const struct plan *plan, const struct cost_table *table);

/* depend.c: which steps a step waits for. */
#define DEPENDS_ORDER 0x80000000u /* starts after it, need not wait for its result */
struct depends {
    size_t n;
    bool orders;             /* lanes may reorder: order edges are needed */
    uint32_t *base;          /* producers of step s: producer[base[s] .. base[s + 1]] */
    uint32_t *consumer_base; /* the same edges from the producer's side */
    uint32_t *consumer;      /* step numbers, some with DEPENDS_ORDER */
    VEC(uint32_t) producer;  /* step numbers, some with DEPENDS_ORDER */
};
struct depends *depends_make(const struct plan *plan, const struct step_cost *costs);
void depends_free(struct depends *depends);

/* schedule.c */
struct timeline {
    double *start, *end, *visible; /* per step: busy from, to, and when others see the result */
    int32_t *cause;                /* per step: the step that made it start when it did; -1 */
    double latency_ns;
    double throttled_ns; /* of the Tensor engine, lost to a cold clock */
};
struct schedule {
    const struct plan *plan;
    const struct depends *depends;
    const struct cost_table *table;
    const struct step_cost *costs;
};
/* Times every step. `lifted` >= 0 makes that lane take no time (both DMA lanes together). */
struct timeline *timeline_make(const struct schedule *schedule, int lifted);
void timeline_free(struct timeline *timeline);

#endif
