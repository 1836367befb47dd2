/* SPDX-License-Identifier: Apache-2.0 */
/* A chosen edit, or a kernel written anew, becomes a new source. */
#include "rewrite/private.h"

/* What came out must parse and keep the limits, unless the kernel broke them before. */
static bool check(const struct rewrite_request *request, const struct rewrite_model *before,
                  const struct buf *out, struct err *err) {
    struct rewrite_request next = *request;
    next.source = buf_str(out);
    struct rewrite_model *after = rewrite_model_new(&next, err);
    if (!after)
        return false;
    const char *why = rewrite_why_illegal(before) ? NULL : rewrite_why_illegal(after);
    if (why)
        err_set(err, ERR_KERNEL, "%s", why);
    rewrite_model_free(after);
    return why == NULL;
}

static bool apply_one(const struct rewrite_request *request, struct str key, struct buf *out,
                      struct err *err) {
    struct rewrite_model *model = rewrite_model_new(request, err);
    if (!model)
        return false;
    struct nki_edits edits = {.tree = model->tree};
    const struct rewrite_site *site = rewrite_site_find(model, key);
    bool ok = site != NULL;
    if (!site)
        err_set(err, ERR_KERNEL, "the kernel has no place for \"" STR_FMT "\" any more",
                STR_ARG(key));
    else
        ok = site->row->apply(model, site, &edits, err) && nki_edits_apply(&edits, out, err) &&
             check(request, model, out, err);
    nki_edits_free(&edits);
    rewrite_model_free(model);
    return ok;
}

bool rewrite_apply(const struct rewrite_request *request, const char *key, struct buf *out,
                   struct err *err) {
    struct str rest = str_of(key), part;
    struct buf source = {0};
    struct rewrite_request step = *request;
    bool ok = true;
    if (str_starts(rest, REWRITE_ANEW))
        return rewrite_anew_apply(request, key, out, err);
    while (ok && str_next(&rest, '+', &part)) {
        struct buf next = {0};
        ok = apply_one(&step, part, &next, err);
        buf_free(&source);
        source = next;
        step.source = buf_str(&source);
        step.n_lines = 0; /* the profile is that of the first source */
    }
    if (ok)
        buf_add(out, source.at, source.len);
    buf_free(&source);
    return ok;
}
