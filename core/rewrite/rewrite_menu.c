/* SPDX-License-Identifier: Apache-2.0 */
/* The menu: one row for each transformation, and how a chosen one becomes a new source. */
#include "rewrite/private.h"

#include <math.h>
#include <stdlib.h>

static const struct rewrite_row rows[] = {
#define ROW(id, title, pattern, edit, metric, direction, strategy) \
    {#id,                                                          \
     title,                                                        \
     pattern,                                                      \
     edit,                                                         \
     metric,                                                       \
     REWRITE_##direction,                                          \
     rewrite_find_##id,                                            \
     rewrite_apply_##id,                                           \
     strategy},
#include "rewrite/menu.def"
#undef ROW
};

static const struct rewrite_row *rewrite_row_find(struct str id) {
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (str_is(id, rows[i].id))
            return &rows[i];
    return NULL;
}

const char *rewrite_strategy(const char *key) {
    struct str rest = str_of(key), id = {0};
    const struct rewrite_row *row = str_next(&rest, ':', &id) ? rewrite_row_find(id) : NULL;
    return !row ? NULL : row->strategy ? row->strategy : row->id;
}

struct rewrite_site *rewrite_site_add(struct rewrite_model *model, const struct rewrite_row *row,
                                      struct nki_node *place) {
    struct rewrite_site *site = vec_push(&model->sites);
    *site = (struct rewrite_site){
        .row = row, .place = place, .title = row->title, .size = 0.1, .gain = 0.01};
    return site;
}

void rewrite_decline(struct rewrite_model *model, const struct rewrite_row *row,
                     const struct nki_node *place, const char *format, ...) {
    va_list args;
    va_start(args, format);
    struct buf text = {0};
    buf_vprintf(&text, format, args);
    va_end(args);
    *vec_push(&model->declined) =
        (struct rewrite_decline){row->id, place ? nki_place_of(model->tree, place->start).line : 0,
                                 arena_strndup(model->arena, text.at, text.len)};
    buf_free(&text);
}

double rewrite_share(const struct rewrite_model *model, const struct nki_node *node,
                     double unknown) {
    const struct rewrite_request *request = model->request;
    int first = nki_place_of(model->tree, node->start).line;
    int last = nki_place_of(model->tree, node->end).line;
    double share = 0;
    for (size_t i = 0; i < request->n_lines; i++)
        if (request->lines[i].line >= first && request->lines[i].line <= last)
            share += request->lines[i].share;
    return request->n_lines ? fmin(share, 1) : unknown;
}

static int by_gain(const void *a, const void *b) {
    const struct rewrite_site *left = a, *right = b;
    if (left->gain != right->gain)
        return left->gain < right->gain ? 1 : -1;
    return strcmp(left->key, right->key);
}

void rewrite_find_all(struct rewrite_model *model) {
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        rows[i].find(model, &rows[i]);
    if (model->sites.len)
        qsort(model->sites.at, model->sites.len, sizeof *model->sites.at, by_gain);
}

/* ---- applying ------------------------------------------------------------------------------- */

static const struct rewrite_site *find_site(struct rewrite_model *model, struct str key) {
    struct str id = key, rest = key;
    (void)str_next(&rest, ':', &id);
    const struct rewrite_row *row = rewrite_row_find(id);
    if (row)
        row->find(model, row);
    for (size_t i = 0; i < model->sites.len; i++) {
        struct str all = str_of(model->sites.at[i].key), first = all;
        if (str_next(&all, '+', &first) && str_equal(first, key))
            return &model->sites.at[i];
    }
    return NULL;
}

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
    const struct rewrite_site *site = find_site(model, key);
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
