/* SPDX-License-Identifier: Apache-2.0 */
/* What only the device knows: registers, and NkiScalars, which have operators. The program stays a
 * flat list, so a loop that they count is run as often as the inputs at hand say (api_loops.c), and
 * a number that they do not tell is taken as ASSUMED, with a warning. */
#include "nki/api/api.h"

#define ASSUMED 8          /* rounds, or whatever else an unknown number counts */
#define MOST_FOLLOWED 4096 /* elements of a copy that is followed back to an input */
#define MOST_REGISTERS 65536

const enum nki_engine api_sequencers[4] = {NKI_ENGINE_VECTOR, NKI_ENGINE_TENSOR, NKI_ENGINE_SCALAR,
                                           NKI_ENGINE_GPSIMD};

/* What a register holds now. The number is that of the load or the value it was made by. An
 * NkiScalar is a register that is written once, of int32 or int64. */
struct api_register {
    int32_t number;
    bool known;
    enum dtype scalar; /* DTYPE_NONE: it is no NkiScalar */
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
        return interp_error(in, node, "hone-limit", "more than %d registers", MOST_REGISTERS);
    *result = (struct value){.kind = VALUE_REGISTER, .i = api->n_registers++};
    return true;
}

static void set_known(struct api_register *reg, int64_t value) {
    *reg = (struct api_register){.number = -1, .known = true, .value = (int32_t)value};
}

enum dtype api_scalar_dtype(struct interp *in, struct value v) {
    const struct api_register *reg = register_at(in, v);
    return reg ? reg->scalar : DTYPE_NONE;
}

bool api_register_value(struct interp *in, struct value v, int64_t *value) {
    const struct api_register *reg = register_at(in, v);
    if (reg)
        *value = reg->value;
    return reg != NULL;
}

bool api_known(struct interp *in, struct value v, int64_t *number) {
    const struct api_register *reg = register_at(in, v);
    if (v.kind == VALUE_INT)
        *number = v.i;
    else if (reg && reg->known)
        *number = reg->value;
    return v.kind == VALUE_INT || (reg && reg->known);
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
    if (*reg && !(*reg)->scalar)
        return true;
    return interp_error(
        in, node, "TypeError", "%s is a register, of nisa.register_alloc; found %s%s", what,
        *reg ? "NkiScalar" : value_type_name(v), *reg ? ", which is written once" : "");
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
    bool on_chip = program->storages.at[ap->storage]->space != NKI_HBM;
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
        if (!copies || instr->more->mask || src->kind != NKI_OPERAND_AP || src->ap->indirect ||
            instr->operands[NKI_DST].ap->indirect)
            return false;
        int64_t index = index_of(in, instr->operands[NKI_DST].ap, e);
        if (index >= 0)
            e = element_at(in, src->ap, index);
    }
    const struct nki_storage *storage = program->storages.at[e.storage];
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
    for (size_t i = 0; i < COUNT_OF(api_sequencers); i++) {
        struct api_build b;
        api_start(&b, in, node, NKI_OP_REGISTER_LOAD);
        api_put(&b, NKI_REGISTER_LOAD_dst,
                (struct nki_operand){.kind = NKI_OPERAND_REG, .i = number});
        api_put_tensor(&b, NKI_REGISTER_LOAD_src, src);
        b.engine = api_sequencers[i];
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

/* The register gets the one element of src. */
static bool load(struct interp *in, const struct nki_node *node, const struct tensor *src,
                 struct api_register *dst) {
    if (tensor_count(src) != 1 || src->indirect)
        return interp_error(in, node, "hone-shape", "a register holds one number; src has shape %s",
                            tensor_shape_text(in, src));
    const struct nki_ap *ap = tensor_ap(in, node, src, NULL);
    int64_t value = 0;
    if (!ap)
        return false;
    const struct nki_specialise_options *options = interp_options(in);
    size_t number = (size_t)interp_program(in)->n_registers;
    bool told = number < options->n_told && options->told[number].is;
    bool known = told || number_at(in, element_at(in, ap, 0), &value);
    if (told)
        value = options->told[number].value;
    else if (src->dtype == DTYPE_INT32) /* what an input of int64 has is cut on its way here */
        value = MAX_OF(MIN_OF(value, INT32_MAX), INT32_MIN);
    *dst = (struct api_register){.number = interp_program(in)->n_registers++,
                                 .scalar = dst->scalar,
                                 .value = known ? value : assumed(in, node)};
    src = in_sbuf(in, node, src);
    return src && emit_on_all(in, node, dst->number, src);
}

/* A register has 32 bits. */
static bool want_narrow(struct interp *in, const struct nki_node *node, const char *what,
                        const struct tensor *tile) {
    return dtype_bytes(tile->dtype) <= 4 ||
           interp_error(in, node, "hone-dtype",
                        "%s is %s, a register has 32 bits: nisa.scalar_load and scalar_store take "
                        "64 bits",
                        what, dtype_name(tile->dtype));
}

static bool isa_register_load(struct interp *in, const struct call *call, struct value *result) {
    struct value v[2];
    struct api_register *dst;
    const struct tensor *src;
    size_t first = interp_program(in)->instrs.len;
    if (!api_bind(in, call, "dst, src", v) || !want_register(in, call->node, "dst", v[0], &dst) ||
        !api_want_tensor(in, call->node, "src", v[1], &src) ||
        !want_narrow(in, call->node, "src", src) || !load(in, call->node, src, dst))
        return false;
    *result = api_instruction(in, call->node, first);
    return true;
}

/* One element gets what the register holds. Sequencers write SBUF; DMA moves it on to HBM. */
static bool store(struct interp *in, const struct nki_node *node, const struct tensor *dst,
                  const struct api_register *src) {
    struct api_build b;
    if (tensor_count(dst) != 1 || dst->indirect)
        return interp_error(in, node, "hone-shape",
                            "a register is stored to one element; dst has shape %s",
                            tensor_shape_text(in, dst));
    const struct tensor *tile = dst;
    if (dst->space == NKI_HBM)
        tile = tensor_tile(in, node, NKI_SBUF, dst->dtype, (int64_t[]){1, 1}, 2);
    if (!tile)
        return false;
    api_start(&b, in, node, NKI_OP_REGISTER_STORE);
    api_put_tensor(&b, NKI_REGISTER_STORE_dst, tile);
    api_put(&b, NKI_REGISTER_STORE_src,
            src->known ? operand_int(src->value)
                       : (struct nki_operand){.kind = NKI_OPERAND_REG, .i = src->number});
    return api_emit(&b) && (tile == dst || api_copy(in, node, dst, tile, NULL));
}

static bool isa_register_store(struct interp *in, const struct call *call, struct value *result) {
    struct value v[2];
    struct api_register *src;
    const struct tensor *dst;
    size_t first = interp_program(in)->instrs.len;
    if (!api_bind(in, call, "dst, src", v) || !want_register(in, call->node, "src", v[1], &src) ||
        !api_want_tensor(in, call->node, "dst", v[0], &dst) ||
        !want_narrow(in, call->node, "dst", dst) || !store(in, call->node, dst, src))
        return false;
    *result = api_instruction(in, call->node, first);
    return true;
}

/* ---- copies (up to NKI 0.3; in the legacy dialect the index is t[p, number[0, 0] + f]) ------- */

static bool want_engine(struct interp *in, const struct nki_node *node, struct value v,
                        enum nki_engine *engine) {
    if (v.kind == VALUE_NONE)
        return true;
    if (v.kind != VALUE_ENUM || strcmp(v.enumeration->type, "engine") != 0)
        return interp_error(in, node, "hone-enum", "engine must be a member of nisa.engine");
    *engine = (enum nki_engine)v.enumeration->number;
    return true;
}

/* nisa.tensor_copy_dynamic_src, which returns a new tile in the legacy dialect, and _dst (data is
 * set), which writes into the tile that it is given. */
static bool isa_copy_dynamic(struct interp *in, const struct call *call, struct value *result) {
    bool legacy = interp_dialect(in) == NKI_DIALECT_LEGACY, returns = legacy && !call->data;
    struct value v[6];
    const struct tensor *src, *dst = NULL;
    struct tensor *tile = NULL;
    struct api_build b;
    enum dtype dtype;
    *result = NONE_VALUE;
    if (!api_bind(in, call,
                  returns  ? "src, *, dst=None, engine=None, dtype=None, mask=None, name=None"
                  : legacy ? "*, src, dst, engine=None, dtype=None, mask=None, name=None"
                           : "src, dst, engine=None, dtype=None, mask=None, name=None",
                  v) ||
        !api_want_tensor(in, call->node, "src", v[0], &src) ||
        !api_want_dtype(in, call->node, v[3], &dtype))
        return false;
    api_start(&b, in, call->node, NKI_OP_TENSOR_COPY);
    b.dynamic = true;
    if (!api_want_mask(in, call->node, v[4], &b.mask) ||
        !want_engine(in, call->node, v[2], &b.engine))
        return false;
    if (returns)
        dst = tile = api_tile_like(in, call->node, src, NKI_SBUF, dtype ? dtype : src->dtype);
    else if (!api_want_tensor(in, call->node, "dst", v[1], &dst))
        return false;
    if (!dst)
        return false;
    api_put_tensor(&b, NKI_DST, dst);
    api_put_tensor(&b, NKI_TENSOR_COPY_src, src);
    if (!api_emit(&b))
        return false;
    if (tile)
        *result = value_tensor(tile);
    return true;
}

/* ---- NkiScalar (nki.isa.NkiScalar of NKI 0.7) ------------------------------------------------ */

static bool want_scalar_tile(struct interp *in, const struct nki_node *node, const char *what,
                             struct value v, const struct tensor **tile) {
    if (!api_want_tensor(in, node, what, v, tile))
        return false;
    enum dtype dtype = (*tile)->dtype;
    if (dtype != DTYPE_INT32 && dtype != DTYPE_INT64)
        return interp_error(in, node, "hone-dtype", "%s is a tile of int32 or int64; found %s%s",
                            what, dtype_name(dtype),
                            dtype_kind(dtype) == 'u' ? ": view it as the signed type" : "");
    return true;
}

static bool isa_scalar_load(struct interp *in, const struct call *call, struct value *result) {
    struct value v[1];
    const struct tensor *src;
    if (!api_bind(in, call, "src", v) || !want_scalar_tile(in, call->node, "src", v[0], &src) ||
        !new_register(in, call->node, result))
        return false;
    struct api_register *dst = register_at(in, *result);
    *dst = (struct api_register){.scalar = src->dtype};
    return load(in, call->node, src, dst);
}

static bool isa_scalar_store(struct interp *in, const struct call *call, struct value *result) {
    struct value v[2];
    const struct tensor *dst;
    size_t first = interp_program(in)->instrs.len;
    if (!api_bind(in, call, "dst, value", v) ||
        !want_scalar_tile(in, call->node, "dst", v[0], &dst))
        return false;
    enum dtype dtype = api_scalar_dtype(in, v[1]);
    if (dtype == DTYPE_NONE)
        return interp_error(in, call->node, "TypeError",
                            "value is an NkiScalar; found %s: nisa.memset fills a tile with a "
                            "number that is known",
                            value_type_name(v[1]));
    if (dtype != dst->dtype)
        return interp_error(in, call->node, "hone-dtype",
                            "an NkiScalar of %s cannot be stored to a tile of %s: they have one "
                            "width",
                            dtype_name(dtype), dtype_name(dst->dtype));
    if (!store(in, call->node, dst, register_at(in, v[1])))
        return false;
    *result = api_instruction(in, call->node, first);
    return true;
}

/* What both sides compute while the kernel is evaluated, as the device does: int32 wraps. */
static int64_t wrapped(enum nki_binary op, int64_t a, int64_t b, enum dtype dtype) {
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    uint64_t sum = op == NKI_ADD ? x + y : op == NKI_SUB ? x - y : x * y;
    return dtype == DTYPE_INT32 ? (int32_t)(uint32_t)sum : (int64_t)sum;
}

static bool emit_math(struct interp *in, const struct nki_node *node, enum nki_binary op,
                      const struct nki_operand sides[2], const struct api_register *dst) {
    for (size_t i = 0; i < COUNT_OF(api_sequencers); i++) {
        struct api_build b;
        api_start(&b, in, node, NKI_OP_REGISTER_MATH);
        b.engine = api_sequencers[i];
        api_put(&b, NKI_REGISTER_MATH_dst,
                (struct nki_operand){.kind = NKI_OPERAND_REG, .i = dst->number});
        api_put(&b, NKI_REGISTER_MATH_op, operand_func(api_binary_func(op)));
        api_put(&b, NKI_REGISTER_MATH_a, sides[0]);
        api_put(&b, NKI_REGISTER_MATH_b, sides[1]);
        api_put(&b, NKI_REGISTER_MATH_bits, operand_int(dst->scalar == DTYPE_INT32 ? 32 : 64));
        if (!api_emit(&b))
            return false;
    }
    return true;
}

/* The dtype of an operation on one or two NkiScalars. */
static bool scalar_types(struct interp *in, const struct nki_node *node, const struct value v[2],
                         const char *op, enum dtype *dtype) {
    *dtype = DTYPE_NONE;
    for (int k = 0; k < 2; k++) {
        enum dtype of = api_scalar_dtype(in, v[k]);
        if (of == DTYPE_NONE && v[k].kind == VALUE_REGISTER)
            return interp_error(in, node, "TypeError",
                                "a register has no operators: nisa.scalar_load makes an "
                                "NkiScalar, which has + - * (since NKI 0.7)");
        if (of == DTYPE_NONE && v[k].kind != VALUE_INT)
            return interp_error(in, node, "TypeError",
                                "%s of an NkiScalar takes an integer or another NkiScalar; found "
                                "%s",
                                op, value_type_name(v[k]));
        if (of != DTYPE_NONE && *dtype != DTYPE_NONE && of != *dtype)
            return interp_error(in, node, "TypeError",
                                "%s of NkiScalars of %s and %s: both sides have one dtype", op,
                                dtype_name(*dtype), dtype_name(of));
        *dtype = of != DTYPE_NONE ? of : *dtype;
    }
    return true;
}

bool api_scalar_binary(struct interp *in, const struct nki_node *node, enum nki_binary op,
                       struct value a, struct value b, struct value *result) {
    struct value v[2] = {a, b};
    int64_t holds[2];
    struct nki_operand sides[2];
    enum dtype dtype;
    if (!scalar_types(in, node, v, nki_binary_text(op), &dtype))
        return false;
    if (op != NKI_ADD && op != NKI_SUB && op != NKI_MUL)
        return interp_error(in, node, "TypeError", "an NkiScalar has + - * only; found %s",
                            nki_binary_text(op));
    for (int k = 0; k < 2; k++) {
        bool number = v[k].kind == VALUE_INT;
        sides[k] = number ? operand_int(v[k].i) : api_register_operand(in, v[k]);
        holds[k] = v[k].i;
        if (!number)
            (void)api_register_value(in, v[k], &holds[k]);
    }
    if (!new_register(in, node, result))
        return false;
    struct api_register *dst = register_at(in, *result);
    *dst = (struct api_register){.number = interp_program(in)->n_registers++,
                                 .known = sides[0].kind == NKI_OPERAND_INT &&
                                          sides[1].kind == NKI_OPERAND_INT,
                                 .scalar = dtype,
                                 .value = wrapped(op, holds[0], holds[1], dtype)};
    return emit_math(in, node, op, sides, dst);
}

struct value api_scalar_index(struct interp *in, const struct nki_node *node, int64_t value) {
    struct value result;
    if (!new_register(in, node, &result))
        return NONE_VALUE;
    set_known(register_at(in, result), value);
    register_at(in, result)->scalar = DTYPE_INT32;
    return result;
}

const struct value_native api_dynamic_natives[] = {
    {"nisa.register_alloc", isa_register_alloc, NULL},
    {"nisa.register_move", isa_register_move, NULL},
    {"nisa.register_load", isa_register_load, NULL},
    {"nisa.register_store", isa_register_store, NULL},
    {"nisa.tensor_copy_dynamic_src", isa_copy_dynamic, NULL},
    {"nisa.tensor_copy_dynamic_dst", isa_copy_dynamic, "dst"},
    {"nisa.scalar_load", isa_scalar_load, NULL},
    {"nisa.scalar_store", isa_scalar_store, NULL},
    {NULL, NULL, NULL},
};
