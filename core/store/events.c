/* SPDX-License-Identifier: Apache-2.0 */
/* The append-only event log: one row an event, committed one by one, read back in order. It does
 * not look into the payloads. */
#include "store/private.h"

bool store_append(struct store *store, int64_t wall_ms, const char *type, const char *payload,
                  int64_t *seq, struct err *err) {
    if (store->read_only)
        return err_set(err, ERR_ENVIRONMENT, "this session is open for reading only%s%s",
                       store->holder ? ": it is held by " : "", store->holder ? store->holder : "");
    static const char sql[] = "INSERT INTO events(wall_ms, type, payload) VALUES (?, ?, ?)";
    if (!store->append &&
        sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &store->append, NULL))
        return store_sql_failed(store, "cannot store an event", err);
    sqlite3_bind_int64(store->append, 1, wall_ms);
    sqlite3_bind_text(store->append, 2, type, -1, SQLITE_STATIC);
    sqlite3_bind_text(store->append, 3, payload, -1, SQLITE_STATIC);
    bool ok = sqlite3_step(store->append) == SQLITE_DONE;
    if (!ok)
        store_sql_failed(store, "cannot store an event", err);
    else if (seq)
        *seq = sqlite3_last_insert_rowid(store->db);
    sqlite3_reset(store->append);
    sqlite3_clear_bindings(store->append);
    return ok;
}

bool store_replay(struct store *store, int64_t after, store_event_fn *fn, void *data,
                  struct err *err) {
    sqlite3_stmt *rows = NULL;
    static const char sql[] =
        "SELECT seq, wall_ms, type, payload FROM events WHERE seq > ? ORDER BY seq";
    if (sqlite3_prepare_v2(store->db, sql, -1, &rows, NULL))
        return store_sql_failed(store, "cannot read the session", err);
    sqlite3_bind_int64(rows, 1, after);
    int code;
    while ((code = sqlite3_step(rows)) == SQLITE_ROW) {
        struct store_event event = {
            .seq = sqlite3_column_int64(rows, 0),
            .wall_ms = sqlite3_column_int64(rows, 1),
            .type = (const char *)sqlite3_column_text(rows, 2),
            .payload = (const char *)sqlite3_column_text(rows, 3),
        };
        if (!event.type || !event.payload)
            continue;
        if (!fn(data, &event)) {
            code = SQLITE_DONE;
            break;
        }
    }
    if (code != SQLITE_DONE)
        store_sql_failed(store, "cannot read the session", err);
    sqlite3_finalize(rows);
    return code == SQLITE_DONE;
}

int64_t store_last_seq(struct store *store) {
    return store_number(store, "SELECT max(seq) FROM events", 0);
}
