/* SPDX-License-Identifier: Apache-2.0 */
/* Steps about calls of instructions, up to NKI 0.5. */
#include <math.h>
#include <stdio.h>

#include "migrate/private.h"

static bool is_constant(const struct nki_node *node, enum nki_constant type) {
    return node && node->kind == NKI_CONSTANT && node->constant.type == type;
}

static struct str text_of(const struct migrate *m, const struct nki_node *node) {
    return nki_text(m->tree, nki_outer_span(m->tree, node));
}

/* An argument that can be said again as name=argument: f(a := b) is left to the person. */
static const struct nki_node *plain_arg(const struct nki_node *call, uint32_t index,
                                        const char *name) {
    const struct nki_node *arg = migrate_arg(call, index, name);
    return arg && arg->kind == NKI_NAMED_EXPR && !arg->parens ? NULL : arg;
}

/* Whether the kernel was written for the package nki before the release of the row. The legacy
 * dialect had other signatures. */
static bool is_of_nki(const struct migrate *m) {
    return strcmp(m->from, MIGRATE_LEGACY) != 0;
}

static void spell_into(struct migrate *m, const struct nki_node *node, const char *name) {
    struct buf text = {0};
    migrate_spell(m, name, &text);
    migrate_replace(m, node, buf_str(&text));
    buf_free(&text);
}

/* A new tile in SBUF in the shape of an operand: lines that make it. */
static const char *tile_like(struct migrate *m, struct str operand, struct buf *lines) {
    const char *name = migrate_new_name(m, "staged");
    buf_printf(lines, "%s = ", name);
    migrate_spell(m, "nl.ndarray", lines);
    buf_printf(lines, "(" STR_FMT ".shape, dtype=" STR_FMT ".dtype, buffer=", STR_ARG(operand),
               STR_ARG(operand));
    migrate_spell(m, "nl.sbuf", lines);
    buf_puts(lines, ")\n");
    return name;
}

/* ---- transfers ------------------------------------------------------------------------------- */

void migrate_step_dma_from_psum(struct migrate *m, const struct nki_node *node) {
    if (!migrate_calls(m, node, "nisa.dma_copy") || node->parent->kind != NKI_EXPR)
        return;
    const struct nki_node *src = plain_arg(node, 1, "src");
    const struct nki_seen *tile = src ? migrate_tile(m, src) : NULL;
    if (!tile || tile->space != NKI_PSUM)
        return;
    struct buf lines = {0};
    const char *name = tile_like(m, text_of(m, src), &lines);
    migrate_spell(m, "nisa.tensor_copy", &lines);
    buf_printf(&lines, "(dst=%s, src=" STR_FMT ")\n", name, STR_ARG(text_of(m, src)));
    if (nki_edit_insert_before(&m->edits, node->parent, buf_str(&lines))) {
        migrate_replace(m, src, str_of(name));
        migrate_did(m, node, "dma_copy does not read PSUM: tensor_copy to %s in SBUF first", name);
    } else {
        migrate_ask(m, node, "dma_copy does not read PSUM: put nisa.tensor_copy to SBUF before it");
    }
    buf_free(&lines);
}

void migrate_step_dma_add(struct migrate *m, const struct nki_node *node) {
    const struct nki_node *op =
        migrate_calls(m, node, "nisa.dma_copy") ? migrate_keyword(node, "dst_rmw_op") : NULL;
    const struct nki_node *unique = op ? migrate_keyword(node, "unique_indices") : NULL;
    const struct nki_node *dst = op ? plain_arg(node, 0, "dst") : NULL;
    const struct nki_node *src = op ? plain_arg(node, 1, "src") : NULL;
    if (!dst || !src)
        return;
    if (is_constant(op->keyword.value, NKI_CONST_NONE)) {
        migrate_drop(m, op);
        if (unique)
            migrate_drop(m, unique);
        migrate_did(m, node, "dst_rmw_op=None is left out");
        return;
    }
    struct buf srcs = {0};
    buf_printf(&srcs, "srcs=[" STR_FMT ", " STR_FMT "]", STR_ARG(text_of(m, src)),
               STR_ARG(text_of(m, dst)));
    spell_into(m, node->call.func, "nisa.dma_compute");
    migrate_replace(m, src->parent->kind == NKI_KEYWORD ? src->parent : src, buf_str(&srcs));
    nki_edit_replace(&m->edits,
                     (struct nki_span){op->start, op->start + (uint32_t)op->keyword.name.len},
                     STR("reduce_op"));
    migrate_did(m, node, "dma_copy with dst_rmw_op is dma_compute with reduce_op");
    buf_free(&srcs);
}

void migrate_step_dma_compute(struct migrate *m, const struct nki_node *node) {
    static const char *const names[] = {"scales", "reduce_op", "unique_indices", NULL};
    if (!is_of_nki(m) || !migrate_calls(m, node, "nisa.dma_compute") || node->call.args.len < 3)
        return;
    if (migrate_name_args(m, node, 2, names))
        migrate_did(m, node, "dma_compute takes reduce_op before scales: both by name");
}

void migrate_ask_dma_cast(struct migrate *m, const struct nki_node *node) {
    if (!migrate_calls(m, node, "nisa.dma_copy"))
        return;
    const struct nki_node *mode = migrate_keyword(node, "dge_mode");
    const struct nki_node *dst = plain_arg(node, 0, "dst"), *src = plain_arg(node, 1, "src");
    bool hwdge = mode && (migrate_is(m, mode->keyword.value, "nisa.dge_mode.hwdge") ||
                          (is_constant(mode->keyword.value, NKI_CONST_INT) &&
                           mode->keyword.value->constant.integer == NKI_DGE_HWDGE));
    const struct nki_seen *to = hwdge && dst ? migrate_tile(m, dst) : NULL;
    const struct nki_seen *from = to && src ? migrate_tile(m, src) : NULL;
    if (from && from->dtype != DTYPE_NONE && to->dtype != DTYPE_NONE && from->dtype != to->dtype)
        migrate_ask(m, node, m->rule->now);
}

void migrate_step_dge_mode(struct migrate *m, const struct nki_node *node) {
    static const char *const names[] = {
        [NKI_DGE_UNKNOWN] = "nisa.dge_mode.unknown",
        [NKI_DGE_SWDGE] = "nisa.dge_mode.swdge",
        [NKI_DGE_HWDGE] = "nisa.dge_mode.hwdge",
        [NKI_DGE_NONE] = "nisa.dge_mode.none",
    };
    const struct nki_node *mode = node->kind == NKI_CALL ? migrate_keyword(node, "dge_mode") : NULL;
    if (!mode || !is_constant(mode->keyword.value, NKI_CONST_INT))
        return;
    int64_t number = mode->keyword.value->constant.integer;
    if (number < 0 || number >= (int64_t)COUNT_OF(names))
        return;
    spell_into(m, mode->keyword.value, names[number]);
    migrate_did(m, node, "dge_mode=%lld is %s", (long long)number, names[number]);
}

void migrate_ask_transpose_rank(struct migrate *m, const struct nki_node *node) {
    if (!migrate_calls(m, node, "nisa.dma_transpose"))
        return;
    const struct nki_node *dst = plain_arg(node, 0, "dst"), *src = plain_arg(node, 1, "src");
    const struct nki_seen *to = dst ? migrate_tile(m, dst) : NULL;
    const struct nki_seen *from = src ? migrate_tile(m, src) : NULL;
    if (to && from && to->n_dims && from->n_dims && to->n_dims < from->n_dims)
        migrate_ask(m, node, m->rule->now);
}

void migrate_step_sendrecv(struct migrate *m, const struct nki_node *node) {
    const struct nki_node *flag =
        migrate_calls(m, node, "nisa.sendrecv") ? migrate_keyword(node, "use_gpsimd_dma") : NULL;
    if (!flag)
        return;
    const struct nki_node *value = flag->keyword.value;
    bool is = is_constant(value, NKI_CONST_TRUE), known = is || is_constant(value, NKI_CONST_FALSE);
    struct buf text = {0};
    buf_puts(&text, "dma_engine=");
    if (is || !known)
        migrate_spell(m, "nisa.dma_engine.gpsimd_dma", &text);
    if (!known)
        buf_printf(&text, " if " STR_FMT " else ", STR_ARG(text_of(m, value)));
    if (!is)
        migrate_spell(m, "nisa.dma_engine.dma", &text);
    migrate_replace(m, flag, buf_str(&text));
    migrate_did(m, node, "use_gpsimd_dma is dma_engine");
    buf_free(&text);
}

/* ---- engines --------------------------------------------------------------------------------- */

void migrate_ask_range_select(struct migrate *m, const struct nki_node *node) {
    if (is_of_nki(m) && migrate_calls(m, node, "nisa.range_select") &&
        !migrate_keyword(node, "on_false_value"))
        migrate_ask(m, node, m->rule->now);
}

void migrate_step_memset(struct migrate *m, const struct nki_node *node) {
    if (!migrate_calls(m, node, "nisa.memset"))
        return;
    const struct nki_node *dst = plain_arg(node, 0, "dst"), *value = plain_arg(node, 1, "value");
    const struct nki_seen *tile = dst && value ? migrate_tile(m, dst) : NULL;
    if (!tile || !is_constant(value, NKI_CONST_FLOAT) || !dtype_is_int(tile->dtype))
        return;
    double number = value->constant.number;
    if (number != rint(number) || fabs(number) > 1e15) {
        migrate_ask(m, node, "a tile of whole numbers takes no fraction: which number is meant?");
        return;
    }
    char text[32];
    snprintf(text, sizeof text, "%.0f", number);
    migrate_replace(m, value, str_of(text));
    migrate_did(m, node, "a tile of whole numbers is set to %s", text);
}

void migrate_step_reduce_axis(struct migrate *m, const struct nki_node *node) {
    if (!is_of_nki(m) || !migrate_calls(m, node, "nisa.tensor_reduce"))
        return;
    const struct nki_node *axis = plain_arg(node, 3, "axis"), *data = plain_arg(node, 2, "data");
    if (!data || !is_constant(axis, NKI_CONST_INT) || axis->constant.integer != 1)
        return;
    const struct nki_seen *tile = migrate_tile(m, data);
    if (!tile || !tile->n_dims) {
        migrate_ask(m, node,
                    "axis=1 was the last dimension, of tiles with 3 or 4 dimensions too, "
                    "and is the second one now: which is meant?");
    } else if (tile->n_dims > 2) {
        char text[16];
        snprintf(text, sizeof text, "%d", tile->n_dims - 1);
        migrate_replace(m, axis, str_of(text));
        migrate_did(m, node, "axis=1 meant the last of %d dimensions: axis=%s", tile->n_dims, text);
    }
}

void migrate_step_affine_select(struct migrate *m, const struct nki_node *node) {
    static const char *const names[] = {
        "offset", "channel_multiplier", "on_true_tile", "on_false_value", "cmp_op", NULL};
    if (!is_of_nki(m) || !migrate_calls(m, node, "nisa.affine_select") || node->call.args.len < 3)
        return;
    if (migrate_name_args(m, node, 2, names))
        migrate_did(m, node, "affine_select takes offset last: it and what follows by name");
}

void migrate_step_register_move(struct migrate *m, const struct nki_node *node) {
    const struct nki_node *imm =
        migrate_calls(m, node, "nisa.register_move") ? migrate_keyword(node, "imm") : NULL;
    if (!imm)
        return;
    struct buf text = {0};
    buf_puts(&text, "src=");
    migrate_spell(m, "nisa.register_alloc", &text);
    buf_printf(&text, "(" STR_FMT ")", STR_ARG(text_of(m, imm->keyword.value)));
    migrate_replace(m, imm, buf_str(&text));
    migrate_did(m, node, "imm= is a register of its own: src=nisa.register_alloc()");
    buf_free(&text);
}

void migrate_ask_dynamic_copy(struct migrate *m, const struct nki_node *node) {
    if (migrate_calls(m, node, "nisa.tensor_copy_dynamic_src") ||
        migrate_calls(m, node, "nisa.tensor_copy_dynamic_dst"))
        migrate_ask(m, node, m->rule->now);
}

void migrate_ask_transpose_engine(struct migrate *m, const struct nki_node *node) {
    if (is_of_nki(m) && migrate_calls(m, node, "nisa.nc_transpose") &&
        migrate_keyword(node, "engine"))
        migrate_ask(m, node, m->rule->now);
}

/* y = nl.rsqrt(psum_tile) */
void migrate_step_rsqrt(struct migrate *m, const struct nki_node *node) {
    const struct nki_node *x = migrate_calls(m, node, "nl.rsqrt") ? plain_arg(node, 0, "x") : NULL;
    const struct nki_seen *tile = x ? migrate_tile(m, x) : NULL;
    if (!tile || tile->space != NKI_PSUM)
        return;
    const struct nki_node *dtype = plain_arg(node, 1, "dtype"), *stmt = nki_statement_of(node);
    struct buf lines = {0};
    struct str operand = text_of(m, x);
    const char *name = migrate_new_name(m, "rsqrt");
    buf_printf(&lines, "%s = ", name);
    migrate_spell(m, "nl.ndarray", &lines);
    buf_printf(&lines, "(" STR_FMT ".shape, dtype=", STR_ARG(operand));
    buf_printf(&lines, dtype ? STR_FMT : STR_FMT ".dtype",
               STR_ARG(dtype ? text_of(m, dtype) : operand));
    buf_puts(&lines, ", buffer=");
    migrate_spell(m, "nl.sbuf", &lines);
    buf_puts(&lines, ")\n");
    migrate_spell(m, "nisa.activation", &lines);
    buf_printf(&lines, "(dst=%s, op=", name);
    migrate_spell(m, "nl.rsqrt", &lines);
    buf_printf(&lines, ", data=" STR_FMT ")\n", STR_ARG(operand));
    if (nki_edit_insert_before(&m->edits, stmt, buf_str(&lines))) {
        migrate_replace(m, node, str_of(name));
        migrate_did(m, node, "nl.rsqrt does not read PSUM: nisa.activation(op=nl.rsqrt)");
    } else {
        migrate_ask(m, node, "nl.rsqrt does not read PSUM: use nisa.activation(op=nl.rsqrt)");
    }
    buf_free(&lines);
}

void migrate_ask_quantize(struct migrate *m, const struct nki_node *node) {
    if (is_of_nki(m) && migrate_calls(m, node, "nisa.quantize_mx"))
        migrate_ask(m, node, m->rule->now);
}
