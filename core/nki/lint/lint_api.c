/* SPDX-License-Identifier: Apache-2.0 */
/* Names and arguments that a kernel of the current dialect cannot, cannot yet or should no longer
 * use, each with what to write instead. Sources: the release notes and migration guides of NKI 0.2
 * to 0.6. */
#include "nki/lint/rules.h"

#include <stdio.h>

/* since: the release that the rule holds from; NULL: any. */
static const struct {
    const char *name;
    enum lint_rule rule;
    const char *hint, *since;
} names[] = {
    {"nki.baremetal", LINT_REMOVED_HOST, "run the kernel by calling it with numpy arrays", NULL},
    {"nki.benchmark", LINT_REMOVED_HOST, "measure the kernel with the profiler or the runtime",
     NULL},
    {"nki.profile", LINT_REMOVED_HOST, "capture a profile with neuron-explorer", NULL},
    {"nki.simulate_kernel", LINT_REMOVED_HOST, "use nki.simulate", NULL},
    {"nki.tensor", LINT_REMOVED, "it is called nki.meta.tensor since 0.2", "0.2"},
    {"nl.arange", LINT_REMOVED, "index with slices, nl.ds or .ap()", NULL},
    {"nl.mgrid", LINT_REMOVED, "index with slices, nl.ds or .ap()", NULL},
    {"nl.loop_reduce", LINT_REMOVED, "accumulate into a tile in the loop", NULL},
    {"nl.all_reduce", LINT_REMOVED, "use nki.collectives", NULL},
    {"nl.atomic_rmw", LINT_REMOVED, "use nisa.dma_compute with a reduce operation", NULL},
    {"nl.spmd_dim", LINT_REMOVED, "launch with kernel[2] and use nl.program_id(0)", NULL},
    {"nl.nc", LINT_REMOVED, "launch with kernel[2] and use nl.program_id(0)", NULL},
    {"nl.static_cast", LINT_REMOVED, "cast with nisa.tensor_copy into a tile of the dtype", NULL},
    {"nisa.tensor_copy_dynamic_src", LINT_REMOVED, "use nisa.tensor_copy with .ap(scalar_offset=)",
     "0.4"},
    {"nisa.tensor_copy_dynamic_dst", LINT_REMOVED, "use nisa.tensor_copy with .ap(scalar_offset=)",
     "0.4"},
    {"nisa.nc_matmul_sparse", LINT_REMOVED, "use nisa.nc_matmul", NULL},
    {"nl.par_dim", LINT_DEPRECATED, "dimension 0 is always the partition dimension; drop it", NULL},
    {"nl.dynamic_range", LINT_DEPRECATED, "use nl.fori_loop (since 0.6)", "0.6"},
    {"nl.tile_size.psum_fmax", LINT_DEPRECATED, "use nl.tile_size's sizes in bytes (since 0.4)",
     "0.4"},
    {"nl.tile_size.total_available_sbuf_size", LINT_DEPRECATED,
     "use nl.tile_size's sizes in bytes (since 0.4)", "0.4"},
};

/* Names that came later, with the release they came with. */
static const struct {
    const char *name, *since;
} newer[] = {
    {"nki.collectives", "0.2"},   {"nl.private_hbm", "0.2"},
    {"nl.no_reorder", "0.2"},     {"nki.simulate", "0.3"},
    {"nki.typing", "0.3"},        {"nl.load", "0.3"},
    {"nl.store", "0.3"},          {"nisa.activate2", "0.4"},
    {"nl.abs_max", "0.4"},        {"nl.abs_min", "0.4"},
    {"nl.float8_e8m0fnu", "0.5"}, {"nl.tile_size.psum_num_banks", "0.5"},
    {"nl.fori_loop", "0.6"},      {"nl.while_loop", "0.6"},
    {"nisa.topk", "0.6"},         {"nki.collectives.all_gather_v", "0.6"},
};

/* Arguments; function NULL: of any function of nl or nisa. */
static const struct {
    const char *function, *keyword;
    enum lint_rule rule;
    const char *hint, *since;
} keywords[] = {
    {NULL, "mask", LINT_REMOVED_KEYWORD, "size the slices instead, for example with min()", NULL},
    {"nisa.nc_matmul", "psumAccumulateFlag", LINT_REMOVED_KEYWORD, "use accumulate=", "0.2"},
    {"nisa.nc_matmul", "is_moving_zero", LINT_REMOVED_KEYWORD, "use is_moving_onezero=", "0.2"},
    {"nisa.dma_copy", "dst_rmw_op", LINT_REMOVED_KEYWORD, "use nisa.dma_compute (since 0.3)",
     "0.3"},
    {"nisa.dma_copy", "unique_indices", LINT_REMOVED_KEYWORD, "use nisa.dma_compute (since 0.3)",
     "0.3"},
    {"nisa.sendrecv", "use_gpsimd_dma", LINT_REMOVED_KEYWORD, "use dma_engine= (since 0.3)", "0.3"},
    {"nisa.register_move", "imm", LINT_REMOVED_KEYWORD, "use src= (since 0.3)", "0.3"},
    {"nki.jit", "platform_target", LINT_JIT_KEYWORD,
     "set NEURON_PLATFORM_TARGET_OVERRIDE in the environment (since 0.3)", "0.3"},
    {"nki.jit", "mode", LINT_JIT_KEYWORD, "remove it (since 0.3)", "0.3"},
};

/* Instructions that returned a tile in the legacy dialect and take dst= now. */
static const char *const instructions[] = {
    "nisa.activation",
    "nisa.activation_reduce",
    "nisa.tensor_tensor",
    "nisa.tensor_scalar",
    "nisa.tensor_reduce",
    "nisa.tensor_tensor_scan",
    "nisa.nc_matmul",
    "nisa.nc_transpose",
    "nisa.tensor_copy",
    "nisa.reciprocal",
    "nisa.scalar_tensor_tensor",
    "nisa.tensor_partition_reduce",
    "nisa.affine_select",
    "nisa.iota",
    "nisa.memset",
    "nisa.bn_stats",
    "nisa.bn_aggr",
    "nisa.dropout",
    "nisa.select_reduce",
    "nisa.max8",
    "nisa.local_gather",
};

static bool is_instruction(struct str name) {
    for (size_t i = 0; i < COUNT_OF(instructions); i++)
        if (str_is(name, instructions[i]))
            return true;
    return false;
}

static void report_newer(struct lint *lint, const struct nki_node *node, struct str name,
                         const char *since) {
    char hint[80];
    snprintf(hint, sizeof hint, "it came with NKI %s, the target has %.20s", since,
             lint->options->release);
    lint_report(lint, LINT_NEWER, nki_span_of(node), (struct lint_detail){name, hint});
}

static void check_used_name(struct lint *lint, const struct nki_node *node, struct str name) {
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (str_is(name, names[i].name) && lint_holds_since(lint, names[i].since))
            lint_report(lint, names[i].rule, nki_span_of(node),
                        (struct lint_detail){name, names[i].hint});
    for (size_t i = 0; i < COUNT_OF(newer); i++)
        if (str_is(name, newer[i].name) && !lint_holds_since(lint, newer[i].since))
            report_newer(lint, node, name, newer[i].since);
}

static void check_keyword(struct lint *lint, const struct nki_node *keyword, struct str function) {
    bool is_api = str_starts(function, "nl.") || str_starts(function, "nisa.");
    for (size_t i = 0; i < COUNT_OF(keywords); i++)
        if (str_is(keyword->keyword.name, keywords[i].keyword) &&
            (keywords[i].function ? str_is(function, keywords[i].function) : is_api) &&
            lint_holds_since(lint, keywords[i].since))
            lint_report(lint, keywords[i].rule, nki_span_of(keyword),
                        (struct lint_detail){keyword->keyword.name, keywords[i].hint});
}

/* t[...] = nisa.f(...), and nisa.f(...) inside another expression. */
static void check_value(struct lint *lint, const struct nki_node *call, struct str name) {
    const struct nki_node *parent = call->parent;
    if (nki_keyword(call, "dst") || !is_instruction(name))
        return;
    if (parent->kind == NKI_ASSIGN && parent->assign.targets.at[0]->kind == NKI_SUBSCRIPT)
        lint_name(lint, LINT_LEGACY_STORE, call, name);
    else if (parent->kind == NKI_BIN_OP || parent->kind == NKI_CALL ||
             parent->kind == NKI_KEYWORD || parent->kind == NKI_SUBSCRIPT)
        lint_name(lint, LINT_LEGACY_VALUE, call, name);
}

static void check_call(struct lint *lint, const struct nki_node *call, struct str name) {
    for (uint32_t i = 0; i < call->call.keywords.len; i++)
        check_keyword(lint, call->call.keywords.at[i], name);
    check_value(lint, call, name);
}

static void check_import(struct lint *lint, const struct nki_node *node) {
    struct str name = STR("");
    if (node->kind == NKI_IMPORT_FROM)
        name = node->import_from.module;
    else if (node->parent->kind == NKI_IMPORT)
        name = node->alias.name;
    if ((str_is(name, "neuronxcc") || str_starts(name, "neuronxcc.")) &&
        lint_holds_since(lint, "0.4"))
        lint_name(lint, LINT_LEGACY_IMPORT, node, name);
}

static bool is_whole_name(const struct nki_node *node) {
    return (node->kind == NKI_ATTRIBUTE || node->kind == NKI_NAME) &&
           node->parent->kind != NKI_ATTRIBUTE;
}

/* The parts of a dotted name too: nki.tensor in nki.tensor.x. */
static void check_prefixes(struct lint *lint, const struct nki_node *node, struct buf *name) {
    for (; node->kind == NKI_ATTRIBUTE || node->kind == NKI_NAME; node = node->attribute.value) {
        buf_clear(name);
        if (lint_canonical(lint, node, name))
            check_used_name(lint, node, buf_str(name));
        if (node->kind == NKI_NAME)
            return;
    }
}

void lint_api(struct lint *lint) {
    struct buf name = {0};
    for (uint32_t i = 0; i < lint->tree->n_nodes; i++) {
        const struct nki_node *node = lint->tree->nodes[i];
        buf_clear(&name);
        if (node->kind == NKI_IMPORT_FROM || node->kind == NKI_ALIAS)
            check_import(lint, node);
        else if (node->kind == NKI_CALL && lint_canonical(lint, node->call.func, &name))
            check_call(lint, node, buf_str(&name));
        else if (i && is_whole_name(node))
            check_prefixes(lint, node, &name);
    }
    buf_free(&name);
}
