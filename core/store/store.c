/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing a session's folder: the lock, who may write, and what is written first. The
 * database itself is in open.c. What the events mean is none of its business. */
#include "store/private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether hone keeps a file of that name in a session's folder. */
static bool is_ours(const char *name) {
    static const char *const names[] = {"experiments.jsonl",
                                        "experiments.jsonl.new",
                                        "checkpoints",
                                        "optimization_memory",
                                        "artifacts",
                                        "run",
                                        "task",
                                        "hone.log",
                                        "lock"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (!strcmp(names[i], name))
            return true;
    return !strncmp(name, "session.db", 10);
}

/* Prompts and kernels are in the folder, so it is closed to others now if an older hone left it
 * open. A folder that also holds other things stays open; only what is hone's in it is closed. */
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

static bool log_open(struct store *store) {
    char *path = path_join(store->folder, "hone.log");
    store->log = file_open(path, O_WRONLY | O_CREAT | O_APPEND, 0600, NULL);
    free(path);
    return store->log >= 0;
}

/* Removes files of hones that were killed while they wrote. A long session has 100 000 checkpoints
 * to look through, so this is done after the first frame. */
void store_leftovers_remove(struct store *store) {
    static const char *const inner[] = {"", "artifacts", "checkpoints", "optimization_memory"};
    if (store->read_only || store->swept)
        return;
    store->swept = true;
    for (size_t i = 0; i < COUNT_OF(inner); i++) {
        char *path = path_join(store->folder, inner[i]);
        os_sweep(path);
        free(path);
    }
}

/* When somebody else has the lock, or the place cannot be written, the session can only be looked
 * at. */
static bool lock_or_look(struct store *store, struct err *err) {
    struct store_lock lock;
    struct buf why = {0};
    bool ok = store_lock_take(store->folder, &lock, err);
    store->lock = lock.descriptor;
    store->holder = lock.holder;
    if (!ok && lock.unwritable && store_exists(store->folder)) {
        buf_printf(&why, "%s cannot be written (%s)", store->folder, strerror(errno));
        *err = (struct err){0};
        ok = true;
    } else if (lock.holder) {
        buf_printf(&why, "it is open in %s", lock.holder);
    }
    store->read_only = store->lock < 0;
    store->why = why.at ? buf_take(&why) : NULL;
    return ok;
}

/* New events continue the numbers and hashes of the last one. */
static bool tail_load(struct store *store, struct err *err) {
    if (!store->tail_known && !store_tail_read(store, &store->tail))
        return store_sql_failed(store, "cannot read the session", err);
    store->tail_known = true;
    return true;
}

static bool prepare(struct store *store, struct err *err) {
    bool adopts = !store->is_new && !store->chained;
    if (adopts && !store_chain_adopt(store, err))
        return false;
    store->tail_known = (store->tail_known || store->is_new) && !adopts;
    if (!tail_load(store, err))
        return false;
    store_head_write(store, &(struct store_head){.last = store->tail});
    if (!store_schema_make(store, err) ||
        (store->derived_doubtful && !store_tables_clear(store, err)))
        return false;
    store->derived_doubtful = false;
    store->chained = store->prepared = true;
    return true;
}

static bool folder_make(const char *folder, struct err *err) {
    struct err why = {0};
    return file_make_private(folder, &why) ||
           err_set(err, why.kind, "%.300s. --session FOLDER keeps the session elsewhere.",
                   why.text);
}

static struct store *open_it(const char *folder, bool look_only, bool defers, struct err *err) {
    /* A limit on file sizes should be a failed write that is reported, not the end of the
     * process. */
    signal(SIGXFSZ, SIG_IGN);
    struct store *store = mem_alloc(1, sizeof *store);
    store->owner = pthread_self();
    store->folder = mem_strdup(folder);
    store->path = path_join(folder, "session.db");
    store->lock = store->log = store->head = store->rows_anew = store->index = -1;
    store->rows_bytes = -1;
    store->read_only = store->look_only = look_only;
    store->defers = defers;
    if (!look_only && !folder_make(folder, err))
        goto failed;
    if (!look_only && !lock_or_look(store, err))
        goto failed;
    if (!store->read_only)
        tighten(folder);
    if (!store_db_open(store, err))
        goto failed;
    if (!store->read_only) {
        store_place_note(store);
        log_open(store);
        store->rows_bytes = store_number(store, "SELECT bytes FROM derived_rows", -1);
        if (store->is_new && !prepare(store, err))
            goto failed;
    }
    return store;
failed:
    store_close(store);
    return NULL;
}

struct store *store_open(const char *folder, bool look_only, struct err *err) {
    return open_it(folder, look_only, false, err);
}

struct store *store_open_early(const char *folder, bool look_only, struct err *err) {
    return open_it(folder, look_only, true, err);
}

bool store_may_write(struct store *store, struct err *err) {
    if (store->read_only)
        return err_set(err, ERR_ENVIRONMENT, "this session is open for reading only: %s",
                       store_why_read_only(store));
    if (!store_settle(store, err))
        return false;
    return store_is_here(store, err) && (store->prepared || prepare(store, err));
}

/* When SQLite has closed it as the last one, all that was written is in session.db. Then its bytes
 * are noted. */
static void seal(struct store *store) {
    struct store_head head = {.last = store->tail};
    struct stat st;
    struct buf wal = {0};
    buf_printf(&wal, "%s-wal", store->path);
    bool alone = stat(wal.at, &st) != 0 || st.st_size == 0;
    buf_free(&wal);
    if (alone && store_file_sum(store->path, &head.size, &head.file)) {
        head.sealed = true;
        store_head_write(store, &head);
    }
}

void store_take_over(struct store *store) {
    store->owner = pthread_self();
}

void store_close(struct store *store) {
    if (!store)
        return;
    store_seal_end(store);
    if (store->db)
        store_index_keep(store, true); /* SQLite merges its log by it */
    bool wrote = store->prepared && !store->damage.found && store_is_here(store, NULL);
    /* What is not as it was written gets no seal, so that the next one to open it looks. */
    wrote = wrote && store_tables_look(store, STORE_SEAL_MOST) == STORE_SEAL_NONE;
    store_db_close(store);
    if (wrote)
        seal(store);
    if (store->head >= 0)
        close(store->head);
    if (store->log >= 0)
        close(store->log);
    if (store->rows_anew >= 0)
        close(store->rows_anew);
    if (store->lock >= 0)
        close(store->lock);
    if (store->index >= 0)
        close(store->index);
    free(store->index_was);
    free(store->index_now);
    buf_free(&store->scratch);
    free(store->holder);
    free(store->why);
    free(store->note);
    free(store->path);
    free(store->folder);
    free(store);
}

bool store_is_read_only(const struct store *store) {
    return store->read_only;
}
const char *store_holder(const struct store *store) {
    return store->holder;
}
const char *store_why_read_only(const struct store *store) {
    return !store->read_only ? NULL : store->why ? store->why : "it was opened read-only";
}
const char *store_note(const struct store *store) {
    return store->note;
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

/* True as well for what is left of a session whose session.db is gone. */
static bool has_session(const char *folder) {
    char *head = path_join(folder, "session.db-head");
    bool has = store_exists(folder) || file_exists(head);
    free(head);
    return has;
}

bool store_move(const char *folder, const char *aside, struct err *err) {
    struct store_lock lock;
    if (!store_lock_take(folder, &lock, err))
        return false;
    if (lock.descriptor < 0) {
        err_set(err, ERR_ENVIRONMENT, "%s is in use by %s; end it first", folder, lock.holder);
        free(lock.holder);
        return false;
    }
    bool ok = rename(folder, aside) == 0;
    if (!ok)
        err_set(err, ERR_ENVIRONMENT, "cannot move %s to %s: %s", folder, aside, strerror(errno));
    close(lock.descriptor);
    return ok;
}

bool store_set_aside(const char *folder, struct err *err) {
    if (!has_session(folder))
        return true;
    struct buf aside = {0};
    for (int n = 1; n < 10000; n++) {
        buf_clear(&aside);
        buf_printf(&aside, "%s.%d", folder, n);
        if (!file_exists(aside.at) && !file_is_dir(aside.at))
            break;
    }
    bool ok = store_move(folder, aside.at, err);
    buf_free(&aside);
    return ok;
}
