/* SPDX-License-Identifier: Apache-2.0 */
/* What is computed with what: the roots are the arrays that stages put into HBM, and roots of one
 * domain that read the same arrays share a stage, so that those are read once. And which of a
 * stage's tiles lie in PSUM. */
#include "write/rows.h"

#define NEIGHBOURS 8 /* roots that one may share a stage with, as far as it is looked */
#define SHARED 6     /* results of a stage at most */

/* ---- roots ----------------------------------------------------------------------------------- */

static bool is_fusable_root(const struct writer *writer, int node) {
    return writer->values[node].is_root && rows_is_fusable(writer->graph->nodes[node].op->kind);
}

static bool is_spread(const struct graph *graph, int node) {
    const struct graph_node *row = &graph->nodes[node];
    return strcmp(row->name, "copy") == 0 && row->in_count == 1 &&
           graph->nodes[row->in[0]].op->kind == GRAPH_BROADCAST;
}

static void count_users(struct writer *writer) {
    const struct graph *graph = writer->graph;
    for (int i = 0; i < graph->count; i++)
        for (int k = 0; k < graph->nodes[i].in_count; k++) {
            struct value *value = &writer->values[graph->nodes[i].in[k]];
            bool again = value->users && value->only_user == i;
            value->users += !again;
            value->only_user = i;
            bool begins = graph->nodes[i].op->kind == GRAPH_RECURRENCE && k == 2;
            value->is_root |= begins || !rows_is_fusable(graph->nodes[i].op->kind);
            /* graph_divide_sums: what is the same within a short dimension lies in memory so. */
            value->is_root |= is_spread(graph, graph->nodes[i].in[k]);
        }
    for (int i = 0; i < graph->output_count; i++) {
        writer->values[graph->outputs[i]].is_root = true;
        writer->values[graph->outputs[i]].users++;
    }
}

static bool reads(const struct graph_node *row, int node) {
    for (int i = 0; i < row->in_count; i++)
        if (row->in[i] == node)
            return true;
    return false;
}

/* Something between the two needs the first one's array, so it cannot wait for the second. */
static bool is_needed_before(struct writer *writer, int first, int second) {
    for (int i = first + 1; i < second; i++) {
        const struct graph_node *row = &writer->graph->nodes[i];
        bool is_mate = writer->values[i].leader == second;
        if (!rows_is_fusable(row->op->kind)
                ? reads(row, first)
                : writer->values[i].is_root && !is_mate && rows_reads(writer, i, first))
            return true;
    }
    return false;
}

int write_mates(const struct writer *writer, int leader, int *mates) {
    int count = 0;
    for (int i = 0; i <= leader && count < WRITE_MAX_MATES; i++)
        if (is_fusable_root(writer, i) && writer->values[i].leader == leader)
            mates[count++] = i;
    return count;
}

/* Joins a root to the last one of a later stage, where that one can compute both. */
static bool join(struct writer *writer, int first, int leader) {
    int mates[WRITE_MAX_MATES + 1] = {first};
    int count = 1 + write_mates(writer, leader, mates + 1);
    if (count > SHARED || !rows_share(writer, first, leader) ||
        is_needed_before(writer, first, leader) || !rows_can_share(writer, mates, count))
        return false;
    writer->values[first].leader = leader;
    return true;
}

static void choose_leaders(struct writer *writer) {
    int count = writer->graph->count;
    for (int i = 0; i < count; i++)
        writer->values[i].leader = i;
    for (int i = count; i-- > 0;) {
        int looked = 0;
        for (int k = i + 1; is_fusable_root(writer, i) && k < count && looked < NEIGHBOURS; k++) {
            if (!is_fusable_root(writer, k) || writer->values[k].leader != k)
                continue;
            looked++;
            if (join(writer, i, k))
                break;
        }
    }
}

/* ---- upright sums ---------------------------------------------------------------------------- */

#define LEAST_SUMMED 64 /* rows that are worth it */
#define LEAST_APART 8   /* columns, */
#define MOST_APART 1024 /* which have to fit into a tile */
#define DEEPEST_SOURCE 24

/* Whether what a node is made of lies in order, and no product or scan makes it. */
static bool lies_in_order(const struct graph *graph, int node, int depth) {
    const struct graph_node *row = &graph->nodes[node];
    enum graph_kind kind = row->op->kind;
    if (!rows_is_fusable(kind))
        return kind == GRAPH_INPUT || kind == GRAPH_UPDATE || kind == GRAPH_TAPS ||
               kind == GRAPH_CONCATENATE || kind == GRAPH_CONSTANT ||
               ((kind == GRAPH_RESHAPE || kind == GRAPH_SLICE || kind == GRAPH_BROADCAST) &&
                depth && lies_in_order(graph, row->in[0], depth - 1));
    if (kind == GRAPH_REDUCE)
        return true;
    bool fits = depth && kind != GRAPH_SCAN && kind != GRAPH_RECURRENCE;
    for (int i = 0; fits && i < row->in_count; i++)
        fits = lies_in_order(graph, row->in[i], depth - 1);
    return fits;
}

/* A sum over dimensions around the last ones, whose elements lie side by side: rows of those lie on
 * the partitions as they are. */
static bool may_be_upright(const struct writer *w, int node) {
    const struct graph_node *row = &w->graph->nodes[node];
    if (row->op->kind != GRAPH_REDUCE || strcmp(row->op->alu, "add") || w->apart[node] ||
        !row->dtype || strcmp(row->dtype, "float32"))
        return false;
    const struct graph_node *of = &w->graph->nodes[row->in[0]];
    int64_t inner = 1, summed = 1;
    bool inside = true;
    for (int d = of->ndim; d-- > 0;) {
        bool reduced = rows_axes(w, node) >> (of->ndim - 1 - d) & 1;
        inside &= !reduced;
        inner *= inside ? of->shape[d] : 1;
        summed *= reduced ? of->shape[d] : 1;
    }
    return of->ndim == row->ndim && of->dtype && !strcmp(of->dtype, "float32") &&
           summed >= LEAST_SUMMED && inner >= LEAST_APART && inner <= MOST_APART &&
           lies_in_order(w->graph, row->in[0], DEEPEST_SOURCE);
}

static void choose_upright(struct writer *writer) {
    static const int64_t values[] = {1, 0};
    for (int i = 0; i < writer->graph->count; i++)
        if (writer->values[i].users && may_be_upright(writer, i) &&
            write_choose(writer, i, "upright",
                         "rows that are summed up: lie on the partitions as they are (1), columns "
                         "do (0)",
                         values, 2))
            writer->values[i].is_upright = writer->values[i].is_root = true;
}

/* ---- roots that share a stage ---------------------------------------------------------------- */

/* A stage computes what fits together; what does not becomes a stage before it. */
void write_choose_roots(struct writer *writer) {
    count_users(writer);
    choose_upright(writer);
    for (int i = writer->graph->count; i-- > 0;) {
        if (!is_fusable_root(writer, i))
            continue;
        for (int cut; (cut = rows_conflict(writer, &i, 1)) >= 0;)
            writer->values[cut].is_root = true;
    }
    choose_leaders(writer);
}

/* ---- tiles in PSUM --------------------------------------------------------------------------- */

#define MOST_BYTES 12288 /* of a partition; what is brought to PSUM has the rest */

/* Whether an instruction reads something beside a node that is as wide. */
static bool is_pair(const struct rows *rows, const struct graph_node *row, int node) {
    if (row->op->kind != GRAPH_BINARY || row->in[0] == row->in[1] || !reads(row, node))
        return false;
    int other = row->in[row->in[0] == node];
    const struct graph_node *with = &rows->writer->graph->nodes[other];
    return !rows->writer->values[other].has_number && with->op->kind != GRAPH_REDUCE &&
           !rows->tiles[other].narrow;
}

/* GpSimd, which takes powers, does not reach PSUM, and no instruction reads two tiles there. */
static bool may_not_read(const struct rows *rows, const struct graph_node *row, int node) {
    bool beside = false;
    for (int i = 0; i < row->in_count; i++)
        beside |= row->in[i] != node && rows->tiles[row->in[i]].in_psum;
    return reads(row, node) && (beside || (row->op->alu && strcmp(row->op->alu, "power") == 0));
}

static bool is_pair_of_any(const struct rows *rows, int node) {
    bool pairs = false;
    for (size_t i = 0; i < rows->nodes.len; i++) {
        const struct graph_node *row = &rows->writer->graph->nodes[rows->nodes.at[i]];
        if (may_not_read(rows, row, node))
            return false;
        pairs |= is_pair(rows, row, node);
    }
    return pairs;
}

/* Products have PSUM for themselves. */
static bool makes_products(const struct rows *rows) {
    bool makes = false;
    for (size_t i = 0; i < rows->leaves.len; i++)
        makes |= rows->leaves.at[i].product != NULL;
    return makes;
}

/* Vector of trn1 takes two cycles for an element of two tiles in SBUF, and one where one of them is
 * in PSUM (tensor_tensor, neuronxcc.nki.isa 2.26). */
bool rows_wants_psum(struct rows *rows, int node) {
    static const int64_t values[] = {0, 1};
    const struct writer *w = rows->writer;
    int64_t wide = rows_column_elements(rows);
    if (rows->in_chunks)
        wide = MIN_OF(wide, rows->chunk);
    if (!w->spec->is_trn1 || rows->is_nested || rows_has_root(rows, node) || wide < 2 ||
        strcmp(w->graph->nodes[node].dtype, "float32") || makes_products(rows) ||
        rows->psum_bytes + wide * 4 > MOST_BYTES || !is_pair_of_any(rows, node) ||
        !write_choose(
            rows->writer, node, "lies",
            "a tile that Vector reads beside another one: lies in SBUF (0), lies in PSUM (1)",
            values, 2))
        return false;
    rows->psum_bytes += wide * 4;
    return true;
}
