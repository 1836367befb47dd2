/* SPDX-License-Identifier: Apache-2.0 */
/* Loops one after the other that load the same tiles: the tiles are fetched once before the first
 * of them, and all take views. */
#include "rewrite/moves/private.h"

#define MAX_SHARED 8

struct shared {
    struct rewrite_maker makers[MAX_SHARED];
    struct nki_node *srcs[MAX_SHARED];
    const struct rewrite_loop *loops[MAX_SHARED];
    int n;
};

static bool same_start(const struct rewrite_affine *a, const struct rewrite_loop *of_a,
                       const struct rewrite_affine *b, const struct rewrite_loop *of_b) {
    if (a->base != b->base || a->n_terms != b->n_terms || a->arange != b->arange)
        return false;
    for (int i = 0; i < a->n_terms; i++) {
        const struct rewrite_loop *loop = a->term[i].loop == of_a ? of_b : a->term[i].loop;
        if (rewrite_coef(b, loop) != a->term[i].coef)
            return false;
    }
    return true;
}

/* Whether two loads read the same data when the variable of one loop stands for that of the
 * other. */
static bool same_source(const struct rewrite_model *model, const struct nki_node *a,
                        const struct rewrite_loop *of_a, const struct nki_node *b,
                        const struct rewrite_loop *of_b) {
    struct rewrite_region first, second;
    if (!rewrite_region_of(model, a, &first) || !rewrite_region_of(model, b, &second) ||
        first.base != second.base || first.n_dims != second.n_dims)
        return false;
    for (int i = 0; i < first.n_dims; i++)
        if (first.dim[i].size != second.dim[i].size || first.dim[i].drops != second.dim[i].drops ||
            !same_start(&first.dim[i].start, of_a, &second.dim[i].start, of_b))
            return false;
    return true;
}

/* Adds a load that stands right in a loop of the same block as the first one's. */
static void try_add(const struct rewrite_model *model, struct nki_node *stmt,
                    struct shared *shared) {
    struct rewrite_maker *maker = &shared->makers[shared->n];
    const struct rewrite_loop *loop =
        stmt->parent->kind == NKI_FOR ? rewrite_loop_of(model, stmt->parent) : NULL;
    if (shared->n == MAX_SHARED || !loop || !rewrite_maker_of(model, stmt, maker) ||
        !rewrite_is_load(model, maker, &shared->srcs[shared->n]))
        return;
    if (shared->n) {
        const struct rewrite_loop *first = shared->loops[0];
        const struct rewrite_tile *a = &shared->makers[0].tile, *b = &maker->tile;
        if (rewrite_block_of(loop->node) != rewrite_block_of(first->node) || loop == first ||
            loop->trips != first->trips || loop->start != first->start || a->dtype != b->dtype ||
            !same_source(model, shared->srcs[0], first, shared->srcs[shared->n], loop))
            return;
    }
    shared->loops[shared->n++] = loop;
}

static bool shared_find(struct rewrite_model *model, const struct rewrite_row *row,
                        struct nki_node *stmt, struct shared *shared,
                        struct rewrite_preload *preload) {
    const struct rewrite_loop *loops[REWRITE_MAX_DIMS];
    shared->n = 0;
    try_add(model, stmt, shared);
    if (!shared->n)
        return false;
    for (uint32_t i = stmt->last + 1; i <= model->kernel->last; i++) {
        struct nki_node *node = model->tree->nodes[i];
        if (node->kind == NKI_ASSIGN || node->kind == NKI_EXPR)
            try_add(model, node, shared);
    }
    if (shared->n < 2)
        return false;
    const struct rewrite_maker *first = &shared->makers[0];
    const struct nki_node *base = rewrite_root_node(shared->srcs[0]);
    if (rewrite_is_written_between(model, rewrite_name_of(model, base->name.id),
                                   shared->loops[0]->node->id,
                                   shared->loops[shared->n - 1]->node->last)) {
        rewrite_decline(model, row, stmt, STR_FMT " is written between the loops",
                        STR_ARG(base->name.id));
        return false;
    }
    const struct nki_node *dtype = first->alloc
                                       ? rewrite_arg(rewrite_value_of_def(first->def), "dtype", 1)
                                       : nki_keyword(first->call, "dtype");
    struct str name = first->def->name.id;
    *preload = (struct rewrite_preload){.stmt = stmt, .src = shared->srcs[0], .tile = first->tile};
    preload->dtype = dtype ? rewrite_text(model, dtype)
                           : arena_printf(model->arena, STR_FMT ".dtype", STR_ARG(base->name.id));
    preload->stem = arena_printf(model->arena, STR_FMT "_all", STR_ARG(name));
    int n = rewrite_loops_around(model, stmt, loops);
    return n && rewrite_preload_find(model, row, preload, n - 1) && preload->depends >> (n - 1);
}

static bool is_in_earlier(const struct rewrite_model *model, const struct rewrite_row *row,
                          const struct nki_node *stmt) {
    for (size_t i = 0; i < model->sites.len; i++) {
        const struct rewrite_site *site = &model->sites.at[i];
        if (site->row == row && site->number[1] >= (int64_t)stmt->id &&
            site->number[2] == (int64_t)(uintptr_t)rewrite_block_of(stmt->parent))
            return true;
    }
    return false;
}

void rewrite_find_share(struct rewrite_model *model, const struct rewrite_row *row) {
    for (uint32_t i = model->kernel->id; i <= model->kernel->last; i++) {
        struct nki_node *node = model->tree->nodes[i];
        struct shared shared;
        struct rewrite_preload preload;
        if ((node->kind != NKI_ASSIGN && node->kind != NKI_EXPR) ||
            is_in_earlier(model, row, node) || !shared_find(model, row, node, &shared, &preload))
            continue;
        struct str name = shared.makers[0].def->name.id;
        struct rewrite_site *site = rewrite_site_add(model, row, node);
        site->node[0] = node;
        site->number[1] = shared.makers[shared.n - 1].stmt->id;
        site->number[2] = (int64_t)(uintptr_t)rewrite_block_of(node->parent);
        site->key = arena_printf(model->arena, "share:" STR_FMT ".%d:" STR_FMT, STR_ARG(name),
                                 rewrite_ordinal(model, shared.makers[0].def),
                                 STR_ARG(shared.loops[0]->var));
        site->title = arena_printf(model->arena, "Load " STR_FMT " once for %d loops",
                                   STR_ARG(name), shared.n);
        site->what = arena_printf(model->arena,
                                  "Fetch the tiles of " STR_FMT " before the first of the "
                                  "%d loops (%lld KiB per partition); all of them take views.",
                                  STR_ARG(name), shared.n, (long long)preload.bytes / 1024);
        site->why = arena_printf(model->arena, "%d loops fetch the same data.", shared.n);
        double share = 0;
        for (int k = 0; k < shared.n; k++)
            share += rewrite_share(model, shared.makers[k].stmt, 0.15);
        site->size = 1 - 1.0 / shared.n;
        site->gain = share * site->size * 0.95;
    }
}

bool rewrite_apply_share(struct rewrite_model *model, const struct rewrite_site *site,
                         struct nki_edits *edits, struct err *err) {
    struct shared shared;
    struct rewrite_preload preload;
    if (!shared_find(model, site->row, site->node[0], &shared, &preload))
        return err_set(err, ERR_KERNEL, "the loads cannot be shared any more");
    const char *made = model->dialect == NKI_DIALECT_LEGACY
                           ? arena_printf(model->arena, "%s.load(%%s)", model->nl)
                           : arena_printf(model->arena, "%s.dma_copy(dst=@, src=%%s)",
                                          model->nisa ? model->nisa : "nisa");
    const char *name = rewrite_fresh_name(model, preload.stem);
    if (!rewrite_preload_insert(model, &preload, made, edits, err))
        return false;
    for (int i = 0; i < shared.n; i++) {
        const struct rewrite_maker *maker = &shared.makers[i];
        preload.loops[preload.at] = shared.loops[i];
        nki_edit_node(
            edits, maker->stmt,
            str_of(arena_printf(model->arena, STR_FMT " = %s", STR_ARG(maker->def->name.id),
                                rewrite_preload_view(model, &preload, name))));
        if (maker->alloc)
            nki_edit_remove_stmt(edits, maker->alloc);
    }
    return true;
}
