/* SPDX-License-Identifier: Apache-2.0 */
/* What one operation costs: a program of this one instruction, priced as the clock prices those of
 * kernels. Which constants its price rests on is found by moving each a little. */
#include "device/device.h"
#include "device/cost/inner.h"
#include "device/image/inner.h"
#include "nki/nki.h"

#include <stdio.h>
#include <stdlib.h>

#define MOVED 0.001     /* by this share a constant is moved */
#define LEAST 0.0005    /* of the price: a part below this share is not told */
#define COPIES 9        /* transfers under way, to see at which rate they come */
#define PSUM_BYTES 2048 /* of a bank, in each partition */

/* What is priced: an instruction, or transfers. */
struct priced {
    struct nki_program *program;
    struct device_image *image; /* NULL: an instruction */
    enum nki_engine engine;
    bool stores;
};

static const struct {
    char letter;
    enum nki_engine engine;
} letters[] = {{'T', NKI_ENGINE_TENSOR},
               {'V', NKI_ENGINE_VECTOR},
               {'A', NKI_ENGINE_SCALAR},
               {'G', NKI_ENGINE_GPSIMD},
               {'D', NKI_ENGINE_DMA}};

enum nki_engine device_price_engine(enum nki_op op, size_t i) {
    const char *can = nki_op_engines(op);
    if (i < strlen(can))
        for (size_t k = 0; k < COUNT_OF(letters); k++)
            if (letters[k].letter == can[i])
                return letters[k].engine;
    return NKI_ENGINE_UNKNOWN;
}

/* ---- the instruction ------------------------------------------------------------------------ */

static struct nki_operand tile(struct nki_program *program, enum nki_space space, enum dtype dtype,
                               int64_t partitions, int64_t free) {
    int64_t *shape = ARENA_ARRAY(program->arena, int64_t, ARRAY_MAX_DIMS);
    struct nki_ap *ap = ARENA_ARRAY(program->arena, struct nki_ap, 1);
    ap->step = ARENA_ARRAY(program->arena, int64_t, 2);
    ap->count = ARENA_ARRAY(program->arena, int32_t, 2);
    ap->storage = (uint32_t)program->storages.len;
    ap->dtype = dtype;
    ap->n_dims = 2;
    ap->step[0] = ap->step[1] = 1;
    ap->count[0] = (int32_t)(shape[0] = partitions);
    ap->count[1] = (int32_t)(shape[1] = free);
    nki_storage_add(program,
                    &(struct nki_storage){.space = space,
                                          .dtype = dtype,
                                          .name = "",
                                          .n_dims = 2,
                                          .shape = shape,
                                          .partitions = (uint32_t)partitions,
                                          .blocks = 1,
                                          .block_bytes = (uint64_t)free * dtype_bytes(dtype),
                                          .input = -1,
                                          .output = -1,
                                          .address_partition = -1});
    return (struct nki_operand){.kind = NKI_OPERAND_AP, .ap = ap};
}

static bool takes(const struct nki_param *param, enum nki_operand_kind kind) {
    return param->takes & (1u << kind);
}

/* Of what must be given: tiles of the asked shape, 1 where a number will do. */
static struct nki_operand operand(struct nki_program *program, const struct device_ask *ask,
                                  const struct nki_param *param, bool first) {
    bool streams = param->role == NKI_ROLE_STREAMS, writes = nki_role_writes(param->role);
    if (param->standard[0])
        return (struct nki_operand){0};
    if (takes(param, NKI_OPERAND_FUNC))
        return (struct nki_operand){.kind = NKI_OPERAND_FUNC,
                                    .i = ask->func ? (int64_t)ask->func
                                         : strchr(nki_op_engines(ask->op), 'A') &&
                                                 !strchr(nki_op_engines(ask->op), 'V')
                                             ? NKI_FUNC_EXP
                                             : NKI_FUNC_ADD};
    if (takes(param, NKI_OPERAND_FLOAT) && !streams && !writes)
        return (struct nki_operand){.kind = NKI_OPERAND_FLOAT, .f = 1};
    if (!takes(param, NKI_OPERAND_AP))
        return (struct nki_operand){0};
    return tile(program, first && !writes ? ask->from : NKI_SBUF, ask->dtype, ask->partitions,
                ask->free);
}

/* stationary[K, M], moving[K, N]: the result is in PSUM. */
static void product(struct nki_program *program, const struct device_ask *ask,
                    struct nki_operand *operands) {
    operands[NKI_DST] = tile(program, NKI_PSUM, DTYPE_FLOAT32, ask->columns, ask->free);
    operands[NKI_NC_MATMUL_stationary] =
        tile(program, NKI_SBUF, ask->dtype, ask->partitions, ask->columns);
    operands[NKI_NC_MATMUL_moving] =
        tile(program, NKI_SBUF, ask->dtype, ask->partitions, ask->free);
}

static struct nki_program *program_of(const struct device_ask *ask) {
    const struct nki_op_row *row = nki_op_row(ask->op);
    struct arena *arena = arena_new();
    struct nki_program *program = mem_alloc(1, sizeof *program);
    program->arena = arena;
    struct nki_operand *operands = ARENA_ARRAY(arena, struct nki_operand, row->n_params);
    int source = nki_op_source(ask->op, NKI_DST);
    for (int k = 0; k < row->n_params; k++)
        operands[k] = operand(program, ask, &row->params[k], k == source);
    if (ask->op == NKI_OP_NC_MATMUL)
        product(program, ask, operands);
    *vec_push(&program->instrs) = (struct nki_instr){.op = (uint8_t)ask->op,
                                                     .engine = (uint8_t)ask->engine,
                                                     .n_operands = row->n_params,
                                                     .operands = operands,
                                                     .more = &nki_nothing_more};
    return program;
}

/* ---- transfers ------------------------------------------------------------------------------ */

static struct nki_program *copies_of(const struct device_ask *ask,
                                     const struct device_generation *generation,
                                     struct diag_list *diags) {
    struct buf text = {0};
    bool stores = ask->from == NKI_SBUF;
    const char *dtype = dtype_name(ask->dtype);
    unsigned p = ask->partitions, f = ask->free;
    buf_printf(&text,
               "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n\n@nki.jit\n"
               "def kernel(x):\n    out = nl.ndarray((%u, %u), dtype=nl.%s, "
               "buffer=nl.shared_hbm)\n    for i in range(%d):\n"
               "        t = nl.ndarray((%u, %u), dtype=nl.%s, buffer=nl.sbuf)\n",
               stores ? COPIES * p : p, f, dtype, COPIES, p, f, dtype);
    buf_printf(&text,
               stores ? "        nisa.memset(dst=t, value=0)\n"
                        "        nisa.dma_copy(dst=out[i * %u:(i + 1) * %u, :], src=t)\n"
                      : "        nisa.dma_copy(dst=t, src=x[i * %u:(i + 1) * %u, :])\n",
               p, p);
    buf_printf(&text, "%s    return out\n", stores ? "" : "    nisa.dma_copy(dst=out, src=t)\n");
    struct nki_input input = {.name = "x", .kind = NKI_INPUT_ARRAY};
    input.array = (struct array){.dtype = ask->dtype, .ndim = 2};
    input.array.shape[0] = COPIES * (int64_t)ask->partitions;
    input.array.shape[1] = ask->free;
    const struct nki_specialise_options options = {
        .generation = generation->generation, .inputs = &input, .n_inputs = 1};
    struct nki_tree *tree = nki_parse("cost.py", buf_str(&text), diags);
    struct nki_program *program = tree->errors ? NULL : nki_specialise(tree, &options, diags);
    nki_tree_free(tree);
    buf_free(&text);
    return program;
}

/* Whether it goes the way that is asked about: a load, or a store. */
static bool is_asked(const struct priced *priced, uint32_t i) {
    const struct nki_instr *instr = &priced->program->instrs.at[i];
    return instr->op == NKI_OP_DMA_COPY &&
           priced->program->storages.at[instr->operands[NKI_DST].ap->storage]->space ==
               (priced->stores ? NKI_HBM : NKI_SBUF);
}

/* Of the first one until its data is there, and of each further one that is under way with it. A
 * transfer has a span on each queue that it uses. */
static bool copies_price(const struct priced *priced, const struct device_constants *constants,
                         struct device_price *price) {
    struct device_profile *profile = device_time_with(priced->image, constants);
    struct device_span all[COPIES] = {{0}};
    size_t count = 0;
    for (size_t i = 0; profile && i < profile->spans.len; i++) {
        const struct device_span *span = &profile->spans.at[i];
        size_t k = 0;
        while (k < count && all[k].instr != span->instr)
            k++;
        if (k == COPIES || !is_asked(priced, span->instr))
            continue;
        if (k == count)
            all[count++] = *span;
        all[k].start_ns = MIN_OF(all[k].start_ns, span->start_ns);
        all[k].end_ns = MAX_OF(all[k].end_ns, span->end_ns);
    }
    device_profile_free(profile);
    struct device_span first = all[0];
    double last_ns = 0;
    for (size_t k = 0; k < count; k++) {
        first = all[k].end_ns < first.end_ns ? all[k] : first;
        last_ns = MAX_OF(last_ns, all[k].end_ns);
    }
    price->latency_ns =
        first.end_ns - first.start_ns + constants->dma_start_ns + constants->dma_complete_ns;
    price->interval_ns = (last_ns - first.end_ns) / (COPIES - 1);
    return count == COPIES;
}

/* ---- what it rests on ----------------------------------------------------------------------- */

static bool price_of(const struct priced *priced, const struct device_constants *constants,
                     struct device_price *price) {
    if (priced->image)
        return copies_price(priced, constants, price);
    const struct cost_place place = {priced->engine, false};
    struct cost cost = cost_of(priced->program, 0, place, constants);
    price->interval_ns = cost.interval_ns;
    price->latency_ns = cost.latency_ns;
    return true;
}

static void part_add(struct device_price *price, const struct device_constant *row, double ns) {
    size_t at = price->parts_count;
    while (at && price->parts[at - 1].ns < ns)
        at--;
    if (at == DEVICE_PRICE_PARTS)
        return;
    price->parts_count = MIN_OF(price->parts_count + 1, (size_t)DEVICE_PRICE_PARTS);
    for (size_t k = price->parts_count - 1; k > at; k--)
        price->parts[k] = price->parts[k - 1];
    price->parts[at] = (struct device_price_part){row, ns};
}

/* The price is worth what its weakest part of weight is; the parts' errors add up. */
static void parts_find(const struct priced *priced, const struct device_constants *constants,
                       struct device_price *price) {
    const struct device_constant *row;
    double off = 0;
    for (size_t i = 0; (row = device_constant_at(i)); i++) {
        struct device_constants moved = *constants;
        struct device_price other = {0};
        double value = device_constant_value(constants, row);
        *device_constant_in(&moved, row) = value * (1 + MOVED);
        if (!(value > 0) || !price_of(priced, &moved, &other))
            continue;
        double ns = fabs(other.latency_ns - price->latency_ns) / MOVED;
        struct device_known known = device_constant_known(row, constants->generation);
        if (ns < LEAST * price->latency_ns || ns < 0.05)
            continue;
        part_add(price, row, ns);
        off += ns * known.percent / 100;
        if (ns > 0.05 * price->latency_ns)
            price->how = MAX_OF(price->how, known.how);
    }
    price->percent = price->latency_ns > 0 ? 100 * off / price->latency_ns : 0;
}

/* ---- limits --------------------------------------------------------------------------------- */

static bool shape_check(const struct device_ask *ask, const struct device_generation *generation,
                        struct err *err) {
    uint64_t bytes = (uint64_t)ask->free * dtype_bytes(ask->dtype);
    uint64_t room = (uint64_t)nki_generation_sbuf_bytes(generation->generation);
    if (ask->partitions < 1 || ask->partitions > NKI_PARTITIONS || ask->free < 1)
        return err_set(err, ERR_USAGE,
                       "a tile has 1 to %d partitions and 1 or more elements in "
                       "each, not %ux%u",
                       NKI_PARTITIONS, ask->partitions, ask->free);
    if (ask->op == NKI_OP_NC_MATMUL && (ask->columns < 1 || ask->columns > NKI_PARTITIONS ||
                                        ask->free * sizeof(float) > PSUM_BYTES))
        return err_set(
            err, ERR_USAGE, "nc_matmul takes K and M of 1 to %d, and N of 1 to %zu, not %ux%ux%u",
            NKI_PARTITIONS, PSUM_BYTES / sizeof(float), ask->partitions, ask->columns, ask->free);
    if (ask->op == NKI_OP_NC_TRANSPOSE && ask->free > NKI_PARTITIONS)
        return err_set(err, ERR_USAGE, "nc_transpose takes tiles of up to %dx%d, not %ux%u",
                       NKI_PARTITIONS, NKI_PARTITIONS, ask->partitions, ask->free);
    if (bytes > (ask->from == NKI_PSUM ? (uint64_t)8 * PSUM_BYTES : room))
        return err_set(err, ERR_USAGE, "%u elements of %s do not fit into a partition of %s",
                       ask->free, dtype_name(ask->dtype), ask->from == NKI_PSUM ? "PSUM" : "SBUF");
    return true;
}

static bool engine_check(const struct device_ask *ask, struct err *err) {
    enum nki_engine engine;
    struct buf can = {0};
    for (size_t i = 0; (engine = device_price_engine(ask->op, i)) != NKI_ENGINE_UNKNOWN; i++)
        if (engine == ask->engine)
            return true;
    nki_op_print_engines(ask->op, &can);
    err_set(err, ERR_USAGE, "%s runs on %s, not on %s", nki_op_name(ask->op), can.at,
            nki_engine_name(ask->engine));
    buf_free(&can);
    return false;
}

/* Whether tiles of one shape say what it is. */
static bool is_plain(enum nki_op op) {
    return !nki_op_of_sequencers(op) && op != NKI_OP_NC_MATMUL_MX && op != NKI_OP_QUANTIZE_MX;
}

static bool priced_make(struct priced *priced, const struct device_ask *ask,
                        const struct device_generation *generation, struct err *err) {
    struct diag_list diags = {0};
    priced->engine = ask->engine;
    if (ask->engine != NKI_ENGINE_DMA && is_plain(ask->op)) {
        priced->program = program_of(ask);
        priced->program->generation = generation->generation;
        return true;
    }
    priced->stores = ask->from == NKI_SBUF;
    if (ask->op == NKI_OP_DMA_COPY)
        priced->program = copies_of(ask, generation, &diags);
    if (priced->program)
        priced->image = device_load(priced->program, generation, &diags);
    if (!priced->image)
        err_set(err, ERR_USAGE, "%s cannot be priced alone: %.200s", nki_op_name(ask->op),
                diags.all.len ? diags.all.at[0].message
                              : "ask what_if or profile of a kernel that has it");
    diag_free(&diags);
    return priced->image != NULL;
}

bool device_price(const struct device_ask *ask, const struct device_generation *generation,
                  struct device_price *price, struct err *err) {
    const struct device_constants *constants = device_constants_of(generation->generation);
    struct priced priced = {0};
    *price = (struct device_price){0};
    bool ok = engine_check(ask, err) && shape_check(ask, generation, err) &&
              priced_make(&priced, ask, generation, err) && price_of(&priced, constants, price);
    if (ok)
        parts_find(&priced, constants, price);
    device_unload(priced.image);
    if (priced.program)
        nki_program_free(priced.program);
    return ok;
}
