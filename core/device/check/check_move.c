/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of the instructions that move data: DMA, copies, transposes, shuffles and gathers.
 * Source: the NKI ISA reference of NKI 0.6. */
#include "device/check/own.h"

static void check_dge(struct check *c, size_t mode) {
    const struct nki_ap *dst = check_tile(c, NKI_DST), *src = check_tile(c, NKI_DMA_COPY_src);
    if (check_enum(c, mode, NKI_DGE_UNKNOWN) != NKI_DGE_HWDGE)
        return;
    if (!check_generation(c, NKI_GEN3))
        return;
    if (src && dst->dtype != src->dtype)
        check_error(c, "hone-dtype", "hwdge cannot cast %s to %s; use swdge or equal types",
                    dtype_name(src->dtype), dtype_name(dst->dtype));
    if ((dst->indirect && dst->indirect->vector) || (src && src->indirect && src->indirect->vector))
        check_error(c, "hone-argument",
                    "hwdge cannot gather or scatter by a tile of indices; use swdge");
}

static void check_cast(struct check *c, const struct nki_ap *dst, const struct nki_ap *src) {
    bool packed = dtype_kind(src->dtype) == 'x' || dtype_kind(dst->dtype) == 'x';
    if (packed && src->dtype != dst->dtype)
        check_error(c, "NCC_ESPP004", "%s cannot be cast to %s", dtype_name(src->dtype),
                    dtype_name(dst->dtype));
}

static void check_count(struct check *c, const struct nki_ap *dst, const struct nki_ap *src) {
    if (nki_ap_count(dst) != nki_ap_count(src))
        check_error(c, "hone-shape", "dst has %lld elements and src has %lld",
                    (long long)nki_ap_count(dst), (long long)nki_ap_count(src));
}

/* The engine of a transfer triggers the hardware's DGE: Sync or Scalar, and none of the other modes
 * has one (nki.isa dma_copy). Left open, the mode may become hwdge. */
static void check_trigger(struct check *c) {
    enum nki_engine asked = (enum nki_engine)c->instr->engine;
    int64_t mode = check_enum(c, NKI_DMA_COPY_dge_mode, NKI_DGE_UNKNOWN);
    if (asked == NKI_ENGINE_UNKNOWN || c->legacy)
        return;
    if (asked == NKI_ENGINE_GPSIMD && mode != NKI_DGE_HWDGE)
        return; /* it starts transfers of its own descriptors */
    if (asked != NKI_ENGINE_SYNC && asked != NKI_ENGINE_SCALAR)
        check_error(c, "hone-engine",
                    "engine=%s: descriptors of hwdge come from the sync or the scalar engine",
                    nki_engine_name(asked));
    else if (mode == NKI_DGE_SWDGE || mode == NKI_DGE_NONE)
        check_error(c, "hone-argument",
                    "engine=%s goes with dge_mode.hwdge only; the descriptors of this mode come "
                    "from %s",
                    nki_engine_name(asked), mode == NKI_DGE_NONE ? "the runtime" : "gpsimd");
}

static void check_priority(struct check *c, size_t k) {
    const struct nki_operand *priority = &c->instr->operands[k];
    if (priority->kind == NKI_OPERAND_NONE)
        return;
    if (c->generation < NKI_GEN4)
        check_error(c, "hone-generation", "priority exists from trn3 on, this is %s",
                    c->image->generation->name);
    else if (priority->kind != NKI_OPERAND_INT || priority->i < 0 || priority->i > 3)
        check_error(c, "hone-argument", "priority is a level from 0 to 3; lower ones go first");
}

void check_dma(struct check *c) {
    const struct nki_ap *dst = check_tile(c, NKI_DMA_COPY_dst),
                        *src = check_tile(c, NKI_DMA_COPY_src);
    check_count(c, dst, src);
    check_cast(c, dst, src);
    check_dge(c, NKI_DMA_COPY_dge_mode);
    check_trigger(c);
    check_priority(c, NKI_DMA_COPY_priority);
}

/* Up to NKI 0.3 dst may have fewer dimensions than src (guide to 0.4): elements of a partition
 * follow each other in the order of the transposed ones. */
void check_dma_transpose(struct check *c) {
    const struct nki_ap *dst = check_tile(c, NKI_DMA_TRANSPOSE_dst);
    const struct nki_ap *src = check_tile(c, NKI_DMA_TRANSPOSE_src);
    check_priority(c, NKI_DMA_TRANSPOSE_priority);
    check_count(c, dst, src);
    check_same_dtype(c, NKI_DMA_TRANSPOSE_dst, NKI_DMA_TRANSPOSE_src);
    if (check_space(c, dst) == NKI_HBM)
        check_refuse_memory(c, dst, "dst of a DMA transpose must be in SBUF");
    bool flat = !c->legacy && !nki_rule_holds(c->program->rules, NKI_RULE_TRANSPOSE_RANK) &&
                dst->n_dims < src->n_dims;
    if (src->n_dims < 2 || src->n_dims > 4 || (!flat && dst->n_dims != src->n_dims)) {
        check_error(c, "err_exceed_max_supported_dimension",
                    "src has %d dimensions and dst %d; equal numbers from 2 to 4 are possible",
                    src->n_dims, dst->n_dims);
        return;
    }
    static const uint8_t order[5][4] = {[2] = {1, 0}, [3] = {2, 1, 0}, [4] = {3, 1, 2, 0}};
    for (int d = 0; d < (flat ? 1 : src->n_dims); d++)
        if (dst->count[d] != src->count[order[src->n_dims][d]]) {
            check_error(c, "hone-shape", "dimension %d of dst is %d, transposing src makes it %d",
                        d, dst->count[d], src->count[order[src->n_dims][d]]);
            return;
        }
    if (check_enum(c, NKI_DMA_TRANSPOSE_dge_mode, NKI_DGE_UNKNOWN) != NKI_DGE_HWDGE)
        return;
    check_dge(c, NKI_DMA_TRANSPOSE_dge_mode);
    if (dtype_bytes(src->dtype) != 2)
        check_error(c, "hone-dtype", "hwdge transposes 2-byte types, not %s",
                    dtype_name(src->dtype));
}

static bool is_scattered(const struct nki_ap *ap) {
    return ap->indirect && ap->indirect->vector;
}

/* By a tile of indices, a sum is read, changed and written: dst and one other source. */
static void check_scattered_sum(struct check *c, const struct nki_ap *dst,
                                const struct nki_operand *srcs) {
    bool scattered = is_scattered(dst);
    for (uint32_t i = 0; i < srcs->n; i++)
        scattered |= is_scattered(srcs->aps[i]);
    if (!scattered)
        return;
    if (srcs->n != 2)
        check_error(c, "hone-argument",
                    "%u srcs; with a tile of indices it must be two, of which one is dst", srcs->n);
    const struct nki_operand *unique = &c->instr->operands[NKI_DMA_COMPUTE_unique_indices];
    if (unique->kind == NKI_OPERAND_BOOL && !unique->i)
        check_error(c, "hone-argument",
                    "unique_indices=False is not possible; name every row once");
}

void check_dma_compute(struct check *c) {
    const struct nki_operand *srcs = &c->instr->operands[NKI_DMA_COMPUTE_srcs];
    const struct nki_ap *dst = check_tile(c, NKI_DMA_COMPUTE_dst);
    if (srcs->n > 16)
        check_error(c, "hone-argument", "%u srcs, at most 16 are possible", srcs->n);
    for (uint32_t i = 0; i < srcs->n; i++) {
        check_count(c, dst, srcs->aps[i]);
        if (dtype_kind(srcs->aps[i]->dtype) == 'x')
            check_error(c, "NCC_ESPP004", "%s cannot be added", dtype_name(srcs->aps[i]->dtype));
    }
    check_scattered_sum(c, dst, srcs);
    if (check_func(c, NKI_DMA_COMPUTE_reduce_op) != NKI_FUNC_ADD)
        check_error(c, "hone-operator", "reduce_op=nl.%s: only add is possible",
                    nki_func_name(check_func(c, NKI_DMA_COMPUTE_reduce_op)));
}

void check_copy(struct check *c) {
    size_t source = (size_t)nki_op_source(c->op, NKI_DST);
    const struct nki_ap *dst = check_tile(c, NKI_DST), *src = check_tile(c, source);
    if (c->op != NKI_OP_TENSOR_COPY)
        check_no_packed(c);
    check_cast(c, dst, src);
    check_same_shape(c, NKI_DST, source);
}

#define SIGNED (1u << DTYPE_INT8 | 1u << DTYPE_INT16 | 1u << DTYPE_INT32)

void check_predicated(struct check *c) {
    const struct nki_ap *src = check_tile(c, NKI_TENSOR_COPY_PREDICATED_src);
    check_no_packed(c);
    check_same_partitions(c, NKI_TENSOR_COPY_PREDICATED_dst, NKI_TENSOR_COPY_PREDICATED_predicate);
    check_same_shape(c, NKI_TENSOR_COPY_PREDICATED_dst, NKI_TENSOR_COPY_PREDICATED_predicate);
    if (src && nki_ap_free(src) != 1)
        check_same_shape(c, NKI_TENSOR_COPY_PREDICATED_dst, NKI_TENSOR_COPY_PREDICATED_src);
    check_int_dtype(c, NKI_TENSOR_COPY_PREDICATED_predicate);
    if (!c->legacy) {
        check_not_dtype(c, NKI_TENSOR_COPY_PREDICATED_predicate, SIGNED,
                        "uint8, uint16 and uint32 are allowed");
        check_same_dtype(c, NKI_TENSOR_COPY_PREDICATED_dst, NKI_TENSOR_COPY_PREDICATED_src);
    }
    check_not_both_psum(c, NKI_TENSOR_COPY_PREDICATED_src, NKI_TENSOR_COPY_PREDICATED_predicate);
}

void check_memset(struct check *c) {
    const struct nki_ap *dst = check_tile(c, NKI_MEMSET_dst);
    const struct nki_operand *value = &c->instr->operands[NKI_MEMSET_value];
    bool fraction = value->kind == NKI_OPERAND_FLOAT;
    if (dtype_kind(dst->dtype) == 'x' &&
        !(value->kind == NKI_OPERAND_INT ? value->i == 0 : fraction && value->f == 0))
        check_error(c, "hone-dtype", "%s can be filled with 0 only", dtype_name(dst->dtype));
    if (dtype_is_int(dst->dtype) && fraction &&
        nki_rule_holds(c->program->rules, NKI_RULE_MEMSET_CLASS))
        check_error(c, "hone-dtype", "dst is %s and the value %g a float; give an integer",
                    dtype_name(dst->dtype), value->f);
}

/* trn1 has no transpose mode: its Tensor engine multiplies with an identity matrix, and products
 * are in float32 (nki.isa.nc_matmul), into which a public kernel transposes bfloat16 there. */
static bool is_product(const struct check *c, const struct nki_ap *dst) {
    return c->generation == NKI_GEN2 && c->engine == NKI_ENGINE_TENSOR &&
           dst->dtype == DTYPE_FLOAT32;
}

/* The Vector engine turns one block of 32 x 32 in an instruction. Larger data are split by nobody:
 * compilers that take them write the first block alone, as users of 0.3 report. */
void check_transpose(struct check *c) {
    const struct nki_ap *dst = check_tile(c, NKI_NC_TRANSPOSE_dst);
    const struct nki_ap *src = check_tile(c, NKI_NC_TRANSPOSE_data);
    bool vector = c->engine == NKI_ENGINE_VECTOR;
    int64_t free = nki_ap_free(src), most = vector ? 32 : 128;
    if (src->count[0] > most || free > most)
        check_error(c, "err_size_of_dimension_exceed_arch_limit",
                    "data is %d x %lld; the %s engine transposes up to %lld x %lld%s",
                    src->count[0], (long long)free, nki_engine_name(c->engine), (long long)most,
                    (long long)most,
                    vector ? ": one call for each block of 32 x 32, or the tensor engine from SBUF "
                             "into PSUM"
                           : "");
    if (dst->count[0] != free || nki_ap_free(dst) != src->count[0])
        check_error(c, "hone-shape", "dst is %d x %lld, transposing data makes it %lld x %d",
                    dst->count[0], (long long)nki_ap_free(dst), (long long)free, src->count[0]);
    check_cast(c, dst, src);
    if (nki_rule_holds(c->program->rules, NKI_RULE_TRANSPOSE_DTYPE) && dst->dtype != src->dtype &&
        !is_product(c, dst))
        check_error(c, "hone-dtype",
                    "dst is %s and data is %s; they must be of the same type: copy afterwards",
                    dtype_name(dst->dtype), dtype_name(src->dtype));
}

void check_stream_shuffle(struct check *c) {
    const struct nki_operand *mask = &c->instr->operands[NKI_NC_STREAM_SHUFFLE_shuffle_mask];
    /* Partitions may differ: the mask says which partition of src goes to each of dst. */
    check_same_free(c, NKI_NC_STREAM_SHUFFLE_dst, NKI_NC_STREAM_SHUFFLE_src);
    check_same_dtype(c, NKI_NC_STREAM_SHUFFLE_dst, NKI_NC_STREAM_SHUFFLE_src);
    if (mask->n != 32) {
        check_error(c, "hone-shape", "shuffle_mask has %u members, 32 are needed", mask->n);
        return;
    }
    for (uint32_t i = 0; i < mask->n; i++)
        if (mask->ints[i] != 255 && (mask->ints[i] < 0 || mask->ints[i] > 31)) {
            check_error(c, "hone-argument",
                        "shuffle_mask[%u] is %lld; 0 to 31, or 255 to keep dst, are allowed", i,
                        (long long)mask->ints[i]);
            return;
        }
}

static int64_t number(const struct check *c, size_t k, int64_t missing) {
    const struct nki_operand *operand = &c->instr->operands[k];
    return operand->kind == NKI_OPERAND_INT ? operand->i : missing;
}

void check_local_gather(struct check *c) {
    const struct nki_ap *index = check_tile(c, NKI_LOCAL_GATHER_index);
    int64_t each = number(c, NKI_LOCAL_GATHER_num_elem_per_idx, 1);
    check_no_packed(c);
    check_same_partitions(c, NKI_LOCAL_GATHER_dst, NKI_LOCAL_GATHER_src_buffer);
    check_same_partitions(c, NKI_LOCAL_GATHER_dst, NKI_LOCAL_GATHER_index);
    check_same_dtype(c, NKI_LOCAL_GATHER_dst, NKI_LOCAL_GATHER_src_buffer);
    if (index->count[0] % 16)
        check_error(c, "hone-shape", "%d partitions; a multiple of 16 is needed", index->count[0]);
    if (index->dtype != DTYPE_UINT16)
        check_error(c, "hone-dtype", "indices are %s, uint16 is needed", dtype_name(index->dtype));
    if (each < 1 || each > 32 || (each & (each - 1)))
        check_error(c, "hone-argument",
                    "num_elem_per_idx is %lld; 1, 2, 4, 8, 16 and 32 are possible",
                    (long long)each);
    int64_t per_core = nki_ap_free(index) * 16,
            valid = number(c, NKI_LOCAL_GATHER_num_valid_indices, per_core);
    if (per_core > 4096)
        check_error(c, "hone-shape", "%lld indices for 16 partitions, at most 4096 are possible",
                    (long long)per_core);
    int64_t wanted = nki_ap_free(check_tile(c, NKI_LOCAL_GATHER_dst));
    if (valid < 1 || valid > per_core || valid * each != wanted)
        check_error(c, "hone-shape",
                    "%lld indices of %lld elements do not make the %lld elements of dst",
                    (long long)valid, (long long)each, (long long)wanted);
}

void check_n_gather(struct check *c) {
    const struct nki_ap *index = check_tile(c, NKI_NC_N_GATHER_indices);
    check_same_shape(c, NKI_NC_N_GATHER_dst, NKI_NC_N_GATHER_indices);
    check_same_partitions(c, NKI_NC_N_GATHER_dst, NKI_NC_N_GATHER_data);
    check_same_dtype(c, NKI_NC_N_GATHER_dst, NKI_NC_N_GATHER_data);
    if (index->dtype != DTYPE_UINT32 && (!c->legacy || index->dtype != DTYPE_INT32))
        check_error(c, "hone-dtype", "indices are %s, uint32 is needed", dtype_name(index->dtype));
}

/* Bytes per partition that GpSimd's DMA exchanges at most, by the size of an element (nki.isa
 * sendrecv). */
static int64_t most_by_gpsimd(enum dtype dtype) {
    return dtype_bytes(dtype) >= 4 ? 1024 : dtype_bytes(dtype) == 2 ? 512 : 256;
}

void check_sendrecv(struct check *c) {
    const struct nki_ap *dst = check_tile(c, NKI_SENDRECV_dst),
                        *src = check_tile(c, NKI_SENDRECV_src);
    if (!c->instr->more->mate) {
        check_error(c, "hone-cores-rank", "no other core calls it: launch two programs");
        return;
    }
    for (int k = 0; k < 2; k++)
        if (check_space(c, k ? src : dst) != NKI_SBUF)
            check_refuse_memory(c, k ? src : dst, "tiles of SBUF are exchanged");
    check_same_dtype(c, NKI_SENDRECV_dst, NKI_SENDRECV_src);
    check_same_shape(c, NKI_SENDRECV_dst, NKI_SENDRECV_src);
    int64_t bytes = nki_ap_free(src) * (int64_t)dtype_bytes(src->dtype);
    if (c->engine == NKI_ENGINE_GPSIMD && bytes > most_by_gpsimd(src->dtype))
        check_error(c, "hone-limit",
                    "%lld bytes per partition by dma_engine.gpsimd_dma, which moves at most %lld "
                    "of %s: send pieces, or use dma_engine.dma",
                    (long long)bytes, (long long)most_by_gpsimd(src->dtype),
                    dtype_name(src->dtype));
}

void check_core_barrier(struct check *c) {
    const struct nki_ap *data = check_tile(c, NKI_CORE_BARRIER_dst);
    const struct nki_storage *storage = c->program->storages.at[data->storage];
    if (storage->space != NKI_HBM)
        check_error(c, "hone-barrier-private",
                    "`%s` is in this core's own memory; a barrier is for what both share in "
                    "nl.shared_hbm",
                    storage->name);
}

/* The third tensor: how much goes where, or the other summand. */
static void check_collective_other(struct check *c, int64_t kind, int64_t n) {
    const struct nki_ap *other = check_tile(c, NKI_COLLECTIVE_other);
    bool varied = kind == NKI_COLLECTIVE_GATHER_V || kind == NKI_COLLECTIVE_SWAP_V;
    if (varied && (!other || other->dtype != DTYPE_UINT32))
        check_error(c, "hone-dtype", "metadata_tensor is %s; uint32 is needed",
                    other ? dtype_name(other->dtype) : "missing");
    if (kind == NKI_COLLECTIVE_COMBINE && (!other || nki_ap_count(other) != n))
        check_error(c, "hone-shape", "srcs0 has %lld elements and srcs1 %lld; they have to agree",
                    (long long)n, other ? (long long)nki_ap_count(other) : 0LL);
}

/* nki.collectives of NKI 0.6. */
void check_collective(struct check *c) {
    const struct nki_ap *dst = check_tile(c, NKI_COLLECTIVE_dst),
                        *src = check_tile(c, NKI_COLLECTIVE_src);
    int64_t from = nki_ap_count(src), to = nki_ap_count(dst), wanted = from;
    const struct nki_operand *all = c->instr->operands;
    int64_t ranks = all[NKI_COLLECTIVE_ranks].i, rank = all[NKI_COLLECTIVE_rank].i;
    int64_t kind = all[NKI_COLLECTIVE_kind].i;
    const struct nki_operand *op = &all[NKI_COLLECTIVE_op], *dim = &all[NKI_COLLECTIVE_dim];
    bool varied = kind == NKI_COLLECTIVE_GATHER_V || kind == NKI_COLLECTIVE_SWAP_V;
    bool gathers = kind == NKI_COLLECTIVE_GATHER || varied;
    if (c->program->cores > 1 && !c->instr->more->mate) {
        check_error(c, "hone-cores-rank", "the other core of the rank does not call it");
        return;
    }
    for (size_t k = NKI_COLLECTIVE_kind; k <= NKI_COLLECTIVE_rank; k++)
        if (all[k].kind != NKI_OPERAND_INT) {
            check_error(c, "hone-argument", "a group and its ranks are whole numbers");
            return;
        }
    if (kind < 0 || kind > NKI_COLLECTIVE_SWAP_V || ranks < 1 || rank < 0 || rank >= ranks ||
        (gathers && __builtin_mul_overflow(from, ranks, &wanted))) {
        check_error(c, "hone-argument", "rank %lld of a group of %lld cannot do collective %lld",
                    (long long)rank, (long long)ranks, (long long)kind);
        return;
    }
    if (kind == NKI_COLLECTIVE_SCATTER)
        wanted = from / ranks;
    bool even =
        kind != NKI_COLLECTIVE_SCATTER && kind != NKI_COLLECTIVE_SWAP ? true : from % ranks == 0;
    check_same_dtype(c, NKI_COLLECTIVE_dst, NKI_COLLECTIVE_src);
    if (!even || (kind == NKI_COLLECTIVE_GATHER_V ? to % ranks != 0 : to != wanted))
        check_error(c, "hone-shape",
                    "src has %lld elements and dst %lld, in a group of %lld ranks; dst has to have "
                    "%lld",
                    (long long)from, (long long)to, (long long)ranks, (long long)wanted);
    bool spread = kind == NKI_COLLECTIVE_SWAP || varied;
    if (check_space(c, dst) != check_space(c, src))
        check_error(c, "err_unsupported_memory", "src and dst are both in HBM or both in SBUF");
    else if (spread && check_space(c, src) != NKI_HBM)
        check_refuse_memory(c, src,
                            "this collective takes tensors of HBM only; all_reduce, all_gather and "
                            "reduce_scatter take SBUF");
    if (op->kind == NKI_OPERAND_FUNC && op->i != NKI_FUNC_ADD && op->i != NKI_FUNC_MAXIMUM &&
        op->i != NKI_FUNC_MINIMUM)
        check_error(c, "hone-operator", "op is %s; nl.add, nl.maximum and nl.minimum are possible",
                    nki_func_name((enum nki_func)op->i));
    bool wide = kind == NKI_COLLECTIVE_GATHER && check_space(c, src) == NKI_SBUF;
    if (dim->kind == NKI_OPERAND_INT && (dim->i < 0 || dim->i > wide))
        check_error(c, "hone-axis", "collective_dim is %lld; 0 is possible%s", (long long)dim->i,
                    wide ? ", and 1 in SBUF" : "");
    check_collective_other(c, kind, from);
}
