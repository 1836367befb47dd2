/* SPDX-License-Identifier: Apache-2.0 */
/* What is computed with what: the roots are the arrays that stages put into HBM, and roots of one
 * domain that read the same arrays share a stage, so that those are read once. */
#include "write/private.h"

#define NEIGHBOURS 8 /* roots that one may share a stage with, as far as it is looked */
#define SHARED 6     /* results of a stage at most */

/* ---- roots ----------------------------------------------------------------------------------- */

static bool is_fusable_root(const struct writer *writer, int node) {
    return writer->values[node].is_root && rows_is_fusable(writer->graph->nodes[node].op->kind);
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

/* A stage computes what fits together; what does not becomes a stage before it. */
void write_choose_roots(struct writer *writer) {
    count_users(writer);
    for (int i = writer->graph->count; i-- > 0;) {
        if (!is_fusable_root(writer, i))
            continue;
        for (int cut; (cut = rows_conflict(writer, &i, 1)) >= 0;)
            writer->values[cut].is_root = true;
    }
    choose_leaders(writer);
}
