/* SPDX-License-Identifier: Apache-2.0 */
/* The chain: the hash of each event covers the hash of the one before it, and its own number, time,
 * type and bytes. A flipped bit, a lost page or a misplaced row breaks the chain where it is. It
 * finds damage, not a forger: whoever can write the file can compute the hashes. */
#include "store/testing.h"
#include "store/private.h"

#include <stdarg.h>
#include <stdio.h>

#define NUMBER 8 /* bytes of a number, the low ones first */

static char *number_put(char *to, uint64_t value) {
    for (int i = 0; i < NUMBER; i++)
        to[i] = (char)(value >> (8 * i));
    return to + NUMBER;
}

static char *text_put(char *to, struct str text) {
    to = number_put(to, text.len);
    if (text.len)
        memcpy(to, text.at, text.len);
    return to + text.len;
}

void store_link_make(struct buf *scratch, const struct store_link *before,
                     const struct store_row *row, struct store_link *link) {
    vec_reserve(scratch, HASH_BYTES + 4 * NUMBER + row->type.len + row->payload.len + 1);
    memcpy(scratch->at, before->hash, HASH_BYTES);
    char *to = number_put(scratch->at + HASH_BYTES, (uint64_t)row->seq);
    to = number_put(to, (uint64_t)row->wall_ms);
    to = text_put(text_put(to, row->type), row->payload);
    *to = '\0'; /* for store_link_payload */
    link->seq = row->seq;
    hash_bytes(scratch->at, (size_t)(to - scratch->at), link->hash);
}

const char *store_link_payload(const struct buf *scratch, const struct store_row *row) {
    return scratch->at + HASH_BYTES + 4 * NUMBER + row->type.len;
}

bool store_row_is(const struct store_row *row, const struct store_link *link) {
    return row->hash.len == HASH_BYTES && !memcmp(row->hash.at, link->hash, HASH_BYTES);
}

static struct str text_of(sqlite3_stmt *rows, int at) {
    const char *text = (const char *)sqlite3_column_text(rows, at);
    return (struct str){text, (size_t)sqlite3_column_bytes(rows, at)};
}

struct store_row store_row_read(sqlite3_stmt *rows) {
    struct str hash = {sqlite3_column_blob(rows, 4), (size_t)sqlite3_column_bytes(rows, 4)};
    return (struct store_row){.seq = sqlite3_column_int64(rows, 0),
                              .wall_ms = sqlite3_column_int64(rows, 1),
                              .type = text_of(rows, 2),
                              .payload = text_of(rows, 3),
                              .hash = hash};
}

bool store_tail_read(struct store *store, struct store_link *tail) {
    *tail = (struct store_link){0};
    sqlite3_stmt *rows = NULL;
    int code = sqlite3_prepare_v2(
        store_db(store),
        store->chained ? "SELECT " STORE_COLUMNS ", hash FROM events ORDER BY seq DESC LIMIT 1"
                       : "SELECT " STORE_COLUMNS ", NULL FROM events ORDER BY seq DESC LIMIT 1",
        -1, &rows, NULL);
    if (code == SQLITE_OK && (code = sqlite3_step(rows)) == SQLITE_ROW) {
        struct store_row row = store_row_read(rows);
        tail->seq = row.seq;
        if (row.hash.len == HASH_BYTES)
            memcpy(tail->hash, row.hash.at, HASH_BYTES);
    }
    sqlite3_finalize(rows);
    return code == SQLITE_ROW || code == SQLITE_DONE;
}

bool store_link_read(struct store *store, int64_t seq, struct store_link *link) {
    sqlite3_stmt *rows = NULL;
    bool found = false;
    if (sqlite3_prepare_v2(store_db(store), "SELECT hash FROM events WHERE seq = ?", -1, &rows,
                           NULL))
        return false;
    sqlite3_bind_int64(rows, 1, seq);
    if (sqlite3_step(rows) == SQLITE_ROW && sqlite3_column_bytes(rows, 0) == HASH_BYTES) {
        link->seq = seq;
        memcpy(link->hash, sqlite3_column_blob(rows, 0), HASH_BYTES);
        found = true;
    }
    sqlite3_finalize(rows);
    return found;
}

static bool adopt_all(struct store *store, int64_t *count) {
    sqlite3_stmt *rows = NULL, *put = NULL;
    struct store_link link = {0};
    bool ok = sqlite3_prepare_v2(store_db(store),
                                 "SELECT " STORE_COLUMNS ", hash FROM events ORDER BY seq", -1,
                                 &rows, NULL) == SQLITE_OK &&
              sqlite3_prepare_v2(store_db(store), "UPDATE events SET hash = ? WHERE seq = ?", -1,
                                 &put, NULL) == SQLITE_OK;
    int code = SQLITE_ERROR;
    while (ok && (code = sqlite3_step(rows)) == SQLITE_ROW) {
        struct store_row row = store_row_read(rows);
        struct store_link before = link;
        store_link_make(&store->scratch, &before, &row, &link);
        sqlite3_bind_blob(put, 1, link.hash, HASH_BYTES, SQLITE_STATIC);
        sqlite3_bind_int64(put, 2, link.seq);
        ok = sqlite3_step(put) == SQLITE_DONE && sqlite3_reset(put) == SQLITE_OK;
        ++*count;
    }
    sqlite3_finalize(rows);
    sqlite3_finalize(put);
    return ok && code == SQLITE_DONE;
}

bool store_chain_adopt(struct store *store, struct err *err) {
    int64_t count = 0;
    char sql[240];
    bool ok = store_exec(store, "BEGIN IMMEDIATE; ALTER TABLE events ADD COLUMN hash BLOB;",
                         "cannot write the session", err);
    if (ok && !adopt_all(store, &count))
        ok = store_sql_failed(store, "cannot write the session", err);
    snprintf(sql, sizeof sql,
             "CREATE TABLE IF NOT EXISTS chain(id INTEGER PRIMARY KEY CHECK (id = 0),"
             " adopted INTEGER); INSERT OR REPLACE INTO chain VALUES (0, %lld);"
             "PRAGMA user_version=%d; COMMIT;",
             (long long)count, STORE_VERSION);
    ok = ok && store_exec(store, sql, "cannot write the session", err);
    if (!ok && !sqlite3_get_autocommit(store->db))
        sqlite3_exec(store_db(store), "ROLLBACK", NULL, NULL, NULL);
    store->chained = store->chained || ok;
    return ok;
}

/* ------------------------------------------------------------------------------------- damage */

bool store_damage_note(struct store *store, int64_t seq, const char *format, ...) {
    struct store_damage *damage = &store->damage;
    if (damage->found && (!seq || (damage->seq && damage->seq <= seq)))
        return false;
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    *damage = (struct store_damage){.found = true, .seq = seq};
    snprintf(damage->text, sizeof damage->text, "%s", text.at);
    buf_free(&text);
    return false;
}

bool store_damage_tell(const struct store *store, struct err *err) {
    return err_set(err, ERR_DAMAGED,
                   "%.140s/session.db is damaged: %s. 'hone session repair' saves what can be "
                   "saved into a new folder, 'hone session check' says more; 'hone TASK "
                   "--read-only' shows the session up to there.",
                   store->folder, store->damage.text);
}

const struct store_damage *store_damage(const struct store *store) {
    return store->damage.found ? &store->damage : NULL;
}
