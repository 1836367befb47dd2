/* SPDX-License-Identifier: Apache-2.0 */
/* All independent errors of a kernel at once. After an error the statement is passed over, and the
 * names that it should have given a value have none. What fails with such a name in it is a
 * consequence: it is counted with its cause and not told. So a repair sees every cause, and nothing
 * that goes away with one. */
#include "nki/python/inner.h"

#include <stdlib.h>

#define MOST_CAUSES 12
#define MOST_LINES 6 /* of consequences, told by number */

struct cause {
    const struct nki_node *stmt;
    struct failure failure;
    uint32_t lines[MOST_LINES];
    size_t n_lines;
    bool more;
};
struct recovery {
    VEC(struct cause) causes;
    struct map broken; /* names that have no value, or a part of one: the cause's number + 1 */
    size_t pending;    /* of a failure that goes on to the caller: as above; 0: no consequence */
    size_t numbers[MOST_CAUSES + 1];
};

struct recovery *recovery_new(void) {
    struct recovery *recovery = mem_alloc(1, sizeof *recovery);
    for (size_t i = 0; i <= MOST_CAUSES; i++)
        recovery->numbers[i] = i;
    return recovery;
}

void recovery_free(struct recovery *recovery) {
    if (!recovery)
        return;
    vec_free(&recovery->causes);
    map_free(&recovery->broken);
    free(recovery);
}

bool recovery_has_found(const struct recovery *recovery) {
    return recovery && recovery->causes.len;
}

/* The statements after which evaluation can go on. What they do beside giving names a value is
 * checked nowhere before the kernel has run. */
static bool is_passable(const struct nki_node *stmt) {
    switch ((enum nki_kind)stmt->kind) {
    case NKI_ASSIGN:
    case NKI_ANN_ASSIGN:
    case NKI_AUG_ASSIGN:
    case NKI_EXPR:
    case NKI_FOR:
    case NKI_IF:
    case NKI_MATCH: return true;
    default: return false;
    }
}

/* Whether a node stands in a function or class that the statement defines: its names are not the
 * statement's. */
static uint32_t skip_definition(const struct nki_node *node) {
    bool defines =
        node->kind == NKI_FUNCTION_DEF || node->kind == NKI_CLASS_DEF || node->kind == NKI_LAMBDA;
    return defines ? node->last : node->id;
}

/* The cause that a statement with a broken name follows from, + 1; 0: none. */
static size_t cause_of(struct interp *in, const struct nki_node *stmt) {
    const struct nki_tree *tree = in->frame->unit->tree;
    size_t first = 0;
    for (uint32_t i = stmt->id; i <= stmt->last; i++) {
        const struct nki_node *node = tree->nodes[i];
        bool is_read =
            node->kind == NKI_NAME && (node->context == NKI_LOAD || stmt->kind == NKI_AUG_ASSIGN);
        const size_t *number = is_read ? map_get(&in->recovery->broken, node->name.id) : NULL;
        if (number && *number && (!first || *number < first))
            first = *number;
    }
    return first;
}

static void mark(struct recovery *recovery, struct str name, size_t cause) {
    struct map_entry *entry = map_put(&recovery->broken, name);
    if (!entry->value)
        entry->value = &recovery->numbers[cause];
}

/* Takes the values of the names that the statement binds. Lists, dicts and objects that it reads
 * may lack what it should have put into them. */
static void break_names(struct interp *in, const struct nki_node *stmt, size_t cause) {
    const struct unit *unit = in->frame->unit;
    for (uint32_t i = stmt->id; i <= stmt->last; i++) {
        const struct nki_node *node = unit->tree->nodes[i];
        struct value value = NONE_VALUE;
        i = skip_definition(node);
        if (node->kind != NKI_NAME || node->name.id.len == 0)
            continue;
        if (node->context == NKI_STORE && stmt->kind != NKI_AUG_ASSIGN) {
            store_ref(in, unit->cells[node->id].ref, UNSET_VALUE);
            mark(in->recovery, node->name.id, cause);
        } else if (node->context == NKI_LOAD && unit->cells[node->id].ref.kind == REF_FRAME) {
            if (!load_ref(in, node, unit->cells[node->id].ref, &value))
                in->failure.set = false;
            if (value.kind == VALUE_LIST || value.kind == VALUE_DICT || value.kind == VALUE_OBJECT)
                mark(in->recovery, node->name.id, cause);
        }
    }
}

static void add_line(struct interp *in, struct cause *cause, const struct nki_node *stmt) {
    uint32_t line = (uint32_t)nki_place_of(in->frame->unit->tree, stmt->start).line;
    for (size_t i = 0; i < cause->n_lines; i++)
        if (cause->lines[i] == line)
            return;
    if (cause->n_lines < MOST_LINES)
        cause->lines[cause->n_lines++] = line;
    else
        cause->more = true;
}

/* The cause's number + 1; the same statement fails in each round of a loop, and several for what is
 * wrong in another file. */
static size_t add_cause(struct recovery *recovery, const struct nki_node *stmt,
                        const struct failure *failure) {
    for (size_t i = 0; i < recovery->causes.len; i++)
        if (recovery->causes.at[i].stmt == stmt ||
            (failure->first && recovery->causes.at[i].failure.first == failure->first))
            return i + 1;
    *vec_push(&recovery->causes) = (struct cause){.stmt = stmt, .failure = *failure};
    return recovery->causes.len;
}

bool recover(struct interp *in, const struct nki_node *stmt) {
    struct recovery *recovery = in->recovery;
    if (in->failure.fatal || in->tolerant || in->tries)
        return false;
    size_t follows = recovery->pending ? recovery->pending : cause_of(in, stmt);
    if (follows)
        add_line(in, &recovery->causes.at[follows - 1], stmt);
    recovery->pending = follows;
    if (!is_passable(stmt) || recovery->causes.len == MOST_CAUSES)
        return false;
    size_t cause = follows ? follows : add_cause(recovery, stmt, &in->failure);
    if (recovery->causes.at[cause - 1].stmt != stmt && !follows)
        add_line(in, &recovery->causes.at[cause - 1], stmt);
    recovery->pending = 0;
    in->failure.set = false;
    break_names(in, stmt, cause);
    return true;
}

/* "lines 28, 29 and more use it and were not looked at" */
static void follows_report(struct interp *in, const struct cause *cause) {
    struct buf out = {0};
    bool one = cause->n_lines == 1;
    for (size_t i = 0; i < cause->n_lines; i++)
        buf_printf(&out, "%s%u", i ? ", " : one ? "line " : "lines ", cause->lines[i]);
    if (out.len)
        nki_report(cause->failure.unit->tree, in->diags, DIAG_NOTE, cause->failure.span, "",
                   "%s%s what this should make, and %s not looked at", out.at,
                   cause->more ? " and more use"
                   : one       ? " uses"
                               : " use",
                   one ? "was" : "were");
    buf_free(&out);
}

void recovery_report(struct interp *in) {
    struct recovery *recovery = in->recovery;
    struct failure last = in->failure;
    bool independent = last.set && !recovery->pending && !last.fatal;
    for (size_t i = 0; i < recovery->causes.len; i++) {
        in->failure = recovery->causes.at[i].failure;
        interp_report(in);
        if (in->failure.unit)
            follows_report(in, &recovery->causes.at[i]);
    }
    in->failure = last;
    if (independent && recovery->causes.len < MOST_CAUSES)
        interp_report(in);
}
