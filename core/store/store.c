/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing a session's folder: the lock, the database, its version. What the events mean
 * is none of its business. */
#include "store/private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool store_sql_failed(struct store *store, const char *what, struct err *err) {
    int code = sqlite3_errcode(store->db);
    int primary = code & 0xff;
    if (primary == SQLITE_FULL || primary == SQLITE_IOERR)
        return err_set(err, ERR_ENVIRONMENT,
                       "%s: cannot write %s/session.db (%s). Nothing that was shown is lost; free "
                       "some space and go on.",
                       what, store->folder, sqlite3_errmsg(store->db));
    return err_set(err, ERR_ENVIRONMENT, "%s: %s/session.db: %s", what, store->folder,
                   sqlite3_errmsg(store->db));
}

bool store_exec(struct store *store, const char *sql, const char *what, struct err *err) {
    if (sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return true;
    return store_sql_failed(store, what, err);
}

int64_t store_number(struct store *store, const char *sql, int64_t missing) {
    sqlite3_stmt *statement = NULL;
    int64_t value = missing;
    if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL)
        value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

/* Reads the two numbers in the file's head; false for a file that hone must not touch. */
static bool version_check(struct store *store, bool *is_new, struct err *err) {
    int64_t id = store_number(store, "PRAGMA application_id", -1);
    int64_t version = store_number(store, "PRAGMA user_version", -1);
    int64_t tables = store_number(store, "SELECT count(*) FROM sqlite_master", -1);
    if (tables < 0)
        return err_set(err, ERR_ENVIRONMENT,
                       "%s/session.db cannot be read: %s. Move the folder away to start anew.",
                       store->folder, sqlite3_errmsg(store->db));
    *is_new = id == 0 && version == 0 && tables == 0;
    if (*is_new)
        return true;
    if (id != STORE_APPLICATION_ID)
        return err_set(err, ERR_ENVIRONMENT,
                       "%s/session.db is not a session of hone. Choose another folder with "
                       "--session, or move the file away.",
                       store->folder);
    if (version > STORE_VERSION)
        return err_set(err, ERR_ENVIRONMENT,
                       "%s/session.db was written by a newer hone (session version %lld; this hone "
                       "knows up to %d). Use that hone, or start anew with --fresh.",
                       store->folder, (long long)version, STORE_VERSION);
    return true;
}

/* What hone keeps in a session's folder. */
static bool is_ours(const char *name) {
    static const char *const names[] = {"experiments.jsonl", "experiments.jsonl.new",
                                        "checkpoints",       "optimization_memory",
                                        "artifacts",         "run",
                                        "hone.log",          "lock"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (!strcmp(names[i], name))
            return true;
    return !strncmp(name, "session.db", 10);
}

/* Prompts and kernels are in it: a folder that hone made before it kept them for their owner is
 * closed now. One that holds other things, too, stays open, and what is hone's in it is closed. */
static void tighten(const char *folder) {
    bool all = true;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        char *path = path_join(folder, entry->d_name);
        if (is_ours(entry->d_name))
            file_tighten(path);
        else
            all = false;
        free(path);
    }
    if (dir && all)
        file_tighten(folder);
    if (dir)
        closedir(dir);
}

/* SQLite gives its other files the rights of this one. */
static void db_make_private(const char *path) {
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
}

static bool db_open(struct store *store, struct err *err) {
    char *path = path_join(store->folder, "session.db");
    int flags =
        store->read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    if (!store->read_only)
        db_make_private(path);
    int code = sqlite3_open_v2(path, &store->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
    bool ok = code == SQLITE_OK;
    if (!ok)
        err_set(err, ERR_ENVIRONMENT, "cannot open %s: %s", path,
                store->db ? sqlite3_errmsg(store->db) : "out of memory");
    free(path);
    if (!ok)
        return false;
    sqlite3_busy_timeout(store->db, 2000);
    bool is_new = false;
    if (!version_check(store, &is_new, err))
        return false;
    if (store->read_only)
        return !is_new || err_set(err, ERR_ENVIRONMENT, "%s holds an empty session", store->folder);
    /* NORMAL: a commit survives the death of the process; only a power cut may take the last
     * ones. */
    if (!store_exec(store, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
                    "cannot prepare the session", err))
        return false;
    return store_schema_make(store, err);
}

static bool log_open(struct store *store) {
    char *path = path_join(store->folder, "hone.log");
    store->log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    free(path);
    return store->log >= 0;
}

struct store *store_open(const char *folder, bool look_only, struct err *err) {
    /* A file size limit shall be a failed write that is reported, not the end of the process. */
    signal(SIGXFSZ, SIG_IGN);
    struct store *store = mem_alloc(1, sizeof *store);
    store->folder = mem_strdup(folder);
    store->lock = store->log = store->rows_anew = -1;
    store->rows_bytes = -1;
    store->read_only = look_only;
    if (!look_only) {
        if (!file_make_private(folder, err))
            goto failed;
        if (!store_lock_take(folder, &store->lock, &store->holder, err))
            goto failed;
        store->read_only = store->lock < 0;
    }
    if (!store->read_only)
        tighten(folder);
    if (!db_open(store, err))
        goto failed;
    if (!store->read_only) {
        log_open(store);
        store->rows_bytes = store_number(store, "SELECT bytes FROM derived_rows", -1);
    }
    return store;
failed:
    store_close(store);
    return NULL;
}

void store_close(struct store *store) {
    if (!store)
        return;
    sqlite3_finalize(store->append);
    sqlite3_close_v2(store->db);
    if (store->log >= 0)
        close(store->log);
    if (store->rows_anew >= 0)
        close(store->rows_anew);
    if (store->lock >= 0)
        close(store->lock);
    free(store->holder);
    free(store->folder);
    free(store);
}

bool store_is_read_only(const struct store *store) {
    return store->read_only;
}
const char *store_holder(const struct store *store) {
    return store->holder;
}
const char *store_folder(const struct store *store) {
    return store->folder;
}

bool store_exists(const char *folder) {
    char *path = path_join(folder, "session.db");
    bool exists = file_exists(path);
    free(path);
    return exists;
}

bool store_set_aside(const char *folder, struct err *err) {
    if (!store_exists(folder))
        return true;
    int lock = -1;
    char *holder = NULL;
    if (!store_lock_take(folder, &lock, &holder, err))
        return false;
    if (lock < 0) {
        err_set(err, ERR_ENVIRONMENT, "%s is in use by %s; end it first", folder, holder);
        free(holder);
        return false;
    }
    struct buf aside = {0};
    for (int n = 1; n < 10000; n++) {
        buf_clear(&aside);
        buf_printf(&aside, "%s.%d", folder, n);
        if (!file_exists(aside.at) && !file_is_dir(aside.at))
            break;
    }
    bool ok = rename(folder, aside.at) == 0;
    if (!ok)
        err_set(err, ERR_ENVIRONMENT, "cannot move %s to %s: %s", folder, aside.at,
                strerror(errno));
    buf_free(&aside);
    close(lock);
    return ok;
}
