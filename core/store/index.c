/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite finds the frames of its log by an index that processes share in a file, session.db-shm.
 * It believes what stands there: an index that was cut ends the process when it is read, and one
 * with other bytes loses the log when it is merged. So its bytes are held against what the last
 * commit left. An index that is not the same is emptied, and SQLite makes it again from the log,
 * whose frames have checksums. Format: sqlite.org/walformat.html, 2. */
#include "store/private.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* What readers and merges write, too. */
enum { SHARED = 96, SHARED_END = 136 };

/* It stays open: to close a file takes all locks of the process on it away, SQLite's as well. */
static bool is_open(struct store *store) {
    struct buf path = {0};
    if (store->index < 0) {
        buf_printf(&path, "%s-shm", store->path);
        store->index = file_open(path.at, O_RDWR, 0, NULL);
        buf_free(&path);
    }
    return store->index >= 0;
}

static int64_t bytes_now(const struct store *store) {
    struct stat st;
    return fstat(store->index, &st) == 0 ? st.st_size : -1;
}

void store_index_note(struct store *store) {
    int64_t bytes = is_open(store) ? bytes_now(store) : -1;
    store->index_bytes = 0;
    if (bytes <= SHARED_END)
        return;
    store->index_was = mem_resize(store->index_was, (size_t)bytes, 1);
    store->index_now = mem_resize(store->index_now, (size_t)bytes, 1);
    if (pread(store->index, store->index_was, (size_t)bytes, 0) == bytes)
        store->index_bytes = (size_t)bytes;
}

static bool is_same(const struct store *store) {
    size_t bytes = store->index_bytes;
    const char *was = store->index_was, *now = store->index_now;
    return pread(store->index, store->index_now, bytes, 0) == (ssize_t)bytes &&
           !memcmp(now, was, SHARED) &&
           !memcmp(now + SHARED_END, was + SHARED_END, bytes - SHARED_END);
}

/* With a head of zeros it is no index, and the next reader makes one. It gets back the length that
 * SQLite has mapped. */
static void make_again(struct store *store) {
    off_t bytes = (off_t)MAX_OF(bytes_now(store), (int64_t)store->index_bytes);
    if (ftruncate(store->index, 0) == 0 && ftruncate(store->index, bytes) == 0)
        (void)sqlite3_exec(store->db, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL);
    store_index_note(store);
}

void store_index_keep(struct store *store, bool whole) {
    if (!store->index_bytes || !sqlite3_get_autocommit(store->db))
        return;
    if (bytes_now(store) < (int64_t)store->index_bytes || (whole && !is_same(store)))
        make_again(store);
}
