/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of operands that take each element of a row from where an index tile says
 * (NkiTensor.indirect). Source: the sections on tensor indirection of the ISA reference of NKI
 * 0.6. */
#include "device/check/own.h"

/* Who takes such operands: dst and one other, or two (NKI_DST: no other). */
static const struct taker {
    enum nki_op op;
    uint8_t source, second;
    const char *engines;
} takers[] = {
    {NKI_OP_TENSOR_COPY, NKI_TENSOR_COPY_src, NKI_DST, "VA"},
    {NKI_OP_TENSOR_COPY_PREDICATED, NKI_TENSOR_COPY_PREDICATED_predicate, NKI_DST, "V"},
    {NKI_OP_NC_MATMUL, NKI_NC_MATMUL_stationary, NKI_NC_MATMUL_moving, "T"},
    {NKI_OP_TENSOR_TENSOR, NKI_TENSOR_TENSOR_data1, NKI_DST, "VG"},
    {NKI_OP_TENSOR_SCALAR, NKI_TENSOR_SCALAR_data, NKI_DST, "VAG"},
    {NKI_OP_TENSOR_REDUCE, NKI_TENSOR_REDUCE_data, NKI_DST, "V"},
    {NKI_OP_TENSOR_SCALAR_REDUCE, NKI_TENSOR_SCALAR_REDUCE_data, NKI_DST, "V"},
    {NKI_OP_TENSOR_SCALAR_CUMULATIVE, NKI_TENSOR_SCALAR_CUMULATIVE_src, NKI_DST, "V"},
    {NKI_OP_ACTIVATION, NKI_ACTIVATION_data, NKI_DST, "A"},
    {NKI_OP_ACTIVATION_REDUCE, NKI_ACTIVATION_REDUCE_data, NKI_DST, "A"},
    {NKI_OP_ACTIVATE2, NKI_ACTIVATE2_data, NKI_DST, "A"},
    {NKI_OP_EXPONENTIAL, NKI_EXPONENTIAL_src, NKI_DST, "V"},
};

static const struct taker *taker_of(enum nki_op op) {
    for (size_t i = 0; i < COUNT_OF(takers); i++)
        if (takers[i].op == op)
            return &takers[i];
    return NULL;
}

static bool takes(const struct taker *taker, size_t k) {
    return taker && (k == NKI_DST || k == taker->source || k == taker->second);
}

static bool by_columns(const struct nki_ap *ap) {
    return ap && ap->indirect && ap->indirect->columns;
}

/* Before anything else is asked of the operand. */
bool check_columns(struct check *c, const struct nki_ap *ap) {
    const struct taker *taker = taker_of(c->op);
    size_t k = 0;
    while (k + 1 < c->instr->n_operands && check_tile(c, k) != ap)
        k++;
    if (c->generation < NKI_GEN4) {
        check_error(c, "hone-generation", "an operand of .indirect() exists from trn3 on");
        return false;
    }
    if (c->op == NKI_OP_NC_MATMUL_MX) {
        check_error(c, "hone-gap", ".indirect() of scaled groups is not modelled by hone yet");
        return false;
    }
    if (!takes(taker, k)) {
        check_error(c, "hone-argument",
                    taker ? "%s of this instruction takes no .indirect(): copy what it selects"
                          : "%s: this instruction takes no .indirect(): copy what it selects",
                    check_param(c, k));
        return false;
    }
    if (ap->n_dims != 2 || check_space(c, ap) == NKI_HBM || !ap->indirect->index) {
        check_error(c, "hone-shape", ".indirect() takes a tile of two dimensions");
        return false;
    }
    return true;
}

/* Whether the index tile has a position for each element of each group of partitions. */
static bool check_positions(struct check *c, const struct nki_ap *ap) {
    const struct nki_ap *index = ap->indirect->index;
    int64_t group = nki_index_group(c->engine), n = ap->count[1], rest = ap->count[0] % group;
    if (index->partition % 32) {
        check_error(c, "hone-start-partition",
                    "the index of .indirect() starts at partition %u; it must be a multiple of 32",
                    index->partition);
        return false;
    }
    if (n > nki_ap_free(index) * group || (rest && n > rest)) {
        check_error(c, "hone-shape",
                    "%lld elements, and the index has positions for %lld: %lld partitions share "
                    "theirs; say num_elem=",
                    (long long)n, (long long)MIN_OF(nki_ap_free(index) * group, rest ? rest : n),
                    (long long)group);
        return false;
    }
    return true;
}

/* Where the compiler places a tile that the kernel places itself; -1 where the compiler does. */
static int start_of(const struct check *c, const struct nki_ap *ap) {
    const struct nki_storage *storage = c->program->storages.at[ap->storage];
    return storage->address_partition < 0 ? -1 : storage->address_partition + ap->partition;
}

static bool check_same_start(struct check *c, const struct nki_ap *a, const struct nki_ap *b,
                             const char *what) {
    int one = start_of(c, a), other = start_of(c, b);
    if (one < 0 || other < 0 || one == other)
        return true;
    check_error(c, "hone-start-partition",
                "%s must start at one partition; they start at %d and %d", what, one, other);
    return false;
}

/* dst is aligned by its index: with the source in SBUF, or with that one's index. */
static bool check_dst_start(struct check *c, const struct nki_ap *dst, const struct nki_ap *src) {
    const struct nki_ap *index = dst->indirect->index;
    if (check_space(c, src) == NKI_SBUF)
        return check_same_start(c, index, src, "the index of dst and the source");
    return !by_columns(src) ||
           check_same_start(c, index, src->indirect->index, "the indices of dst and of the source");
}

/* What the Tensor engine asks of such operands. */
static bool check_product(struct check *c) {
    static const char *const types = "float16, bfloat16 or an 8-bit float";
    for (size_t k = 0; k <= NKI_NC_MATMUL_moving; k++) {
        const struct nki_ap *ap = check_tile(c, k);
        if (!by_columns(ap))
            continue;
        if (dtype_bytes(ap->dtype) > 2) {
            check_error(c, "hone-dtype", "%s of .indirect() is %s; it must be %s",
                        check_param(c, k), dtype_name(ap->dtype), types);
            return false;
        }
        if (k == NKI_NC_MATMUL_moving && check_enum(c, NKI_NC_MATMUL_is_transpose, 0)) {
            check_error(c, "hone-argument", "with is_transpose moving takes no .indirect()");
            return false;
        }
        const struct nki_operand *at = &c->instr->operands[NKI_NC_MATMUL_tile_position];
        for (uint32_t i = 0; at->kind == NKI_OPERAND_INTS && i < at->n; i++)
            if (at->ints[i]) {
                check_error(c, "hone-argument", "with .indirect() tile_position must be (0, 0)");
                return false;
            }
    }
    return true;
}

static bool check_places_of(struct check *c, const struct taker *taker) {
    const uint8_t params[] = {taker->source, taker->second, NKI_DST};
    const struct nki_ap *dst = check_tile(c, NKI_DST), *src = check_tile(c, taker->source);
    for (size_t i = 0; i < COUNT_OF(params); i++) {
        const struct nki_ap *ap = check_tile(c, params[i]);
        if (!by_columns(ap))
            continue;
        if (!check_positions(c, ap))
            return false;
        if (params[i] != NKI_DST && !check_same_start(c, ap, ap->indirect->index,
                                                      "an operand of .indirect() and its index"))
            return false;
    }
    if (by_columns(dst) && c->engine == NKI_ENGINE_SCALAR && check_space(c, dst) == NKI_PSUM)
        return check_refuse_memory(c, dst, "the scalar engine scatters to SBUF only");
    return !by_columns(dst) || !src || check_dst_start(c, dst, src);
}

bool check_columns_engine(struct check *c) {
    static const char letters[NKI_ENGINE_COUNT] = {[NKI_ENGINE_TENSOR] = 'T',
                                                   [NKI_ENGINE_VECTOR] = 'V',
                                                   [NKI_ENGINE_SCALAR] = 'A',
                                                   [NKI_ENGINE_GPSIMD] = 'G'};
    const struct taker *taker = taker_of(c->op);
    if (!taker ||
        !(by_columns(check_tile(c, NKI_DST)) || by_columns(check_tile(c, taker->source)) ||
          by_columns(check_tile(c, taker->second))))
        return true;
    char letter = c->engine < NKI_ENGINE_COUNT ? letters[c->engine] : 0;
    if (!letter || !strchr(taker->engines, letter)) {
        check_error(c, "hone-engine", "with .indirect() it cannot run on the %s engine",
                    nki_engine_name(c->engine));
        return false;
    }
    return check_places_of(c, taker) && (c->op != NKI_OP_NC_MATMUL || check_product(c));
}
