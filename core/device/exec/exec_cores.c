/* SPDX-License-Identifier: Apache-2.0 */
/* What cores do together. Programs of two cores are in step, so both sides are ready when the first
 * of the two instructions runs, and it does the work of both. */
#include "device/exec/run.h"

/* The other core's instruction, where this is the first of the two. */
static const struct nki_instr *second(const struct exec *x) {
    size_t at = x->instr->mate;
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
        return one->mate || exec_fail(x, "no other core calls it");
    const uint8_t *sent = sent_by(x, one), *back = sent_by(x, other);
    return sent && back && receive(x, other, sent) && receive(x, one, back);
}

/* The order of the program is one in which both have come here. */
bool exec_core_barrier(struct exec *x) {
    (void)x;
    return true;
}
