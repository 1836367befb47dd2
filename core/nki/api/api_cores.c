/* SPDX-License-Identifier: Apache-2.0 */
/* What the two cores of a launch do together: tiles that they send each other, and where they wait
 * for each other. Here is what one core's call says; whether the other one's fits is found when
 * both are woven together (program/weave.c). Sources: nki.isa reference (sendrecv, core_barrier)
 * and the LNC page of NKI 0.7. */
#include "nki/api/api.h"

#define DMA_GPSIMD 2 /* nisa.dma_engine.gpsimd_dma */

static bool want_peer(struct interp *in, const struct nki_node *node, const char *what,
                      struct value v, int64_t *rank) {
    int me = interp_program_id(in, 0);
    if (!api_want_int(in, node, what, v, rank))
        return false;
    return *rank == 1 - me ||
           interp_error(in, node, "hone-cores-rank",
                        "nisa.sendrecv: %s is %lld on core %d; ranks are the two cores of the "
                        "launch, so it has to be the other one: %d (1 - nl.program_id(0))",
                        what, (long long)*rank, me, 1 - me);
}

static bool want_two(struct interp *in, const struct nki_node *node) {
    return interp_cores(in) == 2 ||
           interp_error(in, node, "hone-cores-rank",
                        "nisa.sendrecv in a launch of one program: there is no other core; launch "
                        "kernel[2], or guard it with nl.num_programs(0) > 1");
}

/* dma_engine.gpsimd_dma; in releases before 0.3 use_gpsimd_dma=True. */
static bool read_engine(struct interp *in, const struct nki_node *node, const struct value *v,
                        enum nki_engine *engine) {
    bool gpsimd = v[1].kind == VALUE_BOOL && v[1].b;
    if (v[0].kind == VALUE_ENUM && (strcmp(v[0].enumeration->type, "dma_engine") == 0 ||
                                    strcmp(v[0].enumeration->type, "engine") == 0))
        gpsimd = strcmp(v[0].enumeration->member, "gpsimd_dma") == 0 ||
                 strcmp(v[0].enumeration->member, "gpsimd") == 0;
    else if (v[0].kind != VALUE_NONE)
        return interp_error(in, node, "hone-argument",
                            "dma_engine must be a member of nisa.dma_engine; found %s",
                            value_type_name(v[0]));
    *engine = gpsimd ? NKI_ENGINE_GPSIMD : NKI_ENGINE_UNKNOWN;
    return true;
}

static const char *label_of(struct interp *in, struct value name) {
    return name.kind == VALUE_STR && name.str->len
               ? arena_strndup(interp_arena(in), name.str->at, name.str->len)
               : NULL;
}

bool api_sendrecv(struct interp *in, const struct call *call, struct value *result) {
    struct value v[8];
    const struct tensor *src, *dst;
    int64_t to, from, pipe;
    struct api_build b;
    *result = NONE_VALUE;
    if (!api_bind(in, call,
                  "src, dst, send_to_rank, recv_from_rank, pipe_id, dma_engine=None, "
                  "use_gpsimd_dma=None, name=None",
                  v) ||
        !want_two(in, call->node) || !api_want_tensor(in, call->node, "src", v[0], &src) ||
        !api_want_tensor(in, call->node, "dst", v[1], &dst) ||
        !want_peer(in, call->node, "send_to_rank", v[2], &to) ||
        !want_peer(in, call->node, "recv_from_rank", v[3], &from) ||
        !api_want_int(in, call->node, "pipe_id", v[4], &pipe))
        return false;
    api_start(&b, in, call->node, NKI_OP_SENDRECV);
    if (!read_engine(in, call->node, &v[5], &b.engine))
        return false;
    b.label = label_of(in, v[7]);
    api_put_tensor(&b, NKI_SENDRECV_dst, dst);
    api_put_tensor(&b, NKI_SENDRECV_src, src);
    api_put(&b, NKI_SENDRECV_send_to_rank, operand_int(to));
    api_put(&b, NKI_SENDRECV_recv_from_rank, operand_int(from));
    api_put(&b, NKI_SENDRECV_pipe_id, operand_int(pipe));
    return api_emit(&b);
}

/* cores=(0, 1): those of the launch. Kernels for any number of cores say (0,) or (0) on one. */
static bool read_cores(struct interp *in, const struct nki_node *node, struct value v) {
    int64_t n = interp_cores(in), found = 0;
    bool good = v.kind == VALUE_INT && v.i == 0 && n == 1;
    if (v.kind == VALUE_TUPLE || v.kind == VALUE_LIST) {
        good = v.seq->items.len == (size_t)n || n == 1;
        for (size_t i = 0; i < v.seq->items.len; i++) {
            struct value item = v.seq->items.at[i];
            found |= item.kind == VALUE_INT && item.i >= 0 && item.i < 2 ? 1 << item.i : 4;
        }
        good = good && (n == 1 || found == 3) && found < 4;
    }
    return good || interp_error(in, node, "hone-cores-rank",
                                "nisa.core_barrier: cores must be %s: the cores of this launch, "
                                "which all have to call it",
                                n == 2 ? "(0, 1)" : "(0,), or (0, 1) in a launch of two");
}

static bool read_barrier_engine(struct interp *in, const struct nki_node *node, struct value v,
                                enum nki_engine *engine) {
    if (v.kind == VALUE_NONE)
        return true;
    if (v.kind != VALUE_ENUM || strcmp(v.enumeration->type, "engine") != 0)
        return interp_error(in, node, "hone-argument",
                            "engine must be a member of nisa.engine; found %s", value_type_name(v));
    *engine = (enum nki_engine)v.enumeration->number;
    if (*engine == NKI_ENGINE_SYNC || *engine == NKI_ENGINE_DMA)
        *engine = NKI_ENGINE_UNKNOWN; /* it waits with the transfers, as GpSimd's does here */
    return true;
}

bool api_core_barrier(struct interp *in, const struct call *call, struct value *result) {
    struct value v[4];
    const struct tensor *data;
    struct api_build b;
    *result = NONE_VALUE;
    if (!api_bind(in, call, "data, cores, engine=None, name=None", v) ||
        !read_cores(in, call->node, v[1]) || !api_want_tensor(in, call->node, "data", v[0], &data))
        return false;
    if (interp_cores(in) < 2) /* there is nobody to wait for */
        return true;
    api_start(&b, in, call->node, NKI_OP_CORE_BARRIER);
    if (!read_barrier_engine(in, call->node, v[2], &b.engine))
        return false;
    b.label = label_of(in, v[3]);
    api_put_tensor(&b, NKI_CORE_BARRIER_dst, data);
    return api_emit(&b);
}
