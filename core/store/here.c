/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the session is still where it was opened. Files that were removed, moved or replaced stay
 * open here, and SQLite would continue writing into them. Nobody would ever find what it wrote. */
#include "store/private.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct store_place place_of(const char *path) {
    struct stat st;
    if (stat(path, &st) != 0)
        return (struct store_place){0};
    return (struct store_place){.known = true, .device = st.st_dev, .inode = st.st_ino};
}

static bool same_place(struct store_place a, struct store_place b) {
    return a.known && b.known && a.device == b.device && a.inode == b.inode;
}

static struct store_place wal_place(const struct store *store) {
    struct buf path = {0};
    buf_printf(&path, "%s-wal", store->path);
    struct store_place place = place_of(path.at);
    buf_free(&path);
    return place;
}

void store_place_note(struct store *store) {
    store->db_place = place_of(store->path);
    store->wal_place = wal_place(store);
}

static bool lock_is_ours(const struct store *store) {
    struct stat st;
    return store->lock < 0 || (fstat(store->lock, &st) == 0 && st.st_nlink > 0);
}

/* The lock of a file that was removed keeps nobody out, so the new file is locked as well. */
static bool lock_again(struct store *store, struct err *err) {
    struct store_lock lock;
    if (!store_lock_take(store->folder, &lock, err))
        return false;
    if (lock.descriptor < 0) {
        err_set(err, ERR_DAMAGED, "%.200s/lock was removed, and the session is now open in %.100s",
                store->folder, lock.holder);
        free(lock.holder);
        return false;
    }
    close(store->lock);
    store->lock = lock.descriptor;
    return true;
}

bool store_is_here(struct store *store, struct err *err) {
    struct store_place db = place_of(store->path), wal = wal_place(store);
    const char *how = db.known                              ? "replaced by another file"
                      : errno == ENOENT || errno == ENOTDIR ? "removed or moved away"
                                                            : "out of reach";
    if (store->db_place.known && !same_place(store->db_place, db))
        return err_set(err, ERR_DAMAGED,
                       "%.200s was %s while hone was using it. No event is lost: all up to %lld "
                       "are still in memory, to be saved elsewhere.",
                       store->path, how, (long long)store->tail.seq);
    if (store->wal_place.known && !same_place(store->wal_place, wal))
        return err_set(err, ERR_DAMAGED,
                       "%.200s-wal was removed or replaced while hone was using it. No event is "
                       "lost: all up to %lld are still in memory, to be saved elsewhere.",
                       store->path, (long long)store->tail.seq);
    if (!store->wal_place.known)
        store->wal_place = wal;
    if (!store_trace_same(store))
        return err_set(
            err, ERR_DAMAGED,
            "another program wrote into %.200s or its -wal while hone was using it. What "
            "hone can read of its %lld events is to be saved elsewhere.",
            store->path, (long long)store->tail.seq);
    store_index_keep(store, true);
    return lock_is_ours(store) || lock_again(store, err);
}
