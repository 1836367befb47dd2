/* SPDX-License-Identifier: Apache-2.0 */
/* The append-only log of events: one row for each, committed one by one, read back in order along
 * the chain of their hashes. It does not look into the payloads. */
#include "store/testing.h"
#include "store/private.h"

static bool insert(struct store *store, const struct store_row *row,
                   const struct store_link *link) {
    static const char sql[] =
        "INSERT INTO events(seq, wall_ms, type, payload, hash) VALUES (?, ?, ?, ?, ?)";
    sqlite3 *db = store_db(store);
    if (!store->append &&
        sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &store->append, NULL))
        return false;
    sqlite3_bind_int64(store->append, 1, row->seq);
    sqlite3_bind_int64(store->append, 2, row->wall_ms);
    sqlite3_bind_text(store->append, 3, row->type.at, (int)row->type.len, SQLITE_STATIC);
    sqlite3_bind_text(store->append, 4, row->payload.at, (int)row->payload.len, SQLITE_STATIC);
    sqlite3_bind_blob(store->append, 5, link->hash, HASH_BYTES, SQLITE_STATIC);
    return sqlite3_step(store->append) == SQLITE_DONE;
}

/* The number of the next event was taken, so somebody without the lock writes here. */
static bool insert_failed(struct store *store, struct err *err) {
    if ((sqlite3_errcode(store->db) & 0xff) != SQLITE_CONSTRAINT)
        return store_sql_failed(store, "cannot store an event", err);
    return err_set(err, ERR_DAMAGED,
                   "%.200s/session.db has an event %lld that this hone did not write: another "
                   "program writes into the session",
                   store->folder, (long long)store->tail.seq + 1);
}

bool store_append(struct store *store, int64_t wall_ms, const char *type, const char *payload,
                  int64_t *seq, struct err *err) {
    if (!store_may_write(store, err))
        return false;
    struct store_row row = {.seq = store->tail.seq + 1,
                            .wall_ms = wall_ms,
                            .type = str_of(type),
                            .payload = str_of(payload)};
    struct store_link link;
    store_link_make(&store->scratch, &store->tail, &row, &link);
    bool ok = insert(store, &row, &link) || insert_failed(store, err);
    if (store->append) {
        sqlite3_reset(store->append);
        sqlite3_clear_bindings(store->append);
    }
    if (!ok)
        return false;
    if (store->proven.seq == store->tail.seq)
        store->proven = link;
    store->tail = link;
    store_head_write(store, &(struct store_head){.last = link});
    if (seq)
        *seq = link.seq;
    return true;
}

/* ------------------------------------------------------------------------------------- reading */

struct walk {
    struct store *store;
    struct store_link at; /* of the event before */
    bool blind;           /* its hash is unknown: the first event is taken as it is */
};

/* Where to follow the chain from: a place that is proven, or the hash that the event has in the
 * file. */
static struct walk walk_begin(struct store *store, int64_t after) {
    struct walk walk = {.store = store};
    if (after == store->proven.seq)
        walk.at = store->proven;
    else if (after > 0)
        walk.blind = !store->chained || !store_link_read(store, after, &walk.at);
    walk.at.seq = after;
    return walk;
}

/* Whether the row is the next of the chain. If not, notes the damage. */
static bool walk_on(struct walk *walk, const struct store_row *row) {
    struct store *store = walk->store;
    struct store_link link;
    bool from_proven = walk->at.seq == store->proven.seq;
    if (!store->chained || walk->blind) {
        walk->at.seq = row->seq;
        walk->blind = false;
        if (row->hash.len == HASH_BYTES)
            memcpy(walk->at.hash, row->hash.at, HASH_BYTES);
        return true;
    }
    store_link_make(&store->scratch, &walk->at, row, &link);
    if (!store_row_is(row, &link))
        return store_damage_note(store, walk->at.seq + 1, "event %lld is not as it was written",
                                 (long long)walk->at.seq + 1);
    walk->at = link;
    if (from_proven)
        store->proven = link;
    return true;
}

static sqlite3_stmt *select_after(struct store *store, int64_t after) {
    sqlite3_stmt *rows = NULL;
    const char *sql = store->chained
                          ? "SELECT " STORE_COLUMNS ", hash FROM events WHERE seq > ? ORDER BY seq"
                          : "SELECT " STORE_COLUMNS ", NULL FROM events WHERE seq > ? ORDER BY seq";
    if (sqlite3_prepare_v2(store_db(store), sql, -1, &rows, NULL))
        return NULL;
    sqlite3_bind_int64(rows, 1, after);
    return rows;
}

/* SQLite complains about what the file holds. */
static bool read_failed(struct store *store, int64_t at, struct err *err) {
    if (!store_sql_is_damage(store))
        return store_sql_failed(store, "cannot read the session", err);
    store_damage_note(store, at + 1, "event %lld and what follows cannot be read (%s)",
                      (long long)at + 1, sqlite3_errmsg(store->db));
    return store_damage_tell(store, err);
}

/* Whether the whole log was read, and ends before any known damage. */
static bool walk_ended(const struct walk *walk, struct err *err) {
    const struct store_damage *damage = &walk->store->damage;
    return !damage->found || store_damage_tell(walk->store, err);
}

static bool tell(const struct store_row *row, store_event_fn *fn, void *data) {
    struct store_event event = {row->seq, row->wall_ms, row->type.at, row->payload.at};
    return !event.type || !event.payload || fn(data, &event);
}

bool store_replay(struct store *store, int64_t after, store_event_fn *fn, void *data,
                  struct err *err) {
    struct walk walk = walk_begin(store, after);
    sqlite3_stmt *rows = select_after(store, after);
    if (!rows)
        return read_failed(store, after, err);
    int code;
    bool more = true, whole = true;
    while (more && (code = sqlite3_step(rows)) == SQLITE_ROW) {
        struct store_row row = store_row_read(rows);
        whole = !(store->damage.found && store->damage.seq && row.seq >= store->damage.seq) &&
                walk_on(&walk, &row);
        more = whole && tell(&row, fn, data);
    }
    bool failed = more && code != SQLITE_DONE;
    bool ok = failed ? read_failed(store, walk.at.seq, err) : walk_ended(&walk, err);
    sqlite3_finalize(rows);
    return ok;
}

int64_t store_proven_seq(const struct store *store) {
    return store->proven.seq;
}

int64_t store_last_seq(struct store *store) {
    return store_number(store, "SELECT max(seq) FROM events", 0);
}
