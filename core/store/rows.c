/* SPDX-License-Identifier: Apache-2.0 */
/* experiments.jsonl: adds rows at its end, and keeps how many bytes of it are committed. It does
 * not look into a row. */
#include "store/private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char *rows_path(const struct store *store, bool anew) {
    return path_join(store->folder, anew ? "experiments.jsonl.new" : "experiments.jsonl");
}

static bool write_all(int fd, struct str text) {
    while (text.len) {
        ssize_t n = write(fd, text.at, text.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        text = (struct str){text.at + n, text.len - (size_t)n};
    }
    return true;
}

static bool rows_failed(const struct store *store, struct err *err) {
    return err_set(err, ERR_ENVIRONMENT, "cannot write %s/experiments.jsonl: %s", store->folder,
                   strerror(errno));
}

bool store_rows_mend(struct store *store) {
    char *path = rows_path(store, false);
    struct stat st;
    bool there = stat(path, &st) == 0;
    bool whole = store->rows_bytes >= 0 && (there ? st.st_size : 0) >= store->rows_bytes;
    if (whole && there && st.st_size > store->rows_bytes)
        whole = truncate(path, store->rows_bytes) == 0;
    if (!whole)
        store->rows_bytes = -1;
    free(path);
    return whole;
}

static bool add_at_end(struct store *store, struct str lines, struct err *err) {
    char *path = rows_path(store, false);
    int fd = file_open(path, O_WRONLY | O_CREAT | O_APPEND, 0600, err);
    free(path);
    bool ok = fd >= 0 && (write_all(fd, lines) || rows_failed(store, err));
    if (fd >= 0)
        close(fd);
    return ok;
}

bool store_rows_add(struct store *store, struct str lines, struct err *err) {
    if (store->rows_anew >= 0) {
        store->anew_bytes += (int64_t)lines.len;
        return write_all(store->rows_anew, lines) || rows_failed(store, err);
    } else if (!store_rows_mend(store)) {
        return err_set(err, ERR_ENVIRONMENT, "%s/experiments.jsonl was changed from outside",
                       store->folder);
    } else if (!add_at_end(store, lines, err)) {
        return false;
    }
    store->rows_bytes += (int64_t)lines.len;
    return true;
}

static void rows_drop(struct store *store) {
    if (store->rows_anew >= 0)
        close(store->rows_anew);
    store->rows_anew = -1;
}

bool store_rows_begin(struct store *store, struct err *err) {
    rows_drop(store);
    store->rows_bytes = -1;
    if (!store_may_write(store, err) || !store_tables_make(store, err) ||
        !store_exec(store, "DELETE FROM derived_rows", "cannot store an attempt", err))
        return false;
    char *path = rows_path(store, true);
    store->rows_anew = file_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600, err);
    free(path);
    if (store->rows_anew < 0)
        return false;
    store->anew_bytes = 0;
    return true;
}

static bool mark(struct store *store, struct err *err) {
    struct buf sql = {0};
    buf_printf(&sql, "INSERT OR REPLACE INTO derived_rows VALUES (0, %lld)",
               (long long)store->rows_bytes);
    bool ok = store_exec(store, sql.at, "cannot store an attempt", err);
    buf_free(&sql);
    return ok;
}

bool store_rows_end(struct store *store, struct err *err) {
    char *from = rows_path(store, true), *to = rows_path(store, false);
    bool ok = store->rows_anew >= 0 && fsync(store->rows_anew) == 0 && rename(from, to) == 0;
    if (ok)
        store->rows_bytes = store->anew_bytes;
    else
        rows_failed(store, err);
    unlink(from); /* left by an end that failed */
    rows_drop(store);
    free(from);
    free(to);
    return ok && mark(store, err);
}
