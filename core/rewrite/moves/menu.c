/* SPDX-License-Identifier: Apache-2.0 */
/* The menu: one row for each transformation, and where a kernel has a place for one. */
#include "rewrite/moves/private.h"

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
#include "rewrite/moves/menu.def"
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
    if (str_starts(rest, REWRITE_ANEW))
        return "anew";
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

const struct rewrite_site *rewrite_site_find(struct rewrite_model *model, struct str key) {
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
