/* SPDX-License-Identifier: Apache-2.0 */
/* Loads in loop nests: keeping what is loaded again and again in SBUF, and merging small loads
 * whose pieces lie side by side. */
#include "rewrite/moves/private.h"

/* The variable's name without "_tile", to name what holds all of them. */
static const char *stem_of(const struct rewrite_model *model, struct str name) {
    if (str_ends(name, "_tile") && name.len > 5)
        name.len -= 5;
    return arena_printf(model->arena, STR_FMT "_all", STR_ARG(name));
}

static bool preload_of(struct rewrite_model *model, const struct rewrite_maker *maker,
                       struct rewrite_preload *preload) {
    *preload = (struct rewrite_preload){.stmt = maker->stmt, .tile = maker->tile};
    if (!rewrite_is_load(model, maker, &preload->src))
        return false;
    const struct nki_node *base = rewrite_root_node(preload->src);
    if (!base)
        return false;
    const struct nki_node *dtype = nki_keyword(maker->call, "dtype");
    if (maker->alloc)
        dtype = rewrite_arg(rewrite_value_of_def(maker->def), "dtype", 1);
    preload->dtype = dtype ? rewrite_text(model, dtype)
                           : arena_printf(model->arena, STR_FMT ".dtype", STR_ARG(base->name.id));
    preload->stem = stem_of(model, maker->def->name.id);
    return true;
}

static void describe(struct rewrite_model *model, struct rewrite_site *site,
                     const struct rewrite_maker *maker, const struct rewrite_preload *preload) {
    struct str name = maker->def->name.id;
    const struct rewrite_loop *before = preload->loops[preload->at];
    site->key =
        arena_printf(model->arena, "%s:" STR_FMT ".%d:" STR_FMT, site->row->id, STR_ARG(name),
                     rewrite_ordinal(model, maker->def), STR_ARG(before->var));
    site->node[0] = maker->stmt;
    site->number[0] = preload->at;
    site->title = arena_printf(model->arena,
                               preload->reuse > 1 ? "Keep " STR_FMT " in SBUF"
                                                  : "Merge the loads of " STR_FMT,
                               STR_ARG(name));
    site->what = arena_printf(
        model->arena,
        "Fetch what " STR_FMT " holds over the whole loop before the loop over " STR_FMT
        " (%lld KiB per partition%s) and take views of it inside.",
        STR_ARG(name), STR_ARG(before->var), (long long)(preload->bytes + 1023) / 1024,
        preload->merged >= 0 ? ", in wide pieces" : "");
    site->why = preload->reuse > 1
                    ? arena_printf(model->arena, "The same data are fetched %lld times.",
                                   (long long)preload->reuse)
                    : arena_printf(model->arena, "Each load moves only %lld bytes per partition.",
                                   (long long)rewrite_tile_bytes(&preload->tile));
}

/* How much of a load's time goes: what is loaded again, and what narrow rows cost on top. */
static double saved(const struct rewrite_preload *preload) {
    double kept = 1.0 / (double)preload->reuse;
    double row = (double)rewrite_tile_bytes(&preload->tile);
    if (preload->merged >= 0 && row < 2048)
        kept *= row < 512 ? 0.3 : 0.5;
    return 1 - kept;
}

static void look_at(struct rewrite_model *model, const struct rewrite_row *row,
                    struct nki_node *stmt, bool reused) {
    struct rewrite_maker maker;
    struct rewrite_preload preload;
    const struct rewrite_loop *loops[REWRITE_MAX_DIMS];
    if (!rewrite_maker_of(model, stmt, &maker) || !preload_of(model, &maker, &preload))
        return;
    int n = rewrite_loops_around(model, stmt, loops);
    if (!n)
        rewrite_decline(model, row, stmt, "it does not stand in plain loops alone");
    double share = rewrite_share(model, stmt, 0.4);
    int64_t before = 0;
    for (int at = n - 1; at >= 0; at--) {
        if (!rewrite_preload_find(model, row, &preload, at))
            continue;
        bool wanted = reused ? preload.reuse > 1 && preload.reuse > before
                             : preload.reuse == 1 && preload.merged == at;
        if (!wanted)
            continue;
        before = preload.reuse;
        if (!(preload.depends >> at))
            continue; /* no loop changes it: moving it out is enough */
        struct rewrite_site *site = rewrite_site_add(model, row, stmt);
        describe(model, site, &maker, &preload);
        site->size = saved(&preload);
        site->gain = share * site->size * (reused ? 0.9 : 0.6);
        if (!reused)
            site->size = (double)preload.loops[at]->trips - 1;
    }
}

static void look_at_all(struct rewrite_model *model, const struct rewrite_row *row, bool reused) {
    for (uint32_t i = model->kernel->id; i <= model->kernel->last; i++) {
        struct nki_node *node = model->tree->nodes[i];
        if (node->kind == NKI_ASSIGN || node->kind == NKI_EXPR)
            look_at(model, row, node, reused);
    }
}

void rewrite_find_resident(struct rewrite_model *model, const struct rewrite_row *row) {
    look_at_all(model, row, true);
}

void rewrite_find_merge(struct rewrite_model *model, const struct rewrite_row *row) {
    look_at_all(model, row, false);
}

bool rewrite_apply_resident(struct rewrite_model *model, const struct rewrite_site *site,
                            struct nki_edits *edits, struct err *err) {
    struct rewrite_maker maker;
    struct rewrite_preload preload;
    if (!rewrite_maker_of(model, site->node[0], &maker) || !preload_of(model, &maker, &preload) ||
        !rewrite_preload_find(model, site->row, &preload, (int)site->number[0]))
        return err_set(err, ERR_KERNEL, "the load cannot be moved any more");
    const char *made =
        model->dialect == NKI_DIALECT_LEGACY && !maker.alloc
            ? arena_printf(model->arena, "%s.load(%%s%s%s)", model->nl,
                           nki_keyword(maker.call, "dtype") ? ", dtype=" : "",
                           nki_keyword(maker.call, "dtype")
                               ? rewrite_text(model, nki_keyword(maker.call, "dtype"))
                               : "")
            : arena_printf(model->arena, "%s.dma_copy(dst=@, src=%%s)",
                           model->nisa ? model->nisa : "nisa");
    const char *view = rewrite_preload_insert(model, &preload, made, edits, err);
    if (!view)
        return false;
    const char *line =
        arena_printf(model->arena, STR_FMT " = %s", STR_ARG(maker.def->name.id), view);
    nki_edit_node(edits, maker.stmt, str_of(line));
    if (maker.alloc)
        nki_edit_remove_stmt(edits, maker.alloc);
    return true;
}

bool rewrite_apply_merge(struct rewrite_model *model, const struct rewrite_site *site,
                         struct nki_edits *edits, struct err *err) {
    return rewrite_apply_resident(model, site, edits, err);
}
