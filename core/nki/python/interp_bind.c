/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures of natives, such as "dst, src, *, engine=None". Each is parsed once; then calls are
 * bound to it by position and keyword. Default values are the native's own business. */
#include "nki/python/inner.h"

#include <stdlib.h>

#define MAX_PARAMS 64
#define SIGNATURE_SLOTS 1024 /* more than there are natives */

struct parameter {
    struct str name;
    bool optional, keyword_only, star, double_star;
};
struct signature {
    size_t n;
    struct parameter params[MAX_PARAMS];
};

static const struct signature *parse(struct interp *in, struct str text) {
    struct signature *signature = ARENA_NEW(in->heap, struct signature);
    bool keyword_only = false;
    struct str part;
    while (str_next(&text, ',', &part)) {
        part = str_trim(part);
        struct parameter p = {.keyword_only = keyword_only};
        if (part.len == 1 && part.at[0] == '*') {
            keyword_only = true;
            continue;
        }
        if (part.len == 0 || part.at[0] == '/')
            continue;
        p.double_star = str_starts(part, "**");
        p.star = !p.double_star && part.at[0] == '*';
        size_t skip = p.double_star ? 2 : p.star;
        const char *equals = memchr(part.at, '=', part.len);
        p.optional = equals || skip;
        p.name = str_trim(
            (struct str){part.at + skip, (equals ? (size_t)(equals - part.at) : part.len) - skip});
        keyword_only |= p.star;
        if (signature->n == MAX_PARAMS)
            HONE_BUG("a signature with too many parameters");
        signature->params[signature->n++] = p;
    }
    return signature;
}

const struct signature *interp_signature(struct interp *in, const char *text) {
    if (!in->signatures)
        in->signatures = mem_alloc(SIGNATURE_SLOTS, sizeof *in->signatures);
    size_t at = ((uintptr_t)text * 0x9e3779b97f4a7c15ULL >> 32) % SIGNATURE_SLOTS;
    for (size_t tries = 0; tries < SIGNATURE_SLOTS; tries++, at = (at + 1) % SIGNATURE_SLOTS) {
        struct signature_slot *slot = &in->signatures[at];
        if (slot->text == text)
            return slot->signature;
        if (slot->text)
            continue;
        *slot = (struct signature_slot){text, parse(in, str_of(text))};
        return slot->signature;
    }
    return parse(in, str_of(text));
}

size_t signature_count(const struct signature *signature) {
    return signature->n;
}

/* The search starts at `likely`, because keywords mostly come in the signature's order. */
static int signature_find(const struct signature *signature, struct str name, size_t likely) {
    for (size_t i = 0, k = likely; i < signature->n; i++, k++) {
        k = k < signature->n ? k : 0;
        if (str_equal(signature->params[k].name, name))
            return (int)k;
    }
    return -1;
}

struct str signature_name(const struct signature *signature, size_t k) {
    return signature->params[k].name;
}

/* The function of the call as the kernel writes it, for messages. */
static struct str call_name(struct interp *in, const struct call *call) {
    if (!call->node || call->node->kind != NKI_CALL)
        return STR("this call");
    struct str text = nki_node_text(in->frame->unit->tree, call->node->call.func);
    return (struct str){text.at, MIN_OF(text.len, (size_t)80)};
}

static bool bind_positional(struct interp *in, const struct call *call, const struct signature *s,
                            struct value *values, bool *given) {
    size_t k = 0;
    for (size_t i = 0; i < call->n_args; i++, k++) {
        if (k < s->n && s->params[k].star) {
            values[k] = value_tuple(in, call->args + i, call->n_args - i);
            given[k] = true;
            return true;
        }
        if (k >= s->n || s->params[k].keyword_only || s->params[k].double_star)
            return interp_error(in, call->node, "TypeError",
                                STR_FMT " takes %zu positional argument%s, %zu %s given",
                                STR_ARG(call_name(in, call)), k, PLURAL(k), call->n_args,
                                call->n_args == 1 ? "is" : "are");
        values[k] = call->args[i];
        given[k] = true;
    }
    return true;
}

static bool unknown_keyword(struct interp *in, const struct call *call, const struct signature *s,
                            struct str name) {
    struct buf known = {0};
    for (size_t k = 0; k < s->n; k++)
        buf_printf(&known, "%s" STR_FMT, k ? ", " : "", STR_ARG(s->params[k].name));
    interp_error(in, call->node, "TypeError", STR_FMT " has no parameter '" STR_FMT "'; it has %s",
                 STR_ARG(call_name(in, call)), STR_ARG(name), known.at ? known.at : "none");
    buf_free(&known);
    return false;
}

/* The values of the present call. */
struct bound {
    struct value *values;
    bool *given;
    size_t likely; /* the parameter after the last one that was named */
};

static bool bind_keyword(struct interp *in, const struct call *call, const struct signature *s,
                         const struct value_keyword *keyword, struct bound *bound) {
    struct value *values = bound->values;
    bool *given = bound->given;
    int k = signature_find(s, keyword->name, bound->likely);
    if (k < 0 && s->n && s->params[s->n - 1].double_star) {
        size_t last = s->n - 1;
        if (!given[last])
            values[last] = value_new_dict(in);
        given[last] = true;
        value_dict_put(in, values[last].dict,
                       (struct value){.kind = VALUE_STR, .str = interp_intern(in, keyword->name)},
                       keyword->value);
        return true;
    }
    if (k < 0)
        return unknown_keyword(in, call, s, keyword->name);
    if (given[k])
        return interp_error(in, call->node, "TypeError",
                            STR_FMT ": argument '" STR_FMT "' is given twice",
                            STR_ARG(call_name(in, call)), STR_ARG(keyword->name));
    values[k] = keyword->value;
    given[k] = true;
    bound->likely = (size_t)k + 1;
    return true;
}

bool interp_bind(struct interp *in, const struct call *call, const struct signature *signature,
                 struct value *values, bool *given) {
    for (size_t k = 0; k < signature->n; k++) {
        values[k] = NONE_VALUE;
        given[k] = false;
    }
    if (!bind_positional(in, call, signature, values, given))
        return false;
    struct bound bound = {values, given, call->n_args};
    for (size_t i = 0; i < call->n_keywords; i++)
        if (!bind_keyword(in, call, signature, &call->keywords[i], &bound))
            return false;
    for (size_t k = 0; k < signature->n; k++)
        if (!given[k] && !signature->params[k].optional)
            return interp_error(in, call->node, "TypeError",
                                STR_FMT ": argument '" STR_FMT "' is missing",
                                STR_ARG(call_name(in, call)), STR_ARG(signature->params[k].name));
    return true;
}
