/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share. */
#ifndef HONE_QUERY_PRIVATE_H
#define HONE_QUERY_PRIVATE_H

#include <sqlite3.h>

#include "query/query.h"

/* A number for each table: TABLE_INSTRUCTION; for each column: INSTRUCTION_opcode. */
enum table_id {
#define COLUMN(...)
#define TABLE(id, ...) TABLE_##id,
#include "query/tables.def"
#undef TABLE
    TABLE_COUNT
};
#undef COLUMN
#define COLUMN(id, name, ...) id##_##name,
#define TABLE(id, name, part, what, columns) enum { columns id##_COLUMNS };
#include "query/tables.def"
#undef TABLE
#undef COLUMN

/* ---- rows of a profile ---------------------------------------------------------------------- */

/* What is found once, so that a cell is read at once. */
struct interval {
    uint16_t queue;
    double start_ns, end_ns;
};
struct call {
    uint32_t loc, op, times;
    double first_ns, last_ns, busy_ns;
};
struct rows {
    struct query_profile from;
    VEC(uint32_t) transfers;      /* events */
    VEC(struct interval) actives; /* by queue, then start; the queue names engine and core */
    VEC(struct call) calls;
    VEC(uint32_t) tensors; /* storages in HBM */
    VEC(char *) warnings;
    struct arena *arena;
    const char **places; /* per place of the program: "kernel.py:12"; NULL: not asked for yet */
    struct buf text;     /* of the cell that was read last */
};
/* Takes a profile; the rows are empty before. */
void query_rows_take(struct rows *rows, const struct query_profile *profile);
void query_rows_free(struct rows *rows);
/* A metric of the profile; NAN where it has none of that name. */
double query_rows_metric(const struct rows *rows, const char *name);
size_t query_rows_count(const struct rows *rows, enum table_id table);
void query_rows_cell(struct rows *rows, enum table_id table, size_t row, int column,
                     struct query_value *value);

/* ---- rows of a session ---------------------------------------------------------------------- */

struct kept {
    VEC(struct query_value) cells;
    size_t rows;
};

/* ---- the query ------------------------------------------------------------------------------ */

struct source; /* vtab.c: what SQLite knows a table by */
struct query {
    sqlite3 *db;
    query_load_fn *load;
    void *data;
    struct rows rows;
    struct kept kept[TABLE_COUNT];
    struct arena *arena; /* texts of sessions */
    struct text_pool *texts;
    bool loaded[QUERY_PARTS], wanted[QUERY_PARTS];
    struct source *sources[TABLE_COUNT];
    uint64_t deadline_ns; /* 0: none */
    bool is_over;         /* the deadline has passed */
};
size_t table_rows(const struct query *query, enum table_id table);
void table_cell(struct query *query, enum table_id table, size_t row, int column,
                struct query_value *value);
/* Has the rows of a part made, once. */
bool query_load_part(struct query *query, enum query_part part, struct err *err) CC_MUST_USE;
/* Whether the question has used up its time. */
bool query_late(struct query *query);

/* vtab.c: makes the tables known to the query's database. */
bool vtab_register(struct query *query, struct err *err) CC_MUST_USE;
/* What indices were made of rows that change now. */
void vtab_forget(struct query *query, enum query_part part);
void vtab_free(struct query *query);

/* functions.c: what SQLite does not have: median(x), stdev(x). */
bool functions_register(sqlite3 *db, struct err *err) CC_MUST_USE;

#endif
