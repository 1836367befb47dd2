/* SPDX-License-Identifier: Apache-2.0 */
/* query: a profile and a session as tables that answer SQL. Names of tables and columns are those
 * of neuron-explorer where it has them; tables.def has them all. Nothing is copied: SQLite reads
 * the rows where the device model left them. Nothing can be written, and a question ends at its
 * limits of time and memory. */
#ifndef HONE_QUERY_QUERY_H
#define HONE_QUERY_QUERY_H

#include <stdio.h>

#include "base/base.h"
#include "device/device.h"
#include "nki/nki.h"

/* ---- the tables ----------------------------------------------------------------------------- */

/* Who has the rows of a table: they are only made when a question reads one of its tables. */
enum query_part { QUERY_PROFILE, QUERY_SESSION, QUERY_PARTS };
enum query_type { QUERY_NULL, QUERY_INT, QUERY_REAL, QUERY_TEXT };

struct query_column {
    const char *name;
    enum query_type type;
    const char *what; /* with its unit */
};
struct query_table {
    const char *name, *what;
    enum query_part part;
    const struct query_column *columns;
    size_t count;
};
/* Row by row of tables.def; NULL past the last. */
const struct query_table *query_table_at(size_t index);
/* By name, in any case; NULL when there is none. */
const struct query_table *query_table_find(const char *name);

/* A question that is ready to run. */
struct query_recipe {
    const char *name, *what, *sql;
};
const struct query_recipe *query_recipe_at(size_t index); /* NULL past the last */
const struct query_recipe *query_recipe_find(const char *name);

/* ---- what is asked -------------------------------------------------------------------------- */

/* A value; the text lives until the next one is read, or with the rows (`lasts`). */
struct query_value {
    enum query_type type;
    bool lasts;
    int64_t integer;
    double real;
    const char *text;
};

/* A profile of the device model. All that it points to must outlive the query. */
struct query_profile {
    const struct nki_program *program;
    const struct device_image *image;
    const struct device_profile *profile;
    const struct device_trace *trace;
    const struct device_generation *generation;
};

struct query;
/* Makes the rows of a part known: calls query_give_profile or query_give_row. */
typedef bool query_load_fn(void *data, struct query *query, enum query_part part, struct err *err);
/* `load` is called when a question first reads a table: for the whole profile at once, for those
 * tables of a session that query_wants. */
struct query *query_open(query_load_fn *load, void *data, struct err *err) CC_MUST_USE;
void query_close(struct query *query); /* accepts NULL */
void query_give_profile(struct query *query, const struct query_profile *profile);
/* Takes a profile that was measured, in the place of the model's: the summary as JSON that
 * neuron-explorer and neuron-profile print, the whole profile as their JSON, or the profile that
 * the runner made of it on its host. ERR_DAMAGED for another text. */
bool query_give_measured(struct query *query, struct str json, struct err *err) CC_MUST_USE;
/* The same of a folder of the tables that neuron-explorer writes (--output-format parquet), or of
 * one that has that folder somewhere in it. Damaged or environment error for what cannot be read.
 */
bool query_give_tables(struct query *query, const char *folder, struct err *err) CC_MUST_USE;
/* Whether a folder, or one in it, has a table that a profile cannot be without. */
bool query_has_tables(const char *folder);
/* Whether the rows of a table of QUERY_SESSION are asked for and not there yet. */
bool query_wants(const struct query *query, const struct query_table *table);
/* Adds a row to a table of QUERY_SESSION, as texts in the order of its columns (NULL: null). They
 * are copied; nothing is done where the table is not wanted. False when it has the most rows that
 * it may (QUERY_MOST_ROWS). */
#define QUERY_MOST_ROWS ((size_t)4000000)
bool query_give_row(struct query *query, const struct query_table *table,
                    const char *const *values);

/* What a question may use; 0: the default. */
#define QUERY_SECONDS 30.0
#define QUERY_BYTES ((int64_t)1 << 30)
struct query_limits {
    double seconds; /* of the wall clock, after the tables are there */
    int64_t bytes;  /* of memory that SQLite takes; of all queries of this process */
    /* Called when the question begins, with the seconds that it may take, and with 0 when it has
     * ended: a single call of a function of SQLite can take longer, and only the end of the process
     * stops that. May be NULL. */
    void (*clock)(double seconds);
};
struct query_answer {
    size_t count; /* columns */
    const char *const *names;
    const struct query_value *values;
};
/* Called for each row, and once before the first with values NULL. False ends the question. */
typedef bool query_row_fn(void *data, const struct query_answer *row);
/* Has the rows of a part made, once: before a question that must not fail for them. */
bool query_load(struct query *query, enum query_part part, struct err *err) CC_MUST_USE;
/* Runs one SELECT. Usage error for SQL that is wrong (with the names that come near a wrong one),
 * that would do anything but read, or that takes more than its limits; an error of `load` as it
 * is. */
bool query_run(struct query *query, const char *sql, const struct query_limits *limits,
               query_row_fn *row, void *data, struct err *err) CC_MUST_USE;

/* Reads a table from front to back, without SQL. */
bool query_read(struct query *query, const struct query_table *table, query_row_fn *row, void *data,
                struct err *err) CC_MUST_USE;

/* ---- profiles for other tools --------------------------------------------------------------- */

/* Writes the timeline as JSON of the Trace Event Format, which Perfetto's UI and chrome://tracing
 * open, piece by piece: a process for each core, a thread for each queue, several where transfers
 * overlap, because slices of a thread must nest. Arrows lead from what a queue waited for. */
bool query_write_perfetto(struct query *query, FILE *to, struct err *err) CC_MUST_USE;
/* Writes all tables of the parts that can be loaded into a new SQLite database; the profile must
 * be among them. `path` is new, or an empty file. */
bool query_write_sqlite(struct query *query, const char *path, struct err *err) CC_MUST_USE;
/* Writes all tables of the profile as one JSON object: for each its columns and its rows. */
bool query_write_json(struct query *query, FILE *to, struct err *err) CC_MUST_USE;
/* Appends a value as JSON: text is valid UTF-8 then, and what is not finite is null. */
void query_json_value(struct buf *out, const struct query_value *value);

#endif
