/* SPDX-License-Identifier: Apache-2.0 */
/* What cores do together. Ranks of a group, by nki.collectives: hone evaluates rank 0, and all
 * other ranks are given the same inputs. In a launch of two, a rank is both cores. The two cores of
 * a launch: tiles that they send each other, and where they wait for each other. Here is what one
 * core's call says; whether the other one's fits is found when both are woven together
 * (program/weave.c). Sources: nki.isa reference (sendrecv, core_barrier) and the LNC page of NKI
 * 0.7. */
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

static bool emit_call(struct api_build *b, struct value *result) {
    size_t first = interp_program(b->in)->instrs.len;
    if (!api_emit(b))
        return false;
    *result = api_instruction(b->in, b->node, first);
    return true;
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
    return emit_call(&b, result);
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
    return emit_call(&b, result);
}

/* ---- nki.collectives ------------------------------------------------------------------------ */

#define MOST_RANKS 4096

/* Where a call's arguments are among its values; -1: it has none. */
struct collective {
    const char *name, *signature;
    enum nki_collective kind;
    signed char src, other, dst, group, dim, op, priority;
    char form; /* 'p': prepares only; 'c': lists by channel */
};
#define VARIED                                                              \
    "srcs, dsts, replica_group, metadata_tensor, recv_counts_known=False, " \
    "has_rdispls=False, priority=None, name=None"
static const struct collective collectives[] = {
    {"nccl.all_reduce", "srcs, dsts, replica_group, op, priority=None, name=None",
     NKI_COLLECTIVE_REDUCE, 0, -1, 1, 2, -1, 3, 4, 0},
    {"nccl.all_gather", "srcs, dsts, replica_group, collective_dim, priority=None, name=None",
     NKI_COLLECTIVE_GATHER, 0, -1, 1, 2, 3, -1, 4, 0},
    {"nccl.reduce_scatter",
     "srcs, dsts, replica_group, collective_dim, op, priority=None, name=None",
     NKI_COLLECTIVE_SCATTER, 0, -1, 1, 2, 3, 4, 5, 0},
    {"nccl.all_to_all", "srcs, dsts, replica_group, collective_dim, priority=None, name=None",
     NKI_COLLECTIVE_SWAP, 0, -1, 1, 2, 3, -1, 4, 0},
    {"nccl.all_gather_v", VARIED, NKI_COLLECTIVE_GATHER_V, 0, 3, 1, 2, -1, -1, 6, 0},
    {"nccl.all_to_all_v", VARIED, NKI_COLLECTIVE_SWAP_V, 0, 3, 1, 2, -1, -1, 6, 0},
    {"nccl.all_gather_v_prepare", VARIED, NKI_COLLECTIVE_GATHER_V, 0, 3, 1, 2, -1, -1, 6, 'p'},
    {"nccl.all_to_all_v_prepare", VARIED, NKI_COLLECTIVE_SWAP_V, 0, 3, 1, 2, -1, -1, 6, 'p'},
    {"nccl.collective_permute_implicit",
     "srcs_by_channel, dsts_by_channel, replica_group, channel_ids=None, priority=None, name=None",
     NKI_COLLECTIVE_PASS, 0, -1, 1, 2, -1, -1, 4, 'c'},
    {"nccl.collective_permute_implicit_reduce",
     "srcs0_by_channel, srcs1_by_channel, dsts_by_channel, replica_group, op, channel_ids=None, "
     "priority=None, name=None",
     NKI_COLLECTIVE_COMBINE, 0, 1, 2, 3, -1, 4, 6, 'c'},
};

/* What was prepared and not triggered yet: its call and arguments. */
struct api_prepared {
    const struct collective *row;
    struct value v[9];
};

/* Binds a call, of which the release has all arguments. */
static bool bind_group(struct interp *in, const struct call *call, const char *signature,
                       struct value *v) {
    static const struct {
        const char *functions, *keyword, *first;
    } rows[] = {
#define SIGNATURE(function, first, last, parameters)
#define SINCE(functions, keyword, first) {functions, keyword, first},
#include "nki/release/older.def"
#undef SIGNATURE
#undef SINCE
    };
    const char *release = interp_program(in)->release;
    for (size_t i = 0; release && i < COUNT_OF(rows); i++)
        for (size_t k = 0; k < call->n_keywords; k++)
            if (str_is(call->keywords[k].name, rows[i].keyword) &&
                nki_release_compare(release, rows[i].first) < 0)
                return interp_error(in, call->node, "hone-newer-name",
                                    "%s= of functions of nki.collectives came with NKI %s, and "
                                    "the kernel is for NKI %s: leave it out",
                                    rows[i].keyword, rows[i].first, release);
    return api_bind(in, call, signature, v);
}

static const struct value_seq *list_of(struct value v) {
    return v.kind == VALUE_LIST || v.kind == VALUE_TUPLE ? v.seq : NULL;
}

/* The size of rank 0's group, and its place there. Groups do not overlap. */
static bool read_group(struct interp *in, const struct nki_node *node, struct value v,
                       int64_t *size, int64_t *place) {
    const struct value_seq *groups = list_of(v);
    uint8_t *seen = arena_alloc(interp_arena(in), MOST_RANKS, 1);
    *size = 0;
    for (size_t g = 0; groups && g < groups->items.len; g++) {
        const struct value_seq *ranks = list_of(groups->items.at[g]);
        for (size_t k = 0; ranks && k < ranks->items.len; k++) {
            struct value rank = ranks->items.at[k];
            if (rank.kind != VALUE_INT || rank.i < 0 || rank.i >= MOST_RANKS || seen[rank.i])
                return interp_error(in, node, "hone-argument",
                                    "replica_group: ranks are integers from 0 on, and each is in "
                                    "one group only");
            seen[rank.i] = 1;
            if (rank.i == 0)
                *size = (int64_t)ranks->items.len, *place = (int64_t)k;
        }
    }
    if (!groups || *size == 0)
        return interp_error(in, node, "hone-argument",
                            "replica_group is nccl.ReplicaGroup([[0, 1, ..]]), and hone evaluates "
                            "rank 0, which has to be in a group");
    return *size > 1 || interp_error(in, node, "hone-argument",
                                     "a group of one rank is refused when the kernel is loaded");
}

/* The level of service of its transfers, which numbers and hone's times do not depend on. */
static bool read_priority(struct interp *in, const struct nki_node *node, const char *name,
                          struct value v) {
    int64_t level = 0;
    if (v.kind == VALUE_NONE)
        return true;
    if (interp_program(in)->generation < NKI_GEN4)
        return interp_error(
            in, node, "hone-generation", "%s: priority exists from %s on, this is %s", name,
            nki_generation_name(NKI_GEN4), nki_generation_name(interp_program(in)->generation));
    return api_want_int(in, node, "priority", v, &level) &&
           ((level >= 0 && level <= 3) ||
            interp_error(in, node, "hone-argument",
                         "%s: priority is a level from 0 to 3; lower ones go first", name));
}

static bool emit_one(struct interp *in, const struct nki_node *node, const struct collective *row,
                     const struct value *v, const struct value tensors[3], const int64_t group[2]) {
    struct api_build b;
    const struct tensor *t;
    static const size_t to[3] = {NKI_COLLECTIVE_dst, NKI_COLLECTIVE_src, NKI_COLLECTIVE_other};
    api_start(&b, in, node, NKI_OP_COLLECTIVE);
    for (int k = 0; k < 3; k++) {
        if (tensors[k].kind == VALUE_NONE)
            continue;
        if (!api_want_tensor(in, node, k ? "a source" : "a destination", tensors[k], &t))
            return false;
        api_put_tensor(&b, to[k], t);
    }
    api_put(&b, NKI_COLLECTIVE_kind, operand_int(row->kind));
    api_put(&b, NKI_COLLECTIVE_ranks, operand_int(group[0]));
    api_put(&b, NKI_COLLECTIVE_rank, operand_int(group[1]));
    if (row->op >= 0) {
        if (api_func_of(v[row->op]) == NKI_FUNC_NONE)
            return interp_error(in, node, "hone-argument",
                                "op is nl.add, nl.maximum or nl.minimum; found %s",
                                value_type_name(v[row->op]));
        api_put(&b, NKI_COLLECTIVE_op, operand_func(api_func_of(v[row->op])));
    }
    int64_t dim = 0;
    if (row->dim >= 0 && !api_want_int(in, node, "collective_dim", v[row->dim], &dim))
        return false;
    api_put(&b, NKI_COLLECTIVE_dim, operand_int(dim));
    return api_emit(&b);
}

static bool is_in(enum nki_space space, struct value v) {
    return v.kind == VALUE_TENSOR && v.tensor->space == space;
}

/* Several tensors at once are possible in HBM alone, and not for what goes from rank to rank or in
 * parts of any size (nki.collectives). */
static bool want_few(struct interp *in, const struct nki_node *node, const struct collective *row,
                     const struct value_seq *dst) {
    bool one = row->kind == NKI_COLLECTIVE_PASS || row->kind == NKI_COLLECTIVE_COMBINE ||
               row->kind == NKI_COLLECTIVE_GATHER_V || row->kind == NKI_COLLECTIVE_SWAP_V;
    if (dst->items.len < 2 || (!one && !is_in(NKI_SBUF, dst->items.at[0])))
        return true;
    return interp_error(in, node, "hone-argument",
                        "%s: the lists have %zu tensors, and exactly one is possible%s", row->name,
                        dst->items.len, one ? "; call it for each" : " in SBUF");
}

/* All tensors of the lists, pair by pair. */
static bool emit_lists(struct interp *in, const struct nki_node *node, const struct collective *row,
                       const struct value *v, const struct value lists[3], const int64_t group[2]) {
    const struct value_seq *dst = list_of(lists[0]), *src = list_of(lists[1]);
    const struct value_seq *other = list_of(lists[2]);
    bool pairs = other && row->kind == NKI_COLLECTIVE_COMBINE;
    if (!dst || !src || dst->items.len != src->items.len || !dst->items.len ||
        (pairs && other->items.len != dst->items.len))
        return interp_error(in, node, "hone-argument",
                            "%s: sources and destinations are lists of as many tensors", row->name);
    if (!want_few(in, node, row, dst) || !read_priority(in, node, row->name, v[row->priority]))
        return false;
    for (size_t k = 0; k < dst->items.len; k++) {
        struct value tensors[3] = {dst->items.at[k], src->items.at[k],
                                   pairs ? other->items.at[k] : lists[2]};
        if (!emit_one(in, node, row, v, tensors, group))
            return false;
    }
    return true;
}

static bool run_collective(struct interp *in, const struct nki_node *node,
                           const struct collective *row, const struct value *v) {
    int64_t group[2] = {0, 0};
    struct value lists[3] = {v[row->dst], v[row->src],
                             row->other >= 0 ? v[row->other] : NONE_VALUE};
    if (!read_group(in, node, v[row->group], &group[0], &group[1]))
        return false;
    if (row->form != 'c')
        return emit_lists(in, node, row, v, lists, group);
    const struct value_seq *dst = list_of(lists[0]), *src = list_of(lists[1]);
    const struct value_seq *other = list_of(lists[2]);
    for (size_t c = 0; dst && src && c < dst->items.len; c++) {
        struct value channel[3] = {dst->items.at[c], NONE_VALUE, NONE_VALUE};
        if (c < src->items.len)
            channel[1] = src->items.at[c];
        if (other && c < other->items.len)
            channel[2] = other->items.at[c];
        if (!emit_lists(in, node, row, v, channel, group))
            return false;
    }
    return dst ||
           interp_error(in, node, "hone-argument", "%s takes a list for each channel", row->name);
}

static const struct value_enum prepared_mark = {"NkiInstruction", "prepare", 0};

static bool call_collective(struct interp *in, const struct call *call, struct value *result) {
    const struct collective *row = call->data;
    struct api *api = api_of(in);
    struct value v[9];
    *result = NONE_VALUE;
    if (!bind_group(in, call, row->signature, v))
        return false;
    if (row->form != 'p')
        return run_collective(in, call->node, row, v);
    if (api->prepared)
        return interp_error(in, call->node, "hone-argument",
                            "%s: what was prepared before has not been triggered", row->name);
    api->prepared = ARENA_NEW(interp_arena(in), struct api_prepared);
    api->prepared->row = row;
    memcpy(api->prepared->v, v, sizeof v);
    *result = (struct value){.kind = VALUE_ENUM, .enumeration = &prepared_mark};
    return true;
}

/* all_gather_v_trigger(prepare_instr, name=None) and all_to_all_v_trigger */
static bool call_trigger(struct interp *in, const struct call *call, struct value *result) {
    struct api *api = api_of(in);
    struct value v[2];
    *result = NONE_VALUE;
    if (!bind_group(in, call, "prepare_instr, name=None", v))
        return false;
    const struct api_prepared *prepared = api->prepared;
    const char *wanted = call->data;
    if (!prepared || v[0].kind != VALUE_ENUM || v[0].enumeration != &prepared_mark ||
        strcmp(prepared->row->name, wanted) != 0)
        return interp_error(in, call->node, "hone-argument",
                            "prepare_instr is what %s returned, and is triggered once", wanted);
    api->prepared = NULL;
    return run_collective(in, call->node, prepared->row, prepared->v);
}

/* Rank 0 gets the tensor of the one that sends to it. */
static bool call_permute(struct interp *in, const struct call *call, struct value *result) {
    static const struct collective row = {.name = "nccl.collective_permute",
                                          .kind = NKI_COLLECTIVE_PASS,
                                          .other = -1,
                                          .dim = -1,
                                          .op = -1,
                                          .priority = 3};
    struct value v[5];
    *result = NONE_VALUE;
    if (!bind_group(in, call, "srcs, dsts, source_target_pairs, priority=None, name=None", v))
        return false;
    const struct value_seq *pairs = list_of(v[2]);
    bool received = false;
    for (size_t k = 0; pairs && k < pairs->items.len; k++) {
        const struct value_seq *pair = list_of(pairs->items.at[k]);
        if (!pair || pair->items.len != 2 || pair->items.at[0].kind != VALUE_INT ||
            pair->items.at[1].kind != VALUE_INT)
            pairs = NULL;
        else
            received |= pair->items.at[1].i == 0;
    }
    if (!pairs)
        return interp_error(in, call->node, "hone-argument",
                            "source_target_pairs is a list of pairs of ranks");
    struct value lists[3] = {v[1], v[0], NONE_VALUE};
    for (int k = 0; k < 2; k++)
        if (list_of(v[k]) && list_of(v[k])->items.len &&
            is_in(NKI_SBUF, list_of(v[k])->items.at[0]))
            return interp_error(in, call->node, "err_unsupported_memory",
                                "%s takes tensors of HBM only: copy the tile there", row.name);
    return !received || emit_lists(in, call->node, &row, v, lists, (int64_t[]){2, 0});
}

static bool call_group(struct interp *in, const struct call *call, struct value *result) {
    return bind_group(in, call, "groups", result);
}

/* Registers with rank 0, and with the rank whose data a step of the ring brings it. */
static bool call_rank(struct interp *in, const struct call *call, struct value *result) {
    struct value v[4], rank = value_int(0);
    int64_t step, size, place = 0;
    bool ring = call->data != NULL;
    if (!bind_group(in, call,
                    ring ? "iteration_id, replica_group, channel_id=0, name=None" : "name=None", v))
        return false;
    if (ring) {
        if (!api_want_int(in, call->node, "iteration_id", v[0], &step) ||
            !read_group(in, call->node, v[1], &size, &place))
            return false;
        for (size_t g = 0; g < list_of(v[1])->items.len; g++) {
            const struct value_seq *ranks = list_of(list_of(v[1])->items.at[g]);
            if ((int64_t)ranks->items.len == size && ranks->items.at[place].i == 0)
                rank = ranks->items.at[((place - step) % size + size) % size];
        }
    }
    struct call alloc = {.node = call->node, .args = &rank, .n_args = 1};
    return api_dynamic_natives[0].run(in, &alloc, result);
}

static const struct value_native group_natives[] = {
    {"nccl.ReplicaGroup", call_group, NULL},
    {"nccl.collective_permute", call_permute, NULL},
    {"nccl.all_gather_v_trigger", call_trigger, "nccl.all_gather_v_prepare"},
    {"nccl.all_to_all_v_trigger", call_trigger, "nccl.all_to_all_v_prepare"},
    {"nccl.rank_id", call_rank, NULL},
    {"nccl.collective_permute_implicit_current_processing_rank_id", call_rank, "ring"},
};

bool api_collectives_name(struct interp *in, struct str name, struct value *result) {
    for (size_t i = 0; i < COUNT_OF(group_natives); i++)
        if (str_is(name, group_natives[i].name + 5)) {
            *result = (struct value){.kind = VALUE_NATIVE, .native = &group_natives[i]};
            return true;
        }
    for (size_t i = 0; i < COUNT_OF(collectives); i++)
        if (str_is(name, collectives[i].name + 5)) {
            struct value_native *native = ARENA_NEW(interp_arena(in), struct value_native);
            *native = (struct value_native){collectives[i].name, call_collective, &collectives[i]};
            *result = (struct value){.kind = VALUE_NATIVE, .native = native};
            return true;
        }
    return false;
}
