/* SPDX-License-Identifier: Apache-2.0 */
/* Moves the making of tiles from inside a loop nest to before one of its loops. Keeping operands in
 * SBUF, merging loads and transposing once have this in common. */
#include "rewrite/moves/private.h"

#include <limits.h>

/* Whether a second loop over the variable can stand in front of loop `before`: nothing else uses
 * the variable. */
static bool rewrite_var_is_free(const struct rewrite_model *model, struct str var) {
    const struct rewrite_name *name = rewrite_name_of(model, var);
    for (size_t i = 0; name && i < name->accesses.len; i++) {
        const struct rewrite_access *access = &name->accesses.at[i];
        if (access->how & (REWRITE_BIND | REWRITE_WRITE)) {
            if (!access->stmt || access->stmt->kind != NKI_FOR ||
                !nki_contains(access->stmt->for_.target, access->node))
                return false;
        } else {
            const struct nki_node *def = rewrite_def_of(model, access->node);
            if (!def || def->parent->kind != NKI_FOR)
                return false;
        }
    }
    return name != NULL;
}

/* The loop, from `at` inwards, whose pieces lie side by side in the last dimension of the
 * source. */
static int merged_loop(const struct rewrite_preload *preload, const struct rewrite_region *region) {
    if (!region->known || region->n_dims < 1 || preload->tile.n_dims != 2)
        return -1;
    const struct rewrite_dim *last = &region->dim[region->n_dims - 1];
    if (last->drops || last->size != preload->tile.shape[1])
        return -1;
    for (int i = preload->at; i < preload->n_loops; i++) {
        const struct rewrite_loop *loop = preload->loops[i];
        bool elsewhere = false;
        for (int k = 0; k + 1 < region->n_dims; k++)
            elsewhere |= rewrite_coef(&region->dim[k].start, loop) != 0;
        if (!elsewhere && loop->trips > 1 &&
            rewrite_coef(&last->start, loop) * loop->step == last->size)
            return i;
    }
    return -1;
}

/* A loop from 0 in steps of one, or of more where its variable is a number, not an index. */
static bool steps_are_plain(const struct rewrite_loop *loop) {
    return loop->known && !loop->start &&
           (loop->step == 1 || nki_is_dotted(loop->node->for_.iter->call.func, "range"));
}

static bool loops_of_copy(struct rewrite_model *model, const struct rewrite_row *row,
                          struct rewrite_preload *preload) {
    preload->reuse = preload->pieces = 1;
    int dims = preload->tile.n_dims;
    for (int i = preload->at; i < preload->n_loops; i++) {
        const struct rewrite_loop *loop = preload->loops[i];
        if (!steps_are_plain(loop)) {
            rewrite_decline(model, row, loop->node,
                            "the loop over " STR_FMT " does not run from 0 in "
                            "equal steps a known number of times",
                            STR_ARG(loop->var));
            return false;
        }
        if (!(preload->depends & 1u << i)) {
            preload->reuse *= loop->trips;
            continue;
        }
        if (!rewrite_var_is_free(model, loop->var)) {
            rewrite_decline(model, row, loop->node,
                            "the name " STR_FMT " stands for something else too",
                            STR_ARG(loop->var));
            return false;
        }
        preload->pieces *= loop->trips;
        dims += i != preload->merged;
    }
    if (dims > 5) {
        rewrite_decline(model, row, preload->stmt,
                        "the storage would have more than five dimensions");
        return false;
    }
    return true;
}

static bool space_of_copy(struct rewrite_model *model, const struct rewrite_row *row,
                          struct rewrite_preload *preload) {
    int64_t piece = rewrite_tile_bytes(&preload->tile);
    preload->bytes =
        preload->pieces > INT_MAX / 4 || piece > INT_MAX ? INT_MAX : piece * preload->pieces;
    int64_t others = rewrite_sbuf_bytes(model) - piece;
    int64_t limit = nki_generation_sbuf_bytes(model->request->generation);
    if (preload->bytes + MAX_OF(others, 0) <= limit)
        return true;
    rewrite_decline(model, row, preload->stmt,
                    "does not fit: %lld KiB per partition beside %lld KiB "
                    "of other tiles, of %lld KiB",
                    (long long)preload->bytes / 1024, (long long)MAX_OF(others, 0) / 1024,
                    (long long)limit / 1024);
    return false;
}

bool rewrite_preload_find(struct rewrite_model *model, const struct rewrite_row *row,
                          struct rewrite_preload *preload, int at) {
    preload->at = at;
    preload->depends = 0;
    preload->n_loops = rewrite_loops_around(model, preload->stmt, preload->loops);
    if (at >= preload->n_loops) {
        rewrite_decline(model, row, preload->stmt, "it does not stand in plain loops");
        return false;
    }
    const struct nki_node *outer = preload->loops[at]->node;
    const struct nki_node *base = rewrite_root_node(preload->src);
    if (!base || !preload->tile.known || preload->tile.partition_dim) {
        rewrite_decline(model, row, preload->stmt, "the tile's shape is not known");
        return false;
    }
    const struct nki_node *def = rewrite_def_of(model, base);
    struct rewrite_name *name = rewrite_name_of(model, base->name.id);
    if ((def && nki_contains(outer, def)) || !name ||
        rewrite_is_written(model, name, outer, preload->stmt)) {
        rewrite_decline(model, row, preload->stmt,
                        STR_FMT " is changed inside the loop over " STR_FMT, STR_ARG(base->name.id),
                        STR_ARG(preload->loops[at]->var));
        return false;
    }
    if (!rewrite_depends(model, preload->src, outer, &preload->depends, preload->loops,
                         preload->n_loops)) {
        rewrite_decline(model, row, preload->stmt,
                        "what it reads depends on more than loop variables");
        return false;
    }
    struct rewrite_region region;
    (void)rewrite_region_of(model, preload->src, &region);
    preload->merged = merged_loop(preload, &region);
    int dims = 0;
    bool is_given = preload->hint[0] != NULL;
    for (int i = 0; region.known && i < region.n_dims; i++)
        if (!region.dim[i].drops && !is_given)
            preload->hint[dims++] = region.dim[i].node;
    return loops_of_copy(model, row, preload) && space_of_copy(model, row, preload);
}

/* ---- writing it ----------------------------------------------------------------------------- */

/* Whether the text can stand before loops[at], inside copies of the loops that it depends on. */
static bool text_is_valid(const struct rewrite_model *model, const struct rewrite_preload *preload,
                          const struct nki_node *expr) {
    const struct nki_node *outer = preload->loops[preload->at]->node;
    for (uint32_t i = expr->id; i <= expr->last; i++) {
        const struct nki_node *node = model->tree->nodes[i];
        const struct nki_node *def = node->kind == NKI_NAME ? rewrite_def_of(model, node) : NULL;
        if (def && nki_contains(outer, def) && def->parent->kind != NKI_FOR)
            return false;
    }
    return true;
}

static const char *dim_text(const struct rewrite_model *model,
                            const struct rewrite_preload *preload, const struct rewrite_dim *dim,
                            bool is_last) {
    struct rewrite_affine start = dim->start;
    int64_t size = dim->size;
    if (is_last && preload->merged >= 0) {
        const struct rewrite_loop *loop = preload->loops[preload->merged];
        int kept = 0;
        for (int i = 0; i < start.n_terms; i++)
            if (start.term[i].loop != loop)
                start.term[kept++] = start.term[i];
        start.n_terms = kept;
        if (!kept && !start.base)
            return arena_printf(model->arena, "0:%s", rewrite_total(model, loop, size, dim->node));
        size *= loop->trips;
    }
    if (dim->drops)
        return rewrite_affine_text(model, &start, dim->node);
    return rewrite_slice_text(model, &start, size, dim->node);
}

/* The source of a piece, or of all pieces side by side, as text. */
static const char *source_text(const struct rewrite_model *model,
                               const struct rewrite_preload *preload) {
    struct rewrite_region region;
    if (preload->merged < 0 && text_is_valid(model, preload, preload->src))
        return rewrite_text(model, preload->src);
    if (!rewrite_region_of(model, preload->src, &region))
        return NULL;
    const char *text = arena_printf(model->arena, STR_FMT "[", STR_ARG(region.base->id));
    for (int i = 0; i < region.n_dims; i++)
        text = arena_printf(model->arena, "%s%s%s", text, i ? ", " : "",
                            dim_text(model, preload, &region.dim[i], i + 1 == region.n_dims));
    return arena_printf(model->arena, "%s]", text);
}

/* The step of a loop in steps of more than one, as it is written. */
static const char *step_text(const struct rewrite_model *model, const struct rewrite_loop *loop) {
    const struct nki_node *step = loop->node->for_.iter->call.args.at[2];
    bool alone = step->kind == NKI_NAME || step->kind == NKI_CONSTANT;
    return arena_printf(model->arena, alone ? "%s" : "(%s)", rewrite_text(model, step));
}

/* How often a loop runs, as text that is valid before loops[at]. Names in it stay names. */
static const char *count_text(const struct rewrite_model *model,
                              const struct rewrite_preload *preload,
                              const struct rewrite_loop *loop) {
    if (loop->count && text_is_valid(model, preload, loop->count))
        return rewrite_text(model, loop->count);
    const struct nki_node *iter = loop->node->for_.iter;
    if (loop->step == 1 || !text_is_valid(model, preload, iter) ||
        iter->call.args.at[1]->kind != NKI_NAME || loop->stop != loop->trips * loop->step)
        return rewrite_number(model, loop->trips, NULL);
    return arena_printf(model->arena, "%s // %s", rewrite_text(model, iter->call.args.at[1]),
                        step_text(model, loop));
}

/* How the loops of this kernel are written: "nl.affine_range" or "range". */
static const char *range_text(const struct rewrite_model *model, const struct rewrite_loop *loop) {
    const char *func = rewrite_text(model, loop->node->for_.iter->call.func);
    return strstr(func, "sequential_range")
               ? arena_printf(model->arena, "%s.affine_range", model->nl ? model->nl : "nl")
               : func;
}

/* What a second loop over the variable runs through. */
static const char *iter_text(const struct rewrite_model *model,
                             const struct rewrite_preload *preload,
                             const struct rewrite_loop *loop) {
    const struct nki_node *iter = loop->node->for_.iter;
    if (loop->step == 1)
        return arena_printf(model->arena, "%s(%s)", range_text(model, loop),
                            count_text(model, preload, loop));
    if (text_is_valid(model, preload, iter))
        return rewrite_text(model, iter);
    return arena_printf(model->arena, "range(0, %lld, %lld)", (long long)loop->stop,
                        (long long)loop->step);
}

static const char *extent_text(const struct rewrite_model *model,
                               const struct rewrite_preload *preload, int dim) {
    const struct rewrite_tile *tile = &preload->tile;
    if (dim + 1 == tile->n_dims && preload->merged >= 0)
        return rewrite_total(model, preload->loops[preload->merged], tile->shape[dim],
                             preload->hint[dim]);
    return rewrite_number(model, tile->shape[dim], preload->hint[dim]);
}

static const char *storage_text(const struct rewrite_model *model,
                                const struct rewrite_preload *preload) {
    const char *dims = "";
    for (int i = preload->at; i < preload->n_loops; i++)
        if (preload->depends & 1u << i && i != preload->merged)
            dims = arena_printf(model->arena, "%s%s, ", dims,
                                count_text(model, preload, preload->loops[i]));
    for (int i = 1; i < preload->tile.n_dims; i++)
        dims = arena_printf(model->arena, "%s%s%s", dims, i > 1 ? ", " : "",
                            extent_text(model, preload, i));
    return rewrite_alloc_text(model, extent_text(model, preload, 0), dims, preload->dtype);
}

/* Which round of a loop it is, as the place of its piece. */
static const char *place_text(const struct rewrite_model *model, const struct rewrite_loop *loop) {
    return loop->step == 1 ? arena_printf(model->arena, STR_FMT, STR_ARG(loop->var))
                           : arena_printf(model->arena, STR_FMT " // %s", STR_ARG(loop->var),
                                          step_text(model, loop));
}

/* name[:, k, n, :]; with `whole` all pieces side by side, else the one of this step. */
static const char *view_text(const struct rewrite_model *model,
                             const struct rewrite_preload *preload, const char *name, bool whole) {
    const char *text = arena_printf(model->arena, "%s[:", name);
    for (int i = preload->at; i < preload->n_loops; i++)
        if (preload->depends & 1u << i && i != preload->merged)
            text = arena_printf(model->arena, "%s, %s", text, place_text(model, preload->loops[i]));
    for (int i = 1; i < preload->tile.n_dims; i++) {
        const char *slice = ":";
        if (preload->merged >= 0 && !whole) {
            struct rewrite_affine start = {.known = true, .n_terms = 1};
            start.term[0].loop = preload->loops[preload->merged];
            start.term[0].coef = preload->tile.shape[i] / start.term[0].loop->step;
            slice = rewrite_slice_text(model, &start, preload->tile.shape[i], preload->hint[i]);
        }
        text = arena_printf(model->arena, "%s, %s", text, slice);
    }
    return arena_printf(model->arena, "%s]", text);
}

const char *rewrite_preload_view(const struct rewrite_model *model,
                                 const struct rewrite_preload *preload, const char *name) {
    return view_text(model, preload, name, false);
}

const char *rewrite_preload_insert(const struct rewrite_model *model,
                                   const struct rewrite_preload *preload, const char *made,
                                   struct nki_edits *edits, struct err *err) {
    const char *src = source_text(model, preload);
    if (!src) {
        err_set(err, ERR_KERNEL, "what it reads cannot be expressed before the loop");
        return NULL;
    }
    const char *name = rewrite_fresh_name(model, preload->stem);
    struct buf lines = {0};
    buf_printf(&lines, "%s = %s\n", name, storage_text(model, preload));
    int level = 0;
    for (int i = preload->at; i < preload->n_loops; i++) {
        const struct rewrite_loop *loop = preload->loops[i];
        if (!(preload->depends & 1u << i) || i == preload->merged)
            continue;
        buf_printf(&lines, "%sfor " STR_FMT " in %s:\n", rewrite_indent(model, level++),
                   STR_ARG(loop->var), iter_text(model, preload, loop));
    }
    const char *piece = view_text(model, preload, name, true);
    const char *hole = strstr(made, "%s"), *dst = strstr(made, "dst=@");
    const char *line =
        dst ? arena_printf(model->arena, "%s%.*sdst=%s%.*s%s%s", rewrite_indent(model, level),
                           (int)(dst - made), made, piece, (int)(hole - dst - 5), dst + 5, src,
                           hole + 2)
            : arena_printf(model->arena, "%s%s = %.*s%s%s", rewrite_indent(model, level), piece,
                           (int)(hole - made), made, src, hole + 2);
    size_t indent = nki_indent_of(model->tree, preload->loops[preload->at]->node).len;
    buf_puts(&lines, rewrite_wrap(model, line, indent));
    bool ok =
        rewrite_insert_above(model, edits, preload->loops[preload->at]->node, buf_str(&lines));
    buf_free(&lines);
    if (!ok)
        err_set(err, ERR_KERNEL, "there is no room for lines before the loop");
    return ok ? view_text(model, preload, name, false) : NULL;
}
