/* SPDX-License-Identifier: Apache-2.0 */
/* A session whose files were taken away still exists for the process that has them open. It can be
 * written to another place as a whole. */
#include "store/private.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool store_is_lost(struct store *store) {
    return !store->read_only && !store_is_here(store, NULL);
}

static bool copy_pages(struct store *store, const char *path, struct err *err) {
    sqlite3 *to = NULL;
    int code = sqlite3_open_v2(path, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    sqlite3_backup *backup =
        code == SQLITE_OK ? sqlite3_backup_init(to, "main", store->db, "main") : NULL;
    if (backup) {
        sqlite3_backup_step(backup, -1);
        code = sqlite3_backup_finish(backup);
    }
    bool ok = backup && code == SQLITE_OK;
    if (!ok)
        err_set(err, ERR_DAMAGED, "cannot save the session to %.200s: %s", path,
                to ? sqlite3_errmsg(to) : "no memory");
    sqlite3_close_v2(to);
    return ok;
}

/* Copies what the folder still has. */
void store_artefacts_copy(const char *from, const char *to, struct store_copied *copied) {
    char *source = path_join(from, "artifacts"), *target = path_join(to, "artifacts");
    DIR *dir = opendir(source);
    struct err err = {0};
    *copied = (struct store_copied){0};
    bool made = dir && file_make_private(target, &err);
    for (struct dirent *entry; made && (entry = readdir(dir));) {
        if (strlen(entry->d_name) != 32)
            continue;
        size_t size = 0;
        char *path = path_join(source, entry->d_name), *there = path_join(target, entry->d_name);
        char *bytes = file_read(path, STORE_ARTEFACT_MOST, &size, &err);
        bool whole = bytes && !strcmp(hash_content(bytes, size).hex, entry->d_name);
        bool ok = whole && file_write_private(there, bytes, size, &err);
        copied->whole += ok;
        copied->damaged += !ok;
        free(bytes);
        free(there);
        free(path);
    }
    if (dir)
        closedir(dir);
    free(target);
    free(source);
}

struct store *store_rescue(struct store *store, const char *folder, struct err *err) {
    struct store_copied copied;
    char *path = path_join(folder, "session.db");
    bool ok =
        !store_exists(folder) ||
        err_set(err, ERR_USAGE, "%.200s already holds a session; name another folder", folder);
    struct store_link tail = store->tail;
    ok = ok && file_make_private(folder, err) && copy_pages(store, path, err);
    free(path);
    struct store *saved = ok ? store_open(folder, false, err) : NULL;
    if (!saved)
        return NULL;
    if (saved->read_only || saved->tail.seq != tail.seq ||
        memcmp(saved->tail.hash, tail.hash, HASH_BYTES) != 0) {
        err_set(err, ERR_DAMAGED, "only a part of the session was saved to %.200s", folder);
        store_close(saved);
        return NULL;
    }
    if (store->damage.found) {
        err_set(
            err, ERR_DAMAGED,
            "the session was saved to %.200s as it is, and it is damaged: %.150s. 'hone session "
            "repair' saves what can be saved of it",
            folder, store->damage.text);
        store_close(saved);
        return NULL;
    }
    store_head_write(saved, &(struct store_head){.last = tail});
    free(saved->note);
    saved->note = NULL;
    saved->proven = store->proven;
    store_artefacts_copy(store->folder, folder, &copied);
    return saved;
}
