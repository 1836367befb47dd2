/* SPDX-License-Identifier: Apache-2.0 */
/* Selections, index patterns, the family of max8, random numbers and segments: instructions that
 * compare values or count positions. Orders and ties follow the NKI ISA reference of NKI 0.6. */
#include "device/exec/alu.h"
#include "device/exec/run.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* A tile operand as it is; a number or a vector is repeated over the shape of dst. */
static bool tile_or_scalar(struct exec *x, size_t k, const struct view *dst, struct view *view) {
    bool tile = x->instr->operands[k].kind == NKI_OPERAND_AP &&
                nki_ap_free(x->instr->operands[k].ap) == view_free(dst);
    return tile ? exec_read(x, k, view) : exec_scalar(x, k, dst, 0, view);
}

/* ---- predicates ----------------------------------------------------------------------------- */

struct selection {
    bool reverse;
    bool reduce;
    float *acc;
};

static void run_selection(void *job, const struct chunk *chunk) {
    const struct selection *s = job;
    const float *predicate = chunk->src[0], *yes = chunk->src[s->reverse ? 2 : 1];
    const float *no = chunk->src[s->reverse ? 1 : 2];
#pragma GCC ivdep
    for (size_t i = 0; i < chunk->n; i++)
        chunk->dst[i] = predicate[i] != 0.0f ? yes[i] : no[i];
    if (s->reduce)
        s->acc[chunk->row] = alu_fold(NKI_FUNC_MAXIMUM)(s->acc[chunk->row], chunk->dst, chunk->n);
}

/* Copies bit for bit where the types agree, so that NaNs stay as they are and integers stay
 * exact. */
static bool copy_chosen(struct exec *x, const struct view *dst, const struct view *src,
                        const struct view *predicate, bool reverse) {
    size_t n = (size_t)view_count(dst), size = dtype_bytes(dst->dtype);
    uint8_t *to = arena_alloc(x->scratch, n, size), *from = arena_alloc(x->scratch, n, size);
    int64_t *chosen = arena_alloc(x->scratch, n, sizeof *chosen);
    view_to_bytes(dst, to);
    view_to_bytes(src, from);
    view_to_ints(predicate, chosen);
    for (size_t i = 0; i < n; i++)
        if ((chosen[i] != 0) != reverse)
            memcpy(to + i * size, from + i * size, size);
    view_from_bytes(dst, to);
    return true;
}

bool exec_copy_predicated(struct exec *x) {
    struct view dst, src, predicate;
    bool reverse = exec_flag(x, NKI_TENSOR_COPY_PREDICATED_reverse_pred);
    if (!exec_read(x, NKI_TENSOR_COPY_PREDICATED_predicate, &predicate) ||
        !exec_modify(x, NKI_TENSOR_COPY_PREDICATED_dst, &dst) ||
        !tile_or_scalar(x, NKI_TENSOR_COPY_PREDICATED_src, &dst, &src))
        return false;
    if (src.dtype == dst.dtype)
        return copy_chosen(x, &dst, &src, &predicate, reverse);
    struct selection s = {.reverse = reverse};
    return stream_floats(x, &(struct stream){.dst = &dst,
                                             .src = {&predicate, &src, &dst},
                                             .n_src = 3,
                                             .run = run_selection,
                                             .job = &s});
}

static bool write_acc(struct exec *x, size_t k) {
    struct view result;
    if (!exec_has(x, k))
        return true;
    if (!exec_write(x, k, &result))
        return false;
    view_from_floats(&result, x->vector_acc);
    return true;
}

/* Starts the maxima of a reduce_cmd. Returns whether elements are folded into them. */
static bool start_maximum(struct exec *x, int64_t cmd) {
    bool fresh = cmd == NKI_REDUCE_RESET || cmd == NKI_REDUCE_RESET_REDUCE;
    for (size_t p = 0; fresh && p < NKI_PARTITIONS; p++)
        x->vector_acc[p] = -FLT_MAX;
    return cmd == NKI_REDUCE_REDUCE || cmd == NKI_REDUCE_RESET_REDUCE;
}

bool exec_select_reduce(struct exec *x) {
    struct view dst, predicate, yes, no;
    int64_t cmd = exec_int(x, NKI_SELECT_REDUCE_reduce_cmd,
                           exec_has(x, NKI_SELECT_REDUCE_reduce_res) ? NKI_REDUCE_RESET_REDUCE
                                                                     : NKI_REDUCE_IDLE);
    if (!exec_read(x, NKI_SELECT_REDUCE_predicate, &predicate) ||
        !tile_or_scalar(x, NKI_SELECT_REDUCE_on_true, &predicate, &yes) ||
        !tile_or_scalar(x, NKI_SELECT_REDUCE_on_false, &predicate, &no) ||
        !exec_write(x, NKI_SELECT_REDUCE_dst, &dst))
        return false;
    struct selection s = {.reverse = exec_flag(x, NKI_SELECT_REDUCE_reverse_pred),
                          .acc = x->vector_acc,
                          .reduce = start_maximum(x, cmd)};
    return stream_floats(x, &(struct stream){.dst = &dst,
                                             .src = {&predicate, &yes, &no},
                                             .n_src = 3,
                                             .rows = s.reduce,
                                             .run = run_selection,
                                             .job = &s}) &&
           write_acc(x, NKI_SELECT_REDUCE_reduce_res);
}

struct range {
    alu_binary_fn *compare[2];
    size_t row;
    float at, start, otherwise;
    bool reduce;
    float *acc;
    float index[STREAM_RUN], keep[2][STREAM_RUN];
};

static void run_range(void *job, const struct chunk *chunk) {
    struct range *r = job;
    if (chunk->row != r->row) {
        r->row = chunk->row;
        r->at = r->start;
    }
    for (size_t i = 0; i < chunk->n; i++)
        r->index[i] = r->at + (float)i;
    r->at += (float)chunk->n;
    for (int k = 0; k < 2; k++)
        r->compare[k](r->keep[k], r->index, chunk->src[1 + k], chunk->n);
    for (size_t i = 0; i < chunk->n; i++)
        chunk->dst[i] =
            (r->keep[0][i] != 0) & (r->keep[1][i] != 0) ? chunk->src[0][i] : r->otherwise;
    if (r->reduce)
        r->acc[chunk->row] = alu_fold(NKI_FUNC_MAXIMUM)(r->acc[chunk->row], chunk->dst, chunk->n);
}

bool exec_range_select(struct exec *x) {
    struct view dst, data, bound[2];
    struct range r = {
        .compare = {alu_binary(exec_func(x, NKI_RANGE_SELECT_comp_op0, NKI_FUNC_GREATER_EQUAL)),
                    alu_binary(exec_func(x, NKI_RANGE_SELECT_comp_op1, NKI_FUNC_LESS))},
        .row = SIZE_MAX,
        .start = (float)exec_number(x, NKI_RANGE_SELECT_range_start, 0),
        .otherwise = -FLT_MAX,
        .acc = x->vector_acc};
    bool legacy =
        x->program->dialect == NKI_DIALECT_LEGACY && !exec_has(x, NKI_RANGE_SELECT_reduce_res);
    int64_t cmd = exec_int(x, NKI_RANGE_SELECT_reduce_cmd,
                           legacy ? NKI_REDUCE_IDLE : NKI_REDUCE_RESET_REDUCE);
    if (!exec_read(x, NKI_RANGE_SELECT_on_true_tile, &data) ||
        !exec_scalar(x, NKI_RANGE_SELECT_bound0, &data, 0, &bound[0]) ||
        !exec_scalar(x, NKI_RANGE_SELECT_bound1, &data, 0, &bound[1]) ||
        !exec_write(x, NKI_RANGE_SELECT_dst, &dst))
        return false;
    r.reduce = start_maximum(x, cmd);
    return stream_floats(x, &(struct stream){.dst = &dst,
                                             .src = {&data, &bound[0], &bound[1]},
                                             .n_src = 3,
                                             .rows = true,
                                             .run = run_range,
                                             .job = &r}) &&
           write_acc(x, NKI_RANGE_SELECT_reduce_res);
}

/* ---- affine patterns ------------------------------------------------------------------------ */

/* The pattern [[step, num], ..] gives offset + p * channel + sum(step * i), wrapped to 32 bits. */
struct affine {
    const int64_t *pattern;
    uint32_t n; /* pairs of the pattern */
    int64_t offset, channel;
};

static struct affine read_affine(const struct exec *x, size_t pattern, size_t offset,
                                 size_t channel) {
    const struct nki_operand *operand = &x->instr->operands[pattern];
    return (struct affine){operand->ints, operand->n / 2, exec_int(x, offset, 0),
                           exec_int(x, channel, 0)};
}

static void affine_row(const struct affine *affine, int64_t partition, int64_t *to, size_t n) {
    uint64_t start = (uint64_t)affine->offset + (uint64_t)partition * (uint64_t)affine->channel;
    for (size_t i = 0; i < n; i++) {
        uint64_t value = start, rest = i;
        for (uint32_t d = affine->n; d-- > 0;) {
            uint64_t count = (uint64_t)affine->pattern[2 * d + 1];
            value += (uint64_t)affine->pattern[2 * d] * (rest % count);
            rest /= count;
        }
        to[i] = (int32_t)(uint32_t)value;
    }
}

bool exec_iota(struct exec *x) {
    struct view dst;
    struct affine affine =
        read_affine(x, NKI_IOTA_pattern, NKI_IOTA_offset, NKI_IOTA_channel_multiplier);
    if (!exec_write(x, NKI_IOTA_dst, &dst))
        return false;
    size_t n = (size_t)view_free(&dst), rows = (size_t)dst.count[0];
    int64_t *values = arena_alloc(x->scratch, rows * n, sizeof *values);
    for (size_t p = 0; p < rows; p++)
        affine_row(&affine, (int64_t)p, values + p * n, n);
    view_from_ints(&dst, values);
    return true;
}

bool exec_affine_select(struct exec *x) {
    struct view dst, data, otherwise;
    struct affine affine = read_affine(x, NKI_AFFINE_SELECT_pattern, NKI_AFFINE_SELECT_offset,
                                       NKI_AFFINE_SELECT_channel_multiplier);
    enum nki_func cmp = exec_func(x, NKI_AFFINE_SELECT_cmp_op, NKI_FUNC_EQUAL);
    if (!exec_read(x, NKI_AFFINE_SELECT_on_true_tile, &data) ||
        !exec_scalar(x, NKI_AFFINE_SELECT_on_false_value, &data, 0, &otherwise) ||
        !exec_write(x, NKI_AFFINE_SELECT_dst, &dst))
        return false;
    size_t n = (size_t)view_free(&dst), rows = (size_t)dst.count[0];
    int64_t *index = arena_alloc(x->scratch, n, sizeof *index);
    int64_t *zero = arena_alloc(x->scratch, n, sizeof *zero);
    float *values = arena_alloc(x->scratch, rows * n, sizeof *values);
    view_to_floats(&data, values);
    for (size_t p = 0; p < rows; p++) {
        float other;
        affine_row(&affine, (int64_t)p, index, n);
        alu_ints(cmp)(index, index, zero, n, 32);
        convert_load(otherwise.dtype)(otherwise.at + (int64_t)p * otherwise.step[0], 0, &other, 1);
        for (size_t i = 0; i < n; i++)
            values[p * n + i] = index[i] ? values[p * n + i] : other;
    }
    view_from_floats(&dst, values);
    return true;
}

/* ---- the eight largest ---------------------------------------------------------------------- */

/* The 8 largest of a row, in descending order. NaN counts as the least. */
static void largest(const float *row, size_t n, float *best) {
    for (size_t k = 0; k < 8; k++)
        best[k] = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        float value = row[i];
        for (size_t k = 0; k < 8; k++)
            if (value > best[k]) {
                float old = best[k];
                best[k] = value;
                value = old;
            }
    }
}

bool exec_max8(struct exec *x) {
    struct view dst, src;
    if (!exec_read(x, NKI_MAX8_src, &src) || !exec_write(x, NKI_MAX8_dst, &dst))
        return false;
    size_t rows = (size_t)src.count[0], n = (size_t)view_free(&src);
    float *values = arena_alloc(x->scratch, rows * n, sizeof *values), best[NKI_PARTITIONS * 8];
    view_to_floats(&src, values);
    for (size_t p = 0; p < rows; p++)
        largest(values + p * n, n, &best[p * 8]);
    view_from_floats(&dst, best);
    return true;
}

struct ranked {
    float value;
    uint32_t place;
};

/* The larger first, and of equals the earlier. */
static int by_rank(const void *a, const void *b) {
    const struct ranked *x = a, *y = b;
    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* Element e of a group of 16 partitions is at partition e % 16, column e / 16, in src and in what
 * is written. What is past the results is not written by the hardware in a way to rely on. */
bool exec_topk(struct exec *x) {
    struct view val, idx, src;
    if (!exec_read(x, NKI_TOPK_src, &src) || !exec_write(x, NKI_TOPK_val_dst, &val) ||
        !exec_write(x, NKI_TOPK_idx_dst, &idx))
        return false;
    size_t rows = (size_t)src.count[0], wide = (size_t)view_free(&src);
    size_t k = (size_t)view_free(&val), n = (size_t)exec_int(x, NKI_TOPK_n, 0);
    bool sorted = exec_flag(x, NKI_TOPK_sorted);
    float *from = arena_alloc(x->scratch, rows * wide, sizeof *from);
    float *values = arena_alloc(x->scratch, rows * k, sizeof *values);
    int64_t *places = arena_alloc(x->scratch, rows * k, sizeof *places);
    struct ranked *all = arena_alloc(x->scratch, n, sizeof *all);
    view_to_floats(&src, from);
    for (size_t i = 0; i < rows * k; i++)
        values[i] = NAN, places[i] = 0;
    for (size_t base = 0; base + 16 <= rows; base += 16) {
        for (size_t e = 0; e < n; e++)
            all[e] = (struct ranked){from[(base + e % 16) * wide + e / 16], (uint32_t)e};
        qsort(all, n, sizeof *all, by_rank);
        for (size_t j = 0; j < k; j++) {
            const struct ranked *one = &all[sorted ? j : k - 1 - j];
            size_t at = (base + j % 16) * k + j / 16;
            values[at] = one->value;
            places[at] = one->place;
        }
    }
    view_from_floats(&val, values);
    view_from_ints(&idx, places);
    return true;
}

/* The first position of `value` that no earlier one of the eight took; -1 when there is none. */
static int64_t find_first(const float *row, size_t n, float value, const int64_t *taken, size_t k) {
    for (size_t i = 0; i < n; i++) {
        bool free = true;
        for (size_t j = 0; j < k; j++)
            free &= taken[j] != (int64_t)i;
        if (row[i] == value && free)
            return (int64_t)i;
    }
    return -1;
}

bool exec_find_index8(struct exec *x) {
    struct view dst, data, vals;
    if (!exec_read(x, NKI_NC_FIND_INDEX8_data, &data) ||
        !exec_read(x, NKI_NC_FIND_INDEX8_vals, &vals) ||
        !exec_write(x, NKI_NC_FIND_INDEX8_dst, &dst))
        return false;
    size_t rows = (size_t)data.count[0], n = (size_t)view_free(&data);
    float *values = arena_alloc(x->scratch, rows * n, sizeof *values), wanted[NKI_PARTITIONS * 8];
    int64_t found[NKI_PARTITIONS * 8];
    view_to_floats(&data, values);
    view_to_floats(&vals, wanted);
    for (size_t p = 0; p < rows; p++)
        for (size_t k = 0; k < 8; k++)
            found[p * 8 + k] = find_first(values + p * n, n, wanted[p * 8 + k], &found[p * 8], k);
    view_from_ints(&dst, found);
    return true;
}

/* Values are matched from the last to the first. So, among equal ones, the last of the eight gets
 * the first place. */
bool exec_match_replace8(struct exec *x) {
    struct view dst, data, vals, index;
    if (!exec_read(x, NKI_NC_MATCH_REPLACE8_data, &data) ||
        !exec_read(x, NKI_NC_MATCH_REPLACE8_vals, &vals) ||
        !exec_write(x, NKI_NC_MATCH_REPLACE8_dst, &dst))
        return false;
    float imm = (float)exec_number(x, NKI_NC_MATCH_REPLACE8_imm, 0), wanted[NKI_PARTITIONS * 8];
    size_t rows = (size_t)data.count[0], n = (size_t)view_free(&data);
    float *values = arena_alloc(x->scratch, rows * n, sizeof *values);
    int64_t found[NKI_PARTITIONS * 8];
    view_to_floats(&data, values);
    view_to_floats(&vals, wanted);
    for (size_t p = 0; p < rows; p++) {
        int64_t taken[8];
        for (size_t k = 0; k < 8; k++) {
            taken[k] = find_first(values + p * n, n, wanted[p * 8 + 7 - k], taken, k);
            found[p * 8 + 7 - k] = taken[k];
        }
        for (size_t k = 0; k < 8; k++)
            if (taken[k] >= 0)
                values[p * n + (size_t)taken[k]] = imm;
    }
    view_from_floats(&dst, values);
    if (!exec_has(x, NKI_NC_MATCH_REPLACE8_dst_idx))
        return true;
    if (!exec_write(x, NKI_NC_MATCH_REPLACE8_dst_idx, &index))
        return false;
    view_from_ints(&index, found);
    return true;
}

/* ---- random numbers and segments ------------------------------------------------------------ */

/* splitmix64: every run of a program draws the same numbers. */
static uint32_t draw(struct exec *x) {
    uint64_t z = x->random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) >> 32);
}

bool exec_rng(struct exec *x) {
    struct view dst;
    if (!exec_write(x, NKI_RNG_dst, &dst))
        return false;
    size_t n = (size_t)view_count(&dst);
    int64_t *values = arena_alloc(x->scratch, n, sizeof *values);
    for (size_t i = 0; i < n; i++)
        values[i] = draw(x);
    view_from_ints(&dst, values);
    return true;
}

bool exec_rand2(struct exec *x) {
    struct view dst, low, high;
    if (!exec_write(x, NKI_RAND2_dst, &dst) || !exec_scalar(x, NKI_RAND2_min, &dst, 0, &low) ||
        !exec_scalar(x, NKI_RAND2_max, &dst, 1, &high))
        return false;
    size_t rows = (size_t)dst.count[0], n = (size_t)view_free(&dst);
    float *values = arena_alloc(x->scratch, rows * n, sizeof *values);
    for (size_t p = 0; p < rows; p++) {
        float from, to;
        convert_load(low.dtype)(low.at + (int64_t)p * low.step[0], 0, &from, 1);
        convert_load(high.dtype)(high.at + (int64_t)p * high.step[0], 0, &to, 1);
        for (size_t i = 0; i < n; i++) /* 24 bits: below 1 in fp32 */
            values[p * n + i] = from + (to - from) * ((float)(draw(x) >> 8) * 0x1p-24f);
    }
    view_from_floats(&dst, values);
    return true;
}

/* The state is one of hone's own, spread over the words: what was stored and is loaded again makes
 * the same numbers follow. */
bool exec_rand_get_state(struct exec *x) {
    struct view dst;
    if (!exec_write(x, NKI_DST, &dst))
        return false;
    size_t n = (size_t)view_count(&dst);
    int64_t *words = arena_alloc(x->scratch, n, sizeof *words);
    for (size_t i = 0; i < n; i++)
        words[i] =
            (uint32_t)(i % 2 ? x->random >> 32 : x->random) ^ (uint32_t)(i / 2 * 0x9e3779b9u);
    view_from_ints(&dst, words);
    return true;
}

bool exec_rand_set_state(struct exec *x) {
    struct view src;
    if (!exec_read(x, NKI_DST, &src))
        return false;
    size_t n = (size_t)view_count(&src);
    int64_t *words = arena_alloc(x->scratch, n, sizeof *words);
    view_to_ints(&src, words);
    x->random = (uint64_t)(uint32_t)words[0] | (uint64_t)words[n > 1] << 32;
    return true;
}

bool exec_set_rng_seed(struct exec *x) {
    struct view src;
    uint32_t seed;
    if (!exec_read(x, NKI_DST, &src))
        return false;
    memcpy(&seed, src.at, sizeof seed);
    x->random = 0x9e3779b97f4a7c15u ^ seed;
    return true;
}

bool exec_dropout(struct exec *x) {
    struct view dst, data, prob;
    if (!exec_read(x, NKI_DROPOUT_data, &data) ||
        !exec_scalar(x, NKI_DROPOUT_prob, &data, 0, &prob) || !exec_write(x, NKI_DROPOUT_dst, &dst))
        return false;
    size_t rows = (size_t)data.count[0], n = (size_t)view_free(&data);
    float *values = arena_alloc(x->scratch, rows * n, sizeof *values);
    view_to_floats(&data, values);
    for (size_t p = 0; p < rows; p++) {
        float rate;
        convert_load(prob.dtype)(prob.at + (int64_t)p * prob.step[0], 0, &rate, 1);
        for (size_t i = 0; i < n; i++)
            if ((float)draw(x) * 0x1p-32f < rate)
                values[p * n + i] = 0;
    }
    view_from_floats(&dst, values);
    return true;
}

/* Writes, for each element, the first element of its segment and one past the last. Padding (id 0)
 * gives (n, -1). dst is [1, 2, n]. */
bool exec_sequence_bounds(struct exec *x) {
    struct view dst, ids;
    if (!exec_read(x, NKI_SEQUENCE_BOUNDS_segment_ids, &ids) ||
        !exec_write(x, NKI_SEQUENCE_BOUNDS_dst, &dst))
        return false;
    size_t n = (size_t)view_free(&ids), first = 0;
    float *id = arena_alloc(x->scratch, n, sizeof *id);
    float *bounds = arena_alloc(x->scratch, 2 * n, sizeof *bounds);
    view_to_floats(&ids, id);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && id[i] != id[i - 1])
            first = i;
        bounds[i] = id[i] != 0 ? (float)first : (float)n;
    }
    size_t end = n;
    for (size_t i = n; i-- > 0;) {
        if (i + 1 < n && id[i] != id[i + 1])
            end = i + 1;
        bounds[n + i] = id[i] != 0 ? (float)end : -1.0f;
    }
    view_from_floats(&dst, bounds);
    return true;
}

/* Each core of GpSimd looks at the first of its 16 partitions only. */
bool exec_nonzero(struct exec *x) {
    struct view dst, src;
    if (!exec_read(x, NKI_NONZERO_WITH_COUNT_src, &src) ||
        !exec_modify(x, NKI_NONZERO_WITH_COUNT_dst, &dst))
        return false;
    size_t n = (size_t)view_free(&src), rows = (size_t)src.count[0];
    float *values = arena_alloc(x->scratch, rows * n, sizeof *values);
    int64_t *found = arena_alloc(x->scratch, rows * (n + 1), sizeof *found);
    view_to_floats(&src, values);
    view_to_ints(&dst, found);
    for (size_t p = 0; p < rows; p += 16) {
        int64_t *row = found + p * (n + 1), count = 0;
        for (size_t i = 0; i < n; i++)
            if (values[p * n + i] != 0)
                row[count++] = (int64_t)i + exec_int(x, NKI_NONZERO_WITH_COUNT_index_offset, 0);
        for (size_t i = (size_t)count; i < n; i++)
            row[i] = exec_int(x, NKI_NONZERO_WITH_COUNT_padding_val, -1);
        row[n] = count;
    }
    view_from_ints(&dst, found);
    return true;
}

/* ---- sequencers ----------------------------------------------------------------------------- */

bool exec_register_load(struct exec *x) {
    struct view src;
    if (!exec_read(x, NKI_REGISTER_LOAD_src, &src))
        return false;
    int64_t value = 0;
    if (dtype_is_float(src.dtype)) {
        float number = 0;
        device_to_float(src.dtype, src.at, &number, 1);
        value = (int64_t)number;
    } else {
        convert_load_ints(src.dtype, src.at, 0, &value, 1);
    }
    int64_t number = x->instr->operands[NKI_REGISTER_LOAD_dst].i;
    x->registers[number] = value;
    if (x->limits && x->limits->loaded)
        x->limits->loaded[number] = (struct nki_number){true, value};
    return true;
}

bool exec_register_store(struct exec *x) {
    struct view dst;
    int64_t value = exec_int(x, NKI_REGISTER_STORE_src, 0);
    if (!exec_write(x, NKI_REGISTER_STORE_dst, &dst))
        return false;
    view_from_ints(&dst, &value);
    return true;
}

/* Integers wrap around at their width. */
bool exec_register_math(struct exec *x) {
    uint64_t a = (uint64_t)exec_int(x, NKI_REGISTER_MATH_a, 0);
    uint64_t b = (uint64_t)exec_int(x, NKI_REGISTER_MATH_b, 0), value;
    switch (x->instr->operands[NKI_REGISTER_MATH_op].i) {
    case NKI_FUNC_ADD: value = a + b; break;
    case NKI_FUNC_SUBTRACT: value = a - b; break;
    default: value = a * b; break;
    }
    bool narrow = exec_int(x, NKI_REGISTER_MATH_bits, 32) == 32;
    x->registers[x->instr->operands[NKI_REGISTER_MATH_dst].i] =
        narrow ? (int32_t)(uint32_t)value : (int64_t)value;
    return true;
}

/* The program has the rounds that its maker knew or assumed. Other inputs need another program. */
bool exec_loop_branch(struct exec *x) {
    int64_t wanted = exec_int(x, NKI_LOOP_BRANCH_value, 0);
    int64_t found = exec_int(x, NKI_LOOP_BRANCH_dst, wanted);
    if (found == wanted)
        return true;
    (void)exec_fail(x,
                    "the loop's register holds %lld, not %lld as was assumed: a limit of hone's, "
                    "which unrolls loops before they are executed",
                    (long long)found, (long long)wanted);
    x->err->kind = ERR_USAGE;
    return false;
}
