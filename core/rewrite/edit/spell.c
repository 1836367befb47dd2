/* SPDX-License-Identifier: Apache-2.0 */
/* Names, numbers, index expressions, allocations and imports as the kernel at hand would write
 * them. */
#include "rewrite/edit/edit.h"

#include "rewrite/facts/inner.h"

#define MAX_COLUMNS 99

const char *rewrite_text(const struct rewrite_model *model, const struct nki_node *node) {
    struct str text = nki_node_text(model->tree, node);
    return arena_strndup(model->arena, text.at, text.len);
}

const char *rewrite_made_text(const struct rewrite_model *model,
                              const struct rewrite_maker *maker) {
    return rewrite_text(model, maker->element ? maker->element : maker->def);
}

const char *rewrite_nl(const struct rewrite_model *model, struct str op) {
    return arena_printf(model->arena, "%s." STR_FMT, model->nl ? model->nl : "nl", STR_ARG(op));
}

/* Whether the text is used as a name anywhere in the file. */
static bool is_taken(const struct rewrite_model *model, const char *name) {
    for (uint32_t i = 0; i < model->tree->n_tokens; i++) {
        const struct nki_token *token = &model->tree->tokens[i];
        if (token->kind == NKI_TOKEN_NAME &&
            str_is(nki_text(model->tree, (struct nki_span){token->start, token->end}), name))
            return true;
    }
    return false;
}

const char *rewrite_fresh_name(const struct rewrite_model *model, const char *stem) {
    const char *name = stem;
    for (int i = 2; is_taken(model, name); i++)
        name = arena_printf(model->arena, "%s_%d", stem, i);
    return name;
}

/* Is this name a constant that is bound once, outside all loops? Then it may be used anywhere
 * below. */
static bool is_constant_name(const struct rewrite_model *model, const struct nki_node *name) {
    const struct rewrite_name *known = rewrite_name_of(model, name->name.id);
    size_t binds = 0;
    for (size_t i = 0; known && i < known->accesses.len; i++) {
        const struct rewrite_access *access = &known->accesses.at[i];
        if (!(access->how & REWRITE_BIND))
            continue;
        binds++;
        if (access->stmt && access->node->kind == NKI_NAME && access->stmt->parent != model->kernel)
            return false;
    }
    return known && binds == 1;
}

/* The largest constant of the expression whose value divides `value`. A name from the place of what
 * is written is better than digits: it stays right when the constant changes. */
static struct nki_node *number_name(const struct rewrite_model *model, int64_t value,
                                    const struct nki_node *hint, int64_t *quotient) {
    struct nki_node *best = NULL;
    int64_t best_value = 1;
    for (uint32_t i = hint->id; i <= hint->last; i++) {
        struct nki_node *node = model->tree->nodes[i];
        int64_t number;
        if (node->kind != NKI_NAME || !rewrite_int(model, node, &number) || number <= best_value ||
            number > value || value % number || !is_constant_name(model, node))
            continue;
        best = node;
        best_value = number;
    }
    *quotient = value / best_value;
    return best;
}

const char *rewrite_number(const struct rewrite_model *model, int64_t value,
                           const struct nki_node *hint) {
    int64_t quotient = 1;
    struct nki_node *name = hint && value > 1 ? number_name(model, value, hint, &quotient) : NULL;
    if (!name || quotient != 1)
        return arena_printf(model->arena, "%lld", (long long)value);
    return rewrite_text(model, name);
}

/* A number, or a multiple of such a constant: "8 * TILE_M". */
static const char *rewrite_multiple(const struct rewrite_model *model, int64_t value,
                                    const struct nki_node *hint) {
    int64_t quotient = 1;
    struct nki_node *name = hint && value > 1 ? number_name(model, value, hint, &quotient) : NULL;
    if (!name || quotient == 1)
        return rewrite_number(model, value, hint);
    return arena_printf(model->arena, "%lld * %s", (long long)quotient, rewrite_text(model, name));
}

const char *rewrite_total(const struct rewrite_model *model, const struct rewrite_loop *loop,
                          int64_t size, const struct nki_node *hint) {
    if (loop->count && loop->count->kind == NKI_CONSTANT)
        return arena_printf(model->arena, "%lld * %s", (long long)loop->trips,
                            rewrite_number(model, size, hint));
    return rewrite_number(model, size * loop->trips, loop->count);
}

const char *rewrite_affine_text(const struct rewrite_model *model,
                                const struct rewrite_affine *affine, const struct nki_node *hint) {
    const char *text = "";
    for (int i = 0; i < affine->n_terms; i++) {
        const struct rewrite_loop *loop = affine->term[i].loop;
        const char *join = *text ? " + " : "";
        if (affine->term[i].coef == 1)
            text = arena_printf(model->arena, "%s%s" STR_FMT, text, join, STR_ARG(loop->var));
        else
            text =
                arena_printf(model->arena, "%s%s" STR_FMT " * %s", text, join, STR_ARG(loop->var),
                             rewrite_multiple(model, affine->term[i].coef, hint));
    }
    if (!*text)
        return rewrite_number(model, affine->base, hint);
    if (!affine->base)
        return text;
    return arena_printf(model->arena, "%s + %s", text, rewrite_number(model, affine->base, hint));
}

const char *rewrite_slice_text(const struct rewrite_model *model,
                               const struct rewrite_affine *start, int64_t size,
                               const struct nki_node *hint) {
    const char *low = rewrite_affine_text(model, start, hint);
    const char *extent = rewrite_multiple(model, size, hint);
    if (!start->n_terms)
        return arena_printf(model->arena, "%s:%s", low,
                            rewrite_number(model, start->base + size, hint));
    if (start->n_terms == 1 && start->term[0].coef == size && !start->base)
        return arena_printf(model->arena, "%s:(" STR_FMT " + 1) * %s", low,
                            STR_ARG(start->term[0].loop->var), extent);
    return arena_printf(model->arena, "%s:%s + %s", low, low, extent);
}

const char *rewrite_alloc_text(const struct rewrite_model *model, const char *partitions,
                               const char *free_dims, const char *dtype) {
    const char *nl = model->nl ? model->nl : "nl";
    bool legacy = model->dialect == NKI_DIALECT_LEGACY;
    return arena_printf(model->arena,
                        legacy ? "%s.ndarray((%s.par_dim(%s), %s), dtype=%s, buffer=%s.sbuf)"
                               : "%s.ndarray((%.0s%s, %s), dtype=%s, buffer=%s.sbuf)",
                        nl, nl, partitions, free_dims, dtype, nl);
}

/* The bracket that opens the last call of a line: "t[(a)] = f(" and not the one in the index. */
static const char *call_bracket(const char *line) {
    const char *value = strstr(line, " = ");
    const char *open = strchr(value ? value : line, '(');
    return open && open[1] && open > line && open[-1] != ' ' ? open : NULL;
}

/* Length of the argument that starts here, with the comma after it. */
static size_t argument_length(const char *at) {
    int depth = 0;
    size_t n = 0;
    while (at[n] && (depth > 0 || at[n] != ',')) {
        depth += (strchr("([{", at[n]) != NULL) - (strchr(")]}", at[n]) != NULL);
        n++;
    }
    return n + 1;
}

const char *rewrite_wrap(const struct rewrite_model *model, const char *line, size_t indent) {
    const char *open = call_bracket(line);
    size_t blanks = strspn(line, " \t");
    if (indent + strlen(line) <= MAX_COLUMNS || !open || strchr(line, '\n'))
        return line;
    const char *next =
        arena_printf(model->arena, "\n%.*s%s", (int)blanks, line, rewrite_indent(model, 1));
    struct buf text = {0};
    buf_add(&text, line, (size_t)(open + 1 - line));
    buf_puts(&text, next);
    size_t margin = indent + strlen(next) - 1, column = margin;
    for (const char *at = open + 1; *at;) {
        size_t n = MIN_OF(argument_length(at), strlen(at));
        if (column > margin && column + n > MAX_COLUMNS) {
            while (text.len && text.at[text.len - 1] == ' ')
                text.at[--text.len] = 0;
            buf_puts(&text, next);
            column = margin;
            n -= *at == ' ';
            at += *at == ' ';
        }
        buf_add(&text, at, n);
        column += n;
        at += n;
    }
    const char *wrapped = arena_strndup(model->arena, text.at, text.len);
    buf_free(&text);
    return wrapped;
}

bool rewrite_can_nisa(const struct rewrite_model *model) {
    return model->nisa || !is_taken(model, "nisa");
}

/* The import statement at module level that brings nki.language, or else the last one. */
static const struct nki_node *import_statement(const struct rewrite_model *model,
                                               bool *is_language) {
    const struct nki_node *found = NULL;
    const struct nki_list *body = &model->tree->module->module.body;
    *is_language = false;
    for (uint32_t i = 0; i < body->len && !*is_language; i++) {
        const struct nki_node *stmt = body->at[i];
        if (stmt->kind != NKI_IMPORT && stmt->kind != NKI_IMPORT_FROM)
            continue;
        found = stmt;
        *is_language =
            stmt->kind == NKI_IMPORT && strstr(rewrite_text(model, stmt), "nki.language");
    }
    return found;
}

const char *rewrite_need_nisa(const struct rewrite_model *model, struct nki_edits *edits) {
    if (model->nisa)
        return model->nisa;
    bool is_language;
    const struct nki_node *import = import_statement(model, &is_language);
    if (!rewrite_can_nisa(model) || !import)
        return NULL;
    struct str line = model->dialect == NKI_DIALECT_LEGACY ? STR("import neuronxcc.nki.isa as nisa")
                                                           : STR("import nki.isa as nisa");
    bool ok = is_language ? nki_edit_insert_before(edits, import, line)
                          : nki_edit_insert_after(edits, import, line);
    return ok ? "nisa" : NULL;
}

const char *rewrite_indent(const struct rewrite_model *model, int levels) {
    struct str unit = nki_indent_unit(model->tree);
    char *text = arena_alloc(model->arena, unit.len * (size_t)levels + 1, 1);
    for (int i = 0; i < levels; i++)
        memcpy(text + unit.len * (size_t)i, unit.at, unit.len);
    return text;
}
