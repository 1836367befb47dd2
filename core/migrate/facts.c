/* SPDX-License-Identifier: Apache-2.0 */
/* What expressions stand for. The kernel is evaluated for the inputs at hand, and what its own
 * expressions were is kept. Where it was not evaluated, the one assignment of a name may tell. */
#include "migrate/private.h"

static bool same_shape(const struct nki_seen *a, const struct nki_seen *b) {
    for (int d = 0; d < a->n_dims; d++)
        if (a->shape[d] != b->shape[d] || a->step[d] != b->step[d])
            return false;
    return a->n_dims == b->n_dims;
}

static void see(void *data, const struct nki_node *node, const struct nki_seen *seen) {
    struct migrate *m = data;
    struct migrate_fact *fact = &m->facts[node->id];
    if (fact->times++ == 0)
        fact->seen = *seen;
    else if (fact->seen.kind != seen->kind || fact->seen.dtype != seen->dtype ||
             fact->seen.space != seen->space || !same_shape(&fact->seen, seen))
        fact->varies = true;
    else if (fact->seen.whole != seen->whole)
        fact->moves = true;
}

void migrate_watch(struct migrate *m, const char *release) {
    struct nki_watch watch = {see, m};
    struct diag_list diags = {0};
    m->facts = ARENA_ARRAY(m->tree->arena, struct migrate_fact, m->tree->n_nodes);
    if (m->tree->errors || !m->options->n_inputs)
        return;
    struct nki_specialise_options options = {
        .function = m->options->function,
        .generation = m->options->generation,
        .release = strcmp(release, MIGRATE_LEGACY) == 0 ? NULL : release,
        .inputs = m->options->inputs,
        .n_inputs = m->options->n_inputs,
        .max_steps = m->options->max_steps,
        .partial = true,
        .watch = &watch};
    struct nki_program *program = nki_specialise(m->tree, &options, &diags);
    nki_program_free(program);
    diag_free(&diags);
}

bool migrate_is_parameter(const struct nki_node *function, struct str name) {
    const struct nki_list *args = &function->function_def.args->arguments.args;
    for (uint32_t i = 0; i < args->len; i++)
        if (str_equal(args->at[i]->arg.name, name))
            return true;
    return false;
}

/* How often a function gives a value to a name, or (NULL) what is outside of all. */
static int values_in(const struct migrate *m, const struct nki_node *function, struct str name,
                     const struct nki_node **value) {
    int count = 0;
    for (uint32_t i = 0; i < m->tree->n_nodes; i++) {
        const struct nki_node *node = m->tree->nodes[i];
        if (node->kind != NKI_NAME || node->context != NKI_STORE ||
            !str_equal(node->name.id, name) || nki_enclosing(node, NKI_FUNCTION_DEF) != function)
            continue;
        bool plain = node->parent->kind == NKI_ASSIGN && node->parent->assign.value != node;
        *value = plain ? node->parent->assign.value : NULL;
        count++;
    }
    return count;
}

const struct nki_node *migrate_value_of(const struct migrate *m, const struct nki_node *name) {
    const struct nki_node *function = nki_enclosing(name, NKI_FUNCTION_DEF), *value = NULL;
    int count = values_in(m, function, name->name.id, &value);
    while (!count && function && !migrate_is_parameter(function, name->name.id)) {
        function = nki_enclosing(function, NKI_FUNCTION_DEF);
        count = values_in(m, function, name->name.id, &value);
    }
    return count == 1 ? value : NULL;
}

/* The buffer of nl.ndarray(.., buffer=..). */
static bool read_buffer(const struct migrate *m, const struct nki_node *node,
                        struct nki_seen *tile) {
    static const struct {
        const char *name, *text;
        enum nki_space space;
        bool shared;
    } buffers[] = {{"nl.sbuf", "sbuf", NKI_SBUF, false},
                   {"nl.psum", "psum", NKI_PSUM, false},
                   {"nl.hbm", "hbm", NKI_HBM, false},
                   {"nl.private_hbm", "private_hbm", NKI_HBM, false},
                   {"nl.shared_hbm", "shared_hbm", NKI_HBM, true}};
    for (size_t i = 0; i < COUNT_OF(buffers); i++) {
        bool is = node && (migrate_is(m, node, buffers[i].name) ||
                           (node->kind == NKI_CONSTANT && node->constant.type == NKI_CONST_STRING &&
                            str_is(node->constant.text, buffers[i].text)));
        if (!is)
            continue;
        tile->space = buffers[i].space;
        tile->shared = buffers[i].shared;
        return true;
    }
    return false;
}

static bool read_dtype(const struct migrate *m, const struct nki_node *node,
                       struct nki_seen *tile) {
    struct buf name = {0};
    bool named = node && migrate_name(m, node, &name);
    const char *dot = named ? strrchr(name.at, '.') : NULL;
    tile->dtype = dot ? dtype_find(str_of(dot + 1)) : DTYPE_NONE;
    buf_free(&name);
    return tile->dtype != DTYPE_NONE;
}

/* What nl.ndarray((128, 512), dtype=.., buffer=..) makes, as far as it stands there. Sizes that are
 * no numbers count as 0. */
static const struct nki_seen *made_by(struct migrate *m, const struct nki_node *call) {
    static const char *const makers[] = {"nl.ndarray", "nl.zeros", "nl.ones", "nl.full"};
    bool makes = false;
    for (size_t i = 0; i < COUNT_OF(makers); i++)
        makes |= migrate_calls(m, call, makers[i]);
    const struct nki_node *shape = makes ? migrate_arg(call, 0, "shape") : NULL;
    if (!shape || shape->kind != NKI_TUPLE || shape->tuple.elts.len > NKI_SEEN_DIMS)
        return NULL;
    struct nki_seen *tile = ARENA_NEW(m->tree->arena, struct nki_seen);
    tile->kind = NKI_SEEN_TILE;
    tile->n_dims = (int)shape->tuple.elts.len;
    for (int d = 0; d < tile->n_dims; d++)
        if (shape->tuple.elts.at[d]->kind == NKI_CONSTANT)
            tile->shape[d] = shape->tuple.elts.at[d]->constant.integer;
    bool whole = read_buffer(m, migrate_arg(call, 2, "buffer"), tile);
    return read_dtype(m, migrate_arg(call, 1, "dtype"), tile) || whole ? tile : NULL;
}

const struct nki_seen *migrate_tile(struct migrate *m, const struct nki_node *node) {
    const struct migrate_fact *fact = &m->facts[node->id];
    if (fact->times)
        return fact->seen.kind == NKI_SEEN_TILE && !fact->varies ? &fact->seen : NULL;
    if (node->kind == NKI_SUBSCRIPT) { /* a part: its space and dtype are those of the whole */
        const struct nki_seen *whole = migrate_tile(m, node->subscript.value);
        struct nki_seen *part = whole ? ARENA_NEW(m->tree->arena, struct nki_seen) : NULL;
        if (!part)
            return NULL;
        *part = *whole;
        part->n_dims = 0;
        return part;
    }
    const struct nki_node *value = node->kind == NKI_NAME ? migrate_value_of(m, node) : NULL;
    return value && value->kind == NKI_CALL ? made_by(m, value) : NULL;
}

bool migrate_is_register(const struct migrate *m, const struct nki_node *node) {
    const struct migrate_fact *fact = &m->facts[node->id];
    if (fact->times)
        return fact->seen.kind == NKI_SEEN_REGISTER;
    const struct nki_node *value = node->kind == NKI_NAME ? migrate_value_of(m, node) : NULL;
    return value && migrate_calls(m, value, "nisa.register_alloc");
}
