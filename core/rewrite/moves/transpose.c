/* SPDX-License-Identifier: Apache-2.0 */
/* nl.matmul(x, y) of the legacy dialect transposes x on the Tensor engine each time. Where a loop
 * around it does not change x, the transposed tiles are made once before that loop. */
#include "rewrite/moves/private.h"

static bool is_true(const struct nki_node *expr) {
    return expr && expr->kind == NKI_CONSTANT && expr->constant.type == NKI_CONST_TRUE;
}

static struct nki_node *left_operand(const struct rewrite_model *model,
                                     const struct nki_node *call) {
    if (!rewrite_is_call(model, call, REWRITE_NL, "matmul") ||
        is_true(rewrite_arg(call, "transpose_x", 2)) || call->call.args.len > 2 ||
        !rewrite_is_none(nki_keyword(call, "mask")) || nki_keyword(call, "x"))
        return NULL;
    return rewrite_arg(call, "x", 0);
}

static bool preload_of(struct rewrite_model *model, struct nki_node *call,
                       struct rewrite_preload *preload) {
    struct nki_node *left = left_operand(model, call);
    const struct nki_node *root = left ? rewrite_root_node(left) : NULL;
    struct rewrite_tile tile = root ? rewrite_tile_of(model, left) : (struct rewrite_tile){0};
    if (!tile.known || tile.n_dims != 2 || tile.space != NKI_SBUF || tile.shape[1] > 128)
        return false;
    int64_t rows = tile.shape[0];
    tile.shape[0] = tile.shape[1];
    tile.shape[1] = rows;
    *preload = (struct rewrite_preload){.stmt = nki_statement_of(call), .src = left, .tile = tile};
    const struct nki_node *def = rewrite_def_of(model, root);
    preload->hint[0] = left;
    preload->hint[1] = def ? rewrite_value_of_def(def) : NULL;
    preload->dtype = arena_printf(model->arena, STR_FMT ".dtype", STR_ARG(root->name.id));
    preload->stem = arena_printf(model->arena, STR_FMT "_t", STR_ARG(root->name.id));
    return true;
}

static void look_at(struct rewrite_model *model, const struct rewrite_row *row,
                    struct nki_node *call) {
    struct rewrite_preload preload;
    const struct rewrite_loop *loops[REWRITE_MAX_DIMS];
    if (!left_operand(model, call))
        return;
    if (!preload_of(model, call, &preload)) {
        rewrite_decline(model, row, call,
                        "the left operand is not a known tile of at most 128 columns");
        return;
    }
    int n = rewrite_loops_around(model, call, loops);
    int64_t best = 1;
    for (int at = n - 1; at >= 0; at--) {
        if (!rewrite_preload_find(model, row, &preload, at) || preload.reuse <= best)
            continue;
        best = preload.reuse;
        const struct nki_node *root = rewrite_root_node(preload.src);
        struct rewrite_site *site = rewrite_site_add(model, row, preload.stmt);
        site->node[0] = call;
        site->number[0] = at;
        site->key = arena_printf(model->arena, "transpose:" STR_FMT ":" STR_FMT,
                                 STR_ARG(root->name.id), STR_ARG(loops[at]->var));
        site->title =
            arena_printf(model->arena, "Transpose " STR_FMT " once", STR_ARG(root->name.id));
        site->what = arena_printf(model->arena,
                                  "Transpose the tiles of " STR_FMT " before the loop over " STR_FMT
                                  " and multiply with transpose_x=True.",
                                  STR_ARG(root->name.id), STR_ARG(loops[at]->var));
        site->why = arena_printf(model->arena, "The Tensor engine transposes each tile %lld times.",
                                 (long long)preload.reuse);
        site->size = 0.3 * (1 - 1 / (double)preload.reuse);
        site->gain = rewrite_share(model, preload.stmt, 0.5) * site->size;
    }
}

void rewrite_find_transpose(struct rewrite_model *model, const struct rewrite_row *row) {
    for (uint32_t i = model->kernel->id; i <= model->kernel->last; i++)
        if (model->tree->nodes[i]->kind == NKI_CALL)
            look_at(model, row, model->tree->nodes[i]);
}

bool rewrite_apply_transpose(struct rewrite_model *model, const struct rewrite_site *site,
                             struct nki_edits *edits, struct err *err) {
    struct rewrite_preload preload;
    struct nki_node *call = site->node[0];
    if (!preload_of(model, call, &preload) ||
        !rewrite_preload_find(model, site->row, &preload, (int)site->number[0]))
        return err_set(err, ERR_KERNEL,
                       "the operand cannot be transposed before the loop any more");
    preload.merged = -1;
    const char *made = arena_printf(model->arena, "%s.transpose(%%s)", model->nl);
    const char *view = rewrite_preload_insert(model, &preload, made, edits, err);
    if (!view)
        return false;
    nki_edit_node(edits, preload.src, str_of(view));
    struct nki_node *flag = rewrite_arg(call, "transpose_x", 2);
    if (flag) {
        nki_edit_node(edits, flag, STR("True"));
        return true;
    }
    const struct nki_node *last = call->call.keywords.len
                                      ? call->call.keywords.at[call->call.keywords.len - 1]
                                      : call->call.args.at[call->call.args.len - 1];
    nki_edit_insert(edits, nki_outer_span(model->tree, last).end, STR(", transpose_x=True"));
    return true;
}
