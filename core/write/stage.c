/* SPDX-License-Identifier: Apache-2.0 */
/* What a stage over tiles of rows consists of: the nodes that it computes, the arrays that it
 * reads, and which results one stage can compute. */
#include "write/rows.h"

#include <stdlib.h>

bool rows_is_fusable(enum graph_kind kind) {
    return kind == GRAPH_UNARY || kind == GRAPH_BINARY || kind == GRAPH_CAST ||
           kind == GRAPH_WHERE || kind == GRAPH_REDUCE || kind == GRAPH_SCAN ||
           kind == GRAPH_RECURRENCE;
}

/* ---- what a stage consists of ---------------------------------------------------------------- */

static bool is_among(const int *roots, int count, int node) {
    for (int i = 0; i < count; i++)
        if (roots[i] == node)
            return true;
    return false;
}

bool rows_has_root(const struct rows *rows, int node) {
    return is_among(rows->roots, rows->root_count, node);
}

bool rows_is_scan(const struct rows *rows, int node) {
    enum graph_kind kind = rows->writer->graph->nodes[node].op->kind;
    return kind == GRAPH_SCAN || kind == GRAPH_RECURRENCE;
}

/* The dimensions that scans go along, of the first one; 0: there is none. */
static unsigned scanned(const struct rows *rows) {
    for (size_t i = 0; i < rows->nodes.len; i++)
        if (rows_is_scan(rows, rows->nodes.at[i]))
            return rows_axes(rows->writer, rows->nodes.at[i]);
    return 0;
}

bool rows_is_across(const struct rows *rows, int node) {
    unsigned scans = scanned(rows);
    return scans && rows_has_root(rows, node) &&
           rows->writer->graph->nodes[node].op->kind == GRAPH_REDUCE &&
           !(rows_axes(rows->writer, node) & scans);
}

bool rows_has_scans_only(const struct rows *rows) {
    for (size_t i = 0; i < rows->nodes.len; i++) {
        int node = rows->nodes.at[i];
        if (rows_axes(rows->writer, node) && !rows_is_scan(rows, node) &&
            !rows_is_across(rows, node))
            return false;
    }
    return scanned(rows);
}

/* Takes the dimensions that a node goes along into the stage's; false where those are others. */
static bool join_axes(struct rows *rows, int node) {
    unsigned axes = rows_axes(rows->writer, node);
    unsigned *all = rows_is_across(rows, node) ? &rows->across : &rows->columns;
    bool fits = !axes || !*all || axes == *all;
    *all |= axes;
    return fits;
}

static bool is_inner(const struct rows *rows, int node) {
    return rows_is_fusable(rows->writer->graph->nodes[node].op->kind) &&
           (rows_has_root(rows, node) || !rows->writer->values[node].is_root);
}

static int by_number(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

/* The nodes of a stage in order, and what they read. */
void rows_collect(struct rows *rows) {
    if (rows->is_copy) {
        *vec_push(&rows->leaves) = (struct leaf){.node = rows->roots[0]};
        return;
    }
    VEC(int) todo = {0};
    char *seen = mem_alloc((size_t)rows->writer->graph->count + 1, 1);
    for (int i = 0; i < rows->root_count; i++) {
        *vec_push(&todo) = rows->roots[i];
        seen[rows->roots[i]] = 1;
    }
    while (todo.len) {
        int node = todo.at[--todo.len];
        if (!is_inner(rows, node)) {
            *vec_push(&rows->leaves) = (struct leaf){.node = node};
            continue;
        }
        *vec_push(&rows->nodes) = node;
        const struct graph_node *row = &rows->writer->graph->nodes[node];
        for (int i = 0; i < row->in_count; i++)
            if (!seen[row->in[i]]) {
                seen[row->in[i]] = 1;
                *vec_push(&todo) = row->in[i];
            }
    }
    vec_free(&todo);
    free(seen);
    qsort(rows->nodes.at, rows->nodes.len, sizeof *rows->nodes.at, by_number);
}

void rows_free(struct rows *rows) {
    vec_free(&rows->leaves);
    vec_free(&rows->nodes);
    vec_free(&rows->either);
    free(rows->tiles);
    free(rows->plans);
}

/* Elements of a tile that hold a whole row, in SBUF's bytes. */
bool rows_fit(const struct rows *rows) {
    double elements = 1;
    for (int d = 0; d < rows->ndim; d++)
        if (rows->columns >> (rows->ndim - 1 - d) & 1)
            elements *= (double)rows->shape[d];
    double tiles = (double)(rows->nodes.len + rows->leaves.len + 2);
    return elements * 4 * tiles <= rows->writer->spec->sbuf_bytes * 0.9;
}

int rows_conflict(struct writer *writer, const int *roots, int count) {
    struct rows rows = {.writer = writer, .roots = roots, .root_count = count};
    rows_collect(&rows);
    int cut = -1;
    for (size_t i = rows.nodes.len; cut < 0 && i-- > 0;) {
        int node = rows.nodes.at[i];
        const struct graph_node *row = &writer->graph->nodes[node];
        bool reduces = row->op->kind == GRAPH_REDUCE;
        const struct graph_node *whole = reduces ? &writer->graph->nodes[row->in[0]] : row;
        bool fits = rows_join(&rows, whole);
        if (!join_axes(&rows, node) || !fits)
            cut = is_among(roots, count, node) ? row->in[0] : node;
    }
    /* A row that is too long is reduced piece by piece, in a stage of its own. */
    bool in_one = rows_fit(&rows) || rows_has_scans_only(&rows);
    for (size_t i = 0; cut < 0 && !in_one && i < rows.nodes.len; i++)
        if (rows_axes(writer, rows.nodes.at[i]) && !is_among(roots, count, rows.nodes.at[i]))
            cut = rows.nodes.at[i];
    if (cut >= 0 &&
        (!rows_is_fusable(writer->graph->nodes[cut].op->kind) || writer->values[cut].is_root))
        cut = -1;
    rows_free(&rows);
    return cut;
}

static bool has_leaf(const struct rows *rows, int node) {
    for (size_t i = 0; i < rows->leaves.len; i++)
        if (rows->leaves.at[i].node == node)
            return true;
    return false;
}

bool rows_reads(struct writer *writer, int root, int node) {
    struct rows rows = {.writer = writer, .roots = &root, .root_count = 1};
    rows_collect(&rows);
    bool reads = has_leaf(&rows, node);
    rows_free(&rows);
    return reads;
}

static bool has_node(const struct rows *rows, int node) {
    for (size_t i = 0; i < rows->nodes.len; i++)
        if (rows->nodes.at[i] == node)
            return true;
    return has_leaf(rows, node) && rows->writer->graph->nodes[node].op->kind != GRAPH_CONSTANT;
}

bool rows_overlap(struct writer *writer, int first, int second) {
    struct rows a = {.writer = writer, .roots = &first, .root_count = 1};
    struct rows b = {.writer = writer, .roots = &second, .root_count = 1};
    rows_collect(&a);
    rows_collect(&b);
    bool overlap = false;
    for (size_t i = 0; i < a.nodes.len; i++) /* but b may read what a makes */
        overlap |= a.nodes.at[i] != first && has_node(&b, a.nodes.at[i]);
    for (size_t i = 0; i < a.leaves.len; i++)
        overlap |= has_node(&b, a.leaves.at[i].node);
    rows_free(&a);
    rows_free(&b);
    return overlap;
}

static bool is_constant(const struct graph_node *node) {
    return node->op->kind == GRAPH_CONSTANT;
}

bool rows_share(struct writer *writer, int first, int second) {
    struct rows a = {.writer = writer, .roots = &first, .root_count = 1};
    struct rows b = {.writer = writer, .roots = &second, .root_count = 1};
    rows_collect(&a);
    rows_collect(&b);
    bool shares = has_leaf(&b, first);
    for (size_t i = 0; i < a.leaves.len; i++)
        shares |= !is_constant(&writer->graph->nodes[a.leaves.at[i].node]) &&
                  has_leaf(&b, a.leaves.at[i].node);
    rows_free(&a);
    rows_free(&b);
    return shares;
}

/* The shape of a stage's domain, and how many tiles it would hold at once. */
bool rows_measure(struct rows *rows) {
    bool ok = true;
    for (size_t i = 0; ok && i < rows->nodes.len; i++) {
        const struct graph_node *row = &rows->writer->graph->nodes[rows->nodes.at[i]];
        ok = join_axes(rows, rows->nodes.at[i]) && rows_join(rows, row) &&
             (row->op->kind != GRAPH_REDUCE ||
              rows_join(rows, &rows->writer->graph->nodes[row->in[0]]));
        for (int k = 0; k < row->in_count; k++) /* it is complete after the others only */
            ok = ok && !rows_is_across(rows, row->in[k]);
    }
    return ok;
}

/* What goes element by element may be computed where rows lie whole. */
static bool fits_domain(const struct rows *one, const struct rows *all) {
    return one->ndim == all->ndim && (one->columns == all->columns || !one->columns) &&
           memcmp(one->shape, all->shape, (size_t)one->ndim * sizeof *one->shape) == 0;
}

bool rows_can_share(struct writer *writer, const int *roots, int count) {
    struct rows all = {.writer = writer, .roots = roots, .root_count = count};
    rows_collect(&all);
    bool ok = rows_measure(&all) && (rows_fit(&all) || rows_has_scans_only(&all)) &&
              all.leaves.len + (size_t)count <= 12;
    for (int i = 0; ok && i < count; i++) {
        struct rows one = {.writer = writer, .roots = &roots[i], .root_count = 1};
        rows_collect(&one);
        ok = rows_measure(&one) && fits_domain(&one, &all);
        rows_free(&one);
    }
    rows_free(&all);
    return ok;
}
