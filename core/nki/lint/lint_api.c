/* SPDX-License-Identifier: Apache-2.0 */
/* Names and arguments that a kernel of the current dialect cannot, cannot yet, or should no longer
 * use, each with what to write instead. They come from releases.def. */
#include "nki/lint/rules.h"

#include <stdio.h>

#include "nki/release/release.h"

/* Instructions that returned a tile in the legacy dialect and now take dst=. */
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
    lint_report(lint, LINT_NEWER, nki_span_of(node),
                (struct lint_detail){.name = name, .hint = hint});
}

static bool is_gone(const struct lint *lint, struct str name) {
    const char *since = NULL;
    for (const struct release_row *row = NULL; (row = release_next(row, &since));)
        if (row->change == RELEASE_GONE && str_is(name, row->name) && lint_holds_since(lint, since))
            return true;
    return false;
}

/* A deprecated name is reported where it is first used, and not when it is gone, too. */
static bool is_told(struct lint *lint, const struct release_row *row) {
    struct str name = str_of(row->name);
    if (row->change != RELEASE_OLD)
        return false;
    bool told = is_gone(lint, name) || map_find(&lint->told, name);
    map_put(&lint->told, name);
    return told;
}

static void check_used_name(struct lint *lint, const struct nki_node *node, struct str name) {
    static const struct {
        bool is_name;
        enum lint_rule rule;
    } rules[RELEASE_CHANGES] = {
        [RELEASE_GONE] = {true, LINT_REMOVED},
        [RELEASE_GONE_HOST] = {true, LINT_REMOVED_HOST},
        [RELEASE_OLD] = {true, LINT_DEPRECATED},
    };
    const char *since = NULL;
    bool is_plain = true;
    if (map_find(&lint->plain, name))
        return;
    for (const struct release_row *row = NULL; (row = release_next(row, &since));) {
        bool holds = lint_holds_since(lint, since);
        bool is_new = row->change == RELEASE_NEW && !holds && release_names(row->name, name);
        bool is_old = rules[row->change].is_name && holds && str_is(name, row->name);
        is_plain &= !is_new && !is_old;
        if (is_new)
            report_newer(lint, node, name, since);
        else if (is_old && !is_told(lint, row))
            lint_report(lint, rules[row->change].rule, nki_span_of(node),
                        (struct lint_detail){.name = name,
                                             .hint = row->instead,
                                             .since = row->change == RELEASE_OLD ? NULL : since});
    }
    if (is_plain)
        map_put(&lint->plain, name);
}

/* Whether a row is about an argument of this function. A row without a function is about all of nl
 * and nisa. */
static bool is_of(const struct release_row *row, struct str function) {
    return row->name ? str_is(function, row->name)
                     : str_starts(function, "nl.") || str_starts(function, "nisa.");
}

static void check_keyword(struct lint *lint, const struct nki_node *keyword, struct str function) {
    struct str name = keyword->keyword.name;
    const char *since = NULL;
    for (const struct release_row *row = NULL; (row = release_next(row, &since));)
        if (row->change == RELEASE_KEYWORD && str_is(name, row->keyword) && is_of(row, function) &&
            lint_holds_since(lint, since))
            lint_report(lint, str_is(function, "nki.jit") ? LINT_JIT_KEYWORD : LINT_REMOVED_KEYWORD,
                        nki_span_of(keyword),
                        (struct lint_detail){.name = name, .hint = row->instead});
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
    if (str_is(name, "neuronxcc.nki.typing"))
        return; /* annotations are not compiled; published kernels take them from there */
    if (nki_enclosing(node, NKI_TRY))
        return; /* the file knows that it may not be there */
    if ((str_is(name, "neuronxcc") || str_starts(name, "neuronxcc.")) &&
        lint_rule(lint, NKI_RULE_LEGACY_IMPORT))
        lint_name(lint, LINT_LEGACY_IMPORT, node, name);
}

static bool is_whole_name(const struct nki_node *node) {
    return (node->kind == NKI_ATTRIBUTE || node->kind == NKI_NAME) &&
           node->parent->kind != NKI_ATTRIBUTE;
}

/* Checks the first parts of a dotted name too: nki.tensor in nki.tensor.x. */
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
        if (lint->options->kernel && !lint->reached[i])
            continue; /* the compiler does not read it */
        if (node->kind == NKI_IMPORT_FROM || node->kind == NKI_ALIAS)
            check_import(lint, node);
        else if (node->kind == NKI_CALL && lint_canonical(lint, node->call.func, &name))
            check_call(lint, node, buf_str(&name));
        else if (i && is_whole_name(node))
            check_prefixes(lint, node, &name);
    }
    buf_free(&name);
}
