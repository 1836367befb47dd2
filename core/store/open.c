/* SPDX-License-Identifier: Apache-2.0 */
/* The database of a session. It is opened in the way that its place allows, and checked before
 * anything in it is believed or changed. SQLite itself must not tidy up what may be damaged: a
 * write-ahead log is left as it is until its end is known to be whole. */
#include "store/private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define LEAST_ROOM (1u << 20) /* bytes that SQLite's own files take, and some more */
#define BEGIN_LOOKS 500       /* for a session that its holder is about to begin */
#define BEGIN_NS 10000000     /* between two of them */

sqlite3 *store_db(struct store *store) {
    if (!pthread_equal(store->owner, pthread_self()))
        HONE_BUG("a thread uses a session that another one opened");
    store_index_keep(store, false);
    return store->db;
}

bool store_sql_failed(struct store *store, const char *what, struct err *err) {
    int code = sqlite3_errcode(store->db);
    int primary = code & 0xff;
    if (primary == SQLITE_FULL || primary == SQLITE_IOERR)
        return err_set(err, ERR_ENVIRONMENT,
                       "%s: cannot write %s/session.db (%s). Nothing that you saw is lost; free "
                       "some space and go on.",
                       what, store->folder, sqlite3_errmsg(store->db));
    return err_set(err, ERR_ENVIRONMENT, "%s: %s/session.db: %s", what, store->folder,
                   sqlite3_errmsg(store->db));
}

bool store_exec(struct store *store, const char *sql, const char *what, struct err *err) {
    if (sqlite3_exec(store_db(store), sql, NULL, NULL, NULL) == SQLITE_OK)
        return true;
    return store_sql_failed(store, what, err);
}

int64_t store_number(struct store *store, const char *sql, int64_t missing) {
    sqlite3_stmt *statement = NULL;
    int64_t value = missing;
    if (sqlite3_prepare_v2(store_db(store), sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL)
        value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

bool store_sql_is_damage(const struct store *store) {
    int code = sqlite3_errcode(store->db) & 0xff;
    return code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_ERROR ||
           code == SQLITE_SCHEMA || sqlite3_extended_errcode(store->db) == SQLITE_IOERR_SHORT_READ;
}

/* ---------------------------------------------------------------------------------- connecting */

int64_t store_bytes_of(const char *path, const char *suffix) {
    struct buf whole = {0};
    struct stat st;
    buf_printf(&whole, "%s%s", path, suffix);
    int64_t bytes = stat(whole.at, &st) == 0 ? st.st_size : -1;
    buf_free(&whole);
    return bytes;
}

/* SQLite gives its other files the rights of this one. */
static void db_make_private(const char *path) {
    int fd = file_exists(path) ? -1 : file_open(path, O_RDWR | O_CREAT, 0600, NULL);
    if (fd >= 0)
        close(fd);
}

static bool connect_to(struct store *store, const char *name, int flags) {
    sqlite3_close_v2(store->db);
    store->db = NULL;
    bool ok = sqlite3_open_v2(name, &store->db, flags | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK;
    if (ok) {
        sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        sqlite3_busy_timeout(store->db, 2000);
    }
    ok = ok && sqlite3_exec(store->db, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL) ==
                   SQLITE_OK;
    store->in_place = ok && name == store->path;
    return ok;
}

/* Where the medium cannot be written, SQLite may assume that nobody else writes either. */
static bool connect_immutable(struct store *store) {
    struct buf name = {0};
    buf_puts(&name, "file:");
    for (const char *c = store->path; *c; c++)
        if (*c == '%' || *c == '?' || *c == '#')
            buf_printf(&name, "%%%02x", (unsigned)*c);
        else
            buf_putc(&name, *c);
    buf_puts(&name, "?immutable=1");
    bool ok = connect_to(store, name.at, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
    buf_free(&name);
    return ok;
}

static bool copy_file(const char *from, const char *to) {
    struct err err = {0};
    size_t size = 0;
    char *bytes = file_read(from, SIZE_MAX / 2, &size, &err);
    bool ok = bytes && file_write_private(to, bytes, size, &err);
    free(bytes);
    return ok;
}

/* A log that was not merged needs files beside it, which cannot be made there. So a copy is
 * read. */
static bool connect_copy(struct store *store) {
    const char *base = getenv("TMPDIR");
    struct buf folder = {0}, wal = {0};
    buf_printf(&folder, "%s/hone-%d-XXXXXX", base && base[0] == '/' ? base : "/tmp", (int)getpid());
    bool ok = mkdtemp(folder.at) != NULL;
    store->copy = ok ? buf_take(&folder) : NULL;
    buf_free(&folder);
    if (!ok)
        return false;
    char *to = path_join(store->copy, "session.db"),
         *to_wal = path_join(store->copy, "session.db-wal");
    buf_printf(&wal, "%s-wal", store->path);
    ok = copy_file(store->path, to) && copy_file(wal.at, to_wal) &&
         connect_to(store, to, SQLITE_OPEN_READWRITE);
    buf_free(&wal);
    free(to_wal);
    free(to);
    return ok;
}

/* SQLite could not write beside the file, as on a full disk. */
static bool lacks_room(const struct store *store) {
    int code = sqlite3_errcode(store->db) & 0xff;
    return code == SQLITE_FULL ||
           (code == SQLITE_IOERR && sqlite3_extended_errcode(store->db) != SQLITE_IOERR_SHORT_READ);
}

/* As on a network's file system whose lock service is away: SQLite takes every file there for one
 * that somebody else has locked. */
static bool lacks_locks(const struct store *store) {
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    int (*control)(int, int, ...) = (int (*)(int, int, ...))vfs->xGetSystemCall(vfs, "fcntl");
    struct flock look = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1};
    int fd = control ? file_open(store->path, O_RDONLY, 0, NULL) : -1;
    bool lacks = fd >= 0 && control(fd, F_GETLK, &look) < 0 &&
                 (errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP);
    if (fd >= 0)
        close(fd);
    return lacks;
}

static bool connect_to_read(struct store *store) {
    if (connect_to(store, store->path, SQLITE_OPEN_READONLY))
        return true;
    int code = sqlite3_errcode(store->db) & 0xff;
    if (code != SQLITE_CANTOPEN && code != SQLITE_READONLY && !lacks_room(store) &&
        !(code == SQLITE_BUSY && lacks_locks(store)))
        return false;
    return store_bytes_of(store->path, "-wal") > 0 ? connect_copy(store) : connect_immutable(store);
}

/* Why a session can only be looked at. */
static char *lack_tell(const char *path) {
    struct statvfs room;
    struct buf text = {0};
    bool full = statvfs(path, &room) == 0 && room.f_bavail * room.f_frsize < LEAST_ROOM;
    buf_printf(&text,
               full ? "the disk of %s is full; free some space and open it again"
                    : "nothing can be written beside %s",
               path);
    return buf_take(&text);
}

static bool connect_any(struct store *store) {
    if (store->read_only)
        return connect_to_read(store);
    db_make_private(store->path);
    if (connect_to(store, store->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE))
        return true;
    if (!lacks_room(store) || store_bytes_of(store->path, "") <= 0)
        return false;
    store->read_only = true;
    free(store->why);
    store->why = lack_tell(store->path);
    return connect_to_read(store);
}

/* ------------------------------------------------------------------------------- looking it
 * over */

/* A head that survived shows that there was a session, even when it can no longer be read. An empty
 * head is left by a process that was killed while it made the session. */
static bool was_session(const struct store *store) {
    const struct store_head *head = &store->known_head;
    return head->is == STORE_HEAD_BAD ? head->size > 0
                                      : head->is == STORE_HEAD_GOOD && head->last.seq > 0;
}

/* Nothing is left of the database. SQLite would begin a new one and remove its log; a file of one
 * byte is an empty one to it (unixFileSize). */
static bool is_emptied(const struct store *store) {
    int64_t bytes = store_bytes_of(store->path, "");
    return bytes == 1 ||
           (bytes <= 0 && (was_session(store) || store_bytes_of(store->path, "-wal") > 0));
}

/* Reads the two numbers at the head of the file. False for a file that hone must not touch. */
static bool version_check(struct store *store, int64_t *version, struct err *err) {
    int64_t id = store_number(store, "PRAGMA application_id", -1);
    *version = store_number(store, "PRAGMA user_version", -1);
    store->is_new = id == 0 && *version == 0 &&
                    store_number(store, "SELECT count(*) FROM sqlite_master", -1) == 0;
    if (store->is_new && !was_session(store))
        return true;
    if (id != STORE_APPLICATION_ID && was_session(store))
        return store_damage_note(store, 1,
                                 store->is_new ? "it has no events any more"
                                               : "its head names another application") ||
               store_damage_tell(store, err);
    if (id != STORE_APPLICATION_ID)
        return err_set(err, ERR_ENVIRONMENT,
                       "%s/session.db is not a session of hone. Choose another folder with "
                       "--session, or move the file away.",
                       store->folder);
    if (*version > STORE_VERSION)
        return err_set(err, ERR_ENVIRONMENT,
                       "%s/session.db was written by a newer hone (session version %lld; this hone "
                       "knows up to %d). Use that hone, or start anew with --fresh.",
                       store->folder, (long long)*version, STORE_VERSION);
    return true;
}

static bool has_hashes(struct store *store) {
    return sqlite3_table_column_metadata(store_db(store), NULL, "events", "hash", NULL, NULL, NULL,
                                         NULL, NULL) == SQLITE_OK;
}

/* SQLite numbers the events by a table of its own, so the end of the log cannot vanish without
 * it. */
static void end_check(struct store *store) {
    int64_t ahead = store_number(store,
                                 "SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'events') - "
                                 "coalesce((SELECT max(seq) FROM events), 0)",
                                 0);
    if (ahead != 0)
        store_damage_note(store, store->tail.seq + 1,
                          "its last event is %lld, but %lld events were written",
                          (long long)store->tail.seq, (long long)(store->tail.seq + ahead));
}

bool store_integrity(sqlite3 *db, struct buf *found) {
    sqlite3_stmt *look = NULL;
    bool told = sqlite3_prepare_v2(db, "PRAGMA integrity_check(1)", -1, &look, NULL) == SQLITE_OK &&
                sqlite3_step(look) == SQLITE_ROW;
    const char *text = told ? (const char *)sqlite3_column_text(look, 0) : sqlite3_errmsg(db);
    buf_puts(found, text ? text : "");
    sqlite3_finalize(look);
    bool fine = str_is(buf_str(found), "ok");
    for (size_t i = 0; i < found->len; i++)
        if ((unsigned char)found->at[i] < ' ')
            found->at[i] = ' ';
    return fine;
}

/* Bytes changed since hone closed it. Finds whether any of them counts. */
static void seal_broken(struct store *store) {
    struct buf found = {0};
    int64_t checked, unknown;
    if (!store_integrity(store->db, &found)) {
        store_damage_note(store, 0, "SQLite finds: %.150s", found.at ? found.at : "nothing");
    } else {
        buf_clear(&found);
        store->derived_doubtful = !store_sums_check(store->db, &checked, &unknown, &found);
        free(store->note);
        store->note =
            mem_strdup(store->derived_doubtful ? STORE_CHANGED ". " STORE_TABLES_ANEW
                                               : STORE_CHANGED "; its events and tables are whole");
    }
    buf_free(&found);
}

void store_seal_means(struct store *store, enum store_seal seal) {
    if (seal == STORE_SEAL_BROKEN || seal == STORE_SEAL_TORN)
        seal_broken(store);
    if (seal != STORE_SEAL_ROWS)
        return;
    store->derived_doubtful = true;
    free(store->note);
    store->note = mem_strdup("session.db was changed while hone had it open. " STORE_TABLES_ANEW);
}

/* Finds what can be said of a session without reading all of it. */
static void look_over(struct store *store, enum store_seal seal) {
    if (!store_tail_read(store, &store->tail)) {
        store_damage_note(store, 1, "its events cannot be read (%s)", sqlite3_errmsg(store->db));
        return;
    }
    store->tail_known = true;
    if (store->chained) {
        end_check(store);
        (void)!store_head_agrees(store);
    }
    store_seal_means(store, seal);
    if (!store->note && store->chained && store->known_head.is != STORE_HEAD_GOOD &&
        store->tail.seq)
        store->note = mem_strdup("session.db-head is missing or damaged, so nothing proves that no "
                                 "event is missing at the end");
}

/* Whoever holds it may be about to begin it: two hones that are started at once. First there is no
 * file, then nothing in it. */
static void file_await(const struct store *store) {
    for (int i = 0; i < BEGIN_LOOKS && !file_exists(store->path); i++)
        nanosleep(&(struct timespec){.tv_nsec = BEGIN_NS}, NULL);
}

static void begin_await(struct store *store) {
    for (int i = 0; i < BEGIN_LOOKS; i++) {
        if (store_number(store, "PRAGMA application_id", -1) > 0)
            break;
        nanosleep(&(struct timespec){.tv_nsec = BEGIN_NS}, NULL);
    }
    (void)store_number(store, "SELECT count(*) FROM sqlite_master", -1); /* its tables as of now */
    store_head_read(store->folder, &store->known_head);
}

static bool look_at(struct store *store, struct err *err) {
    int64_t version = 0;
    if (store->read_only && store->holder)
        begin_await(store);
    bool defers = store->defers && (store->known_head.sealed || !store->read_only) &&
                  store_seal_begin(store, STORE_SEAL_MOST);
    enum store_seal seal = defers ? STORE_SEAL_NONE : store_seal_look(store, STORE_SEAL_MOST);
    if (!version_check(store, &version, err))
        return false;
    if (store->is_new)
        return !store->read_only ||
               err_set(err, ERR_ENVIRONMENT, "%s holds an empty session", store->folder);
    store->chained = has_hashes(store);
    if (version < 1 || (version >= 2 && !store->chained))
        store_damage_note(store, 0, "its tables are not those of a session");
    look_over(store, seal);
    return !store->damage.found || (store->look_only && store_number(store, "SELECT 1", 0)) ||
           store_damage_tell(store, err);
}

/* SQLite would wait for who writes into a pipe. */
static bool is_plain(const struct store *store, struct err *err) {
    struct err found = {0};
    struct stat st;
    if (stat(store->path, &st) == 0 && S_ISREG(st.st_mode))
        return true;
    int fd = file_open(store->path, O_RDONLY, 0, &found);
    if (fd >= 0)
        close(fd);
    return found.kind != ERR_USAGE || err_set(err, ERR_USAGE, "%s", found.text);
}

/* SQLite cannot read it. */
static bool connect_failed(struct store *store, struct err *err) {
    if (!store->db || !store_sql_is_damage(store))
        return err_set(err, ERR_ENVIRONMENT, "cannot open %s: %s", store->path,
                       store->db ? sqlite3_errmsg(store->db) : "out of memory");
    store_damage_note(store, 0, "it cannot be read (%s)", sqlite3_errmsg(store->db));
    return store_damage_tell(store, err);
}

bool store_db_open(struct store *store, struct err *err) {
    if (store->read_only && store->holder)
        file_await(store);
    store_head_read(store->folder, &store->known_head);
    if (!is_plain(store, err))
        return false;
    if (is_emptied(store)) {
        const char *is = store_bytes_of(store->path, "") > 0 ? "cut off after a byte"
                         : file_exists(store->path)          ? "empty"
                                                             : "gone";
        store_damage_note(store, 1, "it is %s", is);
        return store_damage_tell(store, err);
    }
    if (!connect_any(store))
        return connect_failed(store, err);
    if (!store->read_only && sqlite3_db_readonly(store->db, "main") == 1) {
        store->read_only = true;
        store->why = mem_strdup("session.db cannot be written");
    }
    if (!look_at(store, err))
        return false;
    /* NORMAL: a commit survives the death of the process. Only a power cut may take the last
     * ones. */
    if (store->read_only)
        return true;
    store_trace_follow(store);
    bool ok = store_exec(store, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
                         "cannot prepare the session", err);
    store_index_note(store);
    return ok;
}

void store_db_close(struct store *store) {
    struct err err = {0};
    sqlite3_finalize(store->append);
    store->append = NULL;
    if (store->db && !store->read_only && !store->damage.found)
        sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    sqlite3_close_v2(store->db);
    store->db = NULL;
    if (store->copy)
        (void)!file_remove_tree(store->copy, &err);
    free(store->copy);
    store->copy = NULL;
}
