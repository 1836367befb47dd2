/* SPDX-License-Identifier: Apache-2.0 */
/* The way of a migration: which rows of the table hold between two releases, each node of the tree
 * shown to each of them, the edits applied, and again where one edit was in the way of another. */
#include <stdio.h>
#include <stdlib.h>

#include "migrate/private.h"

#define MOST_ROUNDS 6

static const struct migrate_rule rules[] = {
#define NAME(first, from, to) {.kind = MIGRATE_NAME, .since = first, .old = from, .now = to},
#define KEYWORD(first, of, from, to) \
    {.kind = MIGRATE_KEYWORD, .since = first, .function = of, .old = from, .now = to},
#define STEP(first, name, from, to) \
    {.kind = MIGRATE_STEP, .since = first, .old = from, .now = to, .step = migrate_step_##name},
#define ASK(first, name, from, to) \
    {.kind = MIGRATE_ASK, .since = first, .old = from, .now = to, .step = migrate_ask_##name},
#define UNTIL(release) {.until = release},
#include "migrate/migrate.def"
#undef NAME
#undef KEYWORD
#undef STEP
#undef ASK
#undef UNTIL
};

/* A row without a release belongs to the one before it. */
static bool is_row(size_t i) {
    return rules[i].since != NULL;
}

static const char *until_of(size_t i) {
    return i + 1 < COUNT_OF(rules) && !is_row(i + 1) ? rules[i + 1].until : NULL;
}

/* ---- releases -------------------------------------------------------------------------------- */

static bool is_legacy(const char *release) {
    return strcmp(release, MIGRATE_LEGACY) == 0;
}

static int compare(const char *a, const char *b) {
    return is_legacy(a) || is_legacy(b) ? is_legacy(b) - is_legacy(a) : nki_release_compare(a, b);
}

/* The release of the newest name that the source uses. "0.1": there is no such name. */
static const char *shown_by(const struct migrate *m) {
    const char *newest = "0.1";
    struct buf name = {0};
    for (uint32_t i = 0; i < m->tree->n_nodes; i++) {
        const struct nki_node *node = m->tree->nodes[i];
        buf_clear(&name);
        if ((node->kind != NKI_NAME && node->kind != NKI_ATTRIBUTE) ||
            !migrate_name(m, node, &name))
            continue;
        const char *since = release_of_name(buf_str(&name));
        if (since && nki_release_compare(since, newest) > 0)
            newest = since;
    }
    buf_free(&name);
    return newest;
}

/* A call whose arguments stood in another order before NKI 0.3; NULL: there is none. */
static const struct nki_node *ambiguous(const struct migrate *m) {
    for (uint32_t i = 0; i < m->tree->n_nodes; i++) {
        const struct nki_node *node = m->tree->nodes[i];
        if ((migrate_calls(m, node, "nisa.affine_select") ||
             migrate_calls(m, node, "nisa.dma_compute")) &&
            node->call.args.len > 2)
            return node;
    }
    return NULL;
}

static bool find_from(struct migrate *m, struct err *err) {
    bool legacy = nki_detect_dialect(m->tree).dialect == NKI_DIALECT_LEGACY;
    m->from = m->options->from ? m->options->from : legacy ? MIGRATE_LEGACY : shown_by(m);
    const struct nki_node *call = m->options->from || legacy ? NULL : ambiguous(m);
    if (call && nki_release_compare(m->from, "0.3") < 0 && nki_release_compare(m->to, "0.3") >= 0)
        return err_set(err, ERR_USAGE,
                       "%s:%d: arguments of this call stood in another order before NKI 0.3, and "
                       "the source does not show for which release it is: say it with --from",
                       m->path, nki_place_of(m->tree, call->start).line);
    if (compare(m->from, m->to) > 0)
        return err_set(err, ERR_USAGE,
                       "%s is for NKI %s, and there is no way back to %s: choose a later release",
                       m->path, m->from, m->to);
    snprintf(m->out->from, sizeof m->out->from, "%s", m->from);
    return true;
}

static bool is_known(const char *release, struct err *err) {
    return !release || is_legacy(release) || nki_release_find(release) ||
           err_set(err, ERR_USAGE, "there is no release %s of nki", release);
}

static bool check_options(const struct migrate_options *options, struct err *err) {
    if (!is_known(options->from, err) || !is_known(options->to, err))
        return false;
    return (options->to && !is_legacy(options->to)) ||
           err_set(err, ERR_USAGE, "say to which release of the package nki: 0.1 to %s",
                   nki_release_newest());
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool holds(const struct migrate *m, size_t i) {
    const char *until = until_of(i);
    return compare(m->from, rules[i].since) < 0 && compare(m->to, rules[i].since) >= 0 &&
           (!until || compare(m->to, until) <= 0);
}

/* A name at the front of a longer one is shown by itself. */
static void rename_name(struct migrate *m, const struct nki_node *node) {
    bool is = (node->kind == NKI_NAME && node->context == NKI_LOAD) || node->kind == NKI_ATTRIBUTE;
    if (!is || !migrate_is(m, node, m->rule->old))
        return;
    const struct nki_node *call = node->parent;
    bool plain = !strchr(m->rule->now, '.');
    if (plain && migrate_binds(m, str_of(m->rule->now))) {
        migrate_ask(m, node, "the file has a name of its own that hides Python's: rename it?");
        return;
    }
    for (uint32_t i = 0;
         plain && call->kind == NKI_CALL && call->call.func == node && i < call->call.keywords.len;
         i++)
        migrate_drop(m, call->call.keywords.at[i]); /* name=, hints: range takes none */
    struct buf text = {0};
    migrate_spell(m, m->rule->now, &text);
    nki_edit_node(&m->edits, node, buf_str(&text));
    migrate_did(m, node, "%s is %s", m->rule->old, m->rule->now);
    buf_free(&text);
}

static void rename_keyword(struct migrate *m, const struct nki_node *node) {
    const struct nki_node *keyword =
        migrate_calls(m, node, m->rule->function) ? migrate_keyword(node, m->rule->old) : NULL;
    if (!keyword)
        return;
    if (m->rule->now) {
        uint32_t end = keyword->start + (uint32_t)keyword->keyword.name.len;
        nki_edit_replace(&m->edits, (struct nki_span){keyword->start, end}, str_of(m->rule->now));
        migrate_did(m, node, "%s= is %s=", m->rule->old, m->rule->now);
    } else {
        migrate_drop(m, keyword);
        migrate_did(m, node, "%s= of %s is left out", m->rule->old, m->rule->function);
    }
}

static void apply(struct migrate *m, const struct nki_node *node) {
    switch (m->rule->kind) {
    case MIGRATE_NAME: rename_name(m, node); break;
    case MIGRATE_KEYWORD: rename_keyword(m, node); break;
    case MIGRATE_STEP:
    case MIGRATE_ASK: m->rule->step(m, node); break;
    }
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* Leaves out edits that lie within what another one replaces; they come in the next round. */
static void leave_inner(struct migrate *m) {
    size_t kept = 0;
    for (size_t i = 0; i < m->edits.all.len; i++) {
        struct nki_span one = m->edits.all.at[i].span;
        bool inner = false;
        for (size_t k = 0; k < m->edits.all.len && !inner; k++) {
            struct nki_span other = m->edits.all.at[k].span;
            bool larger = other.end - other.start > one.end - one.start;
            bool empty = one.start == one.end;
            inner = k != i && larger &&
                    (empty ? one.start > other.start && one.start < other.end
                           : one.start >= other.start && one.end <= other.end);
            inner |= k < i && one.start == other.start && one.end == other.end && !empty;
        }
        if (inner) {
            free(m->edits.all.at[i].text);
            m->again = true;
        } else {
            m->edits.all.at[kept++] = m->edits.all.at[i];
        }
    }
    m->edits.all.len = kept;
}

static bool open_tree(struct migrate *m, struct str source, struct err *err) {
    struct diag_list diags = {0};
    nki_tree_free(m->tree);
    m->tree = nki_parse(m->path, source, &diags);
    bool ok = m->tree->errors == 0 || err_set(err, ERR_KERNEL, "%s:%d: %s", m->path,
                                              diags.all.at[0].line, diags.all.at[0].message);
    diag_free(&diags);
    migrate_read_imports(m);
    m->kernel = ok ? nki_find_kernel(m->tree, m->options->function, &(struct err){0}) : NULL;
    m->edits = (struct nki_edits){.tree = m->tree};
    return ok;
}

/* Applies the edits, and reads the result. */
static bool renew(struct migrate *m, struct err *err) {
    struct buf text = {0};
    leave_inner(m);
    bool ok = nki_edits_apply(&m->edits, &text, err);
    nki_edits_free(&m->edits);
    if (ok) {
        free(m->out->source);
        m->out->source = buf_take(&text);
        ok = open_tree(m, str_of(m->out->source), err);
        if (!ok)
            err_set(err, ERR_KERNEL,
                    "%s: hone migrate wrote what cannot be parsed; the fault is hone's, please "
                    "report it",
                    m->path);
    }
    buf_free(&text);
    return ok;
}

/* The older dialect first: what its expressions were is known of the source as it is. */
static bool run_older(struct migrate *m, struct err *err) {
    if (!is_legacy(m->from))
        return true;
    older_unroll_grids(m);
    if (m->edits.all.len && !renew(m, err))
        return false;
    migrate_watch(m, m->from);
    older_migrate(m);
    if (m->edits.all.len && !renew(m, err))
        return false;
    older_sweep(m);
    return !m->edits.all.len || renew(m, err);
}

static bool run_rules(struct migrate *m, struct err *err) {
    m->again = true;
    for (int round = 0; m->again && round < MOST_ROUNDS; round++) {
        m->again = false;
        m->round = round;
        migrate_watch(m, round ? m->to : m->from);
        for (size_t i = 0; i < COUNT_OF(rules); i++) {
            m->rule = &rules[i];
            for (uint32_t n = 1; is_row(i) && holds(m, i) && n < m->tree->n_nodes; n++)
                apply(m, m->tree->nodes[n]);
        }
        if (m->edits.all.len && !renew(m, err))
            return false;
    }
    return true;
}

/* Asks about names that the release does not have and no row knew how to replace. */
static void ask_gone(struct migrate *m, const struct nki_node *node) {
    struct buf name = {0};
    const char *since = NULL;
    bool named =
        (node->kind == NKI_ATTRIBUTE || (node->kind == NKI_NAME && node->context == NKI_LOAD)) &&
        migrate_name(m, node, &name);
    for (const struct release_row *row = NULL; named && (row = release_next(row, &since));) {
        if (row->change != RELEASE_GONE || !since || compare(m->to, since) < 0 ||
            strcmp(row->name, name.at) != 0 ||
            (m->asked == nki_statement_of(node) && m->asked_row == row))
            continue;
        m->asked = nki_statement_of(node);
        m->asked_row = row;
        if (migrate_is_asked(m, m->asked))
            continue;
        struct buf text = {0};
        struct migrate_rule rule = {.since = since};
        buf_printf(&text, "%s is not in NKI any more, %s: how?", row->name, row->instead);
        m->rule = &rule;
        migrate_ask(m, node, text.at);
        m->rule = NULL;
        buf_free(&text);
    }
    buf_free(&name);
}

static bool run_gone(struct migrate *m, struct err *err) {
    m->asked = NULL;
    for (uint32_t i = 1; i < m->tree->n_nodes; i++)
        ask_gone(m, m->tree->nodes[i]);
    return !m->edits.all.len || renew(m, err);
}

static int by_line(const void *a, const void *b) {
    const struct migrate_step *left = a, *right = b;
    return left->line < right->line ? -1 : left->line > right->line;
}

bool migrate_kernel(const char *path, struct str source, const struct migrate_options *options,
                    struct migration *out, struct err *err) {
    struct migrate m = {.options = options, .path = path, .to = options->to, .out = out};
    *out = (struct migration){0};
    bool ok = check_options(options, err) && open_tree(&m, source, err) && find_from(&m, err);
    if (ok) {
        struct buf copy = {0};
        buf_add(&copy, source.at, source.len);
        out->source = buf_take(&copy);
        ok = run_older(&m, err) && run_rules(&m, err) && run_gone(&m, err);
    }
    if (ok && out->steps.len)
        qsort(out->steps.at, out->steps.len, sizeof *out->steps.at, by_line);
    nki_edits_free(&m.edits);
    map_free(&m.aliases);
    map_free(&m.outer);
    map_free(&m.indices);
    nki_tree_free(m.tree);
    if (!ok)
        migration_free(out);
    return ok;
}

void migration_free(struct migration *migration) {
    for (size_t i = 0; i < migration->steps.len; i++)
        free(migration->steps.at[i].text);
    vec_free(&migration->steps);
    free(migration->source);
    migration->source = NULL;
}
