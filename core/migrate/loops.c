/* SPDX-License-Identifier: Apache-2.0 */
/* Loops on the device: their bodies become functions (NKI 0.6, needed from 0.7 on). */
#include "migrate/private.h"

/* ---- what a body may hold -------------------------------------------------------------------- */

static bool is_within(const struct nki_node *node, uint32_t first, uint32_t last) {
    return node->id >= first && node->id <= last;
}

/* Whether the value that a name is assigned is made of what it was before. */
static bool reads_itself(const struct migrate *m, const struct nki_node *target) {
    const struct nki_node *stmt = nki_statement_of(target);
    for (uint32_t i = stmt->id; stmt->kind == NKI_ASSIGN && i <= stmt->assign.value->last; i++) {
        const struct nki_node *node = m->tree->nodes[i];
        if (node->kind == NKI_NAME && node->context == NKI_LOAD &&
            node->id >= stmt->assign.value->id && str_equal(node->name.id, target->name.id))
            return true;
    }
    return stmt->kind == NKI_AUG_ASSIGN && stmt->aug_assign.target == target;
}

/* Whether a name that the body assigns means something outside of it: a function has names of its
 * own, so what it assigns is neither seen behind it nor kept from round to round. */
static bool is_carried(const struct migrate *m, const struct nki_node *function, struct str name,
                       uint32_t first, uint32_t last) {
    bool inside = false, stored = false, fresh = false;
    for (uint32_t i = function->id; i <= function->last; i++) {
        const struct nki_node *node = m->tree->nodes[i];
        if (node->kind != NKI_NAME || !str_equal(node->name.id, name))
            continue;
        bool is_store = node->context == NKI_STORE;
        bool reads = !is_store || reads_itself(m, node);
        if (is_within(node, first, last)) {
            if (!inside && reads && stored)
                return true; /* what the round before left */
            inside = true;
            fresh = true;
        } else if (node->id > last && fresh) {
            if (!is_store)
                return true; /* read behind the loop */
            fresh = false;
        } else if (is_store) {
            stored = true;
        }
    }
    return false;
}

/* Why the body cannot be a function; NULL: it can. */
static const char *why_not(const struct migrate *m, const struct nki_list *body,
                           const struct nki_node *variable) {
    const struct nki_node *function = nki_enclosing(body->at[0], NKI_FUNCTION_DEF);
    uint32_t first = body->at[0]->id, last = body->at[body->len - 1]->last;
    for (uint32_t i = first; i <= last && function; i++) {
        const struct nki_node *node = m->tree->nodes[i];
        if (node->kind == NKI_RETURN || node->kind == NKI_YIELD)
            return "the loop's body returns, which the body of nl.fori_loop cannot: how is it to "
                   "end?";
        if ((node->kind == NKI_BREAK || node->kind == NKI_CONTINUE))
            return "the loop's body has break or continue, which nl.fori_loop has not: how is the "
                   "rest of the round left out?";
        if (node->kind != NKI_NAME || node->context != NKI_STORE)
            continue;
        if (variable && str_equal(node->name.id, variable->name.id))
            return "the loop's variable is assigned, which the device does not see: is it a "
                   "nl.while_loop?";
        if (is_carried(m, function, node->name.id, first, last))
            return "the loop's body assigns a name that is used outside of it: keep it in a tile "
                   "that is made before the loop";
    }
    return function ? NULL : "the loop stands in no function: where does it belong?";
}

/* ---- edits ----------------------------------------------------------------------------------- */

/* Where the header of a loop ends: behind its colon. */
static uint32_t header_end(const struct migrate *m, const struct nki_node *last) {
    uint32_t token = nki_token_at(m->tree, nki_outer_span(m->tree, last).end);
    while (m->tree->tokens[token].kind != NKI_TOKEN_END && m->tree->tokens[token].op != ':')
        token++;
    return m->tree->tokens[token].end;
}

static void replace_header(struct migrate *m, const struct nki_node *stmt,
                           const struct nki_node *last, const char *name, struct str variable) {
    struct buf text = {0};
    buf_printf(&text, "def %s(" STR_FMT "):", name, STR_ARG(variable));
    nki_edit_replace(&m->edits, (struct nki_span){stmt->start, header_end(m, last)},
                     buf_str(&text));
    buf_free(&text);
}

static struct str text_of(const struct migrate *m, const struct nki_node *node) {
    return nki_text(m->tree, nki_outer_span(m->tree, node));
}

/* "nl.fori_loop(0, n, body, step=2)" */
static void print_fori(const struct migrate *m, const struct nki_node *call, const char *name,
                       struct buf *out) {
    const struct nki_node *start = migrate_arg(call, 0, "start"),
                          *stop = migrate_arg(call, 1, "stop");
    const struct nki_node *step = migrate_arg(call, 2, "step");
    migrate_spell(m, "nl.fori_loop", out);
    if (stop)
        buf_printf(out, "(" STR_FMT ", " STR_FMT ", %s", STR_ARG(text_of(m, start)),
                   STR_ARG(text_of(m, stop)), name);
    else
        buf_printf(out, "(0, " STR_FMT ", %s", STR_ARG(text_of(m, start)), name);
    if (step)
        buf_printf(out, ", step=" STR_FMT, STR_ARG(text_of(m, step)));
    buf_puts(out, ")\n");
}

void migrate_step_fori(struct migrate *m, const struct nki_node *node) {
    if (node->kind != NKI_FOR || !migrate_calls(m, node->for_.iter, "nl.dynamic_range"))
        return;
    const struct nki_node *variable = node->for_.target, *call = node->for_.iter;
    const char *no = variable->kind != NKI_NAME
                         ? "the loop has several variables: which one counts?"
                     : node->for_.orelse.len ? "the loop has an else: where does it belong?"
                     : !migrate_arg(call, 0, "start") ? "how many rounds has the loop?"
                                                      : why_not(m, &node->for_.body, variable);
    struct buf lines = {0};
    const char *name = migrate_new_name(m, "fori_body");
    if (!no)
        print_fori(m, call, name, &lines);
    if (!no && nki_edit_insert_after(&m->edits, node, buf_str(&lines))) {
        replace_header(m, node, call, name, variable->name.id);
        migrate_did(m, node, "the loop's body is the function %s of nl.fori_loop", name);
    } else {
        migrate_ask(m, node, no ? no : "the loop shares its line: put it on lines of its own");
    }
    buf_free(&lines);
}

/* The statement at the end of the body that loads the register anew; NULL: there is none. */
static const struct nki_node *last_load(const struct migrate *m, const struct nki_node *loop) {
    const struct nki_list *body = &loop->while_.body;
    const struct nki_node *last = body->at[body->len - 1];
    const struct nki_node *call = last->kind == NKI_EXPR ? last->expr.value : NULL;
    if (!migrate_calls(m, call, "nisa.register_load") &&
        !migrate_calls(m, call, "nisa.register_move"))
        return NULL;
    const struct nki_node *dst = migrate_arg(call, 0, "dst");
    bool same = dst && dst->kind == NKI_NAME && str_equal(dst->name.id, loop->while_.test->name.id);
    return same ? last : NULL;
}

void migrate_step_while(struct migrate *m, const struct nki_node *node) {
    if (node->kind != NKI_WHILE || node->while_.test->kind != NKI_NAME ||
        !migrate_is_register(m, node->while_.test))
        return;
    struct str reg = node->while_.test->name.id;
    const struct nki_node *load = last_load(m, node);
    const char *no = !load ? "the loop's body does not end with the load of its register: which "
                             "register does the body of nl.while_loop return?"
                     : node->while_.orelse.len ? "the loop has an else: where does it belong?"
                                               : why_not(m, &node->while_.body, NULL);
    const char *name = migrate_new_name(m, "while_body");
    struct buf fresh = {0}, back = {0}, lines = {0};
    buf_printf(&fresh, STR_FMT " = ", STR_ARG(reg));
    migrate_spell(m, "nisa.register_alloc", &fresh);
    buf_puts(&fresh, "()\n");
    buf_printf(&back, "return " STR_FMT "\n", STR_ARG(reg));
    migrate_spell(m, "nl.while_loop", &lines);
    buf_printf(&lines, "(" STR_FMT ", %s)\n", STR_ARG(reg), name);
    if (!no && nki_edit_insert_before(&m->edits, load, buf_str(&fresh)) &&
        nki_edit_insert_after(&m->edits, load, buf_str(&back)) &&
        nki_edit_insert_after(&m->edits, node, buf_str(&lines))) {
        replace_header(m, node, node->while_.test, name, reg);
        migrate_did(m, node, "the loop's body is the function %s of nl.while_loop", name);
    } else {
        migrate_ask(m, node, no ? no : "the loop shares its line: put it on lines of its own");
    }
    buf_free(&fresh);
    buf_free(&back);
    buf_free(&lines);
}
