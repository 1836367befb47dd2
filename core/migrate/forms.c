/* SPDX-License-Identifier: Apache-2.0 */
/* Steps about forms of the language: imports, signatures, comparisons, buffers, outputs. */
#include "migrate/private.h"

/* ---- imports --------------------------------------------------------------------------------- */

/* "neuronxcc.nki.language" without its first part; empty: it is another module. */
static struct str without_package(struct str module) {
    static const char package[] = "neuronxcc.nki";
    size_t len = sizeof package - 1;
    bool is = str_starts(module, package) && (module.len == len || module.at[len] == '.');
    size_t skip = sizeof "neuronxcc." - 1;
    return is ? (struct str){module.at + skip, module.len - skip} : STR("");
}

/* What the package nki never had, or has no more: it is imported in vain, or it is asked about
 * where it is used. */
static bool is_gone(const struct migrate *m, struct str module, struct str name) {
    static const char *const gone[] = {"nl.par_dim", "nki.trace", "nki.baremetal", "nki.benchmark",
                                       "nki.profile"};
    struct buf whole = {0};
    bool isa = str_ends(module, ".isa"), language = str_ends(module, ".language");
    buf_printf(&whole, "%s." STR_FMT, isa ? "nisa" : language ? "nl" : "nki", STR_ARG(name));
    bool is = !nki_release_has(NKI_DIALECT_CURRENT, m->to, buf_str(&whole));
    for (size_t i = 0; i < COUNT_OF(gone); i++)
        is |= strcmp(whole.at, gone[i]) == 0;
    buf_free(&whole);
    return is;
}

static void print_alias(const struct nki_node *alias, struct str name, bool *first,
                        struct buf *out) {
    buf_printf(out, "%s" STR_FMT, *first ? "" : ", ", STR_ARG(name));
    if (alias->alias.asname.len && !str_equal(alias->alias.asname, name))
        buf_printf(out, " as " STR_FMT, STR_ARG(alias->alias.asname));
    *first = false;
}

/* "from neuronxcc.nki.language import par_dim, load" */
static void print_from(const struct migrate *m, const struct nki_node *node, struct buf *out) {
    struct str module = without_package(node->import_from.module);
    const struct nki_list *names = &node->import_from.names;
    bool first = true;
    if (!module.len && str_is(node->import_from.module, "neuronxcc") && names->len == 1 &&
        str_is(names->at[0]->alias.name, "nki")) {
        buf_puts(out, "import ");
        print_alias(names->at[0], STR("nki"), &first, out);
    } else if (module.len) {
        struct buf kept = {0};
        for (uint32_t i = 0; i < names->len; i++)
            if (!is_gone(m, module, names->at[i]->alias.name))
                print_alias(names->at[i], names->at[i]->alias.name, &first, &kept);
        if (kept.len)
            buf_printf(out, "from " STR_FMT " import %s", STR_ARG(module), kept.at);
        buf_free(&kept);
    }
}

/* "import neuronxcc.nki.isa as nisa" */
static void print_import(const struct nki_node *node, struct buf *out) {
    const struct nki_list *names = &node->import.names;
    bool first = true, changes = false;
    buf_puts(out, "import ");
    for (uint32_t i = 0; i < names->len; i++) {
        struct str name = names->at[i]->alias.name, now = without_package(name);
        changes |= now.len > 0;
        print_alias(names->at[i], now.len ? now : name, &first, out);
    }
    if (!changes)
        buf_clear(out);
}

/* neuronxcc.nki.language.load, after "import neuronxcc.nki" */
static void rename_use(struct migrate *m, const struct nki_node *node) {
    const struct nki_node *up = node->parent;
    if (node->kind == NKI_NAME && str_is(node->name.id, "neuronxcc") && up->kind == NKI_ATTRIBUTE &&
        str_is(up->attribute.attr, "nki"))
        nki_edit_replace(&m->edits, nki_span_of(up), STR("nki"));
}

void migrate_step_import(struct migrate *m, const struct nki_node *node) {
    if (strcmp(m->from, MIGRATE_LEGACY) == 0 && strcmp(m->rule->since, "0.1") != 0)
        return; /* it is done */
    struct buf text = {0};
    bool from = node->kind == NKI_IMPORT_FROM;
    if (from)
        print_from(m, node, &text);
    else if (node->kind == NKI_IMPORT)
        print_import(node, &text);
    else
        rename_use(m, node);
    bool whole = from && without_package(node->import_from.module).len;
    if (text.len) {
        migrate_did(m, node, "imports of neuronxcc.nki are those of nki");
        migrate_replace(m, node, buf_str(&text));
    } else if (whole) {
        migrate_did(m, node, "what is imported here is in no package nki");
        nki_edit_remove_stmt(&m->edits, node);
    }
    buf_free(&text);
}

/* Whether an import at the top of the file binds the same name to the same thing. */
static bool is_at_top(const struct migrate *m, const struct nki_node *alias) {
    for (uint32_t i = 1; i < m->tree->n_nodes; i++) {
        const struct nki_node *other = m->tree->nodes[i], *import = other->parent;
        bool same = other->kind == NKI_ALIAS && import->parent == m->tree->module &&
                    import->kind == alias->parent->kind &&
                    str_equal(other->alias.name, alias->alias.name) &&
                    str_equal(other->alias.asname, alias->alias.asname);
        if (same && (import->kind == NKI_IMPORT ||
                     str_equal(import->import_from.module, alias->parent->import_from.module)))
            return true;
    }
    return false;
}

void migrate_step_inner_import(struct migrate *m, const struct nki_node *node) {
    bool import = node->kind == NKI_IMPORT, from = node->kind == NKI_IMPORT_FROM;
    if ((!import && !from) || !nki_enclosing(node, NKI_FUNCTION_DEF))
        return;
    const struct nki_list *names = import ? &node->import.names : &node->import_from.names;
    for (uint32_t i = 0; i < names->len; i++)
        if (!is_at_top(m, names->at[i]))
            return;
    nki_edit_remove_stmt(&m->edits, node);
    migrate_did(m, node, "the file imports it already");
}

/* ---- signatures ------------------------------------------------------------------------------ */

static const struct nki_list *kernel_args(const struct nki_node *node) {
    bool is = node->kind == NKI_FUNCTION_DEF && nki_kernel_decorator(node);
    return is ? &node->function_def.args->arguments.args : NULL;
}

void migrate_step_star(struct migrate *m, const struct nki_node *node) {
    const struct nki_list *args = kernel_args(node);
    bool defaults = false, mixed = false;
    const struct nki_node *first = NULL;
    for (uint32_t i = 0; args && i < args->len; i++) {
        const struct nki_node *arg = args->at[i];
        if (arg->arg.form == NKI_ARG_STAR || arg->arg.form == NKI_ARG_DOUBLE_STAR)
            return;
        if (arg->arg.form == NKI_ARG_KEYWORD_ONLY && !first)
            first = arg;
        mixed |= defaults && !arg->arg.default_value;
        defaults |= arg->arg.default_value != NULL;
    }
    if (!first)
        return;
    uint32_t token = nki_token_at(m->tree, first->start);
    if (mixed || token < 2) {
        migrate_ask(m, node,
                    "a kernel's signature takes no '*': put the parameters that have "
                    "defaults last. Who calls it with positional arguments?");
        return;
    }
    struct nki_span star = {m->tree->tokens[token - 2].start, first->start};
    nki_edit_replace(&m->edits, star, STR(""));
    migrate_did(m, node, "'*' is left out of the signature");
}

void migrate_step_list_default(struct migrate *m, const struct nki_node *node) {
    const struct nki_list *args = kernel_args(node);
    for (uint32_t i = 0; args && i < args->len; i++) {
        const struct nki_node *list = args->at[i]->arg.default_value;
        if (!list || list->kind != NKI_LIST)
            continue;
        const struct nki_token *last = &m->tree->tokens[nki_token_at(m->tree, list->end - 1) - 1];
        bool comma = last->kind == NKI_TOKEN_OP && last->op == ',';
        bool one = list->list.elts.len == 1 && !comma;
        nki_edit_replace(&m->edits, (struct nki_span){list->start, list->start + 1}, STR("("));
        nki_edit_replace(&m->edits, (struct nki_span){list->end - 1, list->end},
                         one ? STR(",)") : STR(")"));
        migrate_did(m, args->at[i], "the default of " STR_FMT " is a tuple",
                    STR_ARG(args->at[i]->arg.name));
    }
}

/* ---- expressions ----------------------------------------------------------------------------- */

static bool is_none(const struct nki_node *node) {
    return node->kind == NKI_CONSTANT && node->constant.type == NKI_CONST_NONE;
}

void migrate_step_identity(struct migrate *m, const struct nki_node *node) {
    if (node->kind != NKI_COMPARE)
        return;
    const struct nki_node *left = node->compare.left;
    for (uint32_t i = 0; i < node->compare.comparators.len; i++) {
        const struct nki_node *right = node->compare.comparators.at[i];
        bool is = node->compare.ops[i] == NKI_CMP_IS, not = node->compare.ops[i] == NKI_CMP_IS_NOT;
        if ((is || not ) && !is_none(left) && !is_none(right)) {
            uint32_t first = nki_token_at(m->tree, nki_outer_span(m->tree, left).end);
            uint32_t last = first + (not ? 1 : 0);
            nki_edit_replace(
                &m->edits,
                (struct nki_span){m->tree->tokens[first].start, m->tree->tokens[last].end},
                is ? STR("==") : STR("!="));
            migrate_did(m, node, is ? "'is' is '=='" : "'is not' is '!='");
        }
        left = right;
    }
}

void migrate_step_buffer(struct migrate *m, const struct nki_node *node) {
    static const char *const names[][2] = {{"sbuf", "nl.sbuf"},
                                           {"psum", "nl.psum"},
                                           {"hbm", "nl.hbm"},
                                           {"private_hbm", "nl.private_hbm"},
                                           {"shared_hbm", "nl.shared_hbm"}};
    const struct nki_node *buffer = node->kind == NKI_CALL ? migrate_arg(node, 2, "buffer") : NULL;
    if (!buffer || buffer->kind != NKI_CONSTANT || buffer->constant.type != NKI_CONST_STRING)
        return;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (!str_is(buffer->constant.text, names[i][0]))
            continue;
        struct buf text = {0};
        migrate_spell(m, names[i][1], &text);
        migrate_replace(m, buffer, buf_str(&text));
        migrate_did(m, node, "buffer='%s' is %s", names[i][0], names[i][1]);
        buf_free(&text);
    }
}

/* Makes the tensor that a returned name stands for a shared one. */
static void share(struct migrate *m, const struct nki_node *name) {
    const struct nki_node *made = name->kind == NKI_NAME ? migrate_value_of(m, name) : NULL;
    if (!made || made->kind != NKI_CALL)
        return;
    const struct nki_node *buffer = migrate_arg(made, 2, "buffer");
    if (!buffer || !migrate_is(m, buffer, "nl.hbm"))
        return;
    struct buf text = {0};
    migrate_spell(m, "nl.shared_hbm", &text);
    migrate_replace(m, buffer, buf_str(&text));
    migrate_did(m, made, "what is returned lies in nl.shared_hbm");
    buf_free(&text);
}

void migrate_step_shared_output(struct migrate *m, const struct nki_node *node) {
    const struct nki_node *function =
        node->kind == NKI_RETURN ? nki_enclosing(node, NKI_FUNCTION_DEF) : NULL;
    const struct nki_node *value = function ? node->return_.value : NULL;
    if (!value || (function != m->kernel && !nki_kernel_decorator(function)))
        return;
    if (value->kind == NKI_TUPLE)
        for (uint32_t i = 0; i < value->tuple.elts.len; i++)
            share(m, value->tuple.elts.at[i]);
    else
        share(m, value);
}

/* ---- what only a person knows ---------------------------------------------------------------- */

/* Whether a class of NKI compares field by field: it neither says how nor is a dataclass. */
static bool is_structural(const struct migrate *m, struct str name) {
    for (uint32_t i = 0; i < m->tree->n_nodes; i++) {
        const struct nki_node *node = m->tree->nodes[i];
        if (node->kind != NKI_CLASS_DEF || !str_equal(node->class_def.name, name))
            continue;
        bool object = false, says = node->class_def.decorators.len > 0;
        for (uint32_t b = 0; b < node->class_def.bases.len; b++)
            object |= migrate_is(m, node->class_def.bases.at[b], "nl.NKIObject") ||
                      migrate_is(m, node->class_def.bases.at[b], "NKIObject");
        for (uint32_t b = 0; b < node->class_def.body.len; b++)
            says |= node->class_def.body.at[b]->kind == NKI_FUNCTION_DEF &&
                    str_is(node->class_def.body.at[b]->function_def.name, "__eq__");
        return object && !says;
    }
    return false;
}

static bool is_structural_object(const struct migrate *m, const struct nki_node *node) {
    const struct nki_node *value = node->kind == NKI_NAME ? migrate_value_of(m, node) : node;
    return value && value->kind == NKI_CALL && value->call.func->kind == NKI_NAME &&
           is_structural(m, value->call.func->name.id);
}

void migrate_ask_structural(struct migrate *m, const struct nki_node *node) {
    if (node->kind != NKI_COMPARE)
        return;
    bool asks = false;
    const struct nki_node *left = node->compare.left;
    for (uint32_t i = 0; i < node->compare.comparators.len; i++) {
        const struct nki_node *right = node->compare.comparators.at[i];
        enum nki_comparison op = (enum nki_comparison)node->compare.ops[i];
        asks |= (op == NKI_CMP_EQ || op == NKI_CMP_NOT_EQ) &&
                (is_structural_object(m, left) || is_structural_object(m, right));
        left = right;
    }
    if (asks)
        migrate_ask(m, node, m->rule->now);
}

void migrate_ask_if_register(struct migrate *m, const struct nki_node *node) {
    if (node->kind != NKI_IF)
        return;
    for (uint32_t i = node->if_.test->id; i <= node->if_.test->last; i++) {
        const struct nki_node *part = m->tree->nodes[i];
        if (part->kind == NKI_NAME && part->parent->kind != NKI_CALL &&
            part->parent->kind != NKI_ATTRIBUTE && part->parent->kind != NKI_COMPARE &&
            migrate_is_register(m, part)) {
            migrate_ask(m, node, m->rule->now);
            return;
        }
    }
}
