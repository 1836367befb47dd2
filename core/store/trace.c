/* SPDX-License-Identifier: Apache-2.0 */
/* Whether another program wrote into the files of a session that is open: a backup that was copied
 * over them, a program of SQLite. SQLite would not notice, or write on into what is no session any
 * more. The lengths and a few places of the files are compared with what the last commit left,
 * which does not hang on times that a file server sets. Formats: sqlite.org/fileformat2.html, 1.3
 * and 4.1. */
#include "store/private.h"

#define CHECKPOINT_FRAMES 1000 /* as SQLite does by itself */
#define FRAME_HEAD 24

/* What is looked at: the heads of both files, and in SQLite's log the header of the last frame that
 * counts, and what is behind it. */
enum { DB = 0, WAL = 100, LAST = 132, BEHIND = LAST + FRAME_HEAD, END = BEHIND + FRAME_HEAD };
_Static_assert(END <= sizeof((struct store_trace *)0)->places, "each has its place");

static sqlite3_file *file_of(const struct store *store, int which) {
    sqlite3_file *file = NULL;
    bool ok = sqlite3_file_control(store->db, "main", which, &file) == SQLITE_OK;
    return ok && file && file->pMethods ? file : NULL;
}

static int64_t bytes_of(sqlite3_file *file) {
    sqlite3_int64 bytes = 0;
    return file && file->pMethods->xFileSize(file, &bytes) == SQLITE_OK ? bytes : 0;
}

/* What the file does not have is zero. */
static void read_at(sqlite3_file *file, int64_t size, int64_t at, void *out, int bytes) {
    memset(out, 0, (size_t)bytes);
    if (file && at + bytes <= size)
        (void)file->pMethods->xRead(file, out, bytes, at);
}

static void trace_now(const struct store *store, struct store_trace *now) {
    sqlite3_file *db = file_of(store, SQLITE_FCNTL_FILE_POINTER);
    sqlite3_file *wal = file_of(store, SQLITE_FCNTL_JOURNAL_POINTER);
    unsigned char *places = now->places, *head = places + WAL;
    memset(now, 0, sizeof *now);
    now->db_bytes = bytes_of(db);
    now->wal_bytes = bytes_of(wal);
    read_at(db, now->db_bytes, 0, places + DB, WAL - DB);
    read_at(wal, now->wal_bytes, 0, head, LAST - WAL);
    int64_t page = (int64_t)head[8] << 24 | head[9] << 16 | head[10] << 8 | head[11];
    int64_t frame = FRAME_HEAD + page, end = LAST - WAL + store->frames * frame;
    if (store->frames)
        read_at(wal, now->wal_bytes, end - frame, places + LAST, FRAME_HEAD);
    read_at(wal, now->wal_bytes, end, places + BEHIND, FRAME_HEAD);
}

static void note(struct store *store) {
    trace_now(store, &store->trace);
    store_index_note(store);
    store->traced = true;
}

static int on_commit(void *data, sqlite3 *db, const char *name, int frames) {
    struct store *store = data;
    store->frames = frames;
    if (frames >= CHECKPOINT_FRAMES)
        sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    note(store);
    return SQLITE_OK;
}

/* What did not fit into memory was written by then. */
static void on_rollback(void *data) {
    struct store *store = data;
    if (store->traced)
        note(store);
}

void store_trace_follow(struct store *store) {
    sqlite3_wal_hook(store->db, on_commit, store);
    sqlite3_rollback_hook(store->db, on_rollback, store);
}

bool store_trace_same(struct store *store) {
    struct store_trace now;
    if (!store->traced || !sqlite3_get_autocommit(store->db)) /* not until it is committed */
        return true;
    trace_now(store, &now);
    return !memcmp(&now, &store->trace, sizeof now);
}
