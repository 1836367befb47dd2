/* SPDX-License-Identifier: Apache-2.0 */
/* Compares session.db with the bytes it was closed with, at once or by a thread while the log is
 * read; of one that was not closed in order the rows of its attempts. open.c says what a change
 * means. */
#include "store/private.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

enum store_seal store_seal_check(const struct store *store, int64_t most) {
    const struct store_head *head = &store->known_head;
    struct store_head now;
    struct hash sum;
    int64_t size = store_bytes_of(store->path, "");
    if (head->is != STORE_HEAD_GOOD || !head->sealed || store_bytes_of(store->path, "-wal") > 0)
        return STORE_SEAL_NONE;
    if (size == head->size && most && size > most)
        return STORE_SEAL_NONE;
    bool same = size == head->size && store_file_sum(store->path, &size, &sum) &&
                !strcmp(sum.hex, head->file.hex);
    store_head_read(store->folder, &now);
    bool still = now.is == head->is && now.sealed && !strcmp(now.file.hex, head->file.hex);
    return same ? STORE_SEAL_WHOLE : still ? STORE_SEAL_BROKEN : STORE_SEAL_NONE;
}

/* A file that cannot be opened, or does not exist yet, has no rows. What is read after the
 * beginning of a transaction waits for no lock of another connection. */
enum store_seal store_tables_look(const struct store *store, int64_t most) {
    static const char begin[] = "BEGIN; SELECT count(*) FROM sqlite_master";
    sqlite3 *db = NULL;
    struct buf found = {0};
    int64_t checked, unknown;
    int64_t bytes = store_bytes_of(store->path, "") + store_bytes_of(store->path, "-wal");
    if (bytes > most)
        return STORE_SEAL_NONE;
    bool open = sqlite3_open_v2(store->path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
                sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL) == SQLITE_OK &&
                sqlite3_busy_timeout(db, 2000) == SQLITE_OK &&
                sqlite3_exec(db, begin, NULL, NULL, NULL) == SQLITE_OK;
    bool torn = open && bytes <= most / 4 && !store_integrity(db, &found);
    buf_clear(&found);
    bool rows = !open || store_sums_check(db, &checked, &unknown, &found);
    sqlite3_close_v2(db);
    buf_free(&found);
    return torn ? STORE_SEAL_TORN : rows ? STORE_SEAL_NONE : STORE_SEAL_ROWS;
}

enum store_seal store_seal_look(const struct store *store, int64_t most) {
    enum store_seal is = store_seal_check(store, most);
    return is != STORE_SEAL_NONE || store->read_only ? is : store_tables_look(store, most);
}

/* --------------------------------------------------------------------------- while the log is
 * read */

struct store_sealing {
    pthread_t thread;
    const struct store *store; /* path, folder and head do not change until it is done */
    int64_t most;
    enum store_seal is;
};

static void *sealing_run(void *data) {
    struct store_sealing *sealing = data;
    sealing->is = store_seal_look(sealing->store, sealing->most);
    return NULL;
}

bool store_seal_begin(struct store *store, int64_t most) {
    struct store_sealing *sealing = mem_alloc(1, sizeof *sealing);
    *sealing = (struct store_sealing){.store = store, .most = most};
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool ok = pthread_create(&sealing->thread, NULL, sealing_run, sealing) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    store->sealing = ok ? sealing : NULL;
    if (!ok)
        free(sealing);
    return ok;
}

enum store_seal store_seal_end(struct store *store) {
    struct store_sealing *sealing = store->sealing;
    enum store_seal is = STORE_SEAL_NONE;
    if (!sealing)
        return is;
    pthread_join(sealing->thread, NULL);
    store->sealing = NULL;
    is = sealing->is;
    free(sealing);
    return is;
}

bool store_settle(struct store *store, struct err *err) {
    store_seal_means(store, store_seal_end(store));
    store_leftovers_remove(store);
    return !store->damage.found || store_damage_tell(store, err);
}
