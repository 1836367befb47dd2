/* SPDX-License-Identifier: Apache-2.0 */
/* Tile sizes that are written as numbers: `for n in range(8)` with `n * 256:(n + 1) * 256` inside.
 * The count and every number that means the tile's size change together, or none does. */
#include "rewrite/moves/private.h"

#define MAX_FACTOR 16

static bool is_number(const struct nki_node *node, int64_t value) {
    return node->kind == NKI_CONSTANT && node->constant.type == NKI_CONST_INT &&
           !node->constant.is_big && node->constant.integer == value;
}

/* The number in the loop's count that changes: the count itself, or the divisor. */
static struct nki_node *count_number(const struct rewrite_loop *loop, bool *is_divisor) {
    struct nki_node *count = loop->count;
    *is_divisor = count && count->kind == NKI_BIN_OP && count->bin_op.op == NKI_FLOOR_DIV;
    if (*is_divisor)
        count = count->bin_op.right;
    return count && count->kind == NKI_CONSTANT ? count : NULL;
}

/* By how much every index that uses the loop's variable steps with it; 0 when they differ. */
static int64_t step_of(const struct rewrite_model *model, const struct rewrite_loop *loop) {
    int64_t size = 0;
    for (uint32_t i = loop->node->id; i <= loop->node->last; i++) {
        struct rewrite_region region;
        const struct nki_node *node = model->tree->nodes[i];
        if (node->kind != NKI_SUBSCRIPT || !rewrite_region_of(model, node, &region))
            continue;
        for (int d = 0; d < region.n_dims; d++) {
            int64_t coef = rewrite_coef(&region.dim[d].start, loop);
            if (!coef)
                continue;
            if (coef != region.dim[d].size || (size && coef != size))
                return 0;
            size = coef;
        }
    }
    return size;
}

/* Every use of the variable is in an index that was understood. */
static bool var_only_indexes(const struct rewrite_model *model, const struct rewrite_loop *loop) {
    for (uint32_t i = loop->node->for_.iter->last + 1; i <= loop->node->last; i++) {
        const struct nki_node *node = model->tree->nodes[i], *up = node;
        struct rewrite_region region;
        if (node->kind != NKI_NAME || !str_equal(node->name.id, loop->var))
            continue;
        while (up && nki_is_expression(up) &&
               !(up->kind == NKI_SUBSCRIPT && nki_contains(up->subscript.slice, node)))
            up = up->parent;
        if (!up || up->kind != NKI_SUBSCRIPT || !rewrite_region_of(model, up, &region))
            return false;
    }
    return true;
}

/* Whether the same number means something else inside the loop: a dimension of this size without
 * the variable, a tile from outside, a partition count. */
static const char *why_ambiguous(const struct rewrite_model *model, const struct rewrite_loop *loop,
                                 int64_t size) {
    for (uint32_t i = loop->node->id; i <= loop->node->last; i++) {
        const struct nki_node *node = model->tree->nodes[i];
        struct rewrite_region region;
        if (node->kind == NKI_SUBSCRIPT && rewrite_region_of(model, node, &region)) {
            struct rewrite_tile of = rewrite_tile_of(model, node->subscript.value);
            for (int d = 0; d < region.n_dims; d++)
                if (region.dim[d].size == size && !region.dim[d].drops &&
                    !rewrite_coef(&region.dim[d].start, loop) &&
                    !(of.known && of.space != NKI_HBM && region.dim[d].full))
                    return "the number also means something else in the loop";
        }
        if (node->kind != NKI_NAME || node->context != NKI_LOAD)
            continue;
        struct rewrite_tile tile = rewrite_tile_of(model, node);
        const struct nki_node *def = rewrite_def_of(model, node);
        bool inside = def && nki_contains(loop->node, def);
        if (inside && tile.known && tile.shape[tile.partition_dim] == size)
            return "the number is also a count of partitions";
        if (inside || !def)
            continue;
        for (int d = 0; tile.known && tile.space != NKI_HBM && d < tile.n_dims; d++)
            if (tile.shape[d] == size)
                return "a tile of this size is made outside the loop";
        if (!tile.known && rewrite_affine_of(model, node).arange == size)
            return "an index of this size is made outside the loop";
    }
    return NULL;
}

static void edit(const struct rewrite_model *model, const struct rewrite_loop *loop, int64_t size,
                 int64_t factor, struct nki_edits *edits) {
    bool is_divisor;
    struct nki_node *count = count_number(loop, &is_divisor);
    int64_t number = is_divisor ? size * factor : loop->trips / factor;
    nki_edit_node(edits, count, str_of(arena_printf(model->arena, "%lld", (long long)number)));
    for (uint32_t i = loop->node->for_.iter->last + 1; i <= loop->node->last; i++) {
        const struct nki_node *node = model->tree->nodes[i];
        if (is_number(node, size) && rewrite_lays_out(model, node))
            nki_edit_node(edits, node,
                          str_of(arena_printf(model->arena, "%lld", (long long)(size * factor))));
    }
}

/* Only numbers were changed, so nodes keep their ids. Every extent of the old size that goes with
 * the loop must have the new one, and no other extent may have moved. */
static bool is_scaled(int64_t before, int64_t after, int64_t size, int64_t factor, bool moves) {
    return moves && before == size ? after == size * factor : after == before;
}

static bool regions_scaled(const struct rewrite_model *before, const struct rewrite_model *after,
                           uint32_t id, const struct rewrite_loop *loop, int64_t size,
                           int64_t factor) {
    struct rewrite_region old, new;
    bool was = rewrite_region_of(before, before->tree->nodes[id], &old);
    if (rewrite_region_of(after, after->tree->nodes[id], &new) != was)
        return false;
    for (int d = 0; was && d < old.n_dims; d++) {
        bool moves = rewrite_coef(&old.dim[d].start, loop) != 0 || old.dim[d].full;
        if (!is_scaled(old.dim[d].size, new.dim[d].size, size, factor, moves))
            return false;
    }
    return true;
}

static bool tiles_scaled(const struct rewrite_model *before, const struct rewrite_model *after,
                         uint32_t id, int64_t size, int64_t factor) {
    struct rewrite_tile old = rewrite_tile_of_def(before, before->tree->nodes[id]);
    struct rewrite_tile new = rewrite_tile_of_def(after, after->tree->nodes[id]);
    if (old.known != new.known || old.n_dims != new.n_dims)
        return false;
    for (int d = 0; old.known && d < old.n_dims; d++)
        if (!is_scaled(old.shape[d], new.shape[d], size, factor, d != old.partition_dim))
            return false;
    return true;
}

static const char *why_unlike(const struct rewrite_model *before, const struct rewrite_model *after,
                              const struct rewrite_loop *loop, int64_t size, int64_t factor) {
    static const char why[] = "not every extent of this size is written as a number";
    if (before->tree->n_nodes != after->tree->n_nodes)
        return why;
    const struct rewrite_loop *now = rewrite_loop_of(after, after->tree->nodes[loop->node->id]);
    if (!now || step_of(after, now) != size * factor || now->trips * factor != loop->trips)
        return why;
    for (uint32_t i = loop->node->id; i <= loop->node->last; i++) {
        const struct nki_node *node = before->tree->nodes[i];
        if (node->kind != after->tree->nodes[i]->kind)
            return why;
        bool ok = true;
        if (node->kind == NKI_SUBSCRIPT)
            ok = regions_scaled(before, after, i, loop, size, factor);
        else if (node->kind == NKI_NAME && node->context == NKI_STORE)
            ok = tiles_scaled(before, after, i, size, factor);
        if (!ok)
            return why;
    }
    return NULL;
}

static const char *why_illegal(const struct rewrite_model *model, const struct rewrite_loop *loop,
                               int64_t size, int64_t factor) {
    struct nki_edits edits = {.tree = model->tree};
    struct buf out = {0};
    struct rewrite_model *after = NULL;
    edit(model, loop, size, factor, &edits);
    if (nki_edits_apply(&edits, &out, NULL)) {
        struct rewrite_request next = *model->request;
        next.source = buf_str(&out);
        after = rewrite_model_new(&next, NULL);
    }
    const char *why = after ? rewrite_why_illegal(after) : "it would not parse";
    if (!why)
        why = why_unlike(model, after, loop, size, factor);
    rewrite_model_free(after);
    buf_free(&out);
    nki_edits_free(&edits);
    return why;
}

static void add_site(struct rewrite_model *model, const struct rewrite_row *row,
                     const struct rewrite_loop *loop, int64_t size, int64_t factor) {
    struct rewrite_site *site = rewrite_site_add(model, row, loop->node);
    long long new_size = (long long)(size * factor);
    site->loop = loop;
    site->number[0] = size;
    site->number[1] = factor;
    site->key = arena_printf(model->arena, "retile:" STR_FMT ".%d:%lld", STR_ARG(loop->var),
                             rewrite_ordinal(model, loop->node->for_.target), new_size);
    site->title = arena_printf(model->arena, "Tiles of %lld instead of %lld over " STR_FMT,
                               new_size, (long long)size, STR_ARG(loop->var));
    site->what = arena_printf(model->arena,
                              "Let the loop over " STR_FMT " take %lld steps of %lld; "
                              "its index expressions and shapes follow.",
                              STR_ARG(loop->var), (long long)(loop->trips / factor), new_size);
    site->why = "Larger tiles move more bytes in each transfer and pay fixed costs less often.";
    site->gain = rewrite_share(model, loop->node, 0.5) *
                 (1 - rewrite_row_cost(new_size) / rewrite_row_cost(size));
    site->size = (double)factor - 1;
}

static void look_at(struct rewrite_model *model, const struct rewrite_row *row,
                    const struct rewrite_loop *loop) {
    bool is_divisor;
    const struct nki_node *count = count_number(loop, &is_divisor);
    if (!count || !loop->known || loop->start || loop->step != 1 || loop->trips < 2)
        return;
    int64_t size = step_of(model, loop);
    const char *why = NULL;
    if (size < 2 || !var_only_indexes(model, loop))
        why = "its variable does more than step through tiles of one size";
    else if (is_divisor && !is_number(count, size))
        why = "its count is divided by something else than the tile size";
    if (!why)
        why = why_ambiguous(model, loop, size);
    if (why) {
        rewrite_decline(model, row, loop->node, "%s", why);
        return;
    }
    for (int64_t factor = 2; factor <= MAX_FACTOR && factor <= loop->trips; factor++) {
        if (loop->trips % factor)
            continue;
        why = why_illegal(model, loop, size, factor);
        if (why)
            rewrite_decline(model, row, loop->node, "%lld: %s", (long long)(size * factor), why);
        else
            add_site(model, row, loop, size, factor);
    }
}

void rewrite_find_retile(struct rewrite_model *model, const struct rewrite_row *row) {
    if (rewrite_why_illegal(model))
        return;
    for (size_t i = 0; i < model->loops.len; i++)
        look_at(model, row, model->loops.at[i]);
}

bool rewrite_apply_retile(struct rewrite_model *model, const struct rewrite_site *site,
                          struct nki_edits *edits, struct err *err) {
    (void)err;
    edit(model, site->loop, site->number[0], site->number[1], edits);
    return true;
}
