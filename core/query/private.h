/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share. */
#ifndef HONE_QUERY_PRIVATE_H
#define HONE_QUERY_PRIVATE_H

#include <math.h>
#include <sqlite3.h>

#include "query/query.h"

struct cJSON;

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
    const char **places;  /* per place of the program: "kernel.py:12"; NULL: not asked for yet */
    const char **opcodes; /* per operation: "ACTIVATION"; NULL: not asked for yet */
    struct buf text;      /* of the cell that was read last */
};
/* Takes a profile; the rows are empty before. */
void query_rows_take(struct rows *rows, const struct query_profile *profile);
void query_rows_free(struct rows *rows);
/* A metric of the profile; NAN where it has none of that name. */
double query_rows_metric(const struct rows *rows, const char *name);
size_t query_rows_count(const struct rows *rows, enum table_id table);
void query_rows_cell(struct rows *rows, enum table_id table, size_t row, int column,
                     struct query_value *value);
/* A cell of Metadata that tells of the hardware; others stay as they are. */
void query_hardware_cell(const struct device_generation *generation, int cores, int column,
                         struct query_value *value);

/* ---- cells ---------------------------------------------------------------------------------- */

static inline void put_int(struct query_value *value, int64_t integer) {
    value->type = QUERY_INT;
    value->integer = integer;
}

static inline void put_real(struct query_value *value, double real) {
    value->type = isfinite(real) ? QUERY_REAL : QUERY_NULL;
    value->real = real;
}

/* A text that is there as long as the rows are. */
static inline void put_text(struct query_value *value, const char *text) {
    value->type = text ? QUERY_TEXT : QUERY_NULL;
    value->text = text;
    value->lasts = true;
}

/* A text that was made for this cell. */
static inline void put_made(struct query_value *value, const char *text) {
    put_text(value, text);
    value->lasts = false;
}

/* ---- rows of a profile from a device -------------------------------------------------------- */

struct measured_metric {
    const char *name, *unit;
    double value;
};
struct measured_line {
    const char *file;
    int64_t line, instructions, hbm_bytes;
    double share, engine_ns[5]; /* Tensor, Vector, Scalar, GpSimd, DMA */
};
struct measured_bound {
    const char *name;
    double busy_us, without_us;
};
struct measured_span {
    const char *opcode, *operands, *place, *file;  /* NULL: not told */
    int64_t line, number, read_bytes, write_bytes; /* -1: not told */
    double start_ns, end_ns, waited_ns, flops;     /* NAN: not told */
    const char *name, *kind;                       /* bir_id, tensor_instruction_type; NULL */
    uint32_t lane;                                 /* of measured_lanes */
    uint32_t move;                                 /* 1 and on: of moves; 0: none */
};
struct measured_move { /* what only tables tell of a transfer */
    const char *variable, *source, *dest;
    int64_t bytes, read_partitions, write_partitions, transposes;
};
struct measured_packet {
    double start_ns, end_ns;
    const char *queue_type;
    int64_t bytes;
};
struct measured_tensor {
    const char *name, *type, *dtype, *shape;
    int64_t bytes;
};
struct stretch {
    uint32_t lane; /* that of one way of the DMA stands for both */
    double start_ns, end_ns;
};
/* What tools wrote of a run on a device. Texts are in the arena. */
struct measured {
    struct arena *arena;
    struct text_pool *texts;
    const char *kernel, *device, *source, *bound, *floor_bound; /* NULL: not told */
    double latency_us, floor_us;                                /* NAN: not told */
    VEC(struct measured_metric) metrics;
    VEC(struct measured_line) lines;
    VEC(struct measured_bound) bounds;
    VEC(struct measured_span) spans; /* by start */
    VEC(uint32_t) transfers;         /* spans */
    VEC(struct stretch) actives;
    VEC(struct measured_move) moves;
    VEC(struct measured_packet) packets; /* none: transfers stand for them */
    VEC(struct measured_tensor) tensors;
    VEC(struct measured_metric) hardware; /* of Metadata, by its columns' names */
    VEC(const char *) warnings;
    struct buf text; /* of the cell that was read last */
};
enum { MEASURED_LANES = 7, MEASURED_DMA_IN = 4, MEASURED_DMA_OUT = 5 };
extern const char *const measured_lanes[MEASURED_LANES];
/* NULL and *err (damaged) where the text is none of the formats. */
struct measured *measured_read(struct str text, struct err *err) CC_MUST_USE;
void measured_free(struct measured *measured); /* accepts NULL */
void measured_warn(struct measured *measured, const char *format, ...) CC_PRINTF(2, 3);
struct measured *measured_new(void) CC_MUST_USE;
/* The lane of what the tools call an engine, by how the word begins. */
bool measured_lane(const char *word, uint32_t *lane);
/* Frames as text, from the outside in: the last one that is "file:line". */
void measured_place(struct measured *measured, struct measured_span *span, struct str frames);
/* Times become ns from the first of them; where that is not known to be their unit, it is the one
 * that fits the latency best. */
void measured_scale(struct measured *measured, bool is_ns);
/* Sorts the spans, and finds what the other tables have of them. */
void measured_end(struct measured *measured);
/* measured_tables.c: a folder of Parquet tables. NULL and *err where it has none, or they cannot be
 * read. */
struct measured *measured_tables(const char *folder, struct err *err) CC_MUST_USE;
/* measured_summary.c: takes the numbers of a summary. */
bool measured_is_summary(const struct cJSON *object);
void measured_summary(struct measured *measured, const struct cJSON *summary);
/* measured_cells.c */
size_t measured_rows(const struct measured *measured, enum table_id table);
void measured_cell(struct measured *measured, enum table_id table, size_t row, int column,
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
    struct measured *measured; /* in their place; NULL: none */
    struct kept kept[TABLE_COUNT];
    struct arena *arena; /* texts of sessions */
    struct text_pool *texts;
    bool loaded[TABLE_COUNT], wanted[TABLE_COUNT];
    struct source *sources[TABLE_COUNT];
    uint64_t deadline_ns; /* 0: none */
    bool is_over;         /* the deadline has passed */
};
size_t table_rows(const struct query *query, enum table_id table);
void table_cell(struct query *query, enum table_id table, size_t row, int column,
                struct query_value *value);
/* Whether the question has used up its time. */
bool query_late(struct query *query);

/* ---- group.c: rows in the order of columns -------------------------------------------------- */

#define GROUP_MOST 8
struct group_column {
    int column;
    bool descends;
};
struct group {
    struct group_column columns[GROUP_MOST];
    size_t count;
};
/* Whether rows can be had in the order of that column. */
bool group_may(const struct query_table *table, int column);
/* The rows of a table in that order, to be freed; NULL: the question's time is over. */
uint32_t *group_rows(struct query *query, enum table_id id, const struct group *group);

/* vtab.c: makes the tables known to the query's database. */
bool vtab_register(struct query *query, struct err *err) CC_MUST_USE;
/* What indices were made of rows that change now. */
void vtab_forget(struct query *query, enum query_part part);
/* Between two questions: lets go of what many have left. */
void vtab_trim(struct query *query);
void vtab_free(struct query *query);

/* functions.c: what SQLite does not have: median(x), stdev(x). */
bool functions_register(sqlite3 *db, struct err *err) CC_MUST_USE;

#endif
