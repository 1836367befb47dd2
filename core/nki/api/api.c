/* SPDX-License-Identifier: Apache-2.0 */
/* What the interpreter asks of the API: modules by path, operators, attributes and items of tensors
 * and constants, contexts. Parameters and results of the kernel are in api_kernel.c. */
#include "nki/api/api.h"

#include <math.h>
#include <stdio.h>

#include "base/half/half.h"

/* ---- enumerations --------------------------------------------------------------------------- */

/* nisa enums, by their documented numbers (nki.isa reference). */
static const struct value_enum members[] = {
    {"engine", "unknown", NKI_ENGINE_UNKNOWN},
    {"engine", "tensor", NKI_ENGINE_TENSOR},
    {"engine", "scalar", NKI_ENGINE_SCALAR},
    {"engine", "gpsimd", NKI_ENGINE_GPSIMD},
    {"engine", "dma", NKI_ENGINE_DMA},
    {"engine", "vector", NKI_ENGINE_VECTOR},
    {"engine", "sync", NKI_ENGINE_SYNC},
    {"engine", "pe", NKI_ENGINE_TENSOR},
    {"engine", "act", NKI_ENGINE_SCALAR},
    {"engine", "dve", NKI_ENGINE_VECTOR},
    {"engine", "pool", NKI_ENGINE_GPSIMD},
    {"reduce_cmd", "idle", NKI_REDUCE_IDLE},
    {"reduce_cmd", "reset", NKI_REDUCE_RESET},
    {"reduce_cmd", "reduce", NKI_REDUCE_REDUCE},
    {"reduce_cmd", "reset_reduce", NKI_REDUCE_RESET_REDUCE},
    {"reduce_cmd", "load_reduce", NKI_REDUCE_LOAD_REDUCE},
    {"dge_mode", "unknown", NKI_DGE_UNKNOWN},
    {"dge_mode", "swdge", NKI_DGE_SWDGE},
    {"dge_mode", "hwdge", NKI_DGE_HWDGE},
    {"dge_mode", "none", NKI_DGE_NONE},
    {"oob_mode", "error", NKI_OOB_ERROR},
    {"oob_mode", "skip", NKI_OOB_SKIP},
    {"matmul_perf_mode", "none", NKI_PERF_NONE},
    {"matmul_perf_mode", "double_row", NKI_PERF_DOUBLE_ROW},
    {"matmul_perf_mode", "double_column", NKI_PERF_DOUBLE_COLUMN},
    {"matmul_perf_mode", "double_pixel", NKI_PERF_DOUBLE_PIXEL},
    {"matmul_perf_mode", "double_row_sw_interleave", NKI_PERF_DOUBLE_ROW_SW_INTERLEAVE},
    {"matmul_perf_mode", "double_row_gen3", NKI_PERF_DOUBLE_ROW},
#define GENERATION(id, number, name, alias, ...) {"nc_version", alias, number},
#include "nki/program/generations.def"
#undef GENERATION
    {"dma_engine", "dma", 1},
    {"dma_engine", "gpsimd_dma", 2},
};

bool api_enum_member(const char *type, struct str member, struct value *result) {
    for (size_t i = 0; i < COUNT_OF(members); i++)
        if (strcmp(members[i].type, type) == 0 && str_is(member, members[i].member)) {
            *result = (struct value){.kind = VALUE_ENUM, .enumeration = &members[i]};
            return true;
        }
    return false;
}

const char *nki_enum_member_at(const char *type, size_t index) {
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        bool again = strcmp(members[i].type, type) != 0;
        for (size_t k = 0; k < i && !again; k++)
            again = !strcmp(members[k].type, type) && members[k].number == members[i].number;
        if (!again && index-- == 0)
            return members[i].member;
    }
    return NULL;
}

static bool enum_get(struct interp *in, const struct nki_node *node,
                     const struct value_module *module, struct str name, struct value *result) {
    (void)in;
    (void)node;
    return api_enum_member(module->name + strlen("nki.isa."), name, result);
}

static const struct value_module enums[] = {
    {"nki.isa.engine", enum_get},           {"nki.isa.reduce_cmd", enum_get},
    {"nki.isa.dge_mode", enum_get},         {"nki.isa.oob_mode", enum_get},
    {"nki.isa.matmul_perf_mode", enum_get}, {"nki.isa.nc_version", enum_get},
    {"nki.isa.dma_engine", enum_get},
};

static const struct value_module *enum_module(struct str name) {
    for (size_t i = 0; i < COUNT_OF(enums); i++)
        if (str_is(name, enums[i].name + strlen("nki.isa.")))
            return &enums[i];
    return NULL;
}

/* ---- nki.isa -------------------------------------------------------------------------------- */

static const struct value_native instructions[NKI_OP_COUNT] = {
#define INSTR(id, name, ...) \
    [NKI_OP_##id] = {"nisa." name, api_isa_call, (const void *)(uintptr_t)NKI_OP_##id},
#include "nki/program/instructions.def"
#undef INSTR
};

static bool nc_version(struct interp *in, const struct call *call, struct value *result) {
    (void)call;
    const char *alias = nki_generation_alias(interp_program(in)->generation);
    return api_enum_member("nc_version", str_of(alias), result);
}

static bool nc_sub_version(struct interp *in, const struct call *call, struct value *result) {
    (void)in;
    (void)call;
    *result = value_int(0);
    return true;
}

static const struct value_native isa_natives[] = {
    {"nisa.core_barrier", api_core_barrier, NULL},
    {"nisa.sendrecv", api_sendrecv, NULL},
    {"nisa.get_nc_version", nc_version, NULL},
    {"nisa.get_nc_sub_version", nc_sub_version, NULL},
};

/* nisa.tensor_engine and the like are the members of nisa.engine. */
static bool engine_constant(struct str name, struct value *result) {
    if (!str_ends(name, "_engine"))
        return false;
    return api_enum_member("engine", (struct str){name.at, name.len - strlen("_engine")}, result);
}

static bool isa_get(struct interp *in, const struct nki_node *node,
                    const struct value_module *module, struct str name, struct value *result) {
    (void)in;
    (void)node;
    (void)module;
    const struct value_module *enumeration = enum_module(name);
    for (int op = 0; op < NKI_OP_COUNT; op++)
        if (nki_op_is_called((enum nki_op)op) && str_is(name, nki_op_name((enum nki_op)op))) {
            *result = (struct value){.kind = VALUE_NATIVE, .native = &instructions[op]};
            return true;
        }
    for (size_t i = 0; i < COUNT_OF(isa_natives); i++)
        if (str_is(name, isa_natives[i].name + strlen("nisa."))) {
            *result = (struct value){.kind = VALUE_NATIVE, .native = &isa_natives[i]};
            return true;
        }
    for (const struct value_native *native = api_dynamic_natives; native->name; native++)
        if (str_is(name, native->name + strlen("nisa."))) {
            *result = (struct value){.kind = VALUE_NATIVE, .native = native};
            return true;
        }
    if (enumeration) {
        *result = (struct value){.kind = VALUE_MODULE, .module = enumeration};
        return true;
    }
    return engine_constant(name, result) || api_class_name(in, "nisa", name, result);
}

/* ---- nki.language --------------------------------------------------------------------------- */

/* nl.tile_size (nki.language reference). Its SBUF is what the compiler leaves to kernels. */
static bool tile_size_get(struct interp *in, const struct nki_node *node,
                          const struct value_module *module, struct str name,
                          struct value *result) {
    (void)node;
    (void)module;
    int64_t bytes = nki_generation_sbuf_bytes(interp_program(in)->generation);
    const struct {
        const char *name;
        int64_t value;
    } sizes[] = {
        {"pmax", 128},
        {"psum_fmax", 512},
        {"psum_bank_fmax", 512},
        {"psum_bank_fmax_bytes", 2048},
        {"psum_num_banks", 8},
        {"gemm_stationary_fmax", 128},
        {"gemm_moving_fmax", 512},
        {"bn_stats_fmax", 512},
        {"psum_min_align", 4},
        {"sbuf_min_align", 1},
        {"total_available_sbuf_size", bytes},
        {"sbuf_fmax_bytes", bytes},
        {"sbuf_fmax", bytes / 4},
        {"sbuf_size_bytes", bytes * NKI_PARTITIONS},
    };
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        if (str_is(name, sizes[i].name)) {
            *result = value_int(sizes[i].value);
            return true;
        }
    return false;
}

static const struct value_module tile_size = {"nki.language.tile_size", tile_size_get};

static bool language_get(struct interp *in, const struct nki_node *node,
                         const struct value_module *module, struct str name, struct value *result) {
    (void)module;
    if (str_is(name, "tile_size")) {
        *result = (struct value){.kind = VALUE_MODULE, .module = &tile_size};
        return true;
    }
    return api_language_name(in, node, name, result);
}

/* ---- nki and what else belongs to it -------------------------------------------------------- */

/* nki.jit and its relatives leave a function as it is. Called with options, they return
 * themselves. */
static bool decorate(struct interp *in, const struct call *call, struct value *result);
static const struct value_native decorator = {"nki.jit", decorate, NULL};

static bool decorate(struct interp *in, const struct call *call, struct value *result) {
    (void)in;
    *result = call->n_args == 1 ? call->args[0]
                                : (struct value){.kind = VALUE_NATIVE, .native = &decorator};
    return true;
}

/* Allocation policies are ignored: hone places tiles itself, as the compiler does without them. But
 * they forbid what needs tiles that nobody allocates. */
static bool allocator(struct interp *in, const struct call *call, struct value *result) {
    const enum nki_space *space = call->data;
    *result = api_buffer_value((struct api_buffer){.space = *space, .own = true});
    return api_allocates(in);
}

static bool no_allocator(struct interp *in, const struct call *call, struct value *result) {
    const enum nki_space *space = call->data;
    (void)in;
    *result = api_buffer_value((struct api_buffer){.space = *space});
    return true;
}
static const enum nki_space sbuf_space = NKI_SBUF, psum_space = NKI_PSUM;
static const struct value_native allocators[2][2] = {
    {{"nki.compiler.sbuf.alloc", allocator, &sbuf_space},
     {"nki.compiler.psum.alloc", allocator, &psum_space}},
    {{"nki.compiler.sbuf.auto_alloc", no_allocator, &sbuf_space},
     {"nki.compiler.psum.auto_alloc", no_allocator, &psum_space}},
};
static const struct value_native annotation = {"nki.typing", nl_nothing, NULL};
static const struct value_native compiler_context = {"nki.compiler.context", nl_context, NULL};

static bool alloc_get(struct interp *in, const struct nki_node *node,
                      const struct value_module *module, struct str name, struct value *result) {
    (void)node;
    (void)in;
    if (!str_is(name, "alloc") && !str_is(name, "mod_alloc") && !str_is(name, "auto_alloc"))
        return false;
    bool psum = str_ends(str_of(module->name), "psum");
    *result = (struct value){.kind = VALUE_NATIVE,
                             .native = &allocators[str_is(name, "auto_alloc")][psum]};
    return true;
}

static const struct value_module sbuf_module = {"nki.compiler.sbuf", alloc_get};
static const struct value_module psum_module = {"nki.compiler.psum", alloc_get};

static bool compiler_get(struct interp *in, const struct nki_node *node,
                         const struct value_module *module, struct str name, struct value *result) {
    (void)in;
    (void)node;
    (void)module;
    if (str_is(name, "sbuf") || str_is(name, "psum"))
        *result = (struct value){.kind = VALUE_MODULE,
                                 .module = name.at[0] == 's' ? &sbuf_module : &psum_module};
    else if (str_is(name, "multi_buffer") || str_is(name, "allocation_scope") ||
             str_is(name, "no_reorder"))
        *result = (struct value){.kind = VALUE_NATIVE, .native = &compiler_context};
    else
        *result = (struct value){.kind = VALUE_NATIVE, .native = &decorator};
    return true;
}

static bool typing_get(struct interp *in, const struct nki_node *node,
                       const struct value_module *module, struct str name, struct value *result) {
    (void)in;
    (void)node;
    (void)module;
    (void)name;
    *result = (struct value){.kind = VALUE_NATIVE, .native = &annotation};
    return true;
}

static bool nki_get(struct interp *in, const struct nki_node *node,
                    const struct value_module *module, struct str name, struct value *result);
static bool numpy_get(struct interp *in, const struct nki_node *node,
                      const struct value_module *module, struct str name, struct value *result) {
    (void)module;
    return api_numpy_name(in, node, name, result);
}
static bool neuronxcc_get(struct interp *in, const struct nki_node *node,
                          const struct value_module *module, struct str name, struct value *result);

static bool collectives_get(struct interp *in, const struct nki_node *node,
                            const struct value_module *module, struct str name,
                            struct value *result) {
    (void)node;
    (void)module;
    return api_collectives_name(in, name, result);
}

static const struct value_module modules[] = {
    {"nki", nki_get},     {"nki.collectives", collectives_get}, {"nki.language", language_get},
    {"nki.isa", isa_get}, {"nki.typing", typing_get},           {"nki.compiler", compiler_get},
    {"numpy", numpy_get}, {"neuronxcc", neuronxcc_get},
};

static const struct value_module *api_module(struct interp *in, struct str path) {
    static const struct {
        const char *other, *name;
    } aliases[] = {
        {"neuronxcc.nki", "nki"},
        {"neuronxcc.nki.language", "nki.language"},
        {"neuronxcc.nki.isa", "nki.isa"},
        {"nki.isa.constants", "nki.isa"},
        {"neuronxcc.nki.isa.constants", "nki.isa"},
        {"neuronxcc.nki.typing", "nki.typing"},
        {"neuronxcc.nki.compiler", "nki.compiler"},
        {"neuronxcc.nki.compiler.sbuf", "sbuf"},
        {"jax.numpy", "numpy"},
        {"neuronxcc.nki._pre_prod_kernels", "nki"},
    };
    (void)in;
    for (size_t i = 0; i < COUNT_OF(aliases); i++)
        if (str_is(path, aliases[i].other))
            path = str_of(aliases[i].name);
    for (size_t i = 0; i < COUNT_OF(modules); i++)
        if (str_is(path, modules[i].name))
            return &modules[i];
    if (str_starts(path, "nki.isa."))
        return enum_module((struct str){path.at + 8, path.len - 8});
    return NULL;
}

static bool neuronxcc_get(struct interp *in, const struct nki_node *node,
                          const struct value_module *module, struct str name,
                          struct value *result) {
    (void)in;
    (void)node;
    (void)module;
    if (!str_is(name, "nki"))
        return false;
    *result = (struct value){.kind = VALUE_MODULE, .module = &modules[0]};
    return true;
}

static bool nki_get(struct interp *in, const struct nki_node *node,
                    const struct value_module *module, struct str name, struct value *result) {
    (void)node;
    (void)module;
    static const char *const decorators[] = {"jit",     "trace",           "benchmark", "baremetal",
                                             "profile", "simulate_kernel", "simulate"};
    char path[64];
    snprintf(path, sizeof path, "nki." STR_FMT, STR_ARG(name));
    const struct value_module *inner = api_module(in, str_of(path));
    if (inner) {
        *result = (struct value){.kind = VALUE_MODULE, .module = inner};
        return true;
    }
    for (size_t i = 0; i < COUNT_OF(decorators); i++)
        if (str_is(name, decorators[i])) {
            *result = (struct value){.kind = VALUE_NATIVE, .native = &decorator};
            return true;
        }
    return false;
}

/* ---- operators ------------------------------------------------------------------------------ */

enum nki_func api_binary_func(enum nki_binary op) {
    static const enum nki_func funcs[NKI_BINARY_COUNT] = {
        [NKI_ADD] = NKI_FUNC_ADD,
        [NKI_SUB] = NKI_FUNC_SUBTRACT,
        [NKI_MUL] = NKI_FUNC_MULTIPLY,
        [NKI_DIV] = NKI_FUNC_DIVIDE,
        [NKI_POW] = NKI_FUNC_POWER,
        [NKI_MOD] = NKI_FUNC_MOD,
        [NKI_BIT_AND] = NKI_FUNC_BITWISE_AND,
        [NKI_BIT_OR] = NKI_FUNC_BITWISE_OR,
        [NKI_BIT_XOR] = NKI_FUNC_BITWISE_XOR,
        [NKI_SHIFT_LEFT] = NKI_FUNC_LEFT_SHIFT,
        [NKI_SHIFT_RIGHT] = NKI_FUNC_RIGHT_SHIFT,
    };
    return funcs[op];
}

static bool tensor_binary(struct interp *in, const struct nki_node *node, enum nki_binary op,
                          struct value a, struct value b, struct value *result) {
    struct api_op lower = {.in = in, .node = node, .func = api_binary_func(op)};
    if (lower.func == NKI_FUNC_NONE)
        return interp_error(in, node, "hone-tensor-operator", "%s is not defined for tensors%s",
                            nki_binary_text(op),
                            op == NKI_MATMUL ? ": use nl.matmul or nisa.nc_matmul" : "");
    bool bits = op == NKI_BIT_AND || op == NKI_BIT_OR;
    struct value one = a.kind == VALUE_TENSOR ? a : b;
    if (bits && one.tensor->dtype == DTYPE_BOOL)
        lower.func = op == NKI_BIT_AND ? NKI_FUNC_LOGICAL_AND : NKI_FUNC_LOGICAL_OR;
    return api_lower_binary(&lower, a, b, result);
}

static bool api_binary(struct interp *in, const struct nki_node *node, enum nki_binary op,
                       struct value a, struct value b, struct value *result) {
    bool indexed = a.kind == VALUE_INDEX || b.kind == VALUE_INDEX;
    bool tiled = a.kind == VALUE_TENSOR || b.kind == VALUE_TENSOR;
    if (tiled && indexed && op == NKI_ADD)
        return index_plus(in, node, a, b, result);
    if (tiled)
        return api_take_operator(in, node, nki_binary_text(op), api_binary_func(op),
                                 a.kind == b.kind) &&
               tensor_binary(in, node, op, a, b, result);
    if (a.kind == VALUE_REGISTER || b.kind == VALUE_REGISTER)
        return api_scalar_binary(in, node, op, a, b, result);
    if (a.kind == VALUE_INDEX || b.kind == VALUE_INDEX)
        return index_binary(in, node, op, a, b, result);
    if (a.kind == VALUE_HOST || b.kind == VALUE_HOST)
        return api_host_binary(in, node, op, a, b, result);
    return interp_error(in, node, "TypeError", "%s cannot be applied to %s and %s",
                        nki_binary_text(op), value_type_name(a), value_type_name(b));
}

static const enum nki_func compare_funcs[NKI_CMP_COUNT] = {
    [NKI_CMP_EQ] = NKI_FUNC_EQUAL,   [NKI_CMP_NOT_EQ] = NKI_FUNC_NOT_EQUAL,
    [NKI_CMP_LT] = NKI_FUNC_LESS,    [NKI_CMP_LT_E] = NKI_FUNC_LESS_EQUAL,
    [NKI_CMP_GT] = NKI_FUNC_GREATER, [NKI_CMP_GT_E] = NKI_FUNC_GREATER_EQUAL,
};

/* Whether two constants of the API are the same member, dtype, operator or tensor. */
static bool same_constant(struct value a, struct value b) {
    if (a.kind != b.kind)
        return api_func_of(a) != NKI_FUNC_NONE && api_func_of(a) == api_func_of(b);
    switch (a.kind) {
    case VALUE_DTYPE:
    case VALUE_FUNC:
    case VALUE_REGISTER: return a.i == b.i;
    case VALUE_INSTRUCTION: return a.instruction == b.instruction;
    case VALUE_ENUM:
        return strcmp(a.enumeration->type, b.enumeration->type) == 0 &&
               a.enumeration->number == b.enumeration->number;
    default: return a.tensor == b.tensor;
    }
}

static bool dtype_equals_name(struct value a, struct value b) {
    return a.kind == VALUE_DTYPE && b.kind == VALUE_STR &&
           (int64_t)dtype_find((struct str){b.str->at, b.str->len}) == a.i;
}

/* nc_version >= gen3: the members of one enumeration are ordered by their numbers. */
static bool orders_members(enum nki_comparison op, struct value a, struct value b,
                           struct value *result) {
    if (a.kind != VALUE_ENUM || b.kind != VALUE_ENUM ||
        strcmp(a.enumeration->type, b.enumeration->type) != 0)
        return false;
    int64_t x = a.enumeration->number, y = b.enumeration->number;
    if (op == NKI_CMP_LT || op == NKI_CMP_GT_E)
        *result = value_bool((x < y) == (op == NKI_CMP_LT));
    else if (op == NKI_CMP_GT || op == NKI_CMP_LT_E)
        *result = value_bool((x > y) == (op == NKI_CMP_GT));
    else
        return false;
    return true;
}

static bool api_compare(struct interp *in, const struct nki_node *node, enum nki_comparison op,
                        struct value a, struct value b, struct value *result) {
    bool identity = op == NKI_CMP_IS || op == NKI_CMP_IS_NOT;
    bool none = a.kind == VALUE_NONE || b.kind == VALUE_NONE;
    if (!identity && !none && compare_funcs[op] &&
        (a.kind == VALUE_TENSOR || b.kind == VALUE_TENSOR)) {
        struct api_op lower = {.in = in, .node = node, .func = compare_funcs[op]};
        return api_take_operator(in, node, nki_comparison_text(op), lower.func, a.kind == b.kind) &&
               api_lower_binary(&lower, a, b, result);
    }
    if (!identity && !none &&
        (api_scalar_dtype(in, a) != DTYPE_NONE || api_scalar_dtype(in, b) != DTYPE_NONE))
        return interp_error(in, node, "TypeError",
                            "nothing can use a comparison of an NkiScalar: let nl.fori_loop count "
                            "the rounds, or select elements by an instruction");
    if (!none && (a.kind == VALUE_INDEX || b.kind == VALUE_INDEX))
        return index_compare(in, node, op, a, b, result);
    if (orders_members(op, a, b, result))
        return true;
    if (!identity && !none && (a.kind == VALUE_HOST || b.kind == VALUE_HOST))
        return api_host_compare(in, node, op, a, b, result);
    if (!identity && op != NKI_CMP_EQ && op != NKI_CMP_NOT_EQ)
        return interp_error(in, node, "TypeError", "%s cannot be applied to %s and %s",
                            nki_comparison_text(op), value_type_name(a), value_type_name(b));
    bool same = same_constant(a, b) || dtype_equals_name(a, b) || dtype_equals_name(b, a);
    *result = value_bool(same == (op == NKI_CMP_EQ || op == NKI_CMP_IS));
    return true;
}

static bool api_unary(struct interp *in, const struct nki_node *node, enum nki_unary op,
                      struct value a, struct value *result) {
    static const enum nki_func funcs[] = {
        [NKI_UNARY_NOT] = NKI_FUNC_LOGICAL_NOT,
        [NKI_UNARY_MINUS] = NKI_FUNC_NEGATIVE,
        [NKI_UNARY_INVERT] = NKI_FUNC_INVERT,
        [NKI_UNARY_PLUS] = NKI_FUNC_COPY,
    };
    struct api_op lower = {.in = in, .node = node, .func = funcs[op]};
    if (api_scalar_dtype(in, a) != DTYPE_NONE && op == NKI_UNARY_MINUS)
        return api_scalar_binary(in, node, NKI_SUB, value_int(0), a, result);
    if (api_scalar_dtype(in, a) != DTYPE_NONE && op == NKI_UNARY_PLUS) {
        *result = a;
        return true;
    }
    if (a.kind == VALUE_INDEX)
        return index_unary(in, node, op, a, result);
    if (a.kind == VALUE_HOST && op == NKI_UNARY_MINUS)
        return api_host_binary(in, node, NKI_MUL, a, value_float(-1), result);
    if (a.kind != VALUE_TENSOR)
        return interp_error(in, node, "TypeError", "%s cannot be applied to %s", nki_unary_text(op),
                            value_type_name(a));
    if (op == NKI_UNARY_INVERT && a.tensor->dtype == DTYPE_BOOL)
        lower.func = NKI_FUNC_LOGICAL_NOT;
    if (interp_dialect(in) != NKI_DIALECT_LEGACY)
        return interp_error(in, node, "hone-tensor-operator",
                            "%s is not defined for tiles: write nl.%s(x), or an instruction",
                            nki_unary_text(op), nki_func_name(lower.func));
    return api_lower_unary(&lower, a, result);
}

static bool api_inplace(struct interp *in, const struct nki_node *node, enum nki_binary op,
                        struct value target, struct value b, struct value *result) {
    *result = target;
    if (!api_take_operator(in, node, arena_printf(interp_scratch(in), "%s=", nki_binary_text(op)),
                           api_binary_func(op), b.kind == VALUE_TENSOR))
        return false;
    return api_accumulate(in, node, op, target.tensor, b);
}

/* ---- attributes and items ------------------------------------------------------------------- */

static bool no_attribute(struct interp *in, const struct nki_node *node, struct value object,
                         struct str name) {
    return interp_error(in, node, "AttributeError", "a %s has no attribute '" STR_FMT "'",
                        value_type_name(object), STR_ARG(name));
}

/* The largest finite number of a float type (IEEE 754 and the OCP 8-bit formats). */
static double largest(enum dtype dtype) {
    switch (dtype) {
    case DTYPE_FLOAT32:
    case DTYPE_TFLOAT32: return 3.4028234663852886e38;
    case DTYPE_BFLOAT16: return 3.3895313892515355e38;
    case DTYPE_FLOAT16: return 65504;
    case DTYPE_FLOAT8_E4M3: return 240;
    case DTYPE_FLOAT8_E4M3FN: return 448;
    case DTYPE_FLOAT8_E5M2: return 57344;
    case DTYPE_FLOAT64: return 1.7976931348623157e308;
    default: return ldexp(1, (int)dtype_bytes(dtype) * 8 - (dtype_kind(dtype) == 'i')) - 1;
    }
}

static bool dtype_attribute(struct value object, struct str name, struct value *result) {
    enum dtype dtype = (enum dtype)object.i;
    if (str_is(name, "type"))
        *result = object;
    else if (str_is(name, "itemsize"))
        *result = value_int((int64_t)dtype_bytes(dtype));
    else if (str_is(name, "max"))
        *result = value_float(largest(dtype));
    else if (str_is(name, "min"))
        *result = value_float(dtype_is_float(dtype) || dtype_kind(dtype) == 'i'
                                  ? -largest(dtype) - !dtype_is_float(dtype)
                                  : 0);
    else
        return false;
    return true;
}

static bool api_getattr(struct interp *in, const struct nki_node *node, struct value object,
                        struct str name, struct value *result) {
    if (object.kind == VALUE_TENSOR && tensor_attribute(in, node, object.tensor, name, result))
        return true;
    if (object.kind == VALUE_HOST)
        return api_host_attribute(in, node, object.host, name, result);
    if (object.kind == VALUE_INSTRUCTION && api_instruction_attribute(in, object, name, result))
        return true;
    if (object.kind == VALUE_GRID)
        return api_grid_attribute(in, node, object.grid, name, result);
    if (object.kind == VALUE_DTYPE && dtype_attribute(object, name, result))
        return true;
    if (object.kind == VALUE_INDEX && str_is(name, "shape")) {
        struct value sizes[INDEX_MAX_DIMS];
        for (int d = 0; d < object.index->n_dims; d++)
            sizes[d] = value_int(object.index->size[d]);
        *result = value_tuple(in, sizes, (size_t)object.index->n_dims);
        return true;
    }
    if (object.kind == VALUE_ENUM && (str_is(name, "name") || str_is(name, "value"))) {
        *result = str_is(name, "name") ? value_string(in, str_of(object.enumeration->member))
                                       : value_int(object.enumeration->number);
        return true;
    }
    if (api_scalar_dtype(in, object) != DTYPE_NONE && str_is(name, "dtype")) {
        *result = (struct value){.kind = VALUE_DTYPE, .i = api_scalar_dtype(in, object)};
        return true;
    }
    /* np.add.reduce and the like stand for the operator */
    if (object.kind == VALUE_FUNC && (str_is(name, "reduce") || str_is(name, "accumulate"))) {
        *result = object;
        return true;
    }
    return no_attribute(in, node, object, name);
}

static bool api_getitem(struct interp *in, const struct nki_node *node, struct value object,
                        struct value key, struct value *result) {
    if (object.kind == VALUE_TENSOR) {
        struct tensor *view;
        if (!tensor_getitem(in, node, object.tensor, key, &view))
            return false;
        *result = value_tensor(view);
        return true;
    }
    if (object.kind == VALUE_INDEX)
        return index_getitem(in, node, object.index, key, result);
    if (object.kind == VALUE_HOST)
        return api_host_getitem(in, node, object.host, key, result);
    if (object.kind == VALUE_GRID)
        return api_grid_getitem(in, node, object.grid, key, result);
    if (object.kind == VALUE_ENUM && strcmp(object.enumeration->type, "grid") == 0)
        return index_grid(in, node, key, result);
    if (object.kind == VALUE_DTYPE) {
        *result = object; /* an annotation */
        return true;
    }
    return interp_error(in, node, "TypeError", "a %s cannot be indexed", value_type_name(object));
}

static bool api_setitem(struct interp *in, const struct nki_node *node, struct value object,
                        struct value key, struct value item) {
    struct tensor *view;
    if (object.kind == VALUE_INDEX)
        return interp_error(in, node, "err_cannot_assign_to_index",
                            "an index expression cannot be written: use nisa.iota");
    if (object.kind == VALUE_HOST)
        return api_host_setitem(in, node, object.host, key, item);
    if (object.kind != VALUE_TENSOR)
        return interp_error(in, node, "TypeError", "items of a %s cannot be assigned",
                            value_type_name(object));
    if (interp_dialect(in) != NKI_DIALECT_LEGACY)
        return interp_error(in, node, "hone-tile-assignment",
                            "a tile cannot be assigned: give it to an instruction "
                            "as dst=");
    return tensor_getitem(in, node, object.tensor, key, &view) && api_assign(in, node, view, item);
}

/* np.float32(x): the number rounded to the type. */
static bool make_number(struct interp *in, const struct call *call, enum dtype dtype,
                        struct value *result) {
    double number;
    if (call->n_args != 1 || !api_want_number(call->args[0], &number))
        return interp_error(in, call->node, "hone-argument", "%s(..) takes one number",
                            dtype_name(dtype));
    if (dtype == DTYPE_FLOAT32)
        number = (float)number;
    else if (dtype == DTYPE_FLOAT16)
        number = half_to_float(half_from_double(number));
    *result = dtype == DTYPE_BOOL   ? value_bool(number != 0)
              : dtype_is_int(dtype) ? value_int((int64_t)number)
                                    : value_float(number);
    return true;
}

static bool api_call(struct interp *in, const struct call *call, struct value callee,
                     struct value *result) {
    if (callee.kind == VALUE_FUNC) {
        double number;
        bool plain = call->n_args == 1 && call->n_keywords == 0 &&
                     call->args[0].kind != VALUE_TENSOR &&
                     (call->args[0].kind == VALUE_HOST || api_want_number(call->args[0], &number));
        return plain ? api_numpy_call(in, call, (enum nki_func)callee.i, result)
                     : api_func_call(in, call, (enum nki_func)callee.i, result);
    }
    if (callee.kind == VALUE_DTYPE)
        return make_number(in, call, (enum dtype)callee.i, result);
    return interp_error(in, call->node, "TypeError", "a %s cannot be called",
                        value_type_name(callee));
}

static bool api_truth(struct interp *in, const struct nki_node *node, struct value value,
                      bool *truth) {
    *truth = true;
    /* `imm if imm else None`: NKI's own tests ask a parameter so, which may be None. */
    if (value.kind == VALUE_TENSOR && interp_dialect(in) == NKI_DIALECT_LEGACY &&
        tensor_storage(in, value.tensor)->input >= 0)
        return true;
    if (value.kind == VALUE_TENSOR)
        return interp_error(in, node, "err_ambiguous_tensor_truth_value",
                            "the truth value of a tensor is not known while the kernel is "
                            "compiled: use & | ~ on tiles, or `is not None`");
    if (value.kind == VALUE_INDEX)
        return interp_error(in, node, "err_control_flow_condition_depending_on_arange",
                            "a condition cannot depend on nl.arange: use mask=");
    if (api_scalar_dtype(in, value) != DTYPE_NONE)
        return interp_error(in, node, "TypeError",
                            "the truth of an NkiScalar is not known while the kernel is compiled; "
                            "use nl.fori_loop(0, flag, body)");
    if (value.kind == VALUE_REGISTER)
        return interp_error(in, node, "err_dynamic_control_flow_not_supported",
                            "the truth of a register is not known while the kernel is compiled, "
                            "but in `while register:`; use nl.fori_loop(0, flag, body)");
    if (value.kind == VALUE_HOST && array_count(value.host) == 1)
        *truth = api_host_read(value.host, 0) != 0;
    return true;
}

static bool api_length(struct interp *in, const struct nki_node *node, struct value value,
                       int64_t *len) {
    if (value.kind == VALUE_TENSOR)
        *len = value.tensor->n_dims ? value.tensor->dim[0].size : 1;
    else if (value.kind == VALUE_HOST && value.host->ndim)
        *len = value.host->shape[0];
    else
        return interp_error(in, node, "TypeError", "a %s has no length", value_type_name(value));
    return true;
}

static bool api_enter(struct interp *in, const struct nki_node *node, struct value context,
                      struct value *result) {
    struct api *api = api_of(in);
    *result = NONE_VALUE;
    if (context.kind != VALUE_ENUM || strcmp(context.enumeration->type, "context") != 0)
        return interp_error(in, node, "hone-gap",
                            "a kernel has only `with nl.no_reorder():`; found %s",
                            value_type_name(context));
    if (context.enumeration->number && api->order_depth++ == 0)
        api->order_group = ++api->order_groups;
    return true;
}

static bool api_leave(struct interp *in, const struct nki_node *node, struct value context) {
    struct api *api = api_of(in);
    (void)node;
    if (context.kind == VALUE_ENUM && context.enumeration->number && --api->order_depth == 0)
        api->order_group = 0;
    return true;
}

const struct interp_objects api_objects = {
    .module = api_module,
    .binary = api_binary,
    .compare = api_compare,
    .unary = api_unary,
    .inplace = api_inplace,
    .grid_axis = api_grid_axis,
    .getattr = api_getattr,
    .getitem = api_getitem,
    .setitem = api_setitem,
    .call = api_call,
    .truth = api_truth,
    .length = api_length,
    .enter = api_enter,
    .leave = api_leave,
    .parameter = api_parameter,
    .returned = api_return,
    .loop_begin = api_loop_begin,
    .loop_round = api_loop_round,
    .loop_next = api_loop_next,
    .loop_end = api_loop_end,
    .register_value = api_register_value,
    .array = api_host_given,
    .is_of = api_is_of,
    .describe = tensor_describe,
    .launch_begin = api_launch_begin,
    .launch_next = api_launch_next,
    .launch_end = api_launch_end,
};
