/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers of another size: the stores of a loop merged into one after it, and one wide load split
 * into several so that work can start on the first part. */
#include "rewrite/moves/private.h"

/* ---- merging stores ------------------------------------------------------------------------- */

struct store {
    struct nki_node *stmt, *dst, *value;
    struct rewrite_maker maker; /* of the value */
    const struct rewrite_loop *loop;
    struct rewrite_region region;
};

/* nl.store(dst, value) or dma_copy(dst=<HBM>, src=tile) */
static bool read_call(const struct rewrite_model *model, struct nki_node *stmt,
                      struct store *store) {
    const struct nki_node *call = stmt->kind == NKI_EXPR ? stmt->expr.value : NULL;
    store->stmt = stmt;
    if (rewrite_is_call(model, call, REWRITE_NL, "store")) {
        store->dst = rewrite_arg(call, "dst", 0);
        store->value = rewrite_arg(call, "value", 1);
    } else if (rewrite_is_call(model, call, REWRITE_NISA, "dma_copy")) {
        store->dst = rewrite_arg(call, "dst", 0);
        store->value = rewrite_arg(call, "src", 1);
    } else {
        return false;
    }
    if (!store->dst || !store->value || call->call.args.len + call->call.keywords.len != 2)
        return false;
    struct rewrite_tile to = rewrite_tile_of(model, store->dst);
    return to.known && to.space == NKI_HBM;
}

/* Whether another statement of the loop reads or writes the place that is stored to. */
static bool is_used_else(const struct store *store, const struct nki_node *stmt) {
    const struct rewrite_name *base = store->region.base;
    for (size_t i = 0; i < base->accesses.len; i++) {
        const struct nki_node *node = base->accesses.at[i].node;
        bool is_attribute = node->parent && node->parent->kind == NKI_ATTRIBUTE;
        if (nki_contains(store->loop->node, node) && !nki_contains(stmt, node) && !is_attribute)
            return true;
    }
    return false;
}

static bool read_store(struct rewrite_model *model, const struct rewrite_row *row,
                       struct nki_node *stmt, struct store *store) {
    const struct rewrite_loop *loops[REWRITE_MAX_DIMS];
    if (!read_call(model, stmt, store))
        return false;
    int n = rewrite_loops_around(model, stmt, loops);
    if (!n || !rewrite_region_of(model, store->dst, &store->region) ||
        store->value->kind != NKI_NAME ||
        !rewrite_maker_of_use(model, store->value, &store->maker) || store->maker.element ||
        rewrite_only_use(model, &store->maker) != stmt) {
        rewrite_decline(model, row, stmt, "what it stores is not one tile made for it alone");
        return false;
    }
    store->loop = loops[n - 1];
    if (is_used_else(store, stmt)) {
        rewrite_decline(model, row, stmt, STR_FMT " is also used otherwise in the loop",
                        STR_ARG(store->region.base->id));
        return false;
    }
    const struct rewrite_dim *last = &store->region.dim[store->region.n_dims - 1];
    bool other = false;
    for (int i = 0; i + 1 < store->region.n_dims; i++)
        other |= rewrite_coef(&store->region.dim[i].start, store->loop) != 0;
    if (other || !store->loop->known || store->loop->start || store->loop->step != 1 ||
        rewrite_coef(&last->start, store->loop) != last->size || store->maker.tile.n_dims != 2 ||
        store->maker.stmt->parent != store->loop->node) {
        rewrite_decline(model, row, stmt,
                        "the pieces of the loop over " STR_FMT " do not lie side by side",
                        STR_ARG(store->loop->var));
        return false;
    }
    return true;
}

static int64_t merged_bytes(const struct store *store) {
    return rewrite_tile_bytes(&store->maker.tile) * store->loop->trips;
}

static void look_at_store(struct rewrite_model *model, const struct rewrite_row *row,
                          struct nki_node *stmt) {
    struct store store;
    if (!read_store(model, row, stmt, &store) || store.loop->trips < 2)
        return;
    if (merged_bytes(&store) + rewrite_sbuf_bytes(model) >
        nki_generation_sbuf_bytes(model->request->generation)) {
        rewrite_decline(model, row, stmt, "does not fit: %lld KiB per partition",
                        (long long)merged_bytes(&store) / 1024);
        return;
    }
    struct rewrite_site *site = rewrite_site_add(model, row, stmt);
    struct str name = store.maker.def->name.id;
    int64_t bytes = rewrite_tile_bytes(&store.maker.tile);
    site->node[0] = stmt;
    site->key = arena_printf(model->arena, "store:" STR_FMT ".%d:" STR_FMT, STR_ARG(name),
                             rewrite_ordinal(model, store.maker.def), STR_ARG(store.loop->var));
    site->title = arena_printf(model->arena, "Merge the stores of " STR_FMT, STR_ARG(name));
    site->what = arena_printf(model->arena,
                              "Collect what the loop over " STR_FMT " makes in SBUF (%lld "
                              "KiB per partition) and store it after the loop.",
                              STR_ARG(store.loop->var), (long long)merged_bytes(&store) / 1024);
    site->why = arena_printf(model->arena, "Each store moves only %lld bytes per partition.",
                             (long long)bytes);
    site->size = (double)store.loop->trips - 1;
    site->gain = rewrite_share(model, stmt, 0.1) * (bytes < 512 ? 0.6 : bytes < 2048 ? 0.4 : 0.05);
}

void rewrite_find_store(struct rewrite_model *model, const struct rewrite_row *row) {
    for (uint32_t i = model->kernel->id; i <= model->kernel->last; i++)
        if (model->tree->nodes[i]->kind == NKI_EXPR)
            look_at_store(model, row, model->tree->nodes[i]);
}

static const char *whole_dst_text(const struct rewrite_model *model, const struct store *store) {
    const char *text = arena_printf(model->arena, STR_FMT "[", STR_ARG(store->region.base->id));
    for (int i = 0; i < store->region.n_dims; i++) {
        const struct rewrite_dim *dim = &store->region.dim[i];
        struct rewrite_affine start = dim->start;
        int64_t size = dim->size;
        if (i + 1 == store->region.n_dims) {
            int kept = 0;
            for (int k = 0; k < start.n_terms; k++)
                if (start.term[k].loop != store->loop)
                    start.term[kept++] = start.term[k];
            start.n_terms = kept;
            size *= store->loop->trips;
        }
        if (i + 1 == store->region.n_dims && !start.n_terms && !start.base) {
            text = arena_printf(model->arena, "%s%s0:%s", text, i ? ", " : "",
                                rewrite_total(model, store->loop, dim->size, dim->node));
            continue;
        }
        text = arena_printf(model->arena, "%s%s%s", text, i ? ", " : "",
                            dim->drops ? rewrite_affine_text(model, &start, dim->node)
                                       : rewrite_slice_text(model, &start, size, dim->node));
    }
    return arena_printf(model->arena, "%s]", text);
}

bool rewrite_apply_store(struct rewrite_model *model, const struct rewrite_site *site,
                         struct nki_edits *edits, struct err *err) {
    struct store store;
    if (!read_store(model, site->row, site->node[0], &store))
        return err_set(err, ERR_KERNEL, "the stores cannot be merged any more");
    const struct rewrite_dim *last = &store.region.dim[store.region.n_dims - 1];
    const struct rewrite_tile *tile = &store.maker.tile;
    const char *name = rewrite_fresh_name(
        model, arena_printf(model->arena, STR_FMT "_all", STR_ARG(store.maker.def->name.id)));
    const struct nki_node *dtype =
        store.maker.alloc ? rewrite_arg(rewrite_value_of_def(store.maker.def), "dtype", 1) : NULL;
    const char *alloc = rewrite_alloc_text(
        model, rewrite_number(model, tile->shape[0], store.region.dim[0].node),
        rewrite_total(model, store.loop, tile->shape[1], last->node),
        dtype ? rewrite_text(model, dtype)
              : arena_printf(model->arena, STR_FMT ".dtype", STR_ARG(store.region.base->id)));
    struct rewrite_affine start = {.known = true, .n_terms = 1};
    start.term[0].loop = store.loop;
    start.term[0].coef = last->size;
    const char *piece = arena_printf(model->arena, "%s[:, %s]", name,
                                     rewrite_slice_text(model, &start, last->size, last->node));
    const char *call = model->dialect == NKI_DIALECT_LEGACY ||
                               rewrite_is_call(model, store.stmt->expr.value, REWRITE_NL, "store")
                           ? arena_printf(model->arena, "%s.store(%s, value=%s)", model->nl,
                                          whole_dst_text(model, &store), name)
                           : arena_printf(model->arena, "%s.dma_copy(dst=%s, src=%s)", model->nisa,
                                          whole_dst_text(model, &store), name);
    bool ok = rewrite_insert_above(model, edits, store.loop->node,
                                   str_of(arena_printf(model->arena, "%s = %s", name, alloc))) &&
              nki_edit_insert_after(edits, store.loop->node, str_of(call));
    if (store.maker.alloc)
        nki_edit_node(edits, rewrite_value_of_def(store.maker.def), str_of(piece));
    else
        nki_edit_node(edits, store.maker.def, str_of(piece));
    nki_edit_remove_stmt(edits, store.stmt);
    return ok || err_set(err, ERR_KERNEL, "there is no room for lines around the loop");
}

/* ---- splitting a load ----------------------------------------------------------------------- */

static bool read_split(struct rewrite_model *model, struct nki_node *stmt,
                       struct rewrite_maker *maker, struct rewrite_region *region,
                       struct nki_node **src) {
    if (!rewrite_maker_of(model, stmt, maker) || !rewrite_is_load(model, maker, src) ||
        !rewrite_region_of(model, *src, region) || !maker->tile.known || maker->tile.n_dims != 2)
        return false;
    const struct rewrite_dim *last = &region->dim[region->n_dims - 1];
    return !last->drops && last->size == maker->tile.shape[1] && last->size >= 1024;
}

void rewrite_find_split(struct rewrite_model *model, const struct rewrite_row *row) {
    for (uint32_t i = model->kernel->id; i <= model->kernel->last; i++) {
        struct nki_node *node = model->tree->nodes[i], *src;
        struct rewrite_maker maker;
        struct rewrite_region region;
        if ((node->kind != NKI_ASSIGN && node->kind != NKI_EXPR) ||
            !read_split(model, node, &maker, &region, &src))
            continue;
        for (int64_t parts = 2; parts <= 4; parts *= 2) {
            int64_t size = maker.tile.shape[1];
            if (size % parts || size / parts < 512)
                continue;
            struct str name = maker.def->name.id;
            struct rewrite_site *site = rewrite_site_add(model, row, node);
            site->node[0] = node;
            site->number[0] = parts;
            site->key = arena_printf(model->arena, "split:" STR_FMT ".%d:%lld", STR_ARG(name),
                                     rewrite_ordinal(model, maker.def), (long long)parts);
            site->title = arena_printf(model->arena, "Load " STR_FMT " in %lld parts",
                                       STR_ARG(name), (long long)parts);
            site->what = arena_printf(model->arena,
                                      "Fetch the %lld columns of " STR_FMT " in %lld transfers.",
                                      (long long)size, STR_ARG(name), (long long)parts);
            site->why =
                "Several transfers run on several queues, and work can start on the first part.";
            site->gain = rewrite_share(model, node, 0.02) * 0.02;
            site->size = 0.02;
        }
    }
}

/* One dimension of the source: the last one narrowed to this part. */
static const char *part_dim(const struct rewrite_model *model, const struct rewrite_dim *dim,
                            const char *from, const char *to) {
    struct rewrite_affine start = dim->start;
    start.arange = 0;
    if (dim->drops)
        return rewrite_affine_text(model, &start, dim->node);
    if (!from)
        return rewrite_slice_text(model, &start, dim->size, dim->node);
    const char *low = rewrite_affine_text(model, &start, dim->node);
    return strcmp(low, "0") ? arena_printf(model->arena, "%s + %s:%s + %s", low, from, low, to)
                            : arena_printf(model->arena, "%s:%s", from, to);
}

bool rewrite_apply_split(struct rewrite_model *model, const struct rewrite_site *site,
                         struct nki_edits *edits, struct err *err) {
    struct rewrite_maker maker;
    struct rewrite_region region;
    struct nki_node *src;
    if (!read_split(model, site->node[0], &maker, &region, &src))
        return err_set(err, ERR_KERNEL, "the load cannot be split any more");
    const char *part = rewrite_fresh_name(model, "part"), *name = rewrite_text(model, maker.def);
    const struct nki_node *hint = region.dim[region.n_dims - 1].node,
                          *base = rewrite_root_node(src);
    const char *all = rewrite_number(model, maker.tile.shape[1], hint);
    const char *size =
        strchr("0123456789", *all)
            ? arena_printf(model->arena, "%lld", (long long)(maker.tile.shape[1] / site->number[0]))
            : arena_printf(model->arena, "(%s // %lld)", all, (long long)site->number[0]);
    const char *from = arena_printf(model->arena, "%s * %s", part, size);
    const char *to = arena_printf(model->arena, "(%s + 1) * %s", part, size);
    const char *text = arena_printf(model->arena, STR_FMT "[", STR_ARG(region.base->id));
    for (int i = 0; i < region.n_dims; i++)
        text =
            arena_printf(model->arena, "%s%s%s", text, i ? ", " : "",
                         part_dim(model, &region.dim[i], i + 1 == region.n_dims ? from : NULL, to));
    bool legacy = model->dialect == NKI_DIALECT_LEGACY;
    const char *alloc =
        maker.alloc
            ? ""
            : arena_printf(
                  model->arena, "%s = %s\n", name,
                  rewrite_alloc_text(
                      model, rewrite_number(model, maker.tile.shape[0], region.dim[0].node), all,
                      arena_printf(model->arena, STR_FMT ".dtype", STR_ARG(base->name.id))));
    const char *move = legacy
                           ? arena_printf(model->arena, "%s%s[:, %s:%s] = %s.load(%s])",
                                          rewrite_indent(model, 1), name, from, to, model->nl, text)
                           : arena_printf(model->arena, "%s%s.dma_copy(dst=%s[:, %s:%s], src=%s])",
                                          rewrite_indent(model, 1),
                                          model->nisa ? model->nisa : "nisa", name, from, to, text);
    const char *lines =
        arena_printf(model->arena, "%sfor %s in %s(%lld):\n%s", alloc, part,
                     legacy ? arena_printf(model->arena, "%s.affine_range", model->nl) : "range",
                     (long long)site->number[0],
                     rewrite_wrap(model, move, nki_indent_of(model->tree, maker.stmt).len));
    bool ok = nki_edit_insert_before(edits, maker.stmt, str_of(lines));
    nki_edit_remove_stmt(edits, maker.stmt);
    return ok || err_set(err, ERR_KERNEL, "there is no room for lines there");
}
