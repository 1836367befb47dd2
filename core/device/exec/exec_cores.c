/* SPDX-License-Identifier: Apache-2.0 */
/* What cores do together. Programs of two cores are in step, so both sides are ready when the first
 * of the two instructions runs, and it does the work of both. Of a group of ranks one is at hand;
 * the others have the same inputs, and so the same tensors. */
#include "device/exec/run.h"

#include <math.h>

/* The other core's instruction, where this is the first of the two. */
static const struct nki_instr *second(const struct exec *x) {
    size_t at = x->instr->more->mate;
    return at == x->i + 2 && at <= x->program->instrs.len ? &x->program->instrs.at[at - 1] : NULL;
}

/* All that the instruction sends, as bytes in the scratch memory. */
static uint8_t *sent_by(struct exec *x, const struct nki_instr *instr) {
    struct view src;
    x->instr = instr;
    if (!exec_read(x, NKI_SENDRECV_src, &src))
        return NULL;
    uint8_t *bytes = arena_alloc(x->scratch, (size_t)view_count(&src) + 1, dtype_bytes(src.dtype));
    view_to_bytes(&src, bytes);
    return bytes;
}

static bool receive(struct exec *x, const struct nki_instr *instr, const uint8_t *bytes) {
    struct view dst;
    x->instr = instr;
    if (!bytes || !exec_write(x, NKI_SENDRECV_dst, &dst))
        return false;
    view_from_bytes(&dst, bytes);
    return true;
}

bool exec_sendrecv(struct exec *x) {
    const struct nki_instr *one = x->instr, *other = second(x);
    if (!other || other->op != NKI_OP_SENDRECV)
        return one->more->mate || exec_fail(x, "no other core calls it");
    const uint8_t *sent = sent_by(x, one), *back = sent_by(x, other);
    return sent && back && receive(x, other, sent) && receive(x, one, back);
}

/* The order of the program is one in which both have come here. */
bool exec_core_barrier(struct exec *x) {
    (void)x;
    return true;
}

/* ---- groups of ranks ------------------------------------------------------------------------ */

struct ranks {
    int64_t n, rank, kind, dim;
    enum nki_func op;
};

/* n times `x` under an operator. */
static float combined(const struct ranks *ranks, float x) {
    return ranks->op == NKI_FUNC_ADD ? x * (float)ranks->n : x;
}

static bool reduce_ranks(struct exec *x, const struct ranks *ranks, const struct view *src,
                         const struct view *dst) {
    size_t n = (size_t)view_count(src), m = (size_t)view_count(dst);
    float *values = arena_alloc(x->scratch, n + 1, sizeof *values);
    view_to_floats(src, values);
    size_t first = ranks->kind == NKI_COLLECTIVE_SCATTER ? (size_t)ranks->rank * m : 0;
    if (first + m > n)
        return exec_fail(x, "dst has more elements than the ranks have");
    for (size_t i = 0; i < m; i++)
        values[first + i] = combined(ranks, values[first + i]);
    view_from_floats(dst, values + first);
    return true;
}

/* dst is made of pieces of src, repeated for every rank: `piece` bytes from `at`, in each row. */
static bool repeat_ranks(struct exec *x, const struct ranks *ranks, const struct view *src,
                         const struct view *dst) {
    size_t size = dtype_bytes(src->dtype), n = (size_t)view_count(src) * size;
    size_t rows = ranks->dim == 1 ? (size_t)src->count[0] : 1, piece = n / rows, at = 0;
    size_t times = ranks->kind == NKI_COLLECTIVE_PASS ? 1 : (size_t)ranks->n;
    if (ranks->kind == NKI_COLLECTIVE_SWAP) {
        piece /= times;
        at = (size_t)ranks->rank * piece;
    }
    if (rows * times * piece > (size_t)view_count(dst) * size)
        return exec_fail(x, "dst has no room for what the ranks send");
    uint8_t *from = arena_alloc(x->scratch, n + 1, 1);
    uint8_t *to = arena_alloc(x->scratch, (size_t)view_count(dst) * size + 1, 1);
    view_to_bytes(src, from);
    for (size_t row = 0; row < rows; row++)
        for (size_t k = 0; k < times; k++)
            memcpy(to + (row * times + k) * piece, from + row * (n / rows) + at, piece);
    view_from_bytes(dst, to);
    return true;
}

/* Row 0 of the metadata has how many elements go to each rank, row 1 from where. */
static bool vary_ranks(struct exec *x, const struct ranks *ranks, const struct view *src,
                       const struct view *dst) {
    struct view other;
    if (!exec_read(x, NKI_COLLECTIVE_other, &other))
        return false;
    size_t size = dtype_bytes(src->dtype), n = (size_t)view_count(src), m = (size_t)view_count(dst);
    size_t words = (size_t)view_count(&other), of = (size_t)ranks->n;
    int64_t *word = arena_alloc(x->scratch, words + 1, sizeof *word);
    view_to_ints(&other, word);
    bool gather = ranks->kind == NKI_COLLECTIVE_GATHER_V;
    size_t column = gather ? 0 : (size_t)ranks->rank, slot = m / of;
    if (words < 2 * of)
        return exec_fail(x, "metadata_tensor has %zu numbers; two rows of %zu are needed", words,
                         of);
    int64_t count = word[column], from = word[of + column];
    if (count < 0 || from < 0 || (size_t)(count + from) > n || (size_t)count > slot)
        return exec_fail(x,
                         "metadata_tensor sends %lld elements from %lld on: src has %zu and each "
                         "rank's place in dst %zu",
                         (long long)count, (long long)from, n, slot);
    uint8_t *bytes = arena_alloc(x->scratch, n * size + 1, 1);
    uint8_t *to = arena_alloc(x->scratch, m * size + 1, 1);
    view_to_bytes(src, bytes);
    view_to_bytes(dst, to);
    for (size_t k = 0; k < of; k++)
        memcpy(to + k * slot * size, bytes + (size_t)from * size, (size_t)count * size);
    view_from_bytes(dst, to);
    return true;
}

static bool combine_ranks(struct exec *x, const struct ranks *ranks, const struct view *src,
                          const struct view *dst) {
    struct view other;
    if (!exec_read(x, NKI_COLLECTIVE_other, &other))
        return false;
    size_t n = (size_t)view_count(src);
    float *a = arena_alloc(x->scratch, n + 1, sizeof *a);
    float *b = arena_alloc(x->scratch, n + 1, sizeof *b);
    if (view_count(&other) != (int64_t)n)
        return exec_fail(x, "srcs0 and srcs1 have different numbers of elements");
    view_to_floats(src, a);
    view_to_floats(&other, b);
    for (size_t i = 0; i < n; i++)
        a[i] = ranks->op == NKI_FUNC_ADD       ? a[i] + b[i]
               : ranks->op == NKI_FUNC_MAXIMUM ? fmaxf(a[i], b[i])
                                               : fminf(a[i], b[i]);
    view_from_floats(dst, a);
    return true;
}

/* Of a launch on two cores, where both name one destination, the first did it for both. */
static bool is_done(const struct exec *x) {
    size_t other = x->instr->more->mate;
    return other && other == x->i && /* the number of the one before, + 1 */
           nki_collective_is_shared(x->instr, &x->program->instrs.at[other - 1]);
}

bool exec_collective(struct exec *x) {
    struct view src, dst;
    if (is_done(x))
        return true;
    struct ranks ranks = {
        .n = MAX_OF(exec_int(x, NKI_COLLECTIVE_ranks, 1), 1),
        .rank = exec_int(x, NKI_COLLECTIVE_rank, 0),
        .kind = exec_int(x, NKI_COLLECTIVE_kind, 0),
        .dim = exec_int(x, NKI_COLLECTIVE_dim, 0),
        .op = exec_func(x, NKI_COLLECTIVE_op, NKI_FUNC_ADD),
    };
    if (!exec_read(x, NKI_COLLECTIVE_src, &src) || !exec_modify(x, NKI_COLLECTIVE_dst, &dst))
        return false;
    switch (ranks.kind) {
    case NKI_COLLECTIVE_REDUCE:
    case NKI_COLLECTIVE_SCATTER: return reduce_ranks(x, &ranks, &src, &dst);
    case NKI_COLLECTIVE_COMBINE: return combine_ranks(x, &ranks, &src, &dst);
    case NKI_COLLECTIVE_GATHER_V:
    case NKI_COLLECTIVE_SWAP_V: return vary_ranks(x, &ranks, &src, &dst);
    default: return repeat_ranks(x, &ranks, &src, &dst);
    }
}
