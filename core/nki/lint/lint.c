/* SPDX-License-Identifier: Apache-2.0 */
/* The entry of the lints, their table, and how a finding is worded. The rules are in lint_flow.c
 * (what is wrong in any Python), lint_api.c (names NKI no longer has), and lint_strict.c and
 * lint_subset.c (what the NKI compiler's front end refuses). They look at the source alone.
 * Specialiser and device check shapes and limits. */
#include "nki/lint/rules.h"

#include "nki/release/release.h"

static const struct nki_lint_rule rules[] = {
#define X(id, code, severity, strict_only, message, help) \
    {code, DIAG_##severity, strict_only, message, help},
    LINT_TABLE(X)
#undef X
};

const struct nki_lint_rule *nki_lint_rules(size_t *count) {
    *count = COUNT_OF(rules);
    return rules;
}

void lint_report(struct lint *lint, enum lint_rule rule, struct nki_span span,
                 struct lint_detail detail) {
    if (lint->findings++ >= NKI_MAX_FINDINGS)
        return;
    const char *message = rules[rule].message;
    const char *place = strstr(message, "{}");
    struct buf text = {0};
    buf_add(&text, message, place ? (size_t)(place - message) : strlen(message));
    if (place) {
        buf_add(&text, detail.name.at, MIN_OF(detail.name.len, (size_t)60));
        buf_puts(&text, place + 2);
    }
    if (detail.since && !strcmp(detail.since, nki_release_oldest()))
        buf_puts(&text, " since the package nki");
    else if (detail.since)
        buf_printf(&text, " since %s", detail.since);
    if (detail.hint)
        buf_printf(&text, "; %s", detail.hint);
    nki_report(lint->tree, lint->diags, detail.is_warning ? DIAG_WARNING : rules[rule].severity,
               span, rules[rule].code, "%s", text.at);
    buf_free(&text);
}

void lint_node(struct lint *lint, enum lint_rule rule, const struct nki_node *node) {
    lint_report(lint, rule, nki_span_of(node), (struct lint_detail){0});
}

void lint_name(struct lint *lint, enum lint_rule rule, const struct nki_node *node,
               struct str name) {
    lint_report(lint, rule, nki_span_of(node), (struct lint_detail){.name = name});
}

bool lint_rule(const struct lint *lint, enum nki_rule rule) {
    return nki_rule_holds(lint->rules, rule);
}

bool lint_holds_since(const struct lint *lint, const char *since) {
    const char *release = lint->options->release;
    return !since || !release || nki_release_compare(release, since) >= 0;
}

void nki_lint(const struct nki_tree *tree, const struct nki_lint_options *options,
              struct diag_list *diags) {
    if (tree->errors)
        return;
    enum nki_dialect dialect = options->dialect;
    if (dialect == NKI_DIALECT_UNKNOWN)
        dialect = nki_detect_dialect(tree).dialect;
    struct lint lint = {.tree = tree,
                        .options = options,
                        .diags = diags,
                        .rules = nki_rules_of(options->release),
                        .is_legacy = dialect == NKI_DIALECT_LEGACY};
    size_t first = diags->all.len;
    lint_bindings(&lint);
    lint_flow(&lint);
    lint_reach(&lint);
    lint_mixed(&lint);
    lint_unknown(&lint);
    lint_calls(&lint);
    if (!lint.is_legacy) {
        lint_api(&lint);
        if (options->strict || lint_rule(&lint, NKI_RULE_SUBSET))
            lint_strict(&lint);
    }
    nki_sort_findings(diags, first);
    map_free(&lint.told);
    map_free(&lint.plain);
    mem_free_(lint.reached);
    map_free(&lint.aliases);
    map_free(&lint.bound);
    map_free(&lint.loop_bodies);
}
