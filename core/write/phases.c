/* SPDX-License-Identifier: Apache-2.0 */
/* A stage over tiles of rows in two phases: the next tile is begun before this one is done with. */
#include "write/rows.h"

static struct side *partition_side(struct rows *rows) {
    for (int s = 0; s < rows->side_count; s++)
        if (rows->sides[s].role == SIDE_PARTITION)
            return &rows->sides[s];
    return NULL;
}

/* The nodes up to a reduction, which is the one after `from` others; 0: there is none. */
static size_t up_to_reduction(const struct rows *rows, size_t from) {
    for (size_t i = from; i < rows->nodes.len; i++)
        if (rows->writer->graph->nodes[rows->nodes.at[i]].op->kind == GRAPH_REDUCE)
            return i + 1;
    return 0;
}

/* The nodes of the first phase: a reduction, and what is only told to those who read its rows, so
 * that no engine finds that at the end of a long queue. */
static size_t first_phase(const struct rows *rows) {
    size_t end = up_to_reduction(rows, 0);
    for (; end && end < rows->nodes.len; end++) {
        const struct graph_node *row = &rows->writer->graph->nodes[rows->nodes.at[end]];
        int reduced = rows->nodes.at[up_to_reduction(rows, 0) - 1];
        bool moves = row->op->kind == GRAPH_BINARY &&
                     (!strcmp(row->op->alu, "subtract") || !strcmp(row->op->alu, "add"));
        if (!moves || (row->in[0] != reduced && row->in[1] != reduced) ||
            rows_has_root(rows, rows->nodes.at[end]))
            break;
    }
    return end;
}

/* Whether the next tile of rows is begun before this one is done with. Engines take their
 * instructions in order: of two reductions with work between them, as a softmax has, the first one
 * of a tile would wait for all that the other engines still do with the tile before. */
bool rows_has_phases(struct rows *rows) {
    static const int64_t values[] = {1, 0};
    const struct side *side = partition_side(rows);
    bool makes = false;
    for (size_t i = 0; i < rows->leaves.len; i++)
        makes |= rows->leaves.at[i].product != NULL;
    size_t first = first_phase(rows);
    return makes && !rows->in_chunks && side && side->n > PARTITIONS && first &&
           up_to_reduction(rows, first) &&
           write_choose(
               rows->writer, rows->roots[rows->root_count - 1], "phases",
               "the next tile of rows: is begun before this one is done with (1), waits for it (0)",
               values, 2);
}

/* What the first phase made is called "now_" later on: its names are those of the next tile then.
 */
static void rename_tiles(struct rows *rows, const struct tile *before) {
    struct buf said = {0};
    for (int i = 0; i < rows->writer->graph->count; i++) {
        struct tile *tile = &rows->tiles[i];
        const char **names[] = {&tile->name, &tile->by, &tile->plus};
        bool made = tile->name != before[i].name;
        for (size_t k = 0; k < COUNT_OF(names) && made; k++) {
            if (!*names[k])
                continue;
            const char *now = arena_printf(rows->writer->arena, "now_%s", *names[k]);
            const char *line = arena_printf(rows->writer->arena, "%s = %s\n", now, *names[k]);
            if (!said.at || !strstr(said.at, line))
                write_line(rows->writer, "%s = %s", now, *names[k]);
            buf_puts(&said, line);
            *names[k] = now;
        }
    }
    buf_free(&said);
}

/* How far the stage was printed, and on which tile. */
struct progress {
    struct tile *tiles;
    int helpers;
    size_t either_met;
    const char *variable, *count;
};

static void change_places(struct rows *rows, struct progress *other) {
    struct side *side = partition_side(rows);
    struct progress here = {rows->tiles, rows->helpers, rows->either_met, side->variable,
                            rows->count};
    rows->tiles = other->tiles;
    rows->helpers = other->helpers;
    rows->either_met = other->either_met;
    side->variable = other->variable;
    rows->count = other->count;
    *other = here;
}

/* Begins the part of the loop that is for the next tile. */
static void open_next(struct rows *rows, struct progress *other, const char *why) {
    write_line(rows->writer, "if ahead < %lld:  # %s", (long long)partition_side(rows)->n, why);
    rows->writer->indent++;
    change_places(rows, other);
}

static void close_next(struct rows *rows, struct progress *other) {
    rows->writer->indent--;
    change_places(rows, other);
}

/* The loop over rows once its first tile is begun. */
static bool emit_steady(struct rows *rows, struct progress next, int results) {
    struct writer *w = rows->writer;
    size_t first = first_phase(rows), second = up_to_reduction(rows, first);
    const struct side *side = partition_side(rows);
    size_t either = rows->either.len;
    struct busy busy = rows->busy;
    int again = 0;
    next.variable = "ahead";
    next.count = side->n % PARTITIONS ? "coming" : rows->count;
    rows_open_tiles(rows);
    rename_tiles(rows, next.tiles);
    write_line(w, "ahead = r + %d", PARTITIONS);
    open_next(rows, &next, "the next tile comes while this one is worked on");
    if (side->n % PARTITIONS)
        write_line(w, "coming = min(%d, %lld - ahead)", PARTITIONS, (long long)side->n);
    rows_load(rows);
    close_next(rows, &next);
    rows->busy = busy;
    bool ok = rows_compute_nodes(rows, first, second, &results);
    busy = rows->busy;
    size_t met = rows->either.len;
    open_next(rows, &next, "and is reduced before this one ends");
    ok = ok && rows_compute_nodes(rows, 0, first, &again);
    close_next(rows, &next);
    rows->busy = busy; /* all this was counted with the first tile */
    rows->either.len = rows->on_scalar ? either : met;
    return ok && rows_compute_nodes(rows, second, rows->nodes.len, &results);
}

/* The first tile, and the loop. */
bool rows_emit_phases(struct rows *rows) {
    size_t count = (size_t)rows->writer->graph->count + 1;
    struct progress next = {.tiles = ARENA_ARRAY(rows->writer->arena, struct tile, count),
                            .helpers = rows->helpers,
                            .either_met = rows->either_met};
    int results = 0;
    rows_open_chunks(rows);
    rows->count = arena_printf(rows->writer->arena, "%d", PARTITIONS);
    memcpy(next.tiles, rows->tiles, count * sizeof *next.tiles);
    rows_load(rows);
    return rows_compute_nodes(rows, 0, first_phase(rows), &results) &&
           emit_steady(rows, next, results);
}
