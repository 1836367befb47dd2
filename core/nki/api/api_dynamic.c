/* SPDX-License-Identifier: Apache-2.0 */
/* What only the device knows: registers, and loops whose rounds they count. The program stays a
 * flat list, so a loop is run here as often as the inputs at hand say, and a number that they do
 * not tell is taken as ASSUMED, with a warning. On the device the body is there once: each round
 * costs every engine a compare and a branch, and uses the tiles of the first round again. */
#include "nki/api/api_language.h"

#define ASSUMED 8          /* rounds, or whatever else an unknown number counts */
#define MOST_FOLLOWED 4096 /* elements of a copy that is followed back to an input */
#define MOST_REGISTERS 65536

static const enum nki_engine sequencers[] = {NKI_ENGINE_VECTOR, NKI_ENGINE_TENSOR,
                                             NKI_ENGINE_SCALAR, NKI_ENGINE_GPSIMD};

/* What a register holds now. The number is that of the load or the value it was made by. */
struct api_register {
    int32_t number;
    bool known;
    int64_t value;
};
/* A load whose number is not known, and how often it was reached. */
struct api_unknown {
    const struct nki_node *node;
    int64_t times;
    struct api_unknown *next;
};

/* ---- registers ------------------------------------------------------------------------------ */

static struct api_register *register_at(struct interp *in, struct value v) {
    return v.kind == VALUE_REGISTER ? &api_of(in)->registers[v.i] : NULL;
}

static bool new_register(struct interp *in, const struct nki_node *node, struct value *result) {
    struct api *api = api_of(in);
    if (!api->registers)
        api->registers = ARENA_ARRAY(interp_scratch(in), struct api_register, MOST_REGISTERS);
    if (api->n_registers == MOST_REGISTERS)
        return interp_error(in, node, "", "more than %d registers", MOST_REGISTERS);
    *result = (struct value){.kind = VALUE_REGISTER, .i = api->n_registers++};
    return true;
}

static void set_known(struct api_register *reg, int64_t value) {
    *reg = (struct api_register){.number = -1, .known = true, .value = (int32_t)value};
}

bool api_register_value(struct interp *in, struct value v, int64_t *value) {
    const struct api_register *reg = register_at(in, v);
    if (reg)
        *value = reg->value;
    return reg != NULL;
}

struct nki_operand api_register_operand(struct interp *in, struct value v) {
    const struct api_register *reg = register_at(in, v);
    return reg->known ? operand_int(reg->value)
                      : (struct nki_operand){.kind = NKI_OPERAND_REG, .i = reg->number};
}

static bool isa_register_alloc(struct interp *in, const struct call *call, struct value *result) {
    struct value v[1];
    int64_t value = 0;
    if (!api_bind(in, call, "x=None", v) ||
        (v[0].kind != VALUE_NONE && !api_want_int(in, call->node, "x", v[0], &value)) ||
        !new_register(in, call->node, result))
        return false;
    set_known(register_at(in, *result), value);
    return true;
}

static bool want_register(struct interp *in, const struct nki_node *node, const char *what,
                          struct value v, struct api_register **reg) {
    *reg = register_at(in, v);
    return *reg || interp_error(in, node, "", "%s is a register, of nisa.register_alloc; found %s",
                                what, value_type_name(v));
}

static bool isa_register_move(struct interp *in, const struct call *call, struct value *result) {
    struct value v[3];
    struct api_register *dst;
    int64_t value;
    *result = NONE_VALUE;
    if (!api_bind(in, call, "dst, src=None, imm=None", v) ||
        !want_register(in, call->node, "dst", v[0], &dst))
        return false;
    struct value from = v[1].kind == VALUE_NONE ? v[2] : v[1];
    if (from.kind == VALUE_REGISTER) {
        *dst = *register_at(in, from);
        return true;
    }
    if (!api_want_int(in, call->node, "src", from, &value))
        return false;
    set_known(dst, value);
    return true;
}

/* ---- where a number comes from -------------------------------------------------------------- */

/* An element of a storage. */
struct element {
    uint32_t storage;
    int64_t partition, offset;
};

static struct element element_at(const struct interp *in, const struct nki_ap *ap, int64_t index) {
    const struct nki_program *program = interp_program((struct interp *)(uintptr_t)in);
    bool on_chip = program->storages.at[ap->storage].space != NKI_HBM;
    struct element e = {ap->storage, on_chip ? ap->partition : 0, ap->offset};
    for (int d = ap->n_dims - 1; d >= 0; d--) {
        int64_t at = index % ap->count[d] * ap->step[d];
        *(on_chip && d == 0 ? &e.partition : &e.offset) += at;
        index /= ap->count[d];
    }
    return e;
}

/* The number of the element within the pattern; -1: it has none. */
static int64_t index_of(const struct interp *in, const struct nki_ap *ap, struct element e) {
    int64_t n = nki_ap_count(ap);
    for (int64_t i = 0; ap->storage == e.storage && i < n && n <= MOST_FOLLOWED; i++) {
        struct element at = element_at(in, ap, i);
        if (at.partition == e.partition && at.offset == e.offset)
            return i;
    }
    return -1;
}

static bool writes(const struct nki_instr *instr, uint32_t storage) {
    const struct nki_op_row *row = nki_op_row((enum nki_op)instr->op);
    for (size_t k = 0; k < instr->n_operands; k++)
        if (nki_role_writes(row->params[k].role) && instr->operands[k].kind == NKI_OPERAND_AP &&
            instr->operands[k].ap->storage == storage)
            return true;
    return false;
}

static bool number_in(const struct array *array, int64_t at, int64_t *value) {
    if (!array->data || at < 0 || at >= array_count(array))
        return false;
    switch (array->dtype) {
    case DTYPE_INT64: *value = ((const int64_t *)array->data)[at]; return true;
    case DTYPE_INT32: *value = ((const int32_t *)array->data)[at]; return true;
    case DTYPE_UINT32: *value = ((const uint32_t *)array->data)[at]; return true;
    case DTYPE_INT16: *value = ((const int16_t *)array->data)[at]; return true;
    case DTYPE_UINT8: *value = ((const uint8_t *)array->data)[at]; return true;
    default: return false;
    }
}

/* Inputs by name have the name of their parameter. */
static bool number_of_input(struct interp *in, const struct nki_storage *storage, int64_t at,
                            int64_t *value) {
    const struct nki_specialise_options *options = interp_options(in);
    for (size_t i = 0; i < options->n_inputs; i++) {
        const struct nki_input *input = &options->inputs[i];
        bool is_it = input->place  ? input->place - 1 == storage->input
                     : input->name ? strcmp(input->name, storage->name) == 0
                                   : (int32_t)i == storage->input;
        if (is_it && input->kind == NKI_INPUT_ARRAY)
            return number_in(&input->array, at, value);
    }
    return false;
}

/* Whether an element is a copy of one of an input whose data is at hand. */
static bool number_at(struct interp *in, struct element e, int64_t *value) {
    const struct nki_program *program = interp_program(in);
    for (size_t i = program->instrs.len; i-- > 0;) {
        const struct nki_instr *instr = &program->instrs.at[i];
        if (!writes(instr, e.storage))
            continue;
        bool copies = instr->op == NKI_OP_DMA_COPY || instr->op == NKI_OP_TENSOR_COPY;
        const struct nki_operand *src = &instr->operands[NKI_DMA_COPY_src];
        if (!copies || instr->mask || src->kind != NKI_OPERAND_AP || src->ap->indirect ||
            instr->operands[NKI_DST].ap->indirect)
            return false;
        int64_t index = index_of(in, instr->operands[NKI_DST].ap, e);
        if (index >= 0)
            e = element_at(in, src->ap, index);
    }
    const struct nki_storage *storage = &program->storages.at[e.storage];
    return storage->input >= 0 && number_of_input(in, storage, e.offset, value);
}

/* Numbers that stay unknown: as ASSUMED, and 0 after so many times, which ends a `while`. */
static int64_t assumed(struct interp *in, const struct nki_node *node) {
    struct api_unknown **at = &api_of(in)->unknown;
    while (*at && (*at)->node != node)
        at = &(*at)->next;
    if (!*at) {
        *at = ARENA_NEW(interp_scratch(in), struct api_unknown);
        (*at)->node = node;
        interp_warn(in, node, "hone-dynamic",
                    "only the device knows this number: %d is assumed, so a loop that it counts is "
                    "timed with %d rounds",
                    ASSUMED, ASSUMED);
    }
    return (*at)->times++ < ASSUMED ? ASSUMED : 0;
}

/* ---- loads and stores ----------------------------------------------------------------------- */

static bool emit_on_all(struct interp *in, const struct nki_node *node, int32_t number,
                        const struct tensor *src) {
    for (size_t i = 0; i < COUNT_OF(sequencers); i++) {
        struct api_build b;
        api_start(&b, in, node, NKI_OP_REGISTER_LOAD);
        api_put(&b, NKI_REGISTER_LOAD_dst,
                (struct nki_operand){.kind = NKI_OPERAND_REG, .i = number});
        api_put_tensor(&b, NKI_REGISTER_LOAD_src, src);
        b.engine = sequencers[i];
        if (!api_emit(&b))
            return false;
    }
    return true;
}

/* Sequencers read SBUF; what lies in HBM is moved there first. */
static const struct tensor *in_sbuf(struct interp *in, const struct nki_node *node,
                                    const struct tensor *src) {
    struct api_build b;
    if (src->space != NKI_HBM)
        return src;
    struct tensor *tile = tensor_tile(in, node, NKI_SBUF, src->dtype, (int64_t[]){1, 1}, 2);
    api_start(&b, in, node, NKI_OP_DMA_COPY);
    if (!tile)
        return NULL;
    api_put_tensor(&b, NKI_DMA_COPY_dst, tile);
    api_put_tensor(&b, NKI_DMA_COPY_src, src);
    return api_emit(&b) ? tile : NULL;
}

static bool isa_register_load(struct interp *in, const struct call *call, struct value *result) {
    struct value v[2];
    struct api_register *dst;
    const struct tensor *src;
    *result = NONE_VALUE;
    if (!api_bind(in, call, "dst, src", v) || !want_register(in, call->node, "dst", v[0], &dst) ||
        !api_want_tensor(in, call->node, "src", v[1], &src))
        return false;
    if (tensor_count(src) != 1 || src->indirect)
        return interp_error(in, call->node, "", "a register holds one number; src has shape %s",
                            tensor_shape_text(in, src));
    const struct nki_ap *ap = tensor_ap(in, call->node, src, NULL);
    int64_t value = 0;
    if (!ap)
        return false;
    bool known = number_at(in, element_at(in, ap, 0), &value);
    *dst = (struct api_register){.number = interp_program(in)->n_registers++,
                                 .value = known ? value : assumed(in, call->node)};
    src = in_sbuf(in, call->node, src);
    return src && emit_on_all(in, call->node, dst->number, src);
}

/* Writes what the register holds. */
static bool isa_register_store(struct interp *in, const struct call *call, struct value *result) {
    struct value v[2];
    struct api_register *src;
    const struct tensor *dst;
    struct api_build b;
    *result = NONE_VALUE;
    if (!api_bind(in, call, "dst, src", v) || !want_register(in, call->node, "src", v[1], &src) ||
        !api_want_tensor(in, call->node, "dst", v[0], &dst))
        return false;
    if (tensor_count(dst) != 1 || dst->space == NKI_HBM || !src->known)
        return interp_error(in, call->node, "",
                            "nisa.register_store: hone knows it for a number that the kernel set, "
                            "and one element of SBUF");
    api_start(&b, in, call->node, NKI_OP_MEMSET);
    api_put_tensor(&b, NKI_MEMSET_dst, dst);
    api_put(&b, NKI_MEMSET_value, operand_int(src->value));
    return api_emit(&b);
}

const struct value_native api_dynamic_natives[] = {
    {"nisa.register_alloc", isa_register_alloc, NULL},
    {"nisa.register_move", isa_register_move, NULL},
    {"nisa.register_load", isa_register_load, NULL},
    {"nisa.register_store", isa_register_store, NULL},
    {NULL, NULL, NULL},
};

/* ---- loops ---------------------------------------------------------------------------------- */

/* A loop that is run: the tiles of its first round, in the order they were made. */
struct api_loop {
    struct value_seq *tiles;
    size_t at; /* how many this round has made */
    bool first;
    struct api_loop *outer;
};

/* Each engine compares and branches. The first time it is also held against what the register that
 * decides it holds. */
static bool emit_branch(struct interp *in, const struct nki_node *node, struct value decides) {
    for (size_t i = 0; i < COUNT_OF(sequencers); i++) {
        struct api_build b;
        const struct api_register *reg = register_at(in, decides);
        api_start(&b, in, node, NKI_OP_LOOP_BRANCH);
        b.engine = sequencers[i];
        if (reg && !reg->known && i == 0) {
            api_put(&b, NKI_LOOP_BRANCH_dst,
                    (struct nki_operand){.kind = NKI_OPERAND_REG, .i = reg->number});
            api_put(&b, NKI_LOOP_BRANCH_value, operand_int(reg->value));
        }
        if (!api_emit(&b))
            return false;
    }
    return true;
}

bool api_loop_begin(struct interp *in, const struct nki_node *node) {
    struct api *api = api_of(in);
    if (api->order_group)
        return interp_error(in, node, "",
                            "a loop on the device cannot be inside nl.no_reorder(): put "
                            "nl.no_reorder() inside the loop");
    struct api_loop *loop = ARENA_NEW(interp_scratch(in), struct api_loop);
    *loop = (struct api_loop){value_tuple(in, NULL, 0).seq, 0, true, api->loop};
    api->loop = loop;
    interp_program(in)->n_registers++; /* it counts in one, so no loop around it is folded */
    interp_on_device(in, 1);
    return true;
}

bool api_loop_round(struct interp *in, const struct nki_node *node, struct value decides) {
    return emit_branch(in, node, decides);
}

void api_loop_next(struct interp *in) {
    struct api_loop *loop = api_of(in)->loop;
    loop->first = false;
    loop->at = 0;
}

void api_loop_end(struct interp *in) {
    api_of(in)->loop = api_of(in)->loop->outer;
    interp_on_device(in, -1);
}

uint32_t api_loop_tile(struct interp *in, uint32_t storage) {
    const struct nki_program *program = interp_program(in);
    const struct nki_storage *made = &program->storages.at[storage];
    for (struct api_loop *loop = api_of(in)->loop; loop; loop = loop->outer) {
        if (loop->first) {
            value_push(in, loop->tiles, value_int(storage));
            continue;
        }
        if (loop->at >= loop->tiles->items.len)
            return 0;
        uint32_t same = (uint32_t)loop->tiles->items.at[loop->at++].i;
        const struct nki_storage *old = &program->storages.at[same];
        bool alike = old->space == made->space && old->blocks == made->blocks &&
                     old->block_bytes == made->block_bytes && old->partitions == made->partitions;
        return !alike ? 0 : old->again ? old->again : same + 1;
    }
    return 0;
}
