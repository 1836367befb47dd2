/* SPDX-License-Identifier: Apache-2.0 */
/* Keywords that a call of NKI does not take, and members that an enumeration of NKI does not have,
 * without running the kernel. Where it is not certain that the kernel gets there, it is a warning:
 * what runs the kernel says then whether it does. */
#include "nki/lint/allow.h"
#include "nki/lint/rules.h"

#include <stdio.h>

static void report(struct lint *lint, enum lint_rule rule, const struct nki_node *node,
                   struct nki_span span, struct lint_detail detail) {
    detail.is_warning = !lint_is_certain(lint, node);
    lint_report(lint, rule, span, detail);
}

/* ---- keywords -------------------------------------------------------------------------------- */

/* What is called: the parameters of the file's dialect, as a hint has them, and the other one's. */
struct parameters {
    struct buf own, others;
};

static void parameters_free(struct parameters *parameters) {
    buf_free(&parameters->own);
    buf_free(&parameters->others);
}

/* The elementwise functions of nki.language take the same, each as the others. nl.copy takes what
 * its release's pages do not list. */
static bool elementwise_parameters(struct str member, struct parameters *out) {
    enum nki_func func = nki_func_find(member);
    if (func == NKI_FUNC_NONE || func == NKI_FUNC_COPY)
        return false;
    buf_printf(&out->own, "x, %sdtype=None, mask=None", nki_func_has(func, 'b') ? "y, " : "");
    return true;
}

static bool parameters_of(const struct lint *lint, struct str name, struct parameters *out) {
    enum nki_op op = str_starts(name, "nisa.") ? nki_op_find(name) : NKI_OP_COUNT;
    if (op != NKI_OP_COUNT && nki_op_is_called(op)) {
        buf_puts(lint->is_legacy ? &out->others : &out->own, nki_op_row(op)->signature);
        nki_op_print_legacy(op, lint->is_legacy ? &out->own : &out->others);
        return out->own.len > 0;
    }
    const char *parameters, *what, *member;
    for (size_t i = 0; str_starts(name, "nl.") && (member = nki_name_at(i, &parameters, &what));
         i++)
        if (str_is((struct str){name.at + 3, name.len - 3}, member) && *parameters) {
            buf_puts(&out->own, parameters);
            return true;
        }
    return str_starts(name, "nl.") &&
           elementwise_parameters((struct str){name.at + 3, name.len - 3}, out);
}

static bool is_name_char(char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Whether a text has a word. */
static bool has_word(struct str text, struct str word) {
    for (size_t i = 0; i + word.len <= text.len; i++)
        if (str_equal((struct str){text.at + i, word.len}, word) &&
            (i == 0 || !is_name_char(text.at[i - 1])) &&
            (i + word.len == text.len || !is_name_char(text.at[i + word.len])))
            return true;
    return false;
}

/* An argument that some release had, or that calls of a dialect take though no page lists it. */
static bool is_of_some_release(struct str keyword) {
    static const char *const common[] = {
        "name", "mask", "dtype", "engine", "prefix", "x", "lazy_initialization"};
    const char *since = NULL;
    for (size_t i = 0; i < COUNT_OF(common); i++)
        if (str_is(keyword, common[i]))
            return true;
    for (const struct release_row *row = NULL; (row = release_next(row, &since));)
        if (row->change == RELEASE_KEYWORD && str_is(keyword, row->keyword))
            return true;
    return false;
}

static void check_call(struct lint *lint, const struct nki_node *call, struct str name) {
    struct parameters parameters = {0};
    bool is_known = call->call.keywords.len && parameters_of(lint, name, &parameters);
    for (uint32_t i = 0; i < call->call.keywords.len && is_known; i++) {
        const struct nki_node *keyword = call->call.keywords.at[i];
        struct str given = keyword->keyword.name;
        char hint[160];
        if (!given.len || has_word(buf_str(&parameters.own), given) ||
            has_word(buf_str(&parameters.others), given) || is_of_some_release(given))
            continue;
        snprintf(hint, sizeof hint, STR_FMT " has %.100s", STR_ARG(name), parameters.own.at);
        report(lint, LINT_KEYWORD, call, nki_span_of(keyword),
               (struct lint_detail){.name = given, .hint = hint});
    }
    parameters_free(&parameters);
}

/* ---- members --------------------------------------------------------------------------------- */

/* hasattr(nisa.engine, "name"): the kernel knows that it may not be there. */
static bool is_asked_for(const struct lint *lint, struct str name) {
    for (uint32_t i = 0; i < lint->tree->n_nodes; i++) {
        const struct nki_node *text = lint->tree->nodes[i];
        if (text->kind == NKI_CONSTANT && text->constant.type == NKI_CONST_STRING &&
            str_equal(text->constant.text, name))
            return true;
    }
    return false;
}

struct members {
    struct allow allow;
    bool is_ready; /* few kernels need it */
};

static bool is_member(struct members *members, struct str name) {
    if (!members->is_ready)
        allow_init(&members->allow, NULL);
    members->is_ready = true;
    return allow_word(&members->allow, ALLOW_ATTRIBUTE, name) != ALLOW_NOT;
}

static void check_member(struct lint *lint, struct members *members, const struct nki_node *node,
                         struct str module) {
    static const char *const enumerations[] = {
        "nl.tile_size",  "nisa.engine",           "nisa.reduce_cmd", "nisa.dge_mode",
        "nisa.oob_mode", "nisa.matmul_perf_mode", "nisa.nc_version", "nisa.dma_engine"};
    struct str member = node->attribute.attr;
    struct buf full = {0};
    bool is_one = false;
    for (size_t i = 0; i < COUNT_OF(enumerations); i++)
        is_one |= str_is(module, enumerations[i]);
    if (!is_one || str_starts(member, "__") || is_member(members, member) ||
        is_asked_for(lint, member))
        return;
    buf_printf(&full, STR_FMT "." STR_FMT, STR_ARG(module), STR_ARG(member));
    report(lint, LINT_MEMBER, node, node->attribute.attr_span,
           (struct lint_detail){.name = buf_str(&full)});
    buf_free(&full);
}

void lint_calls(struct lint *lint) {
    struct members members = {0};
    struct buf name = {0};
    for (uint32_t i = 0; i < lint->tree->n_nodes; i++) {
        const struct nki_node *node = lint->tree->nodes[i];
        buf_clear(&name);
        if (!lint->reached[i])
            continue;
        if (node->kind == NKI_CALL && lint_canonical(lint, node->call.func, &name))
            check_call(lint, node, buf_str(&name));
        else if (node->kind == NKI_ATTRIBUTE && node->attribute.value->kind == NKI_ATTRIBUTE &&
                 lint_canonical(lint, node->attribute.value, &name))
            check_member(lint, &members, node, buf_str(&name));
    }
    buf_free(&name);
    if (members.is_ready)
        allow_free(&members.allow);
}
