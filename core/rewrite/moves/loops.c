/* SPDX-License-Identifier: Apache-2.0 */
/* Two loops right inside each other: interchanging them, and blocking the outer one so that several
 * of its steps share what the inner one loads. Legal only when no iteration uses what another
 * wrote. */
#include "rewrite/moves/private.h"

#define MAX_LOADS 8

/* `outer` holds `inner` and nothing else. */
static const struct rewrite_loop *only_inner(const struct rewrite_model *model,
                                             const struct rewrite_loop *outer) {
    const struct nki_list *body = &outer->node->for_.body;
    return body->len == 1 ? rewrite_loop_of(model, body->at[0]) : NULL;
}

/* Whether this access writes different elements in every pair of steps of the two loops. */
static bool is_injective(const struct rewrite_model *model, const struct nki_node *name,
                         const struct rewrite_loop *outer, const struct rewrite_loop *inner) {
    struct rewrite_region region;
    int of_outer = -1, of_inner = -1;
    if (name->parent->kind != NKI_SUBSCRIPT || name->parent->subscript.value != name ||
        !rewrite_region_of(model, name->parent, &region))
        return false;
    for (int i = 0; i < region.n_dims; i++) {
        if (rewrite_coef(&region.dim[i].start, outer) >= region.dim[i].size)
            of_outer = i;
        if (rewrite_coef(&region.dim[i].start, inner) >= region.dim[i].size)
            of_inner = i;
    }
    return of_outer >= 0 && of_inner >= 0 && of_outer != of_inner;
}

/* Whether a name of the body ties no iteration to another: each makes its own, or all only read it,
 * or each writes a piece of its own. */
static const char *why_carried(const struct rewrite_model *model, struct rewrite_name *name,
                               const struct rewrite_loop *outer, const struct rewrite_loop *inner) {
    bool written = false, read = false;
    for (size_t i = 0; i < name->accesses.len; i++) {
        const struct rewrite_access *access = &name->accesses.at[i];
        if (!nki_contains(inner->node, access->node) || access->how & REWRITE_BIND)
            continue;
        const struct nki_node *def =
            access->node->context == NKI_LOAD ? rewrite_def_of(model, access->node) : NULL;
        if (def && nki_contains(inner->node, def))
            continue; /* made in this very iteration */
        if (access->how & REWRITE_WRITE && !is_injective(model, access->node, outer, inner))
            return arena_printf(model->arena, STR_FMT " carries values from one step to another",
                                STR_ARG(name->id));
        written |= (access->how & REWRITE_WRITE) != 0;
        read |= !(access->how & REWRITE_WRITE) && !(access->node->parent->kind == NKI_ATTRIBUTE);
    }
    if (written && read)
        return arena_printf(model->arena, STR_FMT " is both written and read", STR_ARG(name->id));
    return NULL;
}

static const char *why_effects(const struct rewrite_model *model, const struct nki_node *body) {
    for (uint32_t i = body->id; i <= body->last; i++) {
        const struct nki_node *node = model->tree->nodes[i];
        struct str name;
        if (node->kind == NKI_BREAK || node->kind == NKI_CONTINUE || node->kind == NKI_RETURN ||
            node->kind == NKI_WHILE || node->kind == NKI_WITH || node->kind == NKI_MATCH)
            return "the flow of control inside is not plain";
        if (node->kind != NKI_EXPR || node->expr.value->kind != NKI_CALL)
            continue;
        enum rewrite_module module = rewrite_call_of(model, node->expr.value, &name);
        bool is_store = module == REWRITE_NL && str_is(name, "store");
        if (!is_store && !rewrite_is_pure(module, name))
            return "a call inside may have effects of its own";
    }
    return NULL;
}

static const char *why_not(const struct rewrite_model *model, const struct rewrite_loop *outer,
                           const struct rewrite_loop *inner) {
    unsigned depends = 0;
    if (!rewrite_depends(model, inner->node->for_.iter, outer->node, &depends, &outer, 1) ||
        depends)
        return "the inner loop's count depends on the outer loop";
    const char *why = why_effects(model, inner->node);
    for (size_t i = 0; !why && i < model->names.len; i++)
        why = why_carried(model, model->names.entries[i].value, outer, inner);
    return why;
}

/* ---- the loads inside ----------------------------------------------------------------------- */

struct load {
    struct rewrite_maker maker;
    struct nki_node *src;
    bool of_outer, of_inner; /* which of the two loops its data depend on */
    int64_t inner_pieces;    /* steps of deeper loops its data depend on */
};

static bool read_load(const struct rewrite_model *model, struct nki_node *stmt,
                      const struct rewrite_loop *outer, const struct rewrite_loop *inner,
                      struct load *load) {
    const struct rewrite_loop *loops[REWRITE_MAX_DIMS];
    unsigned depends = 0;
    if (!rewrite_maker_of(model, stmt, &load->maker) ||
        !rewrite_is_load(model, &load->maker, &load->src))
        return false;
    int n = rewrite_loops_around(model, stmt, loops);
    if (!n || !rewrite_depends(model, load->src, outer->node, &depends, loops, n))
        return false;
    load->of_outer = load->of_inner = false;
    load->inner_pieces = 1;
    bool deeper = false;
    for (int i = 0; i < n; i++) {
        bool uses = depends & 1u << i;
        if (loops[i] == outer)
            load->of_outer = uses;
        else if (loops[i] == inner)
            load->of_inner = uses;
        else if (uses && deeper)
            load->inner_pieces *= loops[i]->known ? loops[i]->trips : 1 << 20;
        deeper |= loops[i] == inner;
    }
    return true;
}

static int find_loads(const struct rewrite_model *model, const struct rewrite_loop *outer,
                      const struct rewrite_loop *inner, struct load loads[MAX_LOADS]) {
    int n = 0;
    for (uint32_t i = inner->node->id; i <= inner->node->last && n < MAX_LOADS; i++) {
        struct nki_node *node = model->tree->nodes[i];
        if ((node->kind == NKI_ASSIGN || node->kind == NKI_EXPR) &&
            read_load(model, node, outer, inner, &loads[n]))
            n++;
    }
    return n;
}

/* ---- interchange ---------------------------------------------------------------------------- */

void rewrite_find_interchange(struct rewrite_model *model, const struct rewrite_row *row) {
    for (size_t i = 0; i < model->loops.len; i++) {
        const struct rewrite_loop *outer = model->loops.at[i], *inner = only_inner(model, outer);
        if (!inner)
            continue;
        const char *why = why_not(model, outer, inner);
        if (why) {
            rewrite_decline(model, row, outer->node, "%s", why);
            continue;
        }
        struct rewrite_site *site = rewrite_site_add(model, row, outer->node);
        site->loop = outer;
        site->key = arena_printf(model->arena, "interchange:" STR_FMT ":" STR_FMT,
                                 STR_ARG(outer->var), STR_ARG(inner->var));
        site->title = arena_printf(model->arena, "Put the loop over " STR_FMT " outside",
                                   STR_ARG(inner->var));
        site->what = arena_printf(model->arena, "Swap the loops over " STR_FMT " and " STR_FMT ".",
                                  STR_ARG(outer->var), STR_ARG(inner->var));
        site->why =
            "What depends on the outer loop alone can then be fetched once for the inner one.";
        site->gain = 0.01;
        site->size = 0.05;
    }
}

bool rewrite_apply_interchange(struct rewrite_model *model, const struct rewrite_site *site,
                               struct nki_edits *edits, struct err *err) {
    const struct rewrite_loop *outer = site->loop, *inner = only_inner(model, outer);
    if (!inner)
        return err_set(err, ERR_KERNEL, "the loops are not right inside each other any more");
    struct nki_node *pair[] = {outer->node, inner->node};
    for (int i = 0; i < 2; i++) {
        nki_edit_node(edits, pair[i]->for_.target,
                      str_of(rewrite_text(model, pair[1 - i]->for_.target)));
        nki_edit_node(edits, pair[i]->for_.iter,
                      str_of(rewrite_text(model, pair[1 - i]->for_.iter)));
    }
    return true;
}

/* ---- block ---------------------------------------------------------------------------------- */

static const char *inner_var(const struct rewrite_model *model, const struct rewrite_loop *loop) {
    return rewrite_fresh_name(model, arena_printf(model->arena, STR_FMT "_in", STR_ARG(loop->var)));
}

/* Bytes per partition that the loads need once they are kept for a block of `factor` steps. */
static int64_t block_bytes(const struct load *loads, int n, int64_t factor) {
    int64_t bytes = 0;
    for (int i = 0; i < n; i++) {
        int64_t piece = rewrite_tile_bytes(&loads[i].maker.tile) * loads[i].inner_pieces;
        if (loads[i].of_outer != loads[i].of_inner)
            bytes += loads[i].of_outer ? piece * factor : piece;
    }
    return bytes;
}

/* "block:m:8" and after it the loads, kept where they now can be. */
static const char *block_key(const struct rewrite_model *model, const struct rewrite_loop *outer,
                             const struct rewrite_loop *inner, int64_t factor,
                             const struct load *loads, int n) {
    const char *key = arena_printf(model->arena, "block:" STR_FMT ":%lld", STR_ARG(outer->var),
                                   (long long)factor);
    for (int i = 0; i < n; i++) {
        if (loads[i].of_outer == loads[i].of_inner)
            continue;
        struct str name = loads[i].maker.def->name.id;
        key = arena_printf(model->arena, "%s+resident:" STR_FMT ".%d:%.*s", key, STR_ARG(name),
                           rewrite_ordinal(model, loads[i].maker.def),
                           loads[i].of_outer ? (int)inner->var.len : 1000,
                           loads[i].of_outer ? inner->var.at : inner_var(model, outer));
    }
    return key;
}

static void add_block(struct rewrite_model *model, const struct rewrite_row *row,
                      const struct rewrite_loop *outer, const struct rewrite_loop *inner,
                      int64_t factor, const struct load *loads, int n) {
    struct rewrite_site *site = rewrite_site_add(model, row, outer->node);
    double share = 0;
    for (int i = 0; i < n; i++)
        if (loads[i].of_outer != loads[i].of_inner)
            share += rewrite_share(model, loads[i].maker.stmt, 0.3);
    site->loop = outer;
    site->number[0] = factor;
    site->key = block_key(model, outer, inner, factor, loads, n);
    site->title = arena_printf(model->arena, "Block the loop over " STR_FMT " by %lld",
                               STR_ARG(outer->var), (long long)factor);
    site->what = arena_printf(model->arena,
                              "Work on %lld steps of " STR_FMT " for each step of " STR_FMT
                              " and keep what they load in SBUF (%lld KiB per partition).",
                              (long long)factor, STR_ARG(outer->var), STR_ARG(inner->var),
                              (long long)(block_bytes(loads, n, factor) / 1024));
    site->why = "Each loaded tile then serves a whole block instead of one step.";
    site->size = 1 - 1 / (double)factor;
    site->gain = (share > 1 ? 1 : share) * site->size * 0.98;
}

static void look_at(struct rewrite_model *model, const struct rewrite_row *row,
                    const struct rewrite_loop *outer) {
    struct load loads[MAX_LOADS];
    const struct rewrite_loop *inner = only_inner(model, outer);
    if (!inner)
        return;
    const char *why = why_not(model, outer, inner);
    if (!why && (!outer->known || outer->start || outer->step != 1 || !outer->count))
        why = "the outer loop does not count from 0 a known number of times";
    if (why) {
        rewrite_decline(model, row, outer->node, "%s", why);
        return;
    }
    int n = find_loads(model, outer, inner, loads);
    bool of_outer = false, of_inner = false;
    for (int i = 0; i < n; i++) {
        of_outer |= loads[i].of_outer && !loads[i].of_inner;
        of_inner |= loads[i].of_inner && !loads[i].of_outer;
    }
    if (!of_inner || !of_outer) {
        rewrite_decline(model, row, outer->node,
                        "none of its steps could use the loads of another step");
        return;
    }
    int64_t limit = nki_generation_sbuf_bytes(model->request->generation) * 9 / 10;
    for (int64_t factor = 2; factor <= 16 && factor < outer->trips; factor *= 2) {
        if (outer->trips % factor)
            continue;
        if (block_bytes(loads, n, factor) + rewrite_sbuf_bytes(model) <= limit)
            add_block(model, row, outer, inner, factor, loads, n);
        else
            rewrite_decline(model, row, outer->node,
                            "a block of %lld does not fit: %lld KiB per "
                            "partition",
                            (long long)factor, (long long)block_bytes(loads, n, factor) / 1024);
    }
}

void rewrite_find_block(struct rewrite_model *model, const struct rewrite_row *row) {
    for (size_t i = 0; i < model->loops.len; i++)
        look_at(model, row, model->loops.at[i]);
}

/* The inner loop's body, one level deeper, below the loop over the steps of a block. */
static void indent_body(const struct rewrite_model *model, const struct nki_node *loop,
                        const char *header, struct nki_edits *edits) {
    const struct nki_list *body = &loop->for_.body;
    struct str indent = nki_indent_of(model->tree, body->at[0]);
    struct nki_span span = {nki_stmt_lines_with_comments(model->tree, body->at[0]).start,
                            nki_stmt_lines(model->tree, body->at[body->len - 1], NULL).end};
    const char *deeper =
        arena_printf(model->arena, STR_FMT "%s", STR_ARG(indent), rewrite_indent(model, 1));
    struct buf lines = {0};
    buf_printf(&lines, STR_FMT "%s", STR_ARG(indent), header);
    nki_reindent(model->tree, span, indent, str_of(deeper), &lines);
    nki_edit_replace(edits, span, buf_str(&lines));
    buf_free(&lines);
}

bool rewrite_apply_block(struct rewrite_model *model, const struct rewrite_site *site,
                         struct nki_edits *edits, struct err *err) {
    const struct rewrite_loop *outer = site->loop, *inner = only_inner(model, outer);
    bool shares = false;
    if (!inner)
        return err_set(err, ERR_KERNEL, "the loops are not right inside each other any more");
    (void)nki_stmt_lines(model->tree, inner->node->for_.body.at[0], &shares);
    if (shares)
        return err_set(err, ERR_KERNEL, "the loop's body stands on the line of its header");
    const char *block = rewrite_fresh_name(
        model, arena_printf(model->arena, STR_FMT "_block", STR_ARG(outer->var)));
    const char *in = inner_var(model, outer);
    long long factor = (long long)site->number[0];
    int precedence = nki_precedence(outer->count);
    nki_edit_node(edits, outer->node->for_.target, str_of(block));
    nki_edit_node(edits, outer->count,
                  str_of(arena_printf(model->arena, precedence < 12 ? "(%s) // %lld" : "%s // %lld",
                                      rewrite_text(model, outer->count), factor)));
    const char *end = nki_line_end(model->tree).len == 2 ? "\r\n" : "\n";
    struct str indent = nki_indent_of(model->tree, inner->node->for_.body.at[0]);
    const char *header = arena_printf(
        model->arena, "for %s in %s(%lld):%s" STR_FMT "%s" STR_FMT " = %s * %lld + %s%s", in,
        rewrite_text(model, outer->node->for_.iter->call.func), factor, end, STR_ARG(indent),
        rewrite_indent(model, 1), STR_ARG(outer->var), block, factor, in, end);
    indent_body(model, inner->node, header, edits);
    return true;
}
