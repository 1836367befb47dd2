/* SPDX-License-Identifier: Apache-2.0 */
/* The schema, and the tables derived from the events for queries. Times are in microseconds, shares
 * between 0 and 1, metrics under Neuron's names and units. */
#include "store/private.h"

#include <math.h>
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

bool store_schema_make(struct store *store, struct err *err) {
    struct buf sql = {0};
    buf_printf(
        &sql,
        "BEGIN IMMEDIATE;"
        "PRAGMA application_id=%d; PRAGMA user_version=%d;"
        "CREATE TABLE IF NOT EXISTS events(seq INTEGER PRIMARY KEY AUTOINCREMENT,"
        " wall_ms INTEGER NOT NULL, type TEXT NOT NULL, payload TEXT NOT NULL);"
        "CREATE TABLE IF NOT EXISTS derived(id INTEGER PRIMARY KEY CHECK (id = 0), seq INTEGER);"
        "CREATE TABLE IF NOT EXISTS derived_rows(id INTEGER PRIMARY KEY CHECK (id = 0),"
        " bytes INTEGER);",
        STORE_APPLICATION_ID, STORE_VERSION);
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        buf_printf(&sql,
                   "CREATE TABLE IF NOT EXISTS %s(%s);"
                   "CREATE INDEX IF NOT EXISTS %s_attempt ON %s(attempt);",
                   tables[i].name, tables[i].columns, tables[i].name, tables[i].name);
    buf_puts(&sql, "COMMIT;");
    bool ok = store_exec(store, sql.at, "cannot make the session", err);
    if (!ok && !sqlite3_get_autocommit(store->db))
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    buf_free(&sql);
    return ok;
}

bool store_attempt_begin(struct store *store, int attempt, struct err *err) {
    struct buf sql = {0};
    buf_puts(&sql, "BEGIN IMMEDIATE;");
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        buf_printf(&sql, "DELETE FROM %s WHERE attempt = %d;", tables[i].name, attempt);
    bool ok = store_exec(store, sql.at, "cannot store an attempt", err);
    if (!ok && !sqlite3_get_autocommit(store->db))
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    buf_free(&sql);
    return ok;
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
    bool ok = sqlite3_prepare_v2(store->db, sql.at, -1, &row, NULL) == SQLITE_OK;
    for (size_t i = 0; ok && i < count; i++)
        cell_bind(row, (int)i + 1, &cells[i]);
    ok = ok && sqlite3_step(row) == SQLITE_DONE;
    if (!ok)
        store_sql_failed(store, "cannot store an attempt", err);
    sqlite3_finalize(row);
    buf_free(&sql);
    if (!ok && !sqlite3_get_autocommit(store->db))
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return ok;
}

bool store_attempt_end(struct store *store, int64_t seq, struct err *err) {
    struct buf sql = {0};
    buf_printf(&sql,
               "INSERT OR REPLACE INTO derived VALUES (0, %lld);"
               "INSERT OR REPLACE INTO derived_rows VALUES (0, %lld); COMMIT;",
               (long long)seq, (long long)store->rows_bytes);
    bool ok = store_exec(store, sql.at, "cannot store an attempt", err);
    if (!ok && !sqlite3_get_autocommit(store->db))
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    buf_free(&sql);
    return ok;
}

int64_t store_derived_seq(struct store *store) {
    return store_number(store, "SELECT seq FROM derived", 0);
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
    if (sqlite3_prepare_v2(store->db, sql, -1, &rows, &rest) || !rows)
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
