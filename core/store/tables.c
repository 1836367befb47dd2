/* SPDX-License-Identifier: Apache-2.0 */
/* The schema, and the tables that are derived from the events for queries. Times are in
 * microseconds, shares are between 0 and 1, and metrics have Neuron's names and units. */
#include "store/private.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct table {
    const char *name;
    const char *columns; /* in the order of store_table_row's cells */
};
static const struct table tables[] = {
    {"attempts", "attempt INTEGER, parent INTEGER, round INTEGER, status TEXT, reason TEXT,"
                 "author TEXT, plan TEXT, hash TEXT, path TEXT, compiles TEXT, correct TEXT,"
                 "credible TEXT, faster TEXT, latency_us REAL, floor_us REAL, speedup REAL,"
                 "modelled INTEGER, instructions INTEGER"},
    {"samples", "attempt INTEGER, number INTEGER, us REAL, of_parent INTEGER"},
    {"seeds", "attempt INTEGER, seed INTEGER, rel_l2 REAL, passed TEXT"},
    {"metrics", "attempt INTEGER, name TEXT, value REAL, unit TEXT"},
    {"lines", "attempt INTEGER, line INTEGER, us REAL, share REAL, engine TEXT"},
};

/* Runs it in a transaction, which is rolled back when it fails. */
static bool exec_whole(struct store *store, struct buf *sql, const char *what, struct err *err) {
    bool ok = store_exec(store, sql->at, what, err);
    if (!ok && !sqlite3_get_autocommit(store->db))
        sqlite3_exec(store_db(store), "ROLLBACK", NULL, NULL, NULL);
    buf_free(sql);
    return ok;
}

/* These statements change nothing where all is there, so that the file stays as it is. They make
 * only what the events need, because what comes first in the file is all that is left when the file
 * is cut. */
bool store_schema_make(struct store *store, struct err *err) {
    struct buf sql = {0};
    buf_puts(&sql, "BEGIN IMMEDIATE;");
    if (store->is_new)
        buf_printf(&sql, "PRAGMA application_id=%d; PRAGMA user_version=%d;", STORE_APPLICATION_ID,
                   STORE_VERSION);
    buf_puts(&sql,
             "CREATE TABLE IF NOT EXISTS events(seq INTEGER PRIMARY KEY AUTOINCREMENT,"
             " wall_ms INTEGER NOT NULL, type TEXT NOT NULL, payload TEXT NOT NULL, hash BLOB);"
             "CREATE TABLE IF NOT EXISTS chain(id INTEGER PRIMARY KEY CHECK (id = 0),"
             " adopted INTEGER);"
             "COMMIT;");
    return exec_whole(store, &sql, "cannot make the session", err);
}

/* Adds the tables for queries, where they are missing: they come with the first attempt. */
static void tables_put(struct buf *sql) {
    buf_puts(sql, "CREATE TABLE IF NOT EXISTS derived(id INTEGER PRIMARY KEY CHECK (id = 0),"
                  " seq INTEGER);"
                  "CREATE TABLE IF NOT EXISTS derived_rows(id INTEGER PRIMARY KEY CHECK (id = 0),"
                  " bytes INTEGER);"
                  "CREATE TABLE IF NOT EXISTS sums(attempt INTEGER PRIMARY KEY, sum INTEGER);");
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        buf_printf(sql,
                   "CREATE TABLE IF NOT EXISTS %s(%s);"
                   "CREATE INDEX IF NOT EXISTS %s_attempt ON %s(attempt);",
                   tables[i].name, tables[i].columns, tables[i].name, tables[i].name);
}

bool store_tables_make(struct store *store, struct err *err) {
    struct buf sql = {0};
    buf_puts(&sql, "BEGIN IMMEDIATE;");
    tables_put(&sql);
    buf_puts(&sql, "COMMIT;");
    return exec_whole(store, &sql, "cannot store an attempt", err);
}

bool store_tables_clear(struct store *store, struct err *err) {
    struct buf sql = {0};
    buf_puts(&sql, "BEGIN IMMEDIATE;");
    tables_put(&sql);
    buf_puts(&sql, "DELETE FROM sums; DELETE FROM derived; DELETE FROM derived_rows;");
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        buf_printf(&sql, "DELETE FROM %s;", tables[i].name);
    buf_puts(&sql, "COMMIT;");
    bool ok = exec_whole(store, &sql, "cannot write the session", err);
    store->rows_bytes = ok ? -1 : store->rows_bytes;
    return ok;
}

/* ---------------------------------------------------------------------------- sums of the rows */

static void part_add(struct buf *out, char kind, const void *bytes, size_t size) {
    buf_putc(out, kind);
    buf_add(out, (const char *)&size, sizeof size);
    if (size)
        buf_add(out, bytes, size);
}

/* A sum does not depend on the order, because the tables keep none. */
static uint64_t row_sum(const char *table, const struct store_cell *cells, size_t count) {
    struct buf bytes = {0};
    part_add(&bytes, 't', table, strlen(table));
    for (size_t i = 0; i < count; i++) {
        const struct store_cell *cell = &cells[i];
        if (cell->is == STORE_INT)
            part_add(&bytes, 'i', &cell->integer, sizeof cell->integer);
        else if (cell->is == STORE_REAL && isfinite(cell->real))
            part_add(&bytes, 'r', &cell->real, sizeof cell->real);
        else if (cell->is == STORE_TEXT && cell->text)
            part_add(&bytes, 's', cell->text, strlen(cell->text));
        else
            part_add(&bytes, 'n', NULL, 0);
    }
    uint64_t sum = hash_quick(bytes.at, bytes.len);
    buf_free(&bytes);
    return sum;
}

static uint64_t stored_sum(const char *table, sqlite3_stmt *rows) {
    struct store_cell cells[40];
    size_t count = MIN_OF((size_t)sqlite3_column_count(rows), COUNT_OF(cells));
    for (size_t i = 0; i < count; i++) {
        cells[i] = (struct store_cell){.is = STORE_NULL};
        switch (sqlite3_column_type(rows, (int)i)) {
        case SQLITE_INTEGER:
            cells[i].is = STORE_INT;
            cells[i].integer = sqlite3_column_int64(rows, (int)i);
            break;
        case SQLITE_FLOAT:
            cells[i].is = STORE_REAL;
            cells[i].real = sqlite3_column_double(rows, (int)i);
            break;
        case SQLITE_TEXT:
            cells[i].is = STORE_TEXT;
            cells[i].text = (const char *)sqlite3_column_text(rows, (int)i);
            break;
        default: break; /* a blob is nothing that hone wrote */
        }
    }
    return row_sum(table, cells, count);
}

/* Adds up the rows of one attempt. */
static bool sum_read(sqlite3_stmt *const *of, int64_t attempt, uint64_t *sum) {
    int code = SQLITE_DONE;
    *sum = 0;
    for (size_t i = 0; code == SQLITE_DONE && i < COUNT_OF(tables); i++) {
        sqlite3_bind_int64(of[i], 1, attempt);
        while ((code = sqlite3_step(of[i])) == SQLITE_ROW)
            *sum += stored_sum(tables[i].name, of[i]);
        sqlite3_reset(of[i]);
    }
    return code == SQLITE_DONE;
}

/* Goes through the attempts that have a sum. False: at least one is not as it was written. */
static bool sums_compare(sqlite3_stmt *sums, sqlite3_stmt *const *of, int64_t *checked,
                         struct buf *what) {
    int code;
    while ((code = sqlite3_step(sums)) == SQLITE_ROW) {
        uint64_t sum = 0;
        int64_t attempt = sqlite3_column_int64(sums, 0);
        ++*checked;
        if (!sum_read(of, attempt, &sum) || sum != (uint64_t)sqlite3_column_int64(sums, 1)) {
            buf_printf(what, "the rows of attempt %lld are not as they were written",
                       (long long)attempt);
            return false;
        }
    }
    if (code != SQLITE_DONE)
        buf_printf(what, "the tables cannot be read (%s)", sqlite3_errstr(code));
    return code == SQLITE_DONE;
}

bool store_sums_check(sqlite3 *db, int64_t *checked, int64_t *unknown, struct buf *what) {
    static const char missing[] = "SELECT count(DISTINCT attempt) FROM attempts WHERE attempt NOT "
                                  "IN (SELECT attempt FROM sums)";
    sqlite3_stmt *sums = NULL, *lacks = NULL, *of[COUNT_OF(tables)] = {0};
    *checked = *unknown = 0;
    if (sqlite3_prepare_v2(db, "SELECT attempt, sum FROM sums", -1, &sums, NULL))
        return true; /* an older session has none */
    if (sqlite3_prepare_v2(db, missing, -1, &lacks, NULL) == SQLITE_OK &&
        sqlite3_step(lacks) == SQLITE_ROW)
        *unknown = sqlite3_column_int64(lacks, 0);
    sqlite3_finalize(lacks);
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        char sql[80];
        snprintf(sql, sizeof sql, "SELECT * FROM %s WHERE attempt = ?", tables[i].name);
        sqlite3_prepare_v2(db, sql, -1, &of[i], NULL); /* one that is NULL has no rows that fit */
    }
    bool same = sums_compare(sums, of, checked, what);
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        sqlite3_finalize(of[i]);
    sqlite3_finalize(sums);
    return same;
}

/* ------------------------------------------------------------------------------ writing them */

bool store_attempt_begin(struct store *store, int attempt, struct err *err) {
    struct buf sql = {0};
    if (!store_may_write(store, err))
        return false;
    store->sum = 0;
    store->attempt = attempt;
    buf_puts(&sql, "BEGIN IMMEDIATE;");
    tables_put(&sql);
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        buf_printf(&sql, "DELETE FROM %s WHERE attempt = %d;", tables[i].name, attempt);
    return exec_whole(store, &sql, "cannot store an attempt", err);
}

static void cell_bind(sqlite3_stmt *row, int place, const struct store_cell *cell) {
    switch (cell->is) {
    case STORE_INT: sqlite3_bind_int64(row, place, cell->integer); break;
    case STORE_REAL:
        if (isfinite(cell->real))
            sqlite3_bind_double(row, place, cell->real);
        break;
    case STORE_TEXT:
        if (cell->text)
            sqlite3_bind_text(row, place, cell->text, -1, SQLITE_STATIC);
        break;
    case STORE_NULL: break;
    }
}

bool store_table_row(struct store *store, const char *table, const struct store_cell *cells,
                     size_t count, struct err *err) {
    struct buf sql = {0};
    buf_printf(&sql, "INSERT INTO %s VALUES (", table);
    for (size_t i = 0; i < count; i++)
        buf_puts(&sql, i ? ",?" : "?");
    buf_putc(&sql, ')');
    sqlite3_stmt *row = NULL;
    bool ok = sqlite3_prepare_v2(store_db(store), sql.at, -1, &row, NULL) == SQLITE_OK;
    for (size_t i = 0; ok && i < count; i++)
        cell_bind(row, (int)i + 1, &cells[i]);
    ok = ok && sqlite3_step(row) == SQLITE_DONE;
    if (ok)
        store->sum += row_sum(table, cells, count);
    else
        store_sql_failed(store, "cannot store an attempt", err);
    sqlite3_finalize(row);
    buf_free(&sql);
    if (!ok && !sqlite3_get_autocommit(store->db))
        sqlite3_exec(store_db(store), "ROLLBACK", NULL, NULL, NULL);
    return ok;
}

bool store_attempt_end(struct store *store, int64_t seq, struct err *err) {
    struct buf sql = {0};
    buf_printf(&sql,
               "INSERT OR REPLACE INTO sums VALUES (%d, %lld);"
               "INSERT OR REPLACE INTO derived VALUES (0, %lld);"
               "INSERT OR REPLACE INTO derived_rows VALUES (0, %lld); COMMIT;",
               store->attempt, (long long)store->sum, (long long)seq, (long long)store->rows_bytes);
    return exec_whole(store, &sql, "cannot store an attempt", err);
}

int64_t store_derived_seq(struct store *store) {
    return store->derived_doubtful ? 0 : store_number(store, "SELECT seq FROM derived", 0);
}

#define QUERY_MAX_COLUMNS 200

static bool query_row(sqlite3_stmt *rows, store_query_fn *fn, void *data) {
    const char *names[QUERY_MAX_COLUMNS], *values[QUERY_MAX_COLUMNS];
    int count = MIN_OF(sqlite3_column_count(rows), QUERY_MAX_COLUMNS);
    for (int i = 0; i < count; i++) {
        names[i] = sqlite3_column_name(rows, i);
        values[i] = (const char *)sqlite3_column_text(rows, i);
    }
    return fn(data, (size_t)count, names, values);
}

bool store_query(struct store *store, const char *sql, store_query_fn *row, void *data,
                 struct err *err) {
    sqlite3_stmt *rows = NULL;
    const char *rest = NULL;
    if (sqlite3_prepare_v2(store_db(store), sql, -1, &rows, &rest) || !rows)
        return err_set(err, ERR_USAGE, "the query does not parse: %s", sqlite3_errmsg(store->db));
    bool ok = sqlite3_stmt_readonly(rows) && str_trim(str_of(rest)).len == 0;
    if (!ok)
        err_set(err, ERR_USAGE, "only one SELECT at a time is allowed");
    int code = SQLITE_DONE;
    while (ok && (code = sqlite3_step(rows)) == SQLITE_ROW)
        if (!query_row(rows, row, data)) {
            code = SQLITE_DONE;
            break;
        }
    if (ok && code != SQLITE_DONE) {
        err_set(err, ERR_USAGE, "the query failed: %s", sqlite3_errmsg(store->db));
        ok = false;
    }
    sqlite3_finalize(rows);
    return ok;
}
