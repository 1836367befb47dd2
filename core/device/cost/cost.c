/* SPDX-License-Identifier: Apache-2.0 */
/* Costs of instructions on their engines: one small function for each name in the `cost` column of
 * nki/program/instructions.def. This file knows nothing of scheduling. Cycle counts follow the cost
 * sections of neuronxcc.nki.isa (Neuron SDK 2.26) and the Trainium architecture guides. */
#include "device/cost/inner.h"

#include <math.h>

/* What a cost function works with. */
struct work {
    const struct nki_program *program;
    size_t i;
    const struct nki_instr *instr;
    enum nki_engine engine;
    bool input_in_psum;
    const struct device_constants *table;
    int64_t n; /* elements per partition of the longest operand */
};

static const struct nki_ap *ap_at(const struct work *work, size_t k) {
    if (k >= work->instr->n_operands || work->instr->operands[k].kind != NKI_OPERAND_AP)
        return NULL;
    return work->instr->operands[k].ap;
}

static enum nki_space space_of(const struct work *work, const struct nki_ap *ap) {
    return work->program->storages.at[ap->storage]->space;
}

static int64_t longest_free(const struct nki_instr *instr) {
    int64_t longest = 1;
    for (size_t k = 0; k < instr->n_operands; k++)
        if (instr->operands[k].kind == NKI_OPERAND_AP)
            longest = MAX_OF(longest, nki_ap_free(instr->operands[k].ap));
    return longest;
}

/* The cost of a stream of `units` element times on the work's engine. */
static struct cost stream(const struct work *work, double units, double extra_ns) {
    const struct device_constants *t = work->table;
    double fixed, latency, element;
    switch (work->engine) {
    case NKI_ENGINE_SCALAR:
        fixed = t->scalar_fixed_ns, latency = t->scalar_latency_ns, element = t->scalar_element_ns;
        break;
    case NKI_ENGINE_GPSIMD:
        fixed = t->gpsimd_fixed_ns, latency = t->gpsimd_latency_ns, element = t->gpsimd_element_ns;
        break;
    default:
        fixed = t->vector_fixed_ns, latency = t->vector_latency_ns, element = t->vector_element_ns;
        break;
    }
    double interval = fixed + units * element + extra_ns;
    return (struct cost){.interval_ns = interval, .latency_ns = interval + latency};
}

/* Whether the elements of the innermost dimension lie side by side. */
static bool is_contiguous(const struct nki_ap *ap) {
    for (int d = ap->n_dims - 1; d > 0; d--)
        if (ap->count[d] != 1)
            return ap->step[d] == 1;
    return true;
}

/* Whether the elements of all operands that stream are `bytes` bytes wide. Counts those in PSUM,
 * and those that do not lie side by side. */
static bool all_are(const struct work *work, size_t bytes, int *in_psum, int *strided) {
    *in_psum = *strided = 0;
    for (size_t k = 0; k < work->instr->n_operands; k++) {
        const struct nki_ap *ap = ap_at(work, k);
        if (!ap || nki_ap_free(ap) < 2)
            continue;
        *in_psum += space_of(work, ap) != NKI_SBUF;
        *strided += !is_contiguous(ap);
        if (dtype_bytes(ap->dtype) != bytes)
            return false;
    }
    return true;
}

/* Whether all operands that stream are in SBUF, with elements of `bytes` bytes. */
static bool sbuf_only(const struct work *work, size_t bytes) {
    int in_psum, strided;
    return all_are(work, bytes, &in_psum, &strided) && !in_psum;
}

/* How many times as fast as one element a cycle the Vector engine takes one streamed input. */
static double fast_mode(const struct work *work) {
    const struct device_constants *t = work->table;
    int in_psum, strided;
    if (work->engine != NKI_ENGINE_VECTOR)
        return 1;
    if (all_are(work, 2, &in_psum, &strided) && in_psum + strided == 0)
        return t->vector_fast_16bit;
    if (all_are(work, 2, &in_psum, &strided) && (in_psum == 0 || (in_psum == 1 && !strided)))
        return t->vector_fast_16bit_part;
    return all_are(work, 4, &in_psum, &strided) && !in_psum && !strided ? t->vector_fast_fp32 : 1;
}

static double one_input_units(const struct work *work) {
    return (double)work->n / fast_mode(work);
}

static struct cost cost_one_input(const struct work *work) {
    return stream(work, (double)work->n, 0);
}

static struct cost cost_one_input_reduce(const struct work *work) {
    return stream(work, (double)work->n + 64, 0);
}

static struct cost cost_copy(const struct work *work) {
    return stream(work, one_input_units(work), 0);
}

/* A division first takes the reciprocal of its second operand. */
static double division_units(const struct work *work, size_t op) {
    const struct nki_operand *func = &work->instr->operands[op];
    bool divides = func->kind == NKI_OPERAND_FUNC && func->i == NKI_FUNC_DIVIDE;
    return divides ? work->table->vector_reciprocal * (double)work->n : 0;
}

static struct cost cost_tensor_scalar(const struct work *work) {
    if (work->engine == NKI_ENGINE_SCALAR)
        return stream(work, (double)work->n, work->table->scalar_function_ns);
    return stream(work,
                  one_input_units(work) + division_units(work, NKI_TENSOR_SCALAR_op0) +
                      division_units(work, NKI_TENSOR_SCALAR_op1),
                  0);
}

/* Filling is no slower than copying, whose rate in fp32 was measured. For narrow types the
 * reference of memset says two elements a cycle. */
static struct cost cost_memset(const struct work *work) {
    const struct nki_ap *dst = ap_at(work, NKI_MEMSET_dst);
    bool narrow = dst && dtype_bytes(dst->dtype) <= 2;
    return stream(work, narrow ? (double)work->n / 2 : one_input_units(work), 0);
}

/* Two streamed inputs take two cycles an element, unless one of them comes from PSUM or both are 16
 * bits wide. */
static double two_input_units(const struct work *work, size_t first, size_t second) {
    const struct nki_ap *a = ap_at(work, first), *b = ap_at(work, second);
    if (!a || !b || work->engine != NKI_ENGINE_VECTOR)
        return (double)work->n * (work->engine == NKI_ENGINE_GPSIMD ? 2 : 1);
    bool one_psum = (space_of(work, a) == NKI_PSUM) != (space_of(work, b) == NKI_PSUM);
    if (one_psum || work->input_in_psum)
        return (double)work->n;
    if (sbuf_only(work, 2))
        return 2 * (double)work->n / work->table->vector_fast_16bit_pair;
    return work->table->vector_pair * (double)work->n;
}

static struct cost cost_tensor_tensor(const struct work *work) {
    double units = two_input_units(work, NKI_TENSOR_TENSOR_data1, NKI_TENSOR_TENSOR_data2);
    return stream(work, units + division_units(work, NKI_TENSOR_TENSOR_op), 0);
}

static struct cost cost_scalar_tensor_tensor(const struct work *work) {
    return stream(
        work,
        two_input_units(work, NKI_SCALAR_TENSOR_TENSOR_data, NKI_SCALAR_TENSOR_TENSOR_operand1), 0);
}

/* The cost of an instruction whose first two sources stream. A scan takes as long wherever they lie
 * and whatever they are (tensor_tensor_scan, neuronxcc.nki.isa 2.26, names no faster case). */
static struct cost cost_two_input(const struct work *work) {
    enum nki_op op = (enum nki_op)work->instr->op;
    if (op == NKI_OP_TENSOR_TENSOR_SCAN)
        return stream(work, work->table->vector_pair * (double)work->n, 0);
    int first = nki_op_source(op, NKI_DST), second = nki_op_source(op, first);
    return stream(work, two_input_units(work, (size_t)first, (size_t)second), 0);
}

static struct cost cost_tensor_reduce(const struct work *work) {
    const struct nki_ap *dst = ap_at(work, NKI_TENSOR_REDUCE_dst);
    const struct nki_ap *data = ap_at(work, NKI_TENSOR_REDUCE_data);
    bool narrow = dst && data && dtype_bytes(dst->dtype) == 2 && dtype_bytes(data->dtype) == 2;
    return stream(work, narrow ? (double)work->n / 2 : (double)work->n, 0);
}

static struct cost cost_reciprocal(const struct work *work) {
    bool vector = work->engine == NKI_ENGINE_VECTOR;
    return stream(work, (double)work->n * (vector ? work->table->vector_reciprocal : 1), 0);
}

/* Whether a reduction is written beside dst. */
static bool has_second_result(const struct work *work) {
    const struct nki_op_row *row = nki_op_row((enum nki_op)work->instr->op);
    for (size_t k = NKI_DST + 1; k < row->n_params; k++)
        if (nki_role_writes(row->params[k].role) && ap_at(work, k))
            return true;
    return false;
}

static struct cost cost_activation(const struct work *work) {
    const struct nki_operand *op = &work->instr->operands[NKI_ACTIVATION_op];
    bool plain = op->kind == NKI_OPERAND_FUNC && op->i == NKI_FUNC_COPY;
    double extra = (plain ? 0 : work->table->scalar_function_ns) +
                   (has_second_result(work) ? 64 * work->table->scalar_element_ns : 0);
    return stream(work, (double)work->n, extra);
}

static struct cost cost_exponential(const struct work *work) {
    return stream(work, (double)work->n / 4, 0);
}

static struct cost cost_bn_aggr(const struct work *work) {
    return stream(work, 13.0 * (double)work->n / 3, 0);
}

static struct cost cost_gpsimd_stream(const struct work *work) {
    return stream(work, (double)work->n, 0);
}

static struct cost cost_partition_reduce(const struct work *work) {
    /* A tree over 128 partitions: seven passes. */
    return stream(work, 7 * (double)work->n, 0);
}

static struct cost cost_local_gather(const struct work *work) {
    return stream(work, 8 * (double)work->n, 0);
}

static struct cost cost_n_gather(const struct work *work) {
    return stream(work, 512 * ceil((double)work->n / 512), 0);
}

/* 4 n + k cycles (nki.isa.topk). */
static struct cost cost_topk(const struct work *work) {
    double n = (double)work->instr->operands[NKI_TOPK_n].i;
    const struct nki_ap *values = ap_at(work, NKI_TOPK_val_dst);
    return stream(work, 4 * n + (values ? (double)nki_ap_free(values) : 0), 0);
}

/* Four numbers a cycle and lane (architecture guide of trn3). */
static struct cost cost_rand2(const struct work *work) {
    return stream(work, (double)work->n / 4, 0);
}

static struct cost cost_elementwise(const struct work *work) {
    return stream(work, 2 * (double)work->n, 0);
}

static bool is_set(const struct nki_instr *instr, size_t k) {
    return instr->operands[k].kind == NKI_OPERAND_BOOL && instr->operands[k].i;
}

int cost_pe_passes(const struct nki_program *program, const struct nki_instr *instr,
                   const struct device_constants *table) {
    (void)program;
    bool matmul = instr->op == NKI_OP_NC_MATMUL;
    if (instr->op == NKI_OP_NC_MATMUL_MX)
        return 1;
    const struct nki_operand *moving =
        &instr->operands[matmul ? NKI_NC_MATMUL_moving : NKI_NC_TRANSPOSE_data];
    if (moving->kind != NKI_OPERAND_AP || dtype_bytes(moving->ap->dtype) != 4 ||
        moving->ap->dtype == DTYPE_TFLOAT32)
        return 1;
    if (!matmul || is_set(instr, NKI_NC_MATMUL_is_transpose))
        return (int)table->pe_transpose_fp32_passes;
    bool onezero = is_set(instr, NKI_NC_MATMUL_is_stationary_onezero) ||
                   is_set(instr, NKI_NC_MATMUL_is_moving_onezero);
    return onezero ? 2 : 4;
}

/* The parts of the array that rows or columns from `start` on take; 0: they are no tiling. */
static unsigned parts_along(int64_t start, int64_t size) {
    bool halves = size == NKI_PARTITIONS / 2, quarters = size == NKI_PARTITIONS / 4;
    if ((!halves && !quarters && size != NKI_PARTITIONS) || start < 0 || start % size ||
        start + size > NKI_PARTITIONS)
        return 0;
    return ((1u << size / 32) - 1) << start / 32;
}

/* The parts that a product takes, as struct cost has them. Both tile_position and tile_size set
 * them (nki.isa.nc_matmul). */
static uint16_t pe_tiles(const struct nki_instr *instr) {
    bool scaled = instr->op == NKI_OP_NC_MATMUL_MX;
    const struct nki_operand *at =
        &instr->operands[scaled ? NKI_NC_MATMUL_MX_tile_position : NKI_NC_MATMUL_tile_position];
    const struct nki_operand *size =
        &instr->operands[scaled ? NKI_NC_MATMUL_MX_tile_size : NKI_NC_MATMUL_tile_size];
    if (at->kind != NKI_OPERAND_INTS || size->kind != NKI_OPERAND_INTS || at->n != 2 ||
        size->n != 2)
        return 0;
    unsigned rows = parts_along(at->ints[0], size->ints[0]), tiles = 0;
    unsigned columns = parts_along(at->ints[1], size->ints[1]);
    for (int row = 0; row < 4; row++)
        tiles |= (rows >> row & 1) * columns << 4 * row;
    return tiles == UINT16_MAX ? 0 : (uint16_t)tiles;
}

/* Whether two products can run at once. */
static bool are_apart(unsigned a, unsigned b) {
    return a && b && !(a & b);
}

static double columns_share(unsigned tiles) {
    unsigned columns = (tiles | tiles >> 4 | tiles >> 8 | tiles >> 12) & 15;
    return tiles ? __builtin_popcount(columns) / 4.0 : 1;
}

/* An instruction makes one or more products: for fp32 those of the low and the high halves; a
 * transpose is one product. The weights of each are loaded while the one before still streams, so
 * the slower of the two counts. */
static struct cost pe_cost(const struct work *work, int64_t columns,
                           const struct nki_ap *stationary, int64_t weights) {
    double rows = stationary ? (double)stationary->count[0] / NKI_PARTITIONS : 1;
    const struct device_constants *t = work->table;
    bool transpose;
    (void)cost_flops(work->program, work->instr, &transpose);
    int passes = cost_pe_passes(work->program, work->instr, t);
    int products = passes > 1 && !transpose ? 2 : 1;
    double stream = (double)MAX_OF(columns, 64) * t->pe_column_ns * passes;
    double load = (double)weights * t->pe_weight_ns * products;
    double interval = MAX_OF(stream, load) + t->pe_issue_ns * (passes > 1 ? 2 : 1);
    return (struct cost){.interval_ns = interval,
                         .latency_ns = interval + t->pe_latency_ns,
                         .active_ns = interval * MIN_OF(rows, 1.0)};
}

static bool same_pattern(const struct nki_ap *a, const struct nki_ap *b) {
    if (a->storage != b->storage || a->offset != b->offset || a->partition != b->partition ||
        a->dtype != b->dtype || a->n_dims != b->n_dims)
        return false;
    for (int d = 0; d < a->n_dims; d++)
        if (a->step[d] != b->step[d] || a->count[d] != b->count[d])
            return false;
    return true;
}

/* The weights stay when a product that is a few instructions back at most had the same ones. In
 * between may be products of other parts of the array. */
#define WEIGHTS_LOOK_BACK 4
#define WEIGHTS_LOOK_BACK_TILES 16
bool cost_has_weights(const struct nki_program *program, size_t i) {
    const struct nki_instr *first = program->instrs.at, *instr = &first[i];
    if (instr->op != NKI_OP_NC_MATMUL ||
        instr->operands[NKI_NC_MATMUL_stationary].kind != NKI_OPERAND_AP)
        return false;
    unsigned tiles = pe_tiles(instr);
    for (const struct nki_instr *at = instr; at-- > first;) {
        if (instr - at > (tiles ? WEIGHTS_LOOK_BACK_TILES : WEIGHTS_LOOK_BACK) ||
            at->op == NKI_OP_NC_TRANSPOSE)
            return false;
        if (at->op == NKI_OP_NC_MATMUL && !are_apart(tiles, pe_tiles(at)))
            return same_pattern(at->operands[NKI_NC_MATMUL_stationary].ap,
                                instr->operands[NKI_NC_MATMUL_stationary].ap);
    }
    return false;
}

static struct cost cost_matmul(const struct work *work) {
    const struct nki_ap *moving = ap_at(work, NKI_NC_MATMUL_moving);
    const struct nki_ap *weights = ap_at(work, NKI_NC_MATMUL_stationary);
    struct cost cost =
        pe_cost(work, moving ? nki_ap_free(moving) : work->n, weights,
                weights && !cost_has_weights(work->program, work->i) ? nki_ap_free(weights) : 1);
    cost.tiles = pe_tiles(work->instr);
    cost.active_ns *= columns_share(cost.tiles);
    return cost;
}

static struct cost cost_transpose(const struct work *work) {
    const struct nki_ap *data = ap_at(work, NKI_NC_TRANSPOSE_data);
    if (work->engine != NKI_ENGINE_TENSOR)
        return stream(work, (double)MAX_OF(work->n, 64), 0);
    /* The data is the stationary operand. What moves is the identity, which has as many columns as
     * the data has partitions. */
    return pe_cost(work, data ? data->count[0] : work->n, data, data ? nki_ap_free(data) : work->n);
}

static struct cost cost_register_load(const struct work *work) {
    double ns = work->table->register_load_ns;
    return (struct cost){.interval_ns = ns, .latency_ns = ns};
}

static struct cost cost_register_math(const struct work *work) {
    double ns = work->table->register_math_ns;
    return (struct cost){.interval_ns = ns, .latency_ns = ns};
}

static struct cost cost_loop_branch(const struct work *work) {
    double ns = work->table->loop_branch_ns;
    return (struct cost){.interval_ns = ns, .latency_ns = ns};
}

/* By GpSimd's own DMA: what goes out and what comes in at once, through the same port. */
static struct cost cost_sendrecv(const struct work *work) {
    const struct device_constants *t = work->table;
    const struct nki_ap *src = ap_at(work, NKI_SENDRECV_src);
    double bytes = src ? (double)nki_ap_count(src) * (double)dtype_bytes(src->dtype) : 0;
    double interval = t->gpsimd_fixed_ns + bytes * t->gpsimd_dma_byte_ns;
    return (struct cost){.interval_ns = interval, .latency_ns = interval + t->gpsimd_dma_ns};
}

/* By the bytes of the larger side: what is gathered, or what is reduced. */
static struct cost cost_collective(const struct work *work) {
    const struct device_constants *t = work->table;
    double most = 0;
    for (size_t k = NKI_COLLECTIVE_dst; k <= NKI_COLLECTIVE_src; k++) {
        const struct nki_ap *ap = ap_at(work, k);
        if (ap)
            most = MAX_OF(most, (double)nki_ap_count(ap) * (double)dtype_bytes(ap->dtype));
    }
    double ns = t->collective_ns + most * t->collective_byte_ns;
    return (struct cost){.interval_ns = ns, .latency_ns = ns};
}

static struct cost cost_core_barrier(const struct work *work) {
    double ns = work->table->core_barrier_ns;
    return (struct cost){.interval_ns = ns, .latency_ns = ns};
}

static struct cost cost_dma(const struct work *work) {
    (void)work;
    return (struct cost){0};
}
#define cost_dma_transpose cost_dma

typedef struct cost (*cost_fn)(const struct work *work);
static const cost_fn functions[NKI_OP_COUNT] = {
#define INSTR(id, name, engines, check, exec, cost, ...) [NKI_OP_##id] = cost_##cost,
#include "nki/program/instructions.def"
#undef INSTR
};

/* On trn1, Vector and GpSimd cannot reach SBUF at once. From trn2 on, GpSimd is locked out only
 * while Vector is in one of its fast modes (architecture guides). Published kernels that move work
 * to GpSimd gain nothing. */
static bool needs_port(const struct work *work) {
    if (work->engine == NKI_ENGINE_GPSIMD)
        return true;
    if (work->engine != NKI_ENGINE_VECTOR)
        return false;
    if (work->table->generation != NKI_GEN2)
        return sbuf_only(work, 2) || sbuf_only(work, 4);
    for (size_t k = 0; k < work->instr->n_operands; k++)
        if (ap_at(work, k) && space_of(work, ap_at(work, k)) == NKI_SBUF)
            return true;
    return false;
}

struct cost cost_of(const struct nki_program *program, size_t i, struct cost_place place,
                    const struct device_constants *table) {
    const struct nki_instr *instr = &program->instrs.at[i];
    struct work work = {
        program, i, instr, place.engine, place.input_in_psum, table, longest_free(instr)};
    struct cost cost = functions[instr->op](&work);
    cost.port = needs_port(&work);
    cost.interval_ns = cost_on_grid(cost.interval_ns);
    cost.latency_ns = cost_on_grid(cost.latency_ns);
    cost.active_ns = cost_on_grid(cost.active_ns);
    return cost;
}

double cost_flops(const struct nki_program *program, const struct nki_instr *instr,
                  bool *transpose) {
    (void)program;
    *transpose = false;
    if (instr->op == NKI_OP_NC_TRANSPOSE) {
        const struct nki_ap *data = instr->operands[NKI_NC_TRANSPOSE_data].ap;
        *transpose = true;
        return 2.0 * 128 * (double)data->count[0] * (double)nki_ap_free(data);
    }
    bool scaled = instr->op == NKI_OP_NC_MATMUL_MX; /* four values an element */
    if (instr->op != NKI_OP_NC_MATMUL && !scaled)
        return 0;
    const struct nki_ap *stationary = instr->operands[NKI_NC_MATMUL_stationary].ap;
    const struct nki_ap *moving = instr->operands[NKI_NC_MATMUL_moving].ap;
    *transpose = !scaled && is_set(instr, NKI_NC_MATMUL_is_transpose);
    return (scaled ? 8.0 : 2.0) * (double)stationary->count[0] * (double)nki_ap_free(stationary) *
           (double)nki_ap_free(moving);
}
