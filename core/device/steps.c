/* SPDX-License-Identifier: Apache-2.0 */
/* What each step of a plan costs, and on which lane, worked out once for all schedules of it. */
#include "device/plan.h"

#include <stdlib.h>

const char *const lane_names[LANE_COUNT] = {"Tensor", "Vector", "Scalar",
                                            "GpSimd", "DMA in", "DMA out"};

enum nki_engine lane_engine(enum lane lane) {
    static const enum nki_engine engines[LANE_COUNT] = {NKI_ENGINE_TENSOR, NKI_ENGINE_VECTOR,
                                                        NKI_ENGINE_SCALAR, NKI_ENGINE_GPSIMD,
                                                        NKI_ENGINE_DMA,    NKI_ENGINE_DMA};
    return engines[lane];
}

static enum lane lane_of_transfer(const struct device_image *image, size_t i) {
    const struct nki_operand *dst = &image->program->instrs.at[i].operands[0];
    bool out = dst->kind == NKI_OPERAND_AP &&
               image->program->storages.at[dst->ap->storage].space == NKI_HBM;
    return out ? LANE_DMA_OUT : LANE_DMA_IN;
}

static enum lane lane_of(const struct plan *plan, const struct step *step) {
    static const enum lane lanes[NKI_ENGINE_COUNT] = {
        [NKI_ENGINE_UNKNOWN] = LANE_VECTOR, [NKI_ENGINE_TENSOR] = LANE_TENSOR,
        [NKI_ENGINE_SCALAR] = LANE_SCALAR,  [NKI_ENGINE_GPSIMD] = LANE_GPSIMD,
        [NKI_ENGINE_VECTOR] = LANE_VECTOR,  [NKI_ENGINE_SYNC] = LANE_GPSIMD};
    if (step->kind == STEP_SAVE)
        return LANE_DMA_OUT;
    if (step->kind == STEP_RELOAD)
        return LANE_DMA_IN;
    enum nki_engine engine = (enum nki_engine)plan->image->engine[step->instr];
    return engine == NKI_ENGINE_DMA ? lane_of_transfer(plan->image, step->instr) : lanes[engine];
}

/* The set an activation function is loaded with; 0: in every set. Which functions share a set is
 * not published; exp stands with what is built on it. */
static uint16_t function_set(const struct nki_instr *instr) {
    if (instr->op != NKI_OP_ACTIVATION && instr->op != NKI_OP_ACTIVATION_REDUCE &&
        instr->op != NKI_OP_ACTIVATE2)
        return 0;
    switch (instr->operands[1].i) {
    case NKI_FUNC_COPY:
    case NKI_FUNC_SQUARE:
    case NKI_FUNC_ABS:
    case NKI_FUNC_SIGN:
    case NKI_FUNC_RELU: return 0;
    default: return (uint16_t)instr->operands[1].i;
    }
}

static struct step_cost cost_of_step(const struct plan *plan, const struct step *step,
                                     const struct cost_table *table) {
    const struct device_image *image = plan->image;
    struct step_cost result = {.lane = (uint8_t)lane_of(plan, step)};
    if (step->kind == STEP_RESIDENT)
        return result;
    if (step->kind == STEP_SAVE || step->kind == STEP_RELOAD) {
        result.transfer = transfer_of_spill(image, step, table);
        return result;
    }
    if (result.lane == LANE_DMA_IN || result.lane == LANE_DMA_OUT) {
        result.transfer = transfer_of(plan, step->instr, table);
        return result;
    }
    struct cost_place place = {(enum nki_engine)image->engine[step->instr],
                               plan->input_in_psum && plan->input_in_psum[step->instr]};
    struct cost cost = cost_of(image->program, step->instr, place, table);
    result.interval_ns = cost.interval_ns;
    result.latency_ns = cost.latency_ns;
    if (result.lane == LANE_SCALAR)
        result.function_set = function_set(&image->program->instrs.at[step->instr]);
    return result;
}

struct step_cost *plan_costs(const struct plan *plan, const struct cost_table *table) {
    struct step_cost *costs = mem_alloc(plan->steps.len, sizeof *costs);
    for (size_t s = 0; s < plan->steps.len; s++)
        costs[s] = cost_of_step(plan, &plan->steps.at[s], table);
    return costs;
}
